/* The backend of a build without CUDA. */
#include "backend/cuda/cuda.h"

#define REASON "this build has no CUDA; `make CUDA=1` builds it with nvcc"

static vug_status open_nothing(const vug_device_options *options, vug_device **out, vug_err *err)
{
    (void)options;
    *out = NULL;
    return VUG_FAIL(err, VUG_UNSUPPORTED, "cuda: %s", REASON);
}

static vug_device_info describe(const vug_device *device)
{
    (void)device;
    return (vug_device_info){ .name = "cuda", .description = "NVIDIA GPUs", .reason = REASON };
}

/* Nothing else is called without a device. */
const vug_backend vug_backend_cuda = {
    .name = "cuda",
    .open = open_nothing,
    .describe = describe,
};
