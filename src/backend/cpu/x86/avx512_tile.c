/*
 * Tiles for AVX-512: eight rows of A by one to three panels of B. B is floats, or keys or values in the
 * format of the KV cache, which are widened while they are read.
 */
#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "backend/cpu/tiles.h"
#include "backend/cpu/x86/avx512_panel_sums.h"

enum {
    PANEL = VUG_CPU_PANEL,
    GROUP = VUG_KV_Q8_BLOCK,
    MAX_ROWS = VUG_AVX512_TILE_ROWS,
    MAX_PANELS = VUG_CPU_MAX_TILE_PANELS,
};

/* A row of B; 8-bit values are multiplied by `scale`. */
INLINE __m512 load_row(tile_format as, const uint8_t *b, __m512 scale)
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

/* `rows`, `panels` and `as` are constants wherever this is inlined, so that sums stay in registers. Panels
 * share each element of A, because a processor loads fewer vectors than it multiplies: 11 for 24 products
 * if there are three of them. */
INLINE void tile_of(const int rows, const int panels, const tile_format as, const vug_cpu_tile *t)
{
    const uint8_t *b = t->b;
    const float *a = t->a, *scale = t->scale;
    const int64_t lda = t->lda, step = t->ldb * bytes_of_element(as), next = t->next_panel;
    __m512 by[MAX_PANELS], w[MAX_PANELS];
    panel_sums s;
    clear_sums(rows, panels, &s);
    by[0] = by[1] = by[2] = _mm512_setzero_ps();
    for (int64_t left = t->k, n = left; left > 0; left -= n) {
        if (as == Q8_KEYS) {
            n = left < GROUP ? left : GROUP;
            for (int p = 0; p < panels; p++)
                by[p] = _mm512_loadu_ps(b + p * next);
            b += PANEL * sizeof(float);
        }
        for (int64_t i = n; i > 0; i--, a++, b += step) {
            if (as == Q8_VALUES)
                by[0] = by[1] = by[2] = _mm512_set1_ps(*scale++);
#pragma GCC unroll 3
            for (int p = 0; p < panels; p++)
                w[p] = load_row(as, b + p * next, by[p]);
#pragma GCC unroll 8
            for (int64_t r = 0; r < rows; r++) {
                const __m512 x = _mm512_set1_ps(a[r * lda]);
#pragma GCC unroll 3
                for (int p = 0; p < panels; p++)
                    s.at[r][p] = _mm512_fmadd_ps(x, w[p], s.at[r][p]);
            }
        }
    }
    store_sums(rows, panels, t, &s);
}

INLINE void tile_rows_of(const int panels, const tile_format as, int rows, const vug_cpu_tile *t)
{
    WITH_CONSTANT_ROWS(MAX_ROWS, rows, tile_of, panels, as, t);
}

INLINE void tile_as(const tile_format as, int rows, const vug_cpu_tile *t)
{
    WITH_CONSTANT_ROWS(MAX_PANELS, t->panels, tile_rows_of, as, rows, t);
}

TILE_KERNELS(avx512)

#else
typedef int vug_avx512_tile_is_empty; /* ISO C forbids an empty file */
#endif
