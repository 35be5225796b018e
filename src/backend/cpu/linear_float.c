/*
 * Products in F32, and of BF16 weights with activations in BF16. Few rows: kernels read the weights
 * as streams, each once for all rows. Many rows: x is in lane order (kernels.h), and some panels of 16
 * outputs by one block of the sum are packed into scratch. A lane of x is then read from memory once for
 * all panels, and from the L2 cache for all but the first group of them, whose lane fits the L1 cache.
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
    MAX_PANELS = VUG_CPU_FLOAT_PANELS,
    TILE_PANELS = VUG_CPU_MAX_TILE_PANELS,
    /* Elements of a row of the panels of a group: one of their lanes takes 40 KiB. With half as many, x
     * of a lane is read more often, which is a few percent slower, also with AVX2. */
    GROUP_ELEMENTS = 4 * VUG_CPU_KC,
    LANES = VUG_CPU_LANES,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
    PAIR_BYTES = 4,
};

int64_t vug_cpu_float_scratch_floats(vug_cpu_kernel_kind kind, int64_t in)
{
    const int64_t floats = (int64_t)(ROW_BLOCK + VUG_CPU_KC) * MAX_PANELS * PANEL;
    return kind == VUG_CPU_KERNEL_DECODED ? floats + (int64_t)TILE_PANELS * PANEL * in : floats;
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

int64_t vug_cpu_float_max_panels(vug_cpu_kernel_kind kind)
{
    return kind == VUG_CPU_KERNEL_DECODED ? TILE_PANELS : MAX_PANELS;
}

/* A chunk, and the panels of one block of its sums. */
typedef struct {
    const vug_cpu_linear_run *p;
    const vug_cpu_linear_chunk *c;
    tile_kernel tile;
    int64_t tiles;         /* of all rows */
    int64_t panels, group; /* of which so many are multiplied with all rows before the next ones */
    float *panel;          /* [panels][n][16] in lane order */
    float *y;              /* [rows][panels][16]: the sums so far */
    int64_t k, n;          /* the first element of the block, and their number */
    vug_cpu_prefetch next;
} panel_block;

/* Rows first .. end - 1 of the chunk, which are multiplied with one lane of some panels. */
typedef struct {
    int64_t first, end;
    int64_t lane;
    int64_t panel, end_panel;
} panel_tile;

static int64_t outputs_of(const vug_cpu_linear_chunk *c)
{
    return c->end - c->first;
}

static int64_t groups_of(const panel_block *b)
{
    return (b->panels + b->group - 1) / b->group;
}

/* The weights that this thread is likely to multiply after the block: the next block, or the first
 * one of the chunk after those of the other threads. */
static vug_cpu_prefetch next_weights(const panel_block *b)
{
    const vug_cpu_linear_chunk *c = b->c;
    const int64_t size = c->stride / c->k, outputs = outputs_of(c);
    const bool is_last = b->k + b->n >= c->k;
    const int64_t k = is_last ? 0 : b->k + b->n;
    const int64_t o = c->first + (is_last ? outputs * vug_pool_threads(b->p->env->pool) : 0);
    const int64_t left = c->projection->out - o;
    if (left <= 0 || c->kind == VUG_CPU_KERNEL_DECODED)
        return (vug_cpu_prefetch){ 0 };
    return (vug_cpu_prefetch){ .w = c->projection->w.data + o * c->stride + k * size,
                               .stride = c->stride,
                               .bytes = block_size(c->k, k) * size,
                               .rows = (int)(left < outputs ? left : outputs),
                               .parts = LANES * b->tiles * groups_of(b) };
}

/* Packs a block of the weights to panels. */
static void pack_panels(const panel_block *b, const weight_rows *w)
{
    const uint8_t *from = w->w + b->k * w->size;
    for (int64_t i = 0, left = outputs_of(b->c); i < b->panels; i++, left -= PANEL)
        w->format->pack(from + i * PANEL * w->stride, w->stride, left < PANEL ? (int)left : PANEL,
                        b->n, b->panel + i * b->n * PANEL);
}

static float *output_row(const vug_cpu_linear_chunk *c, int64_t r)
{
    return c->projection->y + (c->first_row + r) * c->projection->out + c->first;
}

/* Prefetches part `i` of `parts` of x of the next tile, which follows that of a tile. */
static void prefetch_input(const vug_cpu_tile *t, int64_t rows, int64_t i, int64_t parts)
{
    const int64_t bytes = rows * t->lda * (int64_t)sizeof(float);
    const int64_t first = bytes * i / parts, end = bytes * (i + 1) / parts;
    vug_cpu_prefetch_bytes((const uint8_t *)(t->a + rows * t->lda) + first, end - first);
}

static void multiply_tile(const panel_block *b, const panel_tile *at)
{
    const vug_cpu_linear_chunk *c = b->c;
    const float *x = c->kind == VUG_CPU_KERNEL_PAIRS ? b->p->ordered_pairs : b->p->lane_ordered;
    const float *w = b->panel + vug_cpu_lane_start(b->n, at->lane) * PANEL;
    const int64_t rows = at->end - at->first, columns = b->panels * PANEL, step = b->tile.panels;
    vug_cpu_tile t = { .k = vug_cpu_lane_size(b->n, at->lane),
                       .ldb = PANEL,
                       .ldc = columns,
                       .accumulate = b->k > 0 || at->lane > 0 };
    const int64_t parts = (at->end_panel - at->panel + step - 1) / step;
    t.lda = t.k;
    t.a = x + lane_offset(b->p, b->k, b->n, at->lane) + (c->first_row + at->first) * t.k;
    for (int64_t i = at->panel; i < at->end_panel; i += step) {
        prefetch_input(&t, rows, (i - at->panel) / step, parts);
        t.b = w + i * b->n * PANEL;
        t.second = step > 1 && i + 1 < at->end_panel ? w + (i + 1) * b->n * PANEL : NULL;
        t.c = b->y + at->first * columns + i * PANEL;
        b->tile.multiply((int)rows, &t);
    }
}

/* Multiplies all rows with one lane of some panels. Rows are divided evenly among tiles: two tiles of
 * 4 rows keep the multipliers busy, a tile of 6 and one of 2 do not. The last sums go to the output. */
static void multiply_group(panel_block *b, int64_t lane, int64_t panel)
{
    const vug_cpu_linear_chunk *c = b->c;
    const int64_t lanes = b->n < LANES ? b->n : LANES, end = panel + b->group;
    panel_tile at = { .lane = lane,
                      .panel = panel,
                      .end_panel = end < b->panels ? end : b->panels };
    const bool is_last = b->k + b->n == c->k && lane + 1 == lanes && at.end_panel == b->panels;
    for (int64_t i = 0; i < b->tiles; i++) {
        at.first = c->rows * i / b->tiles;
        at.end = c->rows * (i + 1) / b->tiles;
        vug_cpu_prefetch_part(&b->next);
        for (int64_t r = at.first; is_last && r < at.end; r++)
            vug_cpu_prefetch_output(output_row(c, r), outputs_of(c));
        multiply_tile(b, &at);
        for (int64_t r = at.first; is_last && r < at.end; r++)
            memcpy(output_row(c, r), b->y + r * b->panels * PANEL,
                   (size_t)outputs_of(c) * sizeof(float));
    }
}

/* A lane of the panels of a group stays in the L1 cache, and that of x in the L2 cache. */
static void multiply_panels(panel_block *b)
{
    for (int64_t j = 0; j < LANES && j < b->n; j++) {
        for (int64_t i = 0; i < b->panels; i += b->group)
            multiply_group(b, j, i);
    }
}

/* The sums stay in scratch until they are complete: in the output they lie far apart, often in the
 * same set of a cache. */
void vug_cpu_float_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                          float *scratch) // NOLINT(readability-non-const-parameter): kernels write
{
    panel_block b = { .p = p,
                      .c = c,
                      .tile = tile_kernel_of(p->env->kernels, c->kind),
                      .panels = (outputs_of(c) + PANEL - 1) / PANEL,
                      .y = scratch,
                      .panel = scratch + (int64_t)ROW_BLOCK * MAX_PANELS * PANEL };
    float *decoded = b.panel + (int64_t)MAX_PANELS * VUG_CPU_KC * PANEL;
    const weight_rows w = get_weight_rows(p, c, c->first, 1, outputs_of(c), decoded);
    b.tiles = (c->rows + b.tile.rows - 1) / b.tile.rows;
    for (b.k = 0; b.k < c->k; b.k += b.n) {
        b.n = block_size(c->k, b.k);
        b.group = GROUP_ELEMENTS / b.n / TILE_PANELS * TILE_PANELS;
        b.next = next_weights(&b);
        pack_panels(&b, &w);
        multiply_panels(&b);
    }
}
