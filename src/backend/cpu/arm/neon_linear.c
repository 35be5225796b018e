/*
 * Matrix kernels for NEON.
 *
 * Streams: two vectors hold the 8 lanes of one output's sum, and weights are read in memory order.
 * Panels: a vector holds 4 outputs; packing transposes the weights.
 */
#if defined(__aarch64__)
#include "backend/cpu/arm/neon_vectors.h"

#define EIGHT_LANES eight_lanes
enum { LANES_TILE_ROWS = 2 }; /* 16 sums stay in registers */

INLINE eight_lanes scale_lanes(eight_lanes x, float by)
{
    return (eight_lanes){ vmulq_n_f32(x.low, by), vmulq_n_f32(x.high, by) };
}

INLINE eight_lanes multiply_add_lanes(eight_lanes w, eight_lanes x, eight_lanes sum)
{
    return (eight_lanes){ vfmaq_f32(sum.low, w.low, x.low), vfmaq_f32(sum.high, w.high, x.high) };
}

INLINE float widen_half(uint16_t bits)
{
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0);
}

#include "backend/cpu/eight_lanes.h"

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
        gemm_streams(VUG_DTYPE_##id, g, LANES_TILE_ROWS, multiply_rows);                       \
    }                                                                                          \
    const vug_cpu_format vug_neon_##to = { decode_##to, pack_##to, gemm_##to };

FORMAT(F32, f32)
FORMAT(F16, f16)
FORMAT(BF16, bf16)

#else
typedef int vug_neon_linear_is_empty; /* ISO C forbids an empty file */
#endif
