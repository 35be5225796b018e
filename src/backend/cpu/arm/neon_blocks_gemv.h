#ifndef VUG_BACKEND_CPU_ARM_NEON_BLOCKS_GEMV_H
#define VUG_BACKEND_CPU_ARM_NEON_BLOCKS_GEMV_H

/* One row of x times four rows of quantized weights, for any format; see neon_blocks.h. */

#include "backend/cpu/arm/neon_blocks.h"

/* The sums of products of blocks at .. at + 3 with x, each half multiplied by its factor. */
INLINE int32x4_t multiply_blocks(const neon_group *g, int at, const neon_format *f,
                                 const neon_unit_scales *s, const int8_t *x)
{
    const bool by_half = f->factors && !f->one_factor;
    int32x4_t first[UNIT], second[UNIT];
#pragma GCC unroll 4
    for (int j = 0; j < UNIT; j++) {
        const neon_halves w = f->unpack(g->w, at + j);
        const int8_t *of_block = x + (ptrdiff_t)(at + j) * BLOCK;
        const int32x4_t zero = vdupq_n_s32(0);
        first[j] = add_products(zero, w.first, vld1q_s8(of_block));
        second[j] = add_products(by_half ? zero : first[j], w.second, vld1q_s8(of_block + HALF));
    }
    const int32x4_t p = join_blocks(second);
    if (by_half)
        return vmlaq_s32(vmulq_s32(join_blocks(first), s->factor[0]), p, s->factor[1]);
    return f->factors ? vmulq_s32(p, s->factor[0]) : p;
}

/* Adds the terms of a group of each row to the lanes of its sum; x begins at the group. */
INLINE void add_group(const neon_group *row, const vug_cpu_q8_row *x, const neon_format *f,
                      eight_lanes *sum)
{
    const eight_lanes scale = load_lanes(x->scale);
    for (int o = 0; o < STREAMS; o++) {
        const neon_group *g = &row[o];
        const neon_unit_scales low = scales_of(g, 0, f);
        const int32x4_t p = multiply_blocks(g, 0, f, &low, x->q);
        sum[o].low = vfmaq_f32(sum[o].low, scale.low, unit_terms(f, &low, p, vld1q_s16(x->sum)));
        const neon_unit_scales high = scales_of(g, UNIT, f);
        const int32x4_t q = multiply_blocks(g, UNIT, f, &high, x->q);
        sum[o].high = vfmaq_f32(sum[o].high, scale.high,
                                unit_terms(f, &high, q, vld1q_s16(x->sum + GROUP)));
    }
}

/* The last `n` blocks of a row of x, as a whole group. Blocks that do not exist have a scale of 0: they
 * add 0 to their lanes, which does not change y. */
INLINE void add_end_group(neon_group *row, const vug_cpu_q8_row *x, int n, const neon_format *f,
                          eight_lanes *sum)
{
    uint8_t weights[STREAMS][MAX_GROUP_BYTES];
    int8_t q[GROUP * BLOCK] = { 0 };
    float scale[GROUP] = { 0 };
    int16_t sums[2 * GROUP] = { 0 };
    memcpy(q, x->q, (size_t)n * BLOCK);
    memcpy(scale, x->scale, (size_t)n * sizeof(*scale));
    memcpy(sums, x->sum, (size_t)n * 2 * sizeof(*sums));
    for (int o = 0; o < STREAMS; o++)
        end_group(&row[o], f, n, weights[o]);
    add_group(row, &(vug_cpu_q8_row){ q, scale, sums }, f, sum);
}

INLINE void multiply_rows(const vug_cpu_gemv_q8 *g, const neon_format *f, const vug_scales *scales)
{
    const int64_t blocks = g->w->columns / BLOCK;
    vug_cpu_q8_row x = *g->x;
    neon_group row[STREAMS];
    eight_lanes sum[STREAMS];
    for (int o = 0; o < STREAMS; o++) {
        row[o] = row_of(g->w, g->row + o * g->step, f, scales);
        sum[o] = zero_lanes();
    }
    for (int64_t i = 0; i + GROUP <= blocks; i += GROUP) {
        for (int o = 0; o < STREAMS; o++)
            prefetch_group(&row[o], f);
        add_group(row, &x, f, sum);
        for (int o = 0; o < STREAMS; o++)
            next_group(&row[o], f);
        x.q += (ptrdiff_t)GROUP * BLOCK;
        x.scale += GROUP;
        x.sum += 2 * GROUP;
    }
    if (f->may_end_within_group && blocks % GROUP)
        add_end_group(row, &x, (int)(blocks % GROUP), f, sum);
    vst1q_f32(g->y, sum_lanes(sum));
}

/* The scales of most published MLX checkpoints get code of their own, in which the layout is
 * constant. */
INLINE void gemv_blocks(const vug_cpu_gemv_q8 *g, const neon_format *f)
{
    static const vug_scales published = { .dtype = VUG_DTYPE_BF16, .columns = 64 };
    const vug_scales *scales = &g->w->scales;
    if (f->has_separate_scales && scales->dtype == published.dtype &&
        scales->columns == published.columns)
        multiply_rows(g, f, &published);
    else
        multiply_rows(g, f, scales);
}

#endif
