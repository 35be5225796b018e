#include <math.h>

#include "engine/sampler.h"

/* ---- setup ------------------------------------------------------------------------- */

static vug_status allow_ids(vug_sampler *s, vug_err *err)
{
    const vug_sampling *from = s->settings.from;
    const size_t n_words = ((size_t)s->model.n_vocab + 31) / 32;
    s->both = vug_alloc_zero(n_words, sizeof(*s->both));
    if (from->allowed)
        s->allowed = vug_alloc_zero(n_words, sizeof(*s->allowed));
    if (!s->both || (from->allowed && !s->allowed))
        return VUG_FAIL_NOMEM(err, "the allowed tokens", n_words * sizeof(*s->both));
    for (size_t i = 0; from->allowed && i < from->n_allowed; i++)
        s->allowed[from->allowed[i] / 32] |= UINT32_C(1) << from->allowed[i] % 32;
    return VUG_OK;
}

/* `bits`, one for each id, are zeros before and after. */
static bool has_bias_twice(const vug_sampling *from, uint32_t *bits)
{
    bool twice = false;
    for (size_t i = 0; i < from->n; i++) {
        const vug_sampler_config *config = &from->sampler[i];
        if (config->kind != VUG_SAMPLER_BIAS)
            continue;
        twice = twice || bits[config->token / 32] >> config->token % 32 & 1;
        bits[config->token / 32] |= UINT32_C(1) << config->token % 32;
    }
    for (size_t i = 0; i < from->n; i++) {
        if (from->sampler[i].kind == VUG_SAMPLER_BIAS)
            bits[from->sampler[i].token / 32] = 0;
    }
    return twice;
}

static vug_status init_changes(vug_sampler *s, vug_err *err)
{
    s->change = vug_alloc(VUG_MOST_CHANGES, sizeof(*s->change));
    if (!s->change)
        return VUG_FAIL_NOMEM(err, "the sampler's changes of logits",
                              VUG_MOST_CHANGES * sizeof(*s->change));
    s->repeats_bias = has_bias_twice(s->settings.from, s->both);
    return VUG_OK;
}

static vug_status init_dry(vug_sampler *s, vug_err *err)
{
    if (s->settings.value[VUG_SAMPLER_DRY] == 0)
        return VUG_OK;
    const bool breaks = s->settings.n_breakers > 0 && s->model.tokenizer;
    s->dry_length = vug_alloc_zero((size_t)s->model.n_vocab, sizeof(*s->dry_length));
    if (breaks)
        s->is_breaker = vug_alloc(s->model.max_tokens, sizeof(*s->is_breaker));
    if (!s->dry_length || (breaks && !s->is_breaker))
        return VUG_FAIL_NOMEM(err, "the sampler's repeats",
                              (size_t)s->model.n_vocab + s->model.max_tokens);
    return VUG_OK;
}

vug_status vug_sampler_init(vug_sampler *sampler, const vug_sampling *sampling,
                            const vug_sampler_model *model, vug_err *err)
{
    vug_sampler s = { .model = *model };
    VUG_TRY(vug_sampler_settings_init(&s.settings, sampling, model->n_vocab, err));
    const vug_history_options history = {
        .n_vocab = model->n_vocab,
        .max_tokens = model->max_tokens,
        .count = s.settings.has_penalty,
        .window = (int64_t)s.settings.value[VUG_SAMPLER_REPEAT_LAST_N],
    };
    vug_status st = vug_history_init(&s.history, &history, err);
    if (st == VUG_OK)
        st = vug_changed_logits_init(&s.changed, model->n_vocab, err);
    if (st == VUG_OK)
        st = vug_candidates_init(&s.candidates, model->n_vocab, err);
    if (st == VUG_OK)
        st = allow_ids(&s, err);
    if (st == VUG_OK)
        st = init_changes(&s, err);
    if (st == VUG_OK)
        st = init_dry(&s, err);
    if (st == VUG_OK)
        st = vug_banned_words_init(&s.banned, sampling, model->tokenizer, err);
    if (st == VUG_OK)
        *sampler = s;
    else
        vug_sampler_release(&s);
    return st;
}

void vug_sampler_release(vug_sampler *s)
{
    vug_history_release(&s->history);
    vug_changed_logits_release(&s->changed);
    vug_free(s->change);
    vug_candidates_release(&s->candidates);
    vug_banned_words_release(&s->banned);
    vug_free(s->allowed);
    vug_free(s->both);
    vug_free(s->is_breaker);
    vug_free(s->dry_length);
    *s = (vug_sampler){ 0 };
}

/* ---- history ------------------------------------------------------------------------- */

static vug_status find_breakers(vug_sampler *s, size_t from, vug_err *err)
{
    for (size_t i = from; s->is_breaker && i < s->history.n; i++) {
        bool found;
        VUG_TRY(vug_dry_find_breaker(&s->settings, s->model.tokenizer, s->history.id, i + 1, &found,
                                     err));
        s->is_breaker[i] = found;
    }
    return VUG_OK;
}

vug_status vug_sampler_set_prompt(vug_sampler *s, const int32_t *id, size_t n, vug_err *err)
{
    vug_history_set_prompt(&s->history, id, n);
    return find_breakers(s, 0, err);
}

vug_status vug_sampler_accept(vug_sampler *s, int32_t id, vug_err *err)
{
    vug_history_push(&s->history, id);
    return find_breakers(s, s->history.n - 1, err);
}

void vug_sampler_rollback(vug_sampler *s, size_t n)
{
    vug_history_pop(&s->history, n);
}

/* ---- which tokens are excluded --------------------------------------------------------- */

static void exclude(const vug_sampler *s, int32_t id, vug_adjustments *to)
{
    if (id >= 0 && id < s->model.n_vocab) /* a tokenizer may have more ids than its model */
        vug_lower_logit(to, id, INFINITY);
}

static void exclude_tokens(const vug_sampler *s, const vug_sampler_mask *mask, vug_adjustments *to)
{
    for (size_t i = 0; i < s->banned.n; i++)
        exclude(s, vug_banned_words_excluded(&s->banned, i, &s->history), to);
    for (size_t i = 0; i < mask->n_excluded; i++)
        exclude(s, mask->excluded[i], to);
}

const uint32_t *vug_sampler_allowed(vug_sampler *s, const vug_sampler_mask *mask)
{
    if (!s->allowed || !mask->allowed)
        return s->allowed ? s->allowed : mask->allowed;
    for (size_t i = 0; i < ((size_t)s->model.n_usable + 31) / 32; i++)
        s->both[i] = s->allowed[i] & mask->allowed[i];
    return s->both;
}

static bool has_bit(const uint32_t *bits, int64_t id)
{
    return !bits || (bits[id / 32] >> (id % 32) & 1);
}

/* The lowest id that may follow although no logit speaks for it; -1: none. An id that a penalty
 * changed from -infinity to the same counts as excluded, too, unless there is no other. */
static int32_t lowest_allowed(vug_sampler *s, const float *logits, const vug_sampler_mask *mask)
{
    const uint32_t *allowed = vug_sampler_allowed(s, mask);
    vug_adjustments exclusions = { .changed = &s->changed, .logits = logits };
    vug_changed_logits_clear(&s->changed);
    exclude_tokens(s, mask, &exclusions);
    for (int64_t id = 0; id < s->model.n_usable; id++) {
        if (has_bit(allowed, id) && !(has_bit(s->changed.is_changed, id)))
            return (int32_t)id;
    }
    return -1;
}

/* ---- the chain --------------------------------------------------------------------------- */

void vug_sampler_adjust(vug_sampler *s, const vug_sampler_mask *mask, vug_adjustments *to)
{
    const vug_sampling *from = s->settings.from;
    const vug_dry dry = {
        .base = (double)s->settings.value[VUG_SAMPLER_DRY_BASE],
        .allowed_length = (int64_t)s->settings.value[VUG_SAMPLER_DRY_ALLOWED_LENGTH],
        .window = (int64_t)s->settings.value[VUG_SAMPLER_DRY_LAST_N],
        .is_breaker = s->is_breaker,
        .length = s->dry_length,
    };
    vug_sampler_kind last = VUG_SAMPLER_COUNT;
    for (size_t i = 0; i < from->n; i++) {
        const vug_sampler_config *config = &from->sampler[i];
        if (vug_sampler_is_off(config) || config->kind >= VUG_SAMPLER_TEMPERATURE)
            continue;
        if (config->kind != last) /* biases are of different ids */
            to->stage++;
        last = config->kind;
        if (config->kind == VUG_SAMPLER_BIAS)
            vug_lower_logit(to, config->token, -config->value);
        else if (config->kind == VUG_SAMPLER_DRY)
            vug_penalize_repeats(to, config->value, &dry, &s->history);
        else
            vug_penalize_seen(to, config, &s->history);
    }
    to->stage++;
    exclude_tokens(s, mask, to);
}

/* XTC acts with a probability: a random number of its own, for each position. */
static bool xtc_acts(const vug_noise *noise, float probability)
{
    const double x = (double)vug_noise_bits(noise, VUG_NOISE_XTC, 0) * 0x1p-64;
    return x < (double)probability;
}

static void apply_cut(vug_sampler *s, const vug_sampler_config *config, const vug_noise *noise)
{
    vug_candidates *c = &s->candidates;
    switch (config->kind) {
    case VUG_SAMPLER_TEMPERATURE:
        c->temperature *= (double)config->value;
        break;
    case VUG_SAMPLER_TOP_N_SIGMA:
        vug_cut_top_n_sigma(c, (double)config->value);
        break;
    case VUG_SAMPLER_TOP_K:
        vug_cut_top_k(c, (size_t)config->value);
        break;
    case VUG_SAMPLER_TYPICAL_P:
        vug_cut_typical_p(c, (double)config->value);
        break;
    case VUG_SAMPLER_TOP_P:
        vug_cut_top_p(c, (double)config->value);
        break;
    case VUG_SAMPLER_MIN_P:
        vug_cut_min_p(c, (double)config->value);
        break;
    case VUG_SAMPLER_XTC:
        if (xtc_acts(noise, config->value))
            vug_cut_xtc(c, (double)s->settings.value[VUG_SAMPLER_XTC_THRESHOLD]);
        break;
    default: /* adjustments and parameters */
        break;
    }
}

int32_t vug_sampler_sample(vug_sampler *s, const float *logits, const vug_sampler_mask *mask)
{
    const vug_sampler_mask none = { 0 };
    const vug_sampling *from = s->settings.from;
    const vug_noise noise = { from->seed, s->history.n };
    vug_adjustments changes = { .changed = &s->changed, .logits = logits };
    mask = mask ? mask : &none;
    vug_changed_logits_clear(&s->changed);
    vug_sampler_adjust(s, mask, &changes);
    const vug_logits_view view = {
        .logits = logits,
        .n = s->model.n_usable,
        .known = mask->known,
        .n_known = mask->n_known,
        .allowed = vug_sampler_allowed(s, mask),
        .is_changed = s->changed.n ? s->changed.is_changed : NULL,
        .changed = s->changed.value,
    };
    if (!vug_candidates_start(&s->candidates, &view))
        return lowest_allowed(s, logits, mask);
    if (s->settings.is_greedy)
        return s->candidates.first.id;
    for (size_t i = 0; i < from->n; i++)
        apply_cut(s, &from->sampler[i], &noise);
    return vug_candidates_draw(&s->candidates, &noise);
}
