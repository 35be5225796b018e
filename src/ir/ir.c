/* The graph: appending with shape inference, and verification. */
#include "ir/ir.h"

#include <stdio.h>

/* Infers node->shape from the inputs and the attributes. */
typedef vug_status shape_rule(const vug_graph *g, vug_node *node, vug_err *err);

static const vug_shape *shape_of(const vug_graph *g, const vug_node *node, int i)
{
    return &g->node[node->in[i].id].shape;
}

/* "layer 3, attn_q (linear)" or "layer 3, add": where a graph author finds the node. */
static vug_status refuse(const vug_node *node, vug_err *err, const char *why)
{
    char where[64] = "";
    if (node->layer >= 0)
        (void)snprintf(where, sizeof(where), "layer %d, ", node->layer);
    if (!node->name)
        return VUG_FAIL(err, VUG_ARGUMENT, "graph: %s%s: %s", where, vug_op_name(node->op), why);
    return VUG_FAIL(err, VUG_ARGUMENT, "graph: %s%s (%s): %s", where, node->name,
                    vug_op_name(node->op), why);
}

static vug_status refuse_shapes(const vug_graph *g, const vug_node *node, vug_err *err,
                                const char *expected)
{
    char text[256], a[96], b[96];
    const int n = vug_op_inputs(node->op);
    (void)snprintf(text, sizeof(text), "inputs are %s%s%s, expected %s",
                   vug_shape_text(shape_of(g, node, 0), a), n > 1 ? " and " : "",
                   n > 1 ? vug_shape_text(shape_of(g, node, 1), b) : "", expected);
    return refuse(node, err, text);
}

/* ---- shape rules --------------------------------------------------------- */

/* An input's rows are any symbol but S, which only a mask's columns are. */
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
        return refuse(node, err, "has no declared shape");
    for (int i = 0; i < s->rank; i++) {
        const bool symbol = node->op == VUG_OP_INPUT && is_symbol(s->dim[i], i);
        if (!symbol && s->dim[i] < 1)
            return refuse(node, err, "has a dimension below 1");
    }
    return VUG_OK;
}

static vug_status shape_like_in0(const vug_graph *g, vug_node *node, vug_err *err)
{
    node->shape = *shape_of(g, node, 0);
    if (node->op == VUG_OP_UNPAIR && node->shape.dim[node->shape.rank - 1] % 2 != 0)
        return refuse_shapes(g, node, err, "an even width");
    if (node->op != VUG_OP_RMS_NORM && node->op != VUG_OP_BIAS)
        return VUG_OK;
    const vug_shape *w = shape_of(g, node, 1);
    if (w->rank != 1 || w->dim[0] != node->shape.dim[node->shape.rank - 1])
        return refuse_shapes(g, node, err, "[...,D] and a weight [D]");
    return VUG_OK;
}

static vug_status shape_same(const vug_graph *g, vug_node *node, vug_err *err)
{
    node->shape = *shape_of(g, node, 0);
    if (!vug_shape_equal(&node->shape, shape_of(g, node, 1)))
        return refuse_shapes(g, node, err, "equal shapes");
    return VUG_OK;
}

static vug_status shape_add_norm(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *w = shape_of(g, node, 2);
    VUG_TRY(shape_same(g, node, err));
    if (w->rank != 1 || w->dim[0] != node->shape.dim[node->shape.rank - 1])
        return refuse(node, err, "the norm's weight does not match the last dimension");
    return VUG_OK;
}

static vug_status shape_embed(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *table = shape_of(g, node, 0), *ids = shape_of(g, node, 1);
    if (table->rank != 2 || ids->rank != 1)
        return refuse_shapes(g, node, err, "a table [V,D] and tokens [T]");
    node->shape = (vug_shape){ 2, { ids->dim[0], table->dim[1] } };
    return VUG_OK;
}

static vug_status shape_linear(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *w = shape_of(g, node, 1);
    if (x->rank != 2 || w->rank != 2 || x->dim[1] != w->dim[1])
        return refuse_shapes(g, node, err, "[T,in] and a weight [out,in]");
    node->shape = (vug_shape){ 2, { x->dim[0], w->dim[0] } };
    return VUG_OK;
}

static vug_status shape_table(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *pos = shape_of(g, node, 0);
    const int dims = node->at.table.dims;
    if (pos->rank != 1 || dims < 2 || dims % 2 != 0 || !node->at.table.inv)
        return refuse(node, err,
                      "expected positions [T], an even number of dimensions and half as many "
                      "frequencies");
    node->shape = (vug_shape){ 2, { pos->dim[0], dims } };
    return VUG_OK;
}

static vug_status rope_shape(const vug_graph *g, vug_node *node, int table_input, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *table = shape_of(g, node, table_input);
    if (x->rank != 3 || table->rank != 2 || table->dim[0] != x->dim[0] || table->dim[1] > x->dim[2])
        return refuse_shapes(g, node, err, "[T,H,E] and a table [T,dims] with dims <= E");
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
        return refuse_shapes(g, node, err, "[T,H,E] and a norm weight [E]");
    return VUG_OK;
}

/* The attention that fills the cache of `layer`; NULL: none does. */
static const vug_node *find_cache(const vug_graph *g, int layer)
{
    for (uint32_t i = 1; i < g->n; i++) {
        if (vug_op_is_attention(g->node[i].op) && g->node[i].at.attn.layer == layer)
            return &g->node[i];
    }
    return NULL;
}

static vug_status shape_attention(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *q = shape_of(g, node, 0), *k = shape_of(g, node, 1);
    if (q->rank != 3 || k->rank != 3 || !vug_shape_equal(k, shape_of(g, node, 2)) ||
        q->dim[0] != k->dim[0] || q->dim[2] != k->dim[2] || q->dim[1] % k->dim[1] != 0)
        return refuse_shapes(g, node, err, "q [T,H,E], k and v [T,K,E] with H a multiple of K");
    if (node->at.attn.layer < 0 || node->at.attn.window < 0)
        return refuse(node, err, "needs a layer and a window that is not negative");
    if (find_cache(g, node->at.attn.layer))
        return refuse(node, err, "is the second of its layer, which has one cache");
    node->shape = *q;
    return VUG_OK;
}

/* The mask is input `i`. */
static vug_status check_mask(const vug_graph *g, const vug_node *node, int i, vug_err *err)
{
    const vug_shape *mask = shape_of(g, node, i);
    char text[160], shape[96];
    if (mask->rank == 2 && mask->dim[0] == node->shape.dim[0])
        return VUG_OK;
    (void)snprintf(text, sizeof(text), "the mask is %s, expected [T,S], a row for each query",
                   vug_shape_text(mask, shape));
    return refuse(node, err, text);
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
    return refuse(node, err, text);
}

static vug_status shape_attention_mask(const vug_graph *g, vug_node *node, vug_err *err)
{
    VUG_TRY(shape_attention(g, node, err));
    return check_mask(g, node, 3, err);
}

static vug_status shape_attention_past(const vug_graph *g, vug_node *node, vug_err *err)
{
    VUG_TRY(shape_attention(g, node, err));
    return check_past(g, node, err);
}

static vug_status shape_attention_past_mask(const vug_graph *g, vug_node *node, vug_err *err)
{
    VUG_TRY(shape_attention_past(g, node, err));
    return check_mask(g, node, 5, err);
}

static vug_status shape_gain(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *w = shape_of(g, node, 1);
    if (w->rank != 1 || w->dim[0] != 1)
        return refuse_shapes(g, node, err, "any value and a weight [1]");
    node->shape = *shape_of(g, node, 0);
    return VUG_OK;
}

static vug_status shape_head(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0);
    if (x->rank != 3 || node->at.head.index < 0 || node->at.head.index >= x->dim[1])
        return refuse_shapes(g, node, err, "[T,H,E] and the index of a head below H");
    node->shape = (vug_shape){ 2, { x->dim[0], x->dim[2] } };
    return VUG_OK;
}

static vug_status shape_attend(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *q = shape_of(g, node, 0);
    const vug_attr_attn *at = &node->at.attn;
    const vug_node *source = find_cache(g, at->layer);
    char why[96];
    (void)snprintf(why, sizeof(why), "no earlier attention fills the cache of layer %d", at->layer);
    if (!source)
        return refuse(node, err, why);
    const vug_shape *k = shape_of(g, source, 1);
    (void)snprintf(why, sizeof(why), "the cache of layer %d has %lld heads of %lld and window %lld",
                   at->layer, (long long)k->dim[1], (long long)k->dim[2],
                   (long long)source->at.attn.window);
    if (q->rank != 3 || q->dim[2] != k->dim[2] || q->dim[1] % k->dim[1] != 0 ||
        at->window != source->at.attn.window)
        return refuse(node, err, why);
    node->shape = *q;
    return VUG_OK;
}

static vug_status shape_attend_mask(const vug_graph *g, vug_node *node, vug_err *err)
{
    VUG_TRY(shape_attend(g, node, err));
    return check_mask(g, node, 1, err);
}

static vug_status shape_heads(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0);
    const int64_t count = node->at.heads.count;
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "[T,H*E], the width a multiple of %lld heads",
                   (long long)count);
    if (x->rank != 2 || count < 1 || x->dim[1] % count != 0)
        return refuse_shapes(g, node, err, expected);
    node->shape = (vug_shape){ 3, { x->dim[0], count, x->dim[1] / count } };
    return VUG_OK;
}

static vug_status shape_merge(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0);
    if (x->rank != 3)
        return refuse_shapes(g, node, err, "[T,H,E]");
    node->shape = (vug_shape){ 2, { x->dim[0], x->dim[1] * x->dim[2] } };
    return VUG_OK;
}

static vug_status shape_take(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *x = shape_of(g, node, 0), *rows = shape_of(g, node, 1);
    if (x->rank != 2 || rows->rank != 1)
        return refuse_shapes(g, node, err, "[T,D] and rows [R]");
    node->shape = (vug_shape){ 2, { rows->dim[0], x->dim[1] } };
    return VUG_OK;
}

static vug_status shape_router(const vug_graph *g, vug_node *node, vug_err *err)
{
    const vug_shape *logits = shape_of(g, node, 0);
    const int64_t count = node->at.router.count;
    /* Indices are kept as F32, which counts no further. */
    if (logits->rank != 2 || count < 1 || count > logits->dim[1] || logits->dim[1] > 1 << 24)
        return refuse_shapes(g, node, err, "[T,N] with N up to 2^24 and a choice of 1 to N");
    node->shape = (vug_shape){ 2, { logits->dim[0], 2 * count } };
    return VUG_OK;
}

/* How many experts a route chooses from; 0: the value is no route. A backend reads
 * weights where a route points to, so any other value is refused. */
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
        return refuse_shapes(g, node, err, "a router's value and a weight [N]");
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
        return refuse(node, err, "expected gelu or silu as activation");
    if (n == 0 || x->rank != 2 || route->dim[0] != x->dim[0])
        return refuse_shapes(g, node, err, "[T,D] and a router's value of the same rows");
    if (gate->rank != 3 || gate->dim[0] != n || gate->dim[2] != x->dim[1] ||
        !vug_shape_equal(gate, shape_of(g, node, 3)) || down->rank != 3 || down->dim[0] != n ||
        down->dim[1] != x->dim[1] || down->dim[2] != gate->dim[1])
        return refuse(node, err,
                      "expected gate and up [N,F,D] and down [N,D,F] of the N experts "
                      "that the router chooses from");
    node->shape = *x;
    return VUG_OK;
}

/* ---- operations ---------------------------------------------------------- */

static const struct {
    const char *name;
    int inputs;
    shape_rule *infer;
} op_info[VUG_OP_COUNT] = {
#define OP(id, name, n_in, attrs, rule) [VUG_OP_##id] = { #name, n_in, shape_##rule },
#include "ir/ops.def"
#undef OP
};

const char *vug_op_name(vug_op op)
{
    return op_info[op].name;
}

int vug_op_inputs(vug_op op)
{
    return op_info[op].inputs;
}

/* ---- shapes -------------------------------------------------------------- */

int64_t vug_shape_elements(const vug_shape *shape, int64_t tokens, int64_t rows)
{
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t d = shape->dim[i];
        n *= d == VUG_DIM_T ? tokens : d == VUG_DIM_R ? rows : d;
    }
    return n;
}

bool vug_shape_equal(const vug_shape *a, const vug_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i])
            return false;
    }
    return true;
}

const char *vug_shape_text(const vug_shape *shape, char *buffer)
{
    enum { SIZE = 96 };
    int at = 0;
    buffer[at++] = '[';
    for (int i = 0; i < shape->rank; i++) {
        const char *comma = i ? "," : "";
        if (shape->dim[i] < 0)
            at += snprintf(buffer + at, (size_t)(SIZE - at), "%s%c", comma,
                           shape->dim[i] < VUG_DIM_S ? '?' : "?TRPS"[-shape->dim[i]]);
        else
            at += snprintf(buffer + at, (size_t)(SIZE - at), "%s%lld", comma,
                           (long long)shape->dim[i]);
    }
    (void)snprintf(buffer + at, (size_t)(SIZE - at), "]");
    return buffer;
}

/* ---- building ------------------------------------------------------------ */

void vug_graph_release(vug_graph *g)
{
    vug_free(g->node);
    vug_free(g->output);
    vug_arena_release(&g->arena);
    *g = (vug_graph){ 0 };
}

/* Room for one more element of an array that doubles up to `max`. */
static void *grow(void *array, uint32_t n, uint32_t *cap, uint32_t max, size_t size)
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
    for (int i = 0; i < VUG_MAX_INPUTS; i++) {
        const bool wanted = i < op_info[node->op].inputs;
        const bool given = node->in[i].id != 0;
        if (wanted != given || node->in[i].id >= before) {
            char why[64];
            (void)snprintf(why, sizeof(why), "input %d is %s", i,
                           wanted ? "missing or not yet defined" : "one too many");
            return refuse(node, err, why);
        }
    }
    return VUG_OK;
}

/* The bytes of every value can be counted; 2^20 stands for a symbol. */
static bool is_countable(const vug_shape *s)
{
    uint64_t bytes = sizeof(float);
    for (int i = 0; i < s->rank; i++) {
        if (!vug_mul_size(bytes, s->dim[i] < 0 ? 1u << 20 : (uint64_t)s->dim[i], &bytes))
            return false;
    }
    return bytes <= INT64_MAX;
}

/* P and S are of inputs alone: no computed value has them. */
static vug_status infer_shape(const vug_graph *g, vug_node *node, vug_err *err)
{
    VUG_TRY(op_info[node->op].infer(g, node, err));
    if (!is_countable(&node->shape))
        return refuse(node, err, "has more elements than can be counted");
    for (int i = 0; i < node->shape.rank && node->op != VUG_OP_INPUT; i++) {
        if (node->shape.dim[i] == VUG_DIM_P || node->shape.dim[i] == VUG_DIM_S)
            return refuse(node, err, "reads a past or a mask, which only attention can");
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
    vug_node *grown = grow(g->node, g->n + 1, &g->cap, VUG_MAX_NODES + 1, sizeof(*grown));
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
    VUG_TRY(infer_shape(g, &n, err));
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
        return VUG_FAIL(err, VUG_ARGUMENT, "graph: output '%s' is no value of the graph", name);
    if (g->n_outputs == VUG_MAX_OUTPUTS)
        return VUG_FAIL(err, VUG_LIMIT, "graph: more than %d outputs", VUG_MAX_OUTPUTS);
    vug_output *grown =
            grow(g->output, g->n_outputs, &g->cap_outputs, VUG_MAX_OUTPUTS, sizeof(*grown));
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
        /* A cache is read behind the node that fills it: what comes later does not count. */
        const vug_graph before = { .node = g->node, .n = i };
        VUG_TRY(infer_shape(&before, &copy, err));
        if (!vug_shape_equal(&copy.shape, &g->node[i].shape))
            return refuse(&g->node[i], err, "its shape is not what its inputs give");
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->output[i].value.id == 0 || g->output[i].value.id >= g->n)
            return VUG_FAIL(err, VUG_ARGUMENT, "graph: output '%s' is no value of the graph",
                            g->output[i].name);
    }
    return VUG_OK;
}
