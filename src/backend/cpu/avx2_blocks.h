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
 * Every function here is inlined, and what says which format it is (unpack, reach, at) is
 * a constant there.
 */
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/avx2.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    BLOCK = 32,      /* weights */
    GROUP = 8,       /* blocks, one for each lane */
    UNIT = 4,        /* blocks of a vector of terms */
    GROUP_SIZE = 256 /* weights */
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
typedef halves unpack_fn(two_rows w, int j);

/* What a format's rows look like. */
typedef struct {
    int bytes;       /* of 256 weights */
    bool has_rest;   /* its blocks are of 32 weights, so a row may end within a group */
    bool has_scales; /* that lie apart */
} layout;

/* What blocks at .. at + 3 of the group add to their lanes, before x's scale; anything
 * for those beyond n. */
typedef __m256 terms_fn(const group *g, int at);

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

/* ---- sums of blocks --------------------------------------------------------- */

/* What unpacked integers can be. */
typedef enum {
    TO_15, /* 0 .. 15 */
    TO_31,
    TO_63,
    WITH_SIGN /* -128 .. 127 */
} reach;

/* Sums of neighbours: of 16-bit numbers in 32 bits. */
INLINE __m256i widened(__m256i p)
{
    return _mm256_madd_epi16(p, _mm256_set1_epi16(1));
}

/* Neighbouring products of weights and the 16 elements of x at `x`, added; in 16 bits
 * unless they have a sign. */
INLINE __m256i multiply(__m256i w, const int8_t *x, reach r)
{
    const __m256i q = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)x));
    if (r != WITH_SIGN)
        return _mm256_maddubs_epi16(w, q);
    return widened(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(q, w)));
}

INLINE __m256i add(__m256i p, __m256i q, bool in_16)
{
    return in_16 ? _mm256_add_epi16(p, q) : _mm256_add_epi32(p, q);
}

/* Of each row: 8 bytes of sums of one block, then 8 of the other. */
INLINE __m256i join_two(__m256i p, __m256i q, bool in_16)
{
    const __m256d turned = _mm256_shuffle_pd(_mm256_castsi256_pd(p), _mm256_castsi256_pd(q), 0x5);
    return add(_mm256_blend_epi32(p, q, 0xcc), _mm256_castpd_si256(turned), in_16);
}

/* 4 bytes of sums of each block of two pairs. */
INLINE __m256i join_four(__m256i p, __m256i q, bool in_16)
{
    const __m256 a = _mm256_castsi256_ps(p), b = _mm256_castsi256_ps(q);
    return add(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
               _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)), in_16);
}

/* Sums of four blocks from four vectors of partial ones, each of at most `n` products in
 * 16 bits. */
INLINE __m256i join_blocks(const __m256i *p, reach r, int n)
{
    const int most = r == TO_15 ? 16 : r == TO_31 ? 8 : r == TO_63 ? 4 : 0;
    __m256i q[UNIT];
    for (int j = 0; j < UNIT; j++)
        q[j] = r != WITH_SIGN && n * 2 > most ? widened(p[j]) : p[j];
    const bool two_in_16 = n * 2 <= most, four_in_16 = n * 4 <= most;
    __m256i ab = join_two(q[0], q[1], two_in_16), cd = join_two(q[2], q[3], two_in_16);
    if (two_in_16 && !four_in_16) {
        ab = widened(ab);
        cd = widened(cd);
    }
    const __m256i all = join_four(ab, cd, four_in_16);
    return four_in_16 ? widened(all) : all;
}

INLINE const int8_t *x_at(const group *g, int j)
{
    return g->x->q + (g->first + j) * BLOCK;
}

/* Products of weights and x in each of four blocks; 0 beyond n. */
INLINE __m256i products(const group *g, int at, unpack_fn *unpack, reach r)
{
    __m256i p[UNIT] = { _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                        _mm256_setzero_si256() };
    for (int j = 0; j < UNIT; j++) {
        if (at + j < g->n) {
            const halves w = unpack(g->w, at + j);
            const int8_t *x = x_at(g, at + j);
            p[j] = add(multiply(w.first, x, r), multiply(w.second, x + 16, r), r != WITH_SIGN);
        }
    }
    return join_blocks(p, r, 4);
}

/* The same of each half of a block; n is 8. */
INLINE halves products_by_half(const group *g, int at, unpack_fn *unpack, reach r)
{
    __m256i first[UNIT], second[UNIT];
    for (int j = 0; j < UNIT; j++) {
        const halves w = unpack(g->w, at + j);
        first[j] = multiply(w.first, x_at(g, at + j), r);
        second[j] = multiply(w.second, x_at(g, at + j) + 16, r);
    }
    return (halves){ join_blocks(first, r, 2), join_blocks(second, r, 2) };
}

INLINE __m256 times(__m256 scale, __m256i p)
{
    return _mm256_mul_ps(scale, _mm256_cvtepi32_ps(p));
}

/* ---- rows ------------------------------------------------------------------- */

/* Lanes 0 .. 3 and 4 .. 7 of two rows. */
typedef struct {
    __m256 low, high;
} lanes;

/* The lanes of four rows added one after the other; those without blocks are left out. */
INLINE __m128 add_lanes(lanes ab, lanes cd, int64_t blocks)
{
    /* Two lanes of a and c, in the upper half of b and d. */
    const __m256 pair[4] = { _mm256_unpacklo_ps(ab.low, cd.low), _mm256_unpackhi_ps(ab.low, cd.low),
                             _mm256_unpacklo_ps(ab.high, cd.high),
                             _mm256_unpackhi_ps(ab.high, cd.high) };
    __m256 y = pair[0];
    for (int j = 1; j < GROUP; j++) {
        if (j < blocks)
            y = _mm256_add_ps(y, j % 2 ? _mm256_permute_ps(pair[j / 2], 0xee) : pair[j / 2]);
    }
    return _mm_unpacklo_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
}

INLINE __m256 x_scales(const group *g, int at)
{
    return _mm256_broadcast_ps((const __m128 *)(const void *)(g->x->scale + g->first + at));
}

/* Adds the terms of fewer than four blocks. */
INLINE __m256 add_some(const group *g, int at, terms_fn *terms, __m256 sum)
{
    const __m128i mask = first_of_4(g->n - at);
    const __m128 x = _mm_maskload_ps(g->x->scale + g->first + at, mask);
    const __m256 longer = _mm256_fmadd_ps(_mm256_set_m128(x, x), terms(g, at), sum);
    return _mm256_blendv_ps(sum, longer, _mm256_castsi256_ps(join_rows(mask, mask)));
}

/* A hint for what follows. Of scales a cache line is that of many groups. */
INLINE void fetch(const group *g, layout l)
{
    enum { LINE = 64, AHEAD = 320 };
    for (int i = AHEAD; i < AHEAD + l.bytes; i += LINE) {
        _mm_prefetch((const char *)(g->w.a + i), _MM_HINT_T0);
        _mm_prefetch((const char *)(g->w.b + i), _MM_HINT_T0);
    }
    if (!l.has_scales || g->first % LINE != 0)
        return;
    _mm_prefetch((const char *)(g->scale.a + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->scale.b + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->bias.a + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->bias.b + g->first + 64), _MM_HINT_T0);
}

/* The sums of two rows of `blocks`. */
INLINE lanes lanes_of(group g, int64_t blocks, layout l, terms_fn *terms)
{
    lanes sum = { _mm256_setzero_ps(), _mm256_setzero_ps() };
    g.n = GROUP;
    for (; g.first + GROUP <= blocks; g.first += GROUP) {
        fetch(&g, l);
        sum.low = _mm256_fmadd_ps(x_scales(&g, 0), terms(&g, 0), sum.low);
        sum.high = _mm256_fmadd_ps(x_scales(&g, UNIT), terms(&g, UNIT), sum.high);
        g.w = moved(g.w, l.bytes);
    }
    if (!l.has_rest || g.first == blocks)
        return sum;
    g.n = (int)(blocks - g.first);
    if (g.n >= UNIT) {
        sum.low = _mm256_fmadd_ps(x_scales(&g, 0), terms(&g, 0), sum.low);
        if (g.n > UNIT)
            sum.high = add_some(&g, UNIT, terms, sum.high);
    } else {
        sum.low = add_some(&g, 0, terms, sum.low);
    }
    return sum;
}

/* Bytes of a scale. */
INLINE int64_t scale_bytes(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 ? 4 : dtype == VUG_DTYPE_E8M0 ? 1 : 2;
}

/* Rows `row` and row + apart. */
INLINE group rows_of(const vug_cpu_gemv_q8 *g, int64_t row, int64_t stride, layout l)
{
    const vug_scales *s = &g->w->scales;
    group of = { .w = { g->w->data + row * stride, g->w->data + (row + g->apart) * stride },
                 .apart = s,
                 .x = g->x };
    if (l.has_scales) {
        const int64_t size = scale_bytes(s->dtype);
        const int64_t a = row / s->rows * s->stride * size;
        const int64_t b = (row + g->apart) / s->rows * s->stride * size;
        of.scale = (two_rows){ s->scale + a, s->scale + b };
        if (s->bias)
            of.bias = (two_rows){ s->bias + a, s->bias + b };
    }
    return of;
}

INLINE void gemv_as(const vug_cpu_gemv_q8 *g, layout l, terms_fn *terms)
{
    const int64_t blocks = g->w->columns / BLOCK, stride = blocks * l.bytes / GROUP;
    const group ab = rows_of(g, g->row, stride, l);
    const group cd = rows_of(g, g->row + 2 * g->apart, stride, l);
    const lanes first = lanes_of(ab, blocks, l, terms), second = lanes_of(cd, blocks, l, terms);
    _mm_storeu_ps(g->y, add_lanes(first, second, blocks));
}

/* The kernels of a format; what follows is a layout. */
#define BLOCK_FORMAT(id, ...)                            \
    static void gemv_##id(const vug_cpu_gemv_q8 *g)      \
    {                                                    \
        gemv_as(g, (layout){ __VA_ARGS__ }, terms_##id); \
    }                                                    \
    const vug_cpu_block_format vug_avx2_##id = { gemv_##id, vug_avx2_pack_q8 };

#endif
