/* Panels of ggml's formats with super-blocks of 256 weights. */
#if defined(__AVX512VNNI__)
#include "backend/cpu/x86/avx512_panels.h"

#include "backend/cpu/x86/avx2_formats_k.h"

#else
typedef int vug_avx512_panels_k_is_empty; /* ISO C forbids an empty file */
#endif
