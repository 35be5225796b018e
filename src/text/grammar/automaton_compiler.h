#ifndef VUG_TEXT_GRAMMAR_AUTOMATON_COMPILER_H
#define VUG_TEXT_GRAMMAR_AUTOMATON_COMPILER_H

/*
 * Compiles expressions to an automaton:
 *
 *     expressions ─► inline plan ─► an NFA per body ─► a DFA per body ─► finished automaton
 */

#include "text/grammar/automaton.h"
#include "text/grammar/grammar_builder.h"

/* Every state of the automaton can reach the end of its body. A grammar that matches no text
 * is refused, and so is left recursion. */
VUG_MUST_CHECK vug_status vug_automaton_create(const vug_grammar_builder *builder,
                                               vug_grammar_expr root, vug_automaton **out,
                                               vug_err *err);

#endif
