/* The memory of a program: the layout of its key/value caches, and the scratch, shared and step
 * buffers of a workspace. All sizes are known when a graph is compiled. */
#include "backend/cpu/program.h"

/* ---- parts of a block -------------------------------------------------------- */

/* Rounded up to whole cache lines. */
static int64_t align_floats(int64_t floats)
{
    return vug_cpu_round_up(floats, VUG_CPU_CACHE_LINE);
}

/* Appends `n` items of `size` bytes to a block that ends at `end`, aligned to a cache line;
 * false on overflow. */
static bool add_part(uint64_t n, uint64_t size, uint64_t *end, uint64_t *at)
{
    const uint64_t line = VUG_CPU_CACHE_LINE * sizeof(float);
    uint64_t bytes;
    *at = *end;
    return vug_mul_size(n, size, &bytes) && vug_add_size(bytes, line - 1, &bytes) &&
           vug_add_size(*at, bytes / line * line, end);
}

static vug_status size_caches(vug_program *p, vug_err *err)
{
    const size_t n = (size_t)p->graph->n_layers;
    VUG_TRY(vug_kv_layout_init(&p->kv_layout, p->graph, p->plan->kv, err));
    p->cache = vug_arena_alloc(&p->arena, n, sizeof(*p->cache));
    if (!p->cache)
        return VUG_FAIL_NOMEM(err, "the program", n * sizeof(*p->cache));
    for (size_t i = 0; i < n; i++) {
        const vug_kv_place at = p->kv_layout.layer[i];
        vug_cpu_kv_cache *c = &p->cache[i];
        if (at.group < 0)
            continue;
        if (!vug_cpu_kv_cache_init(c, &p->kv_layout.group[at.group], at.index, p->plan->kv))
            return VUG_FAIL(err, VUG_LIMIT, "the key/value cache of layer %zu is too large", i);
        c->group = at.group;
        const int64_t scratch = vug_cpu_attention_scratch_floats(c->width);
        const int64_t partial = vug_cpu_attention_partial_floats(c, &p->limits);
        p->scratch_floats = scratch > p->scratch_floats ? scratch : p->scratch_floats;
        p->shared_floats = partial > p->shared_floats ? partial : p->shared_floats;
    }
    return VUG_OK;
}

/* ---- memory of jobs --------------------------------------------------------- */

/* Enough of an environment to ask for sizes. */
static vug_cpu_env sizing_env(const vug_program *p)
{
    return (vug_cpu_env){ .kernels = p->device->kernels, .activations = p->plan->activations };
}

static void require_floats(int64_t *floats, uint64_t needed)
{
    *floats = (int64_t)needed > *floats ? (int64_t)needed : *floats;
}

static vug_status too_large(const vug_program *p, vug_err *err)
{
    return VUG_FAIL(err, VUG_LIMIT, "a step of %lld tokens needs too much memory",
                    (long long)p->limits.batch);
}

/* The memory of products with the head's copy, and of making it. */
static vug_status size_head(vug_program *p, vug_err *err)
{
    const vug_cpu_env env = sizing_env(p);
    uint64_t shared;
    if (!p->screen)
        return VUG_OK;
    const vug_node *w = vug_graph_at(p->graph, p->graph->node[p->head].in[1]);
    const vug_weight *head = &p->weight[w->at.param.slot];
    if (!vug_cpu_head_shared_floats(head, p->limits.rows, &shared))
        return too_large(p, err);
    require_floats(&p->shared_floats, shared);
    require_floats(&p->scratch_floats,
                   (uint64_t)vug_cpu_linear_scratch_floats(&env, VUG_DTYPE_Q4_0, head->columns));
    require_floats(&p->scratch_floats, (uint64_t)vug_cpu_head_screen_scratch_floats(head->columns));
    return VUG_OK;
}

static vug_status size_linears(vug_program *p, vug_err *err)
{
    const vug_cpu_env env = sizing_env(p);
    const vug_graph *g = p->graph;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const vug_cpu_step *step = &p->step[s];
        const vug_node *first = &g->node[step->node[0]];
        if (first->op != VUG_OP_LINEAR)
            continue;
        const vug_shape *x = &vug_graph_at(g, first->in[0])->shape;
        const int64_t in = vug_cpu_last_dim(vug_graph_at(g, first->in[1]));
        vug_cpu_input_formats formats = { 0 };
        for (int i = 0; i < step->n; i++) {
            const vug_node *w = vug_graph_at(g, g->node[step->node[i]].in[1]);
            const vug_dtype dtype = p->weight[w->at.param.slot].dtype;
            vug_cpu_linear_add_input_format(&env, dtype, in, &formats);
            require_floats(&p->scratch_floats,
                           (uint64_t)vug_cpu_linear_scratch_floats(&env, dtype, in));
        }
        const int64_t rows = vug_shape_elements(x, p->limits.batch, p->limits.rows) / in;
        uint64_t shared;
        if (!vug_cpu_linear_shared_floats(&formats, rows, in, &shared))
            return too_large(p, err);
        require_floats(&p->shared_floats, shared);
    }
    return VUG_OK;
}

static vug_status size_experts(vug_program *p, vug_err *err)
{
    const vug_cpu_env env = sizing_env(p);
    for (uint32_t i = 1; i < p->graph->n; i++) {
        const vug_node *node = &p->graph->node[i];
        if (node->op != VUG_OP_EXPERTS)
            continue;
        const vug_shape rows = { 1, { node->shape.dim[0] } };
        const vug_cpu_experts_job job = vug_cpu_make_experts_job(
                p->graph, node, p->weight,
                vug_shape_elements(&rows, p->limits.batch, p->limits.rows));
        uint64_t floats;
        if (!vug_cpu_experts_shared_floats(&env, &job, &floats))
            return too_large(p, err);
        require_floats(&p->shared_floats, floats);
        require_floats(&p->scratch_floats, (uint64_t)vug_cpu_experts_scratch_floats(&env, &job));
    }
    return VUG_OK;
}

static vug_status size_workspace(vug_program *p, vug_err *err)
{
    p->scratch_floats = align_floats(p->scratch_floats);
    p->shared_floats = align_floats(p->shared_floats);
    const uint64_t threads = (uint64_t)vug_pool_threads(p->device->pool);
    const uint64_t scratch = threads * (uint64_t)p->scratch_floats;
    const uint64_t batch = (uint64_t)p->limits.batch, rows = (uint64_t)p->limits.rows;
    uint64_t end = 0, values;
    if (!add_part(p->plan->bytes, 1, &end, &values) ||
        !add_part(scratch, sizeof(float), &end, &p->layout.scratch) ||
        !add_part((uint64_t)p->shared_floats, sizeof(float), &end, &p->layout.shared) ||
        !add_part(batch, sizeof(vug_cpu_range), &end, &p->layout.visible) ||
        !add_part(batch, sizeof(int32_t), &end, &p->layout.position) ||
        !add_part(rows, sizeof(vug_span), &end, &p->layout.query))
        return too_large(p, err);
    p->sizes.workspace_bytes = end;
    p->sizes.program_bytes = sizeof(*p) + p->arena.held;
    return VUG_OK;
}

vug_status vug_cpu_size_memory(vug_program *p, vug_err *err)
{
    VUG_TRY(size_caches(p, err));
    VUG_TRY(size_linears(p, err));
    VUG_TRY(size_head(p, err));
    VUG_TRY(size_experts(p, err));
    return size_workspace(p, err);
}
