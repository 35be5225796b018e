#ifndef VUG_TEXT_GRAMMAR_SCHEMA_UNEVALUATED_H
#define VUG_TEXT_GRAMMAR_SCHEMA_UNEVALUATED_H

#include "text/grammar/schema_internal.h"

/* Appends to a case what unevaluatedProperties and unevaluatedItems of its schemas demand, as
 * schemas with additionalProperties and items. `out` has room for two for each schema that has
 * one of them. Returns how many were appended. */
size_t vug_schema_add_unevaluated(vug_schema_compiler *s, vug_schema_case c, const vug_jv **out);

#endif
