/* Memory of the device, and what a failed call of CUDA is called. */
#include "backend/cuda/internal.h"

enum { ALIGN = 256 };

vug_status vug_cuda_check(cudaError_t result, const char *what, vug_err *err)
{
    if (result == cudaSuccess)
        return VUG_OK;
    const vug_status code = result == cudaErrorMemoryAllocation ? VUG_NOMEM : VUG_DEVICE;
    return VUG_FAIL(err, code, "cuda: %s failed: %s", what, cudaGetErrorString(result));
}

/* An attribute of the pool that all memory comes from; 0: there is none. */
static uint64_t ask_pool(enum cudaMemPoolAttr attribute)
{
    cudaMemPool_t pool;
    uint64_t value = 0;
    if (cudaDeviceGetDefaultMemPool(&pool, 0) != cudaSuccess ||
        cudaMemPoolGetAttribute(pool, attribute, &value) != cudaSuccess)
        return 0;
    return value;
}

vug_device_memory vug_cuda_memory_used(const vug_device *device)
{
    (void)device;
    const uint64_t active = ask_pool(cudaMemPoolAttrUsedMemCurrent),
                   held = ask_pool(cudaMemPoolAttrReservedMemCurrent);
    return (vug_device_memory){ .active = active,
                                .cached = held > active ? held - active : 0,
                                .peak = ask_pool(cudaMemPoolAttrUsedMemHigh) };
}

uint64_t vug_cuda_memory_available(const vug_device *device)
{
    size_t available = 0, total = 0;
    (void)cudaMemGetInfo(&available, &total);
    return available + vug_cuda_memory_used(device).cached;
}

vug_status vug_cuda_alloc(uint64_t bytes, const char *what, void **out, vug_err *err)
{
    *out = NULL;
    if (bytes == 0)
        return VUG_OK;
    cudaError_t result = cudaMallocAsync(out, bytes, cudaStreamLegacy);
    if (result == cudaSuccess)
        result = cudaStreamSynchronize(cudaStreamLegacy);
    if (result == cudaSuccess)
        return VUG_OK;
    (void)cudaGetLastError(); /* a failed allocation is no failure of later calls */
    return VUG_FAIL(err, VUG_NOMEM, "cuda: %s needs %.1f MB, the device has %.1f MB left: %s", what,
                    (double)bytes / 1e6, (double)vug_cuda_memory_available(NULL) / 1e6,
                    cudaGetErrorString(result));
}

void vug_cuda_free(void *memory)
{
    if (!memory)
        return;
    (void)cudaFreeAsync(memory, cudaStreamLegacy);
    (void)cudaStreamSynchronize(cudaStreamLegacy);
}

bool vug_cuda_add_part(uint64_t bytes, uint64_t *end, uint64_t *at)
{
    *at = *end;
    return vug_add_size(bytes, ALIGN - 1, &bytes) && vug_add_size(*at, bytes / ALIGN * ALIGN, end);
}
