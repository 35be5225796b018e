#ifndef VUG_BACKEND_CUDA_BLOCK_STORES_H
#define VUG_BACKEND_CUDA_BLOCK_STORES_H

/* Storing elements as terms in blocks (activation_blocks.h), by a kernel that computes them. */

#include "backend/cuda/activation_blocks.h"
#include "backend/cuda/device_code.h"

/* Neighbouring columns, which are stored at once. */
template <int n> struct alignas(2 * n) bf16_columns {
    uint16_t v[n];
};

/* Stores n neighbouring columns, rounded; v becomes what is left of them. n is 1, 2, 4 or 8. */
template <int n> static __device__ __forceinline__ void store_rounded(uint8_t *to, float (&v)[n])
{
    bf16_columns<n> of;
#pragma unroll
    for (int i = 0; i < n; i += 2) {
        const uint32_t pair = bf16_pair(v[i], i + 1 < n ? v[i + 1] : 0);
        v[i] -= __uint_as_float(pair << 16);
        of.v[i] = (uint16_t)pair;
        if (i + 1 == n)
            continue;
        v[i + 1] -= __uint_as_float(pair & 0xffff0000u);
        of.v[i + 1] = (uint16_t)(pair >> 16);
    }
    *(bf16_columns<n> *)to = of;
}

/* Stores the terms of n neighbouring columns of a row, from `column` on, a multiple of n, in blocks of which
 * a term has term_bytes. */
template <int terms, int n>
static __device__ __forceinline__ void store_terms(uint8_t *blocks, int64_t term_bytes,
                                                   uint32_t row, uint32_t column, float (&v)[n])
{
    uint8_t *to = blocks + vug_cuda_block_offset(term_bytes, terms, row, column);
#pragma unroll
    for (int term = 0; term < terms; term++)
        store_rounded(to + term * term_bytes, v);
}

#endif
