/*
 * The AMX kernel set: products of quantized weights with several rows of x in tiles. AMX's products of
 * BF16 are not used: they add in another order than VDPBF16PS.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "backend/cpu/x86/amx_int8.h"
#include "backend/cpu/x86/avx2.h"
#include "backend/cpu/x86/avx512.h"

const vug_cpu_kernels vug_cpu_kernels_amx_int8 = {
    .name = "amx_int8",
    .description = "AMX kernels",
    .pairs = &vug_avx512_bf16_pairs,
    /* With 16 rows, tiles take as long as AVX-512's products; with 17 to 23, longer. */
    .q8_panel_rows = 24,
    .q8_panels = 1,
#define PANEL_FORMAT(id, dtype) [VUG_DTYPE_##dtype] = &vug_amx_int8_##id,
    .q8_panel = { VUG_CPU_BLOCK_FORMATS(PANEL_FORMAT) },
#include "backend/cpu/x86/avx512_kernels.def"
};

#else
typedef int vug_amx_int8_is_empty; /* ISO C forbids an empty file */
#endif
