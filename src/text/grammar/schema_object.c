#include "text/grammar/schema_members.h"
#include "text/grammar/schema_nodes.h"
#include "text/grammar/schema_pattern_names.h"
#include "text/grammar/schema_sets.h"

#include <stdlib.h>

/*
 * Objects. Properties are written in the order of "properties", then those that are only in
 * "required". Additional ones, if they are allowed, stand anywhere after the required ones.
 *
 * Some property that must be present (VUG_KEYWORD_SOME_PROPERTY) is one of the named properties or
 * an additional one: the object is a choice of these. Among additional properties it is the last
 * one, since a parser that meets a name twice takes the last value.
 */

enum {
    MAX_WANTED = 16,    /* properties, of one object */
    MAX_CHOICES = 256,  /* of named properties for them */
    STEPS_PER_NAME = 8, /* of work, to sort it and to find the schemas of its property */
};

/* A property that is named somewhere in the case. */
typedef struct {
    vug_str name;
    size_t order;
    bool required;
    bool forbidden;        /* by propertyNames, or because another property is chosen */
    vug_schema_set values; /* the schemas for its value, without those of wanted properties */
    bool has_usual;        /* `usual`, its pair where it is not chosen, has been made */
    vug_grammar_expr usual;
    vug_grammar_expr pair; /* key and value; VUG_EMPTY_EXPR: it may not occur */
} schema_property;

typedef struct {
    vug_schema_compiler *s;
    vug_schema_case c;
    schema_property *property; /* [n], in writing order */
    size_t n;
    uint64_t min, max;           /* members; UINT64_MAX: no limit */
    vug_schema_set names;        /* of propertyNames */
    bool open;                   /* additional members are allowed */
    vug_grammar_expr additional; /* one additional member */
    vug_schema_set wanted;       /* the values of VUG_KEYWORD_SOME_PROPERTY */
    size_t chosen[MAX_WANTED];   /* the named property for each; `n`: an additional one */
    size_t n_choices;            /* made so far */
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
    const size_t n_names = count_names(o->c, names);
    o->property = vug_schema_alloc(o->s, n_names, sizeof(*o->property));
    if (!o->property || !vug_schema_charge(o->s, STEPS_PER_NAME * n_names))
        return;
    for (size_t i = 0; i < o->c.n; i++)
        add_names(o, vug_jv_get(o->c.schema[i], "properties"), false);
    for (size_t i = 0; i < o->c.n; i++)
        add_names(o, vug_jv_get(o->c.schema[i], "required"), true);
    add_names(o, names, false);
    merge_duplicates(o);
    for (size_t i = 0; i < o->n; i++)
        o->property[i].values = vug_schema_property_set(o->s, o->c, o->property[i].name);
}

/* ---- names ------------------------------------------------------------------------ */

/* The values of a keyword in the schemas of a case. */
static vug_schema_set keyword_set(vug_schema_compiler *s, vug_schema_case c, const char *keyword)
{
    const vug_str name = vug_str_of(keyword);
    const uint64_t bit = vug_jv_key_bit(name);
    vug_schema_start_set(s);
    for (size_t i = 0; i < c.n; i++)
        if (c.schema[i]->keys & bit)
            vug_schema_add_to_set(s, vug_jv_find(c.schema[i], name));
    return vug_schema_take_set(s);
}

/* Whether the name of a property satisfies a schema. */
static bool is_name_valid(schema_object *o, size_t property, const vug_jv *schema)
{
    const vug_jv name = { .type = VUG_JSON_STRING, .str = o->property[property].name };
    const vug_schema_verdict verdict = vug_schema_validate(o->s, &name, schema);
    if (verdict == VUG_SCHEMA_MAYBE)
        vug_schema_fail(o->s, VUG_UNSUPPORTED, schema,
                        "a pattern or a format for the name '%.*s' is not supported",
                        VUG_STR_ARG(name.str));
    return verdict == VUG_SCHEMA_YES;
}

static void check_names(schema_object *o)
{
    for (size_t i = 0; i < o->n && vug_schema_ok(o->s); i++)
        for (size_t k = 0; k < o->names.n; k++)
            o->property[i].forbidden |= !is_name_valid(o, i, o->names.schema[k]);
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

/* One additional member of the case; `open` becomes false if there is none. */
static vug_grammar_expr additional_expr(schema_object *o, vug_schema_case c, vug_schema_set names,
                                        bool *open)
{
    vug_schema_compiler *s = o->s;
    const vug_str *known = property_names(o);
    if (!known)
        return VUG_EMPTY_EXPR;
    if (!find_patterns(c) && names.n == 0) {
        const vug_grammar_expr key =
                o->n > 0 ? vug_schema_additional_name_expr(s, known, o->n) : s->json.key;
        return pair_expr(s, no_name, key, keyword_set(s, c, "additionalProperties"));
    }
    const vug_schema_name_classes classes = vug_schema_split_names(s, c, names, known, o->n);
    vug_grammar_expr *part = vug_schema_alloc(s, classes.n, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < classes.n; i++)
        part[n++] = pair_expr(s, no_name, classes.list[i].name, classes.list[i].values);
    *open = n > 0;
    return vug_grammar_choice(s->builder, part, n);
}

static void read_additional(schema_object *o, bool enumerated)
{
    const vug_schema_set values = keyword_set(o->s, o->c, "additionalProperties");
    o->open = !enumerated && !vug_schema_has_false(o->names) &&
              (find_patterns(o->c) || !vug_schema_has_false(values));
    if (o->open)
        o->additional = additional_expr(o, o->c, o->names, &o->open);
}

/* An additional member that is all of the wanted properties for which no named one is chosen;
 * VUG_EMPTY_EXPR if there are none. */
static vug_grammar_expr last_expr(schema_object *o)
{
    vug_schema_compiler *s = o->s;
    const vug_jv **cases = vug_schema_alloc_list(s, o->c.n + o->wanted.n);
    const vug_jv **names = vug_schema_alloc_list(s, o->names.n + o->wanted.n);
    size_t n_cases = 0, n_names = 0;
    if (!cases || !names)
        return VUG_EMPTY_EXPR;
    for (size_t i = 0; i < o->c.n; i++)
        cases[n_cases++] = o->c.schema[i];
    for (size_t i = 0; i < o->names.n; i++)
        names[n_names++] = o->names.schema[i];
    for (size_t i = 0; i < o->wanted.n; i++) {
        if (o->chosen[i] < o->n)
            continue;
        vug_jv *values = vug_schema_new_node(s, VUG_JSON_OBJECT, "");
        vug_schema_add_reference(s, values, vug_str_of("additionalProperties"),
                                 vug_jv_get(o->wanted.schema[i], "value"), false);
        cases[n_cases++] = values;
        names[n_names++] = vug_jv_get(o->wanted.schema[i], "name");
    }
    if (n_cases == o->c.n || !vug_schema_ok(s))
        return VUG_EMPTY_EXPR;
    if (s->in_parameter)
        vug_schema_fail(s, VUG_UNSUPPORTED, o->c.schema[0],
                        "the negation of additionalProperties, patternProperties and propertyNames "
                        "is not supported for parameters");
    bool open = true;
    return additional_expr(o, (vug_schema_case){ cases, n_cases },
                           (vug_schema_set){ names, n_names }, &open);
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
    return !vug_schema_find_keyword(c, VUG_KEYWORD_SOME_PROPERTY);
}

static bool is_bare_name(vug_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!vug_json_grammar_is_bare_key_char((unsigned char)name.ptr[i]))
            return false;
    return name.len > 0;
}

static bool is_chosen(const schema_object *o, size_t property)
{
    bool found = false;
    for (size_t i = 0; i < o->wanted.n && !found; i++)
        found = o->chosen[i] == property;
    return found;
}

/* VUG_EMPTY_EXPR if no value satisfies the schemas. */
static vug_grammar_expr property_expr(schema_object *o, const schema_property *p,
                                      vug_schema_set values)
{
    if (p->forbidden || vug_schema_has_false(values))
        return VUG_EMPTY_EXPR;
    if (o->s->in_parameter && !is_bare_name(p->name))
        vug_schema_fail(o->s, VUG_UNSUPPORTED, o->c.schema[0],
                        "the name '%.*s' is not supported for a parameter", VUG_STR_ARG(p->name));
    return pair_expr(o->s, p->name, vug_json_grammar_key(&o->s->json, p->name), values);
}

/* The value of a chosen property also satisfies the schemas of the wanted ones that it is. */
static vug_schema_set chosen_values(schema_object *o, size_t property)
{
    const vug_schema_set usual = o->property[property].values;
    vug_schema_start_set(o->s);
    for (size_t i = 0; i < usual.n; i++)
        vug_schema_add_to_set(o->s, usual.schema[i]);
    for (size_t i = 0; i < o->wanted.n; i++)
        if (o->chosen[i] == property)
            vug_schema_add_to_set(o->s, vug_jv_get(o->wanted.schema[i], "value"));
    return vug_schema_take_set(o->s);
}

/* False if a required property may not occur. */
static bool make_pairs(schema_object *o)
{
    for (size_t i = 0; i < o->n && vug_schema_ok(o->s); i++) {
        schema_property *p = &o->property[i];
        const bool chosen = is_chosen(o, i);
        if (!chosen && !p->has_usual) {
            p->usual = property_expr(o, p, p->values);
            p->has_usual = true;
        }
        p->pair = chosen ? property_expr(o, p, chosen_values(o, i)) : p->usual;
        if (p->pair == VUG_EMPTY_EXPR && (p->required || chosen))
            return false;
    }
    return true;
}

/* The object with the chosen properties. */
static vug_grammar_expr chosen_expr(schema_object *o)
{
    const vug_grammar_expr last = last_expr(o);
    vug_schema_object_member *member = vug_schema_alloc(o->s, o->n, sizeof(*member));
    if (!member || !make_pairs(o))
        return vug_grammar_nothing(o->s->builder);
    for (size_t i = 0; i < o->n; i++)
        member[i] = (vug_schema_object_member){ o->property[i].pair,
                                                o->property[i].required || is_chosen(o, i) };
    const vug_schema_members members = { .c = o->c,
                                         .member = member,
                                         .n = o->n,
                                         .min = o->min,
                                         .max = o->max,
                                         .open = o->open,
                                         .additional = o->additional,
                                         .last = last };
    return vug_schema_members_expr(o->s, &members);
}

/* ---- wanted properties -------------------------------------------------------------------- */

static bool is_true(const vug_jv *schema)
{
    return schema->type == VUG_JSON_BOOL && schema->boolean;
}

/* A named property that is the wanted one in every object; `n` if there is none. */
static size_t find_certain(schema_object *o, const vug_jv *wanted)
{
    size_t i = is_true(vug_jv_get(wanted, "value")) ? 0 : o->n;
    while (i < o->n &&
           !(o->property[i].required && is_name_valid(o, i, vug_jv_get(wanted, "name"))))
        i++;
    return i;
}

/* A choice of the properties that the wanted ones from `next` on may be. Each level of recursion
 * is one of them. */
static vug_grammar_expr choose_wanted(schema_object *o, size_t next) // NOLINT(misc-no-recursion)
{
    vug_schema_compiler *s = o->s;
    if (next == o->wanted.n)
        return chosen_expr(o);
    const vug_jv *wanted = o->wanted.schema[next];
    o->chosen[next] = find_certain(o, wanted);
    if (o->chosen[next] < o->n)
        return choose_wanted(o, next + 1);
    vug_grammar_expr *part = vug_schema_alloc(s, o->n + 1, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < o->n && vug_schema_ok(s); i++) {
        if (o->property[i].forbidden || !is_name_valid(o, i, vug_jv_get(wanted, "name")))
            continue;
        if (++o->n_choices > MAX_CHOICES)
            vug_schema_fail(s, VUG_LIMIT, o->c.schema[0],
                            "more than %d choices of a property that must violate a schema",
                            MAX_CHOICES);
        o->chosen[next] = i;
        part[n++] = choose_wanted(o, next + 1);
    }
    o->chosen[next] = o->n;
    if (part && o->open)
        part[n++] = choose_wanted(o, next + 1);
    return vug_grammar_choice(s->builder, part, n);
}

vug_grammar_expr vug_schema_object_expr(vug_schema_compiler *s, vug_schema_case c)
{
    if (is_unconstrained(c) && !s->in_parameter)
        return s->json.object;
    schema_object o = { .s = s,
                        .c = c,
                        .min = vug_schema_strictest_count(c, "minProperties", false, 0),
                        .max = vug_schema_strictest_count(c, "maxProperties", true, UINT64_MAX),
                        .names = keyword_set(s, c, "propertyNames"),
                        .wanted = keyword_set(s, c, VUG_KEYWORD_SOME_PROPERTY) };
    const vug_jv *patterns = find_patterns(c);
    if (s->in_parameter && (o.names.n > 0 || patterns))
        vug_schema_fail(s, VUG_UNSUPPORTED, o.names.n ? o.names.schema[0] : patterns,
                        "patternProperties and propertyNames are not supported for parameters");
    if (o.wanted.n > MAX_WANTED)
        vug_schema_fail(s, VUG_LIMIT, c.schema[0],
                        "more than %d properties that must violate a schema", MAX_WANTED);
    const vug_jv *enumerated = enumerated_names(o.names);
    collect_properties(&o, enumerated);
    check_names(&o);
    read_additional(&o, enumerated != NULL);
    if (!vug_schema_ok(s) || o.min > o.max)
        return vug_grammar_nothing(s->builder);
    if (o.max == 0)
        o.open = false;
    return choose_wanted(&o, 0);
}
