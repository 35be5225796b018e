/* The draw: that it is the greatest noisy logit, that it has the exact distribution after every
 * sampler, and that nothing but logits, settings, seed and tokens decide it. */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "sampler_help.h"

/* ---- noise --------------------------------------------------------------------------- */

static double exact_gumbel(uint64_t bits)
{
    const double x = ((double)bits + 0.5) * 0x1p-64;
    return -log(bits >> 63 ? -log(((double)~bits + 0.5) * 0x1p-64) : -log1p(-x));
}

static void test_gumbel_variables_are_accurate(void **state)
{
    (void)state;
    uint64_t random = 3;
    assert_true(fabs(vug_noise_gumbel(0) - 65 * log(2)) < 1e-13);
    assert_true(fabs(vug_noise_gumbel(UINT64_MAX) + log(65 * log(2))) < 1e-13);
    for (int i = 0; i < 100000; i++) {
        const uint64_t bits = help_bits(&random) >> help_random(&random, 64);
        const uint64_t both[] = { bits, ~bits };
        for (int k = 0; k < 2; k++) {
            const double want = exact_gumbel(both[k]);
            assert_true(fabs(vug_noise_gumbel(both[k]) - want) <= 4e-15 * fmax(1, fabs(want)));
        }
    }
}

/* Seeds, positions, domains and ids that differ by one have unrelated bits: about half of the 64
 * differ. */
static void test_noise_depends_on_everything(void **state)
{
    (void)state;
    uint64_t random = 4;
    double flips[5] = { 0 };
    enum { N = 20000 };
    for (int i = 0; i < N; i++) {
        const vug_noise a = { help_bits(&random), help_random(&random, 100000) };
        const vug_noise other[] = {
            { a.seed + 1, a.position }, { a.seed, a.position + 1 }, a, a, a
        };
        const int32_t id = (int32_t)help_random(&random, 300000) * 4;
        const int32_t ids[] = { id, id, id, id + 1, id + 4 };
        for (int k = 0; k < 5; k++) {
            const vug_noise_domain domain = k == 2 ? VUG_NOISE_XTC : VUG_NOISE_DRAW;
            const uint64_t bits = vug_noise_bits(&a, VUG_NOISE_DRAW, id) ^
                                  vug_noise_bits(&other[k], domain, ids[k]);
            flips[k] += __builtin_popcountll(bits);
        }
    }
    for (int k = 0; k < 5; k++)
        assert_true(fabs(flips[k] / N - 32) < 0.2);
}

/* These bits define the answers of seeds: a change is a change of every sampled answer. */
static void test_noise_has_fixed_bits(void **state)
{
    (void)state;
    const vug_noise noise = { 42, 7 };
    assert_true(vug_noise_bits(&noise, VUG_NOISE_DRAW, 0) == UINT64_C(0xee3ebb9350a6b881));
    assert_true(vug_noise_bits(&noise, VUG_NOISE_DRAW, 1001) == UINT64_C(0xd40ba97ebebc1999));
    assert_true(vug_noise_bits(&noise, VUG_NOISE_XTC, 0) == UINT64_C(0x848d54652eb18290));
}

/* ---- the greatest noisy logit ---------------------------------------------------------- */

static void fill(float *logits, size_t n, uint64_t style, uint64_t *random)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-40f, 0 };
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = help_random(random, 1 << 20);
        const float f = (float)r / (1 << 19) - 1;
        logits[i] = style == 0   ? 0
                    : style == 1 ? 4 * f
                    : style == 2 ? 60 * f
                    : style == 3 ? (r % 64 ? f - 12 : 4 * f)
                    : style == 4 ? (float)(r % 3)
                    : style == 5 ? (r % 8 ? f : odd[r / 8 % 6])
                                 : 3e38f * f;
        if (style == 7 && r % 2)
            logits[i] = odd[r / 2 % 7];
    }
}

/* Without pruning, in the order of the ids. */
static int32_t greatest(const float *logits, size_t n, const uint32_t *allowed, float temperature,
                        uint64_t seed, uint64_t position)
{
    const vug_noise noise = { seed, position };
    float best = -INFINITY;
    double best_score = -INFINITY;
    int32_t id = -1, first = -1;
    for (size_t i = n; i-- > 0;) {
        if (allowed[i / 32] >> i % 32 & 1) {
            best = logits[i] > best ? logits[i] : best;
            first = (int32_t)i;
        }
    }
    for (size_t i = 0; i < n && best > -INFINITY; i++) {
        if (!(allowed[i / 32] >> i % 32 & 1) || !(logits[i] > -INFINITY))
            continue;
        if (isinf(best) && !isinf(logits[i]))
            continue;
        const double above = isinf(best) ? 0 : (double)logits[i] - (double)best;
        const double score = above * (1 / (double)temperature) +
                             vug_noise_gumbel(vug_noise_bits(&noise, VUG_NOISE_DRAW, (int32_t)i));
        if (score > best_score) {
            best_score = score;
            id = (int32_t)i;
        }
    }
    return id < 0 ? first : id;
}

static void test_no_variable_is_above_the_greatest(void **state)
{
    (void)state;
    for (uint64_t position = 0; position < 200; position++) {
        const vug_noise noise = { 7, position };
        const int64_t n = position % 2 ? 1 + (int64_t)position / 20 : 3001;
        double greatest = -INFINITY;
        for (int32_t id = 0; id < n; id++)
            greatest = fmax(greatest, vug_noise_gumbel(vug_noise_bits(&noise, VUG_NOISE_DRAW, id)));
        const double got = vug_noise_greatest_gumbel(&noise, n);
        assert_true(n > 3000 ? got == greatest : got >= greatest);
    }
}

static void test_pruning_never_changes_the_draw(void **state)
{
    (void)state;
    enum { MOST = 3000, CASES = 6000 };
    static float logits[MOST];
    static uint32_t allowed[MOST / 32 + 1];
    uint64_t random = 8;
    for (int i = 0; i < CASES; i++) {
        static const float temperatures[] = { 1, 0.3f, 2, 30, 1e-3f, 1e-30f, 1e-45f };
        const size_t n = 1 + help_random(&random, i % 8 ? 200 : MOST);
        const float t = temperatures[help_random(&random, 7)];
        const bool masked = help_random(&random, 2);
        fill(logits, n, help_random(&random, 8), &random);
        memset(allowed, masked ? 0 : 0xff, sizeof(allowed));
        for (size_t k = 0; k < n && masked; k++)
            allowed[k / 32] |= (uint32_t)(help_random(&random, 3) == 0) << k % 32;
        const size_t one = help_random(&random, n);
        allowed[one / 32] |= UINT32_C(1) << one % 32;
        const vug_sampler_config config = { VUG_SAMPLER_TEMPERATURE, t, 0 };
        const vug_sampling sampling = { .sampler = &config, .n = 1, .seed = (uint64_t)i };
        vug_sampler s = help_sampler(&sampling, (int64_t)n, (int64_t)n);
        const int32_t got = help_sample(&s, logits, masked ? allowed : NULL);
        const int32_t want = greatest(logits, n, allowed, t, (uint64_t)i, 0);
        if (got != want)
            fail_msg("case %d: token %d, expected %d", i, got, want);
        vug_sampler_release(&s);
    }
}

/* ---- independence ------------------------------------------------------------------------ */

/* More ids that may not be drawn, and a list instead of all logits, change nothing; nor do samples
 * in between, or tokens that are taken back. */
static void test_only_logits_seed_and_tokens_decide(void **state)
{
    (void)state;
    enum { N = 700, PADDED = 1000, ROUNDS = 300 };
    static float logits[PADDED];
    uint64_t random = 12;
    for (int i = 0; i < ROUNDS; i++) {
        const vug_sampler_config wide[] = { { VUG_SAMPLER_PRESENCE, 0.5f, 0 },
                                            { VUG_SAMPLER_DRY, 0.8f, 0 },
                                            { VUG_SAMPLER_TEMPERATURE, 1.3f, 0 } };
        const vug_sampler_config list[] = {
            wide[0], wide[1], wide[2], { VUG_SAMPLER_TOP_K, N - 1, 0 }
        };
        const vug_sampling a = { .sampler = wide, .n = 3, .seed = (uint64_t)i };
        const vug_sampling b = { .sampler = list, .n = 4, .seed = (uint64_t)i };
        vug_sampler alone = help_sampler(&a, N, N), padded = help_sampler(&a, PADDED, N);
        vug_sampler listed = help_sampler(&b, N, N);
        for (int k = 0; k < 6; k++) {
            fill(logits, PADDED, 1, &random);
            logits[N - 1] = -50;
            const int32_t id = help_sample(&alone, logits, NULL);
            assert_int_equal(help_sample(&listed, logits, NULL), id);
            for (int draft = 0; draft < 3; draft++)
                (void)help_next(&padded, logits, NULL);
            vug_sampler_rollback(&padded, 3);
            assert_int_equal(help_sample(&padded, logits, NULL), id);
            help_accept(&alone, id);
            help_accept(&padded, id);
            help_accept(&listed, id);
        }
        vug_sampler_release(&alone);
        vug_sampler_release(&padded);
        vug_sampler_release(&listed);
    }
}

/* ---- distribution -------------------------------------------------------------------------- */

enum { SIDES = 10, DRAWS = 40000 };

/* Pearson's chi-square of draws at many positions against probabilities [SIDES]. The bounds are the
 * 0.1 % tails for the degrees of freedom. */
static void check_distribution(const char *name, const vug_sampler_config *config, size_t n,
                               const float *logits, const double *p)
{
    static const double low[] = { 0, 1.6e-6, 0.002, 0.024, 0.091, 0.21, 0.38, 0.6, 0.86, 1.15 };
    static const double high[] = { 0, 10.8, 13.8, 16.3, 18.5, 20.5, 22.5, 24.3, 26.1, 27.9 };
    const vug_sampling sampling = { .sampler = config, .n = n, .seed = 2024 };
    vug_sampler s = help_sampler(&sampling, SIDES, SIDES);
    int count[SIDES] = { 0 }, sides = 0;
    double sum = 0, chi2 = 0;
    for (int i = 0; i < DRAWS; i++)
        count[help_next(&s, logits, NULL)]++;
    vug_sampler_release(&s);
    for (int i = 0; i < SIDES; i++) {
        sum += p[i];
        sides += p[i] > 0;
        if (p[i] == 0 && count[i] > 0)
            fail_msg("%s: token %d was drawn", name, i);
    }
    for (int i = 0; i < SIDES; i++) {
        const double expected = DRAWS * p[i] / sum;
        chi2 += p[i] > 0 ? (count[i] - expected) * (count[i] - expected) / expected : 0;
    }
    if (chi2 < low[sides - 1] || chi2 > high[sides - 1])
        fail_msg("%s: chi-square %g, %d degrees of freedom", name, chi2, sides - 1);
}

#define CHAIN(...)                               \
    (const vug_sampler_config[]){ __VA_ARGS__ }, \
            sizeof((const vug_sampler_config[]){ __VA_ARGS__ }) / sizeof(vug_sampler_config)

/* Probabilities in 64ths; ids are not in the order of the probabilities. */
static const double weight[SIDES] = { 4, 16, 1, 12, 8, 2, 10, 3, 6, 2 };

static void test_draws_have_the_exact_distribution(void **state)
{
    (void)state;
    float logits[SIDES];
    double p[SIDES];
    for (int i = 0; i < SIDES; i++)
        logits[i] = (float)log(weight[i]) + 3;
    check_distribution("none", CHAIN({ VUG_SAMPLER_TEMPERATURE, 1, 0 }), logits, weight);
    static const float temperatures[] = { 0.5f, 1.7f };
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < SIDES; i++)
            p[i] = pow(weight[i], 1 / (double)temperatures[t]);
        check_distribution("temperature", CHAIN({ VUG_SAMPLER_TEMPERATURE, temperatures[t], 0 }),
                           logits, p);
    }
    const double five[SIDES] = { [1] = 16, [3] = 12, [6] = 10, [4] = 8, [8] = 6 };
    check_distribution("top-k", CHAIN({ VUG_SAMPLER_TOP_K, 5, 0 }), logits, five);
    /* 46 / 64 = 0.719 is not enough. */
    check_distribution("top-p", CHAIN({ VUG_SAMPLER_TOP_P, 0.73f, 0 }), logits, five);
    check_distribution("min-p", CHAIN({ VUG_SAMPLER_MIN_P, 0.37f, 0 }), logits, five);
    /* The best has 16 / 64 = 0.25, four have at least 0.1: all but the last of them go. */
    const double small[SIDES] = { 4, 0, 1, 0, 8, 2, 0, 3, 6, 2 };
    check_distribution("xtc",
                       CHAIN({ VUG_SAMPLER_XTC, 1, 0 }, { VUG_SAMPLER_XTC_THRESHOLD, 0.1f, 0 }),
                       logits, small);
    /* XTC acts on half of the tokens. */
    for (int i = 0; i < SIDES; i++)
        p[i] = weight[i] / 64 + small[i] / 26;
    check_distribution("xtc 0.5", CHAIN({ VUG_SAMPLER_XTC, 0.5f, 0 }), logits, p);
    const double biased[SIDES] = { 4, 16, 1, 12, 8, 32, 10, 3, 6, 2 };
    check_distribution("bias", CHAIN({ VUG_SAMPLER_BIAS, (float)log(16), 5 }), logits, biased);
}

/* The entropy of (1/2, 1/4, 1/8, 1/16, 1/16) is 1.875 bits. The information of the tokens, 1, 2, 3,
 * 4 and 4 bits, is 0.875, 0.125, 1.125 and 2.125 away from it. */
static void test_typical_sampling(void **state)
{
    (void)state;
    float logits[SIDES];
    const double half[SIDES] = { 0, 8, 0, 4, 0, 2, 1, 1 };
    for (int i = 0; i < SIDES; i++)
        logits[i] = half[i] > 0 ? (float)log(half[i]) : -INFINITY;
    const double one[SIDES] = { [3] = 4 }, two[SIDES] = { [3] = 4, [1] = 8 };
    const double three[SIDES] = { [3] = 4, [1] = 8, [5] = 2 };
    check_distribution("0.2", CHAIN({ VUG_SAMPLER_TYPICAL_P, 0.2f, 0 }), logits, one);
    check_distribution("0.26", CHAIN({ VUG_SAMPLER_TYPICAL_P, 0.26f, 0 }), logits, two);
    check_distribution("0.74", CHAIN({ VUG_SAMPLER_TYPICAL_P, 0.74f, 0 }), logits, two);
    check_distribution("0.76", CHAIN({ VUG_SAMPLER_TYPICAL_P, 0.76f, 0 }), logits, three);
    check_distribution("1", CHAIN({ VUG_SAMPLER_TYPICAL_P, 1, 0 }), logits, half);
}

/* Logits 0 (five times), 2 (four times) and 10: mean 1.8, variance 8.36, sigma 2.891. */
static void test_top_n_sigma(void **state)
{
    (void)state;
    const float logits[SIDES] = { 0, 0, 2, 2, 10, 2, 2, 0, 0, 0 };
    const double e2 = exp(2), e10 = exp(10);
    const double best[SIDES] = { [4] = e10 };
    const double upper[SIDES] = { 0, 0, e2, e2, e10, e2, e2 };
    const double all[SIDES] = { 1, 1, e2, e2, e10, e2, e2, 1, 1, 1 };
    /* A temperature that makes them all likely does not matter to the cut. */
    static const struct {
        float n;
        int sides;
    } rows[] = { { 1, 1 }, { 2.76f, 1 }, { 2.78f, 5 }, { 3.45f, 5 }, { 3.47f, 10 }, { 0, 10 } };
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        const double *p = rows[r].sides == 1 ? best : rows[r].sides == 5 ? upper : all;
        double warm[SIDES];
        for (int i = 0; i < SIDES; i++)
            warm[i] = p[i] > 0 ? pow(p[i], 0.2) : 0;
        check_distribution(
                "top-n-sigma",
                CHAIN({ VUG_SAMPLER_TEMPERATURE, 5, 0 }, { VUG_SAMPLER_TOP_N_SIGMA, rows[r].n, 0 }),
                logits, warm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gumbel_variables_are_accurate),
        cmocka_unit_test(test_no_variable_is_above_the_greatest),
        cmocka_unit_test(test_noise_depends_on_everything),
        cmocka_unit_test(test_noise_has_fixed_bits),
        cmocka_unit_test(test_pruning_never_changes_the_draw),
        cmocka_unit_test(test_only_logits_seed_and_tokens_decide),
        cmocka_unit_test(test_draws_have_the_exact_distribution),
        cmocka_unit_test(test_typical_sampling),
        cmocka_unit_test(test_top_n_sigma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
