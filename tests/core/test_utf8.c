

#include "test.h"

#include "core/number.h"
#include "core/utf8.h"

/* UTF-8 functions, for all code points and for invalid sequences. */

static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
        char s[4];
        uint32_t back = 0;
        const size_t n = vug_utf8_encode(cp, s);
        const bool surrogate = cp >= 0xd800 && cp <= 0xdfff;
        assert_int_equal(n, cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4);
        assert_int_equal(vug_utf8_decode(s, n, &back), n);
        assert_int_equal(back, surrogate ? 0xfffd : cp);
        for (size_t k = 1; k < n; k++) {
            assert_int_equal(vug_utf8_decode(s, k, &back), 0);
            assert_true(vug_utf8_incomplete(s, k));
            assert_int_equal(vug_utf8_invalid_length(s, k), k);
        }
        assert_false(vug_utf8_incomplete(s, n));
    }
    char s[4];
    assert_int_equal(vug_utf8_encode(0x110000, s), 3);
    assert_memory_equal(s, "\xef\xbf\xbd", 3);
}

static void test_invalid_sequences(void **state)
{
    (void)state;
    /* `bad`: the number of bytes that one U+FFFD replaces. */
    static const struct {
        const char *text;
        size_t n, bad;
    } row[] = {
        { "\x80", 1, 1 },             /* a lone continuation byte */
        { "\xbf\x80", 2, 1 },         /* two of them */
        { "\xc0\x80", 2, 1 },         /* overlong */
        { "\xc1\xbf", 2, 1 },         /* overlong */
        { "\xe0\x80\x80", 3, 1 },     /* overlong */
        { "\xe0\x9f\xbf", 3, 1 },     /* overlong */
        { "\xf0\x8f\xbf\xbf", 4, 1 }, /* overlong */
        { "\xed\xa0\x80", 3, 1 },     /* a surrogate */
        { "\xed\xbf\xbf", 3, 1 },     /* a surrogate */
        { "\xf4\x90\x80\x80", 4, 1 }, /* past U+10FFFF */
        { "\xf5\x80\x80\x80", 4, 1 }, /* not a first byte */
        { "\xff", 1, 1 },             /* not a first byte */
        { "\xc3(", 2, 1 },            /* truncated */
        { "\xe2\x82(", 3, 2 },        /* truncated */
        { "\xe2(\xa1", 3, 1 },        /* truncated */
        { "\xf0\x9f\x98(", 4, 3 },    /* truncated */
        { "\xf0\x9f(\x80", 4, 2 },    /* truncated */
        { "\xf1\x80\xe1\x80", 4, 2 }, /* truncated by another sequence */
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        uint32_t cp = 1;
        assert_int_equal(vug_utf8_decode(row[i].text, row[i].n, &cp), 0);
        assert_int_equal(vug_utf8_invalid_length(row[i].text, row[i].n), row[i].bad);
    }
    uint32_t cp;
    assert_int_equal(vug_utf8_decode("", 0, &cp), 0);
    assert_int_equal(vug_utf8_decode("\0", 1, &cp), 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_invalid_sequences),
        cmocka_unit_test(test_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
