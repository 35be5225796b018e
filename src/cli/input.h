#ifndef VUG_CLI_INPUT_H
#define VUG_CLI_INPUT_H

/* Reads files, pipes and standard input, which is named "-". */

#include "cli/ui.h"
#include "core/mem.h"

/* The name of an input in error messages. */
const char *vug_input_name(const char *path);
/* Reads the whole input. Fails if it has more than `max` bytes. */
VUG_MUST_CHECK vug_status vug_input_read(const char *path, size_t max, vug_text *out, vug_err *err);

#define VUG_LINE_MAX_BYTES ((size_t)128 << 20)

/* Appends the output lines for one input line to `to`. */
typedef vug_status vug_line_fn(vug_str line, vug_buf *to, void *user, vug_err *err);

/* Prints the output of `fn` for each line of the file. Flushes before it waits for more input.
 * Stops at the first error, which is printed with its line number. Returns an exit code. */
int vug_for_each_line(vug_ui *ui, const char *path, vug_line_fn *fn, void *user);

#endif
