/* Norms, rotations, element-wise operations and the other operations on rows. */
#include "backend/cuda/row_math.h"

/* ---- norms ----------------------------------------------------------------------- */

/* Elements `first` and above of a row that are normed, and added to `add`, if that is not NULL. */
static __device__ void norm_elements(const vug_cuda_norm_job &job, const float *x, const float *add,
                                     float by, int first, float *out)
{
    const int n = (int)job.width;
#pragma unroll 1
    for (int i = first + threadIdx.x; i < n; i += LOADS_TOGETHER * ROW_THREADS) {
        float v[LOADS_TOGETHER], w[LOADS_TOGETHER] = {}, to[LOADS_TOGETHER];
        load_elements(x, n, i, v);
        if (job.w)
            load_elements(job.w, n, i, w);
        if (add)
            load_elements(add, n, i, to);
#pragma unroll
        for (int j = 0; j < LOADS_TOGETHER; j++) {
            const float y = normalised(job, v[j], by, w[j]);
            if (i + j * ROW_THREADS < n)
                out[i + j * ROW_THREADS] = add ? to[j] + y : y;
        }
    }
}

static __global__ void norm_kernel(vug_cuda_norm_job job)
{
    const int64_t row = blockIdx.x, n = job.width, h = job.dims / 2;
    start_next();
    if (job.w)
        prefetch_row(job.w, (int)n, threadIdx.x, ROW_THREADS);
    wait_for_previous();
    const float *x = job.x + row * n;
    const float *table = job.table ? job.table + row / job.heads * job.dims : NULL;
    float *out = job.out + row * n;
    const float r = norm_factor(row_squares(x, n), n, job.eps);
    for (int64_t i = threadIdx.x; table && i < h; i += ROW_THREADS) {
        const float a = normalised_at(job, x, r, i), b = normalised_at(job, x, r, i + h);
        const rotated_pair pair = rotate(a, b, table[i], table[i + h]);
        out[i] = pair.first;
        out[i + h] = pair.second;
    }
    norm_elements(job, x, job.add ? job.add + row * n : NULL, r, table ? (int)job.dims : 0, out);
}

void vug_cuda_norm(cudaStream_t stream, const vug_cuda_norm_job *job)
{
    if (job->rows > 0)
        launch_early(stream, norm_kernel, dim3((unsigned)job->rows), ROW_THREADS, 0, job->launch,
                     *job);
}

/* ---- rotations --------------------------------------------------------------------- */

static __global__ void rope_kernel(vug_cuda_norm_job job)
{
    const int64_t row = blockIdx.x, n = job.width, h = job.dims / 2;
    const float *x = job.x + row * n, *table = job.table + row / job.heads * job.dims;
    float *out = job.out + row * n;
    for (int64_t i = threadIdx.x; i < h; i += ROW_THREADS) {
        const rotated_pair pair = rotate(x[i], x[i + h], table[i], table[i + h]);
        out[i] = pair.first;
        out[i + h] = pair.second;
    }
    for (int64_t i = job.dims + threadIdx.x; i < n; i += ROW_THREADS)
        out[i] = x[i];
}

void vug_cuda_rope(cudaStream_t stream, const vug_cuda_norm_job *job)
{
    if (job->rows > 0)
        launch(stream, rope_kernel, dim3((unsigned)job->rows), ROW_THREADS, *job);
}

/* The angle is rounded to F32; its cosine and sine are computed in double, each by a thread, and rounded
 * once. */
static __global__ void rope_table_kernel(const int32_t *position, const float *inv, int64_t h,
                                         float factor, float *out)
{
    const int64_t row = blockIdx.x;
    start_next();
    wait_for_previous();
    for (int64_t i = threadIdx.x; i < 2 * h; i += ROW_THREADS) {
        const double angle = (float)position[row] * inv[i % h];
        out[row * 2 * h + i] = (float)(i < h ? cos(angle) : sin(angle)) * factor;
    }
}

void vug_cuda_rope_table(cudaStream_t stream, const int32_t *position, int64_t rows,
                         const vug_attr_table *at, vug_cuda_launch_options options, float *out)
{
    if (rows > 0)
        launch_early(stream, rope_table_kernel, dim3((unsigned)rows), ROW_THREADS, 0, options,
                     position, (const float *)at->inv, (int64_t)at->dims / 2, at->factor, out);
}

/* ---- elements ------------------------------------------------------------------------ */

static __device__ float element(const vug_cuda_element_job &job, int64_t i)
{
    const float a = job.a[i];
    switch (job.op) {
    case VUG_OP_ADD:
        return a + job.b[i];
    case VUG_OP_MUL:
        return a * job.b[i];
    case VUG_OP_GELU:
        return gelu(a);
    case VUG_OP_SILU:
        return silu(a);
    case VUG_OP_GEGLU:
        return gelu(a) * job.b[i];
    case VUG_OP_SWIGLU:
        return silu(a) * job.b[i];
    case VUG_OP_SCALE:
        return a * job.by;
    case VUG_OP_SOFTCAP:
        return tanhf(a / job.by) * job.by;
    case VUG_OP_BIAS:
        return a + job.b[i % job.width];
    case VUG_OP_SCALE_BY:
        return a * job.b[0];
    default:
        return a;
    }
}

static __global__ void element_kernel(vug_cuda_element_job job)
{
    const int64_t i = (int64_t)blockIdx.x * ROW_THREADS + threadIdx.x;
    start_next();
    wait_for_previous();
    if (i < job.n)
        job.out[i] = element(job, i);
}

void vug_cuda_elements(cudaStream_t stream, const vug_cuda_element_job *job)
{
    if (job->n > 0)
        launch_early(stream, element_kernel, dim3(blocks_for(job->n, ROW_THREADS)), ROW_THREADS, 0,
                     job->launch, *job);
}

/* ---- moving rows ---------------------------------------------------------------------- */

static __global__ void gather_kernel(vug_cuda_gather_job job)
{
    const int64_t row = blockIdx.x;
    const int64_t from = job.index ? job.index[row] : row * job.stride + job.first;
    for (int64_t i = threadIdx.x; i < job.width; i += ROW_THREADS)
        job.out[row * job.width + i] = job.x[from * job.width + i];
}

void vug_cuda_gather(cudaStream_t stream, const vug_cuda_gather_job *job)
{
    if (job->rows > 0)
        launch(stream, gather_kernel, dim3((unsigned)job->rows), ROW_THREADS, *job);
}

static __global__ void deinterleave_kernel(const float *x, int64_t width, float *out)
{
    const int64_t row = blockIdx.x, h = width / 2;
    for (int64_t i = threadIdx.x; i < width; i += ROW_THREADS)
        out[row * width + i] = x[row * width + (i < h ? 2 * i : 2 * (i - h) + 1)];
}

void vug_cuda_deinterleave(cudaStream_t stream, const float *x, int64_t rows, int64_t width,
                           float *out)
{
    if (rows > 0)
        launch(stream, deinterleave_kernel, dim3((unsigned)rows), ROW_THREADS, x, width, out);
}

/* ---- experts --------------------------------------------------------------------------- */

/* Integers that have the order of logits; a NaN ranks as the lowest, and both zeros are equal. */
static __device__ __forceinline__ uint32_t rank_of(float logit)
{
    const uint32_t bits = __float_as_uint(isnan(logit) ? -INFINITY : logit + 0.0f);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* A block for each row. An expert is chosen if fewer than `count` are better, of equal ones the first. Sums
 * are taken from the best expert on, or in the order of indices. */
static __global__ void __launch_bounds__(ROW_THREADS)
        router_kernel(const float *logits, int n, vug_attr_router at, float *out)
{
    extern __shared__ uint32_t ranks[]; /* [n]; then the exps that are added */
    const int count = (int)at.count, summed = at.renormalise ? count : n;
    const float *const logit = logits + (int64_t)blockIdx.x * n;
    float *const exps = (float *)(ranks + n), *const best = exps + summed; /* [count] */
    float *const chosen = out + (int64_t)blockIdx.x * 2 * count, *const weight = chosen + count;
    start_next();
    wait_for_previous();
    for (int i = threadIdx.x; i < n; i += ROW_THREADS)
        ranks[i] = rank_of(logit[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += ROW_THREADS) {
        const uint32_t rank = ranks[i];
        int better = 0;
#pragma unroll 8
        for (int j = 0; j < n; j++)
            better += ranks[j] > rank || (ranks[j] == rank && j < i);
        if (better >= count)
            continue;
        chosen[better] = (float)i;
        best[better] = logit[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < summed; i += ROW_THREADS)
        exps[i] = expf((at.renormalise ? best[i] : logit[i]) - best[0]);
    __syncthreads();
    float sum = 0;
#pragma unroll 8
    for (int i = 0; i < summed; i++)
        sum += exps[i];
    for (int i = threadIdx.x; i < count; i += ROW_THREADS)
        weight[i] = expf(best[i] - best[0]) / sum;
}

void vug_cuda_router(cudaStream_t stream, const float *logits, int64_t rows, int64_t n,
                     const vug_attr_router *at, vug_cuda_launch_options options, float *out)
{
    const size_t bytes =
            (size_t)(n + (at->renormalise ? at->count : n) + at->count) * sizeof(float);
    if (rows > 0)
        launch_early(stream, router_kernel, dim3((unsigned)rows), ROW_THREADS, bytes, options,
                     logits, (int)n, *at, out);
}

static __global__ void route_scale_kernel(const float *route, const float *w, int64_t n, int k,
                                          float *out)
{
    const int64_t i = (int64_t)blockIdx.x * ROW_THREADS + threadIdx.x;
    const int64_t row = i / k * 2 * k, j = i % k;
    if (i >= n)
        return;
    out[row + j] = route[row + j];
    out[row + k + j] = route[row + k + j] * w[(int64_t)route[row + j]];
}

void vug_cuda_route_scale(cudaStream_t stream, const float *route, const float *w, int64_t rows,
                          int k, float *out)
{
    if (rows > 0)
        launch(stream, route_scale_kernel, dim3(blocks_for(rows * k, ROW_THREADS)), ROW_THREADS,
               route, w, rows * k, k, out);
}

static __global__ void mix_kernel(vug_cuda_mix_job job)
{
    const int64_t i = (int64_t)blockIdx.x * ROW_THREADS + threadIdx.x;
    start_next();
    wait_for_previous();
    if (i >= job.rows * job.width)
        return;
    const int64_t row = i / job.width, column = i % job.width;
    const float *y = job.y + row * job.k * job.width + column;
    const float *weight = job.route + row * 2 * job.k + job.k;
    float sum = y[0] * weight[0];
    for (int j = 1; j < job.k; j++)
        sum = fmaf(y[j * job.width], weight[j], sum);
    job.out[i] = sum;
}

void vug_cuda_mix_experts(cudaStream_t stream, const vug_cuda_mix_job *job)
{
    if (job->rows > 0)
        launch_early(stream, mix_kernel, dim3(blocks_for(job->rows * job->width, ROW_THREADS)),
                     ROW_THREADS, 0, job->launch, *job);
}
