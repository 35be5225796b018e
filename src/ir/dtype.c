#include "ir/dtype.h"

#include <ctype.h>
#include <math.h>

static void decode_f32(const uint8_t *src, float *dst, size_t n)
{
    memcpy(dst, src, n * sizeof(float));
}

static void encode_f32(const float *src, uint8_t *dst, size_t n)
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

static void decode_bf16(const uint8_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = float_of((uint32_t)src[2 * i] << 16 | (uint32_t)src[2 * i + 1] << 24);
}

static void encode_bf16(const float *src, uint8_t *dst, size_t n)
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

static void decode_f16(const uint8_t *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t h = (uint32_t)src[2 * i] | (uint32_t)src[2 * i + 1] << 8;
        const uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
        if (exponent == 31)
            dst[i] = float_of(sign | 0x7f800000 | mantissa << 13);
        else if (exponent > 0)
            dst[i] = float_of(sign | (exponent + 112) << 23 | mantissa << 13);
        else /* zero or subnormal: an exact multiple of 2^-24 */
            dst[i] = float_of(sign | bits_of(ldexpf((float)mantissa, -24)));
    }
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

static void encode_f16(const float *src, uint8_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t h = half_of(src[i]);
        dst[2 * i] = (uint8_t)h;
        dst[2 * i + 1] = (uint8_t)(h >> 8);
    }
}

#define decode_none NULL
#define encode_none NULL
#define block_none  NULL
#define NO_GGUF     VUG_NO_GGUF

static const vug_dtype_info table[VUG_DTYPE_COUNT] = {
#define DTYPE(id, name, elements, bytes, gguf, decode, encode, block)                           \
    [VUG_DTYPE_##id] = { name,         elements, bytes, gguf, decode_##decode, encode_##encode, \
                         block_##block },
#include "ir/dtypes.def"
#undef DTYPE
};

const vug_dtype_info *vug_dtype_of(vug_dtype dtype)
{
    return &table[dtype];
}

static bool is_called(vug_str given, const char *name)
{
    size_t i = 0;
    while (i < given.len && name[i] && toupper((unsigned char)given.ptr[i]) == name[i])
        i++;
    return i == given.len && !name[i];
}

vug_dtype vug_dtype_find(vug_str name)
{
    int i = 0;
    while (i < VUG_DTYPE_COUNT && !is_called(name, table[i].name))
        i++;
    return (vug_dtype)i;
}

vug_dtype vug_dtype_of_gguf(uint32_t number)
{
    int i = 0;
    while (i < VUG_DTYPE_COUNT && (table[i].gguf < 0 || (uint32_t)table[i].gguf != number))
        i++;
    return (vug_dtype)i;
}

bool vug_dtype_size(vug_dtype dtype, uint64_t n, uint64_t *bytes)
{
    const uint64_t elements = (uint64_t)table[dtype].elements;
    return n % elements == 0 && vug_mul_size(n / elements, (uint64_t)table[dtype].bytes, bytes);
}
