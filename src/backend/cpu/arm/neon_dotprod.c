/* Kernels for quantized weights with the instructions that multiply four bytes at once (FEAT_DotProd). */
#if defined(__ARM_FEATURE_DOTPROD)
#define NEON_SET(id) vug_neon_dotprod_##id
#include "backend/cpu/arm/neon_blocks_gemm.h"

#include "backend/cpu/arm/neon_formats.h"
#include "backend/cpu/arm/neon_formats_k.h"
#include "backend/cpu/arm/neon_formats_mlx.h"

#else
typedef int vug_neon_dotprod_is_empty; /* ISO C forbids an empty file */
#endif
