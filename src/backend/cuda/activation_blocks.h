#ifndef VUG_BACKEND_CUDA_ACTIVATION_BLOCKS_H
#define VUG_BACKEND_CUDA_ACTIVATION_BLOCKS_H

/*
 * Rows of activations in BF16, as tensor cores read them: blocks of 64 columns, in each block the
 * rows one after the other, 128 bytes each. The eight 16-byte chunks of a row are permuted with
 * its index (chunk c lies at place c ^ row % 8), which is the 128-byte swizzle of wgmma and keeps
 * ldmatrix free of bank conflicts. Any run of rows of a block is contiguous, so that a tile of
 * rows is one bulk copy. Columns past the width are zero. With two terms (weight_tiles.h) a block has
 * the first ones of all rows, then the second ones.
 */

#include "backend/cuda/weight_tiles.h"

enum {
    VUG_CUDA_BLOCK_ROW_BYTES = 2 * VUG_CUDA_TILE_PAD, /* of a row of a block */
    VUG_CUDA_BLOCK_MAX_ROWS = 192, /* the most rows that a kernel reads together */
    VUG_CUDA_BLOCK_FEW_ROWS = 32,  /* kernels for up to so many are compiled for 8, 16 and 32 */
};

static inline HOST_AND_DEVICE int64_t vug_cuda_blocks_of(int64_t width)
{
    return vug_cuda_padded(width) / VUG_CUDA_TILE_PAD;
}

/* The rows of a block, of which `rows` are used: a multiple of 8 and, of few rows, a power of two. */
static inline HOST_AND_DEVICE int64_t vug_cuda_block_rows(int64_t rows)
{
    enum { FEW = VUG_CUDA_BLOCK_FEW_ROWS };
    return rows > FEW / 2 && rows <= FEW ? FEW : (rows + 7) / 8 * 8;
}

/* Bytes of a term of a block. */
static inline HOST_AND_DEVICE int64_t vug_cuda_term_bytes(int64_t rows)
{
    return vug_cuda_block_rows(rows) * VUG_CUDA_BLOCK_ROW_BYTES;
}

/* The offset of the first term of an element in bytes; its second is term_bytes, those of vug_cuda_term_bytes,
 * on. */
static inline HOST_AND_DEVICE int64_t vug_cuda_block_offset(int64_t term_bytes, int terms,
                                                            uint32_t row, uint32_t column)
{
    const uint32_t block = column / VUG_CUDA_TILE_PAD, chunk = column / 8;
    return block * (terms * term_bytes) + (int64_t)row * VUG_CUDA_BLOCK_ROW_BYTES +
           (chunk ^ row) % 8 * 16 + column % 8 * 2;
}

/* Bytes of all blocks, and of what a kernel may read, and not use, past the last one. */
static inline HOST_AND_DEVICE int64_t vug_cuda_blocks_bytes(int64_t rows, int64_t width, int terms)
{
    return vug_cuda_blocks_of(width) * terms * vug_cuda_term_bytes(rows) +
           VUG_CUDA_BLOCK_MAX_ROWS * VUG_CUDA_BLOCK_ROW_BYTES;
}

/* Bytes of the sums of all rows over 32 columns (prefill.h), and of what is read past the last. */
static inline HOST_AND_DEVICE int64_t vug_cuda_x_sums_bytes(int64_t rows, int64_t width)
{
    return (vug_cuda_padded(width) / VUG_CUDA_SUM_COLUMNS * vug_cuda_block_rows(rows) +
            VUG_CUDA_BLOCK_MAX_ROWS) *
           (int64_t)sizeof(float);
}

#endif
