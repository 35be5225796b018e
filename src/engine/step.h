#ifndef VUG_ENGINE_STEP_H
#define VUG_ENGINE_STEP_H

/* Steps of a model's program over sequences: each brings its next tokens. */

#include "engine/internal.h"
#include "engine/kv_sequence.h"
#include "engine/logits_row.h"

/* A program with at most `rows` rows of logits in a step and, if `hidden`, with hidden states.
 * The caller releases it even on failure. */
VUG_MUST_CHECK vug_status vug_step_runner_init(vug_step_runner *runner, vug_model *model,
                                               int64_t rows, bool hidden, vug_err *err);
/* Accepts an all-zero runner. */
void vug_step_runner_release(vug_step_runner *runner);

/* The part of a step that belongs to one sequence. */
typedef struct {
    vug_kv_sequence *sequence;
    const int32_t *token; /* [n] the tokens after those that are cached */
    size_t n;             /* at least 1 */
    size_t rows;          /* the number of last tokens whose logits are computed */
    size_t n_draft;       /* the number of last tokens that are drafts: not accepted yet */
    size_t n_before;      /* tokens between those that are cached and `token`: of a step that was
                                 started before and is not finished */
    size_t follows; /* in a step that follows another one: its row that decides on the token */
    vug_logits_wanted wanted; /* of each row */
} vug_step_part;

/* Runs a step over sequences that have pages for its tokens. The caller appends the tokens that it
 * accepts to the sequences. The parts' tokens together fit the batch, their rows the rows of the
 * runner. Steps of one device run one at a time. */
VUG_MUST_CHECK vug_status vug_step_run(vug_step_runner *runner, const vug_step_part *part,
                                       size_t n_parts, const vug_cancel_token *cancel,
                                       vug_err *err);
/* The same in two halves: steps are finished in the order in which they were started, and at most
 * VUG_STEPS_STARTED are not finished, one on a device that only runs steps. A step that follows the one
 * before it has one token of each part, of sequences of that step. Their only rows want one logit or a
 * draw, as all rows of that step do; `token` is ignored, as row `follows` of that step decides on it. The
 * rows of a step behind which another one was started have lists, or no logits. `cancel` lives until the
 * step is finished. */
VUG_MUST_CHECK vug_status vug_step_start(vug_step_runner *runner, const vug_step_part *part,
                                         size_t n_parts, bool follows,
                                         const vug_cancel_token *cancel, vug_err *err);
VUG_MUST_CHECK vug_status vug_step_finish(vug_step_runner *runner, vug_err *err);
/* The rows of logits of the last step [rows, n_vocab], those of its parts one after the other. */
const float *vug_step_logits(const vug_step_runner *runner);
/* Row `row` of the logits of the last step. */
vug_logits_source vug_step_row(const vug_step_runner *runner, size_t row);
/* The number of first rows, of those from `first` on, without a NaN or an infinite number. */
size_t vug_step_count_finite(const vug_step_runner *runner, size_t first, size_t rows);

#endif
