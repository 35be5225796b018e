#ifndef VUG_SERVER_RESPOND_H
#define VUG_SERVER_RESPOND_H

/* The choices of a response, and its end. */

#include "server/internal.h"

/* A choice of the response to a request: whole or a stream, as `head` says. Used by one thread. */
typedef struct {
    vug_server_request *request;
    vug_chat_choice *chat;             /* this one */
    vug_completion_choice *completion; /* or this one */
    vug_response_parser *parser;       /* of a chat */
    vug_session *session;              /* NULL: not needed yet */
    vug_tokens tokens;                 /* when it is generated */
    vug_buf events;                    /* of a stream, not sent yet */
    const vug_tokens *prompt;
    bool is_first;      /* of its prompt */
    bool prompt_begun;  /* on_prompt was called */
    size_t n_cached;    /* of its tokens */
    double started;     /* time */
    double prompt_s;    /* what it added to usage.prompt_s */
    double last_token;  /* time; 0: none yet */
    vug_buf token_text; /* of log-probabilities */
    vug_api_token top_tokens[VUG_MAX_LOGPROB_IDS];
    /* Of a whole response: */
    size_t counted_bytes; /* in answer_bytes of the request */
    bool out_of_memory;   /* reserving failed */
} vug_server_response;

/* ---- respond.c ------------------------------------------------------------------------ */

/* Sends the events, or reserves memory for a whole response. False when the client has
 * disconnected or memory is short. Under the request's lock. */
bool vug_server_response_flush(vug_server_response *response);
/* Creates the session of a choice, unless it has one. */
VUG_MUST_CHECK vug_status vug_server_response_session(vug_server_response *response, vug_err *err);
/* Generates choice number `choice` of its prompt. VUG_CANCELLED when the client has disconnected. */
VUG_MUST_CHECK vug_status vug_server_response_generate(vug_server_response *response, int choice,
                                                       vug_finish *finish, vug_err *err);
/* Begins the text of a completion with that of its prompt. */
void vug_server_response_echo(vug_server_response *response, const char *text, size_t n);
/* Finishes a choice and sends its last event. */
VUG_MUST_CHECK vug_status vug_server_response_finish(vug_server_response *response,
                                                     vug_finish finish, vug_err *err);
void vug_server_response_release(vug_server_response *response);
/* Ends the request in every case; takes `body`, that of a whole response. */
void vug_server_request_end(vug_server_request *request, vug_status st, const vug_err *err,
                            vug_buf *body);
/* A vug_response_parser_options.on_part function whose `user` is the response. */
bool vug_server_response_part(const vug_part *part, void *response);
/* Finds the text of a token and of its alternatives `top`, in the response's buffers. */
VUG_MUST_CHECK bool vug_server_describe_logprob(vug_server_response *response,
                                                const vug_logprob *token, const vug_logprob *top,
                                                size_t n_top, vug_api_logprob *out);

/* ---- prompt_logprobs.c ----------------------------------------------------------------- */

/* Feeds the tokens of a prompt to the choice, with log-probabilities if they are wanted. `text` is
 * the prompt's text, if it was given as text. */
VUG_MUST_CHECK vug_status vug_server_echo_prompt(vug_server_response *response,
                                                 const vug_tokens *prompt, vug_str text,
                                                 vug_err *err);

/* Appends the log-probabilities of a prompt to `list`, as prompt_logprobs asks for them. */
VUG_MUST_CHECK vug_status vug_server_list_prompt_logprobs(vug_server_response *response,
                                                          const vug_tokens *prompt, vug_buf *list,
                                                          vug_err *err);

#endif
