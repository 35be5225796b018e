/*
 * Measuring the limits of the machine: streaming reads of memory far larger than the caches,
 * and fused multiply-adds in registers. A limit is the best of several short probes, because
 * other programs may run at the same time. Which way of reading is the fastest depends on the
 * processor, so reads are cut into small and large chunks, a chunk is read in order or as four
 * streams, as kernels read four rows of weights, and this is done by all threads and by half of them.
 */
#include "backend/cpu/cpu.h"
#include "core/os.h"

enum {
    READ_BYTES = 512 << 20,
    PART_BYTES = 128 << 20, /* of them, which are timed together */
    SMALL_CHUNK = 64 * 1024,
    READ_CHUNK = 256 * 1024,
    LARGE_CHUNK = 4 << 20,
    STREAMS = 4,
    PROBES = 2, /* of each kind; each reads all parts */
    FMA_ROUNDS = 200 * 1000,
    FMA_CHUNKS = 16, /* of a probe, per thread */
};

typedef struct {
    const vug_cpu_env *env;
    const uint8_t *bytes;
    int64_t chunk; /* bytes that a thread takes at once */
    int streams;   /* of a chunk, which a thread reads side by side */
    int threads;   /* that read */
    vug_cpu_work_queue queue;
    atomic_int sink; /* uses the results, so that the compiler cannot drop the probe */
    atomic_llong flop;
} probe_run;

/* Reads a chunk, prefetching as the kernels of weights do. */
static uint64_t read_chunk(const uint8_t *bytes, int64_t n, int streams)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    enum { LINE = 64, AHEAD = 4096 };
    const int64_t apart = n / streams;
    words a = { 0 }, b = { 0 };
    for (int64_t i = 0; i < apart; i += LINE) {
        for (int64_t j = 0; j < streams; j++) {
            const words *w = (const void *)(bytes + j * apart + i);
            __builtin_prefetch(bytes + j * apart + i + AHEAD);
            a ^= w[0] ^ w[1];
            b ^= w[2] ^ w[3];
        }
    }
    a ^= b;
    return a[0] ^ a[1];
}

static void run_read_probe(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    probe_run *p = arg;
    uint64_t sum = 0;
    for (int64_t i; thread < p->threads && (i = vug_cpu_work_queue_next(&p->queue)) < p->queue.n;)
        sum ^= read_chunk(p->bytes + i * p->chunk, p->chunk, p->streams);
    atomic_store(&p->sink, sum != 0);
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
    double best = 0;
    probe_run p = { .env = env, .chunk = READ_CHUNK, .threads = vug_pool_threads(env->pool) };
    for (int half = 0; half < 2; half++) {
        p.bytes = bytes + half * (n / 2);
        p.streams = half == 0 ? 1 : STREAMS;
        const double read = measure_read(&p, n / 2);
        best = read > best ? read : best;
    }
    return best;
}

/* The best rate of reading a part with `threads` threads. */
static double best_part(probe_run *p, int threads)
{
    double best = 0;
    p->threads = threads;
    for (int i = 0; i < READ_BYTES / PART_BYTES; i++, p->bytes += PART_BYTES) {
        const double read = measure_read(p, PART_BYTES);
        best = read > best ? read : best;
    }
    return best;
}

static double best_read(const vug_cpu_env *env, const uint8_t *bytes)
{
    static const int64_t chunks[] = { SMALL_CHUNK, READ_CHUNK, LARGE_CHUNK };
    enum { CHUNKS = sizeof(chunks) / sizeof(chunks[0]) };
    const int threads = vug_pool_threads(env->pool);
    double best = 0;
    for (int i = 0; i < 2 * CHUNKS; i++) {
        for (int n = threads; n >= 1 && n >= threads / 2; n -= threads - threads / 2) {
            probe_run p = { .env = env,
                            .bytes = bytes,
                            .chunk = chunks[i % CHUNKS],
                            .streams = i < CHUNKS ? 1 : STREAMS };
            const double read = best_part(&p, n);
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
