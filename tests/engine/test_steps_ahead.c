/*
 * Steps that are started before the last one has ended: answers are those of steps one after the other,
 * however they end. On the CPU, which only runs steps, started_steps.h makes them be started.
 */
#include "test.h"

#include <math.h>
#include <pthread.h>

#include "core/cancel.h"
#include "engine/scheduler_state.h"
#include "engine_help.h"
#include "running_extensions.h"
#include "started_steps.h"

enum { ANSWERS = 6, TURNS = 3, PROMPT = 70, TOKENS = 60, ROUNDS = 3, ENOUGH_AHEAD = 9 };
enum { MOST_TOP = VUG_MAX_TOP_LOGPROBS };

/* How an answer ends, of tokens that are computed ahead. */
typedef enum { BY_LENGTH, BY_CALLER, BY_CANCEL, ENDS } answer_end;

typedef struct {
    vug_model *model;
    size_t index, n_pieces;
    vug_cancel_token *cancel;
    size_t n[TURNS];
    vug_err err;
    answer_end end;
    vug_status st;
    int32_t id[TURNS][TOKENS];
    bool looks_up; /* drafts */
    float temperature, presence;
    bool logprobs;
    struct {
        float of_token;
        vug_logprob top[MOST_TOP];
    } logprob[TURNS][TOKENS];
    size_t turn, n_top;
} talker;

static bool count_piece(const vug_piece *piece, void *user)
{
    talker *t = user;
    if (t->logprobs && piece->token >= 0) {
        t->logprob[t->turn][t->n_pieces].of_token = piece->logprob;
        memcpy(t->logprob[t->turn][t->n_pieces].top, piece->top, t->n_top * sizeof(*piece->top));
    }
    t->n_pieces += piece->token >= 0;
    const bool is_last = t->n_pieces >= 10 + t->index;
    if (t->end == BY_CANCEL && is_last)
        vug_cancel_token_trigger(t->cancel);
    return t->end != BY_CALLER || !is_last;
}

/* Answers of one session: all but the first begin when steps ahead of the last one may still run. */
static void *talk(void *arg)
{
    talker *t = arg;
    const vug_sampler_config sampler[] = {
        { .kind = VUG_SAMPLER_PRESENCE, .value = t->presence },
        { .kind = VUG_SAMPLER_TEMPERATURE, .value = t->temperature },
    };
    const vug_generate_options o = { .sampling = { .sampler = sampler, .n = 2, .seed = t->index },
                                     .max_tokens = TOKENS,
                                     .ignore_stop = true,
                                     .logprobs = t->logprobs,
                                     .n_top = (int)t->n_top,
                                     .speculation = t->looks_up ? VUG_SPECULATION_LOOKUP
                                                                : VUG_SPECULATION_OFF,
                                     .on_piece = count_piece,
                                     .cancel = t->cancel,
                                     .user = t };
    vug_session *s = help_session(t->model);
    int32_t id[PROMPT];
    for (size_t turn = 0; turn < TURNS && t->st == VUG_OK; turn++) {
        vug_generation got = { 0 };
        help_tokens(t->index + turn, id, PROMPT, vug_model_describe(t->model).n_vocab);
        t->n_pieces = 0;
        t->turn = turn;
        vug_cancel_token_reset(t->cancel);
        t->st = vug_generate(s, id, PROMPT, &o, &got, &t->err);
        if (t->st == VUG_OK) {
            memcpy(t->id[turn], got.tokens.id, got.tokens.n * sizeof(*got.tokens.id));
            t->n[turn] = got.tokens.n;
        }
        vug_generation_release(&got);
    }
    vug_session_destroy(s);
    return NULL;
}

static talker new_talker(vug_model *m, size_t i)
{
    talker t;
    memset(&t, 0, sizeof(t));
    t.model = m;
    t.index = i;
    t.end = (answer_end)(i % ENDS);
    t.looks_up = i % 2 == 0;
    t.temperature = i % 4 < 2 ? 0 : 0.8F;
    t.logprobs = i % 3 == 1;
    t.n_top = i % 3 == 1 ? 2 + i : 0;
    help_ok(vug_cancel_token_create(&t.cancel, &t.err), &t.err);
    return t;
}

static void check_talker(talker *t, const talker *expected)
{
    help_ok(t->st, &t->err);
    assert_memory_equal(t->n, expected->n, sizeof(t->n));
    for (size_t turn = 0; turn < TURNS; turn++)
        assert_memory_equal(t->id[turn], expected->id[turn], t->n[turn] * sizeof(int32_t));
    assert_memory_equal(t->logprob, expected->logprob, sizeof(t->logprob));
    vug_cancel_token_destroy(t->cancel);
}

/* Side by side, with steps ahead. */
static void check_threads(const talker *expected, size_t first, size_t n)
{
    talker t[ANSWERS];
    pthread_t thread[ANSWERS];
    for (size_t i = first; i < first + n; i++) {
        t[i] = new_talker(expected[i].model, i);
        assert_int_equal(pthread_create(&thread[i], NULL, talk, &t[i]), 0);
    }
    for (size_t i = first; i < first + n; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        check_talker(&t[i], &expected[i]);
    }
}

static void test_answers_are_those_of_single_steps(void **state)
{
    vug_model *m = help_model(*state, (vug_model_options){ .context = 256, .batch = 64 });
    vug_scheduler *s = m->scheduler;
    talker expected[ANSWERS];
    help_run_steps(m);
    for (size_t i = 0; i < ANSWERS; i++) {
        expected[i] = new_talker(m, i);
        talk(&expected[i]);
        check_talker(&expected[i], &expected[i]);
    }
    assert_int_equal(s->n_ahead, 0);
    help_start_steps(m);
    for (size_t i = 0; i < ANSWERS; i++) {
        const size_t before = s->n_ahead, unclaimed = s->n_unclaimed;
        check_threads(expected, i, 1);
        if (expected[i].looks_up)
            continue;
        assert_true(s->n_ahead > before + ENOUGH_AHEAD);
        assert_true(s->n_unclaimed <= unclaimed + (size_t)TURNS * VUG_STEPS_STARTED);
    }
    for (int round = 0; round < ROUNDS; round++)
        check_threads(expected, 0, ANSWERS);
    assert_false(s->running);
    const vug_prefix_stats tree = vug_prefix_get_stats(m->prefix_tree);
    assert_int_equal(vug_kv_pool_get_stats(m->kv_pool).used, tree.bytes); /* no page is lost */
    help_run_steps(m);
    vug_model_close(m);
}

/* The step of the last token of a prompt, whose others are in the cache, is followed as those of the answer
 * are, also if the list of its logits takes the place of a whole row. */
static void test_first_tokens_are_followed(void **state)
{
    enum { LEFT = 4 };
    (void)state;
    vug_model *m = help_model(GOLDEN("qwen3"), (vug_model_options){ .context = 256 });
    vug_scheduler *s = m->scheduler;
    const vug_generate_options o = { .max_tokens = LEFT, .ignore_stop = true };
    vug_session *session = help_session(m);
    vug_generation expected = { 0 }, got = { 0 };
    vug_err err = { 0 };
    int32_t id[PROMPT];
    help_tokens(1, id, PROMPT, vug_model_describe(m).n_vocab);
    help_run_steps(m);
    help_ok(vug_generate(session, id, PROMPT, &o, &expected, &err), &err);
    help_start_steps(m);
    vug_session_reset(session);
    help_ok(vug_session_forward(session, id, PROMPT - 1, NULL, &err), &err);
    help_ok(vug_generate(session, id, PROMPT, &o, &got, &err), &err);
    assert_int_equal(got.tokens.n, LEFT);
    assert_memory_equal(got.tokens.id, expected.tokens.id, LEFT * sizeof(*got.tokens.id));
    assert_int_equal(s->n_ahead, LEFT - 1);
    assert_int_equal(s->n_unclaimed, 0);
    help_run_steps(m);
    vug_generation_release(&expected);
    vug_generation_release(&got);
    vug_session_destroy(session);
    vug_model_close(m);
}

/* Drafts are for a sequence alone, so that beside others the device decides on each token. */
static void test_answers_beside_others_have_no_drafts(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("qwen3"), (vug_model_options){ .context = 256, .slots = 2 });
    vug_scheduled other = { 0 };
    int32_t id[PROMPT];
    if (m->main.compiled.backend->start) { /* it does not count rows */
        vug_model_close(m);
        skip();
    }
    talker t = new_talker(m, 0);
    assert_true(t.looks_up);
    t.temperature = 0.01F; /* it repeats itself, so that there are drafts */
    help_start_steps(m);
    talk(&t);
    const size_t alone = help_undecided_rows();
    assert_true(alone > 0);
    help_tokens(9, id, PROMPT, m->info.n_vocab);
    add_sequence(m->scheduler, &other, id, PROMPT);
    talk(&t);
    help_ok(t.st, &t.err);
    assert_int_equal(help_undecided_rows(), alone);
    help_run_steps(m);
    vug_cancel_token_destroy(t.cancel);
    vug_scheduler_remove(m->scheduler, &other);
    vug_model_close(m);
}

/* Penalties and log-probabilities: the device decides on all tokens. No step is ahead of penalties. */
static void check_on_device(talker expected)
{
    vug_model *m = expected.model;
    talker t = expected;
    help_run_steps(m);
    const vug_backend *backend = m->main.compiled.backend;
    vug_backend host_draws = *backend;
    host_draws.draws_tokens = NULL;
    m->main.compiled.backend = &host_draws;
    talk(&expected);
    help_ok(expected.st, &expected.err);
    m->main.compiled.backend = backend;
    help_start_steps(m);
    const size_t n_ahead = m->scheduler->n_ahead;
    talk(&t);
    assert_int_equal(help_undecided_rows(), 0);
    if (t.presence > 0)
        assert_int_equal(m->scheduler->n_ahead, n_ahead);
    else
        assert_true(m->scheduler->n_ahead > n_ahead + ENOUGH_AHEAD);
    check_talker(&t, &expected);
}

static void test_changed_and_reported_logits_are_those_of_the_host(void **state)
{
    (void)state;
    static const struct {
        float temperature, presence;
        bool logprobs;
        size_t n_top;
    } settings[] = {
        { 0, 3, false, 0 },   { 0.8F, 3, false, 0 }, { 0, 0, true, 0 },
        { 0.8F, 0, true, 5 }, { 0.8F, 3, true, 1 },  { 0, 3, true, MOST_TOP },
    };
    vug_model *m = help_model(GOLDEN("qwen3"), (vug_model_options){ .context = 256 });
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        talker t = new_talker(m, ENDS * 2 + 1);
        t.looks_up = false;
        t.temperature = settings[i].temperature;
        t.presence = settings[i].presence;
        t.logprobs = settings[i].logprobs;
        t.n_top = settings[i].n_top;
        check_on_device(t);
    }
    help_run_steps(m);
    vug_model_close(m);
}

/* ---- calls that come late ----------------------------------------------------------------------- */

enum { PAIR = 2, LENGTH = 20, STEPS = 5 };

/* The greatest logit after the first `n` tokens of a sequence. */
typedef struct {
    size_t sequence, n;
    vug_candidate best;
} found_best;

/* Two sequences whose last step has another one behind it. */
typedef struct {
    vug_model *model;
    vug_scheduler *scheduler;
    vug_scheduled sequence[PAIR];
    running_extension e[PAIR];
    int32_t id[PAIR][LENGTH + STEPS]; /* each token after LENGTH is the best one */
    size_t n[PAIR];
    found_best found[PAIR * STEPS];
    size_t n_found;
} late_pair;

static vug_extension greedy_job(const vug_model *m, const int32_t *token, size_t n,
                                vug_logits_row *logits)
{
    return (vug_extension){ .token = token,
                            .n = n,
                            .logits = logits,
                            .rows = 1,
                            .wanted = { .best = 1, .n_ids = m->info.n_vocab },
                            .n_more = STEPS };
}

/* Makes the best token the next one of a sequence. */
static void add_best(late_pair *p, size_t i)
{
    const int32_t best = vug_logits_row_best(&p->e[i].logits);
    assert_int_equal(p->sequence[i].kv.n_tokens, p->n[i]);
    p->found[p->n_found++] = (found_best){ i, p->n[i], { best, p->e[i].logits.logit[best] } };
    p->id[i][p->n[i]] = best;
}

/* Compares the best logits with those of sequences alone. */
static void check_best(const late_pair *p)
{
    for (size_t i = 0; i < p->n_found; i++) {
        const found_best *f = &p->found[i];
        float *alone = help_alone(p->model, p->id[f->sequence], f->n);
        const vug_logits_source all = { .all = alone };
        assert_int_equal(f->best.id, vug_logits_source_best(&all, (size_t)p->model->info.n_vocab));
        help_same_bits(&f->best.logit, &alone[f->best.id], 1);
        vug_free(alone);
    }
}

/* The next call of one of the sequences. */
static void extend_one(late_pair *p, size_t i)
{
    vug_err err = { 0 };
    const vug_extension job = greedy_job(p->model, p->id[i] + p->n[i]++, 1, &p->e[i].logits);
    help_ok(vug_scheduler_extend(p->scheduler, &p->sequence[i], &job, &err), &err);
    add_best(p, i);
}

/* `ends`: the sequence that ends with the step behind which another one is started; PAIR: none. */
static void begin_pair(late_pair *p, size_t ends)
{
    *p = (late_pair){ .model = help_model(GOLDEN("qwen3"),
                                          (vug_model_options){ .context = 256, .slots = 2 }) };
    p->scheduler = p->model->scheduler;
    for (size_t i = 0; i < PAIR; i++) {
        help_tokens(i + 2, p->id[i], LENGTH, p->model->info.n_vocab);
        add_sequence(p->scheduler, &p->sequence[i], p->id[i], LENGTH);
        p->e[i].sequence = &p->sequence[i];
    }
    for (size_t step = 0; step < 2; step++) {
        for (size_t i = 0; i < PAIR; i++) {
            const size_t n = step == 0 ? LENGTH - 1 : 1;
            p->e[i].job = greedy_job(p->model, p->id[i] + p->n[i], n, NULL);
            if (i == ends)
                p->e[i].job.n_more = 0;
            p->n[i] += n;
        }
        if (step == 1)
            help_start_steps(p->model);
        start_together(p->scheduler, p->e, PAIR);
        vug_scheduler_release_device(p->scheduler);
        join_all(p->e, PAIR);
        for (size_t i = 0; i < PAIR; i++) {
            help_ok(p->e[i].st, &p->e[i].err);
            if (step == 0)
                vug_logits_row_release(&p->e[i].logits);
        }
    }
    assert_true(p->scheduler->has_ahead);
    for (size_t i = 0; i < PAIR; i++)
        add_best(p, i);
}

/* The call of one sequence takes the step ahead; the other's has not come. */
static void begin_with_late_call(late_pair *p)
{
    begin_pair(p, PAIR);
    extend_one(p, 0);
    assert_true(p->sequence[1].ahead.has_result);
}

static void end_pair(late_pair *p)
{
    for (size_t i = 0; i < PAIR; i++) {
        vug_scheduler_remove(p->scheduler, &p->sequence[i]);
        vug_logits_row_release(&p->e[i].logits);
    }
    assert_false(p->scheduler->has_ahead);
    help_run_steps(p->model);
    check_best(p);
    vug_model_close(p->model);
}

static void test_results_are_kept_for_late_calls(void **state)
{
    late_pair p;
    (void)state;
    begin_with_late_call(&p);
    extend_one(&p, 1);
    assert_int_equal(p.sequence[1].n_steps, 1); /* no step was needed */
    assert_int_not_equal(p.id[1][p.n[1]], p.id[1][p.n[1] - 1]);
    extend_one(&p, 1);
    extend_one(&p, 0);
    assert_int_equal(p.scheduler->n_unclaimed, 0);
    end_pair(&p);
}

static void test_only_one_result_is_kept(void **state)
{
    late_pair p;
    (void)state;
    begin_with_late_call(&p);
    extend_one(&p, 0);
    assert_int_equal(p.scheduler->n_unclaimed, 1);
    extend_one(&p, 1);
    extend_one(&p, 1);
    extend_one(&p, 0);
    end_pair(&p);
}

static void test_other_tokens_drop_results(void **state)
{
    late_pair p;
    (void)state;
    begin_with_late_call(&p);
    p.id[1][p.n[1]] ^= 1;
    extend_one(&p, 1);
    extend_one(&p, 1);
    extend_one(&p, 0);
    end_pair(&p);
}

/* The tokens of one sequence follow while the other one ends, and begins again later. */
static void test_sequences_that_end_are_left_out(void **state)
{
    (void)state;
    for (size_t ends = 0; ends < PAIR; ends++) {
        late_pair p;
        begin_pair(&p, ends);
        const size_t other = 1 - ends;
        assert_int_equal(p.sequence[ends].n_steps, 0);
        assert_int_equal(p.sequence[other].n_steps, 1);
        extend_one(&p, other);
        extend_one(&p, other);
        extend_one(&p, ends);
        assert_int_equal(p.scheduler->n_unclaimed, 0);
        end_pair(&p);
    }
}

/* ---- rows without logits ------------------------------------------------------------------------ */

enum { DAMAGED_RUN = 7, RUNS_AFTER = 4 };

static struct {
    const vug_backend *backend;
    const vug_scheduler *scheduler;
    size_t runs, n_ahead; /* steps ahead before the damaged one */
} damaging;

/* One step has logits that cannot be listed. */
static vug_status run_and_damage(const vug_program *program, vug_workspace *workspace,
                                 const vug_step_in *in, const float **output, vug_err *err)
{
    static float logits[4096];
    VUG_TRY(damaging.backend->run(program, workspace, in, output, err));
    /* The step behind the damaged one was started; no other of the same answer is. */
    if (++damaging.runs > DAMAGED_RUN && damaging.runs <= DAMAGED_RUN + RUNS_AFTER)
        assert_int_equal(damaging.scheduler->n_ahead, damaging.n_ahead);
    if (damaging.runs == DAMAGED_RUN) {
        damaging.n_ahead = damaging.scheduler->n_ahead;
        for (size_t i = 0; i < sizeof(logits) / sizeof(*logits); i++)
            logits[i] = NAN;
        output[0] = logits;
        if (in->found)
            in->found[0] = (vug_found_logits){ 0 };
    }
    return VUG_OK;
}

/* Then the step is computed again, and none is ahead until the next answer. */
static void test_lost_rows_are_computed_again(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("qwen3"), (vug_model_options){ .context = 256 });
    vug_scheduler *s = m->scheduler;
    help_run_steps(m);
    talker expected = new_talker(m, 1);
    talk(&expected);
    check_talker(&expected, &expected);
    vug_backend backend = *m->main.compiled.backend;
    damaging.backend = m->main.compiled.backend;
    damaging.scheduler = s;
    damaging.runs = 0;
    backend.run = run_and_damage;
    backend.start = NULL;
    m->main.compiled.backend = &backend;
    help_start_steps(m);
    talker t = new_talker(m, 1);
    talk(&t);
    check_talker(&t, &expected);
    assert_true(s->n_ahead > damaging.n_ahead);
    m->main.compiled.backend = damaging.backend;
    vug_model_close(m);
}

int main(void)
{
    static char text_model[] = GOLDEN("gemma3-text"), full[] = GOLDEN("qwen3");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_answers_are_those_of_single_steps, text_model),
        cmocka_unit_test_prestate(test_answers_are_those_of_single_steps, full),
        cmocka_unit_test(test_first_tokens_are_followed),
        cmocka_unit_test(test_answers_beside_others_have_no_drafts),
        cmocka_unit_test(test_changed_and_reported_logits_are_those_of_the_host),
        cmocka_unit_test(test_results_are_kept_for_late_calls),
        cmocka_unit_test(test_only_one_result_is_kept),
        cmocka_unit_test(test_other_tokens_drop_results),
        cmocka_unit_test(test_sequences_that_end_are_left_out),
        cmocka_unit_test(test_lost_rows_are_computed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
