/*
 * Measuring the limits of the machine: streaming reads of memory far larger than the caches,
 * and fused multiply-adds in registers. The result is the median of several short probes,
 * because other programs may run at the same time.
 */
#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "core/os.h"

enum {
    READ_BYTES = 512 << 20,
    READ_CHUNK = 256 * 1024,
    PROBES = 7,
    FMA_ROUNDS = 200 * 1000,
    FMA_CHUNKS = 16, /* of a probe, per thread */
};

typedef struct {
    const vug_cpu_env *env;
    const uint8_t *bytes;
    vug_cpu_work_queue queue;
    atomic_int sink; /* uses the results, so that the compiler cannot drop the probe */
    atomic_llong flop;
} probe_run;

static void run_read_probe(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    probe_run *p = arg;
    float sum = 0;
    for (int64_t i; (i = vug_cpu_work_queue_next(&p->queue)) < p->queue.n;)
        sum += p->env->kernels->probe_read(p->bytes + i * READ_CHUNK, READ_CHUNK);
    atomic_store(&p->sink, sum > 0);
}

double vug_cpu_measure_read(const vug_cpu_env *env, const uint8_t *bytes, int64_t n)
{
    probe_run p = { .env = env, .bytes = bytes };
    vug_cpu_work_queue_init(&p.queue, env, n / READ_CHUNK);
    const double start = vug_now();
    vug_pool_run(env->pool, run_read_probe, &p);
    return (double)(p.queue.n * READ_CHUNK) / (vug_now() - start);
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

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

vug_status vug_cpu_measure(vug_device *device, vug_device_limits *out, vug_err *err)
{
    const vug_cpu_env env = { .kernels = device->kernels, .pool = device->pool };
    uint8_t *bytes = vug_alloc_aligned(READ_BYTES);
    if (!bytes)
        return VUG_FAIL_NOMEM(err, "measuring the memory", READ_BYTES);
    double read[PROBES], fma[PROBES];
    for (int i = 0; i < PROBES; i++) {
        read[i] = vug_cpu_measure_read(&env, bytes, READ_BYTES);
        fma[i] = vug_cpu_measure_fma(&env);
    }
    vug_free(bytes);
    qsort(read, PROBES, sizeof(read[0]), compare_doubles);
    qsort(fma, PROBES, sizeof(fma[0]), compare_doubles);
    *out = (vug_device_limits){ read[PROBES / 2], fma[PROBES / 2] };
    return VUG_OK;
}
