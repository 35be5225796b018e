/* Measuring the device: streaming reads, fused multiply-adds in registers, and products of matrices
 * in BF16. */
#include "backend/cuda/hopper.h"
#include "backend/cuda/tile_math.h"

enum { PROBE_BLOCKS = 1056, PROBE_THREADS = 256, FMA_CHAINS = 8, PROBE_ROUNDS = 4096 };

static __global__ void read_kernel(const uint4 *data, int64_t n, float *sink)
{
    uint32_t mixed = 0;
    const int64_t step = (int64_t)PROBE_BLOCKS * PROBE_THREADS;
#pragma unroll 8
    for (int64_t i = (int64_t)blockIdx.x * PROBE_THREADS + threadIdx.x; i < n; i += step) {
        const uint4 v = data[i];
        mixed ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (mixed == 0x12345678u)
        *sink = 1;
}

void vug_cuda_probe_read(cudaStream_t stream, const void *bytes, int64_t n, float *sink)
{
    launch(stream, read_kernel, dim3(PROBE_BLOCKS), PROBE_THREADS, (const uint4 *)bytes,
           n / (int64_t)sizeof(uint4), sink);
}

static __global__ void fma_kernel(float by, float *sink)
{
    float x[FMA_CHAINS];
    for (int i = 0; i < FMA_CHAINS; i++)
        x[i] = (float)(threadIdx.x + i);
    for (int round = 0; round < PROBE_ROUNDS; round++) {
        for (int i = 0; i < FMA_CHAINS; i++)
            x[i] = fmaf(x[i], by, 1.0f);
    }
    float sum = 0;
    for (int i = 0; i < FMA_CHAINS; i++)
        sum += x[i];
    if (sum == 1.0f)
        *sink = sum;
}

cudaError_t vug_cuda_probe_kernels(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, fma_kernel);
}

double vug_cuda_probe_fma(cudaStream_t stream, float *sink)
{
    launch(stream, fma_kernel, dim3(PROBE_BLOCKS), PROBE_THREADS, 0.5f, sink);
    return 2.0 * FMA_CHAINS * PROBE_ROUNDS * PROBE_THREADS * PROBE_BLOCKS;
}

/* ---- tensor cores -------------------------------------------------------------------------- */

enum {
    TENSOR_ROUNDS = 512,
    MMA_CHAINS = 16,
    MMA_FLOP = 2 * 16 * 8 * 16,
    WGMMA_COLUMNS = 192,
    WGMMA_WARPS = 4,
    WGMMA_STEPS = 4, /* of 16 rows: a tile's row has 64 */
    WGMMA_TILE_BYTES = WGMMA_COLUMNS * WGMMA_STEPS * 16 * 2,
    WGMMA_FLOP = 2 * 64 * WGMMA_COLUMNS * 16,
};

/* Two BF16 numbers between 1/2 and 2, of both signs, that differ: equal ones take less power. */
static __device__ uint32_t mixed_pair(uint32_t i)
{
    return ((i * 0x9e3779b1u) & 0x80ff80ffu) | 0x3f003f00u;
}

static __global__ void mma_kernel(float *sink)
{
    const uint32_t i = threadIdx.x;
    const uint4 a =
            make_uint4(mixed_pair(i), mixed_pair(i + 1), mixed_pair(i + 2), mixed_pair(i + 3));
    const uint2 b = make_uint2(mixed_pair(i + 4), mixed_pair(i + 5));
    float sum[MMA_CHAINS][4] = {};
    for (int round = 0; round < TENSOR_ROUNDS; round++) {
#pragma unroll
        for (int chain = 0; chain < MMA_CHAINS; chain++)
            multiply_add(sum[chain], a, b);
    }
    float all = 0;
#pragma unroll
    for (int chain = 0; chain < MMA_CHAINS; chain++)
        all += sum[chain][0];
    if (all == 1.0f)
        *sink = all;
}

static __global__ void __launch_bounds__(PROBE_THREADS, 2) wgmma_kernel(float *sink)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    __shared__ __align__(1024) uint32_t tile[WGMMA_TILE_BYTES / sizeof(uint32_t)];
    for (uint32_t i = threadIdx.x; i < WGMMA_TILE_BYTES / sizeof(uint32_t); i += PROBE_THREADS)
        tile[i] = mixed_pair(i);
    show_stores();
    __syncthreads();
    const uint32_t i = threadIdx.x;
    const uint4 a =
            make_uint4(mixed_pair(i), mixed_pair(i + 1), mixed_pair(i + 2), mixed_pair(i + 3));
    float sum[WGMMA_COLUMNS / 2] = {};
    for (int round = 0; round < TENSOR_ROUNDS; round++) {
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < WGMMA_STEPS; step++)
            wgmma_add<WGMMA_COLUMNS>(sum, a, swizzled_tile(shared_address(tile) + step * 32));
        wgmma_commit();
        wgmma_wait();
    }
    if (sum[0] == 1.0f)
        *sink = sum[0];
#else
    (void)sink;
    __trap(); /* the launch asks for the capability */
#endif
}

double vug_cuda_probe_tensor_cores(cudaStream_t stream, bool hopper, float *sink)
{
    if (hopper) {
        launch(stream, wgmma_kernel, dim3(PROBE_BLOCKS), PROBE_THREADS, sink);
        return (double)WGMMA_FLOP * WGMMA_STEPS * TENSOR_ROUNDS * PROBE_BLOCKS *
               (PROBE_THREADS / WARP / WGMMA_WARPS);
    }
    launch(stream, mma_kernel, dim3(PROBE_BLOCKS), PROBE_THREADS, sink);
    return (double)MMA_FLOP * MMA_CHAINS * TENSOR_ROUNDS * PROBE_BLOCKS * (PROBE_THREADS / WARP);
}
