#ifndef VUG_TEXT_GRAMMAR_SCHEMA_H
#define VUG_TEXT_GRAMMAR_SCHEMA_H

/* JSON schemas as grammars. docs/structured-output.md says which schemas are supported. */

#include "text/grammar/json_grammar.h"

VUG_MUST_CHECK vug_status vug_grammar_parse_schema(vug_grammar_builder *builder, vug_str text,
                                                   vug_grammar_expr *root, vug_err *err);
/* Objects that satisfy a schema, written as `json` says: the arguments of a tool call. */
VUG_MUST_CHECK vug_status vug_grammar_parse_object_schema(const vug_json_grammar *json,
                                                          const vug_jv *schema,
                                                          vug_grammar_expr *root, vug_err *err);
/* The same, written as parameters with values of `in_parameter`. */
VUG_MUST_CHECK vug_status vug_grammar_parse_parameter_schema(const vug_json_grammar *in_parameter,
                                                             const vug_jv *schema,
                                                             vug_grammar_expr *root, vug_err *err);

#endif
