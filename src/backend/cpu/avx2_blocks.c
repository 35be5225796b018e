/* Products with ggml's formats of 32 weights to a block; see avx2_blocks.h. */
#if defined(__AVX2__)
#include "backend/cpu/avx2_blocks.h"

/* ---- four bits -------------------------------------------------------------- */

INLINE __m256i unpack_q4_0(const uint8_t *w, int j)
{
    return split_nibbles(w + j * 18 + 2);
}

INLINE __m256 terms_q4_0(const group *g)
{
    const __m256i p = products(g, unpack_q4_0, TO_31);
    return times(halves_at(g->w, 18, g->n), _mm256_sub_epi32(p, block_sums(g, 8)));
}

INLINE __m256i unpack_q4_1(const uint8_t *w, int j)
{
    return split_nibbles(w + j * 20 + 4);
}

INLINE __m256 terms_q4_1(const group *g)
{
    return plus_offset(halves_at(g->w, 20, g->n), products(g, unpack_q4_1, TO_31),
                       halves_at(g->w + 2, 20, g->n), block_sums(g, 1));
}

INLINE __m256i unpack_iq4_nl(const uint8_t *w, int j)
{
    return iq4_of(split_nibbles(w + j * 18 + 2));
}

INLINE __m256 terms_iq4_nl(const group *g)
{
    return times(halves_at(g->w, 18, g->n), products(g, unpack_iq4_nl, WITH_SIGN));
}

INLINE __m256i unpack_mxfp4(const uint8_t *w, int j)
{
    return e2m1_of(split_nibbles(w + j * 17 + 1));
}

/* 2^(e - 128) of eight bytes e. */
INLINE __m256 mxfp4_scales(const uint8_t *w, int n)
{
#define AT(j) (char)(n > (j) ? w[(j)*17] : 0)
    const __m256i e = _mm256_cvtepu8_epi32(_mm_setr_epi8(AT(0), AT(1), AT(2), AT(3), AT(4), AT(5),
                                                         AT(6), AT(7), 0, 0, 0, 0, 0, 0, 0, 0));
#undef AT
    const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), e);
    const __m256i usual = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i is_tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(usual, tiny, is_tiny));
}

INLINE __m256 terms_mxfp4(const group *g)
{
    const __m256i p = products(g, unpack_mxfp4, TO_31);
    return times(mxfp4_scales(g->w, g->n), _mm256_sub_epi32(p, block_sums(g, 12)));
}

/* ---- five bits, eight bits -------------------------------------------------- */

/* 16 in byte e where bit e of the four bytes at `w` is set. */
INLINE __m256i fifth_bits(const uint8_t *w)
{
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                            2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
    const __m256i all = _mm256_shuffle_epi8(_mm256_set1_epi32((int)dword_at(w)), spread);
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(all, bit), bit);
    return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

INLINE __m256i unpack_q5_0(const uint8_t *w, int j)
{
    return _mm256_or_si256(split_nibbles(w + j * 22 + 6), fifth_bits(w + j * 22 + 2));
}

INLINE __m256 terms_q5_0(const group *g)
{
    const __m256i p = products(g, unpack_q5_0, TO_31);
    return times(halves_at(g->w, 22, g->n), _mm256_sub_epi32(p, block_sums(g, 16)));
}

INLINE __m256i unpack_q5_1(const uint8_t *w, int j)
{
    return _mm256_or_si256(split_nibbles(w + j * 24 + 8), fifth_bits(w + j * 24 + 4));
}

INLINE __m256 terms_q5_1(const group *g)
{
    return plus_offset(halves_at(g->w, 24, g->n), products(g, unpack_q5_1, TO_31),
                       halves_at(g->w + 2, 24, g->n), block_sums(g, 1));
}

INLINE __m256i unpack_q8_0(const uint8_t *w, int j)
{
    return load_32(w + j * 34 + 2);
}

INLINE __m256 terms_q8_0(const group *g)
{
    return times(halves_at(g->w, 34, g->n), products(g, unpack_q8_0, WITH_SIGN));
}

BLOCK_FORMAT(q4_0, vug_avx2_q4_0, 144)
BLOCK_FORMAT(q4_1, vug_avx2_q4_1, 160)
BLOCK_FORMAT(q5_0, vug_avx2_q5_0, 176)
BLOCK_FORMAT(q5_1, vug_avx2_q5_1, 192)
BLOCK_FORMAT(q8_0, vug_avx2_q8_0, 272)
BLOCK_FORMAT(iq4_nl, vug_avx2_iq4_nl, 144)
BLOCK_FORMAT(mxfp4, vug_avx2_mxfp4, 136)

#else
typedef int vug_avx2_blocks_is_empty; /* ISO C wants something here */
#endif
