/*
 * What the machine reaches when it does nothing else: streaming reads of memory
 * far larger than the caches, and fused multiply-adds in registers. Short probes
 * and their median, since other programs may run beside us.
 */
#include <stdlib.h>

#include "backend/cpu/cpu.h"

enum {
    READ_BYTES = 512 << 20,
    READ_CHUNK = 256 * 1024,
    PROBES = 7,
    FMA_ROUNDS = 200 * 1000,
    FMA_SLICES = 16, /* of a probe, dealt out like any work */
};

typedef struct {
    const vug_cpu_env *env;
    const uint8_t *bytes;
    vug_cpu_deal deal;
    atomic_int sink; /* keeps the compiler from leaving the probe out */
    atomic_llong flop;
} probe;

static void read_chunks(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    probe *p = arg;
    float sum = 0;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;)
        sum += p->env->kernels->probe_read(p->bytes + i * READ_CHUNK, READ_CHUNK);
    atomic_store(&p->sink, sum > 0);
}

double vug_cpu_measure_read(const vug_cpu_env *env, const uint8_t *bytes, int64_t n)
{
    probe p = { .env = env, .bytes = bytes };
    vug_cpu_deal_init(&p.deal, env, n / READ_CHUNK);
    const double start = vug_now();
    vug_pool_run(env->pool, read_chunks, &p);
    return (double)(p.deal.n * READ_CHUNK) / (vug_now() - start);
}

static void do_fmas(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    probe *p = arg;
    float sum = 0;
    while (vug_cpu_deal_take(&p->deal) < p->deal.n) {
        double flop;
        sum += p->env->kernels->probe_fma(FMA_ROUNDS / FMA_SLICES, &flop);
        atomic_fetch_add(&p->flop, (long long)flop);
    }
    atomic_store(&p->sink, sum > 0);
}

double vug_cpu_measure_fma(const vug_cpu_env *env)
{
    probe p = { .env = env };
    vug_cpu_deal_init(&p.deal, env, (int64_t)FMA_SLICES * vug_pool_threads(env->pool));
    const double start = vug_now();
    vug_pool_run(env->pool, do_fmas, &p);
    return (double)atomic_load(&p.flop) / (vug_now() - start);
}

static int compare(const void *a, const void *b)
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
    qsort(read, PROBES, sizeof(read[0]), compare);
    qsort(fma, PROBES, sizeof(fma[0]), compare);
    *out = (vug_device_limits){ read[PROBES / 2], fma[PROBES / 2] };
    return VUG_OK;
}
