#include "text/grammar/rule_nodes.h"

/*
 * Expressions that look ahead, made into such that do not.
 *
 * What an expression leaves of a text after a character is an expression again (Brzozowski
 * 1964, "Derivatives of regular expressions"), written here as a set of ways to go on
 * (Antimirov 1996):
 *
 *     way: what comes, part by part; and what the rest must be besides, or must not be
 *
 * What the rest must be is a set of ways, too, and goes on beside the way that demands it.
 * There are finitely many sets. They are the states of a graph whose edges are characters.
 */

enum {
    MAX_STATES = 1 << 17,
    MAX_WAYS = 1 << 20,
    MAX_CELLS = 1 << 22, /* states times kinds of characters */
    CHEAP = 16,          /* numbers that are looked at in one step of work */
    NEVER = 0,           /* the state without a way */
    END = 0,             /* of what comes: nothing more */
    ALL = 1,             /* of what comes: any text */
};

/* A way, up to the first character. */
typedef struct {
    vug_node class; /* VUG_NODE_EMPTY: the text may end here */
    uint32_t then;  /* what comes after it */
    uint32_t demands;
} opened;

typedef struct {
    bool known;      /* what is below, and its row of `next` */
    bool empty;      /* a text may end here */
    uint32_t number; /* in the graph, + 1; 0: not in it */
} state_note;

typedef struct {
    vug_rules *plain, *to;
    vug_sets parts;   /* {node, what comes after it}; its id + 1 is what comes */
    vug_sets demands; /* states times 2, + 1 for one that the rest must not be; 0: none */
    vug_sets ways;    /* {what comes, demands} */
    vug_sets states;  /* ways */
    vug_sets kinds;   /* of characters: the classes that they are in */
    vug_buf cut;      /* uint32_t: where characters of another kind begin */
    vug_buf kind_of;  /* uint32_t, for each cut */
    vug_buf note;     /* state_note, for each state */
    vug_buf next;     /* uint32_t [states][kinds]: states */
    vug_buf stamp;    /* uint32_t, for each way: the number of the opening that met it last */
    uint32_t n_openings;
} maker;

#define U32(buf)   ((uint32_t *)(void *)(buf).ptr)
#define COUNT(buf) ((buf).len / sizeof(uint32_t))

static bool stuck(const maker *m)
{
    return m->to->st != VUG_OK || m->plain->st != VUG_OK;
}

static void refuse(maker *m, vug_status st, const char *why)
{
    if (m->to->st == VUG_OK)
        m->to->st = VUG_FAIL(&m->to->err, st, "%s", why);
}

static void refuse_states(maker *m)
{
    refuse(m, VUG_LIMIT, "patterns that look ahead or hold together, with too many states");
}

static void work(maker *m, size_t n)
{
    m->to->work += n;
    if (m->to->work > VUG_RULES_MAX_WORK || m->states.n > MAX_STATES || m->ways.n > MAX_WAYS)
        refuse_states(m);
}

static void append(maker *m, vug_buf *list, const void *element, size_t size)
{
    vug_buf_append(list, element, size);
    if (list->bad)
        refuse(m, VUG_NOMEM, "out of memory: a pattern that looks ahead");
}

static void put(maker *m, vug_buf *list, uint32_t value)
{
    append(m, list, &value, sizeof(value));
}

static uint32_t intern(maker *m, vug_sets *sets, const uint32_t *element, size_t n)
{
    work(m, 1 + n / CHEAP);
    const uint32_t id = vug_sets_intern(sets, element, n);
    if (id != VUG_SETS_NONE)
        return id;
    refuse(m, VUG_NOMEM, "out of memory: a pattern that looks ahead");
    return 0;
}

static uint32_t before(maker *m, vug_node node, uint32_t then)
{
    return intern(m, &m->parts, (const uint32_t[]){ node, then }, 2) + 1;
}

static uint32_t way_of(maker *m, uint32_t comes, uint32_t demands)
{
    const uint32_t way = intern(m, &m->ways, (const uint32_t[]){ comes, demands }, 2);
    if (way == COUNT(m->stamp))
        put(m, &m->stamp, 0);
    return way;
}

/* The state of these ways, which are put in order; where any text will do, nothing else
 * counts. */
static uint32_t state_of(maker *m, uint32_t *way, size_t n)
{
    const uint32_t all = way_of(m, ALL, 0);
    n = way ? vug_sort_unique(way, n) : 0;
    for (size_t i = 0; i < n && n > 1; i++) {
        if (way[i] == all) {
            way[0] = all;
            n = 1;
        }
    }
    const uint32_t state = intern(m, &m->states, way, n);
    const state_note note = { .known = false };
    if (state == m->note.len / sizeof(note))
        append(m, &m->note, &note, sizeof(note));
    return state;
}

static state_note *note_of(const maker *m, uint32_t state)
{
    return (state_note *)(void *)m->note.ptr + state;
}

/* ---- ways up to their first characters ----------------------------------------------- */

/* Once for each way of an opening. */
static void meet(maker *m, vug_buf *pending, uint32_t comes, uint32_t demands)
{
    const uint32_t way = way_of(m, comes, demands);
    if (stuck(m) || U32(m->stamp)[way] == m->n_openings)
        return;
    U32(m->stamp)[way] = m->n_openings;
    put(m, pending, way);
}

static uint32_t demand(maker *m, uint32_t demands, uint32_t one)
{
    vug_buf list = { 0 };
    size_t n;
    const uint32_t *others = vug_sets_get(&m->demands, demands, &n);
    append(m, &list, others, n * sizeof(*others));
    put(m, &list, one);
    if (!stuck(m))
        demands = intern(m, &m->demands, U32(list), vug_sort_unique(U32(list), n + 1));
    vug_buf_release(&list);
    return demands;
}

/* The way of which `rule` is the first part. */
static void open_part(maker *m, vug_buf *pending, vug_rule rule, uint32_t then, uint32_t demands)
{
    switch (rule.kind) {
    case VUG_RULE_SEQUENCE:
        for (uint32_t i = rule.n; i-- > 0;)
            then = before(m, vug_rule_parts(m->plain, &rule)[i], then);
        meet(m, pending, then, demands);
        break;
    case VUG_RULE_CHOICE:
        for (uint32_t i = 0; i < rule.n && !stuck(m); i++)
            meet(m, pending, before(m, vug_rule_parts(m->plain, &rule)[i], then), demands);
        break;
    case VUG_RULE_REPEAT: {
        const uint32_t max = rule.max == VUG_REPEAT_FOREVER ? rule.max : rule.max - 1;
        const vug_node more = vug_rules_repeat(m->plain, rule.at, rule.n ? rule.n - 1 : 0, max);
        if (rule.n == 0)
            meet(m, pending, then, demands);
        meet(m, pending, before(m, rule.at, before(m, more, then)), demands);
        break;
    }
    case VUG_RULE_AHEAD: {
        uint32_t only = way_of(m, before(m, rule.at, END), 0);
        const uint32_t state = state_of(m, &only, 1);
        meet(m, pending, then, demand(m, demands, 2 * state + rule.n));
        break;
    }
    case VUG_RULE_EMPTY:
        meet(m, pending, then, demands);
        break;
    case VUG_RULE_LITERAL:
    case VUG_RULE_CLASS:
    case VUG_RULE_DECLARED:
    case VUG_RULE_GRAPH:
        VUG_ASSERT(false); /* the caller promised */
    }
}

/* The ways of the state into `list`, of `opened`. */
static void open_state(maker *m, uint32_t state, vug_buf *list)
{
    vug_buf pending = { 0 };
    size_t n;
    m->n_openings++;
    const uint32_t *way = vug_sets_get(&m->states, state, &n);
    append(m, &pending, way, n * sizeof(*way));
    for (size_t i = 0; i < n && !stuck(m); i++)
        U32(m->stamp)[U32(pending)[i]] = m->n_openings;
    while (pending.len > 0 && !stuck(m)) {
        pending.len -= sizeof(uint32_t);
        const uint32_t *here = vug_sets_get(&m->ways, U32(pending)[COUNT(pending)], &n);
        const uint32_t comes = here[0], demands = here[1];
        opened o = { VUG_NODE_EMPTY, END, demands };
        if (comes != END) {
            const uint32_t *part = vug_sets_get(&m->parts, comes - 1, &n);
            const vug_rule rule = *vug_rule_at(m->plain, part[0]);
            o = (opened){ part[0], part[1], demands };
            if (rule.kind != VUG_RULE_CLASS) {
                open_part(m, &pending, rule, o.then, demands);
                continue;
            }
        }
        append(m, list, &o, sizeof(o));
    }
    vug_buf_release(&pending);
}

/* ---- one character on ------------------------------------------------------------------ */

static void know(maker *m, uint32_t state);

static uint32_t next_of(const maker *m, uint32_t state, size_t kind)
{
    return U32(m->next)[state * m->kinds.n + kind];
}

/* Whether the rest may be nothing. */
static bool may_end(const maker *m, uint32_t demands)
{
    size_t n;
    const uint32_t *one = vug_sets_get(&m->demands, demands, &n);
    for (size_t i = 0; i < n; i++)
        if (note_of(m, one[i] / 2)->empty == (one[i] & 1))
            return false;
    return true;
}

/* The demands that are left after a character; false where one cannot be met any more. */
static bool move_demands(maker *m, uint32_t *demands, size_t kind)
{
    uint32_t all = way_of(m, ALL, 0);
    const uint32_t any = state_of(m, &all, 1);
    vug_buf left = { 0 };
    bool can = true;
    size_t n;
    const uint32_t *one = vug_sets_get(&m->demands, *demands, &n);
    for (size_t i = 0; i < n && can; i++) {
        const bool negated = one[i] & 1;
        const uint32_t to = next_of(m, one[i] / 2, kind);
        can = to != (negated ? any : (uint32_t)NEVER);
        if (to != (negated ? (uint32_t)NEVER : any))
            put(m, &left, 2 * to + negated);
    }
    if (!stuck(m))
        *demands = intern(m, &m->demands, U32(left), vug_sort_unique(U32(left), COUNT(left)));
    vug_buf_release(&left);
    return can;
}

static bool is_in(const maker *m, size_t kind, vug_node class)
{
    size_t n, low = 0;
    const uint32_t *in = vug_sets_get(&m->kinds, (uint32_t)kind, &n);
    for (size_t high = n; low < high;) {
        const size_t middle = (low + high) / 2;
        if (in[middle] < class)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && in[low] == class;
}

/* Where a character of the kind leads from what was opened. */
static uint32_t move(maker *m, const opened *o, size_t n, size_t kind)
{
    vug_buf way = { 0 };
    for (size_t i = 0; i < n && !stuck(m); i++) {
        uint32_t demands = o[i].demands;
        if (o[i].class != VUG_NODE_EMPTY && is_in(m, kind, o[i].class) &&
            move_demands(m, &demands, kind))
            put(m, &way, way_of(m, o[i].then, demands));
    }
    work(m, n + 1);
    const uint32_t state = stuck(m) ? NEVER : state_of(m, U32(way), COUNT(way));
    vug_buf_release(&way);
    return state;
}

/* As deep as expressions look ahead inside of each other. */
static void know_demanded(maker *m, uint32_t demands) // NOLINT(misc-no-recursion)
{
    size_t n;
    (void)vug_sets_get(&m->demands, demands, &n);
    for (size_t i = 0; i < n && !stuck(m); i++)
        know(m, vug_sets_get(&m->demands, demands, &n)[i] / 2);
}

/* Fills in the note and the row of a state. */
static void know(maker *m, uint32_t state) // NOLINT(misc-no-recursion)
{
    if (note_of(m, state)->known)
        return;
    note_of(m, state)->known = true;
    vug_buf list = { 0 };
    open_state(m, state, &list);
    const opened *o = (const opened *)(const void *)list.ptr;
    const size_t n = list.len / sizeof(*o);
    bool empty = false;
    for (size_t i = 0; i < n && !stuck(m); i++) {
        know_demanded(m, o[i].demands);
        empty = empty || (o[i].class == VUG_NODE_EMPTY && may_end(m, o[i].demands));
    }
    note_of(m, state)->empty = empty;
    if ((state + (size_t)1) * m->kinds.n > MAX_CELLS)
        refuse_states(m);
    while (COUNT(m->next) < (state + 1) * m->kinds.n && !stuck(m))
        put(m, &m->next, NEVER);
    for (size_t kind = 0; kind < m->kinds.n && !stuck(m); kind++) {
        const uint32_t to = move(m, o, n, kind);
        U32(m->next)[state * m->kinds.n + kind] = to;
    }
    vug_buf_release(&list);
}

/* ---- kinds of characters ------------------------------------------------------------------ */

/* Characters between two cuts are in the same classes. */
static void find_cuts(maker *m)
{
    put(m, &m->cut, 0);
    for (vug_node i = 0; i < vug_rules_count(m->plain); i++) {
        const vug_rule *rule = vug_rule_at(m->plain, i);
        for (uint32_t k = 0; rule->kind == VUG_RULE_CLASS && k < rule->n; k++) {
            put(m, &m->cut, vug_rule_ranges(m->plain, rule)[k].from);
            put(m, &m->cut, vug_rule_ranges(m->plain, rule)[k].to + 1);
        }
    }
    if (!stuck(m))
        m->cut.len = vug_sort_unique(U32(m->cut), COUNT(m->cut)) * sizeof(uint32_t);
}

static bool has_character(const vug_rules *plain, const vug_rule *class, uint32_t c)
{
    for (uint32_t i = 0; i < class->n; i++)
        if (c >= vug_rule_ranges(plain, class)[i].from && c <= vug_rule_ranges(plain, class)[i].to)
            return true;
    return false;
}

static void find_kinds(maker *m)
{
    vug_buf in = { 0 };
    find_cuts(m);
    for (size_t i = 0; i < COUNT(m->cut) && !stuck(m); i++) {
        in.len = 0;
        for (vug_node node = 0; node < vug_rules_count(m->plain); node++) {
            const vug_rule *rule = vug_rule_at(m->plain, node);
            work(m, 1 + rule->n / CHEAP);
            if (rule->kind == VUG_RULE_CLASS && has_character(m->plain, rule, U32(m->cut)[i]))
                put(m, &in, node);
        }
        put(m, &m->kind_of, intern(m, &m->kinds, U32(in), COUNT(in)));
    }
    vug_buf_release(&in);
}

/* ---- the graph ----------------------------------------------------------------------------- */

/* One character of those that lead from one state to another. */
static vug_node label(maker *m, uint32_t from, uint32_t to, vug_character_fn *character, void *user)
{
    vug_buf list = { 0 };
    const size_t n = COUNT(m->cut);
    for (size_t i = 0; i + 1 < n; i++) {
        if (next_of(m, from, U32(m->kind_of)[i]) != to)
            continue;
        vug_char_range range = { U32(m->cut)[i], U32(m->cut)[i + 1] - 1 };
        if (i > 0 && list.len > 0 && next_of(m, from, U32(m->kind_of)[i - 1]) == to) {
            list.len -= sizeof(range);
            range.from = ((vug_char_range *)(void *)(list.ptr + list.len))->from;
        }
        append(m, &list, &range, sizeof(range));
    }
    const vug_char_range *range = (const vug_char_range *)(const void *)list.ptr;
    const size_t n_ranges = list.len / sizeof(*range);
    vug_node node = VUG_NODE_EMPTY;
    if (!stuck(m))
        node = character ? character(m->to, range, n_ranges, user)
                         : vug_rules_class(m->to, range, n_ranges, false);
    vug_buf_release(&list);
    return node;
}

static uint32_t number_of(maker *m, uint32_t state, vug_buf *states)
{
    state_note *note = note_of(m, state);
    if (note->number == 0) {
        put(m, states, state);
        note->number = (uint32_t)COUNT(*states);
    }
    return note->number - 1;
}

static void put_edges(maker *m, uint32_t state, vug_buf *states, vug_buf *edges,
                      vug_character_fn *character, void *user)
{
    vug_buf targets = { 0 };
    append(m, &targets, U32(m->next) + state * m->kinds.n, m->kinds.n * sizeof(uint32_t));
    const size_t n = stuck(m) ? 0 : vug_sort_unique(U32(targets), m->kinds.n);
    vug_graph_edge edge = { VUG_NODE_EMPTY, note_of(m, state)->number - 1, VUG_GRAPH_END };
    if (note_of(m, state)->empty)
        append(m, edges, &edge, sizeof(edge));
    for (size_t i = 0; i < n && !stuck(m); i++) {
        if (U32(targets)[i] == NEVER)
            continue;
        edge.label = label(m, state, U32(targets)[i], character, user);
        edge.to = number_of(m, U32(targets)[i], states);
        append(m, edges, &edge, sizeof(edge));
        work(m, 1 + COUNT(m->cut) / CHEAP);
    }
    vug_buf_release(&targets);
}

static vug_node make_graph(maker *m, uint32_t start, vug_character_fn *character, void *user)
{
    vug_buf states = { 0 }, edges = { 0 };
    if (!stuck(m))
        (void)number_of(m, start, &states);
    for (size_t i = 0; i < COUNT(states) && !stuck(m); i++) {
        know(m, U32(states)[i]);
        if (!stuck(m))
            put_edges(m, U32(states)[i], &states, &edges, character, user);
    }
    vug_node node = VUG_NODE_EMPTY;
    if (!stuck(m))
        node = vug_rules_graph(m->to, (const void *)edges.ptr, edges.len / sizeof(vug_graph_edge));
    vug_buf_release(&states);
    vug_buf_release(&edges);
    return node;
}

vug_node vug_rules_regular(vug_rules *rules, vug_rules *plain, vug_node root,
                           vug_character_fn *character, void *user)
{
    maker m = { .plain = plain, .to = rules };
    vug_node node = VUG_NODE_EMPTY;
    const vug_node any =
            vug_rules_repeat(plain, vug_rules_class(plain, NULL, 0, true), 0, VUG_REPEAT_FOREVER);
    if (!stuck(&m)) {
        const uint32_t all = before(&m, any, END);
        VUG_ASSERT(stuck(&m) || all == ALL);
        (void)intern(&m, &m.demands, NULL, 0);
        (void)state_of(&m, NULL, 0);
        find_kinds(&m);
        uint32_t way = way_of(&m, before(&m, root, END), 0);
        node = make_graph(&m, state_of(&m, &way, 1), character, user);
    }
    if (rules->st == VUG_OK && plain->st != VUG_OK) {
        rules->st = plain->st;
        rules->err = plain->err;
    }
    vug_sets_release(&m.parts);
    vug_sets_release(&m.demands);
    vug_sets_release(&m.ways);
    vug_sets_release(&m.states);
    vug_sets_release(&m.kinds);
    vug_buf_release(&m.cut);
    vug_buf_release(&m.kind_of);
    vug_buf_release(&m.note);
    vug_buf_release(&m.next);
    vug_buf_release(&m.stamp);
    return node;
}
