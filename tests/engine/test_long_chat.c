/* What long conversations compute again while others take the memory of what they released: chats
 * of 40 turns, or 20 under a sanitizer, whose template drops the thinking of earlier turns, and loops
 * of tool calls, also after a restart with the cache on disk. */
#include "test.h"

#include "engine_help.h"
#include "sanitized.h"
#include "scratch.h"

enum {
    CONTEXT = 8192,
    FACTOR = 4, /* memory for keys and values, in sessions of the whole context */
    TURNS = SANITIZED ? 20 : 40,
    SYSTEM = 200,
    QUESTION = 20,
    OPENING = 4,
    THINKING = 150, /* more than a window of 16 and two pages */
    ANSWER = 100,
    SLACK = 64, /* what a turn may compute beside its own tokens */
};

/* The tokens that the next prompts begin with. */
typedef struct {
    vug_model *model;
    const char *path;
    vug_model_options options;
    int32_t id[CONTEXT];
    size_t n;
    uint64_t seed;
} long_chat;

static void add_tokens(long_chat *c, size_t n)
{
    help_tokens(c->seed++, c->id + c->n, n, vug_model_describe(c->model).n_vocab);
    c->n += n;
}

static void add_generated(long_chat *c, const vug_generation *g, size_t from)
{
    memcpy(c->id + c->n, g->tokens.id + from, (g->tokens.n - from) * sizeof(*c->id));
    c->n += g->tokens.n - from;
}

/* Generates `n` tokens after the chat's; every call is a request with a session of its own. */
static vug_generation ask(const long_chat *c, const vug_mark *mark, size_t n_marks, int n)
{
    vug_session *s = help_session(c->model);
    vug_err err;
    vug_generation g;
    const vug_generate_options o = {
        .max_tokens = n, .ignore_stop = true, .mark = mark, .n_marks = n_marks
    };
    help_ok(vug_generate(s, c->id, c->n, &o, &g, &err), &err);
    assert_int_equal(g.tokens.n, n);
    vug_session_destroy(s);
    return g;
}

/* Others run until what the chat released first has been evicted. They have two turns, with marks. */
static void run_others(const long_chat *c, uint64_t seed)
{
    long_chat other = { .model = c->model, .seed = 100000 + seed };
    const vug_mark mark[] = { { SYSTEM, VUG_MARK_SYSTEM },
                              { 300, VUG_MARK_TURN },
                              { 310, VUG_MARK_TURN },
                              { 500, VUG_MARK_TURN } };
    add_tokens(&other, 600);
    vug_generation g = ask(&other, mark, 4, 2);
    vug_generation_release(&g);
}

static void expect_computed(const vug_generation *g, size_t own, const char *what, int turn)
{
    if (g->n_prompt - g->n_cached > own + SLACK)
        fail_msg("turn %d, %s: %zu of %zu tokens are computed, %zu are its own", turn, what,
                 g->n_prompt - g->n_cached, g->n_prompt, own);
}

static long_chat begin_chat(const char *path, const char *cache_dir)
{
    const vug_model_options o = { .context = CONTEXT, .threads = 1, .batch = 128 };
    vug_model *m = help_model(path, o);
    long_chat c = { .path = path, .options = o, .seed = 1 };
    /* Snapshots get a fourth; others evict what is not pinned. */
    c.options.kv_memory = FACTOR * vug_model_describe(m).memory.session_cache;
    c.options.cache_dir = cache_dir;
    vug_model_close(m);
    c.model = help_model(path, c.options);
    add_tokens(&c, SYSTEM);
    return c;
}

static void restart(long_chat *c)
{
    vug_model_close(c->model);
    c->model = help_model(c->path, c->options);
}

static void take_turn(long_chat *c, int turn)
{
    const size_t own = turn ? ANSWER + QUESTION + OPENING : 0; /* the last answer is new, too */
    const size_t before = c->n;
    add_tokens(c, QUESTION);
    add_tokens(c, OPENING);
    const vug_mark mark[] = { { SYSTEM, VUG_MARK_SYSTEM },
                              { before - 1, VUG_MARK_TURN },
                              { c->n - OPENING - 1, VUG_MARK_TURN } };
    vug_generation g = ask(c, mark, 3, THINKING + ANSWER), again;
    if (turn)
        expect_computed(&g, own, "a question", turn);
    run_others(c, (uint64_t)turn);
    again = ask(c, mark, 3, 2);
    expect_computed(&again, OPENING, "another answer", turn);
    vug_generation_release(&again);
    run_others(c, (uint64_t)turn + 1000);
    long_chat edited = *c;
    edited.n = before;
    edited.seed += 1000;
    add_tokens(&edited, QUESTION + OPENING);
    again = ask(&edited, mark, 3, 2);
    expect_computed(&again, QUESTION + OPENING, "an edited question", turn);
    vug_generation_release(&again);
    run_others(c, (uint64_t)turn + 2000);
    add_generated(c, &g, THINKING); /* the template drops the thinking */
    vug_generation_release(&g);
}

static void chat_long(const char *model)
{
    long_chat c = begin_chat(model, NULL);
    for (int turn = 0; turn < TURNS; turn++)
        take_turn(&c, turn);
    vug_model_close(c.model);
}

/* Several chats take turns, as many as one chat alone. */
static void compete(const char *model)
{
    enum { CHATS = 2, TURNS_EACH = TURNS / CHATS };
    long_chat c[CHATS];
    c[0] = begin_chat(model, NULL);
    for (uint64_t i = 1; i < CHATS; i++) {
        c[i] = (long_chat){ .model = c[0].model, .seed = 1 + 50000 * i };
        add_tokens(&c[i], SYSTEM);
    }
    for (int turn = 0; turn < TURNS_EACH; turn++) {
        for (size_t i = 0; i < CHATS; i++)
            take_turn(&c[i], turn);
    }
    vug_model_close(c[0].model);
}

static void chat_across_restarts(const char *model)
{
    const scratch dir = scratch_make();
    long_chat c = begin_chat(model, dir.path);
    for (int turn = 0; turn < TURNS; turn++) {
        take_turn(&c, turn);
        if (turn % (TURNS / 4) == TURNS / 4 - 1)
            restart(&c);
    }
    vug_model_close(c.model);
    scratch_remove(&dir);
}

/* Each request repeats the one before, the call that it made and its result. */
static void loop_calls(const char *model, size_t result, int restart_after, const char *cache_dir)
{
    enum { CALLS = 20, CALL = 30 };
    long_chat c = begin_chat(model, cache_dir);
    size_t again = 0, known = 0;
    for (int call = 0; call < CALLS; call++) {
        if (call == restart_after)
            restart(&c);
        add_tokens(&c, result + OPENING);
        const vug_mark mark[] = { { SYSTEM, VUG_MARK_SYSTEM }, { c.n - 1, VUG_MARK_TURN } };
        vug_generation g = ask(&c, mark, 2, CALL);
        if (call > 0 && g.n_cached < known)
            again += known - g.n_cached;
        add_generated(&c, &g, 0);
        known = c.n - 1; /* the last token was not run */
        vug_generation_release(&g);
        run_others(&c, (uint64_t)call);
    }
    if (again * 50 >= c.n)
        fail_msg("%zu tokens of %zu are computed again", again, c.n);
    vug_model_close(c.model);
}

static void test_chats(void **state)
{
    (void)state;
    chat_long(GOLDEN("gemma3-text"));
    chat_long(GOLDEN("gemma4-e"));
}

static void test_chats_that_compete(void **state)
{
    (void)state;
    compete(GOLDEN("gemma4-e"));
}

static void test_chats_across_restarts(void **state)
{
    (void)state;
    chat_across_restarts(GOLDEN("gemma3-text"));
}

static void test_tool_calls(void **state)
{
    (void)state;
    loop_calls(GOLDEN("gemma3-text"), 60, -1, NULL);
    loop_calls(GOLDEN("gemma4-e"), 60, -1, NULL);
}

/* A restart costs a page at most: what was not whole is not on disk. */
static void test_tool_calls_across_a_restart(void **state)
{
    (void)state;
    static const char *const model[] = { GOLDEN("gemma3-text"), GOLDEN("gemma4-e") };
    for (size_t i = 0; i < 2; i++) {
        const scratch dir = scratch_make();
        loop_calls(model[i], 200, 10, dir.path);
        scratch_remove(&dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chats),
        cmocka_unit_test(test_chats_that_compete),
        cmocka_unit_test(test_chats_across_restarts),
        cmocka_unit_test(test_tool_calls),
        cmocka_unit_test(test_tool_calls_across_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
