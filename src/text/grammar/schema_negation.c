#include "text/grammar/schema_array_items.h"
#include "text/grammar/schema_nodes.h"
#include "text/grammar/schema_number.h"

/*
 * The negation of a schema as a schema, and the keywords that need it.
 *
 * What violates a schema violates one of its keywords, so the negation is an anyOf with a branch
 * for each: for {"type": "string", "minLength": 2}, it is any other type, or a string of at most
 * one character. A branch that cannot be written as a schema gets VUG_KEYWORD_UNDECIDED, and is a
 * failure only if it matters. Negations of properties and items are made when they are reached,
 * and each once, so recursive schemas terminate.
 */

#define NUMBERS (VUG_TYPE_INTEGER | VUG_TYPE_FRACTION)

/* ---- negations of single keywords -------------------------------------------------- */

static void add_undecided(vug_schema_compiler *s, vug_jv *to, unsigned types, vug_str keyword)
{
    vug_schema_add_text(s, vug_schema_add_typed(s, to, types), VUG_KEYWORD_UNDECIDED, keyword);
}

/* Whether anything satisfies the schema. */
static bool is_trivial(const vug_jv *schema)
{
    return schema->type == VUG_JSON_BOOL ? schema->boolean : schema->n == 0;
}

static bool negate_count(vug_schema_compiler *s, const vug_jv *m, vug_jv *to)
{
    static const struct {
        const char *keyword, *opposite;
        double step;
        unsigned types;
    } row[] = { { "minLength", "maxLength", -1, VUG_TYPE_STRING },
                { "maxLength", "minLength", 1, VUG_TYPE_STRING },
                { "minItems", "maxItems", -1, VUG_TYPE_ARRAY },
                { "maxItems", "minItems", 1, VUG_TYPE_ARRAY },
                { "minProperties", "maxProperties", -1, VUG_TYPE_OBJECT },
                { "maxProperties", "minProperties", 1, VUG_TYPE_OBJECT } };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        if (!vug_str_is(m->key, row[i].keyword))
            continue;
        if (m->f64 + row[i].step >= 0)
            vug_schema_add_count(s, vug_schema_add_typed(s, to, row[i].types), row[i].opposite,
                                 m->f64 + row[i].step);
        return true;
    }
    return false;
}

static bool negate_bound(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *m, vug_jv *to)
{
    static const struct {
        const char *keyword, *opened_by, *closed, *open; /* opposites, without and with the bound */
    } row[] = { { "minimum", "exclusiveMinimum", "exclusiveMaximum", "maximum" },
                { "maximum", "exclusiveMaximum", "exclusiveMinimum", "minimum" },
                { "exclusiveMinimum", NULL, NULL, "maximum" },
                { "exclusiveMaximum", NULL, NULL, "minimum" } };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        if (!vug_str_is(m->key, row[i].keyword))
            continue;
        const vug_jv *opened_by = row[i].opened_by ? vug_jv_get(schema, row[i].opened_by) : NULL;
        const bool open =
                !row[i].closed || (vug_jv_is(opened_by, VUG_JSON_BOOL) && opened_by->boolean);
        if (m->type == VUG_JSON_NUMBER) /* draft 4: a flag is read with its bound */
            vug_schema_add_copy(s, vug_schema_add_typed(s, to, NUMBERS),
                                open ? row[i].open : row[i].closed, m);
        return true;
    }
    return false;
}

/* What is no multiple of an integer is another integer, or none. */
static bool negate_multiple(vug_schema_compiler *s, const vug_jv *m, vug_jv *to)
{
    vug_decimal d;
    if (vug_str_is(m->key, VUG_KEYWORD_NOT_MULTIPLE_OF)) {
        vug_schema_add_copy(s, vug_schema_add_typed(s, to, NUMBERS), "multipleOf", m);
        return true;
    }
    if (!vug_str_is(m->key, "multipleOf") || !vug_schema_decimal(s, m, &d) ||
        vug_decimal_scaled(&d, 0) == 0)
        return false;
    (void)vug_schema_add_typed(s, to, VUG_TYPE_FRACTION);
    vug_schema_add_copy(s, vug_schema_add_typed(s, to, VUG_TYPE_INTEGER),
                        VUG_KEYWORD_NOT_MULTIPLE_OF, m);
    return true;
}

static unsigned json_types(const vug_jv *v)
{
    switch (v->type) {
    case VUG_JSON_BOOL:
        return VUG_TYPE_BOOLEAN;
    case VUG_JSON_NUMBER:
        return NUMBERS;
    case VUG_JSON_STRING:
        return VUG_TYPE_STRING;
    case VUG_JSON_ARRAY:
        return VUG_TYPE_ARRAY;
    case VUG_JSON_OBJECT:
        return VUG_TYPE_OBJECT;
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        break;
    }
    return VUG_TYPE_NULL;
}

enum { MAX_EXCLUDED_NUMBERS = 64 };

/* Adds a number to a sorted list; the same one only once. False if it has too many digits. */
static bool insert_number(vug_schema_compiler *s, const vug_jv **list, size_t *n, const vug_jv *v)
{
    vug_decimal d, other;
    size_t i = *n;
    if (!vug_schema_decimal(s, v, &d))
        return false;
    for (; i > 0 && vug_schema_decimal(s, list[i - 1], &other); i--) {
        const int order = vug_decimal_compare(&other, &d);
        if (order == 0)
            return true;
        if (order < 0)
            break;
    }
    memmove(list + i + 1, list + i, (*n - i) * sizeof(const vug_jv *));
    list[i] = v;
    ++*n;
    return true;
}

/* The numbers below, between and above those of a list of `n` values from `first`. */
static void negate_numbers(vug_schema_compiler *s, const vug_jv *first, size_t n, vug_jv *to)
{
    const vug_jv *list[MAX_EXCLUDED_NUMBERS + 1] = { 0 };
    const vug_jv *v = first;
    size_t n_sorted = 0;
    for (size_t i = 0; i < n; i++, v = v->next) {
        if (v->type == VUG_JSON_NUMBER &&
            (n_sorted == MAX_EXCLUDED_NUMBERS || !insert_number(s, list, &n_sorted, v))) {
            add_undecided(s, to, NUMBERS, vug_str_of("enum"));
            return;
        }
    }
    for (size_t i = 0; i <= n_sorted; i++) {
        vug_jv *branch = vug_schema_add_typed(s, to, NUMBERS);
        if (i > 0)
            vug_schema_add_copy(s, branch, "exclusiveMinimum", list[i - 1]);
        if (i < n_sorted)
            vug_schema_add_copy(s, branch, "exclusiveMaximum", list[i]);
    }
}

/* Adds a schema that `v`, an array or an object that is not empty, does not satisfy, and all others
 * of its type do. */
static void add_negated_value(vug_schema_compiler *s, const vug_jv *v, vug_jv *to)
{
    const bool is_array = v->type == VUG_JSON_ARRAY;
    vug_jv *schema = vug_schema_new_node(s, VUG_JSON_OBJECT, "");
    vug_jv *names = is_array ? NULL : vug_schema_add_list(s, schema, "required");
    vug_jv *values = is_array ? vug_schema_add_list(s, schema, "prefixItems")
                              : vug_schema_add_object(s, schema, "properties");
    for (const vug_jv *m = v->child; m && vug_schema_charge(s, 1); m = m->next) {
        vug_jv *value = vug_schema_new_node(s, VUG_JSON_OBJECT, "");
        if (!value)
            return;
        vug_schema_add_copy(s, value, "const", m);
        vug_schema_add_reference(s, values, m->key, value, false);
        vug_schema_add_text(s, names, "", m->key);
    }
    if (is_array) {
        vug_schema_add_count(s, schema, "minItems", (double)v->n);
        vug_schema_add_count(s, schema, "maxItems", (double)v->n);
    } else {
        vug_schema_add_boolean(s, schema, vug_str_of("additionalProperties"), false);
    }
    vug_schema_add_negated(s, to, schema);
}

/* The arrays or objects that are not in the list of `n` values from `first`. */
static void negate_containers(vug_schema_compiler *s, const vug_jv *first, size_t n, unsigned type,
                              vug_jv *to)
{
    const vug_jv *v = first;
    vug_jv *none = vug_schema_add_list(s, vug_schema_add_typed(s, to, type), "allOf");
    for (size_t i = 0; i < n; i++, v = v->next)
        if (json_types(v) == type && v->n > 0)
            add_negated_value(s, v, none);
        else if (json_types(v) == type)
            vug_schema_add_count(s, vug_schema_add_object(s, none, ""),
                                 type == VUG_TYPE_ARRAY ? "minItems" : "minProperties", 1);
}

/* The values of one type that are not in the list of `n` values from `first`. */
static void negate_values_of(vug_schema_compiler *s, const vug_jv *first, size_t n, unsigned type,
                             vug_jv *to)
{
    const vug_jv *v = first;
    size_t n_same = 0, n_true = 0;
    for (size_t i = 0; i < n; i++, v = v->next) {
        if (json_types(v) != type)
            continue;
        n_same++;
        n_true += v->boolean;
    }
    if (type == NUMBERS)
        negate_numbers(s, first, n, to);
    if (type == VUG_TYPE_ARRAY || type == VUG_TYPE_OBJECT)
        negate_containers(s, first, n, type, to);
    if (type & (NUMBERS | VUG_TYPE_ARRAY | VUG_TYPE_OBJECT | VUG_TYPE_NULL))
        return;
    if (type == VUG_TYPE_BOOLEAN && n_true > 0 && n_true < n_same)
        return;
    vug_jv *branch = vug_schema_add_typed(s, to, type);
    if (type == VUG_TYPE_BOOLEAN)
        vug_schema_add_boolean(s, branch, vug_str_of("const"), n_true == 0);
    else {
        vug_jv *list = vug_schema_add_list(s, branch, VUG_KEYWORD_NOT_VALUES);
        v = first;
        for (size_t i = 0; i < n; i++, v = v->next)
            if (v->type == VUG_JSON_STRING)
                vug_schema_add_text(s, list, "", v->str);
    }
}

static void negate_values(vug_schema_compiler *s, const vug_jv *first, size_t n, vug_jv *to)
{
    static const unsigned each[] = { VUG_TYPE_NULL,   VUG_TYPE_BOOLEAN, NUMBERS,
                                     VUG_TYPE_STRING, VUG_TYPE_ARRAY,   VUG_TYPE_OBJECT };
    unsigned present = 0;
    const vug_jv *v = first;
    for (size_t i = 0; i < n; i++, v = v->next)
        present |= json_types(v);
    if (present != VUG_TYPE_ALL)
        (void)vug_schema_add_typed(s, to, VUG_TYPE_ALL & ~present);
    for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
        if (present & each[i])
            negate_values_of(s, first, n, each[i], to);
}

/* Some property violates its schema. One that is required may also be absent: together, that is
 * one branch. */
static void negate_properties(vug_schema_compiler *s, const vug_jv *schema,
                              const vug_jv *properties, vug_jv *to)
{
    for (const vug_jv *p = properties->child; p; p = p->next) {
        const bool required = vug_schema_requires(s, (vug_schema_case){ &schema, 1 }, p->key);
        if (is_trivial(p) && !required)
            continue;
        vug_jv *branch = vug_schema_add_typed(s, to, VUG_TYPE_OBJECT);
        if (!required)
            vug_schema_add_text(s, vug_schema_add_list(s, branch, "required"), "", p->key);
        vug_jv *values = vug_schema_add_object(s, branch, "properties");
        if (is_trivial(p))
            vug_schema_add_boolean(s, values, p->key, false);
        else
            vug_schema_add_reference(s, values, p->key, p, true);
    }
}

/* Some required property is absent; those that "properties" names are negated with it. */
static void negate_required(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *names,
                            vug_jv *to)
{
    const vug_jv *properties = vug_jv_get(schema, "properties");
    for (const vug_jv *name = names->child; name; name = name->next) {
        if (properties && vug_schema_get_member(s, properties, name->str))
            continue;
        vug_schema_add_boolean(s,
                               vug_schema_add_object(s,
                                                     vug_schema_add_typed(s, to, VUG_TYPE_OBJECT),
                                                     "properties"),
                               name->str, false);
    }
}

/* Appends an object with some property, whose name and value are still to be added. */
static vug_jv *add_some_property(vug_schema_compiler *s, vug_jv *to)
{
    return vug_schema_add_object(s, vug_schema_add_typed(s, to, VUG_TYPE_OBJECT),
                                 VUG_KEYWORD_SOME_PROPERTY);
}

static void negate_additional_properties(vug_schema_compiler *s, const vug_jv *schema,
                                         const vug_jv *values, vug_jv *to)
{
    const vug_jv *properties = vug_jv_get(schema, "properties");
    const vug_jv *patterns = vug_schema_pattern_properties(schema);
    vug_jv *some = add_some_property(s, to);
    vug_jv *name = vug_schema_add_object(s, some, "name");
    vug_jv *known = vug_schema_add_list(s, name, VUG_KEYWORD_NOT_VALUES);
    for (const vug_jv *p = properties ? properties->child : NULL; p; p = p->next)
        vug_schema_add_text(s, known, "", p->key);
    vug_jv *all = patterns ? vug_schema_add_list(s, name, "allOf") : NULL;
    for (const vug_jv *p = patterns ? patterns->child : NULL; p; p = p->next)
        vug_schema_add_text(s, vug_schema_add_object(s, all, ""), VUG_KEYWORD_NOT_PATTERN, p->key);
    vug_schema_add_reference(s, some, vug_str_of("value"), values, true);
}

static void negate_pattern_properties(vug_schema_compiler *s, const vug_jv *patterns, vug_jv *to)
{
    for (const vug_jv *p = patterns->child; p; p = p->next) {
        if (is_trivial(p))
            continue;
        vug_jv *some = add_some_property(s, to);
        vug_schema_add_text(s, vug_schema_add_object(s, some, "name"), "pattern", p->key);
        vug_schema_add_reference(s, some, vug_str_of("value"), p, true);
    }
}

/* The only member of an object, if it has that name. */
static const vug_jv *get_only(const vug_jv *object, const char *name)
{
    return vug_jv_is(object, VUG_JSON_OBJECT) && object->n == 1 ? vug_jv_get(object, name) : NULL;
}

/* Some name is none that `names` allows. Where it allows all but a few, one of these is required. */
static void negate_property_names(vug_schema_compiler *s, const vug_jv *names, vug_jv *to)
{
    const vug_jv *other = get_only(names, "not");
    const vug_jv *one = get_only(other, "const"), *list = get_only(other, "enum");
    for (const vug_jv *name = list ? list->child : one; name; name = list ? name->next : NULL) {
        if (name->type == VUG_JSON_STRING)
            vug_schema_add_text(s,
                                vug_schema_add_list(s, vug_schema_add_typed(s, to, VUG_TYPE_OBJECT),
                                                    "required"),
                                "", name->str);
    }
    if (one || list)
        return;
    vug_jv *some = add_some_property(s, to);
    vug_schema_add_reference(s, some, vug_str_of("name"), names, true);
    vug_schema_add_boolean(s, some, vug_str_of("value"), true);
}

static void negate_prefix_items(vug_schema_compiler *s, const vug_jv *prefix, vug_jv *to)
{
    size_t i = 0;
    for (const vug_jv *item = prefix->child; item; item = item->next, i++) {
        if (is_trivial(item) || !vug_schema_charge(s, i + 1))
            continue;
        vug_jv *branch = vug_schema_add_typed(s, to, VUG_TYPE_ARRAY);
        vug_jv *items = vug_schema_add_list(s, branch, "prefixItems");
        vug_schema_add_count(s, branch, "minItems", (double)i + 1);
        for (size_t k = 0; k < i; k++)
            vug_schema_add_boolean(s, items, VUG_SCHEMA_NO_KEY, true);
        vug_schema_add_negated(s, items, item);
    }
}

enum { MAX_PAIRS = 8 }; /* branches of a oneOf whose pairs are listed */

static void negate_one_of(vug_schema_compiler *s, const vug_jv *list, vug_jv *to)
{
    if (list->n > MAX_PAIRS) {
        add_undecided(s, to, VUG_TYPE_ALL, list->key);
        return;
    }
    for (const vug_jv *a = list->child; a; a = a->next) {
        for (const vug_jv *b = a->next; b; b = b->next) {
            vug_jv *both = vug_schema_add_list(s, vug_schema_add_object(s, to, ""), "allOf");
            vug_schema_add_same(s, both, a);
            vug_schema_add_same(s, both, b);
        }
    }
}

static bool negate_joined(vug_schema_compiler *s, const vug_jv *m, vug_jv *to)
{
    const bool is_one_of = vug_str_is(m->key, "oneOf");
    if (vug_str_is(m->key, "allOf")) {
        for (const vug_jv *a = m->child; a; a = a->next)
            vug_schema_add_negated(s, to, a);
        return true;
    }
    if (!is_one_of && !vug_str_is(m->key, "anyOf"))
        return false;
    vug_jv *none = vug_schema_add_list(s, vug_schema_add_object(s, to, ""), "allOf");
    for (const vug_jv *a = m->child; a; a = a->next)
        vug_schema_add_negated(s, none, a);
    if (is_one_of)
        negate_one_of(s, m, to);
    return true;
}

static bool negate_string_keyword(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *m,
                                  vug_jv *to)
{
    static const struct {
        const char *keyword, *opposite;
    } row[] = { { "pattern", VUG_KEYWORD_NOT_PATTERN },
                { VUG_KEYWORD_NOT_PATTERN, "pattern" },
                { VUG_KEYWORD_NOT_VALUES, "enum" } };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        if (!vug_str_is(m->key, row[i].keyword))
            continue;
        vug_schema_add_copy(s, vug_schema_add_typed(s, to, VUG_TYPE_STRING), row[i].opposite, m);
        return true;
    }
    if (!vug_str_is(m->key, "format"))
        return false;
    /* The grammar of a format may lack some of its texts, so its negation would be too large. */
    const vug_schema_format *f =
            vug_schema_ignores_format(schema, m) ? NULL : vug_schema_find_format(m->str);
    if (f && f->implied)
        vug_schema_add_text(s, vug_schema_add_typed(s, to, VUG_TYPE_STRING),
                            VUG_KEYWORD_NOT_PATTERN, vug_str_of(f->implied));
    else if (f)
        add_undecided(s, to, VUG_TYPE_STRING, m->key);
    if (vug_schema_is_number_format(m->str))
        add_undecided(s, to, NUMBERS, m->key);
    return true;
}

static bool negate_object_keyword(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *m,
                                  vug_jv *to)
{
    if (vug_str_is(m->key, "properties"))
        negate_properties(s, schema, m, to);
    else if (vug_str_is(m->key, "required"))
        negate_required(s, schema, m, to);
    else if (vug_str_is(m->key, "patternProperties"))
        negate_pattern_properties(s, m, to);
    else if (vug_str_is(m->key, "additionalProperties") && !is_trivial(m))
        negate_additional_properties(s, schema, m, to);
    else if (vug_str_is(m->key, "propertyNames") && !is_trivial(m))
        negate_property_names(s, m, to);
    else
        return false;
    return true;
}

/* The list of items after which `m` applies: "prefixItems", or "items" up to draft 2019-09. */
static const vug_jv *find_items_before(const vug_jv *schema, const vug_jv *m)
{
    const vug_jv *rest, *prefix = vug_schema_prefix_items(schema, &rest);
    return rest == m ? prefix : NULL;
}

static bool negate_array_keyword(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *m,
                                 vug_jv *to)
{
    const bool is_items = vug_str_is(m->key, "items");
    const vug_jv *list = find_items_before(schema, m);
    if (list && m->type == VUG_JSON_BOOL && !m->boolean)
        vug_schema_add_count(s, vug_schema_add_typed(s, to, VUG_TYPE_ARRAY), "minItems",
                             (double)list->n + 1);
    else if (vug_str_is(m->key, "prefixItems") || (is_items && m->type == VUG_JSON_ARRAY))
        negate_prefix_items(s, m, to);
    else if (is_items && !is_trivial(m) && !vug_jv_get(schema, "prefixItems"))
        vug_schema_add_reference(s, vug_schema_add_typed(s, to, VUG_TYPE_ARRAY),
                                 vug_str_of("contains"), m, true);
    else if (vug_str_is(m->key, "contains") && !vug_jv_get(schema, "minContains") &&
             !vug_jv_get(schema, "maxContains"))
        vug_schema_add_reference(s, vug_schema_add_typed(s, to, VUG_TYPE_ARRAY),
                                 vug_str_of("items"), m, true);
    else
        return vug_str_is(m->key, "additionalItems") && !list; /* has no effect */
    return true;
}

/* Keywords without a negation, unless their value is trivial. */
static void negate_other(vug_schema_compiler *s, const vug_jv *m, vug_jv *to)
{
    static const struct {
        const char *keyword;
        unsigned types;
    } row[] = { { "multipleOf", NUMBERS },
                { "uniqueItems", VUG_TYPE_ARRAY },
                { "items", VUG_TYPE_ARRAY },
                { "additionalItems", VUG_TYPE_ARRAY },
                { "contains", VUG_TYPE_ARRAY },
                { "unevaluatedProperties", VUG_TYPE_OBJECT },
                { "unevaluatedItems", VUG_TYPE_ARRAY },
                { VUG_KEYWORD_SOME_PROPERTY, VUG_TYPE_OBJECT },
                { VUG_KEYWORD_UNDECIDED, VUG_TYPE_ALL } };
    const bool schema = m->type == VUG_JSON_OBJECT || m->type == VUG_JSON_BOOL;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
        if (vug_str_is(m->key, row[i].keyword) && !(schema && i >= 2 && is_trivial(m)) &&
            !(i == 1 && !m->boolean))
            add_undecided(s, to, row[i].types, m->key);
}

static void negate_keyword(vug_schema_compiler *s, const vug_jv *schema, const vug_jv *m,
                           vug_jv *to)
{
    if (vug_str_is(m->key, VUG_KEYWORD_NEGATED))
        vug_schema_add_same(s, to, m->child);
    else if (vug_str_is(m->key, "const"))
        negate_values(s, m, 1, to);
    else if (vug_str_is(m->key, "enum"))
        negate_values(s, m->child, m->n, to);
    else if (!negate_count(s, m, to) && !negate_bound(s, schema, m, to) &&
             !negate_multiple(s, m, to) && !negate_joined(s, m, to) &&
             !negate_string_keyword(s, schema, m, to) && !negate_object_keyword(s, schema, m, to) &&
             !negate_array_keyword(s, schema, m, to))
        negate_other(s, m, to);
}

static const vug_jv *make_negation(vug_schema_compiler *s, vug_schema_entry *entry)
{
    const vug_jv *schema = entry->schema, *ref = entry->ref_target;
    vug_jv *out = vug_schema_new_node(s, VUG_JSON_OBJECT, "");
    vug_jv *to = vug_schema_add_list(s, out, "anyOf");
    if (ref)
        vug_schema_add_negated(s, to, ref);
    if (ref && s->ref_hides_siblings)
        return out;
    const unsigned types = vug_schema_case_types((vug_schema_case){ &schema, 1 });
    if (types != VUG_TYPE_ALL)
        (void)vug_schema_add_typed(s, to, VUG_TYPE_ALL & ~types);
    for (const vug_jv *m = schema->child; m && vug_schema_ok(s); m = m->next)
        negate_keyword(s, schema, m, to);
    const vug_jv *derived = vug_schema_derived(s, entry);
    if (derived && !vug_jv_get(schema, VUG_KEYWORD_NEGATED))
        vug_schema_add_negated(s, to, derived);
    if (to && to->n == 0) /* anything satisfies the schema */
        *out = (vug_jv){ .type = VUG_JSON_BOOL, .boolean = false };
    return out;
}

static const vug_jv *find_negation(vug_schema_compiler *s, const vug_jv *schema)
{
    vug_schema_entry *entry = vug_schema_check(s, schema);
    if (entry && !entry->negation)
        entry->negation = make_negation(s, entry);
    return entry ? entry->negation : NULL;
}

/* ---- keywords that are written with others ------------------------------------------ */

static void derive_if(vug_schema_compiler *s, const vug_jv *schema, vug_jv *to)
{
    const vug_jv *condition = vug_jv_get(schema, "if");
    const vug_jv *then = vug_jv_get(schema, "then"), *otherwise = vug_jv_get(schema, "else");
    if (!condition || (!then && !otherwise))
        return;
    vug_jv *either = vug_schema_add_list(s, vug_schema_add_object(s, to, ""), "anyOf");
    vug_jv *yes = vug_schema_add_list(s, vug_schema_add_object(s, either, ""), "allOf");
    vug_jv *no = vug_schema_add_list(s, vug_schema_add_object(s, either, ""), "allOf");
    vug_schema_add_same(s, yes, condition);
    vug_schema_add_negated(s, no, condition);
    if (then)
        vug_schema_add_same(s, yes, then);
    if (otherwise)
        vug_schema_add_same(s, no, otherwise);
}

/* Either the property is absent, or what depends on it holds. */
static void derive_dependencies(vug_schema_compiler *s, const vug_jv *map, vug_jv *to)
{
    for (const vug_jv *m = map ? map->child : NULL; m && vug_schema_ok(s); m = m->next) {
        if (m->type == VUG_JSON_ARRAY && m->n == 0)
            continue;
        vug_jv *either = vug_schema_add_list(s, vug_schema_add_object(s, to, ""), "anyOf");
        vug_schema_add_boolean(
                s, vug_schema_add_object(s, vug_schema_add_object(s, either, ""), "properties"),
                m->key, false);
        vug_jv *both = vug_schema_add_list(s, vug_schema_add_object(s, either, ""), "allOf");
        vug_jv *names =
                vug_schema_add_list(s, vug_schema_add_typed(s, both, VUG_TYPE_OBJECT), "required");
        vug_schema_add_text(s, names, "", m->key);
        if (m->type != VUG_JSON_ARRAY)
            vug_schema_add_same(s, both, m);
        for (const vug_jv *name = m->type == VUG_JSON_ARRAY ? m->child : NULL; name;
             name = name->next)
            vug_schema_add_text(s, names, "", name->str);
    }
}

static const vug_jv *make_derived(vug_schema_compiler *s, const vug_jv *schema)
{
    static const char *const maps[] = { "dependencies", "dependentRequired", "dependentSchemas" };
    vug_jv *out = vug_schema_new_node(s, VUG_JSON_OBJECT, "");
    vug_jv *to = vug_schema_add_list(s, out, "allOf");
    const vug_jv *forbidden = vug_jv_get(schema, "not");
    if (forbidden)
        vug_schema_add_negated(s, to, forbidden);
    derive_if(s, schema, to);
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        derive_dependencies(s, vug_jv_get(schema, maps[i]), to);
    return to && to->n > 0 ? out : NULL;
}

const vug_jv *vug_schema_derived(vug_schema_compiler *s, vug_schema_entry *entry)
{
    if (!entry)
        return NULL;
    const vug_jv *negated = vug_jv_get(entry->schema, VUG_KEYWORD_NEGATED);
    if (negated)
        return find_negation(s, negated->child);
    if (vug_schema_ok(s) && !entry->has_derived) {
        entry->derived = make_derived(s, entry->schema);
        entry->has_derived = true;
    }
    return entry->derived;
}

const vug_jv *vug_schema_negated(vug_schema_compiler *s, const vug_jv *schema)
{
    vug_jv *list = vug_schema_new_node(s, VUG_JSON_ARRAY, "");
    if (list)
        vug_schema_add_negated(s, list, schema);
    return list ? list->child : NULL;
}
