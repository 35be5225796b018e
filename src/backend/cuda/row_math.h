#ifndef VUG_BACKEND_CUDA_ROW_MATH_H
#define VUG_BACKEND_CUDA_ROW_MATH_H

/* What several kernels compute in the same way: norms of rows, and activations. */

#include "backend/cuda/device_code.h"

enum { ROW_THREADS = 256, ROW_WARPS = ROW_THREADS / WARP, QUAD = 4 };

/* The sum of what warps have added up, in their order. `of_warp` begins at a multiple of 16 bytes. */
static __device__ __forceinline__ float add_warps(const float (&of_warp)[ROW_WARPS])
{
    const float4 a = *(const float4 *)of_warp, b = *(const float4 *)(of_warp + 4);
    static_assert(ROW_WARPS == 8, "two loads have all sums");
    return ((((((a.x + a.y) + a.z) + a.w) + b.x) + b.y) + b.z) + b.w;
}

/* The sum of what each of ROW_THREADS threads has added up, the same in each: lanes are added
 * pairwise, then warps in order. A kernel calls each instance, by `place`, at most once. */
template <int place> static __device__ __forceinline__ float block_sum(float sum)
{
    __shared__ alignas(16) float of_warp[ROW_WARPS];
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0)
        of_warp[threadIdx.x / WARP] = sum;
    __syncthreads();
    return add_warps(of_warp);
}

enum { LOADS_TOGETHER = 5 }; /* that wait together */

/* Elements i, i + 256, .. of a row; zeros past its end. */
static __device__ __forceinline__ void load_elements(const float *x, int n, int i,
                                                     float (&v)[LOADS_TOGETHER])
{
#pragma unroll
    for (int j = 0; j < LOADS_TOGETHER; j++)
        v[j] = i + j * ROW_THREADS < n ? x[i + j * ROW_THREADS] : 0;
}

/* Begins to copy elements to shared memory, through the cache of the multiprocessor, whose blocks copy
 * the same ones; all threads of a block take part. */
static __device__ __forceinline__ void copy_async(float *to, const float *from, int n)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    if (n % QUAD == 0) {
#pragma unroll 1
        for (int i = threadIdx.x; i < n / QUAD; i += ROW_THREADS)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at + 16 * i),
                         "l"(from + QUAD * i)
                         : "memory");
        return;
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += ROW_THREADS)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + 4 * i), "l"(from + i)
                     : "memory");
}

/* Waits for what the thread copies. */
static __device__ __forceinline__ void wait_async(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* The sum of squares of a row, the same in each of ROW_THREADS threads. Thread t adds elements t,
 * t + 256, ..; then block_sum. */
static __device__ float row_squares(const float *x, int64_t n)
{
    float sum = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < (int)n; i += LOADS_TOGETHER * ROW_THREADS) {
        float v[LOADS_TOGETHER];
        load_elements(x, (int)n, i, v);
        for (int j = 0; j < LOADS_TOGETHER; j++)
            sum = fmaf(v[j], v[j], sum);
    }
    return block_sum<0>(sum);
}

/* 1 / x, from the device's approximation by Newton's method. */
static __device__ __forceinline__ float reciprocal(float x)
{
    const float by = __fdividef(1, x);
    return fmaf(by, fmaf(-x, by, 1), by);
}

/* 1 / rms of a row whose squares have the sum `squares`: 1 / sqrt(squares / n + eps). All threads of a
 * block wait for it, so that it has no branches for numbers at the ends of the range, as division
 * and sqrtf have. Results differ from theirs in the last place, about one in a million where an
 * emulation has approximations that are off by up to two units there. */
static __device__ __forceinline__ float norm_factor(float squares, int64_t n, float eps)
{
    const float of = (float)n, by = reciprocal(of);
    float mean = squares * by;
    mean = fmaf(fmaf(-mean, of, squares), by, mean) + eps;
    const float inverse = rsqrtf(mean), root = mean * inverse;
    return reciprocal(fmaf(fmaf(-root, root, mean), 0.5f * inverse, root));
}

/* Rotates the pair (i, i + h) of a row whose elements `at` gives. */
struct rotated_pair {
    float first, second;
};
static __device__ __forceinline__ rotated_pair rotate(float a, float b, float c, float s)
{
    return { fmaf(a, c, -(b * s)), fmaf(b, c, a * s) };
}

/* w: the element of the norm's weights, if it has any */
static __device__ __forceinline__ float normalised(const vug_cuda_norm_job &job, float x, float r,
                                                   float w)
{
    return job.w ? x * r * (w + job.bias) : x * r;
}

static __device__ __forceinline__ float normalised_at(const vug_cuda_norm_job &job, const float *x,
                                                      float r, int64_t i)
{
    return normalised(job, x[i], r, job.w ? job.w[i] : 0);
}

/* x / (1 + exp(v)), without a branch; beyond 80 the result is as good as 0. */
static __device__ __forceinline__ float over_exp(float x, float v)
{
    return x * reciprocal(1.0f + expf(fminf(v, 80)));
}

/* x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3) */
static __device__ __forceinline__ float gelu(float x)
{
    return over_exp(x, x * fmaf(x * x, -0.0713548162726f, -1.5957691216057f));
}

static __device__ __forceinline__ float silu(float x)
{
    return over_exp(x, -x);
}

/* VUG_OP_GEGLU or VUG_OP_SWIGLU */
static __device__ __forceinline__ float activate(vug_op activation, float gate, float up)
{
    return (activation == VUG_OP_GEGLU ? gelu(gate) : silu(gate)) * up;
}

#endif
