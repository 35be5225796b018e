/* What goes into attention, in one launch: queries and keys are normed and rotated, queries are
 * stored for the step and keys and values in the cache. */
#include "backend/cuda/kv_elements.h"
#include "backend/cuda/row_math.h"

enum {
    FEW_TOKENS = 64, /* up to here, a block computes a row, which takes less time than a warp */
    ROWS = ROW_WARPS /* of a block, otherwise */
};

/* What computes a row: a warp, or all threads of a block. */
template <bool warp> struct row_threads {
    static constexpr int n = warp ? (int)WARP : (int)ROW_THREADS;
    static constexpr int rows = warp ? (int)ROWS : 1; /* of a block */

    static __device__ __forceinline__ int index(void)
    {
        return (int)threadIdx.x % n;
    }
    static __device__ __forceinline__ void sync(void)
    {
        if (warp)
            __syncwarp();
        else
            __syncthreads();
    }
};

/* row_squares, by one warp. */
static __device__ float row_squares_of_warp(const float *x, int n)
{
    float part[ROW_WARPS];
#pragma unroll
    for (int w = 0; w < ROW_WARPS; w++) {
        part[w] = 0;
        for (int i = w * WARP + threadIdx.x % WARP; i < n; i += ROW_THREADS)
            part[w] = fmaf(x[i], x[i], part[w]);
    }
    /* Each is what warp_sum gives, but a step leaves a lane half of the sums. */
#pragma unroll
    for (int half = ROW_WARPS / 2, d = WARP / 2; half > 0; half /= 2, d /= 2) {
        const bool upper = threadIdx.x & d;
#pragma unroll
        for (int i = 0; i < half; i++) {
            const float other = __shfl_xor_sync(0xffffffffu, upper ? part[i] : part[i + half], d);
            part[i] = (upper ? part[i + half] : part[i]) + other;
        }
    }
    for (int d = WARP / ROW_WARPS / 2; d > 0; d /= 2)
        part[0] += __shfl_xor_sync(0xffffffffu, part[0], d);
    float sum = __shfl_sync(0xffffffffu, part[0], 0);
    for (int w = 1; w < ROW_WARPS; w++)
        sum += __shfl_sync(0xffffffffu, part[0], w * (WARP / ROW_WARPS));
    return sum;
}

/* Rotates row `row`, of token t, of a job, normed before if `norms`, in shared memory. */
template <bool warp>
static __device__ void rotate_row(const vug_cuda_norm_job &job, bool norms, int64_t t, int64_t row,
                                  float *y)
{
    using threads = row_threads<warp>;
    const int n = (int)job.width, dims = (int)job.dims, h = dims / 2;
    const float *x = job.x + row * n, *table = job.table + t * dims;
    const float squares = !norms ? 0 : warp ? row_squares_of_warp(x, n) : row_squares(x, n);
    const float r = norms ? norm_factor(squares, n, job.eps) : 1;
    for (int i = threads::index(); i < h; i += threads::n) {
        const float a = norms ? normalised(job, x, r, i) : x[i];
        const float b = norms ? normalised(job, x, r, i + h) : x[i + h];
        const rotated_pair pair = rotate(a, b, table[i], table[i + h]);
        y[i] = pair.first;
        y[i + h] = pair.second;
    }
    for (int i = dims + threads::index(); i < n; i += threads::n)
        y[i] = norms ? normalised(job, x, r, i) : x[i];
    threads::sync();
}

/* Stores a row of keys or values of head `head` where token `t` says. */
template <int format, bool warp>
static __device__ void store_row(const vug_cuda_append_job &job, int64_t t, int64_t head,
                                 bool values, const float *x)
{
    using threads = row_threads<warp>;
    const vug_cuda_token token = job.token[t];
    uint8_t *page = job.page[token.table + token.position / VUG_KV_PAGE];
    if (!page)
        return; /* a window hides it */
    const int width = (int)job.cache.width;
    const kv_part part = kv_part_at(job.cache, page, head, values);
    for (int e = threads::index(); e < (width + WARP - 1) / WARP * WARP; e += threads::n)
        kv_store<format>(part, token.position % VUG_KV_PAGE, e, e < width ? x[e] : 0);
}

/* The queries of a token, its keys, its values: rows side by side. */
template <int format, bool warp>
static __global__ void __launch_bounds__(ROW_THREADS)
        inputs_kernel(const __grid_constant__ vug_cuda_attention_inputs_job job)
{
    using threads = row_threads<warp>;
    __shared__ float rows[threads::rows][VUG_CUDA_MAX_HEAD];
    const int64_t t = blockIdx.x, heads = job.q.heads, kv = job.k.heads, width = job.q.width;
    const int64_t i = (int64_t)blockIdx.y * threads::rows + threadIdx.x / threads::n;
    float *y = rows[threadIdx.x / threads::n];
    start_next();
    if (i < heads) {
        rotate_row<warp>(job.q, job.q_norms, t, t * heads + i, y);
        for (int64_t e = threads::index(); e < width; e += threads::n)
            job.q.out[(t * heads + i) * width + e] = y[e];
    } else if (i < heads + kv) {
        rotate_row<warp>(job.k, job.k_norms, t, t * kv + i - heads, y);
        store_row<format, warp>(job.store, t, i - heads, false, y);
    } else if (i < heads + 2 * kv) {
        const int64_t head = i - heads - kv;
        store_row<format, warp>(job.store, t, head, true, job.store.v + (t * kv + head) * width);
    }
}

template <int format, bool warp>
static void launch_inputs(cudaStream_t stream, const vug_cuda_attention_inputs_job *job)
{
    const dim3 grid((unsigned)job->store.tokens,
                    blocks_for(job->q.heads + 2 * job->k.heads, row_threads<warp>::rows));
    launch(stream, inputs_kernel<format, warp>, grid, ROW_THREADS, *job);
}

void vug_cuda_attention_inputs(cudaStream_t stream, const vug_cuda_attention_inputs_job *job)
{
    const bool few = job->store.tokens <= FEW_TOKENS;
    switch (job->store.cache.format) {
#define X(format, name)                                            \
    case VUG_KV_##format:                                          \
        (few ? launch_inputs<VUG_KV_##format, false>               \
             : launch_inputs<VUG_KV_##format, true>)(stream, job); \
        break;
        VUG_KV_FORMATS(X)
#undef X
    case VUG_KV_COUNT:
        break;
    }
}
