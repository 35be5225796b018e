#include "text/grammar/char_ranges.h"

#include <stdlib.h>

enum { LAST_CHARACTER = 0x10ffff, FIRST_SURROGATE = 0xd800, LAST_SURROGATE = 0xdfff };

static int compare_starts(const void *a, const void *b)
{
    const vug_char_range *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Most lists are sorted already. */
static void sort_ranges(vug_char_range *range, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (range[i].from < range[i - 1].from) {
            qsort(range, n, sizeof(*range), compare_starts);
            return;
        }
    }
}

/* The complement of sorted, disjoint ranges. `to` may be the same array. */
static size_t complement_ranges(const vug_char_range *range, size_t n, vug_char_range *to)
{
    size_t count = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_char_range here = range[i];
        if (here.from > next)
            to[count++] = (vug_char_range){ next, here.from - 1 };
        next = here.to + 1;
    }
    if (next <= LAST_CHARACTER)
        to[count++] = (vug_char_range){ next, LAST_CHARACTER };
    return count;
}

/* Joins sorted ranges and drops empty ones. Returns how many are left. */
static size_t join_ranges(vug_char_range *range, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_char_range here = range[i];
        if (here.from > here.to)
            continue;
        if (count > 0 && here.from <= range[count - 1].to + 1) {
            if (here.to > range[count - 1].to)
                range[count - 1].to = here.to;
        } else {
            range[count++] = here;
        }
    }
    return count;
}

size_t vug_char_ranges_normalize(const vug_char_range *range, size_t n, bool negated,
                                 vug_char_range *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = range[i];
        if (to[i].to > LAST_CHARACTER)
            to[i].to = LAST_CHARACTER;
    }
    /* First collect what must not match, surrogates included. The result is its complement. */
    if (!negated) {
        sort_ranges(to, n);
        n = complement_ranges(to, join_ranges(to, n), to);
    }
    to[n++] = (vug_char_range){ FIRST_SURROGATE, LAST_SURROGATE };
    sort_ranges(to, n);
    return complement_ranges(to, join_ranges(to, n), to);
}
