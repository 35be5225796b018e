/* The device: opening, describing, measuring, and the vtable. Only the first GPU is used. */
#include <stdio.h>

#include "backend/cuda/internal.h"

/* ---- opening ------------------------------------------------------------------------- */

static const char *explain(cudaError_t result)
{
    int driver = 0;
    (void)cudaGetLastError();
    if (result == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
        driver == 0)
        return "no NVIDIA driver is installed";
    return cudaGetErrorString(result);
}

/* Why there is no device that this build's kernels run on; NULL: there is one. */
static const char *find_reason(void)
{
    int n = 0;
    cudaError_t result = cudaGetDeviceCount(&n);
    if (result == cudaSuccess && n == 0)
        return "no NVIDIA GPU was found";
    if (result == cudaSuccess)
        result = vug_cuda_probe_kernels();
    if (result == cudaErrorNoKernelImageForDevice || result == cudaErrorInvalidDeviceFunction) {
        (void)cudaGetLastError();
        return "this build has no kernels for the GPU; `make CUDA=1` compiles for all that vug "
               "supports, from compute capability 8.0 on";
    }
    return result == cudaSuccess ? NULL : explain(result);
}

/* All memory comes from the device's pool, pages in the order of the stream; what is freed is kept
 * for others. */
static vug_status open_stream(vug_cuda_device *device, vug_err *err)
{
    cudaMemPool_t pool;
    uint64_t keep = UINT64_MAX;
    VUG_TRY(vug_cuda_check(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking),
                           "creating a stream", err));
    VUG_TRY(vug_cuda_check(cudaStreamCreateWithFlags(&device->recording, cudaStreamNonBlocking),
                           "creating a stream", err));
    VUG_TRY(vug_cuda_check(cudaDeviceGetDefaultMemPool(&pool, 0), "finding the memory pool", err));
    return vug_cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
                          "setting up the memory pool", err);
}

static void close_cuda(vug_device *opened)
{
    vug_cuda_device *device = (vug_cuda_device *)(void *)opened;
    if (!device)
        return;
    if (device->stream)
        (void)cudaStreamDestroy(device->stream);
    if (device->recording)
        (void)cudaStreamDestroy(device->recording);
    vug_free(device);
}

static vug_status open_cuda(const vug_device_options *options, vug_device **out, vug_err *err)
{
    (void)options;
    const char *reason = find_reason();
    struct cudaDeviceProp properties;
    if (reason)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "cuda: %s", reason);
    VUG_TRY(vug_cuda_check(cudaGetDeviceProperties(&properties, 0), "asking for the device", err));
    vug_cuda_device *device = vug_alloc_zero(1, sizeof(*device));
    if (!device)
        return VUG_FAIL_NOMEM(err, "the device", sizeof(*device));
    device->processors = properties.multiProcessorCount;
    device->capability = properties.major;
    device->clusters = properties.major == 9 ? vug_cuda_clusters() : 0;
    device->memory = properties.totalGlobalMem;
    const vug_status st = open_stream(device, err);
    if (st != VUG_OK) {
        close_cuda((vug_device *)(void *)device);
        return st;
    }
    *out = (vug_device *)(void *)device;
    return VUG_OK;
}

static vug_device_info describe(const vug_device *device)
{
    (void)device;
    struct cudaDeviceProp properties;
    vug_device_info info = { .name = "cuda", .description = "NVIDIA GPUs", .reason = "" };
    const char *reason = find_reason();
    if (!reason && cudaGetDeviceProperties(&properties, 0) != cudaSuccess)
        reason = "the GPU does not answer";
    if (reason) {
        info.reason = reason;
        return info;
    }
    info.available = true;
    info.memory = properties.totalGlobalMem;
    (void)snprintf(info.description, sizeof(info.description), "%.80s, compute capability %d.%d",
                   properties.name, properties.major, properties.minor);
    return info;
}

/* ---- measuring ------------------------------------------------------------------------- */

enum { PROBES = 7, READ_BYTES = 1 << 30 };

typedef struct {
    cudaStream_t stream;
    cudaEvent_t start, end;
    bool hopper;    /* compute capability 9.0 */
    uint8_t *bytes; /* [READ_BYTES], then a float that nothing reads */
} probe_state;

/* Start a kernel, and return the bytes or operations of its work. */
static double start_reads(const probe_state *p, float *sink)
{
    vug_cuda_probe_read(p->stream, p->bytes, READ_BYTES, sink);
    return READ_BYTES;
}

static double start_fma(const probe_state *p, float *sink)
{
    return vug_cuda_probe_fma(p->stream, sink);
}

static double start_tensor_cores(const probe_state *p, float *sink)
{
    return vug_cuda_probe_tensor_cores(p->stream, p->hopper, sink);
}

/* The shortest of several runs counts: other programs can only make it longer. */
static vug_status run_probe(const probe_state *p, double (*start)(const probe_state *, float *),
                            double *per_second, vug_err *err)
{
    float *sink = (float *)(void *)(p->bytes + READ_BYTES);
    *per_second = 0;
    for (int i = 0; i < PROBES; i++) {
        float milliseconds = 0;
        (void)cudaEventRecord(p->start, p->stream);
        const double work = start(p, sink);
        (void)cudaEventRecord(p->end, p->stream);
        VUG_TRY(vug_cuda_check(cudaStreamSynchronize(p->stream), "measuring", err));
        VUG_TRY(vug_cuda_check(cudaEventElapsedTime(&milliseconds, p->start, p->end), "measuring",
                               err));
        const double rate = milliseconds > 0 ? work / ((double)milliseconds / 1e3) : 0;
        *per_second = rate > *per_second ? rate : *per_second;
    }
    return VUG_OK;
}

static vug_status measure(vug_device *opened, vug_device_limits *out, vug_err *err)
{
    const vug_cuda_device *device = (const vug_cuda_device *)(const void *)opened;
    probe_state p = { .stream = device->stream, .hopper = device->capability == 9 };
    void *bytes;
    VUG_TRY(vug_cuda_alloc(READ_BYTES + sizeof(float), "measuring the memory", &bytes, err));
    p.bytes = bytes;
    vug_status st = vug_cuda_check(cudaEventCreate(&p.start), "creating an event", err);
    if (st == VUG_OK)
        st = vug_cuda_check(cudaEventCreate(&p.end), "creating an event", err);
    if (st == VUG_OK)
        st = vug_cuda_check(cudaMemsetAsync(p.bytes, 1, READ_BYTES, p.stream), "measuring", err);
    if (st == VUG_OK)
        st = run_probe(&p, start_reads, &out->read_bytes_per_s, err);
    if (st == VUG_OK)
        st = run_probe(&p, start_fma, &out->f32_flop_per_s, err);
    if (st == VUG_OK)
        st = run_probe(&p, start_tensor_cores, &out->bf16_flop_per_s, err);
    if (p.start)
        (void)cudaEventDestroy(p.start);
    if (p.end)
        (void)cudaEventDestroy(p.end);
    (void)cudaStreamSynchronize(p.stream); /* a failed measurement may still run */
    vug_cuda_free(p.bytes);
    return st;
}

/* ---- the vtable --------------------------------------------------------------------------- */

static vug_program_sizes sizes(const vug_program *program)
{
    return ((const vug_cuda_program *)(const void *)program)->sizes;
}

static bool draws_tokens(const vug_program *program)
{
    return ((const vug_cuda_program *)(const void *)program)->logits >= 0;
}

static const vug_kv_layout *kv_layout(const vug_program *program)
{
    return &((const vug_cuda_program *)(const void *)program)->kv_layout;
}

const vug_backend vug_backend_cuda = {
    .name = "cuda",
    .batch_invariant = true,
    .logit_error = { .bf16 = 2e-2, .other = 2e-3 }, /* products have one or two terms in BF16 */
    .activations_meaning = { [VUG_ACTIVATIONS_Q8] = "two terms of BF16",
                             [VUG_ACTIVATIONS_BF16] = "one term of BF16",
                             [VUG_ACTIVATIONS_BF16_FAST] =
                                     "one term of BF16, sums in the fastest order" },
    .open = open_cuda,
    .close = close_cuda,
    .describe = describe,
    .memory_available = vug_cuda_memory_available,
    .memory_used = vug_cuda_memory_used,
    .measure = measure,
    .weights_create = vug_cuda_weights_create,
    .weights_load = vug_cuda_weights_load,
    .weights_destroy = vug_cuda_weights_destroy,
    .weights_bytes = vug_cuda_weights_bytes,
    .compile = vug_cuda_compile,
    .release = vug_cuda_release,
    .sizes = sizes,
    .draws_tokens = draws_tokens,
    .kv_layout = kv_layout,
    .kv_page_bytes = vug_cuda_kv_page_bytes,
    .kv_create = vug_cuda_kv_create,
    .kv_destroy = vug_cuda_kv_destroy,
    .kv_commit = vug_cuda_kv_commit,
    .kv_discard = vug_cuda_kv_discard,
    .kv_copy = vug_cuda_kv_copy,
    .kv_read = vug_cuda_kv_read,
    .kv_write = vug_cuda_kv_write,
    .workspace_create = vug_cuda_workspace_create,
    .workspace_destroy = vug_cuda_workspace_destroy,
    .run = vug_cuda_run,
    .start = vug_cuda_start,
    .finish = vug_cuda_finish,
};
