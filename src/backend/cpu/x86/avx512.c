/* The AVX-512 kernel set. */
#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "backend/cpu/x86/avx2.h"
#include "backend/cpu/x86/avx512.h"

/* Twelve independent chains, as in the tile kernel, keep both FMA units busy. */
float vug_avx512_probe_fma(int64_t rounds, double *flop)
{
    enum { CHAINS = 12, LANES = 16 };
    __m512 s[CHAINS];
    const __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);
    for (int j = 0; j < CHAINS; j++)
        s[j] = _mm512_set1_ps((float)j + 0.25f);
    for (int64_t i = 0; i < rounds; i++) {
        for (int j = 0; j < CHAINS; j++)
            s[j] = _mm512_fmadd_ps(s[j], a, b);
    }
    for (int j = 1; j < CHAINS; j++)
        s[0] = _mm512_add_ps(s[0], s[j]);
    *flop = 2.0 * LANES * CHAINS * (double)rounds;
    return _mm512_reduce_add_ps(s[0]);
}

const vug_cpu_kernels vug_cpu_kernels_avx512_vnni = {
    .name = "avx512_vnni",
    .description = "AVX-512 VNNI kernels",
    .pairs = &vug_avx512_pairs,
#include "backend/cpu/x86/avx512_kernels.def"
#include "backend/cpu/x86/avx512_panels.def"
};

#else
typedef int vug_avx512_is_empty; /* ISO C forbids an empty file */
#endif
