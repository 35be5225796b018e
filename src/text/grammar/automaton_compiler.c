#include "text/grammar/automaton_compiler.h"

#include "text/grammar/dfa.h"
#include "text/grammar/inline_plan.h"
#include "text/grammar/nfa.h"

static vug_status refuse_left_recursion(const vug_grammar_builder *builder, const vug_nfa *nfa,
                                        const vug_automaton *a, uint32_t start, vug_err *err)
{
    vug_str name = { 0 };
    for (size_t i = 0; i < a->n_rules; i++) {
        const vug_grammar_expr expr = VUG_NFA_BODY(nfa)[VUG_NFA_RULE(nfa)[i].body].expr;
        const vug_expr_node *node = vug_expr_get(builder, expr);
        if (a->rule[i].start == start && node->kind == VUG_EXPR_RULE)
            name = vug_expr_rule_name(builder, node);
    }
    return VUG_FAIL(err, VUG_UNSUPPORTED,
                    "the rule '%.*s' can begin with itself (left recursion); write a repetition, "
                    "or put something before the recursive reference",
                    VUG_STR_ARG(name));
}

static void mark_unique_items(const vug_grammar_builder *builder, const vug_nfa *nfa,
                              vug_automaton *a)
{
    for (size_t i = 0; i < a->n_rules; i++) {
        const vug_grammar_expr expr = VUG_NFA_BODY(nfa)[VUG_NFA_RULE(nfa)[i].body].expr;
        if (!vug_expr_get(builder, expr)->unique_items)
            continue;
        a->state[a->rule[i].start].unique_items = true;
        a->has_unique_items = true;
    }
}

static vug_status compile_automaton(const vug_grammar_builder *builder, vug_grammar_expr root,
                                    vug_automaton *a, vug_err *err)
{
    vug_inline_plan plan = { 0 };
    vug_nfa nfa = { 0 };
    uint32_t left_recursive = VUG_STATE_NONE;
    vug_status st = vug_inline_plan_create(builder, root, &plan, err);
    if (st == VUG_OK)
        st = vug_nfa_build(builder, root, &plan, &nfa, err);
    vug_free(plan.flags);
    if (st == VUG_OK)
        st = vug_dfa_build(&nfa, a, err);
    if (st == VUG_OK)
        st = vug_automaton_finish(a, &left_recursive, err);
    if (st == VUG_OK && left_recursive != VUG_STATE_NONE)
        st = refuse_left_recursion(builder, &nfa, a, left_recursive, err);
    if (st == VUG_OK)
        mark_unique_items(builder, &nfa, a);
    vug_nfa_release(&nfa);
    return st;
}

vug_status vug_automaton_create(const vug_grammar_builder *builder, vug_grammar_expr root,
                                vug_automaton **out, vug_err *err)
{
    VUG_TRY(vug_grammar_builder_ok(builder, err));
    vug_automaton *a = vug_alloc_zero(1, sizeof(*a));
    if (!a)
        return VUG_FAIL_NOMEM(err, "the automaton of a grammar", sizeof(*a));
    const vug_status st = compile_automaton(builder, root, a, err);
    if (st != VUG_OK) {
        vug_automaton_destroy(a);
        return st;
    }
    *out = a;
    return VUG_OK;
}
