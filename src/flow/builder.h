#ifndef VUG_FLOW_BUILDER_H
#define VUG_FLOW_BUILDER_H

/*
 * The part of a flow that vug/flow.h hides. That header declares the builder functions,
 * for architectures and hooks alike.
 *
 * Each builder function appends one node and returns its value. The flow keeps the first
 * failure, and later calls do nothing, so a layer is written without error checks and
 * vug_flow_finish reports what went wrong and in which layer.
 */

#include "ir/ir.h"
#include "vug/flow.h"

/* What a flow needs to know of a weight. */
typedef struct {
    int slot;
    vug_dtype dtype;
    vug_shape shape;
} vug_weight_spec;

/* Finds a weight by the name that the architecture's file uses; `layer` is -1 outside
 * the layers. */
typedef vug_status vug_find_weight_fn(const void *user, const char *name, int layer,
                                      vug_weight_spec *out, vug_err *err);
/* What the model itself does in a phase: see flow_default. */
typedef vug_val vug_phase_fn(vug_flow *f, void *context, int layer, vug_val x);

/* All nodes that read `old` read `with` instead, except nodes from .. to-1. */
typedef struct {
    vug_val old, with;
    uint32_t from, to;
} vug_replacement;

#define VUG_MAX_REPLACEMENTS 256

/* With all fields after `user` zero it is the engine's own flow: any number of tokens, caches. */
struct vug_flow {
    vug_graph *g; /* borrowed */
    vug_find_weight_fn *find;
    const void *user;
    bool hidden; /* make the input of each layer an output, "hidden.N" */
    int layer;   /* of the nodes that follow; -1 outside the layers */
    int n_hidden;
    vug_status st; /* sticky */
    vug_err err;
    bool closed; /* the graph is complete: nothing may be appended */

    int64_t tokens, rows, past, keys; /* fixed sizes of T, R, P and S; 0: symbolic */
    bool given_past, export_kv, custom_mask;
    int n_data;
    vug_phase_fn *phase; /* that the running hook replaces */
    void *context;
    bool once, done;              /* the phase may run only once, and has run */
    uint32_t hook_from;           /* the first node that the running hook may append */
    vug_replacement *replacement; /* [n_replacements], owned */
    size_t n_replacements;
};

vug_flow vug_flow_begin(vug_graph *g, vug_find_weight_fn *find, const void *user);
/* Carries out the replacements and frees what the flow owns. */
VUG_MUST_CHECK vug_status vug_flow_finish(vug_flow *f, vug_err *err);
/* Whether nodes may be appended: the graph is not complete, and nothing failed so far. */
bool vug_flow_is_open(vug_flow *f);
static inline bool vug_flow_is_value(const vug_flow *f, vug_val x)
{
    return x.id > 0 && x.id < f->g->n;
}
/* Makes the flow fail, unless it has failed before; the message gets the current layer. */
void vug_flow_fail(vug_flow *f, vug_status code, const char *fmt, ...) VUG_PRINTF(3, 4);

/* Makes `x`, the input of the next layer or the output of the final norm, an output if the
 * flow was asked for hidden states. */
void flow_hidden(vug_flow *f, vug_val x);

#endif
