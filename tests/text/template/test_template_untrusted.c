#include "test.h"

#include "core/os.h"
#include "template_help.h"

/*
 * Text of untrusted variables is untrusted in the prompt, whatever operations it went through.
 * The template's own text is not.
 */

/* Renders, and puts brackets around the untrusted ranges. */
static void expect_ranges(const char *source, const char *variables, const char *want)
{
    vug_prompt prompt = { 0 };
    vug_err err = { 0 };
    vug_buf shown = { 0 };
    if (template_render(source, variables, &prompt, &err) != VUG_OK)
        fail_msg("%s: %s", source, err.msg);
    size_t at = 0;
    for (size_t i = 0; i < prompt.n_untrusted; i++) {
        const vug_range r = prompt.untrusted[i];
        assert_true(r.from >= at && r.to > r.from && r.to <= prompt.text.len);
        assert_true(i == 0 || r.from > at); /* apart */
        vug_buf_append(&shown, prompt.text.ptr + at, r.from - at);
        vug_buf_puts(&shown, "[");
        vug_buf_append(&shown, prompt.text.ptr + r.from, r.to - r.from);
        vug_buf_puts(&shown, "]");
        at = r.to;
    }
    vug_buf_append(&shown, prompt.text.ptr + at, prompt.text.len - at);
    assert_string_equal(shown.ptr, want);
    vug_buf_release(&shown);
    template_release(&prompt);
}

#define VARIABLES                                                               \
    "{\"s\":\"ab cd\",\"t\":\"  x<y \",\"u\":\"\",\"n\":7,\"l\":[\"p\",\"q\"]," \
    "\"d\":{\"k\":\"v\",\"a\":[1,true,null]},\"e\":\"\xc3\xa9\xc3\x9f\","       \
    "\"f\":\"%s-{}\",\"lines\":\"1\\n2\"}"

static void test_operations_keep_the_taint(void **state)
{
    (void)state;
    static const struct {
        const char *source, *want;
    } row[] = {
        { "<|im_start|>{{ s }}<|im_end|>", "<|im_start|>[ab cd]<|im_end|>" },
        { "{{ u }}{{ n }}{{ 'x' }}", "7x" },
        { "{{ s + '!' + s }}", "[ab cd]![ab cd]" },
        { "{{ 'a' ~ n ~ s ~ 1 }}", "a7[ab cd]1" },
        { "{{ s[1:4] }}{{ s[0] }}{{ s[::-1] }}", "[b cadc ba]" },
        { "{{ t.strip() }}|{{ t|trim }}|", "[x<y]|[x<y]|" },
        { "{{ s.split(' ')|join('-') }}", "[ab]-[cd]" },
        { "{{ s.split(' ')[-1] }}", "[cd]" },
        { "{{ s.replace('b', 'B') }}", "[a]B[ cd]" },
        { "{{ 'x-y'.replace('-', s) }}", "x[ab cd]y" },
        { "{{ s|upper }}{{ s.title() }}{{ e|upper }}", "[AB CDAb Cd\xc3\x89SS]" },
        { "{{ l|join(', ') }}", "[p], [q]" },
        { "{{ d|tojson }}", "{\"[k]\": \"[v]\", \"[a]\": [1, true, null]}" },
        { "{{ t|safe }}", "[  x<y ]" },
        { "{% for c in s %}{{ c }}.{% endfor %}", "[a].[b].[ ].[c].[d]." },
        { "{% for k, v in d.items() %}{{ k }}={{ v|length }};{% endfor %}", "[k]=1;[a]=3;" },
        { "{% set x %}<{{ s }}>{% endset %}{{ x }}{{ x|length }}", "<[ab cd]>7" },
        { "{% macro m(a) %}({{ a }}){% endmacro %}{{ m(s) }}{{ m('s') }}", "([ab cd])(s)" },
        { "{% filter upper %}x{{ s }}{% endfilter %}", "X[AB CD]" },
        { "{{ '%s|%s' % (s, u) }}", "[ab cd]|" },
        { "{{ f % s }}", "[ab cd-{}]" },
        { "{{ '{}:{}'.format(s, 1) }}", "[ab cd]:1" },
        { "{{ lines|indent(2) }}", "[1]\n  [2]" },
        { "{{ s.partition(' ')[0] }}{{ s.removeprefix('a') }}", "[abb cd]" },
        { "{{ s * 2 }}", "[ab cdab cd]" },
        { "{{ s|list|first }}{{ l|last }}", "[aq]" },
        { "{{ l|map('upper')|join }}", "[PQ]" },
        { "{{ l|sort|reverse|join('') }}", "[qp]" },
        { "{{ (u or '<bos>') ~ (s if s else '') }}", "<bos>[ab cd]" },
        { "{% set ns = namespace(t='') %}{% for i in l %}{% set ns.t = ns.t + i + ',' %}{% endfor "
          "%}"
          "{{ ns.t }}",
          "[p],[q]," },
        { "{{ d.k|default('x') }}{{ d.z|default('x') }}", "[v]x" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        expect_ranges(row[i].source, VARIABLES, row[i].want);
}

/* A list prints brackets itself, so its ranges are compared one by one. */
static void test_printed_lists(void **state)
{
    (void)state;
    vug_prompt prompt = { 0 };
    assert_int_equal(template_render("{{ l }}", VARIABLES, &prompt, NULL), VUG_OK);
    assert_string_equal(prompt.text.ptr, "['p', 'q']");
    assert_int_equal(prompt.n_untrusted, 2);
    assert_int_equal(prompt.untrusted[0].from, 2);
    assert_int_equal(prompt.untrusted[0].to, 3);
    assert_int_equal(prompt.untrusted[1].from, 7);
    template_release(&prompt);
}

/* Text of a trusted variable is not untrusted. */
static void test_trusted_variables_are_not_tainted(void **state)
{
    (void)state;
    vug_template *tmpl = NULL;
    vug_prompt prompt = { 0 };
    const vug_jv bos = { .type = VUG_JSON_STRING, .str = vug_str_of("<bos>") };
    const vug_jv text = { .type = VUG_JSON_STRING, .str = vug_str_of("<bos>") };
    const vug_template_var var[] = { { "bos", &bos, false }, { "text", &text, true } };
    assert_int_equal(
            vug_template_parse(vug_str_of("{{ bos }}{{ text }}{{ bos + text }}"), "t", &tmpl, NULL),
            VUG_OK);
    assert_int_equal(vug_template_render(tmpl, var, 2, 0, &prompt, NULL), VUG_OK);
    assert_string_equal(prompt.text.ptr, "<bos><bos><bos><bos>");
    assert_int_equal(prompt.n_untrusted, 2);
    assert_int_equal(prompt.untrusted[0].from, 5);
    assert_int_equal(prompt.untrusted[0].to, 10);
    assert_int_equal(prompt.untrusted[1].from, 15);
    assert_int_equal(prompt.untrusted[1].to, 20);
    template_release(&prompt);
    vug_template_destroy(tmpl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations_keep_the_taint),
        cmocka_unit_test(test_printed_lists),
        cmocka_unit_test(test_trusted_variables_are_not_tainted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
