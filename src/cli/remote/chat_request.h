#ifndef VUG_CLI_REMOTE_CHAT_REQUEST_H
#define VUG_CLI_REMOTE_CHAT_REQUEST_H

/* The request body for a chat or a completion. */

#include "cli/conversation.h"

typedef struct {
    const vug_options *opt;
    vug_prompt_options prompt_options;
    vug_text schema, grammar; /* the files of these options */
    vug_str model;            /* its name on the server; borrowed */
    uint64_t seed;            /* sent if --seed is given */
} vug_chat_request;

/* Reads and checks the files that the options name. Release `r` on failure too. */
VUG_MUST_CHECK vug_status vug_chat_request_init(vug_chat_request *r, const vug_options *opt,
                                                vug_err *err);
void vug_chat_request_release(vug_chat_request *r);
/* Appends the JSON: a chat request or, if `raw` is not NULL, a request to complete that text. */
VUG_MUST_CHECK vug_status vug_chat_request_write(const vug_chat_request *r,
                                                 const vug_chat_history *history,
                                                 const vug_str *raw, vug_buf *to, vug_err *err);

#endif
