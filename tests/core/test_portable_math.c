#include "test.h"

#include <float.h>
#include <math.h>

#include "core/portable_math.h"
#include "core/random.h"

/* The distance of two doubles of the same sign in units in the last place. */
static double ulps(double a, double b)
{
    const double unit = nextafter(fabs(b), INFINITY) - fabs(b);
    return fabs(a - b) / unit;
}

static void test_log_is_accurate_at_every_scale(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int i = 0; i < 200000; i++) {
        const uint64_t bits = vug_splitmix64(&random) >> 1;
        double x;
        memcpy(&x, &bits, sizeof(x));
        if (!isfinite(x) || x == 0)
            continue;
        assert_true(ulps(vug_portable_log(x), log(x)) <= 2);
        /* Around 1 the logarithm is small: that is where a sloppy one fails. */
        const double near = 1 + ((double)(bits >> 11) * 0x1p-52 - 0.5) / (1 + i % 1000);
        if (near != 1)
            assert_true(ulps(vug_portable_log(near), log(near)) <= 2);
    }
}

/* The bits themselves, which no platform may change. */
static void test_log_has_fixed_bits(void **state)
{
    (void)state;
    static const struct {
        double x, log;
    } rows[] = {
        { 1, 0 },
        { 2, 0x1.62e42fefa39efp-1 },
        { 0.5, -0x1.62e42fefa39efp-1 },
        { 10, 0x1.26bb1bbb55516p+1 },
        { 0x1p-64, -0x1.62e42fefa39efp+5 },
        { 0x1p-1074, -0x1.74385446d71c3p+9 },
        { DBL_MAX, 0x1.62e42fefa39efp+9 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (vug_portable_log(rows[i].x) != rows[i].log)
            fail_msg("log %g is %a, expected %a", rows[i].x, vug_portable_log(rows[i].x),
                     rows[i].log);
    }
    assert_true(isinf(vug_portable_log(0)) && vug_portable_log(0) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_is_accurate_at_every_scale),
        cmocka_unit_test(test_log_has_fixed_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
