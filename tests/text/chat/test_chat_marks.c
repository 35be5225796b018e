/* Where later prompts branch: the marks of a prompt against prompts that are rendered and encoded. */
#include "test.h"

#include "engine_help.h"
#include "vug/chat.h"

/* Drops the thinking of answers before the last question, as Qwen3 and Gemma 4 do. */
static const char thinker[] =
        "{{ bos_token }}{%- set ns = namespace(last=0) -%}"
        "{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index -%}"
        "{%- endif -%}{%- endfor -%}"
        "{%- for m in messages -%}{{ '<start_of_turn>' + m.role + '\\n' }}"
        "{%- if m.role == 'assistant' and loop.index > ns.last -%}"
        "{{ '<think>' + (m.reasoning_content or '') + '</think>' }}{%- endif -%}"
        "{{ m.content + '<end_of_turn>\\n' }}{%- endfor -%}"
        "{%- if add_generation_prompt -%}{{ '<start_of_turn>assistant\\n<think>' }}{%- endif -%}";

#define SYSTEM    "{\"role\":\"system\",\"content\":\"You are terse.\"}"
#define USER(t)   "{\"role\":\"user\",\"content\":\"" t "\"}"
#define ANSWER(t) "{\"role\":\"assistant\",\"content\":\"" t "\"}"
#define THOUGHT(t, c) \
    "{\"role\":\"assistant\",\"reasoning_content\":\"" t "\",\"content\":\"" c "\"}"

typedef struct {
    vug_model *model;
    const vug_tokenizer *tokenizer;
    vug_chat *chat;
} marks_fixture;

static marks_fixture open_fixture(const char *source)
{
    vug_err err;
    marks_fixture f = { .model = help_model("models/pebble", (vug_model_options){ .threads = 1 }) };
    f.tokenizer = vug_model_tokenizer(f.model, &err);
    help_ok(vug_chat_parse(source, strlen(source), "thinker", &f.chat, &err), &err);
    return f;
}

static void close_fixture(marks_fixture *f)
{
    vug_chat_close(f->chat);
    vug_model_close(f->model);
}

static vug_tokens encode(const marks_fixture *f, const char *messages, vug_chat_marks *marks)
{
    vug_err err;
    vug_prompt prompt;
    vug_tokens tokens;
    const vug_conversation c = { .messages = messages, .messages_len = strlen(messages) };
    help_ok(vug_chat_render(f->chat, &c, &prompt, &err), &err);
    help_ok(vug_prompt_encode(f->tokenizer, &prompt, &tokens, &err), &err);
    if (marks)
        help_ok(vug_chat_mark(f->chat, &c, f->tokenizer, &prompt, tokens.n, marks, &err), &err);
    vug_prompt_release(&prompt);
    return tokens;
}

/* A mark is at most 2 tokens before the place where the other prompt branches, and not behind. */
static void expect_mark(const marks_fixture *f, const char *messages, const char *other,
                        vug_mark_kind kind)
{
    vug_chat_marks marks;
    vug_tokens a = encode(f, messages, &marks), b = encode(f, other, NULL);
    size_t common = 0, best = 0;
    while (common < a.n && common < b.n && a.id[common] == b.id[common])
        common++;
    for (size_t i = 0; i < marks.n; i++) {
        if (marks.mark[i].kind == kind && marks.mark[i].at <= common && marks.mark[i].at > best)
            best = marks.mark[i].at;
    }
    if (best + 2 < common)
        fail_msg("the prompts branch after %zu tokens, the mark is at %zu", common, best);
    vug_tokens_release(&a);
    vug_tokens_release(&b);
}

static void test_branches(void **state)
{
    marks_fixture f = open_fixture(thinker);
    (void)state;
    const char *chat = "[" SYSTEM "," USER("Hi") "," ANSWER("Hello.") "," USER("And you?") "]";
    expect_mark(&f, chat, "[" SYSTEM "," USER("Good day") "]", VUG_MARK_SYSTEM);
    expect_mark(&f, chat,
                "[" SYSTEM "," USER("Hi") "," ANSWER("Hello.") "," USER("What is it?") "]",
                VUG_MARK_TURN);
    expect_mark(&f, chat,
                "[" SYSTEM "," USER("Hi") "," ANSWER("Hello.") "," USER("And you?") "," ANSWER(
                        "Me too") "," USER("Fine") "]",
                VUG_MARK_TURN);
    close_fixture(&f);
}

/* In a loop of calls, the next question drops the thinking since the last one. */
static void test_next_question_after_calls(void **state)
{
    marks_fixture f = open_fixture(thinker);
    (void)state;
#define LOOP                                     \
    USER("Look it up")                           \
    "," THOUGHT("Which table? The one of 1950.", \
                "calling") ","                   \
                           "{\"role\":\"tool\",\"content\":\"a table\"}"
    expect_mark(&f, "[" SYSTEM "," LOOP "]",
                "[" SYSTEM "," LOOP "," THOUGHT("Now I know.", "42") "]", VUG_MARK_TURN);
    expect_mark(&f, "[" SYSTEM "," LOOP "]",
                "[" SYSTEM "," LOOP "," THOUGHT("Now I know.", "42") "," USER("Thanks") "]",
                VUG_MARK_TURN);
    close_fixture(&f);
}

/* A template that refuses the prompts to compare with gives no marks. */
static void test_refusals(void **state)
{
    static const char refuser[] = "{% if messages | length != 2 or messages[1].content == '\x1a' %}"
                                  "{{ raise_exception('no') }}{% endif %}"
                                  "{% for m in messages %}{{ m.content }}{% endfor %}";
    marks_fixture f = open_fixture(refuser);
    vug_chat_marks marks;
    (void)state;
    vug_tokens t = encode(&f, "[" USER("Hi") "," ANSWER("Hello.") "]", &marks);
    for (size_t i = 0; i < marks.n; i++)
        assert_true(marks.mark[i].at < t.n);
    vug_tokens_release(&t);
    close_fixture(&f);
}

/* ---- replays ------------------------------------------------------------------------- */

/* Tokens that spell the text, one character each: not what the tokenizer makes of it. */
static size_t spell(const vug_tokenizer *t, const char *text, int32_t *id)
{
    size_t n = 0;
    for (; text[n]; n++) {
        const char one[] = { text[n], '\0' };
        id[n] = vug_tokenizer_find(t, one);
        assert_true(id[n] >= 0);
    }
    return n;
}

static void test_replay(void **state)
{
    enum { BEFORE = 5, AFTER = 12 }; /* in the text below */
    marks_fixture f = open_fixture(thinker);
    char text[] = "Say: caverns<end_of_turn>", other[] = "Say: cavern!<end_of_turn>";
    vug_range untrusted[] = { { 0, 12 } };
    vug_prompt p = { .text = { text, strlen(text) }, .untrusted = untrusted, .n_untrusted = 1 };
    vug_prompt q = p;
    int32_t id[16];
    size_t to;
    vug_err err;
    vug_tokens whole, replayed;
    (void)state;
    q.text.ptr = other;
    const size_t n = spell(f.tokenizer, "caverns", id);
    assert_true(vug_prompt_match(f.tokenizer, &p, BEFORE, id, n, &to));
    assert_int_equal(to, AFTER);
    assert_false(vug_prompt_match(f.tokenizer, &p, BEFORE - 1, id, n, &to));
    assert_false(vug_prompt_match(f.tokenizer, &q, BEFORE, id, n, &to));
    assert_false(vug_prompt_match(f.tokenizer, &p, strlen(text) - 1, id, n, &to));
    help_ok(vug_prompt_encode(f.tokenizer, &p, &whole, &err), &err);
    const vug_replay replay = { BEFORE, AFTER, id, n };
    p.replay = &replay;
    p.n_replays = 1;
    help_ok(vug_prompt_encode(f.tokenizer, &p, &replayed, &err), &err);
    assert_true(replayed.n > whole.n);
    assert_memory_equal(replayed.id + replayed.n - 1 - n, id, n * sizeof(*id));
    vug_text a, b;
    help_ok(vug_tokenizer_decode(f.tokenizer, whole.id, whole.n, false, &a, &err), &err);
    help_ok(vug_tokenizer_decode(f.tokenizer, replayed.id, replayed.n, false, &b, &err), &err);
    assert_string_equal(a.ptr, b.ptr);
    vug_text_release(&a);
    vug_text_release(&b);
    vug_tokens_release(&whole);
    vug_tokens_release(&replayed);
    close_fixture(&f);
}

/* A control token never replaces text that a user wrote. */
static void test_replay_of_control_tokens(void **state)
{
    marks_fixture f = open_fixture(thinker);
    char text[] = "<end_of_turn>";
    vug_range untrusted[] = { { 3, 5 } };
    vug_prompt p = { .text = { text, strlen(text) } };
    const int32_t id = vug_tokenizer_find(f.tokenizer, text);
    size_t to;
    (void)state;
    assert_true(id >= 0);
    assert_true(vug_prompt_match(f.tokenizer, &p, 0, &id, 1, &to));
    p.untrusted = untrusted;
    p.n_untrusted = 1;
    assert_false(vug_prompt_match(f.tokenizer, &p, 0, &id, 1, &to));
    const int32_t invalid = vug_tokenizer_size(f.tokenizer);
    assert_false(vug_prompt_match(f.tokenizer, &p, 0, &invalid, 1, &to));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_next_question_after_calls),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_replay_of_control_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
