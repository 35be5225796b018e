/*
 * Attention of steps in which each sequence has one token, as one launch. A block computes one page
 * of a token for the query heads that share keys: it norms and rotates the queries, and in the
 * token's own page also the key, which it stores with the value. The blocks of up to 8 pages are a
 * cluster and merge them together; otherwise the last block of a token to end does so. Sums have the
 * order of attention.cu and row_math.h.
 *
 * A page is copied to shared memory before the kernel waits for the one before: all of its
 * positions but the token's own were written by earlier steps.
 */
#include "backend/cuda/decode_rows.h"
#include "backend/cuda/hopper.h"
#include "backend/cuda/page_sums.h"

static_assert((int)ATTENTION_THREADS == (int)ROW_THREADS,
              "norms are computed by all threads of a block");

static_assert((int)HEADS == (int)DECODE_HEADS && (int)MOST_PAGES <= (int)WARP,
              "a lane for each page");

enum {
    MOST_SHARED_BYTES = 160 << 10, /* of keys and values */
    MOST_BLOCKS = 8,               /* of a cluster */
    VALUES_OF_COPY = 8,            /* that are loaded together: less code than of more */
};

/* ---- copying a page ------------------------------------------------------------------- */

/* The keys or values of the block's head in shared memory. */
static __device__ __forceinline__ kv_part shared_part(const vug_cuda_kv_cache &c, uint8_t *memory,
                                                      bool values)
{
    kv_part p;
    p.element = memory + values * c.part_bytes;
    p.stride = (int)c.stride;
    p.scales = (p.stride + VUG_KV_Q8_BLOCK - 1) / VUG_KV_Q8_BLOCK;
    p.scale = (float *)(p.element + VUG_KV_PAGE * p.stride);
    return p;
}

/* Copies bytes begin .. end - 1, and what surrounds them in 16 bytes. */
static __device__ void copy_bytes(uint8_t *to, const uint8_t *from, int begin, int end)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
#pragma unroll 4
    for (int i = begin / 16 + (int)threadIdx.x; i < (end + 15) / 16; i += ATTENTION_THREADS)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + (uint32_t)(16 * i)),
                     "l"(from + 16 * i)
                     : "memory");
}

/* Copies positions lo .. hi - 1 of keys or values. */
template <int format>
static __device__ void copy_part(const kv_part &to, const kv_part &from, int lo, int hi)
{
    constexpr int bytes = format == VUG_KV_F32 ? 4 : format == VUG_KV_Q8 ? 1 : 2;
    if (lo >= hi)
        return;
    copy_bytes(to.element, from.element, lo * from.stride * bytes, hi * from.stride * bytes);
    if (format == VUG_KV_Q8)
        copy_bytes((uint8_t *)to.scale, (const uint8_t *)from.scale, lo * from.scales * 4,
                   hi * from.scales * 4);
}

/* ---- the key and the value ---------------------------------------------------------------- */

/* A part of a page, and its copy in shared memory. */
struct copied_part {
    kv_part page, copy;
};

/* Stores the key and the value of the block's token, position `slot` of its page, in the copy and, if
 * the block is the first with this key/value head, in the page. */
template <int format, int columns>
static __device__ void store_position(const copied_part &keys, const copied_part &values, int width,
                                      int slot, bool is_first, const float *key,
                                      const float (&value)[columns])
{
#pragma unroll
    for (int c = 0; c < columns; c++) {
        const int e = threadIdx.x + c * ATTENTION_THREADS;
        if (e >= (width + WARP - 1) / WARP * WARP)
            break;
        const float k = e < width ? key[e] : 0, v = value[c];
        kv_store<format>(keys.copy, slot, e, k);
        kv_store<format>(values.copy, slot, e, v);
        if (is_first) {
            kv_store<format>(keys.page, slot, e, k);
            kv_store<format>(values.page, slot, e, v);
        }
    }
}

/* ---- merging ---------------------------------------------------------------------------------- */

/* What the sums so far and those of a page are multiplied with when the page is merged. */
struct page_factors {
    float so_far[HEADS][MOST_PAGES], added[HEADS][MOST_PAGES], sum[HEADS][MOST_PAGES];
};
static constexpr float SKIPPED = -1; /* a factor `added`: nothing of the page counts */

/* The results of the pages of the block's queries in the device's memory. */
struct stored_results {
    const vug_cuda_attention_job &job;
    const attention_query &q;

    __device__ __forceinline__ float out(int page, int h, int e) const
    {
        return __ldcg(partial_at(job, page, q.token, q.head + h) + e);
    }
    __device__ __forceinline__ float most(int page, int h) const
    {
        return out(page, h, (int)job.cache.width);
    }
    __device__ __forceinline__ float sum(int page, int h) const
    {
        return out(page, h, (int)job.cache.width + 1);
    }
};

/* The same in shared memory, where block i of the cluster has page i; its columns are in place of its
 * queries. */
struct cluster_results {
    const attention_shared &shared;

    static __device__ __forceinline__ float load(const float &x, int page)
    {
        return load_one_of_block(shared_address(&x), page);
    }
    __device__ __forceinline__ float out(int page, int h, int e) const
    {
        return load(shared.q[h][e], page);
    }
    __device__ __forceinline__ float most(int page, int h) const
    {
        return load(shared.most[h], page);
    }
    __device__ __forceinline__ float sum(int page, int h) const
    {
        return load(shared.sum[h], page);
    }
};

/* A warp for each of `heads` heads, a lane for each page. */
template <typename R>
static __device__ void find_factors(const R &results, int heads, int pages, page_factors &factors)
{
    const int h = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (h >= heads)
        return;
    const float most = lane < pages ? results.most(lane, h) : -INFINITY;
    float so_far = most;
    for (int d = 1; d < WARP; d *= 2) {
        const float before = __shfl_up_sync(0xffffffffu, so_far, d);
        so_far = lane >= d ? fmaxf(so_far, before) : so_far;
    }
    float before = __shfl_up_sync(0xffffffffu, so_far, 1);
    before = lane > 0 ? before : -INFINITY;
    const merge_factors by = merge_by(before, most);
    factors.so_far[h][lane] = by.so_far;
    factors.added[h][lane] = most == -INFINITY ? SKIPPED : by.added;
    factors.sum[h][lane] = lane < pages ? results.sum(lane, h) : 0;
}

/* Merges the pages of a block's queries: columns `first`, first + step, .. of all heads. */
template <typename R>
static __device__ void merge_all(const vug_cuda_attention_job &job, const attention_query &q,
                                 const R &results, int pages, int first, int step)
{
    __shared__ page_factors factors;
    const int width = (int)job.cache.width;
    find_factors(results, (int)q.heads, pages, factors);
    __syncthreads();
    for (int i = first; i < (int)q.heads * width; i += step) {
        const int h = i / width, e = i % width;
        float sum = 0, value = 0;
#pragma unroll 8
        for (int page = 0; page < pages; page++) {
            const float x = results.out(page, h, e);
            const float added = factors.added[h][page], so_far = factors.so_far[h][page];
            if (added == SKIPPED)
                continue;
            sum = fmaf(factors.sum[h][page], added, sum * so_far);
            value = fmaf(x, added, value * so_far);
        }
        job.out[(q.token * job.heads + q.head) * width + i] = quotient(value, sum);
    }
}

/* The blocks of a cluster merge their pages, of which the last ones may not exist. */
template <int columns>
static __device__ void merge_in_cluster(const vug_cuda_attention_job &job, const attention_query &q,
                                        const softmax_sums<columns> &s, int pages,
                                        attention_shared &shared)
{
#if __CUDA_ARCH__ >= 900
    const int width = (int)job.cache.width;
    for (int h = 0; h < q.heads; h++) {
        for (int c = 0; c < columns; c++) {
            const int e = threadIdx.x + c * ATTENTION_THREADS;
            if (e < width)
                shared.q[h][e] = s.out[h][c];
        }
    }
    cluster_sync();
    const cluster_results results = { shared };
    merge_all(job, q, results, pages, (int)(blockIdx.z * ATTENTION_THREADS + threadIdx.x),
              (int)gridDim.z * ATTENTION_THREADS);
    cluster_wait(); /* a block that ends takes its results with it */
#else
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- the kernel ------------------------------------------------------------------------------- */

/* `heads`: of a block, which may have fewer if that is HEADS. The number is a constant, as a block
 * executes most of its instructions once, so that it probably waits for fetching them. */
template <int format, int columns, int heads>
static __global__ void __launch_bounds__(ATTENTION_THREADS)
        decode_attention_kernel(const __grid_constant__ vug_cuda_decode_attention_job job,
                                bool in_cluster)
{
    extern __shared__ uint4 page_memory[];
    __shared__ attention_shared shared;
    __shared__ float key[VUG_CUDA_MAX_HEAD];
    const vug_cuda_attention_job &attention = job.attention;
    const vug_cuda_kv_cache &cache = attention.cache;
    uint8_t *memory = (uint8_t *)page_memory;
    start_next();
    attention_query q = find_query(attention, heads);
    if (heads < HEADS)
        q.heads = heads; /* as the compiler does not know */
    const page_range range = visible_keys(q, q.first / KEYS + (int)blockIdx.z);
    const int pages = (q.end + KEYS - 1) / KEYS - q.first / KEYS;
    softmax_sums<columns> s;
    if (range.lo >= range.hi) { /* a page that only other tokens see */
        sums_init(s);
        if (in_cluster && pages > 1)
            merge_in_cluster(attention, q, s, pages, shared);
        return;
    }
    input_rows<columns, heads> rows;
    rows.n = q.heads;
    rows.has_key = (range.block + 1) * KEYS >= q.end;
    uint8_t *const page = q.page[range.block];
    const copied_part keys = { kv_part_at(cache, page, q.kv_head, false),
                               shared_part(cache, memory, false) },
                      values = { kv_part_at(cache, page, q.kv_head, true),
                                 shared_part(cache, memory, true) };
    copy_part<format>(keys.copy, keys.page, range.lo, range.hi - rows.has_key);
    copy_part<format>(values.copy, values.page, range.lo, range.hi - rows.has_key);
    load_weights(job.inputs, rows);
    const rotated_pairs pairs = find_pairs((int)job.inputs.q.dims);
    const input_places<heads> places = find_places(job.inputs, q, pairs, rows);
    wait_for_previous();
    load_inputs(places, (int)job.inputs.q.width, pairs.dims, rows);
    /* What surrounds the copied bytes may be the token's own position, which is stored next. */
    asm volatile("cp.async.wait_all;" ::: "memory");
    rotate_rows(job.inputs, rows, pairs, shared.q, key);
    if (rows.has_key)
        store_position<format>(keys, values, (int)cache.width, (q.end - 1) % KEYS, q.is_first, key,
                               rows.value);
    __syncthreads();
    sums_init(s);
    sum_heads<format, columns, heads, VALUES_OF_COPY>(attention, q, keys.copy, values.copy, range,
                                                      shared, s);
    if (pages == 1) {
        store_quotients<columns>(attention, q, s);
        return;
    }
    if (in_cluster) {
        merge_in_cluster(attention, q, s, pages, shared);
        return;
    }
    store_partial<columns>(attention, q, s);
    if (is_last_page(job, q, pages)) {
        const stored_results results = { attention, q };
        merge_all(attention, q, results, pages, threadIdx.x, ATTENTION_THREADS);
    }
}

/* ---- launching --------------------------------------------------------------------------------- */

bool vug_cuda_takes_decode_attention(const vug_cuda_attention_job *job)
{
    return job->pages > 0 && job->pages <= MOST_PAGES && !job->mask &&
           job->heads / job->cache.heads <= HEADS && job->tokens <= VUG_CUDA_DECODE_TOKENS &&
           2 * job->cache.part_bytes <= MOST_SHARED_BYTES;
}

/* The query heads of a block: one if half of the multiprocessors have room for all blocks even then,
 * as the next kernel begins on the others; else all that share keys. */
static int heads_of_block(const vug_cuda_decode_attention_job *job)
{
    const vug_cuda_attention_job *attention = &job->attention;
    const int64_t blocks = attention->tokens * attention->heads * attention->pages;
    return 2 * blocks <= job->processors ? 1 : (int)(attention->heads / attention->cache.heads);
}

template <int format, int columns, int heads>
static void launch_decode(cudaStream_t stream, const vug_cuda_decode_attention_job *job, int n)
{
    const vug_cuda_attention_job *attention = &job->attention;
    const dim3 grid((unsigned)attention->tokens, (unsigned)(attention->heads / n),
                    (unsigned)attention->pages);
    /* Clusters are there where kernels can be started early. Of many blocks they begin later. */
    const bool in_cluster = job->inputs.launch.early && grid.z > 1 && grid.z <= MOST_BLOCKS &&
                            2 * grid.x * grid.y * grid.z <= (unsigned)job->processors;
    const dim3 cluster(1, 1, in_cluster ? grid.z : 1);
    launch_clusters(stream, decode_attention_kernel<format, columns, heads>,
                    { grid, cluster, ATTENTION_THREADS, 2 * (size_t)attention->cache.part_bytes },
                    job->inputs.launch, *job, in_cluster);
}

template <int format, int columns>
static void choose_heads(cudaStream_t stream, const vug_cuda_decode_attention_job *job)
{
    const int n = heads_of_block(job);
    if (n == 1)
        launch_decode<format, columns, 1>(stream, job, n);
    else if (n == 2)
        launch_decode<format, columns, 2>(stream, job, n);
    else
        launch_decode<format, columns, HEADS>(stream, job, n);
}

template <int format>
static void choose_columns(cudaStream_t stream, const vug_cuda_decode_attention_job *job)
{
    if (job->attention.cache.width <= ATTENTION_THREADS)
        choose_heads<format, 1>(stream, job);
    else
        choose_heads<format, VUG_CUDA_MAX_HEAD / ATTENTION_THREADS>(stream, job);
}

void vug_cuda_decode_attention(cudaStream_t stream, const vug_cuda_decode_attention_job *job)
{
    switch (job->attention.cache.format) {
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
