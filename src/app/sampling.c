#include "app/answer.h"

#include <string.h>
#include <time.h>

#include "core/text.h"

/* What the options say about each kind of stage; BIAS is in the list alone. */
typedef struct {
    bool given[VUG_SAMPLER_COUNT]; /* by the user */
    bool has[VUG_SAMPLER_COUNT];   /* by the user or the model */
    float value[VUG_SAMPLER_COUNT];
} values;

static const struct {
    float off, min, max;
} range[VUG_SAMPLER_COUNT] = {
#define X(id, name, off, min, max, help) { (float)(off), (float)(min), (float)(max) },
    VUG_SAMPLER_TABLE(X)
#undef X
};

static void take_option(values *v, vug_sampler_kind kind, const vug_options *opt, vug_option option,
                        double value)
{
    if (!opt->given[option])
        return;
    v->given[kind] = v->has[kind] = true;
    v->value[kind] = (float)value;
}

static values values_of(const vug_options *opt, const vug_model *model)
{
    const vug_sampling_defaults of_model = vug_model_sampling(model);
    values v = { 0 };
    for (size_t i = 0; i < of_model.n; i++) {
        v.has[of_model.stage[i].kind] = true;
        v.value[of_model.stage[i].kind] = of_model.stage[i].value;
    }
    take_option(&v, VUG_SAMPLER_REPETITION, opt, VUG_OPTION_repetition, opt->repetition);
    take_option(&v, VUG_SAMPLER_PRESENCE, opt, VUG_OPTION_presence, opt->presence);
    take_option(&v, VUG_SAMPLER_FREQUENCY, opt, VUG_OPTION_frequency, opt->frequency);
    take_option(&v, VUG_SAMPLER_TEMPERATURE, opt, VUG_OPTION_temperature, opt->temperature);
    take_option(&v, VUG_SAMPLER_TOP_K, opt, VUG_OPTION_top_k, opt->top_k);
    take_option(&v, VUG_SAMPLER_TOP_P, opt, VUG_OPTION_top_p, opt->top_p);
    take_option(&v, VUG_SAMPLER_MIN_P, opt, VUG_OPTION_min_p, opt->min_p);
    v.given[VUG_SAMPLER_BIAS] = v.has[VUG_SAMPLER_BIAS] = opt->logit_bias.n > 0;
    return v;
}

/* ---- order ----------------------------------------------------------------- */

/* The default is that of the table in vug.h. `order` has room for one of each. */
static vug_status parse_order(const char *text, vug_sampler_kind *order, size_t *n, vug_err *err)
{
    bool seen[VUG_SAMPLER_COUNT] = { 0 };
    *n = 0;
    if (!text) {
        for (int k = 0; k < VUG_SAMPLER_COUNT; k++)
            order[(*n)++] = (vug_sampler_kind)k;
        return VUG_OK;
    }
    while (*text) {
        text += strspn(text, ", ");
        const vug_str name = { text, strcspn(text, ", ") };
        int k = 0;
        if (name.len == 0)
            break;
        while (k < VUG_SAMPLER_COUNT && !vug_str_is(name, vug_sampler_name((vug_sampler_kind)k)))
            k++;
        if (k == VUG_SAMPLER_COUNT)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "--sampler-order: '%.*s' is no stage; `vug run --help` lists them",
                            VUG_STR_ARG(name));
        if (seen[k])
            return VUG_FAIL(err, VUG_ARGUMENT, "--sampler-order names %.*s twice",
                            VUG_STR_ARG(name));
        seen[k] = true;
        order[(*n)++] = (vug_sampler_kind)k;
        text += name.len;
    }
    return VUG_OK;
}

static vug_status check_all_named(const values *v, const vug_sampler_kind *order, size_t n,
                                  vug_err *err)
{
    for (int k = 0; k < VUG_SAMPLER_COUNT; k++) {
        bool named = !v->given[k];
        for (size_t i = 0; i < n && !named; i++)
            named = order[i] == (vug_sampler_kind)k;
        if (!named)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "--sampler-order leaves out %s, for which there is an option",
                            vug_sampler_name((vug_sampler_kind)k));
    }
    return VUG_OK;
}

/* ---- stages ---------------------------------------------------------------- */

static vug_status parse_bias(const char *text, int64_t n_vocab, vug_sampler_stage *out,
                             vug_err *err)
{
    const size_t len = strcspn(text, "=");
    const double min = (double)range[VUG_SAMPLER_BIAS].min,
                 max = (double)range[VUG_SAMPLER_BIAS].max;
    char number[24] = { 0 };
    int64_t id = -1;
    double value = 0;
    bool ok = text[len] == '=' && len < sizeof(number);
    if (ok) {
        memcpy(number, text, len);
        ok = vug_parse_i64(number, &id) && vug_parse_f64(text + len + 1, &value) && value >= min &&
             value <= max;
    }
    if (!ok)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "--logit-bias %s: expected ID=X with X from %g to %g, such as 106=-100",
                        text, min, max);
    if (id < 0 || id >= n_vocab)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "--logit-bias %s: the vocabulary has the tokens 0 to %lld", text,
                        (long long)(n_vocab - 1));
    *out = (vug_sampler_stage){ VUG_SAMPLER_BIAS, (float)value, (int32_t)id };
    return VUG_OK;
}

static vug_status add_stages(vug_sampler_stage *stage, size_t *n, vug_sampler_kind kind,
                             const values *v, const vug_options *opt, int64_t n_vocab, vug_err *err)
{
    if (!v->has[kind])
        return VUG_OK;
    if (kind != VUG_SAMPLER_BIAS) {
        stage[(*n)++] = (vug_sampler_stage){ .kind = kind, .value = v->value[kind] };
        return VUG_OK;
    }
    for (size_t i = 0; i < opt->logit_bias.n; i++)
        VUG_TRY(parse_bias(opt->logit_bias.item[i], n_vocab, &stage[(*n)++], err));
    return VUG_OK;
}

/* Another one each time: the clock in nanoseconds, its bits stirred (splitmix64). */
static uint64_t fresh_seed(void)
{
    struct timespec now = { 0 };
    (void)timespec_get(&now, TIME_UTC);
    uint64_t z = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) >> 1; /* --seed takes it back: a signed number's range */
}

vug_status vug_sampling_of(const vug_options *opt, const vug_model *model, vug_arena *arena,
                           vug_sampling *out, vug_err *err)
{
    const int64_t n_vocab = vug_model_describe(model).n_vocab;
    const values v = values_of(opt, model);
    vug_sampler_kind order[VUG_SAMPLER_COUNT];
    size_t n_order, n = 0;
    VUG_TRY(parse_order(opt->sampler_order, order, &n_order, err));
    VUG_TRY(check_all_named(&v, order, n_order, err));
    if (opt->logit_bias.n + VUG_SAMPLER_COUNT > VUG_MAX_STAGES)
        return VUG_FAIL(err, VUG_LIMIT, "--logit-bias is given %zu times, at most %d are taken",
                        opt->logit_bias.n, VUG_MAX_STAGES - VUG_SAMPLER_COUNT);
    vug_sampler_stage *stage =
            vug_arena_alloc(arena, opt->logit_bias.n + VUG_SAMPLER_COUNT, sizeof(*stage));
    if (!stage)
        return VUG_FAIL_NOMEM(err, "the sampler", opt->logit_bias.n * sizeof(*stage));
    for (size_t i = 0; i < n_order; i++)
        VUG_TRY(add_stages(stage, &n, order[i], &v, opt, n_vocab, err));
    if (n == 0) /* no stage at all would mean the model's defaults */
        stage[n++] = (vug_sampler_stage){ .kind = VUG_SAMPLER_TEMPERATURE,
                                          .value = range[VUG_SAMPLER_TEMPERATURE].off };
    *out = (vug_sampling){
        .stage = stage,
        .n = n,
        .seed = opt->given[VUG_OPTION_seed] ? opt->seed : fresh_seed(),
    };
    return VUG_OK;
}
