#ifndef VUG_BACKEND_CPU_X86_AVX2_TRANSPOSE_H
#define VUG_BACKEND_CPU_X86_AVX2_TRANSPOSE_H

/* Transposes rows of weights to columns of a panel, in units of 32 bits. */

#include <immintrin.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/avx2.h"

INLINE __m256i load_row(const uint8_t *w)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)w);
}

/* Eight units of 4 rows: pair[j] holds unit j in the low half, j + 4 in the high half. */
INLINE void transpose_4_rows(const uint8_t *w, int64_t stride, __m256i *pair)
{
    const __m256i r0 = load_row(w), r1 = load_row(w + stride);
    const __m256i r2 = load_row(w + 2 * stride), r3 = load_row(w + 3 * stride);
    const __m256i a = _mm256_unpacklo_epi32(r0, r1), b = _mm256_unpackhi_epi32(r0, r1);
    const __m256i c = _mm256_unpacklo_epi32(r2, r3), d = _mm256_unpackhi_epi32(r2, r3);
    pair[0] = _mm256_unpacklo_epi64(a, c);
    pair[1] = _mm256_unpackhi_epi64(a, c);
    pair[2] = _mm256_unpacklo_epi64(b, d);
    pair[3] = _mm256_unpackhi_epi64(b, d);
}

/* 32 bytes of 8 rows: unit[j] holds unit j of each row. */
INLINE void transpose_units(const uint8_t *w, int64_t stride, __m256i *unit)
{
    __m256i upper[4], lower[4];
    transpose_4_rows(w, stride, upper);
    transpose_4_rows(w + 4 * stride, stride, lower);
    for (int j = 0; j < 4; j++) {
        unit[j] = _mm256_permute2x128_si256(upper[j], lower[j], 0x20);
        unit[j + 4] = _mm256_permute2x128_si256(upper[j], lower[j], 0x31);
    }
}

#endif
