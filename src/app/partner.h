#ifndef VUG_APP_PARTNER_H
#define VUG_APP_PARTNER_H

/*
 * Who answers: a model in this process (answer.h) or a server (remote/remote.h). What a
 * person meets of `vug run` and `vug chat`, a prompt or a conversation, is written once,
 * over this.
 */

#include "app/shown.h"

typedef struct {
    void *self;
    vug_shown *shown; /* of the last answer */
    const vug_options *opt;
    /* Answers the conversation, or continues `raw` when that is not NULL, streamed. Ctrl-C
     * ends it early, which is no failure. */
    vug_status (*answer)(void *self, const vug_talk *talk, const vug_str *raw, bool *interrupted,
                         vug_err *err);
    /* What the last answer took: a line on stderr, or the object of --json. */
    void (*figures)(const void *self);
    void (*json)(const void *self, vug_js *js);
    /* A new conversation begins. */
    void (*reset)(void *self);
} vug_partner;

/* Calls `fn` with the prompt that stands at operand `at`, or is piped in, and returns its exit
 * code. ptr is NULL when there is none: a chat; it is empty when --messages has all there is
 * to answer. Options that exclude each other are refused. */
int vug_partner_prompt(vug_ui *ui, const vug_options *opt, size_t at,
                       int (*fn)(vug_ui *ui, const vug_options *opt, vug_str prompt));
/* What a conversation begins with: --system, --messages. `talk` is the caller's. */
VUG_MUST_CHECK vug_status vug_partner_begin(const vug_partner *partner, vug_talk *talk,
                                            vug_err *err);
/* Answers the prompt, or chats; an exit code. Meanwhile Ctrl-C ends answers, not the program. */
int vug_partner_meet(vug_partner *partner, vug_str prompt);

#endif
