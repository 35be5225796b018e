/* Panels of ggml's formats with blocks of 32 weights. */
#if defined(__x86_64__)
#include "backend/cpu/x86/amx_int8_panels.h"

#include "backend/cpu/x86/avx2_formats.h"

#else
typedef int vug_amx_int8_blocks_is_empty; /* ISO C forbids an empty file */
#endif
