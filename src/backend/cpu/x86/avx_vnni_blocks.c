/* Kernels for ggml's formats with blocks of 32 weights, with AVX-VNNI. */
#if defined(__AVXVNNI__)
#include "backend/cpu/x86/avx2_blocks_gemm.h"

#include "backend/cpu/x86/avx2_formats.h"

#else
typedef int vug_avx_vnni_blocks_is_empty; /* ISO C forbids an empty file */
#endif
