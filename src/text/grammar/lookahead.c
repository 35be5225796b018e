#include "text/grammar/lookahead.h"

#include "text/grammar/regex_derivatives.h"

enum { CUTS_PER_STEP = 8 }; /* compared in one step of work */

/* The states of the derivatives that are reached become the states of a graph. */
typedef struct {
    vug_derivatives d;
    vug_grammar_class_fn *make_class;
    void *user;
    vug_buf states; /* uint32_t: derivative states, by graph state */
    vug_buf number; /* uint32_t: graph states + 1, by derivative state; 0: not in the graph */
    vug_buf edges;  /* vug_grammar_edge */
    vug_intern_table classes; /* the ranges of all labels so far */
    vug_buf class_expr;       /* vug_grammar_expr, for each of them */
} graph_builder;

static uint32_t *u32_array(const vug_buf *buf)
{
    return (uint32_t *)(void *)buf->ptr;
}

static size_t u32_count(const vug_buf *buf)
{
    return buf->len / sizeof(uint32_t);
}

/* Most labels occur many times, and encoding a class is expensive: each class is made once. */
static vug_grammar_expr class_expr(graph_builder *g, const vug_char_range *range, size_t n)
{
    vug_derivatives *d = &g->d;
    const uint32_t id = vug_intern_add(&g->classes, (const uint32_t *)(const void *)range,
                                       n * sizeof(*range) / sizeof(uint32_t));
    if (id == VUG_INTERN_NONE)
        VUG_GRAMMAR_FAIL(d->to, VUG_NOMEM, "out of memory: a pattern with lookahead");
    if (id == u32_count(&g->class_expr)) {
        const vug_grammar_expr expr = g->make_class ? g->make_class(d->to, range, n, g->user)
                                                    : vug_grammar_class(d->to, range, n, false);
        vug_derivatives_append(d, &g->class_expr, &expr, sizeof(expr));
    }
    return vug_derivatives_failed(d) ? VUG_EMPTY_EXPR : u32_array(&g->class_expr)[id];
}

/* The expression for the characters that lead from one state to another. */
static vug_grammar_expr make_label(graph_builder *g, uint32_t from, uint32_t to)
{
    vug_derivatives *d = &g->d;
    vug_buf list = { 0 };
    const uint32_t *cut = u32_array(&d->cut), *symbol = u32_array(&d->symbol_of);
    const size_t n = u32_count(&d->cut);
    for (size_t i = 0; i + 1 < n; i++) {
        if (vug_derivatives_next(d, from, symbol[i]) != to)
            continue;
        vug_char_range range = { cut[i], cut[i + 1] - 1 };
        if (i > 0 && list.len > 0 && vug_derivatives_next(d, from, symbol[i - 1]) == to) {
            list.len -= sizeof(range);
            range.from = ((vug_char_range *)(void *)(list.ptr + list.len))->from;
        }
        vug_derivatives_append(d, &list, &range, sizeof(range));
    }
    const vug_char_range *range = (const vug_char_range *)(const void *)list.ptr;
    const size_t n_ranges = list.len / sizeof(*range);
    vug_grammar_expr expr = VUG_EMPTY_EXPR;
    if (!vug_derivatives_failed(d))
        expr = class_expr(g, range, n_ranges);
    vug_buf_release(&list);
    return expr;
}

/* The graph state of a derivative state, which is added if it is new. */
static uint32_t graph_state_of(graph_builder *g, uint32_t state)
{
    const uint32_t none = 0;
    while (u32_count(&g->number) <= state && !vug_derivatives_failed(&g->d))
        vug_derivatives_append(&g->d, &g->number, &none, sizeof(none));
    if (vug_derivatives_failed(&g->d))
        return 0;
    uint32_t *number = u32_array(&g->number) + state;
    if (*number == 0) {
        vug_derivatives_append(&g->d, &g->states, &state, sizeof(state));
        *number = (uint32_t)u32_count(&g->states);
    }
    return *number - 1;
}

static void append_edges(graph_builder *g, uint32_t from)
{
    vug_derivatives *d = &g->d;
    const uint32_t state = u32_array(&g->states)[from];
    const size_t n_symbols = d->symbols.n;
    vug_buf targets = { 0 };
    vug_derivatives_append(d, &targets, u32_array(&d->next) + state * n_symbols,
                           n_symbols * sizeof(uint32_t));
    const size_t n =
            vug_derivatives_failed(d) ? 0 : vug_sort_unique(u32_array(&targets), n_symbols);
    vug_grammar_edge edge = { VUG_EMPTY_EXPR, from, VUG_GRAMMAR_GRAPH_END };
    if (vug_derivatives_accepts(d, state))
        vug_derivatives_append(d, &g->edges, &edge, sizeof(edge));
    for (size_t i = 0; i < n && !vug_derivatives_failed(d); i++) {
        const uint32_t to = u32_array(&targets)[i];
        if (to == VUG_DERIVATIVES_DEAD)
            continue;
        edge.label = make_label(g, state, to);
        edge.to = graph_state_of(g, to);
        vug_derivatives_append(d, &g->edges, &edge, sizeof(edge));
        vug_derivatives_charge(d, 1 + u32_count(&d->cut) / CUTS_PER_STEP);
    }
    vug_buf_release(&targets);
}

static vug_grammar_expr build_graph(graph_builder *g, uint32_t start, uint32_t max_length)
{
    vug_derivatives *d = &g->d;
    if (!vug_derivatives_failed(d))
        (void)graph_state_of(g, start);
    for (uint32_t i = 0; i < u32_count(&g->states) && !vug_derivatives_failed(d); i++) {
        vug_derivatives_expand(d, u32_array(&g->states)[i]);
        if (!vug_derivatives_failed(d))
            append_edges(g, i);
    }
    if (vug_derivatives_failed(d))
        return VUG_EMPTY_EXPR;
    return vug_grammar_bounded_graph(d->to, (const void *)g->edges.ptr,
                                     g->edges.len / sizeof(vug_grammar_edge), max_length);
}

vug_grammar_expr vug_grammar_resolve_lookahead(vug_grammar_builder *builder,
                                               vug_grammar_builder *source, vug_grammar_expr root,
                                               uint32_t max_length,
                                               vug_grammar_class_fn *make_class, void *user)
{
    graph_builder g = { .make_class = make_class, .user = user };
    const uint32_t start = vug_derivatives_init(&g.d, builder, source, root);
    const vug_grammar_expr expr = build_graph(&g, start, max_length);
    if (builder->st == VUG_OK && source->st != VUG_OK) {
        builder->st = source->st;
        builder->err = source->err;
    }
    vug_derivatives_release(&g.d);
    vug_buf_release(&g.states);
    vug_buf_release(&g.number);
    vug_buf_release(&g.edges);
    vug_intern_release(&g.classes);
    vug_buf_release(&g.class_expr);
    return expr;
}
