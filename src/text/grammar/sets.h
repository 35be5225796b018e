#ifndef VUG_TEXT_GRAMMAR_SETS_H
#define VUG_TEXT_GRAMMAR_SETS_H

/*
 * Lists of numbers that get numbers themselves: equal lists have one, given in the order
 * in which they came. What automata are made of: sets of states, frames of stacks, sets
 * of stacks.
 */

#include "core/mem.h"

typedef struct {
    uint32_t *slot; /* [n_slots] id + 1, or 0; n_slots is a power of two */
    size_t n_slots;
    uint32_t *at; /* [n + 1]: where each begins in `pool` */
    uint32_t *pool;
    size_t n, cap_at, cap_pool;
    bool crowded; /* too many lists collide: one was refused */
} vug_sets;

#define VUG_SETS_NONE UINT32_MAX

/* All-zero is empty. The id of a list, VUG_SETS_NONE when out of memory or crowded. */
uint32_t vug_sets_intern(vug_sets *sets, const uint32_t *element, size_t n);
/* Of a list that is there; else VUG_SETS_NONE. */
uint32_t vug_sets_find(const vug_sets *sets, const uint32_t *element, size_t n);
/* Valid until the next list comes. */
static inline const uint32_t *vug_sets_get(const vug_sets *sets, uint32_t id, size_t *n)
{
    *n = sets->at[id + 1] - sets->at[id];
    return sets->pool + sets->at[id];
}
void vug_sets_release(vug_sets *sets);

/* Ascending, each once; returns how many are left. */
size_t vug_sort_unique(uint32_t *element, size_t n);

#endif
