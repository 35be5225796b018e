/*
 * Finds equal layers. Two layers are of one kind if their nodes, in order, have the same
 * operations, attributes and shapes, and equal inputs: an input inside the layer is
 * compared by its index in the layer, one outside the layers by identity, one in an
 * earlier layer by distance. Names and slots are ignored.
 *
 * One difference is allowed. The residual stream comes from the layer before, but for the
 * first layer from the embedding. So one value outside the layers may correspond to the
 * last value of the layer before, if neither value is used in any other role.
 */
#include "ir/dump.h"

typedef struct {
    uint32_t a, b; /* ids of the two values; 0: not known yet */
} residual_pair;

/* The index counted from the end of its layer, because kinds may differ in length. */
static uint32_t from_end(const vug_fold *f, int layer, uint32_t id)
{
    return f->start[layer + 1] - f->start[layer] - f->ordinal[id];
}

/* Whether input u of layer `a` corresponds to input v of layer `b`. */
static bool same_source(const vug_graph *g, const vug_fold *f, int a, int b, uint32_t u, uint32_t v,
                        residual_pair *s)
{
    const int at_u = g->node[u].layer, at_v = g->node[v].layer;
    if ((at_u == a) != (at_v == b))
        return false;
    if (at_u == a)
        return f->ordinal[u] == f->ordinal[v];
    const bool outside = !vug_in_layer(f, &g->node[u]);
    if (outside != !vug_in_layer(f, &g->node[v])) {
        const int layer = outside ? at_v : at_u;
        if (layer != (outside ? b : a) - 1 || from_end(f, layer, outside ? v : u) != 1)
            return false;
        if (s->a == 0)
            *s = (residual_pair){ u, v };
    }
    if (s->a == u || s->b == v)
        return s->a == u && s->b == v;
    if (outside)
        return u == v;
    return a - at_u == b - at_v && from_end(f, at_u, u) == from_end(f, at_v, v);
}

static bool same_node(const vug_graph *g, const vug_fold *f, int a, int b, uint32_t i,
                      residual_pair *s)
{
    const vug_node *x = &g->node[f->node[f->start[a] + i]];
    const vug_node *y = &g->node[f->node[f->start[b] + i]];
    if (!vug_attr_alike(x, y) || !vug_shape_equal(&x->shape, &y->shape))
        return false;
    for (int k = 0; k < vug_node_inputs(x); k++) {
        if (!same_source(g, f, a, b, x->in[k].id, y->in[k].id, s))
            return false;
    }
    return true;
}

static bool same_layer(const vug_graph *g, const vug_fold *f, int a, int b)
{
    const uint32_t n = f->start[a + 1] - f->start[a];
    if (n != f->start[b + 1] - f->start[b])
        return false;
    /* The second round knows the residual pair, whose values may have other roles earlier. */
    residual_pair s = { 0 };
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < n; i++) {
            if (!same_node(g, f, a, b, i, &s))
                return false;
        }
    }
    return true;
}

static void sort_kinds(const vug_graph *g, vug_fold *f)
{
    for (int i = 0; i < f->n_layers; i++) {
        int k = 0;
        while (k < f->n_kinds && !same_layer(g, f, f->first[k], i))
            k++;
        if (k == f->n_kinds)
            f->first[f->n_kinds++] = i;
        f->kind[i] = k;
        f->last[k] = i;
        f->count[k]++;
    }
}

bool vug_fold_init(const vug_graph *g, vug_arena *arena, vug_fold *out)
{
    *out = (vug_fold){ 0 };
    const size_t layers = g->n_layers > 0 ? (size_t)g->n_layers : 0;
    vug_fold f = {
        .node = vug_arena_alloc(arena, g->n, sizeof(*f.node)),
        .start = vug_arena_alloc(arena, layers + 2, sizeof(*f.start)),
        .ordinal = vug_arena_alloc(arena, g->n, sizeof(*f.ordinal)),
        .kind = vug_arena_alloc(arena, layers, sizeof(*f.kind)),
        .first = vug_arena_alloc(arena, layers, sizeof(*f.first)),
        .last = vug_arena_alloc(arena, layers, sizeof(*f.last)),
        .count = vug_arena_alloc(arena, layers, sizeof(*f.count)),
        .n_layers = (int)layers,
    };
    if (!f.node || !f.start || !f.ordinal || !f.kind || !f.first || !f.last || !f.count)
        return false;
    /* A counting sort: start[i + 2] counts layer i, its sums are where i + 1 begins,
     * and filling moves start[i + 1] from layer i's begin to its end. */
    for (uint32_t i = 1; i < g->n; i++) {
        if (vug_in_layer(&f, &g->node[i]))
            f.start[g->node[i].layer + 2]++;
    }
    for (size_t i = 2; i < layers + 2; i++)
        f.start[i] += f.start[i - 1];
    for (uint32_t i = 1; i < g->n; i++) {
        if (!vug_in_layer(&f, &g->node[i]))
            continue;
        f.node[f.start[g->node[i].layer + 1]++] = i;
    }
    for (size_t layer = 0; layer < layers; layer++) {
        for (uint32_t i = f.start[layer]; i < f.start[layer + 1]; i++)
            f.ordinal[f.node[i]] = i - f.start[layer];
    }
    sort_kinds(g, &f);
    *out = f;
    return true;
}

void vug_fold_list(const vug_fold *fold, int kind, int from, int to, vug_buf *out)
{
    int runs = 0, layers = 0;
    for (int i = from; i < to; i++) {
        layers += fold->kind[i] == kind;
        runs += fold->kind[i] == kind && (i == from || fold->kind[i - 1] != kind);
    }
    vug_buf_puts(out, layers == 1 ? "layer " : "layers ");
    int nth = 0;
    for (int i = from; i < to; i++) {
        if (fold->kind[i] != kind)
            continue;
        const int begin = i;
        while (i + 1 < to && fold->kind[i + 1] == kind)
            i++;
        vug_buf_puts(out, nth == 0 ? "" : nth == runs - 1 ? " and " : ", ");
        vug_buf_printf(out, "%d", begin);
        if (i > begin)
            vug_buf_printf(out, "-%d", i);
        nth++;
    }
}
