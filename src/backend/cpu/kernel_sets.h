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
        vug_cpu_kernels_neon_bf16, vug_cpu_kernels_neon_i8mm;

/* The quantized formats that have kernels: the name in the kernels, and the dtype. */
/* clang-format off */
#define VUG_CPU_BLOCK_FORMATS(ROW)                                                           \
    ROW(q4_0, Q4_0) ROW(q4_1, Q4_1) ROW(q5_0, Q5_0) ROW(q5_1, Q5_1) ROW(q8_0, Q8_0)          \
    ROW(q2_k, Q2_K) ROW(q3_k, Q3_K) ROW(q4_k, Q4_K) ROW(q5_k, Q5_K) ROW(q6_k, Q6_K)          \
    ROW(iq4_nl, IQ4_NL) ROW(iq4_xs, IQ4_XS) ROW(mxfp4, MXFP4)                                \
    ROW(mlx2, MLX2) ROW(mlx3, MLX3) ROW(mlx4, MLX4) ROW(mlx5, MLX5) ROW(mlx6, MLX6)          \
    ROW(mlx8, MLX8) ROW(mlx_fp4, MLX_FP4)
/* clang-format on */

/* ref_kernels.c */
void vug_ref_order_lanes(const void *x, int64_t n, float *const *lane);

/* ref_pairs.c */
extern const vug_cpu_pair_kernels vug_ref_pairs;

/* ref_blocks.c: kernels for any quantized format, from vug_matrix_block. */
extern const vug_cpu_block_format vug_ref_block_format;
void vug_ref_quantize_row(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);
vug_cpu_square_sums vug_ref_round_q4_0(const float *w, int64_t n, uint8_t *to);

#endif
