#ifndef VUG_BACKEND_CUDA_WGMMA_RING_H
#define VUG_BACKEND_CUDA_WGMMA_RING_H

/* The ring of wgmma_linear.cu in shared memory: what a stage has, and how a warpgroup fills it with
 * weights and tokens. */

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
};

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
    static constexpr int stages = (RING_BYTES - CONSUMERS * behind_bytes) / stage_bytes;
    static constexpr int bytes = stages * stage_bytes + CONSUMERS * behind_bytes + RING_ALIGN;
};

/* Where a ring and what goes with it lie in shared memory. */
struct ring_memory {
    uint32_t data, full, empty; /* barriers of 8 bytes for each stage */
    product_unit *units;        /* of which unit of work each stage holds operands */
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
                             from.x + term * vug_cuda_term_bytes(job.rows), bytes, full,
                             (1 << CLUSTER) - 1);
    }
    from.x += terms * vug_cuda_term_bytes(job.rows);
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
                                                                const product_unit &u, int expert,
                                                                int rank, int strip, int blocks)
{
    const int64_t row = u.row + rank * block_rows<pairs>;
    if (pairs)
        return strip_at<W>(job, expert, strip / 2 % 2,
                           row + strip / 4 * PAIR_ROWS + strip % 2 * TILE, blocks);
    return strip_at<W>(job, expert, u.part, row + strip * TILE, blocks);
}

/* One thread of each of the first four warps fills the ring; the first one also copies tokens, and says
 * which unit of work they are of: consumers need not divide for it, for which they lack registers. */
template <typename W, int tokens, int terms, bool pairs, bool chosen>
static __device__ void fill_ring(const vug_cuda_prefill_job &job, const ring_memory &memory,
                                 int rank)
{
    using ring = ring_of<W, tokens, terms>;
    const int blocks = (int)count_blocks(job);
    const int tiles = used_tiles<chosen>(job, tokens);
    const int units = count_groups(job, CLUSTER * block_rows<pairs>) * tiles;
    const int strip = threadIdx.x / WARP * WARP_STRIPS;
    ring_place at = { 0, 1 };
    for (int i = blockIdx.x / CLUSTER; i < units; i += gridDim.x / CLUSTER) {
        const product_unit u = find_unit(job, i, CLUSTER * block_rows<pairs>, tokens, tiles);
        const int expert = chosen ? job.chosen.expert[u.token / tokens] : -1;
        token_source x = tokens_of<tokens>(job, u, rank);
        const uint8_t *w[WARP_STRIPS];
#pragma unroll
        for (int s = 0; s < WARP_STRIPS; s++)
            w[s] = strip_of_block<W, pairs>(job, u, expert, rank, strip + s, blocks);
#pragma unroll 1
        for (int b = 0; b < blocks; b++) {
            const uint32_t to = memory.data + at.stage * ring::stage_bytes;
            const uint32_t full = memory.full + at.stage * 8;
            barrier_wait(memory.empty + at.stage * 8, at.parity);
            if (threadIdx.x == 0) {
                memory.units[at.stage] = u;
                copy_tokens<W, tokens, terms>(job, x, to, full, rank);
            }
#pragma unroll
            for (int s = 0; s < WARP_STRIPS; s++) {
                bulk_copy(to + (strip + s) * W::bytes, w[s], W::bytes, full);
                w[s] += W::bytes;
            }
            ring_next(at, ring::stages);
        }
    }
    /* This block may not end while warps of the other one have yet to arrive at its barriers. */
#pragma unroll 1
    for (int i = 0; i < ring::stages; i++) {
        barrier_wait(memory.empty + at.stage * 8, at.parity);
        ring_next(at, ring::stages);
    }
}
/* ---- reading ------------------------------------------------------------------------------------ */

/* A warp has read a stage, and tells both blocks of the cluster, which filled it. */
static __device__ __forceinline__ void leave_stage(const ring_memory &memory, int stage)
{
    __syncwarp(); /* another lane may still read */
    if (threadIdx.x % WARP < CLUSTER)
        barrier_arrive_at(memory.empty + stage * 8, threadIdx.x % WARP);
}
#endif

#endif
