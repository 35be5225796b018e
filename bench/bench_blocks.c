/*
 * Measures products of one row with quantized weights, in bytes of weights and scales per
 * second, and compares them with plain reads. Pieces of some MB are read and multiplied in turn,
 * because the speed of a shared machine drifts. Prints medians, or with "best" the best tenth,
 * for machines with other work.
 *
 *     bench_blocks [threads [rounds [median|best [isa [format]]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "core/os.h"

enum {
    STREAMS = VUG_CPU_STREAMS,
    RUN_BYTES = 64 * 1024, /* consecutive bytes of a stream, as in linear.c */
    PIECE = 16 << 20,
    BYTES = 512 << 20, /* far more than the caches hold */
    PIECES = BYTES / PIECE,
    MAX_ROUNDS = 64,
    MAX_SAMPLES = PIECES * MAX_ROUNDS,
    SCALE_COLUMNS = 64, /* the usual group size of MLX checkpoints */
    NARROW = 1152,      /* NARROW and WIDE are the widths of Gemma 3 1B */
    NARROW_K = 1280,    /* instead of NARROW, for blocks of 256 weights */
    WIDE = 6912,
};

typedef struct {
    vug_cpu_env env;
    uint8_t *weights, *scales;
    vug_cpu_q8_row x;
} block_bench;

typedef struct {
    const block_bench *b;
    vug_matrix m;
    int64_t rows, run;
    vug_cpu_work_queue queue;
    atomic_int sink;
} product_run;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The quantile `at` of `n` values; sorts them. */
static double quantile(double *v, int n, double at)
{
    qsort(v, (size_t)n, sizeof(*v), compare_doubles);
    return v[(int)((n - 1) * at)];
}

static void run_chunks(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    product_run *p = arg;
    void (*const gemv)(const vug_cpu_gemv_q8 *) = p->b->env.kernels->block[p->m.dtype]->gemv;
    float y[STREAMS], sum = 0;
    for (int64_t i; (i = vug_cpu_work_queue_next(&p->queue)) < p->queue.n;) {
        for (int64_t r = 0; r < p->run; r++) {
            gemv(&(vug_cpu_gemv_q8){ &p->b->x, &p->m, i * STREAMS * p->run + r, p->run, y });
            sum += y[0];
        }
    }
    atomic_store(&p->sink, sum > 0);
}

/* The bytes of 256 weights with their scales. */
static double group_bytes(vug_dtype dtype)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const double bytes = 256.0 / info->elements * info->bytes;
    if (dtype == VUG_DTYPE_MLX_FP4)
        return bytes + 256.0 / 32;
    return dtype >= VUG_DTYPE_MLX2 ? bytes + 256.0 / SCALE_COLUMNS * 4 : bytes;
}

/* Multiplies a piece of the weights; returns bytes per second. */
static double speed(const block_bench *b, vug_dtype dtype, int64_t k, int piece)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const int64_t row_bytes = k / info->elements * info->bytes;
    const uint8_t *scale = b->scales + (int64_t)piece * (PIECE / 4);
    product_run p = {
        .b = b,
        .m = { .dtype = dtype, .data = b->weights + (int64_t)piece * PIECE, .columns = k },
        .run = RUN_BYTES / row_bytes
    };
    if (dtype == VUG_DTYPE_MLX_FP4)
        p.m.scales = (vug_scales){ scale, NULL, VUG_DTYPE_E8M0, 1, 32, k / 32 };
    else if (dtype >= VUG_DTYPE_MLX2)
        p.m.scales = (vug_scales){ scale, scale + PIECE / 8, VUG_DTYPE_BF16,
                                   1,     SCALE_COLUMNS,     k / SCALE_COLUMNS };
    const int64_t chunks = PIECE / (STREAMS * p.run * row_bytes);
    vug_cpu_work_queue_init(&p.queue, &b->env, chunks);
    const double start = vug_now();
    vug_pool_run(b->env.pool, run_chunks, &p);
    const double seconds = vug_now() - start;
    return group_bytes(dtype) * (double)(chunks * STREAMS * p.run * k) / (256 * seconds);
}

/* Prints the speed of a format at width `k`: the given quantile. */
static void print_speed(const block_bench *b, vug_dtype dtype, int64_t k, int rounds, double share)
{
    static double read[MAX_SAMPLES], ours[MAX_SAMPLES];
    const int n = rounds * PIECES;
    for (int i = 0; i < n; i++) {
        const int piece = i % PIECES, other = (piece + PIECES / 2) % PIECES;
        read[i] = vug_cpu_measure_read(&b->env, b->weights + (int64_t)other * PIECE, PIECE);
        ours[i] = speed(b, dtype, k, piece);
    }
    const double bandwidth = quantile(read, n, share), got = quantile(ours, n, share);
    printf("  %5lld: %5.1f GB/s, %3.0f%% of %.1f", (long long)k, got * 1e-9, 100 * got / bandwidth,
           bandwidth * 1e-9);
}

static bool make_x(block_bench *b, int64_t k)
{
    int8_t *q = vug_alloc_aligned((size_t)k);
    float *scale = vug_alloc((size_t)k / 32, sizeof(*scale));
    int16_t *sum = vug_alloc((size_t)k / 16, sizeof(*sum));
    b->x = (vug_cpu_q8_row){ q, scale, sum };
    if (!q || !scale || !sum)
        return false;
    for (int64_t i = 0; i < k; i++) {
        q[i] = (int8_t)(i % 251 - 125);
        scale[i / 32] = 0.01f;
        sum[i / 16] = (int16_t)((i % 16 ? sum[i / 16] : 0) + q[i]);
    }
    return true;
}

static void free_bench(block_bench *b)
{
    vug_pool_destroy(b->env.pool);
    vug_free((void *)b->x.q);
    vug_free((void *)b->x.scale);
    vug_free((void *)b->x.sum);
    vug_free(b->weights);
    vug_free(b->scales);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : vug_cpu_count();
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    const bool best = argc > 3 && strcmp(argv[3], "best") == 0;
    block_bench b = { .env.kernels = vug_cpu_kernels_select(argc > 4 ? argv[4] : NULL) };
    vug_err err;
    if (!b.env.kernels || vug_pool_create(threads, &b.env.pool, &err) != VUG_OK)
        return 2;
    b.weights = vug_alloc_aligned(BYTES);
    b.scales = vug_alloc_aligned(BYTES / 4);
    if (!make_x(&b, WIDE) || !b.weights || !b.scales) {
        (void)fprintf(stderr, "bench_blocks needs %d MB of memory\n", BYTES / 800000);
        return 2;
    }
    /* Bytes that are small scales in every format. */
    memset(b.weights, 0x2c, BYTES);
    memset(b.scales, 0x3c, BYTES / 4);
    printf("%s, %d threads, %s of %d: row width: GB/s of weights, %% of the read bandwidth\n",
           b.env.kernels->description, threads, best ? "best tenth" : "median", rounds * PIECES);
    for (int d = 0; d < VUG_DTYPE_COUNT; d++) {
        const vug_dtype_info *info = vug_dtype_of((vug_dtype)d);
        if (!b.env.kernels->block[d] || (argc > 5 && strcmp(info->name, argv[5]) != 0))
            continue;
        printf("%-8s", info->name);
        print_speed(&b, (vug_dtype)d, info->elements == 32 ? NARROW : NARROW_K, rounds,
                    best ? 0.9 : 0.5);
        print_speed(&b, (vug_dtype)d, WIDE, rounds, best ? 0.9 : 0.5);
        printf("\n");
    }
    free_bench(&b);
    return 0;
}
