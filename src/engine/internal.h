#ifndef VUG_ENGINE_INTERNAL_H
#define VUG_ENGINE_INTERNAL_H

/* What the files of engine/ share. Only they and tests include it. */

#include <stdatomic.h>

#include "backend/host_experts.h"
#include "core/pool.h"
#include "engine/kv_disk.h"
#include "engine/offline.h"
#include "passes/passes.h"

/* ---- parts of a checkpoint ------------------------------------------------------ */

/* Adds the stop ids and sampling defaults of FOLDER/generation_config.json, if it exists. */
VUG_MUST_CHECK vug_status vug_generation_config_read(const char *folder, vug_checkpoint *out,
                                                     vug_err *err);
/* Adds those of GGUF metadata. */
VUG_MUST_CHECK vug_status vug_generation_config_read_gguf(const vug_gguf *gguf, vug_checkpoint *out,
                                                          vug_err *err);
void vug_checkpoint_add_stop(vug_checkpoint *checkpoint, int32_t id);

/* The backend with this name, or the best available one for NULL. Returns NULL and an error
 * message for an unknown name. */
const vug_backend *vug_backend_select(const char *name, vug_err *err);
/* The CPU, which every build has. */
const vug_backend *vug_backend_host(void);

/* Loads `profile`, a file or the name of a built-in one. NULL: vug.toml in `folder`, or the
 * built-in `fallback` if that does not exist or `folder` is NULL. */
VUG_MUST_CHECK vug_status vug_profile_load(const char *profile, const char *folder,
                                           const char *fallback, vug_profile *out, vug_err *err);

/* ---- compiled programs: a graph, fused, planned, compiled (compile.c) ------------ */

typedef struct {
    vug_graph graph; /* as the architecture built it */
    vug_graph fused;
    vug_plan plan;
    vug_host_experts *host_experts; /* of vug_model.experts; NULL: none */
    vug_program *program;
    const vug_backend *backend;
    vug_limits limits;
} vug_compiled;

enum { VUG_PLAN_ALIGN = 64 }; /* of planned values: a cache line, and every vector type */

/* Whether the slot's weight is that of an expert that the CPU computes for the device. */
bool vug_model_moves_slot(const vug_model *model, size_t slot);
/* Gives the model's device its weights, over which all its programs are compiled. */
VUG_MUST_CHECK vug_status vug_model_create_weights(vug_model *model, vug_err *err);
/* Compiles the model's own graph with the model's profile. */
VUG_MUST_CHECK vug_status vug_compile_model(const vug_model *model, const vug_limits *limits,
                                            bool hidden, vug_compiled *out, vug_err *err);
/* Compiles another graph over the model's weights; `graph` is not kept. */
VUG_MUST_CHECK vug_status vug_compile_flow(const vug_model *model, const vug_graph *graph,
                                           const vug_profile *profile, const vug_limits *limits,
                                           vug_compiled *out, vug_err *err);
/* Accepts an all-zero value. */
void vug_compiled_release(vug_compiled *compiled);

/* What a step is given, and the lists that it finds. */
typedef struct {
    vug_span *span;            /* [batch] */
    int32_t *token, *follows;  /* [batch] */
    int32_t *row;              /* [rows] */
    vug_logits_wanted *wanted; /* [rows] */
    vug_found_logits *found;   /* [rows] */
    vug_step_in in;            /* points to these */
} vug_step_tables;

/* A program of the model and what its steps need (step.h). */
typedef struct {
    vug_model *model;
    vug_compiled compiled;
    vug_workspace *workspace;
    vug_step_tables tables[VUG_STEPS_STARTED];
    int next, n_started;         /* tables[next] are of the step that is started next */
    const vug_step_tables *last; /* of the step that was finished last */
    const float **output;        /* [outputs] of it */
} vug_step_runner;

/* ---- model ----------------------------------------------------------------------- */

/* Experts that the CPU computes while the model's device runs the rest: those of the layers first ..
 * end - 1. All-zero: none. */
typedef struct {
    int first, end;
    vug_device *cpu;
    vug_device_weights *weights; /* theirs, which the model's device does not have */
} vug_model_experts;

struct vug_model {
    char *path;
    vug_checkpoint checkpoint;
    const vug_backend *backend;
    vug_device *device;
    bool is_split; /* the device is a layer split (layer_split.h) */
    vug_model_experts experts;
    char placement[256];         /* what runs where, for the user; empty: all on one device */
    vug_device_weights *weights; /* of every program of the model */
    vug_device_info device_info;
    vug_profile profile;
    vug_head_screen head_screen; /* of the model's own programs */
    bool kv_given;               /* the caller chose profile.kv, which then also applies to flows */
    bool activations_given;      /* the same of profile.activations */
    vug_limits limits;
    vug_step_runner main; /* one row of logits per sequence, and for drafts */
    struct vug_scheduler *scheduler;
    bool is_draft;           /* it writes drafts for another model */
    struct vug_model *draft; /* writes drafts for this one; NULL: none */
    vug_kv_pool *kv_pool;    /* guarded by the scheduler, as the prefix tree */
    vug_prefix_tree *prefix_tree;
    vug_kv_disk *kv_disk; /* NULL: none */
    vug_prefix_key prefix_key;
    vug_model_info info;
    vug_head_stats head_stats; /* of all steps */
    atomic_bool device_failed; /* in the last step */
    bool times_ops;
    vug_op_cost op_cost[VUG_OP_COUNT]; /* of steps since vug_model_time_ops */
    vug_chat *chat;                    /* NULL: none */
    vug_err no_chat;                   /* the reason */
};

/* Describes a model whose program is compiled, in model->info. */
void vug_model_fill_info(vug_model *model);
/* Bytes of the weight of slot `i` in the files. */
uint64_t vug_model_slot_bytes(const vug_model *model, size_t i);
/* Whether steps only look up single rows of the weight, by token. */
bool vug_model_is_table(const vug_model *model, const vug_tensor *tensor);
/* Loads the chat template of a model that was opened from `path`. A model without one is no
 * failure. */
VUG_MUST_CHECK vug_status vug_model_load_chat(vug_model *model, const char *path, vug_err *err);
/* A name for what decides the contents of the model's pages apart from tokens (fingerprint.c). */
VUG_MUST_CHECK vug_status vug_model_fingerprint(const vug_model *model, vug_prefix_key *out,
                                                vug_err *err);
/* The tokens of a raw text, with <bos> in front if the tokenizer adds it. */
VUG_MUST_CHECK vug_status vug_model_encode_text(const vug_model *model, const char *text, size_t n,
                                                vug_tokens *out, vug_err *err);
/* The tokens of a conversation, up to the beginning of the answer; and, unless `marks` is NULL, where
 * later prompts may branch, if the model has sliding windows. */
VUG_MUST_CHECK vug_status vug_model_encode_chat(const vug_model *model, const vug_message *message,
                                                size_t n, vug_tokens *out, vug_chat_marks *marks,
                                                vug_err *err);

/* ---- the devices of a model (model_devices.c) -------------------------------------- */

/* What of a model is on a device that is not the CPU: the last `layers` layers, the norm and the head, and the
 * embedding with more layers than there are, without the experts of the first `cpu_experts` layers. */
typedef struct {
    int64_t layers, cpu_experts;
} vug_placement;

/* The placements that are tried while memory is lacking, from all of the model to none of it, with the
 * experts of at least `cpu_experts` layers on the CPU: first those of more and more layers go there, of
 * which a token needs few, and then layers. */
int64_t vug_model_placements(const vug_model *model, int64_t cpu_experts);
vug_placement vug_model_placement(const vug_model *model, int64_t cpu_experts, int64_t i);
/* Opens the model's device: the CPU has what is not on `backend`. */
VUG_MUST_CHECK vug_status vug_model_open_device(vug_model *model, const vug_backend *backend,
                                                const vug_device_options *options,
                                                vug_placement placement, vug_err *err);
/* Closes it. Its weights are destroyed. */
void vug_model_close_device(vug_model *model);
/* The fewest layers that can be on a device of their own: those that read the keys and values of
 * another layer are on its device. */
int64_t vug_model_least_layers(const vug_model *model);
/* Fills model->placement. `lacks_memory`: the device cannot hold more than the last `layers` layers, or than
 * these without experts. */
void vug_model_describe_placement(vug_model *model, const vug_backend *backend, int64_t layers,
                                  bool lacks_memory);

/* ---- the memory of a model (model_memory.c) ----------------------------------------- */

/* Bytes of weights on the model's device, of two on the second one; and those of the keys and values
 * of one session. */
uint64_t vug_model_device_weights(const vug_model *model);
uint64_t vug_model_device_session(const vug_model *model);
/* The smaller of the caller's limit and the profile's budget; 0: none. */
uint64_t vug_model_memory_limit(const vug_model *model, const vug_model_options *options);
/* Fails if what the model needs passes the limit, or does not fit the device. */
VUG_MUST_CHECK vug_status vug_model_check_memory(const vug_model *model,
                                                 const vug_model_options *options, vug_err *err);
/* The memory for pages, in bytes. */
uint64_t vug_model_kv_budget(const vug_model *model, const vug_model_options *options);

VUG_MUST_CHECK vug_status vug_limits_choose(const vug_model_options *o, const vug_config *c,
                                            vug_limits *out, vug_err *err);

/* ---- caches of their own (kv_fixed.c) --------------------------------------------- */

/* The caches of sequences that share nothing. All their pages exist from the beginning; the blocks
 * of a sliding window take turns with them. */
typedef struct {
    const vug_backend *backend;
    vug_kv *kv;
    vug_page **table; /* [n_tables] of each sequence one for each group */
    size_t n_tables;
    int n_groups;
} vug_kv_fixed;

/* The caller releases the caches even on failure. */
VUG_MUST_CHECK vug_status vug_kv_fixed_init(vug_kv_fixed *caches, const vug_backend *backend,
                                            vug_device *device, const vug_kv_layout *layout,
                                            const vug_limits *limits, int64_t sequences,
                                            vug_err *err);
void vug_kv_fixed_release(vug_kv_fixed *caches);
/* The tables of sequence `i`. */
static inline const vug_page *const *vug_kv_fixed_table(const vug_kv_fixed *caches, int64_t i)
{
    return (const vug_page *const *)caches->table + i * caches->n_groups;
}
/* Bytes of one sequence's pages. */
uint64_t vug_kv_sequence_bytes(const vug_backend *backend, const vug_device *device,
                               const vug_kv_layout *layout, const vug_limits *limits);
/* Those of the groups on one of two devices (layer_split.h). */
uint64_t vug_kv_sequence_bytes_on(const vug_backend *backend, const vug_device *device,
                                  const vug_kv_layout *layout, const vug_limits *limits, int part);

/* ---- flow ------------------------------------------------------------------------- */

/* The object behind the public vug_flow. The builder comes first, so that a pointer to one is a
 * pointer to the other. */
typedef struct {
    vug_flow builder;
    vug_graph graph;
    const vug_model *model; /* NULL: the flow was opened from a config alone */
    const vug_config *config;
    vug_flow_options options; /* resolved: no zeros; symbolic numbers are VUG_SYMBOLIC */
    vug_limits limits;
    vug_profile profile;
} vug_flow_object;

static inline const vug_flow_object *vug_flow_object_of(const vug_flow *flow)
{
    return (const vug_flow_object *)(const void *)flow;
}

VUG_MUST_CHECK vug_status vug_graph_write(const vug_graph *g, vug_graph_format format,
                                          vug_text *out, vug_err *err);
/* The bytes that a program of the flow needs; `cache` is per sequence. */
typedef struct {
    uint64_t weights, program, cache, buffers, total;
} vug_flow_memory;
vug_flow_memory vug_flow_count_memory(const vug_flow_object *flow, const vug_compiled *compiled);
/* Fails if a builder function was called after the flow was complete. */
VUG_MUST_CHECK vug_status vug_flow_check_usable(const vug_flow *flow, vug_err *err);

/* An input and its current value. */
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
    vug_kv_fixed kv;    /* the caches of max_batch sequences */
    int64_t *cached;    /* [max_batch] tokens in them */
    vug_flow_input *in; /* [n_in] */
    size_t n_in;
    int64_t past_width;  /* K*E of the first past; 0: no input is a past */
    size_t past_in;      /* the index of that input */
    vug_sequence *split; /* [max_batch] as set by the caller; n_split are in use */
    size_t n_split;
    vug_span *span;       /* [max_batch] scratch of a run */
    int32_t *row;         /* [max_batch] scratch of a run */
    const float **data;   /* [n_data] scratch of a run */
    const float **out;    /* [outputs] of the last run */
    int64_t tokens, rows; /* of the last run */
    bool ran;             /* the last run succeeded */
    vug_status st;        /* the first failure of a set function since the last run */
    vug_err err;
};

#endif
