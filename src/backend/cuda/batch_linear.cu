/*
 * Products of up to 64 rows with matrices in tiles of BF16, in the order of weight_tiles.h, for
 * compute capability 9.0.
 *
 * A cluster of 8 blocks computes some strips of 16 outputs of all rows, or of each of the two parts
 * of an activation; each block sums one slice. So a small matrix has work for all multiprocessors,
 * and weights are read once for both terms of x. Then the blocks add the slices, which they read
 * from each other's shared memory, and each stores an eighth of the rows.
 *
 * A multiprocessor has one block, since fewer, larger blocks read x less often. There are as many
 * clusters as run at the same time, 15 on an H200, and they share the strips evenly: a cluster more
 * would begin only when others end.
 */
#include "backend/cuda/batch_math.h"

enum {
    CLUSTER = VUG_CUDA_SLICES,
    GROUP_WARPS = 4, /* of a warpgroup: a strip each */
    RING_BYTES = 224 << 10,
};

/* A block has `groups` warpgroups. A stage of its ring: 64 columns of its outputs, and of the terms
 * of x. */
template <int terms, int groups> struct batch_ring {
    static constexpr int warps = groups * GROUP_WARPS, threads = warps * WARP;
    static constexpr int weight_bytes = warps * STRIP_BYTES;
    static constexpr int stage_bytes = weight_bytes + terms * TERM_BYTES;
    static constexpr int stages = RING_BYTES / stage_bytes;
};

struct batch_memory {
    uint32_t data, full, empty; /* addresses; barriers of 8 bytes for each stage */
};

/* The sums of a block; the padding keeps banks apart. */
template <int groups> struct block_sums {
    float y[ROWS][groups * GROUP_WARPS * TILE + 4];
};

/* The columns of slice `rank`, which a block sums, in blocks of 64. */
struct column_blocks {
    int first, n, of; /* of so many blocks */
};

/* The strips of a cluster. */
struct strip_range {
    int first, n;
};

template <bool pairs>
static __device__ __forceinline__ strip_range find_strips(const vug_cuda_tile_job &job)
{
    const int cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    const int strips = count_strips(job, pairs), first = strips * cluster / clusters;
    return { first, strips * (cluster + 1) / clusters - first };
}

/* Strip `i` of a block of at most `most` strips. The second half of a pair's strips are those of
 * the second part. */
template <bool pairs>
static __device__ __forceinline__ output_strip find_strip(const vug_cuda_tile_job &job,
                                                          const strip_range &strips, int i,
                                                          int most)
{
    if (!pairs)
        return strip_of_job(job, strips.first + i, i < strips.n);
    const int part = i / (most / 2), index = i % (most / 2);
    return { part, strips.first + index, index < strips.n };
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
    const uint8_t *strip; /* of the warp's next block of 64 columns; NULL: it has none */
    const uint8_t *x;     /* of the block's next one */
};

/* The first thread of a warp copies the strip that only this warp reads to a stage. Warps without a
 * strip take part in products, whose results nobody reads. */
template <int terms, int groups>
static __device__ __forceinline__ void copy_strip(block_copies &c, int stage)
{
    using ring = batch_ring<terms, groups>;
    const uint32_t full = c.memory.full + stage * 8;
    if (!c.strip) {
        barrier_arrive(full);
        return;
    }
    barrier_expect(full, STRIP_BYTES);
    bulk_copy(c.memory.data + stage * ring::stage_bytes + threadIdx.x / WARP * STRIP_BYTES, c.strip,
              STRIP_BYTES, full);
    c.strip += STRIP_BYTES;
}

/* One thread copies the terms of x's rows to a stage. */
template <int terms, int groups>
static __device__ __forceinline__ void copy_rows(const vug_cuda_tile_job &job, block_copies &c,
                                                 int stage)
{
    using ring = batch_ring<terms, groups>;
    const int bytes = (int)vug_cuda_block_rows(job.rows) * VUG_CUDA_BLOCK_ROW_BYTES;
    const uint32_t full = c.memory.full + stage * 8;
    const uint32_t to = c.memory.data + stage * ring::stage_bytes + ring::weight_bytes;
    barrier_expect(full, (uint32_t)(terms * bytes));
    for (int term = 0; term < terms; term++)
        bulk_copy(to + term * TERM_BYTES, c.x + (int64_t)term * c.columns.of * bytes,
                  (uint32_t)bytes, full);
    c.x += bytes;
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Adds the block's columns to `sum`. A warp's strip is copied again when the warp has multiplied it,
 * and the rows of the block before, which other warps may have read later. */
template <int terms, int groups>
static __device__ __forceinline__ void sum_columns(const vug_cuda_tile_job &job, block_copies &c,
                                                   float (&sum)[terms][SUMS])
{
    using ring = batch_ring<terms, groups>;
    constexpr int steps = STEPS / (2 * terms); /* at once, as operands take registers, too */
    const bool first_of_warp = threadIdx.x % WARP == 0;
    const int at = threadIdx.x / WARP * STRIP_BYTES, n = c.columns.n;
    ring_place place = { 0, 0 };
    for (int b = 0; first_of_warp && b < min(n, (int)ring::stages); b++)
        copy_strip<terms, groups>(c, b);
    wait_for_previous();
    for (int b = 0; threadIdx.x == 0 && b < min(n, (int)ring::stages); b++)
        copy_rows<terms, groups>(job, c, b);
#pragma unroll 1
    for (int b = 0; b < n; b++) {
        const int from = place.stage * ring::stage_bytes;
        const uint64_t tile =
                swizzled_tile(same_in_warp(c.memory.data + from + ring::weight_bytes));
        __syncwarp();
        barrier_wait(c.memory.full + place.stage * 8, place.parity);
#pragma unroll
        for (int step = 0; step < STEPS; step += steps) {
            uint4 a[steps];
            begin_steps<terms>(c.memory.data + from + at, tile, step, a, sum);
            wgmma_wait();
        }
        __syncwarp();
        if (first_of_warp) {
            barrier_arrive(c.memory.empty + place.stage * 8);
            if (b + ring::stages < n)
                copy_strip<terms, groups>(c, place.stage);
        }
        if (threadIdx.x == 0 && b > 0 && b - 1 + ring::stages < n) {
            const bool wraps = place.stage == 0;
            const int stage = wraps ? ring::stages - 1 : place.stage - 1;
            barrier_wait(c.memory.empty + stage * 8, wraps ? place.parity ^ 1 : place.parity);
            copy_rows<terms, groups>(job, c, stage);
        }
        ring_next<ring::stages>(place);
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

/* Block `rank` of a cluster stores rows rank, rank + 8, ..: a thread four outputs of one. */
template <int terms, bool pairs, int groups>
static __device__ __forceinline__ void store_rows(const vug_cuda_tile_job &job,
                                                  const block_sums<groups> &sums,
                                                  const strip_range &strips, int rank)
{
    constexpr int most = groups * GROUP_WARPS, outputs = (pairs ? most / 2 : most) * TILE;
    const int row = threadIdx.x / (outputs / QUAD) * CLUSTER + rank;
    const int o = threadIdx.x % (outputs / QUAD) * QUAD;
    const output_strip strip = find_strip<pairs>(job, strips, o / TILE, most);
    const int64_t output = strip.index * TILE + o % TILE, out = job.part[strip.part].out;
    if (row >= job.rows || !strip.exists)
        return;
    float4 y = add_blocks(sums, row, o);
    if (pairs) {
        const float4 up = add_blocks(sums, row, outputs + o);
        y = make_float4(activate(job.activation, y.x, up.x), activate(job.activation, y.y, up.y),
                        activate(job.activation, y.z, up.z), activate(job.activation, y.w, up.w));
    }
    float of[QUAD] = { y.x, y.y, y.z, y.w };
    if (pairs && job.in_blocks) {
        if (output < out)
            store_terms<terms>((uint8_t *)job.part[0].y, job.rows, out, row, output, of);
        return;
    }
    float *to = job.part[strip.part].y + row * out + output;
#pragma unroll
    for (int k = 0; k < QUAD; k++) {
        if (output + k < out)
            to[k] = of[k];
    }
}
#endif

/* ---- the kernel --------------------------------------------------------------------------- */

template <int terms, bool pairs, int groups>
static __global__ void __launch_bounds__(batch_ring<terms, groups>::threads, 1)
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
    const strip_range strips = find_strips<pairs>(job);
    const output_strip strip = find_strip<pairs>(job, strips, warp, ring::warps);
    block_copies copies = {
        memory,
        columns,
        strip.exists ? job.part[strip.part].tiles +
                               ((int64_t)strip.index * columns.of + columns.first) * STRIP_BYTES
                     : NULL,
        job.packed + columns.first * vug_cuda_block_rows(job.rows) * VUG_CUDA_BLOCK_ROW_BYTES,
    };
    float sum[terms][SUMS] = {};
    sum_columns<terms, groups>(job, copies, sum);
    __syncthreads();
    store_sums<terms>(*sums, sum);
    cluster_sync();
    store_rows<terms, pairs>(job, *sums, strips, rank);
    /* A block may not end while another one still reads its sums. */
    cluster_wait();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching ---------------------------------------------------------------------------- */

/* The most warpgroups of a block, as sums must stay in registers. */
template <int terms> static constexpr int most_groups = terms > 1 ? 5 : 7;

/* Launches blocks with `wanted` warpgroups, or the fewest that there is a kernel for. */
template <int terms, bool pairs, int groups = 2>
static void launch_batch(cudaStream_t stream, const vug_cuda_tile_job *job, int clusters,
                         int wanted)
{
    using ring = batch_ring<terms, groups>;
    if constexpr (groups < most_groups<terms>) {
        if (wanted > groups) {
            launch_batch<terms, pairs, groups + 1>(stream, job, clusters, wanted);
            return;
        }
    }
    launch_clusters(stream, batch_kernel<terms, pairs, groups>,
                    { dim3((unsigned)(clusters * CLUSTER)), dim3(CLUSTER), ring::threads,
                      (size_t)(ring::stages * ring::stage_bytes + RING_ALIGN) },
                    { true, 0 }, *job);
}

template <int terms, bool pairs>
static void launch_waves(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    constexpr int parts = pairs ? 2 : 1, most = most_groups<terms> * GROUP_WARPS / parts;
    const int strips = count_strips(*job, pairs);
    const int waves = (strips - 1) / (job->clusters * most) + 1;
    const int clusters = min(job->clusters * waves, strips);
    const int of_cluster = (strips - 1) / clusters + 1;
    launch_batch<terms, pairs>(stream, job, clusters, (of_cluster * parts - 1) / GROUP_WARPS + 1);
}

void vug_cuda_batch_linear(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    const bool pairs = job->activation != VUG_OP_LINEAR;
    if (job->terms > 1)
        (pairs ? launch_waves<2, true> : launch_waves<2, false>)(stream, job);
    else
        (pairs ? launch_waves<1, true> : launch_waves<1, false>)(stream, job);
}

int vug_cuda_clusters(void)
{
    using ring = batch_ring<1, 2>;
    const auto kernel = batch_kernel<1, false, 2>;
    const int bytes = ring::stages * ring::stage_bytes + RING_ALIGN;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = { CLUSTER, 1, 1 };
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(CLUSTER);
    config.blockDim = dim3(ring::threads);
    config.dynamicSmemBytes = (size_t)bytes;
    config.attrs = &cluster;
    config.numAttrs = 1;
    int n = 0;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
                cudaSuccess ||
        cudaOccupancyMaxActiveClusters(&n, kernel, &config) != cudaSuccess)
        (void)cudaGetLastError();
    return n > 0 ? n : 1;
}
