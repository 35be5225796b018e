#ifndef VUG_TEXT_GRAMMAR_SCHEMA_MEMBERS_H
#define VUG_TEXT_GRAMMAR_SCHEMA_MEMBERS_H

/* The members of an object. */

#include "text/grammar/schema_internal.h"

typedef struct {
    vug_grammar_expr pair; /* key and value; VUG_EMPTY_EXPR if the property may not occur */
    bool required;
} vug_schema_object_member;

typedef struct {
    vug_schema_case c;
    const vug_schema_object_member *member; /* [n], in the order in which they are written */
    size_t n;
    uint64_t min, max; /* members; UINT64_MAX: no limit */
    bool open;         /* additional members are allowed */
    vug_grammar_expr additional;
    vug_grammar_expr last; /* an additional member that must be written last, or VUG_EMPTY_EXPR */
} vug_schema_members;

vug_grammar_expr vug_schema_members_expr(vug_schema_compiler *s, const vug_schema_members *m);

#endif
