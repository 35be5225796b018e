#ifndef VUG_BACKEND_CPU_STREAMS_H
#define VUG_BACKEND_CPU_STREAMS_H

/*
 * What the kernels for float weights in streams share, for all instruction sets: cutting a product
 * into blocks of the sum and tiles of rows of x. Every function here is inlined, so that the format
 * is a constant.
 */
#include "backend/cpu/inline.h"
#include "backend/cpu/kernels.h"

enum {
    STREAMS = VUG_CPU_STREAMS,
    LINE = 64, /* bytes of a cache line */
    /* Bytes that are prefetched ahead in each stream. With one tile of rows of x, weights come from
     * memory: with BF16 and one row 256 was slower by a fifth, 4096 by a tenth. */
    AHEAD_OF_ONE_TILE = 2048,
    AHEAD_OF_SEVERAL_TILES = 256,
};

INLINE int bytes_of(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 ? 4 : 2;
}

/* Elements first .. end - 1 of a block of the sum, for x[0] .. x[rows-1]. */
typedef struct {
    const vug_cpu_gemm *g;
    const float *const *x;
    int64_t first, end;
    int64_t ahead; /* bytes that are prefetched ahead */
} stream_block;

/* Multiplies a block of four rows of weights with `rows` rows of x, 1 to those of a tile, and adds
 * the sums to y [rows,4]. */
typedef void multiply_rows_fn(vug_dtype dtype, const stream_block *b, int rows, float *y);

/* Prefetches what follows element `i` of each stream. */
INLINE void prefetch_streams(vug_dtype dtype, const stream_block *b, int64_t i)
{
    const uint8_t *ahead = b->g->w + i * bytes_of(dtype) + b->ahead;
    for (int o = 0; o < STREAMS; o++)
        __builtin_prefetch(ahead + o * b->g->stride);
}

/* Rows of x are divided evenly among tiles of at most `tile_rows`: two tiles of 2 rows keep the
 * multipliers busier than 3 and 1. With several tiles, the last one prefetches the whole next
 * block, which the others would otherwise wait for. */
INLINE void gemm_streams(vug_dtype dtype, const vug_cpu_gemm *g, int tile_rows,
                         multiply_rows_fn *multiply)
{
    const int64_t kc = vug_cpu_kc(g->k);
    const int tiles = (g->rows + tile_rows - 1) / tile_rows;
    for (int64_t k = 0; k < g->k; k += kc) {
        for (int t = 0; t < tiles; t++) {
            const int first = g->rows * t / tiles, rows = g->rows * (t + 1) / tiles - first;
            const int64_t end = k + kc < g->k ? k + kc : g->k;
            const int64_t block = (end - k) * bytes_of(dtype);
            const int64_t ahead = tiles == 1       ? AHEAD_OF_ONE_TILE
                                  : t == tiles - 1 ? block
                                                   : AHEAD_OF_SEVERAL_TILES;
            const stream_block b = { g, g->x + first, k, end, ahead };
            multiply(dtype, &b, rows, g->y + (int64_t)first * STREAMS);
        }
    }
}

#endif
