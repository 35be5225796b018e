#include "text/grammar/schema_array_items.h"
#include "text/grammar/schema_sets.h"

/* ---- types --------------------------------------------------------------------- */

unsigned vug_schema_type_by_name(vug_str name)
{
    static const struct {
        vug_str name;
        unsigned type;
    } names[] = {
        { { "null", 4 }, VUG_TYPE_NULL },
        { { "boolean", 7 }, VUG_TYPE_BOOLEAN },
        { { "integer", 7 }, VUG_TYPE_INTEGER },
        { { "number", 6 }, VUG_TYPE_INTEGER | VUG_TYPE_FRACTION },
        { { "string", 6 }, VUG_TYPE_STRING },
        { { "array", 5 }, VUG_TYPE_ARRAY },
        { { "object", 6 }, VUG_TYPE_OBJECT },
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (vug_str_equal(name, names[i].name))
            return names[i].type;
    return 0;
}

unsigned vug_schema_case_types(vug_schema_case c)
{
    const uint64_t keywords = vug_jv_key_bit(vug_str_of("type")) |
                              vug_jv_key_bit(vug_str_of("nullable")) |
                              vug_jv_key_bit(vug_str_of(VUG_KEYWORD_TYPES));
    unsigned types = VUG_TYPE_ALL;
    for (size_t i = 0; i < c.n && types != 0; i++) {
        if ((c.schema[i]->keys & keywords) == 0)
            continue;
        const vug_jv *type = vug_jv_get(c.schema[i], "type");
        unsigned allowed = type ? 0 : VUG_TYPE_ALL;
        if (type && type->type == VUG_JSON_STRING)
            allowed = vug_schema_type_by_name(type->str);
        for (const vug_jv *t = type ? type->child : NULL; t; t = t->next)
            allowed |= vug_schema_type_by_name(t->str);
        const vug_jv *nullable = vug_jv_get(c.schema[i], "nullable"); /* OpenAPI 3.0 */
        if (nullable && nullable->boolean)
            allowed |= VUG_TYPE_NULL;
        const vug_jv *bits = vug_jv_get(c.schema[i], VUG_KEYWORD_TYPES);
        types &= bits ? (unsigned)bits->f64 : allowed;
    }
    return types;
}

/* ---- keywords ---------------------------------------------------------------------------- */

uint64_t vug_schema_strictest_count(vug_schema_case c, const char *keyword, bool is_maximum,
                                    uint64_t fallback)
{
    bool found = false;
    uint64_t out = fallback;
    const vug_str name = vug_str_of(keyword);
    const uint64_t bit = vug_jv_key_bit(name);
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *v = c.schema[i]->keys & bit ? vug_jv_find(c.schema[i], name) : NULL;
        if (!v)
            continue;
        const uint64_t count = (uint64_t)v->f64;
        if (!found || (is_maximum ? count < out : count > out))
            out = count;
        found = true;
    }
    return out;
}

const vug_jv *vug_schema_find_keyword(vug_schema_case c, const char *keyword)
{
    const vug_str name = vug_str_of(keyword);
    const uint64_t bit = vug_jv_key_bit(name);
    const vug_jv *v = NULL;
    for (size_t i = 0; i < c.n && !v; i++)
        v = c.schema[i]->keys & bit ? vug_jv_find(c.schema[i], name) : NULL;
    return v;
}

bool vug_schema_requires(vug_schema_compiler *s, vug_schema_case c, vug_str name)
{
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *required = vug_jv_get(c.schema[i], "required");
        for (const vug_jv *m = required ? required->child : NULL; m && vug_schema_charge(s, 1);
             m = m->next)
            if (vug_str_equal(m->str, name))
                return true;
    }
    return false;
}

bool vug_schema_has_false(vug_schema_set set)
{
    for (size_t i = 0; i < set.n; i++)
        if (set.schema[i]->type == VUG_JSON_BOOL && !set.schema[i]->boolean)
            return true;
    return false;
}

const vug_jv *vug_schema_get_member(vug_schema_compiler *s, const vug_jv *object, vug_str name)
{
    if (!vug_jv_is(object, VUG_JSON_OBJECT) || !(object->keys & vug_jv_key_bit(name)))
        return NULL;
    for (const vug_jv *m = object->child; m; m = m->next) {
        if (!vug_schema_charge(s, 1))
            return NULL;
        if (vug_str_equal(m->key, name))
            return m;
    }
    return NULL;
}

/* Whether the schema or a member of its allOf has a "pattern". */
static bool has_pattern(const vug_jv *schema)
{
    const vug_jv *all_of = vug_jv_get(schema, "allOf");
    bool has = vug_jv_get(schema, "pattern");
    for (const vug_jv *m = all_of ? all_of->child : NULL; m && !has; m = m->next)
        has = vug_jv_is(m, VUG_JSON_OBJECT) && vug_jv_get(m, "pattern");
    return has;
}

/* Libraries such as zod write formats of their own (email, uuid, time) beside the patterns that
 * define them. Dates mean the same everywhere. */
bool vug_schema_ignores_format(const vug_jv *schema, const vug_jv *format)
{
    return has_pattern(schema) && !vug_str_is(format->str, "date") &&
           !vug_str_is(format->str, "date-time");
}

const vug_jv *vug_schema_pattern_properties(const vug_jv *schema)
{
    const vug_jv *patterns = vug_jv_get(schema, "patternProperties");
    return patterns && patterns->n > 0 ? patterns : NULL;
}

vug_schema_set vug_schema_property_set(vug_schema_compiler *s, vug_schema_case c, vug_str name)
{
    const uint64_t keywords = vug_jv_key_bit(vug_str_of("properties")) |
                              vug_jv_key_bit(vug_str_of("patternProperties")) |
                              vug_jv_key_bit(vug_str_of("additionalProperties"));
    vug_schema_start_set(s);
    for (size_t i = 0; i < c.n && vug_schema_ok(s); i++) {
        if ((c.schema[i]->keys & keywords) == 0)
            continue;
        const size_t before = s->collected.len;
        const vug_jv *patterns = vug_schema_pattern_properties(c.schema[i]);
        vug_schema_add_to_set(
                s, vug_schema_get_member(s, vug_jv_get(c.schema[i], "properties"), name));
        for (const vug_jv *p = patterns ? patterns->child : NULL; p; p = p->next)
            if (vug_schema_matches(s, p, p->key, true, name))
                vug_schema_add_to_set(s, p);
        if (s->collected.len == before)
            vug_schema_add_to_set(s, vug_jv_get(c.schema[i], "additionalProperties"));
    }
    return vug_schema_take_set(s);
}

/* ---- items ------------------------------------------------------------------------------- */

/* Draft 2020-12 has prefixItems and items; earlier drafts have a list of items and
 * additionalItems. */
const vug_jv *vug_schema_prefix_items(const vug_jv *schema, const vug_jv **rest)
{
    const vug_jv *prefix = vug_jv_get(schema, "prefixItems");
    *rest = vug_jv_get(schema, "items");
    if (prefix || !vug_jv_is(*rest, VUG_JSON_ARRAY))
        return prefix;
    prefix = *rest;
    *rest = vug_jv_get(schema, "additionalItems");
    return prefix;
}

vug_schema_set vug_schema_item_set(vug_schema_compiler *s, vug_schema_case c, size_t i)
{
    vug_schema_start_set(s);
    for (size_t k = 0; k < c.n && vug_schema_charge(s, i + 1); k++) {
        const vug_jv *rest, *prefix = vug_schema_prefix_items(c.schema[k], &rest);
        const vug_jv *v = prefix && i < prefix->n ? prefix->child : NULL;
        for (size_t m = 0; v && m < i; m++)
            v = v->next;
        vug_schema_add_to_set(s, v ? v : rest);
    }
    return vug_schema_take_set(s);
}
