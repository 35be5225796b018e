/* Quantizing activations to 8 bits, for AVX2. */
#if defined(__AVX2__)
#include <immintrin.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/avx2.h"

enum { HALF = 8, Q8 = VUG_CPU_Q8_BLOCK };

INLINE __m256 magnitude(__m256 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

/* max returns its second operand if one is a NaN. */
INLINE float max_magnitude(const float *x)
{
    __m256 m = _mm256_setzero_ps();
    for (int i = 0; i < Q8; i += HALF)
        m = _mm256_max_ps(magnitude(_mm256_loadu_ps(x + i)), m);
    __m128 h = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
    h = _mm_max_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_max_ss(h, _mm_shuffle_ps(h, h, 1)));
}

INLINE __m256i quantize_8(const float *x, __m256 r)
{
    const __m256 p = _mm256_mul_ps(_mm256_loadu_ps(x), r);
    const __m256 numbers = _mm256_and_ps(p, _mm256_cmp_ps(p, p, _CMP_ORD_Q));
    const __m256 low = _mm256_max_ps(numbers, _mm256_set1_ps(-127));
    return _mm256_cvtps_epi32(_mm256_min_ps(low, _mm256_set1_ps(127)));
}

void vug_avx2_quantize(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int64_t i = 0; i < n; i += Q8) {
        const float max = max_magnitude(x + i);
        const __m256 r = _mm256_set1_ps(max > 0 ? 127 / max : 0);
        const __m256i a = quantize_8(x + i, r), b = quantize_8(x + i + 8, r);
        const __m256i c = quantize_8(x + i + 16, r), d = quantize_8(x + i + 24, r);
        const __m256i bytes =
                _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        _mm256_storeu_si256((__m256i *)(void *)(q + i), _mm256_permutevar8x32_epi32(bytes, order));
        scale[i / Q8] = max / 127;
        __m256i s = _mm256_hadd_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
        s = _mm256_hadd_epi32(s, s);
        sum[i / 16] = (int16_t)(_mm256_extract_epi32(s, 0) + _mm256_extract_epi32(s, 4));
        sum[i / 16 + 1] = (int16_t)(_mm256_extract_epi32(s, 1) + _mm256_extract_epi32(s, 5));
    }
}

#else
typedef int vug_avx2_q8_is_empty; /* ISO C forbids an empty file */
#endif
