#ifndef VUG_ENGINE_SPECULATION_H
#define VUG_ENGINE_SPECULATION_H

/*
 * Speculative decoding of one answer: whether the next step has drafts, and which. A step with
 * drafts takes longer than one without, so wrong drafts cost time. That is measured, in the time of
 * a step without drafts:
 *
 *   - A step with drafts gains the tokens that it yields, divided by LEAST_GAIN, less its time.
 *   - Each token of the answer may cost LOSS_PER_TOKEN.
 *
 * There are drafts while the sum is above 0. So they are tried a few times at the beginning, go on
 * as long as they make the answer faster by LEAST_GAIN, and are tried again later if they do not;
 * what they lose is at most LOSS_PER_TOKEN of the time, and a step or two.
 */

#include "engine/prompt_lookup.h"

typedef struct {
    vug_prompt_lookup lookup;
    double plain_s;   /* of a step without drafts, smoothed */
    int n_plain;      /* steps without drafts so far, at most those that are needed */
    int since_plain;  /* steps since the last one without drafts */
    double balance;   /* of gains and losses, in steps without drafts */
    size_t n_tokens;  /* of the sequence, at the last call */
    size_t n_drafted; /* of the whole answer */
    size_t n_accepted;
} vug_speculation;

/* For sequences of about `n_tokens` tokens. */
VUG_MUST_CHECK vug_status vug_speculation_init(vug_speculation *speculation, size_t n_tokens,
                                               vug_err *err);
void vug_speculation_release(vug_speculation *speculation);
/* Writes up to `most` drafts that may follow the prompt and answer id [n], and returns their
 * number; usually 0. */
size_t vug_speculation_draft(vug_speculation *speculation, const int32_t *id, size_t n,
                             int32_t *draft, size_t most);
/* Reports a step that was given `n` tokens and computed `n_draft` drafts, none of which is accepted
 * yet. */
void vug_speculation_add_step(vug_speculation *speculation, size_t n, size_t n_draft,
                              double seconds);
/* Reports that a draft of the last step was accepted. */
void vug_speculation_accept(vug_speculation *speculation);

#endif
