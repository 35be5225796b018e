/*
 * Everything that is computed row by row. A fused operation calls the kernels of
 * the operations it replaces, one row at a time while the row is in the cache,
 * and so gives their bits.
 */
#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"

typedef void row_fn(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row);

static float *out_row(const vug_cpu_rows_job *job, int64_t row)
{
    return job->out + row * job->width;
}

static const float *in_row(const vug_cpu_rows_job *job, int i, int64_t row)
{
    return job->in[i] + row * job->width;
}

/* ---- rows ----------------------------------------------------------------- */

static void row_embed(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    const vug_cpu_format *format = kernels->format[job->table.dtype];
    const int64_t bytes = job->width * vug_dtype_of(job->table.dtype)->bytes;
    float *out = out_row(job, row);
    if (format) {
        format->decode(job->table.data + job->index[row] * bytes, job->by, out, job->width);
        return;
    }
    vug_matrix_decode(&job->table, job->index[row], out);
    kernels->scale(out, job->by, out, job->width);
}

static float inverse_rms(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job,
                         const float *x)
{
    const float mean = kernels->sum_squares(x, job->width) / (float)job->width;
    return 1.0f / sqrtf(mean + job->eps);
}

static void norm_into(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, const float *x,
                      float *out)
{
    kernels->norm(x, inverse_rms(kernels, job, x), job->w, out, job->width);
}

static void row_unit_norm(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    const float *x = in_row(job, 0, row);
    kernels->scale(x, inverse_rms(kernels, job, x), out_row(job, row), job->width);
}

static void row_rms_norm(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    norm_into(kernels, job, in_row(job, 0, row), out_row(job, row));
}

static void row_add_norm(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    float *out = out_row(job, row);
    norm_into(kernels, job, in_row(job, 1, row), out);
    kernels->add(in_row(job, 0, row), out, out, job->width);
}

static void row_rope_table(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    (void)kernels;
    vug_ref_rope_table(job->angles, job->index[row], out_row(job, row));
}

/* `x` may be `out`. */
static void rotate(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, const float *x,
                   const float *table, float *out)
{
    const int64_t h = job->dims / 2;
    kernels->rope(x, table, table + h, h, out);
    if (x != out)
        memcpy(out + job->dims, x + job->dims, (size_t)(job->width - job->dims) * sizeof(float));
}

static void row_unpair(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    (void)kernels;
    vug_ref_unpair(in_row(job, 0, row), out_row(job, row), job->width);
}

static void row_rope(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    rotate(kernels, job, in_row(job, 0, row), job->in[1] + row / job->heads * job->dims,
           out_row(job, row));
}

static void row_norm_rope(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    float *out = out_row(job, row);
    norm_into(kernels, job, in_row(job, 0, row), out);
    rotate(kernels, job, out, job->in[2] + row / job->heads * job->dims, out);
}

static void row_add(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    kernels->add(in_row(job, 0, row), in_row(job, 1, row), out_row(job, row), job->width);
}

static void row_mul(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    kernels->mul(in_row(job, 0, row), in_row(job, 1, row), out_row(job, row), job->width);
}

static void row_gelu(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    kernels->gelu(in_row(job, 0, row), out_row(job, row), job->width);
}

static void row_geglu(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    float *out = out_row(job, row);
    kernels->gelu(in_row(job, 0, row), out, job->width);
    kernels->mul(out, in_row(job, 1, row), out, job->width);
}

static void row_silu(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    kernels->silu(in_row(job, 0, row), out_row(job, row), job->width);
}

static void row_swiglu(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    float *out = out_row(job, row);
    kernels->silu(in_row(job, 0, row), out, job->width);
    kernels->mul(out, in_row(job, 1, row), out, job->width);
}

static void row_bias(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    kernels->add(in_row(job, 0, row), job->w, out_row(job, row), job->width);
}

static void row_scale(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    kernels->scale(in_row(job, 0, row), job->by, out_row(job, row), job->width);
}

static void row_gain(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    row_scale(kernels, job, row);
}

static void row_softcap(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    kernels->softcap(in_row(job, 0, row), job->by, out_row(job, row), job->width);
}

static void row_take(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    (void)kernels;
    memcpy(out_row(job, row), in_row(job, 0, job->index[row]), (size_t)job->width * sizeof(float));
}

static void row_router(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    (void)kernels;
    vug_ref_router(job->in[0] + row * job->experts, job->experts, job->router, out_row(job, row));
}

static void row_route_scale(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job,
                            int64_t row)
{
    (void)kernels;
    vug_ref_route_scale(in_row(job, 0, row), job->w, job->width / 2, out_row(job, row));
}

static void row_head(const vug_cpu_kernels *kernels, const vug_cpu_rows_job *job, int64_t row)
{
    (void)kernels;
    memcpy(out_row(job, row), in_row(job, 0, row * job->heads + job->head),
           (size_t)job->width * sizeof(float));
}

/* Operations that have jobs of their own, or need no work. */
#define row_param               NULL
#define row_input               NULL
#define row_linear              NULL
#define row_attention           NULL
#define row_attention_mask      NULL
#define row_attention_past      NULL
#define row_attention_past_mask NULL
#define row_heads               NULL
#define row_merge               NULL
#define row_attend              NULL
#define row_attend_mask         NULL
#define row_experts             NULL

static row_fn *const row_of[VUG_OP_COUNT] = {
#define OP(id, name, n_in, attrs, rule) [VUG_OP_##id] = row_##name,
#include "ir/ops.def"
#undef OP
};

/* ---- a job ---------------------------------------------------------------- */

/* Every element on its own, so that rows may be cut anywhere: one row of logits is as
 * wide as the vocabulary. */
static bool is_flat(vug_op op)
{
    switch (op) {
    case VUG_OP_ADD:
    case VUG_OP_MUL:
    case VUG_OP_GELU:
    case VUG_OP_SILU:
    case VUG_OP_SCALE:
    case VUG_OP_SOFTCAP:
    case VUG_OP_GEGLU:
    case VUG_OP_SWIGLU:
        return true;
    default:
        return false;
    }
}

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_rows_job *job;
    int64_t per_chunk; /* rows, or elements of a flat operation */
    bool flat;
    vug_cpu_deal deal;
} loop;

/* Elements first .. end-1 as one row. */
static void run_elements(const loop *l, int64_t first, int64_t end)
{
    vug_cpu_rows_job part = *l->job;
    part.width = end - first;
    part.out += first;
    for (int i = 0; i < vug_op_inputs(part.op); i++)
        part.in[i] += first;
    row_of[part.op](l->env->kernels, &part, 0);
}

static void run_rows(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    loop *l = arg;
    const int64_t n = l->flat ? l->job->rows * l->job->width : l->job->rows;
    for (int64_t i; (i = vug_cpu_deal_take(&l->deal)) < l->deal.n;) {
        const int64_t first = i * l->per_chunk;
        const int64_t end = first + l->per_chunk < n ? first + l->per_chunk : n;
        if (l->flat)
            run_elements(l, first, end);
        for (int64_t row = first; !l->flat && row < end; row++)
            row_of[l->job->op](l->env->kernels, l->job, row);
    }
}

void vug_cpu_rows(const vug_cpu_env *env, const vug_cpu_rows_job *job)
{
    const bool flat = is_flat(job->op);
    const int64_t n = flat ? job->rows * job->width : job->rows;
    const int64_t rows = job->width < VUG_CPU_CHUNK ? VUG_CPU_CHUNK / job->width : 1;
    const int64_t per_chunk = flat ? VUG_CPU_CHUNK : rows;
    loop l = { .env = env, .job = job, .per_chunk = per_chunk, .flat = flat };
    vug_cpu_spread(env, &l.deal, (n + per_chunk - 1) / per_chunk, job->rows * job->width, run_rows,
                   &l);
}
