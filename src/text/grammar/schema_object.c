#include "text/grammar/schema_pattern_names.h"

#include <stdlib.h>

/*
 * Objects. Properties are written in the order of "properties", then those that are only in
 * "required", then additional ones, if they are allowed.
 */

/* A property that is named somewhere in the case. */
typedef struct {
    vug_str name;
    size_t order;
    bool required;
    bool forbidden;        /* by propertyNames */
    vug_grammar_expr pair; /* key and value; VUG_EMPTY_EXPR: it may not occur */
} schema_property;

typedef struct {
    vug_schema_compiler *s;
    vug_schema_case c;
    schema_property *property; /* [n], in writing order */
    size_t n;
    uint64_t min, max;           /* members; UINT64_MAX: no limit */
    bool open;                   /* additional members may follow */
    vug_grammar_expr additional; /* one additional member */
} schema_object;

/* ---- collecting properties ------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const schema_property *x = a, *y = b;
    const int order = vug_str_compare(x->name, y->name);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int compare_order(const void *a, const void *b)
{
    const schema_property *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static size_t count_names(vug_schema_case c, const vug_jv *names)
{
    size_t n = names ? names->n : 0;
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *properties = vug_jv_get(c.schema[i], "properties");
        const vug_jv *required = vug_jv_get(c.schema[i], "required");
        n += (properties ? properties->n : 0) + (required ? required->n : 0);
    }
    return n;
}

static void add_names(schema_object *o, const vug_jv *list, bool required)
{
    for (const vug_jv *m = list ? list->child : NULL; m; m = m->next) {
        const vug_str name = list->type == VUG_JSON_OBJECT ? m->key : m->str;
        if (list->type == VUG_JSON_OBJECT || m->type == VUG_JSON_STRING) {
            o->property[o->n] =
                    (schema_property){ .name = name, .order = o->n, .required = required };
            o->n++;
        }
    }
}

/* Keeps one property per name, at its first position. */
static void merge_duplicates(schema_object *o)
{
    if (o->n == 0)
        return;
    qsort(o->property, o->n, sizeof(*o->property), compare_names);
    size_t n = 1;
    for (size_t i = 1; i < o->n; i++) {
        if (vug_str_equal(o->property[i].name, o->property[n - 1].name))
            o->property[n - 1].required |= o->property[i].required;
        else
            o->property[n++] = o->property[i];
    }
    o->n = n;
    qsort(o->property, o->n, sizeof(*o->property), compare_order);
}

/* `names`: the enum of propertyNames, or NULL. */
static void collect_properties(schema_object *o, const vug_jv *names)
{
    o->property = vug_schema_alloc(o->s, count_names(o->c, names), sizeof(*o->property));
    if (!o->property)
        return;
    for (size_t i = 0; i < o->c.n; i++)
        add_names(o, vug_jv_get(o->c.schema[i], "properties"), false);
    for (size_t i = 0; i < o->c.n; i++)
        add_names(o, vug_jv_get(o->c.schema[i], "required"), true);
    add_names(o, names, false);
    merge_duplicates(o);
}

/* ---- names ------------------------------------------------------------------------ */

/* The values of a keyword in the schemas of a case. */
static vug_schema_set keyword_set(vug_schema_compiler *s, vug_schema_case c, const char *keyword)
{
    const vug_jv **list = vug_schema_alloc_list(s, c.n);
    size_t n = 0;
    for (size_t i = 0; list && i < c.n; i++) {
        list[n] = vug_jv_get(c.schema[i], keyword);
        n += list[n] != NULL;
    }
    return (vug_schema_set){ list, n };
}

static void check_names(schema_object *o, vug_schema_set names)
{
    for (size_t i = 0; i < o->n && vug_schema_ok(o->s); i++) {
        const vug_jv name = { .type = VUG_JSON_STRING, .str = o->property[i].name };
        for (size_t k = 0; k < names.n; k++) {
            const vug_schema_verdict verdict = vug_schema_validate(o->s, &name, names.schema[k]);
            if (verdict == VUG_SCHEMA_MAYBE)
                vug_schema_fail(o->s, VUG_UNSUPPORTED, names.schema[k],
                                "a pattern or a format for the name '%.*s' is not supported",
                                VUG_STR_ARG(name.str));
            o->property[i].forbidden |= verdict == VUG_SCHEMA_NO;
        }
    }
}

/* ---- additional members ------------------------------------------------------------------ */

static const vug_str no_name = { 0 };

/* `known`: the name of a property; empty if `name` matches many names. */
static vug_grammar_expr pair_expr(vug_schema_compiler *s, vug_str known, vug_grammar_expr name,
                                  vug_schema_set values)
{
    if (!s->in_parameter)
        return VUG_GRAMMAR_SEQUENCE(s->builder, name, s->json.colon,
                                    vug_schema_set_expr(s, values));
    return VUG_GRAMMAR_SEQUENCE(s->builder, vug_grammar_text(s->builder, "<parameter="), name,
                                vug_grammar_text(s->builder, ">"), s->json.colon,
                                vug_schema_parameter_expr(s, known, values));
}

/* The first patternProperties of the case. */
static const vug_jv *find_patterns(vug_schema_case c)
{
    const vug_jv *patterns = NULL;
    for (size_t i = 0; i < c.n && !patterns; i++)
        patterns = vug_schema_pattern_properties(c.schema[i]);
    return patterns;
}

static vug_str *property_names(schema_object *o)
{
    vug_str *name = vug_schema_alloc(o->s, o->n, sizeof(*name));
    for (size_t i = 0; name && i < o->n; i++)
        name[i] = o->property[i].name;
    return name;
}

static void read_additional(schema_object *o, vug_schema_set names, bool enumerated)
{
    vug_schema_compiler *s = o->s;
    const vug_schema_set values = keyword_set(s, o->c, "additionalProperties");
    const bool patterns = find_patterns(o->c) != NULL;
    o->open = !enumerated && !vug_schema_has_false(names) &&
              (patterns || !vug_schema_has_false(values));
    vug_str *name = o->open ? property_names(o) : NULL;
    if (!name)
        return;
    if (!patterns && names.n == 0) {
        const vug_grammar_expr key =
                o->n > 0 ? vug_schema_additional_name_expr(s, name, o->n) : s->json.key;
        o->additional = pair_expr(s, no_name, key, values);
        return;
    }
    vug_schema_name_classes classes = vug_schema_split_names(s, o->c, names, name, o->n);
    vug_grammar_expr *part = vug_schema_alloc(s, classes.n, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < classes.n; i++)
        part[n++] = pair_expr(s, no_name, classes.list[i].name, classes.list[i].values);
    o->additional = vug_grammar_choice(s->builder, part, n);
    o->open = n > 0;
}

/* ---- objects ---------------------------------------------------------------------------- */

/* If propertyNames has an enum, its names are treated like named properties. */
static const vug_jv *enumerated_names(vug_schema_set names)
{
    const vug_jv *only = names.n == 1 ? names.schema[0] : NULL;
    return vug_jv_is(only, VUG_JSON_OBJECT) ? vug_jv_get(only, "enum") : NULL;
}

static bool is_unconstrained(vug_schema_case c)
{
    static const char *const keywords[] = {
        "properties",    "required",      "additionalProperties", "patternProperties",
        "propertyNames", "minProperties", "maxProperties",
    };
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (vug_schema_find_keyword(c, keywords[i]))
            return false;
    return true;
}

static bool is_bare_name(vug_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!vug_json_grammar_is_bare_key_char((unsigned char)name.ptr[i]))
            return false;
    return name.len > 0;
}

/* False if a required property may not occur. */
static bool make_pairs(schema_object *o)
{
    for (size_t i = 0; i < o->n && vug_schema_ok(o->s); i++) {
        schema_property *p = &o->property[i];
        const vug_schema_set values = vug_schema_property_set(o->s, o->c, p->name);
        const bool never = p->forbidden || vug_schema_has_false(values);
        if (never && p->required)
            return false;
        if (!never && o->s->in_parameter && !is_bare_name(p->name))
            vug_schema_fail(o->s, VUG_UNSUPPORTED, o->c.schema[0],
                            "the name '%.*s' is not supported for a parameter",
                            VUG_STR_ARG(p->name));
        if (!never)
            p->pair = pair_expr(o->s, p->name, vug_json_grammar_key(&o->s->json, p->name), values);
    }
    return true;
}

static vug_grammar_expr members_expr(const schema_object *o)
{
    vug_schema_object_member *member = vug_schema_alloc(o->s, o->n, sizeof(*member));
    for (size_t i = 0; member && i < o->n; i++)
        member[i] = (vug_schema_object_member){ o->property[i].pair, o->property[i].required };
    const vug_schema_members members = { .c = o->c,
                                         .member = member,
                                         .n = member ? o->n : 0,
                                         .min = o->min,
                                         .max = o->max,
                                         .open = o->open,
                                         .additional = o->additional };
    return vug_schema_members_expr(o->s, &members);
}

vug_grammar_expr vug_schema_object_expr(vug_schema_compiler *s, vug_schema_case c)
{
    if (is_unconstrained(c) && !s->in_parameter)
        return s->json.object;
    schema_object o = { .s = s,
                        .c = c,
                        .min = vug_schema_strictest_count(c, "minProperties", false, 0),
                        .max = vug_schema_strictest_count(c, "maxProperties", true, UINT64_MAX) };
    const vug_schema_set names = keyword_set(s, c, "propertyNames");
    const vug_jv *patterns = find_patterns(c);
    if (s->in_parameter && (names.n > 0 || patterns))
        vug_schema_fail(s, VUG_UNSUPPORTED, names.n ? names.schema[0] : patterns,
                        "patternProperties and propertyNames are not supported for parameters");
    const vug_jv *enumerated = enumerated_names(names);
    collect_properties(&o, enumerated);
    check_names(&o, names);
    read_additional(&o, names, enumerated != NULL);
    if (!vug_schema_ok(s) || !make_pairs(&o) || o.min > o.max)
        return vug_grammar_nothing(s->builder);
    if (o.max == 0)
        o.open = false;
    return members_expr(&o);
}
