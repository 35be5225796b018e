/* The portable kernels of BF16 pairs, and their definition (kernels.h). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel_sets.h"
#include "backend/cpu/ref.h"

enum { PAIR_BYTES = 4 };

/* ---- one pair ------------------------------------------------------------- */

uint16_t vug_ref_round_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if (isnan(x))
        return (uint16_t)(bits >> 16 | 0x40); /* a quiet NaN, also if its other bits were below */
    if (fabsf(x) < FLT_MIN)
        return (uint16_t)(bits >> 16 & 0x8000);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float flush(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

/*
 * x, w: values of BF16. A result counts as below 2^-126 if it is so after rounding to 24 bits, which
 * a subnormal result does not show: near 2^-126 the sum is computed again, scaled by 2^100. It
 * is small there, so a factor that scaling could overflow belongs to one that was a zero.
 */
static float multiply_add(float x, float w, float sum)
{
    const float a = flush(x), b = flush(w), near = fmaf(a, b, sum);
    if (!(fabsf(near) <= FLT_MIN) || a == 0 || b == 0)
        return near;
    const float scaled = fmaf(a * 0x1p60f, b * 0x1p40f, sum * 0x1p100f);
    return fabsf(scaled) < 0x1p-26f ? copysignf(0, scaled) : scaled * 0x1p-100f;
}

static float bf16_at(const uint8_t *row, int64_t i)
{
    uint16_t half;
    memcpy(&half, row + 2 * i, sizeof(half));
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Adds the product of pair `i` of two rows. */
static float add_pair(const uint8_t *x, const uint8_t *w, int64_t i, float sum)
{
    for (int64_t e = 2 * i + 1; e >= 2 * i; e--)
        sum = multiply_add(bf16_at(x, e), bf16_at(w, e), sum);
    return sum;
}

/* ---- products ------------------------------------------------------------- */

/* One output of one row of `k` pairs. */
static float sum_of_pairs(const uint8_t *x, const uint8_t *w, int64_t k)
{
    const int64_t kc = vug_cpu_kc(k);
    float sum = 0;
    for (int64_t at = 0; at < k; at += kc) {
        const int64_t end = at + kc < k ? at + kc : k;
        for (int64_t j = at; j < at + VUG_CPU_LANES && j < end; j++) {
            float s = 0;
            for (int64_t i = j; i < end; i += VUG_CPU_LANES)
                s = add_pair(x, w, i, s);
            sum = j == 0 ? s : sum + s;
        }
    }
    return sum;
}

static void round_row(const float *x, int64_t n, uint16_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = vug_ref_round_bf16(x[i]);
}

static void pack_pairs(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel)
{
    for (int64_t j = 0; j < VUG_CPU_LANES; j++) {
        for (int64_t i = j; i < k; i += VUG_CPU_LANES) {
            memset(panel, 0, VUG_CPU_PANEL * sizeof(*panel));
            for (int r = 0; r < rows; r++)
                memcpy(&panel[r], w + r * stride + i * PAIR_BYTES, PAIR_BYTES);
            panel += VUG_CPU_PANEL;
        }
    }
}

static void gemm_pairs(const vug_cpu_gemm *g)
{
    for (int64_t o = 0; o < VUG_CPU_STREAMS; o++) {
        for (int64_t r = 0; r < g->rows; r++)
            g->y[r * VUG_CPU_STREAMS + o] =
                    sum_of_pairs((const uint8_t *)g->x[r], g->w + o * g->stride, g->k);
    }
}

static void tile_pairs(int rows, const vug_cpu_tile *t)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < VUG_CPU_PANEL; c++) {
            const uint8_t *x = (const uint8_t *)(t->a + r * t->lda);
            float s = 0;
            for (int64_t i = 0; i < t->k; i++)
                s = add_pair(x + i * PAIR_BYTES,
                             (const uint8_t *)t->b + (i * t->ldb + c) * PAIR_BYTES, 0, s);
            float *out = &t->c[r * t->ldc + c];
            *out = t->accumulate ? *out + s : s;
        }
    }
}

const vug_cpu_pair_kernels vug_ref_pairs = {
    .round = round_row,
    .format = { .pack = pack_pairs, .gemm = gemm_pairs },
    .tile_rows = 6,
    .tile_panels = 1,
    .tile = tile_pairs,
};
