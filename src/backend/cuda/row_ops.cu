/* Norms, rotations, element-wise operations and the other operations on rows. */
#include "backend/cuda/row_math.h"

/* ---- norms ----------------------------------------------------------------------- */

static __global__ void norm_kernel(vug_cuda_norm_job job)
{
    const int64_t row = blockIdx.x, n = job.width, h = job.dims / 2;
    start_next();
    wait_for_previous();
    const float *x = job.x + row * n;
    const float *table = job.table ? job.table + row / job.heads * job.dims : NULL;
    float *out = job.out + row * n;
    const float r = norm_factor(row_squares(x, n), n, job.eps);
    for (int64_t i = threadIdx.x; table && i < h; i += ROW_THREADS) {
        const float a = normalised(job, x, r, i), b = normalised(job, x, r, i + h);
        const rotated_pair pair = rotate(a, b, table[i], table[i + h]);
        out[i] = pair.first;
        out[i + h] = pair.second;
    }
    for (int64_t i = (table ? job.dims : 0) + threadIdx.x; i < n; i += ROW_THREADS) {
        const float y = normalised(job, x, r, i);
        out[i] = job.add ? job.add[row * n + i] + y : y;
    }
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

/* A NaN ranks lowest. */
static __device__ __forceinline__ float rank_of(float logit)
{
    return isnan(logit) ? -INFINITY : logit;
}

/* An expert, by its rank; of equal ones the first is better. */
struct ranked_expert {
    float rank;
    int64_t index;
};

static __device__ __forceinline__ bool is_better(const ranked_expert &a, const ranked_expert &b)
{
    return a.rank > b.rank || (a.rank == b.rank && a.index < b.index);
}

/* The best expert of a row that `last` is better than; all lanes of a warp take part. */
static __device__ ranked_expert find_next(const float *logit, int64_t n, const ranked_expert &last)
{
    ranked_expert best = { -INFINITY, n };
    for (int64_t i = threadIdx.x % WARP; i < n; i += WARP) {
        const ranked_expert expert = { rank_of(logit[i]), i };
        if (is_better(last, expert) && is_better(expert, best))
            best = expert;
    }
    for (int d = WARP / 2; d > 0; d /= 2) {
        const ranked_expert other = { __shfl_xor_sync(0xffffffffu, best.rank, d),
                                      __shfl_xor_sync(0xffffffffu, best.index, d) };
        if (is_better(other, best))
            best = other;
    }
    return best;
}

/* The sum over all experts, in the order of indices, the same in each lane. */
static __device__ float sum_exps(const float *logit, int64_t n, float best)
{
    float sum = 0;
    for (int64_t first = 0; first < n; first += WARP) {
        const int64_t i = first + threadIdx.x % WARP;
        const float own = i < n ? expf(logit[i] - best) : 0;
        for (int j = 0; j < WARP && first + j < n; j++)
            sum += __shfl_sync(0xffffffffu, own, j);
    }
    return sum;
}

/* A warp for each row. Sums are taken from the best expert on, or in the order of indices. */
static __global__ void router_kernel(const float *logits, int64_t rows, int64_t n,
                                     vug_attr_router at, float *out)
{
    const int64_t row = (int64_t)blockIdx.x * ROW_WARPS + threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP;
    start_next();
    wait_for_previous();
    if (row >= rows)
        return;
    const float *logit = logits + row * n;
    float *chosen = out + row * 2 * at.count, *weight = chosen + at.count, best = 0, sum = 0;
    ranked_expert next = { INFINITY, -1 };
    for (int64_t j = 0; j < at.count; j++) {
        next = find_next(logit, n, next);
        best = j == 0 ? logit[next.index] : best;
        const float by = expf(logit[next.index] - best);
        sum += at.renormalise ? by : 0;
        if (lane == 0) {
            chosen[j] = (float)next.index;
            weight[j] = by;
        }
    }
    if (!at.renormalise)
        sum = sum_exps(logit, n, best);
    __syncwarp();
    for (int64_t j = lane; j < at.count; j += WARP)
        weight[j] /= sum;
}

void vug_cuda_router(cudaStream_t stream, const float *logits, int64_t rows, int64_t n,
                     const vug_attr_router *at, vug_cuda_launch_options options, float *out)
{
    if (rows > 0)
        launch_early(stream, router_kernel, dim3(blocks_for(rows, ROW_WARPS)), ROW_THREADS, 0,
                     options, logits, rows, n, *at, out);
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
