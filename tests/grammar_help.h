#ifndef VUG_TESTS_GRAMMAR_HELP_H
#define VUG_TESTS_GRAMMAR_HELP_H

/* Automata without a vocabulary, for tests: which texts they match. */

#include "text/grammar/walk.h"

typedef vug_status grammar_front(vug_rules *rules, vug_str text, vug_node *root, vug_err *err);

/* From a text to an automaton. */
vug_status automaton_try(grammar_front *front, vug_str text, vug_automaton **out, vug_err *err);
/* Must succeed. */
vug_automaton *automaton_of(grammar_front *front, const char *text);

typedef enum { TEXT_DEAD, TEXT_BEGUN, TEXT_WHOLE, TEXT_FAILED } text_fate;

/* What becomes of a text: TEXT_BEGUN where more must come. */
text_fate automaton_fate(const vug_automaton *automaton, vug_str text);

#endif
