#include "text/grammar/schema_members.h"

/*
 * The members of an object, in the order of its properties; some are optional. They are the paths
 * of a graph. Its states know the next property, how many members have been counted, and whether a
 * member has just been written, so that a comma comes before the next one:
 *
 *     BEFORE(i, k) ── property i ──► AFTER(i + 1, k + 1)     BEFORE(i, k) ──► BEFORE(i + 1, k)
 *     AFTER(i, k)  ── comma ──► ENTRY(i, k)                  AFTER(i, k)  ──► end
 *     ENTRY(i, k)  ── additional ──► AFTER(i, k + 1)         ENTRY(i, k)  ──► BEFORE(i, k)
 *
 * Additional members begin at ENTRY and not at BEFORE, so that each text has one path only. They
 * come after the required properties: a model is led to those first. Each property occurs once for
 * each count, so the graph is as large as the schema.
 */

enum { MAX_COUNTED = 1 << 16 };

typedef struct {
    vug_schema_compiler *s;
    const vug_schema_members *m;
    uint64_t n_counts;    /* counts to tell apart; the last one also stands for larger ones, unless
                              there is a maximum. 1: members are not counted */
    size_t n_columns;     /* counts that occur */
    size_t last_required; /* the number of properties up to the last required one */
    size_t first_open;    /* additional members may stand before this property and all later ones */
    vug_grammar_edge *edge;
    size_t n, cap;
} member_graph;

static bool is_capped(const member_graph *g)
{
    return g->n_counts > 1 && g->m->max != UINT64_MAX;
}

static uint32_t state_entry(const member_graph *g, size_t property, size_t count)
{
    return (uint32_t)(3 * (property * g->n_columns + count));
}

static uint32_t state_before(const member_graph *g, size_t property, size_t count)
{
    return state_entry(g, property, count) + 1;
}

static uint32_t state_after(const member_graph *g, size_t property, size_t count)
{
    return state_entry(g, property, count) + 2;
}

static void add_member_edge(member_graph *g, uint32_t from, vug_grammar_expr label, uint32_t to)
{
    VUG_ASSERT(g->n < g->cap);
    g->edge[g->n++] = (vug_grammar_edge){ .label = label, .from = from, .to = to };
}

/* An additional member that must be written last, after all properties. */
static void add_last(member_graph *g, size_t count)
{
    const vug_schema_members *m = g->m;
    if (m->last != VUG_EMPTY_EXPR && (g->n_counts == 1 || count + 1 >= m->min))
        add_member_edge(g, state_before(g, m->n, count), m->last, VUG_GRAMMAR_GRAPH_END);
}

/* Additional members, after all properties. A repetition counts them. */
static void add_capped_additional(member_graph *g, size_t count)
{
    const vug_schema_members *m = g->m;
    vug_grammar_builder *b = g->s->builder;
    const uint32_t from = state_before(g, m->n, count);
    const uint32_t min = (uint32_t)(m->min > count + 1 ? m->min - count - 1 : 0);
    const uint32_t max = (uint32_t)(m->max - count - 1);
    const vug_grammar_expr comma = g->s->json.comma, one = m->additional;
    const vug_grammar_expr list =
            m->last != VUG_EMPTY_EXPR
                    ? VUG_GRAMMAR_SEQUENCE(
                              b,
                              vug_grammar_repeat(b, VUG_GRAMMAR_SEQUENCE(b, one, comma), min, max),
                              m->last)
                    : VUG_GRAMMAR_SEQUENCE(
                              b, one,
                              vug_grammar_repeat(b, VUG_GRAMMAR_SEQUENCE(b, comma, one), min, max));
    add_member_edge(g, from, list, VUG_GRAMMAR_GRAPH_END);
}

/* The edges between the states of property `i` and of a count. */
static void add_member_edges(member_graph *g, size_t i, size_t count)
{
    const vug_schema_members *m = g->m;
    const uint32_t before = state_before(g, i, count), after = state_after(g, i, count);
    const bool full = is_capped(g) && count + 1 == g->n_counts;
    const bool enough = g->n_counts == 1 || count >= m->min;
    const size_t next = count + 1 < g->n_counts ? count + 1 : count;
    if (i < m->n || m->open)
        add_member_edge(g, after, g->s->json.comma, state_entry(g, i, count));
    add_member_edge(g, state_entry(g, i, count), VUG_EMPTY_EXPR, before);
    if (i >= g->first_open)
        add_member_edge(g, state_entry(g, i, count), m->additional, state_after(g, i, next));
    if (i >= g->last_required && enough && m->last == VUG_EMPTY_EXPR)
        add_member_edge(g, after, VUG_EMPTY_EXPR, VUG_GRAMMAR_GRAPH_END);
    if (i == m->n) {
        if (is_capped(g) && m->open && !full)
            add_capped_additional(g, count);
        else if (!is_capped(g))
            add_last(g, count);
        return;
    }
    if (m->member[i].pair != VUG_EMPTY_EXPR && !full)
        add_member_edge(g, before, m->member[i].pair, state_after(g, i + 1, next));
    if (!m->member[i].required)
        add_member_edge(g, before, VUG_EMPTY_EXPR, state_before(g, i + 1, count));
}

/* One or more members. */
static vug_grammar_expr member_list(member_graph *g)
{
    const vug_schema_members *m = g->m;
    g->n_columns = g->n_counts < m->n + 2 ? (size_t)g->n_counts : m->n + 2;
    if (g->n_counts > MAX_COUNTED || (g->n_counts > 1 && g->n_columns * (m->n + 1) > MAX_COUNTED)) {
        vug_schema_fail(
                g->s, VUG_LIMIT,
                vug_schema_find_keyword(m->c, is_capped(g) ? "maxProperties" : "minProperties"),
                "too many properties to count");
        return VUG_EMPTY_EXPR;
    }
    g->first_open = m->open && !is_capped(g) ? g->last_required : m->n + 1;
    g->cap = 7 * g->n_columns * (m->n + 1);
    g->edge = vug_schema_alloc(g->s, g->cap, sizeof(*g->edge));
    for (size_t i = 0; g->edge && i <= m->n; i++)
        for (size_t count = 0; count < g->n_columns && (count <= i || m->open); count++)
            add_member_edges(g, i, count);
    return vug_grammar_graph(g->s->builder, g->edge, g->edge ? g->n : 0);
}

/* Additional names may repeat, so counting them proves one distinct member only. */
static bool must_count(vug_schema_compiler *s, const vug_schema_members *m)
{
    size_t n_required = 0, n_possible = 0;
    for (size_t i = 0; i < m->n; i++) {
        n_required += m->member[i].required;
        n_possible += m->member[i].pair != VUG_EMPTY_EXPR;
    }
    const bool min_matters = m->min > n_required && !(m->min == 1 && n_required == 0);
    const bool max_matters = m->max != UINT64_MAX && (m->open || m->max < n_possible);
    if (m->open && m->min > (n_required ? n_required : 1))
        vug_schema_fail(
                s, VUG_UNSUPPORTED, vug_schema_find_keyword(m->c, "minProperties"),
                "this minProperties is not supported together with additional properties: a "
                "grammar cannot keep their names distinct");
    return min_matters || max_matters;
}

vug_grammar_expr vug_schema_members_expr(vug_schema_compiler *s, const vug_schema_members *m)
{
    member_graph g = { .s = s, .m = m, .n_counts = 1 };
    if (must_count(s, m))
        g.n_counts = (m->max != UINT64_MAX ? m->max : m->min > 1 ? m->min : 1) + 1;
    for (size_t i = 0; i < m->n; i++)
        if (m->member[i].required)
            g.last_required = i + 1;
    vug_grammar_expr part[2];
    size_t n = 0;
    if (g.last_required == 0 && m->min == 0 && m->last == VUG_EMPTY_EXPR)
        part[n++] = vug_json_grammar_empty(&s->json, '{');
    if (m->max > 0)
        part[n++] = vug_json_grammar_brackets(&s->json, '{', member_list(&g));
    return vug_grammar_choice(s->builder, part, n);
}
