#ifndef VUG_ENGINE_SAMPLER_H
#define VUG_ENGINE_SAMPLER_H

/*
 * The sampler of one answer: it chooses tokens from logits.
 *
 * A choice is a function of the logits, the settings, the seed and the tokens so far. Sampling does
 * not change the sampler; accepting tokens does, and taking them back undoes it. So a step may
 * sample after tokens that are only a draft.
 */

#include "backend/backend.h"
#include "engine/banned_words.h"
#include "engine/candidates.h"
#include "engine/logits_row.h"
#include "engine/token_history.h"
#include "vug/vug.h"

/* ---- settings (sampler_settings.c) -------------------------------------------------- */

/* Whether it does nothing. */
bool vug_sampler_is_off(const vug_sampler_config *config);

/* The chain of a vug_sampling, checked. */
typedef struct {
    const vug_sampling *from;
    float value[VUG_SAMPLER_COUNT]; /* of the parameters, and whether a sampler is used */
    const char *const *breaker;     /* [n_breakers] of DRY */
    size_t n_breakers;
    bool is_greedy;
    bool has_penalty; /* that counts tokens */
} vug_sampler_settings;

VUG_MUST_CHECK vug_status vug_sampler_settings_init(vug_sampler_settings *settings,
                                                    const vug_sampling *sampling, int64_t n_vocab,
                                                    vug_err *err);

/* ---- changes of single logits (sampler_penalties.c) ---------------------------------- */

/* Logits that differ from the model's. */
typedef struct {
    uint32_t *is_changed; /* a bit per id */
    float *value;         /* [n_vocab] if changed */
    int32_t *id;          /* [n] the changed ids; room for n_vocab */
    size_t n;
} vug_changed_logits;

VUG_MUST_CHECK vug_status vug_changed_logits_init(vug_changed_logits *changed, int64_t n_vocab,
                                                  vug_err *err);
void vug_changed_logits_release(vug_changed_logits *changed);
void vug_changed_logits_clear(vug_changed_logits *changed);
/* The place of an id's logit, which starts with that of the model. */
float *vug_changed_logits_at(vug_changed_logits *changed, const float *logits, int32_t id);

/* Where changes go: to a list for a device, or else to the changed logits. */
typedef struct {
    vug_logit_change *list; /* [VUG_MOST_CHANGES], or NULL */
    size_t n;               /* changes so far; the list has the first VUG_MOST_CHANGES */
    int stage;
    vug_changed_logits *changed;
    const float *logits;
} vug_adjustments;

/* Subtracts `value` from the logit of an id. */
void vug_lower_logit(vug_adjustments *to, int32_t id, float value);
/* Applies REPETITION, PRESENCE or FREQUENCY. */
void vug_penalize_seen(vug_adjustments *to, const vug_sampler_config *config,
                       vug_token_history *history);

/* The repeats that DRY penalizes. */
typedef struct {
    double base;
    int64_t allowed_length, window;
    const uint8_t *is_breaker; /* per token of the history */
    uint8_t *length;           /* [n_vocab] zeros: scratch */
} vug_dry;

/* Applies DRY with this multiplier. */
void vug_penalize_repeats(vug_adjustments *to, float multiplier, const vug_dry *dry,
                          const vug_token_history *history);
/* Whether one of the breakers' texts ends inside the last token of `id[0..n)`. */
VUG_MUST_CHECK vug_status vug_dry_find_breaker(const vug_sampler_settings *settings,
                                               const vug_tokenizer *tokenizer, const int32_t *id,
                                               size_t n, bool *found, vug_err *err);

/* ---- sampler (sampler.c) --------------------------------------------------------------- */

typedef struct {
    int64_t n_vocab;   /* ids that have logits */
    int64_t n_usable;  /* ids that the tokenizer has; the rest is padding */
    size_t max_tokens; /* of a prompt and its answer */
    const vug_tokenizer
            *tokenizer; /* NULL: breakers of DRY have no effect, words cannot be banned */
} vug_sampler_model;

typedef struct {
    vug_sampler_settings settings;
    vug_sampler_model model;
    vug_token_history history;
    uint8_t *is_breaker; /* [max_tokens] per token of the history; NULL: no breakers */
    uint8_t *dry_length; /* [n_vocab] zeros; NULL: no DRY */
    vug_changed_logits changed;
    vug_logit_change *change; /* [VUG_MOST_CHANGES] for a device */
    bool repeats_bias;        /* a token has two biases */
    vug_banned_words banned;
    uint32_t *allowed; /* a bit per id that the settings allow; NULL: all */
    uint32_t *both;    /* the same and allowed by the caller; scratch */
    vug_candidates candidates;
} vug_sampler;

/* `sampling` must outlive the sampler. */
VUG_MUST_CHECK vug_status vug_sampler_init(vug_sampler *sampler, const vug_sampling *sampling,
                                           const vug_sampler_model *model, vug_err *err);
void vug_sampler_release(vug_sampler *sampler);
/* Starts anew, after a prompt. */
VUG_MUST_CHECK vug_status vug_sampler_set_prompt(vug_sampler *sampler, const int32_t *id, size_t n,
                                                 vug_err *err);
/* Appends a token to the answer. */
VUG_MUST_CHECK vug_status vug_sampler_accept(vug_sampler *sampler, int32_t id, vug_err *err);
/* Takes back the last `n` tokens of the answer. */
void vug_sampler_rollback(vug_sampler *sampler, size_t n);

/* What a single choice excludes beside the settings. */
typedef struct {
    const uint32_t *allowed; /* a bit for each usable id; NULL: all are allowed */
    const int32_t *excluded; /* [n_excluded] */
    size_t n_excluded;
    const int32_t *known; /* [n_known] the ids whose logits are known, which are finite and
                             contain those that vug_sampler_wanted wants; NULL: all are known */
    size_t n_known;
} vug_sampler_mask;

/* Samples a token from logits [n_vocab]; -1 if no token is allowed. `mask` may be NULL. If every
 * allowed logit is NaN or -infinity, it is the lowest allowed id. */
int32_t vug_sampler_sample(vug_sampler *sampler, const float *logits, const vug_sampler_mask *mask);

/* Hands all changes of logits to `to`, with those that exclude what is banned or `mask` excludes. */
void vug_sampler_adjust(vug_sampler *sampler, const vug_sampler_mask *mask, vug_adjustments *to);
/* The bits of all ids that both the settings and the mask allow; NULL: all are allowed. Valid until the
 * next call. */
const uint32_t *vug_sampler_allowed(vug_sampler *sampler, const vug_sampler_mask *mask);

/* The logits that vug_sampler_sample looks at with this mask, also after up to `n_draft` more tokens were
 * accepted (sampler_wanted.c); `mask` may be NULL. `draws`: the device draws tokens. Without it the mask
 * must allow all tokens. What the result points to is valid until the sampler is used again. */
vug_logits_wanted vug_sampler_wanted(vug_sampler *sampler, const vug_sampler_mask *mask,
                                     size_t n_draft, bool draws);
/* Whether no sampler drops tokens: it then takes 0.1 ms to find which logits a draw from 262,144 tokens
 * looks at, and after drafts as long for each. */
bool vug_sampler_draws_from_all(const vug_sampler *sampler);

/* ---- log-probabilities (sampler_logprobs.c) ------------------------------------------------------ */

/* Returns the log-probability of `token` among logits [n] and fills `top` with the `n_top` most
 * likely tokens, n_top <= n, best first, or with the `n_top` tokens of `wanted`, unless that is NULL.
 * The logarithm of the sum of masses, which all of them have, is within 2e-6. `scratch` is for at
 * least n logits. */
float vug_compute_logprobs(vug_candidates *scratch, const float *logits, int64_t n, int32_t token,
                           const int32_t *wanted, vug_logprob *top, size_t n_top);
/* The same for a row that has the token's logit and a report of a device with at least n_top logits, which
 * are put in order. */
float vug_take_logprobs(const vug_logits_row *row, int32_t token, vug_logprob *top, size_t n_top);

#endif
