#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/text.h"

/* The UTF-8 helpers, over all code points and over what is not one. */

static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
        char s[4];
        uint32_t back = 0;
        const size_t n = vug_utf8_put(cp, s);
        const bool surrogate = cp >= 0xd800 && cp <= 0xdfff;
        assert_int_equal(n, cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4);
        assert_int_equal(vug_utf8_next(s, n, &back), n);
        assert_int_equal(back, surrogate ? 0xfffd : cp);
        for (size_t k = 1; k < n; k++) {
            assert_int_equal(vug_utf8_next(s, k, &back), 0);
            assert_true(vug_utf8_incomplete(s, k));
            assert_int_equal(vug_utf8_bad(s, k), k);
        }
        assert_false(vug_utf8_incomplete(s, n));
    }
    char s[4];
    assert_int_equal(vug_utf8_put(0x110000, s), 3);
    assert_memory_equal(s, "\xef\xbf\xbd", 3);
}

static void test_refused(void **state)
{
    (void)state;
    /* `bad`: how much of it one U+FFFD stands for. */
    static const struct {
        const char *text;
        size_t n, bad;
    } row[] = {
        { "\x80", 1, 1 },             /* a continuation alone */
        { "\xbf\x80", 2, 1 },         /* two */
        { "\xc0\x80", 2, 1 },         /* overlong */
        { "\xc1\xbf", 2, 1 },         /* overlong */
        { "\xe0\x80\x80", 3, 1 },     /* overlong */
        { "\xe0\x9f\xbf", 3, 1 },     /* overlong */
        { "\xf0\x8f\xbf\xbf", 4, 1 }, /* overlong */
        { "\xed\xa0\x80", 3, 1 },     /* a surrogate */
        { "\xed\xbf\xbf", 3, 1 },     /* a surrogate */
        { "\xf4\x90\x80\x80", 4, 1 }, /* past U+10FFFF */
        { "\xf5\x80\x80\x80", 4, 1 }, /* no first byte */
        { "\xff", 1, 1 },             /* no first byte */
        { "\xc3(", 2, 1 },            /* cut short */
        { "\xe2\x82(", 3, 2 },        /* cut short */
        { "\xe2(\xa1", 3, 1 },        /* cut short */
        { "\xf0\x9f\x98(", 4, 3 },    /* cut short */
        { "\xf0\x9f(\x80", 4, 2 },    /* cut short */
        { "\xf1\x80\xe1\x80", 4, 2 }, /* cut short by another */
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        uint32_t cp = 1;
        assert_int_equal(vug_utf8_next(row[i].text, row[i].n, &cp), 0);
        assert_int_equal(vug_utf8_bad(row[i].text, row[i].n), row[i].bad);
    }
    uint32_t cp;
    assert_int_equal(vug_utf8_next("", 0, &cp), 0);
    assert_int_equal(vug_utf8_next("\0", 1, &cp), 1);
    assert_int_equal(cp, 0);
}

static void test_incomplete(void **state)
{
    (void)state;
    static const char *const never[] = { "\x80", "\xc0",     "\xc1",     "\xf5",     "\xff",
                                         "a",    "\xe0\x9f", "\xed\xa0", "\xf0\x8f", "\xf4\x90" };
    static const char *const may[] = { "\xc2",     "\xdf",     "\xe0",     "\xe0\xa0",
                                       "\xed\x9f", "\xf0\x90", "\xf4\x8f", "\xf0\x9f\x98" };
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
        assert_false(vug_utf8_incomplete(never[i], strlen(never[i])));
    for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++)
        assert_true(vug_utf8_incomplete(may[i], strlen(may[i])));
    assert_false(vug_utf8_incomplete("", 0));
    assert_false(vug_utf8_incomplete("\xf0\x9f\x98\x80", 4));
}

static void test_decimals(void **state)
{
    (void)state;
    assert_true(vug_decimal_f64(vug_str_of("0.1")) == 0.1);
    assert_true(vug_decimal_f64(vug_str_of("-12.50e-1")) == -1.25);
    assert_true(vug_decimal_f64(vug_str_of("1e400")) > 1e308);
    assert_true(vug_decimal_f64(vug_str_of("0")) == 0);
    assert_true(vug_decimal_f64(vug_str_of("00012")) == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
