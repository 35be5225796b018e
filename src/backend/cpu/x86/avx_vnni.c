/* The AVX-VNNI kernel set, for processors without AVX-512: AVX2's, with block formats that sum products of
 * bytes in one instruction. */
#if defined(__AVXVNNI__)
#include "backend/cpu/x86/avx2.h"

const vug_cpu_kernels vug_cpu_kernels_avx_vnni = {
    .name = "avx_vnni",
    .description = "AVX-VNNI kernels",
#include "backend/cpu/x86/avx2_kernels.def"
};

#else
typedef int vug_avx_vnni_is_empty; /* ISO C forbids an empty file */
#endif
