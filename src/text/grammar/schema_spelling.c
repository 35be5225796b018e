#include "text/grammar/schema_internal.h"

/* Whether an unknown keyword looks like a misspelled one. */

enum { MAX_WORD = 32 };

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

static size_t least(size_t a, size_t b, size_t c)
{
    const size_t smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* How many letters must be inserted, removed, replaced or swapped with their neighbour to turn
 * `a` into `b` (the optimal string alignment distance). Case does not matter. */
static size_t distance(vug_str a, vug_str b)
{
    size_t row[3][MAX_WORD + 1];
    for (size_t k = 0; k <= b.len; k++)
        row[0][k] = k;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *now = row[i % 3];
        const size_t *before = row[(i - 1) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (size_t k = 1; k <= b.len; k++) {
            const char x = lower(a.ptr[i - 1]), y = lower(b.ptr[k - 1]);
            now[k] = least(before[k] + 1, now[k - 1] + 1, before[k - 1] + (x != y));
            if (i > 1 && k > 1 && x == lower(b.ptr[k - 2]) && y == lower(a.ptr[i - 2]))
                now[k] = least(now[k], earlier[k - 2] + 1, now[k]);
        }
    }
    return row[a.len % 3][b.len];
}

bool vug_schema_is_misspelled(vug_str word, vug_str keyword)
{
    const size_t allowed = keyword.len < 4 ? 0 : keyword.len < 7 ? 1 : 2;
    const size_t longer = word.len > keyword.len ? word.len : keyword.len;
    const size_t shorter = word.len > keyword.len ? keyword.len : word.len;
    return longer <= MAX_WORD && longer - shorter <= allowed && distance(word, keyword) <= allowed;
}
