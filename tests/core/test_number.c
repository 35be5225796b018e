/* Numbers as text, hexadecimal digits and random bits. */
#include "test.h"

#include "core/number.h"
#include "core/random.h"

static void test_numbers(void **state)
{
    (void)state;
    double d = 7;
    int64_t i = 7;
    static const char *const bad_f64[] = { "",    " 1",    "1 ", "0x10", "inf", "nan", "1e999",
                                           "1,5", "1.2.3", "e5", "-",    "1e",  "--1" };
    for (size_t k = 0; k < sizeof(bad_f64) / sizeof(bad_f64[0]); k++)
        assert_false(vug_parse_f64(bad_f64[k], &d));
    assert_true(d == 7);
    assert_true(vug_parse_f64("-2.5e-1", &d) && d == -0.25);
    assert_true(vug_parse_f64("40", &d) && d == 40);
    static const char *const bad_i64[] = { "",  " 1",  "1 ", "0x10", "1.0", "9223372036854775808",
                                           "-", "1e3", "\n1" };
    for (size_t k = 0; k < sizeof(bad_i64) / sizeof(bad_i64[0]); k++)
        assert_false(vug_parse_i64(bad_i64[k], &i));
    assert_int_equal(i, 7);
    assert_true(vug_parse_i64("-9223372036854775808", &i) && i == INT64_MIN);
    assert_true(vug_parse_i64("9223372036854775807", &i) && i == INT64_MAX);
}

static void test_decimals(void **state)
{
    (void)state;
    assert_true(vug_parse_decimal(vug_str_of("0.1")) == 0.1);
    assert_true(vug_parse_decimal(vug_str_of("-12.50e-1")) == -1.25);
    assert_true(vug_parse_decimal(vug_str_of("1e400")) > 1e308);
    assert_true(vug_parse_decimal(vug_str_of("0")) == 0);
    assert_true(vug_parse_decimal(vug_str_of("00012")) == 12);
}

static void test_hex_digits(void **state)
{
    (void)state;
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    for (int c = -128; c < 128; c++) {
        const char *at = c ? strchr(digits, (char)c) : NULL;
        assert_int_equal(vug_hex_digit((char)c), at ? (int)(at - digits) % 16 : -1);
    }
}

/* The first outputs that the authors' reference gives for the seed 1234567. */
static void test_splitmix64(void **state)
{
    (void)state;
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)
    };
    uint64_t seed = 1234567;
    for (uint64_t i = 0; i < 5; i++) {
        assert_true(vug_splitmix64(&seed) == expected[i]);
        assert_true(vug_splitmix64_at(1234567, i + 1) == expected[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_hex_digits),
        cmocka_unit_test(test_splitmix64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
