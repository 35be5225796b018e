#ifndef VUG_BACKEND_CPU_AVX512_BLOCKS_UNPACK_H
#define VUG_BACKEND_CPU_AVX512_BLOCKS_UNPACK_H

/*
 * Unpacking four blocks of four rows of quantized weights; see avx512_blocks_gemm.h.
 *
 * A format is described as for AVX2 (avx2_blocks.h), by functions that unpack two rows. The vectors
 * of two pairs of rows are joined. Blocks are transposed, so that the 32 bits of a vector belong to
 * one block of one row: vector i has elements 4 i .. 4 i + 3 of four blocks of rows a, b, c and d.
 */

#include "backend/cpu/avx512_short_blocks.h"

enum {
    VECTORS = BLOCK / 4,
};

/* Four blocks of four rows of weights. Fields that a format does not use are not set. */
typedef struct {
    __m512i q[VECTORS]; /* 0 .. 255: the integers plus zero_of(format); see keeps_nibbles */
    __m512 scale, offset;
    __m512 factor[2]; /* of each half, in formats where the halves differ */
    __m512i minimum;  /* two 16-bit numbers for each block, in the same formats */
    __mmask16 exists; /* a bit for each block */
} block_unit;

/* The halves of a block have factors of their own. Otherwise the factor of a block is part of its
 * scale, and its minimum of its offset: a scale in F16 times an integer is exact. */
INLINE bool has_factors(const avx2_format *f)
{
    return f->factor && !f->one_factor;
}

INLINE __m512i join_integers(__m256i ab, __m256i cd)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(ab), cd, 1);
}

INLINE __m512 join_floats(__m256 ab, __m256 cd)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(ab), cd, 1);
}

INLINE __m512i join_words(const block_group *pair, int at, block_words_fn *words)
{
    return join_integers(words(&pair[0], at), words(&pair[1], at));
}

INLINE __m512 join_scales(const block_group *pair, int at, block_floats_fn *scale)
{
    return join_floats(scale(&pair[0], at), scale(&pair[1], at));
}

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

/* Quarter i of each of four vectors becomes vector i. */
INLINE void transpose_quarters(const __m512i *from, __m512i *to)
{
    const __m512i a = _mm512_shuffle_i32x4(from[0], from[1], 0x44);
    const __m512i b = _mm512_shuffle_i32x4(from[2], from[3], 0x44);
    const __m512i c = _mm512_shuffle_i32x4(from[0], from[1], 0xee);
    const __m512i d = _mm512_shuffle_i32x4(from[2], from[3], 0xee);
    to[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    to[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
    to[2] = _mm512_shuffle_i32x4(c, d, 0x88);
    to[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

/* The same for short blocks. */
INLINE void unpack_short_blocks(const block_group *pair, int at, const avx2_format *f,
                                block_unit *u)
{
    short_unit row[UNIT];
    __m512i packed[UNIT], transposed[UNIT];
#pragma GCC unroll 4
    for (int r = 0; r < UNIT; r++) {
        row[r] = load_short_blocks(pair, at, f, r);
        packed[r] = packed_of_blocks(&row[r], f, TRANSPOSED);
    }
    transpose_quarters(packed, transposed);
    store_packed(transposed, f, u);
    u->scale = halves_of_blocks(row, f, 0, TRANSPOSED);
    if (f->offset)
        u->offset = halves_of_blocks(row, f, 1, TRANSPOSED);
}

/* ---- all formats ---------------------------------------------------------------- */

/* The lower or upper 16 bits of each 32, as floats. */
INLINE __m512 words_as_floats(__m512i words, int upper)
{
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(upper ? words : _mm512_slli_epi32(words, 16), 16));
}

/* The F16 numbers `offset` bytes into blocks at .. at + 3 of four rows; those beyond n are 0. A
 * vector has the numbers of two or of four blocks. */
INLINE __m512 load_halves(const block_group *pair, int at, int64_t stride, int64_t offset)
{
    const int words = (int)stride / 2, per_load = 3 * words < 32 ? UNIT : UNIT / 2;
    const int n = pair[0].n - at;
    const __m512i order =
            _mm512_set1_epi64(per_load == UNIT ? (long long)words << 16 | (long long)words << 33 |
                                                         (long long)(3 * words) << 48
                                               : (long long)words << 16 | (long long)words << 48);
    __m512i halves = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int r = 0; r < UNIT; r++) {
        const row_pair w = pair[r / 2].w;
        const uint8_t *row = (r % 2 ? w.b : w.a) + at * stride + offset;
#pragma GCC unroll 4
        for (int j = 0; j < UNIT; j += per_load) {
            uint32_t read = 0;
#pragma GCC unroll 4
            for (int i = 0; i < per_load; i++)
                read |= j + i < n ? 1U << (i * words) : 0;
            const __mmask32 to = ((1U << per_load) - 1) << (UNIT * r + j);
            const __m512i from = _mm512_maskz_loadu_epi16(read, row + j * stride);
            halves = _mm512_mask_permutexvar_epi16(halves, to, order, from);
        }
    }
    return _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
}

INLINE void unpack_unit(const block_group *pair, int at, const avx2_format *f, block_unit *u)
{
    const int n = pair[0].n - at < UNIT ? pair[0].n - at : UNIT;
    u->exists = (__mmask16)(0x1111U * ((1U << n) - 1));
    if (has_short_blocks(f)) {
        unpack_short_blocks(pair, at, f, u);
        return;
    }
    if (f->load_packed)
        unpack_packed_wide(pair, at, f, u);
    else
        unpack_wide(pair, at, f, u->q);
    if (f->has_half_scales) {
        u->scale = load_halves(pair, at, f->bytes / GROUP, 0);
        if (f->offset)
            u->offset = load_halves(pair, at, f->bytes / GROUP, 2);
        return;
    }
    u->scale = join_scales(pair, at, f->scale);
    if (f->offset)
        u->offset = join_scales(pair, at, f->offset);
    if (!f->factor)
        return;
    const __m512i factor = join_words(pair, at, f->factor);
    if (has_factors(f)) {
        u->factor[0] = words_as_floats(factor, 0);
        u->factor[1] = words_as_floats(factor, 1);
        if (f->minimum)
            u->minimum = join_words(pair, at, f->minimum);
        return;
    }
    u->scale = _mm512_mul_ps(u->scale, words_as_floats(factor, 0));
    if (f->minimum)
        u->offset = _mm512_mul_ps(u->offset, words_as_floats(join_words(pair, at, f->minimum), 0));
}

#endif
