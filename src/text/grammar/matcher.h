#ifndef VUG_TEXT_GRAMMAR_MATCHER_H
#define VUG_TEXT_GRAMMAR_MATCHER_H

/*
 * Runs an automaton over bytes. A position in a text is the set of all stacks that the bytes
 * so far allow. Stacks and sets of stacks are interned and named by numbers, and the step from
 * a set by a byte is computed once, as in a lazily built DFA. A stack is named by its top
 * frame, which knows the frame below.
 *
 * Used by one thread at a time.
 */

#include "text/grammar/automaton.h"
#include "text/grammar/intern.h"
#include "text/grammar/row_table.h"

#define VUG_MATCHER_MAX_STACKS      4096 /* in one set: how ambiguous a grammar may be */
#define VUG_MATCHER_MAX_STACK_SETS  ((size_t)1 << 16)
#define VUG_MATCHER_MAX_FRAMES      ((size_t)1 << 20)
#define VUG_MATCHER_MAX_WORK        ((uint64_t)1 << 27) /* per API call */
#define VUG_MATCHER_FRAME_WORK      16                  /* the price of examining one frame */
#define VUG_MATCHER_POLL_WORK       ((uint64_t)1 << 16) /* between looks at `cancel` */
#define VUG_MATCHER_KEEP_STACK_SETS ((size_t)1 << 13)   /* above this, a call begins by */
#define VUG_MATCHER_KEEP_FRAMES     ((size_t)1 << 17)   /* forgetting all but the current ones */

typedef uint32_t vug_stack_set;
#define VUG_STACK_SET_DEAD    ((vug_stack_set)0) /* the empty set */
#define VUG_STACK_SET_FAILED  (UINT32_MAX - 1)   /* see vug_grammar_matcher_error */
#define VUG_STACK_SET_UNKNOWN UINT32_MAX

/* The frame below all others. A text that returns to it is a whole match. */
#define VUG_STACK_BOTTOM 0

typedef struct {
    uint32_t state;
    uint32_t min, max; /* how many runs of the body are left, including this one; in bounded
                          graphs: 0, and how many edges are left, including this one */
    uint32_t below;
} vug_stack_frame;

typedef struct {
    const vug_automaton *a;
    vug_intern_table frames;     /* vug_stack_frame */
    vug_intern_table stack_sets; /* 1 if the text may end here, else 0; then the top frames that
                                    read a byte */
    vug_row_table rows;          /* [stack_sets, n_classes]: the next set, if it is known */
    vug_row_table group_rows;    /* [stack_sets, VUG_GROUP_N_CACHED]: see group_steps.h */
    uint32_t *seen;              /* [frames]: the last closure that reached the frame */
    size_t cap_seen;
    uint32_t *pending; /* frames whose successors are still to be followed */
    uint32_t *list;    /* the stack set under construction */
    uint32_t n_closures;
    uint64_t work, next_poll;       /* work done, and when to look at `cancel` next */
    const vug_cancel_token *cancel; /* owned by the caller, or NULL */
    bool nomem, cancelled;
} vug_grammar_matcher;

VUG_MUST_CHECK vug_status vug_grammar_matcher_init(vug_grammar_matcher *matcher,
                                                   const vug_automaton *automaton, vug_err *err);
void vug_grammar_matcher_release(vug_grammar_matcher *matcher);

/* Call it at the beginning of each API call. It resets the work budget and, if too much has
 * accumulated, sets `forgotten` and drops all stack sets but `current`, which may get another
 * number. */
VUG_MUST_CHECK vug_status vug_grammar_matcher_begin_call(vug_grammar_matcher *matcher,
                                                         vug_stack_set *current, bool *forgotten,
                                                         vug_err *err);

/* The stacks before the first byte. */
vug_stack_set vug_grammar_matcher_start(vug_grammar_matcher *matcher);
/* One frame on the bottom, without following its calls. Bytes can be read from it. */
vug_stack_set vug_grammar_matcher_single_frame(vug_grammar_matcher *matcher, vug_stack_frame frame);
/* The stacks after a frame of a set has ended. */
vug_stack_set vug_grammar_matcher_pop(vug_grammar_matcher *matcher, uint32_t frame);

/* True past a limit and after cancellation: nothing is computed until the next
 * vug_grammar_matcher_begin_call. */
static inline bool vug_grammar_matcher_stopped(const vug_grammar_matcher *matcher)
{
    return matcher->work >= VUG_MATCHER_MAX_WORK;
}

void vug_grammar_matcher_poll_cancel(vug_grammar_matcher *matcher);

/*
 * Charges work to the current call: 1 for something that takes a few nanoseconds, such as
 * visiting a node of the token trie, and VUG_MATCHER_FRAME_WORK for examining a frame or a
 * call. So every call ends, whatever the grammar, and a cancelled call ends within about a
 * millisecond. False once the budget is spent.
 */
static inline bool vug_grammar_matcher_charge(vug_grammar_matcher *matcher, uint64_t n)
{
    matcher->work += n;
    if (matcher->work >= matcher->next_poll)
        vug_grammar_matcher_poll_cancel(matcher);
    return !vug_grammar_matcher_stopped(matcher);
}

/* Computes a step that is not cached yet. */
vug_stack_set vug_grammar_matcher_compute_step(vug_grammar_matcher *matcher, vug_stack_set stacks,
                                               uint32_t byte_class);
/* Reports why a result was VUG_STACK_SET_FAILED: a limit, cancellation or memory. */
vug_status vug_grammar_matcher_error(const vug_grammar_matcher *matcher, vug_err *err);

/* The stacks after one more byte. */
static inline vug_stack_set vug_grammar_matcher_step(vug_grammar_matcher *matcher,
                                                     vug_stack_set stacks, uint8_t byte)
{
    const uint32_t byte_class = matcher->a->class_of[byte];
    const vug_stack_set to = vug_row_table_get(&matcher->rows, stacks)[byte_class];
    return to != VUG_STACK_SET_UNKNOWN
                   ? to
                   : vug_grammar_matcher_compute_step(matcher, stacks, byte_class);
}

/* Whether the text may end here. */
static inline bool vug_stack_set_accepts(const vug_grammar_matcher *matcher, vug_stack_set stacks)
{
    return matcher->stack_sets.pool[matcher->stack_sets.at[stacks]] != 0;
}

/* The top frames of the stacks. Valid until the next stack set is made. */
static inline const uint32_t *vug_stack_set_frames(const vug_grammar_matcher *matcher,
                                                   vug_stack_set stacks, size_t *n)
{
    const uint32_t *list = vug_intern_get(&matcher->stack_sets, stacks, n);
    *n -= 1;
    return list + 1;
}

static inline vug_stack_frame vug_stack_frame_get(const vug_grammar_matcher *matcher,
                                                  uint32_t frame)
{
    vug_stack_frame f;
    memcpy(&f, matcher->frames.pool + (size_t)frame * (sizeof(f) / sizeof(uint32_t)), sizeof(f));
    return f;
}

#endif
