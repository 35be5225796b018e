#ifndef VUG_BACKEND_CPU_X86_AVX2_FORMATS_K_H
#define VUG_BACKEND_CPU_X86_AVX2_FORMATS_K_H

/* ggml's formats with super-blocks of 256 weights, which are one group; see avx2_blocks.h. A file
 * that includes this defines BLOCK_FORMAT, which makes kernels from a format, before. */

#include "backend/cpu/x86/avx2_block_bits.h"

INLINE __m256 negated(__m256 x)
{
    return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f));
}

/* scale * p + offset * m */
INLINE __m256 with_offset(const block_group *g, int at, __m256 scale, __m256i p, __m256 offset,
                          __m256i minimum)
{
    const __m256i m = _mm256_madd_epi16(minimum, sums_of(g, at));
    return _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(p), scale_products(offset, m));
}

/* ---- one scale per 16 weights ------------------------------------------------ */

/* The sums of both halves of each block, which fit 16 bits, side by side. */
INLINE __m256i pairs_of(block_halves p)
{
    return _mm256_blend_epi16(p.first, _mm256_slli_epi32(p.second, 16), 0xaa);
}

/* The bytes of four of the eight blocks, of 16 bytes per row, widened to 16 bits. */
INLINE __m256i unsigned_words(__m256i bytes, int at)
{
    const __m256i zero = _mm256_setzero_si256();
    return at ? _mm256_unpackhi_epi8(bytes, zero) : _mm256_unpacklo_epi8(bytes, zero);
}

INLINE __m256i signed_words(__m256i bytes, int at)
{
    return _mm256_srai_epi16(
            at ? _mm256_unpackhi_epi8(bytes, bytes) : _mm256_unpacklo_epi8(bytes, bytes), 8);
}

INLINE block_halves unpack_q2_k(row_pair w, int64_t j)
{
    return four_to_a_byte(w, 16 + j / 4 * 32, j % 4, 0);
}

INLINE __m256 scale_q2_k(const block_group *g, int at)
{
    (void)at;
    return one_half(g->w, 80);
}

/* Minimums are subtracted. */
INLINE __m256 offset_q2_k(const block_group *g, int at)
{
    (void)at;
    return negated(one_half(g->w, 82));
}

INLINE __m256i factor_q2_k(const block_group *g, int at)
{
    return unsigned_words(lower_nibbles(load_rows(g->w, 0)), at);
}

INLINE __m256i minimum_q2_k(const block_group *g, int at)
{
    return unsigned_words(upper_nibbles(load_rows(g->w, 0)), at);
}

INLINE __m256 terms_q2_k(const block_group *g, int at)
{
    const __m256i pairs = pairs_of(products_by_half(g, at, unpack_q2_k, TO_15));
    const __m256i p = _mm256_madd_epi16(factor_q2_k(g, at), pairs);
    return with_offset(g, at, scale_q2_k(g, at), p, offset_q2_k(g, at), minimum_q2_k(g, at));
}

/* The third bit comes from the mask; weights are the resulting integers minus 4. */
INLINE block_halves unpack_q3_k(row_pair w, int64_t j)
{
    return or_halves(four_to_a_byte(w, 32 + j / 4 * 32, j % 4, 0), eight_to_a_byte(w, 0, j, 2));
}

/* Sixteen 6-bit numbers in bytes 2 .. 13 of the 16 loaded. The lower four bits are the lower,
 * then the upper nibbles of eight bytes; the upper two bits are in the last four bytes. */
INLINE __m256i factor_q3_k(const block_group *g, int at)
{
    const __m256i bytes = load_rows(g->w, 94);
    const __m256i eight =
            _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                               2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 8, 9)));
    const __m256i last = _mm256_shuffle_epi8(bytes, _mm256_set1_epi32(0x0d0c0b0a));
    const __m256i low = _mm256_srlv_epi32(eight, _mm256_setr_epi32(0, 0, 4, 4, 0, 0, 4, 4));
    const __m256i high = _mm256_srlv_epi32(last, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    const __m256i both =
            _mm256_or_si256(lower_nibbles(low), _mm256_slli_epi16(two_bits(high, 0, 0), 4));
    return signed_words(_mm256_sub_epi8(both, _mm256_set1_epi8(32)), at);
}

INLINE __m256 scale_q3_k(const block_group *g, int at)
{
    (void)at;
    return one_half(g->w, 108);
}

INLINE __m256 terms_q3_k(const block_group *g, int at)
{
    const __m256i pairs = pairs_of(products_by_half(g, at, unpack_q3_k, TO_15));
    const __m256i centred = _mm256_sub_epi16(pairs, _mm256_slli_epi16(sums_of(g, at), 2));
    return scale_products(scale_q3_k(g, at), _mm256_madd_epi16(factor_q3_k(g, at), centred));
}

INLINE block_halves unpack_q6_k(row_pair w, int64_t j)
{
    return or_halves(two_to_a_byte(w, j / 4 * 64 + j % 2 * 32, j % 4 >= 2),
                     four_to_a_byte(w, 128 + j / 4 * 32, j % 4, 4));
}

INLINE __m256 scale_q6_k(const block_group *g, int at)
{
    (void)at;
    return one_half(g->w, 208);
}

INLINE __m256i factor_q6_k(const block_group *g, int at)
{
    return signed_words(load_rows(g->w, 192), at);
}

/* The sum of a half does not fit 16 bits. */
INLINE __m256 terms_q6_k(const block_group *g, int at)
{
    const __m256i factor = factor_q6_k(g, at);
    const block_halves h = products_by_half(g, at, unpack_q6_k, TO_63);
    const __m256i first =
            _mm256_mullo_epi32(h.first, _mm256_srai_epi32(_mm256_slli_epi32(factor, 16), 16));
    const __m256i second = _mm256_mullo_epi32(h.second, _mm256_srai_epi32(factor, 16));
    const __m256i zero = _mm256_slli_epi32(_mm256_madd_epi16(factor, sums_of(g, at)), 5);
    return scale_products(scale_q6_k(g, at),
                          _mm256_sub_epi32(_mm256_add_epi32(first, second), zero));
}

/* ---- one scale per 32 weights ------------------------------------------------ */

/* Eight 6-bit scales, then eight 6-bit minimums, from 12 bytes after d and dmin. The first four
 * of each are the lower bits of a byte. The others have their lower four bits in the last four
 * bytes and the upper two bits above those of the first four. */
INLINE __m256i scales_and_minima(const block_group *g, int at)
{
    const __m256i bytes = load_rows(g->w, 0);
    const __m256i low = _mm256_srlv_epi32(_mm256_shuffle_epi32(bytes, 0xed),
                                          _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4));
    const __m256i high = _mm256_srli_epi16(_mm256_shuffle_epi32(bytes, 0xa5), 2);
    const __m256i low_mask = _mm256_set1_epi64x(0x0f0f0f0f3f3f3f3f);
    const __m256i high_mask = _mm256_set1_epi64x(0x3030303000000000);
    const __m256i all =
            _mm256_or_si256(_mm256_and_si256(low, low_mask), _mm256_and_si256(high, high_mask));
    return at ? _mm256_srli_epi64(all, 32) : all;
}

/* Bytes first .. first + 3 of each half, each twice and widened to 16 bits. */
INLINE __m256i twice_in_words(__m256i bytes, char first)
{
    const __m256i numbers = _mm256_broadcastsi128_si256(
            _mm_setr_epi8(0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1));
    return _mm256_shuffle_epi8(bytes, _mm256_add_epi8(numbers, _mm256_set1_epi16(first)));
}

INLINE __m256 scale_q4_k(const block_group *g, int at)
{
    (void)at;
    return one_half(g->w, 0);
}

INLINE __m256 offset_q4_k(const block_group *g, int at)
{
    (void)at;
    return negated(one_half(g->w, 2));
}

INLINE __m256i factor_q4_k(const block_group *g, int at)
{
    return twice_in_words(scales_and_minima(g, at), 0);
}

INLINE __m256i minimum_q4_k(const block_group *g, int at)
{
    return twice_in_words(scales_and_minima(g, at), 8);
}

/* `p` are the products of the integers. */
INLINE __m256 terms_q4_or_5(const block_group *g, int at, __m256i p)
{
    const __m256i factor = _mm256_srli_epi32(factor_q4_k(g, at), 16);
    return with_offset(g, at, scale_q4_k(g, at), _mm256_mullo_epi32(p, factor), offset_q4_k(g, at),
                       minimum_q4_k(g, at));
}

INLINE block_halves unpack_q4_k(row_pair w, int64_t j)
{
    return two_to_a_byte(w, 16 + j / 2 * 32, j % 2);
}

INLINE __m256 terms_q4_k(const block_group *g, int at)
{
    return terms_q4_or_5(g, at, products(g, at, unpack_q4_k, TO_15));
}

INLINE block_halves unpack_q5_k(row_pair w, int64_t j)
{
    return or_halves(two_to_a_byte(w, 48 + j / 2 * 32, j % 2), eight_to_a_byte(w, 16, j, 4));
}

INLINE __m256 terms_q5_k(const block_group *g, int at)
{
    return terms_q4_or_5(g, at, products(g, at, unpack_q5_k, TO_31));
}

INLINE __m256i load_iq4_xs(row_pair w, int64_t j)
{
    return load_rows(w, 8 + j * 16);
}

INLINE block_halves unpack_iq4_xs(row_pair w, int64_t j)
{
    return look_up(iq4_values, split_nibbles(load_iq4_xs(w, j)));
}

INLINE __m256 scale_iq4_xs(const block_group *g, int at)
{
    (void)at;
    return one_half(g->w, 0);
}

/* A block's 6-bit scale minus 32, in 32 bits. After the 2 bytes of d follow 2 bytes with the
 * upper two bits of eight scales and 4 bytes with the lower four bits. */
INLINE __m256i factor_of_block(const block_group *g, int at)
{
    const __m256i bytes = combine_rows(load_8(g->w.a), load_8(g->w.b));
    const __m256i low = _mm256_srlv_epi32(_mm256_shuffle_epi32(bytes, 0x55),
                                          at ? _mm256_setr_epi32(16, 20, 24, 28, 16, 20, 24, 28)
                                             : _mm256_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12));
    const __m256i high = _mm256_srlv_epi32(_mm256_shuffle_epi32(bytes, 0x00),
                                           at ? _mm256_setr_epi32(24, 26, 28, 30, 24, 26, 28, 30)
                                              : _mm256_setr_epi32(16, 18, 20, 22, 16, 18, 20, 22));
    const __m256i both =
            _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                            _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
    return _mm256_sub_epi32(both, _mm256_set1_epi32(32));
}

INLINE __m256i factor_iq4_xs(const block_group *g, int at)
{
    const __m256i factor = factor_of_block(g, at);
    return _mm256_blend_epi16(factor, _mm256_slli_epi32(factor, 16), 0xaa);
}

INLINE __m256 terms_iq4_xs(const block_group *g, int at)
{
    const __m256i p = products(g, at, unpack_iq4_xs, WITH_SIGN);
    return scale_products(scale_iq4_xs(g, at), _mm256_mullo_epi32(p, factor_of_block(g, at)));
}

BLOCK_FORMAT(q2_k, scale_q2_k, .range = TO_15, .bytes = 84, .offset = offset_q2_k,
             .factor = factor_q2_k, .minimum = minimum_q2_k)
BLOCK_FORMAT(q3_k, scale_q3_k, .range = TO_15, .zero = 4, .bytes = 110, .factor = factor_q3_k)
BLOCK_FORMAT(q4_k, scale_q4_k, .range = TO_15, .bytes = 144, .offset = offset_q4_k,
             .one_factor = true, .factor = factor_q4_k, .minimum = minimum_q4_k)
BLOCK_FORMAT(q5_k, scale_q4_k, .range = TO_31, .bytes = 176, .offset = offset_q4_k,
             .one_factor = true, .factor = factor_q4_k, .minimum = minimum_q4_k)
BLOCK_FORMAT(q6_k, scale_q6_k, .range = TO_63, .zero = 32, .bytes = 210, .factor = factor_q6_k)
BLOCK_FORMAT(iq4_xs, scale_iq4_xs, .load_packed = load_iq4_xs, .nibble_values = iq4_values,
             .range = WITH_SIGN, .bytes = 136, .factor = factor_iq4_xs, .one_factor = true)

#endif
