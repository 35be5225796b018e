#ifndef VUG_TEXT_GRAMMAR_GRAMMAR_H
#define VUG_TEXT_GRAMMAR_GRAMMAR_H

/* Grammars whose rules are put together from parts: those of tool calls. */

#include "text/grammar/rules.h"
#include "vug/grammar.h"

/* The rules of a text of that kind. */
VUG_MUST_CHECK vug_status vug_grammar_read(vug_rules *rules, vug_grammar_kind kind, vug_str text,
                                           vug_node *root, vug_err *err);
/* The rules are not needed afterwards. */
VUG_MUST_CHECK vug_status vug_grammar_over(const vug_rules *rules, vug_node root,
                                           const vug_tokenizer *tokenizer, vug_grammar **out,
                                           vug_err *err);

#endif
