/* The backends of this build, preferred ones first. */
#include "backend/backend.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/mlx/mlx.h"

static const vug_backend *const backends[] = { &vug_backend_mlx, &vug_backend_cuda,
                                               &vug_backend_cpu };

size_t vug_backend_count(void)
{
    return sizeof(backends) / sizeof(backends[0]);
}

const vug_backend *vug_backend_at(size_t i)
{
    return backends[i];
}
