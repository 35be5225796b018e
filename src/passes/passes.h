#ifndef VUG_PASSES_PASSES_H
#define VUG_PASSES_PASSES_H

/*
 * What happens to a graph between the model file and the backend. Passes know
 * no device and no architecture; each takes a verified graph and leaves one.
 */

#include "ir/ir.h"
#include "ir/plan.h"

/* ---- profile: what the passes may do (profile.c) ---------------------------- */

#define VUG_MAX_PROFILE ((size_t)64 << 10) /* bytes of a file */

/* All-zero is the built-in profile: every fusion, keys and values in F32, the backend's
 * own tiles, no budget. */
typedef struct {
    char name[256];         /* "prefill", or the file; for reports; cut if longer */
    bool built_in;          /* no file: a name alone */
    bool off[VUG_OP_COUNT]; /* fusions, by the operation they make */
    vug_kv kv;              /* of the caches */
    int tile_rows;          /* most rows of queries that attention takes at once; 0: any */
    bool exact_activations; /* products with weights in blocks are in F32, too */
    uint64_t budget;        /* bytes for weights, caches and buffers; 0: none */
} vug_profile;

/* Reads a profile's text; `file` names it in sentences. */
VUG_MUST_CHECK vug_status vug_profile_read(vug_str text, const char *file, vug_profile *out,
                                           vug_err *err);

/* ---- passes ------------------------------------------------------------------ */

/* The operations that fusion makes; `i` < count. */
size_t vug_fusion_count(void);
vug_op vug_fusion_at(size_t i);

/* Rewrites patterns into the fused operations of ops.def and drops nodes that no
 * output needs. `in` is left as it is. A value that is an output is never fused
 * away. */
VUG_MUST_CHECK vug_status vug_fuse(const vug_graph *in, vug_graph *out, vug_err *err);
/* The same by a profile. What was done, and where a pattern was left as it was and
 * why, is appended to `report`, which may be NULL. */
VUG_MUST_CHECK vug_status vug_fuse_by(const vug_graph *in, const vug_profile *profile,
                                      vug_graph *out, vug_buf *report, vug_err *err);

/* For steps of up to `tokens` tokens and `rows` rows of outputs. Values that are
 * never alive together share bytes; HEADS and MERGE lie on their input; outputs
 * live to the end. Offsets are multiples of `align`, a power of two. */
VUG_MUST_CHECK vug_status vug_plan_make(const vug_graph *g, int64_t tokens, int64_t rows,
                                        uint64_t align, vug_plan *out, vug_err *err);
/* What the plan came to, in words; for the same graph, tokens and rows. */
void vug_plan_report(const vug_graph *g, const vug_plan *plan, int64_t tokens, int64_t rows,
                     vug_buf *report);

#endif
