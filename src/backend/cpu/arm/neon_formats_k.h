#ifndef VUG_BACKEND_CPU_ARM_NEON_FORMATS_K_H
#define VUG_BACKEND_CPU_ARM_NEON_FORMATS_K_H

/* ggml's formats with super-blocks of 256 weights, which are one group; see neon_blocks.h. */

#include "backend/cpu/arm/neon_blocks.h"

/* ---- bits --------------------------------------------------------------------- */

INLINE uint8x16_t shift_right(uint8x16_t bytes, int64_t by)
{
    return vshlq_u8(bytes, vdupq_n_s8((int8_t)-by));
}

/* `count` bits of each byte, from bit `from`, moved to bit `to`. */
INLINE uint8x16_t bits_of(uint8x16_t bytes, int64_t from, int count, int to)
{
    const uint8x16_t mask = vdupq_n_u8((uint8_t)(((1 << count) - 1) << to));
    return vandq_u8(shift_right(bytes, from - to), mask);
}

/* The lower or the upper nibbles of 16 bytes. */
INLINE uint8x16_t nibbles_of(const uint8_t *w, bool upper)
{
    const uint8x16_t bytes = vld1q_u8(w);
    return upper ? upper_nibbles(bytes) : lower_nibbles(bytes);
}

/* Eight numbers, each twice. */
INLINE int8x16_t twice(uint8x8_t bytes)
{
    const uint8x16_t x = vcombine_u8(bytes, bytes);
    return vreinterpretq_s8_u8(vzip1q_u8(x, x));
}

INLINE uint64_t join_dwords(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* ---- one scale per 16 weights ------------------------------------------------ */

INLINE neon_halves unpack_q2_k(const uint8_t *w, int64_t j)
{
    const uint8_t *q = w + 16 + j / 4 * 32;
    return centred(bits_of(vld1q_u8(q), j % 4 * 2, 2, 0),
                   bits_of(vld1q_u8(q + 16), j % 4 * 2, 2, 0), 0);
}

INLINE float32x4_t scale_q2_k(const neon_group *g, int at)
{
    (void)at;
    return one_half(g, 80);
}

/* Minimums are subtracted. */
INLINE float32x4_t offset_q2_k(const neon_group *g, int at)
{
    (void)at;
    return vnegq_f32(one_half(g, 82));
}

INLINE int8x16_t factors_q2_k(const uint8_t *w)
{
    return vreinterpretq_s8_u8(nibbles_of(w, false));
}

INLINE int8x16_t minimums_q2_k(const uint8_t *w)
{
    return vreinterpretq_s8_u8(nibbles_of(w, true));
}

/* The third bits of all blocks share 32 bytes. */
INLINE neon_halves unpack_q3_k(const uint8_t *w, int64_t j)
{
    const uint8_t *q = w + 32 + j / 4 * 32;
    return centred(vorrq_u8(bits_of(vld1q_u8(q), j % 4 * 2, 2, 0), bits_of(vld1q_u8(w), j, 1, 2)),
                   vorrq_u8(bits_of(vld1q_u8(q + 16), j % 4 * 2, 2, 0),
                            bits_of(vld1q_u8(w + 16), j, 1, 2)),
                   4);
}

INLINE float32x4_t scale_q3_k(const neon_group *g, int at)
{
    (void)at;
    return one_half(g, 108);
}

/* Sixteen 6-bit numbers in 12 bytes. The lower four bits are the lower, then the upper nibbles of eight
 * bytes; the upper two bits are in the last four bytes. */
INLINE int8x16_t factors_q3_k(const uint8_t *w)
{
    const uint8x8_t bytes = vld1_u8(w + 96);
    const uint8x16_t low = vcombine_u8(vand_u8(bytes, vdup_n_u8(15)), vshr_n_u8(bytes, 4));
    const uint32_t last = dword_at(w + 104);
    const uint64_t high[2] = { join_dwords(last << 4, last << 2), join_dwords(last, last >> 2) };
    const uint8x16_t upper = vandq_u8(vreinterpretq_u8_u64(vld1q_u64(high)), vdupq_n_u8(3 << 4));
    return vsubq_s8(vreinterpretq_s8_u8(vorrq_u8(low, upper)), vdupq_n_s8(32));
}

INLINE neon_halves unpack_q6_k(const uint8_t *w, int64_t j)
{
    const uint8_t *low = w + j / 4 * 64 + j % 2 * 32, *high = w + 128 + j / 4 * 32;
    const bool upper = j % 4 >= 2;
    return centred(
            vorrq_u8(nibbles_of(low, upper), bits_of(vld1q_u8(high), j % 4 * 2, 2, 4)),
            vorrq_u8(nibbles_of(low + 16, upper), bits_of(vld1q_u8(high + 16), j % 4 * 2, 2, 4)),
            32);
}

INLINE float32x4_t scale_q6_k(const neon_group *g, int at)
{
    (void)at;
    return one_half(g, 208);
}

INLINE int8x16_t factors_q6_k(const uint8_t *w)
{
    return vreinterpretq_s8_u8(vld1q_u8(w + 192));
}

/* ---- one scale per 32 weights ------------------------------------------------ */

/* Eight 6-bit scales, then eight 6-bit minimums, from 12 bytes after d and dmin. The first four of each
 * are the lower bits of a byte, at `first`. The others have their lower four bits in the last four
 * bytes, from bit `from`, and the upper two bits above those of the first four. */
INLINE int8x16_t six_bit_numbers(const uint8_t *first, uint32_t last, int from)
{
    const uint32_t bytes = dword_at(first);
    const uint32_t others = (last >> from & 0x0f0f0f0f) | (bytes >> 2 & 0x30303030);
    return twice(vcreate_u8(join_dwords(bytes & 0x3f3f3f3f, others)));
}

INLINE float32x4_t scale_q4_k(const neon_group *g, int at)
{
    (void)at;
    return one_half(g, 0);
}

INLINE float32x4_t offset_q4_k(const neon_group *g, int at)
{
    (void)at;
    return vnegq_f32(one_half(g, 2));
}

INLINE int8x16_t factors_q4_k(const uint8_t *w)
{
    return six_bit_numbers(w + 4, dword_at(w + 12), 0);
}

INLINE int8x16_t minimums_q4_k(const uint8_t *w)
{
    return six_bit_numbers(w + 8, dword_at(w + 12), 4);
}

INLINE neon_halves unpack_q4_k(const uint8_t *w, int64_t j)
{
    const uint8_t *q = w + 16 + j / 2 * 32;
    return centred(nibbles_of(q, j % 2), nibbles_of(q + 16, j % 2), 0);
}

INLINE neon_halves unpack_q5_k(const uint8_t *w, int64_t j)
{
    const uint8_t *q = w + 48 + j / 2 * 32;
    return centred(vorrq_u8(nibbles_of(q, j % 2), bits_of(vld1q_u8(w + 16), j, 1, 4)),
                   vorrq_u8(nibbles_of(q + 16, j % 2), bits_of(vld1q_u8(w + 32), j, 1, 4)), 0);
}

INLINE neon_halves unpack_iq4_xs(const uint8_t *w, int64_t j)
{
    return look_up(iq4_values, split_nibbles(w + 8 + j * 16, 0));
}

/* 6-bit numbers minus 32. After the 2 bytes of d follow 2 bytes with the upper two bits of eight scales
 * and 4 bytes with the lower four bits. */
INLINE int8x16_t factors_iq4_xs(const uint8_t *w)
{
    static const int16_t left[GROUP] = { 4, 2, 0, -2, -4, -6, -8, -10 };
    const uint16x8_t high = vshlq_u16(vdupq_n_u16(word_at(w + 2)), vld1q_s16(left));
    const uint8x8_t upper = vand_u8(vmovn_u16(high), vdup_n_u8(3 << 4));
    const uint8x8_t bytes = vcreate_u8(dword_at(w + 4));
    const uint8x8_t lower = vzip1_u8(vand_u8(bytes, vdup_n_u8(15)), vshr_n_u8(bytes, 4));
    return vsubq_s8(twice(vorr_u8(lower, upper)), vdupq_n_s8(32));
}

BLOCK_FORMAT(q2_k, .bytes = 84, .scale = scale_q2_k, .offset = offset_q2_k, .factors = factors_q2_k,
             .minimums = minimums_q2_k)
BLOCK_FORMAT(q3_k, .bytes = 110, .scale = scale_q3_k, .factors = factors_q3_k)
BLOCK_FORMAT(q4_k, .bytes = 144, .scale = scale_q4_k, .offset = offset_q4_k, .one_factor = true,
             .factors = factors_q4_k, .minimums = minimums_q4_k)
BLOCK_FORMAT(q5_k, .bytes = 176, .scale = scale_q4_k, .offset = offset_q4_k, .one_factor = true,
             .factors = factors_q4_k, .minimums = minimums_q4_k)
BLOCK_FORMAT(q6_k, .bytes = 210, .scale = scale_q6_k, .factors = factors_q6_k)
BLOCK_FORMAT(iq4_xs, .bytes = 136, .scale = scale_q4_k, .one_factor = true,
             .factors = factors_iq4_xs)

#endif
