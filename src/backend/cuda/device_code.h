#ifndef VUG_BACKEND_CUDA_DEVICE_CODE_H
#define VUG_BACKEND_CUDA_DEVICE_CODE_H

/* What the .cu files share. They are compiled without contraction: a product and a sum are fused
 * only where the source says fmaf. */

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "backend/cuda/kernels.h"

enum { WARP = 32 };

/* A launch that fails is found by the caller's cudaGetLastError. */
template <typename... P, typename... A>
static void launch(cudaStream_t stream, void (*kernel)(P...), dim3 grid, unsigned threads,
                   A... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.stream = stream;
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* The blocks of a launch, with `shared` bytes of memory that each one's threads share. Clusters of several
 * blocks are there from compute capability 9.0 on. */
struct launch_shape {
    dim3 grid, cluster;
    unsigned threads;
    size_t shared;
};

template <typename... P, typename... A>
static void launch_clusters(cudaStream_t stream, void (*kernel)(P...), const launch_shape &shape,
                            vug_cuda_launch_options options, A... arguments)
{
    enum { PLAIN_SHARED_BYTES = 24 << 10 }; /* what a kernel may use without asking for more */
    cudaLaunchAttribute attribute[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = shape.grid;
    config.blockDim = dim3(shape.threads);
    config.dynamicSmemBytes = shape.shared;
    config.stream = stream;
    config.attrs = attribute;
    if (options.early) {
        attribute[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (shape.cluster.x * shape.cluster.y * shape.cluster.z > 1) {
        attribute[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attribute[config.numAttrs++].val.clusterDim = { shape.cluster.x, shape.cluster.y,
                                                        shape.cluster.z };
    }
    /* The attribute of a launch is not one of a graph's nodes. */
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               options.carveout > 0 ? options.carveout
                                                    : cudaSharedmemCarveoutDefault);
    if (shape.shared > PLAIN_SHARED_BYTES)
        (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   (int)shape.shared);
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* The same without clusters. */
template <typename... P, typename... A>
static void launch_early(cudaStream_t stream, void (*kernel)(P...), dim3 grid, unsigned threads,
                         size_t shared, vug_cuda_launch_options options, A... arguments)
{
    launch_clusters(stream, kernel, { grid, dim3(1), threads, shared }, options, arguments...);
}

static inline unsigned blocks_for(int64_t n, int64_t per_block)
{
    return (unsigned)((n + per_block - 1) / per_block);
}

/* The address of what lies in shared memory. */
static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Ends a group of asynchronous copies of a thread. */
static __device__ __forceinline__ void commit_copies(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Loads stay where they are written: earlier ones would take registers that weights need. */
static __device__ __forceinline__ uint4 load_shared_words4(uint32_t at)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(at));
    return v;
}

static __device__ __forceinline__ float2 load_shared_floats2(uint32_t at)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(at));
    return v;
}

static __device__ __forceinline__ uint2 load_shared_words2(uint32_t at)
{
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(at));
    return v;
}

/* The sum over the lanes of a warp, the same in each lane. */
static __device__ __forceinline__ float warp_sum(float x)
{
    for (int d = WARP / 2; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

static __device__ __forceinline__ float warp_max(float x)
{
    for (int d = WARP / 2; d > 0; d /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}

/* value / sum, rounded once, from 1 / sum rounded once (Markstein 1990), which is computed once for
 * many values. */
static __device__ __forceinline__ float quotient(float value, float sum)
{
    const float by = 1 / sum, q = value * by;
    return fmaf(fmaf(-q, sum, value), by, q);
}

/* Adds a slice's sums, of all terms, to those so far (weight_tiles.h). */
template <int terms, int n>
static __device__ __forceinline__ void add_slice(float (&all)[n], const float (&sum)[terms][n],
                                                 bool first)
{
#pragma unroll
    for (int i = 0; i < n; i++) {
        const float of_terms = terms > 1 ? sum[0][i] + sum[terms - 1][i] : sum[0][i];
        all[i] = first ? of_terms : all[i] + of_terms;
    }
}

/* Programmatic dependent launch, from compute capability 9.0 on: a kernel that is launched so may
 * begin as soon as all blocks of the one before have called start_next, or ended; what those wrote
 * is there only after wait_for_previous. */
static __device__ __forceinline__ void start_next(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

static __device__ __forceinline__ void wait_for_previous(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Begins to bring a row of floats, which is constant, to the cache of the device; `thread` of `threads`. */
static __device__ __forceinline__ void prefetch_row(const float *row, int n, int thread,
                                                    int threads)
{
    enum { LINE = 128 / sizeof(float) };
    for (int i = thread * LINE; i < n; i += threads * LINE)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(row + i));
}

/* The expert that a route names. */
static __device__ __forceinline__ int named_expert(float named, int experts)
{
    return min(max((int)named, 0), experts - 1);
}

/* Where its tiles begin; `data` has three addresses for each expert. */
static __device__ __forceinline__ const uint8_t *expert_tiles(const uint8_t *const *data,
                                                              int expert)
{
    return data[3 * expert];
}

static __device__ __forceinline__ uint32_t bf16_pair(float low, float high)
{
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *(const uint32_t *)&pair;
}

#endif
