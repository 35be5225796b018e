/* Builder functions for hooks: they inspect a flow and change nodes that exist already. */
#include "flow/builder.h"

#include <stdio.h>

vug_val flow_default(vug_flow *f, vug_val x)
{
    if (!f->phase) {
        flow_fail(f, "flow_default may only be called by hooks that replace a phase");
        return (vug_val){ 0 };
    }
    if (f->once && f->done) {
        flow_fail(f, "flow_default was called twice in a layer, which has one cache");
        return (vug_val){ 0 };
    }
    f->done = true;
    return f->phase(f, f->context, f->layer, x);
}

static uint32_t find_value(const vug_flow *f, int layer, const char *name)
{
    for (uint32_t i = f->st == VUG_OK ? f->g->n : 0; i > 1; i--) {
        const vug_node *node = &f->g->node[i - 1];
        if (node->layer == layer && node->op != VUG_OP_PARAM && node->name &&
            strcmp(node->name, name) == 0)
            return i - 1;
    }
    return 0;
}

bool flow_has(const vug_flow *f, int layer, const char *name)
{
    return name && find_value(f, layer, name) != 0;
}

/* The names that flow_find would find, as many as fit into `text`. */
static void list_names(const vug_flow *f, int layer, char *text, size_t size)
{
    size_t at = 0;
    for (uint32_t i = 1; i < f->g->n && at < size; i++) {
        const vug_node *node = &f->g->node[i];
        if (node->layer == layer && node->op != VUG_OP_PARAM && node->name)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "", node->name);
    }
    if (at == 0)
        (void)snprintf(text, size, "none");
}

vug_val flow_find(vug_flow *f, int layer, const char *name)
{
    char names[300], place[32] = "outside the layers";
    const vug_val found = { name ? find_value(f, layer, name) : 0 };
    if (found.id || f->st != VUG_OK)
        return found;
    if (layer >= 0)
        (void)snprintf(place, sizeof(place), "in layer %d", layer);
    list_names(f, layer, names, sizeof(names));
    vug_flow_fail(f, VUG_ARGUMENT, "no value '%s' %s, where the names are: %s",
                  name ? name : "(none)", place, names);
    return found;
}

/* ---- replacing ------------------------------------------------------------- */

/* Moves the nodes that a patch has appended outside the layers into the layer of the value
 * that they replace. */
static void adopt_nodes(vug_flow *f, int layer)
{
    for (uint32_t i = f->hook_from; f->layer < 0 && i < f->g->n; i++) {
        vug_node *node = &f->g->node[i];
        if (node->layer < 0 && node->op != VUG_OP_INPUT)
            node->layer = layer;
    }
}

void flow_replace(vug_flow *f, vug_val old, vug_val with)
{
    char a[96], b[96];
    if (!vug_flow_is_open(f))
        return;
    if (!vug_flow_is_value(f, old) || !vug_flow_is_value(f, with)) {
        flow_fail(f, "flow_replace: an argument is not a value of the flow");
        return;
    }
    const vug_node *was = vug_graph_at(f->g, old), *is = vug_graph_at(f->g, with);
    if (!vug_shape_equal(&was->shape, &is->shape)) {
        vug_flow_fail(f, VUG_ARGUMENT,
                      "flow_replace: %s of layer %d has shape %s, its replacement %s",
                      was->name ? was->name : vug_op_name(was->op), was->layer,
                      vug_shape_text(&was->shape, a), vug_shape_text(&is->shape, b));
        return;
    }
    if (!f->replacement)
        f->replacement = vug_alloc(VUG_MAX_REPLACEMENTS, sizeof(*f->replacement));
    if (!f->replacement) {
        f->st = VUG_FAIL_NOMEM(&f->err, "the flow's replacements",
                               VUG_MAX_REPLACEMENTS * sizeof(*f->replacement));
        return;
    }
    if (f->n_replacements == VUG_MAX_REPLACEMENTS) {
        vug_flow_fail(f, VUG_LIMIT, "flow_replace: more than %d replacements",
                      VUG_MAX_REPLACEMENTS);
        return;
    }
    adopt_nodes(f, was->layer);
    f->replacement[f->n_replacements++] = (vug_replacement){ old, with, f->hook_from, f->g->n };
}

/* The value that node `reader` reads for its input `v`, after all replacements in order. */
static vug_val resolve(const vug_flow *f, uint32_t reader, vug_val v)
{
    for (size_t i = 0; i < f->n_replacements; i++) {
        const vug_replacement *r = &f->replacement[i];
        if (v.id == r->old.id && (reader < r->from || reader >= r->to))
            v = r->with;
    }
    return v;
}

/* Copies the nodes in an order in which every node comes after those that it reads. */
typedef struct {
    const vug_flow *f;
    vug_graph out;
    vug_val *to;         /* [n]: the copy of each node in `out`; id 0: not copied yet */
    uint32_t *stack;     /* [n] */
    unsigned char *open; /* [n]: whether the node is on the stack */
    vug_err *err;
} graph_copy;

/* An input of the node that has no copy yet, or 0. */
static uint32_t missing_input(const graph_copy *r, uint32_t id)
{
    const vug_node *node = &r->f->g->node[id];
    for (int k = 0; k < vug_node_inputs(node); k++) {
        const vug_val in = resolve(r->f, id, node->in[k]);
        if (r->to[in.id].id == 0)
            return in.id;
    }
    return 0;
}

static vug_status copy_node(graph_copy *r, uint32_t id)
{
    vug_node node = r->f->g->node[id];
    for (int k = 0; k < vug_node_inputs(&node); k++)
        node.in[k] = r->to[resolve(r->f, id, node.in[k]).id];
    return vug_graph_append(&r->out, &node, &r->to[id], r->err);
}

static vug_status copy_with_inputs(graph_copy *r, uint32_t id)
{
    size_t depth = 0;
    r->stack[depth++] = id;
    r->open[id] = 1;
    while (depth > 0) {
        const uint32_t top = r->stack[depth - 1], in = missing_input(r, top);
        if (in == 0) {
            VUG_TRY(copy_node(r, top));
            r->open[top] = 0;
            depth--;
            continue;
        }
        if (r->open[in])
            return VUG_FAIL(r->err, VUG_ARGUMENT,
                            "flow: after the replacements, %s of layer %d would depend on itself",
                            vug_op_name(r->f->g->node[in].op), r->f->g->node[in].layer);
        r->stack[depth++] = in;
        r->open[in] = 1;
    }
    return VUG_OK;
}

static vug_status copy_graph(graph_copy *r)
{
    const vug_graph *g = r->f->g;
    for (uint32_t i = 1; i < g->n; i++) {
        if (r->to[i].id == 0)
            VUG_TRY(copy_with_inputs(r, i));
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const vug_val v = resolve(r->f, 0, g->output[i].value);
        VUG_TRY(vug_graph_output(&r->out, g->output[i].name, r->to[v.id], r->err));
    }
    return VUG_OK;
}

static vug_status replace_all(vug_flow *f, vug_err *err)
{
    const size_t n = f->g->n;
    graph_copy r = { .f = f, .out = { .name = f->g->name }, .err = err };
    r.to = vug_alloc_zero(n, sizeof(*r.to));
    r.stack = vug_alloc(n, sizeof(*r.stack));
    r.open = vug_alloc_zero(n, 1);
    vug_status st = VUG_OK;
    if (!r.to || !r.stack || !r.open)
        st = VUG_FAIL_NOMEM(err, "the flow's replacements", n * sizeof(*r.to));
    if (st == VUG_OK)
        st = copy_graph(&r);
    if (st == VUG_OK) {
        vug_graph_release(f->g);
        *f->g = r.out;
    } else {
        vug_graph_release(&r.out);
    }
    vug_free(r.to);
    vug_free(r.stack);
    vug_free(r.open);
    return st;
}

vug_status vug_flow_finish(vug_flow *f, vug_err *err)
{
    if (f->st == VUG_OK && f->n_replacements)
        f->st = replace_all(f, &f->err);
    vug_free(f->replacement);
    f->replacement = NULL;
    f->n_replacements = 0;
    if (f->st != VUG_OK && err)
        *err = f->err;
    return f->st;
}
