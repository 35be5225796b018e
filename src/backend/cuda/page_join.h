#ifndef VUG_BACKEND_CUDA_PAGE_JOIN_H
#define VUG_BACKEND_CUDA_PAGE_JOIN_H

/*
 * The results of pages that were computed side by side, and joining them in ascending order. What
 * the results are multiplied with depends on the greatest scores alone, so that it is found for many
 * pages at once, while their results are copied to shared memory; then each lane of a warp adds the
 * pages of a column one after the other.
 */
#include "backend/cuda/attention_kernels.h"
#include "backend/cuda/device_code.h"

enum {
    JOIN_THREADS = 128,
    JOIN_WARPS = JOIN_THREADS / WARP,
    JOIN_PAGES = JOIN_THREADS, /* that are copied together */
    JOIN_BUFFERS = 3,          /* to which pages are copied ahead */
    JOIN_COLUMNS = WARP,       /* of a block */
    JOIN_AT_ONCE = 16,         /* pages that are loaded together from shared memory */
    FEW_PAGES = 4,             /* whose weights each thread finds for itself */
};
static_assert(WARP % JOIN_AT_ONCE == 0, "their bits are in one word");

/* The results of a page for a head of a token: the sums of values, then the greatest score and the
 * sum of weights. */
static __device__ __forceinline__ float *partial_at(const vug_cuda_attention_job &job, int64_t page,
                                                    int64_t token, int64_t head)
{
    return job.partial +
           ((page * job.tokens + token) * job.heads + head) * vug_cuda_partial_row(job.cache.width);
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
    return { partial_at(job, 0, token, head),
             job.tokens * job.heads * vug_cuda_partial_row(job.cache.width), (int)job.cache.width,
             (int)n };
}

/* What is multiplied when a page is joined: the results before it, and its own. */
struct join_weights {
    float so_far, added;
};
static constexpr float JOIN_SKIPPED = -1; /* a weight `added`: the page changes nothing */

/* Joining a page: that, and the sum of its weights. */
struct alignas(16) join_step {
    join_weights by;
    float sum, unused;
};

/* The results of some pages: the block's columns; the greatest score and the sum of weights. */
struct page_buffer {
    alignas(16) float column[JOIN_PAGES][JOIN_COLUMNS];
    float scores[JOIN_PAGES][2];
};

struct join_memory {
    join_step step[JOIN_PAGES];
    float most[JOIN_WARPS];
    uint32_t adds[JOIN_WARPS]; /* a bit for each page that is only added */
    page_buffer buffer[];      /* [buffers_for(job.pages)] */
};

/* As many as a job can use. */
static __host__ __device__ __forceinline__ int buffers_for(int pages)
{
    const int all = (pages + JOIN_PAGES - 1) / JOIN_PAGES;
    return pages <= FEW_PAGES ? 0 : all < JOIN_BUFFERS ? all : (int)JOIN_BUFFERS;
}

/* Finds the weights of pages `first` .. first + JOIN_PAGES - 1, whose scores were copied; those that
 * do not exist are skipped. most: the greatest score before them, then with them. */
template <typename rule>
static __device__ __forceinline__ void find_weights(const page_results &pages, int first,
                                                    float &most, const page_buffer &from,
                                                    join_memory &memory)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const bool exists = first + (int)threadIdx.x < pages.n;
    const float own = exists ? from.scores[threadIdx.x][0] : -INFINITY;
    float greatest = own; /* of the warp's pages up to the lane's */
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const float other = __shfl_up_sync(0xffffffffu, greatest, d);
        greatest = lane >= d ? fmaxf(greatest, other) : greatest;
    }
    const float previous = __shfl_up_sync(0xffffffffu, greatest, 1);
    if (lane == WARP - 1)
        memory.most[warp] = greatest;
    __syncthreads();
    float before = lane > 0 ? fmaxf(most, previous) : most;
#pragma unroll
    for (int w = 0; w < JOIN_WARPS; w++) {
        before = w < warp ? fmaxf(before, memory.most[w]) : before;
        most = fmaxf(most, memory.most[w]);
    }
    join_step of = { rule::weigh(before, own), exists ? from.scores[threadIdx.x][1] : 0, 0 };
    of.by.added = exists ? of.by.added : JOIN_SKIPPED;
    memory.step[threadIdx.x] = of;
    const uint32_t adds =
            __ballot_sync(0xffffffffu, of.by.so_far == 1 && of.by.added != JOIN_SKIPPED);
    if (lane == 0)
        memory.adds[warp] = adds;
}

/* Begins to copy `n` elements to shared memory; four of them do not pass the L1 cache, of which
 * little may be left. */
template <int n> static __device__ __forceinline__ void copy_elements(float *to, const float *from)
{
    if constexpr (n == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)),
                     "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)),
                     "l"(from), "n"(n * 4)
                     : "memory");
}

/* Begins to copy the block's columns of pages `first` .. first + JOIN_PAGES - 1, `n` at a time. */
template <int n>
static __device__ __forceinline__ void copy_columns(const page_results &pages, int first,
                                                    page_buffer &to)
{
    constexpr int threads = JOIN_COLUMNS / n, step = JOIN_THREADS / threads;
    const int column = threadIdx.x % threads * n, at = blockIdx.z * JOIN_COLUMNS + column;
    int page = threadIdx.x / threads;
    const float *from = pages.first + (first + page) * pages.stride + at;
#pragma unroll 2
    for (; page < min(pages.n - first, (int)JOIN_PAGES) && at < pages.width; page += step) {
        copy_elements<n>(&to.column[page][column], from);
        from += step * pages.stride;
    }
}

/* The same, and the scores of a page for each thread, as a group of copies. */
static __device__ __forceinline__ void copy_pages(const page_results &pages, int first,
                                                  join_memory &memory)
{
    page_buffer &to = memory.buffer[first / JOIN_PAGES % JOIN_BUFFERS];
    const int page = first + (int)threadIdx.x;
    float *const scores = to.scores[threadIdx.x];
    const float *const from = pages.first + page * pages.stride + pages.width;
    if (pages.width % 4 == 0) {
        if (page < pages.n)
            copy_elements<2>(scores, from);
        copy_columns<4>(pages, first, to);
    } else {
        for (int i = 0; i < 2 && page < pages.n; i++)
            copy_elements<1>(scores + i, from + i);
        copy_columns<1>(pages, first, to);
    }
    commit_copies();
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
        x[i] = exists ? from[column] : 0;
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

/* The results of a column so far: its sum, and that of the weights. */
struct joined_column {
    float value, sum;
};

/* Joins pages that were copied, as one warp. */
static __device__ __forceinline__ void join_pages(joined_column &all, int n,
                                                  const page_buffer &from,
                                                  const join_memory &memory)
{
#pragma unroll 1
    for (int page = 0; page < n; page += JOIN_AT_ONCE) {
        const uint32_t adds = memory.adds[page / WARP] >> page % WARP;
        const bool only_adds = (adds & ((1u << JOIN_AT_ONCE) - 1)) == (1u << JOIN_AT_ONCE) - 1;
        join_step of[JOIN_AT_ONCE];
        float x[JOIN_AT_ONCE];
#pragma unroll
        for (int i = 0; i < JOIN_AT_ONCE; i++) {
            of[i] = memory.step[page + i];
            x[i] = from.column[page + i][threadIdx.x];
        }
#pragma unroll
        for (int i = 0; only_adds && i < JOIN_AT_ONCE; i++) {
            all.sum = fmaf(of[i].sum, of[i].by.added, all.sum);
            all.value = fmaf(x[i], of[i].by.added, all.value);
        }
#pragma unroll
        for (int i = 0; !only_adds && i < JOIN_AT_ONCE; i++) {
            const bool skips = of[i].by.added == JOIN_SKIPPED;
            const join_weights by = of[i].by;
            all.sum = skips ? all.sum : fmaf(of[i].sum, by.added, all.sum * by.so_far);
            all.value = skips ? all.value : fmaf(x[i], by.added, all.value * by.so_far);
        }
    }
}

/* Block (token, head, columns). rule::weigh(most, own) gives the weights of a page whose greatest
 * score is `own`, where the greatest before it is `most`. */
template <typename rule>
static __global__ void __launch_bounds__(JOIN_THREADS)
        join_kernel(const __grid_constant__ vug_cuda_attention_job job)
{
    extern __shared__ __align__(16) uint8_t shared[];
    join_memory &memory = *(join_memory *)shared;
    const page_results pages = results_of(job, blockIdx.x, blockIdx.y);
    const int column = blockIdx.z * JOIN_COLUMNS + threadIdx.x;
    float *const out = job.out + (blockIdx.x * job.heads + blockIdx.y) * job.cache.width;
    const bool has_column = threadIdx.x < JOIN_COLUMNS && column < pages.width;
    start_next();
    wait_for_previous();
    if (pages.n <= FEW_PAGES) {
        if (has_column)
            out[column] = join_few<rule>(pages, column);
        return;
    }
    joined_column all = { 0, 0 };
    float most = -INFINITY;
#pragma unroll 1
    for (int i = 0; i < JOIN_BUFFERS; i++)
        copy_pages(pages, i * JOIN_PAGES, memory);
    for (int first = 0; first < pages.n; first += JOIN_PAGES) {
        const page_buffer &from = memory.buffer[first / JOIN_PAGES % JOIN_BUFFERS];
        asm volatile("cp.async.wait_group %0;" ::"n"(JOIN_BUFFERS - 1) : "memory");
        __syncthreads();
        find_weights<rule>(pages, first, most, from, memory);
        __syncthreads();
        if (threadIdx.x < JOIN_COLUMNS)
            join_pages(all, min(pages.n - first, (int)JOIN_PAGES), from, memory);
        __syncthreads(); /* these pages were read */
        copy_pages(pages, first + JOIN_BUFFERS * JOIN_PAGES, memory);
    }
    if (has_column)
        out[column] = quotient(all.value, all.sum);
}

/* Joins the pages of all heads. */
template <typename rule>
static void launch_join(cudaStream_t stream, const vug_cuda_attention_job *job)
{
    const dim3 grid((unsigned)job->tokens, (unsigned)job->heads,
                    blocks_for(job->cache.width, JOIN_COLUMNS));
    const size_t bytes = sizeof(join_memory) + buffers_for(job->pages) * sizeof(page_buffer);
    launch_early(stream, join_kernel<rule>, grid, JOIN_THREADS, bytes, job->launch, *job);
}

#endif
