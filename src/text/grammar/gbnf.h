#ifndef VUG_TEXT_GRAMMAR_GBNF_H
#define VUG_TEXT_GRAMMAR_GBNF_H

#include "text/grammar/grammar_builder.h"

/* Parses GBNF, llama.cpp's grammar language. `root` becomes its rule "root". */
VUG_MUST_CHECK vug_status vug_grammar_parse_gbnf(vug_grammar_builder *builder, vug_str text,
                                                 vug_grammar_expr *root, vug_err *err);

#endif
