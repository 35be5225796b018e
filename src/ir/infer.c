/* Shape inference: a rule for each operation, named in ops.def. */
#include "ir/internal.h"

#include <stdio.h>

/* Infers node->shape from the inputs and the attributes. */
typedef vug_status shape_rule(const vug_graph *g, vug_node *node, vug_err *err);

static const vug_shape *shape_of(const vug_graph *g, const vug_node *node, int i)
{
    return &g->node[node->in[i].id].shape;
}

/* The message names the node as "layer 3, attn_q (linear)" or "layer 3, add". */
vug_status vug_node_fail(const vug_node *node, vug_err *err, const char *why)
{
    char where[64] = "";
    if (node->layer >= 0)
        (void)snprintf(where, sizeof(where), "layer %d, ", node->layer);
    if (!node->name)
        return VUG_FAIL(err, VUG_ARGUMENT, "graph: %s%s: %s", where, vug_op_name(node->op), why);
    return VUG_FAIL(err, VUG_ARGUMENT, "graph: %s%s (%s): %s", where, node->name,
                    vug_op_name(node->op), why);
}

static vug_status fail_shapes(const vug_graph *g, const vug_node *node, vug_err *err,
                              const char *expected)
{
    char text[256], a[96], b[96];
    const int n = vug_node_inputs(node);
    (void)snprintf(text, sizeof(text), "inputs are %s%s%s, expected %s",
                   vug_shape_text(shape_of(g, node, 0), a), n > 1 ? " and " : "",
                   n > 1 ? vug_shape_text(shape_of(g, node, 1), b) : "", expected);
    return vug_node_fail(node, err, text);
}

/* ---- shape rules --------------------------------------------------------- */

/* The first axis of an input may be any symbol but S, the second only S, as of a mask. */
static bool is_symbol(int64_t dim, int axis)
{
    return axis == 0 ? dim == VUG_DIM_T || dim == VUG_DIM_R || dim == VUG_DIM_P
                     : axis == 1 && dim == VUG_DIM_S;
}

static vug_status shape_declared(const vug_graph *g, vug_node *node, vug_err *err)
{
    (void)g;
    const vug_shape *s = &node->shape;
    if (s->rank < 1 || s->rank > VUG_MAX_DIMS)
        return vug_node_fail(node, err, "has no declared shape");
    for (int i = 0; i < s->rank; i++) {
        const bool symbol = node->op == VUG_OP_INPUT && is_symbol(s->dim[i], i);
        if (!symbol && s->dim[i] < 1)
            return vug_node_fail(node, err, "has a dimension below 1");
    }
    return VUG_OK;
}

static vug_status shape_like_in0(const vug_graph *g, vug_node *node, vug_err *err)
{
    (void)err;
    node->shape = *shape_of(g, node, 0);
    return VUG_OK;
}

static vug_status shape_even(const vug_graph *g, vug_node *node, vug_err *err)
{
    node->shape = *shape_of(g, node, 0);
    if (node->shape.dim[node->shape.rank - 1] % 2 != 0)
        return fail_shapes(g, node, err, "an even width");
    return VUG_OK;
}

static vug_status shape_weighted(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *w = shape_of(g, node, 1);
    node->shape = *shape_of(g, node, 0);
    if (w->rank != 1 || w->dim[0] != node->shape.dim[node->shape.rank - 1])
        return fail_shapes(g, node, err, "[...,D] and a weight [D]");
    return VUG_OK;
}

static vug_status shape_same(const vug_graph *g, vug_node *node, vug_err *err)
{
    node->shape = *shape_of(g, node, 0);
    if (!vug_shape_equal(&node->shape, shape_of(g, node, 1)))
        return fail_shapes(g, node, err, "equal shapes");
    return VUG_OK;
}

static vug_status shape_add_norm(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *w = shape_of(g, node, 2);
    VUG_TRY(shape_same(g, node, err));
    if (w->rank != 1 || w->dim[0] != node->shape.dim[node->shape.rank - 1])
        return vug_node_fail(node, err, "the norm's weight does not match the last dimension");
    return VUG_OK;
}

static vug_status shape_embed(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *table = shape_of(g, node, 0), *ids = shape_of(g, node, 1);
    if (table->rank != 2 || ids->rank != 1)
        return fail_shapes(g, node, err, "a table [V,D] and tokens [T]");
    node->shape = (vug_shape){ 2, { ids->dim[0], table->dim[1] } };
    return VUG_OK;
}

static vug_status shape_linear(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *w = shape_of(g, node, 1);
    if (x->rank != 2 || w->rank != 2 || x->dim[1] != w->dim[1])
        return fail_shapes(g, node, err, "[T,in] and a weight [out,in]");
    node->shape = (vug_shape){ 2, { x->dim[0], w->dim[0] } };
    return VUG_OK;
}

static vug_status shape_table(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *pos = shape_of(g, node, 0);
    const int dims = node->at.table.dims;
    if (pos->rank != 1 || dims < 2 || dims % 2 != 0 || !node->at.table.inv)
        return vug_node_fail(
                node, err,
                "expected positions [T], an even number of dimensions and half as many "
                "frequencies");
    node->shape = (vug_shape){ 2, { pos->dim[0], dims } };
    return VUG_OK;
}

static vug_status rope_shape(const vug_graph *g, vug_node *node, int table_input, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *table = shape_of(g, node, table_input);
    if (x->rank != 3 || table->rank != 2 || table->dim[0] != x->dim[0] || table->dim[1] > x->dim[2])
        return fail_shapes(g, node, err, "[T,H,E] and a table [T,dims] with dims <= E");
    node->shape = *x;
    return VUG_OK;
}

static vug_status shape_rope(const vug_graph *g, vug_node *node, vug_err *err)
{
    return rope_shape(g, node, 1, err);
}

static vug_status shape_rope3(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *w = shape_of(g, node, 1);
    VUG_TRY(rope_shape(g, node, 2, err));
    if (w->rank != 1 || w->dim[0] != x->dim[2])
        return fail_shapes(g, node, err, "[T,H,E] and a norm weight [E]");
    return VUG_OK;
}

/* The attention that fills the cache of `layer`; NULL: none does. */
static const vug_node *find_cache(const vug_graph *g, int layer)
{
    for (uint32_t i = 1; i < g->n; i++) {
        if (vug_node_fills_cache(&g->node[i]) && g->node[i].at.attn.layer == layer)
            return &g->node[i];
    }
    return NULL;
}

static vug_status check_own_cache(const vug_graph *g, const vug_node *node, vug_err *err)
{
    const vug_shape *q = shape_of(g, node, 0), *k = shape_of(g, node, 1);
    if (q->rank != 3 || k->rank != 3 || !vug_shape_equal(k, shape_of(g, node, 2)) ||
        q->dim[0] != k->dim[0] || q->dim[2] != k->dim[2] || q->dim[1] % k->dim[1] != 0)
        return fail_shapes(g, node, err, "q [T,H,E], k and v [T,K,E] with H a multiple of K");
    if (node->at.attn.layer < 0 || node->at.attn.window < 0)
        return vug_node_fail(node, err, "needs a layer and a window that is not negative");
    if (find_cache(g, node->at.attn.layer))
        return vug_node_fail(node, err, "is the second of its layer, which has one cache");
    return VUG_OK;
}

static vug_status check_shared_cache(const vug_graph *g, const vug_node *node, vug_err *err)
{
    const vug_shape *q = shape_of(g, node, 0);
    const vug_attr_attention *at = &node->at.attn;
    const vug_node *source = find_cache(g, at->layer);
    char why[96];
    (void)snprintf(why, sizeof(why), "no earlier attention fills the cache of layer %d", at->layer);
    if (!source)
        return vug_node_fail(node, err, why);
    const vug_shape *k = shape_of(g, source, 1);
    (void)snprintf(why, sizeof(why), "the cache of layer %d has %lld heads of %lld and window %lld",
                   at->layer, (long long)k->dim[1], (long long)k->dim[2],
                   (long long)source->at.attn.window);
    if (q->rank != 3 || q->dim[2] != k->dim[2] || q->dim[1] % k->dim[1] != 0 ||
        at->window != source->at.attn.window)
        return vug_node_fail(node, err, why);
    return VUG_OK;
}

static vug_status check_past(const vug_graph *g, const vug_node *node, vug_err *err)
{
    const vug_shape *k = shape_of(g, node, 1), *past = shape_of(g, node, 3);
    char text[256], a[96], b[96];
    if (past->rank == 3 && vug_shape_equal(past, shape_of(g, node, 4)) &&
        past->dim[1] == k->dim[1] && past->dim[2] == k->dim[2])
        return VUG_OK;
    (void)snprintf(text, sizeof(text), "the past is %s and %s, expected two of [P,K,E]",
                   vug_shape_text(past, a), vug_shape_text(shape_of(g, node, 4), b));
    return vug_node_fail(node, err, text);
}

/* The mask is the last input. */
static vug_status check_mask(const vug_graph *g, const vug_node *node, vug_err *err)
{
    const vug_shape *mask = shape_of(g, node, vug_node_inputs(node) - 1);
    char text[160], shape[96];
    if (mask->rank == 2 && mask->dim[0] == node->shape.dim[0])
        return VUG_OK;
    (void)snprintf(text, sizeof(text), "the mask is %s, expected [T,S], a row for each query",
                   vug_shape_text(mask, shape));
    return vug_node_fail(node, err, text);
}

static vug_status shape_attention(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_attr_attention *at = &node->at.attn;
    if (at->shared && at->past)
        return vug_node_fail(node, err, "is given a past, but reads the cache of another layer");
    VUG_TRY(at->shared ? check_shared_cache(g, node, err) : check_own_cache(g, node, err));
    node->shape = *shape_of(g, node, 0);
    if (at->past)
        VUG_TRY(check_past(g, node, err));
    return at->mask ? check_mask(g, node, err) : VUG_OK;
}

static vug_status shape_one(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *w = shape_of(g, node, 1);
    if (w->rank != 1 || w->dim[0] != 1)
        return fail_shapes(g, node, err, "any value and a weight [1]");
    node->shape = *shape_of(g, node, 0);
    return VUG_OK;
}

static vug_status shape_head(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0);
    if (x->rank != 3 || node->at.head.index < 0 || node->at.head.index >= x->dim[1])
        return fail_shapes(g, node, err, "[T,H,E] and the index of a head below H");
    node->shape = (vug_shape){ 2, { x->dim[0], x->dim[2] } };
    return VUG_OK;
}

static vug_status shape_heads(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0);
    const int64_t count = node->at.heads.count;
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "[T,H*E], the width a multiple of %lld heads",
                   (long long)count);
    if (x->rank != 2 || count < 1 || x->dim[1] % count != 0)
        return fail_shapes(g, node, err, expected);
    node->shape = (vug_shape){ 3, { x->dim[0], count, x->dim[1] / count } };
    return VUG_OK;
}

static vug_status shape_merge(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0);
    if (x->rank != 3)
        return fail_shapes(g, node, err, "[T,H,E]");
    node->shape = (vug_shape){ 2, { x->dim[0], x->dim[1] * x->dim[2] } };
    return VUG_OK;
}

static vug_status shape_gather(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *rows = shape_of(g, node, 1);
    if (x->rank != 2 || rows->rank != 1)
        return fail_shapes(g, node, err, "[T,D] and rows [R]");
    node->shape = (vug_shape){ 2, { rows->dim[0], x->dim[1] } };
    return VUG_OK;
}

static vug_status shape_router(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *logits = shape_of(g, node, 0);
    const int64_t count = node->at.router.count;
    /* Indices are stored as F32, which is exact up to 2^24. */
    if (logits->rank != 2 || count < 1 || count > logits->dim[1] || logits->dim[1] > 1 << 24)
        return fail_shapes(g, node, err, "[T,N] with N up to 2^24 and a choice of 1 to N");
    node->shape = (vug_shape){ 2, { logits->dim[0], 2 * count } };
    return VUG_OK;
}

/* The number of experts that a route chooses from; 0: the value is not a route. A backend
 * uses the indices of a route to read weights, so no other value may take its place. */
static int64_t experts_of(const vug_graph *g, vug_val route)
{
    while (g->node[route.id].op == VUG_OP_ROUTE_SCALE)
        route = g->node[route.id].in[0];
    const vug_node *router = &g->node[route.id];
    return router->op == VUG_OP_ROUTER ? shape_of(g, router, 0)->dim[1] : 0;
}

static vug_status shape_route(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *w = shape_of(g, node, 1);
    const int64_t n = experts_of(g, node->in[0]);
    if (n == 0 || w->rank != 1 || w->dim[0] != n)
        return fail_shapes(g, node, err, "a router's value and a weight [N]");
    node->shape = *shape_of(g, node, 0);
    return VUG_OK;
}

static vug_status shape_experts(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *route = shape_of(g, node, 1);
    const vug_shape *gate = shape_of(g, node, 2), *down = shape_of(g, node, 4);
    const int64_t n = experts_of(g, node->in[1]);
    const vug_op act = node->at.experts.activation;
    if (act != VUG_OP_GELU && act != VUG_OP_SILU)
        return vug_node_fail(node, err, "expected gelu or silu as activation");
    if (n == 0 || x->rank != 2 || route->dim[0] != x->dim[0])
        return fail_shapes(g, node, err, "[T,D] and a router's value of the same rows");
    if (gate->rank != 3 || gate->dim[0] != n || gate->dim[2] != x->dim[1] ||
        !vug_shape_equal(gate, shape_of(g, node, 3)) || down->rank != 3 || down->dim[0] != n ||
        down->dim[1] != x->dim[1] || down->dim[2] != gate->dim[1])
        return vug_node_fail(node, err,
                             "expected gate and up [N,F,D] and down [N,D,F] of the N experts "
                             "that the router chooses from");
    node->shape = *x;
    return VUG_OK;
}

static vug_status shape_host_experts(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *route = shape_of(g, node, 1);
    if (experts_of(g, node->in[1]) == 0 || x->rank != 2 || route->dim[0] != x->dim[0])
        return fail_shapes(g, node, err, "[T,D] and a router's value of the same rows");
    node->shape = *x;
    return VUG_OK;
}

/* ---- inference ----------------------------------------------------------- */

static shape_rule *const rules[VUG_OP_COUNT] = {
#define OP(id, name, class, by, operands, attrs, rule) [VUG_OP_##id] = shape_##rule,
#include "ir/ops.def"
#undef OP
};

/* Whether the bytes of the value can be counted when every symbol is 2^20. */
static bool is_countable(const vug_shape *s)
{
    uint64_t bytes = sizeof(float);
    for (int i = 0; i < s->rank; i++) {
        if (!vug_mul_size(bytes, s->dim[i] < 0 ? 1u << 20 : (uint64_t)s->dim[i], &bytes))
            return false;
    }
    return bytes <= INT64_MAX;
}

/* Only inputs may have the symbols P and S. */
vug_status vug_infer_shape(const vug_graph *g, vug_node *node, vug_err *err)
{
    VUG_TRY(rules[node->op](g, node, err));
    if (!is_countable(&node->shape))
        return vug_node_fail(node, err, "has more elements than can be counted");
    for (int i = 0; i < node->shape.rank && node->op != VUG_OP_INPUT; i++) {
        if (node->shape.dim[i] == VUG_DIM_P || node->shape.dim[i] == VUG_DIM_S)
            return vug_node_fail(node, err, "reads a past or a mask, which only attention can");
    }
    return VUG_OK;
}
