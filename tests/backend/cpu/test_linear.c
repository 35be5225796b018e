/*
 * Matrix products with float weights: the bits of ref.c for any number of rows and threads, and
 * as close to double as the number of roundings allows.
 */
#include "test.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "kernel_help.h"
#include "quant/codec.h"

static const vug_dtype dtypes[] = { VUG_DTYPE_F32, VUG_DTYPE_F16, VUG_DTYPE_BF16 };

enum { N_DTYPES = 3 };

static vug_cpu_env env_of(const vug_cpu_kernels *kernels, int threads)
{
    enum { SHARED = 1 << 20 }; /* floats; more than any product here needs */
    vug_cpu_env env = { .kernels = kernels };
    env.scratch_floats = vug_cpu_linear_scratch_floats(&env, VUG_DTYPE_F32, 1);
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

/* Checks `rows` rows together, then each row alone. */
static void check_linear(const vug_cpu_env *env, int64_t rows, const vug_matrix *w, int64_t out,
                         const float *want, const float *x)
{
    const size_t ny = (size_t)(rows * out);
    float *y = guarded_floats(ny);
    vug_cpu_projection m = { *w, out, y };
    vug_cpu_linear_job job = { .x = x, .rows = rows, .in = w->columns, .projection = &m, .n = 1 };
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

/* A sum of k products, each within 2^-24 of exact, added in k - 1 steps:
 * |error| <= k eps sum |x||w|, eps = 2^-24. */
static void check_against_double(const float *x, int64_t rows, const vug_matrix *w, int64_t out,
                                 const float *y)
{
    const int64_t row_bytes = w->columns * vug_dtype_of(w->dtype)->bytes;
    for (int64_t t = 0; t < rows; t++) {
        for (int64_t o = 0; o < out; o++) {
            double sum = 0, magnitude = 0;
            for (int64_t i = 0; i < w->columns; i++) {
                const double p =
                        (double)x[t * w->columns + i] *
                        (double)vug_ref_decode_element(w->dtype, w->data + o * row_bytes, i);
                sum += p;
                magnitude += fabs(p);
            }
            const double bound = (double)w->columns * 0x1p-24 * magnitude;
            assert_true(fabs((double)y[t * out + o] - sum) <= bound);
        }
    }
}

static void test_one_projection(void **state)
{
    (void)state;
    rng r = { 6 };
    vug_cpu_env env[12];
    int n_envs = 0;
    assert_true(2 * vug_cpu_kernels_count() <= (int)(sizeof(env) / sizeof(env[0])));
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        env[n_envs++] = env_of(vug_cpu_kernels_at(i), 1);
        env[n_envs++] = env_of(vug_cpu_kernels_at(i), 3);
    }
    enum { MOST = VUG_CPU_MAX_FLOAT_ROWS }; /* with more, all kernel sets use panels */
    static const int64_t row_counts[] = { 1,  2,  3,  4,  5,  6,    7,        8,       9,
                                          12, 13, 17, 31, 33, MOST, MOST + 1, MOST + 9 };
    enum { N_COUNTS = sizeof(row_counts) / sizeof(row_counts[0]) };
    for (int round = 0; round < 8 * N_COUNTS; round++) {
        const int64_t rows = row_counts[round % N_COUNTS], out = 1 + rng_bits(&r) % 40;
        const int64_t in = round % 8 ? 1 + rng_bits(&r) % 600 : 1 + rng_bits(&r) % 2000;
        const vug_dtype dtype = dtypes[rng_bits(&r) % N_DTYPES];
        const size_t shift = rng_bits(&r) % 64;
        uint8_t *data = random_weights(&r, dtype, (size_t)(out * in), shift);
        const vug_matrix w = matrix_over(dtype, data, in);
        float *x = guarded_floats((size_t)(rows * in));
        float *want = guarded_floats((size_t)(rows * out));
        rng_fill(&r, x, (size_t)(rows * in));
        vug_ref_linear(x, rows, &w, out, want);
        check_against_double(x, rows, &w, out, want);
        for (int e = 0; e < n_envs; e++)
            check_linear(&env[e], rows, &w, out, want, x);
        free_guarded(x);
        free_guarded(want);
        free_weights(data, shift);
    }
    for (int e = 0; e < n_envs; e++)
        env_release(&env[e]);
}

/* Several projections of one input as one job, one of them narrower than a panel. */
static void test_several_projections(void **state)
{
    (void)state;
    enum { IN = 350, N = 4, MAX_ROWS = 200 };
    static const int64_t out[N] = { 160, 7, 64, 100 };
    rng r = { 7 };
    vug_cpu_env env = env_of(vug_cpu_kernels_select(NULL), 3);
    float *x = guarded_floats((size_t)MAX_ROWS * IN);
    rng_fill(&r, x, (size_t)MAX_ROWS * IN);
    for (int64_t rows = 1; rows <= MAX_ROWS; rows += MAX_ROWS - 1) {
        vug_cpu_projection m[N];
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

/* A cancelled step stops a product at the next chunk, not at its end. */
static void test_cancelling_stops_a_product(void **state)
{
    (void)state;
    enum { IN = 64, OUT = 400, ROWS = 100 };
    rng r = { 11 };
    vug_cancel_token cancel = { true };
    vug_cpu_env env = env_of(vug_cpu_kernels_select(NULL), 2);
    env.cancel = &cancel;
    float *x = guarded_floats((size_t)ROWS * IN), *y = guarded_floats((size_t)ROWS * OUT);
    uint8_t *data = random_weights(&r, VUG_DTYPE_BF16, (size_t)OUT * IN, 0);
    vug_cpu_projection m = { matrix_over(VUG_DTYPE_BF16, data, IN), OUT, y };
    rng_fill(&r, x, (size_t)ROWS * IN);
    for (int go_on = 0; go_on < 2; go_on++) {
        if (go_on)
            vug_cancel_token_reset(&cancel);
        vug_cpu_linear(&env, &(vug_cpu_linear_job){ x, ROWS, IN, &m, 1 });
        for (size_t i = 0; i < (size_t)ROWS * OUT; i++)
            assert_true((isnan(y[i]) != 0) == !go_on);
    }
    free_guarded(x);
    free_guarded(y);
    free_weights(data, 0);
    env_release(&env);
}

/* A large product, checked without the slow reference: u (W x) = (W^T u) x in double, for a
 * random u. The bound is that of each output, summed over |u|. */
static void test_large_product_by_identity(void **state)
{
    (void)state;
    static const size_t n_out = 600, n_in = 1900, n_rows = VUG_CPU_MAX_FLOAT_ROWS + 13;
    rng r = { 8 };
    vug_cpu_env env = env_of(vug_cpu_kernels_select(NULL), 2);
    float *x = guarded_floats(n_rows * n_in), *y = guarded_floats(n_rows * n_out);
    float *u = guarded_floats(n_out), *w = guarded_floats(n_in);
    double *wu = vug_alloc_zero(n_in, sizeof(*wu)), *size = vug_alloc_zero(n_in, sizeof(*size));
    rng_fill(&r, x, n_rows * n_in);
    rng_fill(&r, u, n_out);
    for (int d = 0; d < N_DTYPES; d++) {
        const vug_dtype_info *info = vug_dtype_of(dtypes[d]);
        uint8_t *data = random_weights(&r, dtypes[d], n_out * n_in, 6);
        vug_cpu_projection m = { matrix_over(dtypes[d], data, (int64_t)n_in), (int64_t)n_out, y };
        vug_cpu_linear(&env, &(vug_cpu_linear_job){ x, (int64_t)n_rows, (int64_t)n_in, &m, 1 });
        memset(wu, 0, n_in * sizeof(*wu));
        memset(size, 0, n_in * sizeof(*size));
        for (size_t o = 0; o < n_out; o++) {
            vug_codec_of(dtypes[d])->decode(data + o * n_in * (size_t)info->bytes, w, n_in);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_projection),
        cmocka_unit_test(test_several_projections),
        cmocka_unit_test(test_cancelling_stops_a_product),
        cmocka_unit_test(test_large_product_by_identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
