#ifndef VUG_ENGINE_SPECULATION_H
#define VUG_ENGINE_SPECULATION_H

/*
 * Speculative decoding of one answer: whether the next step has drafts, how many, and which.
 *
 * A step with drafts takes longer than one without, so wrong drafts cost time. Both are measured
 * while the answer is generated: the seconds of steps with each number of drafts, and the part p of
 * drafts that are accepted. k drafts yield 1 + p + .. + p^k tokens. The next step has as many as
 * yield most for their time; none if that makes it less than VUG_LEAST_GAIN times as fast, or if
 * drafts have lost more than a hundredth of the answer's time. The estimates return slowly to what
 * they are at first, so drafts are tried again.
 */

#include "engine/prompt_lookup.h"

#define VUG_LEAST_GAIN 1.05

enum {
    VUG_MAX_DRAFT = 8,     /* drafts in a step */
    VUG_MATCH_CLASSES = 5, /* matches of 1, 2, 3, 4 to 7, and 8 tokens */
};

typedef struct {
    vug_prompt_lookup lookup;
    double plain_s;                       /* of a step of one token; 0: not known */
    double cost[VUG_MAX_DRAFT + 1];       /* of a step with so many drafts, in plain steps */
    double acceptance[VUG_MATCH_CLASSES]; /* by the length of the match: p */
    double credit;                        /* steps that drafts have gained and may lose */
    int since_plain;                      /* steps since the last one without drafts */
    int match_class;                      /* of the last step's drafts */
    size_t n_open;    /* the last step's drafts that are not accepted, as far as is known */
    size_t n_tokens;  /* of the sequence, at the last call */
    size_t n_drafted; /* of the whole answer */
    size_t n_accepted;
} vug_speculation;

/* For sequences of about `n_tokens` tokens. */
VUG_MUST_CHECK vug_status vug_speculation_init(vug_speculation *speculation, size_t n_tokens,
                                               vug_err *err);
void vug_speculation_release(vug_speculation *speculation);
/* Writes up to `most` <= VUG_MAX_DRAFT drafts that may follow the prompt and answer id [n], and
 * returns their number; usually 0. */
size_t vug_speculation_draft(vug_speculation *speculation, const int32_t *id, size_t n,
                             int32_t *draft, size_t most);
/* Reports a step of `n` tokens of the answer and `n_draft` drafts after them, none of which is
 * accepted yet. */
void vug_speculation_add_step(vug_speculation *speculation, size_t n, size_t n_draft,
                              double seconds);
/* Reports that a draft of the last step was accepted. */
void vug_speculation_accept(vug_speculation *speculation);

#endif
