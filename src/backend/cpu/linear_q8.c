/*
 * Products of quantized weights with activations in 8 bits (kernels.h). One row: x in its own
 * order. Several rows: x in units of four blocks, those of all rows of a chunk side by side. The
 * kernels unpack each weight once for all rows of the chunk.
 */
#include "backend/cpu/linear.h"

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
};

/* ---- memory --------------------------------------------------------------- */

int64_t vug_cpu_q8_row_block(int64_t in)
{
    const int64_t row = vug_cpu_q8_units(in) * (int64_t)sizeof(vug_cpu_q8_unit);
    const int64_t rows = INPUT_BYTES / row / ROWS_AT_ONCE * ROWS_AT_ONCE;
    return rows < ROWS_AT_ONCE           ? ROWS_AT_ONCE
           : rows < VUG_CPU_Q8_ROW_BLOCK ? rows
                                         : VUG_CPU_Q8_ROW_BLOCK;
}

int64_t vug_cpu_q8_input_floats(int64_t rows, int64_t in)
{
    return vug_cpu_round_up(rows * vug_cpu_q8_units(in) * UNIT_FLOATS, VUG_CPU_CACHE_LINE);
}

int64_t vug_cpu_q8_scratch_floats(void)
{
    return (int64_t)VUG_CPU_Q8_ROW_BLOCK * VUG_CPU_MAX_STREAMS * LANES;
}

/* ---- x -------------------------------------------------------------------- */

/* The units of the block of rows that begins at row `first` of the job. */
static vug_cpu_q8_unit *units_at(const vug_cpu_linear_run *p, int64_t first)
{
    return p->units + first * vug_cpu_q8_units(p->job->in);
}

/* A single row: its integers, scales and sums lie one after the other in the memory of its
 * units. */
static int8_t *single_row_at(const vug_cpu_linear_run *p, int64_t row)
{
    return (int8_t *)(void *)units_at(p, row);
}

static vug_cpu_q8_row single_row(int8_t *q, int64_t in)
{
    const int64_t scale_bytes = in / Q8 * (int64_t)sizeof(float);
    return (vug_cpu_q8_row){ .q = q,
                             .scale = (const float *)(const void *)(q + in),
                             .sum = (const int16_t *)(const void *)(q + in + scale_bytes) };
}

static void write_block(vug_cpu_q8_unit *to, int64_t j, const int8_t *q, float scale,
                        const int16_t *sum)
{
    for (int64_t i = 0; i < Q8 / 4; i++)
        memcpy(to->q[i][j], q + 4 * i, 4);
    to->scale[j] = scale;
    memcpy(to->sum[j], sum, sizeof(to->sum[j]));
}

/* Quantizes a row to units that are `step` units apart. */
static void pack_units(const vug_cpu_kernels *kernels, const float *x, int64_t in,
                       vug_cpu_q8_unit *to, int64_t step)
{
    const int64_t blocks = in / Q8;
    int8_t q[PIECE * Q8];
    float scale[PIECE];
    int16_t sum[PIECE * 2];
    for (int64_t first = 0; first < blocks; first += PIECE) {
        const int64_t n = blocks - first < PIECE ? blocks - first : PIECE;
        kernels->quantize(x + first * Q8, n * Q8, q, scale, sum);
        for (int64_t i = 0; i < n; i++)
            write_block(to + (first + i) / UNIT * step, (first + i) % UNIT, q + i * Q8, scale[i],
                        sum + 2 * i);
    }
}

void vug_cpu_q8_pack_input(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int64_t t)
{
    const vug_cpu_kernels *kernels = p->env->kernels;
    const float *x = vug_cpu_input_row(p, t);
    const int64_t in = p->job->in, block = vug_cpu_q8_row_block(in);
    if (g->rows == 1) {
        int8_t *q = single_row_at(p, t);
        const vug_cpu_q8_row row = single_row(q, in);
        kernels->quantize(x, in, q, (float *)row.scale, (int16_t *)row.sum);
        return;
    }
    const int64_t row = t - g->first, first = row / block * block;
    const int64_t rows = g->rows - first < block ? g->rows - first : block;
    pack_units(kernels, x, in, units_at(p, g->first + first) + (row - first), rows);
}

/* ---- products ------------------------------------------------------------- */

void vug_cpu_q8_streams(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t first,
                        int64_t step, float *scratch, float *y)
{
    const vug_matrix *w = &c->projection->w;
    const vug_cpu_block_format *format = p->env->kernels->block[w->dtype];
    if (c->single) {
        const vug_cpu_q8_row x = single_row(single_row_at(p, c->first_row), p->job->in);
        format->gemv(&(vug_cpu_gemv_q8){ .x = &x, .w = w, .row = first, .step = step, .y = y });
        return;
    }
    format->gemm(&(vug_cpu_gemm_q8){ .x = units_at(p, c->first_row),
                                     .rows = c->rows,
                                     .w = w,
                                     .row = first,
                                     .step = step,
                                     .lanes = scratch,
                                     .y = y });
}
