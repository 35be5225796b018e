#ifndef VUG_CORE_LINES_H
#define VUG_CORE_LINES_H

/* Reads a file, a pipe or standard input line by line. One thread at a time. */

#include "core/bytes.h"
#include "core/status.h"

typedef struct {
    int fd;
    char *block; /* [cap] */
    size_t cap, begin, end;
    size_t max;      /* bytes of a line, without its newline */
    bool ended;      /* the system has no more bytes */
    bool skipping;   /* the rest of a line that was too long */
    bool terminated; /* the last line had a newline */
    uint64_t number; /* of the last line, from 1 */
    uint64_t at;     /* bytes of the input before the next line */
    const char *name;
} vug_line_reader;

/* `path` "-" is standard input. `name` is for error messages; it is borrowed. */
VUG_MUST_CHECK vug_status vug_lines_open(vug_line_reader *lines, const char *path, const char *name,
                                         size_t max, vug_err *err);
void vug_lines_close(vug_line_reader *lines);
/* The next line without its newline, valid until the next call; ptr is NULL at the end of the
 * input. VUG_LIMIT: the line is too long; the next call returns the one after it. */
VUG_MUST_CHECK vug_status vug_lines_next(vug_line_reader *lines, vug_str *line, vug_err *err);
/* Whether the next line can be read without waiting. */
bool vug_lines_ready(const vug_line_reader *lines);

#endif
