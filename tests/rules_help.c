#include "rules_help.h"

#include <stdlib.h>

#include "core/text.h"
#include "text/grammar/rule_nodes.h"

/* ---- recognizer --------------------------------------------------------------- */

/* ends[node]: for each place of the text, where a match of the node that begins there may
 * end, as bits; NULL while nobody has asked. */
typedef struct {
    const vug_rules *rules;
    vug_str text;
    size_t words; /* of a set of places */
    uint64_t ***ends;
    vug_arena arena;
} recognizer;

static bool has(const uint64_t *set, size_t i)
{
    return set[i / 64] >> (i % 64) & 1;
}

static void put(uint64_t *set, size_t i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

static const uint64_t *ends_of(recognizer *r, vug_node node, size_t at);

/* All ends of the node from all places of `from`. */
static void step(recognizer *r, vug_node node, const uint64_t *from, uint64_t *to)
{
    for (size_t i = 0; i <= r->text.len; i++) {
        if (!has(from, i))
            continue;
        const uint64_t *ends = ends_of(r, node, i);
        for (size_t w = 0; w < r->words; w++)
            to[w] |= ends[w];
    }
}

static uint64_t *new_set(recognizer *r)
{
    uint64_t *set = vug_arena_alloc(&r->arena, r->words, sizeof(*set));
    VUG_ASSERT(set);
    return set;
}

static void match_character(recognizer *r, const vug_rule *rule, size_t at, uint64_t *to)
{
    uint32_t c;
    const size_t n = vug_utf8_next(r->text.ptr + at, r->text.len - at, &c);
    const vug_char_range *range = vug_rule_ranges(r->rules, rule);
    for (uint32_t i = 0; n > 0 && i < rule->n; i++)
        if (c >= range[i].from && c <= range[i].to)
            put(to, at + n);
}

static void match_repeat(recognizer *r, const vug_rule *rule, size_t at, uint64_t *to)
{
    const size_t size = r->words * sizeof(uint64_t);
    uint64_t *here = new_set(r);
    put(here, at);
    for (uint32_t i = 0; i < rule->max || rule->max == VUG_REPEAT_FOREVER; i++) {
        if (i >= rule->n)
            for (size_t w = 0; w < r->words; w++)
                to[w] |= here[w];
        uint64_t *next = new_set(r);
        step(r, rule->at, here, next);
        bool any = false;
        for (size_t w = 0; w < r->words; w++)
            any = any || next[w];
        /* Nothing more, or nothing new. */
        if (!any || (memcmp(next, here, size) == 0 && i >= rule->n))
            return;
        here = next;
    }
    for (size_t w = 0; w < r->words; w++)
        to[w] |= here[w];
}

static void match_list(recognizer *r, const vug_rule *rule, size_t at, uint64_t *to)
{
    const vug_node *part = vug_rule_parts(r->rules, rule);
    uint64_t *here = new_set(r);
    put(here, at);
    for (uint32_t i = 0; i < rule->n; i++) {
        if (rule->kind == VUG_RULE_CHOICE) {
            step(r, part[i], here, to);
            continue;
        }
        uint64_t *next = i + 1 < rule->n ? new_set(r) : to;
        step(r, part[i], here, next);
        here = next;
    }
}

/* Places at which each state may be, until there are no more. */
static void match_graph(recognizer *r, const vug_rule *rule, size_t at, uint64_t *to)
{
    uint64_t **at_state = vug_arena_alloc(&r->arena, rule->max, sizeof(*at_state));
    VUG_ASSERT(at_state);
    for (uint32_t i = 0; i < rule->max; i++)
        at_state[i] = new_set(r);
    put(at_state[0], at);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < rule->n; i++) {
            const vug_graph_edge *edge = &vug_rule_edges(r->rules, rule)[i];
            uint64_t *target = edge->to == VUG_GRAPH_END ? to : at_state[edge->to];
            uint64_t *found = new_set(r);
            step(r, edge->label, at_state[edge->from], found);
            for (size_t w = 0; w < r->words; w++) {
                more = more || (found[w] & ~target[w]);
                target[w] |= found[w];
            }
        }
    }
}

static const uint64_t *ends_of(recognizer *r, vug_node node, size_t at)
{
    if (!r->ends[node])
        r->ends[node] = vug_arena_alloc(&r->arena, r->text.len + 1, sizeof(**r->ends));
    if (r->ends[node][at])
        return r->ends[node][at];
    const vug_rule *rule = vug_rule_at(r->rules, node);
    uint64_t *to = new_set(r);
    r->ends[node][at] = to;
    const vug_str rest = vug_str_from(r->text, at);
    switch (rule->kind) {
    case VUG_RULE_EMPTY:
        put(to, at);
        break;
    case VUG_RULE_LITERAL:
        if (rest.len >= rule->n &&
            vug_str_equal((vug_str){ rest.ptr, rule->n }, vug_rule_text(r->rules, rule)))
            put(to, at + rule->n);
        break;
    case VUG_RULE_CLASS:
        match_character(r, rule, at, to);
        break;
    case VUG_RULE_SEQUENCE:
    case VUG_RULE_CHOICE:
        match_list(r, rule, at, to);
        break;
    case VUG_RULE_REPEAT:
        match_repeat(r, rule, at, to);
        break;
    case VUG_RULE_GRAPH:
        match_graph(r, rule, at, to);
        break;
    case VUG_RULE_AHEAD:
        VUG_ASSERT(false); /* not in what front ends give */
    case VUG_RULE_DECLARED:
        memcpy(to, ends_of(r, rule->at, at), r->words * sizeof(*to));
        break;
    }
    return r->ends[node][at];
}

bool rules_match(const vug_rules *rules, vug_node root, vug_str text)
{
    recognizer r = { .rules = rules, .text = text, .words = text.len / 64 + 1 };
    r.ends = vug_arena_alloc(&r.arena, vug_rules_count(rules), sizeof(*r.ends));
    VUG_ASSERT(r.ends);
    const bool yes = has(ends_of(&r, root, 0), text.len);
    vug_arena_release(&r.arena);
    return yes;
}

/* ---- generator -------------------------------------------------------------------- */

enum { FAR = 1 << 20 };

typedef struct {
    const vug_rules *rules;
    uint64_t *seed;
    uint32_t *least; /* [nodes]: bytes of the shortest text, about; FAR: there is none */
    size_t max;
    vug_buf *to;
} generator;

static uint32_t draw(generator *g, uint32_t n)
{
    *g->seed = *g->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*g->seed >> 33) % n);
}

static uint32_t capped(uint64_t n)
{
    return n < FAR ? (uint32_t)n : FAR;
}

/* From an edge on to the end of its graph. */
static uint32_t least_way(const generator *g, const vug_graph_edge *edge, const uint32_t *least)
{
    const uint32_t rest = edge->to == VUG_GRAPH_END ? 0 : least[edge->to];
    return capped((uint64_t)g->least[edge->label] + rest);
}

/* From each state of a graph to its end; to be freed. */
static uint32_t *graph_least(const generator *g, const vug_rule *rule)
{
    const vug_graph_edge *edge = vug_rule_edges(g->rules, rule);
    uint32_t *least = vug_alloc(rule->max, sizeof(*least));
    VUG_ASSERT(least);
    for (uint32_t i = 0; i < rule->max; i++)
        least[i] = FAR;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = rule->n; i-- > 0;) {
            const uint32_t way = least_way(g, &edge[i], least);
            changed = changed || way < least[edge[i].from];
            if (way < least[edge[i].from])
                least[edge[i].from] = way;
        }
    }
    return least;
}

static uint32_t least_of(const generator *g, const vug_rule *rule)
{
    uint64_t n = 0;
    uint32_t *least;
    switch (rule->kind) {
    case VUG_RULE_EMPTY:
        return 0;
    case VUG_RULE_LITERAL:
        return capped(rule->n);
    case VUG_RULE_CLASS:
        return 1;
    case VUG_RULE_SEQUENCE:
        for (uint32_t i = 0; i < rule->n; i++)
            n += g->least[vug_rule_parts(g->rules, rule)[i]];
        return capped(n);
    case VUG_RULE_CHOICE:
        n = FAR;
        for (uint32_t i = 0; i < rule->n; i++) {
            const uint32_t part = g->least[vug_rule_parts(g->rules, rule)[i]];
            n = part < n ? part : n;
        }
        return capped(n);
    case VUG_RULE_REPEAT:
        return capped((uint64_t)g->least[rule->at] * rule->n);
    case VUG_RULE_GRAPH:
        least = graph_least(g, rule);
        n = least[0];
        vug_free(least);
        return capped(n);
    case VUG_RULE_AHEAD:
        return FAR;
    case VUG_RULE_DECLARED:
        return g->least[rule->at];
    }
    return FAR;
}

static void measure(generator *g)
{
    const size_t n = vug_rules_count(g->rules);
    for (size_t i = 0; i < n; i++)
        g->least[i] = FAR;
    for (bool changed = true; changed;) {
        changed = false;
        for (vug_node i = 0; i < n; i++) {
            const uint32_t least = least_of(g, vug_rule_at(g->rules, i));
            changed = changed || least < g->least[i];
            g->least[i] = least < g->least[i] ? least : g->least[i];
        }
    }
}

static void put_character(generator *g, const vug_rule *rule)
{
    const vug_char_range *range = vug_rule_ranges(g->rules, rule);
    vug_char_range of = range[draw(g, rule->n)];
    /* Mostly letters that a person can read. */
    for (int i = 0; i < 3 && of.from > 0x7f; i++)
        of = range[draw(g, rule->n)];
    if (of.to > 0x7e && of.from < 0x7e && draw(g, 4))
        of.to = 0x7e;
    char utf8[4];
    const uint32_t c = of.from + draw(g, of.to - of.from + 1);
    vug_buf_append(g->to, utf8, vug_utf8_put(c, utf8));
}

/* Once the text is long, the shortest way to its end. */
static bool is_long(const generator *g)
{
    return g->to->len * 2 > g->max;
}

static void derive(generator *g, vug_node node);

static void derive_choice(generator *g, const vug_rule *rule)
{
    const vug_node *part = vug_rule_parts(g->rules, rule);
    uint32_t pick = draw(g, rule->n);
    for (uint32_t i = 0; i < rule->n; i++) {
        const uint32_t here = g->least[part[(pick + i) % rule->n]];
        if (here < FAR && (!is_long(g) || here == least_of(g, rule))) {
            pick = (pick + i) % rule->n;
            break;
        }
    }
    derive(g, part[pick]);
}

static void derive_graph(generator *g, const vug_rule *rule)
{
    const vug_graph_edge *edge = vug_rule_edges(g->rules, rule);
    uint32_t *least = graph_least(g, rule);
    uint32_t at = 0;
    while (at != VUG_GRAPH_END && g->to->len <= g->max) {
        uint32_t pick = draw(g, rule->n);
        for (uint32_t i = 0; i < rule->n; i++, pick = (pick + 1) % rule->n) {
            const uint32_t way = least_way(g, &edge[pick], least);
            if (edge[pick].from == at && way < FAR && (!is_long(g) || way == least[at]))
                break;
        }
        derive(g, edge[pick].label);
        at = edge[pick].to;
    }
    vug_free(least);
}

static void derive(generator *g, vug_node node)
{
    const vug_rule *rule = vug_rule_at(g->rules, node);
    if (g->to->len > g->max)
        return;
    switch (rule->kind) {
    case VUG_RULE_EMPTY:
        break;
    case VUG_RULE_LITERAL:
        vug_buf_append(g->to, vug_rule_text(g->rules, rule).ptr, rule->n);
        break;
    case VUG_RULE_CLASS:
        put_character(g, rule);
        break;
    case VUG_RULE_SEQUENCE:
        for (uint32_t i = 0; i < rule->n; i++)
            derive(g, vug_rule_parts(g->rules, rule)[i]);
        break;
    case VUG_RULE_CHOICE:
        derive_choice(g, rule);
        break;
    case VUG_RULE_REPEAT: {
        uint32_t n = rule->n;
        while (g->least[rule->at] < FAR && n < rule->max && !is_long(g) && draw(g, 3))
            n++;
        for (uint32_t i = 0; i < n && g->to->len <= g->max; i++)
            derive(g, rule->at);
        break;
    }
    case VUG_RULE_GRAPH:
        derive_graph(g, rule);
        break;
    case VUG_RULE_AHEAD:
        VUG_ASSERT(false);
    case VUG_RULE_DECLARED:
        derive(g, rule->at);
        break;
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): draw() goes on from it */
bool rules_generate(const vug_rules *rules, vug_node root, uint64_t *seed, size_t max, vug_buf *to)
{
    generator g = { .rules = rules, .seed = seed, .max = max, .to = to };
    g.least = vug_alloc_zero(vug_rules_count(rules), sizeof(*g.least));
    VUG_ASSERT(g.least);
    measure(&g);
    const bool found = g.least[root] < FAR;
    if (found)
        derive(&g, root);
    vug_free(g.least);
    return found && to->len <= max;
}
