/* The AVX-512 kernel set with BF16: products of BF16 pairs in one instruction. */
#if defined(__AVX512BF16__)
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/avx512_pairs.h"

/* GCC 12 keeps only 8 bits of the mask of _mm512_mask_dpbf16_ps. */
INLINE __m512 add_pairs(__mmask16 exists, __m512i x, __m512i w, __m512 sum)
{
    return _mm512_mask_mov_ps(sum, exists, _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w));
}

/* As vug_ref_round_bf16. */
static void round_bf16(const float *x, int64_t n, uint16_t *out)
{
    enum { STEP = 16 };
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP)
        _mm256_storeu_si256((__m256i *)(void *)(out + i),
                            (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(x + i)));
    if (i < n)
        vug_ref_pairs.round(x + i, n - i, out + i);
}

static const pair_functions sums = { tile_sums, block_sums, .sets_mxcsr = false };
PAIR_KERNELS(vug_avx512_bf16_pairs, sums, round_bf16)

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
