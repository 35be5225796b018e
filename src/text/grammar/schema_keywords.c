#include "text/grammar/schema_internal.h"

/* Which keywords a schema may have, and what their values must look like. */

typedef enum {
    ANNOTATION, /* has no effect */
    BOOLEAN,
    COUNT, /* an integer from 0 */
    NUMBER,
    EXCLUSIVE, /* a number, or up to draft 4 a flag that opens the other bound */
    STRING,
    FORMAT,  /* the name of a format */
    STRINGS, /* a list of strings */
    TYPES,   /* a type name or a list of them */
    VALUES,  /* a list of any values */
    ANY_VALUE,
    SCHEMA,
    EMPTY_SCHEMA, /* a schema that anything satisfies */
    SCHEMAS,      /* a list of schemas that is not empty */
    ITEMS,        /* a schema, or up to draft 2019-09 a list of schemas */
    MAP,          /* from names to schemas */
    ROOT_ONLY,    /* elsewhere it would change what references resolve to */
} keyword_value_kind;

#define KEYWORDS(X)                   \
    X("$ref", STRING)                 \
    X("type", TYPES)                  \
    X("enum", VALUES)                 \
    X("const", ANY_VALUE)             \
    X("properties", MAP)              \
    X("required", STRINGS)            \
    X("additionalProperties", SCHEMA) \
    X("patternProperties", MAP)       \
    X("propertyNames", SCHEMA)        \
    X("minProperties", COUNT)         \
    X("maxProperties", COUNT)         \
    X("items", ITEMS)                 \
    X("prefixItems", SCHEMAS)         \
    X("additionalItems", SCHEMA)      \
    X("minItems", COUNT)              \
    X("maxItems", COUNT)              \
    X("uniqueItems", BOOLEAN)         \
    X("minLength", COUNT)             \
    X("maxLength", COUNT)             \
    X("pattern", STRING)              \
    X("format", FORMAT)               \
    X("minimum", NUMBER)              \
    X("maximum", NUMBER)              \
    X("exclusiveMinimum", EXCLUSIVE)  \
    X("exclusiveMaximum", EXCLUSIVE)  \
    X("multipleOf", NUMBER)           \
    X("allOf", SCHEMAS)               \
    X("anyOf", SCHEMAS)               \
    X("oneOf", SCHEMAS)               \
    X("not", EMPTY_SCHEMA)            \
    X("nullable", BOOLEAN)            \
    X("$id", ROOT_ONLY)               \
    X("id", ROOT_ONLY)                \
    X("$schema", ANNOTATION)          \
    X("$defs", ANNOTATION)            \
    X("definitions", ANNOTATION)      \
    X("$anchor", ANNOTATION)          \
    X("$comment", ANNOTATION)         \
    X("title", ANNOTATION)            \
    X("description", ANNOTATION)      \
    X("default", ANNOTATION)          \
    X("example", ANNOTATION)          \
    X("examples", ANNOTATION)         \
    X("deprecated", ANNOTATION)       \
    X("readOnly", ANNOTATION)         \
    X("writeOnly", ANNOTATION)        \
    X("contentEncoding", ANNOTATION)  \
    X("contentMediaType", ANNOTATION) \
    X("contentSchema", ANNOTATION)    \
    X("discriminator", ANNOTATION)    \
    X("externalDocs", ANNOTATION)     \
    X("xml", ANNOTATION)

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
    case EXCLUSIVE:
        return v->type == VUG_JSON_NUMBER || v->type == VUG_JSON_BOOL ? NULL : "a number";
    case STRING:
    case FORMAT:
    case ROOT_ONLY:
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
    case ANY_VALUE:
    case EMPTY_SCHEMA:
    case ANNOTATION:
        break;
    }
    return NULL;
}

static bool is_empty_schema(const vug_jv *schema)
{
    return schema->type == VUG_JSON_OBJECT ? schema->n == 0
                                           : schema->type == VUG_JSON_BOOL && schema->boolean;
}

static void check_types(vug_schema_compiler *s, const vug_jv *v)
{
    for (const vug_jv *t = v->type == VUG_JSON_STRING ? v : v->child; t;
         t = v->type == VUG_JSON_STRING ? NULL : t->next)
        if (vug_schema_type_by_name(t->str) == 0)
            vug_schema_fail(s, VUG_FORMAT, v, "there is no type '%.*s'", VUG_STR_ARG(t->str));
}

static void check_keyword(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *member)
{
    size_t i = 0;
    const size_t n = sizeof(keywords) / sizeof(*keywords);
    while (i < n && !vug_str_is(member->key, keywords[i].name))
        i++;
    if (i == n || (keywords[i].kind == EMPTY_SCHEMA && !is_empty_schema(member))) {
        if (!vug_str_starts(member->key, "x-"))
            vug_schema_fail(s, VUG_UNSUPPORTED, schema, "the keyword '%.*s' is not supported",
                            VUG_STR_ARG(member->key));
        return;
    }
    const keyword_value_kind kind = keywords[i].kind;
    const char *expected = expected_value(kind, member);
    if (expected)
        vug_schema_fail(s, VUG_FORMAT, member, "expected %s", expected);
    else if (kind == TYPES)
        check_types(s, member);
    else if (kind == FORMAT && !vug_schema_is_string_format(member->str) &&
             !vug_schema_is_number_format(member->str) && !vug_schema_has_pattern(schema))
        vug_schema_fail(s, VUG_UNSUPPORTED, member, "the format '%.*s' is not supported",
                        VUG_STR_ARG(member->str));
    else if (kind == ROOT_ONLY && schema != s->root && !vug_str_starts(member->str, "#"))
        vug_schema_fail(s, VUG_UNSUPPORTED, member,
                        "'%.*s' is supported at the root only: elsewhere it changes what "
                        "references resolve to",
                        VUG_STR_ARG(member->key));
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

static uint32_t check_schema(vug_schema_compiler *s, const vug_jv *schema, uint32_t depth);

static uint32_t check_joined(vug_schema_compiler *s,
                             const vug_jv *list, // NOLINT(misc-no-recursion)
                             uint32_t depth)
{
    uint32_t highest = 0;
    for (const vug_jv *m = list ? list->child : NULL; m && vug_schema_ok(s); m = m->next) {
        const uint32_t height = check_schema(s, m, depth);
        highest = height > highest ? height : highest;
    }
    return highest;
}

static vug_schema_entry *new_entry(vug_schema_compiler *s, const vug_jv *schema,
                                   const vug_hash_probe *p)
{
    if (s->n_entries == s->max_entries || !vug_hash_probe_insert(&s->checked, p, s->n_entries)) {
        vug_schema_fail(s, VUG_LIMIT, schema, "more than %u schemas",
                        (unsigned)VUG_SCHEMA_MAX_SCHEMAS);
        return NULL;
    }
    vug_schema_entry *entry = &s->entry[s->n_entries++];
    *entry = (vug_schema_entry){ .schema = schema };
    return entry;
}

/* The length of the longest chain of references that begins here. */
static uint32_t check_schema(vug_schema_compiler *s,
                             const vug_jv *schema, // NOLINT(misc-no-recursion)
                             uint32_t depth)
{
    if (schema->type == VUG_JSON_BOOL || !vug_schema_charge(s, 1))
        return 1;
    vug_hash_probe p;
    vug_schema_entry *entry = find_entry(s, schema, &p);
    if (entry && entry->height == 0)
        vug_schema_fail(s, VUG_FORMAT, schema,
                        "refers to itself without a property or an item in between");
    if (entry && depth + entry->height <= VUG_SCHEMA_MAX_CHAIN)
        return entry->height;
    if (entry || depth == VUG_SCHEMA_MAX_CHAIN) {
        vug_schema_fail(s, VUG_LIMIT, schema, "more than %d nested $ref, allOf, anyOf and oneOf",
                        VUG_SCHEMA_MAX_CHAIN);
        return 1;
    }
    if (schema->type != VUG_JSON_OBJECT)
        vug_schema_fail(s, VUG_FORMAT, schema, "expected a schema: an object, true or false");
    entry = new_entry(s, schema, &p);
    for (const vug_jv *m = schema->child; m && vug_schema_ok(s); m = m->next)
        check_keyword(s, schema, m);
    if (!vug_schema_ok(s))
        return 1;
    const vug_jv *ref = vug_jv_get(schema, "$ref");
    uint32_t highest = 0;
    if (ref) {
        entry->ref_target = vug_schema_resolve_ref(s, ref);
        highest = entry->ref_target ? check_schema(s, entry->ref_target, depth + 1) : 0;
    }
    static const char *const joined[] = { "allOf", "anyOf", "oneOf" };
    for (size_t i = 0; i < 3; i++) {
        const uint32_t height = check_joined(s, vug_jv_get(schema, joined[i]), depth + 1);
        highest = height > highest ? height : highest;
    }
    entry->height = highest + 1;
    return entry->height;
}

void vug_schema_check(vug_schema_compiler *s, const vug_jv *schema)
{
    if (vug_schema_ok(s))
        (void)check_schema(s, schema, 0);
}

const vug_jv *vug_schema_ref_target(vug_schema_compiler *s, const vug_jv *schema)
{
    vug_hash_probe p;
    const vug_schema_entry *entry = find_entry(s, schema, &p);
    return entry ? entry->ref_target : NULL;
}
