#ifndef VUG_TEXT_GRAMMAR_GRAMMAR_COMPILER_H
#define VUG_TEXT_GRAMMAR_GRAMMAR_COMPILER_H

/* Grammars that are built from several parts, such as those of tool calls. */

#include "text/grammar/grammar_builder.h"
#include "vug/grammar.h"

/* Parses a text of the given kind. */
VUG_MUST_CHECK vug_status vug_grammar_parse(vug_grammar_builder *builder, vug_grammar_kind kind,
                                            vug_str text, vug_grammar_expr *root, vug_err *err);
/* Compiles the expression `root`. The builder is not needed afterwards. */
VUG_MUST_CHECK vug_status vug_grammar_compile(const vug_grammar_builder *builder,
                                              vug_grammar_expr root, const vug_tokenizer *tokenizer,
                                              vug_grammar **out, vug_err *err);

#endif
