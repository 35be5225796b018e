#ifndef VUG_ENGINE_LAYER_SPLIT_STATE_H
#define VUG_ENGINE_LAYER_SPLIT_STATE_H

/* What the files of a layer split share (layer_split.h). Each type is what the vtable's opaque type of
 * the same last word points to. */

#include "engine/layer_split.h"
#include "passes/passes.h"

typedef struct {
    vug_backend backend; /* the vtable of this device */
    vug_split_part part[2];
    int layer;          /* the first one of the second part */
    bool *second_reads; /* [n_slots] weights that the second part has */
    size_t n_slots;
    char name[64]; /* of the backend */
} vug_split_device;

typedef struct {
    const vug_split_device *device;
    vug_device_weights *part[2];
} vug_split_weights;

/* The pages of the groups of each part. */
typedef struct {
    const vug_split_device *device;
    vug_kv_layout layout[2];
    vug_kv *part[2]; /* NULL: no groups */
} vug_split_kv;

typedef struct {
    const vug_split_weights *weights;
    vug_cut cut;
    int n_outputs; /* of the whole graph */
    vug_limits limits;
    vug_plan plan[2];
    vug_program *part[2]; /* NULL: the part has no outputs */
    vug_kv_layout layout; /* of both */
} vug_split_program;

typedef struct {
    const vug_split_program *program;
    vug_workspace *part[2];
    vug_span *span;          /* [batch] those of a step with the tables of the second part */
    const float **data[2];   /* [n_data] of each part */
    const float **output[2]; /* [outputs] of each part */
} vug_split_workspace;

static inline const vug_split_device *vug_split_device_of(const vug_device *device)
{
    return (const vug_split_device *)(const void *)device;
}

static inline const vug_split_weights *vug_split_weights_of(const vug_device_weights *weights)
{
    return (const vug_split_weights *)(const void *)weights;
}

static inline const vug_split_program *vug_split_program_of(const vug_program *program)
{
    return (const vug_split_program *)(const void *)program;
}

static inline const vug_split_kv *vug_split_kv_of(const vug_kv *kv)
{
    return (const vug_split_kv *)(const void *)kv;
}

/* ---- layer_split_kv.c ------------------------------------------------------------ */

uint64_t vug_split_kv_page_bytes(const vug_device *device, const vug_kv_layout *layout, int group);
VUG_MUST_CHECK vug_status vug_split_kv_create(vug_device *device, const vug_kv_layout *layout,
                                              const uint32_t *pages, vug_kv **out, vug_err *err);
void vug_split_kv_destroy(vug_kv *cache);
VUG_MUST_CHECK vug_status vug_split_kv_commit(vug_kv *kv, int group, vug_page page, vug_err *err);
void vug_split_kv_discard(vug_kv *kv, int group, vug_page page);
void vug_split_kv_copy(vug_kv *kv, int group, vug_page to, vug_page from);
void vug_split_kv_read(const vug_kv *kv, int group, vug_page page, uint8_t *bytes);
void vug_split_kv_write(vug_kv *kv, int group, vug_page page, const uint8_t *bytes);
/* The layout of both programs' caches; a program may be NULL. The caller releases it. */
VUG_MUST_CHECK vug_status vug_split_join_layouts(const vug_split_program *program, int n_layers,
                                                 vug_kv_layout *out, vug_err *err);

/* ---- layer_split_program.c -------------------------------------------------------- */

VUG_MUST_CHECK vug_status vug_split_compile(vug_device_weights *weights, const vug_graph *graph,
                                            const vug_plan *plan, const vug_limits *limits,
                                            vug_program **out, vug_err *err);
void vug_split_release(vug_program *program);
vug_program_sizes vug_split_sizes(const vug_program *program);
const char *vug_split_note(const vug_program *program);
bool vug_split_screens_logits(const vug_program *program);
bool vug_split_draws_tokens(const vug_program *program);
const vug_kv_layout *vug_split_kv_layout(const vug_program *program);

/* ---- layer_split_run.c ------------------------------------------------------------ */

VUG_MUST_CHECK vug_status vug_split_workspace_create(const vug_program *program,
                                                     vug_workspace **out, vug_err *err);
void vug_split_workspace_destroy(vug_workspace *workspace);
VUG_MUST_CHECK vug_status vug_split_run(const vug_program *program, vug_workspace *workspace,
                                        const vug_step_in *in, const float **output, vug_err *err);

#endif
