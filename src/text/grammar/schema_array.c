#include "text/grammar/schema_array_items.h"
#include "text/grammar/schema_nodes.h"

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

/* ---- contains ---------------------------------------------------------------------- */

enum { MAX_CONTAINED = 1 << 14 }; /* product of the items and the matches that are counted */

/* An array with at least `min` and at most `max` items that satisfy `schema`. */
typedef struct {
    const vug_jv *schema; /* NULL: there is no contains */
    uint64_t min, max;    /* UINT64_MAX: no limit */
} contained_items;

static contained_items read_contained(vug_schema_compiler *s, vug_schema_case c)
{
    contained_items out = { 0 };
    for (size_t i = 0; i < c.n; i++) {
        const vug_schema_case one = { &c.schema[i], 1 };
        const vug_jv *contains = vug_jv_get(c.schema[i], "contains");
        const contained_items here = {
            .schema = contains,
            .min = vug_schema_strictest_count(one, "minContains", false, 1),
            .max = vug_schema_strictest_count(one, "maxContains", true, UINT64_MAX),
        };
        if (!contains || (here.min == 0 && here.max == UINT64_MAX))
            continue;
        if (out.schema)
            vug_schema_fail(s, VUG_UNSUPPORTED, contains,
                            "several 'contains' for one array are not supported");
        out = here;
    }
    return out;
}

/* An item of a set that satisfies `also`, too; with `negated`, that does not. */
static vug_grammar_expr item_with(vug_schema_compiler *s, vug_schema_set item, const vug_jv *also,
                                  bool negated)
{
    const vug_jv **list = vug_schema_alloc_list(s, item.n + 1);
    vug_jv *other = vug_schema_new_node(s, VUG_JSON_ARRAY, "");
    if (!list || !other)
        return VUG_EMPTY_EXPR;
    for (size_t i = 0; i < item.n; i++)
        list[i] = item.schema[i];
    vug_schema_add_reference(s, other, VUG_SCHEMA_NO_KEY, also, negated);
    list[item.n] = negated ? other->child : also;
    return list[item.n] ? vug_schema_set_expr(s, (vug_schema_set){ list, item.n + 1 })
                        : VUG_EMPTY_EXPR;
}

typedef struct {
    vug_schema_compiler *s;
    const vug_schema_array_items *items;
    contained_items contained;
    size_t n_items, n_matches; /* counted: after so many, more make no difference */
    vug_grammar_expr *rest;    /* [n_matches + 2]: what may follow an item, by matches so far */
} contained_array;

/* Updates `rest` from what may follow item `k` to what may follow item k - 1. Item 0 has no comma
 * before it. */
static void prepend_item(contained_array *a, size_t k)
{
    vug_schema_compiler *s = a->s;
    vug_grammar_builder *b = s->builder;
    const vug_schema_array_items *l = a->items;
    const vug_schema_set item = l->item[k < l->n_prefix ? k : l->n_prefix];
    const vug_grammar_expr before = k > 0 ? s->json.comma : VUG_EMPTY_EXPR;
    const bool capped = a->contained.max != UINT64_MAX;
    const vug_grammar_expr match =
            VUG_GRAMMAR_SEQUENCE(b, before, item_with(s, item, a->contained.schema, false));
    const vug_grammar_expr other = VUG_GRAMMAR_SEQUENCE(
            b, before,
            capped ? item_with(s, item, a->contained.schema, true) : vug_schema_set_expr(s, item));
    for (size_t matches = 0; matches <= a->n_matches && vug_schema_ok(s); matches++) {
        vug_grammar_expr part[3];
        size_t n = 0;
        if (k >= l->min && k > 0 && matches >= a->contained.min)
            part[n++] = VUG_EMPTY_EXPR;
        part[n++] = VUG_GRAMMAR_SEQUENCE(b, other, a->rest[matches]);
        if (matches < a->n_matches)
            part[n++] = VUG_GRAMMAR_SEQUENCE(b, match, a->rest[matches + 1]);
        const vug_grammar_expr expr = vug_grammar_choice(b, part, n);
        a->rest[matches] = vug_grammar_declare_rule(b);
        vug_grammar_define_rule(b, a->rest[matches], expr);
    }
}

/* What may follow the counted items. */
static void init_rest(contained_array *a)
{
    vug_schema_compiler *s = a->s;
    vug_grammar_builder *b = s->builder;
    const vug_schema_array_items *l = a->items;
    const bool open = l->max == UINT64_MAX, capped = a->contained.max != UINT64_MAX;
    const vug_schema_set item = l->item[l->n_prefix];
    vug_grammar_expr others = VUG_EMPTY_EXPR, match = VUG_EMPTY_EXPR;
    if (open) {
        const vug_grammar_expr other = capped ? item_with(s, item, a->contained.schema, true)
                                              : vug_schema_set_expr(s, item);
        others = vug_grammar_repeat(b, VUG_GRAMMAR_SEQUENCE(b, s->json.comma, other), 0,
                                    VUG_REPEAT_UNBOUNDED);
        match = VUG_GRAMMAR_SEQUENCE(b, s->json.comma,
                                     item_with(s, item, a->contained.schema, false));
    }
    a->rest[a->n_matches + 1] = vug_grammar_nothing(b);
    for (size_t matches = a->n_matches + 1; matches-- > 0;) {
        vug_grammar_expr part[2];
        size_t n = 0;
        if (matches >= a->contained.min)
            part[n++] = VUG_EMPTY_EXPR;
        if (open && matches < a->n_matches)
            part[n++] = VUG_GRAMMAR_SEQUENCE(b, match, a->rest[matches + 1]);
        a->rest[matches] = VUG_GRAMMAR_SEQUENCE(b, others, vug_grammar_choice(b, part, n));
    }
}

static vug_grammar_expr contained_expr(vug_schema_compiler *s, const vug_schema_array_items *l,
                                       contained_items contained)
{
    const bool open = l->max == UINT64_MAX, capped = contained.max != UINT64_MAX;
    const uint64_t longest = l->min > l->n_prefix ? l->min : l->n_prefix;
    const uint64_t n_items = !open ? l->max : longest > 0 ? longest : 1;
    const uint64_t n_matches = capped ? contained.max : contained.min;
    if (n_items > MAX_CONTAINED || n_matches > MAX_CONTAINED ||
        (n_items + 1) * (n_matches + 1) > MAX_CONTAINED) {
        vug_schema_fail(s, VUG_LIMIT, contained.schema, "too many items to count");
        return VUG_EMPTY_EXPR;
    }
    contained_array a = { .s = s,
                          .items = l,
                          .contained = contained,
                          .n_items = (size_t)n_items,
                          .n_matches = (size_t)n_matches,
                          .rest = vug_schema_alloc(s, (size_t)n_matches + 2, sizeof(*a.rest)) };
    if (!a.rest)
        return VUG_EMPTY_EXPR;
    init_rest(&a);
    for (size_t k = a.n_items; k-- > 0 && vug_schema_ok(s);)
        prepend_item(&a, k);
    return a.rest[0];
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
    const contained_items contained = read_contained(s, c);
    vug_grammar_expr part[2];
    size_t n = 0;
    if (l.min == 0 && (!contained.schema || contained.min == 0))
        part[n++] = vug_json_grammar_empty(&s->json, '[');
    if (l.unique && contained.schema)
        vug_schema_fail(s, VUG_UNSUPPORTED, l.unique,
                        "uniqueItems beside 'contains' is not supported");
    if (l.max > 0)
        part[n++] = vug_json_grammar_brackets(&s->json, '[',
                                              l.unique ? vug_schema_unique_items_expr(s, &l)
                                              : contained.schema ? contained_expr(s, &l, contained)
                                                                 : non_empty_array(s, &l));
    return vug_grammar_choice(s->builder, part, n);
}
