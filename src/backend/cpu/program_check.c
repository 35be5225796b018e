/* What the CPU supports. Nodes, weights and outputs are checked once, when a graph is compiled,
 * so that running a step cannot fail on them. */
#include "backend/cpu/program.h"

#include "quant/matrix.h"

/* The inputs that the operand letters of ops.def stand for. */
static const vug_input input_of[128] = {
    ['t'] = VUG_INPUT_TOKENS,
    ['p'] = VUG_INPUT_POSITIONS,
    ['r'] = VUG_INPUT_ROWS,
    ['d'] = VUG_INPUT_DATA,
};

vug_status vug_cpu_reject_node(const vug_node *node, vug_err *err, const char *why)
{
    return VUG_FAIL(err, VUG_UNSUPPORTED, "cpu: %s %s (layer %d): %s", vug_op_name(node->op),
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

/* MLX formats have separate scales and biases, of one or more whole blocks of a row; MLX_FP4
 * has an exponent for each block. */
static bool has_mlx_scales(const vug_weight *w)
{
    const vug_scales *s = &w->scales;
    if (!s->scale || s->rows != 1)
        return false;
    if (w->dtype == VUG_DTYPE_MLX_FP4)
        return s->dtype == VUG_DTYPE_E8M0 && !s->bias && s->columns == VUG_CPU_Q8_BLOCK;
    return s->dtype <= VUG_DTYPE_BF16 && s->bias && s->columns % VUG_CPU_Q8_BLOCK == 0;
}

static bool is_supported_weight(const vug_cpu_kernels *kernels, const vug_weight *w)
{
    const vug_codec *codec = vug_codec_of(w->dtype);
    if (!codec->block)
        return codec->decode != NULL;
    return kernels->block[w->dtype] && (codec->decode ? !w->scales.scale : has_mlx_scales(w));
}

static vug_status check_weight(const vug_program *p, const vug_node *node, vug_err *err)
{
    const vug_shape *shape = &node->shape;
    const int64_t rows = shape->rank > 1 ? shape->dim[shape->rank - 2] : 1;
    const int64_t slot = node->at.param.slot, n = vug_param_slots(node);
    if (slot < 0 || (uint64_t)(slot + n) > p->weights->n)
        return vug_cpu_reject_node(node, err, "the device has no such weight");
    const vug_weight *w = &p->weight[slot];
    for (int64_t i = 0; i < n; i++) {
        const vug_dtype_info *info = vug_dtype_of(w[i].dtype);
        if (!w[i].data || w[i].rows != rows || w[i].columns != vug_cpu_last_dim(node))
            return vug_cpu_reject_node(node, err, "the device has a weight of another shape");
        if (!is_supported_weight(p->device->kernels, &w[i]))
            return VUG_FAIL(err, VUG_UNSUPPORTED, "cpu: tensor '%s' is %s, which is not supported",
                            w[i].name, info->name);
        if (vug_cpu_last_dim(node) % info->elements != 0)
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "cpu: tensor '%s' has rows of %lld elements, %s needs a multiple of %d",
                            w[i].name, (long long)vug_cpu_last_dim(node), info->name,
                            info->elements);
    }
    return VUG_OK;
}

/* Attention and GATHER take their number of rows from the step, not from their inputs. */
static vug_status check_rows(const vug_program *p, const vug_node *node, vug_err *err)
{
    const int64_t rows = node->shape.dim[0];
    const bool mask = vug_node_has_mask(node);
    const bool fills = vug_node_fills_cache(node), shares = vug_node_shares_cache(node);
    if (node->op == VUG_OP_GATHER &&
        vug_graph_at(p->graph, node->in[0])->shape.dim[0] != p->token_dim)
        return vug_cpu_reject_node(
                node, err, "gathers rows of a value that does not have a row for each token");
    if ((fills || mask) && rows != p->token_dim)
        return vug_cpu_reject_node(node, err, "needs a query for each token");
    if (shares && rows != p->token_dim && rows != p->row_dim)
        return vug_cpu_reject_node(node, err,
                                   "needs a query for each token or for each output row");
    if (mask && node->at.attn.window > 0)
        return vug_cpu_reject_node(node, err, "has both a window and a mask");
    if (fills && node->shape.dim[2] > VUG_CPU_MAX_HEAD)
        return vug_cpu_reject_node(node, err, "heads are wider than 4096 elements");
    return VUG_OK;
}

vug_status vug_cpu_check_nodes(const vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        const char *kinds = vug_node_operands(node);
        for (int j = 0; kinds[j]; j++) {
            if (!is_operand(vug_graph_at(g, node->in[j]), kinds[j]))
                return vug_cpu_reject_node(node, err, "an input is of the wrong kind");
        }
        if (node->op == VUG_OP_PARAM)
            VUG_TRY(check_weight(p, node, err));
        VUG_TRY(check_rows(p, node, err));
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const vug_node *node = vug_graph_at(g, g->output[i].value);
        if (node->op == VUG_OP_INPUT || !is_operand(node, 'x'))
            return VUG_FAIL(err, VUG_UNSUPPORTED, "cpu: output '%s' is not a computed value",
                            g->output[i].name);
    }
    return VUG_OK;
}
