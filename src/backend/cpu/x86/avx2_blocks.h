#ifndef VUG_BACKEND_CPU_X86_AVX2_BLOCKS_H
#define VUG_BACKEND_CPU_X86_AVX2_BLOCKS_H

/*
 * What the kernels of quantized weights share, for AVX2, FMA and F16C.
 *
 * Two rows of weights, a and b, are processed together: a in the lower half of a vector, b in
 * the upper half, with the same x in both halves. A lane of a sum has every eighth block, so
 * four blocks of both rows give one vector of terms, for lanes 0 .. 3 or 4 .. 7. Each format
 * defines how the integers of a block are unpacked to bytes and how its scales are read;
 * these headers do the rest.
 *
 * The byte products of AVX2 multiply unsigned by signed bytes and add two neighbours in 16
 * bits. Integers that fit 6 bits are therefore made unsigned; the product of their zero point
 * and the sums of x is subtracted afterwards. Wider integers pass their sign to x instead. Sums
 * stay in 16 bits as long as they fit: 15 * 127 * 16, 31 * 127 * 8 and 63 * 127 * 4 do.
 *
 * Every function here is inlined, so that the format and `at` are constants there.
 */
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/avx2.h"

enum {
    BLOCK = 32, /* weights */
    GROUP = 8,  /* blocks, one per lane */
    UNIT = 4,   /* blocks of a vector of terms */
};

/* The bytes of two rows. */
typedef struct {
    const uint8_t *a, *b;
} row_pair;

/* Blocks first .. first + n - 1 of two rows of weights, 1 <= n <= 8, and of x. */
typedef struct {
    row_pair w;           /* the first block */
    row_pair scale, bias; /* of the whole rows, in formats with separate scales */
    const vug_scales *scales;
    const vug_cpu_q8_row *x;
    int64_t first;
    int n;
} block_group;

/* Integers 0 .. 15 and 16 .. 31 of a block, of two rows. */
typedef struct {
    __m256i first, second;
} block_halves;

/* Unpacks block `j` of the eight that begin at `w`. */
typedef block_halves unpack_fn(row_pair w, int64_t j);

/* The 16 bytes of block `j`, of two rows, in formats that store integers i and 16 + i in the lower
 * and upper nibble of byte i. */
typedef __m256i load_packed_fn(row_pair w, int64_t j);

/* A number for each of blocks at .. at + 3 of the group, or two 16-bit numbers for each, one
 * per half. The result is unspecified for blocks beyond n. */
typedef __m256 block_floats_fn(const block_group *g, int at);
typedef __m256i block_words_fn(const block_group *g, int at);

/* The range of unpacked integers. */
typedef enum {
    TO_15, /* 0 .. 15 */
    TO_31,
    TO_63,
    WITH_SIGN /* -128 .. 127 */
} value_range;

/* A quantized format; see vug_block. */
typedef struct {
    int bytes; /* of 256 weights */
    value_range range;
    int zero; /* -128 .. 32: the integer of a weight is the unpacked one minus this */
    bool may_end_within_group; /* a row may end within a group, as blocks have 32 weights */
    bool has_separate_scales;  /* scales are stored apart from the integers */
    bool has_half_scales;      /* a block begins with its scale in F16 and its offset, if any */
    unpack_fn *unpack;
    load_packed_fn *load_packed; /* NULL: integers are stored differently */
    const int8_t *nibble_values; /* [16] the integer of each nibble; NULL: its value */
    block_floats_fn *terms;      /* what a block adds to its lane, before the scale of x */
    /* For products with several rows; NULL: factors are 1, offsets are 0. With factors and
     * offsets there are minimums as well; otherwise they are all 1. */
    block_floats_fn *scale, *offset;
    block_words_fn *factor, *minimum;
    bool one_factor; /* both halves of a block have the same factor and minimum */
} avx2_format;

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

INLINE __m256i combine_rows(__m128i a, __m128i b)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

/* Loads 16 bytes of each row. */
INLINE __m256i load_rows(row_pair w, int64_t at)
{
    return combine_rows(load_16(w.a + at), load_16(w.b + at));
}

INLINE row_pair advance_rows(row_pair w, int64_t by)
{
    return (row_pair){ w.a + by, w.b + by };
}

/* -1 in the first `n` of four. */
INLINE __m128i first_of_4(int n)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3));
}

/* The 16-bit number at the start of each of four blocks of `stride` bytes, as the first four
 * of eight; those beyond n are unspecified. Each load begins so that number j is the j-th
 * 16-bit number of the vector; all 16 bytes are within the blocks. */
INLINE __m128i four_words(const uint8_t *w, int64_t stride, int n)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i w0 = load_16(w), w1 = n > 1 ? load_16(w + stride - 2) : zero;
    const __m128i w2 = n > 2 ? load_16(w + 2 * (stride - 2)) : zero;
    const __m128i w3 = n > 3 ? load_16(w + 3 * (stride - 2)) : zero;
    return _mm_blend_epi32(_mm_blend_epi16(w0, w1, 0x02), _mm_blend_epi16(w2, w3, 0x08), 0x2);
}

/* The F16 numbers `offset` bytes into each block of a group. */
INLINE __m256 strided_halves(const block_group *g, int at, int64_t stride, int64_t offset)
{
    const row_pair w = advance_rows(g->w, at * stride + offset);
    return _mm256_cvtph_ps(_mm_unpacklo_epi64(four_words(w.a, stride, g->n - at),
                                              four_words(w.b, stride, g->n - at)));
}

/* One F16 number of each row, for all of its four blocks. */
INLINE __m256 one_half(row_pair w, int64_t at)
{
    const __m128i a = _mm_cvtsi32_si128(word_at(w.a + at));
    const __m128i both = _mm_insert_epi16(a, word_at(w.b + at), 1);
    const __m128i spread = _mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3);
    return _mm256_cvtph_ps(_mm_shuffle_epi8(both, spread));
}

/* The sums of x, two 16-bit numbers for each block; 0 beyond n. */
INLINE __m256i sums_of(const block_group *g, int at)
{
    const int16_t *sum = g->x->sum + 2 * (g->first + at);
    if (g->n - at >= UNIT)
        return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)sum));
    return _mm256_broadcastsi128_si256(
            _mm_maskload_epi32((const int *)(const void *)sum, first_of_4(g->n - at)));
}

/* The sums of x over whole blocks, times `by`. */
INLINE __m256i block_sums(const block_group *g, int at, int16_t by)
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

/* 16 bytes: the lower nibbles are the first half of a block, the upper ones the second. */
INLINE block_halves split_nibbles(__m256i bytes)
{
    return (block_halves){ lower_nibbles(bytes), upper_nibbles(bytes) };
}

/* E2M1 values times two, plus 12. */
static const int8_t e2m1_values[16] = { 12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0 };
static const int8_t iq4_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113 };

INLINE block_halves look_up(const int8_t *values, block_halves nibbles)
{
    const __m256i table = _mm256_broadcastsi128_si256(load_16((const uint8_t *)values));
    return (block_halves){ _mm256_shuffle_epi8(table, nibbles.first),
                           _mm256_shuffle_epi8(table, nibbles.second) };
}

INLINE block_halves or_halves(block_halves a, block_halves b)
{
    return (block_halves){ _mm256_or_si256(a.first, b.first), _mm256_or_si256(a.second, b.second) };
}

#endif
