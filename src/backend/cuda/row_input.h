#ifndef VUG_BACKEND_CUDA_ROW_INPUT_H
#define VUG_BACKEND_CUDA_ROW_INPUT_H

/* How a block of row_linear.cu computes the row that it multiplies: a row as it is, or one that is added
 * to another and normed. */

#include "backend/cuda/row_terms.h"

/* The weights of norms as a block copies them to shared memory. */
template <typename W> struct copied_norms {
    const float *norm, *add_norm;

    __device__ __forceinline__ void begin(const vug_cuda_row &r, int n, const row_parts &to)
    {
        norm = to.norm, add_norm = to.add_norm;
        if (r.norm)
            copy_async(to.norm, r.norm, n);
        if (r.add_norm)
            copy_async(to.add_norm, r.add_norm, n);
    }

    /* Those of the thread's next quad, and of its next LOADS_TOGETHER elements from `i` on. */
    __device__ __forceinline__ float4 next_quad(int n, uint32_t quad)
    {
        return row_quad<W>(norm, n, quad);
    }

    __device__ __forceinline__ void next_added(int n, int i, float (&v)[LOADS_TOGETHER])
    {
        load_elements(add_norm, n, i, v);
    }
};

/* The same in registers: each thread loads those that it needs of up to MAX_KEPT_ROW columns. */
template <typename W> struct kept_norms {
    enum {
        QUADS = (MAX_KEPT_ROW / QUAD + ROW_THREADS - 1) / ROW_THREADS,
        GROUPS = (MAX_KEPT_ROW / LOADS_TOGETHER + ROW_THREADS - 1) / ROW_THREADS,
    };
    float4 quads[QUADS];
    float groups[GROUPS][LOADS_TOGETHER];

    __device__ __forceinline__ void begin(const vug_cuda_row &r, int n, const row_parts &)
    {
        if (!r.norm)
            return;
#pragma unroll
        for (int i = 0; i < QUADS; i++)
            quads[i] = row_quad<W>(r.norm, n, threadIdx.x + i * ROW_THREADS);
        if (!r.add_norm)
            return;
#pragma unroll
        for (int i = 0; i < GROUPS; i++)
            load_elements(r.add_norm, n, threadIdx.x + i * LOADS_TOGETHER * ROW_THREADS, groups[i]);
    }

    __device__ __forceinline__ float4 next_quad(int, uint32_t)
    {
        const float4 w = quads[0];
#pragma unroll
        for (int i = 1; i < QUADS; i++)
            quads[i - 1] = quads[i];
        return w;
    }

    __device__ __forceinline__ void next_added(int, int, float (&v)[LOADS_TOGETHER])
    {
#pragma unroll
        for (int j = 0; j < LOADS_TOGETHER; j++) {
            v[j] = groups[0][j];
#pragma unroll
            for (int i = 1; i < GROUPS; i++)
                groups[i - 1][j] = groups[i][j];
        }
    }
};

/* Adds a row, normed before if so asked, to another, in place of it; returns the thread's squares,
 * of which row_squares has the order. */
template <typename N>
static __device__ __forceinline__ float add_row(const vug_cuda_row &r, int n,
                                                const row_parts &parts, N &norms)
{
    const float by = r.add_norm ? norm_factor(row_squares(parts.x, n), n, r.add_eps) : 0;
    float squares = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += LOADS_TOGETHER * ROW_THREADS) {
        float x[LOADS_TOGETHER], add[LOADS_TOGETHER], norm[LOADS_TOGETHER];
        load_elements(parts.x, n, i, x);
        load_elements(parts.add, n, i, add);
        if (r.add_norm)
            norms.next_added(n, i, norm);
#pragma unroll
        for (int j = 0; j < LOADS_TOGETHER; j++) {
            const int e = i + j * ROW_THREADS;
            const float y = add[j] + (r.add_norm ? x[j] * by * (norm[j] + r.add_bias) : x[j]);
            squares = fmaf(y, y, squares);
            if (e >= n)
                continue;
            parts.x[e] = y;
            if (blockIdx.x == 0)
                r.sum[e] = y;
        }
    }
    return squares;
}

/* Stores the norm of a row, whose factor is `by`. Few products do, so that it is not inline. */
static __device__ __noinline__ void store_normed(float *to, const float *x, const float *norm,
                                                 int n, float by, float bias)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += ROW_THREADS)
        to[i] = x[i] * by * (norm[i] + bias);
}

/* Computes the terms of a row with a norm, whose weights `norms` gives; all threads of the block take
 * part. */
template <typename W, typename N>
static __device__ void compute_row(const vug_cuda_row &r, int n, int terms, const row_parts &parts,
                                   N &norms)
{
    const uint32_t quads = (uint32_t)vug_cuda_padded(n) / QUAD;
    copy_async(parts.x, r.x, n);
    if (r.add)
        copy_async(parts.add, r.add, n);
    wait_async();
    __syncthreads();
    const float squares =
            r.add ? block_sum<1>(add_row(r, n, parts, norms)) : row_squares(parts.x, n);
    const float by = norm_factor(squares, n, r.eps);
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i / WARP * WARP < quads; i += ROW_THREADS) {
        const float4 x = row_quad<W>(parts.x, n, i), w = norms.next_quad(n, i);
        const float4 y = make_float4(x.x * by * (w.x + r.bias), x.y * by * (w.y + r.bias),
                                     x.z * by * (w.z + r.bias), x.w * by * (w.w + r.bias));
        store_quad<W>(parts, i, y, terms, i < quads);
    }
    /* The last block has the fewest tiles. */
    if (r.normed && blockIdx.x == gridDim.x - 1)
        store_normed(r.normed, parts.x, r.norm, n, by, r.bias);
    __syncthreads();
}

/* Computes the terms of columns begin .. end - 1 of rows that are x as it is; x NULL: there is none. A warp
 * does so for its own slice, and no other reads them; `waiting` loads of a row wait together. A block is that
 * of the slice, or not, for all of its lanes: the others do not use what they exchange. */
template <typename W, int rows, int waiting>
static __device__ __forceinline__ void compute_slice(const float *const (&x)[rows], int n,
                                                     int terms, const row_parts &parts, int begin,
                                                     int end)
{
    const uint32_t first = (uint32_t)begin / QUAD, last = (uint32_t)end / QUAD;
    for (uint32_t from = first; from < last; from += waiting * WARP) {
        const uint32_t i = from + threadIdx.x % WARP;
        float4 v[rows][waiting];
#pragma unroll
        for (int r = 0; r < rows; r++) {
#pragma unroll
            for (int j = 0; j < waiting; j++) {
                if ((rows == 1 || x[r]) && i + j * WARP < last)
                    v[r][j] = row_quad<W>(x[r], n, i + j * WARP);
            }
        }
#pragma unroll
        for (int r = 0; r < rows; r++) {
            row_parts to = parts;
            to.terms += r * words_of_row<W, rows>(n);
            to.numbers += r * words_of_row<W, rows>(n);
#pragma unroll
            for (int j = 0; j < waiting; j++) {
                if ((rows == 1 || x[r]) && from + j * WARP < last)
                    store_quad<W>(to, i + j * WARP, v[r][j], terms, i + j * WARP < last);
            }
        }
    }
    __syncwarp();
}

#endif
