#ifndef VUG_MODELS_MODELS_H
#define VUG_MODELS_MODELS_H

/*
 * The architectures: each file says how to read a config, which tensors there are, and
 * what is computed. Here is what other rooms see of them; what they share among
 * themselves is in common.h.
 */

#include "core/gguf.h"
#include "core/json.h"
#include "flow/flow.h"
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
    double factor;    /* of all types but the default; of proportional, 0: 1 */
    double original;  /* context before the scaling; llama3, yarn */
    double low, high; /* turns in it: llama3's factors, yarn's betas */
    double attention; /* cosines and sines times this */
    bool whole;       /* yarn: its range is rounded to whole pairs */
    double rotated;   /* proportional: the share of pairs, the first ones, that turn at all */
} vug_rope;

/* What a layer has of its own; 0: as the config says for all. */
typedef struct {
    int32_t d_head, n_kv_heads, d_ffn;
    int32_t back; /* it reads the cache of the layer so many before it; 0: it has its own */
    bool k_is_v;  /* values are made of what the keys are made of */
} vug_layer_config;

typedef struct vug_arch vug_arch;
typedef struct vug_gguf_arch vug_gguf_arch; /* common.h */
typedef struct vug_binding vug_binding;

/* What a checkpoint's config says, in one spelling. The letters are those of shapes. */
typedef struct {
    const vug_arch *arch;
    int64_t n_layers;
    int64_t d_model;    /* D */
    int64_t n_heads;    /* H */
    int64_t n_kv_heads; /* K */
    int64_t d_head;     /* E */
    int64_t d_ffn;      /* F */
    int64_t n_experts;  /* N; 0: no layer has experts */
    int64_t n_chosen;   /* k of them, for each token */
    int64_t d_expert;   /* X, the width F of an expert */
    bool renormalise;   /* the weights of the chosen ones, so that their sum is 1 */
    int64_t n_vocab;    /* V, rows of the embedding */
    int64_t context;    /* trained, in tokens */
    int64_t window;     /* W, in tokens */
    float norm_eps;
    float attn_scale;
    float attn_softcap;  /* 0: none */
    float final_softcap; /* 0: none */
    bool tied;           /* said to be; a head of its own counts wherever there is one */
    bool attn_bias;      /* which of the table's biases there are */
    bool mlp_bias;
    vug_rope rope_full, rope_window; /* the first where there is only one */
    bool windowed[VUG_MAX_LAYERS];   /* which layers see only the window */
    bool sparse[VUG_MAX_LAYERS];     /* which layers have experts */
    vug_layer_config layer[VUG_MAX_LAYERS];
    int64_t d_per_layer;       /* I, width of a layer's own embeddings; 0: none */
    int64_t n_vocab_per_layer; /* U, rows of their table */
    vug_dtype dtype;           /* that the model was made to run in; VUG_DTYPE_COUNT: not said */
    int32_t eos[VUG_MAX_EOS];
    int n_eos;
} vug_config;

/* By which names a checkpoint calls its tensors, and keeps their values. */
typedef enum { VUG_NAMES_HF, VUG_NAMES_GGUF } vug_names;

/* Those of a checkpoint. */
typedef struct {
    const vug_tensor *const *tensor; /* [n], sorted by name */
    size_t n;
    const char *source; /* folder or file, for sentences */
    vug_names names;
} vug_tensor_list;

/* ---- an architecture --------------------------------------------------------- */

/* Whether a checkpoint has a tensor; of biases the config says so. */
typedef enum { VUG_NEEDED, VUG_OPTIONAL, VUG_WITH_ATTN_BIAS, VUG_WITH_MLP_BIAS } vug_need;

/*
 * A tensor that an architecture has. Its name in Hugging Face files lies below the text
 * prefix; a "%d" in it is the layer, a second one the expert. The shape is in the
 * letters of vug_config, a product as "H*E": in a layer E, K and F are the layer's own,
 * L is the number of layers, and P is E / 2, the pairs of a rotation; outside the layers
 * it is that of layers that see everything.
 */
typedef struct {
    const char *name; /* that the flow uses */
    const char *hf;   /* also found with ".weight" behind it */
    const char *gguf; /* below "blk.N." in layers, without ".weight"; NULL: only in packs */
    const char *shape;
    vug_need need;
} vug_tensor_row;

/*
 * A tensor that holds such weights of all experts instead: expert by expert, in each
 * the parts one after the other. Parts are rows of the table, of the same shape.
 */
typedef struct {
    const char *hf;
    const char *gguf;    /* as in vug_tensor_row */
    const char *part[2]; /* the second may be NULL */
} vug_pack_row;

/* What a config says of a row in one layer. */
typedef enum {
    VUG_TENSOR_READ,
    VUG_TENSOR_UNREAD, /* may be there, and nobody reads it */
    VUG_TENSOR_NONE,   /* has no place in a checkpoint of this config */
} vug_presence;

/* What the stages of one flow share while it is built. */
typedef struct {
    const vug_config *config;
    const vug_binding *binding;
    void *user;                /* of the hooks */
    vug_val tokens, positions; /* [T] */
    vug_val embedding;         /* [V,D], which a tied head reads again */
    /* Made by `prepare`; another architecture's values are other fields. */
    vug_val rope_full, rope_window; /* tables [T,dims]; the first where there is only one */
    vug_val per_layer;              /* [T,L,I], the layers' own embeddings */
} vug_stages;

struct vug_arch {
    const char *name;               /* "gemma3" */
    const char *const *model_types; /* of config.json; NULL-terminated */
    const vug_gguf_arch *gguf;      /* NULL: there are no GGUF files of it */
    const char *chat;               /* family of text/chat/formats.h; NULL: none is built in */
    const vug_tensor_row *row;      /* the first is the embedding; a head is called "output" */
    size_t n_rows;
    const vug_pack_row *pack;
    size_t n_packs;
    bool packed; /* so are its published checkpoints, and the rows' own names an exception */
    /* NULL: every row is read in every layer. */
    vug_presence (*presence)(const vug_config *c, const vug_tensor_row *row, int layer);
    float norm_weight; /* what a norm that does nothing stores: 1, or 0 where norms add 1 */
    double tolerance;  /* on |logit difference| in verification, where none is asked for; 0: 2e-4 */
    /* `text` is the object with the text model's keys. */
    vug_status (*read)(const vug_jv *text, const char *file, vug_config *out, vug_err *err);
    /* The flow, in stages that are called in this order; hooks may replace x between
     * them, and stand in for `embed` and `layer`. */
    vug_val (*embed)(vug_flow *f, vug_stages *s); /* tokens [T] -> x [T,D] */
    /* Makes what layers read besides x; NULL: nothing. */
    void (*prepare)(vug_flow *f, vug_stages *s, vug_val x);
    vug_val (*layer)(vug_flow *f, vug_stages *s, int i, vug_val x); /* [T,D] -> [T,D] */
    /* Before the first layer without a cache of its own, when only the logits of `rows`
     * [R] are wanted: leaves those of what `prepare` made, as x is left its own. NULL:
     * there are no such layers. */
    void (*narrow)(vug_flow *f, vug_stages *s, vug_val rows);
    vug_val (*norm)(vug_flow *f, vug_stages *s, vug_val x); /* the final one, of any rows */
    vug_val (*head)(vug_flow *f, vug_stages *s, vug_val x); /* [R,D] -> logits [R,V] */
};

/* The rows of registry.def. Both functions are all of registry.c, so that a program
 * with an architecture of its own can bring them instead of the library's. */
size_t vug_arch_count(void);
/* `i` < count. */
const vug_arch *vug_arch_at(size_t i);

/* ---- configs ------------------------------------------------------------------ */

/* Reads config.json's text; `file` names it in sentences. */
VUG_MUST_CHECK vug_status vug_config_read(vug_str json, const char *file, vug_config *out,
                                          vug_err *err);
/* The same from the metadata and the tensors of a GGUF file. */
VUG_MUST_CHECK vug_status vug_config_read_gguf(const vug_gguf *gguf, const vug_tensor_list *list,
                                               vug_config *out, vug_err *err);
/* Only the config.json in between, to which `out`, all-zero before, is set. */
VUG_MUST_CHECK vug_status vug_config_json_of_gguf(const vug_gguf *gguf, const vug_tensor_list *list,
                                                  vug_buf *out, const vug_arch **arch,
                                                  vug_err *err);
/* Puts the keys from which vug_config_read_gguf reads `config`, those of other programs
 * first of all; refuses what GGUF cannot say. */
VUG_MUST_CHECK vug_status vug_config_put_gguf(const vug_config *config, vug_gguf_builder *to,
                                              vug_err *err);
/* Only the architecture, as far as a chat format needs it. */
VUG_MUST_CHECK vug_status vug_config_arch(vug_str json, const char *file, const vug_arch **out,
                                          vug_err *err);
VUG_MUST_CHECK vug_status vug_config_arch_gguf(const vug_gguf *gguf, const char *file,
                                               const vug_arch **out, vug_err *err);
/* What layer `i` has, with what the config says for all filled in; only that for -1. */
vug_layer_config vug_config_layer(const vug_config *config, int64_t i);
/* The width of heads of layers with a window, or of those without. */
int64_t vug_config_head(const vug_config *config, bool windowed);
/* How many tokens layer `i` sees; 0: all of them. */
int64_t vug_config_window(const vug_config *config, int64_t i);

/* The published shapes: config.json as text; `i` < count. */
typedef struct {
    const char *name;
    const char *config;
} vug_shape_row;
size_t vug_shape_rows(void);
const vug_shape_row *vug_shape_row_at(size_t i);

/* ---- slots: which tensors a config asks for ---------------------------------- */

/* A slot is a row of the table, of one layer where the row has one per layer, and of
 * one expert where it has one per expert: those of a layer follow each other. */
typedef struct {
    const vug_tensor_row *row;
    int layer;  /* -1: outside the layers */
    int expert; /* -1: not of one */
    vug_shape shape;
    char name[128]; /* in Hugging Face files, below the text prefix */
    vug_presence presence;
} vug_slot;

size_t vug_slot_count(const vug_config *config);
/* `i` < count. */
vug_slot vug_slot_at(const vug_config *config, size_t i);
/* The tensor in which published checkpoints keep slot `i`, with its own name and
 * shape; false where that is an earlier slot's too, or the config has none. */
bool vug_slot_tensor(const vug_config *config, size_t i, vug_slot *out);

/* How GGUF files keep a tensor's values. */
typedef enum {
    VUG_KEPT_AS_IT_IS,
    VUG_KEPT_PLUS_ONE, /* 1 + w, added in F32, of norms that add 1 elsewhere */
    VUG_KEPT_PAIRED,   /* its row is row vug_paired_row of the weight */
    VUG_KEPT_DIVISORS, /* vug_rope_divisors, where the checkpoint has no such tensor */
} vug_kept;

/* vug_slot_tensor for GGUF files; of experts each kind is a tensor by itself. */
bool vug_slot_gguf(const vug_config *config, size_t i, vug_slot *out, vug_kept *kept);
int64_t vug_paired_row(int64_t row, int64_t d_head);
/* What plain frequencies are divided by where GGUF has no key for the RoPE type: out
 * [P], may be NULL. False where none are needed. */
bool vug_rope_divisors(const vug_config *config, float *out);

#define VUG_SLOT_EMBEDDING 0

/* ---- binding: which tensor of the checkpoint is which weight ---------------- */

struct vug_binding {
    const vug_tensor **tensor; /* [n_slots]; NULL where an optional one is absent */
    int64_t *row;              /* [n_slots] of its tensor at which the weight begins */
    size_t n_slots;
    bool *used;               /* [n] of the list: bound, or known and left unread */
    bool *bound;              /* [n] likewise: bound */
    bool tied;                /* the head is the embedding */
    vug_names names;          /* whose way of keeping values it is, too */
    const vug_config *config; /* borrowed */
};

/* Finds every tensor of the architecture's table and checks its shape and format.
 * Vision and audio towers are passed over; what is missing, of another shape or
 * left over is refused with the list. */
VUG_MUST_CHECK vug_status vug_bind(const vug_config *config, const vug_tensor_list *list,
                                   vug_binding *out, vug_err *err);
/* Without a checkpoint: every tensor has the config's format, or BF16, and no data;
 * optional ones are absent. For graphs that are looked at. */
VUG_MUST_CHECK vug_status vug_bind_none(const vug_config *config, vug_binding *out, vug_err *err);
void vug_binding_release(vug_binding *binding);
/* A flow's vug_find_weight_fn; `binding` is a const vug_binding. */
vug_status vug_binding_weight(const void *binding, const char *name, int layer,
                              vug_weight_spec *out, vug_err *err);
/* Whether the checkpoint has the weight `name`. */
bool vug_binding_has(const vug_binding *binding, const char *name, int layer);

/* ---- the flow ------------------------------------------------------------------ */

/* Writes the model's stages into the flow, with the hooks of the options; of the
 * rest only `outputs`, `custom_mask` and `export_kv` concern it. */
void vug_model_write(vug_flow *f, const vug_binding *binding, const vug_flow_options *o);
/* Writes the engine's own flow into an empty graph. */
VUG_MUST_CHECK vug_status vug_model_build(const vug_binding *binding, bool hidden, vug_graph *out,
                                          vug_err *err);

#endif
