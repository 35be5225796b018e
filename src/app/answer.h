#ifndef VUG_APP_ANSWER_H
#define VUG_APP_ANSWER_H

/* One answer of a model, streamed to stdout: what `vug run` and its chat share. */

#include "app/js.h"
#include "app/talk.h"

typedef struct {
    vug_ui *ui;
    const vug_options *opt;
    const vug_model *model;
    vug_session *session;
    vug_sampling sampling;
    vug_arena arena; /* of the stages */
    vug_js logprobs; /* with --json: the elements of an array */
    char last;       /* byte that was printed last, to either */

    const vug_chat *chat; /* NULL with --raw */
    vug_chat *own;        /* of --chat-template */
    vug_setting setting;
    vug_grammar *grammar;      /* NULL: anything */
    vug_reply *reply;          /* while an answer of a conversation comes */
    vug_buf content, thinking; /* of the last answer */
    vug_js calls;              /* likewise: the elements of tool_calls */
    size_t n_calls;
    vug_buf name, arguments; /* of the call that comes */
    bool thought;            /* thinking was printed last */
} vug_answerer;

/* Makes the sampling chain: the model's, changed by what the user gave; opens the chat
 * template. The session is created after it, for a bad option should be told at once. */
VUG_MUST_CHECK vug_status vug_answerer_init(vug_answerer *a, vug_ui *ui, const vug_options *opt,
                                            const vug_model *model, vug_err *err);
void vug_answerer_release(vug_answerer *a);

/* Answers the conversation, or continues `raw` when that is not NULL. Ctrl-C
 * ends it early. A line end is added to what was printed if there is none. */
VUG_MUST_CHECK vug_status vug_answer(vug_answerer *a, const vug_talk *talk, const vug_str *raw,
                                     vug_generation *out, vug_err *err);
/* Adds the answer to the conversation that it was of; false when there is nothing of it. */
bool vug_answer_keep(const vug_answerer *a, vug_talk *talk);
/* The speed, on stderr, unless --quiet. */
void vug_answer_speed(const vug_answerer *a, const vug_generation *g);
void vug_answer_json(const vug_answerer *a, const vug_generation *g, double load_s, vug_js *js);

/* form.c: the grammar of --schema and its like, or NULL. */
VUG_MUST_CHECK vug_status vug_form_of(const vug_answerer *a, vug_grammar **out, vug_err *err);
/* sampling.c: a chain in the user's order or the default one. */
VUG_MUST_CHECK vug_status vug_sampling_of(const vug_options *opt, const vug_model *model,
                                          vug_arena *arena, vug_sampling *out, vug_err *err);

#endif
