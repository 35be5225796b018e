/* The AVX-512 kernel set with BF16: products of BF16 pairs in one instruction. */
#if defined(__AVX512BF16__)
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/avx512_pairs.h"

/* GCC 12 keeps only 8 bits of the mask of _mm512_mask_dpbf16_ps. */
INLINE __m512 add_pairs(__mmask16 exists, __m512i x, __m512i w, __m512 sum)
{
    return _mm512_mask_mov_ps(sum, exists, _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w));
}

static const pair_functions sums = { tile_sums, block_sums, .sets_mxcsr = false };
PAIR_KERNELS(vug_avx512_bf16_pairs, sums)

const vug_cpu_kernels vug_cpu_kernels_avx512_bf16 = {
    .name = "avx512_bf16",
    .description = "AVX-512 VNNI and BF16 kernels",
    .pairs = &vug_avx512_bf16_pairs,
#include "backend/cpu/x86/avx512_kernels.def"
#include "backend/cpu/x86/avx512_panels.def"
};

#else
typedef int vug_avx512_bf16_is_empty; /* ISO C forbids an empty file */
#endif
