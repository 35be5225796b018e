/* Rounding weights to Q4_0 and decoding quantized rows: every kernel set gives the same bits, and the
 * sums of squares are those of what was rounded. */
#include "test.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "kernel_help.h"
#include "quant/codec.h"
#include "quant/matrix.h"

enum {
    BLOCK = 32,
    MOST = 11 * BLOCK, /* two groups of four blocks, and what is left */
    BLOCK_BYTES = 18,
    COLUMNS = 512
};

/* The payload of a NaN is not defined. */
static void check_sum(float got, float expected)
{
    if (!isnan(expected))
        check_bits(&got, &expected, 1, "a sum of squares");
    assert_true(isnan(got) == isnan(expected));
}

static void check_sets(const float *w, int64_t n)
{
    uint8_t expected[MOST / BLOCK * BLOCK_BYTES + 1], got[sizeof(expected)];
    assert_true(n <= MOST);
    memset(expected, 0xa5, sizeof(expected));
    memset(got, 0xa5, sizeof(got));
    const vug_cpu_square_sums ref = vug_cpu_kernels_at(0)->round_q4_0(w, n, expected);
    for (int k = 1; k < vug_cpu_kernels_count(); k++) {
        const vug_cpu_square_sums sums = vug_cpu_kernels_at(k)->round_q4_0(w, n, got);
        assert_memory_equal(got, expected, sizeof(got));
        check_sum(sums.all, ref.all);
        check_sum(sums.changed, ref.changed);
    }
}

/* Each weight moves by at most half a step, or a whole one at the end of the range that is shorter. */
static void check_rounding(const float *w, int64_t n)
{
    uint8_t to[MOST / BLOCK * BLOCK_BYTES];
    float c[MOST];
    double all = 0, changed = 0;
    const vug_cpu_square_sums sums = vug_cpu_kernels_at(0)->round_q4_0(w, n, to);
    vug_codec_of(VUG_DTYPE_Q4_0)->decode(to, c, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        float scale;
        vug_codec_of(VUG_DTYPE_F16)->decode(to + i / BLOCK * BLOCK_BYTES, &scale, 1);
        const double change = fabs((double)w[i] - (double)c[i]), step = fabs((double)scale);
        const bool is_beyond = (double)w[i] / (double)scale > 7.5;
        assert_true(change <= step * (is_beyond ? 1.01 : 0.5001));
        all += (double)w[i] * (double)w[i];
        changed += change * change;
    }
    assert_true(fabs((double)sums.all - all) <= 1e-6 * all);
    assert_true(fabs((double)sums.changed - changed) <= 1e-6 * changed);
}

static void test_round_q4_0(void **state)
{
    (void)state;
    rng r = { 1 };
    float w[MOST];
    for (int round = 0; round < 2000; round++) {
        rng_fill(&r, w, MOST);
        for (int i = 0; i < MOST; i++)
            w[i] = ldexpf(w[i], (int)(rng_bits(&r) % 8));
        check_rounding(w, (int64_t)BLOCK * (round % 3));
        check_sets(w, (int64_t)BLOCK * (round % (MOST / BLOCK + 1)));
    }
    static const float odd[] = { 0,        -0.0f,    1,         -1,       0.4375f,
                                 -0.3125f, 1e-9f,    -1e-42f,   65519.0f, -8 * 65519.0f,
                                 3e38f,    INFINITY, -INFINITY, NAN };
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < MOST; i++)
            w[i] = odd[rng_bits(&r) % (uint32_t)(2 + round % 13)];
        check_sets(w, (int64_t)BLOCK * (round % (MOST / BLOCK + 1)));
    }
}

static void test_decode(void **state)
{
    (void)state;
    rng r = { 2 };
    float expected[COLUMNS];
    uint8_t src[COLUMNS * 2];
    for (int round = 0; round < 50 * VUG_DTYPE_COUNT; round++) {
        const vug_dtype dtype = (vug_dtype)(round % VUG_DTYPE_COUNT);
        for (size_t i = 0; i < sizeof(src); i++)
            src[i] = (uint8_t)(rng_bits(&r) & 0xbf); /* so that no scale in F16 is infinite */
        for (int k = 0; k < vug_cpu_kernels_count(); k++) {
            vug_cpu_decode_fn *decode = vug_cpu_kernels_at(k)->decode[dtype];
            if (!decode)
                continue;
            float *got = guarded_floats(COLUMNS);
            const vug_matrix w = { .dtype = dtype, .data = src, .columns = COLUMNS };
            vug_matrix_decode(&w, 0, expected);
            decode(src, COLUMNS, got);
            check_bits(got, expected, COLUMNS, vug_dtype_of(dtype)->name);
            check_guards(got, COLUMNS);
            free_guarded(got);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_q4_0),
        cmocka_unit_test(test_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
