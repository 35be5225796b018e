/* Rounding weights to blocks of Q4_0, for AVX-512: the scales of four blocks are found together. */
#if defined(__AVX512VNNI__)
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/avx512.h"

enum {
    BLOCK = 32,
    BLOCK_BYTES = 18, /* a scale in F16, then 16 bytes with two weights each */
    GROUP = 4,        /* blocks */
};

/* Of up to four blocks. */
typedef struct {
    __m128i half;     /* the scales in F16 */
    __m128 scale, by; /* in F32, and their inverses */
} scales;

/* Lane j is the greatest of x[j]. */
INLINE __m128 greatest_of_each(const __m512 *x)
{
    const __m512 two0 =
            _mm512_max_ps(_mm512_unpacklo_ps(x[0], x[1]), _mm512_unpackhi_ps(x[0], x[1]));
    const __m512 two1 =
            _mm512_max_ps(_mm512_unpacklo_ps(x[2], x[3]), _mm512_unpackhi_ps(x[2], x[3]));
    const __m512 four =
            _mm512_max_ps(_mm512_shuffle_ps(two0, two1, 0x44), _mm512_shuffle_ps(two0, two1, 0xee));
    const __m256 half =
            _mm256_max_ps(_mm512_castps512_ps256(four), _mm512_extractf32x8_ps(four, 1));
    return _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/* The scale of a block is -1/8 of the weight of the largest magnitude. max returns its second operand
 * if one is a NaN. */
INLINE scales choose_scales(__m512 (*w)[2], int blocks)
{
    const __m512 sign = _mm512_set1_ps(-0.0f), zero = _mm512_setzero_ps();
    __m512 most[GROUP], least[GROUP];
    for (int b = 0; b < GROUP; b++)
        most[b] = least[b] = zero;
    for (int b = 0; b < blocks; b++) {
        const __m512 w0 = w[b][0], w1 = w[b][1];
        most[b] = _mm512_max_ps(w1, _mm512_max_ps(w0, zero));
        least[b] = _mm512_max_ps(_mm512_xor_ps(w1, sign),
                                 _mm512_max_ps(_mm512_xor_ps(w0, sign), zero));
    }
    const __m128 plus = greatest_of_each(most), minus = greatest_of_each(least);
    const __m128 m =
            _mm_blendv_ps(_mm_xor_ps(minus, _mm_set1_ps(-0.0f)), plus, _mm_cmpgt_ps(plus, minus));
    const __m128i half =
            _mm_cvtps_ph(_mm_mul_ps(m, _mm_set1_ps(-0.125f)), _MM_FROUND_TO_NEAREST_INT);
    const __m128 scale = _mm_cvtph_ps(half);
    const __m128 is_zero = _mm_cmpeq_ps(scale, _mm_setzero_ps());
    return (scales){ half, scale, _mm_andnot_ps(is_zero, _mm_div_ps(_mm_set1_ps(1), scale)) };
}

INLINE __m512 nearest(__m512 w, __m512 by)
{
    const __m512 q = _mm512_roundscale_ps(_mm512_mul_ps(w, by),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_min_ps(_mm512_max_ps(q, _mm512_set1_ps(-8)), _mm512_set1_ps(7));
}

/* Of a byte, `low` has the lower four bits. */
INLINE __m128i pair_bytes(__m512 low, __m512 high)
{
    return _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(
            _mm512_fmadd_ps(high, _mm512_set1_ps(16), _mm512_add_ps(low, _mm512_set1_ps(136)))));
}

typedef struct {
    __m512 all, changed;
} square_lanes;

/* `blocks` is constant, at most GROUP. */
INLINE square_lanes round_blocks(const float *from, int blocks, uint8_t *to, square_lanes sum)
{
    __m512 w[GROUP][2];
    for (int b = 0; b < blocks; b++) {
        w[b][0] = _mm512_loadu_ps(from + (ptrdiff_t)b * BLOCK);
        w[b][1] = _mm512_loadu_ps(from + (ptrdiff_t)b * BLOCK + BLOCK / 2);
    }
    const scales s = choose_scales(w, blocks);
    uint64_t halves = (uint64_t)_mm_cvtsi128_si64(s.half);
#pragma GCC unroll 4
    for (int b = 0; b < blocks; b++, to += BLOCK_BYTES, halves >>= 16) {
        const __m512i lane = _mm512_set1_epi32(b);
        const __m512 scale = _mm512_permutexvar_ps(lane, _mm512_castps128_ps512(s.scale));
        const __m512 by = _mm512_permutexvar_ps(lane, _mm512_castps128_ps512(s.by));
        const __m512 w0 = w[b][0], w1 = w[b][1];
        const __m512 q0 = nearest(w0, by), q1 = nearest(w1, by);
        const __m512 change0 = _mm512_sub_ps(w0, _mm512_mul_ps(scale, q0));
        const __m512 change1 = _mm512_sub_ps(w1, _mm512_mul_ps(scale, q1));
        sum.all = _mm512_fmadd_ps(w1, w1, _mm512_fmadd_ps(w0, w0, sum.all));
        sum.changed =
                _mm512_fmadd_ps(change1, change1, _mm512_fmadd_ps(change0, change0, sum.changed));
        const uint16_t bits = (uint16_t)halves;
        memcpy(to, &bits, sizeof(bits));
        _mm_storeu_si128((__m128i *)(void *)(to + sizeof(bits)), pair_bytes(q0, q1));
    }
    return sum;
}

INLINE float add_square_lanes(__m512 sum)
{
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

vug_cpu_square_sums vug_avx512_round_q4_0(const float *w, int64_t n, uint8_t *to)
{
    square_lanes sum = { _mm512_setzero_ps(), _mm512_setzero_ps() };
    int64_t i = 0;
    for (; i + (int64_t)GROUP * BLOCK <= n; i += (int64_t)GROUP * BLOCK)
        sum = round_blocks(w + i, GROUP, to + i / BLOCK * BLOCK_BYTES, sum);
    for (; i < n; i += BLOCK)
        sum = round_blocks(w + i, 1, to + i / BLOCK * BLOCK_BYTES, sum);
    return (vug_cpu_square_sums){ .all = add_square_lanes(sum.all),
                                  .changed = add_square_lanes(sum.changed) };
}

#else
typedef int vug_avx512_round_is_empty; /* ISO C forbids an empty file */
#endif
