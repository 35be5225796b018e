/*
 * Attention over the KV caches. Only the scores of a tile of queries and one block of 64 keys
 * exist at a time (online softmax; ref_attention.c has the formulas).
 *
 * A tile is a number of query rows of one KV head. Both products use the tile kernels. Keys
 * that a query may not attend to are excluded from its sums by their exact range. They are
 * never multiplied by zero, so the contents of old or unused slots cannot reach a result.
 *
 * Keys are summed in splits of 256, which are then joined in order (split KV). In a step with
 * many rows each thread takes a tile and iterates over its splits. In a step with few rows
 * (decoding) threads take single splits, which are joined afterwards.
 */
#include <math.h>

#include "backend/cpu/attention_tile.h"

enum {
    PANEL = VUG_CPU_PANEL,
    BLOCK = VUG_CPU_KEY_BLOCK,
    SPLIT = VUG_CPU_KEY_SPLIT,
    TILE_ROWS = VUG_CPU_QUERY_TILE_ROWS,
    FEW_ROWS = 64, /* T * H up to which threads take single splits */
};

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_attention_job *job;
    int64_t group;  /* query heads per KV head */
    int64_t splits; /* partial results per row */
    int64_t tile_rows;
    vug_cpu_work_queue queue;
} attention_run;

/* ---- splits --------------------------------------------------------------- */

/* The splits with visible keys of any row of the tile: [first, end). */
static vug_cpu_range splits_of(const vug_cpu_query_tile *t)
{
    vug_cpu_range all = vug_cpu_visible_keys(t->job, vug_cpu_query_at(t, 0));
    for (int64_t r = 1; r < t->rows; r++) {
        const vug_cpu_range keys = vug_cpu_visible_keys(t->job, vug_cpu_query_at(t, r));
        all.first = keys.first < all.first ? keys.first : all.first;
        all.end = keys.end > all.end ? keys.end : all.end;
    }
    return (vug_cpu_range){ all.first / SPLIT, (all.end - 1) / SPLIT + 1 };
}

/* Computes the tile's sums over one split in t->o and t->state. A row that sees none of its
 * keys has state.max = -inf. */
static void sum_split(vug_cpu_query_tile *t, int64_t split)
{
    const vug_cpu_kv_cache *c = t->job->cache;
    for (int64_t r = 0; r < t->rows; r++)
        t->state[r] = (vug_cpu_softmax_state){ .max = -INFINITY };
    memset(t->o, 0, (size_t)(t->rows * c->columns) * sizeof(float));
    for (int64_t first = split * SPLIT; first < (split + 1) * SPLIT; first += BLOCK)
        vug_cpu_attention_block(t, first);
}

/* With a mask also true for a split between the first and the last visible key whose own keys
 * are all hidden; joining it changes nothing. */
static bool sees_split(const vug_cpu_attention_job *job, vug_cpu_query q, int64_t split)
{
    const vug_cpu_range keys = vug_cpu_visible_keys_in(job, q, split * SPLIT, SPLIT);
    return keys.first < keys.end;
}

static bool is_first_split(const vug_cpu_attention_job *job, vug_cpu_query q, int64_t split)
{
    return vug_cpu_visible_keys(job, q).first / SPLIT == split;
}

/* Joins a row's sums over one split, `o` and `state`, to its `total`. */
static void join_split(const vug_cpu_kernels *kernels, float *total,
                       vug_cpu_softmax_state *total_state, const float *o,
                       const vug_cpu_softmax_state *state, int64_t columns)
{
    const float max = state->max > total_state->max ? state->max : total_state->max;
    float factor[2] = { total_state->max - max, state->max - max };
    kernels->exp(factor, factor, 2);
    kernels->axpby(total, factor[0], o, factor[1], columns);
    total_state->sum = fmaf(state->sum, factor[1], total_state->sum * factor[0]);
    total_state->max = max;
}

static void write_output_row(const attention_run *a, const float *o,
                             const vug_cpu_softmax_state *state, float *out)
{
    a->env->kernels->scale(o, 1.0f / state->sum, out, a->job->cache->width);
}

/* ---- tiles ---------------------------------------------------------------- */

static int64_t tiles_per_head(const attention_run *a, const vug_span *span)
{
    return (span->n * a->group + a->tile_rows - 1) / a->tile_rows;
}

/* The index of a tile's row in [T,H]. */
static int64_t output_row(const vug_cpu_query_tile *t, int64_t row)
{
    const int64_t at = t->first_row + row;
    return (t->first_token + at / t->group) * t->job->heads + t->head * t->group + at % t->group;
}

/* Initializes tile `i` of the step, with the scratch of one thread. */
static void init_tile(vug_cpu_query_tile *t, const attention_run *a, int64_t i, float *scratch)
{
    const vug_cpu_attention_job *job = a->job;
    const vug_cpu_kv_cache *c = job->cache;
    const vug_span *span = job->span;
    int64_t first_token = 0;
    for (; i >= tiles_per_head(a, span) * c->heads; span++) {
        i -= tiles_per_head(a, span) * c->heads;
        first_token += span->n;
    }
    const int64_t first_row = i / c->heads * a->tile_rows;
    const int64_t left = span->n * a->group - first_row;
    t->env = a->env;
    t->job = job;
    t->group = a->group;
    t->head = i % c->heads;
    t->first_row = first_row;
    t->rows = left < a->tile_rows ? left : a->tile_rows;
    t->first_token = first_token;
    t->span = span;
    t->p = scratch;
    t->o = t->p + (ptrdiff_t)TILE_ROWS * BLOCK;
    t->total = t->o + TILE_ROWS * c->columns;
    t->q = t->total + TILE_ROWS * c->columns;
    for (int64_t r = 0; r < t->rows; r++)
        memcpy(t->q + r * c->width, job->q + output_row(t, r) * c->width,
               (size_t)c->width * sizeof(float));
}

/* Joins the sums over one split to the totals of the rows that see it. */
static void join_tile(vug_cpu_query_tile *t, int64_t split)
{
    const vug_cpu_kv_cache *c = t->job->cache;
    for (int64_t r = 0; r < t->rows; r++) {
        float *total = t->total + r * c->columns, *o = t->o + r * c->columns;
        const vug_cpu_query q = vug_cpu_query_at(t, r);
        if (is_first_split(t->job, q, split)) {
            memcpy(total, o, (size_t)c->columns * sizeof(float));
            t->total_state[r] = t->state[r];
        } else if (sees_split(t->job, q, split)) {
            join_split(t->env->kernels, total, &t->total_state[r], o, &t->state[r], c->columns);
        }
    }
}

static void run_tiles(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    attention_run *a = arg;
    const vug_cpu_kv_cache *c = a->job->cache;
    float *scratch = a->env->scratch + thread * a->env->scratch_floats;
    vug_cpu_query_tile t;
    for (int64_t i; (i = vug_cpu_work_queue_next(&a->queue)) < a->queue.n;) {
        init_tile(&t, a, i, scratch);
        const vug_cpu_range splits = splits_of(&t);
        for (int64_t split = splits.first; split < splits.end; split++) {
            sum_split(&t, split);
            join_tile(&t, split);
        }
        for (int64_t r = 0; r < t.rows; r++)
            write_output_row(a, t.total + r * c->columns, &t.total_state[r],
                             a->job->out + output_row(&t, r) * c->width);
    }
}

/* ---- few rows: a work queue of splits --------------------------------------- */

/* The partial result of a row (token and head) over one split: columns values, then max and
 * sum, padded to 16. */
static int64_t partial_floats(const vug_cpu_kv_cache *c)
{
    return c->columns + PANEL;
}

static float *partial_at(const attention_run *a, int64_t row, int64_t split)
{
    return a->env->shared + (row * a->splits + split % a->splits) * partial_floats(a->job->cache);
}

static void run_splits(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    attention_run *a = arg;
    const vug_cpu_kv_cache *c = a->job->cache;
    float *scratch = a->env->scratch + thread * a->env->scratch_floats;
    vug_cpu_query_tile t;
    for (int64_t i; (i = vug_cpu_work_queue_next(&a->queue)) < a->queue.n;) {
        init_tile(&t, a, i / a->splits, scratch);
        const vug_cpu_range splits = splits_of(&t);
        const int64_t split = splits.first + i % a->splits;
        if (split >= splits.end)
            continue;
        sum_split(&t, split);
        for (int64_t r = 0; r < t.rows; r++) {
            if (!sees_split(a->job, vug_cpu_query_at(&t, r), split))
                continue;
            float *partial = partial_at(a, output_row(&t, r), split);
            memcpy(partial, t.o + r * c->columns, (size_t)c->columns * sizeof(float));
            memcpy(partial + c->columns, &t.state[r], sizeof(t.state[r]));
        }
    }
}

static void join_splits(attention_run *a, int64_t row, vug_cpu_query q)
{
    const vug_cpu_kv_cache *c = a->job->cache;
    const vug_cpu_range keys = vug_cpu_visible_keys(a->job, q);
    const int64_t first = keys.first / SPLIT, end = (keys.end - 1) / SPLIT + 1;
    float *total = partial_at(a, row, first);
    vug_cpu_softmax_state total_state, state;
    memcpy(&total_state, total + c->columns, sizeof(total_state));
    for (int64_t split = first + 1; split < end; split++) {
        const float *partial = partial_at(a, row, split);
        memcpy(&state, partial + c->columns, sizeof(state));
        join_split(a->env->kernels, total, &total_state, partial, &state, c->columns);
    }
    write_output_row(a, total, &total_state, a->job->out + row * c->width);
}

static void attend_by_splits(attention_run *a, int64_t tiles)
{
    const vug_cpu_attention_job *job = a->job;
    vug_cpu_work_queue_init(&a->queue, a->env, tiles * a->splits);
    if (a->splits == 1 && tiles == 1)
        run_splits(a, 0, 1);
    else
        vug_pool_run(a->env->pool, run_splits, a);
    int64_t token = 0;
    for (int s = 0; s < job->n_spans; s++) {
        for (int64_t t = 0; t < job->span[s].n; t++, token++) {
            for (int64_t h = 0; h < job->heads; h++)
                join_splits(a, token * job->heads + h,
                            (vug_cpu_query){ token, job->span[s].past + t });
        }
    }
}

/* ---- a job ---------------------------------------------------------------- */

int64_t vug_cpu_attention_scratch_floats(int64_t width)
{
    const int64_t columns = vug_cpu_round_up(width, PANEL);
    return TILE_ROWS * (BLOCK + 3 * columns);
}

/* The number of splits that the keys of a step can touch: one more than they fill. */
static int64_t max_splits(const vug_cpu_kv_cache *c, const vug_limits *limits)
{
    int64_t keys = limits->context;
    if (c->window > 0 && c->window - 1 < limits->context - limits->batch)
        keys = c->window - 1 + limits->batch;
    return (keys + SPLIT - 1) / SPLIT + 1;
}

int64_t vug_cpu_attention_partial_floats(const vug_cpu_kv_cache *cache, const vug_limits *limits)
{
    return FEW_ROWS * max_splits(cache, limits) * partial_floats(cache);
}

/* The maximum number of splits that a sequence of the step touches. */
static int64_t splits_in_step(const vug_cpu_attention_job *job)
{
    int64_t most = 1;
    for (int s = 0; s < job->n_spans; s++) {
        const vug_span *span = &job->span[s];
        const vug_cpu_query query = { .position = span->past };
        const int64_t first = job->mask.add ? 0 : vug_cpu_visible_keys(job, query).first / SPLIT;
        const int64_t n = (span->past + span->n - 1) / SPLIT + 1 - first;
        most = n > most ? n : most;
    }
    return most;
}

void vug_cpu_attention(const vug_cpu_env *env, const vug_cpu_attention_job *job)
{
    attention_run a = { .env = env, .job = job, .group = job->heads / job->cache->heads };
    a.tile_rows = job->tile_rows > 0 && job->tile_rows < TILE_ROWS ? job->tile_rows : TILE_ROWS;
    int64_t tiles = 0, rows = 0;
    for (int s = 0; s < job->n_spans; s++) {
        tiles += tiles_per_head(&a, &job->span[s]) * job->cache->heads;
        rows += job->span[s].n * job->heads;
    }
    a.splits = splits_in_step(job);
    if (rows <= FEW_ROWS) {
        attend_by_splits(&a, tiles);
        return;
    }
    vug_cpu_work_queue_init(&a.queue, env, tiles);
    vug_pool_run(env->pool, run_tiles, &a);
}
