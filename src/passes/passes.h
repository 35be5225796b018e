#ifndef VUG_PASSES_PASSES_H
#define VUG_PASSES_PASSES_H

/*
 * What happens to a graph between the model file and the backend. Passes know
 * no device and no architecture; each takes a verified graph and leaves one.
 */

#include "ir/ir.h"
#include "ir/plan.h"

/* Rewrites patterns into the fused operations of ops.def and drops nodes that no
 * output needs. `in` is left as it is. A value that is an output is never fused
 * away. */
VUG_MUST_CHECK vug_status vug_fuse(const vug_graph *in, vug_graph *out, vug_err *err);

/* For steps of up to `tokens` tokens and `rows` rows of outputs. Values that are
 * never alive together share bytes; HEADS and MERGE lie on their input; outputs
 * live to the end. Offsets are multiples of `align`, a power of two. */
VUG_MUST_CHECK vug_status vug_plan_make(const vug_graph *g, int64_t tokens, int64_t rows,
                                        uint64_t align, vug_plan *out, vug_err *err);

#endif
