/*
 * Products of one row with weights in blocks, next to what this machine reaches when it
 * only reads: bytes of weights (and of scales that lie apart) per second. Probe and
 * products alternate, since the speed of a shared machine drifts, and medians are printed.
 *
 *     bench_blocks [threads [rounds [isa [format]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"

enum {
    STREAMS = VUG_CPU_STREAMS,
    RUN_BYTES = 64 * 1024, /* that a stream reads in a row, as in linear.c */
    MAX_ROUNDS = 101,
    READ_BYTES = 256 << 20,
    SCALE_COLUMNS = 64, /* of MLX, published most often */
    N_WIDTHS = 2,
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

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), compare);
    return v[n / 2];
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

/* Bytes per second. */
static double speed(const bench *b, vug_dtype dtype, int64_t k)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const int64_t row_bytes = k / info->elements * info->bytes;
    product p = { .b = b, .m = { .dtype = dtype, .data = b->weights, .columns = k } };
    if (dtype == VUG_DTYPE_MLX_FP4)
        p.m.scales = (vug_scales){ b->apart, NULL, VUG_DTYPE_E8M0, 1, 32, k / 32 };
    else if (dtype >= VUG_DTYPE_MLX2)
        p.m.scales = (vug_scales){ b->apart,      b->apart + READ_BYTES / 2, VUG_DTYPE_BF16, 1,
                                   SCALE_COLUMNS, k / SCALE_COLUMNS };
    p.run = RUN_BYTES / row_bytes;
    const int64_t chunks = READ_BYTES / (STREAMS * p.run * row_bytes);
    vug_cpu_deal_init(&p.deal, chunks);
    const double start = vug_now();
    vug_pool_run(b->env.pool, run_chunks, &p);
    const double seconds = vug_now() - start;
    return group_bytes(dtype) * (double)(chunks * STREAMS * p.run * k / 256) / seconds;
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
    enum { LONGEST = 6912 };
    const int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : vug_cpu_count();
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 9;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    bench b = { .env.kernels = vug_cpu_choose(argc > 3 ? argv[3] : NULL) };
    vug_err err;
    if (!b.env.kernels || vug_pool_create(threads, &b.env.pool, &err) != VUG_OK)
        return 2;
    b.weights = vug_alloc_aligned(READ_BYTES);
    b.apart = vug_alloc_aligned(READ_BYTES);
    if (!make_x(&b, LONGEST) || !b.weights || !b.apart) {
        (void)fprintf(stderr, "bench_blocks needs %d MB of memory\n", READ_BYTES / 500000);
        return 2;
    }
    /* Scales of any format that are small numbers. */
    memset(b.weights, 0x2c, READ_BYTES);
    memset(b.apart, 0x3c, READ_BYTES);

    static double read[MAX_ROUNDS], of[VUG_DTYPE_COUNT][N_WIDTHS][MAX_ROUNDS];
    for (int r = 0; r < rounds; r++) {
        read[r] = vug_cpu_measure_read(&b.env, b.weights, READ_BYTES);
        for (int d = 0; d < VUG_DTYPE_COUNT; d++) {
            if (!b.env.kernels->block[d] ||
                (argc > 4 && strcmp(vug_dtype_of((vug_dtype)d)->name, argv[4]) != 0))
                continue;
            of[d][0][r] = speed(&b, (vug_dtype)d,
                                vug_dtype_of((vug_dtype)d)->elements == 32 ? 1152 : 1280);
            of[d][1][r] = speed(&b, (vug_dtype)d, LONGEST);
        }
    }
    const double bandwidth = median(read, rounds);
    printf("%s, %d threads, median of %d: reads %.1f GB/s\n\n", b.env.kernels->description, threads,
           rounds, bandwidth * 1e-9);
    printf("weights   rows of 1152 (K: 1280)   rows of 6912   GB/s, %% of reads\n");
    for (int d = 0; d < VUG_DTYPE_COUNT; d++) {
        const double narrow = median(of[d][0], rounds), wide = median(of[d][1], rounds);
        if (wide > 0)
            printf("%-8s %13.1f %8.0f%% %10.1f %4.0f%%\n", vug_dtype_of((vug_dtype)d)->name,
                   narrow * 1e-9, 100 * narrow / bandwidth, wide * 1e-9, 100 * wide / bandwidth);
    }
    free_bench(&b);
    return 0;
}
