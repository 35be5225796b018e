#include "text/grammar/schema_internal.h"

/* Which keywords a schema may have, and what their values must look like. */

typedef enum {
    ANNOTATION, /* has no effect */
    BOOLEAN,
    COUNT, /* an integer from 0 */
    NUMBER,
    POSITIVE,  /* a number above 0 */
    EXCLUSIVE, /* a number, or up to draft 4 a flag that opens the other bound */
    STRING,
    FORMAT,  /* the name of a format */
    STRINGS, /* a list of strings */
    TYPES,   /* a type name or a list of them */
    VALUES,  /* a list of any values */
    ANY_VALUE,
    SCHEMA,
    SCHEMAS,      /* a list of schemas that is not empty */
    ITEMS,        /* a schema, or up to draft 2019-09 a list of schemas */
    MAP,          /* from names to schemas */
    DEPENDENCIES, /* from names to schemas or lists of strings */
    UNSUPPORTED,  /* defined by a draft, but refused here */
} keyword_value_kind;

#define KEYWORDS(X)                      \
    X("$ref", STRING)                    \
    X("type", TYPES)                     \
    X("enum", VALUES)                    \
    X("const", ANY_VALUE)                \
    X("properties", MAP)                 \
    X("required", STRINGS)               \
    X("additionalProperties", SCHEMA)    \
    X("patternProperties", MAP)          \
    X("propertyNames", SCHEMA)           \
    X("minProperties", COUNT)            \
    X("maxProperties", COUNT)            \
    X("items", ITEMS)                    \
    X("prefixItems", SCHEMAS)            \
    X("additionalItems", SCHEMA)         \
    X("minItems", COUNT)                 \
    X("maxItems", COUNT)                 \
    X("uniqueItems", BOOLEAN)            \
    X("minLength", COUNT)                \
    X("maxLength", COUNT)                \
    X("pattern", STRING)                 \
    X("format", FORMAT)                  \
    X("minimum", NUMBER)                 \
    X("maximum", NUMBER)                 \
    X("exclusiveMinimum", EXCLUSIVE)     \
    X("exclusiveMaximum", EXCLUSIVE)     \
    X("multipleOf", POSITIVE)            \
    X("allOf", SCHEMAS)                  \
    X("anyOf", SCHEMAS)                  \
    X("oneOf", SCHEMAS)                  \
    X("not", SCHEMA)                     \
    X("if", SCHEMA)                      \
    X("then", SCHEMA)                    \
    X("else", SCHEMA)                    \
    X("dependencies", DEPENDENCIES)      \
    X("dependentRequired", DEPENDENCIES) \
    X("dependentSchemas", MAP)           \
    X("nullable", BOOLEAN)               \
    X("$id", STRING)                     \
    X("id", ANNOTATION)                  \
    X("$schema", ANNOTATION)             \
    X("$defs", ANNOTATION)               \
    X("definitions", ANNOTATION)         \
    X("$anchor", ANNOTATION)             \
    X("$comment", ANNOTATION)            \
    X("title", ANNOTATION)               \
    X("description", ANNOTATION)         \
    X("default", ANNOTATION)             \
    X("example", ANNOTATION)             \
    X("examples", ANNOTATION)            \
    X("deprecated", ANNOTATION)          \
    X("readOnly", ANNOTATION)            \
    X("writeOnly", ANNOTATION)           \
    X("contentEncoding", ANNOTATION)     \
    X("contentMediaType", ANNOTATION)    \
    X("contentSchema", ANNOTATION)       \
    X("discriminator", ANNOTATION)       \
    X("externalDocs", ANNOTATION)        \
    X("xml", ANNOTATION)                 \
    X("contains", SCHEMA)                \
    X("minContains", COUNT)              \
    X("maxContains", COUNT)              \
    X("unevaluatedProperties", SCHEMA)   \
    X("unevaluatedItems", SCHEMA)        \
    X("$dynamicRef", STRING)             \
    X("$dynamicAnchor", ANNOTATION)      \
    X("$recursiveRef", STRING)           \
    X("$recursiveAnchor", ANNOTATION)    \
    X("$vocabulary", ANNOTATION)         \
    X("extends", UNSUPPORTED)            \
    X("disallow", UNSUPPORTED)           \
    X("divisibleBy", UNSUPPORTED)

static const struct {
    const char *name;
    keyword_value_kind kind;
} keywords[] = {
#define X(name, kind) { name, kind },
    KEYWORDS(X)
#undef X
};

static bool is_schema(const vug_jv *v)
{
    return v->type == VUG_JSON_BOOL || v->type == VUG_JSON_OBJECT;
}

static bool are_schemas(const vug_jv *v)
{
    for (const vug_jv *m = v->child; m; m = m->next)
        if (!is_schema(m))
            return false;
    return true;
}

static bool are_strings(const vug_jv *v)
{
    for (const vug_jv *m = v->child; m; m = m->next)
        if (m->type != VUG_JSON_STRING)
            return false;
    return v->type == VUG_JSON_ARRAY;
}

static bool are_dependencies(const vug_jv *v)
{
    for (const vug_jv *m = v->child; m; m = m->next)
        if (!is_schema(m) && !are_strings(m))
            return false;
    return v->type == VUG_JSON_OBJECT;
}

static bool is_count(const vug_jv *v)
{
    return v->type == VUG_JSON_NUMBER && v->f64 >= 0 && v->f64 <= 1e15 &&
           v->f64 == (double)(int64_t)v->f64;
}

/* What a keyword expects, if the value is of the wrong kind; else NULL. */
static const char *expected_value(keyword_value_kind kind, const vug_jv *v)
{
    const bool list = v->type == VUG_JSON_ARRAY && v->n > 0 && are_schemas(v);
    switch (kind) {
    case BOOLEAN:
        return v->type == VUG_JSON_BOOL ? NULL : "true or false";
    case COUNT:
        return is_count(v) ? NULL : "a whole number from 0 to 10^15";
    case NUMBER:
        return v->type == VUG_JSON_NUMBER ? NULL : "a number";
    case POSITIVE:
        return v->type == VUG_JSON_NUMBER && v->f64 > 0 ? NULL : "a number above 0";
    case EXCLUSIVE:
        return v->type == VUG_JSON_NUMBER || v->type == VUG_JSON_BOOL ? NULL : "a number";
    case STRING:
    case FORMAT:
        return v->type == VUG_JSON_STRING ? NULL : "a string";
    case STRINGS:
        return are_strings(v) ? NULL : "a list of strings";
    case TYPES:
        return v->type == VUG_JSON_STRING || are_strings(v) ? NULL : "a type or a list of types";
    case VALUES:
        return v->type == VUG_JSON_ARRAY ? NULL : "a list";
    case SCHEMA:
        return is_schema(v) ? NULL : "a schema: an object, true or false";
    case SCHEMAS:
        return list ? NULL : "a list of schemas";
    case ITEMS:
        return is_schema(v) || list ? NULL : "a schema or a list of schemas";
    case MAP:
        return v->type == VUG_JSON_OBJECT && are_schemas(v) ? NULL : "an object of schemas";
    case DEPENDENCIES:
        return are_dependencies(v) ? NULL : "an object of lists of names";
    case ANY_VALUE:
    case ANNOTATION:
    case UNSUPPORTED:
        break;
    }
    return NULL;
}

static void check_types(vug_schema_compiler *s, const vug_jv *v)
{
    for (const vug_jv *t = v->type == VUG_JSON_STRING ? v : v->child; t;
         t = v->type == VUG_JSON_STRING ? NULL : t->next)
        if (vug_schema_type_by_name(t->str) == 0)
            vug_schema_fail(s, VUG_FORMAT, v, "there is no type '%.*s'", VUG_STR_ARG(t->str));
}

/* ---- unknown keywords and formats --------------------------------------------------- */

enum { STEPS_PER_WORD = 64 }; /* of work, to compare two words */

static void warn_if_misspelled(vug_schema_compiler *s, const vug_jv *schema, vug_str word)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
        const vug_str keyword = vug_str_of(keywords[i].name);
        if (keywords[i].kind == ANNOTATION || !vug_schema_charge(s, STEPS_PER_WORD) ||
            !vug_schema_is_misspelled(word, keyword))
            continue;
        vug_schema_warn(s, schema, "the keyword '%.*s' is unknown and ignored; did you mean '%s'?",
                        VUG_STR_ARG(word), keywords[i].name);
        return;
    }
}

/* A keyword that no draft defines is an annotation (draft 2020-12, section 4.3.1). */
static void check_unknown(vug_schema_compiler *s, const vug_jv *schema, vug_str word)
{
    if (vug_str_starts(word, "x-"))
        return;
    if (s->builder->strict_schemas)
        vug_schema_fail(s, VUG_UNSUPPORTED, schema, "the keyword '%.*s' is not supported",
                        VUG_STR_ARG(word));
    else
        warn_if_misspelled(s, schema, word);
}

/* So is a format that is not known. */
static void check_format(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *format)
{
    if (s->builder->strict_schemas && !vug_schema_find_format(format->str) &&
        !vug_schema_is_number_format(format->str) && !vug_schema_ignores_format(schema, format))
        vug_schema_fail(s, VUG_UNSUPPORTED, format, "the format '%.*s' is not supported",
                        VUG_STR_ARG(format->str));
}

/* The number of keywords if it is none of them. Comparing the first letters rules most of them
 * out. */
static size_t find_keyword(vug_str name)
{
    const size_t n = sizeof(keywords) / sizeof(*keywords);
    size_t i = name.len ? 0 : n;
    while (i < n && !(keywords[i].name[0] == name.ptr[0] && vug_str_is(name, keywords[i].name)))
        i++;
    return i;
}

static void check_keyword(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *member)
{
    const size_t n = sizeof(keywords) / sizeof(*keywords);
    const size_t i = find_keyword(member->key);
    if (i == n) {
        if (member->key.len == 0 || member->key.ptr[0] != '\xff') /* not one of the compiler's */
            check_unknown(s, schema, member->key);
        return;
    }
    const keyword_value_kind kind = keywords[i].kind;
    const char *expected = expected_value(kind, member);
    if (kind == UNSUPPORTED)
        vug_schema_fail(s, VUG_UNSUPPORTED, schema, "the keyword '%.*s' is not supported",
                        VUG_STR_ARG(member->key));
    else if (expected)
        vug_schema_fail(s, VUG_FORMAT, member, "expected %s", expected);
    else if (kind == TYPES)
        check_types(s, member);
    else if (kind == FORMAT)
        check_format(s, schema, member);
}

/* ---- chains of references -------------------------------------------------------- */

static vug_schema_entry *find_entry(vug_schema_compiler *s, const vug_jv *schema, vug_hash_probe *p)
{
    const uint64_t hash = vug_hash_step(0, (uint64_t)(uintptr_t)schema) * VUG_HASH_FACTOR;
    *p = vug_hash_probe_start(&s->checked, hash);
    while (vug_hash_probe_next(p))
        if (s->entry[p->entry].schema == schema)
            return &s->entry[p->entry];
    return NULL;
}

static vug_schema_entry *check_schema(vug_schema_compiler *s, const vug_jv *schema, uint32_t depth);

/* The length of the longest chain of references that begins with the schema. */
static uint32_t check_height(vug_schema_compiler *s, // NOLINT(misc-no-recursion)
                             const vug_jv *schema, uint32_t depth)
{
    const vug_schema_entry *entry = check_schema(s, schema, depth);
    return entry ? entry->height : 1;
}

/* The schemas that apply to the same value as the schema itself. */
static uint32_t check_joined(vug_schema_compiler *s,
                             const vug_jv *schema, // NOLINT(misc-no-recursion)
                             uint32_t depth)
{
    static const char *const single[] = { "not", "if", "then", "else" };
    static const char *const lists[] = { "allOf", "anyOf", "oneOf", "dependentSchemas",
                                         "dependencies" };
    uint32_t highest = 0;
    for (size_t i = 0; i < sizeof(single) / sizeof(*single) && vug_schema_ok(s); i++) {
        const vug_jv *m = vug_jv_get(schema, single[i]);
        const uint32_t height = m ? check_height(s, m, depth) : 0;
        highest = height > highest ? height : highest;
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const vug_jv *list = vug_jv_get(schema, lists[i]);
        for (const vug_jv *m = list ? list->child : NULL; m && vug_schema_ok(s); m = m->next) {
            const uint32_t height = is_schema(m) ? check_height(s, m, depth) : 0;
            highest = height > highest ? height : highest;
        }
    }
    return highest;
}

static vug_schema_entry *new_entry(vug_schema_compiler *s, const vug_jv *schema,
                                   const vug_hash_probe *p)
{
    if (s->n_entries == s->max_entries || !vug_hash_probe_insert(&s->checked, p, s->n_entries)) {
        vug_schema_fail(s, VUG_LIMIT, schema,
                        "more than %u schemas, with those that negations make",
                        (unsigned)s->max_entries);
        return NULL;
    }
    vug_schema_entry *entry = &s->entry[s->n_entries++];
    *entry = (vug_schema_entry){ .schema = schema };
    return entry;
}

/* Its $ref, $dynamicRef or $recursiveRef, or NULL. A name may be an anchor only once
 * (vug_schema_resolve_ref), so a $dynamicRef always refers to the same schema, as a $ref does. */
static const vug_jv *find_reference(vug_schema_compiler *s, const vug_jv *schema)
{
    static const char *const keywords_of_references[] = { "$ref", "$dynamicRef", "$recursiveRef" };
    const vug_jv *found = NULL;
    for (size_t i = 0; i < 3; i++) {
        const vug_jv *ref = vug_jv_get(schema, keywords_of_references[i]);
        if (ref && found)
            vug_schema_fail(s, VUG_UNSUPPORTED, schema, "'%.*s' beside '%.*s' is not supported",
                            VUG_STR_ARG(ref->key), VUG_STR_ARG(found->key));
        found = ref ? ref : found;
    }
    return found;
}

/* NULL for `true` and `false`, and after a failure. */
static vug_schema_entry *check_schema(vug_schema_compiler *s, // NOLINT(misc-no-recursion)
                                      const vug_jv *schema, uint32_t depth)
{
    if (schema->type == VUG_JSON_BOOL || !vug_schema_charge(s, 1))
        return NULL;
    vug_hash_probe p;
    vug_schema_entry *entry = find_entry(s, schema, &p);
    if (entry && entry->height == 0)
        vug_schema_fail(s, VUG_FORMAT, schema,
                        "refers to itself without a property or an item in between");
    if (entry && depth + entry->height <= VUG_SCHEMA_MAX_CHAIN)
        return entry;
    if (entry || depth == VUG_SCHEMA_MAX_CHAIN) {
        vug_schema_fail(s, VUG_LIMIT, schema, "more than %d nested $ref, allOf, anyOf and oneOf",
                        VUG_SCHEMA_MAX_CHAIN);
        return NULL;
    }
    if (schema->type != VUG_JSON_OBJECT)
        vug_schema_fail(s, VUG_FORMAT, schema, "expected a schema: an object, true or false");
    entry = new_entry(s, schema, &p);
    for (const vug_jv *m = schema->child; m && vug_schema_ok(s); m = m->next)
        check_keyword(s, schema, m);
    if (!vug_schema_ok(s))
        return NULL;
    const vug_jv *ref = find_reference(s, schema);
    uint32_t highest = 0;
    if (ref && vug_schema_ok(s)) {
        entry->ref_target = vug_schema_resolve_ref(s, ref);
        highest = entry->ref_target ? check_height(s, entry->ref_target, depth + 1) : 0;
    }
    const vug_jv *same = vug_jv_get(schema, VUG_KEYWORD_SAME);
    if (same) {
        entry->ref_target = same->child;
        highest = check_height(s, same->child, depth + 1);
    }
    const uint32_t height = check_joined(s, schema, depth + 1);
    entry->height = (height > highest ? height : highest) + 1;
    return entry;
}

vug_schema_entry *vug_schema_check(vug_schema_compiler *s, const vug_jv *schema)
{
    vug_schema_entry *entry = vug_schema_ok(s) ? check_schema(s, schema, 0) : NULL;
    return vug_schema_ok(s) ? entry : NULL;
}

const vug_jv *vug_schema_ref_target(vug_schema_compiler *s, const vug_jv *schema)
{
    vug_hash_probe p;
    const vug_schema_entry *entry = find_entry(s, schema, &p);
    return entry ? entry->ref_target : NULL;
}
