/* Log-probabilities of the model's own distribution, before any sampler. */
#include <float.h>
#include <math.h>

#include "core/portable_math.h"
#include "engine/sampler.h"

static float log_softmax_of(float logit, float best, double log_sum)
{
    return (float)((double)logit - (double)best - log_sum);
}

static double log_of_mass(uint64_t mass)
{
    return vug_portable_log((double)mass * (1.0 / VUG_MASS_ONE));
}

/* NaN and -infinity have no probability, and infinities are equal to each other. */
static float log_softmax(const vug_candidates *c, float logit, double log_sum)
{
    if (c->only_infinite)
        logit = logit > FLT_MAX ? 0 : -INFINITY;
    if (!(logit >= -FLT_MAX))
        return -INFINITY;
    return log_softmax_of(logit, c->first.logit, log_sum);
}

static bool is_listed(const vug_candidates *c, int32_t id)
{
    for (size_t i = 0; i < c->n_list; i++) {
        if (c->list[i].id == id)
            return true;
    }
    return false;
}

/* The listed tokens, best first. If fewer tokens have a probability, the lowest other ids follow. */
static void fill_top(const vug_candidates *c, const float *logits, double log_sum, vug_logprob *top,
                     size_t n_top)
{
    size_t kept = 0;
    for (; kept < c->n_list && kept < n_top; kept++)
        top[kept] = (vug_logprob){ c->list[kept].id,
                                   log_softmax(c, logits[c->list[kept].id], log_sum) };
    for (int32_t id = 0; kept < n_top; id++) {
        if (!is_listed(c, id))
            top[kept++] = (vug_logprob){ id, -INFINITY };
    }
}

float vug_compute_logprobs(vug_candidates *scratch, const float *logits, int64_t n, int32_t token,
                           const int32_t *wanted, vug_logprob *top, size_t n_top)
{
    const vug_logits_view view = { .logits = logits, .n = n };
    vug_candidates *const c = scratch;
    double log_sum = 0;
    c->n_list = 0;
    if (vug_candidates_start(c, &view)) {
        log_sum = log_of_mass(vug_candidates_mass(c));
        if (n_top > 0 && !wanted)
            vug_candidates_best(c, n_top);
    }
    if (!wanted)
        fill_top(c, logits, log_sum, top, n_top);
    for (size_t i = 0; wanted && i < n_top; i++) {
        const bool usable = wanted[i] < n; /* padding of the vocabulary is not */
        top[i] = (vug_logprob){ wanted[i],
                                usable ? log_softmax(c, logits[wanted[i]], log_sum) : -INFINITY };
    }
    return log_softmax(c, logits[token], log_sum);
}

float vug_take_logprobs(const vug_logits_row *row, int32_t token, vug_logprob *top, size_t n_top)
{
    const double log_sum = log_of_mass(row->mass);
    VUG_ASSERT(n_top <= row->n_top && row->logit[token] != VUG_LOGIT_UNWANTED);
    vug_candidates_sort(row->top, row->n_top);
    const float best = row->top[0].logit;
    for (size_t i = 0; i < n_top; i++)
        top[i] = (vug_logprob){ row->top[i].id, log_softmax_of(row->top[i].logit, best, log_sum) };
    return log_softmax_of(row->logit[token], best, log_sum);
}
