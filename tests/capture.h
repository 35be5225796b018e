#ifndef VUG_TESTS_CAPTURE_H
#define VUG_TESTS_CAPTURE_H

/*
 * Runs a program and keeps what it wrote. The program under test is $VUG_BIN,
 * or the one that was built beside the test. Failures of the machinery itself
 * fail the running test. Include after cmocka.h.
 */

#include "vug/vug.h"

typedef struct {
    vug_text out, err;
    int code; /* of exit; 128 + N when signal N ended it */
} captured;

/* A file name; its value lives as long as the program. */
const char *capture_program(void);
/* argv[0] is the program; NULL at the end. `input` is its standard input, NULL
 * for none; `env` are "NAME=value" settings, NULL at the end or NULL. */
captured capture(const char *input, const char *const *env, const char *const *argv);
void captured_release(captured *c);
/* In a child before it becomes a program that is sent signals: they do what they do in a terminal's
 * shell. Whoever runs the tests in the background may have turned SIGINT off. */
void capture_signals(void);

/* These fail the test unless it is so, and release `c`. It went well, the output is `out`,
 * and on stderr there is `part`, or for "" nothing. */
void gives(captured c, const char *out, const char *part);
/* The exit code is 2, and all that was written is one sentence with `part` in it. */
void refuses(captured c, const char *part);
void refuses_with(captured c, int code, const char *part);

#define VUG_ARGV(...)     ((const char *const[]){ capture_program(), __VA_ARGS__, NULL })
#define VUG(...)          capture(NULL, NULL, VUG_ARGV(__VA_ARGS__))
#define VUG_IN(text, ...) capture((text), NULL, VUG_ARGV(__VA_ARGS__))

#endif
