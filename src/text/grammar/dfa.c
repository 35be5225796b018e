#include "text/grammar/dfa.h"
#include "text/grammar/intern.h"

/*
 * The subset construction (Rabin and Scott 1959) over all bodies, in one table: a state of the
 * DFA is a set of NFA states. Calls of rules are symbols, like bytes. After following all
 * splits, a set keeps only the states that read a byte, call a rule or are final.
 */

typedef struct {
    const vug_nfa *nfa;
    vug_automaton *a;
    vug_intern_table sets; /* sets of NFA states; the ids are DFA states */
    uint32_t *seen;        /* [NFA states]: the last closure that reached the state */
    uint32_t *alone;       /* [NFA states]: the DFA state of its closure, + 1; 0: unknown */
    uint32_t *pending;     /* [NFA states] */
    uint32_t *list;        /* [NFA states]: the set under construction */
    uint32_t *target;      /* [NFA states]: where one call leads from the states of a set */
    uint32_t *rule;        /* [NFA states]: the rules that a set calls */
    uint32_t *copy;        /* [NFA states]: the set whose edges are made */
    uint32_t *called;      /* [rules + 1]: at the number of a rule that the set calls, + 1, the
                              first of its list in `targets`, + 1; else 0 */
    uint32_t n_closures;
    uint64_t work;
    vug_buf targets; /* target_link: where the bytes or the calls lead from the states of a set */
    vug_buf state, edge, call;
    size_t first_edge; /* of the state whose edges are made: bytes of `edge` before it */
} dfa_builder;

static bool has_failed(const dfa_builder *b)
{
    return b->work > VUG_AUTOMATON_MAX_WORK || b->sets.n > VUG_AUTOMATON_MAX_STATES ||
           b->targets.bad || b->state.bad || b->edge.bad || b->call.bad;
}

/* ---- sets of states --------------------------------------------------------- */

static void visit_state(dfa_builder *b, uint32_t state, size_t *n_pending)
{
    if (state == VUG_NFA_NONE || b->seen[state] == b->n_closures)
        return;
    b->seen[state] = b->n_closures;
    b->pending[(*n_pending)++] = state;
}

/* Adds the closure of a state over splits to the list. Returns the new length. */
static size_t add_closure(dfa_builder *b, uint32_t state, size_t n)
{
    const vug_nfa_state *nfa = VUG_NFA_STATE(b->nfa);
    size_t n_pending = 0;
    visit_state(b, state, &n_pending);
    while (n_pending > 0) {
        const uint32_t at = b->pending[--n_pending];
        const vug_nfa_state *s = &nfa[at];
        b->work++;
        if (s->kind == VUG_NFA_SPLIT) {
            visit_state(b, s->other, &n_pending);
            visit_state(b, s->to, &n_pending);
            continue;
        }
        b->list[n++] = at;
    }
    return n;
}

enum { STEPS_PER_LOOKUP = 128 }; /* of work, to find a set in a large table */

/* The DFA state of the list, whose entry in `alone` is kept if there is one. Most sets are the
 * closure of a single state, and these need no hash table. Should different states have equal
 * closures, the DFA has a state for each. */
static uint32_t intern_list(dfa_builder *b, size_t n, uint32_t *alone)
{
    b->work += n;
    if (n == 0)
        return VUG_INTERN_NONE;
    n = vug_sort_unique(b->list, n);
    uint32_t *known = n == 1 ? &b->alone[b->list[0]] : alone;
    if (known && *known)
        return *known - 1;
    b->work += known ? 0 : STEPS_PER_LOOKUP;
    const uint32_t id =
            known ? vug_intern_append(&b->sets, b->list, n) : vug_intern_add(&b->sets, b->list, n);
    if (id == VUG_INTERN_NONE)
        b->state.bad = true;
    else if (known)
        *known = id + 1;
    return id;
}

/* The DFA state of all targets together, VUG_INTERN_NONE if they are dead. Most symbols have a
 * single target, often the same one (such as the beginning of a large choice): it is cached. */
static uint32_t state_of_targets(dfa_builder *b, const uint32_t *target, size_t n_targets)
{
    size_t n = 0;
    while (n_targets > 1 && target[n_targets - 1] == target[0])
        n_targets--;
    uint32_t *alone = n_targets == 1 ? &b->alone[target[0]] : NULL;
    if (alone && *alone)
        return *alone - 1;
    b->n_closures++;
    for (size_t i = 0; i < n_targets; i++)
        n = add_closure(b, target[i], n);
    const uint32_t id = intern_list(b, n, alone);
    if (alone && id != VUG_INTERN_NONE)
        *alone = id + 1;
    return id;
}

/* ---- edges and calls of a state ------------------------------------------------------ */

/* A list of targets for each range of bytes or each rule. */
typedef struct {
    uint32_t state;
    uint32_t next; /* in the same list, + 1; 0: the last */
} target_link;

/* `first`: of the list, + 1; 0 if it is empty. */
static void add_link(dfa_builder *b, uint32_t *first, uint32_t state)
{
    const target_link link = { state, *first };
    vug_buf_push(&b->targets, &link, sizeof(link));
    *first = (uint32_t)(b->targets.len / sizeof(link));
}

/* The DFA state of all targets of a list together, VUG_INTERN_NONE if it is empty. */
static uint32_t state_of_links(dfa_builder *b, uint32_t first)
{
    const target_link *link = (const target_link *)(const void *)b->targets.ptr;
    size_t n = 0;
    for (uint32_t at = first; at; at = link[at - 1].next)
        b->target[n++] = link[at - 1].state;
    return n > 0 ? state_of_targets(b, b->target, n) : VUG_INTERN_NONE;
}

static void add_edge(dfa_builder *b, unsigned from, unsigned to, uint32_t state)
{
    vug_byte_edge *last = (vug_byte_edge *)(void *)(b->edge.ptr + b->edge.len) - 1;
    if (b->edge.len > b->first_edge && last->state == state && last->to + 1u == from) {
        last->to = (uint8_t)to;
        return;
    }
    const vug_byte_edge edge = { (uint8_t)from, (uint8_t)to, state };
    vug_buf_push(&b->edge, &edge, sizeof(edge));
}

/* The bytes at which the transitions of a set may change, one bit each; the last is 256. */
enum { CUT_WORDS = 5 };

static void add_cut(uint64_t cut[CUT_WORDS], unsigned at)
{
    cut[at / 64] |= (uint64_t)1 << (at % 64);
}

static void collect_cuts(const dfa_builder *b, const uint32_t *member, size_t n,
                         uint64_t cut[CUT_WORDS])
{
    const vug_nfa_state *nfa = VUG_NFA_STATE(b->nfa);
    for (size_t i = 0; i < n; i++) {
        const vug_nfa_state *s = &nfa[member[i]];
        if (s->kind == VUG_NFA_BYTES) {
            add_cut(cut, s->from);
            add_cut(cut, s->upto + 1U);
        } else if (s->kind == VUG_NFA_TABLE) {
            for (uint32_t e = s->other; e < s->to; e++) {
                const vug_nfa_entry *entry = &VUG_NFA_ENTRY(b->nfa)[e];
                add_cut(cut, entry->from);
                add_cut(cut, entry->upto + 1U);
            }
        } else if (s->kind == VUG_NFA_ASCII) {
            const uint64_t *has = VUG_NFA_ASCII_SET(b->nfa)[s->other].has;
            cut[0] |= has[0] ^ has[0] << 1;
            cut[1] |= has[1] ^ (has[1] << 1 | has[0] >> 63);
            cut[2] |= has[1] >> 63;
        }
    }
}

/* Ranges of bytes that no member of a set distinguishes, and where each leads. */
typedef struct {
    unsigned n;
    unsigned start[257];  /* of each range; it ends where the next one begins */
    uint16_t range[257];  /* the range that begins at a byte; valid for those in `start` */
    uint32_t target[256]; /* of each range: the first of its list in `targets` of the builder, + 1;
                             0 if it has none */
} byte_ranges;

static void list_ranges(byte_ranges *r, const uint64_t cut[CUT_WORDS])
{
    r->n = 0;
    for (unsigned word = 0; word < CUT_WORDS; word++) {
        for (uint64_t left = cut[word]; left; left &= left - 1) {
            const unsigned at = 64 * word + (unsigned)__builtin_ctzll(left);
            r->start[r->n] = at;
            r->range[at] = (uint16_t)r->n;
            r->n += at < 256;
        }
    }
    r->start[r->n] = 256;
    r->range[256] = (uint16_t)r->n;
    memset(r->target, 0, r->n * sizeof(*r->target));
}

/* Adds the target of the bytes `from` to `upto`, where ranges begin and end. */
static void add_target(dfa_builder *b, byte_ranges *r, unsigned from, unsigned upto, uint32_t state)
{
    for (unsigned k = r->range[from]; k < r->range[upto + 1]; k++)
        add_link(b, &r->target[k], state);
}

static void collect_targets(dfa_builder *b, const uint32_t *member, size_t n, byte_ranges *r)
{
    b->targets.len = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_nfa_state *s = &VUG_NFA_STATE(b->nfa)[member[i]];
        if (s->kind == VUG_NFA_BYTES) {
            add_target(b, r, s->from, s->upto, s->to);
        } else if (s->kind == VUG_NFA_TABLE) {
            for (uint32_t e = s->other; e < s->to; e++) {
                const vug_nfa_entry *entry = &VUG_NFA_ENTRY(b->nfa)[e];
                add_target(b, r, entry->from, entry->upto, entry->to);
            }
        } else if (s->kind == VUG_NFA_ASCII) {
            const uint64_t *has = VUG_NFA_ASCII_SET(b->nfa)[s->other].has;
            for (unsigned k = 0; r->start[k] < 0x80; k++)
                if (has[r->start[k] / 64] >> (r->start[k] % 64) & 1)
                    add_link(b, &r->target[k], s->to);
        }
    }
    b->work += n + b->targets.len / sizeof(target_link);
}

/* `member` are the NFA states of the set. */
static void add_byte_edges(dfa_builder *b, const uint32_t *member, size_t n)
{
    uint64_t cut[CUT_WORDS] = { 0 };
    byte_ranges r;
    collect_cuts(b, member, n, cut);
    list_ranges(&r, cut);
    collect_targets(b, member, n, &r);
    for (unsigned i = 0; i < r.n && !has_failed(b); i++) {
        const uint32_t to = state_of_links(b, r.target[i]);
        if (to != VUG_INTERN_NONE)
            add_edge(b, r.start[i], r.start[i + 1] - 1, to);
    }
}

/* The beginning of the list of a rule. VUG_RULE_COUNT has the first place. */
static uint32_t *targets_of_rule(dfa_builder *b, uint32_t rule)
{
    return &b->called[rule == VUG_RULE_COUNT ? 0 : rule + 1];
}

/* All calls of one rule return to one state. */
static void add_calls(dfa_builder *b, const uint32_t *member, size_t n)
{
    const vug_nfa_state *nfa = VUG_NFA_STATE(b->nfa);
    size_t n_rules = 0;
    b->targets.len = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_nfa_state *s = &nfa[member[i]];
        if (s->kind != VUG_NFA_CALL)
            continue;
        b->rule[n_rules++] = s->other;
        add_link(b, targets_of_rule(b, s->other), s->to);
    }
    b->work += n + n_rules;
    n_rules = vug_sort_unique(b->rule, n_rules);
    for (size_t r = 0; r < n_rules; r++) {
        uint32_t *called = targets_of_rule(b, b->rule[r]);
        const vug_call_edge call = { b->rule[r],
                                     has_failed(b) ? VUG_INTERN_NONE : state_of_links(b, *called) };
        if (call.return_state != VUG_INTERN_NONE)
            vug_buf_append(&b->call, &call, sizeof(call));
        *called = 0;
    }
}

static void copy_edge(dfa_builder *b, vug_nfa_entry entry)
{
    const uint32_t to = state_of_targets(b, &entry.to, 1);
    if (to != VUG_INTERN_NONE)
        add_edge(b, entry.from, entry.upto, to);
}

/* `reader` is the only member of the set that reads bytes. Returns false if its edges must be
 * computed. */
static bool copy_edges(dfa_builder *b, const vug_nfa_state *reader)
{
    if (reader->kind == VUG_NFA_BYTES)
        copy_edge(b, (vug_nfa_entry){ reader->from, reader->upto, reader->to });
    if (reader->kind != VUG_NFA_TABLE)
        return reader->kind == VUG_NFA_BYTES;
    for (uint32_t e = reader->other; e < reader->to && !has_failed(b); e++)
        copy_edge(b, VUG_NFA_ENTRY(b->nfa)[e]);
    return true;
}

/* Sets move in memory when new ones are interned, hence the copy. */
static void add_state(dfa_builder *b, uint32_t id, uint32_t start)
{
    const vug_nfa_state *nfa = VUG_NFA_STATE(b->nfa);
    uint32_t *copy = b->copy;
    size_t n, n_readers = 0, n_calls = 0;
    const uint32_t *member = vug_intern_get(&b->sets, id, &n);
    memcpy(copy, member, n * sizeof(*copy));
    b->first_edge = b->edge.len;
    vug_automaton_state state = { .edge = (uint32_t)(b->edge.len / sizeof(vug_byte_edge)),
                                  .call = (uint32_t)(b->call.len / sizeof(vug_call_edge)),
                                  .start = start };
    uint32_t reader = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t kind = nfa[copy[i]].kind;
        state.final = state.final || kind == VUG_NFA_FINAL;
        n_calls += kind == VUG_NFA_CALL;
        if (kind == VUG_NFA_FINAL || kind == VUG_NFA_CALL)
            continue;
        n_readers++;
        reader = copy[i];
    }
    vug_buf_push(&b->state, &state, sizeof(state));
    if (b->state.bad)
        return;
    if (n_readers > 1 || (n_readers == 1 && !copy_edges(b, &nfa[reader])))
        add_byte_edges(b, copy, n);
    if (n_calls > 0)
        add_calls(b, copy, n);
}

/* ---- all bodies -------------------------------------------------------------- */

static vug_status build_bodies(dfa_builder *b, uint32_t *start_of, vug_err *err)
{
    const size_t n_bodies = b->nfa->body.len / sizeof(vug_nfa_body);
    size_t made = 0;
    for (size_t i = 0; i < n_bodies && !has_failed(b); i++) {
        const vug_nfa_body *body = &VUG_NFA_BODY(b->nfa)[i];
        start_of[i] = state_of_targets(b, &body->start, 1);
        if (start_of[i] == VUG_INTERN_NONE) { /* the body matches nothing: a state without edges */
            b->list[0] = body->start;
            start_of[i] = intern_list(b, 1, NULL);
        }
        for (; made < b->sets.n && !has_failed(b); made++)
            add_state(b, (uint32_t)made, start_of[i]);
    }
    if (b->work > VUG_AUTOMATON_MAX_WORK)
        return VUG_FAIL(err, VUG_LIMIT, "the automaton of the grammar takes more than %u steps",
                        (unsigned)VUG_AUTOMATON_MAX_WORK);
    if (b->sets.n > VUG_AUTOMATON_MAX_STATES)
        return VUG_FAIL(err, VUG_LIMIT, "the automaton of the grammar has more than %u states",
                        VUG_AUTOMATON_MAX_STATES);
    if (has_failed(b))
        return VUG_FAIL_NOMEM(err, "the automaton of a grammar", b->edge.len);
    return VUG_OK;
}

static vug_status move_to_automaton(dfa_builder *b, const uint32_t *start_of, vug_err *err)
{
    vug_automaton *a = b->a;
    const size_t n_rules = b->nfa->rule.len / sizeof(vug_nfa_rule);
    a->n_states = (uint32_t)(b->state.len / sizeof(*a->state));
    a->n_edges = (uint32_t)(b->edge.len / sizeof(*a->edge));
    a->n_calls = (uint32_t)(b->call.len / sizeof(*a->call));
    a->n_rules = (uint32_t)n_rules;
    const vug_automaton_state end = { .edge = a->n_edges, .call = a->n_calls };
    vug_buf_append(&b->state, &end, sizeof(end));
    vug_buf_append(&b->edge, NULL, 0); /* allocates, so that the pointer is not NULL */
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

/* Sizes that most automata of `n` NFA states do not exceed. */
static void reserve(dfa_builder *b, size_t n)
{
    vug_intern_reserve(&b->sets, n / 4, n);
    vug_buf_reserve(&b->state, n / 3 * sizeof(vug_automaton_state));
    vug_buf_reserve(&b->edge, n * sizeof(vug_byte_edge));
}

vug_status vug_dfa_build(const vug_nfa *nfa, vug_automaton *automaton, vug_err *err)
{
    const size_t n = nfa->state.len / sizeof(vug_nfa_state);
    const size_t n_bodies = nfa->body.len / sizeof(vug_nfa_body);
    const size_t n_rules = nfa->rule.len / sizeof(vug_nfa_rule);
    dfa_builder b = { .nfa = nfa, .a = automaton };
    uint32_t *zeroed = vug_alloc_zero(2 * n + n_rules + 1, sizeof(*zeroed));
    uint32_t *scratch = vug_alloc(5 * n + n_bodies, sizeof(*scratch)); /* most of it is not used */
    vug_status st = VUG_OK;
    if (zeroed && scratch) {
        b.seen = zeroed;
        b.alone = zeroed + n;
        b.called = zeroed + 2 * n;
        b.pending = scratch;
        b.list = scratch + n;
        b.target = scratch + 2 * n;
        b.rule = scratch + 3 * n;
        b.copy = scratch + 4 * n;
        reserve(&b, n);
        st = build_bodies(&b, scratch + 5 * n, err);
        if (st == VUG_OK)
            st = move_to_automaton(&b, scratch + 5 * n, err);
    } else {
        st = VUG_FAIL_NOMEM(err, "the automaton of a grammar", 7 * n * sizeof(*scratch));
    }
    vug_free(zeroed);
    vug_free(scratch);
    vug_intern_release(&b.sets);
    vug_buf_release(&b.targets);
    vug_buf_release(&b.state);
    vug_buf_release(&b.edge);
    vug_buf_release(&b.call);
    return st;
}
