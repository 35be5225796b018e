#ifndef VUG_PASSES_PASSES_H
#define VUG_PASSES_PASSES_H

/*
 * What happens to a graph between the architecture and the backend. Passes know no device
 * and no architecture; each takes a verified graph and gives a verified graph.
 */

#include "ir/ir.h"
#include "ir/plan.h"

/* ---- profile: what the passes may do (profile.c) ---------------------------- */

#define VUG_MAX_PROFILE ((size_t)64 << 10) /* bytes of a file */

/* All-zero is the built-in profile: every fusion, keys and values in F32, the backend's
 * tile size, no budget. */
typedef struct {
    char name[256];         /* "prefill" or the file, for reports; truncated if longer */
    bool built_in;          /* not from a file */
    bool off[VUG_OP_COUNT]; /* disabled fusions, by the operation that they make */
    vug_kv_format kv;       /* of the caches */
    int tile_rows;          /* most rows of queries that attention takes at once; 0: any */
    vug_activations activations;
    uint64_t budget; /* bytes for weights, caches and buffers; 0: none */
} vug_profile;

/* Reads a profile's text; `file` names it in error messages. */
VUG_MUST_CHECK vug_status vug_profile_read(vug_str text, const char *file, vug_profile *out,
                                           vug_err *err);

/* ---- passes ------------------------------------------------------------------ */

/* Copies `in`, with patterns rewritten into the fused operations of ops.def and without
 * nodes that no output needs. A value that is an output is never fused away. */
VUG_MUST_CHECK vug_status vug_fuse(const vug_graph *in, vug_graph *out, vug_err *err);
/* vug_fuse with the fusions that the profile allows. Appends what was done, and where and
 * why a pattern was left unchanged, to `report`, which may be NULL. */
VUG_MUST_CHECK vug_status vug_fuse_with(const vug_graph *in, const vug_profile *profile,
                                        vug_graph *out, vug_buf *report, vug_err *err);

/* For steps of up to `tokens` tokens and `rows` rows of outputs. Values that are never
 * alive at the same time share bytes; views use the bytes of their inputs; outputs live to the end.
 * Offsets are multiples of `align`, a power of two. */
VUG_MUST_CHECK vug_status vug_plan_init(const vug_graph *g, int64_t tokens, int64_t rows,
                                        uint64_t align, vug_plan *out, vug_err *err);
/* Appends a summary of the plan, which was made for the same graph, tokens and rows. */
void vug_plan_report(const vug_graph *g, const vug_plan *plan, int64_t tokens, int64_t rows,
                     vug_buf *report);

/* ---- experts on the host (move_experts.c) ---------------------------------------- */

/* Copies `in`; EXPERTS nodes of the layers first .. end - 1 become HOST_EXPERTS nodes, which are
 * counted in the order of the graph. Fusing the copy drops their weights. */
VUG_MUST_CHECK vug_status vug_move_experts(const vug_graph *in, int first, int end, vug_graph *out,
                                           vug_err *err);

/* ---- two devices (cut_layers.c) ------------------------------------------------ */

/* Where data of a part comes from. */
typedef struct {
    bool crosses; /* an output of the first part; else data of the whole graph */
    int index;    /* of that output, or of that data */
} vug_cut_data;

typedef struct {
    vug_graph graph;
    vug_cut_data *data; /* [n_data] of the graph's VUG_INPUT_DATA */
    int n_data;
} vug_cut_part;

/* An output of the whole graph: output `index` of a part. */
typedef struct {
    int part, index;
} vug_cut_output;

/* All-zero is an empty cut. */
typedef struct {
    vug_cut_part part[2];
    vug_cut_output *output; /* [outputs of the whole graph] */
} vug_cut;

/* Cuts a graph in two before a layer: the second part has the nodes of this layer and of later ones,
 * and everything that depends on them. It is given the values of the first part that it reads, such
 * as the hidden state [T,D]; tables of positions are computed in both. A part without outputs is
 * never needed. Fails if a layer reads the keys and values of a layer in the other part. The caller
 * releases the cut. */
VUG_MUST_CHECK vug_status vug_cut_layers(const vug_graph *graph, int layer, vug_cut *out,
                                         vug_err *err);
/* Accepts an all-zero cut. */
void vug_cut_release(vug_cut *cut);

#endif
