/* Rows of activations as tensor cores read them: their terms in blocks (activation_blocks.h), with
 * the activation, or the sum and the norm, that give them. */
#include "backend/cuda/block_stores.h"
#include "backend/cuda/prefill.h"
#include "backend/cuda/row_integers.h"
#include "backend/cuda/row_math.h"
#include "backend/cuda/weight_numbers.h"

/* ---- chunks of eight columns, of which four neighbouring lanes have 32 -------------------------- */

enum { CHUNK = 8 };

/* Eight elements of a row; zeros past its end. */
static __device__ __forceinline__ void read_chunk(const float *row, int64_t first, int64_t columns,
                                                  float (&v)[CHUNK])
{
    const float *from = row + first;
    if (columns % CHUNK == 0 && first < columns) {
        const float4 a = ((const float4 *)from)[0], b = ((const float4 *)from)[1];
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
        return;
    }
    for (int i = 0; i < CHUNK; i++)
        v[i] = first + i < columns ? from[i] : 0;
}

/* The first of four neighbouring lanes stores the sum of their chunks. */
static __device__ __forceinline__ void store_sum(float *to, const float (&v)[CHUNK])
{
    const uint32_t four = 0xfu << threadIdx.x % WARP / 4 * 4;
    float sum = (v[0] + v[1]) + (v[2] + v[3]);
    sum += (v[4] + v[5]) + (v[6] + v[7]);
    for (int d = 1; d < 4; d *= 2)
        sum += __shfl_xor_sync(four, sum, d);
    if (threadIdx.x % 4 == 0)
        *to = sum;
}

/* Rounds the chunks of four neighbouring lanes to integers: v becomes their first terms, `low` the
 * second. */
static __device__ __forceinline__ void round_to_integers(float (&v)[CHUNK], float (&low)[CHUNK])
{
    const uint32_t four = 0xfu << threadIdx.x % WARP / 4 * 4;
    uint32_t largest = 0;
    for (int i = 0; i < CHUNK; i++)
        largest = max(largest, magnitude(v[i]));
    for (int d = 1; d < 4; d *= 2)
        largest = max(largest, __shfl_xor_sync(four, largest, d));
    const x_scale of = x_scale_of(largest);
    for (int i = 0; i < CHUNK; i++) {
        const x_terms terms = integer_terms(v[i], of);
        v[i] = terms.high, low[i] = terms.low;
    }
}

/* Stores the terms and the sum of chunk `chunk` of a row. */
static __device__ __forceinline__ void store_chunk(const vug_cuda_blocks &to, int64_t row,
                                                   int64_t chunk, float (&v)[CHUNK])
{
    const int64_t first = chunk * CHUNK, term_bytes = vug_cuda_term_bytes(to.rows);
    if (to.x_sums)
        store_sum(to.x_sums + first / VUG_CUDA_SUM_COLUMNS * vug_cuda_block_rows(to.rows) + row, v);
    if (to.integers) {
        float low[CHUNK];
        round_to_integers(v, low);
        uint8_t *at = to.blocks + vug_cuda_block_offset(term_bytes, to.terms, row, first);
        store_rounded(at, v);
        store_rounded(at + term_bytes, low);
    } else if (to.terms == 1) {
        store_terms<1>(to.blocks, term_bytes, row, first, v);
    } else {
        store_terms<2>(to.blocks, term_bytes, row, first, v);
    }
}

/* ---- rows as they are, or with an activation ------------------------------------------------ */

/* A thread stores a chunk. */
static __global__ void __launch_bounds__(ROW_THREADS)
        store_blocks_kernel(const __grid_constant__ vug_cuda_blocks_job job)
{
    const int64_t row = blockIdx.x, chunk = (int64_t)blockIdx.y * ROW_THREADS + threadIdx.x;
    const int64_t first = chunk * CHUNK;
    start_next();
    wait_for_previous();
    if (first >= vug_cuda_padded(job.to.columns))
        return;
    float v[CHUNK] = {}, up[CHUNK];
    const int choice = job.choice ? job.choice[row] : 0;
    const int64_t from = job.choice ? choice / job.per_row : row;
    if (choice >= 0)
        read_chunk(job.x + from * job.to.columns, first, job.to.columns, v);
    if (job.up) {
        read_chunk(job.up + row * job.to.columns, first, job.to.columns, up);
        for (int i = 0; i < CHUNK; i++)
            v[i] = activate(job.activation, v[i], up[i]);
    }
    store_chunk(job.to, row, chunk, v);
}

/* ---- rows with a norm ------------------------------------------------------------------------ */

/* A block computes a row; a thread has elements t, t + 256, .. of it, in the order of row_squares, and
 * `most` of them if `whole`, without which many instructions only ask whether an element exists.
 * Weights are loaded before the kernel before has ended, to shared memory, since registers decide
 * how many blocks run at once. */
template <int most, bool whole>
static __global__ void __launch_bounds__(ROW_THREADS)
        norm_blocks_kernel(const __grid_constant__ vug_cuda_blocks_job job)
{
    extern __shared__ float4 row_memory[];
    const vug_cuda_row &r = job.row;
    const int n = (int)job.to.columns, padded = (int)vug_cuda_padded(n);
    float *const norm = (float *)row_memory, *const add_norm = norm + padded;
    const int64_t row = blockIdx.x, at = row * n + threadIdx.x;
    const float *const x_at = r.x + at, *const add_at = r.add ? r.add + at : NULL;
    const int left = n - (int)threadIdx.x;
    const auto exists = [&](int i) { return whole || i * ROW_THREADS < left; };
    float x[most], add[most];
    start_next();
    copy_async(norm, r.norm, n);
    if (r.add_norm)
        copy_async(add_norm, r.add_norm, n);
    wait_for_previous();
#pragma unroll
    for (int i = 0; i < most; i++) {
        x[i] = exists(i) ? x_at[i * ROW_THREADS] : 0;
        add[i] = add_at && exists(i) ? add_at[i * ROW_THREADS] : 0;
    }
    wait_async();
    if (add_at) {
        float squares = 0;
#pragma unroll
        for (int i = 0; i < most; i++)
            squares = fmaf(x[i], x[i], squares);
        const float *const add_norm_at = add_norm + threadIdx.x;
        float *const sum_at = r.sum + at;
        if (r.add_norm) {
            const float by = norm_factor(block_sum<0>(squares), n, r.add_eps);
#pragma unroll
            for (int i = 0; i < most; i++)
                x[i] = exists(i) ? x[i] * by * (add_norm_at[i * ROW_THREADS] + r.add_bias) : 0;
        }
#pragma unroll
        for (int i = 0; i < most; i++) {
            if (!exists(i))
                continue;
            x[i] += add[i];
            sum_at[i * ROW_THREADS] = x[i];
        }
    }
    float squares = 0;
#pragma unroll
    for (int i = 0; i < most; i++)
        squares = fmaf(x[i], x[i], squares);
    const float by = norm_factor(block_sum<1>(squares), n, r.eps);
    float *const result_at = norm + threadIdx.x; /* an element replaces its weight */
#pragma unroll
    for (int i = 0; i < most; i++) {
        float *const result = result_at + i * ROW_THREADS;
        if (whole || i * ROW_THREADS < padded - (int)threadIdx.x)
            *result = exists(i) ? x[i] * by * (*result + r.bias) : 0;
    }
    __syncthreads();
    for (int chunk = threadIdx.x; chunk < padded / CHUNK; chunk += ROW_THREADS) {
        const float4 a = row_memory[2 * chunk], b = row_memory[2 * chunk + 1];
        float v[CHUNK] = { a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w };
        store_chunk(job.to, row, chunk, v);
    }
}

/* ---- launching --------------------------------------------------------------------------------- */

enum { MOST_OF_THREAD = 32 };

bool vug_cuda_takes_normed_rows(int64_t columns)
{
    return vug_cuda_padded(columns) <= MOST_OF_THREAD * ROW_THREADS;
}

template <int most>
static void launch_norm_blocks(cudaStream_t stream, const vug_cuda_blocks_job *job)
{
    const size_t bytes = (size_t)vug_cuda_padded(job->to.columns) * sizeof(float);
    const auto kernel = job->to.columns == most * ROW_THREADS ? norm_blocks_kernel<most, true>
                                                              : norm_blocks_kernel<most, false>;
    launch_early(stream, kernel, dim3((unsigned)job->to.rows), ROW_THREADS,
                 job->row.add_norm ? 2 * bytes : bytes, job->launch, *job);
}

static void choose_most(cudaStream_t stream, const vug_cuda_blocks_job *job)
{
    const int64_t padded = vug_cuda_padded(job->to.columns);
    if (padded <= 5 * ROW_THREADS)
        launch_norm_blocks<5>(stream, job);
    else if (padded <= 10 * ROW_THREADS)
        launch_norm_blocks<10>(stream, job);
    else if (padded <= 16 * ROW_THREADS)
        launch_norm_blocks<16>(stream, job);
    else
        launch_norm_blocks<MOST_OF_THREAD>(stream, job);
}

void vug_cuda_store_blocks(cudaStream_t stream, const vug_cuda_blocks_job *job)
{
    if (job->row.norm) {
        choose_most(stream, job);
        return;
    }
    const dim3 grid((unsigned)job->to.rows,
                    blocks_for(vug_cuda_padded(job->to.columns), CHUNK * ROW_THREADS));
    launch_early(stream, store_blocks_kernel, grid, ROW_THREADS, 0, job->launch, *job);
}
