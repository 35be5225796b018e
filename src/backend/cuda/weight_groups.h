#ifndef VUG_BACKEND_CUDA_WEIGHT_GROUPS_H
#define VUG_BACKEND_CUDA_WEIGHT_GROUPS_H

/*
 * Reading weights of every format, eight neighbours at a time, as they lie on the device or, to bring
 * them into tiles, as a checkpoint has them. The decoded values have the bits of the reference
 * decoders (quant/matrix.h), whose comments give the layouts.
 */

#include "backend/cuda/block_tiles.h"
#include "backend/cuda/weight_numbers.h"

/* The formats of weights on the device. */
#define WEIGHT_FORMATS(X) \
    X(F32)                \
    X(F16)                \
    X(BF16)               \
    X(Q2_K)               \
    X(IQ4_XS)             \
    BLOCK_TILE_FORMATS(X)

/* ---- eight weights ----------------------------------------------------------------- */

/* One block of 32 as integers: weight = scale * q + offset. */
struct block_numbers {
    float scale, offset;
    int q[GROUP];
};

/* Block `i` of a row, weights e .. e + 7 of it. */
template <int dtype>
static __device__ __forceinline__ void read_simple_block(const uint8_t *row, int64_t i, int e,
                                                         block_numbers &b)
{
    constexpr bool mxfp4 = dtype == VUG_DTYPE_MXFP4;
    constexpr bool minimum = dtype == VUG_DTYPE_Q4_1 || dtype == VUG_DTYPE_Q5_1;
    constexpr bool fifth = dtype == VUG_DTYPE_Q5_0 || dtype == VUG_DTYPE_Q5_1;
    constexpr int head = mxfp4 ? 1 : 2 + 2 * minimum + 4 * fifth;
    const uint8_t *p = row + i * (head + 16);
    const uint64_t nibbles = load_eight < mxfp4 ? 1 : 2 > (p + head + e % 16) >> e / 16 * 4;
    b.scale = mxfp4 ? power_of_two((int)p[0] - 1) : half_at(p);
    b.offset = minimum ? half_at(p + 2) : -0.0f;
    const uint32_t high = fifth ? p[head - 4 + e / 8] : 0;
    for (int j = 0; j < GROUP; j++) {
        const uint32_t code = byte_of(nibbles, j) & 15;
        b.q[j] = mxfp4                       ? e2m1_value(code)
                 : dtype == VUG_DTYPE_IQ4_NL ? iq4_value(code)
                                             : (int)(code | (high >> j & 1) << 4);
        b.q[j] -= dtype == VUG_DTYPE_Q4_0 ? 8 : dtype == VUG_DTYPE_Q5_0 ? 16 : 0;
    }
}

static __device__ __forceinline__ void read_q8_block(const uint8_t *row, int64_t i, int e,
                                                     block_numbers &b)
{
    const uint8_t *p = row + i * 34;
    const uint64_t bytes = load_eight<2>(p + 2 + e);
    b.scale = half_at(p);
    b.offset = -0.0f;
    for (int j = 0; j < GROUP; j++)
        b.q[j] = (int8_t)byte_of(bytes, j);
}

static __device__ __forceinline__ void read_iq4_xs_block(const uint8_t *row, int64_t i, int e,
                                                         block_numbers &b)
{
    const uint8_t *p = row + i / 8 * 136;
    const int s = (int)(i % 8);
    const int low = p[4 + s / 2] >> (4 * (s % 2)) & 15, high = p[2 + s / 4] >> (2 * (s % 4)) & 3;
    const uint64_t nibbles = load_eight<8>(p + 8 + 16 * s + e % 16) >> e / 16 * 4;
    b.scale = half_at(p) * (float)((low | high << 4) - 32);
    b.offset = -0.0f;
    for (int j = 0; j < GROUP; j++)
        b.q[j] = iq4_value(byte_of(nibbles, j) & 15);
}

static __device__ __forceinline__ void read_q2_block(const uint8_t *row, int64_t i, int e,
                                                     block_numbers &b)
{
    const uint8_t *p = row + i / 8 * 84;
    const int s = (int)(i % 8), scales = p[2 * s + e / 16];
    const uint64_t bytes = load_eight<4>(p + 16 + s / 4 * 32 + e) >> s % 4 * 2;
    b.scale = half_at(p + 80) * (float)(scales & 15);
    b.offset = -half_at(p + 82) * (float)(scales >> 4);
    for (int j = 0; j < GROUP; j++)
        b.q[j] = (int)(byte_of(bytes, j) & 3);
}

/* Scale `k` of the 16 of Q3_K. */
static __device__ __forceinline__ int q3_scale(const uint8_t *scales, int k)
{
    const int low = k < 8 ? scales[k] & 15 : scales[k - 8] >> 4;
    const int high = scales[8 + k % 4] >> (2 * (k / 4)) & 3;
    return (low | high << 4) - 32;
}

static __device__ __forceinline__ void read_q3_block(const uint8_t *row, int64_t i, int e,
                                                     block_numbers &b)
{
    const uint8_t *p = row + i / 8 * 110;
    const int s = (int)(i % 8), k = 2 * s + e / 16;
    const uint64_t bytes = load_eight<2>(p + 32 + s / 4 * 32 + e) >> s % 4 * 2;
    const uint64_t mask = load_eight<2>(p + e) >> s;
    b.scale = half_at(p + 108) * (float)q3_scale(p + 96, k);
    b.offset = -0.0f;
    for (int j = 0; j < GROUP; j++)
        b.q[j] = (int)(byte_of(bytes, j) & 3) - (byte_of(mask, j) & 1 ? 0 : 4);
}

/* The scale and the minimum of block `s` of the eight of Q4_K and Q5_K. */
static __device__ __forceinline__ int q45_scale(const uint8_t *scales, int s)
{
    return s < 4 ? scales[s] & 63 : (scales[s + 4] & 15) | scales[s - 4] >> 6 << 4;
}

static __device__ __forceinline__ int q45_minimum(const uint8_t *scales, int s)
{
    return s < 4 ? scales[s + 4] & 63 : scales[s + 4] >> 4 | scales[s] >> 6 << 4;
}

template <bool fifth>
static __device__ __forceinline__ void read_q45_block(const uint8_t *row, int64_t i, int e,
                                                      block_numbers &b)
{
    const uint8_t *p = row + i / 8 * (fifth ? 176 : 144);
    const int s = (int)(i % 8), scale = q45_scale(p + 4, s), minimum = q45_minimum(p + 4, s);
    const uint64_t bytes = load_eight<8>(p + (fifth ? 48 : 16) + s / 2 * 32 + e) >> s % 2 * 4;
    const uint64_t high = fifth ? load_eight<8>(p + 16 + e) >> s : 0;
    b.scale = half_at(p) * (float)scale;
    b.offset = -half_at(p + 2) * (float)minimum;
    for (int j = 0; j < GROUP; j++)
        b.q[j] = (int)((byte_of(bytes, j) & 15) | (byte_of(high, j) & 1) << 4);
}

static __device__ __forceinline__ void read_q6_block(const uint8_t *row, int64_t i, int e,
                                                     block_numbers &b)
{
    const uint8_t *p = row + i / 8 * 210;
    const int s = (int)(i % 8), half = s / 4, j4 = s % 4;
    const uint64_t low = load_eight<2>(p + 64 * half + 32 * (j4 % 2) + e) >> j4 / 2 * 4;
    const uint64_t high = load_eight<2>(p + 128 + 32 * half + e) >> 2 * j4;
    b.scale = half_at(p + 208) * (float)(int8_t)p[192 + 2 * s + e / 16];
    b.offset = -0.0f;
    for (int j = 0; j < GROUP; j++)
        b.q[j] = (int)((byte_of(low, j) & 15) | (byte_of(high, j) & 3) << 4) - 32;
}

/* Eight weights of `bits` bits each are as many bytes, lowest bits first. */
template <int bits>
static __device__ __forceinline__ void read_mlx_codes(const uint8_t *row, int64_t group, int *q)
{
    const uint8_t *p = row + group * bits;
    uint64_t stream = 0;
    if (bits == 4)
        stream = *(const uint32_t *)p;
    else if (bits == 8)
        stream = load_eight<8>(p);
    else
        for (int j = 0; j < bits; j++)
            stream |= (uint64_t)p[j] << 8 * j;
    for (int j = 0; j < GROUP; j++)
        q[j] = (int)(stream >> bits * j & ((1u << bits) - 1));
}

template <int dtype>
static __device__ __forceinline__ void read_mlx_block(const vug_matrix &m, const uint8_t *base,
                                                      int64_t row, int64_t group, block_numbers &b)
{
    constexpr bool fp4 = dtype == VUG_DTYPE_MLX_FP4;
    constexpr int bits = fp4                       ? 4
                         : dtype == VUG_DTYPE_MLX2 ? 2
                         : dtype == VUG_DTYPE_MLX3 ? 3
                         : dtype == VUG_DTYPE_MLX4 ? 4
                         : dtype == VUG_DTYPE_MLX5 ? 5
                         : dtype == VUG_DTYPE_MLX6 ? 6
                                                   : 8;
    read_mlx_codes<bits>(base, group, b.q);
    const int64_t column = group / 4 * 32;
    const float scale = load_scale(m.scales, m.scales.scale, row, column);
    b.scale = fp4 ? 0.5f * scale : scale;
    b.offset = fp4 ? -0.0f : load_scale(m.scales, m.scales.bias, row, column);
    for (int j = 0; fp4 && j < GROUP; j++)
        b.q[j] = e2m1_value((uint32_t)b.q[j]);
}

/* Eight weights, in the checkpoint's layout, as integers. */
template <int dtype>
static __device__ __forceinline__ void read_numbers(const vug_matrix &m, const uint8_t *base,
                                                    int64_t row, int64_t group, block_numbers &b)
{
    const int64_t i = group / 4;
    const int e = (int)(group % 4) * GROUP;
    if constexpr (dtype == VUG_DTYPE_Q8_0)
        read_q8_block(base, i, e, b);
    else if constexpr (dtype == VUG_DTYPE_Q2_K)
        read_q2_block(base, i, e, b);
    else if constexpr (dtype == VUG_DTYPE_Q3_K)
        read_q3_block(base, i, e, b);
    else if constexpr (dtype == VUG_DTYPE_Q4_K || dtype == VUG_DTYPE_Q5_K)
        read_q45_block<dtype == VUG_DTYPE_Q5_K>(base, i, e, b);
    else if constexpr (dtype == VUG_DTYPE_Q6_K)
        read_q6_block(base, i, e, b);
    else if constexpr (dtype == VUG_DTYPE_IQ4_XS)
        read_iq4_xs_block(base, i, e, b);
    else if constexpr (dtype >= VUG_DTYPE_MLX2 && dtype <= VUG_DTYPE_MLX_FP4)
        read_mlx_block<dtype>(m, base, row, group, b);
    else
        read_simple_block<dtype>(base, i, e, b);
}

template <int dtype>
static __device__ __forceinline__ void read_block_group(const vug_matrix &m, const uint8_t *base,
                                                        int64_t row, int64_t group, float *w)
{
    block_numbers b;
    read_numbers<dtype>(m, base, row, group, b);
    for (int j = 0; j < GROUP; j++)
        w[j] = b.scale * (float)b.q[j] + b.offset;
}

template <int dtype>
static __device__ __forceinline__ float plain_weight(const uint8_t *base, int64_t column)
{
    if constexpr (dtype == VUG_DTYPE_F32)
        return ((const float *)base)[column];
    else
        return half_value(((const uint16_t *)base)[column]);
}

/* Eight whole weights of a row whose length is a multiple of eight, so that they are aligned. */
template <int dtype>
static __device__ __forceinline__ void read_aligned_group(const uint8_t *base, int64_t group,
                                                          float *w)
{
    if constexpr (dtype == VUG_DTYPE_F32) {
        const float4 a = ((const float4 *)base)[2 * group],
                     b = ((const float4 *)base)[2 * group + 1];
        w[0] = a.x, w[1] = a.y, w[2] = a.z, w[3] = a.w;
        w[4] = b.x, w[5] = b.y, w[6] = b.z, w[7] = b.w;
    } else {
        const uint4 v = ((const uint4 *)base)[group];
        const uint32_t pair[4] = { v.x, v.y, v.z, v.w };
        for (int j = 0; j < 4; j++) {
            const uint32_t low = pair[j] & 0xffff, high = pair[j] >> 16;
            w[2 * j] = half_value(low);
            w[2 * j + 1] = half_value(high);
        }
    }
}

/* Weights GROUP * group .. + 7 of a row that begins at `base`; zeros past its end. */
template <int dtype>
static __device__ __forceinline__ void read_group(const vug_matrix &m, const uint8_t *base,
                                                  int64_t row, int64_t group, float *w)
{
    if constexpr (vug_cuda_block_unit_bytes((vug_dtype)dtype) > 0) {
        read_block_tile_group<dtype>(base, row, group, w);
        return;
    }
    if constexpr (dtype > VUG_DTYPE_F4) {
        read_block_group<dtype>(m, base, row, group, w);
        return;
    }
    const int64_t first = group * GROUP;
    if constexpr (dtype == VUG_DTYPE_BF16) {
        read_tile_group(base, group, w);
    } else if (m.columns % GROUP == 0) {
        read_aligned_group<dtype>(base, group, w);
    } else {
        for (int j = 0; j < GROUP; j++)
            w[j] = first + j < m.columns ? plain_weight<dtype>(base, first + j) : 0;
    }
    if (!m.scales.scale)
        return;
    for (int j = 0; j < GROUP && first + j < m.columns; j++)
        w[j] = w[j] * load_scale(m.scales, m.scales.scale, row, first + j) +
               (m.scales.bias ? load_scale(m.scales, m.scales.bias, row, first + j) : -0.0f);
}

#endif
