#ifndef VUG_BACKEND_CUDA_WGMMA_ACTIVATION_H
#define VUG_BACKEND_CUDA_WGMMA_ACTIVATION_H

/*
 * How a warpgroup of wgmma_linear.cu stores the activation of a gate and an up as terms in blocks
 * (activation_blocks.h).
 *
 * Warps 0 and 1 have the sums of 32 outputs of the gate, 16 each, and all tokens, warps 2 and 3 those
 * of the up. They exchange halves, so that each warp activates half of the tokens; then a tile of
 * terms is stored through shared memory, by 16 bytes.
 */

#include "backend/cuda/hopper.h"
#include "backend/cuda/prefill.h"
#include "backend/cuda/row_integers.h"
#include "backend/cuda/row_math.h"

enum {
    GROUP_THREADS = 128, /* a warpgroup */
    PAIR_ROWS = 32,      /* outputs of the gate, and of the up */
    TILE_ROW_BYTES = 2 * PAIR_ROWS,
    TILE_CHUNKS = TILE_ROW_BYTES / 16,
};

/* Shared memory of a warpgroup that is exchanged, then the tile. */
static constexpr int activation_bytes(int tokens)
{
    return tokens * PAIR_ROWS * (int)sizeof(float);
}

/* Where the results of a warpgroup go. */
struct activation_place {
    vug_op activation;
    vug_cuda_blocks to;
    int64_t token, output; /* the first ones */
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* The warpgroup of a warp, among those that multiply. */
static __device__ __forceinline__ int own_group(void)
{
    return (int)same_in_warp(threadIdx.x / GROUP_THREADS) - 1;
}

/* Waits for the threads of the warpgroup. */
static __device__ __forceinline__ void group_sync(void)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(1 + own_group()), "n"((int)GROUP_THREADS) : "memory");
}

/* Activates half of the tokens of a lane, for which it exchanges sums with that of the other part. y
 * has them as wgmma gives them: element i is that of token i / 4 * 8 + lane % 4 * 2 + i % 2 and
 * output lane / 4 + i / 2 % 2 * 8. */
template <int n>
static __device__ __forceinline__ void activate_half(vug_op activation, float4 *exchange,
                                                     const float (&y)[2 * n], float (&v)[n])
{
    const int warp = threadIdx.x / WARP % 4;
    const bool is_up = warp / 2;
    float4 *const sent = exchange + warp * (n / 4) * WARP + threadIdx.x % WARP,
                  *const received = exchange + (warp ^ 2) * (n / 4) * WARP + threadIdx.x % WARP;
    group_sync();
#pragma unroll
    for (int i = 0; i < n; i += 4)
        sent[i / 4 * WARP] =
                is_up ? make_float4(y[i], y[i + 1], y[i + 2], y[i + 3])
                      : make_float4(y[n + i], y[n + i + 1], y[n + i + 2], y[n + i + 3]);
    group_sync();
#pragma unroll
    for (int i = 0; i < n; i += 4) {
        const float4 of = received[i / 4 * WARP];
        const float other[4] = { of.x, of.y, of.z, of.w };
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float own = is_up ? y[n + i + k] : y[i + k];
            v[i + k] = activate(activation, is_up ? other[k] : own, is_up ? own : other[k]);
        }
    }
    group_sync();
}

/* Of each token of a lane: the largest magnitude of 32 outputs, and their sum, in the order of
 * weight_tiles.h. */
template <int n> struct token_numbers {
    uint32_t largest[n / 2];
    float sum[n / 2];
};

template <int n>
static __device__ __forceinline__ void find_numbers(float2 *exchange, const float (&v)[n],
                                                    token_numbers<n> &of)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP % 4;
    float2 *const own = exchange + warp * 2 * n, *const other = exchange + (warp ^ 1) * 2 * n;
#pragma unroll
    for (int i = 0; i < n / 2; i++) {
        float first = v[i / 2 * 4 + i % 2], second = v[i / 2 * 4 + 2 + i % 2];
        uint32_t largest = max(magnitude(first), magnitude(second));
#pragma unroll
        for (int d = 4; d < WARP; d *= 2) {
            first += __shfl_xor_sync(0xffffffffu, first, d);
            second += __shfl_xor_sync(0xffffffffu, second, d);
            largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, d));
        }
        of.sum[i] = first + second;
        of.largest[i] = largest;
        if (lane < 4)
            own[i / 2 * 8 + lane * 2 + i % 2] =
                    make_float2(of.sum[i], __uint_as_float(of.largest[i]));
    }
    group_sync();
#pragma unroll
    for (int i = 0; i < n / 2; i++) {
        const float2 there = other[i / 2 * 8 + lane % 4 * 2 + i % 2];
        of.sum[i] += there.x; /* in either order */
        of.largest[i] = max(of.largest[i], __float_as_uint(there.y));
    }
    group_sync();
}

/* The second terms of elements, of which BF16 has the first. */
template <int n>
static __device__ __forceinline__ void second_terms(const float (&v)[n], float (&low)[n])
{
#pragma unroll
    for (int i = 0; i < n; i += 2) {
        const uint32_t pair = bf16_pair(v[i], v[i + 1]);
        low[i] = v[i] - __uint_as_float(pair << 16);
        low[i + 1] = v[i + 1] - __uint_as_float(pair & 0xffff0000u);
    }
}

/* Stores the sums of tokens as far as the reader wants them. If it wants integers, elements become the
 * first terms of these; `low`: the second terms. */
template <int n>
static __device__ __forceinline__ void round_tokens(const activation_place &at, float2 *exchange,
                                                    float (&v)[n], float (&low)[n])
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP % 4;
    const int64_t first = at.token + warp / 2 * 2 * n;
    token_numbers<n> numbers;
    find_numbers(exchange, v, numbers);
    const int64_t sums = at.output / VUG_CUDA_SUM_COLUMNS * vug_cuda_block_rows(at.to.rows);
#pragma unroll
    for (int i = 0; i < n / 2; i++) {
        const int64_t row = first + i / 2 * 8 + lane % 4 * 2 + i % 2;
        if (at.to.x_sums && warp % 2 == 0 && lane < 4 && row < at.to.rows)
            at.to.x_sums[sums + row] = numbers.sum[i];
        if (!at.to.integers)
            continue;
        const x_scale scale = x_scale_of(numbers.largest[i]);
        const int a = i / 2 * 4 + i % 2, b = a + 2;
        const x_terms a_terms = integer_terms(v[a], scale), b_terms = integer_terms(v[b], scale);
        v[a] = a_terms.high, low[a] = a_terms.low;
        v[b] = b_terms.high, low[b] = b_terms.low;
    }
}

/* Where chunk `chunk` of 16 bytes of a token lies in the tile, without bank conflicts. */
static __device__ __forceinline__ int chunk_at(int token, int chunk)
{
    return token * TILE_ROW_BYTES + (chunk ^ token / 2 % TILE_CHUNKS) * 16;
}

/* Four matrices of 8 x 8 elements, each transposed: lane l gives the address of row l % 8 of matrix
 * l / 8. */
static __device__ __forceinline__ void store_transposed(uint32_t to, const uint32_t *of)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(of[0]), "r"(of[1]), "r"(of[2]), "r"(of[3])
                 : "memory");
}

/* Stores a term of a warp's elements in the tile. */
template <int n>
static __device__ __forceinline__ void store_term(uint32_t tile, const float (&v)[n])
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP % 4;
    uint32_t of[n / 2];
#pragma unroll
    for (int i = 0; i < n / 2; i++)
        of[i] = bf16_pair(v[2 * i], v[2 * i + 1]);
#pragma unroll
    for (int i = 0; i < n / 2; i += 4) {
        const int token = warp / 2 * 2 * n + (i / 2 + lane / 16) * 8 + lane % 8;
        store_transposed(tile + chunk_at(token, warp % 2 * 2 + lane / 8 % 2), of + i);
    }
}

/* Stores the activation of a warpgroup's sums; `memory` has activation_bytes for it alone. */
template <int tokens, int terms>
static __device__ __forceinline__ void store_activation(const activation_place &at, uint8_t *memory,
                                                        const float (&y)[tokens / 2])
{
    constexpr int chunks = tokens * TILE_CHUNKS, term_bytes = tokens * TILE_ROW_BYTES;
    const uint32_t tile = shared_address(memory);
    float v[tokens / 4];
    activate_half(at.activation, (float4 *)memory, y, v);
    if constexpr (terms > 1) {
        float low[tokens / 4];
        second_terms(v, low);
        if (at.to.integers || at.to.x_sums)
            round_tokens(at, (float2 *)memory, v, low);
        store_term(tile + term_bytes, low);
    }
    store_term(tile, v);
    group_sync();
    const int64_t to_term_bytes = vug_cuda_term_bytes(at.to.rows);
#pragma unroll
    for (int i = 0; i < chunks; i += GROUP_THREADS) {
        const int token = (i + threadIdx.x % GROUP_THREADS) / TILE_CHUNKS,
                  chunk = threadIdx.x % TILE_CHUNKS;
        const int64_t row = at.token + token;
        if (row >= at.to.rows)
            continue;
        uint8_t *to = at.to.blocks +
                      vug_cuda_block_offset(to_term_bytes, terms, row, at.output + chunk * 8);
#pragma unroll
        for (int term = 0; term < terms; term++)
            *(uint4 *)(to + term * to_term_bytes) =
                    *(const uint4 *)(memory + term * term_bytes + chunk_at(token, chunk));
    }
}
#endif

#endif
