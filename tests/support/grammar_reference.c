#include "grammar_reference.h"

#include <stdlib.h>

#include "core/utf8.h"
#include "text/grammar/grammar_expr.h"

/* ---- recognizer --------------------------------------------------------------- */

/* ends[expr][i]: where a match of the expression that begins at position i may end, as bits; NULL
 * until it is computed. */
typedef struct {
    const vug_grammar_builder *builder;
    vug_str text;
    size_t n_words; /* of a set of positions */
    uint64_t ***ends;
    vug_arena arena;
} recognizer;

static bool set_has(const uint64_t *set, size_t i)
{
    return set[i / 64] >> (i % 64) & 1;
}

static void set_add(uint64_t *set, size_t i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

static const uint64_t *ends_of(recognizer *r, vug_grammar_expr expr, size_t at);

/* All ends of the expression from all positions in `from`. */
static void match_all(recognizer *r, vug_grammar_expr expr, const uint64_t *from, uint64_t *to)
{
    for (size_t i = 0; i <= r->text.len; i++) {
        if (!set_has(from, i))
            continue;
        const uint64_t *ends = ends_of(r, expr, i);
        for (size_t w = 0; w < r->n_words; w++)
            to[w] |= ends[w];
    }
}

static uint64_t *new_position_set(recognizer *r)
{
    uint64_t *set = vug_arena_alloc(&r->arena, r->n_words, sizeof(*set));
    VUG_ASSERT(set);
    return set;
}

static void match_character(recognizer *r, const vug_expr_node *node, size_t at, uint64_t *to)
{
    uint32_t c;
    const size_t n = vug_utf8_decode(r->text.ptr + at, r->text.len - at, &c);
    const vug_char_range *range = vug_expr_ranges(r->builder, node);
    for (uint32_t i = 0; n > 0 && i < node->n; i++)
        if (c >= range[i].from && c <= range[i].to)
            set_add(to, at + n);
}

static void match_repeat(recognizer *r, const vug_expr_node *node, size_t at, uint64_t *to)
{
    const size_t size = r->n_words * sizeof(uint64_t);
    uint64_t *here = new_position_set(r);
    set_add(here, at);
    for (uint32_t i = 0; i < node->max || node->max == VUG_REPEAT_UNBOUNDED; i++) {
        if (i >= node->n)
            for (size_t w = 0; w < r->n_words; w++)
                to[w] |= here[w];
        uint64_t *next = new_position_set(r);
        match_all(r, node->at, here, next);
        bool any = false;
        for (size_t w = 0; w < r->n_words; w++)
            any = any || next[w];
        /* Stop when no position is left, or no new one. */
        if (!any || (memcmp(next, here, size) == 0 && i >= node->n))
            return;
        here = next;
    }
    for (size_t w = 0; w < r->n_words; w++)
        to[w] |= here[w];
}

static void match_list(recognizer *r, const vug_expr_node *node, size_t at, uint64_t *to)
{
    const vug_grammar_expr *part = vug_expr_parts(r->builder, node);
    uint64_t *here = new_position_set(r);
    set_add(here, at);
    for (uint32_t i = 0; i < node->n; i++) {
        if (node->kind == VUG_EXPR_CHOICE) {
            match_all(r, part[i], here, to);
            continue;
        }
        uint64_t *next = i + 1 < node->n ? new_position_set(r) : to;
        match_all(r, part[i], here, next);
        here = next;
    }
}

static uint64_t **new_state_sets(recognizer *r, uint32_t n)
{
    uint64_t **at_state = vug_arena_alloc(&r->arena, n, sizeof(*at_state));
    VUG_ASSERT(at_state);
    for (uint32_t i = 0; i < n; i++)
        at_state[i] = new_position_set(r);
    return at_state;
}

/* The positions at which each state may be after 0 edges, 1 edge, ..., `limit` edges. */
static void match_bounded_graph(recognizer *r, const vug_expr_node *node, size_t at, uint64_t *to)
{
    uint64_t **here = new_state_sets(r, node->max);
    set_add(here[0], at);
    bool any = true;
    for (uint32_t n = 0; any && n <= node->limit; n++) {
        uint64_t **next = new_state_sets(r, node->max);
        any = false;
        for (uint32_t i = 0; i < node->n; i++) {
            const vug_grammar_edge *edge = &vug_expr_edges(r->builder, node)[i];
            const bool end = edge->to == VUG_GRAMMAR_GRAPH_END;
            uint64_t *target = end ? to : next[edge->to];
            match_all(r, edge->label, here[edge->from], target);
            for (size_t w = 0; !end && w < r->n_words; w++)
                any = any || target[w];
        }
        here = next;
    }
}

/* The positions at which each state may be, to a fixed point. */
static void match_graph(recognizer *r, const vug_expr_node *node, size_t at, uint64_t *to)
{
    uint64_t **at_state = new_state_sets(r, node->max);
    set_add(at_state[0], at);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < node->n; i++) {
            const vug_grammar_edge *edge = &vug_expr_edges(r->builder, node)[i];
            uint64_t *target = edge->to == VUG_GRAMMAR_GRAPH_END ? to : at_state[edge->to];
            uint64_t *found = new_position_set(r);
            match_all(r, edge->label, at_state[edge->from], found);
            for (size_t w = 0; w < r->n_words; w++) {
                more = more || (found[w] & ~target[w]);
                target[w] |= found[w];
            }
        }
    }
}

static const uint64_t *ends_of(recognizer *r, vug_grammar_expr expr, size_t at)
{
    if (!r->ends[expr])
        r->ends[expr] = vug_arena_alloc(&r->arena, r->text.len + 1, sizeof(**r->ends));
    if (r->ends[expr][at])
        return r->ends[expr][at];
    const vug_expr_node *node = vug_expr_get(r->builder, expr);
    uint64_t *to = new_position_set(r);
    r->ends[expr][at] = to;
    const vug_str rest = vug_str_from(r->text, at);
    switch (node->kind) {
    case VUG_EXPR_EMPTY:
        set_add(to, at);
        break;
    case VUG_EXPR_LITERAL:
        if (rest.len >= node->n &&
            vug_str_equal((vug_str){ rest.ptr, node->n }, vug_expr_text(r->builder, node)))
            set_add(to, at + node->n);
        break;
    case VUG_EXPR_CLASS:
        match_character(r, node, at, to);
        break;
    case VUG_EXPR_SEQUENCE:
    case VUG_EXPR_CHOICE:
        match_list(r, node, at, to);
        break;
    case VUG_EXPR_REPEAT:
        match_repeat(r, node, at, to);
        break;
    case VUG_EXPR_GRAPH:
        if (vug_expr_is_bounded_graph(node))
            match_bounded_graph(r, node, at, to);
        else
            match_graph(r, node, at, to);
        break;
    case VUG_EXPR_LOOKAHEAD:
        VUG_ASSERT(false); /* parsers never return it */
    case VUG_EXPR_RULE:
        memcpy(to, ends_of(r, node->at, at), r->n_words * sizeof(*to));
        break;
    }
    return r->ends[expr][at];
}

bool reference_matches(const vug_grammar_builder *builder, vug_grammar_expr root, vug_str text)
{
    recognizer r = { .builder = builder, .text = text, .n_words = text.len / 64 + 1 };
    r.ends = vug_arena_alloc(&r.arena, vug_grammar_expr_count(builder), sizeof(*r.ends));
    VUG_ASSERT(r.ends);
    const bool yes = set_has(ends_of(&r, root, 0), text.len);
    vug_arena_release(&r.arena);
    return yes;
}

/* ---- generator -------------------------------------------------------------------- */

enum { UNREACHABLE = 1 << 20 };

typedef struct {
    const vug_grammar_builder *builder;
    uint64_t *seed;
    uint32_t *least; /* [exprs]: bytes of a short text; UNREACHABLE: there is none */
    size_t max;
    vug_buf *to;
} text_generator;

static uint32_t draw_below(text_generator *g, uint32_t n)
{
    *g->seed = *g->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*g->seed >> 33) % n);
}

static uint32_t cap_least(uint64_t n)
{
    return n < UNREACHABLE ? (uint32_t)n : UNREACHABLE;
}

/* The bytes from an edge on to the end of its graph; of a bounded graph, the edges. */
static uint32_t least_through_edge(const text_generator *g, const vug_expr_node *graph,
                                   const vug_grammar_edge *edge, const uint32_t *least)
{
    const bool end = edge->to == VUG_GRAMMAR_GRAPH_END;
    const uint32_t label = g->least[edge->label];
    const bool in_edges = vug_expr_is_bounded_graph(graph) && label < UNREACHABLE;
    return cap_least((uint64_t)(in_edges ? !end : label) + (end ? 0 : least[edge->to]));
}

/* The bytes or edges from each state of a graph to its end. The caller frees the result. */
static uint32_t *graph_least(const text_generator *g, const vug_expr_node *node)
{
    const vug_grammar_edge *edge = vug_expr_edges(g->builder, node);
    uint32_t *least = vug_alloc(node->max, sizeof(*least));
    VUG_ASSERT(least);
    for (uint32_t i = 0; i < node->max; i++)
        least[i] = UNREACHABLE;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = node->n; i-- > 0;) {
            const uint32_t least_here = least_through_edge(g, node, &edge[i], least);
            changed = changed || least_here < least[edge[i].from];
            if (least_here < least[edge[i].from])
                least[edge[i].from] = least_here;
        }
    }
    return least;
}

static uint32_t least_bytes(const text_generator *g, const vug_expr_node *node)
{
    uint64_t n = 0;
    uint32_t *least;
    switch (node->kind) {
    case VUG_EXPR_EMPTY:
        return 0;
    case VUG_EXPR_LITERAL:
        return cap_least(node->n);
    case VUG_EXPR_CLASS:
        return 1;
    case VUG_EXPR_SEQUENCE:
        for (uint32_t i = 0; i < node->n; i++)
            n += g->least[vug_expr_parts(g->builder, node)[i]];
        return cap_least(n);
    case VUG_EXPR_CHOICE:
        n = UNREACHABLE;
        for (uint32_t i = 0; i < node->n; i++) {
            const uint32_t part = g->least[vug_expr_parts(g->builder, node)[i]];
            n = part < n ? part : n;
        }
        return cap_least(n);
    case VUG_EXPR_REPEAT:
        return cap_least((uint64_t)g->least[node->at] * node->n);
    case VUG_EXPR_GRAPH:
        least = graph_least(g, node);
        n = vug_expr_is_bounded_graph(node) && least[0] > node->limit ? UNREACHABLE : least[0];
        vug_free(least);
        return cap_least(n);
    case VUG_EXPR_LOOKAHEAD:
        return UNREACHABLE;
    case VUG_EXPR_RULE:
        return g->least[node->at];
    }
    return UNREACHABLE;
}

static void measure_all(text_generator *g)
{
    const size_t n = vug_grammar_expr_count(g->builder);
    for (size_t i = 0; i < n; i++)
        g->least[i] = UNREACHABLE;
    for (bool changed = true; changed;) {
        changed = false;
        for (vug_grammar_expr i = 0; i < n; i++) {
            const uint32_t least = least_bytes(g, vug_expr_get(g->builder, i));
            changed = changed || least < g->least[i];
            g->least[i] = least < g->least[i] ? least : g->least[i];
        }
    }
}

static void generate_character(text_generator *g, const vug_expr_node *node)
{
    const vug_char_range *range = vug_expr_ranges(g->builder, node);
    vug_char_range of = range[draw_below(g, node->n)];
    /* Prefer readable characters. */
    for (int i = 0; i < 3 && of.from > 0x7f; i++)
        of = range[draw_below(g, node->n)];
    if (of.to > 0x7e && of.from < 0x7e && draw_below(g, 4))
        of.to = 0x7e;
    char utf8[4];
    const uint32_t c = of.from + draw_below(g, of.to - of.from + 1);
    vug_buf_append(g->to, utf8, vug_utf8_encode(c, utf8));
}

/* A long text takes the shortest way to its end. */
static bool is_long(const text_generator *g)
{
    return g->to->len * 2 > g->max;
}

static void generate(text_generator *g, vug_grammar_expr expr);

static void generate_choice(text_generator *g, const vug_expr_node *node)
{
    const vug_grammar_expr *part = vug_expr_parts(g->builder, node);
    uint32_t pick = draw_below(g, node->n);
    for (uint32_t i = 0; i < node->n; i++) {
        const uint32_t here = g->least[part[(pick + i) % node->n]];
        if (here < UNREACHABLE && (!is_long(g) || here == least_bytes(g, node))) {
            pick = (pick + i) % node->n;
            break;
        }
    }
    generate(g, part[pick]);
}

static void generate_graph(text_generator *g, const vug_expr_node *node)
{
    const vug_grammar_edge *edge = vug_expr_edges(g->builder, node);
    uint32_t *least = graph_least(g, node);
    uint32_t at = 0, left = vug_expr_is_bounded_graph(node) ? node->limit : UNREACHABLE - 1;
    while (at != VUG_GRAMMAR_GRAPH_END && g->to->len <= g->max) {
        uint32_t pick = draw_below(g, node->n);
        for (uint32_t i = 0; i < node->n; i++, pick = (pick + 1) % node->n) {
            const uint32_t least_here = least_through_edge(g, node, &edge[pick], least);
            if (edge[pick].from == at && least_here <= left &&
                (!is_long(g) || least_here == least[at]))
                break;
        }
        generate(g, edge[pick].label);
        at = edge[pick].to;
        left -= vug_expr_is_bounded_graph(node);
    }
    vug_free(least);
}

static void generate(text_generator *g, vug_grammar_expr expr)
{
    const vug_expr_node *node = vug_expr_get(g->builder, expr);
    if (g->to->len > g->max)
        return;
    switch (node->kind) {
    case VUG_EXPR_EMPTY:
        break;
    case VUG_EXPR_LITERAL:
        vug_buf_append(g->to, vug_expr_text(g->builder, node).ptr, node->n);
        break;
    case VUG_EXPR_CLASS:
        generate_character(g, node);
        break;
    case VUG_EXPR_SEQUENCE:
        for (uint32_t i = 0; i < node->n; i++)
            generate(g, vug_expr_parts(g->builder, node)[i]);
        break;
    case VUG_EXPR_CHOICE:
        generate_choice(g, node);
        break;
    case VUG_EXPR_REPEAT: {
        uint32_t n = node->n;
        while (g->least[node->at] < UNREACHABLE && n < node->max && !is_long(g) && draw_below(g, 3))
            n++;
        for (uint32_t i = 0; i < n && g->to->len <= g->max; i++)
            generate(g, node->at);
        break;
    }
    case VUG_EXPR_GRAPH:
        generate_graph(g, node);
        break;
    case VUG_EXPR_LOOKAHEAD:
        VUG_ASSERT(false);
    case VUG_EXPR_RULE:
        generate(g, node->at);
        break;
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): draw_below() advances it */
bool reference_generate(const vug_grammar_builder *builder, vug_grammar_expr root, uint64_t *seed,
                        size_t max, vug_buf *to)
{
    text_generator g = { .builder = builder, .seed = seed, .max = max, .to = to };
    g.least = vug_alloc_zero(vug_grammar_expr_count(builder), sizeof(*g.least));
    VUG_ASSERT(g.least);
    measure_all(&g);
    const bool found = g.least[root] < UNREACHABLE;
    if (found)
        generate(&g, root);
    vug_free(g.least);
    return found && to->len <= max;
}
