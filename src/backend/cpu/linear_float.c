/*
 * Products in F32, and of BF16 weights with activations in BF16. Few rows: kernels read the weights
 * as streams, each once for all rows. Many rows: x is in lane order (kernels.h), and one or two panels
 * of 16 outputs by one block of the sum are packed into scratch; each of their lanes fits the L1 cache.
 *
 * BF16 is handled in pairs of elements, which are as large as a float and take the place of one:
 * what is called an element below may be a pair.
 *
 * Weights in a format without kernels are decoded to F32 first, a few rows at a time.
 */
#include "backend/cpu/linear.h"
#include "quant/matrix.h"

enum {
    PANEL = VUG_CPU_PANEL,
    MAX_COLUMNS = VUG_CPU_MAX_TILE_PANELS * PANEL,
    LANES = VUG_CPU_LANES,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
    PAIR_BYTES = 4,
};

int64_t vug_cpu_float_scratch_floats(vug_cpu_kernel_kind kind, int64_t in)
{
    const int64_t floats = ((int64_t)ROW_BLOCK + VUG_CPU_KC) * MAX_COLUMNS;
    return kind == VUG_CPU_KERNEL_DECODED ? floats + MAX_COLUMNS * in : floats;
}

/* Rows of weights in a format that kernels read. */
typedef struct {
    const vug_cpu_format *format;
    const uint8_t *w;
    int64_t stride, size; /* bytes of a row and of an element */
} weight_rows;

/* Rows first, first + step, .. of the weights, `n` in all. They are decoded to `decoded`
 * [n,in] if no kernel reads their format. */
static weight_rows get_weight_rows(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                                   int64_t first, int64_t step, int64_t n, float *decoded)
{
    const vug_matrix *w = &c->projection->w;
    const uint8_t *data = w->data + first * c->stride;
    if (c->kind == VUG_CPU_KERNEL_PAIRS)
        return (weight_rows){ &p->env->kernels->pairs->format, data, step * c->stride, PAIR_BYTES };
    const vug_dtype dtype = c->kind == VUG_CPU_KERNEL_DIRECT ? w->dtype : VUG_DTYPE_F32;
    const int64_t size = vug_dtype_of(dtype)->bytes;
    const vug_cpu_format *format = p->env->kernels->format[dtype];
    if (c->kind == VUG_CPU_KERNEL_DIRECT)
        return (weight_rows){ format, data, step * c->stride, size };
    for (int64_t r = 0; r < n; r++)
        vug_matrix_decode(w, first + r * step, decoded + r * w->columns);
    return (weight_rows){ format, (const uint8_t *)decoded, w->columns * size, size };
}

/* Row `t` of the job in BF16. */
static uint16_t *bf16_row(const vug_cpu_linear_run *p, int64_t t)
{
    return p->bf16 + t * p->job->in;
}

/* ---- streams -------------------------------------------------------------- */

void vug_cpu_float_streams(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                           int64_t first, int64_t step, float *scratch, float *y)
{
    const int n = step ? VUG_CPU_STREAMS : 1;
    const weight_rows w = get_weight_rows(p, c, first, step, n, scratch);
    const float *x[VUG_CPU_MAX_FLOAT_ROWS];
    for (int64_t r = 0; r < c->rows; r++)
        x[r] = c->kind == VUG_CPU_KERNEL_PAIRS
                       ? (const float *)(const void *)bf16_row(p, c->first_row + r)
                       : vug_cpu_input_row(p, c->first_row + r);
    w.format->gemm(&(vug_cpu_gemm){ .x = x,
                                    .rows = (int)c->rows,
                                    .w = w.w,
                                    .y = y,
                                    .k = c->k,
                                    .stride = step ? w.stride : 0 });
}

/* ---- panels --------------------------------------------------------------- */

/* Where a lane of the block k .. k + n - 1 begins in the input of a job in lane order, [rows][lane
 * size]: the rows of a lane are neighbours because they are used together. */
static int64_t lane_offset(const vug_cpu_linear_run *p, int64_t k, int64_t n, int64_t lane)
{
    return p->job->rows * (k + vug_cpu_lane_start(n, lane));
}

/* The elements of the block that begins at `at`, in rows of `k`. */
static int64_t block_size(int64_t k, int64_t at)
{
    const int64_t kc = vug_cpu_kc(k);
    return k - at < kc ? k - at : kc;
}

/* Stores row `t` of the job, `k` elements, in lane order. */
static void order_lanes(const vug_cpu_linear_run *p, int64_t t, const void *x, int64_t k,
                        float *ordered)
{
    for (int64_t at = 0; at < k; at += vug_cpu_kc(k)) {
        const int64_t n = block_size(k, at);
        for (int64_t j = 0; j < LANES; j++) {
            const int64_t size = vug_cpu_lane_size(n, j);
            float *to = ordered + lane_offset(p, at, n, j) + t * size;
            const float *from = (const float *)x + at + j;
            for (int64_t i = 0; i < size; i++)
                memcpy(&to[i], &from[i * LANES], sizeof(*to)); /* the bits: pairs are no floats */
        }
    }
}

void vug_cpu_float_pack_input(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int64_t t)
{
    const float *x = vug_cpu_input_row(p, t);
    const int64_t in = p->job->in;
    const bool panels = g->rows > p->env->kernels->float_rows;
    if (p->lane_ordered && panels)
        order_lanes(p, t, x, in, p->lane_ordered);
    if (p->bf16)
        p->env->kernels->pairs->round(x, in, bf16_row(p, t));
    if (p->bf16 && panels)
        order_lanes(p, t, bf16_row(p, t), in / 2, p->ordered_pairs);
}

/* The tile kernel of a chunk. */
typedef struct {
    vug_cpu_tile_fn *multiply;
    int rows, panels; /* maximum */
} tile_kernel;

static tile_kernel tile_kernel_of(const vug_cpu_kernels *kernels, vug_cpu_kernel_kind kind)
{
    if (kind == VUG_CPU_KERNEL_PAIRS)
        return (tile_kernel){ kernels->pairs->tile, kernels->pairs->tile_rows,
                              kernels->pairs->tile_panels };
    return (tile_kernel){ kernels->tile, kernels->tile_rows, kernels->tile_panels };
}

static int64_t tiles_of(const tile_kernel *tile, int64_t rows)
{
    return (rows + tile->rows - 1) / tile->rows;
}

/* Multiplies `rows` rows with one lane of some panels; `first_row` describes the first row. Rows
 * are divided evenly among tiles: two tiles of 4 rows keep the multipliers busy, a tile of 6
 * and one of 2 do not. */
static void multiply_lane(const vug_cpu_kernels *kernels, vug_cpu_kernel_kind kind,
                          const vug_cpu_tile *first_row, int64_t rows, vug_cpu_prefetch *next)
{
    const tile_kernel tile = tile_kernel_of(kernels, kind);
    vug_cpu_tile t = *first_row;
    const int64_t tiles = tiles_of(&tile, rows);
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t r = rows * i / tiles;
        vug_cpu_prefetch_part(next);
        t.a = first_row->a + r * first_row->lda;
        t.c = first_row->c + r * first_row->ldc;
        tile.multiply((int)(rows * (i + 1) / tiles - r), &t);
    }
}

/* The columns of the panels that are multiplied together. */
static int64_t columns_of(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c)
{
    return (int64_t)tile_kernel_of(p->env->kernels, c->kind).panels * PANEL;
}

/* The number of outputs in the panels that begin at `output`. */
static int outputs_at(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t output)
{
    const int64_t columns = columns_of(p, c), left = c->end - output;
    return (int)(left < columns ? left : columns);
}

/* The weights that follow the panels at `output`, block `k`, in the order of the loops below. */
static vug_cpu_prefetch next_weights(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                                     int64_t output, int64_t k)
{
    const tile_kernel tile = tile_kernel_of(p->env->kernels, c->kind);
    const int64_t kc = vug_cpu_kc(c->k), size = c->stride / c->k;
    const bool is_last = k + kc >= c->k;
    const int64_t o = is_last ? output + columns_of(p, c) : output, at = is_last ? 0 : k + kc;
    if (o >= c->end || c->kind == VUG_CPU_KERNEL_DECODED)
        return (vug_cpu_prefetch){ 0 };
    return (vug_cpu_prefetch){ .w = c->projection->w.data + o * c->stride + at * size,
                               .stride = c->stride,
                               .bytes = block_size(c->k, at) * size,
                               .rows = outputs_at(p, c, o),
                               .parts = LANES * tiles_of(&tile, c->rows) };
}

/* Packs block `k` of `outputs` rows of weights to one or two panels, those of `t`. */
static void pack_panels(const weight_rows *w, int64_t k, int64_t n, int outputs, float *panel,
                        vug_cpu_tile *t)
{
    t->b = panel;
    t->second = NULL;
    w->format->pack(w->w + k * w->size, w->stride, outputs < PANEL ? outputs : PANEL, n, panel);
    if (outputs <= PANEL)
        return;
    panel += (int64_t)VUG_CPU_KC * PANEL;
    t->second = panel;
    w->format->pack(w->w + k * w->size + PANEL * w->stride, w->stride, outputs - PANEL, n, panel);
}

/* Multiplies all rows of the chunk with the panels of one block, which begins at `k`, and adds
 * the products to the sums. `panels` says where the panels and the sums lie. */
static void multiply_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t k,
                            const vug_cpu_tile *panels, vug_cpu_prefetch *next)
{
    const int64_t n = block_size(c->k, k);
    const float *x = c->kind == VUG_CPU_KERNEL_PAIRS ? p->ordered_pairs : p->lane_ordered;
    vug_cpu_tile t = *panels;
    for (int64_t j = 0; j < LANES && j < n; j++) {
        const int64_t lane = vug_cpu_lane_start(n, j) * PANEL;
        t.k = t.lda = vug_cpu_lane_size(n, j);
        t.a = x + lane_offset(p, k, n, j) + c->first_row * t.k;
        t.b = (const float *)panels->b + lane;
        t.second = panels->second ? (const float *)panels->second + lane : NULL;
        t.accumulate = k > 0 || j > 0;
        multiply_lane(p->env->kernels, c->kind, &t, c->rows, next);
    }
}

/* The sums of the panels stay in `y` [rows][columns] until they are complete: in the output they lie
 * far apart, often in the same set of a cache. */
void vug_cpu_float_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                          float *scratch)
{
    float *y = scratch, *panel = y + (int64_t)ROW_BLOCK * MAX_COLUMNS;
    float *decoded = panel + (int64_t)VUG_CPU_KC * MAX_COLUMNS;
    const int64_t kc = vug_cpu_kc(c->k), columns = columns_of(p, c);
    vug_cpu_tile tile = { .c = y, .ldb = PANEL, .ldc = columns };
    for (int64_t o = c->first; o < c->end; o += columns) {
        const int outputs = outputs_at(p, c, o);
        const weight_rows w = get_weight_rows(p, c, o, 1, outputs, decoded);
        for (int64_t k = 0; k < c->k; k += kc) {
            vug_cpu_prefetch next = next_weights(p, c, o, k);
            pack_panels(&w, k, block_size(c->k, k), outputs, panel, &tile);
            multiply_panels(p, c, k, &tile, &next);
        }
        for (int64_t r = 0; r < c->rows; r++)
            memcpy(c->projection->y + (c->first_row + r) * c->projection->out + o, y + r * columns,
                   (size_t)outputs * sizeof(float));
    }
}
