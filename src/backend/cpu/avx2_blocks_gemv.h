#ifndef VUG_BACKEND_CPU_AVX2_BLOCKS_GEMV_H
#define VUG_BACKEND_CPU_AVX2_BLOCKS_GEMV_H

/* One row of x against rows of weights in blocks, whatever their format; see
 * avx2_blocks.h. */

#include "backend/cpu/avx2_blocks.h"

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
INLINE __m256 add_some(const group *g, int at, const format *f, __m256 sum)
{
    const __m128i mask = first_of_4(g->n - at);
    const __m128 x = _mm_maskload_ps(g->x->scale + g->first + at, mask);
    const __m256 longer = _mm256_fmadd_ps(_mm256_set_m128(x, x), f->terms(g, at), sum);
    return _mm256_blendv_ps(sum, longer, _mm256_castsi256_ps(join_rows(mask, mask)));
}

/* A hint for what follows. Of scales a cache line is that of many groups. */
INLINE void fetch(const group *g, const format *f)
{
    enum { LINE = 64, AHEAD = 256 };
    for (int i = AHEAD; i < AHEAD + f->bytes; i += LINE) {
        _mm_prefetch((const char *)(g->w.a + i), _MM_HINT_T0);
        _mm_prefetch((const char *)(g->w.b + i), _MM_HINT_T0);
    }
    if (!f->has_scales || g->first % LINE != 0)
        return;
    _mm_prefetch((const char *)(g->scale.a + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->scale.b + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->bias.a + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->bias.b + g->first + 64), _MM_HINT_T0);
}

/* The sums of two rows of `blocks`. */
INLINE lanes lanes_of(group g, int64_t blocks, const format *f)
{
    lanes sum = { _mm256_setzero_ps(), _mm256_setzero_ps() };
    g.n = GROUP;
    for (; g.first + GROUP <= blocks; g.first += GROUP) {
        fetch(&g, f);
        sum.low = _mm256_fmadd_ps(x_scales(&g, 0), f->terms(&g, 0), sum.low);
        sum.high = _mm256_fmadd_ps(x_scales(&g, UNIT), f->terms(&g, UNIT), sum.high);
        g.w = moved(g.w, f->bytes);
    }
    if (!f->has_rest || g.first == blocks)
        return sum;
    g.n = (int)(blocks - g.first);
    if (g.n >= UNIT) {
        sum.low = _mm256_fmadd_ps(x_scales(&g, 0), f->terms(&g, 0), sum.low);
        if (g.n > UNIT)
            sum.high = add_some(&g, UNIT, f, sum.high);
    } else {
        sum.low = add_some(&g, 0, f, sum.low);
    }
    return sum;
}

/* Bytes of a scale. */
INLINE int64_t scale_bytes(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 ? 4 : dtype == VUG_DTYPE_E8M0 ? 1 : 2;
}

/* Rows a and b; `apart` says what their scales are. */
INLINE group rows_of(const vug_matrix *w, int64_t a, int64_t b, const format *f,
                     const vug_scales *apart)
{
    const vug_scales *s = &w->scales;
    const int64_t stride = w->columns / BLOCK * f->bytes / GROUP;
    group g = { .w = { w->data + a * stride, w->data + b * stride }, .apart = apart };
    if (f->has_scales) {
        const int64_t scales = s->stride * scale_bytes(s->dtype);
        const int64_t of_a = a / s->rows * scales, of_b = b / s->rows * scales;
        g.scale = (two_rows){ s->scale + of_a, s->scale + of_b };
        if (s->bias)
            g.bias = (two_rows){ s->bias + of_a, s->bias + of_b };
    }
    return g;
}

INLINE void four_rows(const vug_cpu_gemv_q8 *g, const format *f, const vug_scales *apart)
{
    const int64_t blocks = g->w->columns / BLOCK, row = g->row, by = g->apart;
    group ab = rows_of(g->w, row, row + by, f, apart);
    group cd = rows_of(g->w, row + 2 * by, row + 3 * by, f, apart);
    ab.x = cd.x = g->x;
    const lanes first = lanes_of(ab, blocks, f), second = lanes_of(cd, blocks, f);
    _mm_storeu_ps(g->y, add_lanes(first, second, blocks));
}

/* Scales as most checkpoints of MLX have them are constants to the compiler. */
INLINE void gemv_as(const vug_cpu_gemv_q8 *g, const format *f)
{
    static const vug_scales published = { .dtype = VUG_DTYPE_BF16, .columns = 64 };
    const vug_scales *apart = &g->w->scales;
    if (f->has_scales && apart->dtype == published.dtype && apart->columns == published.columns)
        four_rows(g, f, &published);
    else
        four_rows(g, f, apart);
}

#endif
