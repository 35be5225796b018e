/*
 * The sampler: a chain of stages over candidates (id, logit), then one draw.
 *
 * Candidates are a plain array that stages shorten or change. Ties are broken by
 * the lower id everywhere, so an answer is a function of logits, chain and seed.
 */
#include <math.h>

#include "engine/sampler.h"

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

/* ---- life ------------------------------------------------------------------ */

static vug_status check_stage(const vug_sampler_stage *stage, int64_t n_vocab, vug_err *err)
{
    if ((unsigned)stage->kind >= VUG_SAMPLER_COUNT)
        return VUG_FAIL(err, VUG_ARGUMENT, "sampler: there is no stage of kind %d",
                        (int)stage->kind);
    const float v = stage->value;
    if (!(v >= kinds[stage->kind].min && v <= kinds[stage->kind].max))
        return VUG_FAIL(err, VUG_ARGUMENT, "sampler: %s is %g, expected %g to %g",
                        kinds[stage->kind].name, (double)v, (double)kinds[stage->kind].min,
                        (double)kinds[stage->kind].max);
    if (stage->kind == VUG_SAMPLER_BIAS && (stage->token < 0 || stage->token >= n_vocab))
        return VUG_FAIL(err, VUG_ARGUMENT, "sampler: bias for token %d, ids are 0 to %lld",
                        stage->token, (long long)n_vocab - 1);
    return VUG_OK;
}

vug_status vug_sampler_init(vug_sampler *sampler, const vug_sampling *sampling, int64_t n_vocab,
                            int64_t n_usable, vug_err *err)
{
    if (sampling->n > VUG_MAX_STAGES)
        return VUG_FAIL(err, VUG_LIMIT, "sampler: %zu stages, at most %d", sampling->n,
                        VUG_MAX_STAGES);
    vug_sampler s = { .stage = sampling->stage,
                      .n = sampling->n,
                      .random = sampling->seed,
                      .n_vocab = n_vocab,
                      .n_usable = n_usable };
    for (size_t i = 0; i < s.n; i++) {
        VUG_TRY(check_stage(&s.stage[i], n_vocab, err));
        if (s.stage[i].kind == VUG_SAMPLER_TEMPERATURE && s.stage[i].value == 0)
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

void vug_sampler_see_prompt(vug_sampler *sampler, const int32_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sampler->n_prompt[id[i]]++;
}

void vug_sampler_see(vug_sampler *sampler, int32_t id)
{
    sampler->n_answer[id]++;
}

/* SplitMix64 (Steele, Lea, Flood 2014): 64 random bits. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- order ------------------------------------------------------------------ */

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

/* Probability relative to the best logit; two infinities are equals. */
static double weight(float logit, float best)
{
    return logit == best ? 1 : (double)expf(logit - best);
}

static double weight_sum(const vug_candidate *c, size_t n, float best)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weight(c[i].logit, best);
    return sum;
}

/* Moves the best candidates, in order, to the front: at least one, at most `most`,
 * and no more than hold `mass`, a sum of weights. Returns how many they are. They
 * come from a heap that shrinks from the end of the array, and lie there in reverse. */
static size_t take_best(vug_candidate *c, size_t n, size_t most, double mass)
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
        taken += weight(next.logit, best);
    }
    for (size_t i = 0; i < n / 2; i++) {
        const vug_candidate swap = c[i];
        c[i] = c[n - 1 - i];
        c[n - 1 - i] = swap;
    }
    return n - left;
}

/* ---- stages ------------------------------------------------------------------ */

/* Adjusts logits by what came before, in any order of candidates. */
static void adjust(const vug_sampler *s, const vug_sampler_stage *stage, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vug_candidate *c = &s->candidate[i];
        const uint32_t answer = s->n_answer[c->id];
        switch (stage->kind) {
        case VUG_SAMPLER_REPETITION:
            if (answer || s->n_prompt[c->id])
                c->logit = c->logit > 0 ? c->logit / stage->value : c->logit * stage->value;
            break;
        case VUG_SAMPLER_PRESENCE:
            c->logit -= answer ? stage->value : 0;
            break;
        default:
            c->logit -= (float)answer * stage->value;
            break;
        }
    }
}

/* Where the best logit would become an infinity, and others with it, it becomes 0. */
static void divide(vug_candidate *c, size_t n, float temperature)
{
    const float best = best_logit(c, n);
    const bool shift = isfinite(best) && !isfinite(best / temperature);
    for (size_t i = 0; i < n; i++)
        c[i].logit = (shift ? c[i].logit - best : c[i].logit) / temperature;
}

/* The place of a token among the candidates, or n. */
static size_t place_of(const vug_sampler *s, int32_t token, size_t n)
{
    const vug_candidate *c = s->candidate;
    size_t from = 0, to = n;
    while (s->by_id && from < to) { /* a request may name hundreds of tokens */
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

static void add_bias(const vug_sampler *s, const vug_sampler_stage *stage, size_t n)
{
    const size_t at = place_of(s, stage->token, n);
    if (at < n)
        s->candidate[at].logit += stage->value;
}

/* Returns how many candidates are left, at least one. */
static size_t apply(vug_sampler *s, const vug_sampler_stage *stage, size_t n)
{
    vug_candidate *c = s->candidate;
    switch (stage->kind) {
    case VUG_SAMPLER_TOP_K:
        if (stage->value < 1 || (double)stage->value >= (double)n)
            return n;
        s->by_id = false;
        return take_best(c, n, (size_t)stage->value, INFINITY);
    case VUG_SAMPLER_TOP_P:
        if (stage->value >= 1)
            return n;
        s->by_id = false;
        return take_best(c, n, n, (double)stage->value * weight_sum(c, n, best_logit(c, n)));
    case VUG_SAMPLER_MIN_P: {
        const float best = best_logit(c, n), least = logf(stage->value);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) {
            if (c[i].logit == best || c[i].logit - best >= least)
                c[kept++] = c[i];
        }
        return kept;
    }
    case VUG_SAMPLER_BIAS:
        add_bias(s, stage, n);
        return n;
    case VUG_SAMPLER_TEMPERATURE:
        divide(c, n, stage->value);
        return n;
    default:
        adjust(s, stage, n);
        return n;
    }
}

static int32_t draw(vug_sampler *s, size_t n)
{
    const vug_candidate *c = s->candidate;
    const float best = best_logit(c, n);
    /* 53 random bits fill a double's fraction: uniform in [0, 1). */
    const double u = (double)(next_random(&s->random) >> 11) * 0x1p-53;
    double left = u * weight_sum(c, n, best);
    size_t drawn = 0;
    for (size_t i = 0; i < n; i++) {
        const double w = weight(c[i].logit, best);
        if (w > 0)
            drawn = i; /* rounding may leave a crumb behind the last: never a banned token */
        if ((left -= w) < 0)
            break;
    }
    return c[drawn].id;
}

static bool is_allowed(const uint32_t *allowed, int64_t id)
{
    return !allowed || (allowed[id / 32] >> (id % 32) & 1);
}

/* Returns how many candidates there are. Of a model that computes only NaN the first token
 * that may come is as good as any. */
static size_t take_candidates(vug_sampler *s, const float *logits, const uint32_t *allowed)
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

int32_t vug_sampler_draw(vug_sampler *s, const float *logits, const uint32_t *allowed)
{
    size_t n = take_candidates(s, logits, allowed);
    for (size_t i = 0; i < s->n; i++) {
        const bool cut = s->stage[i].kind >= VUG_SAMPLER_TEMPERATURE;
        if (!s->greedy || !cut)
            n = apply(s, &s->stage[i], n);
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
        id = draw(s, n);
    }
    vug_sampler_see(s, id);
    return id;
}

/* ---- log-probabilities --------------------------------------------------------- */

/* As in the draw, what is not a number has no chance, and infinities are equals. */
static float logprob(float logit, float best, double log_sum)
{
    if (isnan(logit))
        return -INFINITY;
    return (float)((logit == best ? 0 : (double)logit - (double)best) - log_sum);
}

float vug_logprobs(const float *logits, int64_t n, int32_t token, vug_logprob *top, size_t n_top)
{
    float best = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        best = logits[i] > best ? logits[i] : best;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += isnan(logits[i]) ? 0 : weight(logits[i], best);
    const double log_sum = log(sum);
    size_t kept = 0;
    for (int64_t i = 0; i < n && n_top; i++) {
        const vug_logprob item = { (int32_t)i, logprob(logits[i], best, log_sum) };
        if (kept == n_top && !(item.logprob > top[kept - 1].logprob))
            continue;
        size_t at = kept < n_top ? kept++ : kept - 1;
        for (; at > 0 && item.logprob > top[at - 1].logprob; at--)
            top[at] = top[at - 1];
        top[at] = item;
    }
    return logprob(logits[token], best, log_sum);
}
