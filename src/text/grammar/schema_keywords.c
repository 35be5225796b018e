#include "text/grammar/schema.h"

/*
 * The words of a schema: which there are and what their values look like.
 */

typedef enum {
    PASSED_OVER, /* an annotation */
    BOOLEAN,
    COUNT, /* a whole number from 0 */
    NUMBER,
    EXCLUSIVE, /* a number, or up to draft 4 whether the other bound is open */
    STRING,
    FORMAT,  /* a string that names one */
    STRINGS, /* a list */
    TYPES,   /* a name or a list of them */
    VALUES,  /* a list of anything */
    VALUE,
    SCHEMA,
    ANYTHING,  /* a schema that says nothing */
    SCHEMAS,   /* a list that is not empty */
    ITEMS,     /* a schema, or such a list (up to draft 2019-09) */
    MAP,       /* of names to schemas */
    ROOT_ONLY, /* would give other references a new root */
} value_kind;

#define KEYWORDS(X)                    \
    X("$ref", STRING)                  \
    X("type", TYPES)                   \
    X("enum", VALUES)                  \
    X("const", VALUE)                  \
    X("properties", MAP)               \
    X("required", STRINGS)             \
    X("additionalProperties", SCHEMA)  \
    X("patternProperties", MAP)        \
    X("propertyNames", SCHEMA)         \
    X("minProperties", COUNT)          \
    X("maxProperties", COUNT)          \
    X("items", ITEMS)                  \
    X("prefixItems", SCHEMAS)          \
    X("additionalItems", SCHEMA)       \
    X("minItems", COUNT)               \
    X("maxItems", COUNT)               \
    X("uniqueItems", BOOLEAN)          \
    X("minLength", COUNT)              \
    X("maxLength", COUNT)              \
    X("pattern", STRING)               \
    X("format", FORMAT)                \
    X("minimum", NUMBER)               \
    X("maximum", NUMBER)               \
    X("exclusiveMinimum", EXCLUSIVE)   \
    X("exclusiveMaximum", EXCLUSIVE)   \
    X("multipleOf", NUMBER)            \
    X("allOf", SCHEMAS)                \
    X("anyOf", SCHEMAS)                \
    X("oneOf", SCHEMAS)                \
    X("not", ANYTHING)                 \
    X("nullable", BOOLEAN)             \
    X("$id", ROOT_ONLY)                \
    X("id", ROOT_ONLY)                 \
    X("$schema", PASSED_OVER)          \
    X("$defs", PASSED_OVER)            \
    X("definitions", PASSED_OVER)      \
    X("$anchor", PASSED_OVER)          \
    X("$comment", PASSED_OVER)         \
    X("title", PASSED_OVER)            \
    X("description", PASSED_OVER)      \
    X("default", PASSED_OVER)          \
    X("example", PASSED_OVER)          \
    X("examples", PASSED_OVER)         \
    X("deprecated", PASSED_OVER)       \
    X("readOnly", PASSED_OVER)         \
    X("writeOnly", PASSED_OVER)        \
    X("contentEncoding", PASSED_OVER)  \
    X("contentMediaType", PASSED_OVER) \
    X("contentSchema", PASSED_OVER)    \
    X("discriminator", PASSED_OVER)    \
    X("externalDocs", PASSED_OVER)     \
    X("xml", PASSED_OVER)

static const struct {
    const char *name;
    value_kind kind;
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

/* What is expected where the value is of another kind; NULL: it is not. */
static const char *wrong(value_kind kind, const vug_jv *v)
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
    case VALUE:
    case ANYTHING:
    case PASSED_OVER:
        break;
    }
    return NULL;
}

static bool says_nothing(const vug_jv *schema)
{
    return schema->type == VUG_JSON_OBJECT ? schema->n == 0
                                           : schema->type == VUG_JSON_BOOL && schema->boolean;
}

bool vug_schema_has_pattern(const vug_jv *schema)
{
    const vug_jv *all = vug_jv_get(schema, "allOf");
    bool has = vug_jv_get(schema, "pattern");
    for (const vug_jv *m = all ? all->child : NULL; m && !has; m = m->next)
        has = vug_jv_is(m, VUG_JSON_OBJECT) && vug_jv_get(m, "pattern");
    return has;
}

const vug_jv *vug_schema_patterns(const vug_jv *schema)
{
    const vug_jv *patterns = vug_jv_get(schema, "patternProperties");
    return patterns && patterns->n > 0 ? patterns : NULL;
}

static void check_types(vug_schema *s, const vug_jv *v)
{
    for (const vug_jv *t = v->type == VUG_JSON_STRING ? v : v->child; t;
         t = v->type == VUG_JSON_STRING ? NULL : t->next)
        if (vug_schema_type_of(t->str) == 0)
            vug_schema_fail(s, VUG_FORMAT, v, "there is no type '%.*s'", VUG_STR_ARG(t->str));
}

static void check_keyword(vug_schema *s, const vug_jv *schema, const vug_jv *member)
{
    size_t i = 0;
    const size_t n = sizeof(keywords) / sizeof(*keywords);
    while (i < n && !vug_str_is(member->key, keywords[i].name))
        i++;
    if (i == n || (keywords[i].kind == ANYTHING && !says_nothing(member))) {
        if (!vug_str_starts(member->key, "x-"))
            vug_schema_fail(s, VUG_UNSUPPORTED, schema, "the keyword '%.*s' is not supported",
                            VUG_STR_ARG(member->key));
        return;
    }
    const value_kind kind = keywords[i].kind;
    const char *expected = wrong(kind, member);
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
                        "'%.*s' is supported at the root only: it changes what references mean",
                        VUG_STR_ARG(member->key));
}

/* ---- chains of references -------------------------------------------------------- */

static vug_schema_entry *find_entry(vug_schema *s, const vug_jv *schema, vug_probe *p)
{
    const uint64_t hash = vug_hash_step(0, (uint64_t)(uintptr_t)schema) * VUG_HASH_FACTOR;
    *p = vug_probe_start(&s->known, hash);
    while (vug_probe_next(p))
        if (s->entry[p->entry].schema == schema)
            return &s->entry[p->entry];
    return NULL;
}

static uint32_t check(vug_schema *s, const vug_jv *schema, uint32_t depth);

static uint32_t check_joined(vug_schema *s, const vug_jv *list, // NOLINT(misc-no-recursion)
                             uint32_t depth)
{
    uint32_t most = 0;
    for (const vug_jv *m = list ? list->child : NULL; m && vug_schema_ok(s); m = m->next) {
        const uint32_t height = check(s, m, depth);
        most = height > most ? height : most;
    }
    return most;
}

static vug_schema_entry *new_entry(vug_schema *s, const vug_jv *schema, const vug_probe *p)
{
    if (s->n_entries == s->max_entries || !vug_probe_insert(&s->known, p, s->n_entries)) {
        vug_schema_fail(s, VUG_LIMIT, schema, "more than %u schemas",
                        (unsigned)VUG_SCHEMA_MAX_SCHEMAS);
        return NULL;
    }
    vug_schema_entry *entry = &s->entry[s->n_entries++];
    *entry = (vug_schema_entry){ .schema = schema };
    return entry;
}

/* How long the longest chain from here on is. */
static uint32_t check(vug_schema *s, const vug_jv *schema, // NOLINT(misc-no-recursion)
                      uint32_t depth)
{
    if (schema->type == VUG_JSON_BOOL || !vug_schema_step(s, 1))
        return 1;
    vug_probe p;
    vug_schema_entry *entry = find_entry(s, schema, &p);
    if (entry && entry->height == 0)
        vug_schema_fail(s, VUG_FORMAT, schema, "refers to itself without anything in between");
    if (entry && depth + entry->height <= VUG_SCHEMA_MAX_CHAIN)
        return entry->height;
    if (entry || depth == VUG_SCHEMA_MAX_CHAIN) {
        vug_schema_fail(s, VUG_LIMIT, schema,
                        "more than %d of $ref, allOf, anyOf and oneOf inside each other",
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
    uint32_t most = 0;
    if (ref) {
        entry->ref = vug_schema_resolve(s, ref);
        most = entry->ref ? check(s, entry->ref, depth + 1) : 0;
    }
    static const char *const joined[] = { "allOf", "anyOf", "oneOf" };
    for (size_t i = 0; i < 3; i++) {
        const uint32_t height = check_joined(s, vug_jv_get(schema, joined[i]), depth + 1);
        most = height > most ? height : most;
    }
    entry->height = most + 1;
    return entry->height;
}

void vug_schema_check(vug_schema *s, const vug_jv *schema)
{
    if (vug_schema_ok(s))
        (void)check(s, schema, 0);
}

const vug_jv *vug_schema_ref(vug_schema *s, const vug_jv *schema)
{
    vug_probe p;
    const vug_schema_entry *entry = find_entry(s, schema, &p);
    return entry ? entry->ref : NULL;
}

/* ---- reading a case ----------------------------------------------------------------- */

uint64_t vug_schema_count(vug_schema_case c, const char *keyword, bool most, uint64_t otherwise)
{
    bool found = false;
    uint64_t out = otherwise;
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *v = vug_jv_get(c.of[i], keyword);
        if (!v)
            continue;
        const uint64_t count = (uint64_t)v->f64;
        if (!found || (most ? count < out : count > out))
            out = count;
        found = true;
    }
    return out;
}

const vug_jv *vug_schema_find(vug_schema_case c, const char *keyword)
{
    const vug_jv *v = NULL;
    for (size_t i = 0; i < c.n && !v; i++)
        v = vug_jv_get(c.of[i], keyword);
    return v;
}

bool vug_schema_has_false(vug_schema_set set)
{
    for (size_t i = 0; i < set.n; i++)
        if (set.of[i]->type == VUG_JSON_BOOL && !set.of[i]->boolean)
            return true;
    return false;
}

const vug_jv *vug_schema_get(vug_schema *s, const vug_jv *object, vug_str name)
{
    if (!vug_jv_is(object, VUG_JSON_OBJECT))
        return NULL;
    for (const vug_jv *m = object->child; m; m = m->next) {
        if (!vug_schema_step(s, 1))
            return NULL;
        if (vug_str_equal(m->key, name))
            return m;
    }
    return NULL;
}
