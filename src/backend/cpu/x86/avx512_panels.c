/* Panels of ggml's formats with blocks of 32 weights. */
#if defined(__AVX512VNNI__)
#include "backend/cpu/x86/avx512_panels.h"

#include "backend/cpu/x86/avx2_formats.h"

#else
typedef int vug_avx512_panels_is_empty; /* ISO C forbids an empty file */
#endif
