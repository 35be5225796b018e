#ifndef VUG_TEXT_GRAMMAR_SCHEMA_ARRAY_ITEMS_H
#define VUG_TEXT_GRAMMAR_SCHEMA_ARRAY_ITEMS_H

/* What the files about arrays share: a prefix of items with schemas of their own, then any number
 * of equal items. */

#include "text/grammar/schema_internal.h"

typedef struct {
    size_t n_prefix;      /* items with schemas of their own */
    uint64_t min, max;    /* UINT64_MAX: no limit */
    bool open;            /* more items may follow the prefix */
    const vug_jv *unique; /* the uniqueItems that forbids equal items; NULL: they may be equal */
    vug_schema_set *item; /* [n_prefix + 1]: the schemas of each prefix item, and of all others */
} vug_schema_array_items;

/* ---- schema_case.c -------------------------------------------------------------------------- */

/* The items of a schema that have schemas of their own, or NULL. `rest` becomes the schema of all
 * others, or NULL. */
const vug_jv *vug_schema_prefix_items(const vug_jv *schema, const vug_jv **rest);

/* ---- schema_unique_items.c ---------------------------------------------------------------- */

/* One or more items, no two of them equal, if each has one of a few values; else false. */
bool vug_schema_few_items_expr(vug_schema_compiler *s, const vug_schema_array_items *items,
                               vug_grammar_expr *out);
/* An array, with its brackets, whose items differ: the state of a text remembers them. */
vug_grammar_expr vug_schema_many_items_expr(vug_schema_compiler *s,
                                            const vug_schema_array_items *items,
                                            vug_grammar_expr items_expr);

/* ---- schema_contains.c ---------------------------------------------------------------------- */

enum { VUG_SCHEMA_MAX_CONTAINS = 4 }; /* for one array */

/* At least `min` and at most `max` items satisfy `schema`. */
typedef struct {
    const vug_jv *schema;
    uint64_t min, max; /* UINT64_MAX: no limit */
} vug_schema_contains;

/* All of them must hold. */
typedef struct {
    vug_schema_contains list[VUG_SCHEMA_MAX_CONTAINS];
    size_t n;
} vug_schema_contained;

/* The `contains` of a case, without those that have no effect. */
vug_schema_contained vug_schema_read_contained(vug_schema_compiler *s, vug_schema_case c);
/* Whether an empty array satisfies them. */
bool vug_schema_may_contain_none(const vug_schema_contained *contained);
/* One or more items. */
vug_grammar_expr vug_schema_contained_expr(vug_schema_compiler *s,
                                           const vug_schema_array_items *items,
                                           const vug_schema_contained *contained);

#endif
