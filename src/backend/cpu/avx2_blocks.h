#ifndef VUG_BACKEND_CPU_AVX2_BLOCKS_H
#define VUG_BACKEND_CPU_AVX2_BLOCKS_H

/*
 * What kernels for weights in blocks share, for AVX2, FMA and F16C.
 *
 * Lanes of a sum are blocks modulo 8, so eight blocks, 256 weights, give one vector: the
 * terms of eight lanes. A format says how 32 integers of a block are unpacked to bytes in
 * their order, and how its scales are read, eight at a time; the rest is here.
 *
 * Products of bytes are those of an unsigned and a signed one, two of them added in 16
 * bits. So integers are made unsigned where they fit 6 bits (zero is taken off afterwards,
 * with the sums of x), and else lend their sign to x. Sums of blocks are joined as early as
 * their range allows: 31 * 127 * 8 and 63 * 127 * 4 fit 16 bits.
 *
 * Every function here is inlined, and its arguments that say what a format is (unpack,
 * reach, n = 8) are constants there.
 */
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/avx2.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    BLOCK = 32, /* weights */
    GROUP = 8,  /* blocks */
    CACHE_LINE = 64,
};

/* What unpacked integers can be. */
typedef enum {
    TO_31,   /* 0 .. 31 */
    TO_63,   /* 0 .. 63 */
    WITH_SIGN /* -128 .. 127 */
} reach;

/* The 32 integers of block `j` of the eight whose weights begin at `w`. */
typedef __m256i unpack_fn(const uint8_t *w, int j);

/* Blocks first .. first + n - 1 of a row of weights, 1 <= n <= 8, and of x. */
typedef struct {
    const uint8_t *w;           /* the first one */
    const uint8_t *scale, *bias; /* those of the row, where they lie apart */
    const vug_scales *apart;
    const vug_cpu_q8 *x;
    int64_t first;
    int n;
} group;

/* What each block adds to its lane, before x's scale; 0 or anything else beyond n. */
typedef __m256 terms_fn(const group *g);

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

INLINE __m256i load_32(const uint8_t *w)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)w);
}

/* 16 bytes in both halves. */
INLINE __m256i load_twice(const uint8_t *w)
{
    return _mm256_broadcastsi128_si256(load_16(w));
}

/* -1 in the first `n` of eight. */
INLINE __m256i first_of_8(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* F16 numbers that lie `stride` bytes from each other; 0 beyond n. */
INLINE __m256 halves_at(const uint8_t *w, int64_t stride, int n)
{
#define AT(j) (short)(n > (j) ? word_at(w + (j)*stride) : 0)
    return _mm256_cvtph_ps(_mm_setr_epi16(AT(0), AT(1), AT(2), AT(3), AT(4), AT(5), AT(6), AT(7)));
#undef AT
}

/* Sums of x, two of 16 for each block; 0 beyond n. */
INLINE __m256i sums_of(const group *g)
{
    const int16_t *sum = g->x->sum + 2 * g->first;
    if (g->n == GROUP)
        return _mm256_loadu_si256((const __m256i *)(const void *)sum);
    return _mm256_maskload_epi32((const int *)(const void *)sum, first_of_8(g->n));
}

/* Sums of x over blocks, times `by`. */
INLINE __m256i block_sums(const group *g, int16_t by)
{
    return _mm256_madd_epi16(sums_of(g), _mm256_set1_epi16(by));
}

/* ---- nibbles ---------------------------------------------------------------- */

/* Of 16 bytes: the lower ones, then the upper ones. */
INLINE __m256i split_nibbles(const uint8_t *w)
{
    const __m256i both = _mm256_srlv_epi64(load_twice(w), _mm256_setr_epi64x(0, 0, 4, 4));
    return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

/* E2M1 times two, plus 12. */
INLINE __m256i e2m1_of(__m256i nibbles)
{
    const __m256i table = _mm256_broadcastsi128_si256(
            _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    return _mm256_shuffle_epi8(table, nibbles);
}

INLINE __m256i iq4_of(__m256i nibbles)
{
    const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113));
    return _mm256_shuffle_epi8(table, nibbles);
}

/* ---- sums of blocks --------------------------------------------------------- */

/* Neighbouring products of weights and x, added; of TO_31 and TO_63 in 16 bits. */
INLINE __m256i multiply(__m256i w, __m256i x, reach r)
{
    if (r != WITH_SIGN)
        return _mm256_maddubs_epi16(w, x);
    const __m256i p = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    return _mm256_madd_epi16(p, _mm256_set1_epi16(1));
}

INLINE __m256i add(__m256i a, __m256i b, bool in_16)
{
    return in_16 ? _mm256_add_epi16(a, b) : _mm256_add_epi32(a, b);
}

/* In each half: 8 bytes of sums of a, 8 of b. */
INLINE __m256i join_two(__m256i a, __m256i b, bool in_16)
{
    const __m256d turned = _mm256_shuffle_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b), 0x5);
    return add(_mm256_blend_epi32(a, b, 0xcc), _mm256_castpd_si256(turned), in_16);
}

/* In each half: 4 bytes of sums of each. */
INLINE __m256i join_four(__m256i ab, __m256i cd, bool in_16)
{
    const __m256 a = _mm256_castsi256_ps(ab), c = _mm256_castsi256_ps(cd);
    return add(_mm256_castps_si256(_mm256_shuffle_ps(a, c, 0x88)),
               _mm256_castps_si256(_mm256_shuffle_ps(a, c, 0xdd)), in_16);
}

/* The products of four blocks with x, each half of a block in a half of the vector. */
INLINE __m256i four_blocks(const group *g, unpack_fn *unpack, int first, reach r)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i p[4];
    for (int j = 0; j < 4; j++) {
        if (first + j < g->n) {
            const int8_t *x = g->x->q + (g->first + first + j) * BLOCK;
            const __m256i q = _mm256_load_si256((const __m256i *)(const void *)x);
            p[j] = multiply(unpack(g->w, first + j), q, r);
        } else {
            p[j] = _mm256_setzero_si256();
        }
    }
    __m256i a = join_two(p[0], p[1], r != WITH_SIGN), b = join_two(p[2], p[3], r != WITH_SIGN);
    if (r == TO_63) {
        a = _mm256_madd_epi16(a, ones);
        b = _mm256_madd_epi16(b, ones);
    }
    const __m256i four = join_four(a, b, r == TO_31);
    return r == TO_31 ? _mm256_madd_epi16(four, ones) : four;
}

/* Products of weights and x, of halves of eight blocks. */
typedef struct {
    __m256i first, second;
} halves;

INLINE halves products_by_half(const group *g, unpack_fn *unpack, reach r)
{
    const __m256i a = four_blocks(g, unpack, 0, r);
    const __m256i b = g->n > 4 ? four_blocks(g, unpack, 4, r) : _mm256_setzero_si256();
    return (halves){ _mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31) };
}

/* Those of eight blocks. */
INLINE __m256i products(const group *g, unpack_fn *unpack, reach r)
{
    const __m256i a = four_blocks(g, unpack, 0, r);
    const __m256i b = g->n > 4 ? four_blocks(g, unpack, 4, r) : _mm256_setzero_si256();
    return _mm256_add_epi32(_mm256_blend_epi32(a, b, 0xf0), _mm256_permute2x128_si256(a, b, 0x21));
}

INLINE __m256 times(__m256 scale, __m256i p)
{
    return _mm256_mul_ps(scale, _mm256_cvtepi32_ps(p));
}

/* scale * p + offset * m */
INLINE __m256 plus_offset(__m256 scale, __m256i p, __m256 offset, __m256i m)
{
    return _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(p), times(offset, m));
}

/* ---- rows ------------------------------------------------------------------- */

/* The lanes of four rows added one after the other; those without blocks are left out. */
INLINE __m128 add_lanes(const __m256 *row, int64_t blocks)
{
    const __m256 a = _mm256_unpacklo_ps(row[0], row[1]), b = _mm256_unpackhi_ps(row[0], row[1]);
    const __m256 c = _mm256_unpacklo_ps(row[2], row[3]), d = _mm256_unpackhi_ps(row[2], row[3]);
    /* Lane j of the four rows in the low half, lane j + 4 in the high. */
    const __m256 pair[4] = { _mm256_shuffle_ps(a, c, 0x44), _mm256_shuffle_ps(a, c, 0xee),
                             _mm256_shuffle_ps(b, d, 0x44), _mm256_shuffle_ps(b, d, 0xee) };
    __m128 y = _mm256_castps256_ps128(pair[0]);
    for (int j = 1; j < 4; j++) {
        if (j < blocks)
            y = _mm_add_ps(y, _mm256_castps256_ps128(pair[j]));
    }
    for (int j = 4; j < GROUP; j++) {
        if (j < blocks)
            y = _mm_add_ps(y, _mm256_extractf128_ps(pair[j - 4], 1));
    }
    return y;
}

/* The lanes of a row of weights, of which `bytes` are a group. */
INLINE __m256 lanes_of(group g, int64_t blocks, int bytes, int64_t ahead, terms_fn *terms)
{
    __m256 sum = _mm256_setzero_ps();
    for (; g.first + GROUP <= blocks; g.first += GROUP) {
        for (int i = 0; i < bytes; i += CACHE_LINE)
            _mm_prefetch((const char *)(g.w + ahead + i), _MM_HINT_T0);
        g.n = GROUP;
        sum = _mm256_fmadd_ps(_mm256_loadu_ps(g.x->scale + g.first), terms(&g), sum);
        g.w += bytes;
    }
    if (g.first < blocks) {
        g.n = (int)(blocks - g.first);
        const __m256i mask = first_of_8(g.n);
        const __m256 scale = _mm256_maskload_ps(g.x->scale + g.first, mask);
        const __m256 longer = _mm256_fmadd_ps(scale, terms(&g), sum);
        sum = _mm256_blendv_ps(sum, longer, _mm256_castsi256_ps(mask));
    }
    return sum;
}

/* Bytes of a row's scales. */
INLINE int64_t scale_bytes(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 ? 4 : dtype == VUG_DTYPE_E8M0 ? 1 : 2;
}

/* `bytes` are those of 256 weights. */
INLINE void gemv_as(const vug_cpu_gemv_q8 *g, int bytes, terms_fn *terms)
{
    const int64_t blocks = g->w->columns / BLOCK, stride = blocks * bytes / GROUP;
    const vug_scales *s = &g->w->scales;
    __m256 sum[VUG_CPU_STREAMS];
    for (int64_t r = 0; r < VUG_CPU_STREAMS; r++) {
        const int64_t row = g->row + r * g->apart;
        group of = { .w = g->w->data + row * stride, .x = g->x, .apart = s };
        if (s->scale) {
            const int64_t at = row / s->rows * s->stride * scale_bytes(s->dtype);
            of.scale = s->scale + at;
            of.bias = s->bias ? s->bias + at : NULL;
        }
        sum[r] = lanes_of(of, blocks, bytes, stride, terms);
    }
    _mm_storeu_ps(g->y, add_lanes(sum, blocks));
}

#define BLOCK_FORMAT(id, name, bytes)                      \
    static void gemv_##id(const vug_cpu_gemv_q8 *g)        \
    {                                                      \
        gemv_as(g, bytes, terms_##id);                     \
    }                                                      \
    const vug_cpu_block_format name = { .gemv = gemv_##id };

#endif
