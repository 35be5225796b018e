#ifndef VUG_TEXT_GRAMMAR_WALK_H
#define VUG_TEXT_GRAMMAR_WALK_H

/*
 * Walking an automaton over bytes. Where a text stands is a set of stacks, all that the
 * bytes so far allow; here it is a number, and so is a stack: equal ones are found again
 * (hash-consing), and the way from a set by a byte is computed once. A stack is its top
 * frame, which knows the frame below.
 *
 * Used by one thread at a time.
 */

#include <stdatomic.h>

#include "text/grammar/automaton.h"
#include "text/grammar/sets.h"

#define VUG_WALK_MAX_STACKS  4096 /* at once: how ambiguous a grammar may be */
#define VUG_WALK_MAX_PLACES  ((size_t)1 << 16)
#define VUG_WALK_MAX_FRAMES  ((size_t)1 << 20)
#define VUG_WALK_MAX_WORK    ((uint64_t)1 << 27) /* in one call of the API, see vug_walk_spend */
#define VUG_WALK_FRAME_WORK  16                  /* what looking at a frame is worth */
#define VUG_WALK_LOOK_WORK   ((uint64_t)1 << 16) /* between looks at `cancel` */
#define VUG_WALK_KEEP_PLACES ((size_t)1 << 13)   /* more are forgotten when a call begins */
#define VUG_WALK_KEEP_FRAMES ((size_t)1 << 17)

/* Sets of stacks. */
typedef uint32_t vug_place;
#define VUG_PLACE_DEAD    ((vug_place)0)
#define VUG_PLACE_FAILED  (UINT32_MAX - 1) /* past a limit or out of memory; see vug_walk_why */
#define VUG_PLACE_UNKNOWN UINT32_MAX

/* The frame below all others; who comes back to it is done. */
#define VUG_FRAME_BOTTOM 0

typedef struct {
    uint32_t state;
    uint32_t min, max; /* how often the body is gone through yet, this time included */
    uint32_t below;
} vug_frame;

typedef struct {
    const vug_automaton *a;
    vug_sets frames; /* vug_frame */
    vug_sets places; /* 1 if the text may be done, else 0; then frames that a byte leads on from */
    vug_place *row;  /* [places, n_classes] */
    size_t cap_rows;
    uint32_t *met; /* [frames]: the number of the closure that met it last */
    size_t cap_met;
    uint32_t *pending; /* frames of which it is to be seen what they go on to */
    uint32_t *list;    /* the place that is put together */
    uint32_t n_closures;
    uint64_t work, look;       /* what was spent; when `cancel` is to be looked at next */
    const atomic_bool *cancel; /* someone else's, or NULL: true when nobody waits any more */
    bool nomem, cancelled;
} vug_walk;

VUG_MUST_CHECK vug_status vug_walk_init(vug_walk *walk, const vug_automaton *automaton,
                                        vug_err *err);
void vug_walk_release(vug_walk *walk);

/* To be called when a call of the API begins: forgets what has become too much; the places
 * of before are no longer valid, except `place`, which may get another number. */
VUG_MUST_CHECK vug_status vug_walk_begin(vug_walk *walk, vug_place *place, bool *forgotten,
                                         vug_err *err);

/* Before the root, over the bottom. */
vug_place vug_walk_start(vug_walk *walk);
/* A frame alone over the bottom, without the rules that it may call; bytes lead on from it. */
vug_place vug_walk_alone(vug_walk *walk, vug_frame frame);
/* What a frame of a place comes back to when it ends. */
vug_place vug_walk_below(vug_walk *walk, uint32_t frame);
/* Past a limit, or cancelled: nothing is computed until the next vug_walk_begin. */
static inline bool vug_walk_stuck(const vug_walk *walk)
{
    return walk->work >= VUG_WALK_MAX_WORK;
}

void vug_walk_look(vug_walk *walk);

/*
 * Work that a call did: 1 for what takes some nanoseconds, as a node of the tree of tokens
 * that is walked to, VUG_WALK_FRAME_WORK for a frame or a call that is looked at. So a call
 * ends whatever the grammar is, and a caller who waits no more is heard within a millisecond
 * or so. False when it was too much.
 */
static inline bool vug_walk_spend(vug_walk *walk, uint64_t n)
{
    walk->work += n;
    if (walk->work >= walk->look)
        vug_walk_look(walk);
    return !vug_walk_stuck(walk);
}

/* What vug_walk_step does where it is not known yet. */
vug_place vug_walk_compute(vug_walk *walk, vug_place place, uint32_t byte_class);
/* Why a place is VUG_PLACE_FAILED. */
vug_status vug_walk_why(const vug_walk *walk, vug_err *err);

static inline vug_place vug_walk_step(vug_walk *walk, vug_place place, uint8_t byte)
{
    const uint32_t byte_class = walk->a->class_of[byte];
    const vug_place to = walk->row[(size_t)place * walk->a->n_classes + byte_class];
    return to != VUG_PLACE_UNKNOWN ? to : vug_walk_compute(walk, place, byte_class);
}

/* The text may be done. */
static inline bool vug_place_done(const vug_walk *walk, vug_place place)
{
    return walk->places.pool[walk->places.at[place]] != 0;
}

static inline const uint32_t *vug_place_frames(const vug_walk *walk, vug_place place, size_t *n)
{
    const uint32_t *list = vug_sets_get(&walk->places, place, n);
    *n -= 1;
    return list + 1;
}

static inline vug_frame vug_frame_of(const vug_walk *walk, uint32_t frame)
{
    vug_frame f;
    memcpy(&f, walk->frames.pool + (size_t)frame * (sizeof(f) / sizeof(uint32_t)), sizeof(f));
    return f;
}

#endif
