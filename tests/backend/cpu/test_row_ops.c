/* Operations that are computed row by row: how a job is divided among threads. */
#include "test.h"

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "kernel_help.h"

static vug_cpu_env env_of(const vug_cpu_kernels *kernels)
{
    vug_cpu_env env = { .kernels = kernels };
    assert_int_equal(vug_pool_create(3, &env.pool, NULL), VUG_OK);
    return env;
}

/* A kernel that counts its calls and keeps the largest width. */
static atomic_llong widest, calls;

static void counting_softcap(const float *x, float by, float *out, int64_t n)
{
    long long most = atomic_load(&widest);
    while (n > most && !atomic_compare_exchange_weak(&widest, &most, n)) {
    }
    atomic_fetch_add(&calls, 1);
    vug_cpu_kernels_at(0)->softcap(x, by, out, n);
}

/* A row of logits is as wide as the vocabulary; it is divided among all threads. */
static void test_wide_rows_are_divided(void **state)
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
    vug_cpu_kernels counting = *vug_cpu_kernels_at(0);
    const vug_node cap_node = { .op = VUG_OP_SOFTCAP, .at.scale = { 30 } };
    const vug_node swiglu_node = { .op = VUG_OP_SWIGLU };
    counting.softcap = counting_softcap;
    for (int rows = 1; rows <= ROWS; rows++) {
        vug_cpu_env env = env_of(&counting);
        const vug_cpu_row_job cap = {
            .node = &cap_node, .rows = rows, .width = WIDTH, .in = { x }, .out = out
        };
        atomic_store(&widest, 0);
        atomic_store(&calls, 0);
        vug_cpu_run_rows(&env, &cap);
        assert_true(atomic_load(&calls) >= 3 && atomic_load(&widest) <= WIDTH / 3);
        vug_cpu_kernels_at(0)->softcap(x, 30, want, (int64_t)rows * WIDTH);
        check_bits(out, want, (size_t)rows * WIDTH, "softcap of wide rows");
        vug_pool_destroy(env.pool);
    }

    vug_cpu_env env = env_of(vug_cpu_kernels_select(NULL));
    const vug_cpu_row_job swiglu = {
        .node = &swiglu_node, .rows = ROWS, .width = WIDTH, .in = { x, y }, .out = out
    };
    vug_cpu_run_rows(&env, &swiglu);
    for (int64_t i = 0; i < n; i++)
        want[i] = vug_ref_silu(x[i]) * y[i];
    check_bits(out, want, (size_t)n, "swiglu of wide rows");
    vug_pool_destroy(env.pool);
    free_guarded(x);
    free_guarded(y);
    free_guarded(out);
    free_guarded(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_rows_are_divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
