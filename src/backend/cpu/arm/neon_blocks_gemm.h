#ifndef VUG_BACKEND_CPU_ARM_NEON_BLOCKS_GEMM_H
#define VUG_BACKEND_CPU_ARM_NEON_BLOCKS_GEMM_H

/*
 * Several rows of x times four rows of quantized weights, for any format; see neon_blocks.h.
 *
 * Four blocks of the four rows are unpacked and transposed once, so that the 32 bits of a vector belong
 * to one block: vector i has elements 4 i .. 4 i + 3 of four blocks. They are multiplied with all rows
 * of x, whose units (vug_cpu_q8_unit) are in the same order, so sums of products end up in the order of
 * lanes, without being joined.
 */

#include "backend/cpu/arm/neon_blocks_gemv.h"

enum {
    TILE_ROWS = 4, /* of x: with four rows of weights, 16 sums stay in registers */
    VECTORS = BLOCK / 4,
    LANES_OF_ROW = STREAMS * LANES,
};

/* Four blocks of four rows of weights. */
typedef struct {
    int8x16_t q[VECTORS][STREAMS];
    neon_unit_scales scales[STREAMS];
} neon_weight_unit;

INLINE void unpack_unit(const neon_group *row, int at, const neon_format *f, neon_weight_unit *u)
{
    for (int o = 0; o < STREAMS; o++) {
        uint32x4_t from[2][UNIT], to[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < UNIT; j++) {
            const neon_halves w = f->unpack(row[o].w, at + j);
            from[0][j] = vreinterpretq_u32_s8(w.first);
            from[1][j] = vreinterpretq_u32_s8(w.second);
        }
        transpose_four(from[0], to);
        transpose_four(from[1], to + VECTORS / 2);
        for (int i = 0; i < VECTORS; i++)
            u->q[i][o] = vreinterpretq_s8_u32(to[i]);
        u->scales[o] = scales_of(&row[o], at, f);
    }
}

typedef struct {
    int32x4_t at[TILE_ROWS][STREAMS];
} neon_tile_integers;

/* Adds the products of vectors first .. end - 1. */
INLINE void add_vectors(const neon_weight_unit *u, const vug_cpu_q8_unit *x, const int rows,
                        int first, int end, neon_tile_integers *p)
{
#pragma GCC unroll 8
    for (int i = first; i < end; i++) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const int8x16_t q = vld1q_s8(x[r].q[i][0]);
#pragma GCC unroll 4
            for (int o = 0; o < STREAMS; o++)
                p->at[r][o] = add_products(p->at[r][o], u->q[i][o], q);
        }
    }
}

/* The sums of the products of each block, each half multiplied by its factor. */
INLINE neon_tile_integers multiply_units(const neon_format *f, const neon_weight_unit *u,
                                         const vug_cpu_q8_unit *x, const int rows)
{
    const bool by_half = f->factors && !f->one_factor;
    neon_tile_integers p, q;
#pragma GCC unroll 16
    for (int k = 0; k < rows * STREAMS; k++)
        p.at[k / STREAMS][k % STREAMS] = q.at[k / STREAMS][k % STREAMS] = vdupq_n_s32(0);
    add_vectors(u, x, rows, 0, by_half ? VECTORS / 2 : VECTORS, &p);
    if (by_half)
        add_vectors(u, x, rows, VECTORS / 2, VECTORS, &q);
    if (!f->factors)
        return p;
#pragma GCC unroll 16
    for (int k = 0; k < rows * STREAMS; k++) {
        const neon_unit_scales *s = &u->scales[k % STREAMS];
        int32x4_t *sum = &p.at[k / STREAMS][k % STREAMS];
        *sum = vmulq_s32(*sum, s->factor[0]);
        if (by_half)
            *sum = vmlaq_s32(*sum, q.at[k / STREAMS][k % STREAMS], s->factor[1]);
    }
    return p;
}

/* Adds the terms of `n` blocks to the lanes of `rows` rows of x. */
INLINE void multiply_tile(const neon_format *f, const neon_weight_unit *u, const vug_cpu_q8_unit *x,
                          const int rows, int n, float *lanes)
{
    static const int32_t iota[UNIT] = { 0, 1, 2, 3 };
    const uint32x4_t exists = vcltq_s32(vld1q_s32(iota), vdupq_n_s32(n));
    const neon_tile_integers p = multiply_units(f, u, x, rows);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        const int16x8_t sums = vld1q_s16(x[r].sum[0]);
        const float32x4_t scale = vld1q_f32(x[r].scale);
#pragma GCC unroll 4
        for (int o = 0; o < STREAMS; o++) {
            float *to = lanes + (ptrdiff_t)r * LANES_OF_ROW + (ptrdiff_t)o * LANES;
            const float32x4_t before = vld1q_f32(to);
            const float32x4_t terms = unit_terms(f, &u->scales[o], p.at[r][o], sums);
            vst1q_f32(to, vbslq_f32(exists, vfmaq_f32(before, scale, terms), before));
        }
    }
}

/* The same for any number of rows. Each format has one such function, which is not inlined. */
typedef void neon_multiply_fn(const neon_weight_unit *u, const vug_cpu_q8_unit *x, int64_t rows,
                              int n, float *lanes);

INLINE void multiply_unit(const neon_format *f, const neon_weight_unit *u, const vug_cpu_q8_unit *x,
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

/* Multiplies the group of each row with all rows of x. */
INLINE void multiply_group(const vug_cpu_gemm_q8 *g, const neon_group *row, const neon_format *f,
                           neon_multiply_fn *multiply)
{
    for (int at = 0; at < row[0].n; at += UNIT) {
        const int64_t unit = (row[0].first + at) / UNIT;
        const int n = row[0].n - at < UNIT ? row[0].n - at : UNIT;
        neon_weight_unit u;
        unpack_unit(row, at, f, &u);
        multiply(&u, g->x + unit * g->rows, g->rows, n, g->lanes + at);
    }
}

INLINE void gemm_blocks(const vug_cpu_gemm_q8 *g, const neon_format *f, neon_multiply_fn *multiply)
{
    const int64_t blocks = g->w->columns / BLOCK;
    neon_group row[STREAMS];
    for (int o = 0; o < STREAMS; o++)
        row[o] = row_of(g->w, g->row + o * g->step, f, &g->w->scales);
    memset(g->lanes, 0, (size_t)g->rows * LANES_OF_ROW * sizeof(float));
    for (int64_t i = 0; i + GROUP <= blocks; i += GROUP) {
        for (int o = 0; o < STREAMS; o++)
            prefetch_group(&row[o], f);
        multiply_group(g, row, f, multiply);
        for (int o = 0; o < STREAMS; o++)
            next_group(&row[o], f);
    }
    if (f->may_end_within_group && blocks % GROUP) {
        uint8_t weights[STREAMS][MAX_GROUP_BYTES];
        for (int o = 0; o < STREAMS; o++)
            end_group(&row[o], f, (int)(blocks % GROUP), weights[o]);
        multiply_group(g, row, f, multiply);
    }
    for (int64_t r = 0; r < g->rows; r++) {
        eight_lanes sum[STREAMS];
        for (int o = 0; o < STREAMS; o++)
            sum[o] = load_lanes(g->lanes + r * LANES_OF_ROW + (ptrdiff_t)o * LANES);
        vst1q_f32(g->y + r * STREAMS, sum_lanes(sum));
    }
}

/* Defines the kernels of a format. The other arguments initialize its neon_format; NEON_SET(id) is
 * their name. */
#define BLOCK_FORMAT(id, ...)                                                                   \
    static const neon_format format_##id = { .unpack = unpack_##id, __VA_ARGS__ };              \
    static void gemv_##id(const vug_cpu_gemv_q8 *g)                                             \
    {                                                                                           \
        gemv_blocks(g, &format_##id);                                                           \
    }                                                                                           \
    static __attribute__((noinline)) void multiply_##id(const neon_weight_unit *u,              \
                                                        const vug_cpu_q8_unit *x, int64_t rows, \
                                                        int n, float *lanes)                    \
    {                                                                                           \
        multiply_unit(&format_##id, u, x, rows, n, lanes);                                      \
    }                                                                                           \
    static void gemm_##id(const vug_cpu_gemm_q8 *g)                                             \
    {                                                                                           \
        gemm_blocks(g, &format_##id, multiply_##id);                                            \
    }                                                                                           \
    const vug_cpu_block_format NEON_SET(id) = { gemv_##id, gemm_##id };

#endif
