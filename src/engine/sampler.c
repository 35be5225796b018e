/*
 * Sampling: a chain of samplers over candidates (id, logit), then one random draw.
 *
 * Candidates are an array that samplers shorten or change. The lower id always breaks
 * ties, so an answer depends on nothing but logits, chain and seed.
 */
#include <math.h>

#include "engine/sampler.h"

#include "core/random.h"

static const struct {
    const char *name;
    float min, max;
} kinds[VUG_SAMPLER_COUNT] = {
#define X(id, name, off, min, max, help) [VUG_SAMPLER_##id] = { name, (float)(min), (float)(max) },
    VUG_SAMPLER_TABLE(X)
#undef X
};

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

/* ---- setup ----------------------------------------------------------------- */

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

vug_status vug_sampler_init(vug_sampler *sampler, const vug_sampling *sampling, int64_t n_vocab,
                            int64_t n_usable, vug_err *err)
{
    if (sampling->n > VUG_MAX_SAMPLERS)
        return VUG_FAIL(err, VUG_LIMIT, "a chain of %zu samplers, at most %d", sampling->n,
                        VUG_MAX_SAMPLERS);
    vug_sampler s = { .config = sampling->sampler,
                      .n = sampling->n,
                      .random = sampling->seed,
                      .n_vocab = n_vocab,
                      .n_usable = n_usable };
    for (size_t i = 0; i < s.n; i++) {
        VUG_TRY(check_config(&s.config[i], n_vocab, err));
        if (s.config[i].kind == VUG_SAMPLER_TEMPERATURE && s.config[i].value == 0)
            s.greedy = true;
    }
    const size_t v = (size_t)n_vocab;
    s.candidate = vug_alloc(v, sizeof(*s.candidate));
    s.n_prompt = vug_alloc_zero(v, sizeof(*s.n_prompt));
    s.n_answer = vug_alloc_zero(v, sizeof(*s.n_answer));
    if (!s.candidate || !s.n_prompt || !s.n_answer) {
        vug_sampler_release(&s);
        return VUG_FAIL_NOMEM(err, "the sampler",
                              v * (sizeof(*s.candidate) + 2 * sizeof(*s.n_prompt)));
    }
    *sampler = s;
    return VUG_OK;
}

void vug_sampler_release(vug_sampler *sampler)
{
    vug_free(sampler->candidate);
    vug_free(sampler->n_prompt);
    vug_free(sampler->n_answer);
    *sampler = (vug_sampler){ 0 };
}

void vug_sampler_accept_prompt(vug_sampler *sampler, const int32_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sampler->n_prompt[id[i]]++;
}

void vug_sampler_accept(vug_sampler *sampler, int32_t id)
{
    sampler->n_answer[id]++;
}

/* ---- sorting ----------------------------------------------------------------- */

static bool is_better(const vug_candidate *a, const vug_candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static void sift_down(vug_candidate *c, size_t n, size_t at)
{
    const vug_candidate item = c[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && is_better(&c[child + 1], &c[child]))
            child++;
        if (!is_better(&c[child], &item))
            break;
        c[at] = c[child];
        at = child;
    }
    c[at] = item;
}

static float best_logit(const vug_candidate *c, size_t n)
{
    float best = -INFINITY;
    for (size_t i = 0; i < n; i++)
        best = c[i].logit > best ? c[i].logit : best;
    return best;
}

/* Probability relative to the best logit; infinities are equal to each other. */
static double relative_weight(float logit, float best)
{
    return logit == best ? 1 : (double)expf(logit - best);
}

static double sum_weights(const vug_candidate *c, size_t n, float best)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += relative_weight(c[i].logit, best);
    return sum;
}

/* Moves the best candidates, in order, to the front and returns their number: at least one, at
 * most `most`, and as few as have the sum of weights `mass`. A heap that shrinks from the end of
 * the array yields them there in reverse order. */
static size_t select_best(vug_candidate *c, size_t n, size_t most, double mass)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(c, n, i);
    const float best = c[0].logit;
    double taken = 0;
    size_t left = n;
    while (left > 0 && n - left < most && (left == n || taken < mass)) {
        const vug_candidate next = c[0];
        c[0] = c[--left];
        c[left] = next;
        if (left > 1)
            sift_down(c, left, 0);
        taken += relative_weight(next.logit, best);
    }
    for (size_t i = 0; i < n / 2; i++) {
        const vug_candidate swap = c[i];
        c[i] = c[n - 1 - i];
        c[n - 1 - i] = swap;
    }
    return n - left;
}

/* ---- samplers ---------------------------------------------------------------- */

/* Adjusts logits by how often their tokens occurred; candidates may be in any order. */
static void apply_penalty(const vug_sampler *s, const vug_sampler_config *config, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vug_candidate *c = &s->candidate[i];
        const uint32_t answer = s->n_answer[c->id];
        switch (config->kind) {
        case VUG_SAMPLER_REPETITION:
            if (answer || s->n_prompt[c->id])
                c->logit = c->logit > 0 ? c->logit / config->value : c->logit * config->value;
            break;
        case VUG_SAMPLER_PRESENCE:
            c->logit -= answer ? config->value : 0;
            break;
        default:
            c->logit -= (float)answer * config->value;
            break;
        }
    }
}

/* Divides logits. If the best one would overflow, all are shifted so that it becomes 0. */
static void apply_temperature(vug_candidate *c, size_t n, float temperature)
{
    const float best = best_logit(c, n);
    const bool shift = isfinite(best) && !isfinite(best / temperature);
    for (size_t i = 0; i < n; i++)
        c[i].logit = (shift ? c[i].logit - best : c[i].logit) / temperature;
}

/* The index of a token among the candidates, or n. */
static size_t find_candidate(const vug_sampler *s, int32_t token, size_t n)
{
    const vug_candidate *c = s->candidate;
    size_t from = 0, to = n;
    while (s->by_id && from < to) { /* binary search: a request may name hundreds of tokens */
        const size_t middle = from + (to - from) / 2;
        if (c[middle].id < token)
            from = middle + 1;
        else
            to = middle;
    }
    while (!s->by_id && from < n && c[from].id != token)
        from++;
    return from < n && c[from].id == token ? from : n;
}

static void apply_bias(const vug_sampler *s, const vug_sampler_config *config, size_t n)
{
    const size_t at = find_candidate(s, config->token, n);
    if (at < n)
        s->candidate[at].logit += config->value;
}

/* Applies one sampler. Returns the number of candidates left, at least one. */
static size_t apply_sampler(vug_sampler *s, const vug_sampler_config *config, size_t n)
{
    vug_candidate *c = s->candidate;
    switch (config->kind) {
    case VUG_SAMPLER_TOP_K:
        if (config->value < 1 || (double)config->value >= (double)n)
            return n;
        s->by_id = false;
        return select_best(c, n, (size_t)config->value, INFINITY);
    case VUG_SAMPLER_TOP_P:
        if (config->value >= 1)
            return n;
        s->by_id = false;
        return select_best(c, n, n, (double)config->value * sum_weights(c, n, best_logit(c, n)));
    case VUG_SAMPLER_MIN_P: {
        const float best = best_logit(c, n), least = logf(config->value);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) {
            if (c[i].logit == best || c[i].logit - best >= least)
                c[kept++] = c[i];
        }
        return kept;
    }
    case VUG_SAMPLER_BIAS:
        apply_bias(s, config, n);
        return n;
    case VUG_SAMPLER_TEMPERATURE:
        apply_temperature(c, n, config->value);
        return n;
    default:
        apply_penalty(s, config, n);
        return n;
    }
}

static int32_t draw_candidate(vug_sampler *s, size_t n)
{
    const vug_candidate *c = s->candidate;
    const float best = best_logit(c, n);
    /* 53 random bits fill a double's fraction: uniform in [0, 1). */
    const double u = (double)(vug_splitmix64(&s->random) >> 11) * 0x1p-53;
    double left = u * sum_weights(c, n, best);
    size_t drawn = 0;
    for (size_t i = 0; i < n; i++) {
        const double w = relative_weight(c[i].logit, best);
        if (w > 0)
            drawn = i; /* rounding may leave a remainder; never pick a token of weight 0 */
        if ((left -= w) < 0)
            break;
    }
    return c[drawn].id;
}

static bool is_allowed(const uint32_t *allowed, int64_t id)
{
    return !allowed || (allowed[id / 32] >> (id % 32) & 1);
}

/* Collects the allowed tokens whose logits are not NaN, or the first allowed one if all are NaN.
 * Returns their number. */
static size_t collect_candidates(vug_sampler *s, const float *logits, const uint32_t *allowed)
{
    size_t n = 0;
    int64_t first = s->n_usable;
    for (int64_t i = 0; i < s->n_usable; i++) {
        if (!is_allowed(allowed, i))
            continue;
        first = i < first ? i : first;
        if (!isnan(logits[i]))
            s->candidate[n++] = (vug_candidate){ (int32_t)i, logits[i] };
    }
    VUG_ASSERT(first < s->n_usable);
    if (n == 0)
        s->candidate[n++] = (vug_candidate){ (int32_t)first, 0 };
    s->by_id = true;
    return n;
}

int32_t vug_sampler_sample(vug_sampler *s, const float *logits, const uint32_t *allowed)
{
    size_t n = collect_candidates(s, logits, allowed);
    for (size_t i = 0; i < s->n; i++) {
        const bool cut = s->config[i].kind >= VUG_SAMPLER_TEMPERATURE;
        if (!s->greedy || !cut)
            n = apply_sampler(s, &s->config[i], n);
    }
    int32_t id;
    if (s->greedy) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++) {
            if (is_better(&s->candidate[i], &s->candidate[best]))
                best = i;
        }
        id = s->candidate[best].id;
    } else {
        id = draw_candidate(s, n);
    }
    vug_sampler_accept(s, id);
    return id;
}

/* ---- log-probabilities --------------------------------------------------------- */

/* As in sampling, NaN has no probability, and infinities are equal to each other. */
static float log_softmax(float logit, float best, double log_sum)
{
    if (isnan(logit))
        return -INFINITY;
    return (float)((logit == best ? 0 : (double)logit - (double)best) - log_sum);
}

float vug_compute_logprobs(const float *logits, int64_t n, int32_t token, vug_logprob *top,
                           size_t n_top)
{
    float best = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        best = logits[i] > best ? logits[i] : best;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += isnan(logits[i]) ? 0 : relative_weight(logits[i], best);
    const double log_sum = log(sum);
    size_t kept = 0;
    for (int64_t i = 0; i < n && n_top; i++) {
        const vug_logprob item = { (int32_t)i, log_softmax(logits[i], best, log_sum) };
        if (kept == n_top && !(item.logprob > top[kept - 1].logprob))
            continue;
        size_t at = kept < n_top ? kept++ : kept - 1;
        for (; at > 0 && item.logprob > top[at - 1].logprob; at--)
            top[at] = top[at - 1];
        top[at] = item;
    }
    return log_softmax(logits[token], best, log_sum);
}
