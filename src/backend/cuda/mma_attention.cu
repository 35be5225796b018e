/* Attention of runs of tokens on tensor cores by mma, in the order of attention_pages.h. */
#include "backend/cuda/attention_runs.h"

#ifdef FITS_MMA_ATTENTION
/* ---- a page ------------------------------------------------------------------------------- */

/* Scores of 16 queries. The second terms of queries lie `rows` rows after the first. */
template <typename T, int width, int terms, int rows>
static __device__ __forceinline__ void multiply_keys(float (&s)[KEYS / 2], uint32_t q, int q_row,
                                                     uint32_t keys)
{
    const int lane = threadIdx.x % WARP, key = lane % 8 + lane / 16 * 8;
    /* Rows begin at multiples of their length: steps differ only in bits of the chunk. */
    const uint32_t q_at = q + row_layout<width>::at(q_row + lane % 16, lane / 16);
    const uint32_t key_at = keys + row_layout<width>::at(key, lane / 8 % 2);
#pragma unroll
    for (int i = 0; i < KEYS / 2; i++)
        s[i] = 0;
#pragma unroll
    for (int step = 0; step < width / 16; step++) {
        uint32_t a[terms][4];
#pragma unroll
        for (int term = 0; term < terms; term++)
            load_matrices(a[term], (q_at ^ step * 2 * CHUNK_BYTES) + term * rows * width * 2);
#pragma unroll
        for (int b = 0; b < KEYS / 8; b += 2) {
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

/* ---- the kernel --------------------------------------------------------------------------- */

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
                                                        shared_address(keys));
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

/* ---- launching ---------------------------------------------------------------------------------- */

template <typename T, int width, int terms> struct run_launch {
    static void launch(cudaStream_t stream, const vug_cuda_attention_job *job)
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
};

void vug_cuda_mma_attention(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    launch_attention<run_launch, VUG_CUDA_MAX_HEAD>(stream, *job, job);
}
