#ifndef VUG_BACKEND_CUDA_BATCH_MATH_H
#define VUG_BACKEND_CUDA_BATCH_MATH_H

/* What the kernels for 9 to 64 rows share, which multiply strips of 16 outputs by wgmma. */

#include "backend/cuda/block_stores.h"
#include "backend/cuda/hopper.h"
#include "backend/cuda/row_math.h"

enum {
    TILE = VUG_CUDA_TILE,
    STEPS = VUG_CUDA_TILE_PAD / TILE,
    STRIP_BYTES = STEPS * VUG_CUDA_TILE_BYTES, /* 16 outputs and 64 columns */
    ROWS = VUG_CUDA_BATCH_ROWS,
    SUMS = ROWS / 2, /* of a lane and a term */
    TERM_BYTES = ROWS * VUG_CUDA_BLOCK_ROW_BYTES,
    RING_ALIGN = 1024,
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* A warpgroup begins to add a block of 64 columns, whose strip and terms of x lie at these addresses
 * in shared memory. When the products have begun, the strip has been read. */
template <int terms>
static __device__ __forceinline__ void begin_block(uint32_t strip, uint32_t x, uint4 (&a)[STEPS],
                                                   float (&sum)[terms][SUMS])
{
    const uint64_t tile = swizzled_tile(same_in_warp(x));
#pragma unroll
    for (int j = 0; j < STEPS; j++)
        a[j] = load_shared_words4(strip + (j * WARP + threadIdx.x % WARP) * 16);
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
#pragma unroll
        for (int term = 0; term < terms; term++)
            wgmma_add<ROWS>(sum[term], a[j], tile_after(tile, term * TERM_BYTES + j * 32));
    }
    wgmma_commit();
}
#endif

#endif
