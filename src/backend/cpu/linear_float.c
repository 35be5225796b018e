/*
 * Products in F32, and of BF16 weights with activations in BF16. Few rows: kernels read the weights
 * as streams, each once for all rows. Many rows: x is in tiles, whose rows are in lane order (kernels.h),
 * and some panels of 16 outputs by one block of the sum are packed into scratch. All lanes of a tile are
 * multiplied one after the other, so that its sums stay in the L1 cache. Some tiles are multiplied with
 * two panels before the next two, so that both are read from the L2 cache.
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
    TILE_COLUMNS = TILE_PANELS * PANEL,
    TILE_FLOATS = VUG_CPU_MAX_TILE_ROWS * TILE_COLUMNS,
    ROWS_AT_ONCE = 24, /* of x, in tiles: with KC elements each they take 120 KiB */
    LANES = VUG_CPU_LANES,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
    PAIR_BYTES = 4,
    LINE_BYTES = VUG_CPU_CACHE_LINE * (int)sizeof(float),
};

int64_t vug_cpu_float_scratch_floats(vug_cpu_kernel_kind kind, int64_t in)
{
    const int64_t floats = TILE_FLOATS + (int64_t)VUG_CPU_KC * MAX_PANELS * PANEL;
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

/* The elements of the block that begins at `at`, in rows of `k`. */
static int64_t block_size(int64_t k, int64_t at)
{
    const int64_t kc = vug_cpu_kc(k);
    return k - at < kc ? k - at : kc;
}

/* Rows of x that are multiplied by the same chunks, in tiles: [block of the sum][tile][lane][row of the
 * tile][elements]. The rows are divided evenly among the tiles: two tiles of 4 rows keep the multipliers
 * busy, a tile of 6 and one of 2 do not. */
typedef struct {
    int64_t first, rows; /* of the job */
    int64_t tiles;
} tiled_rows;

static tiled_rows tiled_rows_of(int64_t first, int64_t rows, const tile_kernel *tile)
{
    return (tiled_rows){ first, rows, (rows + tile->rows - 1) / tile->rows };
}

/* The first row of tile `i`, counted from the first one of all tiles. */
static int64_t tile_start(const tiled_rows *x, int64_t i)
{
    return x->rows * i / x->tiles;
}

static int64_t tile_of_row(const tiled_rows *x, int64_t row)
{
    return ((row + 1) * x->tiles - 1) / x->rows;
}

/* A tile within one block of the sum. */
typedef struct {
    int64_t first, rows; /* counted from the first row of all tiles */
    int64_t offset;      /* in all x of a job */
} input_tile;

/* Tile `i` of the block of `n` elements that begins at `at`, in rows of `k`. */
static input_tile input_tile_at(const tiled_rows *x, int64_t i, int64_t k, int64_t at, int64_t n)
{
    const int64_t first = tile_start(x, i);
    return (input_tile){ .first = first,
                         .rows = tile_start(x, i + 1) - first,
                         .offset = x->first * k + x->rows * at + first * n };
}

/* Stores row `t` of the job, `k` elements or pairs of x in group `g`, in the tiles of a kind of kernels. */
static void write_to_tiles(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int64_t t,
                           vug_cpu_kernel_kind kind, int64_t k)
{
    const vug_cpu_kernels *kernels = p->env->kernels;
    const bool pairs = kind == VUG_CPU_KERNEL_PAIRS;
    const tile_kernel kernel = tile_kernel_of(kernels, kind);
    const float *x = vug_cpu_input_row(p, t);
    const int64_t row = (t - g->first) % ROW_BLOCK, left = g->first + g->rows - (t - row);
    const tiled_rows to = tiled_rows_of(t - row, left < ROW_BLOCK ? left : ROW_BLOCK, &kernel);
    float *ordered = pairs ? p->ordered_pairs : p->lane_ordered, *lane[LANES];
    alignas(PAIR_BYTES) uint16_t rounded[2 * VUG_CPU_KC];
    for (int64_t at = 0, n; at < k; at += n) {
        n = block_size(k, at);
        const input_tile tile = input_tile_at(&to, tile_of_row(&to, row), k, at, n);
        for (int64_t j = 0; j < LANES; j++)
            lane[j] = ordered + tile.offset + vug_cpu_lane_start(n, j) * tile.rows +
                      (row - tile.first) * vug_cpu_lane_size(n, j);
        if (pairs)
            kernels->pairs->round(x + 2 * at, 2 * n, rounded);
        kernels->order_lanes(pairs ? (const void *)rounded : x + at, n, lane);
    }
}

void vug_cpu_float_pack_input(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int64_t t)
{
    const int64_t in = p->job->in;
    const bool panels = g->rows > p->env->kernels->float_rows;
    if (p->lane_ordered && panels)
        write_to_tiles(p, g, t, VUG_CPU_KERNEL_DIRECT, in);
    if (p->bf16 && panels)
        write_to_tiles(p, g, t, VUG_CPU_KERNEL_PAIRS, in / 2);
    else if (p->bf16)
        p->env->kernels->pairs->round(vug_cpu_input_row(p, t), in, bf16_row(p, t));
}

/* A chunk, and the panels of one block of its sums. */
typedef struct {
    const vug_cpu_linear_run *p;
    const vug_cpu_linear_chunk *c;
    tile_kernel kernel;
    tiled_rows x;
    int64_t at_once; /* tiles */
    int64_t panels;
    float *panel; /* [panels][n][16] in lane order */
    float *sums;  /* of a tile */
    int64_t k, n; /* the first element of the block, and their number */
    vug_cpu_prefetch next;
} panel_block;

static int64_t outputs_of(const vug_cpu_linear_chunk *c)
{
    return c->end - c->first;
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
                               .parts = b->x.tiles };
}

/* Packs a block of the weights to panels. */
static void pack_panels(const panel_block *b, const weight_rows *w)
{
    const uint8_t *from = w->w + b->k * w->size;
    for (int64_t i = 0, left = outputs_of(b->c); i < b->panels; i++, left -= PANEL)
        w->format->pack(from + i * PANEL * w->stride, w->stride, left < PANEL ? (int)left : PANEL,
                        b->n, b->panel + i * b->n * PANEL);
}

static const float *input_of(const panel_block *b)
{
    return b->c->kind == VUG_CPU_KERNEL_PAIRS ? b->p->ordered_pairs : b->p->lane_ordered;
}

/* Where tile `t` and the outputs of panel `panel` meet. Of its rows `bytes` exist. */
typedef struct {
    float *y;
    int64_t stride;
    size_t bytes;
} output_tile;

static output_tile output_tile_at(const panel_block *b, const input_tile *t, int64_t panel,
                                  int64_t panels)
{
    const vug_cpu_linear_chunk *c = b->c;
    const int64_t out = c->projection->out, left = outputs_of(c) - panel * PANEL;
    return (output_tile){
        .y = c->projection->y + (b->x.first + t->first) * out + c->first + panel * PANEL,
        .stride = out,
        .bytes = sizeof(float) * (size_t)(left < panels * PANEL ? left : panels * PANEL)
    };
}

/* Adds the products of tile `i` of x and some panels to the output. The sums of the lanes are apart from
 * it, because a kernel writes whole panels. Meanwhile x of `next` is prefetched. */
static void multiply_tile(const panel_block *b, int64_t i, int64_t panel, int64_t panels,
                          vug_cpu_prefetch *next)
{
    const vug_cpu_linear_chunk *c = b->c;
    const input_tile tile = input_tile_at(&b->x, i, c->k, b->k, b->n);
    const output_tile to = output_tile_at(b, &tile, panel, panels);
    vug_cpu_tile t = { .ldb = PANEL,
                       .c = b->sums,
                       .ldc = panels * PANEL,
                       .panels = (int)panels,
                       .next_panel = b->n * PANEL * (int64_t)sizeof(float),
                       .accumulate = b->k > 0 };
    for (int64_t r = 0; r < tile.rows; r++) {
        if (t.accumulate)
            memcpy(t.c + r * t.ldc, to.y + r * to.stride, to.bytes);
        else
            vug_cpu_prefetch_output(to.y + r * to.stride, t.ldc);
    }
    for (int64_t j = 0; j < LANES && j < b->n; j++, t.accumulate = true) {
        const int64_t start = vug_cpu_lane_start(b->n, j);
        const float *w = b->panel + (panel * b->n + start) * PANEL;
        t.k = t.lda = vug_cpu_lane_size(b->n, j);
        t.a = input_of(b) + tile.offset + start * tile.rows;
        t.b = w;

        vug_cpu_prefetch_part(next);
        b->kernel.multiply((int)tile.rows, &t);
    }
    for (int64_t r = 0; r < tile.rows; r++)
        memcpy(to.y + r * to.stride, t.c + r * t.ldc, to.bytes);
}

/* Rows of x that are multiplied after tile `end`: those that follow, or the first ones of the next block,
 * or again of the first block. */
static vug_cpu_prefetch next_input(const panel_block *b, int64_t end, int64_t parts)
{
    const bool is_last = end == b->x.tiles, is_end = b->k + b->n >= b->c->k;
    const int64_t k = !is_last ? b->k : is_end ? 0 : b->k + b->n, n = block_size(b->c->k, k);
    const int64_t first = is_last ? 0 : end, left = b->x.tiles - first;
    const input_tile tile = input_tile_at(&b->x, first, b->c->k, k, n);
    const int64_t last = first + (left < b->at_once ? left : b->at_once);
    const int64_t floats = (tile_start(&b->x, last) - tile.first) * n;
    return (vug_cpu_prefetch){ .w = (const uint8_t *)(input_of(b) + tile.offset),
                               .stride = LINE_BYTES,
                               .bytes = LINE_BYTES,
                               .rows = (int)(floats * (int64_t)sizeof(float) / LINE_BYTES),
                               .parts = parts * LANES };
}

static void multiply_panels(panel_block *b)
{
    const int64_t groups = (b->panels + b->kernel.panels - 1) / b->kernel.panels;
    for (int64_t first = 0, end; first < b->x.tiles; first = end) {
        end = first + b->at_once < b->x.tiles ? first + b->at_once : b->x.tiles;
        vug_cpu_prefetch next = next_input(b, end, groups * (end - first));
        for (int64_t j = 0; j < groups; j++) {
            const int64_t panel = b->panels * j / groups, after = b->panels * (j + 1) / groups;
            for (int64_t i = first; i < end; i++)
                multiply_tile(b, i, panel, after - panel, &next);
        }
        for (int64_t i = first; i < end; i++)
            vug_cpu_prefetch_part(&b->next);
    }
}

void vug_cpu_float_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                          float *scratch) // NOLINT(readability-non-const-parameter): kernels write
{
    panel_block b = { .p = p,
                      .c = c,
                      .kernel = tile_kernel_of(p->env->kernels, c->kind),
                      .panels = (outputs_of(c) + PANEL - 1) / PANEL,
                      .sums = scratch,
                      .panel = scratch + TILE_FLOATS };
    float *decoded = b.panel + (int64_t)MAX_PANELS * VUG_CPU_KC * PANEL;
    const weight_rows w = get_weight_rows(p, c, c->first, 1, outputs_of(c), decoded);
    b.x = tiled_rows_of(c->first_row, c->rows, &b.kernel);
    b.at_once = ROWS_AT_ONCE / b.kernel.rows;
    for (b.k = 0; b.k < c->k; b.k += b.n) {
        b.n = block_size(c->k, b.k);
        b.next = next_weights(&b);
        pack_panels(&b, &w);
        multiply_panels(&b);
    }
}
