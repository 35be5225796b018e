/*
 * Which logits a sampler wants: chains draw the same token from logits that lack all others. And
 * pebble generates the same tokens with a screened head as without, for every kind of chain.
 */
#include "test.h"

#include <float.h>
#include <math.h>

#include "engine_help.h"
#include "sampler_help.h"
#include "sanitized.h"
#include "started_steps.h"
#include "vug/stats.h"

enum { V = 3000, USABLE = 2950, PROMPT = 40, ANSWER = 30 };

typedef struct {
    const char *name;
    bool wants_all;
    vug_sampler_config sampler[6];
    size_t n;
} chain;

static const chain chains[] = {
    { "greedy", false, { { VUG_SAMPLER_TEMPERATURE, 0, 0 } }, 1 },
    { "greedy, penalized",
      false,
      { { VUG_SAMPLER_REPETITION, 1.3f, 0 },
        { VUG_SAMPLER_PRESENCE, 0.5f, 0 },
        { VUG_SAMPLER_FREQUENCY, 0.3f, 0 },
        { VUG_SAMPLER_TEMPERATURE, 0, 0 } },
      4 },
    { "Gemma's",
      false,
      { { VUG_SAMPLER_TEMPERATURE, 1, 0 },
        { VUG_SAMPLER_TOP_K, 64, 0 },
        { VUG_SAMPLER_TOP_P, 0.95f, 0 } },
      3 },
    { "Qwen's",
      false,
      { { VUG_SAMPLER_PRESENCE, 1, 0 },
        { VUG_SAMPLER_TEMPERATURE, 0.6f, 0 },
        { VUG_SAMPLER_TOP_K, 20, 0 },
        { VUG_SAMPLER_TOP_P, 0.95f, 0 } },
      4 },
    { "min-p",
      false,
      { { VUG_SAMPLER_TEMPERATURE, 1.5f, 0 },
        { VUG_SAMPLER_MIN_P, 0.05f, 0 },
        { VUG_SAMPLER_XTC, 0.5f, 0 } },
      3 },
    { "min-p, penalized",
      false,
      { { VUG_SAMPLER_BIAS, -5, 17 },
        { VUG_SAMPLER_REPETITION, 1.2f, 0 },
        { VUG_SAMPLER_MIN_P, 0.1f, 0 },
        { VUG_SAMPLER_TOP_K, 40, 0 },
        { VUG_SAMPLER_TYPICAL_P, 0.9f, 0 } },
      5 },
    { "a plain draw", false, { { VUG_SAMPLER_TEMPERATURE, 0.5f, 0 } }, 1 },
    { "a plain draw, penalized",
      false,
      { { VUG_SAMPLER_REPETITION, 1.3f, 0 },
        { VUG_SAMPLER_BIAS, -5, 17 },
        { VUG_SAMPLER_TEMPERATURE, 0.4f, 0 } },
      3 },
    { "top-p", true, { { VUG_SAMPLER_TOP_P, 0.9f, 0 }, { VUG_SAMPLER_TOP_K, 20, 0 } }, 2 },
    { "sigma", true, { { VUG_SAMPLER_TOP_N_SIGMA, 1, 0 }, { VUG_SAMPLER_TOP_K, 20, 0 } }, 2 },
    { "typical", true, { { VUG_SAMPLER_TYPICAL_P, 0.9f, 0 } }, 1 },
    { "xtc", true, { { VUG_SAMPLER_XTC, 0.5f, 0 } }, 1 },
    { "dry", true, { { VUG_SAMPLER_DRY, 1, 0 }, { VUG_SAMPLER_TOP_K, 20, 0 } }, 2 },
    { "a positive bias", true, { { VUG_SAMPLER_BIAS, 2, 9 }, { VUG_SAMPLER_TOP_K, 20, 0 } }, 2 },
    { "a negative penalty",
      true,
      { { VUG_SAMPLER_PRESENCE, -1, 0 }, { VUG_SAMPLER_TOP_K, 20, 0 } },
      2 },
    { "a repetition penalty below 1",
      true,
      { { VUG_SAMPLER_REPETITION, 0.9f, 0 }, { VUG_SAMPLER_TOP_K, 20, 0 } },
      2 },
};

enum {
    N_CHAINS = sizeof(chains) / sizeof(chains[0]),
    N_SOME = 8, /* the first ones, which do not want all logits */
};

/* Chains that begin with top-p: the backend decides whether the other logits are wanted. */
static const chain top_p_chains[] = {
    { "top-p 0.95", false, { { VUG_SAMPLER_TOP_P, 0.95f, 0 } }, 1 },
    { "top-p 0.9 at 0.6",
      false,
      { { VUG_SAMPLER_TEMPERATURE, 0.6f, 0 }, { VUG_SAMPLER_TOP_P, 0.9f, 0 } },
      2 },
    { "top-p 0.5 before other samplers",
      false,
      { { VUG_SAMPLER_TOP_P, 0.5f, 0 },
        { VUG_SAMPLER_TYPICAL_P, 0.9f, 0 },
        { VUG_SAMPLER_TEMPERATURE, 1.5f, 0 } },
      3 },
};

enum { N_TOP_P = sizeof(top_p_chains) / sizeof(top_p_chains[0]) };

/* ---- random logits ---------------------------------------------------------------------- */

static int compare_descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Logits with many ties; ids that the history has are often the best, so that penalties matter. */
static void fill_logits(float *x, uint64_t *state, const vug_sampler *s)
{
    const uint64_t steps = help_random(state, 3) == 0 ? 12 : 4000;
    for (int i = 0; i < V; i++)
        x[i] = (float)help_random(state, steps) * (16.0f / (float)steps) - 9;
    for (size_t i = 0; i < s->history.n; i++)
        x[s->history.id[i]] += (float)help_random(state, 8);
    x[USABLE + help_random(state, V - USABLE)] = 30; /* padding */
}

static void drop_unwanted(const float *x, const vug_logits_wanted *wanted, float *kept)
{
    float sorted[V];
    memcpy(sorted, x, sizeof(sorted));
    qsort(sorted, (size_t)wanted->n_ids, sizeof(*sorted), compare_descending);
    const double least = (double)sorted[wanted->best - 1] - wanted->margin;
    for (int i = 0; i < V; i++)
        kept[i] = (double)x[i] < least ? VUG_LOGIT_UNWANTED : x[i];
}

/* As a backend lists them. */
static vug_sampler_mask list_wanted(const vug_sampler_mask *mask, const float *kept, int32_t *known)
{
    vug_sampler_mask listed = *mask;
    listed.known = known;
    for (int32_t i = V; i-- > 0;) {
        if (kept[i] > VUG_LOGIT_UNWANTED)
            known[listed.n_known++] = i;
    }
    return listed;
}

static void check_chain(const chain *c, uint64_t seed)
{
    const vug_sampling sampling = { .sampler = c->sampler, .n = c->n, .seed = seed };
    vug_sampler s = help_sampler(&sampling, V, USABLE);
    const int32_t excluded[] = { 3, 4, 5 };
    const vug_sampler_mask mask = { .excluded = excluded, .n_excluded = 3 };
    int32_t prompt[PROMPT];
    float all[V], kept[V];
    int32_t known[V];
    help_tokens(seed, prompt, PROMPT, USABLE);
    help_set_prompt(&s, prompt, PROMPT);
    for (int i = 0; i < ANSWER; i++) {
        const vug_logits_wanted wanted = vug_sampler_wanted(&s, &mask, 0, false);
        fill_logits(all, &seed, &s);
        for (size_t e = 0; e < mask.n_excluded; e++)
            all[excluded[e]] += 9;
        assert_int_equal(wanted.best == 0, c->wants_all);
        assert_true(wanted.best < 200);
        const int32_t id = vug_sampler_sample(&s, all, &mask);
        if (wanted.best > 0) {
            drop_unwanted(all, &wanted, kept);
            if (vug_sampler_sample(&s, kept, &mask) != id)
                fail_msg("%s: another token without the logits that are not wanted", c->name);
            const vug_sampler_mask listed = list_wanted(&mask, kept, known);
            if (vug_sampler_sample(&s, kept, &listed) != id)
                fail_msg("%s: another token from the list of wanted logits", c->name);
        }
        help_accept(&s, id);
    }
    vug_sampler_release(&s);
}

static void test_samplers_do_not_look_at_other_logits(void **state)
{
    (void)state;
    for (int i = 0; i < N_CHAINS; i++) {
        for (uint64_t seed = 1; seed <= (SANITIZED ? 5 : 60); seed++)
            check_chain(&chains[i], seed * 1000);
    }
}

/* Drafts that are accepted are seen by penalties, too. */
static void test_drafts_and_excluded_tokens_want_more(void **state)
{
    (void)state;
    const vug_sampling sampling = { .sampler = chains[3].sampler, .n = chains[3].n };
    vug_sampler s = help_sampler(&sampling, V, USABLE);
    const int32_t prompt[] = { 10, 11, 12 };
    const vug_sampler_mask two = { .excluded = prompt, .n_excluded = 2 };
    help_set_prompt(&s, prompt, 3);
    assert_int_equal(vug_sampler_wanted(&s, NULL, 0, false).best, 20);
    assert_int_equal(vug_sampler_wanted(&s, &two, 0, false).best, 22);
    assert_int_equal(vug_sampler_wanted(&s, &two, 5, false).best, 27);
    help_accept(&s, 50);
    assert_int_equal(vug_sampler_wanted(&s, NULL, 0, false).best, 21);
    for (int i = 0; i < 300; i++)
        help_accept(&s, 50 + i);
    assert_int_equal(vug_sampler_wanted(&s, NULL, 0, false).best, 0);
    vug_sampler_release(&s);
}

static void test_top_p_wants_a_share(void **state)
{
    (void)state;
    const vug_sampling sampling = { .sampler = top_p_chains[1].sampler, .n = top_p_chains[1].n };
    vug_sampler s = help_sampler(&sampling, V, USABLE);
    const vug_sampler_mask one = { .excluded = (int32_t[]){ 3 }, .n_excluded = 1 };
    const vug_logits_wanted wanted = vug_sampler_wanted(&s, NULL, 0, false);
    assert_int_equal(wanted.best, 1);
    assert_true(wanted.margin > 5 && wanted.margin < 20);
    assert_true(wanted.share == (double)0.9f);
    assert_true(fabs(wanted.scale - 1 / 0.6) < 1e-6);
    /* A token that must not be drawn has mass in the backend's sum. */
    assert_int_equal(vug_sampler_wanted(&s, &one, 0, false).best, 0);
    assert_int_equal(vug_sampler_wanted(&s, NULL, 4, false).best, 0);
    vug_sampler_release(&s);
}

static void test_a_list_of_allowed_tokens_wants_all(void **state)
{
    (void)state;
    const int32_t allowed[] = { 1, 2, 3 };
    const vug_sampling sampling = {
        .sampler = chains[0].sampler, .n = 1, .allowed = allowed, .n_allowed = 3
    };
    vug_sampler s = help_sampler(&sampling, V, USABLE);
    assert_int_equal(vug_sampler_wanted(&s, NULL, 0, false).best, 0);
    vug_sampler_release(&s);
}

/* ---- draws on a device --------------------------------------------------------------------- */

/* In the order of vug_draw. */
static const chain drawn_chains[] = {
    { "none", .n = 0 },
    { "temperature", .n = 1, .sampler = { { .kind = VUG_SAMPLER_TEMPERATURE, .value = 0.7f } } },
    { "all cuts", .n = 4,
      .sampler = { { .kind = VUG_SAMPLER_TEMPERATURE, .value = 1.3f },
                   { .kind = VUG_SAMPLER_TOP_K, .value = 40 },
                   { .kind = VUG_SAMPLER_TOP_P, .value = 0.9f },
                   { .kind = VUG_SAMPLER_MIN_P, .value = 0.05f } } },
    { "top-p", .n = 1, .sampler = { { .kind = VUG_SAMPLER_TOP_P, .value = 0.6f } } },
    { "min-p", .n = 1, .sampler = { { .kind = VUG_SAMPLER_MIN_P, .value = 0.1f } } },
    { "penalties", .n = 5,
      .sampler = { { .kind = VUG_SAMPLER_REPETITION, .value = 1.3f },
                   { .kind = VUG_SAMPLER_PRESENCE, .value = 0.7f },
                   { .kind = VUG_SAMPLER_FREQUENCY, .value = 0.3f },
                   { .kind = VUG_SAMPLER_DRY, .value = 0.8f },
                   { .kind = VUG_SAMPLER_TEMPERATURE, .value = 0.5f } } },
    { "in another order", .n = 5,
      .sampler = { { .kind = VUG_SAMPLER_BIAS, .value = 3, .token = 7 },
                   { .kind = VUG_SAMPLER_BIAS, .value = -8, .token = 1 },
                   { .kind = VUG_SAMPLER_FREQUENCY, .value = -0.4f },
                   { .kind = VUG_SAMPLER_REPETITION, .value = 0.8f },
                   { .kind = VUG_SAMPLER_TOP_K, .value = 40 } } },
    { "greedy", .n = 3,
      .sampler = { { .kind = VUG_SAMPLER_PRESENCE, .value = 1.5f },
                   { .kind = VUG_SAMPLER_BIAS, .value = 5, .token = 9 },
                   { .kind = VUG_SAMPLER_TEMPERATURE, .value = 0 } } },
};

/* Allows every id whose bit of a random number is set; and the first one. */
static void fill_allowed(uint32_t *allowed, uint64_t *state)
{
    for (int i = 0; i < V; i += 32)
        allowed[i / 32] = (uint32_t)help_random(state, UINT32_MAX);
    allowed[0] |= 1;
}

static void check_draws(const chain *c, uint64_t seed, bool masks)
{
    const vug_sampling sampling = { .sampler = c->sampler, .n = c->n, .seed = seed };
    const int32_t excluded[] = { 3, 4, V + 1, 3 };
    uint32_t allowed[V / 32 + 1];
    vug_sampler s = help_sampler(&sampling, V, USABLE);
    float all[V];
    help_set_prompt(&s, (int32_t[]){ 1, 2, 1 }, 3);
    for (int n = 0; n < ANSWER; n++) {
        vug_sampler_mask mask = { 0 };
        fill_logits(all, &seed, &s);
        if (masks) {
            fill_allowed(allowed, &seed);
            mask = (vug_sampler_mask){ .allowed = allowed, .excluded = excluded, .n_excluded = 4 };
            all[3] = 30;
        }
        const vug_logits_wanted wanted = vug_sampler_wanted(&s, &mask, 0, true);
        assert_true(wanted.best > 0 && wanted.n_changes <= VUG_MOST_CHANGES);
        for (size_t i = 1; i < wanted.n_changes; i++)
            assert_true(wanted.change[i].stage >= wanted.change[i - 1].stage);
        const int32_t id = help_draw(all, &wanted);
        vug_sampler_mask one = mask;
        one.known = &id;
        one.n_known = 1;
        if (vug_sampler_sample(&s, all, &mask) != id || vug_sampler_sample(&s, all, &one) != id)
            fail_msg("%s: another token than the one drawn", c->name);
        help_accept(&s, id);
    }
    vug_sampler_release(&s);
}

static void test_devices_draw_the_same_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(drawn_chains) / sizeof(*drawn_chains); i++) {
        check_draws(&drawn_chains[i], i + 1, false);
        check_draws(&drawn_chains[i], i + 100, true);
    }
}

/* Each id has one change in a stage, so that a device can make those of a stage at once. */
static void test_stages_change_an_id_once(void **state)
{
    (void)state;
    const chain *c = &drawn_chains[6];
    const vug_sampling sampling = { .sampler = c->sampler, .n = c->n };
    vug_sampler s = help_sampler(&sampling, V, USABLE);
    help_set_prompt(&s, (int32_t[]){ 1, 7, 1 }, 3);
    help_accept(&s, 1);
    help_accept(&s, 1);
    const vug_logits_wanted wanted = vug_sampler_wanted(&s, NULL, 0, true);
    assert_int_equal(wanted.n_changes, 2 + 1 + 2);
    for (size_t i = 0; i < wanted.n_changes; i++) {
        for (size_t j = 0; j < i; j++)
            assert_true(wanted.change[i].id != wanted.change[j].id ||
                        wanted.change[i].stage > wanted.change[j].stage);
    }
    vug_sampler_release(&s);
}

static void expect_no_draw(const vug_sampler_config *sampler, size_t n, size_t n_draft)
{
    const vug_sampling sampling = { .sampler = sampler, .n = n };
    vug_sampler s = help_sampler(&sampling, V, USABLE);
    const vug_logits_wanted wanted = vug_sampler_wanted(&s, NULL, n_draft, true);
    assert_true(wanted.draw.temperature == 0 && wanted.n_changes == 0);
    vug_sampler_release(&s);
}

static void test_other_chains_are_not_for_devices(void **state)
{
    (void)state;
    const vug_sampler_config hot = { .kind = VUG_SAMPLER_TEMPERATURE, .value = 2 };
    const vug_sampler_config cold = { .kind = VUG_SAMPLER_TEMPERATURE, .value = 0 };
    const vug_sampler_config top_k = { .kind = VUG_SAMPLER_TOP_K, .value = 4 };
    const vug_sampler_config xtc = { .kind = VUG_SAMPLER_XTC, .value = 0.5f };
    const vug_sampler_config bias = { .kind = VUG_SAMPLER_BIAS, .value = -1, .token = 3 };
    expect_no_draw(&cold, 1, 0);
    expect_no_draw((vug_sampler_config[]){ top_k, hot }, 2, 0);
    expect_no_draw((vug_sampler_config[]){ hot, xtc }, 2, 0);
    expect_no_draw((vug_sampler_config[]){ bias, bias, hot }, 3, 0);
    expect_no_draw(&hot, 1, 1);
}

/* A list of changes has an end. */
static void test_many_penalties_are_not_for_devices(void **state)
{
    (void)state;
    enum { MANY = VUG_MOST_CHANGES + 1 };
    const vug_sampler_config repetition = { .kind = VUG_SAMPLER_REPETITION, .value = 1.1f };
    const vug_sampling sampling = { .sampler = &repetition, .n = 1 };
    vug_sampler s = help_sampler(&sampling, MANY, MANY);
    static int32_t prompt[MANY];
    for (int32_t i = 0; i < MANY; i++)
        prompt[i] = i;
    help_set_prompt(&s, prompt, MANY - 1);
    assert_int_equal(vug_sampler_wanted(&s, NULL, 0, true).n_changes, MANY - 1);
    help_accept(&s, prompt[MANY - 1]);
    assert_int_equal(vug_sampler_wanted(&s, NULL, 0, true).best, 0);
    vug_sampler_release(&s);
}

/* ---- pebble -------------------------------------------------------------------------------- */

static vug_model *open_pebble(const char *head_screen)
{
    return help_model(
            "models/pebble",
            (vug_model_options){ .context = 1024, .threads = 1, .head_screen = head_screen });
}

static vug_tokens generate(vug_session *s, const chain *c, uint64_t seed, int n)
{
    const vug_generate_options o = {
        .sampling = { .sampler = c->sampler, .n = c->n, .seed = seed },
        .max_tokens = n,
        .min_tokens = seed % 2 ? n / 2 : 0,
        .ignore_stop = seed % 3 > 0,
        .speculation = seed % 5 == 0 ? VUG_SPECULATION_LOOKUP : VUG_SPECULATION_OFF,
    };
    int32_t prompt[12];
    vug_generation out;
    vug_err err = { 0 };
    help_tokens(seed, prompt, 12, 4000);
    help_ok(vug_generate(s, prompt, 12, &o, &out, &err), &err);
    const vug_tokens tokens = out.tokens;
    out.tokens = (vug_tokens){ 0 };
    vug_generation_release(&out);
    return tokens;
}

/* Compares tokens of chains, each for one seed after another. */
static void compare_generations(const chain *some, int n_some, const chain *of_all, int n_all)
{
    enum { LENGTH = SANITIZED ? 60 : 200 };
    const size_t least = SANITIZED ? 1000 : 10000; /* tokens; the copy is made in the first 256 */
    vug_model *with = open_pebble("on"), *without = open_pebble("off");
    vug_session *a = help_session(with), *b = help_session(without);
    size_t n = 0;
    for (uint64_t seed = 1; n < least; seed++) {
        const chain *c =
                seed % 3 ? &some[seed % (uint64_t)n_some] : &of_all[seed % (uint64_t)n_all];
        vug_tokens x = generate(a, c, seed, LENGTH), y = generate(b, c, seed, LENGTH);
        assert_int_equal(x.n, y.n);
        assert_memory_equal(x.id, y.id, x.n * sizeof(*x.id));
        n += x.n;
        vug_tokens_release(&x);
        vug_tokens_release(&y);
    }
    const vug_head_stats stats = vug_model_head_stats(with);
    print_message("%zu tokens, %llu of %llu rows screened, %.1f %% of their logits computed\n", n,
                  (unsigned long long)stats.screened, (unsigned long long)stats.rows,
                  (double)stats.logits / (double)stats.of * 100);
    assert_true(stats.screened > n / 5);
    assert_int_equal(vug_model_head_stats(without).rows, 0);
    vug_session_destroy(a);
    vug_session_destroy(b);
    vug_model_close(with);
    vug_model_close(without);
}

static void test_screened_generations_are_the_same(void **state)
{
    (void)state;
    compare_generations(chains, N_SOME, chains, N_CHAINS);
}

static void test_screened_top_p_is_the_same(void **state)
{
    (void)state;
    compare_generations(top_p_chains, N_TOP_P, top_p_chains, N_TOP_P);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samplers_do_not_look_at_other_logits),
        cmocka_unit_test(test_drafts_and_excluded_tokens_want_more),
        cmocka_unit_test(test_a_list_of_allowed_tokens_wants_all),
        cmocka_unit_test(test_devices_draw_the_same_tokens),
        cmocka_unit_test(test_stages_change_an_id_once),
        cmocka_unit_test(test_other_chains_are_not_for_devices),
        cmocka_unit_test(test_many_penalties_are_not_for_devices),
        cmocka_unit_test(test_top_p_wants_a_share),
        cmocka_unit_test(test_screened_generations_are_the_same),
        cmocka_unit_test(test_screened_top_p_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
