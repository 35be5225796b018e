#ifndef VUG_BACKEND_CUDA_ATTENTION_RUNS_H
#define VUG_BACKEND_CUDA_ATTENTION_RUNS_H

/* Attention of runs of tokens, which follow one another in one sequence: what its kernels share. A
 * block computes some tokens for a key/value head. Row r of its product is head r % per_kv, of
 * those that share the keys, of its token r / per_kv. */

#include "backend/cuda/attention_pages.h"

/* The tokens of a block. */
struct token_run {
    head_pages pages;
    int64_t token;                /* the first one */
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

struct page_interval {
    int first, last;

    __device__ __forceinline__ bool has(int page) const
    {
        return page >= first && page <= last;
    }
};

/* The pages of which a query of rows row .. row + n - 1 sees something. */
static __device__ __forceinline__ page_interval seen_pages(const vug_cuda_attention_job &job,
                                                           const token_run &run, int row, int n)
{
    const int first = row / run.per_kv, last = min((row + n - 1) / run.per_kv, run.tokens - 1);
    return { sight_of(job, run.position + first).first / KEYS,
             first < run.tokens ? (run.position + last) / KEYS : -1 };
}

/* Those of which all of these queries see all keys. */
static __device__ __forceinline__ page_interval whole_pages(const vug_cuda_attention_job &job,
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
        sight[r] = sight_of(job, run.position +
                                         (row + (int)threadIdx.x % WARP / 4 + r * 8) / run.per_kv);
}

/* Rounds the queries of a block of so many rows; so many threads take part, this is the one of
 * `index`. */
template <typename T, typename L, int width, int terms, int threads, int rows>
static __device__ void load_queries(const vug_cuda_attention_job &job, const token_run &run,
                                    int index, uint8_t *to)
{
    enum { WAITING = 4 }; /* loads that wait together */
    constexpr int chunks = width / CHUNK_ELEMENTS;
    for (int first = index; first < rows * chunks; first += WAITING * threads) {
        float x[WAITING][CHUNK_ELEMENTS];
#pragma unroll
        for (int j = 0; j < WAITING; j++) {
            const int row = (first + j * threads) / chunks, token = row / run.per_kv;
            const int head = run.pages.head * run.per_kv + row % run.per_kv;
            const float *q = job.q + ((run.token + token) * job.heads + head) * job.cache.width;
            read_query(q, (first + j * threads) % chunks * CHUNK_ELEMENTS,
                       token < run.tokens ? (int)job.cache.width : 0, x[j]);
        }
#pragma unroll
        for (int j = 0; j < WAITING; j++) {
            const int i = first + j * threads;
            if (i < rows * chunks)
                store_query<T, terms>(to + L::at(i / chunks, i % chunks), rows * width * 2, x[j]);
        }
    }
}

/* Stores the results of a lane's two queries: `columns` columns from column `first` on. */
template <int terms, int columns>
static __device__ __forceinline__ void store_queries(const vug_cuda_attention_job &job,
                                                     const token_run &run, int row, int first,
                                                     const page_sums<columns> &all)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int at = row + threadIdx.x % WARP / 4 + r * 8, token = at / run.per_kv;
        if (token < run.tokens)
            store_head<terms>(job, run.token + token, run.pages.head * run.per_kv + at % run.per_kv,
                              first, r, all);
    }
}

#endif
