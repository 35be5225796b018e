#include "text/grammar/schema.h"

#include <stdlib.h>

/*
 * Objects. Properties are written in the order in which the schema names them, those that
 * it only requires after them, and others, where they are allowed, at the end.
 */

/* A property that is named somewhere in the case. */
typedef struct {
    vug_str name;
    size_t order;
    bool required;
    bool forbidden; /* by propertyNames */
    vug_node pair;  /* its name and its value */
} property;

typedef struct {
    vug_schema *s;
    vug_schema_case c;
    property *property; /* [n], in their order */
    size_t n;
    uint64_t min, max; /* UINT64_MAX: no limit */
    bool open;         /* others may follow */
    vug_node other;    /* one of them */
} object;

/* ---- which there are ------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const property *x = a, *y = b;
    const int order = vug_str_compare(x->name, y->name);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
    const property *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static size_t count_names(vug_schema_case c, const vug_jv *names)
{
    size_t n = names ? names->n : 0;
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *all = vug_jv_get(c.of[i], "properties");
        const vug_jv *required = vug_jv_get(c.of[i], "required");
        n += (all ? all->n : 0) + (required ? required->n : 0);
    }
    return n;
}

static void put_names(object *o, const vug_jv *list, bool required)
{
    for (const vug_jv *m = list ? list->child : NULL; m; m = m->next) {
        const vug_str name = list->type == VUG_JSON_OBJECT ? m->key : m->str;
        if (list->type == VUG_JSON_OBJECT || m->type == VUG_JSON_STRING) {
            o->property[o->n] = (property){ .name = name, .order = o->n, .required = required };
            o->n++;
        }
    }
}

/* One of each name, where it was named first. */
static void unite(object *o)
{
    if (o->n == 0)
        return;
    qsort(o->property, o->n, sizeof(*o->property), by_name);
    size_t n = 1;
    for (size_t i = 1; i < o->n; i++) {
        if (vug_str_equal(o->property[i].name, o->property[n - 1].name))
            o->property[n - 1].required |= o->property[i].required;
        else
            o->property[n++] = o->property[i];
    }
    o->n = n;
    qsort(o->property, o->n, sizeof(*o->property), by_order);
}

/* `names`: those that propertyNames lists, or NULL. */
static void collect(object *o, const vug_jv *names)
{
    o->property = vug_schema_alloc(o->s, count_names(o->c, names), sizeof(*o->property));
    if (!o->property)
        return;
    for (size_t i = 0; i < o->c.n; i++)
        put_names(o, vug_jv_get(o->c.of[i], "properties"), false);
    for (size_t i = 0; i < o->c.n; i++)
        put_names(o, vug_jv_get(o->c.of[i], "required"), true);
    put_names(o, names, false);
    unite(o);
}

/* ---- names ------------------------------------------------------------------------ */

/* The schemas that a case has under the keyword. */
static vug_schema_set set_of(vug_schema *s, vug_schema_case c, const char *keyword)
{
    const vug_jv **of = vug_schema_list(s, c.n);
    size_t n = 0;
    for (size_t i = 0; of && i < c.n; i++) {
        of[n] = vug_jv_get(c.of[i], keyword);
        n += of[n] != NULL;
    }
    return (vug_schema_set){ of, n };
}

static void check_names(object *o, vug_schema_set names)
{
    for (size_t i = 0; i < o->n && vug_schema_ok(o->s); i++) {
        const vug_jv name = { .type = VUG_JSON_STRING, .str = o->property[i].name };
        for (size_t k = 0; k < names.n; k++) {
            const vug_schema_answer a = vug_schema_holds(o->s, &name, names.of[k]);
            if (a == VUG_SCHEMA_MAYBE)
                vug_schema_fail(o->s, VUG_UNSUPPORTED, names.of[k],
                                "a pattern or a format for the name '%.*s' is not supported",
                                VUG_STR_ARG(name.str));
            o->property[i].forbidden |= a == VUG_SCHEMA_NO;
        }
    }
}

/* The names that propertyNames allows, as one rule with quotes. */
static vug_node allowed_name(vug_schema *s, vug_schema_set names)
{
    vug_schema_cases cases = { 0 };
    vug_schema_expand(s, (vug_schema_case){ 0 }, names, false, &cases);
    vug_node *part = vug_schema_alloc(s, cases.n, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < cases.n; i++) {
        size_t n_values;
        if (vug_schema_values(cases.of[i], &n_values))
            vug_schema_fail(s, VUG_UNSUPPORTED, cases.of[i].of[0],
                            "an enum in propertyNames is supported alone only");
        if (vug_schema_types(cases.of[i]) & VUG_TYPE_STRING)
            part[n++] = vug_schema_string(s, cases.of[i]);
    }
    return vug_rules_choice(s->rules, part, part ? n : 0);
}

/* ---- others ------------------------------------------------------------------------- */

static const vug_str unknown = { 0 };

/* `known`: the name where it is one; empty for a rule of names. */
static vug_node pair_of(vug_schema *s, vug_str known, vug_node name, vug_schema_set values)
{
    if (!s->inside)
        return VUG_SEQUENCE(s->rules, name, s->json.colon, vug_schema_node(s, values));
    return VUG_SEQUENCE(s->rules, vug_rules_text(s->rules, "<parameter="), name,
                        vug_rules_text(s->rules, ">"), s->json.colon,
                        vug_schema_parameter(s, known, values));
}

/* The first of the case. */
static const vug_jv *find_patterns(vug_schema_case c)
{
    const vug_jv *patterns = NULL;
    for (size_t i = 0; i < c.n && !patterns; i++)
        patterns = vug_schema_patterns(c.of[i]);
    return patterns;
}

/* "patternProperties" with one pattern, nothing named beside it, and nothing else
 * allowed: then a name is its pattern. */
static bool read_patterns(object *o)
{
    const vug_jv *patterns = find_patterns(o->c);
    if (!patterns)
        return false;
    vug_schema *s = o->s;
    const vug_jv **of = vug_schema_list(s, o->c.n + 1);
    size_t n = 0, with = 0;
    bool closed = false;
    for (size_t i = 0; of && i < o->c.n; i++) {
        const bool here = vug_schema_patterns(o->c.of[i]) != NULL;
        const vug_jv *rest = vug_jv_get(o->c.of[i], "additionalProperties");
        with += here;
        if (here)
            closed = rest && rest->type == VUG_JSON_BOOL && !rest->boolean;
        else if (rest)
            of[n++] = rest;
    }
    if (!of || with != 1 || patterns->n != 1 || o->n > 0 || !closed ||
        vug_schema_find(o->c, "propertyNames")) {
        vug_schema_fail(s, VUG_UNSUPPORTED, patterns,
                        "patternProperties are supported with one pattern, with "
                        "additionalProperties: false and without properties that are named");
        return true;
    }
    of[n++] = patterns->child;
    const vug_schema_set values = { of, n };
    const vug_jv name = { .type = VUG_JSON_STRING,
                          .key = { "pattern", 7 },
                          .str = patterns->child->key };
    const vug_jv names = { .type = VUG_JSON_OBJECT, .child = (vug_jv *)&name, .n = 1 };
    const vug_jv *only = &names;
    o->open = !vug_schema_has_false(values);
    if (o->open)
        o->other = pair_of(s, unknown, vug_schema_string(s, (vug_schema_case){ &only, 1 }), values);
    return true;
}

static vug_node other_name(object *o)
{
    vug_str *name = vug_schema_alloc(o->s, o->n, sizeof(*name));
    for (size_t i = 0; name && i < o->n; i++)
        name[i] = o->property[i].name;
    return vug_schema_other_name(o->s, name, name ? o->n : 0);
}

static void read_others(object *o, vug_schema_set names, bool listed)
{
    vug_schema *s = o->s;
    if (read_patterns(o))
        return;
    const vug_schema_set values = set_of(s, o->c, "additionalProperties");
    o->open = !listed && !vug_schema_has_false(values) && !vug_schema_has_false(names);
    if (!o->open || !vug_schema_ok(s))
        return;
    if (names.n > 0) {
        for (size_t i = 0; i < o->n; i++)
            if (!o->property[i].forbidden)
                vug_schema_fail(s, VUG_UNSUPPORTED, names.of[0],
                                "propertyNames beside properties that are named, with others "
                                "allowed, is not supported");
        o->other = pair_of(s, unknown, allowed_name(s, names), values);
        return;
    }
    o->other = pair_of(s, unknown, o->n > 0 ? other_name(o) : s->json.name, values);
}

/* ---- members in their order ---------------------------------------------------------- */

/* Of an object with at least one member; `may_be_none`: there is one without, too. Grows
 * with every property, so that each is in it twice at most:
 *
 *     p optional:  members (, p)? | p        the second where there may be none before
 *     p required:  (members ,)? p            likewise
 */
typedef struct {
    vug_node members;
    bool none, may_be_none; /* none: nothing has been added yet */
    int depth;
} chain;

enum { DEEP = 40 };

static void add_to_chain(vug_schema *s, chain *c, vug_node one, bool required, uint32_t max)
{
    vug_rules *r = s->rules;
    const vug_node next = VUG_SEQUENCE(r, s->json.comma, one);
    vug_node first = one;
    if (max > 1)
        first = VUG_SEQUENCE(
                r, one, vug_rules_repeat(r, next, 0, max == VUG_REPEAT_FOREVER ? max : max - 1));
    const vug_node more = vug_rules_repeat(r, next, required ? 1 : 0, max);
    if (c->none)
        c->members = first;
    else if (!c->may_be_none)
        c->members = VUG_SEQUENCE(r, c->members, more);
    else if (required)
        c->members = VUG_SEQUENCE(
                r, vug_rules_optional(r, VUG_SEQUENCE(r, c->members, s->json.comma)), one);
    else
        c->members = VUG_CHOICE(r, VUG_SEQUENCE(r, c->members, more), first);
    c->none = false;
    c->may_be_none = c->may_be_none && !required;
    if (++c->depth % DEEP == 0) {
        const vug_node rule = vug_rules_declare(r);
        vug_rules_define(r, rule, c->members);
        c->members = rule;
    }
}

static vug_node chained(object *o)
{
    chain c = { .none = true, .may_be_none = true };
    for (size_t i = 0; i < o->n; i++)
        if (o->property[i].pair != VUG_NODE_EMPTY)
            add_to_chain(o->s, &c, o->property[i].pair, o->property[i].required, 1);
    if (o->open)
        add_to_chain(o->s, &c, o->other, false, VUG_REPEAT_FOREVER);
    vug_node part[2];
    size_t n = 0;
    if (c.may_be_none && o->min == 0)
        part[n++] = vug_json_empty(&o->s->json, '{');
    if (!c.none)
        part[n++] = vug_json_brackets(&o->s->json, '{', c.members);
    return vug_rules_choice(o->s->rules, part, n);
}

/* ---- members that are counted ---------------------------------------------------------- */

enum { MAX_COUNTED = 1 << 16 };

/* rule[count]: what may follow once `count` members have been written before property i;
 * from the last property to the first. */
static void count_property(object *o, const property *p, vug_node *rule, size_t n_counts)
{
    vug_rules *r = o->s->rules;
    const bool capped = o->max != UINT64_MAX;
    /* Upwards: what follows one more is still that of the next property. */
    for (size_t k = 0; k < n_counts; k++) {
        const size_t then = k + 1 < n_counts ? k + 1 : k;
        vug_node part[2];
        size_t n = 0;
        if (k + 1 < n_counts || !capped)
            part[n++] = k ? VUG_SEQUENCE(r, o->s->json.comma, p->pair, rule[then])
                          : VUG_SEQUENCE(r, p->pair, rule[then]);
        if (!p->required)
            part[n++] = rule[k];
        const vug_node as = vug_rules_choice(r, part, n);
        rule[k] = vug_rules_declare(r);
        vug_rules_define(r, rule[k], as);
    }
}

static vug_node counted(object *o)
{
    vug_rules *r = o->s->rules;
    const bool capped = o->max != UINT64_MAX;
    const size_t n_counts = (size_t)(capped ? o->max : o->min > 1 ? o->min : 1) + 1;
    if (n_counts > MAX_COUNTED || n_counts * (o->n + 1) > MAX_COUNTED) {
        vug_schema_fail(o->s, VUG_LIMIT,
                        vug_schema_find(o->c, capped ? "maxProperties" : "minProperties"),
                        "too many properties to count");
        return VUG_NODE_EMPTY;
    }
    vug_node *rule = vug_schema_alloc(o->s, n_counts, sizeof(*rule));
    for (size_t k = 0; rule && k < n_counts; k++) {
        const uint32_t left = capped ? (uint32_t)(o->max - k) : VUG_REPEAT_FOREVER;
        const vug_node next = VUG_SEQUENCE(r, o->s->json.comma, o->other);
        if (!o->open || left == 0)
            rule[k] = k >= o->min && k > 0 ? VUG_NODE_EMPTY : vug_rules_nothing(r);
        else if (k > 0)
            rule[k] = vug_rules_repeat(r, next, k < o->min, left);
        else
            rule[k] = VUG_SEQUENCE(
                    r, o->other,
                    vug_rules_repeat(r, next, 0, left == VUG_REPEAT_FOREVER ? left : left - 1));
    }
    bool none = true;
    for (size_t i = o->n; rule && i-- > 0;) {
        if (o->property[i].pair == VUG_NODE_EMPTY)
            continue;
        none = none && !o->property[i].required;
        count_property(o, &o->property[i], rule, n_counts);
    }
    if (!rule)
        return VUG_NODE_EMPTY;
    vug_node part[2];
    size_t n = 0;
    if (none && o->min == 0)
        part[n++] = vug_json_empty(&o->s->json, '{');
    part[n++] = vug_json_brackets(&o->s->json, '{', rule[0]);
    return vug_rules_choice(r, part, n);
}

/* Names outside of a schema may occur twice, so that counting them proves one only. */
static bool must_count(object *o)
{
    size_t n_required = 0, n_most = 0;
    for (size_t i = 0; i < o->n; i++) {
        n_required += o->property[i].required;
        n_most += o->property[i].pair != VUG_NODE_EMPTY;
    }
    const bool min = o->min > n_required && !(o->min == 0);
    const bool max = o->max != UINT64_MAX && (o->open || o->max < n_most);
    if (o->open && o->min > (n_required ? n_required : 1))
        vug_schema_fail(o->s, VUG_UNSUPPORTED, vug_schema_find(o->c, "minProperties"),
                        "minProperties where properties that are not named may occur is not "
                        "supported: a grammar cannot keep them from being the same");
    return (min && !(o->min == 1 && n_required == 0)) || max;
}

/* ---- objects ---------------------------------------------------------------------------- */

/* An enum that is all of "propertyNames" makes its members properties. */
static const vug_jv *listed_names(vug_schema_set names)
{
    const vug_jv *only = names.n == 1 ? names.of[0] : NULL;
    return vug_jv_is(only, VUG_JSON_OBJECT) ? vug_jv_get(only, "enum") : NULL;
}

static bool is_any(vug_schema_case c)
{
    static const char *const keywords[] = {
        "properties",    "required",      "additionalProperties", "patternProperties",
        "propertyNames", "minProperties", "maxProperties",
    };
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (vug_schema_find(c, keywords[i]))
            return false;
    return true;
}

static bool is_bare(vug_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!vug_json_is_bare((unsigned char)name.ptr[i]))
            return false;
    return name.len > 0;
}

/* False where one that is required may not be there. */
static bool make_pairs(object *o)
{
    for (size_t i = 0; i < o->n && vug_schema_ok(o->s); i++) {
        property *p = &o->property[i];
        const vug_schema_set values = vug_schema_member(o->s, o->c, p->name);
        const bool never = p->forbidden || vug_schema_has_false(values);
        if (never && p->required)
            return false;
        if (!never && o->s->inside && !is_bare(p->name))
            vug_schema_fail(o->s, VUG_UNSUPPORTED, o->c.of[0],
                            "the name '%.*s' is not supported for a parameter",
                            VUG_STR_ARG(p->name));
        if (!never)
            p->pair = pair_of(o->s, p->name, vug_json_name(&o->s->json, p->name), values);
    }
    return true;
}

vug_node vug_schema_object(vug_schema *s, vug_schema_case c)
{
    if (is_any(c) && !s->inside)
        return s->json.object;
    object o = { .s = s,
                 .c = c,
                 .min = vug_schema_count(c, "minProperties", false, 0),
                 .max = vug_schema_count(c, "maxProperties", true, UINT64_MAX) };
    const vug_schema_set names = set_of(s, c, "propertyNames");
    const vug_jv *patterns = find_patterns(c);
    if (s->inside && (names.n > 0 || patterns))
        vug_schema_fail(s, VUG_UNSUPPORTED, names.n ? names.of[0] : patterns,
                        "patterns of names are not supported for parameters");
    const vug_jv *listed = listed_names(names);
    collect(&o, listed);
    check_names(&o, names);
    read_others(&o, names, listed != NULL);
    if (!vug_schema_ok(s) || !make_pairs(&o) || o.min > o.max)
        return vug_rules_nothing(s->rules);
    if (o.max == 0)
        o.open = false;
    return must_count(&o) ? counted(&o) : chained(&o);
}
