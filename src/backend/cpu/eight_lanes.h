#ifndef VUG_BACKEND_CPU_EIGHT_LANES_H
#define VUG_BACKEND_CPU_EIGHT_LANES_H

/*
 * Float weights in streams, for instruction sets that hold the 8 lanes of one output's sum together. A
 * file that includes this header defines before
 *
 *     EIGHT_LANES                     the type of eight floats
 *     LANES_TILE_ROWS                 rows of x whose sums stay in registers, with four rows of weights
 *     zero_lanes(), load_lanes(p), store_lanes(p, x)
 *     scale_lanes(x, by)              x * by
 *     multiply_add_lanes(w, x, sum)   w * x + sum, fused
 *     add_lanes(block, sums, y)       adds the lanes of four sums to y [4]
 *     load_widened(dtype, w)          eight neighbouring weights, of any alignment
 *     widen_half(bits)                the value of an F16
 */

#include <math.h>
#include <string.h>

#include "backend/cpu/streams.h"

INLINE float element(vug_dtype dtype, const uint8_t *row, int64_t i)
{
    uint32_t bits;
    uint16_t half;
    float x;
    if (dtype == VUG_DTYPE_F32) {
        memcpy(&x, row + 4 * i, sizeof(x));
        return x;
    }
    memcpy(&half, row + 2 * i, sizeof(half));
    if (dtype == VUG_DTYPE_F16)
        return widen_half(half);
    bits = (uint32_t)half << 16;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

INLINE void decode_float(vug_dtype dtype, const uint8_t *src, float by, float *dst, int64_t n)
{
    int64_t i = 0;
    for (; i + VUG_CPU_LANES <= n; i += VUG_CPU_LANES)
        store_lanes(dst + i, scale_lanes(load_widened(dtype, src + i * bytes_of(dtype)), by));
    for (; i < n; i++)
        dst[i] = element(dtype, src, i) * by;
}

/* The lanes of four rows of weights, for each row of x. */
typedef struct {
    EIGHT_LANES at[LANES_TILE_ROWS][STREAMS];
} stream_sums;

INLINE void add_eight(vug_dtype dtype, const stream_block *b, const int rows, int64_t i,
                      stream_sums *s)
{
    const uint8_t *w = b->g->w + i * bytes_of(dtype);
    EIGHT_LANES x[LANES_TILE_ROWS];
#pragma GCC unroll 3
    for (int r = 0; r < rows; r++)
        x[r] = load_lanes(b->x[r] + i);
#pragma GCC unroll 4
    for (int o = 0; o < STREAMS; o++) {
        const EIGHT_LANES weights = load_widened(dtype, w + o * b->g->stride);
#pragma GCC unroll 3
        for (int r = 0; r < rows; r++)
            s->at[r][o] = multiply_add_lanes(weights, x[r], s->at[r][o]);
    }
}

/* Adds the elements from `i` on, fewer than 8, one to a lane. */
INLINE void add_rest(vug_dtype dtype, const stream_block *b, const int rows, int64_t i,
                     stream_sums *s)
{
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++) {
            const uint8_t *w = b->g->w + o * b->g->stride;
            float lane[VUG_CPU_LANES];
            store_lanes(lane, s->at[r][o]);
            for (int64_t j = 0; i + j < b->end; j++)
                lane[j] = fmaf(b->x[r][i + j], element(dtype, w, i + j), lane[j]);
            s->at[r][o] = load_lanes(lane);
        }
    }
}

/* Multiplies a block of four rows of weights with `rows` rows of x and adds the sums to y. */
INLINE void multiply_block(const int rows, vug_dtype dtype, const stream_block *b, float *y)
{
    const int64_t line = LINE / bytes_of(dtype);
    stream_sums s;
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++)
            s.at[r][o] = zero_lanes();
    }
    int64_t i = b->first;
    for (; i + line <= b->end; i += line) {
        prefetch_streams(dtype, b, i);
        for (int64_t j = 0; j < line; j += VUG_CPU_LANES)
            add_eight(dtype, b, rows, i + j, &s);
    }
    for (; i + VUG_CPU_LANES <= b->end; i += VUG_CPU_LANES)
        add_eight(dtype, b, rows, i, &s);
    if (i < b->end)
        add_rest(dtype, b, rows, i, &s);
    for (int r = 0; r < rows; r++)
        add_lanes(b, s.at[r], y + (ptrdiff_t)r * STREAMS);
}

INLINE void multiply_rows(vug_dtype dtype, const stream_block *b, int rows, float *y)
{
    WITH_CONSTANT_ROWS(LANES_TILE_ROWS, rows, multiply_block, dtype, b, y);
}

#endif
