/*
 * Which logits decide what a chain of samplers draws.
 *
 * If penalties, banned words and the like lower at most m logits and raise none, the k best of the
 * lowered logits are among the k + m best of the model's: of these, at least k are unchanged. So
 * greedy choice wants 1 + m logits, and top-k wants k + m of them if it is the first sampler that drops
 * tokens. Min-p as the first one wants those that are not too far below the best of the lowered logits,
 * which is at least the 1 + m best one.
 *
 * A draw from all tokens takes the greatest sum of logit / temperature and Gumbel variable. One of the
 * 1 + m best logits is unchanged; so the drawn one is at most the temperature times the difference of
 * the greatest and the least variable below it.
 *
 * Top-p keeps the best tokens by the sum of the probabilities of all. If no logit is lowered, the backend
 * may find out which these are. Other samplers that drop tokens by sums want all logits.
 *
 * A device that draws tokens gets the changes of the logits instead, and chooses as the sampler does.
 */
#include <math.h>

#include "core/portable_math.h"
#include "engine/sampler.h"

enum {
    MOST_LOWERED =
            256, /* with more, all logits are wanted: so many penalties are those of a long text */
    MOST_DRAFT = 3, /* a draw after more drafts wants all: no screen serves so many rows */
};

/* In units of the temperature: beyond it, tokens have so little mass together that top-p seldom depends
 * on how much it is. */
static const double top_p_margin = 10;

typedef struct {
    bool wants_all;
    size_t n; /* logits that are lowered, at most */
} lowered_logits;

/* The tokens that a penalty sees: those of the window, in the prompt only if it is repetition. */
static size_t seen_tokens(const vug_sampler *s, vug_sampler_kind kind, size_t n_draft)
{
    const vug_token_history *h = &s->history;
    const size_t n = (kind == VUG_SAMPLER_REPETITION ? h->n : h->n - h->n_prompt) + n_draft;
    const int64_t window = h->options.window;
    return window >= 0 && n > (size_t)window ? (size_t)window : n;
}

/* `config` changes logits. */
static void add_adjustment(const vug_sampler *s, const vug_sampler_config *config, size_t n_draft,
                           lowered_logits *lowered)
{
    const bool raises = config->kind == VUG_SAMPLER_BIAS         ? config->value > 0
                        : config->kind == VUG_SAMPLER_REPETITION ? config->value < 1
                                                                 : config->value < 0;
    if (raises || config->kind == VUG_SAMPLER_DRY)
        lowered->wants_all = true;
    else if (config->kind == VUG_SAMPLER_BIAS)
        lowered->n++;
    else
        lowered->n += seen_tokens(s, config->kind, n_draft);
}

/* The logits that the sampler lowers. */
static lowered_logits count_lowered(const vug_sampler *s, size_t n_excluded, size_t n_draft)
{
    const vug_sampling *from = s->settings.from;
    lowered_logits lowered = { .n = n_excluded + s->banned.n };
    for (size_t i = 0; i < from->n; i++) {
        const vug_sampler_config *config = &from->sampler[i];
        if (config->kind < VUG_SAMPLER_TEMPERATURE && !vug_sampler_is_off(config))
            add_adjustment(s, config, n_draft, &lowered);
    }
    lowered.wants_all = lowered.wants_all || lowered.n > MOST_LOWERED;
    return lowered;
}

/* How far the Gumbel variables of two tokens can differ in the next draw and in those after drafts. */
static double gumbel_range(const vug_sampler *s, size_t n_draft)
{
    double greatest = -INFINITY;
    for (size_t i = 0; i <= n_draft; i++) {
        const vug_noise noise = { s->settings.from->seed, s->history.n + i };
        greatest = fmax(greatest, vug_noise_greatest_gumbel(&noise, s->model.n_usable));
    }
    return greatest - vug_noise_gumbel(UINT64_MAX);
}

static bool drops_tokens(const vug_sampler_config *config)
{
    return config->kind > VUG_SAMPLER_TEMPERATURE && config->kind < VUG_SAMPLER_REPEAT_LAST_N &&
           !vug_sampler_is_off(config);
}

/* Sets `wanted` by the first sampler that drops tokens, or the draw; false if that wants all logits. */
static bool set_by_cut(const vug_sampler *s, size_t n_draft, vug_logits_wanted *wanted)
{
    const vug_sampling *from = s->settings.from;
    const vug_sampler_config *cut = NULL;
    double temperature = 1;
    for (size_t i = 0; i < from->n && !cut; i++) {
        const vug_sampler_config *config = &from->sampler[i];
        if (config->kind == VUG_SAMPLER_TEMPERATURE)
            temperature *= (double)config->value;
        else if (drops_tokens(config))
            cut = config;
    }
    const bool sums = !cut || cut->kind == VUG_SAMPLER_TOP_P;
    if (s->settings.is_greedy)
        return true;
    if (sums && n_draft > MOST_DRAFT)
        return false;
    if (!cut && wanted->draw.temperature > 0)
        wanted->margin = INFINITY; /* the device finds out which */
    else if (!cut)
        wanted->margin = gumbel_range(s, n_draft) * temperature * (1 + 0x1p-30);
    else if (cut->kind == VUG_SAMPLER_TOP_K)
        wanted->best += (int64_t)cut->value - 1;
    else if (cut->kind == VUG_SAMPLER_MIN_P)
        wanted->margin = -vug_portable_log((double)cut->value) * temperature * (1 + 0x1p-30);
    else if (cut->kind == VUG_SAMPLER_TOP_P && wanted->best == 1) {
        wanted->margin = top_p_margin * temperature;
        wanted->share = (double)cut->value;
        wanted->scale = 1 / temperature;
    } else
        return false;
    return true;
}

bool vug_sampler_draws_from_all(const vug_sampler *s)
{
    const vug_sampling *from = s->settings.from;
    bool drops = s->settings.is_greedy;
    for (size_t i = 0; i < from->n; i++)
        drops = drops || drops_tokens(&from->sampler[i]);
    return !drops;
}

/* The draw of the next token, if a device can do it: with no sampler beside those of vug_draw, in their
 * order. Otherwise its temperature is 0. */
static vug_draw device_draw(const vug_sampler *s)
{
    const vug_sampling *from = s->settings.from;
    const vug_draw none = { 0 };
    if (s->settings.is_greedy)
        return none;
    vug_draw draw = { .temperature = 1, .noise = { from->seed, s->history.n }, .top_p = 1 };
    vug_sampler_kind last = VUG_SAMPLER_COUNT;
    for (size_t i = 0; i < from->n; i++) {
        const vug_sampler_config *config = &from->sampler[i];
        if (vug_sampler_is_off(config) || config->kind < VUG_SAMPLER_TEMPERATURE ||
            config->kind >= VUG_SAMPLER_REPEAT_LAST_N)
            continue;
        if (last != VUG_SAMPLER_COUNT && config->kind <= last)
            return none;
        last = config->kind;
        if (config->kind == VUG_SAMPLER_TEMPERATURE)
            draw.temperature = (double)config->value;
        else if (config->kind == VUG_SAMPLER_TOP_K)
            draw.top_k = (int64_t)config->value;
        else if (config->kind == VUG_SAMPLER_TOP_P)
            draw.top_p = (double)config->value;
        else if (config->kind == VUG_SAMPLER_MIN_P)
            draw.min_p = (double)config->value;
        else
            return none;
    }
    return draw;
}

/* Sets what a device needs to choose the token; false if it cannot. */
static bool set_device_choice(vug_sampler *s, const vug_sampler_mask *mask,
                              vug_logits_wanted *wanted)
{
    const vug_draw draw = device_draw(s);
    vug_adjustments changes = { .list = s->change };
    vug_sampler_adjust(s, mask, &changes);
    if ((draw.temperature == 0 && !s->settings.is_greedy) || changes.n > VUG_MOST_CHANGES ||
        s->repeats_bias)
        return false;
    wanted->draw = draw;
    wanted->change = s->change;
    wanted->n_changes = changes.n;
    return true;
}

vug_logits_wanted vug_sampler_wanted(vug_sampler *s, const vug_sampler_mask *mask, size_t n_draft,
                                     bool draws)
{
    const vug_sampler_mask none = { 0 };
    const vug_logits_wanted all = { 0 };
    mask = mask ? mask : &none;
    vug_logits_wanted wanted = { .best = 1, .n_ids = s->model.n_usable };
    if (draws)
        wanted.allowed = vug_sampler_allowed(s, mask);
    else if (s->allowed)
        return all;
    if (!draws || n_draft > 0 || !set_device_choice(s, mask, &wanted)) {
        const lowered_logits lowered = count_lowered(s, mask->n_excluded, n_draft);
        if (lowered.wants_all)
            return all;
        wanted.best += (int64_t)lowered.n;
    }
    if (!set_by_cut(s, n_draft, &wanted))
        return all;
    return wanted.best < wanted.n_ids ? wanted : all;
}
