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
 *
 * A job is a list of groups of rows, each with its own weights: one for a plain
 * product, one for each chosen expert. All their chunks are dealt out together, so
 * that threads are busy whether there is one group of many rows or the reverse.
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
    const vug_cpu_grouped_job *job;
    int64_t bytes; /* of all weights */
    int64_t kc;
    vug_cpu_deal deal;
} product;

/* Outputs first .. end-1 of one matrix, for rows first_row .. first_row + rows - 1. */
typedef struct {
    const vug_cpu_matrix *m;
    const vug_cpu_format *format;
    int64_t first, end;
    int64_t first_row, rows;
    bool single;    /* the only row of its group */
    int64_t size;   /* bytes of a weight */
    int64_t stride; /* bytes of a row of weights */
} chunk;

static int64_t size_of(const vug_cpu_matrix *m)
{
    return vug_dtype_of(m->dtype)->bytes;
}

/* Rows of weights of a run: about RUN_BYTES, or what is left after sharing the job
 * among the threads. */
static int64_t run_of(const product *p, const vug_cpu_matrix *m)
{
    const int64_t row_bytes = p->job->in * size_of(m);
    const int64_t threads = vug_pool_threads(p->env->pool);
    const int64_t share = p->bytes / (threads * CHUNKS_PER_THREAD * STREAMS);
    const int64_t bytes = share < RUN_BYTES ? share : RUN_BYTES;
    return bytes / row_bytes > 1 ? bytes / row_bytes : 1;
}

/* Outputs of a chunk of matrix `m`. */
static int64_t per_chunk(const product *p, const vug_cpu_group *g, int m)
{
    return g->rows == 1 ? STREAMS * run_of(p, &g->matrix[m]) : CHUNK_OUTPUTS;
}

static int64_t row_blocks(const vug_cpu_group *g)
{
    return (g->rows + ROW_BLOCK - 1) / ROW_BLOCK;
}

static int64_t chunks_of(const product *p, const vug_cpu_group *g, int m)
{
    const int64_t n = per_chunk(p, g, m);
    return (g->matrix[m].out + n - 1) / n * row_blocks(g);
}

static const vug_cpu_group *group_of(const product *p, int64_t i)
{
    int64_t low = 0, high = p->job->n_groups;
    while (high - low > 1) {
        const int64_t mid = low + (high - low) / 2;
        if (p->job->group[mid].first_chunk <= i)
            low = mid;
        else
            high = mid;
    }
    return &p->job->group[low];
}

/* Blocks of rows that meet the same weights follow each other. */
static chunk chunk_at(const product *p, int64_t i)
{
    const vug_cpu_group *g = group_of(p, i);
    int m = 0;
    i -= g->first_chunk;
    for (; i >= chunks_of(p, g, m); m++)
        i -= chunks_of(p, g, m);
    const vug_cpu_matrix *matrix = &g->matrix[m];
    const int64_t blocks = row_blocks(g), n = per_chunk(p, g, m);
    const int64_t first = i / blocks * n, row = i % blocks * ROW_BLOCK;
    return (chunk){ .m = matrix,
                    .format = p->env->kernels->format[matrix->dtype],
                    .first = first,
                    .end = first + n < matrix->out ? first + n : matrix->out,
                    .first_row = g->first + row,
                    .rows = g->rows - row < ROW_BLOCK ? g->rows - row : ROW_BLOCK,
                    .single = g->rows == 1,
                    .size = size_of(matrix),
                    .stride = p->job->in * size_of(matrix) };
}

/* Row `r` of the job. */
static const float *row_at(const product *p, int64_t r)
{
    return p->job->x + (p->job->index ? p->job->index[r] : r) * p->job->in;
}

static const uint8_t *weights_at(const chunk *c, int64_t output, int64_t k)
{
    return c->m->data + output * c->stride + k * c->size;
}

/* ---- one row -------------------------------------------------------------- */

/* Outputs first, first + apart, ..; `y` [4] in that order. */
static void four_outputs(const product *p, const chunk *c, int64_t first, int64_t apart, float *y)
{
    c->format->gemv(&(vug_cpu_gemv){ .x = row_at(p, c->first_row),
                                     .w = weights_at(c, first, 0),
                                     .y = y,
                                     .k = p->job->in,
                                     .stride = apart * c->stride });
}

/* The rows of weights that are read side by side are not neighbours: each starts a
 * run of rows, so that memory sees a few long streams. */
static void one_row(const product *p, const chunk *c)
{
    const int64_t run = (c->end - c->first) / STREAMS;
    float *to = c->m->y + c->first_row * c->m->out, y[STREAMS];
    for (int64_t o = c->first; o < c->first + run; o++) {
        four_outputs(p, c, o, run, y);
        for (int64_t r = 0; r < STREAMS; r++)
            to[o + r * run] = y[r];
    }
    for (int64_t o = c->first + run * STREAMS; o < c->end; o++) {
        four_outputs(p, c, o, 0, y);
        to[o] = y[0];
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
    const float *x = row_at(p, t);
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

/* What follows the panel at `output`, block `k` in the order of many_rows. */
static hint after(const product *p, const chunk *c, int64_t output, int64_t k)
{
    const bool is_last = k + p->kc >= p->job->in;
    const int64_t o = is_last ? output + PANEL : output, at = is_last ? 0 : k + p->kc;
    if (o >= c->end)
        return (hint){ 0 };
    return (hint){ .w = weights_at(c, o, at),
                   .stride = c->stride,
                   .bytes = block_size(p, at) * c->size,
                   .rows = panel_outputs(c, o),
                   .parts = LANES * tiles_of(c->rows) };
}

/* The sums of a panel stay in `y` [rows][16] until they are whole: in the output
 * they lie far apart, often in the same set of a cache. */
static void many_rows(const product *p, const chunk *c, float *scratch)
{
    float *y = scratch, *panel = scratch + (int64_t)ROW_BLOCK * PANEL;
    for (int64_t o = c->first; o < c->end; o += PANEL) {
        const int outputs = panel_outputs(c, o);
        for (int64_t k = 0; k < p->job->in; k += p->kc) {
            const int64_t n = block_size(p, k);
            hint next = after(p, c, o, k);
            c->format->pack(weights_at(c, o, k), c->stride, outputs, n, panel);
            for (int64_t j = 0; j < LANES && j < n; j++) {
                const int64_t size = vug_cpu_lane_size(n, j);
                const vug_cpu_tile shape = {
                    .a = arranged_at(p, k, n, j) + c->first_row * size,
                    .b = panel + vug_cpu_lane_start(n, j) * PANEL,
                    .c = y,
                    .k = size,
                    .lda = size,
                    .ldb = PANEL,
                    .ldc = PANEL,
                    .accumulate = k > 0 || j > 0,
                };
                rows_by_lane(p->env->kernels, &shape, c->rows, &next);
            }
        }
        for (int64_t r = 0; r < c->rows; r++)
            memcpy(c->m->y + (c->first_row + r) * c->m->out + o, y + r * PANEL,
                   (size_t)outputs * sizeof(float));
    }
}

/* ---- a job ---------------------------------------------------------------- */

int64_t vug_cpu_linear_scratch(void)
{
    return ((int64_t)ROW_BLOCK + VUG_CPU_KC) * PANEL;
}

static void run_chunks(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    product *p = arg;
    float *scratch = p->env->scratch + thread * p->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        const chunk c = chunk_at(p, i);
        if (c.single)
            one_row(p, &c);
        else
            many_rows(p, &c, scratch);
    }
}

void vug_cpu_linear_grouped(const vug_cpu_env *env, const vug_cpu_grouped_job *job)
{
    product p = { .env = env, .job = job, .kc = vug_cpu_kc(job->in) };
    int64_t chunks = 0;
    bool several = false;
    for (int64_t g = 0; g < job->n_groups; g++) {
        for (int m = 0; m < job->n; m++)
            p.bytes += job->group[g].matrix[m].out * job->in * size_of(&job->group[g].matrix[m]);
    }
    for (int64_t g = 0; g < job->n_groups; g++) {
        several |= job->group[g].rows > 1;
        job->group[g].first_chunk = chunks;
        for (int m = 0; m < job->n; m++)
            chunks += chunks_of(&p, &job->group[g], m);
    }
    if (several) {
        vug_cpu_deal_init(&p.deal, (job->rows + ROWS_ARRANGED - 1) / ROWS_ARRANGED);
        vug_pool_run(env->pool, arrange, &p);
    }
    vug_cpu_deal_init(&p.deal, chunks);
    vug_pool_run(env->pool, run_chunks, &p);
}

void vug_cpu_linear(const vug_cpu_env *env, const vug_cpu_linear_job *job)
{
    if (job->rows == 0)
        return;
    vug_cpu_group all = { .rows = job->rows, .matrix = job->matrix };
    vug_cpu_linear_grouped(env, &(vug_cpu_grouped_job){ .x = job->x,
                                                        .rows = job->rows,
                                                        .in = job->in,
                                                        .group = &all,
                                                        .n_groups = 1,
                                                        .n = job->n });
}
