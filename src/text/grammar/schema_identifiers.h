#ifndef VUG_TEXT_GRAMMAR_SCHEMA_IDENTIFIERS_H
#define VUG_TEXT_GRAMMAR_SCHEMA_IDENTIFIERS_H

/*
 * The names that references of a schema use: identifiers ($id; "id" in draft 4) and anchors.
 * A schema with an identifier is a document of its own: references in it, and its anchors, belong
 * to it. The others belong to the root.
 */

#include "text/grammar/schema_internal.h"

/* The part of a URI before '#'; `fragment` becomes what follows it. */
vug_str vug_schema_split_fragment(vug_str uri, vug_str *fragment);
/* The document that a reference belongs to. */
const vug_jv *vug_schema_document_of(vug_schema_compiler *s, const vug_jv *ref);
/* The document that `reference` (without a fragment), in the document of `ref`, names; NULL if it
 * is not part of the root. */
const vug_jv *vug_schema_find_document(vug_schema_compiler *s, const vug_jv *ref,
                                       vug_str reference);
/* The schema with that anchor in a document, or NULL. For a $dynamicRef, the first one in the
 * documents that a validation has gone through; it is refused unless that is certain. */
const vug_jv *vug_schema_find_anchor(vug_schema_compiler *s, const vug_jv *ref,
                                     const vug_jv *document, vug_str name);
/* Whether a document inside of the root, other than `known`, has "$recursiveAnchor": true. */
bool vug_schema_has_other_recursive_anchor(vug_schema_compiler *s, const vug_jv *known);
bool vug_schema_is_recursive_anchor(const vug_jv *schema);

#endif
