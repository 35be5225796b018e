#ifndef VUG_ENGINE_DRAFT_MODEL_H
#define VUG_ENGINE_DRAFT_MODEL_H

/*
 * A draft model (Leviathan et al. 2023): a smaller model writes drafts for a larger one. It samples
 * with the settings, the seed and the positions of the answer. As a sample is a function of them and
 * of the logits, both models choose the same token wherever their logits are near enough, also at
 * temperatures above 0.
 */

#include "engine/sampler.h"
#include "engine/session.h"

/* Fails unless both models have the same tokens under the same ids. */
VUG_MUST_CHECK vug_status vug_draft_model_check(const vug_model *model, const vug_model *draft,
                                                vug_err *err);
/* A session of the draft model of `target`'s model. Only sessions of the same namespace use what it
 * caches. */
VUG_MUST_CHECK vug_status vug_draft_session_create(const vug_session *target, vug_session **out,
                                                   vug_err *err);
/* Writes `n` drafts that may follow the tokens of the sampler's history, which is the same
 * afterwards. Returns false if the draft model cannot: there is no memory, the sequence is longer
 * than its context, or `cancel` is triggered. */
bool vug_draft_session_write(vug_session *session, vug_sampler *sampler, int32_t *draft, size_t n,
                             const vug_cancel_token *cancel);

#endif
