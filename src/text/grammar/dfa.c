#include "text/grammar/nfa.h"
#include "text/grammar/sets.h"

/*
 * Bodies made deterministic, all in one table (Rabin and Scott 1959: a state is a set of
 * states). Calls of rules are symbols like bytes. A set holds only states that something
 * leaves or that are final, after everything that goes on without a byte was followed.
 */

typedef struct {
    const vug_nfa *nfa;
    vug_automaton *a;
    vug_sets sets;     /* the ids are those of states */
    uint32_t *seen;    /* [NFA states]: the number of the closure that met it last */
    uint32_t *pending; /* [NFA states] */
    uint32_t *list;    /* [NFA states]: the set that is put together */
    uint32_t *target;  /* [NFA states]: where something leads from the states of a set */
    uint32_t *rule;    /* [NFA states]: what is called in a set */
    uint32_t *alone;   /* [NFA states]: the state of what one leads to, + 1; 0: not yet known */
    uint32_t n_closures;
    uint64_t work;
    vug_buf state, edge, call;
} builder;

static bool stuck(const builder *b)
{
    return b->work > VUG_AUTOMATON_MAX_WORK || b->sets.n > VUG_AUTOMATON_MAX_STATES ||
           b->state.bad || b->edge.bad || b->call.bad;
}

/* ---- sets of states --------------------------------------------------------- */

static void visit(builder *b, uint32_t state, size_t *n_pending)
{
    if (state == VUG_NFA_NONE || b->seen[state] == b->n_closures)
        return;
    b->seen[state] = b->n_closures;
    b->pending[(*n_pending)++] = state;
}

/* Adds a state and what is reached from it without a byte to the list of `n`. */
static size_t add_closure(builder *b, uint32_t state, size_t n)
{
    const vug_nfa_state *nfa = VUG_NFA_STATE(b->nfa);
    size_t n_pending = 0;
    visit(b, state, &n_pending);
    while (n_pending > 0) {
        const uint32_t at = b->pending[--n_pending];
        const vug_nfa_state *s = &nfa[at];
        b->work++;
        if (s->kind == VUG_NFA_SPLIT) {
            visit(b, s->other, &n_pending);
            visit(b, s->to, &n_pending);
            continue;
        }
        b->list[n++] = at;
    }
    return n;
}

/* The state of the set that was put together. */
static uint32_t intern(builder *b, size_t n)
{
    b->work += n;
    n = vug_sort_unique(b->list, n);
    const uint32_t id = n ? vug_sets_intern(&b->sets, b->list, n) : VUG_SETS_NONE;
    if (n && id == VUG_SETS_NONE)
        b->state.bad = true;
    return id;
}

/* The state in which all the targets are, VUG_SETS_NONE for none. One alone is what most
 * are, and many sets lead to the same one, as to the beginning of a large choice. */
static uint32_t join(builder *b, size_t n_targets)
{
    size_t n = 0;
    if (n_targets == 1 && b->alone[b->target[0]] != 0)
        return b->alone[b->target[0]] - 1;
    b->n_closures++;
    for (size_t i = 0; i < n_targets; i++)
        n = add_closure(b, b->target[i], n);
    const uint32_t id = intern(b, n);
    if (n_targets == 1 && id != VUG_SETS_NONE)
        b->alone[b->target[0]] = id + 1;
    return id;
}

/* ---- what leaves a state ------------------------------------------------------ */

static void add_edge(builder *b, unsigned from, unsigned to, uint32_t state)
{
    const size_t n = b->edge.len / sizeof(vug_byte_edge);
    vug_byte_edge *last = n ? (vug_byte_edge *)(void *)b->edge.ptr + n - 1 : NULL;
    const vug_automaton_state *here =
            (vug_automaton_state *)(void *)b->state.ptr + b->state.len / sizeof(*here) - 1;
    if (n > here->edge && last->state == state && last->to + 1u == from) {
        last->to = (uint8_t)to;
        return;
    }
    const vug_byte_edge edge = { (uint8_t)from, (uint8_t)to, state };
    vug_buf_append(&b->edge, &edge, sizeof(edge));
}

/* Whether a state goes on with the byte. */
static bool takes(const vug_nfa *nfa, const vug_nfa_state *s, unsigned byte)
{
    if (s->kind == VUG_NFA_ASCII)
        return byte < 0x80 && (VUG_NFA_SET(nfa)[s->other].has[byte / 64] >> (byte % 64) & 1);
    return s->kind == VUG_NFA_BYTES && s->from <= byte && byte <= s->upto;
}

/* `member` are the states of a set. */
static void add_edges(builder *b, const uint32_t *member, size_t n)
{
    const vug_nfa_state *nfa = VUG_NFA_STATE(b->nfa);
    bool cut[257] = { false };
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const vug_nfa_state *s = &nfa[member[i]];
        if (s->kind == VUG_NFA_BYTES) {
            cut[s->from] = cut[s->upto + 1] = true;
            any = true;
        } else if (s->kind == VUG_NFA_ASCII) {
            for (unsigned c = 0; c < 0x80; c++)
                cut[c + 1] = cut[c + 1] || takes(b->nfa, s, c) != takes(b->nfa, s, c + 1);
            any = true;
        }
    }
    for (unsigned from = 0; any && from < 256 && !stuck(b);) {
        unsigned end = from + 1;
        while (end < 256 && !cut[end])
            end++;
        size_t n_targets = 0;
        for (size_t i = 0; i < n; i++) {
            const vug_nfa_state *s = &nfa[member[i]];
            if (takes(b->nfa, s, from))
                b->target[n_targets++] = s->to;
        }
        b->work += n;
        const uint32_t to = join(b, n_targets);
        if (to != VUG_SETS_NONE)
            add_edge(b, from, end - 1, to);
        from = end;
    }
}

/* Calls of one rule lead back to one state. */
static void add_calls(builder *b, const uint32_t *member, size_t n)
{
    const vug_nfa_state *nfa = VUG_NFA_STATE(b->nfa);
    size_t n_rules = 0;
    for (size_t i = 0; i < n; i++) {
        if (nfa[member[i]].kind == VUG_NFA_CALL)
            b->rule[n_rules++] = nfa[member[i]].other;
    }
    n_rules = vug_sort_unique(b->rule, n_rules);
    for (size_t r = 0; r < n_rules && !stuck(b); r++) {
        size_t n_targets = 0;
        for (size_t i = 0; i < n; i++) {
            const vug_nfa_state *s = &nfa[member[i]];
            if (s->kind == VUG_NFA_CALL && s->other == b->rule[r])
                b->target[n_targets++] = s->to;
        }
        b->work += n;
        const vug_call_edge call = { b->rule[r], join(b, n_targets) };
        if (call.back != VUG_SETS_NONE)
            vug_buf_append(&b->call, &call, sizeof(call));
    }
}

/* Sets move when new ones come: `copy` has room for the largest. */
static void add_state(builder *b, uint32_t id, uint32_t start, uint32_t *copy)
{
    const vug_nfa_state *nfa = VUG_NFA_STATE(b->nfa);
    size_t n;
    const uint32_t *member = vug_sets_get(&b->sets, id, &n);
    memcpy(copy, member, n * sizeof(*copy));
    vug_automaton_state state = { .edge = (uint32_t)(b->edge.len / sizeof(vug_byte_edge)),
                                  .call = (uint32_t)(b->call.len / sizeof(vug_call_edge)),
                                  .start = start };
    for (size_t i = 0; i < n; i++)
        state.final = state.final || nfa[copy[i]].kind == VUG_NFA_FINAL;
    vug_buf_append(&b->state, &state, sizeof(state));
    add_edges(b, copy, n);
    add_calls(b, copy, n);
}

/* ---- all bodies -------------------------------------------------------------- */

static vug_status build(builder *b, uint32_t *start_of, uint32_t *copy, vug_err *err)
{
    const size_t n_bodies = b->nfa->body.len / sizeof(vug_nfa_body);
    size_t made = 0;
    for (size_t i = 0; i < n_bodies && !stuck(b); i++) {
        const vug_nfa_body *body = &VUG_NFA_BODY(b->nfa)[i];
        b->n_closures++;
        size_t n = add_closure(b, body->start, 0);
        if (n == 0) /* nothing matches: a state that nothing leaves */
            b->list[n++] = body->start;
        start_of[i] = intern(b, n);
        for (; made < b->sets.n && !stuck(b); made++)
            add_state(b, (uint32_t)made, start_of[i], copy);
    }
    if (b->work > VUG_AUTOMATON_MAX_WORK || b->sets.n > VUG_AUTOMATON_MAX_STATES)
        return VUG_FAIL(err, VUG_LIMIT, "a grammar whose automaton has more than %u states",
                        VUG_AUTOMATON_MAX_STATES);
    if (stuck(b))
        return VUG_FAIL_NOMEM(err, "the automaton of a grammar", b->edge.len);
    return VUG_OK;
}

static vug_status hand_over(builder *b, const uint32_t *start_of, vug_err *err)
{
    vug_automaton *a = b->a;
    const size_t n_rules = b->nfa->rule.len / sizeof(vug_nfa_rule);
    a->n_states = (uint32_t)(b->state.len / sizeof(*a->state));
    a->n_edges = (uint32_t)(b->edge.len / sizeof(*a->edge));
    a->n_calls = (uint32_t)(b->call.len / sizeof(*a->call));
    a->n_rules = (uint32_t)n_rules;
    const vug_automaton_state end = { .edge = a->n_edges, .call = a->n_calls };
    vug_buf_append(&b->state, &end, sizeof(end));
    vug_buf_append(&b->edge, NULL, 0); /* so that there is something to point at */
    vug_buf_append(&b->call, NULL, 0);
    a->rule = vug_alloc(n_rules, sizeof(*a->rule));
    if (!a->rule || b->state.bad || b->edge.bad || b->call.bad)
        return VUG_FAIL_NOMEM(err, "the automaton of a grammar", b->edge.len);
    for (size_t i = 0; i < n_rules; i++) {
        const vug_nfa_rule *rule = &VUG_NFA_RULE(b->nfa)[i];
        a->rule[i] = (vug_automaton_rule){ start_of[rule->body], rule->min, rule->max };
    }
    a->state = (void *)b->state.ptr;
    a->edge = (void *)b->edge.ptr;
    a->call = (void *)b->call.ptr;
    b->state = b->edge = b->call = (vug_buf){ 0 };
    return VUG_OK;
}

vug_status vug_dfa_make(const vug_nfa *nfa, vug_automaton *automaton, vug_err *err)
{
    const size_t n = nfa->state.len / sizeof(vug_nfa_state);
    const size_t n_bodies = nfa->body.len / sizeof(vug_nfa_body);
    builder b = { .nfa = nfa, .a = automaton };
    uint32_t *room = vug_alloc_zero(7 * n + n_bodies, sizeof(*room));
    vug_status st = VUG_OK;
    if (room) {
        b.seen = room;
        b.pending = room + n;
        b.list = room + 2 * n;
        b.target = room + 3 * n;
        b.rule = room + 4 * n;
        b.alone = room + 5 * n;
        st = build(&b, room + 7 * n, room + 6 * n, err);
        if (st == VUG_OK)
            st = hand_over(&b, room + 7 * n, err);
    } else {
        st = VUG_FAIL_NOMEM(err, "the automaton of a grammar", 7 * n * sizeof(*room));
    }
    vug_free(room);
    vug_sets_release(&b.sets);
    vug_buf_release(&b.state);
    vug_buf_release(&b.edge);
    vug_buf_release(&b.call);
    return st;
}
