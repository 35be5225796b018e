#ifndef VUG_BACKEND_CUDA_PAGE_SUMS_H
#define VUG_BACKEND_CUDA_PAGE_SUMS_H

/* Sums over the keys of a page, which the kernels of attention in F32 share. */

#include "backend/cuda/kv_elements.h"
#include "backend/cuda/page_join.h"

enum {
    ATTENTION_THREADS = 256,
    HEADS = 4, /* query heads of a block */
    OCTET = 8, /* threads that compute a score together */
    KEYS = VUG_KV_PAGE,
    VALUES = 16, /* that are loaded together from the device's memory */
};

/* ---- sums over keys ---------------------------------------------------------------------- */

/* What a thread knows of a softmax: of each head the maximum of the scores, the sum of
 * their exponentials, and the thread's columns of the weighted sum of values. */
template <int columns> struct softmax_sums {
    float most[HEADS], sum[HEADS], out[HEADS][columns];
};

template <int columns> static __device__ void sums_init(softmax_sums<columns> &s)
{
    for (int h = 0; h < HEADS; h++) {
        s.most[h] = -INFINITY;
        s.sum[h] = 0;
        for (int c = 0; c < columns; c++)
            s.out[h][c] = 0;
    }
}

/* Adds the sums of a later page to those so far. A page that no key was visible in adds
 * nothing. */
struct merge_factors {
    float most, so_far, added;
};
static __device__ __forceinline__ merge_factors merge_by(float most, float added)
{
    const float m = fmaxf(most, added);
    return { m, expf(most - m), expf(added - m) };
}

struct merge_rule {
    static __device__ __forceinline__ join_weights weigh(float most, float own)
    {
        const merge_factors by = merge_by(most, own);
        return { by.so_far, own == -INFINITY ? JOIN_SKIPPED : by.added };
    }
};

template <int columns>
static __device__ void sums_merge(softmax_sums<columns> &to, const softmax_sums<columns> &from)
{
    for (int h = 0; h < HEADS; h++) {
        if (from.most[h] == -INFINITY)
            continue;
        const merge_factors by = merge_by(to.most[h], from.most[h]);
        to.most[h] = by.most;
        to.sum[h] = fmaf(from.sum[h], by.added, to.sum[h] * by.so_far);
        for (int c = 0; c < columns; c++)
            to.out[h][c] = fmaf(from.out[h][c], by.added, to.out[h][c] * by.so_far);
    }
}

/* What the threads of a block share. */
struct attention_shared {
    alignas(16) float q[HEADS][VUG_CUDA_MAX_HEAD];
    alignas(16) float score[KEYS][HEADS]; /* then exp(score - most) */
    float most[HEADS], sum[HEADS];
};

/* The queries of a block, and the keys that they see: first .. end - 1. */
struct attention_query : head_group {
    int first, end;
    bool is_first;     /* of the blocks with these keys */
    const float *mask; /* of the query; NULL: none */
    uint8_t *const *page;
};

/* A block has up to `most` heads, at most HEADS. */
static __device__ attention_query find_query(const vug_cuda_attention_job &job, int most)
{
    attention_query q;
    const int per_kv = (int)((uint32_t)job.heads / (uint32_t)job.cache.heads);
    const int chunks = (per_kv + most - 1) / most, chunk = (int)(blockIdx.y % (uint32_t)chunks);
    q.token = blockIdx.x;
    q.kv_head = (int)(blockIdx.y / (uint32_t)chunks);
    q.head = q.kv_head * per_kv + chunk * most;
    q.heads = min(per_kv - chunk * most, most);
    q.is_first = chunk == 0;
    const vug_cuda_token token = job.token[q.token];
    q.page = job.page + token.table;
    q.mask = job.mask ? job.mask + q.token * job.mask_columns : NULL;
    q.end = job.mask ? token.end : token.position + 1;
    q.first = job.window > 0 && !job.mask ? (int)max(q.end - job.window, (int64_t)0) : 0;
    return q;
}

/* The keys lo .. hi - 1 of page `block` of a sequence, which a query sees. */
struct page_range {
    int block, lo, hi;
};

static __device__ page_range visible_keys(const attention_query &q, int block)
{
    return { block, max(q.first - block * KEYS, 0), min(q.end - block * KEYS, (int)KEYS) };
}

/* The scores of the keys of a page for `heads` heads; -inf for those that are not visible. Eight
 * threads compute a score: thread i adds the products of elements 4 i .. 4 i + 3 of each run of
 * 32, then the threads are added pairwise. */
template <int format, int heads>
static __device__ void compute_scores(const vug_cuda_attention_job &job, const attention_query &q,
                                      const kv_part &keys, page_range range,
                                      attention_shared &shared)
{
    const int at = threadIdx.x % OCTET, stride = keys.stride;
#pragma unroll 1
    for (int key = threadIdx.x / OCTET; key < KEYS; key += ATTENTION_THREADS / OCTET) {
        const bool visible = key >= range.lo && key < range.hi;
        const int n = visible ? stride : 0;
        float sum[heads] = { 0 };
#pragma unroll 4
        for (int e = at * KV_QUAD; e < n; e += OCTET * KV_QUAD) {
            float k[KV_QUAD];
            kv_quad<format>(keys, key, e, k);
#pragma unroll
            for (int h = 0; h < heads; h++) {
                const float4 x = *(const float4 *)&shared.q[h][e];
                sum[h] = fmaf(x.x, k[0], sum[h]);
                sum[h] = fmaf(x.y, k[1], sum[h]);
                sum[h] = fmaf(x.z, k[2], sum[h]);
                sum[h] = fmaf(x.w, k[3], sum[h]);
            }
        }
#pragma unroll
        for (int h = 0; h < heads; h++) {
            float s = sum[h];
#pragma unroll
            for (int d = OCTET / 2; d > 0; d /= 2)
                s += __shfl_xor_sync(0xffffffffu, s, d);
            s *= job.scale;
            if (job.softcap > 0)
                s = tanhf(s / job.softcap) * job.softcap;
            if (q.mask && visible)
                s += q.mask[range.block * KEYS + key];
            if (at == 0)
                shared.score[key][h] = visible ? s : -INFINITY;
        }
    }
}

/* A warp for each of `heads` heads: the weights of a page's keys. */
static __device__ void weigh_keys(attention_shared &shared, int heads)
{
    const int h = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (h >= heads)
        return;
    const float a = shared.score[lane][h], b = shared.score[lane + WARP][h];
    const float most = warp_max(fmaxf(a, b));
    const bool none = most == -INFINITY;
    const float pa = none ? 0 : expf(a - most), pb = none ? 0 : expf(b - most);
    const float sum = warp_sum(pa + pb);
    shared.score[lane][h] = pa;
    shared.score[lane + WARP][h] = pb;
    if (lane == 0) {
        shared.most[h] = most;
        shared.sum[h] = sum;
    }
}

/* A thread has columns of its own and adds keys in ascending order, `together` of which it loads
 * together. Keys that are not visible have a weight of 0. */
template <int format, int columns, int heads, int together>
static __device__ void add_values(const vug_cuda_attention_job &job, const kv_part &values,
                                  page_range range, const attention_shared &shared,
                                  softmax_sums<columns> &s)
{
#pragma unroll
    for (int c = 0; c < columns; c++) {
        const int e = threadIdx.x + c * ATTENTION_THREADS;
        if (e >= (int)job.cache.width)
            break;
#pragma unroll 1
        for (int first = range.lo / together * together; first < range.hi; first += together) {
            float v[together];
#pragma unroll
            for (int i = 0; i < together; i++) {
                const int key = first + i;
                v[i] = key >= range.lo && key < range.hi ? kv_element<format>(values, key, e) : 0;
            }
#pragma unroll
            for (int i = 0; i < together; i++) {
                const float *const weight = shared.score[first + i];
#pragma unroll
                for (int h = 0; h < heads; h++)
                    s.out[h][c] = fmaf(weight[h], v[i], s.out[h][c]);
            }
        }
    }
}

template <int format, int columns, int heads, int together>
static __device__ void sum_heads(const vug_cuda_attention_job &job, const attention_query &q,
                                 const kv_part &keys, const kv_part &values, page_range range,
                                 attention_shared &shared, softmax_sums<columns> &s)
{
    compute_scores<format, heads>(job, q, keys, range, shared);
    __syncthreads();
    weigh_keys(shared, heads);
    __syncthreads();
    add_values<format, columns, heads, together>(job, values, range, shared, s);
#pragma unroll
    for (int h = 0; h < heads; h++) {
        s.most[h] = shared.most[h];
        s.sum[h] = shared.sum[h];
    }
    __syncthreads();
}

/* The sums over the visible keys of a page, in every thread. */
template <int format, int columns>
static __device__ void sum_page(const vug_cuda_attention_job &job, const attention_query &q,
                                const kv_part &keys, const kv_part &values, page_range range,
                                attention_shared &shared, softmax_sums<columns> &s)
{
    sums_init(s);
    if (range.lo >= range.hi)
        return; /* the same in every thread */
    if (q.heads == 1)
        sum_heads<format, columns, 1, VALUES>(job, q, keys, values, range, shared, s);
    else if (q.heads == 2)
        sum_heads<format, columns, 2, VALUES>(job, q, keys, values, range, shared, s);
    else
        sum_heads<format, columns, HEADS, VALUES>(job, q, keys, values, range, shared, s);
}

/* ---- results ------------------------------------------------------------------------------ */

/* Stores the sums of page blockIdx.z. */
template <int columns>
static __device__ void store_partial(const vug_cuda_attention_job &job, const attention_query &q,
                                     const softmax_sums<columns> &s)
{
    const int64_t width = job.cache.width;
    for (int h = 0; h < q.heads; h++) {
        float *out = partial_at(job, blockIdx.z, q.token, q.head + h);
        for (int c = 0; c < columns; c++) {
            const int64_t e = threadIdx.x + c * ATTENTION_THREADS;
            if (e < width)
                out[e] = s.out[h][c];
        }
        if (threadIdx.x == 0) {
            out[width] = s.most[h];
            out[width + 1] = s.sum[h];
        }
    }
}

/* Stores the result of a token whose keys were all summed. */
template <int columns>
static __device__ void store_quotients(const vug_cuda_attention_job &job, const attention_query &q,
                                       const softmax_sums<columns> &all)
{
    const int64_t width = job.cache.width;
    for (int h = 0; h < q.heads; h++) {
        float *out = job.out + (q.token * job.heads + q.head + h) * width;
        for (int c = 0; c < columns; c++) {
            const int64_t e = threadIdx.x + c * ATTENTION_THREADS;
            if (e < width)
                out[e] = quotient(all.out[h][c], all.sum[h]);
        }
    }
}

#endif
