/*
 * Sessions that are stopped, and sessions on several threads. Nothing here waits for
 * a time to pass: who cancels is started by the call that is to be cancelled.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engine_help.h"

enum { V = 384 }; /* ids of every golden checkpoint */

/* ---- stopping ------------------------------------------------------------------- */

enum { STOP, CANCEL, CANCEL_FROM_A_THREAD, CANCEL_MEANWHILE };

/* A callback that counts and at some count does one of these. */
typedef struct {
    vug_session *session;
    int calls, at;
    int what;
    pthread_t thread;
    bool running;
} interruption;

static void *cancel_it(void *session)
{
    vug_session_cancel(session);
    return NULL;
}

/* Steps and pieces that a call makes while the other thread is on its way: far
 * fewer than it has in all. */
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
        vug_session_cancel(i->session);
        return true;
    }
    assert_int_equal(pthread_create(&i->thread, NULL, cancel_it, i->session), 0);
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

static void finish(interruption *i)
{
    if (i->running)
        assert_int_equal(pthread_join(i->thread, NULL), 0);
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

static void a_step_callback_stops(void **state)
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
    assert_null(vug_session_logits(t.session)); /* only the last token's were asked for */
    help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);
    long_text_release(&t);
}

static void a_prefill_is_cancelled(void **state)
{
    (void)state;
    enum { CHUNK = 7, AT = 4 };
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-text"));
    for (int what = CANCEL; what <= CANCEL_MEANWHILE; what++) {
        for (int wide = 0; wide < 2; wide++) {
            interruption i = { .session = t.session, .at = AT, .what = what };
            const vug_forward_options o = {
                .chunk = CHUNK, .all_logits = wide, .on_step = interrupt_step, .user = &i
            };
            vug_err err = { 0 };
            vug_session_reset(t.session);
            const vug_status st = vug_session_forward(t.session, t.id, LONG, &o, &err);
            finish(&i);
            /* The steps that ended are kept, and none followed the wish. */
            const size_t n = vug_session_length(t.session);
            char sentence[80];
            (void)snprintf(sentence, sizeof(sentence), "cancelled after %zu of %d tokens", n, LONG);
            help_refused(st, &err, VUG_CANCELLED, NULL, sentence);
            assert_int_equal(n, i.calls * CHUNK);
            assert_in_range(i.calls, AT, what == CANCEL_MEANWHILE ? AT + PATIENCE : AT);
            assert_null(vug_session_logits(t.session));
            help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);
        }
    }
    long_text_release(&t);
}

static void a_generation_is_cancelled(void **state)
{
    (void)state;
    enum { PROMPT = 200, AT = 5, MOST = 100 };
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-text"));
    const vug_sampler_stage greedy = { VUG_SAMPLER_TEMPERATURE, 0, 0 };
    vug_generate_options o = { .max_tokens = MOST,
                               .ignore_stop = true,
                               .sampling = { .stage = &greedy, .n = 1 } };
    vug_generation whole = { 0 }, g = { 0 };
    vug_err err = { 0 };
    help_ok(vug_generate(t.session, t.id, PROMPT, &o, &whole, &err), &err);
    assert_int_equal(whole.finish, VUG_FINISH_LENGTH);
    assert_int_equal(whole.tokens.n, MOST);
    for (int what = STOP; what <= CANCEL_MEANWHILE; what++) {
        interruption i = { .session = t.session, .at = AT, .what = what };
        o.on_piece = interrupt_piece;
        o.user = &i;
        vug_session_reset(t.session);
        help_ok(vug_generate(t.session, t.id, PROMPT, &o, &g, &err), &err);
        finish(&i);
        assert_int_equal(g.finish, what == STOP ? VUG_FINISH_CALLBACK : VUG_FINISH_CANCELLED);
        /* What was produced so far is handed over, and none followed the wish. */
        assert_int_equal(g.tokens.n, i.calls);
        assert_in_range(i.calls, AT, what == CANCEL_MEANWHILE ? AT + PATIENCE : AT);
        assert_memory_equal(g.tokens.id, whole.tokens.id, g.tokens.n * sizeof(int32_t));
        assert_int_equal(vug_session_length(t.session), PROMPT + g.tokens.n - 1);
        vug_generation_release(&g);
        help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);
    }
    vug_generation_release(&whole);
    long_text_release(&t);
}

/* With nothing to cancel the wish is kept for the next call, and for one only. */
static void a_wish_to_cancel_waits_for_the_next_call(void **state)
{
    (void)state;
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-scale"));
    vug_err err = { 0 };
    vug_session_cancel(t.session);
    vug_session_cancel(t.session);
    help_refused(vug_session_forward(t.session, t.id, LONG, NULL, &err), &err, VUG_CANCELLED, NULL,
                 "cancelled after 0 of 480 tokens");
    help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);

    vug_generation g = { 0 };
    const vug_generate_options o = { .max_tokens = 2, .ignore_stop = true };
    vug_session_cancel(t.session);
    help_ok(vug_generate(t.session, t.id, 100, &o, &g, &err), &err);
    assert_int_equal(g.finish, VUG_FINISH_CANCELLED);
    assert_int_equal(g.tokens.n, 0);
    assert_int_equal(g.text.len, 0);
    vug_generation_release(&g);
    help_ok(vug_generate(t.session, t.id, 100, &o, &g, &err), &err);
    assert_int_equal(g.finish, VUG_FINISH_LENGTH);
    assert_int_equal(g.tokens.n, 2);
    vug_generation_release(&g);
    long_text_release(&t);
}

/* A wish that comes while the last token is handed over meant this call. */
static void a_late_wish_is_forgotten(void **state)
{
    (void)state;
    long_text t;
    long_text_init(&t, GOLDEN("gemma3-scale"));
    interruption i = { .session = t.session, .at = 3, .what = CANCEL };
    vug_generate_options o = { .max_tokens = 3, .ignore_stop = true, .on_piece = interrupt_piece };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    o.user = &i;
    help_ok(vug_generate(t.session, t.id, 50, &o, &g, &err), &err);
    assert_int_equal(g.tokens.n, 3);
    vug_generation_release(&g);
    i = (interruption){ .session = t.session, .at = 1, .what = CANCEL };
    const vug_forward_options f = { .on_step = interrupt_step, .user = &i };
    vug_session_reset(t.session);
    help_ok(vug_session_forward(t.session, t.id, 8, &f, &err), &err);
    help_same_bits(help_forward(t.session, t.id, LONG), t.alone, V);
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
} walk;

/* Prefixes of growing and sometimes shrinking length, in a session of its own;
 * fills `expected` or compares with it. No assertions: those belong to one thread. */
static vug_status walk_along(walk *w, bool fill)
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
    walk *w = arg;
    return walk_along(w, false) == VUG_OK ? w : NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-text"),
                              (vug_model_options){ .context = 256, .batch = 64, .threads = 2 });
    walk w[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        w[i] = (walk){ .model = m, .index = i };
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
        cmocka_unit_test(a_step_callback_stops),
        cmocka_unit_test(a_prefill_is_cancelled),
        cmocka_unit_test(a_generation_is_cancelled),
        cmocka_unit_test(a_wish_to_cancel_waits_for_the_next_call),
        cmocka_unit_test(a_late_wish_is_forgotten),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
