#ifndef VUG_BACKEND_CUDA_ATTENTION_PAGES_H
#define VUG_BACKEND_CUDA_ATTENTION_PAGES_H

/*
 * Attention over pages on tensor cores: what its kernels share, and the order of their sums, which
 * is the same in all: each page of 64 positions gives a result of its own, and the results of pages
 * are joined in ascending order. In a page,
 *
 *     score   a chain of m16n8k16 over the head's columns in ascending order, from +0
 *     p       2^(score by - most), rounded once before the power: `by` is the scale times log2 e,
 *             `most` that of the greatest score of the page that the query sees; 0 where it does not
 *             see the key
 *     sum     of p, or of its term if there is one: for l = 0 .. 3 keys 2 l, 2 l + 1, 2 l + 8,
 *             2 l + 9, .. in pairs, one pair after the other; then l = 0 and 1, 2 and 3, and both
 *     sums    p times values: a chain of m16n8k16 over the 64 keys, from +0
 *
 * A chain of wgmma gives the same bits. Queries and p are taken as one or two terms of the cache's
 * type, h = round(x) and, if there are two, l = round(x - h); a step of a chain adds the product of
 * h, then that of l. Keys and values have that type already; those of Q8 are rounded to BF16.
 *
 * A page that a query sees nothing of changes nothing, so that a row does not depend on the rows
 * beside it. The rows of a product are queries: of the heads that share keys, and, in the kernels
 * for runs of tokens, of neighbouring tokens. A lane of a product has rows lane / 4 and lane / 4 + 8
 * of 16, and of each block of 8 columns two: elements 4 b .. 4 b + 3 of an array are those of block
 * b, of the first row and then of the second.
 */
#include "backend/cuda/attention_rows.h"
#include "backend/cuda/block_stores.h"
#include "backend/cuda/page_join.h"

enum { KEY_STEPS = KEYS / 16 };

#define LOG2_E 1.4426950408889634f

/* 2^x */
static __device__ __forceinline__ float power(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* A query: its position, and the first position that it sees. */
struct query_sight {
    int first, position;
};

static __device__ __forceinline__ query_sight sight_of(const vug_cuda_attention_job &job,
                                                       int position)
{
    const int window = (int)min(job.window, (int64_t)INT32_MAX);
    return { window > 0 ? max(position + 1 - window, 0) : 0, position };
}

/* What a page gives the two queries of a lane, rows lane / 4 and lane / 4 + 8 of the product: the
 * greatest score, the sum of the lane's p, and the terms of p as first operands. */
template <int terms> struct page_weights {
    float most[2], sum[2];
    uint32_t p[KEY_STEPS][terms][4];
};

/* Returns the positive number by which scores become exponents of 2: 1 if they are scaled here. */
template <int n>
static __device__ __forceinline__ float scale_scores(const vug_cuda_attention_job &job,
                                                     float (&s)[n])
{
    const float by = job.scale * LOG2_E;
    if (job.softcap > 0) {
#pragma unroll
        for (int i = 0; i < n; i++)
            s[i] = tanhf(s[i] * job.scale / job.softcap) * (job.softcap * LOG2_E);
    } else if (!(by > 0)) {
#pragma unroll
        for (int i = 0; i < n; i++)
            s[i] *= by;
    } else {
        return by;
    }
    return 1;
}

/* -INFINITY in place of scores of keys that a query does not see. */
static __device__ __forceinline__ void hide_keys(float (&s)[KEYS / 2], int page,
                                                 const query_sight (&sight)[2])
{
    const int first = page * KEYS + threadIdx.x % 4 * 2;
    int begin[2], end[2]; /* keys that a query sees, counted from the lane's first one */
#pragma unroll
    for (int r = 0; r < 2; r++) {
        begin[r] = sight[r].first - first;
        end[r] = sight[r].position - first;
    }
#pragma unroll
    for (int i = 0; i < KEYS / 2; i++) {
        const int key = i / 4 * 8 + i % 2, r = i / 2 % 2;
        s[i] = key >= begin[r] && key <= end[r] ? s[i] : -INFINITY;
    }
}

/* The greatest score of query `r` of a lane, in all lanes that have some of it. */
static __device__ __forceinline__ float greatest_score(const float (&s)[KEYS / 2], int r)
{
    float most[KEYS / 8];
#pragma unroll
    for (int i = 0; i < KEYS / 8; i++)
        most[i] = fmaxf(s[4 * i + 2 * r], s[4 * i + 2 * r + 1]);
#pragma unroll
    for (int n = KEYS / 16; n > 0; n /= 2) {
#pragma unroll
        for (int i = 0; i < n; i++)
            most[i] = fmaxf(most[i], most[i + n]);
    }
    most[0] = fmaxf(most[0], __shfl_xor_sync(0xffffffffu, most[0], 1));
    return fmaxf(most[0], __shfl_xor_sync(0xffffffffu, most[0], 2));
}

/* `all`: each query of the warp sees all keys of the page. */
template <typename T, int terms>
static __device__ __forceinline__ void weigh_keys(const vug_cuda_attention_job &job,
                                                  float (&s)[KEYS / 2], int page, bool all,
                                                  const query_sight (&sight)[2],
                                                  page_weights<terms> &w)
{
    const float by = scale_scores(job, s);
    if (!all)
        hide_keys(s, page, sight);
    w.most[0] = greatest_score(s, 0) * by;
    w.most[1] = greatest_score(s, 1) * by;
    w.sum[0] = w.sum[1] = 0;
    const float minus_most[2] = { w.most[0] == -INFINITY ? 0 : -w.most[0],
                                  w.most[1] == -INFINITY ? 0 : -w.most[1] };
#pragma unroll
    for (int step = 0; step < KEY_STEPS; step++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *pair = s + (2 * step + i / 2) * 4 + i % 2 * 2;
            const float low = power(fmaf(pair[0], by, minus_most[i % 2]));
            const float high = power(fmaf(pair[1], by, minus_most[i % 2]));
            const uint32_t p = w.p[step][0][i] = T::pair(low, high);
            if (terms > 1)
                w.p[step][terms - 1][i] = T::pair(T::rest(low), T::rest(high));
            w.sum[i % 2] += terms > 1 ? low + high : T::low(p) + T::high(p);
        }
    }
}

/* The results of the pages so far: of the two queries of a lane, and `columns` columns. */
template <int columns> struct page_sums {
    float most[2], sum[2], out[columns / 2];
};

template <int columns> static __device__ __forceinline__ void sums_init(page_sums<columns> &all)
{
    all.most[0] = all.most[1] = -INFINITY;
    all.sum[0] = all.sum[1] = 0;
#pragma unroll
    for (int i = 0; i < columns / 2; i++)
        all.out[i] = 0;
}

/* How the results so far and those of a page are weighted when they are joined. */
struct join_factors {
    float most, so_far, added;
};

static __device__ __forceinline__ join_factors join_by(float most, float added)
{
    const float m = fmaxf(most, added);
    if (added == -INFINITY)
        return { most, 1, 0 };
    return { m, power(most - m), power(added - m) };
}

struct join_rule {
    static __device__ __forceinline__ join_weights weigh(float most, float own)
    {
        const join_factors by = join_by(most, own);
        return { by.so_far, by.added };
    }
};

/* Joins what a page has besides its columns; how these are joined. */
template <int columns, int terms>
static __device__ __forceinline__ void begin_join(page_sums<columns> &all,
                                                  const page_weights<terms> &w,
                                                  join_factors (&by)[2])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float sum = w.sum[r];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        by[r] = join_by(all.most[r], w.most[r]);
        all.most[r] = by[r].most;
        all.sum[r] = fmaf(sum, by[r].added, all.sum[r] * by[r].so_far);
    }
}

/* Joins 2 n columns. */
template <int n>
static __device__ __forceinline__ void join_columns(float *all, const float (&page)[n],
                                                    const join_factors (&by)[2])
{
#pragma unroll
    for (int i = 0; i < n; i++) {
        const join_factors &f = by[i / 2 % 2];
        all[i] = fmaf(page[i], f.added, all[i] * f.so_far);
    }
}

/* Stores columns e + 8 i and e + 8 i + 1 of the results of a head of a token, as far as the head is wide; e is
 * even. */
template <int terms, int n>
static __device__ __forceinline__ void store_columns(const vug_cuda_attention_job &job,
                                                     int64_t token, int64_t head, int e,
                                                     float (&y)[n][2])
{
    const int width = (int)job.cache.width;
    if (job.in_blocks) {
        const int64_t term_bytes = vug_cuda_term_bytes(job.tokens);
        const uint32_t first = head * width + e;
#pragma unroll
        for (int i = 0; i < n; i++) {
            if (e + i * 8 < width)
                store_terms<terms>((uint8_t *)job.out, term_bytes, token, first + i * 8, y[i]);
        }
        return;
    }
    float *const out = job.out + (token * job.heads + head) * width + e;
#pragma unroll
    for (int i = 0; i < n; i++) {
        const int left = width - e - i * 8;
        if (left > 0 && width % 2 == 0) {
            *(float2 *)(out + i * 8) = make_float2(y[i][0], y[i][1]);
        } else if (left > 0) {
            out[i * 8] = y[i][0];
            if (left > 1)
                out[i * 8 + 1] = y[i][1];
        }
    }
}

/* Stores the results of a head of a token, a lane's r-th query: columns from column `first` on. */
template <int terms, int columns>
static __device__ __forceinline__ void store_head(const vug_cuda_attention_job &job, int64_t token,
                                                  int64_t head, int first, int r,
                                                  const page_sums<columns> &all)
{
    float y[columns / 8][2];
#pragma unroll
    for (int i = 0; i < columns / 8; i++) {
        y[i][0] = quotient(all.out[i * 4 + r * 2], all.sum[r]);
        y[i][1] = quotient(all.out[i * 4 + r * 2 + 1], all.sum[r]);
    }
    store_columns<terms>(job, token, head, first + threadIdx.x % 4 * 2, y);
}

/* ---- launching ------------------------------------------------------------------------------ */

/* launch_attention, with the type and the terms. */
template <template <typename, int, int> class L, typename T, int terms, int widest, typename J>
static void launch_width(cudaStream_t stream, int64_t width, const J *job)
{
    if (width <= 64)
        L<T, 64, terms>::launch(stream, job);
    else if (width <= 128)
        L<T, 128, terms>::launch(stream, job);
    else if (width <= 256 || widest == 256)
        L<T, 256, terms>::launch(stream, job);
    else if constexpr (widest > 256)
        L<T, widest, terms>::launch(stream, job);
}

/* Calls L<T, width, terms>::launch with `job`, with the type and the terms of `of`, and the least of 64,
 * 128, 256 and `widest` columns that hold its heads. */
template <template <typename, int, int> class L, int widest, typename J>
static void launch_attention(cudaStream_t stream, const vug_cuda_attention_job &of, const J *job)
{
    const int64_t width = of.cache.width;
    const bool two = of.terms > 1;
    if (of.tokens == 0)
        return;
    if (of.cache.format == VUG_KV_F16)
        (two ? launch_width<L, type_f16, 2, widest, J>
             : launch_width<L, type_f16, 1, widest, J>)(stream, width, job);
    else
        (two ? launch_width<L, type_bf16, 2, widest, J>
             : launch_width<L, type_bf16, 1, widest, J>)(stream, width, job);
}

#endif
