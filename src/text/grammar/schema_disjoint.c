#include "text/grammar/schema_expansion.h"

/*
 * Proves that no value can satisfy two branches of a oneOf. It looks for sets of schemas that
 * are certainly unsatisfiable; where that is not clear, it assumes they are satisfiable.
 */

enum { MAX_DEPTH = 6 }; /* of nested required properties and items */

static bool set_unsatisfiable(vug_schema_compiler *s, vug_schema_case base, vug_schema_set more,
                              int depth);

/* ---- type by type ------------------------------------------------------------------ */

static bool given_values_excluded(vug_schema_compiler *s, vug_schema_case c)
{
    size_t n;
    const vug_jv *v = vug_schema_given_values(c, &n);
    if (!v)
        return false;
    /* Only the schemas themselves count, not the oneOf that joins them: it excludes values that
     * satisfy two branches, and whether there are such values is the question here. */
    for (size_t i = 0; i < n; i++, v = v->next)
        if (!vug_schema_excludes_value(s, c, v))
            return false;
    return true;
}

static bool counts_contradict(vug_schema_case c, const char *min, const char *max)
{
    return vug_schema_strictest_count(c, min, false, 0) >
           vug_schema_strictest_count(c, max, true, UINT64_MAX);
}

static bool objects_unsatisfiable(vug_schema_compiler *s, vug_schema_case c,
                                  int depth) // NOLINT(misc-no-recursion)
{
    if (counts_contradict(c, "minProperties", "maxProperties"))
        return true;
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *required = vug_jv_get(c.schema[i], "required");
        const vug_schema_case before = { c.schema, i };
        for (const vug_jv *name = required ? required->child : NULL; name; name = name->next) {
            if (vug_schema_requires(s, before, name->str))
                continue;
            const vug_schema_set set = vug_schema_property_set(s, c, name->str);
            if (vug_schema_ok(s) && set_unsatisfiable(s, (vug_schema_case){ 0 }, set, depth + 1))
                return true;
        }
    }
    return false;
}

static bool arrays_unsatisfiable(vug_schema_compiler *s, vug_schema_case c,
                                 int depth) // NOLINT(misc-no-recursion)
{
    if (counts_contradict(c, "minItems", "maxItems"))
        return true;
    const uint64_t min_items = vug_schema_strictest_count(c, "minItems", false, 0);
    for (uint64_t i = 0; i < min_items && i < 16; i++) {
        const vug_schema_set set = vug_schema_item_set(s, c, (size_t)i);
        if (vug_schema_ok(s) && set_unsatisfiable(s, (vug_schema_case){ 0 }, set, depth + 1))
            return true;
    }
    return false;
}

static bool case_unsatisfiable(vug_schema_compiler *s,
                               vug_schema_case c, // NOLINT(misc-no-recursion)
                               int depth)
{
    const unsigned types = vug_schema_case_types(c);
    if (given_values_excluded(s, c))
        return true;
    if (types & (VUG_TYPE_NULL | VUG_TYPE_BOOLEAN))
        return false;
    if ((types & (VUG_TYPE_INTEGER | VUG_TYPE_FRACTION)) && !vug_schema_number_unsatisfiable(s, c))
        return false;
    if ((types & VUG_TYPE_STRING) && !counts_contradict(c, "minLength", "maxLength"))
        return false;
    if ((types & VUG_TYPE_ARRAY) && !arrays_unsatisfiable(s, c, depth))
        return false;
    return !(types & VUG_TYPE_OBJECT) || objects_unsatisfiable(s, c, depth);
}

static bool set_unsatisfiable(vug_schema_compiler *s,
                              vug_schema_case base, // NOLINT(misc-no-recursion)
                              vug_schema_set more, int depth)
{
    if (depth > MAX_DEPTH)
        return false;
    vug_schema_cases cases = { 0 };
    vug_schema_expand(s, base, more, NULL, &cases);
    for (size_t i = 0; i < cases.n && vug_schema_ok(s); i++)
        if (!case_unsatisfiable(s, cases.list[i], depth))
            return false;
    return vug_schema_ok(s) && !cases.incomplete;
}

static bool may_overlap(vug_schema_compiler *s, vug_schema_case base, const vug_jv *a,
                        const vug_jv *b)
{
    const vug_jv *both[2] = { a, b };
    return vug_schema_ok(s) && !set_unsatisfiable(s, base, (vug_schema_set){ both, 2 }, 0);
}

static bool is_unsatisfiable(vug_schema_compiler *s, vug_schema_case c)
{
    return case_unsatisfiable(s, c, 0);
}

/* Whether all values that a case leaves the property certainly satisfy a schema: it is one of those
 * that apply, or the values are given. */
static bool property_implies(vug_schema_compiler *s, vug_schema_case c, const vug_jv *property)
{
    const vug_schema_case set = vug_schema_property_set(s, c, property->key);
    size_t n;
    for (size_t i = 0; i < set.n; i++) {
        if (set.schema[i] == property)
            return true;
    }
    const vug_jv *v = vug_schema_given_values(set, &n);
    if (!v)
        return false;
    for (size_t i = 0; i < n; i++, v = v->next) {
        if (vug_schema_validate(s, v, property) != VUG_SCHEMA_YES)
            return false;
    }
    return true;
}

/* Only of schemas with types, properties and required ones, as negations make them. */
static bool implies(vug_schema_compiler *s, vug_schema_case c, const vug_jv *schema)
{
    if (schema->type != VUG_JSON_OBJECT)
        return false;
    for (const vug_jv *m = schema->child; m && vug_schema_charge(s, 1); m = m->next) {
        bool implied = vug_str_is(m->key, VUG_KEYWORD_TYPES) &&
                       (vug_schema_case_types(c) & ~(unsigned)m->f64) == 0;
        if (vug_str_is(m->key, "required") || vug_str_is(m->key, "properties")) {
            const bool is_required = vug_str_is(m->key, "required");
            implied = true;
            for (const vug_jv *p = m->child; p && implied; p = p->next)
                implied =
                        is_required ? vug_schema_requires(s, c, p->str) : property_implies(s, c, p);
        }
        if (!implied)
            return false;
    }
    return vug_schema_ok(s);
}

/* Drops the cases that depend on a keyword which cannot be negated, if nothing satisfies them; if
 * something may, the schema is refused. Given values have been validated against the schema itself.
 */
static void drop_undecided(vug_schema_compiler *s, vug_schema_cases *cases)
{
    size_t n = 0;
    for (size_t i = 0; i < cases->n && vug_schema_ok(s); i++) {
        const vug_jv *undecided = vug_schema_find_keyword(cases->list[i], VUG_KEYWORD_UNDECIDED);
        size_t n_values;
        if (undecided && !vug_schema_given_values(cases->list[i], &n_values)) {
            if (case_unsatisfiable(s, cases->list[i], 0))
                continue;
            vug_schema_fail(s, VUG_UNSUPPORTED, cases->list[i].schema[0],
                            "the negation of '%.*s' is not supported; 'not', 'if' and a 'oneOf' "
                            "whose branches overlap need it",
                            VUG_STR_ARG(undecided->str));
        }
        cases->list[n++] = cases->list[i];
    }
    cases->n = n;
}

vug_schema_cases vug_schema_set_cases(vug_schema_compiler *s, vug_schema_set set)
{
    static const vug_schema_proofs proofs = { may_overlap, is_unsatisfiable, implies };
    vug_schema_cases cases = { 0 };
    vug_schema_expand(s, (vug_schema_case){ 0 }, set, &proofs, &cases);
    drop_undecided(s, &cases);
    return cases;
}
