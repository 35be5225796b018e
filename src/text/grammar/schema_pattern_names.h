#ifndef VUG_TEXT_GRAMMAR_SCHEMA_PATTERN_NAMES_H
#define VUG_TEXT_GRAMMAR_SCHEMA_PATTERN_NAMES_H

/* Names that patternProperties and propertyNames tell apart. */

#include "text/grammar/schema_internal.h"

typedef struct {
    vug_grammar_expr name; /* with its quotes */
    vug_schema_set values;
} vug_schema_name_class;

typedef struct {
    vug_schema_name_class *list;
    size_t n;
} vug_schema_name_classes;

/* The additional names of a case, none of the `n` names of its properties: a class for each
 * choice of patterns that match. Classes whose values nothing satisfies are left out. */
vug_schema_name_classes vug_schema_split_names(vug_schema_compiler *s, vug_schema_case c,
                                               vug_schema_set names, const vug_str *known,
                                               size_t n_known);

#endif
