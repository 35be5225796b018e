/* Building a step: the arrays of all nodes. Nothing is computed here but in steps of many tokens. */
#include <chrono>

#include "backend/mlx/internal.h"

/* ---- inputs ------------------------------------------------------------------------------------ */

template <typename T>
static mx::array copy_input(const vug_mlx_step *s, const vug_node *node, const T *from,
                            mx::Dtype dtype)
{
    const mx::Shape shape = vug_mlx_shape_of(s, &node->shape);
    mx::array to = vug_mlx_new_array(shape, dtype);
    if (to.nbytes() > 0)
        memcpy(to.data<uint8_t>(), from, to.nbytes());
    return to;
}

static mx::array input(const vug_mlx_step *s, const vug_node *node)
{
    switch (node->at.input.which) {
    case VUG_INPUT_TOKENS:
        return s->token;
    case VUG_INPUT_POSITIONS:
        return copy_input(s, node, s->position.data(), mx::int32);
    case VUG_INPUT_ROWS:
        return copy_input(s, node, s->in->row, mx::int32);
    default:
        return copy_input(s, node, s->in->data[node->at.input.index], mx::float32);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------- */

/* Evaluates `value` and everything that was written to the cache. */
static void evaluate(const vug_mlx_step *s, const mx::array &value)
{
    std::vector<mx::array> all = { value };
    vug_mlx_add_cache_arrays(s->kv, &all);
    mx::eval(std::move(all));
}

/* Waits for what the host's experts need, and computes them. */
static vug_status compute_on_host(const vug_mlx_step *s, const vug_node *node, mx::array *out,
                                  vug_err *err)
{
    const mx::array x = mx::contiguous(vug_mlx_value(s, node->in[0]));
    const mx::array route = mx::contiguous(vug_mlx_value(s, node->in[1]));
    std::vector<mx::array> needed = { x, route };
    vug_mlx_add_cache_arrays(s->kv, &needed);
    mx::eval(std::move(needed));
    *out = vug_mlx_new_array(x.shape(), mx::float32);
    const vug_host_experts_job job = { .x = x.data<float>(),
                                       .route = route.data<float>(),
                                       .rows = x.shape(0),
                                       .cancel = s->in->cancel,
                                       .out = out->data<float>() };
    return vug_host_experts_compute(s->program->plan->host_experts, node->at.host_experts.index,
                                    &job, err);
}

static vug_status compute(const vug_mlx_step *s, uint32_t id, mx::array *out, vug_err *err)
{
    const vug_node *node = &s->program->graph->node[id];
    if (node->op == VUG_OP_HOST_EXPERTS)
        return compute_on_host(s, node, out, err);
    *out = node->op == VUG_OP_INPUT       ? input(s, node)
           : node->op == VUG_OP_ATTENTION ? vug_mlx_attention(s, id)
                                          : vug_mlx_compute(s, id);
    return VUG_OK;
}

/* Values that no later node reads are dropped, so that MLX can reuse their memory. */
static void drop_inputs(vug_mlx_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    for (int k = 0; k < vug_node_inputs(node); k++) {
        if (s->program->last[node->in[k].id] == id) {
            s->value[node->in[k].id].reset();
            s->f16[node->in[k].id].reset();
        }
    }
}

/* With costs, each node is evaluated alone and timed. */
static vug_status compute_node(vug_mlx_step *s, uint32_t id, vug_err *err)
{
    const vug_graph *g = s->program->graph;
    const vug_node *node = &g->node[id];
    const auto start = std::chrono::steady_clock::now();
    mx::array value(0.0f);
    VUG_TRY(compute(s, id, &value, err));
    s->value[id] = std::move(value);
    if (s->program->in_f16[id])
        s->f16[id] = vug_mlx_round_rows(s->program->device, *s->value[id]);
    if (s->in->cost && node->op != VUG_OP_INPUT) {
        evaluate(s, *s->value[id]);
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        vug_op_cost *cost = &s->in->cost[node->op];
        const int rows = vug_mlx_shape_of(s, &node->shape)[0];
        cost->seconds += spent.count();
        vug_step_add_cost(g, s->program->plan, s->program->weights->weight.data(), node, rows,
                          cost);
    }
    drop_inputs(s, id);
    return VUG_OK;
}

/* A step of many tokens is evaluated attention by attention, so that it can be cancelled, and
 * needs no memory for the values of all layers at once. */
static vug_status compute_nodes(vug_mlx_step *s, vug_err *err)
{
    const vug_graph *g = s->program->graph;
    const vug_cancel_token *cancel = s->in->cancel;
    s->value.resize(g->n);
    s->f16.resize(g->n);
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op == VUG_OP_PARAM)
            continue;
        VUG_TRY(compute_node(s, i, err));
        if (s->tokens < VUG_MLX_TOKENS_TO_WAIT || g->node[i].op != VUG_OP_ATTENTION)
            continue;
        evaluate(s, *s->value[i]);
        if (cancel && vug_cancel_token_is_triggered(cancel))
            return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    }
    return VUG_OK;
}

vug_status vug_mlx_build_step(vug_mlx_step *s, std::vector<mx::array> *output, vug_err *err)
{
    const vug_graph *g = s->program->graph;
    VUG_TRY(compute_nodes(s, err));
    output->clear();
    for (uint32_t i = 0; i < g->n_outputs; i++)
        output->push_back(mx::contiguous(vug_mlx_value(s, g->output[i].value)));
    s->value.clear();
    s->f16.clear();
    return VUG_OK;
}

vug_mlx_step vug_mlx_begin_step(const vug_mlx_program *program, const vug_step_in *in)
{
    int64_t tokens = 0;
    for (int i = 0; i < in->n_spans; i++)
        tokens += in->span[i].n;
    vug_mlx_step s = { .program = program,
                       .in = in,
                       .kv = reinterpret_cast<vug_mlx_kv *>(in->kv),
                       .tokens = tokens,
                       .token = vug_mlx_new_array({ (int)tokens }, mx::int32),
                       .value = {},
                       .f16 = {},
                       .position = std::vector<int32_t>((size_t)tokens) };
    memcpy(s.token.data<int32_t>(), in->token, s.token.nbytes());
    if (in->position)
        s.position.assign(in->position, in->position + tokens);
    else
        vug_step_positions(in, s.position.data());
    return s;
}
