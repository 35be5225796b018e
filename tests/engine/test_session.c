/*
 * Sessions: the same tokens give the same logits to the bit, whether they are computed in
 * one prefill, in chunks, or continued from a cache.
 */
#include "test.h"

#include "engine_help.h"

enum { V = 384 }; /* ids of every golden checkpoint */

/* Windows of 16 lose pages of 64 tokens several times in prompts of a few hundred tokens. */
static const vug_model_options small_windows = { .context = 512, .batch = 16, .threads = 1 };

/* ---- chunks ------------------------------------------------------------------ */

/* All results of a forward pass: logits [T,V], hidden states [L+1,T,D]. */
typedef struct {
    int64_t d, n_layers, n_tokens;
    int64_t next; /* position that the next step must begin at */
    int64_t n_steps;
    float *logits;
    float *hidden;
} record;

static record record_make(const vug_model *m, int64_t n_tokens)
{
    const vug_model_info info = vug_model_describe(m);
    record r = { .d = info.d_model, .n_layers = info.n_layers, .n_tokens = n_tokens };
    r.logits = vug_alloc_zero((size_t)(n_tokens * V), sizeof(float));
    r.hidden = vug_alloc_zero((size_t)((r.n_layers + 1) * n_tokens * r.d), sizeof(float));
    assert_true(r.logits && r.hidden);
    return r;
}

static void record_release(record *r)
{
    vug_free(r->logits);
    vug_free(r->hidden);
}

static bool keep(const vug_step *step, void *user)
{
    record *r = user;
    assert_int_equal(step->first, r->next);
    r->next += step->n;
    r->n_steps++;
    const int64_t row = step->first + step->n - step->n_logits;
    if (step->n_logits)
        memcpy(r->logits + row * V, step->logits, (size_t)(step->n_logits * V) * sizeof(float));
    for (int64_t i = 0; step->hidden && i <= r->n_layers; i++)
        memcpy(r->hidden + (i * r->n_tokens + step->first) * r->d, step->hidden[i],
               (size_t)(step->n * r->d) * sizeof(float));
    return true;
}

static record forward_in(vug_session *s, const int32_t *id, int64_t n, int chunk, bool all,
                         bool hidden)
{
    record r = record_make(s->model, n);
    const vug_forward_options o = {
        .chunk = chunk, .all_logits = all, .hidden = hidden, .on_step = keep, .user = &r
    };
    vug_err err = { 0 };
    help_ok(vug_session_forward(s, id, (size_t)n, &o, &err), &err);
    assert_int_equal(r.next, n);
    help_same_bits(vug_session_logits(s), r.logits + (n - 1) * V, V);
    return r;
}

static void test_chunks_do_not_change_results(void **state)
{
    enum { N = 200 };
    static const int chunks[] = { 1, 3, 7, 64, 512 };
    int32_t id[N];
    help_tokens(1, id, N, V);
    vug_model *m = help_model(*state, (vug_model_options){ .context = 512, .threads = 2 });
    vug_session *s = help_session(m);
    record whole = forward_in(s, id, N, 0, true, true);
    assert_int_equal(whole.n_steps, 1);
    const size_t n_hidden = (size_t)((whole.n_layers + 1) * N * whole.d);
    const size_t n_logits = (size_t)N * V, last = n_logits - V;
    for (size_t i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
        record r = forward_in(s, id, N, chunks[i], true, true);
        assert_int_equal(r.n_steps, (N + chunks[i] - 1) / chunks[i]);
        help_same_bits(r.logits, whole.logits, n_logits);
        help_same_bits(r.hidden, whole.hidden, n_hidden);
        record_release(&r);
        /* The last row, by the program that computes only that. */
        vug_session_reset(s);
        r = forward_in(s, id, N, chunks[i], false, false);
        help_same_bits(r.logits + last, whole.logits + last, V);
        record_release(&r);
    }
    /* Hidden states and all logits are independent options. */
    record r = forward_in(s, id, N, 33, false, true);
    help_same_bits(r.hidden, whole.hidden, n_hidden);
    record_release(&r);
    vug_session *other = help_session(m);
    r = forward_in(other, id, N, 33, true, false);
    help_same_bits(r.logits, whole.logits, n_logits);
    record_release(&r);
    vug_session_destroy(other);
    record_release(&whole);
    vug_session_destroy(s);
    vug_model_close(m);
}

/* The input of layer 0 is the embedding, and a token's hidden states do not depend on later
 * tokens. */
static void test_hidden_states_belong_to_their_tokens(void **state)
{
    (void)state;
    enum { N = 20 };
    int32_t id[N];
    help_tokens(2, id, N, V);
    id[10] = id[3];
    vug_model *m = help_model(GOLDEN("gemma3-text"), small_windows);
    vug_session *s = help_session(m);
    record a = forward_in(s, id, N, 0, false, true);
    help_same_bits(a.hidden + 10 * a.d, a.hidden + 3 * a.d, (size_t)a.d);
    id[N - 1] = id[N - 1] == 9 ? 10 : 9;
    record b = forward_in(s, id, N, 0, false, true);
    for (int64_t i = 0; i <= a.n_layers; i++) {
        const int64_t at = i * N * a.d;
        help_same_bits(a.hidden + at, b.hidden + at, (size_t)((N - 1) * a.d));
        assert_memory_not_equal(a.hidden + at + (N - 1) * a.d, b.hidden + at + (N - 1) * a.d,
                                (size_t)a.d * sizeof(float));
    }
    record_release(&a);
    record_release(&b);
    vug_session_destroy(s);
    vug_model_close(m);
}

/* ---- reuse --------------------------------------------------------------------- */

/* The logits of new sessions after every prefix of one text. */
typedef struct {
    int32_t id[320];
    float *logits; /* [320, V] */
} text;

enum { TEXT = sizeof(((text *)NULL)->id) / sizeof(int32_t) };

static bool keep_logits(const vug_step *step, void *user)
{
    text *t = user;
    memcpy(t->logits + step->first * V, step->logits, (size_t)(step->n * V) * sizeof(float));
    return true;
}

/* New tokens from `from` on. */
static void rewrite(text *t, vug_model *m, size_t from, uint64_t seed)
{
    help_tokens(seed, t->id + from, TEXT - from, V);
    vug_session *s = help_session(m);
    const vug_forward_options o = { .all_logits = true, .on_step = keep_logits, .user = t };
    vug_err err = { 0 };
    help_ok(vug_session_forward(s, t->id, TEXT, &o, &err), &err);
    vug_session_destroy(s);
}

static void test_history_does_not_change_results(void **state)
{
    vug_model *m = help_model(*state, small_windows);
    vug_session *s = help_session(m);
    text t = { .logits = vug_alloc((size_t)TEXT * V, sizeof(float)) };
    uint64_t random = 3;
    size_t n = 1, reused = 0, computed = 0;
    assert_non_null(t.logits);
    rewrite(&t, m, 0, 0);
    for (uint64_t call = 1; call <= 240; call++) {
        const uint64_t what = help_random(&random, 16);
        if (what < 7) /* a turn is appended */
            n += 1 + help_random(&random, 40);
        else if (what < 11) /* the last tokens are taken back */
            n -= help_random(&random, n < 40 ? n : 40);
        else if (what < 13) /* a far shorter prompt */
            n = 1 + help_random(&random, n);
        else if (what < 15) /* a token is edited; those before it stay */
            rewrite(&t, m, n - help_random(&random, n < 60 ? n : 60) - 1, call);
        else /* another text */
            rewrite(&t, m, 0, call);
        n = n > TEXT ? TEXT : n;
        size_t cached;
        vug_err err = { 0 };
        help_ok(vug_session_prepare(s, t.id, n, NULL, &cached, &err), &err);
        const vug_forward_options o = { .chunk = (int)help_random(&random, 20) };
        help_ok(vug_session_extend(s, t.id + cached, n - cached, &o, &err), &err);
        assert_int_equal(vug_session_length(s), n);
        help_same_bits(vug_session_logits(s), t.logits + (n - 1) * V, V);
        reused += cached;
        computed += n - cached;
    }
    assert_true(reused > computed);
    vug_free(t.logits);
    vug_session_destroy(s);
    vug_model_close(m);
}

/* Tokens of a prompt that a generation of one token finds in the cache. */
static size_t cached_of(vug_session *s, const int32_t *id, size_t n)
{
    const vug_generate_options o = { .max_tokens = 1, .ignore_stop = true };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    help_ok(vug_generate(s, id, n, &o, &g, &err), &err);
    assert_int_equal(g.n_prompt, n);
    const size_t cached = g.n_cached;
    vug_generation_release(&g);
    return cached;
}

static void test_cached_tokens_are_not_computed_again(void **state)
{
    int32_t id[300];
    help_tokens(4, id, 300, V);
    vug_model *m = help_model(*state, small_windows);
    vug_session *s = help_session(m), *other = help_session(m);
    assert_int_equal(cached_of(s, id, 30), 0);
    assert_int_equal(cached_of(s, id, 40), 30); /* continued */
    assert_int_equal(cached_of(s, id, 40), 39); /* the last one's logits are needed */
    assert_int_equal(cached_of(s, id, 10), 9);
    assert_int_equal(cached_of(s, id, 50), 10); /* in place: less than a page more is cached */
    assert_int_equal(cached_of(s, id, 300), 50);
    /* The pages behind the windows are still cached. */
    assert_int_equal(cached_of(s, id, 252), 251);
    assert_int_equal(cached_of(s, id, 70), 69);
    id[260] ^= 1;
    assert_int_equal(cached_of(other, id, 300), 260);
    id[100] ^= 1;
    assert_int_equal(cached_of(s, id, 300), 70); /* in place */
    id[100] ^= 1;
    assert_int_equal(cached_of(s, id, 300), 260);
    vug_session_reset(s);
    assert_int_equal(vug_session_length(s), 0);
    assert_null(vug_session_logits(s));
    assert_int_equal(cached_of(s, id, 300), 0);
    vug_session_destroy(other);
    vug_session_destroy(s);
    vug_model_close(m);
}

static void set_namespace(vug_session *s, const char *name)
{
    vug_err err = { 0 };
    help_ok(vug_session_set_namespace(s, name, strlen(name), &err), &err);
    assert_int_equal(vug_session_length(s), 0);
}

static void test_namespaces_share_nothing(void **state)
{
    enum { N = 200 };
    int32_t id[N];
    help_tokens(4, id, N, V);
    vug_model *m = help_model(*state, small_windows);
    vug_session *s = help_session(m), *other = help_session(m);
    assert_int_equal(cached_of(s, id, N), 0);
    set_namespace(other, "a");
    assert_int_equal(cached_of(other, id, N), 0);
    assert_int_equal(cached_of(other, id, N), N - 1);
    set_namespace(other, "b");
    assert_int_equal(cached_of(other, id, N), 0);
    set_namespace(other, "a"); /* what it had is still cached */
    assert_int_equal(cached_of(other, id, N), N - 1);
    set_namespace(s, "a");
    assert_int_equal(cached_of(s, id, N), N - 1);
    set_namespace(s, "");
    assert_int_equal(cached_of(s, id, N), N - 1);
    vug_session_destroy(other);
    vug_session_destroy(s);
    vug_model_close(m);
}

/* A backend whose steps fail at their end if they begin with BREAK: the worst state that a
 * cancelled step can leave. */
enum { BREAK = 7 };

static const vug_backend *whole; /* the backend of the model, without the failure */

static vug_status run_and_break(const vug_program *program, vug_workspace *workspace,
                                const vug_step_in *in, const float **output, vug_err *err)
{
    VUG_TRY(whole->run(program, workspace, in, output, err));
    return in->token[0] == BREAK ? VUG_FAIL(err, VUG_CANCELLED, "broken off") : VUG_OK;
}

static void test_failed_step_is_not_reused(void **state)
{
    enum { HELD = 100 };
    int32_t id[HELD + 16];
    help_tokens(11, id, HELD + 16, V);
    vug_model *m = help_model(*state, small_windows);
    vug_backend breaking = *m->backend;
    whole = m->backend;
    breaking.run = run_and_break;
    breaking.start = NULL;
    /* The failed step wrote positions 100 to 115. */
    for (size_t back = 66; back <= HELD; back += 17) {
        vug_session *s = help_session(m);
        (void)help_forward(s, id, HELD);
        vug_err err = { 0 };
        m->main.compiled.backend = &breaking;
        const int32_t good = id[HELD];
        id[HELD] = BREAK;
        help_refused(vug_session_forward(s, id, HELD + 16, NULL, &err), &err, VUG_CANCELLED, NULL,
                     "cancelled after 0 of 16 tokens");
        assert_int_equal(vug_session_length(s), HELD);
        assert_null(vug_session_logits(s));
        id[HELD] = good;
        m->main.compiled.backend = m->backend;
        id[back] ^= 1;
        float *alone = help_alone(m, id, back + 1);
        assert_int_equal(cached_of(s, id, back + 1), back);
        help_same_bits(help_forward(s, id, back + 1), alone, V);
        id[back] ^= 1;
        vug_free(alone);
        vug_session_destroy(s);
    }
    vug_model_close(m);
}

/* An answer is part of the prefix: the next turn reuses all of it except the token that was
 * sampled last. */
static void test_conversation_reuses_the_cache(void **state)
{
    (void)state;
    enum { FIRST = 120, ANSWER = 20, TURN = 11, ALL = FIRST + ANSWER + TURN };
    int32_t id[ALL];
    help_tokens(5, id, ALL, V);
    vug_model *m = help_model(GOLDEN("gemma3-rope-scaled"), small_windows);
    vug_session *s = help_session(m);
    const vug_generate_options o = { .max_tokens = ANSWER, .ignore_stop = true };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    help_ok(vug_generate(s, id, FIRST, &o, &g, &err), &err);
    assert_int_equal(g.tokens.n, ANSWER);
    memcpy(id + FIRST, g.tokens.id, ANSWER * sizeof(*id));
    vug_generation_release(&g);
    assert_int_equal(cached_of(s, id, ALL), FIRST + ANSWER - 1);
    float *alone = help_alone(m, id, ALL);
    help_same_bits(help_forward(s, id, ALL), alone, V);
    vug_free(alone);
    vug_session_destroy(s);
    vug_model_close(m);
}

/* ---- refusals ------------------------------------------------------------------ */

static void test_bad_prompts_are_refused(void **state)
{
    (void)state;
    vug_model *m =
            help_model(GOLDEN("gemma3-scale"), (vug_model_options){ .context = 16, .threads = 1 });
    vug_session *s = help_session(m);
    int32_t id[17];
    vug_err err = { 0 };
    help_tokens(6, id, 17, V);
    assert_null(vug_session_logits(s));
    help_refused(vug_session_forward(s, id, 0, NULL, &err), &err, VUG_ARGUMENT, NULL,
                 "the prompt is empty: there is nothing to continue");
    help_refused(vug_session_forward(s, id, 17, NULL, &err), &err, VUG_LIMIT, NULL,
                 "the prompt has 17 tokens, the context holds 16; open the model with a larger "
                 "context (it was trained for 4096)");
    (void)help_forward(s, id, 10);
    vug_generation g = { 0 };
    const int32_t bad[] = { -1, V, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const int32_t good = id[7];
        char message[80];
        id[7] = bad[i];
        (void)snprintf(message, sizeof(message), "token 7 is %d, ids are 0 to 383", bad[i]);
        const vug_forward_options all = { .all_logits = true };
        help_refused(vug_session_forward(s, id, 10, &all, &err), &err, VUG_ARGUMENT, NULL, message);
        help_refused(vug_generate(s, id, 10, NULL, &g, &err), &err, VUG_ARGUMENT, NULL, message);
        assert_null(g.tokens.id);
        id[7] = good;
    }
    /* The cache is unchanged. */
    assert_int_equal(vug_session_length(s), 10);
    assert_int_equal(vug_session_forward(s, id, 0, NULL, NULL), VUG_ARGUMENT);
    float *alone = help_alone(m, id, 16);
    help_same_bits(help_forward(s, id, 16), alone, V);
    vug_free(alone);
    vug_session_destroy(s);
    vug_session_destroy(NULL);
    vug_model_close(m);
}

/* ---- too long prompts -------------------------------------------------------------------- */

/* A larger context is no advice where the model was trained for no more. */
static void test_long_prompt_is_told_what_helps(void **state)
{
    (void)state;
    enum { TRAINED = 4096 };
    static const int32_t id[TRAINED + 1];
    const vug_model_options trained = {
        .context = TRAINED, .batch = 16, .threads = 1, .lazy = true
    };
    vug_err err = { 0 };
    vug_model *m = help_model(GOLDEN("gemma3-text"), trained);
    help_ok(vug_model_check_tokens(m, id, TRAINED, &err), &err);
    help_refused(vug_model_check_tokens(m, id, TRAINED + 1, &err), &err, VUG_LIMIT, NULL,
                 "the prompt has 4097 tokens, the context holds 4096; the model was trained for "
                 "4096: shorten the prompt");
    vug_model_close(m);
    m = help_model(GOLDEN("gemma3-text"), small_windows);
    help_refused(vug_model_check_tokens(m, id, 513, &err), &err, VUG_LIMIT, NULL,
                 "the prompt has 513 tokens, the context holds 512; open the model with a larger "
                 "context (it was trained for 4096)");
    vug_model_close(m);
}

int main(void)
{
    static char text_model[] = GOLDEN("gemma3-text"), mm[] = GOLDEN("gemma3-mm"),
                windows[] = GOLDEN("gemma3-scale"), shared[] = GOLDEN("gemma4-e"),
                wide_heads[] = GOLDEN("gemma4-dense");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_chunks_do_not_change_results, text_model),
        cmocka_unit_test_prestate(test_chunks_do_not_change_results, mm),
        cmocka_unit_test_prestate(test_chunks_do_not_change_results, shared),
        cmocka_unit_test_prestate(test_chunks_do_not_change_results, wide_heads),
        cmocka_unit_test(test_hidden_states_belong_to_their_tokens),
        cmocka_unit_test_prestate(test_history_does_not_change_results, text_model),
        cmocka_unit_test_prestate(test_history_does_not_change_results, windows),
        cmocka_unit_test_prestate(test_history_does_not_change_results, shared),
        cmocka_unit_test_prestate(test_cached_tokens_are_not_computed_again, text_model),
        cmocka_unit_test_prestate(test_cached_tokens_are_not_computed_again, shared),
        cmocka_unit_test_prestate(test_failed_step_is_not_reused, text_model),
        cmocka_unit_test_prestate(test_failed_step_is_not_reused, shared),
        cmocka_unit_test_prestate(test_namespaces_share_nothing, text_model),
        cmocka_unit_test(test_conversation_reuses_the_cache),
        cmocka_unit_test(test_bad_prompts_are_refused),
        cmocka_unit_test(test_long_prompt_is_told_what_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
