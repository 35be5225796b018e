/* The device: opening, describing, measuring, and the vtable. */
#include <chrono>
#include <cstdio>

#include "backend/mlx/internal.h"

extern "C" {
#include "core/os.h"
}

vug_status vug_mlx_fail(const char *what, const char *why, vug_err *err)
{
    const bool memory = strstr(why, "allocate") || strstr(why, "bad_alloc");
    return VUG_FAIL(err, memory ? VUG_NOMEM : VUG_UNSUPPORTED, "mlx: %s failed: %s", what, why);
}

mx::array vug_mlx_new_array(mx::Shape shape, mx::Dtype dtype)
{
    size_t bytes = mx::size_of(dtype);
    for (const auto d : shape)
        bytes *= (size_t)d;
    return mx::array(mx::allocator::malloc(bytes), std::move(shape), dtype);
}

/* ---- opening --------------------------------------------------------------------------- */

static size_t number_of(const mx::Device &device, const char *key)
{
    const auto &info = mx::device_info(device);
    const auto at = info.find(key);
    const size_t *number = at == info.end() ? nullptr : std::get_if<size_t>(&at->second);
    return number ? *number : 0;
}

/* What Metal advises for its working set; 0: the device is no Metal GPU. */
static size_t advised_memory(bool gpu)
{
    return gpu ? number_of(mx::Device::gpu, "max_recommended_working_set_size") : 0;
}

/* Lets arrays stay resident, as mlx-lm does (generate.py, wired_limit): without it, a GPU that was
 * idle waits until large weights are. macOS before version 15 ignores it. */
static void keep_resident(bool gpu, size_t limit)
{
    const size_t advised = advised_memory(gpu);
    if (advised > 0)
        (void)mx::set_wired_limit(limit > 0 && limit < advised ? limit : advised);
}

/* Most bytes of freed buffers that MLX keeps for later arrays, as a share of the machine's
 * memory. */
enum { CACHE_SHARE = 16 };

static vug_status open_mlx(const vug_device_options *options, vug_device **out, vug_err *err)
{
    return vug_mlx_guard("opening the device", err, [&] {
        const bool gpu = mx::is_available(mx::Device::gpu);
        const mx::Stream stream =
                mx::new_thread_unsafe_stream(gpu ? mx::Device::gpu : mx::Device::cpu);
        keep_resident(gpu, (size_t)options->memory_limit);
        auto *device = new vug_mlx_device{ .mutex = {},
                                           .stream = stream,
                                           .gpu = gpu,
                                           .memory_limit = options->memory_limit,
                                           .programs = 0 };
        (void)mx::set_cache_limit((size_t)(vug_mlx_device_memory(device) / CACHE_SHARE));
        if (options->memory_limit)
            (void)mx::set_memory_limit((size_t)options->memory_limit);
        *out = reinterpret_cast<vug_device *>(device);
        return VUG_OK;
    });
}

static void close_mlx(vug_device *device)
{
    delete reinterpret_cast<vug_mlx_device *>(device);
    mx::clear_cache();
}

/* ---- describing ------------------------------------------------------------------------- */

/* The memory that a GPU works on without slowing down; the machine's, where there is none. */
static uint64_t device_memory(bool gpu)
{
    const size_t advised = advised_memory(gpu);
    return advised ? advised : vug_memory_size();
}

uint64_t vug_mlx_device_memory(const vug_mlx_device *device)
{
    return device_memory(device->gpu);
}

static void describe_device(vug_device_info *info)
{
    const bool gpu = mx::is_available(mx::Device::gpu);
    const char *name = "the CPU";
    if (gpu) {
        const auto &about = mx::device_info(mx::Device::gpu);
        const auto at = about.find("device_name");
        const auto *text = at == about.end() ? nullptr : std::get_if<std::string>(&at->second);
        name = text ? text->c_str() : "a GPU";
    }
    (void)snprintf(info->description, sizeof(info->description), "MLX %.20s on %.80s",
                   mx::version(), name);
    info->memory = device_memory(gpu);
    info->available = gpu;
    info->reason = gpu ? "" : "MLX has no GPU here; --device mlx runs on its CPU device";
}

static vug_device_info describe(const vug_device *device)
{
    (void)device;
    vug_device_info info = {};
    info.name = "mlx";
    info.reason = "MLX does not answer";
    (void)vug_mlx_guard("describing the device", nullptr, [&] {
        describe_device(&info);
        return VUG_OK;
    });
    return info;
}

static uint64_t memory_available(const vug_device *opened)
{
    const auto *device = reinterpret_cast<const vug_mlx_device *>(opened);
    if (!device->gpu)
        return vug_memory_available();
    const uint64_t all = device_memory(true), used = mx::get_active_memory();
    return all > used ? all - used : 0;
}

static vug_device_memory memory_used(const vug_device *device)
{
    (void)device;
    return { .active = mx::get_active_memory(),
             .cached = mx::get_cache_memory(),
             .peak = mx::get_peak_memory() };
}

/* ---- measuring ---------------------------------------------------------------------------- */

/* The shortest of several runs counts: other programs can only make it longer. */
template <typename Body> static double shortest_run(Body body)
{
    enum { RUNS = 5 };
    double best = 0;
    for (int i = 0; i < RUNS; i++) {
        const auto start = std::chrono::steady_clock::now();
        mx::array result = body();
        mx::eval(result);
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        best = best == 0 || spent.count() < best ? spent.count() : best;
    }
    return best;
}

static vug_status measure(vug_device *opened, vug_device_limits *out, vug_err *err)
{
    auto *device = reinterpret_cast<vug_mlx_device *>(opened);
    return vug_mlx_guard("measuring", err, [&] {
        const vug_mlx_lock lock(device);
        /* On a CPU the products would take minutes. */
        const int columns = 8192, rows = 4096, side = device->gpu ? 4096 : 512;
        mx::array bytes = mx::ones({ rows, columns }), matrix = mx::ones({ side, side });
        mx::eval(bytes, matrix);
        out->read_bytes_per_s =
                (double)bytes.nbytes() / shortest_run([&] { return mx::max(bytes); });
        const double flop = 2.0 * side * side * side;
        out->f32_flop_per_s = flop / shortest_run([&] { return mx::matmul(matrix, matrix); });
        return VUG_OK;
    });
}

/* ---- the vtable --------------------------------------------------------------------------- */

static vug_program_sizes sizes(const vug_program *program)
{
    return reinterpret_cast<const vug_mlx_program *>(program)->sizes;
}

static const vug_kv_layout *kv_layout(const vug_program *program)
{
    return &reinterpret_cast<const vug_mlx_program *>(program)->kv_layout;
}

extern "C" const vug_backend vug_backend_mlx = {
    .name = "mlx",
    .batch_invariant = false, /* MLX chooses kernels by the number of rows */
    .open = open_mlx,
    .close = close_mlx,
    .describe = describe,
    .memory_available = memory_available,
    .memory_used = memory_used,
    .measure = measure,
    .weights_create = vug_mlx_weights_create,
    .weights_load = nullptr,
    .weights_destroy = vug_mlx_weights_destroy,
    .weights_bytes = vug_mlx_weights_bytes,
    .weights_decoded = vug_mlx_weights_decoded,
    .compile = vug_mlx_compile,
    .release = vug_mlx_release,
    .sizes = sizes,
    .note = vug_mlx_note,
    .kv_layout = kv_layout,
    .kv_page_bytes = vug_mlx_kv_page_bytes,
    .kv_create = vug_mlx_kv_create,
    .kv_destroy = vug_mlx_kv_destroy,
    .kv_commit = vug_mlx_kv_commit,
    .kv_discard = vug_mlx_kv_discard,
    .kv_copy = vug_mlx_kv_copy,
    .kv_read = vug_mlx_kv_read,
    .kv_write = vug_mlx_kv_write,
    .workspace_create = vug_mlx_workspace_create,
    .workspace_destroy = vug_mlx_workspace_destroy,
    .run = vug_mlx_run,
};
