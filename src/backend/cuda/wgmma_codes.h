#ifndef VUG_BACKEND_CUDA_WGMMA_CODES_H
#define VUG_BACKEND_CUDA_WGMMA_CODES_H

/* Products of codes by wgmma (block_tiles.h has their layout): what the kernels for a few and for many
 * rows share. */

#include "backend/cuda/block_tiles.h"
#include "backend/cuda/hopper.h"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* Begins the products of the tiles of a block, from tile `s` of a unit on, with `n` swizzled tiles of x: those of a
 * tile of the block with all of them, then those of the next. */
template <typename W, int columns, int n>
static __device__ __forceinline__ void begin_codes(float (&codes)[columns / 2],
                                                   const uint4 (&w)[W::block_tiles], int s,
                                                   const uint64_t (&x)[n])
{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < W::block_tiles; i++) {
#pragma unroll
        for (int j = 0; j < n; j++)
            wgmma_add<columns>(codes, w[i], tile_after(x[j], (s + i) * 32), i > 0 || j > 0);
    }
    wgmma_commit();
}

template <typename W>
static __device__ __forceinline__ void block_operands(const W &w, int s,
                                                      uint4 (&to)[W::block_tiles])
{
#pragma unroll
    for (int i = 0; i < W::block_tiles; i++)
        to[i] = w.operand(s + i);
}

/* Adds the products of a block with some tokens, times its scales, to sums, and after the last pass its
 * offsets times the sums of a lane's tokens, which lie from address x_sums on. */
template <typename W, int n>
static __device__ __forceinline__ void add_scaled(const float (&codes)[n], const W &w, int s,
                                                  bool is_last, uint32_t x_sums, float *sum)
{
    const block_scale by[2] = { w.scale_of_row(s, false), w.scale_of_row(s, true) };
#pragma unroll
    for (int i = 0; i < n; i++)
        sum[i] = fmaf(codes[i], by[i / 2 % 2].scale, sum[i]);
    if (W::needs_sums && is_last) {
#pragma unroll
        for (int i = 0; i < n; i += 4) {
            const float2 of = load_shared_floats2(x_sums + i * 2 * (int)sizeof(float));
            sum[i] = fmaf(by[0].offset, of.x, sum[i]);
            sum[i + 1] = fmaf(by[0].offset, of.y, sum[i + 1]);
            sum[i + 2] = fmaf(by[1].offset, of.x, sum[i + 2]);
            sum[i + 3] = fmaf(by[1].offset, of.y, sum[i + 3]);
        }
    }
}
#endif

#endif
