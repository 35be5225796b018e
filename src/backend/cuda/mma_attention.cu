/* Attention over pages on tensor cores by mma, in the order of attention_pages.h. */
#include "backend/cuda/attention_runs.h"

/* The kernels need 200 KiB of shared memory in a block, and are empty for devices that do not have it.
 * vug_cuda_rounds_attention has the same list. */
#if __CUDA_ARCH__ / 100 == 9 || __CUDA_ARCH__ / 100 == 10
#define FITS_MMA_ATTENTION
#endif

#ifdef FITS_MMA_ATTENTION
/* Four matrices of 8 x 8 elements; each lane gives the address of a row. */
static __device__ __forceinline__ void load_matrices(uint32_t (&x)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
}

static __device__ __forceinline__ void load_transposed(uint32_t (&x)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
}

/* Waits until all but the last `n` groups of copies of all threads are there. */
template <int n> static __device__ __forceinline__ void wait_copies(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
    __syncthreads();
}

/* ---- a page ------------------------------------------------------------------------------- */

/* Scores of 16 queries and 2 n keys, from block `first` of 8 on. The second terms of queries lie
 * `rows` rows after the first. */
template <typename T, int width, int terms, int rows, int n>
static __device__ __forceinline__ void multiply_keys(float (&s)[n], uint32_t q, int q_row,
                                                     uint32_t keys, int first)
{
    const int lane = threadIdx.x % WARP, key = first * 8 + lane % 8 + lane / 16 * 8;
    /* Rows begin at multiples of their length: steps differ only in bits of the chunk. */
    const uint32_t q_at = q + row_layout<width>::at(q_row + lane % 16, lane / 16);
    const uint32_t key_at = keys + row_layout<width>::at(key, lane / 8 % 2);
#pragma unroll
    for (int i = 0; i < n; i++)
        s[i] = 0;
#pragma unroll
    for (int step = 0; step < width / 16; step++) {
        uint32_t a[terms][4];
#pragma unroll
        for (int term = 0; term < terms; term++)
            load_matrices(a[term], (q_at ^ step * 2 * CHUNK_BYTES) + term * rows * width * 2);
#pragma unroll
        for (int b = 0; b < n / 4; b += 2) {
            uint32_t k[4];
            load_matrices(k, (key_at ^ step * 2 * CHUNK_BYTES) + b * 8 * width * 2);
#pragma unroll
            for (int term = 0; term < terms; term++) {
                mma_add<T>(s + b * 4, a[term], k[0], k[1]);
                mma_add<T>(s + b * 4 + 4, a[term], k[2], k[3]);
            }
        }
    }
}

/* Sums of 16 columns of values, from chunk `chunk` on; `values_at` is where the lane's row of the
 * first 16 columns of the first 16 keys lies. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void multiply_values(float (&c)[8], const page_weights<terms> &w,
                                                       uint32_t values_at, int chunk)
{
#pragma unroll
    for (int i = 0; i < 8; i++)
        c[i] = 0;
#pragma unroll
    for (int step = 0; step < KEY_STEPS; step++) {
        uint32_t v[4];
        load_transposed(v, (values_at ^ chunk * CHUNK_BYTES) + step * 16 * width * 2);
#pragma unroll
        for (int term = 0; term < terms; term++) {
            mma_add<T>(c, w.p[step][term], v[0], v[1]);
            mma_add<T>(c + 4, w.p[step][term], v[2], v[3]);
        }
    }
}

/* Joins a page: columns `first` .. first + columns - 1 of its values. */
template <typename T, int width, int terms, int columns>
static __device__ __forceinline__ void add_page(page_sums<columns> &all,
                                                const page_weights<terms> &w, uint32_t values,
                                                int first)
{
    join_factors by[2];
    begin_join(all, w, by);
    const int lane = threadIdx.x % WARP;
    const uint32_t values_at = values + row_layout<width>::at(lane % 16, lane / 16);
#pragma unroll
    for (int n = 0; n < columns / 16; n++) {
        float c[8];
        multiply_values<T, width>(c, w, values_at, first / CHUNK_ELEMENTS + 2 * n);
        join_columns(all.out + 8 * n, c, by);
    }
}
#endif

/* ---- runs of tokens ------------------------------------------------------------------------- */

/* A block has `groups` groups of 16 queries of a key/value head, each computed by `parts` warps
 * that have a part of the columns. */
template <int width, int terms> struct run_shape {
    static constexpr int parts = width > 256 ? 2 : 1, columns = width / parts;
    static constexpr int groups = width * terms > 512 ? 2 : 8 / parts, rows = groups * ROWS;
    static constexpr int threads = groups * parts * WARP;
    static constexpr int stages = width * terms > 256 ? 1 : 2; /* pages in shared memory */
    static constexpr int part_bytes = KEYS * width * 2;        /* the keys, or the values */
    static constexpr int query_bytes = terms * rows * width * 2;
    static constexpr int bytes = query_bytes + stages * 2 * part_bytes;
    static_assert(rows >= VUG_CUDA_RUN_HEADS, "a token's heads fit into a block");
};

/* With room for one page, the next keys are loaded while values are multiplied, and the reverse. */
template <typename T, int width, int terms>
static __global__ void __launch_bounds__(run_shape<width, terms>::threads, 1)
        run_kernel(const __grid_constant__ vug_cuda_attention_job job)
{
#ifdef FITS_MMA_ATTENTION
    using shape = run_shape<width, terms>;
    constexpr bool ahead = shape::stages > 1;
    extern __shared__ __align__(1024) uint8_t memory[];
    uint8_t *pages = memory + shape::query_bytes;
    const token_run run = find_run(job, shape::rows);
    const int warp = threadIdx.x / WARP, row = warp / shape::parts * ROWS;
    const int first_column = warp % shape::parts * shape::columns;
    query_sight sight[2];
    find_sight(job, run, row, sight);
    const page_interval of_block = seen_pages(job, run, 0, shape::rows),
                        of_warp = seen_pages(job, run, row, ROWS),
                        whole = whole_pages(job, run, row, ROWS);
    const auto load = [&](int page, bool values) {
        const int stage = (page - of_block.first) % shape::stages;
        load_part<T, row_layout<width>, width, shape::threads>(
                job.cache, run.pages, page, run.pages.at(page), values,
                pages + (stage * 2 + values) * shape::part_bytes);
    };
    page_sums<shape::columns> all;
    sums_init(all);
    load_queries<T, row_layout<width>, width, terms, shape::threads, shape::rows>(
            job, run, threadIdx.x, memory);
    load(of_block.first, false);
    load(of_block.first, true);
    for (int page = of_block.first; page <= of_block.last; page++) {
        uint8_t *keys = pages + (page - of_block.first) % shape::stages * 2 * shape::part_bytes;
        const bool sees = of_warp.has(page);
        page_weights<terms> w;
        wait_copies<ahead ? 0 : 1>();
        if (ahead) {
            load(page + 1, false);
            load(page + 1, true);
        }
        if (sees) {
            float s[KEYS / 2];
            multiply_keys<T, width, terms, shape::rows>(s, shared_address(memory), row,
                                                        shared_address(keys), 0);
            weigh_keys<T>(job, s, page, whole.has(page), sight, w);
        }
        if (!ahead) {
            __syncthreads();
            load(page + 1, false);
            wait_copies<1>();
        }
        if (sees)
            add_page<T, width>(all, w, shared_address(keys + shape::part_bytes), first_column);
        if (!ahead) {
            __syncthreads();
            load(page + 1, true);
        }
    }
    store_queries<terms>(job, run, row, first_column, all);
#endif
}

/* ---- single tokens --------------------------------------------------------------------------- */

enum { TOKEN_WARPS = 4 };

/* A block has up to 16 heads of a token; each warp computes the scores of 16 keys, and then a part
 * of the columns. */
template <int width, int terms> struct token_shape {
    static constexpr int columns = width / TOKEN_WARPS, threads = TOKEN_WARPS * WARP;
    static constexpr int part_bytes = KEYS * width * 2; /* the keys, or the values, of a page */
    static constexpr int query_bytes = terms * ROWS * width * 2;
    static constexpr int score_stride = KEYS + 4;
    static constexpr int bytes = query_bytes + 2 * part_bytes + ROWS * score_stride * 4;
};

/* Heads `head` .. of a token, as rows. */
template <typename T, int width, int terms>
static __device__ void load_heads(const vug_cuda_attention_job &job, int64_t token, int64_t head,
                                  int64_t heads, uint8_t *to)
{
    constexpr int chunks = width / CHUNK_ELEMENTS;
    for (int i = threadIdx.x; i < ROWS * chunks; i += blockDim.x) {
        const int row = i / chunks, chunk = i % chunks;
        float x[CHUNK_ELEMENTS];
        read_query(job.q + (token * job.heads + head + row) * job.cache.width,
                   chunk * CHUNK_ELEMENTS, row < heads ? (int)job.cache.width : 0, x);
        store_query<T, terms>(to + row_layout<width>::at(row, chunk), ROWS * width * 2, x);
    }
}

/* Stores the results of a lane's two heads, or what a page gives them. */
template <int terms, int columns>
static __device__ __forceinline__ void store_heads(const vug_cuda_attention_job &job, int64_t token,
                                                   int64_t head, int64_t heads, int64_t page,
                                                   const page_sums<columns> &all)
{
    const int lane = threadIdx.x % WARP, first = threadIdx.x / WARP * columns;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int row = lane / 4 + r * 8;
        if (row >= heads)
            continue;
        if (job.pages == 0) {
            store_head<terms>(job, token, head + row, first, r, all);
            continue;
        }
        float *out = partial_at(job, page, token, head + row);
#pragma unroll
        for (int i = 0; i < columns / 4; i++) {
            const int e = first + i / 2 * 8 + lane % 4 * 2 + i % 2;
            if (e < job.cache.width)
                out[e] = all.out[i / 2 * 4 + r * 2 + i % 2];
        }
        if (threadIdx.x < WARP && lane % 4 == 0) {
            out[job.cache.width] = all.most[r];
            out[job.cache.width + 1] = all.sum[r];
        }
    }
}

/* Block (token, heads, page): with partial results the page counts from the first that the token
 * sees, otherwise a block computes all pages. The next keys are loaded while values are multiplied,
 * and the reverse. */
template <typename T, int width, int terms>
static __global__ void __launch_bounds__(token_shape<width, terms>::threads)
        token_kernel(const __grid_constant__ vug_cuda_attention_job job)
{
#ifdef FITS_MMA_ATTENTION
    using shape = token_shape<width, terms>;
    extern __shared__ __align__(1024) uint8_t memory[];
    uint8_t *keys = memory + shape::query_bytes, *values = keys + shape::part_bytes;
    float(*scores)[shape::score_stride] =
            (float(*)[shape::score_stride])(values + shape::part_bytes);
    const int64_t per_kv = job.heads / job.cache.heads, chunks = (per_kv + ROWS - 1) / ROWS;
    const int64_t token = blockIdx.x;
    const int kv_head = blockIdx.y / chunks;
    const int64_t head = kv_head * per_kv + blockIdx.y % chunks * ROWS;
    const int64_t heads = min(per_kv - blockIdx.y % chunks * ROWS, (int64_t)ROWS);
    const query_sight see = sight_of(job, job.token[token].position);
    const query_sight sight[2] = { see, see };
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int first = see.first / KEYS, last = see.position / KEYS;
    const int begin = job.pages > 0 ? first + (int)blockIdx.z : first;
    const int end = job.pages > 0 ? min(begin, last) : last;
    /* What the block loads ends with its last page. */
    const head_pages pages = { job.page + job.token[token].table, kv_head,
                               min(see.position + 1, (end + 1) * KEYS) };
    page_sums<shape::columns> all;
    sums_init(all);
    start_next();
    wait_for_previous();
    const auto load = [&](int page, bool part) {
        load_part<T, row_layout<width>, width, shape::threads>(
                job.cache, pages, page, pages.at(page), part, part ? values : keys);
    };
    load_heads<T, width, terms>(job, token, head, heads, memory);
    load(begin, false);
    load(begin, true);
    for (int page = begin; page <= end; page++) {
        wait_copies<1>();
        float of_warp[8], s[KEYS / 2];
        multiply_keys<T, width, terms, ROWS>(of_warp, shared_address(memory), 0,
                                             shared_address(keys), 2 * warp);
        for (int i = 0; i < 8; i++)
            scores[lane / 4 + i / 2 % 2 * 8][warp * 16 + i / 4 * 8 + lane % 4 * 2 + i % 2] =
                    of_warp[i];
        __syncthreads();
        load(page + 1, false);
        wait_copies<1>();
#pragma unroll
        for (int i = 0; i < KEYS / 2; i++)
            s[i] = scores[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2];
        page_weights<terms> w;
        weigh_keys<T>(job, s, page, false, sight, w);
        add_page<T, width>(all, w, shared_address(values), warp * shape::columns);
        __syncthreads();
        load(page + 1, true);
    }
    if (begin <= end || job.pages == 0)
        store_heads<terms>(job, token, head, heads, blockIdx.z, all);
#endif
}

/* ---- launching ---------------------------------------------------------------------------------- */

template <typename T, int width, int terms>
static void launch_run(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    using shape = run_shape<width, terms>;
    const int64_t most = shape::rows / (job->heads / job->cache.heads);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)job->cache.heads, blocks_for(job->tokens, most));
    config.blockDim = dim3(shape::threads);
    config.dynamicSmemBytes = shape::bytes;
    config.stream = stream;
    (void)cudaFuncSetAttribute(run_kernel<T, width, terms>,
                               cudaFuncAttributeMaxDynamicSharedMemorySize, shape::bytes);
    (void)cudaLaunchKernelEx(&config, run_kernel<T, width, terms>, *job);
}

template <typename T, int width, int terms>
static void launch_tokens(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    using shape = token_shape<width, terms>;
    const int64_t per_kv = job->heads / job->cache.heads, chunks = (per_kv + ROWS - 1) / ROWS;
    launch_early(stream, token_kernel<T, width, terms>,
                 dim3((unsigned)job->tokens, (unsigned)(job->cache.heads * chunks),
                      job->pages > 0 ? (unsigned)job->pages : 1),
                 shape::threads, shape::bytes, true, *job);
    if (job->pages > 0)
        launch_join<join_rule>(stream, job, true);
}

template <typename T, int width, int terms>
static void launch_width(cudaStream_t stream, const vug_cuda_attention_job *job, bool run)
{
    if (run)
        launch_run<T, width, terms>(stream, job);
    else
        launch_tokens<T, width, terms>(stream, job);
}

template <typename T, int terms>
static void choose_width(cudaStream_t stream, const vug_cuda_attention_job *job, bool run)
{
    if (job->cache.width <= 64)
        launch_width<T, 64, terms>(stream, job, run);
    else if (job->cache.width <= 128)
        launch_width<T, 128, terms>(stream, job, run);
    else if (job->cache.width <= 256)
        launch_width<T, 256, terms>(stream, job, run);
    else
        launch_width<T, 512, terms>(stream, job, run);
}

void vug_cuda_mma_attention(cudaStream_t stream, const vug_cuda_attention_job *job, bool run)
{
    if (job->tokens == 0)
        return;
    const bool two = job->terms > 1;
    if (job->cache.format == VUG_KV_F16)
        (two ? choose_width<type_f16, 2> : choose_width<type_f16, 1>)(stream, job, run);
    else
        (two ? choose_width<type_bf16, 2> : choose_width<type_bf16, 1>)(stream, job, run);
}
