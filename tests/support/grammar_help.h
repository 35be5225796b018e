#ifndef VUG_TESTS_SUPPORT_GRAMMAR_HELP_H
#define VUG_TESTS_SUPPORT_GRAMMAR_HELP_H

/* Compiles automata without a vocabulary and matches texts, for tests. */

#include "text/grammar/automaton_compiler.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/matcher.h"
#include "text/grammar/regex_grammar.h"

typedef vug_status grammar_parser(vug_grammar_builder *builder, vug_str text,
                                  vug_grammar_expr *root, vug_err *err);

/* Compiles a grammar. */
vug_status try_automaton(grammar_parser *parse, vug_str text, vug_automaton **out, vug_err *err);
/* Compiles a grammar, which must succeed. */
vug_automaton *automaton_of(grammar_parser *parse, const char *text);

typedef enum { MATCH_DEAD, MATCH_PREFIX, MATCH_WHOLE, MATCH_FAILED } match_result;

/* MATCH_PREFIX: the text does not match, but could be continued. */
match_result automaton_match(const vug_automaton *automaton, vug_str text);

#endif
