/* Kernels for MLX's formats, with AVX-VNNI. */
#if defined(__AVXVNNI__)
#include "backend/cpu/x86/avx2_blocks_gemm.h"

#include "backend/cpu/x86/avx2_formats_mlx.h"

#else
typedef int vug_avx_vnni_blocks_mlx_is_empty; /* ISO C forbids an empty file */
#endif
