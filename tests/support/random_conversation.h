#ifndef VUG_TESTS_SUPPORT_RANDOM_CONVERSATION_H
#define VUG_TESTS_SUPPORT_RANDOM_CONVERSATION_H

/*
 * Random conversations with a model: questions and answers that are continued, edited, branched,
 * asked again, stopped and cancelled. Every row of logits is compared with that of a cold run of
 * the same tokens. Makes no assertions: for threads and child processes.
 */

#include "core/cancel.h"
#include "engine/session.h"

enum {
    CONVERSATION_CONTEXT = 600, /* tokens that the models must hold */
    CONVERSATION_SYSTEM = 200,  /* tokens of a system turn, at most */
};

typedef struct {
    vug_model *model;
    vug_model *cold;         /* opened from the same files; computes every row that is compared */
    size_t n_vocab;          /* of both */
    double tolerance;        /* most difference of a logit; 0: rows have the same bits */
    size_t n_systems;        /* of system turns, which conversations share */
    vug_cancel_token *own;   /* of the calls of this thread */
    vug_cancel_token *other; /* of another thread's, which it cancels now and then */
    vug_session *cold_session;
    int32_t id[CONVERSATION_CONTEXT];
    size_t n;
    float *row;                     /* [CONVERSATION_CONTEXT, n_vocab] the logits after tokens */
    bool has[CONVERSATION_CONTEXT]; /* which of them were computed, and not compared yet */
    uint64_t random;
    size_t n_compared, n_cancelled; /* rows; calls */
    vug_err err;
} random_conversation;

/* Prepares `c`, whose first members, up to `other`, the caller has set, for conversations one
 * after the other. The caller releases it even on failure. */
VUG_MUST_CHECK vug_status random_conversation_init(random_conversation *c);
void random_conversation_release(random_conversation *c);
/* Runs the conversation that `seed` stands for. Fails with VUG_FORMAT if a row is not that of a
 * cold run. */
VUG_MUST_CHECK vug_status random_conversation_run(random_conversation *c, uint64_t seed);
/* The tokens of system turn `i`, and their number. */
size_t random_conversation_system(size_t i, size_t n_vocab, int32_t *id);

#endif
