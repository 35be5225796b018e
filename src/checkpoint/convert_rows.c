/* Makes the rows of a new checkpoint's tensors on several threads. */
#include <inttypes.h>

#include "checkpoint/convert.h"
#include "quant/matrix.h"

/* ---- one row ------------------------------------------------------------------------- */

/* The source of row `r`: pairing, or undoing it, permutes the rows of a head. */
static int64_t source_row(const vug_convert_target *t, int64_t r)
{
    if (!t->d_head)
        return r;
    if (!t->undo)
        return vug_rope_interleaved_row(r, t->d_head);
    const int64_t first = r - r % t->d_head;
    int64_t other = first;
    while (vug_rope_interleaved_row(other, t->d_head) != r)
        other++;
    return other;
}

static vug_matrix matrix_of(const vug_convert_target *t, const vug_row_source *s)
{
    if (s->tensor->rank >= 2)
        return vug_tensor_matrix_at(s->tensor, s->row);
    return (vug_matrix){ .dtype = s->tensor->dtype,
                         .data = s->tensor->data,
                         .columns = t->columns };
}

static size_t row_bytes(const vug_convert_target *t)
{
    return (size_t)vug_dtype_row(t->type.dtype, t->columns);
}

/* The bytes of the scales of one row. */
static size_t row_scale_bytes(const vug_convert_target *t)
{
    const size_t each = t->type.dtype == VUG_DTYPE_MLX_FP4 ? 1 : 2;
    return t->type.group ? (size_t)(t->columns / t->type.group) * each : 0;
}

/* Makes one row. Returns the column of the first weight that is not finite, or the row's width. */
static int64_t make_row(const vug_convert_row_maker *m, const vug_convert_target *t, int64_t r,
                        float *row, uint8_t *dst)
{
    const int64_t each = t->rows / t->n_sources, source = r / each;
    const vug_matrix from = matrix_of(t, &t->source[source]);
    const vug_codec *codec = vug_codec_of(t->type.dtype);
    const int64_t at = source_row(t, r % each);
    if (from.dtype == t->type.dtype && !from.scales.scale && t->add == 0) {
        memcpy(dst, from.data + (size_t)at * row_bytes(t), row_bytes(t));
        return t->columns;
    }
    vug_matrix_decode(&from, at, row);
    for (int64_t i = 0; t->add != 0 && i < t->columns; i++)
        row[i] += t->add;
    if (codec->encode) {
        codec->encode(row, dst, (size_t)t->columns);
        return t->columns;
    }
    const float *w = t->importance;
    if (w && t->n_importance > 1)
        w += source * t->columns;
    const int64_t bad = vug_first_nonfinite(row, t->columns);
    if (bad < t->columns)
        return bad;
    if (!t->type.group) {
        vug_quantize_row(t->type.dtype, row, w, t->columns, dst);
        return t->columns;
    }
    const bool affine = t->type.dtype != VUG_DTYPE_MLX_FP4;
    const vug_mlx_format format = { .dtype = t->type.dtype,
                                    .scales = affine ? VUG_DTYPE_BF16 : VUG_DTYPE_E8M0,
                                    .group = t->type.group };
    const size_t side = (size_t)r * row_scale_bytes(t);
    vug_quantize_mlx(&format, row, w, t->columns, dst, m->scale + side, m->bias + side);
    return t->columns;
}

/* ---- ranges of rows -------------------------------------------------------------------------- */

typedef struct {
    const vug_convert_row_maker *m;
    const vug_convert_target *target;
    int64_t first, n; /* rows */
    uint8_t *dst;     /* the first row */
    int64_t *bad;     /* [threads][2] row and column of a bad weight; row n: none */
} row_range;

static void make_range_part(void *arg, int thread, int n_threads)
{
    const row_range *p = arg;
    const int64_t from = p->n * thread / n_threads, to = p->n * (thread + 1) / n_threads;
    float *row = p->m->row + thread * p->m->widest;
    int64_t *bad = p->bad + 2 * (int64_t)thread;
    bad[0] = p->n;
    for (int64_t r = from; r < to; r++) {
        bad[1] = make_row(p->m, p->target, p->first + r, row,
                          p->dst + (size_t)r * row_bytes(p->target));
        if (bad[1] < p->target->columns) {
            bad[0] = r;
            return;
        }
    }
}

enum { MAX_THREADS = 1024 };

static vug_status make_range(row_range p, vug_err *err)
{
    const vug_convert_target *t = p.target;
    int64_t bad[2 * MAX_THREADS];
    p.bad = bad;
    vug_pool_run(p.m->pool, make_range_part, &p);
    const int64_t *end = bad + 2 * (int64_t)vug_pool_threads(p.m->pool);
    for (const int64_t *found = bad; found < end; found += 2) {
        if (found[0] < p.n)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: tensor '%.*s': weight [%" PRId64 ",%" PRId64
                            "] is not finite, which %s cannot represent",
                            t->source[0].tensor->file, VUG_STR_ARG(t->source_name),
                            p.first + found[0], found[1], vug_dtype_of(t->type.dtype)->name);
    }
    return VUG_OK;
}

/* Makes a part of one row that is larger than the requested range of bytes. */
static vug_status make_part_of_row(const vug_convert_row_maker *m, const vug_convert_target *t,
                                   uint64_t at, uint8_t *bytes, size_t n, vug_err *err)
{
    const size_t size = row_bytes(t);
    uint8_t *whole = vug_alloc(size, 1);
    if (!whole)
        return VUG_FAIL_NOMEM(err, "a row of weights", size);
    const vug_status st = make_range(
            (row_range){ .m = m, .target = t, .first = (int64_t)(at / size), .n = 1, .dst = whole },
            err);
    if (st == VUG_OK)
        memcpy(bytes, whole + at % size, n);
    vug_free(whole);
    return st;
}

/* The scales of an MLX target are made together with its rows and written after them. */
static vug_status reserve_scales(vug_convert_row_maker *m, const vug_convert_target *t,
                                 vug_err *err)
{
    const size_t size = (size_t)t->rows * row_scale_bytes(t);
    if (size <= m->scale_capacity)
        return VUG_OK;
    vug_free(m->scale);
    vug_free(m->bias);
    m->scale = vug_alloc(size, 1);
    m->bias = vug_alloc(size, 1);
    m->scale_capacity = m->scale && m->bias ? size : 0;
    return m->scale_capacity ? VUG_OK : VUG_FAIL_NOMEM(err, "the scales of a tensor", 2 * size);
}

/* The disk reads the next rows while these are made. */
enum { READ_AHEAD = 16 << 20 };

static void prefetch_row(const vug_convert_row_maker *m, const vug_convert_target *t, int64_t r)
{
    const int64_t each = t->rows / t->n_sources;
    const vug_row_source *s = &t->source[r / each];
    uint64_t rows = 1;
    for (int i = 0; i + 1 < s->tensor->rank; i++)
        rows *= (uint64_t)s->tensor->dim[i];
    const uint64_t at = (uint64_t)(s->row + r % each) * (s->tensor->bytes / rows);
    vug_weights_prefetch(m->checkpoint->weights, s->tensor, at, READ_AHEAD);
}

static void prefetch_next_rows(const vug_convert_row_maker *m, const vug_convert_target *t,
                               const row_range *p)
{
    if (p->first == 0)
        prefetch_row(m, t, 0);
    if (p->first + p->n < t->rows)
        prefetch_row(m, t, p->first + p->n);
}

static vug_status make_rows(vug_convert_row_maker *m, const vug_convert_target *t, uint64_t at,
                            uint8_t *bytes, size_t n, vug_err *err)
{
    const size_t row = row_bytes(t);
    if (at == 0)
        VUG_TRY(reserve_scales(m, t, err));
    if (n < row)
        return make_part_of_row(m, t, at, bytes, n, err);
    const row_range p = {
        .m = m, .target = t, .first = (int64_t)(at / row), .n = (int64_t)(n / row), .dst = bytes
    };
    prefetch_next_rows(m, t, &p);
    VUG_TRY(make_range(p, err));
    if (at + n == (uint64_t)t->rows * row) { /* the tensor is complete */
        for (int64_t i = 0; i < t->n_sources; i++)
            vug_weights_evict(m->checkpoint->weights, t->source[i].tensor);
    }
    return VUG_OK;
}

vug_status vug_convert_make_rows(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                                 vug_err *err)
{
    vug_convert_row_maker *m = user;
    const vug_convert_target *t = &m->list->target[i];
    switch (t->kind) {
    case VUG_TARGET_COPY:
        memcpy(bytes, t->source[0].tensor->data + at, n);
        return VUG_OK;
    case VUG_TARGET_SCALES:
        memcpy(bytes, m->scale + at, n);
        return VUG_OK;
    case VUG_TARGET_BIASES:
        memcpy(bytes, m->bias + at, n);
        return VUG_OK;
    case VUG_TARGET_FREQ_FACTORS:
        VUG_ASSERT(at == 0); /* a few hundred pairs */
        (void)vug_rope_freq_factors(&m->checkpoint->config, (float *)(void *)bytes);
        return VUG_OK;
    case VUG_TARGET_ROWS:
        return make_rows(m, t, at, bytes, n, err);
    }
    return VUG_OK;
}

vug_status vug_convert_row_maker_init(vug_convert_row_maker *m, const vug_convert_target_list *list,
                                      const vug_checkpoint *checkpoint, int threads, vug_err *err)
{
    *m = (vug_convert_row_maker){ .list = list, .checkpoint = checkpoint };
    for (size_t i = 0; i < list->n; i++)
        m->widest = list->target[i].columns > m->widest ? list->target[i].columns : m->widest;
    VUG_TRY(vug_pool_create(threads ? threads : vug_cpu_count(), &m->pool, err));
    const size_t n = (size_t)vug_pool_threads(m->pool) * (size_t)m->widest;
    m->row = vug_alloc(n, sizeof(*m->row));
    return m->row ? VUG_OK : VUG_FAIL_NOMEM(err, "rows of weights", n * sizeof(*m->row));
}

void vug_convert_row_maker_release(vug_convert_row_maker *m)
{
    if (m->pool)
        vug_pool_destroy(m->pool);
    vug_free(m->row);
    vug_free(m->scale);
    vug_free(m->bias);
    *m = (vug_convert_row_maker){ 0 };
}
