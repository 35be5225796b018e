#ifndef VUG_BACKEND_CPU_ARM_NEON_PAIRS_H
#define VUG_BACKEND_CPU_ARM_NEON_PAIRS_H

/*
 * Products of BF16 pairs for NEON (kernels.h). A file that includes this defines its steps before:
 *
 *     float32x4_t add_odd(uint32x4_t x, uint32x4_t w, float32x4_t sum)
 *     float32x4_t add_even(uint32x4_t x, uint32x4_t w, float32x4_t sum)
 *
 * add the product of the odd and of the even elements of four pairs, fused.
 *
 * FPCR.FZ makes small operands and results zeros, but a result is small there if it is so before
 * rounding, while the definition looks after it: a result that rounds up to 2^-126 stays. FPSR.UFC
 * tells that a result was small. Then, which is rare, the sums are computed again in exact steps.
 * Functions that sum are not inlined, because they must not be merged with code for which FPCR is another.
 */
#include "backend/cpu/arm/neon_vectors.h"

enum {
    TILE_ROWS = 4,
    STREAM_ROWS = 2,
    PAIR_BYTES = 4,
    LINE_PAIRS = LINE / PAIR_BYTES,
    VECTORS = PANEL / FOUR,
};

/* ---- the control and status registers --------------------------------------- */

enum { FLUSH_TO_ZERO = 1 << 24, UNDERFLOWN = 1 << 3 };

INLINE uint64_t begin_flushing(void)
{
    uint64_t control, status;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status));
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
                     :
                     : "r"(control | FLUSH_TO_ZERO), "r"(status & ~(uint64_t)UNDERFLOWN)
                     : "memory");
    return control;
}

/* Returns whether a result was small. */
INLINE bool end_flushing(uint64_t control)
{
    uint64_t status;
    __asm__ volatile("mrs %0, fpsr\n\tmsr fpcr, %1" : "=&r"(status) : "r"(control) : "memory");
    return (status & UNDERFLOWN) != 0;
}

/* ---- steps -------------------------------------------------------------------- */

/*
 * sum = fma(x, w, sum), where a result counts as small after rounding. Where the result of a step
 * that flushes is at most 2^-126, the sum is computed again, scaled by 2^100. It is small there, so a
 * factor that scaling could overflow belongs to one that is a zero.
 */
INLINE float32x4_t add_exactly(float32x4_t x, float32x4_t w, float32x4_t sum)
{
    const float32x4_t near = vfmaq_f32(sum, x, w), zero = vdupq_n_f32(0);
    const uint32x4_t is_product = vmvnq_u32(vorrq_u32(vceqq_f32(x, zero), vceqq_f32(w, zero)));
    const uint32x4_t again = vandq_u32(is_product, vcaleq_f32(near, vdupq_n_f32(0x1p-126f)));
    const float32x4_t scaled =
            vfmaq_f32(vmulq_n_f32(sum, 0x1p100f), vmulq_n_f32(x, 0x1p60f), vmulq_n_f32(w, 0x1p40f));
    const uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(scaled), vdupq_n_u32(0x80000000));
    const float32x4_t flushed =
            vbslq_f32(vcaltq_f32(scaled, vdupq_n_f32(0x1p-26f)), vreinterpretq_f32_u32(sign),
                      vmulq_n_f32(scaled, 0x1p-100f));
    return vbslq_f32(again, flushed, near);
}

INLINE float32x4_t odd_elements(uint32x4_t pairs)
{
    return vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xffff0000)));
}

INLINE float32x4_t even_elements(uint32x4_t pairs)
{
    return vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16));
}

INLINE float32x4_t add_pairs(const bool exact, uint32x4_t x, uint32x4_t w, float32x4_t sum)
{
    if (!exact)
        return add_even(x, w, add_odd(x, w, sum));
    sum = add_exactly(odd_elements(x), odd_elements(w), sum);
    return add_exactly(even_elements(x), even_elements(w), sum);
}

INLINE uint32x4_t load_pairs(const void *from)
{
    return vreinterpretq_u32_u8(vld1q_u8(from));
}

/* ---- tiles ---------------------------------------------------------------- */

INLINE void sum_tile(const int rows, const bool exact, const vug_cpu_tile *t, float *sums)
{
    const float *b = t->b;
    float32x4_t s[TILE_ROWS][VECTORS];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < VECTORS; v++)
            s[r][v] = vdupq_n_f32(0);
    }
    for (int64_t i = 0; i < t->k; i++, b += t->ldb) {
        uint32x4_t w[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            w[v] = load_pairs(b + (ptrdiff_t)v * FOUR);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const uint32x4_t x = vreinterpretq_u32_f32(vld1q_dup_f32(t->a + r * t->lda + i));
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                s[r][v] = add_pairs(exact, x, w[v], s[r][v]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < VECTORS; v++)
            vst1q_f32(sums + (ptrdiff_t)r * PANEL + (ptrdiff_t)v * FOUR, s[r][v]);
    }
}

/* sums [rows][PANEL] */
NOINLINE void tile_sums(int rows, const vug_cpu_tile *t, float *sums)
{
    WITH_CONSTANT_ROWS(TILE_ROWS, rows, sum_tile, false, t, sums);
}

NOINLINE void exact_tile_sums(int rows, const vug_cpu_tile *t, float *sums)
{
    for (int64_t r = 0; r < rows; r++) {
        vug_cpu_tile row = *t;
        row.a += r * t->lda;
        sum_tile(1, true, &row, sums + r * PANEL);
    }
}

static void tile_pairs(int rows, const vug_cpu_tile *t)
{
    float sums[TILE_ROWS][PANEL];
    const uint64_t control = begin_flushing();
    tile_sums(rows, t, sums[0]);
    if (end_flushing(control)) {
        (void)begin_flushing();
        exact_tile_sums(rows, t, sums[0]);
        (void)end_flushing(control);
    }
    for (int64_t r = 0; r < rows; r++) {
        float *c = t->c + r * t->ldc;
        for (int i = 0; i < PANEL; i++)
            c[i] = t->accumulate ? c[i] + sums[r][i] : sums[r][i];
    }
}

/* ---- streams -------------------------------------------------------------- */

typedef struct {
    eight_lanes at[STREAM_ROWS][STREAMS];
} neon_pair_sums;

/* Adds pairs i .. i + 7; `x` and `w` say where those of each row begin. */
INLINE void add_eight(const bool exact, const int rows, const float *const *x,
                      const uint8_t *const *w, neon_pair_sums *s)
{
#pragma GCC unroll 4
    for (int o = 0; o < STREAMS; o++) {
        const uint32x4_t low = load_pairs(w[o]), high = load_pairs(w[o] + 16);
#pragma GCC unroll 2
        for (int r = 0; r < rows; r++) {
            eight_lanes *sum = &s->at[r][o];
            sum->low = add_pairs(exact, load_pairs(x[r]), low, sum->low);
            sum->high = add_pairs(exact, load_pairs(x[r] + FOUR), high, sum->high);
        }
    }
}

/* Adds pairs i .. i + n - 1, fewer than 8. Sums of other lanes stay: adding a product of zeros would
 * make -0 a +0. */
INLINE void add_rest(const bool exact, const int rows, const stream_block *b, int64_t i,
                     neon_pair_sums *s)
{
    const neon_pair_sums before = *s;
    const size_t bytes = (size_t)(b->end - i) * PAIR_BYTES;
    float x[STREAM_ROWS][LANES] = { 0 }, w[STREAMS][LANES] = { 0 };
    const float *from_x[STREAM_ROWS];
    const uint8_t *from_w[STREAMS];
    for (int r = 0; r < rows; r++) {
        memcpy(x[r], b->x[r] + i, bytes);
        from_x[r] = x[r];
    }
    for (int o = 0; o < STREAMS; o++) {
        memcpy(w[o], b->g->w + o * b->g->stride + i * PAIR_BYTES, bytes);
        from_w[o] = (const uint8_t *)w[o];
    }
    add_eight(exact, rows, from_x, from_w, s);
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++) {
            float lane[LANES], after[LANES];
            store_lanes(lane, before.at[r][o]);
            store_lanes(after, s->at[r][o]);
            memcpy(lane, after, bytes);
            s->at[r][o] = load_lanes(lane);
        }
    }
}

INLINE void sum_block(const int rows, const bool exact, const stream_block *b, neon_pair_sums *sums)
{
    neon_pair_sums s;
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++)
            s.at[r][o] = zero_lanes();
    }
    int64_t i = b->first;
    for (; i + LANES <= b->end; i += LANES) {
        const float *x[STREAM_ROWS];
        const uint8_t *w[STREAMS];
        if ((i - b->first) % LINE_PAIRS == 0)
            prefetch_streams(VUG_DTYPE_F32, b, i);
        for (int r = 0; r < rows; r++)
            x[r] = b->x[r] + i;
        for (int o = 0; o < STREAMS; o++)
            w[o] = b->g->w + o * b->g->stride + i * PAIR_BYTES;
        add_eight(exact, rows, x, w, &s);
    }
    if (i < b->end)
        add_rest(exact, rows, b, i, &s);
    *sums = s;
}

NOINLINE void block_sums(int rows, const stream_block *b, neon_pair_sums *sums)
{
    WITH_CONSTANT_ROWS(STREAM_ROWS, rows, sum_block, false, b, sums);
}

NOINLINE void exact_block_sums(int rows, const stream_block *b, neon_pair_sums *sums)
{
    WITH_CONSTANT_ROWS(STREAM_ROWS, rows, sum_block, true, b, sums);
}

/* Adds the products of a block of the sum to y [rows,4]. A pair is as large as a float, and is
 * moved like one. */
INLINE void multiply_rows(vug_dtype dtype, const stream_block *b, int rows, float *y)
{
    neon_pair_sums sums;
    (void)dtype;
    const uint64_t control = begin_flushing();
    block_sums(rows, b, &sums);
    if (end_flushing(control)) {
        (void)begin_flushing();
        exact_block_sums(rows, b, &sums);
        (void)end_flushing(control);
    }
    for (ptrdiff_t r = 0; r < rows; r++)
        add_lanes(b, sums.at[r], y + r * STREAMS);
}

static void gemm_pairs(const vug_cpu_gemm *g)
{
    gemm_streams(VUG_DTYPE_F32, g, STREAM_ROWS, multiply_rows);
}

static void pack_pairs(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel)
{
    vug_neon_f32.pack(w, stride, rows, k, panel);
}

/* Initializes vug_cpu_pair_kernels. */
#define PAIR_KERNELS                                                                        \
    {                                                                                       \
        .round = vug_neon_round_bf16, .format = { .pack = pack_pairs, .gemm = gemm_pairs }, \
        .tile_rows = TILE_ROWS, .tile_panels = 1, .tile = tile_pairs,                       \
    }

#endif
