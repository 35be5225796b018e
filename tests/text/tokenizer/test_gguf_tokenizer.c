/* Tokenizers inside GGUF files, compared with the tokenizer.json that they came from, and
 * malformed ones. */
#include "test.h"

#include "core/gguf.h"
#include "text/tokenizer/internal.h"
#include "tokenizer_help.h"

#define KEY(name) "tokenizer.ggml." name

/* Reads back what was written; the bytes live in the builder. */
static vug_gguf metadata_of(const vug_gguf_builder *b)
{
    vug_gguf out;
    vug_err err;
    assert_int_equal(vug_buf_ok(&b->bytes, NULL), VUG_OK);
    vug_reader r = vug_reader_over((vug_bytes){ (const uint8_t *)b->bytes.ptr, b->bytes.len });
    if (vug_gguf_read(&r, b->n, "t.gguf", &out, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return out;
}

static vug_status read_tokenizer(const vug_gguf_builder *b, vug_tokenizer **out, vug_err *err)
{
    vug_gguf gguf = metadata_of(b);
    const vug_status st = vug_tokenizer_from_gguf(&gguf, out, err);
    vug_gguf_release(&gguf);
    return st;
}

/* ---- a tokenizer.json as pieces ------------------------------------------------------- */

typedef struct {
    vug_str *token;
    float *score;
    int32_t *kind;
    size_t n;
} piece_arrays;

/* Scores as SentencePiece has them: the earlier a token is merged, the better. */
static piece_arrays pieces_of(const vug_tokenizer *t)
{
    piece_arrays p = { .n = t->vocab.n_ids };
    p.token = vug_alloc_zero(p.n, sizeof(*p.token));
    p.score = vug_alloc_zero(p.n, sizeof(*p.score));
    p.kind = vug_alloc_zero(p.n, sizeof(*p.kind));
    assert_true(p.token && p.score && p.kind);
    for (size_t i = 0; i < p.n; i++) {
        p.token[i] = vug_vocab_text(&t->vocab, (uint32_t)i);
        assert_non_null(p.token[i].ptr);
        p.score[i] = -1e9F;
        p.kind[i] = 1;
    }
    for (size_t i = t->bpe.n_merges; i > 0; i--)
        p.score[t->bpe.merge[i - 1].result] = -(float)i;
    for (int i = 0; i < 256; i++) {
        if (t->bpe.byte_id[i] != VUG_NO_ID)
            p.kind[t->bpe.byte_id[i]] = 6;
    }
    for (size_t i = 0; i < t->n_added; i++)
        p.kind[t->added[i].id] = t->added[i].special ? 3 : 4;
    return p;
}

static void put_pieces(vug_gguf_builder *b, const piece_arrays *p)
{
    vug_gguf_put_string(b, KEY("model"), vug_str_of("llama"));
    vug_gguf_put_strings(b, KEY("tokens"), p->token, p->n);
    vug_gguf_put_f32s(b, KEY("scores"), p->score, p->n);
    vug_gguf_put_i32s(b, KEY("token_type"), p->kind, p->n);
}

static vug_tokenizer *as_pieces(const vug_tokenizer *t)
{
    vug_gguf_builder b = { 0 };
    vug_tokenizer *out = NULL;
    vug_err err;
    piece_arrays p = pieces_of(t);
    put_pieces(&b, &p);
    vug_gguf_put_bool(&b, KEY("add_bos_token"), true);
    vug_gguf_put_bool(&b, KEY("add_space_prefix"), false);
    vug_gguf_put_u32(&b, KEY("bos_token_id"), (uint32_t)t->prefix.id[0]);
    vug_gguf_put_u32(&b, KEY("unknown_token_id"), t->bpe.unk);
    if (read_tokenizer(&b, &out, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    vug_gguf_builder_release(&b);
    vug_free(p.token);
    vug_free(p.score);
    vug_free(p.kind);
    return out;
}

static void check_equal(const vug_tokenizer *a, const vug_tokenizer *b, const char *text,
                        size_t len)
{
    for (unsigned flags = 0; flags < 4; flags++) {
        vug_tokens x = { 0 }, y = { 0 };
        assert_int_equal(vug_tokenizer_encode(a, text, len, flags, &x, NULL), VUG_OK);
        assert_int_equal(vug_tokenizer_encode(b, text, len, flags, &y, NULL), VUG_OK);
        if (x.n != y.n || (x.n && memcmp(x.id, y.id, x.n * sizeof(*x.id)) != 0))
            fail_msg("other ids, with flags %u, for \"%.*s\"", flags, (int)len, text);
        vug_text whole = { 0 };
        assert_int_equal(vug_tokenizer_decode(a, x.id, x.n, flags & 1, &whole, NULL), VUG_OK);
        tokenizer_check_decode(b, x.id, x.n, flags & 1, whole.ptr, whole.len);
        vug_text_release(&whole);
        vug_tokens_release(&x);
        vug_tokens_release(&y);
    }
}

/* pebble's tokenizer, on golden texts, README and source. */
static void test_pebble_as_pieces(void **state)
{
    (void)state;
    static const char *const files[] = { "tests/golden/text/gemma3.jsonl", "README.md",
                                         "src/text/tokenizer/gguf_tokenizer.c",
                                         "docs/architecture.md" };
    vug_tokenizer *t = NULL;
    assert_int_equal(vug_tokenizer_open("models/pebble", &t, NULL), VUG_OK);
    vug_tokenizer *p = as_pieces(t);
    assert_int_equal(vug_tokenizer_size(p), vug_tokenizer_size(t));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        vug_text file = { 0 };
        assert_int_equal(vug_read_file(files[i], 1 << 20, &file, NULL), VUG_OK);
        check_equal(t, p, file.ptr, file.len);
        for (const char *at = file.ptr, *end; (end = strchr(at, '\n')); at = end + 1)
            check_equal(t, p, at, (size_t)(end - at));
        vug_text_release(&file);
    }
    vug_tokenizer_close(p);
    vug_tokenizer_close(t);
}

static void test_gemma3_as_pieces(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_gemma3();
    vug_tokenizer *p = as_pieces(t);
    tokenizer_check_golden(p);
    assert_int_equal(vug_tokenizer_find(p, "<end_of_turn>"), 106);
    vug_tokenizer_close(p);
    vug_tokenizer_close(t);
}

/* ---- a small one ------------------------------------------------------------------------ */

enum { SMALL = 15 };
static const char *const small_token[SMALL] = { "<unk>",  "<bos>",  "<eos>", "a",    "b",
                                                "ab",     "ba",     "aba",   "bb",   "\xe2\x96\x81",
                                                "<0xC3>", "<0xA9>", "<x>",   "abab", "bab" };
static const float small_score[SMALL] = { 0, 0, 0, -10, -11, -2, -2, -1, -3, -12, 0, 0, 0, -4, -9 };
static const int32_t small_kind[SMALL] = { 2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 6, 6, 4, 1, 1 };

static piece_arrays small_pieces(vug_str *token, float *score, int32_t *kind)
{
    for (int i = 0; i < SMALL; i++) {
        token[i] = vug_str_of(small_token[i]);
        score[i] = small_score[i];
        kind[i] = small_kind[i];
    }
    return (piece_arrays){ token, score, kind, SMALL };
}

static vug_tokenizer *small_tokenizer(bool prefix)
{
    vug_str token[SMALL];
    float score[SMALL];
    int32_t kind[SMALL];
    const piece_arrays p = small_pieces(token, score, kind);
    vug_gguf_builder b = { 0 };
    vug_tokenizer *t = NULL;
    vug_err err;
    put_pieces(&b, &p);
    if (!prefix)
        vug_gguf_put_bool(&b, KEY("add_space_prefix"), false);
    if (read_tokenizer(&b, &t, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    vug_gguf_builder_release(&b);
    return t;
}

/* ab and ba have the same score: the leftmost is merged first, which ranks cannot express. */
static void test_equal_scores_merge_leftmost_first(void **state)
{
    (void)state;
    static const tokenizer_row rows[] = {
        { "ab", IDS(5) },         { "ba", IDS(6) },
        { "baa", IDS(6, 3) },     { "bab", IDS(14) },
        { "aab", IDS(3, 5) },     { "bba", IDS(4, 6) },
        { "ababab", IDS(7, 14) }, { "abb", IDS(5, 4) },
        { "a b", IDS(3, 9, 4) },  { "\xc3\xa9", IDS(10, 11) },
        { "?a", IDS(0, 3) },      { "a<x>b", IDS(3, 12, 4) },
    };
    vug_tokenizer *t = small_tokenizer(false);
    tokenizer_check(t, VUG_ENCODE_PARSE_SPECIAL, rows, sizeof(rows) / sizeof(rows[0]));
    static const tokenizer_row test_unsupported_kinds[] = { { "a<x>b<eos>", IDS(3, 12, 4, 2) } };
    static const tokenizer_row plain[] = { { "a<x>b<eos>", IDS(3, 12, 4, 0) } };
    tokenizer_check(t, VUG_ENCODE_PARSE_SPECIAL, test_unsupported_kinds, 1);
    tokenizer_check(t, 0, plain, 1);
    static const tokenizer_row around[] = { { "ab", IDS(1, 5) } };
    tokenizer_check(t, VUG_ENCODE_ADD_SPECIAL, around, 1);
    vug_tokenizer_close(t);
}

/* Older models put a space in front of every text, and decoding removes it. */
static void test_space_prefix(void **state)
{
    (void)state;
    static const tokenizer_row rows[] = { { "ab", IDS(9, 5) }, { "", NO_IDS } };
    static const int32_t id[] = { 9, 5, 9, 3 };
    vug_tokenizer *t = small_tokenizer(true);
    tokenizer_check(t, 0, rows, 2);
    tokenizer_check_decode(t, id, 4, false, "ab a", 4);
    vug_tokenizer_close(t);
}

/* ---- unsupported and malformed files ------------------------------------------------------ */

static void expect_error(vug_gguf_builder *b, vug_status code, const char *message)
{
    vug_tokenizer *t = NULL;
    vug_err err = { 0 };
    assert_int_equal(read_tokenizer(b, &t, &err), code);
    assert_null(t);
    assert_string_equal(err.msg, message);
    vug_gguf_builder_release(b);
}

static void test_unsupported_kinds(void **state)
{
    (void)state;
    vug_gguf_builder b = { 0 };
    expect_error(&b, VUG_UNSUPPORTED,
                 "t.gguf: has no tokenizer, so text cannot be encoded or decoded");
    b = (vug_gguf_builder){ 0 };
    vug_gguf_put_string(&b, KEY("model"), vug_str_of("bert"));
    expect_error(
            &b, VUG_UNSUPPORTED,
            "t.gguf: tokenizer kind 'bert' is not supported, so text cannot be encoded or decoded");

    /* A whole tokenizer.json takes precedence. */
    vug_text json = tokenizer_json((tokenizer_parts){ 0 });
    vug_tokenizer *t = NULL;
    vug_err err;
    b = (vug_gguf_builder){ 0 };
    vug_gguf_put_string(&b, KEY("model"), vug_str_of("gpt2"));
    vug_gguf_put_string(&b, "tokenizer.huggingface.json", (vug_str){ json.ptr, json.len });
    if (read_tokenizer(&b, &t, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(vug_tokenizer_find(t, "<turn>"), 22);
    vug_tokenizer_close(t);
    vug_gguf_builder_release(&b);
    vug_text_release(&json);
}

typedef struct {
    vug_str token[SMALL];
    float score[SMALL];
    int32_t kind[SMALL];
    piece_arrays p;
    vug_gguf_builder b;
} malformed_gguf;

static malformed_gguf *begin_malformed(malformed_gguf *l)
{
    l->b = (vug_gguf_builder){ 0 };
    l->p = small_pieces(l->token, l->score, l->kind);
    return l;
}

static void test_malformed_arrays(void **state)
{
    (void)state;
    malformed_gguf l;
    vug_gguf_put_string(&begin_malformed(&l)->b, KEY("model"), vug_str_of("llama"));
    expect_error(&l.b, VUG_FORMAT, "t.gguf: key 'tokenizer.ggml.tokens' is missing");

    begin_malformed(&l)->token[14] = vug_str_of("ab");
    put_pieces(&l.b, &l.p);
    expect_error(&l.b, VUG_FORMAT, "t.gguf: token 14, \"ab\", is declared twice");

    begin_malformed(&l)->score[5] = 0.0F / 0.0F;
    put_pieces(&l.b, &l.p);
    expect_error(&l.b, VUG_FORMAT, "t.gguf: the score of token 5 is not a number");

    put_pieces(&begin_malformed(&l)->b, &l.p);
    vug_gguf_put_u32(&l.b, KEY("bos_token_id"), SMALL);
    expect_error(&l.b, VUG_FORMAT,
                 "t.gguf: key 'tokenizer.ggml.bos_token_id' is 15, but there are 15 tokens");

    put_pieces(&begin_malformed(&l)->b, &l.p);
    vug_gguf_put_u32(&l.b, KEY("add_space_prefix"), 1);
    expect_error(&l.b, VUG_FORMAT,
                 "t.gguf: key 'tokenizer.ggml.add_space_prefix' is u32, expected true or false");

    vug_gguf_put_string(&begin_malformed(&l)->b, KEY("model"), vug_str_of("llama"));
    vug_gguf_put_strings(&l.b, KEY("tokens"), l.token, SMALL);
    vug_gguf_put_f32s(&l.b, KEY("scores"), l.score, SMALL - 1);
    expect_error(
            &l.b, VUG_FORMAT,
            "t.gguf: key 'tokenizer.ggml.scores' is an array of 14 f32, expected an array with a "
            "score for each token");

    char long_token[257];
    memset(long_token, 'a', sizeof(long_token));
    begin_malformed(&l)->token[13] = (vug_str){ long_token, sizeof(long_token) };
    put_pieces(&l.b, &l.p);
    expect_error(&l.b, VUG_LIMIT, "t.gguf: token 13 has 257 bytes, at most 256 can be merged");
    begin_malformed(&l)->token[13] = (vug_str){ long_token, sizeof(long_token) };
    l.kind[13] = 4;
    put_pieces(&l.b, &l.p);
    expect_error(&l.b, VUG_LIMIT,
                 "t.gguf: token 13, special or user-defined, has 257 bytes (at most 256), or there "
                 "are more "
                 "than 1048576 of them");
}

static void test_malformed_byte_level_arrays(void **state)
{
    (void)state;
    static const vug_str token[] = { { "a", 1 }, { "b", 1 }, { "ab", 2 } };
    static const struct {
        const char *pre, *merge, *message;
        vug_status code;
    } rows[] = {
        { NULL, "a b", "t.gguf: key 'tokenizer.ggml.pre' is missing", VUG_FORMAT },
        { "default", "a b",
          "t.gguf: key 'tokenizer.ggml.pre': the pre-tokenizer 'default' is unknown",
          VUG_UNSUPPORTED },
        { "qwen2", NULL, "t.gguf: key 'tokenizer.ggml.merges' is missing", VUG_FORMAT },
        { "qwen2", "ab", "t.gguf: merge 0 is not two tokens separated by a space", VUG_FORMAT },
        { "llama-bpe", "a b",
          "t.gguf: key 'tokenizer.ggml.bos_token_id' is 11, but there are 3 tokens", VUG_FORMAT },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_gguf_builder b = { 0 };
        vug_gguf_put_string(&b, KEY("model"), vug_str_of("gpt2"));
        vug_gguf_put_strings(&b, KEY("tokens"), token, 3);
        if (rows[i].pre)
            vug_gguf_put_string(&b, KEY("pre"), vug_str_of(rows[i].pre));
        const vug_str merge = vug_str_of(rows[i].merge ? rows[i].merge : "");
        if (rows[i].merge)
            vug_gguf_put_strings(&b, KEY("merges"), &merge, 1);
        expect_error(&b, rows[i].code, rows[i].message);
    }
}

/* ---- from arrays to a tokenizer.json ------------------------------------------- */

/* Opens the arrays that a tokenizer.json becomes, without the file itself. */
static vug_tokenizer *as_arrays(const char *path, const vug_tokenizer *t, const char *kind)
{
    vug_gguf_builder all = { 0 }, arrays = { 0 };
    vug_text json = { 0 };
    vug_tokenizer *out = NULL;
    vug_str model = { 0 };
    vug_err err;
    assert_int_equal(vug_read_file(path, (size_t)1 << 28, &json, NULL), VUG_OK);
    const vug_tokenizer_json_source file = { { json.ptr, json.len }, path, t };
    assert_int_equal(vug_tokenizer_write_gguf(&file, vug_tokenizer_size(t), &all, NULL), VUG_OK);
    vug_gguf gguf = metadata_of(&all);
    for (size_t i = 0; i < gguf.n; i++) {
        if (!vug_str_is(gguf.value[i].key, "tokenizer.huggingface.json"))
            vug_gguf_put_value(&arrays, &gguf.value[i]);
    }
    assert_true(vug_gguf_string(vug_gguf_find(&gguf, vug_str_of(KEY("model"))), &model));
    assert_true(vug_str_is(model, kind));
    vug_gguf_release(&gguf);
    if (read_tokenizer(&arrays, &out, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    vug_gguf_builder_release(&all);
    vug_gguf_builder_release(&arrays);
    vug_text_release(&json);
    return out;
}

static vug_tokenizer *written_again(const vug_tokenizer *t)
{
    vug_tokenizer *out = NULL;
    vug_text json = { 0 };
    vug_err err;
    if (vug_tokenizer_write_json(t, "t", &json, &err) != VUG_OK ||
        vug_tokenizer_from_json((vug_str){ json.ptr, json.len }, "written", &out, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    vug_text_release(&json);
    return out;
}

static void test_byte_level_round_trip(void **state)
{
    (void)state;
    static const char path[] = "tests/golden/text/byte_level.json";
    vug_tokenizer *t = NULL;
    assert_int_equal(vug_tokenizer_open(path, &t, NULL), VUG_OK);
    vug_tokenizer *arrays = as_arrays(path, t, "gpt2");
    vug_tokenizer *again = written_again(arrays);
    tokenizer_check_lines(arrays, "byte_level", 92);
    tokenizer_check_lines(again, "byte_level", 92);
    vug_tokenizer_close(again);
    vug_tokenizer_close(arrays);
    vug_tokenizer_close(t);
}

static void test_text_level_round_trip(void **state)
{
    (void)state;
    static const char path[] = "models/pebble/tokenizer.json";
    vug_tokenizer *t = NULL;
    vug_text text = { 0 };
    assert_int_equal(vug_tokenizer_open(path, &t, NULL), VUG_OK);
    vug_tokenizer *arrays = as_arrays(path, t, "gemma4");
    vug_tokenizer *again = written_again(arrays);
    assert_int_equal(vug_read_file("docs/architecture.md", 1 << 20, &text, NULL), VUG_OK);
    check_equal(t, arrays, text.ptr, text.len);
    check_equal(t, again, text.ptr, text.len);
    vug_text_release(&text);
    vug_tokenizer_close(again);
    vug_tokenizer_close(arrays);
    vug_tokenizer_close(t);
}

/* Scores become ranks: the best score is merged first. */
static void test_scores_round_trip(void **state)
{
    (void)state;
    vug_tokenizer *t = NULL;
    vug_err err = { 0 };
    vug_text json = { 0 };
    assert_int_equal(vug_tokenizer_open("models/pebble", &t, NULL), VUG_OK);
    vug_tokenizer *p = as_pieces(t);
    vug_tokenizer *again = written_again(p);
    static const char text[] = "  a b\n\nthe model";
    check_equal(p, again, text, sizeof(text) - 1);
    check_equal(t, again, text, sizeof(text) - 1);
    vug_tokenizer_close(again);
    vug_tokenizer_close(p);
    vug_tokenizer_close(t);
    /* ab and ba have the same score. */
    t = small_tokenizer(false);
    assert_int_equal(vug_tokenizer_write_json(t, "t", &json, &err), VUG_UNSUPPORTED);
    assert_string_equal(err.msg,
                        "t: cannot be written as a tokenizer.json: different tokens have the "
                        "same score");
    vug_tokenizer_close(t);
}

/* Runs of spaces are matched first and as long as possible, whatever their score; BOS is added
 * whatever the file says. */
static void test_runs_of_spaces(void **state)
{
    (void)state;
    enum { N = 9 };
    static const char *const text[N] = { "<unk>", "<bos>",        "<eos>",
                                         "a",     "\xe2\x96\x81", "\xe2\x96\x81\x61",
                                         "  ",    "   ",          "b" };
    static const float score[N] = { 0, 0, 0, -3, -3, -1, -1000, -1000, -4 };
    static const int32_t kind[N] = { 2, 3, 3, 1, 1, 1, 4, 4, 1 };
    static const vug_str merge[] = { { "\xe2\x96\x81 a", 5 } };
    static const tokenizer_row rows[] = {
        { " a", IDS(5) },       { "  a", IDS(6, 3) },       { "   a", IDS(7, 3) },
        { "    a", IDS(7, 5) }, { "     b", IDS(7, 6, 8) }, { "      b", IDS(7, 7, 8) },
    };
    static const tokenizer_row around[] = { { "b", IDS(1, 8) } };
    static const char *const test_unsupported_kinds[] = { "llama", "gemma4" };
    vug_str token[N];
    for (int i = 0; i < N; i++)
        token[i] = vug_str_of(text[i]);
    for (int i = 0; i < 2; i++) {
        vug_gguf_builder b = { 0 };
        vug_tokenizer *t = NULL;
        vug_gguf_put_string(&b, KEY("model"), vug_str_of(test_unsupported_kinds[i]));
        vug_gguf_put_strings(&b, KEY("tokens"), token, N);
        vug_gguf_put_f32s(&b, KEY("scores"), score, N);
        vug_gguf_put_i32s(&b, KEY("token_type"), kind, N);
        vug_gguf_put_strings(&b, KEY("merges"), merge, 1);
        vug_gguf_put_bool(&b, KEY("add_space_prefix"), false);
        vug_gguf_put_bool(&b, KEY("add_bos_token"), i == 0);
        vug_gguf_put_u32(&b, KEY("bos_token_id"), 1);
        assert_int_equal(read_tokenizer(&b, &t, NULL), VUG_OK);
        tokenizer_check(t, VUG_ENCODE_ADD_SPECIAL, around, 1);
        if (i == 0) {
            vug_tokenizer *again = written_again(t);
            tokenizer_check(t, 0, rows, sizeof(rows) / sizeof(rows[0]));
            tokenizer_check(again, 0, rows, sizeof(rows) / sizeof(rows[0]));
            vug_tokenizer_close(again);
        }
        vug_tokenizer_close(t);
        vug_gguf_builder_release(&b);
    }
}

/* All words of up to 16 letters a and b: every split of each is a merge. */
static void test_too_many_merges(void **state)
{
    (void)state;
    enum { LONGEST = 16, N = (2 << LONGEST) - 2 };
    char(*text)[LONGEST] = vug_alloc(N, LONGEST);
    piece_arrays p = { vug_alloc(N, sizeof(*p.token)), vug_alloc_zero(N, sizeof(*p.score)),
                       vug_alloc(N, sizeof(*p.kind)), N };
    assert_true(text && p.token && p.score && p.kind);
    for (size_t i = 0, len = 1; i < N; i++) {
        if (i + 2 == (size_t)2 << len)
            len++;
        for (size_t k = 0; k < len; k++)
            text[i][k] = (char)('a' + ((i + 2) >> k & 1));
        p.token[i] = (vug_str){ text[i], len };
        p.kind[i] = 1;
    }
    vug_gguf_builder b = { 0 };
    put_pieces(&b, &p);
    expect_error(&b, VUG_LIMIT, "t.gguf: the tokens have more than 1048576 merges");
    vug_free(text);
    vug_free(p.token);
    vug_free(p.score);
    vug_free(p.kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pebble_as_pieces),
        cmocka_unit_test(test_gemma3_as_pieces),
        cmocka_unit_test(test_equal_scores_merge_leftmost_first),
        cmocka_unit_test(test_space_prefix),
        cmocka_unit_test(test_unsupported_kinds),
        cmocka_unit_test(test_malformed_arrays),
        cmocka_unit_test(test_too_many_merges),
        cmocka_unit_test(test_malformed_byte_level_arrays),
        cmocka_unit_test(test_byte_level_round_trip),
        cmocka_unit_test(test_text_level_round_trip),
        cmocka_unit_test(test_scores_round_trip),
        cmocka_unit_test(test_runs_of_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
