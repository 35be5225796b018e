/*
 * Attention over pages.
 *
 * Each page of 64 positions has a softmax of its own; the results of pages are merged in ascending
 * order. A step of few tokens computes the pages side by side and merges them afterwards, any
 * other step one after the other: the sums are the same.
 */
#include "backend/cuda/page_sums.h"

/* ---- storing ------------------------------------------------------------------------ */

template <int format> static __global__ void append_kernel(vug_cuda_append_job job)
{
    const int64_t t = blockIdx.x, head = blockIdx.y, width = job.cache.width;
    const int64_t position = job.token ? job.token[t].position : t;
    const int64_t table = job.token ? job.token[t].table : job.table;
    uint8_t *page = job.page[table + position / KEYS];
    if (!page)
        return; /* a window hides it */
    const int64_t from = (t * job.cache.heads + head) * width;
    const kv_part k = kv_part_at(job.cache, page, head, false);
    const kv_part v = kv_part_at(job.cache, page, head, true);
    for (int64_t e = threadIdx.x; e < (width + WARP - 1) / WARP * WARP; e += ATTENTION_THREADS) {
        kv_store<format>(k, position % KEYS, e, e < width ? job.k[from + e] : 0);
        kv_store<format>(v, position % KEYS, e, e < width ? job.v[from + e] : 0);
    }
}

void vug_cuda_append(cudaStream_t stream, const vug_cuda_append_job *job)
{
    const dim3 grid((unsigned)job->tokens, (unsigned)job->cache.heads);
    if (job->tokens == 0)
        return;
    switch (job->cache.format) {
#define X(format, name)                                                                \
    case VUG_KV_##format:                                                              \
        launch(stream, append_kernel<VUG_KV_##format>, grid, ATTENTION_THREADS, *job); \
        break;
        VUG_KV_FORMATS(X)
#undef X
    case VUG_KV_COUNT:
        break;
    }
}

static __device__ void load_query(const vug_cuda_attention_job &job, const attention_query &q,
                                  attention_shared &shared)
{
    const int64_t width = job.cache.width;
    for (int h = 0; h < HEADS; h++) {
        const float *x = job.q + (q.token * job.heads + q.head + h) * width;
        for (int64_t e = threadIdx.x; e < job.cache.stride; e += ATTENTION_THREADS)
            shared.q[h][e] = h < q.heads && e < width ? x[e] : 0;
    }
    __syncthreads();
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* One block for HEADS heads of a token: all its pages, one after the other. */
template <int format, int columns>
static __global__ void attention_kernel(vug_cuda_attention_job job)
{
    __shared__ attention_shared shared;
    const attention_query q = find_query(job, HEADS);
    load_query(job, q, shared);
    softmax_sums<columns> all, s;
    sums_init(all);
    for (int block = q.first / KEYS; block * KEYS < q.end; block++) {
        sum_page<format, columns>(job, q, kv_part_at(job.cache, q.page[block], q.kv_head, false),
                                  kv_part_at(job.cache, q.page[block], q.kv_head, true),
                                  visible_keys(q, block), shared, s);
        sums_merge(all, s);
    }
    store_quotients<columns>(job, q, all);
}

/* One block for HEADS heads of a token and one page, counted from the first that it sees. */
template <int format, int columns> static __global__ void page_kernel(vug_cuda_attention_job job)
{
    __shared__ attention_shared shared;
    const attention_query q = find_query(job, HEADS);
    const int block = q.first / KEYS + (int)blockIdx.z;
    if (block * KEYS >= q.end)
        return; /* pages that only other tokens see */
    softmax_sums<columns> s;
    load_query(job, q, shared);
    sum_page<format, columns>(job, q, kv_part_at(job.cache, q.page[block], q.kv_head, false),
                              kv_part_at(job.cache, q.page[block], q.kv_head, true),
                              visible_keys(q, block), shared, s);
    store_partial<columns>(job, q, s);
}

template <int format, int columns>
static void launch_attention(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    const int64_t per_kv = job->heads / job->cache.heads, chunks = (per_kv + HEADS - 1) / HEADS;
    const unsigned tokens = (unsigned)job->tokens, y = (unsigned)(job->cache.heads * chunks);
    if (job->pages == 0) {
        launch(stream, attention_kernel<format, columns>, dim3(tokens, y), ATTENTION_THREADS, *job);
        return;
    }
    launch(stream, page_kernel<format, columns>, dim3(tokens, y, (unsigned)job->pages),
           ATTENTION_THREADS, *job);
    launch_join<merge_rule>(stream, job);
}

template <int format>
static void choose_columns(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    if (job->cache.width <= ATTENTION_THREADS)
        launch_attention<format, 1>(stream, job);
    else
        launch_attention<format, VUG_CUDA_MAX_HEAD / ATTENTION_THREADS>(stream, job);
}

void vug_cuda_attention(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    if (job->tokens == 0)
        return;
    switch (job->cache.format) {
#define X(format, name)                               \
    case VUG_KV_##format:                             \
        choose_columns<VUG_KV_##format>(stream, job); \
        break;
        VUG_KV_FORMATS(X)
#undef X
    case VUG_KV_COUNT:
        break;
    }
}
