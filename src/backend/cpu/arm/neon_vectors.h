#ifndef VUG_BACKEND_CPU_ARM_NEON_VECTORS_H
#define VUG_BACKEND_CPU_ARM_NEON_VECTORS_H

/* What the neon*.c files share: the eight lanes of a sum, as two vectors of four. */

#include <arm_neon.h>
#include <string.h>

#include "backend/cpu/arm/neon.h"
#include "backend/cpu/streams.h"

enum {
    LANES = VUG_CPU_LANES,
    FOUR = 4, /* floats of a vector */
    PANEL = VUG_CPU_PANEL,
};

typedef struct {
    float32x4_t low, high; /* lanes 0 .. 3 and 4 .. 7 */
} eight_lanes;

INLINE eight_lanes zero_lanes(void)
{
    return (eight_lanes){ vdupq_n_f32(0), vdupq_n_f32(0) };
}

INLINE eight_lanes load_lanes(const float *p)
{
    return (eight_lanes){ vld1q_f32(p), vld1q_f32(p + FOUR) };
}

INLINE void store_lanes(float *p, eight_lanes x)
{
    vst1q_f32(p, x.low);
    vst1q_f32(p + FOUR, x.high);
}

/* Eight neighbouring elements, of any alignment. */
INLINE eight_lanes load_widened(vug_dtype dtype, const uint8_t *w)
{
    const uint8x16_t bytes = vld1q_u8(w);
    if (dtype == VUG_DTYPE_F32)
        return (eight_lanes){ vreinterpretq_f32_u8(bytes), vreinterpretq_f32_u8(vld1q_u8(w + 16)) };
    if (dtype == VUG_DTYPE_F16) {
        const float16x8_t x = vreinterpretq_f16_u8(bytes);
        return (eight_lanes){ vcvt_f32_f16(vget_low_f16(x)), vcvt_high_f32_f16(x) };
    }
    const uint16x8_t x = vreinterpretq_u16_u8(bytes);
    return (eight_lanes){ vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(x), 16)),
                          vreinterpretq_f32_u32(vshll_high_n_u16(x, 16)) };
}

/* x where it is larger than `than`, otherwise `than`, also if x is a NaN. */
INLINE float32x4_t larger(float32x4_t x, float32x4_t than)
{
    return vbslq_f32(vcgtq_f32(x, than), x, than);
}

/* Vector j of the result has number j of each of the four vectors. */
INLINE void transpose_four(const uint32x4_t *from, uint32x4_t *to)
{
    const uint64x2_t a = vreinterpretq_u64_u32(vtrn1q_u32(from[0], from[1]));
    const uint64x2_t b = vreinterpretq_u64_u32(vtrn2q_u32(from[0], from[1]));
    const uint64x2_t c = vreinterpretq_u64_u32(vtrn1q_u32(from[2], from[3]));
    const uint64x2_t d = vreinterpretq_u64_u32(vtrn2q_u32(from[2], from[3]));
    to[0] = vreinterpretq_u32_u64(vtrn1q_u64(a, c));
    to[1] = vreinterpretq_u32_u64(vtrn1q_u64(b, d));
    to[2] = vreinterpretq_u32_u64(vtrn2q_u64(a, c));
    to[3] = vreinterpretq_u32_u64(vtrn2q_u64(b, d));
}

/* lane[j] = lane j of four sums. */
INLINE void transpose_lanes(const eight_lanes *s, float32x4_t *lane)
{
    uint32x4_t low[STREAMS], high[STREAMS], of_low[FOUR], of_high[FOUR];
    for (int o = 0; o < STREAMS; o++) {
        low[o] = vreinterpretq_u32_f32(s[o].low);
        high[o] = vreinterpretq_u32_f32(s[o].high);
    }
    transpose_four(low, of_low);
    transpose_four(high, of_high);
    for (int j = 0; j < FOUR; j++) {
        lane[j] = vreinterpretq_f32_u32(of_low[j]);
        lane[FOUR + j] = vreinterpretq_f32_u32(of_high[j]);
    }
}

/* Adds the lanes of four sums to y [4] in order, those that have elements; the first block
 * initializes y. */
INLINE void add_lanes(const stream_block *of, const eight_lanes *s, float *to)
{
    float32x4_t lane[LANES];
    transpose_lanes(s, lane);
    float32x4_t y = of->first == 0 ? lane[0] : vaddq_f32(vld1q_f32(to), lane[0]);
    for (int j = 1; j < LANES; j++) {
        if (j < of->end - of->first)
            y = vaddq_f32(y, lane[j]);
    }
    vst1q_f32(to, y);
}

#endif
