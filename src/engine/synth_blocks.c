/*
 * Random weights in blocks. The integers of a block are random bits; its scales are chosen
 * by what such integers come to, so that weights deviate from 0 by about what was asked for.
 */
#include <math.h>

#include "engine/engine.h"

/* Where a block has its scale and what is added (F16, from its beginning, -1: nothing), and
 * of weights whose scale is 1: what is added so that their mean is 0, and their deviation. */
typedef struct {
    int scale, minimum;
    float centre, deviation;
} spread;

/* A q of b bits deviates by sqrt((4^b - 1) / 12) from its mean of (2^b - 1) / 2, the 16
 * numbers of IQ4 by 67.4 and those of MXFP4, in halves, by 5.85. The scales of the K
 * formats are random, too: of 4 bits and minimums (Q2_K), 6 bits about 0 (Q3_K, IQ4_XS),
 * 6 bits and minimums (Q4_K, Q5_K), 8 bits about 0 (Q6_K). */
static const spread spreads[VUG_DTYPE_COUNT] = {
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

/* The finalizer of SplitMix64. */
static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

bool vug_random_has(vug_dtype dtype)
{
    return spreads[dtype].deviation > 0;
}

/* About 1, so that no two blocks are alike: 0.75 .. 1.25. */
static float wobble(uint64_t seed)
{
    return 0.75f + (float)(seed >> 40) * 0x1p-25f;
}

/* The exponent, biased as E8M0, of a scale of MXFP4's integers, which are twice the values. */
static uint8_t exponent_of(float scale)
{
    const float e = roundf(log2f(scale)) + 127;
    return (uint8_t)(e < 1 ? 1 : e > 254 ? 254 : e);
}

void vug_random_blocks(vug_dtype dtype, uint64_t seed, uint64_t first, size_t n, float deviation,
                       uint8_t *out)
{
    const spread *s = &spreads[dtype];
    const size_t bytes = (size_t)vug_dtype_of(dtype)->bytes;
    for (size_t i = 0; i < n; i++, out += bytes) {
        const uint64_t own = mix(seed + first + i);
        for (size_t at = 0; at < bytes; at += sizeof(own)) {
            const uint64_t bits = mix(own + at);
            memcpy(out + at, &bits, bytes - at < sizeof(bits) ? bytes - at : sizeof(bits));
        }
        const float scale = deviation / s->deviation * wobble(own);
        const float values[2] = { scale, scale * s->centre };
        if (dtype == VUG_DTYPE_MXFP4)
            out[0] = exponent_of(2 * scale);
        else if (s->scale >= 0)
            vug_dtype_of(VUG_DTYPE_F16)->encode(&values[0], out + s->scale, 1);
        if (s->minimum >= 0)
            vug_dtype_of(VUG_DTYPE_F16)->encode(&values[1], out + s->minimum, 1);
    }
}

void vug_random_scales(vug_dtype dtype, uint64_t seed, uint64_t first, size_t n, float deviation,
                       uint8_t *scale, uint8_t *bias)
{
    const spread *s = &spreads[dtype];
    const vug_dtype_info *format = vug_dtype_of(VUG_DTYPE_BF16);
    for (size_t i = 0; i < n; i++) {
        const float value = deviation / s->deviation * wobble(mix(seed + first + i));
        const float centre = value * s->centre;
        if (dtype == VUG_DTYPE_MLX_FP4)
            scale[i] = exponent_of(2 * value);
        else
            format->encode(&value, scale + 2 * i, 1);
        if (bias)
            format->encode(&centre, bias + 2 * i, 1);
    }
}
