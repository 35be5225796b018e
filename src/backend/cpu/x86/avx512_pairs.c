/* Products of BF16 pairs for AVX-512 without BF16, with fused multiply-adds. */
#if defined(__AVX512VNNI__)
#include "backend/cpu/x86/avx512_pairs.h"
#include "backend/cpu/x86/avx512.h"

/* A mask leaves the odd element of each pair, a shift the even one, both as F32. */
INLINE __m512 add_pairs(__mmask16 exists, __m512i x, __m512i w, __m512 sum)
{
    const __m512i odd = _mm512_set1_epi32(-65536);
    const __m512 x_odd = _mm512_castsi512_ps(_mm512_and_si512(x, odd));
    const __m512 w_odd = _mm512_castsi512_ps(_mm512_and_si512(w, odd));
    const __m512 x_even = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
    const __m512 w_even = _mm512_castsi512_ps(_mm512_slli_epi32(w, 16));
    return _mm512_mask3_fmadd_ps(x_even, w_even, _mm512_mask3_fmadd_ps(x_odd, w_odd, sum, exists),
                                 exists);
}

static const pair_functions sums = { tile_sums, block_sums, .sets_mxcsr = true };
PAIR_KERNELS(vug_avx512_pairs, sums, vug_avx2_round_bf16)

#else
typedef int vug_avx512_pairs_is_empty; /* ISO C forbids an empty file */
#endif
