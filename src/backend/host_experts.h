#ifndef VUG_BACKEND_HOST_EXPERTS_H
#define VUG_BACKEND_HOST_EXPERTS_H

/*
 * Experts that the CPU computes for a program on another device, which does not have their weights:
 * what that program's HOST_EXPERTS nodes need. Results have the bits of the CPU backend.
 */

#include "backend/backend.h"

typedef struct vug_host_experts vug_host_experts;

/* The experts of EXPERTS nodes of the layers first .. end - 1 of a graph, in its order. `cpu` and `weights`
 * are those of the CPU backend, and are borrowed; the graph is not kept. */
VUG_MUST_CHECK vug_status vug_host_experts_create(vug_device *cpu, vug_device_weights *weights,
                                                  const vug_graph *graph, int first, int end,
                                                  vug_activations activations,
                                                  const vug_limits *limits, vug_host_experts **out,
                                                  vug_err *err);
/* Accepts NULL, as the next function. */
void vug_host_experts_destroy(vug_host_experts *experts);
/* Bytes of its buffers. */
uint64_t vug_host_experts_bytes(const vug_host_experts *experts);
int vug_host_experts_count(const vug_host_experts *experts);
/* Computes out [rows,D] of node `index`. Fails with VUG_CANCELLED, or if the route [rows,2k] has an expert
 * that there is not. Calls for one device do not overlap; any thread may make them. */
VUG_MUST_CHECK vug_status vug_host_experts_compute(const vug_host_experts *experts, int index,
                                                   const float *x, const float *route, int64_t rows,
                                                   const vug_cancel_token *cancel, float *out,
                                                   vug_err *err);
/* Adds what node `index` read and computed for `rows` rows, but not that it ran. */
void vug_host_experts_add_cost(const vug_host_experts *experts, int index, int64_t rows,
                               vug_op_cost *to);

#endif
