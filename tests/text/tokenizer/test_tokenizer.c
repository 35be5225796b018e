

#include "test.h"

#include "core/json.h"
#include "core/os.h"
#include "scratch.h"
#include "text/text.h"
#include "tokenizer_help.h"

/*
 * The rules one by one on a small tokenizer, then the golden texts on the real one. All ids
 * come from the reference (HF tokenizers 0.23).
 */

#define CHECK(tokenizer, flags, rows) \
    tokenizer_check(tokenizer, flags, rows, sizeof(rows) / sizeof(*(rows)))

static void test_lookup(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    size_t n = 0;
    assert_int_equal(vug_tokenizer_size(t), 23);
    assert_string_equal(vug_tokenizer_token(t, 15, &n), "abc");
    assert_int_equal(n, 3);
    assert_string_equal(vug_tokenizer_token(t, 22, NULL), "<turn>");
    assert_null(vug_tokenizer_token(t, 23, &n));
    assert_int_equal(n, 0);
    assert_null(vug_tokenizer_token(t, -1, NULL));
    for (int32_t id = 0; id < 23; id++)
        assert_int_equal(vug_tokenizer_find(t, vug_tokenizer_token(t, id, NULL)), id);
    assert_int_equal(vug_tokenizer_find(t, "abcd"), -1);
    assert_int_equal(vug_tokenizer_find(t, ""), -1);
    const int32_t *prefix = vug_tokenizer_prefix(t, &n);
    assert_int_equal(n, 1);
    assert_int_equal(prefix[0], 2);
    assert_in_range(vug_tokenizer_memory(t), 500, 200 * 1024);
    vug_tokenizer_close(t);
    vug_tokenizer_close(NULL);
}

/* The bytes of a token: its text, or a single byte. */
static void test_token_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *token, *bytes;
        size_t n;
        bool special;
    } rows[] = {
        { "<0xC3>", "\xc3", 1, false },
        { "\xe2\x96\x81", " ", 1, false },
        { "\n", "\n", 1, false },
        { "<eos>", "<eos>", 5, true },
    };
    vug_tokenizer *t;
    vug_text text;
    vug_err err = { 0 };
    assert_int_equal(vug_tokenizer_open("models/pebble", &t, &err), VUG_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int32_t id = vug_tokenizer_find(t, rows[i].token);
        assert_int_equal(vug_tokenizer_bytes(t, id, &text, &err), VUG_OK);
        assert_int_equal(text.len, rows[i].n);
        assert_string_equal(text.ptr, rows[i].bytes);
        assert_int_equal(vug_tokenizer_is_special(t, id), rows[i].special);
        vug_text_release(&text);
    }
    static const int32_t none[] = { -1, INT32_MAX };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(vug_tokenizer_bytes(t, none[i], &text, &err), VUG_ARGUMENT);
        assert_non_null(strstr(err.msg, "has no text"));
        assert_false(vug_tokenizer_is_special(t, none[i]));
    }
    vug_tokenizer_close(t);
}

static void test_merging(void **state)
{
    (void)state;
    static const tokenizer_row rows[] = {
        { "", NO_IDS },
        { "a", IDS(10) },
        { "abc", IDS(15) },
        { "a b", IDS(10, 9, 11) },
        { " ab", IDS(17) },
        { "  ab", IDS(19, 14) },
        { "   a", IDS(19, 16) },
        { "abcabc", IDS(15, 15) },
        { "abab c", IDS(14, 14, 9, 12) },
        { "a\xe2\x96\x81"
          "b",
          IDS(10, 9, 11) },
    };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    CHECK(t, VUG_ENCODE_PARSE_SPECIAL, rows);
    vug_tokenizer_close(t);
    t = tokenizer_of((tokenizer_parts){
            .merges = "\"#version: 0.2\",\"\\u2581 \\u2581\",\"\\u2581 a\",\"b c\",\"a b\","
                      "\"\\u2581a b\",\"ab c\",\"a bc\"" });
    CHECK(t, VUG_ENCODE_PARSE_SPECIAL, rows);
    vug_tokenizer_close(t);
}

/* The last rank of a pair counts; stale heap entries are recognized by their result. */
static void test_merge_order(void **state)
{
    (void)state;
    static const tokenizer_row first[] = { { "abc", IDS(14, 12) } };
    static const tokenizer_row last[] = { { "abc", IDS(10, 18) } };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ .merges = "[\"a\",\"b\"],[\"b\",\"c\"]" });
    CHECK(t, 0, first);
    vug_tokenizer_close(t);
    t = tokenizer_of((tokenizer_parts){ .merges = "[\"a\",\"b\"],[\"b\",\"c\"],[\"a\",\"b\"]" });
    CHECK(t, 0, last);
    vug_tokenizer_close(t);
    /* Runs of one letter: every pair has the same rank, the leftmost goes first. */
    static const tokenizer_row runs[] = {
        { "aaaaa", IDS(2, 0) },
        { "aaaaaaa", IDS(2, 1, 0) },
        { "aaaaaaaaa", IDS(2, 2, 0) },
    };
    t = tokenizer_of((tokenizer_parts){ .added = "",
                                        .post = "null",
                                        .model = "\"type\":\"BPE\"",
                                        .vocab = "\"a\":0,\"aa\":1,\"aaaa\":2",
                                        .merges = "[\"a\",\"a\"],[\"aa\",\"aa\"]" });
    CHECK(t, 0, runs);
    vug_tokenizer_close(t);
}

static void test_unknown_characters(void **state)
{
    (void)state;
    static const tokenizer_row fused[] = {
        { "xyz", IDS(3) },
        { "axxb", IDS(10, 3, 11) },
        { "\xc3\xa9", IDS(4, 5) },
        { "\xe2\x82\xac", IDS(6, 7, 8) },
        { "\xc3\xa9x\xe2\x82\xac", IDS(4, 5, 6, 7, 8, 3) },
        { "x\xc3\xa9"
          "a",
          IDS(4, 5, 3, 10) },
    };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    CHECK(t, 0, fused);
    vug_tokenizer_close(t);
    static const tokenizer_row separate[] = {
        { "xyz", IDS(3, 3, 3) },
        { "x\xc3\xa9y", IDS(4, 5, 3, 3) },
        { "\xc3\xa9xya", IDS(4, 5, 3, 3, 10) },
    };
    t = tokenizer_of((tokenizer_parts){
            .model = "\"unk_token\":\"<unk>\",\"fuse_unk\":false,\"byte_fallback\":true" });
    CHECK(t, 0, separate);
    vug_tokenizer_close(t);
    static const tokenizer_row no_bytes[] = {
        { "x\xc3\xa9y\xc3\xa9"
          "a",
          IDS(3, 10) },
        { "a\xc3\xa9"
          "b",
          IDS(10, 3, 11) },
    };
    t = tokenizer_of((tokenizer_parts){ .model = "\"unk_token\":\"<unk>\",\"fuse_unk\":true" });
    CHECK(t, 0, no_bytes);
    vug_tokenizer_close(t);
    static const tokenizer_row dropped[] = {
        { "x\xc3\xa9ya", IDS(4, 5, 10) },
        { "zz", NO_IDS },
    };
    t = tokenizer_of((tokenizer_parts){ .model = "\"unk_token\":null,\"byte_fallback\":true" });
    CHECK(t, 0, dropped);
    vug_tokenizer_close(t);
}

/* When a character is dropped, its neighbours become adjacent. */
static void test_dropped_characters(void **state)
{
    (void)state;
    static const tokenizer_row rows[] = {
        { "a\xe2\x96\x81", IDS(2) },
        { "a\xc3\x9f\xe2\x96\x81", IDS(2) },
        { "\xc3\x9f\xe2\x96\x81\xe2\x96\x81", IDS(1, 1) },
    };
    vug_tokenizer *t =
            tokenizer_of((tokenizer_parts){ .added = "",
                                            .post = "null",
                                            .model = "\"type\":\"BPE\"",
                                            .vocab = "\"a\":0,\"\\u2581\":1,\"a\\u2581\":2",
                                            .merges = "[\"a\",\"\\u2581\"]" });
    CHECK(t, 0, rows);
    vug_tokenizer_close(t);
}

static void test_ignore_merges(void **state)
{
    (void)state;
    static const tokenizer_row with[] = {
        { "abc", IDS(15) },
        { "abcabc", IDS(14, 12, 14, 12) },
        { " ab", IDS(17) },
    };
    static const tokenizer_row without[] = { { "abc", IDS(14, 12) }, { " ab", IDS(9, 14) } };
    vug_tokenizer *t = tokenizer_of(
            (tokenizer_parts){ .model = "\"ignore_merges\":true", .merges = "[\"a\",\"b\"]" });
    CHECK(t, 0, with);
    vug_tokenizer_close(t);
    t = tokenizer_of(
            (tokenizer_parts){ .model = "\"ignore_merges\":false", .merges = "[\"a\",\"b\"]" });
    CHECK(t, 0, without);
    vug_tokenizer_close(t);
}

static void test_added_tokens(void **state)
{
    (void)state;
    static const tokenizer_row parsed[] = {
        { "\n", IDS(13) },
        { "\n\n", IDS(20) },
        { "\n\n\n", IDS(20, 13) },
        { "<turn>", IDS(22) },
        { "<tur", IDS(21, 3) },
        { "<t<turn>n>", IDS(21, 22, 3) },
        { "a<bos>b", IDS(10, 2, 11) },
        { "<eos><eos>", IDS(1, 1) },
    };
    /* Nothing that overlaps a special token that stays text is matched. */
    static const tokenizer_row plain[] = {
        { "<turn>", IDS(3) },
        { "<turn", IDS(21, 3) },
        { "a<bos>b", IDS(10, 3, 11, 3, 11) },
        { "<tt>", IDS(21, 3) },
        { "\n\n<pad>", IDS(20, 3, 10, 3) },
    };
    static const tokenizer_row around[] = {
        { "a", IDS(2, 10) },
        { "", IDS(2) },
        { "<bos>a", IDS(2, 2, 10) },
    };
    static const tokenizer_row missing[] = {
        { "a", IDS(2, 10) },
        { "", IDS(2) },
        { "<bos>a", IDS(2, 10) },
        { "<bos>", IDS(2) },
        { "<bos><bos>a", IDS(2, 2, 10) },
    };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    CHECK(t, VUG_ENCODE_PARSE_SPECIAL, parsed);
    CHECK(t, VUG_ENCODE_PLAIN, plain);
    CHECK(t, VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_SPECIAL, around);
    CHECK(t, VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_MISSING, missing);
    vug_tokenizer_close(t);
}

#define TOKEN(id, content, lstrip, rstrip, normalized)                                    \
    "{\"id\":" id ",\"content\":\"" content "\",\"single_word\":false,\"lstrip\":" lstrip \
    ",\"rstrip\":" rstrip ",\"normalized\":" normalized ",\"special\":false}"

static void test_added_token_flags(void **state)
{
    (void)state;
    static const tokenizer_row rows[] = {
        { "a <l>b", IDS(10, 20, 11) },
        { "a \n\xe3\x80\x80<l> b", IDS(10, 20, 9, 11) },
        { "a<r> \tb", IDS(10, 21, 11) },
        { "<r>  <l>", IDS(21, 20) },
        { "<r> <r> <l><l>", IDS(21, 21, 20, 20) },
        { "aa bb", IDS(10, 22, 11) },
        { "a\xe2\x96\x81"
          "b",
          IDS(22) }, /* found after the normalizer */
        { "a \tb", IDS(10, 24, 11) },
        { "a<r> \tb", IDS(10, 21, 11) }, /* <r> has taken the tab */
        { "<r>\rb", IDS(21, 25, 11) },   /* a token without lstrip can still match */
        { "<r> \r b", IDS(21, 25, 9, 11) },
        { "c c", IDS(23) },
        { "c\xe2\x96\x81"
          "c",
          IDS(12, 9, 12) }, /* not normalized: no match */
    };
    /* clang-format off */
    static const char added[] =
        TOKEN("20", "<l>", "true", "false", "false") "," TOKEN("21", "<r>", "false", "true", "false")
        "," TOKEN("22", "a b", "false", "false", "true")
        "," TOKEN("23", "c c", "false", "false", "false")
        "," TOKEN("24", "\\t", "true", "false", "false")
        "," TOKEN("25", "\\r", "false", "false", "false");
    /* clang-format on */
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ .added = added });
    CHECK(t, 0, rows);
    vug_tokenizer_close(t);
    /* BPE does not find an added token outside the model's vocabulary. */
    static const tokenizer_row outside[] = { { "xa", IDS(3, 10) }, { "x", IDS(3) } };
    t = tokenizer_of(
            (tokenizer_parts){ .added = "{\"id\":20,\"content\":\"x\",\"special\":true}" });
    CHECK(t, VUG_ENCODE_PLAIN, outside);
    vug_tokenizer_close(t);
}

#define SPACES "\"a\":0,\"b\":1,\" \":2,\"a \":3,\" a\":4,\"  \":5,\"b \":6,\" b\":7,\"a b\":8"
#define SPACE_MERGES \
    "[\" \",\" \"],[\" \",\"a\"],[\" \",\"b\"],[\"a\",\" \"],[\"b\",\" \"],[\"a\",\" b\"]"

static void test_pre_tokenizer(void **state)
{
    (void)state;
    static const tokenizer_row split[] = {
        { "a b", IDS(3, 1) },      { "a  b", IDS(3, 2, 1) }, { " a", IDS(2, 0) },
        { " a b ", IDS(2, 3, 6) }, { "   ", IDS(2, 2, 2) },  { "b a", IDS(6, 0) },
    };
    static const tokenizer_row whole[] = {
        { "a b", IDS(8) },         { "a  b", IDS(0, 5, 1) }, { " a", IDS(4) },
        { " a b ", IDS(4, 7, 2) }, { "   ", IDS(5, 2) },     { "b a", IDS(1, 4) },
    };
    tokenizer_parts parts = { .added = "",
                              .normalizer = "null",
                              .post = "null",
                              .model = "\"type\":\"BPE\"",
                              .vocab = SPACES,
                              .merges = SPACE_MERGES };
    vug_tokenizer *t = tokenizer_of(parts);
    CHECK(t, 0, split);
    vug_tokenizer_close(t);
    parts.pre = "null";
    t = tokenizer_of(parts);
    CHECK(t, 0, whole);
    vug_tokenizer_close(t);
}

static void test_normalizer(void **state)
{
    (void)state;
    static const tokenizer_row rows[] = {
        { "", NO_IDS },
        { "a", IDS(16) },
        { "ab c", IDS(17, 9, 12) },
        { " a", IDS(19, 10) },
        { "<bos>a", IDS(2, 16) },
        { "a<turn>a", IDS(16, 22, 16) }, /* in front of each part */
        { "  a", IDS(19, 16) },
    };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){
            .normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\","
                          "\"prepend\":\"\\u2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":"
                          "\" \"},\"content\":\"\\u2581\"}]}",
            .decoder = "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{"
                       "\"String\":\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{"
                       "\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,"
                       "\"stop\":0}]}" });
    CHECK(t, VUG_ENCODE_PARSE_SPECIAL, rows);
    /* The prefix is removed once from the text, not from each token. */
    static const int32_t id[] = { 17, 9, 12 };
    tokenizer_check_decode(t, id, 3, false, "ab c", 4);
    static const int32_t two[] = { 19, 16 };
    tokenizer_check_decode(t, two, 2, false, "  a", 3);
    static const int32_t later[] = { 10, 16 };
    tokenizer_check_decode(t, later, 2, false, "a a", 3);
    vug_tokenizer_close(t);
    static const tokenizer_row longer[] = { { "bxbx", IDS(14, 14, 10) } };
    t = tokenizer_of((tokenizer_parts){
            .normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\","
                          "\"pattern\":{\"String\":\"bx\"},\"content\":\"aba\"},{\"type\":"
                          "\"Replace\",\"pattern\":{\"String\":\"aa\"},\"content\":\"a\"}]}" });
    CHECK(t, 0, longer);
    vug_tokenizer_close(t);
}

static void test_invalid_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text, *same;
    } row[] = {
        { "\xff", "\xef\xbf\xbd" },
        { "a\xc3", "a\xef\xbf\xbd" },
        { "\xe2\x82"
          "b",
          "\xef\xbf\xbd"
          "b" },
        { "\xe2\x82\xe2\x82\xac\x80", "\xef\xbf\xbd\xe2\x82\xac\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "<tu\xf0rn>", "<tu\xef\xbf\xbdrn>" },
    };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){
            .model = "\"unk_token\":\"<unk>\",\"fuse_unk\":false,\"byte_fallback\":true" });
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        vug_tokens a = { 0 }, b = { 0 };
        assert_int_equal(vug_tokenizer_encode(t, row[i].text, strlen(row[i].text), 1, &a, NULL),
                         VUG_OK);
        assert_int_equal(vug_tokenizer_encode(t, row[i].same, strlen(row[i].same), 1, &b, NULL),
                         VUG_OK);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.id, b.id, a.n * sizeof(*a.id));
        vug_tokens_release(&a);
        vug_tokens_release(&b);
    }
    vug_tokens none = { 0 };
    assert_int_equal(vug_tokenizer_encode(t, NULL, 0, 0, &none, NULL), VUG_OK);
    assert_int_equal(none.n, 0);
    vug_tokens_release(&none);
    vug_tokenizer_close(t);
}

static void test_decode(void **state)
{
    (void)state;
    static const struct {
        int32_t id[TOKENIZER_MAX_IDS + 1];
        bool skip;
        const char *text;
    } row[] = {
        { NO_IDS, false, "" },
        { IDS(17, 9, 12), false, " ab c" },
        { IDS(2, 10, 22, 20, 1), false, "<bos>a<turn>\n\n<eos>" },
        { IDS(2, 10, 22, 20, 1, 21), true, "a\n\n<t" },
        { IDS(4, 5, 6, 7, 8), false, "\xc3\xa9\xe2\x82\xac" },
        { IDS(10, 6, 7), false, "a\xef\xbf\xbd" }, /* never completed */
        { IDS(6, 10), false,
          "\xef\xbf\xbd"
          "a" },                                                /* followed by another character */
        { IDS(6, 6, 7, 8), false, "\xef\xbf\xbd\xe2\x82\xac" }, /* begun again */
        { IDS(5, 10, 8), false,
          "\xef\xbf\xbd"
          "a\xef\xbf\xbd" },                /* nothing begun */
        { IDS(4, 2, 5), true, "\xc3\xa9" }, /* a skipped one between */
    };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        size_t n = 0;
        while (row[i].id[n] >= 0)
            n++;
        tokenizer_check_decode(t, row[i].id, n, row[i].skip, row[i].text, strlen(row[i].text));
    }
    vug_text text = { 0 };
    vug_err err;
    static const int32_t bad[] = { 10, 23 };
    assert_int_equal(vug_tokenizer_decode(t, bad, 2, false, &text, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "token 23 is not in the vocabulary of 23");
    assert_int_equal(vug_tokenizer_decode(t, &(int32_t){ -1 }, 1, false, &text, NULL),
                     VUG_ARGUMENT);
    vug_tokenizer_close(t);
}

static void test_decoders(void **state)
{
    (void)state;
    static const int32_t id[] = { 9, 10, 4, 5, 9 };
    static const struct {
        const char *decoder, *text;
    } row[] = {
        { "null", "\xe2\x96\x81 a <0xC3> <0xA9> \xe2\x96\x81" }, /* joined by spaces */
        { "{\"type\":\"Fuse\"}", "\xe2\x96\x81"
                                 "a<0xC3><0xA9>\xe2\x96\x81" },
        { "{\"type\":\"ByteFallback\"}", "\xe2\x96\x81"
                                         "a\xc3\xa9\xe2\x96\x81" },
        { "{\"type\":\"Replace\",\"pattern\":{\"String\":\"C3\"},\"content\":\"A9\"}",
          "\xe2\x96\x81"
          "a<0xA9><0xA9>\xe2\x96\x81" },
        { "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Strip\",\"content\":\"\\u2581\","
          "\"start\":1,\"stop\":0},{\"type\":\"Strip\",\"content\":\">\",\"start\":0,\"stop\":1}]}",
          "a<0xC3<0xA9" },
        { "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"Strip\","
          "\"content\":\"\\u2581\",\"start\":2,\"stop\":2}]}",
          "a<0xC3><0xA9>" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        vug_tokenizer *t = tokenizer_of((tokenizer_parts){ .decoder = row[i].decoder });
        tokenizer_check_decode(t, id, 5, false, row[i].text, strlen(row[i].text));
        vug_tokenizer_close(t);
    }
    /* At most two are removed at the end; a stream holds them back until then. */
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ .decoder = row[5].decoder });
    static const int32_t many[] = { 9, 9, 9, 10, 9, 9, 9, 11, 9, 9, 9, 9 };
    static const char want[] = "\xe2\x96\x81"
                               "a\xe2\x96\x81\xe2\x96\x81\xe2\x96\x81"
                               "b\xe2\x96\x81\xe2\x96\x81";
    tokenizer_check_decode(t, many, 12, false, want, sizeof(want) - 1);
    vug_tokenizer_close(t);
}

/* A finished decoder can be reused, and a failure leaves it usable. */
static void test_streaming_decoder(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    vug_decoder *d = NULL;
    const char *piece = NULL;
    size_t n = 9;
    assert_int_equal(vug_decoder_create(t, false, &d, NULL), VUG_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(vug_decoder_push(d, 6, &piece, &n, NULL), VUG_OK);
        assert_int_equal(n, 0);
        assert_int_equal(vug_decoder_push(d, 99, &piece, &n, NULL), VUG_ARGUMENT);
        assert_int_equal(vug_decoder_push(d, 7, &piece, &n, NULL), VUG_OK);
        assert_int_equal(n, 0);
        assert_int_equal(vug_decoder_push(d, 8, &piece, &n, NULL), VUG_OK);
        assert_int_equal(n, 3);
        assert_memory_equal(piece, "\xe2\x82\xac", 3);
        assert_int_equal(vug_decoder_push(d, 4, &piece, &n, NULL), VUG_OK);
        assert_int_equal(vug_decoder_finish(d, &piece, &n, NULL), VUG_OK);
        assert_int_equal(n, 3);
        assert_memory_equal(piece, "\xef\xbf\xbd", 3);
    }
    assert_int_equal(vug_decoder_finish(d, &piece, &n, NULL), VUG_OK);
    assert_int_equal(n, 0);
    vug_decoder_destroy(d);
    vug_decoder_destroy(NULL);
    /* For any ids the streamed parts add up to the whole text. */
    uint32_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        int32_t id[12];
        for (size_t i = 0; i < 12; i++) {
            seed = seed * 1664525u + 1013904223u;
            id[i] = (int32_t)((seed >> 16) % 23);
        }
        vug_text whole = { 0 };
        assert_int_equal(vug_tokenizer_decode(t, id, 12, round & 1, &whole, NULL), VUG_OK);
        tokenizer_check_decode(t, id, 12, round & 1, whole.ptr, whole.len);
        vug_text_release(&whole);
    }
    vug_tokenizer_close(t);
}

/* A megabyte is one word: quadratic work would not end here. */
static void test_long_texts_are_linear(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    char *text = vug_alloc(N, 1);
    assert_non_null(text);
    static const struct {
        char letter;
        size_t n;
    } row[] = {
        { ' ', N / 2 }, { 'a', N }, { '\n', N / 2 }, { 'x', 1 }, { '<', 1 }, { '\xff', 1 }
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        vug_tokens ids = { 0 };
        memset(text, row[i].letter, N);
        assert_int_equal(vug_tokenizer_encode(t, text, N, 0, &ids, NULL), VUG_OK);
        assert_int_equal(ids.n, row[i].n);
        vug_tokens_release(&ids);
    }
    vug_tokenizer_close(t);
    /* Every space is a token that includes the whitespace behind it. */
    vug_tokens ids = { 0 };
    t = tokenizer_of((tokenizer_parts){ .added = TOKEN("20", " ", "false", "true", "false") });
    memset(text, ' ', N);
    assert_int_equal(vug_tokenizer_encode(t, text, N, 0, &ids, NULL), VUG_OK);
    assert_int_equal(ids.n, N);
    vug_tokens_release(&ids);
    vug_tokenizer_close(t);
    vug_free(text);
    vug_err err;
    assert_int_equal(vug_tokenizer_encode(t, "", VUG_ENCODE_MAX_BYTES + 1, 0, &ids, &err),
                     VUG_LIMIT);
    assert_non_null(strstr(err.msg, "67108865 bytes"));
}

static void test_open(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_text json = tokenizer_json((tokenizer_parts){ 0 });
    vug_tokenizer *t = NULL;
    vug_err err;
    assert_int_equal(vug_tokenizer_open(dir.path, &t, &err), VUG_IO);
    assert_non_null(strstr(err.msg, "tokenizer.json"));
    scratch_write(&dir, "tokenizer.json", json.ptr, json.len);
    assert_int_equal(vug_tokenizer_open(dir.path, &t, &err), VUG_OK);
    assert_int_equal(vug_tokenizer_size(t), 23);
    vug_tokenizer_close(t);
    t = NULL;
    scratch_write(&dir, "other", json.ptr, json.len);
    assert_int_equal(vug_tokenizer_open(scratch_at(&dir, "other").path, &t, &err), VUG_OK);
    vug_tokenizer_close(t);
    t = NULL;
    scratch_write(&dir, "other", json.ptr, json.len / 2);
    assert_int_equal(vug_tokenizer_open(scratch_at(&dir, "other").path, &t, &err), VUG_FORMAT);
    assert_non_null(strstr(err.msg, "/other: line "));
    scratch_write(&dir, "other", "", 0);
    assert_int_equal(vug_tokenizer_open(scratch_at(&dir, "other").path, &t, &err), VUG_FORMAT);
    assert_null(t);
    vug_text_release(&json);
    scratch_remove(&dir);
}

/* ---- the real tokenizer -------------------------------------------------- */

static void test_gemma3_golden_texts(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_gemma3();
    tokenizer_check_golden(t);
    vug_tokenizer_close(t);
}

static void test_gemma3_ids(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_gemma3();
    size_t n = 0;
    assert_int_equal(vug_tokenizer_size(t), 262145);
    assert_int_equal(vug_tokenizer_prefix(t, &n)[0], vug_tokenizer_find(t, "<bos>"));
    assert_int_equal(vug_tokenizer_find(t, "<start_of_turn>"), 105);
    assert_int_equal(vug_tokenizer_find(t, "<end_of_turn>"), 106);
    assert_int_equal(vug_tokenizer_find(t, "<image_soft_token>"), 262144);
    /* Random ids decode to the same text at once and in a stream. */
    uint32_t seed = 3;
    for (int round = 0; round < 300; round++) {
        int32_t id[40];
        for (size_t i = 0; i < 40; i++) {
            seed = seed * 1664525u + 1013904223u;
            id[i] = (int32_t)((seed >> 8) % (i % 3 ? 262145 : 600));
        }
        vug_text whole = { 0 };
        assert_int_equal(vug_tokenizer_decode(t, id, 40, false, &whole, NULL), VUG_OK);
        tokenizer_check_decode(t, id, 40, false, whole.ptr, whole.len);
        vug_text_release(&whole);
    }
    vug_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_token_bytes),
        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_merge_order),
        cmocka_unit_test(test_unknown_characters),
        cmocka_unit_test(test_ignore_merges),
        cmocka_unit_test(test_dropped_characters),
        cmocka_unit_test(test_added_tokens),
        cmocka_unit_test(test_added_token_flags),
        cmocka_unit_test(test_pre_tokenizer),
        cmocka_unit_test(test_normalizer),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_streaming_decoder),
        cmocka_unit_test(test_long_texts_are_linear),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_gemma3_golden_texts),
        cmocka_unit_test(test_gemma3_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
