/* Kernels for ggml's formats with blocks of 32 weights. */
#if defined(__AVX512VNNI__)
#include "backend/cpu/x86/avx512_blocks_gemm.h"

#include "backend/cpu/x86/avx2_formats.h"

#else
typedef int vug_avx512_blocks_is_empty; /* ISO C forbids an empty file */
#endif
