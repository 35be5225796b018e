#ifndef VUG_BACKEND_CPU_ARM_NEON_FORMATS_H
#define VUG_BACKEND_CPU_ARM_NEON_FORMATS_H

/* ggml's formats with blocks of 32 weights; see neon_blocks.h. */

#include "backend/cpu/arm/neon_blocks.h"

/* ---- four bits -------------------------------------------------------------- */

INLINE neon_halves unpack_q4_0(const uint8_t *w, int64_t j)
{
    return split_nibbles(w + j * 18 + 2, 8);
}

INLINE float32x4_t scale_q4_0(const neon_group *g, int at)
{
    return strided_halves(g, at, 18, 0);
}

INLINE neon_halves unpack_q4_1(const uint8_t *w, int64_t j)
{
    return split_nibbles(w + j * 20 + 4, 0);
}

INLINE float32x4_t scale_q4_1(const neon_group *g, int at)
{
    return strided_halves(g, at, 20, 0);
}

INLINE float32x4_t offset_q4_1(const neon_group *g, int at)
{
    return strided_halves(g, at, 20, 2);
}

INLINE neon_halves unpack_iq4_nl(const uint8_t *w, int64_t j)
{
    return look_up(iq4_values, split_nibbles(w + j * 18 + 2, 0));
}

INLINE neon_halves unpack_mxfp4(const uint8_t *w, int64_t j)
{
    return look_up(e2m1_values, split_nibbles(w + j * 17 + 1, 0));
}

/* 2^(e - 128) */
INLINE float32x4_t scale_mxfp4(const neon_group *g, int at)
{
    uint32_t bits[UNIT];
    for (int64_t j = 0; j < UNIT; j++) {
        const uint32_t e = g->w[(at + j) * 17];
        bits[j] = e < 2 ? 0x200000u << e : (e - 1) << 23;
    }
    return vreinterpretq_f32_u32(vld1q_u32(bits));
}

/* ---- five bits, eight bits -------------------------------------------------- */

/* 16 for each integer whose bit is set, in 16 bits at `w`. */
INLINE uint8x16_t fifth_bits(const uint8_t *w)
{
    static const uint8_t bit[HALF] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    const uint8x16_t bytes = vcombine_u8(vdup_n_u8(w[0]), vdup_n_u8(w[1]));
    return vandq_u8(vtstq_u8(bytes, vld1q_u8(bit)), vdupq_n_u8(16));
}

/* The 32 fifth bits, followed by the nibbles. */
INLINE neon_halves unpack_five(const uint8_t *w, int8_t zero)
{
    const uint8x16_t bytes = vld1q_u8(w + 4);
    return centred(vorrq_u8(lower_nibbles(bytes), fifth_bits(w)),
                   vorrq_u8(upper_nibbles(bytes), fifth_bits(w + 2)), zero);
}

INLINE neon_halves unpack_q5_0(const uint8_t *w, int64_t j)
{
    return unpack_five(w + j * 22 + 2, 16);
}

INLINE float32x4_t scale_q5_0(const neon_group *g, int at)
{
    return strided_halves(g, at, 22, 0);
}

INLINE neon_halves unpack_q5_1(const uint8_t *w, int64_t j)
{
    return unpack_five(w + j * 24 + 4, 0);
}

INLINE float32x4_t scale_q5_1(const neon_group *g, int at)
{
    return strided_halves(g, at, 24, 0);
}

INLINE float32x4_t offset_q5_1(const neon_group *g, int at)
{
    return strided_halves(g, at, 24, 2);
}

INLINE neon_halves unpack_q8_0(const uint8_t *w, int64_t j)
{
    return centred(vld1q_u8(w + j * 34 + 2), vld1q_u8(w + j * 34 + 18), 0);
}

INLINE float32x4_t scale_q8_0(const neon_group *g, int at)
{
    return strided_halves(g, at, 34, 0);
}

BLOCK_FORMAT(q4_0, .bytes = 144, .may_end_within_group = true, .scale = scale_q4_0)
BLOCK_FORMAT(q4_1, .bytes = 160, .may_end_within_group = true, .scale = scale_q4_1,
             .offset = offset_q4_1)
BLOCK_FORMAT(q5_0, .bytes = 176, .may_end_within_group = true, .scale = scale_q5_0)
BLOCK_FORMAT(q5_1, .bytes = 192, .may_end_within_group = true, .scale = scale_q5_1,
             .offset = offset_q5_1)
BLOCK_FORMAT(q8_0, .bytes = 272, .may_end_within_group = true, .scale = scale_q8_0)
BLOCK_FORMAT(iq4_nl, .bytes = 144, .may_end_within_group = true, .scale = scale_q4_0)
BLOCK_FORMAT(mxfp4, .bytes = 136, .may_end_within_group = true, .scale = scale_mxfp4)

#endif
