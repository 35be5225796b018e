/*
 * Products of up to 64 rows with matrices in tiles of BF16 that have work for most multiprocessors
 * without cutting their columns, in the order of weight_tiles.h, for compute capability 9.0.
 *
 * A block computes 192 outputs of all rows, or 96 of each of the two parts of an activation: a warp
 * has a strip of 16, and adds slice after slice. Weights are read once for both terms of x. Two
 * blocks share the rows of x: each copies half of them to both. A warp copies its strip itself, so
 * no warp only copies, and the sums of a thread have 168 registers.
 */
#include "backend/cuda/batch_math.h"

enum {
    SLICES = VUG_CUDA_SLICES,
    CLUSTER = 2,
    WARPS = 12, /* three warpgroups; a strip each */
    THREADS = WARPS * WARP,
    RING_BYTES = 200 << 10,
};

/* A stage of the ring: 64 columns of the block's outputs, and of the terms of x. */
template <int terms> struct wide_ring {
    static constexpr int weight_bytes = WARPS * STRIP_BYTES;
    static constexpr int stage_bytes = weight_bytes + terms * TERM_BYTES;
    static constexpr int stages = RING_BYTES / stage_bytes;
    static constexpr int bytes = stages * stage_bytes;
};

/* What pairs of warps exchange: half of a gate's sums for half of an up's. */
struct exchanged_sums {
    float of_pair[WARPS / 2][2][SUMS / 2][WARP];
};

/* Blocks' worth of work. */
static __host__ __device__ __forceinline__ int count_units(const vug_cuda_tile_job &job, bool pairs)
{
    const int strips = count_strips(job, pairs);
    return ((pairs ? 2 * strips : strips) + WARPS - 1) / WARPS;
}

/* The strip of a warp in unit `unit`; the last one of the job in place of one that does not
 * exist. */
template <bool pairs>
static __device__ __forceinline__ output_strip find_strip(const vug_cuda_tile_job &job, int unit)
{
    const int warp = threadIdx.x / WARP;
    const int part = pairs ? warp % 2 : 0;
    const int index = pairs ? unit * (WARPS / 2) + warp / 2 : unit * WARPS + warp;
    output_strip strip = pairs ? output_strip{ part, index, true } : strip_of_job(job, index, true);
    const int last = strips_of(job.part[strip.part].out) - 1;
    strip.exists = strip.index <= last;
    strip.index = min(strip.index, last);
    return strip;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* ---- copying ------------------------------------------------------------------------------ */

struct wide_memory {
    uint32_t data, full, empty; /* addresses; barriers of 8 bytes for each stage */
};

/* Where the block multiplies: a unit, a block of 64 columns of it, and a place in the ring. */
struct unit_cursor {
    int unit, block;
    ring_place ring;
};

template <int terms> static __device__ __forceinline__ void advance(unit_cursor &at, int blocks)
{
    if (++at.block == blocks) {
        at.block = 0;
        at.unit += gridDim.x;
    }
    ring_next<wide_ring<terms>::stages>(at.ring);
}

/* What a warp copies next: a block of a strip. */
struct strip_cursor {
    const uint8_t *from;
    int unit, block;
};

template <bool pairs>
static __device__ __forceinline__ strip_cursor find_source(const vug_cuda_tile_job &job, int unit,
                                                           int blocks)
{
    const output_strip s = find_strip<pairs>(job, unit);
    return { job.part[s.part].tiles + (int64_t)s.index * blocks * STRIP_BYTES, unit, 0 };
}

/* The first thread of a warp copies the strip that only this warp reads to a stage. */
template <int terms, bool pairs>
static __device__ __forceinline__ void copy_strip(const vug_cuda_tile_job &job,
                                                  const wide_memory &memory, strip_cursor &next,
                                                  int stage, int blocks, int end)
{
    using ring = wide_ring<terms>;
    if (threadIdx.x % WARP != 0 || next.unit >= end)
        return;
    barrier_expect(memory.full + stage * 8, STRIP_BYTES);
    bulk_copy(memory.data + stage * ring::stage_bytes + threadIdx.x / WARP * STRIP_BYTES, next.from,
              STRIP_BYTES, memory.full + stage * 8);
    next.from += STRIP_BYTES;
    if (++next.block == blocks)
        next = find_source<pairs>(job, next.unit + gridDim.x, blocks);
}

/* What a block copies next: a block of 64 columns of x, and how many follow with it. */
struct rows_cursor {
    int block, left;
};

/* One thread copies the terms of half of x's rows to a stage of both blocks. */
template <int terms>
static __device__ __forceinline__ void copy_rows(const vug_cuda_tile_job &job,
                                                 const wide_memory &memory, rows_cursor &next,
                                                 int stage, int blocks, int rank)
{
    using ring = wide_ring<terms>;
    const int x_bytes = (int)vug_cuda_block_rows(job.rows) * VUG_CUDA_BLOCK_ROW_BYTES;
    const int half = x_bytes / CLUSTER;
    const uint32_t full = memory.full + stage * 8;
    const uint32_t to = memory.data + stage * ring::stage_bytes + ring::weight_bytes + rank * half;
    const uint8_t *from = job.packed + (int64_t)next.block * x_bytes + rank * half;
    barrier_expect(full, (uint32_t)(terms * x_bytes));
#pragma unroll
    for (int term = 0; term < terms; term++)
        bulk_copy_to_all(to + term * TERM_BYTES, from + (int64_t)term * blocks * x_bytes,
                         (uint32_t)half, full, (1 << CLUSTER) - 1);
    next.block = next.block + 1 < blocks ? next.block + 1 : 0;
    next.left--;
}

/* The same to the stage before `at`, when the warps of both blocks have read it. */
template <int terms>
static __device__ __forceinline__ void refill_rows(const vug_cuda_tile_job &job,
                                                   const wide_memory &memory, rows_cursor &next,
                                                   const unit_cursor &at, int blocks, int rank)
{
    const bool wraps = at.ring.stage == 0;
    const int stage = wraps ? wide_ring<terms>::stages - 1 : at.ring.stage - 1;
    if (threadIdx.x != 0 || next.left <= 0)
        return;
    barrier_wait(memory.empty + stage * 8, wraps ? at.ring.parity ^ 1 : at.ring.parity);
    copy_rows<terms>(job, memory, next, stage, blocks, rank);
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Waits for the two warps of a pair. */
static __device__ __forceinline__ void pair_sync(void)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(1 + (int)threadIdx.x / WARP / 2), "n"(2 * WARP)
                 : "memory");
}

/* Stores `n` of a lane's results, rows `row` .. of a strip. */
template <int terms, int n>
static __device__ __forceinline__ void store_results(const vug_cuda_tile_job &job,
                                                     const output_strip &strip, int part, int row,
                                                     const float *result)
{
    const int lane = threadIdx.x % WARP, first = row + lane % 4 * 2;
    const int64_t out = job.part[part].out, output = strip.index * TILE + lane / 4;
    float *y = job.part[part].y + first * out + output;
#pragma unroll
    for (int i = 0; i < n; i++) {
        const int r = i / 4 * 8 + i % 2, o = i / 2 % 2 * 8;
        if (!strip.exists || first + r >= job.rows || output + o >= out)
            continue;
        if (job.in_blocks) {
            float v[1] = { result[i] };
            store_terms<terms>((uint8_t *)job.part[part].y, job.rows, out, first + r, output + o,
                               v);
        } else {
            y[r * out + o] = result[i];
        }
    }
}

/* Stores a warp's results. Of a pair, the warp of the gate activates the first half of the rows, and
 * that of the up the second one. */
template <int terms, bool pairs>
static __device__ __forceinline__ void finish_unit(const vug_cuda_tile_job &job, int unit,
                                                   exchanged_sums &exchanged,
                                                   const float (&y)[SUMS])
{
    const output_strip strip = find_strip<pairs>(job, unit);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (!pairs) {
        store_results<terms, SUMS>(job, strip, strip.part, 0, y);
        return;
    }
    constexpr int half = SUMS / 2;
    const bool is_up = warp % 2;
    float result[half];
    auto &of = exchanged.of_pair[warp / 2];
#pragma unroll
    for (int i = 0; i < half; i++)
        of[is_up][i][lane] = is_up ? y[i] : y[half + i];
    pair_sync();
#pragma unroll
    for (int i = 0; i < half; i++) {
        const float other = of[!is_up][i][lane], own = is_up ? y[half + i] : y[i];
        result[i] = activate(job.activation, is_up ? other : own, is_up ? own : other);
    }
    pair_sync();
    store_results<terms, half>(job, strip, 0, is_up ? ROWS / 2 : 0, result);
}
#endif

/* ---- the kernel --------------------------------------------------------------------------- */

template <int terms, bool pairs>
static __global__ void __launch_bounds__(THREADS, 1)
        wide_kernel(const __grid_constant__ vug_cuda_tile_job job)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using ring = wide_ring<terms>;
    extern __shared__ uint8_t unaligned[];
    __shared__ __align__(8) uint64_t full[ring::stages], empty[ring::stages];
    uint8_t *data =
            (uint8_t *)(((uintptr_t)unaligned + RING_ALIGN - 1) & ~(uintptr_t)(RING_ALIGN - 1));
    exchanged_sums *exchanged = (exchanged_sums *)(data + ring::bytes);
    const wide_memory memory = { shared_address(data), shared_address(full),
                                 shared_address(empty) };
    const int rank = blockIdx.x % CLUSTER, blocks = (int)vug_cuda_blocks_of(job.columns);
    const int lane = threadIdx.x % WARP;
    if (threadIdx.x == 0) {
        for (int i = 0; i < ring::stages; i++) {
            barrier_init(memory.full + i * 8, WARPS + 1);
            barrier_init(memory.empty + i * 8, WARPS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_wait();
    start_next();
    /* Both blocks of a cluster have the same number of units. */
    const int end = (count_units(job, pairs) + CLUSTER - 1) / CLUSTER * CLUSTER;
    unit_cursor at = { (int)blockIdx.x, 0, { 0, 0 } };
    strip_cursor strip = find_source<pairs>(job, at.unit, blocks);
    rows_cursor rows = { 0, (end - at.unit + (int)gridDim.x - 1) / (int)gridDim.x * blocks };
    for (int i = 0; i < ring::stages; i++)
        copy_strip<terms, pairs>(job, memory, strip, i, blocks, end);
    wait_for_previous();
    for (int i = 0; threadIdx.x == 0 && i < ring::stages && rows.left > 0; i++)
        copy_rows<terms>(job, memory, rows, i, blocks, rank);
    bool first = true;
    while (at.unit < end) {
        const int unit = at.unit;
        float all[SUMS];
#pragma unroll 1
        for (int slice = 0; slice < SLICES; slice++) {
            float sum[terms][SUMS] = {};
            const int last = blocks * (slice + 1) / SLICES;
#pragma unroll 1
            while (at.unit == unit && at.block < last) {
                const int from = at.ring.stage * ring::stage_bytes;
                uint4 a[STEPS];
                __syncwarp();
                barrier_wait(memory.full + at.ring.stage * 8, at.ring.parity);
                begin_block<terms>(memory.data + from + threadIdx.x / WARP * STRIP_BYTES,
                                   memory.data + from + ring::weight_bytes, a, sum);
                __syncwarp();
                copy_strip<terms, pairs>(job, memory, strip, at.ring.stage, blocks, end);
                if (!first)
                    refill_rows<terms>(job, memory, rows, at, blocks, rank);
                first = false;
                wgmma_wait();
                __syncwarp();
                if (lane < CLUSTER)
                    barrier_arrive_at(memory.empty + at.ring.stage * 8, lane);
                advance<terms>(at, blocks);
            }
            add_slice<terms>(all, sum, slice == 0);
        }
        finish_unit<terms, pairs>(job, unit, *exchanged, all);
    }
    /* A block may not end while the other one still writes to its barriers. */
    cluster_wait();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching ---------------------------------------------------------------------------- */

template <int terms, bool pairs>
static void launch_wide(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    const int bytes =
            wide_ring<terms>::bytes + RING_ALIGN + (pairs ? (int)sizeof(exchanged_sums) : 0);
    const int clusters = (count_units(*job, pairs) + CLUSTER - 1) / CLUSTER;
    const int most = job->processors / CLUSTER;
    const dim3 grid((unsigned)((clusters < most ? clusters : most) * CLUSTER));
    launch_clusters(stream, wide_kernel<terms, pairs>,
                    { grid, dim3(CLUSTER), THREADS, (size_t)bytes }, { true, 0 }, *job);
}

bool vug_cuda_takes_wide_linear(const vug_cuda_tile_job *job)
{
    return 2 * count_units(*job, job->activation != VUG_OP_LINEAR) >= job->processors;
}

void vug_cuda_wide_linear(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    const bool pairs = job->activation != VUG_OP_LINEAR;
    if (job->terms > 1)
        (pairs ? launch_wide<2, true> : launch_wide<2, false>)(stream, job);
    else
        (pairs ? launch_wide<1, true> : launch_wide<1, false>)(stream, job);
}
