/* The portable kernels of quantized weights, for every format: the contract of kernels.h in
 * plain C. */
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel_sets.h"
#include "backend/cpu/ref.h"
#include "quant/matrix.h"

enum { Q8 = VUG_CPU_Q8_BLOCK, UNIT = VUG_CPU_Q8_UNIT, LANES = VUG_CPU_LANES };

void vug_ref_quantize_row(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum)
{
    for (int64_t i = 0; i < n / Q8; i++)
        vug_ref_quantize_block(x + i * Q8, q + i * Q8, &scale[i], &sum[2 * i]);
}

/* A block of a row of activations. */
typedef struct {
    int8_t q[Q8];
    float scale;
    int16_t sum[2];
} activation_block;

static activation_block block_of_row(const vug_cpu_q8_row *x, int64_t i)
{
    activation_block b = { .scale = x->scale[i], .sum = { x->sum[2 * i], x->sum[2 * i + 1] } };
    memcpy(b.q, x->q + i * Q8, Q8);
    return b;
}

/* Block i of row r of the units of several rows. */
static activation_block block_of_unit(const vug_cpu_gemm_q8 *g, int64_t r, int64_t i)
{
    const vug_cpu_q8_unit *unit = &g->x[i / UNIT * g->rows + r];
    const int64_t j = i % UNIT;
    activation_block b = { .scale = unit->scale[j], .sum = { unit->sum[j][0], unit->sum[j][1] } };
    for (int64_t e = 0; e < Q8; e++)
        b.q[e] = unit->q[e / 4][j][e % 4];
    return b;
}

/* Adds the product of x and block i of a row of w to a lane. */
static float add_block_product(const activation_block *x, const vug_matrix *w, int64_t row,
                               int64_t i, float lane)
{
    vug_block block;
    vug_matrix_block(w, row, i, &block);
    int32_t products = 0, minimums = 0;
    for (int s = 0; s < 2; s++) {
        int32_t half = 0;
        for (int e = 16 * s; e < 16 * s + 16; e++)
            half += block.q[e] * x->q[e];
        products += block.factor[s] * half;
        minimums += block.minimum[s] * x->sum[s];
    }
    const float t = fmaf(block.scale, (float)products, block.offset * (float)minimums);
    return fmaf(x->scale, t, lane);
}

static float add_lanes(const float *lane)
{
    float y = 0;
    for (int64_t j = 0; j < LANES; j++)
        y += lane[j];
    return y;
}

static void gemv_q8(const vug_cpu_gemv_q8 *g)
{
    const int64_t blocks = g->w->columns / Q8;
    for (int64_t o = 0; o < VUG_CPU_STREAMS; o++) {
        float lane[LANES] = { 0 };
        for (int64_t i = 0; i < blocks; i++) {
            const activation_block x = block_of_row(g->x, i);
            lane[i % LANES] = add_block_product(&x, g->w, g->row + o * g->step, i, lane[i % LANES]);
        }
        g->y[o] = add_lanes(lane);
    }
}

static void gemm_q8(const vug_cpu_gemm_q8 *g)
{
    const int64_t blocks = g->w->columns / Q8;
    for (int64_t r = 0; r < g->rows; r++) {
        for (int64_t o = 0; o < VUG_CPU_STREAMS; o++) {
            float lane[LANES] = { 0 };
            for (int64_t i = 0; i < blocks; i++) {
                const activation_block x = block_of_unit(g, r, i);
                lane[i % LANES] =
                        add_block_product(&x, g->w, g->row + o * g->step, i, lane[i % LANES]);
            }
            g->y[r * VUG_CPU_STREAMS + o] = add_lanes(lane);
        }
    }
}

/* ---- rounding to Q4_0 ----------------------------------------------------- */

enum {
    SQUARE_LANES = 16,
    Q4_0_BYTES = 18, /* a scale in F16, then 16 bytes with two weights each */
};

/* The scale that makes the weight of the largest magnitude -8, the end of the range that has one
 * value more. */
static float q4_0_scale(const float *w, uint8_t *to)
{
    float most = 0, least = 0;
    for (int i = 0; i < Q8; i++) {
        most = w[i] > most ? w[i] : most;
        least = -w[i] > least ? -w[i] : least;
    }
    float scale = (most > least ? most : -least) * -0.125f;
    vug_codec_of(VUG_DTYPE_F16)->encode(&scale, to, 1);
    vug_codec_of(VUG_DTYPE_F16)->decode(to, &scale, 1);
    return scale;
}

static float add_square_lanes(float *lane)
{
    for (int n = SQUARE_LANES / 2; n > 0; n /= 2) {
        for (int j = 0; j < n; j++)
            lane[j] += lane[j + n];
    }
    return lane[0];
}

vug_cpu_square_sums vug_ref_round_q4_0(const float *w, int64_t n, uint8_t *to)
{
    float all[SQUARE_LANES] = { 0 }, changed[SQUARE_LANES] = { 0 };
    for (int64_t b = 0; b < n / Q8; b++, w += Q8, to += Q4_0_BYTES) {
        const float scale = q4_0_scale(w, to), r = scale != 0 ? 1 / scale : 0;
        uint8_t stored[Q8];
        for (int i = 0; i < Q8; i++) {
            const float q = fminf(fmaxf(rintf(w[i] * r), -8), 7), change = w[i] - scale * q;
            float *sum = &all[i % SQUARE_LANES], *sum_changed = &changed[i % SQUARE_LANES];
            *sum = fmaf(w[i], w[i], *sum);
            *sum_changed = fmaf(change, change, *sum_changed);
            stored[i] = (uint8_t)(int)(q + 8);
        }
        for (int i = 0; i < Q8 / 2; i++)
            to[2 + i] = (uint8_t)(stored[i] | stored[i + Q8 / 2] << 4);
    }
    return (vug_cpu_square_sums){ .all = add_square_lanes(all),
                                  .changed = add_square_lanes(changed) };
}

const vug_cpu_block_format vug_ref_block_format = { gemv_q8, gemm_q8 };
