#ifndef VUG_BACKEND_CUDA_ROTATED_LANES_H
#define VUG_BACKEND_CUDA_ROTATED_LANES_H

/* Norms and rotations of rows of 32 n elements, each by a warp, which keeps its row in registers: lane l
 * has elements l, l + 32, .. The results are those of row_math.h. */

#include "backend/cuda/row_math.h"

/* The sum of n parts of lanes in order, each what warp_sum gives; the same in each lane. A step adds
 * two lanes and leaves each half of the parts. */
template <int n> static __device__ __forceinline__ float sum_parts(float (&part)[n])
{
    int d = WARP / 2;
#pragma unroll
    for (int half = n / 2; half > 0; half /= 2, d /= 2) {
        const bool upper = threadIdx.x & d;
#pragma unroll
        for (int i = 0; i < half; i++) {
            const float other = __shfl_xor_sync(0xffffffffu, upper ? part[i] : part[i + half], d);
            part[i] = (upper ? part[i + half] : part[i]) + other;
        }
    }
#pragma unroll
    for (; d > 0; d /= 2)
        part[0] += __shfl_xor_sync(0xffffffffu, part[0], d);
    float sum = __shfl_sync(0xffffffffu, part[0], 0);
#pragma unroll
    for (int i = 1; i < n; i++)
        sum += __shfl_sync(0xffffffffu, part[0], i * (WARP / n));
    return sum;
}

/* Elements of a lane, in a row at `from`. */
template <int n> static __device__ __forceinline__ void load_lanes(const float *from, float (&x)[n])
{
#pragma unroll
    for (int i = 0; i < n; i++)
        x[i] = from[threadIdx.x % WARP + i * WARP];
}

/* The weights of a norm, with its bias. */
template <int n>
static __device__ __forceinline__ void load_norm(const vug_cuda_norm_job &job, float (&w)[n])
{
#pragma unroll
    for (int i = 0; i < n; i++)
        w[i] = job.w ? job.w[threadIdx.x % WARP + i * WARP] + job.bias : 1;
}

/* Rotates a row of token t, normed before with weights `w` if `norms`. */
template <int n>
static __device__ __forceinline__ void rotate_lanes(const vug_cuda_norm_job &job, bool norms,
                                                    const float (&w)[n], int t, float (&x)[n])
{
    float table[n];
    load_lanes(job.table + (int64_t)t * n * WARP, table);
    if (norms) {
        float part[n];
#pragma unroll
        for (int i = 0; i < n; i++)
            part[i] = x[i] * x[i];
        const float r = norm_factor(sum_parts(part), n * WARP, job.eps);
#pragma unroll
        for (int i = 0; i < n; i++)
            x[i] = x[i] * r * w[i];
    }
#pragma unroll
    for (int i = 0; i < n / 2; i++) {
        const rotated_pair pair = rotate(x[i], x[i + n / 2], table[i], table[i + n / 2]);
        x[i] = pair.first;
        x[i + n / 2] = pair.second;
    }
}

#endif
