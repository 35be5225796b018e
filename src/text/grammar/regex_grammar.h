#ifndef VUG_TEXT_GRAMMAR_REGEX_GRAMMAR_H
#define VUG_TEXT_GRAMMAR_REGEX_GRAMMAR_H

/* Regular expressions as grammars. */

#include "text/grammar/grammar_builder.h"

typedef struct {
    bool search;         /* may match anywhere in the text, like "pattern" in a schema */
    bool keep_lookahead; /* leave lookahead as vug_grammar_lookahead */
    vug_grammar_class_fn *make_class; /* NULL: vug_grammar_class */
    void *user;                       /* for make_class */
} vug_regex_options;

/* Parses a regular expression that must match the whole text. */
VUG_MUST_CHECK vug_status vug_grammar_parse_regex(vug_grammar_builder *builder, vug_str text,
                                                  vug_grammar_expr *root, vug_err *err);
VUG_MUST_CHECK vug_status vug_grammar_parse_regex_with(vug_grammar_builder *builder, vug_str text,
                                                       const vug_regex_options *options,
                                                       vug_grammar_expr *root, vug_err *err);

#endif
