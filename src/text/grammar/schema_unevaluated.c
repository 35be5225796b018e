#include "text/grammar/schema_unevaluated.h"

#include "text/grammar/schema_nodes.h"

/*
 * unevaluatedProperties and unevaluatedItems (draft 2020-12, section 11). They apply to what no
 * other keyword of the schema, or of the schemas that it applies to the same value, has evaluated.
 *
 * In a case it is known which of these schemas hold, so both become the keywords that apply to
 * the rest: additionalProperties beside all names that have been evaluated, and items after the
 * longest prefix. Of an anyOf, a case joins one branch; others may hold as well, and then the
 * standard evaluates more than is assumed here. So nothing invalid is accepted, but a value that
 * needs two branches is not.
 */

enum { MAX_EVALUATING = 64 }; /* schemas that evaluate the same value */

typedef struct {
    vug_schema_compiler *s;
    vug_schema_case c;
    const vug_jv *schema[MAX_EVALUATING]; /* those that hold */
    size_t n;
} evaluation;

static bool is_in_case(vug_schema_case c, const vug_jv *schema)
{
    for (size_t i = 0; i < c.n; i++)
        if (c.schema[i] == schema)
            return true;
    return false;
}

static void collect_evaluating(evaluation *e, const vug_jv *schema);

/* `then` evaluates if `if` holds, and `else` if it does not. The case has decided that. */
static void collect_condition(evaluation *e, const vug_jv *schema) // NOLINT(misc-no-recursion)
{
    const vug_jv *condition = vug_jv_get(schema, "if");
    const vug_jv *then = vug_jv_get(schema, "then"), *otherwise = vug_jv_get(schema, "else");
    if (condition && !then && !otherwise && condition->type != VUG_JSON_BOOL)
        vug_schema_fail(e->s, VUG_UNSUPPORTED, condition,
                        "an 'if' without 'then' and 'else' is not supported beside "
                        "unevaluatedProperties and unevaluatedItems");
    if (!condition)
        return;
    const bool holds =
            condition->type == VUG_JSON_BOOL ? condition->boolean : is_in_case(e->c, condition);
    if (holds)
        collect_evaluating(e, condition);
    if (holds && then)
        collect_evaluating(e, then);
    if (!holds && otherwise)
        collect_evaluating(e, otherwise);
}

/* Adds the schema if it is in the case, and those that it applies to the same value. Bounded by
 * vug_schema_check. */
static void collect_evaluating(evaluation *e, const vug_jv *schema) // NOLINT(misc-no-recursion)
{
    static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
    if (!vug_schema_charge(e->s, e->c.n + 1) || !is_in_case(e->c, schema))
        return;
    for (size_t i = 0; i < e->n; i++)
        if (e->schema[i] == schema)
            return;
    if (e->n == MAX_EVALUATING) {
        vug_schema_fail(e->s, VUG_LIMIT, schema, "more than %d schemas evaluate the same value",
                        MAX_EVALUATING);
        return;
    }
    e->schema[e->n++] = schema;
    const vug_jv *ref = vug_schema_ref_target(e->s, schema);
    if (ref)
        collect_evaluating(e, ref);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const vug_jv *list = vug_jv_get(schema, lists[i]);
        for (const vug_jv *m = list ? list->child : NULL; m; m = m->next)
            collect_evaluating(e, m);
    }
    collect_condition(e, schema);
    const vug_jv *dependent = vug_jv_get(schema, "dependentSchemas");
    for (const vug_jv *m = dependent ? dependent->child : NULL; m; m = m->next)
        if (vug_schema_requires(e->s, e->c, m->key))
            collect_evaluating(e, m);
}

/* ---- properties --------------------------------------------------------------------------- */

static void add_names(vug_schema_compiler *s, const vug_jv *map, vug_jv *to)
{
    for (const vug_jv *m = map ? map->child : NULL; m; m = m->next)
        if (vug_schema_charge(s, to ? to->n + 1 : 1) && !vug_schema_get_member(s, to, m->key))
            vug_schema_add_boolean(s, to, m->key, true);
}

/* NULL if everything has been evaluated. */
static const vug_jv *rest_of_properties(const evaluation *e, const vug_jv *unevaluated)
{
    vug_schema_compiler *s = e->s;
    vug_jv *out = vug_schema_new_node(s, VUG_JSON_OBJECT, "");
    vug_jv *names = vug_schema_add_object(s, out, "properties");
    vug_jv *patterns = vug_schema_add_object(s, out, "patternProperties");
    for (size_t i = 0; i < e->n && vug_schema_ok(s); i++) {
        const vug_jv *schema = e->schema[i];
        if (vug_jv_get(schema, "additionalProperties") ||
            (i > 0 && vug_jv_get(schema, "unevaluatedProperties")))
            return NULL;
        add_names(s, vug_jv_get(schema, "properties"), names);
        add_names(s, vug_jv_get(schema, "patternProperties"), patterns);
    }
    vug_schema_add_reference(s, out, vug_str_of("additionalProperties"), unevaluated, false);
    return out;
}

/* ---- items -------------------------------------------------------------------------------- */

static const vug_jv *rest_of_items(const evaluation *e, const vug_jv *unevaluated)
{
    vug_schema_compiler *s = e->s;
    size_t longest = 0;
    for (size_t i = 0; i < e->n && vug_schema_ok(s); i++) {
        const vug_jv *schema = e->schema[i];
        const vug_jv *items = vug_jv_get(schema, "items");
        const bool lists = vug_jv_is(items, VUG_JSON_ARRAY);
        const vug_jv *prefix = lists ? items : vug_jv_get(schema, "prefixItems");
        if ((items && !lists) || (lists && vug_jv_get(schema, "additionalItems")) ||
            (i > 0 && vug_jv_get(schema, "unevaluatedItems")))
            return NULL;
        if (vug_jv_get(schema, "contains"))
            vug_schema_fail(s, VUG_UNSUPPORTED, unevaluated,
                            "unevaluatedItems beside 'contains' is not supported");
        longest = prefix && prefix->n > longest ? prefix->n : longest;
    }
    vug_jv *out = vug_schema_new_node(s, VUG_JSON_OBJECT, "");
    vug_jv *prefix = longest > 0 ? vug_schema_add_list(s, out, "prefixItems") : NULL;
    for (size_t i = 0; i < longest && vug_schema_charge(s, i + 1); i++)
        vug_schema_add_boolean(s, prefix, VUG_SCHEMA_NO_KEY, true);
    vug_schema_add_reference(s, out, vug_str_of("items"), unevaluated, false);
    return out;
}

size_t vug_schema_add_unevaluated(vug_schema_compiler *s, vug_schema_case c, const vug_jv **out)
{
    size_t n = 0;
    for (size_t i = 0; i < c.n && vug_schema_ok(s); i++) {
        const vug_jv *properties = vug_jv_get(c.schema[i], "unevaluatedProperties");
        const vug_jv *items = vug_jv_get(c.schema[i], "unevaluatedItems");
        if (!properties && !items)
            continue;
        evaluation e = { .s = s, .c = c };
        collect_evaluating(&e, c.schema[i]);
        const vug_jv *made = properties ? rest_of_properties(&e, properties) : NULL;
        if (made)
            out[n++] = made;
        made = items ? rest_of_items(&e, items) : NULL;
        if (made)
            out[n++] = made;
    }
    return n;
}
