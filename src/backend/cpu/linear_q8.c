/*
 * Products of quantized weights with activations in 8 bits (kernels.h). One row: x in its own
 * order. Several rows: x in the order of panels. A panel holds 16 whole rows of weights; it
 * fits the L2 cache, and a few of its lanes at a time fit the L1 cache.
 */
#include "backend/cpu/linear.h"

enum {
    PANEL = VUG_CPU_PANEL,
    LANES = VUG_CPU_LANES,
    Q8 = VUG_CPU_Q8_BLOCK,
    ROWS = VUG_CPU_MAX_TILE_ROWS_Q8,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
    HALF = Q8 / 2,
    PIECE = 64,             /* blocks of x that are quantized before they are interleaved */
    LANE_BYTES = 24 * 1024, /* of a panel, that stay in the L1 cache */
    LINE_BYTES = VUG_CPU_CACHE_LINE * (int)sizeof(float),
};

/* ---- memory --------------------------------------------------------------- */

/* Floats of whole cache lines. */
static int64_t aligned_floats(int64_t bytes)
{
    return vug_cpu_round_up(bytes, LINE_BYTES) / (int64_t)sizeof(float);
}

/* Floats of each part of x in 8 bits. */
typedef struct {
    int64_t q, scale, sum, q16;
} q8_input_layout;

static q8_input_layout input_layout_of(int64_t slots, int64_t in, bool q16)
{
    return (q8_input_layout){ .q = aligned_floats(slots * in),
                              .scale = aligned_floats(slots * in / Q8 * (int64_t)sizeof(float)),
                              .sum = aligned_floats(slots * in / HALF * (int64_t)sizeof(int16_t)),
                              .q16 = q16 ? aligned_floats(slots * in * (int64_t)sizeof(int16_t))
                                         : 0 };
}

int64_t vug_cpu_q8_input_floats(int64_t slots, int64_t in, bool q16)
{
    const q8_input_layout n = input_layout_of(slots, in, q16);
    return n.q + n.scale + n.sum + n.q16;
}

void vug_cpu_q8_place_input(vug_cpu_linear_run *p, float *at, int64_t slots, bool q16)
{
    const q8_input_layout n = input_layout_of(slots, p->job->in, q16);
    p->q = (int8_t *)at;
    p->scale = at + n.q;
    p->sum = (int16_t *)(void *)(at + n.q + n.scale);
    p->q16 = q16 ? (int16_t *)(void *)(at + n.q + n.scale + n.sum) : NULL;
}

/* Bytes of the weights in one block of a panel. */
static int64_t weight_bytes(bool q16)
{
    return (int64_t)Q8 * PANEL * (q16 ? 2 : 1);
}

/* Bytes of a field in one block of a panel: two 16-bit numbers or a float per output. */
enum { FIELD_BYTES = 4 * PANEL };

int64_t vug_cpu_q8_scratch_floats(int64_t in)
{
    const int64_t panel = in / Q8 * (weight_bytes(true) + 4 * (int64_t)FIELD_BYTES);
    return (int64_t)ROW_BLOCK * PANEL + panel / (int64_t)sizeof(float);
}

/* A panel of `blocks` from `at` on. */
static vug_cpu_panel panel_at(float *at, int64_t blocks)
{
    uint8_t *w = (uint8_t *)at, *field = w + blocks * weight_bytes(true);
    const int64_t size = blocks * FIELD_BYTES;
    return (vug_cpu_panel){ .q = w,
                            .q16 = (int16_t *)(void *)w,
                            .factor = (int16_t *)(void *)field,
                            .minimum = (int16_t *)(void *)(field + size),
                            .scale = (float *)(void *)(field + 2 * size),
                            .offset = (float *)(void *)(field + 3 * size) };
}

/* ---- x -------------------------------------------------------------------- */

/* The elements of a block in the order of panels: pairs of both halves in turn. */
static void interleave(const int8_t *from, int8_t *to)
{
    for (int64_t i = 0; i < HALF / 2; i++) {
        memcpy(to + 4 * i, from + 2 * i, 2);
        memcpy(to + 4 * i + 2, from + HALF + 2 * i, 2);
    }
}

/* Writes a block of a row to position `at` among the blocks of four rows. */
static void write_block(const vug_cpu_linear_run *p, int64_t at, const int8_t *q, float scale,
                        const int16_t *sum)
{
    interleave(q, p->q + at * Q8);
    p->scale[at] = scale;
    memcpy(p->sum + 2 * at, sum, 2 * sizeof(*sum));
    for (int64_t e = 0; p->q16 && e < Q8; e++)
        p->q16[at * Q8 + e] = (int16_t)q[e];
}

void vug_cpu_q8_pack_input(const vug_cpu_linear_run *p, int64_t t, int64_t slot, bool single)
{
    const vug_cpu_kernels *kernels = p->env->kernels;
    const float *x = vug_cpu_input_row(p, t);
    const int64_t in = p->job->in, blocks = in / Q8, row = slot * blocks;
    if (single) {
        kernels->quantize(x, in, p->q + row * Q8, p->scale + row, p->sum + 2 * row);
        return;
    }
    int8_t q[PIECE * Q8];
    float scale[PIECE];
    int16_t sum[PIECE * 2];
    const int64_t tile = slot / ROWS * ROWS * blocks + slot % ROWS;
    for (int64_t first = 0; first < blocks; first += PIECE) {
        const int64_t n = blocks - first < PIECE ? blocks - first : PIECE;
        kernels->quantize(x + first * Q8, n * Q8, q, scale, sum);
        for (int64_t i = 0; i < n; i++) {
            const int64_t b = first + i;
            const int64_t at = vug_cpu_lane_start(blocks, b % LANES) + b / LANES;
            write_block(p, tile + at * ROWS, q + i * Q8, scale[i], sum + 2 * i);
        }
    }
}

/* ---- products ------------------------------------------------------------- */

void vug_cpu_q8_gemv(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t first,
                     int64_t step, float *y)
{
    const int64_t row = c->slot * (p->job->in / Q8);
    const vug_cpu_q8_row x = { p->q + row * Q8, p->scale + row, p->sum + 2 * row };
    p->env->kernels->block[c->projection->w.dtype]->gemv(&(vug_cpu_gemv_q8){
            .x = &x, .w = &c->projection->w, .row = first, .step = step, .y = y });
}

/* The number of lanes of a panel that stay in the L1 cache together. */
static int lanes_at_once(const vug_cpu_panel_layout *layout, int64_t blocks)
{
    const int64_t fields = 1 + (layout->offsets ? 1 : 0) + (layout->factors ? 2 : 0);
    const int64_t lane =
            (blocks + LANES - 1) / LANES * (weight_bytes(layout->bits == 8) + fields * FIELD_BYTES);
    const int64_t n = LANE_BYTES / lane;
    return n < 1 ? 1 : n < LANES ? (int)n : LANES;
}

static int64_t tiles_of(int64_t rows)
{
    return (rows + ROWS - 1) / ROWS;
}

/* Multiplies all rows of the chunk with a panel; y [rows][16]. */
static void multiply_panel(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                           const vug_cpu_panel *panel, float *y, vug_cpu_prefetch *next)
{
    const vug_cpu_kernels *kernels = p->env->kernels;
    vug_cpu_tile_q8 t = { .blocks = p->job->in / Q8,
                          .panel = panel,
                          .layout = vug_cpu_panel_layout_of(c->projection->w.dtype) };
    const int lanes = lanes_at_once(t.layout, t.blocks);
    for (t.first = 0; t.first < LANES; t.first = t.end) {
        t.end = t.first + lanes < LANES ? t.first + lanes : LANES;
        for (int64_t r = 0; r < c->rows; r += ROWS) {
            vug_cpu_prefetch_part(kernels, next);
            const int64_t at = (c->slot + r) * t.blocks;
            t.q = p->q + at * Q8;
            t.q16 = p->q16 ? p->q16 + at * Q8 : NULL;
            t.scale = p->scale + at;
            t.sum = p->sum + 2 * at;
            t.y = y + r * PANEL;
            kernels->tile_q8(c->rows - r < ROWS ? (int)(c->rows - r) : ROWS, &t);
        }
    }
}

/* The weights that follow the panel at `output`. They are prefetched during its first lanes. */
static vug_cpu_prefetch next_weights(const vug_cpu_linear_chunk *c, int64_t output)
{
    const int64_t o = output + PANEL;
    if (o >= c->end)
        return (vug_cpu_prefetch){ 0 };
    return (vug_cpu_prefetch){ .w = c->projection->w.data + o * c->stride,
                               .stride = c->stride,
                               .bytes = c->stride,
                               .rows = vug_cpu_panel_outputs(c, o),
                               .parts = tiles_of(c->rows) };
}

void vug_cpu_q8_gemm(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, float *scratch)
{
    const vug_matrix *w = &c->projection->w;
    float *y = scratch;
    const vug_cpu_panel panel = panel_at(y + (int64_t)ROW_BLOCK * PANEL, w->columns / Q8);
    for (int64_t o = c->first; o < c->end; o += PANEL) {
        const int outputs = vug_cpu_panel_outputs(c, o);
        vug_cpu_prefetch next = next_weights(c, o);
        p->env->kernels->block[w->dtype]->pack(w, o, outputs, &panel);
        multiply_panel(p, c, &panel, y, &next);
        for (int64_t r = 0; r < c->rows; r++)
            memcpy(c->projection->y + (c->first_row + r) * c->projection->out + o, y + r * PANEL,
                   (size_t)outputs * sizeof(float));
    }
}
