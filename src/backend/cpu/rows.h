#ifndef VUG_BACKEND_CPU_ROWS_H
#define VUG_BACKEND_CPU_ROWS_H

/* The rows that dispatch.c chooses from; each is one or more files named for its
 * instruction set. */

#include "backend/cpu/kernels.h"

extern const vug_cpu_kernels vug_cpu_ref_row;
extern const vug_cpu_kernels vug_cpu_avx2_row; /* x86-64 only */

/* What is computed with in 8 bits, and its layout: format, bits, zero, factors, offsets. */
#define VUG_CPU_BLOCK_FORMATS(ROW)  \
    ROW(Q4_0, 4, 8, false, false)   \
    ROW(Q4_1, 4, 0, false, true)    \
    ROW(Q5_0, 5, 16, false, false)  \
    ROW(Q5_1, 5, 0, false, true)    \
    ROW(Q8_0, 8, 0, false, false)   \
    ROW(Q2_K, 4, 0, true, true)     \
    ROW(Q3_K, 4, 4, true, false)    \
    ROW(Q4_K, 4, 0, true, true)     \
    ROW(Q5_K, 5, 0, true, true)     \
    ROW(Q6_K, 6, 32, true, false)   \
    ROW(IQ4_NL, 8, 0, false, false) \
    ROW(IQ4_XS, 8, 0, false, false) \
    ROW(MXFP4, 5, 12, false, false) \
    ROW(MLX2, 4, 0, false, true)    \
    ROW(MLX3, 4, 0, false, true)    \
    ROW(MLX4, 4, 0, false, true)    \
    ROW(MLX5, 5, 0, false, true)    \
    ROW(MLX6, 6, 0, false, true)    \
    ROW(MLX8, 8, -128, false, true) \
    ROW(MLX_FP4, 5, 12, false, false)

/* ref_blocks.c: any format, by its layout and vug_matrix_block. */
extern const vug_cpu_block_format vug_ref_block_format;
void vug_ref_round_row(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);
void vug_ref_tile_q8(int rows, const vug_cpu_tile_q8 *t);

#endif
