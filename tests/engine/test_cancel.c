/*
 * Calls that are stopped or cancelled, and sessions on several threads. No test waits for
 * time to pass: the call that is to be cancelled starts the thread that cancels it.
 */
#include "test.h"

#include <pthread.h>

#include "engine_help.h"

enum { V = 384 }; /* ids of every golden checkpoint */

/* ---- stopping ------------------------------------------------------------------- */

enum { STOP, CANCEL, CANCEL_FROM_A_THREAD, CANCEL_MEANWHILE };

/* Counts the callbacks of a call and interrupts it at callback number `at`. */
typedef struct {
    vug_cancel_token *token;
    int calls, at;
    int what;
    pthread_t thread;
    bool running;
} interruption;

static void *trigger(void *token)
{
    vug_cancel_token_trigger(token);
    return NULL;
}

/* Callbacks that a call may make until the other thread has triggered the token: far fewer
 * than the call makes in all. */
enum { PATIENCE = 20 };

static bool interrupt(interruption *i)
{
    const int call = ++i->calls;
    if (i->running && call == i->at + PATIENCE) {
        assert_int_equal(pthread_join(i->thread, NULL), 0);
        i->running = false;
    }
    if (call != i->at)
        return true;
    if (i->what == STOP)
        return false;
    if (i->what == CANCEL) {
        vug_cancel_token_trigger(i->token);
        return true;
    }
    assert_int_equal(pthread_create(&i->thread, NULL, trigger, i->token), 0);
    i->running = i->what == CANCEL_MEANWHILE;
    if (!i->running)
        assert_int_equal(pthread_join(i->thread, NULL), 0);
    return true;
}

static bool interrupt_step(const vug_step *step, void *user)
{
    (void)step;
    return interrupt(user);
}

static bool interrupt_piece(const vug_piece *piece, void *user)
{
    (void)piece;
    return interrupt(user);
}

static void join_thread(interruption *i)
{
    if (i->running)
        assert_int_equal(pthread_join(i->thread, NULL), 0);
}

static vug_cancel_token *new_token(void)
{
    vug_cancel_token *token;
    vug_err err = { 0 };
    help_ok(vug_cancel_token_create(&token, &err), &err);
    assert_false(vug_cancel_token_is_triggered(token));
    return token;
}

enum { LONG = 480 };

typedef struct {
    vug_model *model;
    vug_session *session;
    int32_t id[LONG];
    float *alone; /* after all of id */
} long_text;

static void long_text_init(long_text *t, const char *path)
{
    t->model = help_model(path, (vug_model_options){ .context = 512, .batch = 16, .threads = 1 });
    t->session = help_session(t->model);
    help_tokens(9, t->id, LONG, V);
    t->alone = help_alone(t->model, t->id, LONG);
}

static void long_text_release(long_text *t)
{
    vug_free(t->alone);
    vug_session_destroy(t->session);
    vug_model_close(t->model);
}

static void test_step_callback_stops_forward(void **state)
{
    (void)state;
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-text"));
    interruption i = { .at = 3, .what = STOP };
    const vug_forward_options o = { .chunk = 10, .on_step = interrupt_step, .user = &i };
    vug_err err = { 0 };
    help_ok(vug_session_forward(t.session, t.id, LONG, &o, &err), &err);
    assert_int_equal(i.calls, 3);
    assert_int_equal(vug_session_length(t.session), 30);
    assert_null(vug_session_logits(t.session)); /* only the last token has logits */
    help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);
    long_text_release(&t);
}

static void test_forward_is_cancelled(void **state)
{
    (void)state;
    enum { CHUNK = 7, AT = 4 };
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-text"));
    vug_cancel_token *token = new_token();
    for (int what = CANCEL; what <= CANCEL_MEANWHILE; what++) {
        for (int all_logits = 0; all_logits < 2; all_logits++) {
            interruption i = { .token = token, .at = AT, .what = what };
            const vug_forward_options o = { .chunk = CHUNK,
                                            .all_logits = all_logits,
                                            .cancel = token,
                                            .on_step = interrupt_step,
                                            .user = &i };
            vug_err err = { 0 };
            vug_cancel_token_reset(token);
            vug_session_reset(t.session);
            const vug_status st = vug_session_forward(t.session, t.id, LONG, &o, &err);
            join_thread(&i);
            /* The session keeps the steps that were complete, and no step ran after the
             * cancellation. */
            const size_t n = vug_session_length(t.session);
            char message[80];
            (void)snprintf(message, sizeof(message), "cancelled after %zu of %d tokens", n, LONG);
            help_refused(st, &err, VUG_CANCELLED, NULL, message);
            assert_int_equal(n, i.calls * CHUNK);
            assert_in_range(i.calls, AT, what == CANCEL_MEANWHILE ? AT + PATIENCE : AT);
            assert_null(vug_session_logits(t.session));
            help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);
        }
    }
    vug_cancel_token_destroy(token);
    long_text_release(&t);
}

static void test_generation_is_cancelled(void **state)
{
    (void)state;
    enum { PROMPT = 200, AT = 5, MOST = 100 };
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-text"));
    vug_cancel_token *token = new_token();
    const vug_sampler_config greedy = { VUG_SAMPLER_TEMPERATURE, 0, 0 };
    vug_generate_options o = { .max_tokens = MOST,
                               .ignore_stop = true,
                               .sampling = { .sampler = &greedy, .n = 1 },
                               .cancel = token };
    vug_generation whole = { 0 }, g = { 0 };
    vug_err err = { 0 };
    help_ok(vug_generate(t.session, t.id, PROMPT, &o, &whole, &err), &err);
    assert_int_equal(whole.finish, VUG_FINISH_LENGTH);
    assert_int_equal(whole.tokens.n, MOST);
    for (int what = STOP; what <= CANCEL_MEANWHILE; what++) {
        interruption i = { .token = token, .at = AT, .what = what };
        o.on_piece = interrupt_piece;
        o.user = &i;
        vug_cancel_token_reset(token);
        vug_session_reset(t.session);
        help_ok(vug_generate(t.session, t.id, PROMPT, &o, &g, &err), &err);
        join_thread(&i);
        assert_int_equal(g.finish, what == STOP ? VUG_FINISH_CALLBACK : VUG_FINISH_CANCELLED);
        /* The caller gets the tokens so far, and none came after the cancellation. */
        assert_int_equal(g.tokens.n, i.calls);
        assert_in_range(i.calls, AT, what == CANCEL_MEANWHILE ? AT + PATIENCE : AT);
        assert_memory_equal(g.tokens.id, whole.tokens.id, g.tokens.n * sizeof(int32_t));
        assert_int_equal(vug_session_length(t.session), PROMPT + g.tokens.n - 1);
        vug_generation_release(&g);
        help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);
    }
    vug_generation_release(&whole);
    vug_cancel_token_destroy(token);
    long_text_release(&t);
}

/* A token that is triggered cancels every call that takes it, until it is reset, and no
 * other call. */
static void test_triggered_token_cancels_calls_until_reset(void **state)
{
    (void)state;
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-scale"));
    vug_cancel_token *token = new_token();
    const vug_forward_options f = { .cancel = token };
    vug_err err = { 0 };
    vug_cancel_token_trigger(token);
    vug_cancel_token_trigger(token);
    assert_true(vug_cancel_token_is_triggered(token));
    for (int again = 0; again < 2; again++)
        help_refused(vug_session_forward(t.session, t.id, LONG, &f, &err), &err, VUG_CANCELLED,
                     NULL, "cancelled after 0 of 480 tokens");
    help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);

    vug_generation g = { 0 };
    const vug_generate_options o = { .max_tokens = 2, .ignore_stop = true, .cancel = token };
    help_ok(vug_generate(t.session, t.id, 100, &o, &g, &err), &err);
    assert_int_equal(g.finish, VUG_FINISH_CANCELLED);
    assert_int_equal(g.tokens.n, 0);
    assert_int_equal(g.text.len, 0);
    vug_generation_release(&g);
    vug_cancel_token_reset(token);
    assert_false(vug_cancel_token_is_triggered(token));
    help_ok(vug_generate(t.session, t.id, 100, &o, &g, &err), &err);
    assert_int_equal(g.finish, VUG_FINISH_LENGTH);
    assert_int_equal(g.tokens.n, 2);
    vug_generation_release(&g);
    vug_cancel_token_destroy(token);
    long_text_release(&t);
}

/* A token that is triggered during the last callback, or after its call has ended, does not
 * affect the next call, which has a token of its own. */
static void test_late_trigger_does_not_affect_the_next_call(void **state)
{
    (void)state;
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-scale"));
    vug_cancel_token *token = new_token(), *next = new_token();
    interruption i = { .token = token, .at = 3, .what = CANCEL };
    vug_generate_options o = { .max_tokens = 3,
                               .ignore_stop = true,
                               .cancel = token,
                               .on_piece = interrupt_piece,
                               .user = &i };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    help_ok(vug_generate(t.session, t.id, 50, &o, &g, &err), &err);
    assert_int_equal(g.finish, VUG_FINISH_LENGTH);
    assert_int_equal(g.tokens.n, 3);
    assert_true(vug_cancel_token_is_triggered(token));
    vug_generation_release(&g);

    vug_cancel_token_reset(token);
    i = (interruption){ .token = token, .at = 1, .what = CANCEL };
    vug_forward_options f = { .cancel = token, .on_step = interrupt_step, .user = &i };
    vug_session_reset(t.session);
    help_ok(vug_session_forward(t.session, t.id, 8, &f, &err), &err);

    vug_cancel_token_reset(token);
    f = (vug_forward_options){ .cancel = token };
    help_ok(vug_session_forward(t.session, t.id, 16, &f, &err), &err);
    vug_cancel_token_trigger(token);
    f.cancel = next;
    help_ok(vug_session_forward(t.session, t.id, LONG, &f, &err), &err);
    help_same_bits(vug_session_logits(t.session), t.alone, V);
    o = (vug_generate_options){ .max_tokens = 3, .ignore_stop = true, .cancel = next };
    help_ok(vug_generate(t.session, t.id, 50, &o, &g, &err), &err);
    assert_int_equal(g.finish, VUG_FINISH_LENGTH);
    vug_generation_release(&g);
    vug_cancel_token_destroy(token);
    vug_cancel_token_destroy(next);
    long_text_release(&t);
}

/* ---- threads --------------------------------------------------------------------- */

enum { THREADS = 3, STEPS = 12 };

typedef struct {
    vug_model *model;
    int32_t id[200];
    int index;
    float *expected; /* [STEPS, V] */
    bool equal;
    vug_err err;
} prefix_walk;

/* Runs prefixes of random lengths in a new session and fills `expected` or compares with it.
 * Makes no assertions, which only the main thread may. */
static vug_status walk_along(prefix_walk *w, bool fill)
{
    vug_session *s;
    uint64_t random = (uint64_t)w->index;
    VUG_TRY(vug_session_create(w->model, &s, &w->err));
    vug_status st = VUG_OK;
    w->equal = true;
    for (size_t i = 0; st == VUG_OK && i < STEPS; i++) {
        const size_t n = 1 + help_random(&random, 199);
        const vug_forward_options o = { .chunk = 16, .all_logits = i % 4 == 3 };
        st = vug_session_forward(s, w->id, n, &o, &w->err);
        if (st == VUG_OK && fill)
            memcpy(w->expected + i * V, vug_session_logits(s), V * sizeof(float));
        else if (st == VUG_OK)
            w->equal &= help_difference(w->expected + i * V, vug_session_logits(s), V) == V;
    }
    vug_session_destroy(s);
    return st;
}

static void *walk_in_thread(void *arg)
{
    prefix_walk *w = arg;
    return walk_along(w, false) == VUG_OK ? w : NULL;
}

static void test_sessions_on_threads_are_independent(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-text"),
                              (vug_model_options){ .context = 256, .batch = 64, .threads = 2 });
    prefix_walk w[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        w[i] = (prefix_walk){ .model = m, .index = i };
        w[i].expected = vug_alloc((size_t)STEPS * V, sizeof(float));
        assert_non_null(w[i].expected);
        help_tokens((uint64_t)i, w[i].id, 200, V);
        help_ok(walk_along(&w[i], true), &w[i].err);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, walk_in_thread, &w[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *done;
        assert_int_equal(pthread_join(thread[i], &done), 0);
        if (!done)
            fail_msg("%s", w[i].err.msg);
        assert_true(w[i].equal);
        vug_free(w[i].expected);
    }
    vug_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_callback_stops_forward),
        cmocka_unit_test(test_forward_is_cancelled),
        cmocka_unit_test(test_generation_is_cancelled),
        cmocka_unit_test(test_triggered_token_cancels_calls_until_reset),
        cmocka_unit_test(test_late_trigger_does_not_affect_the_next_call),
        cmocka_unit_test(test_sessions_on_threads_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
