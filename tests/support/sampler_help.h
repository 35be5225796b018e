#ifndef VUG_TESTS_SUPPORT_SAMPLER_HELP_H
#define VUG_TESTS_SUPPORT_SAMPLER_HELP_H

/* Samplers for tests. Every failure fails the running test. */

#include "engine/sampler.h"

enum { HELP_MAX_TOKENS = 1 << 16 }; /* of a prompt and its answer */

/* `sampling` must outlive the sampler. */
vug_sampler help_sampler(const vug_sampling *sampling, int64_t n_vocab, int64_t n_usable);
/* `allowed` may be NULL. */
int32_t help_sample(vug_sampler *sampler, const float *logits, const uint32_t *allowed);
/* Samples a token and appends it to the answer. */
int32_t help_next(vug_sampler *sampler, const float *logits, const uint32_t *allowed);
void help_accept(vug_sampler *sampler, int32_t id);
void help_set_prompt(vug_sampler *sampler, const int32_t *id, size_t n);

#endif
