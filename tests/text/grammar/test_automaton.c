

#include "test.h"

#include "grammar_help.h"
#include "text/grammar/schema.h"

/* Which texts regular expressions and GBNF match, what they refuse, and limits of the builder. */

enum { MAX_TEXTS = 12 };

typedef struct {
    const char *grammar;
    const char *matches[MAX_TEXTS];  /* they match */
    const char *prefixes[MAX_TEXTS]; /* they could be continued to a match */
    const char *dead[MAX_TEXTS];
} match_row;

static void check_match(const char *grammar, const vug_automaton *a, const char *text,
                        match_result wanted)
{
    const match_result result = automaton_match(a, vug_str_of(text));
    if (result != wanted)
        fail_msg("'%s' with '%s': %d, expected %d", grammar, text, (int)result, (int)wanted);
}

static void check_rows(grammar_parser *parse, const match_row *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vug_automaton *a = automaton_of(parse, table[i].grammar);
        for (size_t j = 0; j < MAX_TEXTS && table[i].matches[j]; j++)
            check_match(table[i].grammar, a, table[i].matches[j], MATCH_WHOLE);
        for (size_t j = 0; j < MAX_TEXTS && table[i].prefixes[j]; j++)
            check_match(table[i].grammar, a, table[i].prefixes[j], MATCH_PREFIX);
        for (size_t j = 0; j < MAX_TEXTS && table[i].dead[j]; j++)
            check_match(table[i].grammar, a, table[i].dead[j], MATCH_DEAD);
        vug_automaton_destroy(a);
    }
}

#define CHECK(parse, table) check_rows(parse, table, sizeof(table) / sizeof(*(table)))

static void test_regex(void **state)
{
    (void)state;
    static const match_row table[] = {
        { "", { "" }, { 0 }, { "a" } },
        { "abc", { "abc" }, { "", "a", "ab" }, { "b", "abcd" } },
        { "^abc$", { "abc" }, { "ab" }, { "abcd" } },
        { "a|bc|", { "", "a", "bc" }, { "b" }, { "c", "ab" } },
        { "(a|b)*c", { "c", "abc", "aababc" }, { "", "ab" }, { "d", "cc" } },
        { "(?:ab)+?", { "ab", "abab" }, { "", "aba" }, { "b", "abb" } },
        { "(?<name>x)(?P<n2>y)?", { "x", "xy" }, { "" }, { "y", "xyy" } },
        { "a{3}", { "aaa" }, { "aa" }, { "aaaa" } },
        { "a{2,}", { "aa", "aaaaaaa" }, { "a" }, { "b" } },
        { "a{0,2}b", { "b", "aab" }, { "aa" }, { "aaa" } },
        { "a{0}b{1}", { "b" }, { "" }, { "a" } },
        { "a{,b}{x}", { "a{,b}{x}" }, { "a{," }, { "aa" } },
        { "[ab-]{0,9}[ab]-?",
          { "a", "b-", "-a", "aaaaaaaaaa", "---------b-" },
          { "", "-", "a--", "---------" },
          { "aaaaaaaaaaa", "a-----------", "----------", "c" } },
        { "[ab-]{2,12}[ab]c",
          { "--ac", "aaac", "abababababaac" },
          { "a", "aa", "aab-" },
          { "ac", "-ac", "aa-c" } },
        { "[ab]{1,9}[ab]", { "ab", "aaaaaaaaaa" }, { "", "b" }, { "aaaaaaaaaaa", "ac" } },
        { "(ab){70}?c", { 0 }, { "ababab" }, { "ababc", "abb" } },
        { "\\d{2}-\\w\\s", { "12-_ ", "00-a\t", "99-Z\xe3\x80\x80" }, { "12-" }, { "1a", "12--" } },
        { "\\D\\W\\S", { "a-a", "\xc3\xa9\xc3\xa9\xc3\xa9" }, { "a" }, { "1", "aa", "a- " } },
        { "[a-c\\-x]+", { "a-x", "cba" }, { "" }, { "d", "ad" } },
        { "[^a-c\\s]",
          { "d", "\xf0\x9f\x98\x80" },
          { "\xf0\x9f", "\xed" },
          { "a", " ", "\xed\xa0" } },
        { "[\\w-.]", { "-", ".", "w" }, { 0 }, { ",", "/" } },
        { "[-a]|[b-]", { "-", "a", "b" }, { 0 }, { "c" } },
        { "[\\b\\]\\\\^]", { "\b", "]", "\\", "^" }, { 0 }, { "b" } },
        { ".", { "a", "\xc3\xa9" }, { "\xc3" }, { "\n", "\r", "\xe2\x80\xa8" } },
        { "\\u00e9\\xe9\\u{1F600}\\ud83d\\ude00\\t\\n\\/\\.\\0\\cA",
          { 0 },
          { "\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80\t\n/." },
          { "e" } },
        { "[\\u0370-\\u{10ffff}]",
          { "\xcd\xb0", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf" },
          { "\xcd", "\xf4\x8f" },
          { "\xcd\xaf", "\xf4\x90", "\xed\xa0", "\xf5", "\xe0\x9f", "\xf0\x8f" } },
        { "(a*)*b", { "b", "aab" }, { "aaaa" }, { "c" } },
        { "(a?){3}b", { "b", "aaab" }, { "aa" }, { "aaaa" } },
        { "(a?){80}b", { "b", "aaab" }, { "aa" }, { "c" } },
        { "(a|ab)(c|bcd)", { "ac", "abc", "abcd", "abbcd" }, { "abb" }, { "abd" } },
        { "x{3,70}", { "xxx", "xxxx" }, { "xx" }, { "y" } },
        { "([a-z]{2,3}){30,40}", { 0 }, { "abcdef" }, { "a1" } },
    };
    CHECK(vug_grammar_parse_regex, table);
}

static vug_status parse_search(vug_grammar_builder *builder, vug_str text, vug_grammar_expr *root,
                               vug_err *err)
{
    return vug_grammar_parse_regex_with(builder, text, &(vug_regex_options){ .search = true }, root,
                                        err);
}

static void test_search(void **state)
{
    (void)state;
    static const match_row table[] = {
        { "b",
          { "b", "ab", "bc",
            "\n\xc3\xa9"
            "b\n" },
          { "", "a" },
          { "\xff" } },
        { "^b", { "b", "bc" }, { "" }, { "ab" } },
        { "b$", { "b", "ab", "bb" }, { "", "ba" }, { 0 } },
        { "^a|b$", { "a", "ax", "xb", "b" }, { "xbx", "" }, { 0 } },
        { "^(a|b)$", { "a", "b" }, { "" }, { "ab" } },
        { "(^a$)|(^b+$)", { "a", "b", "bb" }, { "" }, { "ab", "ba" } },
        { "(^a|b)c", { "ac", "acd", "bc", "xbc" }, { "", "a", "xb", "xac" }, { 0 } },
        { "((x|(^a))|[\\^)]b)$", { "a", "xx", ")b", "y^b" }, { "", "ya", "b" }, { 0 } },
        { "", { "", "x" }, { 0 }, { "\xff" } },
    };
    CHECK(parse_search, table);
}

/* Lookahead sees the text to its end, beyond the group that contains it. */
static void test_lookahead(void **state)
{
    (void)state;
    static const match_row table[] = {
        { "(?!.*b)[a-c]*", { "", "aca" }, { 0 }, { "b", "ab" } },
        { "(a(?!b)|ab(?=c))+c?", { "a", "aa", "abc" }, { "", "ab" }, { "ac.", "abb" } },
        { "(?=.{3,5}$)\\S+ \\S+", { "a b", "ab cd" }, { "", "a " }, { "a bcdef" } },
        { "(?=.*[A-Z])(?=.*\\d).{3,}", { "aA1", "1x\xc3\xa9Z" }, { "", "A1" }, { "a\n" } },
        { "((?!--)[a-z-])*", { "a-b", "-" }, { 0 }, { "a--", "A" } },
        { "(?=(?!a)[ab]+$)[a-c]+", { "b", "bba" }, { "" }, { "ab", "bc" } },
        { "(a$|b)(c|$)", { "a", "bc", "b" }, { "" }, { "ac", "ab" } },
        { "((?=a)b?)*a", { "a" }, { "" }, { "ba", "aa" } },
        { "\\u00e9(?=\\u{1f600}).",
          { "\xc3\xa9\xf0\x9f\x98\x80" },
          { "\xc3\xa9" },
          { "\xc3\xa9x" } },
    };
    CHECK(vug_grammar_parse_regex, table);
    static const match_row search_table[] = {
        { "a(?!b)", { "a", "ab.a" }, { "", "ab" }, { "\xff" } },
        { "(x|b$)", { "b", "xy" }, { "", "by" }, { "\xff" } },
    };
    CHECK(parse_search, search_table);
}

/* A text is alive only if the rest of the pattern fits into the maximum length, in characters. */
static void test_bounded_patterns(void **state)
{
    (void)state;
    static const match_row table[] = {
        { "{\"type\":\"string\",\"pattern\":\"^(ab)*$\",\"maxLength\":5}",
          { "\"\"", "\"ab\"", "\"abab\"" },
          { "\"aba" },
          { "\"ababa", "\"aba\"" } },
        { "{\"type\":\"string\",\"pattern\":\"^a|bcd\",\"maxLength\":4}",
          { "\"a\"", "\"axxx\"", "\"xbcd\"", "\"bcdx\"" },
          { "\"x", "\"xb", "\"\\u00e9bc" },
          { "\"xx", "\"axxxx", "\"xbx" } },
        { "{\"type\":\"string\",\"pattern\":\"\\ud83d\\ude00$\",\"minLength\":2,\"maxLength\":2}",
          { "\"a\xf0\x9f\x98\x80\"", "\"\\ud83D\\uDE00\\uD83d\\ude00\"" },
          { "\"\\ud83D\\uDE00" },
          { "\"\xf0\x9f\x98\x80\"", "\"aa", "\"a\\ud83d\\ude01" } },
        { "{\"type\":\"string\",\"pattern\":\"^abc\",\"maxLength\":3}",
          { "\"abc\"" },
          { "\"a" },
          { "\"abcd", "\"ab\"" } },
        { "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"string\",\"pattern\":\"^abc\","
          "\"maxLength\":2}]}",
          { "null" },
          { 0 },
          { "\"" } },
    };
    CHECK(vug_grammar_parse_schema, table);
    vug_automaton *a = NULL;
    vug_err err = { 0 };
    const char none[] = "{\"type\":\"string\",\"pattern\":\"abc\",\"maxLength\":2}";
    assert_int_equal(try_automaton(vug_grammar_parse_schema, vug_str_of(none), &a, &err),
                     VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "no text matches"));
}

/* Every character is written twice. */
static vug_grammar_expr doubled(vug_grammar_builder *builder, const vug_char_range *range, size_t n,
                                void *user)
{
    (void)user;
    const vug_grammar_expr one = vug_grammar_class(builder, range, n, false);
    return vug_grammar_sequence(builder, (vug_grammar_expr[]){ one, one }, 2);
}

static vug_status parse_doubled(vug_grammar_builder *builder, vug_str text, vug_grammar_expr *root,
                                vug_err *err)
{
    return vug_grammar_parse_regex_with(builder, text,
                                        &(vug_regex_options){ .make_class = doubled }, root, err);
}

static void test_custom_classes(void **state)
{
    (void)state;
    static const match_row table[] = {
        { "a[b-c]*\\d", { "aa11", "aabcbb12" }, { "a", "aab" }, { "ab", "aa1a" } },
    };
    CHECK(parse_doubled, table);
}

typedef struct {
    const char *grammar;
    vug_status st;
    const char *message; /* a part of the error message */
} expected_error;

static void check_errors(grammar_parser *parse, const expected_error *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vug_automaton *a = NULL;
        vug_err err = { 0 };
        const vug_status st = try_automaton(parse, vug_str_of(table[i].grammar), &a, &err);
        if (st != table[i].st || !strstr(err.msg, table[i].message))
            fail_msg("'%s': status %d, '%s'", table[i].grammar, (int)st, err.msg);
        assert_null(a);
    }
}

#define CHECK_ERRORS(parse, table) check_errors(parse, table, sizeof(table) / sizeof(*(table)))

static void test_regex_errors(void **state)
{
    (void)state;
    static const expected_error table[] = {
        { "(?<=b)", VUG_UNSUPPORTED, "lookbehind" },
        { "(?<!b)", VUG_UNSUPPORTED, "lookbehind" },
        { "(?>b)", VUG_UNSUPPORTED, "atomic" },
        { "(?i)b", VUG_UNSUPPORTED, "flags" },
        { "(?<n", VUG_ARGUMENT, "without its >" },
        { "(*FAIL)", VUG_UNSUPPORTED, "verbs" },
        { "(a)\\1", VUG_UNSUPPORTED, "byte 3: backreferences" },
        { "\\bx", VUG_UNSUPPORTED, "word boundaries" },
        { "\\p{L}", VUG_UNSUPPORTED, "Unicode properties" },
        { "a++", VUG_UNSUPPORTED, "possessive" },
        { "a**", VUG_ARGUMENT, "after a quantifier" },
        { "a{2}{3}", VUG_ARGUMENT, "after a quantifier" },
        { "*a", VUG_ARGUMENT, "nothing before" },
        { "a|+", VUG_ARGUMENT, "byte 2: a quantifier with nothing" },
        { "a{3,2}", VUG_ARGUMENT, "not in order" },
        { "a{,3}", VUG_UNSUPPORTED, "{0,n}" },
        { "a{2000000}", VUG_LIMIT, "more than 1000000" },
        { "a{99999999999999999999}", VUG_LIMIT, "more than 1000000" },
        { "[ab]*a[ab]{18}", VUG_LIMIT, "takes more than 20971520 steps" },
        { "a^b", VUG_UNSUPPORTED, "byte 1: the anchor ^" },
        { "a$b", VUG_ARGUMENT, "a grammar that no text matches" },
        { "a(?=b)", VUG_ARGUMENT, "a grammar that no text matches" },
        { "(^a)*", VUG_UNSUPPORTED, "byte 1: the anchor ^" },
        { "b(^a)", VUG_UNSUPPORTED, "byte 2: the anchor ^" },
        { "(a", VUG_ARGUMENT, "byte 0: a group without its )" },
        { "a)", VUG_ARGUMENT, "byte 1: a ) without" },
        { "[a", VUG_ARGUMENT, "without its ]" },
        { "[]", VUG_ARGUMENT, "empty class" },
        { "[^]", VUG_ARGUMENT, "empty class" },
        { "[b-a]", VUG_ARGUMENT, "not in order" },
        { "[a-\\d]", VUG_ARGUMENT, "not in order" },
        { "[[:alpha:]]", VUG_UNSUPPORTED, "POSIX" },
        { "\\q", VUG_ARGUMENT, "invalid escape" },
        { "\\", VUG_ARGUMENT, "invalid escape" },
        { "\\u12", VUG_ARGUMENT, "invalid escape" },
        { "\\ud800", VUG_ARGUMENT, "invalid escape" },
        { "\\u{110000}", VUG_ARGUMENT, "invalid escape" },
        { "\\01", VUG_ARGUMENT, "invalid escape" },
        { "a\xff", VUG_ARGUMENT, "byte 1: invalid UTF-8" },
    };
    CHECK_ERRORS(vug_grammar_parse_regex, table);
}

static void test_gbnf(void **state)
{
    (void)state;
    static const match_row table[] = {
        { "root ::= \"a\"", { "a" }, { "" }, { "b", "aa" } },
        { "root ::=", { "" }, { 0 }, { "a" } },
        { "# c\nroot ::= # d\n  x \"b\" | # e\n y\r\nx ::= \"a\"?\n\ny ::= (\n\"c\" # f\n \"d\" "
          ")+\n",
          { "ab", "b", "cd", "cdcd" },
          { "a", "c" },
          { "ac", "abb" } },
        { "root ::= [a-c0-9_-]+ [^a\\n] .",
          { "ab-", "a_9b\xc3\xa9\n" },
          { "a", "-_" },
          { "\n", "zz" } },
        { "root ::= \"\\x41\\u00e9\\U0001F600\\t\\r\\n\\\\\\\"[]\" [\\]\\[]",
          { "A\xc3\xa9\xf0\x9f\x98\x80\t\r\n\\\"[]]" },
          { "A" },
          { "B" } },
        { "root ::= \"ab\"{2} \"c\"{1,} \"d\"{0,2} [e]{ 1 , 2 }",
          { "ababce", "ababcccddee" },
          { "abab", "ababcd" },
          { "aba ", "ababcddd" } },
        { "root ::= \"a\"*?", { "", "aa" }, { 0 }, { "b" } },
        { "root ::= value\n"
          "value ::= \"[\" (value (\",\" value)*)? \"]\" | [0-9]+",
          { "[]", "12", "[[1,2],[],[[3]]]" },
          { "[[", "[1,", "[1" },
          { "]", "[,", "[1]]", "[1,]" } },
        { "root ::= \"(\" root \")\" | \"x\"", { "x", "((x))" }, { "((x)" }, { "(x))", "()" } },
        { "root ::= \"a\" root | \"b\"", { "b", "aaaab" }, { "aaa" }, { "bb" } },
        { "root ::= a-1 A2\na-1 ::= \"x\"\nA2 ::= \"y\" | ", { "x", "xy" }, { "" }, { "y" } },
        { "root ::= ws \"a\" ws\nws ::= | \" \" ws", { "a", "  a  " }, { "  " }, { "b" } },
        { "root ::= e (\"+\" e)*\ne ::= [0-9] | \"(\" root \")\"",
          { "1+2", "(1+2)+3", "((1))" },
          { "(1+2", "1+" },
          { "+", "(1))" } },
        { "root ::= (\"a\" root \"b\")?", { "", "ab", "aabb" }, { "aab" }, { "abb", "ba" } },
        /* A call at the end of a counted body is not a tail call. */
        { "root ::= x{3,5} \"!\"\nx ::= \"c\" y | \"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\"\n"
          "y ::= \"(\" y \")\" | \"a\"",
          { "cacaca!", "c(a)cac((a))ca!" },
          { "caca" },
          { "ca!", "caca!", "cacacacacaca" } },
        { "root ::= x{70}\nx ::= \"a\" | \"(\" x{2,3} \")\"", { 0 }, { "aa(aa(aaa))" }, { "(a)" } },
    };
    CHECK(vug_grammar_parse_gbnf, table);
}

static void test_gbnf_errors(void **state)
{
    (void)state;
    static const expected_error table[] = {
        { "", VUG_ARGUMENT, "no rule root" },
        { "x ::= \"a\"", VUG_ARGUMENT, "no rule root" },
        { "root ::= x", VUG_ARGUMENT, "line 1, column 10: no definition of x" },
        { "root ::= \"a\"\nroot ::= \"b\"", VUG_ARGUMENT, "line 2, column 1: a second definition" },
        { "root := \"a\"", VUG_ARGUMENT, "expected ::=" },
        { "root ::= \"a", VUG_ARGUMENT, "a literal without its end" },
        { "root ::= [a", VUG_ARGUMENT, "a class without its ]" },
        { "root ::= []", VUG_ARGUMENT, "an empty class" },
        { "root ::= [b-a]", VUG_ARGUMENT, "not in order" },
        { "root ::= (\"a\"", VUG_ARGUMENT, "expected )" },
        { "root ::= \"a\")", VUG_ARGUMENT, "expected a symbol" },
        { "root ::= * \"a\"", VUG_ARGUMENT, "nothing before" },
        { "root ::= \"a\"{", VUG_ARGUMENT, "expected a number" },
        { "root ::= \"a\"{1", VUG_ARGUMENT, "expected }" },
        { "root ::= \"a\"{2,1}", VUG_LIMIT, "repetition of 2 to 1" },
        { "root ::= \"\\q\"", VUG_ARGUMENT, "invalid escape" },
        { "root ::= \"\\u12\"", VUG_ARGUMENT, "hexadecimal" },
        { "root ::= \"\\ud800\"", VUG_ARGUMENT, "not a valid character" },
        { "root ::= <think>", VUG_UNSUPPORTED, "references to tokens" },
        { "root ::= !<[12]>", VUG_UNSUPPORTED, "references to tokens" },
        { "root ::= \"\xff\"", VUG_ARGUMENT, "invalid UTF-8" },
        { "root ::= root \"a\" | \"b\"", VUG_UNSUPPORTED, "'root' can begin with itself" },
        { "root ::= x\nx ::= y \"a\" | \"b\"\ny ::= \"c\"? x", VUG_UNSUPPORTED, "left recursion" },
        { "root ::= root | \"a\"", VUG_UNSUPPORTED, "left recursion" },
        { "root ::= \"a\" root", VUG_ARGUMENT, "no text matches" },
    };
    CHECK_ERRORS(vug_grammar_parse_gbnf, table);
}

static vug_status parse_until(vug_grammar_builder *builder, vug_str text, vug_grammar_expr *root,
                              vug_err *err)
{
    const vug_grammar_expr part[2] = { vug_grammar_until(builder, text),
                                       vug_grammar_literal(builder, vug_str_of("!")) };
    *root = vug_grammar_sequence(builder, part, 2);
    return vug_grammar_builder_ok(builder, err);
}

static void test_until(void **state)
{
    (void)state;
    static const match_row table[] = {
        { "abab",
          { "abab!", "xabab!", "aabab!", "abaabab!", "\xc3\xa9\nabab!" },
          { "", "aba", "ab!aba", "abab" },
          { "ababx", "\xff", "abab!!" } },
        { "<\xc3\xa9>",
          { "<\xc3\xa9>!", "<<\xc3\xa9<\xc3\xa9>!" },
          { "<\xc3" },
          { "<\xc3\xa9>x" } },
    };
    CHECK(parse_until, table);
    static const expected_error errors[] = {
        { "", VUG_ARGUMENT, "a trigger of 0 bytes" },
        { "a\xff", VUG_ARGUMENT, "a trigger of 2 bytes" },
    };
    CHECK_ERRORS(parse_until, errors);
}

static vug_status shared_exprs(vug_grammar_builder *builder, vug_str text, vug_grammar_expr *root,
                               vug_err *err)
{
    (void)text;
    const vug_char_range overlap[] = {
        { 'c', 'z' }, { 'a', 'd' }, { 0xd000, 0xe000 }, { 'b', 'a' }
    };
    vug_grammar_expr x = vug_grammar_class(builder, overlap, 4, false);
    const vug_grammar_expr nothing = vug_grammar_choice(builder, NULL, 0);
    x = vug_grammar_choice(builder, (vug_grammar_expr[]){ x, nothing }, 2);
    /* Each contains the previous one twice: 2^20 copies if all were inlined. */
    for (int i = 0; i < 20; i++)
        x = vug_grammar_sequence(builder, (vug_grammar_expr[]){ x, x }, 2);
    *root = x;
    return vug_grammar_builder_ok(builder, err);
}

static void test_shared_expressions(void **state)
{
    (void)state;
    static const match_row table[] = {
        { "", { 0 }, { "", "abz", "\xed\x9f\xbf", "\xee\x80\x80" }, { "A", "\xed\xa0" } },
    };
    CHECK(shared_exprs, table);
}

static void test_builder_limits(void **state)
{
    (void)state;
    vug_err err = { 0 };
    vug_grammar_builder *b = vug_grammar_builder_create();
    vug_grammar_expr x = vug_grammar_literal(b, vug_str_of("x"));
    for (int i = 0; i < VUG_GRAMMAR_MAX_DEPTH + 1; i++)
        x = vug_grammar_sequence(b, (vug_grammar_expr[]){ x, x }, 2);
    assert_int_equal(x, VUG_EMPTY_EXPR);
    assert_int_equal(vug_grammar_builder_ok(b, &err), VUG_LIMIT);
    assert_non_null(strstr(err.msg, "more than 500 deep"));
    assert_int_equal(vug_grammar_literal(b, vug_str_of("y")), VUG_EMPTY_EXPR);
    vug_grammar_builder_destroy(b);
    b = vug_grammar_builder_create();
    const vug_grammar_expr y = vug_grammar_literal(b, vug_str_of("y"));
    x = vug_grammar_repeat(b, y, 2, 3);
    assert_int_equal(vug_grammar_repeat(b, vug_grammar_literal(b, vug_str_of("y")), 2, 3), x);
    assert_int_not_equal(vug_grammar_repeat(b, y, 2, 4), x);
    assert_int_not_equal(vug_grammar_sequence(b, (vug_grammar_expr[]){ x, y }, 2),
                         vug_grammar_choice(b, (vug_grammar_expr[]){ x, y }, 2));
    for (uint32_t i = 0; i < VUG_GRAMMAR_MAX_EXPRS; i++)
        (void)vug_grammar_declare_rule(b);
    assert_int_equal(vug_grammar_builder_ok(b, &err), VUG_LIMIT);
    assert_non_null(strstr(err.msg, "more than 262144 expressions"));
    vug_grammar_builder_destroy(b);
    vug_grammar_builder_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex),          cmocka_unit_test(test_search),
        cmocka_unit_test(test_custom_classes), cmocka_unit_test(test_regex_errors),
        cmocka_unit_test(test_lookahead),      cmocka_unit_test(test_bounded_patterns),
        cmocka_unit_test(test_gbnf),           cmocka_unit_test(test_gbnf_errors),
        cmocka_unit_test(test_until),          cmocka_unit_test(test_shared_expressions),
        cmocka_unit_test(test_builder_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
