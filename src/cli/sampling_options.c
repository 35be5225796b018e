#include "cli/sampling_options.h"

#include <string.h>
#include <time.h>

#include "core/number.h"
#include "core/random.h"

/* The option that sets each sampler. */
static const vug_option option_of[VUG_SAMPLER_COUNT] = {
    [VUG_SAMPLER_REPETITION] = VUG_OPTION_repetition,
    [VUG_SAMPLER_PRESENCE] = VUG_OPTION_presence,
    [VUG_SAMPLER_FREQUENCY] = VUG_OPTION_frequency,
    [VUG_SAMPLER_BIAS] = VUG_OPTION_logit_bias,
    [VUG_SAMPLER_TEMPERATURE] = VUG_OPTION_temperature,
    [VUG_SAMPLER_TOP_K] = VUG_OPTION_top_k,
    [VUG_SAMPLER_TOP_P] = VUG_OPTION_top_p,
    [VUG_SAMPLER_MIN_P] = VUG_OPTION_min_p,
    [VUG_SAMPLER_DRY] = VUG_OPTION_dry,
    [VUG_SAMPLER_TOP_N_SIGMA] = VUG_OPTION_top_n_sigma,
    [VUG_SAMPLER_TYPICAL_P] = VUG_OPTION_typical_p,
    [VUG_SAMPLER_XTC] = VUG_OPTION_xtc,
    [VUG_SAMPLER_REPEAT_LAST_N] = VUG_OPTION_repeat_last_n,
    [VUG_SAMPLER_DRY_BASE] = VUG_OPTION_dry_base,
    [VUG_SAMPLER_DRY_ALLOWED_LENGTH] = VUG_OPTION_dry_allowed_length,
    [VUG_SAMPLER_DRY_LAST_N] = VUG_OPTION_dry_last_n,
    [VUG_SAMPLER_XTC_THRESHOLD] = VUG_OPTION_xtc_threshold,
};

/* ---- sampler order --------------------------------------------------------- */

/* Whether the kind is a sampler, and not a parameter of one. */
static bool has_order(int kind)
{
    return kind < VUG_SAMPLER_REPEAT_LAST_N;
}

/* `order` has room for all samplers. */
static vug_status parse_order(const char *text, vug_sampler_kind *order, size_t *n, vug_err *err)
{
    bool seen[VUG_SAMPLER_COUNT] = { 0 };
    *n = 0;
    while (*text) {
        text += strspn(text, ", ");
        const vug_str name = { text, strcspn(text, ", ") };
        int k = 0;
        if (name.len == 0)
            break;
        while (has_order(k) && !vug_str_is(name, vug_sampler_name((vug_sampler_kind)k)))
            k++;
        if (!has_order(k))
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "--sampler-order: unknown sampler '%.*s'; `vug run --help` lists them",
                            VUG_STR_ARG(name));
        if (seen[k])
            return VUG_FAIL(err, VUG_ARGUMENT, "--sampler-order lists %.*s twice",
                            VUG_STR_ARG(name));
        seen[k] = true;
        order[(*n)++] = (vug_sampler_kind)k;
        text += name.len;
    }
    return VUG_OK;
}

static vug_status check_all_named(const vug_options *opt, const vug_sampler_kind *order, size_t n,
                                  vug_err *err)
{
    for (int k = 0; has_order(k); k++) {
        bool named = !opt->given[option_of[k]];
        for (size_t i = 0; i < n && !named; i++)
            named = order[i] == (vug_sampler_kind)k;
        if (!named)
            return VUG_FAIL(err, VUG_ARGUMENT, "--sampler-order omits %s, but its option is set",
                            vug_sampler_name((vug_sampler_kind)k));
    }
    return VUG_OK;
}

/* Writes the samplers of `from` in that order, then the parameters, and returns their number. */
static size_t reorder_chain(const vug_sampler_config *from, size_t n_from,
                            const vug_sampler_kind *order, size_t n_order, vug_sampler_config *to)
{
    size_t n = 0;
    for (size_t k = 0; k < n_order; k++) {
        for (size_t i = 0; i < n_from; i++) {
            if (from[i].kind == order[k])
                to[n++] = from[i];
        }
    }
    for (size_t i = 0; i < n_from; i++) {
        if (!has_order((int)from[i].kind))
            to[n++] = from[i];
    }
    if (n == 0) /* an empty chain would mean the model's defaults */
        to[n++] = (vug_sampler_config){ .kind = VUG_SAMPLER_TEMPERATURE, .value = 1 };
    return n;
}

/* ---- settings -------------------------------------------------------------- */

bool vug_token_bias_parse(const char *text, vug_token_bias *out)
{
    const size_t len = strcspn(text, "=");
    *out = (vug_token_bias){ 0 };
    if (!text[len] || len >= sizeof(out->key))
        return false;
    memcpy(out->key, text, len);
    return vug_parse_i64(out->key, &out->id) && vug_parse_f64(text + len + 1, &out->value);
}

static vug_status parse_bias(const char *text, int64_t n_vocab, vug_sampler_config *out,
                             vug_err *err)
{
#define X(id, name, off, min, max, help) [VUG_SAMPLER_##id] = { min, max },
    static const double range[VUG_SAMPLER_COUNT][2] = { VUG_SAMPLER_TABLE(X) };
#undef X
    const double min = range[VUG_SAMPLER_BIAS][0], max = range[VUG_SAMPLER_BIAS][1];
    vug_token_bias bias;
    if (!vug_token_bias_parse(text, &bias) || !(bias.value >= min && bias.value <= max))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "--logit-bias %s: expected ID=X with X from %g to %g, such as 106=-100",
                        text, min, max);
    if (bias.id < 0 || bias.id >= n_vocab)
        return VUG_FAIL(err, VUG_ARGUMENT, "--logit-bias %s: the token ids are 0 to %lld", text,
                        (long long)(n_vocab - 1));
    *out = (vug_sampler_config){ VUG_SAMPLER_BIAS, (float)bias.value, (int32_t)bias.id };
    return VUG_OK;
}

/* Writes what the user set. `setting` has room for VUG_SAMPLER_COUNT more than the biases. */
static vug_status collect_settings(const vug_options *opt, int64_t n_vocab,
                                   vug_sampler_config *setting, size_t *n, vug_err *err)
{
    *n = 0;
    for (int k = 0; k < VUG_SAMPLER_COUNT; k++) {
        double value;
        if (!opt->given[option_of[k]] || k == VUG_SAMPLER_BIAS)
            continue;
        memcpy(&value, (const char *)opt + vug_option_rows[option_of[k]].offset, sizeof(value));
        setting[(*n)++] = (vug_sampler_config){ (vug_sampler_kind)k, (float)value, 0 };
    }
    for (size_t i = 0; i < opt->logit_bias.n; i++)
        VUG_TRY(parse_bias(opt->logit_bias.item[i], n_vocab, &setting[(*n)++], err));
    return VUG_OK;
}

/* A random seed: the clock in nanoseconds, with its bits mixed. */
static uint64_t random_seed(void)
{
    struct timespec now = { 0 };
    (void)timespec_get(&now, TIME_UTC);
    const uint64_t time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return vug_mix64(time) >> 1; /* in the range of --seed */
}

vug_status vug_sampling_from_options(const vug_options *opt, const vug_model *model,
                                     vug_arena *arena, vug_sampling *out, vug_err *err)
{
    const vug_sampling_defaults defaults = vug_model_sampling(model);
    const size_t max = opt->logit_bias.n + VUG_SAMPLER_COUNT;
    vug_sampler_kind order[VUG_SAMPLER_COUNT];
    size_t n_order = 0, n = 0;
    if (opt->sampler_order) {
        VUG_TRY(parse_order(opt->sampler_order, order, &n_order, err));
        VUG_TRY(check_all_named(opt, order, n_order, err));
    }
    if (max > VUG_MAX_SAMPLERS)
        return VUG_FAIL(err, VUG_LIMIT, "--logit-bias is given %zu times; the maximum is %d",
                        opt->logit_bias.n, VUG_MAX_SAMPLERS - VUG_SAMPLER_COUNT);
    vug_sampler_config *setting = vug_arena_alloc(arena, max, sizeof(*setting));
    vug_sampler_config *chain = vug_arena_alloc(arena, 2 * max, sizeof(*chain));
    if (!setting || !chain)
        return VUG_FAIL_NOMEM(err, "the sampler", 3 * max * sizeof(*chain));
    VUG_TRY(collect_settings(opt, vug_model_describe(model).n_vocab, setting, &n, err));
    n = vug_sampling_merge(&defaults, setting, n, chain);
    if (opt->sampler_order) {
        n = reorder_chain(chain, n, order, n_order, setting);
        chain = setting;
    }
    *out = (vug_sampling){
        .sampler = chain,
        .n = n,
        .seed = opt->given[VUG_OPTION_seed] ? opt->seed : random_seed(),
        .banned_word = opt->bad_word.item,
        .n_banned_words = opt->bad_word.n,
        .dry_breaker = opt->dry_breaker.item,
        .n_dry_breakers = opt->dry_breaker.n,
    };
    return VUG_OK;
}
