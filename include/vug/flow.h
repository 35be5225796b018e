#ifndef VUG_FLOW_H
#define VUG_FLOW_H

/*
 * Building, inspecting and changing a model's graph.
 *
 * A vug_flow is the graph of one model, built for one purpose. Its options say what a
 * step contains, which outputs it has and where the past comes from; its hooks replace
 * phases of the model. A flow can be printed, compared with another one, and compiled
 * into a vug_flow_program: a function with named inputs and outputs that runs on the
 * model's device, without sessions.
 *
 * The builder functions (flow_linear, flow_add, ..) are those that the architectures
 * themselves are written with. Hooks call them; each appends one node and returns its
 * value. The flow keeps the first failure, and later calls then do nothing, so a hook
 * needs no error checks: vug_flow_create reports what went wrong, and in which layer.
 * A vug_val is a number that is valid only in the hooks of its own flow; there is
 * nothing to release. Builder functions copy the names and numbers they are given. A
 * call after vug_flow_create makes vug_flow_verify and vug_flow_build fail; flow_find,
 * flow_has and flow_shape may be called until the flow is destroyed.
 *
 * Steps are ragged: the tokens of all sequences follow one another, and T counts them
 * all. Every value of a layer is [T,..], row-major, in F32.
 *
 * Threads: a flow and a program belong to one thread at a time; programs and
 * sessions of one model take turns on its device. The model must outlive both.
 */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vug_flow vug_flow;
typedef struct {
    uint32_t id; /* 0: no value */
} vug_val;

/* ---- shapes ------------------------------------------------------------- */

#define VUG_MAX_DIMS 4
typedef struct {
    int rank;
    int64_t dim[VUG_MAX_DIMS];
} vug_shape;

/* Symbolic dimensions, which each step decides; all other dimensions are positive. */
#define VUG_DIM_T ((int64_t)-1) /* tokens in the step */
#define VUG_DIM_R ((int64_t)-2) /* rows whose logits are computed: each sequence's last token */
#define VUG_DIM_P ((int64_t)-3) /* past tokens that are given, over all sequences */
#define VUG_DIM_S ((int64_t)-4) /* past and new tokens of the longest sequence */

/* ---- options ------------------------------------------------------------ */

#define VUG_SYMBOLIC (-1)

/* DECODE fixes `tokens` at 1. */
typedef enum { VUG_FLOW_PREFILL, VUG_FLOW_DECODE } vug_flow_mode;

typedef enum {
    VUG_PAST_CACHED, /* the program keeps a cache per sequence, as sessions do */
    VUG_PAST_NONE,   /* a run computes whole sequences from position 0 and keeps nothing */
    VUG_PAST_GIVEN,  /* the caller gives it: inputs past.k.N and past.v.N [P,K,E] of each
                        layer N that fills a cache; nothing is kept */
} vug_flow_past;

typedef enum {
    VUG_OUT_LAST,   /* logits [R,V] of each sequence's last token, R sequences */
    VUG_OUT_ALL,    /* logits [T,V] */
    VUG_OUT_HIDDEN, /* hidden [T,D], the output of the final norm; no head */
} vug_flow_outputs;

/* The shape of a layer, for hooks to read. */
typedef struct {
    int64_t index, n_layers;
    int64_t d_model, n_heads, n_kv_heads, d_head, d_ffn; /* D, H, K, E, F */
    int64_t window;                                      /* tokens; 0: all */
    float attn_scale, norm_eps;
} vug_layer_spec;

/* The phase of the model that a hook replaces. */
typedef struct {
    const vug_layer_spec *layer; /* NULL before and after the layers */
    vug_val x;                   /* [T,D], its input; none in `before` */
    vug_val tokens, positions;   /* [T] */
} vug_flow_phase;

/* Returns the phase's output [T,D]. flow_default(f, phase->x) is the model's own; a NULL
 * hook leaves the phase as it is. */
typedef vug_val vug_flow_hook(vug_flow *f, const vug_flow_phase *phase, void *user);
/* Changes the whole graph with flow_find, flow_replace and flow_output. */
typedef void vug_flow_patch(vug_flow *f, void *user);

/* All-zero: prefill of one sequence of any number of tokens, with a cache; outputs the
 * last token's logits; uses the default profile. */
typedef struct {
    vug_flow_mode mode;
    int64_t batch;  /* number of sequences; 0: 1; VUG_SYMBOLIC: 1 to max_batch */
    int64_t tokens; /* number of new tokens per sequence; 0 or VUG_SYMBOLIC: any number */
    vug_flow_past past;
    int64_t past_tokens; /* with VUG_PAST_GIVEN: number of past tokens per sequence; 0 or
                            VUG_SYMBOLIC: any number, also none */
    vug_flow_outputs outputs;
    bool export_kv;      /* adds outputs k.N, v.N [T,K,E] of each layer N that fills a cache: the
                         step's keys, after RoPE, and values, before rounding to the cache's
                         format; when given as a past they are rounded to the same bits */
    bool custom_mask;    /* adds an input mask [T,S] for full-attention layers and mask.W for
                         layers with a window of W, which replace causal order and window:
                         element [t,s] is added to the score of token t with position s of its
                         sequence. -INFINITY hides the position. Each row must see one. */
    int64_t context;     /* most tokens of a sequence, including its past; 0: the model's */
    int64_t step;        /* most tokens in a run, over all sequences; 0: as many as possible when
                         `tokens` is fixed, else the model's batch */
    int64_t max_batch;   /* with a symbolic batch; 0: 16 */
    const char *profile; /* a file, "prefill" or "decode"; NULL: the model's, else the mode's */

    vug_flow_hook *before; /* replaces the embedding */
    vug_flow_hook *layer;  /* replaces each layer */
    vug_flow_hook *after;  /* runs between the last layer and the final norm; default: x itself */
    vug_flow_patch *patch; /* runs when everything but final norm and head is built */
    void *user;            /* passed to the hooks */
} vug_flow_options;

/* ---- flows --------------------------------------------------------------- */

/* Builds the graph, and calls the hooks meanwhile. `options` may be NULL. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_create(const vug_model *model,
                                                  const vug_flow_options *options, vug_flow **out,
                                                  vug_err *err);
/* Reads only config.json of a folder; the flow can do everything but build. Weights count
 * as BF16 unless the config says otherwise, and optional weights as absent. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_open(const char *folder, const vug_flow_options *options,
                                                vug_flow **out, vug_err *err);
VUG_API void vug_flow_destroy(vug_flow *flow);

/* Re-derives every shape and checks every reference of the flow, unfused and fused. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_verify(const vug_flow *flow, vug_err *err);
/* The graph as built or, with `fused`, as the profile lets it run. Equal graphs give equal text. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_text(const vug_flow *flow, vug_graph_format format,
                                                bool fused, vug_text *out, vug_err *err);
/* What each pass did with the flow, and where and why it changed nothing. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_passes(const vug_flow *flow, vug_text *out,
                                                  vug_err *err);
/* The lines in which the two texts differ, without node numbers: "- " marks those only in
 * `a`, "+ " those only in `b`; empty when the flows are equal. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_compare(const vug_flow *a, const vug_flow *b,
                                                   vug_text *out, vug_err *err);

/* ---- programs ------------------------------------------------------------ */

typedef struct vug_flow_program vug_flow_program;

/* Fuses, plans and compiles, and allocates all memory that runs need. The caller keeps the
 * flow and may destroy it before the program. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_build(const vug_flow *flow, vug_flow_program **out,
                                                 vug_err *err);
VUG_API void vug_program_destroy(vug_flow_program *program);

typedef struct {
    const char *name;
    vug_shape shape;
    bool integers; /* int32_t; else float */
    bool optional; /* positions: when not set, they continue from the past */
} vug_port;

VUG_API size_t vug_program_input_count(const vug_flow_program *program);
VUG_API size_t vug_program_output_count(const vug_flow_program *program);
/* `i` < count. */
VUG_API vug_port vug_program_input(const vug_flow_program *program, size_t i);
VUG_API vug_port vug_program_output(const vug_flow_program *program, size_t i);

/* New tokens of one sequence and, with VUG_PAST_GIVEN, the past that is given. */
typedef struct {
    int64_t tokens;
    int64_t past;
} vug_sequence;

/* Sets an input by name. The data is borrowed until the input is set again and stays set
 * between runs. The next run reports an unknown name or a wrong kind. */
VUG_API void vug_program_set_ids(vug_flow_program *program, const char *name, const int32_t *id,
                                 size_t n);
VUG_API void vug_program_set(vug_flow_program *program, const char *name, const float *x, size_t n);
/* How the tokens are divided among sequences; copied, and kept between runs. By default, or
 * with `n` 0, they are divided equally; a symbolic batch then has as many sequences as
 * fixed `tokens` imply, or one. */
VUG_API void vug_program_split(vug_flow_program *program, const vug_sequence *sequence, size_t n);
/* Checks every input's size against its shape, and runs. */
VUG_API VUG_MUST_CHECK vug_status vug_program_run(vug_flow_program *program, vug_err *err);
/* An output of the last run, valid until the next run; NULL when no output has that name or
 * the run failed. `n` receives its number of floats and may be NULL. */
VUG_API const float *vug_program_get(const vug_flow_program *program, const char *name, size_t *n);
/* Tokens in the cache of sequence `i`; 0 when nothing is kept. */
VUG_API int64_t vug_program_past(const vug_flow_program *program, size_t i);
/* Empties the caches. */
VUG_API void vug_program_reset(vug_flow_program *program);

/* ---- builder functions: inputs and weights --------------------------------- */

typedef enum {
    VUG_INPUT_TOKENS,    /* [T] ids */
    VUG_INPUT_POSITIONS, /* [T] in their sequences */
    VUG_INPUT_ROWS,      /* [R] rows of the step: see VUG_DIM_R */
    VUG_INPUT_DATA,      /* the caller's own numbers; made by flow_data */
} vug_input;

VUG_API vug_val flow_input(vug_flow *f, vug_input which);
/* An input of the caller's own, which programs set by its name. `shape` is fixed or begins with
 * VUG_DIM_T. A second call with the same name and shape returns the same input, so layers
 * can share one. */
VUG_API vug_val flow_data(vug_flow *f, const char *name, vug_shape shape);
/* A weight of the hook's layer, by the name that the architecture's file uses. */
VUG_API vug_val flow_weight(vug_flow *f, const char *name);

/* ---- builder functions: operations ----------------------------------------- */

typedef struct {
    float eps;
    float bias; /* added to the weight: 1 for Gemma's (1 + w) */
} vug_attr_norm;
/* Pair i at position p is rotated by p * inv[i], in F32 as the reference computes it. A row
 * of the table holds dims/2 cosines, then dims/2 sines, each times `factor`. */
typedef struct {
    int dims;
    const float *inv; /* [dims/2], copied */
    float factor;
} vug_attr_table;
/* Query i sees key j iff j <= i and, with a window, i - j < window. */
typedef struct {
    int layer;      /* flow_shared_kv_attention reads this layer's cache; flow_attention
                       ignores it and uses its own layer's */
    int64_t window; /* tokens; 0: all */
    float scale;    /* of q.k */
    float softcap;  /* tanh(s / softcap) * softcap after the scale; 0: none */
} vug_attr_attn;
/* Chooses the `count` largest logits, the lower index first among equals. Their weights are
 * the softmax over all experts or, renormalised, over the chosen ones. A row of the route
 * holds the indices as floats, the best first, then as many weights. */
typedef struct {
    int count;
    bool renormalise;
} vug_attr_router;
typedef enum { VUG_ACT_GELU, VUG_ACT_SILU } vug_activation;
typedef struct {
    const char *gate, *up, *down; /* weights [N,F,D], [N,F,D], [N,D,F] */
    vug_activation act;
} vug_experts_spec;

/* Rows of a table [V,D], times `scale`. */
VUG_API vug_val flow_embed(vug_flow *f, vug_val table, vug_val tokens, float scale);
/* x [T,in] times the transposed weight `name` [out,in]. */
VUG_API vug_val flow_linear(vug_flow *f, vug_val x, const char *name);
/* flow_linear with a weight that flow_weight returned before, such as a tied head. */
VUG_API vug_val flow_project(vug_flow *f, vug_val x, vug_val weight);
/* x / rms(x) * (w + bias) over the last axis, w the weight `name`. */
VUG_API vug_val flow_rms_norm(vug_flow *f, vug_val x, const char *name, vug_attr_norm at);
VUG_API vug_val flow_rope_table(vug_flow *f, vug_val positions, const char *name,
                                vug_attr_table at);
VUG_API vug_val flow_rope(vug_flow *f, vug_val x, vug_val table);
/* [T,H,E]: puts the elements 0, 2, .. of each head before 1, 3, .., so that neighbours
 * become the pairs of halves that flow_rope rotates. */
VUG_API vug_val flow_deinterleave(vug_flow *f, vug_val x);
/* q [T,H,E] over the layer's past and k, v [T,K,E]; at most once in a layer. The options
 * decide on past and mask. */
VUG_API vug_val flow_attention(vug_flow *f, vug_val q, vug_val k, vug_val v, vug_attr_attn at);
/* Shared-KV attention: q alone, over the cache that layer `at.layer` filled in the same step. */
VUG_API vug_val flow_shared_kv_attention(vug_flow *f, vug_val q, vug_attr_attn at);
VUG_API vug_val flow_heads(vug_flow *f, vug_val x, int64_t count); /* [T,H*E] to [T,H,E] */
VUG_API vug_val flow_merge(vug_flow *f, vug_val x);                /* [T,H,E] to [T,H*E] */
VUG_API vug_val flow_add(vug_flow *f, vug_val a, vug_val b);
VUG_API vug_val flow_mul(vug_flow *f, vug_val a, vug_val b);
VUG_API vug_val flow_scale(vug_flow *f, vug_val x, float by);
VUG_API vug_val flow_gelu(vug_flow *f, vug_val x);
VUG_API vug_val flow_silu(vug_flow *f, vug_val x);
/* x [..,D] plus the weight `name` [D]. */
VUG_API vug_val flow_bias(vug_flow *f, vug_val x, const char *name);
/* x times the weight `name` [1]. */
VUG_API vug_val flow_scale_by(vug_flow *f, vug_val x, const char *name);
/* RMS norm without a weight: x / rms(x) over the last axis. */
VUG_API vug_val flow_unit_norm(vug_flow *f, vug_val x, float eps);
/* [T,E], head `index` of x [T,H,E]. */
VUG_API vug_val flow_head(vug_flow *f, vug_val x, int index);
/* The `at.count` best experts by their logits [T,N], and their weights. */
VUG_API vug_val flow_router(vug_flow *f, vug_val logits, vug_attr_router at);
/* Multiplies each weight of the route by its expert's element of the weight `name` [N]. */
VUG_API vug_val flow_route_scale(vug_flow *f, vug_val route, const char *name);
/* Sum over the chosen experts of weight * down(act(gate x) * up x). */
VUG_API vug_val flow_experts(vug_flow *f, vug_val x, vug_val route, vug_experts_spec of);
/* tanh(x / by) * by; with `by` 0, x itself. */
VUG_API vug_val flow_softcap(vug_flow *f, vug_val x, float by);
VUG_API vug_val flow_gather(vug_flow *f, vug_val x, vug_val rows); /* rows of x */

/* ---- builder functions: for hooks only -------------------------------------- */

/* Runs the model's own version of this phase; at most once in a layer. */
VUG_API vug_val flow_default(vug_flow *f, vug_val x);
/* Names of outputs are unique; the flow itself uses "logits" and "hidden". */
VUG_API void flow_output(vug_flow *f, const char *name, vug_val x);
/* The shape of a value; rank 0 if it is not a value of the flow. */
VUG_API vug_shape flow_shape(const vug_flow *f, vug_val x);
/* The value of that name (the last word of its line in the graph's text) in a layer or,
 * with -1, outside the layers; the last of several. The flow fails if there is none. */
VUG_API vug_val flow_find(vug_flow *f, int layer, const char *name);
/* Whether flow_find would find it. */
VUG_API bool flow_has(const vug_flow *f, int layer, const char *name);
/* All nodes that read `old` read `with` instead, except those that this hook has appended so
 * far, from which `with` is made. Both must have the same shape. */
VUG_API void flow_replace(vug_flow *f, vug_val old, vug_val with);
/* Makes the flow fail with this error message; the flow adds the layer. */
VUG_API void flow_fail(vug_flow *f, const char *message);

#ifdef __cplusplus
}
#endif

#endif
