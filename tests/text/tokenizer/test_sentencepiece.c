/* SentencePiece models: some from its trainer, with ids from its library
 * (tools/tokenizers/sentencepiece), and small ones built here. */
#include "test.h"

#include "core/json.h"
#include "core/os.h"
#include "scratch.h"
#include "text/text.h"
#include "text/tokenizer/protobuf.h"
#include "text/tokenizer/spm_pieces.h"
#include "tokenizer_help.h"

#define FOLDER "tests/golden/text/sentencepiece/"

/* ---- models of the trainer --------------------------------------------------------------- */

static void check_line(const vug_tokenizer *t, vug_str line)
{
    vug_arena arena = { 0 };
    const vug_jv *row;
    vug_tokens got = { 0 };
    assert_int_equal(vug_json_tree(line, "line", &arena, &row, NULL), VUG_OK);
    const vug_str text = vug_jv_get(row, "text")->str;
    const vug_jv *ids = vug_jv_get(row, "ids");
    assert_int_equal(vug_tokenizer_encode(t, text.ptr, text.len, 0, &got, NULL), VUG_OK);
    size_t same = 0;
    for (const vug_jv *id = ids->child; id && same < got.n && id->i64 == got.id[same];
         id = id->next)
        same++;
    if (got.n != ids->n || same != got.n)
        fail_msg("\"%.*s\": %zu ids, expected %zu, of which %zu are right", VUG_STR_ARG(text),
                 got.n, ids->n, same);
    vug_tokens_release(&got);
    vug_arena_release(&arena);
}

static vug_tokenizer *open_golden(const char *name)
{
    char path[200];
    vug_tokenizer *t = NULL;
    vug_err err;
    (void)snprintf(path, sizeof(path), FOLDER "%s.model", name);
    if (vug_tokenizer_open(path, &t, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return t;
}

static void check_lines(const vug_tokenizer *t, const char *name)
{
    char path[200];
    vug_text lines = { 0 };
    int n = 0;
    (void)snprintf(path, sizeof(path), FOLDER "%s.jsonl", name);
    assert_int_equal(vug_read_file(path, 1 << 20, &lines, NULL), VUG_OK);
    for (const char *at = lines.ptr, *end; (end = strchr(at, '\n')); at = end + 1, n++)
        check_line(t, (vug_str){ at, (size_t)(end - at) });
    assert_int_equal(n, 57);
    vug_text_release(&lines);
}

static void check_model(const char *name)
{
    vug_tokenizer *t = open_golden(name);
    check_lines(t, name);
    vug_tokenizer_close(t);
}

static void test_golden_models(void **state)
{
    (void)state;
    check_model("bpe-bytes");
    check_model("bpe-llama");
}

/* A model becomes a tokenizer.json, or a message says why not. */
static void test_written_as_json(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } rows[] = {
        { "bpe-llama", NULL },
        { "bpe-bytes",
          "t: cannot be written as a tokenizer.json: a user-defined symbol contains a space" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_tokenizer *t = open_golden(rows[i].name), *again = NULL;
        vug_text json = { 0 };
        vug_err err = { 0 };
        const vug_status st = vug_tokenizer_write_json(t, "t", &json, &err);
        assert_int_equal(st, rows[i].message ? VUG_UNSUPPORTED : VUG_OK);
        if (rows[i].message) {
            assert_string_equal(err.msg, rows[i].message);
        } else {
            assert_int_equal(
                    vug_tokenizer_from_json((vug_str){ json.ptr, json.len }, "again", &again, NULL),
                    VUG_OK);
            check_lines(again, rows[i].name);
            vug_tokenizer_close(again);
        }
        vug_text_release(&json);
        vug_tokenizer_close(t);
    }
}

/* ---- messages ---------------------------------------------------------------------------- */

/* A model built here. Lengths and numbers are below 128. */
typedef struct {
    vug_buf bytes;
} proto_model;

static void put_field(vug_buf *to, int number, vug_str bytes)
{
    assert_true(number < 16 && bytes.len < 128);
    const char head[] = { (char)(number << 3 | VUG_PROTO_BYTES), (char)bytes.len };
    vug_buf_append(to, head, 2);
    vug_buf_append(to, bytes.ptr, bytes.len);
}

static void put_number(vug_buf *to, int number, int value)
{
    const char tag[] = { (char)((number << 3 & 0x7f) | (number > 15 ? 0x80 : 0)),
                         (char)(number >> 4) };
    const char byte = (char)value;
    vug_buf_append(to, tag, number > 15 ? 2 : 1);
    vug_buf_append(to, &byte, 1);
}

static void put_piece(proto_model *m, const char *text, float score, int kind)
{
    vug_buf piece = { 0 };
    char bytes[5] = { 2 << 3 | VUG_PROTO_FIXED32 };
    memcpy(bytes + 1, &score, 4);
    put_field(&piece, 1, vug_str_of(text));
    vug_buf_append(&piece, bytes, 5);
    put_number(&piece, 3, kind);
    put_field(&m->bytes, 1, (vug_str){ piece.ptr, piece.len });
    vug_buf_release(&piece);
}

enum { UNIGRAM = 1, BPE = 2, WORD = 3, CHAR = 4 };

/* Adds a trainer_spec with the model type, and a normalizer_spec that changes nothing. */
static void put_specs(proto_model *m, int type)
{
    vug_buf spec = { 0 };
    put_number(&spec, 3, type);
    put_field(&m->bytes, 2, (vug_str){ spec.ptr, spec.len });
    spec.len = 0;
    put_number(&spec, 3, 0);
    put_number(&spec, 4, 0);
    put_field(&m->bytes, 3, (vug_str){ spec.ptr, spec.len });
    vug_buf_release(&spec);
}

static proto_model small(int type)
{
    proto_model m = { 0 };
    put_piece(&m, "<unk>", 0, VUG_PIECE_UNKNOWN);
    put_piece(&m, "<s>", 0, VUG_PIECE_CONTROL);
    put_piece(&m, "</s>", 0, VUG_PIECE_CONTROL);
    put_piece(&m, "a", -3, VUG_PIECE_NORMAL);
    put_piece(&m, "b", -3, VUG_PIECE_NORMAL);
    put_piece(&m, "ab", -1, VUG_PIECE_NORMAL);
    put_piece(&m, "ba", -2, VUG_PIECE_NORMAL);
    put_piece(&m, "<b>", 0, VUG_PIECE_USER_DEFINED);
    put_piece(&m, "\xe2\x96\x81", -4, VUG_PIECE_NORMAL);
    put_specs(&m, type);
    return m;
}

static vug_status open_model(const proto_model *m, const char *config, vug_tokenizer **out,
                             vug_err *err)
{
    const vug_bytes bytes = { (const uint8_t *)m->bytes.ptr, m->bytes.len };
    return vug_tokenizer_from_sentencepiece(bytes, vug_str_of(config), "t.model", out, err);
}

static vug_tokenizer *must_open(proto_model *m, const char *config)
{
    vug_tokenizer *t = NULL;
    vug_err err;
    if (open_model(m, config, &t, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    vug_buf_release(&m->bytes);
    return t;
}

static void test_small_model(void **state)
{
    (void)state;
    static const tokenizer_row plain[] = {
        { "", NO_IDS },
        { "abab", IDS(5, 5) },
        { "bab", IDS(4, 5) },
        { "a b", IDS(3, 8, 4) },
        { "xyz", IDS(0) },
        { "axb\xffz", IDS(3, 0, 4, 0) },
        { "a<b>b", IDS(3, 7, 4) },
        { "<s>a", IDS(0, 3) },
    };
    static const tokenizer_row parsed[] = { { "<s>a", IDS(1, 3) }, { "a<b></s>", IDS(3, 7, 2) } };
    static const tokenizer_row around[] = { { "ab", IDS(1, 5) } };
    proto_model m = small(BPE);
    vug_tokenizer *t = must_open(&m, "");
    tokenizer_check(t, VUG_ENCODE_PLAIN, plain, sizeof(plain) / sizeof(plain[0]));
    tokenizer_check(t, VUG_ENCODE_PARSE_SPECIAL, parsed, 2);
    tokenizer_check(t, VUG_ENCODE_ADD_SPECIAL, around, 1);
    vug_tokenizer_close(t);
}

static void test_tokenizer_config(void **state)
{
    (void)state;
    static const char ends[] = "{\"add_bos_token\":false,\"add_eos_token\":true,"
                               "\"eos_token\":{\"content\":\"<s>\"}}";
    static const tokenizer_row around[] = { { "ab", IDS(5, 1) } };
    proto_model m = small(BPE);
    vug_tokenizer *t = must_open(&m, ends);
    tokenizer_check(t, VUG_ENCODE_ADD_SPECIAL, around, 1);
    vug_tokenizer_close(t);

    /* User-defined pieces can be special, and there can be more tokens than the model has. */
    static const char added[] =
            "{\"added_tokens_decoder\":{"
            "\"7\":{\"content\":\"<b>\",\"special\":true},"
            "\"9\":{\"content\":\"<image>\",\"special\":true,\"lstrip\":true}}}";
    static const tokenizer_row plain[] = { { "a<b>", IDS(3, 0, 4, 0) } };
    static const tokenizer_row parsed[] = { { "a<b> <image>", IDS(3, 7, 9) } };
    m = small(BPE);
    t = must_open(&m, added);
    assert_int_equal(vug_tokenizer_size(t), 10);
    tokenizer_check(t, VUG_ENCODE_PLAIN, plain, 1);
    tokenizer_check(t, VUG_ENCODE_PARSE_SPECIAL, parsed, 1);
    vug_tokenizer_close(t);
}

/* A folder's tokenizer.json takes precedence over its tokenizer.model. */
static void test_folder(void **state)
{
    (void)state;
    static const tokenizer_row around[] = { { "ab", IDS(5) } };
    scratch at = scratch_make();
    proto_model m = small(BPE);
    vug_text json = tokenizer_json((tokenizer_parts){ 0 });
    vug_tokenizer *t = NULL;
    scratch_write(&at, "tokenizer.model", m.bytes.ptr, m.bytes.len);
    scratch_write(&at, "tokenizer_config.json", "{\"add_bos_token\":false}", 23);
    assert_int_equal(vug_tokenizer_open(at.path, &t, NULL), VUG_OK);
    tokenizer_check(t, VUG_ENCODE_ADD_SPECIAL, around, 1);
    vug_tokenizer_close(t);
    scratch_write(&at, "tokenizer.json", json.ptr, json.len);
    assert_int_equal(vug_tokenizer_open(at.path, &t, NULL), VUG_OK);
    assert_int_equal(vug_tokenizer_find(t, "<turn>"), 22);
    vug_tokenizer_close(t);
    vug_text_release(&json);
    vug_buf_release(&m.bytes);
    scratch_remove(&at);
}

/* ---- malformed models ----------------------------------------------------------------------- */

static void expect_error(proto_model *m, const char *config, vug_status code, const char *message)
{
    vug_tokenizer *t = NULL;
    vug_err err = { 0 };
    assert_int_equal(open_model(m, config, &t, &err), code);
    assert_null(t);
    if (!strstr(err.msg, message))
        fail_msg("\"%s\", expected \"%s\"", err.msg, message);
    vug_buf_release(&m->bytes);
}

static void test_malformed_models(void **state)
{
    (void)state;
    proto_model m = { 0 };
    put_specs(&m, BPE);
    expect_error(&m, "", VUG_FORMAT, "t.model: 0 pieces of type UNKNOWN, expected one");
    m = small(BPE);
    put_piece(&m, "ab", 0, VUG_PIECE_NORMAL);
    expect_error(&m, "", VUG_FORMAT, "t.model: token 9, \"ab\", is declared twice");
    m = small(BPE);
    put_piece(&m, "", 0, VUG_PIECE_NORMAL);
    expect_error(&m, "", VUG_FORMAT, "t.model: piece 9 is malformed, empty or of unknown type");
    m = small(BPE);
    put_piece(&m, "x", 0, 7);
    expect_error(&m, "", VUG_FORMAT, "t.model: piece 9 is malformed, empty or of unknown type");
    m = small(BPE);
    put_piece(&m, "\x80", 0, VUG_PIECE_USER_DEFINED);
    expect_error(&m, "", VUG_FORMAT, "t.model: piece 9 is not UTF-8");
    m = small(BPE);
    put_piece(&m, "bb", 0, VUG_PIECE_UNUSED);
    expect_error(&m, "", VUG_UNSUPPORTED, "t.model: token 9 is unused but the result of a merge");
    static const struct {
        int type;
        const char *message;
    } types[] = {
        { UNIGRAM, "t.model: tokenizer model type Unigram is not supported: no supported family" },
        { WORD, "t.model: tokenizer model type Word is not supported: no supported family" },
        { CHAR, "t.model: tokenizer model type Char is not supported: no supported family" },
        { 9, "t.model: tokenizer model type of an unknown number is not supported" },
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        m = small(types[i].type);
        expect_error(&m, "", VUG_UNSUPPORTED, types[i].message);
    }
    m = (proto_model){ 0 }; /* the format's default is Unigram */
    expect_error(&m, "", VUG_UNSUPPORTED, "tokenizer model type Unigram is not supported");
    m = small(BPE);
    put_field(&m.bytes, 2, (vug_str){ "\x98\x02\x01", 3 }); /* byte_fallback */
    expect_error(&m, "", VUG_FORMAT, "byte_fallback is true, but no piece of type BYTE is <0x00>");
    m = small(BPE);
    vug_buf_append(&m.bytes, "\x0b", 1); /* a group */
    expect_error(&m, "", VUG_FORMAT,
                 "not a field of a SentencePiece model, or the file is truncated");
    m = small(BPE);
    expect_error(&m, "{", VUG_FORMAT, "tokenizer_config.json: line 1");
    m = small(BPE);
    expect_error(&m, "{\"added_tokens_decoder\":{\"-1\":{\"content\":\"x\"}}}", VUG_UNSUPPORTED,
                 "the added token \"x\" has an invalid id");
}

/* Features of the format that no supported family uses. */
static void test_unsupported_features(void **state)
{
    (void)state;
    static const struct {
        int field;
        vug_str bytes;
        const char *message;
    } rows[] = {
        { 3, { "\x12\x01z", 3 }, "a precompiled_charsmap in the normalizer_spec is not" },
        { 5, { "\x12\x01z", 3 }, "a precompiled_charsmap in the denormalizer_spec is not" },
        { 3, { "\x20\x01", 2 }, "remove_extra_whitespaces: true is not supported" },
        { 3, { "\x28\x00", 2 }, "escape_whitespaces: false is not supported" },
        { 2, { "\xc0\x01\x01", 3 }, "treat_whitespace_as_suffix: true is not supported" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        proto_model m = small(BPE);
        put_field(&m.bytes, rows[i].field, rows[i].bytes);
        expect_error(&m, "", VUG_UNSUPPORTED, rows[i].message);
    }
}

/* Long pieces: each is allowed, all of them together are not. */
static void test_long_pieces(void **state)
{
    (void)state;
    proto_model m = small(BPE);
    char text[101];
    memset(text, 'x', 100);
    text[100] = '\0';
    for (int i = 0; i < 27000; i++) {
        (void)snprintf(text, 8, "%07d", i);
        text[7] = 'x';
        put_piece(&m, text, 0, VUG_PIECE_NORMAL);
    }
    expect_error(&m, "", VUG_LIMIT, "t.model: tokens too long to find their merges");
}

/* Unknown fields of every wire type are skipped. */
static void test_protobuf_fields(void **state)
{
    (void)state;
    static const uint8_t message[] = {
        0xf8, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* 2047: a varint */
        0x11, 1,    2,    3,    4,    5,    6,    7,    8,                      /* 2: eight bytes */
        0x1d, 0,    0,    0x80, 0x3f,                                           /* 3: four */
        0x22, 2,    'h',  'i'
    }; /* 4: a string */
    vug_proto m = vug_proto_over((vug_bytes){ message, sizeof(message) });
    vug_proto_field f;
    assert_true(vug_proto_next(&m, &f));
    assert_int_equal(f.number, 2047);
    assert_int_equal(vug_proto_int(&f, 0), -1);
    assert_true(vug_proto_bool(&f, false));
    assert_true(vug_proto_next(&m, &f));
    assert_true(f.value == 0x0807060504030201);
    assert_int_equal(vug_proto_int(&f, 5), 5);
    assert_true(vug_proto_next(&m, &f));
    assert_true(vug_proto_float(&f, 0) == 1);
    assert_true(vug_proto_next(&m, &f));
    assert_true(vug_str_is(vug_proto_string(&f), "hi"));
    assert_false(vug_proto_next(&m, &f));
    assert_false(m.bad);
    for (size_t n = 1; n < sizeof(message); n++) {
        vug_proto cut = vug_proto_over((vug_bytes){ message, n });
        while (vug_proto_next(&cut, &f))
            continue;
        assert_true(cut.bad == (n != 12 && n != 21 && n != 26));
    }
}

/* A megabyte of one thing: quadratic work would not end. */
static void test_long_runs(void **state)
{
    (void)state;
    static const char *const names[] = { "bpe-bytes", "bpe-llama" };
    static const char *const parts[] = { "a", " ", "\n", "\xf0\x9f\xa6\x99", "\xff", "<t" };
    enum { N = 1 << 20 };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        vug_tokenizer *t = open_golden(names[i]);
        for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
            vug_buf text = { 0 };
            vug_tokens got = { 0 };
            while (text.len < N)
                vug_buf_puts(&text, parts[k]);
            assert_int_equal(vug_tokenizer_encode(t, text.ptr, text.len, 0, &got, NULL), VUG_OK);
            vug_tokens_release(&got);
            vug_buf_release(&text);
        }
        vug_tokenizer_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_models),
        cmocka_unit_test(test_written_as_json),
        cmocka_unit_test(test_small_model),
        cmocka_unit_test(test_tokenizer_config),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_malformed_models),
        cmocka_unit_test(test_unsupported_features),
        cmocka_unit_test(test_long_pieces),
        cmocka_unit_test(test_protobuf_fields),
        cmocka_unit_test(test_long_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
