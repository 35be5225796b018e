#include "text/grammar/automaton.h"

#include "text/grammar/automaton_distance.h"

/*
 * Makes an automaton safe to run: whatever cannot be completed is removed, so that every
 * prefix that is still alive can become a whole match, and left recursion is detected.
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

/* ---- which states can reach the end of their body ------------------ */

enum { MAX_SWEEPS = 32 };

/* In the list of a state: `source` can reach the end if the state can, and `other` can, too
 * (if there is one). A call needs both the body that it calls and its return state. */
typedef struct {
    uint32_t source, other;
} dependency;

typedef struct {
    const vug_automaton *a;
    bool use_bytes;  /* follow edges; else only calls, to find what needs no byte */
    uint32_t *first; /* [n_states + 2]: where the list of each state begins in `list` */
    dependency *list;
    uint32_t *pending; /* [n_states] */
    bool *reaches;     /* [n_states]: the result */
} reachability;

/* Whether the body of the rule can end within its count. */
static bool is_callable(const vug_automaton *a, uint32_t rule)
{
    return a->state[a->rule[rule].start].distance <= a->rule[rule].max;
}

typedef void dependency_fn(reachability *s, uint32_t state, dependency by);

static void count_dependency(reachability *s, uint32_t state, dependency by)
{
    (void)by;
    s->first[state + 1]++;
}

static void store_dependency(reachability *s, uint32_t state, dependency by)
{
    s->list[s->first[state]++] = by;
}

static void for_each_dependency(reachability *s, dependency_fn *use)
{
    const vug_automaton *a = s->a;
    for (uint32_t i = 0; i < a->n_states; i++) {
        for (uint32_t e = a->state[i].edge; s->use_bytes && e < a->state[i + 1].edge; e++)
            use(s, a->edge[e].state, (dependency){ i, VUG_STATE_NONE });
        for (uint32_t c = a->state[i].call; c < a->state[i + 1].call; c++) {
            const vug_call_edge call = a->call[c];
            if (call.rule == VUG_RULE_COUNT) {
                use(s, call.return_state, (dependency){ i, VUG_STATE_NONE });
            } else if (is_callable(a, call.rule)) {
                const uint32_t start = a->rule[call.rule].start;
                use(s, start, (dependency){ i, call.return_state });
                use(s, call.return_state, (dependency){ i, start });
            }
        }
    }
}

static void propagate_reachability(reachability *s)
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
            const dependency by = s->list[i];
            if (s->reaches[by.source] || (by.other != VUG_STATE_NONE && !s->reaches[by.other]))
                continue;
            s->reaches[by.source] = true;
            s->pending[n++] = by.source;
        }
    }
}

static bool reaches_by_call(const vug_automaton *a, uint32_t call, const bool *reaches)
{
    const vug_call_edge c = a->call[call];
    return reaches[c.return_state] &&
           (c.rule == VUG_RULE_COUNT || (reaches[a->rule[c.rule].start] && is_callable(a, c.rule)));
}

/* One look at a state, with what is known so far. */
static bool reaches_end(const vug_automaton *a, uint32_t state, bool use_bytes, const bool *reaches)
{
    const vug_automaton_state *s = &a->state[state];
    bool found = s->final;
    for (uint32_t e = s->edge; use_bytes && !found && e < s[1].edge; e++)
        found = reaches[a->edge[e].state];
    for (uint32_t c = s->call; !found && c < s[1].call; c++)
        found = reaches_by_call(a, c, reaches);
    return found;
}

/* Looks at the states from the last to the first, and then again at those that have not reached the
 * end. Most edges and calls lead to states with higher numbers, so that a few sweeps are enough for
 * an ordinary automaton. False if they are not. `left` is scratch, [n_states]. */
static bool sweep_until_complete(const vug_automaton *a, bool use_bytes, uint32_t *left,
                                 bool *reaches)
{
    uint32_t n = 0;
    memset(reaches, 0, a->n_states * sizeof(*reaches));
    for (uint32_t i = a->n_states; i-- > 0;) {
        const bool may = use_bytes || a->state[i].final || a->state[i].call < a->state[i + 1].call;
        reaches[i] = may && reaches_end(a, i, use_bytes, reaches);
        if (may && !reaches[i])
            left[n++] = i;
    }
    for (int sweep = 1; sweep < MAX_SWEEPS; sweep++) {
        uint32_t n_left = 0;
        for (uint32_t k = 0; k < n; k++) {
            reaches[left[k]] = reaches_end(a, left[k], use_bytes, reaches);
            if (!reaches[left[k]])
                left[n_left++] = left[k];
        }
        if (n_left == n)
            return true;
        n = n_left;
    }
    return false;
}

static vug_status find_terminating(const vug_automaton *a, bool use_bytes, bool *reaches,
                                   vug_err *err)
{
    const size_t n = a->n_states, n_list = (size_t)a->n_edges + 2 * (size_t)a->n_calls;
    reachability s = { .a = a, .use_bytes = use_bytes };
    s.reaches = reaches;
    s.pending = vug_alloc(n, sizeof(*s.pending));
    const bool complete = s.pending && sweep_until_complete(a, use_bytes, s.pending, reaches);
    if (s.pending && !complete) {
        s.first = vug_alloc_zero(n + 2, sizeof(*s.first));
        s.list = vug_alloc(n_list + 1, sizeof(*s.list));
    }
    const bool allocated = s.first && s.list;
    if (allocated) {
        for_each_dependency(&s, count_dependency);
        for (size_t i = 0; i < n; i++)
            s.first[i + 1] += s.first[i];
        for_each_dependency(&s, store_dependency);
        /* Storing moved each beginning to the end of its list, where the next list begins. */
        memmove(s.first + 1, s.first, n * sizeof(*s.first));
        s.first[0] = 0;
        propagate_reachability(&s);
    }
    vug_free(s.first);
    vug_free(s.list);
    vug_free(s.pending);
    return complete || allocated
                   ? VUG_OK
                   : VUG_FAIL_NOMEM(err, "the automaton of a grammar", n_list * sizeof(dependency));
}

/* Removes edges and calls that lead nowhere. */
static void remove_dead_edges(vug_automaton *a, const bool *reaches)
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
            if (reaches[c.return_state] &&
                (c.rule == VUG_RULE_COUNT ||
                 (reaches[a->rule[c.rule].start] && is_callable(a, c.rule))))
                a->call[n_calls++] = c;
        }
        s->final_only = s->final && s->edge == n_edges && s->call == n_calls;
    }
    a->n_edges = a->state[a->n_states].edge = n_edges;
    a->n_calls = a->state[a->n_states].call = n_calls;
}

/* ---- left recursion ----------------------------------------------------------- */

/*
 * A body that is entered again before a byte was read would push frames forever. Bodies are
 * identified by their start states. A body enters at once the rules that its start state
 * calls, and those called after a call that can match the empty text.
 */
typedef struct {
    const vug_automaton *a;
    const bool *nullable; /* [n_states]: the end of the body can be reached without a byte */
    uint32_t *first;      /* [n_states + 1]: where the list of each start state begins ... */
    uint32_t *entered;    /* [n_calls] ... in these start states of entered bodies */
    uint32_t *reached;    /* [n_states]: states that one start reaches without a byte */
    uint32_t *seen;       /* [n_states]: the start that reached the state last, + 1 */
    uint8_t *color;       /* [n_states]: of start states, in the depth-first search */
    uint32_t n_entered;
} recursion_search;

enum { UNVISITED, ON_PATH, DONE };

static void reach_state(recursion_search *r, uint32_t state, uint32_t start, size_t *n)
{
    if (r->seen[state] == start + 1)
        return;
    r->seen[state] = start + 1;
    r->reached[(*n)++] = state;
}

static void list_entered(recursion_search *r, uint32_t start)
{
    const vug_automaton *a = r->a;
    size_t n = 0;
    reach_state(r, start, start, &n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t state = r->reached[i];
        for (uint32_t c = a->state[state].call; c < a->state[state + 1].call; c++) {
            if (a->call[c].rule == VUG_RULE_COUNT) {
                reach_state(r, a->call[c].return_state, start, &n);
                continue;
            }
            const uint32_t entered = a->rule[a->call[c].rule].start;
            r->entered[r->n_entered++] = entered;
            if (r->nullable[entered])
                reach_state(r, a->call[c].return_state, start, &n);
        }
    }
}

/* A start state on a cycle, or VUG_STATE_NONE. `path` and `next` are scratch, [n_states]. */
static uint32_t find_cycle(recursion_search *r, uint32_t root, uint32_t *path, uint32_t *next)
{
    size_t n = 0;
    path[n++] = root;
    next[root] = r->first[root];
    r->color[root] = ON_PATH;
    while (n > 0) {
        const uint32_t at = path[n - 1];
        if (next[at] == r->first[at + 1]) {
            r->color[at] = DONE;
            n--;
            continue;
        }
        const uint32_t to = r->entered[next[at]++];
        if (r->color[to] == ON_PATH)
            return to;
        if (r->color[to] == UNVISITED) {
            r->color[to] = ON_PATH;
            next[to] = r->first[to];
            path[n++] = to;
        }
    }
    return VUG_STATE_NONE;
}

static uint32_t find_left_recursion(recursion_search *r)
{
    const vug_automaton *a = r->a;
    for (uint32_t i = 0; i < a->n_states; i++) {
        r->first[i] = r->n_entered;
        if (a->state[i].start == i)
            list_entered(r, i);
    }
    r->first[a->n_states] = r->n_entered;
    for (uint32_t i = 0; i < a->n_rules; i++) {
        const uint32_t start = a->rule[i].start;
        const uint32_t found = r->color[start] == UNVISITED
                                       ? find_cycle(r, start, r->reached, r->seen)
                                       : VUG_STATE_NONE;
        if (found != VUG_STATE_NONE)
            return found;
    }
    return VUG_STATE_NONE;
}

static vug_status check_left_recursion(const vug_automaton *a, const bool *nullable,
                                       uint32_t *start, vug_err *err)
{
    const size_t n = a->n_states;
    recursion_search r = { .a = a, .nullable = nullable };
    r.first = vug_alloc(n + 1, sizeof(*r.first));
    r.entered = vug_alloc((size_t)a->n_calls + 1, sizeof(*r.entered));
    r.reached = vug_alloc(n, sizeof(*r.reached));
    r.seen = vug_alloc_zero(n, sizeof(*r.seen));
    r.color = vug_alloc_zero(n, sizeof(*r.color));
    const bool allocated = r.first && r.entered && r.reached && r.seen && r.color;
    if (allocated)
        *start = find_left_recursion(&r);
    vug_free(r.first);
    vug_free(r.entered);
    vug_free(r.reached);
    vug_free(r.seen);
    vug_free(r.color);
    return allocated ? VUG_OK : VUG_FAIL_NOMEM(err, "the automaton of a grammar", n * 16);
}

/* ---- finishing ----------------------------------------------------------------- */

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

static vug_status finish_automaton(vug_automaton *a, bool *reaches, uint32_t *left_recursive,
                                   vug_err *err)
{
    VUG_TRY(vug_automaton_find_distances(a, err));
    VUG_TRY(find_terminating(a, true, reaches, err));
    if (!reaches[a->rule[0].start] || !is_callable(a, 0))
        return VUG_FAIL(err, VUG_ARGUMENT, "a grammar that no text matches");
    remove_dead_edges(a, reaches);
    VUG_TRY(find_terminating(a, false, reaches, err));
    VUG_TRY(check_left_recursion(a, reaches, left_recursive, err));
    for (uint32_t i = 0; i < a->n_rules; i++) {
        /* If x may be empty, x{3,5} is x{0,5}. */
        if (a->rule[i].max > 1 && reaches[a->rule[i].start])
            a->rule[i].min = 0;
    }
    classify_bytes(a);
    return VUG_OK;
}

vug_status vug_automaton_finish(vug_automaton *a, uint32_t *left_recursive, vug_err *err)
{
    bool *reaches = vug_alloc(a->n_states, sizeof(*reaches));
    *left_recursive = VUG_STATE_NONE;
    if (!reaches)
        return VUG_FAIL_NOMEM(err, "the automaton of a grammar", a->n_states);
    const vug_status st = finish_automaton(a, reaches, left_recursive, err);
    vug_free(reaches);
    return st;
}
