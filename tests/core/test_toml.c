/* The subset of TOML that profiles are written in: its entries, and what is refused. */
#include "test.h"

#include <stdint.h>

#include "core/toml.h"

static void test_entries(void **state)
{
    (void)state;
    static const char all[] = "# a comment\n"
                              "top=1\r\n"
                              "\n"
                              "  [ a-b ] # another\n"
                              "s = \"x # y\" \t# and a third\n"
                              "t\t=\t-1_000\n"
                              "empty = \"\"\n"
                              "f = false\n"
                              "n = +0\n"
                              "[b]\n"
                              "last = 9223372036854775807";
    static const struct {
        const char *table, *key;
        int line;
        vug_toml_type type;
        const char *string;
        int64_t whole;
    } rows[] = {
        { "", "top", 2, VUG_TOML_INTEGER, "", 1 },
        { "a-b", "", 4, VUG_TOML_STRING, "", 0 },
        { "a-b", "s", 5, VUG_TOML_STRING, "x # y", 0 },
        { "a-b", "t", 6, VUG_TOML_INTEGER, "", -1000 },
        { "a-b", "empty", 7, VUG_TOML_STRING, "", 0 },
        { "a-b", "f", 8, VUG_TOML_BOOL, "", 0 },
        { "a-b", "n", 9, VUG_TOML_INTEGER, "", 0 },
        { "b", "", 10, VUG_TOML_STRING, "", 0 },
        { "b", "last", 11, VUG_TOML_INTEGER, "", INT64_MAX },
    };
    vug_toml t = vug_toml_over(vug_str_of(all), "f.toml");
    vug_toml_entry e;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(vug_toml_next(&t, &e));
        assert_true(vug_str_is(e.table, rows[i].table));
        assert_true(vug_str_is(e.key, rows[i].key));
        assert_int_equal(e.line, rows[i].line);
        assert_int_equal(e.type, rows[i].type);
        assert_true(!rows[i].string[0] || vug_str_is(e.string, rows[i].string));
        assert_int_equal(e.integer, rows[i].whole);
    }
    assert_false(vug_toml_next(&t, &e));
    assert_int_equal(t.st, VUG_OK);
    t = vug_toml_over(vug_str_of(""), "f.toml");
    assert_false(vug_toml_next(&t, &e));
    assert_int_equal(t.st, VUG_OK);
}

static void test_invalid_lines_are_refused(void **state)
{
    (void)state;
    static const char value[] = "expected a \"string\", an integer, true or false";
    static const struct {
        const char *text, *why, *found;
    } rows[] = {
        { "a", "expected a line such as key = value", NULL },
        { "= 1", "expected a line such as key = value", NULL },
        { "a.b = 1", "expected a line such as key = value", NULL },
        { "\"a\" = 1", "expected a line such as key = value", NULL },
        { "a = 1 2", "expected the end of the line, found '2'", NULL },
        { "a = \"x\"y", "expected the end of the line, found 'y'", NULL },
        { "a = \"x", "unterminated string", NULL },
        { "a = \"x\\n\"", "escapes in strings are not supported", NULL },
        { "a = \"\"\"x\"\"\"", "multi-line strings are not supported", NULL },
        { "a =", value, "" },
        { "a = 'x'", value, "'x'" },
        { "a = 1.5", value, "1.5" },
        { "a = 0x10", value, "0x10" },
        { "a = 007", value, "007" },
        { "a = 1__0", value, "1__0" },
        { "a = _1", value, "_1" },
        { "a = 9223372036854775808", value, "9223372036854775808" },
        { "a = -", value, "-" },
        { "a = True", value, "True" },
        { "a = [1]", value, "[1]" },
        { "[a", "expected the name of a table, as in [fusion]", NULL },
        { "[]", "expected the name of a table, as in [fusion]", NULL },
        { "[a.b]", "expected the name of a table, as in [fusion]", NULL },
        { "[[a]]", "arrays of tables are not supported", NULL },
        { "[a] b", "expected the end of the line, found 'b'", NULL },
        { "a = 1 # \x01", "contains a control character or invalid UTF-8", NULL },
        { "a = \"\xff\"", "contains a control character or invalid UTF-8", NULL },
        { "a = 1\rb = 2", "contains a control character or invalid UTF-8", NULL },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128], why[256], expected[320];
        (void)snprintf(text, sizeof(text), "\n%s\n", rows[i].text);
        vug_toml t = vug_toml_over(vug_str_of(text), "f.toml");
        vug_toml_entry e;
        while (vug_toml_next(&t, &e))
            ;
        if (rows[i].found)
            (void)snprintf(why, sizeof(why), "%s, found '%s'", rows[i].why, rows[i].found);
        else
            (void)snprintf(why, sizeof(why), "%s", rows[i].why);
        (void)snprintf(expected, sizeof(expected), "f.toml: line 2: %s", why);
        assert_int_equal(t.st, VUG_FORMAT);
        assert_string_equal(t.err.msg, expected);
    }
    char line[VUG_TOML_MAX_LINE + 2];
    memset(line, '#', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    vug_toml t = vug_toml_over(vug_str_of(line), "f.toml");
    vug_toml_entry e;
    assert_false(vug_toml_next(&t, &e));
    assert_string_equal(t.err.msg, "f.toml: line 1: 1001 bytes, a line may have at most 1000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_invalid_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
