

#include "test.h"

#include "core/json.h"
#include "core/json_writer.h"
#include "core/utf8.h"
#include "grammar_help.h"
#include "grammar_reference.h"
#include "text/grammar/schema.h"
#include "text/grammar/unique_tokens.h"

/*
 * JSON schemas as grammars. tests/golden/text/schemas.json has schemas with documents that are
 * "valid", "invalid", or valid but written differently ("otherwise"), and schemas that are
 * "refused" with a part of the error message. tools/schemas/check compares the file with the
 * jsonschema package.
 *
 *     test_schema --generate N < schemas, one per line
 *     test_schema --match < schemas with texts, one pair per line
 *
 * are for tools/schemas/fuzz: random texts of each schema, and which texts each accepts.
 */

static const char golden[] = "tests/golden/text/schemas.json";

typedef struct {
    vug_grammar_builder *builder;
    vug_grammar_expr root;
} compiled_schema;

static vug_status compile_schema(vug_str schema, compiled_schema *out, vug_err *err)
{
    *out = (compiled_schema){ .builder = vug_grammar_builder_create() };
    assert_non_null(out->builder);
    const vug_status st = vug_grammar_parse_schema(out->builder, schema, &out->root, err);
    if (st != VUG_OK)
        vug_grammar_builder_destroy(out->builder);
    return st;
}

static bool schema_accepts(const char *schema, const char *text)
{
    compiled_schema c;
    vug_err err = { 0 };
    if (compile_schema(vug_str_of(schema), &c, &err) != VUG_OK)
        fail_msg("%s: %s", schema, err.msg);
    const bool yes = reference_matches(c.builder, c.root, vug_str_of(text));
    vug_grammar_builder_destroy(c.builder);
    return yes;
}

static void check_refused(const char *schema, vug_status st, const char *message)
{
    compiled_schema c;
    vug_err err = { 0 };
    const vug_status got = compile_schema(vug_str_of(schema), &c, &err);
    if (got == VUG_OK)
        fail_msg("%s is not refused", schema);
    if (!strstr(err.msg, message))
        fail_msg("%s: %s; expected %s", schema, err.msg, message);
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

/* Asks the reference recognizer and the automaton, which is NULL if nothing matches. */
static bool accepts_both(const compiled_schema *c, const vug_automaton *a, vug_str text)
{
    const bool yes = reference_matches(c->builder, c->root, text);
    const match_result result = a ? automaton_match(a, text) : MATCH_DEAD;
    if (yes != (result == MATCH_WHOLE))
        fail_msg("%.*s: the reference says %d, the automaton %d", VUG_STR_ARG(text), yes,
                 (int)result);
    return yes;
}

static size_t check_documents(const compiled_schema *c, const vug_automaton *a, const vug_jv *list,
                              bool accept, vug_str schema)
{
    size_t wrong = 0;
    for (const vug_jv *d = list ? list->child : NULL; d; d = d->next) {
        if (accepts_both(c, a, d->str) == accept)
            continue;
        print_message("%.*s %s %.*s\n", VUG_STR_ARG(schema), accept ? "does not accept" : "accepts",
                      VUG_STR_ARG(d->str));
        wrong++;
    }
    return wrong;
}

/* The automaton accepts random texts of the expressions. */
static void check_random_texts(const compiled_schema *c, const vug_automaton *a, uint64_t *seed,
                               vug_str schema)
{
    for (int i = 0; a && i < 5; i++) {
        vug_buf text = { 0 };
        if (reference_generate(c->builder, c->root, seed, 300, &text) &&
            automaton_match(a, (vug_str){ text.ptr, text.len }) != MATCH_WHOLE)
            fail_msg("%.*s: the automaton refuses %s", VUG_STR_ARG(schema), text.ptr);
        vug_buf_release(&text);
    }
}

/* The schema and the documents of a case are JSON in strings. */
static size_t check_case(const vug_jv *row, uint64_t *seed)
{
    const vug_jv *schema = vug_jv_get(row, "schema"), *refused = vug_jv_get(row, "refused");
    assert_non_null(schema);
    compiled_schema c;
    vug_err err = { 0 };
    const vug_status st = compile_schema(schema->str, &c, &err);
    if (refused) {
        const bool right = st != VUG_OK &&
                           memmem(err.msg, strlen(err.msg), refused->str.ptr, refused->str.len);
        if (!right)
            print_message("%.*s: '%s', expected '%.*s'\n", VUG_STR_ARG(schema->str), err.msg,
                          VUG_STR_ARG(refused->str));
        if (st == VUG_OK)
            vug_grammar_builder_destroy(c.builder);
        return !right;
    }
    if (st != VUG_OK) {
        print_message("%.*s: %s\n", VUG_STR_ARG(schema->str), err.msg);
        return 1;
    }
    const vug_jv *valid = vug_jv_get(row, "valid");
    vug_automaton *a = NULL;
    const vug_status made = vug_automaton_create(c.builder, c.root, &a, &err);
    if ((made == VUG_OK) != (valid && valid->n > 0))
        fail_msg("%.*s: %s", VUG_STR_ARG(schema->str), made ? err.msg : "an automaton");
    size_t wrong = check_documents(&c, a, valid, true, schema->str);
    wrong += check_documents(&c, a, vug_jv_get(row, "invalid"), false, schema->str);
    wrong += check_documents(&c, a, vug_jv_get(row, "otherwise"), false, schema->str);
    check_random_texts(&c, a, seed, schema->str);
    vug_automaton_destroy(a);
    vug_grammar_builder_destroy(c.builder);
    return wrong;
}

static void test_golden_cases(void **state)
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
        wrong += check_case(row, &seed);
    assert_int_equal(wrong, 0);
    assert_true(root->n > 100);
    vug_arena_release(&arena);
    vug_buf_release(&buf);
}

/* ---- every number, every character --------------------------------------------------- */

/* All integers around the bounds, one by one. */
static void test_integer_bounds(void **state)
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
        compiled_schema c;
        assert_int_equal(compile_schema(vug_str_of(schema), &c, NULL), VUG_OK);
        for (int v = -1100; v <= 1100; v += v > -15 && v < 15 ? 1 : (v & 7) + 1) {
            char text[16];
            (void)snprintf(text, sizeof(text), "%d", v);
            if (reference_matches(c.builder, c.root, vug_str_of(text)) !=
                (v >= low && v < high && v % by == 0))
                fail_msg("%s with %s", schema, text);
        }
        vug_grammar_builder_destroy(c.builder);
    }
}

/* Hundredths around the bounds, one by one: 7 is written 0.07. */
static void test_multiples_of_decimals(void **state)
{
    (void)state;
    static const struct {
        const char *keywords;
        int low, high, by; /* hundredths; high is not in it */
    } row[] = { { "\"multipleOf\":0.05,\"minimum\":-1.1,\"exclusiveMaximum\":1.2", -110, 120, 5 },
                { "\"multipleOf\":0.5", -1000, 1000, 50 },
                { "\"multipleOf\":2.5e-1,\"exclusiveMinimum\":0.3", 31, 1000, 25 },
                { "\"multipleOf\":0.2,\"allOf\":[{\"multipleOf\":0.5}]", -1000, 1000, 100 },
                { "\"multipleOf\":0.01,\"minimum\":0,\"maximum\":9.98", 0, 999, 1 },
                { "\"multipleOf\":0.07,\"minimum\":-0.21", -21, 1000, 7 } };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        char schema[200];
        (void)snprintf(schema, sizeof(schema), "{\"type\":\"number\",%s}", row[i].keywords);
        compiled_schema c;
        assert_int_equal(compile_schema(vug_str_of(schema), &c, NULL), VUG_OK);
        for (int v = -999; v < 1000; v++) {
            char text[24];
            int n = snprintf(text, sizeof(text), "%s%d.%02d", v < 0 ? "-" : "", abs(v) / 100,
                             abs(v) % 100);
            n -= text[n - 1] == '0'; /* as few digits as the multiple has */
            n -= 2 * (v % 100 == 0);
            if (reference_matches(c.builder, c.root, (vug_str){ text, (size_t)n }) !=
                (v >= row[i].low && v < row[i].high && v % row[i].by == 0))
                fail_msg("%s with %.*s", schema, n, text);
        }
        vug_grammar_builder_destroy(c.builder);
    }
    static const char whole[] = "{\"type\":\"integer\",\"multipleOf\":2.5}";
    assert_true(schema_accepts(whole, "5") && schema_accepts(whole, "-120") &&
                schema_accepts(whole, "0"));
    assert_false(schema_accepts(whole, "2.5") || schema_accepts(whole, "4"));
}

/* Several constraints on one string, and patterns with lookahead, as zod 4.6 writes durations and
 * emails. */
static void test_combined_patterns(void **state)
{
    (void)state;
    static const char email[] = "{\"type\":\"string\",\"format\":\"email\",\"maxLength\":9,"
                                "\"pattern\":\"^(?!\\\\.)(?!.*"
                                "\\\\.\\\\.)([A-Za-z0-9_'+\\\\-\\\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9]["
                                "A-Za-z0-9\\\\-]*\\\\.)+"
                                "[A-Za-z]{2,}$\"}";
    assert_true(schema_accepts(email, "\"a.b@c.de\"") && schema_accepts(email, "\"a@b.c.de\""));
    assert_false(schema_accepts(email, "\".a@c.de\"") || schema_accepts(email, "\"a..b@c.de\"") ||
                 schema_accepts(email, "\"a.b@cde.fg\"") || schema_accepts(email, "\"a@b\""));
    static const char duration[] =
            "{\"type\":\"string\",\"pattern\":\"^P(?:(\\\\d+W)|(?!.*W)(?=\\\\d|T\\\\d)(\\\\d+Y)?"
            "(\\\\d+M)?(\\\\d+D)?(T(?=\\\\d)(\\\\d+H)?(\\\\d+M)?(\\\\d+([.,]\\\\d+)?S)?)?)$\"}";
    assert_true(schema_accepts(duration, "\"P3W\"") &&
                schema_accepts(duration, "\"P1Y2DT3H4.5S\"") &&
                schema_accepts(duration, "\"PT0S\""));
    assert_false(schema_accepts(duration, "\"P\"") || schema_accepts(duration, "\"P1YT\"") ||
                 schema_accepts(duration, "\"P1Y2W\"") || schema_accepts(duration, "\"PT\""));
    static const char both[] =
            "{\"type\":\"string\",\"format\":\"ends_with\",\"minLength\":4,\"allOf\":[{\"pattern\":"
            "\"^a.*\"},{\"pattern\":\".*/$\"}]}";
    assert_true(schema_accepts(both, "\"a\\u00e9\\ud83d\\ude00\\/\"") &&
                schema_accepts(both, "\"ab\\n//\""));
    assert_false(schema_accepts(both, "\"a\\u00e9/\"") || schema_accepts(both, "\"abcd\"") ||
                 schema_accepts(both, "\"xxx/\""));
    static const char formats[] = "{\"type\":\"string\",\"format\":\"hostname\",\"allOf\":[{"
                                  "\"format\":\"ipv4\"},{\"maxLength\":8}]}";
    assert_true(schema_accepts(formats, "\"1.2.3.44\""));
    assert_false(schema_accepts(formats, "\"1.2.3.444\"") ||
                 schema_accepts(formats, "\"a.b.c.d\""));
}

/* Keywords as OpenAPI 3.0, zod and draft 4 use them. */
static void test_openapi_and_draft_4(void **state)
{
    (void)state;
    static const char nullable[] = "{\"type\":\"string\",\"nullable\":true,\"maxLength\":1}";
    assert_true(schema_accepts(nullable, "null") && schema_accepts(nullable, "\"a\""));
    assert_false(schema_accepts(nullable, "1") || schema_accepts(nullable, "\"ab\""));
    assert_false(schema_accepts("{\"type\":\"string\",\"nullable\":false}", "null"));
    static const char null[] = "{\"type\":\"string\",\"nullable\":true,\"enum\":[null]}";
    assert_true(schema_accepts(null, "null"));
    static const char optional[] = "{\"anyOf\":[{\"anyOf\":[{\"not\":{}},{\"type\":\"string\"}]},"
                                   "{\"type\":\"null\"}]}";
    assert_true(schema_accepts(optional, "null") && schema_accepts(optional, "\"\""));
    assert_false(schema_accepts(optional, "1"));
    assert_false(schema_accepts("{\"type\":\"object\",\"properties\":{\"a\":{\"not\":true}}}",
                                "{\"a\": 1}"));
    assert_false(schema_accepts("{\"enum\":[1,2],\"minimum\":1,\"exclusiveMinimum\":true}", "1"));
    assert_true(schema_accepts("{\"enum\":[1.5,2],\"multipleOf\":0.75}", "1.5"));
    assert_false(schema_accepts("{\"enum\":[1.5,2],\"multipleOf\":0.75}", "2"));
    static const char large[] = "{\"enum\":[7e20,8e20,7000000000000000000001],\"multipleOf\":7}";
    assert_true(schema_accepts(large, "7e20"));
    assert_false(schema_accepts(large, "8e20") || schema_accepts(large, "7000000000000000000001"));
}

/* Each character, plain and escaped, against a class of one character and its complement. */
static void test_character_encodings(void **state)
{
    (void)state;
    static const uint32_t some[] = { 0,      1,      9,       0x1f,    0x20,    '"',     '/',
                                     '\\',   'a',    0x7f,    0x80,    0xff,    0x100,   0xd7ff,
                                     0xe000, 0xffff, 0x10000, 0x103ff, 0x10400, 0x1f600, 0x10ffff };
    enum { N = sizeof(some) / sizeof(*some) };
    vug_grammar_builder *builder = vug_grammar_builder_create();
    vug_json_grammar json;
    vug_json_grammar_init(&json, builder);
    for (size_t i = 0; i < N; i++) {
        const vug_grammar_expr only =
                vug_json_grammar_class(&json, &(vug_char_range){ some[i], some[i] }, 1);
        const vug_grammar_expr other =
                vug_json_grammar_class_except(&json, &(vug_char_range){ some[i], some[i] }, 1);
        for (size_t k = 0; k < N; k++) {
            vug_buf text = { 0 };
            const uint32_t c = some[k];
            char utf8[4];
            vug_buf_append(&text, utf8, vug_utf8_encode(c, utf8));
            const bool plain = c >= 0x20 && c != '"' && c != '\\';
            const vug_str bare = { text.ptr, text.len };
            assert_int_equal(reference_matches(builder, only, bare), plain && i == k);
            assert_int_equal(reference_matches(builder, other, bare), plain && i != k);
            text.len = 0;
            if (c < 0x10000)
                vug_buf_printf(&text, "\\u%04x", c);
            else
                vug_buf_printf(&text, "\\u%04X\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                               0xdc00 + ((c - 0x10000) & 0x3ff));
            const bool escaped = c < 0x20 || c >= 0x80;
            const vug_str escape = { text.ptr, text.len };
            assert_int_equal(reference_matches(builder, only, escape), escaped && i == k);
            assert_int_equal(reference_matches(builder, other, escape), escaped && i != k);
            vug_buf_release(&text);
        }
    }
    assert_int_equal(vug_grammar_builder_ok(builder, NULL), VUG_OK);
    vug_grammar_builder_destroy(builder);
}

/* ---- size ------------------------------------------------------------------------------ */

static size_t count_exprs(int n, const char *rest)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < n; i++)
        vug_buf_printf(&text, "%s\"property_%d\":{\"type\":\"%s\"}", i ? "," : "", i,
                       i % 2 ? "string" : "integer");
    vug_buf_printf(&text, "}%s}", rest);
    compiled_schema c;
    vug_err err = { 0 };
    if (compile_schema((vug_str){ text.ptr, text.len }, &c, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    const size_t nodes = vug_grammar_expr_count(c.builder);
    assert_true(reference_matches(c.builder, c.root, vug_str_of("{}")));
    assert_true(reference_matches(c.builder, c.root, vug_str_of("{\"property_1\": \"x\"}")));
    assert_true(reference_matches(c.builder, c.root,
                                  vug_str_of("{\"property_0\": 5, \"property_3\": \"x\"}")));
    assert_false(reference_matches(c.builder, c.root,
                                   vug_str_of("{\"property_3\": \"x\", \"property_0\": 5}")));
    vug_grammar_builder_destroy(c.builder);
    vug_buf_release(&text);
    return nodes;
}

/* The size is linear in the number of optional properties. */
static void test_many_optional_properties(void **state)
{
    (void)state;
    static const char *const rest[] = { ",\"additionalProperties\":false", "" };
    for (size_t i = 0; i < 2; i++) {
        const size_t few = count_exprs(100, rest[i]), many = count_exprs(1000, rest[i]);
        assert_true(many < 11 * few);
        assert_true(few < 6000);
    }
}

/* Appends `part` n times, with the number in place of %d. */
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

static void check_refused_long(const char *before, const char *part, int n, const char *after,
                               vug_status st, const char *message)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, before);
    repeat(&text, part, n);
    vug_buf_puts(&text, after);
    check_refused(text.ptr, st, message);
    vug_buf_release(&text);
}

/* Many values take linear time, and long values are charged by length. */
static void test_long_values(void)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"enum\":[");
    repeat(&text, "\"w%d\",", 20000);
    vug_buf_puts(&text, "\"w\"]}");
    assert_true(schema_accepts(text.ptr, "\"w19999\"") && schema_accepts(text.ptr, "\"w\""));
    assert_false(schema_accepts(text.ptr, "\"w20000\""));
    text.len = 0;
    vug_buf_puts(&text, "{\"allOf\":[");
    for (int i = 0; i < 2; i++) {
        vug_buf_puts(&text, i ? ",{\"enum\":[" : "{\"enum\":[");
        for (int k = 0; k < 1500; k++)
            vug_buf_printf(&text, "0.%0200d%d,", 0, 2 * k + i);
        vug_buf_puts(&text, "1]}");
    }
    vug_buf_puts(&text, "]}");
    check_refused(text.ptr, VUG_LIMIT, "takes more than 11534336 steps");
    vug_buf_release(&text);
}

/* 1,024 cases, each of which has all names. */
static void test_many_names(void)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"additionalProperties\":false,\"allOf\":[");
    repeat(&text, "{\"anyOf\":[{\"title\":\"\"},{\"minimum\":%d}]},", 10);
    vug_buf_puts(&text, "true],\"required\":[");
    repeat(&text, "\"name%d\",", 2000);
    vug_buf_puts(&text, "\"\"]}");
    check_refused(text.ptr, VUG_LIMIT, "takes more than 134217728 bytes of memory");
    vug_buf_release(&text);
}

/* Branches that a constant tells apart are not compared in pairs. */
static void test_many_constants(void)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"type\":\"object\",\"required\":[\"k\"],\"oneOf\":[");
    repeat(&text, "{\"properties\":{\"k\":{\"const\":\"v%d\"}}},", 1000);
    vug_buf_puts(&text, "false]}");
    assert_true(schema_accepts(text.ptr, "{\"k\": \"v0\"}"));
    assert_true(schema_accepts(text.ptr, "{\"k\": \"v999\"}"));
    assert_false(schema_accepts(text.ptr, "{\"k\": \"v1000\"}"));
    vug_buf_release(&text);
}

/* A condition for each value of a property: nearly all of the 2^20 combinations contradict
 * themselves. */
static void test_many_conditions(void)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text,
                 "{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"}},\"allOf\":[");
    for (int i = 0; i < 20; i++)
        vug_buf_printf(&text,
                       "{\"if\":{\"properties\":{\"k\":{\"const\":\"v%d\"}}},"
                       "\"then\":{\"properties\":{\"x\":{\"const\":%d}}}},",
                       i, i);
    vug_buf_puts(&text, "true]}");
    assert_true(schema_accepts(text.ptr, "{\"k\": \"v3\", \"x\": 3}"));
    assert_false(schema_accepts(text.ptr, "{\"k\": \"v3\", \"x\": 4}"));
    assert_true(schema_accepts(text.ptr, "{\"k\": \"w\", \"x\": 77}"));
    assert_true(schema_accepts(text.ptr, "{\"k\": \"v19\"}"));
    assert_true(schema_accepts(text.ptr, "{}"));
    assert_false(schema_accepts(text.ptr, "{\"x\": 3}")); /* all conditions hold */
    vug_buf_release(&text);
}

/* Branches with a constant of a property that may be absent: where it is there, it excludes all other
 * branches at once. */
static void test_many_optional_constants(void)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"type\":\"object\",\"oneOf\":[");
    for (int i = 0; i < 12; i++)
        vug_buf_printf(&text,
                       "%s{\"properties\":{\"k\":{\"enum\":[\"v%d\"]},\"x\":{\"minimum\":%d}}}",
                       i ? "," : "", i, i);
    vug_buf_puts(&text, "]}");
    assert_true(schema_accepts(text.ptr, "{\"k\": \"v3\", \"x\": 3}"));
    assert_false(schema_accepts(text.ptr, "{\"k\": \"v3\", \"x\": 2}"));
    assert_true(schema_accepts(text.ptr, "{\"x\": 0}")); /* only the first branch */
    assert_false(schema_accepts(text.ptr, "{\"x\": 1}"));
    assert_false(schema_accepts(text.ptr, "{}"));
    assert_true(schema_accepts(text.ptr, "{\"k\": \"v11\"}"));
    vug_buf_release(&text);
}

static void test_limits(void **state)
{
    (void)state;
    check_refused_long("{\"title\":\"", "0123456789abcdef", 1 << 16, "\"}", VUG_LIMIT,
                       "schema: 1048588 bytes, at most 1048576 are supported");
    check_refused_long("", "{\"items\":", 100, "", VUG_FORMAT, "64");
    check_refused_long("{\"allOf\":[", "{\"title\":\"%d\"},", 300, "true]}", VUG_LIMIT,
                       "more than 256 schemas for one value");
    check_refused_long("{\"allOf\":[", "{\"anyOf\":[{\"minimum\":%d},{\"title\":\"\"}]},", 11,
                       "true]}", VUG_LIMIT, "more than 1024 combinations");
    check_refused_long("{\"allOf\":[", "{\"anyOf\":[{\"minimum\":%d}]},", 70, "true]}", VUG_LIMIT,
                       "more than 64 of anyOf and oneOf at once");
    check_refused_long("{\"items\":{\"prefixItems\":[", "{\"const\":%d},", 20000, "true]}}",
                       VUG_LIMIT, "more than 16384 different values");
    check_refused_long("{\"oneOf\":[",
                       "{\"type\":\"array\",\"minItems\":1,\"items\":{\"const\":%d}},", 1000,
                       "false]}", VUG_LIMIT, "takes more than 11534336 steps");
    test_many_constants();
    test_many_conditions();
    test_many_optional_constants();
    test_many_names();
    test_long_values();
    check_refused("{\"type\":\"string\",\"pattern\":\"^(?!.*a.{20}b)(?!.*b.{20}c)\"}", VUG_LIMIT,
                  "#/pattern: patterns with lookahead, or combined patterns, need too many states");
    check_refused("{\"type\":\"string\",\"pattern\":\"^(?=((a?){0,1000}){0,1000})b\"}", VUG_LIMIT,
                  "need too many states");
    check_refused("{\"minProperties\":70000,\"additionalProperties\":false}", VUG_LIMIT,
                  "too many properties to count");
    check_refused("{\"items\":[{\"extends\":1}]}", VUG_UNSUPPORTED,
                  "schema: #/items/0: the keyword 'extends' is not supported");
    vug_grammar_builder *builder = vug_grammar_builder_create();
    vug_grammar_expr root;
    assert_int_equal(vug_grammar_parse_schema(builder, vug_str_of("{\"not\":1}"), &root, NULL),
                     VUG_FORMAT);
    vug_grammar_builder_destroy(builder);
}

static void test_reference_chains(void **state)
{
    (void)state;
    vug_buf text = { 0 };
    vug_buf_puts(&text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 126; i++)
        vug_buf_printf(&text, "\"d%d\":{\"$ref\":\"#/$defs/d%d\"},", i, i + 1);
    vug_buf_puts(&text, "\"d126\":{\"type\":\"null\"}}}");
    assert_true(schema_accepts(text.ptr, "null"));
    assert_false(schema_accepts(text.ptr, "1"));
    vug_buf_release(&text);
    check_refused_long("{\"$ref\":\"#/$defs/d200\",\"$defs\":{\"d0\":{}", "", 0, "}}", VUG_FORMAT,
                       "there is no '#/$defs/d200'");
    vug_buf_puts(&text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 300; i++)
        vug_buf_printf(&text, "\"d%d\":{\"$ref\":\"#/$defs/d%d\"},", i, i + 1);
    vug_buf_puts(&text, "\"d300\":{\"type\":\"null\"}}}");
    check_refused(text.ptr, VUG_LIMIT, "more than 128 nested $ref");
    vug_buf_release(&text);
    /* Values of any depth, through references. */
    static const char list[] = "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"items\":"
                               "{\"$ref\":\"#\"},\"minItems\":1,\"maxItems\":1}]}";
    assert_true(schema_accepts(list, "[[[[[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]]]]]"));
    assert_false(schema_accepts(list, "[[[[[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]]]]"));
}

/* ---- damaged schemas ---------------------------------------------------------------------------- */

static const char sample[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-1.5e1,"
        "\"multipleOf\":3},\"b\":{\"$ref\":\"#/$defs/s~0\"},\"c\":{\"prefixItems\":[{\"enum\":[1,"
        "{\"k\":[]}]}],\"items\":{\"$ref\":\"#\"}}},\"required\":[\"z\"],\"$defs\":{\"s~\":{"
        "\"oneOf\":[{\"format\":\"date\",\"type\":\"string\"},{\"type\":\"null\"}]}}}";

static void compile_damaged(const char *text, size_t n)
{
    char *copy = malloc(n ? n : 1); /* without a terminating NUL, to catch reads beyond the end */
    assert_non_null(copy);
    memcpy(copy, text, n);
    compiled_schema c;
    vug_err err = { 0 };
    if (compile_schema((vug_str){ copy, n }, &c, &err) == VUG_OK)
        vug_grammar_builder_destroy(c.builder);
    else
        assert_true(err.msg[0] != '\0');
    free(copy);
}

static void test_damaged_schemas(void **state)
{
    (void)state;
    char text[sizeof(sample)];
    for (size_t n = 0; n < sizeof(sample); n++)
        compile_damaged(sample, n);
    for (size_t i = 0; i + 1 < sizeof(sample); i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(text, sample, sizeof(sample));
            text[i] = (char)(text[i] ^ 1 << bit);
            compile_damaged(text, sizeof(sample) - 1);
        }
    }
}

/* ---- for tools/schemas/fuzz ---------------------------------------------- */

static void print_line(const char *kind, vug_str text)
{
    vug_buf line = { 0 };
    vug_json_append_string(&line, text.ptr, text.len);
    printf("{\"%s\":%s}\n", kind, line.ptr);
    vug_buf_release(&line);
}

/* Whether an automaton matches a text, with arrays whose items differ. */
static bool matches_unique(const vug_automaton *a, vug_str text)
{
    vug_grammar_matcher matcher;
    vug_unique_items items = { 0 };
    const vug_unique_matcher m = { &matcher, &items };
    assert_int_equal(vug_grammar_matcher_init(&matcher, a, NULL), VUG_OK);
    const vug_stack_set at = vug_unique_match(&m, vug_grammar_matcher_start(&matcher), text, NULL);
    const bool yes = at != VUG_STACK_SET_FAILED && vug_stack_set_accepts(&matcher, at);
    vug_unique_items_release(&items);
    vug_grammar_matcher_release(&matcher);
    return yes;
}

/* Prints {"text":..} per text, {"empty":..} if there is none, or {"error":..}; then {"end":..}. */
static int generate_texts(const char *count)
{
    static char line[1 << 20];
    uint64_t seed = 1;
    const long n = strtol(count, NULL, 10);
    while (fgets(line, sizeof(line), stdin)) {
        compiled_schema c;
        vug_err err = { 0 };
        if (compile_schema(vug_str_of(line), &c, &err) != VUG_OK) {
            print_line("error", vug_str_of(err.msg));
        } else {
            vug_automaton *a = NULL;
            (void)!vug_automaton_create(c.builder, c.root, &a, &err);
            for (long i = 0; i < n; i++) {
                vug_buf text = { 0 };
                if (reference_generate(c.builder, c.root, &seed, 4000, &text) &&
                    (!a || matches_unique(a, (vug_str){ text.ptr, text.len })))
                    print_line("text", (vug_str){ text.ptr, text.len });
                else
                    print_line("empty", (vug_str){ 0 });
                vug_buf_release(&text);
            }
            vug_automaton_destroy(a);
            vug_grammar_builder_destroy(c.builder);
        }
        print_line("end", (vug_str){ 0 });
        (void)fflush(stdout);
    }
    return 0;
}

/* Reads {"schema":..,"texts":[..]} per line and prints 1 or 0 for each text. */
static int match_lines(void)
{
    static char line[1 << 20];
    while (fgets(line, sizeof(line), stdin)) {
        vug_arena arena = { 0 };
        const vug_jv *root = NULL;
        compiled_schema c;
        vug_err err = { 0 };
        if (vug_json_tree(vug_str_of(line), "line", &arena, &root, &err) != VUG_OK)
            return 1;
        vug_automaton *a = NULL;
        if (compile_schema(vug_jv_get(root, "schema")->str, &c, &err) == VUG_OK) {
            const vug_status st = vug_automaton_create(c.builder, c.root, &a, &err);
            for (const vug_jv *t = vug_jv_get(root, "texts")->child; t; t = t->next)
                putchar(st == VUG_OK && matches_unique(a, t->str) ? '1' : '0');
            vug_automaton_destroy(a);
            vug_grammar_builder_destroy(c.builder);
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
        return generate_texts(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--match") == 0)
        return match_lines();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_cases),
        cmocka_unit_test(test_many_optional_properties),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_reference_chains),
        cmocka_unit_test(test_damaged_schemas),
        cmocka_unit_test(test_integer_bounds),
        cmocka_unit_test(test_character_encodings),
        cmocka_unit_test(test_multiples_of_decimals),
        cmocka_unit_test(test_combined_patterns),
        cmocka_unit_test(test_openapi_and_draft_4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
