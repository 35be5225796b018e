#ifndef VUG_CLI_LOCAL_BACKEND_H
#define VUG_CLI_LOCAL_BACKEND_H

/* The chat backend of `vug run`: a model in this process. */

#include "cli/chat_backend.h"
#include "core/cancel.h"

typedef struct {
    vug_ui *ui;
    const vug_options *opt;
    const vug_model *model;
    vug_session *session;
    vug_cancel_token cancel; /* of the running call; Ctrl-C triggers it */
    double load_s;           /* time to open the model */
    vug_sampling sampling;
    uint64_t first_seed, next_seed; /* of a conversation; each response increments the seed */
    vug_arena arena;                /* owns the samplers */

    const vug_chat *chat; /* NULL with --raw */
    vug_chat *own_chat;   /* from --chat-template */
    vug_prompt_options prompt_options;
    vug_grammar *grammar;        /* NULL: unconstrained */
    vug_response_parser *parser; /* while a response to a conversation streams */
    vug_response_printer printer;
    vug_generation last;
} vug_local_backend;

/* Everything but `session` and `load_s`, so that a bad option is reported before the session
 * takes its memory. */
VUG_MUST_CHECK vug_status vug_local_backend_init(vug_local_backend *b, vug_ui *ui,
                                                 const vug_options *opt, const vug_model *model,
                                                 vug_err *err);
void vug_local_backend_release(vug_local_backend *b);
/* Valid as long as `b`, which must have a session. */
vug_chat_backend vug_local_backend_interface(vug_local_backend *b);

#endif
