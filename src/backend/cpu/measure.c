/*
 * Measuring the limits of the machine: streaming reads of memory far larger than the caches,
 * and fused multiply-adds in registers. A limit is the best of several short probes, because
 * other programs may run at the same time. Which way of reading is the fastest depends on the
 * processor, so reads are cut into small and large pieces, and done by all threads and by half
 * of them.
 */
#include "backend/cpu/cpu.h"
#include "core/os.h"

enum {
    READ_BYTES = 512 << 20,
    SMALL_CHUNK = 64 * 1024,
    READ_CHUNK = 256 * 1024,
    LARGE_CHUNK = 4 << 20,
    PROBES = 3, /* of each kind */
    FMA_ROUNDS = 200 * 1000,
    FMA_CHUNKS = 16, /* of a probe, per thread */
};

typedef struct {
    const vug_cpu_env *env;
    const uint8_t *bytes;
    int64_t chunk; /* bytes that a thread reads in a row */
    int threads;   /* that read */
    vug_cpu_work_queue queue;
    atomic_int sink; /* uses the results, so that the compiler cannot drop the probe */
    atomic_llong flop;
} probe_run;

static void run_read_probe(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    probe_run *p = arg;
    float sum = 0;
    for (int64_t i; thread < p->threads && (i = vug_cpu_work_queue_next(&p->queue)) < p->queue.n;)
        sum += p->env->kernels->probe_read(p->bytes + i * p->chunk, p->chunk);
    atomic_store(&p->sink, sum > 0);
}

static double measure_read(probe_run *p, int64_t n)
{
    vug_cpu_work_queue_init(&p->queue, p->env, n / p->chunk);
    const double start = vug_now();
    vug_pool_run(p->env->pool, run_read_probe, p);
    return (double)(p->queue.n * p->chunk) / (vug_now() - start);
}

double vug_cpu_measure_read(const vug_cpu_env *env, const uint8_t *bytes, int64_t n)
{
    probe_run p = {
        .env = env, .bytes = bytes, .chunk = READ_CHUNK, .threads = vug_pool_threads(env->pool)
    };
    return measure_read(&p, n);
}

static double best_read(const vug_cpu_env *env, const uint8_t *bytes)
{
    static const int64_t chunks[] = { SMALL_CHUNK, READ_CHUNK, LARGE_CHUNK };
    const int threads = vug_pool_threads(env->pool);
    double best = 0;
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        for (int n = threads; n >= 1 && n >= threads / 2; n -= threads - threads / 2) {
            probe_run p = { .env = env, .bytes = bytes, .chunk = chunks[i], .threads = n };
            const double read = measure_read(&p, READ_BYTES);
            best = read > best ? read : best;
        }
    }
    return best;
}

static void run_fma_probe(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    probe_run *p = arg;
    float sum = 0;
    while (vug_cpu_work_queue_next(&p->queue) < p->queue.n) {
        double flop;
        sum += p->env->kernels->probe_fma(FMA_ROUNDS / FMA_CHUNKS, &flop);
        atomic_fetch_add(&p->flop, (long long)flop);
    }
    atomic_store(&p->sink, sum > 0);
}

double vug_cpu_measure_fma(const vug_cpu_env *env)
{
    probe_run p = { .env = env };
    vug_cpu_work_queue_init(&p.queue, env, (int64_t)FMA_CHUNKS * vug_pool_threads(env->pool));
    const double start = vug_now();
    vug_pool_run(env->pool, run_fma_probe, &p);
    return (double)atomic_load(&p.flop) / (vug_now() - start);
}

vug_status vug_cpu_measure(vug_device *device, vug_device_limits *out, vug_err *err)
{
    const vug_cpu_env env = { .kernels = device->kernels, .pool = device->pool };
    uint8_t *bytes = vug_alloc_aligned(READ_BYTES);
    if (!bytes)
        return VUG_FAIL_NOMEM(err, "measuring the memory", READ_BYTES);
    *out = (vug_device_limits){ 0 };
    for (int i = 0; i < PROBES; i++) {
        const double read = best_read(&env, bytes), fma = vug_cpu_measure_fma(&env);
        if (read > out->read_bytes_per_s)
            out->read_bytes_per_s = read;
        if (fma > out->f32_flop_per_s)
            out->f32_flop_per_s = fma;
    }
    vug_free(bytes);
    return VUG_OK;
}
