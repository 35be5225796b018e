/*
 * Attention over the caches, without ever holding the scores of more than a
 * tile of queries and one block of 64 keys (online softmax; ref.c has the
 * formulas).
 *
 * A tile is some query rows of one kv head: all its query heads of one token,
 * then of the next. Both products are the tile kernel. Keys that a query may
 * not see are left out of its sums by their exact range, never multiplied by
 * zero, so whatever an old or unused slot holds cannot reach a result.
 *
 * Spans of 256 keys are summed on their own and then joined in order. A step
 * with many rows gives each tile to a thread, which walks its spans; a step with
 * few rows (decoding) deals out the spans and joins them afterwards.
 */
#include <math.h>

#include "backend/cpu/attention.h"

enum {
    PANEL = VUG_CPU_PANEL,
    BLOCK = VUG_CPU_BLOCK,
    SPAN = VUG_CPU_SPAN,
    TILE_ROWS = VUG_CPU_TILE_ROWS,
    FEW_ROWS = 64, /* T * H up to which spans are dealt out */
};

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_attention_job *job;
    int64_t group; /* query heads per kv head */
    int64_t parts; /* spans in the cache's partial results, per row */
    int64_t tile_rows;
    vug_cpu_deal deal;
} attention;

typedef vug_cpu_queries tile;
typedef vug_cpu_query query;
typedef vug_cpu_range range;

/* ---- spans ---------------------------------------------------------------- */

/* Spans with keys of any row of the tile: [first, end). */
static range spans_of(const tile *t)
{
    range all = vug_cpu_keys_seen(t->job, vug_cpu_query_of(t, 0));
    for (int64_t r = 1; r < t->rows; r++) {
        const range seen = vug_cpu_keys_seen(t->job, vug_cpu_query_of(t, r));
        all.first = seen.first < all.first ? seen.first : all.first;
        all.end = seen.end > all.end ? seen.end : all.end;
    }
    return (range){ all.first / SPAN, (all.end - 1) / SPAN + 1 };
}

/* Leaves the tile's sums over one span in t->o and t->state; rows that see none
 * of its keys have state.max = -inf. */
static void sum_span(tile *t, int64_t span)
{
    const vug_cpu_cache *c = t->job->cache;
    for (int64_t r = 0; r < t->rows; r++)
        t->state[r] = (vug_cpu_softmax){ .max = -INFINITY };
    memset(t->o, 0, (size_t)(t->rows * c->columns) * sizeof(float));
    for (int64_t first = span * SPAN; first < (span + 1) * SPAN; first += BLOCK)
        vug_cpu_attention_block(t, first);
}

/* Of a masked row also a span between those that hold its keys, which adds nothing. */
static bool sees(const vug_cpu_attention_job *job, query q, int64_t span)
{
    const range seen = vug_cpu_keys_within(job, q, span * SPAN, SPAN);
    return seen.first < seen.end;
}

static bool is_first_span(const vug_cpu_attention_job *job, query q, int64_t span)
{
    return vug_cpu_keys_seen(job, q).first / SPAN == span;
}

/* Joins one span's sums `o`, `state` of a row to its `total`. */
static void join_span(const vug_cpu_kernels *kernels, float *total, vug_cpu_softmax *total_state,
                      const float *o, const vug_cpu_softmax *state, int64_t columns)
{
    const float max = state->max > total_state->max ? state->max : total_state->max;
    float factor[2] = { total_state->max - max, state->max - max };
    kernels->exp(factor, factor, 2);
    kernels->join(total, factor[0], o, factor[1], columns);
    total_state->sum = fmaf(state->sum, factor[1], total_state->sum * factor[0]);
    total_state->max = max;
}

static void write_row(const attention *a, const float *o, const vug_cpu_softmax *state, float *out)
{
    a->env->kernels->scale(o, 1.0f / state->sum, out, a->job->cache->width);
}

/* ---- tiles ---------------------------------------------------------------- */

static int64_t tiles_per_head(const attention *a, const vug_span *span)
{
    return (span->n * a->group + a->tile_rows - 1) / a->tile_rows;
}

static int64_t token_row(const tile *t, int64_t row)
{
    const int64_t at = t->first_row + row;
    return (t->first_token + at / t->group) * t->job->heads + t->head * t->group + at % t->group;
}

/* Tile `i` of the step; scratch of one thread. */
static void open_tile(tile *t, const attention *a, int64_t i, float *scratch)
{
    const vug_cpu_attention_job *job = a->job;
    const vug_cpu_cache *c = job->cache;
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
    t->past = span->past;
    t->k = span->state->data + c->k + t->head * (c->slots / PANEL * c->panel_bytes);
    t->v = span->state->data + c->v + t->head * (c->slots / BLOCK * c->block_bytes);
    t->p = scratch;
    t->o = t->p + (ptrdiff_t)TILE_ROWS * BLOCK;
    t->total = t->o + TILE_ROWS * c->columns;
    t->q = t->total + TILE_ROWS * c->columns;
    for (int64_t r = 0; r < t->rows; r++)
        memcpy(t->q + r * c->width, job->q + token_row(t, r) * c->width,
               (size_t)c->width * sizeof(float));
}

/* Adds the sums of one span to the totals of the rows that see it. */
static void join_tile(tile *t, int64_t span)
{
    const vug_cpu_cache *c = t->job->cache;
    for (int64_t r = 0; r < t->rows; r++) {
        float *total = t->total + r * c->columns, *o = t->o + r * c->columns;
        const query q = vug_cpu_query_of(t, r);
        if (is_first_span(t->job, q, span)) {
            memcpy(total, o, (size_t)c->columns * sizeof(float));
            t->total_state[r] = t->state[r];
        } else if (sees(t->job, q, span)) {
            join_span(t->env->kernels, total, &t->total_state[r], o, &t->state[r], c->columns);
        }
    }
}

static void whole_tiles(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    attention *a = arg;
    const vug_cpu_cache *c = a->job->cache;
    float *scratch = a->env->scratch + thread * a->env->scratch_floats;
    tile t;
    for (int64_t i; (i = vug_cpu_deal_take(&a->deal)) < a->deal.n;) {
        open_tile(&t, a, i, scratch);
        const range spans = spans_of(&t);
        for (int64_t span = spans.first; span < spans.end; span++) {
            sum_span(&t, span);
            join_tile(&t, span);
        }
        for (int64_t r = 0; r < t.rows; r++)
            write_row(a, t.total + r * c->columns, &t.total_state[r],
                      a->job->out + token_row(&t, r) * c->width);
    }
}

/* ---- few rows: spans dealt out -------------------------------------------- */

/* The partial sums of a row (token and head) over one span: columns values, then
 * max and sum, padded to 16. */
static int64_t part_floats(const vug_cpu_cache *c)
{
    return c->columns + PANEL;
}

static float *part_of(const attention *a, int64_t row, int64_t span)
{
    return a->env->shared + (row * a->parts + span % a->parts) * part_floats(a->job->cache);
}

static void one_span(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    attention *a = arg;
    const vug_cpu_cache *c = a->job->cache;
    float *scratch = a->env->scratch + thread * a->env->scratch_floats;
    tile t;
    for (int64_t i; (i = vug_cpu_deal_take(&a->deal)) < a->deal.n;) {
        open_tile(&t, a, i / a->parts, scratch);
        const range spans = spans_of(&t);
        const int64_t span = spans.first + i % a->parts;
        if (span >= spans.end)
            continue;
        sum_span(&t, span);
        for (int64_t r = 0; r < t.rows; r++) {
            if (!sees(a->job, vug_cpu_query_of(&t, r), span))
                continue;
            float *part = part_of(a, token_row(&t, r), span);
            memcpy(part, t.o + r * c->columns, (size_t)c->columns * sizeof(float));
            memcpy(part + c->columns, &t.state[r], sizeof(t.state[r]));
        }
    }
}

static void join_parts(attention *a, int64_t row, query q)
{
    const vug_cpu_cache *c = a->job->cache;
    const range seen = vug_cpu_keys_seen(a->job, q);
    const int64_t first = seen.first / SPAN, end = (seen.end - 1) / SPAN + 1;
    float *total = part_of(a, row, first);
    vug_cpu_softmax total_state, state;
    memcpy(&total_state, total + c->columns, sizeof(total_state));
    for (int64_t span = first + 1; span < end; span++) {
        const float *part = part_of(a, row, span);
        memcpy(&state, part + c->columns, sizeof(state));
        join_span(a->env->kernels, total, &total_state, part, &state, c->columns);
    }
    write_row(a, total, &total_state, a->job->out + row * c->width);
}

static void split_spans(attention *a, int64_t tiles)
{
    const vug_cpu_attention_job *job = a->job;
    vug_cpu_deal_init(&a->deal, a->env, tiles * a->parts);
    if (a->parts == 1 && tiles == 1)
        one_span(a, 0, 1);
    else
        vug_pool_run(a->env->pool, one_span, a);
    int64_t token = 0;
    for (int s = 0; s < job->n_spans; s++) {
        for (int64_t t = 0; t < job->span[s].n; t++, token++) {
            for (int64_t h = 0; h < job->heads; h++)
                join_parts(a, token * job->heads + h, (query){ token, job->span[s].past + t });
        }
    }
}

/* ---- a job ---------------------------------------------------------------- */

int64_t vug_cpu_attention_scratch(int64_t width)
{
    const int64_t columns = vug_cpu_round_up(width, PANEL);
    return TILE_ROWS * (BLOCK + 3 * columns);
}

/* Spans that the slots can touch: one more than they fill. */
static int64_t most_spans(const vug_cpu_cache *c)
{
    return (c->slots + SPAN - 1) / SPAN + 1;
}

int64_t vug_cpu_attention_partial(const vug_cpu_cache *cache)
{
    return FEW_ROWS * most_spans(cache) * part_floats(cache);
}

/* The most spans that a sequence of the step touches. */
static int64_t spans_in_step(const vug_cpu_attention_job *job)
{
    int64_t most = 1;
    for (int s = 0; s < job->n_spans; s++) {
        const vug_span *span = &job->span[s];
        const int64_t first =
                job->mask.add
                        ? 0
                        : vug_cpu_keys_seen(job, (query){ .position = span->past }).first / SPAN;
        const int64_t n = (span->past + span->n - 1) / SPAN + 1 - first;
        most = n > most ? n : most;
    }
    return most;
}

void vug_cpu_attention(const vug_cpu_env *env, const vug_cpu_attention_job *job)
{
    attention a = { .env = env, .job = job, .group = job->heads / job->cache->heads };
    a.tile_rows = job->tile_rows > 0 && job->tile_rows < TILE_ROWS ? job->tile_rows : TILE_ROWS;
    int64_t tiles = 0, rows = 0;
    for (int s = 0; s < job->n_spans; s++) {
        tiles += tiles_per_head(&a, &job->span[s]) * job->cache->heads;
        rows += job->span[s].n * job->heads;
    }
    a.parts = spans_in_step(job);
    if (rows <= FEW_ROWS) {
        split_spans(&a, tiles);
        return;
    }
    vug_cpu_deal_init(&a.deal, env, tiles);
    vug_pool_run(env->pool, whole_tiles, &a);
}
