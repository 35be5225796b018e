#ifndef VUG_TESTS_SUPPORT_CAPTURE_H
#define VUG_TESTS_SUPPORT_CAPTURE_H

/*
 * Runs a program and captures its output. The program under test is $VUG_BIN, or the one that was
 * built with the test. A failure to run it fails the test. Include after cmocka.h.
 */

#include "vug/vug.h"

typedef struct {
    vug_text out, err;
    int code; /* exit code; 128 + N if signal N ended the program */
} captured;

/* The path of the program under test. */
const char *capture_program(void);
/* `argv` and `env` end with NULL; argv[0] is the program, `env` has "NAME=value" strings and may be
 * NULL. `input` is the standard input; NULL: empty. */
captured capture(const char *input, const char *const *env, const char *const *argv);
void captured_release(captured *c);
/* For a child before it runs a program: restores the default signal actions. A shell ignores SIGINT
 * in background jobs, and children inherit that. */
void capture_reset_signals(void);

/* The following assert and release `c`. The program succeeded and printed `out`; stderr contains
 * `part`, or is empty if that is "". */
void gives(captured c, const char *out, const char *part);
/* The exit code is 2, and the only output is one error message that contains `part`. */
void refuses(captured c, const char *part);
void refuses_with(captured c, int code, const char *part);

#define VUG_ARGV(...)     ((const char *const[]){ capture_program(), __VA_ARGS__, NULL })
#define VUG(...)          capture(NULL, NULL, VUG_ARGV(__VA_ARGS__))
#define VUG_IN(text, ...) capture((text), NULL, VUG_ARGV(__VA_ARGS__))

#endif
