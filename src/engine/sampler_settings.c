/* The list of samplers: names, ranges, and the chain that results from several settings. */
#include <math.h>

#include "engine/sampler.h"

static const struct {
    const char *name;
    float off, min, max;
} kinds[VUG_SAMPLER_COUNT] = {
#define X(id, name, off, min, max, help) \
    [VUG_SAMPLER_##id] = { name, (float)(off), (float)(min), (float)(max) },
    VUG_SAMPLER_TABLE(X)
#undef X
};

/* As in text-generation-webui and llama.cpp. */
static const char *const default_breakers[] = { "\n", ":", "\"", "*" };

const char *vug_sampler_name(vug_sampler_kind kind)
{
    return kinds[kind].name;
}

size_t vug_sampling_merge(const vug_sampling_defaults *defaults, const vug_sampler_config *setting,
                          size_t n, vug_sampler_config *chain)
{
    /* Without a temperature the chain could be empty, which means the model's defaults. */
    bool has[VUG_SAMPLER_COUNT] = { [VUG_SAMPLER_TEMPERATURE] = true };
    float value[VUG_SAMPLER_COUNT] = { [VUG_SAMPLER_TEMPERATURE] = 1 };
    for (size_t i = 0; i < defaults->n + n; i++) {
        const vug_sampler_config *from =
                i < defaults->n ? &defaults->sampler[i] : &setting[i - defaults->n];
        has[from->kind] = true;
        value[from->kind] = from->value;
    }
    size_t n_chain = 0;
    for (int k = 0; k < VUG_SAMPLER_COUNT; k++) {
        if (has[k] && k != VUG_SAMPLER_BIAS)
            chain[n_chain++] = (vug_sampler_config){ (vug_sampler_kind)k, value[k], 0 };
        for (size_t i = 0; i < n && k == VUG_SAMPLER_BIAS; i++) {
            if (setting[i].kind == VUG_SAMPLER_BIAS)
                chain[n_chain++] = setting[i];
        }
    }
    return n_chain;
}

bool vug_sampler_is_off(const vug_sampler_config *config)
{
    return config->value == kinds[config->kind].off;
}

/* ---- checks -------------------------------------------------------------------------- */

static vug_status check_config(const vug_sampler_config *config, int64_t n_vocab, vug_err *err)
{
    if ((unsigned)config->kind >= VUG_SAMPLER_COUNT)
        return VUG_FAIL(err, VUG_ARGUMENT, "there is no sampler of kind %d", (int)config->kind);
    const float v = config->value;
    if (!(v >= kinds[config->kind].min && v <= kinds[config->kind].max))
        return VUG_FAIL(err, VUG_ARGUMENT, "sampler: %s is %g, expected %g to %g",
                        kinds[config->kind].name, (double)v, (double)kinds[config->kind].min,
                        (double)kinds[config->kind].max);
    if (config->kind == VUG_SAMPLER_BIAS && (config->token < 0 || config->token >= n_vocab))
        return VUG_FAIL(err, VUG_ARGUMENT, "sampler: bias for token %d, ids are 0 to %lld",
                        config->token, (long long)n_vocab - 1);
    return VUG_OK;
}

static vug_status check_lists(const vug_sampling *s, int64_t n_vocab, vug_err *err)
{
    if (s->allowed && s->n_allowed == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "sampler: the list of allowed tokens is empty");
    for (size_t i = 0; s->allowed && i < s->n_allowed; i++) {
        if (s->allowed[i] < 0 || s->allowed[i] >= n_vocab)
            return VUG_FAIL(err, VUG_ARGUMENT, "sampler: allowed token %d, ids are 0 to %lld",
                            s->allowed[i], (long long)n_vocab - 1);
    }
    if (s->n_banned_words > VUG_MAX_BANNED_WORDS)
        return VUG_FAIL(err, VUG_LIMIT, "sampler: %zu banned words, at most %d", s->n_banned_words,
                        VUG_MAX_BANNED_WORDS);
    if (s->n_dry_breakers > VUG_MAX_DRY_BREAKERS)
        return VUG_FAIL(err, VUG_LIMIT, "sampler: %zu breakers of dry, at most %d",
                        s->n_dry_breakers, VUG_MAX_DRY_BREAKERS);
    for (size_t i = 0; s->dry_breaker && i < s->n_dry_breakers; i++) {
        const size_t len = strlen(s->dry_breaker[i]);
        if (len == 0 || len > VUG_MAX_DRY_BREAKER)
            return VUG_FAIL(err, VUG_LIMIT,
                            "sampler: a breaker of dry of %zu bytes, expected 1 to %d", len,
                            VUG_MAX_DRY_BREAKER);
    }
    return VUG_OK;
}

/* Whether it changes single logits, and not all of them or the set of candidates. */
static bool is_adjustment(vug_sampler_kind kind)
{
    return kind < VUG_SAMPLER_TEMPERATURE;
}

vug_status vug_sampler_settings_init(vug_sampler_settings *settings, const vug_sampling *sampling,
                                     int64_t n_vocab, vug_err *err)
{
    vug_sampler_settings s = {
        .from = sampling,
        .breaker = sampling->dry_breaker ? sampling->dry_breaker : default_breakers,
        .n_breakers = sampling->dry_breaker
                              ? sampling->n_dry_breakers
                              : sizeof(default_breakers) / sizeof(default_breakers[0]),
    };
    const vug_sampler_config *first_cut = NULL;
    if (sampling->n > VUG_MAX_SAMPLERS)
        return VUG_FAIL(err, VUG_LIMIT, "a chain of %zu samplers, at most %d", sampling->n,
                        VUG_MAX_SAMPLERS);
    for (int k = 0; k < VUG_SAMPLER_COUNT; k++)
        s.value[k] = kinds[k].off;
    for (size_t i = 0; i < sampling->n; i++) {
        const vug_sampler_config *config = &sampling->sampler[i];
        VUG_TRY(check_config(config, n_vocab, err));
        s.value[config->kind] = config->value;
        s.is_greedy =
                s.is_greedy || (config->kind == VUG_SAMPLER_TEMPERATURE && config->value == 0);
        s.has_penalty =
                s.has_penalty || (config->kind < VUG_SAMPLER_DRY && !vug_sampler_is_off(config));
        if (is_adjustment(config->kind) && first_cut)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "sampler: %s comes after %s; penalties and biases come first",
                            kinds[config->kind].name, kinds[first_cut->kind].name);
        if (!first_cut && !is_adjustment(config->kind) && config->kind < VUG_SAMPLER_REPEAT_LAST_N)
            first_cut = config;
    }
    VUG_TRY(check_lists(sampling, n_vocab, err));
    *settings = s;
    return VUG_OK;
}
