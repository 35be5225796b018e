#include "text/grammar/regex_derivatives.h"

enum {
    MAX_STATES = 1 << 17,
    MAX_ALTERNATIVES = 1 << 20,
    MAX_CELLS = 1 << 22, /* states times symbols */
    WORDS_PER_STEP = 16, /* numbers compared or copied in one step of work */
    CONTINUATION_END = 0,
    CONTINUATION_ANY_TEXT = 1,
};

/* An alternative, taken apart up to its first character. */
typedef struct {
    vug_grammar_expr class; /* of the first character; VUG_EMPTY_EXPR: the text ends here */
    uint32_t then;          /* the continuation after it */
    uint32_t constraints;
    uint32_t next; /* without constraints: the alternative after the character */
} alternative_head;

typedef struct {
    bool expanded; /* the state's `accepts` and its row of `next` are valid */
    bool accepts;
} derivatives_info;

#define U32(buf)   ((uint32_t *)(void *)(buf).ptr)
#define COUNT(buf) ((buf).len / sizeof(uint32_t))

static void fail_with(vug_derivatives *d, vug_status st, const char *why)
{
    if (d->to->st == VUG_OK)
        d->to->st = VUG_FAIL(&d->to->err, st, "%s", why);
}

static void fail_too_many_states(vug_derivatives *d)
{
    fail_with(d, VUG_LIMIT, "patterns with lookahead, or combined patterns, need too many states");
}

void vug_derivatives_charge(vug_derivatives *d, size_t n)
{
    d->to->lookahead_work += n;
    if (d->to->lookahead_work > VUG_GRAMMAR_MAX_LOOKAHEAD_WORK || d->states.n > MAX_STATES ||
        d->alternatives.n > MAX_ALTERNATIVES)
        fail_too_many_states(d);
}

void vug_derivatives_append(vug_derivatives *d, vug_buf *list, const void *element, size_t size)
{
    vug_buf_append(list, element, size);
    if (list->bad)
        fail_with(d, VUG_NOMEM, "out of memory: a pattern with lookahead");
}

static void append_u32(vug_derivatives *d, vug_buf *list, uint32_t value)
{
    vug_derivatives_append(d, list, &value, sizeof(value));
}

static uint32_t intern_words(vug_derivatives *d, vug_intern_table *sets, const uint32_t *element,
                             size_t n)
{
    vug_derivatives_charge(d, 1 + n / WORDS_PER_STEP);
    const uint32_t id = vug_intern_add(sets, element, n);
    if (id != VUG_INTERN_NONE)
        return id;
    fail_with(d, VUG_NOMEM, "out of memory: a pattern with lookahead");
    return 0;
}

static uint32_t make_continuation(vug_derivatives *d, vug_grammar_expr expr, uint32_t then)
{
    return intern_words(d, &d->continuations, (const uint32_t[]){ expr, then }, 2) + 1;
}

static uint32_t make_alternative(vug_derivatives *d, uint32_t continuation, uint32_t constraints)
{
    const uint32_t alternative =
            intern_words(d, &d->alternatives, (const uint32_t[]){ continuation, constraints }, 2);
    if (alternative == COUNT(d->stamp))
        append_u32(d, &d->stamp, 0);
    return alternative;
}

/* The state of these alternatives, which get sorted. An alternative that any text matches makes
 * the others redundant. */
static uint32_t make_state(vug_derivatives *d, uint32_t *alternative, size_t n)
{
    const uint32_t all = d->any_alternative;
    n = alternative ? vug_sort_unique(alternative, n) : 0;
    for (size_t i = 0; i < n && n > 1; i++) {
        if (alternative[i] == all) {
            alternative[0] = all;
            n = 1;
        }
    }
    const uint32_t state = intern_words(d, &d->states, alternative, n);
    const derivatives_info info = { .expanded = false };
    if (state == d->info.len / sizeof(info))
        vug_derivatives_append(d, &d->info, &info, sizeof(info));
    return state;
}

static derivatives_info *info_of(const vug_derivatives *d, uint32_t state)
{
    return (derivatives_info *)(void *)d->info.ptr + state;
}

bool vug_derivatives_accepts(const vug_derivatives *d, uint32_t state)
{
    return info_of(d, state)->accepts;
}

/* ---- opening alternatives up to their first characters ------------------------------ */

/* Each alternative is opened once. */
static void open_alternative(vug_derivatives *d, vug_buf *pending, uint32_t continuation,
                             uint32_t constraints)
{
    const uint32_t alternative = make_alternative(d, continuation, constraints);
    if (vug_derivatives_failed(d) || U32(d->stamp)[alternative] == d->n_openings)
        return;
    U32(d->stamp)[alternative] = d->n_openings;
    append_u32(d, pending, alternative);
}

static uint32_t add_constraint(vug_derivatives *d, uint32_t constraints, uint32_t constraint)
{
    vug_buf list = { 0 };
    size_t n;
    const uint32_t *others = vug_intern_get(&d->constraints, constraints, &n);
    vug_derivatives_append(d, &list, others, n * sizeof(*others));
    append_u32(d, &list, constraint);
    if (!vug_derivatives_failed(d))
        constraints =
                intern_words(d, &d->constraints, U32(list), vug_sort_unique(U32(list), n + 1));
    vug_buf_release(&list);
    return constraints;
}

/* Replaces an alternative whose first part is `node` by simpler ones. */
static void open_part(vug_derivatives *d, vug_buf *pending, vug_expr_node node, uint32_t then,
                      uint32_t constraints)
{
    switch (node.kind) {
    case VUG_EXPR_SEQUENCE:
        for (uint32_t i = node.n; i-- > 0;)
            then = make_continuation(d, vug_expr_parts(d->source, &node)[i], then);
        open_alternative(d, pending, then, constraints);
        break;
    case VUG_EXPR_CHOICE:
        for (uint32_t i = 0; i < node.n && !vug_derivatives_failed(d); i++)
            open_alternative(d, pending,
                             make_continuation(d, vug_expr_parts(d->source, &node)[i], then),
                             constraints);
        break;
    case VUG_EXPR_REPEAT: {
        const uint32_t max = node.max == VUG_REPEAT_UNBOUNDED ? node.max : node.max - 1;
        const vug_grammar_expr more =
                vug_grammar_repeat(d->source, node.at, node.n ? node.n - 1 : 0, max);
        if (node.n == 0)
            open_alternative(d, pending, then, constraints);
        open_alternative(d, pending,
                         make_continuation(d, node.at, make_continuation(d, more, then)),
                         constraints);
        break;
    }
    case VUG_EXPR_LOOKAHEAD: {
        uint32_t single = make_alternative(d, make_continuation(d, node.at, CONTINUATION_END), 0);
        const uint32_t state = make_state(d, &single, 1);
        open_alternative(d, pending, then, add_constraint(d, constraints, 2 * state + node.n));
        break;
    }
    case VUG_EXPR_EMPTY:
        open_alternative(d, pending, then, constraints);
        break;
    case VUG_EXPR_LITERAL:
    case VUG_EXPR_CLASS:
    case VUG_EXPR_RULE:
    case VUG_EXPR_GRAPH:
        VUG_ASSERT(false); /* the interface excludes them */
    }
}

/* Appends the heads of all alternatives of a state to `list`. */
static void open_state(vug_derivatives *d, uint32_t state, vug_buf *list)
{
    vug_buf pending = { 0 };
    size_t n;
    d->n_openings++;
    const uint32_t *alternative = vug_intern_get(&d->states, state, &n);
    vug_derivatives_append(d, &pending, alternative, n * sizeof(*alternative));
    for (size_t i = 0; i < n && !vug_derivatives_failed(d); i++)
        U32(d->stamp)[U32(pending)[i]] = d->n_openings;
    while (pending.len > 0 && !vug_derivatives_failed(d)) {
        pending.len -= sizeof(uint32_t);
        const uint32_t *here = vug_intern_get(&d->alternatives, U32(pending)[COUNT(pending)], &n);
        const uint32_t continuation = here[0], constraints = here[1];
        alternative_head head = { VUG_EMPTY_EXPR, CONTINUATION_END, constraints, 0 };
        if (continuation != CONTINUATION_END) {
            const uint32_t *part = vug_intern_get(&d->continuations, continuation - 1, &n);
            const vug_expr_node node = *vug_expr_get(d->source, part[0]);
            head = (alternative_head){ part[0], part[1], constraints, 0 };
            if (node.kind != VUG_EXPR_CLASS) {
                open_part(d, &pending, node, head.then, constraints);
                continue;
            }
            if (constraints == 0)
                head.next = make_alternative(d, head.then, 0);
        }
        vug_derivatives_append(d, list, &head, sizeof(head));
    }
    vug_buf_release(&pending);
}

/* ---- one character on ------------------------------------------------------------------ */

/* Whether the constraints allow the text to end here. */
static bool constraints_accept_end(const vug_derivatives *d, uint32_t constraints)
{
    size_t n;
    const uint32_t *constraint = vug_intern_get(&d->constraints, constraints, &n);
    for (size_t i = 0; i < n; i++)
        if (info_of(d, constraint[i] / 2)->accepts == (constraint[i] & 1))
            return false;
    return true;
}

/* The constraints after a character. False if one of them cannot be met any more. */
static bool step_constraints(vug_derivatives *d, uint32_t *constraints, size_t symbol)
{
    const uint32_t any = d->any_state;
    vug_buf remaining = { 0 };
    bool satisfiable = true;
    size_t n;
    const uint32_t *constraint = vug_intern_get(&d->constraints, *constraints, &n);
    vug_derivatives_charge(d, n + 1);
    for (size_t i = 0; i < n && satisfiable; i++) {
        const bool negated = constraint[i] & 1;
        const uint32_t to = vug_derivatives_next(d, constraint[i] / 2, symbol);
        satisfiable = to != (negated ? any : (uint32_t)VUG_DERIVATIVES_DEAD);
        if (to != (negated ? (uint32_t)VUG_DERIVATIVES_DEAD : any))
            append_u32(d, &remaining, 2 * to + negated);
    }
    if (!vug_derivatives_failed(d))
        *constraints = intern_words(d, &d->constraints, U32(remaining),
                                    vug_sort_unique(U32(remaining), COUNT(remaining)));
    vug_buf_release(&remaining);
    return satisfiable;
}

static bool symbol_in_class(const vug_derivatives *d, size_t symbol, vug_grammar_expr class)
{
    size_t n, low = 0;
    const uint32_t *in = vug_intern_get(&d->symbols, (uint32_t)symbol, &n);
    for (size_t high = n; low < high;) {
        const size_t middle = (low + high) / 2;
        if (in[middle] < class)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && in[low] == class;
}

/* Where a symbol leads from the alternatives. */
static uint32_t step_alternatives(vug_derivatives *d, const alternative_head *head, size_t n,
                                  size_t symbol)
{
    vug_buf alternative = { 0 };
    for (size_t i = 0; i < n && !vug_derivatives_failed(d); i++) {
        uint32_t constraints = head[i].constraints;
        if (head[i].class == VUG_EMPTY_EXPR || !symbol_in_class(d, symbol, head[i].class))
            continue;
        if (constraints == 0)
            append_u32(d, &alternative, head[i].next);
        else if (step_constraints(d, &constraints, symbol))
            append_u32(d, &alternative, make_alternative(d, head[i].then, constraints));
    }
    vug_derivatives_charge(d, n + 1);
    const uint32_t state = vug_derivatives_failed(d)
                                   ? VUG_DERIVATIVES_DEAD
                                   : make_state(d, U32(alternative), COUNT(alternative));
    vug_buf_release(&alternative);
    return state;
}

/* The recursion is as deep as lookahead is nested. */
static void expand_constraints( // NOLINT(misc-no-recursion)
        vug_derivatives *d, uint32_t constraints)
{
    size_t n;
    (void)vug_intern_get(&d->constraints, constraints, &n);
    for (size_t i = 0; i < n && !vug_derivatives_failed(d); i++)
        vug_derivatives_expand(d, vug_intern_get(&d->constraints, constraints, &n)[i] / 2);
}

void vug_derivatives_expand(vug_derivatives *d, uint32_t state) // NOLINT(misc-no-recursion)
{
    if (info_of(d, state)->expanded)
        return;
    info_of(d, state)->expanded = true;
    vug_buf list = { 0 };
    open_state(d, state, &list);
    const alternative_head *head = (const alternative_head *)(const void *)list.ptr;
    const size_t n = list.len / sizeof(*head);
    bool accepts = false;
    for (size_t i = 0; i < n && !vug_derivatives_failed(d); i++) {
        expand_constraints(d, head[i].constraints);
        accepts = accepts || (head[i].class == VUG_EMPTY_EXPR &&
                              constraints_accept_end(d, head[i].constraints));
    }
    info_of(d, state)->accepts = accepts;
    if ((state + (size_t)1) * d->symbols.n > MAX_CELLS)
        fail_too_many_states(d);
    while (COUNT(d->next) < (state + 1) * d->symbols.n && !vug_derivatives_failed(d))
        append_u32(d, &d->next, VUG_DERIVATIVES_DEAD);
    for (size_t symbol = 0; symbol < d->symbols.n && !vug_derivatives_failed(d); symbol++) {
        const uint32_t to = step_alternatives(d, head, n, symbol);
        U32(d->next)[state * d->symbols.n + symbol] = to;
    }
    vug_buf_release(&list);
}

/* ---- symbols ------------------------------------------------------------------ */

/* Characters between two cuts belong to the same classes. */
static void find_cuts(vug_derivatives *d)
{
    append_u32(d, &d->cut, 0);
    for (vug_grammar_expr i = 0; i < vug_grammar_expr_count(d->source); i++) {
        const vug_expr_node *node = vug_expr_get(d->source, i);
        for (uint32_t k = 0; node->kind == VUG_EXPR_CLASS && k < node->n; k++) {
            append_u32(d, &d->cut, vug_expr_ranges(d->source, node)[k].from);
            append_u32(d, &d->cut, vug_expr_ranges(d->source, node)[k].to + 1);
        }
    }
    if (!vug_derivatives_failed(d))
        d->cut.len = vug_sort_unique(U32(d->cut), COUNT(d->cut)) * sizeof(uint32_t);
}

static bool class_has_character(const vug_grammar_builder *source, const vug_expr_node *class,
                                uint32_t c)
{
    for (uint32_t i = 0; i < class->n; i++)
        if (c >= vug_expr_ranges(source, class)[i].from &&
            c <= vug_expr_ranges(source, class)[i].to)
            return true;
    return false;
}

static void find_symbols(vug_derivatives *d)
{
    vug_buf in = { 0 };
    find_cuts(d);
    for (size_t i = 0; i < COUNT(d->cut) && !vug_derivatives_failed(d); i++) {
        in.len = 0;
        for (vug_grammar_expr expr = 0; expr < vug_grammar_expr_count(d->source); expr++) {
            const vug_expr_node *node = vug_expr_get(d->source, expr);
            vug_derivatives_charge(d, 1 + node->n / WORDS_PER_STEP);
            if (node->kind == VUG_EXPR_CLASS &&
                class_has_character(d->source, node, U32(d->cut)[i]))
                append_u32(d, &in, expr);
        }
        append_u32(d, &d->symbol_of, intern_words(d, &d->symbols, U32(in), COUNT(in)));
    }
    vug_buf_release(&in);
}

/* ---- lifetime --------------------------------------------------------------------------- */

uint32_t vug_derivatives_init(vug_derivatives *d, vug_grammar_builder *to,
                              vug_grammar_builder *source, vug_grammar_expr root)
{
    *d = (vug_derivatives){ .source = source, .to = to };
    const vug_grammar_expr any_text = vug_grammar_repeat(
            source, vug_grammar_class(source, NULL, 0, true), 0, VUG_REPEAT_UNBOUNDED);
    if (vug_derivatives_failed(d))
        return VUG_DERIVATIVES_DEAD;
    const uint32_t all = make_continuation(d, any_text, CONTINUATION_END);
    VUG_ASSERT(vug_derivatives_failed(d) || all == CONTINUATION_ANY_TEXT);
    (void)all;
    (void)intern_words(d, &d->constraints, NULL, 0);
    (void)make_state(d, NULL, 0);
    d->any_alternative = make_alternative(d, CONTINUATION_ANY_TEXT, 0);
    uint32_t any = d->any_alternative;
    d->any_state = make_state(d, &any, 1);
    find_symbols(d);
    uint32_t alternative = make_alternative(d, make_continuation(d, root, CONTINUATION_END), 0);
    return make_state(d, &alternative, 1);
}

void vug_derivatives_release(vug_derivatives *d)
{
    vug_intern_release(&d->continuations);
    vug_intern_release(&d->constraints);
    vug_intern_release(&d->alternatives);
    vug_intern_release(&d->states);
    vug_intern_release(&d->symbols);
    vug_buf_release(&d->cut);
    vug_buf_release(&d->symbol_of);
    vug_buf_release(&d->info);
    vug_buf_release(&d->next);
    vug_buf_release(&d->stamp);
}
