/* Quantizing a row of x to 8 bits: every kernel set gives the bits of ref.c, which rounds every
 * element to the nearest step. */
#include "test.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "kernel_help.h"

enum { Q8 = VUG_CPU_Q8_BLOCK };

static void check_quantize(const vug_cpu_kernels *kernels, const float *x)
{
    int8_t q[2][Q8];
    float scale[2];
    int16_t sum[2][2];
    vug_ref_quantize_block(x, q[0], &scale[0], sum[0]);
    kernels->quantize(x, Q8, q[1], &scale[1], sum[1]);
    assert_memory_equal(q[0], q[1], sizeof(q[0]));
    assert_memory_equal(sum[0], sum[1], sizeof(sum[0]));
    check_bits(&scale[1], &scale[0], 1, "scale");
}

/* Every number is rounded by at most half a step, ties go to even numbers, a NaN becomes 0. */
static void test_quantize(void **state)
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
        vug_ref_quantize_block(x, q, &scale, sum);
        int sums[2] = { 0, 0 };
        for (int i = 0; i < Q8; i++) {
            /* The scale, its inverse and the product are rounded as well. */
            assert_true(fabs((double)x[i] - (double)q[i] * (double)scale) <=
                        (double)scale * (0.5 + 127 * 4 * 0x1p-24));
            sums[i / 16] += q[i];
        }
        assert_true(sums[0] == sum[0] && sums[1] == sum[1]);
        for (int k = 0; k < vug_cpu_kernels_count(); k++)
            check_quantize(vug_cpu_kernels_at(k), x);
    }
    /* With a largest magnitude of 127 the step is 1. */
    for (int i = 0; i < Q8; i++)
        x[i] = (float)i - 15.5f;
    x[3] = NAN;
    x[4] = -127;
    vug_ref_quantize_block(x, q, &scale, sum);
    assert_true(scale == 1);
    for (int i = 0; i < Q8; i++)
        assert_int_equal(q[i], i == 3 ? 0 : i == 4 ? -127 : (i + i % 2) - 16);
    static const float odd[] = { 0,   -0.0f,    1e-45f,    -1e-40f, /* the inverse overflows */
                                 NAN, INFINITY, -INFINITY, 3e38f,   1 };
    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < Q8; i++)
            x[i] = odd[rng_bits(&r) % (uint32_t)(4 + round % 6)];
        for (int k = 0; k < vug_cpu_kernels_count(); k++)
            check_quantize(vug_cpu_kernels_at(k), x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
