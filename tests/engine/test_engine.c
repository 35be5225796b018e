/*
 * Requests to an engine: their answers are those of vug_generate; they can be pulled, called back,
 * cancelled, counted and refused, from any thread, while the engine is used or destroyed.
 */
#include "test.h"

#include <pthread.h>

#include "engine/session.h"
#include "engine_help.h"
#include "tiny_model.h"
#include "vug/engine.h"

enum { V = TINY_VOCAB, LENGTH = 100, ANSWER = 12, PROMPTS = 6, CONTEXT = 256 };

static const vug_generate_options short_answer = { .max_tokens = ANSWER, .ignore_stop = true };
static const vug_generate_options long_answer = { .max_tokens = 100, .ignore_stop = true };

/* A model that can chat, prompts, and the answers that vug_generate gives. */
typedef struct {
    scratch dir;
    vug_model *model;
    int32_t id[PROMPTS][LENGTH];
    vug_generation answer[PROMPTS];
} engine_fixture;

static int set_up(void **state)
{
    engine_fixture *f = vug_alloc_zero(1, sizeof(*f));
    vug_err err = { 0 };
    assert_non_null(f);
    f->dir = scratch_make();
    tiny_model(&f->dir, V);
    const vug_model_options options = { .context = CONTEXT, .batch = 32, .threads = 1, .slots = 3 };
    f->model = help_model(f->dir.path, options);
    vug_session *s = help_session(f->model);
    for (int i = 0; i < PROMPTS; i++) {
        help_tokens((uint64_t)i, f->id[i], LENGTH, V);
        help_ok(vug_generate(s, f->id[i], LENGTH, &short_answer, &f->answer[i], &err), &err);
    }
    vug_session_destroy(s);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    engine_fixture *f = *state;
    for (int i = 0; i < PROMPTS; i++)
        vug_generation_release(&f->answer[i]);
    vug_model_close(f->model);
    scratch_remove(&f->dir);
    vug_free(f);
    return 0;
}

static vug_engine *make_engine(const engine_fixture *f, vug_engine_options options)
{
    vug_engine *engine;
    vug_err err = { 0 };
    help_ok(vug_engine_create(f->model, &options, &engine, &err), &err);
    return engine;
}

static vug_request prompt_request(const engine_fixture *f, int i, const vug_generate_options *o)
{
    return (vug_request){ .id = f->id[i], .n_ids = LENGTH, .options = o };
}

static vug_stream *submit(vug_engine *engine, const vug_request *request)
{
    vug_stream *stream;
    vug_err err = { 0 };
    help_ok(vug_engine_submit(engine, request, &stream, &err), &err);
    return stream;
}

static vug_event next_event(vug_stream *stream)
{
    vug_event event;
    assert_true(vug_stream_next(stream, -1, &event));
    return event;
}

/* Pulls all events, compares pieces and answer, and returns the last event. */
static vug_event pull_answer(vug_stream *stream)
{
    vug_buf text = { 0 };
    vug_event event = next_event(stream);
    size_t n = 0;
    if (event.kind == VUG_EVENT_PROMPT)
        event = next_event(stream);
    for (; event.kind == VUG_EVENT_PIECE; event = next_event(stream)) {
        vug_buf_append(&text, event.piece.text, event.piece.len);
        n += event.piece.token >= 0;
    }
    assert_int_equal(event.kind, VUG_EVENT_END);
    if (event.status == VUG_OK) {
        assert_null(event.err);
        assert_int_equal(event.generation->tokens.n, n);
        assert_int_equal(event.generation->text.len, text.len);
        assert_memory_equal(event.generation->text.ptr, text.ptr ? text.ptr : "", text.len);
    }
    vug_buf_release(&text);
    return event;
}

static void assert_same_tokens(const vug_generation *a, const vug_generation *b)
{
    assert_int_equal(a->finish, b->finish);
    assert_int_equal(a->tokens.n, b->tokens.n);
    assert_memory_equal(a->tokens.id, b->tokens.id, a->tokens.n * sizeof(int32_t));
    assert_string_equal(a->text.ptr, b->text.ptr);
}

/* ---- answers ---------------------------------------------------------------------- */

static void test_answers_are_those_of_generate(void **state)
{
    const engine_fixture *f = *state;
    vug_engine *engine = make_engine(f, (vug_engine_options){ 0 });
    vug_stream *stream[PROMPTS];
    for (int i = 0; i < PROMPTS; i++) {
        const vug_request request = prompt_request(f, i, &short_answer);
        stream[i] = submit(engine, &request);
    }
    for (int i = 0; i < PROMPTS; i++) {
        const vug_event end = pull_answer(stream[i]);
        assert_int_equal(end.status, VUG_OK);
        assert_same_tokens(end.generation, &f->answer[i]);
        assert_int_equal(end.generation->n_prompt, LENGTH);
        const vug_event again = next_event(stream[i]);
        assert_int_equal(again.kind, VUG_EVENT_END);
        assert_ptr_equal(again.generation, end.generation);
        vug_stream_destroy(stream[i]);
    }
    vug_engine_destroy(engine);
}

/* The text and the messages may change once they are submitted. */
static void test_texts_and_messages_are_prompts(void **state)
{
    const engine_fixture *f = *state;
    vug_session *s = help_session(f->model);
    vug_generation expected;
    vug_err err = { 0 };
    char text[] = "hello";
    vug_message hello = { "user", text };
    vug_engine *engine = make_engine(f, (vug_engine_options){ 0 });
    const vug_request of_text = { .text = text, .text_len = 5, .options = &short_answer };
    const vug_request of_chat = { .message = &hello, .n_messages = 1, .options = &short_answer };
    vug_stream *a = submit(engine, &of_text), *b = submit(engine, &of_chat);
    memset(text, 'x', 5);
    help_ok(vug_generate_text(s, "hello", 5, &short_answer, &expected, &err), &err);
    assert_same_tokens(pull_answer(a).generation, &expected);
    vug_generation_release(&expected);
    hello.content = "hello";
    help_ok(vug_generate_chat(s, &hello, 1, &short_answer, &expected, &err), &err);
    assert_same_tokens(pull_answer(b).generation, &expected);
    vug_generation_release(&expected);
    vug_stream_destroy(a);
    vug_stream_destroy(b);
    vug_engine_destroy(engine);
    vug_session_destroy(s);
}

typedef struct {
    int n_prompt, n_pieces, n_end, most; /* `most` pieces; 0: all */
    vug_finish finish;
    int32_t id[LENGTH];
} event_log;

static bool log_event(const vug_event *event, void *user)
{
    event_log *log = user;
    if (event->kind == VUG_EVENT_PROMPT)
        log->n_prompt++;
    else if (event->kind == VUG_EVENT_PIECE && event->piece.token >= 0)
        log->id[log->n_pieces++] = event->piece.token;
    else if (event->kind == VUG_EVENT_END) {
        log->n_end++;
        log->finish = event->generation->finish;
    }
    return log->n_pieces == 0 || log->n_pieces != log->most;
}

static void test_callback_gets_every_event(void **state)
{
    const engine_fixture *f = *state;
    vug_engine *engine = make_engine(f, (vug_engine_options){ .unread = 1 });
    for (int most = 0; most < 4; most++) {
        event_log log = { .most = most };
        vug_request request = prompt_request(f, most, &short_answer);
        request.on_event = log_event;
        request.user = &log;
        vug_stream *stream = submit(engine, &request);
        const vug_event end = next_event(stream);
        assert_int_equal(end.kind, VUG_EVENT_END);
        assert_int_equal(log.n_prompt, 1);
        assert_int_equal(log.n_end, 1);
        assert_int_equal(log.n_pieces, most ? most : ANSWER);
        assert_int_equal(log.finish, most ? VUG_FINISH_CANCELLED : VUG_FINISH_LENGTH);
        assert_memory_equal(log.id, f->answer[most].tokens.id,
                            (size_t)log.n_pieces * sizeof(int32_t));
        vug_stream_destroy(stream);
    }
    vug_engine_destroy(engine);
}

/* ---- waiting ---------------------------------------------------------------------- */

/* A request that keeps a thread of the engine, because nobody pulls its events. */
static vug_stream *hold_thread(const engine_fixture *f, vug_engine *engine)
{
    const vug_request request = prompt_request(f, 0, &long_answer);
    vug_stream *stream = submit(engine, &request);
    assert_int_equal(next_event(stream).kind, VUG_EVENT_PROMPT);
    return stream;
}

/* An unread stream stops, and others go on. Then it is pulled, and nothing is missing. */
static void test_unread_stream_waits(void **state)
{
    const engine_fixture *f = *state;
    vug_session *s = help_session(f->model);
    vug_generation expected;
    vug_err err = { 0 };
    help_ok(vug_generate(s, f->id[0], LENGTH, &long_answer, &expected, &err), &err);
    vug_session_destroy(s);
    vug_engine *engine = make_engine(f, (vug_engine_options){ .running = 2, .unread = 3 });
    vug_stream *unread = hold_thread(f, engine);
    for (int i = 1; i < PROMPTS; i++) {
        const vug_request request = prompt_request(f, i, &short_answer);
        vug_stream *other = submit(engine, &request);
        assert_same_tokens(pull_answer(other).generation, &f->answer[i]);
        vug_stream_destroy(other);
    }
    const vug_engine_stats stats = vug_engine_get_stats(engine);
    assert_int_equal(stats.running, 1);
    /* Three wait to be pulled, and one more waits for room. */
    assert_in_range(stats.generated_tokens, (PROMPTS - 1) * ANSWER + 1, (PROMPTS - 1) * ANSWER + 4);
    assert_same_tokens(pull_answer(unread).generation, &expected);
    vug_stream_destroy(unread);
    vug_generation_release(&expected);
    vug_engine_destroy(engine);
}

typedef struct {
    pthread_mutex_t lock;
    int n, order[PROMPTS];
} start_log;

typedef struct {
    start_log *log;
    int number;
} logged_request;

static bool log_start(const vug_event *event, void *user)
{
    const logged_request *r = user;
    (void)pthread_mutex_lock(&r->log->lock);
    if (event->kind == VUG_EVENT_PROMPT)
        r->log->order[r->log->n++] = r->number;
    (void)pthread_mutex_unlock(&r->log->lock);
    return true;
}

static void test_requests_begin_by_priority(void **state)
{
    static const int priority[PROMPTS] = { 0, 3, -1, 0, -5, 3 };
    static const int expected[PROMPTS] = { 4, 2, 0, 3, 1, 5 };
    const engine_fixture *f = *state;
    vug_engine *engine = make_engine(f, (vug_engine_options){ .running = 1, .unread = 1 });
    vug_stream *first = hold_thread(f, engine), *stream[PROMPTS];
    start_log log = { .lock = PTHREAD_MUTEX_INITIALIZER };
    logged_request logged[PROMPTS];
    for (int i = 0; i < PROMPTS; i++) {
        vug_generate_options options = short_answer;
        options.priority = priority[i];
        logged[i] = (logged_request){ &log, i };
        vug_request request = prompt_request(f, i, &options);
        request.on_event = log_start;
        request.user = &logged[i];
        stream[i] = submit(engine, &request);
    }
    assert_int_equal(vug_engine_get_stats(engine).waiting, PROMPTS);
    assert_int_equal(log.n, 0);
    vug_stream_destroy(first);
    for (int i = 0; i < PROMPTS; i++) {
        assert_same_tokens(next_event(stream[i]).generation, &f->answer[i]);
        vug_stream_destroy(stream[i]);
    }
    assert_memory_equal(log.order, expected, sizeof(expected));
    vug_engine_destroy(engine);
}

static void test_full_queue_refuses(void **state)
{
    const engine_fixture *f = *state;
    vug_engine *engine =
            make_engine(f, (vug_engine_options){ .running = 1, .waiting = 1, .unread = 1 });
    vug_stream *first = hold_thread(f, engine), *stream;
    const vug_request request = prompt_request(f, 1, &short_answer);
    vug_stream *second = submit(engine, &request);
    vug_err err = { 0 };
    help_refused(vug_engine_submit(engine, &request, &stream, &err), &err, VUG_LIMIT, NULL,
                 "1 requests already wait");
    vug_event event;
    assert_false(vug_stream_next(second, 0, &event));
    assert_false(vug_stream_next(second, 0.001, &event));
    vug_stream_destroy(second); /* leaves its place */
    second = submit(engine, &request);
    vug_stream_destroy(first);
    assert_same_tokens(pull_answer(second).generation, &f->answer[1]);
    vug_stream_destroy(second);
    vug_engine_destroy(engine);
}

/* ---- cancelling ------------------------------------------------------------------- */

static void test_cancel(void **state)
{
    const engine_fixture *f = *state;
    vug_engine *engine = make_engine(f, (vug_engine_options){ .running = 1, .unread = 2 });
    vug_stream *running = hold_thread(f, engine);
    const vug_request request = prompt_request(f, 1, &short_answer);
    vug_stream *waiting = submit(engine, &request);
    /* The only thread is busy: a waiting request ends without it. */
    vug_stream_cancel(waiting);
    const vug_event end = next_event(waiting);
    assert_int_equal(end.kind, VUG_EVENT_END);
    assert_int_equal(end.status, VUG_OK);
    assert_int_equal(end.generation->finish, VUG_FINISH_CANCELLED);
    assert_int_equal(end.generation->tokens.n, 0);
    assert_string_equal(end.generation->text.ptr, "");
    vug_stream_destroy(waiting);
    assert_int_equal(next_event(running).kind, VUG_EVENT_PIECE);
    vug_stream_cancel(running);
    vug_stream_cancel(running);
    vug_event last = next_event(running);
    while (last.kind == VUG_EVENT_PIECE)
        last = next_event(running);
    assert_int_equal(last.generation->finish, VUG_FINISH_CANCELLED);
    assert_in_range(last.generation->tokens.n, 1, 5);
    vug_stream_destroy(running);
    const vug_engine_stats stats = vug_engine_get_stats(engine);
    assert_int_equal(stats.cancelled, 2);
    assert_int_equal(stats.running + stats.waiting + stats.answered + stats.failed, 0);
    vug_engine_destroy(engine);
}

/* Streams outlive the engine, which cancels what runs and what waits. */
static void test_destroy_while_requests_run(void **state)
{
    const engine_fixture *f = *state;
    vug_engine *engine = make_engine(f, (vug_engine_options){ .running = 2, .unread = 1 });
    vug_stream *stream[PROMPTS];
    for (int i = 0; i < PROMPTS; i++) {
        const vug_request request = prompt_request(f, i, &long_answer);
        stream[i] = submit(engine, &request);
    }
    assert_int_equal(next_event(stream[0]).kind, VUG_EVENT_PROMPT);
    vug_engine_destroy(engine);
    for (int i = 0; i < PROMPTS; i++) {
        if (i != 2) /* one is destroyed unread */
            assert_int_equal(pull_answer(stream[i]).generation->finish, VUG_FINISH_CANCELLED);
        vug_stream_cancel(stream[i]);
        vug_stream_destroy(stream[i]);
    }
}

/* ---- statistics and failures ------------------------------------------------------- */

static void test_statistics(void **state)
{
    const engine_fixture *f = *state;
    vug_engine *engine = make_engine(f, (vug_engine_options){ .running = 1 });
    vug_request request = prompt_request(f, 0, &short_answer);
    request.cache_namespace = "a";
    request.namespace_len = 1;
    for (int i = 0; i < 3; i++) {
        vug_stream *stream = submit(engine, &request);
        const vug_event end = pull_answer(stream);
        assert_same_tokens(end.generation, &f->answer[0]);
        assert_int_equal(end.generation->n_cached, i == 1 ? LENGTH - 1 : 0);
        vug_stream_destroy(stream);
        if (i == 1)
            request.cache_namespace = "b"; /* which has seen nothing */
    }
    const vug_engine_stats stats = vug_engine_get_stats(engine);
    assert_int_equal(stats.answered, 3);
    assert_int_equal(stats.prompt_tokens, 3 * LENGTH);
    assert_int_equal(stats.cached_tokens, LENGTH - 1);
    assert_int_equal(stats.prefix_hits, 1);
    assert_int_equal(stats.generated_tokens, 3 * ANSWER);
    assert_true(stats.cache.pages > 0);
    assert_true(stats.cache.cached > 0);
    assert_int_equal(stats.cache.used, 0);
    vug_engine_destroy(engine);
}

static void test_bad_requests_are_refused(void **state)
{
    const engine_fixture *f = *state;
    static const int32_t wrong[] = { 5, V };
    static const int32_t many[CONTEXT + 1] = { 0 };
    vug_cancel_token *token;
    vug_err err = { 0 };
    help_ok(vug_cancel_token_create(&token, &err), &err);
    const vug_generate_options own_token = { .cancel = token };
    const struct {
        vug_request request;
        vug_status status;
        const char *message;
    } rows[] = {
        { { 0 }, VUG_ARGUMENT, "a request has exactly one prompt: ids, a text or messages" },
        { { .id = wrong, .n_ids = 1, .text = "a", .text_len = 1 },
          VUG_ARGUMENT,
          "a request has exactly one prompt: ids, a text or messages" },
        { { .text = "", .text_len = 0 },
          VUG_ARGUMENT,
          "the prompt is empty: there is nothing to continue" },
        { { .id = wrong, .n_ids = 2 }, VUG_ARGUMENT, "token 1 is 384, ids are 0 to 383" },
        { { .id = many, .n_ids = CONTEXT + 1 },
          VUG_LIMIT,
          "the prompt has 257 tokens, the context holds 256; open the model with a larger context "
          "(it was trained for 4096)" },
        { { .id = wrong, .n_ids = 1, .options = &own_token },
          VUG_ARGUMENT,
          "a request has no cancel token, on_prompt and on_piece: its stream reports events, and "
          "vug_stream_cancel cancels it" },
    };
    vug_engine *engine = make_engine(f, (vug_engine_options){ .waiting = 1 });
    vug_stream *stream;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        help_refused(vug_engine_submit(engine, &rows[i].request, &stream, &err), &err,
                     rows[i].status, NULL, rows[i].message);
    /* What shows only when it runs ends the request. */
    const vug_generate_options wrong_top = { .n_top = 21 };
    const vug_request late = prompt_request(f, 0, &wrong_top);
    stream = submit(engine, &late);
    const vug_event end = next_event(stream);
    assert_int_equal(end.kind, VUG_EVENT_END);
    assert_null(end.generation);
    help_refused(end.status, end.err, VUG_ARGUMENT, NULL, "n_top: 21, expected 0 to 20");
    assert_int_equal(vug_engine_get_stats(engine).failed, 1);
    vug_stream_destroy(stream);
    vug_engine_destroy(engine);
    const vug_engine_options bad = { .running = -1 };
    help_refused(vug_engine_create(f->model, &bad, &engine, &err), &err, VUG_ARGUMENT, NULL,
                 "engine: running is -1, expected 0 to 1024");
    vug_cancel_token_destroy(token);
}

/* ---- threads ---------------------------------------------------------------------- */

enum { CLIENTS = 4, REQUESTS = 15, MOST_EVENTS = 3 * ANSWER };

typedef struct {
    const engine_fixture *f;
    vug_engine *engine;
    uint64_t random;
    size_t n_wrong, n_cancelled, n_answered;
} client;

static bool is_prefix(const vug_generation *of, const vug_generation *whole)
{
    return of->tokens.n == 0 || /* and no ids */
           (of->tokens.n <= whole->tokens.n &&
            memcmp(of->tokens.id, whole->tokens.id, of->tokens.n * sizeof(int32_t)) == 0);
}

static void ask_once(client *c)
{
    const int i = (int)help_random(&c->random, PROMPTS);
    const vug_request request = prompt_request(c->f, i, &short_answer);
    const size_t most = help_random(&c->random, MOST_EVENTS);
    vug_stream *stream;
    vug_event event = { 0 };
    if (vug_engine_submit(c->engine, &request, &stream, NULL) != VUG_OK) {
        c->n_wrong++;
        return;
    }
    for (size_t n = 0; n < most && event.kind != VUG_EVENT_END; n++)
        (void)vug_stream_next(stream, -1, &event);
    vug_stream_cancel(stream);
    while (event.kind != VUG_EVENT_END)
        (void)vug_stream_next(stream, -1, &event);
    const vug_generation *g = event.generation;
    const bool cancelled = g && g->finish == VUG_FINISH_CANCELLED;
    c->n_wrong += !g || !is_prefix(g, &c->f->answer[i]) || (!cancelled && g->tokens.n != ANSWER);
    c->n_cancelled += cancelled;
    c->n_answered += !cancelled;
    vug_stream_destroy(stream);
}

static void *run_client(void *arg)
{
    client *c = arg;
    for (int i = 0; i < REQUESTS; i++)
        ask_once(c);
    return NULL;
}

static void test_many_threads(void **state)
{
    const engine_fixture *f = *state;
    vug_engine *engine = make_engine(f, (vug_engine_options){ .unread = 4 });
    client c[CLIENTS];
    pthread_t thread[CLIENTS];
    size_t n_cancelled = 0, n_answered = 0;
    for (int i = 0; i < CLIENTS; i++) {
        c[i] = (client){ .f = f, .engine = engine, .random = (uint64_t)i };
        assert_int_equal(pthread_create(&thread[i], NULL, run_client, &c[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(c[i].n_wrong, 0);
        n_cancelled += c[i].n_cancelled;
        n_answered += c[i].n_answered;
    }
    assert_true(n_cancelled > 0 && n_answered > 0);
    const vug_engine_stats stats = vug_engine_get_stats(engine);
    assert_int_equal(stats.cancelled, n_cancelled);
    assert_int_equal(stats.answered, n_answered);
    assert_int_equal(stats.cache.used, 0); /* no request has kept a page */
    vug_engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answers_are_those_of_generate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_texts_and_messages_are_prompts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_callback_gets_every_event, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unread_stream_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_requests_begin_by_priority, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_queue_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_destroy_while_requests_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_statistics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_requests_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
