#ifndef VUG_APP_SERVER_SERVICE_OWN_H
#define VUG_APP_SERVER_SERVICE_OWN_H

/* What the files of the service share; nobody else includes it. */

#include <stdatomic.h>

#include "app/server/api/answer.h"
#include "app/server/grammars.h"
#include "app/server/service.h"
#include "app/server/sessions.h"
#include "app/server/worker.h"

typedef enum { VUG_SERVICE_LOADING, VUG_SERVICE_READY, VUG_SERVICE_FAILED } vug_service_state;

struct vug_service {
    vug_service_options opt;
    vug_worker *worker;
    vug_job loading;
    atomic_int state;
    atomic_bool given_up;
    vug_http *_Atomic http;
    _Atomic uint64_t n_requests;
    uint64_t seed; /* of ids and of requests without a seed */
    atomic_bool trace_failed;

    /* Written by the worker before it says READY, read-only afterwards. */
    vug_model *model;
    vug_model_info info;
    const vug_tokenizer *tokenizer;
    const vug_chat *chat; /* NULL: there is none, `no_chat` says why */
    vug_chat *own_chat;
    vug_err no_chat;
    vug_sampling_defaults sampling;
    vug_str name;     /* points into the path */
    char *plain_path; /* where that ends in a dot */
    int64_t created;

    vug_sessions sessions; /* the worker's */
    vug_grammars *grammars;
};

/* A chat or a completion on its way. Slices of the request point into the call's body. */
typedef struct {
    vug_job job; /* first */
    vug_service *service;
    vug_http_call *call;
    vug_arena arena;
    vug_api_request request;
    vug_api_head head;
    vug_sampling sampling;
    vug_prompt prompt;  /* of a chat */
    vug_tokens *tokens; /* [n_prompts] */
    size_t n_prompts;
    size_t n_opening;           /* tokens at the end of a prompt that open the answer */
    const vug_grammar *grammar; /* of the service's; NULL: the answer is free */
    vug_api_usage usage;
    double began;
} vug_asked;

/* Reads and checks everything; false with `error`. */
VUG_MUST_CHECK bool vug_ask(vug_asked *asked, vug_api_endpoint endpoint, vug_api_error *error);
/* The grammar of the answer, if it has one; false with `error`. */
VUG_MUST_CHECK bool vug_ask_form(vug_asked *asked, vug_api_error *error);
/* False, with `error`. */
bool vug_ask_no_memory(vug_api_error *error);
/* VUG_NOMEM, as all that is kept for requests is too much. */
VUG_MUST_CHECK vug_status vug_ask_no_room(vug_err *err);
/* Whether the model goes by that name. */
bool vug_ask_name(const vug_service *service, vug_str name);
/* What it keeps in memory. */
size_t vug_asked_bytes(const vug_asked *asked);
/* Without the call, which has ended. */
void vug_asked_free(vug_asked *asked);

/* On the worker: the session to read a prompt with. */
VUG_MUST_CHECK vug_status vug_asked_session(vug_asked *asked, const vug_tokens *prompt,
                                            vug_kept_session **out, vug_err *err);

/* On the worker: answers, ends the call and frees. */
void vug_answer_chat(vug_job *job);
void vug_answer_text(vug_job *job);

/* A piece or a scored token with its spelling and those of `top`, whose bytes are in `to`. */
VUG_MUST_CHECK bool vug_spell_logprob(const vug_tokenizer *tokenizer, const vug_logprob *token,
                                      const vug_logprob *top, size_t n_top, vug_buf *to,
                                      vug_api_token *room, vug_api_logprob *out);

/* A request and its answer in a file of their own; a failure is said once. */
void vug_trace(vug_asked *asked, int status, const vug_buf *answer);

#endif
