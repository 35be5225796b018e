/* Tokenizers of SentencePiece: models that its trainer made, with what its library makes
 * of texts (tools/tokenizers/sentencepiece), small ones by hand, and unigram models of tokenizer.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/os.h"
#include "scratch.h"
#include "text/text.h"
#include "text/tokenizer/proto.h"
#include "text/tokenizer/spm_pieces.h"
#include "tokenizer_help.h"

#define FOLDER "tests/golden/text/sentencepiece/"

/* ---- what the trainer made --------------------------------------------------------------- */

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

static void golden(void **state)
{
    (void)state;
    check_model("bpe-bytes");
    check_model("bpe-llama");
    check_model("bpe-map");
    check_model("unigram-map");
    check_model("unigram-bytes");
}

/* As a tokenizer.json, or why not. */
static void written(void **state)
{
    (void)state;
    static const struct {
        const char *name, *sentence;
    } rows[] = {
        { "bpe-llama", NULL },
        { "bpe-bytes", "t: no tokenizer.json says the same: a symbol of the user has a space" },
        { "bpe-map", "t: no tokenizer.json says the same: it has a precompiled_charsmap" },
        { "unigram-bytes", "t: no tokenizer.json says the same: spaces are taken out, put at the "
                           "end, or kept as they are" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_tokenizer *t = open_golden(rows[i].name), *again = NULL;
        vug_text json = { 0 };
        vug_err err = { 0 };
        const vug_status st = vug_tokenizer_write(t, "t", &json, &err);
        assert_int_equal(st, rows[i].sentence ? VUG_UNSUPPORTED : VUG_OK);
        if (rows[i].sentence) {
            assert_string_equal(err.msg, rows[i].sentence);
        } else {
            assert_int_equal(
                    vug_tokenizer_read((vug_str){ json.ptr, json.len }, "again", &again, NULL),
                    VUG_OK);
            check_lines(again, rows[i].name);
            vug_tokenizer_close(again);
        }
        vug_text_release(&json);
        vug_tokenizer_close(t);
    }
}

/* ---- messages ---------------------------------------------------------------------------- */

/* A model by hand. Lengths are below 128, numbers too. */
typedef struct {
    vug_buf bytes;
} model;

static void put_field(vug_buf *to, int number, vug_str bytes)
{
    assert_true(number < 16 && bytes.len < 128);
    const char head[] = { (char)(number << 3 | VUG_WIRE_BYTES), (char)bytes.len };
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

static void put_piece(model *m, const char *text, float score, int kind)
{
    vug_buf piece = { 0 };
    char bytes[5] = { 2 << 3 | VUG_WIRE_FIXED32 };
    memcpy(bytes + 1, &score, 4);
    put_field(&piece, 1, vug_str_of(text));
    vug_buf_append(&piece, bytes, 5);
    put_number(&piece, 3, kind);
    put_field(&m->bytes, 1, (vug_str){ piece.ptr, piece.len });
    vug_buf_release(&piece);
}

enum { BPE = 2, UNIGRAM = 1 };

/* The specs: of the trainer the type, and a normalizer that does nothing. */
static void put_specs(model *m, int type)
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

static model small(int type)
{
    model m = { 0 };
    put_piece(&m, "<unk>", 0, VUG_PIECE_UNKNOWN);
    put_piece(&m, "<s>", 0, VUG_PIECE_CONTROL);
    put_piece(&m, "</s>", 0, VUG_PIECE_CONTROL);
    put_piece(&m, "a", -3, VUG_PIECE_NORMAL);
    put_piece(&m, "b", -3, VUG_PIECE_NORMAL);
    put_piece(&m, "ab", -1, VUG_PIECE_NORMAL);
    put_piece(&m, "ba", -2, VUG_PIECE_NORMAL);
    put_piece(&m, "<b>", 0, VUG_PIECE_USER);
    put_piece(&m, "\xe2\x96\x81", -4, VUG_PIECE_NORMAL);
    put_specs(&m, type);
    return m;
}

static vug_status open_model(const model *m, const char *config, vug_tokenizer **out, vug_err *err)
{
    const vug_bytes bytes = { (const uint8_t *)m->bytes.ptr, m->bytes.len };
    return vug_tokenizer_sentencepiece(bytes, vug_str_of(config), "t.model", out, err);
}

static vug_tokenizer *must_open(model *m, const char *config)
{
    vug_tokenizer *t = NULL;
    vug_err err;
    if (open_model(m, config, &t, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    vug_buf_release(&m->bytes);
    return t;
}

static void by_hand(void **state)
{
    (void)state;
    static const tokenizer_row bpe[] = {
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
    for (int type = UNIGRAM; type <= BPE; type++) {
        model m = small(type);
        vug_tokenizer *t = must_open(&m, "");
        tokenizer_check(t, VUG_ENCODE_PLAIN, bpe, sizeof(bpe) / sizeof(bpe[0]));
        tokenizer_check(t, VUG_ENCODE_PARSE_SPECIAL, parsed, 2);
        tokenizer_check(t, VUG_ENCODE_ADD_SPECIAL, around, 1);
        vug_tokenizer_close(t);
    }
}

/* Sums are floats: after x, by how much ab is worse is nothing, and it came first; after two
 * of them the count begins anew. A symbol of the user is better than its letters. The
 * library gives the same ids. */
static void unigram_sums(void **state)
{
    (void)state;
    static const tokenizer_row rows[] = { { "xab", IDS(1, 4) },
                                          { "ab", IDS(2, 3) },
                                          { "xxab", IDS(1, 1, 2, 3) },
                                          { "<b>", IDS(7) },
                                          { "a<b>b", IDS(2, 7, 3) } };
    model m = { 0 };
    put_piece(&m, "<unk>", 0, VUG_PIECE_UNKNOWN);
    put_piece(&m, "x", -100000, VUG_PIECE_NORMAL);
    put_piece(&m, "a", -0.25F, VUG_PIECE_NORMAL);
    put_piece(&m, "b", -0.25F, VUG_PIECE_NORMAL);
    put_piece(&m, "ab", -0.501F, VUG_PIECE_NORMAL);
    put_piece(&m, "<", -0.01F, VUG_PIECE_NORMAL);
    put_piece(&m, ">", -0.01F, VUG_PIECE_NORMAL);
    put_piece(&m, "<b>", 0, VUG_PIECE_USER);
    put_specs(&m, UNIGRAM);
    vug_tokenizer *t = must_open(&m, "");
    tokenizer_check(t, VUG_ENCODE_PLAIN, rows, sizeof(rows) / sizeof(rows[0]));
    vug_tokenizer_close(t);
}

static void config_beside(void **state)
{
    (void)state;
    static const char ends[] = "{\"add_bos_token\":false,\"add_eos_token\":true,"
                               "\"eos_token\":{\"content\":\"<s>\"}}";
    static const tokenizer_row around[] = { { "ab", IDS(5, 1) } };
    model m = small(BPE);
    vug_tokenizer *t = must_open(&m, ends);
    tokenizer_check(t, VUG_ENCODE_ADD_SPECIAL, around, 1);
    vug_tokenizer_close(t);

    /* What a user defined can be special, and there may be more than the model has. */
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

/* A folder's tokenizer.json goes first; where there is none, its tokenizer.model. */
static void folder(void **state)
{
    (void)state;
    static const tokenizer_row around[] = { { "ab", IDS(5) } };
    scratch at = scratch_make();
    model m = small(BPE);
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

/* ---- models that lie ----------------------------------------------------------------------- */

static void expect(model *m, const char *config, vug_status code, const char *sentence)
{
    vug_tokenizer *t = NULL;
    vug_err err = { 0 };
    assert_int_equal(open_model(m, config, &t, &err), code);
    assert_null(t);
    if (!strstr(err.msg, sentence))
        fail_msg("\"%s\", expected \"%s\"", err.msg, sentence);
    vug_buf_release(&m->bytes);
}

static void lies(void **state)
{
    (void)state;
    model m = { 0 };
    expect(&m, "", VUG_FORMAT, "t.model: 0 pieces of type UNKNOWN, expected one");
    m = small(BPE);
    put_piece(&m, "ab", 0, VUG_PIECE_NORMAL);
    expect(&m, "", VUG_FORMAT, "t.model: token 9, \"ab\", comes twice");
    m = small(BPE);
    put_piece(&m, "", 0, VUG_PIECE_NORMAL);
    expect(&m, "", VUG_FORMAT, "t.model: piece 9 is broken, empty or of no known type");
    m = small(BPE);
    put_piece(&m, "x", 0, 7);
    expect(&m, "", VUG_FORMAT, "t.model: piece 9 is broken, empty or of no known type");
    m = small(BPE);
    put_piece(&m, "\x80", 0, VUG_PIECE_USER);
    expect(&m, "", VUG_FORMAT, "t.model: piece 9 is not UTF-8");
    m = small(BPE);
    put_piece(&m, "bb", 0, VUG_PIECE_UNUSED);
    expect(&m, "", VUG_UNSUPPORTED, "t.model: token 9 is unused and is what others merge to");
    m = small(3);
    expect(&m, "", VUG_UNSUPPORTED, "t.model: a model_type WORD is not supported");
    m = small(9);
    expect(&m, "", VUG_UNSUPPORTED, "t.model: a model_type that is not known is not supported");
    m = small(BPE);
    put_field(&m.bytes, 3, (vug_str){ "\x12\x05\x04\x00\x00\x00zz", 7 });
    expect(&m, "", VUG_FORMAT, "t.model: precompiled_charsmap, of 5 bytes, is no double array");
    m = small(BPE);
    put_field(&m.bytes, 5, (vug_str){ "\x12\x01z", 3 });
    expect(&m, "", VUG_UNSUPPORTED, "precompiled_charsmap of the denormalizer_spec is not");
    m = small(BPE);
    put_field(&m.bytes, 2, (vug_str){ "\x98\x02\x01", 3 }); /* byte_fallback */
    expect(&m, "", VUG_FORMAT, "byte_fallback is true, and no piece of type BYTE is <0x00>");
    m = small(BPE);
    vug_buf_append(&m.bytes, "\x0b", 1); /* a group */
    expect(&m, "", VUG_FORMAT, "no field of a SentencePiece model, or the file is cut off");
    m = small(BPE);
    expect(&m, "{", VUG_FORMAT, "tokenizer_config.json: line 1");
    m = small(BPE);
    expect(&m, "{\"added_tokens_decoder\":{\"-1\":{\"content\":\"x\"}}}", VUG_UNSUPPORTED,
           "the added token \"x\" has an impossible id");
}

/* Fields of every wire type that nobody asks for are passed over. */
/* Long pieces, each of which could be looked through, but not all of them. */
static void long_pieces(void **state)
{
    (void)state;
    model m = small(BPE);
    char text[101];
    memset(text, 'x', 100);
    text[100] = '\0';
    for (int i = 0; i < 27000; i++) {
        (void)snprintf(text, 8, "%07d", i);
        text[7] = 'x';
        put_piece(&m, text, 0, VUG_PIECE_NORMAL);
    }
    expect(&m, "", VUG_LIMIT, "t.model: tokens too long to find their merges");
}

static void fields(void **state)
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

/* A megabyte of one thing: linear, or this does not end. */
static void long_runs(void **state)
{
    (void)state;
    static const char *const names[] = { "bpe-bytes", "bpe-map", "unigram-map", "unigram-bytes" };
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

/* ---- unigram models of tokenizer.json -------------------------------------------------------- */

#define PIECES                                                                                   \
    "[\"<unk>\",0],[\"a\",-2],[\"b\",-2.5],[\"ab\",-4.5],[\"aba\",-6.5],[\"ba\",-4.5],"          \
    "[\"bab\",-7],[\"\xc3\xa9\",-3],[\"<0xC3>\",-9],[\"<0xA9>\",-9],[\"<0xA8>\",-9],[\"c\",-1]," \
    "[\"cc\",-2],[\"ccc\",-2.9]"

static vug_status read_unigram(const char *members, vug_tokenizer **out, vug_err *err)
{
    vug_buf json = { 0 };
    vug_buf_printf(&json, "{\"model\":{%s}}", members);
    const vug_status st = vug_tokenizer_read((vug_str){ json.ptr, json.len }, "t.json", out, err);
    vug_buf_release(&json);
    return st;
}

/* The ids are those of the tokenizers package, 0.23.3; half of them are ties. */
static void unigram_json(void **state)
{
    (void)state;
    static const tokenizer_row both[] = {
        { "", NO_IDS },          { "a", IDS(1) },
        { "ab", IDS(3) },        { "aba", IDS(4) },
        { "abab", IDS(1, 6) },   { "ababab", IDS(4, 6) },
        { "bab", IDS(6) },       { "\xc3\xa9", IDS(7) },
        { "xx", IDS(0) },        { "axxb", IDS(1, 0, 2) },
        { "x<unk>y", IDS(0) },   { "<unk>", IDS(0) },
        { "<0xC3>", IDS(8) },    { "ccccc", IDS(12, 13) },
        { "cccc", IDS(11, 13) }, { "ccccccc", IDS(11, 13, 13) },
        { "x\xc3\xa8", IDS(0) },
    };
    static const tokenizer_row with[] = { { "a\xc3\xa8", IDS(1, 8, 10) },
                                          { "\xc3\xa8\xc3\xa8"
                                            "a",
                                            IDS(8, 10, 8, 10, 1) } };
    static const tokenizer_row without[] = { { "a\xc3\xa8", IDS(1, 0) } };
    static const char *const members[] = {
        "\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[" PIECES "]",
        "\"vocab\":[" PIECES "],\"unk_id\":0,\"type\":\"Unigram\"",
    };
    for (int i = 0; i < 2; i++) {
        vug_tokenizer *t = NULL;
        vug_err err;
        if (read_unigram(members[i], &t, &err) != VUG_OK)
            fail_msg("%s", err.msg);
        tokenizer_check(t, 0, both, sizeof(both) / sizeof(both[0]));
        tokenizer_check(t, 0, i ? without : with, i ? 1 : 2);
        vug_tokenizer_close(t);
    }
}

static void unigram_lies(void **state)
{
    (void)state;
    static const struct {
        const char *members, *sentence;
    } rows[] = {
        { "\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]", "the unk_id -1 is no piece" },
        { "\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",0]]", "the unk_id 1 is no piece" },
        { "\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[]", "the unk_id 0 is no piece" },
        { "\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",0],[\"a\",0]]", "\"a\" twice" },
        { "\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\"]]", "expected" },
        { "\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",0,1]]",
          "is no string with a score" },
        { "\"unk_id\":0,\"vocab\":[[\"a\",0]]", "whose \"vocab\" is another kind" },
        { "\"type\":\"Unigram\",\"unk_id\":0", "lacks its \"vocab\"" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_tokenizer *t = NULL;
        vug_err err = { 0 };
        assert_int_equal(read_unigram(rows[i].members, &t, &err), VUG_FORMAT);
        if (!strstr(err.msg, rows[i].sentence))
            fail_msg("\"%s\", expected \"%s\"", err.msg, rows[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),       cmocka_unit_test(written),
        cmocka_unit_test(by_hand),      cmocka_unit_test(config_beside),
        cmocka_unit_test(unigram_sums), cmocka_unit_test(folder),
        cmocka_unit_test(lies),         cmocka_unit_test(long_pieces),
        cmocka_unit_test(fields),       cmocka_unit_test(long_runs),
        cmocka_unit_test(unigram_json), cmocka_unit_test(unigram_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
