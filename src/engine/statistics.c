/*
 * vug_model_statistics: what the values of a checkpoint's tensors are like.
 *
 * Each row is decoded and summed by one thread from its first value to the last, and
 * the sums of rows are joined from the first row to the last: the result is the same
 * for any number of threads.
 */
#include <math.h>

#include "engine/engine.h"
#include "vug/checkpoint.h"

enum { PIECE_ROWS = 4096 }; /* whose sums are kept until they are joined */

/* Of the finite ones of some values. */
typedef struct {
    uint64_t n;
    double min, max, sum, squares; /* squares of F32 are far from the end of double */
} sums;

static const sums no_sums = { .min = INFINITY, .max = -INFINITY };

typedef struct {
    vug_pool *pool;
    float *row; /* [threads][widest] */
    int64_t widest;
    sums *sums; /* [PIECE_ROWS] */
    const vug_tensor *tensor;
    int64_t columns, first, n; /* of the tensor; the rows of the piece */
} worker;

/* ---- one row ------------------------------------------------------------------------- */

/* Each matrix of a stack has scales of its own. */
static void decode_row(const worker *w, int64_t r, float *row)
{
    const vug_tensor *t = w->tensor;
    if (t->rank >= 2) {
        const int64_t inside = r % t->dim[t->rank - 2];
        const vug_matrix m = vug_tensor_from(t, r - inside);
        vug_matrix_decode(&m, inside, row);
        return;
    }
    const vug_matrix m = { .dtype = t->dtype, .data = t->data, .columns = w->columns };
    vug_matrix_decode(&m, r, row);
}

static sums sums_of(const float *row, int64_t n)
{
    sums s = no_sums;
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)row[i];
        if (!isfinite(x))
            continue;
        s.n++;
        s.min = x < s.min ? x : s.min;
        s.max = x > s.max ? x : s.max;
        s.sum += x;
        s.squares += x * x;
    }
    return s;
}

static void sum_rows(void *arg, int thread, int n_threads)
{
    const worker *w = arg;
    const int64_t from = w->n * thread / n_threads, to = w->n * (thread + 1) / n_threads;
    float *row = w->row + thread * w->widest;
    for (int64_t r = from; r < to; r++) {
        decode_row(w, w->first + r, row);
        w->sums[r] = sums_of(row, w->columns);
    }
}

static void join(sums *s, const sums *row)
{
    s->n += row->n;
    s->min = row->min < s->min ? row->min : s->min;
    s->max = row->max > s->max ? row->max : s->max;
    s->sum += row->sum;
    s->squares += row->squares;
}

/* ---- one tensor ------------------------------------------------------------------------ */

typedef struct {
    uint64_t done, total; /* bytes */
    vug_progress_fn *progress;
    void *user;
} reading;

static bool may_go_on(const reading *r)
{
    return !r->progress || r->progress(r->done, r->total, r->user);
}

static bool has_values(const vug_tensor *t)
{
    const vug_dtype_info *format = vug_dtype_of(t->dtype);
    return format->decode || format->block;
}

/* 0 where a dimension is, whatever the others are; else no more than the file has bits. */
static uint64_t count_values(const vug_tensor *t)
{
    uint64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (uint64_t)t->dim[i];
    return n;
}

static int64_t columns_of(const vug_tensor *t)
{
    return t->rank ? t->dim[t->rank - 1] : 1;
}

static vug_tensor_statistics statistics_of(uint64_t n, const sums *s)
{
    vug_tensor_statistics out = { n, n - s->n, NAN, NAN, NAN, NAN };
    if (s->n == 0)
        return out;
    out.min = s->min;
    out.max = s->max;
    out.mean = s->sum / (double)s->n;
    out.rms = sqrt(s->squares / (double)s->n);
    return out;
}

/* False when progress said stop. */
static bool weigh(worker *w, const vug_tensor *t, reading *r, vug_tensor_statistics *out)
{
    const uint64_t n = has_values(t) ? count_values(t) : 0, bytes = t->bytes + t->scale_bytes;
    const uint64_t begin = r->done;
    const int64_t rows = n ? (int64_t)n / columns_of(t) : 0;
    sums all = no_sums;
    w->tensor = t;
    w->columns = columns_of(t);
    for (w->first = 0; w->first < rows; w->first += PIECE_ROWS) {
        w->n = rows - w->first < PIECE_ROWS ? rows - w->first : PIECE_ROWS;
        vug_pool_run(w->pool, sum_rows, w);
        for (int64_t i = 0; i < w->n; i++)
            join(&all, &w->sums[i]);
        const int64_t so_far = w->first + w->n;
        r->done = begin + (so_far < rows ? bytes / (uint64_t)rows * (uint64_t)so_far : bytes);
        if (!may_go_on(r))
            return false;
    }
    *out = statistics_of(n, &all);
    r->done = begin + bytes;
    return rows || may_go_on(r);
}

/* ---- all of them ------------------------------------------------------------------------ */

static vug_status worker_init(worker *w, const vug_model *model, vug_err *err)
{
    for (size_t i = 0; i < vug_weights_count(model->checkpoint.weights); i++) {
        const vug_tensor *t = vug_weights_at(model->checkpoint.weights, i);
        if (has_values(t) && count_values(t) && columns_of(t) > w->widest)
            w->widest = columns_of(t);
    }
    VUG_TRY(vug_pool_create(model->info.threads, &w->pool, err));
    const size_t threads = (size_t)vug_pool_threads(w->pool);
    w->sums = vug_alloc(PIECE_ROWS, sizeof(*w->sums));
    w->row = vug_alloc((size_t)w->widest, threads * sizeof(*w->row));
    if (w->sums && w->row)
        return VUG_OK;
    return VUG_FAIL_NOMEM(err, "rows of weights", (size_t)w->widest * threads * sizeof(*w->row));
}

vug_status vug_model_statistics(const vug_model *model, vug_progress_fn *progress, void *user,
                                vug_tensor_statistics *out, vug_err *err)
{
    const vug_weights *weights = model->checkpoint.weights;
    const size_t n = vug_weights_count(weights);
    reading r = { .progress = progress, .user = user };
    worker w = { 0 };
    for (size_t i = 0; i < n; i++)
        r.total += vug_weights_at(weights, i)->bytes + vug_weights_at(weights, i)->scale_bytes;
    vug_status st = worker_init(&w, model, err);
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        if (!weigh(&w, vug_weights_at(weights, i), &r, &out[i]))
            st = VUG_FAIL(err, VUG_CANCELLED, "%s: stopped after %llu of %llu bytes", model->path,
                          (unsigned long long)r.done, (unsigned long long)r.total);
    }
    vug_pool_destroy(w.pool);
    vug_free(w.sums);
    vug_free(w.row);
    return st;
}
