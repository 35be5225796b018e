/* Experts that the CPU computes for a program on another device. */
#include "backend/host_experts.h"

#include "backend/checks.h"
#include "backend/cpu/program.h"

struct vug_host_experts {
    vug_cpu_experts_job *job; /* [n] with the most rows, without x, route and out */
    int n;
    vug_cpu_env env;
    uint8_t *block; /* of `bytes`: scratch, then what the threads share */
    uint64_t bytes;
    vug_arena arena;
};

/* ---- creating -------------------------------------------------------------------- */

static vug_status check_weights(const vug_device_weights *weights, const vug_graph *g,
                                const vug_node *node, vug_err *err)
{
    const char *kinds = vug_node_operands(node);
    for (int i = 0; kinds[i]; i++) {
        const vug_node *param = vug_graph_at(g, node->in[i]);
        if (kinds[i] != 'm')
            continue;
        VUG_TRY(vug_check_weight("cpu", param, weights->weight, weights->n, err));
        VUG_TRY(vug_cpu_check_format(weights, param, err));
    }
    return VUG_OK;
}

static vug_status find_jobs(vug_host_experts *experts, const vug_host_experts_spec *spec,
                            vug_err *err)
{
    const vug_graph *g = spec->graph;
    const vug_limits *limits = &spec->limits;
    experts->job = vug_arena_alloc(&experts->arena, g->n, sizeof(*experts->job));
    if (!experts->job)
        return VUG_FAIL_NOMEM(err, "the experts of a program", g->n * sizeof(*experts->job));
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op != VUG_OP_EXPERTS || node->layer < spec->first || node->layer >= spec->end)
            continue;
        VUG_TRY(check_weights(spec->weights, g, node, err));
        const vug_shape rows = { 1, { node->shape.dim[0] } };
        experts->job[experts->n++] =
                vug_cpu_make_experts_job(g, node, spec->weights->weight,
                                         vug_shape_elements(&rows, limits->batch, limits->rows));
    }
    return VUG_OK;
}

/* Jobs run one after the other, so that they have the memory of the largest. */
static vug_status allocate_block(vug_host_experts *experts, vug_err *err)
{
    vug_cpu_env *env = &experts->env;
    uint64_t shared = 0, scratch = 0, bytes;
    for (int i = 0; i < experts->n; i++) {
        const vug_cpu_experts_job *job = &experts->job[i];
        const uint64_t own = (uint64_t)vug_cpu_experts_scratch_floats(env, job);
        uint64_t floats;
        if (!vug_cpu_experts_shared_floats(env, job, &floats))
            return VUG_FAIL(err, VUG_LIMIT, "experts of %lld rows need too much memory",
                            (long long)job->rows);
        shared = floats > shared ? floats : shared;
        scratch = own > scratch ? own : scratch;
    }
    env->scratch_floats = vug_cpu_round_up((int64_t)scratch, VUG_CPU_CACHE_LINE);
    const uint64_t threads = (uint64_t)vug_pool_threads(env->pool);
    const uint64_t all = threads * (uint64_t)env->scratch_floats;
    if (!vug_add_size(all, shared, &bytes) || !vug_mul_size(bytes, sizeof(float), &bytes))
        return VUG_FAIL(err, VUG_LIMIT, "the experts of a step need too much memory");
    experts->block = vug_alloc_aligned(bytes);
    if (!experts->block)
        return VUG_FAIL_NOMEM(err, "the experts of a program", bytes);
    experts->bytes = bytes;
    env->scratch = (float *)(void *)experts->block;
    env->shared = env->scratch + all;
    return VUG_OK;
}

vug_status vug_host_experts_create(const vug_host_experts_spec *spec, vug_host_experts **out,
                                   vug_err *err)
{
    vug_host_experts *experts = vug_alloc_zero(1, sizeof(*experts));
    if (!experts)
        return VUG_FAIL_NOMEM(err, "the experts of a program", sizeof(*experts));
    experts->env = (vug_cpu_env){ .kernels = spec->cpu->kernels,
                                  .pool = spec->cpu->pool,
                                  .activations = spec->activations };
    vug_status st = find_jobs(experts, spec, err);
    if (st == VUG_OK)
        st = allocate_block(experts, err);
    if (st != VUG_OK) {
        vug_host_experts_destroy(experts);
        return st;
    }
    *out = experts;
    return VUG_OK;
}

void vug_host_experts_destroy(vug_host_experts *experts)
{
    if (!experts)
        return;
    vug_free(experts->block);
    vug_arena_release(&experts->arena);
    vug_free(experts);
}

uint64_t vug_host_experts_bytes(const vug_host_experts *experts)
{
    return experts ? experts->bytes : 0;
}

int vug_host_experts_count(const vug_host_experts *experts)
{
    return experts->n;
}

vug_status vug_check_host_experts(const char *device, const vug_graph *g, const vug_plan *plan,
                                  vug_err *err)
{
    const int n = plan->host_experts ? vug_host_experts_count(plan->host_experts) : 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op == VUG_OP_HOST_EXPERTS &&
            (node->at.host_experts.index < 0 || node->at.host_experts.index >= n))
            return vug_reject_node(device, node, err, "the host does not have these experts");
    }
    return VUG_OK;
}

vug_host_expert_weights vug_host_experts_weights(const vug_host_experts *experts, int index)
{
    const vug_cpu_experts_job *job = &experts->job[index];
    return (vug_host_expert_weights){
        .gate = job->gate, .up = job->up, .down = job->down, .n = job->n, .k = job->k
    };
}

/* ---- computing ------------------------------------------------------------------- */

/* The route comes from another device: an index that is wrong would read other memory. */
static vug_status check_route(const vug_cpu_experts_job *job, vug_err *err)
{
    for (int64_t r = 0; r < job->rows; r++) {
        for (int64_t j = 0; j < job->k; j++) {
            const float expert = job->route[r * 2 * job->k + j];
            if (!(expert >= 0 && expert < (float)job->n))
                return VUG_FAIL(err, VUG_UNSUPPORTED,
                                "experts: row %lld of the step has expert %g, there are %lld",
                                (long long)r, (double)expert, (long long)job->n);
        }
    }
    return VUG_OK;
}

vug_status vug_host_experts_compute(const vug_host_experts *experts, int index,
                                    const vug_host_experts_job *in, vug_err *err)
{
    vug_cpu_env env = experts->env;
    vug_cpu_experts_job job = experts->job[index];
    VUG_ASSERT(in->rows <= job.rows);
    env.cancel = in->cancel;
    job.rows = in->rows;
    job.x = in->x;
    job.route = in->route;
    job.out = in->out;
    VUG_TRY(check_route(&job, err));
    vug_pool_begin_round(env.pool);
    vug_cpu_experts(&env, &job);
    if (vug_is_cancelled(in->cancel)) /* some chunks may not have run */
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    vug_pool_end_round(env.pool, (int)in->rows);
    return VUG_OK;
}
