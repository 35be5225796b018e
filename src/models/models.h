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

typedef enum { VUG_ROPE_DEFAULT, VUG_ROPE_LINEAR } vug_rope_type;

typedef struct {
    vug_rope_type type;
    double theta;
    double factor; /* of linear */
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
    float final_softcap; /* 0: none */
    vug_rope rope_full, rope_window;
    bool windowed[VUG_MAX_LAYERS]; /* which layers see only the window */
    bool tied; /* the head is the embedding, says the config; tensors, where there are any, decide */
    vug_dtype dtype; /* that the model was made to run in; VUG_DTYPE_COUNT: not said */
    int32_t eos[VUG_MAX_EOS];
    int n_eos;
} vug_config;

/*
 * A tensor that an architecture has: the name its flow uses, the name in Hugging
 * Face files below the text prefix ("%d" is the layer), and the shape in the
 * letters above, a product as "H*E".
 */
typedef struct {
    const char *name;
    const char *hf;
    const char *shape;
    bool per_layer;
    bool optional;
} vug_tensor_row;

/* One flow while it is built: what its stages share. The driver fills the first
 * five, `prepare` the others; another architecture's values
 * are other fields. */
typedef struct {
    const vug_config *config;
    const vug_binding *binding;
    void *user;                     /* of the hooks */
    vug_val tokens, positions;      /* [T] */
    vug_val embedding;              /* [V,D], which a tied head reads again */
    vug_val rope_full, rope_window; /* tables [T,dims] */
} vug_stages;

struct vug_arch {
    const char *name;               /* "gemma3" */
    const char *const *model_types; /* of config.json; NULL-terminated */
    const char *chat;               /* family of text/chat.h */
    const vug_tensor_row *row;      /* the first is the embedding */
    size_t n_rows;
    /* `text` is the object with the text model's keys. */
    vug_status (*read)(const vug_jv *text, const char *file, vug_config *out, vug_err *err);
    /* The flow, in stages that the driver calls in this order and a hook may replace. */
    void (*prepare)(vug_flow *f, vug_stages *s);                    /* what several stages read */
    vug_val (*embed)(vug_flow *f, vug_stages *s);                   /* tokens [T] -> x [T,D] */
    vug_val (*layer)(vug_flow *f, vug_stages *s, int i, vug_val x); /* [T,D] -> [T,D] */
    vug_val (*norm)(vug_flow *f, vug_stages *s, vug_val x);         /* the final one, of any rows */
    vug_val (*head)(vug_flow *f, vug_stages *s, vug_val x);         /* [R,D] -> logits [R,V] */
};

/* The rows of registry.def. Both functions are all of registry.c, so that a program
 * with an architecture of its own can bring them instead of the library's. */
size_t vug_arch_count(void);
/* `i` < count. */
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
/* Without a checkpoint: every tensor has the config's format, or BF16, and no data;
 * optional ones are absent. For graphs that are looked at. */
VUG_MUST_CHECK vug_status vug_bind_none(const vug_config *config, vug_binding *out, vug_err *err);
void vug_binding_release(vug_binding *binding);
/* A flow's vug_find_weight_fn; `binding` is a const vug_binding. */
vug_status vug_binding_weight(const void *binding, const char *name, int layer,
                              vug_weight_spec *out, vug_err *err);

/* A slot is a row of the table, of one layer where the row has one per layer. */
typedef struct {
    const vug_tensor_row *row;
    int layer; /* -1: outside the layers */
    vug_shape shape;
    char name[128]; /* in Hugging Face files, below the text prefix */
} vug_slot;

size_t vug_slot_count(const vug_config *config);
/* `i` < count. */
vug_slot vug_slot_at(const vug_config *config, size_t i);

/* Writes the model's stages into the flow, with the hooks of the options; of the
 * rest only `outputs`, `custom_mask` and `export_kv` concern it. */
void vug_model_write(vug_flow *f, const vug_binding *binding, const vug_flow_options *o);
/* `i` < n_layers. */
vug_layer_spec vug_model_layer_spec(const vug_config *config, int i);
/* Writes the engine's own flow into an empty graph. */
VUG_MUST_CHECK vug_status vug_model_build(const vug_binding *binding, bool hidden, vug_graph *out,
                                          vug_err *err);

/* ---- for architecture files ------------------------------------------------- */

/* The table `name` of one kind of layer, for heads of `dims`. */
vug_val vug_model_rope(vug_flow *f, const char *name, vug_val positions, const vug_rope *rope,
                       int64_t dims);
/* sqrt(D) rounded to the format that the model was made to run in, or that of the
 * stored embedding where the config does not say, because the reference holds the
 * scale in it and checkpoints were trained so (transformers,
 * Gemma3TextScaledWordEmbedding). */
float vug_embedding_scale(const vug_binding *binding);

#endif
