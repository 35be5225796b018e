/* Formats whose elements are numbers by themselves: F32, F16, BF16, FP8 and E8M0. */
#include <math.h>

#include "quant/internal.h"

void vug_decode_f32(const uint8_t *src, float *dst, size_t n)
{
    memcpy(dst, src, n * sizeof(float));
}

void vug_encode_f32(const float *src, uint8_t *dst, size_t n)
{
    memcpy(dst, src, n * sizeof(float));
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

static float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

void vug_decode_bf16(const uint8_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = float_of((uint32_t)src[2 * i] << 16 | (uint32_t)src[2 * i + 1] << 24);
}

void vug_encode_bf16(const float *src, uint8_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u = bits_of(src[i]);
        if ((u & 0x7fffffff) > 0x7f800000)
            u |= 0x400000; /* a NaN stays one: its payload may be all in the lower half */
        else
            u += 0x7fff + ((u >> 16) & 1);
        dst[2 * i] = (uint8_t)(u >> 16);
        dst[2 * i + 1] = (uint8_t)(u >> 24);
    }
}

float vug_half_at(const uint8_t *src)
{
    const uint32_t h = (uint32_t)src[0] | (uint32_t)src[1] << 8;
    const uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
    if (exponent == 31)
        return float_of(sign | 0x7f800000 | mantissa << 13);
    if (exponent > 0)
        return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    /* zero or subnormal: an exact multiple of 2^-24 */
    return float_of(sign | bits_of((float)mantissa * 0x1p-24f));
}

void vug_decode_f16(const uint8_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = vug_half_at(src + 2 * i);
}

static uint32_t half_of(float x)
{
    const uint32_t u = bits_of(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
    if (magnitude >= 0x477ff000) /* 65520, the first value that rounds past 65504 */
        return sign | 0x7c00;
    if (magnitude >= 0x38800000) { /* 2^-14, the least normal */
        const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
        return sign | (rounded - (112u << 23)) >> 13;
    }
    /* Scaled by 2^24 a subnormal is an integer below 1024; rint ties to even. */
    return sign | (uint32_t)rintf(ldexpf(float_of(magnitude), 24));
}

void vug_encode_f16(const float *src, uint8_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t h = half_of(src[i]);
        dst[2 * i] = (uint8_t)h;
        dst[2 * i + 1] = (uint8_t)(h >> 8);
    }
}

/* The value of a byte: sign, four bits of exponent, three of fraction; no infinities. */
#define E4M3_EXPONENT(b) ((b) >> 3 & 15)
#define E4M3_FRACTION(b) (float)((b)&7)
#define E4M3_MAGNITUDE(b)                                                                    \
    (((b)&127) == 127   ? NAN                                                                \
     : E4M3_EXPONENT(b) ? (8 + E4M3_FRACTION(b)) * (float)(1 << E4M3_EXPONENT(b)) * 0x1p-10f \
                        : E4M3_FRACTION(b) * 0x1p-9f)
#define E4M3(b)    ((b) < 128 ? E4M3_MAGNITUDE(b) : -E4M3_MAGNITUDE(b))
#define E4M3_4(b)  E4M3(b), E4M3((b) + 1), E4M3((b) + 2), E4M3((b) + 3)
#define E4M3_16(b) E4M3_4(b), E4M3_4((b) + 4), E4M3_4((b) + 8), E4M3_4((b) + 12)
#define E4M3_64(b) E4M3_16(b), E4M3_16((b) + 16), E4M3_16((b) + 32), E4M3_16((b) + 48)

static const float e4m3[256] = { E4M3_64(0), E4M3_64(64), E4M3_64(128), E4M3_64(192) };

void vug_decode_e4m3(const uint8_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = e4m3[src[i]];
}

static uint32_t e4m3_of(float x)
{
    const uint32_t u = bits_of(x), sign = u >> 24 & 0x80, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return sign | 0x7f;
    if (magnitude >= 0x43e00000) /* 448, the largest */
        return sign | 0x7e;
    if (magnitude >= 0x3c800000) { /* 2^-6, the least normal */
        const uint32_t rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
        return sign | (rounded - (120u << 23)) >> 20;
    }
    return sign | (uint32_t)rintf(ldexpf(float_of(magnitude), 9));
}

void vug_encode_e4m3(const float *src, uint8_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)e4m3_of(src[i]);
}

/* A power of two, 2^(byte - 127); 255 is a NaN (OCP Microscaling Formats, 5.4.1). */
void vug_decode_e8m0(const uint8_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = src[i] == 255 ? float_of(0x7fc00000) : ldexpf(1.0f, src[i] - 127);
}
