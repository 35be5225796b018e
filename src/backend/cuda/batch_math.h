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

static __host__ __device__ __forceinline__ int strips_of(int64_t out)
{
    return (int)((out + TILE - 1) / TILE);
}

/* The strips of a job, or of each part of an activation. */
static __host__ __device__ __forceinline__ int count_strips(const vug_cuda_tile_job &job,
                                                            bool pairs)
{
    int strips = strips_of(job.part[0].out);
    for (int i = 1; i < job.parts && !pairs; i++)
        strips += strips_of(job.part[i].out);
    return strips;
}

/* 16 outputs of a part. */
struct output_strip {
    int part, index;
    bool exists;
};

/* Strip `i` of all parts of a job, one after the other. */
static __device__ __forceinline__ output_strip strip_of_job(const vug_cuda_tile_job &job, int i,
                                                            bool exists)
{
    int part = 0;
    while (part + 1 < job.parts && i >= strips_of(job.part[part].out))
        i -= strips_of(job.part[part++].out);
    return { part, i, exists };
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* A warpgroup adds steps first .. first + n - 1 of a block of 64 columns, whose strip and terms of x
 * lie at these addresses in shared memory. When this returns, the strip has been read. */
template <int terms, int n>
static __device__ __forceinline__ void begin_steps(uint32_t strip, uint64_t tile, int first,
                                                   uint4 (&a)[n], float (&sum)[terms][SUMS])
{
#pragma unroll
    for (int j = 0; j < n; j++)
        a[j] = load_shared_words4(strip + ((first + j) * WARP + threadIdx.x % WARP) * 16);
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < n; j++) {
#pragma unroll
        for (int term = 0; term < terms; term++)
            wgmma_add<ROWS>(sum[term], a[j],
                            tile_after(tile, term * TERM_BYTES + (first + j) * 32));
    }
    wgmma_commit();
}

/* The same of a whole block. */
template <int terms>
static __device__ __forceinline__ void begin_block(uint32_t strip, uint32_t x, uint4 (&a)[STEPS],
                                                   float (&sum)[terms][SUMS])
{
    begin_steps<terms, STEPS>(strip, swizzled_tile(same_in_warp(x)), 0, a, sum);
}
#endif

#endif
