#ifndef VUG_TEXT_GRAMMAR_SCHEMA_SETS_H
#define VUG_TEXT_GRAMMAR_SCHEMA_SETS_H

/* Collects a set whose size is not known before, one at a time: start, add each schema, take the
 * set. */

#include "text/grammar/schema_internal.h"

static inline void vug_schema_start_set(vug_schema_compiler *s)
{
    s->collected.len = 0;
}

/* NULL is not added. */
static inline void vug_schema_add_to_set(vug_schema_compiler *s, const vug_jv *schema)
{
    if (schema)
        vug_buf_push(&s->collected, &schema, sizeof(const vug_jv *));
}

/* The set is in the arena of the compiler. Empty after a failure. */
vug_schema_set vug_schema_take_set(vug_schema_compiler *s);

#endif
