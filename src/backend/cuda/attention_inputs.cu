/* What goes into attention, in one launch: queries and keys are normed and rotated, queries are
 * stored for the step and keys and values in the cache. */
#include "backend/cuda/kv_elements.h"
#include "backend/cuda/row_math.h"

enum { ROWS = 8 }; /* of a block: one for each warp */

/* row_squares, by one warp: the sums of its warps one after the other. */
static __device__ float row_squares_of_warp(const float *x, int n)
{
    float part[ROW_WARPS];
#pragma unroll
    for (int w = 0; w < ROW_WARPS; w++) {
        part[w] = 0;
        for (int i = w * WARP + threadIdx.x % WARP; i < n; i += ROW_THREADS)
            part[w] = fmaf(x[i], x[i], part[w]);
    }
    /* Side by side: each is what warp_sum gives. */
    for (int d = WARP / 2; d > 0; d /= 2) {
#pragma unroll
        for (int w = 0; w < ROW_WARPS; w++)
            part[w] += __shfl_xor_sync(0xffffffffu, part[w], d);
    }
    for (int w = 1; w < ROW_WARPS; w++)
        part[0] += part[w];
    return part[0];
}

/* A warp's row: element i of the lane and those that follow are asked for together. */
static __device__ __forceinline__ void fetch_row(const float *x, int n, float *to)
{
#pragma unroll 8
    for (int i = threadIdx.x % WARP; i < n; i += WARP)
        to[i] = x[i];
    __syncwarp();
}

/* Rotates row `row` of a job, normed before if `norms`, in shared memory. */
static __device__ void rotate_row(const vug_cuda_norm_job &job, bool norms, int64_t row, float *y)
{
    const int n = (int)job.width, dims = (int)job.dims, h = dims / 2, lane = threadIdx.x % WARP;
    const float *table = job.table + row / job.heads * dims;
    fetch_row(job.x + row * n, n, y);
    const float r = norms ? norm_factor(row_squares_of_warp(y, n), n, job.eps) : 1;
    __syncwarp(); /* all have read the row */
    for (int i = lane; i < h; i += WARP) {
        const float a = norms ? normalised(job, y, r, i) : y[i];
        const float b = norms ? normalised(job, y, r, i + h) : y[i + h];
        const rotated_pair pair = rotate(a, b, table[i], table[i + h]);
        y[i] = pair.first;
        y[i + h] = pair.second;
    }
    for (int i = dims + lane; norms && i < n; i += WARP)
        y[i] = normalised(job, y, r, i);
    __syncwarp();
}

/* Stores a row of keys or values of head `head` where token `t` says. */
template <int format>
static __device__ void store_row(const vug_cuda_append_job &job, int64_t t, int64_t head,
                                 bool values, const float *x)
{
    const vug_cuda_token token = job.token[t];
    uint8_t *page = job.page[token.table + token.position / VUG_KV_PAGE];
    if (!page)
        return; /* a window hides it */
    const int width = (int)job.cache.width;
    const kv_part part = kv_part_at(job.cache, page, head, values);
    for (int e = threadIdx.x % WARP; e < (width + WARP - 1) / WARP * WARP; e += WARP)
        kv_store<format>(part, token.position % VUG_KV_PAGE, e, e < width ? x[e] : 0);
}

/* A warp for each row: the queries of a token, its keys, its values. */
template <int format>
static __global__ void __launch_bounds__(ROWS *WARP)
        inputs_kernel(const __grid_constant__ vug_cuda_attention_inputs_job job)
{
    __shared__ float rows[ROWS][VUG_CUDA_MAX_HEAD];
    float *y = rows[threadIdx.x / WARP];
    const int64_t t = blockIdx.x, heads = job.q.heads, kv = job.k.heads;
    const int64_t i = (int64_t)blockIdx.y * ROWS + threadIdx.x / WARP;
    const int width = (int)job.q.width;
    start_next();
    if (i < heads) {
        rotate_row(job.q, job.q_norms, t * heads + i, y);
        for (int e = threadIdx.x % WARP; e < width; e += WARP)
            job.q.out[(t * heads + i) * width + e] = y[e];
    } else if (i < heads + kv) {
        rotate_row(job.k, job.k_norms, t * kv + i - heads, y);
        store_row<format>(job.store, t, i - heads, false, y);
    } else if (i < heads + 2 * kv) {
        const int64_t head = i - heads - kv;
        fetch_row(job.store.v + (t * kv + head) * width, width, y);
        store_row<format>(job.store, t, head, true, y);
    }
}

void vug_cuda_attention_inputs(cudaStream_t stream, const vug_cuda_attention_inputs_job *job)
{
    const dim3 grid((unsigned)job->store.tokens, blocks_for(job->q.heads + 2 * job->k.heads, ROWS));
    switch (job->store.cache.format) {
#define X(format, name)                                                         \
    case VUG_KV_##format:                                                       \
        launch(stream, inputs_kernel<VUG_KV_##format>, grid, ROWS *WARP, *job); \
        break;
        VUG_KV_FORMATS(X)
#undef X
    case VUG_KV_COUNT:
        break;
    }
}
