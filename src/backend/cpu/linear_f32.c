/*
 * Products in F32. Few rows: kernels read the weights as streams, each once for all rows. Many
 * rows: x is in lane order (kernels.h), and a panel of 16 outputs by one block of the sum is
 * packed into scratch; each of its lanes fits the L1 cache.
 *
 * Weights in a format without kernels are decoded to F32 first, a few rows at a time.
 */
#include "backend/cpu/linear.h"
#include "quant/matrix.h"

enum {
    PANEL = VUG_CPU_PANEL,
    LANES = VUG_CPU_LANES,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
};

int64_t vug_cpu_f32_scratch_floats(vug_cpu_kernel_kind kind, int64_t in)
{
    const int64_t floats = ((int64_t)ROW_BLOCK + VUG_CPU_KC) * PANEL;
    return kind == VUG_CPU_KERNEL_DECODED ? floats + PANEL * in : floats;
}

/* Rows of weights in a format that kernels read. */
typedef struct {
    const vug_cpu_format *format;
    const uint8_t *w;
    int64_t stride, size; /* bytes of a row and of a weight */
} weight_rows;

/* Rows first, first + step, .. of the weights, `n` in all. They are decoded to `decoded`
 * [n,in] if no kernel reads their format. */
static weight_rows get_weight_rows(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                                   int64_t first, int64_t step, int64_t n, float *decoded)
{
    const vug_matrix *w = &c->projection->w;
    const vug_dtype dtype = c->kind == VUG_CPU_KERNEL_DIRECT ? w->dtype : VUG_DTYPE_F32;
    const int64_t size = vug_dtype_of(dtype)->bytes;
    const vug_cpu_format *format = p->env->kernels->format[dtype];
    if (c->kind == VUG_CPU_KERNEL_DIRECT)
        return (weight_rows){ format, w->data + first * c->stride, step * c->stride, size };
    for (int64_t r = 0; r < n; r++)
        vug_matrix_decode(w, first + r * step, decoded + r * w->columns);
    return (weight_rows){ format, (const uint8_t *)decoded, w->columns * size, size };
}

/* ---- streams -------------------------------------------------------------- */

void vug_cpu_f32_streams(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t first,
                         int64_t step, float *scratch, float *y)
{
    const int n = step ? VUG_CPU_STREAMS : 1;
    const weight_rows w = get_weight_rows(p, c, first, step, n, scratch);
    const float *x[VUG_CPU_F32_STREAM_ROWS];
    for (int64_t r = 0; r < c->rows; r++)
        x[r] = vug_cpu_input_row(p, c->first_row + r);
    w.format->gemm(&(vug_cpu_gemm){ .x = x,
                                    .rows = (int)c->rows,
                                    .w = w.w,
                                    .y = y,
                                    .k = p->job->in,
                                    .stride = step ? w.stride : 0 });
}

/* ---- panels --------------------------------------------------------------- */

/* A lane of block k .. k + n - 1 of x in lane order, [rows][lane size]: the rows of a lane
 * are neighbours because they are used together. */
static float *lane_at(const vug_cpu_linear_run *p, int64_t k, int64_t n, int64_t lane)
{
    return p->lane_ordered + p->job->rows * (k + vug_cpu_lane_start(n, lane));
}

static int64_t block_size(const vug_cpu_linear_run *p, int64_t k, int64_t kc)
{
    return p->job->in - k < kc ? p->job->in - k : kc;
}

void vug_cpu_f32_pack_input(const vug_cpu_linear_run *p, int64_t t)
{
    const float *x = vug_cpu_input_row(p, t);
    const int64_t kc = vug_cpu_kc(p->job->in);
    for (int64_t k = 0; k < p->job->in; k += kc) {
        const int64_t n = block_size(p, k, kc);
        for (int64_t j = 0; j < LANES; j++) {
            const int64_t size = vug_cpu_lane_size(n, j);
            float *to = lane_at(p, k, n, j) + t * size;
            for (int64_t i = 0; i < size; i++)
                to[i] = x[k + j + i * LANES];
        }
    }
}

static int64_t tiles_of(const vug_cpu_kernels *kernels, int64_t rows)
{
    return (rows + kernels->tile_rows - 1) / kernels->tile_rows;
}

/* Multiplies `rows` rows with one lane of a panel; `first_row` describes the first row. Rows
 * are divided evenly among tiles: two tiles of 4 rows keep the multipliers busy, a tile of 6
 * and one of 2 do not. */
static void multiply_lane(const vug_cpu_kernels *kernels, const vug_cpu_tile *first_row,
                          int64_t rows, vug_cpu_prefetch *next)
{
    vug_cpu_tile t = *first_row;
    const int64_t tiles = tiles_of(kernels, rows);
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t r = rows * i / tiles;
        vug_cpu_prefetch_part(kernels, next);
        t.a = first_row->a + r * first_row->lda;
        t.c = first_row->c + r * first_row->ldc;
        kernels->tile((int)(rows * (i + 1) / tiles - r), &t);
    }
}

/* The weights that follow the panel at `output`, block `k`, in the order of the loops below. */
static vug_cpu_prefetch next_weights(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                                     int64_t output, int64_t k)
{
    const int64_t kc = vug_cpu_kc(p->job->in), size = c->stride / p->job->in;
    const bool is_last = k + kc >= p->job->in;
    const int64_t o = is_last ? output + PANEL : output, at = is_last ? 0 : k + kc;
    if (o >= c->end || c->kind != VUG_CPU_KERNEL_DIRECT)
        return (vug_cpu_prefetch){ 0 };
    return (vug_cpu_prefetch){ .w = c->projection->w.data + o * c->stride + at * size,
                               .stride = c->stride,
                               .bytes = block_size(p, at, kc) * size,
                               .rows = vug_cpu_panel_outputs(c, o),
                               .parts = LANES * tiles_of(p->env->kernels, c->rows) };
}

/* Multiplies all rows of the chunk with the panel of one block, which begins at `k`, and adds
 * the products to the sums. `panel` says where the panel and the sums lie. */
static void multiply_panel(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t k,
                           const vug_cpu_tile *panel, vug_cpu_prefetch *next)
{
    const int64_t n = block_size(p, k, vug_cpu_kc(p->job->in));
    vug_cpu_tile t = *panel;
    for (int64_t j = 0; j < LANES && j < n; j++) {
        t.k = t.lda = vug_cpu_lane_size(n, j);
        t.a = lane_at(p, k, n, j) + c->first_row * t.k;
        t.b = (const float *)panel->b + vug_cpu_lane_start(n, j) * PANEL;
        t.accumulate = k > 0 || j > 0;
        multiply_lane(p->env->kernels, &t, c->rows, next);
    }
}

/* The sums of a panel stay in `y` [rows][16] until they are complete: in the output they lie
 * far apart, often in the same set of a cache. */
void vug_cpu_f32_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, float *scratch)
{
    float *y = scratch, *panel = y + (int64_t)ROW_BLOCK * PANEL;
    float *decoded = panel + (int64_t)VUG_CPU_KC * PANEL;
    const int64_t kc = vug_cpu_kc(p->job->in);
    const vug_cpu_tile tile = { .b = panel, .c = y, .ldb = PANEL, .ldc = PANEL };
    for (int64_t o = c->first; o < c->end; o += PANEL) {
        const int outputs = vug_cpu_panel_outputs(c, o);
        const weight_rows w = get_weight_rows(p, c, o, 1, outputs, decoded);
        for (int64_t k = 0; k < p->job->in; k += kc) {
            vug_cpu_prefetch next = next_weights(p, c, o, k);
            w.format->pack(w.w + k * w.size, w.stride, outputs, block_size(p, k, kc), panel);
            multiply_panel(p, c, k, &tile, &next);
        }
        for (int64_t r = 0; r < c->rows; r++)
            memcpy(c->projection->y + (c->first_row + r) * c->projection->out + o, y + r * PANEL,
                   (size_t)outputs * sizeof(float));
    }
}
