#include "text/grammar/nfa.h"

#include "core/text.h"

/*
 * Bodies of rules as nondeterministic automata (Thompson 1968). They are written from
 * the end: `emit` gets the state at which a node goes on and returns the one at which it
 * begins, so that nothing has to be patched later except the way back of a loop.
 *
 * Characters become bytes here. A range of characters is cut into at most a few
 * sequences of ranges of bytes (as RE2, re2/compile.cc, AddRuneRangeUTF8), and those of
 * one class share the continuation bytes at their ends.
 */

typedef struct {
    const vug_rules *rules;
    const uint8_t *mark;
    vug_nfa *nfa;
    uint32_t *rule_of; /* [nodes] of nodes that are ordinary rules; VUG_NFA_NONE: none yet */
    uint32_t *body_of; /* [nodes] likewise: of nodes that have a body */
    uint32_t *set_of;  /* [nodes] likewise: of classes with several ranges of ASCII */
    bool full;
} maker;

static uint32_t emit(maker *m, vug_node node, uint32_t next);

static uint32_t add(maker *m, vug_nfa_state state)
{
    const size_t n = m->nfa->state.len / sizeof(state);
    if (n >= VUG_AUTOMATON_MAX_STATES)
        m->full = true;
    else
        vug_buf_append(&m->nfa->state, &state, sizeof(state));
    return (uint32_t)n;
}

static bool stuck(const maker *m)
{
    return m->full || m->nfa->state.bad || m->nfa->ascii.bad || m->nfa->rule.bad ||
           m->nfa->body.bad;
}

static uint32_t split(maker *m, uint32_t to, uint32_t other)
{
    return add(m, (vug_nfa_state){ .kind = VUG_NFA_SPLIT, .to = to, .other = other });
}

static uint32_t bytes(maker *m, uint8_t from, uint8_t upto, uint32_t next)
{
    return add(m, (vug_nfa_state){ .kind = VUG_NFA_BYTES, .from = from, .upto = upto, .to = next });
}

/* ---- rules and bodies ----------------------------------------------------- */

static uint32_t body_of(maker *m, vug_node node)
{
    if (m->body_of[node] == VUG_NFA_NONE) {
        m->body_of[node] = (uint32_t)(m->nfa->body.len / sizeof(vug_nfa_body));
        const vug_nfa_body body = { .node = node };
        vug_buf_append(&m->nfa->body, &body, sizeof(body));
    }
    return m->body_of[node];
}

static uint32_t add_rule(maker *m, vug_node node, uint32_t min, uint32_t max)
{
    const uint32_t n = (uint32_t)(m->nfa->rule.len / sizeof(vug_nfa_rule));
    const vug_nfa_rule rule = { body_of(m, node), min, max };
    vug_buf_append(&m->nfa->rule, &rule, sizeof(rule));
    return n;
}

static uint32_t call(maker *m, uint32_t rule, uint32_t next)
{
    return add(m, (vug_nfa_state){ .kind = VUG_NFA_CALL, .to = next, .other = rule });
}

static uint32_t ordinary_rule(maker *m, vug_node node)
{
    if (m->rule_of[node] == VUG_NFA_NONE)
        m->rule_of[node] = add_rule(m, node, 1, 1);
    return m->rule_of[node];
}

/* ---- characters ------------------------------------------------------------ */

typedef struct {
    uint32_t next;
    uint32_t tail[4]; /* any 1, 2 or 3 continuation bytes and then `next`; VUG_NFA_NONE: not yet */
    uint32_t start;   /* of the choice among what was added so far */
} class_maker;

static uint32_t tail(maker *m, class_maker *c, size_t n)
{
    if (n == 0)
        return c->next;
    for (size_t i = 1; i <= n; i++) {
        if (c->tail[i] == VUG_NFA_NONE)
            c->tail[i] = bytes(m, 0x80, 0xbf, i == 1 ? c->next : c->tail[i - 1]);
    }
    return c->tail[n];
}

/* Characters of equal length of which all bytes but a prefix run over all they can. */
static void add_sequence(maker *m, class_maker *c, uint32_t from, uint32_t to)
{
    char low[4], high[4];
    const size_t n = vug_utf8_put(from, low);
    (void)vug_utf8_put(to, high);
    size_t fixed = n;
    while (fixed > 1 && (uint8_t)low[fixed - 1] == 0x80 && (uint8_t)high[fixed - 1] == 0xbf)
        fixed--;
    uint32_t at = tail(m, c, n - fixed);
    for (size_t i = fixed; i-- > 0;)
        at = bytes(m, (uint8_t)low[i], (uint8_t)high[i], at);
    c->start = c->start == VUG_NFA_NONE ? at : split(m, at, c->start);
}

/* The first part of [from, to] in which sequences of bytes are products of ranges. */
static uint32_t product_end(uint32_t from, uint32_t to)
{
    static const uint32_t last_of_length[] = { 0x7f, 0x7ff, 0xffff };
    for (size_t i = 0; i < 3; i++) {
        if (from <= last_of_length[i] && to > last_of_length[i])
            to = last_of_length[i];
    }
    for (unsigned bits = 6; bits <= 18; bits += 6) {
        const uint32_t mask = ((uint32_t)1 << bits) - 1;
        if (from <= 0x7f || (from & ~mask) == (to & ~mask))
            continue;
        if ((from & mask) != 0)
            to = from | mask;
        else if ((to & mask) != mask)
            to = (to & ~mask) - 1;
    }
    return to;
}

/* The set of what a class has of ASCII. */
static uint32_t ascii_of(maker *m, vug_node node, const vug_rule *rule)
{
    if (m->set_of[node] == VUG_NFA_NONE) {
        vug_nfa_ascii set = { 0 };
        for (uint32_t i = 0; i < rule->n; i++) {
            const vug_char_range here = vug_rule_ranges(m->rules, rule)[i];
            for (uint32_t c = here.from; c <= here.to && c < 0x80; c++)
                set.has[c / 64] |= (uint64_t)1 << (c % 64);
        }
        m->set_of[node] = (uint32_t)(m->nfa->ascii.len / sizeof(set));
        vug_buf_append(&m->nfa->ascii, &set, sizeof(set));
    }
    return m->set_of[node];
}

static uint32_t emit_class(maker *m, vug_node node, const vug_rule *rule, uint32_t next)
{
    class_maker c = { next, { 0, VUG_NFA_NONE, VUG_NFA_NONE, VUG_NFA_NONE }, VUG_NFA_NONE };
    const bool set = rule->n > 1 && vug_rule_ranges(m->rules, rule)[1].to < 0x80;
    uint32_t i = 0;
    if (set) {
        c.start = add(m, (vug_nfa_state){ .kind = VUG_NFA_ASCII,
                                          .to = next,
                                          .other = ascii_of(m, node, rule) });
        while (i < rule->n && vug_rule_ranges(m->rules, rule)[i].to < 0x80)
            i++;
    }
    for (; i < rule->n && !stuck(m); i++) {
        vug_char_range left = vug_rule_ranges(m->rules, rule)[i];
        if (set && left.from < 0x80)
            left.from = 0x80;
        while (left.from <= left.to) {
            const uint32_t end = product_end(left.from, left.to);
            add_sequence(m, &c, left.from, end);
            left.from = end + 1;
        }
    }
    return c.start;
}

/* ---- what is put together -------------------------------------------------- */

static uint32_t emit_choice(maker *m, const vug_rule *rule, uint32_t next)
{
    if (rule->n == 0)
        return split(m, VUG_NFA_NONE, VUG_NFA_NONE);
    uint32_t at = VUG_NFA_NONE;
    for (uint32_t i = rule->n; i-- > 0 && !stuck(m);) {
        const uint32_t way = emit(m, vug_rule_parts(m->rules, rule)[i], next);
        at = i + 1 == rule->n ? way : split(m, way, at);
    }
    return at;
}

static uint32_t emit_star(maker *m, vug_node part, uint32_t next)
{
    const uint32_t loop = split(m, VUG_NFA_NONE, next);
    const uint32_t way = emit(m, part, loop);
    if (!stuck(m))
        VUG_NFA_STATE(m->nfa)[loop].to = way;
    return loop;
}

static uint32_t emit_repeat(maker *m, vug_node node, const vug_rule *rule, uint32_t next)
{
    const bool forever = rule->max == VUG_REPEAT_FOREVER;
    if (m->mark[node] & VUG_PLAN_COUNT) {
        const uint32_t min = rule->n ? rule->n : 1;
        const uint32_t at = call(m, add_rule(m, rule->at, min, rule->max), next);
        return rule->n ? at : split(m, at, next);
    }
    uint32_t at = forever ? emit_star(m, rule->at, next) : next;
    for (uint32_t i = forever ? rule->n : rule->max; i-- > 0 && !stuck(m);) {
        const uint32_t way = emit(m, rule->at, at);
        at = i < rule->n ? way : split(m, way, next);
    }
    return at;
}

/* A state of the graph is a chain of the ways that leave it. */
static uint32_t emit_graph(maker *m, const vug_rule *rule, uint32_t next)
{
    const vug_graph_edge *edge = vug_rule_edges(m->rules, rule);
    const uint32_t first = (uint32_t)(m->nfa->state.len / sizeof(vug_nfa_state));
    for (uint32_t i = 0; i < rule->max && !stuck(m); i++)
        (void)split(m, VUG_NFA_NONE, VUG_NFA_NONE);
    for (uint32_t i = 0; i < rule->n && !stuck(m); i++) {
        const uint32_t to = edge[i].to == VUG_GRAPH_END ? next : first + edge[i].to;
        const uint32_t way = emit(m, edge[i].label, to);
        const uint32_t more = split(m, VUG_NFA_NONE, VUG_NFA_NONE);
        if (stuck(m))
            break;
        vug_nfa_state *from = VUG_NFA_STATE(m->nfa) + first + edge[i].from;
        VUG_NFA_STATE(m->nfa)[more] = *from;
        from->to = way;
        from->other = more;
    }
    return first;
}

static uint32_t emit_inside(maker *m, vug_node node, uint32_t next)
{
    const vug_rule *rule = vug_rule_at(m->rules, node);
    uint32_t at = next;
    switch (rule->kind) {
    case VUG_RULE_EMPTY:
        break;
    case VUG_RULE_LITERAL: {
        const vug_str text = vug_rule_text(m->rules, rule);
        for (size_t i = text.len; i-- > 0;)
            at = bytes(m, (uint8_t)text.ptr[i], (uint8_t)text.ptr[i], at);
        break;
    }
    case VUG_RULE_CLASS:
        return emit_class(m, node, rule, next);
    case VUG_RULE_SEQUENCE:
        for (uint32_t i = rule->n; i-- > 0 && !stuck(m);)
            at = emit(m, vug_rule_parts(m->rules, rule)[i], at);
        break;
    case VUG_RULE_CHOICE:
        return emit_choice(m, rule, next);
    case VUG_RULE_REPEAT:
        return emit_repeat(m, node, rule, next);
    case VUG_RULE_GRAPH:
        return emit_graph(m, rule, next);
    case VUG_RULE_DECLARED:
        return emit(m, rule->at, next);
    case VUG_RULE_AHEAD:
        VUG_ASSERT(false); /* vug_rules_regular has made graphs of them */
    }
    return at;
}

/* Recursion is as deep as the trees of the plan. */
static uint32_t emit(maker *m, vug_node node, uint32_t next)
{
    if (m->mark[node] & VUG_PLAN_RULE)
        return call(m, ordinary_rule(m, node), next);
    return emit_inside(m, node, next);
}

static vug_status make_bodies(maker *m, vug_node root, vug_err *err)
{
    (void)ordinary_rule(m, root);
    for (size_t i = 0; !stuck(m) && i < m->nfa->body.len / sizeof(vug_nfa_body); i++) {
        const vug_node node = VUG_NFA_BODY(m->nfa)[i].node;
        const uint32_t final = add(m, (vug_nfa_state){ .kind = VUG_NFA_FINAL });
        /* What is counted may be a rule, too; then its body is the inside of that one. */
        const uint32_t start = emit_inside(m, node, final);
        if (!m->nfa->body.bad)
            VUG_NFA_BODY(m->nfa)[i].start = start;
    }
    if (m->full)
        return VUG_FAIL(err, VUG_LIMIT, "a grammar of more than %u states",
                        VUG_AUTOMATON_MAX_STATES);
    if (stuck(m))
        return VUG_FAIL_NOMEM(err, "the states of a grammar", m->nfa->state.len);
    return VUG_OK;
}

vug_status vug_nfa_make(const vug_rules *rules, vug_node root, const vug_rule_plan *plan,
                        vug_nfa *nfa, vug_err *err)
{
    const size_t n = vug_rules_count(rules);
    maker m = { .rules = rules, .mark = plan->mark, .nfa = nfa };
    m.rule_of = vug_alloc(n, sizeof(*m.rule_of));
    m.body_of = vug_alloc(n, sizeof(*m.body_of));
    m.set_of = vug_alloc(n, sizeof(*m.set_of));
    vug_status st;
    if (m.rule_of && m.body_of && m.set_of) {
        memset(m.rule_of, 0xff, n * sizeof(*m.rule_of));
        memset(m.body_of, 0xff, n * sizeof(*m.body_of));
        memset(m.set_of, 0xff, n * sizeof(*m.set_of));
        st = make_bodies(&m, root, err);
    } else {
        st = VUG_FAIL_NOMEM(err, "the states of a grammar", n * sizeof(*m.rule_of));
    }
    vug_free(m.rule_of);
    vug_free(m.body_of);
    vug_free(m.set_of);
    return st;
}

void vug_nfa_release(vug_nfa *nfa)
{
    vug_buf_release(&nfa->state);
    vug_buf_release(&nfa->ascii);
    vug_buf_release(&nfa->body);
    vug_buf_release(&nfa->rule);
}
