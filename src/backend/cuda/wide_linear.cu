/*
 * Products of 2 to 64 rows with matrices in tiles that have work for most multiprocessors without
 * cutting their columns, in the order of weight_tiles.h, for compute capability 9.0.
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
    MAX_STAGES = 16,
    REFILLED_BEHIND = 2,
};

template <typename W, int terms, int rows> struct wide_ring : batch_stage<W, terms, rows> {
    using stage = batch_stage<W, terms, rows>;
    static constexpr int x_at = stage::x_at(WARPS), stage_bytes = stage::bytes(WARPS);
    static constexpr int fit = RING_BYTES / stage_bytes;
    static constexpr int stages = fit < MAX_STAGES ? fit : (int)MAX_STAGES;
    static constexpr int bytes = stages * stage_bytes;
    static_assert(stages > 1, "one is filled while another is read");
    /* So many stages behind the one that is multiplied, rows are copied: warps of both blocks have probably read
     * that stage. */
    static constexpr int behind = stages > 2 * REFILLED_BEHIND ? (int)REFILLED_BEHIND : 1;
};

/* What pairs of warps exchange: half of a gate's sums for half of an up's. */
template <int rows> struct exchanged_sums {
    float of_pair[WARPS / 2][2][rows / 4][WARP];
};

/* Groups of strips, of which a block computes one after the other. */
static __host__ __device__ __forceinline__ int count_groups(const vug_cuda_tile_job &job,
                                                            bool pairs)
{
    const int strips = count_strips(job, pairs);
    return ((pairs ? 2 * strips : strips) + WARPS - 1) / WARPS;
}

/* The strip of a warp in group `group`; the last one of the job in place of one that does not
 * exist. */
template <bool pairs>
static __device__ __forceinline__ output_strip find_strip(const vug_cuda_tile_job &job, int group)
{
    const int warp = threadIdx.x / WARP;
    const int part = pairs ? warp % 2 : 0;
    const int index = pairs ? group * (WARPS / 2) + warp / 2 : group * WARPS + warp;
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

/* What a warp copies next: from a block of a strip on. */
struct strip_cursor {
    const uint8_t *from;
    int group, block;
};

template <typename W, bool pairs>
static __device__ __forceinline__ strip_cursor find_source(const vug_cuda_tile_job &job, int group,
                                                           int blocks)
{
    const output_strip s = find_strip<pairs>(job, group);
    return { job.part[s.part].tiles + (int64_t)s.index * blocks * W::bytes, group, 0 };
}

/* The first thread of a warp copies what only this warp reads to a stage. */
template <typename W, typename ring, bool pairs>
static __device__ __forceinline__ void copy_strip(const vug_cuda_tile_job &job,
                                                  const wide_memory &memory, strip_cursor &next,
                                                  int stage, int blocks, int end)
{
    if (threadIdx.x % WARP != 0 || next.group >= end)
        return;
    const int n = min(blocks - next.block, ring::chunk), bytes = n * W::bytes;
    barrier_expect(memory.full + stage * 8, bytes);
    bulk_copy(memory.data + stage * ring::stage_bytes + threadIdx.x / WARP * ring::chunk * W::bytes,
              next.from, bytes, memory.full + stage * 8);
    next.from += bytes;
    next.block += n;
    if (next.block == blocks)
        next = find_source<W, pairs>(job, next.group + gridDim.x, blocks);
}

/* What a block copies next of x: from a block of columns on, and the stages that follow with it. */
struct rows_cursor {
    int block, left;
};

/* One thread copies half of a stage's rows to both blocks of the cluster, and the sums of all rows to its
 * own. */
template <typename ring>
static __device__ __forceinline__ void copy_rows(const vug_cuda_tile_job &job,
                                                 const wide_memory &memory, rows_cursor &next,
                                                 int stage, int blocks, int rank)
{
    const int n = min(blocks - next.block, ring::chunk), bytes = x_bytes_of(job, n),
              half = bytes / CLUSTER;
    const int sum_bytes = ring::sum_bytes > 0 ? sum_bytes_of(job, n) : 0;
    const uint32_t full = memory.full + stage * 8,
                   to = memory.data + stage * ring::stage_bytes + ring::x_at;
    barrier_expect(full, (uint32_t)(bytes + sum_bytes));
    bulk_copy_to_all(to + rank * half, job.packed + x_bytes_of(job, next.block) + rank * half,
                     (uint32_t)half, full, (1 << CLUSTER) - 1);
    if (ring::sum_bytes > 0)
        bulk_copy(to + ring::x_bytes,
                  job.x_sums + sum_bytes_of(job, next.block) / (int)sizeof(float),
                  (uint32_t)sum_bytes, full);
    next.block = next.block + n < blocks ? next.block + n : 0;
    next.left--;
}

/* The same to a stage before `at`, when the warps of both blocks have read it. */
template <typename ring>
static __device__ __forceinline__ void refill_rows(const vug_cuda_tile_job &job,
                                                   const wide_memory &memory, rows_cursor &next,
                                                   const ring_place &at, int blocks, int rank)
{
    const bool wraps = at.stage < ring::behind;
    const int stage = at.stage - ring::behind + (wraps ? ring::stages : 0);
    if (threadIdx.x != 0 || next.left <= 0)
        return;
    barrier_wait(memory.empty + stage * 8, wraps ? at.parity ^ 1 : at.parity);
    copy_rows<ring>(job, memory, next, stage, blocks, rank);
}

/* ---- sums --------------------------------------------------------------------------------- */

/* A lane's sums: of a slice, and of those before. */
template <typename W, int terms, int rows> struct sliced_sums {
    batch_sums<W, terms, rows> sum;
    float all[rows / 2];
    int slice;
};

/* Adds the slices that end before block `block` of `blocks`. */
template <typename W, int terms, int rows>
static __device__ __forceinline__ void end_slices(sliced_sums<W, terms, rows> &y, int block,
                                                  int blocks)
{
#pragma unroll 1
    for (; y.slice < SLICES && block == blocks * (y.slice + 1) / SLICES; y.slice++) {
        add_slice(y.all, y.sum.of, y.slice == 0);
        y.sum = {};
    }
}

/* Waits for the two warps of a pair. */
static __device__ __forceinline__ void pair_sync(void)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(1 + (int)threadIdx.x / WARP / 2), "n"(2 * WARP)
                 : "memory");
}

/* Of a lane's sums for 16 outputs and `rows` rows, those for outputs 0 .. 7 or, of half 1, 8 .. 15. */
template <int rows>
static __device__ __forceinline__ void take_half(const float (&y)[rows / 2], int half,
                                                 float (&to)[rows / 4])
{
#pragma unroll
    for (int i = 0; i < rows / 4; i++)
        to[i] = half ? y[i / 2 * 4 + 2 + i % 2] : y[i / 2 * 4 + i % 2];
}

/* Stores a lane's results for half of the outputs of a strip. A lane has two rows of each eight, and an output of a row
 * lies alike in blocks eight rows on. */
template <int terms, int rows>
static __device__ __forceinline__ void store_half(const vug_cuda_tile_job &job,
                                                  const output_strip &strip, int part, int half,
                                                  const float (&result)[rows / 4])
{
    const int lane = threadIdx.x % WARP, first = lane % 4 * 2;
    const int out = (int)job.part[part].out, output = strip.index * TILE + half * 8 + lane / 4;
    const int64_t term_bytes = vug_cuda_term_bytes(job.rows);
    if (!strip.exists || output >= out)
        return;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        float *const y = job.part[part].y + (int64_t)(first + k) * out + output;
        uint8_t *const to = (uint8_t *)job.part[part].y +
                            vug_cuda_block_offset(term_bytes, terms, first + k, output);
        const int left = (int)job.rows - first - k;
#pragma unroll
        for (int i = 0; i < rows / 8; i++) {
            float v[1] = { result[i * 2 + k] };
            if (i * 8 >= left)
                break;
            if (job.in_blocks)
                store_terms_at<terms>(to + i * 8 * VUG_CUDA_BLOCK_ROW_BYTES, term_bytes, v);
            else
                y[(int64_t)i * 8 * out] = v[0];
        }
    }
}

/* Stores a warp's results. Of a pair, the warp of the gate activates the first half of the outputs, and
 * that of the up the second one. */
template <int terms, int rows, bool pairs>
static __device__ __forceinline__ void finish_group(const vug_cuda_tile_job &job, int group,
                                                    exchanged_sums<rows> &exchanged,
                                                    const float (&y)[rows / 2])
{
    const output_strip strip = find_strip<pairs>(job, group);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    float own[rows / 4], given[rows / 4];
    if (!pairs) {
        take_half<rows>(y, 0, own);
        take_half<rows>(y, 1, given);
        store_half<terms, rows>(job, strip, strip.part, 0, own);
        store_half<terms, rows>(job, strip, strip.part, 1, given);
        return;
    }
    const bool is_up = warp % 2;
    auto &of = exchanged.of_pair[warp / 2];
    take_half<rows>(y, is_up, own);
    take_half<rows>(y, !is_up, given);
#pragma unroll
    for (int i = 0; i < rows / 4; i++)
        of[is_up][i][lane] = given[i];
    pair_sync();
#pragma unroll
    for (int i = 0; i < rows / 4; i++) {
        const float other = of[!is_up][i][lane];
        own[i] = activate(job.activation, is_up ? other : own[i], is_up ? own[i] : other);
    }
    pair_sync();
    store_half<terms, rows>(job, strip, 0, is_up, own);
}
#endif

/* ---- the kernel --------------------------------------------------------------------------- */

template <typename W, int terms, int rows, bool pairs>
static __global__ void __launch_bounds__(THREADS, 1)
        wide_kernel(const __grid_constant__ vug_cuda_tile_job job)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using ring = wide_ring<W, terms, rows>;
    extern __shared__ uint8_t unaligned[];
    __shared__ __align__(8) uint64_t full[ring::stages], empty[ring::stages];
    uint8_t *data = align_memory(unaligned);
    exchanged_sums<rows> *exchanged = (exchanged_sums<rows> *)(data + ring::bytes);
    const wide_memory memory = { shared_address(data), shared_address(full),
                                 shared_address(empty) };
    const int rank = blockIdx.x % CLUSTER, blocks = (int)vug_cuda_blocks_of(job.columns);
    const int lane = threadIdx.x % WARP;
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < ring::stages; i++) {
            barrier_init(memory.full + i * 8, WARPS + 1);
            barrier_init(memory.empty + i * 8, WARPS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_wait();
    start_next();
    /* Both blocks of a cluster have the same number of groups. */
    const int end = (count_groups(job, pairs) + CLUSTER - 1) / CLUSTER * CLUSTER;
    const int group_stages = (blocks + ring::chunk - 1) / ring::chunk;
    strip_cursor strip = find_source<W, pairs>(job, blockIdx.x, blocks);
    const int all_stages =
            (end - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x * group_stages;
    rows_cursor next = { 0, all_stages };
#pragma unroll 1
    for (int i = 0; i < ring::stages; i++)
        copy_strip<W, ring, pairs>(job, memory, strip, i, blocks, end);
    wait_for_previous();
#pragma unroll 1
    for (int i = 0; threadIdx.x == 0 && i < ring::stages && next.left > 0; i++)
        copy_rows<ring>(job, memory, next, i, blocks, rank);
    ring_place at = { 0, 0 };
    int multiplied = 0; /* stages */
#pragma unroll 1
    for (int group = blockIdx.x; group < end; group += gridDim.x) {
        sliced_sums<W, terms, rows> y = {};
#pragma unroll 1
        for (int block = 0; block < blocks; block += ring::chunk) {
            const int stage_at = at.stage * ring::stage_bytes, n = min(blocks - block, ring::chunk);
            __syncwarp();
            barrier_wait(memory.full + at.stage * 8, at.parity);
#pragma unroll 1
            for (int u = 0; u < n; u++) {
                const auto have_read = [&]() {
                    if (u + 1 < n)
                        return;
                    __syncwarp();
                    copy_strip<W, ring, pairs>(job, memory, strip, at.stage, blocks, end);
                    if (multiplied++ >= ring::behind)
                        refill_rows<ring>(job, memory, next, at, blocks, rank);
                };
                end_slices(y, block + u, blocks);
                multiply_unit<W, terms, rows, STEPS>(
                        operands_of<W, terms, rows>(job, memory.data + stage_at, ring::x_at, u),
                        y.sum, have_read);
            }
            __syncwarp();
            /* Of a stage that is not filled again, nobody waits until it is read. Arriving there could be too
             * late: the other block may have ended. */
            if (lane < CLUSTER && multiplied + ring::stages <= all_stages)
                barrier_arrive_at(memory.empty + at.stage * 8, lane);
            ring_next(at, ring::stages);
        }
        end_slices(y, blocks, blocks);
        finish_group<terms, rows, pairs>(job, group, *exchanged, y.all);
    }
    /* A block may not end while the other one still writes to its barriers. */
    cluster_wait();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching ---------------------------------------------------------------------------- */

template <typename W, int terms, int rows> struct wide_kernels {
    template <bool pairs>
    static void launch_groups(cudaStream_t stream, const vug_cuda_tile_job *job)
    {
        const int bytes = wide_ring<W, terms, rows>::bytes + RING_ALIGN +
                          (pairs ? (int)sizeof(exchanged_sums<rows>) : 0);
        const int clusters = (count_groups(*job, pairs) + CLUSTER - 1) / CLUSTER;
        const int most = job->processors / CLUSTER;
        const dim3 grid((unsigned)((clusters < most ? clusters : most) * CLUSTER));
        launch_clusters(stream, wide_kernel<W, terms, rows, pairs>,
                        { grid, dim3(CLUSTER), THREADS, (size_t)bytes }, { true, 0 }, *job);
    }

    static void launch(cudaStream_t stream, const vug_cuda_tile_job *job)
    {
        (job->activation != VUG_OP_LINEAR ? launch_groups<true> : launch_groups<false>)(stream,
                                                                                        job);
    }
};

bool vug_cuda_takes_wide_linear(const vug_cuda_tile_job *job)
{
    return 2 * count_groups(*job, job->activation != VUG_OP_LINEAR) >= job->processors;
}

void vug_cuda_wide_linear(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    launch_format<wide_kernels>(stream, job);
}
