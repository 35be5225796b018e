#ifndef VUG_APP_INPUT_H
#define VUG_APP_INPUT_H

/* Files, pipes and standard input, which a user names "-". */

#include "core/mem.h"
#include "core/status.h"

/* How a sentence calls it. */
const char *vug_input_name(const char *path);
/* All of it; more than `max` bytes are refused. */
VUG_MUST_CHECK vug_status vug_input_read(const char *path, size_t max, vug_text *out, vug_err *err);

/*
 * Lines, as they come: `more` is true of a line when another one is in memory
 * already, so that a caller knows when to flush before a read that may block.
 */
typedef struct {
    const char *name; /* for sentences; borrowed */
    int fd;
    char *block; /* [cap] */
    size_t cap, max, begin, end;
    bool ended;
    uint64_t number; /* of the last line, from 1 */
} vug_lines;

VUG_MUST_CHECK vug_status vug_lines_open(vug_lines *lines, const char *path, size_t max,
                                         vug_err *err);
/* The next line without its end, valid until the next call; ptr is NULL at the
 * end of the input. */
VUG_MUST_CHECK vug_status vug_lines_next(vug_lines *lines, vug_str *line, bool *more, vug_err *err);
void vug_lines_close(vug_lines *lines);

#endif
