#ifndef VUG_BACKEND_CPU_X86_AVX2_STREAMS_H
#define VUG_BACKEND_CPU_X86_AVX2_STREAMS_H

/* Adding the lanes of sums for float weights in streams, for AVX2 and wider vectors. */

#include <immintrin.h>

#include "backend/cpu/streams.h"
#include "backend/cpu/x86/avx2.h"

/* Adds the lanes of four sums to y [4] in order, those that have elements; the first block
 * initializes y. */
INLINE void add_lanes(const stream_block *of, const __m256 *s, float *to)
{
    const __m256 a = _mm256_unpacklo_ps(s[0], s[1]), b = _mm256_unpackhi_ps(s[0], s[1]);
    const __m256 c = _mm256_unpacklo_ps(s[2], s[3]), d = _mm256_unpackhi_ps(s[2], s[3]);
    /* Lane j of the four rows in the low half, lane j + 4 in the high. */
    const __m256 pair[4] = { _mm256_shuffle_ps(a, c, 0x44), _mm256_shuffle_ps(a, c, 0xee),
                             _mm256_shuffle_ps(b, d, 0x44), _mm256_shuffle_ps(b, d, 0xee) };
    __m128 lane[VUG_CPU_LANES];
    for (int j = 0; j < 4; j++) {
        lane[j] = _mm256_castps256_ps128(pair[j]);
        lane[j + 4] = _mm256_extractf128_ps(pair[j], 1);
    }
    __m128 y = of->first == 0 ? lane[0] : _mm_add_ps(_mm_loadu_ps(to), lane[0]);
    for (int j = 1; j < VUG_CPU_LANES; j++) {
        if (j < of->end - of->first)
            y = _mm_add_ps(y, lane[j]);
    }
    _mm_storeu_ps(to, y);
}

#endif
