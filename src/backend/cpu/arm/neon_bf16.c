/* Products of BF16 pairs with the instructions that widen and multiply (FEAT_BF16). Those that multiply
 * pairs (BFDOT) round in another way. */
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>

static inline __attribute__((always_inline)) float32x4_t add_odd(uint32x4_t x, uint32x4_t w,
                                                                 float32x4_t sum)
{
    return vbfmlaltq_f32(sum, vreinterpretq_bf16_u32(x), vreinterpretq_bf16_u32(w));
}

static inline __attribute__((always_inline)) float32x4_t add_even(uint32x4_t x, uint32x4_t w,
                                                                  float32x4_t sum)
{
    return vbfmlalbq_f32(sum, vreinterpretq_bf16_u32(x), vreinterpretq_bf16_u32(w));
}

#include "backend/cpu/arm/neon_pairs.h"

const vug_cpu_pair_kernels vug_neon_bf16_pairs = PAIR_KERNELS;

#else
typedef int vug_neon_bf16_is_empty; /* ISO C forbids an empty file */
#endif
