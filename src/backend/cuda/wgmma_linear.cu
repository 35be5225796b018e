/*
 * Products of many rows with matrices in tiles by wgmma, in the order of weight_tiles.h.
 *
 * A block has two warpgroups that multiply 64 rows of a weight each, and one that copies weights and
 * tokens to a ring in shared memory. Two blocks share tokens. Of a pair of parts, two warps of a
 * warpgroup have rows of the gate and two the same rows of the up: it stores their activation as the
 * next product reads it.
 */
#include "backend/cuda/wgmma_codes.h"
#include "backend/cuda/wgmma_sums.h"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* ---- results ------------------------------------------------------------------------------------ */

/* The strip of a warp that multiplies, among those of the block. */
static __device__ __forceinline__ int own_strip(void)
{
    return (int)same_in_warp(threadIdx.x / WARP) - GROUP_THREADS / WARP;
}

/* `behind`: the warpgroup's memory behind the ring. */
template <int tokens, int terms, bool pairs, bool chosen>
static __device__ __forceinline__ void store_results(const vug_cuda_prefill_job &job,
                                                     const product_unit &u, int rank,
                                                     uint8_t *behind, const float (&y)[tokens / 2])
{
    const int64_t row = u.row + rank * block_rows<pairs>;
    if constexpr (pairs) {
        const activation_place at = { job.activation, job.to, u.token,
                                      row + own_group() * PAIR_ROWS };
        if (at.output < job.part[0].out)
            store_activation<tokens, terms>(at, behind, y);
    } else if constexpr (chosen) {
        store_chosen_sums(job, u, row + own_strip() * TILE, y);
    } else {
        store_sums(job, u, row + own_strip() * TILE, y);
    }
}

/* ---- products with BF16 ------------------------------------------------------------------------- */

template <int tokens, int terms, bool pairs, bool chosen, sum_order order>
static __device__ void drain_ring(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                  uint8_t *data, int rank)
{
    using ring = ring_of<plain_unit, tokens, terms>;
    const int units =
            count_groups(job, CLUSTER * block_rows<pairs>) * used_tiles<chosen>(job, tokens);
    uint8_t *behind = data + ring::stages * ring::stage_bytes + own_group() * ring::behind_bytes;
    const int strip = own_strip(), blocks = (int)count_blocks(job);
    ring_place at = { 0, 0 };
    for (int i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        float all[tokens / 2];
        const product_unit u = multiply_unit<tokens, terms, order>(memory, strip, blocks, at, all);
        store_results<tokens, terms, pairs, chosen>(job, u, rank, behind, all);
    }
}

/* ---- products with codes ---------------------------------------------------------------------- */

/* A turn of a warpgroup: the products of a block, from tile `s` of a unit on, with the terms of a pass and
 * half of the tokens. */
struct code_turn {
    int block, s, pass, half;
};

template <typename W> static __device__ __forceinline__ constexpr code_turn find_turn(int i)
{
    const int block = i / (2 * W::passes);
    return { block, block * W::block_tiles, i / 2 % W::passes, i % 2 };
}

/* A warpgroup adds a block of 64 columns to its sums. It takes half of the tokens at a time: while
 * the tensor cores multiply those of one half, it scales the products of the other, and unpacks
 * the codes of the next tiles. */
template <typename W, int tokens>
static __device__ __forceinline__ void multiply_codes(uint32_t strip, uint64_t x, uint32_t x_sums,
                                                      float (&codes)[2][tokens / 4],
                                                      float (&sum)[tokens / 2])
{
    constexpr int half = tokens / 2, turns = 2 * W::passes * STEPS / W::block_tiles;
    constexpr int term_bytes = ring_of<W, tokens, 2>::token_bytes;
    W w;
    uint4 operands[2][W::block_tiles];
    w.template load<load_shared>(load_shared::pointer(strip));
    block_operands(w, 0, operands[0]);
    const auto begin = [&](const code_turn &turn) {
        uint64_t terms[2 / W::passes];
#pragma unroll
        for (int i = 0; i < 2 / W::passes; i++)
            terms[i] = tile_after(x, (turn.pass + i) * term_bytes +
                                             turn.half * half * VUG_CUDA_BLOCK_ROW_BYTES);
        begin_codes<W, half>(codes[turn.half], operands[turn.block % 2], turn.s, terms);
    };
    begin(find_turn<W>(0));
#pragma unroll
    for (int i = 0; i < turns; i++) {
        const code_turn at = find_turn<W>(i), next = find_turn<W>(i + 1);
        if (i + 1 < turns) {
            begin(next);
            if (at.pass == 0 && at.half == 0 && at.s + W::block_tiles < STEPS)
                block_operands(w, at.s + W::block_tiles, operands[(at.block + 1) % 2]);
            wgmma_wait<1>();
        } else {
            wgmma_wait();
        }
        add_scaled(codes[at.half], w, at.s, at.pass == W::passes - 1,
                   x_sums + (at.block * tokens + at.half * half) * (int)sizeof(float),
                   sum + at.half * half / 2);
    }
}

/* Adds a slice's sums to those that a thread keeps in shared memory; `sum` becomes zero or, after
 * the last slice, all of them. */
template <int n>
static __device__ __forceinline__ void keep_slice(float4 *kept, float (&sum)[n], bool first,
                                                  bool last)
{
#pragma unroll
    for (int i = 0; i < n; i += 4, kept += GROUP_THREADS) {
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

template <typename W, int tokens, bool pairs, bool chosen>
static __device__ void drain_codes(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                   uint8_t *data, int rank)
{
    using ring = ring_of<W, tokens, 2>;
    const int units =
            count_groups(job, CLUSTER * block_rows<pairs>) * used_tiles<chosen>(job, tokens);
    uint8_t *behind = data + ring::stages * ring::stage_bytes + own_group() * ring::behind_bytes;
    float4 *kept = (float4 *)behind + threadIdx.x % GROUP_THREADS;
    float codes[2][tokens / 4] = {};
    const int strip = own_strip();
    ring_place at = { 0, 0 };
    for (int i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        product_unit u;
        float sum[tokens / 2] = { 0 };
#pragma unroll 1
        for (int slice = 0; slice < SLICES; slice++) {
#pragma unroll 1
            for (int n = (int)slice_blocks(job, slice); n > 0; n--) {
                const uint32_t stage = same_in_warp(memory.data + at.stage * ring::stage_bytes);
                barrier_wait(memory.full + at.stage * 8, at.parity);
                multiply_codes<W, tokens>(
                        stage + strip * W::bytes, swizzled_tile(stage + ring::tokens_at),
                        stage + ring::sums_at + threadIdx.x % 4 * 2 * (int)sizeof(float), codes,
                        sum);
                u = memory.units[at.stage]; /* all stages of the unit have the same */
                leave_stage(memory, at.stage);
                ring_next(at, ring::stages);
            }
            keep_slice(kept, sum, slice == 0, slice == SLICES - 1);
        }
        store_results<tokens, 2, pairs, chosen>(job, u, rank, behind, sum);
        if (pairs)
            group_sync(); /* the tile lies where sums of slices are kept */
    }
}
#endif

/* ---- the kernel --------------------------------------------------------------------------------- */

/* chosen: the rows are in groups of `tokens` rows that have one expert. */
template <typename W, int tokens, int terms, bool pairs, bool chosen, sum_order order>
static __global__ void __launch_bounds__((CONSUMERS + 1) * GROUP_THREADS, 1)
        wgmma_kernel(const __grid_constant__ vug_cuda_prefill_job job)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using ring = ring_of<W, tokens, terms>;
    extern __shared__ uint8_t unaligned[];
    __shared__ __align__(8) uint64_t full[ring::stages], empty[ring::stages];
    __shared__ product_unit units[ring::stages];
    uint8_t *data = align_memory(unaligned);
    const ring_memory memory = { shared_address(data), shared_address(full), shared_address(empty),
                                 units };
    const int rank = blockIdx.x % CLUSTER;
    if (threadIdx.x == 0) {
        for (int i = 0; i < ring::stages; i++) {
            barrier_init(memory.full + i * 8, 1);
            barrier_init(memory.empty + i * 8, CONSUMER_THREADS / WARP * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_wait();
    if (own_group() < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(W::is_scaled ? 56 : 40));
        if (threadIdx.x % WARP == 0)
            fill_ring<W, tokens, terms, pairs, chosen>(job, memory, rank);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(W::is_scaled ? 224 : 232));
        if constexpr (W::is_scaled)
            drain_codes<W, tokens, pairs, chosen>(job, memory, data, rank);
        else
            drain_ring<tokens, terms, pairs, chosen, order>(job, memory, data, rank);
    }
    /* A block may not end while the other one still writes to its barriers. */
    cluster_wait();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching ---------------------------------------------------------------------------------- */

template <typename W, int tokens, int terms, bool pairs, bool chosen, sum_order order>
static void launch_parts(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    const int bytes = ring_of<W, tokens, terms>::bytes;
    const int units = count_groups(*job, CLUSTER * block_rows<pairs>) * count_tiles(*job, tokens);
    const int clusters = min(units, processors / CLUSTER);
    const dim3 grid((unsigned)(clusters * CLUSTER));
    launch_clusters(stream, wgmma_kernel<W, tokens, terms, pairs, chosen, order>,
                    { grid, dim3(CLUSTER), (CONSUMERS + 1) * GROUP_THREADS, (size_t)bytes }, {},
                    *job);
}

template <typename W, int tokens, int terms, bool chosen = false, sum_order order = IN_SLICES>
static void launch_wgmma(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    if (job->activation == VUG_OP_LINEAR)
        launch_parts<W, tokens, terms, false, chosen, order>(stream, job, processors);
    else
        launch_parts<W, tokens, terms, true, chosen, order>(stream, job, processors);
}

/* The time of a tile is about its tokens and a constant; tiles run in waves. */
static int64_t wave_cost(const vug_cuda_prefill_job *job, int tokens, int processors)
{
    enum { CONSTANT = 24 };
    const int rows = job->activation == VUG_OP_LINEAR ? block_rows<false> : block_rows<true>;
    const int64_t units = (int64_t)count_groups(*job, CLUSTER * rows) * count_tiles(*job, tokens),
                  clusters = processors / CLUSTER;
    return (units + clusters - 1) / clusters * (tokens + CONSTANT);
}

/* How many tokens a tile of BF16 has: what takes least time, of those for whose sums there are registers: up to
 * 128 with two terms, 256 in one chain. */
static int choose_tokens(const vug_cuda_prefill_job *job, int processors)
{
    const int most = job->terms > 1 ? 128 : job->any_order ? 256 : 192;
    int best = 64;
    for (int tokens = 128; tokens <= most; tokens += 64)
        if (wave_cost(job, tokens, processors) <= wave_cost(job, best, processors))
            best = tokens;
    return best;
}

template <int tokens, bool chosen = false>
static void launch_terms(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    if (job->terms == 1)
        launch_wgmma<plain_unit, tokens, 1, chosen>(stream, job, processors);
    else
        launch_wgmma<plain_unit, tokens, 2, chosen>(stream, job, processors);
}

static void launch_plain(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    if (job->chosen.used) {
        launch_terms<VUG_CUDA_WIDE_GROUP, true>(stream, job, processors);
        return;
    }
    switch (choose_tokens(job, processors)) {
    case 64:
        launch_terms<64>(stream, job, processors);
        break;
    case 128:
        launch_terms<128>(stream, job, processors);
        break;
    case 192:
        if (job->any_order)
            launch_wgmma<plain_unit, 192, 1, false, ONE_CHAIN>(stream, job, processors);
        else
            launch_wgmma<plain_unit, 192, 1>(stream, job, processors);
        break;
    default:
        launch_wgmma<plain_unit, 256, 1, false, ONE_CHAIN>(stream, job, processors);
    }
}

template <typename W>
static void launch_codes(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    if (job->chosen.used)
        launch_wgmma<W, VUG_CUDA_WIDE_GROUP, 2, true>(stream, job, processors);
    else if (wave_cost(job, 128, processors) <= wave_cost(job, 64, processors))
        launch_wgmma<W, 128, 2>(stream, job, processors);
    else
        launch_wgmma<W, 64, 2>(stream, job, processors);
}

void vug_cuda_wgmma_linear(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    switch (job->format) {
#define X(format)                                                             \
    case VUG_DTYPE_##format:                                                  \
        launch_codes<code_unit<VUG_DTYPE_##format>>(stream, job, processors); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        launch_plain(stream, job, processors);
    }
}
