#ifndef VUG_BACKEND_CPU_X86_AVX2_FORMATS_H
#define VUG_BACKEND_CPU_X86_AVX2_FORMATS_H

/* ggml's formats with blocks of 32 weights; see avx2_blocks.h. A file that includes this defines
 * BLOCK_FORMAT, which makes kernels from a format, before. */

#include "backend/cpu/x86/avx2_blocks_gemv.h"

/* scale * p + offset * (the sum of x) */
INLINE __m256 affine(const block_group *g, int at, __m256 scale, __m256i p, __m256 offset)
{
    return _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(p),
                           scale_products(offset, block_sums(g, at, 1)));
}

/* Subtracts the product of the zero point and x. */
INLINE __m256i subtract_zero(const block_group *g, int at, __m256i p, int16_t zero)
{
    return _mm256_sub_epi32(p, block_sums(g, at, zero));
}

/* ---- four bits -------------------------------------------------------------- */

INLINE __m256i load_q4_0(row_pair w, int64_t j)
{
    return load_rows(w, j * 18 + 2);
}

INLINE block_halves unpack_q4_0(row_pair w, int64_t j)
{
    return split_nibbles(load_q4_0(w, j));
}

INLINE __m256 scale_q4_0(const block_group *g, int at)
{
    return strided_halves(g, at, 18, 0);
}

INLINE __m256 terms_q4_0(const block_group *g, int at)
{
    const __m256i p = products(g, at, unpack_q4_0, TO_15);
    return scale_products(scale_q4_0(g, at), subtract_zero(g, at, p, 8));
}

INLINE __m256i load_q4_1(row_pair w, int64_t j)
{
    return load_rows(w, j * 20 + 4);
}

INLINE block_halves unpack_q4_1(row_pair w, int64_t j)
{
    return split_nibbles(load_q4_1(w, j));
}

INLINE __m256 scale_q4_1(const block_group *g, int at)
{
    return strided_halves(g, at, 20, 0);
}

INLINE __m256 offset_q4_1(const block_group *g, int at)
{
    return strided_halves(g, at, 20, 2);
}

INLINE __m256 terms_q4_1(const block_group *g, int at)
{
    const __m256i p = products(g, at, unpack_q4_1, TO_15);
    return affine(g, at, scale_q4_1(g, at), p, offset_q4_1(g, at));
}

INLINE block_halves unpack_iq4_nl(row_pair w, int64_t j)
{
    return look_up(iq4_values, split_nibbles(load_q4_0(w, j)));
}

INLINE __m256 scale_iq4_nl(const block_group *g, int at)
{
    return strided_halves(g, at, 18, 0);
}

INLINE __m256 terms_iq4_nl(const block_group *g, int at)
{
    return scale_products(scale_iq4_nl(g, at), products(g, at, unpack_iq4_nl, WITH_SIGN));
}

INLINE __m256i load_mxfp4(row_pair w, int64_t j)
{
    return load_rows(w, j * 17 + 1);
}

INLINE block_halves unpack_mxfp4(row_pair w, int64_t j)
{
    return look_up(e2m1_values, split_nibbles(load_mxfp4(w, j)));
}

/* The first byte of each of four blocks; 0 beyond n. */
INLINE int exponents_at(const uint8_t *w, int n)
{
    uint32_t e = w[0];
    for (int j = 1; j < UNIT; j++)
        e |= n > j ? (uint32_t)w[(int64_t)j * 17] << (8 * j) : 0;
    return (int)e;
}

/* 2^(e - 128) */
INLINE __m256 scale_mxfp4(const block_group *g, int at)
{
    const row_pair w = advance_rows(g->w, (int64_t)at * 17);
    const __m128i bytes =
            _mm_setr_epi32(exponents_at(w.a, g->n - at), exponents_at(w.b, g->n - at), 0, 0);
    const __m256i e = _mm256_cvtepu8_epi32(bytes);
    const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), e);
    const __m256i usual = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i is_tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(usual, tiny, is_tiny));
}

INLINE __m256 terms_mxfp4(const block_group *g, int at)
{
    const __m256i p = products(g, at, unpack_mxfp4, TO_31);
    return scale_products(scale_mxfp4(g, at), subtract_zero(g, at, p, 12));
}

/* ---- five bits, eight bits -------------------------------------------------- */

/* 16 for each integer whose bit is set, in the 16 bits at byte `from` of `bytes`. */
INLINE __m256i fifth_bits(__m256i bytes, char from)
{
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
    const __m128i of_byte = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m256i spread =
            _mm256_add_epi8(_mm256_broadcastsi128_si256(of_byte), _mm256_set1_epi8(from));
    const __m256i all = _mm256_and_si256(_mm256_shuffle_epi8(bytes, spread), bit);
    return _mm256_and_si256(_mm256_cmpeq_epi8(all, bit), _mm256_set1_epi8(16));
}

/* Blocks with 32 fifth bits at offset `bits`, 2 or 4, followed by the nibbles. */
INLINE block_halves unpack_five(row_pair w, int64_t block, int bits)
{
    const __m256i bytes = load_rows(w, block);
    const block_halves fifth = { fifth_bits(bytes, (char)bits),
                                 fifth_bits(bytes, (char)(bits + 2)) };
    return or_halves(split_nibbles(load_rows(w, block + bits + 4)), fifth);
}

INLINE block_halves unpack_q5_0(row_pair w, int64_t j)
{
    return unpack_five(w, j * 22, 2);
}

INLINE __m256 scale_q5_0(const block_group *g, int at)
{
    return strided_halves(g, at, 22, 0);
}

INLINE __m256 terms_q5_0(const block_group *g, int at)
{
    const __m256i p = products(g, at, unpack_q5_0, TO_31);
    return scale_products(scale_q5_0(g, at), subtract_zero(g, at, p, 16));
}

INLINE block_halves unpack_q5_1(row_pair w, int64_t j)
{
    return unpack_five(w, j * 24, 4);
}

INLINE __m256 scale_q5_1(const block_group *g, int at)
{
    return strided_halves(g, at, 24, 0);
}

INLINE __m256 offset_q5_1(const block_group *g, int at)
{
    return strided_halves(g, at, 24, 2);
}

INLINE __m256 terms_q5_1(const block_group *g, int at)
{
    const __m256i p = products(g, at, unpack_q5_1, TO_31);
    return affine(g, at, scale_q5_1(g, at), p, offset_q5_1(g, at));
}

INLINE block_halves unpack_q8_0(row_pair w, int64_t j)
{
    return (block_halves){ load_rows(w, j * 34 + 2), load_rows(w, j * 34 + 18) };
}

INLINE __m256 scale_q8_0(const block_group *g, int at)
{
    return strided_halves(g, at, 34, 0);
}

INLINE __m256 terms_q8_0(const block_group *g, int at)
{
    return scale_products(scale_q8_0(g, at), products(g, at, unpack_q8_0, WITH_SIGN));
}

BLOCK_FORMAT(q4_0, scale_q4_0, .has_half_scales = true, .load_packed = load_q4_0, .range = TO_15,
             .zero = 8, .bytes = 144, .may_end_within_group = true)
BLOCK_FORMAT(q4_1, scale_q4_1, .has_half_scales = true, .load_packed = load_q4_1, .range = TO_15,
             .bytes = 160, .may_end_within_group = true, .offset = offset_q4_1)
BLOCK_FORMAT(q5_0, scale_q5_0, .has_half_scales = true, .range = TO_31, .zero = 16, .bytes = 176,
             .may_end_within_group = true)
BLOCK_FORMAT(q5_1, scale_q5_1, .has_half_scales = true, .range = TO_31, .bytes = 192,
             .may_end_within_group = true, .offset = offset_q5_1)
BLOCK_FORMAT(q8_0, scale_q8_0, .has_half_scales = true, .range = WITH_SIGN, .bytes = 272,
             .may_end_within_group = true)
BLOCK_FORMAT(iq4_nl, scale_iq4_nl, .has_half_scales = true, .load_packed = load_q4_0,
             .nibble_values = iq4_values, .range = WITH_SIGN, .bytes = 144,
             .may_end_within_group = true)
BLOCK_FORMAT(mxfp4, scale_mxfp4, .load_packed = load_mxfp4, .nibble_values = e2m1_values,
             .range = TO_31, .zero = 12, .bytes = 136, .may_end_within_group = true)

#endif
