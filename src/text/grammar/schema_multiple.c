#include "text/grammar/intern.h"
#include "text/grammar/schema_number.h"

/*
 * Multiples of a number, and integers that are none, between bounds that are not negative. The
 * digits are the paths of a graph whose states know
 *
 *     - how many digits there are, as far as a bound needs it,
 *     - whether the digits are below, equal to or above those of each bound,
 *     - the remainder. Those that no further digits tell apart are one: for multiples of 1000,
 *       four of them, by the zeros at the end.
 */

enum {
    MAX_STATES = 1 << 13,
    MAX_DIGITS = VUG_JSON_MAX_DIGITS, /* before the decimal point */
};

enum { BELOW, EQUAL, ABOVE };            /* the digits so far, beside those of a bound */
enum { START, INTEGER, ZERO, FRACTION }; /* ZERO: the only digit before the point is 0 */
enum { PHASE, DIGITS, LOW, HIGH, REMAINDER, STATE_SIZE };

typedef struct {
    vug_schema_compiler *s;
    const vug_number_range *r;
    uint32_t modulus;
    uint32_t *first_of;     /* [modulus] the first remainder that is as good as this one */
    uint32_t n_low, n_high; /* digits of the bounds before the point; 0: there is no bound */
    vug_intern_table states;
    vug_buf edges; /* vug_grammar_edge */
} multiple_graph;

uint32_t vug_schema_common_multiple(uint32_t a, uint32_t b)
{
    VUG_ASSERT(a != 0 && b != 0);
    uint32_t divisor = a;
    for (uint32_t rest = b; rest != 0;) {
        const uint32_t remainder = divisor % rest;
        divisor = rest;
        rest = remainder;
    }
    const uint64_t multiple = (uint64_t)(a / divisor) * b;
    return multiple < UINT32_MAX ? (uint32_t)multiple : UINT32_MAX;
}

/* ---- remainders ------------------------------------------------------------------------ */

static bool is_accepted(const vug_number_range *r, uint32_t remainder)
{
    bool accepted = remainder % r->multiple == 0;
    for (size_t i = 0; i < r->n_excluded && accepted; i++)
        accepted = remainder % r->excluded[i] != 0;
    return accepted;
}

/* Splits the classes of remainders by those of the remainders after one more digit. Returns how
 * many there are then. */
static size_t split_classes(multiple_graph *g, uint32_t *class, uint32_t *next)
{
    enum { BASE = 10 };
    vug_intern_table classes = { 0 };
    for (uint32_t r = 0; r < g->modulus; r++) {
        uint32_t key[BASE + 1] = { class[r] };
        for (uint32_t digit = 0; digit < BASE; digit++)
            key[digit + 1] = class[(r * BASE + digit) % g->modulus];
        next[r] = vug_intern_add(&classes, key, BASE + 1);
        if (next[r] == VUG_INTERN_NONE)
            vug_schema_fail(g->s, VUG_NOMEM, NULL, "out of memory");
    }
    const size_t n = classes.n;
    memcpy(class, next, g->modulus * sizeof(*class));
    vug_intern_release(&classes);
    return n;
}

static void find_equal_remainders(multiple_graph *g)
{
    uint32_t *class = vug_schema_alloc(g->s, g->modulus, sizeof(*class));
    uint32_t *next = vug_schema_alloc(g->s, g->modulus, sizeof(*next));
    g->first_of = vug_schema_alloc(g->s, g->modulus, sizeof(*g->first_of));
    if (!g->first_of)
        return;
    for (uint32_t r = 0; r < g->modulus; r++)
        class[r] = is_accepted(g->r, r);
    for (size_t n = 0, before = 1;
         n != before && vug_schema_charge(g->s, 16 * (size_t)g->modulus);) {
        before = n;
        n = split_classes(g, class, next);
    }
    for (uint32_t r = g->modulus; r-- > 0 && vug_schema_ok(g->s);)
        next[class[r]] = r;
    for (uint32_t r = 0; r < g->modulus && vug_schema_ok(g->s); r++)
        g->first_of[r] = next[class[r]];
}

/* ---- bounds ------------------------------------------------------------------------------ */

static int integer_digits(const vug_decimal *at)
{
    return at->n == 0 || at->point < 1 ? 1 : at->point;
}

/* The digit at place `i`, beginning with the first before the point. */
static uint32_t digit_of(const vug_decimal *at, uint32_t i)
{
    const int k = (int)i - (integer_digits(at) - at->point);
    return at->n > 0 && k >= 0 && k < at->n ? (uint32_t)at->digit[k] : 0;
}

static uint32_t compare_digit(uint32_t so_far, const vug_number_bound *b, uint32_t place,
                              uint32_t digit)
{
    if (so_far != EQUAL || !b->given)
        return so_far;
    const uint32_t other = digit_of(&b->at, place);
    return digit < other ? BELOW : digit > other ? ABOVE : EQUAL;
}

/* How a whole number compares to a bound. `place`: the first one that is not written. */
static uint32_t compare_whole(uint32_t so_far, const vug_number_bound *b, uint32_t place)
{
    const int from = (int)place - (integer_digits(&b->at) - b->at.point);
    return so_far == EQUAL && b->at.n > 0 && b->at.n > from ? BELOW : so_far;
}

/* ---- states and edges ---------------------------------------------------------------------- */

/* False if no number of the range begins like this. The state is made unique: what no longer
 * matters is equal in all states. */
static bool normalize_state(const multiple_graph *g, uint32_t *state)
{
    const uint32_t n = state[DIGITS];
    if (state[PHASE] == FRACTION) {
        state[REMAINDER] = g->first_of[state[REMAINDER]];
        return state[LOW] != BELOW && state[HIGH] != ABOVE;
    }
    if (g->n_high > 0 && (n > g->n_high || (n == g->n_high && state[HIGH] == ABOVE)))
        return false;
    if (n > g->n_low)
        state[LOW] = ABOVE;
    if (g->n_high == 0 && n > g->n_low)
        state[DIGITS] = g->n_low + 1;
    state[REMAINDER] = g->first_of[state[REMAINDER]];
    return true;
}

static bool may_end(const multiple_graph *g, const uint32_t *state)
{
    const bool fraction = state[PHASE] == FRACTION;
    const uint32_t written = fraction ? state[DIGITS] : 0; /* after the point */
    if (state[PHASE] == START || (fraction && written == 0))
        return false;
    uint32_t remainder = state[REMAINDER];
    for (uint32_t i = written; i < (uint32_t)g->r->scale; i++)
        remainder = remainder * 10 % g->modulus;
    if (!is_accepted(g->r, remainder))
        return false;
    if (g->n_low > 0) {
        const bool shorter = !fraction && state[DIGITS] < g->n_low;
        const uint32_t low =
                shorter ? BELOW : compare_whole(state[LOW], &g->r->low, g->n_low + written);
        if (low == BELOW || (low == EQUAL && g->r->low.open))
            return false;
    }
    if (g->n_high > 0 && (fraction || state[DIGITS] == g->n_high)) {
        const uint32_t high = compare_whole(state[HIGH], &g->r->high, g->n_high + written);
        return high == BELOW || (high == EQUAL && !g->r->high.open);
    }
    return true;
}

/* The state after a digit; false if there is none. */
static bool state_after_digit(const multiple_graph *g, const uint32_t *from, uint32_t digit,
                              uint32_t *to)
{
    const bool fraction = from[PHASE] == FRACTION;
    if (from[PHASE] == ZERO || (fraction && from[DIGITS] == (uint32_t)g->r->n_fraction))
        return false;
    memcpy(to, from, STATE_SIZE * sizeof(*to));
    to[PHASE] = fraction ? FRACTION : from[PHASE] == START && digit == 0 ? ZERO : INTEGER;
    to[DIGITS]++;
    to[REMAINDER] = (from[REMAINDER] * 10 + digit) % g->modulus;
    to[LOW] = compare_digit(from[LOW], &g->r->low, from[DIGITS] + (fraction ? g->n_low : 0), digit);
    to[HIGH] = compare_digit(from[HIGH], &g->r->high, from[DIGITS] + (fraction ? g->n_high : 0),
                             digit);
    return normalize_state(g, to);
}

/* The state after the decimal point; false if there is none. Fractions have both bounds, or 0 is
 * the lower one. */
static bool state_after_point(const multiple_graph *g, const uint32_t *from, uint32_t *to)
{
    if (g->r->n_fraction == 0 || (from[PHASE] != INTEGER && from[PHASE] != ZERO))
        return false;
    memcpy(to, from, STATE_SIZE * sizeof(*to));
    to[PHASE] = FRACTION;
    to[DIGITS] = 0;
    if (from[DIGITS] < g->n_low)
        to[LOW] = BELOW;
    if (from[DIGITS] < g->n_high)
        to[HIGH] = BELOW;
    return normalize_state(g, to);
}

static void add_digit_edge(multiple_graph *g, uint32_t from, vug_grammar_expr label, uint32_t to)
{
    const vug_grammar_edge edge = { .label = label, .from = from, .to = to };
    vug_buf_append(&g->edges, &edge, sizeof(edge));
}

static uint32_t number_of_state(multiple_graph *g, const uint32_t *state)
{
    const uint32_t id = vug_intern_add(&g->states, state, STATE_SIZE);
    if (id == VUG_INTERN_NONE)
        vug_schema_fail(g->s, VUG_NOMEM, NULL, "out of memory");
    else if (id >= MAX_STATES)
        vug_schema_fail(g->s, VUG_LIMIT, NULL, "multiples between bounds need too many states");
    return id;
}

/* Neighbouring digits that lead to the same state share an edge. */
static void add_state_edges(multiple_graph *g, uint32_t id)
{
    enum { BASE = 10 };
    vug_grammar_builder *b = g->s->builder;
    uint32_t from[STATE_SIZE], to[STATE_SIZE], first = 0, target = VUG_INTERN_NONE;
    size_t n;
    memcpy(from, vug_intern_get(&g->states, id, &n), sizeof(from));
    if (may_end(g, from))
        add_digit_edge(g, id, VUG_EMPTY_EXPR, VUG_GRAMMAR_GRAPH_END);
    if (state_after_point(g, from, to))
        add_digit_edge(g, id, vug_grammar_text(b, "."), number_of_state(g, to));
    for (uint32_t digit = 0; digit <= BASE && vug_schema_ok(g->s); digit++) {
        const uint32_t next = digit < BASE && state_after_digit(g, from, digit, to)
                                      ? number_of_state(g, to)
                                      : VUG_INTERN_NONE;
        if (next == target)
            continue;
        if (target != VUG_INTERN_NONE)
            add_digit_edge(g, id, vug_grammar_digit(b, first, digit - 1), target);
        first = digit;
        target = next;
    }
}

vug_grammar_expr vug_schema_multiples_expr(vug_schema_compiler *s, const vug_number_range *r)
{
    multiple_graph g = { .s = s, .r = r, .modulus = r->multiple };
    for (size_t i = 0; i < r->n_excluded; i++)
        g.modulus = vug_schema_common_multiple(g.modulus, r->excluded[i]);
    if (r->low.given)
        g.n_low = (uint32_t)integer_digits(&r->low.at);
    if (r->high.given && integer_digits(&r->high.at) <= MAX_DIGITS)
        g.n_high = (uint32_t)integer_digits(&r->high.at);
    if (g.n_low > MAX_DIGITS)
        return vug_grammar_nothing(s->builder);
    find_equal_remainders(&g);
    const uint32_t start[STATE_SIZE] = {
        [LOW] = g.n_low ? EQUAL : ABOVE, [HIGH] = g.n_high ? EQUAL : BELOW
    };
    if (vug_schema_ok(s))
        (void)number_of_state(&g, start);
    for (uint32_t id = 0; id < g.states.n && vug_schema_charge(s, 1); id++)
        add_state_edges(&g, id);
    if (g.edges.bad)
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
    vug_grammar_expr out = VUG_EMPTY_EXPR;
    if (vug_schema_ok(s))
        out = vug_grammar_bounded_graph(s->builder, (const void *)g.edges.ptr,
                                        g.edges.len / sizeof(vug_grammar_edge),
                                        g.n_high ? VUG_REPEAT_UNBOUNDED : MAX_DIGITS);
    vug_buf_release(&g.edges);
    vug_intern_release(&g.states);
    return out;
}
