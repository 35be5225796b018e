/*
 * Tiles for AVX2, FMA and F16C: six rows of A by sixteen columns of B. B is floats, or keys or
 * values in the format of the KV cache, which are widened while they are read.
 */
#if defined(__AVX2__)
#include <immintrin.h>

#include "backend/cpu/tiles.h"
#include "backend/cpu/x86/avx2.h"

enum { ROWS = 6, HALF = 8, PANEL = VUG_CPU_PANEL, GROUP = VUG_KV_Q8_BLOCK };

INLINE void add_row(const float *a, __m256 b0, __m256 b1, __m256 *s0, __m256 *s1)
{
    const __m256 x = _mm256_broadcast_ss(a);
    *s0 = _mm256_fmadd_ps(x, b0, *s0);
    *s1 = _mm256_fmadd_ps(x, b1, *s1);
}

INLINE void write_row(const vug_cpu_tile *t, int64_t r, __m256 s0, __m256 s1)
{
    float *c = t->c + r * t->ldc;
    if (t->accumulate) {
        s0 = _mm256_add_ps(_mm256_loadu_ps(c), s0);
        s1 = _mm256_add_ps(_mm256_loadu_ps(c + HALF), s1);
    }
    _mm256_storeu_ps(c, s0);
    _mm256_storeu_ps(c + HALF, s1);
}

/* Eight columns of a row; 8-bit values are multiplied by `scale`. */
INLINE __m256 load_half(tile_format as, const uint8_t *b, __m256 scale)
{
    if (as == FLOATS)
        return _mm256_loadu_ps((const float *)(const void *)b);
    if (as == F16)
        return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)b));
    if (as == BF16) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)b);
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
    }
    const __m128i codes = _mm_loadl_epi64((const __m128i *)(const void *)b);
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)), scale);
}

/*
 * Twelve sums, two vectors of b and one of a use 15 of the 16 registers. The sums are separate
 * variables because compilers would keep an array in memory. `rows` and `as` are constants
 * wherever this is inlined, so the branches on them disappear.
 */
INLINE void tile_of(const int rows, const tile_format as, const vug_cpu_tile *t)
{
    const uint8_t *b = t->b;
    const float *a0 = t->a, *a3 = a0 + (rows > 3 ? 3 * t->lda : 0), *scale = t->scale;
    const int64_t lda = t->lda, step = t->ldb * bytes_of_element(as);
    const __m256 zero = _mm256_setzero_ps();
    __m256 s00 = zero, s01 = zero, s10 = zero, s11 = zero, s20 = zero, s21 = zero;
    __m256 s30 = zero, s31 = zero, s40 = zero, s41 = zero, s50 = zero, s51 = zero;
    __m256 by0 = zero, by1 = zero;
    for (int64_t left = t->k, n = left; left > 0; left -= n) {
        if (as == Q8_KEYS) {
            by0 = _mm256_loadu_ps((const float *)(const void *)b);
            by1 = _mm256_loadu_ps((const float *)(const void *)b + HALF);
            b += PANEL * sizeof(float);
            n = left < GROUP ? left : GROUP;
        }
        for (int64_t i = n; i > 0; i--) {
            if (as == Q8_VALUES)
                by0 = by1 = _mm256_broadcast_ss(scale++);
            const __m256 b0 = load_half(as, b, by0);
            const __m256 b1 = load_half(as, b + HALF * bytes_of_element(as), by1);
            add_row(a0, b0, b1, &s00, &s01);
            if (rows > 1)
                add_row(a0 + lda, b0, b1, &s10, &s11);
            if (rows > 2)
                add_row(a0 + 2 * lda, b0, b1, &s20, &s21);
            if (rows > 3)
                add_row(a3, b0, b1, &s30, &s31);
            if (rows > 4)
                add_row(a3 + lda, b0, b1, &s40, &s41);
            if (rows > 5)
                add_row(a3 + 2 * lda, b0, b1, &s50, &s51);
            a0++;
            a3++;
            b += step;
        }
    }
    write_row(t, 0, s00, s01);
    if (rows > 1)
        write_row(t, 1, s10, s11);
    if (rows > 2)
        write_row(t, 2, s20, s21);
    if (rows > 3)
        write_row(t, 3, s30, s31);
    if (rows > 4)
        write_row(t, 4, s40, s41);
    if (rows > 5)
        write_row(t, 5, s50, s51);
}

INLINE void tile_as(const tile_format as, int rows, const vug_cpu_tile *t)
{
    WITH_CONSTANT_ROWS(ROWS, rows, tile_of, as, t);
}

TILE_KERNELS(avx2)

#else
typedef int vug_avx2_tile_is_empty; /* ISO C forbids an empty file */
#endif
