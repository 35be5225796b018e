#ifndef VUG_BACKEND_CUDA_DECODE_ROWS_H
#define VUG_BACKEND_CUDA_DECODE_ROWS_H

/* Attention of a token in one launch: what its kernels share. A block norms and rotates the queries
 * that share keys and, in the token's own page, the key, in the order of row_math.h; the last block
 * of a token to end merges the pages. */

#include "backend/cuda/kv_elements.h"
#include "backend/cuda/row_math.h"

enum {
    DECODE_HEADS = VUG_CUDA_DECODE_HEADS, /* queries of a block */
    MOST_PAGES = 32,                      /* that are merged */
};

/* ---- queries and the key ------------------------------------------------------------------ */

/* The rows of a block: `heads` queries, of which `n` exist, then the key if there is one. */
template <int columns, int heads> struct input_rows {
    static constexpr int most = heads + 1;
    float x[most][columns], value[columns]; /* the thread's columns */
    float q_weight[columns], k_weight[columns];
    float cosine, sine; /* of the pairs that the thread rotates */
    int n;              /* `heads` unless that is DECODE_HEADS */
    bool has_key;
};

static __device__ __forceinline__ float norm_weight(const vug_cuda_norm_job &job, int e)
{
    return job.w && e < (int)job.width ? job.w[e] + job.bias : 1;
}

template <int columns, int heads>
static __device__ __forceinline__ void load_weights(const vug_cuda_attention_inputs_job &job,
                                                    input_rows<columns, heads> &rows)
{
    for (int c = 0; c < columns; c++) {
        rows.q_weight[c] = norm_weight(job.q, threadIdx.x + c * ROW_THREADS);
        rows.k_weight[c] = norm_weight(job.k, threadIdx.x + c * ROW_THREADS);
    }
}

/* Whether a block has row `r`; without a key that row has zeros. */
template <int columns, int heads>
static __device__ __forceinline__ bool row_exists(const input_rows<columns, heads> &rows, int r)
{
    return heads < DECODE_HEADS || r == heads || r < rows.n;
}

/* The pairs that a thread rotates: pair `pair` of the dims / 2 pairs of rows first, first + step,
 * .. */
struct rotated_pairs {
    int pair, first, step, dims;
};

static __device__ __forceinline__ rotated_pairs find_pairs(int dims)
{
    const int h = dims / 2, step = ROW_THREADS / h, first = (int)threadIdx.x / h;
    return { (int)threadIdx.x - first * h, first, step, dims };
}

/* Where a thread's first elements of the rows of a block are, and what it rotates with. */
template <int heads> struct input_places {
    const float *row[heads + 1], *value, *table;
};

/* In place of a row that does not exist there is another one. */
template <int columns, int heads>
static __device__ __forceinline__ input_places<heads> find_places(
        const vug_cuda_attention_inputs_job &job, const head_group &q, const rotated_pairs &pairs,
        const input_rows<columns, heads> &rows)
{
    const int width = (int)job.q.width;
    const int64_t kv_row = (q.token * job.store.cache.heads + q.kv_head) * width;
    input_places<heads> at;
#pragma unroll
    for (int r = 0; r < heads; r++)
        at.row[r] =
                job.q.x + (q.token * job.q.heads + q.head + (row_exists(rows, r) ? r : 0)) * width;
    at.row[heads] = job.k.x + kv_row;
    at.value = job.store.v + kv_row;
    at.table = job.q.table + q.token * pairs.dims + pairs.pair;
    return at;
}

/* Loads without conditions, so that they go together. */
template <int columns, int heads>
static __device__ __forceinline__ void load_inputs(const input_places<heads> &at, int width,
                                                   int dims, input_rows<columns, heads> &rows)
{
    float value[columns];
#pragma unroll
    for (int c = 0; c < columns; c++) {
        const int e = min((int)threadIdx.x + c * ROW_THREADS, width - 1);
#pragma unroll
        for (int r = 0; r < rows.most; r++)
            rows.x[r][c] = at.row[r][e];
        value[c] = at.value[e];
    }
    rows.cosine = at.table[0];
    rows.sine = at.table[dims / 2];
#pragma unroll
    for (int c = 0; c < columns; c++) {
        const bool inside = (int)threadIdx.x + c * ROW_THREADS < width;
#pragma unroll
        for (int r = 0; r < heads; r++)
            rows.x[r][c] = inside ? rows.x[r][c] : 0;
        rows.x[heads][c] = inside && rows.has_key ? rows.x[heads][c] : 0;
        rows.value[c] = inside && rows.has_key ? value[c] : 0;
    }
}

/* The sums of squares of all rows, in the order of row_squares. */
template <int columns, int heads>
static __device__ void sum_squares(const input_rows<columns, heads> &rows, float (&sum)[heads + 1])
{
    __shared__ alignas(16) float of_warp[heads + 1][ROW_WARPS];
#pragma unroll
    for (int r = 0; r < rows.most; r++) {
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
    for (int r = 0; r < rows.most; r++) {
        sum[r] = add_warps(of_warp[r]);
    }
}

/* Norms the rows where the job asks for it, and rotates them in shared memory. */
template <int columns, int heads>
static __device__ void rotate_rows(const vug_cuda_attention_inputs_job &job,
                                   const input_rows<columns, heads> &rows,
                                   const rotated_pairs &pairs,
                                   float (&query)[DECODE_HEADS][VUG_CUDA_MAX_HEAD], float *key)
{
    const int width = (int)job.q.width;
    float squares[rows.most];
    sum_squares(rows, squares);
#pragma unroll
    for (int r = 0; r < rows.most; r++) {
        if (!row_exists(rows, r))
            continue;
        const vug_cuda_norm_job &norm = r < heads ? job.q : job.k;
        const bool norms = r < heads ? job.q_norms : job.k_norms;
        const float by = norms ? norm_factor(squares[r], width, norm.eps) : 1;
#pragma unroll
        for (int c = 0; c < columns; c++) {
            const int e = threadIdx.x + c * ROW_THREADS;
            const float x = norms ? rows.x[r][c] * by : rows.x[r][c];
            const float w = r < heads ? rows.q_weight[c] : rows.k_weight[c];
            (r < heads ? query[r] : key)[e] = norms && norm.w ? x * w : x;
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int r = pairs.first; pairs.first < pairs.step && r < rows.most; r += pairs.step) {
        if (!row_exists(rows, r))
            continue;
        float *a = (r < heads ? query[r] : key) + pairs.pair, *b = a + pairs.dims / 2;
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
