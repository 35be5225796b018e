#ifndef VUG_TEXT_GRAMMAR_SCHEMA_DISCRIMINATOR_H
#define VUG_TEXT_GRAMMAR_SCHEMA_DISCRIMINATOR_H

#include "text/grammar/schema_internal.h"

/* What tells the branches of a oneOf apart: the value that each demands of the whole, or of a property
 * that it requires. `base`: the schemas that hold beside the oneOf. Returns [list->n] scalars; NULL
 * for a branch that demands none. NULL after a failure. */
const vug_jv **vug_schema_discriminate(vug_schema_compiler *s, vug_schema_case base,
                                       const vug_jv *list);
/* Whether two of them certainly differ, so that no value satisfies both branches. */
bool vug_schema_discriminates(const vug_jv *a, const vug_jv *b);

#endif
