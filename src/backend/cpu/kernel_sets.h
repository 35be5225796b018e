#ifndef VUG_BACKEND_CPU_KERNEL_SETS_H
#define VUG_BACKEND_CPU_KERNEL_SETS_H

/* The kernel sets that dispatch.c selects from. The files of a set are named for its instruction
 * set. */

#include "backend/cpu/kernels.h"

extern const vug_cpu_kernels vug_cpu_kernels_ref;
/* x86-64 only */
extern const vug_cpu_kernels vug_cpu_kernels_avx2, vug_cpu_kernels_avx_vnni,
        vug_cpu_kernels_avx512_vnni, vug_cpu_kernels_avx512_bf16, vug_cpu_kernels_amx_int8;

/* AArch64 only */
extern const vug_cpu_kernels vug_cpu_kernels_neon, vug_cpu_kernels_neon_dotprod,
        vug_cpu_kernels_neon_bf16;

/* The quantized formats that have kernels. */
/* clang-format off */
#define VUG_CPU_BLOCK_FORMATS(ROW)                              \
    ROW(Q4_0) ROW(Q4_1) ROW(Q5_0) ROW(Q5_1) ROW(Q8_0)           \
    ROW(Q2_K) ROW(Q3_K) ROW(Q4_K) ROW(Q5_K) ROW(Q6_K)           \
    ROW(IQ4_NL) ROW(IQ4_XS) ROW(MXFP4)                          \
    ROW(MLX2) ROW(MLX3) ROW(MLX4) ROW(MLX5) ROW(MLX6) ROW(MLX8) \
    ROW(MLX_FP4)
/* clang-format on */

/* ref_pairs.c */
extern const vug_cpu_pair_kernels vug_ref_pairs;

/* ref_blocks.c: kernels for any quantized format, from vug_matrix_block. */
extern const vug_cpu_block_format vug_ref_block_format;
void vug_ref_quantize_row(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);
vug_cpu_square_sums vug_ref_round_q4_0(const float *w, int64_t n, uint8_t *to);

#endif
