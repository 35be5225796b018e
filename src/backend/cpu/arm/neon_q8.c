/* Quantizing activations to 8 bits, for NEON. */
#if defined(__aarch64__)
#include "backend/cpu/arm/neon_vectors.h"

enum { Q8 = VUG_CPU_Q8_BLOCK };

INLINE float max_magnitude(const float *x)
{
    float32x4_t m = vdupq_n_f32(0);
    for (int i = 0; i < Q8; i += FOUR)
        m = larger(vabsq_f32(vld1q_f32(x + i)), m);
    return vmaxvq_f32(m);
}

/* The conversion rounds ties to even and makes a NaN 0. */
INLINE int16x4_t quantize_4(const float *x, float r)
{
    const int32x4_t near = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), r));
    return vmovn_s32(vminq_s32(vmaxq_s32(near, vdupq_n_s32(-127)), vdupq_n_s32(127)));
}

void vug_neon_quantize(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum)
{
    for (int64_t i = 0; i < n; i += Q8) {
        const float max = max_magnitude(x + i), r = max > 0 ? 127 / max : 0;
        scale[i / Q8] = max / 127;
        for (int64_t half = i; half < i + Q8; half += Q8 / 2) {
            const float *from = x + half;
            const int16x8_t a = vcombine_s16(quantize_4(from, r), quantize_4(from + 4, r));
            const int16x8_t b = vcombine_s16(quantize_4(from + 8, r), quantize_4(from + 12, r));
            vst1q_s8(q + half, vcombine_s8(vmovn_s16(a), vmovn_s16(b)));
            sum[half / 16] = vaddvq_s16(vaddq_s16(a, b));
        }
    }
}

#else
typedef int vug_neon_q8_is_empty; /* ISO C forbids an empty file */
#endif
