/* The functions of one number in ref.c are as close to the exact result as ref.h says. */
#include "test.h"

#include <math.h>

#include "backend/cpu/ref.h"

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

static void test_exp_and_tanh_accuracy(void **state)
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

/* The error is bounded relative to x; the result itself may be arbitrarily small. */
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
    /* exp is within one ulp; a sum and a division are rounded. */
    assert_true(worst < 3 * 0x1p-23);
    assert_true(vug_ref_silu(-200) == 0 && vug_ref_silu(200) == 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp_and_tanh_accuracy),
        cmocka_unit_test(test_gelu_accuracy),
        cmocka_unit_test(test_silu_accuracy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
