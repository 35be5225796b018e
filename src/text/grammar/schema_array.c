#include "text/grammar/schema.h"

/*
 * Arrays: first those items that have schemas of their own, then any number alike.
 */

typedef struct {
    size_t n_first;       /* items with schemas of their own */
    uint64_t min, max;    /* UINT64_MAX: no limit */
    bool open;            /* more may follow them */
    vug_schema_set *item; /* [n_first + 1]: those, and of the rest */
} list;

/* In draft 2020-12 prefixItems, then items; before it a list of items, then
 * additionalItems. */
static const vug_jv *first_items(const vug_jv *schema, const vug_jv **rest)
{
    const vug_jv *first = vug_jv_get(schema, "prefixItems");
    *rest = vug_jv_get(schema, "items");
    if (first || !vug_jv_is(*rest, VUG_JSON_ARRAY))
        return first;
    first = *rest;
    *rest = vug_jv_get(schema, "additionalItems");
    return first;
}

vug_schema_set vug_schema_item(vug_schema *s, vug_schema_case c, size_t i)
{
    const vug_jv **of = vug_schema_list(s, c.n);
    size_t n = 0;
    for (size_t k = 0; of && k < c.n; k++) {
        const vug_jv *rest, *first = first_items(c.of[k], &rest);
        const vug_jv *v = first && i < first->n ? first->child : NULL;
        for (size_t m = 0; v && m < i; m++)
            v = v->next;
        if (v || rest)
            of[n++] = v ? v : rest;
        (void)vug_schema_step(s, i + 1);
    }
    return (vug_schema_set){ of, n };
}

/* All of them in one go, as there may be many. */
static void read_items(vug_schema *s, vug_schema_case c, list *l)
{
    const size_t n = l->n_first + 1;
    l->item = vug_schema_alloc(s, n, sizeof(*l->item));
    const vug_jv **of = vug_schema_list(s, n * c.n);
    for (size_t i = 0; of && i < n; i++)
        l->item[i].of = of + i * c.n;
    for (size_t k = 0; of && k < c.n; k++) {
        const vug_jv *rest, *first = first_items(c.of[k], &rest);
        const vug_jv *v = first ? first->child : NULL;
        for (size_t i = 0; i < n; i++, v = v ? v->next : NULL)
            if (v || rest)
                of[i * c.n + l->item[i].n++] = v ? v : rest;
    }
}

static list read_list(vug_schema *s, vug_schema_case c)
{
    list l = { .min = vug_schema_count(c, "minItems", false, 0),
               .max = vug_schema_count(c, "maxItems", true, UINT64_MAX) };
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *rest, *first = first_items(c.of[i], &rest);
        l.n_first = first && first->n > l.n_first ? first->n : l.n_first;
    }
    if (l.max < l.n_first)
        l.n_first = (size_t)l.max;
    read_items(s, c, &l);
    for (size_t i = 0; vug_schema_ok(s) && i <= l.n_first && i < l.max; i++)
        if (vug_schema_has_false(l.item[i]))
            l.max = l.n_first = i;
    l.open = l.max > l.n_first;
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *unique = vug_jv_get(c.of[i], "uniqueItems");
        if (unique && unique->boolean && l.max > 1)
            vug_schema_fail(s, VUG_UNSUPPORTED, unique, "items that differ are not supported");
    }
    if (l.min > VUG_RULES_MAX_REPEAT || (l.max != UINT64_MAX && l.max > VUG_RULES_MAX_REPEAT))
        vug_schema_fail(s, VUG_LIMIT,
                        vug_schema_find(c, l.min > VUG_RULES_MAX_REPEAT ? "minItems" : "maxItems"),
                        "more than %d items", VUG_RULES_MAX_REPEAT);
    return l;
}

/* What may come after the first `after` items. */
static vug_node more_items(vug_schema *s, const list *l, size_t after)
{
    const vug_node item = vug_schema_node(s, l->item[l->n_first]);
    const vug_node next = VUG_SEQUENCE(s->rules, s->json.comma, item);
    const uint64_t min = l->min > after ? l->min - after : 0;
    const uint32_t max = l->max == UINT64_MAX ? VUG_REPEAT_FOREVER : (uint32_t)(l->max - after);
    return vug_rules_repeat(s->rules, next, (uint32_t)min, max);
}

/* A list that is not empty, from its end to its beginning: what may be left out is
 * inside of what comes before it. */
static vug_node filled(vug_schema *s, const list *l)
{
    const size_t n = l->n_first > 0 ? l->n_first : 1;
    vug_node rest = l->open ? more_items(s, l, n) : VUG_NODE_EMPTY;
    for (size_t i = n; i-- > 0 && vug_schema_ok(s);) {
        const vug_node item = vug_schema_node(s, l->item[i]);
        if (i + 1 < n) {
            /* A rule, or the expression would be as deep as the list is long. */
            const vug_node rule = vug_rules_declare(s->rules);
            const bool may_end = i + 1 >= l->min;
            vug_rules_define(s->rules, rule, may_end ? vug_rules_optional(s->rules, rest) : rest);
            rest = rule;
        }
        rest = i > 0 ? VUG_SEQUENCE(s->rules, s->json.comma, item, rest)
                     : VUG_SEQUENCE(s->rules, item, rest);
    }
    return rest;
}

vug_node vug_schema_array(vug_schema *s, vug_schema_case c)
{
    static const char *const keywords[] = { "items",           "prefixItems", "minItems",
                                            "additionalItems", "maxItems",    "uniqueItems" };
    bool any = true;
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords) && any; i++)
        any = !vug_schema_find(c, keywords[i]);
    if (any)
        return s->json.array;
    const list l = read_list(s, c);
    if (!vug_schema_ok(s) || l.min > l.max)
        return vug_rules_nothing(s->rules);
    vug_node part[2];
    size_t n = 0;
    if (l.min == 0)
        part[n++] = vug_json_empty(&s->json, '[');
    if (l.max > 0)
        part[n++] = vug_json_brackets(&s->json, '[', filled(s, &l));
    return vug_rules_choice(s->rules, part, n);
}
