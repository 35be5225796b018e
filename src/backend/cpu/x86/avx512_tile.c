/*
 * Tiles for AVX-512: twelve rows of A by sixteen columns of B. B is floats, or keys or values in the
 * format of the KV cache, which are widened while they are read.
 */
#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "backend/cpu/x86/avx512.h"

#define INLINE static inline __attribute__((always_inline))

enum { PANEL = VUG_CPU_PANEL, GROUP = VUG_KV_Q8_BLOCK, MAX_ROWS = VUG_AVX512_TILE_ROWS };

/* The format of B; all but FLOATS are formats of the KV cache. */
typedef enum { FLOATS, F16, BF16, Q8_KEYS, Q8_VALUES } panel_format;

INLINE int64_t row_bytes(panel_format as)
{
    return as == FLOATS ? PANEL * 4 : as < Q8_KEYS ? PANEL * 2 : PANEL;
}

/* A row of B; 8-bit values are multiplied by `scale`. */
INLINE __m512 load_row(panel_format as, const uint8_t *b, __m512 scale)
{
    if (as == FLOATS)
        return _mm512_loadu_ps(b);
    if (as == F16 || as == BF16) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)b);
        return as == F16 ? _mm512_cvtph_ps(x)
                         : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
    }
    const __m128i codes = _mm_loadu_si128((const __m128i *)(const void *)b);
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes)), scale);
}

/* `rows` and `as` are constants wherever this is inlined, so that sums stay in registers. */
INLINE void tile_of(const int rows, const panel_format as, const vug_cpu_tile *t)
{
    const uint8_t *b = t->b;
    const float *a = t->a, *scale = t->scale;
    const int64_t lda = t->lda, step = as == FLOATS ? t->ldb * 4 : row_bytes(as);
    __m512 s[MAX_ROWS], by = _mm512_setzero_ps();
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
        s[r] = _mm512_setzero_ps();
    for (int64_t left = t->k, n = left; left > 0; left -= n) {
        if (as == Q8_KEYS) {
            by = _mm512_loadu_ps(b);
            b += PANEL * sizeof(float);
            n = left < GROUP ? left : GROUP;
        }
        for (int64_t i = n; i > 0; i--, a++, b += step) {
            if (as == Q8_VALUES)
                by = _mm512_set1_ps(*scale++);
            const __m512 row = load_row(as, b, by);
#pragma GCC unroll 12
            for (int64_t r = 0; r < rows; r++)
                s[r] = _mm512_fmadd_ps(_mm512_set1_ps(a[r * lda]), row, s[r]);
        }
    }
#pragma GCC unroll 12
    for (int64_t r = 0; r < rows; r++) {
        float *c = t->c + r * t->ldc;
        _mm512_storeu_ps(c, t->accumulate ? _mm512_add_ps(_mm512_loadu_ps(c), s[r]) : s[r]);
    }
}

INLINE void tile_as(const panel_format as, int rows, const vug_cpu_tile *t)
{
    switch (rows) {
    case 1:
        tile_of(1, as, t);
        break;
    case 2:
        tile_of(2, as, t);
        break;
    case 3:
        tile_of(3, as, t);
        break;
    case 4:
        tile_of(4, as, t);
        break;
    case 5:
        tile_of(5, as, t);
        break;
    case 6:
        tile_of(6, as, t);
        break;
    case 7:
        tile_of(7, as, t);
        break;
    case 8:
        tile_of(8, as, t);
        break;
    case 9:
        tile_of(9, as, t);
        break;
    case 10:
        tile_of(10, as, t);
        break;
    case 11:
        tile_of(11, as, t);
        break;
    default:
        tile_of(12, as, t);
        break;
    }
}

void vug_avx512_tile(int rows, const vug_cpu_tile *t)
{
    tile_as(FLOATS, rows, t);
}

void vug_avx512_tile_f16(int rows, const vug_cpu_tile *t)
{
    tile_as(F16, rows, t);
}

void vug_avx512_tile_bf16(int rows, const vug_cpu_tile *t)
{
    tile_as(BF16, rows, t);
}

void vug_avx512_tile_q8_keys(int rows, const vug_cpu_tile *t)
{
    tile_as(Q8_KEYS, rows, t);
}

void vug_avx512_tile_q8_values(int rows, const vug_cpu_tile *t)
{
    tile_as(Q8_VALUES, rows, t);
}

#else
typedef int vug_avx512_tile_is_empty; /* ISO C forbids an empty file */
#endif
