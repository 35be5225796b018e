#ifndef VUG_BACKEND_CPU_ARM_NEON_FORMATS_MLX_H
#define VUG_BACKEND_CPU_ARM_NEON_FORMATS_MLX_H

/*
 * MLX's formats: integers are a stream of bits, lowest first; scales and biases are stored
 * separately, one for each 32, 64 or 128 weights; see neon_blocks.h.
 */

#include "backend/cpu/arm/neon_blocks.h"

/* ---- scales ------------------------------------------------------------------ */

INLINE float number_at(const uint8_t *s, vug_dtype dtype)
{
    if (dtype == VUG_DTYPE_F16)
        return vgetq_lane_f32(widen_halves(vdup_n_u16(word_at(s))), 0);
    uint32_t bits;
    if (dtype == VUG_DTYPE_E8M0) /* 255 is NaN, 0 is 2^-127 */
        bits = *s == 255 ? 0x7fc00000 : *s == 0 ? 0x400000 : (uint32_t)*s << 23;
    else
        bits = dtype == VUG_DTYPE_F32 ? dword_at(s) : (uint32_t)word_at(s) << 16;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* The numbers of four blocks, from a row of scales or of biases; 0 beyond the end of the row. */
INLINE float32x4_t separate_numbers(const neon_group *g, const uint8_t *row, int at)
{
    const vug_scales *s = g->scales;
    float x[UNIT] = { 0 };
    for (int64_t j = 0; j < UNIT && at + j < g->n; j++)
        x[j] = number_at(row + (g->first + at + j) * BLOCK / s->columns * scale_bytes(s->dtype),
                         s->dtype);
    return vld1q_f32(x);
}

INLINE float32x4_t scale_mlx(const neon_group *g, int at)
{
    return separate_numbers(g, g->scale, at);
}

INLINE float32x4_t offset_mlx(const neon_group *g, int at)
{
    return g->bias ? separate_numbers(g, g->bias, at) : vdupq_n_f32(0);
}

/* The integers are E2M1 values times two. */
INLINE float32x4_t scale_mlx_fp4(const neon_group *g, int at)
{
    return vmulq_n_f32(separate_numbers(g, g->scale, at), 0.5f);
}

/* ---- integers ------------------------------------------------------------------ */

/*
 * Pair i of a half begins at bit 2 * bits * i and is within the 16 bits that begin at the byte of that
 * bit. PAIR gives the indices of these two bytes, with `from` the first byte of the half, and MOVE the
 * shift that moves the pair to the lowest bits.
 */
#define BYTE(bits, i)       ((i)*2 * (bits) / 8)
#define PAIR(bits, i, from) (from) + BYTE(bits, i), (from) + BYTE(bits, i) + 1
#define MOVE(bits, i)       -((i)*2 * (bits) % 8)
#define HALF_OF_STREAM(bits, bytes, from)                                                  \
    half_of_stream(bytes,                                                                  \
                   (const uint8_t[HALF]){ PAIR(bits, 0, from), PAIR(bits, 1, from),        \
                                          PAIR(bits, 2, from), PAIR(bits, 3, from),        \
                                          PAIR(bits, 4, from), PAIR(bits, 5, from),        \
                                          PAIR(bits, 6, from), PAIR(bits, 7, from) },      \
                   (const int16_t[HALF / 2]){ MOVE(bits, 0), MOVE(bits, 1), MOVE(bits, 2), \
                                              MOVE(bits, 3), MOVE(bits, 4), MOVE(bits, 5), \
                                              MOVE(bits, 6), MOVE(bits, 7) },              \
                   bits)

INLINE uint8x16_t half_of_stream(uint8x16_t bytes, const uint8_t *pairs, const int16_t *moves,
                                 int bits)
{
    const uint16_t mask = (uint16_t)((1 << bits) - 1);
    const uint16x8_t words = vreinterpretq_u16_u8(vqtbl1q_u8(bytes, vld1q_u8(pairs)));
    const uint16x8_t pair = vshlq_u16(words, vld1q_s16(moves));
    const uint16x8_t high = vshlq_u16(pair, vdupq_n_s16((int16_t)(8 - bits)));
    return vreinterpretq_u8_u16(vorrq_u16(vandq_u16(pair, vdupq_n_u16(mask)),
                                          vandq_u16(high, vdupq_n_u16((uint16_t)(mask << 8)))));
}

INLINE neon_halves unpack_mlx2(const uint8_t *w, int64_t j)
{
    const uint8x16_t bytes = load_8(w + j * 8);
    return centred(HALF_OF_STREAM(2, bytes, 0), HALF_OF_STREAM(2, bytes, 4), 0);
}

INLINE neon_halves unpack_mlx3(const uint8_t *w, int64_t j)
{
    const uint8x16_t bytes = vcombine_u8(vld1_u8(w + j * 12), vcreate_u8(dword_at(w + j * 12 + 8)));
    return centred(HALF_OF_STREAM(3, bytes, 0), HALF_OF_STREAM(3, bytes, 6), 0);
}

INLINE neon_halves unpack_mlx4(const uint8_t *w, int64_t j)
{
    const uint8x16_t bytes = vld1q_u8(w + j * 16);
    const uint8x16_t even = lower_nibbles(bytes), odd = upper_nibbles(bytes);
    return centred(vzip1q_u8(even, odd), vzip2q_u8(even, odd), 0);
}

INLINE neon_halves unpack_mlx5(const uint8_t *w, int64_t j)
{
    return centred(HALF_OF_STREAM(5, vld1q_u8(w + j * 20), 0),
                   HALF_OF_STREAM(5, vld1q_u8(w + j * 20 + 4), 6), 0);
}

INLINE neon_halves unpack_mlx6(const uint8_t *w, int64_t j)
{
    return centred(HALF_OF_STREAM(6, vld1q_u8(w + j * 24), 0),
                   HALF_OF_STREAM(6, vld1q_u8(w + j * 24 + 8), 4), 0);
}

/* The integers minus 128. */
INLINE neon_halves unpack_mlx8(const uint8_t *w, int64_t j)
{
    return centred(vld1q_u8(w + j * 32), vld1q_u8(w + j * 32 + 16), -128);
}

INLINE neon_halves unpack_mlx_fp4(const uint8_t *w, int64_t j)
{
    return look_up(e2m1_values, unpack_mlx4(w, j));
}

#define AFFINE(id, ...)                                                         \
    BLOCK_FORMAT(id, .may_end_within_group = true, .has_separate_scales = true, \
                 .scale = scale_mlx, .offset = offset_mlx, __VA_ARGS__)
AFFINE(mlx2, .bytes = 64)
AFFINE(mlx3, .bytes = 96)
AFFINE(mlx4, .bytes = 128)
AFFINE(mlx5, .bytes = 160)
AFFINE(mlx6, .bytes = 192)
AFFINE(mlx8, .bytes = 256, .zero = -128)
BLOCK_FORMAT(mlx_fp4, .bytes = 128, .may_end_within_group = true, .has_separate_scales = true,
             .scale = scale_mlx_fp4)

#endif
