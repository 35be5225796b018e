/*
 * The wanted logits of rows as lists, so that a step copies those and not whole rows to the host.
 *
 * A row is cut into at most 1,024 chunks. At least k logits reach the k-th greatest of the chunks'
 * greatest ones, so none of the k best logits is below it. A warp finds the greatest of a chunk; the
 * last block of a row to end finds the limit, and lists the logits that reach it.
 */
#include "backend/cuda/device_code.h"

enum {
    THREADS = 1024,
    WARPS = THREADS / WARP,
    NOT_LISTED = -1,
};

static constexpr uint32_t NOT_FINITE = UINT32_MAX; /* above the keys of all numbers */

/* A number whose order is that of finite floats; above 0. */
static __device__ __forceinline__ uint32_t key_of(float x)
{
    const uint32_t bits = __float_as_uint(x);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static __device__ __forceinline__ float logit_of(uint32_t key)
{
    return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

/* Logits of a chunk: so many that THREADS chunks are a row. */
static __host__ __device__ __forceinline__ int chunk_length(int64_t width)
{
    return (int)((width + THREADS * WARP - 1) / (THREADS * WARP) * WARP);
}

static __host__ __device__ __forceinline__ int chunks_of(int64_t width)
{
    const int length = chunk_length(width);
    return (int)((width + length - 1) / length);
}

/* The key of the greatest logit of a chunk that may be drawn, or NOT_FINITE; 0: none may. All lanes
 * of a warp take part. */
static __device__ uint32_t greatest_of_chunk(const float *logits, int begin, int end, int n_ids)
{
    uint32_t most = 0;
#pragma unroll 8
    for (int i = begin + threadIdx.x % WARP; i < end; i += WARP) {
        const float x = logits[i];
        const uint32_t key = !isfinite(x) ? NOT_FINITE : i < n_ids ? key_of(x) : 0;
        most = key > most ? key : most;
    }
    return __reduce_max_sync(0xffffffffu, most);
}

/* Whether all other blocks of the row have stored their chunks; the same in each thread. */
static __device__ bool is_last_block(uint32_t *done)
{
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(done, 1) == gridDim.x - 1;
        if (is_last)
            *done = 0;
    }
    __syncthreads();
    __threadfence();
    return is_last;
}

/* The greatest key that at least k of the threads' keys reach. */
static __device__ uint32_t kth_greatest(uint32_t key, int k)
{
    uint32_t limit = 0;
    for (uint32_t bit = 0x80000000u; bit > 0; bit >>= 1) {
        if (__syncthreads_count(key >= (limit | bit)) >= k)
            limit |= bit;
    }
    return limit;
}

/* Lists the logits of a row that reach the k-th greatest one less the margin; `greatest` has those of its
 * chunks. Returns their number, of which only the first VUG_MOST_FOUND are stored. `lowest` becomes the
 * lowest id of those that reach the k-th greatest one itself. */
static __device__ int list_logits(const vug_cuda_wanted_job &job, int row, const uint32_t *greatest,
                                  const vug_cuda_wanted &wanted, float kth, int *lowest)
{
    __shared__ int n;
    const int length = chunk_length(job.width), chunks = chunks_of(job.width);
    const float *logits = job.logits + row * job.width;
    const double limit = (double)kth - wanted.margin;
    vug_candidate *to = job.found[row].logit;
    if (threadIdx.x == 0) {
        n = 0;
        *lowest = INT_MAX;
    }
    __syncthreads();
    for (int c = threadIdx.x / WARP; c < chunks; c += WARPS) {
        if (greatest[c] == 0 || (double)logit_of(greatest[c]) < limit)
            continue;
        const int end = min((c + 1) * length, wanted.n_ids);
        for (int i = c * length + threadIdx.x % WARP; i < end; i += WARP) {
            if ((double)logits[i] < limit)
                continue;
            if (logits[i] >= kth)
                atomicMin(lowest, i);
            const int at = atomicAdd(&n, 1);
            if (at < VUG_MOST_FOUND)
                to[at] = { i, logits[i] };
        }
    }
    __syncthreads();
    return n;
}

/* Blocks (part of the chunks, row). */
static __global__ void __launch_bounds__(THREADS)
        wanted_kernel(const __grid_constant__ vug_cuda_wanted_job job)
{
    __shared__ uint32_t greatest[THREADS];
    __shared__ int lowest;
    const int row = blockIdx.y, chunks = chunks_of(job.width), length = chunk_length(job.width);
    const vug_cuda_wanted wanted = job.wanted[row];
    const float *logits = job.logits + row * job.width;
    const int chunk = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (wanted.best == 0)
        return; /* the same in all blocks of the row */
    if (chunk < chunks) {
        const int end = (int)min((int64_t)(chunk + 1) * length, job.width);
        const uint32_t key = greatest_of_chunk(logits, chunk * length, end, wanted.n_ids);
        if (threadIdx.x % WARP == 0)
            job.greatest[(int64_t)row * THREADS + chunk] = key;
    }
    if (!is_last_block(&job.done[row]))
        return;
    const uint32_t key =
            threadIdx.x < chunks ? __ldcg(&job.greatest[(int64_t)row * THREADS + threadIdx.x]) : 0;
    greatest[threadIdx.x] = key;
    const bool finite = !__syncthreads_or(key == NOT_FINITE);
    const uint32_t kth = kth_greatest(key, wanted.best);
    int n = NOT_LISTED;
    if (finite && kth > 0)
        n = list_logits(job, row, greatest, wanted, logit_of(kth), &lowest);
    if (threadIdx.x == 0) {
        job.found[row].n = n > VUG_MOST_FOUND ? NOT_LISTED : n;
        job.best[row] = n > 0 ? lowest : 0;
    }
}

static __global__ void best_kernel(const int32_t *best, int64_t given, int32_t *to, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = best[i < given ? i : given - 1];
}

void vug_cuda_take_best(cudaStream_t stream, const int32_t *best, int64_t given, int32_t *to,
                        int64_t n)
{
    enum { TOKENS = 64 };
    launch(stream, best_kernel, dim3(blocks_for(n, TOKENS)), TOKENS, best, given, to, n);
}

uint64_t vug_cuda_wanted_bytes(int64_t rows)
{
    return (uint64_t)rows * THREADS * sizeof(uint32_t);
}

void vug_cuda_list_wanted(cudaStream_t stream, const vug_cuda_wanted_job *job)
{
    launch(stream, wanted_kernel,
           dim3(blocks_for(chunks_of(job->width), WARPS), (unsigned)job->rows), THREADS, *job);
}
