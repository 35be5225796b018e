#ifndef VUG_BACKEND_CPU_Q8_KERNELS_H
#define VUG_BACKEND_CPU_Q8_KERNELS_H

/* Products of quantized weights with activations in 8 bits; see kernels.h. */

#include "ir/tensor.h"

enum {
    VUG_CPU_Q8_BLOCK = 32, /* elements that share a scale in 8 bits */
    VUG_CPU_Q8_UNIT = 4,   /* blocks of a unit of activations */
};

/*
 * Quantized weights in blocks of 32 (quant/matrix.h: vug_matrix_block) are multiplied with a
 * row of x that is quantized to 8 bits, also in blocks of 32. With amax the largest |x[i]| of
 * a block
 *
 *     scale = amax / 127;  r = amax > 0 ? 127 / amax : 0
 *     q[i] = x[i] * r to the nearest integer, ties to even, within -127 .. 127
 *
 * where a NaN counts as 0. sum[s] is the sum of q over half s of the block. Block b of a row
 * of weights gives
 *
 *     P = sum over s of factor[s] * sum over the half of (w.q[e] * x.q[e])     exactly
 *     M = sum over s of minimum[s] * x.sum[s]                                  exactly
 *     t = fma(w.scale, P, w.offset * M)
 *     lane[b mod 8] = fma(x.scale, t, lane[b mod 8])
 *
 * for b in ascending order, with lanes that begin at 0. The lanes are then added in order to 0, so
 * that y is never -0. Therefore the sign of a t that is 0 does not matter: kernels may multiply
 * scales and factors in any order that is exact.
 */

/* A row of activations, quantized as above. */
typedef struct {
    const int8_t *q;    /* [k], aligned to 32 bytes */
    const float *scale; /* [k/32] */
    const int16_t *sum; /* [k/16] */
} vug_cpu_q8_row;

/* y [4] = rows row, row + step, row + 2 step, row + 3 step of w times x. The kernel may
 * prefetch what follows each row in memory, which is likely to be needed next. */
typedef struct {
    const vug_cpu_q8_row *x;
    const vug_matrix *w;
    int64_t row, step; /* step may be 0 */
    float *y;
} vug_cpu_gemv_q8;

/* Four neighbouring blocks of a row of activations, for products with several rows. Blocks beyond
 * the end of the row can have any value. */
typedef struct {
    int8_t q[VUG_CPU_Q8_BLOCK / 4][VUG_CPU_Q8_UNIT][4]; /* q[i][j]: elements 4 i .. 4 i + 3 of
                                                           block j */
    float scale[VUG_CPU_Q8_UNIT];
    int16_t sum[VUG_CPU_Q8_UNIT][2];
} vug_cpu_q8_unit;

/* The number of units of a row of `k` elements. */
static inline int64_t vug_cpu_q8_units(int64_t k)
{
    const int64_t elements = (int64_t)VUG_CPU_Q8_BLOCK * VUG_CPU_Q8_UNIT;
    return (k + elements - 1) / elements;
}

/* y [rows,streams] = the products of several rows of x and rows row, row + step, .. of w, as in
 * vug_cpu_gemv_q8, where `streams` is q8_streams of the kernel set. */
typedef struct {
    const vug_cpu_q8_unit *x; /* [units][rows] */
    int64_t rows;
    const vug_matrix *w;
    int64_t row, step;
    float *lanes; /* [rows][streams][8] scratch */
    float *y;
} vug_cpu_gemm_q8;

/* The kernels of one quantized format of weights. */
typedef struct {
    void (*gemv)(const vug_cpu_gemv_q8 *g);
    void (*gemm)(const vug_cpu_gemm_q8 *g);
} vug_cpu_block_format;

/* Products with many rows; see q8_panels.h. */
typedef struct vug_cpu_q8_panel_format vug_cpu_q8_panel_format;

#endif
