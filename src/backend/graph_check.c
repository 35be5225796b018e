/* The checks of a graph and its weights that do not depend on the device. */
#include "backend/checks.h"

/* The inputs that the operand letters of ops.def stand for. */
static const vug_input input_of[128] = {
    ['t'] = VUG_INPUT_TOKENS,
    ['p'] = VUG_INPUT_POSITIONS,
    ['r'] = VUG_INPUT_ROWS,
    ['d'] = VUG_INPUT_DATA,
};

vug_status vug_reject_node(const char *device, const vug_node *node, vug_err *err, const char *why)
{
    return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: %s %s (layer %d): %s", device, vug_op_name(node->op),
                    node->name ? node->name : "", node->layer, why);
}

/* Whether a node can be an operand of that kind. A data input can stand for a value. */
static bool is_operand(const vug_node *node, char kind)
{
    if (strchr("menv", kind))
        return node->op == VUG_OP_PARAM;
    if (kind == 'x' && node->op != VUG_OP_INPUT)
        return node->op != VUG_OP_PARAM;
    if (kind == 'x')
        kind = 'd';
    return node->op == VUG_OP_INPUT && node->at.input.which == input_of[(int)kind];
}

bool vug_weight_has_mlx_scales(const vug_weight *w)
{
    enum { BLOCK = 32 };
    const vug_scales *s = &w->scales;
    if (!s->scale || s->rows != 1)
        return false;
    if (w->dtype == VUG_DTYPE_MLX_FP4)
        return s->dtype == VUG_DTYPE_E8M0 && !s->bias && s->columns == BLOCK;
    return s->dtype <= VUG_DTYPE_BF16 && s->bias && s->columns % BLOCK == 0;
}

int64_t vug_graph_step_dim(const vug_graph *g, int64_t symbol)
{
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op == VUG_OP_INPUT && node->at.input.which != VUG_INPUT_DATA &&
            (node->at.input.which == VUG_INPUT_ROWS) == (symbol == VUG_DIM_R))
            return node->shape.dim[0];
    }
    return symbol;
}

/* What the checks of a node need. */
typedef struct {
    const char *device;
    const vug_graph *graph;
    int64_t token_dim, row_dim;
    const vug_weight *weight; /* [n_weights] */
    size_t n_weights;
} graph_check;

vug_status vug_check_weight(const char *device, const vug_node *node, const vug_weight *weight,
                            size_t n_weights, vug_err *err)
{
    const vug_shape *shape = &node->shape;
    const int64_t rows = shape->rank > 1 ? shape->dim[shape->rank - 2] : 1;
    const int64_t slot = node->at.param.slot, n = vug_param_slots(node);
    if (slot < 0 || (uint64_t)(slot + n) > n_weights)
        return vug_reject_node(device, node, err, "the device has no such weight");
    for (const vug_weight *w = weight + slot; w < weight + slot + n; w++) {
        if (!w->data || w->rows != rows || w->columns != shape->dim[shape->rank - 1])
            return vug_reject_node(device, node, err, "the device has a weight of another shape");
    }
    return VUG_OK;
}

/* Attention and GATHER take their number of rows from the step, not from their inputs. */
static vug_status check_rows(const graph_check *c, const vug_node *node, vug_err *err)
{
    const int64_t rows = node->shape.dim[0];
    const bool mask = vug_node_has_mask(node);
    const bool fills = vug_node_fills_cache(node), shares = vug_node_shares_cache(node);
    if (node->op == VUG_OP_GATHER &&
        vug_graph_at(c->graph, node->in[0])->shape.dim[0] != c->token_dim)
        return vug_reject_node(c->device, node, err,
                               "gathers rows of a value that does not have a row for each token");
    if ((fills || mask) && rows != c->token_dim)
        return vug_reject_node(c->device, node, err, "needs a query for each token");
    if (shares && rows != c->token_dim && rows != c->row_dim)
        return vug_reject_node(c->device, node, err,
                               "needs a query for each token or for each output row");
    if (mask && node->at.attn.window > 0)
        return vug_reject_node(c->device, node, err, "has both a window and a mask");
    return VUG_OK;
}

static vug_status check_node(const graph_check *c, const vug_node *node, vug_err *err)
{
    const char *kinds = vug_node_operands(node);
    for (int j = 0; kinds[j]; j++) {
        if (!is_operand(vug_graph_at(c->graph, node->in[j]), kinds[j]))
            return vug_reject_node(c->device, node, err, "an input is of the wrong kind");
    }
    if (node->op == VUG_OP_PARAM)
        VUG_TRY(vug_check_weight(c->device, node, c->weight, c->n_weights, err));
    return check_rows(c, node, err);
}

vug_status vug_check_graph(const char *device, const vug_graph *g, const vug_weight *weight,
                           size_t n_weights, vug_err *err)
{
    const graph_check c = { .device = device,
                            .graph = g,
                            .token_dim = vug_graph_step_dim(g, VUG_DIM_T),
                            .row_dim = vug_graph_step_dim(g, VUG_DIM_R),
                            .weight = weight,
                            .n_weights = n_weights };
    for (uint32_t i = 1; i < g->n; i++)
        VUG_TRY(check_node(&c, &g->node[i], err));
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const vug_node *node = vug_graph_at(g, g->output[i].value);
        if (node->op == VUG_OP_INPUT || !is_operand(node, 'x'))
            return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: output '%s' is not a computed value", device,
                            g->output[i].name);
    }
    return VUG_OK;
}

vug_status vug_check_limits(const char *device, const vug_limits *limits, vug_err *err)
{
    if (limits->context < 1 || limits->batch < 1 || limits->rows < 0 || limits->batch > 1 << 20 ||
        limits->context > INT32_MAX)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: context %lld, batch %lld, rows %lld", device,
                        (long long)limits->context, (long long)limits->batch,
                        (long long)limits->rows);
    return VUG_OK;
}
