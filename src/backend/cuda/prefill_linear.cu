/*
 * Products of many rows with matrices in tiles, in the order of weight_tiles.h.
 *
 * Tiles are the first operand, so outputs are the rows of a product and tokens its columns. mma
 * and wgmma add the same products in the same order and round alike: both kernels below, and those
 * for few rows, give the same bits.
 */
#include "backend/cuda/activation_blocks.h"
#include "backend/cuda/block_tiles.h"
#include "backend/cuda/hopper.h"
#include "backend/cuda/prefill.h"

enum {
    TILE = VUG_CUDA_TILE,
    SLICES = VUG_CUDA_SLICES,
    STEPS = VUG_CUDA_TILE_PAD / TILE, /* tiles of 16 outputs in a block of columns */
};

/* ---- work -------------------------------------------------------------------------------- */

/* A unit of work: rows of a weight for a tile of tokens. */
struct product_unit {
    const uint8_t *tiles;
    float *y;
    int64_t out, stride, row, token; /* row and token: the first ones */
};

/* Unit `i`, where a unit has `rows` rows of a weight; neighbours share them. */
static __device__ __forceinline__ product_unit find_unit(const vug_cuda_prefill_job &job, int64_t i,
                                                         int rows, int tokens)
{
    const int64_t tiles = (job.rows + tokens - 1) / tokens;
    int64_t row = i / tiles * rows;
    int p = 0;
    while (p + 1 < job.parts && row >= (job.part[p].out + rows - 1) / rows * rows) {
        row -= (job.part[p].out + rows - 1) / rows * rows;
        p++;
    }
    return { job.part[p].tiles,  job.part[p].y, job.part[p].out,
             job.part[p].stride, row,           i % tiles * tokens };
}

static __host__ __device__ __forceinline__ int64_t count_units(const vug_cuda_prefill_job &job,
                                                               int rows, int tokens)
{
    int64_t n = 0;
    for (int p = 0; p < job.parts; p++)
        n += (job.part[p].out + rows - 1) / rows;
    return n * ((job.rows + tokens - 1) / tokens);
}

/* The strip of 16 rows from `row` on; the last rows where these do not exist. */
template <typename W>
static __device__ __forceinline__ const uint8_t *strip_at(const product_unit &u, int64_t row,
                                                          int64_t blocks)
{
    return u.tiles + min(row / TILE, (u.out - 1) / TILE) * blocks * W::bytes;
}

static __device__ __forceinline__ int64_t count_blocks(const vug_cuda_prefill_job &job)
{
    return vug_cuda_blocks_of(job.columns);
}

/* Blocks of slice `s`. */
static __device__ __forceinline__ int64_t slice_blocks(const vug_cuda_prefill_job &job, int s)
{
    const int64_t padded = vug_cuda_padded(job.columns);
    return (vug_cuda_slice_begin(padded, s + 1) - vug_cuda_slice_begin(padded, s)) /
           VUG_CUDA_TILE_PAD;
}

static __device__ __forceinline__ int64_t block_bytes(const vug_cuda_prefill_job &job)
{
    return vug_cuda_block_rows(job.rows) * VUG_CUDA_BLOCK_ROW_BYTES;
}

/* Where term `term` of x's rows from `row` on lies in block 0; block b lies b * block_bytes(job)
 * on. A product with BF16 is a sum of passes over the columns, with a term each; codes are
 * multiplied with both terms in one pass. */
static __device__ __forceinline__ const uint8_t *rows_at(const vug_cuda_prefill_job &job, int term,
                                                         int64_t row)
{
    return job.blocks + term * count_blocks(job) * block_bytes(job) +
           row * VUG_CUDA_BLOCK_ROW_BYTES;
}

/* Terms of x that a pass reads. */
template <typename W> static constexpr int terms_of_pass = W::is_scaled ? 2 : 1;

/* Adds a slice's sums to those so far; `sum` becomes zero. */
template <int n>
static __device__ __forceinline__ void add_slice(float (&all)[n], float (&sum)[n], bool first)
{
#pragma unroll
    for (int i = 0; i < n; i++) {
        all[i] = first ? sum[i] : all[i] + sum[i];
        sum[i] = 0;
    }
}

/* Stores what a lane has of 16 outputs, from `row` on, and n / 4 * 8 tokens, or adds it. */
template <int n>
static __device__ __forceinline__ void store_sums(const vug_cuda_prefill_job &job,
                                                  const product_unit &u, int64_t row, bool adds,
                                                  const float (&all)[n])
{
    constexpr int together = 8; /* values that are read before some are stored */
    const int lane = threadIdx.x % WARP;
    const int64_t first = u.token + lane % 4 * 2, output = row + lane / 4;
    float *y = u.y + first * u.stride + output;
    const int tokens = (int)min(job.rows - first, (int64_t)n * 2);
    const int outputs = (int)min(u.out - output, (int64_t)TILE);
#pragma unroll
    for (int from = 0; from < n; from += together) {
        float so_far[together];
#pragma unroll
        for (int i = from; adds && i < from + together; i++) {
            const int token = i / 4 * 8 + i % 2, o = i / 2 % 2 * 8;
            if (token < tokens && o < outputs)
                so_far[i - from] = y[token * u.stride + o];
        }
#pragma unroll
        for (int i = from; i < from + together; i++) {
            const int token = i / 4 * 8 + i % 2, o = i / 2 % 2 * 8;
            if (token < tokens && o < outputs)
                y[token * u.stride + o] = adds ? so_far[i - from] + all[i] : all[i];
        }
    }
}

/* ---- wgmma --------------------------------------------------------------------------------- */

enum {
    GROUP_THREADS = 128, /* a warpgroup: 64 rows of a weight */
    CONSUMERS = 2,       /* warpgroups that multiply; one more copies */
    BLOCK_ROWS = 64 * CONSUMERS,
    CLUSTER = 2, /* blocks that share tokens */
    BLOCK_STRIPS = BLOCK_ROWS / TILE,
    WARP_STRIPS = BLOCK_STRIPS / (GROUP_THREADS / WARP), /* that a warp copies */
    RING_BYTES = 224 * 1024,
    RING_ALIGN = 1024,
    UNIT_SUMS = VUG_CUDA_TILE_PAD / VUG_CUDA_SUM_COLUMNS,
};

static constexpr int align_ring(int bytes)
{
    return (bytes + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN;
}

/* A stage of the ring: units of BLOCK_ROWS rows, a tile of tokens in each term of a pass, 64 columns
 * each, and the tokens' sums. Behind the ring products with codes keep the sums of slices. */
template <typename W, int tokens> struct ring_of {
    static constexpr int token_bytes = tokens * VUG_CUDA_BLOCK_ROW_BYTES; /* of a term */
    static constexpr int all_token_bytes = terms_of_pass<W> * token_bytes;
    static constexpr int sum_bytes = W::needs_sums ? tokens * (int)sizeof(float) : 0;
    static constexpr int copied_bytes =
            BLOCK_STRIPS * W::bytes + all_token_bytes + UNIT_SUMS * sum_bytes;
    static constexpr int tokens_at = align_ring(BLOCK_STRIPS * W::bytes);
    static constexpr int sums_at = tokens_at + all_token_bytes;
    static constexpr int stage_bytes = align_ring(sums_at + UNIT_SUMS * sum_bytes);
    static constexpr int kept_bytes =
            W::is_scaled ? CONSUMERS * GROUP_THREADS * tokens / 2 * (int)sizeof(float) : 0;
    /* that say when they have read a stage: warps, or warpgroups */
    static constexpr int readers = W::is_scaled ? CONSUMERS * GROUP_THREADS / WARP : CONSUMERS;
    static constexpr int stages = (RING_BYTES - kept_bytes) / stage_bytes;
    static constexpr int bytes = stages * stage_bytes + kept_bytes + RING_ALIGN;
};

/* Addresses in shared memory. */
struct ring_memory {
    uint32_t data, full, empty; /* barriers of 8 bytes for each stage */
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* Where the tokens of a block of columns, and their sums, come from. */
struct token_source {
    const uint8_t *x; /* what this block of the cluster copies */
    const float *sums;
};

/* Copies tokens, of which each block of the cluster copies half to both, and their sums; goes on to
 * the next block of columns. */
template <typename W, int tokens>
static __device__ __forceinline__ void copy_tokens(const vug_cuda_prefill_job &job,
                                                   token_source &from, uint32_t to, uint32_t full,
                                                   int rank)
{
    using ring = ring_of<W, tokens>;
    constexpr int half = ring::token_bytes / CLUSTER;
    barrier_expect(full, ring::copied_bytes);
#pragma unroll
    for (int term = 0; term < terms_of_pass<W>; term++)
        bulk_copy_to_all(to + ring::tokens_at + term * ring::token_bytes + rank * half,
                         from.x + term * count_blocks(job) * block_bytes(job), half, full,
                         (1 << CLUSTER) - 1);
    from.x += block_bytes(job);
    if constexpr (W::needs_sums) {
#pragma unroll
        for (int i = 0; i < UNIT_SUMS; i++) {
            bulk_copy(to + ring::sums_at + i * ring::sum_bytes, from.sums, ring::sum_bytes, full);
            from.sums += vug_cuda_block_rows(job.rows);
        }
    }
}

/* One thread of each of the first four warps fills the ring; the first one also copies tokens. */
template <typename W, int tokens, int passes>
static __device__ void fill_ring(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                 int rank)
{
    using ring = ring_of<W, tokens>;
    const int blocks = (int)count_blocks(job);
    const int64_t units = count_units(job, CLUSTER * BLOCK_ROWS, tokens);
    const int strip = threadIdx.x / WARP * WARP_STRIPS;
    ring_place at = { 0, 1 };
    for (int64_t i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * BLOCK_ROWS, tokens);
#pragma unroll 1
        for (int pass = 0; pass < passes; pass++) {
            token_source x = { rows_at(job, pass, u.token) + rank * ring::token_bytes / CLUSTER,
                               job.x_sums + u.token };
            const uint8_t *w[WARP_STRIPS];
#pragma unroll
            for (int s = 0; s < WARP_STRIPS; s++)
                w[s] = strip_at<W>(u, u.row + rank * BLOCK_ROWS + (strip + s) * TILE, blocks);
#pragma unroll 1
            for (int b = 0; b < blocks; b++) {
                const uint32_t to = memory.data + at.stage * ring::stage_bytes;
                const uint32_t full = memory.full + at.stage * 8;
                barrier_wait(memory.empty + at.stage * 8, at.parity);
                if (threadIdx.x == 0)
                    copy_tokens<W, tokens>(job, x, to, full, rank);
#pragma unroll
                for (int s = 0; s < WARP_STRIPS; s++) {
                    bulk_copy(to + (strip + s) * W::bytes, w[s], W::bytes, full);
                    w[s] += W::bytes;
                }
                ring_next<ring::stages>(at);
            }
        }
    }
}

/* A warpgroup adds a block of 64 columns to its sums. */
template <int tokens>
static __device__ __forceinline__ void multiply_stage(const uint8_t *strip, uint32_t x,
                                                      float (&sum)[tokens / 2])
{
    plain_unit w;
    w.load<load_again>(strip);
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < STEPS; j++)
        wgmma_add<tokens>(sum, w.operand(j), swizzled_tile(x + j * 32));
    wgmma_commit();
    wgmma_wait();
}

template <int tokens, int passes>
static __device__ void drain_ring(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                  const uint8_t *data, int rank)
{
    using ring = ring_of<plain_unit, tokens>;
    const int64_t units = count_units(job, CLUSTER * BLOCK_ROWS, tokens);
    const int strip = threadIdx.x / WARP - GROUP_THREADS / WARP;
    ring_place at = { 0, 0 };
    for (int64_t i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * BLOCK_ROWS, tokens);
#pragma unroll 1
        for (int pass = 0; pass < passes; pass++) {
            float sum[tokens / 2] = { 0 }, all[tokens / 2];
#pragma unroll 1
            for (int slice = 0; slice < SLICES; slice++) {
#pragma unroll 1
                for (int n = (int)slice_blocks(job, slice); n > 0; n--) {
                    const int stage = at.stage * ring::stage_bytes;
                    barrier_wait(memory.full + at.stage * 8, at.parity);
                    multiply_stage<tokens>(data + stage + strip * plain_unit::bytes,
                                           memory.data + stage + ring::tokens_at, sum);
                    if (threadIdx.x % GROUP_THREADS < CLUSTER)
                        barrier_arrive_at(memory.empty + at.stage * 8, threadIdx.x % GROUP_THREADS);
                    ring_next<ring::stages>(at);
                }
                add_slice(all, sum, slice == 0);
            }
            store_sums(job, u, u.row + rank * BLOCK_ROWS + strip * TILE, pass > 0, all);
        }
    }
}

/* ---- wgmma with codes ----------------------------------------------------------------------- */

/* Begins the products of the tiles of a block, from tile `s` of a unit on. x: the first terms of
 * half of a ring's tokens; the second terms are `term_bytes` on. */
template <typename W, int tokens>
static __device__ __forceinline__ void begin_block(float (&codes)[tokens / 2],
                                                   const uint4 (&w)[W::block_tiles], int s,
                                                   uint32_t x, int term_bytes)
{
    wgmma_fence();
    wgmma_add<tokens, false>(codes, w[0], swizzled_tile(x + s * 32));
    wgmma_add<tokens>(codes, w[0], swizzled_tile(x + term_bytes + s * 32));
    if constexpr (W::block_tiles > 1) {
        wgmma_add<tokens>(codes, w[1], swizzled_tile(x + (s + 1) * 32));
        wgmma_add<tokens>(codes, w[1], swizzled_tile(x + term_bytes + (s + 1) * 32));
    }
    wgmma_commit();
}

template <typename W>
static __device__ __forceinline__ void block_operands(const W &w, int s,
                                                      uint4 (&to)[W::block_tiles])
{
#pragma unroll
    for (int i = 0; i < W::block_tiles; i++)
        to[i] = w.operand(s + i);
}

/* Adds the products of a block with some tokens, times its scales, to sums, and its offsets times
 * x_sums, the sums of a lane's tokens. */
template <typename W, int n>
static __device__ __forceinline__ void add_scaled(const float (&codes)[n], const W &w, int s,
                                                  const float *x_sums, float *sum)
{
    const block_scale by[2] = { w.scale_of_row(s, false), w.scale_of_row(s, true) };
#pragma unroll
    for (int i = 0; i < n; i++)
        sum[i] = fmaf(codes[i], by[i / 2 % 2].scale, sum[i]);
    if constexpr (W::needs_sums) {
#pragma unroll
        for (int i = 0; i < n; i += 4) {
            const float2 of = *(const float2 *)(x_sums + i * 2);
            sum[i] = fmaf(by[0].offset, of.x, sum[i]);
            sum[i + 1] = fmaf(by[0].offset, of.y, sum[i + 1]);
            sum[i + 2] = fmaf(by[1].offset, of.x, sum[i + 2]);
            sum[i + 3] = fmaf(by[1].offset, of.y, sum[i + 3]);
        }
    }
}

/* A warpgroup adds a block of 64 columns to its sums. It takes half of the tokens at a time: while
 * the tensor cores multiply those of one half, it scales the products of the other, and unpacks
 * the codes of the next tiles. */
template <typename W, int tokens>
static __device__ __forceinline__ void multiply_codes(const uint8_t *strip, uint32_t x,
                                                      const float *x_sums,
                                                      float (&codes)[2][tokens / 4],
                                                      float (&sum)[tokens / 2])
{
    constexpr int half = tokens / 2, turns = 2 * STEPS / W::block_tiles;
    constexpr int term_bytes = ring_of<W, tokens>::token_bytes;
    W w;
    uint4 operands[2][W::block_tiles];
    w.template load<load_again>(strip);
    block_operands(w, 0, operands[0]);
    begin_block<W, half>(codes[0], operands[0], 0, x, term_bytes);
#pragma unroll
    for (int i = 0; i < turns; i++) {
        const int s = i / 2 * W::block_tiles, next = (i + 1) / 2 * W::block_tiles;
        if (i + 1 < turns)
            begin_block<W, half>(codes[(i + 1) % 2], operands[(i + 1) / 2 % 2], next,
                                 x + (i + 1) % 2 * half * VUG_CUDA_BLOCK_ROW_BYTES, term_bytes);
        if (i % 2 == 0 && i + 2 < turns)
            block_operands(w, s + W::block_tiles, operands[(i / 2 + 1) % 2]);
        if (i + 1 < turns)
            wgmma_wait<1>();
        else
            wgmma_wait();
        add_scaled(codes[i % 2], w, s, x_sums + i / 2 * tokens + i % 2 * half,
                   sum + i % 2 * half / 2);
    }
}

/* Adds a slice's sums to those that a thread keeps in shared memory; `sum` becomes zero or, after
 * the last slice, all of them. */
template <int n>
static __device__ __forceinline__ void keep_slice(float4 *kept, float (&sum)[n], bool first,
                                                  bool last)
{
#pragma unroll
    for (int i = 0; i < n; i += 4, kept += CONSUMERS * GROUP_THREADS) {
        if (!first) {
            const float4 so_far = *kept;
            sum[i] = so_far.x + sum[i];
            sum[i + 1] = so_far.y + sum[i + 1];
            sum[i + 2] = so_far.z + sum[i + 2];
            sum[i + 3] = so_far.w + sum[i + 3];
        }
        if (last)
            continue;
        *kept = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
        sum[i] = sum[i + 1] = sum[i + 2] = sum[i + 3] = 0;
    }
}

template <typename W, int tokens>
static __device__ void drain_codes(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                   uint8_t *data, int rank)
{
    using ring = ring_of<W, tokens>;
    const int64_t units = count_units(job, CLUSTER * BLOCK_ROWS, tokens);
    const int strip = threadIdx.x / WARP - GROUP_THREADS / WARP;
    float4 *kept =
            (float4 *)(data + ring::stages * ring::stage_bytes) + threadIdx.x - GROUP_THREADS;
    float codes[2][tokens / 4] = {};
    ring_place at = { 0, 0 };
    for (int64_t i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * BLOCK_ROWS, tokens);
        float sum[tokens / 2] = { 0 };
#pragma unroll 1
        for (int slice = 0; slice < SLICES; slice++) {
#pragma unroll 1
            for (int n = (int)slice_blocks(job, slice); n > 0; n--) {
                const uint8_t *stage = data + at.stage * ring::stage_bytes;
                const float *x_sums = (const float *)(stage + ring::sums_at);
                barrier_wait(memory.full + at.stage * 8, at.parity);
                multiply_codes<W, tokens>(stage + strip * W::bytes,
                                          memory.data + at.stage * ring::stage_bytes +
                                                  ring::tokens_at,
                                          x_sums + threadIdx.x % 4 * 2, codes, sum);
                /* A warp may still read sums when another one of its group is done. */
                __syncwarp();
                if (threadIdx.x % WARP < CLUSTER)
                    barrier_arrive_at(memory.empty + at.stage * 8, threadIdx.x % WARP);
                ring_next<ring::stages>(at);
            }
            keep_slice(kept, sum, slice == 0, slice == SLICES - 1);
        }
        store_sums(job, u, u.row + rank * BLOCK_ROWS + strip * TILE, false, sum);
    }
}
#endif

template <typename W, int tokens, int passes>
static __global__ void __launch_bounds__((CONSUMERS + 1) * GROUP_THREADS, 1)
        wgmma_kernel(const __grid_constant__ vug_cuda_prefill_job job)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using ring = ring_of<W, tokens>;
    extern __shared__ uint8_t unaligned[];
    __shared__ __align__(8) uint64_t full[ring::stages], empty[ring::stages];
    uint8_t *data =
            (uint8_t *)(((uintptr_t)unaligned + RING_ALIGN - 1) & ~(uintptr_t)(RING_ALIGN - 1));
    const ring_memory memory = { shared_address(data), shared_address(full),
                                 shared_address(empty) };
    const int rank = blockIdx.x % CLUSTER;
    if (threadIdx.x == 0) {
        for (int i = 0; i < ring::stages; i++) {
            barrier_init(memory.full + i * 8, 1);
            barrier_init(memory.empty + i * 8, ring::readers * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    if (threadIdx.x < GROUP_THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
        if (threadIdx.x % WARP == 0)
            fill_ring<W, tokens, passes>(job, memory, rank);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
        if constexpr (W::is_scaled)
            drain_codes<W, tokens>(job, memory, data, rank);
        else
            drain_ring<tokens, passes>(job, memory, data, rank);
    }
    /* A block may not end while the other one still writes to its barriers. */
    cluster_sync();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

template <typename W, int tokens, int passes>
static void launch_wgmma(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    const int bytes = ring_of<W, tokens>::bytes;
    const int64_t units = count_units(*job, CLUSTER * BLOCK_ROWS, tokens);
    const int64_t clusters = units < processors / CLUSTER ? units : processors / CLUSTER;
    const dim3 grid((unsigned)(clusters * CLUSTER));
    launch_clusters(stream, wgmma_kernel<W, tokens, passes>,
                    { grid, dim3(CLUSTER), (CONSUMERS + 1) * GROUP_THREADS, (size_t)bytes }, false,
                    *job);
}

/* The time of a tile is about its tokens and a constant; tiles run in waves. */
static int64_t wave_cost(const vug_cuda_prefill_job *job, int tokens, int processors)
{
    enum { CONSTANT = 24 };
    const int64_t units = count_units(*job, CLUSTER * BLOCK_ROWS, tokens);
    const int64_t clusters = processors / CLUSTER;
    return (units + clusters - 1) / clusters * (tokens + CONSTANT);
}

/* Two passes leave no registers for 192 tokens. */
static void choose_wgmma(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    const int64_t of_64 = wave_cost(job, 64, processors), of_128 = wave_cost(job, 128, processors),
                  of_192 = wave_cost(job, 192, processors);
    if (job->terms == 1 && of_192 <= of_128 && of_192 <= of_64)
        launch_wgmma<plain_unit, 192, 1>(stream, job, processors);
    else if (of_128 <= of_64)
        (job->terms == 1 ? launch_wgmma<plain_unit, 128, 1>
                         : launch_wgmma<plain_unit, 128, 2>)(stream, job, processors);
    else
        (job->terms == 1 ? launch_wgmma<plain_unit, 64, 1>
                         : launch_wgmma<plain_unit, 64, 2>)(stream, job, processors);
}

/* ---- mma ------------------------------------------------------------------------------------ */

enum {
    MMA_WARPS = 8, /* a strip of 16 rows each */
    MMA_ROWS = MMA_WARPS * TILE,
    MMA_TOKENS = 64,
    MMA_SUMS = MMA_TOKENS / 2,
    MMA_STAGES = 3,
    MMA_ROW_BYTES = MMA_TOKENS * VUG_CUDA_BLOCK_ROW_BYTES,
};

static __device__ __forceinline__ void mma_add(float *d, const uint4 &a, uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

/* The threads of a block begin to copy rows of x. */
static __device__ __forceinline__ void copy_rows(uint32_t to, const uint8_t *from)
{
    for (int i = threadIdx.x * 16; i < MMA_ROW_BYTES; i += MMA_WARPS * WARP * 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i), "l"(from + i)
                     : "memory");
}

static __device__ __forceinline__ void commit_copies(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Fragments of 16 columns of 16 tokens from `token` on: b[0], b[1] of the first eight. */
static __device__ __forceinline__ void load_tokens(uint32_t rows, int token, int step,
                                                   uint32_t (&b)[4])
{
    const int lane = threadIdx.x % WARP;
    const int row = token + lane % 8 + lane / 16 * 8, chunk = 2 * step + lane / 8 % 2;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(rows + row * VUG_CUDA_BLOCK_ROW_BYTES + (chunk ^ row % 8) * 16)
                 : "memory");
}

/* Adds products of 16 columns to the sums of a warp. */
static __device__ __forceinline__ void multiply_rows(const uint4 &w, uint32_t rows, int step,
                                                     float (&sum)[MMA_SUMS])
{
#pragma unroll
    for (int t = 0; t < MMA_TOKENS; t += 16) {
        uint32_t b[4];
        load_tokens(rows, t, step, b);
        mma_add(sum + t / 2, w, b[0], b[1]);
        mma_add(sum + t / 2 + 4, w, b[2], b[3]);
    }
}

/* Adds those with the codes of a block, from tile `s` of a unit on, and both terms of x. x_sums:
 * the lane's tokens, of which `tokens` exist. */
template <typename W>
static __device__ __forceinline__ void multiply_block(const W &w, int s, uint32_t rows,
                                                      const float *x_sums, int tokens,
                                                      float (&sum)[MMA_SUMS])
{
    const block_scale by[2] = { w.scale_of_row(s, false), w.scale_of_row(s, true) };
    float codes[MMA_SUMS] = { 0 };
#pragma unroll
    for (int i = 0; i < W::block_tiles; i++) {
        const uint4 operand = w.operand(s + i);
        multiply_rows(operand, rows, s + i, codes);
        multiply_rows(operand, rows + MMA_ROW_BYTES, s + i, codes);
    }
#pragma unroll
    for (int i = 0; i < MMA_SUMS; i++) {
        const int token = i / 4 * 8 + i % 2;
        sum[i] = fmaf(codes[i], by[i / 2 % 2].scale, sum[i]);
        if (W::needs_sums && token < tokens)
            sum[i] = fmaf(by[i / 2 % 2].offset, x_sums[token], sum[i]);
    }
}

/* Adds block `block` of 64 columns. */
template <typename W>
static __device__ __forceinline__ void multiply_unit(const vug_cuda_prefill_job &job,
                                                     const product_unit &u, const uint8_t *from,
                                                     uint32_t rows, int64_t block,
                                                     float (&sum)[MMA_SUMS])
{
    W w;
    w.template load<load_again>(from);
    if constexpr (!W::is_scaled) {
#pragma unroll
        for (int j = 0; j < STEPS; j++)
            multiply_rows(w.operand(j), rows, j, sum);
    } else {
        const int64_t token = u.token + threadIdx.x % 4 * 2;
#pragma unroll
        for (int j = 0; j < STEPS; j += W::block_tiles) {
            const int64_t at =
                    (block * UNIT_SUMS + j / (STEPS / UNIT_SUMS)) * vug_cuda_block_rows(job.rows) +
                    token;
            multiply_block(w, j, rows, job.x_sums + at, (int)(job.rows - token), sum);
        }
    }
}

template <typename W>
static __global__ void __launch_bounds__(MMA_WARPS *WARP)
        mma_kernel(const __grid_constant__ vug_cuda_prefill_job job)
{
    constexpr int terms = terms_of_pass<W>;
    __shared__ __align__(1024) uint8_t ring[MMA_STAGES][terms * MMA_ROW_BYTES];
    const product_unit u = find_unit(job, blockIdx.x, MMA_ROWS, MMA_TOKENS);
    const int64_t blocks = count_blocks(job), step = block_bytes(job);
    const int64_t row = u.row + threadIdx.x / WARP * TILE;
    const int passes = job.terms / terms;
    const int64_t all_blocks = blocks * passes;
    const uint8_t *strip = strip_at<W>(u, row, blocks);
    float sum[MMA_SUMS] = { 0 }, all[MMA_SUMS];
    const auto copy = [&](int64_t b) {
        for (int term = 0; b < all_blocks && term < terms; term++)
            copy_rows(shared_address(ring[b % MMA_STAGES]) + term * MMA_ROW_BYTES,
                      rows_at(job, (int)(b / blocks) + term, u.token) + b % blocks * step);
        commit_copies();
    };
    for (int64_t b = 0; b < MMA_STAGES - 1; b++)
        copy(b);
    int64_t b = 0;
    for (int slice = 0; slice < SLICES * passes; slice++) {
        for (int64_t n = slice_blocks(job, slice % SLICES); n > 0; n--, b++) {
            asm volatile("cp.async.wait_group %0;" ::"n"(MMA_STAGES - 2) : "memory");
            __syncthreads();
            copy(b + MMA_STAGES - 1);
            multiply_unit<W>(job, u, strip + b % blocks * W::bytes,
                             shared_address(ring[b % MMA_STAGES]), b % blocks, sum);
        }
        add_slice(all, sum, slice % SLICES == 0);
        if ((slice + 1) % SLICES == 0)
            store_sums(job, u, row, slice >= SLICES, all);
    }
}

template <typename W> static void launch_mma(cudaStream_t stream, const vug_cuda_prefill_job *job)
{
    launch(stream, mma_kernel<W>, dim3((unsigned)count_units(*job, MMA_ROWS, MMA_TOKENS)),
           MMA_WARPS * WARP, *job);
}

template <typename W>
static void launch_codes(cudaStream_t stream, const vug_cuda_prefill_job *job, bool hopper,
                         int processors)
{
    if (!hopper)
        launch_mma<W>(stream, job);
    else if (wave_cost(job, 128, processors) <= wave_cost(job, 64, processors))
        launch_wgmma<W, 128, 1>(stream, job, processors);
    else
        launch_wgmma<W, 64, 1>(stream, job, processors);
}

void vug_cuda_prefill_linear(cudaStream_t stream, const vug_cuda_prefill_job *job, bool hopper,
                             int processors)
{
    switch (job->format) {
#define X(format)                                                                     \
    case VUG_DTYPE_##format:                                                          \
        launch_codes<code_unit<VUG_DTYPE_##format>>(stream, job, hopper, processors); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        if (hopper)
            choose_wgmma(stream, job, processors);
        else
            launch_mma<plain_unit>(stream, job);
    }
}
