/*
 * Matrix products with weights that stay where the file mapped them.
 *
 * Several rows of x: a panel of 16 outputs by one block of the sum is converted
 * and transposed into scratch that fits the first cache, then used by all rows,
 * which stream past it. One row: every weight is used once, so it is converted
 * on the way into the sum, and all that matters is to keep memory busy.
 *
 * Both take every output's sum in the same order, so a row's result is the same
 * alone and among others.
 */
#include "backend/cpu/cpu.h"

enum {
    PANEL = VUG_CPU_PANEL,
    /* Rows of x that meet one converted panel: their block of the sum, 240 KiB
     * at most, stays in the second cache. */
    ROW_BLOCK = 192,
    PANELS_PER_CHUNK = 4,
    /* Bytes that one of 16 streams of weights reads in a row. Longer runs gain
     * nothing, shorter ones leave the hardware's prefetch behind (runs of 4 KiB
     * reach 70 % of the bandwidth of those of 24). */
    RUN_BYTES = 24 * 1024,
    CHUNKS_PER_THREAD = 4, /* or more, so that threads end together */
    LINE = 64,             /* bytes, of a cache line */
    SETS = 64,             /* of a first cache of 32 KiB and 8 ways */
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

/* The most of 16 rows `stride` bytes apart that share a set of the cache. */
static int crowding(int64_t stride)
{
    int most = 0;
    for (int64_t r = 0; r < PANEL; r++) {
        int same = 0;
        for (int64_t s = 0; s < PANEL; s++)
            same += r * stride / LINE % SETS == s * stride / LINE % SETS;
        most = same > most ? same : most;
    }
    return most;
}

/* Rows of a run: about RUN_BYTES or what is left after sharing the job among the
 * threads, and of such a number that the 16 streams do not evict each other. */
static int64_t run_of(int64_t row_bytes, int64_t job_bytes, int threads)
{
    const int64_t share = job_bytes / ((int64_t)threads * CHUNKS_PER_THREAD * PANEL);
    const int64_t bytes = share < RUN_BYTES ? share : RUN_BYTES;
    const int64_t most = bytes / row_bytes > 1 ? bytes / row_bytes : 1;
    int64_t best = most;
    for (int64_t run = most - 1; run > most / 2; run--) {
        if (crowding(run * row_bytes) < crowding(best * row_bytes))
            best = run;
    }
    return best;
}

/* Outputs from `first`, fewer than 16: the end of a chunk. */
static void few_outputs(const product *p, const chunk *c, int64_t first, float *panel)
{
    const int outputs = (int)(c->end - first);
    float y[PANEL];
    for (int64_t k = 0; k < p->job->in; k += p->kc) {
        const int64_t kc = p->job->in - k < p->kc ? p->job->in - k : p->kc;
        c->format->pack(weights_at(c, first, k), c->stride, outputs, kc, panel);
        p->env->kernels->tile(1, &(vug_cpu_tile){ .a = p->job->x + k,
                                                  .b = panel,
                                                  .c = y,
                                                  .k = kc,
                                                  .ldb = PANEL,
                                                  .accumulate = k > 0 });
    }
    memcpy(c->m->y + first, y, (size_t)outputs * sizeof(float));
}

/* Outputs first, first + apart, .. */
static void sixteen_outputs(const product *p, const chunk *c, int64_t first, int64_t apart)
{
    float y[PANEL] = { 0 };
    c->format->gemv(&(vug_cpu_gemv){ .x = p->job->x,
                                     .w = weights_at(c, first, 0),
                                     .y = y,
                                     .k = p->job->in,
                                     .kc = p->kc,
                                     .stride = apart * c->stride });
    for (int64_t r = 0; r < PANEL; r++)
        c->m->y[first + r * apart] = y[r];
}

/* The 16 rows of weights that are read side by side are not neighbours: each
 * starts a run of rows, so that memory sees 16 long streams. */
static void one_row(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    product *p = arg;
    float *panel = p->env->scratch + thread * p->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        const chunk c = chunk_at(p, i);
        const int64_t run = (c.end - c.first) / PANEL;
        for (int64_t o = c.first; o < c.first + run; o++)
            sixteen_outputs(p, &c, o, run);
        if (c.first + run * PANEL < c.end)
            few_outputs(p, &c, c.first + run * PANEL, panel);
    }
}

/* ---- several rows --------------------------------------------------------- */

/* Weights that are needed next. */
typedef struct {
    const uint8_t *w; /* NULL: unknown */
    int64_t stride, bytes;
    int rows;
} hint;

/* Asks for a share of them: part `i` of `n`. */
static void fetch_part(const vug_cpu_kernels *kernels, const hint *next, int64_t i, int64_t n)
{
    if (!next->w)
        return;
    const int64_t first = next->rows * i / n, end = next->rows * (i + 1) / n;
    kernels->fetch(next->w + first * next->stride, next->stride, (int)(end - first), next->bytes);
}

/* `rows` rows against one converted panel of `outputs` outputs. `shape` is that
 * of the first row. Rows are shared evenly among tiles: two tiles of 4 rows keep
 * the multipliers busy, one of 6 and one of 2 do not. */
static void rows_by_panel(const vug_cpu_kernels *kernels, const vug_cpu_tile *shape, int64_t rows,
                          int outputs, const hint *next)
{
    vug_cpu_tile t = *shape;
    float wide[VUG_CPU_ROWS * PANEL];
    const int64_t tiles = (rows + VUG_CPU_ROWS - 1) / VUG_CPU_ROWS;
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t r = rows * i / tiles;
        const int n = (int)(rows * (i + 1) / tiles - r);
        float *c = shape->c + r * shape->ldc;
        fetch_part(kernels, next, i, tiles);
        t.a = shape->a + r * shape->lda;
        t.c = c;
        if (outputs == PANEL) {
            kernels->tile(n, &t);
            continue;
        }
        t.c = wide;
        t.ldc = PANEL;
        for (int64_t j = 0; t.accumulate && j < n; j++)
            memcpy(wide + j * PANEL, c + j * shape->ldc, (size_t)outputs * sizeof(float));
        kernels->tile(n, &t);
        for (int64_t j = 0; j < n; j++)
            memcpy(c + j * shape->ldc, wide + j * PANEL, (size_t)outputs * sizeof(float));
    }
}

static int panel_outputs(const chunk *c, int64_t output)
{
    return c->end - output < PANEL ? (int)(c->end - output) : PANEL;
}

/* What follows the panel at `output`, `k` in the order of rows_of_chunk. */
static hint after(const product *p, const chunk *c, int64_t output, int64_t k)
{
    const bool is_last = output + PANEL >= c->end;
    const int64_t o = is_last ? c->first : output + PANEL;
    const int64_t at = is_last ? k + p->kc : k;
    if (at >= p->job->in)
        return (hint){ 0 };
    const int64_t kc = p->job->in - at < p->kc ? p->job->in - at : p->kc;
    return (hint){ weights_at(c, o, at), c->stride, kc * c->size, panel_outputs(c, o) };
}

static void rows_of_chunk(const product *p, const chunk *c, int64_t first_row, int64_t rows,
                          float *panel)
{
    const int64_t in = p->job->in;
    for (int64_t k = 0; k < in; k += p->kc) {
        vug_cpu_tile shape = { .a = p->job->x + first_row * in + k,
                               .b = panel,
                               .k = in - k < p->kc ? in - k : p->kc,
                               .lda = in,
                               .ldb = PANEL,
                               .ldc = c->m->out,
                               .accumulate = k > 0 };
        for (int64_t o = c->first; o < c->end; o += PANEL) {
            const hint next = after(p, c, o, k);
            c->format->pack(weights_at(c, o, k), c->stride, panel_outputs(c, o), shape.k, panel);
            shape.c = c->m->y + first_row * c->m->out + o;
            rows_by_panel(p->env->kernels, &shape, rows, panel_outputs(c, o), &next);
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
        rows_of_chunk(p, &c, first, left < ROW_BLOCK ? left : ROW_BLOCK, panel);
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
    int64_t bytes = 0, chunks = 0;
    for (int m = 0; m < job->n; m++)
        bytes += job->matrix[m].out * job->in * vug_dtype_of(job->matrix[m].dtype)->bytes;
    for (int m = 0; m < job->n; m++) {
        const int64_t row_bytes = job->in * vug_dtype_of(job->matrix[m].dtype)->bytes;
        p.per_chunk[m] = PANEL * (single ? run_of(row_bytes, bytes, vug_pool_threads(env->pool))
                                         : PANELS_PER_CHUNK);
        p.first_chunk[m] = chunks;
        chunks += (job->matrix[m].out + p.per_chunk[m] - 1) / p.per_chunk[m];
    }
    vug_cpu_deal_init(&p.deal, single ? chunks : chunks * p.row_blocks);
    vug_pool_run(env->pool, single ? one_row : many_rows, &p);
}
