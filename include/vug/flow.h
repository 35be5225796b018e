#ifndef VUG_FLOW_H
#define VUG_FLOW_H

/*
 * Building, inspecting and changing a model's graph.
 *
 * A vug_flow is the graph of one model, written for one purpose: its options say
 * what a step holds, what comes out and where the past is, its hooks stand in for
 * stages of the model. From a flow come its text, a comparison with another, and
 * a vug_flow_program: a function with named inputs and outputs that runs on the
 * model's device, without sessions.
 *
 * The words (flow_linear, flow_add, ..) are what the architectures themselves are
 * written in. They are called inside hooks, append one node and return its value.
 * The first failure is kept in the flow and turns later words into no-ops, so a
 * hook needs no error checks: vug_flow_create reports what went wrong, and in
 * which layer. A vug_val is a number that means something only to its own flow, and
 * only in its hooks; there is nothing in it to release. Names and numbers that words
 * are given are copied. A word after vug_flow_create fails vug_flow_verify and
 * vug_flow_build; flow_find, flow_has and flow_shape may be used until the end.
 *
 * Steps are ragged: the tokens of all sequences stand one after the other, and T
 * counts them all. Every value of a layer is [T,..], row-major, in F32.
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

/* Symbolic dimensions, which a step decides; all others are positive. */
#define VUG_DIM_T ((int64_t)-1) /* tokens in the step */
#define VUG_DIM_R ((int64_t)-2) /* rows whose logits are wanted: each sequence's last token */
#define VUG_DIM_P ((int64_t)-3) /* past tokens that are given, of all sequences */
#define VUG_DIM_S ((int64_t)-4) /* past and new tokens of the longest sequence */

/* ---- options ------------------------------------------------------------ */

#define VUG_SYMBOLIC (-1)

/* DECODE fixes `tokens` at 1. */
typedef enum { VUG_FLOW_PREFILL, VUG_FLOW_DECODE } vug_flow_mode;

typedef enum {
    VUG_PAST_CACHED, /* the program keeps a cache per sequence, as sessions do */
    VUG_PAST_NONE,   /* a run is whole sequences from position 0; nothing is kept */
    VUG_PAST_GIVEN,  /* inputs past.k.N and past.v.N [P,K,E] of each layer N that fills a
                        cache; nothing is kept */
} vug_flow_past;

typedef enum {
    VUG_OUT_LAST,   /* logits [R,V] of each sequence's last token, R sequences */
    VUG_OUT_ALL,    /* logits [T,V] */
    VUG_OUT_HIDDEN, /* hidden [T,D], what the final norm gives; no head */
} vug_flow_outputs;

/* What a layer is, for a hook to look at. */
typedef struct {
    int64_t index, n_layers;
    int64_t d_model, n_heads, n_kv_heads, d_head, d_ffn; /* D, H, K, E, F */
    int64_t window;                                      /* tokens; 0: all */
    float attn_scale, norm_eps;
} vug_layer_spec;

/* The stage that a hook stands in for. */
typedef struct {
    const vug_layer_spec *layer; /* NULL before and after the layers */
    vug_val x;                   /* [T,D], its input; none in `before` */
    vug_val tokens, positions;   /* [T] */
} vug_flow_stage;

/* Returns the stage's output [T,D]: flow_default(f, stage->x) is the model's own.
 * NULL hooks leave every stage as it is. */
typedef vug_val vug_flow_hook(vug_flow *f, const vug_flow_stage *stage, void *user);
/* Changes what is there by flow_find, flow_replace and flow_output. */
typedef void vug_flow_patch(vug_flow *f, void *user);

/* All-zero: prefill of one sequence with a cache, any number of tokens, the last
 * token's logits, the default profile. */
typedef struct {
    vug_flow_mode mode;
    int64_t batch;  /* sequences: exactly so many; 0: 1; VUG_SYMBOLIC: 1 to max_batch */
    int64_t tokens; /* new ones per sequence: exactly so many; 0 or VUG_SYMBOLIC: any number */
    vug_flow_past past;
    int64_t past_tokens; /* with VUG_PAST_GIVEN, per sequence: exactly so many; 0 or
                            VUG_SYMBOLIC: any number, none as well */
    vug_flow_outputs outputs;
    bool export_kv;      /* outputs k.N, v.N [T,K,E] of each layer N that fills a cache: the
                         step's own keys, after RoPE, and values, before the cache's format
                         rounds them: given again as a past, they are rounded to the same */
    bool custom_mask;    /* input mask [T,S] for the layers that see all tokens, mask.W for those
                         with a window of W, in place of causal order and window: what is added
                         to the score of a row's token with the token at the column's position
                         in the same sequence. -INFINITY: not seen. Each row must see one. */
    int64_t context;     /* most tokens of a sequence, the past included; 0: the model's */
    int64_t step;        /* most tokens in a run, of all sequences; 0: all that there can be when
                         `tokens` is fixed, else the model's batch */
    int64_t max_batch;   /* with a symbolic batch; 0: 16 */
    const char *profile; /* a file, "prefill" or "decode"; NULL: the model's, else the mode's */

    vug_flow_hook *before; /* in place of the embedding */
    vug_flow_hook *layer;  /* in place of each layer */
    vug_flow_hook *after;  /* between the last layer and the final norm; the default is x itself */
    vug_flow_patch *patch; /* over the whole, when all but final norm and head is there */
    void *user;            /* handed to the hooks */
} vug_flow_options;

/* ---- flows --------------------------------------------------------------- */

/* Writes the graph, which calls the hooks. `options` may be NULL. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_create(const vug_model *model,
                                                  const vug_flow_options *options, vug_flow **out,
                                                  vug_err *err);
/* From a folder of which only config.json is read: everything but build. Weights
 * count as BF16 unless the config says otherwise, optional ones as absent. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_open(const char *folder, const vug_flow_options *options,
                                                vug_flow **out, vug_err *err);
VUG_API void vug_flow_destroy(vug_flow *flow);

/* Re-derives every shape and checks every reference of the flow, fused and not. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_verify(const vug_flow *flow, vug_err *err);
/* As written, or `fused` as the profile has it run. Equal graphs give equal text. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_text(const vug_flow *flow, vug_graph_format format,
                                                bool fused, vug_text *out, vug_err *err);
/* What each pass did with the flow, and why it left a place as it was. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_passes(const vug_flow *flow, vug_text *out,
                                                  vug_err *err);
/* The lines of the two texts that differ, without the numbers of nodes: "- " those
 * of `a` alone, "+ " those of `b`; empty when the flows are equal. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_compare(const vug_flow *a, const vug_flow *b,
                                                   vug_text *out, vug_err *err);

/* ---- programs ------------------------------------------------------------ */

typedef struct vug_flow_program vug_flow_program;

/* Fuses, plans and compiles; takes all memory that runs need. The flow stays the
 * caller's and may go before the program. */
VUG_API VUG_MUST_CHECK vug_status vug_flow_build(const vug_flow *flow, vug_flow_program **out,
                                                 vug_err *err);
VUG_API void vug_program_destroy(vug_flow_program *program);

typedef struct {
    const char *name;
    vug_shape shape;
    bool integers; /* int32_t; else float */
    bool optional; /* positions: without them they count on from the past */
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

/* Inputs by name; borrowed until set again, and kept from run to run. What is
 * wrong (an unknown name, another kind) the next run reports. */
VUG_API void vug_program_set_ids(vug_flow_program *program, const char *name, const int32_t *id,
                                 size_t n);
VUG_API void vug_program_set(vug_flow_program *program, const char *name, const float *x, size_t n);
/* How the tokens are divided among sequences; copied, kept from run to run. Without it,
 * or with `n` 0: equally, where a symbolic batch has as many sequences as fixed `tokens`
 * say, or one. */
VUG_API void vug_program_split(vug_flow_program *program, const vug_sequence *sequence, size_t n);
/* Checks every input's size against its shape, and runs. */
VUG_API VUG_MUST_CHECK vug_status vug_program_run(vug_flow_program *program, vug_err *err);
/* An output of the last run, until the next; NULL when there is none of that name
 * or the run failed. `n` gets its number of floats and may be NULL. */
VUG_API const float *vug_program_get(const vug_flow_program *program, const char *name, size_t *n);
/* Tokens in the cache of sequence `i`; 0 where nothing is kept. */
VUG_API int64_t vug_program_past(const vug_flow_program *program, size_t i);
/* Forgets the caches. */
VUG_API void vug_program_reset(vug_flow_program *program);

/* ---- words: inputs and weights -------------------------------------------- */

typedef enum {
    VUG_INPUT_TOKENS,    /* [T] ids */
    VUG_INPUT_POSITIONS, /* [T] in their sequences */
    VUG_INPUT_ROWS,      /* [R] rows of the step: see VUG_DIM_R */
    VUG_INPUT_DATA,      /* numbers of the caller's; made by flow_data */
} vug_input;

VUG_API vug_val flow_input(vug_flow *f, vug_input which);
/* An input of the author's own, set by its name: `shape` is fixed, or begins with
 * VUG_DIM_T. The same name and shape again is the same input: one for all layers. */
VUG_API vug_val flow_data(vug_flow *f, const char *name, vug_shape shape);
/* By the name that the architecture's file uses, of the hook's own layer. */
VUG_API vug_val flow_weight(vug_flow *f, const char *name);

/* ---- words: what architectures are written in ------------------------------ */

typedef struct {
    float eps;
    float bias; /* added to the weight: 1 for Gemma's (1 + w) */
} vug_attr_norm;
/* Angle of pair i at position p: p * inv[i], products in F32 as the reference
 * computes them. The table's row holds dims/2 cosines, then dims/2 sines, each
 * times `factor`. */
typedef struct {
    int dims;
    const float *inv; /* [dims/2], copied */
    float factor;
} vug_attr_table;
/* Query i sees key j iff j <= i and, with a window, i - j < window. */
typedef struct {
    int layer;      /* whose cache it appends to, which flow_attention fills; of flow_attend:
                       whose it reads */
    int64_t window; /* tokens; 0: all */
    float scale;    /* of q.k */
    float softcap;  /* tanh(s / softcap) * softcap after the scale; 0: none */
} vug_attr_attn;
/* The `count` largest logits, the lower index first among equals; their softmax over
 * all experts or, renormalised, over the chosen ones. A row of the route holds the
 * indices as numbers, the best first, then as many weights. */
typedef struct {
    int count;
    bool renormalise;
} vug_attr_router;
typedef enum { VUG_ACT_GELU, VUG_ACT_SILU } vug_activation;
typedef struct {
    const char *gate, *up, *down; /* weights [N,F,D], [N,F,D], [N,D,F] */
    vug_activation act;
} flow_experts_of;

/* Rows of a table [V,D], times `scale`. */
VUG_API vug_val flow_embed(vug_flow *f, vug_val table, vug_val tokens, float scale);
/* x [T,in] times the transposed weight `name` [out,in]. */
VUG_API vug_val flow_linear(vug_flow *f, vug_val x, const char *name);
/* The same with a weight that was looked up before, such as a tied head. */
VUG_API vug_val flow_project(vug_flow *f, vug_val x, vug_val weight);
/* x / rms(x) * (w + bias) over the last axis, w the weight `name`. */
VUG_API vug_val flow_rms_norm(vug_flow *f, vug_val x, const char *name, vug_attr_norm at);
VUG_API vug_val flow_rope_table(vug_flow *f, vug_val positions, const char *name,
                                vug_attr_table at);
VUG_API vug_val flow_rope(vug_flow *f, vug_val x, vug_val table);
/* [T,H,E]: of each head the elements 0, 2, .., then 1, 3, ..: pairs of neighbours become
 * pairs of halves, which are what flow_rope turns. */
VUG_API vug_val flow_unpair(vug_flow *f, vug_val x);
/* q [T,H,E] over the layer's past and k, v [T,K,E]; once in a layer. Past and mask
 * are as the options say. */
VUG_API vug_val flow_attention(vug_flow *f, vug_val q, vug_val k, vug_val v, vug_attr_attn at);
/* Queries alone, over the cache that layer `at.layer` filled in the same step. */
VUG_API vug_val flow_attend(vug_flow *f, vug_val q, vug_attr_attn at);
VUG_API vug_val flow_heads(vug_flow *f, vug_val x, int64_t count); /* [T,H*E] to [T,H,E] */
VUG_API vug_val flow_merge(vug_flow *f, vug_val x);                /* and back */
VUG_API vug_val flow_add(vug_flow *f, vug_val a, vug_val b);
VUG_API vug_val flow_mul(vug_flow *f, vug_val a, vug_val b);
VUG_API vug_val flow_scale(vug_flow *f, vug_val x, float by);
VUG_API vug_val flow_gelu(vug_flow *f, vug_val x);
VUG_API vug_val flow_silu(vug_flow *f, vug_val x);
/* x [..,D] plus the weight `name` [D]. */
VUG_API vug_val flow_bias(vug_flow *f, vug_val x, const char *name);
/* x times the weight `name` [1]. */
VUG_API vug_val flow_gain(vug_flow *f, vug_val x, const char *name);
/* x / rms(x) over the last axis, without a weight. */
VUG_API vug_val flow_unit_norm(vug_flow *f, vug_val x, float eps);
/* [T,E], head `index` of x [T,H,E]. */
VUG_API vug_val flow_head(vug_flow *f, vug_val x, int index);
/* The `at.count` best of the experts that logits [T,N] are of, with their weights. */
VUG_API vug_val flow_router(vug_flow *f, vug_val logits, vug_attr_router at);
/* The route's weights times those that the weight `name` [N] has for its experts. */
VUG_API vug_val flow_route_scale(vug_flow *f, vug_val route, const char *name);
/* Sum over the chosen experts of their weight times down(act(gate x) * up x). */
VUG_API vug_val flow_experts(vug_flow *f, vug_val x, vug_val route, flow_experts_of of);
/* tanh(x / by) * by; `by` 0 leaves x as it is. */
VUG_API vug_val flow_softcap(vug_flow *f, vug_val x, float by);
VUG_API vug_val flow_take(vug_flow *f, vug_val x, vug_val rows); /* rows of x */

/* ---- words: for hooks -------------------------------------------------------- */

/* What the model itself does at this stage; a layer's at most once. */
VUG_API vug_val flow_default(vug_flow *f, vug_val x);
/* No two outputs have one name; "logits" and "hidden" are the flow's own. */
VUG_API void flow_output(vug_flow *f, const char *name, vug_val x);
/* Rank 0 for no value. */
VUG_API vug_shape flow_shape(const vug_flow *f, vug_val x);
/* The value of that name, as the graph's text shows it last on a line, of a layer
 * or, with -1, outside the layers; the last of several. None is a failure. */
VUG_API vug_val flow_find(vug_flow *f, int layer, const char *name);
/* Whether flow_find would find it. */
VUG_API bool flow_has(const vug_flow *f, int layer, const char *name);
/* Whoever reads `old` reads `with` instead, apart from what `with` is made of after
 * the hook began. Both have one shape. */
VUG_API void flow_replace(vug_flow *f, vug_val old, vug_val with);
/* A failure of the author's own; the flow adds the layer. */
VUG_API void flow_fail(vug_flow *f, const char *sentence);

#ifdef __cplusplus
}
#endif

#endif
