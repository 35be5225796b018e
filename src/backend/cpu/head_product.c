/*
 * The product of a few rows with the head, of which only some outputs are wanted.
 *
 *     s = the product with the copy        |y - s| <= bound, y being the product with the head
 *
 * Some outputs with large s are computed first. The k-th greatest of them is a limit that the k
 * greatest of all reach, so that only outputs with s + bound >= limit can be wanted. The others are
 * VUG_LOGIT_UNWANTED. What is not a number counts as large, so it is always computed.
 *
 * If so many outputs are left that the whole product would not take longer, that is computed; and the
 * next products do not try. The same is done if the outputs that were computed do not suffice for top-p.
 */
#include "backend/cpu/head_screen.h"

#include <math.h>

enum {
    MOST_ROWS = 4,   /* of a product: with more, reading weights is not what takes the time */
    MOST_BEST = 512, /* outputs that are wanted by rank */
    SPARE_BEST = 16, /* computed first, beyond those that are wanted by rank */
    GROUP = 32,      /* outputs whose greatest is looked for first */
    LANES = 8,
    CHUNK = 1024, /* outputs that a thread takes, a multiple of GROUP */
    /* Reading single rows of weights takes longer than reading all, by this factor. */
    SINGLE_COST = 3,
    MOST_PAUSE = 256,
};

/* Sums of masses are added as integers, because their order varies. */
static const double mass_unit = 0x1p-32, most_mass = 0x1p9; /* of a chunk */

/* ---- bounds ----------------------------------------------------------------- */

/* |y - s| <= residual * screen->residual[i] + norm * screen->norm[i] + rest */
typedef struct {
    float residual, norm, rest;
} error_bound;

/* Let z be x as the head's product takes it, q the same in 8 bits as the copy's takes it, w a row of
 * the head, c its copy. By Cauchy and Schwarz
 *
 *     |z.w - q.c| <= |q||w - c| + |z - q||w|
 *
 * Both products add up less than n + 64 rounded terms in some order, which adds at most g |z||w| and
 * g |q||c| with g = (n + 64) 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms, 3.1);
 * |c| <= |w| + |w - c|. g is doubled to cover the rounding of weights that are products of scales,
 * and of the bound itself. Below 2^-126 errors are absolute: `rest`. */
static error_bound bound_of(double z, double q, double lacks, int64_t n)
{
    const double g = (double)(n + 64) * 0x1p-23 + 0x1p-20;
    return (error_bound){
        .residual = (float)(q * (1 + g)),
        .norm = (float)((lacks + g * (z + q)) * (1 + 0x1p-20)),
        .rest = (float)(((z + q) * (double)n + (double)n) * 0x1p-120),
    };
}

/* ---- a row of x --------------------------------------------------------------- */

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_head_screen *screen;
    const vug_logits_wanted *wanted;
    const float *x;
    vug_cpu_q8_row q8; /* the same in 8 bits */
    float *logits;     /* at first those of the copy */
    error_bound bound;
    float best;  /* the greatest of the outputs that are computed first */
    float limit; /* outputs below it are not wanted */
} screened_row;

static int64_t q8_floats(int64_t n)
{
    return vug_cpu_round_up(n / 4 + n / 16, VUG_CPU_CACHE_LINE);
}

/* `memory` [q8_floats] */
static void init_row(screened_row *r, float *memory)
{
    const int64_t n = r->screen->copy.columns, blocks = n / VUG_CPU_Q8_BLOCK;
    int8_t *q = (int8_t *)memory;
    float *scale = memory + n / 4;
    int16_t *sum = (int16_t *)(void *)(scale + blocks);
    double of_z = 0, of_q = 0, of_lacks = 0;
    r->env->kernels->quantize(r->x, n, q, scale, sum);
    r->q8 = (vug_cpu_q8_row){ q, scale, sum };
    for (int64_t i = 0; i < n; i++) {
        const double z = (double)r->x[i];
        const double rounded = (double)scale[i / VUG_CPU_Q8_BLOCK] * (double)q[i];
        of_z += z * z;
        of_q += rounded * rounded;
        of_lacks += (z - rounded) * (z - rounded);
    }
    const bool takes_q8 = r->env->kernels->block[r->screen->head.dtype] != NULL;
    r->bound = takes_q8 ? bound_of(sqrt(of_q), sqrt(of_q), 0, n)
                        : bound_of(sqrt(of_z), sqrt(of_q), sqrt(of_lacks), n);
}

/* Output `i` as the whole product computes it. */
static float compute_logit(const screened_row *r, int64_t i)
{
    const vug_matrix *head = &r->screen->head;
    const vug_cpu_block_format *block = r->env->kernels->block[head->dtype];
    const int64_t stride = vug_dtype_row(head->dtype, head->columns);
    float y[VUG_CPU_STREAMS];
    if (block)
        block->gemv(&(vug_cpu_gemv_q8){ .x = &r->q8, .w = head, .row = i, .step = 0, .y = y });
    else
        r->env->kernels->format[head->dtype]->gemm(&(vug_cpu_gemm){ .x = &r->x,
                                                                    .rows = 1,
                                                                    .w = head->data + i * stride,
                                                                    .y = y,
                                                                    .k = head->columns,
                                                                    .stride = 0 });
    return y[0];
}

/* ---- the limit ---------------------------------------------------------------- */

/* The k-th greatest of x [n], 1 <= k <= n, none of which is NaN; changes their order (Hoare's
 * quickselect). */
static float kth_greatest(float *x, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const float pivot = x[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (x[i] > pivot)
                i++;
            while (x[j] < pivot)
                j--;
            if (i > j)
                break;
            const float swapped = x[i];
            x[i++] = x[j];
            x[j--] = swapped;
        }
        if (k - 1 <= j)
            high = j;
        else if (k - 1 >= i)
            low = i;
        else
            break;
    }
    return x[k - 1];
}

/* The greatest of GROUP numbers; a NaN counts as none. */
static float greatest(const float *x)
{
    float best[LANES];
    for (int j = 0; j < LANES; j++)
        best[j] = -INFINITY;
    for (int i = 0; i < GROUP; i += LANES) {
        for (int j = 0; j < LANES; j++)
            best[j] = x[i + j] > best[j] ? x[i + j] : best[j];
    }
    for (int j = 1; j < LANES; j++)
        best[0] = best[j] > best[0] ? best[j] : best[0];
    return best[0];
}

static int64_t first_count(const vug_logits_wanted *wanted)
{
    return wanted->best + SPARE_BEST;
}

/* Computes outputs with large s and sets the limit. `group_best` [2][n_ids / GROUP], `first`
 * [most]. */
static void set_limit(screened_row *r, float *group_best, float *first, int64_t most)
{
    const int64_t groups = r->wanted->n_ids / GROUP, n = first_count(r->wanted);
    float *sorted = group_best + groups;
    for (int64_t g = 0; g < groups; g++)
        group_best[g] = greatest(r->logits + g * GROUP);
    memcpy(sorted, group_best, (size_t)groups * sizeof(*sorted));
    const float least = kth_greatest(sorted, groups, n);
    int64_t found = 0;
    for (int64_t g = 0; g < groups; g++) {
        if (!(group_best[g] >= least))
            continue;
        for (int64_t i = g * GROUP; i < (g + 1) * GROUP && found < most; i++) {
            const float y = r->logits[i] >= least ? compute_logit(r, i) : NAN;
            if (y >= -FLT_MAX)
                first[found++] = y;
        }
    }
    r->limit = -INFINITY;
    if (found >= r->wanted->best) {
        const double kth = (double)kth_greatest(first, found, r->wanted->best);
        r->best = kth_greatest(first, found, 1);
        r->limit = nextafterf((float)(kth - r->wanted->margin), -INFINITY);
    }
}

/* ---- candidates --------------------------------------------------------------- */

/* Whether each of `n` outputs from `first` on could be wanted, in `is_candidate` [n]; returns whether
 * one could. Compilers vectorize the loop where `n` is a constant. */
static inline int32_t compare(const screened_row *r, int64_t first, int64_t n,
                              int32_t *is_candidate)
{
    const float *s = r->logits + first;
    const float *residual = r->screen->residual + first, *norm = r->screen->norm + first;
    const error_bound bound = r->bound;
    const float limit = r->limit;
    int32_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        const float most =
                s[i] + (bound.residual * residual[i] + bound.norm * norm[i] + bound.rest);
        is_candidate[i] = !(most < limit);
        found |= is_candidate[i];
    }
    return found;
}

/* Lists the candidates of outputs first .. end - 1. Most groups have none. */
static int64_t list_candidates(const screened_row *r, int64_t first, int64_t end, int32_t *id)
{
    int32_t is_candidate[GROUP];
    int64_t n = 0;
    for (int64_t g = first; g < end; g += GROUP) {
        const int64_t size = end - g < GROUP ? end - g : GROUP;
        const int32_t found = size == GROUP ? compare(r, g, GROUP, is_candidate)
                                            : compare(r, g, size, is_candidate);
        for (int64_t i = 0; i < size && found; i++) {
            if (is_candidate[i])
                id[n++] = (int32_t)(g + i);
        }
    }
    return n;
}

typedef struct {
    screened_row row[MOST_ROWS];
    int64_t n_rows;
    bool computes; /* outputs; otherwise candidates are only counted */
    atomic_llong candidates;
    atomic_llong rest[MOST_ROWS]; /* what bound_rest returns for all chunks of a row */
    vug_cpu_work_queue queue;     /* of chunks of all rows */
} screened_product;

static int64_t chunks_of_row(const vug_cpu_head_screen *screen)
{
    return (screen->rows + CHUNK - 1) / CHUNK;
}

/* At least the sum of exp(scale * (output - best)) over the outputs of a chunk that are not candidates,
 * in units of mass_unit. Their logits are still those of the copy. */
static long long bound_rest(const screened_row *r, int64_t first, int64_t end, const int32_t *id,
                            int64_t n)
{
    const float *s = r->logits + first;
    const float *residual = r->screen->residual + first, *norm = r->screen->norm + first;
    const error_bound bound = r->bound;
    const float best = r->best, scale = (float)r->wanted->scale;
    /* For the rounding of the difference of two such numbers. */
    const float slack = scale * 0x1p-20f * (fabsf(best) + fabsf(r->limit));
    const int64_t n_ids = (end < r->wanted->n_ids ? end : r->wanted->n_ids) - first;
    float power[CHUNK];
    double sum = 0;
    for (int64_t i = 0; i < n_ids; i++) {
        const float most =
                s[i] + (bound.residual * residual[i] + bound.norm * norm[i] + bound.rest);
        power[i] = (most - best) * scale + slack;
    }
    for (int64_t i = 0; i < n && id[i] - first < n_ids; i++)
        power[id[i] - first] = -INFINITY;
    if (n_ids > 0)
        r->env->kernels->exp(power, power, n_ids);
    for (int64_t i = 0; i < n_ids; i++)
        sum += (double)power[i];
    return (long long)(fmin(1.001 * sum, most_mass) / mass_unit) + 1;
}

/* Computes the candidates of a chunk; the others are not wanted. */
static void compute_candidates(const screened_row *r, int64_t first, int64_t end, const int32_t *id,
                               int64_t n)
{
    const vug_matrix *head = &r->screen->head;
    const int64_t stride = vug_dtype_row(head->dtype, head->columns);
    float y[CHUNK];
    for (int64_t i = 0; i < n; i++) {
        if (i + 1 < n)
            vug_cpu_prefetch_bytes(head->data + id[i + 1] * stride, stride);
        y[i] = compute_logit(r, id[i]);
    }
    for (int64_t i = first; i < end; i++)
        r->logits[i] = VUG_LOGIT_UNWANTED;
    for (int64_t i = 0; i < n; i++)
        r->logits[id[i]] = y[i];
}

static void run_candidate_chunks(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    screened_product *p = arg;
    const int64_t rows = p->row[0].screen->rows, chunks = chunks_of_row(p->row[0].screen);
    int32_t id[CHUNK];
    for (int64_t c; (c = vug_cpu_work_queue_next(&p->queue)) < p->queue.n;) {
        const screened_row *r = &p->row[c / chunks];
        const int64_t first = c % chunks * CHUNK;
        const int64_t end = first + CHUNK < rows ? first + CHUNK : rows;
        const int64_t n = list_candidates(r, first, end, id);
        if (p->computes && r->wanted->share > 0)
            atomic_fetch_add_explicit(&p->rest[c / chunks], bound_rest(r, first, end, id, n),
                                      memory_order_relaxed);
        if (p->computes)
            compute_candidates(r, first, end, id, n);
        else
            atomic_fetch_add_explicit(&p->candidates, n, memory_order_relaxed);
    }
}

static void run_candidates(screened_product *p, bool computes)
{
    const vug_cpu_head_screen *screen = p->row[0].screen;
    p->computes = computes;
    vug_cpu_parallel_for(p->row[0].env, &p->queue, p->n_rows * chunks_of_row(screen),
                         p->n_rows * screen->rows, run_candidate_chunks, p);
}

/* ---- products ----------------------------------------------------------------- */

static void multiply(const vug_cpu_env *env, const vug_cpu_head_screen *s,
                     const vug_cpu_head_job *job, const vug_matrix *w)
{
    const vug_cpu_projection projection = { *w, s->rows, job->logits };
    vug_cpu_linear(env, &(vug_cpu_linear_job){ .x = job->x,
                                               .rows = job->rows,
                                               .in = w->columns,
                                               .projection = &projection,
                                               .n = 1 });
}

static bool can_screen_row(const vug_logits_wanted *wanted)
{
    return wanted->best > 0 && wanted->best <= MOST_BEST &&
           wanted->n_ids / GROUP >= first_count(wanted);
}

static bool can_screen(const vug_cpu_head_job *job)
{
    bool can = job->wanted && job->rows <= MOST_ROWS;
    for (int64_t i = 0; can && i < job->rows; i++)
        can = can_screen_row(&job->wanted[i]);
    return can;
}

static double row_bytes(const vug_matrix *w)
{
    return (double)vug_dtype_row(w->dtype, w->columns);
}

/* Memory of the rows: x in 8 bits, the greatest of groups, and outputs that are computed first. */
static int64_t most_first(void)
{
    return 2 * ((int64_t)MOST_BEST + SPARE_BEST);
}

static int64_t group_floats(int64_t rows)
{
    return vug_cpu_round_up(2 * (rows / GROUP), VUG_CPU_CACHE_LINE);
}

bool vug_cpu_head_shared_floats(const vug_weight *head, int64_t rows, uint64_t *floats)
{
    const vug_cpu_input_formats formats = { .q8 = true };
    const int64_t n = rows < MOST_ROWS ? rows : MOST_ROWS;
    const uint64_t own =
            (uint64_t)(n * q8_floats(head->columns) + group_floats(head->rows) + most_first());
    if (!vug_cpu_linear_shared_floats(&formats, n, head->columns, floats))
        return false;
    const uint64_t masses = VUG_CPU_HEAD_MOST_MASSES * sizeof(double) / sizeof(float);
    *floats = own > *floats ? own : *floats;
    *floats = masses > *floats ? masses : *floats;
    return true;
}

/* Whether the screen makes the product faster; sets the limits of the rows. The product with the copy
 * is in job->logits. */
static bool set_limits(const vug_cpu_env *env, const vug_cpu_head_screen *s,
                       const vug_cpu_head_job *job, screened_product *p)
{
    float *group_best = env->shared, *first = group_best + group_floats(s->rows);
    float *memory = first + most_first();
    p->n_rows = job->rows;
    for (int64_t i = 0; i < job->rows; i++, memory += q8_floats(s->copy.columns)) {
        p->row[i] = (screened_row){ .env = env,
                                    .screen = s,
                                    .wanted = &job->wanted[i],
                                    .x = job->x + i * s->copy.columns,
                                    .logits = job->logits + i * s->rows };
        init_row(&p->row[i], memory);
        set_limit(&p->row[i], group_best, first, most_first());
    }
    run_candidates(p, false);
    const double singles = (double)atomic_load(&p->candidates) * row_bytes(&s->head) * SINGLE_COST;
    return singles + (double)s->rows * row_bytes(&s->copy) < (double)s->rows * row_bytes(&s->head);
}

/* Whether the outputs that were computed suffice for top-p. */
static bool decides_shares(const vug_cpu_env *env, const screened_product *p)
{
    bool decides = true;
    for (int64_t i = 0; decides && i < p->n_rows; i++) {
        const screened_row *r = &p->row[i];
        const vug_cpu_head_share share = { .logits = r->logits,
                                           .n_ids = r->wanted->n_ids,
                                           .share = r->wanted->share,
                                           .scale = r->wanted->scale,
                                           .best = (double)r->best,
                                           .limit = (double)r->limit,
                                           .rest = (double)atomic_load(&p->rest[i]) * mass_unit };
        if (share.share > 0)
            decides = vug_cpu_head_decides_share(&share, (double *)(void *)env->shared);
    }
    return decides;
}

static void add_cost(const vug_cpu_head_screen *s, const vug_cpu_head_job *job, bool is_tried,
                     int64_t candidates)
{
    vug_head_stats *to = job->cost;
    if (!to)
        return;
    const double copy = is_tried ? (double)s->rows * row_bytes(&s->copy) : 0;
    const double all = (double)s->rows * row_bytes(&s->head);
    const bool is_screened = candidates >= 0;
    to->rows += (uint64_t)job->rows;
    to->screened += is_screened ? (uint64_t)job->rows : 0;
    to->of += (uint64_t)(job->rows * s->rows);
    to->logits += (uint64_t)(is_screened ? candidates : job->rows * s->rows);
    to->saved_bytes += (is_screened ? all - (double)candidates * row_bytes(&s->head) : 0) - copy;
}

/* Remembers whether the screen helped. */
static void set_pause(vug_cpu_head_screen *s, bool helped)
{
    s->pause = helped || s->is_always_used ? 0 : s->next_pause;
    s->next_pause = helped ? 1 : 2 * s->next_pause < MOST_PAUSE ? 2 * s->next_pause : MOST_PAUSE;
}

void vug_cpu_head_product(const vug_cpu_env *env, vug_cpu_head_screen *s,
                          const vug_cpu_head_job *job)
{
    const bool wants_some = job->rows > 0 && can_screen(job);
    const bool tries = wants_some && s->built == s->rows && s->pause == 0;
    bool helps = false;
    if (tries) {
        screened_product p = { .n_rows = 0 };
        multiply(env, s, job, &s->copy);
        helps = set_limits(env, s, job, &p);
        if (helps) {
            run_candidates(&p, true);
            helps = decides_shares(env, &p);
        }
        set_pause(s, helps);
        add_cost(s, job, true, helps ? (int64_t)atomic_load(&p.candidates) : -1);
    } else if (wants_some) {
        if (s->built < s->rows && job->may_build)
            vug_cpu_head_screen_build(env, s);
        s->pause -= s->pause > 0;
        add_cost(s, job, false, -1);
    }
    if (!helps)
        multiply(env, s, job, &s->head);
}
