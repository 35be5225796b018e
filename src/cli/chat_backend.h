#ifndef VUG_CLI_CHAT_BACKEND_H
#define VUG_CLI_CHAT_BACKEND_H

/*
 * What generates responses for `vug run` and `vug chat`: a model in this process
 * (local_backend.h) or a server (remote/openai_client.h). The REPL and single prompts are
 * written once, over this interface.
 */

#include "cli/response_printer.h"
#include "core/json_writer.h"

typedef struct {
    void *self;
    vug_response_printer *printer; /* has the last response */
    const vug_options *opt;
    /* Generates and prints a response to the conversation or, if `raw` is not NULL, a
     * continuation of it. Ctrl-C ends the response early, which is no error. */
    vug_status (*generate)(void *self, const vug_chat_history *history, const vug_str *raw,
                           bool *interrupted, vug_err *err);
    /* Statistics of the last response: one line on stderr, or the object for --json. */
    void (*print_stats)(const void *self);
    void (*write_json)(const void *self, vug_json_writer *js);
    /* Starts a new conversation. */
    void (*reset)(void *self);
} vug_chat_backend;

#endif
