#include "engine/speculation.h"

#include <math.h>

/* What is assumed before it is measured: what a draft adds to the time of a step, what a model takes
 * to write it, and how many are accepted. */
#define FIRST_COST       0.3
#define FIRST_MODEL_COST 0.3
static const double first_acceptance[VUG_DRAFT_CLASSES] = { 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.7 };
enum { MODEL_CLASS = VUG_DRAFT_CLASSES - 1 };

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

void vug_step_costs_init(vug_step_costs *costs)
{
    *costs = (vug_step_costs){ .model_cost = FIRST_MODEL_COST };
    for (int k = 0; k <= VUG_MAX_DRAFT; k++)
        costs->cost[k] = 1 + FIRST_COST * k;
}

vug_status vug_speculation_init(vug_speculation *s, const vug_speculation_start *start,
                                vug_err *err)
{
    *s = (vug_speculation){ .costs = *start->costs,
                            .prediction = start->prediction,
                            .n_prediction = start->n_prediction,
                            .credit = FIRST_CREDIT };
    memcpy(s->acceptance, first_acceptance, sizeof(first_acceptance));
    VUG_TRY(vug_prompt_lookup_init(&s->sequence, start->n_tokens, err));
    if (s->n_prediction == 0)
        return VUG_OK;
    const vug_status st = vug_prompt_lookup_init(&s->in_prediction, s->n_prediction, err);
    if (st == VUG_OK)
        vug_prompt_lookup_add(&s->in_prediction, s->prediction, s->n_prediction);
    else
        vug_speculation_release(s);
    return st;
}

void vug_speculation_release(vug_speculation *s)
{
    vug_prompt_lookup_release(&s->sequence);
    vug_prompt_lookup_release(&s->in_prediction);
    *s = (vug_speculation){ 0 };
}

/* ---- how many ---------------------------------------------------------------------------- */

/* The class of a draft after a match of `match` tokens. */
static int class_of(vug_draft_source source, size_t match)
{
    if (source == VUG_DRAFT_FROM_MODEL)
        return MODEL_CLASS;
    return match < 4                ? (int)match - VUG_LEAST_MATCH
           : match < 8              ? 3
           : match < VUG_MOST_MATCH ? 4
                                    : 5;
}

static void add_outcome(vug_speculation *s, bool accepted)
{
    double *p = &s->acceptance[class_of(s->source, s->match)];
    *p += ((accepted ? 1 : 0) - *p) * ACCEPTANCE_WEIGHT;
}

/* The number of drafts of this source that makes the answer fastest; 0: none makes it fast enough. */
static size_t best_number(const vug_speculation *s, vug_draft_source source, size_t match,
                          size_t most)
{
    const double each = source == VUG_DRAFT_FROM_MODEL ? s->costs.model_cost : 0;
    double tokens = 1, chance = 1, best_gain = VUG_LEAST_GAIN;
    size_t best = 0;
    for (size_t k = 1; k <= most; k++) {
        const double cost = s->costs.cost[k] + each * (double)k;
        if (cost - 1 > s->credit)
            break;
        chance *= s->acceptance[class_of(source, match + k - 1)];
        tokens += chance;
        if (tokens / cost < best_gain)
            continue;
        best_gain = tokens / cost;
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
    for (int i = 0; i < VUG_DRAFT_CLASSES; i++)
        s->acceptance[i] += (first_acceptance[i] - s->acceptance[i]) * of_acceptance;
    for (int k = 1; k <= VUG_MAX_DRAFT; k++)
        s->costs.cost[k] += (1 + FIRST_COST * k - s->costs.cost[k]) * of_cost;
    s->costs.model_cost += (FIRST_MODEL_COST - s->costs.model_cost) * of_cost;
}

/* Whether the next step must be one without drafts, so that its time is measured. */
static bool is_plain_due(const vug_speculation *s)
{
    return s->costs.plain_s == 0 || s->since_plain >= PLAIN_EVERY;
}

/* ---- which ------------------------------------------------------------------------------- */

/* Writes what follows a position of the sequence; a period goes on beyond its end. */
static void copy_sequence(const int32_t *id, size_t n, size_t from, int32_t *draft, size_t k)
{
    for (size_t i = 0; i < k; i++)
        draft[i] = from + i < n ? id[from + i] : draft[from + i - n];
}

size_t vug_speculation_draft(vug_speculation *s, const int32_t *id, size_t n, int32_t *draft,
                             size_t most)
{
    size_t from, predicted_from = 0, predicted_match = 0;
    if (s->n_open > 0)
        add_outcome(s, false);
    s->n_open = 0;
    if (s->n_tokens > 0)
        forget(s, n - s->n_tokens);
    s->n_tokens = n;
    vug_prompt_lookup_add(&s->sequence, id, n);
    if (is_plain_due(s))
        return 0;
    const size_t match = vug_prompt_lookup_find(&s->sequence, id, id, n, &from);
    if (s->n_prediction > 0)
        predicted_match =
                vug_prompt_lookup_find(&s->in_prediction, s->prediction, id, n, &predicted_from);
    if (predicted_match >= match && predicted_match > 0) {
        const size_t left = s->n_prediction - predicted_from;
        s->source = VUG_DRAFT_FROM_PREDICTION;
        s->match = predicted_match;
        most = left < most ? left : most;
        memcpy(draft, s->prediction + predicted_from, most * sizeof(*draft));
    } else if (match > 0) {
        s->source = VUG_DRAFT_FROM_SEQUENCE;
        s->match = match;
        copy_sequence(id, n, from, draft, most);
    } else {
        return 0;
    }
    return best_number(s, s->source, s->match, most);
}

size_t vug_speculation_ask_model(vug_speculation *s, size_t most)
{
    if (is_plain_due(s))
        return 0;
    s->source = VUG_DRAFT_FROM_MODEL;
    s->match = VUG_LEAST_MATCH;
    return best_number(s, s->source, s->match, most);
}

/* ---- what it costs ----------------------------------------------------------------------- */

/* A mean that follows short times faster than long ones. */
static double smooth(double mean, double sample)
{
    const double limited = fmin(sample, MOST_LONGER * mean);
    return mean + (limited - mean) * (limited < mean ? SHORTER_WEIGHT : LONGER_WEIGHT);
}

void vug_speculation_add_model_drafts(vug_speculation *s, size_t n, double seconds)
{
    const double each = seconds / s->costs.plain_s / (double)n;
    s->costs.model_cost = smooth(s->costs.model_cost, each);
    s->credit -= VUG_LEAST_GAIN * s->costs.model_cost * (double)n;
}

/* Learns from a step of one token and its drafts. Returns what it took, in plain steps. */
static double measure_step(vug_speculation *s, size_t n_draft, double seconds)
{
    vug_step_costs *c = &s->costs;
    if (n_draft == 0) {
        c->plain_s = c->plain_s > 0 ? smooth(c->plain_s, seconds) : seconds;
        s->since_plain = 0;
        return 1;
    }
    const double cost = fmin(fmax(seconds / c->plain_s, 1), MOST_LONGER * c->cost[n_draft]);
    c->cost[n_draft] = smooth(c->cost[n_draft], cost);
    for (size_t k = 1; k <= VUG_MAX_DRAFT; k++) /* fewer do not take longer */
        c->cost[k] = k < n_draft ? fmin(c->cost[k], c->cost[n_draft])
                                 : fmax(c->cost[k], c->cost[n_draft]);
    return cost;
}

void vug_speculation_add_step(vug_speculation *s, size_t n, size_t n_draft, bool alone,
                              double seconds)
{
    double cost = s->costs.cost[n_draft];
    s->since_plain++;
    s->n_drafted += n_draft;
    s->n_prediction_drafted += s->source == VUG_DRAFT_FROM_PREDICTION ? n_draft : 0;
    s->n_open = n_draft;
    if (n == 1 && alone) /* more would have taken longer without drafts, too */
        cost = measure_step(s, n_draft, seconds);
    if (n_draft > 0)
        s->credit -= VUG_LEAST_GAIN * cost - 1;
}

void vug_speculation_accept(vug_speculation *s)
{
    add_outcome(s, true);
    s->match++;
    s->credit++;
    s->n_open--;
    s->n_accepted++;
    s->n_prediction_accepted += s->source == VUG_DRAFT_FROM_PREDICTION;
}
