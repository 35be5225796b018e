#ifndef VUG_TEXT_GRAMMAR_DFA_H
#define VUG_TEXT_GRAMMAR_DFA_H

#include "text/grammar/nfa.h"

/* Makes the bodies of an NFA deterministic. Fills in the states, edges, calls and rules of the
 * automaton; vug_automaton_finish does the rest. */
VUG_MUST_CHECK vug_status vug_dfa_build(const vug_nfa *nfa, vug_automaton *automaton, vug_err *err);

#endif
