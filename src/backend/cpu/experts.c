/*
 * Mixture of experts. Only the chosen experts run, and only their weights are read. The pairs
 * of a row and one of its experts are sorted by expert. All gate and up products are then one
 * grouped job of linear.c and all down products a second one, so each expert's weights are
 * read once for all of its rows. Finally each row adds the outputs of its experts in the order
 * of its own route, so its result does not depend on other rows.
 */
#include "backend/cpu/cpu.h"

enum { LINE = VUG_CPU_CACHE_LINE, CHUNK = VUG_CPU_CHUNK_ELEMENTS };

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_experts_job *job;
    int64_t pairs;
    int32_t *row;         /* [pairs], sorted by expert: the row of x */
    int32_t *pair;        /* [rows,k]: the pair of a row and its j-th expert */
    int32_t *start;       /* [n]: the next pair of each expert, while sorting */
    float *gate, *up, *y; /* [pairs,F], [pairs,F], [pairs,D] */
    vug_cpu_row_group *group;
    vug_cpu_projection *projection; /* [groups,3]: gate, up, down */
    int64_t n_groups;
    vug_cpu_work_queue queue;
} experts_run;

/* The weights that are input `i`, one per expert. */
static const vug_weight *weights_of(const vug_graph *g, const vug_node *node,
                                    const vug_weight *weight, int i)
{
    return &weight[vug_graph_at(g, node->in[i])->at.param.slot];
}

vug_cpu_experts_job vug_cpu_make_experts_job(const vug_graph *g, const vug_node *node,
                                             const vug_weight *weight, int64_t rows)
{
    const vug_shape *route = &vug_graph_at(g, node->in[1])->shape;
    const vug_shape *gate = &vug_graph_at(g, node->in[2])->shape;
    return (vug_cpu_experts_job){ .rows = rows,
                                  .width = gate->dim[2],
                                  .n = gate->dim[0],
                                  .k = route->dim[1] / 2,
                                  .hidden = gate->dim[1],
                                  .gate = weights_of(g, node, weight, 2),
                                  .up = weights_of(g, node, weight, 3),
                                  .down = weights_of(g, node, weight, 4),
                                  .activation = node->at.experts.activation };
}

/* ---- memory --------------------------------------------------------------- */

/* Reserves `n` items of `size` bytes, rounded up to cache lines; `at` counts floats. */
static bool reserve(uint64_t *at, uint64_t n, uint64_t size)
{
    uint64_t bytes;
    if (!vug_mul_size(n, size, &bytes) || bytes > INT64_MAX / 2)
        return false;
    return vug_add_size(*at, (bytes + LINE * sizeof(float) - 1) / (LINE * sizeof(float)) * LINE,
                        at);
}

/* Where each table begins in shared memory, in floats. linear.c uses the beginning. */
typedef struct {
    uint64_t gate, up, y, row, pair, start, group, projection, end;
} experts_layout;

/* The shared memory of the larger of the two grouped jobs. */
static bool linear_floats(const vug_cpu_env *env, const vug_cpu_experts_job *job, int64_t pairs,
                          uint64_t *floats)
{
    vug_cpu_input_formats in = { 0 }, down = { 0 };
    uint64_t down_floats;
    for (int64_t e = 0; e < job->n; e++) {
        vug_cpu_linear_add_input_format(env, job->gate[e].dtype, job->width, &in);
        vug_cpu_linear_add_input_format(env, job->up[e].dtype, job->width, &in);
        vug_cpu_linear_add_input_format(env, job->down[e].dtype, job->hidden, &down);
    }
    if (!vug_cpu_linear_shared_floats(&in, pairs, job->width, floats) ||
        !vug_cpu_linear_shared_floats(&down, pairs, job->hidden, &down_floats))
        return false;
    *floats = down_floats > *floats ? down_floats : *floats;
    return true;
}

static bool lay_out(const vug_cpu_env *env, const vug_cpu_experts_job *job, experts_layout *out)
{
    uint64_t pairs, at = 0;
    const uint64_t width = (uint64_t)job->width, hidden = (uint64_t)job->hidden;
    const uint64_t n = (uint64_t)job->n;
    if (!vug_mul_size((uint64_t)job->rows, (uint64_t)job->k, &pairs) || pairs > INT32_MAX)
        return false;
    const uint64_t groups = pairs < n ? pairs : n;
    uint64_t linear;
    if (!linear_floats(env, job, (int64_t)pairs, &linear))
        return false;
    bool fits = reserve(&at, linear, sizeof(float));
    out->gate = at;
    fits = fits && reserve(&at, pairs, hidden * sizeof(float));
    out->up = at;
    fits = fits && reserve(&at, pairs, hidden * sizeof(float));
    out->y = at;
    fits = fits && reserve(&at, pairs, width * sizeof(float));
    out->row = at;
    fits = fits && reserve(&at, pairs, sizeof(int32_t));
    out->pair = at;
    fits = fits && reserve(&at, pairs, sizeof(int32_t));
    out->start = at;
    fits = fits && reserve(&at, n, sizeof(int32_t));
    out->group = at;
    fits = fits && reserve(&at, groups, sizeof(vug_cpu_row_group));
    out->projection = at;
    fits = fits && reserve(&at, 3 * groups, sizeof(vug_cpu_projection));
    out->end = at;
    return fits && at <= INT64_MAX / 16;
}

bool vug_cpu_experts_shared_floats(const vug_cpu_env *env, const vug_cpu_experts_job *job,
                                   uint64_t *floats)
{
    experts_layout l;
    if (!lay_out(env, job, &l))
        return false;
    *floats = l.end;
    return true;
}

int64_t vug_cpu_experts_scratch_floats(const vug_cpu_env *env, const vug_cpu_experts_job *job)
{
    int64_t most = 0;
    for (int64_t e = 0; e < job->n; e++) {
        const int64_t floats[] = {
            vug_cpu_linear_scratch_floats(env, job->gate[e].dtype, job->width),
            vug_cpu_linear_scratch_floats(env, job->up[e].dtype, job->width),
            vug_cpu_linear_scratch_floats(env, job->down[e].dtype, job->hidden),
        };
        for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
            most = floats[i] > most ? floats[i] : most;
    }
    return most;
}

/* ---- sorting by expert ------------------------------------------------------ */

static int64_t expert_of(const vug_cpu_experts_job *job, int64_t row, int64_t j)
{
    return (int64_t)job->route[row * 2 * job->k + j];
}

static vug_cpu_projection projection_of(const vug_weight *w, int64_t in, int64_t out, float *y)
{
    return (vug_cpu_projection){ { w->dtype, w->data, in, w->scales }, out, y };
}

static void add_group(experts_run *m, int64_t expert, int64_t first, int64_t rows)
{
    const vug_cpu_experts_job *job = m->job;
    vug_cpu_projection *projection = m->projection + 3 * m->n_groups;
    projection[0] = projection_of(&job->gate[expert], job->width, job->hidden, m->gate);
    projection[1] = projection_of(&job->up[expert], job->width, job->hidden, m->up);
    projection[2] = projection_of(&job->down[expert], job->hidden, job->width, m->y);
    m->group[m->n_groups++] =
            (vug_cpu_row_group){ .first = first, .rows = rows, .projection = projection };
}

/* A counting sort of the pairs by expert; the pairs of an expert stay in the order of rows. */
static void sort_pairs(experts_run *m)
{
    const vug_cpu_experts_job *job = m->job;
    memset(m->start, 0, (size_t)job->n * sizeof(*m->start));
    for (int64_t r = 0; r < job->rows; r++) {
        for (int64_t j = 0; j < job->k; j++)
            m->start[expert_of(job, r, j)]++;
    }
    int32_t first = 0;
    for (int64_t e = 0; e < job->n; e++) {
        const int32_t rows = m->start[e];
        m->start[e] = first;
        if (rows > 0)
            add_group(m, e, first, rows);
        first += rows;
    }
    for (int64_t r = 0; r < job->rows; r++) {
        for (int64_t j = 0; j < job->k; j++) {
            const int32_t at = m->start[expert_of(job, r, j)]++;
            m->row[at] = (int32_t)r;
            m->pair[r * job->k + j] = at;
        }
    }
}

/* ---- products ------------------------------------------------------------- */

static void multiply_gate_up(const experts_run *m)
{
    vug_cpu_linear_grouped(m->env, &(vug_cpu_grouped_job){ .x = m->job->x,
                                                           .index = m->row,
                                                           .rows = m->pairs,
                                                           .in = m->job->width,
                                                           .group = m->group,
                                                           .n_groups = m->n_groups,
                                                           .n = 2 });
}

static void multiply_down(const experts_run *m)
{
    for (int64_t i = 0; i < m->n_groups; i++)
        m->group[i].projection += 2;
    vug_cpu_linear_grouped(m->env, &(vug_cpu_grouped_job){ .x = m->gate,
                                                           .rows = m->pairs,
                                                           .in = m->job->hidden,
                                                           .group = m->group,
                                                           .n_groups = m->n_groups,
                                                           .n = 1 });
}

/* ---- activation and sums ---------------------------------------------------- */

/* gate = activation(gate) * up */
static void activate(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    experts_run *m = arg;
    const vug_cpu_kernels *kernels = m->env->kernels;
    const int64_t n = m->pairs * m->job->hidden;
    for (int64_t i; (i = vug_cpu_work_queue_next(&m->queue)) < m->queue.n;) {
        float *gate = m->gate + i * CHUNK;
        const int64_t left = n - i * CHUNK, size = left < CHUNK ? left : CHUNK;
        (m->job->activation == VUG_OP_SILU ? kernels->silu : kernels->gelu)(gate, gate, size);
        kernels->mul(gate, m->up + i * CHUNK, gate, size);
    }
}

/* out = the weighted sum of the outputs of a row's experts */
static void sum_experts(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    experts_run *m = arg;
    const vug_cpu_experts_job *job = m->job;
    for (int64_t r; (r = vug_cpu_work_queue_next(&m->queue)) < m->queue.n;) {
        const float *weight = job->route + (2 * r + 1) * job->k;
        const int32_t *pair = m->pair + r * job->k;
        float *out = job->out + r * job->width;
        m->env->kernels->scale(m->y + pair[0] * job->width, weight[0], out, job->width);
        for (int64_t j = 1; j < job->k; j++)
            m->env->kernels->axpby(out, 1, m->y + pair[j] * job->width, weight[j], job->width);
    }
}

void vug_cpu_experts(const vug_cpu_env *env, const vug_cpu_experts_job *job)
{
    experts_layout l;
    const bool fits = lay_out(env, job, &l);
    VUG_ASSERT(fits); /* compiling checked it for the largest step */
    float *shared = env->shared;
    experts_run m = {
        .env = env,
        .job = job,
        .pairs = job->rows * job->k,
        .gate = shared + l.gate,
        .up = shared + l.up,
        .y = shared + l.y,
        .row = (int32_t *)(void *)(shared + l.row),
        .pair = (int32_t *)(void *)(shared + l.pair),
        .start = (int32_t *)(void *)(shared + l.start),
        .group = (vug_cpu_row_group *)(void *)(shared + l.group),
        .projection = (vug_cpu_projection *)(void *)(shared + l.projection),
    };
    if (job->rows == 0)
        return;
    sort_pairs(&m);
    multiply_gate_up(&m);
    const int64_t gates = m.pairs * job->hidden;
    vug_cpu_parallel_for(env, &m.queue, (gates + CHUNK - 1) / CHUNK, gates, activate, &m);
    multiply_down(&m);
    vug_cpu_parallel_for(env, &m.queue, job->rows, m.pairs * job->width, sum_experts, &m);
}
