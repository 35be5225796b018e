/* Many conversations on few sessions: whatever is reused, copied, lost, cancelled or replaced,
 * every answer equals that of a fresh session, bit for bit. */
#include "test.h"

#include "core/cancel.h"
#include "engine_help.h"
#include "server/session_cache.h"

enum { CONTEXT = 256, CONVERSATIONS = 5, ROUNDS = 120, OPENING = 3 };

/* The last OPENING tokens of a prompt open the answer and are not repeated later. */
typedef struct {
    int32_t id[CONTEXT];
    size_t n;
} token_conversation;

typedef struct {
    vug_model *model;
    vug_session_cache sessions;
    uint64_t random;
    int64_t n_vocab;
    token_conversation conversations[CONVERSATIONS];
    /* every prompt with its answer so far: only their prefixes may be cached */
    token_conversation seen[ROUNDS * 2];
    size_t n_seen;
} cache_simulation;

/* ---- an answer ----------------------------------------------------------------------- */

typedef struct {
    float logprob[CONTEXT];
    size_t n, stop_after; /* 0: never */
    bool cancels;         /* after as many instead */
    vug_cancel_token cancel;
} token_recorder;

static bool record_token(const vug_piece *piece, void *user)
{
    token_recorder *l = user;
    if (piece->token < 0)
        return true;
    l->logprob[l->n++] = piece->logprob;
    if (l->n != l->stop_after)
        return true;
    if (l->cancels)
        vug_cancel_token_trigger(&l->cancel);
    return l->cancels;
}

static vug_generation generate(vug_session *s, const token_conversation *t, int most, uint64_t seed,
                               token_recorder *l)
{
    static const vug_sampler_config warm[] = { { VUG_SAMPLER_TEMPERATURE, 0.8f, 0 } };
    const vug_generate_options how = { .max_tokens = most,
                                       .sampling = { .sampler = warm, .n = 1, .seed = seed },
                                       .logprobs = true,
                                       .cancel = &l->cancel,
                                       .on_piece = record_token,
                                       .user = l };
    vug_generation g;
    vug_err err = { 0 };
    help_ok(vug_generate(s, t->id, t->n, &how, &g, &err), &err);
    return g;
}

static void assert_equals_fresh_session(cache_simulation *x, const token_conversation *t, int most,
                                        uint64_t seed, const vug_generation *g,
                                        const token_recorder *recorded)
{
    token_recorder l = { .stop_after = recorded->stop_after };
    vug_session *alone = help_session(x->model);
    vug_generation h = generate(alone, t, most, seed, &l);
    assert_int_equal(h.n_cached, 0);
    /* A cancelled generation may have fewer tokens. */
    assert_true(g->tokens.n == h.tokens.n || recorded->cancels);
    assert_true(g->tokens.n <= h.tokens.n + 1);
    const size_t n = g->tokens.n < h.tokens.n ? g->tokens.n : h.tokens.n;
    if (n > 0)
        assert_memory_equal(g->tokens.id, h.tokens.id, n * sizeof(int32_t));
    help_same_bits(recorded->logprob, l.logprob, n);
    vug_generation_release(&h);
    vug_session_destroy(alone);
}

/* ---- allowed cache hits --------------------------------------------------------------- */

static size_t common_prefix(const token_conversation *a, const token_conversation *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && a->id[n] == b->id[n])
        n++;
    return n;
}

static void add_seen_prefix(cache_simulation *x, const token_conversation *t,
                            const vug_tokens *answer)
{
    token_conversation *seen = &x->seen[x->n_seen++];
    *seen = *t;
    for (size_t i = 0; answer && i < answer->n && seen->n < CONTEXT; i++)
        seen->id[seen->n++] = answer->id[i];
}

static size_t longest_seen_prefix(const cache_simulation *x, const token_conversation *t)
{
    size_t most = 0;
    for (size_t i = 0; i < x->n_seen; i++) {
        const size_t n = common_prefix(&x->seen[i], t);
        most = n > most ? n : most;
    }
    return most < t->n ? most : t->n - 1;
}

/* ---- conversations --------------------------------------------------------------------- */

static void append_tokens(cache_simulation *x, token_conversation *t, size_t n)
{
    for (; n > 0 && t->n < CONTEXT - 64; n--)
        t->id[t->n++] = (int32_t)(8 + help_random(&x->random, (uint64_t)x->n_vocab - 8));
}

/* Half of them share a prefix, like a system message. */
static void begin_conversation(cache_simulation *x, token_conversation *t)
{
    t->n = 0;
    help_tokens(7, t->id, 40, x->n_vocab);
    t->n = help_random(&x->random, 2) ? 40 : 0;
    append_tokens(x, t, 1 + help_random(&x->random, 30));
}

/* The next turn: a new message, an edit or a repetition. */
static void change_conversation(cache_simulation *x, token_conversation *t)
{
    switch (help_random(&x->random, 8)) {
    case 0:
        t->n = 1 + help_random(&x->random, t->n);
        break;
    case 1:
        begin_conversation(x, t);
        break;
    case 2:
        return; /* repeats the request */
    default:
        break;
    }
    if (t->n > CONTEXT - 80)
        begin_conversation(x, t);
    append_tokens(x, t, 1 + help_random(&x->random, 20));
}

static vug_cached_session *acquire_session(cache_simulation *x, const token_conversation *t)
{
    const vug_session_cache_prompt cache_prompt = { t->id, t->n,
                                                    t->n > OPENING ? t->n - OPENING : t->n };
    vug_cached_session *cached;
    vug_err err = { 0 };
    help_ok(vug_session_cache_acquire(&x->sessions, &cache_prompt, &cached, &err), &err);
    assert_non_null(cached->session);
    return cached;
}

/* Scores the whole prompt, or aborts. */
static bool stop_after_steps(const vug_step *step, void *user)
{
    (void)step;
    int *left = user;
    return --*left > 0;
}

static void score_prompt(cache_simulation *x, const token_conversation *t)
{
    int steps = 1 + (int)help_random(&x->random, 8);
    const vug_forward_options how = {
        .chunk = 32, .all_logits = true, .on_step = stop_after_steps, .user = &steps
    };
    vug_err err = { 0 };
    help_ok(vug_session_forward(acquire_session(x, t)->session, t->id, t->n, &how, &err), &err);
    add_seen_prefix(x, t, NULL);
}

static void generate_answer(cache_simulation *x, token_conversation *t)
{
    token_conversation prompt = *t;
    token_recorder l = { 0 };
    const int most = 1 + (int)help_random(&x->random, 40);
    const uint64_t seed = help_random(&x->random, 4);
    append_tokens(x, &prompt, OPENING);
    vug_cached_session *cached = acquire_session(x, &prompt);
    if (help_random(&x->random, 3) == 0)
        l.stop_after = 1 + help_random(&x->random, 12);
    if (l.stop_after && help_random(&x->random, 2))
        l.cancels = true;
    size_t same;
    const size_t cached_tokens = vug_session_cached(cached->session, prompt.id, prompt.n, &same);
    if (help_random(&x->random, 6) == 0) { /* before it starts */
        l.cancels = true;
        vug_cancel_token_trigger(&l.cancel);
    }
    vug_generation g = generate(cached->session, &prompt, most, seed, &l);
    assert_int_equal(g.n_cached, cached_tokens);
    assert_true(g.n_cached <= longest_seen_prefix(x, &prompt));
    assert_equals_fresh_session(x, &prompt, most, seed, &g, &l);
    add_seen_prefix(x, &prompt, &g.tokens);
    if (help_random(&x->random, 4)) { /* the next prompt has the answer, mostly unchanged */
        if (help_random(&x->random, 4))
            *t = prompt;
        for (size_t i = 0; i < g.tokens.n && t->n < CONTEXT - 64; i++)
            t->id[t->n++] = g.tokens.id[i];
    }
    vug_generation_release(&g);
}

static void simulate(const char *path, const char *kv, int sessions, int batch, int snapshots)
{
    const vug_model_options how = {
        .context = CONTEXT, .batch = batch, .threads = 1, .kv = kv, .snapshots = snapshots
    };
    cache_simulation *x = vug_alloc_zero(1, sizeof(*x));
    vug_err err = { 0 };
    assert_non_null(x);
    x->model = help_model(path, how);
    x->n_vocab = vug_model_describe(x->model).n_vocab;
    x->random = (uint64_t)sessions * 100 + (uint64_t)batch;
    help_ok(vug_session_cache_init(&x->sessions, x->model, sessions, 0, NULL, &err), &err);
    for (int i = 0; i < CONVERSATIONS; i++)
        begin_conversation(x, &x->conversations[i]);
    for (int i = 0; i < ROUNDS; i++) {
        token_conversation *t = &x->conversations[help_random(&x->random, CONVERSATIONS)];
        change_conversation(x, t);
        if (help_random(&x->random, 10) == 0)
            score_prompt(x, t);
        else
            generate_answer(x, t);
    }
    vug_session_cache_release(&x->sessions);
    vug_model_close(x->model);
    vug_free(x);
}

static void test_answers_equal_those_of_a_fresh_session(void **state)
{
    (void)state;
    simulate(GOLDEN("gemma3-text"), "f32", 1, 16, 0);
    simulate(GOLDEN("gemma3-text"), "q8", 3, 7, 2);
    simulate(GOLDEN("gemma3-text"), "f32", 2, 16, 3);
    simulate(GOLDEN("gemma4-e"), "f32", 2, 16, 0);
    simulate(GOLDEN("gemma4-e"), "bf16", 4, 32, 1);
    simulate(GOLDEN("gemma4-e"), "f32", 1, 8, 5);
    simulate(GOLDEN("gemma4-moe"), "f16", 3, 16, 2);
    simulate(GOLDEN("qwen3"), "f32", 3, 16, 2);
    simulate(GOLDEN("qwen3-moe"), "q8", 2, 32, 0);
}

/* ---- required cache hits ----------------------------------------------------------------- */

typedef struct {
    vug_model *model;
    vug_session_cache sessions;
    vug_session *last; /* that was used last */
} session_fixture;

static session_fixture fixture_open(const char *path, int sessions, int batch, int snapshots)
{
    const vug_model_options how = {
        .context = CONTEXT, .batch = batch, .threads = 1, .snapshots = snapshots
    };
    session_fixture f = { .model = help_model(path, how) };
    vug_err err = { 0 };
    help_ok(vug_session_cache_init(&f.sessions, f.model, sessions, 0, NULL, &err), &err);
    return f;
}

static void fixture_close(session_fixture *f)
{
    vug_session_cache_release(&f->sessions);
    vug_model_close(f->model);
}

/* Generates `more` tokens from a prompt of the bytes of `text`, the last two of which open the
 * answer; returns the number of cached tokens. */
static size_t cached_tokens(session_fixture *f, const char *text, int more)
{
    token_conversation t = { .n = strlen(text) };
    token_recorder l = { 0 };
    vug_cached_session *cached;
    vug_err err = { 0 };
    for (size_t i = 0; i < t.n; i++)
        t.id[i] = (unsigned char)text[i];
    help_ok(vug_session_cache_acquire(
                    &f->sessions, &(vug_session_cache_prompt){ t.id, t.n, t.n - 2 }, &cached, &err),
            &err);
    f->last = cached->session;
    const vug_generate_options how = {
        .max_tokens = more, .ignore_stop = true, .on_piece = record_token, .user = &l
    };
    vug_generation g;
    help_ok(vug_generate(cached->session, t.id, t.n, &how, &g, &err), &err);
    const size_t n = g.n_cached;
    vug_generation_release(&g);
    return n;
}

#define SYSTEM "a message of the system, which is long"

/* Conversations with a common prefix each keep their own tokens. */
static void test_conversations_alternate(void **state)
{
    session_fixture f = fixture_open(GOLDEN("gemma3-text"), 2, CONTEXT, 0);
    (void)state;
    assert_int_equal(cached_tokens(&f, SYSTEM " one>>", 20), 0);
    assert_int_equal(cached_tokens(&f, SYSTEM " two>>", 20), strlen(SYSTEM " "));
    assert_int_equal(cached_tokens(&f, SYSTEM " one. It goes on>>", 20), strlen(SYSTEM " one"));
    assert_int_equal(cached_tokens(&f, SYSTEM " two. It goes on>>", 20), strlen(SYSTEM " two"));
    /* A third one replaces the least recently used. */
    assert_int_equal(cached_tokens(&f, SYSTEM " three>>", 1), strlen(SYSTEM " "));
    assert_int_equal(cached_tokens(&f, SYSTEM " two. It goes on. And on>>", 1),
                     strlen(SYSTEM " two. It goes on"));
    fixture_close(&f);
}

/* A repeated request, and an edited message. */
static void test_rewound_conversation(void **state)
{
    session_fixture f = fixture_open(GOLDEN("gemma3-text"), 3, CONTEXT, 0);
    (void)state;
    assert_int_equal(cached_tokens(&f, SYSTEM " one>>", 100), 0);
    vug_session *first = f.last;
    assert_int_equal(cached_tokens(&f, SYSTEM " one>>", 100), strlen(SYSTEM " one>>") - 1);
    assert_ptr_equal(f.last, first); /* other sessions stay unused */
    assert_int_equal(cached_tokens(&f, SYSTEM " one. More>>", 1), strlen(SYSTEM " one"));
    assert_ptr_equal(f.last, first);
    assert_int_equal(cached_tokens(&f, SYSTEM " one. Else>>", 1), strlen(SYSTEM " one. "));
    assert_ptr_not_equal(f.last, first);
    assert_int_equal(cached_tokens(&f, SYSTEM " one. More>>", 1),
                     strlen(SYSTEM " one. More>>") - 1);
    assert_ptr_equal(f.last, first);
    fixture_close(&f);
}

/* A sliding window that has lost the old tokens: the prompt is recomputed in the same session, and
 * other conversations lose nothing. Rings hold 64 tokens here, the window is 16. */
static void test_sliding_windows_lose_old_tokens(void **state)
{
    session_fixture f = fixture_open(GOLDEN("gemma3-text"), 2, 16, 0);
    (void)state;
    assert_int_equal(cached_tokens(&f, "Another one>>", 1), 0);
    vug_session *other = f.last;
    assert_int_equal(cached_tokens(&f, SYSTEM " one>>", 20), 0);
    vug_session *mine = f.last;
    assert_int_equal(cached_tokens(&f, SYSTEM " one>>", 100), strlen(SYSTEM " one>>") - 1);
    assert_int_equal(cached_tokens(&f, SYSTEM " one>>", 100), 0);
    assert_int_equal(cached_tokens(&f, SYSTEM " one. More>>", 1), 0);
    assert_ptr_equal(f.last, mine);
    assert_ptr_not_equal(mine, other);
    assert_int_equal(cached_tokens(&f, "Another one. More>>", 1), strlen("Another one"));
    assert_ptr_equal(f.last, other);
    fixture_close(&f);
}

/* A copy lacks the tokens that its source lacks. */
static void test_copied_sessions_lose_the_same_tokens(void **state)
{
    session_fixture f = fixture_open(GOLDEN("gemma3-text"), 1, 16, 0);
    vug_session *a = help_session(f.model), *b = help_session(f.model);
    int32_t id[150];
    size_t common_prefix;
    (void)state;
    help_tokens(1, id, 150, 384);
    (void)help_forward(a, id, 150);
    vug_session_copy(b, a, id, 110);
    assert_int_equal(vug_session_length(b), 109); /* the logits of the last token are needed */
    float *alone = help_alone(f.model, id, 110);
    help_same_bits(help_forward(b, id, 110), alone, 384);
    vug_free(alone);
    assert_int_equal(vug_session_cached(b, id, 104, &common_prefix), 103);
    assert_int_equal(vug_session_cached(b, id, 96, &common_prefix), 0);
    assert_int_equal(common_prefix, 96);
    vug_session_copy(b, a, id, 96);
    assert_int_equal(vug_session_length(b), 0);
    vug_session_destroy(b);
    vug_session_destroy(a);
    fixture_close(&f);
}

/* A snapshot before the answer restores the windows. */
static void test_snapshots_restore_windows(void **state)
{
    session_fixture f = fixture_open(GOLDEN("gemma3-text"), 2, 16, 2);
    const size_t before = strlen(SYSTEM " one>>") - 16, later = before + strlen(". More");
    (void)state;
    assert_int_equal(cached_tokens(&f, SYSTEM " one>>", 100), 0);
    vug_session *mine = f.last;
    assert_int_equal(cached_tokens(&f, SYSTEM " one>>", 100), before);
    assert_int_equal(cached_tokens(&f, SYSTEM " one. More>>", 100), before);
    assert_ptr_equal(f.last, mine);
    assert_int_equal(cached_tokens(&f, SYSTEM " one. Less>>", 1), later);
    assert_ptr_not_equal(f.last, mine);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_equal_those_of_a_fresh_session),
        cmocka_unit_test(test_conversations_alternate),
        cmocka_unit_test(test_rewound_conversation),
        cmocka_unit_test(test_sliding_windows_lose_old_tokens),
        cmocka_unit_test(test_copied_sessions_lose_the_same_tokens),
        cmocka_unit_test(test_snapshots_restore_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
