#ifndef VUG_BACKEND_CPU_X86_AVX512_BLOCK_SCALES_H
#define VUG_BACKEND_CPU_X86_AVX512_BLOCK_SCALES_H

/* What the AVX-512 kernels of quantized weights share: integers from nibbles, the scales of four
 * blocks of four rows, and what these blocks add to their lanes. */

#include "backend/cpu/x86/avx512_short_blocks.h"

/* The scales of four blocks of four rows: those of the first row, then those of the second. Fields
 * that a format does not use are not set. */
typedef struct {
    __m512 scale, offset;
    __m512 factor[2]; /* of each half, in formats where the halves differ */
    __m512i minimum;  /* two 16-bit numbers for each block, in the same formats */
} unit_scales;

/* The halves of a block have factors of their own. Otherwise the factor of a block is part of its
 * scale, and its minimum of its offset: a scale in F16 times an integer is exact. */
INLINE bool has_factors(const avx2_format *f)
{
    return f->factor && !f->one_factor;
}

/* ---- integers ------------------------------------------------------------------ */

/* What is added to the integers of a format, so that none is negative. */
INLINE int zero_of(const avx2_format *f)
{
    return f->range == WITH_SIGN ? f->zero + 128 : f->zero;
}

/* The integers that a table of 16 has for nibbles, plus zero_of(f). */
INLINE __m512i look_up_wide(const avx2_format *f, const int8_t *table, __m512i nibbles)
{
    const __m512i values = _mm512_broadcast_i32x4(load_16((const uint8_t *)table));
    const __m512i sign = _mm512_set1_epi8(f->range == WITH_SIGN ? -128 : 0);
    return _mm512_shuffle_epi8(_mm512_xor_si512(values, sign), nibbles);
}

INLINE __m512i integers_of_nibbles(const avx2_format *f, __m512i nibbles)
{
    return f->nibble_values ? look_up_wide(f, f->nibble_values, nibbles) : nibbles;
}

INLINE __m512i lower_nibbles_wide(__m512i bytes)
{
    return _mm512_and_si512(bytes, _mm512_set1_epi8(15));
}

INLINE __m512i upper_nibbles_wide(__m512i bytes)
{
    return lower_nibbles_wide(_mm512_srli_epi16(bytes, 4));
}

/* ---- scales -------------------------------------------------------------------- */

INLINE __m512i join_integers(__m256i ab, __m256i cd)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(ab), cd, 1);
}

INLINE __m512i join_words(const block_group *pair, int at, block_words_fn *words)
{
    return join_integers(words(&pair[0], at), words(&pair[1], at));
}

INLINE __m512 join_scales(const block_group *pair, int at, block_floats_fn *scale)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(scale(&pair[0], at)), scale(&pair[1], at), 1);
}

/* The lower or upper 16 bits of each 32, as floats. */
INLINE __m512 words_as_floats(__m512i words, int upper)
{
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(upper ? words : _mm512_slli_epi32(words, 16), 16));
}

/* The scales of blocks at .. at + 3 of two pairs of rows. */
INLINE void load_scales(const block_group *pair, int at, const avx2_format *f, unit_scales *s)
{
    if (f->has_half_scales) {
        s->scale = load_halves(pair, at, f, 0);
        if (f->offset)
            s->offset = load_halves(pair, at, f, 1);
        return;
    }
    s->scale = join_scales(pair, at, f->scale);
    if (f->offset)
        s->offset = join_scales(pair, at, f->offset);
    if (!f->factor)
        return;
    const __m512i factor = join_words(pair, at, f->factor);
    if (has_factors(f)) {
        s->factor[0] = words_as_floats(factor, 0);
        s->factor[1] = words_as_floats(factor, 1);
        if (f->minimum)
            s->minimum = join_words(pair, at, f->minimum);
        return;
    }
    s->scale = _mm512_mul_ps(s->scale, words_as_floats(factor, 0));
    if (f->minimum)
        s->offset = _mm512_mul_ps(s->offset, words_as_floats(join_words(pair, at, f->minimum), 0));
}

/* ---- terms --------------------------------------------------------------------- */

/* A number for the first half of each block, and one for the second half. */
INLINE __m512i half_words(int first, int second)
{
    return _mm512_set1_epi32((int)((uint32_t)second << 16 | (uint16_t)first));
}

/* What the blocks add to their lanes, before the scale of x. `p` has their sums, or those of their
 * first and second halves; `sum` has the sums of x. */
INLINE __m512 terms_of(const avx2_format *f, const unit_scales *s, const __m512i *p, __m512i sum)
{
    __m512 product = _mm512_cvtepi32_ps(p[0]);
    if (has_factors(f))
        product = _mm512_fmadd_ps(s->factor[0], product,
                                  _mm512_mul_ps(s->factor[1], _mm512_cvtepi32_ps(p[1])));
    if (!f->offset)
        return _mm512_mul_ps(s->scale, product);
    const __m512i m = _mm512_madd_epi16(has_factors(f) ? s->minimum : half_words(1, 1), sum);
    return _mm512_fmadd_ps(s->scale, product, _mm512_mul_ps(s->offset, _mm512_cvtepi32_ps(m)));
}

#endif
