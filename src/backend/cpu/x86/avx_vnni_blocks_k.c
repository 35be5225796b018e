/* Kernels for ggml's formats with super-blocks of 256 weights, with AVX-VNNI. */
#if defined(__AVXVNNI__)
#include "backend/cpu/x86/avx2_blocks_gemm.h"

#include "backend/cpu/x86/avx2_formats_k.h"

#else
typedef int vug_avx_vnni_blocks_k_is_empty; /* ISO C forbids an empty file */
#endif
