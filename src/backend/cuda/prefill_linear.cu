/*
 * Products of many rows with matrices in tiles, in the order of weight_tiles.h.
 *
 * Tiles are the first operand, so outputs are the rows of a product and tokens its columns. mma
 * and wgmma add the same products in the same order and round alike: both kernels below, and those
 * for few rows, give the same bits.
 */
#include <cuda_bf16.h>

#include "backend/cuda/activation_blocks.h"
#include "backend/cuda/hopper.h"
#include "backend/cuda/prefill.h"
#include "backend/cuda/row_math.h"
#include "backend/cuda/weight_numbers.h"

enum {
    TILE = VUG_CUDA_TILE,
    SLICES = VUG_CUDA_SLICES,
    STEPS = VUG_CUDA_TILE_PAD / TILE, /* tiles of 16 outputs in a block of columns */
    STRIP_BYTES = STEPS * VUG_CUDA_TILE_BYTES,
};

/* ---- activations ------------------------------------------------------------------------ */

enum { CHUNK = 8, STORE_THREADS = 256 };

/* Eight elements of a row; zeros past its end. */
static __device__ __forceinline__ void read_chunk(const float *row, int64_t first, int64_t columns,
                                                  float (&v)[CHUNK])
{
    const float *from = row + first;
    if (columns % CHUNK == 0 && first < columns) {
        const float4 a = ((const float4 *)from)[0], b = ((const float4 *)from)[1];
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
        return;
    }
    for (int i = 0; i < CHUNK; i++)
        v[i] = first + i < columns ? from[i] : 0;
}

/* A thread stores a chunk. */
static __global__ void store_blocks_kernel(const __grid_constant__ vug_cuda_blocks_job job)
{
    const int64_t row = blockIdx.x, chunk = (int64_t)blockIdx.y * STORE_THREADS + threadIdx.x;
    const int64_t first = chunk * CHUNK;
    if (first >= vug_cuda_padded(job.columns))
        return;
    float v[CHUNK], up[CHUNK];
    read_chunk(job.x + row * job.columns, first, job.columns, v);
    if (job.up) {
        read_chunk(job.up + row * job.columns, first, job.columns, up);
        for (int i = 0; i < CHUNK; i++)
            v[i] = (job.activation == VUG_OP_GEGLU ? gelu(v[i]) : silu(v[i])) * up[i];
    }
    int64_t at = first / VUG_CUDA_TILE_PAD * vug_cuda_block_rows(job.rows) + row;
    for (int term = 0; term < job.terms; term++) {
        ((uint4 *)(job.blocks + at * VUG_CUDA_BLOCK_ROW_BYTES))[(chunk ^ row) % CHUNK] =
                make_uint4(bf16_pair(v[0], v[1]), bf16_pair(v[2], v[3]), bf16_pair(v[4], v[5]),
                           bf16_pair(v[6], v[7]));
        at += vug_cuda_blocks_of(job.columns) * vug_cuda_block_rows(job.rows);
        for (int i = 0; i < CHUNK; i++)
            v[i] -= __bfloat162float(__float2bfloat16_rn(v[i]));
    }
}

void vug_cuda_store_blocks(cudaStream_t stream, const vug_cuda_blocks_job *job)
{
    const dim3 grid((unsigned)job->rows,
                    blocks_for(vug_cuda_padded(job->columns), CHUNK * STORE_THREADS));
    launch(stream, store_blocks_kernel, grid, STORE_THREADS, *job);
}

/* ---- work -------------------------------------------------------------------------------- */

/* A unit of work: rows of a weight for a tile of tokens. */
struct product_unit {
    const uint8_t *tiles, *rest;
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
    return { job.part[p].tiles, job.part[p].rest,   job.part[p].y,
             job.part[p].out,   job.part[p].stride, row,
             i % tiles * tokens };
}

static __host__ __device__ __forceinline__ int64_t count_units(const vug_cuda_prefill_job &job,
                                                               int rows, int tokens)
{
    int64_t n = 0;
    for (int p = 0; p < job.parts; p++)
        n += (job.part[p].out + rows - 1) / rows;
    return n * ((job.rows + tokens - 1) / tokens);
}

/* A product is a sum of up to three passes over the columns: of the terms of x with the weights'
 * first terms, and of x's first terms with the weights' second ones. */
enum { REST_PASS = 2 };

/* The strip of 16 rows from `row` on, as a pass reads it; of the last rows where these do not
 * exist. */
static __device__ __forceinline__ const uint8_t *strip_at(const product_unit &u, int pass,
                                                          int64_t row, int64_t blocks)
{
    const int64_t last = (u.out - 1) / TILE;
    return (pass == REST_PASS ? u.rest : u.tiles) + min(row / TILE, last) * blocks * STRIP_BYTES;
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

/* Where x's rows from `row` on, as a pass reads them, lie in block 0; block b lies b *
 * block_bytes(job) on. */
static __device__ __forceinline__ const uint8_t *rows_at(const vug_cuda_prefill_job &job, int pass,
                                                         int64_t row)
{
    return job.blocks + pass % REST_PASS * count_blocks(job) * block_bytes(job) +
           row * VUG_CUDA_BLOCK_ROW_BYTES;
}

static __host__ __device__ __forceinline__ int count_passes(const vug_cuda_prefill_job &job)
{
    return job.terms > 1 && job.part[0].rest ? 3 : job.terms;
}

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
    RING_BYTES = 200 * 1024,
    RING_ALIGN = 1024,
};

/* A stage of the ring: fragments of BLOCK_ROWS rows and a tile of tokens, 64 columns each. */
template <int tokens> struct ring_of {
    static constexpr int weight_bytes = BLOCK_STRIPS * STRIP_BYTES;
    static constexpr int token_bytes = tokens * VUG_CUDA_BLOCK_ROW_BYTES;
    static constexpr int stage_bytes = weight_bytes + token_bytes;
    static constexpr int stages = RING_BYTES / stage_bytes;
    static constexpr int bytes = stages * stage_bytes + RING_ALIGN;
};

struct ring_place {
    int stage;
    uint32_t parity;
};

template <int stages> static __device__ __forceinline__ void ring_next(ring_place &at)
{
    if (++at.stage == stages) {
        at.stage = 0;
        at.parity ^= 1;
    }
}

/* Addresses in shared memory. */
struct ring_memory {
    uint32_t data, full, empty; /* barriers of 8 bytes for each stage */
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* One thread of each of the first four warps fills the ring; the first one also copies tokens, of
 * which each block of the cluster copies half to both. */
template <int tokens, int passes>
static __device__ void fill_ring(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                 int rank)
{
    using ring = ring_of<tokens>;
    constexpr int half = ring::token_bytes / CLUSTER;
    const int64_t blocks = count_blocks(job), step = block_bytes(job);
    const int64_t units = count_units(job, CLUSTER * BLOCK_ROWS, tokens);
    const int strip = threadIdx.x / WARP * WARP_STRIPS;
    ring_place at = { 0, 1 };
    for (int64_t i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * BLOCK_ROWS, tokens);
        const uint8_t *x = NULL, *w[WARP_STRIPS];
        for (int64_t b = 0, left = 0, pass = 0; b < blocks * passes; b++, left--) {
            if (left == 0) {
                x = rows_at(job, (int)pass, u.token) + rank * half;
#pragma unroll
                for (int s = 0; s < WARP_STRIPS; s++)
                    w[s] = strip_at(u, (int)pass, u.row + rank * BLOCK_ROWS + (strip + s) * TILE,
                                    blocks);
                left = blocks;
                pass++;
            }
            const uint32_t to = memory.data + at.stage * ring::stage_bytes;
            const uint32_t full = memory.full + at.stage * 8;
            barrier_wait(memory.empty + at.stage * 8, at.parity);
            if (threadIdx.x == 0) {
                barrier_expect(full, ring::stage_bytes);
                bulk_copy_to_all(to + ring::weight_bytes + rank * half, x, half, full,
                                 (1 << CLUSTER) - 1);
                x += step;
            }
#pragma unroll
            for (int s = 0; s < WARP_STRIPS; s++) {
                bulk_copy(to + (strip + s) * STRIP_BYTES, w[s], STRIP_BYTES, full);
                w[s] += STRIP_BYTES;
            }
            ring_next<ring::stages>(at);
        }
    }
}

/* A warpgroup adds a block of 64 columns to its sums. */
template <int tokens>
static __device__ __forceinline__ void multiply_stage(const uint8_t *strip, uint32_t x,
                                                      float (&sum)[tokens / 2])
{
    uint4 a[STEPS];
#pragma unroll
    for (int j = 0; j < STEPS; j++)
        a[j] = ((const uint4 *)strip)[j * WARP + threadIdx.x % WARP];
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < STEPS; j++)
        wgmma_add<tokens>(sum, a[j], swizzled_tile(x + j * 32));
    wgmma_finish();
}

template <int tokens, int passes>
static __device__ void drain_ring(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                  const uint8_t *data, int rank)
{
    using ring = ring_of<tokens>;
    const int64_t units = count_units(job, CLUSTER * BLOCK_ROWS, tokens);
    const int strip = threadIdx.x / WARP - GROUP_THREADS / WARP;
    ring_place at = { 0, 0 };
    for (int64_t i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * BLOCK_ROWS, tokens);
        float sum[tokens / 2] = { 0 }, all[tokens / 2];
        for (int slice = 0; slice < SLICES * passes; slice++) {
            for (int64_t n = slice_blocks(job, slice % SLICES); n > 0; n--) {
                barrier_wait(memory.full + at.stage * 8, at.parity);
                multiply_stage<tokens>(
                        data + at.stage * ring::stage_bytes + strip * STRIP_BYTES,
                        memory.data + at.stage * ring::stage_bytes + ring::weight_bytes, sum);
                if (threadIdx.x % GROUP_THREADS < CLUSTER)
                    barrier_arrive_at(memory.empty + at.stage * 8, threadIdx.x % GROUP_THREADS);
                ring_next<ring::stages>(at);
            }
            add_slice(all, sum, slice % SLICES == 0);
            if (passes > 1 && slice % SLICES == SLICES - 1 && slice < SLICES * (passes - 1))
                store_sums(job, u, u.row + rank * BLOCK_ROWS + strip * TILE, slice >= SLICES, all);
        }
        store_sums(job, u, u.row + rank * BLOCK_ROWS + strip * TILE, passes > 1, all);
    }
}
#endif

template <int tokens, int passes>
static __global__ void __launch_bounds__((CONSUMERS + 1) * GROUP_THREADS, 1)
        wgmma_kernel(const __grid_constant__ vug_cuda_prefill_job job)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using ring = ring_of<tokens>;
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
            barrier_init(memory.empty + i * 8, CONSUMERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    if (threadIdx.x < GROUP_THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
        if (threadIdx.x % WARP == 0)
            fill_ring<tokens, passes>(job, memory, rank);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
        drain_ring<tokens, passes>(job, memory, data, rank);
    }
    /* A block may not end while the other one still writes to its barriers. */
    cluster_sync();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

template <int tokens, int passes>
static void launch_wgmma(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    const int64_t units = count_units(*job, CLUSTER * BLOCK_ROWS, tokens);
    const int64_t clusters = units < processors / CLUSTER ? units : processors / CLUSTER;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = CLUSTER;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(clusters * CLUSTER));
    config.blockDim = dim3((CONSUMERS + 1) * GROUP_THREADS);
    config.dynamicSmemBytes = ring_of<tokens>::bytes;
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    (void)cudaFuncSetAttribute(wgmma_kernel<tokens, passes>,
                               cudaFuncAttributeMaxDynamicSharedMemorySize, ring_of<tokens>::bytes);
    (void)cudaLaunchKernelEx(&config, wgmma_kernel<tokens, passes>, *job);
}

/* The time of a tile is about its tokens and a constant; tiles run in waves. */
static int64_t wave_cost(const vug_cuda_prefill_job *job, int tokens, int processors)
{
    enum { CONSTANT = 24 };
    const int64_t units = count_units(*job, CLUSTER * BLOCK_ROWS, tokens);
    const int64_t clusters = processors / CLUSTER;
    return (units + clusters - 1) / clusters * (tokens + CONSTANT);
}

template <int tokens>
static void choose_passes(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    const int passes = count_passes(*job);
    (passes == 1   ? launch_wgmma<tokens, 1>
     : passes == 2 ? launch_wgmma<tokens, 2>
                   : launch_wgmma<tokens, 3>)(stream, job, processors);
}

/* Several passes leave no registers for 192 tokens. */
static void choose_wgmma(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    const int64_t of_64 = wave_cost(job, 64, processors), of_128 = wave_cost(job, 128, processors),
                  of_192 = wave_cost(job, 192, processors);
    if (job->terms == 1 && of_192 <= of_128 && of_192 <= of_64)
        launch_wgmma<192, 1>(stream, job, processors);
    else if (of_128 <= of_64)
        choose_passes<128>(stream, job, processors);
    else
        choose_passes<64>(stream, job, processors);
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

/* Adds a block of 64 columns to the sums of a warp. */
static __device__ __forceinline__ void multiply_rows(const uint8_t *strip, uint32_t rows,
                                                     float (&sum)[MMA_SUMS])
{
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
        const uint4 a = ((const uint4 *)strip)[j * WARP + threadIdx.x % WARP];
#pragma unroll
        for (int t = 0; t < MMA_TOKENS; t += 16) {
            uint32_t b[4];
            load_tokens(rows, t, j, b);
            mma_add(sum + t / 2, a, b[0], b[1]);
            mma_add(sum + t / 2 + 4, a, b[2], b[3]);
        }
    }
}

static __global__ void __launch_bounds__(MMA_WARPS *WARP)
        mma_kernel(const __grid_constant__ vug_cuda_prefill_job job)
{
    __shared__ __align__(1024) uint8_t ring[MMA_STAGES][MMA_ROW_BYTES];
    const product_unit u = find_unit(job, blockIdx.x, MMA_ROWS, MMA_TOKENS);
    const int64_t blocks = count_blocks(job), step = block_bytes(job);
    const int64_t row = u.row + threadIdx.x / WARP * TILE;
    const int64_t all_blocks = blocks * count_passes(job);
    float sum[MMA_SUMS] = { 0 }, all[MMA_SUMS];
    const auto copy = [&](int64_t b) {
        if (b < all_blocks)
            copy_rows(shared_address(ring[b % MMA_STAGES]),
                      rows_at(job, (int)(b / blocks), u.token) + b % blocks * step);
        commit_copies();
    };
    for (int64_t b = 0; b < MMA_STAGES - 1; b++)
        copy(b);
    int64_t b = 0;
    for (int slice = 0; slice < SLICES * count_passes(job); slice++) {
        for (int64_t n = slice_blocks(job, slice % SLICES); n > 0; n--, b++) {
            asm volatile("cp.async.wait_group %0;" ::"n"(MMA_STAGES - 2) : "memory");
            __syncthreads();
            copy(b + MMA_STAGES - 1);
            multiply_rows(strip_at(u, slice / SLICES, row, blocks) + b % blocks * STRIP_BYTES,
                          shared_address(ring[b % MMA_STAGES]), sum);
        }
        add_slice(all, sum, slice % SLICES == 0);
        if ((slice + 1) % SLICES == 0)
            store_sums(job, u, row, slice >= SLICES, all);
    }
}

void vug_cuda_prefill_linear(cudaStream_t stream, const vug_cuda_prefill_job *job, bool hopper,
                             int processors)
{
    if (hopper)
        choose_wgmma(stream, job, processors);
    else
        launch(stream, mma_kernel, dim3((unsigned)count_units(*job, MMA_ROWS, MMA_TOKENS)),
               MMA_WARPS * WARP, *job);
}
