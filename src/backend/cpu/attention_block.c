/*
 * Attention of a tile of queries over one block of 64 keys: products, scores, a step of
 * the online softmax, and the values' sums. Both products are the tile kernel, in F32:
 * keys and values of a cache in another format are widened first, 16 keys and 16 columns
 * of values at a time, for all rows of the tile.
 */
#include <math.h>

#include "backend/cpu/attention.h"

enum {
    PANEL = VUG_CPU_PANEL,
    BLOCK = VUG_CPU_BLOCK,
    GROUP = VUG_KV_GROUP,
    TILE_ROWS = VUG_CPU_TILE_ROWS,
    MOST_PIECES = TILE_ROWS * BLOCK / 2, /* a mask may leave out every other key */
};

typedef vug_cpu_queries tile;
typedef vug_cpu_range range;

/* Rows r .. r + n - 1 of the tile, which see the block's keys first .. end - 1 side by
 * side. */
typedef struct {
    uint8_t r, n, first, end;
} piece;

/* ---- what the cache holds ---------------------------------------------------- */

static void widen(const tile *t, const uint8_t *from, float *to, int64_t n)
{
    const vug_dtype dtype = t->job->cache->format == VUG_KV_F16 ? VUG_DTYPE_F16 : VUG_DTYPE_BF16;
    t->env->kernels->format[dtype]->decode(from, 1, to, n);
}

/* [E][16] of 16 keys. */
static const float *keys_of(const tile *t, const uint8_t *panel)
{
    const vug_cpu_cache *c = t->job->cache;
    if (c->format == VUG_KV_F32)
        return (const float *)(const void *)panel;
    if (c->format != VUG_KV_Q8) {
        widen(t, panel, t->wide, c->width * PANEL);
        return t->wide;
    }
    for (int64_t e = 0; e < c->width; e += GROUP) {
        const float *scale = (const float *)(const void *)panel;
        const int64_t n = c->width - e < GROUP ? c->width - e : GROUP;
        panel += PANEL * sizeof(float);
        t->env->kernels->widen_columns((const int8_t *)panel, scale, t->wide + e * PANEL, n);
        panel += n * PANEL;
    }
    return t->wide;
}

/* [64][16], columns c .. c + 15 of a block of values; rows outside `keys` unspecified. */
static const float *values_of(const tile *t, const uint8_t *block, int64_t c, range keys)
{
    const vug_kv format = t->job->cache->format;
    const int64_t at = keys.first * PANEL, n = keys.end - keys.first;
    if (format == VUG_KV_F32)
        return (const float *)(const void *)block + c * BLOCK;
    if (format != VUG_KV_Q8) {
        widen(t, block + (c * BLOCK + at) * 2, t->wide + at, n * PANEL);
        return t->wide;
    }
    /* Groups lie one behind the other, each with its 64 scales in front. */
    const int64_t scales = BLOCK * (int64_t)sizeof(float);
    block += c / GROUP * (scales + GROUP * BLOCK);
    const float *scale = (const float *)(const void *)block + keys.first;
    const uint8_t *code = block + scales + c % GROUP * BLOCK + at;
    t->env->kernels->widen_rows((const int8_t *)code, scale, t->wide + at, n);
    return t->wide;
}

/* ---- products ---------------------------------------------------------------- */

/* Of rows with the panels that hold the keys, which count from the block's first. */
static void multiply_keys(const tile *t, range rows, int64_t slot, range keys)
{
    const vug_cpu_cache *c = t->job->cache;
    for (int64_t panel = keys.first / PANEL; panel * PANEL < keys.end; panel++) {
        const float *k = keys_of(t, t->k + (slot / PANEL + panel) * c->panel_bytes);
        for (int64_t r = rows.first; r < rows.end; r += VUG_CPU_ROWS) {
            const int64_t left = rows.end - r;
            t->env->kernels->tile(left < VUG_CPU_ROWS ? (int)left : VUG_CPU_ROWS,
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

/* Adds the values of the block's keys to the outputs of the rows that see them. */
static void multiply_values(const tile *t, int64_t slot, range keys, const piece *at, int n)
{
    const vug_cpu_cache *cache = t->job->cache;
    const int64_t columns = cache->columns;
    const uint8_t *block = t->v + slot / BLOCK * cache->block_bytes;
    for (int64_t c = 0; c < columns; c += PANEL) {
        const float *v = values_of(t, block, c, keys);
        for (int i = 0; i < n; i++) {
            const int64_t r = at[i].r, first = at[i].first;
            t->env->kernels->tile(at[i].n, &(vug_cpu_tile){ .a = t->p + r * BLOCK + first,
                                                            .b = v + first * PANEL,
                                                            .c = t->o + r * columns + c,
                                                            .k = at[i].end - first,
                                                            .lda = BLOCK,
                                                            .ldb = PANEL,
                                                            .ldc = columns,
                                                            .accumulate = true });
        }
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

/* A masked row's keys, one run of those that are seen after the other. */
static int add_runs(int64_t r, const float *add, range key, piece *out)
{
    int n = 0;
    for (int64_t i = key.first; i < key.end;) {
        int64_t end = i;
        while (end < key.end && add[end] != -INFINITY)
            end++;
        if (i < end)
            out[n++] = (piece){ (uint8_t)r, 1, (uint8_t)i, (uint8_t)end };
        i = end + 1;
    }
    return n;
}

/* Rows that see the same keys side by side together; without keys they have no piece. */
static int find_pieces(const tile *t, range rows, const range *key, int64_t first, piece *out)
{
    int n = 0;
    for (int64_t r = rows.first; r < rows.end;) {
        int m = 1;
        if (t->job->mask.add) {
            n += add_runs(r, mask_row(t, r, first), key[r], out + n);
        } else {
            while (m < VUG_CPU_ROWS && r + m < rows.end && key[r + m].first == key[r].first &&
                   key[r + m].end == key[r].end)
                m++;
            if (key[r].first < key[r].end)
                out[n++] = (piece){ (uint8_t)r, (uint8_t)m, (uint8_t)key[r].first,
                                    (uint8_t)key[r].end };
        }
        r += m;
    }
    return n;
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
    piece at[MOST_PIECES];
    const int n = find_pieces(t, rows, key, first, at);
    multiply_values(t, slot, any, at, n);
}
