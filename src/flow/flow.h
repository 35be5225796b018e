#ifndef VUG_FLOW_FLOW_H
#define VUG_FLOW_FLOW_H

/*
 * The words a model file is written in. Each call appends one node and returns
 * its value. The first failure is kept in the flow and turns all later calls
 * into no-ops, so a layer is written without error checks and vug_flow_finish
 * reports what went wrong and in which scope.
 *
 * Prefill and decode are one flow: the number of tokens is the symbol T, the
 * rows whose logits are wanted are R.
 */

#include "ir/ir.h"

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

typedef struct {
    vug_graph *g; /* borrowed */
    vug_find_weight_fn *find;
    const void *user;
    bool hidden; /* make the input of each layer an output, "hidden.N" */
    int layer;   /* of the nodes that follow; -1 outside the layers */
    int n_hidden;
    vug_status st; /* sticky */
    vug_err err;
} vug_flow;

vug_flow vug_flow_over(vug_graph *g, vug_find_weight_fn *find, const void *user);
VUG_MUST_CHECK vug_status vug_flow_finish(const vug_flow *f, vug_err *err);

vug_val flow_input(vug_flow *f, vug_input which);
vug_val flow_weight(vug_flow *f, const char *name);
/* Rows of a table [V,D], times `scale`. */
vug_val flow_embed(vug_flow *f, vug_val table, vug_val tokens, float scale);
/* x [T,in] times the transposed weight `name` [out,in]. */
vug_val flow_linear(vug_flow *f, vug_val x, const char *name);
/* The same with a weight that was looked up before, such as a tied head. */
vug_val flow_project(vug_flow *f, vug_val x, vug_val weight);
/* x / rms(x) * (w + bias) over the last axis, w the weight `name`. */
vug_val flow_rms_norm(vug_flow *f, vug_val x, const char *name, vug_attr_norm at);
vug_val flow_rope_table(vug_flow *f, vug_val positions, const char *name, vug_attr_table at);
vug_val flow_rope(vug_flow *f, vug_val x, vug_val table);
vug_val flow_attention(vug_flow *f, vug_val q, vug_val k, vug_val v, vug_attr_attn at);
/* Queries alone, over the cache that layer `at.layer` filled in the same step. */
vug_val flow_attend(vug_flow *f, vug_val q, vug_attr_attn at);
vug_val flow_heads(vug_flow *f, vug_val x, int64_t count);
vug_val flow_merge(vug_flow *f, vug_val x);
vug_val flow_add(vug_flow *f, vug_val a, vug_val b);
vug_val flow_mul(vug_flow *f, vug_val a, vug_val b);
vug_val flow_gelu(vug_flow *f, vug_val x);
vug_val flow_silu(vug_flow *f, vug_val x);
/* x [..,D] plus the weight `name` [D]. */
vug_val flow_bias(vug_flow *f, vug_val x, const char *name);
/* tanh(x / by) * by; `by` 0 leaves x as it is. */
vug_val flow_softcap(vug_flow *f, vug_val x, float by);
vug_val flow_scale(vug_flow *f, vug_val x, float by);
/* x times the weight `name` [1]. */
vug_val flow_gain(vug_flow *f, vug_val x, const char *name);
/* x / rms(x) over the last axis, without a weight. */
vug_val flow_unit_norm(vug_flow *f, vug_val x, float eps);
/* [T,E], head `index` of x [T,H,E]. */
vug_val flow_head(vug_flow *f, vug_val x, int index);
vug_val flow_take(vug_flow *f, vug_val x, vug_val rows);
/* The `at.count` best of the experts that logits [T,N] are of, with their weights. */
vug_val flow_router(vug_flow *f, vug_val logits, vug_attr_router at);
/* The route's weights times those that the weight `name` [N] has for its experts. */
vug_val flow_route_scale(vug_flow *f, vug_val route, const char *name);
/* Sum over the chosen experts of their weight times down(act(gate x) * up x). */
typedef struct {
    const char *gate, *up, *down; /* weights [N,F,D], [N,F,D], [N,D,F] */
    vug_op act;                   /* VUG_OP_GELU or another activation */
} flow_experts_of;
vug_val flow_experts(vug_flow *f, vug_val x, vug_val route, flow_experts_of of);

void flow_output(vug_flow *f, const char *name, vug_val x);
/* The input of the next layer, or at last the output of the final norm: an
 * output when the flow was asked for hidden states. */
void flow_hidden(vug_flow *f, vug_val x);

#endif
