/*
 * Matrix kernels for NEON.
 *
 * Streams: two vectors hold the 8 lanes of one output's sum, and weights are read in memory order.
 * Panels: a vector holds 4 outputs; packing transposes the weights.
 */
#if defined(__aarch64__)
#include <math.h>

#include "backend/cpu/arm/neon_vectors.h"

enum { TILE_ROWS = 2 }; /* of x: with four rows of weights, 16 sums stay in registers */

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
        return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
    bits = (uint32_t)half << 16;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* ---- panels --------------------------------------------------------------- */

/* Where the 16 columns of element `i` of a panel of `k` lie. */
INLINE float *column(float *panel, int64_t k, int64_t i)
{
    return panel + (vug_cpu_lane_start(k, i % LANES) + i / LANES) * PANEL;
}

/* Elements i .. i + 7 of rows r .. r + 3. */
INLINE void pack_eight(vug_dtype dtype, const uint8_t *w, int64_t stride, float *const *to)
{
    eight_lanes row[STREAMS];
    float32x4_t columns[LANES];
    for (int r = 0; r < STREAMS; r++)
        row[r] = load_widened(dtype, w + r * stride);
    transpose_lanes(row, columns);
    for (int j = 0; j < LANES; j++)
        vst1q_f32(to[j], columns[j]);
}

INLINE void pack_float(vug_dtype dtype, const uint8_t *w, int64_t stride, int rows, int64_t k,
                       float *panel)
{
    int64_t i = 0;
    for (; rows == PANEL && i + LANES <= k; i += LANES) {
        for (int64_t r = 0; r < PANEL; r += STREAMS) {
            float *to[LANES];
            for (int64_t j = 0; j < LANES; j++)
                to[j] = column(panel, k, i + j) + r;
            pack_eight(dtype, w + r * stride + i * bytes_of(dtype), stride, to);
        }
    }
    /* Fewer than 16 rows, or the end of the rows. */
    for (; i < k; i++) {
        for (int r = 0; r < PANEL; r++)
            column(panel, k, i)[r] = r < rows ? element(dtype, w + r * stride, i) : 0;
    }
}

/* Prefetches to the L2 cache, because L1 holds the current lane. */
void vug_neon_prefetch(const uint8_t *w, int64_t stride, int rows, int64_t bytes)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < bytes; i += LINE)
            __builtin_prefetch(w + r * stride + i, 0, 2);
    }
}

/* ---- streams -------------------------------------------------------------- */

/* The lanes of four rows of weights, for each row of x. */
typedef struct {
    eight_lanes at[TILE_ROWS][STREAMS];
} neon_stream_sums;

INLINE void add_eight(vug_dtype dtype, const stream_block *b, const int rows, int64_t i,
                      neon_stream_sums *s)
{
    const uint8_t *w = b->g->w + i * bytes_of(dtype);
    eight_lanes x[TILE_ROWS];
    for (int r = 0; r < rows; r++)
        x[r] = load_lanes(b->x[r] + i);
#pragma GCC unroll 4
    for (int o = 0; o < STREAMS; o++) {
        const eight_lanes weights = load_widened(dtype, w + o * b->g->stride);
#pragma GCC unroll 2
        for (int r = 0; r < rows; r++) {
            eight_lanes *sum = &s->at[r][o];
            sum->low = vfmaq_f32(sum->low, weights.low, x[r].low);
            sum->high = vfmaq_f32(sum->high, weights.high, x[r].high);
        }
    }
}

/* Adds the elements from `i` on, fewer than 8, one to a lane. */
INLINE void add_rest(vug_dtype dtype, const stream_block *b, const int rows, int64_t i,
                     neon_stream_sums *s)
{
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++) {
            const uint8_t *w = b->g->w + o * b->g->stride;
            float lane[LANES];
            store_lanes(lane, s->at[r][o]);
            for (int64_t j = 0; i + j < b->end; j++)
                lane[j] = fmaf(b->x[r][i + j], element(dtype, w, i + j), lane[j]);
            s->at[r][o] = load_lanes(lane);
        }
    }
}

/* Multiplies a block of four rows of weights with `rows` rows of x and adds the sums to y. */
INLINE void multiply_block(vug_dtype dtype, const stream_block *b, const int rows, float *y)
{
    const int64_t line = LINE / bytes_of(dtype);
    neon_stream_sums s;
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++)
            s.at[r][o] = zero_lanes();
    }
    int64_t i = b->first;
    for (; i + line <= b->end; i += line) {
        prefetch_streams(dtype, b, i);
        for (int64_t j = 0; j < line; j += LANES)
            add_eight(dtype, b, rows, i + j, &s);
    }
    for (; i + LANES <= b->end; i += LANES)
        add_eight(dtype, b, rows, i, &s);
    if (i < b->end)
        add_rest(dtype, b, rows, i, &s);
    for (int r = 0; r < rows; r++)
        add_lanes(b, s.at[r], y + (ptrdiff_t)r * STREAMS);
}

/* The compiler knows the rows of a block. */
INLINE void multiply_rows(vug_dtype dtype, const stream_block *b, int rows, float *y)
{
    if (rows == 2)
        multiply_block(dtype, b, 2, y);
    else
        multiply_block(dtype, b, 1, y);
}

/* ---- formats -------------------------------------------------------------- */

INLINE void decode_float(vug_dtype dtype, const uint8_t *src, float by, float *dst, int64_t n)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const eight_lanes x = load_widened(dtype, src + i * bytes_of(dtype));
        store_lanes(dst + i, (eight_lanes){ vmulq_n_f32(x.low, by), vmulq_n_f32(x.high, by) });
    }
    for (; i < n; i++)
        dst[i] = element(dtype, src, i) * by;
}

#define FORMAT(id, to)                                                                         \
    static void decode_##to(const uint8_t *src, float by, float *dst, int64_t n)               \
    {                                                                                          \
        decode_float(VUG_DTYPE_##id, src, by, dst, n);                                         \
    }                                                                                          \
    static void pack_##to(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel) \
    {                                                                                          \
        pack_float(VUG_DTYPE_##id, w, stride, rows, k, panel);                                 \
    }                                                                                          \
    static void gemm_##to(const vug_cpu_gemm *g)                                               \
    {                                                                                          \
        gemm_streams(VUG_DTYPE_##id, g, TILE_ROWS, multiply_rows);                             \
    }                                                                                          \
    const vug_cpu_format vug_neon_##to = { decode_##to, pack_##to, gemm_##to };

FORMAT(F32, f32)
FORMAT(F16, f16)
FORMAT(BF16, bf16)

#else
typedef int vug_neon_linear_is_empty; /* ISO C forbids an empty file */
#endif
