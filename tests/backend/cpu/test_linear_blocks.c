/*
 * Products with quantized weights: every kernel set gives the bits of ref.c, for every format
 * and any number of rows. The error of quantized activations is bounded, and exact activations
 * give the products of the decoded weights.
 */
#include "test.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "block_help.h"
#include "checkpoint/internal.h"
#include "quant/matrix.h"
#include "sanitized.h"

enum { Q8 = VUG_CPU_Q8_BLOCK, MAX_IN = 4096 };

/* ---- helpers -------------------------------------------------------------- */

static vug_cpu_env env_of(const vug_cpu_kernels *kernels, int threads, bool exact)
{
    enum { SHARED = 1 << 20 }; /* floats; more than any job here needs */
    vug_cpu_env env = { .kernels = kernels,
                        .activations = exact ? VUG_ACTIVATIONS_F32 : VUG_ACTIVATIONS_Q8 };
    for (int i = 0; i < block_format_count(); i++) {
        const int64_t n = vug_cpu_linear_scratch_floats(&env, block_format(i), MAX_IN);
        env.scratch_floats = n > env.scratch_floats ? n : env.scratch_floats;
    }
    const int64_t n = vug_cpu_linear_scratch_floats(&env, VUG_DTYPE_E4M3, MAX_IN);
    env.scratch_floats = vug_cpu_round_up(n > env.scratch_floats ? n : env.scratch_floats, 16);
    env.shared = vug_alloc_aligned(SHARED * sizeof(float));
    assert_int_equal(vug_pool_create(threads, &env.pool, NULL), VUG_OK);
    env.scratch = vug_alloc_aligned((size_t)(env.scratch_floats * threads) * sizeof(float));
    assert_true(env.shared && env.scratch);
    /* NaNs, so that reading memory before it is written changes results. */
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

/* Typical activations: most of about one size, a few large, blocks of zeros. */
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

/* ---- products of one format ------------------------------------------------ */

/* Checks the product of `n` rows at a time. */
static void check_rows(const vug_cpu_env *env, const vug_matrix *w, int64_t out, const float *x,
                       int64_t rows, int64_t n, const float *want)
{
    for (int64_t t = 0; t + n <= rows; t += n) {
        float *y = guarded_floats((size_t)(n * out));
        const vug_cpu_projection m = { *w, out, y };
        vug_cpu_linear(env, &(vug_cpu_linear_job){ x + t * w->columns, n, w->columns, &m, 1 });
        check_bits(y, want + t * out, (size_t)(n * out), vug_dtype_of(w->dtype)->name);
        check_guards(y, (size_t)(n * out));
        free_guarded(y);
    }
}

/* Checks all rows together. A product of few rows is also checked with three at a time and with each
 * alone. */
static void check_product(const vug_cpu_env *env, const vug_matrix *w, int64_t out, const float *x,
                          int64_t rows, const float *want)
{
    enum { FEW_ROWS = 40 };
    check_rows(env, w, out, x, rows, rows, want);
    if (rows > 3 && rows <= FEW_ROWS)
        check_rows(env, w, out, x, rows, 3, want);
    if (rows > 1 && rows <= FEW_ROWS)
        check_rows(env, w, out, x, rows, 1, want);
}

/* Skips a test that has one thread if only races are looked for. */
static void skip_one_thread(void)
{
    if (FINDS_RACES) {
        print_message("one thread has no races\n");
        skip();
    }
}

typedef struct {
    vug_cpu_env env[12];
    int n;
} environments;

/* Every kernel set with one thread. */
static environments make_environments(bool exact)
{
    environments e = { .n = 0 };
    assert_true(2 * vug_cpu_kernels_count() <= (int)(sizeof(e.env) / sizeof(e.env[0])));
    for (int i = 0; i < vug_cpu_kernels_count(); i++)
        e.env[e.n++] = env_of(vug_cpu_kernels_at(i), 1, exact);
    return e;
}

/* Every kernel set, with several threads, and with one unless only races are looked for. */
static environments make_threaded_environments(bool exact)
{
    environments e = FINDS_RACES ? (environments){ .n = 0 } : make_environments(exact);
    for (int i = 0; i < vug_cpu_kernels_count(); i++)
        e.env[e.n++] = env_of(vug_cpu_kernels_at(i), 3, exact);
    return e;
}

static void environments_release(environments *e)
{
    for (int i = 0; i < e->n; i++)
        env_release(&e->env[i]);
}

static void check_random_product(const environments *e, rng *r, vug_dtype dtype, int64_t in,
                                 int64_t out, int64_t rows)
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

static void test_every_format(void **state)
{
    (void)state;
    static const int64_t ins[] = { 32, 96, 256, 320, 1152, 2304 };
    static const int64_t row_counts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33 };
    rng r = { 2 };
    environments e = make_threaded_environments(false);
    for (int f = 0; f < block_format_count(); f++) {
        for (int i = 0; i < 6; i++) {
            const int64_t rows = 1 + rng_bits(&r) % (i < 4 ? 40 : 9), out = 1 + rng_bits(&r) % 40;
            check_random_product(&e, &r, block_format(f), ins[i], out, rows);
        }
        for (size_t i = 0; i < sizeof(row_counts) / sizeof(row_counts[0]); i++)
            check_random_product(&e, &r, block_format(f), 32 + rng_bits(&r) % 500, 17,
                                 row_counts[i]);
    }
    environments_release(&e);
}

/* With one thread, chunks of two panels and of three, of which the last has fewer. */
static void test_several_panels(void **state)
{
    (void)state;
    static const int64_t outs[] = { 150, 200 };
    rng r = { 9 };
    skip_one_thread();
    environments e = make_environments(false);
    for (int f = 0; f < block_format_count(); f++) {
        for (int i = 0; i < 2; i++)
            check_random_product(&e, &r, block_format(f), 320, outs[i], 99);
    }
    environments_release(&e);
}

/* Fills blocks with 0xff, with 0x77 (the largest value of 4-bit formats with a sign), or with a
 * mix of 0xff and 0. If that makes a scale NaN or infinite, the block becomes an ordinary one. */
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
static void test_largest_integers(void **state)
{
    (void)state;
    enum { OUT = 20, ROUNDS = 8, FEW_ROWS = 6, MANY_ROWS = 97 };
    rng r = { 3 };
    skip_one_thread();
    environments e = make_environments(false);
    for (int n = 0; n < 2 * ROUNDS * block_format_count(); n++) {
        const int round = n / 2 % ROUNDS;
        const int64_t rows = n % 2 ? MANY_ROWS : FEW_ROWS;
        const vug_matrix w = block_weights(&r, block_format(n / 2 / ROUNDS), OUT, 512, 0);
        float *x = rows_of_x(&r, rows, w.columns), *want = guarded_floats((size_t)(OUT * rows));
        make_extreme(&r, &w, OUT, round);
        for (int64_t i = 0; i < rows * w.columns; i++)
            x[i] = round < 4 || rng_bits(&r) % 2 ? 1 : -1;
        vug_ref_linear(x, rows, &w, OUT, want);
        for (int i = 0; i < e.n; i++)
            check_product(&e.env[i], &w, OUT, x, rows, want);
        free_guarded(x);
        free_guarded(want);
        block_weights_free(&w, 0);
    }
    environments_release(&e);
}

/* More rows and outputs than a chunk has. */
static void test_many_rows_and_outputs(void **state)
{
    (void)state;
    rng r = { 4 };
    environments e = { .n = 2 };
    e.env[0] = env_of(vug_cpu_kernels_select(NULL), 1, false);
    e.env[1] = env_of(vug_cpu_kernels_select(NULL), 3, false);
    static const vug_dtype dtypes[] = { VUG_DTYPE_Q4_0, VUG_DTYPE_Q6_K, VUG_DTYPE_MLX8 };
    for (int i = 0; i < 3; i++)
        check_random_product(&e, &r, dtypes[i], 256, 150, 515);
    environments_release(&e);
}

/* ---- jobs of several projections ----------------------------------------------- */

enum { KINDS = 5 };

/* Runs projections `first` and later ones as one job and checks each y. */
static void check_job(const vug_cpu_env *env, const float *x, int64_t rows, const vug_matrix *w,
                      const int64_t *out, float *const *want, int first)
{
    vug_cpu_projection m[KINDS];
    for (int i = first; i < KINDS; i++)
        m[i] = (vug_cpu_projection){ w[i], out[i], guarded_floats((size_t)(rows * out[i])) };
    vug_cpu_linear(env, &(vug_cpu_linear_job){ x, rows, w[0].columns, m + first, KINDS - first });
    for (int i = first; i < KINDS; i++) {
        check_bits(m[i].y, want[i], (size_t)(rows * out[i]), "one of several");
        check_guards(m[i].y, (size_t)(rows * out[i]));
        free_guarded(m[i].y);
    }
}

/* Weights of several kinds in one job: quantized, BF16, 8-bit, with separate scales, FP8. */
static void test_mixed_formats(void **state)
{
    (void)state;
    enum { IN = 768, MAX_ROWS = 21 };
    static const int64_t out[KINDS] = { 70, 7, 64, 33, 5 };
    rng r = { 5 };
    environments e = make_threaded_environments(false);
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
        /* Jobs of 5, 4, .. 1 projections. */
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
    environments_release(&e);
}

/* Groups of rows with weights in different formats; rows are taken from x in any order. */
static void test_groups_of_rows(void **state)
{
    (void)state;
    enum { GROUPS = 6, IN = 256, OUT = 35, X = 9, ROWS = 2 + 1 + 5 + 1 + 13 + 4 };
    static const int64_t rows_of[GROUPS] = { 2, 1, 5, 1, 13, 4 };
    static const vug_dtype dtypes[GROUPS] = { VUG_DTYPE_Q4_0,   VUG_DTYPE_Q6_K, VUG_DTYPE_Q8_0,
                                              VUG_DTYPE_IQ4_XS, VUG_DTYPE_MLX5, VUG_DTYPE_Q4_1 };
    rng r = { 6 };
    environments e = make_threaded_environments(false);
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
        vug_cpu_projection m[GROUPS];
        vug_cpu_row_group group[GROUPS];
        row = 0;
        for (int g = 0; g < GROUPS; g++) {
            m[g] = (vug_cpu_projection){ w[g], OUT, y };
            group[g] = (vug_cpu_row_group){ .first = row, .rows = rows_of[g], .projection = &m[g] };
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
    environments_release(&e);
}

/* A job writes only to the memory that was counted for it. */
static void test_job_stays_in_its_memory(void **state)
{
    (void)state;
    enum { IN = 160, OUT = 19, COUNTS = 6 };
    static const int64_t counts[COUNTS] = { 1, 4, 7, 10, 25, 33 };
    rng r = { 7 };
    for (int f = 0; f < block_format_count(); f++) {
        for (int i = 0; i < COUNTS; i++) {
            const int64_t rows = counts[i];
            const vug_matrix w = block_weights(&r, block_format(f), OUT, IN, 0);
            vug_cpu_env env = env_of(vug_cpu_kernels_select(NULL), 2, false);
            float *scratch = env.scratch, *shared = env.shared;
            vug_cpu_input_formats formats = { 0 };
            uint64_t floats;
            vug_cpu_linear_add_input_format(&env, w.dtype, w.columns, &formats);
            assert_true(vug_cpu_linear_shared_floats(&formats, rows, w.columns, &floats));
            env.scratch_floats = vug_cpu_linear_scratch_floats(&env, w.dtype, w.columns);
            env.scratch = guarded_floats((size_t)env.scratch_floats * 2);
            env.shared = guarded_floats((size_t)floats);
            float *x = rows_of_x(&r, rows, w.columns), *y = guarded_floats((size_t)rows * OUT);
            const vug_cpu_projection m = { w, OUT, y };
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
    vug_cpu_input_formats all = { .f32 = true, .q8 = true };
    uint64_t floats;
    assert_false(vug_cpu_linear_shared_floats(&all, INT64_MAX, 32, &floats));
    assert_false(vug_cpu_linear_shared_floats(&all, 1 << 20, (int64_t)1 << 50, &floats));
}

/* ---- F32 ------------------------------------------------------------------------ */

/* The error bound of a product with quantized activations, relative to the decoded weights:
 * half a step of x for each weight, plus the rounding of sums and products in F32 and, in some
 * formats, of the decoded weights (one part in 2^23). */
static double error_bound(const float *x, const float *w, int64_t n)
{
    double bound = 0;
    for (int64_t b = 0; b < n; b += Q8) {
        int8_t q[Q8];
        float step;
        int16_t sum[2];
        vug_ref_quantize_block(x + b, q, &step, sum);
        for (int64_t i = b; i < b + Q8; i++) {
            bound += (0.5 + 0x1p-10) * (double)step * fabs((double)w[i]);
            bound += (double)n * 0x1p-22 * fabs((double)w[i] * (double)x[i]);
        }
    }
    return bound;
}

/* With exact activations a product has the bits of a product with the decoded weights. With
 * quantized activations the difference is bounded. */
static void test_exact_activations(void **state)
{
    (void)state;
    enum { OUT = 21, ROWS = 10, IN = 1600 };
    rng r = { 8 };
    environments exact = make_threaded_environments(true);
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
            assert_true(
                    fabs((double)rounded[i] - (double)want[i]) <=
                    error_bound(x + i / OUT * w.columns, decoded + i % OUT * w.columns, w.columns));
        vug_free(decoded);
        free_guarded(x);
        free_guarded(want);
        free_guarded(rounded);
        block_weights_free(&w, 7);
    }
    environments_release(&exact);
}

/* FP8 with a scale for each tile of 3 rows and 40 columns. */
static void test_fp8_with_scaled_tiles(void **state)
{
    (void)state;
    enum { OUT = 20, ROWS = 9, IN = 200, TILE_ROWS = 3, TILE = 40 };
    rng r = { 9 };
    environments e = make_threaded_environments(false);
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
    environments_release(&e);
}

/* ---- random weights --------------------------------------------------------------- */

/* Random weights have the requested standard deviation. Scales vary by a quarter, which adds
 * 1 %. The scales of FP4 formats are powers of two, so the nearest one is off by a factor of up
 * to 1.42. Integers from -8 to 7 have a mean of half a step, 0.11 of their deviation. */
static void test_random_weights_have_the_deviation(void **state)
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
        cmocka_unit_test(test_every_format),
        cmocka_unit_test(test_largest_integers),
        cmocka_unit_test(test_many_rows_and_outputs),
        cmocka_unit_test(test_mixed_formats),
        cmocka_unit_test(test_several_panels),
        cmocka_unit_test(test_groups_of_rows),
        cmocka_unit_test(test_job_stays_in_its_memory),
        cmocka_unit_test(test_exact_activations),
        cmocka_unit_test(test_fp8_with_scaled_tiles),
        cmocka_unit_test(test_random_weights_have_the_deviation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
