/*
 * Draft models: answers are the same with and without one, whether it is good or bad; drafts of the
 * model itself are all accepted, greedy or sampled; other tokens are refused.
 */
#include "test.h"

#include "engine/draft_model.h"
#include "engine_help.h"

#define TARGET GOLDEN("gemma3-text")

/* What makes drafts nearly free, until plain steps have been measured often. */
static void make_drafts_cheap(vug_model *m)
{
    vug_step_costs costs;
    vug_step_costs_init(&costs);
    costs.plain_s = 1e12;
    costs.model_cost = 0;
    for (int k = 1; k <= VUG_MAX_DRAFT; k++)
        costs.cost[k] = 1;
    vug_scheduler_store_costs(m->scheduler, &costs);
}

static vug_generation answer(vug_model *m, const int32_t *id, size_t n,
                             const vug_generate_options *o)
{
    vug_generation g = { 0 };
    vug_err err = { 0 };
    vug_session *s = help_session(m);
    make_drafts_cheap(m);
    help_ok(vug_generate(s, id, n, o, &g, &err), &err);
    vug_session_destroy(s);
    return g;
}

static const struct {
    size_t n;
    vug_sampler_config sampler[3];
} chains[] = {
    { 1, { { VUG_SAMPLER_TEMPERATURE, 0, 0 } } },
    { 1, { { VUG_SAMPLER_TEMPERATURE, 1, 0 } } },
    { 3,
      { { VUG_SAMPLER_REPETITION, 1.1f, 0 },
        { VUG_SAMPLER_DRY, 0.8f, 0 },
        { VUG_SAMPLER_TEMPERATURE, 0.7f, 0 } } },
};
enum { CHAINS = sizeof(chains) / sizeof(*chains) };

typedef struct {
    size_t drafted, accepted;
} draft_counts;

static draft_counts check_answers(const char *draft)
{
    enum { ANSWERS = 6, PROMPT = 50 };
    draft_counts counts = { 0 };
    vug_model *m =
            help_model(TARGET, (vug_model_options){ .context = 512, .threads = 1, .draft = draft });
    for (uint64_t i = 0; i < ANSWERS; i++) {
        int32_t id[PROMPT];
        help_tokens(i, id, PROMPT, vug_model_describe(m).n_vocab);
        vug_generate_options o = { .sampling = { .sampler = chains[i % CHAINS].sampler,
                                                 .n = chains[i % CHAINS].n,
                                                 .seed = i },
                                   .max_tokens = 160, /* across ends of pages */
                                   .ignore_stop = true };
        vug_generation with = answer(m, id, PROMPT, &o);
        o.speculation = VUG_SPECULATION_OFF;
        vug_generation without = answer(m, id, PROMPT, &o);
        assert_int_equal(without.n_drafted, 0);
        assert_int_equal(with.tokens.n, o.max_tokens);
        assert_int_equal(with.tokens.n, without.tokens.n);
        assert_memory_equal(with.tokens.id, without.tokens.id, with.tokens.n * sizeof(int32_t));
        counts.drafted += with.n_drafted;
        counts.accepted += with.n_accepted;
        vug_generation_release(&with);
        vug_generation_release(&without);
    }
    const vug_prefix_stats tree = vug_prefix_get_stats(m->draft->prefix_tree);
    assert_int_equal(vug_kv_pool_get_stats(m->draft->kv_pool).used, tree.bytes);
    vug_model_close(m);
    return counts;
}

static void test_answers_are_the_same(void **state)
{
    (void)state;
    const draft_counts counts = check_answers(TARGET);
    assert_true(counts.accepted > 500);
}

static void test_drafts_of_another_model_change_nothing(void **state)
{
    (void)state;
    const draft_counts counts = check_answers(GOLDEN("gemma4-dense"));
    assert_true(counts.accepted < counts.drafted);
}

static vug_sampler open_sampler(const vug_model *m, const vug_sampling *sampling, const int32_t *id,
                                size_t n)
{
    vug_sampler sampler;
    vug_err err = { 0 };
    const int64_t n_vocab = vug_model_describe(m).n_vocab;
    const vug_sampler_model model = { n_vocab, n_vocab, 512, NULL };
    help_ok(vug_sampler_init(&sampler, sampling, &model, &err), &err);
    help_ok(vug_sampler_set_prompt(&sampler, id, n, &err), &err);
    return sampler;
}

static vug_session *open_draft(vug_model *m)
{
    vug_err err = { 0 };
    vug_session *target = help_session(m), *draft;
    help_ok(vug_draft_session_create(target, &draft, &err), &err);
    vug_session_destroy(target);
    return draft;
}

/* The model itself drafts what it then chooses. */
static void test_drafts_are_what_the_model_would_choose(void **state)
{
    (void)state;
    enum { PROMPT = 50 };
    vug_model *m = help_model(TARGET,
                              (vug_model_options){ .context = 512, .draft = TARGET, .threads = 1 });
    int32_t id[PROMPT], draft[VUG_MAX_DRAFT];
    help_tokens(7, id, PROMPT, vug_model_describe(m).n_vocab);
    for (uint64_t i = 0; i < CHAINS; i++) {
        const vug_generate_options o = {
            .sampling = { .sampler = chains[i].sampler, .n = chains[i].n, .seed = i },
            .max_tokens = VUG_MAX_DRAFT,
            .ignore_stop = true,
        };
        vug_generation g = answer(m, id, PROMPT, &o);
        vug_session *s = open_draft(m);
        vug_sampler sampler = open_sampler(m, &o.sampling, id, PROMPT);
        assert_true(vug_draft_session_write(s, &sampler, draft, VUG_MAX_DRAFT, NULL));
        assert_memory_equal(draft, g.tokens.id, sizeof(draft));
        vug_sampler_release(&sampler);
        vug_session_destroy(s);
        vug_generation_release(&g);
    }
    vug_model_close(m);
}

/* A session takes back the drafts that were not accepted: it writes what a new one writes. */
static void test_refused_drafts_leave_no_trace(void **state)
{
    (void)state;
    enum { PROMPT = 50, ROUNDS = 60 };
    vug_model *m = help_model(TARGET,
                              (vug_model_options){ .context = 512, .draft = TARGET, .threads = 1 });
    int32_t id[PROMPT + ROUNDS], draft[VUG_MAX_DRAFT], expected[VUG_MAX_DRAFT];
    uint64_t random = 5;
    vug_err err = { 0 };
    help_tokens(7, id, PROMPT + ROUNDS, vug_model_describe(m).n_vocab);
    const vug_sampling sampling = { .sampler = chains[2].sampler, .n = chains[2].n };
    vug_sampler sampler = open_sampler(m, &sampling, id, PROMPT);
    vug_session *s = open_draft(m);
    for (int i = 0; i < ROUNDS; i++) {
        const size_t n = 1 + help_random(&random, VUG_MAX_DRAFT);
        const size_t n_accepted = help_random(&random, n), before = sampler.history.n;
        vug_session *new = open_draft(m);
        vug_session_reset(new);
        assert_true(vug_draft_session_write(s, &sampler, draft, n, NULL));
        assert_true(vug_draft_session_write(new, &sampler, expected, n, NULL));
        vug_session_destroy(new);
        assert_memory_equal(draft, expected, n * sizeof(*draft));
        assert_int_equal(sampler.history.n, before);
        for (size_t k = 0; k < n_accepted; k++)
            help_ok(vug_sampler_accept(&sampler, draft[k], &err), &err);
        help_ok(vug_sampler_accept(&sampler, id[PROMPT + i], &err), &err);
    }
    assert_true(sampler.history.n > 192);
    vug_session_destroy(s);
    vug_sampler_release(&sampler);
    vug_model_close(m);
}

/* A published page keeps its tokens: others may use it. */
static void test_sequence_is_not_cut_inside_a_published_page(void **state)
{
    (void)state;
    enum { N = VUG_KV_PAGE + 10 };
    int32_t id[N];
    vug_model *m = help_model(TARGET, (vug_model_options){ .context = 512, .threads = 1 });
    vug_session *s = help_session(m);
    help_tokens(1, id, N, vug_model_describe(m).n_vocab);
    (void)help_forward(s, id, N);
    assert_false(vug_kv_sequence_truncate(&s->sequence.kv, VUG_KV_PAGE - 1));
    assert_false(vug_kv_sequence_truncate(&s->sequence.kv, N + 1));
    assert_int_equal(vug_session_length(s), N);
    assert_true(vug_kv_sequence_truncate(&s->sequence.kv, VUG_KV_PAGE));
    assert_int_equal(vug_session_length(s), VUG_KV_PAGE);
    vug_session_destroy(s);
    vug_model_close(m);
}

static void test_sequence_beyond_the_context_gets_no_drafts(void **state)
{
    (void)state;
    enum { PROMPT = 100 };
    int32_t id[PROMPT];
    vug_model *m = help_model(TARGET,
                              (vug_model_options){ .context = 512, .draft = TARGET, .threads = 1 });
    m->draft->info.context = PROMPT + 4;
    help_tokens(1, id, PROMPT, vug_model_describe(m).n_vocab);
    const vug_sampling sampling = { .sampler = chains[0].sampler, .n = chains[0].n };
    vug_sampler sampler = open_sampler(m, &sampling, id, PROMPT);
    vug_session *s = open_draft(m);
    int32_t draft[VUG_MAX_DRAFT];
    assert_true(vug_draft_session_write(s, &sampler, draft, 4, NULL));
    assert_false(vug_draft_session_write(s, &sampler, draft, 5, NULL));
    vug_session_destroy(s);
    vug_sampler_release(&sampler);
    vug_model_close(m);
}

static void test_draft_model_counts_in_the_memory_plan(void **state)
{
    (void)state;
    const vug_model_options alone = { .context = 256, .slots = 3 };
    vug_model_options with = alone;
    with.draft = GOLDEN("gemma4-dense");
    vug_model *a = help_model(TARGET, alone), *b = help_model(TARGET, with),
              *draft = help_model(with.draft, alone);
    const vug_memory_plan plan = vug_model_describe(b).memory,
                          own = vug_model_describe(draft).memory;
    assert_int_equal(vug_model_describe(a).memory.draft, 0);
    assert_int_equal(plan.draft, own.total - own.process);
    assert_int_equal(plan.total, vug_model_describe(a).memory.total + plan.draft);
    assert_int_equal(vug_kv_pool_get_stats(b->draft->kv_pool).budget, own.cache);
    vug_model_close(a);
    vug_model_close(b);
    vug_model_close(draft);
}

static void test_other_tokens_are_refused(void **state)
{
    (void)state;
    vug_model *m;
    vug_err err = { 0 };
    vug_model_options o = { .draft = GOLDEN("qwen3") };
    help_refused(
            vug_model_open(TARGET, &o, &m, &err), &err, VUG_ARGUMENT, NULL,
            "the draft model " GOLDEN("qwen3") " has 61 tokens and " TARGET
                                               " has 384: a draft model needs the same tokenizer");
    o.draft = TARGET;
    help_refused(vug_model_open("models/pebble", &o, &m, &err), &err, VUG_ARGUMENT, NULL,
                 "the draft model " TARGET " has no tokenizer and models/pebble has one: a draft "
                 "model needs the same one");
    o.draft = GOLDEN("none");
    assert_int_not_equal(vug_model_open(TARGET, &o, &m, &err), VUG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_are_the_same),
        cmocka_unit_test(test_drafts_are_what_the_model_would_choose),
        cmocka_unit_test(test_refused_drafts_leave_no_trace),
        cmocka_unit_test(test_drafts_of_another_model_change_nothing),
        cmocka_unit_test(test_sequence_is_not_cut_inside_a_published_page),
        cmocka_unit_test(test_sequence_beyond_the_context_gets_no_drafts),
        cmocka_unit_test(test_draft_model_counts_in_the_memory_plan),
        cmocka_unit_test(test_other_tokens_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
