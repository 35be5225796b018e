#ifndef VUG_MODELS_MODELS_H
#define VUG_MODELS_MODELS_H

/*
 * The architectures. One file each: how to read its config, which tensors it
 * has, and its flow. Here is what they share and the registry.
 */

#include "core/json.h"
#include "flow/flow.h"
#include "ir/tensor.h"

#define VUG_MAX_EOS 16

typedef enum { VUG_ROPE_DEFAULT, VUG_ROPE_LINEAR, VUG_ROPE_LLAMA3, VUG_ROPE_YARN } vug_rope_type;

typedef struct {
    vug_rope_type type;
    double theta;
    double factor;    /* of all types but the default */
    double original;  /* context before the scaling; llama3, yarn */
    double low, high; /* turns in it: llama3's factors, yarn's betas */
    double attention; /* cosines and sines times this */
    bool whole;       /* yarn: its range is rounded to whole pairs */
} vug_rope;

typedef struct vug_arch vug_arch;
typedef struct vug_binding vug_binding;

/* What a checkpoint's config says, in one spelling. */
typedef struct {
    const vug_arch *arch;
    int64_t n_layers;
    int64_t d_model;    /* D */
    int64_t n_heads;    /* H */
    int64_t n_kv_heads; /* K */
    int64_t d_head;     /* E */
    int64_t d_ffn;      /* F */
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
    vug_dtype dtype; /* that the model was made to run in; VUG_DTYPE_COUNT: not said */
    int32_t eos[VUG_MAX_EOS];
    int n_eos;
} vug_config;

/* Whether a checkpoint has a tensor; of biases the config says so. */
typedef enum { VUG_NEEDED, VUG_OPTIONAL, VUG_WITH_ATTN_BIAS, VUG_WITH_MLP_BIAS } vug_need;

/*
 * A tensor that an architecture has: the name its flow uses, the name in Hugging
 * Face files below the text prefix ("%d" is the layer), and the shape in the
 * letters above, a product as "H*E"; P is E / 2, the pairs of a rotation.
 */
typedef struct {
    const char *name;
    const char *hf;
    const char *shape;
    bool per_layer;
    vug_need need;
} vug_tensor_row;

struct vug_arch {
    const char *name;               /* "gemma3" */
    const char *const *model_types; /* of config.json; NULL-terminated */
    const char *chat;               /* family of text/chat.h; NULL: none is built in */
    const vug_tensor_row *row;      /* the first is the embedding */
    size_t n_rows;
    /* `text` is the object with the text model's keys. */
    vug_status (*read)(const vug_jv *text, const char *file, vug_config *out, vug_err *err);
    void (*build)(vug_flow *f, const vug_config *c, const vug_binding *b);
};

/* `i` < count. */
size_t vug_arch_count(void);
const vug_arch *vug_arch_at(size_t i);

/* Reads config.json's text; `file` names it in sentences. */
VUG_MUST_CHECK vug_status vug_config_read(vug_str json, const char *file, vug_config *out,
                                          vug_err *err);
/* Only the architecture, as far as a chat format needs it. */
VUG_MUST_CHECK vug_status vug_config_arch(vug_str json, const char *file, const vug_arch **out,
                                          vug_err *err);

/* The published shapes: config.json as text; `i` < count. */
typedef struct {
    const char *name;
    const char *config;
} vug_shape_row;
size_t vug_shape_rows(void);
const vug_shape_row *vug_shape_row_at(size_t i);

/* ---- binding: which tensor of the checkpoint is which weight ---------------- */

#define VUG_SLOT_EMBEDDING 0

struct vug_binding {
    const vug_tensor **tensor; /* [n_slots]; NULL where an optional one is absent */
    size_t n_slots;
    bool *used;               /* [n] of the list, which tensors were bound */
    bool tied;                /* the head is the embedding */
    const vug_config *config; /* borrowed */
};

typedef struct {
    const vug_tensor *const *tensor; /* [n], sorted by name */
    size_t n;
    const char *source; /* folder or file, for sentences */
} vug_tensor_list;

/* Finds every tensor of the architecture's table and checks its shape and format.
 * Vision and audio towers are passed over; what is missing, of another shape or
 * left over is refused with the list. */
VUG_MUST_CHECK vug_status vug_bind(const vug_config *config, const vug_tensor_list *list,
                                   vug_binding *out, vug_err *err);
void vug_binding_release(vug_binding *binding);
/* A flow's vug_find_weight_fn; `binding` is a const vug_binding. */
vug_status vug_binding_weight(const void *binding, const char *name, int layer,
                              vug_weight_spec *out, vug_err *err);

/* A slot is a row of the table, of one layer where the row has one per layer. */
typedef struct {
    const vug_tensor_row *row;
    int layer;   /* -1: outside the layers */
    bool wanted; /* by this config; otherwise a tensor of the name is left over */
    vug_shape shape;
    char name[128]; /* in Hugging Face files, below the text prefix */
} vug_slot;

size_t vug_slot_count(const vug_config *config);
/* `i` < count. */
vug_slot vug_slot_at(const vug_config *config, size_t i);

/* Writes the model's flow into an empty graph. */
VUG_MUST_CHECK vug_status vug_model_build(const vug_binding *binding, bool hidden, vug_graph *out,
                                          vug_err *err);

/* ---- for architecture files ------------------------------------------------- */

/* The table `name` of one kind of layer, for heads of `dims`. */
vug_val vug_model_rope(vug_flow *f, const char *name, vug_val positions, const vug_rope *rope,
                       int64_t dims);
/* The table of the config's one RoPE, or of the divisors of its plain frequencies that
 * the checkpoint has as `rope_freqs` (as files that llama.cpp wrote have): they are the
 * scaling then. */
vug_val vug_model_rope_divided(vug_flow *f, const char *name, vug_val positions,
                               const vug_binding *binding);
/* sqrt(D) rounded to the format that the model was made to run in, or that of the
 * stored embedding where the config does not say, because the reference holds the
 * scale in it and checkpoints were trained so (transformers,
 * Gemma3TextScaledWordEmbedding). */
float vug_embedding_scale(const vug_binding *binding);

#endif
