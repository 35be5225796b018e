/* Rounding weights to blocks of Q4_0, for AVX2. */
#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/avx2.h"

enum {
    BLOCK = 32,
    BLOCK_BYTES = 18, /* a scale in F16, then 16 bytes with two weights each */
};

/* max returns its second operand if one is a NaN. */
INLINE __m256 greatest_of(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 most = _mm256_max_ps(b, _mm256_max_ps(a, _mm256_setzero_ps()));
    return _mm256_max_ps(d, _mm256_max_ps(c, most));
}

INLINE __m128 max_halves(__m256 x)
{
    return _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
}

/* -1/8 of the weight of the largest magnitude. */
INLINE __m128 choose_scale(const __m256 *w)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m128 most = max_halves(greatest_of(w[0], w[1], w[2], w[3]));
    const __m128 least =
            max_halves(greatest_of(_mm256_xor_ps(w[0], sign), _mm256_xor_ps(w[1], sign),
                                   _mm256_xor_ps(w[2], sign), _mm256_xor_ps(w[3], sign)));
    const __m128 two =
            _mm_max_ps(_mm_shuffle_ps(most, least, 0x44), _mm_shuffle_ps(most, least, 0xee));
    const __m128 one = _mm_max_ps(two, _mm_movehdup_ps(two)); /* 0: most, 2: least */
    const __m128 other = _mm_movehl_ps(one, one);
    const __m128 minus = _mm_xor_ps(other, _mm_set1_ps(-0.0f));
    return _mm_mul_ss(_mm_blendv_ps(minus, one, _mm_cmpgt_ps(one, other)), _mm_set1_ps(-0.125f));
}

INLINE __m256 nearest(__m256 w, __m256 r)
{
    const __m256 q =
            _mm256_round_ps(_mm256_mul_ps(w, r), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm256_min_ps(_mm256_max_ps(q, _mm256_set1_ps(-8)), _mm256_set1_ps(7));
}

/* Two integers of a byte. */
INLINE __m256i pair_bytes(__m256 low, __m256 high)
{
    return _mm256_cvtps_epi32(
            _mm256_fmadd_ps(high, _mm256_set1_ps(16), _mm256_add_ps(low, _mm256_set1_ps(136))));
}

INLINE void store_bytes(const __m256 *q, uint8_t *to)
{
    const __m256i pairs = _mm256_packs_epi32(pair_bytes(q[0], q[2]), pair_bytes(q[1], q[3]));
    const __m128i bytes =
            _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi32(bytes, 0xd8));
}

INLINE float add_square_lanes(const __m256 *sum)
{
    const __m256 eight = _mm256_add_ps(sum[0], sum[1]);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

vug_cpu_square_sums vug_avx2_round_q4_0(const float *w, int64_t n, uint8_t *to)
{
    __m256 all[2] = { _mm256_setzero_ps(), _mm256_setzero_ps() };
    __m256 changed[2] = { _mm256_setzero_ps(), _mm256_setzero_ps() };
    for (int64_t i = 0; i < n; i += BLOCK, to += BLOCK_BYTES) {
        __m256 x[4], q[4];
        for (int j = 0; j < 4; j++)
            x[j] = _mm256_loadu_ps(w + i + (ptrdiff_t)8 * j);
        const __m128i half = _mm_cvtps_ph(choose_scale(x), _MM_FROUND_TO_NEAREST_INT);
        const __m256 scale = _mm256_broadcastss_ps(_mm_cvtph_ps(half));
        const __m256 is_zero = _mm256_cmp_ps(scale, _mm256_setzero_ps(), _CMP_EQ_OQ);
        const __m256 r = _mm256_andnot_ps(is_zero, _mm256_div_ps(_mm256_set1_ps(1), scale));
        for (int j = 0; j < 4; j++) {
            q[j] = nearest(x[j], r);
            const __m256 change = _mm256_sub_ps(x[j], _mm256_mul_ps(scale, q[j]));
            all[j % 2] = _mm256_fmadd_ps(x[j], x[j], all[j % 2]);
            changed[j % 2] = _mm256_fmadd_ps(change, change, changed[j % 2]);
        }
        const uint16_t bits = (uint16_t)_mm_extract_epi16(half, 0);
        memcpy(to, &bits, sizeof(bits));
        store_bytes(q, to + sizeof(bits));
    }
    return (vug_cpu_square_sums){ .all = add_square_lanes(all),
                                  .changed = add_square_lanes(changed) };
}

#else
typedef int vug_avx2_round_is_empty; /* ISO C forbids an empty file */
#endif
