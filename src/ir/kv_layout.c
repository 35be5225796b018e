/* Divides the key/value cache of a graph into groups of layers. */
#include "ir/kv_layout.h"

/* The group of layers with this window, heads and width, which is added if it is new; -1: the
 * layout has too many groups. */
static int find_or_add_group(vug_kv_layout *layout, int64_t window, int64_t heads, int64_t width)
{
    for (int g = 0; g < layout->n_groups; g++) {
        const vug_kv_group *group = &layout->group[g];
        if (group->window == window && group->heads == heads && group->width == width)
            return g;
    }
    if (layout->n_groups == VUG_KV_MAX_GROUPS)
        return -1;
    layout->group[layout->n_groups] =
            (vug_kv_group){ .window = window, .heads = heads, .width = width };
    return layout->n_groups++;
}

/* Adds the cache that an attention fills. */
static vug_status add_cache(vug_kv_layout *layout, const vug_graph *graph, const vug_node *node,
                            vug_err *err)
{
    const vug_attr_attention *attn = &node->at.attn;
    const vug_shape *k = &vug_graph_at(graph, node->in[1])->shape;
    if (attn->layer < 0 || attn->layer >= layout->n_layers)
        return VUG_FAIL(
                err, VUG_ARGUMENT,
                "graph: an attention fills the cache of layer %d, but the graph has %d layers",
                attn->layer, layout->n_layers);
    vug_kv_place *place = &layout->layer[attn->layer];
    if (place->group >= 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "graph: two attentions fill the cache of layer %d",
                        attn->layer);
    const int group = find_or_add_group(layout, attn->window, k->dim[1], k->dim[2]);
    if (group < 0)
        return VUG_FAIL(err, VUG_LIMIT,
                        "graph: the layers have more than %d different kinds of key/value caches",
                        VUG_KV_MAX_GROUPS);
    place->group = group;
    place->index = layout->group[group].n_layers++;
    return VUG_OK;
}

/* Sets the sources of the layers that only read an earlier layer's cache. */
static void find_sources(vug_kv_layout *layout, const vug_graph *graph)
{
    for (uint32_t i = 1; i < graph->n; i++) {
        const vug_node *node = &graph->node[i];
        if (vug_node_shares_cache(node) && node->layer >= 0 && layout->layer[node->layer].group < 0)
            layout->layer[node->layer].source = node->at.attn.layer;
    }
}

vug_status vug_kv_layout_init(vug_kv_layout *layout, const vug_graph *graph, vug_kv_format format,
                              vug_err *err)
{
    *layout = (vug_kv_layout){ .n_layers = graph->n_layers, .format = format };
    const size_t n = (size_t)graph->n_layers;
    layout->layer = vug_alloc(n, sizeof(*layout->layer));
    if (!layout->layer)
        return VUG_FAIL_NOMEM(err, "the layout of a cache", n * sizeof(*layout->layer));
    for (size_t i = 0; i < n; i++)
        layout->layer[i] = (vug_kv_place){ .group = -1, .source = (int)i };
    vug_status st = VUG_OK;
    for (uint32_t i = 1; i < graph->n && st == VUG_OK; i++) {
        if (vug_node_fills_cache(&graph->node[i]))
            st = add_cache(layout, graph, &graph->node[i], err);
    }
    if (st != VUG_OK) {
        vug_kv_layout_release(layout);
        return st;
    }
    find_sources(layout, graph);
    return VUG_OK;
}

void vug_kv_layout_release(vug_kv_layout *layout)
{
    vug_free(layout->layer);
    *layout = (vug_kv_layout){ 0 };
}
