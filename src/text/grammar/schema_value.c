#include "text/grammar/schema.h"

/*
 * Given values, of enum and const: which of them satisfy the rest of a schema, and how
 * they are written.
 */

/* ---- equality ----------------------------------------------------------------- */

enum { CHEAP = 16 }; /* bytes that are looked at in one step */

static bool equal(vug_schema *s, const vug_jv *a, const vug_jv *b);

static bool equal_members(vug_schema *s, const vug_jv *a, // NOLINT(misc-no-recursion)
                          const vug_jv *b)
{
    const vug_jv *other = b->child;
    for (const vug_jv *m = a->child; m; m = m->next) {
        const vug_jv *n = a->type == VUG_JSON_OBJECT ? vug_schema_get(s, b, m->key) : other;
        if (!n || !equal(s, m, n))
            return false;
        other = other->next;
    }
    return true;
}

static bool equal_strings(vug_schema *s, vug_str a, vug_str b)
{
    return a.len == b.len && vug_schema_step(s, a.len / CHEAP) && vug_str_equal(a, b);
}

/* 1 and 1.0 are one value, and the order of members does not count. The depth of JSON
 * bounds that of the calls. */
static bool equal(vug_schema *s, const vug_jv *a, const vug_jv *b) // NOLINT(misc-no-recursion)
{
    if (a->type != b->type || a->n != b->n || !vug_schema_step(s, 1))
        return false;
    vug_decimal x, y;
    switch (a->type) {
    case VUG_JSON_BOOL:
        return a->boolean == b->boolean;
    case VUG_JSON_NUMBER:
        if (vug_schema_decimal(s, a, &x) && vug_schema_decimal(s, b, &y))
            return vug_decimal_compare(&x, &y) == 0;
        return equal_strings(s, a->str, b->str);
    case VUG_JSON_STRING:
        return equal_strings(s, a->str, b->str);
    case VUG_JSON_ARRAY:
    case VUG_JSON_OBJECT:
        return equal_members(s, a, b);
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        break;
    }
    return true;
}

/* ---- does a value satisfy a schema? ---------------------------------------------- */

static vug_schema_answer holds(vug_schema *s, const vug_jv *v, const vug_jv *schema);

static vug_schema_answer both(vug_schema_answer a, vug_schema_answer b)
{
    if (a == VUG_SCHEMA_NO || b == VUG_SCHEMA_NO)
        return VUG_SCHEMA_NO;
    return a == VUG_SCHEMA_YES && b == VUG_SCHEMA_YES ? VUG_SCHEMA_YES : VUG_SCHEMA_MAYBE;
}

static vug_schema_answer answer(bool yes)
{
    return yes ? VUG_SCHEMA_YES : VUG_SCHEMA_NO;
}

static unsigned type_of(vug_schema *s, const vug_jv *v)
{
    vug_decimal d;
    switch (v->type) {
    case VUG_JSON_NULL:
        return VUG_TYPE_NULL;
    case VUG_JSON_BOOL:
        return VUG_TYPE_BOOLEAN;
    case VUG_JSON_NUMBER:
        return vug_schema_decimal(s, v, &d) && vug_decimal_is_integer(&d) ? VUG_TYPE_INTEGER
                                                                          : VUG_TYPE_FRACTION;
    case VUG_JSON_STRING:
        return VUG_TYPE_STRING;
    case VUG_JSON_ARRAY:
        return VUG_TYPE_ARRAY;
    case VUG_JSON_OBJECT:
        return VUG_TYPE_OBJECT;
    case VUG_JSON_NOTHING:
        break;
    }
    return 0;
}

static bool in_count(vug_schema_case c, const char *min, const char *max, uint64_t n)
{
    return n >= vug_schema_count(c, min, false, 0) && n <= vug_schema_count(c, max, true, n);
}

static vug_schema_answer number_holds(vug_schema *s, const vug_jv *v, const vug_jv *schema)
{
    static const struct {
        const char *keyword, *opens; /* the latter with true, up to draft 4 */
        int sign;                    /* times the order of value and bound it is at least `least` */
        int least;
    } row[] = { { "minimum", "exclusiveMinimum", 1, 0 },
                { "exclusiveMinimum", NULL, 1, 1 },
                { "maximum", "exclusiveMaximum", -1, 0 },
                { "exclusiveMaximum", NULL, -1, 1 } };
    vug_decimal value, bound;
    if (!vug_schema_decimal(s, v, &value))
        return VUG_SCHEMA_MAYBE;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const vug_jv *word = vug_jv_get(schema, row[i].keyword);
        if (!vug_jv_is(word, VUG_JSON_NUMBER))
            continue;
        if (!vug_schema_decimal(s, word, &bound))
            return VUG_SCHEMA_MAYBE;
        const vug_jv *opens = row[i].opens ? vug_jv_get(schema, row[i].opens) : NULL;
        const bool word_opens = opens && opens->type == VUG_JSON_BOOL;
        const int least = word_opens ? opens->boolean : row[i].least;
        if (row[i].sign * vug_decimal_compare(&value, &bound) < least)
            return VUG_SCHEMA_NO;
    }
    const vug_jv *multiple = vug_jv_get(schema, "multipleOf");
    if (multiple && value.n > 0) {
        vug_decimal d;
        const bool fits = vug_schema_decimal(s, multiple, &d);
        const int scale = fits && d.n > d.point ? d.n - d.point : 0;
        const uint32_t by = fits ? vug_decimal_scaled(&d, scale) : 0;
        value.point += scale;
        if (by == 0)
            return VUG_SCHEMA_MAYBE;
        return answer(vug_decimal_is_integer(&value) && vug_decimal_modulo(&value, by) == 0);
    }
    return vug_jv_get(schema, "format") ? VUG_SCHEMA_MAYBE : VUG_SCHEMA_YES;
}

static vug_schema_answer string_holds(vug_schema *s, const vug_jv *v, const vug_jv *schema)
{
    uint64_t n = 0; /* code points: what is no continuation byte */
    for (size_t i = 0; i < v->str.len && vug_schema_step(s, i % CHEAP == 0); i++)
        n += ((unsigned char)v->str.ptr[i] & 0xc0) != 0x80;
    if (!in_count((vug_schema_case){ &schema, 1 }, "minLength", "maxLength", n))
        return VUG_SCHEMA_NO;
    return vug_jv_get(schema, "pattern") || vug_jv_get(schema, "format") ? VUG_SCHEMA_MAYBE
                                                                         : VUG_SCHEMA_YES;
}

static vug_schema_answer array_holds(vug_schema *s, const vug_jv *v, // NOLINT(misc-no-recursion)
                                     const vug_jv *schema)
{
    const vug_schema_case c = { &schema, 1 };
    vug_schema_answer out = answer(in_count(c, "minItems", "maxItems", v->n));
    const vug_jv *unique = vug_jv_get(schema, "uniqueItems");
    if (unique && unique->boolean && v->n > 1)
        out = both(out, VUG_SCHEMA_MAYBE);
    size_t i = 0;
    for (const vug_jv *m = v->child; m && out != VUG_SCHEMA_NO; m = m->next, i++) {
        const vug_schema_set set = vug_schema_item(s, c, i);
        for (size_t k = 0; k < set.n; k++)
            out = both(out, holds(s, m, set.of[k]));
    }
    return out;
}

static vug_schema_answer object_holds(vug_schema *s, const vug_jv *v, // NOLINT(misc-no-recursion)
                                      const vug_jv *schema)
{
    const vug_schema_case c = { &schema, 1 };
    vug_schema_answer out = answer(in_count(c, "minProperties", "maxProperties", v->n));
    if (vug_schema_patterns(schema) || vug_jv_get(schema, "propertyNames"))
        out = both(out, VUG_SCHEMA_MAYBE);
    const vug_jv *required = vug_jv_get(schema, "required");
    for (const vug_jv *name = required ? required->child : NULL; name; name = name->next)
        if (!vug_schema_get(s, v, name->str))
            return VUG_SCHEMA_NO;
    for (const vug_jv *m = v->child; m && out != VUG_SCHEMA_NO; m = m->next) {
        const vug_schema_set set = vug_schema_member(s, c, m->key);
        for (size_t k = 0; k < set.n; k++)
            out = both(out, holds(s, m, set.of[k]));
    }
    return out;
}

static vug_schema_answer is_listed(vug_schema *s, const vug_jv *v, const vug_jv *schema)
{
    const vug_jv *one = vug_jv_get(schema, "const"), *list = vug_jv_get(schema, "enum");
    bool found = !list;
    for (const vug_jv *m = list ? list->child : NULL; m && !found; m = m->next)
        found = equal(s, v, m);
    return answer(found && (!one || equal(s, v, one)));
}

static vug_schema_answer joined_hold(vug_schema *s, const vug_jv *v, // NOLINT(misc-no-recursion)
                                     const vug_jv *schema)
{
    vug_schema_answer out = VUG_SCHEMA_YES;
    const vug_jv *all = vug_jv_get(schema, "allOf");
    for (const vug_jv *m = all ? all->child : NULL; m && out != VUG_SCHEMA_NO; m = m->next)
        out = both(out, holds(s, v, m));
    static const char *const lists[] = { "anyOf", "oneOf" };
    for (size_t i = 0; i < 2; i++) {
        const vug_jv *list = vug_jv_get(schema, lists[i]);
        size_t yes = 0, maybe = 0;
        for (const vug_jv *m = list ? list->child : NULL; m; m = m->next) {
            const vug_schema_answer a = holds(s, v, m);
            yes += a == VUG_SCHEMA_YES;
            maybe += a == VUG_SCHEMA_MAYBE;
        }
        if (list && (yes + maybe == 0 || (i == 1 && yes > 1)))
            return VUG_SCHEMA_NO;
        if (list && (i == 1 ? maybe > 0 : yes == 0))
            out = VUG_SCHEMA_MAYBE;
    }
    return out;
}

/* Without what it is joined with. `listed`: the value is one of the schema's own enum. */
static vug_schema_answer itself_holds(vug_schema *s, const vug_jv *v, // NOLINT(misc-no-recursion)
                                      const vug_jv *schema, bool listed)
{
    const unsigned type = type_of(s, v);
    if (!(vug_schema_types((vug_schema_case){ &schema, 1 }) & type))
        return VUG_SCHEMA_NO;
    const vug_schema_answer out = listed ? VUG_SCHEMA_YES : is_listed(s, v, schema);
    if (out == VUG_SCHEMA_NO)
        return out;
    if (type & (VUG_TYPE_INTEGER | VUG_TYPE_FRACTION))
        return both(out, number_holds(s, v, schema));
    if (type == VUG_TYPE_STRING)
        return both(out, string_holds(s, v, schema));
    if (type == VUG_TYPE_ARRAY)
        return both(out, array_holds(s, v, schema));
    return type == VUG_TYPE_OBJECT ? both(out, object_holds(s, v, schema)) : out;
}

/* Each call goes on in the value, or in a chain of references, which have been checked. */
static vug_schema_answer all_holds(vug_schema *s, const vug_jv *v, // NOLINT(misc-no-recursion)
                                   const vug_jv *schema, bool listed)
{
    if (schema->type == VUG_JSON_BOOL)
        return answer(schema->boolean);
    vug_schema_check(s, schema);
    if (!vug_schema_step(s, 1))
        return VUG_SCHEMA_NO;
    const vug_jv *ref = vug_schema_ref(s, schema);
    if (ref && s->ref_is_alone)
        return holds(s, v, ref);
    vug_schema_answer out = itself_holds(s, v, schema, listed);
    if (out != VUG_SCHEMA_NO)
        out = both(out, joined_hold(s, v, schema));
    return ref && out != VUG_SCHEMA_NO ? both(out, holds(s, v, ref)) : out;
}

static vug_schema_answer holds(vug_schema *s, const vug_jv *v, // NOLINT(misc-no-recursion)
                               const vug_jv *schema)
{
    return all_holds(s, v, schema, false);
}

vug_schema_answer vug_schema_holds(vug_schema *s, const vug_jv *value, const vug_jv *schema)
{
    return holds(s, value, schema);
}

/* ---- the values of a case --------------------------------------------------------------- */

const vug_jv *vug_schema_values(vug_schema_case c, size_t *n)
{
    const vug_jv *out = vug_schema_find(c, "const");
    *n = 1;
    if (out)
        return out;
    out = vug_schema_find(c, "enum");
    *n = out ? out->n : 0;
    return out && out->n > 0 ? out->child : out;
}

/* Which schema's enum they are; the number of schemas where they are a const. To look for each
 * of them there would take the square of their number. */
static size_t lister(vug_schema_case c)
{
    size_t i = vug_schema_find(c, "const") ? c.n : 0;
    while (i < c.n && !vug_jv_get(c.of[i], "enum"))
        i++;
    return i;
}

bool vug_schema_excludes(vug_schema *s, vug_schema_case c, const vug_jv *value)
{
    const size_t own = lister(c);
    for (size_t i = 0; i < c.n; i++)
        if (vug_schema_step(s, 1) && itself_holds(s, value, c.of[i], i == own) == VUG_SCHEMA_NO)
            return true;
    return false;
}

/* ---- as rules ------------------------------------------------------------------------- */

static vug_node written(vug_schema *s, const vug_jv *v);

static vug_node written_members(vug_schema *s, const vug_jv *v) // NOLINT(misc-no-recursion)
{
    vug_node *part = vug_schema_alloc(s, 4 * v->n, sizeof(*part));
    size_t n = 0;
    for (const vug_jv *m = v->child; part && m; m = m->next) {
        if (n > 0)
            part[n++] = s->json.comma;
        if (v->type == VUG_JSON_OBJECT) {
            part[n++] = vug_json_name(&s->json, m->key);
            part[n++] = s->json.colon;
        }
        part[n++] = written(s, m);
    }
    return vug_rules_sequence(s->rules, part, part ? n : 0);
}

static vug_node written(vug_schema *s, const vug_jv *v) // NOLINT(misc-no-recursion)
{
    const char open = v->type == VUG_JSON_OBJECT ? '{' : '[';
    switch (v->type) {
    case VUG_JSON_BOOL:
        return vug_rules_text(s->rules, v->boolean ? "true" : "false");
    case VUG_JSON_NUMBER:
        return vug_rules_literal(s->rules, v->str);
    case VUG_JSON_STRING:
        return vug_json_literal(&s->json, v->str);
    case VUG_JSON_ARRAY:
    case VUG_JSON_OBJECT:
        if (v->n == 0)
            return vug_json_empty(&s->json, open);
        return vug_json_brackets(&s->json, open, written_members(s, v));
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        break;
    }
    return s->json.null;
}

vug_node vug_schema_choice(vug_schema *s, vug_schema_case c)
{
    size_t n_values;
    const vug_jv *v = vug_schema_values(c, &n_values);
    const size_t own = lister(c);
    vug_node *part = vug_schema_alloc(s, n_values, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < n_values; i++, v = v->next) {
        vug_schema_answer out = VUG_SCHEMA_YES;
        for (size_t k = 0; k < c.n && out != VUG_SCHEMA_NO; k++)
            out = both(out, all_holds(s, v, c.of[k], k == own));
        if (out == VUG_SCHEMA_MAYBE)
            vug_schema_fail(s, VUG_UNSUPPORTED, v,
                            "a value beside a pattern, a format, uniqueItems or names of "
                            "properties that it would have to satisfy is not supported");
        if (out == VUG_SCHEMA_YES)
            part[n++] = written(s, v);
        if (!vug_schema_ok(s))
            return VUG_NODE_EMPTY;
    }
    return vug_rules_choice(s->rules, part, part ? n : 0);
}
