#include "cli/suggest.h"

#include <string.h>

/* Levenshtein distance; SIZE_MAX for long strings. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t row[VUG_SUGGEST_MAX_NAME + 1];
    if (n > VUG_SUGGEST_MAX_NAME || m > VUG_SUGGEST_MAX_NAME)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const size_t one_more = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replaced < one_more ? replaced : one_more;
        }
    }
    return row[m];
}

/* A prefix such as --temp counts as exact. Otherwise up to half of the name may differ. */
bool vug_suggest_better(const char *given, const char *name, size_t *best)
{
    const size_t n = strlen(given);
    const size_t d = n >= 3 && strncmp(given, name, n) == 0 ? 0 : edit_distance(given, name);
    if (d >= *best || d * 2 > strlen(name))
        return false;
    *best = d;
    return true;
}
