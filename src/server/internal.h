#ifndef VUG_SERVER_INTERNAL_H
#define VUG_SERVER_INTERNAL_H

/* Shared by the files of this folder only. Sections go from the lowest file to the highest. */

#include <stdatomic.h>

#include "core/pool.h"
#include "server/api/api_response.h"
#include "server/grammar_cache.h"
#include "server/server.h"
#include "server/worker.h"

typedef enum { VUG_SERVICE_LOADING, VUG_SERVICE_READY, VUG_SERVICE_FAILED } vug_service_state;

/* Called on the worker thread; `err` is NULL when the model is loaded. */
typedef void vug_service_loaded_fn(const vug_err *err, void *user);

typedef struct vug_server_request vug_server_request;

/* A model that is served. */
typedef struct {
    vug_server_options opt;
    vug_worker *worker;
    vug_worker_job load_job;
    vug_service_loaded_fn *loaded;
    void *loaded_user;
    atomic_int state;
    atomic_bool loading_cancelled;
    vug_http *_Atomic http; /* NULL until it listens */
    _Atomic uint64_t n_requests;
    uint64_t seed; /* of ids, and of requests without a seed */
    atomic_bool trace_failed;

    /* Written by the worker before the state is READY, read-only afterwards. */
    vug_model *model;
    vug_model_info info;
    const vug_tokenizer *tokenizer;
    const vug_chat *chat; /* NULL: none, for the reason in `chat_error` */
    vug_chat *own_chat;
    vug_err chat_error;
    vug_sampling_defaults sampling;
    vug_str name;        /* points into a path */
    char *resolved_path; /* of a model path that ends in "." or ".."; else NULL */
    int64_t created;

    vug_grammar_cache *grammars;

    vug_mutex *slots_lock;                       /* guards what follows, and members of requests */
    vug_server_request *first_slot, **last_slot; /* requests that wait or run, by arrival */
    uint64_t n_slots_added;
} vug_service;

/* What the sender of a request can be told; `self` is that of its vug_request_sender. A request ends
 * with exactly one call of `reply`, `fail` or `end_stream`, the last call of all. */
typedef struct {
    /* Accounts for memory that is kept until the request ends. False: there is too little. */
    bool (*reserve)(void *self, size_t bytes);
    /* Whole events of a stream. False: the sender has disconnected. */
    bool (*send_events)(void *self, vug_str events);
    void (*end_stream)(void *self);
    void (*reply)(void *self, vug_buf *body); /* status 200; takes the body */
    void (*fail)(void *self, const vug_api_error *error);
} vug_sender_functions;

/* Who sent a request and waits for its response: an HTTP client, or a vug_server_call. Strings are
 * valid until the request ends. */
typedef struct {
    const vug_sender_functions *call;
    void *self;
    const char *request_id;
    vug_str api_key; /* empty: none */
    vug_str body;
} vug_request_sender;

/* What /slots tells of a request. */
typedef struct {
    vug_server_request *next, **link; /* guarded by the service's slots_lock */
    uint64_t number;                  /* guarded by it, too */
    atomic_int state;                 /* vug_api_slot_state */
    atomic_size_t n_cached, n_generated;
} vug_request_slot;

/* A request from its parsing to its response. Slices in `api` point into the sender's body. */
struct vug_server_request {
    vug_worker_job job; /* first */
    vug_service *service;
    vug_request_sender sender;
    vug_arena arena;
    vug_api_request api;
    vug_api_response_head head;
    vug_sampling sampling;
    vug_prompt prompt;  /* of a chat */
    vug_tokens *tokens; /* [n_prompts] */
    size_t n_prompts;
    size_t n_unstable;          /* last tokens of a prompt that a longer one may not repeat */
    const vug_grammar *grammar; /* held in the service's cache; NULL: unconstrained */
    vug_session *session;       /* of all choices, one after the other; NULL: not needed yet */
    vug_api_usage usage;
    double received; /* time */
    vug_request_slot slot;
};

/* The response to a request: whole or a stream, as `head` says. Used by the worker only. */
typedef struct {
    vug_server_request *request;
    vug_chat_choice *chat;             /* the current choice: this one */
    vug_completion_choice *completion; /* or this one */
    vug_response_parser *parser;       /* of a chat */
    vug_stop_strings stops;            /* initial state, copied to every choice */
    vug_buf events;                    /* of a stream, not sent yet */
    vug_buf record;                    /* for the trace: a stream or an error */
    double last_token;                 /* time; 0: none yet */
    vug_buf token_text;                /* of log-probabilities */
    vug_api_token top_tokens[VUG_MAX_TOP_LOGPROBS];
    /* Of a whole response: */
    size_t finished_bytes; /* of finished choices */
    size_t reserved_bytes; /* of the sender */
    bool out_of_memory;    /* reserving failed */
} vug_server_response;

/* ---- service.c ----------------------------------------------------------------------- */

VUG_MUST_CHECK vug_status vug_service_create(const vug_server_options *options, vug_service **out,
                                             vug_err *err);
/* Loads the model, on the worker. */
void vug_service_start(vug_service *service, vug_service_loaded_fn *loaded, void *user);
/* From any thread. */
void vug_service_cancel_loading(vug_service *service);
/* After all requests have ended. */
void vug_service_destroy(vug_service *service);
/* Whether `name` is a name of the model. */
bool vug_service_has_name(const vug_service *service, vug_str name);

/* ---- slots.c ------------------------------------------------------------------------- */

/* Before the request is queued. */
void vug_server_slots_add(vug_server_request *request);
/* Before the request ends. */
void vug_server_slots_remove(vug_server_request *request);
/* The JSON of /slots. */
void vug_server_slots_write(vug_service *service, vug_buf *to);

/* ---- trace.c ------------------------------------------------------------------------- */

/* Records a request and its response in a file of its own; reports the first failure only. */
void vug_server_trace(vug_server_request *request, int status, const vug_buf *response);

/* ---- request_grammar.c --------------------------------------------------------------- */

/* Finds or compiles the grammar of the output, if it needs one. False fills `error`. */
VUG_MUST_CHECK bool vug_server_prepare_grammar(vug_server_request *request, vug_api_error *error);

/* ---- prepare.c ----------------------------------------------------------------------- */

/* Parses and checks everything; the model must be loaded. NULL fills `error`. */
vug_server_request *vug_server_request_create(vug_service *service,
                                              const vug_request_sender *sender,
                                              vug_api_endpoint endpoint, vug_api_error *error);
size_t vug_server_request_bytes(const vug_server_request *request);
/* Does not use the sender, whose request has ended. Accepts NULL. */
void vug_server_request_free(vug_server_request *request);

/* ---- respond.c (worker only) --------------------------------------------------------- */

/* VUG_NOMEM: requests and responses together take too much memory. */
VUG_MUST_CHECK vug_status vug_server_out_of_memory(vug_err *err);
/* Sends the events, or reserves memory for a whole response. False when the client has
 * disconnected or memory is short. */
bool vug_server_response_flush(vug_server_response *response);
VUG_MUST_CHECK vug_status vug_server_response_end_choice(vug_server_response *response,
                                                         vug_err *err);
/* Creates the request's session, unless it has one. */
VUG_MUST_CHECK vug_status vug_server_request_session(vug_server_request *request, vug_err *err);
/* Generates choice number `choice` of a prompt. VUG_CANCELLED when the client has disconnected. */
VUG_MUST_CHECK vug_status vug_server_response_generate(vug_server_response *response,
                                                       const vug_tokens *prompt, int choice,
                                                       vug_finish *finish, vug_err *err);
/* Ends the request in every case; takes `body`, that of a whole response. */
void vug_server_response_end(vug_server_response *response, vug_status st, const vug_err *err,
                             vug_buf *body);
/* A vug_response_parser_options.on_part function whose `user` is the response. */
bool vug_server_response_part(const vug_part *part, void *response);
/* Finds the text of a token and of its alternatives `top`, in the response's buffers. */
VUG_MUST_CHECK bool vug_server_describe_logprob(vug_server_response *response,
                                                const vug_logprob *token, const vug_logprob *top,
                                                size_t n_top, vug_api_logprob *out);

/* ---- prompt_logprobs.c (worker only) ------------------------------------------------- */

/* Feeds the tokens of a prompt to the choice, with log-probabilities if they are wanted. `text` is
 * the prompt's text, if it was given as text. */
VUG_MUST_CHECK vug_status vug_server_echo_prompt(vug_server_response *response,
                                                 const vug_tokens *prompt, vug_str text,
                                                 vug_err *err);

/* ---- completions.c ------------------------------------------------------------ */

/* Whether the worker has room for one more request; then vug_worker_push or _release must follow.
 * False fills `error`. */
VUG_MUST_CHECK bool vug_server_admit(vug_service *service, vug_api_error *error);
/* Queues a request of a chat or completion endpoint, which was admitted. */
void vug_server_push(vug_server_request *request);

/* ---- http_sender.c --------------------------------------------------------------------- */

vug_request_sender vug_server_http_sender(vug_http_request *http);

/* ---- call.c ---------------------------------------------------------------------------- */

/* A request of this process, which is answered as if it came over HTTP. It can be run again and
 * again, by one thread at a time. */
typedef struct vug_server_call vug_server_call;

VUG_MUST_CHECK vug_status vug_server_call_create(vug_service *service, vug_server_call **out,
                                                 vug_err *err);
/* Accepts NULL. */
void vug_server_call_destroy(vug_server_call *call);

typedef struct {
    int status;   /* of HTTP */
    vug_str body; /* JSON; valid until the call is used again */
} vug_call_response;

/* Parses and runs a request to a chat or completion endpoint, and waits for its response, which may
 * be an error of the API. `id` names the request in traces. Fails when cancelled or out of memory. */
VUG_MUST_CHECK vug_status vug_server_call_run(vug_server_call *call, vug_api_endpoint endpoint,
                                              vug_str body, const char *id, vug_call_response *out,
                                              vug_err *err);
/* From any thread: this run and all later ones fail. */
void vug_server_call_cancel(vug_server_call *call);

/* ---- routes.c ------------------------------------------------------------------------ */

/* All routes; their `user` is the service. */
const vug_http_route *vug_server_routes(size_t *n);

#endif
