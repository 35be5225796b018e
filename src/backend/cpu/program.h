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

struct vug_program {
    vug_device *device;
    const vug_graph *graph; /* borrowed, as is plan */
    const vug_plan *plan;
    vug_limits limits;
    vug_weight *weight; /* [slots of the graph] */
    float **row_weight; /* [nodes]: of norms, with their bias added, BIAS, ROUTE_SCALE: F32 */
    vug_cpu_step *step;
    uint32_t n_steps;
    vug_cpu_cache *cache; /* [n_layers]; slots 0: no attention */
    uint64_t state_floats;
    int64_t scratch_floats; /* per thread */
    int64_t shared_floats;
    uint64_t scratch_at; /* bytes, where the plan's block ends */
    vug_program_sizes sizes;
    vug_arena arena;
};

/* Floats that hold a vug_cpu_range of each token of a batch. */
static inline int64_t vug_cpu_seen_floats(int64_t batch)
{
    return batch * (int64_t)(sizeof(vug_cpu_range) / sizeof(float));
}

/* One block: the planned values, scratch per thread, what all threads share
 * (partial results of attention, a product's input in lane order or, with it, what lies
 * between the products of experts: one of them at a time), which keys a mask shows,
 * positions, the rows of outputs as spans. */
struct vug_workspace {
    const vug_program *program;
    uint8_t *block;
    vug_cpu_env env;
    int32_t *position;   /* [batch] */
    vug_cpu_range *seen; /* [batch] of a mask */
    vug_span *query;     /* [rows] */
};

VUG_MUST_CHECK vug_status vug_cpu_workspace_create(const vug_program *program, vug_workspace **out,
                                                   vug_err *err);
void vug_cpu_workspace_destroy(vug_workspace *workspace);
VUG_MUST_CHECK vug_status vug_cpu_run(const vug_program *program, vug_workspace *workspace,
                                      const vug_step_in *in, const float **output, vug_err *err);

#endif
