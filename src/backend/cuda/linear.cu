/*
 * Products with weights, and rows of tables.
 *
 * A warp computes a few outputs of a few rows. Lane l adds the products of the weights 8 l .. 8 l
 * + 7 of each run of 256, in order, with one fused multiply-add each; the sums of the lanes are
 * then added pairwise. So the order depends only on the length of a row of weights: the result is
 * the same whichever kernel below computes it, and that of a quantized weight is that of its
 * decoded values.
 */
#include "backend/cuda/weight_groups.h"

enum { LINEAR_WARPS = 4 };

/* Eight neighbours of a row of x; zeros past its end. */
static __device__ __forceinline__ void read_x(const float *x, int64_t group, int64_t in, float *to)
{
    const int64_t first = group * GROUP;
    if (in % GROUP == 0) {
        const float4 a = *(const float4 *)(x + first), b = *(const float4 *)(x + first + 4);
        to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w;
        to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
        return;
    }
    for (int j = 0; j < GROUP; j++)
        to[j] = first + j < in ? x[first + j] : 0;
}

/* Outputs output .. output + outs - 1 of `rows` rows of x: what the lane adds up. Rows and outputs
 * that do not exist repeat the last one. */
template <int dtype, int rows, int outs>
static __device__ __forceinline__ void lane_sums(const vug_matrix &w, int64_t row_bytes,
                                                 int64_t output, int64_t last_output,
                                                 const float *const *x, float (&sum)[rows][outs])
{
    const int64_t in = w.columns, groups = (in + GROUP - 1) / GROUP;
    const uint8_t *base[outs];
    for (int o = 0; o < outs; o++) {
        base[o] = row_at<dtype>(w, row_bytes, min(output + o, last_output));
        for (int r = 0; r < rows; r++)
            sum[r][o] = 0;
    }
#pragma unroll(rows == 1 ? 4 : 1)
    for (int64_t g = threadIdx.x % WARP; g < groups; g += WARP) {
        float weight[outs][GROUP], value[GROUP];
        for (int o = 0; o < outs; o++)
            read_group<dtype>(w, base[o], min(output + o, last_output), g, weight[o]);
        for (int r = 0; r < rows; r++) {
            read_x(x[r], g, in, value);
            for (int o = 0; o < outs; o++) {
                for (int j = 0; j < GROUP; j++)
                    sum[r][o] = fmaf(value[j], weight[o][j], sum[r][o]);
            }
        }
    }
}

/* Floats that have no tiles. Routers are often of F32. */
template <int dtype>
static constexpr bool is_float = dtype == VUG_DTYPE_F32 || dtype == VUG_DTYPE_F16;

/* Begins to bring the weights of a warp's outputs to the cache of the device. */
template <int dtype, int outs>
static __device__ __forceinline__ void prefetch_weights(const vug_cuda_linear_job &job,
                                                        int64_t output)
{
    for (int o = 0; o < outs && output + o < job.out; o++)
        prefetch_row((const float *)row_at<dtype>(job.w, job.row_bytes, output + o),
                     (int)(job.row_bytes / (int64_t)sizeof(float)), threadIdx.x % WARP, WARP);
}

template <int dtype, int rows, int outs>
static __global__ void linear_kernel(vug_cuda_linear_job job)
{
    const int64_t row = (int64_t)blockIdx.x * rows;
    const int64_t output = ((int64_t)blockIdx.y * LINEAR_WARPS + threadIdx.x / WARP) * outs;
    if (output >= job.out)
        return;
    const float *x[rows];
    float sum[rows][outs];
    for (int r = 0; r < rows; r++)
        x[r] = job.x + min(row + r, job.rows - 1) * job.w.columns;
    start_next();
    if constexpr (is_float<dtype>)
        prefetch_weights<dtype, outs>(job, output);
    wait_for_previous();
    lane_sums<dtype, rows, outs>(job.w, job.row_bytes, output, job.out - 1, x, sum);
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < outs; o++) {
            const float y = warp_sum(sum[r][o]);
            if (threadIdx.x % WARP == 0 && row + r < job.rows && output + o < job.out)
                job.y[(row + r) * job.out + output + o] = y;
        }
    }
}

template <int dtype, int rows, int outs>
static void launch_linear(cudaStream_t stream, const vug_cuda_linear_job *job)
{
    const dim3 grid(blocks_for(job->rows, rows), blocks_for(job->out, LINEAR_WARPS * outs));
    launch_early(stream, linear_kernel<dtype, rows, outs>, grid, LINEAR_WARPS * WARP, 0,
                 job->launch, *job);
}

/* One row is bound by memory; more rows share what they read. If that leaves too few warps, as with the
 * matrix of a router, each has fewer outputs. */
template <int dtype> static void choose_linear(cudaStream_t stream, const vug_cuda_linear_job *job)
{
    if constexpr (is_float<dtype>) {
        enum { WARPS = 2048 };
        const int64_t outputs = job->rows * job->out;
        if (job->rows == 1 && outputs <= WARPS)
            return launch_linear<dtype, 1, 1>(stream, job);
        if (job->rows > 1 && outputs <= 2 * WARPS)
            return launch_linear<dtype, 2, 1>(stream, job);
        if (job->rows > 1 && outputs <= 8 * WARPS)
            return launch_linear<dtype, 4, 2>(stream, job);
    }
    if (job->rows == 1)
        launch_linear<dtype, 1, 2>(stream, job);
    else
        launch_linear<dtype, 8, 4>(stream, job);
}

bool vug_cuda_reads_format(vug_dtype dtype)
{
    switch (dtype) {
#define X(format) case VUG_DTYPE_##format:
        WEIGHT_FORMATS(X)
#undef X
        return true;
    default:
        return false;
    }
}

void vug_cuda_linear(cudaStream_t stream, const vug_cuda_linear_job *job)
{
    switch (job->w.dtype) {
#define X(format)                                       \
    case VUG_DTYPE_##format:                            \
        choose_linear<VUG_DTYPE_##format>(stream, job); \
        break;
        WEIGHT_FORMATS(X)
#undef X
    default:
        break;
    }
}

/* ---- experts ---------------------------------------------------------------------- */

enum { EXPERT_OUTS = 2 };

template <int dtype> static __global__ void expert_kernel(vug_cuda_expert_job job)
{
    const int64_t row = blockIdx.x;
    const int64_t output = ((int64_t)blockIdx.y * LINEAR_WARPS + threadIdx.x / WARP) * EXPERT_OUTS;
    if (output >= job.out)
        return;
    const int expert = named_expert(job.route[row / job.k * 2 * job.k + row % job.k], job.experts);
    vug_matrix w = job.w;
    w.data = job.data[3 * expert];
    w.scales.scale = job.data[3 * expert + 1];
    w.scales.bias = job.data[3 * expert + 2];
    const float *x[1] = { job.x + row / job.rows_per_x * w.columns };
    float sum[1][EXPERT_OUTS];
    lane_sums<dtype, 1, EXPERT_OUTS>(w, job.row_bytes, output, job.out - 1, x, sum);
    for (int o = 0; o < EXPERT_OUTS; o++) {
        const float y = warp_sum(sum[0][o]);
        if (threadIdx.x % WARP == 0 && output + o < job.out)
            job.y[row * job.out + output + o] = y;
    }
}

void vug_cuda_expert_linear(cudaStream_t stream, const vug_cuda_expert_job *job)
{
    const dim3 grid((unsigned)job->rows, blocks_for(job->out, LINEAR_WARPS * EXPERT_OUTS));
    switch (job->w.dtype) {
#define X(format)                                                                          \
    case VUG_DTYPE_##format:                                                               \
        launch(stream, expert_kernel<VUG_DTYPE_##format>, grid, LINEAR_WARPS *WARP, *job); \
        break;
        WEIGHT_FORMATS(X)
#undef X
    default:
        break;
    }
}

/* ---- tables ------------------------------------------------------------------------ */

enum { EMBED_THREADS = 128 };

template <int dtype> static __global__ void embed_kernel(vug_cuda_embed_job job)
{
    start_next();
    wait_for_previous();
    const int64_t columns = job.table.columns, row = job.index[blockIdx.x];
    const int64_t group = (int64_t)blockIdx.y * EMBED_THREADS + threadIdx.x, first = group * GROUP;
    if (first >= columns)
        return;
    float w[GROUP];
    read_group<dtype>(job.table, row_at<dtype>(job.table, job.row_bytes, row), row, group, w);
    for (int j = 0; j < GROUP && first + j < columns; j++)
        job.out[(int64_t)blockIdx.x * columns + first + j] = w[j] * job.by;
}

void vug_cuda_embed(cudaStream_t stream, const vug_cuda_embed_job *job)
{
    const dim3 grid((unsigned)job->rows, blocks_for(job->table.columns, EMBED_THREADS * GROUP));
    switch (job->table.dtype) {
#define X(format)                                                                      \
    case VUG_DTYPE_##format:                                                           \
        launch_early(stream, embed_kernel<VUG_DTYPE_##format>, grid, EMBED_THREADS, 0, \
                     job->launch, *job);                                               \
        break;
        WEIGHT_FORMATS(X)
#undef X
    default:
        break;
    }
}
