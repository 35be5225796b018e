/*
 * Products of many rows with matrices in tiles by wgmma, in the order of weight_tiles.h.
 *
 * A block has two warpgroups that multiply 64 rows of a weight each, and one that copies weights and
 * tokens to a ring in shared memory. Two blocks share tokens. Of a pair of parts, two warps of a
 * warpgroup have rows of the gate and two the same rows of the up: it stores their activation as the
 * next product reads it.
 */
#include "backend/cuda/block_tiles.h"
#include "backend/cuda/prefill_units.h"
#include "backend/cuda/wgmma_activation.h"

enum {
    GROUP_ROWS = 64, /* of a weight, of a warpgroup */
    CONSUMERS = 2,   /* warpgroups that multiply; one more copies */
    CONSUMER_THREADS = CONSUMERS * GROUP_THREADS,
    CLUSTER = 2, /* blocks that share tokens */
    GROUP_STRIPS = GROUP_ROWS / TILE,
    BLOCK_STRIPS = CONSUMERS * GROUP_STRIPS,
    WARP_STRIPS = BLOCK_STRIPS / (GROUP_THREADS / WARP), /* that a warp copies */
    RING_BYTES = 224 * 1024,
    RING_ALIGN = 1024,
};

static constexpr int align_ring(int bytes)
{
    return (bytes + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN;
}

/* Rows of each part that a block computes. */
template <bool pairs>
static constexpr int block_rows = CONSUMERS *(pairs ? (int)PAIR_ROWS : (int)GROUP_ROWS);

/* A stage of the ring: units of the block's rows, the terms of a tile of tokens, 64 columns each, and
 * the tokens' sums. Behind the ring each warpgroup has a place for the sums of slices of codes, which
 * it keeps there, and for activations. */
template <typename W, int tokens, int terms> struct ring_of {
    static constexpr int token_bytes = tokens * VUG_CUDA_BLOCK_ROW_BYTES; /* of a term */
    static constexpr int sum_bytes = W::needs_sums ? tokens * (int)sizeof(float) : 0;
    /* that a stage has of a token */
    static constexpr int bytes_of_token =
            terms * VUG_CUDA_BLOCK_ROW_BYTES + (W::needs_sums ? UNIT_SUMS * (int)sizeof(float) : 0);
    static constexpr int tokens_at = align_ring(BLOCK_STRIPS * W::bytes);
    static constexpr int sums_at = tokens_at + terms * token_bytes;
    static constexpr int stage_bytes = align_ring(sums_at + UNIT_SUMS * sum_bytes);
    static constexpr int kept_bytes =
            W::is_scaled ? GROUP_THREADS * tokens / 2 * (int)sizeof(float) : 0;
    /* of a warpgroup */
    static constexpr int behind_bytes = kept_bytes > activation_bytes(tokens)
                                                ? kept_bytes
                                                : activation_bytes(tokens);
    /* that say when they have read a stage: warps, or warpgroups */
    static constexpr int readers = W::is_scaled ? CONSUMER_THREADS / WARP : CONSUMERS;
    static constexpr int stages = (RING_BYTES - CONSUMERS * behind_bytes) / stage_bytes;
    static constexpr int bytes = stages * stage_bytes + CONSUMERS * behind_bytes + RING_ALIGN;
};

/* Addresses in shared memory. */
struct ring_memory {
    uint32_t data, full, empty; /* barriers of 8 bytes for each stage */
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* ---- copying ------------------------------------------------------------------------------------ */

/* Where the tokens of a block of columns, and their sums, come from. */
struct token_source {
    const uint8_t *x; /* what this block of the cluster copies */
    const float *sums;
    int own, all; /* tokens that it copies, and that both do */
};

/* The tokens of a unit that exist. Past them a stage has others, whose results nobody stores. */
template <int tokens>
static __device__ __forceinline__ token_source tokens_of(const vug_cuda_prefill_job &job,
                                                         const product_unit &u, int rank)
{
    constexpr int share = tokens / CLUSTER;
    const int left = (int)min(vug_cuda_block_rows(job.rows) - u.token, (int64_t)tokens);
    return { rows_at(job, u.token + rank * share), job.x_sums + u.token,
             max(min(left - rank * share, share), 0), left };
}

/* Copies tokens, of which each block of the cluster copies half to both, and their sums; goes on to
 * the next block of columns. */
template <typename W, int tokens, int terms>
static __device__ __forceinline__ void copy_tokens(const vug_cuda_prefill_job &job,
                                                   token_source &from, uint32_t to, uint32_t full,
                                                   int rank)
{
    using ring = ring_of<W, tokens, terms>;
    constexpr int share = ring::token_bytes / CLUSTER;
    const int bytes = from.own * VUG_CUDA_BLOCK_ROW_BYTES;
    barrier_expect(full, BLOCK_STRIPS * W::bytes + from.all * ring::bytes_of_token);
#pragma unroll
    for (int term = 0; term < terms; term++) {
        if (bytes > 0)
            bulk_copy_to_all(to + ring::tokens_at + term * ring::token_bytes + rank * share,
                             from.x + term * term_bytes(job), bytes, full, (1 << CLUSTER) - 1);
    }
    from.x += block_bytes(job);
    if constexpr (W::needs_sums) {
#pragma unroll
        for (int i = 0; i < UNIT_SUMS; i++) {
            bulk_copy(to + ring::sums_at + i * ring::sum_bytes, from.sums,
                      from.all * (int)sizeof(float), full);
            from.sums += vug_cuda_block_rows(job.rows);
        }
    }
}

/* The weights of strip `strip` of a block, of which a warpgroup has four: of a pair of parts, two of
 * the gate and two of the up. */
template <typename W, bool pairs>
static __device__ __forceinline__ const uint8_t *strip_of_block(const vug_cuda_prefill_job &job,
                                                                const product_unit &u, int rank,
                                                                int strip, int blocks)
{
    const int64_t row = u.row + rank * block_rows<pairs>;
    if (pairs)
        return strip_at<W>(job, strip / 2 % 2, row + strip / 4 * PAIR_ROWS + strip % 2 * TILE,
                           blocks);
    return strip_at<W>(job, u.part, row + strip * TILE, blocks);
}

/* One thread of each of the first four warps fills the ring; the first one also copies tokens. */
template <typename W, int tokens, int terms, bool pairs>
static __device__ void fill_ring(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                 int rank)
{
    using ring = ring_of<W, tokens, terms>;
    const int blocks = (int)count_blocks(job);
    const int64_t units = count_units(job, CLUSTER * block_rows<pairs>, tokens);
    const int strip = threadIdx.x / WARP * WARP_STRIPS;
    ring_place at = { 0, 1 };
    for (int64_t i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * block_rows<pairs>, tokens);
        token_source x = tokens_of<tokens>(job, u, rank);
        const uint8_t *w[WARP_STRIPS];
#pragma unroll
        for (int s = 0; s < WARP_STRIPS; s++)
            w[s] = strip_of_block<W, pairs>(job, u, rank, strip + s, blocks);
#pragma unroll 1
        for (int b = 0; b < blocks; b++) {
            const uint32_t to = memory.data + at.stage * ring::stage_bytes;
            const uint32_t full = memory.full + at.stage * 8;
            barrier_wait(memory.empty + at.stage * 8, at.parity);
            if (threadIdx.x == 0)
                copy_tokens<W, tokens, terms>(job, x, to, full, rank);
#pragma unroll
            for (int s = 0; s < WARP_STRIPS; s++) {
                bulk_copy(to + (strip + s) * W::bytes, w[s], W::bytes, full);
                w[s] += W::bytes;
            }
            ring_next<ring::stages>(at);
        }
    }
}

/* ---- results ------------------------------------------------------------------------------------ */

/* The strip of a warp that multiplies, among those of the block. */
static __device__ __forceinline__ int own_strip(void)
{
    return (int)same_in_warp(threadIdx.x / WARP) - GROUP_THREADS / WARP;
}

/* `behind`: the warpgroup's memory behind the ring. */
template <int tokens, int terms, bool pairs>
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
    } else {
        store_sums(job, u, row + own_strip() * TILE, y);
    }
}

/* ---- products with BF16 ------------------------------------------------------------------------- */

/* The sums of a slice, of each half of the tokens. While those of one half are added to the sums of
 * the slices before, tensor cores multiply the other one. */
template <int tokens, int terms> struct half_sums {
    float of[2][terms][tokens / 4];
};

/* The weights of half of a block of 64 columns. */
struct half_block {
    uint4 tile[STEPS / 2];
};

/* What a warpgroup reads of a stage. */
struct stage_operands {
    uint32_t strip;
    uint64_t x;
};

template <int tokens, int terms>
static __device__ __forceinline__ stage_operands wait_stage(const ring_memory &memory, int strip,
                                                            const ring_place &at)
{
    using ring = ring_of<plain_unit, tokens, terms>;
    const uint32_t stage = same_in_warp(memory.data + at.stage * ring::stage_bytes);
    barrier_wait(memory.full + at.stage * 8, at.parity);
    return { stage + strip * plain_unit::bytes, swizzled_tile(stage + ring::tokens_at) };
}

/* The warpgroup has read a stage. */
static __device__ __forceinline__ void leave_stage(const ring_memory &memory, int stage)
{
    if (threadIdx.x % GROUP_THREADS < CLUSTER)
        barrier_arrive_at(memory.empty + stage * 8, threadIdx.x % GROUP_THREADS);
}

static __device__ __forceinline__ half_block load_columns(const stage_operands &from, int columns)
{
    half_block w;
#pragma unroll
    for (int i = 0; i < STEPS / 2; i++)
        w.tile[i] = load_shared_words4(
                from.strip + ((columns * (STEPS / 2) + i) * WARP + threadIdx.x % WARP) * 16);
    return w;
}

/* Begins the products of half of a block's columns with the halves first .. last of the tokens, as a
 * group; they are added to their sums, or to +0. */
template <int tokens, int terms>
static __device__ __forceinline__ void begin_halves(const half_block &w, uint64_t x, int first,
                                                    int last, bool adds,
                                                    half_sums<tokens, terms> &sums)
{
    constexpr int term_bytes = ring_of<plain_unit, tokens, terms>::token_bytes;
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < STEPS / 2; i++) {
#pragma unroll
        for (int half = first; half <= last; half++) {
#pragma unroll
            for (int term = 0; term < terms; term++)
                wgmma_add<tokens / 2>(
                        sums.of[half][term], w.tile[i],
                        tile_after(x, term * term_bytes + half * term_bytes / 2 + i * 32),
                        adds || i > 0);
        }
    }
    wgmma_commit();
}

/* The second half of a block's columns, in the terms of x. */
static __device__ __forceinline__ uint64_t second_columns(const stage_operands &of)
{
    return tile_after(of.x, STEPS / 2 * 32);
}

/* Adds the sums of a slice, of half of the tokens, to those so far. */
template <int tokens, int terms>
static __device__ __forceinline__ void add_half(float (&all)[tokens / 2], int half,
                                                const half_sums<tokens, terms> &sums)
{
    const auto &of = sums.of[half];
#pragma unroll
    for (int i = 0; i < tokens / 4; i++) {
        float &to = all[half * tokens / 4 + i];
        asm volatile("" : "+f"(to)); /* the compiler may not add before the wait */
        to += terms > 1 ? of[0][i] + of[terms - 1][i] : of[0][i];
    }
}

/* Of a block of which the first half of the columns has begun, begins the second one, and the first of
 * the next block; goes on so for `n` blocks. While half of a block is multiplied, the weights of the
 * next half are loaded. */
template <int tokens, int terms>
static __device__ __forceinline__ void multiply_blocks(const ring_memory &memory, int strip, int n,
                                                       ring_place &at, stage_operands &from,
                                                       half_sums<tokens, terms> &sums)
{
    using ring = ring_of<plain_unit, tokens, terms>;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        const int before = at.stage;
        begin_halves<tokens, terms>(load_columns(from, 1), second_columns(from), 0, 1, true, sums);
        ring_next<ring::stages>(at);
        wgmma_wait<1>();
        from = wait_stage<tokens, terms>(memory, strip, at);
        begin_halves<tokens, terms>(load_columns(from, 0), from.x, 0, 1, true, sums);
        wgmma_wait<1>();
        leave_stage(memory, before);
    }
}

/* The same, where the next block begins a slice. Here are no branches, from which the compiler would
 * conclude that it has to wait for each product. */
template <int tokens, int terms>
static __device__ __forceinline__ void next_slice(const ring_memory &memory, int strip,
                                                  ring_place &at, stage_operands &from,
                                                  half_sums<tokens, terms> &sums,
                                                  float (&all)[tokens / 2])
{
    using ring = ring_of<plain_unit, tokens, terms>;
    const int before = at.stage;
    ring_next<ring::stages>(at);
    const stage_operands next = wait_stage<tokens, terms>(memory, strip, at);
    half_block w = load_columns(from, 1);
    begin_halves<tokens, terms>(w, second_columns(from), 0, 0, true, sums);
    begin_halves<tokens, terms>(w, second_columns(from), 1, 1, true, sums);
    wgmma_wait<2>();
    w = load_columns(next, 0);
    wgmma_wait<1>();
    add_half<tokens, terms>(all, 0, sums);
    begin_halves<tokens, terms>(w, next.x, 0, 0, false, sums);
    wgmma_wait<1>();
    add_half<tokens, terms>(all, 1, sums);
    begin_halves<tokens, terms>(w, next.x, 1, 1, false, sums);
    leave_stage(memory, before);
    from = next;
}

/* A warpgroup computes the sums of a unit of `blocks` blocks of columns. */
template <int tokens, int terms>
static __device__ __forceinline__ void multiply_unit(const ring_memory &memory, int strip,
                                                     int blocks, ring_place &at,
                                                     float (&all)[tokens / 2])
{
    using ring = ring_of<plain_unit, tokens, terms>;
    const int slices = min(blocks, (int)SLICES); /* that have columns */
    half_sums<tokens, terms> sums = {};
    stage_operands from = wait_stage<tokens, terms>(memory, strip, at);
    begin_halves<tokens, terms>(load_columns(from, 0), from.x, 0, 1, false, sums);
#pragma unroll
    for (int i = 0; i < tokens / 2; i++)
        all[i] = -0.0f; /* changes nothing that is added */
#pragma unroll 1
    for (int slice = 1;; slice++) {
        const int of_slice = blocks * slice / slices - blocks * (slice - 1) / slices;
        multiply_blocks<tokens, terms>(memory, strip, of_slice - 1, at, from, sums);
        if (slice == slices)
            break;
        next_slice<tokens, terms>(memory, strip, at, from, sums, all);
    }
    begin_halves<tokens, terms>(load_columns(from, 1), second_columns(from), 0, 1, true, sums);
    wgmma_wait();
    leave_stage(memory, at.stage);
    ring_next<ring::stages>(at);
    add_half<tokens, terms>(all, 0, sums);
    add_half<tokens, terms>(all, 1, sums);
}

template <int tokens, int terms, bool pairs>
static __device__ void drain_ring(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                  uint8_t *data, int rank)
{
    using ring = ring_of<plain_unit, tokens, terms>;
    const int64_t units = count_units(job, CLUSTER * block_rows<pairs>, tokens);
    uint8_t *behind = data + ring::stages * ring::stage_bytes + own_group() * ring::behind_bytes;
    const int strip = own_strip(), blocks = (int)count_blocks(job);
    ring_place at = { 0, 0 };
    for (int64_t i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * block_rows<pairs>, tokens);
        float all[tokens / 2];
        multiply_unit<tokens, terms>(memory, strip, blocks, at, all);
        store_results<tokens, terms, pairs>(job, u, rank, behind, all);
    }
}

/* ---- products with codes ---------------------------------------------------------------------- */

/* Begins the products of the tiles of a block, from tile `s` of a unit on. x: the first terms of
 * half of a ring's tokens; the second terms are `term_bytes` on. */
template <typename W, int tokens>
static __device__ __forceinline__ void begin_block(float (&codes)[tokens / 2],
                                                   const uint4 (&w)[W::block_tiles], int s,
                                                   uint32_t x, int term_bytes)
{
    wgmma_fence();
    wgmma_add<tokens>(codes, w[0], swizzled_tile(x + s * 32), false);
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
    constexpr int term_bytes = ring_of<W, tokens, 2>::token_bytes;
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

template <typename W, int tokens, bool pairs>
static __device__ void drain_codes(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                   uint8_t *data, int rank)
{
    using ring = ring_of<W, tokens, 2>;
    const int64_t units = count_units(job, CLUSTER * block_rows<pairs>, tokens);
    uint8_t *behind = data + ring::stages * ring::stage_bytes + own_group() * ring::behind_bytes;
    float4 *kept = (float4 *)behind + threadIdx.x % GROUP_THREADS;
    float codes[2][tokens / 4] = {};
    const int strip = own_strip();
    ring_place at = { 0, 0 };
    for (int64_t i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * block_rows<pairs>, tokens);
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
        store_results<tokens, 2, pairs>(job, u, rank, behind, sum);
        if (pairs)
            group_sync(); /* the tile lies where sums of slices are kept */
    }
}
#endif

/* ---- the kernel --------------------------------------------------------------------------------- */

template <typename W, int tokens, int terms, bool pairs>
static __global__ void __launch_bounds__((CONSUMERS + 1) * GROUP_THREADS, 1)
        wgmma_kernel(const __grid_constant__ vug_cuda_prefill_job job)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using ring = ring_of<W, tokens, terms>;
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
    if (own_group() < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(W::is_scaled ? 56 : 40));
        if (threadIdx.x % WARP == 0)
            fill_ring<W, tokens, terms, pairs>(job, memory, rank);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(W::is_scaled ? 224 : 232));
        if constexpr (W::is_scaled)
            drain_codes<W, tokens, pairs>(job, memory, data, rank);
        else
            drain_ring<tokens, terms, pairs>(job, memory, data, rank);
    }
    /* A block may not end while the other one still writes to its barriers. */
    cluster_sync();
#else
    (void)job;
    __trap(); /* the launch asks for the capability */
#endif
}

/* ---- launching ---------------------------------------------------------------------------------- */

template <typename W, int tokens, int terms, bool pairs>
static void launch_parts(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    const int bytes = ring_of<W, tokens, terms>::bytes;
    const int64_t units = count_units(*job, CLUSTER * block_rows<pairs>, tokens);
    const int64_t clusters = units < processors / CLUSTER ? units : processors / CLUSTER;
    const dim3 grid((unsigned)(clusters * CLUSTER));
    launch_clusters(stream, wgmma_kernel<W, tokens, terms, pairs>,
                    { grid, dim3(CLUSTER), (CONSUMERS + 1) * GROUP_THREADS, (size_t)bytes }, false,
                    *job);
}

template <typename W, int tokens, int terms>
static void launch_wgmma(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    if (job->activation == VUG_OP_LINEAR)
        launch_parts<W, tokens, terms, false>(stream, job, processors);
    else
        launch_parts<W, tokens, terms, true>(stream, job, processors);
}

/* The time of a tile is about its tokens and a constant; tiles run in waves. */
static int64_t wave_cost(const vug_cuda_prefill_job *job, int tokens, int processors)
{
    enum { CONSTANT = 24 };
    const int rows = job->activation == VUG_OP_LINEAR ? block_rows<false> : block_rows<true>;
    const int64_t units = count_units(*job, CLUSTER * rows, tokens);
    const int64_t clusters = processors / CLUSTER;
    return (units + clusters - 1) / clusters * (tokens + CONSTANT);
}

/* Two terms leave no registers for 192 tokens. */
static void launch_plain(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
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

template <typename W>
static void launch_codes(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors)
{
    if (wave_cost(job, 128, processors) <= wave_cost(job, 64, processors))
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
