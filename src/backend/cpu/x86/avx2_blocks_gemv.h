#ifndef VUG_BACKEND_CPU_X86_AVX2_BLOCKS_GEMV_H
#define VUG_BACKEND_CPU_X86_AVX2_BLOCKS_GEMV_H

/* One row of x times rows of quantized weights, for any format; see avx2_blocks.h. */

#include "backend/cpu/x86/avx2_blocks.h"

/* ---- sums of blocks --------------------------------------------------------- */

/* Adds neighbouring 16-bit numbers in 32 bits. */
INLINE __m256i widen_sums(__m256i p)
{
    return _mm256_madd_epi16(p, _mm256_set1_epi16(1));
}

/* Whether the sums of products have 16 bits at first. With VNNI they have 32. */
INLINE bool starts_in_16(value_range r)
{
#if defined(__AVXVNNI__)
    (void)r;
    return false;
#else
    return r != WITH_SIGN;
#endif
}

/* The sums of neighbouring products of weights with the 16 elements at `x`, in 16 or 32 bits. */
INLINE __m256i multiply_half(__m256i w, const int8_t *x, value_range r)
{
    const __m256i q = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)x));
    const __m256i magnitude = r == WITH_SIGN ? _mm256_abs_epi8(w) : w;
    const __m256i with_sign = r == WITH_SIGN ? _mm256_sign_epi8(q, w) : q;
#if defined(__AVXVNNI__)
    return _mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), magnitude, with_sign);
#else
    const __m256i sums = _mm256_maddubs_epi16(magnitude, with_sign);
    return starts_in_16(r) ? sums : widen_sums(sums);
#endif
}

INLINE __m256i add_sums(__m256i p, __m256i q, bool in_16)
{
    return in_16 ? _mm256_add_epi16(p, q) : _mm256_add_epi32(p, q);
}

/* Joins the partial sums of two blocks: for each row 8 bytes of the first, then 8 of the
 * second. */
INLINE __m256i join_two(__m256i p, __m256i q, bool in_16)
{
    const __m256d turned = _mm256_shuffle_pd(_mm256_castsi256_pd(p), _mm256_castsi256_pd(q), 0x5);
    return add_sums(_mm256_blend_epi32(p, q, 0xcc), _mm256_castpd_si256(turned), in_16);
}

/* Joins two such pairs: for each row 4 bytes of each of four blocks. */
INLINE __m256i join_four(__m256i p, __m256i q, bool in_16)
{
    const __m256 a = _mm256_castsi256_ps(p), b = _mm256_castsi256_ps(q);
    return add_sums(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
                    _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)), in_16);
}

/* The sums of four blocks from four vectors of partial sums, each of at most `n` products in 16
 * bits. */
INLINE __m256i join_blocks(const __m256i *p, value_range r, int n)
{
    const int most = !starts_in_16(r) ? 0 : r == TO_15 ? 16 : r == TO_31 ? 8 : 4;
    __m256i q[UNIT];
    for (int j = 0; j < UNIT; j++)
        q[j] = starts_in_16(r) && n * 2 > most ? widen_sums(p[j]) : p[j];
    const bool two_in_16 = n * 2 <= most, four_in_16 = n * 4 <= most;
    __m256i ab = join_two(q[0], q[1], two_in_16), cd = join_two(q[2], q[3], two_in_16);
    if (two_in_16 && !four_in_16) {
        ab = widen_sums(ab);
        cd = widen_sums(cd);
    }
    const __m256i all = join_four(ab, cd, four_in_16);
    return four_in_16 ? widen_sums(all) : all;
}

INLINE const int8_t *x_at(const block_group *g, int j)
{
    return g->x->q + (g->first + j) * BLOCK;
}

/* The products of weights and x, summed over each of four blocks; 0 beyond n. */
INLINE __m256i products(const block_group *g, int at, unpack_fn *unpack, value_range r)
{
    __m256i p[UNIT] = { _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                        _mm256_setzero_si256() };
    for (int j = 0; j < UNIT; j++) {
        if (at + j < g->n) {
            const block_halves w = unpack(g->w, at + j);
            const int8_t *x = x_at(g, at + j);
            p[j] = add_sums(multiply_half(w.first, x, r), multiply_half(w.second, x + 16, r),
                            starts_in_16(r));
        }
    }
    return join_blocks(p, r, 4);
}

/* The same for each half of a block; n must be 8. */
INLINE block_halves products_by_half(const block_group *g, int at, unpack_fn *unpack, value_range r)
{
    __m256i first[UNIT], second[UNIT];
    for (int j = 0; j < UNIT; j++) {
        const block_halves w = unpack(g->w, at + j);
        first[j] = multiply_half(w.first, x_at(g, at + j), r);
        second[j] = multiply_half(w.second, x_at(g, at + j) + 16, r);
    }
    return (block_halves){ join_blocks(first, r, 2), join_blocks(second, r, 2) };
}

INLINE __m256 scale_products(__m256 scale, __m256i p)
{
    return _mm256_mul_ps(scale, _mm256_cvtepi32_ps(p));
}

enum {
    /* Bytes that are prefetched ahead. With one row of x, 1024 and 4096 were slower by up to 15 %. */
    AHEAD_OF_ONE = 2048,
    AHEAD_OF_SEVERAL = 1024,
};

/* ---- rows ------------------------------------------------------------------- */

/* Lanes 0 .. 3 and 4 .. 7 of two rows. */
typedef struct {
    __m256 low, high;
} lane_sums;

/* The sum of the lanes of each of four rows, in order, from 0. */
INLINE __m128 sum_lanes(lane_sums ab, lane_sums cd)
{
    /* Two lanes of a and c, in the upper half of b and d. */
    const __m256 pair[4] = { _mm256_unpacklo_ps(ab.low, cd.low), _mm256_unpackhi_ps(ab.low, cd.low),
                             _mm256_unpacklo_ps(ab.high, cd.high),
                             _mm256_unpackhi_ps(ab.high, cd.high) };
    __m256 y = _mm256_setzero_ps();
    for (int j = 0; j < GROUP; j++)
        y = _mm256_add_ps(y, j % 2 ? _mm256_permute_ps(pair[j / 2], 0xee) : pair[j / 2]);
    return _mm_unpacklo_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
}

INLINE __m256 x_scales(const block_group *g, int at)
{
    return _mm256_broadcast_ps((const __m128 *)(const void *)(g->x->scale + g->first + at));
}

/* Adds the terms of fewer than four blocks to their lanes. */
INLINE __m256 add_partial_group(const block_group *g, int at, const avx2_format *f, __m256 sum)
{
    const __m128i mask = first_of_4(g->n - at);
    const __m128 x = _mm_maskload_ps(g->x->scale + g->first + at, mask);
    const __m256 longer = _mm256_fmadd_ps(_mm256_set_m128(x, x), f->terms(g, at), sum);
    return _mm256_blendv_ps(sum, longer, _mm256_castsi256_ps(combine_rows(mask, mask)));
}

/* How many bytes later a product with several rows of x needs weights that are prefetched now: those of
 * the same stream or, if `streams` neighbouring rows of weights are read together, of the next ones. */
INLINE int64_t bytes_ahead(const vug_cpu_gemm_q8 *g, const avx2_format *f, int streams)
{
    const int64_t row = g->w->columns / BLOCK * f->bytes / GROUP;
    return g->step == 1 ? streams * row : AHEAD_OF_SEVERAL;
}

enum { LINE = 64 }; /* bytes of a cache line */

/* Prefetches separate scales, once for the groups of a cache line. */
INLINE void prefetch_scales(const block_group *g, const avx2_format *f)
{
    if (!f->has_separate_scales || g->first % LINE != 0)
        return;
    _mm_prefetch((const char *)(g->scale.a + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->scale.b + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->bias.a + g->first + 64), _MM_HINT_T0);
    _mm_prefetch((const char *)(g->bias.b + g->first + 64), _MM_HINT_T0);
}

/* Prefetches scales, and the weights `ahead` bytes on. */
INLINE void prefetch_group(const block_group *g, const avx2_format *f, int64_t ahead)
{
    for (int64_t i = ahead; i < ahead + f->bytes; i += LINE) {
        _mm_prefetch((const char *)(g->w.a + i), _MM_HINT_T0);
        _mm_prefetch((const char *)(g->w.b + i), _MM_HINT_T0);
    }
    prefetch_scales(g, f);
}

/* The lanes of two rows of `blocks` blocks. */
INLINE lane_sums sum_row_pair(block_group g, int64_t blocks, const avx2_format *f)
{
    lane_sums sum = { _mm256_setzero_ps(), _mm256_setzero_ps() };
    g.n = GROUP;
    for (; g.first + GROUP <= blocks; g.first += GROUP) {
        prefetch_group(&g, f, AHEAD_OF_ONE);
        sum.low = _mm256_fmadd_ps(x_scales(&g, 0), f->terms(&g, 0), sum.low);
        sum.high = _mm256_fmadd_ps(x_scales(&g, UNIT), f->terms(&g, UNIT), sum.high);
        g.w = advance_rows(g.w, f->bytes);
    }
    if (!f->may_end_within_group || g.first == blocks)
        return sum;
    g.n = (int)(blocks - g.first);
    if (g.n >= UNIT) {
        sum.low = _mm256_fmadd_ps(x_scales(&g, 0), f->terms(&g, 0), sum.low);
        if (g.n > UNIT)
            sum.high = add_partial_group(&g, UNIT, f, sum.high);
    } else {
        sum.low = add_partial_group(&g, 0, f, sum.low);
    }
    return sum;
}

/* The size of a scale in bytes. */
INLINE int64_t scale_bytes(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 ? 4 : dtype == VUG_DTYPE_E8M0 ? 1 : 2;
}

/* The beginning of rows a and b; `scales` describes their separate scales. */
INLINE block_group rows_of(const vug_matrix *w, int64_t a, int64_t b, const avx2_format *f,
                           const vug_scales *scales)
{
    const vug_scales *s = &w->scales;
    const int64_t stride = w->columns / BLOCK * f->bytes / GROUP;
    block_group g = { .w = { w->data + a * stride, w->data + b * stride }, .scales = scales };
    if (f->has_separate_scales) {
        const int64_t scale_row = s->stride * scale_bytes(s->dtype);
        const int64_t of_a = a / s->rows * scale_row, of_b = b / s->rows * scale_row;
        g.scale = (row_pair){ s->scale + of_a, s->scale + of_b };
        if (s->bias)
            g.bias = (row_pair){ s->bias + of_a, s->bias + of_b };
    }
    return g;
}

INLINE void four_rows(const vug_cpu_gemv_q8 *g, const avx2_format *f, const vug_scales *scales)
{
    const int64_t blocks = g->w->columns / BLOCK, row = g->row, by = g->step;
    block_group ab = rows_of(g->w, row, row + by, f, scales);
    block_group cd = rows_of(g->w, row + 2 * by, row + 3 * by, f, scales);
    ab.x = cd.x = g->x;
    const lane_sums first = sum_row_pair(ab, blocks, f), second = sum_row_pair(cd, blocks, f);
    _mm_storeu_ps(g->y, sum_lanes(first, second));
}

/* The scales of most published MLX checkpoints get code of their own, in which the layout is
 * constant. */
INLINE void gemv_blocks(const vug_cpu_gemv_q8 *g, const avx2_format *f)
{
    static const vug_scales published = { .dtype = VUG_DTYPE_BF16, .columns = 64 };
    const vug_scales *scales = &g->w->scales;
    if (f->has_separate_scales && scales->dtype == published.dtype &&
        scales->columns == published.columns)
        four_rows(g, f, &published);
    else
        four_rows(g, f, scales);
}

#endif
