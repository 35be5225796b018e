#ifndef VUG_TEXT_GRAMMAR_COUNTED_ENDING_H
#define VUG_TEXT_GRAMMAR_COUNTED_ENDING_H

#include "text/grammar/grammar_builder.h"

/*
 * The sequence of a counted repetition of a class and a class that it contains, such as
 * [a-z0-9-]{0,61}[a-z0-9], without a choice in it: each character may be the last one, so that a
 * repetition would be left, on trial, after each of them. A bounded graph remembers whether the
 * text may end. Returns VUG_EMPTY_EXPR if the expressions are not of this kind, or the repetition is
 * short.
 */
vug_grammar_expr vug_grammar_counted_ending(vug_grammar_builder *builder, vug_grammar_expr repeated,
                                            vug_grammar_expr ending);

#endif
