#include "text/grammar/schema_array_items.h"

/* Arrays: a prefix of items that have schemas of their own, then any number of equal items. */

/* All sets in one pass, since there may be many. */
static void read_item_sets(vug_schema_compiler *s, vug_schema_case c, vug_schema_array_items *l)
{
    const size_t n = l->n_prefix + 1;
    l->item = vug_schema_alloc(s, n, sizeof(*l->item));
    const vug_jv **sets = vug_schema_alloc_list(s, n * c.n);
    for (size_t i = 0; sets && i < n; i++)
        l->item[i].schema = sets + i * c.n;
    for (size_t k = 0; sets && k < c.n; k++) {
        const vug_jv *rest, *prefix = vug_schema_prefix_items(c.schema[k], &rest);
        const vug_jv *v = prefix ? prefix->child : NULL;
        for (size_t i = 0; i < n; i++, v = v ? v->next : NULL)
            if (v || rest)
                sets[i * c.n + l->item[i].n++] = v ? v : rest;
    }
}

static vug_schema_array_items read_array_items(vug_schema_compiler *s, vug_schema_case c)
{
    vug_schema_array_items l = { .min = vug_schema_strictest_count(c, "minItems", false, 0),
                                 .max = vug_schema_strictest_count(c, "maxItems", true,
                                                                   UINT64_MAX) };
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *rest, *prefix = vug_schema_prefix_items(c.schema[i], &rest);
        l.n_prefix = prefix && prefix->n > l.n_prefix ? prefix->n : l.n_prefix;
    }
    if (l.max < l.n_prefix)
        l.n_prefix = (size_t)l.max;
    read_item_sets(s, c, &l);
    for (size_t i = 0; vug_schema_ok(s) && i <= l.n_prefix && i < l.max; i++)
        if (vug_schema_has_false(l.item[i]))
            l.max = l.n_prefix = i;
    l.open = l.max > l.n_prefix;
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *unique = vug_jv_get(c.schema[i], "uniqueItems");
        if (unique && unique->boolean && l.max > 1)
            l.unique = unique;
    }
    if (l.min > VUG_GRAMMAR_MAX_REPEAT || (l.max != UINT64_MAX && l.max > VUG_GRAMMAR_MAX_REPEAT))
        vug_schema_fail(s, VUG_LIMIT,
                        vug_schema_find_keyword(c, l.min > VUG_GRAMMAR_MAX_REPEAT ? "minItems"
                                                                                  : "maxItems"),
                        "more than %d items", VUG_GRAMMAR_MAX_REPEAT);
    return l;
}

/* What may follow after the first `after` items. */
static vug_grammar_expr remaining_items(vug_schema_compiler *s, const vug_schema_array_items *l,
                                        size_t after)
{
    const vug_grammar_expr item = vug_schema_set_expr(s, l->item[l->n_prefix]);
    const vug_grammar_expr next = VUG_GRAMMAR_SEQUENCE(s->builder, s->json.comma, item);
    const uint64_t min = l->min > after ? l->min - after : 0;
    const uint32_t max = l->max == UINT64_MAX ? VUG_REPEAT_UNBOUNDED : (uint32_t)(l->max - after);
    return vug_grammar_repeat(s->builder, next, (uint32_t)min, max);
}

/* Built from the end to the beginning: optional items nest inside of those before them. */
static vug_grammar_expr non_empty_array(vug_schema_compiler *s, const vug_schema_array_items *l)
{
    const size_t n = l->n_prefix > 0 ? l->n_prefix : 1;
    vug_grammar_expr rest = l->open ? remaining_items(s, l, n) : VUG_EMPTY_EXPR;
    for (size_t i = n; i-- > 0 && vug_schema_ok(s);) {
        const vug_grammar_expr item = vug_schema_set_expr(s, l->item[i]);
        if (i + 1 < n) {
            /* A rule, since the expression would otherwise be as deep as the list is long. */
            const vug_grammar_expr rule = vug_grammar_declare_rule(s->builder);
            const bool may_end = i + 1 >= l->min;
            vug_grammar_define_rule(s->builder, rule,
                                    may_end ? vug_grammar_optional(s->builder, rest) : rest);
            rest = rule;
        }
        rest = i > 0 ? VUG_GRAMMAR_SEQUENCE(s->builder, s->json.comma, item, rest)
                     : VUG_GRAMMAR_SEQUENCE(s->builder, item, rest);
    }
    return rest;
}

vug_grammar_expr vug_schema_array_expr(vug_schema_compiler *s, vug_schema_case c)
{
    static const char *const keywords[] = { "items",           "prefixItems", "minItems",
                                            "additionalItems", "maxItems",    "uniqueItems",
                                            "contains" };
    bool unconstrained = true;
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords) && unconstrained; i++)
        unconstrained = !vug_schema_find_keyword(c, keywords[i]);
    if (unconstrained)
        return s->json.array;
    const vug_schema_array_items l = read_array_items(s, c);
    if (!vug_schema_ok(s) || l.min > l.max)
        return vug_grammar_nothing(s->builder);
    const vug_schema_contained contained = vug_schema_read_contained(s, c);
    vug_grammar_expr part[2];
    size_t n = 0;
    if (l.min == 0 && vug_schema_may_contain_none(&contained))
        part[n++] = vug_json_grammar_empty(&s->json, '[');
    if (l.unique && contained.n > 0)
        vug_schema_fail(s, VUG_UNSUPPORTED, l.unique,
                        "uniqueItems beside 'contains' is not supported");
    vug_grammar_expr items = VUG_EMPTY_EXPR;
    const bool few = l.unique && l.max > 0 && vug_schema_few_items_expr(s, &l, &items);
    if (l.max > 0 && !few)
        items = contained.n > 0 ? vug_schema_contained_expr(s, &l, &contained)
                                : non_empty_array(s, &l);
    if (l.max > 0)
        part[n++] = l.unique && !few ? vug_schema_many_items_expr(s, &l, items)
                                     : vug_json_grammar_brackets(&s->json, '[', items);
    return vug_grammar_choice(s->builder, part, n);
}
