#include "test.h"

#include "core/os.h"
#include "template_help.h"

/*
 * Templates against Jinja as transformers sets it up: small ones for each construct, whose
 * output tools/templates/cases.py wrote, and published chat templates with conversations. What
 * the reference refuses, vug refuses too.
 */

static vug_text read_file(const char *path)
{
    vug_text file = { 0 };
    vug_err err = { 0 };
    if (vug_read_file(path, 1 << 20, &file, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return file;
}

static const vug_jv *parse_json(vug_str text, vug_arena *arena)
{
    const vug_jv *root = NULL;
    vug_err err = { 0 };
    if (vug_json_tree(text, "golden", arena, &root, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return root;
}

/* The next line of a file, or false. */
static bool next_line(const char **at, vug_str *line)
{
    const char *end = strchr(*at, '\n');
    if (!end)
        return false;
    *line = (vug_str){ *at, (size_t)(end - *at) };
    *at = end + 1;
    return true;
}

/* Compares a rendering with the row, {"text": ..} or {"error": ..}. */
static void check_template(const vug_jv *row, vug_str source, const vug_template_var *var, size_t n)
{
    vug_template *tmpl = NULL;
    vug_prompt prompt = { 0 };
    vug_err err = { 0 };
    const vug_jv *want = vug_jv_get(row, "text");
    vug_status st = vug_template_parse(source, "t", &tmpl, &err);
    if (st == VUG_OK)
        st = vug_template_render(tmpl, var, n, 1700000000, &prompt, &err);
    if (want && st != VUG_OK)
        fail_msg("%.*s: %s", VUG_STR_ARG(source), err.msg);
    if (!want && st == VUG_OK)
        fail_msg("%.*s: not refused, but %s", VUG_STR_ARG(source), prompt.text.ptr);
    if (want && (!prompt.text.ptr || prompt.text.len != want->str.len ||
                 memcmp(prompt.text.ptr, want->str.ptr, prompt.text.len) != 0))
        fail_msg("%.*s\nwant: %.*s\ngot:  %s", VUG_STR_ARG(source), (int)want->str.len,
                 want->str.ptr, prompt.text.ptr);
    vug_template_destroy(tmpl);
    template_release(&prompt);
}

static void test_constructs_match_jinja(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_template_var var[TEMPLATE_MAX_VARIABLES];
    vug_text file = read_file("tests/golden/text/jinja.jsonl");
    const char *at = file.ptr;
    vug_str line = { 0 };
    assert_true(next_line(&at, &line));
    const size_t n =
            template_variables(vug_jv_get(parse_json(line, &arena), "variables"), &arena, var);
    int rows = 0;
    for (; next_line(&at, &line); rows++) {
        const vug_jv *row = parse_json(line, &arena);
        check_template(row, vug_jv_get(row, "template")->str, var, n);
    }
    assert_true(rows > 300);
    vug_arena_release(&arena);
    vug_text_release(&file);
}

/* Renders with the variables that transformers gives a template. */
static void check_chat(const vug_jv *row, const vug_jv *templates, vug_arena *arena)
{
    static const vug_jv none = { .type = VUG_JSON_NULL };
    static const vug_jv yes = { .type = VUG_JSON_BOOL, .boolean = true };
    vug_template_var var[TEMPLATE_MAX_VARIABLES + 6];
    const vug_jv *options = vug_jv_get(row, "options");
    const char *name = vug_arena_copy(arena, vug_jv_get(row, "template")->str).ptr;
    const vug_jv *tmpl = vug_jv_get(templates, name);
    size_t n = template_variables(options, arena, var);
    const vug_template_var more[] = {
        { "messages", vug_jv_get(row, "messages"), true },
        { "bos_token", vug_jv_get(tmpl, "bos_token"), false },
        { "eos_token", vug_jv_get(tmpl, "eos_token"), false },
        { "tools", &none, true },
        { "documents", &none, true },
        { "add_generation_prompt", &yes, false },
    };
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        if (!vug_jv_get(options, more[i].name) && more[i].value)
            var[n++] = more[i];
    }
    check_template(row, vug_jv_get(tmpl, "template")->str, var, n);
}

static void check_chats(const char *templates_path, const char *rows_path, int at_least)
{
    vug_arena arena = { 0 };
    vug_text templates = read_file(templates_path);
    vug_text rows = read_file(rows_path);
    const vug_jv *all = parse_json((vug_str){ templates.ptr, templates.len }, &arena);
    const char *at = rows.ptr;
    vug_str line = { 0 };
    int n = 0;
    for (; next_line(&at, &line); n++)
        check_chat(parse_json(line, &arena), all, &arena);
    assert_true(n >= at_least);
    vug_arena_release(&arena);
    vug_text_release(&templates);
    vug_text_release(&rows);
}

static void test_published_templates(void **state)
{
    (void)state;
    check_chats("tests/golden/text/chat_templates.json", "tests/golden/text/chat_templates.jsonl",
                30);
}

static void test_more_published_templates(void **state)
{
    (void)state;
    const char *templates = "../shared/golden/text/templates.json";
    if (!vug_file_exists(templates)) {
        print_message("the larger set of conversations is not here\n");
        skip();
    }
    check_chats(templates, "../shared/golden/text/chat.jsonl", 200);
}

static void test_strftime_now(void **state)
{
    (void)state;
    template_expect("{{ strftime_now('%Y') }}", "{}", "2023");
    template_expect("[{{ strftime_now('') }}] {{ strftime_now('100%%') }}", "{}", "[] 100%");
}

/* Objects that Jinja prints with an address. */
static void test_printed_objects(void **state)
{
    (void)state;
    template_expect("{{ m }}{% macro m() %}{% endmacro %}", "{}", "");
    template_expect("{% macro m() %}{% endmacro %}{{ m }} {{ range }} {{ 'a'.upper }}", "{}",
                    "<Macro object> <function object> <method object>");
    template_expect("{% for x in [1] %}{{ loop }}{% endfor %}", "{}", "<LoopContext object>");
}

/* Whole numbers at the limits of 64 bits, and next to doubles that cannot tell them apart. The
 * expected texts are Jinja's. */
static void test_large_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *source, *text;
    } row[] = {
        { "{{ 9007199254740993 == 9007199254740992.0 }} {{ 9007199254740993 > 9007199254740992.0 }}"
          " {{ 9007199254740992.0 < 9007199254740993 }} {{ 9223372036854775807 < 2.0 ** 63 }}"
          " {{ -1e300 < -9223372036854775807 }} {{ 1 == 1.0 }} {{ -1 > -1.5 }} {{ -1.5 < -1 }}",
          "False True True True True True True True" },
        { "{{ {9007199254740993: 1, 9007199254740992.0: 2}|length }} {{ {1: 'i', 1.0: 'f'} }}"
          " {{ {9007199254740993: 'i'}[9007199254740992.0] }}",
          "2 {1: 'f'} " },
        { "{{ [3.5, 9007199254740993, 9007199254740992.0, 2]|sort }}"
          " {{ [9007199254740992.0, 9007199254740993]|max }}",
          "[2, 3.5, 9007199254740992.0, 9007199254740993] 9007199254740993" },
        { "{% set x = 'nan'|float %}{{ x == x }} {{ x < 1 }} {{ 1 < x }} {{ x != 1 }} {{ [x] < [1] "
          "}}"
          " {{ {1: 1, x: 2, 0: 3}[0] }}",
          "False False False True False 3" },
        { "{{ (-9223372036854775807 - 1) % 3 }} {{ (-9223372036854775807 - 1) // 3 }}"
          " {{ -9223372036854775807 % 5000000000000000000 }}"
          " {{ 9223372036854775807 % -5000000000000000000 }} {{ -7 % 3 }} {{ 7 % -3 }}",
          "1 -3074457345618258603 776627963145224193 -776627963145224193 2 -2" },
        { "{{ range(0, 5, 2) }} {{ range(5) }} {{ range(0, 10, 3)[1:] }} {{ range(0, 10, 3)[::-2] "
          "}}"
          " {{ range(0, 9223372036854775807, 9223372036854775806) }}",
          "range(0, 5, 2) range(0, 5) range(3, 12, 3) range(9, -3, -6)"
          " range(0, 9223372036854775807, 9223372036854775806)" },
        { "{% set r = range(-9000000000000000000, 9000000000000000000, 4000000000000000000) %}"
          "{{ r[::3]|list }} {{ r[4] }} {% for i in r %}{{ i // 10 ** 18 }} {% endfor %}",
          "[-9000000000000000000, 3000000000000000000] 7000000000000000000 -9 -5 -1 3 7 " },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        template_expect(row[i].source, "{}", row[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constructs_match_jinja),   cmocka_unit_test(test_published_templates),
        cmocka_unit_test(test_more_published_templates), cmocka_unit_test(test_strftime_now),
        cmocka_unit_test(test_printed_objects),          cmocka_unit_test(test_large_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
