#ifndef VUG_BACKEND_HOST_EXPERTS_H
#define VUG_BACKEND_HOST_EXPERTS_H

/*
 * Experts that the CPU computes for a program on another device, which does not have their weights:
 * what that program's HOST_EXPERTS nodes need. Results have the bits of the CPU backend.
 */

#include "backend/backend.h"

typedef struct vug_host_experts vug_host_experts;

/* The experts of EXPERTS nodes of the layers first .. end - 1, in the order of the graph. */
typedef struct {
    vug_device *cpu; /* of the CPU backend, as its weights; both are borrowed */
    vug_device_weights *weights;
    const vug_graph *graph; /* not kept */
    int first, end;
    vug_activations activations;
    vug_limits limits;
} vug_host_experts_spec;

VUG_MUST_CHECK vug_status vug_host_experts_create(const vug_host_experts_spec *spec,
                                                  vug_host_experts **out, vug_err *err);
/* Accepts NULL, as the next function. */
void vug_host_experts_destroy(vug_host_experts *experts);
/* Bytes of its buffers. */
uint64_t vug_host_experts_bytes(const vug_host_experts *experts);
/* The number of nodes. */
int vug_host_experts_count(const vug_host_experts *experts);

typedef struct {
    const float *x;     /* [rows,D] */
    const float *route; /* [rows,2k] */
    int64_t rows;
    const vug_cancel_token *cancel; /* may be NULL */
    float *out;                     /* [rows,D] */
} vug_host_experts_job;

/* Computes node `index`. Fails with VUG_CANCELLED, or if the route has an expert that there is not. Calls for
 * one device do not overlap; any thread may make them. */
VUG_MUST_CHECK vug_status vug_host_experts_compute(const vug_host_experts *experts, int index,
                                                   const vug_host_experts_job *job, vug_err *err);
/* Checks that a plan has the experts of the graph's HOST_EXPERTS nodes; `device` begins the message. */
VUG_MUST_CHECK vug_status vug_check_host_experts(const char *device, const vug_graph *graph,
                                                 const vug_plan *plan, vug_err *err);

/* The weights of a node: each row is multiplied with those of k of n experts. */
typedef struct {
    const vug_weight *gate, *up, *down; /* [n] */
    int64_t n, k;
} vug_host_expert_weights;

vug_host_expert_weights vug_host_experts_weights(const vug_host_experts *experts, int index);

#endif
