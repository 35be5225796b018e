/*
 * Products of quantized weights with activations in 8 bits (kernels.h). One row: x in its own
 * order. Several rows: x in units of four blocks, those of all rows of a chunk side by side. The
 * kernels unpack each weight once for all rows of the chunk. Many rows, if the set has panels:
 * x in tiles of 16 rows, those of a block of rows side by side; panels of weights are unpacked to
 * scratch and multiplied with one block of rows after the other.
 */
#include "backend/cpu/linear.h"
#include "backend/cpu/q8_panels.h"

enum {
    LANES = VUG_CPU_LANES,
    Q8 = VUG_CPU_Q8_BLOCK,
    UNIT = VUG_CPU_Q8_UNIT,
    /* Of the rows of a chunk. They are read for every four outputs; with 256 KiB, where weights are
     * unpacked more often, products of 512 rows took 4 % longer. */
    INPUT_BYTES = 512 * 1024,
    ROWS_AT_ONCE = 4, /* a chunk has a multiple of these */
    PIECE = 64,       /* blocks of x that are quantized before they are stored in units */
    UNIT_FLOATS = sizeof(vug_cpu_q8_unit) / sizeof(float),
    PANEL = VUG_CPU_PANEL,
    /* Of a block of rows in tiles, which is read for every panel of a chunk: half of an L2 cache. */
    TILED_BYTES = 1024 * 1024,
    SUM_BYTES = 32 * 1024, /* of a block of rows and of panels that are multiplied together */
    PANEL_BLOCK_FLOATS = sizeof(vug_cpu_q8_panel_block) / sizeof(float),
};

_Static_assert((int)VUG_CPU_MIN_Q8_PANEL_ROWS > (int)PANEL, "see vug_cpu_q8_input_floats");

/* ---- memory --------------------------------------------------------------- */

int64_t vug_cpu_q8_row_block(int64_t in)
{
    const int64_t row = vug_cpu_q8_units(in) * (int64_t)sizeof(vug_cpu_q8_unit);
    const int64_t rows = INPUT_BYTES / row / ROWS_AT_ONCE * ROWS_AT_ONCE;
    return rows < ROWS_AT_ONCE           ? ROWS_AT_ONCE
           : rows < VUG_CPU_Q8_ROW_BLOCK ? rows
                                         : VUG_CPU_Q8_ROW_BLOCK;
}

bool vug_cpu_q8_uses_panels(const vug_cpu_kernels *kernels, int64_t rows)
{
    return kernels->q8_panel_rows > 0 && rows >= kernels->q8_panel_rows;
}

/* Rows of a block in tiles. */
static int64_t tiled_rows(const vug_cpu_kernels *kernels, int64_t in)
{
    const int64_t tile = in / Q8 * (int64_t)sizeof(vug_cpu_q8_tile);
    const int64_t sums = (int64_t)PANEL * PANEL * kernels->q8_panels * (int64_t)sizeof(float);
    const int64_t fit = TILED_BYTES / tile, most = SUM_BYTES / sums;
    return PANEL * (fit < 1 ? 1 : fit < most ? fit : most);
}

/* Floats of a row of x: in units, or its part of a tile, whichever is more. */
static int64_t row_floats(int64_t in)
{
    const int64_t units = vug_cpu_q8_units(in) * UNIT_FLOATS;
    const int64_t tiled = in / Q8 * (int64_t)(sizeof(vug_cpu_q8_tile) / sizeof(float) / PANEL);
    return vug_cpu_round_up(units > tiled ? units : tiled, VUG_CPU_CACHE_LINE);
}

int64_t vug_cpu_q8_input_rows(const vug_cpu_kernels *kernels, int64_t rows)
{
    return vug_cpu_q8_uses_panels(kernels, rows) ? vug_cpu_round_up(rows, PANEL) : rows;
}

/* Tiles of a group of 17 rows or more have at most twice its rows. */
int64_t vug_cpu_q8_input_floats(int64_t rows, int64_t in, bool tiles)
{
    return (tiles ? 2 : 1) * rows * row_floats(in);
}

static int64_t panel_floats(int64_t in)
{
    return in / Q8 * PANEL_BLOCK_FLOATS;
}

int64_t vug_cpu_q8_scratch_floats(const vug_cpu_kernels *kernels, int64_t in)
{
    const int64_t streams = (int64_t)VUG_CPU_Q8_ROW_BLOCK * VUG_CPU_MAX_STREAMS * LANES;
    if (kernels->q8_panel_rows == 0)
        return streams;
    const int64_t panels = VUG_CPU_Q8_PANELS * panel_floats(in) +
                           tiled_rows(kernels, in) * kernels->q8_panels * PANEL;
    return panels > streams ? panels : streams;
}

/* ---- x -------------------------------------------------------------------- */

/* Row `row` of x in 8 bits; the units or tiles of a block of rows begin at its first row. */
static void *q8_row_at(const vug_cpu_linear_run *p, int64_t row)
{
    return p->q8 + row * row_floats(p->job->in);
}

/* A single row: its integers, scales and sums lie one after the other. */
static vug_cpu_q8_row single_row(int8_t *q, int64_t in)
{
    const int64_t scale_bytes = in / Q8 * (int64_t)sizeof(float);
    return (vug_cpu_q8_row){ .q = q,
                             .scale = (const float *)(const void *)(q + in),
                             .sum = (const int16_t *)(const void *)(q + in + scale_bytes) };
}

/* A row within a block of rows. */
typedef struct {
    void *x;               /* the units or tiles of the block */
    int64_t row, rows, in; /* of the block */
} row_place;

static void write_to_unit(const row_place *to, int64_t block, const int8_t *q, float scale,
                          const int16_t *sum)
{
    vug_cpu_q8_unit *unit = (vug_cpu_q8_unit *)to->x + block / UNIT * to->rows + to->row;
    const int64_t j = block % UNIT;
    for (int64_t i = 0; i < Q8 / 4; i++)
        memcpy(unit->q[i][j], q + 4 * i, 4);
    unit->scale[j] = scale;
    memcpy(unit->sum[j], sum, sizeof(unit->sum[j]));
}

static void write_to_tile(const row_place *to, int64_t block, const int8_t *q, float scale,
                          const int16_t *sum)
{
    const int64_t blocks = to->in / Q8, lane = block % LANES, row = to->row % PANEL;
    const int64_t tiles = (to->rows + PANEL - 1) / PANEL;
    vug_cpu_q8_tile *tile = (vug_cpu_q8_tile *)to->x + vug_cpu_lane_start(blocks, lane) * tiles +
                            to->row / PANEL * vug_cpu_lane_size(blocks, lane) + block / LANES;
    memcpy(tile->q[row], q, Q8);
    tile->scale[row] = scale;
    memcpy(tile->sum[row], sum, sizeof(tile->sum[row]));
}

/* Makes the rows of the last tile zero that do not exist. */
static void clear_last_tile(const row_place *block)
{
    static const int8_t q[Q8] = { 0 };
    static const int16_t sum[2] = { 0 };
    row_place to = *block;
    for (to.row = block->rows; to.row % PANEL > 0; to.row++) {
        for (int64_t b = 0; b < block->in / Q8; b++)
            write_to_tile(&to, b, q, 0, sum);
    }
}

/* Quantizes a row and writes its blocks to tiles or units. */
static void pack_row(const vug_cpu_kernels *kernels, const float *x, bool tiles,
                     const row_place *to)
{
    const int64_t blocks = to->in / Q8;
    int8_t q[PIECE * Q8];
    float scale[PIECE];
    int16_t sum[PIECE * 2];
    for (int64_t first = 0; first < blocks; first += PIECE) {
        const int64_t n = blocks - first < PIECE ? blocks - first : PIECE;
        kernels->quantize(x + first * Q8, n * Q8, q, scale, sum);
        for (int64_t i = 0; i < n; i++) {
            if (tiles)
                write_to_tile(to, first + i, q + i * Q8, scale[i], sum + 2 * i);
            else
                write_to_unit(to, first + i, q + i * Q8, scale[i], sum + 2 * i);
        }
    }
}

void vug_cpu_q8_pack_input(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int64_t t)
{
    const vug_cpu_kernels *kernels = p->env->kernels;
    const float *x = vug_cpu_input_row(p, t);
    const int64_t in = p->job->in;
    if (g->rows == 1) {
        int8_t *q = q8_row_at(p, g->first_q8);
        const vug_cpu_q8_row row = single_row(q, in);
        kernels->quantize(x, in, q, (float *)row.scale, (int16_t *)row.sum);
        return;
    }
    const bool tiles = vug_cpu_q8_uses_panels(kernels, g->rows);
    const int64_t block = tiles ? tiled_rows(kernels, in) : vug_cpu_q8_row_block(in);
    const int64_t row = t - g->first, first = row / block * block;
    const row_place to = { .x = q8_row_at(p, g->first_q8 + first),
                           .row = row - first,
                           .rows = g->rows - first < block ? g->rows - first : block,
                           .in = in };
    pack_row(kernels, x, tiles, &to);
    if (tiles && row == g->rows - 1)
        clear_last_tile(&to);
}

/* ---- products ------------------------------------------------------------- */

void vug_cpu_q8_streams(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t first,
                        int64_t step, float *scratch, float *y)
{
    const vug_matrix *w = &c->projection->w;
    const vug_cpu_block_format *format = p->env->kernels->block[w->dtype];
    if (c->single) {
        const vug_cpu_q8_row x = single_row(q8_row_at(p, c->q8_row), p->job->in);
        format->gemv(&(vug_cpu_gemv_q8){ .x = &x, .w = w, .row = first, .step = step, .y = y });
        return;
    }
    format->gemm(&(vug_cpu_gemm_q8){ .x = q8_row_at(p, c->q8_row),
                                     .rows = c->rows,
                                     .w = w,
                                     .row = first,
                                     .step = step,
                                     .lanes = scratch,
                                     .y = y });
}

/* The number of outputs from `output` on, at most those of `panels` panels. */
static int outputs_at(const vug_cpu_linear_chunk *c, int64_t output, int panels)
{
    const int64_t left = c->end - output, most = (int64_t)panels * PANEL;
    return (int)(left < most ? left : most);
}

/* Multiplies rows row .. row + rows - 1 of the chunk, a block in tiles, with its panels. `y` is
 * scratch. */
static void multiply_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t row,
                            int64_t rows, const vug_cpu_q8_panel_block *panel, float *y)
{
    const vug_cpu_projection *m = c->projection;
    const int64_t blocks = p->job->in / Q8;
    for (int64_t o = c->first, n; o < c->end; o += n, panel += (n + PANEL - 1) / PANEL * blocks) {
        n = outputs_at(c, o, p->env->kernels->q8_panels);
        const vug_cpu_q8_panel_job job = { .x = q8_row_at(p, c->q8_row + row),
                                           .rows = rows,
                                           .tiles = (rows + PANEL - 1) / PANEL,
                                           .blocks = blocks,
                                           .w = panel,
                                           .panels = (int)((n + PANEL - 1) / PANEL),
                                           .y = y };
        p->env->kernels->q8_panel[m->w.dtype]->multiply(&job);
        for (int64_t r = 0; r < rows; r++)
            memcpy(m->y + (c->first_row + row + r) * m->out + o, y + r * job.panels * PANEL,
                   (size_t)n * sizeof(float));
    }
}

void vug_cpu_q8_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, float *scratch)
{
    const vug_matrix *w = &c->projection->w;
    const int64_t in = p->job->in, block = tiled_rows(p->env->kernels, in);
    vug_cpu_q8_panel_block *panel = (vug_cpu_q8_panel_block *)(void *)scratch;
    float *y = scratch + VUG_CPU_Q8_PANELS * panel_floats(in);
    for (int64_t o = c->first, i = 0; o < c->end; o += PANEL, i++)
        p->env->kernels->q8_panel[w->dtype]->pack(w, o, outputs_at(c, o, 1), panel + i * (in / Q8));
    for (int64_t row = 0; row < c->rows; row += block)
        multiply_panels(p, c, row, c->rows - row < block ? c->rows - row : block, panel, y);
}
