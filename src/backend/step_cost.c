/* What the nodes of a step read and compute, from which the limit of their speed follows. */
#include "backend/checks.h"
#include "backend/host_experts.h"

static double weight_bytes(const vug_weight *w)
{
    const vug_scales *s = &w->scales;
    const double bytes = (double)w->rows * (double)vug_dtype_row(w->dtype, w->columns);
    if (!s->scale)
        return bytes;
    const int64_t rows = (w->rows + s->rows - 1) / s->rows;
    return bytes +
           (double)(rows * s->stride) * (double)vug_dtype_row(s->dtype, 1) * (s->bias ? 2 : 1);
}

/* Adds `rows` products with `n` matrices like `w`, each row with one of them. */
static void add_products(const vug_weight *w, int64_t n, int64_t rows, vug_op_cost *to)
{
    to->weight_bytes += rows > 0 ? (double)n * weight_bytes(w) : 0;
    to->flop += 2 * (double)rows * (double)w->rows * (double)w->columns;
}

/* Adds `rows` products with `k` of `n` experts' matrices like `w`. Rows may share experts, so that fewer may be
 * read. */
static void add_expert_products(const vug_weight *w, int64_t n, int64_t k, int64_t rows,
                                vug_op_cost *to)
{
    const int64_t chosen = rows * k;
    add_products(w, chosen < n ? chosen : n, chosen, to);
}

static void add_host_experts(const vug_host_expert_weights *w, int64_t rows, vug_op_cost *to)
{
    add_expert_products(w->gate, w->n, w->k, rows, to);
    add_expert_products(w->up, w->n, w->k, rows, to);
    add_expert_products(w->down, w->n, w->k, rows, to);
}

void vug_step_add_cost(const vug_graph *graph, const vug_plan *plan, const vug_weight *weight,
                       const vug_node *node, int64_t rows, vug_op_cost *to)
{
    to->runs++;
    if (node->op == VUG_OP_LINEAR)
        add_products(&weight[vug_graph_at(graph, node->in[1])->at.param.slot], 1, rows, to);
    if (node->op == VUG_OP_HOST_EXPERTS) {
        const vug_host_expert_weights w =
                vug_host_experts_weights(plan->host_experts, node->at.host_experts.index);
        add_host_experts(&w, rows, to);
    }
    for (int i = 2; node->op == VUG_OP_EXPERTS && i < 5; i++) {
        const vug_node *param = vug_graph_at(graph, node->in[i]);
        add_expert_products(&weight[param->at.param.slot], vug_param_slots(param),
                            vug_graph_at(graph, node->in[1])->shape.dim[1] / 2, rows, to);
    }
}
