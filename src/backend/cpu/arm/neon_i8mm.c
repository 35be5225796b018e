/* Panels of quantized weights for the instruction that multiplies 2 by 8 bytes with 8 by 2 (FEAT_I8MM). */
#if defined(__ARM_FEATURE_MATMUL_INT8)
#include "backend/cpu/arm/neon_panels.h"

#include "backend/cpu/arm/neon_formats.h"
#include "backend/cpu/arm/neon_formats_k.h"
#include "backend/cpu/arm/neon_formats_mlx.h"

#else
typedef int vug_neon_i8mm_is_empty; /* ISO C forbids an empty file */
#endif
