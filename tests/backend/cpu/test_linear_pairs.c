/*
 * Products of BF16 weights with activations in BF16: every kernel set gives the bits of ref_pairs.c
 * for any number of rows and threads, also where small numbers count as zeros.
 */
#include "test.h"

#include <float.h>
#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/kernel_sets.h"
#include "backend/cpu/ref.h"
#include "kernel_help.h"
#include "quant/codec.h"

enum { MAX_ENVS = 12, SHARED = 1 << 20 }; /* floats of shared memory, more than any product needs */

static vug_cpu_env env_of(const vug_cpu_kernels *kernels, int threads)
{
    vug_cpu_env env = { .kernels = kernels, .activations = VUG_ACTIVATIONS_BF16 };
    env.scratch_floats = vug_cpu_linear_scratch_floats(&env, VUG_DTYPE_BF16, 2);
    env.shared = vug_alloc_aligned(SHARED * sizeof(float));
    env.scratch = vug_alloc_aligned((size_t)(env.scratch_floats * threads) * sizeof(float));
    assert_non_null(env.shared);
    assert_non_null(env.scratch);
    assert_int_equal(vug_pool_create(threads, &env.pool, NULL), VUG_OK);
    return env;
}

static void env_release(vug_cpu_env *env)
{
    vug_pool_destroy(env->pool);
    vug_free(env->scratch);
    vug_free(env->shared);
}

/* Every kernel set with one thread and with three. */
static int all_envs(vug_cpu_env *env)
{
    int n = 0;
    assert_true(2 * vug_cpu_kernels_count() <= MAX_ENVS);
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        env[n++] = env_of(vug_cpu_kernels_at(i), 1);
        env[n++] = env_of(vug_cpu_kernels_at(i), 3);
    }
    return n;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* ---- rounding ------------------------------------------------------------- */

/* Against the two BF16 values around x, in double. */
static void check_rounding(uint32_t bits)
{
    const float x = float_of(bits);
    const uint32_t got = vug_ref_round_bf16(x);
    if (isnan(x)) {
        assert_true(isnan(float_of(got << 16)));
        return;
    }
    if (fabsf(x) < FLT_MIN) {
        assert_int_equal(got, bits >> 31 << 15);
        return;
    }
    const uint32_t below = bits >> 16, above = below + 1;
    const double from_below = fabs((double)x - (double)float_of(below << 16));
    const bool overflows = (above & 0x7fff) == 0x7f80;
    const double end = overflows ? copysign(0x1p128, (double)x) : (double)float_of(above << 16);
    const double from_above = isinf(x) ? INFINITY : fabs((double)x - end);
    const bool up = from_above < from_below || (from_above == from_below && below % 2 == 1);
    assert_int_equal(got, up ? above : below);
}

static void test_rounding(void **state)
{
    (void)state;
    static const uint32_t low[] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff };
    enum { N = 0x10000, N_LOW = sizeof(low) / sizeof(low[0]) };
    float *x = vug_alloc(N, sizeof(*x));
    uint16_t *got = vug_alloc(N, sizeof(*got));
    assert_non_null(x);
    assert_non_null(got);
    for (int l = 0; l < N_LOW; l++) {
        for (uint32_t i = 0; i < N; i++) {
            check_rounding(i << 16 | low[l]);
            x[i] = float_of(i << 16 | low[l]);
        }
        for (int k = 0; k < vug_cpu_kernels_count(); k++) {
            const size_t n = N - (size_t)l; /* also ends that are no whole vector */
            vug_cpu_kernels_at(k)->pairs->round(x, (int64_t)n, got);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(got[i], vug_ref_round_bf16(x[i]));
        }
    }
    vug_free(x);
    vug_free(got);
}

/* ---- products ------------------------------------------------------------- */

/* want [rows,out], of x that is rounded to BF16 here, by the portable kernels. */
static void reference_product(const float *x, int64_t rows, const vug_matrix *w, int64_t out,
                              float *want)
{
    const int64_t row_bytes = w->columns * 2;
    uint16_t *pairs = vug_alloc((size_t)w->columns, sizeof(*pairs));
    assert_non_null(pairs);
    for (int64_t t = 0; t < rows; t++) {
        const float *row = (const float *)(const void *)pairs;
        vug_ref_pairs.round(x + t * w->columns, w->columns, pairs);
        for (int64_t o = 0, n; o < out; o += n) {
            float y[VUG_CPU_STREAMS];
            n = o + VUG_CPU_STREAMS <= out ? VUG_CPU_STREAMS : 1;
            vug_ref_pairs.format.gemm(&(vug_cpu_gemm){ .x = &row,
                                                       .rows = 1,
                                                       .w = w->data + o * row_bytes,
                                                       .y = y,
                                                       .k = w->columns / 2,
                                                       .stride = n > 1 ? row_bytes : 0 });
            memcpy(want + t * out + o, y, (size_t)n * sizeof(*want));
        }
    }
    vug_free(pairs);
}

/* Rounding x is off by at most 2^-8 of each element and the smallest normal number; each of the k sums
 * rounds once. */
static void check_against_double(const float *x, int64_t rows, const vug_matrix *w, int64_t out,
                                 const float *y)
{
    const int64_t in = w->columns;
    float *decoded = vug_alloc((size_t)in, sizeof(*decoded));
    assert_non_null(decoded);
    for (int64_t o = 0; o < out; o++) {
        vug_codec_of(VUG_DTYPE_BF16)->decode(w->data + o * in * 2, decoded, (size_t)in);
        for (int64_t t = 0; t < rows; t++) {
            double sum = 0, size = 0;
            for (int64_t i = 0; i < in; i++) {
                const double product = (double)x[t * in + i] * (double)decoded[i];
                sum += product;
                size += fabs(product);
            }
            const double bound = size * (0x1p-8 + (double)in * 0x1p-23) + 0x1p-100;
            assert_true(fabs((double)y[t * out + o] - sum) <= bound);
        }
    }
    vug_free(decoded);
}

static void check_linear(const vug_cpu_env *env, const float *x, int64_t rows, const vug_matrix *w,
                         int64_t out, const float *want)
{
    const size_t n = (size_t)(rows * out);
    float *y = guarded_floats(n);
    vug_cpu_projection m = { *w, out, y };
    vug_cpu_linear(env, &(vug_cpu_linear_job){
                                .x = x, .rows = rows, .in = w->columns, .projection = &m, .n = 1 });
    check_bits(y, want, n, env->kernels->name);
    check_guards(y, n);
    free_guarded(y);
}

static void test_products(void **state)
{
    (void)state;
    enum { MOST = VUG_CPU_MAX_FLOAT_ROWS }; /* with more, all kernel sets use panels */
    static const int64_t row_counts[] = { 1,  2,  3,  4,  5,  7,    8,        9,
                                          12, 13, 16, 17, 25, MOST, MOST + 1, MOST + 9 };
    enum { N_COUNTS = sizeof(row_counts) / sizeof(row_counts[0]) };
    rng r = { 21 };
    vug_cpu_env env[MAX_ENVS];
    const int n_envs = all_envs(env);
    for (int round = 0; round <= 6 * N_COUNTS; round++) {
        const bool wide = round == 6 * N_COUNTS; /* several groups of panels */
        const int64_t rows = row_counts[wide ? N_COUNTS - 2 : round % N_COUNTS];
        const int64_t out = wide ? 401 : 1 + rng_bits(&r) % 40;
        const int64_t in = wide ? 2602 : 2 + 2 * (rng_bits(&r) % (round % 8 ? 300 : 3000));
        const size_t shift = rng_bits(&r) % 64;
        uint8_t *data = random_weights(&r, VUG_DTYPE_BF16, (size_t)(out * in), shift);
        const vug_matrix w = matrix_over(VUG_DTYPE_BF16, data, in);
        float *x = guarded_floats((size_t)(rows * in));
        float *want = guarded_floats((size_t)(rows * out));
        rng_fill(&r, x, (size_t)(rows * in));
        reference_product(x, rows, &w, out, want);
        check_against_double(x, rows, &w, out, want);
        for (int e = 0; e < n_envs; e++)
            check_linear(&env[e], x, rows, &w, out, want);
        free_guarded(x);
        free_guarded(want);
        free_weights(data, shift);
    }
    for (int e = 0; e < n_envs; e++)
        env_release(&env[e]);
}

/* A BF16 value of random sign and digits, of about 2^exponent. */
static float small_number(rng *r, int exponent)
{
    const uint32_t bits = rng_bits(r);
    const uint32_t biased = (uint32_t)(127 + exponent) + (bits >> 8) % 6;
    return float_of((bits & 1) << 31 | biased << 23 | (bits >> 16 & 0x7f) << 16);
}

/* Products and sums around 2^-126, and weights below it. */
static void test_small_numbers_are_zeros(void **state)
{
    (void)state;
    enum { IN = 70, OUT = 21, ROWS = VUG_CPU_MAX_FLOAT_ROWS + 2 };
    rng r = { 22 };
    vug_cpu_env env[MAX_ENVS];
    const int n_envs = all_envs(env);
    float x[ROWS * IN], want[ROWS * OUT];
    uint16_t data[OUT * IN];
    const vug_matrix w = matrix_over(VUG_DTYPE_BF16, (const uint8_t *)data, IN);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < ROWS * IN; i++)
            x[i] = small_number(&r, -70);
        for (int i = 0; i < OUT * IN; i++)
            data[i] = (uint16_t)(i % 5 ? bits_of(small_number(&r, -62)) >> 16 : (unsigned)i % 0x80);
        reference_product(x, ROWS, &w, OUT, want);
        for (int rows = 1; rows <= ROWS; rows += ROWS - 1) {
            for (int e = 0; e < n_envs; e++)
                check_linear(&env[e], x, rows, &w, OUT, want);
        }
    }
    for (int e = 0; e < n_envs; e++)
        env_release(&env[e]);
}

/* Both kinds of products of a kernel set, of one pair. A tile's lda and ldb do not matter. */
static void check_one_pair(const vug_cpu_kernels *kernels, const float *x, const uint16_t *w,
                           float want)
{
    uint16_t rounded[2];
    float pair, panel[VUG_CPU_PANEL], y[VUG_CPU_STREAMS], c[VUG_CPU_PANEL];
    const float *row = &pair;
    kernels->pairs->round(x, 2, rounded);
    memcpy(&pair, rounded, sizeof(pair));
    kernels->pairs->format.gemm(&(vug_cpu_gemm){
            .x = &row, .rows = 1, .w = (const uint8_t *)w, .y = y, .k = 1, .stride = 0 });
    check_bits(y, &want, 1, kernels->name);
    kernels->pairs->format.pack((const uint8_t *)w, 0, VUG_CPU_PANEL, 1, panel);
    kernels->pairs->tile(1, &(vug_cpu_tile){ .a = &pair, .b = panel, .c = c, .k = 1 });
    check_bits(c, &want, 1, kernels->name);
}

/* 2^-130 is a zero of its sign; 2^-126 is not, and a result that only rounding makes 2^-126 is not,
 * either. */
static void test_small_numbers_by_hand(void **state)
{
    (void)state;
    static const struct {
        float x[2], w[2], want;
    } rows[] = {
        { { 0, 0x1p-70f }, { 0, 0x1p-60f }, 0.0f },
        { { 0, -0x1p-70f }, { 0, 0x1p-60f }, 0.0f }, /* the even product then adds +0 */
        { { 0x1p-70f, 0 }, { -0x1p-60f, 0 }, -0.0f },
        { { 0, 0x1p-66f }, { 0, 0x1p-60f }, 0x1p-126f },
        { { 0x1p-127f, 0 }, { 1, 0 }, 0.0f },                         /* x is rounded to zero */
        { { 1, 0 }, { 0x1p-127f, 0 }, 0.0f },                         /* a weight counts as zero */
        { { -0x1.02p-66f, 0x1p-65f }, { 0x1p-60f, 0x1p-60f }, 0.0f }, /* 0x1.fcp-127 */
        { { -0x1p-76f, 0x1p-66f }, { 0x1p-76f, 0x1p-60f }, 0x1p-126f }, /* below, but rounded up */
        { { -0x1p-76f, 0x1p-66f }, { 0x1p-75f, 0x1p-60f }, 0x1p-126f }, /* a tie */
        { { -0x1.8p-76f, 0x1p-66f }, { 0x1p-75f, 0x1p-60f }, 0.0f },
        { { 1, 0x1p-7f }, { 0x1p-7f, 1 }, 0x1p-6f },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint16_t w[2] = { (uint16_t)(bits_of(rows[i].w[0]) >> 16),
                          (uint16_t)(bits_of(rows[i].w[1]) >> 16) };
        const vug_matrix matrix = matrix_over(VUG_DTYPE_BF16, (const uint8_t *)w, 2);
        float y;
        reference_product(rows[i].x, 1, &matrix, 1, &y);
        check_bits(&y, &rows[i].want, 1, "by hand");
        for (int set = 0; set < vug_cpu_kernels_count(); set++)
            check_one_pair(vug_cpu_kernels_at(set), rows[i].x, w, rows[i].want);
    }
}

/* A job writes only to the memory that was counted for it, with rows for streams and for panels. */
static void test_job_stays_in_its_memory(void **state)
{
    (void)state;
    enum { IN = 130, OUT = 19 };
    rng r = { 25 };
    const vug_cpu_kernels *kernels = vug_cpu_kernels_select(NULL);
    const int64_t most = kernels->float_rows; /* in streams */
    const int64_t row_counts[] = { 1, 7, most, most + 1, most + 7 };
    for (size_t i = 0; i < sizeof(row_counts) / sizeof(row_counts[0]); i++) {
        const int64_t rows = row_counts[i];
        vug_cpu_env env = env_of(kernels, 2);
        float *scratch = env.scratch, *shared = env.shared;
        uint8_t *data = random_weights(&r, VUG_DTYPE_BF16, (size_t)OUT * IN, 0);
        const vug_matrix w = matrix_over(VUG_DTYPE_BF16, data, IN);
        float *x = guarded_floats((size_t)rows * IN), *want = guarded_floats((size_t)rows * OUT);
        vug_cpu_input_formats formats = { 0 };
        uint64_t floats;
        vug_cpu_linear_add_input_format(&env, w.dtype, IN, &formats);
        assert_true(formats.pairs && !formats.f32 && !formats.q8);
        assert_true(vug_cpu_linear_shared_floats(&formats, rows, IN, &floats));
        env.scratch = guarded_floats((size_t)env.scratch_floats * 2);
        env.shared = guarded_floats((size_t)floats);
        rng_fill(&r, x, (size_t)rows * IN);
        reference_product(x, rows, &w, OUT, want);
        check_linear(&env, x, rows, &w, OUT, want);
        check_guards(env.scratch, (size_t)env.scratch_floats * 2);
        check_guards(env.shared, (size_t)floats);
        free_guarded(env.scratch);
        free_guarded(env.shared);
        env.scratch = scratch;
        env.shared = shared;
        env_release(&env);
        free_guarded(x);
        free_guarded(want);
        free_weights(data, 0);
    }
}

/* Rows of an odd number of elements are multiplied in F32. */
static void test_odd_rows(void **state)
{
    (void)state;
    enum { IN = 33, OUT = 5, ROWS = VUG_CPU_MAX_FLOAT_ROWS + 2 };
    rng r = { 23 };
    vug_cpu_env env = env_of(vug_cpu_kernels_select(NULL), 2);
    float x[ROWS * IN], want[ROWS * OUT];
    uint8_t *data = random_weights(&r, VUG_DTYPE_BF16, (size_t)OUT * IN, 0);
    const vug_matrix w = matrix_over(VUG_DTYPE_BF16, data, IN);
    rng_fill(&r, x, (size_t)ROWS * IN);
    vug_ref_linear(x, ROWS, &w, OUT, want);
    check_linear(&env, x, 1, &w, OUT, want);
    check_linear(&env, x, ROWS, &w, OUT, want);
    free_weights(data, 0);
    env_release(&env);
}

/* Without the precision, BF16 weights are multiplied in F32. */
static void test_other_precisions(void **state)
{
    (void)state;
    enum { IN = 64, OUT = 8 };
    rng r = { 24 };
    vug_cpu_env env = env_of(vug_cpu_kernels_select(NULL), 2);
    float x[IN], f32[OUT], bf16[OUT];
    uint8_t *data = random_weights(&r, VUG_DTYPE_BF16, (size_t)OUT * IN, 0);
    const vug_matrix w = matrix_over(VUG_DTYPE_BF16, data, IN);
    rng_fill(&r, x, IN);
    vug_ref_linear(x, 1, &w, OUT, f32);
    reference_product(x, 1, &w, OUT, bf16);
    assert_memory_not_equal(f32, bf16, sizeof(f32));
    check_linear(&env, x, 1, &w, OUT, bf16);
    env.activations = VUG_ACTIVATIONS_Q8;
    check_linear(&env, x, 1, &w, OUT, f32);
    env.activations = VUG_ACTIVATIONS_F32;
    check_linear(&env, x, 1, &w, OUT, f32);
    free_weights(data, 0);
    env_release(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_small_numbers_are_zeros),
        cmocka_unit_test(test_small_numbers_by_hand),
        cmocka_unit_test(test_job_stays_in_its_memory),
        cmocka_unit_test(test_odd_rows),
        cmocka_unit_test(test_other_precisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
