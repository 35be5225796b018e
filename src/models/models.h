#ifndef VUG_MODELS_MODELS_H
#define VUG_MODELS_MODELS_H

/*
 * The architectures. The file of each one says how to read a config, which tensors a
 * checkpoint has, and what is computed. This header is what other modules see of them;
 * common.h has what the architectures share among themselves.
 */

#include "core/gguf.h"
#include "core/json.h"
#include "flow/builder.h"
#include "ir/tensor.h"

#define VUG_MAX_EOS 16

typedef enum {
    VUG_ROPE_DEFAULT,
    VUG_ROPE_LINEAR,
    VUG_ROPE_LLAMA3,
    VUG_ROPE_YARN,
    VUG_ROPE_PROPORTIONAL,
} vug_rope_type;

typedef struct {
    vug_rope_type type;
    double theta;
    double factor;           /* every type but default; 0 means 1 for proportional */
    double original_context; /* tokens before the scaling; llama3, yarn */
    double low, high; /* llama3: low_freq_factor, high_freq_factor; yarn: beta_slow, beta_fast */
    double attention_factor; /* scales cosines and sines */
    bool truncate;           /* yarn: round the blended range to whole pairs */
    double rotary_fraction;  /* proportional: fraction of pairs that rotate, the first ones */
} vug_rope;

/* What one layer overrides; 0: the config's value for all layers. */
typedef struct {
    int32_t d_head, n_kv_heads, d_ffn;
    int32_t kv_layers_back; /* reads the KV cache of the layer this many before; 0: has its own */
    bool k_is_v;            /* values come from the key projection */
} vug_layer_config;

typedef struct vug_arch vug_arch;
typedef struct vug_gguf_arch vug_gguf_arch; /* common.h */
typedef struct vug_binding vug_binding;

/* A checkpoint's config, in one form. The capital letters appear in tensor shapes. */
typedef struct {
    const vug_arch *arch;
    int64_t n_layers;            /* L */
    int64_t d_model;             /* D */
    int64_t n_heads;             /* H */
    int64_t n_kv_heads;          /* K */
    int64_t d_head;              /* E */
    int64_t d_ffn;               /* F */
    int64_t n_experts;           /* N; 0: no layer has experts */
    int64_t n_experts_per_token; /* how many the router chooses */
    int64_t d_expert;            /* X, an expert's feed-forward width */
    bool renormalise;            /* scale the chosen experts' weights to sum to 1 */
    int64_t n_vocab;             /* V, rows of the embedding */
    int64_t context;             /* trained, in tokens */
    int64_t window;              /* sliding window, in tokens */
    float norm_eps;
    float attn_scale;
    float attn_softcap;  /* 0: none */
    float final_softcap; /* 0: none */
    bool tied;           /* as the config says; a head tensor in the checkpoint takes precedence */
    bool attn_bias;      /* which optional biases the checkpoint has */
    bool mlp_bias;
    vug_rope rope_full, rope_window; /* only rope_full if all layers rotate alike */
    bool windowed[VUG_MAX_LAYERS];   /* layers with a sliding window */
    bool sparse[VUG_MAX_LAYERS];     /* layers with experts */
    vug_layer_config layer[VUG_MAX_LAYERS];
    int64_t d_per_layer;       /* I, width of the per-layer embeddings; 0: none */
    int64_t n_vocab_per_layer; /* U, rows of their table */
    vug_dtype dtype;           /* what the model was trained to run in; VUG_DTYPE_COUNT: unknown */
    int32_t eos[VUG_MAX_EOS];
    int n_eos;
} vug_config;

/* Whose tensor names, and whose way of storing values, a checkpoint has. */
typedef enum { VUG_NAMES_HF, VUG_NAMES_GGUF } vug_tensor_naming;

/* The tensors of a checkpoint. */
typedef struct {
    const vug_tensor *const *tensor; /* [n], sorted by name */
    size_t n;
    const char *source; /* folder or file, for error messages */
    vug_tensor_naming names;
} vug_tensor_list;

/* ---- an architecture --------------------------------------------------------- */

/* Whether a checkpoint must have a tensor; for optional biases the config decides. */
typedef enum { VUG_NEEDED, VUG_OPTIONAL, VUG_WITH_ATTN_BIAS, VUG_WITH_MLP_BIAS } vug_tensor_need;

/*
 * One tensor of an architecture. The Hugging Face name follows the text model's prefix; a
 * "%d" in it is the layer, a second "%d" the expert. The shape is written in the letters of
 * vug_config, a product as "H*E". Inside a layer E, K and F are that layer's; P is E / 2,
 * the pairs of a rotation. Outside the layers P is that of layers without a window.
 */
typedef struct {
    const char *name; /* as the flow calls it */
    const char *hf;   /* ".weight" may follow in files */
    const char *gguf; /* without "blk.N." and ".weight"; NULL: GGUF has it only in packs */
    const char *shape;
    vug_tensor_need need;
} vug_tensor_row;

/*
 * One tensor with the weights of all experts, in place of a tensor for each: expert by
 * expert, and inside an expert part by part. The parts name rows of one shape.
 */
typedef struct {
    const char *hf;
    const char *gguf;    /* as in vug_tensor_row */
    const char *part[2]; /* the second may be NULL */
} vug_expert_pack_row;

/* What a config says about a tensor in one layer. */
typedef enum {
    VUG_TENSOR_USED,
    VUG_TENSOR_IGNORED, /* a checkpoint may have it, but the model never reads it */
    VUG_TENSOR_ABSENT,  /* a checkpoint of this config must not have it */
} vug_tensor_presence;

/* What the phases of one flow share while it is built. */
typedef struct {
    const vug_config *config;
    const vug_binding *binding;
    void *user;                /* for the hooks */
    vug_val tokens, positions; /* [T] */
    vug_val embedding;         /* [V,D], also the head if the two are tied */
    /* `prepare` sets these; other architectures may need further fields. */
    vug_val rope_full, rope_window; /* RoPE tables [T,dims]; one table is in rope_full */
    vug_val per_layer;              /* [T,L,I], the per-layer embeddings */
} vug_model_context;

struct vug_arch {
    const char *name;               /* "gemma3" */
    const char *const *model_types; /* of config.json; NULL-terminated */
    const vug_gguf_arch *gguf;      /* NULL: no GGUF files exist */
    const char *chat_family;        /* in text/chat/builtin_templates.h; NULL: no template */
    const vug_tensor_row *row;      /* the embedding is first; a head is called "output" */
    size_t n_rows;
    const vug_expert_pack_row *pack;
    size_t n_packs;
    bool packed; /* published Hugging Face checkpoints pack their experts */
    /* NULL: every layer uses every row. */
    vug_tensor_presence (*presence)(const vug_config *c, const vug_tensor_row *row, int layer);
    float norm_weight; /* stored weight of a norm that scales by 1: 1, or 0 if norms add 1 */
    double tolerance;  /* default for |logit difference| in verification; 0: 2e-4 */
    /* `text` is the object with the text model's keys. */
    vug_status (*read_config)(const vug_jv *text, const char *file, vug_config *out, vug_err *err);
    /* The phases that build the flow, in calling order. Hooks may replace x between them
     * and may stand in for `embed` and `layer`. */
    vug_val (*embed)(vug_flow *f, vug_model_context *s); /* tokens [T] -> x [T,D] */
    /* Makes what layers read besides x; may be NULL. */
    void (*prepare)(vug_flow *f, vug_model_context *s, vug_val x);
    vug_val (*layer)(vug_flow *f, vug_model_context *s, int i, vug_val x); /* [T,D] -> [T,D] */
    /* Called before the first layer that has no KV cache of its own, if only the logits of
     * `rows` [R] are wanted: reduces what `prepare` made to these rows. The caller does so
     * with x. NULL: every layer has a cache. */
    void (*select_rows)(vug_flow *f, vug_model_context *s, vug_val rows);
    vug_val (*norm)(vug_flow *f, vug_model_context *s, vug_val x); /* the final norm */
    vug_val (*head)(vug_flow *f, vug_model_context *s, vug_val x); /* [R,D] -> logits [R,V] */
};

/* The rows of registry.def. registry.c contains nothing but these two functions, so that
 * a program with an architecture of its own can define them instead. */
size_t vug_arch_count(void);
/* `i` < count. */
const vug_arch *vug_arch_at(size_t i);

/* ---- configs ------------------------------------------------------------------ */

/* Reads the text of a config.json; `file` names it in error messages. */
VUG_MUST_CHECK vug_status vug_config_read(vug_str json, const char *file, vug_config *out,
                                          vug_err *err);
/* Reads the config from the metadata and the tensors of a GGUF file. */
VUG_MUST_CHECK vug_status vug_config_read_gguf(const vug_gguf *gguf, const vug_tensor_list *list,
                                               vug_config *out, vug_err *err);
/* Writes the metadata as a config.json into `out`, which must be all-zero. */
VUG_MUST_CHECK vug_status vug_config_gguf_to_json(const vug_gguf *gguf, const vug_tensor_list *list,
                                                  vug_buf *out, const vug_arch **arch,
                                                  vug_err *err);
/* Adds the keys from which vug_config_read_gguf reads `config` back, in llama.cpp's
 * spelling wherever it has one. Fails on what GGUF cannot express. */
VUG_MUST_CHECK vug_status vug_config_write_gguf(const vug_config *config, vug_gguf_builder *to,
                                                vug_err *err);
/* Reads only the architecture, which is all that a chat format needs. */
VUG_MUST_CHECK vug_status vug_config_read_arch(vug_str json, const char *file, const vug_arch **out,
                                               vug_err *err);
VUG_MUST_CHECK vug_status vug_config_read_arch_gguf(const vug_gguf *gguf, const char *file,
                                                    const vug_arch **out, vug_err *err);
/* Layer `i` with the config's defaults filled in; -1: the defaults alone. */
vug_layer_config vug_config_layer(const vug_config *config, int64_t i);
/* Width of the heads in layers with a window, or in those without. */
int64_t vug_config_d_head(const vug_config *config, bool windowed);
/* Window of layer `i` in tokens; 0: it sees all of them. */
int64_t vug_config_window(const vug_config *config, int64_t i);

/* The config.json of each published model size; `i` < count. */
typedef struct {
    const char *name;
    const char *config;
} vug_model_shape;
size_t vug_model_shape_count(void);
const vug_model_shape *vug_model_shape_at(size_t i);

/* ---- weight slots: which tensors a config asks for --------------------------- */

/* The slots of a config are the rows of its architecture's tensor table: one slot per
 * layer if the row has layers, one per expert if it has experts. Those of a layer are
 * adjacent. The PARAM nodes of a graph name their weight by slot. */
typedef struct {
    const vug_tensor_row *row;
    int layer;  /* -1: outside the layers */
    int expert; /* -1: not an expert's weight */
    vug_shape shape;
    char name[128]; /* Hugging Face name, without the text model's prefix */
    vug_tensor_presence presence;
} vug_weight_slot;

#define VUG_EMBEDDING_SLOT 0

size_t vug_weight_slot_count(const vug_config *config);
/* `i` < count. */
vug_weight_slot vug_weight_slot_at(const vug_config *config, size_t i);
/* The tensor in which published checkpoints store slot `i`, with that tensor's name and
 * shape. False if an earlier slot has the same tensor, or if the config has none. */
bool vug_weight_slot_tensor(const vug_config *config, size_t i, vug_weight_slot *out);

/* How GGUF files store a tensor's values. */
typedef enum {
    VUG_STORED_AS_IS,
    VUG_STORED_PLUS_ONE,     /* norm weights 1 + w, added in F32, where others store w */
    VUG_STORED_INTERLEAVED,  /* row r is the weight's row vug_rope_interleaved_row(r) */
    VUG_STORED_FREQ_FACTORS, /* vug_rope_freq_factors, if the checkpoint has no such tensor */
} vug_gguf_storage;

/* vug_weight_slot_tensor for GGUF files, in which gate and up of experts are separate. */
bool vug_weight_slot_gguf(const vug_config *config, size_t i, vug_weight_slot *out,
                          vug_gguf_storage *storage);
int64_t vug_rope_interleaved_row(int64_t row, int64_t d_head);
/* The divisors of unscaled RoPE frequencies, for RoPE types without a GGUF key: out [P],
 * may be NULL. False if the config needs none. */
bool vug_rope_freq_factors(const vug_config *config, float *out);

/* ---- binding: which tensor of the checkpoint has which weight ---------------- */

struct vug_binding {
    const vug_tensor **tensor; /* [n_slots]; NULL if an optional one is absent */
    int64_t *row;              /* [n_slots] the row of that tensor at which the weight begins */
    size_t n_slots;
    bool *used;               /* [n] of the tensor list: bound, or known and ignored */
    bool *bound;              /* [n] of the tensor list */
    bool tied;                /* the head is the embedding */
    vug_tensor_naming names;  /* as in the tensor list */
    const vug_config *config; /* borrowed */
};

/* Finds every tensor of the architecture's table and checks its shape and format. Vision
 * and audio towers are skipped. Fails with a list of the tensors that are missing, have
 * another shape, or belong to no slot. */
VUG_MUST_CHECK vug_status vug_binding_init(const vug_config *config, const vug_tensor_list *list,
                                           vug_binding *out, vug_err *err);
/* A binding without a checkpoint, to build graphs for display: every tensor has the
 * config's format, or BF16, and no data; optional ones are absent. */
VUG_MUST_CHECK vug_status vug_binding_init_without_data(const vug_config *config, vug_binding *out,
                                                        vug_err *err);
void vug_binding_release(vug_binding *binding);
/* The tensor of exactly this name, or NULL. */
const vug_tensor *vug_tensor_list_find(const vug_tensor_list *list, const char *name);
/* A vug_find_weight_fn; `binding` is a const vug_binding. */
vug_status vug_binding_find_weight(const void *binding, const char *name, int layer,
                                   vug_weight_spec *out, vug_err *err);
bool vug_binding_has_weight(const vug_binding *binding, const char *name, int layer);

/* ---- the flow ------------------------------------------------------------------ */

/* Writes the model's phases into the flow, with the hooks of the options. Of the other
 * options it reads `outputs`, `custom_mask` and `export_kv`. */
void vug_model_write_flow(vug_flow *f, const vug_binding *binding, const vug_flow_options *o);
/* Builds the graph that the engine runs; `hidden` adds the hidden states as outputs. */
VUG_MUST_CHECK vug_status vug_model_build_graph(const vug_binding *binding, bool hidden,
                                                vug_graph *out, vug_err *err);

#endif
