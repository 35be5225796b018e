#ifndef VUG_TEXT_GRAMMAR_INTERN_H
#define VUG_TEXT_GRAMMAR_INTERN_H

/*
 * Interns lists of numbers: equal lists get the same id. Ids are given in the order of
 * first insertion. Automata are built on this: sets of states, stack frames, sets of stacks.
 */

#include "core/mem.h"

typedef struct {
    uint64_t *slot; /* [n_slots] hash << 32 | id + 1, or 0 if free; n_slots is a power of two */
    size_t n_slots;
    uint32_t *at; /* [n + 1]: where each list begins in `pool` */
    uint32_t *pool;
    size_t n, cap_at, cap_pool;
    bool too_many_collisions; /* a list was refused because too many others share its slot */
} vug_intern_table;

#define VUG_INTERN_NONE UINT32_MAX

/* The id of a list, which is added if it is new. VUG_INTERN_NONE when out of memory or after
 * too many collisions. An all-zero table is empty. */
uint32_t vug_intern_add(vug_intern_table *table, const uint32_t *element, size_t n);
/* Adds a list that neither of the other functions finds, for callers that keep its id themselves.
 * VUG_INTERN_NONE when out of memory. */
uint32_t vug_intern_append(vug_intern_table *table, const uint32_t *element, size_t n);
/* The id of a list, or VUG_INTERN_NONE if the table does not hold it. */
uint32_t vug_intern_find(const vug_intern_table *table, const uint32_t *element, size_t n);
/* The elements of a list, valid until the next vug_intern_add. */
static inline const uint32_t *vug_intern_get(const vug_intern_table *table, uint32_t id, size_t *n)
{
    *n = table->at[id + 1] - table->at[id];
    return table->pool + table->at[id];
}
/* Makes room for `n` lists with `n_elements` in all, so that adding them copies nothing. Without
 * memory it does nothing. */
void vug_intern_reserve(vug_intern_table *table, size_t n, size_t n_elements);
void vug_intern_release(vug_intern_table *table);

/* Sorts in ascending order and drops duplicates. Returns how many elements are left. */
size_t vug_sort_unique(uint32_t *element, size_t n);

#endif
