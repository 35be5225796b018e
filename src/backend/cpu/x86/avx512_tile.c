/*
 * Tiles for AVX-512: twelve rows of A by one or two panels of B. B is floats, or keys or values in the
 * format of the KV cache, which are widened while they are read.
 */
#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "backend/cpu/x86/avx512.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    PANEL = VUG_CPU_PANEL,
    GROUP = VUG_KV_Q8_BLOCK,
    MAX_ROWS = VUG_AVX512_TILE_ROWS,
    MAX_PANELS = VUG_CPU_MAX_TILE_PANELS,
};

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

typedef struct {
    __m512 at[MAX_ROWS][MAX_PANELS];
} panel_sums;

INLINE void store_sums(const int rows, const int panels, const vug_cpu_tile *t, const panel_sums *s)
{
#pragma GCC unroll 12
    for (int64_t r = 0; r < rows; r++) {
#pragma GCC unroll 2
        for (int64_t p = 0; p < panels; p++) {
            float *c = t->c + r * t->ldc + p * PANEL;
            const __m512 sum = s->at[r][p];
            _mm512_storeu_ps(c, t->accumulate ? _mm512_add_ps(_mm512_loadu_ps(c), sum) : sum);
        }
    }
}

/* `rows`, `panels` and `as` are constants wherever this is inlined, so that sums stay in registers. Two
 * panels share each element of A, because a processor loads fewer vectors than it multiplies. */
INLINE void tile_of(const int rows, const int panels, const panel_format as, const vug_cpu_tile *t)
{
    const uint8_t *b[MAX_PANELS] = { t->b, t->second };
    const float *a = t->a, *scale = t->scale;
    const int64_t lda = t->lda, step = as == FLOATS ? t->ldb * 4 : row_bytes(as);
    __m512 by[MAX_PANELS], w[MAX_PANELS];
    panel_sums s;
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
        s.at[r][0] = s.at[r][1] = _mm512_setzero_ps();
    by[0] = by[1] = _mm512_setzero_ps();
    for (int64_t left = t->k, n = left; left > 0; left -= n) {
        if (as == Q8_KEYS) {
            n = left < GROUP ? left : GROUP;
            for (int p = 0; p < panels; p++) {
                by[p] = _mm512_loadu_ps(b[p]);
                b[p] += PANEL * sizeof(float);
            }
        }
        for (int64_t i = n; i > 0; i--, a++) {
            if (as == Q8_VALUES)
                by[0] = by[1] = _mm512_set1_ps(*scale++);
#pragma GCC unroll 2
            for (int p = 0; p < panels; p++) {
                w[p] = load_row(as, b[p], by[p]);
                b[p] += step;
            }
#pragma GCC unroll 12
            for (int64_t r = 0; r < rows; r++) {
                const __m512 x = _mm512_set1_ps(a[r * lda]);
#pragma GCC unroll 2
                for (int p = 0; p < panels; p++)
                    s.at[r][p] = _mm512_fmadd_ps(x, w[p], s.at[r][p]);
            }
        }
    }
    store_sums(rows, panels, t, &s);
}

/* The compiler knows the rows of a tile. */
INLINE void tile_rows_of(const int panels, const panel_format as, int rows, const vug_cpu_tile *t)
{
    switch (rows) {
    case 1:
        tile_of(1, panels, as, t);
        break;
    case 2:
        tile_of(2, panels, as, t);
        break;
    case 3:
        tile_of(3, panels, as, t);
        break;
    case 4:
        tile_of(4, panels, as, t);
        break;
    case 5:
        tile_of(5, panels, as, t);
        break;
    case 6:
        tile_of(6, panels, as, t);
        break;
    case 7:
        tile_of(7, panels, as, t);
        break;
    case 8:
        tile_of(8, panels, as, t);
        break;
    case 9:
        tile_of(9, panels, as, t);
        break;
    case 10:
        tile_of(10, panels, as, t);
        break;
    case 11:
        tile_of(11, panels, as, t);
        break;
    default:
        tile_of(12, panels, as, t);
        break;
    }
}

INLINE void tile_as(const panel_format as, int rows, const vug_cpu_tile *t)
{
    if (t->second)
        tile_rows_of(MAX_PANELS, as, rows, t);
    else
        tile_rows_of(1, as, rows, t);
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
