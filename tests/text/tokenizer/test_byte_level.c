

#include "test.h"

#include "core/json.h"
#include "core/os.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/internal.h"
#include "tokenizer_help.h"
#include "vug/chat.h"

/*
 * Byte-level tokenizers, every component of a tokenizer.json, and prompts, compared with the
 * reference (tools/tokenizers/fixtures).
 */

static vug_tokenizer *byte_level(void)
{
    vug_tokenizer *t = NULL;
    vug_err err;
    if (vug_tokenizer_open("tests/golden/text/byte_level.json", &t, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return t;
}

static void test_golden_lines(void **state)
{
    (void)state;
    vug_tokenizer *t = byte_level();
    tokenizer_check_lines(t, "byte_level", 92);
    assert_int_equal(vug_tokenizer_size(t), 1107);
    assert_true(vug_tokenizer_is_special(t, vug_tokenizer_find(t, "<|im_end|>")));
    assert_false(vug_tokenizer_is_special(t, vug_tokenizer_find(t, "<think>")));
    vug_tokenizer_close(t);
}

static void test_qwen3_golden_lines(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_real("qwen3");
    tokenizer_check_lines(t, "qwen3", 125);
    assert_int_equal(vug_tokenizer_size(t), 151669);
    assert_int_equal(vug_tokenizer_find(t, "<|im_end|>"), 151645);
    vug_tokenizer_close(t);
}

/* ---- components ---------------------------------------------------------------- */

typedef struct {
    vug_str name, parts;
} golden_model;

static void check_ids(const vug_tokenizer *t, vug_str text, const vug_jv *want, unsigned flags,
                      vug_tokens *got)
{
    vug_err err;
    if (vug_tokenizer_encode(t, text.ptr, text.len, flags, got, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    size_t same = 0;
    for (const vug_jv *id = want->child; id && same < got->n && got->id[same] == id->i64;
         id = id->next)
        same++;
    if (same == got->n && got->n == want->n)
        return;
    for (size_t i = 0; i < got->n; i++)
        print_message("%d ", (int)got->id[i]);
    fail_msg("are the ids of \"%.*s\", of which %zu of %zu are right", (int)text.len, text.ptr,
             same, want->n);
}

static void check_case(const golden_model *models, size_t n, const vug_jv *row)
{
    const vug_str use = vug_jv_get(row, "use")->str;
    const vug_str head = vug_jv_get(row, "head")->str;
    const vug_str rest = vug_jv_get(row, "model")->str;
    const golden_model *of = models;
    while (of < models + n && !vug_str_equal(of->name, use))
        of++;
    assert_true(of < models + n);
    vug_buf json = { 0 };
    vug_buf_printf(&json, "{%.*s,\"model\":{%.*s,%.*s}}", (int)head.len, head.ptr, (int)rest.len,
                   rest.ptr, (int)of->parts.len, of->parts.ptr);
    vug_tokenizer *t = NULL;
    vug_err err;
    if (vug_tokenizer_from_json((vug_str){ json.ptr, json.len }, "case", &t, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    for (const vug_jv *e = vug_jv_get(row, "texts")->child; e; e = e->next) {
        const vug_jv *text = e->child, *ids = text->next, *special = ids->next;
        const vug_str decoded = special->next->str;
        vug_tokens got = { 0 };
        check_ids(t, text->str, special, VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_SPECIAL, &got);
        vug_tokens_release(&got);
        check_ids(t, text->str, ids, VUG_ENCODE_PARSE_SPECIAL, &got);
        tokenizer_check_decode(t, got.id, got.n, false, decoded.ptr, decoded.len);
        vug_tokens_release(&got);
    }
    vug_buf_release(&json);
    vug_tokenizer_close(t);
}

static void test_components_match_reference(void **state)
{
    (void)state;
    vug_text file = { 0 };
    vug_arena arena = { 0 };
    golden_model models[4] = { 0 };
    size_t n = 0, cases = 0;
    assert_int_equal(vug_read_file("tests/golden/text/components.jsonl", 1 << 20, &file, NULL),
                     VUG_OK);
    for (const char *at = file.ptr, *end; (end = strchr(at, '\n')); at = end + 1) {
        const vug_jv *row = NULL;
        assert_int_equal(
                vug_json_tree((vug_str){ at, (size_t)(end - at) }, "case", &arena, &row, NULL),
                VUG_OK);
        const vug_jv *name = vug_jv_get(row, "name");
        if (name)
            models[n++] = (golden_model){ name->str, vug_jv_get(row, "parts")->str };
        else
            check_case(models, n, row), cases++;
    }
    assert_int_equal(n, 2);
    assert_int_equal(cases, 63);
    vug_arena_release(&arena);
    vug_text_release(&file);
}

/* ---- bytes ------------------------------------------------------------------------ */

static void test_byte_characters(void **state)
{
    (void)state;
    bool seen[0x200] = { false };
    for (unsigned b = 0; b < 256; b++) {
        const uint32_t cp = vug_byte_level_char((unsigned char)b);
        assert_true(cp > 0x20 && cp < 0x144 && !seen[cp]);
        seen[cp] = true;
        assert_int_equal(vug_byte_level_byte(cp), (int)b);
    }
    assert_int_equal(vug_byte_level_char(' '), 0x120);
    assert_int_equal(vug_byte_level_char('\n'), 0x10a);
    for (uint32_t cp = 0; cp < 0x200; cp++)
        assert_true(vug_byte_level_byte(cp) < 0 || seen[cp]);
}

static void check_bytes(const vug_tokenizer *t, const char *token, const char *want)
{
    vug_buf got = { 0 };
    assert_true(vug_tokenizer_append_bytes(t, vug_tokenizer_find(t, token), &got));
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
    vug_buf_release(&got);
}

static void test_token_bytes(void **state)
{
    (void)state;
    vug_tokenizer *t = byte_level();
    check_bytes(t, "a", "a");
    check_bytes(t, "\xc4\xa0the", " the"); /* U+0120 is a space */
    check_bytes(t, "\xc3\xb0",
                "\xf0"); /* U+00F0 stands for that byte, which is no whole character */
    check_bytes(t, "<|im_end|>", "<|im_end|>");
    vug_buf none = { 0 };
    assert_false(vug_tokenizer_append_bytes(t, -1, &none));
    assert_false(vug_tokenizer_append_bytes(t, 1107, &none));
    /* A character in several tokens, and one that is never completed. */
    const int32_t f0 = vug_tokenizer_find(t, "\xc3\xb0");
    const int32_t wide[] = { f0, vug_tokenizer_find(t, "\xc5\x81"),
                             vug_tokenizer_find(t, "\xc4\xba"), vug_tokenizer_find(t, "\xc4\xa2") };
    tokenizer_check_decode(t, wide, 4, false, "\xf0\x9f\x98\x80", 4);
    tokenizer_check_decode(t, wide, 3, false, "\xef\xbf\xbd", 3);
    const int32_t twice[] = { f0, f0 };
    tokenizer_check_decode(t, twice, 2, false, "\xef\xbf\xbd\xef\xbf\xbd", 6);
    vug_tokenizer_close(t);
}

/* A tokenizer that is built without a file. */
static void test_building_without_file(void **state)
{
    (void)state;
    static const char *const words[] = { "a", "b", "\u0120", "ab", "\u0120ab" };
    vug_tokenizer *t = vug_alloc_zero(1, sizeof(*t));
    assert_non_null(t);
    uint32_t which = 0;
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(vug_vocab_add(&t->vocab, vug_str_of(words[i]), i), VUG_VOCAB_ADDED);
    assert_int_equal(vug_vocab_seal(&t->vocab, &which), VUG_VOCAB_ADDED);
    vug_err err;
    const vug_byte_level_options how = { .nfc = true, .ignore_merges = true };
    assert_int_equal(vug_tokenizer_set_byte_level(t, &how, "parts", &err), VUG_OK);
    assert_int_equal(vug_tokenizer_add_merge(t, vug_str_of("a"), vug_str_of("b"), "parts", &err),
                     VUG_OK);
    assert_int_equal(vug_tokenizer_add_merge(t, vug_str_of("b"), vug_str_of("a"), "parts", &err),
                     VUG_FORMAT);
    assert_string_equal(err.msg,
                        "parts: merge 1: \"b\" and \"a\" do not join to a token of the vocabulary");
    assert_int_equal(vug_tokenizer_add_merge(t, vug_str_of("x"), vug_str_of("a"), "parts", &err),
                     VUG_FORMAT);
    assert_int_equal(vug_tokenizer_seal(t, "parts", &err), VUG_OK);
    static const tokenizer_row rows[] = { { "ab", IDS(3) },
                                          { "aab ab", IDS(0, 3, 4) },
                                          { " ba?", IDS(2, 1, 0) } };
    tokenizer_check(t, 0, rows, 3);
    const int32_t ids[] = { 4, 0 };
    tokenizer_check_decode(t, ids, 2, false, " aba", 4);
    vug_tokenizer_close(t);
}

/* ---- prompts ------------------------------------------------------------------------ */

/* Appends the ids of the parts of `spec`, which '^' separates. In a part that begins with
 * '#' special tokens are text. */
static void append_expected_ids(const vug_tokenizer *t, const char *spec, vug_id_list *out)
{
    while (*spec) {
        const size_t n = strcspn(spec, "^");
        const bool plain = *spec == '#';
        vug_tokens part = { 0 };
        assert_int_equal(vug_tokenizer_encode(t, spec + plain, n - plain,
                                              plain ? VUG_ENCODE_PLAIN : VUG_ENCODE_PARSE_SPECIAL,
                                              &part, NULL),
                         VUG_OK);
        for (size_t i = 0; i < part.n; i++)
            assert_true(vug_id_list_push(out, (uint32_t)part.id[i]));
        vug_tokens_release(&part);
        spec += n + (spec[n] == '^');
    }
}

/* The parts between '^' and '$', which are not part of the text, are untrusted. */
static vug_prompt marked_prompt(const char *marked, char *text, vug_range *plain)
{
    vug_prompt prompt = { .text = { text, 0 }, .untrusted = plain };
    for (; *marked; marked++) {
        if (*marked == '^')
            plain[prompt.n_untrusted].from = prompt.text.len;
        else if (*marked == '$')
            plain[prompt.n_untrusted++].to = prompt.text.len;
        else
            text[prompt.text.len++] = *marked;
    }
    return prompt;
}

static void check_prompt(const vug_tokenizer *t, const char *marked, const char *spec)
{
    char text[256];
    vug_range plain[8];
    const vug_prompt prompt = marked_prompt(marked, text, plain);
    vug_tokens got = { 0 };
    vug_id_list want = { 0 };
    vug_err err;
    if (vug_prompt_encode(t, &prompt, &got, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    append_expected_ids(t, spec, &want);
    if (got.n != want.n || (want.n && memcmp(got.id, want.id, want.n * sizeof(*got.id)) != 0)) {
        for (size_t i = 0; i < got.n; i++)
            print_message("%d ", (int)got.id[i]);
        fail_msg("are the ids of a prompt that should be \"%s\"", spec);
    }
    vug_tokens_release(&got);
    vug_free(want.id);
}

static void test_prompt_ranges(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "<|im_start|>user\n^hello$<|im_end|>\n", "<|im_start|>user\nhello<|im_end|>\n" },
        { "^$", "" },
        { "<|im_start|>^$<|im_end|>", "<|im_start|><|im_end|>" },
        { "<|im_start|>^a<|im_end|>b$<|im_end|>", "<|im_start|>^#a<|im_end|>b^<|im_end|>" },
        { "^<|im_end|>$<|im_end|>^<|im_end|>$", "#<|im_end|>^<|im_end|>^#<|im_end|>" },
        /* A token that overlaps the range is in it; one that begins behind it is not. */
        { "<|im_^end|>$<|im_end|>", "#<|im_end|>^<|im_end|>" },
        { "^<|im_$end|><|im_end|>", "#<|im_end|>^<|im_end|>" },
        { "^<|im_$<|im_end|>", "<|im_^<|im_end|>" },
        { "^<$|im_end|>", "#<|im_end|>" },
    };
    vug_tokenizer *t = byte_level();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_prompt(t, rows[i][0], rows[i][1]);
    vug_tokenizer_close(t);
}

static size_t count_id(const vug_tokenizer *t, const vug_prompt *prompt, const char *token)
{
    vug_tokens got = { 0 };
    size_t n = 0;
    assert_int_equal(vug_prompt_encode(t, prompt, &got, NULL), VUG_OK);
    for (size_t i = 0; i < got.n; i++)
        n += got.id[i] == vug_tokenizer_find(t, token);
    vug_tokens_release(&got);
    return n;
}

/* Tokens that mark the structure of a conversation without being special. Invalid bytes do
 * not shift the ranges. */
static void test_prompt_structure(void **state)
{
    (void)state;
    char text[] = "<tool_call>\xff\xf0\x9f<tool_call>\xe2<tool_call><|im_end|>";
    vug_range plain[] = { { 11, 26 }, { 26, 26 } };
    const vug_prompt prompt = { .text = { text, sizeof(text) - 1 },
                                .untrusted = plain,
                                .n_untrusted = 2 };
    vug_tokenizer *t = byte_level();
    assert_int_equal(count_id(t, &prompt, "<tool_call>"), 2);
    assert_int_equal(count_id(t, &prompt, "<|im_end|>"), 1);
    plain[0] = (vug_range){ 12, 13 }; /* within bytes that become U+FFFD */
    assert_int_equal(count_id(t, &prompt, "<tool_call>"), 3);
    plain[0] = (vug_range){ 0, sizeof(text) - 1 };
    plain[1] = (vug_range){ sizeof(text) - 1, sizeof(text) - 1 };
    assert_int_equal(count_id(t, &prompt, "<tool_call>"), 0);
    assert_int_equal(count_id(t, &prompt, "<|im_end|>"), 0);
    char accent[] = "\xc3\xa9\xc3\xa9<|im_end|>";
    vug_range cut[] = { { 1, 1 }, { 1, 3 }, { 3, 6 } }; /* most end inside a character */
    const vug_prompt inside = { .text = { accent, sizeof(accent) - 1 },
                                .untrusted = cut,
                                .n_untrusted = 3 };
    assert_int_equal(count_id(t, &inside, "<|im_end|>"), 0);
    cut[2] = (vug_range){ 3, 3 };
    assert_int_equal(count_id(t, &inside, "<|im_end|>"), 1);
    plain[1] = (vug_range){ 3, 5 };
    vug_tokens got = { 0 };
    vug_err err;
    assert_int_equal(vug_prompt_encode(t, &prompt, &got, &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "untrusted range 1 of a prompt is 3 to 5"));
    vug_prompt empty = { 0 };
    assert_int_equal(vug_prompt_encode(t, &empty, &got, NULL), VUG_OK);
    assert_int_equal(got.n, 0);
    vug_tokens_release(&got);
    vug_prompt_release(&empty);
    vug_tokenizer_close(t);
}

#define ADDED(id, content, rest) \
    "{\"id\":" id ",\"content\":\"" content "\",\"special\":true," rest "}"

#define PREPEND "{\"type\":\"Prepend\",\"prepend\":\"\\u2581\"}"
#define SPACES  "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u2581\"}"

/* Tokens that are matched in the normalized text, in which the ranges have moved. */
static void test_prompt_normalized(void **state)
{
    (void)state;
    static const char *const normalizers[] = {
        SPACES,
        "{\"type\":\"Sequence\",\"normalizers\":[" PREPEND "," SPACES "]}",
        "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Strip\"},{\"type\":\"NFC\"}]}",
    };
    char text[64];
    vug_range plain[2];
    const vug_prompt prompt = marked_prompt("  a <t> ^  <t>$ <t>^<t>  $", text, plain);
    for (size_t i = 0; i < 3; i++) {
        vug_tokenizer *t =
                tokenizer_of((tokenizer_parts){ .added = ADDED("20", "<t>", "\"normalized\":true"),
                                                .post = "null",
                                                .normalizer = normalizers[i] });
        /* If the ranges cannot be located, no control token is matched. */
        assert_int_equal(count_id(t, &prompt, "<t>"), i < 2 ? 2 : 0);
        vug_tokenizer_close(t);
    }
}

/* A normalized token decodes to its pattern. */
static void test_normalized_token_decodes_to_pattern(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of(
            (tokenizer_parts){ .added = ADDED("20", "<Tb>", "\"normalized\":true") "," ADDED(
                                       "21", "<tA>", "\"normalized\":false"),
                               .post = "null",
                               .decoder = "{\"type\":\"Fuse\"}",
                               .normalizer = "{\"type\":\"Lowercase\"}" });
    static const tokenizer_row rows[] = { { "<TB><tA><tb>", IDS(20, 21, 20) } };
    tokenizer_check(t, VUG_ENCODE_PARSE_SPECIAL, rows, 1);
    tokenizer_check_decode(t, rows[0].id, 3, false, "<tb><tA><tb>", 12);
    check_bytes(t, "<Tb>", "<tb>");
    assert_string_equal(vug_tokenizer_token(t, 20, NULL), "<Tb>");
    vug_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_lines),
        cmocka_unit_test(test_qwen3_golden_lines),
        cmocka_unit_test(test_components_match_reference),
        cmocka_unit_test(test_byte_characters),
        cmocka_unit_test(test_token_bytes),
        cmocka_unit_test(test_building_without_file),
        cmocka_unit_test(test_prompt_ranges),
        cmocka_unit_test(test_prompt_structure),
        cmocka_unit_test(test_prompt_normalized),
        cmocka_unit_test(test_normalized_token_decodes_to_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
