#include "text/schema.h"

/*
 * Arrays: first those items that have schemas of their own, then any number alike.
 */

typedef struct {
    size_t n_first;    /* items with schemas of their own */
    uint64_t min, max; /* UINT64_MAX: no limit */
    bool open;         /* more may follow them */
} lengths;

static size_t count_first(const vug_jv *schema)
{
    const vug_jv *first = vug_jv_get(schema, "prefixItems");
    if (!first && vug_jv_is(vug_jv_get(schema, "items"), VUG_JSON_ARRAY))
        first = vug_jv_get(schema, "items");
    return first ? first->n : 0;
}

static bool is_false(vug_schema_set set)
{
    for (size_t i = 0; i < set.n; i++)
        if (set.of[i]->type == VUG_JSON_BOOL && !set.of[i]->boolean)
            return true;
    return false;
}

static lengths read_lengths(vug_schema *s, vug_schema_case c)
{
    lengths l = { .min = vug_schema_count(c, "minItems", false, 0),
                  .max = vug_schema_count(c, "maxItems", true, UINT64_MAX) };
    for (size_t i = 0; i < c.n; i++) {
        const size_t n = count_first(c.of[i]);
        l.n_first = n > l.n_first ? n : l.n_first;
    }
    if (l.max < l.n_first)
        l.n_first = (size_t)l.max;
    for (size_t i = 0; i < l.n_first; i++)
        if (is_false(vug_schema_item(s, c, i)))
            l.max = l.n_first = i;
    if (is_false(vug_schema_item(s, c, l.n_first)) && l.max > l.n_first)
        l.max = l.n_first;
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

/* `after` items have been written: any number more, but at least one of them where
 * `some`. */
static vug_node more_items(vug_schema *s, const lengths *l, size_t after, vug_node item)
{
    const vug_node next = VUG_SEQUENCE(s->rules, s->json.comma, item);
    const uint64_t min = l->min > after ? l->min - after : 0;
    const uint32_t max = l->max == UINT64_MAX ? VUG_REPEAT_FOREVER : (uint32_t)(l->max - after);
    return vug_rules_repeat(s->rules, next, (uint32_t)min, max);
}

/* A list that is not empty, from its end to its beginning: what may be left out is
 * inside of what comes before it. */
static vug_node filled(vug_schema *s, vug_schema_case c, const lengths *l)
{
    vug_node rest = VUG_NODE_EMPTY;
    const size_t n = l->n_first > 0 ? l->n_first : 1;
    if (l->open)
        rest = more_items(s, l, n, vug_schema_node(s, vug_schema_item(s, c, n)));
    for (size_t i = n; i-- > 0 && vug_schema_ok(s);) {
        const vug_node item = vug_schema_node(s, vug_schema_item(s, c, i));
        if (i + 1 < n || l->open) {
            /* A rule, or the expression would be as deep as the list is long. */
            const vug_node rule = vug_rules_declare(s->rules);
            const bool may_end = i + 1 >= l->min && i + 1 < n;
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
    const lengths l = read_lengths(s, c);
    if (!vug_schema_ok(s) || l.min > l.max)
        return vug_rules_nothing(s->rules);
    vug_node part[2];
    size_t n = 0;
    if (l.min == 0)
        part[n++] = vug_json_empty(&s->json, '[');
    if (l.max > 0)
        part[n++] = vug_json_brackets(&s->json, '[', filled(s, c, &l));
    return vug_rules_choice(s->rules, part, n);
}
