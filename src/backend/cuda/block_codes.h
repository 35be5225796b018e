#ifndef VUG_BACKEND_CUDA_BLOCK_CODES_H
#define VUG_BACKEND_CUDA_BLOCK_CODES_H

/* The codes and scales of tiles (block_tiles.h has their layout) in a lane's registers. */

#include <cuda_bf16.h>

#include "backend/cuda/weight_numbers.h"

template <int dtype> struct code_format {
    static constexpr int bits =
            dtype == VUG_DTYPE_Q8_0 || dtype == VUG_DTYPE_E4M3 || dtype == VUG_DTYPE_MLX8 ? 8
            : dtype == VUG_DTYPE_Q6_K                                                     ? 6
                                                                                          : 4;
    static constexpr bool has_offset = vug_cuda_needs_sums((vug_dtype)dtype);
    static constexpr bool super = dtype == VUG_DTYPE_Q4_K || dtype == VUG_DTYPE_Q6_K;
    static constexpr bool halves = super || dtype == VUG_DTYPE_Q4_0 || dtype == VUG_DTYPE_Q8_0;
    static constexpr int code_bytes = bits * 128; /* of 16 x 64 */
    static constexpr int scale_words =            /* of a row */
            !halves ? has_offset ? 4 : 2
            : super ? 2
                    : 1;
    static constexpr int unit_bytes = vug_cuda_block_unit_bytes((vug_dtype)dtype);
    static_assert(unit_bytes == code_bytes + 16 * 4 * scale_words, "codes, then scales");
    static constexpr int block_tiles = dtype == VUG_DTYPE_Q6_K ? 1 : 2; /* that share a scale */
    static constexpr int zero = dtype == VUG_DTYPE_Q4_0   ? 8
                                : dtype == VUG_DTYPE_Q6_K ? 32
                                : dtype == VUG_DTYPE_MLX8 ? -128
                                                          : 0;
};

/* Pairs of BF16; each result is rounded once. */
static __device__ __forceinline__ __nv_bfloat162 pair_of(uint32_t bits)
{
    return *(const __nv_bfloat162 *)&bits;
}

static __device__ __forceinline__ uint32_t bits_of(__nv_bfloat162 pair)
{
    return *(const uint32_t *)&pair;
}

static __device__ __forceinline__ uint32_t subtract_pairs(uint32_t a, uint32_t b)
{
    return bits_of(__hsub2(pair_of(a), pair_of(b)));
}

/* (bits & mask) | with; written so, it stays one instruction. */
static __device__ __forceinline__ uint32_t merge_bits(uint32_t bits, uint32_t mask, uint32_t with)
{
    uint32_t merged;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(merged) : "r"(bits), "r"(mask), "r"(with));
    return merged;
}

/* (bits & mask) ^ flip */
static __device__ __forceinline__ uint32_t flip_bits(uint32_t bits, uint32_t mask, uint32_t flip)
{
    uint32_t flipped;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(flipped) : "r"(bits), "r"(mask), "r"(flip));
    return flipped;
}

/* Twice 128 in BF16, where the last bit counts 1. */
static constexpr uint32_t PAIR_OF_128 = 0x43004300;

/* Signed bytes at bits 0 and 16 as a pair of BF16. */
static __device__ __forceinline__ uint32_t signed_pair(uint32_t bytes)
{
    /* 128 + the low seven bits, less 128 or, for a negative byte, 256 */
    return subtract_pairs(merge_bits(bytes, 0x007f007f, PAIR_OF_128),
                          merge_bits(bytes, 0x00800080, PAIR_OF_128));
}

/* Numbers of E4M3 at bits 0 and 16 as a pair of BF16: 2^120 makes up for the other bias, exactly. */
static __device__ __forceinline__ uint32_t e4m3_pair(uint32_t bytes)
{
    return bits_of(__hmul2(pair_of((bytes & 0x007f007f) << 4 | (bytes & 0x00800080) << 8),
                           pair_of(0x7b807b80)));
}

/* Twice the numbers of E2M1 at bits 4 r and 16 + 4 r. */
static __device__ __forceinline__ uint32_t e2m1_pair(uint32_t codes, int r)
{
    const uint32_t sign = codes << (12 - 4 * r),
                   number = r < 2 ? codes << (6 - 4 * r) : codes >> (4 * r - 6);
    return bits_of(
            __hmul2(pair_of((number & 0x01c001c0) | (sign & 0x80008000)), pair_of(0x7f007f00)));
}

/* Codes of register `r` of tile `s` as a pair of BF16. `low` are the words of the tile, `high`
 * that of the high bits. */
template <int dtype>
static __device__ __forceinline__ uint32_t code_pair(const uint32_t (&low)[2], uint32_t high, int s,
                                                     int r)
{
    using format = code_format<dtype>;
    if constexpr (dtype == VUG_DTYPE_E4M3) {
        return e4m3_pair(low[r % 2] >> 8 * (r / 2));
    } else if constexpr (dtype == VUG_DTYPE_MXFP4) {
        return e2m1_pair(low[0], r);
    } else if constexpr (format::bits == 8) {
        const uint32_t codes = signed_pair(low[r % 2] >> 8 * (r / 2));
        return format::zero ? subtract_pairs(codes, PAIR_OF_128 | 0x80008000) : codes;
    } else {
        constexpr uint32_t bias = (PAIR_OF_128 & 0xffff) + format::zero;
        uint32_t codes = merge_bits(low[0] >> 4 * r, 0x000f000f, PAIR_OF_128);
        if constexpr (format::bits == 6) {
            const int at = 8 * (s % 2) + 2 * r - 4;
            codes = merge_bits(at < 0 ? high << -at : high >> at, 0x00300030, codes);
        }
        return subtract_pairs(codes, bias | bias << 16);
    }
}

/* 2^23 + byte i of `bytes`: F32 has a step of 1 there. */
static __device__ __forceinline__ float biased_byte(uint32_t bytes, int i)
{
    return __uint_as_float(__byte_perm(bytes, 0x4b000000, 0x7440 | i));
}

/* A half times byte i of `bytes`, exactly. */
static __device__ __forceinline__ float times_byte(float half, uint32_t bytes, int i)
{
    return fmaf(half, biased_byte(bytes, i), half * -0x1p23f);
}

/* weight = scale * code + offset */
struct block_scale {
    float scale, offset;
};

/* Of tile `s`, from the words of a row. */
template <int dtype>
static __device__ __forceinline__ block_scale scale_of(const uint32_t *words, int s)
{
    using format = code_format<dtype>;
    if constexpr (!format::halves) {
        const uint32_t *of = words + s / 2 * (format::scale_words / 2);
        return { __uint_as_float(of[0]), format::has_offset ? __uint_as_float(of[1]) : -0.0f };
    }
    if constexpr (!format::super)
        return { half_value(words[0] >> s / 2 * 16 & 0xffff), -0.0f };
    const float d = half_value(words[0] & 0xffff), least = half_value(words[0] >> 16);
    if constexpr (dtype == VUG_DTYPE_Q4_K)
        return { times_byte(d, words[1], s / 2), times_byte(-least, words[1], 2 + s / 2) };
    return { d * (biased_byte(words[1], s) - (0x1p23f + 128)), -0.0f };
}

/* The two weights of a pair of codes. */
template <int dtype>
static __device__ __forceinline__ float2 weights_of(uint32_t pair, const block_scale &by)
{
    const float low = __uint_as_float(pair << 16), high = __uint_as_float(pair & 0xffff0000u);
    if constexpr (code_format<dtype>::has_offset)
        return make_float2(low * by.scale + by.offset, high * by.scale + by.offset);
    return make_float2(low * by.scale, high * by.scale);
}

/* The terms of a scale, twice each. */
struct scale_terms {
    __nv_bfloat162 high, low;
};

static __device__ __forceinline__ scale_terms terms_of(float scale)
{
    const uint32_t high = __float_as_uint(scale) & 0xffff0000u;
    return { pair_of(__byte_perm(high, 0, 0x3232)),
             __float2bfloat162_rn(scale - __uint_as_float(high)) };
}

#endif
