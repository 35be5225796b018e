#ifndef VUG_TEXT_GRAMMAR_LOOKAHEAD_H
#define VUG_TEXT_GRAMMAR_LOOKAHEAD_H

#include "text/grammar/grammar_builder.h"

/* Compiles the expression `root` of `source`, which may contain classes, sequences, choices,
 * repetitions and lookahead but no rules, to an expression of `builder` without lookahead. The
 * call adds expressions to `source`. `make_class` is NULL for vug_grammar_class. Of the texts that
 * match, those of at most `max_length` characters are kept; VUG_REPEAT_UNBOUNDED: all. */
vug_grammar_expr vug_grammar_resolve_lookahead(vug_grammar_builder *builder,
                                               vug_grammar_builder *source, vug_grammar_expr root,
                                               uint32_t max_length,
                                               vug_grammar_class_fn *make_class, void *user);

#endif
