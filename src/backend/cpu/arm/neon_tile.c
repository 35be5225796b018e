/*
 * Tiles for NEON: six rows of A by sixteen columns of B. B is floats, or keys or values in the format
 * of the KV cache, which are widened while they are read.
 */
#if defined(__aarch64__)
#include "backend/cpu/arm/neon_vectors.h"
#include "backend/cpu/tiles.h"

enum {
    ROWS = VUG_NEON_TILE_ROWS,
    VECTORS = PANEL / FOUR, /* of a row of B */
    GROUP = VUG_KV_Q8_BLOCK,
};

typedef struct {
    float32x4_t at[VECTORS];
} panel_row;

INLINE panel_row load_floats(const uint8_t *b)
{
    panel_row x;
    for (int v = 0; v < VECTORS; v++)
        x.at[v] = vreinterpretq_f32_u8(vld1q_u8(b + (ptrdiff_t)v * 16));
    return x;
}

/* Sixteen integers of 8 bits. */
INLINE panel_row load_codes(const uint8_t *b)
{
    const int8x16_t codes = vreinterpretq_s8_u8(vld1q_u8(b));
    const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_high_s8(codes);
    return (panel_row){
        { vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
          vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high)) }
    };
}

/* The sixteen columns of a row; 8-bit values are multiplied by `scale`. */
INLINE panel_row load_columns(tile_format as, const uint8_t *b, const panel_row *scale)
{
    if (as == FLOATS)
        return load_floats(b);
    if (as == F16 || as == BF16) {
        const vug_dtype dtype = as == F16 ? VUG_DTYPE_F16 : VUG_DTYPE_BF16;
        const eight_lanes x = load_widened(dtype, b), y = load_widened(dtype, b + 16);
        return (panel_row){ { x.low, x.high, y.low, y.high } };
    }
    panel_row x = load_codes(b);
    for (int v = 0; v < VECTORS; v++)
        x.at[v] = vmulq_f32(x.at[v], scale->at[v]);
    return x;
}

INLINE void write_row(const vug_cpu_tile *t, int64_t r, const panel_row *sum)
{
    float *c = t->c + r * t->ldc;
    for (int v = 0; v < VECTORS; v++, c += FOUR)
        vst1q_f32(c, t->accumulate ? vaddq_f32(vld1q_f32(c), sum->at[v]) : sum->at[v]);
}

/* 24 sums and four vectors of b stay in registers. `rows` and `as` are constants wherever this is
 * inlined, so the branches on them disappear. */
INLINE void tile_of(const int rows, const tile_format as, const vug_cpu_tile *t)
{
    const uint8_t *b = t->b;
    const float *scale = t->scale;
    panel_row s[ROWS], by = { { vdupq_n_f32(0) } };
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < VECTORS; v++)
            s[r].at[v] = vdupq_n_f32(0);
    }
    for (int64_t i = 0; i < t->k; i++) {
        if (as == Q8_KEYS && i % GROUP == 0) {
            by = load_floats(b);
            b += PANEL * sizeof(float);
        }
        if (as == Q8_VALUES)
            by.at[0] = by.at[1] = by.at[2] = by.at[3] = vdupq_n_f32(scale[i]);
        const panel_row columns = load_columns(as, b, &by);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const float a = t->a[r * t->lda + i];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                s[r].at[v] = vfmaq_n_f32(s[r].at[v], columns.at[v], a);
        }
        b += t->ldb * bytes_of_element(as);
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        write_row(t, r, &s[r]);
}

INLINE void tile_as(const tile_format as, int rows, const vug_cpu_tile *t)
{
    WITH_CONSTANT_ROWS(ROWS, rows, tile_of, as, t);
}

TILE_KERNELS(neon)

#else
typedef int vug_neon_tile_is_empty; /* ISO C forbids an empty file */
#endif
