

#include "test.h"

#include "text/tokenizer/pattern.h"
#include "text/tokenizer/regex_cost.h"
#include "text/tokenizer/unicode_normalize.h"

/*
 * Regular expressions match as in Oniguruma, and normalization forms are the reference's. The
 * expected results come from the reference (HF tokenizers 0.23).
 */

static vug_regex *compiled(const char *pattern)
{
    vug_regex *regex = NULL;
    vug_err err;
    if (vug_regex_compile(vug_str_of(pattern), "test", &regex, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return regex;
}

/* Compares the text with every match in brackets. */
static void check(const char *pattern, const char *text, const char *want)
{
    vug_regex *regex = compiled(pattern);
    const vug_pattern p = { .regex = regex };
    vug_regex_work work = { 0 };
    vug_pattern_matches m = { .pattern = &p, .work = &work, .text = vug_str_of(text) };
    vug_buf got = { 0 };
    size_t done = 0, hit[2];
    bool found = false;
    for (;;) {
        assert_int_equal(vug_pattern_next(&m, hit, &found, NULL), VUG_OK);
        if (!found)
            break;
        vug_buf_printf(&got, "%.*s[%.*s]", (int)(hit[0] - done), text + done,
                       (int)(hit[1] - hit[0]), text + hit[0]);
        done = hit[1];
    }
    vug_buf_puts(&got, text + done);
    if (strcmp(got.ptr, want) != 0)
        fail_msg("\"%s\" matches \"%s\", expected \"%s\"", pattern, got.ptr, want);
    vug_buf_release(&got);
    vug_regex_work_release(&work);
    vug_regex_destroy(regex);
}

static void test_matches_as_in_oniguruma(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "a", "banana", "b[a]n[a]n[a]" },
        { "x*", "axxb", "[]a[xx]b[]" },
        { "\\s+", "a \xc2\x85\xe3\x80\x80\x62", "a[ \xc2\x85\xe3\x80\x80]b" },
        { "\\s", "\xe1\xa0\x8e", "\xe1\xa0\x8e" }, /* U+180E is not a space any more */
        { "\\S+", "a\xe1\xa0\x8e b", "[a\xe1\xa0\x8e] [b]" },
        { "[^\\S\\n]+", "a \t\n b", "a[ \t]\n[ ]b" },
        { "(?i:'s|k)", "'S'\xc5\xbf K\xe2\x84\xaa", "['S]['\xc5\xbf] [K][\xe2\x84\xaa]" },
        { "\\h+", "xfFg0", "x[fF]g[0]" },
        { "\\w+", "a\xcc\x81_\xe2\x85\xa7 \xc2\xb2-\xe2\x93\x90",
          "[a\xcc\x81_\xe2\x85\xa7] [\xc2\xb2]-[\xe2\x93\x90]" },
        { "\\d", "4\xd9\xa3\xc2\xb2", "[4][\xd9\xa3]\xc2\xb2" },
        { "\\b", "ab c", "[]ab[] []c[]" },
        { "\\v", "\x0b\n", "[\x0b]\n" },
        { "^.|.$", "ab\ncd", "[a][b]\n[c][d]" },
        { "\\p{^L}", "a1", "a[1]" },
        { "\\P{N}", "a1", "[a]1" },
        { "[\\P{L}]", "a1", "a[1]" },
        { "\\p{Han}+", "\xe6\xbc\xa2\xe5\xad\x97\xe3\x83\xbc",
          "[\xe6\xbc\xa2\xe5\xad\x97]\xe3\x83\xbc" },
        { "\\p{Lu}\\p{Ll}", "\xe1\xb2\x89\xe1\xb2\x8a",
          "[\xe1\xb2\x89\xe1\xb2\x8a]" }, /* Unicode 16 */
        { "a{,2}", "aaa", "[aa][a]" },
        { "a{", "a{", "[a{]" },
        { "a{2}|b{1,}", "aabb", "[aa][bb]" },
        { "\\u0041\\x{42}\\x43", "ABC", "[ABC]" },
        { "(a)(?:b)(?=c)(?!d)(?<=b)(?<!a)", "abc", "[ab]c" },
        { "\\\xc3\xa9\\-", "\xc3\xa9-", "[\xc3\xa9-]" },
        { "(?i)A", "aA", "[a][A]" },
        { "a++b|a?+", "aab", "[aab]" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check(rows[i][0], rows[i][1], rows[i][2]);
}

static void test_refused_expressions(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "[a[b]]", "a character class in another (byte 2)" },
        { "[a&&b]", "&& in a character class (byte 2)" },
        { "[]a]", "a character class that begins with a bracket" },
        { "[a", "a character class without its end (byte 0)" },
        { "[[:alpha:]]", "a character class in another" },
        { "(a)\\1", "a backslash before this letter or digit (byte 3)" },
        { "\\Gx", "a backslash before this letter" },
        { "\\k<a>", "a backslash before this letter" },
        { "x\\", "it ends in a backslash" },
        { "(?<n>a)", "a group of this kind" },
        { "(?m:a)", "a group of this kind" },
        { "a(?i)b", "a group of this kind" },
        { "(*FAIL)", "(* (byte 0)" },
        { "a{2}+", "a second quantifier after braces" },
        { "a{2}?", "a second quantifier after braces" },
        { "\\p{Alpha}", "unknown property" },
        { "\\pL", "a property without braces" },
        { "\\p{}", "a property that has no name" },
        { "\\p{L", "a property without braces" },
        { "\\xff", "a code that is not a character" },
        { "\\x{110000}", "a code that is not a character" },
        { "\\x{d800}", "a code that is not a character" },
        { "\\u12", "an incomplete character code" },
        { "[\\W]", "in a character class" },
        { "\xff", "it is not UTF-8" },
        { "(", "missing closing parenthesis" },
        { "*", "quantifier does not follow" },
        { "(?<=a+)", "lookbehind" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        vug_regex *regex = NULL;
        vug_err err;
        assert_int_equal(vug_regex_compile(vug_str_of(rows[i][0]), "test", &regex, &err),
                         VUG_UNSUPPORTED);
        assert_null(regex);
        if (!strstr(err.msg, rows[i][1]) || strncmp(err.msg, "test: ", 6) != 0)
            fail_msg("%s, expected: %s", err.msg, rows[i][1]);
    }
}

static vug_buf repeated(const char *part, size_t n)
{
    vug_buf out = { 0 };
    for (size_t i = 0; i < n; i++)
        vug_buf_puts(&out, part);
    assert_false(out.bad);
    return out;
}

/* Counts all matches, up to an error. */
static vug_status count_matches(const char *pattern, vug_str text, size_t *n, vug_err *err)
{
    vug_regex *regex = compiled(pattern);
    const vug_pattern p = { .regex = regex };
    vug_regex_work work = { 0 };
    vug_pattern_matches m = { .pattern = &p, .work = &work, .text = text };
    vug_status st = VUG_OK;
    bool found = true;
    size_t hit[2];
    *n = 0;
    while (st == VUG_OK && found) {
        st = vug_pattern_next(&m, hit, &found, err);
        *n += st == VUG_OK && found;
    }
    vug_regex_work_release(&work);
    vug_regex_destroy(regex);
    return st;
}

/* Expressions that could take forever are an error; those that only look like it are not. */
static void test_hostile_expressions_are_limited(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    vug_buf letters = repeated("a", N);
    vug_buf spaces = repeated(" ", N);
    const vug_str text = { letters.ptr, letters.len }, blank = { spaces.ptr, spaces.len };
    static const char *const bad[] = { "(?:a+)+b", "(?:a|a)*b", "a*b|a",    "a(?=a*b)|a",
                                       "(?:a*)*c", "a*?b|a",    "a*a*a*a*b" };
    size_t n;
    vug_err err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(count_matches(bad[i], text, &n, &err), VUG_LIMIT);
        if (!strstr(err.msg, "too many steps") && !strstr(err.msg, "looks too far ahead"))
            fail_msg("%s", err.msg);
    }
    assert_int_equal(count_matches("a+", text, &n, &err), VUG_OK);
    assert_int_equal(n, 1);
    assert_int_equal(count_matches("a", text, &n, &err), VUG_OK);
    assert_int_equal(n, N);
    assert_int_equal(count_matches("b", text, &n, &err), VUG_OK);
    assert_int_equal(n, 0);
    assert_int_equal(count_matches("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", blank, &n, &err), VUG_OK);
    assert_int_equal(n, 1);
    assert_int_equal(count_matches("(?:  )*", (vug_str){ spaces.ptr, N / 8 }, &n, &err), VUG_OK);
    vug_buf_release(&letters);
    vug_buf_release(&spaces);
}

/* Published expressions are linear in what they reach over; others are recognized. */
static void test_linear_expressions(void **state)
{
    (void)state;
    static const char llama[] = "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                                "| ?[^\\s\\p{L}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static const char *const simple[] = {
        llama,      "x?[\\p{Lu}\\p{M}]*[\\p{Ll}\\p{M}]+(?i:'s|'t)?|[^\\]\\[]+",
        "(?:ab)+c", "a++b++c",
        "a+b|c+d",  "a{1,15}b{1,15}c",
    };
    static const char *const other[] = { "a*a*b",
                                         "a+b+c",
                                         "(?:a+)+",
                                         "(?=a*b)c",
                                         "(?:a+b)c+d",
                                         "a{3,}b{,20}c",
                                         "[^\\]]+\\x{41}+\\p{L}" };
    for (size_t i = 0; i < sizeof(simple) / sizeof(*simple); i++)
        assert_true(vug_regex_is_linear(vug_str_of(simple[i])));
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
        assert_false(vug_regex_is_linear(vug_str_of(other[i])));
}

/* Expressions that are large, or become large when expanded. */
static void test_large_expressions(void **state)
{
    (void)state;
    static const struct {
        const char *part;
        size_t n;
        vug_status code;
    } rows[] = {
        { "(", 8000, VUG_UNSUPPORTED }, { "(?:", 2000, VUG_UNSUPPORTED },
        { "\\w", 4000, VUG_LIMIT },     { "a", 8192, VUG_OK },
        { "a", 8193, VUG_LIMIT },       { "\\b", 3000, VUG_LIMIT },
        { "[\\S\\p{L}]", 60, VUG_OK },  { "(?:(?:a{1000}){1000}){1000}", 1, VUG_UNSUPPORTED },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        vug_buf pattern = repeated(rows[i].part, rows[i].n);
        vug_regex *regex = NULL;
        vug_err err = { 0 };
        const vug_status st =
                vug_regex_compile((vug_str){ pattern.ptr, pattern.len }, "test", &regex, &err);
        if (st != rows[i].code)
            fail_msg("%s: %s", rows[i].part, err.msg);
        vug_regex_destroy(regex);
        vug_buf_release(&pattern);
    }
}

/* ---- normal forms ------------------------------------------------------------------- */

static void check_normal(vug_unicode_form form, vug_str text, const char *want)
{
    vug_buf got = { 0 };
    vug_unicode_append_form(form, text, &got);
    assert_false(got.bad);
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
    assert_true(vug_unicode_may_change(form, text) || vug_str_is(text, want));
    vug_buf_release(&got);
}

static void test_unicode_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text, *form[4]; /* NFC, NFD, NFKC, NFKD */
    } rows[] = {
        { "abc", { "abc", "abc", "abc", "abc" } },
        { "\xc3\xa9", { "\xc3\xa9", "e\xcc\x81", "\xc3\xa9", "e\xcc\x81" } },
        { "e\xcc\x81x", { "\xc3\xa9x", "e\xcc\x81x", "\xc3\xa9x", "e\xcc\x81x" } },
        /* marks are ordered by combining class */
        { "a\xcc\x87\xcc\xa3",
          { "\xe1\xba\xa1\xcc\x87", "a\xcc\xa3\xcc\x87", "\xe1\xba\xa1\xcc\x87",
            "a\xcc\xa3\xcc\x87" } },
        { "\xef\xac\x81\xc2\xb2",
          { "\xef\xac\x81\xc2\xb2", "\xef\xac\x81\xc2\xb2", "fi2", "fi2" } },
        { "\xea\xb0\x81",
          { "\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81",
            "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8" } },
        { "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8",
          { "\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81",
            "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8" } },
        { "\xe2\x84\xab", { "\xc3\x85", "A\xcc\x8a", "\xc3\x85", "A\xcc\x8a" } },
        /* U+1DF7 is newer than the reference's tables: it stays where it is. */
        { "a\xe1\xb7\xb7\xcc\x81",
          { "a\xe1\xb7\xb7\xcc\x81", "a\xe1\xb7\xb7\xcc\x81", "a\xe1\xb7\xb7\xcc\x81",
            "a\xe1\xb7\xb7\xcc\x81" } },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (int form = VUG_NFC; form <= VUG_NFKD; form++)
            check_normal((vug_unicode_form)form, vug_str_of(rows[i].text), rows[i].form[form]);
    }
}

/* Many marks on one letter, in the worst order: quadratic work would not end. */
static void test_many_marks_are_fast(void **state)
{
    (void)state;
    enum { N = 200000 };
    vug_buf text = { 0 }, want = { 0 };
    vug_buf_puts(&text, "q");
    vug_buf_puts(&want, "q");
    for (int i = 0; i < N; i++)
        vug_buf_puts(&text, "\xcc\x81\xcc\xa3");
    for (int i = 0; i < 2 * N; i++)
        vug_buf_puts(&want, i < N ? "\xcc\xa3" : "\xcc\x81");
    check_normal(VUG_NFC, (vug_str){ text.ptr, text.len }, want.ptr);
    check_normal(VUG_NFD, (vug_str){ text.ptr, text.len }, want.ptr);
    vug_buf_release(&text);
    vug_buf_release(&want);
}

static void test_character_functions(void **state)
{
    (void)state;
    vug_buf got = { 0 };
    vug_unicode_append_lowercase(vug_str_of("\xc4\xb0\xce\xa3\xc3\x84x"), &got);
    assert_string_equal(got.ptr, "i\xcc\x87\xcf\x83\xc3\xa4x");
    got.len = 0;
    vug_unicode_append_unaccented(vug_str_of("a\xcc\x81\xe0\xa4\xbe\xe2\x83\x9d"), &got);
    assert_string_equal(got.ptr, "a");
    vug_buf_release(&got);
    assert_true(vug_unicode_is_word('a') && vug_unicode_is_word('_') &&
                vug_unicode_is_word(0x301) && vug_unicode_is_word(0x200d));
    assert_true(vug_unicode_is_word(0x24b6) && vug_unicode_is_word(0x2167));
    assert_false(vug_unicode_is_word('-') || vug_unicode_is_word(' ') ||
                 vug_unicode_is_word(0xb2) || vug_unicode_is_word(0x1f600));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches_as_in_oniguruma),
        cmocka_unit_test(test_refused_expressions),
        cmocka_unit_test(test_hostile_expressions_are_limited),
        cmocka_unit_test(test_large_expressions),
        cmocka_unit_test(test_linear_expressions),
        cmocka_unit_test(test_unicode_forms),
        cmocka_unit_test(test_many_marks_are_fast),
        cmocka_unit_test(test_character_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
