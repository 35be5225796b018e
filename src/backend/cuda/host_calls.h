#ifndef VUG_BACKEND_CUDA_HOST_CALLS_H
#define VUG_BACKEND_CUDA_HOST_CALLS_H

/*
 * Experts that the host computes in the middle of a step (backend/host_experts.h): the stream copies x and
 * the route to the host, calls a function there, and copies what it computed back. The host need not wait
 * for that, so that steps are started ahead and are graphs as others are.
 */

#include "backend/cuda/internal.h"

/* Bytes of the host's memory that the experts of a program need. */
uint64_t vug_cuda_host_calls_bytes(const vug_cuda_program *program);
/* Gives the workspace what its program's HOST_EXPERTS nodes need; nothing if there are none. */
VUG_MUST_CHECK vug_status vug_cuda_host_calls_create(vug_cuda_workspace *ws, vug_err *err);
/* Accepts NULL. Nothing that was launched may still run. */
void vug_cuda_host_calls_destroy(vug_cuda_host_calls *calls);
/* A failure of the function is that of the step (vug_cuda_started.failure). */
void vug_cuda_launch_host_call(const vug_cuda_step *step, uint32_t id);

#endif
