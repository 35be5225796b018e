#include "test.h"

#include "block_help.h"
#include "graph_help.h"

enum { SHIFT = 2 }; /* what addresses of weights are off alignment */

vug_val help_append(help_graph *m, vug_node node)
{
    vug_val out = { 0 };
    vug_err err;
    node.layer = m->layer;
    if (vug_graph_append(&m->graph, &node, &out, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return out;
}

vug_val help_op2(help_graph *m, vug_op op, vug_val a, vug_val b)
{
    return help_append(m, (vug_node){ .op = op, .in = { a, b } });
}

vug_val help_input(help_graph *m, vug_input which)
{
    return help_append(
            m, (vug_node){ .op = VUG_OP_INPUT,
                           .shape = { 1, { which == VUG_INPUT_ROWS ? VUG_DIM_R : VUG_DIM_T } },
                           .at.input = { .which = which } });
}

int help_add_weight(help_graph *m, vug_dtype dtype, int64_t rows, int64_t cols)
{
    const vug_matrix matrix = random_matrix(&m->r, dtype, rows, cols, SHIFT);
    m->weight[m->n_weights] = (vug_weight){ .name = "w",
                                            .dtype = dtype,
                                            .rows = rows,
                                            .columns = cols,
                                            .data = matrix.data,
                                            .scales = matrix.scales };
    return m->n_weights++;
}

vug_val help_weight(help_graph *m, int64_t rows, int64_t cols)
{
    static const vug_dtype plain[] = { VUG_DTYPE_BF16, VUG_DTYPE_F16, VUG_DTYPE_F32 };
    static const vug_dtype blocks[] = { VUG_DTYPE_Q4_0, VUG_DTYPE_BF16,   VUG_DTYPE_Q8_0,
                                        VUG_DTYPE_MLX4, VUG_DTYPE_IQ4_NL, VUG_DTYPE_F32,
                                        VUG_DTYPE_Q5_1, VUG_DTYPE_MLX_FP4 };
    const int next = m->n_weights;
    const vug_dtype dtype = m->blocks && cols % 64 == 0 ? blocks[next % 8] : plain[next % 3];
    const int slot = help_add_weight(m, dtype, rows ? rows : 1, cols);
    const vug_shape shape = rows ? (vug_shape){ 2, { rows, cols } } : (vug_shape){ 1, { cols } };
    return help_append(
            m, (vug_node){ .op = VUG_OP_PARAM, .shape = shape, .at.param = { slot, dtype } });
}

vug_val help_product(help_graph *m, vug_val x, int slot)
{
    const vug_weight *w = &m->weight[slot];
    const vug_val param = help_append(m, (vug_node){ .op = VUG_OP_PARAM,
                                                     .shape = { 2, { w->rows, w->columns } },
                                                     .at.param = { slot, w->dtype } });
    return help_op2(m, VUG_OP_LINEAR, x, param);
}

vug_val help_experts_weight(help_graph *m, vug_dtype dtype, int n, int64_t rows, int64_t cols)
{
    const int first = m->n_weights;
    for (int i = 0; i < n; i++)
        help_add_weight(m, dtype, rows, cols);
    return help_append(m, (vug_node){ .op = VUG_OP_PARAM,
                                      .shape = { 3, { n, rows, cols } },
                                      .at.param = { first, dtype } });
}

vug_val help_linear(help_graph *m, vug_val x, int64_t out, int64_t in)
{
    return help_op2(m, VUG_OP_LINEAR, x, help_weight(m, out, in));
}

vug_val help_heads(help_graph *m, vug_val x, int count)
{
    return help_append(m, (vug_node){ .op = VUG_OP_HEADS, .in = { x }, .at.heads = { count } });
}

void help_plan(help_graph *m, int64_t most)
{
    m->plan.offset = vug_alloc_zero(m->graph.n, sizeof(*m->plan.offset));
    assert_non_null(m->plan.offset);
    for (uint32_t i = 1; i < m->graph.n; i++) {
        const vug_node *node = &m->graph.node[i];
        m->plan.offset[i] = VUG_NO_OFFSET;
        if (node->op == VUG_OP_PARAM || node->op == VUG_OP_INPUT)
            continue;
        m->plan.offset[i] = m->plan.bytes;
        if (node->op == VUG_OP_HEADS || node->op == VUG_OP_MERGE)
            m->plan.offset[i] = m->plan.offset[node->in[0].id];
        else
            m->plan.bytes +=
                    ((uint64_t)vug_shape_elements(&node->shape, most, most) * 4 + 63) / 64 * 64;
    }
}

void help_graph_release(help_graph *m)
{
    for (int i = 0; i < m->n_weights; i++)
        block_weights_free(
                &(vug_matrix){ .data = m->weight[i].data, .scales = m->weight[i].scales }, SHIFT);
    vug_plan_release(&m->plan);
    vug_graph_release(&m->graph);
}

vug_val help_data(help_graph *m, vug_shape shape)
{
    return help_append(m, (vug_node){ .op = VUG_OP_INPUT,
                                      .shape = shape,
                                      .at.input = { .which = VUG_INPUT_DATA } });
}
