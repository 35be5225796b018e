/*
 * Products of 2 to 64 rows with matrices in tiles, in the order of weight_tiles.h, for compute
 * capability 9.0.
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
    MAX_STAGES = 20,
    SUM_PAD = 4, /* of a row of sums, which keeps banks apart */
};

/* The ring of a block, whose warps have a strip each. */
struct batch_ring {
    int stage_bytes, stages;
};

struct batch_memory {
    uint32_t data, full, empty; /* addresses; barriers of 8 bytes for each stage */
};

/* The sums of a block, [rows of x,stride]. */
struct block_sums {
    float *y;
    int stride;
};

/* The most warpgroups of a block, as sums must stay in registers. */
template <typename W, int terms, int rows>
static constexpr int most_groups = !W::is_scaled        ? (terms > 1 && rows > JOINT_ROWS ? 5 : 7)
                                   : rows <= JOINT_ROWS ? 5
                                                        : 3;

/* The same for a kernel that blocks of small matrices run, whose threads have more registers. */
template <typename W, int terms, int rows>
static constexpr int few_groups =
        W::is_scaled || rows < JOINT_ROWS ? most_groups<W, terms, rows>
                                          : most_groups<W, terms, rows> - 2;

/* Tiles of BF16 that are multiplied at once, as operands take registers, too. */
template <int terms, int rows, int groups>
static constexpr int steps_at_once = groups <= few_groups<plain_unit, terms, rows> ? STEPS
                                     : rows == JOINT_ROWS                          ? STEPS / 2
                                                          : STEPS / (2 * terms);

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

/* What the threads of a block copy to its ring, stage by stage. */
struct block_copies {
    batch_ring ring;
    batch_memory memory;
    int x_at;            /* of a stage: where the rows begin */
    const uint8_t *unit; /* the warp's next; NULL: it has no strip */
    const uint8_t *x;    /* the block's next columns */
    const float *x_sums; /* of these */
};

/* The first thread of a warp copies `n` units of its strip, which only this warp reads, to a stage. Warps
 * without a strip take part in products, whose results nobody reads. */
template <typename W, int chunk>
static __device__ __forceinline__ void copy_units(block_copies &c, int stage, int n)
{
    const uint32_t full = c.memory.full + stage * 8, bytes = n * W::bytes;
    if (!c.unit) {
        barrier_arrive(full);
        return;
    }
    barrier_expect(full, bytes);
    bulk_copy(c.memory.data + stage * c.ring.stage_bytes + threadIdx.x / WARP * chunk * W::bytes,
              c.unit, bytes, full);
    c.unit += bytes;
}

/* One thread copies `n` blocks of x, and their sums, to a stage. */
template <typename W, int terms, int rows>
static __device__ __forceinline__ void copy_rows(const vug_cuda_tile_job &job, block_copies &c,
                                                 int stage, int n)
{
    const int bytes = x_bytes_of(job, n), sum_bytes = W::needs_sums ? sum_bytes_of(job, n) : 0;
    const uint32_t full = c.memory.full + stage * 8,
                   to = c.memory.data + stage * c.ring.stage_bytes + c.x_at;
    barrier_expect(full, (uint32_t)(bytes + sum_bytes));
    bulk_copy(to, c.x, (uint32_t)bytes, full);
    if (W::needs_sums)
        bulk_copy(to + batch_stage<W, terms, rows>::x_bytes, c.x_sums, (uint32_t)sum_bytes, full);
    c.x += bytes;
    c.x_sums += sum_bytes / (int)sizeof(float);
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Adds the `n` blocks of columns of a slice to `sum`. A warp's units are copied again when the warp has read
 * those of a stage, and the rows of the stage before, which other warps may have read later. */
template <typename W, int terms, int rows, int groups>
static __device__ __forceinline__ void sum_columns(const vug_cuda_tile_job &job, block_copies &c,
                                                   int n, batch_sums<W, terms, rows> &sum)
{
    constexpr int chunk = batch_stage<W, terms, rows>::chunk;
    const bool first_of_warp = threadIdx.x % WARP == 0;
    const int ahead = c.ring.stages * chunk; /* blocks that the ring has */
    ring_place place = { 0, 0 };
#pragma unroll 1
    for (int b = 0, i = 0; first_of_warp && b < min(n, ahead); b += chunk)
        copy_units<W, chunk>(c, i++, min(n - b, chunk));
    wait_for_previous();
#pragma unroll 1
    for (int b = 0, i = 0; threadIdx.x == 0 && b < min(n, ahead); b += chunk)
        copy_rows<W, terms, rows>(job, c, i++, min(n - b, chunk));
#pragma unroll 1
    for (int b = 0; b < n; b += chunk) {
        const int stage_at = place.stage * c.ring.stage_bytes, units = min(n - b, chunk);
        const bool refills = b + ahead < n; /* otherwise nobody waits until the stage is read */
        __syncwarp();
        barrier_wait(c.memory.full + place.stage * 8, place.parity);
#pragma unroll 1
        for (int u = 0; u < units; u++) {
            const auto have_read = [&]() {
                __syncwarp();
                if (first_of_warp && u + 1 == units && refills)
                    copy_units<W, chunk>(c, place.stage, min(n - b - ahead, chunk));
            };
            multiply_unit<W, terms, rows, steps_at_once<terms, rows, groups>>(
                    operands_of<W, terms, rows>(job, c.memory.data + stage_at, c.x_at, u), sum,
                    have_read);
        }
        __syncwarp();
        if (first_of_warp && refills)
            barrier_arrive(c.memory.empty + place.stage * 8);
        const int before = b - chunk + ahead; /* what takes the place of the stage before */
        if (threadIdx.x == 0 && b > 0 && before < n) {
            const bool wraps = place.stage == 0;
            const int stage = wraps ? c.ring.stages - 1 : place.stage - 1;
            barrier_wait(c.memory.empty + stage * 8, wraps ? place.parity ^ 1 : place.parity);
            copy_rows<W, terms, rows>(job, c, stage, min(n - before, chunk));
        }
        ring_next(place, c.ring.stages);
    }
    __syncwarp();
}

/* Adds the terms, and stores what a lane has of 16 outputs and all rows. */
template <typename W, int terms, int rows>
static __device__ __forceinline__ void store_sums(const block_sums &to,
                                                  const batch_sums<W, terms, rows> &sum)
{
    constexpr int apart = sum.terms_apart;
    const int lane = threadIdx.x % WARP, first = threadIdx.x / WARP * TILE + lane / 4;
    float *y = to.y + lane % 4 * 2 * to.stride + first;
#pragma unroll
    for (int i = 0; i < rows / 2; i++)
        y[(i / 4 * 8 + i % 2) * to.stride + i / 2 % 2 * 8] =
                apart > 1 ? sum.of[0][i] + sum.of[apart - 1][i] : sum.of[0][i];
}

static __device__ __forceinline__ float4 operator+(const float4 &a, const float4 &b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* Four outputs: the sum of the blocks' sums, in order. */
static __device__ __forceinline__ float4 add_blocks(const block_sums &sums, int row, int output)
{
    const uint32_t at = shared_address(sums.y + row * sums.stride + output);
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
template <int terms, bool pairs>
static __device__ __forceinline__ void store_rows(const vug_cuda_tile_job &job,
                                                  const block_sums &sums, const strip_range &strips,
                                                  int rank)
{
    const int most = blockDim.x / WARP, outputs = (pairs ? most / 2 : most) * TILE;
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
            store_terms<terms>((uint8_t *)job.part[0].y, vug_cuda_term_bytes(job.rows), row, output,
                               of);
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

/* groups: warpgroups of a block at most. */
template <typename W, int terms, int rows, bool pairs, int groups>
static __global__ void __launch_bounds__(groups *GROUP_WARPS *WARP, 1)
        batch_kernel(const __grid_constant__ vug_cuda_tile_job job, batch_ring ring)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ uint8_t unaligned[];
    __shared__ __align__(8) uint64_t full[MAX_STAGES], empty[MAX_STAGES];
    uint8_t *data = align_memory(unaligned);
    const batch_memory memory = { shared_address(data), shared_address(full),
                                  shared_address(empty) };
    const int rank = blockIdx.x % CLUSTER, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    if (threadIdx.x == 0) {
        for (int i = 0; i < ring.stages; i++) {
            barrier_init(memory.full + i * 8, warps + 1);
            barrier_init(memory.empty + i * 8, warps);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    start_next();
    const column_blocks columns = find_columns(job.columns, rank);
    const strip_range strips = find_strips<pairs>(job);
    const output_strip strip = find_strip<pairs>(job, strips, warp, warps);
    block_copies copies = {
        ring,
        memory,
        batch_stage<W, terms, rows>::x_at(warps),
        strip.exists ? job.part[strip.part].tiles +
                               ((int64_t)strip.index * columns.of + columns.first) * W::bytes
                     : NULL,
        job.packed + x_bytes_of(job, columns.first),
        job.x_sums + sum_bytes_of(job, columns.first) / (int)sizeof(float),
    };
    batch_sums<W, terms, rows> sum = {};
    sum_columns<W, terms, rows, groups>(job, copies, columns.n, sum);
    __syncthreads();
    const block_sums sums = { (float *)data, warps * TILE + SUM_PAD };
    store_sums(sums, sum);
    cluster_sync();
    store_rows<terms, pairs>(job, sums, strips, rank);
    /* A block may not end while another one still reads its sums. */
    cluster_wait();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching ---------------------------------------------------------------------------- */

template <typename W, int terms, int rows> struct batch_kernels {
    using stage = batch_stage<W, terms, rows>;

    template <bool pairs, int groups>
    static void launch_blocks(cudaStream_t stream, const vug_cuda_tile_job *job, int clusters,
                              int warps)
    {
        constexpr int most_warps = groups * GROUP_WARPS;
        static_assert(2 * stage::bytes(most_warps) <= RING_BYTES,
                      "a stage is filled while another is read");
        static_assert(rows * (most_warps * TILE + SUM_PAD) * (int)sizeof(float) <= RING_BYTES,
                      "sums take the place of the ring");
        batch_ring ring = { stage::bytes(warps), 0 };
        ring.stages = min(RING_BYTES / ring.stage_bytes, (int)MAX_STAGES);
        /* Blocks of the next kernel begin where memory is left. */
        const int bytes = max(ring.stages * ring.stage_bytes,
                              rows * (warps * TILE + SUM_PAD) * (int)sizeof(float));
        launch_clusters(stream, batch_kernel<W, terms, rows, pairs, groups>,
                        { dim3((unsigned)(clusters * CLUSTER)), dim3(CLUSTER),
                          (unsigned)(warps * WARP), (size_t)(bytes + RING_ALIGN) },
                        { true, 0 }, *job, ring);
    }

    template <bool pairs>
    static void launch_waves(cudaStream_t stream, const vug_cuda_tile_job *job)
    {
        constexpr int few = few_groups<W, terms, rows>, most = most_groups<W, terms, rows>;
        constexpr int parts = pairs ? 2 : 1, most_strips = most * GROUP_WARPS / parts;
        const int strips = count_strips(*job, pairs);
        const int waves = (strips - 1) / (job->clusters * most_strips) + 1;
        const int clusters = min(job->clusters * waves, strips);
        const int of_cluster = (strips - 1) / clusters + 1;
        const int warps = (of_cluster * parts + GROUP_WARPS - 1) / GROUP_WARPS * GROUP_WARPS;
        (warps <= few * GROUP_WARPS ? launch_blocks<pairs, few>
                                    : launch_blocks<pairs, most>)(stream, job, clusters, warps);
    }

    static void launch(cudaStream_t stream, const vug_cuda_tile_job *job)
    {
        (job->activation != VUG_OP_LINEAR ? launch_waves<true> : launch_waves<false>)(stream, job);
    }
};

void vug_cuda_batch_linear(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    launch_format<batch_kernels>(stream, job);
}

int vug_cuda_clusters(void)
{
    const auto kernel = batch_kernel<plain_unit, 1, VUG_CUDA_BATCH_ROWS, false,
                                     few_groups<plain_unit, 1, VUG_CUDA_BATCH_ROWS>>;
    const int bytes = RING_BYTES + RING_ALIGN;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = { CLUSTER, 1, 1 };
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(CLUSTER);
    config.blockDim = dim3(2 * GROUP_WARPS * WARP);
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
