#include "sampler_help.h"

#include "engine_help.h"
#include "test.h"

vug_sampler help_sampler(const vug_sampling *sampling, int64_t n_vocab, int64_t n_usable)
{
    vug_sampler s;
    vug_err err = { 0 };
    const vug_sampler_model model = { n_vocab, n_usable, HELP_MAX_TOKENS, NULL };
    help_ok(vug_sampler_init(&s, sampling, &model, &err), &err);
    return s;
}

int32_t help_sample(vug_sampler *s, const float *logits, const uint32_t *allowed)
{
    const vug_sampler_mask mask = { .allowed = allowed };
    return vug_sampler_sample(s, logits, &mask);
}

int32_t help_next(vug_sampler *s, const float *logits, const uint32_t *allowed)
{
    const int32_t id = help_sample(s, logits, allowed);
    help_accept(s, id);
    return id;
}

void help_accept(vug_sampler *s, int32_t id)
{
    vug_err err = { 0 };
    help_ok(vug_sampler_accept(s, id, &err), &err);
}

void help_set_prompt(vug_sampler *s, const int32_t *id, size_t n)
{
    vug_err err = { 0 };
    help_ok(vug_sampler_set_prompt(s, id, n, &err), &err);
}
