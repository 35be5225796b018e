/* Kernels for quantized weights with NEON alone. */
#if defined(__aarch64__)
#define NEON_SET(id) vug_neon_##id
#include "backend/cpu/arm/neon_blocks_gemm.h"

#include "backend/cpu/arm/neon_formats.h"
#include "backend/cpu/arm/neon_formats_k.h"
#include "backend/cpu/arm/neon_formats_mlx.h"

#else
typedef int vug_neon_blocks_is_empty; /* ISO C forbids an empty file */
#endif
