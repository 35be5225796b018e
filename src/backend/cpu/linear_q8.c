/*
 * Products of weights in blocks with activations in 8 bits (kernels.h). One row: x as it
 * lies. Several rows: x in the order of panels; a panel of 16 outputs holds all of their
 * sum and fits the second cache, and some of its lanes at a time the first.
 */
#include "backend/cpu/linear.h"

enum {
    PANEL = VUG_CPU_PANEL,
    LANES = VUG_CPU_LANES,
    Q8 = VUG_CPU_Q8,
    ROWS = VUG_CPU_ROWS_Q8,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
    HALF = Q8 / 2,
    PIECE = 64,             /* blocks of x that are rounded before they are moved */
    LANE_BYTES = 24 * 1024, /* of a panel that stay in the first cache */
    LINE_BYTES = VUG_CPU_LINE * (int)sizeof(float),
};

/* ---- memory --------------------------------------------------------------- */

static int64_t lines_of(int64_t bytes)
{
    return vug_cpu_round_up(bytes, LINE_BYTES) / (int64_t)sizeof(float);
}

/* Floats of x's parts. */
typedef struct {
    int64_t q, scale, sum, wide;
} parts;

static parts parts_of(int64_t slots, int64_t in, bool wide)
{
    return (parts){ .q = lines_of(slots * in),
                    .scale = lines_of(slots * in / Q8 * (int64_t)sizeof(float)),
                    .sum = lines_of(slots * in / HALF * (int64_t)sizeof(int16_t)),
                    .wide = wide ? lines_of(slots * in * (int64_t)sizeof(int16_t)) : 0 };
}

int64_t vug_cpu_q8_floats(int64_t slots, int64_t in, bool wide)
{
    const parts n = parts_of(slots, in, wide);
    return n.q + n.scale + n.sum + n.wide;
}

void vug_cpu_q8_place(vug_cpu_product *p, float *at, int64_t slots, bool wide)
{
    const parts n = parts_of(slots, p->job->in, wide);
    p->q = (int8_t *)at;
    p->scale = at + n.q;
    p->sum = (int16_t *)(void *)(at + n.q + n.scale);
    p->wide = wide ? (int16_t *)(void *)(at + n.q + n.scale + n.sum) : NULL;
}

/* Bytes of a block of a panel: weights, then what each output has. */
static int64_t weight_bytes(bool wide)
{
    return (int64_t)Q8 * PANEL * (wide ? 2 : 1);
}

enum { FIELD_BYTES = 4 * PANEL }; /* two numbers of 16 bits, or a float, of 16 outputs */

int64_t vug_cpu_q8_scratch(int64_t in)
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
                            .wide = (int16_t *)(void *)w,
                            .factor = (int16_t *)(void *)field,
                            .minimum = (int16_t *)(void *)(field + size),
                            .scale = (float *)(void *)(field + 2 * size),
                            .offset = (float *)(void *)(field + 3 * size) };
}

/* ---- x -------------------------------------------------------------------- */

/* The elements of a block as panels want them: pairs of the halves in turn. */
static void interleave(const int8_t *from, int8_t *to)
{
    for (int64_t i = 0; i < HALF / 2; i++) {
        memcpy(to + 4 * i, from + 2 * i, 2);
        memcpy(to + 4 * i + 2, from + HALF + 2 * i, 2);
    }
}

/* One block of a row to its place among those of four rows. */
static void put_block(const vug_cpu_product *p, int64_t at, const int8_t *q, float scale,
                      const int16_t *sum)
{
    interleave(q, p->q + at * Q8);
    p->scale[at] = scale;
    memcpy(p->sum + 2 * at, sum, 2 * sizeof(*sum));
    for (int64_t e = 0; p->wide && e < Q8; e++)
        p->wide[at * Q8 + e] = (int16_t)q[e];
}

void vug_cpu_q8_prepare(const vug_cpu_product *p, int64_t t, int64_t slot, bool single)
{
    const vug_cpu_kernels *kernels = p->env->kernels;
    const float *x = vug_cpu_row_of(p, t);
    const int64_t in = p->job->in, blocks = in / Q8, row = slot * blocks;
    if (single) {
        kernels->round(x, in, p->q + row * Q8, p->scale + row, p->sum + 2 * row);
        return;
    }
    int8_t q[PIECE * Q8];
    float scale[PIECE];
    int16_t sum[PIECE * 2];
    const int64_t tile = slot / ROWS * ROWS * blocks + slot % ROWS;
    for (int64_t first = 0; first < blocks; first += PIECE) {
        const int64_t n = blocks - first < PIECE ? blocks - first : PIECE;
        kernels->round(x + first * Q8, n * Q8, q, scale, sum);
        for (int64_t i = 0; i < n; i++) {
            const int64_t b = first + i;
            const int64_t at = vug_cpu_lane_start(blocks, b % LANES) + b / LANES;
            put_block(p, tile + at * ROWS, q + i * Q8, scale[i], sum + 2 * i);
        }
    }
}

/* ---- products ------------------------------------------------------------- */

void vug_cpu_q8_four(const vug_cpu_product *p, const vug_cpu_chunk *c, int64_t first, int64_t apart,
                     float *y)
{
    const int64_t row = c->slot * (p->job->in / Q8);
    const vug_cpu_q8 x = { p->q + row * Q8, p->scale + row, p->sum + 2 * row };
    p->env->kernels->block[c->m->w.dtype]->gemv(
            &(vug_cpu_gemv_q8){ .x = &x, .w = &c->m->w, .row = first, .apart = apart, .y = y });
}

/* Lanes of a panel that are taken at a time. */
static int lanes_at_once(const vug_cpu_layout *layout, int64_t blocks)
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

/* All rows of the chunk against a panel; y [rows][16]. */
static void rows_by_panel(const vug_cpu_product *p, const vug_cpu_chunk *c,
                          const vug_cpu_panel *panel, float *y, vug_cpu_hint *next)
{
    const vug_cpu_kernels *kernels = p->env->kernels;
    vug_cpu_tile_q8 t = { .blocks = p->job->in / Q8,
                          .panel = panel,
                          .layout = vug_cpu_layout_of(c->m->w.dtype) };
    const int lanes = lanes_at_once(t.layout, t.blocks);
    for (t.first = 0; t.first < LANES; t.first = t.end) {
        t.end = t.first + lanes < LANES ? t.first + lanes : LANES;
        for (int64_t r = 0; r < c->rows; r += ROWS) {
            vug_cpu_fetch_part(kernels, next);
            const int64_t at = (c->slot + r) * t.blocks;
            t.q = p->q + at * Q8;
            t.wide = p->wide ? p->wide + at * Q8 : NULL;
            t.scale = p->scale + at;
            t.sum = p->sum + 2 * at;
            t.y = y + r * PANEL;
            kernels->tile_q8(c->rows - r < ROWS ? (int)(c->rows - r) : ROWS, &t);
        }
    }
}

/* What follows the panel at `output`, to be asked for with its first lanes. */
static vug_cpu_hint after(const vug_cpu_chunk *c, int64_t output)
{
    const int64_t o = output + PANEL;
    if (o >= c->end)
        return (vug_cpu_hint){ 0 };
    return (vug_cpu_hint){ .w = c->m->w.data + o * c->stride,
                           .stride = c->stride,
                           .bytes = c->stride,
                           .rows = vug_cpu_panel_outputs(c, o),
                           .parts = tiles_of(c->rows) };
}

void vug_cpu_q8_rows(const vug_cpu_product *p, const vug_cpu_chunk *c, float *scratch)
{
    const vug_matrix *w = &c->m->w;
    float *y = scratch;
    const vug_cpu_panel panel = panel_at(y + (int64_t)ROW_BLOCK * PANEL, w->columns / Q8);
    for (int64_t o = c->first; o < c->end; o += PANEL) {
        const int outputs = vug_cpu_panel_outputs(c, o);
        vug_cpu_hint next = after(c, o);
        p->env->kernels->block[w->dtype]->pack(w, o, outputs, &panel);
        rows_by_panel(p, c, &panel, y, &next);
        for (int64_t r = 0; r < c->rows; r++)
            memcpy(c->m->y + (c->first_row + r) * c->m->out + o, y + r * PANEL,
                   (size_t)outputs * sizeof(float));
    }
}
