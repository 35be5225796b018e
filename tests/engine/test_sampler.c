/* Each sampler at its limits, the list of settings, and the refusals. */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "sampler_help.h"

/* A sampler with settings of its own. */
typedef struct {
    vug_sampling sampling;
    vug_sampler s;
} test_sampler;

static test_sampler *make(const vug_sampler_config *config, size_t n, uint64_t seed,
                          int64_t n_vocab, int64_t n_usable)
{
    test_sampler *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    t->sampling = (vug_sampling){ .sampler = config, .n = n, .seed = seed };
    t->s = help_sampler(&t->sampling, n_vocab, n_usable);
    return t;
}

static void done(test_sampler *t)
{
    vug_sampler_release(&t->s);
    free(t);
}

static int32_t draw_once(const vug_sampler_config *config, size_t n, const float *logits, int64_t v)
{
    test_sampler *s = make(config, n, 0, v, v);
    const int32_t id = help_sample(&s->s, logits, NULL);
    done(s);
    return id;
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
    test_sampler *s = make(&greedy, 1, 0, 3, 3);
    assert_int_equal(help_sample(&s->s, nothing, (const uint32_t[]){ 4 }), 2);
    done(s);
    const float hopeless[] = { NAN, -INFINITY, -INFINITY };
    assert_int_equal(draw_once(&greedy, 1, hopeless, 3), 0);
    /* Wherever the temperature is in the chain, and whatever cuts there are. */
    const vug_sampler_config chain[] = {
        { VUG_SAMPLER_BIAS, -2, 1 }, { VUG_SAMPLER_BIAS, 2, 2 }, { VUG_SAMPLER_TOP_P, 0, 0 }, greedy
    };
    assert_int_equal(draw_once(chain, 4, logits, 6), 2);
}

/* Padding rows of the embedding have logits, but no token. */
static void test_padding_ids_are_never_sampled(void **state)
{
    (void)state;
    const float logits[] = { 1, 2, 0, 50, 60 };
    test_sampler *s = make(&greedy, 1, 0, 5, 3);
    assert_int_equal(help_next(&s->s, logits, NULL), 1);
    done(s);
    s = make(NULL, 0, 0, 5, 3);
    for (int i = 0; i < 200; i++)
        assert_in_range(help_next(&s->s, logits, NULL), 0, 2);
    done(s);
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
        test_sampler *s = make(CHAIN(rows[i].config, greedy), 2, 0, 3, 3);
        help_set_prompt(&s->s, prompt, 3);
        assert_int_equal(help_next(&s->s, logits, NULL), rows[i].first);
        assert_int_equal(help_next(&s->s, logits, NULL), rows[i].second);
        assert_int_equal(help_next(&s->s, logits, NULL), rows[i].third);
        done(s);
    }
    /* The token occurred six times: presence subtracts 1, frequency 6. */
    const float two[] = { 5, 1 };
    for (int frequency = 0; frequency < 2; frequency++) {
        const vug_sampler_kind kind = frequency ? VUG_SAMPLER_FREQUENCY : VUG_SAMPLER_PRESENCE;
        test_sampler *s = make(CHAIN({ kind, 1, 0 }, greedy), 2, 0, 2, 2);
        int zeros = 0;
        for (int i = 0; i < 6; i++)
            zeros += help_next(&s->s, two, NULL) == 0;
        assert_int_equal(zeros, frequency ? 5 : 6);
        done(s);
    }
    /* A penalty also lowers negative logits. */
    const float low[] = { -1, -1.5f };
    const int32_t zero = 0;
    test_sampler *s = make(CHAIN({ VUG_SAMPLER_REPETITION, 2, 0 }, greedy), 2, 0, 2, 2);
    help_set_prompt(&s->s, &zero, 1);
    assert_int_equal(help_next(&s->s, low, NULL), 1);
    done(s);
}

static void test_bias_changes_one_token(void **state)
{
    (void)state;
    const float logits[] = { 1, 2, NAN, 3, 0 };
    assert_int_equal(draw_once(CHAIN({ VUG_SAMPLER_BIAS, 5, 4 }, greedy), 2, logits, 5), 4);
    assert_int_equal(draw_once(CHAIN({ VUG_SAMPLER_BIAS, 5, 0 }, greedy), 2, logits, 5), 0);
    assert_int_equal(draw_once(CHAIN({ VUG_SAMPLER_BIAS, -5, 3 }, greedy), 2, logits, 5), 1);
    assert_int_equal(draw_once(CHAIN({ VUG_SAMPLER_BIAS, 1000, 2 }, greedy), 2, logits, 5), 3);
}

/* The tokens that occur in many samples, as a set of bits. */
static unsigned reach(const vug_sampler_config *config, size_t n, const float *logits, int64_t v)
{
    test_sampler *s = make(config, n, 5, v, v);
    unsigned seen = 0;
    for (int i = 0; i < 2000; i++)
        seen |= 1u << help_next(&s->s, logits, NULL);
    done(s);
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
    assert_int_equal(reach(NULL, 0, hopeless, 3), 1);
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
    test_sampler *a = make(NULL, 0, 42, 32, 32), *b = make(NULL, 0, 42, 32, 32);
    test_sampler *c = make(NULL, 0, 43, 32, 32);
    for (int i = 0; i < N; i++) {
        const int32_t drawn = help_next(&a->s, logits, NULL);
        assert_int_equal(help_next(&b->s, logits, NULL), drawn);
        equal += help_next(&c->s, logits, NULL) == drawn;
    }
    assert_in_range(equal, 0, N / 4);
    done(a);
    done(b);
    done(c);
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
        test_sampler *s = make(&config, 1, 2024 + t, V, V);
        for (int i = 0; i < N; i++)
            count[help_next(&s->s, logits, NULL)]++;
        done(s);
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
        { { VUG_SAMPLER_XTC_THRESHOLD, 2, 0 }, "sampler: xtc-threshold is 2, expected 0 to 1" },
        { { VUG_SAMPLER_DRY_BASE, 0.5f, 0 }, "sampler: dry-base is 0.5, expected 1 to 100" },
        { { VUG_SAMPLER_REPEAT_LAST_N, -2, 0 },
          "sampler: repeat-last-n is -2, expected -1 to 1e+09" },
        { { VUG_SAMPLER_COUNT, 1, 0 }, "there is no sampler of kind 17" },
    };
    const vug_sampler_model nine = { 9, 9, 9, NULL };
    vug_sampler s = { 0 };
    vug_err err = { 0 };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const vug_sampling chain = { .sampler = &rows[i].config, .n = 1 };
        help_refused(vug_sampler_init(&s, &chain, &nine, &err), &err, VUG_ARGUMENT, NULL,
                     rows[i].message);
        assert_null(s.history.id);
    }
    const vug_sampling long_chain = { .sampler = &rows[0].config, .n = VUG_MAX_SAMPLERS + 1 };
    help_refused(vug_sampler_init(&s, &long_chain, &nine, &err), &err, VUG_LIMIT, NULL,
                 "a chain of 1042 samplers, at most 1041");
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
