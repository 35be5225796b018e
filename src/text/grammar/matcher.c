#include "text/grammar/matcher.h"

#include "core/cancel.h"
#include "text/grammar/group_trie.h"

enum { FRAME_WORDS = sizeof(vug_stack_frame) / sizeof(uint32_t) };

/* ---- frames ------------------------------------------------------------------- */

static uint32_t intern_frame(vug_grammar_matcher *m, vug_stack_frame frame)
{
    uint32_t words[FRAME_WORDS];
    memcpy(words, &frame, sizeof(frame));
    const uint32_t id = m->frames.n < VUG_MATCHER_MAX_FRAMES
                                ? vug_intern_add(&m->frames, words, FRAME_WORDS)
                                : VUG_INTERN_NONE;
    if (id == VUG_INTERN_NONE) {
        m->nomem = m->nomem || m->frames.n < VUG_MATCHER_MAX_FRAMES;
        m->work = VUG_MATCHER_MAX_WORK;
        return VUG_STACK_BOTTOM;
    }
    if (id >= m->cap_seen) {
        const size_t cap = m->cap_seen ? 2 * m->cap_seen : 256;
        uint32_t *seen = vug_realloc(m->seen, cap, sizeof(*seen));
        if (!seen) {
            m->nomem = true;
            m->work = VUG_MATCHER_MAX_WORK;
            return VUG_STACK_BOTTOM;
        }
        memset(seen + m->cap_seen, 0, (cap - m->cap_seen) * sizeof(*seen));
        m->seen = seen;
        m->cap_seen = cap;
    }
    return id;
}

void vug_grammar_matcher_poll_cancel(vug_grammar_matcher *m)
{
    m->next_poll = m->work + VUG_MATCHER_POLL_WORK;
    if (vug_is_cancelled(m->cancel)) {
        m->cancelled = true;
        m->work = VUG_MATCHER_MAX_WORK;
    }
}

/* ---- closures ------------------------------------------------------------------ */

typedef struct {
    size_t n_pending, n_list;
    bool accepts;
} closure;

static closure begin_closure(vug_grammar_matcher *m)
{
    m->n_closures++;
    return (closure){ 0 };
}

static void visit_frame(vug_grammar_matcher *m, closure *c, uint32_t frame)
{
    if (frame == VUG_STACK_BOTTOM) {
        c->accepts = true;
        return;
    }
    if (m->seen[frame] == m->n_closures)
        return;
    if (c->n_pending + c->n_list >= VUG_MATCHER_MAX_STACKS) {
        m->work = VUG_MATCHER_MAX_WORK;
        return;
    }
    m->seen[frame] = m->n_closures;
    m->pending[c->n_pending++] = frame;
}

static void visit_new_frame(vug_grammar_matcher *m, closure *c, vug_stack_frame frame)
{
    const uint32_t id = intern_frame(m, frame);
    if (!vug_grammar_matcher_stopped(m))
        visit_frame(m, c, id);
}

/* A frame at the end of its body: pop it, or run a counted body again. */
static void leave_body(vug_grammar_matcher *m, closure *c, const vug_stack_frame *f)
{
    const vug_automaton_state *s = &m->a->state[f->state];
    const uint32_t min = f->min > 0 ? f->min - 1 : 0;
    if (min == 0)
        visit_frame(m, c, f->below);
    if (s->counts_edges)
        return;
    const uint32_t max = f->max == VUG_REPEAT_UNBOUNDED ? f->max : f->max - 1;
    /* A body that may end in its start state may be empty, so its minimum is 0, and running it
     * again would allow nothing new. */
    if (max > 0 && f->state != s->start)
        visit_new_frame(m, c, (vug_stack_frame){ s->start, min, max, f->below });
}

static void follow_call(vug_grammar_matcher *m, closure *c, const vug_stack_frame *f,
                        const vug_call_edge *edge)
{
    const bool counts = edge->rule == VUG_RULE_COUNT;
    if ((uint64_t)m->a->state[edge->return_state].distance + counts > f->max)
        return;
    if (counts) {
        visit_new_frame(m, c,
                        (vug_stack_frame){ edge->return_state, f->min, f->max - 1, f->below });
        return;
    }
    const vug_automaton_rule *rule = &m->a->rule[edge->rule];
    /* A tail call does not return to the caller, so right-recursive rules are loops. The frame of an
     * array whose items differ stays, since unique_tokens.c looks for it. */
    const vug_automaton_state *back = &m->a->state[edge->return_state];
    const bool is_tail_call = back->final_only && f->max == 1 && f->min == 1 &&
                              !m->a->state[back->start].unique_items;
    const uint32_t below = is_tail_call
                                   ? f->below
                                   : intern_frame(m, (vug_stack_frame){ edge->return_state, f->min,
                                                                        f->max, f->below });
    if (!vug_grammar_matcher_stopped(m))
        visit_new_frame(m, c, (vug_stack_frame){ rule->start, rule->min, rule->max, below });
}

static vug_stack_set intern_stack_set(vug_grammar_matcher *m, size_t n)
{
    if (m->stack_sets.n >= VUG_MATCHER_MAX_STACK_SETS)
        m->work = VUG_MATCHER_MAX_WORK;
    if (vug_grammar_matcher_stopped(m))
        return VUG_STACK_SET_FAILED;
    const uint32_t id = vug_row_table_reserve(&m->rows, m->stack_sets.n)
                                ? vug_intern_add(&m->stack_sets, m->list, n)
                                : VUG_INTERN_NONE;
    if (id == VUG_INTERN_NONE) {
        m->nomem = true;
        return VUG_STACK_SET_FAILED;
    }
    return id;
}

/* The stack set that the pending frames lead to, following calls and ends of bodies. It keeps
 * frames that read a byte; in bounded graphs also final states without edges, whose counts
 * frame_mask.c reads. */
static vug_stack_set follow_pending(vug_grammar_matcher *m, closure *c)
{
    const vug_automaton *a = m->a;
    while (c->n_pending > 0 && !vug_grammar_matcher_stopped(m)) {
        const uint32_t id = m->pending[--c->n_pending];
        const vug_stack_frame f = vug_stack_frame_get(m, id);
        const vug_automaton_state *s = &a->state[f.state];
        (void)vug_grammar_matcher_charge(m, VUG_MATCHER_FRAME_WORK);
        if (f.max > 0 && (s[1].edge > s[0].edge || (s->counts_edges && s->final)))
            m->list[1 + c->n_list++] = id;
        for (uint32_t i = s[0].call;
             i < s[1].call && vug_grammar_matcher_charge(m, VUG_MATCHER_FRAME_WORK); i++)
            follow_call(m, c, &f, &a->call[i]);
        if (s->final)
            leave_body(m, c, &f);
    }
    if (vug_grammar_matcher_stopped(m))
        return VUG_STACK_SET_FAILED;
    m->list[0] = c->accepts;
    return intern_stack_set(m, 1 + vug_sort_unique(m->list + 1, c->n_list));
}

vug_stack_set vug_grammar_matcher_single_frame(vug_grammar_matcher *m, vug_stack_frame frame)
{
    frame.below = VUG_STACK_BOTTOM;
    m->list[0] = 0;
    m->list[1] = intern_frame(m, frame);
    return intern_stack_set(m, 2);
}

vug_stack_set vug_grammar_matcher_start(vug_grammar_matcher *m)
{
    closure c = begin_closure(m);
    const vug_automaton_rule root = m->a->rule[0];
    visit_new_frame(m, &c, (vug_stack_frame){ root.start, root.min, root.max, VUG_STACK_BOTTOM });
    return follow_pending(m, &c);
}

vug_stack_set vug_grammar_matcher_pop(vug_grammar_matcher *m, uint32_t frame)
{
    closure c = begin_closure(m);
    visit_frame(m, &c, vug_stack_frame_get(m, frame).below);
    return follow_pending(m, &c);
}

/* ---- steps --------------------------------------------------------------------- */

/* Where a byte leads from a state. False if nowhere. */
static bool find_edge(const vug_automaton *a, uint32_t state, uint8_t byte, uint32_t *to)
{
    uint32_t low = a->state[state].edge, high = a->state[state + 1].edge;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const vug_byte_edge *e = &a->edge[middle];
        if (byte < e->from)
            high = middle;
        else if (byte > e->to)
            low = middle + 1;
        else {
            *to = e->state;
            return true;
        }
    }
    return false;
}

vug_stack_set vug_grammar_matcher_compute_step(vug_grammar_matcher *m, vug_stack_set stacks,
                                               uint32_t byte_class)
{
    const uint8_t byte = m->a->byte_of[byte_class];
    closure c = begin_closure(m);
    size_t n;
    const uint32_t *frame = vug_stack_set_frames(m, stacks, &n);
    for (size_t i = 0; i < n && !vug_grammar_matcher_stopped(m); i++) {
        vug_stack_frame f = vug_stack_frame_get(m, frame[i]);
        (void)vug_grammar_matcher_charge(m, VUG_MATCHER_FRAME_WORK);
        if (find_edge(m->a, f.state, byte, &f.state) && m->a->state[f.state].distance <= f.max)
            visit_new_frame(m, &c, f);
    }
    const vug_stack_set to = follow_pending(m, &c);
    if (to != VUG_STACK_SET_FAILED)
        vug_row_table_get(&m->rows, stacks)[byte_class] = to;
    return to;
}

/* ---- lifetime ----------------------------------------------------------------------- */

/* The bottom frame and the empty stack set always exist. */
static bool add_initial(vug_grammar_matcher *m)
{
    (void)intern_frame(m, (vug_stack_frame){ 0 });
    m->list[0] = 0;
    return !vug_grammar_matcher_stopped(m) && intern_stack_set(m, 1) == VUG_STACK_SET_DEAD;
}

vug_status vug_grammar_matcher_init(vug_grammar_matcher *m, const vug_automaton *automaton,
                                    vug_err *err)
{
    *m = (vug_grammar_matcher){ .a = automaton,
                                .rows = { .width = automaton->n_classes },
                                .group_rows = { .width = VUG_GROUP_N_CACHED } };
    m->pending = vug_alloc(VUG_MATCHER_MAX_STACKS, sizeof(*m->pending));
    m->list = vug_alloc(VUG_MATCHER_MAX_STACKS + 1, sizeof(*m->list));
    if (!m->pending || !m->list || !add_initial(m)) {
        vug_grammar_matcher_release(m);
        return VUG_FAIL_NOMEM(err, "a grammar matcher",
                              (size_t)2 * VUG_MATCHER_MAX_STACKS * sizeof(*m->list));
    }
    return VUG_OK;
}

void vug_grammar_matcher_release(vug_grammar_matcher *m)
{
    vug_intern_release(&m->frames);
    vug_intern_release(&m->stack_sets);
    vug_row_table_release(&m->rows);
    vug_row_table_release(&m->group_rows);
    vug_free(m->seen);
    vug_free(m->pending);
    vug_free(m->list);
    *m = (vug_grammar_matcher){ 0 };
}

/* Frames have higher numbers than those below them: one pass down marks the frames in use,
 * and one pass up copies them. `to` has an element for every frame, nonzero if it is in use. */
static bool copy_frames(vug_grammar_matcher *m, vug_grammar_matcher *fresh, uint32_t *to)
{
    for (size_t i = m->frames.n; i-- > 1;) {
        if (to[i])
            to[vug_stack_frame_get(m, (uint32_t)i).below] = 1;
    }
    to[VUG_STACK_BOTTOM] = VUG_STACK_BOTTOM;
    for (size_t i = 1; i < m->frames.n && !vug_grammar_matcher_stopped(fresh); i++) {
        if (!to[i])
            continue;
        vug_stack_frame f = vug_stack_frame_get(m, (uint32_t)i);
        f.below = to[f.below];
        to[i] = intern_frame(fresh, f);
    }
    return !vug_grammar_matcher_stopped(fresh);
}

static vug_status forget_unused(vug_grammar_matcher *m, vug_stack_set *stacks, vug_err *err)
{
    vug_grammar_matcher fresh;
    size_t n;
    VUG_TRY(vug_grammar_matcher_init(&fresh, m->a, err));
    fresh.cancel = m->cancel;
    uint32_t *to = vug_alloc_zero(m->frames.n, sizeof(*to));
    const uint32_t *frame = vug_stack_set_frames(m, *stacks, &n);
    for (size_t i = 0; to && i < n; i++)
        to[frame[i]] = 1;
    bool moved = to && copy_frames(m, &fresh, to);
    if (moved) {
        fresh.list[0] = vug_stack_set_accepts(m, *stacks);
        for (size_t i = 0; i < n; i++)
            fresh.list[1 + i] = to[frame[i]];
        const vug_stack_set same = intern_stack_set(&fresh, 1 + vug_sort_unique(fresh.list + 1, n));
        moved = same != VUG_STACK_SET_FAILED;
        if (moved)
            *stacks = same;
    }
    vug_free(to);
    if (!moved) {
        vug_grammar_matcher_release(&fresh);
        return VUG_FAIL_NOMEM(err, "a grammar matcher", m->frames.n * sizeof(vug_stack_frame));
    }
    vug_grammar_matcher_release(m);
    *m = fresh;
    return VUG_OK;
}

vug_status vug_grammar_matcher_begin_call(vug_grammar_matcher *m, vug_stack_set *stacks,
                                          bool *forgotten, vug_err *err)
{
    *forgotten =
            m->stack_sets.n > VUG_MATCHER_KEEP_STACK_SETS || m->frames.n > VUG_MATCHER_KEEP_FRAMES;
    if (*forgotten)
        VUG_TRY(forget_unused(m, stacks, err));
    m->work = m->next_poll = 0;
    m->nomem = m->cancelled = false;
    return VUG_OK;
}

vug_status vug_grammar_matcher_error(const vug_grammar_matcher *m, vug_err *err)
{
    if (m->nomem)
        return VUG_FAIL_NOMEM(err, "a grammar matcher", m->frames.n * sizeof(vug_stack_frame));
    if (m->cancelled)
        return VUG_FAIL(err, VUG_CANCELLED, "matching against the grammar was cancelled");
    return VUG_FAIL(err, VUG_LIMIT,
                    "the grammar is too ambiguous here: more than %d stacks at once, %zu sets of "
                    "stacks, or %llu steps for the next token",
                    VUG_MATCHER_MAX_STACKS, VUG_MATCHER_MAX_STACK_SETS,
                    (unsigned long long)VUG_MATCHER_MAX_WORK);
}
