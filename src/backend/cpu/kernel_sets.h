#ifndef VUG_BACKEND_CPU_KERNEL_SETS_H
#define VUG_BACKEND_CPU_KERNEL_SETS_H

/* The kernel sets that dispatch.c selects from. The files of a set are named for its instruction
 * set. */

#include "backend/cpu/kernels.h"

extern const vug_cpu_kernels vug_cpu_kernels_ref;
extern const vug_cpu_kernels vug_cpu_kernels_avx2; /* x86-64 only */

/* The quantized formats that have kernels, with their vug_cpu_panel_layout: format, bits, zero,
 * factors, offsets. */
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

/* ref_blocks.c: kernels for any quantized format, from its layout and vug_matrix_block. */
extern const vug_cpu_block_format vug_ref_block_format;
void vug_ref_quantize_row(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);
void vug_ref_tile_q8(int rows, const vug_cpu_tile_q8 *t);

#endif
