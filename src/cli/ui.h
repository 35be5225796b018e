#ifndef VUG_CLI_UI_H
#define VUG_CLI_UI_H

/*
 * Terminal output: detects a full disk and a closed pipe, uses colours and progress bars on
 * terminals only, and prints an error as one line.
 */

#include <stdio.h>

#include "core/json_writer.h"
#include "core/mem.h"
#include "core/status.h"

/* Exit codes; `vug help` documents them. */
enum {
    VUG_EXIT_OK = 0,
    VUG_EXIT_CHECK = 1,
    VUG_EXIT_USAGE = 2,
    VUG_EXIT_SYSTEM = 3,
    VUG_EXIT_INTERRUPTED = 130,
};

/* Escape sequences; empty strings if the stream is no terminal or colours are off. */
typedef struct {
    const char *bold, *dim, *good, *bad, *off;
} vug_style;

typedef struct {
    bool out_terminal, err_terminal; /* whether stdout and stderr are terminals */
    vug_style out, err;
    int out_errno; /* of the first failed write to stdout; 0: none */
} vug_ui;

vug_ui vug_ui_init(void);

/* Writes to stdout. Returns false once a write has failed. */
bool vug_ui_write(vug_ui *ui, const char *bytes, size_t n);
bool vug_ui_flush(vug_ui *ui);
/* Writes text from a model or a file, and flushes. On a terminal, control characters other
 * than newline and tab become U+FFFD, so that the text cannot control the terminal. */
bool vug_ui_write_text(vug_ui *ui, const char *text, size_t n);
/* The same to stderr, in dim style. */
void vug_ui_write_dim(const vug_ui *ui, const char *text, size_t n);
/* Appends such text as one line, with spaces for newlines and tabs, for use in a prompt. */
void vug_ui_append_line(const char *text, size_t n, vug_buf *to);
/* Writes `buf` like vug_ui_write_text and releases it. Returns an exit code: success, unless the
 * buffer has failed. */
int vug_ui_print(vug_ui *ui, vug_buf *buf);
/* The same for text with styles, which must not contain text from a model or a file. Success is
 * `code`. */
int vug_ui_print_styled(vug_ui *ui, vug_buf *buf, int code);
/* The same for JSON, with a newline. */
int vug_ui_print_json(vug_json_writer *json, vug_ui *ui, int code);
/* Flushes. Returns `code`, or 3 with an error message. A closed pipe is no error. */
int vug_ui_finish(vug_ui *ui, int code);

/* Prints the error message to stderr and returns its exit code. */
int vug_ui_fail(const vug_ui *ui, const vug_err *err);
/* Prints a message with the prefix "vug: " to stderr. */
void vug_ui_note(const vug_ui *ui, const char *fmt, ...) VUG_PRINTF(2, 3);

/* A progress bar on stderr, shown if that is a terminal and the work takes a while. */
typedef struct {
    const vug_ui *ui;
    const char *label;
    const char *unit;    /* NULL: bytes; for other units the bar also shows the speed */
    double start, drawn; /* seconds */
    bool off, shown;
} vug_bar;

vug_bar vug_bar_start(const vug_ui *ui, const char *label, bool off);
/* A vug_progress_fn; `user` is the bar. Cancels on Ctrl-C or SIGTERM after vug_interrupt_block, so
 * that a writer can remove partial files. */
bool vug_bar_step(uint64_t done, uint64_t total, void *user);
void vug_bar_end(vug_bar *bar);

/* "1.86 GiB" */
typedef struct {
    char text[24];
} vug_human;

vug_human vug_human_bytes(uint64_t bytes);
/* "999.9 M" */
vug_human vug_human_count(double n);

#endif
