/*
 * Matrix products. Weights stay in the mapped file.
 *
 * Weights are read in one of two ways. As streams: kernels read four rows of weights in memory
 * order and multiply each weight with all rows of x of the chunk. As panels, for weights that are
 * multiplied with many rows: x is packed once into the order that kernels read, and a panel of 16
 * outputs is packed into scratch that fits the L2 cache, and all rows are multiplied with it.
 * Quantized weights are read as panels only by some sets (q8_panel_rows).
 *
 * Both add up every output in the same order, so a row's result does not depend on other
 * rows. The format of the weights decides which of three kinds of kernels computes a product
 * (vug_cpu_kernel_kind).
 *
 * A job is a list of groups of rows, each with its own weights: one group for a plain
 * product, one per chosen expert in a mixture. The chunks of all groups are in one work
 * queue, so threads stay busy with one large group as well as with many small ones.
 */
#include "backend/cpu/linear.h"

enum {
    PANEL = VUG_CPU_PANEL,
    MAX_STREAMS = VUG_CPU_MAX_STREAMS,
    ROW_BLOCK = VUG_CPU_ROW_BLOCK,
    MAX_STREAM_ROWS = VUG_CPU_Q8_ROW_BLOCK,
    /* Consecutive bytes that each stream of weights reads. Shorter runs defeat the hardware
     * prefetcher: one thread read 22 GB/s in runs of 72 KiB, 21 in runs of 36 KiB, 12 in
     * single rows of 2 KiB. */
    RUN_BYTES = 64 * 1024,
    CHUNKS_PER_THREAD = 4, /* at least, so that all threads finish at about the same time */
    ROWS_PER_PACK = 4,
    STORED_AT_ONCE = 16,    /* neighbouring outputs of a stream: a cache line */
    NEIGHBOURS_ROWS = 32,   /* of x, from which on neighbouring rows of weights are read together */
    FOUR = VUG_CPU_STREAMS, /* outputs that are copied at once; kernels have 4 or 8 streams */
    STREAM_FLOATS = MAX_STREAM_ROWS * MAX_STREAMS * STORED_AT_ONCE, /* of them, in scratch */
};

_Static_assert((int)MAX_STREAM_ROWS >= (int)VUG_CPU_MAX_FLOAT_ROWS, "chunks fit the scratch");

/* ---- kinds of kernels ------------------------------------------------------ */

/* Rows of an odd number of elements are no pairs. */
static vug_cpu_kernel_kind kernel_kind_of(const vug_cpu_env *env, vug_dtype dtype, int64_t in)
{
    if (dtype == VUG_DTYPE_BF16 && vug_activations_are_bf16(env->activations) && in % 2 == 0)
        return VUG_CPU_KERNEL_PAIRS;
    if (env->kernels->format[dtype])
        return VUG_CPU_KERNEL_DIRECT;
    return env->kernels->block[dtype] && env->activations != VUG_ACTIVATIONS_F32
                   ? VUG_CPU_KERNEL_Q8
                   : VUG_CPU_KERNEL_DECODED;
}

int64_t vug_cpu_linear_scratch_floats(const vug_cpu_env *env, vug_dtype dtype, int64_t in)
{
    const vug_cpu_kernel_kind kind = kernel_kind_of(env, dtype, in);
    return STREAM_FLOATS + (kind == VUG_CPU_KERNEL_Q8 ? vug_cpu_q8_scratch_floats(env->kernels, in)
                                                      : vug_cpu_float_scratch_floats(kind, in));
}

void vug_cpu_linear_add_input_format(const vug_cpu_env *env, vug_dtype dtype, int64_t in,
                                     vug_cpu_input_formats *to)
{
    const vug_cpu_kernel_kind kind = kernel_kind_of(env, dtype, in);
    to->q8 |= kind == VUG_CPU_KERNEL_Q8;
    to->tiles |= kind == VUG_CPU_KERNEL_Q8 && env->kernels->q8_panel_rows > 0;
    to->pairs |= kind == VUG_CPU_KERNEL_PAIRS;
    to->f32 |= kind != VUG_CPU_KERNEL_Q8 && kind != VUG_CPU_KERNEL_PAIRS;
}

static int64_t lane_ordered_floats(int64_t rows, int64_t in)
{
    return vug_cpu_round_up(rows * in, VUG_CPU_CACHE_LINE);
}

/* A row has in / 2 pairs, each as large as a float. */
static int64_t pair_floats(int64_t rows, int64_t in)
{
    return lane_ordered_floats(rows, in / 2);
}

bool vug_cpu_linear_shared_floats(const vug_cpu_input_formats *formats, int64_t rows, int64_t in,
                                  uint64_t *floats)
{
    uint64_t n;
    if (!vug_mul_size((uint64_t)rows, (uint64_t)in, &n) || n > INT64_MAX / 256)
        return false;
    *floats = (uint64_t)((formats->f32 ? lane_ordered_floats(rows, in) : 0) +
                         (formats->pairs ? 2 * pair_floats(rows, in) : 0) +
                         (formats->q8 ? vug_cpu_q8_input_floats(rows, in, formats->tiles) : 0));
    return true;
}

/* ---- chunks --------------------------------------------------------------- */

static int64_t row_bytes(const vug_matrix *w)
{
    return vug_dtype_row(w->dtype, w->columns);
}

/* Rows of weights in a run: about RUN_BYTES, less if the job has too few bytes for all
 * threads. */
static int64_t rows_per_run(const vug_cpu_linear_run *p, const vug_cpu_projection *m, int streams)
{
    const int64_t row = row_bytes(&m->w);
    const int64_t threads = vug_pool_threads(p->env->pool);
    const int64_t share = p->weight_bytes / (threads * CHUNKS_PER_THREAD * streams);
    const int64_t bytes = share < RUN_BYTES ? share : RUN_BYTES;
    return bytes / row > 1 ? bytes / row : 1;
}

static bool uses_panels(const vug_cpu_kernels *kernels, vug_cpu_kernel_kind kind, int64_t rows)
{
    return kind == VUG_CPU_KERNEL_Q8 ? vug_cpu_q8_uses_panels(kernels, rows)
                                     : rows > kernels->float_rows;
}

/* Panels of a chunk: as many as give all threads several chunks. Those of float weights are
 * multiplied in pairs, if the kernels can do so. */
static int64_t panels_of(const vug_cpu_linear_run *p, const vug_cpu_projection *m,
                         vug_cpu_kernel_kind kind)
{
    const bool q8 = kind == VUG_CPU_KERNEL_Q8;
    const int64_t threads = vug_pool_threads(p->env->pool);
    const int64_t share = p->weight_bytes / (threads * CHUNKS_PER_THREAD);
    const int64_t panels = share / (PANEL * row_bytes(&m->w));
    const int64_t most = q8 ? VUG_CPU_Q8_PANELS : vug_cpu_float_max_panels(kind);
    const int64_t least = q8 ? 1 : VUG_CPU_MAX_TILE_PANELS;
    return panels < least ? least : panels < most ? panels / least * least : most;
}

/* How projection `m` of a group is cut. */
typedef struct {
    vug_cpu_kernel_kind kind;
    bool panels;
    int streams;           /* rows of weights that are read side by side */
    int64_t outputs, rows; /* of a chunk, at most */
} chunk_size;

static chunk_size chunk_size_of(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int m)
{
    const vug_cpu_projection *projection = &g->projection[m];
    const vug_cpu_kernel_kind kind = kernel_kind_of(p->env, projection->w.dtype, p->job->in);
    const bool panels = uses_panels(p->env->kernels, kind, g->rows);
    const int streams = kind == VUG_CPU_KERNEL_Q8 && g->rows > 1 ? p->env->kernels->q8_streams
                                                                 : VUG_CPU_STREAMS;
    if (panels)
        return (chunk_size){ .kind = kind,
                             .panels = panels,
                             .outputs = PANEL * panels_of(p, projection, kind),
                             .rows = kind == VUG_CPU_KERNEL_Q8 ? g->rows : ROW_BLOCK };
    return (chunk_size){ .kind = kind,
                         .streams = streams,
                         .outputs = streams * rows_per_run(p, projection, streams),
                         .rows = kind == VUG_CPU_KERNEL_Q8 ? vug_cpu_q8_row_block(p->job->in)
                                                           : ROW_BLOCK };
}

static int64_t row_blocks_of(const vug_cpu_row_group *g, const chunk_size *size)
{
    return (g->rows + size->rows - 1) / size->rows;
}

static int64_t chunks_of(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int m)
{
    const chunk_size size = chunk_size_of(p, g, m);
    return (g->projection[m].out + size.outputs - 1) / size.outputs * row_blocks_of(g, &size);
}

/* The group of chunk `i`. */
static const vug_cpu_row_group *group_of(const vug_cpu_linear_run *p, int64_t i)
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

/* Chunk `i` of the job. Blocks of rows with the same weights follow each other. */
static vug_cpu_linear_chunk chunk_at(const vug_cpu_linear_run *p, int64_t i)
{
    const vug_cpu_row_group *g = group_of(p, i);
    int m = 0;
    i -= g->first_chunk;
    for (; i >= chunks_of(p, g, m); m++)
        i -= chunks_of(p, g, m);
    const vug_cpu_projection *projection = &g->projection[m];
    const chunk_size size = chunk_size_of(p, g, m);
    const int64_t blocks = row_blocks_of(g, &size);
    const int64_t first = i / blocks * size.outputs, row = i % blocks * size.rows;
    const int64_t end = first + size.outputs;
    return (vug_cpu_linear_chunk){ .projection = projection,
                                   .kind = size.kind,
                                   .first = first,
                                   .end = end < projection->out ? end : projection->out,
                                   .first_row = g->first + row,
                                   .rows = g->rows - row < size.rows ? g->rows - row : size.rows,
                                   .q8_row = g->first_q8 + row,
                                   .single = g->rows == 1,
                                   .panels = size.panels,
                                   .streams = size.streams,
                                   .stride = row_bytes(&projection->w),
                                   .k = size.kind == VUG_CPU_KERNEL_PAIRS ? p->job->in / 2
                                                                          : p->job->in };
}

/* ---- streams -------------------------------------------------------------- */

/* y [rows,streams] = outputs first, first + step, .. of all rows of the chunk. */
static void multiply_streams(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                             int64_t first, int64_t step, float *scratch, float *y)
{
    if (c->kind == VUG_CPU_KERNEL_Q8)
        vug_cpu_q8_streams(p, c, first, step, scratch, y);
    else
        vug_cpu_float_streams(p, c, first, step, scratch, y);
}

/* Outputs first + i * run .. first + i * run + n - 1 of each of `streams` streams, from
 * y [n,rows,c->streams]. */
static void store_outputs(const vug_cpu_linear_chunk *c, int64_t first, int64_t run, int64_t n,
                          int streams, const float *y)
{
    const int64_t out = c->projection->out, next = c->rows * c->streams;
    for (int64_t r = 0; r < c->rows; r++) {
        float *to = c->projection->y + (c->first_row + r) * out + first;
        for (int64_t i = 0; i < streams; i++) {
            for (int64_t j = 0; j < n; j++)
                to[i * run + j] = y[j * next + r * c->streams + i];
        }
    }
}

/* Many rows of x: rows of weights that are read side by side are neighbours, so that their outputs are,
 * too. Memory is read once for all rows, and kernels prefetch the next rows of weights. */
static void run_neighbours(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t end,
                           float *scratch, float *y)
{
    for (int64_t o = c->first; o < end; o += STORED_AT_ONCE) {
        const int64_t left = end - o, n = left < STORED_AT_ONCE ? left : STORED_AT_ONCE;
        for (int64_t i = 0; i < n; i += c->streams)
            multiply_streams(p, c, o + i, 1, scratch, y + i * c->rows);
        for (int64_t r = 0; r < c->rows; r++) {
            float *to = c->projection->y + (c->first_row + r) * c->projection->out + o;
            for (int64_t i = 0; i < n; i += FOUR) {
                const int64_t of_stream = i % c->streams;
                memcpy(to + i, y + (i - of_stream) * c->rows + r * c->streams + of_stream,
                       FOUR * sizeof(*to));
            }
        }
    }
}

/* Few rows of x: rows of weights that are read side by side are not neighbours: each begins a run of
 * rows, so memory is read as a few long streams. Several outputs of each stream are stored at once:
 * rows of y are often a multiple of 1 KiB apart, so that single ones would evict each other's cache
 * lines. */
static void run_distant(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t end,
                        float *scratch, float *y)
{
    const int64_t run = (end - c->first) / c->streams;
    for (int64_t o = 0; o < run; o += STORED_AT_ONCE) {
        const int64_t n = run - o < STORED_AT_ONCE ? run - o : STORED_AT_ONCE;
        for (int64_t j = 0; j < n; j++)
            multiply_streams(p, c, c->first + o + j, run, scratch, y + j * c->rows * c->streams);
        store_outputs(c, c->first + o, run, n, c->streams, y);
    }
}

static void run_streams(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, float *scratch)
{
    const int64_t end = c->end - (c->end - c->first) % c->streams;
    float *y = scratch;
    scratch += STREAM_FLOATS;
    if (c->kind == VUG_CPU_KERNEL_Q8 && c->rows >= NEIGHBOURS_ROWS)
        run_neighbours(p, c, end, scratch, y);
    else
        run_distant(p, c, end, scratch, y);
    for (int64_t o = end; o < c->end; o++) {
        multiply_streams(p, c, o, 0, scratch, y);
        store_outputs(c, o, 0, 1, 1, y);
    }
}

/* ---- a job ---------------------------------------------------------------- */

static void pack_rows(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    vug_cpu_linear_run *p = arg;
    for (int64_t i; (i = vug_cpu_work_queue_next(&p->queue)) < p->queue.n;) {
        const vug_cpu_row_group *g = p->job->group;
        for (int64_t t = i * ROWS_PER_PACK; t < (i + 1) * ROWS_PER_PACK && t < p->job->rows; t++) {
            while (t >= g->first + g->rows)
                g++;
            if (p->lane_ordered || p->bf16)
                vug_cpu_float_pack_input(p, g, t);
            if (p->q8)
                vug_cpu_q8_pack_input(p, g, t);
        }
    }
}

/* Stores x in every form that the job reads. */
static void pack_input(vug_cpu_linear_run *p)
{
    vug_cpu_input_formats formats = { 0 };
    bool panels = false;
    for (int64_t g = 0; g < p->job->n_groups; g++) {
        panels |= p->job->group[g].rows > p->env->kernels->float_rows;
        for (int m = 0; m < p->job->n; m++)
            vug_cpu_linear_add_input_format(p->env, p->job->group[g].projection[m].w.dtype,
                                            p->job->in, &formats);
    }
    float *shared = p->env->shared;
    if (formats.f32 && panels) {
        p->lane_ordered = shared;
        shared += lane_ordered_floats(p->job->rows, p->job->in);
    }
    if (formats.pairs) {
        p->bf16 = (uint16_t *)(void *)shared;
        shared += pair_floats(p->job->rows, p->job->in);
        p->ordered_pairs = shared;
        shared += pair_floats(p->job->rows, p->job->in);
    }
    if (formats.q8)
        p->q8 = shared;
    if (p->lane_ordered || p->bf16 || p->q8)
        vug_cpu_parallel_for(p->env, &p->queue, (p->job->rows + ROWS_PER_PACK - 1) / ROWS_PER_PACK,
                             p->job->rows * p->job->in, pack_rows, p);
}

static void run_chunks(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    vug_cpu_linear_run *p = arg;
    float *scratch = p->env->scratch + thread * p->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_work_queue_next(&p->queue)) < p->queue.n;) {
        const vug_cpu_linear_chunk c = chunk_at(p, i);
        if (c.panels && c.kind == VUG_CPU_KERNEL_Q8)
            vug_cpu_q8_panels(p, &c, scratch);
        else if (c.panels)
            vug_cpu_float_panels(p, &c, scratch);
        else
            run_streams(p, &c, scratch);
    }
}

void vug_cpu_linear_grouped(const vug_cpu_env *env, const vug_cpu_grouped_job *job)
{
    vug_cpu_linear_run p = { .env = env, .job = job };
    int64_t chunks = 0, q8_rows = 0;
    for (int64_t g = 0; g < job->n_groups; g++) {
        for (int m = 0; m < job->n; m++)
            p.weight_bytes +=
                    job->group[g].projection[m].out * row_bytes(&job->group[g].projection[m].w);
    }
    for (int64_t g = 0; g < job->n_groups; g++) {
        job->group[g].first_chunk = chunks;
        job->group[g].first_q8 = q8_rows;
        q8_rows += vug_cpu_q8_input_rows(env->kernels, job->group[g].rows);
        for (int m = 0; m < job->n; m++)
            chunks += chunks_of(&p, &job->group[g], m);
    }
    pack_input(&p);
    vug_cpu_work_queue_init(&p.queue, env, chunks);
    vug_pool_run(env->pool, run_chunks, &p);
}

void vug_cpu_linear(const vug_cpu_env *env, const vug_cpu_linear_job *job)
{
    if (job->rows == 0)
        return;
    vug_cpu_row_group all = { .rows = job->rows, .projection = job->projection };
    vug_cpu_linear_grouped(env, &(vug_cpu_grouped_job){ .x = job->x,
                                                        .rows = job->rows,
                                                        .in = job->in,
                                                        .group = &all,
                                                        .n_groups = 1,
                                                        .n = job->n });
}
