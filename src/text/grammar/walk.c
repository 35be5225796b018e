#include "text/grammar/walk.h"

enum { FRAME_WORDS = sizeof(vug_frame) / sizeof(uint32_t) };

/* ---- frames ------------------------------------------------------------------- */

static uint32_t intern_frame(vug_walk *w, vug_frame frame)
{
    uint32_t word[FRAME_WORDS];
    memcpy(word, &frame, sizeof(frame));
    const uint32_t id = w->frames.n < VUG_WALK_MAX_FRAMES
                                ? vug_sets_intern(&w->frames, word, FRAME_WORDS)
                                : VUG_SETS_NONE;
    if (id == VUG_SETS_NONE) {
        w->nomem = w->nomem || w->frames.n < VUG_WALK_MAX_FRAMES;
        w->work = VUG_WALK_MAX_WORK;
        return VUG_FRAME_BOTTOM;
    }
    if (id >= w->cap_met) {
        const size_t cap = w->cap_met ? 2 * w->cap_met : 256;
        uint32_t *met = vug_realloc(w->met, cap, sizeof(*met));
        if (!met) {
            w->nomem = true;
            w->work = VUG_WALK_MAX_WORK;
            return VUG_FRAME_BOTTOM;
        }
        memset(met + w->cap_met, 0, (cap - w->cap_met) * sizeof(*met));
        w->met = met;
        w->cap_met = cap;
    }
    return id;
}

void vug_walk_look(vug_walk *w)
{
    w->look = w->work + VUG_WALK_LOOK_WORK;
    if (w->cancel && atomic_load(w->cancel)) {
        w->cancelled = true;
        w->work = VUG_WALK_MAX_WORK;
    }
}

/* ---- closures ------------------------------------------------------------------ */

typedef struct {
    size_t n_pending, n_list;
    bool done;
} closure;

static closure begin(vug_walk *w)
{
    w->n_closures++;
    return (closure){ 0 };
}

static void visit(vug_walk *w, closure *c, uint32_t frame)
{
    if (frame == VUG_FRAME_BOTTOM) {
        c->done = true;
        return;
    }
    if (w->met[frame] == w->n_closures)
        return;
    if (c->n_pending + c->n_list >= VUG_WALK_MAX_STACKS) {
        w->work = VUG_WALK_MAX_WORK;
        return;
    }
    w->met[frame] = w->n_closures;
    w->pending[c->n_pending++] = frame;
}

static void visit_new(vug_walk *w, closure *c, vug_frame frame)
{
    const uint32_t id = intern_frame(w, frame);
    if (!vug_walk_stuck(w))
        visit(w, c, id);
}

/* What a frame at the end of its body goes on to. */
static void leave(vug_walk *w, closure *c, const vug_frame *f)
{
    const uint32_t start = w->a->state[f->state].start;
    const uint32_t min = f->min > 0 ? f->min - 1 : 0;
    const uint32_t max = f->max == VUG_REPEAT_FOREVER ? f->max : f->max - 1;
    if (min == 0)
        visit(w, c, f->below);
    /* A body that may end at its start may be empty, so that its minimum is 0: to begin it
     * once more would allow nothing that it does not allow now. */
    if (max > 0 && f->state != start)
        visit_new(w, c, (vug_frame){ start, min, max, f->below });
}

static void call(vug_walk *w, closure *c, const vug_frame *f, const vug_call_edge *edge)
{
    const vug_automaton_rule *rule = &w->a->rule[edge->rule];
    /* A call that is the last thing of its body need not come back to it: rules that
     * call themselves at their ends are loops. */
    const bool tail = w->a->state[edge->back].last && f->max == 1 && f->min == 1;
    const uint32_t below =
            tail ? f->below : intern_frame(w, (vug_frame){ edge->back, f->min, f->max, f->below });
    if (!vug_walk_stuck(w))
        visit_new(w, c, (vug_frame){ rule->start, rule->min, rule->max, below });
}

/* Room for the row of one more place. */
static bool reach_row(vug_walk *w)
{
    if (w->places.n < w->cap_rows)
        return true;
    const size_t cap = w->cap_rows ? 2 * w->cap_rows : 64;
    vug_place *row = vug_realloc(w->row, cap * w->a->n_classes, sizeof(*row));
    if (!row)
        return false;
    w->row = row;
    w->cap_rows = cap;
    return true;
}

static vug_place keep_place(vug_walk *w, size_t n)
{
    const size_t before = w->places.n;
    const size_t n_classes = w->a->n_classes;
    if (before >= VUG_WALK_MAX_PLACES)
        w->work = VUG_WALK_MAX_WORK;
    if (vug_walk_stuck(w))
        return VUG_PLACE_FAILED;
    const uint32_t id = reach_row(w) ? vug_sets_intern(&w->places, w->list, n) : VUG_SETS_NONE;
    if (id == VUG_SETS_NONE) {
        w->nomem = true;
        return VUG_PLACE_FAILED;
    }
    if (w->places.n > before)
        memset(w->row + (size_t)id * n_classes, 0xff, n_classes * sizeof(*w->row));
    return id;
}

/* The place of all that the pending frames go on to. */
static vug_place finish(vug_walk *w, closure *c)
{
    const vug_automaton *a = w->a;
    while (c->n_pending > 0 && !vug_walk_stuck(w)) {
        const uint32_t id = w->pending[--c->n_pending];
        const vug_frame f = vug_frame_of(w, id);
        const vug_automaton_state *s = &a->state[f.state];
        (void)vug_walk_spend(w, VUG_WALK_FRAME_WORK);
        if (s[1].edge > s[0].edge)
            w->list[1 + c->n_list++] = id;
        for (uint32_t i = s[0].call; i < s[1].call && vug_walk_spend(w, VUG_WALK_FRAME_WORK); i++)
            call(w, c, &f, &a->call[i]);
        if (s->final)
            leave(w, c, &f);
    }
    if (vug_walk_stuck(w))
        return VUG_PLACE_FAILED;
    w->list[0] = c->done;
    return keep_place(w, 1 + vug_sort_unique(w->list + 1, c->n_list));
}

vug_place vug_walk_alone(vug_walk *w, vug_frame frame)
{
    frame.below = VUG_FRAME_BOTTOM;
    w->list[0] = 0;
    w->list[1] = intern_frame(w, frame);
    return keep_place(w, 2);
}

vug_place vug_walk_start(vug_walk *w)
{
    closure c = begin(w);
    visit_new(w, &c, (vug_frame){ w->a->rule[0].start, 1, 1, VUG_FRAME_BOTTOM });
    return finish(w, &c);
}

vug_place vug_walk_below(vug_walk *w, uint32_t frame)
{
    closure c = begin(w);
    visit(w, &c, vug_frame_of(w, frame).below);
    return finish(w, &c);
}

/* ---- steps --------------------------------------------------------------------- */

/* Where a byte leads from a state; false for nowhere. */
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

vug_place vug_walk_compute(vug_walk *w, vug_place place, uint32_t byte_class)
{
    const uint8_t byte = w->a->byte_of[byte_class];
    closure c = begin(w);
    size_t n;
    const uint32_t *frame = vug_place_frames(w, place, &n);
    for (size_t i = 0; i < n && !vug_walk_stuck(w); i++) {
        vug_frame f = vug_frame_of(w, frame[i]);
        (void)vug_walk_spend(w, VUG_WALK_FRAME_WORK);
        if (find_edge(w->a, f.state, byte, &f.state))
            visit_new(w, &c, f);
    }
    const vug_place to = finish(w, &c);
    if (to != VUG_PLACE_FAILED)
        w->row[(size_t)place * w->a->n_classes + byte_class] = to;
    return to;
}

/* ---- life ----------------------------------------------------------------------- */

/* The frame and the place that are always there. */
static bool put_first(vug_walk *w)
{
    (void)intern_frame(w, (vug_frame){ 0 });
    w->list[0] = 0;
    return !vug_walk_stuck(w) && keep_place(w, 1) == VUG_PLACE_DEAD;
}

vug_status vug_walk_init(vug_walk *w, const vug_automaton *automaton, vug_err *err)
{
    *w = (vug_walk){ .a = automaton };
    w->pending = vug_alloc(VUG_WALK_MAX_STACKS, sizeof(*w->pending));
    w->list = vug_alloc(VUG_WALK_MAX_STACKS + 1, sizeof(*w->list));
    if (!w->pending || !w->list || !put_first(w)) {
        vug_walk_release(w);
        return VUG_FAIL_NOMEM(err, "a walk over a grammar",
                              (size_t)2 * VUG_WALK_MAX_STACKS * sizeof(*w->list));
    }
    return VUG_OK;
}

void vug_walk_release(vug_walk *w)
{
    vug_sets_release(&w->frames);
    vug_sets_release(&w->places);
    vug_free(w->row);
    vug_free(w->met);
    vug_free(w->pending);
    vug_free(w->list);
    *w = (vug_walk){ 0 };
}

/* Frames have higher numbers than those below them: one pass down marks what a place
 * stands on, and one pass up moves it. `to` has a word for every frame. */
static bool move_frames(vug_walk *w, vug_walk *fresh, uint32_t *to)
{
    for (size_t i = w->frames.n; i-- > 1;) {
        if (to[i])
            to[vug_frame_of(w, (uint32_t)i).below] = 1;
    }
    to[VUG_FRAME_BOTTOM] = VUG_FRAME_BOTTOM;
    for (size_t i = 1; i < w->frames.n && !vug_walk_stuck(fresh); i++) {
        if (!to[i])
            continue;
        vug_frame f = vug_frame_of(w, (uint32_t)i);
        f.below = to[f.below];
        to[i] = intern_frame(fresh, f);
    }
    return !vug_walk_stuck(fresh);
}

static vug_status forget(vug_walk *w, vug_place *place, vug_err *err)
{
    vug_walk fresh;
    size_t n;
    VUG_TRY(vug_walk_init(&fresh, w->a, err));
    fresh.cancel = w->cancel;
    uint32_t *to = vug_alloc_zero(w->frames.n, sizeof(*to));
    const uint32_t *frame = vug_place_frames(w, *place, &n);
    for (size_t i = 0; to && i < n; i++)
        to[frame[i]] = 1;
    bool moved = to && move_frames(w, &fresh, to);
    if (moved) {
        fresh.list[0] = vug_place_done(w, *place);
        for (size_t i = 0; i < n; i++)
            fresh.list[1 + i] = to[frame[i]];
        const vug_place same = keep_place(&fresh, 1 + vug_sort_unique(fresh.list + 1, n));
        moved = same != VUG_PLACE_FAILED;
        if (moved)
            *place = same;
    }
    vug_free(to);
    if (!moved) {
        vug_walk_release(&fresh);
        return VUG_FAIL_NOMEM(err, "a walk over a grammar", w->frames.n * sizeof(vug_frame));
    }
    vug_walk_release(w);
    *w = fresh;
    return VUG_OK;
}

vug_status vug_walk_begin(vug_walk *w, vug_place *place, bool *forgotten, vug_err *err)
{
    *forgotten = w->places.n > VUG_WALK_KEEP_PLACES || w->frames.n > VUG_WALK_KEEP_FRAMES;
    if (*forgotten)
        VUG_TRY(forget(w, place, err));
    w->work = w->look = 0;
    w->nomem = w->cancelled = false;
    return VUG_OK;
}

vug_status vug_walk_why(const vug_walk *w, vug_err *err)
{
    if (w->nomem)
        return VUG_FAIL_NOMEM(err, "a walk over a grammar", w->frames.n * sizeof(vug_frame));
    if (w->cancelled)
        return VUG_FAIL(err, VUG_CANCELLED, "the walk over a grammar was stopped");
    return VUG_FAIL(err, VUG_LIMIT,
                    "the grammar is too ambiguous here: more than %d stacks at once, %zu sets of "
                    "them, or %llu steps for the next token",
                    VUG_WALK_MAX_STACKS, VUG_WALK_MAX_PLACES,
                    (unsigned long long)VUG_WALK_MAX_WORK);
}
