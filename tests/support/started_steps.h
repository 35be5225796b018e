#ifndef VUG_TESTS_SUPPORT_STARTED_STEPS_H
#define VUG_TESTS_SUPPORT_STARTED_STEPS_H

/*
 * Steps in two halves on a device that only runs them: a step runs when it is to be finished. As on a
 * GPU, rows that want one logit or a draw have lists of one token, and steps follow each other.
 *
 * One model at a time.
 */

#include "engine/internal.h"

/* The token that a row of logits draws or, without a temperature, that has the greatest one. */
int32_t help_draw(const float *logits, const vug_logits_wanted *wanted);

/* The wanted `top` logits, the least first, and the mass of all. */
void help_report(const float *logits, const vug_logits_wanted *wanted, vug_candidate *top,
                 uint64_t *mass);

/* Rows since help_start_steps that had logits and no token. */
size_t help_undecided_rows(void);

/* From now on the model's steps are started; not if its device starts steps itself. */
void help_start_steps(vug_model *model);
/* The model's steps are run again, before it is closed. */
void help_run_steps(vug_model *model);

#endif
