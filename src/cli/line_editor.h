#ifndef VUG_CLI_LINE_EDITOR_H
#define VUG_CLI_LINE_EDITOR_H

/*
 * Line editing and history with libedit. While a line is edited, Ctrl-C is a key and raises
 * no signal.
 */

#include "cli/ui.h"

typedef struct vug_line_editor vug_line_editor;

typedef enum {
    VUG_LINE_TEXT,
    VUG_LINE_INTERRUPTED, /* Ctrl-C; the text is the discarded line */
    VUG_LINE_END,         /* Ctrl-D on an empty line, or the terminal was closed */
} vug_line_event;

/* Loads the history of earlier chats, if there is a home directory. */
VUG_MUST_CHECK vug_status vug_line_editor_open(const vug_ui *ui, vug_line_editor **out,
                                               vug_err *err);
/* Appends a line to `to`; a backslash at its end continues it with another line. */
vug_line_event vug_line_editor_read(vug_line_editor *editor, const char *prompt, vug_buf *to);
void vug_line_editor_add_history(vug_line_editor *editor, const char *text);
/* Saves the history with permissions for its owner only. */
void vug_line_editor_close(vug_line_editor *editor);

#endif
