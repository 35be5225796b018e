#ifndef VUG_BACKEND_CPU_X86_AVX512_H
#define VUG_BACKEND_CPU_X86_AVX512_H

/* The kernels of the other avx512*.c files, from which avx512.c makes the kernel set. */

#include "backend/cpu/kernel_sets.h"

enum { VUG_AVX512_TILE_ROWS = 12 };

void vug_avx512_tile(int rows, const vug_cpu_tile *t);
void vug_avx512_tile_f16(int rows, const vug_cpu_tile *t);
void vug_avx512_tile_bf16(int rows, const vug_cpu_tile *t);
void vug_avx512_tile_q8_keys(int rows, const vug_cpu_tile *t);
void vug_avx512_tile_q8_values(int rows, const vug_cpu_tile *t);
float vug_avx512_probe_fma(int64_t rounds, double *flop);
extern const vug_cpu_pair_kernels vug_avx512_pairs, vug_avx512_bf16_pairs;
extern const vug_cpu_format vug_avx512_f32, vug_avx512_f16, vug_avx512_bf16;

extern const vug_cpu_block_format vug_avx512_q4_0, vug_avx512_q4_1, vug_avx512_q5_0,
        vug_avx512_q5_1, vug_avx512_q8_0, vug_avx512_iq4_nl, vug_avx512_mxfp4;
extern const vug_cpu_block_format vug_avx512_q2_k, vug_avx512_q3_k, vug_avx512_q4_k,
        vug_avx512_q5_k, vug_avx512_q6_k, vug_avx512_iq4_xs;
extern const vug_cpu_block_format vug_avx512_mlx2, vug_avx512_mlx3, vug_avx512_mlx4,
        vug_avx512_mlx5, vug_avx512_mlx6, vug_avx512_mlx8, vug_avx512_mlx_fp4;

#endif
