/* What goes into attention, in one launch: queries and keys are normed and rotated, queries are
 * stored for the step and keys and values in the cache. */
#include "backend/cuda/kv_elements.h"
#include "backend/cuda/row_math.h"

/* Row `row` of a job, rotated, and normed before if `norms`, in shared memory. */
static __device__ void rotate_row(const vug_cuda_norm_job &job, bool norms, int64_t row, float *y)
{
    const int n = (int)job.width, dims = (int)job.dims, h = dims / 2;
    const float *x = job.x + row * n, *table = job.table + row / job.heads * dims;
    const float r = norms ? norm_factor(row_squares(x, n), n, job.eps) : 1;
    for (int i = threadIdx.x; i < h; i += ROW_THREADS) {
        const float a = norms ? normalised(job, x, r, i) : x[i];
        const float b = norms ? normalised(job, x, r, i + h) : x[i + h];
        const rotated_pair pair = rotate(a, b, table[i], table[i + h]);
        y[i] = pair.first;
        y[i + h] = pair.second;
    }
    for (int i = dims + threadIdx.x; i < n; i += ROW_THREADS)
        y[i] = norms ? normalised(job, x, r, i) : x[i];
    __syncthreads();
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
    for (int e = threadIdx.x; e < (width + WARP - 1) / WARP * WARP; e += ROW_THREADS)
        kv_store<format>(part, token.position % VUG_KV_PAGE, e, e < width ? x[e] : 0);
}

/* A block for each row: the queries of a token, its keys, its values. */
template <int format>
static __global__ void inputs_kernel(const __grid_constant__ vug_cuda_attention_inputs_job job)
{
    __shared__ float y[VUG_CUDA_MAX_HEAD];
    const int64_t t = blockIdx.x, heads = job.q.heads, kv = job.k.heads, i = blockIdx.y;
    const int64_t width = job.q.width;
    if (i < heads) {
        rotate_row(job.q, job.q_norms, t * heads + i, y);
        for (int64_t e = threadIdx.x; e < width; e += ROW_THREADS)
            job.q.out[(t * heads + i) * width + e] = y[e];
    } else if (i < heads + kv) {
        rotate_row(job.k, job.k_norms, t * kv + i - heads, y);
        store_row<format>(job.store, t, i - heads, false, y);
    } else {
        const int64_t head = i - heads - kv;
        store_row<format>(job.store, t, head, true, job.store.v + (t * kv + head) * width);
    }
}

void vug_cuda_attention_inputs(cudaStream_t stream, const vug_cuda_attention_inputs_job *job)
{
    const dim3 grid((unsigned)job->store.tokens, (unsigned)(job->q.heads + 2 * job->k.heads));
    switch (job->store.cache.format) {
#define X(format, name)                                                          \
    case VUG_KV_##format:                                                        \
        launch(stream, inputs_kernel<VUG_KV_##format>, grid, ROW_THREADS, *job); \
        break;
        VUG_KV_FORMATS(X)
#undef X
    case VUG_KV_COUNT:
        break;
    }
}
