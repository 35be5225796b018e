#ifndef VUG_BACKEND_CUDA_WEIGHT_NUMBERS_H
#define VUG_BACKEND_CUDA_WEIGHT_NUMBERS_H

/* The numbers that weights are made of: elements, bytes of blocks, scales, tiles. */

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/cuda/device_code.h"
#include "backend/cuda/weight_tiles.h"

enum { GROUP = 8 }; /* weights that are read together */

/* ---- numbers ------------------------------------------------------------------- */

static __device__ __forceinline__ float bf16_value(uint32_t bits)
{
    return __uint_as_float(bits << 16);
}

static __device__ __forceinline__ float half_value(uint32_t bits)
{
    return __half2float(__ushort_as_half((unsigned short)bits));
}

static __device__ __forceinline__ float half_at(const uint8_t *p)
{
    return half_value(*(const uint16_t *)p);
}

/* 2^(exponent - 127), also of a subnormal. */
static __device__ __forceinline__ float power_of_two(int exponent)
{
    return __uint_as_float(exponent > 0 ? (uint32_t)exponent << 23 : 0x400000u >> -exponent);
}

static __device__ __forceinline__ float e8m0_value(uint32_t byte)
{
    return byte == 255 ? __uint_as_float(0x7fc00000) : power_of_two((int)byte);
}

/* Twice the value of E2M1. */
static __device__ __forceinline__ int e2m1_value(uint32_t code)
{
    const int magnitude = (int)(0xc8643210u >> (code & 7) * 4 & 15);
    return code & 8 ? -magnitude : magnitude;
}

static __device__ __forceinline__ int iq4_value(uint32_t code)
{
    /* -127 -104 -83 -65 -49 -35 -22 -10, 1 13 25 38 53 69 89 113: a byte each */
    const uint64_t table = code & 8 ? 0x7159453526190d01ull : 0xf6eaddcfbfad9881ull;
    return (int)(int8_t)(table >> (code & 7) * 8 & 255);
}

/* Eight bytes that are aligned to `align` bytes. */
template <int align> static __device__ __forceinline__ uint64_t load_eight(const uint8_t *p)
{
    if (align >= 8)
        return *(const uint64_t *)p;
    uint64_t x = 0;
    for (int i = 0; i < 8; i += align)
        x |= (uint64_t)(align == 4   ? *(const uint32_t *)(p + i)
                        : align == 2 ? *(const uint16_t *)(p + i)
                                     : p[i])
             << 8 * i;
    return x;
}

static __device__ __forceinline__ uint32_t byte_of(uint64_t bytes, int i)
{
    return (uint32_t)(bytes >> 8 * i) & 255;
}

/* ---- scales in tensors of their own ---------------------------------------------- */

static __device__ __forceinline__ float load_scale(const vug_scales &s, const uint8_t *from,
                                                   int64_t row, int64_t column)
{
    const int64_t at = row / s.rows * s.stride + column / s.columns;
    switch (s.dtype) {
    case VUG_DTYPE_F32:
        return ((const float *)from)[at];
    case VUG_DTYPE_F16:
        return half_value(((const uint16_t *)from)[at]);
    case VUG_DTYPE_BF16:
        return bf16_value(((const uint16_t *)from)[at]);
    default:
        return e8m0_value(from[at]);
    }
}

/* ---- rows, and tiles of BF16 ------------------------------------------------------- */

/* Where row `row` begins; in tiles of codes, the 16 rows that it belongs to. */
template <int dtype>
static __device__ __forceinline__ const uint8_t *row_at(const vug_matrix &m, int64_t row_bytes,
                                                        int64_t row)
{
    if constexpr (vug_cuda_block_unit_bytes((vug_dtype)dtype) > 0)
        return m.data + row / VUG_CUDA_TILE * VUG_CUDA_TILE * row_bytes;
    else if constexpr (dtype == VUG_DTYPE_BF16)
        return m.data + row / VUG_CUDA_TILE * VUG_CUDA_TILE * row_bytes + row % 8 * 64 +
               row % VUG_CUDA_TILE / 8 * 4;
    else
        return m.data + row * row_bytes;
}

/* Eight weights of BF16 from tiles, whose padding is zero. */
static __device__ __forceinline__ void read_tile_group(const uint8_t *base, int64_t group, float *w)
{
    const uint8_t *p = base + group / 2 * VUG_CUDA_TILE_BYTES + group % 2 * 8;
    for (int t = 0; t < 4; t++) {
        const uint32_t pair = *(const uint32_t *)(p + 16 * t);
        w[2 * t] = bf16_value(pair & 0xffff);
        w[2 * t + 1] = bf16_value(pair >> 16);
    }
}

#endif
