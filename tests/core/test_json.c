#include "test.h"

#include <float.h>
#include <math.h>

#include "core/json.h"
#include "core/json_writer.h"

/*
 * The grammar of RFC 8259 by valid and invalid texts, each read by skipping and by building
 * a tree, which must agree; then the typed readers; then every truncation and every flipped
 * byte of a sample.
 */

/* A copy without a terminating NUL, so that the sanitizer detects reads past the end. */
static vug_str exact_copy(const char *text, size_t n)
{
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    return (vug_str){ copy, n };
}

static vug_status skip_all(vug_str src, vug_err *err)
{
    vug_arena arena = { 0 };
    vug_json_reader j = vug_json_reader_over(src, "x.json", &arena);
    vug_json_skip(&j);
    const vug_status st = vug_json_finish(&j, err);
    assert_null(arena.top); /* skipping decodes nothing */
    return st;
}

static vug_status tree_all(vug_str src, vug_err *err)
{
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    const vug_status st = vug_json_tree(src, "x.json", &arena, &root, err);
    assert_true((st == VUG_OK) == (root != NULL));
    vug_arena_release(&arena);
    return st;
}

static const char *const accepted[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "10",
    "1.5",
    "-0.0",
    "1e5",
    "1E+5",
    "1e-5",
    "0.1e01",
    "\"\"",
    "\"a\"",
    " [ ] ",
    "{}",
    "[1]",
    "[1,2]",
    "[[],{}]",
    "{\"a\":1}",
    "{\"a\":{\"b\":[null]}}",
    "\t\r\n [1 , 2 ]\n",
    "{\"\":0}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0000\"",
    "\"\\uFfFf\"",
    "\"\\ud83d\\ude00\"",
    "\"\\uDBFF\\uDFFF\"",
    "\"\x7f\"",
    "\"\xc2\x80\"",
    "\"\xed\x9f\xbf\"",
    "\"\xee\x80\x80\"",
    "\"\xf4\x8f\xbf\xbf\"",
    "\"\xf0\x90\x80\x80\"",
    "\"\xe2\x80\xa8\"",
    "123456789012345678901234567890",
    "[1,[2,[3,[4]]]]",
    "{\"a\":1,\"A\":2}",
    "\"a string longer than one word, with \\\" an escape and \xc3\xa9 after it\"",
};

static const char *const refused[] = {
    "",
    " ",
    "nul",
    "nulL",
    "True",
    "NaN",
    "Infinity",
    "-",
    "-a",
    "+1",
    "01",
    "-01",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x10",
    "1.e1",
    "1 2",
    "1a",
    "--1",
    "1.5.5",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[,]",
    "[1 2]",
    "[1}",
    "{",
    "}",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":}",
    "{\"a\" 1}",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{\"a\":1]",
    "{\"a\":1 \"b\":2}",
    "{null:1}",
    "\"",
    "\"a",
    "'a'",
    "\"\\\"",
    "\"\\x\"",
    "\"\\u\"",
    "\"\\u12\"",
    "\"\\u123g\"",
    "\"\\u 123\"",
    "\"\\U0041\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud800x\"",
    "\"\\ud800\\ud800\"",
    "\"\\ud800\\n\"",
    "\"\n\"",
    "\"\t\"",
    "\"\x1f\"",
    "\"1234567\x01\"",
    "\"\x80\"",
    "\"\xc3\"",
    "\"\xc0\x80\"",
    "\"\xc1\xbf\"",
    "\"\xe0\x80\x80\"",
    "\"\xe0\x9f\xbf\"",
    "\"\xed\xa0\x80\"",
    "\"\xed\xbf\xbf\"",
    "\"\xf0\x8f\xbf\xbf\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf5\x80\x80\x80\"",
    "\"\xff\"",
    "\"\xe2\x80\"",
    "\"\xf0\x9f\x98\"",
    "\"12345678\xc3(\"",
    "\"\xe2(\xa1\"",
    "\"\xf0(\x8c\xbc\"",
    "\xef\xbb\xbf{}",
    "[1]x",
    "{}{}",
    "[] []",
    "/**/1",
    "1//",
    "\v1",
    "\xc2\xa0[]",
    "[1,,2]",
    "{\"a\":1,,\"b\":2}",
    "{\"a\"::1}",
    "\\u0031",
    "tru",
    "falsey",
};

/* The text with more after it, because near the end the reader goes byte by byte. */
static vug_str wrap_in_array(const char *text)
{
    char to[256];
    const int n = snprintf(to, sizeof(to), "[%s,\"0123456789\"]", text);
    assert_in_range(n, 1, sizeof(to) - 1);
    return exact_copy(to, (size_t)n);
}

static void test_grammar(void **state)
{
    (void)state;
    vug_err err;
    for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted); i++) {
        vug_str src = exact_copy(accepted[i], strlen(accepted[i]));
        if (skip_all(src, &err) != VUG_OK || tree_all(src, &err) != VUG_OK)
            fail_msg("refused %s: %s", accepted[i], err.msg);
        free((char *)src.ptr);
        src = wrap_in_array(accepted[i]);
        assert_int_equal(skip_all(src, NULL), VUG_OK);
        free((char *)src.ptr);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        vug_err tree_err;
        vug_str src = exact_copy(refused[i], strlen(refused[i]));
        if (skip_all(src, &err) != VUG_FORMAT || tree_all(src, &tree_err) != VUG_FORMAT)
            fail_msg("accepted %s", refused[i]);
        assert_string_equal(err.msg, tree_err.msg);
        free((char *)src.ptr);
        src = wrap_in_array(refused[i]);
        assert_int_equal(skip_all(src, NULL), VUG_FORMAT);
        free((char *)src.ptr);
    }
    vug_str nul = exact_copy("\"a\0b\"", 5);
    assert_int_equal(skip_all(nul, NULL), VUG_FORMAT);
    free((char *)nul.ptr);
    nul = exact_copy("1\0", 2);
    assert_int_equal(skip_all(nul, NULL), VUG_FORMAT);
    free((char *)nul.ptr);
}

static void test_depth(void **state)
{
    (void)state;
    char text[2 * 2048];
    vug_err err;
    for (size_t depth = 62; depth <= 67; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        const vug_str src = { text, 2 * depth };
        assert_int_equal(skip_all(src, &err), depth <= VUG_JSON_MAX_DEPTH ? VUG_OK : VUG_FORMAT);
        assert_int_equal(tree_all(src, &err), depth <= VUG_JSON_MAX_DEPTH ? VUG_OK : VUG_FORMAT);
    }
    assert_string_equal(err.msg, "x.json: line 1, column 65: nested deeper than 64 levels");
    memset(text, '[', sizeof(text));
    assert_int_equal(skip_all((vug_str){ text, sizeof(text) }, &err), VUG_FORMAT);
    /* Alternating objects and arrays: skipping must distinguish them. */
    vug_buf mixed = { 0 };
    for (int i = 0; i < 32; i++)
        vug_buf_puts(&mixed, "[{\"a\":");
    vug_buf_puts(&mixed, "0");
    for (int i = 0; i < 32; i++)
        vug_buf_puts(&mixed, "}]");
    assert_int_equal(skip_all((vug_str){ mixed.ptr, mixed.len }, &err), VUG_OK);
    mixed.ptr[mixed.len - 1] = '}';
    assert_int_equal(skip_all((vug_str){ mixed.ptr, mixed.len }, &err), VUG_FORMAT);
    vug_buf_release(&mixed);
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
        size_t n;
    } row[] = {
        { "\"abc\"", "abc", 3 },
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
        { "\"x\\u0041y\"", "xAy", 3 },
        { "\"\\u0000\"", "\0", 1 },
        { "\"\\u00e9\\u20ac\"", "\xc3\xa9\xe2\x82\xac", 5 },
        { "\"\\ud83d\\uDE00!\"", "\xf0\x9f\x98\x80!", 5 },
        { "\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf", 4 },
        { "\"\\ud800\\udc00\"", "\xf0\x90\x80\x80", 4 },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        vug_arena arena = { 0 };
        vug_json_reader j = vug_json_reader_over(vug_str_of(row[i].in), "x.json", &arena);
        const vug_str s = vug_json_string(&j);
        assert_int_equal(vug_json_finish(&j, NULL), VUG_OK);
        assert_int_equal(s.len, row[i].n);
        assert_memory_equal(s.ptr, row[i].out, s.len);
        /* Only strings with escapes are copied. */
        assert_int_equal(arena.top != NULL, strchr(row[i].in, '\\') != NULL);
        vug_arena_release(&arena);
    }
    /* Special bytes at each position of a word, and strings that end at each. */
    for (size_t n = 0; n < 40; n++) {
        char text[64] = "\"";
        memset(text + 1, 'a', n);
        text[1 + n] = '"';
        vug_json_reader j = vug_json_reader_over((vug_str){ text, n + 2 }, "x.json", NULL);
        assert_int_equal(vug_json_string(&j).len, n);
        assert_int_equal(vug_json_finish(&j, NULL), VUG_OK);
        for (size_t at = 0; at < n; at++) {
            text[1 + at] = '\x1f';
            vug_err err;
            assert_int_equal(skip_all((vug_str){ text, n + 2 }, &err), VUG_FORMAT);
            char want[64];
            (void)snprintf(want, sizeof(want), "column %zu: control", at + 2);
            assert_non_null(strstr(err.msg, want));
            text[1 + at] = 'a';
        }
    }
}

static void test_string_budget(void **state)
{
    (void)state;
    vug_arena arena = { .budget = 1 };
    vug_json_reader j = vug_json_reader_over(vug_str_of("\"\\n\""), "x.json", &arena);
    assert_int_equal(vug_json_string(&j).len, 0);
    vug_err err;
    assert_int_equal(vug_json_finish(&j, &err), VUG_NOMEM);
    assert_non_null(strstr(err.msg, "out of memory"));
    const vug_jv *root = NULL;
    assert_int_equal(vug_json_tree(vug_str_of("[1]"), "x.json", &arena, &root, &err), VUG_NOMEM);
    assert_null(root);
    vug_arena_release(&arena);
}

/* Reads the whole text as one number. */
static double f64_of(const char *text, vug_status *st)
{
    vug_json_reader j = vug_json_reader_over(vug_str_of(text), "x.json", NULL);
    const double v = vug_json_f64(&j);
    *st = vug_json_finish(&j, NULL);
    return v;
}

static void test_doubles(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        double out;
    } row[] = {
        { "0", 0 },
        { "1", 1 },
        { "-1.5", -1.5 },
        { "0.1", 0.1 },
        { "1e22", 1e22 },
        { "1E-5", 1e-5 },
        { "123.456e+2", 12345.6 },
        { "0.000001", 1e-6 },
        { "0.5", 0.5 },
        { "9007199254740993", 9007199254740992.0 },
        { "1.7976931348623157e308", DBL_MAX },
        { "5e-324", 4.9406564584124654e-324 },
        { "1e-400", 0 },
        { "0e999999999999999999999", 0 },
        { "1e-999999999999999999999", 0 },
        { "2.2250738585072011e-308", 2.2250738585072011e-308 },
    };
    vug_status st;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        assert_true(f64_of(row[i].in, &st) == row[i].out);
        assert_int_equal(st, VUG_OK);
    }
    assert_true(signbit(f64_of("-0", &st)) && signbit(f64_of("-0.0e5", &st)));
    assert_int_equal((f64_of("1e309", &st), st), VUG_FORMAT);
    assert_int_equal((f64_of("-1e99999999999999999999", &st), st), VUG_FORMAT);
    assert_int_equal((f64_of("\"1\"", &st), st), VUG_FORMAT);

    /* 1 + 2^-53 lies halfway between two doubles; what follows it decides, also
     * when it comes after more digits than anybody keeps. */
    char text[2048] = "1.00000000000000011102230246251565404236316680908203125";
    assert_true(f64_of(text, &st) == 1.0);
    const size_t n = strlen(text);
    memset(text + n, '0', 1500);
    text[n + 1500] = '\0';
    assert_true(f64_of(text, &st) == 1.0);
    text[n + 1499] = '1';
    assert_true(f64_of(text, &st) == 1.0 + DBL_EPSILON);
    /* A thousand digits before the point, taken back by the exponent. */
    memset(text, '0', 1000);
    text[0] = '7';
    memcpy(text + 1000, "e-999", 6);
    assert_true(f64_of(text, &st) == 7.0);
}

static int64_t i64_of(const char *text, int64_t min, int64_t max, vug_err *err)
{
    vug_json_reader j = vug_json_reader_over(vug_str_of(text), "x.json", NULL);
    const int64_t v = vug_json_i64(&j, min, max);
    *err = (vug_err){ 0 };
    (void)!vug_json_finish(&j, err);
    return v;
}

static void test_integers(void **state)
{
    (void)state;
    vug_err err;
    assert_int_equal(i64_of("42", 0, 100, &err), 42);
    assert_int_equal(err.code, VUG_OK);
    assert_int_equal(i64_of("-0", 0, 100, &err), 0);
    assert_int_equal(err.code, VUG_OK);
    assert_true(i64_of("9223372036854775807", INT64_MIN, INT64_MAX, &err) == INT64_MAX);
    assert_int_equal(err.code, VUG_OK);
    assert_true(i64_of("-9223372036854775808", INT64_MIN, INT64_MAX, &err) == INT64_MIN);
    assert_int_equal(err.code, VUG_OK);
    static const char *const bad[] = { "101",
                                       "-1",
                                       "1.0",
                                       "1e1",
                                       "9223372036854775808",
                                       "-9223372036854775809",
                                       "18446744073709551616",
                                       "100000000000000000000" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(i64_of(bad[i], 0, 100, &err), 0);
        assert_int_equal(err.code, VUG_FORMAT);
    }
    (void)i64_of(" \n 101", 0, 100, &err);
    assert_string_equal(err.msg, "x.json: line 2, column 2: expected a whole number from 0 to 100, "
                                 "found 101");
    vug_json_reader j = vug_json_reader_over(vug_str_of("18446744073709551615"), "x.json", NULL);
    assert_true(vug_json_u64(&j, UINT64_MAX) == UINT64_MAX);
    assert_int_equal(vug_json_finish(&j, NULL), VUG_OK);
    j = vug_json_reader_over(vug_str_of("-0"), "x.json", NULL);
    assert_int_equal(vug_json_u64(&j, 5), 0);
    assert_int_equal(vug_json_finish(&j, &err), VUG_FORMAT);
    assert_string_equal(err.msg,
                        "x.json: line 1, column 1: expected a whole number from 0 to 5, found -0");
}

static void test_walk(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_json_reader j =
            vug_json_reader_over(vug_str_of(" { \"n\" : 7 , \"skip\":[1,{\"x\":[]}], \"on\":true,"
                                            "\"l\\u0069st\":[\"a\",null,2.5] } "),
                                 "x.json", &arena);
    vug_str key;
    int64_t n = 0;
    int seen = 0;
    vug_json_enter_object(&j);
    while (vug_json_key(&j, &key)) {
        if (vug_str_is(key, "n")) {
            n = vug_json_i64(&j, 0, 100);
        } else if (vug_str_is(key, "on")) {
            assert_true(vug_json_bool(&j));
        } else if (vug_str_is(key, "list")) {
            vug_json_enter_array(&j);
            while (vug_json_element(&j)) {
                static const vug_json_type want[] = { VUG_JSON_STRING, VUG_JSON_NULL,
                                                      VUG_JSON_NUMBER };
                assert_int_equal(vug_json_peek(&j), want[seen++]);
                vug_json_skip(&j);
            }
        } else {
            vug_json_skip(&j);
        }
    }
    assert_int_equal(n, 7);
    assert_int_equal(seen, 3);
    assert_int_equal(vug_json_peek(&j), VUG_JSON_NOTHING);
    assert_int_equal(vug_json_finish(&j, NULL), VUG_OK);
    vug_arena_release(&arena);
}

static void test_sticky(void **state)
{
    (void)state;
    vug_json_reader j = vug_json_reader_over(vug_str_of("{\"a\":\n  \"\xc3\xa9\", \"b\":[1]}"),
                                             "dir/x.json", NULL);
    vug_str key;
    vug_json_enter_object(&j);
    assert_true(vug_json_key(&j, &key));
    assert_int_equal(vug_json_string(&j).len, 2);
    assert_true(vug_json_key(&j, &key));
    assert_false(vug_json_bool(&j));
    assert_false(vug_json_ok(&j));
    vug_json_fail(&j, VUG_LIMIT, "a later failure");
    assert_int_equal(vug_json_peek(&j), VUG_JSON_NOTHING);
    assert_int_equal(vug_json_string(&j).len, 0);
    assert_int_equal(vug_json_i64(&j, 3, 9), 0);
    assert_int_equal(vug_json_u64(&j, 9), 0);
    assert_true(vug_json_f64(&j) == 0);
    vug_json_enter_array(&j);
    vug_json_skip(&j);
    assert_false(vug_json_key(&j, &key));
    assert_false(vug_json_element(&j));
    vug_err err;
    assert_int_equal(vug_json_finish(&j, &err), VUG_FORMAT);
    /* Columns count characters: the accented letter is one. */
    assert_string_equal(err.msg,
                        "dir/x.json: line 2, column 12: expected true or false, found an array");

    j = vug_json_reader_over(vug_str_of("[1, 2]"), "x.json", NULL);
    vug_json_enter_array(&j);
    assert_true(vug_json_element(&j));
    vug_json_fail(&j, VUG_UNSUPPORTED, "no %s", "ones");
    assert_int_equal(vug_json_finish(&j, &err), VUG_UNSUPPORTED);
    assert_int_equal(err.code, VUG_UNSUPPORTED);
    assert_string_equal(err.msg, "x.json: line 1, column 2: no ones");
    assert_int_equal(vug_json_finish(&j, NULL), VUG_UNSUPPORTED);
}

static void test_error_messages(void **state)
{
    (void)state;
    static const struct {
        const char *in, *msg;
    } row[] = {
        { "", "line 1, column 1: expected a value, found the end" },
        { "{\"a\":1,}", "line 1, column 8: expected a key in quotes, found '}'" },
        { "{\n\"a\":1\n\"b\":2}", "line 3, column 1: expected ',' or '}', found '\"'" },
        { "[1,\n2", "line 2, column 2: expected ',' or ']', found the end" },
        { "[1,]", "line 1, column 4: expected a value, found ']'" },
        { "{\"a\" 1}", "line 1, column 6: expected ':' after a key, found '1'" },
        { "[01]", "line 1, column 2: malformed number" },
        { "\"ab", "line 1, column 4: the string does not end" },
        { "\"ab\\q\"", "line 1, column 4: malformed escape in a string" },
        { "\"ab\xff\"", "line 1, column 4: byte 0xff in a string is not UTF-8" },
        { "[nil]", "line 1, column 2: expected true, false or null, found 'n'" },
        { "[1] \x01", "line 1, column 5: expected the end, found byte 0x01" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        vug_err err;
        assert_int_equal(skip_all(vug_str_of(row[i].in), &err), VUG_FORMAT);
        assert_memory_equal(err.msg, "x.json: ", 8);
        assert_string_equal(err.msg + 8, row[i].msg);
    }
}

static const char sample[] =
        "{\"name\": \"a\\u00e9\\ud83d\\ude00\xc3\xa9\",\n  \"n\": [1, -2.5e3, true, "
        "false, null],\n  \"o\": {\"k\": {}, \"l\": []}, \"long\": "
        "\"0123456789abcdef0123456789abcdef\"}";

static void test_damage(void **state)
{
    (void)state;
    const size_t n = sizeof(sample) - 1;
    vug_err err;
    assert_int_equal(tree_all(vug_str_of(sample), &err), VUG_OK);
    for (size_t len = 0; len < n; len++) {
        vug_str cut = exact_copy(sample, len);
        assert_int_equal(skip_all(cut, &err), VUG_FORMAT);
        assert_int_equal(tree_all(cut, &err), VUG_FORMAT);
        free((char *)cut.ptr);
    }
    for (size_t at = 0; at < n; at++) {
        for (int flip = 1; flip < 256; flip++) {
            vug_str broken = exact_copy(sample, n);
            ((char *)broken.ptr)[at] = (char)(sample[at] ^ flip);
            const vug_status skipped = skip_all(broken, &err);
            const vug_status built = tree_all(broken, &err);
            /* Only the tree knows that two keys may not be equal. */
            if (skipped != built && !strstr(err.msg, "twice"))
                fail_msg("byte %zu ^ %d: %s", at, flip, err.msg);
            free((char *)broken.ptr);
        }
    }
}

/* More keys than there are bits, so that most share theirs with others; one is empty. */
static void test_find_members(void **state)
{
    (void)state;
    enum { N = 200 };
    static vug_jv member[N];
    static char text[N][8];
    vug_jv object = { .type = VUG_JSON_OBJECT };
    for (int i = 0; i < N; i++) {
        member[i] = (vug_jv){ .type = VUG_JSON_NULL };
        if (i > 0)
            (void)snprintf(text[i], sizeof(text[i]), "k%d", i * i);
        member[i].key = vug_str_of(text[i]);
        assert_null(vug_jv_find(&object, member[i].key));
        vug_jv_append(&object, &member[i]);
    }
    assert_int_equal(object.n, N);
    for (int i = 0; i < N; i++)
        assert_ptr_equal(vug_jv_find(&object, member[i].key), &member[i]);
    assert_null(vug_jv_get(&object, "k2"));
    assert_ptr_equal(object.last, &member[N - 1]);
    assert_null(object.last->next);
}

static void test_tree(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    assert_int_equal(vug_json_tree(vug_str_of(sample), "x.json", &arena, &root, NULL), VUG_OK);
    assert_true(vug_jv_is(root, VUG_JSON_OBJECT));
    assert_int_equal(root->n, 4);
    assert_true(vug_str_is(vug_jv_get(root, "name")->str, "a\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9"));
    const vug_jv *list = vug_jv_get(root, "n");
    assert_int_equal(list->n, 5);
    const vug_jv *e = list->child;
    assert_true(e->is_int && e->i64 == 1 && e->f64 == 1 && vug_str_is(e->str, "1"));
    e = e->next;
    assert_true(!e->is_int && e->f64 == -2500 && vug_str_is(e->str, "-2.5e3"));
    e = e->next;
    assert_true(e->type == VUG_JSON_BOOL && e->boolean);
    e = e->next;
    assert_true(e->type == VUG_JSON_BOOL && !e->boolean);
    e = e->next;
    assert_true(e->type == VUG_JSON_NULL && !e->next);
    assert_true(vug_jv_is(vug_jv_get(vug_jv_get(root, "o"), "k"), VUG_JSON_OBJECT));
    assert_null(vug_jv_get(root, "absent"));
    assert_null(vug_jv_get(list, "n"));
    assert_null(vug_jv_get(NULL, "n"));
    vug_arena_release(&arena);

    assert_int_equal(vug_json_tree(vug_str_of("[9223372036854775807,9223372036854775808,-0,1.0]"),
                                   "x.json", &arena, &root, NULL),
                     VUG_OK);
    e = root->child;
    assert_true(e->is_int && e->i64 == INT64_MAX);
    e = e->next;
    assert_true(!e->is_int && e->f64 == 9223372036854775808.0);
    e = e->next;
    assert_true(e->is_int && e->i64 == 0);
    assert_false(e->next->is_int);
    vug_arena_release(&arena);
}

static void test_duplicates(void **state)
{
    (void)state;
    vug_err err;
    assert_int_equal(tree_all(vug_str_of("{\"a\":1,\"b\":2,\"\\u0061\":3}"), &err), VUG_FORMAT);
    assert_string_equal(err.msg, "x.json: line 1, column 25: the object that ends here has the key "
                                 "\"a\" twice");
    assert_int_equal(tree_all(vug_str_of("{\"\":1,\"\":2}"), &err), VUG_FORMAT);
    assert_int_equal(tree_all(vug_str_of("[{\"a\":1},{\"a\":1}]"), &err), VUG_OK);
    assert_int_equal(tree_all(vug_str_of("{\"a\":{\"a\":1},\"ab\":2,\"\":3}"), &err), VUG_OK);
}

static const char *write_string(vug_buf *buf, const char *text, size_t len)
{
    vug_buf_release(buf);
    vug_json_append_string(buf, text, len);
    assert_false(buf->bad);
    return buf->ptr;
}

static void test_write_string(void **state)
{
    (void)state;
    vug_buf buf = { 0 };
    assert_string_equal(write_string(&buf, "", 0), "\"\"");
    assert_string_equal(write_string(&buf, "plain", 5), "\"plain\"");
    assert_string_equal(write_string(&buf, "\"\\/\b\f\n\r\t\x01\x1f\x7f", 11),
                        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    assert_string_equal(write_string(&buf, "a\0b", 3), "\"a\\u0000b\"");
    assert_string_equal(write_string(&buf, "\xc3\xa9\xf0\x9f\x98\x80", 6),
                        "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    /* One U+FFFD per maximal invalid part (Unicode 15, table 3-8). */
    assert_string_equal(write_string(&buf, "\xc0\xaf\xe0\x80\xf0\x81\x82\x41", 8),
                        "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                        "\xef\xbf\xbd"
                        "A\"");
    assert_string_equal(write_string(&buf, "\xf1\x80\x80\xe1\x80\xc2x\xe2\x82", 9),
                        "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\xef\xbf\xbd\"");
    vug_buf_release(&buf);
}

static void test_write_f64(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } row[] = {
        { 0, "0" },
        { -0.0, "-0" },
        { 1, "1" },
        { -2.5, "-2.5" },
        { 0.1, "0.1" },
        { 100, "100" },
        { 123456789, "123456789" },
        { 1e16, "10000000000000000" },
        { 1e17, "1e17" },
        { 0.00001, "0.00001" },
        { 0.000001, "1e-6" },
        { 0.000123, "0.000123" },
        { 1.5e300, "1.5e300" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 1.0 / 3, "0.3333333333333333" },
        { DBL_MAX, "1.7976931348623157e308" },
        { DBL_MIN, "2.2250738585072014e-308" },
        { 5e-324, "5e-324" },
        { 9007199254740991.0, "9007199254740991" },
        { (double)INFINITY, "null" },
        { -(double)INFINITY, "null" },
        { (double)NAN, "null" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        vug_buf buf = { 0 };
        vug_json_append_f64(&buf, row[i].v);
        assert_string_equal(buf.ptr, row[i].text);
        vug_buf_release(&buf);
    }
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double v;
        memcpy(&v, &seed, sizeof(v));
        if (!isfinite(v))
            continue;
        vug_buf buf = { 0 };
        vug_json_append_f64(&buf, v);
        vug_status st;
        const double back = f64_of(buf.ptr, &st);
        assert_int_equal(st, VUG_OK);
        assert_memory_equal(&back, &v, sizeof(v));
        vug_buf_release(&buf);
    }
}

/* The F32 next to 1e-06 has seventeen digits as a double. */
static void test_write_f32(void **state)
{
    (void)state;
    static const struct {
        float v;
        const char *text;
    } row[] = {
        { 1e-06F, "1e-6" },           { 0.1F, "0.1" },     { 1.0F / 3, "0.33333334" },
        { 16777216, "16777216" },     { -2.5F, "-2.5" },   { FLT_MAX, "3.4028235e38" },
        { FLT_MIN, "1.1754944e-38" }, { 1e-45F, "1e-45" }, { 10000.1F, "10000.1" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        vug_buf buf = { 0 };
        vug_json_append_f32(&buf, row[i].v);
        assert_string_equal(buf.ptr, row[i].text);
        vug_buf_release(&buf);
    }
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525U + 1013904223U;
        float v;
        memcpy(&v, &seed, sizeof(v));
        if (!isfinite(v))
            continue;
        vug_buf buf = { 0 };
        vug_json_append_f32(&buf, v);
        vug_status st;
        const float back = (float)f64_of(buf.ptr, &st);
        assert_int_equal(st, VUG_OK);
        assert_memory_equal(&back, &v, sizeof(v));
        vug_buf_release(&buf);
    }
}

/* ---- writing --------------------------------------------------------------------- */

static void test_writer_appends_to_a_callers_buffer(void **state)
{
    (void)state;
    static const int32_t ids[] = { 0, -7, 10 };
    vug_buf text = { 0 };
    vug_json_writer js = { .to = &text };
    vug_buf_puts(&text, "data: ");
    vug_json_begin(&js, NULL, '{');
    vug_json_put_i64(&js, "min", INT64_MIN);
    vug_json_put_i64(&js, "max", INT64_MAX);
    vug_json_put_u64(&js, "u64", UINT64_MAX);
    vug_json_put_i32s(&js, "ids", ids, 3);
    vug_json_put_f32(&js, "f32", 0.1f);
    vug_json_put_text(&js, "none", NULL, 0);
    vug_json_put_string(&js, "null", NULL);
    vug_json_end(&js, '}');
    assert_string_equal(text.ptr, "data: {\"min\":-9223372036854775808,\"max\":9223372036854775807,"
                                  "\"u64\":18446744073709551615,\"ids\":[0,-7,10],\"f32\":0.1,"
                                  "\"none\":\"\",\"null\":null}");
    assert_null(js.buf.ptr);
    vug_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_string_budget),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_sticky),
        cmocka_unit_test(test_error_messages),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_find_members),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_write_string),
        cmocka_unit_test(test_write_f64),
        cmocka_unit_test(test_write_f32),
        cmocka_unit_test(test_writer_appends_to_a_callers_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
