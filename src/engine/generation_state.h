#ifndef VUG_ENGINE_GENERATION_STATE_H
#define VUG_ENGINE_GENERATION_STATE_H

/* The state of one generation, and how its tokens are chosen and delivered. Only the files of
 * generations include this. */

#include "core/stop_strings.h"
#include "engine/constraints.h"
#include "engine/sampler.h"
#include "engine/speculation.h"

typedef struct {
    vug_session *session;
    const vug_generate_options *o;
    vug_sampler sampler;
    int32_t *stop; /* [n_stop] every stop token, if there is a min_tokens */
    size_t n_stop;
    vug_constraints constraints;
    vug_speculation speculation;
    bool speculates;
    vug_session *draft;   /* of the draft model; NULL: not begun, or there is none */
    bool draft_is_read;   /* it has read the prompt */
    bool has_draft;       /* the model has a draft model, which has not failed yet */
    vug_decoder *decoder; /* NULL without a tokenizer */
    size_t cap;           /* of out->tokens */
    vug_arena arena;      /* of the stop strings */
    vug_stop_strings stop_strings;
    vug_buf shown; /* the text of a piece up to what may begin a stop string */
    vug_buf text;
    vug_logprob top[VUG_MAX_LOGPROB_IDS];
    vug_generation *out;
} vug_generation_state;

/* Whether pieces have log-probabilities. */
static inline bool vug_generation_reports_logprobs(const vug_generation_state *g)
{
    return g->o->logprobs || g->o->n_top > 0 || g->o->n_logprob_ids > 0;
}

/* The most likely tokens that pieces have. */
static inline size_t vug_generation_top(const vug_generation_state *g)
{
    const int64_t usable = g->sampler.model.n_usable;
    return g->o->n_top > usable ? (size_t)usable : (size_t)g->o->n_top;
}

/* Reads the stop tokens and stop strings of the options. */
VUG_MUST_CHECK vug_status vug_generation_init_stops(vug_generation_state *g, vug_err *err);
/* Chooses a token after the session's last logits, appends it to the answer and delivers it; `*more`
 * is false when the generation ends with it. */
VUG_MUST_CHECK vug_status vug_generation_add_token(vug_generation_state *g, bool *more,
                                                   vug_err *err);
/* Delivers text that was waiting for the rest of a character or of a stop string. A caller that
 * ended the generation gets it in the answer's text only. */
VUG_MUST_CHECK vug_status vug_generation_flush_text(vug_generation_state *g, vug_err *err);

#endif
