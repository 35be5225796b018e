#ifndef VUG_BACKEND_CPU_PROGRAM_H
#define VUG_BACKEND_CPU_PROGRAM_H

/* A compiled graph: program.c makes it, run.c runs it. */

#include "backend/cpu/cpu.h"

enum { VUG_CPU_MAX_HEAD = 4096 }; /* widest head, which bounds scratch */

/* One node, or several LINEAR nodes of the same input. */
typedef struct {
    uint32_t node[VUG_CPU_MATRICES];
    int n;
} vug_cpu_step;

/* Where the parts of a workspace's block begin behind the planned values, in bytes. */
typedef struct {
    uint64_t scratch;  /* [threads][scratch_floats] */
    uint64_t shared;   /* [shared_floats] parts of attention that are to be joined, a product's
                          input as kernels want it or, with it, what lies between the products of
                          experts: one of them at a time */
    uint64_t seen;     /* [batch] vug_cpu_range */
    uint64_t position; /* [batch] int32_t */
    uint64_t query;    /* [rows] vug_span */
} vug_cpu_parts;

struct vug_program {
    vug_device *device;
    const vug_graph *graph; /* borrowed, as is plan */
    const vug_plan *plan;
    vug_limits limits;
    int64_t token_dim;  /* of values with a row for each token: VUG_DIM_T, or a fixed number */
    int64_t row_dim;    /* of those with one for each row of outputs: VUG_DIM_R, or likewise */
    vug_weight *weight; /* [slots of the graph] */
    float **row_weight; /* [nodes]: of norms, with their bias added, BIAS, ROUTE_SCALE: F32 */
    vug_cpu_step *step;
    uint32_t n_steps;
    vug_cpu_cache *cache;   /* [n_layers]; slots 0: no attention */
    vug_cpu_cache *kept;    /* [n_layers] in a state of windows; slots 0: it forgets nothing */
    int64_t scratch_floats; /* per thread */
    int64_t shared_floats;
    vug_cpu_parts at;
    vug_program_sizes sizes;
    vug_arena arena;
};

struct vug_workspace {
    const vug_program *program;
    uint8_t *block; /* the planned values, then the parts */
    vug_cpu_env env;
    vug_cpu_range *seen; /* of a mask, by token */
    int32_t *position;
    vug_span *query; /* the rows of outputs as spans */
};

VUG_MUST_CHECK vug_status vug_cpu_workspace_create(const vug_program *program, vug_workspace **out,
                                                   vug_err *err);
void vug_cpu_workspace_destroy(vug_workspace *workspace);
VUG_MUST_CHECK vug_status vug_cpu_run(const vug_program *program, vug_workspace *workspace,
                                      const vug_step_in *in, const float **output, vug_err *err);

#endif
