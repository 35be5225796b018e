#ifndef VUG_CLI_REMOTE_OPENAI_CLIENT_H
#define VUG_CLI_REMOTE_OPENAI_CLIENT_H

/* The chat backend of `vug chat`: a server with an OpenAI-compatible API. */

#include "cli/chat_backend.h"
#include "cli/remote/chat_request.h"
#include "cli/remote/completion_parser.h"
#include "cli/remote/http_client.h"

typedef struct {
    const vug_options *opt;
    vug_http_client *http;
    vug_chat_request request; /* each response increments the seed, as in `vug run` */
    vug_arena arena;          /* owns the model's name */
    vug_response_printer printer;
    vug_completion_parser last;
    double first_s, total_s; /* of the last response: time to the first text and to the end */
} vug_openai_client;

/* Reads the files and the key that the options name, but does not connect. */
VUG_MUST_CHECK vug_status vug_openai_client_init(vug_openai_client *c, vug_ui *ui,
                                                 const vug_options *opt, vug_err *err);
/* Selects --model, or the first model that the server lists. */
VUG_MUST_CHECK vug_status vug_openai_client_select_model(vug_openai_client *c, vug_err *err);
void vug_openai_client_release(vug_openai_client *c);
/* Valid as long as `c`. */
vug_chat_backend vug_openai_client_interface(vug_openai_client *c);

#endif
