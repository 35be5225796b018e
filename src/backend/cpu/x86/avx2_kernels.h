#ifndef VUG_BACKEND_CPU_X86_AVX2_KERNELS_H
#define VUG_BACKEND_CPU_X86_AVX2_KERNELS_H

/* Members of an initializer: the kernels of AVX2 and, where this is compiled with AVX-VNNI, those block
 * formats that are as well (avx2.h). */
/* clang-format off */

.format = {
    [VUG_DTYPE_F32] = &vug_avx2_f32,
    [VUG_DTYPE_F16] = &vug_avx2_f16,
    [VUG_DTYPE_BF16] = &vug_avx2_bf16,
},
.block = {
    [VUG_DTYPE_Q4_0] = &AVX2_BLOCKS(q4_0),
    [VUG_DTYPE_Q4_1] = &AVX2_BLOCKS(q4_1),
    [VUG_DTYPE_Q5_0] = &AVX2_BLOCKS(q5_0),
    [VUG_DTYPE_Q5_1] = &AVX2_BLOCKS(q5_1),
    [VUG_DTYPE_Q8_0] = &AVX2_BLOCKS(q8_0),
    [VUG_DTYPE_Q2_K] = &AVX2_BLOCKS(q2_k),
    [VUG_DTYPE_Q3_K] = &AVX2_BLOCKS(q3_k),
    [VUG_DTYPE_Q4_K] = &AVX2_BLOCKS(q4_k),
    [VUG_DTYPE_Q5_K] = &AVX2_BLOCKS(q5_k),
    [VUG_DTYPE_Q6_K] = &AVX2_BLOCKS(q6_k),
    [VUG_DTYPE_IQ4_NL] = &AVX2_BLOCKS(iq4_nl),
    [VUG_DTYPE_IQ4_XS] = &AVX2_BLOCKS(iq4_xs),
    [VUG_DTYPE_MXFP4] = &AVX2_BLOCKS(mxfp4),
    [VUG_DTYPE_MLX2] = &AVX2_BLOCKS(mlx2),
    [VUG_DTYPE_MLX3] = &AVX2_BLOCKS(mlx3),
    [VUG_DTYPE_MLX4] = &AVX2_BLOCKS(mlx4),
    [VUG_DTYPE_MLX5] = &AVX2_BLOCKS(mlx5),
    [VUG_DTYPE_MLX6] = &AVX2_BLOCKS(mlx6),
    [VUG_DTYPE_MLX8] = &AVX2_BLOCKS(mlx8),
    [VUG_DTYPE_MLX_FP4] = &AVX2_BLOCKS(mlx_fp4),
},
.float_rows = 12,
.q8_streams = VUG_CPU_STREAMS,
.pairs = &vug_avx2_pairs,
.prefetch = vug_avx2_prefetch,
.tile_rows = 6,
.tile = vug_avx2_tile,
.keys = { vug_avx2_tile, vug_avx2_tile_f16, vug_avx2_tile_bf16, vug_avx2_tile_q8_keys },
.values = { vug_avx2_tile, vug_avx2_tile_f16, vug_avx2_tile_bf16, vug_avx2_tile_q8_values },
.quantize = vug_avx2_quantize,
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
.probe_fma = vug_avx2_probe_fma,

#endif
