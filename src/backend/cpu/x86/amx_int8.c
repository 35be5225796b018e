/*
 * The AMX kernel set: products of quantized weights with several rows of x in tiles. AMX's products of
 * BF16 are not used: they add in another order than VDPBF16PS.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "backend/cpu/x86/amx_int8.h"
#include "backend/cpu/x86/avx2.h"
#include "backend/cpu/x86/avx512.h"

const vug_cpu_kernels vug_cpu_kernels_amx_int8 = {
    .name = "amx_int8",
    .description = "AMX kernels",
    .pairs = &vug_avx512_bf16_pairs,
    /* With 16 rows, tiles take as long as AVX-512's products; with 17 to 23, longer. */
    .q8_panel_rows = 24,
    .q8_panel = {
        [VUG_DTYPE_Q4_0] = &vug_amx_int8_q4_0,
        [VUG_DTYPE_Q4_1] = &vug_amx_int8_q4_1,
        [VUG_DTYPE_Q5_0] = &vug_amx_int8_q5_0,
        [VUG_DTYPE_Q5_1] = &vug_amx_int8_q5_1,
        [VUG_DTYPE_Q8_0] = &vug_amx_int8_q8_0,
        [VUG_DTYPE_Q2_K] = &vug_amx_int8_q2_k,
        [VUG_DTYPE_Q3_K] = &vug_amx_int8_q3_k,
        [VUG_DTYPE_Q4_K] = &vug_amx_int8_q4_k,
        [VUG_DTYPE_Q5_K] = &vug_amx_int8_q5_k,
        [VUG_DTYPE_Q6_K] = &vug_amx_int8_q6_k,
        [VUG_DTYPE_IQ4_NL] = &vug_amx_int8_iq4_nl,
        [VUG_DTYPE_IQ4_XS] = &vug_amx_int8_iq4_xs,
        [VUG_DTYPE_MXFP4] = &vug_amx_int8_mxfp4,
        [VUG_DTYPE_MLX2] = &vug_amx_int8_mlx2,
        [VUG_DTYPE_MLX3] = &vug_amx_int8_mlx3,
        [VUG_DTYPE_MLX4] = &vug_amx_int8_mlx4,
        [VUG_DTYPE_MLX5] = &vug_amx_int8_mlx5,
        [VUG_DTYPE_MLX6] = &vug_amx_int8_mlx6,
        [VUG_DTYPE_MLX8] = &vug_amx_int8_mlx8,
        [VUG_DTYPE_MLX_FP4] = &vug_amx_int8_mlx_fp4,
    },
#include "backend/cpu/x86/avx512_kernels.h"
};

#else
typedef int vug_amx_int8_is_empty; /* ISO C forbids an empty file */
#endif
