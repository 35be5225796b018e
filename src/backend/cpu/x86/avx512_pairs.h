#ifndef VUG_BACKEND_CPU_X86_AVX512_PAIRS_H
#define VUG_BACKEND_CPU_X86_AVX512_PAIRS_H

/*
 * Sums of products of BF16 pairs for AVX-512. A file that includes this header defines
 *
 *     add_pairs(exists, x, w, sum)    the sums of 16 lanes, changed where `exists` has a bit
 *
 * A vector of weights has 16 columns of a panel, or 8 pairs of two rows.
 */

#include "backend/cpu/x86/avx2.h"
#include "backend/cpu/x86/avx2_pairs.h"
#include "backend/cpu/x86/avx512_panel_sums.h"

enum {
    TILE_ROWS = VUG_AVX512_TILE_ROWS,
    TILE_PANELS = VUG_CPU_MAX_TILE_PANELS,
    STREAM_ROWS = MAX_STREAM_ROWS,
    ROW_PAIRS = STREAMS / 2,
};

INLINE __m512 add_pairs(__mmask16 exists, __m512i x, __m512i w, __m512 sum);

/* Panels share each pair of A, because a processor loads fewer vectors than it multiplies. */
INLINE void sum_tile(const int rows, const int panels, const vug_cpu_tile *t)
{
    const uint8_t *b = t->b;
    const float *a = t->a;
    const int64_t lda = t->lda, step = t->ldb * PAIR_BYTES, next = t->next_panel;
    panel_sums s;
    __m512i w[TILE_PANELS];
    clear_sums(rows, panels, &s);
    for (int64_t i = t->k; i > 0; i--, a++, b += step) {
#pragma GCC unroll 3
        for (int p = 0; p < panels; p++)
            w[p] = _mm512_loadu_si512(b + p * next);
#pragma GCC unroll 8
        for (int64_t r = 0; r < rows; r++) {
            const __m512i x = _mm512_castps_si512(_mm512_set1_ps(a[r * lda]));
#pragma GCC unroll 3
            for (int p = 0; p < panels; p++)
                s.at[r][p] = add_pairs(0xffff, x, w[p], s.at[r][p]);
        }
    }
    store_sums(rows, panels, t, &s);
}

INLINE void sum_rows(const int panels, int rows, const vug_cpu_tile *t)
{
    WITH_CONSTANT_ROWS(TILE_ROWS, rows, sum_tile, panels, t);
}

NOINLINE void tile_sums(int rows, const vug_cpu_tile *t)
{
    WITH_CONSTANT_ROWS(TILE_PANELS, t->panels, sum_rows, rows, t);
}

typedef struct {
    __m512 at[STREAM_ROWS][ROW_PAIRS];
} row_pair_lanes;

/* 8 pairs at `from`, those with a bit in `exists`. */
INLINE __m256i load_eight(__mmask8 exists, const void *from)
{
    return _mm256_maskz_loadu_epi32(exists, from);
}

/* Adds pairs i .. i + 7, those with a bit in `exists`. */
INLINE void add_eight(const stream_block *b, const int rows, int64_t i, __mmask8 exists,
                      row_pair_lanes *s)
{
    const __mmask16 both = (__mmask16)(exists * 0x101);
    __m512i w[ROW_PAIRS];
#pragma GCC unroll 2
    for (int p = 0; p < ROW_PAIRS; p++) {
        const uint8_t *at = b->g->w + i * PAIR_BYTES + b->g->stride * 2 * p;
        w[p] = _mm512_inserti64x4(_mm512_castsi256_si512(load_eight(exists, at)),
                                  load_eight(exists, at + b->g->stride), 1);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        const __m512i x = _mm512_broadcast_i64x4(load_eight(exists, b->x[r] + i));
#pragma GCC unroll 2
        for (int p = 0; p < ROW_PAIRS; p++)
            s->at[r][p] = add_pairs(both, x, w[p], s->at[r][p]);
    }
}

INLINE void sum_block(const int rows, const stream_block *b, float *sums)
{
    row_pair_lanes s;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        s.at[r][0] = s.at[r][1] = _mm512_setzero_ps();
    int64_t i = b->first;
    for (; i + LINE_PAIRS <= b->end; i += LINE_PAIRS) {
        prefetch_streams(VUG_DTYPE_F32, b, i);
        add_eight(b, rows, i, 0xff, &s);
        add_eight(b, rows, i + LANES, 0xff, &s);
    }
    for (; i < b->end; i += LANES) {
        const int64_t left = b->end - i;
        add_eight(b, rows, i, (__mmask8)(left < LANES ? (1U << left) - 1 : 0xff), &s);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 2
        for (ptrdiff_t p = 0; p < ROW_PAIRS; p++)
            _mm512_storeu_ps(sums + ((ptrdiff_t)r * STREAMS + 2 * p) * LANES, s.at[r][p]);
    }
}

NOINLINE void block_sums(int rows, const stream_block *b, float *sums)
{
    WITH_CONSTANT_ROWS(STREAM_ROWS, rows, sum_block, b, sums);
}

#endif
