/* The copy of a head in Q4_0, and the bound for what it changes. */
#include "backend/cpu/head_screen.h"

#include <math.h>

#include "core/os.h"
#include "quant/matrix.h"

enum {
    BLOCK = 32,
    ROWS_PER_CHUNK = 64,
    PARTS_PER_STEP = 4,
    PARTS = VUG_CPU_HEAD_SCREEN_STEPS * PARTS_PER_STEP, /* the time of each is measured */
};

static const double time_share = 1.0 / 8; /* of copying, in that of steps */

/* ---- which heads ------------------------------------------------------------ */

/* Formats in which every weight is a number times a scale, so that the error of a product is
 * relative to the norms of its operands; and twice as large as the copy, or nearly. */
static bool has_format(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 || dtype == VUG_DTYPE_F16 || dtype == VUG_DTYPE_BF16 ||
           dtype == VUG_DTYPE_Q8_0 || dtype == VUG_DTYPE_Q6_K;
}

bool vug_cpu_head_screen_supports(const vug_cpu_env *env, const vug_weight *head)
{
    const bool is_rounded = head->dtype == VUG_DTYPE_BF16 ? env->activations != VUG_ACTIVATIONS_Q8
                                                          : env->activations == VUG_ACTIVATIONS_F32;
    return has_format(head->dtype) && !head->scales.scale && !is_rounded &&
           head->columns % BLOCK == 0 && head->rows <= INT32_MAX;
}

/* Of the copy. */
static int64_t row_bytes(int64_t columns)
{
    return vug_dtype_row(VUG_DTYPE_Q4_0, columns);
}

uint64_t vug_cpu_head_screen_bytes(const vug_weight *head)
{
    return (uint64_t)head->rows * ((uint64_t)row_bytes(head->columns) + 2 * sizeof(float));
}

vug_status vug_cpu_head_screen_create(const vug_weight *head, vug_cpu_head_screen **out,
                                      vug_err *err)
{
    const size_t rows = (size_t)head->rows;
    vug_cpu_head_screen *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "the screen of the head", sizeof(*s));
    s->head = (vug_matrix){ head->dtype, head->data, head->columns, head->scales };
    s->rows = head->rows;
    s->data = vug_alloc(rows, (size_t)row_bytes(head->columns));
    s->residual = vug_alloc(rows, sizeof(*s->residual));
    s->norm = vug_alloc(rows, sizeof(*s->norm));
    if (!s->data || !s->residual || !s->norm) {
        vug_cpu_head_screen_destroy(s);
        return VUG_FAIL_NOMEM(err, "the screen of the head", vug_cpu_head_screen_bytes(head));
    }
    vug_ask_huge_pages(s->data, (uint64_t)rows * (uint64_t)row_bytes(head->columns));
    s->copy = (vug_matrix){ .dtype = VUG_DTYPE_Q4_0, .data = s->data, .columns = head->columns };
    s->next_pause = 1;
    *out = s;
    return VUG_OK;
}

void vug_cpu_head_screen_destroy(vug_cpu_head_screen *s)
{
    if (!s)
        return;
    vug_free(s->data);
    vug_free(s->residual);
    vug_free(s->norm);
    vug_free(s);
}

/* ---- copying rows ----------------------------------------------------------- */

/* The root of a sum of squares of a row of `n` weights, rounded up; infinite if it is NaN. The margin
 * is for the rounding of the sum and its terms, and of weights that are products of two scales; and
 * for squares that are too small. */
static float root_of(float sum, int64_t n)
{
    const double margin = 1 + (double)(n + 64) * 0x1p-24;
    const double root = sqrt((double)sum + (double)n * 0x1p-120) * margin;
    return root <= 0x1p100 ? nextafterf((float)root, INFINITY) : INFINITY;
}

/* Row `row` of the head in F32. */
static void decode_row(const vug_cpu_kernels *kernels, const vug_matrix *head, int64_t row,
                       float *w)
{
    const vug_cpu_format *format = kernels->format[head->dtype];
    const uint8_t *data = head->data + row * vug_dtype_row(head->dtype, head->columns);
    if (format)
        format->decode(data, 1, w, head->columns);
    else if (kernels->decode[head->dtype])
        kernels->decode[head->dtype](data, head->columns, w);
    else
        vug_matrix_decode(head, row, w);
}

static void copy_row(const vug_cpu_kernels *kernels, vug_cpu_head_screen *s, int64_t row, float *w)
{
    const int64_t n = s->copy.columns;
    decode_row(kernels, &s->head, row, w);
    const vug_cpu_square_sums sums = kernels->round_q4_0(w, n, s->data + row * row_bytes(n));
    s->residual[row] = root_of(sums.changed, n);
    s->norm[row] = root_of(sums.all, n);
}

int64_t vug_cpu_head_screen_scratch_floats(int64_t columns)
{
    return columns;
}

typedef struct {
    const vug_cpu_env *env;
    vug_cpu_head_screen *screen;
    int64_t first, end;
    vug_cpu_work_queue queue;
} copy_job;

static void copy_rows(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    copy_job *j = arg;
    float *scratch = j->env->scratch + thread * j->env->scratch_floats;
    for (int64_t i; (i = vug_cpu_work_queue_next(&j->queue)) < j->queue.n;) {
        const int64_t first = j->first + i * ROWS_PER_CHUNK, end = first + ROWS_PER_CHUNK;
        for (int64_t row = first; row < end && row < j->end; row++)
            copy_row(j->env->kernels, j->screen, row, scratch);
    }
}

static void copy_part(const vug_cpu_env *env, vug_cpu_head_screen *s)
{
    const int64_t part = (s->rows + PARTS - 1) / PARTS;
    const int64_t left = s->rows - s->built, n = left < part ? left : part;
    copy_job job = { .env = env, .screen = s, .first = s->built, .end = s->built + n };
    vug_cpu_parallel_for(env, &job.queue, (n + ROWS_PER_CHUNK - 1) / ROWS_PER_CHUNK,
                         n * s->copy.columns, copy_rows, &job);
    if (!vug_is_cancelled(env->cancel)) /* of a cancelled job some chunks are missing */
        s->built += n;
}

void vug_cpu_head_screen_build(const vug_cpu_env *env, vug_cpu_head_screen *s)
{
    for (int i = 0; i < PARTS_PER_STEP && (s->credit_s >= 0 || s->is_always_used); i++) {
        const double start = vug_now();
        copy_part(env, s);
        s->credit_s -= vug_now() - start;
    }
}

void vug_cpu_head_screen_add_step(vug_cpu_head_screen *s, double seconds)
{
    s->credit_s += seconds * time_share;
}
