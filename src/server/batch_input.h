#ifndef VUG_SERVER_BATCH_INPUT_H
#define VUG_SERVER_BATCH_INPUT_H

/* The input of a batch: its lines, and which of them have been answered. */

#include "core/lines.h"
#include "server/api/batch_line.h"

/* Bytes of a line: a request body as large as the server accepts, and what surrounds it. */
#define VUG_BATCH_MAX_LINE     (VUG_API_MAX_BODY + ((size_t)64 << 10))
#define VUG_BATCH_MAX_REQUESTS ((size_t)1 << 22)

typedef struct {
    vug_str text; /* valid until the next line is read */
    uint64_t number;
    bool too_long; /* `text` is empty */
} vug_batch_line;

/* The next line that is not blank; number 0: the end. Fails only if reading does. */
VUG_MUST_CHECK vug_status vug_batch_next_line(vug_line_reader *lines, vug_batch_line *out,
                                              vug_err *err);
/* vug_batch_request_parse, which also fails for a line that is too long. */
VUG_MUST_CHECK vug_status vug_batch_line_parse(const vug_batch_line *line, vug_arena *arena,
                                               vug_batch_request *out, vug_err *err);

typedef struct {
    uint8_t key[32]; /* SHA-256 of the custom_id or, without one, of the number of the line */
    uint64_t line;
    bool answered;
} vug_batch_entry;

/* The requests of an input. All-zero is empty. */
typedef struct {
    vug_batch_entry *entry; /* [n], by key */
    size_t n, cap;
    size_t n_answered;
} vug_batch_index;

/* Reads the whole input. Fails if it cannot be read, has too many lines, or has a custom_id twice;
 * lines that are no requests are entries as well. The caller releases the index also then. */
VUG_MUST_CHECK vug_status vug_batch_index_read(vug_batch_index *index, const char *path,
                                               vug_err *err);
void vug_batch_index_release(vug_batch_index *index);
/* The entry of a custom_id or, if its ptr is NULL, of a line; NULL: there is none. VUG_NOMEM is the
 * only failure. */
VUG_MUST_CHECK vug_status vug_batch_index_find(const vug_batch_index *index, vug_str custom_id,
                                               uint64_t line, vug_batch_entry **out, vug_err *err);

#endif
