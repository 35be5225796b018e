/* Products with ggml's formats of 256 weights, which are a group; see avx2_blocks.h. */
#if defined(__AVX2__)
#include "backend/cpu/avx2_blocks.h"

/* An F16 number, eight times. */
INLINE __m256 half_of_all(const uint8_t *w)
{
    return _mm256_set1_ps(half_at(w));
}

/* Two bits of each byte, from bit 2 j on. */
INLINE __m256i two_bits(const uint8_t *w, int j)
{
    return _mm256_and_si256(_mm256_srli_epi16(load_32(w), 2 * j), _mm256_set1_epi8(3));
}

/* Bit `from` of each byte, moved to bit `to`. */
INLINE __m256i moved_bit(__m256i bytes, int from, int to)
{
    const __m256i moved =
            from < to ? _mm256_slli_epi16(bytes, to - from) : _mm256_srli_epi16(bytes, from - to);
    return _mm256_and_si256(moved, _mm256_set1_epi8((char)(1 << to)));
}

/* Blocks 2 k and 2 k + 1 are the lower and upper nibbles of 32 bytes. */
INLINE __m256i nibbles_of_pair(const uint8_t *w, int j)
{
    const __m256i both = load_32(w + j / 2 * 32);
    return _mm256_and_si256(j % 2 ? _mm256_srli_epi16(both, 4) : both, _mm256_set1_epi8(15));
}

/* Sums of halves that fit 16 bits, side by side for each block. */
INLINE __m256i pairs_of(halves p)
{
    return _mm256_blend_epi16(p.first, _mm256_slli_epi32(p.second, 16), 0xaa);
}

/* ---- a scale for 16 weights -------------------------------------------------- */

INLINE __m256i unpack_q2_k(const uint8_t *w, int j)
{
    return two_bits(w + 16 + j / 4 * 32, j % 4);
}

INLINE __m256 terms_q2_k(const group *g)
{
    const __m128i both = load_16(g->w), low = _mm_set1_epi8(15);
    const __m256i factor = _mm256_cvtepu8_epi16(_mm_and_si128(both, low));
    const __m256i minimum = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(both, 4), low));
    const __m256i p = pairs_of(products_by_half(g, unpack_q2_k, TO_31));
    const __m256 m = _mm256_cvtepi32_ps(_mm256_madd_epi16(minimum, sums_of(g)));
    return _mm256_fmsub_ps(half_of_all(g->w + 80),
                           _mm256_cvtepi32_ps(_mm256_madd_epi16(factor, p)),
                           _mm256_mul_ps(half_of_all(g->w + 82), m));
}

/* The third bit comes from the mask: without it 4 is taken off, as it is from all. */
INLINE __m256i unpack_q3_k(const uint8_t *w, int j)
{
    return _mm256_or_si256(two_bits(w + 32 + j / 4 * 32, j % 4), moved_bit(load_32(w), j, 2));
}

/* Sixteen numbers of 6 bits in bytes 2 .. 13 of 16: the lower four bits are the lower, then
 * the upper nibbles of eight bytes, the upper two lie in the last four. */
INLINE __m256i q3_k_factors(__m128i bytes)
{
    const __m128i eight =
            _mm_shuffle_epi8(bytes, _mm_setr_epi8(2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 8, 9));
    const __m128i four = _mm_shuffle_epi8(
            bytes, _mm_setr_epi8(10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13));
    const __m128i low = _mm_and_si128(_mm_srlv_epi32(eight, _mm_setr_epi32(0, 0, 4, 4)),
                                      _mm_set1_epi8(15));
    const __m128i high = _mm_and_si128(_mm_srlv_epi32(four, _mm_setr_epi32(0, 2, 4, 6)),
                                       _mm_set1_epi8(3));
    const __m128i both = _mm_or_si128(low, _mm_slli_epi16(high, 4));
    return _mm256_cvtepi8_epi16(_mm_sub_epi8(both, _mm_set1_epi8(32)));
}

INLINE __m256 terms_q3_k(const group *g)
{
    const __m256i p = pairs_of(products_by_half(g, unpack_q3_k, TO_31));
    const __m256i centred = _mm256_sub_epi16(p, _mm256_slli_epi16(sums_of(g), 2));
    const __m256i factor = q3_k_factors(load_16(g->w + 94));
    return times(half_of_all(g->w + 108), _mm256_madd_epi16(factor, centred));
}

INLINE __m256i unpack_q6_k(const uint8_t *w, int j)
{
    const __m256i both = load_32(w + j / 4 * 64 + j % 2 * 32);
    const __m256i low = _mm256_and_si256(j % 4 < 2 ? both : _mm256_srli_epi16(both, 4),
                                         _mm256_set1_epi8(15));
    return _mm256_or_si256(low, _mm256_slli_epi16(two_bits(w + 128 + j / 4 * 32, j % 4), 4));
}

/* With its factor a half's sum passes 16 bits. */
INLINE __m256 terms_q6_k(const group *g)
{
    const __m256i factor = _mm256_cvtepi8_epi16(load_16(g->w + 192));
    const __m256i first = _mm256_srai_epi32(_mm256_slli_epi32(factor, 16), 16);
    const __m256i second = _mm256_srai_epi32(factor, 16);
    const halves h = products_by_half(g, unpack_q6_k, TO_63);
    const __m256i p = _mm256_add_epi32(_mm256_mullo_epi32(h.first, first),
                                       _mm256_mullo_epi32(h.second, second));
    const __m256i zero = _mm256_slli_epi32(_mm256_madd_epi16(factor, sums_of(g)), 5);
    return times(half_of_all(g->w + 208), _mm256_sub_epi32(p, zero));
}

/* ---- a scale for 32 weights -------------------------------------------------- */

/* Of d, dmin and 12 bytes: eight scales of 6 bits, then eight minima. The first four of
 * each are the lower bits of a byte; the others have their lower four bits in the last
 * four bytes, the upper two above those of the first. */
INLINE __m128i q4_k_scales(const uint8_t *w)
{
    const __m128i bytes = load_16(w);
    const __m128i low = _mm_srlv_epi32(_mm_shuffle_epi32(bytes, 0xed), _mm_setr_epi32(0, 0, 0, 4));
    const __m128i high = _mm_srli_epi16(_mm_shuffle_epi32(bytes, 0xa5), 2);
    const __m128i low_mask = _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f);
    const __m128i high_mask = _mm_setr_epi32(0, 0x30303030, 0, 0x30303030);
    return _mm_or_si128(_mm_and_si128(low, low_mask), _mm_and_si128(high, high_mask));
}

INLINE __m256 terms_q4_or_5(const group *g, unpack_fn *unpack)
{
    const __m128i scales = q4_k_scales(g->w);
    const __m256i factor = _mm256_cvtepu8_epi32(scales);
    const __m256i minimum = _mm256_cvtepu8_epi32(_mm_srli_si128(scales, 8));
    const __m256i p = _mm256_mullo_epi32(products(g, unpack, TO_31), factor);
    const __m256i m = _mm256_mullo_epi32(block_sums(g, 1), minimum);
    return _mm256_fmsub_ps(half_of_all(g->w), _mm256_cvtepi32_ps(p),
                           times(half_of_all(g->w + 2), m));
}

INLINE __m256i unpack_q4_k(const uint8_t *w, int j)
{
    return nibbles_of_pair(w + 16, j);
}

INLINE __m256 terms_q4_k(const group *g)
{
    return terms_q4_or_5(g, unpack_q4_k);
}

INLINE __m256i unpack_q5_k(const uint8_t *w, int j)
{
    return _mm256_or_si256(nibbles_of_pair(w + 48, j), moved_bit(load_32(w + 16), j, 4));
}

INLINE __m256 terms_q5_k(const group *g)
{
    return terms_q4_or_5(g, unpack_q5_k);
}

INLINE __m256i unpack_iq4_xs(const uint8_t *w, int j)
{
    return iq4_of(split_nibbles(w + 8 + j * 16));
}

/* d; two upper bits of eight factors; four lower ones */
INLINE __m256 terms_iq4_xs(const group *g)
{
    const __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)dword_at(g->w + 4)),
                                          _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    const __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(word_at(g->w + 2)),
                                           _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
    const __m256i both =
            _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                            _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
    const __m256i factor = _mm256_sub_epi32(both, _mm256_set1_epi32(32));
    const __m256i p = products(g, unpack_iq4_xs, WITH_SIGN);
    return times(half_of_all(g->w), _mm256_mullo_epi32(p, factor));
}

BLOCK_FORMAT(q2_k, vug_avx2_q2_k, 84)
BLOCK_FORMAT(q3_k, vug_avx2_q3_k, 110)
BLOCK_FORMAT(q4_k, vug_avx2_q4_k, 144)
BLOCK_FORMAT(q5_k, vug_avx2_q5_k, 176)
BLOCK_FORMAT(q6_k, vug_avx2_q6_k, 210)
BLOCK_FORMAT(iq4_xs, vug_avx2_iq4_xs, 136)

#else
typedef int vug_avx2_blocks_k_is_empty; /* ISO C wants something here */
#endif
