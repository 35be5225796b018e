/* Panels of ggml's formats with super-blocks of 256 weights. */
#if defined(__x86_64__)
#include "backend/cpu/x86/amx_int8_panels.h"

#include "backend/cpu/x86/avx2_formats_k.h"

#else
typedef int vug_amx_int8_blocks_k_is_empty; /* ISO C forbids an empty file */
#endif
