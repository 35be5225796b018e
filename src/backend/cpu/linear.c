/*
 * Matrix products with weights that stay where the file mapped them.
 *
 * Several rows of x: a panel of 16 outputs by one block of the sum is converted
 * and transposed into scratch that fits the first cache, then used by all rows,
 * which stream past it. One row: the weights are read once, so they are
 * converted on the way into the sum, and the next ones are asked for early.
 *
 * Both take every output's sum in the same order, so a row's result is the same
 * alone and among others.
 */
#include "backend/cpu/cpu.h"

enum {
    PANEL = VUG_CPU_PANEL,
    /* Weights of a chunk. Threads that alternate pieces much smaller than this
     * keep memory from streaming. */
    CHUNK_BYTES = 64 * 1024,
    /* Rows of x that meet one converted panel: their block of the sum, 640 KiB at
     * most, streams from the second or third cache for every panel. */
    RUNX = 18, ROW_BLOCK = 192,
    PANELS_PER_CHUNK = 4,
};

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_linear_job *job;
    int64_t tiles[VUG_CPU_MATRICES];       /* of 16 outputs */
    int64_t per_chunk[VUG_CPU_MATRICES];   /* tiles */
    int64_t first_chunk[VUG_CPU_MATRICES]; /* of each matrix */
    int64_t row_blocks;
    int64_t kc;
    vug_cpu_deal deal;
} product;

/* Some tiles of one matrix. */
typedef struct {
    const vug_cpu_matrix *m;
    int64_t first, end;
    int64_t stride; /* bytes of a row of weights */
} chunk;

static chunk chunk_at(const product *p, int64_t i)
{
    int m = p->job->n - 1;
    while (p->first_chunk[m] > i)
        m--;
    const int64_t first = (i - p->first_chunk[m]) * p->per_chunk[m];
    const int64_t end = first + p->per_chunk[m];
    const vug_cpu_matrix *matrix = &p->job->matrix[m];
    return (chunk){ matrix, first, end < p->tiles[m] ? end : p->tiles[m],
                    p->job->in * vug_dtype_of(matrix->dtype)->bytes };
}

static const uint8_t *tile_data(const chunk *c, int64_t tile)
{
    return c->m->data + tile * PANEL * c->stride;
}

static int tile_outputs(const chunk *c, int64_t tile)
{
    const int64_t left = c->m->out - tile * PANEL;
    return left < PANEL ? (int)left : PANEL;
}

/* ---- one row -------------------------------------------------------------- */

/* Outputs from `first`, fewer than 16: the end of a matrix. */
static void few_outputs(const product *p, const vug_cpu_matrix *m, int64_t first, int outputs,
                        float *panel)
{
    const vug_cpu_format *format = p->env->kernels->format[m->dtype];
    const int size = vug_dtype_of(m->dtype)->bytes;
    const int64_t stride = p->job->in * size;
    float y[PANEL];
    for (int64_t k = 0; k < p->job->in; k += p->kc) {
        const int64_t kc = p->job->in - k < p->kc ? p->job->in - k : p->kc;
        format->pack(m->data + first * stride + k * size, stride, outputs, kc, panel);
        p->env->kernels->tile(1, &(vug_cpu_tile){ .a = p->job->x + k,
                                                  .b = panel,
                                                  .c = y,
                                                  .k = kc,
                                                  .ldb = PANEL,
                                                  .accumulate = k > 0 });
    }
    memcpy(m->y + first, y, (size_t)outputs * sizeof(float));
}

/* Outputs first, first + apart, .. */
static void sixteen_outputs(const product *p, const vug_cpu_matrix *m, int64_t first, int64_t apart)
{
    const vug_cpu_format *format = p->env->kernels->format[m->dtype];
    const int size = vug_dtype_of(m->dtype)->bytes;
    float y[PANEL];
    vug_cpu_gemv g = { .x = p->job->x,
                       .w = m->data + first * p->job->in * size,
                       .y = y,
                       .stride = apart * p->job->in * size };
    for (int64_t left = p->job->in; left > 0; left -= g.k) {
        g.k = left < p->kc ? left : p->kc;
        format->gemv(&g);
        g.x += g.k;
        g.w += g.k * size;
        g.accumulate = true;
    }
    for (int r = 0; r < PANEL; r++)
        m->y[first + r * apart] = y[r];
}

/* The 16 rows of weights that are read side by side are not neighbours: each
 * starts a run of rows, so that memory sees 16 long streams and fetches ahead. */
static void one_row(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    product *p = arg;
    float *panel = p->env->scratch + thread * p->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        const chunk c = chunk_at(p, i);
        const int64_t first = c.first * PANEL;
        const int64_t end = c.end * PANEL < c.m->out ? c.end * PANEL : c.m->out;
        const int64_t run = (end - first) / PANEL;
        const int rest = (int)(end - first - run * PANEL);
        for (int64_t o = first; o < first + run; o++)
            sixteen_outputs(p, c.m, o, run);
        if (rest > 0)
            few_outputs(p, c.m, end - rest, rest, panel);
    }
}

/* ---- several rows --------------------------------------------------------- */

/* Rows `first` .. end-1 against one converted panel. */
static void rows_by_panel(const product *p, const vug_cpu_tile *shape, float *y, int64_t rows,
                          int outputs)
{
    vug_cpu_tile t = *shape;
    for (int64_t r = 0; r < rows; r += VUG_CPU_ROWS) {
        const int n = rows - r < VUG_CPU_ROWS ? (int)(rows - r) : VUG_CPU_ROWS;
        t.a = shape->a + r * t.lda;
        t.c = y + r * t.ldc;
        if (outputs == PANEL) {
            p->env->kernels->tile(n, &t);
            continue;
        }
        float wide[VUG_CPU_ROWS * PANEL];
        float *c = t.c;
        t.c = wide;
        t.ldc = PANEL;
        for (int i = 0; t.accumulate && i < n; i++)
            memcpy(wide + i * PANEL, c + i * shape->ldc, (size_t)outputs * sizeof(float));
        p->env->kernels->tile(n, &t);
        for (int i = 0; i < n; i++)
            memcpy(c + i * shape->ldc, wide + i * PANEL, (size_t)outputs * sizeof(float));
        t.ldc = shape->ldc;
    }
}

static void chunk_of_rows(const product *p, const chunk *c, int64_t first, int64_t rows,
                          float *panel)
{
    const vug_cpu_format *format = p->env->kernels->format[c->m->dtype];
    const int size = vug_dtype_of(c->m->dtype)->bytes;
    const int64_t in = p->job->in;
    for (int64_t k = 0; k < in; k += p->kc) {
        const int64_t kc = in - k < p->kc ? in - k : p->kc;
        const vug_cpu_tile shape = { .a = p->job->x + first * in + k,
                                     .b = panel,
                                     .k = kc,
                                     .lda = in,
                                     .ldb = PANEL,
                                     .ldc = c->m->out,
                                     .accumulate = k > 0 };
        for (int64_t tile = c->first; tile < c->end; tile++) {
            const int outputs = tile_outputs(c, tile);
            format->pack(tile_data(c, tile) + k * size, c->stride, outputs, kc, panel);
            rows_by_panel(p, &shape, c->m->y + first * c->m->out + tile * PANEL, rows, outputs);
        }
    }
}

static void many_rows(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    product *p = arg;
    float *panel = p->env->scratch + thread * p->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        const chunk c = chunk_at(p, i / p->row_blocks);
        const int64_t first = i % p->row_blocks * ROW_BLOCK;
        const int64_t left = p->job->rows - first;
        chunk_of_rows(p, &c, first, left < ROW_BLOCK ? left : ROW_BLOCK, panel);
    }
}

/* ---- a job ---------------------------------------------------------------- */

int64_t vug_cpu_linear_scratch(void)
{
    return (int64_t)VUG_CPU_KC * PANEL;
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
    int64_t chunks = 0;
    for (int m = 0; m < job->n; m++) {
        const vug_cpu_matrix *matrix = &job->matrix[m];
        const int64_t tile_bytes = PANEL * job->in * vug_dtype_of(matrix->dtype)->bytes;
        p.tiles[m] = (matrix->out + PANEL - 1) / PANEL;
        p.per_chunk[m] = single ? (RUNX * 16 * 1024 + tile_bytes - 1) / tile_bytes : PANELS_PER_CHUNK;
        p.first_chunk[m] = chunks;
        chunks += (p.tiles[m] + p.per_chunk[m] - 1) / p.per_chunk[m];
    }
    vug_cpu_deal_init(&p.deal, single ? chunks : chunks * p.row_blocks);
    vug_pool_run(env->pool, single ? one_row : many_rows, &p);
}
