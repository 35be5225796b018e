#ifndef VUG_CLI_CHAT_RUNNER_H
#define VUG_CLI_CHAT_RUNNER_H

/* The common part of `vug run` and `vug chat`. */

#include "cli/chat_backend.h"

/* Calls `fn` with the prompt in operand `at` or on standard input, and returns its exit code.
 * The prompt has a NULL ptr for an interactive chat, and is empty if --messages ends with the
 * message to answer. Reports contradictory options. */
int vug_chat_runner_with_prompt(vug_ui *ui, const vug_options *opt, size_t at,
                                int (*fn)(vug_ui *ui, const vug_options *opt, vug_str prompt));
/* Answers the prompt or runs the REPL, and returns an exit code. Meanwhile Ctrl-C ends
 * responses, not the program. */
int vug_chat_runner_run(vug_chat_backend *backend, vug_str prompt);

#endif
