/* The backend of a build without MLX. */
#include "backend/mlx/mlx.h"

#define REASON "this build has no MLX; `make MLX=1` builds it where MLX is installed"

static vug_status open_nothing(const vug_device_options *options, vug_device **out, vug_err *err)
{
    (void)options;
    *out = NULL;
    return VUG_FAIL(err, VUG_UNSUPPORTED, "mlx: %s", REASON);
}

static vug_device_info describe(const vug_device *device)
{
    (void)device;
    return (vug_device_info){ .name = "mlx", .description = "Apple GPUs", .reason = REASON };
}

/* Nothing else is called without a device. */
const vug_backend vug_backend_mlx = {
    .name = "mlx",
    .open = open_nothing,
    .describe = describe,
};
