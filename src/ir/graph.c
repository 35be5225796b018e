/* The graph: appending with shape inference, and verification. */
#include "ir/internal.h"

#include <stdio.h>

void vug_graph_release(vug_graph *g)
{
    vug_free(g->node);
    vug_free(g->output);
    vug_arena_release(&g->arena);
    *g = (vug_graph){ 0 };
}

/* Makes room for one more element; the array doubles up to `max` elements. */
static void *grow_array(void *array, uint32_t n, uint32_t *cap, uint32_t max, size_t size)
{
    if (n < *cap)
        return array;
    uint32_t more = *cap ? *cap * 2 : 64;
    if (more > max)
        more = max;
    void *grown = n < more ? vug_realloc(array, more, size) : NULL;
    if (grown)
        *cap = more;
    return grown;
}

static vug_status check_inputs(const vug_node *node, uint32_t before, vug_err *err)
{
    const int n = vug_node_inputs(node);
    for (int i = 0; i < VUG_MAX_INPUTS; i++) {
        const bool expected = i < n;
        const bool given = node->in[i].id != 0;
        if (expected != given || node->in[i].id >= before) {
            char why[64];
            (void)snprintf(why, sizeof(why), "input %d is %s", i,
                           expected ? "missing or not yet defined" : "one too many");
            return vug_node_fail(node, err, why);
        }
    }
    return VUG_OK;
}

int vug_graph_data_count(const vug_graph *g)
{
    int n = 0;
    for (uint32_t i = 1; i < g->n; i++)
        n += g->node[i].op == VUG_OP_INPUT && g->node[i].at.input.which == VUG_INPUT_DATA;
    return n;
}

vug_status vug_graph_append(vug_graph *g, const vug_node *node, vug_val *out, vug_err *err)
{
    if (g->n == VUG_MAX_NODES)
        return VUG_FAIL(err, VUG_LIMIT, "graph: more than %d nodes", VUG_MAX_NODES);
    vug_node *grown = grow_array(g->node, g->n + 1, &g->cap, VUG_MAX_NODES + 1, sizeof(*grown));
    if (!grown)
        return VUG_FAIL_NOMEM(err, "the graph", g->n * sizeof(*grown));
    g->node = grown;
    if (g->n == 0)
        g->node[g->n++] = (vug_node){ .layer = -1 }; /* node 0 is "no value" */

    vug_node n = *node;
    if (n.layer < -1 || n.layer >= VUG_MAX_LAYERS)
        return VUG_FAIL(err, VUG_LIMIT, "graph: layer %d, at most %d layers", n.layer,
                        VUG_MAX_LAYERS);
    VUG_TRY(check_inputs(&n, g->n, err));
    VUG_TRY(vug_infer_shape(g, &n, err));
    if (n.name && !(n.name = vug_arena_copy(&g->arena, vug_str_of(n.name)).ptr))
        return VUG_FAIL_NOMEM(err, "the graph's names", strlen(node->name));
    if (n.op == VUG_OP_ROPE_TABLE) {
        const size_t half = (size_t)n.at.table.dims / 2;
        float *inv = vug_arena_alloc(&g->arena, half, sizeof(*inv));
        if (!inv)
            return VUG_FAIL_NOMEM(err, "the graph's tables", half * sizeof(*inv));
        memcpy(inv, n.at.table.inv, half * sizeof(*inv));
        n.at.table.inv = inv;
    }
    g->node[g->n] = n;
    out->id = g->n++;
    if (n.layer >= g->n_layers)
        g->n_layers = n.layer + 1;
    return VUG_OK;
}

vug_status vug_graph_output(vug_graph *g, const char *name, vug_val value, vug_err *err)
{
    if (value.id == 0 || value.id >= g->n)
        return VUG_FAIL(err, VUG_ARGUMENT, "graph: output '%s' is not a value of the graph", name);
    if (g->n_outputs == VUG_MAX_OUTPUTS)
        return VUG_FAIL(err, VUG_LIMIT, "graph: more than %d outputs", VUG_MAX_OUTPUTS);
    vug_output *grown =
            grow_array(g->output, g->n_outputs, &g->cap_outputs, VUG_MAX_OUTPUTS, sizeof(*grown));
    if (!grown)
        return VUG_FAIL_NOMEM(err, "the graph's outputs", g->n_outputs * sizeof(*grown));
    g->output = grown;
    const vug_str copy = vug_arena_copy(&g->arena, vug_str_of(name));
    if (!copy.ptr)
        return VUG_FAIL_NOMEM(err, "the graph's names", strlen(name));
    g->output[g->n_outputs++] = (vug_output){ copy.ptr, value };
    return VUG_OK;
}

vug_status vug_graph_verify(const vug_graph *g, vug_err *err)
{
    for (uint32_t i = 1; i < g->n; i++) {
        vug_node copy = g->node[i];
        if ((unsigned)copy.op >= VUG_OP_COUNT)
            return VUG_FAIL(err, VUG_ARGUMENT, "graph: node %u has no operation", i);
        VUG_TRY(check_inputs(&copy, i, err));
        /* Only earlier nodes may fill the cache that a node reads. */
        const vug_graph before = { .node = g->node, .n = i };
        VUG_TRY(vug_infer_shape(&before, &copy, err));
        if (!vug_shape_equal(&copy.shape, &g->node[i].shape))
            return vug_node_fail(&g->node[i], err, "its shape does not follow from its inputs");
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->output[i].value.id == 0 || g->output[i].value.id >= g->n)
            return VUG_FAIL(err, VUG_ARGUMENT, "graph: output '%s' is not a value of the graph",
                            g->output[i].name);
    }
    return VUG_OK;
}
