#ifndef VUG_BACKEND_CUDA_ROW_INTEGERS_H
#define VUG_BACKEND_CUDA_ROW_INTEGERS_H

/*
 * Rows of x as integers, for products with integer codes (weight_tiles.h): 32 columns share a scale,
 * a power of two, and each element is rounded to a multiple of it, ties to even (block floating
 * point). Of a block whose largest |x| is m, the scale is 2^(e - 14), where 2^e is the largest power
 * of two up to m (1 + 2^-7); it is 2^-100 if that is more. So integers are at most 32514, and have
 * 16 bits with their sign. If m (1 + 2^-7) is 2^104 or more, or NaN, all elements become NaN.
 *
 * An integer n is 256 high + low, both of 8 bits with their sign; low is -128 up to 127. Times the
 * scale both are exact in BF16, and are the two terms of x.
 */

#include "backend/cuda/device_code.h"

struct x_scale {
    float scale, inverse;
};

/* The bits of |x|, which have the order of magnitudes; a NaN is above all. */
static __device__ __forceinline__ uint32_t magnitude(float x)
{
    return __float_as_uint(x) & 0x7fffffff;
}

static __device__ __forceinline__ uint32_t largest_of(const float4 &x)
{
    return max(max(magnitude(x.x), magnitude(x.y)), max(magnitude(x.z), magnitude(x.w)));
}

/* Of a block with the largest of its magnitudes. */
static __device__ __forceinline__ x_scale x_scale_of(uint32_t largest)
{
    enum { LEAST = 27, MORE = 14, TOP = 127 + 104 - MORE }; /* exponents, as F32 has them */
    const uint32_t m = __float_as_uint(__uint_as_float(largest) * (1 + 0x1p-7f));
    const int exponent = max((int)(m >> 23) - MORE, (int)LEAST);
    const uint32_t bits = exponent >= TOP ? 0x7fc00000 : (uint32_t)exponent << 23;
    return { __uint_as_float(bits), __uint_as_float((uint32_t)(254 - exponent) << 23) };
}

/* An element in units of the scale, plus 1.5 * 2^23: the low 16 bits are those of the integer. */
static __device__ __forceinline__ float biased_integer(float x, const x_scale &of)
{
    return fmaf(x, of.inverse, 0x1.8p23f);
}

/* The terms of an element. */
struct x_terms {
    float high, low;
};

static __device__ __forceinline__ x_terms integer_terms(float x, const x_scale &of)
{
    const float n = biased_integer(x, of) - 0x1.8p23f;
    const float high = (fmaf(n + 0.5f, 0x1p-8f, 0x1.8p23f) - 0x1.8p23f) * 0x1p8f;
    return { high * of.scale, (n - high) * of.scale };
}

#endif
