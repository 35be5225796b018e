#include "text/grammar/schema_array_items.h"
#include "text/grammar/schema_nodes.h"

/*
 * Arrays that contain items of some kind: contains, minContains, maxContains. What may follow an
 * item depends on how many items have satisfied each `contains`. These counts are one number, the
 * state, with a digit for each `contains`. A count without a maximum stops at its minimum.
 */

enum { MAX_STATES = 1 << 14 }; /* times the items that are counted */

typedef struct {
    vug_schema_compiler *s;
    const vug_schema_array_items *items;
    const vug_schema_contained *contained;
    size_t place[VUG_SCHEMA_MAX_CONTAINS]; /* what one match adds to the state */
    size_t n_states;
    vug_grammar_expr *rest; /* [n_states]: what may follow an item */
    /* An item for each choice of `contains` that count it, a bit for each. It satisfies those, and
     * violates all others that have a maximum. */
    vug_grammar_expr item[1 << VUG_SCHEMA_MAX_CONTAINS];
} contained_array;

/* ---- reading ------------------------------------------------------------------------------ */

static bool is_known(const vug_schema_contained *out, vug_schema_contains one)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->list[i].schema == one.schema && out->list[i].min == one.min &&
            out->list[i].max == one.max)
            return true;
    return false;
}

vug_schema_contained vug_schema_read_contained(vug_schema_compiler *s, vug_schema_case c)
{
    vug_schema_contained out = { 0 };
    for (size_t i = 0; i < c.n; i++) {
        const vug_schema_case one = { &c.schema[i], 1 };
        const vug_schema_contains here = {
            .schema = vug_jv_get(c.schema[i], "contains"),
            .min = vug_schema_strictest_count(one, "minContains", false, 1),
            .max = vug_schema_strictest_count(one, "maxContains", true, UINT64_MAX),
        };
        if (!here.schema || (here.min == 0 && here.max == UINT64_MAX) || is_known(&out, here))
            continue;
        if (out.n == VUG_SCHEMA_MAX_CONTAINS) {
            vug_schema_fail(s, VUG_LIMIT, here.schema, "more than %d 'contains' for one array",
                            VUG_SCHEMA_MAX_CONTAINS);
            break;
        }
        out.list[out.n++] = here;
    }
    return out;
}

bool vug_schema_may_contain_none(const vug_schema_contained *contained)
{
    bool may = true;
    for (size_t i = 0; i < contained->n; i++)
        may = may && contained->list[i].min == 0;
    return may;
}

/* ---- items -------------------------------------------------------------------------------- */

static bool is_capped(const contained_array *a, size_t i)
{
    return a->contained->list[i].max != UINT64_MAX;
}

/* The largest count that a state holds. */
static uint64_t largest_count(const vug_schema_contains *c)
{
    return c->max != UINT64_MAX ? c->max : c->min;
}

static size_t count_in(const contained_array *a, size_t state, size_t i)
{
    VUG_ASSERT(a->place[i] > 0);
    return state / a->place[i] % ((size_t)largest_count(&a->contained->list[i]) + 1);
}

/* An item that the `contains` in `matched` count, a bit for each. */
static vug_grammar_expr matching_item(const contained_array *a, vug_schema_set item,
                                      unsigned matched)
{
    vug_schema_compiler *s = a->s;
    const vug_jv **list = vug_schema_alloc_list(s, item.n + a->contained->n);
    vug_jv *others = vug_schema_new_node(s, VUG_JSON_ARRAY, "");
    size_t n = 0;
    for (size_t i = 0; list && i < item.n; i++)
        list[n++] = item.schema[i];
    for (size_t i = 0; list && i < a->contained->n; i++) {
        if (matched >> i & 1)
            list[n++] = a->contained->list[i].schema;
        else if (is_capped(a, i))
            vug_schema_add_negated(s, others, a->contained->list[i].schema);
    }
    for (const vug_jv *m = list && others ? others->child : NULL; m; m = m->next)
        list[n++] = m;
    return vug_schema_ok(s) ? vug_schema_set_expr(s, (vug_schema_set){ list, n }) : VUG_EMPTY_EXPR;
}

/* Fills `item` with items of a set, and what is written before them. */
static void make_items(contained_array *a, vug_schema_set item, vug_grammar_expr before)
{
    for (unsigned matched = 0; matched < 1U << a->contained->n && vug_schema_ok(a->s); matched++)
        a->item[matched] =
                VUG_GRAMMAR_SEQUENCE(a->s->builder, before, matching_item(a, item, matched));
}

/* ---- states ------------------------------------------------------------------------------- */

static bool is_enough(const contained_array *a, size_t state)
{
    bool enough = true;
    for (size_t i = 0; i < a->contained->n; i++)
        enough = enough && count_in(a, state, i) >= a->contained->list[i].min;
    return enough;
}

/* The state after an item that the `contains` in `matched` count. False if one of them cannot. */
static bool next_state(const contained_array *a, size_t state, unsigned matched, size_t *next)
{
    *next = state;
    for (size_t i = 0; i < a->contained->n; i++) {
        if (!(matched >> i & 1))
            continue;
        if (count_in(a, state, i) == largest_count(&a->contained->list[i]))
            return false;
        *next += a->place[i];
    }
    return true;
}

/* The items that may follow in a state, from the choice `first` on, each with what follows it. */
static vug_grammar_expr next_items(const contained_array *a, size_t state, unsigned first,
                                   bool may_end)
{
    vug_grammar_expr part[(1 << VUG_SCHEMA_MAX_CONTAINS) + 1];
    size_t n = 0, next;
    if (may_end)
        part[n++] = VUG_EMPTY_EXPR;
    for (unsigned matched = first; matched < 1U << a->contained->n; matched++)
        if (next_state(a, state, matched, &next))
            part[n++] = VUG_GRAMMAR_SEQUENCE(a->s->builder, a->item[matched], a->rest[next]);
    return vug_grammar_choice(a->s->builder, part, n);
}

/* What may follow the counted items. */
static void init_rest(contained_array *a)
{
    vug_grammar_builder *b = a->s->builder;
    const vug_schema_array_items *l = a->items;
    if (l->max == UINT64_MAX)
        make_items(a, l->item[l->n_prefix], a->s->json.comma);
    for (size_t state = a->n_states; state-- > 0 && vug_schema_ok(a->s);) {
        if (l->max != UINT64_MAX)
            a->rest[state] = is_enough(a, state) ? VUG_EMPTY_EXPR : vug_grammar_nothing(b);
        else
            a->rest[state] = VUG_GRAMMAR_SEQUENCE(
                    b, vug_grammar_repeat(b, a->item[0], 0, VUG_REPEAT_UNBOUNDED),
                    next_items(a, state, 1, is_enough(a, state)));
    }
}

/* Updates `rest` from what may follow item `k` to what may follow item k - 1. Item 0 has no comma
 * before it. */
static void prepend_item(contained_array *a, size_t k)
{
    vug_grammar_builder *b = a->s->builder;
    const vug_schema_array_items *l = a->items;
    make_items(a, l->item[k < l->n_prefix ? k : l->n_prefix],
               k > 0 ? a->s->json.comma : VUG_EMPTY_EXPR);
    for (size_t state = 0; state < a->n_states && vug_schema_ok(a->s); state++) {
        const vug_grammar_expr expr =
                next_items(a, state, 0, k >= l->min && k > 0 && is_enough(a, state));
        a->rest[state] = vug_grammar_declare_rule(b);
        vug_grammar_define_rule(b, a->rest[state], expr);
    }
}

vug_grammar_expr vug_schema_contained_expr(vug_schema_compiler *s,
                                           const vug_schema_array_items *items,
                                           const vug_schema_contained *contained)
{
    const uint64_t longest = items->min > items->n_prefix ? items->min : items->n_prefix;
    const uint64_t n_items = items->max != UINT64_MAX ? items->max : longest > 0 ? longest : 1;
    contained_array a = { .s = s, .items = items, .contained = contained, .n_states = 1 };
    bool too_many = n_items > MAX_STATES;
    for (size_t i = 0; i < contained->n && !too_many; i++) {
        const uint64_t largest = largest_count(&contained->list[i]);
        a.place[i] = a.n_states;
        too_many = largest > MAX_STATES;
        a.n_states *= too_many ? 1 : (size_t)largest + 1;
        too_many = too_many || a.n_states * ((size_t)n_items + 1) > MAX_STATES;
    }
    if (too_many)
        vug_schema_fail(s, VUG_LIMIT, contained->list[0].schema, "too many items to count");
    a.rest = too_many ? NULL : vug_schema_alloc(s, a.n_states, sizeof(*a.rest));
    if (!a.rest)
        return VUG_EMPTY_EXPR;
    init_rest(&a);
    for (size_t k = (size_t)n_items; k-- > 0 && vug_schema_ok(s);)
        prepend_item(&a, k);
    return a.rest[0];
}
