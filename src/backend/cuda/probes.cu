/* Measuring the device: streaming reads, and fused multiply-adds in registers. */
#include "backend/cuda/device_code.h"

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

double vug_cuda_probe_fma(cudaStream_t stream, float *sink)
{
    launch(stream, fma_kernel, dim3(PROBE_BLOCKS), PROBE_THREADS, 0.5f, sink);
    return 2.0 * FMA_CHAINS * PROBE_ROUNDS * PROBE_THREADS * PROBE_BLOCKS;
}
