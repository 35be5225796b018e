#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/os.h"
#include "text/chat.h"

/* Gemma turns: what the vendor's template rendered, then what it was not asked. */

enum { MAX_MESSAGES = 8 };

/* The text of a content: a string, or a list of parts, which the template trims
 * one by one and puts together. */
static const char *content_of(const vug_jv *content, vug_arena *arena)
{
    vug_buf joined = { 0 };
    if (vug_jv_is(content, VUG_JSON_STRING))
        return vug_arena_copy(arena, content->str).ptr;
    for (const vug_jv *part = content->child; part; part = part->next) {
        const vug_str text = vug_jv_get(part, "text")->str;
        assert_true(text.len > 0 && text.ptr[0] != ' ' && text.ptr[text.len - 1] != ' ');
        vug_buf_append(&joined, text.ptr, text.len);
    }
    const vug_str copy = vug_arena_copy(arena, (vug_str){ joined.ptr, joined.len });
    vug_buf_release(&joined);
    return copy.ptr;
}

static void check_line(vug_str line)
{
    vug_arena arena = { 0 };
    vug_message message[MAX_MESSAGES];
    const vug_jv *root = NULL;
    size_t n = 0;
    assert_int_equal(vug_json_tree(line, "chat.jsonl", &arena, &root, NULL), VUG_OK);
    for (const vug_jv *m = vug_jv_get(root, "messages")->child; m; m = m->next) {
        assert_true(n < MAX_MESSAGES);
        message[n++] = (vug_message){
            .role = vug_arena_copy(&arena, vug_jv_get(m, "role")->str).ptr,
            .content = content_of(vug_jv_get(m, "content"), &arena),
        };
    }
    const vug_jv *open = vug_jv_get(vug_jv_get(root, "options"), "add_generation_prompt");
    const vug_jv *want = vug_jv_get(root, "text");
    vug_text text = { 0 };
    vug_err err = { 0 };
    const vug_status st =
            vug_chat_turns("gemma3", "<bos>", message, n, !open || open->boolean, &text, &err);
    assert_int_equal(st, want ? VUG_OK : VUG_ARGUMENT);
    if (want) {
        assert_int_equal(text.len, want->str.len);
        assert_memory_equal(text.ptr, want->str.ptr, text.len);
    } else {
        assert_non_null(strstr(err.msg, n ? "must alternate" : "at least one message"));
    }
    vug_text_release(&text);
    vug_arena_release(&arena);
}

static void test_golden(void **state)
{
    (void)state;
    vug_text file = { 0 };
    int lines = 0;
    assert_int_equal(vug_read_file("tests/golden/text/chat.jsonl", 1 << 20, &file, NULL), VUG_OK);
    for (const char *at = file.ptr, *end; (end = strchr(at, '\n')); at = end + 1, lines++)
        check_line((vug_str){ at, (size_t)(end - at) });
    assert_int_equal(lines, 13);
    vug_text_release(&file);
}

static void expect(const char *family, const vug_message *message, size_t n, const char *want)
{
    vug_text text = { 0 };
    assert_int_equal(vug_chat_turns(family, "<bos>", message, n, true, &text, NULL), VUG_OK);
    assert_string_equal(text.ptr, want);
    vug_text_release(&text);
}

static void test_families(void **state)
{
    (void)state;
    static const char *const known[] = { "gemma", "gemma2", "gemma3" };
    const vug_message message[] = {
        { "system", " S " }, { "user", " Hi " }, { "model", "Yo " }, { "user", "Bye" }
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        assert_true(vug_chat_known(known[i]));
        /* The system text is not trimmed. */
        expect(known[i], message, 4,
               "<bos><start_of_turn>user\n S \n\nHi<end_of_turn>\n<start_of_turn>model\nYo"
               "<end_of_turn>\n<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n");
    }
    vug_text text = { 0 };
    vug_err err;
    assert_false(vug_chat_known("llama9"));
    assert_int_equal(vug_chat_turns("llama9", "", message, 4, true, &text, &err), VUG_UNSUPPORTED);
    assert_string_equal(err.msg, "no chat format is known for \"llama9\"");
}

static void test_trim(void **state)
{
    (void)state;
    /* All that Python calls whitespace, and two that look like it: U+200B, U+180E. */
    const vug_message m = { "user", "\t\n\v\f\r\x1c\x1d\x1e\x1f \xc2\x85\xc2\xa0\xe1\x9a\x80"
                                    "\xe2\x80\x80\xe2\x80\x8a\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf"
                                    "\xe2\x81\x9f\xe3\x80\x80"
                                    "\xe2\x80\x8b a b \xe1\xa0\x8e"
                                    "\xe3\x80\x80 \n" };
    expect("gemma3", &m, 1,
           "<bos><start_of_turn>user\n\xe2\x80\x8b a b \xe1\xa0\x8e<end_of_turn>\n"
           "<start_of_turn>model\n");
    const vug_message blank = { "user", " \n \xc2\xa0" };
    expect("gemma3", &blank, 1, "<bos><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n");
    const vug_message only_system = { "system", "S" };
    expect("gemma3", &only_system, 1, "<bos><start_of_turn>model\n");
}

static void test_roles(void **state)
{
    (void)state;
    const struct {
        vug_message message[3];
        size_t n;
        const char *sentence;
    } row[] = {
        { { { "assistant", "a" } }, 1, "message 1 is of role \"assistant\" where \"user\"" },
        { { { "user", "a" }, { "user", "b" } }, 2, "message 2 is of role \"user\" where \"assist" },
        { { { "user", "a" }, { "system", "b" } }, 2, "message 2 is of role \"system\"" },
        { { { "system", "a" }, { "system", "b" } }, 2, "message 2 is of role \"system\"" },
        { { { "user", "a" }, { "tool", "b" } }, 2, "message 2 is of role \"tool\"" },
        { { { "user", NULL } }, 1, "message 1 lacks its role or its content" },
        { { { NULL, "a" } }, 1, "message 1 lacks its role or its content" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        vug_text text = { 0 };
        vug_err err;
        assert_int_equal(vug_chat_turns("gemma3", "", row[i].message, row[i].n, true, &text, &err),
                         VUG_ARGUMENT);
        assert_non_null(strstr(err.msg, row[i].sentence));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
