#ifndef VUG_ENGINE_SAMPLER_H
#define VUG_ENGINE_SAMPLER_H

/* How the next token of an answer is chosen: constraints and sampling. */

#include "engine/session.h"
#include "vug/chat.h"
#include "vug/grammar.h"

/* ---- constraints on an answer (constraints.c) ------------------------------------ */

enum { VUG_MAX_FORCED = 256 }; /* tokens that can be forced at once */

/* Which tokens a grammar and a thinking budget allow next. */
typedef struct {
    const vug_model *model;
    vug_response_parser *parser; /* the caller's; or NULL */
    vug_grammar_state *state;    /* NULL: no grammar */
    uint32_t *allowed;           /* [n_words] a bit per id */
    size_t n_words;
    int32_t forced[VUG_MAX_FORCED]; /* [n_forced] the next tokens, from `next` on */
    size_t n_forced, next;
    bool closing;          /* the forced tokens close the thinking: the grammar ignores them */
    int64_t thinking_left; /* tokens; below 0: no limit */
    bool may_stop;         /* stop tokens end the answer */
} vug_constraints;

VUG_MUST_CHECK vug_status vug_constraints_init(vug_constraints *c,
                                               const vug_generate_options *options,
                                               const vug_model *model, vug_err *err);
void vug_constraints_release(vug_constraints *c);

typedef struct {
    bool ended;              /* no token may follow */
    int32_t forced;          /* the token that must follow; -1: more than one may */
    const uint32_t *allowed; /* a bit for each id that may follow; NULL: all may */
} vug_next_token;

VUG_MUST_CHECK vug_status vug_constraints_next(vug_constraints *c, vug_next_token *out,
                                               vug_err *err);
/* Whether the next token is already known. */
static inline bool vug_constraints_is_forced(const vug_constraints *c)
{
    return c->next < c->n_forced;
}

/* Handles a stop token of the model. If the model is still thinking and the grammar requires text
 * after that, the thinking ends instead: its closing tokens are forced, and `*stops` is false. */
VUG_MUST_CHECK vug_status vug_constraints_on_stop(vug_constraints *c, bool *stops, vug_err *err);
/* Advances by a token that was allowed and does not end the answer. */
VUG_MUST_CHECK vug_status vug_constraints_accept(vug_constraints *c, int32_t id, vug_err *err);

/* ---- sampler (sampler.c) ------------------------------------------------------- */

typedef struct {
    int32_t id;
    float logit;
} vug_candidate;

/* The sampling state of one generation. */
typedef struct {
    const vug_sampler_config *config; /* [n], borrowed */
    size_t n;
    uint64_t random;
    int64_t n_vocab;  /* ids that have logits */
    int64_t n_usable; /* ids that the tokenizer has; the rest is padding */
    bool greedy;
    bool by_id;                    /* candidates are still in the order of their ids */
    vug_candidate *candidate;      /* [n_vocab] */
    uint32_t *n_prompt, *n_answer; /* [n_vocab] how often each token occurred */
} vug_sampler;

VUG_MUST_CHECK vug_status vug_sampler_init(vug_sampler *sampler, const vug_sampling *sampling,
                                           int64_t n_vocab, int64_t n_usable, vug_err *err);
void vug_sampler_release(vug_sampler *sampler);
/* Counts tokens as part of the prompt. */
void vug_sampler_accept_prompt(vug_sampler *sampler, const int32_t *id, size_t n);
/* Counts a token that was not sampled as part of the answer. */
void vug_sampler_accept(vug_sampler *sampler, int32_t id);
/* Samples a token from logits [n_vocab] and counts it as part of the answer. `allowed` has a bit
 * for each usable id, at least one of them set; NULL: all are allowed. */
int32_t vug_sampler_sample(vug_sampler *sampler, const float *logits, const uint32_t *allowed);

/* Returns the log-probability of `token` and fills `top` with the `n_top` most likely tokens,
 * best first. */
float vug_compute_logprobs(const float *logits, int64_t n, int32_t token, vug_logprob *top,
                           size_t n_top);

#endif
