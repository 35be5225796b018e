/* Panels of MLX's formats. */
#if defined(__AVX512VNNI__)
#include "backend/cpu/x86/avx512_panels.h"

#include "backend/cpu/x86/avx2_formats_mlx.h"

#else
typedef int vug_avx512_panels_mlx_is_empty; /* ISO C forbids an empty file */
#endif
