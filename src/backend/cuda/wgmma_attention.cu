/*
 * Attention of runs of tokens by wgmma, in the order of attention_pages.h.
 *
 * A block has two or three warpgroups that compute 64 rows each, and one whose warps copy pages to a
 * ring of keys and values. Rows lie in tiles of 64 columns, of 128 bytes a row, which wgmma reads:
 * of queries and keys the columns are those that a product sums over, of values its outputs.
 */
#include "backend/cuda/attention_runs.h"
#include "backend/cuda/hopper.h"

enum {
    GROUP_THREADS = 128, /* of a warpgroup */
    GROUP_WARPS = GROUP_THREADS / WARP,
    GROUP_ROWS = 64,
    ALL_CONSUMERS = 1, /* the barrier of the warpgroups that compute */
    TILE_COLUMNS = 64,
    TILE_ROW_BYTES = 128,
    TILE_CHUNKS = TILE_ROW_BYTES / CHUNK_BYTES,
    STEP_BYTES = 32, /* of 16 columns */
    MEMORY_BYTES = 224 * 1024,
    MEMORY_ALIGN = 1024,
    MOST_STAGES = 8,
    WIDEST = 256,
};

/* Rows in swizzled tiles; each tile has 64 columns of all `rows` rows. */
template <int rows> struct tile_layout {
    static constexpr int row_bytes = TILE_ROW_BYTES;
    static constexpr int tile_bytes = rows * row_bytes;
    static __device__ __forceinline__ int at(int row, int chunk)
    {
        return chunk / TILE_CHUNKS * tile_bytes + row * row_bytes +
               (chunk % TILE_CHUNKS ^ row % 8) * CHUNK_BYTES;
    }
};

using key_layout = tile_layout<KEYS>;

/* What a block has, and the ring in its shared memory. */
template <int width, int terms> struct block_shape {
    /* Warpgroups that compute: as many as registers allow, so that some compute while others wait. */
    static constexpr int consumers = width <= 128 ? 3 : 2, registers = width <= 128 ? 152 : 232;
    static constexpr int computing = consumers * GROUP_THREADS; /* threads */
    static constexpr int threads = computing + GROUP_THREADS;
    static constexpr int queries = consumers * GROUP_ROWS;
    static_assert(queries >= VUG_CUDA_RUN_HEADS, "a token's heads fit into a block");
    using query_layout = tile_layout<queries>;
    static constexpr int part_bytes = KEYS * width * 2; /* a stage: keys, or values */
    static constexpr int term_bytes = queries * width * 2;
    static constexpr int query_bytes = terms * term_bytes;
    static constexpr int room = (MEMORY_BYTES - query_bytes) / part_bytes;
    static constexpr int stages = room < MOST_STAGES ? room : MOST_STAGES;
    /* Warps that copy. The parity of a barrier does not tell two rounds of the ring from none: with
     * more warps than stages, one could write a stage that has not been read. */
    static constexpr int copiers = stages < GROUP_WARPS ? stages : GROUP_WARPS;
    static constexpr int bytes = query_bytes + stages * part_bytes + MEMORY_ALIGN;
    /* buffers for sums of 64 columns of values: a second one where registers allow */
    static constexpr int buffers = width <= 64 ? 2 : 1;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* Shared memory of a block. */
struct attention_memory {
    uint8_t *queries, *parts;
    uint32_t full, empty; /* addresses of barriers of 8 bytes for each stage */
};

/* ---- copying ------------------------------------------------------------------------------- */

/* The warps of the first warpgroup fill the ring: of each page the keys, then the values. One warp
 * copies a part: what comes before and after the copies takes as long as they do. */
template <typename T, int width, int terms>
static __device__ void copy_pages(const vug_cuda_attention_job &job, const token_run &run,
                                  const page_interval &pages, const attention_memory &memory)
{
    using shape = block_shape<width, terms>;
    const int parts = 2 * (pages.last - pages.first + 1);
    const int warp = (int)same_in_warp(threadIdx.x / WARP);
    uint8_t *next = run.pages.at(pages.first + warp / 2);
#pragma unroll 1
    for (int i = warp; warp < shape::copiers && i < parts; i += shape::copiers) {
        const int page = pages.first + i / 2, stage = i % shape::stages;
        uint8_t *from = next; /* loaded early, since copies wait for it */
        next = run.pages.at(pages.first + (i + shape::copiers) / 2);
        barrier_wait(memory.empty + stage * 8, i / shape::stages % 2 ^ 1);
        load_part<T, key_layout, width, WARP>(job.cache, run.pages, page, from, i % 2,
                                              memory.parts + stage * shape::part_bytes);
        asm volatile("cp.async.wait_all;" ::: "memory");
        show_stores();
        __syncwarp();
        if (threadIdx.x % WARP == 0)
            barrier_arrive(memory.full + stage * 8);
    }
}

/* ---- computing ------------------------------------------------------------------------------- */

/* Begins the scores of the 64 queries of a warpgroup and the keys of a page. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void begin_scores(float (&s)[KEYS / 2], uint64_t queries,
                                                    uint64_t keys)
{
    using shape = block_shape<width, terms>;
    constexpr int tile_steps = TILE_COLUMNS / 16;
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < width / 16; i++) {
        const int at = i % tile_steps * STEP_BYTES, tile = i / tile_steps;
        const uint64_t k = tile_after(keys, tile * key_layout::tile_bytes + at);
        const uint64_t q = tile_after(queries, tile * shape::query_layout::tile_bytes + at);
        if (i == 0)
            wgmma_add_tiles<T::is_f16, false>(s, q, k);
        else
            wgmma_add_tiles<T::is_f16, true>(s, q, k);
        if constexpr (terms > 1)
            wgmma_add_tiles<T::is_f16, true>(s, tile_after(q, shape::term_bytes), k);
    }
    wgmma_commit();
}

/* Begins the sums of 64 columns of a page's values, which `values` has. */
template <typename T, int terms>
static __device__ __forceinline__ void begin_values(float (&c)[TILE_COLUMNS / 2],
                                                    const page_weights<terms> &w, uint64_t values)
{
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < KEY_STEPS; step++) {
        const uint64_t v = tile_after(values, step * 16 * TILE_ROW_BYTES);
        if (step == 0)
            wgmma_add_rows<T::is_f16, false>(c, w.p[step][0], v);
        else
            wgmma_add_rows<T::is_f16, true>(c, w.p[step][0], v);
        if constexpr (terms > 1)
            wgmma_add_rows<T::is_f16, true>(c, w.p[step][1], v);
    }
    wgmma_commit();
}

/* Joins a page, 64 columns at a time; with two buffers the next ones are summed meanwhile. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void add_values(page_sums<width> &all,
                                                  const page_weights<terms> &w, uint64_t values)
{
    constexpr int n = width / TILE_COLUMNS, buffers = block_shape<width, terms>::buffers;
    float c[buffers][TILE_COLUMNS / 2];
    join_factors by[2];
    begin_values<T>(c[0], w, values);
    begin_join(all, w, by);
#pragma unroll
    for (int i = 0; i < n; i++) {
        const bool more = i + 1 < n;
        if (more && buffers > 1)
            begin_values<T>(c[(i + 1) % buffers], w,
                            tile_after(values, (i + 1) * key_layout::tile_bytes));
        if (more && buffers > 1)
            wgmma_wait<1>();
        else
            wgmma_wait();
        join_columns(all.out + i * TILE_COLUMNS / 2, c[i % buffers], by);
        if (more && buffers == 1)
            begin_values<T>(c[0], w, tile_after(values, (i + 1) * key_layout::tile_bytes));
    }
}

/* Waits for a stage. */
static __device__ __forceinline__ void wait_stage(const attention_memory &memory,
                                                  const ring_place &at)
{
    barrier_wait(memory.full + at.stage * 8, at.parity);
}

/* The warp has read a stage. */
template <typename shape>
static __device__ __forceinline__ void leave_stage(const attention_memory &memory, ring_place &at)
{
    if (threadIdx.x % WARP == 0)
        barrier_arrive(memory.empty + at.stage * 8);
    ring_next(at, shape::stages);
}

/* The warpgroups that compute round the queries of the block. */
template <typename T, int width, int terms>
static __device__ __forceinline__ void round_queries(const vug_cuda_attention_job &job,
                                                     const token_run &run, uint8_t *to)
{
    using shape = block_shape<width, terms>;
    load_queries<T, typename shape::query_layout, width, terms, shape::computing, shape::queries>(
            job, run, threadIdx.x - GROUP_THREADS, to);
    show_stores();
    asm volatile("bar.sync %0, %1;" ::"n"((int)ALL_CONSUMERS), "n"(shape::computing) : "memory");
}

/* Pages first .. end - 1, which the warpgroup does not see. */
template <typename shape>
static __device__ __forceinline__ void skip_pages(const attention_memory &memory, int first,
                                                  int end, ring_place &at)
{
#pragma unroll 1
    for (int part = 2 * first; part < 2 * end; part++) {
        wait_stage(memory, at);
        leave_stage<shape>(memory, at);
    }
}

template <typename T, int width, int terms>
static __device__ void compute_rows(const vug_cuda_attention_job &job, const token_run &run,
                                    const page_interval &pages, const attention_memory &memory)
{
    using shape = block_shape<width, terms>;
    const int warp = (int)same_in_warp(threadIdx.x / WARP) - GROUP_WARPS;
    const int group = warp / GROUP_WARPS, row = warp * ROWS;
    const page_interval seen = seen_pages(job, run, group * GROUP_ROWS, GROUP_ROWS),
                        whole = whole_pages(job, run, row, ROWS);
    const uint64_t queries = swizzled_tile(
            same_in_warp(shared_address(memory.queries) + group * GROUP_ROWS * TILE_ROW_BYTES));
    const uint64_t parts = swizzled_tile(same_in_warp(shared_address(memory.parts)));
    query_sight sight[2];
    page_sums<width> all;
    ring_place at = { 0, 0 };
    find_sight(job, run, row, sight);
    sums_init(all);
    const int first = min(seen.first, pages.last + 1), end = max(seen.last + 1, first);
    round_queries<T, width, terms>(job, run, memory.queries);
    skip_pages<shape>(memory, pages.first, first, at);
#pragma unroll 1
    for (int page = first; page < end; page++) {
        page_weights<terms> w;
        float s[KEYS / 2];
        wait_stage(memory, at);
        begin_scores<T, width, terms>(s, queries, tile_after(parts, at.stage * shape::part_bytes));
        wgmma_wait();
        leave_stage<shape>(memory, at);
        weigh_keys<T>(job, s, page, whole.has(page), sight, w);
        wait_stage(memory, at);
        add_values<T, width, terms>(all, w, tile_after(parts, at.stage * shape::part_bytes));
        leave_stage<shape>(memory, at);
    }
    skip_pages<shape>(memory, end, pages.last + 1, at);
    store_queries<terms>(job, run, row, 0, all);
}
#endif

template <typename T, int width, int terms>
static __global__ void __launch_bounds__(block_shape<width, terms>::threads, 1)
        group_kernel(const __grid_constant__ vug_cuda_attention_job job)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using shape = block_shape<width, terms>;
    extern __shared__ uint8_t unaligned[];
    __shared__ __align__(8) uint64_t full[shape::stages], empty[shape::stages];
    const uint32_t past = shared_address(unaligned) % MEMORY_ALIGN;
    uint8_t *queries = unaligned + (MEMORY_ALIGN - past) % MEMORY_ALIGN;
    const attention_memory memory = { queries, queries + shape::query_bytes,
                                      same_in_warp(shared_address(full)),
                                      same_in_warp(shared_address(empty)) };
    const token_run run = find_run(job, shape::queries);
    const page_interval pages = seen_pages(job, run, 0, shape::queries);
    if (threadIdx.x == 0) {
        for (int i = 0; i < shape::stages; i++) {
            barrier_init(memory.full + i * 8, 1);
            barrier_init(memory.empty + i * 8, shape::consumers * GROUP_WARPS);
        }
    }
    __syncthreads();
    if (threadIdx.x < GROUP_THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        copy_pages<T, width, terms>(job, run, pages, memory);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(shape::registers));
        compute_rows<T, width, terms>(job, run, pages, memory);
    }
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching ------------------------------------------------------------------------------- */

template <typename T, int width, int terms> struct group_launch {
    static void launch(cudaStream_t stream, const vug_cuda_attention_job *job)
    {
        using shape = block_shape<width, terms>;
        const int bytes = shape::bytes;
        const int64_t tokens = shape::queries / (job->heads / job->cache.heads);
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3((unsigned)job->cache.heads, blocks_for(job->tokens, tokens));
        config.blockDim = dim3(shape::threads);
        config.dynamicSmemBytes = bytes;
        config.stream = stream;
        (void)cudaFuncSetAttribute(group_kernel<T, width, terms>,
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        (void)cudaLaunchKernelEx(&config, group_kernel<T, width, terms>, *job);
    }
};

bool vug_cuda_takes_wgmma_attention(const vug_cuda_kv_cache *cache)
{
    return cache->width <= WIDEST;
}

void vug_cuda_wgmma_attention(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    launch_attention<group_launch, WIDEST>(stream, *job, job);
}
