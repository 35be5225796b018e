#ifndef VUG_TEXT_GRAMMAR_SCHEMA_INTERNAL_H
#define VUG_TEXT_GRAMMAR_SCHEMA_INTERNAL_H

/*
 * The inside of the schema compiler, shared by schema*.c.
 *
 * A value may have to satisfy several schemas at once: the target of a $ref and the keywords
 * beside it, the members of allOf, the same property in two of those. So the unit of
 * compilation is a set of schemas that must all hold:
 *
 *     set ─► cases (schema_normalize.c)    $ref and allOf joined, one case per choice of anyOf:
 *                                          a disjunctive normal form
 *     case ─► expressions, type by type    (schema_number.c, _string.c, _array.c, _object.c)
 *     property or item of a case ─► a set again, which is queued and compiled later (schema.c)
 *
 * Sets are interned, so recursive schemas terminate, and no function recurses with the depth
 * of the values that a schema describes.
 *
 * Failures are sticky: the first one is kept with its place in the schema, and later calls do
 * nothing.
 */

#include "core/json.h"
#include "core/mem.h"
#include "text/grammar/expr_cache.h"
#include "text/grammar/json_grammar.h"
#include "text/tokenizer/hash_index.h"

/* Keywords of schemas that the compiler makes. No JSON text contains their first byte. */
#define VUG_KEYWORD_SAME \
    "\xff"               \
    "same" /* `child`: the schema that must hold */
#define VUG_KEYWORD_NEGATED \
    "\xff"                  \
    "negated" /* `child`: the schema that must not hold */
#define VUG_KEYWORD_TYPES \
    "\xff"                \
    "types" /* `f64`: VUG_TYPE_* */
#define VUG_KEYWORD_NOT_PATTERN \
    "\xff"                      \
    "notPattern" /* a string that must not match */
#define VUG_KEYWORD_NOT_MULTIPLE_OF \
    "\xff"                          \
    "notMultipleOf" /* an integer that is no multiple of this one */
#define VUG_KEYWORD_NOT_VALUES \
    "\xff"                     \
    "notValues" /* strings that are excluded */
#define VUG_KEYWORD_SOME_PROPERTY \
    "\xff"                        \
    "someProperty" /* an object with a property whose name satisfies `name`, its value `value` */
#define VUG_KEYWORD_UNDECIDED \
    "\xff"                    \
    "undecided" /* the keyword that cannot be negated */

#define VUG_SCHEMA_MAX_BYTES   ((size_t)1 << 20)
#define VUG_SCHEMA_MAX_MEMORY  ((size_t)128 << 20)
#define VUG_SCHEMA_MAX_SCHEMAS ((uint32_t)1 << 16) /* reachable ones */
#define VUG_SCHEMA_MAX_SETS    ((uint32_t)1 << 14)
#define VUG_SCHEMA_MAX_CASES   1024               /* of one set */
#define VUG_SCHEMA_MAX_CASE    256                /* schemas of one case */
#define VUG_SCHEMA_MAX_CHOICES 64                 /* anyOf and oneOf of one case */
#define VUG_SCHEMA_MAX_CHAIN   128                /* nested $ref, allOf, anyOf and oneOf */
#define VUG_SCHEMA_MAX_STEPS   ((size_t)11 << 20) /* of comparing, about 0.1 s */

/* All schemas must hold. Any value satisfies the empty set. */
typedef struct {
    const vug_jv *const *schema;
    size_t n;
} vug_schema_set;

/* One way to satisfy a set: schemas whose $ref, allOf, anyOf and oneOf have been resolved and
 * are to be ignored. */
typedef vug_schema_set vug_schema_case;

typedef struct {
    vug_schema_case *list;
    size_t n, cap;
    bool incomplete; /* there are more than VUG_SCHEMA_MAX_CASES */
} vug_schema_cases;

/* A schema that vug_schema_check has seen. */
typedef struct {
    const vug_jv *schema;
    const vug_jv *ref_target; /* of its $ref, or NULL */
    uint32_t height;          /* of the chain of references below; 0 while it is being checked */
    bool has_derived;         /* `derived` has been made; it is NULL if there is none */
    const vug_jv *derived, *negation;
} vug_schema_entry;

typedef struct {
    vug_schema_set set;
    vug_grammar_expr rule;
} vug_schema_set_rule;

/* Classes of characters in the names of additional properties. VUG_EMPTY_EXPR: not made yet. */
typedef struct {
    uint32_t spelling; /* how names are written: schema_additional_names.c */
    vug_grammar_expr single[VUG_JSON_PLAIN_END];         /* by plain character: only this one */
    vug_grammar_expr all_but_single[VUG_JSON_PLAIN_END]; /* all plain ones without this one */
    vug_grammar_expr all;                                /* all plain ones */
} vug_schema_name_characters;

typedef struct {
    vug_json_grammar json;
    const vug_json_grammar *in_parameter; /* JSON inside of parameters, while those are compiled;
                                             else NULL */
    vug_grammar_builder *builder;
    vug_arena arena;
    const vug_jv *root;
    bool ref_hides_siblings; /* up to draft 7, keywords beside a $ref are ignored */
    bool is_draft_4;         /* identifiers are "id", not "$id" */
    vug_hash_index checked;  /* of entries, by schema */
    vug_schema_entry *entry;
    uint32_t n_entries, max_entries;
    vug_hash_index sets; /* of set rules, by set */
    vug_schema_set_rule *set_rule;
    uint32_t n_set_rules, n_compiled, cap_set_rules; /* those from n_compiled on are queued */
    vug_expr_cache strings;                          /* by their constraints */
    vug_expr_cache additional_names;                 /* by the given names */
    vug_schema_name_characters name_characters;
    struct vug_schema_matcher *matcher;         /* those of all regexes so far */
    struct vug_schema_identifiers *identifiers; /* NULL: not collected yet */
    size_t n_warnings;
    size_t steps;
    vug_buf collected; /* vug_jv *: of the set that is being collected */
    vug_status st;
    vug_err err;
} vug_schema_compiler;

/* ---- schema_context.c: failures, limits, memory, sets --------------------------------- */

/* `at`, which may be NULL, is a place in the schema. The message gives its JSON pointer. */
void vug_schema_fail(vug_schema_compiler *s, vug_status code, const vug_jv *at, const char *fmt,
                     ...) VUG_PRINTF(4, 5);
/* Adds a line to the warnings of the builder; the first few of a schema are kept. */
void vug_schema_warn(vug_schema_compiler *s, const vug_jv *at, const char *fmt, ...)
        VUG_PRINTF(3, 4);
static inline bool vug_schema_ok(const vug_schema_compiler *s)
{
    return s->st == VUG_OK;
}
/* Reports that the limit on steps is exceeded. */
void vug_schema_fail_steps(vug_schema_compiler *s);
/* Charges work. False past the limit and after any failure. */
static inline bool vug_schema_charge(vug_schema_compiler *s, size_t n)
{
    s->steps += n;
    if (s->steps > VUG_SCHEMA_MAX_STEPS)
        vug_schema_fail_steps(s);
    return s->st == VUG_OK;
}
/* Memory of the arena; NULL after a failure. */
void *vug_schema_alloc(vug_schema_compiler *s, size_t n, size_t size);
static inline const vug_jv **vug_schema_alloc_list(vug_schema_compiler *s, size_t n)
{
    return vug_schema_alloc(s, n, sizeof(const vug_jv *));
}
/* The rule of a set. A new set is queued for compilation; its members are copied. */
vug_grammar_expr vug_schema_set_expr(vug_schema_compiler *s, vug_schema_set set);

/* ---- schema_case.c: reading the keywords of schemas, sets and cases ---------------------- */

enum {
    VUG_TYPE_NULL = 1,
    VUG_TYPE_BOOLEAN = 2,
    VUG_TYPE_INTEGER = 4,
    VUG_TYPE_FRACTION = 8, /* numbers that are not integers */
    VUG_TYPE_STRING = 16,
    VUG_TYPE_ARRAY = 32,
    VUG_TYPE_OBJECT = 64,
    VUG_TYPE_ALL = 127,
};

/* The types of a name in "type"; 0 if there is no such type. */
unsigned vug_schema_type_by_name(vug_str name);
/* The types that a case allows. */
unsigned vug_schema_case_types(vug_schema_case c);
/* The strictest value of a count such as "minItems": the smallest if `is_maximum`, else the
 * largest. `fallback` if no schema has it. */
uint64_t vug_schema_strictest_count(vug_schema_case c, const char *keyword, bool is_maximum,
                                    uint64_t fallback);
/* The value of the first schema that has the keyword, or NULL. */
const vug_jv *vug_schema_find_keyword(vug_schema_case c, const char *keyword);
/* Whether a schema of the case requires the property. */
bool vug_schema_requires(vug_schema_compiler *s, vug_schema_case c, vug_str name);
/* Whether the schema `false`, which nothing satisfies, is in the set. */
bool vug_schema_has_false(vug_schema_set set);
/* Whether a format of the schema is only an annotation, because a pattern beside it defines it. */
bool vug_schema_ignores_format(const vug_jv *schema, const vug_jv *format);
/* Its patternProperties; NULL if it has none or they are empty. */
const vug_jv *vug_schema_pattern_properties(const vug_jv *schema);
/* vug_jv_get for a name from a file: its work is charged. */
const vug_jv *vug_schema_get_member(vug_schema_compiler *s, const vug_jv *object, vug_str name);
/* The schemas that a case applies to the property of that name. */
vug_schema_set vug_schema_property_set(vug_schema_compiler *s, vug_schema_case c, vug_str name);
/* The schemas that a case applies to item `i`. */
vug_schema_set vug_schema_item_set(vug_schema_compiler *s, vug_schema_case c, size_t i);

/* ---- schema_spelling.c ------------------------------------------------------------------- */

/* Whether `word`, which is not `keyword`, is probably meant to be. */
bool vug_schema_is_misspelled(vug_str word, vug_str keyword);

/* ---- schema_ref.c, schema_keywords.c: checking schemas ---------------------------------- */

/* The target of `ref`, the string of a $ref, a $dynamicRef or a $recursiveRef. */
const vug_jv *vug_schema_resolve_ref(vug_schema_compiler *s, const vug_jv *ref);
/* Checks a schema and those that its $ref, allOf, anyOf and oneOf join: only known keywords,
 * values of the right kind, no circular references. Returns its entry; NULL for `true` and `false`,
 * and after a failure. */
vug_schema_entry *vug_schema_check(vug_schema_compiler *s, const vug_jv *schema);
/* The target of the $ref of a checked schema, or NULL. */
const vug_jv *vug_schema_ref_target(vug_schema_compiler *s, const vug_jv *schema);

/* ---- schema_normalize.c, schema_disjoint.c: from a set to its cases ----------------------- */

/* The cases of a set. */
vug_schema_cases vug_schema_set_cases(vug_schema_compiler *s, vug_schema_set set);

/* ---- schema_negation.c ------------------------------------------------------------------- */

/* What not, if, dependencies, dependentRequired and dependentSchemas of a checked schema demand,
 * as a schema, or NULL. It is made once. `entry`: of the schema, or NULL. */
const vug_jv *vug_schema_derived(vug_schema_compiler *s, vug_schema_entry *entry);
/* A schema that holds if `schema` does not. */
const vug_jv *vug_schema_negated(vug_schema_compiler *s, const vug_jv *schema);

/* ---- schema_matcher.c --------------------------------------------------------------------- */

/* Whether a string matches a regular expression, anywhere (`search`) or as a whole. Failures are
 * reported at `at`. */
bool vug_schema_matches(vug_schema_compiler *s, const vug_jv *at, vug_str regex, bool search,
                        vug_str text);
void vug_schema_release_matchers(vug_schema_compiler *s);

/* ---- schema_value.c: values given by enum and const --------------------------------------- */

typedef enum {
    VUG_SCHEMA_NO,
    VUG_SCHEMA_YES,
    VUG_SCHEMA_MAYBE, /* depends on a pattern or a format, which are not evaluated here */
} vug_schema_verdict;

/* Whether a value satisfies a schema. */
vug_schema_verdict vug_schema_validate(vug_schema_compiler *s, const vug_jv *value,
                                       const vug_jv *schema);
/* The values of an enum or a const in the case; NULL if it has neither. */
const vug_jv *vug_schema_given_values(vug_schema_case c, size_t *n);
/* Whether a given value certainly does not satisfy the case. */
bool vug_schema_excludes_value(vug_schema_compiler *s, vug_schema_case c, const vug_jv *value);
/* Whether it satisfies the case. */
vug_schema_verdict vug_schema_given_verdict(vug_schema_compiler *s, vug_schema_case c,
                                            const vug_jv *value);
/* 1 and 1.0 are equal, and the order of members does not matter. */
bool vug_schema_values_equal(vug_schema_compiler *s, const vug_jv *a, const vug_jv *b);
/* Whether all numbers in a value are short enough for vug_schema_values_equal to be exact. */
bool vug_schema_is_comparable(vug_schema_compiler *s, const vug_jv *v);
vug_grammar_expr vug_schema_value_expr(vug_schema_compiler *s, const vug_jv *v);
/* A choice of the given values that satisfy the case. */
vug_grammar_expr vug_schema_given_values_expr(vug_schema_compiler *s, vug_schema_case c);

/* ---- one file per type ---------------------------------------------------------- */

/* `types`: integers, numbers that are not integers, or both. */
vug_grammar_expr vug_schema_number_expr(vug_schema_compiler *s, vug_schema_case c, unsigned types);
bool vug_schema_number_unsatisfiable(vug_schema_compiler *s, vug_schema_case c);
bool vug_schema_is_number_format(vug_str name);
vug_grammar_expr vug_schema_string_expr(vug_schema_compiler *s, vug_schema_case c);
vug_grammar_expr vug_schema_array_expr(vug_schema_compiler *s, vug_schema_case c);
vug_grammar_expr vug_schema_object_expr(vug_schema_compiler *s, vug_schema_case c);
/* Any key that is none of these names, with its quotes (schema_additional_names.c). */
vug_grammar_expr vug_schema_additional_name_expr(vug_schema_compiler *s, const vug_str *name,
                                                 size_t n);

/* ---- schema_format.c ---------------------------------------------------------------------- */

typedef struct {
    const char *name;
    const char *regex;          /* of the whole text; some texts of the format may be missing */
    const char *implied;        /* all texts of the format match it somewhere, and perhaps others;
                                   NULL if there is none */
    uint64_t shortest, longest; /* of those texts, in characters; longest 0: no limit */
} vug_schema_format;

/* A format of strings; NULL if it is not known. */
const vug_schema_format *vug_schema_find_format(vug_str name);

/* ---- schema_parameter.c ------------------------------------------------------------- */

/* The value of a parameter of Qwen3-Coder's tool calls, with its closing tag. The name is empty
 * for an additional property. */
vug_grammar_expr vug_schema_parameter_expr(vug_schema_compiler *s, vug_str name,
                                           vug_schema_set values);

#endif
