#ifndef VUG_CLI_SUGGEST_H
#define VUG_CLI_SUGGEST_H

/* Suggestions for misspelt names. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VUG_SUGGEST_MAX_NAME = 40 }; /* longer names get no suggestion */

/* Whether `name` is a plausible correction of `given`, and a better one than any before it.
 * *best is SIZE_MAX at first. */
bool vug_suggest_better(const char *given, const char *name, size_t *best);

#endif
