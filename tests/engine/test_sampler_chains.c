/*
 * Chains of samplers against a naive sampler that sorts, adds up and cuts in double precision, and
 * takes the greatest of all noisy logits.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "sampler_help.h"

/* ---- the obvious sampler --------------------------------------------------------- */

enum { MOST = 6000, MASK_WORDS = (MOST + 31) / 32, HISTORY = 32 };

typedef struct {
    int32_t id;
    float logit;
    double p;
} naive_token;

typedef struct {
    const vug_sampler_config *config;
    size_t n_samplers;
    uint64_t seed;
    int32_t history[HISTORY];
    size_t n_prompt, n_history;
    naive_token token[MOST]; /* [n] */
    size_t n;
    double temperature; /* the product of those so far */
    bool close;         /* a decision that rounding may change */
} naive_sampler;

static float parameter_of(const naive_sampler *p, vug_sampler_kind kind, float fallback)
{
    for (size_t i = 0; i < p->n_samplers; i++)
        fallback = p->config[i].kind == kind ? p->config[i].value : fallback;
    return fallback;
}

/* Best first, the lower id first among equals. */
static int compare_tokens(const void *a, const void *b)
{
    const naive_token *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static void rank(naive_sampler *p)
{
    qsort(p->token, p->n, sizeof(*p->token), compare_tokens);
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        const double above = (double)p->token[0].logit - (double)p->token[i].logit;
        p->token[i].p = above == 0 ? 1 : exp(-above / p->temperature);
        sum += p->token[i].p;
    }
    for (size_t i = 0; i < p->n; i++)
        p->token[i].p /= sum;
}

/* ---- changes of single logits */

static int count_id(const naive_sampler *p, int32_t id, bool with_prompt)
{
    const float window = parameter_of(p, VUG_SAMPLER_REPEAT_LAST_N, -1);
    int n = 0;
    for (size_t i = with_prompt ? 0 : p->n_prompt; i < p->n_history; i++)
        n += p->history[i] == id && (window < 0 || (float)(p->n_history - i) <= window);
    return n;
}

/* The longest repeat after which the id follows. */
static int repeat_before(const naive_sampler *p, int32_t id)
{
    const float window = parameter_of(p, VUG_SAMPLER_DRY_LAST_N, -1);
    const size_t from =
            window < 0 || (float)p->n_history < window ? 0 : p->n_history - (size_t)window;
    int longest = 0;
    for (size_t i = from; i < p->n_history; i++) {
        int n = 0;
        while (n < 50 && i - from > (size_t)n &&
               p->history[i - 1 - (size_t)n] == p->history[p->n_history - 1 - (size_t)n])
            n++;
        if (p->history[i] == id && n > longest)
            longest = n;
    }
    return longest;
}

static float changed_logit(const naive_sampler *p, const vug_sampler_config *s, int32_t id, float l)
{
    const int answer = count_id(p, id, false);
    const float free_length = parameter_of(p, VUG_SAMPLER_DRY_ALLOWED_LENGTH, 2);
    int repeat;
    switch (s->kind) {
    case VUG_SAMPLER_REPETITION:
        return count_id(p, id, true) == 0 ? l : l < 0 ? l * s->value : l / s->value;
    case VUG_SAMPLER_PRESENCE:
        return answer ? l - s->value : l;
    case VUG_SAMPLER_FREQUENCY:
        return l - s->value * (float)answer;
    case VUG_SAMPLER_BIAS:
        return id == s->token ? l + s->value : l;
    case VUG_SAMPLER_DRY:
        repeat = repeat_before(p, id);
        if (s->value == 0 || repeat == 0 || (float)repeat < free_length)
            return l;
        return l -
               (float)((double)s->value * pow((double)parameter_of(p, VUG_SAMPLER_DRY_BASE, 1.75f),
                                              (double)repeat - (double)free_length));
    default:
        return l;
    }
}

/* ---- cuts */

static void decide(naive_sampler *p, double a, double b)
{
    p->close = p->close || fabs(a - b) <= 2e-6 * fmax(fabs(a), fabs(b));
}

static void keep_best(naive_sampler *p, double share)
{
    double held = 0;
    size_t kept = 0;
    do {
        held += p->token[kept++].p;
        decide(p, held, share);
    } while (kept < p->n && held < share);
    p->n = kept;
}

static void keep_typical(naive_sampler *p, double share)
{
    double entropy = 0, held = 0;
    for (size_t i = 0; i < p->n; i++)
        entropy -= p->token[i].p > 0 ? p->token[i].p * log(p->token[i].p) : 0;
    size_t down = 0;
    while (down < p->n && -log(p->token[down].p) < entropy) {
        p->close = p->close || fabs(-log(p->token[down].p) - entropy) < 1e-4;
        down++;
    }
    size_t up = down;
    do {
        const double above = up > 0 ? entropy + log(p->token[up - 1].p) : INFINITY;
        const double below = down < p->n ? -log(p->token[down].p) - entropy : INFINITY;
        /* The mean in F32 decides which side is nearer. */
        p->close = p->close || fabs(above - below) < 1e-4;
        held += above <= below ? p->token[--up].p : p->token[down++].p;
        decide(p, held, share);
    } while (held < share && down - up < p->n);
    memmove(p->token, p->token + up, (down - up) * sizeof(*p->token));
    p->n = down - up;
}

static void keep_near_best(naive_sampler *p, double n)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < p->n; i++)
        mean += ((double)p->token[0].logit - (double)p->token[i].logit) / (double)p->n;
    for (size_t i = 0; i < p->n; i++)
        square += pow((double)p->token[0].logit - (double)p->token[i].logit - mean, 2);
    const double limit = n * sqrt(square / (double)p->n);
    for (size_t i = 0; i < p->n; i++) {
        const double below = (double)p->token[0].logit - (double)p->token[i].logit;
        p->close = p->close || fabs(below - limit) < 1e-3 * (1 + n);
        if (below > limit)
            p->n = i;
    }
}

static void drop_likely(naive_sampler *p, double threshold)
{
    size_t n = 0;
    for (; n < p->n && p->token[n].p >= threshold; n++)
        decide(p, p->token[n].p, threshold);
    decide(p, n < p->n ? p->token[n].p : 0, threshold);
    if (n > 1) {
        memmove(p->token, p->token + n - 1, (p->n - n + 1) * sizeof(*p->token));
        p->n -= n - 1;
    }
}

static void cut(naive_sampler *p, const vug_sampler_config *s)
{
    const vug_noise noise = { p->seed, p->n_history };
    const double value = (double)s->value;
    rank(p);
    if (s->kind == VUG_SAMPLER_TEMPERATURE)
        p->temperature *= value;
    if (s->kind == VUG_SAMPLER_TOP_K && value >= 1 && value < (double)p->n)
        p->n = (size_t)value;
    if (s->kind == VUG_SAMPLER_TOP_P && value < 1)
        keep_best(p, value);
    if (s->kind == VUG_SAMPLER_TYPICAL_P && value < 1)
        keep_typical(p, value);
    if (s->kind == VUG_SAMPLER_TOP_N_SIGMA && value > 0)
        keep_near_best(p, value);
    if (s->kind == VUG_SAMPLER_XTC &&
        (double)vug_noise_bits(&noise, VUG_NOISE_XTC, 0) * 0x1p-64 < value)
        drop_likely(p, (double)parameter_of(p, VUG_SAMPLER_XTC_THRESHOLD, 0.1f));
    if (s->kind == VUG_SAMPLER_MIN_P && value > 0) {
        size_t kept = 0;
        while (kept < p->n && p->token[kept].p >= value * p->token[0].p)
            decide(p, p->token[kept++].p, value * p->token[0].p);
        if (value < 1)
            decide(p, kept < p->n ? p->token[kept].p : 0, value * p->token[0].p);
        p->close = p->close && value < 1;
        p->n = kept;
    }
}

/* ---- the draw */

static double naive_gumbel(const vug_noise *noise, int32_t id)
{
    const uint64_t bits = vug_noise_bits(noise, VUG_NOISE_DRAW, id);
    const double x = ((double)bits + 0.5) * 0x1p-64;
    return -log(bits >> 63 ? -log(((double)~bits + 0.5) * 0x1p-64) : -log1p(-x));
}

/* Infinite logits are equal, and better than all others. */
static void keep_infinite(naive_sampler *p)
{
    size_t n = 0;
    while (n < p->n && p->token[n].logit > 3e38f)
        p->token[n++].logit = 0;
    p->n = n ? n : p->n;
}

static int32_t naive_sample(naive_sampler *p, const float *logits, size_t n_usable)
{
    const vug_noise noise = { p->seed, p->n_history };
    bool greedy = false;
    p->n = 0;
    p->temperature = 1;
    p->close = false;
    for (size_t i = 0; i < n_usable; i++) {
        float l = logits[i];
        for (size_t k = 0; k < p->n_samplers && l >= -3e38f; k++)
            l = changed_logit(p, &p->config[k], (int32_t)i, l);
        if (l > -INFINITY)
            p->token[p->n++] = (naive_token){ .id = (int32_t)i, .logit = l };
    }
    if (p->n == 0)
        return 0;
    rank(p);
    keep_infinite(p);
    for (size_t i = 0; i < p->n_samplers; i++)
        greedy |= p->config[i].kind == VUG_SAMPLER_TEMPERATURE && p->config[i].value == 0;
    for (size_t i = 0; i < p->n_samplers && !greedy; i++)
        cut(p, &p->config[i]);
    double best = -INFINITY;
    int32_t id = p->token[0].id;
    for (size_t i = 0; i < p->n && !greedy; i++) {
        const double score =
                ((double)p->token[i].logit - (double)p->token[0].logit) / p->temperature +
                naive_gumbel(&noise, p->token[i].id);
        if (score > best)
            id = p->token[i].id;
        best = fmax(best, score);
    }
    return id;
}

/* ---- random chains ------------------------------------------------------------------ */

static float value_for(vug_sampler_kind kind, uint64_t *random)
{
    const float f = (float)help_random(random, 1000) / 1000;
    switch (kind) {
    case VUG_SAMPLER_REPETITION:
        return 0.5f + 2 * f;
    case VUG_SAMPLER_PRESENCE:
    case VUG_SAMPLER_FREQUENCY:
        return 4 * f - 2;
    case VUG_SAMPLER_BIAS:
        return help_random(random, 8) ? 10 * f - 5 : -1000;
    case VUG_SAMPLER_TEMPERATURE:
        return help_random(random, 12) ? 0.05f + 2 * f : 0;
    case VUG_SAMPLER_TOP_K:
        return (float)help_random(random, help_random(random, 2) ? 12 : 2000);
    case VUG_SAMPLER_TOP_N_SIGMA:
    case VUG_SAMPLER_DRY:
        return 3 * f;
    case VUG_SAMPLER_REPEAT_LAST_N:
    case VUG_SAMPLER_DRY_LAST_N:
        return (float)help_random(random, 12) - 1;
    case VUG_SAMPLER_DRY_BASE:
        return 1 + 2 * f;
    case VUG_SAMPLER_DRY_ALLOWED_LENGTH:
        return (float)help_random(random, 4);
    case VUG_SAMPLER_XTC_THRESHOLD:
        return help_random(random, 2) ? f : f * f * f * f;
    default:
        return help_random(random, 12) ? f : (float)help_random(random, 2);
    }
}

/* Fine or coarse, so that there are ties; here and there infinities and NaNs. */
static void random_logits(float *logits, size_t n, uint64_t *random)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY, 1000, -1000, 0 };
    const uint64_t style = help_random(random, 4);
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = help_random(random, 1 << 20);
        logits[i] = style ? (float)r / (1 << 17) - 4 : (float)(r % 5) - 2;
        if (style == 2 && r % 16 == 0)
            logits[i] += 6;
        if (style == 3 && help_random(random, 6) == 0)
            logits[i] = odd[r % (sizeof(odd) / sizeof(*odd))];
    }
}

/* Allows some tokens, one of them with a logit that is not NaN. `rest` has NaN for the others. */
static void mask(float *logits, float *rest, uint32_t *allowed, uint64_t n, uint64_t *random)
{
    memset(allowed, 0, MASK_WORDS * sizeof(*allowed));
    const uint64_t one = help_random(random, n), share = 1 + help_random(random, 4);
    logits[one] = logits[one] > -INFINITY ? logits[one] : 0;
    for (uint64_t i = 0; i < n; i++) {
        const bool may = i == one || help_random(random, share) == 0;
        allowed[i / 32] |= (uint32_t)may << (i % 32);
        rest[i] = may ? logits[i] : NAN;
    }
}

/* Adjustments, then the others, in any order. */
static size_t random_chain(vug_sampler_config *config, int64_t v, uint64_t *random)
{
    enum { KINDS = VUG_SAMPLER_COUNT };
    const size_t adjust = help_random(random, 3), n = adjust + help_random(random, 6);
    for (size_t i = 0; i < n; i++) {
        const uint64_t first = i < adjust ? 0 : VUG_SAMPLER_TEMPERATURE;
        const uint64_t last = i < adjust ? VUG_SAMPLER_TEMPERATURE : KINDS;
        config[i].kind = (vug_sampler_kind)(first + help_random(random, last - first));
        config[i].value = value_for(config[i].kind, random);
        config[i].token = (int32_t)help_random(random, (uint64_t)v);
    }
    return n;
}

/* Compares samples with the naive ones where rounding cannot matter; returns the number of those
 * where it can. */
static int compare_chain(int chain, int64_t most, int n_samples, uint64_t *random)
{
    static naive_sampler p;
    static float logits[MOST], rest[MOST];
    static uint32_t allowed[MASK_WORDS];
    vug_sampler_config config[8];
    int close = 0;
    const int64_t v = 1 + (int64_t)help_random(random, (uint64_t)most);
    const int64_t usable =
            help_random(random, 3) ? v : 1 + (int64_t)help_random(random, (uint64_t)v);
    p = (naive_sampler){ .config = config, .seed = (uint64_t)chain, .n_prompt = 5, .n_history = 5 };
    p.n_samplers = random_chain(config, v, random);
    const vug_sampling sampling = { .sampler = config, .n = p.n_samplers, .seed = p.seed };
    vug_sampler s = help_sampler(&sampling, v, usable);
    for (size_t i = 0; i < 5; i++)
        p.history[i] = (int32_t)help_random(random, (uint64_t)(v < 9 ? v : 9));
    help_set_prompt(&s, p.history, 5);
    for (int i = 0; i < n_samples; i++) {
        random_logits(logits, (size_t)v, random);
        const bool masked = help_random(random, 2);
        mask(logits, rest, allowed, (uint64_t)usable, random);
        const int32_t got = help_sample(&s, logits, masked ? allowed : NULL);
        const int32_t expected = naive_sample(&p, masked ? rest : logits, (size_t)usable);
        if (got != expected && !p.close)
            fail_msg("chain %d, sample %d: token %d, expected %d", chain, i, got, expected);
        close += p.close;
        /* Few distinct tokens, so that there are repeats. */
        const int32_t taken = help_random(random, 2) ? got : p.history[p.n_history - 3];
        help_accept(&s, taken);
        p.history[p.n_history++] = taken;
    }
    vug_sampler_release(&s);
    return close;
}

static void test_random_chains_match_the_naive_sampler(void **state)
{
    (void)state;
    enum { SMALL = 1500, LARGE = 150, SAMPLES = 12 };
    uint64_t random = 11;
    int close = 0;
    for (int chain = 0; chain < SMALL; chain++)
        close += compare_chain(chain, 64, SAMPLES, &random);
    for (int chain = 0; chain < LARGE; chain++)
        close += compare_chain(chain, MOST, SAMPLES, &random);
    assert_in_range(close, 0, (SMALL + LARGE) * SAMPLES / 8);
}

/* ---- one cut of many tokens ------------------------------------------------------------ */

/* A bulk, and some likely tokens whose probabilities fall slowly or fast. */
static void peaked_logits(float *logits, size_t n, uint64_t *random)
{
    const float height = (float)help_random(random, 25);
    const float fall = (float)(1 + help_random(random, 100)) / 50;
    const size_t likely = help_random(random, 300);
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (float)help_random(random, 1000) / 500 - 1;
        logits[i] = sum;
    }
    for (size_t i = 0; i < likely; i++)
        logits[help_random(random, n)] = height - fall * (float)i;
}

/* Whether the samplers kept exactly the tokens that the naive ones kept. */
static bool kept_the_same(const vug_candidates *c, const naive_sampler *p, const float *logits,
                          size_t n)
{
    static bool kept[MOST];
    size_t n_kept = 0;
    memset(kept, 0, sizeof(kept));
    for (size_t i = 0; i < (c->is_list ? c->n_list : n); i++) {
        const vug_candidate one =
                c->is_list ? c->list[i] : (vug_candidate){ (int32_t)i, logits[i] };
        kept[one.id] = c->is_list || vug_candidates_has(c, &one);
        n_kept += kept[one.id];
    }
    for (size_t i = 0; i < p->n; i++) {
        if (!kept[p->token[i].id])
            return false;
    }
    return n_kept == p->n;
}

static void test_cuts_of_many_tokens_keep_the_same(void **state)
{
    (void)state;
    enum { CASES = 1200 };
    static naive_sampler p;
    static float logits[MOST];
    uint64_t random = 21;
    int close = 0, lists = 0;
    for (int i = 0; i < CASES; i++) {
        const size_t n = 300 + help_random(&random, MOST - 300);
        vug_sampler_config chain[] = {
            { VUG_SAMPLER_TEMPERATURE, 0.3f + (float)help_random(&random, 100) / 50, 0 },
            { VUG_SAMPLER_XTC, 1, 0 },
            { VUG_SAMPLER_XTC_THRESHOLD, 1.0f / (float)(2 + help_random(&random, 3000)), 0 },
        };
        if (i % 6 > 0) {
            chain[1].kind = (vug_sampler_kind)(VUG_SAMPLER_TOP_N_SIGMA + i % 6 - 1);
            chain[1].value = value_for(chain[1].kind, &random);
        }
        const vug_sampling sampling = { .sampler = chain, .n = 3, .seed = (uint64_t)i };
        vug_sampler s = help_sampler(&sampling, (int64_t)n, (int64_t)n);
        peaked_logits(logits, n, &random);
        p = (naive_sampler){ .config = chain, .n_samplers = 3, .seed = (uint64_t)i };
        (void)naive_sample(&p, logits, n);
        (void)help_sample(&s, logits, NULL);
        lists += s.candidates.is_list;
        if (!p.close && !kept_the_same(&s.candidates, &p, logits, n))
            fail_msg("case %d: %s %g does not keep the %zu tokens that it should", i,
                     vug_sampler_name(chain[1].kind), (double)chain[1].value, p.n);
        close += p.close;
        vug_sampler_release(&s);
    }
    assert_in_range(close, 0, CASES / 8);
    assert_in_range(lists, CASES / 8, CASES - CASES / 8); /* both ways are tried */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_chains_match_the_naive_sampler),
        cmocka_unit_test(test_cuts_of_many_tokens_keep_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
