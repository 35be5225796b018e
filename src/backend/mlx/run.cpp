/* Running a step: the arrays of all nodes, and their evaluation. */
#include <chrono>

#include "backend/mlx/internal.h"

/* ---- workspace ------------------------------------------------------------------------------- */

/* Holds the outputs of the last step. */
struct vug_mlx_workspace {
    const vug_mlx_program *program;
    std::vector<mx::array> output;
};

vug_status vug_mlx_workspace_create(const vug_program *program, vug_workspace **out, vug_err *err)
{
    return vug_mlx_guard("creating the buffers of a step", err, [&] {
        auto *ws = new vug_mlx_workspace{
            .program = reinterpret_cast<const vug_mlx_program *>(program), .output = {}
        };
        *out = reinterpret_cast<vug_workspace *>(ws);
        return VUG_OK;
    });
}

void vug_mlx_workspace_destroy(vug_workspace *workspace)
{
    delete reinterpret_cast<vug_mlx_workspace *>(workspace);
}

/* ---- checks ----------------------------------------------------------------------------------- */

/* Pages of another layout would be read out of bounds. */
static vug_status check_kv(const vug_mlx_program *p, const vug_mlx_kv *kv, vug_err *err)
{
    const vug_kv_layout *layout = &p->kv_layout;
    if (layout->n_groups > 0 && !kv)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step lacks the cache of the graph");
    for (int g = 0; g < layout->n_groups; g++) {
        if ((size_t)g >= kv->group.size() || kv->format != layout->format ||
            kv->group[(size_t)g].page_bytes != vug_mlx_kv_page_bytes(nullptr, layout, g))
            return VUG_FAIL(err, VUG_ARGUMENT, "a step has a cache of another layout");
    }
    if (kv && kv->broken)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "mlx: the key/value cache is lost: an earlier step failed");
    return VUG_OK;
}

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
        return copy_input(s, node, s->in->token, mx::int32);
    case VUG_INPUT_POSITIONS:
        return copy_input(s, node, s->position.data(), mx::int32);
    case VUG_INPUT_ROWS:
        return copy_input(s, node, s->in->row, mx::int32);
    default:
        return copy_input(s, node, s->in->data[node->at.input.index], mx::float32);
    }
}

/* ---- the step ---------------------------------------------------------------------------------- */

/* A step of many tokens is evaluated attention by attention, so that it can be cancelled, and
 * needs no memory for the values of all layers at once. */
enum { TOKENS_TO_WAIT = 64 };

/* Evaluates `value` and everything that was written to the cache. */
static void evaluate(const vug_mlx_step *s, std::vector<mx::array> value)
{
    for (size_t g = 0; s->kv && g < s->kv->group.size(); g++) {
        for (const auto &part : s->kv->group[g].part) {
            if (part.array)
                value.push_back(*part.array);
        }
    }
    mx::eval(std::move(value));
}

static mx::array compute(const vug_mlx_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    if (node->op == VUG_OP_INPUT)
        return input(s, node);
    if (node->op == VUG_OP_ATTENTION)
        return vug_mlx_attention(s, id);
    return vug_mlx_compute(s, id);
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
static void compute_node(vug_mlx_step *s, uint32_t id)
{
    const vug_graph *g = s->program->graph;
    const vug_node *node = &g->node[id];
    const auto start = std::chrono::steady_clock::now();
    s->value[id] = compute(s, id);
    if (s->program->in_f16[id])
        s->f16[id] = vug_mlx_round_rows(s->program->device, *s->value[id]);
    if (s->in->cost && node->op != VUG_OP_INPUT) {
        evaluate(s, { *s->value[id] });
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        vug_op_cost *cost = &s->in->cost[node->op];
        const int rows = vug_mlx_shape_of(s, &node->shape)[0];
        cost->seconds += spent.count();
        vug_step_add_cost(g, s->program->weights->weight.data(), node, rows, cost);
    }
    drop_inputs(s, id);
}

static vug_status compute_nodes(vug_mlx_step *s, vug_err *err)
{
    const vug_graph *g = s->program->graph;
    const vug_cancel_token *cancel = s->in->cancel;
    s->value.resize(g->n);
    s->f16.resize(g->n);
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op == VUG_OP_PARAM)
            continue;
        compute_node(s, i);
        if (s->tokens < TOKENS_TO_WAIT || g->node[i].op != VUG_OP_ATTENTION)
            continue;
        evaluate(s, { *s->value[i] });
        if (cancel && vug_cancel_token_is_triggered(cancel))
            return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    }
    return VUG_OK;
}

static vug_status run_step(vug_mlx_step *s, vug_mlx_workspace *ws, const float **output,
                           vug_err *err)
{
    const vug_graph *g = s->program->graph;
    ws->output.clear();
    VUG_TRY(compute_nodes(s, err));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        ws->output.push_back(mx::contiguous(vug_mlx_value(s, g->output[i].value)));
    s->value.clear();
    s->f16.clear();
    evaluate(s, ws->output);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        output[i] = ws->output[i].data<float>();
    if (s->in->cancel && vug_cancel_token_is_triggered(s->in->cancel))
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    return VUG_OK;
}

vug_status vug_mlx_run(const vug_program *program, vug_workspace *workspace, const vug_step_in *in,
                       const float **output, vug_err *err)
{
    const auto *p = reinterpret_cast<const vug_mlx_program *>(program);
    auto *ws = reinterpret_cast<vug_mlx_workspace *>(workspace);
    auto *kv = reinterpret_cast<vug_mlx_kv *>(in->kv);
    vug_mlx_step s = {
        .program = p, .in = in, .kv = kv, .tokens = 0, .value = {}, .f16 = {}, .position = {}
    };
    VUG_TRY(vug_check_step(p->graph, &p->limits, in, &s.tokens, err));
    VUG_TRY(check_kv(p, kv, err));
    VUG_TRY(vug_check_masks(p->graph, in, err));
    bool finished = false;
    const vug_status st = vug_mlx_guard("a step", err, [&] {
        const vug_mlx_lock lock(p->device);
        s.position.resize((size_t)s.tokens);
        if (in->position)
            s.position.assign(in->position, in->position + s.tokens);
        else
            vug_step_positions(in, s.position.data());
        const vug_status result = run_step(&s, ws, output, err);
        finished = true;
        return result;
    });
    /* The arrays of the cache may depend on the failed computation. */
    if (!finished && kv)
        kv->broken = true;
    return st;
}
