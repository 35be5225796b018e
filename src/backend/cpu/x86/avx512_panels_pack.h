#ifndef VUG_BACKEND_CPU_X86_AVX512_PANELS_PACK_H
#define VUG_BACKEND_CPU_X86_AVX512_PANELS_PACK_H

/* Unpacking 16 rows of quantized weights, for any format, to a panel (vug_cpu_q8_panel_block). */

#include "backend/cpu/q8_panels.h"
#include "backend/cpu/x86/avx512_blocks_unpack.h"

enum {
    QUADS = VUG_CPU_PANEL / 4, /* of rows */
    PAIRS = VUG_CPU_PANEL / 2,
    HALVES = 2, /* of a group of blocks */
};

INLINE vug_cpu_q8_block_terms block_terms_of(const avx2_format *f)
{
    return (vug_cpu_q8_block_terms){ .offset = f->offset != 0, .factors = has_factors(f) };
}

/* From four vectors of four rows each, in which a row has a dword of each of four blocks: vector j
 * has the dwords of block j. */
INLINE void transpose_blocks(__m512i *v)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i quad[QUADS] = { _mm512_permutexvar_epi32(order, v[0]),
                                  _mm512_permutexvar_epi32(order, v[1]),
                                  _mm512_permutexvar_epi32(order, v[2]),
                                  _mm512_permutexvar_epi32(order, v[3]) };
    transpose_quarters(quad, v);
}

/* Up to four neighbouring blocks, which lie apart in a panel. */
typedef struct {
    vug_cpu_q8_panel_block *at[UNIT];
    int n;
} panel_blocks;

/* Stores integers minus `zero`. */
INLINE void store_integers(const avx2_format *f, const block_unit *unit, const int zero,
                           const panel_blocks *to)
{
#pragma GCC unroll 8
    for (int i = 0; i < VECTORS; i++) {
        __m512i v[QUADS];
#pragma GCC unroll 4
        for (int q = 0; q < QUADS; q++) {
            v[q] = integers_of(f, &unit[q], i);
            if (zero)
                v[q] = _mm512_sub_epi8(v[q], _mm512_set1_epi8((char)zero));
        }
        transpose_blocks(v);
#pragma GCC unroll 4
        for (int j = 0; j < UNIT; j++) {
            if (j < to->n)
                _mm512_storeu_si512(to->at[j]->q[i], v[j]);
        }
    }
}

INLINE void store_factors(const avx2_format *f, const block_unit *unit, const panel_blocks *to)
{
    __m512i first[QUADS], second[QUADS], minimum[QUADS];
#pragma GCC unroll 4
    for (int q = 0; q < QUADS; q++) {
        first[q] = _mm512_castps_si512(unit[q].scales.factor[0]);
        second[q] = _mm512_castps_si512(unit[q].scales.factor[1]);
        minimum[q] = f->minimum ? unit[q].scales.minimum : _mm512_setzero_si512();
    }
    transpose_blocks(first);
    transpose_blocks(second);
    transpose_blocks(minimum);
#pragma GCC unroll 4
    for (int j = 0; j < UNIT; j++) {
        if (j >= to->n)
            continue;
        _mm512_storeu_si512(to->at[j]->factor[0], first[j]);
        _mm512_storeu_si512(to->at[j]->factor[1], second[j]);
        if (f->minimum)
            _mm512_storeu_si512(to->at[j]->minimum, minimum[j]);
    }
}

/* Stores `unit`, four blocks of each quad of rows. */
INLINE void store_blocks(const avx2_format *f, const block_unit *unit, const int zero,
                         const panel_blocks *to)
{
    __m512i scale[QUADS], offset[QUADS];
    store_integers(f, unit, zero, to);
#pragma GCC unroll 4
    for (int q = 0; q < QUADS; q++) {
        scale[q] = _mm512_castps_si512(unit[q].scales.scale);
        offset[q] = f->offset ? _mm512_castps_si512(unit[q].scales.offset) : scale[q];
    }
    transpose_blocks(scale);
    transpose_blocks(offset);
#pragma GCC unroll 4
    for (int j = 0; j < UNIT; j++) {
        if (j >= to->n)
            continue;
        _mm512_storeu_si512(to->at[j]->scale, scale[j]);
        if (f->offset)
            _mm512_storeu_si512(to->at[j]->offset, offset[j]);
    }
    if (has_factors(f))
        store_factors(f, unit, to);
}

/* The `n` blocks from `first` on of a panel whose rows have `blocks`. */
INLINE panel_blocks blocks_at(vug_cpu_q8_panel_block *panel, int64_t blocks, int64_t first, int n)
{
    panel_blocks to = { .n = n };
    for (int j = 0; j < n; j++)
        to.at[j] = panel + vug_cpu_lane_start(blocks, (first + j) % GROUP) + first / GROUP;
    return to;
}

/* Unpacks the group of `n` blocks that begins at block `first`. */
INLINE void pack_group(block_group *pair, int64_t first, int n, const avx2_format *f,
                       const wide_format *wide, block_unit (*unit)[QUADS])
{
    for (int p = 0; p < PAIRS; p++) {
        pair[p].first = first;
        pair[p].n = n;
        prefetch_group(&pair[p], f, AHEAD_OF_SEVERAL);
    }
    for (ptrdiff_t q = 0; q < QUADS; q++) {
        /* The compiler knows n in a copy. */
        block_group quad[2] = { pair[2 * q], pair[2 * q + 1] };
        quad[0].n = quad[1].n = n;
        unpack_units(quad, f, wide, &unit[0][q], &unit[1][q]);
    }
    for (int p = 0; p < PAIRS; p++)
        pair[p].w = advance_rows(pair[p].w, f->bytes);
}

/* See vug_cpu_q8_panel_format. Stores the integers plus zero_of(f) minus `zero`. */
INLINE void pack_panel(const vug_matrix *w, int64_t row, int rows, const avx2_format *f,
                       const wide_format *wide, const int zero, vug_cpu_q8_panel_block *panel)
{
    const int64_t blocks = w->columns / BLOCK;
    block_group pair[PAIRS];
    block_unit unit[HALVES][QUADS];
    for (int p = 0; p < PAIRS; p++) {
        const int a = 2 * p < rows ? 2 * p : rows - 1, b = 2 * p + 1 < rows ? 2 * p + 1 : rows - 1;
        pair[p] = rows_of(w, row + a, row + b, f, &w->scales);
    }
    for (int64_t first = 0; first < blocks; first += GROUP) {
        const int64_t left = blocks - first;
        const int n = left < GROUP ? (int)left : GROUP;
        if (!f->may_end_within_group || left >= GROUP)
            pack_group(pair, first, GROUP, f, wide, unit);
        else
            pack_group(pair, first, n, f, wide, unit);
        for (int h = 0; h * UNIT < n; h++) {
            const int of_half = n - h * UNIT < UNIT ? n - h * UNIT : UNIT;
            const panel_blocks to = blocks_at(panel, blocks, first + (ptrdiff_t)h * UNIT, of_half);
            store_blocks(f, unit[h], zero, &to);
        }
    }
}

#endif
