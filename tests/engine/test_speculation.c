/*
 * When there are drafts, with given times of steps: never for long if they do not help. And whether
 * they help or not, answers are the same with and without speculation, and drafts leave no trace in
 * what is cached.
 */
#include "test.h"

#include <pthread.h>

#include "core/cancel.h"
#include "engine_help.h"
#include "vug/grammar.h"

static const vug_forward_options none; /* no cancel token */

/* ---- the number of drafts ------------------------------------------------------------- */

/* A machine, and a text. */
typedef struct {
    double extra;      /* what a draft adds to the time of a step, in steps */
    size_t correct;    /* of 100 drafts */
    double model_cost; /* what a model takes to write a draft, in steps; 0: no model, and a text whose
                          tokens repeat, so that there always is a match */
} simulation;

/* The time of an answer of `n_tokens` without speculation, divided by that with it. */
static double simulate(const simulation *sim, vug_speculation *s, size_t n_tokens)
{
    enum { PERIOD = 10, PROMPT = 40, MOST = 2000 };
    int32_t id[PROMPT + MOST], draft[VUG_MAX_DRAFT];
    vug_err err = { 0 };
    uint64_t random = 1;
    double seconds = 0;
    assert_in_range(n_tokens, 1, MOST);
    for (size_t i = 0; i < PROMPT + n_tokens; i++)
        id[i] = (int32_t)(sim->model_cost > 0 ? i : i % PERIOD);
    vug_step_costs costs;
    vug_step_costs_init(&costs);
    const vug_speculation_start start = { .costs = &costs, .n_tokens = PROMPT + n_tokens };
    help_ok(vug_speculation_init(s, &start, &err), &err);
    for (size_t n = PROMPT; n < PROMPT + n_tokens; n++) {
        size_t k = vug_speculation_draft(s, id, n, draft, VUG_MAX_DRAFT);
        if (sim->model_cost > 0) {
            k = vug_speculation_ask_model(s, VUG_MAX_DRAFT);
            const double drafting = 0.01 * sim->model_cost * (double)k;
            seconds += drafting;
            if (k > 0)
                vug_speculation_add_model_drafts(s, k, drafting);
        }
        const double step = 0.01 * (1 + sim->extra * (double)k);
        vug_speculation_add_step(s, 1, k, true, step);
        seconds += step;
        for (size_t i = 0; i < k && help_random(&random, 100) < sim->correct; i++, n++)
            vug_speculation_accept(s);
    }
    return 0.01 * (double)n_tokens / seconds;
}

static void test_wrong_drafts_cost_little(void **state)
{
    (void)state;
    for (int extra = 0; extra <= 20; extra++) {
        for (size_t n_tokens = 100; n_tokens <= 2000; n_tokens += 950) {
            vug_speculation s;
            const simulation sim = { .extra = extra / 20.0 };
            const double gain = simulate(&sim, &s, n_tokens);
            if (gain < 0.97)
                fail_msg("%zu tokens, extra %.2f: %.3f", n_tokens, sim.extra, gain);
            vug_speculation_release(&s);
        }
    }
}

static void test_some_right_drafts_never_cost_much(void **state)
{
    (void)state;
    for (int extra = 0; extra <= 20; extra++) {
        for (size_t correct = 0; correct <= 100; correct += 5) {
            vug_speculation s;
            const simulation sim = { .extra = extra / 20.0, .correct = correct };
            const double gain = simulate(&sim, &s, 1000);
            if (gain < 0.97)
                fail_msg("%zu %% correct, extra %.2f: %.3f", correct, sim.extra, gain);
            vug_speculation_release(&s);
        }
    }
}

static void test_drafts_of_a_model_never_cost_much(void **state)
{
    (void)state;
    for (int cost = 1; cost <= 20; cost++) {
        for (size_t correct = 0; correct <= 100; correct += 5) {
            vug_speculation s;
            const simulation sim = { .extra = 0.2, .correct = correct, .model_cost = cost / 20.0 };
            const double gain = simulate(&sim, &s, 1000);
            if (gain < 0.97)
                fail_msg("%zu %% correct, a draft costs %.2f: %.3f", correct, sim.model_cost, gain);
            vug_speculation_release(&s);
        }
    }
}

static void test_right_drafts_help(void **state)
{
    (void)state;
    vug_speculation s;
    assert_true(simulate(&(simulation){ .extra = 0.3, .correct = 100 }, &s, 300) > 2);
    assert_true(s.n_accepted > 150);
    vug_speculation_release(&s);
    assert_true(simulate(&(simulation){ .extra = 0.02, .correct = 60 }, &s, 300) > 1.5);
    vug_speculation_release(&s);
    assert_true(simulate(&(simulation){ .extra = 0.1, .correct = 90, .model_cost = 0.1 }, &s, 300) >
                1.8);
    assert_true(s.n_accepted > 150);
    vug_speculation_release(&s);
}

/* They are switched off when they stop to help, and tried again. */
static void test_drafts_are_tried_again(void **state)
{
    (void)state;
    vug_speculation s;
    (void)simulate(&(simulation){ .extra = 0.3 }, &s, 1000);
    assert_in_range(s.n_drafted, 5, 100);
    vug_speculation_release(&s);
}

/* ---- drafts leave no trace -------------------------------------------------------------- */

enum { LENGTH = 200, THREADS = 4, ROUNDS = 3 };

typedef struct {
    vug_model *model;
    const int32_t *id; /* [LENGTH] */
    float *logits;     /* [LENGTH, n_vocab] of a cold run */
    size_t n_vocab;
    uint64_t random;
    size_t n_wrong, n_accepted, n_refused;
    vug_err err;
} drafter;

/* One step from `at`: right drafts, and perhaps a wrong one and some after it. Returns the tokens
 * that the sequence has then. */
static size_t draft_step(drafter *d, vug_session *s, size_t at)
{
    int32_t token[1 + VUG_MAX_DRAFT];
    const size_t left = LENGTH - at - 1;
    size_t n_draft = help_random(&d->random, VUG_MAX_DRAFT + 1);
    n_draft = n_draft < left ? n_draft : left;
    memcpy(token, d->id + at, (1 + n_draft) * sizeof(*token));
    const size_t wrong = help_random(&d->random, VUG_MAX_DRAFT);
    if (wrong < n_draft)
        token[1 + wrong] = (token[1 + wrong] + 1) % (int32_t)d->n_vocab;
    if (vug_session_extend_with_drafts(s, token, 1 + n_draft, n_draft, &none, &d->err) != VUG_OK)
        return LENGTH;
    const size_t stop = help_random(&d->random, VUG_MAX_DRAFT); /* not all need to be accepted */
    for (size_t i = 0;; i++, at++) {
        const float *expected = d->logits + at * d->n_vocab;
        d->n_wrong += help_difference(vug_session_logits(s), expected, d->n_vocab) < d->n_vocab;
        d->n_wrong += vug_session_length(s) != at + 1;
        if (i > stop || at + 1 == LENGTH || !vug_session_accept_draft(s, d->id[at + 1]))
            break;
        d->n_accepted++;
    }
    d->n_refused += s->n_draft > s->n_accepted;
    return at + 1;
}

static void *draft_all(void *arg)
{
    drafter *d = arg;
    vug_session *s = NULL;
    if (vug_session_create(d->model, &s, &d->err) != VUG_OK)
        return NULL;
    for (int round = 0; round < ROUNDS && d->err.code == VUG_OK; round++) {
        const size_t begin = 1 + help_random(&d->random, LENGTH - 1);
        if (vug_session_forward(s, d->id, begin, NULL, &d->err) != VUG_OK)
            break;
        for (size_t at = begin; at < LENGTH && d->err.code == VUG_OK;)
            at = draft_step(d, s, at);
    }
    vug_session_destroy(s);
    return NULL;
}

static bool keep_rows(const vug_step *step, void *user)
{
    const drafter *d = user;
    memcpy(d->logits + (size_t)step->first * d->n_vocab, step->logits,
           (size_t)step->n * d->n_vocab * sizeof(float));
    return true;
}

static void check_drafts(const char *path, vug_model_options options, int threads)
{
    int32_t id[LENGTH];
    pthread_t thread[THREADS];
    drafter d[THREADS];
    vug_err err = { 0 };
    vug_model *m = help_model(path, options);
    drafter first = { .model = m, .id = id, .n_vocab = (size_t)vug_model_describe(m).n_vocab };
    first.logits = vug_alloc(LENGTH * first.n_vocab, sizeof(float));
    assert_non_null(first.logits);
    help_tokens(1, id, LENGTH, (int64_t)first.n_vocab);
    vug_session *cold = help_session(m);
    const vug_forward_options all = { .all_logits = true, .on_step = keep_rows, .user = &first };
    help_ok(vug_session_forward(cold, id, LENGTH, &all, &err), &err);
    vug_session_destroy(cold);
    for (int i = 0; i < threads; i++) {
        d[i] = first;
        d[i].random = (uint64_t)i;
        assert_int_equal(pthread_create(&thread[i], NULL, draft_all, &d[i]), 0);
    }
    for (int i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        if (d[i].err.code)
            fail_msg("%s", d[i].err.msg);
        assert_int_equal(d[i].n_wrong, 0);
    }
    if (threads == 1)
        assert_true(d[0].n_accepted > 10 && d[0].n_refused > 10);
    const vug_prefix_stats tree = vug_prefix_get_stats(m->prefix_tree);
    assert_int_equal(vug_kv_pool_get_stats(m->kv_pool).used, tree.bytes); /* no page is lost */
    vug_model_close(m);
    vug_free(first.logits);
}

static void test_drafts_leave_no_trace(void **state)
{
    vug_model_options o = { .context = LENGTH, .batch = 64, .threads = 1, .slots = 4 };
    check_drafts(*state, o, 1);
    check_drafts(*state, o, THREADS);
    o.kv_memory = help_context_bytes(*state, o);
    check_drafts(*state, o, 1);
    check_drafts(*state, o, THREADS);
}

/* Another sequence takes the pages before the drafts are accepted. */
static void test_accepted_drafts_are_computed_again_without_pages(void **state)
{
    (void)state;
    enum { V = 384, BEGIN = 100, DRAFT = 3 };
    vug_model *m = help_model(GOLDEN("gemma3-text"), (vug_model_options){ .context = 256 });
    vug_session *s = help_session(m);
    int32_t id[BEGIN + DRAFT + 2];
    vug_err err = { 0 };
    help_tokens(1, id, BEGIN + DRAFT + 2, V);
    (void)help_forward(s, id, BEGIN);
    help_ok(vug_session_extend_with_drafts(s, id + BEGIN, 1 + DRAFT, DRAFT, &none, &err), &err);
    vug_kv_sequence_suspend(&s->sequence.kv);
    for (int i = 1; i <= DRAFT; i++)
        assert_true(vug_session_accept_draft(s, id[BEGIN + i]));
    assert_false(vug_session_accept_draft(s, id[BEGIN + DRAFT + 1]));
    float *alone = help_alone(m, id, BEGIN + DRAFT + 2);
    help_ok(vug_session_extend_with_drafts(s, id + BEGIN + DRAFT + 1, 1, 0, &none, &err), &err);
    assert_int_equal(vug_session_length(s), BEGIN + DRAFT + 2);
    help_same_bits(vug_session_logits(s), alone, V);
    vug_free(alone);
    vug_session_destroy(s);
    vug_model_close(m);
}

/* ---- answers ------------------------------------------------------------------------------ */

/* What callers see of an answer beside its tokens. */
typedef struct {
    uint64_t hash; /* of the pieces and their log-probabilities */
    size_t n, stop_after;
    vug_cancel_token *cancel; /* NULL, or triggered instead of returning false */
} answer_pieces;

static bool add_piece(const vug_piece *piece, void *user)
{
    answer_pieces *p = user;
    uint32_t bits = 0;
    memcpy(&bits, &piece->logprob, sizeof(bits));
    uint64_t state = p->hash ^ (uint32_t)piece->token ^ (uint64_t)bits << 32;
    p->hash = help_bits(&state) + piece->len;
    if (++p->n != p->stop_after)
        return true;
    if (p->cancel)
        vug_cancel_token_trigger(p->cancel);
    return p->cancel != NULL;
}

typedef struct {
    vug_model *model;
    const int32_t *id;
    size_t n;
    vug_generate_options how;
    size_t stop_after;
    bool cancels;
} answer_case;

static vug_generation answer(const answer_case *c, vug_speculation_mode mode, answer_pieces *pieces)
{
    vug_cancel_token cancel = { 0 };
    vug_generate_options o = c->how;
    vug_generation g = { 0 };
    vug_err err = { 0 };
    vug_session *s = help_session(c->model);
    *pieces = (answer_pieces){ .stop_after = c->stop_after, .cancel = c->cancels ? &cancel : NULL };
    o.speculation = mode;
    o.on_piece = add_piece;
    o.user = pieces;
    o.cancel = c->cancels ? &cancel : NULL;
    help_ok(vug_generate(s, c->id, c->n, &o, &g, &err), &err);
    vug_session_destroy(s);
    return g;
}

/* Returns the number of drafts that were accepted. */
static size_t check_answer(const answer_case *c)
{
    answer_pieces plain, drafted;
    vug_generation a = answer(c, VUG_SPECULATION_OFF, &plain);
    vug_generation b = answer(c, VUG_SPECULATION_LOOKUP, &drafted);
    const size_t n_accepted = b.n_accepted;
    assert_int_equal(a.n_drafted, 0);
    assert_true(n_accepted <= b.n_drafted);
    assert_int_equal(a.tokens.n, b.tokens.n);
    assert_memory_equal(a.tokens.id, b.tokens.id, a.tokens.n * sizeof(*a.tokens.id));
    assert_int_equal(a.finish, b.finish);
    assert_int_equal(plain.n, drafted.n);
    assert_true(plain.hash == drafted.hash);
    vug_generation_release(&a);
    vug_generation_release(&b);
    return n_accepted;
}

static const struct {
    size_t n;
    vug_sampler_config sampler[3];
} chains[] = {
    { 1, { { VUG_SAMPLER_TEMPERATURE, 0, 0 } } },
    { 1, { { VUG_SAMPLER_TEMPERATURE, 0.7f, 0 } } },
    { 2, { { VUG_SAMPLER_REPETITION, 1.02f, 0 }, { VUG_SAMPLER_TEMPERATURE, 0, 0 } } },
    { 3,
      { { VUG_SAMPLER_DRY, 0.8f, 0 },
        { VUG_SAMPLER_TEMPERATURE, 1, 0 },
        { VUG_SAMPLER_TOP_K, 4, 0 } } },
};
enum { CHAINS = sizeof(chains) / sizeof(*chains) };

/* An answer under settings that the random numbers choose. */
static size_t check_some_answer(vug_model *model, const int32_t *id, size_t n, uint64_t *random,
                                const vug_grammar *grammar)
{
    const size_t chain = help_random(random, CHAINS);
    const int32_t stop = id[help_random(random, n)];
    const uint64_t end = help_random(random, 6);
    const answer_case c = {
        .model = model,
        .id = id,
        .n = n,
        .how = { .sampling = { .sampler = chains[chain].sampler,
                               .n = chains[chain].n,
                               .seed = help_random(random, 1000) },
                 .grammar = grammar,
                 .max_tokens = end == 0 ? 0 : 1 + (int)help_random(random, 100),
                 .min_tokens = (int)help_random(random, 20),
                 .ignore_stop = !grammar && help_random(random, 2),
                 .logprobs = help_random(random, 2),
                 .stop = &stop,
                 .n_stop = end == 1 },
        .stop_after = end == 2 || end == 3 ? 1 + help_random(random, 60) : 0,
        .cancels = end == 3,
    };
    return check_answer(&c);
}

static void test_answers_are_the_same(void **state)
{
    enum { CASES = 16, PROMPT = 90 };
    uint64_t random = 7;
    size_t n_accepted = 0;
    vug_model *m = help_model(*state, (vug_model_options){ .context = 192, .threads = 1 });
    const int64_t n_vocab = vug_model_describe(m).n_vocab;
    for (uint64_t i = 0; i < CASES; i++) {
        int32_t id[PROMPT];
        const size_t period = 1 + help_random(&random, PROMPT);
        help_tokens(i, id, period, n_vocab);
        for (size_t k = period; k < PROMPT; k++)
            id[k] = id[k - period];
        n_accepted += check_some_answer(m, id, PROMPT, &random, NULL);
    }
    assert_true(n_accepted > 0);
    vug_model_close(m);
}

static void test_answers_with_a_grammar_are_the_same(void **state)
{
    (void)state;
    static const char prompt[] =
            "<start_of_turn>user\nFill this in: {\"budget\": \"...\", \"owner\": \"...\"}\nThe "
            "owner is "
            "Mina Flola. The budget is 12.13.11.<end_of_turn>\n<start_of_turn>model\n";
    vug_model *m = help_model("models/pebble", (vug_model_options){ .context = 256, .threads = 1 });
    uint64_t random = 3;
    size_t n_accepted = 0;
    vug_tokens id;
    vug_grammar *grammar;
    vug_err err = { 0 };
    const vug_tokenizer *tokenizer = vug_model_tokenizer(m, &err);
    help_ok(vug_tokenizer_encode(tokenizer, prompt, strlen(prompt),
                                 VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_SPECIAL, &id, &err),
            &err);
    help_ok(vug_grammar_create(VUG_GRAMMAR_JSON, "", 0, tokenizer, &grammar, &err), &err);
    for (int i = 0; i < 6; i++)
        n_accepted += check_some_answer(m, id.id, id.n, &random, i % 2 ? grammar : NULL);
    assert_true(n_accepted > 0);
    vug_grammar_destroy(grammar);
    vug_tokens_release(&id);
    vug_model_close(m);
}

int main(void)
{
    static char window[] = GOLDEN("gemma3-text"), shared[] = GOLDEN("gemma4-e"),
                full[] = GOLDEN("qwen3"), pebble[] = "models/pebble";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_drafts_cost_little),
        cmocka_unit_test(test_some_right_drafts_never_cost_much),
        cmocka_unit_test(test_drafts_of_a_model_never_cost_much),
        cmocka_unit_test(test_right_drafts_help),
        cmocka_unit_test(test_drafts_are_tried_again),
        cmocka_unit_test_prestate(test_drafts_leave_no_trace, window),
        cmocka_unit_test_prestate(test_drafts_leave_no_trace, shared),
        cmocka_unit_test_prestate(test_drafts_leave_no_trace, full),
        cmocka_unit_test(test_accepted_drafts_are_computed_again_without_pages),
        cmocka_unit_test_prestate(test_answers_are_the_same, window),
        cmocka_unit_test_prestate(test_answers_are_the_same, shared),
        cmocka_unit_test_prestate(test_answers_are_the_same, pebble),
        cmocka_unit_test(test_answers_with_a_grammar_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
