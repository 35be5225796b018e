/*
 * Perplexity: every number is computed again in a simple way from the logits that a
 * session gives for each token's own prefix. Then a base in a file instead of a model, and
 * refused input. Damaged files are tested in test_saved_logits.c.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "text/text.h"
#include "tiny_model.h"
#include "vug/checkpoint.h"

enum { V = TINY_VOCAB, BOS = 2, MOST_TOKENS = 400 };

/* Sums of 384 positive terms in double against long double: 384 half ulps each, times
 * differences of logits of less than 10; logarithms of less than 10. */
static const double rounding = 1e-12;

static const char text[] =
        "hello <start_of_turn>user\nWhat is a vug?<end_of_turn>\n"
        "a small cavity in a rock, lined with crystals: caf\xc3\xa9 "
        "\xe2\x82\xac 5, hell, h\xc3\xa9!\nhello hello hello; the place where gems are found!.";
static const size_t text_len = sizeof(text) - 1;

typedef struct {
    scratch dir, other_dir; /* gemma3-text and gemma3-scale with the tiny tokenizer */
    vug_model *model, *other;
} perplexity_fixture;

/* ---- the plain way -------------------------------------------------------------------- */

/* For every token of the text: whether it is scored, and its score. */
typedef struct {
    size_t n, n_scored;
    int32_t id[MOST_TOKENS];
    bool scored[MOST_TOKENS];
    double nll[MOST_TOKENS], p[MOST_TOKENS];
    float logits[MOST_TOKENS][V]; /* that predict it */
} expected_scores;

static long double log_sum(const float *row)
{
    long double sum = 0;
    for (int i = 0; i < V; i++)
        sum += expl((long double)row[i]);
    return logl(sum);
}

/* The window of token t is the first one that reaches it. */
static expected_scores *score_plainly(vug_model *m, const char *bytes, size_t len, int window,
                                      int stride, bool bos)
{
    expected_scores *p = vug_alloc_zero(1, sizeof(*p));
    vug_session *s = help_session(m);
    vug_tokens tokens;
    vug_err err = { 0 };
    assert_non_null(p);
    help_ok(vug_tokenizer_encode(vug_model_tokenizer(m, NULL), bytes, len, VUG_ENCODE_PARSE_SPECIAL,
                                 &tokens, &err),
            &err);
    p->n = tokens.n;
    assert_true(p->n > 0 && p->n <= MOST_TOKENS);
    memcpy(p->id, tokens.id, p->n * sizeof(*p->id));
    const size_t room = (size_t)(window - bos);
    for (size_t t = 0; t < p->n; t++) {
        int32_t prefix[MOST_TOKENS + 1] = { BOS };
        size_t begin = 0, n = bos;
        while (begin + room <= t)
            begin += (size_t)stride;
        for (size_t i = begin; i < t; i++)
            prefix[n++] = p->id[i];
        if (n == 0)
            continue;
        memcpy(p->logits[t], help_forward(s, prefix, n), sizeof(p->logits[t]));
        p->scored[t] = true;
        p->nll[t] = (double)(log_sum(p->logits[t]) - (long double)p->logits[t][p->id[t]]);
        p->p[t] = exp(-p->nll[t]);
        p->n_scored++;
    }
    vug_tokens_release(&tokens);
    vug_session_destroy(s);
    return p;
}

static void same(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fmax(1, fabs(b))))
        fail_msg("%.17g, expected %.17g within %g", a, b, tolerance);
}

static void check_score(const vug_score *s, const expected_scores *p, uint64_t n_bytes)
{
    const double n = (double)p->n_scored;
    long double sum = 0, squares = 0;
    for (size_t t = 0; t < p->n; t++)
        sum += p->nll[t]; /* 0 if it is not scored */
    const double mean = (double)(sum / n);
    for (size_t t = 0; t < p->n; t++)
        squares += p->scored[t] ? (p->nll[t] - mean) * (p->nll[t] - mean) : 0;
    const double error = sqrt((double)squares / (n - 1)) / sqrt(n);
    same(s->nll, mean, rounding);
    same(s->nll_error, error, rounding);
    same(s->perplexity, exp(mean), 10 * rounding); /* e^x has x times the error of x */
    same(s->perplexity_error, exp(mean) * error, 10 * rounding);
    same(s->bits_per_byte, (double)sum / 0.69314718055994530942 / (double)n_bytes, rounding);
}

static vug_perplexity measure(vug_model *m, vug_perplexity_options o)
{
    vug_perplexity p;
    vug_err err = { 0 };
    help_ok(vug_model_perplexity(m, text, text_len, &o, &p, &err), &err);
    return p;
}

/* ---- one model -------------------------------------------------------------------------- */

static void test_scores_match_forward_passes(void **state)
{
    static const struct {
        int window, stride;
    } cases[] = { { 0, 0 }, { 32, 31 }, { 32, 8 }, { 33, 1 }, { 2, 1 }, { 512, 0 }, { 100, 30 } };
    const perplexity_fixture *f = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const int window = cases[i].window ? cases[i].window : 512;
        const int stride = cases[i].stride ? cases[i].stride : window - 1;
        const vug_perplexity p =
                measure(f->model, (vug_perplexity_options){ .window = cases[i].window,
                                                            .stride = cases[i].stride });
        expected_scores *expected = score_plainly(f->model, text, text_len, window, stride, true);
        assert_int_equal(p.window, window);
        assert_int_equal(p.stride, stride);
        assert_int_equal(p.n_tokens, expected->n);
        assert_int_equal(p.n_scored, expected->n); /* <bos> is before each of them */
        assert_int_equal(p.n_bytes, text_len);
        check_score(&p.model, expected, text_len);
        assert_true(p.base.nll == 0 && p.kl_max == 0 && p.top1 == 0);
        vug_free(expected);
    }
}

/* A small batch gives several blocks of rows, as a large vocabulary does. */
static void test_blocks_and_threads_do_not_change_results(void **state)
{
    const perplexity_fixture *f = *state;
    const vug_perplexity_options o = { .window = 40, .stride = 13 };
    const vug_perplexity expected = measure(f->model, o);
    static const int batches[] = { 1, 7, 16 };
    for (size_t i = 0; i < 3; i++) {
        vug_model *m = help_model(
                f->dir.path,
                (vug_model_options){ .context = 40, .batch = batches[i], .threads = (int)i + 1 });
        const vug_perplexity p = measure(m, o);
        assert_memory_equal(&p.model, &expected.model, sizeof(p.model));
        assert_int_equal(p.n_windows, expected.n_windows);
        vug_model_close(m);
    }
}

/* Copies the files of folder `from` and replaces one part of tokenizer.json. */
static void other_tokenizer(const scratch *to, const char *part, const char *with)
{
    vug_text json;
    vug_buf changed = { 0 };
    tiny_model(to, TINY_VOCAB);
    assert_int_equal(vug_read_file(scratch_at(to, "tokenizer.json").path, 1 << 20, &json, NULL),
                     VUG_OK);
    const char *at = strstr(json.ptr, part);
    assert_non_null(at);
    vug_buf_append(&changed, json.ptr, (size_t)(at - json.ptr));
    vug_buf_puts(&changed, with);
    vug_buf_puts(&changed, at + strlen(part));
    assert_int_equal(vug_buf_ok(&changed, NULL), VUG_OK);
    scratch_write(to, "tokenizer.json", changed.ptr, changed.len);
    vug_buf_release(&changed);
    vug_text_release(&json);
}

static const char adds_bos[] = "{\"SpecialToken\":{\"id\":\"<bos>\",\"type_id\":0}},";

/* The bytes of text that a token stands for. The last token of a character counts for all its
 * bytes. */
static uint64_t bytes_of(const vug_model *m, int32_t id)
{
    size_t len;
    const char *piece = vug_tokenizer_token(vug_model_tokenizer(m, NULL), id, &len);
    assert_true(piece && len > 0);
    if (strncmp(piece, "<0x", 3) == 0)
        return strcmp(piece, "<0xA9>") == 0 ? 2 : strcmp(piece, "<0xAC>") == 0 ? 3 : 0;
    return strcmp(piece, "\xe2\x96\x81") == 0 ? 1 : len;
}

/* The first token of a window then has no context, unless windows overlap. */
static void test_text_without_prefix_tokens(void **state)
{
    static const int windows[] = { 2, 3, 5, 16, 61 };
    (void)state;
    const scratch dir = scratch_make();
    other_tokenizer(&dir, adds_bos, "");
    vug_model *m = help_model(dir.path, (vug_model_options){ .context = 64 });
    for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
        const int w = windows[i];
        const vug_perplexity p = measure(m, (vug_perplexity_options){ .window = w });
        expected_scores *expected = score_plainly(m, text, text_len, w, w, false);
        uint64_t bytes = text_len;
        for (size_t t = 0; t < expected->n; t += (size_t)w)
            bytes -= bytes_of(m, expected->id[t]);
        assert_int_equal(p.stride, w);
        assert_int_equal(p.n_scored, expected->n_scored);
        assert_int_equal(p.n_bytes, bytes);
        check_score(&p.model, expected, bytes);
        vug_free(expected);
    }
    const vug_perplexity p = measure(m, (vug_perplexity_options){ .window = 16, .stride = 5 });
    expected_scores *expected = score_plainly(m, text, text_len, 16, 5, false);
    assert_int_equal(p.n_scored, expected->n - 1);
    assert_int_equal(p.n_bytes, text_len - 4); /* "hell" */
    check_score(&p.model, expected, text_len - 4);
    vug_free(expected);
    vug_model_close(m);
    scratch_remove(&dir);
}

static void test_default_window(void **state)
{
    const perplexity_fixture *f = *state;
    vug_model *m = help_model(f->dir.path, (vug_model_options){ .context = 48 });
    assert_int_equal(measure(m, (vug_perplexity_options){ 0 }).window, 48);
    vug_model_close(m);
    m = help_model(f->dir.path, (vug_model_options){ .context = 1024 });
    assert_int_equal(measure(m, (vug_perplexity_options){ 0 }).window, 512);
    m->info.context_trained = 100;
    assert_int_equal(measure(m, (vug_perplexity_options){ 0 }).window, 100);
    vug_model_close(m);
}

/* ---- two models ---------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static int best(const float *row)
{
    int at = 0;
    for (int i = 1; i < V; i++)
        at = row[i] > row[at] ? i : at;
    return at;
}

/* KL(p || q) of two rows of logits. */
static double divergence(const float *p, const float *q)
{
    const long double p_sum = log_sum(p), q_sum = log_sum(q);
    long double kl = 0;
    for (int i = 0; i < V; i++) {
        const long double a = (long double)p[i] - p_sum, b = (long double)q[i] - q_sum;
        kl += expl(a) * (a - b);
    }
    return (double)kl;
}

static void test_two_models_are_compared(void **state)
{
    const perplexity_fixture *f = *state;
    const vug_perplexity p = measure(
            f->model, (vug_perplexity_options){ .window = 64, .stride = 20, .base = f->other });
    expected_scores *model = score_plainly(f->model, text, text_len, 64, 20, true);
    expected_scores *base = score_plainly(f->other, text, text_len, 64, 20, true);
    check_score(&p.model, model, text_len);
    check_score(&p.base, base, text_len);
    const size_t n = model->n;
    double kl[MOST_TOKENS];
    long double sum = 0, shift = 0, squares = 0;
    int agree = 0;
    for (size_t t = 0; t < n; t++) {
        kl[t] = divergence(base->logits[t], model->logits[t]);
        sum += kl[t];
        shift += model->p[t] - base->p[t];
        squares += (model->p[t] - base->p[t]) * (model->p[t] - base->p[t]);
        agree += best(model->logits[t]) == best(base->logits[t]);
    }
    qsort(kl, n, sizeof(*kl), ascending);
    assert_true(n > 100 && n % 2 == 0 &&
                agree < (int)n); /* otherwise the checks below would be empty */
    same(p.kl_mean, (double)(sum / n), rounding);
    same(p.kl_median, (kl[n / 2 - 1] + kl[n / 2]) / 2, rounding);
    same(p.kl_p99, kl[n - 2], rounding); /* one of 101 to 199 tokens may be above it */
    same(p.kl_max, kl[n - 1], rounding);
    same(p.top1, agree / (double)n, rounding);
    same(p.shift_mean, (double)(shift / n), rounding);
    same(p.shift_rms, sqrt((double)(squares / n)), rounding);
    assert_true(p.kl_median > 0 && p.kl_p99 > p.kl_median && p.kl_max > p.kl_p99);
    vug_free(model);
    vug_free(base);
}

static void test_model_matches_itself(void **state)
{
    const perplexity_fixture *f = *state;
    vug_model *again = help_model(f->dir.path, (vug_model_options){ .isa = "ref", .batch = 9 });
    vug_model *const bases[] = { f->model, again };
    for (int i = 0; i < 2; i++) {
        const vug_perplexity p =
                measure(f->model, (vug_perplexity_options){ .window = 50, .base = bases[i] });
        assert_memory_equal(&p.model, &p.base, sizeof(p.model));
        assert_true(p.kl_mean == 0 && p.kl_median == 0 && p.kl_p99 == 0 && p.kl_max == 0);
        assert_true(p.top1 == 1 && p.shift_mean == 0 && p.shift_rms == 0);
    }
    vug_model_close(again);
}

/* ---- a base in a file ------------------------------------------------------------------------ */

/* Error bounds for numbers from F16 log-probabilities. Each is rounded by e = u |ln p| + 2^-24,
 * where u is 2^-11 and a little more because of the rounding to F32 before. The sum of the rounded
 * probabilities then differs from 1 by at most the factor of the sum of p e^e. */
typedef struct {
    double kl, nll;
} bounds;

static bounds bounds_of(const float *base, const float *model, int32_t id)
{
    const double u = 0x1.01p-11;
    const double base_sum = (double)log_sum(base), model_sum = (double)log_sum(model);
    bounds b = { 0 };
    double sum = 0;
    for (int i = 0; i < V; i++) {
        const double a = (double)base[i] - base_sum;
        sum += exp(a + u * fabs(a) + 0x1p-24);
    }
    for (int i = 0; i < V; i++) {
        const double a = (double)base[i] - base_sum, off = u * fabs(a) + 0x1p-24 + log(sum);
        const double apart = fabs(a - ((double)model[i] - model_sum));
        b.kl += exp(a) * (exp(off) * off + expm1(off) * apart);
        if (i == id)
            b.nll = off;
    }
    return b;
}

static void test_saved_logits_replace_the_base(void **state)
{
    const perplexity_fixture *f = *state;
    const scratch_path path = scratch_at(&f->dir, "base.safetensors");
    const vug_perplexity saved = measure(
            f->other,
            (vug_perplexity_options){ .window = 64, .stride = 20, .save_logits = path.path });
    const vug_perplexity direct = measure(
            f->model, (vug_perplexity_options){ .window = 64, .stride = 20, .base = f->other });
    assert_memory_equal(&saved.model, &direct.base, sizeof(saved.model));
    /* The windows default to those of the file, and must be equal to them. */
    const vug_perplexity p =
            measure(f->model, (vug_perplexity_options){ .base_logits = path.path });
    const vug_perplexity q = measure(
            f->model,
            (vug_perplexity_options){ .window = 64, .stride = 20, .base_logits = path.path });
    assert_int_equal(p.window, 64);
    assert_int_equal(p.stride, 20);
    assert_true(p.kl_mean == q.kl_mean && p.base.nll == q.base.nll);
    assert_memory_equal(&p.model, &direct.model, sizeof(p.model));

    expected_scores *model = score_plainly(f->model, text, text_len, 64, 20, true);
    expected_scores *base = score_plainly(f->other, text, text_len, 64, 20, true);
    bounds sum = { 0 }, most = { 0 };
    for (size_t t = 0; t < model->n; t++) {
        const bounds b = bounds_of(base->logits[t], model->logits[t], base->id[t]);
        sum.kl += b.kl;
        sum.nll += b.nll;
        most.kl = fmax(most.kl, b.kl);
        most.nll = fmax(most.nll, b.nll);
    }
    const double n = (double)model->n;
    assert_true(most.kl < 0.05 && most.nll < 0.05); /* the bounds bind */
    assert_true(p.kl_mean != direct.kl_mean);
    assert_true(fabs(p.kl_mean - direct.kl_mean) <= sum.kl / n + rounding);
    assert_true(fabs(p.base.nll - direct.base.nll) <= sum.nll / n + rounding);
    /* No sorted number moves by more than the one that moves most. */
    assert_true(fabs(p.kl_median - direct.kl_median) <= most.kl + rounding);
    assert_true(fabs(p.kl_p99 - direct.kl_p99) <= most.kl + rounding);
    assert_true(fabs(p.kl_max - direct.kl_max) <= most.kl + rounding);
    assert_true(fabs(p.shift_mean - direct.shift_mean) <= expm1(most.nll));
    assert_true(fabs(p.shift_rms - direct.shift_rms) <= expm1(most.nll));
    assert_true(p.top1 >= direct.top1); /* a tie counts as equal */
    assert_true(p.top1 <= direct.top1 + 0.05);
    vug_free(model);
    vug_free(base);
}

/* The file is written in pieces that do not end with rows: 1.5 MB are 2048 rows. */
static void test_large_file_is_written_in_blocks(void **state)
{
    const perplexity_fixture *f = *state;
    enum { TIMES = 80 };
    const scratch_path path = scratch_at(&f->dir, "large.safetensors");
    vug_buf many = { 0 };
    vug_perplexity p;
    vug_err err = { 0 };
    vug_model *m = help_model(f->dir.path, (vug_model_options){ .context = 50, .batch = 50 });
    for (int i = 0; i < TIMES; i++)
        vug_buf_puts(&many, text);
    vug_perplexity_options o = { .save_logits = path.path };
    help_ok(vug_model_perplexity(m, many.ptr, many.len, &o, &p, &err), &err);
    assert_true(p.n_scored * V * 2 > 4 << 20);
    o = (vug_perplexity_options){ .base_logits = path.path };
    help_ok(vug_model_perplexity(m, many.ptr, many.len, &o, &p, &err), &err);
    /* KL(p~ || p) with ln p~ = ln p + d is the sum of p~ d, and |d| is at most e + ln sum. */
    assert_true(p.kl_max < 2 * (0x1.01p-11 * 12 + 0x1p-24));
    assert_true(p.kl_mean > 0 && p.top1 == 1);
    vug_buf_release(&many);
    vug_model_close(m);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse(const perplexity_fixture *f, const char *bytes, size_t len,
                   vug_perplexity_options o, const char *expected)
{
    vug_perplexity p;
    vug_err err = { 0 };
    const vug_status st = vug_model_perplexity(f->model, bytes, len, &o, &p, &err);
    help_refused(st, &err, err.code, f->dir.path, expected);
    assert_true(st == VUG_ARGUMENT || st == VUG_FORMAT || st == VUG_UNSUPPORTED);
}

static void test_bad_texts_and_windows_are_refused(void **state)
{
    const perplexity_fixture *f = *state;
    const vug_perplexity_options named = { .name = "a.txt" };
    refuse(f, "", 0, named, "a.txt: 0 tokens, of which 0 can be scored; at least 2 are needed");
    refuse(f, "h", 1, named, "a.txt: 1 tokens, of which 1 can be scored; at least 2 are needed");
    refuse(f, "hello \xc3(", 8, named, "a.txt: not UTF-8: byte 0xc3 at offset 6");
    refuse(f, "hello \xe2\x82", 8, (vug_perplexity_options){ 0 },
           "the text: not UTF-8: byte 0xe2 at offset 6");
    refuse(f, "hello", 5, (vug_perplexity_options){ .window = 1025 },
           "windows of 1025 tokens, expected 2 to 1024, which the context holds");
    refuse(f, "hello", 5, (vug_perplexity_options){ .window = 1 },
           "windows of 1 tokens, expected 2 to 1024, which the context holds");
    refuse(f, "hello", 5, (vug_perplexity_options){ .window = 100, .stride = 100 },
           "a window every 100 tokens, expected 1 to 99: that many tokens of the text are in a "
           "window of 100");
    refuse(f, "hello", 5, (vug_perplexity_options){ .window = 100, .stride = -1 },
           "a window every -1 tokens, expected 1 to 99: that many tokens of the text are in a "
           "window of 100");
    refuse(f, "hello", 5, (vug_perplexity_options){ .base = f->other, .base_logits = "x" },
           "the base is either a model or a file of logits, not both");
    refuse(f, "hello", 5, (vug_perplexity_options){ .base = f->other, .save_logits = "x" },
           "logits are saved without a base to compare with");
}

static void test_bad_bases_are_refused(void **state)
{
    const perplexity_fixture *f = *state;
    const scratch dir = scratch_make();
    char expected[512];
    other_tokenizer(&dir, adds_bos, "");
    vug_model *base = help_model(dir.path, (vug_model_options){ 0 });
    (void)snprintf(expected, sizeof(expected),
                   "FOLDER and %s have tokenizers that put other tokens in front of a text; only "
                   "the same tokens can be compared",
                   dir.path);
    refuse(f, "hello!", 6, (vug_perplexity_options){ .base = base }, expected);
    vug_model_close(base);
    other_tokenizer(&dir, ",[\"he\",\"ll\"]", "");
    base = help_model(dir.path, (vug_model_options){ 0 });
    (void)snprintf(
            expected, sizeof(expected),
            "FOLDER and %s have different tokenizers: the text is 3 and 4 tokens, the same up "
            "to number 0; only the same tokens can be compared",
            dir.path);
    refuse(f, "hello!", 6, (vug_perplexity_options){ .base = base }, expected);
    /* Differences that affect no token do not matter. */
    vug_perplexity p;
    vug_err err = { 0 };
    const vug_perplexity_options o = { .base = base };
    help_ok(vug_model_perplexity(f->model, "cat", 3, &o, &p, &err), &err);
    base->info.n_vocab--;
    (void)snprintf(expected, sizeof(expected),
                   "FOLDER has 384 ids, %s has 383; only the same tokens can be compared",
                   dir.path);
    refuse(f, "hello!", 6, o, expected);
    vug_model_close(base);
    base = help_model(GOLDEN("gemma3-text"), (vug_model_options){ 0 });
    refuse(f, "hello!", 6, (vug_perplexity_options){ .base = base },
           GOLDEN("gemma3-text") "/tokenizer.json: missing, so the model cannot read or write "
                                 "text");
    vug_model_close(base);
    scratch_remove(&dir);
}

typedef struct {
    int calls, most;
    uint64_t done, total;
} score_progress;

static bool watch(uint64_t done, uint64_t total, void *user)
{
    score_progress *p = user;
    assert_true(done > p->done && done <= total);
    p->done = done;
    p->total = total;
    return ++p->calls < p->most;
}

/* No temporary file is left, and the target does not exist. */
static void test_cancelled_run_leaves_no_file(void **state)
{
    const perplexity_fixture *f = *state;
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "base.safetensors");
    score_progress seen = { .most = 2 };
    vug_perplexity_options o = {
        .window = 32, .save_logits = path.path, .progress = watch, .user = &seen
    };
    vug_perplexity p;
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n;
    vug_err err = { 0 };
    help_refused(vug_model_perplexity(f->model, text, text_len, &o, &p, &err), &err, VUG_CANCELLED,
                 NULL, "stopped after 62 of 132 tokens");
    help_ok(vug_list_folder(dir.path, &arena, &name, &n, &err), &err);
    assert_int_equal(n, 0);
    vug_arena_release(&arena);
    seen = (score_progress){ .most = 100 };
    o.save_logits = NULL;
    help_ok(vug_model_perplexity(f->model, text, text_len, &o, &p, &err), &err);
    assert_true(seen.done == (uint64_t)p.n_scored && seen.total == seen.done);
    assert_int_equal(seen.calls, p.n_windows);
    o.progress = NULL;
    o.save_logits = "no/such/folder/base";
    assert_int_equal(vug_model_perplexity(f->model, text, text_len, &o, &p, &err), VUG_WRITE);
    scratch_remove(&dir);
}

/* ---- the fixture ----------------------------------------------------------------------------- */

static void copy_golden(const scratch *to, const char *folder, const char *name)
{
    vug_text bytes;
    char from[256];
    (void)snprintf(from, sizeof(from), "tests/golden/models/%s/%s", folder, name);
    assert_int_equal(vug_read_file(from, 16 << 20, &bytes, NULL), VUG_OK);
    scratch_write(to, name, bytes.ptr, bytes.len);
    vug_text_release(&bytes);
}

static int set_up(void **state)
{
    perplexity_fixture *f = vug_alloc_zero(1, sizeof(*f));
    const vug_model_options options = { .context = 1024, .threads = 2 };
    assert_non_null(f);
    f->dir = scratch_make();
    f->other_dir = scratch_make();
    tiny_model(&f->dir, TINY_VOCAB);
    copy_golden(&f->other_dir, "gemma3-scale", "config.json");
    copy_golden(&f->other_dir, "gemma3-scale", "model.safetensors");
    tiny_tokenizer(&f->other_dir, TINY_VOCAB);
    f->model = help_model(f->dir.path, options);
    f->other = help_model(f->other_dir.path, options);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    perplexity_fixture *f = *state;
    vug_model_close(f->model);
    vug_model_close(f->other);
    scratch_remove(&f->dir);
    scratch_remove(&f->other_dir);
    vug_free(f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_match_forward_passes),
        cmocka_unit_test(test_blocks_and_threads_do_not_change_results),
        cmocka_unit_test(test_text_without_prefix_tokens),
        cmocka_unit_test(test_default_window),
        cmocka_unit_test(test_two_models_are_compared),
        cmocka_unit_test(test_model_matches_itself),
        cmocka_unit_test(test_saved_logits_replace_the_base),
        cmocka_unit_test(test_large_file_is_written_in_blocks),
        cmocka_unit_test(test_bad_texts_and_windows_are_refused),
        cmocka_unit_test(test_bad_bases_are_refused),
        cmocka_unit_test(test_cancelled_run_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
