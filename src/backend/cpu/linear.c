/*
 * Matrix products with weights that stay where the file mapped them.
 *
 * Several rows of x: x is put into lane order once (kernels.h). A panel of 16
 * outputs by one block of the sum is converted and transposed into scratch that
 * fits the second cache; each of its lanes fits the first, and all rows stream past
 * it. One row: every weight is used once, so it is converted on the way into the
 * sum, and all that matters is to keep memory busy.
 *
 * Both take every output's sum in the same order, so a row's result is the same
 * alone and among others.
 */
#include "backend/cpu/cpu.h"

enum {
    PANEL = VUG_CPU_PANEL,
    LANES = VUG_CPU_LANES,
    STREAMS = VUG_CPU_STREAMS,
    /* Rows of x that meet one converted panel. Their sums, 32 KiB, stay in the second
     * cache; a lane of x streams from there or from the third for every panel. Fewer
     * rows convert the weights more often: 48 were 10 % slower, 192 a few percent. */
    ROW_BLOCK = 512,
    CHUNK_OUTPUTS = 4 * PANEL, /* of several rows */
    /* Bytes that each of the streams of weights reads in a row: shorter runs leave
     * the hardware's prefetch behind (one thread read 21 GB/s in runs of 36 KiB, 22 in
     * runs of 72, 12 in single rows of 2 KiB). */
    RUN_BYTES = 64 * 1024,
    CHUNKS_PER_THREAD = 4, /* or more, so that threads end together */
    ROWS_ARRANGED = 4,     /* at a time */
};

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_linear_job *job;
    int64_t per_chunk[VUG_CPU_MATRICES];   /* outputs */
    int64_t first_chunk[VUG_CPU_MATRICES]; /* of each matrix */
    int64_t row_blocks;
    int64_t kc;
    vug_cpu_deal deal;
} product;

/* Outputs first .. end-1 of one matrix. */
typedef struct {
    const vug_cpu_matrix *m;
    const vug_cpu_format *format;
    int64_t first, end;
    int64_t size;   /* bytes of a weight */
    int64_t stride; /* bytes of a row of weights */
} chunk;

static chunk chunk_at(const product *p, int64_t i)
{
    int m = p->job->n - 1;
    while (p->first_chunk[m] > i)
        m--;
    const vug_cpu_matrix *matrix = &p->job->matrix[m];
    const int64_t size = vug_dtype_of(matrix->dtype)->bytes;
    const int64_t first = (i - p->first_chunk[m]) * p->per_chunk[m];
    const int64_t end = first + p->per_chunk[m];
    return (chunk){ .m = matrix,
                    .format = p->env->kernels->format[matrix->dtype],
                    .first = first,
                    .end = end < matrix->out ? end : matrix->out,
                    .size = size,
                    .stride = p->job->in * size };
}

static const uint8_t *weights_at(const chunk *c, int64_t output, int64_t k)
{
    return c->m->data + output * c->stride + k * c->size;
}

/* ---- one row -------------------------------------------------------------- */

/* Rows of a run: about RUN_BYTES, or what is left after sharing the job among the
 * threads. */
static int64_t run_of(int64_t row_bytes, int64_t job_bytes, int threads)
{
    const int64_t share = job_bytes / ((int64_t)threads * CHUNKS_PER_THREAD * STREAMS);
    const int64_t bytes = share < RUN_BYTES ? share : RUN_BYTES;
    return bytes / row_bytes > 1 ? bytes / row_bytes : 1;
}

/* Outputs first, first + apart, ..; `y` [4] in that order. */
static void four_outputs(const product *p, const chunk *c, int64_t first, int64_t apart, float *y)
{
    c->format->gemv(&(vug_cpu_gemv){ .x = p->job->x,
                                     .w = weights_at(c, first, 0),
                                     .y = y,
                                     .k = p->job->in,
                                     .stride = apart * c->stride });
}

/* The rows of weights that are read side by side are not neighbours: each starts a
 * run of rows, so that memory sees a few long streams. */
static void one_row(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    product *p = arg;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        const chunk c = chunk_at(p, i);
        const int64_t run = (c.end - c.first) / STREAMS;
        float y[STREAMS];
        for (int64_t o = c.first; o < c.first + run; o++) {
            four_outputs(p, &c, o, run, y);
            for (int64_t r = 0; r < STREAMS; r++)
                c.m->y[o + r * run] = y[r];
        }
        for (int64_t o = c.first + run * STREAMS; o < c.end; o++) {
            four_outputs(p, &c, o, 0, y);
            c.m->y[o] = y[0];
        }
    }
}

/* ---- several rows --------------------------------------------------------- */

/* Where the elements of a block's lane lie in the arranged x, [rows][lane size]:
 * the rows of a lane are neighbours, because they are used together. */
static float *arranged_at(const product *p, int64_t k, int64_t n, int64_t lane)
{
    return p->env->shared + p->job->rows * (k + vug_cpu_lane_start(n, lane));
}

static int64_t block_size(const product *p, int64_t k)
{
    return p->job->in - k < p->kc ? p->job->in - k : p->kc;
}

static void arrange_row(const product *p, int64_t t)
{
    const float *x = p->job->x + t * p->job->in;
    for (int64_t k = 0; k < p->job->in; k += p->kc) {
        const int64_t n = block_size(p, k);
        for (int64_t j = 0; j < LANES; j++) {
            const int64_t size = vug_cpu_lane_size(n, j);
            float *to = arranged_at(p, k, n, j) + t * size;
            for (int64_t i = 0; i < size; i++)
                to[i] = x[k + j + i * LANES];
        }
    }
}

static void arrange(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    product *p = arg;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        for (int64_t t = i * ROWS_ARRANGED; t < (i + 1) * ROWS_ARRANGED && t < p->job->rows; t++)
            arrange_row(p, t);
    }
}

/* Weights that are needed next, to be asked for a part at a time. */
typedef struct {
    const uint8_t *w; /* NULL: unknown */
    int64_t stride, bytes;
    int rows;
    int64_t part, parts;
} hint;

static void fetch_part(const vug_cpu_kernels *kernels, hint *next)
{
    if (!next->w)
        return;
    const int64_t first = next->rows * next->part / next->parts;
    const int64_t end = next->rows * ++next->part / next->parts;
    kernels->fetch(next->w + first * next->stride, next->stride, (int)(end - first), next->bytes);
}

static int64_t tiles_of(int64_t rows)
{
    return (rows + VUG_CPU_ROWS - 1) / VUG_CPU_ROWS;
}

/* `rows` rows against one lane of a panel. `shape` is that of the first row. Rows are
 * shared evenly among tiles: two tiles of 4 rows keep the multipliers busy, one of 6
 * and one of 2 do not. */
static void rows_by_lane(const vug_cpu_kernels *kernels, const vug_cpu_tile *shape, int64_t rows,
                         hint *next)
{
    vug_cpu_tile t = *shape;
    const int64_t tiles = tiles_of(rows);
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t r = rows * i / tiles;
        fetch_part(kernels, next);
        t.a = shape->a + r * shape->lda;
        t.c = shape->c + r * shape->ldc;
        kernels->tile((int)(rows * (i + 1) / tiles - r), &t);
    }
}

static int panel_outputs(const chunk *c, int64_t output)
{
    return c->end - output < PANEL ? (int)(c->end - output) : PANEL;
}

/* What follows the panel at `output`, block `k` in the order of rows_of_chunk. */
static hint after(const product *p, const chunk *c, int64_t output, int64_t k, int64_t rows)
{
    const bool is_last = k + p->kc >= p->job->in;
    const int64_t o = is_last ? output + PANEL : output, at = is_last ? 0 : k + p->kc;
    if (o >= c->end)
        return (hint){ 0 };
    return (hint){ .w = weights_at(c, o, at),
                   .stride = c->stride,
                   .bytes = block_size(p, at) * c->size,
                   .rows = panel_outputs(c, o),
                   .parts = LANES * tiles_of(rows) };
}

/* The sums of a panel stay in `y` [rows][16] until they are whole: in the output
 * they lie far apart, often in the same set of a cache. */
static void rows_of_chunk(const product *p, const chunk *c, int64_t first_row, int64_t rows,
                          float *scratch)
{
    float *y = scratch, *panel = scratch + (int64_t)ROW_BLOCK * PANEL;
    for (int64_t o = c->first; o < c->end; o += PANEL) {
        const int outputs = panel_outputs(c, o);
        for (int64_t k = 0; k < p->job->in; k += p->kc) {
            const int64_t n = block_size(p, k);
            hint next = after(p, c, o, k, rows);
            c->format->pack(weights_at(c, o, k), c->stride, outputs, n, panel);
            for (int64_t j = 0; j < LANES && j < n; j++) {
                const int64_t size = vug_cpu_lane_size(n, j);
                const vug_cpu_tile shape = {
                    .a = arranged_at(p, k, n, j) + first_row * size,
                    .b = panel + vug_cpu_lane_start(n, j) * PANEL,
                    .c = y,
                    .k = size,
                    .lda = size,
                    .ldb = PANEL,
                    .ldc = PANEL,
                    .accumulate = k > 0 || j > 0,
                };
                rows_by_lane(p->env->kernels, &shape, rows, &next);
            }
        }
        for (int64_t r = 0; r < rows; r++)
            memcpy(c->m->y + (first_row + r) * c->m->out + o, y + r * PANEL,
                   (size_t)outputs * sizeof(float));
    }
}

static void many_rows(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    product *p = arg;
    float *scratch = p->env->scratch + thread * p->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        const chunk c = chunk_at(p, i / p->row_blocks);
        const int64_t first = i % p->row_blocks * ROW_BLOCK;
        const int64_t left = p->job->rows - first;
        rows_of_chunk(p, &c, first, left < ROW_BLOCK ? left : ROW_BLOCK, scratch);
    }
}

/* ---- a job ---------------------------------------------------------------- */

int64_t vug_cpu_linear_scratch(void)
{
    return ((int64_t)ROW_BLOCK + VUG_CPU_KC) * PANEL;
}

void vug_cpu_linear(const vug_cpu_env *env, const vug_cpu_linear_job *job)
{
    if (job->rows == 0)
        return;
    const bool single = job->rows == 1;
    product p = { .env = env,
                  .job = job,
                  .row_blocks = (job->rows + ROW_BLOCK - 1) / ROW_BLOCK,
                  .kc = vug_cpu_kc(job->in) };
    int64_t bytes = 0, chunks = 0;
    for (int m = 0; m < job->n; m++)
        bytes += job->matrix[m].out * job->in * vug_dtype_of(job->matrix[m].dtype)->bytes;
    for (int m = 0; m < job->n; m++) {
        const int64_t row_bytes = job->in * vug_dtype_of(job->matrix[m].dtype)->bytes;
        p.per_chunk[m] = single ? STREAMS * run_of(row_bytes, bytes, vug_pool_threads(env->pool))
                                : CHUNK_OUTPUTS;
        p.first_chunk[m] = chunks;
        chunks += (job->matrix[m].out + p.per_chunk[m] - 1) / p.per_chunk[m];
    }
    if (!single) {
        vug_cpu_deal_init(&p.deal, (job->rows + ROWS_ARRANGED - 1) / ROWS_ARRANGED);
        vug_pool_run(env->pool, arrange, &p);
    }
    vug_cpu_deal_init(&p.deal, single ? chunks : chunks * p.row_blocks);
    vug_pool_run(env->pool, single ? one_row : many_rows, &p);
}
