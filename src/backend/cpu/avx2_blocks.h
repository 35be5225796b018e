#ifndef VUG_BACKEND_CPU_AVX2_BLOCKS_H
#define VUG_BACKEND_CPU_AVX2_BLOCKS_H

/*
 * What kernels for weights in blocks share, for AVX2, FMA and F16C.
 *
 * Two rows of weights, a and b, are read side by side, a in the lower half of a vector and
 * b in the upper half, so that what x gives is the same in both halves. A lane of a sum
 * has every eighth block, so four blocks of both rows give one vector of terms, for lanes
 * 0 .. 3 or 4 .. 7. A format says how the integers of a block are unpacked to bytes and
 * how its scales are read; the rest is here.
 *
 * Bytes are multiplied unsigned by signed, and two neighbours added in 16 bits. So
 * integers are made unsigned where they fit 6 bits (zero is taken off afterwards, with the
 * sums of x), and lend their sign to x elsewhere. Sums stay in 16 bits as long as their
 * range allows: 15 * 127 * 16, 31 * 127 * 8 and 63 * 127 * 4 do.
 *
 * Every function here is inlined, and what says which format it is (a format, at) is a
 * constant there.
 */
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/avx2.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    BLOCK = 32, /* weights */
    GROUP = 8,  /* blocks, one for each lane */
    UNIT = 4,   /* blocks of a vector of terms */
};

/* A vector of two rows' bytes, or of what becomes of them. */
typedef struct {
    const uint8_t *a, *b;
} two_rows;

/* Blocks first .. first + n - 1 of two rows of weights, 1 <= n <= 8, and of x. */
typedef struct {
    two_rows w;           /* the first one */
    two_rows scale, bias; /* those of the whole rows, where they lie apart */
    const vug_scales *apart;
    const vug_cpu_q8 *x;
    int64_t first;
    int n;
} group;

/* A block's integers 0 .. 15 and 16 .. 31, of two rows. */
typedef struct {
    __m256i first, second;
} halves;

/* Those of block `j` of the eight whose weights begin at `w`. */
typedef halves unpack_fn(two_rows w, int64_t j);

/* Of blocks at .. at + 3 of the group, anything for those beyond n: a number for each, or
 * two of 16 bits, one for each half. */
typedef __m256 numbers_fn(const group *g, int at);
typedef __m256i words_fn(const group *g, int at);

/* A format; see vug_block, vug_cpu_layout. */
typedef struct {
    int bytes;       /* of 256 weights */
    bool has_rest;   /* its blocks are of 32 weights, so a row may end within a group */
    bool has_scales; /* that lie apart */
    bool is_wide;    /* in panels */
    unpack_fn *unpack;
    numbers_fn *terms; /* what a block adds to its lane, before x's scale */
    /* For panels; NULL: there is none. */
    numbers_fn *scale, *offset;
    words_fn *factor, *minimum;
} format;

/* ---- reading ---------------------------------------------------------------- */

INLINE uint16_t word_at(const uint8_t *w)
{
    uint16_t x;
    memcpy(&x, w, sizeof(x));
    return x;
}

INLINE uint32_t dword_at(const uint8_t *w)
{
    uint32_t x;
    memcpy(&x, w, sizeof(x));
    return x;
}

INLINE float half_at(const uint8_t *w)
{
    return _cvtsh_ss(word_at(w));
}

INLINE __m128i load_8(const uint8_t *w)
{
    return _mm_loadl_epi64((const __m128i *)(const void *)w);
}

INLINE __m128i load_16(const uint8_t *w)
{
    return _mm_loadu_si128((const __m128i *)(const void *)w);
}

INLINE __m256i join_rows(__m128i a, __m128i b)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

/* 16 bytes of each row. */
INLINE __m256i load_rows(two_rows w, int64_t at)
{
    return join_rows(load_16(w.a + at), load_16(w.b + at));
}

INLINE two_rows moved(two_rows w, int64_t by)
{
    return (two_rows){ w.a + by, w.b + by };
}

/* -1 in the first `n` of four. */
INLINE __m128i first_of_4(int n)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3));
}

/* The 16-bit number at the start of each of four blocks of `stride` bytes, as the first
 * four of eight; those beyond n are unspecified. Number j is taken from where it is the
 * j-th of 16 bytes, which lie within the blocks. */
INLINE __m128i four_words(const uint8_t *w, int64_t stride, int n)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i w0 = load_16(w), w1 = n > 1 ? load_16(w + stride - 2) : zero;
    const __m128i w2 = n > 2 ? load_16(w + 2 * (stride - 2)) : zero;
    const __m128i w3 = n > 3 ? load_16(w + 3 * (stride - 2)) : zero;
    return _mm_blend_epi32(_mm_blend_epi16(w0, w1, 0x02), _mm_blend_epi16(w2, w3, 0x08), 0x2);
}

/* F16 numbers that lie so, `offset` bytes into the blocks of a group. */
INLINE __m256 strided_halves(const group *g, int at, int64_t stride, int64_t offset)
{
    const two_rows w = moved(g->w, at * stride + offset);
    return _mm256_cvtph_ps(_mm_unpacklo_epi64(four_words(w.a, stride, g->n - at),
                                              four_words(w.b, stride, g->n - at)));
}

/* One F16 number of each row. */
INLINE __m256 one_half(two_rows w, int64_t at)
{
    const __m128i a = _mm_cvtsi32_si128(word_at(w.a + at));
    const __m128i both = _mm_insert_epi16(a, word_at(w.b + at), 1);
    const __m128i spread = _mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3);
    return _mm256_cvtph_ps(_mm_shuffle_epi8(both, spread));
}

/* Sums of x, two of 16 for each block; 0 beyond n. */
INLINE __m256i sums_of(const group *g, int at)
{
    const int16_t *sum = g->x->sum + 2 * (g->first + at);
    if (g->n - at >= UNIT)
        return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)sum));
    return _mm256_broadcastsi128_si256(
            _mm_maskload_epi32((const int *)(const void *)sum, first_of_4(g->n - at)));
}

/* Sums of x over blocks, times `by`. */
INLINE __m256i block_sums(const group *g, int at, int16_t by)
{
    return _mm256_madd_epi16(sums_of(g, at), _mm256_set1_epi16(by));
}

/* ---- nibbles ---------------------------------------------------------------- */

INLINE __m256i lower_nibbles(__m256i bytes)
{
    return _mm256_and_si256(bytes, _mm256_set1_epi8(15));
}

INLINE __m256i upper_nibbles(__m256i bytes)
{
    return lower_nibbles(_mm256_srli_epi16(bytes, 4));
}

/* Of 16 bytes the lower nibbles are the first half of a block. */
INLINE halves split_nibbles(two_rows w, int64_t at)
{
    const __m256i bytes = load_rows(w, at);
    return (halves){ lower_nibbles(bytes), upper_nibbles(bytes) };
}

INLINE halves look_up(__m128i values, halves nibbles)
{
    const __m256i table = _mm256_broadcastsi128_si256(values);
    return (halves){ _mm256_shuffle_epi8(table, nibbles.first),
                     _mm256_shuffle_epi8(table, nibbles.second) };
}

/* E2M1 times two, plus 12. */
INLINE halves e2m1_of(halves nibbles)
{
    return look_up(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0),
                   nibbles);
}

INLINE halves iq4_of(halves nibbles)
{
    return look_up(
            _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113),
            nibbles);
}

INLINE halves either(halves a, halves b)
{
    return (halves){ _mm256_or_si256(a.first, b.first), _mm256_or_si256(a.second, b.second) };
}

#endif
