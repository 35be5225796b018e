#ifndef VUG_BACKEND_CPU_AVX512_BLOCKS_UNPACK_H
#define VUG_BACKEND_CPU_AVX512_BLOCKS_UNPACK_H

/*
 * Unpacking four blocks of four rows of quantized weights; see avx512_blocks_gemm.h.
 *
 * A format is described as for AVX2 (avx2_blocks.h), by functions that unpack two rows. The vectors
 * of two pairs of rows are joined. Blocks are transposed, so that the 32 bits of a vector belong to
 * one block of one row: vector i has elements 4 i .. 4 i + 3 of four blocks of rows a, b, c and d.
 */

#include "backend/cpu/avx512_formats.h"

enum {
    VECTORS = BLOCK / 4,
};

/* Four blocks of four rows of weights. */
typedef struct {
    __m512i q[VECTORS]; /* 0 .. 255: the integers plus zero_of(format); see keeps_nibbles */
    unit_scales scales;
    __mmask16 exists; /* a bit for each block */
} block_unit;

/* Vector j of the result has 32-bit unit j of each of four vectors. */
INLINE void transpose_four_wide(const __m512i *from, __m512i *to)
{
    const __m512i a = _mm512_unpacklo_epi32(from[0], from[1]);
    const __m512i b = _mm512_unpacklo_epi32(from[2], from[3]);
    const __m512i c = _mm512_unpackhi_epi32(from[0], from[1]);
    const __m512i d = _mm512_unpackhi_epi32(from[2], from[3]);
    to[0] = _mm512_unpacklo_epi64(a, b);
    to[1] = _mm512_unpackhi_epi64(a, b);
    to[2] = _mm512_unpacklo_epi64(c, d);
    to[3] = _mm512_unpackhi_epi64(c, d);
}

/* The integers of four blocks, transposed; blocks beyond n are 0. */
INLINE void unpack_wide(const block_group *pair, int at, const avx2_format *f, __m512i *q)
{
    __m512i first[UNIT], second[UNIT];
    for (int j = 0; j < UNIT; j++) {
        first[j] = second[j] = _mm512_setzero_si512();
        if (at + j < pair[0].n) {
            const block_halves ab = f->unpack(pair[0].w, at + j);
            const block_halves cd = f->unpack(pair[1].w, at + j);
            first[j] = join_integers(ab.first, cd.first);
            second[j] = join_integers(ab.second, cd.second);
        }
    }
    transpose_four_wide(first, q);
    transpose_four_wide(second, q + VECTORS / 2);
    const __m512i sign = _mm512_set1_epi8(-128);
    for (int i = 0; f->range == WITH_SIGN && i < VECTORS; i++)
        q[i] = _mm512_xor_si512(q[i], sign);
}

/* 4-bit integers without a table stay packed, which takes half of the stores: vector i < 4 has the
 * lower nibbles of vectors i and, in the upper ones, i + 4 of the integers. */
INLINE bool keeps_nibbles(const avx2_format *f)
{
    return f->load_packed && !f->nibble_values;
}

/* Vector `i` of the integers of a unit. */
INLINE __m512i integers_of(const avx2_format *f, const block_unit *u, int i)
{
    if (!keeps_nibbles(f))
        return u->q[i];
    const __m512i packed = u->q[i % UNIT];
    return i < UNIT ? lower_nibbles_wide(packed) : upper_nibbles_wide(packed);
}

/* Stores packed integers: vector i of `packed` has dword i of the bytes of each block. */
INLINE void store_packed(const __m512i *packed, const avx2_format *f, block_unit *u)
{
    for (int i = 0; i < UNIT; i++) {
        if (keeps_nibbles(f)) {
            u->q[i] = packed[i];
        } else {
            u->q[i] = integers_of_nibbles(f, lower_nibbles_wide(packed[i]));
            u->q[i + UNIT] = integers_of_nibbles(f, upper_nibbles_wide(packed[i]));
        }
    }
}

/* The same for packed integers, which are transposed before they are split. */
INLINE void unpack_packed_wide(const block_group *pair, int at, const avx2_format *f, block_unit *u)
{
    __m512i packed[UNIT], transposed[UNIT];
    for (int j = 0; j < UNIT; j++)
        packed[j] = at + j < pair[0].n ? join_integers(f->load_packed(pair[0].w, at + j),
                                                       f->load_packed(pair[1].w, at + j))
                                       : _mm512_setzero_si512();
    transpose_four_wide(packed, transposed);
    store_packed(transposed, f, u);
}

/* ---- short blocks ---------------------------------------------------------------- */

INLINE bool has_short_blocks(const avx2_format *f)
{
    return f->load_packed && f->has_half_scales;
}

INLINE void unpack_short_blocks(const block_group *pair, int at, const avx2_format *f,
                                block_unit *u)
{
    __m512i packed[UNIT], transposed[UNIT];
#pragma GCC unroll 4
    for (int r = 0; r < UNIT; r++) {
        const unit_words row = words_of_unit(f, row_of(pair, r), at / UNIT, pair[0].n);
        packed[r] = take_bytes(&row, f, f->offset ? 2 : 1, TRANSPOSED);
    }
    transpose_quarters(packed, transposed);
    store_packed(transposed, f, u);
}

/* ---- all formats ---------------------------------------------------------------- */

INLINE void unpack_unit(const block_group *pair, int at, const avx2_format *f, block_unit *u)
{
    const int n = pair[0].n - at < UNIT ? pair[0].n - at : UNIT;
    u->exists = (__mmask16)(0x1111U * ((1U << n) - 1));
    if (has_short_blocks(f))
        unpack_short_blocks(pair, at, f, u);
    else if (f->load_packed)
        unpack_packed_wide(pair, at, f, u);
    else
        unpack_wide(pair, at, f, u->q);
    load_scales(pair, at, f, &u->scales);
}

#endif
