/* Many conversations over few sessions: whatever is found again, copied, forgotten, broken off or
 * taken over, every answer is that of a session that has seen nothing else, to the bit. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "app/server/sessions.h"
#include "engine_help.h"

enum { CONTEXT = 256, TALKS = 5, ROUNDS = 120, OPENING = 3 };

/* A prompt ends with tokens that open the answer and are not repeated later. */
typedef struct {
    int32_t id[CONTEXT];
    size_t n;
} talk;

typedef struct {
    vug_model *model;
    vug_sessions sessions;
    uint64_t random;
    int64_t n_vocab;
    talk talk[TALKS];
    /* every prefix that was ever given to the model or came of it, for what may be found */
    talk seen[ROUNDS * 2];
    size_t n_seen;
} table;

/* ---- an answer ----------------------------------------------------------------------- */

typedef struct {
    float logprob[CONTEXT];
    size_t n, stop_after; /* 0: never */
    vug_session *cancel;  /* after as many instead */
} listener;

static bool listen(const vug_piece *piece, void *user)
{
    listener *l = user;
    if (piece->token < 0)
        return true;
    l->logprob[l->n++] = piece->logprob;
    if (l->n != l->stop_after)
        return true;
    if (l->cancel)
        vug_session_cancel(l->cancel);
    return l->cancel != NULL;
}

static vug_generation generate(vug_session *s, const talk *t, int most, uint64_t seed, listener *l)
{
    static const vug_sampler_stage warm[] = { { VUG_SAMPLER_TEMPERATURE, 0.8f, 0 } };
    const vug_generate_options how = { .max_tokens = most,
                                       .sampling = { warm, 1, seed },
                                       .logprobs = true,
                                       .on_piece = listen,
                                       .user = l };
    vug_generation g;
    vug_err err = { 0 };
    help_ok(vug_generate(s, t->id, t->n, &how, &g, &err), &err);
    return g;
}

static void assert_as_alone(table *x, const talk *t, int most, uint64_t seed,
                            const vug_generation *g, const listener *heard)
{
    listener l = { .stop_after = heard->stop_after };
    vug_session *alone = help_session(x->model);
    vug_generation h = generate(alone, t, most, seed, &l);
    assert_int_equal(h.n_cached, 0);
    /* One that was cancelled has at least what came before. */
    assert_true(g->tokens.n == h.tokens.n || heard->cancel);
    assert_true(g->tokens.n <= h.tokens.n + 1);
    const size_t n = g->tokens.n < h.tokens.n ? g->tokens.n : h.tokens.n;
    if (n > 0)
        assert_memory_equal(g->tokens.id, h.tokens.id, n * sizeof(int32_t));
    help_same_bits(heard->logprob, l.logprob, n);
    vug_generation_release(&h);
    vug_session_destroy(alone);
}

/* ---- what may be found ---------------------------------------------------------------- */

static size_t common(const talk *a, const talk *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && a->id[n] == b->id[n])
        n++;
    return n;
}

static void remember(table *x, const talk *t, const vug_tokens *answer)
{
    talk *seen = &x->seen[x->n_seen++];
    *seen = *t;
    for (size_t i = 0; answer && i < answer->n && seen->n < CONTEXT; i++)
        seen->id[seen->n++] = answer->id[i];
}

static size_t most_common(const table *x, const talk *t)
{
    size_t most = 0;
    for (size_t i = 0; i < x->n_seen; i++) {
        const size_t n = common(&x->seen[i], t);
        most = n > most ? n : most;
    }
    return most < t->n ? most : t->n - 1;
}

/* ---- conversations --------------------------------------------------------------------- */

static void add(table *x, talk *t, size_t n)
{
    for (; n > 0 && t->n < CONTEXT - 64; n--)
        t->id[t->n++] = (int32_t)(8 + help_random(&x->random, (uint64_t)x->n_vocab - 8));
}

/* Half of them begin alike, as with one system message. */
static void begin(table *x, talk *t)
{
    t->n = 0;
    help_tokens(7, t->id, 40, x->n_vocab);
    t->n = help_random(&x->random, 2) ? 40 : 0;
    add(x, t, 1 + help_random(&x->random, 30));
}

/* The next turn: something new, or an edit of what was said. */
static void go_on(table *x, talk *t)
{
    switch (help_random(&x->random, 8)) {
    case 0:
        t->n = 1 + help_random(&x->random, t->n);
        break;
    case 1:
        begin(x, t);
        break;
    case 2:
        return; /* again */
    default:
        break;
    }
    if (t->n > CONTEXT - 80)
        begin(x, t);
    add(x, t, 1 + help_random(&x->random, 20));
}

static vug_kept_session *take(table *x, const talk *t)
{
    const vug_said said = { t->id, t->n, t->n > OPENING ? t->n - OPENING : t->n };
    vug_kept_session *kept;
    vug_err err = { 0 };
    help_ok(vug_sessions_take(&x->sessions, &said, &kept, &err), &err);
    assert_non_null(kept->session);
    return kept;
}

/* Everything is read anew, to be scored, perhaps not to the end. */
static bool few_steps(const vug_step *step, void *user)
{
    (void)step;
    int *left = user;
    return --*left > 0;
}

static void score(table *x, const talk *t)
{
    int steps = 1 + (int)help_random(&x->random, 8);
    const vug_forward_options how = {
        .chunk = 32, .all_logits = true, .on_step = few_steps, .user = &steps
    };
    vug_err err = { 0 };
    help_ok(vug_session_forward(take(x, t)->session, t->id, t->n, &how, &err), &err);
    remember(x, t, NULL);
}

static void ask(table *x, talk *t)
{
    talk prompt = *t;
    listener l = { 0 };
    const int most = 1 + (int)help_random(&x->random, 40);
    const uint64_t seed = help_random(&x->random, 4);
    add(x, &prompt, OPENING);
    vug_kept_session *kept = take(x, &prompt);
    if (help_random(&x->random, 3) == 0)
        l.stop_after = 1 + help_random(&x->random, 12);
    if (l.stop_after && help_random(&x->random, 2))
        l.cancel = kept->session;
    size_t same;
    const size_t found = vug_session_cached(kept->session, prompt.id, prompt.n, &same);
    if (help_random(&x->random, 6) == 0) { /* before it begins */
        l.cancel = kept->session;
        vug_session_cancel(kept->session);
    }
    vug_generation g = generate(kept->session, &prompt, most, seed, &l);
    assert_int_equal(g.n_cached, found);
    assert_true(g.n_cached <= most_common(x, &prompt));
    assert_as_alone(x, &prompt, most, seed, &g, &l);
    remember(x, &prompt, &g.tokens);
    if (help_random(&x->random, 4)) { /* the answer is sent back, mostly as it was */
        if (help_random(&x->random, 4))
            *t = prompt;
        for (size_t i = 0; i < g.tokens.n && t->n < CONTEXT - 64; i++)
            t->id[t->n++] = g.tokens.id[i];
    }
    vug_generation_release(&g);
}

static void play(const char *path, const char *kv, int sessions, int batch, int snapshots)
{
    const vug_model_options how = {
        .context = CONTEXT, .batch = batch, .threads = 1, .kv = kv, .snapshots = snapshots
    };
    table *x = vug_alloc_zero(1, sizeof(*x));
    vug_err err = { 0 };
    assert_non_null(x);
    x->model = help_model(path, how);
    x->n_vocab = vug_model_describe(x->model).n_vocab;
    x->random = (uint64_t)sessions * 100 + (uint64_t)batch;
    help_ok(vug_sessions_init(&x->sessions, x->model, sessions, 0, NULL, &err), &err);
    for (int i = 0; i < TALKS; i++)
        begin(x, &x->talk[i]);
    for (int i = 0; i < ROUNDS; i++) {
        talk *t = &x->talk[help_random(&x->random, TALKS)];
        go_on(x, t);
        if (help_random(&x->random, 10) == 0)
            score(x, t);
        else
            ask(x, t);
    }
    vug_sessions_release(&x->sessions);
    vug_model_close(x->model);
    vug_free(x);
}

static void test_answers_are_those_alone(void **state)
{
    (void)state;
    play(GOLDEN("gemma3-text"), "f32", 1, 16, 0);
    play(GOLDEN("gemma3-text"), "q8", 3, 7, 2);
    play(GOLDEN("gemma3-text"), "f32", 2, 16, 3);
    play(GOLDEN("gemma4-e"), "f32", 2, 16, 0);
    play(GOLDEN("gemma4-e"), "bf16", 4, 32, 1);
    play(GOLDEN("gemma4-e"), "f32", 1, 8, 5);
    play(GOLDEN("gemma4-moe"), "f16", 3, 16, 2);
    play(GOLDEN("qwen3"), "f32", 3, 16, 2);
    play(GOLDEN("qwen3-moe"), "q8", 2, 32, 0);
}

/* ---- what must be found ------------------------------------------------------------------ */

typedef struct {
    vug_model *model;
    vug_sessions sessions;
    vug_session *last; /* that answered */
} few;

static few few_begin(const char *path, int sessions, int batch, int snapshots)
{
    const vug_model_options how = {
        .context = CONTEXT, .batch = batch, .threads = 1, .snapshots = snapshots
    };
    few f = { .model = help_model(path, how) };
    vug_err err = { 0 };
    help_ok(vug_sessions_init(&f.sessions, f.model, sessions, 0, NULL, &err), &err);
    return f;
}

static void few_end(few *f)
{
    vug_sessions_release(&f->sessions);
    vug_model_close(f->model);
}

/* Tokens found of a prompt of the bytes of `text`, the last two of which open the answer, of
 * which `more` tokens are generated. */
static size_t found(few *f, const char *text, int more)
{
    talk t = { .n = strlen(text) };
    listener l = { 0 };
    vug_kept_session *kept;
    vug_err err = { 0 };
    for (size_t i = 0; i < t.n; i++)
        t.id[i] = (unsigned char)text[i];
    help_ok(vug_sessions_take(&f->sessions, &(vug_said){ t.id, t.n, t.n - 2 }, &kept, &err), &err);
    f->last = kept->session;
    const vug_generate_options how = {
        .max_tokens = more, .ignore_stop = true, .on_piece = listen, .user = &l
    };
    vug_generation g;
    help_ok(vug_generate(kept->session, t.id, t.n, &how, &g, &err), &err);
    const size_t n = g.n_cached;
    vug_generation_release(&g);
    return n;
}

#define SYSTEM "a message of the system, which is long"

/* Conversations that begin alike keep what each of them has said. */
static void test_conversations_take_turns(void **state)
{
    few f = few_begin(GOLDEN("gemma3-text"), 2, CONTEXT, 0);
    (void)state;
    assert_int_equal(found(&f, SYSTEM " one>>", 20), 0);
    assert_int_equal(found(&f, SYSTEM " two>>", 20), strlen(SYSTEM " "));
    assert_int_equal(found(&f, SYSTEM " one. It goes on>>", 20), strlen(SYSTEM " one"));
    assert_int_equal(found(&f, SYSTEM " two. It goes on>>", 20), strlen(SYSTEM " two"));
    /* A third one comes in place of the one that was not used the longest. */
    assert_int_equal(found(&f, SYSTEM " three>>", 1), strlen(SYSTEM " "));
    assert_int_equal(found(&f, SYSTEM " two. It goes on. And on>>", 1),
                     strlen(SYSTEM " two. It goes on"));
    few_end(&f);
}

/* An answer that is asked for again, and a message that is edited. */
static void test_goes_back(void **state)
{
    few f = few_begin(GOLDEN("gemma3-text"), 3, CONTEXT, 0);
    (void)state;
    assert_int_equal(found(&f, SYSTEM " one>>", 100), 0);
    vug_session *first = f.last;
    assert_int_equal(found(&f, SYSTEM " one>>", 100), strlen(SYSTEM " one>>") - 1);
    assert_ptr_equal(f.last, first); /* others are left alone */
    assert_int_equal(found(&f, SYSTEM " one. More>>", 1), strlen(SYSTEM " one"));
    assert_ptr_equal(f.last, first);
    assert_int_equal(found(&f, SYSTEM " one. Else>>", 1), strlen(SYSTEM " one. "));
    assert_ptr_not_equal(f.last, first);
    assert_int_equal(found(&f, SYSTEM " one. More>>", 1), strlen(SYSTEM " one. More>>") - 1);
    assert_ptr_equal(f.last, first);
    few_end(&f);
}

/* A window that has forgotten what lies so far back: all is read again, in the same session,
 * and other conversations lose nothing. Rings hold 64 tokens here, a window 16. */
static void test_windows_forget(void **state)
{
    few f = few_begin(GOLDEN("gemma3-text"), 2, 16, 0);
    (void)state;
    assert_int_equal(found(&f, "Another one>>", 1), 0);
    vug_session *other = f.last;
    assert_int_equal(found(&f, SYSTEM " one>>", 20), 0);
    vug_session *mine = f.last;
    assert_int_equal(found(&f, SYSTEM " one>>", 100), strlen(SYSTEM " one>>") - 1);
    assert_int_equal(found(&f, SYSTEM " one>>", 100), 0);
    assert_int_equal(found(&f, SYSTEM " one. More>>", 1), 0);
    assert_ptr_equal(f.last, mine);
    assert_ptr_not_equal(mine, other);
    assert_int_equal(found(&f, "Another one. More>>", 1), strlen("Another one"));
    assert_ptr_equal(f.last, other);
    few_end(&f);
}

/* A copy has the holes of what it was copied from. */
static void test_copies_forget_as_much(void **state)
{
    few f = few_begin(GOLDEN("gemma3-text"), 1, 16, 0);
    vug_session *a = help_session(f.model), *b = help_session(f.model);
    int32_t id[150];
    size_t common;
    (void)state;
    help_tokens(1, id, 150, 384);
    (void)help_forward(a, id, 150);
    vug_session_copy(b, a, id, 110);
    assert_int_equal(vug_session_length(b), 109); /* the last one's logits are wanted */
    float *alone = help_alone(f.model, id, 110);
    help_same_bits(help_forward(b, id, 110), alone, 384);
    vug_free(alone);
    assert_int_equal(vug_session_cached(b, id, 104, &common), 103);
    assert_int_equal(vug_session_cached(b, id, 96, &common), 0);
    assert_int_equal(common, 96);
    vug_session_copy(b, a, id, 96);
    assert_int_equal(vug_session_length(b), 0);
    vug_session_destroy(b);
    vug_session_destroy(a);
    few_end(&f);
}

/* What the windows have forgotten they get back from before the answer. */
static void test_snapshots_lead_back(void **state)
{
    few f = few_begin(GOLDEN("gemma3-text"), 2, 16, 2);
    const size_t before = strlen(SYSTEM " one>>") - 16, later = before + strlen(". More");
    (void)state;
    assert_int_equal(found(&f, SYSTEM " one>>", 100), 0);
    vug_session *mine = f.last;
    assert_int_equal(found(&f, SYSTEM " one>>", 100), before);
    assert_int_equal(found(&f, SYSTEM " one. More>>", 100), before);
    assert_ptr_equal(f.last, mine);
    assert_int_equal(found(&f, SYSTEM " one. Less>>", 1), later);
    assert_ptr_not_equal(f.last, mine);
    few_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_are_those_alone),
        cmocka_unit_test(test_conversations_take_turns),
        cmocka_unit_test(test_goes_back),
        cmocka_unit_test(test_windows_forget),
        cmocka_unit_test(test_copies_forget_as_much),
        cmocka_unit_test(test_snapshots_lead_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
