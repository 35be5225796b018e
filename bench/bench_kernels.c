/*
 * Measures the CPU's kernels on the shapes of Gemma 3 1B and compares them with probes of the
 * machine's limits. Probes and kernels alternate, because the speed of a shared machine drifts.
 * Prints medians.
 *
 *     bench_kernels [threads [rounds [isa]]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/attention.h"
#include "core/os.h"

enum {
    D = 1152, /* model width */
    F = 6912, /* ffn width */
    HEADS = 4,
    E = 256,      /* head width */
    V = 262144,   /* vocabulary */
    TOKENS = 512, /* of a prefill */
    LAYERS = 4,   /* each with its own weights: together far larger than the caches */
    MAX_ROUNDS = 101,
    READ_BYTES = 512 << 20,
};

static const vug_dtype dtypes[] = { VUG_DTYPE_BF16, VUG_DTYPE_F16, VUG_DTYPE_F32 };
enum { N_DTYPES = 3 };

static const struct {
    int n;
    int64_t in, out[3];
} products[] = {
    { 3, D, { (int64_t)HEADS * E, E, E } }, /* q, k, v */
    { 1, (int64_t)HEADS *E, { D } },        /* attention output */
    { 2, D, { F, F } },                     /* gate, up */
    { 1, F, { D } },                        /* down */
};

enum { N_PRODUCTS = 4 };

typedef struct {
    vug_cpu_env env;
    uint8_t *weights; /* the read probe reads them as well */
    float *x, *y;
} kernel_bench;

static double median(double *v, int n)
{
    for (int i = 1; i < n; i++) {
        for (int j = i; j > 0 && v[j] < v[j - 1]; j--) {
            const double t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
    }
    return v[n / 2];
}

static uint64_t layer_elements(void)
{
    uint64_t n = 0;
    for (int i = 0; i < N_PRODUCTS; i++) {
        for (int j = 0; j < products[i].n; j++)
            n += (uint64_t)(products[i].in * products[i].out[j]);
    }
    return n;
}

/* Runs one job of products; returns the end of its weights. */
static const uint8_t *multiply(const kernel_bench *b, int product, vug_dtype dtype, int64_t rows,
                               const uint8_t *w)
{
    vug_cpu_projection m[3];
    float *y = b->y;
    for (int j = 0; j < products[product].n; j++) {
        const int64_t out = products[product].out[j];
        m[j] = (vug_cpu_projection){ { dtype, w, products[product].in, { 0 } }, out, y };
        w += out * products[product].in * vug_dtype_of(dtype)->bytes;
        y += rows * out;
    }
    vug_cpu_linear(&b->env, &(vug_cpu_linear_job){ b->x, rows, products[product].in, m,
                                                   products[product].n });
    return w;
}

/* One token through some layers and the output head; returns bytes of weights per second. */
static double decode(const kernel_bench *b, vug_dtype dtype)
{
    const uint8_t *w = b->weights;
    const double start = vug_now();
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < N_PRODUCTS; i++)
            w = multiply(b, i, dtype, 1, w);
    }
    const vug_cpu_projection head = { { dtype, w, D, { 0 } }, V, b->y };
    vug_cpu_linear(&b->env, &(vug_cpu_linear_job){ b->x, 1, D, &head, 1 });
    w += (int64_t)V * D * vug_dtype_of(dtype)->bytes;
    return (double)(w - b->weights) / (vug_now() - start);
}

/* 512 tokens through the products of a layer; returns operations per second. */
static double prefill(const kernel_bench *b, vug_dtype dtype)
{
    const uint8_t *w = b->weights;
    const double start = vug_now();
    for (int i = 0; i < N_PRODUCTS; i++)
        w = multiply(b, i, dtype, TOKENS, w);
    return 2.0 * TOKENS * (double)layer_elements() / (vug_now() - start);
}

typedef struct {
    int64_t past, n, window;
} attention_case;

/* The seconds of one layer's attention for `n` tokens after `past`. */
static double attend(const kernel_bench *b, vug_kv_format kv, attention_case at, double *flop)
{
    const int64_t past = at.past, n = at.n, window = at.window;
    const vug_kv_group group = { .window = window, .heads = 1, .width = E, .n_layers = 1 };
    const vug_limits limits = { past + n, TOKENS, 1 };
    const int64_t blocks = vug_kv_pages_of(past + n);
    vug_cpu_kv_cache cache;
    if (!vug_cpu_kv_cache_init(&cache, &group, 0, kv))
        return 0;
    const uint64_t bytes = vug_cpu_kv_cache_bytes(&cache);
    vug_kv pages = { .group = { { vug_alloc_aligned((size_t)blocks * bytes), bytes,
                                  (uint32_t)blocks } },
                     .n_groups = 1 };
    vug_page *table = vug_alloc((size_t)blocks, sizeof(*table));
    vug_cpu_env env = b->env;
    env.shared = vug_alloc_aligned((size_t)vug_cpu_attention_partial_floats(&cache, &limits) *
                                   sizeof(float));
    if (!pages.group[0].base || !table || !env.shared)
        return 0;
    for (int64_t i = 0; i < blocks; i++)
        table[i] = (vug_page)i + 1;
    const vug_span span = { (const vug_page *const *)&table, past, n };
    const vug_cpu_attention_job job = { .cache = &cache,
                                        .kv = &pages,
                                        .span = &span,
                                        .n_spans = 1,
                                        .heads = HEADS,
                                        .q = b->x,
                                        .k = b->x,
                                        .v = b->x,
                                        .out = b->y,
                                        .score = { 0.0625f, 0 } };
    double keys = 0, seconds[9];
    for (int64_t t = past; t < past + n; t++)
        keys += (double)(window > 0 && t + 1 > window ? window : t + 1);
    *flop = 4.0 * keys * HEADS * E;
    for (int i = 0; i < 9; i++) {
        /* Evicts other data from the caches. */
        (void)vug_cpu_measure_read(&b->env, b->weights, 64 << 20);
        const double start = vug_now();
        vug_cpu_kv_cache_append(&env, &job);
        vug_cpu_attention(&env, &job);
        seconds[i] = vug_now() - start;
    }
    vug_free(pages.group[0].base);
    vug_free(table);
    vug_free(env.shared);
    return median(seconds, 9);
}

static void print_attention(const kernel_bench *b)
{
    static const attention_case cases[] = { { 0, 512, 0 },      { 0, 512, 512 }, { 4096, 512, 0 },
                                            { 4096, 512, 512 }, { 511, 1, 0 },   { 4096, 1, 512 },
                                            { 4096, 1, 0 },     { 32000, 1, 0 } };
    printf("\nattention of one layer, us   past tokens window");
    for (int kv = 0; kv < VUG_KV_COUNT; kv++)
        printf(" %7s", vug_kv_format_name((vug_kv_format)kv));
    printf("   of f32: GFLOP/s  GB/s of cache\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double flop = 0, seconds = 0;
        printf("                           %6lld %6lld %6lld", (long long)cases[i].past,
               (long long)cases[i].n, (long long)cases[i].window);
        for (int kv = 0; kv < VUG_KV_COUNT; kv++) {
            const double s = attend(b, (vug_kv_format)kv, cases[i], &flop);
            seconds = kv == VUG_KV_F32 ? s : seconds;
            printf(" %7.0f", s * 1e6);
        }
        const double bytes = flop / (4.0 * HEADS * E) / (double)cases[i].n * 2 * E * 4;
        printf(" %17.1f %14.1f\n", flop / seconds * 1e-9, bytes / seconds * 1e-9);
    }
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : vug_cpu_count();
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 9;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    const uint64_t elements = LAYERS * layer_elements() + (uint64_t)V * D;
    kernel_bench b = { .env.kernels = vug_cpu_kernels_select(argc > 3 ? argv[3] : NULL) };
    vug_err err;
    if (!b.env.kernels || vug_pool_create(threads, &b.env.pool, &err) != VUG_OK)
        return 2;
    const int64_t attention = vug_cpu_attention_scratch_floats(E),
                  linear = vug_cpu_linear_scratch_floats(&b.env, VUG_DTYPE_F32, F);
    b.env.scratch_floats = attention > linear ? attention : linear;
    b.env.scratch = vug_alloc_aligned((size_t)(b.env.scratch_floats * threads) * sizeof(float));
    b.weights = vug_alloc_aligned(elements * sizeof(float));
    b.x = vug_alloc_aligned((size_t)TOKENS * F * sizeof(float));
    b.y = vug_alloc_aligned((size_t)TOKENS * F * 2 * sizeof(float));
    b.env.shared = vug_alloc_aligned((size_t)TOKENS * F * sizeof(float));
    if (!b.env.scratch || !b.env.shared || !b.weights || !b.x || !b.y) {
        (void)fprintf(stderr, "bench_kernels needs %.1f GB of memory\n", (double)elements * 4e-9);
        return 2;
    }
    for (int64_t i = 0; i < (int64_t)TOKENS * F; i++)
        b.x[i] = (float)(i % 17 - 8) * 0.125f;

    double read[MAX_ROUNDS], fma[MAX_ROUNDS], one[N_DTYPES][MAX_ROUNDS], many[N_DTYPES][MAX_ROUNDS];
    for (int r = 0; r < rounds; r++) {
        for (int d = 0; d < N_DTYPES; d++) {
            if (d == 0) {
                read[r] = vug_cpu_measure_read(&b.env, b.weights, READ_BYTES);
                fma[r] = vug_cpu_measure_fma(&b.env);
            }
            one[d][r] = decode(&b, dtypes[d]);
            many[d][r] = prefill(&b, dtypes[d]);
        }
    }
    const double bandwidth = median(read, rounds), peak = median(fma, rounds);
    printf("%s, %d threads, median of %d: reads %.1f GB/s, F32 FMA %.1f GFLOP/s\n\n",
           b.env.kernels->description, threads, rounds, bandwidth * 1e-9, peak * 1e-9);
    printf("weights   decode GB/s  of reads   prefill 512 GFLOP/s  of peak\n");
    for (int d = 0; d < N_DTYPES; d++) {
        const double g = median(one[d], rounds), f = median(many[d], rounds);
        printf("%-7s %13.1f %8.0f%% %21.1f %7.0f%%\n", vug_dtype_of(dtypes[d])->name, g * 1e-9,
               100 * g / bandwidth, f * 1e-9, 100 * f / peak);
    }
    print_attention(&b);
    vug_pool_destroy(b.env.pool);
    vug_free(b.env.scratch);
    vug_free(b.env.shared);
    vug_free(b.weights);
    vug_free(b.x);
    vug_free(b.y);
    return 0;
}
