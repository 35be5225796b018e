#ifndef VUG_BACKEND_CUDA_DECODE_ROWS_H
#define VUG_BACKEND_CUDA_DECODE_ROWS_H

/* Attention of a token in one launch: what its kernels share. A block norms and rotates the queries
 * that share keys and, in the token's own page, the key, in the order of row_math.h; the last block
 * of a token to end merges the pages. */

#include "backend/cuda/kv_elements.h"
#include "backend/cuda/row_math.h"

enum {
    DECODE_HEADS = VUG_CUDA_DECODE_HEADS, /* queries of a block */
    DECODE_ROWS = DECODE_HEADS + 1,
    MOST_PAGES = 32, /* that are merged */
};

/* ---- queries and the key ------------------------------------------------------------------ */

/* The rows of a block: `n` queries, then nothing up to DECODE_HEADS, then the key if there is one. */
template <int columns> struct input_rows {
    float x[DECODE_ROWS][columns], value[columns]; /* the thread's columns */
    float q_weight[columns], k_weight[columns];
    float cosine, sine; /* of the pairs that the thread rotates */
    int64_t n;
    bool has_key;
};

static __device__ __forceinline__ float norm_weight(const vug_cuda_norm_job &job, int e)
{
    return job.w && e < (int)job.width ? job.w[e] + job.bias : 1;
}

template <int columns>
static __device__ __forceinline__ void load_weights(const vug_cuda_attention_inputs_job &job,
                                                    input_rows<columns> &rows)
{
    for (int c = 0; c < columns; c++) {
        rows.q_weight[c] = norm_weight(job.q, threadIdx.x + c * ROW_THREADS);
        rows.k_weight[c] = norm_weight(job.k, threadIdx.x + c * ROW_THREADS);
    }
}

/* Row `r` of a block, if it exists. */
static __device__ __forceinline__ const float *row_of_block(
        const vug_cuda_attention_inputs_job &job, const head_group &q, int r)
{
    return r < DECODE_HEADS ? job.q.x + (q.token * job.q.heads + q.head + r) * job.q.width
                            : job.k.x + (q.token * job.k.heads + q.kv_head) * job.k.width;
}

template <int columns>
static __device__ __forceinline__ bool row_exists(const input_rows<columns> &rows, int r)
{
    return r < DECODE_HEADS ? r < rows.n : rows.has_key;
}

/* `pair`: of the dims / 2 pairs of a row, the one that the thread rotates. */
template <int columns>
static __device__ void load_inputs(const vug_cuda_attention_inputs_job &job, const head_group &q,
                                   int pair, input_rows<columns> &rows)
{
    const int width = (int)job.q.width, dims = (int)job.q.dims;
    const float *table = job.q.table + q.token * dims;
    const float *value = job.store.v + (q.token * job.store.cache.heads + q.kv_head) * width;
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
#pragma unroll
        for (int c = 0; c < columns; c++) {
            const int e = threadIdx.x + c * ROW_THREADS;
            rows.x[r][c] = 0;
            if (row_exists(rows, r) && e < width)
                rows.x[r][c] = row_of_block(job, q, r)[e];
        }
    }
#pragma unroll
    for (int c = 0; c < columns; c++) {
        const int e = threadIdx.x + c * ROW_THREADS;
        rows.value[c] = rows.has_key && e < width ? value[e] : 0;
    }
    rows.cosine = table[pair];
    rows.sine = table[pair + dims / 2];
}

/* The sums of squares of all rows, in the order of row_squares. */
template <int columns>
static __device__ void sum_squares(const input_rows<columns> &rows, float (&sum)[DECODE_ROWS])
{
    __shared__ float of_warp[DECODE_ROWS][ROW_WARPS];
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
        float s = 0;
        if (!row_exists(rows, r))
            continue;
#pragma unroll
        for (int c = 0; c < columns; c++)
            s = fmaf(rows.x[r][c], rows.x[r][c], s);
        s = warp_sum(s);
        if (threadIdx.x % WARP == 0)
            of_warp[r][threadIdx.x / WARP] = s;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
        sum[r] = of_warp[r][0];
#pragma unroll
        for (int i = 1; i < ROW_WARPS; i++)
            sum[r] += of_warp[r][i];
    }
}

/* Norms the rows where the job asks for it, and rotates them in shared memory. */
template <int columns>
static __device__ void rotate_rows(const vug_cuda_attention_inputs_job &job,
                                   const input_rows<columns> &rows, int pair,
                                   float (&query)[DECODE_HEADS][VUG_CUDA_MAX_HEAD], float *key)
{
    const int width = (int)job.q.width, h = (int)job.q.dims / 2, at_once = ROW_THREADS / h;
    float squares[DECODE_ROWS];
    sum_squares(rows, squares);
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
        if (!row_exists(rows, r))
            continue;
        const vug_cuda_norm_job &norm = r < DECODE_HEADS ? job.q : job.k;
        const bool norms = r < DECODE_HEADS ? job.q_norms : job.k_norms;
        const float by = norms ? norm_factor(squares[r], width, norm.eps) : 1;
#pragma unroll
        for (int c = 0; c < columns; c++) {
            const int e = threadIdx.x + c * ROW_THREADS;
            const float x = norms ? rows.x[r][c] * by : rows.x[r][c];
            const float w = r < DECODE_HEADS ? rows.q_weight[c] : rows.k_weight[c];
            (r < DECODE_HEADS ? query[r] : key)[e] = norms && norm.w ? x * w : x;
        }
    }
    __syncthreads();
    const int first = threadIdx.x / h;
    for (int r = first; first < at_once && r < DECODE_ROWS; r += at_once) {
        if (!row_exists(rows, r))
            continue;
        float *a = (r < DECODE_HEADS ? query[r] : key) + pair, *b = a + h;
        const rotated_pair rotated = rotate(*a, *b, rows.cosine, rows.sine);
        *a = rotated.first;
        *b = rotated.second;
    }
    __syncthreads();
}

/* ---- merging ---------------------------------------------------------------------------------- */

/* Whether all other blocks of the token's pages have stored their sums; the same in each thread. */
static __device__ bool is_last_page(const vug_cuda_decode_attention_job &job, const head_group &q,
                                    int pages)
{
    __shared__ bool is_last;
    uint32_t *done = job.pages_done + q.token * job.attention.heads + q.head;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(done, 1) == (uint32_t)pages - 1;
        if (is_last)
            *done = 0;
    }
    __syncthreads();
    __threadfence();
    return is_last;
}

#endif
