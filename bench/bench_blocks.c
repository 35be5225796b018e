/*
 * Products of one row with weights in blocks, next to what this machine reaches when it
 * only reads: bytes of weights (and of scales that lie apart) per second. Pieces of some
 * MB are read and multiplied in turn, since the speed of a shared machine drifts; medians
 * are printed, and with "best" the best tenth, for machines with other work on them.
 *
 *     bench_blocks [threads [rounds [median|best [isa [format]]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"

enum {
    STREAMS = VUG_CPU_STREAMS,
    RUN_BYTES = 64 * 1024, /* that a stream reads in a row, as in linear.c */
    PIECE = 16 << 20,
    BYTES = 512 << 20, /* far more than caches hold */
    PIECES = BYTES / PIECE,
    MAX_ROUNDS = 64,
    MAX_SAMPLES = PIECES * MAX_ROUNDS,
    SCALE_COLUMNS = 64, /* of MLX, published most often */
    NARROW = 1152,      /* widths of Gemma 3 1B */
    NARROW_K = 1280,    /* near it, where blocks have 256 weights */
    WIDE = 6912,
};

typedef struct {
    vug_cpu_env env;
    uint8_t *weights, *apart;
    vug_cpu_q8 x;
} bench;

typedef struct {
    const bench *b;
    vug_matrix m;
    int64_t rows, run;
    vug_cpu_deal deal;
    atomic_int sink;
} product;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that a share `at` of `n` are below. */
static double quantile(double *v, int n, double at)
{
    qsort(v, (size_t)n, sizeof(*v), compare);
    return v[(int)((n - 1) * at)];
}

static void run_chunks(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    product *p = arg;
    void (*const gemv)(const vug_cpu_gemv_q8 *) = p->b->env.kernels->block[p->m.dtype]->gemv;
    float y[STREAMS], sum = 0;
    for (int64_t i; (i = vug_cpu_deal_take(&p->deal)) < p->deal.n;) {
        for (int64_t r = 0; r < p->run; r++) {
            gemv(&(vug_cpu_gemv_q8){ &p->b->x, &p->m, i * STREAMS * p->run + r, p->run, y });
            sum += y[0];
        }
    }
    atomic_store(&p->sink, sum > 0);
}

/* Of 256 weights, with their scales. */
static double group_bytes(vug_dtype dtype)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const double bytes = 256.0 / info->elements * info->bytes;
    if (dtype == VUG_DTYPE_MLX_FP4)
        return bytes + 256.0 / 32;
    return dtype >= VUG_DTYPE_MLX2 ? bytes + 256.0 / SCALE_COLUMNS * 4 : bytes;
}

/* Bytes per second, in a piece of the weights. */
static double speed(const bench *b, vug_dtype dtype, int64_t k, int piece)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const int64_t row_bytes = k / info->elements * info->bytes;
    const uint8_t *scale = b->apart + (int64_t)piece * (PIECE / 4);
    product p = {
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
    vug_cpu_deal_init(&p.deal, &b->env, chunks);
    const double start = vug_now();
    vug_pool_run(b->env.pool, run_chunks, &p);
    const double seconds = vug_now() - start;
    return group_bytes(dtype) * (double)(chunks * STREAMS * p.run * k) / (256 * seconds);
}

/* Prints what a format reaches at width `k`, of which share. */
static void print_speed(const bench *b, vug_dtype dtype, int64_t k, int rounds, double share)
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

static bool make_x(bench *b, int64_t k)
{
    int8_t *q = vug_alloc_aligned((size_t)k);
    float *scale = vug_alloc((size_t)k / 32, sizeof(*scale));
    int16_t *sum = vug_alloc((size_t)k / 16, sizeof(*sum));
    b->x = (vug_cpu_q8){ q, scale, sum };
    if (!q || !scale || !sum)
        return false;
    for (int64_t i = 0; i < k; i++) {
        q[i] = (int8_t)(i % 251 - 125);
        scale[i / 32] = 0.01f;
        sum[i / 16] = (int16_t)((i % 16 ? sum[i / 16] : 0) + q[i]);
    }
    return true;
}

static void free_bench(bench *b)
{
    vug_pool_destroy(b->env.pool);
    vug_free((void *)b->x.q);
    vug_free((void *)b->x.scale);
    vug_free((void *)b->x.sum);
    vug_free(b->weights);
    vug_free(b->apart);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : vug_cpu_count();
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    const bool best = argc > 3 && strcmp(argv[3], "best") == 0;
    bench b = { .env.kernels = vug_cpu_choose(argc > 4 ? argv[4] : NULL) };
    vug_err err;
    if (!b.env.kernels || vug_pool_create(threads, &b.env.pool, &err) != VUG_OK)
        return 2;
    b.weights = vug_alloc_aligned(BYTES);
    b.apart = vug_alloc_aligned(BYTES / 4);
    if (!make_x(&b, WIDE) || !b.weights || !b.apart) {
        (void)fprintf(stderr, "bench_blocks needs %d MB of memory\n", BYTES / 800000);
        return 2;
    }
    /* Scales of any format that are small numbers. */
    memset(b.weights, 0x2c, BYTES);
    memset(b.apart, 0x3c, BYTES / 4);
    printf("%s, %d threads, %s of %d: GB/s of weights in rows of a width, and of reads\n",
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
