/*
 * Attention of a tile of queries over one block of 64 keys: products, scores, a step of
 * the online softmax, and the values' sums. Both products are tile kernels, which read
 * keys and values as the cache has them.
 */
#include <math.h>

#include "backend/cpu/attention.h"

enum {
    PANEL = VUG_CPU_PANEL,
    BLOCK = VUG_CPU_BLOCK,
    TILE_ROWS = VUG_CPU_TILE_ROWS,
};

typedef vug_cpu_queries tile;
typedef vug_cpu_range range;

/* ---- products ---------------------------------------------------------------- */

/* Of rows with the panels that hold the keys, which count from the block's first. */
static void multiply_keys(const tile *t, range rows, int64_t slot, range keys)
{
    const vug_cpu_cache *c = t->job->cache;
    vug_cpu_tile_fn *multiply = t->env->kernels->keys[c->format];
    for (int64_t panel = keys.first / PANEL; panel * PANEL < keys.end; panel++) {
        const uint8_t *k = t->k + (slot / PANEL + panel) * c->panel_bytes;
        for (int64_t r = rows.first; r < rows.end; r += VUG_CPU_ROWS) {
            const int64_t left = rows.end - r;
            multiply(left < VUG_CPU_ROWS ? (int)left : VUG_CPU_ROWS,
                     &(vug_cpu_tile){ .a = t->q + r * c->width,
                                      .b = k,
                                      .c = t->p + r * BLOCK + panel * PANEL,
                                      .k = c->width,
                                      .lda = c->width,
                                      .ldb = PANEL,
                                      .ldc = BLOCK });
        }
    }
}

/* Adds the values of the block's keys to the outputs of `n` rows from `r`. */
static void multiply_values(const tile *t, int64_t r, int n, const uint8_t *block, range keys)
{
    const vug_cpu_cache *c = t->job->cache;
    vug_cpu_tile m = { .a = t->p + r * BLOCK + keys.first,
                       .k = keys.end - keys.first,
                       .lda = BLOCK,
                       .ldb = PANEL,
                       .ldc = c->columns,
                       .accumulate = true };
    for (int64_t column = 0; column < c->columns; column += PANEL) {
        const vug_cpu_values v = vug_cpu_cache_values(c, block, column, keys.first);
        m.b = v.code;
        m.scale = v.scale;
        m.c = t->o + r * c->columns + column;
        t->env->kernels->values[c->format](n, &m);
    }
}

/* ---- who sees what ------------------------------------------------------------ */

/* What a mask adds to the scores of a row in the block that begins at `first`. */
static const float *mask_row(const tile *t, int64_t r, int64_t first)
{
    const vug_cpu_mask *mask = &t->job->mask;
    return mask->add + vug_cpu_query_of(t, r).token * mask->columns + first;
}

/* The row's keys in the block; a mask may leave out more of both ends. */
static range keys_in_block(const tile *t, int64_t r, int64_t first)
{
    range key = vug_cpu_keys_within(t->job, vug_cpu_query_of(t, r), first, BLOCK);
    if (t->job->mask.add) {
        const float *add = mask_row(t, r, 0);
        while (key.first < key.end && add[key.first] == -INFINITY)
            key.first++;
        while (key.first < key.end && add[key.end - 1] == -INFINITY)
            key.end--;
    }
    return (range){ key.first - first, key.end - first };
}

/* ---- the block ----------------------------------------------------------------- */

/* Products become scores, and the mask is added. */
static void add_mask(const tile *t, float *p, const float *add, range key)
{
    const vug_cpu_kernels *kernels = t->env->kernels;
    const vug_cpu_score *score = &t->job->score;
    const int64_t n = key.end - key.first;
    kernels->scale(p + key.first, score->scale, p + key.first, n);
    if (score->softcap > 0)
        kernels->softcap(p + key.first, score->softcap, p + key.first, n);
    for (int64_t i = key.first; i < key.end; i++)
        p[i] = add[i] == -INFINITY ? -INFINITY : p[i] + add[i];
}

/* A row's step of the softmax. */
static void add_scores(tile *t, int64_t r, range key, int64_t first)
{
    static const vug_cpu_score done = { .scale = 1 };
    const vug_cpu_kernels *kernels = t->env->kernels;
    const int64_t columns = t->job->cache->columns;
    const bool masked = t->job->mask.add != NULL;
    float *p = t->p + r * BLOCK, *o = t->o + r * columns;
    if (masked)
        add_mask(t, p, mask_row(t, r, first), key);
    const float rescale = kernels->softmax(p, (int)key.first, (int)key.end,
                                           masked ? &done : &t->job->score, &t->state[r]);
    if (rescale != 1.0f)
        kernels->scale(o, rescale, o, columns);
}

/* The values of a masked row, one run of keys that are seen after the other. */
static void multiply_runs(const tile *t, int64_t r, const uint8_t *block, const float *add,
                          range key)
{
    for (int64_t i = key.first; i < key.end;) {
        range run = { i, i };
        while (run.end < key.end && add[run.end] != -INFINITY)
            run.end++;
        if (run.first < run.end)
            multiply_values(t, r, 1, block, run);
        i = run.end + 1;
    }
}

/* The block's values, for rows that see the same keys side by side. */
static void add_values(const tile *t, range rows, int64_t slot, const range *key, int64_t first)
{
    const uint8_t *block = t->v + slot / BLOCK * t->job->cache->block_bytes;
    for (int64_t r = rows.first; r < rows.end;) {
        int n = 1;
        if (t->job->mask.add)
            multiply_runs(t, r, block, mask_row(t, r, first), key[r]);
        else {
            while (n < VUG_CPU_ROWS && r + n < rows.end && key[r + n].first == key[r].first &&
                   key[r + n].end == key[r].end)
                n++;
            multiply_values(t, r, n, block, key[r]);
        }
        r += n;
    }
}

void vug_cpu_attention_block(tile *t, int64_t first)
{
    range key[TILE_ROWS], rows = { 0, 0 }, any = { BLOCK, 0 };
    for (int64_t r = 0; r < t->rows; r++) {
        key[r] = keys_in_block(t, r, first);
        if (key[r].first >= key[r].end)
            continue;
        if (rows.end == 0)
            rows.first = r;
        rows.end = r + 1;
        any.first = key[r].first < any.first ? key[r].first : any.first;
        any.end = key[r].end > any.end ? key[r].end : any.end;
    }
    if (rows.end == 0)
        return;
    const int64_t slot = first % t->job->cache->slots;
    multiply_keys(t, rows, slot, any);
    for (int64_t r = rows.first; r < rows.end; r++) {
        if (key[r].first < key[r].end)
            add_scores(t, r, key[r], first);
    }
    add_values(t, rows, slot, key, first);
}
