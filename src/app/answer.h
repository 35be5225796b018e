#ifndef VUG_APP_ANSWER_H
#define VUG_APP_ANSWER_H

/* One answer of a model, streamed to stdout: what `vug run` and its chat share. */

#include "app/conversation.h"
#include "app/js.h"

typedef struct {
    vug_ui *ui;
    const vug_options *opt;
    const vug_model *model;
    vug_session *session;
    vug_sampling sampling;
    vug_arena arena; /* of the stages */
    vug_js logprobs; /* with --json: the elements of an array */
    char last;       /* byte that was printed last */
} vug_answerer;

/* Makes the sampling chain: the model's, changed by what the user gave. The
 * session is created after it, for a bad option should be told at once. */
VUG_MUST_CHECK vug_status vug_answerer_init(vug_answerer *a, vug_ui *ui, const vug_options *opt,
                                            const vug_model *model, vug_err *err);
void vug_answerer_release(vug_answerer *a);

/* Answers the conversation, or continues `raw` when that is not NULL. Ctrl-C
 * ends it early. A line end is added to what was printed if there is none. */
VUG_MUST_CHECK vug_status vug_answer(vug_answerer *a, const vug_conversation *c, const vug_str *raw,
                                     vug_generation *out, vug_err *err);
/* The speed, on stderr, unless --quiet. */
void vug_answer_speed(const vug_answerer *a, const vug_generation *g);
void vug_answer_json(const vug_answerer *a, const vug_generation *g, double load_s, vug_js *js);

/* sampling.c: a chain in the user's order or the default one. */
VUG_MUST_CHECK vug_status vug_sampling_of(const vug_options *opt, const vug_model *model,
                                          vug_arena *arena, vug_sampling *out, vug_err *err);

#endif
