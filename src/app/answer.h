#ifndef VUG_APP_ANSWER_H
#define VUG_APP_ANSWER_H

/* Answers of a model in this process: the partner of `vug run`. */

#include "app/partner.h"

typedef struct {
    vug_ui *ui;
    const vug_options *opt;
    const vug_model *model;
    vug_session *session;
    double load_s; /* what opening the model took */
    vug_sampling sampling;
    uint64_t first_seed, next_seed; /* of the conversation; each answer counts on */
    vug_arena arena;                /* of the stages */

    const vug_chat *chat; /* NULL with --raw */
    vug_chat *own;        /* of --chat-template */
    vug_setting setting;
    vug_grammar *grammar; /* NULL: anything */
    vug_reply *reply;     /* while an answer of a conversation comes */
    vug_shown shown;
    vug_generation last;
} vug_answerer;

/* Makes the sampling chain: the model's, changed by what the user gave; opens the chat
 * template. The session is created after it, for a bad option should be told at once. */
VUG_MUST_CHECK vug_status vug_answerer_init(vug_answerer *a, vug_ui *ui, const vug_options *opt,
                                            const vug_model *model, vug_err *err);
void vug_answerer_release(vug_answerer *a);

/* Valid as long as `a`, which has a session. */
vug_partner vug_answerer_partner(vug_answerer *a);

/* form.c: the grammar of --schema and its like, or NULL. */
VUG_MUST_CHECK vug_status vug_form_of(const vug_answerer *a, vug_grammar **out, vug_err *err);
/* sampling.c: a chain in the user's order or the default one. */
VUG_MUST_CHECK vug_status vug_sampling_of(const vug_options *opt, const vug_model *model,
                                          vug_arena *arena, vug_sampling *out, vug_err *err);

#endif
