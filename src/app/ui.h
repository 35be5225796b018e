#ifndef VUG_APP_UI_H
#define VUG_APP_UI_H

/*
 * The terminal: output that notices a full disk and a reader who left, colours
 * and progress only where a person looks, errors as one sentence.
 */

#include <stdio.h>

#include "app/options.h"

/* What the program returns; `vug help` documents them. */
enum {
    VUG_EXIT_OK = 0,
    VUG_EXIT_CHECK = 1,
    VUG_EXIT_USAGE = 2,
    VUG_EXIT_MACHINE = 3,
    VUG_EXIT_INTERRUPTED = 130,
};

/* Escape sequences, or empty strings where colours do not belong. */
typedef struct {
    const char *bold, *dim, *good, *bad, *off;
} vug_style;

typedef struct {
    bool out_terminal, err_terminal; /* of stdout and stderr */
    vug_style out, err;
    int out_errno; /* of the first write to stdout that failed; 0: none */
} vug_ui;

vug_ui vug_ui_init(void);

/* To stdout. False once a write has failed. */
bool vug_ui_out(vug_ui *ui, const char *bytes, size_t n);
bool vug_ui_flush(vug_ui *ui);
/* Text that a model or a file wrote: on a terminal control characters other
 * than line ends and tabs become U+FFFD, so that it cannot steer the terminal.
 * Flushed. */
bool vug_ui_text(vug_ui *ui, const char *text, size_t n);
/* The same to stderr, dimmed. */
void vug_ui_dim(const vug_ui *ui, const char *text, size_t n);
/* The same into a buffer, line ends and tabs as blanks: for a prompt. */
void vug_ui_line(const char *text, size_t n, vug_buf *to);
/* All of `buf`, as vug_ui_text, and releases it; `code`, or what went wrong. */
int vug_ui_print(vug_ui *ui, vug_buf *buf, int code);
/* The same for text that has styles and nothing from a file or a model. */
int vug_ui_print_styled(vug_ui *ui, vug_buf *buf, int code);
/* Flushes; `code`, or 3 with a sentence. A reader who left is no failure. */
int vug_ui_finish(vug_ui *ui, int code);

/* The sentence on stderr; the exit code that belongs to it. */
int vug_ui_fail(const vug_ui *ui, const vug_err *err);
void vug_ui_note(const vug_ui *ui, const char *fmt, ...) VUG_PRINTF(2, 3);

/* A bar on stderr, drawn when that is a terminal and the work takes a while. */
typedef struct {
    const vug_ui *ui;
    const char *label;
    const char *unit;    /* NULL: bytes; of anything else the speed is shown too */
    double start, drawn; /* seconds */
    bool off, shown;
} vug_bar;

vug_bar vug_bar_start(const vug_ui *ui, const char *label, bool off);
/* A vug_progress_fn; `user` is the bar. */
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
