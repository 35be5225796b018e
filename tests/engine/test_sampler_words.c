/* What depends on texts and sequences: DRY with its breakers, banned words, allowed tokens. */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "sampler_help.h"
#include "tiny_model.h"

enum { V = TINY_VOCAB };

static const vug_sampler_config greedy = { VUG_SAMPLER_TEMPERATURE, 0, 0 };

typedef struct {
    scratch dir;
    vug_tokenizer *tokenizer;
} word_fixture;

static word_fixture fixture_make(void)
{
    word_fixture f = { .dir = scratch_make() };
    vug_err err = { 0 };
    tiny_tokenizer(&f.dir, V);
    help_ok(vug_tokenizer_open(f.dir.path, &f.tokenizer, &err), &err);
    return f;
}

static void fixture_release(word_fixture *f)
{
    vug_tokenizer_close(f->tokenizer);
    scratch_remove(&f->dir);
}

static vug_sampler make(const word_fixture *f, const vug_sampling *sampling)
{
    const vug_sampler_model model = { V, V, 4096, f->tokenizer };
    vug_sampler s;
    vug_err err = { 0 };
    help_ok(vug_sampler_init(&s, sampling, &model, &err), &err);
    return s;
}

/* Sets the text as the prompt. */
static void prompt(const word_fixture *f, vug_sampler *s, const char *text)
{
    vug_tokens t;
    vug_err err = { 0 };
    help_ok(vug_tokenizer_encode(f->tokenizer, text, strlen(text), VUG_ENCODE_PLAIN, &t, &err),
            &err);
    help_set_prompt(s, t.id, t.n);
    vug_tokens_release(&t);
}

static int32_t id_of(const word_fixture *f, const char *token)
{
    const int32_t id = vug_tokenizer_find(f->tokenizer, token);
    assert_true(id >= 0);
    return id;
}

/* ---- DRY ------------------------------------------------------------------------------- */

/* How much DRY lowers the logit of a token after a text: another one loses by less than `step`. */
static double dry_penalty(const word_fixture *f, const vug_sampling *sampling, const char *text,
                          const char *token)
{
    vug_sampler s = make(f, sampling);
    float logits[V];
    double penalty = 0;
    const int32_t id = id_of(f, token), other = id_of(f, "Z");
    prompt(f, &s, text);
    for (int i = 0; i < V; i++)
        logits[i] = -1000;
    logits[id] = 0;
    logits[other] = -0.001f;
    while (penalty < 50 && help_sample(&s, logits, NULL) == other) {
        penalty += 0.05;
        logits[other] = -(float)penalty - 0.001f;
    }
    vug_sampler_release(&s);
    return penalty;
}

static void test_dry_follows_its_formula(void **state)
{
    (void)state;
    word_fixture f = fixture_make();
    const vug_sampler_config chain[] = { { VUG_SAMPLER_DRY, 1, 0 },
                                         { VUG_SAMPLER_DRY_BASE, 2, 0 },
                                         greedy };
    const vug_sampler_config longer[] = {
        chain[0], chain[1], greedy, { VUG_SAMPLER_DRY_ALLOWED_LENGTH, 4, 0 }
    };
    const vug_sampler_config recent[] = {
        chain[0], chain[1], greedy, { VUG_SAMPLER_DRY_LAST_N, 6, 0 }
    };
    const vug_sampling a = { .sampler = chain, .n = 3 }, b = { .sampler = longer, .n = 4 };
    const vug_sampling c = { .sampler = recent, .n = 4 };
    static const struct {
        const char *text, *token;
        double plain, longer, recent;
    } rows[] = {
        /* A repeat of n tokens costs base to the power of n - allowed length. */
        { "Q1Q", "1", 0, 0, 0 },
        { "QW1QW", "1", 1, 0, 1 },
        { "QWX1QWX", "1", 2, 0, 1 },
        { "QWXY1QWXY", "1", 4, 1, 0 },
        /* Only for the token that would continue it. */
        { "QWXY1QWXY", "2", 0, 0, 0 },
        { "QWXY1QWX", "1", 0, 0, 0 },
        /* The longest repeat counts, wherever it is. */
        { "WX1QWX1QWX", "1", 16, 4, 1 },
        { "QWX1WX1QWX", "1", 2, 0, 1 },
        { "QQQQQ", "Q", 4, 1, 4 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const double got[] = { dry_penalty(&f, &a, rows[i].text, rows[i].token),
                               dry_penalty(&f, &b, rows[i].text, rows[i].token),
                               dry_penalty(&f, &c, rows[i].text, rows[i].token) };
        const double want[] = { rows[i].plain, rows[i].longer, rows[i].recent };
        for (int k = 0; k < 3; k++) {
            if (fabs(got[k] - want[k]) > 0.051)
                fail_msg("%s + %s, settings %d: %g, expected %g", rows[i].text, rows[i].token, k,
                         got[k], want[k]);
        }
    }
    fixture_release(&f);
}

static void test_dry_sees_no_repeat_across_breakers(void **state)
{
    (void)state;
    word_fixture f = fixture_make();
    const vug_sampler_config chain[] = { { VUG_SAMPLER_DRY, 1, 0 },
                                         { VUG_SAMPLER_DRY_BASE, 2, 0 },
                                         greedy };
    static const char *const none[] = { "no such text" };
    static const char *const word[] = { "XYZ", "WX" };
    const vug_sampling standard = { .sampler = chain, .n = 3 };
    const vug_sampling without = {
        .sampler = chain, .n = 3, .dry_breaker = none, .n_dry_breakers = 0
    };
    const vug_sampling other = {
        .sampler = chain, .n = 3, .dry_breaker = word, .n_dry_breakers = 2
    };
    static const struct {
        const char *text, *token;
        double standard, without, other;
    } rows[] = {
        /* Tokens before a breaker do not count. */
        { "QW:XY1QW:XY", "1", 1, 8, 8 },
        { "QW\nXY1QW\nXY", "1", 1, 8, 8 },
        /* Nothing repeats right after one, and a breaker itself is free. */
        { "QWX:1QWX:", "1", 0, 4, 0 },
        { "QWX:QWX", ":", 0, 2, 0 },
        /* A text that several tokens spell ends in its last one. */
        { "QWX12QWX1", "2", 4, 4, 0 },
        { "QWAX12QWAX1", "2", 8, 8, 8 },
        { "QWX123QWX12", "3", 8, 8, 1 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const double got[] = { dry_penalty(&f, &standard, rows[i].text, rows[i].token),
                               dry_penalty(&f, &without, rows[i].text, rows[i].token),
                               dry_penalty(&f, &other, rows[i].text, rows[i].token) };
        const double want[] = { rows[i].standard, rows[i].without, rows[i].other };
        for (int k = 0; k < 3; k++) {
            if (fabs(got[k] - want[k]) > 0.051)
                fail_msg("%s + %s, breakers %d: %g, expected %g", rows[i].text, rows[i].token, k,
                         got[k], want[k]);
        }
    }
    fixture_release(&f);
}

/* ---- words and ids ----------------------------------------------------------------------- */

/* The best token after the text of an answer is `token` unless it is banned. */
static bool is_banned(const word_fixture *f, const vug_sampling *sampling, const char *before,
                      const char *text, const char *token)
{
    vug_sampler s = make(f, sampling);
    float logits[V];
    vug_tokens t;
    vug_err err = { 0 };
    prompt(f, &s, before);
    help_ok(vug_tokenizer_encode(f->tokenizer, text, strlen(text), VUG_ENCODE_PLAIN, &t, &err),
            &err);
    for (size_t i = 0; i < t.n; i++)
        help_accept(&s, t.id[i]);
    vug_tokens_release(&t);
    for (int i = 0; i < V; i++)
        logits[i] = 0;
    logits[id_of(f, token)] = 1;
    const bool banned = help_sample(&s, logits, NULL) != id_of(f, token);
    vug_sampler_release(&s);
    return banned;
}

static void test_banned_words_are_not_completed(void **state)
{
    (void)state;
    word_fixture f = fixture_make();
    static const char *const words[] = { "QWX", " Y" };
    const vug_sampling s = {
        .sampler = &greedy, .n = 1, .banned_word = words, .n_banned_words = 2
    };
    assert_true(is_banned(&f, &s, "", "QW", "X"));
    assert_true(is_banned(&f, &s, "", "1 2 QW", "X"));
    assert_false(is_banned(&f, &s, "", "QQ", "X"));
    assert_false(is_banned(&f, &s, "", "", "X"));
    assert_false(is_banned(&f, &s, "", "QW", "W"));
    assert_true(is_banned(&f, &s, "", "", "Y")); /* one token: never */
    /* The tokens of the prompt are not a part of the answer. */
    assert_false(is_banned(&f, &s, "QW", "", "X"));
    assert_false(is_banned(&f, &s, "Q", "W", "X"));
    fixture_release(&f);
}

static void test_only_allowed_ids_are_sampled(void **state)
{
    (void)state;
    word_fixture f = fixture_make();
    const int32_t ids[] = { 70, 20, 300 };
    const vug_sampling s = { .sampler = &greedy, .n = 1, .allowed = ids, .n_allowed = 3 };
    float logits[V];
    uint32_t grammar[V / 32] = { 0 };
    vug_sampler sampler = make(&f, &s);
    for (int i = 0; i < V; i++)
        logits[i] = (float)(i % 100);
    assert_int_equal(help_sample(&sampler, logits, NULL), 70);
    /* Both must allow an id. */
    grammar[20 / 32] |= 1u << 20 % 32;
    grammar[71 / 32] |= 1u << 71 % 32;
    assert_int_equal(help_sample(&sampler, logits, grammar), 20);
    grammar[20 / 32] = 0;
    assert_int_equal(help_sample(&sampler, logits, grammar), -1);
    const int32_t excluded[] = { 70, 20 };
    const vug_sampler_mask mask = { .excluded = excluded, .n_excluded = 2 };
    assert_int_equal(vug_sampler_sample(&sampler, logits, &mask), 300);
    /* Without a usable logit, the lowest that may follow. */
    for (int i = 0; i < V; i++)
        logits[i] = NAN;
    assert_int_equal(help_sample(&sampler, logits, NULL), 20);
    assert_int_equal(vug_sampler_sample(&sampler, logits, &mask), 300);
    vug_sampler_release(&sampler);
    fixture_release(&f);
}

static void test_bad_lists_are_refused(void **state)
{
    (void)state;
    word_fixture f = fixture_make();
    static const char *const empty[] = { " " }, *const word[] = { "x" };
    char text[VUG_MAX_DRY_BREAKER + 2], many[VUG_MAX_BANNED_IDS + 2];
    memset(text, 'x', sizeof(text) - 1);
    memset(many, 'Q', sizeof(many) - 1);
    text[sizeof(text) - 1] = many[sizeof(many) - 1] = 0;
    const char *const long_text[] = { text }, *const long_word[] = { many };
    const int32_t id = V;
    const struct {
        vug_sampling sampling;
        vug_status status;
        const char *message;
    } rows[] = {
        { { .allowed = &id }, VUG_ARGUMENT, "sampler: the list of allowed tokens is empty" },
        { { .allowed = &id, .n_allowed = 1 },
          VUG_ARGUMENT,
          "sampler: allowed token 384, ids are 0 to 383" },
        { { .banned_word = empty, .n_banned_words = 1 },
          VUG_ARGUMENT,
          "sampler: a banned word is empty" },
        { { .banned_word = word, .n_banned_words = VUG_MAX_BANNED_WORDS + 1 },
          VUG_LIMIT,
          "sampler: 1025 banned words, at most 1024" },
        { { .banned_word = long_word, .n_banned_words = 1 },
          VUG_LIMIT,
          "sampler: the banned word 'QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ' has 65 tokens, "
          "expected 1 to 64" },
        { { .dry_breaker = long_text, .n_dry_breakers = 1 },
          VUG_LIMIT,
          "sampler: a breaker of dry of 65 bytes, expected 1 to 64" },
        { { .dry_breaker = word, .n_dry_breakers = VUG_MAX_DRY_BREAKERS + 1 },
          VUG_LIMIT,
          "sampler: 65 breakers of dry, at most 64" },
    };
    vug_sampler s;
    vug_err err = { 0 };
    vug_sampler_model model = { V, V, 64, f.tokenizer };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        help_refused(vug_sampler_init(&s, &rows[i].sampling, &model, &err), &err, rows[i].status,
                     NULL, rows[i].message);
    const vug_sampling bans = { .banned_word = word, .n_banned_words = 1 };
    model.tokenizer = NULL;
    help_refused(vug_sampler_init(&s, &bans, &model, &err), &err, VUG_UNSUPPORTED, NULL,
                 "sampler: banned words need a tokenizer");
    const vug_sampler_config chain[] = { { VUG_SAMPLER_TOP_K, 5, 0 }, { VUG_SAMPLER_DRY, 1, 0 } };
    const vug_sampling late = { .sampler = chain, .n = 2 };
    help_refused(vug_sampler_init(&s, &late, &model, &err), &err, VUG_ARGUMENT, NULL,
                 "sampler: dry comes after top-k; penalties and biases come first");
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dry_follows_its_formula),
        cmocka_unit_test(test_dry_sees_no_repeat_across_breakers),
        cmocka_unit_test(test_banned_words_are_not_completed),
        cmocka_unit_test(test_only_allowed_ids_are_sampled),
        cmocka_unit_test(test_bad_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
