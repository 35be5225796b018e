/*
 * Products of up to 64 rows with matrices in tiles of BF16, in the order of weight_tiles.h, for
 * compute capability 9.0.
 *
 * A cluster of 8 blocks computes 128, 192 or 256 outputs of all rows, or 64 of each of the two parts
 * of an activation; each block sums one slice. So a small matrix has work for all multiprocessors,
 * and weights are read once for both terms of x. Then the blocks add the slices, which they read
 * from each other's shared memory, and each stores an eighth of the rows. More outputs share a
 * block's rows of x, whose copies are as large as those of 128 outputs of weights.
 */
#include "backend/cuda/batch_math.h"

enum {
    CLUSTER = VUG_CUDA_SLICES,
    GROUP = 64,      /* outputs of a warpgroup */
    GROUP_WARPS = 4, /* a strip each */
};

/* A block has `groups` warpgroups. A stage of its ring: 64 columns of its outputs, and of the terms
 * of x. Two blocks with two warpgroups share a multiprocessor. */
template <int terms, int groups> struct batch_ring {
    static constexpr int warps = groups * GROUP_WARPS, threads = warps * WARP;
    static constexpr int blocks = groups <= 2 ? 2 : 1; /* of a multiprocessor */
    static constexpr int weight_bytes = warps * STRIP_BYTES;
    static constexpr int stage_bytes = weight_bytes + terms * TERM_BYTES;
    static constexpr int stages = (groups <= 2 ? 96 << 10 : 200 << 10) / stage_bytes;
};

struct batch_memory {
    uint32_t data, full, empty; /* addresses; barriers of 8 bytes for each stage */
};

/* The sums of a block; the padding keeps banks apart. */
template <int groups> struct block_sums {
    float y[ROWS][groups * GROUP + 4];
};

/* The columns of slice `rank`, which a block sums, in blocks of 64. */
struct column_blocks {
    int first, n, of; /* of so many blocks */
};

/* 64 outputs of a part. */
struct output_group {
    int part, first;
    bool exists;
};

static __host__ __device__ __forceinline__ int groups_of(int64_t out)
{
    return (int)((out + GROUP - 1) / GROUP);
}

/* Group `i` of cluster `cluster`; the last one of the job in place of one that does not exist. */
template <bool pairs, int groups>
static __device__ __forceinline__ output_group find_group(const vug_cuda_tile_job &job, int cluster,
                                                          int i)
{
    if (pairs)
        return { i, cluster * GROUP, true };
    int part = 0, group = cluster * groups + i;
    while (part + 1 < job.parts && group >= groups_of(job.part[part].out))
        group -= groups_of(job.part[part++].out);
    const int last = groups_of(job.part[part].out) - 1;
    return { part, min(group, last) * GROUP, group <= last };
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
static __device__ __forceinline__ column_blocks find_columns(int64_t columns, int rank)
{
    const int64_t padded = vug_cuda_padded(columns);
    const int first = (int)(vug_cuda_slice_begin(padded, rank) / VUG_CUDA_TILE_PAD);
    const int end = (int)(vug_cuda_slice_begin(padded, rank + 1) / VUG_CUDA_TILE_PAD);
    return { first, end - first, (int)(padded / VUG_CUDA_TILE_PAD) };
}

/* ---- copying ------------------------------------------------------------------------------ */

/* What the threads of a block copy to its ring. */
struct block_copies {
    batch_memory memory;
    column_blocks columns;
    const uint8_t *strip;        /* of the warp's first block of 64 columns */
    const uint8_t *x;            /* of the block's first one */
    int64_t x_bytes, term_bytes; /* of a block of x, and of all blocks of a term */
};

/* The first thread of a warp copies the strip that only this warp reads, of block `b`. */
template <int terms, int groups>
static __device__ __forceinline__ void copy_strip(const block_copies &c, int b)
{
    using ring = batch_ring<terms, groups>;
    const int stage = b % ring::stages;
    if (threadIdx.x % WARP != 0 || b >= c.columns.n)
        return;
    barrier_expect(c.memory.full + stage * 8, STRIP_BYTES);
    bulk_copy(c.memory.data + stage * ring::stage_bytes + threadIdx.x / WARP * STRIP_BYTES,
              c.strip + (int64_t)b * STRIP_BYTES, STRIP_BYTES, c.memory.full + stage * 8);
}

/* One thread copies the terms of x's rows, of block `b`. */
template <int terms, int groups>
static __device__ __forceinline__ void copy_rows(const block_copies &c, int b)
{
    using ring = batch_ring<terms, groups>;
    const int stage = b % ring::stages;
    const uint32_t full = c.memory.full + stage * 8;
    const uint32_t to = c.memory.data + stage * ring::stage_bytes + ring::weight_bytes;
    if (threadIdx.x != 0 || b >= c.columns.n)
        return;
    barrier_wait(c.memory.empty + stage * 8, (b / ring::stages + 1) % 2);
    barrier_expect(full, terms * (uint32_t)c.x_bytes);
    for (int term = 0; term < terms; term++)
        bulk_copy(to + term * TERM_BYTES, c.x + b * c.x_bytes + term * c.term_bytes,
                  (uint32_t)c.x_bytes, full);
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Adds the block's columns to `sum`. While a warpgroup multiplies, its strips are copied again, and
 * the rows of the block before, which other warps may still read until then. */
template <int terms, int groups>
static __device__ __forceinline__ void sum_columns(const block_copies &c, float (&sum)[terms][SUMS])
{
    using ring = batch_ring<terms, groups>;
    const int at = threadIdx.x / WARP * STRIP_BYTES;
    for (int b = 0; b < ring::stages; b++)
        copy_strip<terms, groups>(c, b);
    wait_for_previous();
    for (int b = 0; b < ring::stages; b++)
        copy_rows<terms, groups>(c, b);
#pragma unroll 1
    for (int b = 0; b < c.columns.n; b++) {
        const int stage = b % ring::stages, from = stage * ring::stage_bytes;
        uint4 a[STEPS];
        __syncwarp();
        barrier_wait(c.memory.full + stage * 8, b / ring::stages % 2);
        begin_block<terms>(c.memory.data + from + at, c.memory.data + from + ring::weight_bytes, a,
                           sum);
        __syncwarp();
        copy_strip<terms, groups>(c, b + ring::stages);
        if (b > 0)
            copy_rows<terms, groups>(c, b - 1 + ring::stages);
        wgmma_wait();
        __syncwarp();
        if (threadIdx.x % WARP == 0)
            barrier_arrive(c.memory.empty + stage * 8);
    }
    __syncwarp();
}

/* Adds the terms, and stores what a lane has of 16 outputs and all rows. */
template <int terms, int groups>
static __device__ __forceinline__ void store_sums(block_sums<groups> &to,
                                                  const float (&sum)[terms][SUMS])
{
    const int lane = threadIdx.x % WARP, first = threadIdx.x / WARP * TILE + lane / 4;
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        to.y[i / 4 * 8 + lane % 4 * 2 + i % 2][first + i / 2 % 2 * 8] =
                terms > 1 ? sum[0][i] + sum[terms - 1][i] : sum[0][i];
}

static __device__ __forceinline__ float4 operator+(const float4 &a, const float4 &b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* Four outputs: the sum of the blocks' sums, in order. */
template <int groups>
static __device__ __forceinline__ float4 add_blocks(const block_sums<groups> &sums, int row,
                                                    int output)
{
    const uint32_t at = shared_address(&sums.y[row][output]);
    float4 of_block[CLUSTER];
#pragma unroll
    for (int i = 0; i < CLUSTER; i++)
        of_block[i] = load_of_block(at, i);
    float4 y = of_block[0];
#pragma unroll
    for (int i = 1; i < CLUSTER; i++)
        y = y + of_block[i];
    return y;
}

/* Block `rank` of a cluster stores rows rank, rank + 8, .. */
template <int terms, bool pairs, int groups>
static __device__ __forceinline__ void store_rows(const vug_cuda_tile_job &job,
                                                  const block_sums<groups> &sums, int rank)
{
    constexpr int outputs = pairs ? (int)GROUP : groups * GROUP;
    constexpr int threads = batch_ring<terms, groups>::threads;
    for (int i = threadIdx.x * QUAD; i < ROWS / CLUSTER * outputs; i += threads * QUAD) {
        const int row = i / outputs * CLUSTER + rank, o = i % outputs;
        const output_group group = find_group<pairs, groups>(job, blockIdx.x / CLUSTER, o / GROUP);
        const int64_t output = group.first + o % GROUP, out = job.part[group.part].out;
        if (row >= job.rows || !group.exists)
            continue;
        float4 y = add_blocks(sums, row, o);
        if (pairs) {
            const float4 up = add_blocks(sums, row, GROUP + o);
            y = make_float4(
                    activate(job.activation, y.x, up.x), activate(job.activation, y.y, up.y),
                    activate(job.activation, y.z, up.z), activate(job.activation, y.w, up.w));
        }
        float *to = job.part[group.part].y + row * out + output;
        float of[QUAD] = { y.x, y.y, y.z, y.w };
        if (pairs && job.in_blocks) {
            if (output < out)
                store_terms<terms>((uint8_t *)job.part[0].y, job.rows, out, row, output, of);
            continue;
        }
#pragma unroll
        for (int k = 0; k < QUAD; k++) {
            if (output + k < out)
                to[k] = of[k];
        }
    }
}
#endif

/* ---- the kernel --------------------------------------------------------------------------- */

template <int terms, bool pairs, int groups>
static __global__ void __launch_bounds__(batch_ring<terms, groups>::threads,
                                         batch_ring<terms, groups>::blocks)
        batch_kernel(const __grid_constant__ vug_cuda_tile_job job)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using ring = batch_ring<terms, groups>;
    static_assert(sizeof(block_sums<groups>) <= ring::stages * ring::stage_bytes,
                  "sums take the place of the ring");
    extern __shared__ uint8_t unaligned[];
    __shared__ __align__(8) uint64_t full[ring::stages], empty[ring::stages];
    uint8_t *data =
            (uint8_t *)(((uintptr_t)unaligned + RING_ALIGN - 1) & ~(uintptr_t)(RING_ALIGN - 1));
    block_sums<groups> *sums = (block_sums<groups> *)data;
    const batch_memory memory = { shared_address(data), shared_address(full),
                                  shared_address(empty) };
    const int rank = blockIdx.x % CLUSTER, warp = threadIdx.x / WARP;
    if (threadIdx.x == 0) {
        for (int i = 0; i < ring::stages; i++) {
            barrier_init(memory.full + i * 8, ring::warps + 1);
            barrier_init(memory.empty + i * 8, ring::warps);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    start_next();
    const column_blocks columns = find_columns(job.columns, rank);
    const output_group group =
            find_group<pairs, groups>(job, blockIdx.x / CLUSTER, warp / GROUP_WARPS);
    const int64_t strip = group.first / TILE + warp % GROUP_WARPS;
    const int64_t x_bytes = vug_cuda_block_rows(job.rows) * VUG_CUDA_BLOCK_ROW_BYTES;
    const block_copies copies = {
        memory,
        columns,
        job.part[group.part].tiles + (strip * columns.of + columns.first) * STRIP_BYTES,
        job.packed + columns.first * x_bytes,
        x_bytes,
        columns.of * x_bytes,
    };
    float sum[terms][SUMS] = {};
    sum_columns<terms, groups>(copies, sum);
    __syncthreads();
    store_sums<terms>(*sums, sum);
    cluster_sync();
    store_rows<terms, pairs, groups>(job, *sums, rank);
    /* A block may not end while another one still reads its sums. */
    cluster_sync();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching ---------------------------------------------------------------------------- */

/* Groups of 64 outputs of a job. */
static int count_groups(const vug_cuda_tile_job *job)
{
    int groups = 0;
    for (int i = 0; i < job->parts; i++)
        groups += groups_of(job->part[i].out);
    return groups;
}

template <int terms, bool pairs, int groups>
static void launch_batch(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    using ring = batch_ring<terms, groups>;
    const dim3 grid(blocks_for(count_groups(job), groups) * CLUSTER);
    launch_clusters(stream, batch_kernel<terms, pairs, groups>,
                    { grid, dim3(CLUSTER), ring::threads,
                      (size_t)(ring::stages * ring::stage_bytes + RING_ALIGN) },
                    { true, 0 }, *job);
}

/* The fewest outputs of a block with which all blocks run at the same time. Clusters cannot use all
 * multiprocessors: on 132, 14 clusters of 8 blocks were faster than more, smaller blocks, 16 were
 * not. */
template <int terms> static void choose_groups(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    const int clusters = job->processors / CLUSTER * 7 / 8, groups = count_groups(job);
    if (job->activation != VUG_OP_LINEAR)
        launch_batch<terms, true, 2>(stream, job);
    else if (groups <= 2 * clusters || groups > 4 * clusters)
        launch_batch<terms, false, 2>(stream, job);
    else if (groups <= 3 * clusters)
        launch_batch<terms, false, 3>(stream, job);
    else
        launch_batch<terms, false, 4>(stream, job);
}

void vug_cuda_batch_linear(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if (job->terms > 1)
        choose_groups<2>(stream, job);
    else
        choose_groups<1>(stream, job);
}
