#ifndef VUG_APP_LINE_H
#define VUG_APP_LINE_H

/*
 * Line editing and history, through libedit. While a line is edited Ctrl-C is a
 * key and no signal; at all other times it is a signal again.
 */

#include "app/ui.h"

typedef struct vug_line vug_line;

typedef enum {
    VUG_LINE_TEXT,
    VUG_LINE_INTERRUPTED, /* Ctrl-C; the text is what is given up */
    VUG_LINE_END,         /* Ctrl-D at an empty prompt, or the terminal is gone */
} vug_line_event;

/* Reads the history of earlier chats; without a home there is none. */
VUG_MUST_CHECK vug_status vug_line_open(const vug_ui *ui, vug_line **out, vug_err *err);
/* A text: a line, and those that follow a backslash at a line's end; appended to `to`. */
vug_line_event vug_line_read(vug_line *line, const char *prompt, vug_buf *to);
void vug_line_remember(vug_line *line, const char *text);
/* Writes the history, readable by its owner alone. */
void vug_line_close(vug_line *line);

#endif
