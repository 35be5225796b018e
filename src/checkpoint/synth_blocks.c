/*
 * Random block-quantized weights. The integers of a block are random bits; the scales are chosen
 * such that the weights have about the requested standard deviation.
 */
#include <math.h>

#include "checkpoint/internal.h"
#include "core/random.h"
#include "quant/codec.h"

/* The offsets of the scale and the minimum in a block (F16; -1: none), and for a scale of 1: what
 * must be added to make the mean 0, and the standard deviation. */
typedef struct {
    int scale, minimum;
    float centre, deviation;
} block_distribution;

/* Random integers of b bits have the mean (2^b - 1) / 2 and the deviation sqrt((4^b - 1) / 12);
 * the 16 values of IQ4 have the deviation 67.4 and those of MXFP4, in halves, 5.85. The scales of
 * the K formats are random, too: 4 bits with minimums (Q2_K), 6 bits around 0 (Q3_K, IQ4_XS),
 * 6 bits with minimums (Q4_K, Q5_K), 8 bits around 0 (Q6_K). */
static const block_distribution distributions[VUG_DTYPE_COUNT] = {
    [VUG_DTYPE_Q4_0] = { 0, -1, 0, 4.61f },        [VUG_DTYPE_Q4_1] = { 0, 2, -7.5f, 4.61f },
    [VUG_DTYPE_Q5_0] = { 0, -1, 0, 9.23f },        [VUG_DTYPE_Q5_1] = { 0, 2, -15.5f, 9.23f },
    [VUG_DTYPE_Q8_0] = { 0, -1, 0, 73.9f },        [VUG_DTYPE_Q2_K] = { 80, 82, 1.5f, 13.9f },
    [VUG_DTYPE_Q3_K] = { 108, -1, 0, 43.3f },      [VUG_DTYPE_Q4_K] = { 0, 2, 7.5f, 258 },
    [VUG_DTYPE_Q5_K] = { 0, 2, 15.5f, 527 },       [VUG_DTYPE_Q6_K] = { 208, -1, 0, 1366 },
    [VUG_DTYPE_IQ4_NL] = { 0, -1, 0, 67.4f },      [VUG_DTYPE_IQ4_XS] = { 0, -1, 0, 1246 },
    [VUG_DTYPE_MXFP4] = { 0, -1, 0, 5.85f },       [VUG_DTYPE_MLX2] = { -1, -1, -1.5f, 1.12f },
    [VUG_DTYPE_MLX3] = { -1, -1, -3.5f, 2.29f },   [VUG_DTYPE_MLX4] = { -1, -1, -7.5f, 4.61f },
    [VUG_DTYPE_MLX5] = { -1, -1, -15.5f, 9.23f },  [VUG_DTYPE_MLX6] = { -1, -1, -31.5f, 18.5f },
    [VUG_DTYPE_MLX8] = { -1, -1, -127.5f, 73.9f }, [VUG_DTYPE_MLX_FP4] = { -1, -1, 0, 5.85f },
};

bool vug_random_supports(vug_dtype dtype)
{
    return distributions[dtype].deviation > 0;
}

/* A factor of 0.75 .. 1.25, so that blocks differ. */
static float jitter(uint64_t seed)
{
    return 0.75f + (float)(seed >> 40) * 0x1p-25f;
}

/* The E8M0 exponent of a scale for MXFP4's integers, which are twice the values. */
static uint8_t exponent_of(float scale)
{
    const float e = roundf(log2f(scale)) + 127;
    return (uint8_t)(e < 1 ? 1 : e > 254 ? 254 : e);
}

void vug_random_blocks(vug_dtype dtype, uint64_t seed, uint64_t first, size_t n, float deviation,
                       uint8_t *out)
{
    const block_distribution *s = &distributions[dtype];
    const size_t bytes = (size_t)vug_dtype_of(dtype)->bytes;
    for (size_t i = 0; i < n; i++, out += bytes) {
        const uint64_t own = vug_hash64(seed + first + i);
        for (size_t at = 0; at < bytes; at += sizeof(own)) {
            const uint64_t bits = vug_hash64(own + at);
            memcpy(out + at, &bits, bytes - at < sizeof(bits) ? bytes - at : sizeof(bits));
        }
        const float scale = deviation / s->deviation * jitter(own);
        const float values[2] = { scale, scale * s->centre };
        if (dtype == VUG_DTYPE_MXFP4)
            out[0] = exponent_of(2 * scale);
        else if (s->scale >= 0)
            vug_codec_of(VUG_DTYPE_F16)->encode(&values[0], out + s->scale, 1);
        if (s->minimum >= 0)
            vug_codec_of(VUG_DTYPE_F16)->encode(&values[1], out + s->minimum, 1);
    }
}

void vug_random_scales(vug_dtype dtype, uint64_t seed, uint64_t first, size_t n, float deviation,
                       uint8_t *scale, uint8_t *bias)
{
    const block_distribution *s = &distributions[dtype];
    const vug_codec *codec = vug_codec_of(VUG_DTYPE_BF16);
    for (size_t i = 0; i < n; i++) {
        const float value = deviation / s->deviation * jitter(vug_hash64(seed + first + i));
        const float centre = value * s->centre;
        if (dtype == VUG_DTYPE_MLX_FP4)
            scale[i] = exponent_of(2 * value);
        else
            codec->encode(&value, scale + 2 * i, 1);
        if (bias)
            codec->encode(&centre, bias + 2 * i, 1);
    }
}
