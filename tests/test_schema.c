#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/os.h"
#include "rules_help.h"
#include "text/json_rules.h"

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

static size_t try_documents(const compiled *c, const vug_jv *list, bool accept, vug_str schema)
{
    size_t wrong = 0;
    for (const vug_jv *d = list ? list->child : NULL; d; d = d->next) {
        if (rules_match(c->rules, c->root, d->str) == accept)
            continue;
        print_message("%.*s %s %.*s\n", VUG_STR_ARG(schema), accept ? "does not accept" : "accepts",
                      VUG_STR_ARG(d->str));
        wrong++;
    }
    return wrong;
}

/* A case's schema is a string of JSON, as are its documents. */
static size_t try_case(const vug_jv *row)
{
    const vug_jv *schema = vug_jv_get(row, "schema"), *refused = vug_jv_get(row, "refused");
    assert_non_null(schema);
    compiled c;
    vug_err err = { 0 };
    const vug_status st = compile(schema->str, &c, &err);
    if (refused) {
        const bool right = st != VUG_OK && strstr(err.msg, refused->str.ptr ? "" : "") &&
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
    size_t wrong = try_documents(&c, vug_jv_get(row, "valid"), true, schema->str);
    wrong += try_documents(&c, vug_jv_get(row, "invalid"), false, schema->str);
    wrong += try_documents(&c, vug_jv_get(row, "otherwise"), false, schema->str);
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
    for (const vug_jv *row = root->child; row; row = row->next)
        wrong += try_case(row);
    assert_int_equal(wrong, 0);
    assert_true(root->n > 100);
    vug_arena_release(&arena);
    vug_buf_release(&buf);
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
    while (fgets(line, sizeof(line), stdin)) {
        compiled c;
        vug_err err = { 0 };
        if (compile(vug_str_of(line), &c, &err) != VUG_OK) {
            put_line("error", vug_str_of(err.msg));
        } else {
            for (int i = 0; i < atoi(count); i++) {
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
        if (compile(vug_jv_get(root, "schema")->str, &c, &err) == VUG_OK) {
            for (const vug_jv *t = vug_jv_get(root, "texts")->child; t; t = t->next)
                putchar(rules_match(c.rules, c.root, t->str) ? '1' : '0');
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
    (void)accepts;
    (void)refuses;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
