#include "test.h"

#include "grammar_help.h"

vug_status try_automaton(grammar_parser *parse, vug_str text, vug_automaton **out, vug_err *err)
{
    vug_grammar_expr root = VUG_EMPTY_EXPR;
    vug_grammar_builder *builder = vug_grammar_builder_create();
    assert_non_null(builder);
    vug_status st = parse(builder, text, &root, err);
    if (st == VUG_OK)
        st = vug_automaton_create(builder, root, out, err);
    vug_grammar_builder_destroy(builder);
    return st;
}

vug_automaton *automaton_of(grammar_parser *parse, const char *text)
{
    vug_automaton *a = NULL;
    vug_err err = { 0 };
    if (try_automaton(parse, vug_str_of(text), &a, &err) != VUG_OK)
        fail_msg("%s: %s", text, err.msg);
    return a;
}

match_result automaton_match(const vug_automaton *automaton, vug_str text)
{
    vug_grammar_matcher matcher;
    assert_int_equal(vug_grammar_matcher_init(&matcher, automaton, NULL), VUG_OK);
    vug_stack_set at = vug_grammar_matcher_start(&matcher);
    for (size_t i = 0; i < text.len && at != VUG_STACK_SET_DEAD && at != VUG_STACK_SET_FAILED; i++)
        at = vug_grammar_matcher_step(&matcher, at, (uint8_t)text.ptr[i]);
    match_result result = MATCH_FAILED;
    if (at == VUG_STACK_SET_DEAD)
        result = MATCH_DEAD;
    else if (at != VUG_STACK_SET_FAILED)
        result = vug_stack_set_accepts(&matcher, at) ? MATCH_WHOLE : MATCH_PREFIX;
    vug_grammar_matcher_release(&matcher);
    return result;
}
