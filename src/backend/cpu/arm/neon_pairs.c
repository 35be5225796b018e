/*
 * Products of BF16 pairs for NEON. A pair has 32 bits: a mask leaves its odd element, a shift its even
 * one, both as F32.
 */
#if defined(__aarch64__)
#include <arm_neon.h>

static inline __attribute__((always_inline)) float32x4_t add_odd(uint32x4_t x, uint32x4_t w,
                                                                 float32x4_t sum)
{
    const uint32x4_t odd = vdupq_n_u32(0xffff0000);
    return vfmaq_f32(sum, vreinterpretq_f32_u32(vandq_u32(x, odd)),
                     vreinterpretq_f32_u32(vandq_u32(w, odd)));
}

static inline __attribute__((always_inline)) float32x4_t add_even(uint32x4_t x, uint32x4_t w,
                                                                  float32x4_t sum)
{
    return vfmaq_f32(sum, vreinterpretq_f32_u32(vshlq_n_u32(x, 16)),
                     vreinterpretq_f32_u32(vshlq_n_u32(w, 16)));
}

#include "backend/cpu/arm/neon_pairs.h"

/* As vug_ref_round_bf16. */
void vug_neon_round_bf16(const float *x, int64_t n, uint16_t *out)
{
    int64_t i = 0;
    for (; i + FOUR <= n; i += FOUR) {
        const float32x4_t v = vld1q_f32(x + i);
        const uint32x4_t bits = vreinterpretq_u32_f32(v), sign = vdupq_n_u32(0x80000000);
        const uint32x4_t even = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
        uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(even, vdupq_n_u32(0x7fff)));
        rounded = vbslq_u32(vcaltq_f32(v, vdupq_n_f32(0x1p-126f)), vandq_u32(bits, sign), rounded);
        rounded = vbslq_u32(vceqq_f32(v, v), rounded, vorrq_u32(bits, vdupq_n_u32(0x400000)));
        vst1_u16(out + i, vshrn_n_u32(rounded, 16));
    }
    if (i < n)
        vug_ref_pairs.round(x + i, n - i, out + i);
}

const vug_cpu_pair_kernels vug_neon_pairs = PAIR_KERNELS;

#else
typedef int vug_neon_pairs_is_empty; /* ISO C forbids an empty file */
#endif
