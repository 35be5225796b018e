#ifndef VUG_BACKEND_CUDA_WEIGHT_TILES_H
#define VUG_BACKEND_CUDA_WEIGHT_TILES_H

/*
 * How matrices of BF16 lie on the device, and the order of the sums of products with matrices in
 * tiles. Those of other formats (block_tiles.h) have tiles of the same shape.
 *
 * A matrix [rows,columns] is padded with zeros to multiples of 64 rows and 64 columns and cut into
 * tiles of 16 x 16. Tile (i,j), rows 16 i .. 16 i + 15 and columns 16 j .. 16 j + 15, lies at byte
 * (i * tiles of a row + j) * 512. It has 16 bytes for each of the 32 lanes of a warp: the registers
 * in which mma.m16n8k16 and wgmma.m64nNk16 take their first operand. Lane 4 g + t has the pairs
 * (row, column .. column + 1)
 *
 *     (g, 2 t)   (g + 8, 2 t)   (g, 2 t + 8)   (g + 8, 2 t + 8)
 *
 * A product y[r,o] = sum of x[r,i] w[o,i] takes x as one or two terms in BF16: h = bf16(x) and, if
 * there are two, l = bf16(x - h), which together have 16 significant bits. The columns are cut into
 * 8 slices of whole 64s. A slice of a term is one chain of k16 steps of the tensor core in ascending
 * order, with one F32 accumulator that begins at +0; the slice s is that of h plus that of l, and an
 * empty one is +0. y is ((s0 + s1) + s2) + .. + s7 in F32.
 *
 * Weights in codes, w = scale * code + offset, are rounded to BF16 if x has one term. If it has
 * two, a slice is a chain over its blocks of columns with one scale, which begins at +0:
 *
 *     s = fma(scale, p, s)
 *     s = fma(offset, sum of x over the block, s)           if the format has offsets
 *
 * where p is the chain of the block's k16 steps from +0 with the codes, each step with h, then with
 * l; y is the sum of the slices. So scales are applied once for both terms. With integer codes
 * (vug_cuda_takes_integers) x is rounded to integers n first, and h and l are 256 high and low times
 * its scale, where n = 256 high + low (row_integers.h). With codes of up to 6 bits all sums of p's
 * chain are multiples of the scale, and below 2^24 of them, so that p has no error, and integer
 * products have its bits. With codes of 8 bits (vug_cuda_scales_each_term) that holds for the chains
 * with h and with l by themselves, p(h) and p(l), of which each is scaled, in two passes:
 *
 *     s = fma(scale, p(h), s)
 *     s = fma(scale, p(l), s)
 *
 * The sum of x over 32 columns, which is not rounded so, adds four elements as (x0 + x1) + (x2 +
 * x3), then the eight results pairwise. Every kernel, for any number of rows, gives the bits of this
 * order.
 */

#include <stdint.h>

#include "ir/dtype.h"

#ifdef __CUDACC__
#define HOST_AND_DEVICE          __host__ __device__
#define HOST_AND_DEVICE_CONSTANT __host__ __device__ constexpr
#else
#define HOST_AND_DEVICE
#define HOST_AND_DEVICE_CONSTANT
#endif

enum {
    VUG_CUDA_TILE = 16,        /* rows and columns of a tile */
    VUG_CUDA_TILE_BYTES = 512, /* of a tile of BF16 */
    VUG_CUDA_TILE_PAD = 64,    /* rows and columns are padded to multiples of this */
    VUG_CUDA_SLICES = 8,
    VUG_CUDA_SUM_COLUMNS = 32, /* of a block with an offset */
};

/* The formats of tiles of codes. */
#define BLOCK_TILE_FORMATS(X) \
    X(Q4_0)                   \
    X(Q8_0)                   \
    X(Q4_K)                   \
    X(Q6_K)                   \
    X(E4M3)                   \
    X(MXFP4)                  \
    X(MLX4)                   \
    X(MLX8)

/* The format in which weights lie on the device: tiles that hold the same codes and scales, to the
 * bit, or the format itself. */
static inline HOST_AND_DEVICE_CONSTANT vug_dtype vug_cuda_tile_format(vug_dtype dtype)
{
    switch (dtype) {
    case VUG_DTYPE_Q5_0:
    case VUG_DTYPE_IQ4_NL:
        return VUG_DTYPE_Q8_0;
    case VUG_DTYPE_Q3_K:
        return VUG_DTYPE_Q6_K;
    case VUG_DTYPE_MLX_FP4:
        return VUG_DTYPE_MXFP4;
    case VUG_DTYPE_Q4_1:
    case VUG_DTYPE_MLX2:
    case VUG_DTYPE_MLX3:
        return VUG_DTYPE_MLX4;
    case VUG_DTYPE_Q5_1:
    case VUG_DTYPE_Q5_K:
    case VUG_DTYPE_MLX5:
    case VUG_DTYPE_MLX6:
        return VUG_DTYPE_MLX8;
    default:
        return dtype;
    }
}

/* Bytes of 16 rows and 64 columns of such a format; 0: it has no tiles. */
static inline HOST_AND_DEVICE_CONSTANT int vug_cuda_block_unit_bytes(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_Q4_0    ? 512 + 64
           : dtype == VUG_DTYPE_Q8_0  ? 1024 + 64
           : dtype == VUG_DTYPE_Q4_K  ? 512 + 128
           : dtype == VUG_DTYPE_Q6_K  ? 768 + 128
           : dtype == VUG_DTYPE_E4M3  ? 1024 + 128
           : dtype == VUG_DTYPE_MXFP4 ? 512 + 128
           : dtype == VUG_DTYPE_MLX4  ? 512 + 256
           : dtype == VUG_DTYPE_MLX8  ? 1024 + 256
                                      : 0;
}

/* Bytes of 16 rows and 64 columns in tiles, of BF16 or of such a format; 0: no tiles. */
static inline HOST_AND_DEVICE int64_t vug_cuda_unit_bytes(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_BF16 ? VUG_CUDA_TILE_PAD / VUG_CUDA_TILE * VUG_CUDA_TILE_BYTES
                                   : vug_cuda_block_unit_bytes(dtype);
}

/* A number of rows or columns with its padding. */
static inline HOST_AND_DEVICE int64_t vug_cuda_padded(int64_t n)
{
    return (n + VUG_CUDA_TILE_PAD - 1) / VUG_CUDA_TILE_PAD * VUG_CUDA_TILE_PAD;
}

/* Whether products with weights of a format read sums of x. */
static inline HOST_AND_DEVICE_CONSTANT bool vug_cuda_needs_sums(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_Q4_K || dtype == VUG_DTYPE_MLX4 || dtype == VUG_DTYPE_MLX8;
}

/* Whether codes are integers of 8 bits, so that the sum over a block is exact for each term of x, and not
 * for both together. */
static inline HOST_AND_DEVICE_CONSTANT bool vug_cuda_scales_each_term(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_Q8_0 || dtype == VUG_DTYPE_MLX8;
}

/* Whether products with two terms of x and codes of a format take x as integers (row_integers.h), so
 * that the sum p of a block is exact: codes up to 15 in blocks of 32 columns, up to 32 in blocks of
 * 16. With codes of 8 bits the sum with each term is. */
static inline HOST_AND_DEVICE_CONSTANT bool vug_cuda_takes_integers(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_Q4_0 || dtype == VUG_DTYPE_Q4_K || dtype == VUG_DTYPE_Q6_K ||
           dtype == VUG_DTYPE_MLX4 || vug_cuda_scales_each_term(dtype);
}

/* The first column of slice `s` of a matrix with that many padded columns; of slice
 * VUG_CUDA_SLICES: the end of the last one. */
static inline HOST_AND_DEVICE int64_t vug_cuda_slice_begin(int64_t padded_columns, int s)
{
    return padded_columns / VUG_CUDA_TILE_PAD * s / VUG_CUDA_SLICES * VUG_CUDA_TILE_PAD;
}

#endif
