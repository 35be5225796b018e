#ifndef VUG_TEXT_GRAMMAR_SCHEMA_URI_H
#define VUG_TEXT_GRAMMAR_SCHEMA_URI_H

#include "text/grammar/schema_internal.h"

/* What `reference`, which has no fragment, refers to in a document with the URI `base` (RFC 3986,
 * section 5.2). The base may be empty or relative itself; then the result is relative, too. In
 * memory of the compiler. */
vug_str vug_schema_resolve_uri(vug_schema_compiler *s, vug_str base, vug_str reference);

#endif
