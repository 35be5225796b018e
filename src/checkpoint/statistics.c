/*
 * vug_model_statistics: statistics of the values of a checkpoint's tensors.
 *
 * One thread decodes and sums each row from its first value to the last, and the sums of
 * rows are added from the first row to the last, so the result does not depend on the
 * number of threads.
 */
#include <math.h>

#include "checkpoint/internal.h"
#include "core/pool.h"
#include "quant/matrix.h"

enum { PIECE_ROWS = 4096 }; /* rows whose sums are held at a time */

/* The sums of the finite values among some values. */
typedef struct {
    uint64_t n;
    double min, max, sum, squares; /* squares of F32 do not overflow double */
} value_sums;

static const value_sums no_sums = { .min = INFINITY, .max = -INFINITY };

typedef struct {
    vug_pool *pool;
    float *row; /* [threads][widest] */
    int64_t widest;
    value_sums *sums; /* [PIECE_ROWS] */
    const vug_tensor *tensor;
    int64_t columns, first, n; /* the tensor's columns; the rows of a piece */
} statistics_worker;

/* ---- one row ------------------------------------------------------------------------- */

/* Each matrix of a stack of matrices has its own scales. */
static void decode_row(const statistics_worker *w, int64_t r, float *row)
{
    const vug_tensor *t = w->tensor;
    if (t->rank >= 2) {
        const int64_t inside = r % t->dim[t->rank - 2];
        const vug_matrix m = vug_tensor_matrix_at(t, r - inside);
        vug_matrix_decode(&m, inside, row);
        return;
    }
    const vug_matrix m = { .dtype = t->dtype, .data = t->data, .columns = w->columns };
    vug_matrix_decode(&m, r, row);
}

static value_sums sums_of(const float *row, int64_t n)
{
    value_sums s = no_sums;
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
    const statistics_worker *w = arg;
    const int64_t from = w->n * thread / n_threads, to = w->n * (thread + 1) / n_threads;
    float *row = w->row + thread * w->widest;
    for (int64_t r = from; r < to; r++) {
        decode_row(w, w->first + r, row);
        w->sums[r] = sums_of(row, w->columns);
    }
}

static void add_sums(value_sums *s, const value_sums *row)
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
} read_progress;

static bool report_progress(const read_progress *r)
{
    return !r->progress || r->progress(r->done, r->total, r->user);
}

static bool has_values(const vug_tensor *t)
{
    const vug_codec *codec = vug_codec_of(t->dtype);
    return codec->decode || codec->block;
}

/* 0 if any dimension is 0; otherwise at most the number of bits in the file. */
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

static vug_tensor_statistics statistics_of(uint64_t n, const value_sums *s)
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

/* False if the progress callback returned false. */
static bool measure_tensor(statistics_worker *w, const vug_tensor *t, read_progress *r,
                           vug_tensor_statistics *out)
{
    const uint64_t n = has_values(t) ? count_values(t) : 0, bytes = t->bytes + t->scale_bytes;
    const uint64_t begin = r->done;
    const int64_t rows = n ? (int64_t)n / columns_of(t) : 0;
    value_sums all = no_sums;
    w->tensor = t;
    w->columns = columns_of(t);
    for (w->first = 0; w->first < rows; w->first += PIECE_ROWS) {
        w->n = rows - w->first < PIECE_ROWS ? rows - w->first : PIECE_ROWS;
        vug_pool_run(w->pool, sum_rows, w);
        for (int64_t i = 0; i < w->n; i++)
            add_sums(&all, &w->sums[i]);
        const int64_t so_far = w->first + w->n;
        r->done = begin + (so_far < rows ? bytes / (uint64_t)rows * (uint64_t)so_far : bytes);
        if (!report_progress(r))
            return false;
    }
    *out = statistics_of(n, &all);
    r->done = begin + bytes;
    return rows || report_progress(r);
}

/* ---- all tensors ----------------------------------------------------------------------- */

static vug_status statistics_worker_init(statistics_worker *w, const vug_model *model, vug_err *err)
{
    const vug_weights *weights = vug_model_checkpoint(model)->weights;
    for (size_t i = 0; i < vug_weights_count(weights); i++) {
        const vug_tensor *t = vug_weights_at(weights, i);
        if (has_values(t) && count_values(t) && columns_of(t) > w->widest)
            w->widest = columns_of(t);
    }
    VUG_TRY(vug_pool_create(vug_model_describe(model).threads, &w->pool, err));
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
    const vug_weights *weights = vug_model_checkpoint(model)->weights;
    const size_t n = vug_weights_count(weights);
    read_progress r = { .progress = progress, .user = user };
    statistics_worker w = { 0 };
    for (size_t i = 0; i < n; i++)
        r.total += vug_weights_at(weights, i)->bytes + vug_weights_at(weights, i)->scale_bytes;
    vug_status st = statistics_worker_init(&w, model, err);
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        if (!measure_tensor(&w, vug_weights_at(weights, i), &r, &out[i]))
            st = VUG_FAIL(err, VUG_CANCELLED, "%s: stopped after %llu of %llu bytes",
                          vug_model_describe(model).path, (unsigned long long)r.done,
                          (unsigned long long)r.total);
    }
    vug_pool_destroy(w.pool);
    vug_free(w.sums);
    vug_free(w.row);
    return st;
}
