#ifndef VUG_BACKEND_CPU_X86_AVX2_BLOCKS_UNPACK_H
#define VUG_BACKEND_CPU_X86_AVX2_BLOCKS_UNPACK_H

/*
 * Unpacking four blocks of four rows of quantized weights; see avx2_blocks_gemm.h.
 *
 * The blocks are transposed, so that the 32 bits of a vector belong to one block of one row:
 * vector i has elements 4 i .. 4 i + 3 of four blocks of rows a and b.
 */

#include "backend/cpu/x86/avx2_blocks_gemv.h"

enum {
    PAIRS = 2, /* of rows of weights */
    VECTORS = BLOCK / 4,
};

/* Four blocks of four rows of weights, as two pairs. Fields that a format does not use are not
 * set. */
typedef struct {
    __m256i q[VECTORS][PAIRS];
    __m256i factor[2][PAIRS]; /* of each half, twice in 32 bits */
    __m256i minimum[PAIRS];   /* what is multiplied with the sums of x and added as integers or,
                                 in formats with offsets, multiplied by them */
    __m256 scale[PAIRS], offset[PAIRS];
} weight_unit;

/* Vector j of the result has 32-bit unit j of each of four vectors. */
INLINE void transpose_four(const __m256i *from, __m256i *to)
{
    const __m256i a = _mm256_unpacklo_epi32(from[0], from[1]);
    const __m256i b = _mm256_unpacklo_epi32(from[2], from[3]);
    const __m256i c = _mm256_unpackhi_epi32(from[0], from[1]);
    const __m256i d = _mm256_unpackhi_epi32(from[2], from[3]);
    to[0] = _mm256_unpacklo_epi64(a, b);
    to[1] = _mm256_unpackhi_epi64(a, b);
    to[2] = _mm256_unpacklo_epi64(c, d);
    to[3] = _mm256_unpackhi_epi64(c, d);
}

/* The integers of four blocks, transposed; blocks beyond n are 0. */
INLINE void unpack_integers(const block_group *g, int at, const avx2_format *f, __m256i *q)
{
    __m256i first[UNIT], second[UNIT];
    for (int j = 0; j < UNIT; j++) {
        first[j] = second[j] = _mm256_setzero_si256();
        if (at + j < g->n) {
            const block_halves h = f->unpack(g->w, at + j);
            first[j] = h.first;
            second[j] = h.second;
        }
    }
    transpose_four(first, q);
    transpose_four(second, q + VECTORS / 2);
}

/* The same for packed integers, which are transposed before they are split. */
INLINE void unpack_packed(const block_group *g, int at, const avx2_format *f, __m256i *q)
{
    __m256i packed[UNIT], transposed[UNIT];
    for (int j = 0; j < UNIT; j++)
        packed[j] = at + j < g->n ? f->load_packed(g->w, at + j) : _mm256_setzero_si256();
    transpose_four(packed, transposed);
    for (int i = 0; i < VECTORS / 2; i++) {
        block_halves h = split_nibbles(transposed[i]);
        if (f->nibble_values)
            h = look_up(f->nibble_values, h);
        q[i] = h.first;
        q[i + VECTORS / 2] = h.second;
    }
}

/* Copies the lower or upper 16 of each 32 bits to the other. */
INLINE __m256i twice(__m256i words, int upper)
{
    if (upper)
        return _mm256_blend_epi16(_mm256_srli_epi32(words, 16), words, 0xaa);
    return _mm256_blend_epi16(words, _mm256_slli_epi32(words, 16), 0xaa);
}

INLINE void unpack_pair(const block_group *g, int at, const avx2_format *f, int p, weight_unit *u)
{
    __m256i q[VECTORS];
    if (f->load_packed)
        unpack_packed(g, at, f, q);
    else
        unpack_integers(g, at, f, q);
    for (int i = 0; i < VECTORS; i++)
        u->q[i][p] = q[i];
    u->scale[p] = f->scale(g, at);
    if (f->offset)
        u->offset[p] = f->offset(g, at);
    if (f->minimum)
        u->minimum[p] = f->minimum(g, at);
    if (!f->factor)
        return;
    const __m256i factor = f->factor(g, at);
    u->factor[0][p] = twice(factor, 0);
    u->factor[1][p] = twice(factor, 1);
    if (!f->offset)
        u->minimum[p] = _mm256_mullo_epi16(factor, _mm256_set1_epi16((short)-f->zero));
}

#endif
