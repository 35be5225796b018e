/*
 * Generation: the reference's tokens, the ends of an answer, its text and pieces, its
 * log-probabilities, and the effect of a checkpoint's generation_config.json.
 */
#include "test.h"

#include "engine/sampler.h"
#include "engine_help.h"
#include "tiny_model.h"

enum { V = TINY_VOCAB, PROMPT = 72, GREEDY = 24 }; /* of reference.safetensors */

static const vug_sampler_config greedy = { VUG_SAMPLER_TEMPERATURE, 0, 0 };
static const vug_sampling greedily = { .sampler = &greedy, .n = 1 };

/* A model, a session, and the reference's prompt and greedy continuation. */
typedef struct {
    scratch dir;
    vug_model *model;
    vug_session *session;
    int32_t prompt[PROMPT], greedy[GREEDY];
} generate_fixture;

static void read_ids(vug_weights *file, const char *name, int32_t *out, int64_t n)
{
    const vug_tensor *t = vug_weights_find(file, vug_str_of(name));
    assert_non_null(t);
    assert_int_equal(t->dim[0], n);
    memcpy(out, t->data, (size_t)n * sizeof(*out));
}

static void read_reference(generate_fixture *f, const char *folder)
{
    char path[256];
    vug_weights *file;
    vug_err err = { 0 };
    (void)snprintf(path, sizeof(path), "%s/reference.safetensors", folder);
    help_ok(vug_weights_open_file(path, &file, &err), &err);
    read_ids(file, "input_ids", f->prompt, PROMPT);
    read_ids(file, "greedy", f->greedy, GREEDY);
    vug_weights_close(file);
}

/* gemma3-text with this generation_config.json (NULL: none), with or without a tokenizer. */
static generate_fixture fixture_make(const char *generation_config, bool tokenizer)
{
    generate_fixture f = { .dir = scratch_make() };
    tiny_copy(&f.dir, "config.json");
    tiny_copy(&f.dir, "model.safetensors");
    if (generation_config)
        scratch_puts(&f.dir, "generation_config.json", generation_config);
    if (tokenizer)
        tiny_tokenizer(&f.dir, V);
    read_reference(&f, TINY_SOURCE);
    f.model = help_model(f.dir.path, (vug_model_options){ .context = 256, .threads = 1 });
    f.session = help_session(f.model);
    return f;
}

static void fixture_release(generate_fixture *f)
{
    vug_session_destroy(f->session);
    vug_model_close(f->model);
    scratch_remove(&f->dir);
}

static vug_generation generate(generate_fixture *f, const vug_generate_options *o)
{
    vug_generation g = { 0 };
    vug_err err = { 0 };
    help_ok(vug_generate(f->session, f->prompt, PROMPT, o, &g, &err), &err);
    assert_int_equal(g.n_prompt, PROMPT);
    assert_true(g.prompt_s >= 0 && g.decode_s >= 0);
    return g;
}

static void assert_tokens(const vug_generation *g, const int32_t *id, size_t n)
{
    assert_int_equal(g->tokens.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(g->tokens.id[i], id[i]);
}

/* ---- tokens -------------------------------------------------------------------- */

static void test_greedy_tokens_match_the_reference(void **state)
{
    generate_fixture f = { 0 };
    read_reference(&f, *state);
    f.model = help_model(*state, (vug_model_options){ .context = 100, .threads = 1 });
    f.session = help_session(f.model);
    const vug_generate_options o = { .max_tokens = GREEDY,
                                     .ignore_stop = true,
                                     .sampling = greedily };
    vug_generation g = generate(&f, &o);
    assert_tokens(&g, f.greedy, GREEDY);
    assert_int_equal(g.finish, VUG_FINISH_LENGTH);
    assert_int_equal(g.n_cached, 0);
    assert_int_equal(g.text.len, 0); /* without a tokenizer there is none */
    assert_string_equal(g.text.ptr, "");
    vug_generation_release(&g);
    assert_null(g.tokens.id);
    vug_generation_release(&g);
    /* A stop token of the caller ends the answer, too, and is not part of it. */
    vug_generate_options stopped = o;
    stopped.stop = &f.greedy[3];
    stopped.n_stop = 1;
    size_t n = 0;
    while (f.greedy[n] != f.greedy[3])
        n++;
    g = generate(&f, &stopped);
    assert_int_equal(g.tokens.n, n);
    assert_int_equal(g.finish, VUG_FINISH_STOP);
    vug_generation_release(&g);
    vug_session_destroy(f.session);
    vug_model_close(f.model);
}

static void test_sampling_defaults_are_the_checkpoints(void **state)
{
    (void)state;
    const vug_generate_options own = { .max_tokens = GREEDY, .ignore_stop = true };
    generate_fixture f = fixture_make("{\"do_sample\":false,\"temperature\":2}", false);
    vug_generation g = generate(&f, &own);
    assert_tokens(&g, f.greedy, GREEDY);
    vug_generation_release(&g);
    fixture_release(&f);

    /* Sampling differs from greedy and between seeds, but does not depend on history. */
    f = fixture_make("{\"do_sample\":true}", false);
    vug_generation a = generate(&f, &own), b = generate(&f, &own);
    const vug_generate_options other_seed = { .max_tokens = GREEDY,
                                              .ignore_stop = true,
                                              .sampling = { .seed = 1 } };
    vug_generation c = generate(&f, &other_seed);
    assert_int_equal(b.n_cached, PROMPT - 1);
    assert_tokens(&b, a.tokens.id, GREEDY);
    assert_memory_not_equal(a.tokens.id, f.greedy, GREEDY * sizeof(int32_t));
    assert_memory_not_equal(a.tokens.id, c.tokens.id, GREEDY * sizeof(int32_t));
    vug_generation_release(&a);
    vug_generation_release(&b);
    vug_generation_release(&c);
    /* top-k 1 equals greedy; a chain of the caller replaces the file's. */
    const vug_sampler_config best = { VUG_SAMPLER_TOP_K, 1, 0 };
    const vug_generate_options one = { .max_tokens = GREEDY,
                                       .ignore_stop = true,
                                       .sampling = { .sampler = &best, .n = 1, .seed = 9 } };
    g = generate(&f, &one);
    assert_tokens(&g, f.greedy, GREEDY);
    vug_generation_release(&g);
    fixture_release(&f);
}

/* The repetition penalty counts the prompt: with a large one no token repeats. */
static void test_penalties_count_the_right_tokens(void **state)
{
    (void)state;
    generate_fixture f = fixture_make(NULL, false);
    const vug_sampler_config chain[] = { { VUG_SAMPLER_BIAS, 50, f.prompt[3] },
                                         { VUG_SAMPLER_REPETITION, 100, 0 },
                                         { VUG_SAMPLER_PRESENCE, 100, 0 },
                                         greedy };
    vug_generate_options o = { .max_tokens = 40,
                               .ignore_stop = true,
                               .sampling = { .sampler = chain, .n = 4 } };
    bool seen[V] = { false };
    for (size_t i = 0; i < PROMPT; i++)
        seen[f.prompt[i]] = true;
    vug_generation g = generate(&f, &o);
    for (size_t i = 0; i < 40; i++) {
        assert_false(seen[g.tokens.id[i]]);
        seen[g.tokens.id[i]] = true;
    }
    vug_generation_release(&g);
    o.sampling.n = 1; /* the bias alone */
    o.max_tokens = 2;
    g = generate(&f, &o);
    assert_int_equal(g.tokens.id[0], f.prompt[3]);
    vug_generation_release(&g);
    fixture_release(&f);
}

/* ---- what ends an answer ---------------------------------------------------------- */

static size_t first_of(const int32_t *id, size_t n, int32_t what)
{
    size_t i = 0;
    while (i < n && id[i] != what)
        i++;
    return i;
}

static void test_stop_tokens_end_the_answer(void **state)
{
    (void)state;
    generate_fixture f = fixture_make(NULL, false);
    const int32_t late = f.greedy[9], early = f.greedy[4];
    fixture_release(&f);
    for (int listed = 0; listed < 2; listed++) {
        char config[100];
        (void)snprintf(config, sizeof(config),
                       listed ? "{\"eos_token_id\":[%d,%d]}" : "{\"eos_token_id\":%d}", late,
                       early);
        f = fixture_make(config, false);
        const size_t end =
                listed ? first_of(f.greedy, GREEDY, early) : first_of(f.greedy, GREEDY, late);
        vug_generate_options o = { .max_tokens = GREEDY };
        vug_generation g = generate(&f, &o);
        assert_int_equal(g.finish, VUG_FINISH_STOP);
        assert_tokens(&g, f.greedy, end); /* without the stop token */
        vug_generation_release(&g);
        o.ignore_stop = true;
        g = generate(&f, &o);
        assert_int_equal(g.finish, VUG_FINISH_LENGTH);
        assert_tokens(&g, f.greedy, GREEDY);
        vug_generation_release(&g);
        fixture_release(&f);
    }
}

static void test_max_tokens_ends_the_answer(void **state)
{
    (void)state;
    generate_fixture f = fixture_make(NULL, false);
    for (int most = 1; most < 4; most++) {
        const vug_generate_options o = { .max_tokens = most, .ignore_stop = true };
        vug_generation g = generate(&f, &o);
        assert_int_equal(g.finish, VUG_FINISH_LENGTH);
        assert_int_equal(g.tokens.n, most);
        assert_int_equal(vug_session_length(f.session), PROMPT + most - 1);
        vug_generation_release(&g);
    }
    /* The context holds 256; the last sampled token needs no room. */
    const vug_generate_options o = { .ignore_stop = true, .sampling = greedily };
    vug_generation g = generate(&f, &o);
    assert_int_equal(g.finish, VUG_FINISH_LENGTH);
    assert_int_equal(g.tokens.n, 256 - PROMPT + 1);
    assert_int_equal(vug_session_length(f.session), 256);
    vug_generation_release(&g);
    /* A prompt that fills the context leaves one token. */
    int32_t id[257];
    vug_err err = { 0 };
    help_tokens(1, id, 257, V);
    help_ok(vug_generate(f.session, id, 256, &o, &g, &err), &err);
    assert_int_equal(g.tokens.n, 1);
    vug_generation_release(&g);
    help_refused(vug_generate(f.session, id, 257, &o, &g, &err), &err, VUG_LIMIT, NULL,
                 "the prompt has 257 tokens, the context holds 256; open the model with a larger "
                 "context (it was trained for 4096)");
    help_refused(vug_generate(f.session, id, 0, &o, &g, &err), &err, VUG_ARGUMENT, NULL,
                 "the prompt is empty: there is nothing to continue");
    assert_null(g.tokens.id);
    fixture_release(&f);
}

/* Neither the model's stop tokens nor the caller's end an answer too early; nor are they in it. */
static void test_min_tokens_keeps_the_answer_going(void **state)
{
    (void)state;
    generate_fixture f = fixture_make("{\"eos_token_id\":9}", false);
    const int32_t own = 12;
    const vug_sampler_config chain[] = { { VUG_SAMPLER_BIAS, 1000, 9 },
                                         { VUG_SAMPLER_BIAS, 999, own },
                                         greedy };
    for (int least = 0; least < 5; least++) {
        for (int ignored = 0; ignored < 2; ignored++) {
            vug_generate_options o = { .max_tokens = 10,
                                       .min_tokens = least,
                                       .ignore_stop = ignored,
                                       .stop = &own,
                                       .n_stop = 1,
                                       .sampling = { .sampler = chain, .n = 3 } };
            vug_generation g = generate(&f, &o);
            assert_int_equal(g.tokens.n, ignored ? 10 : least);
            assert_int_equal(g.finish, ignored ? VUG_FINISH_LENGTH : VUG_FINISH_STOP);
            for (size_t i = 0; i < g.tokens.n; i++)
                assert_true(g.tokens.id[i] != own && (g.tokens.id[i] == 9) == (ignored != 0));
            vug_generation_release(&g);
        }
    }
    /* Stop tokens end it all the same if nothing else may follow; no token at all is an error. */
    const int32_t nine = 9;
    vug_generate_options o = {
        .min_tokens = 5,
        .sampling = { .sampler = &greedy, .n = 1, .allowed = &nine, .n_allowed = 1 }
    };
    vug_generation g = generate(&f, &o);
    assert_int_equal(g.tokens.n, 0);
    assert_int_equal(g.finish, VUG_FINISH_STOP);
    vug_generation_release(&g);
    fixture_release(&f);
}

/* The same answer from a prompt that is cached, cut into steps of any size, or whose answer went
 * through the model before. */
static void test_answers_depend_on_nothing_but_prompt_and_seed(void **state)
{
    (void)state;
    generate_fixture f = fixture_make("{\"do_sample\":true,\"top_k\":64,\"top_p\":0.95}", false);
    vug_err err = { 0 };
    for (uint64_t seed = 0; seed < 5; seed++) {
        const vug_generate_options o = { .max_tokens = 20,
                                         .ignore_stop = true,
                                         .sampling = { .seed = seed } };
        vug_session_reset(f.session);
        vug_generation first = generate(&f, &o);
        for (int chunk = 1; chunk < 40; chunk += 13) {
            const vug_forward_options cut = { .chunk = chunk };
            vug_session_reset(f.session);
            help_ok(vug_session_forward(f.session, f.prompt, PROMPT - 5, &cut, &err), &err);
            vug_generation again = generate(&f, &o);
            assert_int_equal(again.n_cached, PROMPT - 5);
            assert_tokens(&again, first.tokens.id, 20);
            vug_generation_release(&again);
        }
        /* Continuing after five of its tokens gives the rest of it. */
        int32_t longer[PROMPT + 5];
        memcpy(longer, f.prompt, sizeof(f.prompt));
        memcpy(longer + PROMPT, first.tokens.id, 5 * sizeof(int32_t));
        vug_generation rest;
        help_ok(vug_generate(f.session, longer, PROMPT + 5, &o, &rest, &err), &err);
        assert_memory_equal(rest.tokens.id, first.tokens.id + 5, 15 * sizeof(int32_t));
        vug_generation_release(&rest);
        vug_generation_release(&first);
    }
    fixture_release(&f);
}

static void test_bad_generate_options_are_refused(void **state)
{
    (void)state;
    static const char *const empty[] = { "" };
    const struct {
        vug_generate_options options;
        const char *message;
    } rows[] = {
        { { .max_tokens = -1 }, "max_tokens: -1, expected 0 or more" },
        { { .min_tokens = -1 }, "min_tokens: -1, expected 0 or more" },
        { { .n_top = -1 }, "n_top: -1, expected 0 to 20" },
        { { .n_top = 21 }, "n_top: 21, expected 0 to 20" },
        { { .n_logprob_ids = 129 }, "n_logprob_ids: 129, expected 0 to 128" },
        { { .logprob_id = (const int32_t[]){ 3, -1 }, .n_logprob_ids = 2 },
          "token 1 of logprob_id is -1, ids are 0 to 383" },
        { { .stop_string = empty, .n_stop_strings = 1 },
          "stop string 0 has 0 bytes, expected 1 to 65535" },
        { { .stop_string = empty, .n_stop_strings = 1, .parser = (void *)empty },
          "stop strings and a parser: the parser gets tokens, which no stop string cuts; search "
          "its parts instead" },
    };
    generate_fixture f = fixture_make(NULL, false);
    vug_generation g = { 0 };
    vug_err err = { 0 };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        help_refused(vug_generate(f.session, f.prompt, PROMPT, &rows[i].options, &g, &err), &err,
                     VUG_ARGUMENT, NULL, rows[i].message);
    const vug_sampler_config hot = { VUG_SAMPLER_TEMPERATURE, 101, 0 };
    const vug_generate_options o = { .sampling = { .sampler = &hot, .n = 1 } };
    help_refused(vug_generate(f.session, f.prompt, PROMPT, &o, &g, &err), &err, VUG_ARGUMENT, NULL,
                 "sampler: temperature is 101, expected 0 to 100");
    assert_null(g.tokens.id);
    fixture_release(&f);
}

/* ---- pieces and text ---------------------------------------------------------------- */

typedef struct {
    const generate_fixture *f;
    int stop_at; /* stop after this piece; 0: never */
    int n;       /* pieces with a token */
    int32_t end; /* the stop token, if it was reported */
    bool last;   /* the piece without a token has come */
    int32_t id[256];
    vug_buf text;
    /* The expected log-probabilities. */
    bool logprobs;
    size_t n_top;
    const int32_t *wanted; /* [n_top] instead of the most likely; NULL: those */
} piece_collector;

/* With logits of another session: those of a generation may be incomplete. */
static void check_logprobs(const piece_collector *l, const vug_piece *piece)
{
    vug_logprob top[VUG_MAX_TOP_LOGPROBS];
    int32_t id[PROMPT + 256];
    vug_candidates candidates;
    vug_err err = { 0 };
    memcpy(id, l->f->prompt, sizeof(l->f->prompt));
    memcpy(id + PROMPT, l->id, (size_t)l->n * sizeof(*id));
    float *logits = help_alone(l->f->model, id, PROMPT + (size_t)l->n);
    help_ok(vug_candidates_init(&candidates, V, &err), &err);
    const float own =
            vug_compute_logprobs(&candidates, logits, V, piece->token, l->wanted, top, l->n_top);
    vug_candidates_release(&candidates);
    vug_free(logits);
    assert_true(piece->logprob == (l->logprobs || l->n_top ? own : 0));
    assert_int_equal(piece->n_top, l->n_top);
    for (size_t i = 0; i < l->n_top; i++) {
        assert_int_equal(piece->top[i].token, top[i].token);
        assert_true(piece->top[i].logprob == top[i].logprob);
    }
}

static bool listen(const vug_piece *piece, void *user)
{
    piece_collector *l = user;
    vug_buf_append(&l->text, piece->text, piece->len);
    assert_false(l->last);
    l->last = piece->token < 0;
    if (l->last) {
        assert_true(piece->len > 0 && piece->n_top == 0);
        return true;
    }
    check_logprobs(l, piece);
    assert_int_equal(l->end, 0);
    if (piece->is_stop) {
        assert_int_equal(piece->len, 0);
        l->end = piece->token;
        return true;
    }
    l->id[l->n++] = piece->token;
    return l->n != l->stop_at;
}

/* Text, pieces and tokens of an answer agree. */
static void assert_one_story(const generate_fixture *f, const piece_collector *l,
                             const vug_generation *g)
{
    vug_text whole;
    vug_err err = { 0 };
    assert_tokens(g, l->id, (size_t)l->n);
    help_ok(vug_tokenizer_decode(vug_model_tokenizer(f->model, NULL), g->tokens.id, g->tokens.n,
                                 true, &whole, &err),
            &err);
    assert_int_equal(g->text.len, whole.len);
    assert_memory_equal(g->text.ptr, whole.ptr, whole.len + 1);
    if (g->finish != VUG_FINISH_CALLBACK) {
        assert_int_equal(l->text.len, whole.len);
        assert_memory_equal(l->text.ptr, whole.ptr, whole.len);
    }
    vug_text_release(&whole);
}

static void test_pieces_make_up_the_text(void **state)
{
    (void)state;
    generate_fixture f = fixture_make("{\"do_sample\":true,\"temperature\":3}", true);
    bool held_back = false;
    for (uint64_t seed = 0; seed < 40; seed++) {
        piece_collector l = { .f = &f, .n_top = seed % 5, .logprobs = seed % 2 };
        const vug_generate_options o = { .max_tokens = 30,
                                         .ignore_stop = true,
                                         .sampling = { .seed = seed },
                                         .n_top = (int)l.n_top,
                                         .logprobs = l.logprobs,
                                         .on_piece = listen,
                                         .user = &l };
        vug_generation g = generate(&f, &o);
        assert_int_equal(l.n, 30);
        assert_true(g.text.len > 0);
        assert_one_story(&f, &l, &g);
        held_back |= l.last;
        vug_buf_release(&l.text);
        vug_generation_release(&g);
    }
    assert_true(held_back); /* of 40 answers some end within a character */
    fixture_release(&f);
}

static void test_callback_ends_the_answer(void **state)
{
    (void)state;
    generate_fixture f = fixture_make(NULL, true);
    for (int at = 1; at < 4; at++) {
        piece_collector l = { .f = &f, .stop_at = at };
        const vug_generate_options o = {
            .max_tokens = 10, .ignore_stop = true, .on_piece = listen, .user = &l
        };
        vug_generation g = generate(&f, &o);
        assert_int_equal(g.finish, VUG_FINISH_CALLBACK);
        assert_int_equal(g.tokens.n, at);
        assert_one_story(&f, &l, &g);
        vug_buf_release(&l.text);
        vug_generation_release(&g);
    }
    /* Half a character: the callback is not called, the text is complete. */
    const int32_t half = vug_tokenizer_find(vug_model_tokenizer(f.model, NULL), "<0xE2>");
    const vug_sampler_config chain[] = { { VUG_SAMPLER_BIAS, 1000, half }, greedy };
    for (int at = 0; at < 2; at++) {
        piece_collector l = { .f = &f, .stop_at = at };
        const vug_generate_options o = { .max_tokens = 1,
                                         .ignore_stop = true,
                                         .sampling = { .sampler = chain, .n = 2 },
                                         .on_piece = listen,
                                         .user = &l };
        vug_generation g = generate(&f, &o);
        assert_int_equal(g.finish, at ? VUG_FINISH_CALLBACK : VUG_FINISH_LENGTH);
        assert_string_equal(g.text.ptr, "\xef\xbf\xbd");
        assert_int_equal(l.text.len, at ? 0 : 3);
        assert_one_story(&f, &l, &g);
        vug_buf_release(&l.text);
        vug_generation_release(&g);
    }
    fixture_release(&f);
}

static void test_stop_strings_end_the_answer(void **state)
{
    (void)state;
    generate_fixture f = fixture_make("{\"do_sample\":true,\"temperature\":3}", true);
    for (uint64_t seed = 0; seed < 20; seed++) {
        vug_generate_options o = { .max_tokens = 30,
                                   .ignore_stop = true,
                                   .sampling = { .seed = seed } };
        vug_generation whole = generate(&f, &o);
        assert_in_range(whole.text.len, 8, 1000);
        /* One from the middle, and one whose beginning ends the text. */
        char middle[4] = "", end[4] = "";
        memcpy(middle, whole.text.ptr + whole.text.len / 2, 3);
        memcpy(end, whole.text.ptr + whole.text.len - 2, 2);
        end[2] = '\1';
        const char *const stops[] = { "never said", middle }, *const other[] = { end };
        piece_collector l = { .f = &f };
        o.on_piece = listen;
        o.user = &l;
        o.stop_string = stops;
        o.n_stop_strings = 2;
        vug_generation cut = generate(&f, &o);
        const size_t expected = (size_t)(strstr(whole.text.ptr, middle) - whole.text.ptr);
        assert_int_equal(cut.finish, VUG_FINISH_STOP);
        assert_int_equal(cut.text.len, expected);
        assert_memory_equal(cut.text.ptr, whole.text.ptr, expected);
        assert_int_equal(l.text.len, expected);
        assert_memory_equal(l.text.ptr, whole.text.ptr, expected);
        assert_tokens(&cut, whole.tokens.id, (size_t)l.n);
        vug_generation_release(&cut);
        vug_buf_release(&l.text);
        l = (piece_collector){ .f = &f };
        o.stop_string = other;
        o.n_stop_strings = 1;
        cut = generate(&f, &o);
        assert_int_equal(cut.finish, VUG_FINISH_LENGTH);
        assert_one_story(&f, &l, &cut);
        assert_int_equal(cut.text.len, whole.text.len);
        vug_generation_release(&cut);
        vug_generation_release(&whole);
        vug_buf_release(&l.text);
    }
    fixture_release(&f);
}

static void test_logprobs_are_reported_on_request(void **state)
{
    (void)state;
    generate_fixture f = fixture_make(NULL, false);
    static const int32_t wanted[] = { 5, 0, 9 };
    static const struct {
        bool logprobs;
        int n_top;
        size_t n_wanted;
    } rows[] = {
        { false, 0, 0 }, { true, 0, 0 },  { false, 3, 0 }, { true, VUG_MAX_TOP_LOGPROBS, 0 },
        { false, 0, 3 }, { true, 20, 2 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        piece_collector l = { .f = &f,
                              .logprobs = rows[i].logprobs,
                              .n_top = rows[i].n_wanted ? rows[i].n_wanted : (size_t)rows[i].n_top,
                              .wanted = rows[i].n_wanted ? wanted : NULL };
        const vug_generate_options o = { .max_tokens = 8,
                                         .ignore_stop = true,
                                         .sampling = greedily,
                                         .logprobs = rows[i].logprobs,
                                         .n_top = rows[i].n_top,
                                         .logprob_id = wanted,
                                         .n_logprob_ids = rows[i].n_wanted,
                                         .on_piece = listen,
                                         .user = &l };
        vug_generation g = generate(&f, &o);
        assert_int_equal(l.n, 8);
        assert_false(l.last);
        vug_buf_release(&l.text);
        vug_generation_release(&g);
    }
    fixture_release(&f);
}

static void test_stop_token_is_reported_on_request(void **state)
{
    (void)state;
    generate_fixture f = fixture_make(NULL, false);
    const int32_t end = f.greedy[4];
    const size_t n = first_of(f.greedy, GREEDY, end);
    char config[100];
    (void)snprintf(config, sizeof(config), "{\"eos_token_id\":%d}", end);
    fixture_release(&f);
    f = fixture_make(config, false);
    for (int wanted = 0; wanted < 2; wanted++) {
        piece_collector l = { .f = &f, .logprobs = true, .n_top = 3 };
        const vug_generate_options o = { .max_tokens = GREEDY,
                                         .report_stop = wanted,
                                         .sampling = greedily,
                                         .logprobs = true,
                                         .n_top = 3,
                                         .on_piece = listen,
                                         .user = &l };
        vug_generation g = generate(&f, &o);
        assert_int_equal(g.finish, VUG_FINISH_STOP);
        assert_tokens(&g, f.greedy, n);
        assert_int_equal(l.n, n);
        assert_int_equal(l.end, wanted ? end : 0);
        vug_buf_release(&l.text);
        vug_generation_release(&g);
    }
    fixture_release(&f);
}

/* ---- from text and chat ----------------------------------------------------------------- */

static void assert_same_answer(generate_fixture *f, vug_generation *g, const char *prompt,
                               unsigned flags, const vug_generate_options *o)
{
    vug_tokens id;
    vug_generation expected = { 0 };
    vug_err err = { 0 };
    help_ok(vug_tokenizer_encode(vug_model_tokenizer(f->model, NULL), prompt, strlen(prompt), flags,
                                 &id, &err),
            &err);
    assert_int_equal(id.id[0], vug_tokenizer_find(vug_model_tokenizer(f->model, NULL), "<bos>"));
    assert_int_equal(g->n_prompt, id.n);
    help_ok(vug_generate(f->session, id.id, id.n, o, &expected, &err), &err);
    assert_int_equal(expected.n_cached, id.n - 1);
    assert_tokens(g, expected.tokens.id, expected.tokens.n);
    assert_string_equal(g->text.ptr, expected.text.ptr);
    vug_tokens_release(&id);
    vug_generation_release(&expected);
    vug_generation_release(g);
}

static void test_text_is_continued(void **state)
{
    (void)state;
    generate_fixture f = fixture_make("{\"do_sample\":true}", true);
    const vug_generate_options o = { .max_tokens = 12,
                                     .ignore_stop = true,
                                     .sampling = { .seed = 3 } };
    static const char *const texts[] = { "hello", "  ", "<start_of_turn>user\n\xe2\x82\xac", "\n" };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        help_ok(vug_generate_text(f.session, texts[i], strlen(texts[i]), &o, &g, &err), &err);
        assert_same_answer(&f, &g, texts[i], VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_SPECIAL, &o);
    }
    help_refused(vug_generate_text(f.session, "", 0, &o, &g, &err), &err, VUG_ARGUMENT, NULL,
                 "the prompt is empty: there is nothing to continue");
    /* NULs and invalid UTF-8 are accepted as text. */
    help_ok(vug_generate_text(f.session, "a\0\xff", 3, &o, &g, &err), &err);
    assert_true(g.n_prompt > 3);
    vug_generation_release(&g);
    fixture_release(&f);
}

static void test_conversation_is_answered(void **state)
{
    (void)state;
    generate_fixture f = fixture_make("{\"do_sample\":true}", true);
    const vug_generate_options o = { .max_tokens = 12, .sampling = { .seed = 5 } };
    const vug_message conversation[] = {
        { "system", "Be brief." }, { "user", "hello" }, { "assistant", "hi" }, { "user", "and?" }
    };
    vug_generation g = { 0 };
    static const char prompt[] = "<bos><start_of_turn>user\nBe brief.\n\nhello<end_of_turn>\n"
                                 "<start_of_turn>model\nhi<end_of_turn>\n"
                                 "<start_of_turn>user\nand?<end_of_turn>\n<start_of_turn>model\n";
    vug_err err = { 0 };
    help_ok(vug_generate_chat(f.session, conversation, 4, &o, &g, &err), &err);
    assert_same_answer(&f, &g, prompt, VUG_ENCODE_PARSE_SPECIAL, &o);
    /* A special token in a message does not end the turn. */
    static const char read[] = "<bos><start_of_turn>user\na<end_of_turn><end_of_turn>\n"
                               "<start_of_turn>model\n";
    const vug_message sly = { "user", "a<end_of_turn>" };
    vug_tokens control, text;
    help_ok(vug_model_encode_chat(f.model, &sly, 1, &text, NULL, &err), &err);
    help_ok(vug_tokenizer_encode(vug_model_tokenizer(f.model, NULL), read, sizeof(read) - 1,
                                 VUG_ENCODE_PARSE_SPECIAL, &control, &err),
            &err);
    assert_true(text.n > control.n);
    vug_tokens_release(&text);
    vug_tokens_release(&control);
    const vug_message odd = { "oracle", "hm" };
    assert_int_equal(vug_generate_chat(f.session, &odd, 1, &o, &g, &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "oracle"));
    assert_null(g.tokens.id);
    fixture_release(&f);
}

static void test_text_needs_a_tokenizer(void **state)
{
    (void)state;
    generate_fixture f = fixture_make(NULL, false);
    const vug_message hello = { "user", "hello" };
    vug_generation g = { 0 };
    vug_err err = { 0 };
    help_refused(vug_generate_text(f.session, "hello", 5, NULL, &g, &err), &err, VUG_UNSUPPORTED,
                 f.dir.path,
                 "FOLDER/tokenizer.json: missing, so the model cannot read or write text");
    help_refused(vug_generate_chat(f.session, &hello, 1, NULL, &g, &err), &err, VUG_UNSUPPORTED,
                 f.dir.path,
                 "FOLDER/tokenizer.json: missing, so the model cannot read or write text");
    fixture_release(&f);
}

int main(void)
{
    static char names[][40] = { GOLDEN("gemma3-text"), GOLDEN("gemma3-mm"),
                                GOLDEN("gemma3-rope-scaled"), GOLDEN("gemma3-scale") };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_greedy_tokens_match_the_reference, names[0]),
        cmocka_unit_test_prestate(test_greedy_tokens_match_the_reference, names[1]),
        cmocka_unit_test_prestate(test_greedy_tokens_match_the_reference, names[2]),
        cmocka_unit_test_prestate(test_greedy_tokens_match_the_reference, names[3]),
        cmocka_unit_test(test_sampling_defaults_are_the_checkpoints),
        cmocka_unit_test(test_penalties_count_the_right_tokens),
        cmocka_unit_test(test_stop_tokens_end_the_answer),
        cmocka_unit_test(test_max_tokens_ends_the_answer),
        cmocka_unit_test(test_min_tokens_keeps_the_answer_going),
        cmocka_unit_test(test_answers_depend_on_nothing_but_prompt_and_seed),
        cmocka_unit_test(test_bad_generate_options_are_refused),
        cmocka_unit_test(test_pieces_make_up_the_text),
        cmocka_unit_test(test_callback_ends_the_answer),
        cmocka_unit_test(test_stop_strings_end_the_answer),
        cmocka_unit_test(test_logprobs_are_reported_on_request),
        cmocka_unit_test(test_stop_token_is_reported_on_request),
        cmocka_unit_test(test_text_is_continued),
        cmocka_unit_test(test_conversation_is_answered),
        cmocka_unit_test(test_text_needs_a_tokenizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
