#ifndef VUG_TEXT_GRAMMAR_CHAR_RANGES_H
#define VUG_TEXT_GRAMMAR_CHAR_RANGES_H

/* Sets of characters as ranges of Unicode scalar values. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t from, to; /* inclusive */
} vug_char_range;

/* Sorts the ranges, joins those that overlap or touch, drops surrogates, and complements the
 * set if `negated`. `to` has room for n + 2 ranges. Returns how many it holds. */
size_t vug_char_ranges_normalize(const vug_char_range *range, size_t n, bool negated,
                                 vug_char_range *to);

#endif
