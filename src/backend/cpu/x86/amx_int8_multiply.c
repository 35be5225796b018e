/*
 * Tiles of x times panels of quantized weights, with AMX.
 *
 * A tile product multiplies a block of 16 rows of x with the same block of 16 rows of weights. Its
 * 256 sums of 32 bits go through memory to vector registers, where they are scaled and added to
 * lanes. One lane is computed after the other: then the sums of the lane stay in registers, and the
 * lane's part of the panel in the L1 cache.
 */
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/amx_int8.h"
#include "backend/cpu/x86/avx512_panels_terms.h"

enum {
    SIDE = VUG_CPU_PANEL,
    BLOCK = VUG_CPU_Q8_BLOCK,
    SUMS = SIDE * SIDE, /* of a tile product */
    HALVES = 2,
    N_TILES = 8,
};

/* The operand of LDTILECFG (Intel's manual, volume 1, chapter 18). */
typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[2 * N_TILES];
    uint8_t rows[2 * N_TILES];
} tile_config;

_Static_assert(sizeof(tile_config) == 64, "as the instruction reads it");

/* Tiles 0 and 1 hold x, 2 and 3 weights, 4 and 5 sums. */
INLINE void configure_tiles(const vug_cpu_q8_block_terms t)
{
    const int elements = t.factors ? BLOCK / HALVES : BLOCK;
    tile_config config = { .palette = 1 };
    for (int i = 0; i < HALVES; i++) {
        config.rows[i] = SIDE;
        config.row_bytes[i] = (uint16_t)elements;
        config.rows[2 + i] = (uint8_t)(elements / 4);
        config.row_bytes[2 + i] = 4 * SIDE;
        config.rows[4 + i] = SIDE;
        config.row_bytes[4 + i] = 4 * SIDE;
    }
    _tile_loadconfig(&config);
}

/* Begins the products of a block: [half][row of x][row of weights]. */
INLINE void start_products(const vug_cpu_q8_block_terms t, const vug_cpu_q8_tile *x,
                           const vug_cpu_q8_panel_block *w, int32_t *sums)
{
    _tile_loadd(0, x->q, BLOCK);
    _tile_loadd(2, w->q, 4 * SIDE);
    _tile_zero(4);
    if (t.offset)
        _tile_dpbsud(4, 0, 2);
    else
        _tile_dpbssd(4, 0, 2);
    _tile_stored(4, sums, 4 * SIDE);
    if (!t.factors)
        return;
    _tile_loadd(1, x->q[0] + BLOCK / HALVES, BLOCK);
    _tile_loadd(3, w->q[BLOCK / 4 / HALVES], 4 * SIDE);
    _tile_zero(5);
    if (t.offset)
        _tile_dpbsud(5, 1, 3);
    else
        _tile_dpbssd(5, 1, 3);
    _tile_stored(5, sums + SUMS, 4 * SIDE);
}

/* What a block of 16 weights adds to the lanes of row `r` of x, before the scale of x. */
INLINE __m512 terms_of_row(const vug_cpu_q8_block_terms t, const vug_cpu_q8_tile *x,
                           const vug_cpu_q8_panel_block *w, const int32_t *sums, int r)
{
    const int32_t *of_row = sums + (ptrdiff_t)r * SIDE;
    __m512i p[HALVES];
    p[0] = _mm512_loadu_si512(of_row);
    if (t.factors)
        p[1] = _mm512_loadu_si512(of_row + SUMS);
    return panel_terms(t, w, p, x->sum[r]);
}

/* Adds one lane of all tiles of x to y; `n` blocks of a row belong to it. The products of the next
 * block are computed while those of one are added. */
INLINE void multiply_lane(const vug_cpu_q8_block_terms t, const vug_cpu_q8_tile *x, int64_t tiles,
                          const vug_cpu_q8_panel_block *w, int64_t n, float *y)
{
    _Alignas(64) int32_t sums[2][HALVES * SUMS];
    const vug_cpu_q8_tile *last = x + tiles * n - 1;
    int now = 0;
    start_products(t, x, w, sums[0]);
    for (const float *end = y + tiles * SUMS; y < end; y += SUMS) {
        __m512 lane[SIDE];
#pragma GCC unroll 16
        for (int r = 0; r < SIDE; r++)
            lane[r] = _mm512_setzero_ps();
        for (int64_t i = 0; i < n; i++) {
            start_products(t, x < last ? x + 1 : x, i + 1 < n ? w + i + 1 : w, sums[1 - now]);
#pragma GCC unroll 16
            for (int r = 0; r < SIDE; r++)
                lane[r] = _mm512_fmadd_ps(_mm512_set1_ps(x->scale[r]),
                                          terms_of_row(t, x, w + i, sums[now], r), lane[r]);
            now = 1 - now;
            x++;
        }
#pragma GCC unroll 16
        for (ptrdiff_t r = 0; r < SIDE; r++)
            _mm512_storeu_ps(y + r * SIDE, _mm512_add_ps(_mm512_loadu_ps(y + r * SIDE), lane[r]));
    }
}

/* A thread whose tiles are not released slows down its switches. */
INLINE void multiply(const vug_cpu_q8_block_terms t, const vug_cpu_q8_panel_job *job)
{
    memset(job->y, 0, (size_t)(job->tiles * SUMS) * sizeof(float));
    configure_tiles(t);
    for (int64_t j = 0; j < VUG_CPU_LANES && j < job->blocks; j++) {
        const int64_t first = vug_cpu_lane_start(job->blocks, j);
        multiply_lane(t, job->x + first * job->tiles, job->tiles, job->w + first,
                      vug_cpu_lane_size(job->blocks, j), job->y);
    }
    _tile_release();
}

void vug_amx_int8_multiply(vug_cpu_q8_block_terms t, const vug_cpu_q8_panel_job *job)
{
    WITH_CONSTANT_TERMS(t, multiply, job);
}

#else
typedef int vug_amx_int8_multiply_is_empty; /* ISO C forbids an empty file */
#endif
