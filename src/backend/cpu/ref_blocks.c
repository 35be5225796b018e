/* The portable kernels of quantized weights, for every format: the contract of kernels.h in
 * plain C. */
#include <math.h>

#include "backend/cpu/kernel_sets.h"
#include "backend/cpu/ref.h"
#include "quant/matrix.h"

enum {
    Q8 = VUG_CPU_Q8_BLOCK,
    ROWS = VUG_CPU_MAX_TILE_ROWS_Q8,
    LANES = VUG_CPU_LANES,
    PANEL = VUG_CPU_PANEL
};

void vug_ref_quantize_row(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum)
{
    for (int64_t i = 0; i < n / Q8; i++)
        vug_ref_quantize_block(x + i * Q8, q + i * Q8, &scale[i], &sum[2 * i]);
}

/* ---- one row of x --------------------------------------------------------- */

static float add_block_product(const vug_cpu_q8_row *x, const vug_matrix *w, int64_t row, int64_t i,
                               float lane)
{
    vug_block block;
    vug_matrix_block(w, row, i, &block);
    int32_t products = 0, minimums = 0;
    for (int s = 0; s < 2; s++) {
        int32_t half = 0;
        for (int e = 16 * s; e < 16 * s + 16; e++)
            half += block.q[e] * x->q[i * Q8 + e];
        products += block.factor[s] * half;
        minimums += block.minimum[s] * x->sum[2 * i + s];
    }
    const float t = fmaf(block.scale, (float)products, block.offset * (float)minimums);
    return fmaf(x->scale[i], t, lane);
}

static void gemv_q8(const vug_cpu_gemv_q8 *g)
{
    const int64_t blocks = g->w->columns / Q8;
    for (int64_t r = 0; r < VUG_CPU_GEMV_ROWS; r++) {
        float lane[LANES] = { 0 };
        for (int64_t i = 0; i < blocks; i++)
            lane[i % LANES] =
                    add_block_product(g->x, g->w, g->row + r * g->step, i, lane[i % LANES]);
        g->y[r] = lane[0];
        for (int64_t j = 1; j < LANES && j < blocks; j++)
            g->y[r] += lane[j];
    }
}

/* ---- panels --------------------------------------------------------------- */

/* The index in its block of element i of the four in group g of a panel. */
static int64_t element_of(int64_t g, int64_t i)
{
    return 16 * (i / 2) + 2 * g + i % 2;
}

static void write_weights(const vug_cpu_panel *panel, const vug_cpu_panel_layout *layout,
                          int64_t at, int c, const vug_block *b)
{
    for (int64_t i = 0; layout->bits == 8 && i < Q8; i++)
        panel->q16[at * Q8 * PANEL + (i / 2 * PANEL + c) * 2 + i % 2] =
                (int16_t)(b->factor[i / 16] * (b->q[i] + layout->zero));
    for (int64_t i = 0; layout->bits < 8 && i < Q8; i++)
        panel->q[at * Q8 * PANEL + (i / 4 * PANEL + c) * 4 + i % 4] =
                (uint8_t)(b->q[element_of(i / 4, i % 4)] + layout->zero);
}

/* Writes block `at` of column c. */
static void write_block(const vug_cpu_panel *panel, const vug_cpu_panel_layout *layout, int64_t at,
                        int c, const vug_block *b)
{
    write_weights(panel, layout, at, c, b);
    panel->scale[at * PANEL + c] = b->scale;
    if (layout->offsets)
        panel->offset[at * PANEL + c] = b->offset;
    for (int s = 0; layout->factors && s < 2; s++) {
        const int64_t to = (at * PANEL + c) * 2 + s;
        panel->factor[to] = b->factor[s];
        panel->minimum[to] = b->minimum[s];
        if (!layout->offsets)
            panel->minimum[to] = (int16_t)(-layout->zero * b->factor[s]);
    }
}

static void pack_q8(const vug_matrix *w, int64_t row, int rows, const vug_cpu_panel *panel)
{
    const vug_cpu_panel_layout *layout = vug_cpu_panel_layout_of(w->dtype);
    const int64_t blocks = w->columns / Q8;
    for (int c = 0; c < PANEL; c++) {
        vug_block b = { .scale = 0 };
        for (int64_t i = 0; i < blocks; i++) {
            if (c < rows)
                vug_matrix_block(w, row + c, i, &b);
            write_block(panel, layout, vug_cpu_lane_start(blocks, i % LANES) + i / LANES, c, &b);
        }
    }
}

/* ---- several rows of x ---------------------------------------------------- */

/* Adds the products of row r of x and column c over each half of block `at`. */
static void multiply_halves(const vug_cpu_tile_q8 *t, int64_t r, int64_t c, int64_t at,
                            int32_t *half)
{
    const int64_t x = (at * ROWS + r) * Q8, w = at * Q8 * PANEL;
    for (int64_t i = 0; t->layout->bits == 8 && i < Q8; i++)
        half[i / 16] += t->panel->q16[w + (i / 2 * PANEL + c) * 2 + i % 2] * t->q16[x + i];
    for (int64_t i = 0; t->layout->bits < 8 && i < Q8; i++)
        half[i % 4 / 2] += t->panel->q[w + (i / 4 * PANEL + c) * 4 + i % 4] * t->q[x + i];
}

/* Adds block `at` of row r of x times block `at` of column c to the lane. */
static float add_panel_product(const vug_cpu_tile_q8 *t, int64_t r, int64_t c, int64_t at,
                               float lane)
{
    const vug_cpu_panel_layout *layout = t->layout;
    const int16_t *sum = t->sum + (at * ROWS + r) * 2;
    const int64_t pair = (at * PANEL + c) * 2;
    int32_t half[2] = { 0, 0 }, products = 0, minimums = 0;
    multiply_halves(t, r, c, at, half);
    for (int s = 0; s < 2; s++) {
        products += (layout->factors ? t->panel->factor[pair + s] : 1) *
                    (half[s] - layout->zero * sum[s]);
        if (layout->offsets)
            minimums += (layout->factors ? t->panel->minimum[pair + s] : 1) * sum[s];
    }
    const float offset = layout->offsets ? t->panel->offset[at * PANEL + c] : 0;
    const float p =
            fmaf(t->panel->scale[at * PANEL + c], (float)products, offset * (float)minimums);
    return fmaf(t->scale[at * ROWS + r], p, lane);
}

void vug_ref_tile_q8(int rows, const vug_cpu_tile_q8 *t)
{
    const int64_t blocks = t->blocks;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < PANEL; c++) {
            float *y = &t->y[r * PANEL + c];
            for (int64_t j = t->first; j < t->end && j < blocks; j++) {
                const int64_t start = vug_cpu_lane_start(blocks, j);
                float s = 0;
                for (int64_t i = 0; i < vug_cpu_lane_size(blocks, j); i++)
                    s = add_panel_product(t, r, c, start + i, s);
                *y = j == 0 ? s : *y + s;
            }
        }
    }
}

const vug_cpu_block_format vug_ref_block_format = { gemv_q8, pack_q8 };
