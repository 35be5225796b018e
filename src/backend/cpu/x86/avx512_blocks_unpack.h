#ifndef VUG_BACKEND_CPU_X86_AVX512_BLOCKS_UNPACK_H
#define VUG_BACKEND_CPU_X86_AVX512_BLOCKS_UNPACK_H

/*
 * Unpacking four blocks of four rows of quantized weights; see avx512_blocks_gemm.h.
 *
 * Blocks are transposed, so that the 32 bits of a vector belong to one block of one row: vector i has
 * elements 4 i .. 4 i + 3 of four blocks of the first row, then those of the second.
 */

#include "backend/cpu/x86/avx512_formats.h"

enum {
    VECTORS = BLOCK / 4,
};

/* Four blocks of four rows of weights. */
typedef struct {
    __m512i q[VECTORS]; /* 0 .. 255: the integers plus zero_of(format); see keeps_nibbles */
    unit_scales scales;
    __mmask16 exists; /* a bit for each block */
} block_unit;

/* ---- packed integers ---------------------------------------------------------- */

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

/* ---- other integers ---------------------------------------------------------- */

/* The integers of blocks 0 .. 3 or 4 .. 7 of a group: these blocks in order or, if the order of the
 * group is ALTERNATING, the first, third, second and fourth. */
INLINE unit_integers integers_of_blocks(const avx2_format *f, const wide_format *wide,
                                        const uint8_t *w, int half, int n)
{
    if (wide->order == NEIGHBOURS || wide->order == BY_PARITY) {
        const unit_integers u = wide->integers(f, w, half, n);
        if (wide->order == NEIGHBOURS)
            return u;
        return (unit_integers){ _mm512_unpacklo_epi8(u.first, u.second),
                                _mm512_unpackhi_epi8(u.first, u.second) };
    }
    const unit_integers a = wide->integers(f, w, 0, n), b = wide->integers(f, w, 1, n);
    if (half)
        return (unit_integers){ _mm512_shuffle_i64x2(a.first, b.first, 0xee),
                                _mm512_shuffle_i64x2(a.second, b.second, 0xee) };
    return (unit_integers){ _mm512_shuffle_i64x2(a.first, b.first, 0x44),
                            _mm512_shuffle_i64x2(a.second, b.second, 0x44) };
}

/* Vector i of the result has dword i of each block of the first row, then of the second. */
INLINE void transpose_rows(const __m512i *row, group_order order, __m512i *to)
{
    const int b = order == ALTERNATING ? 8 : 4, c = order == ALTERNATING ? 4 : 8;
    const __m512i first = _mm512_setr_epi32(0, b, c, 12, 16, 16 + b, 16 + c, 28, 1, 1 + b, 1 + c,
                                            13, 17, 17 + b, 17 + c, 29);
    const __m512i last = _mm512_add_epi32(first, _mm512_set1_epi32(2));
    const __m512i ab[2] = { _mm512_permutex2var_epi32(row[0], first, row[1]),
                            _mm512_permutex2var_epi32(row[0], last, row[1]) };
    const __m512i cd[2] = { _mm512_permutex2var_epi32(row[2], first, row[3]),
                            _mm512_permutex2var_epi32(row[2], last, row[3]) };
    to[0] = _mm512_shuffle_i64x2(ab[0], cd[0], 0x44);
    to[1] = _mm512_shuffle_i64x2(ab[0], cd[0], 0xee);
    to[2] = _mm512_shuffle_i64x2(ab[1], cd[1], 0x44);
    to[3] = _mm512_shuffle_i64x2(ab[1], cd[1], 0xee);
}

/* The integers of blocks at .. at + 3, of pairs of rows. Blocks beyond n are 0. */
INLINE void unpack_pairs(const block_group *pair, int at, const avx2_format *f, block_unit *u)
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
    transpose_four_wide(first, u->q);
    transpose_four_wide(second, u->q + VECTORS / 2);
}

/* The integers of a group, of single rows. Both units are read before one is stored, because they may share bytes. */
INLINE void unpack_rows(const block_group *pair, const avx2_format *f, const wide_format *wide,
                        block_unit *low, block_unit *high)
{
    const int n = pair[0].n;
    __m512i first[2][UNIT], second[2][UNIT];
#pragma GCC unroll 4
    for (int r = 0; r < UNIT; r++) {
#pragma GCC unroll 2
        for (int unit = 0; unit < 2; unit++) {
            const unit_integers u = integers_of_blocks(f, wide, row_of(pair, r), unit, n);
            first[unit][r] = u.first;
            second[unit][r] = u.second;
        }
    }
    transpose_rows(first[0], wide->order, low->q);
    transpose_rows(second[0], wide->order, low->q + VECTORS / 2);
    if (n <= UNIT)
        return;
    transpose_rows(first[1], wide->order, high->q);
    transpose_rows(second[1], wide->order, high->q + VECTORS / 2);
}

/* ---- all formats ---------------------------------------------------------------- */

/* All of a unit but the integers that unpack_rows sets. */
INLINE void unpack_unit(const block_group *pair, int at, const avx2_format *f,
                        const wide_format *wide, block_unit *u)
{
    const int n = pair[0].n - at < UNIT ? pair[0].n - at : UNIT;
    u->exists = (__mmask16)(0x1111U * ((1U << n) - 1));
    if (has_short_blocks(f))
        unpack_short_blocks(pair, at, f, u);
    else if (f->load_packed)
        unpack_packed_wide(pair, at, f, u);
    else if (wide->unpack_in_pairs)
        unpack_pairs(pair, at, f, u);
    load_scales(pair, at, f, &u->scales);
}

/* Unpacks a group; `high` is not set if it has at most four blocks. */
INLINE void unpack_units(const block_group *pair, const avx2_format *f, const wide_format *wide,
                         block_unit *low, block_unit *high)
{
    if (!f->load_packed && !wide->unpack_in_pairs)
        unpack_rows(pair, f, wide, low, high);
    unpack_unit(pair, 0, f, wide, low);
    if (pair[0].n > UNIT)
        unpack_unit(pair, UNIT, f, wide, high);
}

#endif
