#ifndef VUG_BACKEND_CPU_PROGRAM_H
#define VUG_BACKEND_CPU_PROGRAM_H

/* The weights of a model, and a compiled graph over them. program.c builds it with the help of program_check.c and
 * program_memory.c; run.c runs it. */

#include "backend/cpu/attention.h"
#include "backend/cpu/head_screen.h"

enum { VUG_CPU_MAX_HEAD = 4096 }; /* widest head; it bounds scratch memory */

/* ---- device_weights.c ----------------------------------------------------- */

typedef struct vug_cpu_vector vug_cpu_vector;

/* The mapped weights, and the vectors that programs read in F32. */
struct vug_device_weights {
    vug_device *device;
    vug_weight *weight; /* [n] */
    size_t n;
    vug_mutex *mutex;        /* of the rest */
    vug_cpu_vector **vector; /* [n] those of a slot, one for each bias */
    uint64_t vector_bytes;
    vug_cpu_head_screen *screen; /* of slot `screened`; NULL: none */
    int screened;
    vug_arena arena;
};

VUG_MUST_CHECK vug_status vug_cpu_weights_create(vug_device *device, const vug_weight *weight,
                                                 size_t n, vug_device_weights **out, vug_err *err);
void vug_cpu_weights_destroy(vug_device_weights *weights);
uint64_t vug_cpu_weights_bytes(const vug_device_weights *weights);
/* The first row of a weight in F32, with `bias` added to each element. It lives as long as the
 * weights. */
VUG_MUST_CHECK vug_status vug_cpu_weights_vector(vug_device_weights *weights, int slot, float bias,
                                                 const float **out, vug_err *err);
/* The screen of a head, which lives as long as the weights. They have one: it is NULL for a second
 * head. */
VUG_MUST_CHECK vug_status vug_cpu_weights_screen(vug_device_weights *weights, int slot,
                                                 vug_cpu_head_screen **out, vug_err *err);

/* ---- program ---------------------------------------------------------------- */

/* One node, or several LINEAR nodes of the same input. */
typedef struct {
    uint32_t node[VUG_CPU_MAX_PROJECTIONS];
    int n;
} vug_cpu_step;

/* Where the parts of a workspace's block begin, in bytes; the planned values come first. */
typedef struct {
    uint64_t scratch;  /* [threads][scratch_floats] */
    uint64_t shared;   /* [shared_floats], used by one job at a time: partial sums of attention,
                          the packed input of a product, or the values between the products of
                          experts */
    uint64_t visible;  /* [batch] vug_cpu_range */
    uint64_t position; /* [batch] int32_t */
    uint64_t query;    /* [rows] vug_span */
} vug_cpu_workspace_layout;

struct vug_program {
    vug_device *device;
    const vug_graph *graph; /* borrowed */
    const vug_plan *plan;   /* borrowed */
    vug_limits limits;
    int64_t token_dim; /* first dimension of values with a row per token: VUG_DIM_T or fixed */
    vug_device_weights *weights; /* borrowed */
    const vug_weight *weight;    /* [slots] of these weights */
    const float **vector; /* [nodes] a node's weight vector in F32; in norms, with the bias added */
    vug_cpu_step *step;
    uint32_t n_steps;
    vug_cpu_head_screen *screen; /* NULL: none */
    uint32_t head;               /* the node whose weights have it */
    vug_kv_layout kv_layout;
    vug_cpu_kv_cache *cache; /* [n_layers]; heads 0: the layer has no cache of its own */
    int64_t scratch_floats;  /* per thread */
    int64_t shared_floats;
    vug_cpu_workspace_layout layout;
    vug_program_sizes sizes;
    vug_arena arena;
};

/* The length of a value's rows, or of a weight's. */
static inline int64_t vug_cpu_last_dim(const vug_node *node)
{
    return node->shape.dim[node->shape.rank - 1];
}

struct vug_workspace {
    const vug_program *program;
    uint8_t *block; /* the planned values, then the parts */
    vug_cpu_env env;
    vug_cpu_range *visible; /* by token, of the current mask */
    int32_t *position;      /* by token, for steps without positions */
    vug_span *query;        /* the output rows as spans */
};

/* ---- program_check.c ------------------------------------------------------ */

/* Checks that there are kernels for the formats of a PARAM node's weights. */
VUG_MUST_CHECK vug_status vug_cpu_check_format(const vug_device_weights *weights,
                                               const vug_node *node, vug_err *err);
/* Checks every node, weight and output of the graph, so that no step can fail on them. */
VUG_MUST_CHECK vug_status vug_cpu_check_nodes(const vug_program *p, vug_err *err);

/* ---- program_memory.c ----------------------------------------------------- */

/* Lays out the caches, sizes the workspace, and places its parts. */
VUG_MUST_CHECK vug_status vug_cpu_size_memory(vug_program *p, vug_err *err);

/* ---- run.c ---------------------------------------------------------------- */

VUG_MUST_CHECK vug_status vug_cpu_workspace_create(const vug_program *program, vug_workspace **out,
                                                   vug_err *err);
void vug_cpu_workspace_destroy(vug_workspace *workspace);
VUG_MUST_CHECK vug_status vug_cpu_run(const vug_program *program, vug_workspace *workspace,
                                      const vug_step_in *in, const float **output, vug_err *err);

#endif
