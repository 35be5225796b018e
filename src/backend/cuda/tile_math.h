#ifndef VUG_BACKEND_CUDA_TILE_MATH_H
#define VUG_BACKEND_CUDA_TILE_MATH_H

/* What the kernels for few rows share (weight_tiles.h has the order of their sums). */

#include "backend/cuda/block_tiles.h"
#include "backend/cuda/row_math.h"

enum {
    TILE = VUG_CUDA_TILE,
    SLICES = VUG_CUDA_SLICES,
    SLICE_THREADS = SLICES * WARP,
    UNIT = VUG_CUDA_TILE_PAD / TILE, /* tiles that are loaded together */
};

/* c [16,8] += a [16,16] b [16,8] */
static __device__ __forceinline__ void multiply_add(float (&c)[4], const uint4 &a, const uint2 &b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

/* Adds products with the codes of a block, times its scales, to sums of 16 outputs; the block
 * begins with tile `s` of the unit. */
template <typename W>
static __device__ __forceinline__ void add_block(float (&sum)[4], const float (&codes)[4],
                                                 const W &w, int s)
{
    const float first = w.scale_of_row(s, false).scale, second = w.scale_of_row(s, true).scale;
    sum[0] = fmaf(codes[0], first, sum[0]);
    sum[1] = fmaf(codes[1], first, sum[1]);
    sum[2] = fmaf(codes[2], second, sum[2]);
    sum[3] = fmaf(codes[3], second, sum[3]);
}

/* Adds the offsets of a block to these sums; `x` are the block's sums of x in two rows. */
template <typename W>
static __device__ __forceinline__ void add_offsets(float (&sum)[4], const W &w, int s,
                                                   const float2 &x)
{
    const float first = w.scale_of_row(s, false).offset, second = w.scale_of_row(s, true).offset;
    sum[0] = fmaf(first, x.x, sum[0]);
    sum[1] = fmaf(first, x.y, sum[1]);
    sum[2] = fmaf(second, x.x, sum[2]);
    sum[3] = fmaf(second, x.y, sum[3]);
}

static __host__ __device__ __forceinline__ int tiles_of(int64_t out)
{
    return (int)((out + TILE - 1) / TILE);
}

/* Tiles of outputs of a job; with an activation a tile of each of the two parts counts once. */
static __host__ __device__ __forceinline__ int tiles_of_job(const vug_cuda_tile_job &job)
{
    int tiles = tiles_of(job.part[0].out);
    for (int i = 1; i < job.parts && job.activation == VUG_OP_LINEAR; i++)
        tiles += tiles_of(job.part[i].out);
    return tiles;
}

/* Blocks of a multiprocessor, if lanes keep that many bytes of weights. */
static constexpr int blocks_of(int bytes)
{
    return bytes <= 136 ? 3 : bytes <= 320 ? 2 : 1;
}

#endif
