#ifndef VUG_CLI_RESPONSE_PRINTER_H
#define VUG_CLI_RESPONSE_PRINTER_H

/*
 * Prints a response while it streams, and keeps it: content on stdout, thinking and
 * log-probabilities dimmed on stderr, each tool call as a line of JSON. With --json it only
 * keeps the response.
 */

#include "cli/conversation.h"
#include "cli/ui.h"
#include "core/json_writer.h"

/* All-zero except `ui` before the first response. */
typedef struct {
    vug_ui *ui;
    bool silent;               /* --json */
    vug_buf content, thinking; /* of the last response */
    vug_json_writer calls;     /* of the last response: the elements of tool_calls */
    size_t n_calls;            /* in all responses; numbers the ids */
    bool bad_call;             /* a call of the last response has arguments that are no object */
    vug_json_writer logprobs;  /* of the last response, with --json: the array elements */
    vug_buf name, arguments;   /* of the call that is streaming */
    char last;                 /* the last byte printed, to stdout or stderr */
    bool thinking_last;        /* that byte went to stderr */
} vug_response_printer;

/* Begins the next response and forgets the last one. */
void vug_response_printer_begin(vug_response_printer *p);
/* A vug_part_fn; `user` is the printer. Returns false once stdout has failed. */
bool vug_response_printer_on_part(const vug_part *part, void *user);
/* Adds a whole tool call. An empty id is replaced by a new one. Arguments that are not valid
 * JSON are printed as a string. */
bool vug_response_printer_add_call(vug_response_printer *p, vug_str id, vug_str name,
                                   vug_str arguments);

typedef struct {
    int64_t id; /* -1: unknown */
    vug_str text;
    double logprob;
} vug_token_logprob;

/* Adds the log-probability of a token, and of the most likely tokens in its place. */
void vug_response_printer_add_logprob(vug_response_printer *p, const vug_token_logprob *token,
                                      const vug_token_logprob *top, size_t n_top);
/* Prints text without keeping it. */
bool vug_response_printer_write(vug_response_printer *p, const char *text, size_t len);
/* Ends the line, if the response did not. */
void vug_response_printer_end(vug_response_printer *p);
void vug_response_printer_release(vug_response_printer *p);

/* Adds the response to its conversation. Returns false if it is empty. Calls are left out if
 * one was cut short: no template and few servers would accept it. */
bool vug_response_printer_append_to_history(const vug_response_printer *p,
                                            vug_chat_history *history);
/* Writes the members content, thinking and tool_calls. */
void vug_response_printer_write_json(const vug_response_printer *p, vug_json_writer *js);
/* Writes the member logprobs. */
void vug_response_printer_write_logprobs(const vug_response_printer *p, vug_json_writer *js);

#endif
