#ifndef VUG_TEXT_GRAMMAR_SCHEMA_H
#define VUG_TEXT_GRAMMAR_SCHEMA_H

/*
 * Inside of the compiler of JSON schemas: what schema*.c share. Which schemas are read
 * is in docs/structured-output.md.
 *
 * A value has to satisfy several schemas at once: what a $ref names and what stands beside
 * it, the members of allOf, the same property in two of them. So the unit is not a schema
 * but a set of them, all of which hold:
 *
 *     set ─► cases (schema_cases.c)   $ref and allOf joined, one case per choice of anyOf
 *     case ─► rules, a type at a time (schema_number.c, _string.c, _array.c, _object.c)
 *     property or item of a case ─► a set again, whose rule is made later (schema.c)
 *
 * Sets are remembered, so recursive schemas end, and nothing here recurses with the depth
 * of what a schema describes.
 *
 * Sticky: the first failure is kept, with the place in the schema, and everything later
 * does nothing.
 */

#include "core/json.h"
#include "core/mem.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/sets.h"
#include "text/tokenizer/index.h"

#define VUG_SCHEMA_MAX_BYTES    ((size_t)1 << 20)
#define VUG_SCHEMA_MAX_MEMORY   ((size_t)128 << 20)
#define VUG_SCHEMA_MAX_SCHEMAS  ((uint32_t)1 << 16) /* that are reached */
#define VUG_SCHEMA_MAX_SETS     ((uint32_t)1 << 14)
#define VUG_SCHEMA_MAX_CASES    1024 /* of one set */
#define VUG_SCHEMA_MAX_TOGETHER 256  /* schemas of one case */
#define VUG_SCHEMA_MAX_CHOICES  64   /* anyOf and oneOf of one case */
#define VUG_SCHEMA_MAX_CHAIN    128  /* of $ref, allOf, anyOf and oneOf inside each other */
#define VUG_SCHEMA_MAX_STEPS    ((size_t)1 << 24) /* comparisons, about a second */

/* All of them hold; none: anything does. */
typedef struct {
    const vug_jv *const *of;
    size_t n;
} vug_schema_set;

/* One way to satisfy a set: its schemas without $ref, allOf, anyOf and oneOf, which are
 * decided. */
typedef vug_schema_set vug_schema_case;

typedef struct {
    vug_schema_case *of;
    size_t n, cap;
} vug_schema_cases;

/* A schema that has been looked at. */
typedef struct {
    const vug_jv *schema;
    const vug_jv *ref; /* what its $ref names, or NULL */
    uint32_t height;   /* of the chain below it; 0 while it is open */
} vug_schema_entry;

typedef struct {
    vug_schema_set set;
    vug_node rule;
} vug_schema_rule;

typedef struct {
    vug_str name;
    const vug_jv *schema;
} vug_schema_anchor;

typedef struct {
    vug_json_rules json;
    const vug_json_rules *inside; /* of parameters, while they are written; else NULL */
    vug_rules *rules;
    vug_arena arena;
    const vug_jv *root;
    bool ref_is_alone; /* up to draft 7, nothing beside a $ref counts */
    vug_index known;   /* entry */
    vug_schema_entry *entry;
    uint32_t n_entries, max_entries;
    vug_index sets; /* rule; those from n_done on are still to be made */
    vug_schema_rule *rule;
    uint32_t n_rules, n_done, room;
    vug_sets strings;          /* conditions of strings whose rule is there */
    vug_buf string_rule;       /* vug_node, for each */
    vug_schema_anchor *anchor; /* by name; collected with the first that is asked for */
    size_t n_anchors;
    bool has_anchors;
    size_t steps;
    vug_status st;
    vug_err err;
} vug_schema;

/* ---- schema.c -------------------------------------------------------------- */

/* `at`, which may be NULL, is a place in the schema, and becomes a JSON pointer. */
void vug_schema_fail(vug_schema *s, vug_status code, const vug_jv *at, const char *fmt, ...)
        VUG_PRINTF(4, 5);
static inline bool vug_schema_ok(const vug_schema *s)
{
    return s->st == VUG_OK;
}
/* Counts work; false once there has been too much, or anything else is wrong. */
bool vug_schema_step(vug_schema *s, size_t n);
/* Of the arena; NULL after a failure. */
void *vug_schema_alloc(vug_schema *s, size_t n, size_t size);
static inline const vug_jv **vug_schema_list(vug_schema *s, size_t n)
{
    return vug_schema_alloc(s, n, sizeof(const vug_jv *));
}
/* The rule of the set; its members are copied. */
vug_node vug_schema_node(vug_schema *s, vug_schema_set set);

/* ---- schema_keywords.c ------------------------------------------------------- */

/* Whether the schema, and those that it is joined with, may be read: known keywords with
 * values of their kind, no circle of references. */
void vug_schema_check(vug_schema *s, const vug_jv *schema);
/* What its $ref names, or NULL. Checked before. */
const vug_jv *vug_schema_ref(vug_schema *s, const vug_jv *schema);
/* Of the words that count, the strictest of the case; `most` says that the smaller is. */
uint64_t vug_schema_count(vug_schema_case c, const char *keyword, bool most, uint64_t otherwise);
/* The first schema of a case with the keyword gives its value, or NULL. */
const vug_jv *vug_schema_find(vug_schema_case c, const char *keyword);
/* Whether one of them is `false`, which nothing satisfies. */
bool vug_schema_has_false(vug_schema_set set);
/* Whether it has a pattern, by itself or in its allOf. */
bool vug_schema_has_pattern(const vug_jv *schema);
/* Its patternProperties; NULL where it has none, as in an empty object. */
const vug_jv *vug_schema_patterns(const vug_jv *schema);
/* As vug_jv_get, with a name from a file; counted. */
const vug_jv *vug_schema_get(vug_schema *s, const vug_jv *object, vug_str name);

/* ---- schema_ref.c -------------------------------------------------------------- */

/* What `ref`, the string of a $ref, names. */
const vug_jv *vug_schema_resolve(vug_schema *s, const vug_jv *ref);

/* ---- schema_cases.c ---------------------------------------------------------- */

enum {
    VUG_TYPE_NULL = 1,
    VUG_TYPE_BOOLEAN = 2,
    VUG_TYPE_INTEGER = 4,
    VUG_TYPE_FRACTION = 8, /* numbers that are no integers */
    VUG_TYPE_STRING = 16,
    VUG_TYPE_ARRAY = 32,
    VUG_TYPE_OBJECT = 64,
    VUG_TYPE_ALL = 127,
};

/* Ways to satisfy a case and a set together. Branches of a oneOf must be provably apart,
 * unless `trusted`. */
void vug_schema_expand(vug_schema *s, vug_schema_case base, vug_schema_set more, bool trusted,
                       vug_schema_cases *out);
/* The types that a case leaves. */
unsigned vug_schema_types(vug_schema_case c);
/* Of a name in "type"; 0: there is no such type. */
unsigned vug_schema_type_of(vug_str name);

/* ---- schema_apart.c ------------------------------------------------------------ */

/* Provably no value satisfies both; false where that is not clear. */
bool vug_schema_impossible(vug_schema *s, vug_schema_case base, vug_schema_set more);
/* The schemas that a case has for the property of that name. */
vug_schema_set vug_schema_member(vug_schema *s, vug_schema_case c, vug_str name);

/* ---- schema_value.c: given values ------------------------------------------------- */

typedef enum {
    VUG_SCHEMA_NO,
    VUG_SCHEMA_YES,
    VUG_SCHEMA_MAYBE, /* a pattern or a format decides, which are not run here */
} vug_schema_answer;

/* Whether a value satisfies a schema. */
vug_schema_answer vug_schema_holds(vug_schema *s, const vug_jv *value, const vug_jv *schema);
/* Of an enum or a const in the case, the values; NULL: there is none. */
const vug_jv *vug_schema_values(vug_schema_case c, size_t *n);
/* Whether one of them certainly does not satisfy the case. */
bool vug_schema_excludes(vug_schema *s, vug_schema_case c, const vug_jv *value);
/* Those of them that satisfy the case. */
vug_node vug_schema_choice(vug_schema *s, vug_schema_case c);

/* ---- one file per type ---------------------------------------------------------- */

vug_node vug_schema_number(vug_schema *s, vug_schema_case c, bool fractions);
bool vug_schema_number_impossible(vug_schema *s, vug_schema_case c);
vug_node vug_schema_string(vug_schema *s, vug_schema_case c);
/* Whether a string has a format of that name, or a number. */
bool vug_schema_is_string_format(vug_str name);
bool vug_schema_is_number_format(vug_str name);
vug_node vug_schema_array(vug_schema *s, vug_schema_case c);
/* The schemas that a case has for the item at `i`. */
vug_schema_set vug_schema_item(vug_schema *s, vug_schema_case c, size_t i);
vug_node vug_schema_object(vug_schema *s, vug_schema_case c);
/* A name, with its quotes, that is none of these (schema_names.c). */
vug_node vug_schema_other_name(vug_schema *s, const vug_str *name, size_t n);

/* ---- schema_parameter.c ------------------------------------------------------------- */

/* The value of a parameter of Qwen3-Coder's calls, with the tag that ends it. The name is
 * empty where the schema has none. */
vug_node vug_schema_parameter(vug_schema *s, vug_str name, vug_schema_set values);

/* ---- schema_decimal.c: numbers as they are spelled --------------------------------- */

enum { VUG_DECIMAL_DIGITS = 40 };

/* 0.ddd times 10^point; no zeros at either end. Zero has no digits. */
typedef struct {
    bool negative;
    int n, point;
    char digit[VUG_DECIMAL_DIGITS]; /* 0 to 9 */
} vug_decimal;

/* False where it has too many digits. */
bool vug_decimal_read(vug_str spelling, vug_decimal *out);
/* The same of a number in a schema, counted. */
bool vug_schema_decimal(vug_schema *s, const vug_jv *number, vug_decimal *out);
int vug_decimal_compare(const vug_decimal *a, const vug_decimal *b);
bool vug_decimal_is_integer(const vug_decimal *a);
/* Times 10^scale, where that is an integer from 1 to 2^31 - 1; else 0. */
uint32_t vug_decimal_scaled(const vug_decimal *a, int scale);
/* The remainder of an integer, by 1 to 2^31; its sign does not count. */
uint32_t vug_decimal_modulo(const vug_decimal *a, uint32_t by);

/* ---- schema_digits.c: numbers of a range ------------------------------------------- */

typedef struct {
    bool given, open; /* open: the bound itself is not in it */
    vug_decimal at;
} vug_bound;

typedef struct {
    vug_bound low, high;
    uint32_t multiple; /* times 10^-scale */
    int scale;
    int n_fraction; /* digits behind the point, at most; with a scale no more than that */
} vug_number_range;

/* Which is not empty. */
vug_node vug_schema_digits(vug_schema *s, const vug_number_range *r);

#endif
