#ifndef VUG_BACKEND_CUDA_STEP_GRAPH_H
#define VUG_BACKEND_CUDA_STEP_GRAPH_H

/* Steps as CUDA graphs: padding, recording, and timing. */

#include "backend/cuda/internal.h"

/* ---- step_padding.c ---------------------------------------------------------------- */

VUG_MUST_CHECK vug_status vug_cuda_padding_create(vug_cuda_padding **out, vug_err *err);
void vug_cuda_padding_destroy(vug_cuda_padding *padding);
/* The step as it runs: with sequences of padding if it has one token of each sequence, otherwise
 * `in` itself. Gives its number of tokens; `out` is valid until the workspace's next step. */
int64_t vug_cuda_pad_step(const vug_cuda_workspace *ws, const vug_step_in *in, int64_t tokens,
                          vug_step_in *out);

/* ---- step_graph.c ------------------------------------------------------------------ */

typedef void vug_cuda_launch_fn(const vug_cuda_step *step, const void *user);
/* Records what `launch` launches as a graph, for the caller to destroy. */
VUG_MUST_CHECK vug_status vug_cuda_record(const vug_cuda_step *step, vug_cuda_launch_fn *launch,
                                          const void *user, cudaGraphExec_t *out, vug_err *err);

VUG_MUST_CHECK vug_status vug_cuda_graphs_create(vug_cuda_graphs **out, vug_err *err);
void vug_cuda_graphs_destroy(vug_cuda_graphs *graphs);
/* Launches a step that repeats an earlier one as a graph of what `launch` launches; `launched` false: it
 * does not repeat one, and the caller launches its kernels. */
VUG_MUST_CHECK vug_status vug_cuda_launch_graph(const vug_cuda_step *step,
                                                vug_cuda_launch_fn *launch, bool *launched,
                                                vug_err *err);

/* ---- op_times.c ----------------------------------------------------------------------- */

/* Runs the nodes of a step, waits for them, and adds what they cost to in->cost. */
VUG_MUST_CHECK vug_status vug_cuda_time_step(const vug_cuda_step *step, vug_err *err);

#endif
