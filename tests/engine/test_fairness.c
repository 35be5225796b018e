/* How long requests wait for each other, counted in steps. The steps are chosen by the scheduler and
 * not computed. */
#include "test.h"

#include "engine/scheduler_state.h"
#include "engine_help.h"

enum {
    V = 384,
    CONTEXT = 8192,
    LONG = 4096,
    SHORT = 30,
    LAST_TOKENS = 16, /* of a prompt, which are not part of a chunk: it is about to generate */
    MOST_SEQUENCES = 8,
};

/* Of one token of a prompt: not known yet, so slow that steps are as small as they may be, and a
 * usual time. */
static const double token_times[] = { 0, 0.1, 0.0005 };

typedef struct {
    vug_scheduled sequence;
    vug_extension job;
    int32_t id[CONTEXT];
    size_t taken; /* tokens of the last step */
} request;

typedef struct {
    vug_model *model;
    vug_scheduler *scheduler;
    request *request; /* [MOST_SEQUENCES] */
    size_t n;
    uint64_t n_calls;
} simulation;

static simulation begin_simulation(double per_token_s)
{
    simulation t = { .model = help_model(GOLDEN("gemma3-text"),
                                         (vug_model_options){ .context = CONTEXT,
                                                              .batch = 512,
                                                              .slots = MOST_SEQUENCES,
                                                              .threads = 1 }) };
    t.scheduler = t.model->scheduler;
    t.scheduler->per_token_s = per_token_s;
    t.request = calloc(MOST_SEQUENCES, sizeof(*t.request));
    assert_non_null(t.request);
    return t;
}

static void end_simulation(simulation *t)
{
    for (size_t i = 0; i < t->n; i++) {
        t->request[i].sequence.job = NULL;
        vug_scheduler_remove(t->scheduler, &t->request[i].sequence);
    }
    vug_model_close(t->model);
    free(t->request);
}

/* The next `n` tokens of a request. */
static void call_for(simulation *t, request *r, size_t n)
{
    r->job = (vug_extension){ .token = r->id + r->sequence.kv.n_tokens, .n = n, .rows = 1 };
    r->sequence.job = &r->job;
    r->sequence.done = 0;
    r->sequence.arrived = ++t->n_calls;
}

/* A request with a prompt of `n` tokens. */
static request *arrive(simulation *t, size_t n)
{
    vug_err err = { 0 };
    assert_in_range(t->n, 0, MOST_SEQUENCES - 1);
    request *r = &t->request[t->n];
    help_tokens(++t->n, r->id, CONTEXT, V);
    help_ok(vug_scheduler_add(t->scheduler, &r->sequence, CONTEXT, &err), &err);
    vug_scheduler_begin(t->scheduler, &r->sequence, r->id, n, true, NULL);
    call_for(t, r, n);
    return r;
}

static void leave(simulation *t, request *r)
{
    assert_ptr_equal(r, &t->request[t->n - 1]);
    vug_scheduler_remove(t->scheduler, &r->sequence);
    t->n--;
}

static void take_step(simulation *t)
{
    vug_scheduler *s = t->scheduler;
    assert_true(vug_scheduler_choose(s));
    for (size_t i = 0; i < t->n; i++)
        t->request[i].taken = 0;
    for (size_t i = 0; i < s->now.n; i++) {
        vug_scheduled *sequence = s->now.part_of[i];
        const bool ends = vug_scheduled_ends_with(sequence, &s->now.part[i]);
        for (size_t k = 0; k < t->n; k++)
            t->request[k].taken += &t->request[k].sequence == sequence ? s->now.part[i].n : 0;
        vug_kv_sequence_append(&sequence->kv, s->now.part[i].token, s->now.part[i].n);
        sequence->done += s->now.part[i].n;
        if (ends)
            vug_scheduled_finish(sequence, VUG_OK);
    }
}

static size_t most_of_a_chunk(double per_token_s)
{
    const double n = per_token_s > 0 ? VUG_STEP_TARGET_S / per_token_s : 0;
    return n > 16 ? (size_t)n : 16;
}

/* While one answer streams and a prompt of 4,096 tokens is read, a short request gets its first
 * token in three steps, and the stream a token in every step. */
static void test_short_request_gets_its_first_token_in_three_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(token_times) / sizeof(*token_times); i++) {
        simulation t = begin_simulation(token_times[i]);
        request *stream = arrive(&t, 5), *prompt = NULL, *brief = NULL;
        const size_t most = most_of_a_chunk(token_times[i]);
        int step = 0, begun = 0;
        for (; !brief || brief->sequence.job; step++) {
            if (step == 5)
                prompt = arrive(&t, LONG);
            if (step == 10) {
                brief = arrive(&t, SHORT);
                begun = step;
            }
            take_step(&t);
            assert_null(stream->sequence.job);
            call_for(&t, stream, 1);
            const size_t taken = (prompt ? prompt->taken : 0) + (brief ? brief->taken : 0);
            assert_in_range(taken, 0, most + LAST_TOKENS);
        }
        assert_in_range(step - begun, 1, 3);
        assert_non_null(prompt->sequence.job); /* it is still being read */
        end_simulation(&t);
    }
}

/* A stream whose next token is late misses one step, and that one is not longer than others. */
static void test_late_stream_waits_for_one_chunk(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(token_times) / sizeof(*token_times); i++) {
        simulation t = begin_simulation(token_times[i]);
        request *stream = arrive(&t, 5);
        take_step(&t);
        request *prompt = arrive(&t, LONG);
        take_step(&t);
        assert_in_range(prompt->taken, 1, most_of_a_chunk(token_times[i]));
        call_for(&t, stream, 1);
        take_step(&t);
        assert_null(stream->sequence.job);
        /* When the stream has ended, steps may be longer. */
        vug_scheduler_pause(t.scheduler, &stream->sequence);
        take_step(&t);
        assert_in_range(prompt->taken, most_of_a_chunk(token_times[i]) + 1, LONG);
        end_simulation(&t);
    }
}

/* A quarter of every chunk is for the oldest prompt, however many short ones arrive. */
static void test_long_prompt_is_read_although_short_ones_arrive(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(token_times) / sizeof(*token_times); i++) {
        simulation t = begin_simulation(token_times[i]);
        request *stream = arrive(&t, 5);
        take_step(&t);
        request *prompt = arrive(&t, LONG);
        const size_t share = most_of_a_chunk(token_times[i]) / 4;
        size_t steps = 0;
        while (prompt->sequence.job) {
            request *brief = arrive(&t, most_of_a_chunk(token_times[i]) * 2);
            call_for(&t, stream, 1);
            take_step(&t);
            steps++;
            leave(&t, brief);
            if (stream->sequence.kv.n_tokens == CONTEXT - 1)
                break;
        }
        assert_null(prompt->sequence.job);
        assert_in_range(steps, 1, LONG / share + 1);
        end_simulation(&t);
    }
}

/* Every stream is in every step, and every prompt gets on. */
static void test_streams_and_prompts_share_steps(void **state)
{
    (void)state;
    enum { STREAMS = 4, PROMPTS = 3 };
    simulation t = begin_simulation(0.0005);
    request *stream[STREAMS], *prompt[PROMPTS];
    for (size_t i = 0; i < STREAMS; i++)
        stream[i] = arrive(&t, 5);
    take_step(&t);
    for (size_t i = 0; i < PROMPTS; i++)
        prompt[i] = arrive(&t, 300 + 10 * i);
    int steps = 0;
    for (size_t left = PROMPTS; left > 0; steps++) {
        for (size_t i = 0; i < STREAMS; i++)
            call_for(&t, stream[i], 1);
        take_step(&t);
        for (size_t i = 0; i < STREAMS; i++)
            assert_null(stream[i]->sequence.job);
        left = 0;
        for (size_t i = 0; i < PROMPTS; i++)
            left += prompt[i]->sequence.job != NULL;
    }
    assert_in_range(steps, 1, (300 + 310 + 320) / 100 + 2);
    end_simulation(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_request_gets_its_first_token_in_three_steps),
        cmocka_unit_test(test_late_stream_waits_for_one_chunk),
        cmocka_unit_test(test_long_prompt_is_read_although_short_ones_arrive),
        cmocka_unit_test(test_streams_and_prompts_share_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
