/*
 * Attention of a tile of queries over one block of 64 keys: products with the keys, scores, a
 * step of the online softmax, and the weighted sum of the values. Both products are tile
 * kernels, which read keys and values in the format of the cache.
 */
#include <math.h>

#include "backend/cpu/attention_tile.h"

enum {
    PANEL = VUG_CPU_PANEL,
    BLOCK = VUG_CPU_KEY_BLOCK,
    TILE_ROWS = VUG_CPU_QUERY_TILE_ROWS,
};

/* ---- products ---------------------------------------------------------------- */

/* How many of the panels that are left are multiplied together. */
static int panels_of(const vug_cpu_kernels *kernels, int64_t left)
{
    return left > 1 && kernels->tile_panels > 1 ? 2 : 1;
}

/* Multiplies the query rows with the panels that contain `keys`; keys are counted from the
 * beginning of the block. */
static void multiply_keys(const vug_cpu_query_tile *t, vug_cpu_range rows, const uint8_t *page,
                          vug_cpu_range keys)
{
    const vug_cpu_kv_cache *c = t->job->cache;
    vug_cpu_tile_fn *multiply = t->env->kernels->keys[c->format];
    const int max_rows = t->env->kernels->tile_rows;
    const int64_t end = (keys.end + PANEL - 1) / PANEL;
    for (int64_t panel = keys.first / PANEL; panel < end;) {
        const uint8_t *k = page + panel * c->panel_bytes;
        const int panels = panels_of(t->env->kernels, end - panel);
        for (int64_t r = rows.first; r < rows.end; r += max_rows) {
            const int64_t left = rows.end - r;
            multiply(left < max_rows ? (int)left : max_rows,
                     &(vug_cpu_tile){ .a = t->q + r * c->width,
                                      .b = k,
                                      .c = t->p + r * BLOCK + panel * PANEL,
                                      .k = c->width,
                                      .panels = panels,
                                      .next_panel = c->panel_bytes,
                                      .lda = c->width,
                                      .ldb = PANEL,
                                      .ldc = BLOCK });
        }
        panel += panels;
    }
}

/* Adds the values of the block's keys to the outputs of `n` rows from `r`. */
static void multiply_values(const vug_cpu_query_tile *t, int64_t r, int n, const uint8_t *values,
                            vug_cpu_range keys)
{
    const vug_cpu_kv_cache *c = t->job->cache;
    vug_cpu_tile m = { .a = t->p + r * BLOCK + keys.first,
                       .k = keys.end - keys.first,
                       .lda = BLOCK,
                       .ldb = PANEL,
                       .ldc = c->columns,
                       .accumulate = true };
    for (int64_t column = 0; column < c->columns; column += (int64_t)m.panels * PANEL) {
        const vug_cpu_value_rows v = vug_cpu_kv_cache_values(c, values, column, keys.first);
        m.b = v.code;
        m.panels = panels_of(t->env->kernels, (c->columns - column) / PANEL);
        m.next_panel = v.panel_bytes;
        m.scale = v.scale;
        m.c = t->o + r * c->columns + column;
        t->env->kernels->values[c->format](n, &m);
    }
}

/* ---- visible keys ------------------------------------------------------------- */

/* What the mask adds to the scores of a row in the block that begins at `first`. */
static const float *mask_row(const vug_cpu_query_tile *t, int64_t r, int64_t first)
{
    const vug_cpu_attention_mask *mask = &t->job->mask;
    return mask->add + vug_cpu_query_at(t, r).token * mask->columns + first;
}

/* The row's visible keys in the block; a mask may hide more of them at both ends. */
static vug_cpu_range keys_in_block(const vug_cpu_query_tile *t, int64_t r, int64_t first)
{
    vug_cpu_range key = vug_cpu_visible_keys_in(t->job, vug_cpu_query_at(t, r), first, BLOCK);
    if (t->job->mask.add) {
        const float *add = mask_row(t, r, 0);
        while (key.first < key.end && add[key.first] == -INFINITY)
            key.first++;
        while (key.first < key.end && add[key.end - 1] == -INFINITY)
            key.end--;
    }
    return (vug_cpu_range){ key.first - first, key.end - first };
}

/* ---- the block ----------------------------------------------------------------- */

/* Turns products into scores and adds the mask. */
static void apply_mask(const vug_cpu_query_tile *t, float *p, const float *add, vug_cpu_range key)
{
    const vug_cpu_kernels *kernels = t->env->kernels;
    const vug_cpu_score_params *score = &t->job->score;
    const int64_t n = key.end - key.first;
    kernels->scale(p + key.first, score->scale, p + key.first, n);
    if (score->softcap > 0)
        kernels->softcap(p + key.first, score->softcap, p + key.first, n);
    for (int64_t i = key.first; i < key.end; i++)
        p[i] = add[i] == -INFINITY ? -INFINITY : p[i] + add[i];
}

/* One step of a row's online softmax. */
static void softmax_step(vug_cpu_query_tile *t, int64_t r, vug_cpu_range key, int64_t first)
{
    static const vug_cpu_score_params unchanged = { .scale = 1 };
    const vug_cpu_kernels *kernels = t->env->kernels;
    const int64_t columns = t->job->cache->columns;
    const bool masked = t->job->mask.add != NULL;
    float *p = t->p + r * BLOCK, *o = t->o + r * columns;
    if (masked)
        apply_mask(t, p, mask_row(t, r, first), key);
    const float rescale = kernels->softmax(p, (int)key.first, (int)key.end,
                                           masked ? &unchanged : &t->job->score, &t->state[r]);
    if (rescale != 1.0f)
        kernels->scale(o, rescale, o, columns);
}

/* Adds the values of a masked row, one run of consecutive visible keys after the other. */
static void multiply_runs(const vug_cpu_query_tile *t, int64_t r, const uint8_t *values,
                          const float *add, vug_cpu_range key)
{
    for (int64_t i = key.first; i < key.end;) {
        vug_cpu_range run = { i, i };
        while (run.end < key.end && add[run.end] != -INFINITY)
            run.end++;
        if (run.first < run.end)
            multiply_values(t, r, 1, values, run);
        i = run.end + 1;
    }
}

/* Adds the block's values; neighbouring rows with the same visible keys share a tile. */
static void add_values(const vug_cpu_query_tile *t, vug_cpu_range rows, const uint8_t *values,
                       const vug_cpu_range *key, int64_t first)
{
    for (int64_t r = rows.first; r < rows.end;) {
        int n = 1;
        if (t->job->mask.add)
            multiply_runs(t, r, values, mask_row(t, r, first), key[r]);
        else {
            while (n < t->env->kernels->tile_rows && r + n < rows.end &&
                   key[r + n].first == key[r].first && key[r + n].end == key[r].end)
                n++;
            multiply_values(t, r, n, values, key[r]);
        }
        r += n;
    }
}

void vug_cpu_attention_block(vug_cpu_query_tile *t, int64_t first)
{
    vug_cpu_range key[TILE_ROWS], rows = { 0, 0 }, any = { BLOCK, 0 };
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
    const vug_cpu_kv_cache *c = t->job->cache;
    uint8_t *keys = vug_cpu_kv_keys(c, t->job->kv, t->span, t->head, first / BLOCK);
    multiply_keys(t, rows, keys, any);
    for (int64_t r = rows.first; r < rows.end; r++) {
        if (key[r].first < key[r].end)
            softmax_step(t, r, key[r], first);
    }
    add_values(t, rows, vug_cpu_kv_values_after(c, keys), key, first);
}
