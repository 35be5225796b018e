/*
 * Products with weights in blocks: every row of the kernel table gives the bits of ref.c,
 * for every format, whatever lies beside a row; rounding activations costs no more than it
 * may; and a profile can ask for F32.
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
#include "block_help.h"
#include "engine/engine.h"

enum { Q8 = VUG_CPU_Q8, MAX_IN = 4096 };

/* ---- helpers -------------------------------------------------------------- */

static vug_cpu_env env_of(const vug_cpu_kernels *row, int threads, bool exact)
{
    enum { SHARED = 1 << 20 }; /* floats: more than any job here needs */
    vug_cpu_env env = { .kernels = row, .exact = exact };
    for (int i = 0; i < block_format_count(); i++) {
        const int64_t n = vug_cpu_linear_scratch(&env, block_format(i), MAX_IN);
        env.scratch_floats = n > env.scratch_floats ? n : env.scratch_floats;
    }
    const int64_t n = vug_cpu_linear_scratch(&env, VUG_DTYPE_E4M3, MAX_IN);
    env.scratch_floats = vug_cpu_round_up(n > env.scratch_floats ? n : env.scratch_floats, 16);
    env.shared = vug_alloc_aligned(SHARED * sizeof(float));
    assert_int_equal(vug_pool_create(threads, &env.pool, NULL), VUG_OK);
    env.scratch = vug_alloc_aligned((size_t)(env.scratch_floats * threads) * sizeof(float));
    assert_true(env.shared && env.scratch);
    /* What was not written shows. */
    memset(env.shared, 0xff, SHARED * sizeof(float));
    memset(env.scratch, 0xff, (size_t)(env.scratch_floats * threads) * sizeof(float));
    return env;
}

static void env_release(vug_cpu_env *env)
{
    vug_pool_destroy(env->pool);
    vug_free(env->scratch);
    vug_free(env->shared);
}

/* Activations as they are: most of about one size, a few large, blocks of zeros. */
static void fill_row(rng *r, float *x, int64_t n)
{
    rng_fill(r, x, (size_t)n);
    for (int64_t i = 0; i < n; i += 1 + rng_bits(r) % 97)
        x[i] *= 30;
    if (rng_bits(r) % 4 == 0)
        memset(x + (int64_t)(rng_bits(r) % (uint32_t)n / Q8) * Q8, 0, Q8 * sizeof(*x));
}

static float *rows_of_x(rng *r, int64_t rows, int64_t in)
{
    float *x = guarded_floats((size_t)(rows * in));
    for (int64_t t = 0; t < rows; t++)
        fill_row(r, x + t * in, in);
    return x;
}

/* ---- rounding ------------------------------------------------------------- */

static void check_rounding(const vug_cpu_kernels *row, const float *x)
{
    int8_t q[2][Q8];
    float scale[2];
    int16_t sum[2][2];
    vug_ref_round(x, q[0], &scale[0], sum[0]);
    row->round(x, Q8, q[1], &scale[1], sum[1]);
    assert_memory_equal(q[0], q[1], sizeof(q[0]));
    assert_memory_equal(sum[0], sum[1], sizeof(sum[0]));
    check_bits(&scale[1], &scale[0], 1, "scale");
}

/* Every number is within half a step of what it was, ties go to even numbers, a NaN counts
 * as nothing. */
static void test_rounding(void **state)
{
    (void)state;
    rng r = { 1 };
    float x[Q8];
    int8_t q[Q8];
    float scale;
    int16_t sum[2];
    for (int round = 0; round < 2000; round++) {
        rng_fill(&r, x, Q8);
        for (int i = 0; i < Q8; i++)
            x[i] = ldexpf(x[i],
                          round % 40 ? (int)(rng_bits(&r) % 8) : (int)(rng_bits(&r) % 250) - 125);
        vug_ref_round(x, q, &scale, sum);
        int sums[2] = { 0, 0 };
        for (int i = 0; i < Q8; i++) {
            /* The scale and its inverse are rounded, as is the product. */
            assert_true(fabs((double)x[i] - (double)q[i] * (double)scale) <=
                        (double)scale * (0.5 + 127 * 4 * 0x1p-24));
            sums[i / 16] += q[i];
        }
        assert_true(sums[0] == sum[0] && sums[1] == sum[1]);
        for (int k = 0; k < vug_cpu_row_count(); k++)
            check_rounding(vug_cpu_row(k), x);
    }
    /* 127 is one step to each whole number. */
    for (int i = 0; i < Q8; i++)
        x[i] = (float)i - 15.5f;
    x[3] = NAN;
    x[4] = -127;
    vug_ref_round(x, q, &scale, sum);
    assert_true(scale == 1);
    for (int i = 0; i < Q8; i++)
        assert_int_equal(q[i], i == 3 ? 0 : i == 4 ? -127 : (i + i % 2) - 16);
    static const float odd[] = { 0,   -0.0f,    1e-45f,    -1e-40f, /* whose inverse is none */
                                 NAN, INFINITY, -INFINITY, 3e38f,   1 };
    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < Q8; i++)
            x[i] = odd[rng_bits(&r) % (uint32_t)(4 + round % 6)];
        for (int k = 0; k < vug_cpu_row_count(); k++)
            check_rounding(vug_cpu_row(k), x);
    }
}

/* ---- products of one format ------------------------------------------------ */

/* All rows together, some of them, and each alone. */
static void check_product(const vug_cpu_env *env, const vug_matrix *w, int64_t out, const float *x,
                          int64_t rows, const float *want)
{
    const char *name = vug_dtype_of(w->dtype)->name;
    for (int64_t n = rows; n > 0; n = n == rows && rows > 3 ? 3 : n == 1 ? 0 : 1) {
        for (int64_t t = 0; t + n <= rows; t += n) {
            float *y = guarded_floats((size_t)(n * out));
            const vug_cpu_matrix m = { *w, out, y };
            vug_cpu_linear(env, &(vug_cpu_linear_job){ x + t * w->columns, n, w->columns, &m, 1 });
            check_bits(y, want + t * out, (size_t)(n * out), name);
            check_guards(y, (size_t)(n * out));
            free_guarded(y);
        }
    }
}

/* All environments that a test compares. */
typedef struct {
    vug_cpu_env env[4];
    int n;
} every;

static every every_env(bool exact)
{
    every e = { .n = 0 };
    for (int i = 0; i < vug_cpu_row_count(); i++) {
        e.env[e.n++] = env_of(vug_cpu_row(i), 1, exact);
        e.env[e.n++] = env_of(vug_cpu_row(i), 3, exact);
    }
    return e;
}

static void every_release(every *e)
{
    for (int i = 0; i < e->n; i++)
        env_release(&e->env[i]);
}

static void one_product(const every *e, rng *r, vug_dtype dtype, int64_t in, int64_t out,
                        int64_t rows)
{
    const size_t shift = rng_bits(r) % 64;
    const vug_matrix w = block_weights(r, dtype, out, in, shift);
    float *x = rows_of_x(r, rows, w.columns), *want = guarded_floats((size_t)(rows * out));
    vug_ref_linear(x, rows, &w, out, want);
    for (int i = 0; i < e->n; i++)
        check_product(&e->env[i], &w, out, x, rows, want);
    free_guarded(x);
    free_guarded(want);
    block_weights_free(&w, shift);
}

static void test_products(void **state)
{
    (void)state;
    static const int64_t ins[] = { 32, 96, 256, 320, 1152, 2304 };
    rng r = { 2 };
    every e = every_env(false);
    for (int f = 0; f < block_format_count(); f++) {
        for (int i = 0; i < 6; i++) {
            const int64_t rows = 1 + rng_bits(&r) % (i < 4 ? 40 : 9), out = 1 + rng_bits(&r) % 40;
            one_product(&e, &r, block_format(f), ins[i], out, rows);
        }
        for (int64_t rows = 1; rows < 10; rows++)
            one_product(&e, &r, block_format(f), 32 + rng_bits(&r) % 500, 17, rows);
    }
    every_release(&e);
}

/* Blocks whose bytes are full or empty: all, many, or 0x77, which the formats with a sign in
 * each four bits have as their largest. Where that makes the scale no number, the block
 * becomes an ordinary one. */
static void make_extreme(rng *r, const vug_matrix *w, int64_t rows, int round)
{
    const vug_dtype_info *info = vug_dtype_of(w->dtype);
    const int64_t blocks = rows * w->columns / info->elements;
    const int64_t parts = info->elements / Q8, per_row = w->columns / Q8;
    uint8_t *data = (uint8_t *)w->data;
    for (int64_t i = 0; i < blocks * info->bytes; i++) {
        if (round < 2)
            data[i] = round ? 0x77 : 0xff;
        else if (rng_bits(r) % 2)
            data[i] = rng_bits(r) % 2 ? 0xff : 0;
    }
    for (int64_t i = 0; i < rows * per_row; i++) {
        vug_block b;
        vug_matrix_block(w, i / per_row, i % per_row, &b);
        if (!isfinite(b.scale) || !isfinite(b.offset))
            vug_random_blocks(w->dtype, 9, 0, 1, 1, data + i / parts * info->bytes);
    }
}

/* The largest integers that blocks and activations can have, of either sign. */
static void test_extremes(void **state)
{
    (void)state;
    enum { OUT = 20, ROWS = 6 };
    rng r = { 3 };
    every e = every_env(false);
    for (int n = 0; n < 8 * block_format_count(); n++) {
        const int round = n % 8;
        const vug_matrix w = block_weights(&r, block_format(n / 8), OUT, 512, 0);
        float *x = rows_of_x(&r, ROWS, w.columns), *want = guarded_floats((size_t)OUT * ROWS);
        make_extreme(&r, &w, OUT, round);
        for (int64_t i = 0; i < ROWS * w.columns; i++)
            x[i] = round < 4 || rng_bits(&r) % 2 ? 1 : -1;
        vug_ref_linear(x, ROWS, &w, OUT, want);
        for (int i = 0; i < e.n; i++)
            check_product(&e.env[i], &w, OUT, x, ROWS, want);
        free_guarded(x);
        free_guarded(want);
        block_weights_free(&w, 0);
    }
    every_release(&e);
}

/* More rows than meet a panel at once, more outputs than a chunk has. */
static void test_many(void **state)
{
    (void)state;
    rng r = { 4 };
    every e = { .n = 2 };
    e.env[0] = env_of(vug_cpu_choose(NULL), 1, false);
    e.env[1] = env_of(vug_cpu_choose(NULL), 3, false);
    static const vug_dtype dtypes[] = { VUG_DTYPE_Q4_0, VUG_DTYPE_Q6_K, VUG_DTYPE_MLX8 };
    for (int i = 0; i < 3; i++)
        one_product(&e, &r, dtypes[i], 256, 150, 515);
    every_release(&e);
}

/* ---- jobs of several ---------------------------------------------------------- */

enum { KINDS = 5 };

/* Kinds first .. of weights w, out [..], as one job of which each y is wanted. */
static void check_job(const vug_cpu_env *env, const float *x, int64_t rows, const vug_matrix *w,
                      const int64_t *out, float *const *want, int first)
{
    vug_cpu_matrix m[KINDS];
    for (int i = first; i < KINDS; i++)
        m[i] = (vug_cpu_matrix){ w[i], out[i], guarded_floats((size_t)(rows * out[i])) };
    vug_cpu_linear(env, &(vug_cpu_linear_job){ x, rows, w[0].columns, m + first, KINDS - first });
    for (int i = first; i < KINDS; i++) {
        check_bits(m[i].y, want[i], (size_t)(rows * out[i]), "one of several");
        check_guards(m[i].y, (size_t)(rows * out[i]));
        free_guarded(m[i].y);
    }
}

/* Weights of several kinds as one job: in blocks, BF16, wide ones, with scales apart, FP8. */
static void test_mixed(void **state)
{
    (void)state;
    enum { IN = 768, MAX_ROWS = 21 };
    static const int64_t out[KINDS] = { 70, 7, 64, 33, 5 };
    rng r = { 5 };
    every e = every_env(false);
    float *x = rows_of_x(&r, MAX_ROWS, IN), *want[KINDS];
    const uint8_t *plain[2] = { random_weights(&r, VUG_DTYPE_BF16, (size_t)7 * IN, 3),
                                random_weights(&r, VUG_DTYPE_E4M3, (size_t)5 * IN, 1) };
    const vug_matrix w[KINDS] = { block_weights(&r, VUG_DTYPE_Q4_K, out[0], IN, 1),
                                  matrix_over(VUG_DTYPE_BF16, plain[0], IN),
                                  block_weights(&r, VUG_DTYPE_Q8_0, out[2], IN, 2),
                                  block_weights(&r, VUG_DTYPE_MLX4, out[3], IN, 5),
                                  matrix_over(VUG_DTYPE_E4M3, plain[1], IN) };
    for (int64_t rows = 1; rows <= MAX_ROWS; rows += 5) {
        for (int i = 0; i < KINDS; i++) {
            want[i] = guarded_floats((size_t)(rows * out[i]));
            vug_ref_linear(x, rows, &w[i], out[i], want[i]);
        }
        /* Every job has one kind less. */
        for (int i = 0; i < e.n * KINDS; i++)
            check_job(&e.env[i / KINDS], x, rows, w, out, want, i % KINDS);
        for (int i = 0; i < KINDS; i++)
            free_guarded(want[i]);
    }
    block_weights_free(&w[0], 1);
    free_weights(plain[0], 3);
    block_weights_free(&w[2], 2);
    block_weights_free(&w[3], 5);
    free_weights(plain[1], 1);
    free_guarded(x);
    every_release(&e);
}

/* Groups of rows with weights of their own format, taken from x in any order. */
static void test_groups(void **state)
{
    (void)state;
    enum { GROUPS = 6, IN = 256, OUT = 35, X = 9, ROWS = 2 + 1 + 5 + 1 + 13 + 4 };
    static const int64_t rows_of[GROUPS] = { 2, 1, 5, 1, 13, 4 };
    static const vug_dtype dtypes[GROUPS] = { VUG_DTYPE_Q4_0,   VUG_DTYPE_Q6_K, VUG_DTYPE_Q8_0,
                                              VUG_DTYPE_IQ4_XS, VUG_DTYPE_MLX5, VUG_DTYPE_Q4_1 };
    rng r = { 6 };
    every e = every_env(false);
    float *x = rows_of_x(&r, X, IN), *want = guarded_floats((size_t)ROWS * OUT);
    int32_t index[ROWS];
    vug_matrix w[GROUPS];
    int64_t row = 0;
    for (int g = 0; g < GROUPS; g++) {
        w[g] = block_weights(&r, dtypes[g], OUT, IN, 3);
        for (int64_t i = 0; i < rows_of[g]; i++, row++) {
            index[row] = (int32_t)(rng_bits(&r) % X);
            vug_ref_linear(x + (int64_t)index[row] * IN, 1, &w[g], OUT, want + row * OUT);
        }
    }
    for (int k = 0; k < e.n; k++) {
        float *y = guarded_floats((size_t)ROWS * OUT);
        vug_cpu_matrix m[GROUPS];
        vug_cpu_group group[GROUPS];
        row = 0;
        for (int g = 0; g < GROUPS; g++) {
            m[g] = (vug_cpu_matrix){ w[g], OUT, y };
            group[g] = (vug_cpu_group){ .first = row, .rows = rows_of[g], .matrix = &m[g] };
            row += rows_of[g];
        }
        const vug_cpu_grouped_job job = { x, index, ROWS, IN, group, GROUPS, 1 };
        vug_cpu_linear_grouped(&e.env[k], &job);
        check_bits(y, want, (size_t)ROWS * OUT, "groups");
        check_guards(y, (size_t)ROWS * OUT);
        free_guarded(y);
    }
    for (int g = 0; g < GROUPS; g++)
        block_weights_free(&w[g], 3);
    free_guarded(want);
    free_guarded(x);
    every_release(&e);
}

/* A job takes the memory that was counted for it and no more. */
static void test_memory(void **state)
{
    (void)state;
    enum { IN = 160, OUT = 19 };
    rng r = { 7 };
    for (int f = 0; f < block_format_count(); f++) {
        for (int64_t rows = 1; rows < 12; rows += 3) {
            const vug_matrix w = block_weights(&r, block_format(f), OUT, IN, 0);
            vug_cpu_env env = env_of(vug_cpu_choose(NULL), 2, false);
            float *scratch = env.scratch, *shared = env.shared;
            vug_cpu_wishes wishes = { 0 };
            uint64_t floats;
            vug_cpu_linear_wish(&env, w.dtype, &wishes);
            assert_true(vug_cpu_linear_shared(&wishes, rows, 1, w.columns, &floats));
            env.scratch_floats = vug_cpu_linear_scratch(&env, w.dtype, w.columns);
            env.scratch = guarded_floats((size_t)env.scratch_floats * 2);
            env.shared = guarded_floats((size_t)floats);
            float *x = rows_of_x(&r, rows, w.columns), *y = guarded_floats((size_t)rows * OUT);
            const vug_cpu_matrix m = { w, OUT, y };
            vug_cpu_linear(&env, &(vug_cpu_linear_job){ x, rows, w.columns, &m, 1 });
            check_guards(env.scratch, (size_t)env.scratch_floats * 2);
            check_guards(env.shared, (size_t)floats);
            free_guarded(env.scratch);
            free_guarded(env.shared);
            env.scratch = scratch;
            env.shared = shared;
            env_release(&env);
            free_guarded(x);
            free_guarded(y);
            block_weights_free(&w, 0);
        }
    }
    vug_cpu_wishes all = { true, true, true };
    uint64_t floats;
    assert_false(vug_cpu_linear_shared(&all, INT64_MAX, 1, 32, &floats));
    assert_false(vug_cpu_linear_shared(&all, 1 << 20, 1, (int64_t)1 << 50, &floats));
}

/* ---- F32 ------------------------------------------------------------------------ */

/* How far a product in 8 bits may be from that of the decoded weights: by half a step of x
 * for each weight. Sums and products in F32 add to both, as do formats whose weights are
 * rounded when they are decoded (to one part in 2^23). */
static double allowed(const float *x, const float *w, int64_t n)
{
    double bound = 0;
    for (int64_t b = 0; b < n; b += Q8) {
        int8_t q[Q8];
        float step;
        int16_t sum[2];
        vug_ref_round(x + b, q, &step, sum);
        for (int64_t i = b; i < b + Q8; i++) {
            bound += (0.5 + 0x1p-10) * (double)step * fabs((double)w[i]);
            bound += (double)n * 0x1p-22 * fabs((double)w[i] * (double)x[i]);
        }
    }
    return bound;
}

/* With exact activations a product is that of the decoded weights, to the bit; in 8 bits it
 * is as far from it as the steps of x allow. */
static void test_exact(void **state)
{
    (void)state;
    enum { OUT = 21, ROWS = 10, IN = 1600 };
    rng r = { 8 };
    every exact = every_env(true);
    for (int f = 0; f < block_format_count(); f++) {
        const vug_matrix w = block_weights(&r, block_format(f), OUT, IN, 7);
        float *x = rows_of_x(&r, ROWS, w.columns), *want = guarded_floats((size_t)OUT * ROWS);
        float *rounded = guarded_floats((size_t)OUT * ROWS);
        float *decoded = block_weights_decoded(&w, OUT);
        const vug_matrix plain = matrix_over(VUG_DTYPE_F32, (uint8_t *)decoded, w.columns);
        vug_ref_linear(x, ROWS, &plain, OUT, want);
        for (int i = 0; i < exact.n; i++)
            check_product(&exact.env[i], &w, OUT, x, ROWS, want);
        vug_ref_linear(x, ROWS, &w, OUT, rounded);
        for (int64_t i = 0; i < (int64_t)ROWS * OUT; i++)
            assert_true(fabs((double)rounded[i] - (double)want[i]) <=
                        allowed(x + i / OUT * w.columns, decoded + i % OUT * w.columns, w.columns));
        vug_free(decoded);
        free_guarded(x);
        free_guarded(want);
        free_guarded(rounded);
        block_weights_free(&w, 7);
    }
    every_release(&exact);
}

/* FP8 with a scale for each tile of 3 rows and 40 columns. */
static void test_scaled_tiles(void **state)
{
    (void)state;
    enum { OUT = 20, ROWS = 9, IN = 200, TILE_ROWS = 3, TILE = 40 };
    rng r = { 9 };
    every e = every_env(false);
    uint8_t *data = random_weights(&r, VUG_DTYPE_E4M3, (size_t)OUT * IN, 1);
    const size_t n = (size_t)(OUT + TILE_ROWS - 1) / TILE_ROWS * (IN / TILE);
    uint8_t *scale = random_weights(&r, VUG_DTYPE_F32, n, 2);
    const vug_matrix w = {
        VUG_DTYPE_E4M3, data, IN, { scale, NULL, VUG_DTYPE_F32, TILE_ROWS, TILE, IN / TILE }
    };
    float *x = rows_of_x(&r, ROWS, IN), *want = guarded_floats((size_t)OUT * ROWS);
    float *decoded = block_weights_decoded(&w, OUT);
    const vug_matrix plain = matrix_over(VUG_DTYPE_F32, (uint8_t *)decoded, IN);
    vug_ref_linear(x, ROWS, &plain, OUT, want);
    for (int i = 0; i < e.n; i++)
        check_product(&e.env[i], &w, OUT, x, ROWS, want);
    vug_free(decoded);
    free_guarded(x);
    free_guarded(want);
    free_weights(data, 1);
    free_weights(scale, 2);
    every_release(&e);
}

/* ---- random weights --------------------------------------------------------------- */

/* They deviate from 0 as was asked for: scales differ by a quarter, which makes 1 % more,
 * and those of MXFP4 are powers of two, the next one at most 1.42 times as far. Integers
 * from -8 to 7 have a mean of half a step, 0.11 of their deviation. */
static void test_random_weights(void **state)
{
    (void)state;
    enum { ROWS = 64, IN = 1024 };
    rng r = { 10 };
    for (int f = 0; f < block_format_count(); f++) {
        const vug_matrix w = block_weights(&r, block_format(f), ROWS, IN, 0);
        float *x = block_weights_decoded(&w, ROWS);
        double sum = 0, squares = 0;
        for (size_t i = 0; i < (size_t)ROWS * IN; i++) {
            sum += (double)x[i];
            squares += (double)x[i] * (double)x[i];
        }
        const double n = (double)ROWS * IN, wanted = 1 / sqrt((double)IN);
        const double deviation = sqrt(squares / n) / wanted;
        const bool power = w.dtype == VUG_DTYPE_MXFP4 || w.dtype == VUG_DTYPE_MLX_FP4;
        if (fabs(sum / n) > 0.12 * wanted || deviation < (power ? 0.7 : 0.95) ||
            deviation > (power ? 1.43 : 1.07))
            fail_msg("%s: mean %g, deviation %g of what was asked for", vug_dtype_of(w.dtype)->name,
                     sum / n / wanted, deviation);
        vug_free(x);
        block_weights_free(&w, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),     cmocka_unit_test(test_products),
        cmocka_unit_test(test_extremes),     cmocka_unit_test(test_many),
        cmocka_unit_test(test_mixed),        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_exact),
        cmocka_unit_test(test_scaled_tiles), cmocka_unit_test(test_random_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
