#include "text/grammar/schema_array_items.h"
#include "text/grammar/unique_items.h"

/*
 * Arrays whose items differ (uniqueItems). If each item has one of a few values, null, booleans,
 * and scalars of enum and const, they are the paths of a graph whose states are the sets of values
 * that have been written:
 *
 *     BEFORE(set) ── value v ──► AFTER(set + v)      AFTER(set) ── comma ──► BEFORE(set)
 *                                                    AFTER(set) ──► end
 *
 * The size of the set is the position in the array. In all other arrays, the state of a text
 * remembers the items (unique_items.h).
 */

enum {
    MAX_VALUES = 16,
    MAX_SETS = 1024, /* of values */
};

typedef struct {
    vug_schema_compiler *s;
    const vug_schema_array_items *items;
    const vug_jv *value[MAX_VALUES];
    vug_grammar_expr written[MAX_VALUES];
    size_t n_values;
    uint32_t *allowed; /* [n_prefix + 1]: the values of each prefix item and of all others, a bit
                          for each */
    bool too_many;
    uint32_t *number_of; /* [1 << n_values]: of a set, + 1; 0: it has not been reached */
    uint32_t *set;       /* [n_sets], by number */
    uint32_t n_sets;
    vug_buf edges; /* vug_grammar_edge */
} unique_items;

/* ---- the values -------------------------------------------------------------------------- */

static const vug_jv null_value = { .type = VUG_JSON_NULL };
static const vug_jv false_value = { .type = VUG_JSON_BOOL };
static const vug_jv true_value = { .type = VUG_JSON_BOOL, .boolean = true };

/* The bit of a value, which is added if it is new. */
static uint32_t add_value(unique_items *u, const vug_jv *v)
{
    size_t i = 0;
    while (i < u->n_values && !vug_schema_values_equal(u->s, u->value[i], v))
        i++;
    if (i == MAX_VALUES) {
        u->too_many = true;
        return 0;
    }
    u->value[i] = v;
    u->n_values += i == u->n_values;
    return UINT32_C(1) << i;
}

static uint32_t add_given_values(unique_items *u, vug_schema_case c, const vug_jv *first, size_t n)
{
    uint32_t out = 0;
    const vug_jv *v = first;
    for (size_t i = 0; i < n && !u->too_many && vug_schema_ok(u->s); i++, v = v->next) {
        const vug_schema_verdict verdict = vug_schema_given_verdict(u->s, c, v);
        if (verdict == VUG_SCHEMA_NO)
            continue;
        u->too_many = v->type == VUG_JSON_ARRAY || v->type == VUG_JSON_OBJECT ||
                      verdict == VUG_SCHEMA_MAYBE || !vug_schema_is_comparable(u->s, v);
        out |= add_value(u, v);
    }
    return out;
}

/* The values that a set of schemas allows. */
static uint32_t values_of_set(unique_items *u, vug_schema_set set)
{
    const vug_schema_cases cases = vug_schema_set_cases(u->s, set);
    uint32_t out = 0;
    for (size_t i = 0; i < cases.n && !u->too_many; i++) {
        size_t n;
        const vug_jv *given = vug_schema_given_values(cases.list[i], &n);
        const unsigned types = vug_schema_case_types(cases.list[i]);
        if (vug_schema_find_keyword(cases.list[i], "const") ||
            vug_schema_find_keyword(cases.list[i], "enum")) {
            out |= add_given_values(u, cases.list[i], given, n);
            continue;
        }
        u->too_many = (types & ~(unsigned)(VUG_TYPE_NULL | VUG_TYPE_BOOLEAN)) != 0;
        if (types & VUG_TYPE_NULL)
            out |= add_value(u, &null_value);
        if (types & VUG_TYPE_BOOLEAN)
            out |= add_value(u, &false_value) | add_value(u, &true_value);
    }
    return out;
}

static void read_values(unique_items *u)
{
    const vug_schema_array_items *l = u->items;
    u->allowed = vug_schema_alloc(u->s, l->n_prefix + 1, sizeof(*u->allowed));
    for (size_t i = 0; u->allowed && i < l->n_prefix + l->open && !u->too_many; i++)
        u->allowed[i] = values_of_set(u, l->item[i]);
    for (size_t i = 0; i < u->n_values && vug_schema_ok(u->s); i++)
        u->written[i] = vug_schema_value_expr(u->s, u->value[i]);
}

/* ---- the graph ---------------------------------------------------------------------------- */

static uint32_t number_of_set(unique_items *u, uint32_t set)
{
    if (u->number_of[set] == 0 && u->n_sets == MAX_SETS) {
        u->too_many = true;
        return 0;
    }
    if (u->number_of[set] == 0) {
        u->set[u->n_sets] = set;
        u->number_of[set] = ++u->n_sets;
    }
    return u->number_of[set] - 1;
}

static void add_item_edge(unique_items *u, uint32_t from, vug_grammar_expr label, uint32_t to)
{
    const vug_grammar_edge edge = { .label = label, .from = from, .to = to };
    vug_buf_append(&u->edges, &edge, sizeof(edge));
}

/* Set number i has the states 2 i, before an item, and 2 i + 1, after one. */
static void add_edges_of_set(unique_items *u, uint32_t number)
{
    const vug_schema_array_items *l = u->items;
    const uint32_t set = u->set[number];
    size_t position = 0;
    for (size_t v = 0; v < u->n_values; v++)
        position += set >> v & 1;
    if (position >= l->min)
        add_item_edge(u, 2 * number + 1, VUG_EMPTY_EXPR, VUG_GRAMMAR_GRAPH_END);
    if (position >= l->max || (position >= l->n_prefix && !l->open))
        return;
    const uint32_t left = u->allowed[position < l->n_prefix ? position : l->n_prefix] & ~set;
    if (left != 0)
        add_item_edge(u, 2 * number + 1, u->s->json.comma, 2 * number);
    for (size_t v = 0; v < u->n_values && !u->too_many; v++)
        if (left >> v & 1)
            add_item_edge(u, 2 * number, u->written[v],
                          2 * number_of_set(u, set | UINT32_C(1) << v) + 1);
}

bool vug_schema_few_items_expr(vug_schema_compiler *s, const vug_schema_array_items *items,
                               vug_grammar_expr *out)
{
    unique_items u = { .s = s, .items = items };
    read_values(&u);
    u.number_of = vug_schema_alloc(s, (size_t)1 << u.n_values, sizeof(*u.number_of));
    u.set = vug_schema_alloc(s, MAX_SETS, sizeof(*u.set));
    if (u.set && !u.too_many) {
        memset(u.number_of, 0, sizeof(*u.number_of) << u.n_values);
        (void)number_of_set(&u, 0);
        for (uint32_t i = 0; i < u.n_sets && !u.too_many; i++)
            add_edges_of_set(&u, i);
    }
    if (u.edges.bad)
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
    if (vug_schema_ok(s) && !u.too_many)
        *out = vug_grammar_graph(s->builder, (const void *)u.edges.ptr,
                                 u.edges.len / sizeof(vug_grammar_edge));
    vug_buf_release(&u.edges);
    return !u.too_many;
}

/* ---- many values -------------------------------------------------------------------------- */

static bool has_number_bounds(vug_schema_case c)
{
    static const char *const keywords[] = { "minimum",          "maximum",    "exclusiveMinimum",
                                            "exclusiveMaximum", "multipleOf", "format" };
    bool has = false;
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords) && !has; i++)
        has = vug_schema_find_keyword(c, keywords[i]);
    return has;
}

static bool has_open_strings(vug_schema_case c)
{
    return !vug_schema_find_keyword(c, "pattern") && !vug_schema_find_keyword(c, "format") &&
           !vug_schema_find_keyword(c, VUG_KEYWORD_NOT_PATTERN) &&
           vug_schema_strictest_count(c, "maxLength", true, UINT64_MAX) > 2;
}

static bool allows_many(vug_schema_compiler *s, vug_schema_set set, int depth);

/* Whether a property that is named in the case may have many values, or its name. */
static bool has_open_objects(vug_schema_compiler *s, vug_schema_case c, // NOLINT(misc-no-recursion)
                             int depth)
{
    bool found = false;
    for (size_t i = 0; i < c.n && !found; i++) {
        const vug_jv *properties = vug_jv_get(c.schema[i], "properties");
        for (const vug_jv *p = properties ? properties->child : NULL; p && !found; p = p->next)
            found = allows_many(s, vug_schema_property_set(s, c, p->key), depth + 1);
    }
    return found;
}

enum { MAX_NESTED = 4 };

/* Whether there are certainly more than a thousand different values. */
static bool allows_many(vug_schema_compiler *s, vug_schema_set set, // NOLINT(misc-no-recursion)
                        int depth)
{
    if (depth > MAX_NESTED || vug_schema_has_false(set))
        return false;
    const vug_schema_cases cases = vug_schema_set_cases(s, set);
    bool found = false;
    for (size_t i = 0; i < cases.n && !found && vug_schema_ok(s); i++) {
        const vug_schema_case c = cases.list[i];
        const unsigned types = vug_schema_case_types(c);
        if (vug_schema_find_keyword(c, "const") || vug_schema_find_keyword(c, "enum"))
            continue;
        found = ((types & VUG_TYPE_STRING) && has_open_strings(c)) ||
                ((types & VUG_TYPE_INTEGER) && !has_number_bounds(c)) ||
                ((types & VUG_TYPE_OBJECT) && has_open_objects(s, c, depth));
    }
    return found;
}

vug_grammar_expr vug_schema_many_items_expr(vug_schema_compiler *s,
                                            const vug_schema_array_items *items,
                                            vug_grammar_expr items_expr)
{
    const bool is_json = s->json.escapes && !s->json.bare_keys && !s->json.as_parameters;
    if (!is_json)
        vug_schema_fail(s, VUG_UNSUPPORTED, items->unique,
                        "uniqueItems is supported in this format only for items with few values: "
                        "null, booleans, and up to %d scalars of enum and const",
                        MAX_VALUES);
    if (items->min > VUG_UNIQUE_MAX_ITEMS)
        vug_schema_fail(s, VUG_LIMIT, items->unique, "more than %d different items",
                        VUG_UNIQUE_MAX_ITEMS);
    if (items->min > 1 && (items->n_prefix > 0 || !allows_many(s, items->item[0], 0)))
        vug_schema_fail(s, VUG_UNSUPPORTED, items->unique,
                        "uniqueItems with this minItems is supported only for items that "
                        "certainly have enough different values");
    /* What follows the bracket is a rule, so that no other array has the same expression: that would
     * be called, and the rule must read its own bracket (unique_tokens.c). */
    vug_grammar_builder *b = s->builder;
    const vug_grammar_expr rest = vug_grammar_declare_rule(b), rule = vug_grammar_declare_rule(b);
    vug_grammar_define_rule(b, rest,
                            VUG_GRAMMAR_SEQUENCE(b, s->json.gap, items_expr, s->json.gap,
                                                 vug_grammar_text(b, "]")));
    vug_grammar_define_rule(b, rule, VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "["), rest));
    vug_grammar_mark_unique_items(s->builder, rule);
    return rule;
}
