/* The CPU as a backend: opening, describing, and the vtable. */
#include <stdio.h>

#include "backend/cpu/program.h"
#include "core/os.h"

static vug_status open_cpu(const vug_device_options *options, vug_device **out, vug_err *err)
{
    const vug_cpu_kernels *kernels = vug_cpu_kernels_select(options->isa);
    if (!kernels) {
        char names[64];
        return VUG_FAIL(err, VUG_ARGUMENT, "no kernels are named '%s'; available: %s", options->isa,
                        vug_cpu_kernels_names(names, sizeof(names)));
    }
    vug_device *device = vug_alloc_zero(1, sizeof(*device));
    if (!device)
        return VUG_FAIL_NOMEM(err, "the device", sizeof(*device));
    const int threads = options->threads ? options->threads : vug_cpu_count();
    const vug_status st = vug_pool_create(threads, &device->pool, err);
    if (st != VUG_OK) {
        vug_free(device);
        return st;
    }
    device->kernels = kernels;
    *out = device;
    return VUG_OK;
}

static void close_cpu(vug_device *device)
{
    if (!device)
        return;
    vug_pool_destroy(device->pool);
    vug_free(device);
}

static vug_device_info describe(const vug_device *device)
{
    char brand[64];
    vug_device_info info = {
        .name = "cpu",
        .available = true,
        .reason = "",
        .threads = device ? vug_pool_threads(device->pool) : vug_cpu_count(),
        .memory = vug_memory_size(),
    };
    (void)vug_cpu_brand(brand, sizeof(brand));
    const vug_cpu_kernels *kernels = device ? device->kernels : vug_cpu_kernels_select(NULL);
    (void)snprintf(info.description, sizeof(info.description), "%s%s%s", brand,
                   brand[0] ? ", " : "", kernels->description);
    return info;
}

static uint64_t memory_available(const vug_device *device)
{
    (void)device;
    return vug_memory_available();
}

static vug_program_sizes sizes(const vug_program *program)
{
    return program->sizes;
}

static bool screens_logits(const vug_program *program)
{
    return program->screen != NULL;
}

static const vug_kv_layout *kv_layout(const vug_program *program)
{
    return &program->kv_layout;
}

const vug_backend vug_backend_cpu = {
    .name = "cpu",
    .batch_invariant = true,
    .open = open_cpu,
    .close = close_cpu,
    .describe = describe,
    .memory_available = memory_available,
    .measure = vug_cpu_measure,
    .weights_create = vug_cpu_weights_create,
    .weights_destroy = vug_cpu_weights_destroy,
    .weights_bytes = vug_cpu_weights_bytes,
    .compile = vug_cpu_compile,
    .release = vug_cpu_release,
    .sizes = sizes,
    .screens_logits = screens_logits,
    .kv_layout = kv_layout,
    .kv_page_bytes = vug_cpu_kv_page_bytes,
    .kv_create = vug_cpu_kv_create,
    .kv_destroy = vug_cpu_kv_destroy,
    .kv_commit = vug_cpu_kv_commit,
    .kv_discard = vug_cpu_kv_discard,
    .kv_copy = vug_cpu_kv_copy,
    .kv_read = vug_cpu_kv_read,
    .kv_write = vug_cpu_kv_write,
    .workspace_create = vug_cpu_workspace_create,
    .workspace_destroy = vug_cpu_workspace_destroy,
    .run = vug_cpu_run,
};
