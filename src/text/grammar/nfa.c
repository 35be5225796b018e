#include "text/grammar/nfa.h"

#include "core/utf8.h"

/*
 * Thompson's construction (1968), from the end of each body to its beginning: emit_expr gets
 * the state that follows an expression and returns the one where the expression begins. Only
 * the back edge of a loop has to be patched later.
 *
 * Characters become bytes here. A range of characters is cut into a few sequences of byte
 * ranges (as in RE2, re2/compile.cc, AddRuneRangeUTF8). The sequences of one class share the
 * states of their trailing continuation bytes.
 */

typedef struct {
    const vug_grammar_builder *builder;
    const uint8_t *plan_flags;
    vug_nfa *nfa;
    uint32_t *rule_of;      /* [exprs]: rule number of a separate rule; VUG_NFA_NONE: none yet */
    uint32_t *body_of;      /* [exprs]: body number; VUG_NFA_NONE: none yet */
    uint32_t *ascii_set_of; /* [exprs]: ASCII set of a class; VUG_NFA_NONE: none yet */
    bool full;
} nfa_builder;

static uint32_t emit_expr(nfa_builder *b, vug_grammar_expr expr, uint32_t next);

static uint32_t add_state(nfa_builder *b, vug_nfa_state state)
{
    const size_t n = b->nfa->state.len / sizeof(state);
    if (n >= VUG_NFA_MAX_STATES)
        b->full = true;
    else
        vug_buf_push(&b->nfa->state, &state, sizeof(state));
    return (uint32_t)n;
}

static bool has_failed(const nfa_builder *b)
{
    return b->full || b->nfa->state.bad || b->nfa->ascii.bad || b->nfa->entry.bad ||
           b->nfa->rule.bad || b->nfa->body.bad;
}

static uint32_t add_split(nfa_builder *b, uint32_t to, uint32_t other)
{
    return add_state(b, (vug_nfa_state){ .kind = VUG_NFA_SPLIT, .to = to, .other = other });
}

static uint32_t add_byte_range(nfa_builder *b, uint8_t from, uint8_t upto, uint32_t next)
{
    return add_state(
            b, (vug_nfa_state){ .kind = VUG_NFA_BYTES, .from = from, .upto = upto, .to = next });
}

/* ---- rules and bodies ----------------------------------------------------- */

static uint32_t body_of_expr(nfa_builder *b, vug_grammar_expr expr)
{
    if (b->body_of[expr] == VUG_NFA_NONE) {
        b->body_of[expr] = (uint32_t)(b->nfa->body.len / sizeof(vug_nfa_body));
        const vug_nfa_body body = { .expr = expr };
        vug_buf_append(&b->nfa->body, &body, sizeof(body));
    }
    return b->body_of[expr];
}

static uint32_t add_rule(nfa_builder *b, vug_grammar_expr expr, uint32_t min, uint32_t max)
{
    const uint32_t n = (uint32_t)(b->nfa->rule.len / sizeof(vug_nfa_rule));
    const vug_nfa_rule rule = { body_of_expr(b, expr), min, max };
    vug_buf_append(&b->nfa->rule, &rule, sizeof(rule));
    return n;
}

static uint32_t add_call(nfa_builder *b, uint32_t rule, uint32_t next)
{
    return add_state(b, (vug_nfa_state){ .kind = VUG_NFA_CALL, .to = next, .other = rule });
}

static uint32_t rule_of_expr(nfa_builder *b, vug_grammar_expr expr)
{
    const vug_expr_node *node = vug_expr_get(b->builder, expr);
    if (b->rule_of[expr] == VUG_NFA_NONE)
        b->rule_of[expr] = vug_expr_is_bounded_graph(node) ? add_rule(b, expr, 0, node->limit)
                                                           : add_rule(b, expr, 1, 1);
    return b->rule_of[expr];
}

/* ---- characters ------------------------------------------------------------ */

typedef struct {
    uint32_t next;
    uint32_t tail[4]; /* [i] reads i continuation bytes and then goes to `next` */
    uint32_t start;   /* of the choice among the sequences added so far */
} class_emitter;

static class_emitter new_class_emitter(uint32_t next)
{
    return (class_emitter){ .next = next,
                            .tail = { 0, VUG_NFA_NONE, VUG_NFA_NONE, VUG_NFA_NONE },
                            .start = VUG_NFA_NONE };
}

static uint32_t tail_states(nfa_builder *b, class_emitter *c, size_t n)
{
    if (n == 0)
        return c->next;
    for (size_t i = 1; i <= n; i++) {
        if (c->tail[i] == VUG_NFA_NONE)
            c->tail[i] = add_byte_range(b, 0x80, 0xbf, i == 1 ? c->next : c->tail[i - 1]);
    }
    return c->tail[n];
}

/* The range is one that product_range_end found: the product of a range for each byte. */
static void add_utf8_ranges(nfa_builder *b, class_emitter *c, uint32_t from, uint32_t to)
{
    char low[4], high[4];
    const size_t n = vug_utf8_encode(from, low);
    (void)vug_utf8_encode(to, high);
    size_t fixed = n;
    while (fixed > 1 && (uint8_t)low[fixed - 1] == 0x80 && (uint8_t)high[fixed - 1] == 0xbf)
        fixed--;
    uint32_t at = tail_states(b, c, n - fixed);
    for (size_t i = fixed; i-- > 0;)
        at = add_byte_range(b, (uint8_t)low[i], (uint8_t)high[i], at);
    c->start = c->start == VUG_NFA_NONE ? at : add_split(b, at, c->start);
}

/* The end of the first part of [from, to] that one sequence of byte ranges can express. */
static uint32_t product_range_end(uint32_t from, uint32_t to)
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

/* The ASCII characters of a class. */
static uint32_t ascii_set_of(nfa_builder *b, vug_grammar_expr expr, const vug_expr_node *node)
{
    if (b->ascii_set_of[expr] == VUG_NFA_NONE) {
        vug_nfa_ascii_set set = { 0 };
        for (uint32_t i = 0; i < node->n; i++) {
            const vug_char_range here = vug_expr_ranges(b->builder, node)[i];
            for (uint32_t c = here.from; c <= here.to && c < 0x80; c++)
                set.has[c / 64] |= (uint64_t)1 << (c % 64);
        }
        b->ascii_set_of[expr] = (uint32_t)(b->nfa->ascii.len / sizeof(set));
        vug_buf_append(&b->nfa->ascii, &set, sizeof(set));
    }
    return b->ascii_set_of[expr];
}

/* Adds the characters of a class from `first` on. */
static void emit_characters(nfa_builder *b, class_emitter *c, const vug_expr_node *node,
                            uint32_t first)
{
    for (uint32_t i = 0; i < node->n && !has_failed(b); i++) {
        vug_char_range left = vug_expr_ranges(b->builder, node)[i];
        if (left.from < first)
            left.from = first;
        while (left.from <= left.to) {
            const uint32_t end = product_range_end(left.from, left.to);
            add_utf8_ranges(b, c, left.from, end);
            left.from = end + 1;
        }
    }
}

static uint32_t emit_class(nfa_builder *b, vug_grammar_expr expr, const vug_expr_node *node,
                           uint32_t next)
{
    class_emitter c = new_class_emitter(next);
    const bool set = node->n > 1 && vug_expr_ranges(b->builder, node)[1].to < 0x80;
    if (set)
        c.start = add_state(b, (vug_nfa_state){ .kind = VUG_NFA_ASCII,
                                                .to = next,
                                                .other = ascii_set_of(b, expr, node) });
    emit_characters(b, &c, node, set ? 0x80 : 0);
    return c.start;
}

/* ---- combinators -------------------------------------------------- */

static uint32_t emit_choice(nfa_builder *b, const vug_expr_node *node, uint32_t next)
{
    if (node->n == 0)
        return add_split(b, VUG_NFA_NONE, VUG_NFA_NONE);
    uint32_t at = VUG_NFA_NONE;
    for (uint32_t i = node->n; i-- > 0 && !has_failed(b);) {
        const uint32_t branch = emit_expr(b, vug_expr_parts(b->builder, node)[i], next);
        at = i + 1 == node->n ? branch : add_split(b, branch, at);
    }
    return at;
}

static uint32_t emit_star(nfa_builder *b, vug_grammar_expr part, uint32_t next)
{
    const uint32_t loop = add_split(b, VUG_NFA_NONE, next);
    const uint32_t branch = emit_expr(b, part, loop);
    if (!has_failed(b))
        VUG_NFA_STATE(b->nfa)[loop].to = branch;
    return loop;
}

static uint32_t emit_repeat(nfa_builder *b, vug_grammar_expr expr, const vug_expr_node *node,
                            uint32_t next)
{
    const bool unbounded = node->max == VUG_REPEAT_UNBOUNDED;
    if (b->plan_flags[expr] & VUG_PLAN_COUNTED_LOOP) {
        const uint32_t min = node->n ? node->n : 1;
        const uint32_t at = add_call(b, add_rule(b, node->at, min, node->max), next);
        return node->n ? at : add_split(b, at, next);
    }
    uint32_t at = unbounded ? emit_star(b, node->at, next) : next;
    for (uint32_t i = unbounded ? node->n : node->max; i-- > 0 && !has_failed(b);) {
        const uint32_t branch = emit_expr(b, node->at, at);
        at = i < node->n ? branch : add_split(b, branch, next);
    }
    return at;
}

/* Adds a branch to a chain of splits, whose last one may have room. */
static void add_branch(nfa_builder *b, uint32_t at, uint32_t branch)
{
    vug_nfa_state *split = VUG_NFA_STATE(b->nfa) + at;
    if (split->to == VUG_NFA_NONE) {
        split->to = branch;
        return;
    }
    if (split->other == VUG_NFA_NONE) {
        split->other = branch;
        return;
    }
    const uint32_t more = add_split(b, branch, split->other);
    if (!has_failed(b))
        VUG_NFA_STATE(b->nfa)[at].other = more;
}

/* What the outgoing edges of a state of a graph read, if it is a single byte. */
enum { MAX_TABLE = 64 };
typedef struct {
    uint32_t at; /* the chain of splits for the other edges */
    size_t n;
    vug_nfa_entry entry[MAX_TABLE];
} graph_table;

static void add_entry(nfa_builder *b, graph_table *t, unsigned from, unsigned upto, uint32_t to)
{
    if (t->n == MAX_TABLE)
        add_branch(b, t->at, add_byte_range(b, (uint8_t)from, (uint8_t)upto, to));
    else
        t->entry[t->n++] = (vug_nfa_entry){ (uint8_t)from, (uint8_t)upto, to };
}

/* The label of an edge to the state `to`. */
static void emit_label(nfa_builder *b, graph_table *t, vug_grammar_expr label, uint32_t to)
{
    const vug_expr_node *node = vug_expr_get(b->builder, label);
    const bool separate = b->plan_flags[label] & VUG_PLAN_SEPARATE_RULE;
    if (!separate && node->kind == VUG_EXPR_CHOICE) {
        for (uint32_t i = 0; i < node->n && !has_failed(b); i++)
            emit_label(b, t, vug_expr_parts(b->builder, node)[i], to);
    } else if (!separate && node->kind == VUG_EXPR_LITERAL && node->n == 1) {
        const uint8_t byte = (uint8_t)vug_expr_text(b->builder, node).ptr[0];
        add_entry(b, t, byte, byte, to);
    } else if (!separate && node->kind == VUG_EXPR_CLASS) {
        const vug_char_range *range = vug_expr_ranges(b->builder, node);
        class_emitter c = new_class_emitter(to);
        for (uint32_t i = 0; i < node->n && range[i].from < 0x80 && !has_failed(b); i++)
            add_entry(b, t, range[i].from, range[i].to < 0x80 ? range[i].to : 0x7f, to);
        if (range[node->n - 1].to >= 0x80)
            emit_characters(b, &c, node, 0x80);
        if (c.start != VUG_NFA_NONE && !has_failed(b))
            add_branch(b, t->at, c.start);
    } else {
        const uint32_t branch = emit_expr(b, label, to);
        if (!has_failed(b))
            add_branch(b, t->at, branch);
    }
}

/* Sorts by insertion: there are few entries. Whether they are disjoint. */
static bool sort_entries(graph_table *t)
{
    bool disjoint = true;
    for (size_t i = 1; i < t->n; i++) {
        const vug_nfa_entry moving = t->entry[i];
        size_t j = i;
        for (; j > 0 && t->entry[j - 1].from > moving.from; j--)
            t->entry[j] = t->entry[j - 1];
        t->entry[j] = moving;
    }
    for (size_t i = 1; i < t->n; i++)
        disjoint = disjoint && t->entry[i - 1].upto < t->entry[i].from;
    return disjoint;
}

/* Entries that overlap become states of their own. */
static void emit_table(nfa_builder *b, graph_table *t)
{
    const size_t first = b->nfa->entry.len / sizeof(vug_nfa_entry);
    if (t->n > 1 && sort_entries(t)) {
        vug_buf_append(&b->nfa->entry, t->entry, t->n * sizeof(*t->entry));
        const vug_nfa_state state = { .kind = VUG_NFA_TABLE,
                                      .to = (uint32_t)(first + t->n),
                                      .other = (uint32_t)first };
        t->entry[0] = (vug_nfa_entry){ 0, 0, add_state(b, state) };
        if (!has_failed(b))
            add_branch(b, t->at, t->entry[0].to);
        return;
    }
    for (size_t i = 0; i < t->n && !has_failed(b); i++) {
        const vug_nfa_entry e = t->entry[i];
        const uint32_t branch = add_byte_range(b, e.from, e.upto, e.to);
        if (!has_failed(b))
            add_branch(b, t->at, branch);
    }
}

/* Each state of the graph becomes a chain of splits: a table, and what else its outgoing edges may
 * match. If paths are bounded, each edge ends by counting itself. A state whose edges do not follow
 * each other has several tables. */
static uint32_t emit_graph(nfa_builder *b, const vug_expr_node *node, uint32_t next)
{
    const vug_grammar_edge *edge = vug_expr_edges(b->builder, node);
    const uint32_t first = (uint32_t)(b->nfa->state.len / sizeof(vug_nfa_state));
    for (uint32_t i = 0; i < node->max && !has_failed(b); i++)
        (void)add_split(b, VUG_NFA_NONE, VUG_NFA_NONE);
    const bool bounded = vug_expr_is_bounded_graph(node);
    const uint32_t targets = bounded ? first + node->max : first;
    for (uint32_t i = 0; bounded && i < node->max && !has_failed(b); i++)
        (void)add_call(b, VUG_RULE_COUNT, first + i);
    graph_table table = { .n = 0 };
    for (uint32_t i = 0; i < node->n && !has_failed(b); i++) {
        if (i == 0 || edge[i].from != edge[i - 1].from) {
            if (i > 0)
                emit_table(b, &table);
            table.at = first + edge[i].from;
            table.n = 0;
        }
        emit_label(b, &table, edge[i].label,
                   edge[i].to == VUG_GRAMMAR_GRAPH_END ? next : targets + edge[i].to);
    }
    if (!has_failed(b))
        emit_table(b, &table);
    return first;
}

static uint32_t emit_inlined(nfa_builder *b, vug_grammar_expr expr, uint32_t next)
{
    const vug_expr_node *node = vug_expr_get(b->builder, expr);
    uint32_t at = next;
    switch (node->kind) {
    case VUG_EXPR_EMPTY:
        break;
    case VUG_EXPR_LITERAL: {
        const vug_str text = vug_expr_text(b->builder, node);
        for (size_t i = text.len; i-- > 0;)
            at = add_byte_range(b, (uint8_t)text.ptr[i], (uint8_t)text.ptr[i], at);
        break;
    }
    case VUG_EXPR_CLASS:
        return emit_class(b, expr, node, next);
    case VUG_EXPR_SEQUENCE:
        for (uint32_t i = node->n; i-- > 0 && !has_failed(b);)
            at = emit_expr(b, vug_expr_parts(b->builder, node)[i], at);
        break;
    case VUG_EXPR_CHOICE:
        return emit_choice(b, node, next);
    case VUG_EXPR_REPEAT:
        return emit_repeat(b, expr, node, next);
    case VUG_EXPR_GRAPH:
        return emit_graph(b, node, next);
    case VUG_EXPR_RULE:
        return emit_expr(b, node->at, next);
    case VUG_EXPR_LOOKAHEAD:
        VUG_ASSERT(false); /* vug_grammar_resolve_lookahead has replaced them by graphs */
    }
    return at;
}

/* The recursion is as deep as the trees that the plan inlines. */
static uint32_t emit_expr(nfa_builder *b, vug_grammar_expr expr, uint32_t next)
{
    if (b->plan_flags[expr] & VUG_PLAN_SEPARATE_RULE)
        return add_call(b, rule_of_expr(b, expr), next);
    return emit_inlined(b, expr, next);
}

static vug_status build_bodies(nfa_builder *b, vug_grammar_expr root, vug_err *err)
{
    const size_t n_edges = b->builder->edge.len / sizeof(vug_grammar_edge);
    vug_buf_reserve(&b->nfa->state, 3 * n_edges * sizeof(vug_nfa_state));
    (void)rule_of_expr(b, root);
    for (size_t i = 0; !has_failed(b) && i < b->nfa->body.len / sizeof(vug_nfa_body); i++) {
        const vug_grammar_expr expr = VUG_NFA_BODY(b->nfa)[i].expr;
        const uint32_t final = add_state(b, (vug_nfa_state){ .kind = VUG_NFA_FINAL });
        /* The part of a counted loop may itself be a rule. Both then share the body. */
        const uint32_t start = emit_inlined(b, expr, final);
        if (!b->nfa->body.bad)
            VUG_NFA_BODY(b->nfa)[i].start = start;
    }
    if (b->full)
        return VUG_FAIL(err, VUG_LIMIT, "the grammar has more than %u states", VUG_NFA_MAX_STATES);
    if (has_failed(b))
        return VUG_FAIL_NOMEM(err, "the states of a grammar", b->nfa->state.len);
    return VUG_OK;
}

vug_status vug_nfa_build(const vug_grammar_builder *builder, vug_grammar_expr root,
                         const vug_inline_plan *plan, vug_nfa *nfa, vug_err *err)
{
    const size_t n = vug_grammar_expr_count(builder);
    nfa_builder b = { .builder = builder, .plan_flags = plan->flags, .nfa = nfa };
    b.rule_of = vug_alloc(n, sizeof(*b.rule_of));
    b.body_of = vug_alloc(n, sizeof(*b.body_of));
    b.ascii_set_of = vug_alloc(n, sizeof(*b.ascii_set_of));
    vug_status st;
    if (b.rule_of && b.body_of && b.ascii_set_of) {
        memset(b.rule_of, 0xff, n * sizeof(*b.rule_of));
        memset(b.body_of, 0xff, n * sizeof(*b.body_of));
        memset(b.ascii_set_of, 0xff, n * sizeof(*b.ascii_set_of));
        st = build_bodies(&b, root, err);
    } else {
        st = VUG_FAIL_NOMEM(err, "the states of a grammar", n * sizeof(*b.rule_of));
    }
    vug_free(b.rule_of);
    vug_free(b.body_of);
    vug_free(b.ascii_set_of);
    return st;
}

void vug_nfa_release(vug_nfa *nfa)
{
    vug_buf_release(&nfa->state);
    vug_buf_release(&nfa->ascii);
    vug_buf_release(&nfa->entry);
    vug_buf_release(&nfa->body);
    vug_buf_release(&nfa->rule);
}
