#ifndef VUG_BACKEND_CPU_X86_AVX512_KERNELS_H
#define VUG_BACKEND_CPU_X86_AVX512_KERNELS_H

/* Members of an initializer: the kernels that the AVX-512 sets share. Those that are bound by memory or
 * take little time are AVX2's. */
/* clang-format off */

.format = {
    [VUG_DTYPE_F32] = &vug_avx512_f32,
    [VUG_DTYPE_F16] = &vug_avx512_f16,
    [VUG_DTYPE_BF16] = &vug_avx512_bf16,
},
.block = {
    [VUG_DTYPE_Q4_0] = &vug_avx512_q4_0,
    [VUG_DTYPE_Q4_1] = &vug_avx512_q4_1,
    [VUG_DTYPE_Q5_0] = &vug_avx512_q5_0,
    [VUG_DTYPE_Q5_1] = &vug_avx512_q5_1,
    [VUG_DTYPE_Q8_0] = &vug_avx512_q8_0,
    [VUG_DTYPE_Q2_K] = &vug_avx512_q2_k,
    [VUG_DTYPE_Q3_K] = &vug_avx512_q3_k,
    [VUG_DTYPE_Q4_K] = &vug_avx512_q4_k,
    [VUG_DTYPE_Q5_K] = &vug_avx512_q5_k,
    [VUG_DTYPE_Q6_K] = &vug_avx512_q6_k,
    [VUG_DTYPE_IQ4_NL] = &vug_avx512_iq4_nl,
    [VUG_DTYPE_IQ4_XS] = &vug_avx512_iq4_xs,
    [VUG_DTYPE_MXFP4] = &vug_avx512_mxfp4,
    [VUG_DTYPE_MLX2] = &vug_avx512_mlx2,
    [VUG_DTYPE_MLX3] = &vug_avx512_mlx3,
    [VUG_DTYPE_MLX4] = &vug_avx512_mlx4,
    [VUG_DTYPE_MLX5] = &vug_avx512_mlx5,
    [VUG_DTYPE_MLX6] = &vug_avx512_mlx6,
    [VUG_DTYPE_MLX8] = &vug_avx512_mlx8,
    [VUG_DTYPE_MLX_FP4] = &vug_avx512_mlx_fp4,
},
/* 16 rows take 0.7 times as long as in panels (Gemma 3 1B in BF16); with 32, there is no difference. */
.float_rows = VUG_CPU_MAX_FLOAT_ROWS,
.q8_streams = VUG_CPU_MAX_STREAMS,
.prefetch = vug_avx2_prefetch,
.tile_rows = VUG_AVX512_TILE_ROWS,
.tile_panels = VUG_CPU_MAX_TILE_PANELS,
.tile = vug_avx512_tile,
.keys = { vug_avx512_tile, vug_avx512_tile_f16, vug_avx512_tile_bf16, vug_avx512_tile_q8_keys },
.values = { vug_avx512_tile, vug_avx512_tile_f16, vug_avx512_tile_bf16, vug_avx512_tile_q8_values },
.decode = { [VUG_DTYPE_Q8_0] = vug_avx2_decode_q8_0, [VUG_DTYPE_Q6_K] = vug_avx2_decode_q6_k },
.quantize = vug_avx2_quantize,
.round_q4_0 = vug_avx2_round_q4_0,
.softmax = vug_avx2_softmax,
.axpby = vug_avx2_axpby,
.sum_squares = vug_avx2_sum_squares,
.norm = vug_avx2_norm,
.rope = vug_avx2_rope,
.add = vug_avx2_add,
.mul = vug_avx2_mul,
.scale = vug_avx2_scale,
.gelu = vug_avx2_gelu,
.silu = vug_avx2_silu,
.exp = vug_avx2_exponential,
.softcap = vug_avx2_softcap,
.probe_read = vug_avx2_probe_read,
.probe_fma = vug_avx512_probe_fma,

#endif
