#include "test.h"

#include "tokenizer_help.h"

#include "core/json.h"
#include "core/os.h"
#include "core/utf8.h"
#include "text/text.h"

#define PLAIN "\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,"

static const tokenizer_parts small = {
    .added = "{\"id\":0,\"content\":\"<pad>\"," PLAIN "\"special\":true},\n"
             "{\"id\":1,\"content\":\"<eos>\"," PLAIN "\"special\":true},\n"
             "{\"id\":2,\"content\":\"<bos>\"," PLAIN "\"special\":true},\n"
             "{\"id\":20,\"content\":\"\\n\\n\"," PLAIN "\"special\":false},\n"
             "{\"id\":21,\"content\":\"<t\"," PLAIN "\"special\":false},\n"
             "{\"id\":22,\"content\":\"<turn>\"," PLAIN "\"special\":true}\n",
    .normalizer = "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u2581\"}",
    .pre = "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},\"behavior\":\"MergedWithPrevious\","
           "\"invert\":false}",
    .post = "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<bos>\","
            "\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[],"
            "\"special_tokens\":{\"<bos>\":{\"id\":\"<bos>\",\"ids\":[2],\"tokens\":[\"<bos>\"]}}}",
    .decoder = "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"
               "\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}",
    .model = "\"type\":\"BPE\",\"dropout\":null,\"unk_token\":\"<unk>\",\n"
             "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\n"
             "\"fuse_unk\":true,\"byte_fallback\":true,\"ignore_merges\":false",
    .vocab = "\"<pad>\":0,\"<eos>\":1,\"<bos>\":2,\"<unk>\":3,\"<0xC3>\":4,\"<0xA9>\":5,\n"
             "\"<0xE2>\":6,\"<0x82>\":7,\"<0xAC>\":8,\"\\u2581\":9,\"a\":10,\"b\":11,\"c\":12,\n"
             "\"\\n\":13,\"ab\":14,\"abc\":15,\"\xe2\x96\x81"
             "a\":16,\"\\u2581ab\":17,\"bc\":18,\n\"\\u2581\xe2\x96\x81\":19",
    .merges = "[\"\\u2581\",\"\\u2581\"],[\"\xe2\x96\x81\",\"a\"],[\"b\",\"c\"],\n"
              "[\"a\",\"b\"],[\"\\u2581a\",\"b\"],[\"ab\",\"c\"],[\"a\",\"bc\"]",
};

vug_text tokenizer_json(tokenizer_parts p)
{
#define PART(name) (p.name ? p.name : small.name)
    vug_buf buf = { 0 };
    vug_buf_printf(&buf,
                   "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\n"
                   "\"added_tokens\":[%s],\n\"normalizer\":%s,\n\"pre_tokenizer\":%s,\n"
                   "\"post_processor\":%s,\n\"decoder\":%s,\n"
                   "\"model\":{%s,\n\"vocab\":{%s},\n\"merges\":[%s]}}\n",
                   PART(added), PART(normalizer), PART(pre), PART(post), PART(decoder), PART(model),
                   PART(vocab), PART(merges));
#undef PART
    vug_text out = { 0 };
    assert_int_equal(vug_buf_take(&buf, &out, NULL), VUG_OK);
    return out;
}

vug_status tokenizer_try(tokenizer_parts parts, vug_tokenizer **out, vug_err *err)
{
    vug_text json = tokenizer_json(parts);
    const vug_status st =
            vug_tokenizer_from_json((vug_str){ json.ptr, json.len }, "t.json", out, err);
    vug_text_release(&json);
    return st;
}

vug_tokenizer *tokenizer_of(tokenizer_parts parts)
{
    vug_tokenizer *tokenizer = NULL;
    vug_err err = { 0 };
    if (tokenizer_try(parts, &tokenizer, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return tokenizer;
}

void tokenizer_check(const vug_tokenizer *tokenizer, unsigned flags, const tokenizer_row *row,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vug_tokens got = { 0 };
        assert_int_equal(vug_tokenizer_encode(tokenizer, row[i].text, strlen(row[i].text), flags,
                                              &got, NULL),
                         VUG_OK);
        size_t want = 0;
        while (row[i].id[want] >= 0)
            want++;
        if (got.n != want || (want && memcmp(got.id, row[i].id, want * sizeof(*got.id)) != 0)) {
            for (size_t k = 0; k < got.n; k++)
                print_message("%d ", (int)got.id[k]);
            fail_msg("are the ids of \"%s\"", row[i].text);
        }
        vug_tokens_release(&got);
    }
}

/* Whether `text` is well-formed, so that no piece ends inside a character. */
static bool is_utf8(const char *text, size_t len)
{
    uint32_t cp;
    for (size_t n; len > 0; text += n, len -= n) {
        n = vug_utf8_decode(text, len, &cp);
        if (n == 0)
            return false;
    }
    return true;
}

void tokenizer_check_decode(const vug_tokenizer *tokenizer, const int32_t *id, size_t n,
                            bool skip_special, const char *text, size_t len)
{
    vug_text whole = { 0 };
    assert_int_equal(vug_tokenizer_decode(tokenizer, id, n, skip_special, &whole, NULL), VUG_OK);
    assert_int_equal(whole.ptr[whole.len], '\0');
    vug_decoder *decoder = NULL;
    assert_int_equal(vug_decoder_create(tokenizer, skip_special, &decoder, NULL), VUG_OK);
    vug_buf pieces = { 0 };
    for (size_t i = 0; i <= n; i++) {
        const char *piece = NULL;
        size_t size = 0;
        const vug_status st = i < n ? vug_decoder_push(decoder, id[i], &piece, &size, NULL)
                                    : vug_decoder_finish(decoder, &piece, &size, NULL);
        assert_int_equal(st, VUG_OK);
        assert_true(is_utf8(piece, size));
        vug_buf_append(&pieces, piece, size);
    }
    vug_decoder_destroy(decoder);
    if (whole.len != len || memcmp(whole.ptr, text, len) != 0)
        fail_msg("decoded \"%s\", expected \"%.*s\"", whole.ptr, (int)len, text);
    assert_int_equal(pieces.len, len);
    assert_memory_equal(pieces.ptr ? pieces.ptr : "", text, len);
    vug_buf_release(&pieces);
    vug_text_release(&whole);
}

vug_tokenizer *tokenizer_real(const char *name)
{
    const char *const roots[] = { getenv("VUG_TOKENIZERS"), "build/tokenizers",
                                  "../shared/tokenizers" };
    char path[512] = "";
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !vug_file_exists(path); i++) {
        if (roots[i])
            (void)snprintf(path, sizeof(path), "%s/%s/tokenizer.json", roots[i], name);
    }
    if (!vug_file_exists(path)) {
        print_message("no %s/tokenizer.json: tools/tokenizers/fetch gets it\n", name);
        skip();
    }
    vug_tokenizer *t = NULL;
    vug_err err;
    if (vug_tokenizer_open(path, &t, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return t;
}

vug_tokenizer *tokenizer_gemma3(void)
{
    return tokenizer_real("gemma3");
}

static void check_line(const vug_tokenizer *t, vug_str line)
{
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    vug_tokens ids = { 0 };
    assert_int_equal(vug_json_tree(line, "golden line", &arena, &root, NULL), VUG_OK);
    const vug_str text = vug_jv_get(root, "text")->str;
    const vug_str decoded = vug_jv_get(root, "decoded")->str;
    const vug_jv *want = vug_jv_get(root, "ids");
    assert_int_equal(
            vug_tokenizer_encode(t, text.ptr, text.len, VUG_ENCODE_PARSE_SPECIAL, &ids, NULL),
            VUG_OK);
    assert_int_equal(ids.n, want->n);
    size_t i = 0;
    for (const vug_jv *id = want->child; id; id = id->next)
        assert_int_equal(ids.id[i++], id->i64);
    tokenizer_check_decode(t, ids.id, ids.n, false, decoded.ptr, decoded.len);
    vug_tokens_release(&ids);
    vug_arena_release(&arena);
}

void tokenizer_check_lines(const vug_tokenizer *t, const char *name, int n)
{
    vug_text file = { 0 };
    int lines = 0;
    char path[200];
    (void)snprintf(path, sizeof(path), "tests/golden/text/%s.jsonl", name);
    assert_int_equal(vug_read_file(path, 1 << 20, &file, NULL), VUG_OK);
    for (const char *at = file.ptr, *end; (end = strchr(at, '\n')); at = end + 1, lines++)
        check_line(t, (vug_str){ at, (size_t)(end - at) });
    assert_int_equal(lines, n);
    vug_text_release(&file);
}

void tokenizer_check_golden(const vug_tokenizer *t)
{
    tokenizer_check_lines(t, "gemma3", 492);
}
