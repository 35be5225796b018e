/* Decoding rows of quantized weights to F32, for AVX2. */
#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/avx2.h"

enum {
    EIGHT = 8,
    Q8_0_BYTES = 34, /* of a block of 32 weights */
    Q6_K_BYTES = 210 /* of a block of 256 */
};

INLINE __m128i load_16(const void *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

INLINE __m256i load_32(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

INLINE float half_at(const uint8_t *w)
{
    uint16_t x;
    memcpy(&x, w, sizeof(x));
    return _cvtsh_ss(x);
}

/* 16 signed bytes times a scale. */
INLINE void decode_16(__m128i q, float scale, float *to)
{
    const __m256 by = _mm256_set1_ps(scale);
    const __m256 low = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q));
    const __m256 high = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(q, q)));
    _mm256_storeu_ps(to, _mm256_mul_ps(low, by));
    _mm256_storeu_ps(to + EIGHT, _mm256_mul_ps(high, by));
}

void vug_avx2_decode_q8_0(const uint8_t *src, int64_t n, float *dst)
{
    for (; n > 0; n -= 32, src += Q8_0_BYTES, dst += 32) {
        const float scale = half_at(src);
        decode_16(load_16(src + 2), scale, dst);
        decode_16(load_16(src + 18), scale, dst + 16);
    }
}

/* 128 weights: four times 32, with their low four bits in 64 bytes, those above in 32, and eight
 * scales. */
INLINE void decode_half_q6_k(const uint8_t *low, const uint8_t *high, const uint8_t *scales,
                             float d, float *to)
{
    const __m256i low_bits = _mm256_set1_epi8(15), high_bits = _mm256_set1_epi8(0x30);
    const __m256i two = load_32(high);
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++, to += 32, scales += 2) {
        const __m256i four = _mm256_srli_epi16(load_32(j % 2 ? low + 32 : low), j / 2 * 4);
        const __m256i above =
                j < 2 ? _mm256_slli_epi16(two, 4 - 2 * j) : _mm256_srli_epi16(two, 2 * j - 4);
        const __m256i bits = _mm256_or_si256(_mm256_and_si256(four, low_bits),
                                             _mm256_and_si256(above, high_bits));
        const __m256i q = _mm256_sub_epi8(bits, _mm256_set1_epi8(32));
        decode_16(_mm256_castsi256_si128(q), d * (float)(int8_t)scales[0], to);
        decode_16(_mm256_extracti128_si256(q, 1), d * (float)(int8_t)scales[1], to + 16);
    }
}

void vug_avx2_decode_q6_k(const uint8_t *src, int64_t n, float *dst)
{
    for (; n > 0; n -= 256, src += Q6_K_BYTES, dst += 256) {
        const float d = half_at(src + 208);
        decode_half_q6_k(src, src + 128, src + 192, d, dst);
        decode_half_q6_k(src + 64, src + 160, src + 200, d, dst + 128);
    }
}

#else
typedef int vug_avx2_decode_is_empty; /* ISO C forbids an empty file */
#endif
