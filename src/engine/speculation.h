#ifndef VUG_ENGINE_SPECULATION_H
#define VUG_ENGINE_SPECULATION_H

/*
 * Speculative decoding of one answer: whether the next step has drafts, how many, and which.
 *
 * A step with drafts takes longer than one without, so wrong drafts cost time. Both are measured
 * while answers are generated: the seconds of steps with each number of drafts, and the part of
 * drafts that is accepted. If p[i] of the i-th drafts are accepted after those before them, k drafts
 * yield 1 + p[1] + p[1] p[2] + .. tokens. The next step has as many as yield most for their time;
 * none if that makes it less than VUG_LEAST_GAIN times as fast, or if drafts have lost more than a
 * hundredth of the answer's time. The estimates return slowly to what they are at first, so drafts
 * are tried again.
 *
 * A draft that continues a match of m tokens makes it a match of m + 1. So p[i] is that of matches of
 * m + i - 1 tokens: the longer a copy is, the more of it is expected to follow.
 */

#include "engine/prompt_lookup.h"

#define VUG_LEAST_GAIN 1.05

enum {
    VUG_MAX_DRAFT = 8, /* drafts in a step */
    /* Matches of 1, 2, 3, 4 to 7, 8 to 15 and 16 tokens; drafts of a model. */
    VUG_DRAFT_CLASSES = 7,
};

typedef enum {
    VUG_DRAFT_FROM_SEQUENCE,   /* prompt lookup in the prompt and the answer so far */
    VUG_DRAFT_FROM_PREDICTION, /* prompt lookup in a text that the answer may repeat */
    VUG_DRAFT_FROM_MODEL,
} vug_draft_source;

/* What steps take. It belongs to a model and a machine, so an answer begins with what the one
 * before it has measured. */
typedef struct {
    double plain_s;                 /* of a step of one token; 0: not known */
    double cost[VUG_MAX_DRAFT + 1]; /* of a step with so many drafts, in plain steps */
    double model_cost;              /* of each draft that the draft model writes, in plain steps */
} vug_step_costs;

/* The costs that are assumed before any are measured. */
void vug_step_costs_init(vug_step_costs *costs);

typedef struct {
    vug_step_costs costs;
    vug_prompt_lookup sequence, in_prediction;
    const int32_t *prediction; /* [n_prediction] */
    size_t n_prediction;
    double acceptance[VUG_DRAFT_CLASSES];
    double credit;           /* steps that drafts have gained and may lose */
    int since_plain;         /* steps since the last one without drafts */
    vug_draft_source source; /* of the last step's drafts */
    size_t match;            /* the length of their match, with the drafts accepted so far */
    size_t n_open;           /* the last step's drafts that are not accepted, as far as is known */
    size_t n_tokens;         /* of the sequence, at the last call */
    size_t n_drafted;        /* of the whole answer */
    size_t n_accepted;
    size_t n_prediction_drafted, n_prediction_accepted; /* those of the prediction */
} vug_speculation;

/* What an answer starts from. */
typedef struct {
    const vug_step_costs *costs;
    size_t n_tokens;           /* about the number that the sequence will have */
    const int32_t *prediction; /* [n_prediction] a text that the answer may repeat; it must outlive
                                  the answer */
    size_t n_prediction;
} vug_speculation_start;

VUG_MUST_CHECK vug_status vug_speculation_init(vug_speculation *speculation,
                                               const vug_speculation_start *start, vug_err *err);
void vug_speculation_release(vug_speculation *speculation);
/* Writes up to `most` <= VUG_MAX_DRAFT drafts that may follow the prompt and answer id [n], found
 * by prompt lookup, and returns their number; usually 0. */
size_t vug_speculation_draft(vug_speculation *speculation, const int32_t *id, size_t n,
                             int32_t *draft, size_t most);
/* After vug_speculation_draft found none: how many drafts a model should write, up to `most`; 0:
 * none. */
size_t vug_speculation_ask_model(vug_speculation *speculation, size_t most);
/* Reports that the model wrote `n` drafts. */
void vug_speculation_add_model_drafts(vug_speculation *speculation, size_t n, double seconds);
/* Reports a step of `n` tokens of the answer and `n_draft` drafts after them, none of which is
 * accepted yet. `alone`: it computed nothing else, so its time counts. */
void vug_speculation_add_step(vug_speculation *speculation, size_t n, size_t n_draft, bool alone,
                              double seconds);
/* Reports that a draft of the last step was accepted. */
void vug_speculation_accept(vug_speculation *speculation);

#endif
