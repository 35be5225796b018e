#ifndef VUG_BACKEND_CUDA_KV_ELEMENTS_H
#define VUG_BACKEND_CUDA_KV_ELEMENTS_H

/* Elements of pages, in each format of the cache. */

#include <cuda_fp16.h>

#include "backend/cuda/attention_kernels.h"
#include "backend/cuda/device_code.h"

enum { KV_QUAD = 4 };

/* Query heads of a token that share the keys of `kv_head`. */
struct head_group {
    int64_t token;
    int kv_head, head, heads; /* head: the first of them; heads: how many exist */
};

/* The keys, or the values, of a head in a page. */
struct kv_part {
    uint8_t *element;
    float *scale; /* only in Q8 */
    int stride, scales;
};

static __device__ __forceinline__ kv_part kv_part_at(const vug_cuda_kv_cache &c, uint8_t *page,
                                                     int head, bool values)
{
    kv_part p;
    p.element = page + c.offset + (2 * head + values) * c.part_bytes;
    p.stride = (int)c.stride;
    p.scales = (p.stride + VUG_KV_Q8_BLOCK - 1) / VUG_KV_Q8_BLOCK;
    p.scale = (float *)(p.element + VUG_KV_PAGE * p.stride);
    return p;
}

static __device__ __forceinline__ float kv_bf16(uint32_t bits)
{
    return __uint_as_float(bits << 16);
}

static __device__ __forceinline__ float kv_f16(uint32_t bits)
{
    return __half2float(__ushort_as_half((unsigned short)bits));
}

template <int format>
static __device__ __forceinline__ float kv_element(const kv_part &p, int slot, int e)
{
    const int i = slot * p.stride + e;
    if constexpr (format == VUG_KV_F32)
        return ((const float *)p.element)[i];
    else if constexpr (format == VUG_KV_F16)
        return kv_f16(((const uint16_t *)p.element)[i]);
    else if constexpr (format == VUG_KV_BF16)
        return kv_bf16(((const uint16_t *)p.element)[i]);
    else
        return (float)((const int8_t *)p.element)[i] *
               p.scale[slot * p.scales + e / VUG_KV_Q8_BLOCK];
}

/* Elements e .. e + 3, e a multiple of 4. */
template <int format>
static __device__ __forceinline__ void kv_quad(const kv_part &p, int slot, int e, float *x)
{
    const int i = slot * p.stride + e;
    if constexpr (format == VUG_KV_F32) {
        const float4 v = *(const float4 *)((const float *)p.element + i);
        x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
    } else if constexpr (format == VUG_KV_Q8) {
        const uint32_t codes = *(const uint32_t *)(p.element + i);
        const float scale = p.scale[slot * p.scales + e / VUG_KV_Q8_BLOCK];
        for (int j = 0; j < KV_QUAD; j++)
            x[j] = (float)(int8_t)(codes >> 8 * j & 255) * scale;
    } else {
        const uint2 v = *(const uint2 *)((const uint16_t *)p.element + i);
        const uint32_t bits[KV_QUAD] = { v.x & 0xffff, v.x >> 16, v.y & 0xffff, v.y >> 16 };
        for (int j = 0; j < KV_QUAD; j++)
            x[j] = format == VUG_KV_F16 ? kv_f16(bits[j]) : kv_bf16(bits[j]);
    }
}

static __device__ __forceinline__ uint16_t bf16_bits(float x)
{
    uint32_t u = __float_as_uint(x);
    if ((u & 0x7fffffff) > 0x7f800000)
        u |= 0x400000; /* a NaN stays one */
    else
        u += 0x7fff + ((u >> 16) & 1);
    return (uint16_t)(u >> 16);
}

/* Stores element e of a position; a warp stores the 32 of a block together. Elements from `width`
 * on, which x has as 0, only pad the position. */
template <int format>
static __device__ __forceinline__ void kv_store(const kv_part &p, int slot, int e, float x)
{
    const int i = slot * p.stride + e;
    const bool inside = e < p.stride;
    if constexpr (format == VUG_KV_Q8) {
        const float most = warp_max(fabsf(x));
        const float near = rintf(x * (most > 0 ? 127 / most : 0));
        const float code = isnan(near) ? 0 : fminf(fmaxf(near, -127.0f), 127.0f);
        if (inside)
            ((int8_t *)p.element)[i] = (int8_t)code;
        if (threadIdx.x % WARP == 0)
            p.scale[slot * p.scales + e / VUG_KV_Q8_BLOCK] = most / 127;
    } else if (inside && format == VUG_KV_F32) {
        ((float *)p.element)[i] = x;
    } else if (inside && format == VUG_KV_F16) {
        ((uint16_t *)p.element)[i] = __half_as_ushort(__float2half_rn(x));
    } else if (inside) {
        ((uint16_t *)p.element)[i] = bf16_bits(x);
    }
}

#endif
