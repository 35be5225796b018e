/*
 * The sampler against a naive one that sorts, adds up and cuts in double precision.
 */
#include "test.h"

#include <math.h>

#include "engine/sampler.h"
#include "engine_help.h"

static vug_sampler make(const vug_sampler_config *config, size_t n, uint64_t seed, int64_t n_vocab,
                        int64_t n_usable)
{
    vug_sampler s;
    vug_err err = { 0 };
    const vug_sampling sampling = { .sampler = config, .n = n, .seed = seed };
    help_ok(vug_sampler_init(&s, &sampling, n_vocab, n_usable, &err), &err);
    return s;
}

static int32_t draw_once(const vug_sampler_config *config, size_t n, const float *logits, int64_t v)
{
    vug_sampler s = make(config, n, 0, v, v);
    const int32_t id = vug_sampler_sample(&s, logits, NULL);
    vug_sampler_release(&s);
    return id;
}

/* ---- the obvious sampler --------------------------------------------------------- */

enum { MOST = 64 };

typedef struct {
    const vug_sampler_config *config;
    size_t n_samplers;
    uint64_t random;
    int in_prompt[MOST], in_answer[MOST];
    /* The candidates, in the order in which the random draw visits them. */
    int32_t id[MOST];
    float logit[MOST];
    size_t n;
} naive_sampler;

static double p_of(const naive_sampler *p, size_t i)
{
    double best = -INFINITY, sum = 0;
    for (size_t j = 0; j < p->n; j++)
        best = fmax(best, (double)p->logit[j]);
    for (size_t j = 0; j < p->n; j++)
        sum += (double)p->logit[j] == best ? 1 : exp((double)p->logit[j] - best);
    return ((double)p->logit[i] == best ? 1 : exp((double)p->logit[i] - best)) / sum;
}

/* Best first, the lower id first among equals. */
static void sort(naive_sampler *p)
{
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = i + 1; j < p->n; j++) {
            if (p->logit[j] < p->logit[i] || (p->logit[j] == p->logit[i] && p->id[j] > p->id[i]))
                continue;
            const int32_t id = p->id[i];
            const float logit = p->logit[i];
            p->id[i] = p->id[j];
            p->logit[i] = p->logit[j];
            p->id[j] = id;
            p->logit[j] = logit;
        }
    }
}

static void change(naive_sampler *p, const vug_sampler_config *s)
{
    for (size_t i = 0; i < p->n; i++) {
        const int answer = p->in_answer[p->id[i]];
        float *l = &p->logit[i];
        if (s->kind == VUG_SAMPLER_REPETITION && (answer || p->in_prompt[p->id[i]]))
            *l = *l < 0 ? *l * s->value : *l / s->value;
        if (s->kind == VUG_SAMPLER_PRESENCE && answer)
            *l -= s->value;
        if (s->kind == VUG_SAMPLER_FREQUENCY && answer)
            *l -= s->value * (float)answer;
        if (s->kind == VUG_SAMPLER_BIAS && p->id[i] == s->token)
            *l += s->value;
        if (s->kind == VUG_SAMPLER_TEMPERATURE)
            *l /= s->value;
    }
}

static void cut(naive_sampler *p, const vug_sampler_config *s)
{
    size_t keep = 0;
    if (s->kind == VUG_SAMPLER_TOP_K && s->value >= 1 && s->value < (float)p->n) {
        sort(p);
        p->n = (size_t)s->value;
    }
    if (s->kind == VUG_SAMPLER_TOP_P && s->value < 1) {
        sort(p);
        double held = 0;
        while (keep < p->n && (keep == 0 || held < (double)s->value))
            held += p_of(p, keep++);
        p->n = keep;
    }
    if (s->kind == VUG_SAMPLER_MIN_P && s->value > 0) {
        bool good[MOST];
        double best = 0;
        for (size_t i = 0; i < p->n; i++)
            best = fmax(best, p_of(p, i));
        for (size_t i = 0; i < p->n; i++)
            good[i] = p_of(p, i) >= best * (double)s->value;
        for (size_t i = 0; i < p->n; i++) {
            p->id[keep] = p->id[i];
            p->logit[keep] = p->logit[i];
            keep += good[i];
        }
        p->n = keep;
    }
}

static int32_t plain_draw(naive_sampler *p, const float *logits, size_t n_usable)
{
    bool greedy = false;
    p->n = 0;
    for (size_t i = 0; i < n_usable; i++) {
        if (isnan(logits[i]))
            continue;
        p->id[p->n] = (int32_t)i;
        p->logit[p->n++] = logits[i];
    }
    if (p->n == 0)
        p->id[p->n++] = 0;
    for (size_t i = 0; i < p->n_samplers; i++)
        greedy |= p->config[i].kind == VUG_SAMPLER_TEMPERATURE && p->config[i].value == 0;
    for (size_t i = 0; i < p->n_samplers; i++) {
        const bool shapes = p->config[i].kind >= VUG_SAMPLER_TEMPERATURE;
        if (greedy && shapes)
            continue;
        change(p, &p->config[i]);
        cut(p, &p->config[i]);
    }
    size_t at = 0;
    if (greedy) {
        sort(p);
    } else {
        /* The first token whose cumulative probability passes u. */
        const double u = (double)(help_bits(&p->random) >> 11) * 0x1p-53;
        double cumulative = 0;
        for (size_t i = 0; i < p->n; i++) {
            if (p_of(p, i) > 0)
                at = i;
            if ((cumulative += p_of(p, i)) > u)
                break;
        }
    }
    p->in_answer[p->id[at]]++;
    return p->id[at];
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
        return (float)help_random(random, 12);
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
        if (style == 3 && help_random(random, 6) == 0)
            logits[i] = odd[r % (sizeof(odd) / sizeof(*odd))];
    }
}

/* Allows some tokens, one of them with a logit that is not NaN. `rest` has NaN for the others. */
static void mask(float *logits, float *rest, uint32_t *allowed, uint64_t n, uint64_t *random)
{
    memset(allowed, 0, MOST / 8);
    const uint64_t one = help_random(random, n), share = 1 + help_random(random, 4);
    logits[one] = isnan(logits[one]) ? 0 : logits[one];
    for (uint64_t i = 0; i < n; i++) {
        const bool may = i == one || help_random(random, share) == 0;
        allowed[i / 32] |= (uint32_t)may << (i % 32);
        rest[i] = may ? logits[i] : NAN;
    }
}

static void test_random_chains_match_the_naive_sampler(void **state)
{
    (void)state;
    enum { SAMPLERS = 6, CHAINS = 600, DRAWS = 12 };
    uint64_t random = 11;
    for (int chain = 0; chain < CHAINS; chain++) {
        vug_sampler_config config[SAMPLERS];
        const int64_t v = 1 + (int64_t)help_random(&random, MOST);
        const int64_t usable =
                help_random(&random, 3) ? v : 1 + (int64_t)help_random(&random, (uint64_t)v);
        const size_t n = help_random(&random, SAMPLERS + 1);
        for (size_t i = 0; i < n; i++) {
            config[i].kind = (vug_sampler_kind)help_random(&random, VUG_SAMPLER_COUNT);
            config[i].value = value_for(config[i].kind, &random);
            config[i].token = (int32_t)help_random(&random, (uint64_t)v);
        }
        naive_sampler p = { .config = config, .n_samplers = n, .random = (uint64_t)chain };
        vug_sampler s = make(config, n, (uint64_t)chain, v, usable);
        int32_t prompt[5];
        for (size_t i = 0; i < 5; i++) {
            prompt[i] = (int32_t)help_random(&random, (uint64_t)v);
            p.in_prompt[prompt[i]]++;
        }
        vug_sampler_accept_prompt(&s, prompt, 5);
        for (int i = 0; i < DRAWS; i++) {
            float logits[MOST];
            random_logits(logits, (size_t)v, &random);
            float rest[MOST];
            uint32_t allowed[MOST / 32];
            const bool masked = help_random(&random, 2);
            mask(logits, rest, allowed, (uint64_t)usable, &random);
            const int32_t got = vug_sampler_sample(&s, logits, masked ? allowed : NULL);
            const int32_t expected = plain_draw(&p, masked ? rest : logits, (size_t)usable);
            if (got != expected)
                fail_msg("chain %d, draw %d: token %d, expected %d", chain, i, got, expected);
        }
        vug_sampler_release(&s);
    }
}

/* ---- one at a time ------------------------------------------------------------------- */

#define CHAIN(...)               \
    (const vug_sampler_config[]) \
    {                            \
        __VA_ARGS__              \
    }

static const vug_sampler_config greedy = { VUG_SAMPLER_TEMPERATURE, 0, 0 };

static void test_greedy_takes_the_best_and_lowest_id(void **state)
{
    (void)state;
    const float logits[] = { -1, 3, 2, 3, NAN, -INFINITY };
    assert_int_equal(draw_once(&greedy, 1, logits, 6), 1);
    const float infinite[] = { 1, INFINITY, INFINITY, 3 };
    assert_int_equal(draw_once(&greedy, 1, infinite, 4), 1);
    const float nothing[] = { NAN, NAN, NAN };
    assert_int_equal(draw_once(&greedy, 1, nothing, 3), 0);
    vug_sampler s = make(&greedy, 1, 0, 3, 3);
    assert_int_equal(vug_sampler_sample(&s, nothing, (const uint32_t[]){ 4 }), 2);
    vug_sampler_release(&s);
    const float hopeless[] = { NAN, -INFINITY, -INFINITY };
    assert_int_equal(draw_once(&greedy, 1, hopeless, 3), 1);
    /* Wherever the temperature is in the chain, and whatever cuts there are. */
    const vug_sampler_config chain[] = {
        { VUG_SAMPLER_TOP_K, 1, 0 }, { VUG_SAMPLER_BIAS, -2, 1 }, greedy, { VUG_SAMPLER_BIAS, 2, 2 }
    };
    assert_int_equal(draw_once(chain, 4, logits, 6), 2);
    assert_int_equal(draw_once(chain, 2, logits, 6), 1); /* not greedy: top-k was first */
}

/* Padding rows of the embedding have logits, but no token. */
static void test_padding_ids_are_never_sampled(void **state)
{
    (void)state;
    const float logits[] = { 1, 2, 0, 50, 60 };
    vug_sampler s = make(&greedy, 1, 0, 5, 3);
    assert_int_equal(vug_sampler_sample(&s, logits, NULL), 1);
    vug_sampler_release(&s);
    s = make(NULL, 0, 0, 5, 3);
    for (int i = 0; i < 200; i++)
        assert_in_range(vug_sampler_sample(&s, logits, NULL), 0, 2);
    vug_sampler_release(&s);
}

static void test_penalties_count_prompt_and_answer(void **state)
{
    (void)state;
    const float logits[] = { 1.0f, 0.9f, -0.5f };
    const int32_t prompt[] = { 0, 0, 0 };
    static const struct {
        vug_sampler_config config;
        int32_t first, second, third; /* draws */
    } rows[] = {
        /* Repetition counts both: 1.0 / 2 < 0.9, then 0.9 / 2 < 1.0 / 2. */
        { { VUG_SAMPLER_REPETITION, 2, 0 }, 1, 0, 0 },
        /* The others count the answer only, presence once, frequency each time. */
        { { VUG_SAMPLER_PRESENCE, 0.2f, 0 }, 0, 1, 0 },
        { { VUG_SAMPLER_FREQUENCY, 0.2f, 0 }, 0, 1, 0 },
        { { VUG_SAMPLER_PRESENCE, 2, 0 }, 0, 1, 2 },
        { { VUG_SAMPLER_FREQUENCY, 2, 0 }, 0, 1, 2 },
        { { VUG_SAMPLER_FREQUENCY, -1, 0 }, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        vug_sampler s = make(CHAIN(rows[i].config, greedy), 2, 0, 3, 3);
        vug_sampler_accept_prompt(&s, prompt, 3);
        assert_int_equal(vug_sampler_sample(&s, logits, NULL), rows[i].first);
        assert_int_equal(vug_sampler_sample(&s, logits, NULL), rows[i].second);
        assert_int_equal(vug_sampler_sample(&s, logits, NULL), rows[i].third);
        vug_sampler_release(&s);
    }
    /* The token occurred six times: presence subtracts 1, frequency 6. */
    const float two[] = { 5, 1 };
    for (int frequency = 0; frequency < 2; frequency++) {
        const vug_sampler_kind kind = frequency ? VUG_SAMPLER_FREQUENCY : VUG_SAMPLER_PRESENCE;
        vug_sampler s = make(CHAIN({ kind, 1, 0 }, greedy), 2, 0, 2, 2);
        int zeros = 0;
        for (int i = 0; i < 6; i++)
            zeros += vug_sampler_sample(&s, two, NULL) == 0;
        assert_int_equal(zeros, frequency ? 5 : 6);
        vug_sampler_release(&s);
    }
    /* A penalty also lowers negative logits. */
    const float low[] = { -1, -1.5f };
    const int32_t zero = 0;
    vug_sampler s = make(CHAIN({ VUG_SAMPLER_REPETITION, 2, 0 }, greedy), 2, 0, 2, 2);
    vug_sampler_accept_prompt(&s, &zero, 1);
    assert_int_equal(vug_sampler_sample(&s, low, NULL), 1);
    vug_sampler_release(&s);
}

static void test_bias_changes_one_token(void **state)
{
    (void)state;
    const float logits[] = { 1, 2, NAN, 3, 0 };
    assert_int_equal(draw_once(CHAIN({ VUG_SAMPLER_BIAS, 5, 4 }, greedy), 2, logits, 5), 4);
    assert_int_equal(draw_once(CHAIN({ VUG_SAMPLER_BIAS, 5, 0 }, greedy), 2, logits, 5), 0);
    assert_int_equal(draw_once(CHAIN({ VUG_SAMPLER_BIAS, -5, 3 }, greedy), 2, logits, 5), 1);
    assert_int_equal(draw_once(CHAIN({ VUG_SAMPLER_BIAS, 1000, 2 }, greedy), 2, logits, 5), 3);
    /* Also after a cut has changed the order or dropped the token. */
    for (int32_t token = 0; token < 5; token++) {
        const vug_sampler_config chain[] = { { VUG_SAMPLER_TOP_K, 2, 0 },
                                             { VUG_SAMPLER_BIAS, 900, token },
                                             { VUG_SAMPLER_TOP_K, 1, 0 } };
        assert_int_equal(draw_once(chain, 3, logits, 5), token == 1 ? 1 : 3);
    }
}

/* The tokens that occur in many samples, as a set of bits. */
static unsigned reach(const vug_sampler_config *config, size_t n, const float *logits, int64_t v)
{
    vug_sampler s = make(config, n, 5, v, v);
    unsigned seen = 0;
    for (int i = 0; i < 2000; i++)
        seen |= 1u << vug_sampler_sample(&s, logits, NULL);
    vug_sampler_release(&s);
    return seen;
}

static void test_cuts_have_exact_limits(void **state)
{
    (void)state;
    /* Probabilities 0.4, 0.3, 0.2, 0.1 of tokens 2, 0, 3, 1. */
    const float logits[] = { logf(3), logf(1), logf(4), logf(2) };
    static const struct {
        vug_sampler_kind kind;
        float value;
        unsigned reached;
    } rows[] = {
        { VUG_SAMPLER_TOP_K, 0, 15 },      { VUG_SAMPLER_TOP_K, 1, 4 },
        { VUG_SAMPLER_TOP_K, 2, 5 },       { VUG_SAMPLER_TOP_K, 3, 13 },
        { VUG_SAMPLER_TOP_K, 4, 15 },      { VUG_SAMPLER_TOP_K, 1e9f, 15 },
        { VUG_SAMPLER_TOP_P, 0, 4 },       { VUG_SAMPLER_TOP_P, 0.399f, 4 },
        { VUG_SAMPLER_TOP_P, 0.401f, 5 },  { VUG_SAMPLER_TOP_P, 0.699f, 5 },
        { VUG_SAMPLER_TOP_P, 0.701f, 13 }, { VUG_SAMPLER_TOP_P, 0.901f, 15 },
        { VUG_SAMPLER_TOP_P, 1, 15 },      { VUG_SAMPLER_MIN_P, 0, 15 },
        { VUG_SAMPLER_MIN_P, 0.249f, 15 }, { VUG_SAMPLER_MIN_P, 0.251f, 13 },
        { VUG_SAMPLER_MIN_P, 0.499f, 13 }, { VUG_SAMPLER_MIN_P, 0.501f, 5 },
        { VUG_SAMPLER_MIN_P, 0.749f, 5 },  { VUG_SAMPLER_MIN_P, 0.751f, 4 },
        { VUG_SAMPLER_MIN_P, 1, 4 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const vug_sampler_config config = { rows[i].kind, rows[i].value, 0 };
        const unsigned reached = reach(&config, 1, logits, 4);
        if (reached != rows[i].reached)
            fail_msg("%s %g reaches %x, expected %x", vug_sampler_name(rows[i].kind),
                     (double)rows[i].value, reached, rows[i].reached);
    }
    /* The lower ids of equal logits are kept; min-p keeps all of them. */
    const float equal[] = { 1, 7, 7, 7 };
    assert_int_equal(reach(CHAIN({ VUG_SAMPLER_TOP_K, 2, 0 }), 1, equal, 4), 6);
    assert_int_equal(reach(CHAIN({ VUG_SAMPLER_TOP_P, 0.5f, 0 }), 1, equal, 4), 6);
    assert_int_equal(reach(CHAIN({ VUG_SAMPLER_MIN_P, 1, 0 }), 1, equal, 4), 14);
    /* Logits with an infinite exponential are still compared. */
    const float huge[] = { 2000, 2000.5f, 1990, 10 };
    assert_int_equal(reach(CHAIN({ VUG_SAMPLER_TOP_K, 2, 0 }), 1, huge, 4), 3);
    assert_int_equal(reach(CHAIN({ VUG_SAMPLER_TOP_P, 0.9f, 0 }), 1, huge, 4), 3);
}

/* Tokens without probability are not sampled; infinities share it. */
static void test_infinite_logits_are_handled(void **state)
{
    (void)state;
    const float banned[] = { -INFINITY, 0, -INFINITY, 0, -INFINITY };
    assert_int_equal(reach(NULL, 0, banned, 5), 10);
    const float sure[] = { 3, INFINITY, 0, INFINITY };
    assert_int_equal(reach(NULL, 0, sure, 4), 10);
    assert_int_equal(reach(CHAIN({ VUG_SAMPLER_TOP_P, 0.9f, 0 }), 1, sure, 4), 10);
    assert_int_equal(reach(CHAIN({ VUG_SAMPLER_MIN_P, 0.5f, 0 }), 1, sure, 4), 10);
    const float hopeless[] = { -INFINITY, NAN, -INFINITY };
    assert_int_equal(reach(NULL, 0, hopeless, 3), 5);
}

/* temperature 0.5 then top-p is not top-p then temperature 0.5. */
static void test_samplers_act_in_the_order_given(void **state)
{
    (void)state;
    const float logits[] = { logf(5), logf(3), logf(2) };
    const vug_sampler_config cold = { VUG_SAMPLER_TEMPERATURE, 0.5f, 0 };
    const vug_sampler_config cut_06 = { VUG_SAMPLER_TOP_P, 0.6f, 0 };
    assert_int_equal(reach(CHAIN(cold, cut_06), 2, logits, 3), 1);
    assert_int_equal(reach(CHAIN(cut_06, cold), 2, logits, 3), 3);
}

/* Division by a very low temperature must not make several logits infinite. */
static void test_temperature_near_0_takes_the_best(void **state)
{
    (void)state;
    static const float rows[][3] = { { 1, 20, 19.5f }, { -30, -2, -3 }, { -1, 0, -1 } };
    static const float lowest[] = { 1e-20f, 1e-37f, 1e-38f, 1e-45f };
    for (size_t i = 0; i < 12; i++) {
        const vug_sampler_config config = { VUG_SAMPLER_TEMPERATURE, lowest[i % 4], 0 };
        assert_int_equal(reach(&config, 1, rows[i / 4], 3), 2);
    }
    const float equals[] = { 20, 20, 19.5f };
    const vug_sampler_config config = { VUG_SAMPLER_TEMPERATURE, 1e-38f, 0 };
    assert_int_equal(reach(&config, 1, equals, 3), 3);
}

/* ---- draws --------------------------------------------------------------------------- */

static void test_seed_decides_the_samples(void **state)
{
    (void)state;
    enum { N = 100 };
    float logits[32];
    uint64_t random = 1;
    int equal = 0;
    for (size_t i = 0; i < 32; i++)
        logits[i] = (float)help_random(&random, 100) / 100;
    vug_sampler a = make(NULL, 0, 42, 32, 32), b = make(NULL, 0, 42, 32, 32);
    vug_sampler c = make(NULL, 0, 43, 32, 32);
    for (int i = 0; i < N; i++) {
        const int32_t drawn = vug_sampler_sample(&a, logits, NULL);
        assert_int_equal(vug_sampler_sample(&b, logits, NULL), drawn);
        equal += vug_sampler_sample(&c, logits, NULL) == drawn;
    }
    assert_in_range(equal, 0, N / 4);
    vug_sampler_release(&a);
    vug_sampler_release(&b);
    vug_sampler_release(&c);
}

/* Pearson's chi-square of samples against the probabilities, with 7 degrees of
 * freedom: above 24.3 for one seed in a thousand. */
static void test_samples_have_the_right_distribution(void **state)
{
    (void)state;
    enum { V = 8, N = 40000 };
    static const float temperatures[] = { 0.5f, 1, 1.7f };
    const float logits[V] = { 0, -1, 0.5f, 1, -2, 0.25f, 0, -0.5f };
    for (size_t t = 0; t < 3; t++) {
        int count[V] = { 0 };
        double sum = 0, chi2 = 0;
        const vug_sampler_config config = { VUG_SAMPLER_TEMPERATURE, temperatures[t], 0 };
        vug_sampler s = make(&config, 1, 2024 + t, V, V);
        for (int i = 0; i < N; i++)
            count[vug_sampler_sample(&s, logits, NULL)]++;
        vug_sampler_release(&s);
        for (int i = 0; i < V; i++)
            sum += exp((double)logits[i] / (double)temperatures[t]);
        for (int i = 0; i < V; i++) {
            const double expected = N * exp((double)logits[i] / (double)temperatures[t]) / sum;
            chi2 += (count[i] - expected) * (count[i] - expected) / expected;
        }
        assert_true(chi2 < 24.3);
        assert_true(chi2 > 0.5); /* and not too good to be random */
    }
}

/* ---- refusals -------------------------------------------------------------------------- */

static void test_bad_chains_are_refused(void **state)
{
    (void)state;
    static const struct {
        vug_sampler_config config;
        const char *message;
    } rows[] = {
        { { VUG_SAMPLER_REPETITION, 0, 0 }, "sampler: repetition is 0, expected 0.01 to 100" },
        { { VUG_SAMPLER_PRESENCE, 101, 0 }, "sampler: presence is 101, expected -100 to 100" },
        { { VUG_SAMPLER_FREQUENCY, -101, 0 }, "sampler: frequency is -101, expected -100 to 100" },
        { { VUG_SAMPLER_TEMPERATURE, -1, 0 }, "sampler: temperature is -1, expected 0 to 100" },
        { { VUG_SAMPLER_TEMPERATURE, NAN, 0 }, "sampler: temperature is nan, expected 0 to 100" },
        { { VUG_SAMPLER_TEMPERATURE, INFINITY, 0 },
          "sampler: temperature is inf, expected 0 to 100" },
        { { VUG_SAMPLER_TOP_K, -1, 0 }, "sampler: top-k is -1, expected 0 to 1e+09" },
        { { VUG_SAMPLER_TOP_P, 1.5f, 0 }, "sampler: top-p is 1.5, expected 0 to 1" },
        { { VUG_SAMPLER_MIN_P, -0.5f, 0 }, "sampler: min-p is -0.5, expected 0 to 1" },
        { { VUG_SAMPLER_BIAS, 1, 9 }, "sampler: bias for token 9, ids are 0 to 8" },
        { { VUG_SAMPLER_BIAS, 1, -1 }, "sampler: bias for token -1, ids are 0 to 8" },
        { { VUG_SAMPLER_COUNT, 1, 0 }, "there is no sampler of kind 8" },
    };
    vug_sampler s = { 0 };
    vug_err err = { 0 };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const vug_sampling chain = { .sampler = &rows[i].config, .n = 1 };
        help_refused(vug_sampler_init(&s, &chain, 9, 9, &err), &err, VUG_ARGUMENT, NULL,
                     rows[i].message);
        assert_null(s.candidate);
    }
    const vug_sampling long_chain = { .sampler = &rows[0].config, .n = VUG_MAX_SAMPLERS + 1 };
    help_refused(vug_sampler_init(&s, &long_chain, 9, 9, &err), &err, VUG_LIMIT, NULL,
                 "a chain of 1025 samplers, at most 1024");
}

/* ---- log-probabilities ------------------------------------------------------------------ */

static void test_logprobs_are_exact(void **state)
{
    (void)state;
    enum { V = 5000, TOP = VUG_MAX_TOP_LOGPROBS };
    static float logits[V];
    uint64_t random = 3;
    for (int round = 0; round < 20; round++) {
        const float scale = (float)(1 + round * round);
        double best = -INFINITY, sum = 0;
        for (int i = 0; i < V; i++) {
            logits[i] = ((float)help_random(&random, 1 << 20) / (1 << 19) - 1) * scale;
            best = fmax(best, (double)logits[i]);
        }
        for (int i = 0; i < V; i++)
            sum += exp((double)logits[i] - best);
        vug_logprob top[TOP];
        const int32_t token = (int32_t)help_random(&random, V);
        const float chosen = vug_compute_logprobs(logits, V, token, top, TOP);
        const double expected = (double)logits[token] - best - log(sum);
        assert_true(fabs((double)chosen - expected) <= 1e-6 * fmax(1, fabs(expected)));
        for (int k = 0; k < TOP; k++) {
            /* Exactly k tokens are better, or as good and of a lower id. */
            int better = 0;
            const float own = logits[top[k].token];
            for (int i = 0; i < V; i++)
                better += logits[i] > own || (logits[i] == own && i < top[k].token);
            assert_int_equal(better, k);
            assert_true(fabs((double)top[k].logprob - ((double)own - best - log(sum))) <=
                        1e-6 * fmax(1, fabs((double)top[k].logprob)));
        }
    }
    assert_true(vug_compute_logprobs(logits, V, 3, NULL, 0) < 0);
}

static void test_logprobs_handle_nan(void **state)
{
    (void)state;
    vug_logprob top[3];
    const float sure[] = { 1, INFINITY, NAN, INFINITY };
    assert_float_equal(vug_compute_logprobs(sure, 4, 3, top, 3), logf(0.5f), 1e-6);
    assert_int_equal(top[0].token, 1);
    assert_int_equal(top[1].token, 3);
    assert_int_equal(top[2].token, 0);
    assert_true(isinf(top[2].logprob) && top[2].logprob < 0);
    const float holes[] = { NAN, 2, NAN, 2 };
    assert_float_equal(vug_compute_logprobs(holes, 4, 1, top, 2), logf(0.5f), 1e-6);
    assert_int_equal(top[0].token, 1);
    assert_int_equal(top[1].token, 3);
    assert_true(isinf(vug_compute_logprobs(holes, 4, 0, top, 2)));
}

static void test_settings_override_the_defaults(void **state)
{
    (void)state;
    const vug_sampling_defaults defaults = {
        .sampler = { { VUG_SAMPLER_REPETITION, 1.5f, 0 },
                     { VUG_SAMPLER_TEMPERATURE, 0.5f, 0 },
                     { VUG_SAMPLER_TOP_K, 64, 0 } },
        .n = 3,
    };
    static const vug_sampler_config settings[] = {
        { VUG_SAMPLER_TOP_K, 10, 0 }, { VUG_SAMPLER_BIAS, 1, 7 },     { VUG_SAMPLER_TOP_K, 20, 0 },
        { VUG_SAMPLER_BIAS, 2, 3 },   { VUG_SAMPLER_MIN_P, 0.1f, 0 },
    };
    static const vug_sampler_config want[] = {
        { VUG_SAMPLER_REPETITION, 1.5f, 0 }, { VUG_SAMPLER_BIAS, 1, 7 },
        { VUG_SAMPLER_BIAS, 2, 3 },          { VUG_SAMPLER_TEMPERATURE, 0.5f, 0 },
        { VUG_SAMPLER_TOP_K, 20, 0 },        { VUG_SAMPLER_MIN_P, 0.1f, 0 },
    };
    vug_sampler_config chain[5 + VUG_SAMPLER_COUNT];
    assert_int_equal(vug_sampling_merge(&defaults, settings, 5, chain), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(chain[i].kind, want[i].kind);
        assert_int_equal(chain[i].token, want[i].token);
        assert_true(chain[i].value == want[i].value);
    }
    /* The chain is never empty. */
    assert_int_equal(vug_sampling_merge(&(vug_sampling_defaults){ 0 }, NULL, 0, chain), 1);
    assert_true(chain[0].kind == VUG_SAMPLER_TEMPERATURE && chain[0].value == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_chains_match_the_naive_sampler),
        cmocka_unit_test(test_greedy_takes_the_best_and_lowest_id),
        cmocka_unit_test(test_padding_ids_are_never_sampled),
        cmocka_unit_test(test_penalties_count_prompt_and_answer),
        cmocka_unit_test(test_bias_changes_one_token),
        cmocka_unit_test(test_cuts_have_exact_limits),
        cmocka_unit_test(test_infinite_logits_are_handled),
        cmocka_unit_test(test_samplers_act_in_the_order_given),
        cmocka_unit_test(test_temperature_near_0_takes_the_best),
        cmocka_unit_test(test_seed_decides_the_samples),
        cmocka_unit_test(test_samples_have_the_right_distribution),
        cmocka_unit_test(test_bad_chains_are_refused),
        cmocka_unit_test(test_settings_override_the_defaults),
        cmocka_unit_test(test_logprobs_are_exact),
        cmocka_unit_test(test_logprobs_handle_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
