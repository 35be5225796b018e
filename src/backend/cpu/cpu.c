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

static vug_program_sizes sizes(const vug_program *program)
{
    return program->sizes;
}

/* vug_alloc_aligned touches the pages here, so no step waits for the system to provide them. */
static vug_status create_state(uint64_t bytes, const char *what, vug_state **out, vug_err *err)
{
    vug_state *state = vug_alloc_zero(1, sizeof(*state));
    uint8_t *data = vug_alloc_aligned(bytes);
    if (!state || !data) {
        vug_free(state);
        vug_free(data);
        return VUG_FAIL_NOMEM(err, what, bytes);
    }
    state->data = data;
    *out = state;
    return VUG_OK;
}

static vug_status state_create(const vug_program *program, vug_state **out, vug_err *err)
{
    return create_state(program->sizes.state_bytes, "the key/value cache", out, err);
}

static void state_destroy(vug_state *state)
{
    if (!state)
        return;
    vug_free(state->data);
    vug_free(state);
}

static void state_copy(const vug_program *program, vug_state *to, const vug_state *from, int64_t n)
{
    for (int64_t i = 0; i < program->graph->n_layers; i++)
        vug_cpu_kv_cache_copy(&program->cache[i], to, from, n);
}

static vug_status window_snapshot_create(const vug_program *program, vug_state **out, vug_err *err)
{
    return create_state(program->sizes.window_snapshot_bytes, "a snapshot of the windows", out,
                        err);
}

static void window_snapshot_save(const vug_program *program, vug_state *windows,
                                 const vug_state *from, int64_t n)
{
    for (int64_t i = 0; i < program->graph->n_layers; i++)
        vug_cpu_kv_cache_copy_window(&program->window_snapshot[i], windows, &program->cache[i],
                                     from, n);
}

static void window_snapshot_restore(const vug_program *program, vug_state *to,
                                    const vug_state *windows, int64_t n)
{
    for (int64_t i = 0; i < program->graph->n_layers; i++)
        vug_cpu_kv_cache_copy_window(&program->cache[i], to, &program->window_snapshot[i], windows,
                                     n);
}

const vug_backend vug_backend_cpu = {
    .name = "cpu",
    .open = open_cpu,
    .close = close_cpu,
    .describe = describe,
    .measure = vug_cpu_measure,
    .compile = vug_cpu_compile,
    .release = vug_cpu_release,
    .sizes = sizes,
    .state_create = state_create,
    .state_destroy = state_destroy,
    .state_copy = state_copy,
    .window_snapshot_create = window_snapshot_create,
    .window_snapshot_save = window_snapshot_save,
    .window_snapshot_restore = window_snapshot_restore,
    .workspace_create = vug_cpu_workspace_create,
    .workspace_destroy = vug_cpu_workspace_destroy,
    .run = vug_cpu_run,
};
