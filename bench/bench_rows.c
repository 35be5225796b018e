/*
 * Measures products with 1 to 512 rows of x for each element format, on the shapes of Gemma 3
 * 1B's feed-forward layers: what a step of several tokens, or a prefill, costs, compared with a step
 * of one. BF16 weights are also multiplied with activations in BF16 ("BF16 x").
 * The weights are far larger than the caches and are read in turn. Row counts alternate, because
 * the speed of a shared machine drifts. Prints medians, or with "best" the best tenth, for
 * machines with other work.
 *
 *     bench_rows [threads [rounds [median|best [isa [format]]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "core/os.h"
#include "quant/codec.h"

enum {
    D = 1152,   /* model width */
    D_K = 1280, /* instead of D, for blocks of 256 weights */
    F = 6912,   /* ffn width */
    BYTES = 256 << 20,
    SCALE_COLUMNS = 64, /* the usual group size of MLX checkpoints */
    MAX_ROWS = 512,
    MAX_ROUNDS = 101,
};

static const int64_t row_counts[] = { 1, 2, 4, 8, 16, 32, 512 };
enum { N_COUNTS = sizeof(row_counts) / sizeof(row_counts[0]) };

typedef struct {
    vug_cpu_env env;
    uint8_t *weights, *scales;
    float *x, *y;
    int64_t next; /* the byte of the weights that the next product reads */
} rows_bench;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static vug_scales scales_of(const rows_bench *b, vug_dtype dtype, int64_t in)
{
    if (dtype == VUG_DTYPE_E4M3)
        return (vug_scales){ b->scales, NULL, VUG_DTYPE_F32, 128, 128, (in + 127) / 128 };
    if (dtype == VUG_DTYPE_MLX_FP4)
        return (vug_scales){ b->scales, NULL, VUG_DTYPE_E8M0, 1, 32, in / 32 };
    if (dtype >= VUG_DTYPE_MLX2)
        return (vug_scales){ b->scales, b->scales + BYTES / 8, VUG_DTYPE_BF16,
                             1,         SCALE_COLUMNS,         in / SCALE_COLUMNS };
    return (vug_scales){ 0 };
}

/* The seconds of one product of `rows` rows with weights [out,in]. */
static double multiply(rows_bench *b, vug_dtype dtype, int64_t out, int64_t in, int64_t rows)
{
    const int64_t bytes = out * vug_dtype_row(dtype, in);
    if (b->next + bytes > BYTES)
        b->next = 0;
    const vug_cpu_projection m = { { dtype, b->weights + b->next, in, scales_of(b, dtype, in) },
                                   out,
                                   b->y };
    b->next += bytes;
    const double start = vug_now();
    vug_cpu_linear(&b->env, &(vug_cpu_linear_job){ b->x, rows, in, &m, 1 });
    return vug_now() - start;
}

typedef struct {
    int n;
    double quantile; /* of the times of all rounds that is printed */
} bench_rounds;

static void print_product(rows_bench *b, vug_dtype dtype, int64_t out, int64_t in,
                          const bench_rounds *rounds)
{
    double seconds[N_COUNTS][MAX_ROUNDS], one = 0;
    for (int r = 0; r < rounds->n; r++) {
        for (int i = 0; i < N_COUNTS; i++)
            seconds[i][r] = multiply(b, dtype, out, in, row_counts[i]);
    }
    const bool pairs = b->env.activations == VUG_ACTIVATIONS_BF16;
    printf("%s%-*s %4lld x %-4lld", vug_dtype_of(dtype)->name,
           8 - (int)strlen(vug_dtype_of(dtype)->name), pairs ? " x" : "", (long long)out,
           (long long)in);
    for (int i = 0; i < N_COUNTS; i++) {
        qsort(seconds[i], (size_t)rounds->n, sizeof(double), compare_doubles);
        const double time = seconds[i][(int)((rounds->n - 1) * rounds->quantile)];
        one = i ? one : time;
        printf(" %6.0f %5.2f", time * 1e6, time / one);
    }
    printf("\n");
}

/* Both shapes. */
static void print_format(rows_bench *b, vug_dtype dtype, const bench_rounds *rounds)
{
    const int64_t width = vug_dtype_of(dtype)->elements > 32 ? D_K : D;
    print_product(b, dtype, F, width, rounds);
    print_product(b, dtype, width, F, rounds);
}

static bool is_measured(const rows_bench *b, vug_dtype dtype)
{
    return b->env.kernels->format[dtype] || b->env.kernels->block[dtype] || dtype == VUG_DTYPE_E4M3;
}

static void *aligned_floats(int64_t n)
{
    return vug_alloc_aligned((size_t)n * sizeof(float));
}

static bool make_memory(rows_bench *b, int threads)
{
    const vug_cpu_input_formats all = { .f32 = true, .pairs = true, .q8 = true, .tiles = true };
    uint64_t shared;
    for (int d = 0; d < VUG_DTYPE_COUNT; d++) {
        const int64_t n = is_measured(b, (vug_dtype)d)
                                  ? vug_cpu_linear_scratch_floats(&b->env, (vug_dtype)d, F)
                                  : 0;
        b->env.scratch_floats = n > b->env.scratch_floats ? n : b->env.scratch_floats;
    }
    if (!vug_cpu_linear_shared_floats(&all, MAX_ROWS, F, &shared))
        return false;
    b->env.shared = aligned_floats((int64_t)shared);
    b->env.scratch = aligned_floats(b->env.scratch_floats * threads);
    b->weights = vug_alloc_aligned(BYTES);
    b->scales = vug_alloc_aligned(BYTES / 4);
    b->x = aligned_floats((int64_t)MAX_ROWS * F);
    b->y = aligned_floats((int64_t)MAX_ROWS * F);
    return b->env.shared && b->env.scratch && b->weights && b->scales && b->x && b->y;
}

static void free_bench(rows_bench *b)
{
    vug_pool_destroy(b->env.pool);
    vug_free(b->env.shared);
    vug_free(b->env.scratch);
    vug_free(b->weights);
    vug_free(b->scales);
    vug_free(b->x);
    vug_free(b->y);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : vug_cpu_count();
    const int asked = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 25;
    const bool best = argc > 3 && strcmp(argv[3], "best") == 0;
    const bench_rounds rounds = { .n = asked < 1            ? 1
                                       : asked > MAX_ROUNDS ? MAX_ROUNDS
                                                            : asked,
                                  .quantile = best ? 0.1 : 0.5 };
    rows_bench b = { .env.kernels = vug_cpu_kernels_select(argc > 4 ? argv[4] : NULL) };
    vug_err err;
    if (!b.env.kernels || vug_pool_create(threads, &b.env.pool, &err) != VUG_OK)
        return 2;
    if (!make_memory(&b, threads)) {
        (void)fprintf(stderr, "bench_rows needs %d MB of memory\n", BYTES / 700000);
        return 2;
    }
    /* Bytes that are small scales in every format. */
    memset(b.weights, 0x2c, BYTES);
    memset(b.scales, 0x3c, BYTES / 4);
    for (int64_t i = 0; i < (int64_t)MAX_ROWS * F; i++)
        b.x[i] = (float)(i % 17 - 8) * 0.125f;
    printf("%s, %d threads, %s of %d: us per product, and times that of one row\n",
           b.env.kernels->description, threads, best ? "best tenth" : "median", rounds.n);
    printf("format    out x in  ");
    for (int i = 0; i < N_COUNTS; i++)
        printf(" %3lld row%s    ", (long long)row_counts[i], i ? "s" : " ");
    printf("\n");
    for (int d = 0; d < VUG_DTYPE_COUNT; d++) {
        const vug_dtype_info *info = vug_dtype_of((vug_dtype)d);
        if (!is_measured(&b, (vug_dtype)d) || (argc > 5 && strcmp(info->name, argv[5]) != 0))
            continue;
        print_format(&b, (vug_dtype)d, &rounds);
        if (d != VUG_DTYPE_BF16)
            continue;
        b.env.activations = VUG_ACTIVATIONS_BF16;
        print_format(&b, (vug_dtype)d, &rounds);
        b.env.activations = VUG_ACTIVATIONS_Q8;
    }
    free_bench(&b);
    return 0;
}
