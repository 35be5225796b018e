#include "grammar_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

vug_status automaton_try(grammar_front *front, vug_str text, vug_automaton **out, vug_err *err)
{
    vug_node root = VUG_NODE_EMPTY;
    vug_rules *rules = vug_rules_create();
    assert_non_null(rules);
    vug_status st = front(rules, text, &root, err);
    if (st == VUG_OK)
        st = vug_automaton_create(rules, root, out, err);
    vug_rules_destroy(rules);
    return st;
}

vug_automaton *automaton_of(grammar_front *front, const char *text)
{
    vug_automaton *a = NULL;
    vug_err err = { 0 };
    if (automaton_try(front, vug_str_of(text), &a, &err) != VUG_OK)
        fail_msg("%s: %s", text, err.msg);
    return a;
}

text_fate automaton_fate(const vug_automaton *automaton, vug_str text)
{
    vug_walk walk;
    assert_int_equal(vug_walk_init(&walk, automaton, NULL), VUG_OK);
    vug_place at = vug_walk_start(&walk);
    for (size_t i = 0; i < text.len && at != VUG_PLACE_DEAD && at != VUG_PLACE_FAILED; i++)
        at = vug_walk_step(&walk, at, (uint8_t)text.ptr[i]);
    text_fate fate = TEXT_FAILED;
    if (at == VUG_PLACE_DEAD)
        fate = TEXT_DEAD;
    else if (at != VUG_PLACE_FAILED)
        fate = vug_place_done(&walk, at) ? TEXT_WHOLE : TEXT_BEGUN;
    vug_walk_release(&walk);
    return fate;
}
