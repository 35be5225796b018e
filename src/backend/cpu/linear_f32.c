/*
 * Products in F32. Several rows: x lies in lane order (kernels.h); a panel of 16 outputs by
 * one block of the sum is converted and transposed into scratch, and each of its lanes fits
 * the first cache.
 *
 * Weights that have no kernels of their own are decoded first, as many rows as are needed
 * at a time, and then are F32.
 */
#include "backend/cpu/linear.h"

enum {
    PANEL = VUG_CPU_PANEL,
    LANES = VUG_CPU_LANES,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
};

int64_t vug_cpu_f32_scratch(vug_cpu_way way, int64_t in)
{
    const int64_t own = ((int64_t)ROW_BLOCK + VUG_CPU_KC) * PANEL;
    return way == VUG_CPU_DECODED ? own + PANEL * in : own;
}

/* Rows of weights as kernels read them. */
typedef struct {
    const vug_cpu_format *format;
    const uint8_t *w;
    int64_t stride, size; /* bytes of a row and of a weight */
} rows_of_weights;

/* `n` rows, `apart` rows from one to the next. `decoded` [n,in] is for those that have to
 * be decoded. */
static rows_of_weights weights_at(const vug_cpu_product *p, const vug_cpu_chunk *c, int64_t first,
                                  int64_t apart, int64_t n, float *decoded)
{
    const vug_matrix *w = &c->m->w;
    const vug_dtype dtype = c->way == VUG_CPU_DIRECT ? w->dtype : VUG_DTYPE_F32;
    const int64_t size = vug_dtype_of(dtype)->bytes;
    const vug_cpu_format *format = p->env->kernels->format[dtype];
    if (c->way == VUG_CPU_DIRECT)
        return (rows_of_weights){ format, w->data + first * c->stride, apart * c->stride, size };
    for (int64_t r = 0; r < n; r++)
        vug_matrix_decode(w, first + r * apart, decoded + r * w->columns);
    return (rows_of_weights){ format, (const uint8_t *)decoded, w->columns * size, size };
}

/* ---- one row -------------------------------------------------------------- */

void vug_cpu_f32_four(const vug_cpu_product *p, const vug_cpu_chunk *c, int64_t first,
                      int64_t apart, float *scratch, float *y)
{
    const int n = apart ? VUG_CPU_STREAMS : 1;
    const rows_of_weights w = weights_at(p, c, first, apart, n, scratch);
    w.format->gemv(&(vug_cpu_gemv){ .x = vug_cpu_row_of(p, c->first_row),
                                    .w = w.w,
                                    .y = y,
                                    .k = p->job->in,
                                    .stride = apart ? w.stride : 0 });
}

/* ---- several rows --------------------------------------------------------- */

/* Where the elements of a block's lane lie in the arranged x, [rows][lane size]:
 * the rows of a lane are neighbours, because they are used together. */
static float *arranged_at(const vug_cpu_product *p, int64_t k, int64_t n, int64_t lane)
{
    return p->arranged + p->job->rows * (k + vug_cpu_lane_start(n, lane));
}

static int64_t block_size(const vug_cpu_product *p, int64_t k, int64_t kc)
{
    return p->job->in - k < kc ? p->job->in - k : kc;
}

void vug_cpu_f32_prepare(const vug_cpu_product *p, int64_t t)
{
    const float *x = vug_cpu_row_of(p, t);
    const int64_t kc = vug_cpu_kc(p->job->in);
    for (int64_t k = 0; k < p->job->in; k += kc) {
        const int64_t n = block_size(p, k, kc);
        for (int64_t j = 0; j < LANES; j++) {
            const int64_t size = vug_cpu_lane_size(n, j);
            float *to = arranged_at(p, k, n, j) + t * size;
            for (int64_t i = 0; i < size; i++)
                to[i] = x[k + j + i * LANES];
        }
    }
}

static int64_t tiles_of(int64_t rows)
{
    return (rows + VUG_CPU_ROWS - 1) / VUG_CPU_ROWS;
}

/* `rows` rows against one lane of a panel. `shape` is that of the first row. Rows are
 * shared evenly among tiles: two tiles of 4 rows keep the multipliers busy, one of 6
 * and one of 2 do not. */
static void rows_by_lane(const vug_cpu_kernels *kernels, const vug_cpu_tile *shape, int64_t rows,
                         vug_cpu_hint *next)
{
    vug_cpu_tile t = *shape;
    const int64_t tiles = tiles_of(rows);
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t r = rows * i / tiles;
        vug_cpu_fetch_part(kernels, next);
        t.a = shape->a + r * shape->lda;
        t.c = shape->c + r * shape->ldc;
        kernels->tile((int)(rows * (i + 1) / tiles - r), &t);
    }
}

/* What follows the panel at `output`, block `k` in the order of the loops below. */
static vug_cpu_hint after(const vug_cpu_product *p, const vug_cpu_chunk *c, int64_t output,
                          int64_t k)
{
    const int64_t kc = vug_cpu_kc(p->job->in), size = c->stride / p->job->in;
    const bool is_last = k + kc >= p->job->in;
    const int64_t o = is_last ? output + PANEL : output, at = is_last ? 0 : k + kc;
    if (o >= c->end || c->way != VUG_CPU_DIRECT)
        return (vug_cpu_hint){ 0 };
    return (vug_cpu_hint){ .w = c->m->w.data + o * c->stride + at * size,
                           .stride = c->stride,
                           .bytes = block_size(p, at, kc) * size,
                           .rows = vug_cpu_panel_outputs(c, o),
                           .parts = LANES * tiles_of(c->rows) };
}

/* Adds a block of a panel's sums, from `k` on, to those of all rows; `panel` says where both
 * lie. */
static void add_panel(const vug_cpu_product *p, const vug_cpu_chunk *c, int64_t k,
                      const vug_cpu_tile *panel, vug_cpu_hint *next)
{
    const int64_t n = block_size(p, k, vug_cpu_kc(p->job->in));
    vug_cpu_tile shape = *panel;
    for (int64_t j = 0; j < LANES && j < n; j++) {
        shape.k = shape.lda = vug_cpu_lane_size(n, j);
        shape.a = arranged_at(p, k, n, j) + c->first_row * shape.k;
        shape.b = (const float *)panel->b + vug_cpu_lane_start(n, j) * PANEL;
        shape.accumulate = k > 0 || j > 0;
        rows_by_lane(p->env->kernels, &shape, c->rows, next);
    }
}

/* The sums of a panel stay in `y` [rows][16] until they are whole: in the output
 * they lie far apart, often in the same set of a cache. */
void vug_cpu_f32_rows(const vug_cpu_product *p, const vug_cpu_chunk *c, float *scratch)
{
    float *y = scratch, *panel = y + (int64_t)ROW_BLOCK * PANEL;
    float *decoded = panel + (int64_t)VUG_CPU_KC * PANEL;
    const int64_t kc = vug_cpu_kc(p->job->in);
    const vug_cpu_tile shape = { .b = panel, .c = y, .ldb = PANEL, .ldc = PANEL };
    for (int64_t o = c->first; o < c->end; o += PANEL) {
        const int outputs = vug_cpu_panel_outputs(c, o);
        const rows_of_weights w = weights_at(p, c, o, 1, outputs, decoded);
        for (int64_t k = 0; k < p->job->in; k += kc) {
            vug_cpu_hint next = after(p, c, o, k);
            w.format->pack(w.w + k * w.size, w.stride, outputs, block_size(p, k, kc), panel);
            add_panel(p, c, k, &shape, &next);
        }
        for (int64_t r = 0; r < c->rows; r++)
            memcpy(c->m->y + (c->first_row + r) * c->m->out + o, y + r * PANEL,
                   (size_t)outputs * sizeof(float));
    }
}
