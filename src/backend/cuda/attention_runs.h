#ifndef VUG_BACKEND_CUDA_ATTENTION_RUNS_H
#define VUG_BACKEND_CUDA_ATTENTION_RUNS_H

/* Attention of runs of tokens, which follow one another in one sequence: what its kernels share. A
 * block computes some tokens for a key/value head. Row r of its product is head r % per_kv, of
 * those that share the keys, of its token r / per_kv. */

#include "backend/cuda/attention_pages.h"

/* The tokens of a block. */
struct token_run {
    head_pages pages;
    int64_t token; /* the first one */
    int tokens, per_kv, position; /* position: of the first one */
};

/* Of a block with `rows` rows; later tokens, which see more, come first. */
static __device__ __forceinline__ token_run find_run(const vug_cuda_attention_job &job, int rows)
{
    token_run run;
    run.per_kv = (int)(job.heads / job.cache.heads);
    const int most = rows / run.per_kv;
    run.token = (int64_t)(gridDim.y - 1 - blockIdx.y) * most;
    run.tokens = (int)min(job.tokens - run.token, (int64_t)most);
    run.position = job.token[run.token].position;
    run.pages = { job.page + job.token[run.token].table, (int)blockIdx.x,
                  run.position + run.tokens };
    return run;
}

struct page_range {
    int first, last;

    __device__ __forceinline__ bool has(int page) const
    {
        return page >= first && page <= last;
    }
};

/* The pages of which a query of rows row .. row + n - 1 sees something. */
static __device__ __forceinline__ page_range seen_pages(const vug_cuda_attention_job &job,
                                                        const token_run &run, int row, int n)
{
    const int first = row / run.per_kv, last = min((row + n - 1) / run.per_kv, run.tokens - 1);
    return { sight_of(job, run.position + first).first / KEYS,
             first < run.tokens ? (run.position + last) / KEYS : -1 };
}

/* Those of which all of these queries see all keys. */
static __device__ __forceinline__ page_range whole_pages(const vug_cuda_attention_job &job,
                                                         const token_run &run, int row, int n)
{
    const int first = run.position + row / run.per_kv,
              last = run.position + (row + n - 1) / run.per_kv;
    return { (sight_of(job, last).first + KEYS - 1) / KEYS, (first + 1) / KEYS - 1 };
}

/* What the two queries of a lane see; the product of its warp begins with row `row`. */
static __device__ __forceinline__ void find_sight(const vug_cuda_attention_job &job,
                                                  const token_run &run, int row,
                                                  query_sight (&sight)[2])
{
#pragma unroll
    for (int r = 0; r < 2; r++)
        sight[r] = sight_of(job, run.position + (row + (int)threadIdx.x % WARP / 4 + r * 8) /
                                                        run.per_kv);
}

/* Stores the terms of columns e and e + 1 of a row of queries; each term has `rows` rows. */
template <typename T, typename L, int width, int terms>
static __device__ __forceinline__ void store_query(uint8_t *to, int row, int rows, int e, float low,
                                                   float high)
{
    uint8_t *at = to + L::at(row, e / CHUNK_ELEMENTS) + e % CHUNK_ELEMENTS * 2;
    *(uint32_t *)at = T::pair(low, high);
    if (terms > 1)
        *(uint32_t *)(at + rows * width * 2) = T::pair(T::rest(low), T::rest(high));
}

/* Rounds the queries of a block with `rows` rows. */
template <typename T, typename L, int width, int terms>
static __device__ void load_queries(const vug_cuda_attention_job &job, const token_run &run,
                                    int rows, uint8_t *to)
{
    for (int i = threadIdx.x; i < rows * width / 2; i += blockDim.x) {
        const int row = i / (width / 2), e = i % (width / 2) * 2;
        const bool exists = row / run.per_kv < run.tokens;
        const float *q = job.q + ((run.token + row / run.per_kv) * job.heads +
                                  run.pages.head * run.per_kv + row % run.per_kv) *
                                         job.cache.width;
        const float low = exists && e < job.cache.width ? q[e] : 0;
        const float high = exists && e + 1 < job.cache.width ? q[e + 1] : 0;
        store_query<T, L, width, terms>(to, row, rows, e, low, high);
    }
}

/* Stores the results of a lane's two queries: `columns` columns from column `first` on. */
template <int columns>
static __device__ __forceinline__ void store_queries(const vug_cuda_attention_job &job,
                                                     const token_run &run, int row, int first,
                                                     const page_sums<columns> &all)
{
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int at = row + lane / 4 + r * 8;
        float *out = job.out + ((run.token + at / run.per_kv) * job.heads +
                                run.pages.head * run.per_kv + at % run.per_kv) *
                                       job.cache.width;
        if (at / run.per_kv >= run.tokens)
            continue;
#pragma unroll
        for (int i = 0; i < columns / 4; i++) {
            const int e = first + i / 2 * 8 + lane % 4 * 2 + i % 2;
            if (e < job.cache.width)
                out[e] = all.out[i / 2 * 4 + r * 2 + i % 2] / all.sum[r];
        }
    }
}

#endif
