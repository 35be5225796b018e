#ifndef VUG_TEXT_GRAMMAR_UNIQUE_ITEMS_H
#define VUG_TEXT_GRAMMAR_UNIQUE_ITEMS_H

/*
 * Arrays whose items differ (uniqueItems), while JSON is written byte by byte. Automata cannot
 * remember what has been written, so they accept equal items. This remembers the items of such
 * arrays, and refuses the byte that completes an item for the second time.
 *
 * Values are compared as JSON: spelling, whitespace and the order of members do not matter, and
 * numbers are equal if they are the same double. All-zero is outside of any array.
 */

#include "core/mem.h"

#define VUG_UNIQUE_MAX_ITEMS 1000 /* of one array; then it must end */

typedef struct {
    bool unique;   /* an array whose items differ */
    bool done;     /* the item that was written last is complete */
    uint32_t last; /* the number of the last complete item + 1; 0: none */
    uint32_t n_items;
    size_t at; /* where the current item begins in `text` */
} vug_open_bracket;

typedef struct {
    vug_buf text;    /* from the bracket of the outermost unique array on */
    vug_buf bracket; /* vug_open_bracket, the outermost first */
    vug_buf item;    /* of all open arrays, linked */
    vug_buf values;  /* the items in a form that equal values share */
    vug_buf saved;   /* brackets of marks */
    size_t n_unique; /* open unique arrays */
    bool in_string, escaped;
} vug_unique_items;

/* A position to return to. */
typedef struct {
    size_t text, item, values, saved, n_unique;
    bool in_string, escaped;
} vug_unique_mark;

void vug_unique_items_release(vug_unique_items *u);
/* Outside of any array again. */
void vug_unique_items_clear(vug_unique_items *u);
/* Reads a byte. `opens_unique`: it is the bracket of a unique array. False if an item is equal to
 * an earlier one, if the array has too many, or if memory ran out (vug_unique_items_failed). */
bool vug_unique_items_read(vug_unique_items *u, char c, bool opens_unique);
bool vug_unique_items_failed(const vug_unique_items *u);
static inline bool vug_unique_items_inside(const vug_unique_items *u)
{
    return u->bracket.len > 0;
}

/* Every mark is either returned to or dropped, the latest first. */
vug_unique_mark vug_unique_items_mark(vug_unique_items *u);
void vug_unique_items_return(vug_unique_items *u, vug_unique_mark mark);
void vug_unique_items_drop(vug_unique_items *u, vug_unique_mark mark);

/* The outermost array whose current item may become equal to an earlier one. */
typedef struct {
    size_t bracket;
    uint32_t n_items; /* that are complete */
} vug_unique_goal;

/* False if there is none. */
bool vug_unique_items_find_goal(const vug_unique_items *u, vug_unique_goal *goal);
/* Whether its item has been completed since. */
bool vug_unique_items_reached(const vug_unique_items *u, vug_unique_goal goal);
/* If the current item is a string directly in a unique array, the rest of the earlier string that
 * follows number `*next` and begins as it does. `*next` begins with 0. False at the end. */
bool vug_unique_items_next_rest(const vug_unique_items *u, uint32_t *next, vug_str *rest);

#endif
