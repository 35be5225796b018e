#ifndef VUG_SERVER_SERVER_H
#define VUG_SERVER_SERVER_H

/*
 * The OpenAI-compatible server. A request passes through:
 *
 *     http/                accepts it (address, TLS, key, Host, limits) and finds its route
 *     routes.c             the handlers of all routes, on pool threads
 *     prepare.c            parses the request (api/) and makes its prompts
 *     infill.c             the prompt of a gap that is to be filled
 *     request_grammar.c    finds or compiles the grammar of its output (grammar_cache.c)
 *     core/job_queue.c     queues it for the model
 *     completions.c        answers chats and completions; api/ writes JSON and events
 *     embeddings.c         answers requests for embeddings
 *     respond.c            generates on a session and sends the output
 *     prompt_logprobs.c    scores prompts
 *
 * serve.c runs it all, service.c loads and frees the model, trace.c records requests, metrics.c
 * counts, slots.c lists what waits and runs. http_sender.c and call.c connect requests with those who sent them: HTTP clients, and
 * threads of this process. batch.c runs the requests of a file that way (batch_input.c,
 * batch_output.c). http/ does not depend on models, api/ on neither models nor sockets.
 *
 * The server listens before the model is loaded: until then requests get 503, and /health says so.
 */

#include "server/http/http.h"
#include "vug/chat.h"
#include "vug/embed.h"

/* Everything is borrowed until vug_server_run returns. */
typedef struct {
    vug_http_options http; /* without metrics */
    const char *model_path;
    vug_model_options model;   /* slots 0: 16 */
    const char *chat_template; /* a file; NULL: the checkpoint's template */
    vug_string_list aliases;   /* more names of the model; "*": any */
    const char *trace;         /* a folder, created if missing; NULL: requests are not recorded */
    int max_waiting;           /* requests in the queue */
    int max_tokens;            /* default of chats that do not set it; 0: no limit */
    bool also_reasoning;       /* send thinking under the name `reasoning` too */
    bool strict_schemas;       /* refuse schemas with unknown keywords and formats */
    vug_speculation_mode speculation;
    vug_pooling pooling; /* of embeddings */
    /* Called when the addresses are known; false ends the server. */
    bool (*listening)(const vug_http *http, void *user);
    /* Called on the worker thread when the model is loaded. */
    void (*ready)(vug_str name, const vug_model *model, void *user);
    void *user;
} vug_server_options;

/* Serves until drained by a signal. Fails when the options or the model are unusable. */
VUG_MUST_CHECK vug_status vug_server_run(const vug_server_options *options, vug_err *err);

/* ---- batch.c: the requests of a file ------------------------------------------------- */

/* Everything is borrowed until vug_batch_run returns. */
typedef struct {
    vug_server_options server;  /* the model, and how it answers; `http` and `max_waiting` do not
                                   count */
    const char *input, *output; /* files; api/batch_line.h has their format */
    /* Called several times a second; false stops the batch. `done` and `total` are requests that the
     * output did not answer before. May be NULL. */
    vug_progress_fn *progress;
    void *user;
} vug_batch_options;

typedef struct {
    uint64_t requests;         /* in the input */
    uint64_t kept;             /* of them, answered by the output before */
    uint64_t answered, failed; /* now; the failed ones are among the answered */
    uint64_t first_failed;     /* the first line whose request failed; 0: none */
    vug_err first_failure;     /* why it failed */
    uint64_t prompt_tokens, cached_tokens, generated_tokens;
    double seconds; /* without loading the model */
} vug_batch_report;

/* Answers each request of the input that the output does not answer yet, and appends the responses to
 * the output as they come. A line that is no request, and a request that fails, get an error in the
 * output and do not end the batch. Fails when the files or the model are unusable, and with
 * VUG_CANCELLED when stopped; what was answered is kept then. Always fills `report`. */
VUG_MUST_CHECK vug_status vug_batch_run(const vug_batch_options *options, vug_batch_report *report,
                                        vug_err *err);

#endif
