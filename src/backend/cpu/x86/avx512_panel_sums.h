#ifndef VUG_BACKEND_CPU_X86_AVX512_PANEL_SUMS_H
#define VUG_BACKEND_CPU_X86_AVX512_PANEL_SUMS_H

/* The sums of a tile of AVX-512's kernels, in registers: of each row of A with one to three panels. */

#include <immintrin.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/avx512.h"

typedef struct {
    __m512 at[VUG_AVX512_TILE_ROWS][VUG_CPU_MAX_TILE_PANELS];
} panel_sums;

INLINE void clear_sums(const int rows, const int panels, panel_sums *s)
{
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 3
        for (int p = 0; p < panels; p++)
            s->at[r][p] = _mm512_setzero_ps();
    }
}

INLINE void store_sums(const int rows, const int panels, const vug_cpu_tile *t, const panel_sums *s)
{
#pragma GCC unroll 8
    for (int64_t r = 0; r < rows; r++) {
#pragma GCC unroll 3
        for (int64_t p = 0; p < panels; p++) {
            float *c = t->c + r * t->ldc + p * VUG_CPU_PANEL;
            const __m512 sum = s->at[r][p];
            _mm512_storeu_ps(c, t->accumulate ? _mm512_add_ps(_mm512_loadu_ps(c), sum) : sum);
        }
    }
}

#endif
