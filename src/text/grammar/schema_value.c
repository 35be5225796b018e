#include "text/grammar/schema_number.h"

#include "core/utf8.h"

/* Values given by enum and const: which of them satisfy the other keywords, and their text. */

/* ---- equality ----------------------------------------------------------------- */

enum { BYTES_PER_STEP = 16 }; /* bytes examined in one step of work */

static bool members_equal(vug_schema_compiler *s, const vug_jv *a, // NOLINT(misc-no-recursion)
                          const vug_jv *b)
{
    const vug_jv *other = b->child;
    for (const vug_jv *m = a->child; m; m = m->next) {
        const vug_jv *n = a->type == VUG_JSON_OBJECT ? vug_schema_get_member(s, b, m->key) : other;
        if (!n || !vug_schema_values_equal(s, m, n))
            return false;
        other = other->next;
    }
    return true;
}

static bool strings_equal(vug_schema_compiler *s, vug_str a, vug_str b)
{
    return a.len == b.len && vug_schema_charge(s, a.len / BYTES_PER_STEP) && vug_str_equal(a, b);
}

/* Bounded by the depth of the JSON. */
bool vug_schema_values_equal(vug_schema_compiler *s, const vug_jv *a, // NOLINT(misc-no-recursion)
                             const vug_jv *b)
{
    if (a->type != b->type || a->n != b->n || !vug_schema_charge(s, 1))
        return false;
    vug_decimal x, y;
    switch (a->type) {
    case VUG_JSON_BOOL:
        return a->boolean == b->boolean;
    case VUG_JSON_NUMBER:
        if (vug_schema_decimal(s, a, &x) && vug_schema_decimal(s, b, &y))
            return vug_decimal_compare(&x, &y) == 0;
        return strings_equal(s, a->str, b->str);
    case VUG_JSON_STRING:
        return strings_equal(s, a->str, b->str);
    case VUG_JSON_ARRAY:
    case VUG_JSON_OBJECT:
        return members_equal(s, a, b);
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        break;
    }
    return true;
}

bool vug_schema_is_comparable(vug_schema_compiler *s, const vug_jv *v) // NOLINT(misc-no-recursion)
{
    vug_decimal d;
    bool out = v->type != VUG_JSON_NUMBER || vug_schema_decimal(s, v, &d);
    for (const vug_jv *m = v->child; m && out; m = m->next)
        out = vug_schema_is_comparable(s, m);
    return out;
}

static bool has_equal_items(vug_schema_compiler *s, const vug_jv *list)
{
    for (const vug_jv *a = list->child; a; a = a->next)
        for (const vug_jv *b = a->next; b; b = b->next)
            if (vug_schema_values_equal(s, a, b))
                return true;
    return false;
}

/* ---- validation ---------------------------------------------- */

static vug_schema_verdict validate(vug_schema_compiler *s, const vug_jv *v, const vug_jv *schema);

static vug_schema_verdict verdict_and(vug_schema_verdict a, vug_schema_verdict b)
{
    if (a == VUG_SCHEMA_NO || b == VUG_SCHEMA_NO)
        return VUG_SCHEMA_NO;
    return a == VUG_SCHEMA_YES && b == VUG_SCHEMA_YES ? VUG_SCHEMA_YES : VUG_SCHEMA_MAYBE;
}

static vug_schema_verdict verdict_of(bool yes)
{
    return yes ? VUG_SCHEMA_YES : VUG_SCHEMA_NO;
}

static vug_schema_verdict verdict_not(vug_schema_verdict a)
{
    return a == VUG_SCHEMA_MAYBE ? a : verdict_of(a == VUG_SCHEMA_NO);
}

static unsigned value_type(vug_schema_compiler *s, const vug_jv *v)
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

static bool count_in_bounds(vug_schema_case c, const char *min, const char *max, uint64_t n)
{
    return n >= vug_schema_strictest_count(c, min, false, 0) &&
           n <= vug_schema_strictest_count(c, max, true, n);
}

static vug_schema_verdict validate_multiple(vug_schema_compiler *s, vug_decimal value,
                                            const vug_jv *multiple)
{
    vug_decimal d;
    const bool fits = vug_schema_decimal(s, multiple, &d);
    const int scale = fits && d.n > d.point ? d.n - d.point : 0;
    const uint32_t by = fits ? vug_decimal_scaled(&d, scale) : 0;
    value.point += scale;
    if (value.n == 0)
        return VUG_SCHEMA_YES;
    if (by == 0)
        return VUG_SCHEMA_MAYBE;
    return verdict_of(vug_decimal_is_integer(&value) && vug_decimal_modulo(&value, by) == 0);
}

static vug_schema_verdict validate_number(vug_schema_compiler *s, const vug_jv *v,
                                          const vug_jv *schema)
{
    static const struct {
        const char *keyword, *opened_by; /* if true, as in draft 4, it excludes the bound */
        int sign;                        /* sign * compare(value, bound) must be at least `least` */
        int least;
    } row[] = { { "minimum", "exclusiveMinimum", 1, 0 },
                { "exclusiveMinimum", NULL, 1, 1 },
                { "maximum", "exclusiveMaximum", -1, 0 },
                { "exclusiveMaximum", NULL, -1, 1 } };
    vug_decimal value, bound;
    if (!vug_schema_decimal(s, v, &value))
        return VUG_SCHEMA_MAYBE;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const vug_jv *keyword = vug_jv_get(schema, row[i].keyword);
        if (!vug_jv_is(keyword, VUG_JSON_NUMBER))
            continue;
        if (!vug_schema_decimal(s, keyword, &bound))
            return VUG_SCHEMA_MAYBE;
        const vug_jv *opened_by = row[i].opened_by ? vug_jv_get(schema, row[i].opened_by) : NULL;
        const bool excludes = opened_by && opened_by->type == VUG_JSON_BOOL;
        const int least = excludes ? opened_by->boolean : row[i].least;
        if (row[i].sign * vug_decimal_compare(&value, &bound) < least)
            return VUG_SCHEMA_NO;
    }
    const vug_jv *multiple = vug_jv_get(schema, "multipleOf");
    const vug_jv *other = vug_jv_get(schema, VUG_KEYWORD_NOT_MULTIPLE_OF);
    const vug_schema_verdict is_multiple =
            multiple ? validate_multiple(s, value, multiple) : VUG_SCHEMA_YES;
    const vug_schema_verdict is_other = other ? validate_multiple(s, value, other) : VUG_SCHEMA_NO;
    if (is_multiple == VUG_SCHEMA_NO || is_other == VUG_SCHEMA_YES)
        return VUG_SCHEMA_NO;
    if (is_multiple == VUG_SCHEMA_MAYBE || is_other == VUG_SCHEMA_MAYBE)
        return VUG_SCHEMA_MAYBE;
    const vug_jv *format = vug_jv_get(schema, "format");
    return format && vug_schema_is_number_format(format->str) ? VUG_SCHEMA_MAYBE : VUG_SCHEMA_YES;
}

static vug_schema_verdict validate_string(vug_schema_compiler *s, const vug_jv *v,
                                          const vug_jv *schema)
{
    uint64_t n = 0; /* code points: bytes that are not continuation bytes */
    for (size_t i = 0; i < v->str.len && vug_schema_charge(s, i % BYTES_PER_STEP == 0); i++)
        n += !vug_utf8_is_continuation(v->str.ptr[i]);
    if (!count_in_bounds((vug_schema_case){ &schema, 1 }, "minLength", "maxLength", n))
        return VUG_SCHEMA_NO;
    const vug_jv *pattern = vug_jv_get(schema, "pattern"), *format = vug_jv_get(schema, "format");
    const vug_jv *other = vug_jv_get(schema, VUG_KEYWORD_NOT_PATTERN);
    const vug_jv *values = vug_jv_get(schema, VUG_KEYWORD_NOT_VALUES);
    if ((pattern && !vug_schema_matches(s, pattern, pattern->str, true, v->str)) ||
        (other && vug_schema_matches(s, other, other->str, true, v->str)))
        return VUG_SCHEMA_NO;
    for (const vug_jv *m = values ? values->child : NULL; m; m = m->next)
        if (strings_equal(s, m->str, v->str))
            return VUG_SCHEMA_NO;
    /* The grammar of a format may lack some of its texts. */
    const vug_schema_format *f = format && !vug_schema_ignores_format(schema, format)
                                         ? vug_schema_find_format(format->str)
                                         : NULL;
    return !f || vug_schema_matches(s, format, vug_str_of(f->regex), false, v->str)
                   ? VUG_SCHEMA_YES
                   : VUG_SCHEMA_MAYBE;
}

static vug_schema_verdict validate_contained(vug_schema_compiler *s,
                                             const vug_jv *v, // NOLINT(misc-no-recursion)
                                             const vug_jv *schema)
{
    const vug_schema_case c = { &schema, 1 };
    const vug_jv *contains = vug_jv_get(schema, "contains");
    uint64_t yes = 0, maybe = 0;
    for (const vug_jv *m = v->child; m; m = m->next) {
        const vug_schema_verdict verdict = validate(s, m, contains);
        yes += verdict == VUG_SCHEMA_YES;
        maybe += verdict == VUG_SCHEMA_MAYBE;
    }
    const uint64_t min = vug_schema_strictest_count(c, "minContains", false, 1);
    const uint64_t max = vug_schema_strictest_count(c, "maxContains", true, UINT64_MAX);
    if (yes + maybe < min || yes > max)
        return VUG_SCHEMA_NO;
    return yes >= min && yes + maybe <= max ? VUG_SCHEMA_YES : VUG_SCHEMA_MAYBE;
}

static vug_schema_verdict validate_array(vug_schema_compiler *s,
                                         const vug_jv *v, // NOLINT(misc-no-recursion)
                                         const vug_jv *schema)
{
    const vug_schema_case c = { &schema, 1 };
    vug_schema_verdict out = verdict_of(count_in_bounds(c, "minItems", "maxItems", v->n));
    const vug_jv *unique = vug_jv_get(schema, "uniqueItems");
    if (unique && unique->boolean && has_equal_items(s, v))
        return VUG_SCHEMA_NO;
    if (unique && unique->boolean && !vug_schema_is_comparable(s, v))
        out = verdict_and(out, VUG_SCHEMA_MAYBE);
    if (vug_jv_get(schema, "unevaluatedItems") && v->n > 0)
        out = verdict_and(out, VUG_SCHEMA_MAYBE);
    if (vug_jv_get(schema, "contains"))
        out = verdict_and(out, validate_contained(s, v, schema));
    size_t i = 0;
    for (const vug_jv *m = v->child; m && out != VUG_SCHEMA_NO; m = m->next, i++) {
        const vug_schema_set set = vug_schema_item_set(s, c, i);
        for (size_t k = 0; k < set.n; k++)
            out = verdict_and(out, validate(s, m, set.schema[k]));
    }
    return out;
}

/* Whether the object has a property as VUG_KEYWORD_SOME_PROPERTY demands. */
static vug_schema_verdict validate_some_property(vug_schema_compiler *s,
                                                 const vug_jv *v, // NOLINT(misc-no-recursion)
                                                 const vug_jv *some)
{
    vug_schema_verdict out = VUG_SCHEMA_NO;
    for (const vug_jv *m = v->child; m && out != VUG_SCHEMA_YES; m = m->next) {
        const vug_jv name = { .type = VUG_JSON_STRING, .str = m->key };
        const vug_schema_verdict here = verdict_and(validate(s, &name, vug_jv_get(some, "name")),
                                                    validate(s, m, vug_jv_get(some, "value")));
        out = here == VUG_SCHEMA_NO ? out : here;
    }
    return out;
}

static vug_schema_verdict validate_object(vug_schema_compiler *s,
                                          const vug_jv *v, // NOLINT(misc-no-recursion)
                                          const vug_jv *schema)
{
    const vug_schema_case c = { &schema, 1 };
    vug_schema_verdict out = verdict_of(count_in_bounds(c, "minProperties", "maxProperties", v->n));
    if (vug_jv_get(schema, "unevaluatedProperties") && v->n > 0)
        out = verdict_and(out, VUG_SCHEMA_MAYBE);
    const vug_jv *names = vug_jv_get(schema, "propertyNames");
    for (const vug_jv *m = names ? v->child : NULL; m && out != VUG_SCHEMA_NO; m = m->next) {
        const vug_jv name = { .type = VUG_JSON_STRING, .str = m->key };
        out = verdict_and(out, validate(s, &name, names));
    }
    const vug_jv *some = vug_jv_get(schema, VUG_KEYWORD_SOME_PROPERTY);
    if (some && out != VUG_SCHEMA_NO)
        out = verdict_and(out, validate_some_property(s, v, some));
    const vug_jv *required = vug_jv_get(schema, "required");
    for (const vug_jv *name = required ? required->child : NULL; name; name = name->next)
        if (!vug_schema_get_member(s, v, name->str))
            return VUG_SCHEMA_NO;
    for (const vug_jv *m = v->child; m && out != VUG_SCHEMA_NO; m = m->next) {
        const vug_schema_set set = vug_schema_property_set(s, c, m->key);
        for (size_t k = 0; k < set.n; k++)
            out = verdict_and(out, validate(s, m, set.schema[k]));
    }
    return out;
}

static vug_schema_verdict validate_given_values(vug_schema_compiler *s, const vug_jv *v,
                                                const vug_jv *schema)
{
    const vug_jv *one = vug_jv_get(schema, "const"), *list = vug_jv_get(schema, "enum");
    bool found = !list;
    for (const vug_jv *m = list ? list->child : NULL; m && !found; m = m->next)
        found = vug_schema_values_equal(s, v, m);
    return verdict_of(found && (!one || vug_schema_values_equal(s, v, one)));
}

static vug_schema_verdict validate_joined(vug_schema_compiler *s,
                                          const vug_jv *v, // NOLINT(misc-no-recursion)
                                          vug_schema_entry *entry)
{
    const vug_jv *schema = entry->schema, *derived = vug_schema_derived(s, entry);
    vug_schema_verdict out = derived ? validate(s, v, derived) : VUG_SCHEMA_YES;
    const vug_jv *all = vug_jv_get(schema, "allOf");
    for (const vug_jv *m = all ? all->child : NULL; m && out != VUG_SCHEMA_NO; m = m->next)
        out = verdict_and(out, validate(s, v, m));
    static const char *const lists[] = { "anyOf", "oneOf" };
    for (size_t i = 0; i < 2; i++) {
        const vug_jv *list = vug_jv_get(schema, lists[i]);
        size_t yes = 0, maybe = 0;
        for (const vug_jv *m = list ? list->child : NULL; m; m = m->next) {
            const vug_schema_verdict a = validate(s, v, m);
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

/* Ignores $ref, allOf, anyOf and oneOf. `is_given`: the value comes from the schema's own enum. */
static vug_schema_verdict validate_own_keywords(vug_schema_compiler *s,
                                                const vug_jv *v, // NOLINT(misc-no-recursion)
                                                const vug_jv *schema, bool is_given)
{
    const unsigned type = value_type(s, v);
    if (!(vug_schema_case_types((vug_schema_case){ &schema, 1 }) & type))
        return VUG_SCHEMA_NO;
    const vug_schema_verdict out = is_given ? VUG_SCHEMA_YES : validate_given_values(s, v, schema);
    if (out == VUG_SCHEMA_NO)
        return out;
    if (type & (VUG_TYPE_INTEGER | VUG_TYPE_FRACTION))
        return verdict_and(out, validate_number(s, v, schema));
    if (type == VUG_TYPE_STRING)
        return verdict_and(out, validate_string(s, v, schema));
    if (type == VUG_TYPE_ARRAY)
        return verdict_and(out, validate_array(s, v, schema));
    return type == VUG_TYPE_OBJECT ? verdict_and(out, validate_object(s, v, schema)) : out;
}

enum { STEPS_PER_SCHEMA = 5 }; /* of work, to find it in a large table */

/* Each level of recursion goes deeper into the value or along a chain of checked references. */
static vug_schema_verdict validate_schema(vug_schema_compiler *s,
                                          const vug_jv *v, // NOLINT(misc-no-recursion)
                                          const vug_jv *schema, bool is_given)
{
    if (schema->type == VUG_JSON_BOOL)
        return verdict_of(schema->boolean);
    vug_schema_entry *entry = vug_schema_check(s, schema);
    if (!vug_schema_charge(s, STEPS_PER_SCHEMA) || !entry)
        return VUG_SCHEMA_NO;
    const vug_jv *negated = vug_jv_get(schema, VUG_KEYWORD_NEGATED);
    if (negated)
        return verdict_not(validate(s, v, negated->child));
    const vug_jv *ref = entry->ref_target;
    if (ref && s->ref_hides_siblings)
        return validate(s, v, ref);
    vug_schema_verdict out = validate_own_keywords(s, v, schema, is_given);
    if (out != VUG_SCHEMA_NO)
        out = verdict_and(out, validate_joined(s, v, entry));
    return ref && out != VUG_SCHEMA_NO ? verdict_and(out, validate(s, v, ref)) : out;
}

static vug_schema_verdict validate(vug_schema_compiler *s,
                                   const vug_jv *v, // NOLINT(misc-no-recursion)
                                   const vug_jv *schema)
{
    return validate_schema(s, v, schema, false);
}

vug_schema_verdict vug_schema_validate(vug_schema_compiler *s, const vug_jv *value,
                                       const vug_jv *schema)
{
    return validate(s, value, schema);
}

/* ---- the values of a case --------------------------------------------------------------- */

const vug_jv *vug_schema_given_values(vug_schema_case c, size_t *n)
{
    const vug_jv *out = vug_schema_find_keyword(c, "const");
    *n = 1;
    if (out)
        return out;
    out = vug_schema_find_keyword(c, "enum");
    *n = out ? out->n : 0;
    return out && out->n > 0 ? out->child : out;
}

/* The schema whose enum gives the values; c.n if a const gives them. Its enum need not be
 * searched for each value, which would take quadratic time. */
static size_t find_enum_owner(vug_schema_case c)
{
    size_t i = vug_schema_find_keyword(c, "const") ? c.n : 0;
    while (i < c.n && !vug_jv_get(c.schema[i], "enum"))
        i++;
    return i;
}

bool vug_schema_excludes_value(vug_schema_compiler *s, vug_schema_case c, const vug_jv *value)
{
    const size_t owner = find_enum_owner(c);
    for (size_t i = 0; i < c.n; i++)
        if (vug_schema_charge(s, 1) &&
            validate_own_keywords(s, value, c.schema[i], i == owner) == VUG_SCHEMA_NO)
            return true;
    return false;
}

/* ---- as expressions ------------------------------------------------------------------------- */

/* A number as the schema spells it, and an integer such as 2.0 or 1e3 also as an integer. */
static vug_grammar_expr written_number(vug_schema_compiler *s, const vug_jv *v)
{
    const vug_grammar_expr given = vug_grammar_literal(s->builder, v->str);
    vug_decimal d;
    if (!vug_schema_decimal(s, v, &d) || !vug_decimal_is_integer(&d) ||
        d.point > VUG_JSON_MAX_DIGITS)
        return given;
    char text[VUG_JSON_MAX_DIGITS + 2] = "0";
    size_t n = d.n == 0;
    if (d.negative)
        text[n++] = '-';
    for (int i = 0; i < d.point; i++)
        text[n++] = (char)('0' + (i < d.n ? d.digit[i] : 0));
    const vug_grammar_expr integer = vug_grammar_literal(s->builder, (vug_str){ text, n });
    return given == integer ? given : VUG_GRAMMAR_CHOICE(s->builder, given, integer);
}

static vug_grammar_expr written_members(vug_schema_compiler *s,
                                        const vug_jv *v) // NOLINT(misc-no-recursion)
{
    vug_grammar_expr *part = vug_schema_alloc(s, 4 * v->n, sizeof(*part));
    size_t n = 0;
    for (const vug_jv *m = v->child; part && m; m = m->next) {
        if (n > 0)
            part[n++] = s->json.comma;
        if (v->type == VUG_JSON_OBJECT) {
            part[n++] = vug_json_grammar_key(&s->json, m->key);
            part[n++] = s->json.colon;
        }
        part[n++] = vug_schema_value_expr(s, m);
    }
    return vug_grammar_sequence(s->builder, part, part ? n : 0);
}

vug_grammar_expr vug_schema_value_expr(vug_schema_compiler *s,
                                       const vug_jv *v) // NOLINT(misc-no-recursion)
{
    const char open = v->type == VUG_JSON_OBJECT ? '{' : '[';
    switch (v->type) {
    case VUG_JSON_BOOL:
        return vug_grammar_text(s->builder, v->boolean ? "true" : "false");
    case VUG_JSON_NUMBER:
        return written_number(s, v);
    case VUG_JSON_STRING:
        return vug_json_grammar_string(&s->json, v->str);
    case VUG_JSON_ARRAY:
    case VUG_JSON_OBJECT:
        if (v->n == 0)
            return vug_json_grammar_empty(&s->json, open);
        return vug_json_grammar_brackets(&s->json, open, written_members(s, v));
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        break;
    }
    return s->json.null;
}

vug_schema_verdict vug_schema_given_verdict(vug_schema_compiler *s, vug_schema_case c,
                                            const vug_jv *value)
{
    const size_t owner = find_enum_owner(c);
    vug_schema_verdict out = VUG_SCHEMA_YES;
    for (size_t k = 0; k < c.n && out != VUG_SCHEMA_NO; k++)
        out = verdict_and(out, validate_schema(s, value, c.schema[k], k == owner));
    return out;
}

vug_grammar_expr vug_schema_given_values_expr(vug_schema_compiler *s, vug_schema_case c)
{
    size_t n_values;
    const vug_jv *v = vug_schema_given_values(c, &n_values);
    vug_grammar_expr *part = vug_schema_alloc(s, n_values, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < n_values; i++, v = v->next) {
        const vug_schema_verdict out = vug_schema_given_verdict(s, c, v);
        if (out == VUG_SCHEMA_MAYBE)
            vug_schema_fail(s, VUG_UNSUPPORTED, v,
                            "a value beside a pattern, a format or an unevaluated keyword that it "
                            "would have to satisfy is not supported");
        if (out == VUG_SCHEMA_YES)
            part[n++] = vug_schema_value_expr(s, v);
        if (!vug_schema_ok(s))
            return VUG_EMPTY_EXPR;
    }
    return vug_grammar_choice(s->builder, part, part ? n : 0);
}
