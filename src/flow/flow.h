#ifndef VUG_FLOW_FLOW_H
#define VUG_FLOW_FLOW_H

/*
 * What vug/flow.h does not show of a flow: the words are declared there, once, for
 * architectures and for hooks alike.
 *
 * Each call appends one node and returns its value. The first failure is kept in
 * the flow and turns all later calls into no-ops, so a layer is written without
 * error checks and vug_flow_finish reports what went wrong and in which scope.
 */

#include "ir/ir.h"
#include "vug/flow.h"

/* What a flow needs to know of a weight that the model names. */
typedef struct {
    int slot;
    vug_dtype dtype;
    vug_shape shape;
} vug_weight_spec;

/* Finds a weight by the name that the model file uses; `layer` is -1 outside
 * the layers. */
typedef vug_status vug_find_weight_fn(const void *user, const char *name, int layer,
                                      vug_weight_spec *out, vug_err *err);
/* What the model itself does at a stage: see flow_default. */
typedef vug_val vug_stage_fn(vug_flow *f, void *context, int layer, vug_val x);

/* Readers of `old` read `with`, but for the nodes from .. to-1. */
typedef struct {
    vug_val old, with;
    uint32_t from, to;
} vug_replacement;

#define VUG_MAX_REPLACEMENTS 256

/* After `user` all-zero is the engine's own flow: any number of tokens, caches. */
struct vug_flow {
    vug_graph *g; /* borrowed */
    vug_find_weight_fn *find;
    const void *user;
    bool hidden; /* make the input of each layer an output, "hidden.N" */
    int layer;   /* of the nodes that follow; -1 outside the layers */
    int n_hidden;
    vug_status st; /* sticky */
    vug_err err;
    bool closed; /* written: words come too late */

    int64_t tokens, rows, past, keys; /* what T, R, P and S are; 0: unknown to the flow */
    bool given_past, export_kv, custom_mask;
    int n_data;
    vug_stage_fn *stage; /* of the hook that runs */
    void *context;
    bool once, done; /* the stage may run once, has run */
    uint32_t hook_from;
    vug_replacement *replacement; /* [n_replacements]; of the flow */
    size_t n_replacements;
};

vug_flow vug_flow_over(vug_graph *g, vug_find_weight_fn *find, const void *user);
/* Carries out the replacements and frees what the flow itself holds. */
VUG_MUST_CHECK vug_status vug_flow_finish(vug_flow *f, vug_err *err);
/* Whether words may append: the flow is being written, and nothing failed so far. */
bool vug_flow_writes(vug_flow *f);
/* The first failure counts. `layer` < 0: outside the layers. */
void vug_flow_refuse(vug_flow *f, vug_status code, const char *fmt, ...) VUG_PRINTF(3, 4);

/* The input of the next layer, or at last the output of the final norm: an
 * output when the flow was asked for hidden states. */
void flow_hidden(vug_flow *f, vug_val x);

#endif
