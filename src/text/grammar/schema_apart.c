#include "text/grammar/schema.h"

/*
 * Which sets of schemas nothing can satisfy: how branches of a oneOf are told apart. What
 * is answered here is only what is certain.
 */

enum { MAX_DEPTH = 6 }; /* of required properties and items inside each other */

static bool impossible(vug_schema *s, vug_schema_case base, vug_schema_set more, int depth);

/* ---- what a case says of its members ---------------------------------------------- */

static const vug_jv *additional(const vug_jv *schema)
{
    return vug_jv_get(schema, "additionalProperties");
}

vug_schema_set vug_schema_member(vug_schema *s, vug_schema_case c, vug_str name)
{
    const vug_jv **of = vug_schema_list(s, c.n);
    size_t n = 0;
    for (size_t i = 0; of && i < c.n; i++) {
        const vug_jv *v = vug_schema_get(s, vug_jv_get(c.of[i], "properties"), name);
        if (!v && !vug_schema_patterns(c.of[i]))
            v = additional(c.of[i]);
        if (v)
            of[n++] = v;
    }
    return (vug_schema_set){ of, n };
}

/* ---- a type at a time ------------------------------------------------------------------ */

static bool no_value(vug_schema *s, vug_schema_case c)
{
    size_t n;
    const vug_jv *v = vug_schema_values(c, &n);
    if (!v)
        return false;
    /* Not what they are joined with: a oneOf excludes what satisfies two of its branches,
     * which is what is asked here. */
    for (size_t i = 0; i < n; i++, v = v->next)
        if (!vug_schema_excludes(s, c, v))
            return false;
    return true;
}

static bool crossed(vug_schema_case c, const char *min, const char *max)
{
    return vug_schema_count(c, min, false, 0) > vug_schema_count(c, max, true, UINT64_MAX);
}

static bool no_object(vug_schema *s, vug_schema_case c, int depth) // NOLINT(misc-no-recursion)
{
    if (crossed(c, "minProperties", "maxProperties"))
        return true;
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *required = vug_jv_get(c.of[i], "required");
        for (const vug_jv *name = required ? required->child : NULL; name; name = name->next) {
            const vug_schema_set set = vug_schema_member(s, c, name->str);
            if (vug_schema_ok(s) && impossible(s, (vug_schema_case){ 0 }, set, depth + 1))
                return true;
        }
    }
    return false;
}

static bool no_array(vug_schema *s, vug_schema_case c, int depth) // NOLINT(misc-no-recursion)
{
    if (crossed(c, "minItems", "maxItems"))
        return true;
    const uint64_t least = vug_schema_count(c, "minItems", false, 0);
    for (uint64_t i = 0; i < least && i < 16; i++) {
        const vug_schema_set set = vug_schema_item(s, c, (size_t)i);
        if (vug_schema_ok(s) && impossible(s, (vug_schema_case){ 0 }, set, depth + 1))
            return true;
    }
    return false;
}

static bool case_impossible(vug_schema *s, vug_schema_case c, // NOLINT(misc-no-recursion)
                            int depth)
{
    const unsigned types = vug_schema_types(c);
    if (no_value(s, c))
        return true;
    if (types & (VUG_TYPE_NULL | VUG_TYPE_BOOLEAN))
        return false;
    if ((types & VUG_TYPE_INTEGER) && !vug_schema_number_impossible(s, c))
        return false;
    if ((types & VUG_TYPE_STRING) && !crossed(c, "minLength", "maxLength"))
        return false;
    if ((types & VUG_TYPE_ARRAY) && !no_array(s, c, depth))
        return false;
    return !(types & VUG_TYPE_OBJECT) || no_object(s, c, depth);
}

static bool impossible(vug_schema *s, vug_schema_case base, // NOLINT(misc-no-recursion)
                       vug_schema_set more, int depth)
{
    if (depth > MAX_DEPTH)
        return false;
    vug_schema_cases cases = { 0 };
    vug_schema_expand(s, base, more, true, &cases);
    for (size_t i = 0; i < cases.n && vug_schema_ok(s); i++)
        if (!case_impossible(s, cases.of[i], depth))
            return false;
    return vug_schema_ok(s);
}

bool vug_schema_impossible(vug_schema *s, vug_schema_case base, vug_schema_set more)
{
    return impossible(s, base, more, 0);
}
