#include "text/grammar/automaton.h"

#include "text/grammar/nfa.h"

/*
 * From rules to an automaton that can be walked without further care: what cannot come
 * to an end is taken away, so that whatever is alive is right so far, and grammars whose
 * stacks would grow without a byte are refused.
 */

void vug_automaton_destroy(vug_automaton *a)
{
    if (!a)
        return;
    vug_free(a->state);
    vug_free(a->edge);
    vug_free(a->call);
    vug_free(a->rule);
    vug_free(a);
}

/* ---- states from which the end of their body can be reached ------------------ */

/* Backwards: `source` reaches the end if the state in whose list this is does, and
 * `other` as well: for a call the one of where it leads to and where it comes back. */
typedef struct {
    uint32_t source, other;
} support;

typedef struct {
    const vug_automaton *a;
    bool bytes;      /* edges count; else only what needs no byte */
    uint32_t *first; /* [n_states + 1] of the lists in `list` */
    support *list;
    uint32_t *pending; /* [n_states] */
    bool *reaches;     /* [n_states]: the result */
} search;

typedef void support_fn(search *s, uint32_t state, support by);

static void count_support(search *s, uint32_t state, support by)
{
    (void)by;
    s->first[state + 1]++;
}

static void keep_support(search *s, uint32_t state, support by)
{
    s->list[s->first[state]++] = by;
}

static void each_support(search *s, support_fn *use)
{
    const vug_automaton *a = s->a;
    for (uint32_t i = 0; i < a->n_states; i++) {
        for (uint32_t e = a->state[i].edge; s->bytes && e < a->state[i + 1].edge; e++)
            use(s, a->edge[e].state, (support){ i, VUG_NFA_NONE });
        for (uint32_t c = a->state[i].call; c < a->state[i + 1].call; c++) {
            const uint32_t start = a->rule[a->call[c].rule].start;
            use(s, start, (support){ i, a->call[c].back });
            use(s, a->call[c].back, (support){ i, start });
        }
    }
}

static void spread(search *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->a->n_states; i++) {
        s->reaches[i] = s->a->state[i].final;
        if (s->reaches[i])
            s->pending[n++] = i;
    }
    while (n > 0) {
        const uint32_t state = s->pending[--n];
        for (uint32_t i = s->first[state]; i < s->first[state + 1]; i++) {
            const support by = s->list[i];
            if (s->reaches[by.source] || (by.other != VUG_NFA_NONE && !s->reaches[by.other]))
                continue;
            s->reaches[by.source] = true;
            s->pending[n++] = by.source;
        }
    }
}

static vug_status find_ends(const vug_automaton *a, bool bytes, bool *reaches, vug_err *err)
{
    const size_t n = a->n_states, n_list = (size_t)a->n_edges + 2 * (size_t)a->n_calls;
    search s = { .a = a, .bytes = bytes };
    s.reaches = reaches;
    s.first = vug_alloc_zero(n + 2, sizeof(*s.first));
    s.list = vug_alloc(n_list + 1, sizeof(*s.list));
    s.pending = vug_alloc(n, sizeof(*s.pending));
    const bool fits = s.first && s.list && s.pending;
    if (fits) {
        each_support(&s, count_support);
        for (size_t i = 0; i < n; i++)
            s.first[i + 1] += s.first[i];
        each_support(&s, keep_support);
        /* Each list now begins where the one before it began. */
        memmove(s.first + 1, s.first, n * sizeof(*s.first));
        s.first[0] = 0;
        spread(&s);
    }
    vug_free(s.first);
    vug_free(s.list);
    vug_free(s.pending);
    return fits ? VUG_OK
                : VUG_FAIL_NOMEM(err, "the automaton of a grammar", n_list * sizeof(support));
}

/* Takes away what leads nowhere. */
static void trim(vug_automaton *a, const bool *reaches)
{
    uint32_t n_edges = 0, n_calls = 0;
    uint32_t edge = 0, call = 0;
    for (uint32_t i = 0; i < a->n_states; i++) {
        vug_automaton_state *s = &a->state[i];
        s->edge = n_edges;
        s->call = n_calls;
        for (; edge < a->state[i + 1].edge; edge++) {
            if (reaches[a->edge[edge].state])
                a->edge[n_edges++] = a->edge[edge];
        }
        for (; call < a->state[i + 1].call; call++) {
            const vug_call_edge c = a->call[call];
            if (reaches[c.back] && reaches[a->rule[c.rule].start])
                a->call[n_calls++] = c;
        }
        s->last = s->final && s->edge == n_edges && s->call == n_calls;
    }
    a->n_edges = a->state[a->n_states].edge = n_edges;
    a->n_calls = a->state[a->n_states].call = n_calls;
}

/* ---- left recursion ----------------------------------------------------------- */

/*
 * A body that is entered again before a byte was read would put frames on the stack
 * forever. Bodies are known by their start states; what a body enters at once are the
 * rules called in its start state, or behind calls there that need no byte.
 */
typedef struct {
    const vug_automaton *a;
    const bool *empty; /* [n_states]: the end of the body is reached without a byte */
    uint32_t *first;   /* [n_states + 1]: where the list of a start begins, in ... */
    uint32_t *enters;  /* ... these starts; [n_calls] */
    uint32_t *reached; /* [n_states] those that one start reaches without a byte */
    uint32_t *seen;    /* [n_states]: the start that reached it last, + 1 */
    uint8_t *color;    /* [n_states] of starts in a depth-first search */
    uint32_t n_enters;
} recursion;

enum { NEW, ON_THE_WAY, DONE };

static void reach(recursion *r, uint32_t state, uint32_t start, size_t *n)
{
    if (r->seen[state] == start + 1)
        return;
    r->seen[state] = start + 1;
    r->reached[(*n)++] = state;
}

static void list_entered(recursion *r, uint32_t start)
{
    const vug_automaton *a = r->a;
    size_t n = 0;
    reach(r, start, start, &n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t state = r->reached[i];
        for (uint32_t c = a->state[state].call; c < a->state[state + 1].call; c++) {
            const uint32_t entered = a->rule[a->call[c].rule].start;
            r->enters[r->n_enters++] = entered;
            if (r->empty[entered])
                reach(r, a->call[c].back, start, &n);
        }
    }
}

/* A start on a cycle, or VUG_NFA_NONE. `path` is as `reached`, and so is `next`. */
static uint32_t find_cycle(recursion *r, uint32_t root, uint32_t *path, uint32_t *next)
{
    size_t n = 0;
    path[n++] = root;
    next[root] = r->first[root];
    r->color[root] = ON_THE_WAY;
    while (n > 0) {
        const uint32_t at = path[n - 1];
        if (next[at] == r->first[at + 1]) {
            r->color[at] = DONE;
            n--;
            continue;
        }
        const uint32_t to = r->enters[next[at]++];
        if (r->color[to] == ON_THE_WAY)
            return to;
        if (r->color[to] == NEW) {
            r->color[to] = ON_THE_WAY;
            next[to] = r->first[to];
            path[n++] = to;
        }
    }
    return VUG_NFA_NONE;
}

static uint32_t find_recursion(recursion *r)
{
    const vug_automaton *a = r->a;
    for (uint32_t i = 0; i < a->n_states; i++) {
        r->first[i] = r->n_enters;
        if (a->state[i].start == i)
            list_entered(r, i);
    }
    r->first[a->n_states] = r->n_enters;
    for (uint32_t i = 0; i < a->n_rules; i++) {
        const uint32_t start = a->rule[i].start;
        const uint32_t found =
                r->color[start] == NEW ? find_cycle(r, start, r->reached, r->seen) : VUG_NFA_NONE;
        if (found != VUG_NFA_NONE)
            return found;
    }
    return VUG_NFA_NONE;
}

/* `start` becomes one of a body that can begin with itself. */
static vug_status look_for_recursion(const vug_automaton *a, const bool *empty, uint32_t *start,
                                     vug_err *err)
{
    const size_t n = a->n_states;
    recursion r = { .a = a, .empty = empty };
    r.first = vug_alloc(n + 1, sizeof(*r.first));
    r.enters = vug_alloc((size_t)a->n_calls + 1, sizeof(*r.enters));
    r.reached = vug_alloc(n, sizeof(*r.reached));
    r.seen = vug_alloc_zero(n, sizeof(*r.seen));
    r.color = vug_alloc_zero(n, sizeof(*r.color));
    const bool fits = r.first && r.enters && r.reached && r.seen && r.color;
    if (fits)
        *start = find_recursion(&r);
    vug_free(r.first);
    vug_free(r.enters);
    vug_free(r.reached);
    vug_free(r.seen);
    vug_free(r.color);
    return fits ? VUG_OK : VUG_FAIL_NOMEM(err, "the automaton of a grammar", n * 16);
}

/* ---- all of it ------------------------------------------------------------------ */

static void classify_bytes(vug_automaton *a)
{
    bool cut[257] = { true };
    for (uint32_t e = 0; e < a->n_edges; e++)
        cut[a->edge[e].from] = cut[a->edge[e].to + 1] = true;
    for (unsigned i = 0; i < 256; i++) {
        if (cut[i])
            a->byte_of[a->n_classes++] = (uint8_t)i;
        a->class_of[i] = (uint8_t)(a->n_classes - 1);
    }
}

static vug_status refuse_recursion(const vug_rules *rules, const vug_nfa *nfa,
                                   const vug_automaton *a, uint32_t start, vug_err *err)
{
    vug_str name = { 0 };
    for (size_t i = 0; i < a->n_rules; i++) {
        const vug_node node = VUG_NFA_BODY(nfa)[VUG_NFA_RULE(nfa)[i].body].node;
        const vug_rule *rule = vug_rule_at(rules, node);
        if (a->rule[i].start == start && rule->kind == VUG_RULE_DECLARED)
            name = vug_rule_name(rules, rule);
    }
    return VUG_FAIL(
            err, VUG_UNSUPPORTED,
            "the rule '%.*s' can begin with itself (left recursion); expected a repetition, "
            "or that something comes before",
            VUG_STR_ARG(name));
}

static vug_status finish(const vug_rules *rules, const vug_nfa *nfa, vug_automaton *a,
                         bool *reaches, vug_err *err)
{
    uint32_t recursive = VUG_NFA_NONE;
    VUG_TRY(find_ends(a, true, reaches, err));
    if (!reaches[a->rule[0].start])
        return VUG_FAIL(err, VUG_ARGUMENT, "a grammar that no text matches");
    trim(a, reaches);
    VUG_TRY(find_ends(a, false, reaches, err));
    VUG_TRY(look_for_recursion(a, reaches, &recursive, err));
    if (recursive != VUG_NFA_NONE)
        return refuse_recursion(rules, nfa, a, recursive, err);
    for (uint32_t i = 0; i < a->n_rules; i++) {
        /* x{3,5} of what may be empty is x{0,5}. */
        if (a->rule[i].max > 1 && reaches[a->rule[i].start])
            a->rule[i].min = 0;
    }
    classify_bytes(a);
    return VUG_OK;
}

static vug_status make(const vug_rules *rules, vug_node root, vug_automaton *a, vug_err *err)
{
    vug_rule_plan plan = { 0 };
    vug_nfa nfa = { 0 };
    vug_status st = vug_rule_plan_make(rules, root, &plan, err);
    if (st == VUG_OK)
        st = vug_nfa_make(rules, root, &plan, &nfa, err);
    vug_free(plan.mark);
    if (st == VUG_OK)
        st = vug_dfa_make(&nfa, a, err);
    bool *reaches = st == VUG_OK ? vug_alloc(a->n_states, sizeof(*reaches)) : NULL;
    if (st == VUG_OK && !reaches)
        st = VUG_FAIL_NOMEM(err, "the automaton of a grammar", a->n_states);
    if (st == VUG_OK)
        st = finish(rules, &nfa, a, reaches, err);
    vug_free(reaches);
    vug_nfa_release(&nfa);
    return st;
}

vug_status vug_automaton_create(const vug_rules *rules, vug_node root, vug_automaton **out,
                                vug_err *err)
{
    VUG_TRY(vug_rules_ok(rules, err));
    vug_automaton *a = vug_alloc_zero(1, sizeof(*a));
    if (!a)
        return VUG_FAIL_NOMEM(err, "the automaton of a grammar", sizeof(*a));
    const vug_status st = make(rules, root, a, err);
    if (st != VUG_OK) {
        vug_automaton_destroy(a);
        return st;
    }
    *out = a;
    return VUG_OK;
}
