/*
 * Matrix products with weights that stay where the file mapped them.
 *
 * Several rows of x: x is put into the order that kernels want once. A panel of 16 outputs
 * is converted into scratch that fits the second cache, and all rows stream past it. One
 * row: every weight is used once, so it is converted on the way into the sum, and all that
 * matters is to keep memory busy.
 *
 * Both take every output's sum in the same order, so a row's result is the same alone and
 * among others. What a weight's format asks of x is one of three ways (vug_cpu_way).
 *
 * A job is a list of groups of rows, each with its own weights: one for a plain product, one
 * for each chosen expert. All their chunks are dealt out together, so that threads are busy
 * whether there is one group of many rows or the reverse.
 */
#include "backend/cpu/linear.h"

enum {
    PANEL = VUG_CPU_PANEL,
    STREAMS = VUG_CPU_STREAMS,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
    CHUNK_OUTPUTS = 4 * PANEL, /* of several rows */
    /* Bytes that each of the streams of weights reads in a row: shorter runs leave
     * the hardware's prefetch behind (one thread read 21 GB/s in runs of 36 KiB, 22 in
     * runs of 72, 12 in single rows of 2 KiB). */
    RUN_BYTES = 64 * 1024,
    CHUNKS_PER_THREAD = 4, /* or more, so that threads end together */
    ROWS_PREPARED = 4,     /* at a time */
};

/* ---- ways ----------------------------------------------------------------- */

static vug_cpu_way way_of(const vug_cpu_env *env, vug_dtype dtype)
{
    if (env->kernels->format[dtype])
        return VUG_CPU_DIRECT;
    return env->kernels->block[dtype] && !env->exact ? VUG_CPU_ROUNDED : VUG_CPU_DECODED;
}

int64_t vug_cpu_linear_scratch(const vug_cpu_env *env, vug_dtype dtype, int64_t in)
{
    const vug_cpu_way way = way_of(env, dtype);
    return way == VUG_CPU_ROUNDED ? vug_cpu_q8_scratch(in) : vug_cpu_f32_scratch(way, in);
}

void vug_cpu_linear_wish(const vug_cpu_env *env, vug_dtype dtype, vug_cpu_wishes *to)
{
    const bool rounded = way_of(env, dtype) == VUG_CPU_ROUNDED;
    to->f32 |= !rounded;
    to->q8 |= rounded;
    to->wide |= rounded && vug_cpu_layout_of(dtype)->bits == 8;
}

static int64_t arranged_floats(int64_t rows, int64_t in)
{
    return vug_cpu_round_up(rows * in, VUG_CPU_LINE);
}

/* Each group begins with whole slots. */
static int64_t slots_of(int64_t rows)
{
    return vug_cpu_round_up(rows, VUG_CPU_ROWS_Q8);
}

bool vug_cpu_linear_shared(const vug_cpu_wishes *wishes, int64_t rows, int64_t groups, int64_t in,
                           uint64_t *floats)
{
    const uint64_t slots = (uint64_t)rows + (uint64_t)groups * (VUG_CPU_ROWS_Q8 - 1);
    uint64_t n;
    if (!vug_mul_size(slots, (uint64_t)in, &n) || n > INT64_MAX / 64)
        return false;
    *floats = (uint64_t)((wishes->f32 ? arranged_floats(rows, in) : 0) +
                         (wishes->q8 ? vug_cpu_q8_floats((int64_t)slots, in, wishes->wide) : 0));
    return true;
}

/* ---- chunks --------------------------------------------------------------- */

static int64_t row_bytes(const vug_matrix *w)
{
    return vug_dtype_row(w->dtype, w->columns);
}

/* Rows of weights of a run: about RUN_BYTES, or what is left after sharing the job
 * among the threads. */
static int64_t run_of(const vug_cpu_product *p, const vug_cpu_matrix *m)
{
    const int64_t row = row_bytes(&m->w);
    const int64_t threads = vug_pool_threads(p->env->pool);
    const int64_t share = p->bytes / (threads * CHUNKS_PER_THREAD * STREAMS);
    const int64_t bytes = share < RUN_BYTES ? share : RUN_BYTES;
    return bytes / row > 1 ? bytes / row : 1;
}

/* Outputs of a chunk of matrix `m`. */
static int64_t per_chunk(const vug_cpu_product *p, const vug_cpu_group *g, int m)
{
    return g->rows == 1 ? STREAMS * run_of(p, &g->matrix[m]) : CHUNK_OUTPUTS;
}

static int64_t row_blocks(const vug_cpu_group *g)
{
    return (g->rows + ROW_BLOCK - 1) / ROW_BLOCK;
}

static int64_t chunks_of(const vug_cpu_product *p, const vug_cpu_group *g, int m)
{
    const int64_t n = per_chunk(p, g, m);
    return (g->matrix[m].out + n - 1) / n * row_blocks(g);
}

/* The group of chunk `i`. */
static const vug_cpu_group *group_of(const vug_cpu_product *p, int64_t i)
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
static vug_cpu_chunk chunk_at(const vug_cpu_product *p, int64_t i)
{
    const vug_cpu_group *g = group_of(p, i);
    int m = 0;
    i -= g->first_chunk;
    for (; i >= chunks_of(p, g, m); m++)
        i -= chunks_of(p, g, m);
    const vug_cpu_matrix *matrix = &g->matrix[m];
    const int64_t blocks = row_blocks(g), n = per_chunk(p, g, m);
    const int64_t first = i / blocks * n, row = i % blocks * ROW_BLOCK;
    return (vug_cpu_chunk){ .m = matrix,
                            .way = way_of(p->env, matrix->w.dtype),
                            .first = first,
                            .end = first + n < matrix->out ? first + n : matrix->out,
                            .first_row = g->first + row,
                            .rows = g->rows - row < ROW_BLOCK ? g->rows - row : ROW_BLOCK,
                            .slot = g->slot + row,
                            .single = g->rows == 1,
                            .stride = row_bytes(&matrix->w) };
}

/* ---- one row -------------------------------------------------------------- */

/* Outputs first, first + apart, ..; `y` [4] in that order. */
static void four_outputs(const vug_cpu_product *p, const vug_cpu_chunk *c, int64_t first,
                         int64_t apart, float *scratch, float *y)
{
    if (c->way == VUG_CPU_ROUNDED)
        vug_cpu_q8_four(p, c, first, apart, y);
    else
        vug_cpu_f32_four(p, c, first, apart, scratch, y);
}

/* The rows of weights that are read side by side are not neighbours: each starts a
 * run of rows, so that memory sees a few long streams. */
static void one_row(const vug_cpu_product *p, const vug_cpu_chunk *c, float *scratch)
{
    const int64_t run = (c->end - c->first) / STREAMS;
    float *to = c->m->y + c->first_row * c->m->out, y[STREAMS];
    for (int64_t o = c->first; o < c->first + run; o++) {
        four_outputs(p, c, o, run, scratch, y);
        for (int64_t r = 0; r < STREAMS; r++)
            to[o + r * run] = y[r];
    }
    for (int64_t o = c->first + run * STREAMS; o < c->end; o++) {
        four_outputs(p, c, o, 0, scratch, y);
        to[o] = y[0];
    }
}

/* ---- a job ---------------------------------------------------------------- */

static void prepare_rows(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    vug_cpu_product *p = arg;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        const vug_cpu_group *g = p->job->group;
        for (int64_t t = i * ROWS_PREPARED; t < (i + 1) * ROWS_PREPARED && t < p->job->rows; t++) {
            while (t >= g->first + g->rows)
                g++;
            if (p->arranged)
                vug_cpu_f32_prepare(p, t);
            if (p->q)
                vug_cpu_q8_prepare(p, t, g->slot + t - g->first, g->rows == 1);
        }
    }
}

/* Puts x where and how the products want it. */
static void prepare(vug_cpu_product *p)
{
    vug_cpu_wishes w = { 0 };
    bool several = false;
    int64_t slots = 0;
    for (int64_t g = 0; g < p->job->n_groups; g++) {
        p->job->group[g].slot = slots;
        slots += slots_of(p->job->group[g].rows);
        several |= p->job->group[g].rows > 1;
        for (int m = 0; m < p->job->n; m++)
            vug_cpu_linear_wish(p->env, p->job->group[g].matrix[m].w.dtype, &w);
    }
    float *shared = p->env->shared;
    if (w.f32 && several) {
        p->arranged = shared;
        shared += arranged_floats(p->job->rows, p->job->in);
    }
    if (w.q8)
        vug_cpu_q8_place(p, shared, slots, w.wide && several);
    if (p->arranged || p->q)
        vug_cpu_spread(p->env, &p->deal, (p->job->rows + ROWS_PREPARED - 1) / ROWS_PREPARED,
                       p->job->rows * p->job->in, prepare_rows, p);
}

static void run_chunks(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    vug_cpu_product *p = arg;
    float *scratch = p->env->scratch + thread * p->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        const vug_cpu_chunk c = chunk_at(p, i);
        if (c.single)
            one_row(p, &c, scratch);
        else if (c.way == VUG_CPU_ROUNDED)
            vug_cpu_q8_rows(p, &c, scratch);
        else
            vug_cpu_f32_rows(p, &c, scratch);
    }
}

void vug_cpu_linear_grouped(const vug_cpu_env *env, const vug_cpu_grouped_job *job)
{
    vug_cpu_product p = { .env = env, .job = job };
    int64_t chunks = 0;
    for (int64_t g = 0; g < job->n_groups; g++) {
        for (int m = 0; m < job->n; m++)
            p.bytes += job->group[g].matrix[m].out * row_bytes(&job->group[g].matrix[m].w);
    }
    for (int64_t g = 0; g < job->n_groups; g++) {
        job->group[g].first_chunk = chunks;
        for (int m = 0; m < job->n; m++)
            chunks += chunks_of(&p, &job->group[g], m);
    }
    prepare(&p);
    vug_cpu_deal_init(&p.deal, env, chunks);
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
