#ifndef VUG_TEXT_GRAMMAR_SCHEMA_EXPANSION_H
#define VUG_TEXT_GRAMMAR_SCHEMA_EXPANSION_H

/* The expansion of a set to cases (schema_normalize.c), and what it asks schema_disjoint.c. */

#include "text/grammar/schema_internal.h"

/* Proofs about what has been joined so far. */
typedef struct {
    /* Whether a value may satisfy two branches of a oneOf, and `base`. */
    bool (*may_overlap)(vug_schema_compiler *s, vug_schema_case base, const vug_jv *a,
                        const vug_jv *b);
    /* Whether certainly nothing satisfies it. */
    bool (*is_unsatisfiable)(vug_schema_compiler *s, vug_schema_case c);
    /* Whether all that satisfies it certainly satisfies a schema. */
    bool (*implies)(vug_schema_compiler *s, vug_schema_case c, const vug_jv *schema);
} vug_schema_proofs;

/* Appends the ways to satisfy a case and a set together. Each branch of a oneOf excludes those that
 * may overlap; if there are too many ways, those that nothing satisfies are left out. Without
 * `proofs`, a oneOf is an anyOf, and too many ways are incomplete. */
void vug_schema_expand(vug_schema_compiler *s, vug_schema_case base, vug_schema_set more,
                       const vug_schema_proofs *proofs, vug_schema_cases *out);

#endif
