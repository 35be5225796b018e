/*
 * Compiling: a fused and planned graph becomes a list of steps. What the nodes
 * ask for is checked here, once, so that running a step cannot fail on it.
 */
#include <stdio.h>

#include "backend/cpu/program.h"

/*
 * What each input of an operation is: a value that an earlier node computed (x),
 * a weight (w), or one of the step's inputs: tokens (t), positions (p), rows (r),
 * data (d). Data will also do for a value.
 */
static const char *const operands[VUG_OP_COUNT] = {
    [VUG_OP_PARAM] = "",
    [VUG_OP_INPUT] = "",
    [VUG_OP_EMBED] = "wt",
    [VUG_OP_LINEAR] = "xw",
    [VUG_OP_RMS_NORM] = "xw",
    [VUG_OP_ROPE_TABLE] = "p",
    [VUG_OP_ROPE] = "xx",
    [VUG_OP_ATTENTION] = "xxx",
    [VUG_OP_ADD] = "xx",
    [VUG_OP_MUL] = "xx",
    [VUG_OP_GELU] = "x",
    [VUG_OP_SCALE] = "x",
    [VUG_OP_SOFTCAP] = "x",
    [VUG_OP_HEADS] = "x",
    [VUG_OP_MERGE] = "x",
    [VUG_OP_TAKE] = "xr",
    [VUG_OP_GEGLU] = "xx",
    [VUG_OP_ADD_NORM] = "xxw",
    [VUG_OP_NORM_ROPE] = "xwx",
    [VUG_OP_ATTENTION_MASK] = "xxxd",
    [VUG_OP_ATTENTION_PAST] = "xxxdd",
    [VUG_OP_ATTENTION_PAST_MASK] = "xxxddd",
    [VUG_OP_SILU] = "x",
    [VUG_OP_BIAS] = "xw",
    [VUG_OP_SWIGLU] = "xx",
    [VUG_OP_ROUTER] = "x",
    [VUG_OP_ROUTE_SCALE] = "xw",
    [VUG_OP_EXPERTS] = "xxwww",
    [VUG_OP_UNIT_NORM] = "x",
    [VUG_OP_UNPAIR] = "x",
    [VUG_OP_GAIN] = "xw",
    [VUG_OP_HEAD] = "x",
    [VUG_OP_ATTEND] = "x",
    [VUG_OP_ATTEND_MASK] = "xd",
};

static const vug_input input_of[128] = {
    ['t'] = VUG_INPUT_TOKENS,
    ['p'] = VUG_INPUT_POSITIONS,
    ['r'] = VUG_INPUT_ROWS,
    ['d'] = VUG_INPUT_DATA,
};

static vug_status refuse(const vug_node *node, vug_err *err, const char *why)
{
    return VUG_FAIL(err, VUG_UNSUPPORTED, "cpu: %s %s (layer %d): %s", vug_op_name(node->op),
                    node->name ? node->name : "", node->layer, why);
}

static bool is_operand(const vug_node *node, char kind)
{
    if (kind == 'w')
        return node->op == VUG_OP_PARAM;
    if (kind == 'x' && node->op != VUG_OP_INPUT)
        return node->op != VUG_OP_PARAM;
    if (kind == 'x')
        kind = 'd';
    return node->op == VUG_OP_INPUT && node->at.input.which == input_of[(int)kind];
}

/* A weight's last dimension. */
static int64_t columns_of(const vug_node *param)
{
    return param->shape.dim[param->shape.rank - 1];
}

/* What MLX writes: scales and biases of whole blocks of a row, exponents of single ones. */
static bool has_scales(const vug_weight *w)
{
    const vug_scales *s = &w->scales;
    if (!s->scale || s->rows != 1)
        return false;
    if (w->dtype == VUG_DTYPE_MLX_FP4)
        return s->dtype == VUG_DTYPE_E8M0 && !s->bias && s->columns == VUG_CPU_Q8;
    return s->dtype <= VUG_DTYPE_BF16 && s->bias && s->columns % VUG_CPU_Q8 == 0;
}

static bool is_computed_with(const vug_weight *w)
{
    const vug_dtype_info *info = vug_dtype_of(w->dtype);
    if (!info->block)
        return info->decode != NULL;
    return vug_cpu_layout_of(w->dtype) && (info->decode ? !w->scales.scale : has_scales(w));
}

static vug_status check_weight(const vug_program *p, const vug_node *node, vug_err *err)
{
    const vug_weight *w = &p->weight[node->at.param.slot];
    for (int64_t i = 0; i < vug_param_slots(node); i++) {
        const vug_dtype_info *info = vug_dtype_of(w[i].dtype);
        if (!is_computed_with(&w[i]))
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "cpu: tensor '%s' is %s, which is not computed with", w[i].name,
                            info->name);
        if (columns_of(node) % info->elements != 0)
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "cpu: tensor '%s' has rows of %lld elements, %s needs a multiple of %d",
                            w[i].name, (long long)columns_of(node), info->name, info->elements);
    }
    return VUG_OK;
}

/* Attention and TAKE count rows by the step, not by the shapes of what they read. */
static vug_status check_rows(const vug_program *p, const vug_node *node, vug_err *err)
{
    const int64_t rows = node->shape.dim[0];
    const bool mask = vug_op_has_mask(node->op);
    const bool attention = vug_op_is_attention(node->op), attend = vug_op_is_attend(node->op);
    if (node->op == VUG_OP_TAKE &&
        vug_graph_at(p->graph, node->in[0])->shape.dim[0] != p->token_dim)
        return refuse(node, err, "takes rows of a value that has no row for each token");
    if ((attention || mask) && rows != p->token_dim)
        return refuse(node, err, "needs a query for each token");
    if (attend && rows != p->token_dim && rows != p->row_dim)
        return refuse(node, err, "needs a query for each token, or for each row of outputs");
    if (mask && node->at.attn.window > 0)
        return refuse(node, err, "has a window, and a mask in place of it");
    if (attention && node->shape.dim[2] > VUG_CPU_MAX_HEAD)
        return refuse(node, err, "heads are wider than 4096");
    return VUG_OK;
}

static vug_status check_nodes(const vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        const char *kinds = operands[node->op];
        for (int j = 0; kinds[j]; j++) {
            if (!is_operand(vug_graph_at(g, node->in[j]), kinds[j]))
                return refuse(node, err, "an input is not of the kind it needs");
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

/* ---- weights of norms and biases ------------------------------------------ */

/* The input that is the weight of a row: of norms, biases, routes; 0: none. */
static int row_weight(vug_op op)
{
    switch (op) {
    case VUG_OP_ADD_NORM:
        return 2;
    case VUG_OP_RMS_NORM:
    case VUG_OP_NORM_ROPE:
    case VUG_OP_BIAS:
    case VUG_OP_ROUTE_SCALE:
        return 1;
    default:
        return 0;
    }
}

static vug_status convert_rows(vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    p->row_weight = vug_arena_alloc(&p->arena, g->n, sizeof(*p->row_weight));
    if (!p->row_weight)
        return VUG_FAIL_NOMEM(err, "the program", g->n * sizeof(*p->row_weight));
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        const int at = row_weight(node->op);
        if (at == 0)
            continue;
        const vug_node *param = vug_graph_at(g, node->in[at]);
        const vug_weight *w = &p->weight[param->at.param.slot];
        const size_t n = (size_t)param->shape.dim[0];
        float *out = vug_arena_alloc(&p->arena, n, sizeof(*out));
        if (!out)
            return VUG_FAIL_NOMEM(err, "the weights of norms and biases", n * sizeof(*out));
        const vug_matrix row = { w->dtype, w->data, param->shape.dim[0], w->scales };
        vug_matrix_decode(&row, 0, out);
        const bool plain = node->op == VUG_OP_BIAS || node->op == VUG_OP_ROUTE_SCALE;
        for (size_t k = 0; !plain && k < n; k++)
            out[k] += node->at.norm.bias;
        p->row_weight[i] = out;
        p->sizes.copied_bytes += n * sizeof(*out);
    }
    return VUG_OK;
}

/* ---- steps ---------------------------------------------------------------- */

static bool needs_no_work(vug_op op)
{
    return op == VUG_OP_PARAM || op == VUG_OP_INPUT || op == VUG_OP_HEADS || op == VUG_OP_MERGE;
}

/* Products of the same input that follow each other, with nothing computed in
 * between, become one job. Computing the later ones a little earlier is safe
 * for the plan, since no node between them gives up or takes memory. */
static void add_linears(const vug_graph *g, uint32_t first, vug_cpu_step *step)
{
    const uint32_t x = g->node[first].in[0].id;
    for (uint32_t i = first; i < g->n && step->n < VUG_CPU_MATRICES; i++) {
        const vug_node *node = &g->node[i];
        if (node->op == VUG_OP_LINEAR && node->in[0].id == x)
            step->node[step->n++] = i;
        else if (!needs_no_work(node->op))
            break;
    }
}

static vug_status make_steps(vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    p->step = vug_arena_alloc(&p->arena, g->n, sizeof(*p->step));
    if (!p->step)
        return VUG_FAIL_NOMEM(err, "the program", g->n * sizeof(*p->step));
    uint32_t done = 0; /* linear nodes up to here are in a step */
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_op op = g->node[i].op;
        if (needs_no_work(op) || (op == VUG_OP_LINEAR && i <= done))
            continue;
        vug_cpu_step *step = &p->step[p->n_steps++];
        if (op == VUG_OP_LINEAR) {
            add_linears(g, i, step);
            done = step->node[step->n - 1];
        } else {
            step->node[step->n++] = i;
        }
    }
    return VUG_OK;
}

/* ---- sizes ---------------------------------------------------------------- */

/* To whole lines of the cache. */
static int64_t to_lines(int64_t floats)
{
    return vug_cpu_round_up(floats, VUG_CPU_LINE);
}

/* The next part of a block, `n` items of `size` bytes from a cache line on; false when
 * they cannot be counted. */
static bool add_part(uint64_t n, uint64_t size, uint64_t *end, uint64_t *at)
{
    const uint64_t line = VUG_CPU_LINE * sizeof(float);
    uint64_t bytes;
    *at = *end;
    return vug_mul_size(n, size, &bytes) && vug_add_size(bytes, line - 1, &bytes) &&
           vug_add_size(*at, bytes / line * line, end);
}

static bool place_cache(vug_cpu_cache *c, uint64_t *end)
{
    uint64_t begin;
    if (!add_part(vug_cpu_cache_bytes(c), 1, end, &begin) || *end > INT64_MAX / 2)
        return false;
    c->k += begin;
    c->v += begin;
    return true;
}

/* The cache of an attention node, and what is kept of it in a state of windows. */
static bool place_caches(vug_program *p, const vug_node *node)
{
    const vug_attr_attn *attn = &node->at.attn;
    vug_cpu_cache *c = &p->cache[attn->layer], *kept = &p->kept[attn->layer];
    const vug_shape *k = &vug_graph_at(p->graph, node->in[1])->shape;
    if (!vug_cpu_cache_init(c, k, attn->window, p->plan->kv, &p->limits))
        return false;
    *kept = vug_cpu_cache_window(c, &p->limits);
    return place_cache(c, &p->sizes.state_bytes) && place_cache(kept, &p->sizes.windows_bytes);
}

/* Layers that read another one's cache. */
static void note_readers(const vug_program *p, vug_cache_size *size)
{
    for (uint32_t i = 1; i < p->graph->n; i++) {
        const vug_node *node = &p->graph->node[i];
        if (!vug_op_is_attend(node->op) || node->layer < 0 || p->cache[node->layer].slots > 0)
            continue;
        const vug_cache_size *source = &size[node->at.attn.layer];
        size[node->layer] =
                (vug_cache_size){ source->window, source->slots, 0, node->at.attn.layer };
    }
}

static vug_status size_caches(vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    const size_t n = (size_t)g->n_layers;
    p->cache = vug_arena_alloc(&p->arena, n, sizeof(*p->cache));
    p->kept = vug_arena_alloc(&p->arena, n, sizeof(*p->kept));
    vug_cache_size *size = vug_arena_alloc(&p->arena, n, sizeof(*size));
    if (!p->cache || !p->kept || !size)
        return VUG_FAIL_NOMEM(err, "the program", 2 * n * sizeof(*p->cache));
    p->sizes.cache = size;
    for (int i = 0; i < g->n_layers; i++)
        size[i].source = i;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (!vug_op_is_attention(node->op))
            continue;
        const int layer = node->at.attn.layer;
        if (layer < 0 || layer >= g->n_layers || p->cache[layer].slots > 0)
            return refuse(node, err, "each attention needs a layer of its own");
        if (!place_caches(p, node))
            return VUG_FAIL(err, VUG_LIMIT, "a context of %lld tokens is too large",
                            (long long)p->limits.context);
        const vug_cpu_cache *c = &p->cache[layer];
        size[layer] = (vug_cache_size){ c->window, c->slots, vug_cpu_cache_bytes(c), layer };

        const int64_t scratch = vug_cpu_attention_scratch(c->width);
        const int64_t partial = vug_cpu_attention_partial(c);
        p->scratch_floats = scratch > p->scratch_floats ? scratch : p->scratch_floats;
        p->shared_floats = partial > p->shared_floats ? partial : p->shared_floats;
    }
    note_readers(p, size);
    return VUG_OK;
}

static vug_cpu_env env_of(const vug_program *p)
{
    return (vug_cpu_env){ .kernels = p->device->kernels, .exact = p->plan->exact_activations };
}

static void make_room(int64_t *floats, uint64_t needed)
{
    *floats = (int64_t)needed > *floats ? (int64_t)needed : *floats;
}

static vug_status too_large(const vug_program *p, vug_err *err)
{
    return VUG_FAIL(err, VUG_LIMIT, "a step of %lld tokens needs too much memory",
                    (long long)p->limits.batch);
}

/* What jobs of matrix products need. */
static vug_status size_linears(vug_program *p, vug_err *err)
{
    const vug_cpu_env env = env_of(p);
    const vug_graph *g = p->graph;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const vug_cpu_step *step = &p->step[s];
        const vug_node *first = &g->node[step->node[0]];
        if (first->op != VUG_OP_LINEAR)
            continue;
        const vug_shape *x = &vug_graph_at(g, first->in[0])->shape;
        const int64_t in = columns_of(vug_graph_at(g, first->in[1]));
        vug_cpu_wishes wishes = { 0 };
        for (int i = 0; i < step->n; i++) {
            const vug_node *w = vug_graph_at(g, g->node[step->node[i]].in[1]);
            const vug_dtype dtype = p->weight[w->at.param.slot].dtype;
            vug_cpu_linear_wish(&env, dtype, &wishes);
            make_room(&p->scratch_floats, (uint64_t)vug_cpu_linear_scratch(&env, dtype, in));
        }
        const int64_t rows = vug_shape_elements(x, p->limits.batch, p->limits.rows) / in;
        uint64_t shared;
        if (!vug_cpu_linear_shared(&wishes, rows, 1, in, &shared))
            return too_large(p, err);
        make_room(&p->shared_floats, shared);
    }
    return VUG_OK;
}

/* Of all experts' weights of input `i` of a node. */
static void size_expert_scratch(vug_program *p, const vug_node *node, int i)
{
    const vug_cpu_env env = env_of(p);
    const vug_node *param = vug_graph_at(p->graph, node->in[i]);
    for (int64_t e = 0; e < vug_param_slots(param); e++)
        make_room(&p->scratch_floats,
                  (uint64_t)vug_cpu_linear_scratch(&env, p->weight[param->at.param.slot + e].dtype,
                                                   columns_of(param)));
}

static vug_status size_experts(vug_program *p, vug_err *err)
{
    const vug_cpu_env env = env_of(p);
    for (uint32_t i = 1; i < p->graph->n; i++) {
        const vug_node *node = &p->graph->node[i];
        if (node->op != VUG_OP_EXPERTS)
            continue;
        const vug_shape rows = { 1, { node->shape.dim[0] } };
        const vug_cpu_experts_job job =
                vug_cpu_experts_of(p->graph, node, p->weight,
                                   vug_shape_elements(&rows, p->limits.batch, p->limits.rows));
        uint64_t floats;
        if (!vug_cpu_experts_shared(&env, &job, &floats))
            return too_large(p, err);
        make_room(&p->shared_floats, floats);
        for (int w = 2; w < 5; w++)
            size_expert_scratch(p, node, w);
    }
    return VUG_OK;
}

static vug_status size_workspace(vug_program *p, vug_err *err)
{
    p->scratch_floats = to_lines(p->scratch_floats);
    p->shared_floats = to_lines(p->shared_floats);
    const uint64_t threads = (uint64_t)vug_pool_threads(p->device->pool);
    const uint64_t scratch = threads * (uint64_t)p->scratch_floats;
    const uint64_t batch = (uint64_t)p->limits.batch, rows = (uint64_t)p->limits.rows;
    uint64_t end = 0, values;
    if (!add_part(p->plan->bytes, 1, &end, &values) ||
        !add_part(scratch, sizeof(float), &end, &p->at.scratch) ||
        !add_part((uint64_t)p->shared_floats, sizeof(float), &end, &p->at.shared) ||
        !add_part(batch, sizeof(vug_cpu_range), &end, &p->at.seen) ||
        !add_part(batch, sizeof(int32_t), &end, &p->at.position) ||
        !add_part(rows, sizeof(vug_span), &end, &p->at.query))
        return too_large(p, err);
    p->sizes.workspace_bytes = end;
    p->sizes.program_bytes = sizeof(*p) + p->arena.held - p->sizes.copied_bytes;
    return VUG_OK;
}

/* ---- compile -------------------------------------------------------------- */

/* The first dimension of the step's tokens or of its rows of outputs: `symbol`, or in a
 * graph that was made for a fixed number of them, that number. */
static int64_t dim_of_step(const vug_graph *g, int64_t symbol)
{
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op == VUG_OP_INPUT && node->at.input.which != VUG_INPUT_DATA &&
            (node->at.input.which == VUG_INPUT_ROWS) == (symbol == VUG_DIM_R))
            return node->shape.dim[0];
    }
    return symbol;
}

static vug_status copy_weights(vug_program *p, const vug_weight *weight, vug_err *err)
{
    size_t n = 0;
    for (uint32_t i = 1; i < p->graph->n; i++) {
        const vug_node *node = &p->graph->node[i];
        if (node->op != VUG_OP_PARAM)
            continue;
        const size_t end = (size_t)node->at.param.slot + (size_t)vug_param_slots(node);
        n = end > n ? end : n;
    }
    p->weight = vug_arena_alloc(&p->arena, n, sizeof(*p->weight));
    if (!p->weight)
        return VUG_FAIL_NOMEM(err, "the program", n * sizeof(*p->weight));
    if (n > 0)
        memcpy(p->weight, weight, n * sizeof(*weight));
    return VUG_OK;
}

static vug_status build(vug_program *p, const vug_weight *weight, vug_err *err)
{
    VUG_TRY(copy_weights(p, weight, err));
    VUG_TRY(check_nodes(p, err));
    VUG_TRY(convert_rows(p, err));
    VUG_TRY(make_steps(p, err));
    VUG_TRY(size_caches(p, err));
    VUG_TRY(size_linears(p, err));
    VUG_TRY(size_experts(p, err));
    return size_workspace(p, err);
}

vug_status vug_cpu_compile(vug_device *device, const vug_graph *graph, const vug_plan *plan,
                           const vug_weight *weight, const vug_limits *limits, vug_program **out,
                           vug_err *err)
{
    if (limits->context < 1 || limits->batch < 1 || limits->rows < 0 || limits->batch > 1 << 20 ||
        limits->context > INT32_MAX)
        return VUG_FAIL(err, VUG_ARGUMENT, "cpu: context %lld, batch %lld, rows %lld",
                        (long long)limits->context, (long long)limits->batch,
                        (long long)limits->rows);
    vug_program *p = vug_alloc_zero(1, sizeof(*p));
    if (!p)
        return VUG_FAIL_NOMEM(err, "the program", sizeof(*p));
    p->device = device;
    p->graph = graph;
    p->plan = plan;
    p->limits = *limits;
    p->token_dim = dim_of_step(graph, VUG_DIM_T);
    p->row_dim = dim_of_step(graph, VUG_DIM_R);
    const vug_status st = build(p, weight, err);
    if (st != VUG_OK) {
        vug_cpu_release(p);
        return st;
    }
    *out = p;
    return VUG_OK;
}

void vug_cpu_release(vug_program *p)
{
    if (!p)
        return;
    vug_arena_release(&p->arena);
    vug_free(p);
}
