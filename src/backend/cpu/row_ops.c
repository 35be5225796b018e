/*
 * The operations that are computed row by row. A fused operation calls the kernels of the
 * operations that it replaces, one row at a time while the row is in the cache, so it gives
 * the same bits.
 */
#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "quant/matrix.h"

static float *out_row(const vug_cpu_row_job *job, int64_t row)
{
    return job->out + row * job->width;
}

static const float *in_row(const vug_cpu_row_job *job, int i, int64_t row)
{
    return job->in[i] + row * job->width;
}

/* ---- rows ----------------------------------------------------------------- */

void vug_cpu_row_embed(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    const vug_cpu_format *format = kernels->format[job->table.dtype];
    const int64_t bytes = job->width * vug_dtype_of(job->table.dtype)->bytes;
    float *out = out_row(job, row);
    if (format) {
        format->decode(job->table.data + job->index[row] * bytes, job->node->at.scale.by, out,
                       job->width);
        return;
    }
    vug_matrix_decode(&job->table, job->index[row], out);
    kernels->scale(out, job->node->at.scale.by, out, job->width);
}

static float inverse_rms(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, const float *x)
{
    const float mean = kernels->sum_squares(x, job->width) / (float)job->width;
    return 1.0f / sqrtf(mean + job->node->at.norm.eps);
}

static void norm_into(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, const float *x,
                      float *out)
{
    kernels->norm(x, inverse_rms(kernels, job, x), job->w, out, job->width);
}

void vug_cpu_row_unit_norm(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    const float *x = in_row(job, 0, row);
    kernels->scale(x, inverse_rms(kernels, job, x), out_row(job, row), job->width);
}

void vug_cpu_row_rms_norm(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    norm_into(kernels, job, in_row(job, 0, row), out_row(job, row));
}

void vug_cpu_row_add_norm(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    float *out = out_row(job, row);
    norm_into(kernels, job, in_row(job, 1, row), out);
    kernels->add(in_row(job, 0, row), out, out, job->width);
}

/* Rotates by the table that is input `i`; `x` may be the output row. */
static void rotate_row(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, const float *x,
                       int i, int64_t row)
{
    const int64_t dims = job->in_shape[i]->dim[1], h = dims / 2;
    const float *table = job->in[i] + row / job->node->shape.dim[1] * dims;
    float *out = out_row(job, row);
    kernels->rope(x, table, table + h, h, out);
    if (x != out)
        memcpy(out + dims, x + dims, (size_t)(job->width - dims) * sizeof(float));
}

void vug_cpu_row_rope(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    rotate_row(kernels, job, in_row(job, 0, row), 1, row);
}

void vug_cpu_row_norm_rope(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    float *out = out_row(job, row);
    norm_into(kernels, job, in_row(job, 0, row), out);
    rotate_row(kernels, job, out, 2, row);
}

void vug_cpu_row_add(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    kernels->add(in_row(job, 0, row), in_row(job, 1, row), out_row(job, row), job->width);
}

void vug_cpu_row_mul(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    kernels->mul(in_row(job, 0, row), in_row(job, 1, row), out_row(job, row), job->width);
}

void vug_cpu_row_gelu(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    kernels->gelu(in_row(job, 0, row), out_row(job, row), job->width);
}

void vug_cpu_row_geglu(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    float *out = out_row(job, row);
    kernels->gelu(in_row(job, 0, row), out, job->width);
    kernels->mul(out, in_row(job, 1, row), out, job->width);
}

void vug_cpu_row_silu(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    kernels->silu(in_row(job, 0, row), out_row(job, row), job->width);
}

void vug_cpu_row_swiglu(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    float *out = out_row(job, row);
    kernels->silu(in_row(job, 0, row), out, job->width);
    kernels->mul(out, in_row(job, 1, row), out, job->width);
}

void vug_cpu_row_bias(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    kernels->add(in_row(job, 0, row), job->w, out_row(job, row), job->width);
}

void vug_cpu_row_scale(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    kernels->scale(in_row(job, 0, row), job->node->at.scale.by, out_row(job, row), job->width);
}

void vug_cpu_row_scale_by(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    kernels->scale(in_row(job, 0, row), job->w[0], out_row(job, row), job->width);
}

void vug_cpu_row_softcap(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job, int64_t row)
{
    kernels->softcap(in_row(job, 0, row), job->node->at.scale.by, out_row(job, row), job->width);
}

/* ---- running a job --------------------------------------------------------- */

#define ROW_LEAF(name)        NULL
#define ROW_VIEW(name)        NULL
#define ROW_LOOKUP(name)      vug_cpu_row_##name
#define ROW_PRODUCT(name)     NULL
#define ROW_ATTENTION(name)   NULL
#define ROW_NORM(name)        vug_cpu_row_##name
#define ROW_ROPE(name)        vug_cpu_row_##name
#define ROW_ROWS(name)        vug_cpu_row_##name
#define ROW_ELEMENTWISE(name) vug_cpu_row_##name

static vug_cpu_row_fn *const row_of[VUG_OP_COUNT] = {
#define OP(id, name, class, by, operands, attrs, rule) [VUG_OP_##id] = ROW_##class(name),
#include "ir/ops.def"
#undef OP
};

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_row_job *job;
    int64_t per_chunk; /* elements if flat, else rows */
    bool flat;         /* elementwise: wide rows, such as logits, are cut into chunks */
    vug_cpu_work_queue queue;
} row_loop;

/* Elements first .. end-1 as one row. */
static void run_elements(const row_loop *l, int64_t first, int64_t end)
{
    vug_cpu_row_job part = *l->job;
    part.width = end - first;
    part.out += first;
    for (int i = 0; i < vug_node_inputs(part.node); i++)
        part.in[i] += first;
    row_of[part.node->op](l->env->kernels, &part, 0);
}

static void run_rows(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    row_loop *l = arg;
    const int64_t n = l->flat ? l->job->rows * l->job->width : l->job->rows;
    for (int64_t i; (i = vug_cpu_work_queue_next(&l->queue)) < l->queue.n;) {
        const int64_t first = i * l->per_chunk;
        const int64_t end = first + l->per_chunk < n ? first + l->per_chunk : n;
        if (l->flat)
            run_elements(l, first, end);
        for (int64_t row = first; !l->flat && row < end; row++)
            row_of[l->job->node->op](l->env->kernels, l->job, row);
    }
}

void vug_cpu_run_rows(const vug_cpu_env *env, const vug_cpu_row_job *job)
{
    const bool flat = vug_op_class_of(job->node->op) == VUG_CLASS_ELEMENTWISE;
    const int64_t n = flat ? job->rows * job->width : job->rows;
    enum { CHUNK = VUG_CPU_CHUNK_ELEMENTS };
    const int64_t rows = job->width < CHUNK ? CHUNK / job->width : 1;
    const int64_t per_chunk = flat ? CHUNK : rows;
    row_loop l = { .env = env, .job = job, .per_chunk = per_chunk, .flat = flat };
    vug_cpu_parallel_for(env, &l.queue, (n + per_chunk - 1) / per_chunk, job->rows * job->width,
                         run_rows, &l);
}
