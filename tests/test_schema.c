#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/text.h"
#include "grammar_help.h"
#include "rules_help.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/rule_nodes.h"

/*
 * JSON schemas as grammars. tests/golden/text/schemas.json has schemas with documents that
 * are valid, that are not, and that are but are not written in vug's way, as well as
 * schemas that are refused with a part of the sentence; tools/schemas/check holds the same
 * against the jsonschema package.
 *
 *     test_schema --generate N < schemas, one per line
 *
 * writes N random texts of each, one per line: for tools/schemas/fuzz.
 */

static const char golden[] = "tests/golden/text/schemas.json";

typedef struct {
    vug_rules *rules;
    vug_node root;
} compiled;

static vug_status compile(vug_str schema, compiled *out, vug_err *err)
{
    *out = (compiled){ .rules = vug_rules_create() };
    assert_non_null(out->rules);
    const vug_status st = vug_rules_schema(out->rules, schema, &out->root, err);
    if (st != VUG_OK)
        vug_rules_destroy(out->rules);
    return st;
}

static bool accepts(const char *schema, const char *text)
{
    compiled c;
    vug_err err = { 0 };
    if (compile(vug_str_of(schema), &c, &err) != VUG_OK)
        fail_msg("%s: %s", schema, err.msg);
    const bool yes = rules_match(c.rules, c.root, vug_str_of(text));
    vug_rules_destroy(c.rules);
    return yes;
}

static void refuses(const char *schema, vug_status st, const char *sentence)
{
    compiled c;
    vug_err err = { 0 };
    const vug_status got = compile(vug_str_of(schema), &c, &err);
    if (got == VUG_OK)
        fail_msg("%s is not refused", schema);
    if (!strstr(err.msg, sentence))
        fail_msg("%s: %s; expected %s", schema, err.msg, sentence);
    assert_int_equal(got, st);
}

/* ---- the golden cases ------------------------------------------------------------ */

static vug_str read_file(const char *path, vug_buf *buf)
{
    FILE *f = fopen(path, "rb");
    char part[4096];
    assert_non_null(f);
    for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
        vug_buf_append(buf, part, n);
    (void)fclose(f);
    return (vug_str){ buf->ptr, buf->len };
}

/* By the plain meaning of the rules, and by the automaton; NULL where nothing matches. */
static bool accepted(const compiled *c, const vug_automaton *a, vug_str text)
{
    const bool yes = rules_match(c->rules, c->root, text);
    const text_fate fate = a ? automaton_fate(a, text) : TEXT_DEAD;
    if (yes != (fate == TEXT_WHOLE))
        fail_msg("%.*s: the rules say %d, the automaton %d", VUG_STR_ARG(text), yes, (int)fate);
    return yes;
}

static size_t try_documents(const compiled *c, const vug_automaton *a, const vug_jv *list,
                            bool accept, vug_str schema)
{
    size_t wrong = 0;
    for (const vug_jv *d = list ? list->child : NULL; d; d = d->next) {
        if (accepted(c, a, d->str) == accept)
            continue;
        print_message("%.*s %s %.*s\n", VUG_STR_ARG(schema), accept ? "does not accept" : "accepts",
                      VUG_STR_ARG(d->str));
        wrong++;
    }
    return wrong;
}

/* Random texts of the rules are the automaton's, too. */
static void try_random(const compiled *c, const vug_automaton *a, uint64_t *seed, vug_str schema)
{
    for (int i = 0; a && i < 5; i++) {
        vug_buf text = { 0 };
        if (rules_generate(c->rules, c->root, seed, 300, &text) &&
            automaton_fate(a, (vug_str){ text.ptr, text.len }) != TEXT_WHOLE)
            fail_msg("%.*s: the automaton refuses %s", VUG_STR_ARG(schema), text.ptr);
        vug_buf_release(&text);
    }
}

/* A case's schema is a string of JSON, as are its documents. */
static size_t try_case(const vug_jv *row, uint64_t *seed)
{
    const vug_jv *schema = vug_jv_get(row, "schema"), *refused = vug_jv_get(row, "refused");
    assert_non_null(schema);
    compiled c;
    vug_err err = { 0 };
    const vug_status st = compile(schema->str, &c, &err);
    if (refused) {
        const bool right = st != VUG_OK &&
                           memmem(err.msg, strlen(err.msg), refused->str.ptr, refused->str.len);
        if (!right)
            print_message("%.*s: '%s', expected '%.*s'\n", VUG_STR_ARG(schema->str), err.msg,
                          VUG_STR_ARG(refused->str));
        if (st == VUG_OK)
            vug_rules_destroy(c.rules);
        return !right;
    }
    if (st != VUG_OK) {
        print_message("%.*s: %s\n", VUG_STR_ARG(schema->str), err.msg);
        return 1;
    }
    const vug_jv *valid = vug_jv_get(row, "valid");
    vug_automaton *a = NULL;
    const vug_status made = vug_automaton_create(c.rules, c.root, &a, &err);
    if ((made == VUG_OK) != (valid && valid->n > 0))
        fail_msg("%.*s: %s", VUG_STR_ARG(schema->str), made ? err.msg : "an automaton");
    size_t wrong = try_documents(&c, a, valid, true, schema->str);
    wrong += try_documents(&c, a, vug_jv_get(row, "invalid"), false, schema->str);
    wrong += try_documents(&c, a, vug_jv_get(row, "otherwise"), false, schema->str);
    try_random(&c, a, seed, schema->str);
    vug_automaton_destroy(a);
    vug_rules_destroy(c.rules);
    return wrong;
}

static void test_golden(void **state)
{
    (void)state;
    vug_buf buf = { 0 };
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_json_tree(read_file(golden, &buf), golden, &arena, &root, &err);
    if (st != VUG_OK)
        fail_msg("%s", err.msg);
    size_t wrong = 0;
    uint64_t seed = 1;
    for (const vug_jv *row = root->child; row; row = row->next)
        wrong += try_case(row, &seed);
    assert_int_equal(wrong, 0);
    assert_true(root->n > 100);
    vug_arena_release(&arena);
    vug_buf_release(&buf);
}

/* ---- every number, every character --------------------------------------------------- */

/* All integers around the bounds, one by one. */
static void test_numbers(void **state)
{
    (void)state;
    static const int bound[] = { -1001, -100, -99, -12, -1, 0, 1, 9, 10, 12, 99, 101, 110, 999 };
    const size_t n = sizeof(bound) / sizeof(*bound);
    for (size_t i = 0; i < n * n; i++) {
        const int low = bound[i / n], high = bound[i % n], by = i % 5 ? (int)(i % 11) + 1 : 1;
        char schema[200];
        (void)snprintf(schema, sizeof(schema),
                       "{\"type\":\"integer\",\"minimum\":%d,\"exclusiveMaximum\":%d,"
                       "\"multipleOf\":%d}",
                       low, high, by);
        compiled c;
        assert_int_equal(compile(vug_str_of(schema), &c, NULL), VUG_OK);
        for (int v = -1100; v <= 1100; v += v > -15 && v < 15 ? 1 : (v & 7) + 1) {
            char text[16];
            (void)snprintf(text, sizeof(text), "%d", v);
            if (rules_match(c.rules, c.root, vug_str_of(text)) !=
                (v >= low && v < high && v % by == 0))
                fail_msg("%s with %s", schema, text);
        }
        vug_rules_destroy(c.rules);
    }
}

/* Hundredths around the bounds, one by one: 7 is written 0.07. */
static void test_multiples_of_decimals(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int low, high, by; /* hundredths; high is not in it */
    } row[] = { { "\"multipleOf\":0.05,\"minimum\":-1.1,\"exclusiveMaximum\":1.2", -110, 120, 5 },
                { "\"multipleOf\":0.5", -1000, 1000, 50 },
                { "\"multipleOf\":2.5e-1,\"exclusiveMinimum\":0.3", 31, 1000, 25 },
                { "\"multipleOf\":0.2,\"allOf\":[{\"multipleOf\":0.5}]", -1000, 1000, 100 },
                { "\"multipleOf\":0.01,\"minimum\":0,\"maximum\":9.98", 0, 999, 1 },
                { "\"multipleOf\":0.07,\"minimum\":-0.21", -21, 1000, 7 } };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        char schema[200];
        (void)snprintf(schema, sizeof(schema), "{\"type\":\"number\",%s}", row[i].words);
        compiled c;
        assert_int_equal(compile(vug_str_of(schema), &c, NULL), VUG_OK);
        for (int v = -999; v < 1000; v++) {
            char text[24];
            int n = snprintf(text, sizeof(text), "%s%d.%02d", v < 0 ? "-" : "", abs(v) / 100,
                             abs(v) % 100);
            n -= text[n - 1] == '0'; /* as few digits as the multiple has */
            n -= 2 * (v % 100 == 0);
            if (rules_match(c.rules, c.root, (vug_str){ text, (size_t)n }) !=
                (v >= row[i].low && v < row[i].high && v % row[i].by == 0))
                fail_msg("%s with %.*s", schema, n, text);
        }
        vug_rules_destroy(c.rules);
    }
    static const char whole[] = "{\"type\":\"integer\",\"multipleOf\":2.5}";
    assert_true(accepts(whole, "5") && accepts(whole, "-120") && accepts(whole, "0"));
    assert_false(accepts(whole, "2.5") || accepts(whole, "4"));
}

/* Conditions of one string, which all hold, and patterns that look ahead, as zod 4.6 writes
 * durations and emails. */
static void test_patterns_together(void **state)
{
    (void)state;
    static const char email[] = "{\"type\":\"string\",\"format\":\"email\",\"maxLength\":9,"
                                "\"pattern\":\"^(?!\\\\.)(?!.*"
                                "\\\\.\\\\.)([A-Za-z0-9_'+\\\\-\\\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9]["
                                "A-Za-z0-9\\\\-]*\\\\.)+"
                                "[A-Za-z]{2,}$\"}";
    assert_true(accepts(email, "\"a.b@c.de\"") && accepts(email, "\"a@b.c.de\""));
    assert_false(accepts(email, "\".a@c.de\"") || accepts(email, "\"a..b@c.de\"") ||
                 accepts(email, "\"a.b@cde.fg\"") || accepts(email, "\"a@b\""));
    static const char duration[] =
            "{\"type\":\"string\",\"pattern\":\"^P(?:(\\\\d+W)|(?!.*W)(?=\\\\d|T\\\\d)(\\\\d+Y)?"
            "(\\\\d+M)?(\\\\d+D)?(T(?=\\\\d)(\\\\d+H)?(\\\\d+M)?(\\\\d+([.,]\\\\d+)?S)?)?)$\"}";
    assert_true(accepts(duration, "\"P3W\"") && accepts(duration, "\"P1Y2DT3H4.5S\"") &&
                accepts(duration, "\"PT0S\""));
    assert_false(accepts(duration, "\"P\"") || accepts(duration, "\"P1YT\"") ||
                 accepts(duration, "\"P1Y2W\"") || accepts(duration, "\"PT\""));
    static const char both[] =
            "{\"type\":\"string\",\"format\":\"ends_with\",\"minLength\":4,\"allOf\":[{\"pattern\":"
            "\"^a.*\"},{\"pattern\":\".*/$\"}]}";
    assert_true(accepts(both, "\"a\\u00e9\\ud83d\\ude00\\/\"") && accepts(both, "\"ab\\n//\""));
    assert_false(accepts(both, "\"a\\u00e9/\"") || accepts(both, "\"abcd\"") ||
                 accepts(both, "\"xxx/\""));
    static const char formats[] = "{\"type\":\"string\",\"format\":\"hostname\",\"allOf\":[{"
                                  "\"format\":\"ipv4\"},{\"maxLength\":8}]}";
    assert_true(accepts(formats, "\"1.2.3.44\""));
    assert_false(accepts(formats, "\"1.2.3.444\"") || accepts(formats, "\"a.b.c.d\""));
}

/* What OpenAPI 3.0, zod and draft 4 say in other words. */
static void test_other_words(void **state)
{
    (void)state;
    static const char nullable[] = "{\"type\":\"string\",\"nullable\":true,\"maxLength\":1}";
    assert_true(accepts(nullable, "null") && accepts(nullable, "\"a\""));
    assert_false(accepts(nullable, "1") || accepts(nullable, "\"ab\""));
    assert_false(accepts("{\"type\":\"string\",\"nullable\":false}", "null"));
    static const char null[] = "{\"type\":\"string\",\"nullable\":true,\"enum\":[null]}";
    assert_true(accepts(null, "null"));
    static const char optional[] = "{\"anyOf\":[{\"anyOf\":[{\"not\":{}},{\"type\":\"string\"}]},"
                                   "{\"type\":\"null\"}]}";
    assert_true(accepts(optional, "null") && accepts(optional, "\"\""));
    assert_false(accepts(optional, "1"));
    assert_false(
            accepts("{\"type\":\"object\",\"properties\":{\"a\":{\"not\":true}}}", "{\"a\": 1}"));
    assert_false(accepts("{\"enum\":[1,2],\"minimum\":1,\"exclusiveMinimum\":true}", "1"));
    assert_true(accepts("{\"enum\":[1.5,2],\"multipleOf\":0.75}", "1.5"));
    assert_false(accepts("{\"enum\":[1.5,2],\"multipleOf\":0.75}", "2"));
    static const char large[] = "{\"enum\":[7e20,8e20,7000000000000000000001],\"multipleOf\":7}";
    assert_true(accepts(large, "7e20"));
    assert_false(accepts(large, "8e20") || accepts(large, "7000000000000000000001"));
}

/* Each character by itself and as an escape, against the one class that it is in. */
static void test_strings(void **state)
{
    (void)state;
    static const uint32_t some[] = { 0,      1,      9,       0x1f,    0x20,    '"',     '/',
                                     '\\',   'a',    0x7f,    0x80,    0xff,    0x100,   0xd7ff,
                                     0xe000, 0xffff, 0x10000, 0x103ff, 0x10400, 0x1f600, 0x10ffff };
    enum { N = sizeof(some) / sizeof(*some) };
    vug_rules *rules = vug_rules_create();
    vug_json_rules json;
    vug_json_rules_init(&json, rules);
    for (size_t i = 0; i < N; i++) {
        const vug_node only = vug_json_class(&json, &(vug_char_range){ some[i], some[i] }, 1);
        const vug_node other = vug_json_class_but(&json, &(vug_char_range){ some[i], some[i] }, 1);
        for (size_t k = 0; k < N; k++) {
            vug_buf text = { 0 };
            const uint32_t c = some[k];
            char utf8[4];
            vug_buf_append(&text, utf8, vug_utf8_put(c, utf8));
            const bool plain = c >= 0x20 && c != '"' && c != '\\';
            const vug_str bare = { text.ptr, text.len };
            assert_int_equal(rules_match(rules, only, bare), plain && i == k);
            assert_int_equal(rules_match(rules, other, bare), plain && i != k);
            text.len = 0;
            if (c < 0x10000)
                vug_buf_printf(&text, "\\u%04x", c);
            else
                vug_buf_printf(&text, "\\u%04X\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                               0xdc00 + ((c - 0x10000) & 0x3ff));
            const bool escaped = c < 0x20 || c >= 0x80;
            const vug_str escape = { text.ptr, text.len };
            assert_int_equal(rules_match(rules, only, escape), escaped && i == k);
            assert_int_equal(rules_match(rules, other, escape), escaped && i != k);
            vug_buf_release(&text);
        }
    }
    assert_int_equal(vug_rules_ok(rules, NULL), VUG_OK);
    vug_rules_destroy(rules);
}

/* ---- size ------------------------------------------------------------------------------ */

static size_t nodes_of(int n, const char *rest)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < n; i++)
        vug_buf_printf(&text, "%s\"property_%d\":{\"type\":\"%s\"}", i ? "," : "", i,
                       i % 2 ? "string" : "integer");
    vug_buf_printf(&text, "}%s}", rest);
    compiled c;
    vug_err err = { 0 };
    if (compile((vug_str){ text.ptr, text.len }, &c, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    const size_t nodes = vug_rules_count(c.rules);
    assert_true(rules_match(c.rules, c.root, vug_str_of("{}")));
    assert_true(rules_match(c.rules, c.root, vug_str_of("{\"property_1\": \"x\"}")));
    assert_true(
            rules_match(c.rules, c.root, vug_str_of("{\"property_0\": 5, \"property_3\": \"x\"}")));
    assert_false(
            rules_match(c.rules, c.root, vug_str_of("{\"property_3\": \"x\", \"property_0\": 5}")));
    vug_rules_destroy(c.rules);
    vug_buf_release(&text);
    return nodes;
}

/* Optional properties, none of them in the way of another: ten times as many take ten
 * times as much. */
static void test_many(void **state)
{
    (void)state;
    static const char *const rest[] = { ",\"additionalProperties\":false", "" };
    for (size_t i = 0; i < 2; i++) {
        const size_t few = nodes_of(100, rest[i]), many = nodes_of(1000, rest[i]);
        assert_true(many < 11 * few);
        assert_true(few < 6000);
    }
}

/* `n` times `part`, with its number where it says %d. */
static void repeat(vug_buf *to, const char *part, int n)
{
    for (int i = 0; i < n; i++) {
        const char *at = strstr(part, "%d");
        const size_t before = at ? (size_t)(at - part) : strlen(part);
        vug_buf_append(to, part, before);
        if (at)
            vug_buf_printf(to, "%d%s", i, at + 2);
    }
}

static void refuses_long(const char *before, const char *part, int n, const char *after,
                         vug_status st, const char *sentence)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, before);
    repeat(&text, part, n);
    vug_buf_puts(&text, after);
    refuses(text.ptr, st, sentence);
    vug_buf_release(&text);
}

/* Many values are looked for once, and long ones count as what they are. */
static void test_long_values(void)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"enum\":[");
    repeat(&text, "\"w%d\",", 20000);
    vug_buf_puts(&text, "\"w\"]}");
    assert_true(accepts(text.ptr, "\"w19999\"") && accepts(text.ptr, "\"w\""));
    assert_false(accepts(text.ptr, "\"w20000\""));
    text.len = 0;
    vug_buf_puts(&text, "{\"allOf\":[");
    for (int i = 0; i < 2; i++) {
        vug_buf_puts(&text, i ? ",{\"enum\":[" : "{\"enum\":[");
        for (int k = 0; k < 1500; k++)
            vug_buf_printf(&text, "0.%0200d%d,", 0, 2 * k + i);
        vug_buf_puts(&text, "1]}");
    }
    vug_buf_puts(&text, "]}");
    refuses(text.ptr, VUG_LIMIT, "takes more than 16777216 steps");
    vug_buf_release(&text);
}

static void test_limits(void **state)
{
    (void)state;
    refuses_long("{\"title\":\"", "0123456789abcdef", 1 << 16, "\"}", VUG_LIMIT,
                 "schema: 1048588 bytes, at most 1048576 are read");
    refuses_long("", "{\"items\":", 100, "", VUG_FORMAT, "64");
    refuses_long("{\"allOf\":[", "{\"title\":\"%d\"},", 300, "true]}", VUG_LIMIT,
                 "more than 256 schemas for one value");
    refuses_long("{\"allOf\":[", "{\"anyOf\":[{\"minimum\":%d},{\"title\":\"\"}]},", 11, "true]}",
                 VUG_LIMIT, "more than 1024 combinations");
    refuses_long("{\"allOf\":[", "{\"anyOf\":[{\"minimum\":%d}]},", 70, "true]}", VUG_LIMIT,
                 "more than 64 of anyOf and oneOf at once");
    refuses_long("{\"items\":{\"prefixItems\":[", "{\"const\":%d},", 20000, "true]}}", VUG_LIMIT,
                 "more than 16384 different values");
    refuses_long(
            "{\"oneOf\":[",
            "{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{\"k\":{\"const\":%d}}},",
            1500, "false]}", VUG_LIMIT, "takes more than 134217728 bytes of memory");
    test_long_values();
    refuses("{\"type\":\"string\",\"pattern\":\"^(?!.*a.{20}b)(?!.*b.{20}c)\"}", VUG_LIMIT,
            "#/pattern: patterns that look ahead or hold together, with too many states");
    refuses("{\"type\":\"string\",\"pattern\":\"^(?=((a?){0,1000}){0,1000})b\"}", VUG_LIMIT,
            "with too many states");
    refuses("{\"minProperties\":70000,\"additionalProperties\":false}", VUG_LIMIT,
            "too many properties to count");
    refuses("{\"items\":[{\"a~/b\":1}]}", VUG_UNSUPPORTED,
            "schema: #/items/0: the keyword 'a~/b' is not supported");
    vug_rules *rules = vug_rules_create();
    vug_node root;
    assert_int_equal(vug_rules_schema(rules, vug_str_of("{\"not\":1}"), &root, NULL),
                     VUG_UNSUPPORTED);
    vug_rules_destroy(rules);
}

static void test_chains(void **state)
{
    (void)state;
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 126; i++)
        vug_buf_printf(&text, "\"d%d\":{\"$ref\":\"#/$defs/d%d\"},", i, i + 1);
    vug_buf_puts(&text, "\"d126\":{\"type\":\"null\"}}}");
    assert_true(accepts(text.ptr, "null"));
    assert_false(accepts(text.ptr, "1"));
    vug_buf_release(&text);
    refuses_long("{\"$ref\":\"#/$defs/d200\",\"$defs\":{\"d0\":{}", "", 0, "}}", VUG_FORMAT,
                 "there is no '#/$defs/d200'");
    vug_buf_puts(&text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 300; i++)
        vug_buf_printf(&text, "\"d%d\":{\"$ref\":\"#/$defs/d%d\"},", i, i + 1);
    vug_buf_puts(&text, "\"d300\":{\"type\":\"null\"}}}");
    refuses(text.ptr, VUG_LIMIT, "more than 128 of $ref");
    vug_buf_release(&text);
    /* Values as deep as they like, through references. */
    static const char list[] = "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"items\":"
                               "{\"$ref\":\"#\"},\"minItems\":1,\"maxItems\":1}]}";
    assert_true(accepts(list, "[[[[[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]]]]]"));
    assert_false(accepts(list, "[[[[[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]]]]"));
}

/* ---- damage ---------------------------------------------------------------------------- */

static const char sample[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-1.5e1,"
        "\"multipleOf\":3},\"b\":{\"$ref\":\"#/$defs/s~0\"},\"c\":{\"prefixItems\":[{\"enum\":[1,"
        "{\"k\":[]}]}],\"items\":{\"$ref\":\"#\"}}},\"required\":[\"z\"],\"$defs\":{\"s~\":{"
        "\"oneOf\":[{\"format\":\"date\",\"type\":\"string\"},{\"type\":\"null\"}]}}}";

static void try_damaged(const char *text, size_t n)
{
    char *copy = malloc(n ? n : 1); /* without a NUL behind it */
    assert_non_null(copy);
    memcpy(copy, text, n);
    compiled c;
    vug_err err = { 0 };
    if (compile((vug_str){ copy, n }, &c, &err) == VUG_OK)
        vug_rules_destroy(c.rules);
    else
        assert_true(err.msg[0] != '\0');
    free(copy);
}

static void test_damage(void **state)
{
    (void)state;
    char text[sizeof(sample)];
    for (size_t n = 0; n < sizeof(sample); n++)
        try_damaged(sample, n);
    for (size_t i = 0; i + 1 < sizeof(sample); i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(text, sample, sizeof(sample));
            text[i] = (char)(text[i] ^ 1 << bit);
            try_damaged(text, sizeof(sample) - 1);
        }
    }
}

/* ---- texts for the fuzz of tools/schemas ---------------------------------------------- */

static void put_line(const char *kind, vug_str text)
{
    vug_buf line = { 0 };
    vug_json_write_string(&line, text.ptr, text.len);
    printf("{\"%s\":%s}\n", kind, line.ptr);
    vug_buf_release(&line);
}

/* One line per text, {"text":..}; {"error":..} or {"empty":..} instead; {"end":..} last. */
static int generate(const char *count)
{
    static char line[1 << 20];
    uint64_t seed = 1;
    const long n = strtol(count, NULL, 10);
    while (fgets(line, sizeof(line), stdin)) {
        compiled c;
        vug_err err = { 0 };
        if (compile(vug_str_of(line), &c, &err) != VUG_OK) {
            put_line("error", vug_str_of(err.msg));
        } else {
            for (long i = 0; i < n; i++) {
                vug_buf text = { 0 };
                if (rules_generate(c.rules, c.root, &seed, 4000, &text))
                    put_line("text", (vug_str){ text.ptr, text.len });
                else
                    put_line("empty", (vug_str){ 0 });
                vug_buf_release(&text);
            }
            vug_rules_destroy(c.rules);
        }
        put_line("end", (vug_str){ 0 });
        (void)fflush(stdout);
    }
    return 0;
}

/* accepts each of the documents that come, {"schema":..,"texts":[..]}, as 0 and 1. */
static int match_lines(void)
{
    static char line[1 << 20];
    while (fgets(line, sizeof(line), stdin)) {
        vug_arena arena = { 0 };
        const vug_jv *root = NULL;
        compiled c;
        vug_err err = { 0 };
        if (vug_json_tree(vug_str_of(line), "line", &arena, &root, &err) != VUG_OK)
            return 1;
        vug_automaton *a = NULL;
        if (compile(vug_jv_get(root, "schema")->str, &c, &err) == VUG_OK) {
            const vug_status st = vug_automaton_create(c.rules, c.root, &a, &err);
            for (const vug_jv *t = vug_jv_get(root, "texts")->child; t; t = t->next)
                putchar(st == VUG_OK && automaton_fate(a, t->str) == TEXT_WHOLE ? '1' : '0');
            vug_automaton_destroy(a);
            vug_rules_destroy(c.rules);
        } else {
            putchar('-');
        }
        putchar('\n');
        (void)fflush(stdout);
        vug_arena_release(&arena);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--generate") == 0)
        return generate(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--match") == 0)
        return match_lines();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_multiples_of_decimals),
        cmocka_unit_test(test_patterns_together),
        cmocka_unit_test(test_other_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
