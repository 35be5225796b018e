#ifndef VUG_CLI_REMOTE_COMPLETION_PARSER_H
#define VUG_CLI_REMOTE_COMPLETION_PARSER_H

/*
 * Responses of OpenAI-compatible servers: chats and completions, streamed or whole, and errors.
 * It accepts known deviations: thinking in `reasoning`, tool calls without an index or all with
 * index 0, arguments that are an object, a message instead of a delta, and log-probabilities of
 * completions in the format of chats.
 */

#include "cli/response_printer.h"
#include "core/json.h"

enum {
    VUG_COMPLETION_MAX_CALLS = 128,
    VUG_COMPLETION_MAX_CALL_INDEX = 1 << 20, /* some servers do not count from 0 */
};
#define VUG_COMPLETION_MAX_ARGUMENTS ((size_t)16 << 20) /* bytes per call */
#define VUG_COMPLETION_MAX_JSON      ((size_t)64 << 20) /* bytes of a parsed event */

typedef struct {
    int64_t index;
    vug_buf id, name, arguments;
} vug_completion_call;

/* Called for each token, with the most likely tokens in its place. */
typedef void vug_completion_token_fn(const vug_token_logprob *token, const vug_token_logprob *top,
                                     size_t n_top, void *user);

/* All-zero except for the name and the callbacks before a response. */
typedef struct {
    const char *name;                  /* of the server, for error messages; borrowed */
    vug_part_fn *on_part;              /* receives content and thinking; calls are stored below */
    vug_completion_token_fn *on_token; /* or NULL */
    void *user;
    vug_completion_call *call; /* [n_calls] */
    size_t n_calls;
    char finish[24]; /* finish_reason; "" until it is received */
    bool done;       /* received [DONE] */
    bool stopped;    /* on_part returned false */
    bool has_usage;  /* the token counts are valid */
    int64_t prompt_tokens, cached_tokens, completion_tokens;
} vug_completion_parser;

/* Parses the data of an event, or a whole response. Ignores everything after [DONE]. */
VUG_MUST_CHECK vug_status vug_completion_parser_feed(vug_completion_parser *p, vug_str data,
                                                     vug_err *err);
void vug_completion_parser_release(vug_completion_parser *p);

/* Copies the message of an error response in any of the usual forms, truncated to `size`.
 * Returns false if there is none. */
bool vug_parse_error_response(vug_str body, char *out, size_t size);
/* Finds the first id in a list of models. The arena owns it. */
VUG_MUST_CHECK vug_status vug_parse_model_list(vug_str body, const char *name, vug_arena *arena,
                                               vug_str *out, vug_err *err);

#endif
