#include "text/grammar/schema_discriminator.h"

/*
 * A oneOf of n branches has n * (n - 1) pairs that might overlap. Most are told apart by one
 * constant, such as the "type" of an object, which is found here once for each branch.
 */

enum {
    MAX_CHAIN = 4, /* schemas of a branch: itself and what it refers to */
    MAX_KEYS = 4,  /* names of properties that are tried */
};

/* A branch with what it refers to, then the schemas that hold beside the oneOf. */
typedef struct {
    const vug_jv **schema;
    size_t n_own, n;
} whole_branch;

static void collect_branch(vug_schema_compiler *s, const vug_jv *branch, vug_schema_case base,
                           whole_branch *out)
{
    out->n_own = 0;
    while (branch && branch->type == VUG_JSON_OBJECT && out->n_own < MAX_CHAIN) {
        const vug_jv *target = vug_schema_ref_target(s, branch);
        if (!target || !s->ref_hides_siblings)
            out->schema[out->n_own++] = branch;
        branch = target;
    }
    if (base.n > 0)
        memcpy(out->schema + out->n_own, base.schema, base.n * sizeof(const vug_jv *));
    out->n = out->n_own + base.n;
}

/* The one scalar that a schema allows, or NULL. */
static const vug_jv *single_value(const vug_jv *schema)
{
    if (!vug_jv_is(schema, VUG_JSON_OBJECT))
        return NULL;
    const vug_jv *v = vug_jv_get(schema, "const"), *list = vug_jv_get(schema, "enum");
    v = v || !list || list->n != 1 ? v : list->child;
    return v && (v->type == VUG_JSON_STRING || v->type == VUG_JSON_NUMBER ||
                 v->type == VUG_JSON_BOOL)
                   ? v
                   : NULL;
}

static const vug_jv *whole_value(const whole_branch *b)
{
    const vug_jv *v = NULL;
    for (size_t i = 0; i < b->n_own && !v; i++)
        v = single_value(b->schema[i]);
    return v;
}

/* The value of the property `key` of all that satisfies a branch; NULL if there may be several, or
 * if it may be absent. */
static const vug_jv *property_value(vug_schema_compiler *s, const whole_branch *b, vug_str key)
{
    const vug_schema_case c = { b->schema, b->n };
    const vug_jv *v = NULL;
    for (size_t i = 0; i < b->n_own && !v; i++) {
        const vug_jv *properties = vug_jv_get(b->schema[i], "properties");
        v = single_value(properties ? vug_schema_get_member(s, properties, key) : NULL);
    }
    return v && vug_schema_case_types(c) == VUG_TYPE_OBJECT && vug_schema_requires(s, c, key)
                   ? v
                   : NULL;
}

/* The names of properties whose values a branch demands; returns how many. */
static size_t find_keys(vug_schema_compiler *s, const whole_branch *b, vug_str key[MAX_KEYS])
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_own; i++) {
        const vug_jv *properties = vug_jv_get(b->schema[i], "properties");
        for (const vug_jv *p = properties ? properties->child : NULL; p && n < MAX_KEYS;
             p = p->next) {
            if (single_value(p) && property_value(s, b, p->key))
                key[n++] = p->key;
        }
    }
    return n;
}

static size_t count_different(const vug_jv *const *value, size_t n)
{
    const vug_jv *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        first = first ? first : value[i];
        count += vug_schema_discriminates(first, value[i]);
    }
    return count;
}

const vug_jv **vug_schema_discriminate(vug_schema_compiler *s, vug_schema_case base,
                                       const vug_jv *list)
{
    const vug_jv **best = vug_schema_alloc_list(s, list->n);
    const vug_jv **value = vug_schema_alloc_list(s, list->n);
    whole_branch b = { .schema = vug_schema_alloc_list(s, base.n + MAX_CHAIN) };
    vug_str key[MAX_KEYS];
    size_t n_keys = 0, i = 0;
    if (!b.schema)
        return NULL;
    for (const vug_jv *branch = list->child; branch; branch = branch->next) {
        collect_branch(s, branch, base, &b);
        best[i++] = whole_value(&b);
        n_keys = n_keys ? n_keys : find_keys(s, &b, key);
    }
    for (size_t k = 0; k < n_keys && vug_schema_charge(s, list->n * (base.n + 1)); k++) {
        i = 0;
        for (const vug_jv *branch = list->child; branch; branch = branch->next) {
            collect_branch(s, branch, base, &b);
            value[i++] = property_value(s, &b, key[k]);
        }
        if (count_different(value, list->n) <= count_different(best, list->n))
            continue;
        const vug_jv **other = best;
        best = value;
        value = other;
    }
    return vug_schema_ok(s) ? best : NULL;
}

bool vug_schema_discriminates(const vug_jv *a, const vug_jv *b)
{
    if (!a || !b)
        return false;
    if (a->type != b->type)
        return true;
    if (a->type == VUG_JSON_STRING)
        return !vug_str_equal(a->str, b->str);
    return a->type == VUG_JSON_NUMBER ? a->f64 != b->f64 : a->boolean != b->boolean;
}
