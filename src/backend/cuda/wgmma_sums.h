#ifndef VUG_BACKEND_CUDA_WGMMA_SUMS_H
#define VUG_BACKEND_CUDA_WGMMA_SUMS_H

/*
 * How a warpgroup of wgmma_linear.cu computes the sums of a unit with weights of BF16.
 *
 * Tensor cores are to be busy all the time: while half of a block of 64 columns is multiplied, the
 * weights of the next half are loaded, and the sums of a slice are added for half of the tokens while
 * the other half is multiplied. The compiler lets products run on only if it sees that nothing reads
 * their sums before they are done, and takes what all lanes know from uniform registers only if no
 * loop seems to differ between lanes; both show in the machine code.
 */

#include "backend/cuda/wgmma_ring.h"

/* IN_SLICES: the order of weight_tiles.h; ONE_CHAIN: all columns are one slice. */
enum sum_order { IN_SLICES, ONE_CHAIN };

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* The sums of a slice, of each half of the tokens. While those of one half are added to the sums of
 * the slices before, tensor cores multiply the other one. */
template <int tokens, int terms> struct half_sums {
    float of[2][terms][tokens / 4];
};

/* What a warpgroup reads of a stage. */
struct stage_operands {
    uint32_t strip; /* the weights of the warp */
    uint64_t x;     /* the first terms of the tokens */
};

/* Waits until a stage is full. */
template <int tokens, int terms>
static __device__ __forceinline__ stage_operands wait_stage(const ring_memory &memory, int strip,
                                                            const ring_place &at)
{
    using ring = ring_of<plain_unit, tokens, terms>;
    const uint32_t stage = same_in_warp(memory.data + at.stage * ring::stage_bytes);
    barrier_wait(memory.full + at.stage * 8, at.parity);
    return { stage + strip * plain_unit::bytes, swizzled_tile(stage + ring::tokens_at) };
}

/* Half of the columns of a block: a lane's weights, and the first terms of the tokens. */
struct half_block {
    uint4 w[STEPS / 2];
    uint64_t x;
};

/* Loads the weights of half `columns`. */
static __device__ __forceinline__ half_block load_half(const stage_operands &from, int columns)
{
    const int first = columns * (STEPS / 2);
    half_block of = { {}, tile_after(from.x, first * 32) };
    uint32_t at = from.strip + threadIdx.x % WARP * 16;
    asm volatile("" : "+r"(at)); /* or each load keeps a register for its address */
#pragma unroll
    for (int i = 0; i < STEPS / 2; i++)
        of.w[i] = load_shared_words4(at + (first + i) * WARP * 16);
    return of;
}

/* Begins the products of half of a block's columns with the halves first .. last of the tokens, as a
 * group; they are added to their sums, or to +0. */
template <int tokens, int terms>
static __device__ __forceinline__ void begin_products(const half_block &of, int first, int last,
                                                      bool adds, half_sums<tokens, terms> &sums)
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
                        sums.of[half][term], of.w[i],
                        tile_after(of.x, term * term_bytes + half * term_bytes / 2 + i * 32),
                        adds || i > 0);
        }
    }
    wgmma_commit();
}

/* Adds the sums of a slice, of half of the tokens, to those so far. */
template <int tokens, int terms>
static __device__ __forceinline__ void add_half(float (&all)[tokens / 2], int half,
                                                const half_sums<tokens, terms> &sums)
{
    constexpr int n = tokens / 4;
    float(&to)[n] = *(float(*)[n])(all + half * n);
#pragma unroll
    for (int i = 0; i < n; i++)
        asm volatile("" : "+f"(to[i])); /* the compiler may not add before the wait */
    add_slice<terms>(to, sums.of[half], false);
}

/* The products of a block with the first half of its columns have begun: begins those with the second
 * half, and those of the next block with its first half; goes on so for `n` blocks. */
template <int tokens, int terms>
static __device__ __forceinline__ void multiply_blocks(const ring_memory &memory, int strip, int n,
                                                       ring_place &at, stage_operands &from,
                                                       half_sums<tokens, terms> &sums)
{
    using ring = ring_of<plain_unit, tokens, terms>;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        const int before = at.stage;
        begin_products<tokens, terms>(load_half(from, 1), 0, 1, true, sums);
        ring_next(at, ring::stages);
        wgmma_wait<1>();
        from = wait_stage<tokens, terms>(memory, strip, at);
        begin_products<tokens, terms>(load_half(from, 0), 0, 1, true, sums);
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
    ring_next(at, ring::stages);
    const stage_operands next = wait_stage<tokens, terms>(memory, strip, at);
    half_block half = load_half(from, 1);
    begin_products<tokens, terms>(half, 0, 0, true, sums);
    begin_products<tokens, terms>(half, 1, 1, true, sums);
    wgmma_wait<2>();
    half = load_half(next, 0);
    wgmma_wait<1>();
    add_half<tokens, terms>(all, 0, sums);
    begin_products<tokens, terms>(half, 0, 0, false, sums);
    wgmma_wait<1>();
    add_half<tokens, terms>(all, 1, sums);
    begin_products<tokens, terms>(half, 1, 1, false, sums);
    leave_stage(memory, before);
    from = next;
}

/* A warpgroup computes the sums of the next unit of work, of `blocks` blocks of columns, and returns
 * which unit that is. Of fewer than SLICES blocks each is a slice, as in slice_blocks. */
template <int tokens, int terms, sum_order order>
static __device__ __forceinline__ product_unit multiply_unit(const ring_memory &memory, int strip,
                                                             int blocks, ring_place &at,
                                                             float (&all)[tokens / 2])
{
    using ring = ring_of<plain_unit, tokens, terms>;
    const int slices = order == IN_SLICES ? min(blocks, (int)SLICES) : 1; /* that have columns */
    half_sums<tokens, terms> sums = {};
    stage_operands from = wait_stage<tokens, terms>(memory, strip, at);
    begin_products<tokens, terms>(load_half(from, 0), 0, 1, false, sums);
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
    begin_products<tokens, terms>(load_half(from, 1), 0, 1, true, sums);
    wgmma_wait();
    const product_unit u = memory.units[at.stage];
    leave_stage(memory, at.stage);
    ring_next(at, ring::stages);
    add_half<tokens, terms>(all, 0, sums);
    add_half<tokens, terms>(all, 1, sums);
    return u;
}
#endif

#endif
