#ifndef VUG_BACKEND_CPU_X86_AVX512_BLOCKS_GEMM_H
#define VUG_BACKEND_CPU_X86_AVX512_BLOCKS_GEMM_H

/*
 * Rows of x times eight rows of quantized weights, for any format, with AVX-512 VNNI.
 *
 * Some groups of blocks are unpacked (avx512_blocks_unpack.h) and multiplied with all rows of x,
 * whose units (vug_cpu_q8_unit) are in the same order. vpdpbusd multiplies unsigned by signed bytes
 * and adds four neighbouring products to a sum of 32 bits. Weights are the unsigned operand; sums
 * begin with minus the product of their zero point and the sum of x. Two vectors of weights share
 * each vector of x, because a processor broadcasts fewer vectors than it multiplies.
 *
 * BLOCK_FORMAT at the end defines the kernels of a format.
 */

#include "backend/cpu/x86/avx512_blocks_unpack.h"

enum {
    QUADS = 2,     /* of rows of weights */
    GROUPS = 5,    /* that are unpacked before they are multiplied: 13 KiB */
    TILE_ROWS = 4, /* of x: 8 vectors of lanes and 8 or 16 of integers stay in registers */
    HALVES = 2,    /* of a group: lanes 0 .. 3, lanes 4 .. 7 */
    LANES_OF_UNIT = 4 * UNIT,
    LANES_OF_ROW = QUADS * HALVES * LANES_OF_UNIT, /* [quad][half][row of weights][lane] */
};

/* Neighbouring groups of blocks of eight rows of weights. */
typedef struct {
    block_unit unit[GROUPS][HALVES][QUADS];
    int n_units;   /* half groups; the second half of the last group may be missing */
    bool is_first; /* the sums of the lanes begin here */
} block_units;

/* ---- products ----------------------------------------------------------------- */

INLINE __m512i load_four(const void *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}

/* Where the products of a block, or of its half `half` in formats with factors, begin. */
INLINE __m512i first_product(const avx2_format *f, __m512i sum, int half)
{
    const int zero = -zero_of(f);
    if (!zero)
        return _mm512_setzero_si512();
    if (!has_factors(f))
        return _mm512_madd_epi16(sum, half_words(zero, zero));
    return _mm512_madd_epi16(sum, half ? half_words(0, zero) : half_words(zero, 0));
}

typedef struct {
    __m512 at[TILE_ROWS][QUADS];
} tile_lanes;

typedef __m512i tile_products[TILE_ROWS][QUADS][2];

/* Sums the products of half `half` of the blocks, or of all if both halves have one factor. */
INLINE void multiply_vectors(const avx2_format *f, const block_unit *u, const vug_cpu_q8_unit *x,
                             const int rows, const int half, tile_products p)
{
    const int vectors = has_factors(f) ? VECTORS / 2 : VECTORS;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        p[r][0][half] = p[r][1][half] = first_product(f, load_four(x[r].sum), half);
#pragma GCC unroll 8
    for (int i = half * vectors; i < (half + 1) * vectors; i++) {
        const __m512i w[QUADS] = { integers_of(f, &u[0], i), integers_of(f, &u[1], i) };
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const __m512i q = load_four(x[r].q[i]);
            p[r][0][half] = _mm512_dpbusd_epi32(p[r][0][half], w[0], q);
            p[r][1][half] = _mm512_dpbusd_epi32(p[r][1][half], w[1], q);
        }
    }
}

/* Adds the products of four blocks of eight rows of weights and `rows` rows of x. */
INLINE void multiply_tile(const avx2_format *f, const block_unit *u, const vug_cpu_q8_unit *x,
                          const int rows, tile_lanes *lanes)
{
    tile_products p;
    multiply_vectors(f, u, x, rows, 0, p);
    if (has_factors(f))
        multiply_vectors(f, u, x, rows, 1, p);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        const __m512i sum = load_four(x[r].sum);
        const __m512 scale = _mm512_broadcast_f32x4(_mm_loadu_ps(x[r].scale));
#pragma GCC unroll 2
        for (int q = 0; q < QUADS; q++)
            lanes->at[r][q] = _mm512_mask3_fmadd_ps(scale, terms_of(f, &u[q].scales, p[r][q], sum),
                                                    lanes->at[r][q], u[q].exists);
    }
}

/* Where the lanes of row `r` of x and quad `q` begin, after those of the first row's first quad. */
INLINE ptrdiff_t lanes_at(int r, int q)
{
    return (ptrdiff_t)r * LANES_OF_ROW + (ptrdiff_t)q * HALVES * LANES_OF_UNIT;
}

/* Multiplies `rows` of the rows of x with the first or second halves of some groups. Units of x are
 * `step` apart. */
INLINE void multiply_halves(const avx2_format *f, const block_units *u, const vug_cpu_q8_unit *x,
                            const int rows, const int half, int64_t step, float *to)
{
    tile_lanes lanes;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 2
        for (int q = 0; q < QUADS; q++)
            lanes.at[r][q] =
                    u->is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(to + lanes_at(r, q));
    }
    for (int i = half; i < u->n_units; i += HALVES)
        multiply_tile(f, u->unit[i / HALVES][half], x + i * step, rows, &lanes);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 2
        for (int q = 0; q < QUADS; q++)
            _mm512_storeu_ps(to + lanes_at(r, q), lanes.at[r][q]);
    }
}

INLINE void multiply_rows(const avx2_format *f, const block_units *u, const vug_cpu_q8_unit *x,
                          const int rows, int64_t step, float *to)
{
    multiply_halves(f, u, x, rows, 0, step, to);
    multiply_halves(f, u, x, rows, 1, step, to + LANES_OF_UNIT);
}

/* The same for all rows of x. Each format has one such function, which is not inlined. */
typedef void multiply_units_fn(const block_units *u, const vug_cpu_q8_unit *x, int64_t rows,
                               float *lanes);

INLINE void multiply_units(const avx2_format *f, const block_units *u, const vug_cpu_q8_unit *x,
                           int64_t rows, float *lanes)
{
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
        multiply_rows(f, u, x + r, 4, rows, lanes + r * LANES_OF_ROW);
    for (; r + 2 <= rows; r += 2)
        multiply_rows(f, u, x + r, 2, rows, lanes + r * LANES_OF_ROW);
    if (r < rows)
        multiply_rows(f, u, x + r, 1, rows, lanes + r * LANES_OF_ROW);
}

/* ---- rows ------------------------------------------------------------------- */

/* The sums of the lanes of four rows of weights, for 1 to 4 rows of x: y [n,8], or its second half.
 * The sum begins with 0. */
INLINE void sum_lanes_of_quad(const float *lanes, int64_t n, float *y)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i lane[GROUP]; /* of four rows of x for row a, then for rows b, c and d */
    for (int half = 0; half < HALVES; half++) {
        __m512i row[4];
        for (int64_t r = 0; r < 4; r++)
            row[r] = _mm512_loadu_si512(lanes + (r < n ? r : 0) * LANES_OF_ROW +
                                        (ptrdiff_t)half * LANES_OF_UNIT);
        transpose_four_wide(row, lane + (ptrdiff_t)half * UNIT);
    }
    __m512 sum = _mm512_setzero_ps();
    for (int j = 0; j < GROUP; j++)
        sum = _mm512_add_ps(sum, _mm512_castsi512_ps(lane[j]));
    const __m512 rows = _mm512_permutexvar_ps(order, sum);
    const __m128 row[4] = { _mm512_castps512_ps128(rows), _mm512_extractf32x4_ps(rows, 1),
                            _mm512_extractf32x4_ps(rows, 2), _mm512_extractf32x4_ps(rows, 3) };
    for (int r = 0; r < n; r++)
        _mm_storeu_ps(y + (ptrdiff_t)r * VUG_CPU_MAX_STREAMS, row[r]);
}

INLINE void sum_lanes_of_rows(const vug_cpu_gemm_q8 *g)
{
    for (int64_t r = 0; r < g->rows; r += 4) {
        const int64_t n = g->rows - r < 4 ? g->rows - r : 4;
        for (int64_t q = 0; q < QUADS; q++)
            sum_lanes_of_quad(g->lanes + r * LANES_OF_ROW + q * HALVES * LANES_OF_UNIT, n,
                              g->y + r * VUG_CPU_MAX_STREAMS + q * 4);
    }
}

/* Unpacks the group of `n` blocks that begins at block `first`. */
INLINE void unpack_group(block_group *pair, int64_t first, int n, const avx2_format *f,
                         const wide_format *wide, block_unit (*to)[QUADS])
{
    for (int p = 0; p < QUADS * 2; p++) {
        pair[p].first = first;
        pair[p].n = n;
    }
    for (ptrdiff_t q = 0; q < QUADS; q++) {
        /* The compiler knows n in a copy. */
        block_group quad[2] = { pair[2 * q], pair[2 * q + 1] };
        quad[0].n = quad[1].n = n;
        unpack_units(quad, f, wide, &to[0][q], &to[1][q]);
    }
    for (int p = 0; p < QUADS * 2; p++)
        pair[p].w = advance_rows(pair[p].w, f->bytes);
}

INLINE void gemm_blocks(const vug_cpu_gemm_q8 *g, const avx2_format *f, const wide_format *wide,
                        multiply_units_fn *multiply)
{
    const int64_t blocks = g->w->columns / BLOCK;
    const int64_t ahead = bytes_ahead(g, f, QUADS * UNIT);
    const vug_cpu_q8_unit *x = g->x;
    block_group pair[QUADS * 2];
    block_units u;
    for (int p = 0; p < QUADS * 2; p++)
        pair[p] = rows_of(g->w, g->row + g->step * 2 * p, g->row + g->step * (2 * p + 1), f,
                          &g->w->scales);
    for (int64_t first = 0; first < blocks;) {
        u.n_units = 0;
        u.is_first = first == 0;
        for (int i = 0; i < GROUPS && first < blocks; i++) {
            const int64_t left = blocks - first;
            for (int p = 0; p < QUADS * 2; p++)
                prefetch_group(&pair[p], f, ahead);
            if (!f->may_end_within_group || left >= GROUP)
                unpack_group(pair, first, GROUP, f, wide, u.unit[i]);
            else
                unpack_group(pair, first, (int)left, f, wide, u.unit[i]);
            u.n_units += left > UNIT ? 2 : 1;
            first += GROUP;
        }
        multiply(&u, x, g->rows, g->lanes);
        x += u.n_units * g->rows;
    }
    sum_lanes_of_rows(g);
}

/* Defines the kernels of a format. The other arguments initialize its avx2_format. */
#define BLOCK_FORMAT(id, scale_of, ...)                                                 \
    static const avx2_format format_##id = { .unpack = unpack_##id,                     \
                                             .scale = scale_of,                         \
                                             __VA_ARGS__ };                             \
    static void gemv_##id(const vug_cpu_gemv_q8 *g)                                     \
    {                                                                                   \
        gemv_wide(g, &format_##id, &wide_##id);                                         \
    }                                                                                   \
    static __attribute__((noinline)) void multiply_##id(                                \
            const block_units *u, const vug_cpu_q8_unit *x, int64_t rows, float *lanes) \
    {                                                                                   \
        multiply_units(&format_##id, u, x, rows, lanes);                                \
    }                                                                                   \
    static void gemm_##id(const vug_cpu_gemm_q8 *g)                                     \
    {                                                                                   \
        gemm_blocks(g, &format_##id, &wide_##id, multiply_##id);                        \
    }                                                                                   \
    const vug_cpu_block_format vug_avx512_##id = { gemv_##id, gemm_##id };

#endif
