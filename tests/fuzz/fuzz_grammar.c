/*
 * text/grammar: GBNF and regular expressions. The first byte selects the kind, then comes the
 * grammar, and after a NUL a text to match. Checks of every grammar that compiles: cached steps
 * equal computed ones, dead texts stay dead, and a live text can be extended to a whole match or
 * to a limit.
 */

#include "fuzz/fuzz.h"
#include "text/grammar/automaton_compiler.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/matcher.h"
#include "text/grammar/regex_grammar.h"

enum { MAX_STEPS = 400 };

static bool is_alive(vug_stack_set stacks)
{
    return stacks != VUG_STACK_SET_DEAD && stacks != VUG_STACK_SET_FAILED;
}

/* Appends any byte that is allowed. A text without one must be a whole match. */
static vug_stack_set extend(vug_grammar_matcher *matcher, vug_stack_set stacks)
{
    const vug_automaton *a = matcher->a;
    for (uint32_t c = 0; c < a->n_classes; c++) {
        const vug_stack_set to = vug_grammar_matcher_step(matcher, stacks, a->byte_of[c]);
        if (to != VUG_STACK_SET_DEAD)
            return to;
    }
    VUG_ASSERT(vug_stack_set_accepts(matcher, stacks));
    return VUG_STACK_SET_DEAD;
}

static void match_text(const vug_automaton *automaton, vug_str text)
{
    vug_grammar_matcher matcher;
    vug_err err = { 0 };
    bool forgotten = false;
    if (vug_grammar_matcher_init(&matcher, automaton, NULL) != VUG_OK)
        return;
    vug_stack_set stacks = vug_grammar_matcher_start(&matcher);
    for (size_t i = 0; i < text.len && is_alive(stacks); i++) {
        const vug_stack_set to = vug_grammar_matcher_step(&matcher, stacks, (uint8_t)text.ptr[i]);
        VUG_ASSERT(to == VUG_STACK_SET_FAILED ||
                   to == vug_grammar_matcher_compute_step(
                                 &matcher, stacks, automaton->class_of[(uint8_t)text.ptr[i]]));
        stacks = to;
    }
    if (is_alive(stacks) &&
        vug_grammar_matcher_begin_call(&matcher, &stacks, &forgotten, NULL) == VUG_OK) {
        for (size_t i = 0; i < MAX_STEPS && is_alive(stacks); i++)
            stacks = extend(&matcher, stacks);
    }
    if (stacks == VUG_STACK_SET_FAILED)
        VUG_ASSERT(vug_grammar_matcher_error(&matcher, &err) != VUG_OK && err.msg[0] != '\0');
    vug_grammar_matcher_release(&matcher);
}

static vug_status parse_grammar(char kind, vug_grammar_builder *builder, vug_str text,
                                vug_grammar_expr *root, vug_err *err)
{
    if (kind == 'g')
        return vug_grammar_parse_gbnf(builder, text, root, err);
    return vug_grammar_parse_regex_with(builder, text,
                                        &(vug_regex_options){ .search = kind == 's' }, root, err);
}

int vug_fuzz_grammar(const uint8_t *data, size_t n)
{
    const char *bytes = (const char *)data;
    if (n == 0)
        return 0;
    const char *nul = memchr(bytes + 1, '\0', n - 1);
    const size_t len = nul ? (size_t)(nul - bytes) - 1 : n - 1;
    vug_grammar_builder *builder = vug_grammar_builder_create();
    vug_automaton *automaton = NULL;
    vug_grammar_expr root = VUG_EMPTY_EXPR;
    vug_err err = { 0 };
    if (!builder)
        return 0;
    vug_status st = parse_grammar(bytes[0], builder, (vug_str){ bytes + 1, len }, &root, &err);
    if (st == VUG_OK)
        st = vug_automaton_create(builder, root, &automaton, &err);
    VUG_ASSERT((st == VUG_OK) == (automaton != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK)
        match_text(automaton, nul ? (vug_str){ nul + 1, n - len - 2 } : (vug_str){ 0 });
    vug_automaton_destroy(automaton);
    vug_grammar_builder_destroy(builder);
    return 0;
}
