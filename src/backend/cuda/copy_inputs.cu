/*
 * Copies the inputs of a step from the host's memory to the device's. A kernel does so, and not the copy
 * engine: it takes fewer microseconds between two steps, a graph has it in its beginning, and it puts in
 * place the tokens that the step before decided.
 *
 * Kernels that are started early read inputs before they wait for others: this one lets none begin before
 * all is copied.
 */
#include "backend/cuda/device_code.h"
#include "backend/cuda/step_kernels.h"

enum {
    THREADS = 256,
    OF_THREAD = 8, /* words whose loads wait together for the host's memory */
};

static __global__ void __launch_bounds__(THREADS)
        copy_inputs_kernel(const __grid_constant__ vug_cuda_inputs_job job)
{
    const int64_t first = (int64_t)blockIdx.x * THREADS * OF_THREAD + threadIdx.x;
    uint32_t word[OF_THREAD];
#pragma unroll
    for (int i = 0; i < OF_THREAD; i++) {
        const int64_t at = first + i * THREADS;
        word[i] = at < job.words ? job.from[at] : 0;
    }
#pragma unroll
    for (int i = 0; i < OF_THREAD; i++) {
        const int64_t at = first + i * THREADS;
        const bool is_decided = at >= job.token && at < job.token + job.tokens && word[i] >> 31;
        if (at < job.words)
            job.to[at] = is_decided ? (uint32_t)job.best[~word[i]] : word[i];
    }
    __threadfence();
}

void vug_cuda_copy_inputs(cudaStream_t stream, const vug_cuda_inputs_job *job)
{
    launch(stream, copy_inputs_kernel, dim3(blocks_for(job->words, THREADS * OF_THREAD)), THREADS,
           *job);
}
