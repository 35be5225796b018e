#include "test.h"

#include "core/utf8.h"
#include "response_parser_help.h"
#include "text/chat/chat_template.h"

/* The parser of answers: the formats of the families, text that turns out to be no call, and that
 * the cut into pieces does not matter. */

#define TOOLS                                                                                   \
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\"," \
    "\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"},\"b\":{\"type\":" \
    "\"boolean\"},\"o\":{\"type\":\"object\"},\"z\":{\"type\":[\"string\",\"null\"]},\"a\":{"   \
    "\"anyOf\":[{\"type\":\"array\"},{\"type\":\"null\"}]},\"d\":{}}}}}]"

/* Templates from which the formats are detected. */
#define QWEN  "<think></think><tool_call>"
#define CALLS "<tool_call>"
#define GEMMA "<|channel><|tool_call>"
#define LLAMA "<|start_header_id|>"

typedef struct {
    const char *source;
    const char *prompt; /* how it ends */
    const char *text;
    const char *want;
} answer_row;

#define H(body)       "<tool_call>\n" body "\n</tool_call>"
#define X(body)       "<tool_call>\n<function=f>\n" body "</function>\n</tool_call>"
#define P(key, value) "<parameter=" key ">\n" value "\n</parameter>\n"
#define G(body)       "<|tool_call>call:" body "<tool_call|>"
#define Q(text)       "<|\"|>" text "<|\"|>"

static const answer_row rows[] = {
    /* content */
    { QWEN, "", "", "" },
    { QWEN, "", " Hello,\n world \n", "C: Hello,\n world \n\n" },
    { "", "", "<think>a</think><tool_call>{}", "C:<think>a</think><tool_call>{}\n" },
    { QWEN, "", "a < b, <thin, <<", "C:a < b, <thin, <<\n" },
    { QWEN, "", "\xe2\x82\xac\xf0\x9f\x92\x8e<", "C:\xe2\x82\xac\xf0\x9f\x92\x8e<\n" },
    /* thinking */
    { QWEN, "", "<think>\nhm\n\nso\n</think>\n\nYes.", "T:hm\n\nso\nC:Yes.\n" },
    { QWEN, "<think>\n", "hm\n</think>\n\n  Yes.", "T:hm\nC:  Yes.\n" },
    { QWEN, "<think>\n\n</think>\n\n", "Yes.", "C:Yes.\n" },
    { QWEN, "", "<think>\n\n</think>\n\nYes.\n", "C:Yes.\n\n" },
    { QWEN, "", "<think>cut\n", "T:cut\n\n" },
    { QWEN, "", "Say <think> and </think>.", "C:Say <think> and </think>.\n" },
    { QWEN, "", "<think>a <tool_call> b</think>c", "T:a <tool_call> b\nC:c\n" },
    { QWEN, "<think>", "</thin</think>x", "T:</thin\nC:x\n" },
    { GEMMA, "", "<|channel>thought\nhm\n<channel|>Yes.", "T:hm\nC:Yes.\n" },
    { GEMMA, "", "<|channel>thought\n<channel|>Yes.", "C:Yes.\n" },
    { GEMMA, "", "<|channel>thought<channel|>Yes.", "C:Yes.\n" },
    { GEMMA, "", "<|channel>though<channel|>Yes.", "T:though\nC:Yes.\n" },
    { GEMMA, "", "<|channel>thoughts differ<channel|>x", "T:thoughts differ\nC:x\n" },
    { GEMMA, "<|channel>thought\n", "hm\n<channel|>x", "T:hm\nC:x\n" },
    /* JSON between markers */
    { QWEN, "", H("{\"name\": \"f\", \"arguments\": {\"s\": \"x\"}}"), "F:f {\"s\": \"x\"}\n" },
    { CALLS, "", H("{\"name\":\"f\",\"arguments\":{}}"), "F:f {}\n" },
    { CALLS, "", H("{\"name\":\"f\"}"), "F:f {}\n" },
    { CALLS, "", H("{\"name\":\"f\",\"arguments\":null}"), "F:f {}\n" },
    { CALLS, "", H("{\"arguments\":{\"a\":[1,-2.5e3,true,null,{}]},\"name\":\"f\",\"id\":7}"),
      "F:f {\"a\":[1,-2.5e3,true,null,{}]}\n" },
    { CALLS, "", H("{\"name\":\"f\",\"arguments\":\"{\\\"s\\\":1}\"}"), "F:f {\"s\":1}\n" },
    { CALLS, "", H("{\"name\":\"\\u0066\",\"parameters\":{\"s\":\"}</tool_call>\"}}"),
      "F:f {\"s\":\"}</tool_call>\"}\n" },
    { CALLS, "", "I look.\n" H("{\"name\":\"f\"}") "\n" H("{\"name\":\"g\"}"),
      "C:I look.\nF:f {}\nF:g {}\n" },
    { CALLS, "", H("{\"name\":\"f\"}") "\nDone.", "C:Done.\nF:f {}\n" },
    { CALLS, "", "A\n" H("{\"name\":\"f\"}") "\nB", "C:A\n\nB\nF:f {}\n" },
    { CALLS, "", "<tool_call>{\"name\":\"f\"}", "F:f {}\n" },
    { CALLS, "", "<tool_call>{\"name\":\"f\"}</tool", "F:f {}\n" },
    { CALLS, "", "<tool_call>{\"name\":\"f\"}\n<tool_call>{\"name\":\"g\"}</tool_call>",
      "F:f {}\nF:g {}\n" },
    { CALLS, "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"x", "F:f {\"s\":\"x..\n" },
    /* not calls */
    { CALLS, "", "<tool_call>{\"nam", "C:<tool_call>{\"nam\n" },
    { CALLS, "", "a\n<tool_call>", "C:a\n<tool_call>\n" },
    { CALLS, "", H("{\"name\":\"\"}"), "C:" H("{\"name\":\"\"}") "\n" },
    { CALLS, "", H("{\"name\":1}"), "C:" H("{\"name\":1}") "\n" },
    { CALLS, "", H("{}"), "C:" H("{}") "\n" },
    { CALLS, "", H("[]"), "C:" H("[]") "\n" },
    { CALLS, "", H("{\"name\":\"f\",\"arguments\":[]}"),
      "C:" H("{\"name\":\"f\",\"arguments\":[]}") "\n" },
    { CALLS, "", H("{\"name\":\"f\",\"arguments\":{\"a\":01}}"),
      "C:" H("{\"name\":\"f\",\"arguments\":{\"a\":01}}") "\n" },
    { CALLS, "", H("{\"name\":\"f\",\"arguments\":{\"a\":1,\"a\":2}}"),
      "C:" H("{\"name\":\"f\",\"arguments\":{\"a\":1,\"a\":2}}") "\n" },
    { CALLS, "", H("{\"name\":\"f\",\"name\":\"g\"}"),
      "C:" H("{\"name\":\"f\",\"name\":\"g\"}") "\n" },
    { CALLS, "", H("{\"name\":\"f\",\"arguments\":{\"s\":\"\n\"}}"),
      "C:" H("{\"name\":\"f\",\"arguments\":{\"s\":\"\n\"}}") "\n" },
    { CALLS, "", H("{\"name\":\"f\"} x"), "C:" H("{\"name\":\"f\"} x") "\n" },
    { CALLS, "", "<tool_call>\n<tool_call>\n{\"name\":\"f\"}</tool_call>",
      "C:<tool_call>\nF:f {}\n" },
    { CALLS, "", "<tool_call>oops" H("{\"name\":\"f\"}"), "C:<tool_call>oops\nF:f {}\n" },
    { CALLS, "", H("{\"name\":\"f\",\"arguments\":{\"a\":}}") H("{\"name\":\"g\"}"),
      "C:" H("{\"name\":\"f\",\"arguments\":{\"a\":}}") "\nF:g {}\n" },
    /* functions and parameters */
    { QWEN, "", X(P("s", "two\nlines") P("n", "3")), "F:f {\"s\": \"two\\nlines\", \"n\": 3}\n" },
    { QWEN, "", X(""), "F:f {}\n" },
    { QWEN, "", X(P("s", "")), "F:f {\"s\": \"\"}\n" },
    { QWEN, "", X(P("s", "7") P("x", "7")), "F:f {\"s\": \"7\", \"x\": \"7\"}\n" },
    { QWEN, "", X(P("b", "True") P("z", "null") P("a", "None") P("o", "{\"k\": [1]}")),
      "F:f {\"b\": true, \"z\": null, \"a\": null, \"o\": {\"k\": [1]}}\n" },
    { QWEN, "", X(P("n", "three") P("z", "nulls") P("d", "4")),
      "F:f {\"n\": \"three\", \"z\": \"nulls\", \"d\": \"4\"}\n" },
    { QWEN, "", X(P("s", "<b>\n</param\n</x>\t\"\\")),
      "F:f {\"s\": \"<b>\\n</param\\n</x>\\t\\\"\\\\\"}\n" },
    { QWEN, "", X(P("s", "a") P("s", "b")), "C:" X(P("s", "a") P("s", "b")) "\n" },
    { QWEN, "", "<tool_call><function=>", "C:<tool_call><function=>\n" },
    { QWEN, "", "<tool_call><function=f>x", "C:<tool_call><function=f>x\n" },
    { QWEN, "", "<tool_call><tool_call>{\"name\":\"f\"}", "C:<tool_call>\nF:f {}\n" },
    { QWEN, "", "<tool_call><function=f><parameter=s>\nab", "F:f {\"s\": \"ab..\n" },
    /* Gemma 4 */
    { GEMMA, "", G("f{}"), "F:f {}\n" },
    { GEMMA, "", G("f{s:" Q("x, \"y\"\n{z}") ",n:-1.5,b:true}"),
      "F:f {\"s\": \"x, \\\"y\\\"\\n{z}\", \"n\": -1.5, \"b\": true}\n" },
    { GEMMA, "", G("f{a:[1,[],{" Q("k k") ":None,j:null}," Q("<|") "],o:{}}") G("g{}"),
      "F:f {\"a\": [1, [], {\"k k\": null, \"j\": null}, \"<|\"], \"o\": {}}\nF:g {}\n" },
    { GEMMA, "", G("f{ a : 1 , b : [ 2 , 3 ] }"), "F:f {\"a\": 1, \"b\": [2, 3]}\n" },
    { GEMMA, "", "<|channel>thought\nhm\n<channel|>" G("f{}"), "T:hm\nF:f {}\n" },
    { GEMMA, "", "<|tool_call>call:f{s:" Q("x") ",t:<|\"|>y", "F:f {\"s\": \"x\", \"t\": \"y..\n" },
    { GEMMA, "", G("f{a:}"), "C:" G("f{a:}") "\n" },
    { GEMMA, "", G("f{a:1,}"), "C:" G("f{a:1,}") "\n" },
    { GEMMA, "", G("f{a:b}"), "C:" G("f{a:b}") "\n" },
    { GEMMA, "", G("f{a:1,a:2}"), "C:" G("f{a:1,a:2}") "\n" },
    { GEMMA, "", G("f{:1}"), "C:" G("f{:1}") "\n" },
    { GEMMA, "", G("f{a:[1}"), "C:" G("f{a:[1}") "\n" },
    { GEMMA, "", G("{}"), "C:" G("{}") "\n" },
    { GEMMA, "", G("f"), "C:" G("f") "\n" },
    { GEMMA, "", "<|tool_call>xall:f{}<tool_call|>", "C:<|tool_call>xall:f{}<tool_call|>\n" },
    { GEMMA, "", G("f{a:<|tool_call>call:g{}"), "C:<|tool_call>call:f{a:\nF:g {}\n" },
    /* Llama 3 */
    { LLAMA, "", "{\"name\": \"f\", \"parameters\": {\"s\": 1}}", "F:f {\"s\": 1}\n" },
    { LLAMA, "", "\n<|python_tag|>{\"name\": \"f\"}; {\"name\": \"f\"}", "F:f {}\nF:f {}\n" },
    { LLAMA, "", "{\"name\": \"Ada\", \"age\": 7}", "C:{\"name\": \"Ada\", \"age\": 7}\n" },
    { LLAMA, "", "{\"name\": \"f\"} is it", "C:{\"name\": \"f\"} is it\n" },
    { LLAMA, "", "It is {\"name\": \"f\"}", "C:It is {\"name\": \"f\"}\n" },
    { LLAMA, "", "<|python_tag|>print(1)", "C:<|python_tag|>print(1)\n" },
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static bool is_utf8(vug_str s)
{
    uint32_t c;
    size_t n = 1;
    while (s.len && (n = vug_utf8_decode(s.ptr, s.len, &c)) > 0)
        s = vug_str_from(s, n);
    return n > 0;
}

/* Parses the answer in pieces of at most `most` bytes, of random length if `random` is not 0. */
static vug_buf parse_in_pieces(const answer_row *r, vug_str text, size_t most, uint64_t random)
{
    const vug_output_format format = vug_output_format_detect(vug_str_of(r->source));
    const bool open = vug_output_format_opens_thinking(&format, vug_str_of(r->prompt));
    answer_parts f = { 0 };
    vug_response_parser *parser;
    vug_err err;
    assert_int_equal(vug_response_parser_create_untokenized(&format, open, vug_str_of(TOOLS),
                                                            answer_parts_add, &f, &parser, &err),
                     VUG_OK);
    for (size_t at = 0; at < text.len;) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t n = most > 1 ? 1 + (size_t)(random >> 33) % most : 1;
        n = n < text.len - at ? n : text.len - at;
        assert_int_equal(vug_response_parser_feed(parser, (vug_str){ text.ptr + at, n }, &err),
                         VUG_OK);
        at += n;
    }
    assert_int_equal(vug_response_parser_finish(parser, &err), VUG_OK);
    vug_response_parser_destroy(parser);
    assert_false(f.broken);
    assert_false(f.cut && is_utf8(text));
    const vug_buf spelled = answer_parts_spell(&f);
    answer_parts_release(&f);
    return spelled;
}

static void test_formats_of_families_are_parsed(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        vug_buf got = parse_in_pieces(&rows[i], vug_str_of(rows[i].text), SIZE_MAX / 2, 0);
        if (strcmp(got.ptr ? got.ptr : "", rows[i].want) != 0)
            print_error("answer_row %zu: %s\n", i, rows[i].text);
        assert_string_equal(got.ptr ? got.ptr : "", rows[i].want);
        vug_buf_release(&got);
    }
}

static void assert_same(const answer_row *r, vug_str text)
{
    vug_buf whole = parse_in_pieces(r, text, text.len + 1, 0);
    for (uint64_t k = 0; k < 4; k++) {
        vug_buf pieces = parse_in_pieces(r, text, k ? 2 * k + 1 : 1, k);
        assert_int_equal(pieces.len, whole.len);
        if (whole.len)
            assert_memory_equal(pieces.ptr, whole.ptr, whole.len);
        vug_buf_release(&pieces);
    }
    vug_buf_release(&whole);
}

static void test_cut_into_pieces_does_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++)
        assert_same(&rows[i], vug_str_of(rows[i].text));
}

/* A mutated answer is parsed without an error, and the same way in pieces. */
static void test_mutated_answers_are_parsed_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        const size_t len = strlen(rows[i].text);
        for (size_t n = 0; n < len; n++)
            assert_same(&rows[i], (vug_str){ rows[i].text, n });
        char *copy = vug_strdup(rows[i].text);
        assert_non_null(copy);
        for (size_t at = 0; at < len; at++) {
            for (int bit = 0; bit < 8; bit++) {
                copy[at] = (char)(rows[i].text[at] ^ (1 << bit));
                vug_buf got = parse_in_pieces(&rows[i], (vug_str){ copy, len }, len, 0);
                vug_buf_release(&got);
            }
            copy[at] = rows[i].text[at];
        }
        vug_free(copy);
    }
}

/* Text without calls and thinking comes out unchanged. */
static void test_no_text_is_lost(void **state)
{
    (void)state;
    static const char *const pieces[] = { "<tool_call>", "</tool_call>", "{\"name\":", "\"f\"",
                                          "{",           "\n",           " ",          "</think>",
                                          "<function=",  "<|tool_call>", "call:",      "<",
                                          "x",           "<|\"|>",       "\xc3\xa9",   ";" };
    uint64_t random = 7;
    for (int k = 0; k < 20000; k++) {
        const answer_row *r = &rows[k % N_ROWS];
        const bool open = strstr(r->prompt, "<") != NULL;
        vug_buf text = { 0 }, want = { 0 };
        for (int i = 0; i < 12; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            vug_buf_puts(&text, pieces[(random >> 40) % (sizeof(pieces) / sizeof(pieces[0]))]);
        }
        vug_buf got = parse_in_pieces(r, (vug_str){ text.ptr, text.len }, 9, random);
        vug_buf_printf(&want, "C:%s\n", text.ptr);
        if (!open && !strstr(got.ptr, "\nF:") && strncmp(got.ptr, "F:", 2) != 0)
            assert_string_equal(got.ptr, want.ptr);
        vug_buf_release(&got);
        vug_buf_release(&want);
        vug_buf_release(&text);
    }
}

/* ---- tokens of markers -------------------------------------------------------------------- */

static void test_marker_that_is_a_token(void **state)
{
    (void)state;
    const vug_output_format format = vug_output_format_detect(vug_str_of(GEMMA));
    answer_parts f = { 0 };
    vug_response_parser *r;
    assert_int_equal(vug_response_parser_create_untokenized(&format, false, (vug_str){ 0 },
                                                            answer_parts_add, &f, &r, NULL),
                     VUG_OK);
    for (int m = 0; m < VUG_MARKER_COUNT; m++)
        r->by_id[m] = true;
#define TEXT(s) assert_int_equal(vug_response_parser_feed(r, vug_str_of(s), NULL), VUG_OK)
#define MARK(m) \
    assert_int_equal(vug_response_parser_feed_marker(r, VUG_MARKER_##m, true, NULL), VUG_OK)
    MARK(THINK);
    assert_true(vug_response_parser_is_thinking(r));
    TEXT("thought\nnot <channel|> here\n");
    MARK(THINK_END);
    assert_false(vug_response_parser_is_thinking(r));
    TEXT("I say <|tool_call>call:f{}<tool_call|>.");
    MARK(THINK_END); /* alone it has no meaning */
    MARK(CALL);
    TEXT("call:f{s:");
    MARK(QUOTE);
    TEXT("a <|\"|> b ");
    MARK(CALL_END); /* inside a string it is text */
    MARK(QUOTE);
    TEXT("}");
    MARK(CALL_END);
    MARK(CALL);
    TEXT("call:g{");
    MARK(CALL_END); /* too soon: no call */
    assert_int_equal(vug_response_parser_finish(r, NULL), VUG_OK);
    vug_buf got = answer_parts_spell(&f);
    assert_string_equal(got.ptr, "T:not <channel|> here\n"
                                 "C:I say <|tool_call>call:f{}<tool_call|>.<|tool_call>call:g{\n"
                                 "F:f {\"s\": \"a <|\\\"|> b <tool_call|>\"}\n");
    assert_false(f.broken);
    vug_buf_release(&got);
    answer_parts_release(&f);
    vug_response_parser_destroy(r);
}

/* The same with tokens, of pebble's vocabulary: it has the markers of calls, and spells those
 * of thinking and of other families. */
static void test_tokens_are_parsed(void **state)
{
    (void)state;
    vug_tokenizer *tokenizer;
    assert_int_equal(vug_tokenizer_open("models/pebble", &tokenizer, NULL), VUG_OK);
    assert_true(vug_tokenizer_find(tokenizer, "<tool_call>") >= 0);
    for (size_t i = 0; i < N_ROWS; i++) {
        const answer_row *r = &rows[i];
        vug_prompt prompt = { .text = { .ptr = vug_strdup(r->prompt), .len = strlen(r->prompt) } };
        answer_parts f = { 0 };
        vug_chat *chat;
        vug_response_parser *parser;
        vug_tokens tokens;
        assert_int_equal(vug_chat_parse(r->source, strlen(r->source), "t", &chat, NULL), VUG_OK);
        const vug_response_parser_options how = {
            chat, tokenizer, &prompt, TOOLS, sizeof(TOOLS) - 1, false, answer_parts_add, &f
        };
        assert_int_equal(vug_response_parser_create(&how, &parser, NULL), VUG_OK);
        assert_int_equal(vug_tokenizer_encode(tokenizer, r->text, strlen(r->text),
                                              VUG_ENCODE_PARSE_SPECIAL, &tokens, NULL),
                         VUG_OK);
        for (size_t k = 0; k < tokens.n; k++)
            assert_int_equal(vug_response_parser_push(parser, tokens.id[k], NULL), VUG_OK);
        assert_int_equal(vug_response_parser_push(
                                 parser, vug_tokenizer_find(tokenizer, "<end_of_turn>"), NULL),
                         VUG_OK);
        assert_int_equal(vug_response_parser_finish(parser, NULL), VUG_OK);
        vug_buf got = answer_parts_spell(&f);
        assert_string_equal(got.ptr, r->want);
        assert_false(f.broken || f.cut);
        vug_buf_release(&got);
        answer_parts_release(&f);
        vug_tokens_release(&tokens);
        vug_response_parser_destroy(parser);
        vug_chat_close(chat);
        vug_prompt_release(&prompt);
    }
    vug_tokenizer_close(tokenizer);
}

static bool accept_one_part(const vug_part *part, void *user)
{
    (void)part;
    ++*(int *)user;
    return false;
}

/* After on_part returned false it is not called again, and vug_response_parser_is_stopped says so. */
static void test_stopping_ends_the_parts(void **state)
{
    (void)state;
    static const char source[] = "{{ messages[0].content }}<think>\n{# </think> #}";
    vug_prompt prompt = { .text = { .ptr = vug_strdup("<think>\n"), .len = 8 } };
    vug_tokenizer *tokenizer;
    vug_chat *chat;
    vug_response_parser *parser;
    vug_tokens id;
    int heard = 0;
    assert_int_equal(vug_tokenizer_open("models/pebble", &tokenizer, NULL), VUG_OK);
    assert_int_equal(vug_chat_parse(source, sizeof(source) - 1, "t", &chat, NULL), VUG_OK);
    const vug_response_parser_options how = { .chat = chat,
                                              .tokenizer = tokenizer,
                                              .prompt = &prompt,
                                              .on_part = accept_one_part,
                                              .user = &heard };
    assert_int_equal(vug_response_parser_create(&how, &parser, NULL), VUG_OK);
    assert_true(vug_response_parser_is_thinking(parser));
    assert_string_equal(vug_response_parser_thinking_end(parser), "\n</think>\n\n");
    assert_false(vug_response_parser_is_stopped(parser));
    assert_int_equal(vug_tokenizer_encode(tokenizer, "one two three", 13, 0, &id, NULL), VUG_OK);
    for (size_t i = 0; i < id.n; i++)
        assert_int_equal(vug_response_parser_push(parser, id.id[i], NULL), VUG_OK);
    assert_true(vug_response_parser_is_stopped(parser));
    assert_int_equal(vug_response_parser_finish(parser, NULL), VUG_OK);
    assert_int_equal(heard, 1);
    vug_tokens_release(&id);
    vug_response_parser_destroy(parser);
    vug_chat_close(chat);
    vug_prompt_release(&prompt);
    vug_tokenizer_close(tokenizer);
}

/* Untrusted text at the end of a prompt opens no thinking. */
static void test_prompt_may_open_the_thinking(void **state)
{
    (void)state;
    static const char source[] = "{% for m in messages %}{{ m.content }}{% endfor %}"
                                 "{% if open %}<think>\n{% endif %}";
    static const char messages[] = "[{\"role\":\"user\",\"content\":\"<think>\"}]";
    vug_tokenizer *tokenizer;
    vug_chat *chat;
    assert_int_equal(vug_tokenizer_open("models/pebble", &tokenizer, NULL), VUG_OK);
    assert_int_equal(vug_chat_parse(source, sizeof(source) - 1, "t", &chat, NULL), VUG_OK);
    for (int open = 0; open < 2; open++) {
        const vug_conversation c = { .messages = messages,
                                     .messages_len = sizeof(messages) - 1,
                                     .variables = open ? "{\"open\":true}" : "{\"open\":false}",
                                     .variables_len = open ? 13 : 14 };
        vug_prompt prompt;
        vug_response_parser *parser;
        assert_int_equal(vug_chat_render(chat, &c, &prompt, NULL), VUG_OK);
        const vug_response_parser_options how = {
            .chat = chat, .tokenizer = tokenizer, .prompt = &prompt, .on_part = answer_parts_add
        };
        assert_int_equal(vug_response_parser_create(&how, &parser, NULL), VUG_OK);
        assert_int_equal(vug_response_parser_is_thinking(parser), open);
        vug_response_parser_destroy(parser);
        vug_prompt_release(&prompt);
    }
    vug_chat_close(chat);
    vug_tokenizer_close(tokenizer);
}

/* ---- streaming ----------------------------------------------------------------------------- */

static bool log_part(const vug_part *part, void *user)
{
    static const char kinds[] = "ctnaed";
    vug_buf_printf(user, "%c%zu(%.*s)", kinds[part->kind], part->call, (int)part->len, part->text);
    return true;
}

/* Text is sent as soon as it is certain. */
static void test_parts_come_while_text_does(void **state)
{
    (void)state;
    static const char *const pieces[] = { "Let ",
                                          "me\n",
                                          "<tool",
                                          "_call>",
                                          "{\"name\":\"f\"",
                                          ",\"arguments\":{\"s\":",
                                          "\"\xe2\x82",
                                          "\xac\"}",
                                          "}",
                                          "</tool_call>",
                                          "<tool_call>{\"name\":\"g\",",
                                          "oops" };
    static const char *const want[] = {
        "c0(Let)", "c0( me)",     "",       "",
        "n0(f)",   "a0({\"s\":)", "a0(\")", "a0(\xe2\x82\xac\"})",
        "",        "e0()",        "n1(g)",  "d1()c1(\n<tool_call>{\"name\":\"g\",oops)"
    };
    const vug_output_format format = vug_output_format_detect(vug_str_of(CALLS));
    vug_buf log = { 0 };
    vug_response_parser *r;
    assert_int_equal(vug_response_parser_create_untokenized(&format, false, (vug_str){ 0 },
                                                            log_part, &log, &r, NULL),
                     VUG_OK);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        log.len = 0;
        vug_buf_puts(&log, "");
        assert_int_equal(vug_response_parser_feed(r, vug_str_of(pieces[i]), NULL), VUG_OK);
        assert_int_equal(log.len, strlen(want[i]));
        if (log.len)
            assert_memory_equal(log.ptr, want[i], log.len);
    }
    vug_buf_release(&log);
    vug_response_parser_destroy(r);
}

static bool accept_first_part(const vug_part *part, void *user)
{
    (void)part;
    ++*(int *)user;
    return false;
}

static void test_stopped_parser_ignores_input(void **state)
{
    (void)state;
    const vug_output_format format = vug_output_format_detect(vug_str_of(QWEN));
    int calls = 0;
    vug_response_parser *r;
    assert_int_equal(vug_response_parser_create_untokenized(&format, false, (vug_str){ 0 },
                                                            accept_first_part, &calls, &r, NULL),
                     VUG_OK);
    assert_int_equal(vug_response_parser_feed(
                             r, vug_str_of("<think>a</think>b" H("{\"name\":\"f\"}")), NULL),
                     VUG_OK);
    assert_int_equal(vug_response_parser_feed_marker(r, VUG_MARKER_CALL, false, NULL), VUG_OK);
    assert_int_equal(vug_response_parser_finish(r, NULL), VUG_OK);
    assert_int_equal(calls, 1);
    vug_response_parser_destroy(r);
}

static void test_bad_tools_are_refused(void **state)
{
    (void)state;
    const vug_output_format format = vug_output_format_detect(vug_str_of(QWEN));
    vug_response_parser *r = NULL;
    vug_err err;
    assert_int_equal(vug_response_parser_create_untokenized(&format, false, vug_str_of("{}"),
                                                            answer_parts_add, NULL, &r, &err),
                     VUG_FORMAT);
    assert_string_equal(err.msg, "tools: expected an array of tools");
    assert_int_equal(vug_response_parser_create_untokenized(&format, false, vug_str_of("["),
                                                            answer_parts_add, NULL, &r, &err),
                     VUG_FORMAT);
    assert_null(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_of_families_are_parsed),
        cmocka_unit_test(test_cut_into_pieces_does_not_matter),
        cmocka_unit_test(test_mutated_answers_are_parsed_alike),
        cmocka_unit_test(test_no_text_is_lost),
        cmocka_unit_test(test_marker_that_is_a_token),
        cmocka_unit_test(test_parts_come_while_text_does),
        cmocka_unit_test(test_tokens_are_parsed),
        cmocka_unit_test(test_stopping_ends_the_parts),
        cmocka_unit_test(test_prompt_may_open_the_thinking),
        cmocka_unit_test(test_stopped_parser_ignores_input),
        cmocka_unit_test(test_bad_tools_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
