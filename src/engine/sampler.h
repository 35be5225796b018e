#ifndef VUG_ENGINE_SAMPLER_H
#define VUG_ENGINE_SAMPLER_H

/* How the next token of an answer is chosen: what may come, and the draw. */

#include "engine/session.h"
#include "vug/chat.h"
#include "vug/grammar.h"

/* ---- bounds of an answer (bounds.c) --------------------------------------------- */

enum { VUG_MOST_FORCED = 256 }; /* tokens that are certain, at once */

/* What a grammar and a budget of thinking let come next, token by token. */
typedef struct {
    const vug_model *model;
    vug_reply *reply;         /* the caller's; or NULL */
    vug_grammar_state *state; /* NULL: no grammar */
    uint32_t *allowed;        /* [n_words], a bit per id */
    size_t n_words;
    int32_t forced[VUG_MOST_FORCED]; /* [n_forced]: what comes next, from `next` on */
    size_t n_forced, next;
    bool closing;          /* they close the thinking: no part of the grammar's text */
    int64_t thinking_left; /* tokens; below 0: no limit */
    bool may_stop;         /* stop tokens end the answer */
} vug_bounds;

VUG_MUST_CHECK vug_status vug_bounds_init(vug_bounds *bounds, const vug_generate_options *options,
                                          const vug_session *session, vug_err *err);
void vug_bounds_release(vug_bounds *bounds);

typedef struct {
    bool ended;              /* nothing may follow */
    int32_t forced;          /* the only token that may; -1: there is a choice */
    const uint32_t *allowed; /* among these; NULL: all */
} vug_next;

VUG_MUST_CHECK vug_status vug_bounds_next(vug_bounds *bounds, vug_next *out, vug_err *err);
/* Whether the next token is certain already. */
static inline bool vug_bounds_is_forced(const vug_bounds *bounds)
{
    return bounds->next < bounds->n_forced;
}

/* The model would stop here. While it thinks, and what the grammar wants is still to come, its
 * thinking ends instead: then what closes it is certain, and `*stops` is false. */
VUG_MUST_CHECK vug_status vug_bounds_stop(vug_bounds *bounds, bool *stops, vug_err *err);
/* Goes on by a token that was allowed and ends nothing. */
VUG_MUST_CHECK vug_status vug_bounds_take(vug_bounds *bounds, int32_t id, vug_err *err);

/* ---- sampler ------------------------------------------------------------------ */

typedef struct {
    int32_t id;
    float logit;
} vug_candidate;

/* The state of one generation's sampling. */
typedef struct {
    const vug_sampler_stage *stage; /* [n], borrowed */
    size_t n;
    uint64_t random;
    int64_t n_vocab;  /* rows of logits */
    int64_t n_usable; /* ids the tokenizer has; the rest is padding */
    bool greedy;
    bool by_id;                    /* candidates are still in the order of their ids */
    vug_candidate *candidate;      /* [n_vocab] */
    uint32_t *n_prompt, *n_answer; /* [n_vocab] how often a token came */
} vug_sampler;

VUG_MUST_CHECK vug_status vug_sampler_init(vug_sampler *sampler, const vug_sampling *sampling,
                                           int64_t n_vocab, int64_t n_usable, vug_err *err);
void vug_sampler_release(vug_sampler *sampler);
void vug_sampler_see_prompt(vug_sampler *sampler, const int32_t *id, size_t n);
/* Draws a token from logits [n_vocab] and counts it as part of the answer. `allowed`: a bit
 * for each usable id, at least one of them set; NULL: all may come. */
int32_t vug_sampler_draw(vug_sampler *sampler, const float *logits, const uint32_t *allowed);
/* Counts a token that nobody drew as part of the answer. */
void vug_sampler_see(vug_sampler *sampler, int32_t id);
/* The log-probability of `token` and of the `n_top` best, best first. */
float vug_logprobs(const float *logits, int64_t n, int32_t token, vug_logprob *top, size_t n_top);

#endif
