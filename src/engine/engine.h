#ifndef VUG_ENGINE_ENGINE_H
#define VUG_ENGINE_ENGINE_H

/*
 * What implements vug.h: the checkpoint on disk, the compiled program and the
 * opened model. Private to engine/ and the tests.
 */

#include <stdatomic.h>

#include "backend/backend.h"
#include "core/os.h"
#include "models/models.h"
#include "passes/passes.h"
#include "vug/chat.h"
#include "vug/flow.h"
#include "weights/weights.h"

#define VUG_MAX_STOP   64
#define VUG_MAX_CONFIG ((size_t)16 << 20) /* bytes of a config.json and its like */

/* ---- checkpoint: the files, read and checked -------------------------------- */

/* All-zero is empty. */
typedef struct {
    vug_config config;
    vug_weights *weights;
    const vug_tensor **sorted; /* [n] of the directory, by name */
    size_t n;
    vug_binding binding;
    vug_tokenizer *tokenizer; /* NULL where the folder has none that vug can read */
    vug_err no_tokenizer;     /* and why */
    int32_t stop[VUG_MAX_STOP];
    size_t n_stop;
    vug_sampling_defaults sampling;
    bool has_generation;                 /* sampling is not only what vug does without being told */
    int32_t generation_eos[VUG_MAX_EOS]; /* [n_generation_eos], in the order of the file */
    int n_generation_eos;
} vug_checkpoint;

/* Whether the path is a GGUF file, by its first bytes or its name. */
bool vug_is_gguf(const char *path);
VUG_MUST_CHECK vug_status vug_checkpoint_config(const char *path, vug_config *out, vug_err *err);
/* Everything in a folder, or in a GGUF file, but the weights' pages themselves. */
VUG_MUST_CHECK vug_status vug_checkpoint_open(const char *path, vug_checkpoint *out, vug_err *err);
/* Over a directory that was made in memory; takes it, also on failure. */
VUG_MUST_CHECK vug_status vug_checkpoint_over(const vug_config *config, vug_weights *weights,
                                              const char *name, vug_checkpoint *out, vug_err *err);
void vug_checkpoint_release(vug_checkpoint *checkpoint);
/* Is the tensor, one of the directory's, a weight or several? */
bool vug_checkpoint_reads(const vug_checkpoint *checkpoint, const vug_tensor *tensor);
/* Adds the stop ids and sampling defaults of FOLDER/generation_config.json, if there is one. */
VUG_MUST_CHECK vug_status vug_generation_open(const char *folder, vug_checkpoint *out,
                                              vug_err *err);
/* The same in GGUF's metadata: from there, to there (stop ids are the config's), and from
 * there as the text of a generation_config.json, which stays empty where nothing is said. */
VUG_MUST_CHECK vug_status vug_generation_read_gguf(const vug_gguf *gguf, vug_checkpoint *out,
                                                   vug_err *err);
void vug_generation_put_gguf(const vug_checkpoint *checkpoint, vug_gguf_builder *to);
VUG_MUST_CHECK vug_status vug_generation_json_of_gguf(const vug_gguf *gguf,
                                                      const vug_config *config, vug_buf *out,
                                                      vug_err *err);
/* Adds the stop ids that only the generation_config.json has. */
void vug_generation_add_eos(const vug_checkpoint *checkpoint, vug_config *config);
void vug_checkpoint_add_stop(vug_checkpoint *checkpoint, int32_t id);
/* Folds the directory's quantized weights as config.json, whose text is `json`, says. */
VUG_MUST_CHECK vug_status vug_checkpoint_fold(vug_str json, const char *file, vug_weights *weights,
                                              vug_err *err);

/* By name, or the best available one for NULL; NULL and a sentence when unknown. */
const vug_backend *vug_pick_backend(const char *name, vug_err *err);

/* ---- profile ------------------------------------------------------------------ */

/* `profile` is a file or the name of a built-in one; NULL: the folder's vug.toml, or
 * where there is none (or `folder` is NULL) the built-in `otherwise`. */
VUG_MUST_CHECK vug_status vug_profile_find(const char *profile, const char *folder,
                                           const char *otherwise, vug_profile *out, vug_err *err);

/* ---- program: a graph, fused, planned, compiled ------------------------------ */

typedef struct {
    vug_graph graph; /* as the architecture wrote it */
    vug_graph fused;
    vug_plan plan;
    vug_program *program;
    const vug_backend *backend;
    vug_limits limits;
} vug_compiled;

enum { VUG_PLAN_ALIGN = 64 }; /* of planned values: a cache line, and every vector type */

/* The model's own flow, by its profile. */
VUG_MUST_CHECK vug_status vug_compile(const vug_model *model, const vug_limits *limits, bool hidden,
                                      vug_compiled *out, vug_err *err);
/* Another graph over the model's weights; `graph` is not kept. */
VUG_MUST_CHECK vug_status vug_compile_flow(const vug_model *model, const vug_graph *graph,
                                           const vug_profile *profile, const vug_limits *limits,
                                           vug_compiled *out, vug_err *err);
/* Accepts an all-zero value. */
void vug_compiled_release(vug_compiled *compiled);

/* ---- model ------------------------------------------------------------------- */

struct vug_model {
    char *path;
    vug_checkpoint checkpoint;
    const vug_backend *backend;
    vug_device *device;
    vug_device_info device_info;
    vug_profile profile;
    bool kv_given;     /* profile.kv is the caller's, for flows as well */
    vug_compiled main; /* one row of logits per sequence */
    int snapshots;     /* a session's */
    vug_lock *turn;    /* held for a step: sessions share the device's threads */
    vug_model_info info;
    vug_chat *chat;  /* NULL where it has none */
    vug_err no_chat; /* and why */
};

/* Finds the chat template of the model, which was opened from `path`; fails only where
 * memory is short. */
VUG_MUST_CHECK vug_status vug_model_find_chat(vug_model *model, const char *path, vug_err *err);
/* The tokens of a conversation, up to where the answer begins. */
VUG_MUST_CHECK vug_status vug_model_prompt(const vug_model *model, const vug_message *message,
                                           size_t n, vug_tokens *out, vug_err *err);

VUG_MUST_CHECK vug_status vug_pick_limits(const vug_model_options *o, const vug_config *c,
                                          vug_limits *out, vug_err *err);
/* A model over a directory that was made in memory; takes it, also on failure. */
VUG_MUST_CHECK vug_status vug_model_over(const vug_config *config, vug_weights *weights,
                                         const char *name, const vug_model_options *options,
                                         vug_model **out, vug_err *err);

/* ---- flow --------------------------------------------------------------------- */

/* What a vug_flow of the public API is: the words' state comes first, so that one
 * pointer is both. */
typedef struct {
    vug_flow words;
    vug_graph graph;
    const vug_model *model; /* NULL: of a config alone */
    const vug_config *config;
    vug_flow_options options; /* zeros replaced; symbolic numbers are VUG_SYMBOLIC */
    vug_limits limits;
    vug_profile profile;
} vug_flow_object;

static inline const vug_flow_object *vug_flow_object_of(const vug_flow *flow)
{
    return (const vug_flow_object *)(const void *)flow;
}

VUG_MUST_CHECK vug_status vug_graph_write(const vug_graph *g, vug_graph_format format,
                                          vug_text *out, vug_err *err);
/* What a program of the flow takes; `cache` for each sequence that there may be. */
typedef struct {
    uint64_t weights, program, cache, buffers, total;
} vug_flow_bytes;
vug_flow_bytes vug_flow_count_bytes(const vug_flow_object *flow, const vug_compiled *compiled);
/* The failure of a word that was used after the flow was written. */
VUG_MUST_CHECK vug_status vug_flow_usable(const vug_flow *flow, vug_err *err);

/* One input, as it was set last. */
typedef struct {
    vug_port port;
    vug_input which;
    int index; /* of VUG_INPUT_DATA */
    const int32_t *id;
    const float *x;
    size_t n;
    bool set;
} vug_flow_input;

struct vug_flow_program {
    const vug_model *model;
    vug_flow_options options;
    vug_compiled compiled;
    vug_workspace *workspace;
    vug_state **state;  /* [max_batch] */
    int64_t *cached;    /* [max_batch] tokens in their caches */
    vug_flow_input *in; /* [n_in] */
    size_t n_in;
    int64_t past_width;  /* K*E of the first past; 0: none is read */
    size_t past_in;      /* its input */
    vug_sequence *split; /* [max_batch] as the caller set it */
    size_t n_split;
    vug_span *span;       /* [max_batch] of a run */
    int32_t *row;         /* [max_batch] likewise */
    const float **data;   /* [n_data] likewise */
    const float **out;    /* [outputs] of the last run */
    int64_t tokens, rows; /* of the last run */
    bool ran;
    vug_status st; /* of the calls that set, until the next run */
    vug_err err;
};

/* ---- formats of weights by name (weight_types.c) -------------------------------- */

typedef struct {
    vug_dtype dtype;
    int group; /* weights to a scale of MLX's formats, rows and columns to one of FP8; 0 */
} vug_weight_type;

/* Which formats are meant. "mxfp4" is that of the container; of all, GGUF's, and "mlx_fp4"
 * that of MLX. */
typedef enum {
    VUG_TYPES_PLAIN,  /* BF16, F16, F32 */
    VUG_TYPES_GGUF,   /* and those of GGUF */
    VUG_TYPES_FOLDER, /* and those of MLX */
    VUG_TYPES_ALL,    /* both, and FP8 */
} vug_type_set;

VUG_MUST_CHECK vug_status vug_weight_type_parse(const char *name, vug_type_set set,
                                                vug_weight_type *out, vug_err *err);
/* The format with blocks of 32 that llama.cpp takes for rows that are no whole blocks of
 * 256 (src/llama-quant.cpp, tensor_type_fallback). */
vug_dtype vug_without_super_blocks(vug_dtype dtype);

/* ---- random weights in blocks (synth_blocks.c) --------------------------------- */

bool vug_random_has(vug_dtype dtype);
/* Blocks first .. first + n - 1 of a tensor, that deviate from 0 by about `deviation`. */
void vug_random_blocks(vug_dtype dtype, uint64_t seed, uint64_t first, size_t n, float deviation,
                       uint8_t *out);
/* Likewise the scales of formats whose scales lie apart, BF16 or of MLX_FP4 E8M0, and biases,
 * which may be NULL. */
void vug_random_scales(vug_dtype dtype, uint64_t seed, uint64_t first, size_t n, float deviation,
                       uint8_t *scale, uint8_t *bias);

#endif
