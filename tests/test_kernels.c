/*
 * The rows of the CPU's kernel table: every row gives the bits of ref, at odd
 * sizes and alignments, and touches nothing else; and ref itself is as close to
 * the exact result as its sums allow.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "kernel_help.h"

static const vug_dtype dtypes[] = { VUG_DTYPE_F32, VUG_DTYPE_F16, VUG_DTYPE_BF16 };

enum { PANEL = VUG_CPU_PANEL, N_DTYPES = 3 };

/* Sums of 1 to 600 elements: every length where tails change, then some. */
static int64_t next_k(int64_t k)
{
    return k < 40 ? k + 1 : k + 37;
}

/* ---- tables and dispatch -------------------------------------------------- */

static void test_choose(void **state)
{
    (void)state;
    const int n = vug_cpu_row_count();
    assert_true(n >= 1);
    assert_string_equal(vug_cpu_row(0)->name, "ref");
    assert_null(vug_cpu_row(n));
    assert_ptr_equal(vug_cpu_choose(NULL), vug_cpu_row(n - 1));
    for (int i = 0; i < n; i++)
        assert_ptr_equal(vug_cpu_choose(vug_cpu_row(i)->name), vug_cpu_row(i));
    assert_null(vug_cpu_choose("abacus"));
    char names[64];
    assert_non_null(strstr(vug_cpu_row_names(names, sizeof(names)), "ref"));
}

static void test_blocks_of_sums(void **state)
{
    (void)state;
    for (int64_t k = 1; k < 30000; k++) {
        const int64_t kc = vug_cpu_kc(k);
        assert_true(kc >= 1 && kc <= VUG_CPU_KC && kc <= k);
        assert_true(kc == k || kc % 16 == 0);
    }
    assert_int_equal(vug_cpu_kc(1280), 1280);
    assert_int_equal(vug_cpu_kc(1296), 656);
    assert_int_equal(vug_cpu_kc(6912), 1152);
}

/* Lane order is a permutation: lane after lane, each with every eighth element. */
static void test_lane_order(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 100; n++) {
        int64_t next = 0;
        for (int64_t j = 0; j < VUG_CPU_LANES; j++) {
            int64_t size = 0;
            for (int64_t i = j; i < n; i += VUG_CPU_LANES)
                size++;
            assert_int_equal(vug_cpu_lane_start(n, j), next);
            assert_int_equal(vug_cpu_lane_size(n, j), size);
            next += size;
        }
        assert_int_equal(next, n);
    }
}

/* ---- matrix kernels ------------------------------------------------------- */

static void tile_once(const vug_cpu_kernels *row, rng *r, int rows, int64_t k)
{
    const int64_t lda = k + 3, ldb = PANEL + 5, ldc = PANEL + 2;
    const size_t na = (size_t)(5 * lda + k), nb = (size_t)((k - 1) * ldb + PANEL);
    const size_t nc = (size_t)(rows * ldc);
    float *a = guarded_floats(na), *b = guarded_floats(nb);
    float *c = guarded_floats(nc), *want = guarded_floats(nc);
    for (int64_t i = 0; i < rows; i++)
        rng_fill(r, a + i * lda, (size_t)k);
    for (int64_t i = 0; i < k; i++)
        rng_fill(r, b + i * ldb, PANEL);
    vug_cpu_tile t = { .a = a, .b = b, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc };
    for (int pass = 0; pass < 2; pass++) {
        t.accumulate = pass == 1;
        t.c = want;
        vug_cpu_row(0)->tile(rows, &t);
        t.c = c;
        row->tile(rows, &t);
        check_bits(c, want, nc, row->name);
    }
    check_guards(c, nc);
    free_guarded(a);
    free_guarded(b);
    free_guarded(c);
    free_guarded(want);
}

/* Keys of a panel, or rows of values, at random, as a cache has them. */
static void fill_cached(rng *r, vug_kv kv, bool keys, int64_t k, uint8_t *to)
{
    const vug_dtype dtype = kv == VUG_KV_F16    ? VUG_DTYPE_F16
                            : kv == VUG_KV_BF16 ? VUG_DTYPE_BF16
                                                : VUG_DTYPE_F32;
    for (int64_t i = 0; i < k; i++) {
        if (kv == VUG_KV_Q8 && keys && i % VUG_KV_GROUP == 0) {
            rng_fill(r, (float *)(void *)to, PANEL);
            to += PANEL * sizeof(float);
        }
        for (int j = 0; j < PANEL; j++) {
            const float x = rng_float(r);
            if (kv == VUG_KV_Q8) {
                *to++ = (uint8_t)rng_bits(r);
            } else {
                vug_dtype_of(dtype)->encode(&x, to, 1);
                to += vug_dtype_of(dtype)->bytes;
            }
        }
    }
}

static void cached_once(const vug_cpu_kernels *row, rng *r, vug_kv kv, int rows, int64_t k)
{
    const int64_t lda = k + 1, ldc = PANEL + 2;
    const int64_t scales = (k + VUG_KV_GROUP - 1) / VUG_KV_GROUP * PANEL;
    const size_t nb = (size_t)(k * PANEL + scales), nc = (size_t)(rows * ldc), nk = (size_t)k;
    float *a = guarded_floats((size_t)(rows * lda)), *b = guarded_floats(nb);
    float *scale = guarded_floats(nk), *c = guarded_floats(nc), *want = guarded_floats(nc);
    rng_fill(r, a, (size_t)(rows * lda));
    rng_fill(r, scale, nk);
    for (int keys = 0; keys < 2; keys++) {
        vug_cpu_tile t = { .a = a, .b = b, .k = k, .lda = lda, .ldb = PANEL, .ldc = ldc };
        fill_cached(r, kv, keys, k, (uint8_t *)b);
        t.scale = keys || kv != VUG_KV_Q8 ? NULL : scale;
        for (int pass = 0; pass < 2; pass++) {
            t.accumulate = pass == 1;
            t.c = want;
            (keys ? vug_cpu_row(0)->keys : vug_cpu_row(0)->values)[kv](rows, &t);
            t.c = c;
            (keys ? row->keys : row->values)[kv](rows, &t);
            check_bits(c, want, nc, vug_kv_name(kv));
        }
    }
    check_guards(c, nc);
    free_guarded(a);
    free_guarded(b);
    free_guarded(scale);
    free_guarded(c);
    free_guarded(want);
}

/* test_attention.c compares ref's own, in a cache, with the attention of ref.c. */
static void test_tile_of_a_cache(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 16, 31, 32, 33, 64, 72, 113 };
    rng r = { 31 };
    for (int i = 0; i < vug_cpu_row_count(); i++) {
        for (int kv = 0; kv < VUG_KV_COUNT; kv++) {
            for (int rows = 1; rows <= VUG_CPU_ROWS; rows++) {
                for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
                    cached_once(vug_cpu_row(i), &r, (vug_kv)kv, rows, sizes[k]);
            }
        }
    }
}

static void test_tile(void **state)
{
    (void)state;
    rng r = { 1 };
    for (int i = 0; i < vug_cpu_row_count(); i++) {
        for (int rows = 1; rows <= VUG_CPU_ROWS; rows++) {
            for (int64_t k = 1; k <= 600; k = next_k(k))
                tile_once(vug_cpu_row(i), &r, rows, k);
        }
    }
}

/* Rows of weights with a gap between them that decodes to NaN. */
static void weights_once(const vug_cpu_kernels *row, vug_dtype dtype, rng *r, int64_t k)
{
    const int64_t size = vug_dtype_of(dtype)->bytes, gap = 3, stride = (k + gap) * size;
    const size_t shift = rng_bits(r) % 64, n = (size_t)((k + gap) * PANEL);
    uint8_t *w = random_weights(r, dtype, n, shift);
    for (int64_t o = 0; o < PANEL; o++)
        memset(w + o * stride + k * size, 0xff, (size_t)(gap * size));
    const vug_cpu_format *format = row->format[dtype], *ref = vug_cpu_row(0)->format[dtype];

    const size_t np = (size_t)(k * PANEL);
    float *panel = guarded_floats(np), *want = guarded_floats(np);
    for (int rows = 1; rows <= PANEL; rows += 5) {
        format->pack(w, stride, rows, k, panel);
        ref->pack(w, stride, rows, k, want);
        check_bits(panel, want, np, "pack");
    }
    check_guards(panel, np);
    format->decode(w, 1.7f, panel, k);
    ref->decode(w, 1.7f, want, k);
    check_bits(panel, want, (size_t)k, "decode");
    check_guards(panel, np);

    enum { STREAMS = VUG_CPU_STREAMS };
    float *x = guarded_floats((size_t)k), *y = guarded_floats(STREAMS);
    float *z = guarded_floats(STREAMS);
    rng_fill(r, x, (size_t)k);
    for (int64_t apart = 0; apart <= 5; apart += 5) {
        vug_cpu_gemv g = { x, w, y, k, apart * stride };
        format->gemv(&g);
        g.y = z;
        ref->gemv(&g);
        check_bits(y, z, STREAMS, "gemv");
    }
    check_guards(y, STREAMS);
    free_guarded(x);
    free_guarded(y);
    free_guarded(z);
    free_guarded(panel);
    free_guarded(want);
    free_weights(w, shift);
}

static void test_weights(void **state)
{
    (void)state;
    rng r = { 2 };
    for (int i = 0; i < vug_cpu_row_count(); i++) {
        for (int d = 0; d < N_DTYPES; d++) {
            for (int64_t k = 1; k <= 600; k = next_k(k))
                weights_once(vug_cpu_row(i), dtypes[d], &r, k);
            /* Two blocks of the sum, the second of another length. */
            weights_once(vug_cpu_row(i), dtypes[d], &r, VUG_CPU_KC + 1);
            weights_once(vug_cpu_row(i), dtypes[d], &r, 2 * VUG_CPU_KC + 77);
        }
    }
}

/* Every 16-bit pattern that is no NaN. */
static void test_every_half(void **state)
{
    (void)state;
    enum { N = 65536 };
    uint8_t *w = vug_alloc(N, 2);
    float *got = vug_alloc(N, sizeof(*got)), *want = vug_alloc(N, sizeof(*want));
    for (int d = 1; d < N_DTYPES; d++) {
        for (int64_t i = 0; i < N; i++) {
            w[2 * i] = (uint8_t)i;
            w[2 * i + 1] = (uint8_t)(i >> 8);
            float x;
            vug_dtype_of(dtypes[d])->decode(w + 2 * i, &x, 1);
            if (isnan(x))
                w[2 * i + 1] = 0;
        }
        vug_dtype_of(dtypes[d])->decode(w, want, N);
        for (int i = 0; i < vug_cpu_row_count(); i++) {
            const vug_cpu_format *format = vug_cpu_row(i)->format[dtypes[d]];
            format->decode(w, 1, got, N);
            check_bits(got, want, N, vug_cpu_row(i)->name);
            /* As 16 rows of 4096, which pack transposes. */
            format->pack(w, (int64_t)N / PANEL * 2, PANEL, N / PANEL, got);
            for (int64_t j = 0; j < N; j++) {
                const int64_t n = N / PANEL, e = j % n;
                const int64_t at = vug_cpu_lane_start(n, e % VUG_CPU_LANES) + e / VUG_CPU_LANES;
                check_bits(&got[at * PANEL + j / n], &want[j], 1, "pack");
            }
        }
    }
    vug_free(w);
    vug_free(got);
    vug_free(want);
}

/* ---- elementwise ---------------------------------------------------------- */

typedef void binary_fn(const float *a, const float *b, float *out, int64_t n);

static void check_binary(binary_fn *f, binary_fn *ref, const float *a, const float *b, int64_t n,
                         const char *what)
{
    float *out = guarded_floats((size_t)n), *want = guarded_floats((size_t)n);
    f(a, b, out, n);
    ref(a, b, want, n);
    check_bits(out, want, (size_t)n, what);
    check_guards(out, (size_t)n);
    memcpy(out, a, (size_t)n * sizeof(float)); /* in place */
    f(out, b, out, n);
    check_bits(out, want, (size_t)n, what);
    free_guarded(out);
    free_guarded(want);
}

static void check_unary(const vug_cpu_kernels *row, const float *x, int64_t n)
{
    const vug_cpu_kernels *ref = vug_cpu_row(0);
    float *out = guarded_floats((size_t)n), *want = guarded_floats((size_t)n);
    row->gelu(x, out, n);
    ref->gelu(x, want, n);
    check_bits(out, want, (size_t)n, "gelu");
    row->silu(x, out, n);
    ref->silu(x, want, n);
    check_bits(out, want, (size_t)n, "silu");
    row->exp(x, out, n);
    ref->exp(x, want, n);
    check_bits(out, want, (size_t)n, "exp");
    row->softcap(x, 3, out, n);
    ref->softcap(x, 3, want, n);
    check_bits(out, want, (size_t)n, "softcap");
    row->scale(x, 1.3f, out, n);
    ref->scale(x, 1.3f, want, n);
    check_bits(out, want, (size_t)n, "scale");
    row->norm(x, 0.3f, x, out, n);
    ref->norm(x, 0.3f, x, want, n);
    check_bits(out, want, (size_t)n, "norm");
    row->join(out, 0.7f, x, 0.2f, n);
    ref->join(want, 0.7f, x, 0.2f, n);
    check_bits(out, want, (size_t)n, "join");
    const float sums[2] = { row->sum_squares(x, n), ref->sum_squares(x, n) };
    check_bits(&sums[0], &sums[1], 1, "sum_squares");
    check_guards(out, (size_t)n);
    free_guarded(out);
    free_guarded(want);
}

static void test_elementwise(void **state)
{
    (void)state;
    rng r = { 3 };
    for (int i = 0; i < vug_cpu_row_count(); i++) {
        const vug_cpu_kernels *row = vug_cpu_row(i), *ref = vug_cpu_row(0);
        for (int64_t n = 1; n < 1200; n = n < 40 ? n + 1 : n * 2 + 1) {
            float *a = guarded_floats((size_t)n), *b = guarded_floats((size_t)n);
            for (int64_t j = 0; j < n; j++) {
                a[j] = rng_float(&r) * expf(8 * rng_float(&r));
                b[j] = rng_float(&r) * expf(8 * rng_float(&r));
            }
            check_binary(row->add, ref->add, a, b, n, "add");
            check_binary(row->mul, ref->mul, a, b, n, "mul");
            check_unary(row, a, n);
            free_guarded(a);
            free_guarded(b);
        }
    }
}

static void test_rope(void **state)
{
    (void)state;
    rng r = { 4 };
    for (int i = 0; i < vug_cpu_row_count(); i++) {
        for (int64_t h = 1; h < 140; h++) {
            const size_t n = (size_t)(2 * h);
            float *x = guarded_floats(n), *table = guarded_floats(n);
            float *out = guarded_floats(n), *want = guarded_floats(n);
            rng_fill(&r, x, n);
            rng_fill(&r, table, n);
            vug_ref_rope(x, table, 2 * h, want, 2 * h);
            vug_cpu_row(i)->rope(x, table, table + h, h, out);
            check_bits(out, want, n, "rope");
            vug_cpu_row(i)->rope(x, table, table + h, h, x);
            check_bits(x, want, n, "rope in place");
            check_guards(out, n);
            free_guarded(x);
            free_guarded(table);
            free_guarded(out);
            free_guarded(want);
        }
    }
}

static void test_softmax(void **state)
{
    (void)state;
    rng r = { 5 };
    const vug_cpu_kernels *ref = vug_cpu_row(0);
    for (int i = 0; i < vug_cpu_row_count(); i++) {
        for (int lo = 0; lo < VUG_CPU_BLOCK; lo++) {
            for (int hi = lo + 1; hi <= VUG_CPU_BLOCK; hi += 1 + (int)(rng_bits(&r) % 4)) {
                /* Products outside the range stay NaN. */
                float *p = guarded_floats(VUG_CPU_BLOCK), *q = guarded_floats(VUG_CPU_BLOCK);
                for (int j = lo; j < hi; j++)
                    p[j] = q[j] = 30 * rng_float(&r);
                const vug_cpu_score score = { 0.25f, lo % 2 ? 5.0f : 0.0f };
                vug_cpu_softmax a = { hi % 3 ? rng_float(&r) : -INFINITY, hi % 3 ? 2.5f : 0 };
                vug_cpu_softmax b = a;
                const float got[3] = { vug_cpu_row(i)->softmax(p, lo, hi, &score, &a), a.max,
                                       a.sum };
                const float want[3] = { ref->softmax(q, lo, hi, &score, &b), b.max, b.sum };
                check_bits(got, want, 3, "softmax");
                check_bits(p + lo, q + lo, (size_t)(hi - lo), "softmax");
                check_guards(p, VUG_CPU_BLOCK);
                free_guarded(p);
                free_guarded(q);
            }
        }
    }
}

/* ---- accuracy of functions ------------------------------------------------ */

/* |got - want| in units of the last place of want. */
static double ulps(float got, double want)
{
    if ((double)got == want || (isinf(got) && fabs(want) > 0x1.ffffffp+127))
        return 0;
    int e;
    (void)frexp(want, &e);
    const double ulp = ldexp(1, e - 24 < -149 ? -149 : e - 24);
    return fabs((double)got - want) / ulp;
}

static float from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

static void test_exp_accuracy(void **state)
{
    (void)state;
    double worst = 0, worst_tanh = 0;
    for (uint32_t u = 0; u < 0x42d40000; u += 3989) { /* up to 106 */
        const float x = from_bits(u);
        worst = fmax(worst, ulps(vug_ref_exp(x), exp((double)x)));
        worst = fmax(worst, ulps(vug_ref_exp(-x), exp(-(double)x)));
        worst_tanh = fmax(worst_tanh, ulps(vug_ref_tanh(x), tanh((double)x)));
        assert_true(vug_ref_tanh(-x) == -vug_ref_tanh(x));
    }
    print_message("exp within %.3f ulp, tanh within %.3f ulp\n", worst, worst_tanh);
    assert_true(worst < 1.0);
    assert_true(worst_tanh < 2.0);
    assert_true(vug_ref_exp(0) == 1 && vug_ref_exp(-INFINITY) == 0 && vug_ref_exp(-200) == 0);
    assert_true(isinf(vug_ref_exp(100)) && isnan(vug_ref_exp(NAN)) && isnan(vug_ref_tanh(NAN)));
    assert_true(vug_ref_tanh(INFINITY) == 1);
}

/* The error is that of the exponent: relative to x, not to a vanishing result. */
static void test_gelu_accuracy(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = -80000; i < 80000; i += 7) {
        const float x = (float)i * 0.00037f + 1e-6f;
        const double u = sqrt(2 / M_PI) * ((double)x + 0.044715 * pow((double)x, 3));
        const double want = 0.5 * (double)x * (1 + tanh(u));
        worst = fmax(worst, fabs((double)vug_ref_gelu(x) - want) / fabs((double)x));
    }
    print_message("gelu within %.3g of x\n", worst);
    assert_true(worst < 3e-7);
    assert_true(vug_ref_gelu(-100) == 0 && vug_ref_gelu(100) == 100);
}

static void test_silu_accuracy(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = -80000; i < 80000; i += 7) {
        const float x = (float)i * 0.00097f + 1e-6f;
        const double want = (double)x / (1 + exp(-(double)x));
        worst = fmax(worst, fabs((double)vug_ref_silu(x) - want) / fabs(want));
    }
    print_message("silu within %.3g\n", worst);
    /* exp within one ulp, a sum and a division rounded. */
    assert_true(worst < 3 * 0x1p-23);
    assert_true(vug_ref_silu(-200) == 0 && vug_ref_silu(200) == 200);
}

/* ---- whole products ------------------------------------------------------- */

static vug_cpu_env env_of(const vug_cpu_kernels *row, int threads)
{
    enum { SHARED = 1 << 20 }; /* floats: more than rows x in of any product here */
    vug_cpu_env env = { .kernels = row };
    env.scratch_floats = vug_cpu_linear_scratch(&env, VUG_DTYPE_F32, 1);
    env.shared = vug_alloc_aligned(SHARED * sizeof(float));
    assert_non_null(env.shared);
    assert_int_equal(vug_pool_create(threads, &env.pool, NULL), VUG_OK);
    env.scratch = vug_alloc_aligned((size_t)(env.scratch_floats * threads) * sizeof(float));
    assert_non_null(env.scratch);
    return env;
}

static void env_release(vug_cpu_env *env)
{
    vug_pool_destroy(env->pool);
    vug_free(env->scratch);
    vug_free(env->shared);
}

/* `rows` rows together, then each row alone, all equal to ref. */
static void linear_once(const vug_cpu_env *env, int64_t rows, const vug_matrix *w, int64_t out,
                        const float *want, const float *x)
{
    const size_t ny = (size_t)(rows * out);
    float *y = guarded_floats(ny);
    vug_cpu_matrix m = { *w, out, y };
    vug_cpu_linear_job job = { .x = x, .rows = rows, .in = w->columns, .matrix = &m, .n = 1 };
    vug_cpu_linear(env, &job);
    check_bits(y, want, ny, "linear");
    check_guards(y, ny);
    free_guarded(y);

    y = guarded_floats((size_t)out);
    m.y = y;
    job.rows = 1;
    for (int64_t t = 0; t < rows; t++) {
        job.x = x + t * w->columns;
        vug_cpu_linear(env, &job);
        check_bits(y, want + t * out, (size_t)out, "linear of one row");
        check_guards(y, (size_t)out);
    }
    free_guarded(y);
}

/* The sum of k products, each within 2^-24 of exact, added in k - 1 steps:
 * |error| <= k eps sum |x||w|, eps = 2^-24, and never near it. */
static void check_against_double(const float *x, int64_t rows, const vug_matrix *w, int64_t out,
                                 const float *y)
{
    const int64_t row_bytes = w->columns * vug_dtype_of(w->dtype)->bytes;
    for (int64_t t = 0; t < rows; t++) {
        for (int64_t o = 0; o < out; o++) {
            double sum = 0, magnitude = 0;
            for (int64_t i = 0; i < w->columns; i++) {
                const double p = (double)x[t * w->columns + i] *
                                 (double)vug_ref_element(w->dtype, w->data + o * row_bytes, i);
                sum += p;
                magnitude += fabs(p);
            }
            const double bound = (double)w->columns * 0x1p-24 * magnitude;
            assert_true(fabs((double)y[t * out + o] - sum) <= bound);
        }
    }
}

static void test_linear(void **state)
{
    (void)state;
    rng r = { 6 };
    vug_cpu_env env[4];
    int n_envs = 0;
    for (int i = 0; i < vug_cpu_row_count(); i++) {
        env[n_envs++] = env_of(vug_cpu_row(i), 1);
        env[n_envs++] = env_of(vug_cpu_row(i), 3);
    }
    for (int round = 0; round < 120; round++) {
        const int64_t rows = 1 + rng_bits(&r) % 9, out = 1 + rng_bits(&r) % 40;
        const int64_t in = round % 8 ? 1 + rng_bits(&r) % 600 : 1 + rng_bits(&r) % 2000;
        const vug_dtype dtype = dtypes[round % N_DTYPES];
        const size_t shift = rng_bits(&r) % 64;
        uint8_t *data = random_weights(&r, dtype, (size_t)(out * in), shift);
        const vug_matrix w = matrix_over(dtype, data, in);
        float *x = guarded_floats((size_t)(rows * in));
        float *want = guarded_floats((size_t)(rows * out));
        rng_fill(&r, x, (size_t)(rows * in));
        vug_ref_linear(x, rows, &w, out, want);
        check_against_double(x, rows, &w, out, want);
        for (int e = 0; e < n_envs; e++)
            linear_once(&env[e], rows, &w, out, want, x);
        free_guarded(x);
        free_guarded(want);
        free_weights(data, shift);
    }
    for (int e = 0; e < n_envs; e++)
        env_release(&env[e]);
}

/* Several matrices of one input as one job, one of them without whole tiles. */
static void test_linear_group(void **state)
{
    (void)state;
    enum { IN = 350, N = 4, MAX_ROWS = 200 };
    static const int64_t out[N] = { 160, 7, 64, 100 };
    rng r = { 7 };
    vug_cpu_env env = env_of(vug_cpu_choose(NULL), 3);
    float *x = guarded_floats((size_t)MAX_ROWS * IN);
    rng_fill(&r, x, (size_t)MAX_ROWS * IN);
    for (int64_t rows = 1; rows <= MAX_ROWS; rows += MAX_ROWS - 1) {
        vug_cpu_matrix m[N];
        for (int i = 0; i < N; i++) {
            const vug_dtype dtype = dtypes[i % N_DTYPES];
            m[i].w = matrix_over(dtype, random_weights(&r, dtype, (size_t)(out[i] * IN), (size_t)i),
                                 IN);
            m[i].out = out[i];
            m[i].y = guarded_floats((size_t)(rows * out[i]));
        }
        vug_cpu_linear(&env, &(vug_cpu_linear_job){ x, rows, IN, m, N });
        for (int i = 0; i < N; i++) {
            const size_t n = (size_t)(rows * out[i]);
            float *want = guarded_floats(n);
            vug_ref_linear(x, rows, &m[i].w, out[i], want);
            check_bits(m[i].y, want, n, "one of several");
            check_guards(m[i].y, n);
            free_guarded(want);
            free_guarded(m[i].y);
            free_weights(m[i].w.data, (size_t)i);
        }
    }
    free_guarded(x);
    env_release(&env);
}

/* A step that is cancelled leaves its product at the next chunk, not at its end. */
static void test_linear_is_left(void **state)
{
    (void)state;
    enum { IN = 64, OUT = 400, ROWS = 100 };
    rng r = { 11 };
    atomic_bool cancel = true;
    vug_cpu_env env = env_of(vug_cpu_choose(NULL), 2);
    env.cancel = &cancel;
    float *x = guarded_floats((size_t)ROWS * IN), *y = guarded_floats((size_t)ROWS * OUT);
    uint8_t *data = random_weights(&r, VUG_DTYPE_BF16, (size_t)OUT * IN, 0);
    vug_cpu_matrix m = { matrix_over(VUG_DTYPE_BF16, data, IN), OUT, y };
    rng_fill(&r, x, (size_t)ROWS * IN);
    for (int go_on = 0; go_on < 2; go_on++) {
        atomic_store(&cancel, !go_on);
        vug_cpu_linear(&env, &(vug_cpu_linear_job){ x, ROWS, IN, &m, 1 });
        for (size_t i = 0; i < (size_t)ROWS * OUT; i++)
            assert_true((isnan(y[i]) != 0) == !go_on);
    }
    free_guarded(x);
    free_guarded(y);
    free_weights(data, 0);
    env_release(&env);
}

/* A large matrix without a slow reference: u (W x) = (W^T u) x in double, for a
 * random u. The bound is that of each output, summed over |u|. */
static void test_linear_identity(void **state)
{
    (void)state;
    static const size_t n_out = 600, n_in = 1900, n_rows = 37;
    rng r = { 8 };
    vug_cpu_env env = env_of(vug_cpu_choose(NULL), 2);
    float *x = guarded_floats(n_rows * n_in), *y = guarded_floats(n_rows * n_out);
    float *u = guarded_floats(n_out), *w = guarded_floats(n_in);
    double *wu = vug_alloc_zero(n_in, sizeof(*wu)), *size = vug_alloc_zero(n_in, sizeof(*size));
    rng_fill(&r, x, n_rows * n_in);
    rng_fill(&r, u, n_out);
    for (int d = 0; d < N_DTYPES; d++) {
        const vug_dtype_info *info = vug_dtype_of(dtypes[d]);
        uint8_t *data = random_weights(&r, dtypes[d], n_out * n_in, 6);
        vug_cpu_matrix m = { matrix_over(dtypes[d], data, (int64_t)n_in), (int64_t)n_out, y };
        vug_cpu_linear(&env, &(vug_cpu_linear_job){ x, (int64_t)n_rows, (int64_t)n_in, &m, 1 });
        memset(wu, 0, n_in * sizeof(*wu));
        memset(size, 0, n_in * sizeof(*size));
        for (size_t o = 0; o < n_out; o++) {
            info->decode(data + o * n_in * (size_t)info->bytes, w, n_in);
            for (size_t i = 0; i < n_in; i++) {
                wu[i] += (double)u[o] * (double)w[i];
                size[i] += fabs((double)u[o] * (double)w[i]);
            }
        }
        for (size_t t = 0; t < n_rows; t++) {
            double left = 0, right = 0, magnitude = 0;
            for (size_t o = 0; o < n_out; o++)
                left += (double)u[o] * (double)y[t * n_out + o];
            for (size_t i = 0; i < n_in; i++) {
                right += wu[i] * (double)x[t * n_in + i];
                magnitude += size[i] * fabs((double)x[t * n_in + i]);
            }
            assert_true(fabs(left - right) <= 340 * 0x1p-24 * magnitude);
        }
        free_weights(data, 6);
    }
    free_guarded(x);
    free_guarded(y);
    free_guarded(u);
    free_guarded(w);
    vug_free(wu);
    vug_free(size);
    env_release(&env);
}

/* ---- rows ------------------------------------------------------------------ */

/* The widest piece, and how many: a kernel of its own counts them. */
static atomic_llong widest, pieces;

static void counting_softcap(const float *x, float by, float *out, int64_t n)
{
    long long seen = atomic_load(&widest);
    while (n > seen && !atomic_compare_exchange_weak(&widest, &seen, n)) {
    }
    atomic_fetch_add(&pieces, 1);
    vug_cpu_row(0)->softcap(x, by, out, n);
}

/* One row of logits is as wide as the vocabulary and keeps all threads busy. */
static void test_wide_rows_are_cut(void **state)
{
    (void)state;
    enum { WIDTH = 100003, ROWS = 2 };
    const int64_t n = (int64_t)WIDTH * ROWS;
    rng r = { 5 };
    float *x = guarded_floats((size_t)n), *y = guarded_floats((size_t)n);
    float *out = guarded_floats((size_t)n), *want = guarded_floats((size_t)n);
    for (int64_t i = 0; i < n; i++) {
        x[i] = 40 * rng_float(&r);
        y[i] = rng_float(&r);
    }
    vug_cpu_kernels counting = *vug_cpu_row(0);
    counting.softcap = counting_softcap;
    for (int rows = 1; rows <= ROWS; rows++) {
        vug_cpu_env env = env_of(&counting, 3);
        const vug_cpu_rows_job cap = {
            .op = VUG_OP_SOFTCAP, .rows = rows, .width = WIDTH, .in = { x }, .out = out, .by = 30
        };
        atomic_store(&widest, 0);
        atomic_store(&pieces, 0);
        vug_cpu_rows(&env, &cap);
        assert_true(atomic_load(&pieces) >= 3 && atomic_load(&widest) <= WIDTH / 3);
        vug_cpu_row(0)->softcap(x, 30, want, (int64_t)rows * WIDTH);
        check_bits(out, want, (size_t)rows * WIDTH, "softcap of wide rows");
        env_release(&env);
    }

    vug_cpu_env env = env_of(vug_cpu_choose(NULL), 3);
    const vug_cpu_rows_job swiglu = {
        .op = VUG_OP_SWIGLU, .rows = ROWS, .width = WIDTH, .in = { x, y }, .out = out
    };
    vug_cpu_rows(&env, &swiglu);
    for (int64_t i = 0; i < n; i++)
        want[i] = vug_ref_silu(x[i]) * y[i];
    check_bits(out, want, (size_t)n, "swiglu of wide rows");
    env_release(&env);
    free_guarded(x);
    free_guarded(y);
    free_guarded(out);
    free_guarded(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_blocks_of_sums),
        cmocka_unit_test(test_lane_order),
        cmocka_unit_test(test_tile),
        cmocka_unit_test(test_tile_of_a_cache),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_exp_accuracy),
        cmocka_unit_test(test_gelu_accuracy),
        cmocka_unit_test(test_silu_accuracy),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_linear_group),
        cmocka_unit_test(test_linear_is_left),
        cmocka_unit_test(test_linear_identity),
        cmocka_unit_test(test_wide_rows_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
