#include "test.h"

#include "template_help.h"

size_t template_variables(const vug_jv *object, vug_arena *arena, vug_template_var *var)
{
    size_t n = 0;
    for (const vug_jv *m = object ? object->child : NULL; m; m = m->next) {
        assert_true(n < TEMPLATE_MAX_VARIABLES);
        var[n++] = (vug_template_var){ vug_arena_copy(arena, m->key).ptr, m, true };
    }
    return n;
}

vug_status template_render(const char *source, const char *variables, vug_prompt *out, vug_err *err)
{
    vug_arena arena = { 0 };
    vug_template *tmpl = NULL;
    const vug_jv *object = NULL;
    vug_template_var var[TEMPLATE_MAX_VARIABLES];
    assert_int_equal(vug_json_tree(vug_str_of(variables), "variables", &arena, &object, NULL),
                     VUG_OK);
    const size_t n = template_variables(object, &arena, var);
    vug_status st = vug_template_parse(vug_str_of(source), "t", &tmpl, err);
    if (st == VUG_OK)
        st = vug_template_render(tmpl, var, n, 1700000000, out, err);
    vug_template_destroy(tmpl);
    vug_arena_release(&arena);
    return st;
}

void template_release(vug_prompt *prompt)
{
    vug_text_release(&prompt->text);
    vug_free(prompt->untrusted);
    *prompt = (vug_prompt){ 0 };
}

void template_expect(const char *source, const char *variables, const char *want)
{
    vug_prompt prompt = { 0 };
    vug_err err = { 0 };
    if (template_render(source, variables, &prompt, &err) != VUG_OK)
        fail_msg("%s: %s", source, err.msg);
    assert_string_equal(prompt.text.ptr, want);
    template_release(&prompt);
}

void template_refuse(const char *source, const char *variables, const char *message)
{
    vug_prompt prompt = { 0 };
    vug_err err = { 0 };
    if (template_render(source, variables, &prompt, &err) == VUG_OK)
        fail_msg("%s: rendered as %s", source, prompt.text.ptr);
    assert_string_equal(err.msg, message);
}
