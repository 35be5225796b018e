#ifndef VUG_BACKEND_CPU_AVX2_H
#define VUG_BACKEND_CPU_AVX2_H

/* The kernels of the other avx2*.c files, from which avx2.c makes the kernel set. */

#include "backend/cpu/kernel_sets.h"

void vug_avx2_prefetch(const uint8_t *w, int64_t stride, int rows, int64_t bytes);
void vug_avx2_tile(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_f16(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_bf16(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_q8_keys(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_q8_values(int rows, const vug_cpu_tile *t);
void vug_avx2_quantize(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);
extern const vug_cpu_format vug_avx2_f32, vug_avx2_f16, vug_avx2_bf16;

extern const vug_cpu_block_format vug_avx2_q4_0, vug_avx2_q4_1, vug_avx2_q5_0, vug_avx2_q5_1,
        vug_avx2_q8_0, vug_avx2_iq4_nl, vug_avx2_mxfp4;
extern const vug_cpu_block_format vug_avx2_q2_k, vug_avx2_q3_k, vug_avx2_q4_k, vug_avx2_q5_k,
        vug_avx2_q6_k, vug_avx2_iq4_xs;
extern const vug_cpu_block_format vug_avx2_mlx2, vug_avx2_mlx3, vug_avx2_mlx4, vug_avx2_mlx5,
        vug_avx2_mlx6, vug_avx2_mlx8, vug_avx2_mlx_fp4;

#endif
