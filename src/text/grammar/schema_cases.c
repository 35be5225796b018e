#include "text/grammar/schema.h"

/*
 * From a set of schemas to its cases: what $ref and allOf name is joined, every anyOf and
 * oneOf is decided in each way that is possible.
 */

typedef struct {
    vug_schema *s;
    vug_schema_cases *out;
    bool trusted;
    bool dead; /* false is among them */
    const vug_jv *together[VUG_SCHEMA_MAX_TOGETHER];
    size_t n;
    const vug_jv *choice[VUG_SCHEMA_MAX_CHOICES]; /* lists of anyOf and oneOf */
    size_t n_choices;
} expansion;

/* ---- types --------------------------------------------------------------------- */

unsigned vug_schema_type_of(vug_str name)
{
    static const struct {
        const char *name;
        unsigned type;
    } row[] = {
        { "null", VUG_TYPE_NULL },       { "boolean", VUG_TYPE_BOOLEAN },
        { "integer", VUG_TYPE_INTEGER }, { "number", VUG_TYPE_INTEGER | VUG_TYPE_FRACTION },
        { "string", VUG_TYPE_STRING },   { "array", VUG_TYPE_ARRAY },
        { "object", VUG_TYPE_OBJECT },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
        if (vug_str_is(name, row[i].name))
            return row[i].type;
    return 0;
}

unsigned vug_schema_types(vug_schema_case c)
{
    unsigned types = VUG_TYPE_ALL;
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *type = vug_jv_get(c.of[i], "type");
        unsigned of_this = type ? 0 : VUG_TYPE_ALL;
        if (type && type->type == VUG_JSON_STRING)
            of_this = vug_schema_type_of(type->str);
        for (const vug_jv *t = type ? type->child : NULL; t; t = t->next)
            of_this |= vug_schema_type_of(t->str);
        const vug_jv *nullable = vug_jv_get(c.of[i], "nullable"); /* of OpenAPI 3.0 */
        if (nullable && nullable->boolean)
            of_this |= VUG_TYPE_NULL;
        if (vug_jv_get(c.of[i], "not")) /* anything: another is not taken */
            of_this = 0;
        types &= of_this;
    }
    return types;
}

/* ---- joining ------------------------------------------------------------------------ */

static void add(expansion *e, const vug_jv *schema);

static void add_choice(expansion *e, const vug_jv *list)
{
    if (!list)
        return;
    if (e->n_choices == VUG_SCHEMA_MAX_CHOICES)
        vug_schema_fail(e->s, VUG_LIMIT, list, "more than %d of anyOf and oneOf at once",
                        VUG_SCHEMA_MAX_CHOICES);
    else
        e->choice[e->n_choices++] = list;
}

static bool is_there(const expansion *e, const vug_jv *schema)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->together[i] == schema)
            return true;
    return false;
}

/* vug_schema_check has seen that this ends, and within how many calls. */
static void add(expansion *e, const vug_jv *schema) // NOLINT(misc-no-recursion)
{
    if (!vug_schema_step(e->s, e->n + 1))
        return;
    if (schema->type == VUG_JSON_BOOL) {
        e->dead = e->dead || !schema->boolean;
        return;
    }
    vug_schema_check(e->s, schema);
    if (!vug_schema_ok(e->s) || is_there(e, schema))
        return;
    const vug_jv *ref = vug_schema_ref(e->s, schema);
    if (ref && e->s->ref_is_alone) {
        add(e, ref);
        return;
    }
    if (e->n == VUG_SCHEMA_MAX_TOGETHER) {
        vug_schema_fail(e->s, VUG_LIMIT, schema, "more than %d schemas for one value",
                        VUG_SCHEMA_MAX_TOGETHER);
        return;
    }
    e->together[e->n++] = schema;
    if (ref)
        add(e, ref);
    const vug_jv *all = vug_jv_get(schema, "allOf");
    for (const vug_jv *m = all ? all->child : NULL; m; m = m->next)
        add(e, m);
    add_choice(e, vug_jv_get(schema, "anyOf"));
    add_choice(e, vug_jv_get(schema, "oneOf"));
}

/* ---- deciding --------------------------------------------------------------------------- */

static void keep_case(expansion *e)
{
    vug_schema_cases *out = e->out;
    const vug_schema_case here = { e->together, e->n };
    if (vug_schema_types(here) == 0)
        return;
    if (out->n == VUG_SCHEMA_MAX_CASES) {
        vug_schema_fail(e->s, VUG_LIMIT, e->n ? e->together[0] : NULL,
                        "more than %d combinations of anyOf and oneOf", VUG_SCHEMA_MAX_CASES);
        return;
    }
    if (out->n == out->cap) {
        const size_t cap = out->cap ? 2 * out->cap : 4;
        vug_schema_case *of = vug_schema_alloc(e->s, cap, sizeof(*of));
        if (!of)
            return;
        if (out->n > 0)
            memcpy(of, out->of, out->n * sizeof(*of));
        out->of = of;
        out->cap = cap;
    }
    const vug_jv **together = vug_schema_list(e->s, e->n);
    if (!together)
        return;
    if (e->n > 0)
        memcpy(together, e->together, e->n * sizeof(const vug_jv *));
    out->of[out->n++] = (vug_schema_case){ together, e->n };
}

/* A value that satisfies two branches of a oneOf satisfies none of it: where that cannot
 * be excluded there is no grammar. */
static void check_apart(expansion *e, const vug_jv *list)
{
    const vug_schema_case base = { e->together, e->n };
    size_t i = 0;
    for (const vug_jv *a = list->child; a; a = a->next, i++) {
        size_t k = i + 1;
        for (const vug_jv *b = a->next; b; b = b->next, k++) {
            const vug_jv *both[2] = { a, b };
            if (!vug_schema_ok(e->s) ||
                vug_schema_impossible(e->s, base, (vug_schema_set){ both, 2 }))
                continue;
            vug_schema_fail(e->s, VUG_UNSUPPORTED, list,
                            "a value may satisfy both %zu and %zu, which oneOf forbids and a "
                            "grammar cannot; say anyOf, or tell them apart by a required "
                            "property with a const, or by type",
                            i, k);
            return;
        }
    }
}

/* One call per choice. */
static void decide(expansion *e, size_t next) // NOLINT(misc-no-recursion)
{
    if (!vug_schema_ok(e->s) || e->dead)
        return;
    if (next == e->n_choices) {
        keep_case(e);
        return;
    }
    const vug_jv *list = e->choice[next];
    const size_t n = e->n, n_choices = e->n_choices;
    if (!e->trusted && vug_str_is(list->key, "oneOf"))
        check_apart(e, list);
    for (const vug_jv *branch = list->child; branch; branch = branch->next) {
        add(e, branch);
        decide(e, next + 1);
        e->n = n;
        e->n_choices = n_choices;
        e->dead = false;
    }
}

void vug_schema_expand(vug_schema *s, vug_schema_case base, vug_schema_set more, bool trusted,
                       vug_schema_cases *out)
{
    expansion *e = vug_alloc_zero(1, sizeof(*e));
    if (!e) {
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
        return;
    }
    e->s = s;
    e->out = out;
    e->trusted = trusted;
    if (base.n > 0)
        memcpy(e->together, base.of, base.n * sizeof(const vug_jv *));
    e->n = base.n;
    for (size_t i = 0; i < more.n; i++)
        add(e, more.of[i]);
    decide(e, 0);
    vug_free(e);
}
