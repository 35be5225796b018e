#ifndef VUG_BACKEND_CUDA_PAGE_JOIN_H
#define VUG_BACKEND_CUDA_PAGE_JOIN_H

/*
 * The results of pages that were computed side by side, and joining them in ascending order. What
 * the results are multiplied with depends on the greatest scores alone, so that it is found for many
 * pages at once; then each thread adds the pages of a column one after the other.
 */
#include "backend/cuda/attention_kernels.h"
#include "backend/cuda/device_code.h"

enum {
    JOIN_THREADS = 128, /* each has a page, then a column */
    JOIN_WARPS = JOIN_THREADS / WARP,
    JOIN_LOADS = 32, /* of pages that wait together */
    FEW_PAGES = 4,   /* whose weights each thread finds for itself */
};

/* The results of a page for a head of a token: the sums of values, then the greatest score and the
 * sum of weights. */
static __device__ __forceinline__ float *partial_at(const vug_cuda_attention_job &job, int64_t page,
                                                    int64_t token, int64_t head)
{
    return job.partial + ((page * job.tokens + token) * job.heads + head) * (job.cache.width + 2);
}

/* The pages of a head that are joined. */
struct page_results {
    const float *first; /* the results of the first page */
    int64_t stride;     /* from page to page */
    int width, n;
};

static __device__ __forceinline__ page_results results_of(const vug_cuda_attention_job &job,
                                                          int64_t token, int64_t head)
{
    const vug_cuda_token at = job.token[token];
    const int64_t end = job.mask ? at.end : at.position + 1;
    const int64_t first = job.window > 0 && !job.mask ? max(end - job.window, (int64_t)0) : 0;
    const int64_t n = (end + VUG_KV_PAGE - 1) / VUG_KV_PAGE - first / VUG_KV_PAGE;
    return { partial_at(job, 0, token, head), job.tokens * job.heads * (job.cache.width + 2),
             (int)job.cache.width, (int)n };
}

/* What is multiplied when a page is joined: the results before it, and its own. */
struct join_weights {
    float so_far, added;
};
static constexpr float JOIN_SKIPPED = -1; /* a weight `added`: the page changes nothing */

struct join_memory {
    join_weights by[JOIN_THREADS];
    float sum[JOIN_THREADS], most[JOIN_WARPS];
};

/* Finds the weights of pages `first` .. first + JOIN_THREADS - 1. most: the greatest score before
 * them, then with them. */
template <typename rule>
static __device__ __forceinline__ void find_weights(const page_results &pages, int first,
                                                    float &most, join_memory &memory)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, page = first + threadIdx.x;
    const float *scores = pages.first + page * pages.stride + pages.width;
    const float own = page < pages.n ? scores[0] : -INFINITY;
    float greatest = own; /* of the warp's pages up to the lane's */
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const float other = __shfl_up_sync(0xffffffffu, greatest, d);
        greatest = lane >= d ? fmaxf(greatest, other) : greatest;
    }
    const float previous = __shfl_up_sync(0xffffffffu, greatest, 1);
    memory.sum[threadIdx.x] = page < pages.n ? scores[1] : 0;
    if (lane == WARP - 1)
        memory.most[warp] = greatest;
    __syncthreads();
    float before = lane > 0 ? fmaxf(most, previous) : most;
#pragma unroll
    for (int w = 0; w < JOIN_WARPS; w++) {
        before = w < warp ? fmaxf(before, memory.most[w]) : before;
        most = fmaxf(most, memory.most[w]);
    }
    memory.by[threadIdx.x] = rule::weigh(before, own);
    __syncthreads();
}

static __device__ __forceinline__ void load_results(const page_results &pages, int first,
                                                    int column, float (&x)[JOIN_LOADS])
{
#pragma unroll
    for (int i = 0; i < JOIN_LOADS; i++) {
        if (first + i < pages.n && column < pages.width)
            x[i] = pages.first[(first + i) * pages.stride + column];
    }
}

/* A column of the joined pages: up to FEW_PAGES, so that threads need not wait for one another. */
template <typename rule>
static __device__ __forceinline__ float join_few(const page_results &pages, int column)
{
    float own[FEW_PAGES], of_page[FEW_PAGES], x[FEW_PAGES];
    float most = -INFINITY, sum = 0, value = 0;
#pragma unroll
    for (int i = 0; i < FEW_PAGES; i++) {
        const float *from = pages.first + i * pages.stride;
        const bool exists = i < pages.n;
        own[i] = exists ? from[pages.width] : -INFINITY;
        of_page[i] = exists ? from[pages.width + 1] : 0;
        x[i] = exists && column < pages.width ? from[column] : 0;
    }
#pragma unroll
    for (int i = 0; i < FEW_PAGES; i++) {
        const join_weights by = rule::weigh(most, own[i]);
        most = fmaxf(most, own[i]);
        if (i < pages.n && by.added != JOIN_SKIPPED) {
            sum = fmaf(of_page[i], by.added, sum * by.so_far);
            value = fmaf(x[i], by.added, value * by.so_far);
        }
    }
    return quotient(value, sum);
}

/* Block (token, head, columns). rule::weigh(most, own) gives the weights of a page whose greatest
 * score is `own`, where the greatest before it is `most`. */
template <typename rule>
static __global__ void __launch_bounds__(JOIN_THREADS)
        join_kernel(const __grid_constant__ vug_cuda_attention_job job)
{
    __shared__ join_memory memory;
    const page_results pages = results_of(job, blockIdx.x, blockIdx.y);
    const int column = blockIdx.z * JOIN_THREADS + threadIdx.x;
    float *const out = job.out + (blockIdx.x * job.heads + blockIdx.y) * job.cache.width;
    float most = -INFINITY, sum = 0, value = 0, x[JOIN_LOADS], later[JOIN_LOADS];
    start_next();
    wait_for_previous();
    if (pages.n <= FEW_PAGES) {
        const float joined = join_few<rule>(pages, column);
        if (column < pages.width)
            out[column] = joined;
        return;
    }
    load_results(pages, 0, column, x);
    for (int first = 0; first < pages.n; first += JOIN_LOADS) {
        const int slot = first % JOIN_THREADS;
        if (slot == 0) {
            __syncthreads(); /* the weights before these were read */
            find_weights<rule>(pages, first, most, memory);
        }
        load_results(pages, first + JOIN_LOADS, column, later);
#pragma unroll
        for (int i = 0; i < JOIN_LOADS; i++) {
            const join_weights by = memory.by[slot + i];
            if (first + i < pages.n && by.added != JOIN_SKIPPED) {
                sum = fmaf(memory.sum[slot + i], by.added, sum * by.so_far);
                value = fmaf(x[i], by.added, value * by.so_far);
            }
            x[i] = later[i];
        }
    }
    if (column < pages.width)
        out[column] = quotient(value, sum);
}

/* Joins the pages of all heads; early: as launch_early. */
template <typename rule>
static void launch_join(cudaStream_t stream, const vug_cuda_attention_job *job, bool early)
{
    const dim3 grid((unsigned)job->tokens, (unsigned)job->heads,
                    blocks_for(job->cache.width, JOIN_THREADS));
    launch_early(stream, join_kernel<rule>, grid, JOIN_THREADS, 0, early, *job);
}

#endif
