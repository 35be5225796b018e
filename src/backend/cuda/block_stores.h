#ifndef VUG_BACKEND_CUDA_BLOCK_STORES_H
#define VUG_BACKEND_CUDA_BLOCK_STORES_H

/* Storing elements as terms in blocks (activation_blocks.h), by a kernel that computes them. */

#include "backend/cuda/activation_blocks.h"
#include "backend/cuda/device_code.h"

/* Pairs of neighbouring columns, which are stored at once. */
template <int n> struct alignas(4 * n) bf16_pairs {
    uint32_t v[n];
};

/* Stores n neighbouring columns, rounded; v becomes what is left of them. n is 1, 2, 4 or 8. */
template <int n> static __device__ __forceinline__ void store_rounded(uint8_t *to, float (&v)[n])
{
    bf16_pairs<(n + 1) / 2> of;
#pragma unroll
    for (int i = 0; i < n; i += 2) {
        const uint32_t pair = bf16_pair(v[i], i + 1 < n ? v[i + 1] : 0);
        v[i] -= __uint_as_float(pair << 16);
        if (i + 1 < n)
            v[i + 1] -= __uint_as_float(pair & 0xffff0000u);
        of.v[i / 2] = pair;
    }
    if constexpr (n == 1)
        *(uint16_t *)to = (uint16_t)of.v[0];
    else
        *(bf16_pairs<n / 2> *)to = of;
}

/* Stores the terms of n neighbouring columns of a row, the first one at `to`, the second term_bytes on. */
template <int terms, int n>
static __device__ __forceinline__ void store_terms_at(uint8_t *to, int64_t term_bytes,
                                                      float (&v)[n])
{
#pragma unroll
    for (int term = 0; term < terms; term++)
        store_rounded(to + term * term_bytes, v);
}

/* The same in blocks of which a term has term_bytes, from `column` on, a multiple of n. */
template <int terms, int n>
static __device__ __forceinline__ void store_terms(uint8_t *blocks, int64_t term_bytes,
                                                   uint32_t row, uint32_t column, float (&v)[n])
{
    store_terms_at<terms>(blocks + vug_cuda_block_offset(term_bytes, terms, row, column),
                          term_bytes, v);
}

#endif
