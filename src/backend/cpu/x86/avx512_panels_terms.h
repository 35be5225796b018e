#ifndef VUG_BACKEND_CPU_X86_AVX512_PANELS_TERMS_H
#define VUG_BACKEND_CPU_X86_AVX512_PANELS_TERMS_H

/* From the integer sums of a block of a panel to what the block adds to its lanes. */
#include <immintrin.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/q8_panels.h"

/* Two numbers of 16 bits in each dword. */
INLINE __m512i two_words(const int16_t *words)
{
    int32_t both;
    memcpy(&both, words, sizeof(both));
    return _mm512_set1_epi32(both);
}

/* What a block of 16 rows of weights adds to the lanes of a row of x, before the scale of x. `p` has
 * its sums, or those of its halves, and `sum` the sums of the halves of x. */
INLINE __m512 panel_terms(const vug_cpu_q8_block_terms t, const vug_cpu_q8_panel_block *w,
                          const __m512i *p, const int16_t *sum)
{
    const __m512 scale = _mm512_loadu_ps(w->scale);
    __m512 product = _mm512_cvtepi32_ps(p[0]);
    if (t.factors)
        product = _mm512_fmadd_ps(
                _mm512_loadu_ps(w->factor[0]), product,
                _mm512_mul_ps(_mm512_loadu_ps(w->factor[1]), _mm512_cvtepi32_ps(p[1])));
    if (!t.offset)
        return _mm512_mul_ps(scale, product);
    const __m512i m = _mm512_madd_epi16(
            t.factors ? _mm512_loadu_si512(w->minimum) : _mm512_set1_epi16(1), two_words(sum));
    return _mm512_fmadd_ps(scale, product,
                           _mm512_mul_ps(_mm512_loadu_ps(w->offset), _mm512_cvtepi32_ps(m)));
}

#endif
