/* Compiling: checks of the graph, the arrays of its weights, and the sizes of a step. */
#include <algorithm>

#include "backend/mlx/internal.h"

/* ---- weights ------------------------------------------------------------------------------ */

/* Norms add a number to their weight; their vectors include it. */
static mx::array with_bias(const vug_node *node, const mx::array &vector)
{
    const bool norm = node->op == VUG_OP_RMS_NORM || node->op == VUG_OP_ADD_NORM ||
                      node->op == VUG_OP_NORM_ROPE;
    if (!norm || node->at.norm.bias == 0)
        return vector;
    mx::array sum = mx::add(vector, mx::array(node->at.norm.bias));
    mx::eval(sum);
    return sum;
}

/* Experts round their input themselves. */
static void mark_f16_input(vug_mlx_program *p, const vug_node *node)
{
    if (node->op == VUG_OP_LINEAR && p->matrix[node->in[1].id]->f16)
        p->in_f16[node->in[0].id] = true;
}

static vug_status load_operands(vug_mlx_program *p, uint32_t id, vug_err *err)
{
    const vug_node *node = &p->graph->node[id];
    const char *kinds = vug_node_operands(node);
    for (int i = 0; kinds[i]; i++) {
        const vug_node *param = vug_graph_at(p->graph, node->in[i]);
        /* A table needs no copy: its rows are widened as they are read. */
        const vug_mlx_precision as_stored = { .f16 = false, .scales = true, .exact = false };
        if (kinds[i] == 'm' || kinds[i] == 'e')
            VUG_TRY(vug_mlx_load_matrix(p->weights, param,
                                        kinds[i] == 'm' ? p->precision : as_stored,
                                        &p->matrix[node->in[i].id], err));
        if (kinds[i] == 'n' || kinds[i] == 'v') {
            mx::array vector(0.0f);
            VUG_TRY(vug_mlx_load_vector(p->weights, param, &vector, err));
            p->vector[id] = with_bias(node, vector);
        }
    }
    if (p->precision.f16)
        mark_f16_input(p, node);
    return VUG_OK;
}

/* ---- sizes -------------------------------------------------------------------------------- */

static void find_lifetimes(vug_mlx_program *p)
{
    const vug_graph *g = p->graph;
    for (uint32_t i = 1; i < g->n; i++) {
        p->last[i] = i;
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++)
            p->last[g->node[i].in[k].id] = i;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        p->last[g->output[i].value.id] = g->n;
}

/* MLX allocates during a step. The plan's block, whose values live as long as MLX's, and the
 * largest value once more for what an operation needs meanwhile, are what it takes at most. */
static void size_step(vug_mlx_program *p)
{
    uint64_t largest = 0;
    for (uint32_t i = 1; i < p->graph->n; i++) {
        const vug_node *node = &p->graph->node[i];
        const auto n = (uint64_t)vug_shape_elements(&node->shape, p->limits.batch, p->limits.rows);
        if (node->op != VUG_OP_PARAM && node->op != VUG_OP_INPUT && n > largest)
            largest = n;
    }
    p->sizes.workspace_bytes = p->plan->bytes + 2 * largest * sizeof(float);
    p->sizes.program_bytes = sizeof(*p) + p->graph->n * (sizeof(void *) + sizeof(uint32_t) +
                                                         sizeof(std::optional<mx::array>));
}

/* ---- compile ------------------------------------------------------------------------------- */

static vug_status build_program(vug_mlx_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    VUG_TRY(vug_check_graph("mlx", g, p->weights->weight.data(), p->weights->weight.size(), err));
    VUG_TRY(vug_check_host_experts("mlx", g, p->plan, err));
    VUG_TRY(vug_mlx_check_budget(p->weights, g, p->precision, err));
    VUG_TRY(vug_kv_layout_init(&p->kv_layout, g, p->plan->kv, err));
    p->matrix.resize(g->n);
    p->vector.resize(g->n);
    p->last.resize(g->n);
    p->in_f16.resize(g->n);
    for (uint32_t i = 1; i < g->n; i++)
        VUG_TRY(load_operands(p, i, err));
    find_lifetimes(p);
    size_step(p);
    return VUG_OK;
}

vug_status vug_mlx_compile(vug_device_weights *weights, const vug_graph *graph,
                           const vug_plan *plan, const vug_limits *limits, vug_program **out,
                           vug_err *err)
{
    VUG_TRY(vug_check_limits("mlx", limits, err));
    vug_mlx_program *made = nullptr;
    const vug_status st = vug_mlx_guard("compiling a graph", err, [&] {
        made = new vug_mlx_program();
        made->weights = reinterpret_cast<vug_mlx_weights *>(weights);
        made->device = made->weights->device;
        made->graph = graph;
        made->plan = plan;
        made->limits = *limits;
        made->precision = vug_mlx_choose_precision(graph, plan->activations, made->device->gpu);
        made->token_dim = vug_graph_step_dim(graph, VUG_DIM_T);
        const vug_mlx_lock lock(made->device);
        made->number = made->device->programs++;
        return build_program(made, err);
    });
    if (st != VUG_OK) {
        vug_mlx_release(reinterpret_cast<vug_program *>(made));
        return st;
    }
    *out = reinterpret_cast<vug_program *>(made);
    return VUG_OK;
}

const char *vug_mlx_note(const vug_program *program)
{
    const auto *p = reinterpret_cast<const vug_mlx_program *>(program);
    const bool widens = std::any_of(p->matrix.begin(), p->matrix.end(), [](const auto *m) {
        return m && m->bits == 0 && m->data.dtype() != mx::float32;
    });
    return p->precision.exact && widens
                   ? "products are in F32, because attention does not scale its scores; "
                     "--activations bf16 is faster and less precise"
                   : nullptr;
}

void vug_mlx_release(vug_program *program)
{
    auto *p = reinterpret_cast<vug_mlx_program *>(program);
    if (!p)
        return;
    vug_kv_layout_release(&p->kv_layout);
    delete p;
}
