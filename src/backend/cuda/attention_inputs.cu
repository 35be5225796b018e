/* What goes into attention, in one launch: queries and keys are normed and rotated, queries are
 * stored for the step and keys and values in the cache. */
#include "backend/cuda/kv_elements.h"
#include "backend/cuda/rotated_lanes.h"

enum {
    FEW_TOKENS = 8,  /* up to here, a block computes a row, which takes less time than a warp */
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
    return sum_parts(part);
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
#pragma unroll 1
    for (int i = threads::index(); i < h; i += threads::n) {
        const float a = norms ? normalised_at(job, x, r, i) : x[i];
        const float b = norms ? normalised_at(job, x, r, i + h) : x[i + h];
        const rotated_pair pair = rotate(a, b, table[i], table[i + h]);
        y[i] = pair.first;
        y[i + h] = pair.second;
    }
#pragma unroll 1
    for (int i = dims + threads::index(); i < n; i += threads::n)
        y[i] = norms ? normalised_at(job, x, r, i) : x[i];
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
#pragma unroll 1
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
    wait_for_previous();
    if (i < heads) {
        rotate_row<warp>(job.q, job.q_norms, t, t * heads + i, y);
#pragma unroll 1
        for (int e = threads::index(); e < (int)width; e += threads::n)
            job.q.out[(t * heads + i) * width + e] = y[e];
    } else if (i < heads + kv) {
        rotate_row<warp>(job.k, job.k_norms, t, t * kv + i - heads, y);
        store_row<format, warp>(job.store, t, i - heads, false, y);
    } else if (i < heads + 2 * kv) {
        const int64_t head = i - heads - kv;
        store_row<format, warp>(job.store, t, head, true, job.store.v + (t * kv + head) * width);
    }
}

/* ---- whole rows ------------------------------------------------------------------------------ */

/* Of many tokens whose rows have 32 n elements, all rotated: a warp keeps a row in registers. The
 * results are those of inputs_kernel. */
template <int format, int n>
static __global__ void __launch_bounds__(ROW_THREADS)
        whole_rows_kernel(const __grid_constant__ vug_cuda_attention_inputs_job job)
{
    const int heads = (int)job.q.heads, kv = (int)job.k.heads, lane = threadIdx.x % WARP;
    const int t = blockIdx.x, i = blockIdx.y * ROWS + threadIdx.x / WARP;
    const bool is_query = i < heads, is_value = i >= heads + kv;
    const int head = is_query ? i : is_value ? i - heads - kv : i - heads;
    const int64_t at = ((int64_t)t * (is_query ? heads : kv) + head) * n * WARP;
    const vug_cuda_norm_job &norm = is_query ? job.q : job.k;
    float x[n], w[n];
    start_next();
    load_norm(norm, w);
    wait_for_previous();
    if (i >= heads + 2 * kv)
        return;
    load_lanes((is_query ? job.q.x : is_value ? job.store.v : job.k.x) + at, x);
    if (!is_value)
        rotate_lanes(norm, is_query ? job.q_norms : job.k_norms, w, t, x);
    if (is_query) {
#pragma unroll
        for (int j = 0; j < n; j++)
            job.q.out[at + j * WARP + lane] = x[j];
        return;
    }
    const vug_cuda_token token = job.store.token[t];
    uint8_t *page = job.store.page[token.table + token.position / VUG_KV_PAGE];
    if (!page)
        return; /* a window hides it */
    const kv_part part = kv_part_at(job.store.cache, page, head, is_value);
#pragma unroll
    for (int j = 0; j < n; j++)
        kv_store<format>(part, token.position % VUG_KV_PAGE, lane + j * WARP, x[j]);
}

/* ---- launching ------------------------------------------------------------------------------- */

template <int format, int n>
static void launch_whole_rows(cudaStream_t stream, const vug_cuda_attention_inputs_job *job)
{
    const dim3 grid((unsigned)job->store.tokens, blocks_for(job->q.heads + 2 * job->k.heads, ROWS));
    launch_early(stream, whole_rows_kernel<format, n>, grid, ROW_THREADS, 0, job->launch, *job);
}

template <int format, bool warp>
static void launch_inputs(cudaStream_t stream, const vug_cuda_attention_inputs_job *job)
{
    const dim3 grid((unsigned)job->store.tokens,
                    blocks_for(job->q.heads + 2 * job->k.heads, row_threads<warp>::rows));
    launch_early(stream, inputs_kernel<format, warp>, grid, ROW_THREADS, 0, job->launch, *job);
}

template <int format>
static void choose_inputs(cudaStream_t stream, const vug_cuda_attention_inputs_job *job)
{
    const int64_t width = job->q.width;
    const bool whole = vug_cuda_rotates_whole_rows(job);
    if (job->store.tokens <= FEW_TOKENS)
        launch_inputs<format, false>(stream, job);
    else if (whole && width == 2 * WARP)
        launch_whole_rows<format, 2>(stream, job);
    else if (whole && width == 4 * WARP)
        launch_whole_rows<format, 4>(stream, job);
    else if (whole && width == 8 * WARP)
        launch_whole_rows<format, 8>(stream, job);
    else
        launch_inputs<format, true>(stream, job);
}

void vug_cuda_attention_inputs(cudaStream_t stream, const vug_cuda_attention_inputs_job *job)
{
    switch (job->store.cache.format) {
#define X(format, name)                              \
    case VUG_KV_##format:                            \
        choose_inputs<VUG_KV_##format>(stream, job); \
        break;
        VUG_KV_FORMATS(X)
#undef X
    case VUG_KV_COUNT:
        break;
    }
}
