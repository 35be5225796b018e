

#include "test.h"

#include "text/text.h"
#include "text/tokenizer/hash_index.h"
#include "text/tokenizer/vocab.h"
#include "tokenizer_help.h"

/* Malformed, unsupported and damaged tokenizer.json files. */

typedef struct {
    tokenizer_parts parts;
    vug_status code;
    const char *message; /* a part of it */
} bad_row;

static void check(const bad_row *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vug_tokenizer *t = NULL;
        vug_err err = { 0 };
        const vug_status st = tokenizer_try(row[i].parts, &t, &err);
        if (st != row[i].code || !strstr(err.msg, row[i].message))
            fail_msg("%s: \"%s\", expected %s: \"%s\"", vug_status_text(st), err.msg,
                     vug_status_text(row[i].code), row[i].message);
        assert_memory_equal(err.msg, "t.json: ", 8);
        assert_int_equal(err.code, st);
        assert_null(t);
    }
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof(*(rows)))

static void test_model_errors(void **state)
{
    (void)state;
    static const bad_row rows[] = {
        { { .model = "\"type\":\"Unigram\"" },
          VUG_UNSUPPORTED,
          "line 13, column 17: tokenizer model type Unigram is not supported: no supported family "
          "uses it" },
        { { .model = "\"vocab\":[[\"a\",0]]" },
          VUG_UNSUPPORTED,
          "tokenizer model type Unigram is not supported" },
        { { .model = "\"type\":\"WordPiece\"" },
          VUG_UNSUPPORTED,
          "tokenizer model type WordPiece is not supported: no supported family uses it" },
        { { .model = "\"dropout\":0.1" }, VUG_UNSUPPORTED, "\"dropout\" is not supported" },
        { { .model = "\"end_of_word_suffix\":\"</w>\"" },
          VUG_UNSUPPORTED,
          "\"end_of_word_suffix\" is not supported" },
        { { .model = "\"continuing_subword_prefix\":\"##\"" },
          VUG_UNSUPPORTED,
          "\"continuing_subword_prefix\" is not supported" },
        { { .model = "\"unk_token\":\"<no>\"" },
          VUG_FORMAT,
          "the unk_token \"<no>\" is not in the vocabulary" },
        { { .model = "\"unk_token\":7" }, VUG_FORMAT, "expected a string, found a number" },
        { { .model = "\"fuse_unk\":1" }, VUG_FORMAT, "expected true or false, found a number" },
        { { .model = "\"vocab\":{}" }, VUG_FORMAT, "a second \"vocab\"" },
        { { .model = "\"merges\":[],\"x\":1" }, VUG_FORMAT, "a second \"merges\"" },
    };
    CHECK(rows);
    static const struct {
        const char *json, *message;
    } whole[] = {
        { "", "line 1, column 1: expected an object, found the end" },
        { "[]", "expected an object, found an array" },
        { "{}", "lacks its \"model\"" },
        { "{\"model\":null}", "expected an object, found null" },
        { "{\"model\":{}}", "lacks its \"vocab\"" },
        { "{\"model\":{\"vocab\":{\"a\":0}}}", "lacks its \"merges\"" },
        { "{\"model\":{\"merges\":[]}}", "lacks its \"vocab\"" },
        { "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}} x", "expected the end, found 'x'" },
        { "{\"model\":{\"vocab\":{},\"merges\":[]},\"model\":{}}", "a second \"model\"" },
        { "{\"decoder\":null,\"decoder\":null}", "a second \"decoder\"" },
        { "{\"normalizer\":{\"type\":\"NFC\",\"type\":\"NFC\"}}", "has the key \"type\" twice" },
    };
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
        vug_tokenizer *t = NULL;
        vug_err err = { 0 };
        assert_int_equal(vug_tokenizer_from_json(vug_str_of(whole[i].json), "t.json", &t, &err),
                         VUG_FORMAT);
        if (!strstr(err.msg, whole[i].message))
            fail_msg("%s", err.msg);
    }
    /* An empty model is valid; the order of members is free. */
    static const char *const fine[] = {
        "{\"model\":{\"vocab\":{},\"merges\":[]}}",
        "{\"model\":{\"merges\":[[\"a\",\"b\"]],\"vocab\":{\"ab\":0,\"b\":1,\"a\":2},\"x\":[]}}",
    };
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
        vug_tokenizer *t = NULL;
        vug_tokens ids = { 0 };
        assert_int_equal(vug_tokenizer_from_json(vug_str_of(fine[i]), "t.json", &t, NULL), VUG_OK);
        assert_int_equal(vug_tokenizer_encode(t, "ab", 2, 0, &ids, NULL), VUG_OK);
        assert_int_equal(ids.n, i);
        vug_tokens_release(&ids);
        vug_tokenizer_close(t);
    }
}

static void test_vocab_errors(void **state)
{
    (void)state;
    static const bad_row rows[] = {
        { { .vocab = "\"<unk>\":0,\n\"a\":1,\"b\":1" },
          VUG_FORMAT,
          "line 17, column 12: id 1 already belongs to \"a\"" },
        { { .vocab = "\"<unk>\":0,\"a\":1,\"b\":2,\"a\":3" },
          VUG_FORMAT,
          "the vocabulary that ends here has the token \"a\" twice" },
        { { .vocab = "\"a\":-1" }, VUG_FORMAT, "expected a whole number from 0 to 16777213" },
        { { .vocab = "\"a\":16777214" }, VUG_FORMAT, "expected a whole number from 0 to 16777213" },
        { { .vocab = "\"a\":1.5" }, VUG_FORMAT, "found 1.5" },
        { { .vocab = "\"a\":\"1\"" }, VUG_FORMAT, "expected a number, found a string" },
        { { .vocab = "\"a\":1e400" }, VUG_FORMAT, "found 1e400" },
    };
    CHECK(rows);
    vug_buf long_token = { 0 };
    vug_buf_puts(&long_token, "\"");
    for (int i = 0; i <= VUG_TOKEN_MAX_BYTES; i++)
        vug_buf_puts(&long_token, "a");
    vug_buf_puts(&long_token, "\":0");
    const bad_row length = { { .vocab = long_token.ptr },
                             VUG_LIMIT,
                             "a token of 65536 bytes, at most 65535 are allowed" };
    check(&length, 1);
    vug_buf_release(&long_token);
}

static void test_merge_errors(void **state)
{
    (void)state;
    static const bad_row rows[] = {
        { { .merges = "[\"a\",\"b\"],\n[\"a\",\"zz\"]" },
          VUG_FORMAT,
          "line 21, column 1: merge 1: \"zz\" is not in the vocabulary" },
        { { .merges = "[\"zz\",\"b\"]" }, VUG_FORMAT, "merge 0: \"zz\" is not in the vocabulary" },
        { { .merges = "[\"c\",\"a\"]" },
          VUG_FORMAT,
          "merge 0: \"c\" and \"a\" do not join to a token of the vocabulary" },
        { { .merges = "[\"a\"]" }, VUG_FORMAT, "a merge is not a pair of strings" },
        { { .merges = "[]" }, VUG_FORMAT, "a merge is not a pair of strings" },
        { { .merges = "[\"a\",\"b\",\"c\"]" }, VUG_FORMAT, "a merge is not a pair of strings" },
        { { .merges = "[\"a\",1]" }, VUG_FORMAT, "expected a string, found a number" },
        { { .merges = "\"ab\"" }, VUG_FORMAT, "not two tokens separated by one space" },
        { { .merges = "\"a b c\"" }, VUG_FORMAT, "not two tokens separated by one space" },
        { { .merges = "\"\"" }, VUG_FORMAT, "not two tokens separated by one space" },
        { { .merges = "\" a\"" }, VUG_FORMAT, "\"\" is not in the vocabulary" },
        { { .merges = "7" }, VUG_FORMAT, "expected a string, found a number" },
    };
    CHECK(rows);
}

#define ADDED(rest)           \
    {                         \
        .added = "{" rest "}" \
    }

static void test_added_token_errors(void **state)
{
    (void)state;
    static const bad_row rows[] = {
        { ADDED("\"content\":\"x\""), VUG_FORMAT, "an added token lacks its id or its content" },
        { ADDED("\"id\":20"), VUG_FORMAT, "an added token lacks its id or its content" },
        { ADDED("\"id\":20,\"content\":\"\""), VUG_FORMAT, "lacks its id or its content" },
        { ADDED("\"id\":10,\"content\":\"x\""), VUG_FORMAT,
          "the added token \"x\" has id 10, which belongs to \"a\"" },
        { ADDED("\"id\":20,\"content\":\"a\""), VUG_FORMAT,
          "the added token \"a\" has id 20, the vocabulary gives it 10" },
        { ADDED("\"id\":20,\"content\":\"x\"},{\"id\":21,\"content\":\"x\""), VUG_FORMAT,
          "the added token \"x\" is declared twice" },
        { ADDED("\"id\":20,\"content\":\"x\"},{\"id\":20,\"content\":\"y\""), VUG_FORMAT,
          "the added token \"y\" has id 20, which belongs to \"x\"" },
        { ADDED("\"id\":20,\"content\":\"x\",\"single_word\":1"), VUG_FORMAT,
          "expected true or false, found a number" },
        { ADDED("\"id\":20,\"content\":\"x\",\"special\":1"), VUG_FORMAT,
          "expected true or false, found a number" },
        { ADDED("\"id\":16777214,\"content\":\"x\""), VUG_FORMAT, "from 0 to 16777213" },
    };
    CHECK(rows);
    char text[400];
    char content[257];
    memset(content, 'x', sizeof(content));
    (void)snprintf(text, sizeof(text), "{\"id\":20,\"content\":\"%.*s\"}", (int)sizeof(content),
                   content);
    const bad_row length = { { .added = text },
                             VUG_LIMIT,
                             "an added token of 257 bytes, at most 256 are allowed" };
    check(&length, 1);
}

#define REPLACE(from, to) "{\"type\":\"Replace\",\"pattern\":{" from "},\"content\":" to "}"
#define SPLIT(rest)       "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"}," rest "}"
#define METASPACE(mark, scheme) \
    "{\"type\":\"Metaspace\",\"replacement\":" mark ",\"prepend_scheme\":\"" scheme "\"}"
#define DECODERS(list) "{\"type\":\"Sequence\",\"decoders\":[" list "]}"
#define STRIP          "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}"
#define FUSE           "{\"type\":\"Fuse\"}"
#define BYTES          "{\"type\":\"ByteFallback\"}"
#define RENAME         "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"b\"}"
#define TEMPLATE(single)                                  \
    "{\"type\":\"TemplateProcessing\",\"single\":" single \
    ",\"special_tokens\":{\"B\":{\"ids\":[2]},\"far\":{\"ids\":[99]},\"no\":{}}}"
#define SEQUENCE "{\"Sequence\":{\"id\":\"A\"}}"

static const bad_row components[] = {
    { { .normalizer = "{\"type\":\"Nmt\"}" },
      VUG_UNSUPPORTED,
      "line 9, column 14: the normalizer \"Nmt\" is not supported" },
    { { .normalizer = "{}" }, VUG_FORMAT, "the normalizer is not an object with a \"type\"" },
    { { .normalizer = "[]" }, VUG_FORMAT, "the normalizer is not an object with a \"type\"" },
    { { .normalizer = "{\"type\":\"Sequence\"}" }, VUG_FORMAT, "its list \"normalizers\"" },
    { { .normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"BertNormalizer\"}]}" },
      VUG_UNSUPPORTED,
      "the normalizer \"BertNormalizer\" is not supported" },
    { { .normalizer = REPLACE("\"Regex\":\"(a)\\\\1\"", "\"\"") },
      VUG_UNSUPPORTED,
      "normalizer Replace: the regular expression \"(a)\\1\" is not supported: a backslash "
      "before this letter or digit (byte 3)" },
    { { .normalizer = REPLACE("\"Regex\":\"(a\"", "\"\"") },
      VUG_UNSUPPORTED,
      "is not supported: missing closing parenthesis" },
    { { .normalizer = REPLACE("\"Regex\":1", "\"\"") }, VUG_FORMAT, "\"Regex\" is not a string" },
    { { .normalizer = "{\"type\":\"Strip\",\"strip_left\":1}" },
      VUG_FORMAT,
      "normalizer Strip: \"strip_left\" is neither true nor false" },
    { { .normalizer = REPLACE("\"String\":\"\"", "\"\"") }, VUG_FORMAT, "pattern is empty" },
    { { .normalizer = REPLACE("", "\"\"") }, VUG_FORMAT, "\"String\" is not a string of at most" },
    { { .normalizer = REPLACE("\"String\":\"a\"", "null") }, VUG_FORMAT, "\"content\" is no" },
    { { .normalizer = "{\"type\":\"Prepend\"}" }, VUG_FORMAT, "\"prepend\" is not a string" },
    { { .pre = "{\"type\":\"UnicodeScripts\"}" },
      VUG_UNSUPPORTED,
      "the pre-tokenizer \"UnicodeScripts\" is not supported" },
    { { .pre = SPLIT("\"behavior\":\"Joined\",\"invert\":false") },
      VUG_UNSUPPORTED,
      "pre-tokenizer Split with the behavior \"Joined\" is not supported" },
    { { .pre = SPLIT("\"behavior\":\"Isolated\",\"invert\":0") },
      VUG_FORMAT,
      "pre-tokenizer Split: \"invert\" is neither true nor false" },
    { { .pre = METASPACE("\"ab\"", "always") }, VUG_FORMAT, "is not a single character" },
    { { .pre = METASPACE("\"_\"", "last") },
      VUG_UNSUPPORTED,
      "pre-tokenizer Metaspace with the prepend_scheme \"last\" is not supported" },
    { { .pre = "{\"type\":\"BertPreTokenizer\"}" },
      VUG_UNSUPPORTED,
      "the pre-tokenizer \"BertPreTokenizer\" is not supported" },
    { { .pre = SPLIT("\"invert\":false") }, VUG_FORMAT, "\"behavior\" is not a string" },
    { { .post = "{\"type\":\"Other\"}" },
      VUG_UNSUPPORTED,
      "the post-processor \"Other\" is not supported" },
    { { .post = "{\"type\":\"RobertaProcessing\",\"cls\":[\"a\",10],\"sep\":[\"a\",99]}" },
      VUG_UNSUPPORTED,
      "the post-processor \"RobertaProcessing\" is not supported" },
    { { .post = TEMPLATE("null") }, VUG_FORMAT, "lacks \"single\"" },
    { { .post = TEMPLATE("[]") }, VUG_FORMAT, "has the Sequence A 0 times" },
    { { .post = TEMPLATE("[" SEQUENCE "," SEQUENCE "]") }, VUG_FORMAT, "Sequence A 2 times" },
    { { .post = TEMPLATE("[{\"Sequence\":{\"id\":\"B\"}}]") }, VUG_FORMAT, "neither a Special" },
    { { .post = TEMPLATE("[{\"SpecialToken\":{\"id\":\"x\"}}," SEQUENCE "]") },
      VUG_FORMAT,
      "no \"ids\" for \"x\"" },
    { { .post = TEMPLATE("[{\"SpecialToken\":{\"id\":\"no\"}}," SEQUENCE "]") },
      VUG_FORMAT,
      "no \"ids\" for \"no\"" },
    { { .post = TEMPLATE("[{\"SpecialToken\":{\"id\":\"far\"}}," SEQUENCE "]") },
      VUG_FORMAT,
      "the post-processor adds id 99, which is not a token" },
    { { .decoder = "{\"type\":\"WordPiece\"}" },
      VUG_UNSUPPORTED,
      "the decoder \"WordPiece\" is not supported" },
    { { .decoder = DECODERS(FUSE "," RENAME) },
      VUG_UNSUPPORTED,
      "decoder Replace after ByteFallback, ByteLevel or Fuse is not supported" },
    { { .decoder = DECODERS(BYTES "," RENAME) },
      VUG_UNSUPPORTED,
      "decoder Replace after ByteFallback, ByteLevel or Fuse is not supported" },
    { { .decoder = DECODERS(FUSE ",{\"type\":\"ByteLevel\"}") },
      VUG_UNSUPPORTED,
      "decoder ByteLevel after ByteFallback, ByteLevel or Fuse is not supported" },
    { { .decoder = DECODERS(FUSE "," BYTES) },
      VUG_UNSUPPORTED,
      "decoder ByteFallback after Fuse is not supported" },
    { { .decoder = DECODERS(BYTES "," STRIP) },
      VUG_UNSUPPORTED,
      "decoder Strip between ByteFallback and Fuse is not supported" },
    { { .decoder = DECODERS(FUSE "," STRIP "," STRIP) },
      VUG_UNSUPPORTED,
      "more than one decoder Strip after Fuse is not supported" },
    { { .decoder = "{\"type\":\"Strip\",\"content\":\"ab\",\"start\":1,\"stop\":0}" },
      VUG_FORMAT,
      "\"content\" is not a single character" },
    { { .decoder = "{\"type\":\"Strip\",\"content\":\"a\",\"start\":-1,\"stop\":0}" },
      VUG_FORMAT,
      "\"start\" is not a count" },
};

static void test_component_errors(void **state)
{
    (void)state;
    CHECK(components);
    vug_buf many = { 0 };
    vug_buf_puts(&many, "{\"type\":\"Sequence\",\"decoders\":[" RENAME);
    for (int i = 0; i < 16; i++)
        vug_buf_puts(&many, "," RENAME);
    vug_buf_puts(&many, "]}");
    const bad_row too_many = { { .decoder = many.ptr },
                               VUG_LIMIT,
                               "more than 16 steps in the decoder" };
    check(&too_many, 1);
    vug_buf_release(&many);
}

/* Tokens whose hashes all lead to the same few slots of the index. */
static void test_hash_collisions_are_refused(void **state)
{
    (void)state;
    enum { N = 3000 };
    vug_buf vocab = { 0 };
    int found = 0;
    for (unsigned i = 0; found < N; i++) {
        char text[16];
        const int n = snprintf(text, sizeof(text), "%u", i);
        if (vug_hash_bytes(text, (size_t)n) >> 56 == 0)
            vug_buf_printf(&vocab, "%s\"%s\":%d", found ? "," : "", text, found), found++;
    }
    const bad_row row = { { .vocab = vocab.ptr }, VUG_LIMIT, "too many hash collisions" };
    check(&row, 1);
    vug_buf_release(&vocab);
}

static void test_hash_index(void **state)
{
    (void)state;
    enum { N = 5000 };
    vug_hash_index index = { 0 };
    assert_true(vug_hash_index_init(&index, N));
    for (uint32_t i = 0; i < N; i++) {
        vug_hash_probe p = vug_hash_probe_start(&index, vug_hash_pair(i, i * 7));
        while (vug_hash_probe_next(&p))
            assert_true(p.entry < i);
        assert_true(vug_hash_probe_insert(&index, &p, i));
    }
    for (uint32_t i = 0; i < N; i++) {
        bool found = false;
        for (vug_hash_probe p = vug_hash_probe_start(&index, vug_hash_pair(i, i * 7));
             vug_hash_probe_next(&p);)
            found = found || p.entry == i;
        assert_true(found);
    }
    /* The order in a pair matters, and so does every byte of a text. */
    assert_true(vug_hash_pair(1, 2) != vug_hash_pair(2, 1));
    char text[40] = { 0 };
    for (size_t n = 0; n <= sizeof(text); n++) {
        const uint64_t hash = vug_hash_bytes(text, n);
        for (size_t i = 0; i < n; i++) {
            text[i] = 1;
            assert_true(vug_hash_bytes(text, n) != hash);
            text[i] = 0;
        }
        assert_true(n == 0 || vug_hash_bytes(text, n - 1) != hash);
    }
    vug_hash_index_release(&index);
}

/* Any bytes give a working tokenizer or an error message. */
static vug_status try_bytes(const char *bytes, size_t n)
{
    /* An exact copy, so that the sanitizer sees reads beyond its end. */
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    vug_tokenizer *t = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_tokenizer_from_json((vug_str){ copy, n }, "t.json", &t, &err);
    free(copy);
    if (st != VUG_OK) {
        assert_true(err.msg[0] != '\0' && err.code == st && !t);
        return st;
    }
    static const char text[] = "a  abc<turn>\n\n\xc3\xa9 <t";
    vug_tokens ids = { 0 };
    vug_text back = { 0 };
    assert_int_equal(vug_tokenizer_encode(t, text, sizeof(text) - 1, 3, &ids, NULL), VUG_OK);
    for (size_t i = 0; i < ids.n; i++)
        assert_non_null(vug_tokenizer_token(t, ids.id[i], NULL));
    assert_int_equal(vug_tokenizer_decode(t, ids.id, ids.n, false, &back, NULL), VUG_OK);
    vug_text_release(&back);
    vug_tokens_release(&ids);
    vug_tokenizer_close(t);
    return VUG_OK;
}

static void test_truncations(void **state)
{
    (void)state;
    vug_text json = tokenizer_json((tokenizer_parts){ 0 });
    assert_int_equal(try_bytes(json.ptr, json.len), VUG_OK);
    assert_int_equal(json.ptr[json.len - 1], '\n');
    for (size_t n = 0; n + 1 < json.len; n++)
        assert_int_equal(try_bytes(json.ptr, n), VUG_FORMAT);
    vug_text_release(&json);
}

static void test_bit_flips(void **state)
{
    (void)state;
    vug_text json = tokenizer_json((tokenizer_parts){ 0 });
    size_t accepted = 0;
    for (size_t i = 0; i < json.len; i++) {
        const char was = json.ptr[i];
        json.ptr[i] = (char)(was ^ 1 << i % 8);
        accepted += try_bytes(json.ptr, json.len) == VUG_OK;
        json.ptr[i] = was;
    }
    /* Most damage is detected; a changed letter of a token or of an ignored key is not. */
    assert_in_range(accepted, 1, json.len / 3);
    vug_text_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_errors),     cmocka_unit_test(test_vocab_errors),
        cmocka_unit_test(test_merge_errors),     cmocka_unit_test(test_added_token_errors),
        cmocka_unit_test(test_component_errors), cmocka_unit_test(test_hash_collisions_are_refused),
        cmocka_unit_test(test_hash_index),       cmocka_unit_test(test_truncations),
        cmocka_unit_test(test_bit_flips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
