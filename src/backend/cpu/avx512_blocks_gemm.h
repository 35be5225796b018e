#ifndef VUG_BACKEND_CPU_AVX512_BLOCKS_GEMM_H
#define VUG_BACKEND_CPU_AVX512_BLOCKS_GEMM_H

/*
 * Rows of x times four rows of quantized weights, for any format, with AVX-512 VNNI.
 *
 * Four blocks of the four rows are unpacked once (avx512_blocks_unpack.h) and multiplied with all
 * rows of x, whose units (vug_cpu_q8_unit) are in the same order. vpdpbusd multiplies unsigned by
 * signed bytes and adds four neighbouring products to a sum of 32 bits. Weights are the unsigned
 * operand; sums begin with minus the product of their zero point and the sum of x.
 *
 * BLOCK_FORMAT at the end defines the kernels of a format.
 */

#include "backend/cpu/avx512_blocks_unpack.h"

/* Lanes 0 .. 3 of four rows of weights in one vector, lanes 4 .. 7 in the next. */
enum { LANES_OF_UNIT = 4 * UNIT, LANES_OF_ROW = 2 * LANES_OF_UNIT };

/* ---- products ----------------------------------------------------------------- */

INLINE __m512i load_four(const void *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}

/* A number for the first half of each block, and one for the second half. */
INLINE __m512i half_words(int first, int second)
{
    return _mm512_set1_epi32((int)((uint32_t)second << 16 | (uint16_t)first));
}

/* What the blocks add to their lanes, before the scale of x. `p` has their sums, or those of their
 * first and second halves; `sum` has the sums of x. */
INLINE __m512 terms_of(const avx2_format *f, const block_unit *u, const __m512i *p, __m512i sum)
{
    __m512 product = _mm512_cvtepi32_ps(p[0]);
    if (has_factors(f))
        product = _mm512_fmadd_ps(u->factor[0], product,
                                  _mm512_mul_ps(u->factor[1], _mm512_cvtepi32_ps(p[1])));
    if (!f->offset)
        return _mm512_mul_ps(u->scale, product);
    const __m512i m = _mm512_madd_epi16(has_factors(f) ? u->minimum : half_words(1, 1), sum);
    return _mm512_fmadd_ps(u->scale, product, _mm512_mul_ps(u->offset, _mm512_cvtepi32_ps(m)));
}

/* Multiplies `rows` rows of x with a unit. `exists` has a bit for each of its blocks. */
INLINE void multiply_tile(const avx2_format *f, const block_unit *u, const vug_cpu_q8_unit *x,
                          const int rows, __mmask16 exists, float *lanes)
{
    enum { MAX_ROWS = 8 };
    const int zero = -zero_of(f), halves = has_factors(f) ? 2 : 1;
    __m512i p[MAX_ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        const __m512i sum = load_four(x[r].sum);
        p[r][0] = p[r][1] = _mm512_setzero_si512();
        if (zero && halves == 1)
            p[r][0] = _mm512_madd_epi16(sum, half_words(zero, zero));
        if (zero && halves == 2) {
            p[r][0] = _mm512_madd_epi16(sum, half_words(zero, 0));
            p[r][1] = _mm512_madd_epi16(sum, half_words(0, zero));
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < VECTORS; i++) {
        const int half = i * halves / VECTORS;
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            p[r][half] = _mm512_dpbusd_epi32(p[r][half], u->q[i], load_four(x[r].q[i]));
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        float *to = lanes + (ptrdiff_t)r * LANES_OF_ROW;
        const __m512 scale = _mm512_broadcast_f32x4(_mm_loadu_ps(x[r].scale));
        const __m512 terms = terms_of(f, u, p[r], load_four(x[r].sum));
        _mm512_storeu_ps(to, _mm512_mask3_fmadd_ps(scale, terms, _mm512_loadu_ps(to), exists));
    }
}

/* The same for any number of rows. Each format has one such function, which is not inlined. */
typedef void multiply_unit_fn(const block_unit *u, const vug_cpu_q8_unit *x, int64_t rows,
                              __mmask16 exists, float *lanes);

INLINE void multiply_unit(const avx2_format *f, const block_unit *u, const vug_cpu_q8_unit *x,
                          int64_t rows, __mmask16 exists, float *lanes)
{
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8)
        multiply_tile(f, u, x + r, 8, exists, lanes + r * LANES_OF_ROW);
    if (rows & 4) {
        multiply_tile(f, u, x + r, 4, exists, lanes + r * LANES_OF_ROW);
        r += 4;
    }
    if (rows & 2) {
        multiply_tile(f, u, x + r, 2, exists, lanes + r * LANES_OF_ROW);
        r += 2;
    }
    if (rows & 1)
        multiply_tile(f, u, x + r, 1, exists, lanes + r * LANES_OF_ROW);
}

/* ---- rows ------------------------------------------------------------------- */

/* Multiplies blocks at .. at + 3 of a group, or those of them that exist, with all rows of x. */
INLINE void multiply_blocks_at(const vug_cpu_gemm_q8 *g, const block_group *pair, int at,
                               const avx2_format *f, multiply_unit_fn *multiply)
{
    const int64_t unit = (pair[0].first + at) / UNIT;
    const int n = pair[0].n - at < UNIT ? pair[0].n - at : UNIT;
    const unsigned exists = 0x1111U * ((1U << n) - 1);
    block_unit u;
    unpack_unit(pair, at, f, &u);
    multiply(&u, g->x + unit * g->rows, g->rows, (__mmask16)exists,
             g->lanes + (ptrdiff_t)(at / UNIT) * LANES_OF_UNIT);
}

/* y [n,4] = the sums of the lanes of 1 to 4 rows of x; lanes without blocks are skipped. */
INLINE void sum_lanes_of_rows(const float *lanes, int64_t n, int64_t blocks, float *y)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i lane[GROUP]; /* of four rows of x for row a, then for rows b, c and d */
    for (int half = 0; half < 2; half++) {
        __m512i row[4];
        for (int64_t r = 0; r < 4; r++) {
            const float *from = lanes + (r < n ? r : 0) * LANES_OF_ROW;
            row[r] = _mm512_loadu_si512(from + (ptrdiff_t)half * LANES_OF_UNIT);
        }
        transpose_four_wide(row, lane + (ptrdiff_t)half * UNIT);
    }
    __m512 sum = _mm512_castsi512_ps(lane[0]);
    for (int j = 1; j < GROUP; j++) {
        if (j < blocks)
            sum = _mm512_add_ps(sum, _mm512_castsi512_ps(lane[j]));
    }
    const unsigned exists = n < 4 ? (1U << (4 * n)) - 1 : 0xffff;
    _mm512_mask_storeu_ps(y, (__mmask16)exists, _mm512_permutexvar_ps(order, sum));
}

INLINE void gemm_blocks(const vug_cpu_gemm_q8 *g, const avx2_format *f, multiply_unit_fn *multiply)
{
    const int64_t blocks = g->w->columns / BLOCK, row = g->row, by = g->step;
    const vug_scales *scales = &g->w->scales;
    block_group pair[PAIRS] = { rows_of(g->w, row, row + by, f, scales),
                                rows_of(g->w, row + 2 * by, row + 3 * by, f, scales) };
    memset(g->lanes, 0, (size_t)g->rows * LANES_OF_ROW * sizeof(float));
    for (int64_t first = 0; first + GROUP <= blocks; first += GROUP) {
        for (int p = 0; p < PAIRS; p++) {
            pair[p].first = first;
            pair[p].n = GROUP;
            prefetch_group(&pair[p], f);
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
    for (int64_t r = 0; r < g->rows; r += 4)
        sum_lanes_of_rows(g->lanes + r * LANES_OF_ROW, g->rows - r < 4 ? g->rows - r : 4, blocks,
                          g->y + r * VUG_CPU_STREAMS);
}

/* Defines the kernels of a format. The other arguments initialize its avx2_format. */
#define BLOCK_FORMAT(id, scale_of, ...)                                            \
    static const avx2_format format_##id = {                                       \
        .unpack = unpack_##id, .terms = terms_##id, .scale = scale_of, __VA_ARGS__ \
    };                                                                             \
    static void gemv_##id(const vug_cpu_gemv_q8 *g)                                \
    {                                                                              \
        gemv_blocks(g, &format_##id);                                              \
    }                                                                              \
    static __attribute__((noinline)) void multiply_##id(                           \
            const block_unit *u, const vug_cpu_q8_unit *x, int64_t rows,           \
            __mmask16 exists, float *lanes)                                        \
    {                                                                              \
        multiply_unit(&format_##id, u, x, rows, exists, lanes);                    \
    }                                                                              \
    static void gemm_##id(const vug_cpu_gemm_q8 *g)                                \
    {                                                                              \
        gemm_blocks(g, &format_##id, multiply_##id);                               \
    }                                                                              \
    const vug_cpu_block_format vug_avx512_##id = { gemv_##id, gemm_##id };

#endif
