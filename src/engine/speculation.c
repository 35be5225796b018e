#include "engine/speculation.h"

#include <math.h>

/* What is assumed before it is measured: what a draft adds to the time of a step, and how many are
 * accepted. */
#define FIRST_COST 0.3
static const double first_acceptance[VUG_MATCH_CLASSES] = { 0.2, 0.4, 0.5, 0.6, 0.7 };

#define ACCEPTANCE_WEIGHT 0.25 /* of each draft */

/* The part by which estimates return to the first ones with each token. */
#define ACCEPTANCE_RETURN 0.006
#define COST_RETURN       0.001

/* What drafts may lose, in steps: at first, with each token, and after they gained a lot. */
#define FIRST_CREDIT     0.5
#define CREDIT_PER_TOKEN 0.01
#define MOST_CREDIT      3.0

/* Other work of the machine only makes steps longer, so short times count more. */
#define SHORTER_WEIGHT 0.5
#define LONGER_WEIGHT  0.25
#define MOST_LONGER    2 /* times as long as the mean */

enum { PLAIN_EVERY = 16 }; /* steps: the time of a step without drafts changes */

vug_status vug_speculation_init(vug_speculation *s, size_t n_tokens, vug_err *err)
{
    *s = (vug_speculation){ .credit = FIRST_CREDIT };
    memcpy(s->acceptance, first_acceptance, sizeof(first_acceptance));
    for (int k = 0; k <= VUG_MAX_DRAFT; k++)
        s->cost[k] = 1 + FIRST_COST * k;
    return vug_prompt_lookup_init(&s->lookup, n_tokens, err);
}

void vug_speculation_release(vug_speculation *s)
{
    vug_prompt_lookup_release(&s->lookup);
    *s = (vug_speculation){ 0 };
}

static void add_outcome(vug_speculation *s, bool accepted)
{
    double *p = &s->acceptance[s->match_class];
    *p += ((accepted ? 1 : 0) - *p) * ACCEPTANCE_WEIGHT;
}

/* The number of drafts that makes the answer fastest; 0: none makes it fast enough. */
static size_t best_number(const vug_speculation *s, int match_class, size_t most)
{
    const double p = s->acceptance[match_class];
    double tokens = 1, chance = 1, best_gain = VUG_LEAST_GAIN;
    size_t best = 0;
    for (size_t k = 1; k <= most && s->cost[k] - 1 <= s->credit; k++) {
        chance *= p;
        tokens += chance;
        if (tokens / s->cost[k] < best_gain)
            continue;
        best_gain = tokens / s->cost[k];
        best = k;
    }
    return best;
}

/* Lets the estimates return after some tokens, so that what seemed bad is tried again. */
static void forget(vug_speculation *s, size_t n_tokens)
{
    s->credit = fmin(s->credit + CREDIT_PER_TOKEN * (double)n_tokens, MOST_CREDIT);
    const double of_acceptance = 1 - pow(1 - ACCEPTANCE_RETURN, (double)n_tokens);
    const double of_cost = 1 - pow(1 - COST_RETURN, (double)n_tokens);
    for (int i = 0; i < VUG_MATCH_CLASSES; i++)
        s->acceptance[i] += (first_acceptance[i] - s->acceptance[i]) * of_acceptance;
    for (int k = 1; k <= VUG_MAX_DRAFT; k++)
        s->cost[k] += (1 + FIRST_COST * k - s->cost[k]) * of_cost;
}

static int class_of(size_t match)
{
    return match < 4 ? (int)match - VUG_LEAST_MATCH : match < VUG_MOST_MATCH ? 3 : 4;
}

size_t vug_speculation_draft(vug_speculation *s, const int32_t *id, size_t n, int32_t *draft,
                             size_t most)
{
    if (s->n_open > 0)
        add_outcome(s, false);
    s->n_open = 0;
    if (s->n_tokens > 0)
        forget(s, n - s->n_tokens);
    s->n_tokens = n;
    if (s->plain_s == 0 || s->since_plain >= PLAIN_EVERY)
        return 0;
    const size_t match = vug_prompt_lookup_draft(&s->lookup, id, n, draft, most);
    if (match == 0)
        return 0;
    s->match_class = class_of(match);
    return best_number(s, s->match_class, most);
}

/* A mean that follows short times faster than long ones. */
static double smooth(double mean, double sample)
{
    const double limited = fmin(sample, MOST_LONGER * mean);
    return mean + (limited - mean) * (limited < mean ? SHORTER_WEIGHT : LONGER_WEIGHT);
}

/* Learns from a step of one token and its drafts. */
static void measure_step(vug_speculation *s, size_t n_draft, double seconds)
{
    if (n_draft == 0) {
        s->plain_s = s->plain_s > 0 ? smooth(s->plain_s, seconds) : seconds;
        s->since_plain = 0;
    } else {
        s->cost[n_draft] = smooth(s->cost[n_draft], fmax(seconds / s->plain_s, 1));
        for (size_t k = 1; k <= VUG_MAX_DRAFT; k++) /* fewer do not take longer */
            s->cost[k] = k < n_draft ? fmin(s->cost[k], s->cost[n_draft])
                                     : fmax(s->cost[k], s->cost[n_draft]);
    }
}

void vug_speculation_add_step(vug_speculation *s, size_t n, size_t n_draft, double seconds)
{
    s->since_plain++;
    s->n_drafted += n_draft;
    s->n_open = n_draft;
    if (n == 1) /* more would have taken longer without drafts, too */
        measure_step(s, n_draft, seconds);
    if (n_draft > 0)
        s->credit -= VUG_LEAST_GAIN * s->cost[n_draft] - 1;
}

void vug_speculation_accept(vug_speculation *s)
{
    add_outcome(s, true);
    s->credit++;
    s->n_open--;
    s->n_accepted++;
}
