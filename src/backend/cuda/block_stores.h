#ifndef VUG_BACKEND_CUDA_BLOCK_STORES_H
#define VUG_BACKEND_CUDA_BLOCK_STORES_H

/* Storing elements as terms in blocks (activation_blocks.h), by a kernel that computes them. */

#include <cuda_bf16.h>

#include "backend/cuda/activation_blocks.h"

/* Stores the terms of n neighbouring columns of a row, from `column` on, in blocks for `rows` rows of
 * `width` columns. n is 1, 2, 4 or 8 and divides `column`. */
template <int terms, int n>
static __device__ __forceinline__ void store_terms(uint8_t *blocks, int64_t rows, int64_t width,
                                                   int64_t row, int64_t column, float (&v)[n])
{
    const int64_t term_bytes =
            vug_cuda_blocks_of(width) * vug_cuda_block_rows(rows) * VUG_CUDA_BLOCK_ROW_BYTES;
    uint8_t *to = blocks + vug_cuda_block_offset(rows, row, column);
#pragma unroll
    for (int term = 0; term < terms; term++, to += term_bytes) {
        if (n == 1)
            *(__nv_bfloat16 *)to = __float2bfloat16_rn(v[0]);
#pragma unroll
        for (int i = 0; i + 1 < n; i += 2)
            ((__nv_bfloat162 *)to)[i / 2] = __floats2bfloat162_rn(v[i], v[i + 1]);
#pragma unroll
        for (int i = 0; i < n; i++)
            v[i] -= __bfloat162float(__float2bfloat16_rn(v[i]));
    }
}

#endif
