#ifndef VUG_BACKEND_CUDA_ROW_MATH_H
#define VUG_BACKEND_CUDA_ROW_MATH_H

/* What several kernels compute in the same way: norms of rows, and activations. */

#include "backend/cuda/device_code.h"

enum { ROW_THREADS = 256, ROW_WARPS = ROW_THREADS / WARP };

/* The sum of what each of ROW_THREADS threads has added up, the same in each: lanes are added
 * pairwise, then warps in order. A kernel calls each instance, by `place`, at most once. */
template <int place> static __device__ __forceinline__ float block_sum(float sum)
{
    __shared__ float of_warp[ROW_WARPS];
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0)
        of_warp[threadIdx.x / WARP] = sum;
    __syncthreads();
    sum = of_warp[0];
    for (int i = 1; i < ROW_WARPS; i++)
        sum += of_warp[i];
    return sum;
}

/* The sum of squares of a row, the same in each of ROW_THREADS threads. Thread t adds elements t,
 * t + 256, ..; then block_sum. */
static __device__ float row_squares(const float *x, int64_t n)
{
    float sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < (int)n; i += ROW_THREADS)
        sum = fmaf(x[i], x[i], sum);
    return block_sum<0>(sum);
}

/* 1 / rms of a row whose squares have the sum `squares`. */
static __device__ __forceinline__ float norm_factor(float squares, int64_t n, float eps)
{
    return 1.0f / sqrtf(squares / (float)n + eps);
}

/* Rotates the pair (i, i + h) of a row whose elements `at` gives. */
struct rotated_pair {
    float first, second;
};
static __device__ __forceinline__ rotated_pair rotate(float a, float b, float c, float s)
{
    return { fmaf(a, c, -(b * s)), fmaf(b, c, a * s) };
}

static __device__ __forceinline__ float normalised(const vug_cuda_norm_job &job, const float *x,
                                                   float r, int64_t i)
{
    const float y = x[i] * r;
    return job.w ? y * (job.w[i] + job.bias) : y;
}

/* x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3) */
static __device__ __forceinline__ float gelu(float x)
{
    const float v = x * fmaf(x * x, -0.0713548162726f, -1.5957691216057f);
    return x / (1.0f + expf(v));
}

static __device__ __forceinline__ float silu(float x)
{
    return x / (1.0f + expf(-x));
}

#endif
