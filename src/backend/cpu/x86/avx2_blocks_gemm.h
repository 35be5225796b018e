#ifndef VUG_BACKEND_CPU_X86_AVX2_BLOCKS_GEMM_H
#define VUG_BACKEND_CPU_X86_AVX2_BLOCKS_GEMM_H

/*
 * Several rows of x times four rows of quantized weights, for any format; see avx2_blocks.h.
 *
 * Four blocks of the four rows are unpacked once (avx2_blocks_unpack.h) and multiplied with all
 * rows of x, whose units (vug_cpu_q8_unit) are in the same order. Sums of products end up in the
 * order of lanes, without being joined.
 *
 * BLOCK_FORMAT at the end defines the kernels of a format.
 */

#include "backend/cpu/x86/avx2_blocks_unpack.h"

enum { TILE_ROWS = 4 }; /* of x: with both pairs of rows of weights, eight sums stay in registers */

/* ---- products ----------------------------------------------------------------- */

/* Prevents the compiler from reordering integer sums: it would keep every product of a block in
 * memory until they are added. */
INLINE __m256i keep_in_register(__m256i sum)
{
    __asm__("" : "+x"(sum));
    return sum;
}

typedef struct {
    __m256i at[TILE_ROWS][PAIRS];
} tile_integers;

/* The number of vectors whose products can be summed before they are widened or, with VNNI, which sums in
 * 32 bits, multiplied by a factor. */
INLINE int vectors_per_sum(const avx2_format *f)
{
#if defined(__AVXVNNI__)
    const int most = VECTORS;
#else
    const int most = f->range == TO_15 ? 8 : f->range == TO_31 ? 4 : f->range == TO_63 ? 2 : 1;
#endif
    return f->factor && most > VECTORS / 2 ? VECTORS / 2 : most;
}

/* Adds products of bytes of w, which have no sign, and of q. */
INLINE __m256i add_products(__m256i sum, __m256i w, __m256i q)
{
#if defined(__AVXVNNI__)
    return _mm256_dpbusd_avx_epi32(sum, w, q);
#else
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, q));
#endif
}

/* The sums in 32 bits, multiplied by a factor, which is given twice in 32 bits, if there is one. */
INLINE __m256i finish_sum(__m256i sum, bool has_factor, __m256i factor)
{
#if defined(__AVXVNNI__)
    return has_factor ? _mm256_mullo_epi32(sum, _mm256_srai_epi32(factor, 16)) : sum;
#else
    return _mm256_madd_epi16(sum, has_factor ? factor : _mm256_set1_epi16(1));
#endif
}

/* The sums of the products of each block, the parts that are not finished apart. */
typedef struct {
    tile_integers part, whole;
} tile_sums;

/* Adds the products of vector i of the weights and `rows` rows of x. */
INLINE void add_vector(const avx2_format *f, const weight_unit *u, const vug_cpu_q8_unit *x,
                       const int rows, int i, tile_sums *s)
{
    const int per_sum = vectors_per_sum(f);
    __m256i w[PAIRS], magnitude[PAIRS], factor[PAIRS];
#pragma GCC unroll 2
    for (int p = 0; p < PAIRS; p++) {
        w[p] = u->q[i][p];
        magnitude[p] = f->range == WITH_SIGN ? _mm256_abs_epi8(w[p]) : w[p];
        factor[p] = f->factor ? u->factor[2 * i / VECTORS][p] : _mm256_setzero_si256();
    }
#pragma GCC unroll 8
    for (int k = 0; k < rows * PAIRS; k++) {
        const int r = k / PAIRS, p = k % PAIRS;
        const __m256i q = _mm256_broadcastsi128_si256(
                _mm_loadu_si128((const __m128i *)(const void *)x[r].q[i]));
        const __m256i with_sign = f->range == WITH_SIGN ? _mm256_sign_epi8(q, w[p]) : q;
        __m256i *part = &s->part.at[r][p], *whole = &s->whole.at[r][p];
        const __m256i before = i % per_sum ? *part : _mm256_setzero_si256();
        *part = keep_in_register(add_products(before, magnitude[p], with_sign));
        if ((i + 1) % per_sum == 0) {
            const __m256i wide = finish_sum(*part, f->factor != NULL, factor[p]);
            *whole = keep_in_register(i < per_sum ? wide : _mm256_add_epi32(*whole, wide));
        }
    }
}

/* The sums of the products of each block, with each half multiplied by its factor. */
INLINE tile_integers multiply_blocks(const avx2_format *f, const weight_unit *u,
                                     const vug_cpu_q8_unit *x, const int rows)
{
    tile_sums s;
#pragma GCC unroll 8
    for (int i = 0; i < VECTORS; i++)
        add_vector(f, u, x, rows, i, &s);
    return s.whole;
}

/* What the blocks add to their lanes, before the scale of x. */
INLINE __m256 unit_terms(const avx2_format *f, const weight_unit *u, int p, __m256i product,
                         __m256i sum)
{
    const __m256i zero = _mm256_set1_epi16((short)-f->zero), one = _mm256_set1_epi16(1);
    if (f->zero)
        product =
                _mm256_add_epi32(product, _mm256_madd_epi16(f->factor ? u->minimum[p] : zero, sum));
    if (!f->offset)
        return scale_products(u->scale[p], product);
    const __m256i m = _mm256_madd_epi16(f->factor ? u->minimum[p] : one, sum);
    return _mm256_fmadd_ps(u->scale[p], _mm256_cvtepi32_ps(product),
                           scale_products(u->offset[p], m));
}

/* Where the lanes of a unit are summed: those of each row of x and each pair of rows of weights,
 * lanes 0 .. 3 of both rows in one vector, lanes 4 .. 7 in the next. */
enum { LANES_OF_PAIR = 2 * GROUP, LANES_OF_ROW = PAIRS * LANES_OF_PAIR };

/* Multiplies `rows` rows of x with a unit of which the first `n` blocks exist. */
INLINE void multiply_tile(const avx2_format *f, const weight_unit *u, const vug_cpu_q8_unit *x,
                          const int rows, int n, float *lanes)
{
    const tile_integers product = multiply_blocks(f, u, x, rows);
    const __m256i exists = combine_rows(first_of_4(n), first_of_4(n));
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        const __m256i sum = _mm256_broadcastsi128_si256(
                _mm_loadu_si128((const __m128i *)(const void *)x[r].sum));
        const __m256 scale = _mm256_broadcast_ps((const __m128 *)(const void *)x[r].scale);
#pragma GCC unroll 2
        for (int p = 0; p < PAIRS; p++) {
            float *to = lanes + (ptrdiff_t)r * LANES_OF_ROW + (ptrdiff_t)p * LANES_OF_PAIR;
            const __m256 before = _mm256_loadu_ps(to);
            __m256 after =
                    _mm256_fmadd_ps(scale, unit_terms(f, u, p, product.at[r][p], sum), before);
            if (n < UNIT)
                after = _mm256_blendv_ps(before, after, _mm256_castsi256_ps(exists));
            _mm256_storeu_ps(to, after);
        }
    }
}

/* The same for any number of rows. Each format has one such function, which is not inlined. */
typedef void multiply_unit_fn(const weight_unit *u, const vug_cpu_q8_unit *x, int64_t rows, int n,
                              float *lanes);

INLINE void multiply_unit(const avx2_format *f, const weight_unit *u, const vug_cpu_q8_unit *x,
                          int64_t rows, int n, float *lanes)
{
    for (; rows >= TILE_ROWS; rows -= TILE_ROWS) {
        multiply_tile(f, u, x, TILE_ROWS, n, lanes);
        x += TILE_ROWS;
        lanes += (int64_t)TILE_ROWS * LANES_OF_ROW;
    }
    if (rows == 3)
        multiply_tile(f, u, x, 3, n, lanes);
    else if (rows == 2)
        multiply_tile(f, u, x, 2, n, lanes);
    else if (rows == 1)
        multiply_tile(f, u, x, 1, n, lanes);
}

/* ---- rows ------------------------------------------------------------------- */

/* Multiplies blocks at .. at + 3 of a group, or those of them that exist, with all rows of x. */
INLINE void multiply_blocks_at(const vug_cpu_gemm_q8 *g, const block_group *pair, int at,
                               const avx2_format *f, multiply_unit_fn *multiply)
{
    const int64_t unit = (pair[0].first + at) / UNIT;
    const int n = pair[0].n - at < UNIT ? pair[0].n - at : UNIT;
    weight_unit u;
    for (int p = 0; p < PAIRS; p++)
        unpack_pair(&pair[p], at, f, p, &u);
    multiply(&u, g->x + unit * g->rows, g->rows, n, g->lanes + (ptrdiff_t)(at / UNIT) * GROUP);
}

INLINE void gemm_blocks(const vug_cpu_gemm_q8 *g, const avx2_format *f, multiply_unit_fn *multiply)
{
    const int64_t blocks = g->w->columns / BLOCK, row = g->row, by = g->step;
    const vug_scales *scales = &g->w->scales;
    const int64_t ahead = bytes_ahead(g, f, PAIRS * 2);
    block_group pair[PAIRS] = { rows_of(g->w, row, row + by, f, scales),
                                rows_of(g->w, row + 2 * by, row + 3 * by, f, scales) };
    memset(g->lanes, 0, (size_t)g->rows * LANES_OF_ROW * sizeof(float));
    for (int64_t first = 0; first + GROUP <= blocks; first += GROUP) {
        for (int p = 0; p < PAIRS; p++) {
            pair[p].first = first;
            pair[p].n = GROUP;
            prefetch_group(&pair[p], f, ahead);
        }
        multiply_blocks_at(g, pair, 0, f, multiply);
        multiply_blocks_at(g, pair, UNIT, f, multiply);
        for (int p = 0; p < PAIRS; p++)
            pair[p].w = advance_rows(pair[p].w, f->bytes);
    }
    if (f->may_end_within_group && blocks % GROUP) {
        for (int p = 0; p < PAIRS; p++) {
            pair[p].first = blocks / GROUP * GROUP;
            pair[p].n = (int)(blocks % GROUP);
        }
        multiply_blocks_at(g, pair, 0, f, multiply);
        if (blocks % GROUP > UNIT)
            multiply_blocks_at(g, pair, UNIT, f, multiply);
    }
    for (int64_t r = 0; r < g->rows; r++) {
        const float *from = g->lanes + r * LANES_OF_ROW;
        lane_sums sum[PAIRS];
        for (int p = 0; p < PAIRS; p++, from += LANES_OF_PAIR)
            sum[p] = (lane_sums){ _mm256_loadu_ps(from), _mm256_loadu_ps(from + GROUP) };
        _mm_storeu_ps(g->y + r * VUG_CPU_STREAMS, sum_lanes(sum[0], sum[1]));
    }
}

/* Defines the kernels of a format. The other arguments initialize its avx2_format. */
#define BLOCK_FORMAT(id, scale_of, ...)                                                        \
    static const avx2_format format_##id = {                                                   \
        .unpack = unpack_##id, .terms = terms_##id, .scale = scale_of, __VA_ARGS__             \
    };                                                                                         \
    static void gemv_##id(const vug_cpu_gemv_q8 *g)                                            \
    {                                                                                          \
        gemv_blocks(g, &format_##id);                                                          \
    }                                                                                          \
    static __attribute__((noinline)) void multiply_##id(                                       \
            const weight_unit *u, const vug_cpu_q8_unit *x, int64_t rows, int n, float *lanes) \
    {                                                                                          \
        multiply_unit(&format_##id, u, x, rows, n, lanes);                                     \
    }                                                                                          \
    static void gemm_##id(const vug_cpu_gemm_q8 *g)                                            \
    {                                                                                          \
        gemm_blocks(g, &format_##id, multiply_##id);                                           \
    }                                                                                          \
    const vug_cpu_block_format AVX2_BLOCKS(id) = { gemv_##id, gemm_##id };

#endif
