#ifndef VUG_APP_INPUT_H
#define VUG_APP_INPUT_H

/* Files, pipes and standard input, which a user names "-". */

#include "app/ui.h"
#include "core/mem.h"

/* How a sentence calls it. */
const char *vug_input_name(const char *path);
/* All of it; more than `max` bytes are refused. */
VUG_MUST_CHECK vug_status vug_input_read(const char *path, size_t max, vug_text *out, vug_err *err);

#define VUG_LINE_MAX_BYTES ((size_t)128 << 20)

/* Appends to `to` what a line of the input becomes, whole lines themselves. */
typedef vug_status vug_line_fn(vug_str line, vug_buf *to, void *user, vug_err *err);

/* Prints what `fn` makes of each line of the file, as soon as there is no further line in
 * memory; the first failure, with the line's number, ends it. Returns an exit code. */
int vug_lines_answer(vug_ui *ui, const char *path, vug_line_fn *fn, void *user);

#endif
