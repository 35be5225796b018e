/*
 * Sessions on several threads: whatever else is computed at the same time, whatever was cached,
 * evicted, taken away or cancelled, every row of logits is that of a cold run, to the bit.
 */
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core/cancel.h"
#include "engine/scheduler_state.h"
#include "engine_help.h"

enum {
    TEXTS = 10,
    LENGTH = 256,
    THREADS = 8,
    CALLS = 15, /* of each thread */
};

/* Texts that share beginnings, as conversations do, and the rows of logits of cold runs. */
typedef struct {
    int32_t id[TEXTS][LENGTH];
    float *logits[TEXTS]; /* [LENGTH, V] */
    vug_model *model;
    size_t n_vocab;
} conversations;

typedef struct {
    float *to;
    size_t n_vocab;
} row_keeper;

static bool keep_rows(const vug_step *step, void *user)
{
    const row_keeper *k = user;
    memcpy(k->to + (size_t)step->first * k->n_vocab, step->logits,
           (size_t)step->n * k->n_vocab * sizeof(float));
    return true;
}

static void begin(conversations *c, const char *path, vug_model_options options)
{
    uint64_t random = 5;
    vug_err err = { 0 };
    c->model = help_model(path, options);
    c->n_vocab = (size_t)vug_model_describe(c->model).n_vocab;
    vug_session *cold = help_session(c->model);
    for (int i = 0; i < TEXTS; i++) {
        help_tokens((uint64_t)i, c->id[i], LENGTH, (int64_t)c->n_vocab);
        if (i > 0)
            memcpy(c->id[i], c->id[help_random(&random, (uint64_t)i)],
                   help_random(&random, LENGTH) * sizeof(int32_t));
        row_keeper keeper = { vug_alloc(LENGTH * c->n_vocab, sizeof(float)), c->n_vocab };
        assert_non_null(keeper.to);
        c->logits[i] = keeper.to;
        const vug_forward_options all = { .all_logits = true,
                                          .on_step = keep_rows,
                                          .user = &keeper };
        help_ok(vug_session_forward(cold, c->id[i], LENGTH, &all, &err), &err);
    }
    vug_session_destroy(cold);
}

static void end(conversations *c)
{
    const vug_kv_pool_stats pool = vug_kv_pool_get_stats(c->model->kv_pool);
    const vug_prefix_stats tree = vug_prefix_get_stats(c->model->prefix_tree);
    assert_int_equal(pool.used, tree.bytes); /* no session has lost a page */
    assert_int_equal(tree.evictable, tree.bytes);
    vug_prefix_clear(c->model->prefix_tree);
    assert_int_equal(vug_kv_pool_get_stats(c->model->kv_pool).used, 0);
    vug_model_close(c->model);
    for (int i = 0; i < TEXTS; i++)
        vug_free(c->logits[i]);
}

typedef struct {
    const conversations *c;
    uint64_t random;
    size_t n_wrong, n_cancelled, n_checked;
    vug_err err; /* the first unexpected failure */
} talker;

/* A call that is cancelled before it, or that runs to its end and is checked. */
static void forward_once(talker *t, vug_session *s)
{
    const size_t text = help_random(&t->random, TEXTS), n = 1 + help_random(&t->random, LENGTH);
    vug_cancel_token cancel = { 0 };
    const vug_forward_options o = { .chunk = (int)help_random(&t->random, 3) * 20,
                                    .cancel = &cancel };
    if (help_random(&t->random, 6) == 0)
        vug_cancel_token_trigger(&cancel);
    vug_err err = { 0 };
    const vug_status st = vug_session_forward(s, t->c->id[text], n, &o, &err);
    if (st == VUG_CANCELLED) {
        t->n_cancelled++;
        return;
    }
    if (st != VUG_OK) {
        t->err = t->err.code ? t->err : err;
        return;
    }
    t->n_checked++;
    const size_t v = t->c->n_vocab;
    t->n_wrong += help_difference(vug_session_logits(s), t->c->logits[text] + (n - 1) * v, v) < v;
}

static void *talk(void *arg)
{
    talker *t = arg;
    vug_session *s = NULL;
    for (int i = 0; i < CALLS && t->err.code == VUG_OK; i++) {
        if (s && help_random(&t->random, 8) == 0) {
            vug_session_destroy(s);
            s = NULL;
        }
        if (!s && vug_session_create(t->c->model, &s, &t->err) != VUG_OK)
            break;
        forward_once(t, s);
    }
    vug_session_destroy(s);
    return NULL;
}

static void check_threads(const char *path, vug_model_options options)
{
    conversations c;
    begin(&c, path, options);
    talker t[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        t[i] = (talker){ .c = &c, .random = (uint64_t)i };
        assert_int_equal(pthread_create(&thread[i], NULL, talk, &t[i]), 0);
    }
    size_t checked = 0, cancelled = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        if (t[i].err.code)
            fail_msg("%s", t[i].err.msg);
        assert_int_equal(t[i].n_wrong, 0);
        cancelled += t[i].n_cancelled;
        checked += t[i].n_checked;
    }
    assert_true(checked > THREADS * CALLS / 2);
    assert_true(cancelled > THREADS);
    end(&c);
}

/* With plenty of memory, and with memory for a single session. */
static void test_threads_get_the_bits_of_a_cold_run(void **state)
{
    const char *path = *state;
    for (int slots = 1; slots <= 8; slots += 7) {
        vug_model_options o = {
            .context = LENGTH, .batch = 64, .threads = slots == 1 ? 2 : 1, .slots = slots
        };
        check_threads(path, o);
        o.kv_memory = help_context_bytes(path, o);
        check_threads(path, o);
    }
}

/* ---- many calls ------------------------------------------------------------------------ */

enum { MANY = 30, MANY_TOKENS = 12 };

typedef struct {
    vug_model *model;
    int32_t prompt[4];
    int32_t answer[MANY_TOKENS];
    size_t n;
} writer;

static void *write_answer(void *arg)
{
    writer *w = arg;
    vug_session *s = NULL;
    const vug_generate_options o = { .max_tokens = MANY_TOKENS, .ignore_stop = true };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    if (vug_session_create(w->model, &s, &err) == VUG_OK &&
        vug_generate(s, w->prompt, 4, &o, &g, &err) == VUG_OK) {
        w->n = g.tokens.n;
        for (size_t i = 0; i < w->n && i < MANY_TOKENS; i++)
            w->answer[i] = g.tokens.id[i];
    }
    vug_generation_release(&g);
    vug_session_destroy(s);
    return NULL;
}

/* So many calls end in one step that some of them wake the others: all return, each with its own
 * answer. */
static void test_many_calls_end_in_one_step(void **state)
{
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-text"),
                              (vug_model_options){ .context = 64, .batch = 64, .slots = MANY });
    writer w[MANY];
    pthread_t thread[MANY];
    for (int i = 0; i < MANY; i++) {
        w[i] = (writer){ .model = m };
        help_tokens((uint64_t)i + 1, w[i].prompt, 4, 384);
        assert_int_equal(pthread_create(&thread[i], NULL, write_answer, &w[i]), 0);
    }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < MANY; i++) {
        writer alone = { .model = m };
        memcpy(alone.prompt, w[i].prompt, sizeof(alone.prompt));
        (void)write_answer(&alone);
        assert_int_equal(w[i].n, MANY_TOKENS);
        assert_memory_equal(w[i].answer, alone.answer, sizeof(alone.answer));
    }
    vug_model_close(m);
}

/* ---- sharing ------------------------------------------------------------------------ */

/* Two agents with one system prompt that begin at the same time compute it once. */
typedef struct {
    vug_model *model;
    const int32_t *id;
    size_t n, cached;
} agent;

static void *ask(void *arg)
{
    agent *a = arg;
    vug_session *s = help_session(a->model);
    const vug_generate_options o = { .max_tokens = 1, .ignore_stop = true };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    if (vug_generate(s, a->id, a->n, &o, &g, &err) == VUG_OK)
        a->cached = g.n_cached;
    vug_generation_release(&g);
    vug_session_destroy(s);
    return NULL;
}

static void test_prefix_that_is_being_computed_is_waited_for(void **state)
{
    (void)state;
    enum { V = 384, AGENTS = 4, SYSTEM = 320, OWN = 10 };
    vug_model *m = help_model(GOLDEN("gemma3-text"),
                              (vug_model_options){ .context = 512, .batch = 16, .slots = 4 });
    int32_t id[AGENTS][SYSTEM + OWN];
    agent a[AGENTS];
    pthread_t thread[AGENTS];
    for (int i = 0; i < AGENTS; i++) {
        help_tokens(1, id[i], SYSTEM, V);
        help_tokens((uint64_t)i + 10, id[i] + SYSTEM, OWN, V);
        a[i] = (agent){ .model = m, .id = id[i], .n = SYSTEM + OWN };
        assert_int_equal(pthread_create(&thread[i], NULL, ask, &a[i]), 0);
    }
    size_t computed = 0;
    for (int i = 0; i < AGENTS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        computed += SYSTEM + OWN - a[i].cached;
    }
    assert_in_range(computed, SYSTEM + AGENTS * OWN, SYSTEM + AGENTS * (OWN + VUG_KV_PAGE));
    vug_model_close(m);
}

typedef struct {
    vug_session *session;
    const int32_t *id;
    size_t n, cached;
    atomic_bool ended;
} late_agent;

static void *ask_late(void *arg)
{
    late_agent *a = arg;
    const vug_generate_options o = { .max_tokens = 1, .ignore_stop = true };
    vug_generation g = { 0 };
    if (vug_generate(a->session, a->id, a->n, &o, &g, NULL) == VUG_OK)
        a->cached = g.n_cached;
    vug_generation_release(&g);
    atomic_store(&a->ended, true);
    return NULL;
}

/* Returns when the thread is in vug_scheduler_begin, or beyond it. */
static void wait_until_begun(vug_scheduler *s, late_agent *a)
{
    for (bool begun = false; !begun && !atomic_load(&a->ended); sched_yield()) {
        vug_mutex_lock(s->lock);
        begun = a->session->sequence.in_use;
        vug_mutex_unlock(s->lock);
    }
}

/* Others wait for the session, however late this thread is. */
static void keep_plan(vug_session *s)
{
    vug_mutex_lock(s->model->scheduler->lock);
    s->sequence.plan_end = INFINITY;
    vug_mutex_unlock(s->model->scheduler->lock);
}

/* One call computes a whole page, and the next one the rest. */
static vug_status extend_in_two_calls(vug_session *s, const int32_t *id, size_t n, vug_err *err)
{
    const vug_forward_options o = { 0 };
    VUG_TRY(vug_session_extend(s, id, VUG_KV_PAGE, &o, err));
    keep_plan(s);
    return vug_session_extend(s, id + VUG_KV_PAGE, n - VUG_KV_PAGE, &o, err);
}

static vug_status give_up(vug_session *s, const int32_t *id, size_t n, vug_err *err)
{
    (void)id, (void)n, (void)err;
    vug_scheduler_pause(s->model->scheduler, &s->sequence);
    return VUG_OK;
}

/* How a session goes on that has begun with id [n]. */
typedef vug_status go_on_fn(vug_session *s, const int32_t *id, size_t n, vug_err *err);

/* A session has begun, but no call computes its prompt yet, when another one begins with the same
 * prompt. Returns what this one did not compute. */
static size_t begin_twice(vug_model *m, go_on_fn *go_on)
{
    enum { PROMPT = 2 * VUG_KV_PAGE + 10 };
    int32_t id[PROMPT];
    help_tokens(1, id, PROMPT, 384);
    vug_session *s = help_session(m);
    late_agent late = { .session = help_session(m), .id = id, .n = PROMPT };
    size_t cached;
    vug_err err = { 0 };
    pthread_t thread;
    help_ok(vug_session_prepare(s, id, PROMPT, NULL, &cached, &err), &err);
    keep_plan(s);
    assert_int_equal(pthread_create(&thread, NULL, ask_late, &late), 0);
    wait_until_begun(m->scheduler, &late);
    const vug_status st = go_on(s, id, PROMPT, &err);
    vug_scheduler_pause(m->scheduler, &s->sequence);
    assert_int_equal(pthread_join(thread, NULL), 0);
    help_ok(st, &err);
    vug_session_destroy(s);
    vug_session_destroy(late.session);
    vug_model_close(m);
    return late.cached;
}

static void test_prefix_that_is_about_to_be_computed_is_waited_for(void **state)
{
    const vug_model_options o = { .context = 512, .batch = 16, .slots = 4 };
    (void)state;
    assert_int_equal(begin_twice(help_model(GOLDEN("gemma3-text"), o), extend_in_two_calls),
                     2 * VUG_KV_PAGE);
    assert_int_equal(begin_twice(help_model(GOLDEN("gemma3-text"), o), give_up), 0);
}

/* Another session begins with the same prompt in a callback between begin and the first step. */
static void begin_same(size_t n_cached, void *user)
{
    (void)n_cached;
    (void)ask(user);
}

static void test_callback_may_begin_with_the_same_prompt(void **state)
{
    enum { PROMPT = 2 * VUG_KV_PAGE + 10 };
    int32_t id[PROMPT];
    (void)state;
    vug_model *m = help_model(GOLDEN("gemma3-text"),
                              (vug_model_options){ .context = 512, .batch = 16, .slots = 4 });
    vug_session *s = help_session(m);
    agent other = { .model = m, .id = id, .n = PROMPT, .cached = SIZE_MAX };
    const vug_generate_options o = { .max_tokens = 1, .on_prompt = begin_same, .user = &other };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    help_tokens(1, id, PROMPT, 384);
    help_ok(vug_generate(s, id, PROMPT, &o, &g, &err), &err);
    assert_int_equal(other.cached, 0);
    vug_generation_release(&g);
    vug_session_destroy(s);
    vug_model_close(m);
}

/* The second answer begins while the first one is generated, with all of the prompt but its last
 * token; without share_prompt only with its whole pages. */
typedef struct {
    vug_model *model;
    const int32_t *id;
    size_t n, cached;
    size_t n_vocab;
    float *logits; /* [n_vocab] after the prompt */
} second_answer;

static bool begin_second(const vug_piece *piece, void *user)
{
    second_answer *a = user;
    vug_session *s = help_session(a->model);
    /* All logits are needed for those of named tokens. */
    const int32_t named = 0;
    const vug_generate_options o = { .max_tokens = 1,
                                     .ignore_stop = true,
                                     .logprobs = true,
                                     .logprob_id = &named,
                                     .n_logprob_ids = 1 };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    (void)piece;
    help_ok(vug_generate(s, a->id, a->n, &o, &g, &err), &err);
    a->cached = g.n_cached;
    memcpy(a->logits, vug_session_logits(s), a->n_vocab * sizeof(float));
    vug_generation_release(&g);
    vug_session_destroy(s);
    return true;
}

static void test_answers_share_the_whole_prompt(void **state)
{
    enum { PROMPT = 2 * VUG_KV_PAGE + 40 };
    int32_t id[PROMPT];
    vug_model *m = help_model(*state, (vug_model_options){ .context = 512, .batch = 64 });
    for (int shared = 0; shared < 2; shared++) {
        second_answer a = { .model = m, .id = id, .n = PROMPT };
        a.n_vocab = (size_t)vug_model_describe(m).n_vocab;
        a.logits = vug_alloc(a.n_vocab, sizeof(float));
        const vug_generate_options o = { .max_tokens = 1,
                                         .ignore_stop = true,
                                         .share_prompt = shared,
                                         .on_piece = begin_second,
                                         .user = &a };
        vug_generation g = { 0 };
        vug_err err = { 0 };
        vug_session *s = help_session(m);
        help_tokens((uint64_t)shared, id, PROMPT, (int64_t)a.n_vocab);
        help_ok(vug_generate(s, id, PROMPT, &o, &g, &err), &err);
        assert_int_equal(a.cached, shared ? PROMPT - 1 : 2 * VUG_KV_PAGE);
        float *alone = help_alone(m, id, PROMPT);
        help_same_bits(a.logits, alone, a.n_vocab);
        vug_free(alone);
        vug_free(a.logits);
        vug_generation_release(&g);
        vug_session_destroy(s);
    }
    const vug_prefix_stats tree = vug_prefix_get_stats(m->prefix_tree);
    assert_int_equal(vug_kv_pool_get_stats(m->kv_pool).used, tree.bytes); /* no page is lost */
    vug_model_close(m);
}

/* ---- order ------------------------------------------------------------------------- */

/* Of prompts of one length, the oldest gets its share, and the one with the lowest number gets what
 * is left of the step. */
static void test_lower_numbers_of_priority_go_first(void **state)
{
    (void)state;
    enum { V = 384, SEQUENCES = 4, LENGTH_OF_ALL = 100 };
    static const int priority[SEQUENCES] = { 0, 2, -5, -4 };
    vug_model *m = help_model(GOLDEN("qwen3"),
                              (vug_model_options){ .context = 512, .batch = 16, .slots = 4 });
    vug_scheduler *s = m->scheduler;
    vug_scheduled sequence[SEQUENCES];
    vug_extension job[SEQUENCES];
    int32_t id[SEQUENCES][LENGTH_OF_ALL];
    vug_err err = { 0 };
    for (size_t i = 0; i < SEQUENCES; i++) {
        help_tokens(i, id[i], LENGTH_OF_ALL, V);
        help_ok(vug_scheduler_add(s, &sequence[i], 512, &err), &err);
        vug_scheduler_begin(s, &sequence[i], id[i], LENGTH_OF_ALL, true, NULL);
        job[i] = (vug_extension){ .token = id[i], .n = LENGTH_OF_ALL, .priority = priority[i] };
        sequence[i].job = &job[i];
        sequence[i].arrived = i + 1;
    }
    assert_true(vug_scheduler_choose(s));
    assert_int_equal(s->now.n, 2);
    assert_ptr_equal(s->now.part_of[0], &sequence[0]);
    assert_ptr_equal(s->now.part_of[1], &sequence[2]);
    for (size_t i = 0; i < SEQUENCES; i++) {
        sequence[i].job = NULL;
        vug_scheduler_remove(s, &sequence[i]);
    }
    vug_model_close(m);
}

/* ---- memory ------------------------------------------------------------------------ */

static void test_memory_of_one_context_holds_it_for_each_session(void **state)
{
    (void)state;
    enum { V = 384 };
    vug_model_options o = { .context = 512, .batch = 64 };
    o.kv_memory = help_context_bytes(GOLDEN("gemma3-text"), o);
    vug_model *m = help_model(GOLDEN("gemma3-text"), o);
    vug_session *s = help_session(m), *other = help_session(m);
    int32_t id[512];
    vug_err err = { 0 };
    help_tokens(3, id, 512, V);
    help_ok(vug_session_forward(s, id, 512, NULL, &err), &err);
    help_ok(vug_session_forward(other, id + 1, 511, NULL, &err), &err);
    float *alone = help_alone(m, id, 512);
    help_same_bits(help_forward(s, id, 512), alone, V);
    vug_free(alone);
    vug_session_destroy(other);
    vug_session_destroy(s);
    vug_model_close(m);
}

/* As many sessions as there are slots, each with the whole context, take what was planned. */
static void test_planned_memory_is_what_slots_take(void **state)
{
    enum { V = 61, SLOTS = 3, CONTEXT = 200 }; /* the smallest vocabulary */
    vug_model *m = help_model(*state, (vug_model_options){ .context = CONTEXT,
                                                           .batch = 16,
                                                           .slots = SLOTS,
                                                           .kv_memory = (uint64_t)1 << 30,
                                                           .threads = 1 });
    const vug_memory_plan plan = vug_model_describe(m).memory;
    uint64_t sequence = 0;
    const vug_kv_layout *layout = vug_kv_pool_layout(m->kv_pool);
    bool has_windows = false;
    for (int g = 0; g < layout->n_groups; g++) {
        const vug_kv_group *group = &layout->group[g];
        has_windows = has_windows || group->window > 0;
        sequence += (uint64_t)vug_kv_pages_of_sequence(group, CONTEXT, 16) *
                    vug_kv_page_bytes(m->kv_pool, g);
    }
    assert_int_equal(plan.session_cache, sequence);
    assert_int_equal(plan.cache, SLOTS * sequence);
    vug_session *s[SLOTS];
    int32_t id[CONTEXT];
    vug_err err = { 0 };
    for (size_t i = 0; i < SLOTS; i++) {
        s[i] = help_session(m);
        help_tokens(i, id, CONTEXT, V);
        help_ok(vug_session_forward(s[i], id, CONTEXT, NULL, &err), &err);
    }
    const vug_cache_stats stats = vug_model_cache_stats(m);
    assert_int_equal(stats.sessions, SLOTS);
    assert_int_equal(stats.budget, (uint64_t)1 << 30);
    if (has_windows)
        assert_in_range(stats.used, 1, plan.cache);
    else
        assert_int_equal(stats.used, plan.cache);
    for (size_t i = 0; i < SLOTS; i++)
        vug_session_destroy(s[i]);
    const vug_cache_stats after = vug_model_cache_stats(m);
    assert_int_equal(after.sessions, 0);
    assert_int_equal(after.used, 0);
    assert_int_equal(after.used + after.cached, stats.used + stats.cached);
    vug_model_close(m);
}

int main(void)
{
    static char text_model[] = GOLDEN("gemma3-text"), shared[] = GOLDEN("gemma4-e"),
                full[] = GOLDEN("qwen3");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_threads_get_the_bits_of_a_cold_run, text_model),
        cmocka_unit_test_prestate(test_threads_get_the_bits_of_a_cold_run, shared),
        cmocka_unit_test_prestate(test_threads_get_the_bits_of_a_cold_run, full),
        cmocka_unit_test(test_many_calls_end_in_one_step),
        cmocka_unit_test(test_prefix_that_is_being_computed_is_waited_for),
        cmocka_unit_test(test_prefix_that_is_about_to_be_computed_is_waited_for),
        cmocka_unit_test(test_callback_may_begin_with_the_same_prompt),
        cmocka_unit_test_prestate(test_answers_share_the_whole_prompt, text_model),
        cmocka_unit_test_prestate(test_answers_share_the_whole_prompt, full),
        cmocka_unit_test(test_lower_numbers_of_priority_go_first),
        cmocka_unit_test_prestate(test_planned_memory_is_what_slots_take, full),
        cmocka_unit_test_prestate(test_planned_memory_is_what_slots_take, text_model),
        cmocka_unit_test(test_memory_of_one_context_holds_it_for_each_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
