/* The endpoints of `vug serve`, with pebble: what clients ask and what they get. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "scratch.h"
#include "serve_help.h"

#define WEATHER                                                                            \
    "{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"The " \
    "weather of a city\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{"   \
    "\"type\":\"string\"}},\"required\":[\"city\"],\"additionalProperties\":false}}}"

#define UNGUARDED(name, strict)                                                         \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"strict\":" strict "," \
    "\"parameters\":{\"type\":\"object\",\"unevaluatedItems\":false}}}"

#define CHAT(text, more) \
    "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]" more "}"

static int set_up(void **state)
{
    static serving s; /* NOLINT: one for all tests */
    s = SERVE("--alias", "org/small", "--max-tokens", "200");
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    return serve_end(*state) == 0 ? 0 : -1;
}

static const char *text_of(const vug_buf *buf)
{
    return buf->ptr ? buf->ptr : "";
}

/* A stream says what the whole answer says. */
static void assert_same(const serving *s, const char *request)
{
    char body[4096];
    heard whole = serve_hear_whole(s, request);
    (void)snprintf(body, sizeof(body),
                   "%.*s,\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
                   (int)strlen(request) - 1, request);
    heard stream = serve_hear(s, body);
    for (size_t i = 0; i < HEARD_CHOICES; i++) {
        assert_string_equal(text_of(&whole.content[i]), text_of(&stream.content[i]));
        assert_string_equal(text_of(&whole.thinking[i]), text_of(&stream.thinking[i]));
        assert_string_equal(text_of(&whole.calls[i]), text_of(&stream.calls[i]));
        assert_string_equal(text_of(&whole.logprobs[i]), text_of(&stream.logprobs[i]));
        assert_string_equal(whole.finish[i], stream.finish[i]);
    }
    assert_int_equal(whole.prompt_tokens, stream.prompt_tokens);
    assert_int_equal(whole.completion_tokens, stream.completion_tokens);
    heard_release(&whole);
    heard_release(&stream);
}

static void test_stream_is_whole(void **state)
{
    static const char *const requests[] = {
        CHAT("What is vug?", ",\"seed\":1"),
        CHAT("Tell me a story", ",\"seed\":7,\"temperature\":1.5,\"n\":3,\"max_tokens\":40"),
        CHAT("What is vug?", ",\"seed\":2,\"logprobs\":true,\"top_logprobs\":2"),
        CHAT("What is vug?", ",\"seed\":2,\"stop\":\"engine in\",\"logprobs\":true"),
        CHAT("What is the weather in Paris?", ",\"seed\":1,\"tools\":[" WEATHER "]"),
        CHAT("Hello", ",\"seed\":1,\"tools\":[" WEATHER "],\"tool_choice\":\"required\""),
        CHAT("Hello", ",\"seed\":1,\"response_format\":{\"type\":\"json_object\"}"),
        CHAT("Hello", ",\"seed\":1,\"guided_regex\":\"[a-z]{3}( [a-z]{2,4}){5}\""),
    };
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        assert_same(*state, requests[i]);
}

static void test_stream_without_usage(void **state)
{
    heard h = serve_hear(*state, CHAT("What is vug?", ",\"stream\":true,\"max_tokens\":3,"
                                                      "\"stream_options\":null"));
    assert_int_equal(h.prompt_tokens, -1);
    assert_string_equal(h.finish[0], "length");
    heard_release(&h);
}

static void test_stop(void **state)
{
    /* Across tokens; the text before it stays whole. */
    heard all = serve_hear_whole(*state, CHAT("What is vug?", ",\"temperature\":0"));
    heard cut = serve_hear_whole(*state,
                                 CHAT("What is vug?", ",\"temperature\":0,\"stop\":[\"ngin\"]"));
    const char *at = strstr(all.content[0].ptr, "ngin");
    assert_non_null(at);
    assert_int_equal(cut.content[0].len, at - all.content[0].ptr);
    assert_memory_equal(cut.content[0].ptr, all.content[0].ptr, cut.content[0].len);
    assert_string_equal(cut.finish[0], "stop");
    heard_release(&all);
    heard_release(&cut);
}

static void test_tools(void **state)
{
    static const struct {
        const char *request, *calls, *finish;
    } rows[] = {
        { CHAT("What is the weather in Paris?", ",\"temperature\":0,\"tools\":[" WEATHER "]"),
          "get_weather({\"city\": \"Paris\"})", "tool_calls" },
        { CHAT("What is the weather in Paris?", ",\"temperature\":0,\"tools\":[" WEATHER "],"
                                                "\"tool_choice\":\"required\""),
          "get_weather({\"city\": \"Paris\"})", "tool_calls" },
        { CHAT("What is the weather in Paris?",
               ",\"temperature\":0,\"tools\":[" WEATHER "],\"tool_choice\":{\"type\":\"function\","
               "\"function\":{\"name\":\"get_weather\"}}"),
          "get_weather({\"city\": \"Paris\"})", "stop" },
        { CHAT("What is the weather in Paris?", ",\"temperature\":0,\"tools\":[" WEATHER "],"
                                                "\"tool_choice\":\"none\""),
          "", "stop" },
        { CHAT("What is the weather in Paris?", ",\"temperature\":0,\"tools\":[]"), "", "stop" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        heard h = serve_hear_whole(*state, rows[i].request);
        assert_string_equal(text_of(&h.calls[0]), rows[i].calls);
        assert_string_equal(h.finish[0], rows[i].finish);
        assert_true((h.content[0].len > 0) == !rows[i].calls[0]);
        heard_release(&h);
    }
}

static void test_schema(void **state)
{
    for (int seed = 0; seed < 8; seed++) {
        char body[1024];
        const vug_jv *root;
        vug_arena arena = { 0 };
        (void)snprintf(body, sizeof(body),
                       CHAT("Anything",
                            ",\"temperature\":2,\"seed\":%d,\"response_format\":{\"type\":"
                            "\"json_schema\",\"json_schema\":{\"name\":\"p\",\"schema\":{"
                            "\"type\":\"object\",\"properties\":{\"age\":{\"type\":"
                            "\"integer\",\"minimum\":0,\"maximum\":150},\"kind\":{\"enum\":["
                            "\"cat\",\"dog\"]}},\"required\":[\"age\",\"kind\"],"
                            "\"additionalProperties\":false}}}"),
                       seed);
        heard h = serve_hear_whole(*state, body);
        assert_string_equal(h.finish[0], "stop");
        assert_int_equal(vug_json_tree((vug_str){ h.content[0].ptr, h.content[0].len }, "content",
                                       &arena, &root, NULL),
                         VUG_OK);
        assert_int_equal(root->n, 2);
        assert_true(vug_jv_get(root, "age")->is_int && vug_jv_get(root, "age")->i64 <= 150);
        const vug_str kind = vug_jv_get(root, "kind")->str;
        assert_true(vug_str_is(kind, "cat") || vug_str_is(kind, "dog"));
        vug_arena_release(&arena);
        heard_release(&h);
    }
}

static void test_errors(void **state)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *type, *param, *code, *message;
    } rows[] = {
        { "/v1/chat/completions",
          "{\"model\":\"gpt\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", 404,
          "not_found_error", "model", "model_not_found", "gpt" },
        { "/v1/chat/completions", CHAT("x", ",\"max_tokens\":5000"), 400, "invalid_request_error",
          "messages", "context_length_exceeded",
          "This model's maximum context length is 2048 tokens. However, you requested 5010 tokens "
          "(10 in the messages, 5000 in the completion). Please reduce the length of the messages "
          "or completion." },
        { "/v1/chat/completions", "{\"model\":", 400, "invalid_request_error", NULL, NULL, "end" },
        { "/v1/chat/completions", CHAT("x", ",\"temperature\":\"hot\",\"stream\":true"), 400,
          "invalid_request_error", "temperature", NULL, "temperature" },
        { "/v1/chat/completions",
          CHAT("x", ",\"stream\":true,\"response_format\":{\"type\":\"json_schema\","
                    "\"json_schema\":{\"name\":\"x\",\"schema\":{\"unevaluatedItems\":false}}}"),
          400, "invalid_request_error", "response_format", NULL, "unevaluatedItems" },
        { "/v1/chat/completions",
          CHAT("x", ",\"tool_choice\":\"required\",\"tools\":[" WEATHER
                    ",{\"type\":\"function\",\"function\":{\"name\":\"g\",\"parameters\":{"
                    "\"type\":\"object\",\"properties\":{\"a\":{\"unevaluatedItems\":false}}}}}]"),
          400, "invalid_request_error", "tools[1].function.parameters", NULL, "unevaluatedItems" },
        { "/v1/chat/completions",
          CHAT("x",
               ",\"tools\":[" WEATHER "," UNGUARDED("g", "false") "," UNGUARDED("h", "true") "]"),
          400, "invalid_request_error", "tools[2].function.parameters", NULL, "tool 'h'" },
        { "/v1/completions", "{\"model\":\"pebble\",\"prompt\":[1,999999]}", 400,
          "invalid_request_error", "prompt", NULL, "999999" },
        { "/apply-template", CHAT("x", ",\"chat_template_kwargs\":{\"messages\":1}"), 400,
          "invalid_request_error", "chat_template_kwargs", NULL, "'messages'" },
        { "/v1/models/nothing/here", NULL, 404, "not_found_error", "model", "model_not_found",
          "nothing/here" },
    };
    static const char *const good[] = {
        CHAT("x", ",\"max_tokens\":1,\"tools\":[" WEATHER "," UNGUARDED("g", "null") "]"),
        CHAT("x",
             ",\"max_tokens\":1,\"tools\":[" WEATHER "," UNGUARDED(
                     "h",
                     "true") "],"
                             "\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{"
                             "\"mode\":"
                             "\"auto\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
                             "\"get_weather\"}}]}}"),
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        said a = serve_ask(*state, "/v1/chat/completions", good[i]);
        assert_int_equal(a.status, 200);
        said_release(&a);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        said a = serve_ask(*state, rows[i].path, rows[i].body);
        assert_int_equal(a.status, rows[i].status);
        said_is(&a, "error.type", rows[i].type);
        said_is(&a, "error.param", rows[i].param ? rows[i].param : "null");
        said_is(&a, "error.code", rows[i].code ? rows[i].code : "null");
        if (!strstr(a.text.ptr, rows[i].message))
            fail_msg("no '%s' in %s", rows[i].message, a.text.ptr);
        said_release(&a);
    }
}

static void test_continues(void **state)
{
    char body[2048];
    said a = serve_ask(*state, "/v1/chat/completions", CHAT("Who are you?", ",\"temperature\":0"));
    const double before =
            said_number(&a, "usage.prompt_tokens") + said_number(&a, "usage.completion_tokens");
    const vug_str text = said_at(&a, "choices.0.message.content")->str;
    (void)snprintf(body, sizeof(body),
                   "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"Who are "
                   "you?\"},{\"role\":\"assistant\",\"content\":\"%.*s\"},{\"role\":\"user\","
                   "\"content\":\"What can you do?\"}]}",
                   (int)text.len, text.ptr);
    said b = serve_ask(*state, "/v1/chat/completions", body);
    const double cached = said_number(&b, "usage.prompt_tokens_details.cached_tokens");
    assert_true(cached >= before - 1 && cached < said_number(&b, "usage.prompt_tokens"));
    /* The same again: all but the last token, whose logits are wanted. */
    said c = serve_ask(*state, "/v1/chat/completions", body);
    assert_true(said_number(&c, "usage.prompt_tokens_details.cached_tokens") ==
                said_number(&b, "usage.prompt_tokens") - 1);
    said_release(&a);
    said_release(&b);
    said_release(&c);
}

/* A tool's result in the role of today, and in that of before. */
static void test_tool_results(void **state)
{
    static const char *const rows[] = {
        "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"{\\\"degrees\\\": 21}\"}",
        "{\"role\" :\"function\" ,\"name\":\"get_weather\",\"content\":\"{\\\"degrees\\\": 21}\"}",
    };
    double tokens[2];
    for (size_t i = 0; i < 2; i++) {
        char body[2048];
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"org/small\",\"temperature\":0,\"tools\":[" WEATHER
                       "],\"messages\":[{\"role\":\"user\",\"content\":\"What is the weather in "
                       "Paris?\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{"
                       "\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":"
                       "\"get_weather\",\"arguments\":\"{\\\"city\\\": \\\"Paris\\\"}\"}}]},%s]}",
                       rows[i]);
        said a = serve_ask(*state, "/v1/chat/completions", body);
        assert_int_equal(a.status, 200);
        said_is(&a, "model", "org/small");
        said_is(&a, "choices.0.finish_reason", "stop");
        tokens[i] = said_number(&a, "usage.prompt_tokens");
        said_release(&a);
    }
    assert_true(tokens[0] == tokens[1]);
}

static void test_completions(void **state)
{
    said a = serve_ask(*state, "/v1/completions",
                       "{\"model\":\"pebble\",\"prompt\":[\"Once upon a time\",\"vug is\"],"
                       "\"max_tokens\":3,\"temperature\":0,\"n\":2}");
    assert_int_equal(a.status, 200);
    said_is(&a, "object", "text_completion");
    assert_int_equal(said_at(&a, "choices")->n, 4);
    assert_true(
            vug_str_equal(said_at(&a, "choices.0.text")->str, said_at(&a, "choices.1.text")->str));
    assert_true(said_number(&a, "choices.3.index") == 3);
    assert_true(said_number(&a, "usage.completion_tokens") == 12);
    said b = serve_ask(*state, "/v1/completions",
                       "{\"model\":\"pebble\",\"prompt\":\"Once upon a time\",\"max_tokens\":3,"
                       "\"temperature\":0,\"echo\":true,\"logprobs\":2}");
    char text[256];
    (void)snprintf(text, sizeof(text), "Once upon a time%.*s",
                   VUG_STR_ARG(said_at(&a, "choices.0.text")->str));
    said_is(&b, "choices.0.text", text);
    said_is(&b, "choices.0.logprobs.token_logprobs.0", "null");
    said_is(&b, "choices.0.logprobs.tokens.0", "<bos>");
    assert_true(said_number(&b, "choices.0.logprobs.text_offset.1") == 0);
    assert_true(said_number(&b, "choices.0.logprobs.text_offset.2") == 4);
    assert_int_equal(said_at(&b, "choices.0.logprobs.tokens")->n, 8);
    assert_true(said_number(&b, "usage.prompt_tokens_details.cached_tokens") == 0);
    said_release(&a);
    said_release(&b);
}

/* What echo says of a token is what was said when it was generated. */
static void test_echo_agrees(void **state)
{
    char body[1024];
    said a = serve_ask(*state, "/v1/completions",
                       "{\"model\":\"pebble\",\"prompt\":\"vug is\",\"max_tokens\":5,"
                       "\"temperature\":0,\"logprobs\":3}");
    const vug_str text = said_at(&a, "choices.0.text")->str;
    (void)snprintf(body, sizeof(body),
                   "{\"model\":\"pebble\",\"prompt\":\"vug is%.*s\",\"max_tokens\":0,"
                   "\"echo\":true,\"logprobs\":3}",
                   VUG_STR_ARG(text));
    said b = serve_ask(*state, "/v1/completions", body);
    const vug_jv *x = said_at(&a, "choices.0.logprobs.token_logprobs")->child;
    const vug_jv *y = said_at(&b, "choices.0.logprobs.token_logprobs")->child;
    const size_t skip = said_at(&b, "choices.0.logprobs.tokens")->n - 5;
    for (size_t i = 0; i < skip; i++)
        y = y->next;
    for (; x; x = x->next, y = y->next)
        assert_float_equal(x->f64, y->f64, 1e-4);
    assert_true(said_number(&b, "usage.completion_tokens") == 0);
    said_release(&a);
    said_release(&b);
}

/* What /apply-template says is as good as the chat, though it begins with <bos> itself. */
static void test_a_rendered_prompt(void **state)
{
    static const char *const paths[] = { "/v1/completions", "/tokenize" };
    said chat = serve_ask(*state, "/v1/chat/completions",
                          "{\"model\":\"pebble\",\"max_tokens\":1,"
                          "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    for (size_t i = 0; i < 2; i++) {
        said a =
                serve_ask(*state, paths[i],
                          "{\"model\":\"pebble\",\"max_tokens\":1,\"prompt\":\"<bos><start_of_turn>"
                          "user\\nHi<end_of_turn>\\n<start_of_turn>model\\n\"}");
        assert_int_equal(a.status, 200);
        assert_true(said_number(&a, i ? "count" : "usage.prompt_tokens") ==
                    said_number(&chat, "usage.prompt_tokens"));
        said_release(&a);
    }
    said_release(&chat);
    /* What was spelled stays, as does one that is no <bos>. */
    static const struct {
        const char *prompt;
        size_t n;
    } rows[] = { { "<bos><bos>Hi", 3 }, { "<eos><eos>", 3 }, { "<bos>", 1 }, { "Hi", 2 } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char body[100];
        (void)snprintf(body, sizeof(body), "{\"prompt\":\"%s\"}", rows[i].prompt);
        said a = serve_ask(*state, "/tokenize", body);
        assert_int_equal(said_at(&a, "tokens")->n, rows[i].n);
        said_release(&a);
    }
}

/* The prompt comes back as it was given, scored or not. */
static void test_echo_is_the_prompt(void **state)
{
    static const char prompt[] = "<bos>Caf\u00e9<end_of_turn>\\nup";
    static const double offsets[] = { 0, 5, 6, 8, 9, 9, 22, 23 };
    for (int scored = 0; scored < 2; scored++) {
        char body[512];
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"pebble\",\"prompt\":\"%s\",\"echo\":true,\"max_tokens\":0%s}",
                       prompt, scored ? ",\"logprobs\":0" : "");
        said a = serve_ask(*state, "/v1/completions", body);
        said_is(&a, "choices.0.text", "<bos>Caf\u00e9<end_of_turn>\nup");
        if (scored) {
            const vug_jv *at = said_at(&a, "choices.0.logprobs.text_offset")->child;
            for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++, at = at->next)
                assert_true(at && at->f64 == offsets[i]);
            assert_null(at);
        }
        said_release(&a);
    }
}

/* The token that ends an answer has an entry, too. Those who score a prompt with max_tokens 1
 * take off the last one: it must not be the prompt's. */
static void test_logprob_of_the_end(void **state)
{
    static const char *const rows[] = { "\"echo\":true", "\"echo\":false" };
    for (size_t i = 0; i < 2; i++) {
        char body[512];
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"pebble\",\"prompt\":\"<start_of_turn>user\\nWhat is 12 plus "
                       "30?<end_of_turn>\\n<start_of_turn>model\\n12 + 30 = 42\","
                       "\"temperature\":0,\"max_tokens\":1,\"logprobs\":1,%s}",
                       rows[i]);
        said a = serve_ask(*state, "/v1/completions", body);
        assert_int_equal(a.status, 200);
        said_is(&a, "choices.0.finish_reason", "stop");
        assert_true(said_number(&a, "usage.completion_tokens") == 0);
        const size_t before = i == 0 ? (size_t)said_number(&a, "usage.prompt_tokens") : 0;
        const vug_jv *tokens = said_at(&a, "choices.0.logprobs.tokens");
        assert_int_equal(tokens->n, before + 1);
        assert_int_equal(said_at(&a, "choices.0.logprobs.token_logprobs")->n, before + 1);
        const vug_jv *last = tokens->child;
        const vug_jv *at = said_at(&a, "choices.0.logprobs.text_offset")->child;
        for (size_t k = 0; k < before; k++) {
            last = last->next;
            at = at->next;
        }
        assert_true(vug_str_is(last->str, "<end_of_turn>"));
        assert_true(at->f64 == (double)said_at(&a, "choices.0.text")->str.len);
        said_release(&a);
    }
    said chat =
            serve_ask(*state, "/v1/chat/completions",
                      "{\"model\":\"pebble\",\"temperature\":0,\"logprobs\":true,"
                      "\"messages\":[{\"role\":\"user\",\"content\":\"What is 12 plus 30?\"}]}");
    assert_true((double)said_at(&chat, "choices.0.logprobs.content")->n ==
                said_number(&chat, "usage.completion_tokens"));
    said_release(&chat);
}

static void test_plain_endpoints(void **state)
{
    said a = serve_ask(*state, "/v1/models", NULL);
    said_is(&a, "object", "list");
    said_is(&a, "data.0.id", "pebble");
    said_is(&a, "data.1.id", "org/small");
    said_release(&a);
    a = serve_ask(*state, "/v1/models/org/small", NULL);
    said_is(&a, "id", "org/small");
    assert_true(said_number(&a, "context_length") == 2048);
    said_release(&a);
    a = serve_ask(*state, "/tokenize", "{\"content\":\"hello world\",\"with_pieces\":true}");
    said_is(&a, "tokens.2.piece", " world");
    assert_true(said_number(&a, "count") == 3);
    said_release(&a);
    a = serve_ask(*state, "/detokenize", "{\"tokens\":[369,3762,2142]}");
    said_is(&a, "content", "hello world");
    said_release(&a);
    a = serve_ask(*state, "/apply-template",
                  "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    said_is(&a, "prompt", "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n");
    said_release(&a);
    a = serve_ask(*state, "/props", NULL);
    said_is(&a, "architecture", "gemma3");
    said_release(&a);
}

static void test_metrics(void **state)
{
    said a = serve_ask(*state, "/metrics", NULL);
    static const char *const parts[] = {
        "\nvug_queue_requests 0\n",   "\nvug_sessions ",
        "\nvug_model_bytes ",         "\nvug_time_to_first_token_seconds_bucket{",
        "\nvug_cached_tokens_total ", "status=\"404\"} ",
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strstr(a.text.ptr, parts[i]))
            fail_msg("no %s in %s", parts[i], a.text.ptr);
    }
    said_release(&a);
}

#define SUM(more) CHAT("What is 12 + 30?", ",\"temperature\":0," more)

/* Each of the names under which others know forms, in both endpoints. */
static void test_forms(void **state)
{
    static const struct {
        const char *request, *content;
    } rows[] = {
        { SUM("\"guided_choice\":[\"42\",\"12 + 30 = 42\"]"), "12 + 30 = 42" },
        { SUM("\"structured_outputs\":{\"choice\":[\"forty-two\",\"\\\"x\\\"\"]}"), "forty-two" },
        { SUM("\"grammar\":\"root ::= \\\"It is \\\" [0-9]{2}\""), "It is 12" },
        { SUM("\"guided_grammar\":\"root ::= [0-9]{2}\""), "12" },
        { SUM("\"guided_regex\":\"42|43\""), "42" },
        { SUM("\"structured_outputs\":{\"regex\":\"<4[2]>\"}"), "<42>" },
        { SUM("\"json_schema\":{\"const\":1}"), "1" },
        { SUM("\"guided_json\":\"{\\\"const\\\":true}\""), "true" },
        { SUM("\"structured_outputs\":{\"json\":{\"enum\":[\"a\"]}}"), "\"a\"" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        heard h = serve_hear_whole(*state, rows[i].request);
        assert_string_equal(text_of(&h.content[0]), rows[i].content);
        assert_string_equal(h.finish[0], "stop");
        heard_release(&h);
    }
    said a = serve_ask(*state, "/v1/completions",
                       "{\"model\":\"pebble\",\"prompt\":\"Once upon\",\"temperature\":0,"
                       "\"structured_outputs\":{\"regex\":\" a (time|dog)\"}}");
    said_is(&a, "choices.0.text", " a time");
    said_release(&a);
}

static void test_bad_forms(void **state)
{
    static const struct {
        const char *request, *param, *part;
    } rows[] = {
        { SUM("\"stream\":true,\"grammar\":\"root ::= foo\""), "grammar",
          "GBNF: line 1, column 10: no definition of foo" },
        { SUM("\"structured_outputs\":{\"regex\":\"(\"}"), "structured_outputs.regex",
          "a group without its )" },
        { SUM("\"guided_json\":\"nonsense\""), "guided_json", "schema: line 1" },
        { SUM("\"guided_regex\":\"(\",\"tools\":[" WEATHER "]"), "guided_regex",
          "a group without its )" },
        { SUM("\"grammar\":\"root ::= s{40}\\ns ::= \\\"x\\\" s{0,8}\""), "grammar",
          "too ambiguous" },
        { SUM("\"stop_token_ids\":[99999]"), "stop_token_ids", "99999" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        said a = serve_ask(*state, "/v1/chat/completions", rows[i].request);
        assert_int_equal(a.status, 400);
        said_is(&a, "error.param", rows[i].param);
        assert_non_null(strstr(a.text.ptr, rows[i].part));
        said_release(&a);
    }
}

/* The token is no part of the answer, whole or streamed. */
static void test_stop_ids(void **state)
{
    said ids = serve_ask(*state, "/tokenize", "{\"content\":\" engine\"}");
    char more[128];
    assert_int_equal((int)said_number(&ids, "count"), 1);
    (void)snprintf(more, sizeof(more),
                   CHAT("What is vug?", ",\"temperature\":0,\"stop_token_ids\":[7,%d]"),
                   (int)said_number(&ids, "tokens.0"));
    said_release(&ids);
    heard h = serve_hear_whole(*state, more);
    assert_string_equal(text_of(&h.content[0]), "vug is a native inference");
    assert_string_equal(h.finish[0], "stop");
    heard_release(&h);
    assert_same(*state, more);
}

/* Free to call, and held to a form where it does not. */
static void test_tools_or_schema(void **state)
{
    heard h = serve_hear_whole(*state, CHAT("What is the weather in Paris?",
                                            ",\"temperature\":0,\"tools\":[" WEATHER
                                            "],\"response_format\":{\"type\":\"json_object\"}"));
    assert_string_equal(text_of(&h.calls[0]), "get_weather({\"city\": \"Paris\"})");
    heard_release(&h);
    h = serve_hear_whole(
            *state,
            CHAT("Hello",
                 ",\"temperature\":0,\"tools\":[" WEATHER
                 "],\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"p\","
                 "\"schema\":{\"type\":\"object\",\"properties\":{\"age\":{\"enum\":[7]}},"
                 "\"required\":[\"age\"],\"additionalProperties\":false}}}"));
    assert_true(h.calls[0].len || (strchr(h.content[0].ptr, '7') && h.content[0].ptr[0] == '{'));
    heard_release(&h);
    h = serve_hear_whole(*state, CHAT("Hello", ",\"temperature\":0,\"tools\":[" WEATHER
                                               "],\"guided_choice\":[\"yes\",\"no\"]"));
    assert_true(h.calls[0].len || strcmp(h.content[0].ptr, "yes") == 0 ||
                strcmp(h.content[0].ptr, "no") == 0);
    heard_release(&h);
}

/* Histories that templates refuse are made to fit: a user behind a tool's result, an
 * assistant who speaks first. */
static void test_odd_histories(void **state)
{
    said a = serve_ask(
            *state, "/apply-template",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\","
            "\"content\":"
            "null,\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
            "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":"
            "\"one\"},"
            "{\"role\":\"user\",\"content\":\"hm\"}]}");
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.text.ptr, "one\\n</tool_response>\\n\\nhm"));
    said_release(&a);
    a = serve_ask(
            *state, "/apply-template",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\","
            "\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}},"
            "{\"id\":\"2\",\"function\":{\"name\":\"g\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
            "\"2\","
            "\"content\":\"two\"},{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"tool\","
            "\"tool_call_id\":\"1\",\"content\":\"one\"}]}");
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.text.ptr, "\\\"arguments\\\": {}\\n</tool_call>"));
    assert_true(strstr(a.text.ptr, "one\\n</tool_response>") <
                strstr(a.text.ptr, "two\\n</tool_response>"));
    said_release(&a);
    a = serve_ask(*state, "/apply-template",
                  "{\"messages\":[{\"role\":\"assistant\",\"content\":\"Hi\"},{\"role\":\"user\","
                  "\"content\":\"x\"}]}");
    assert_int_equal(a.status, 200);
    said_is(&a, "prompt",
            "<bos><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\nHi<end_of_turn>\n"
            "<start_of_turn>user\nx<end_of_turn>\n<start_of_turn>model\n");
    said_release(&a);
}

static said ask_with_tokens(const serving *s, const char *more, int n)
{
    vug_buf body = { 0 };
    vug_buf_printf(&body, "{\"model\":\"pebble\",\"ignore_eos\":true,%s\"prompt\":[2", more);
    for (int i = 1; i < n; i++)
        vug_buf_printf(&body, ",%d", 300 + i);
    vug_buf_puts(&body, "]}");
    said a = serve_ask(s, "/v1/completions", body.ptr);
    vug_buf_release(&body);
    return a;
}

/* Without a limit the answer ends where the context does, whatever the server's limit is; one
 * token must fit. */
static void test_fills_context(void **state)
{
    static const char *const limit[] = { "\"max_tokens\":-1,", "" };
    for (int i = 0; i < 2; i++) {
        said a = ask_with_tokens(*state, limit[i], 2040);
        said_is(&a, "choices.0.finish_reason", "length");
        assert_true(said_number(&a, "usage.total_tokens") == 2048);
        said_release(&a);
        a = ask_with_tokens(*state, limit[i], 2048);
        said_is(&a, "error.code", "context_length_exceeded");
        said_is(&a, "error.message",
                "This model's maximum context length is 2048 tokens. However, you requested 2049 "
                "tokens (2048 in the prompt, 1 in the completion). Please reduce the length of the "
                "prompt or completion.");
        said_release(&a);
    }
    vug_buf body = { 0 };
    vug_buf_puts(&body,
                 "{\"model\":\"pebble\",\"ignore_eos\":true,\"messages\":[{\"role\":\"user\","
                 "\"content\":\"");
    for (int i = 0; i < 1950; i++)
        vug_buf_puts(&body, "word ");
    vug_buf_puts(&body, "\"}]}");
    said a = serve_ask(*state, "/v1/chat/completions", body.ptr);
    said_is(&a, "choices.0.finish_reason", "length");
    assert_true(said_number(&a, "usage.total_tokens") == 2048);
    said_release(&a);
    vug_buf_release(&body);
}

/* The limit of the server holds for a chat that names none, and refuses no prompt. */
static void test_limit_of_the_server(void **state)
{
    heard h = serve_hear_whole(*state, CHAT("Hi", ",\"ignore_eos\":true"));
    assert_true(h.completion_tokens == 200);
    heard_release(&h);
    vug_buf words = { 0 }, body = { 0 };
    for (int i = 0; i < 1940; i++)
        vug_buf_puts(&words, " the");
    vug_buf_printf(&body,
                   "{\"model\":\"pebble\",\"ignore_eos\":true,\"messages\":[{\"role\":\"user\","
                   "\"content\":\"%s\"}]}",
                   words.ptr);
    h = serve_hear_whole(*state, body.ptr);
    assert_string_equal(h.finish[0], "length");
    assert_true(h.prompt_tokens > 2048 - 200);
    assert_true(h.prompt_tokens + h.completion_tokens == 2048);
    heard_release(&h);
    vug_buf_release(&body);
    vug_buf_release(&words);
}

/* A call that must come and is cut short before its name is not told as text. */
static void test_cut_call(void **state)
{
    heard h = serve_hear_whole(*state, CHAT("Hello", ",\"max_tokens\":4,\"tools\":[" WEATHER
                                                     "],\"tool_choice\":\"required\""));
    assert_int_equal(h.content[0].len, 0);
    assert_string_equal(h.finish[0], "length");
    heard_release(&h);
}

/* Nor is where the model lies. */
static void test_tells_no_paths(void **state)
{
    said a = serve_ask(*state, "/v1/chat/completions",
                       CHAT("x", ",\"chat_template_kwargs\":{\"namespace\":1}"));
    assert_int_equal(a.status, 400);
    assert_null(strstr(a.text.ptr, "models/"));
    said_release(&a);
    a = serve_ask(*state, "/props", NULL);
    assert_null(strstr(a.text.ptr, "models/"));
    said_release(&a);
}

/* How many tokens of thinking the model was let, the text that closes it among them. */
static int thought(const serving *s, const char *name, int budget)
{
    char body[256];
    (void)snprintf(body, sizeof(body),
                   CHAT("Once upon", ",\"temperature\":0,\"enable_thinking\":true,\"%s\":%d"), name,
                   budget);
    said a = serve_ask(s, "/v1/chat/completions", body);
    assert_int_equal(a.status, 200);
    const int n = (int)said_number(&a, "usage.completion_tokens_details.reasoning_tokens");
    assert_true(!!said_at(&a, "choices.0.message.reasoning_content") == (budget != 0));
    said_release(&a);
    return n;
}

/* A template that opens the thinking, and a model that would never close it. */
static void test_thinking_budget(void **state)
{
    static const char *const names[] = { "thinking_budget", "thinking_token_budget",
                                         "thinking_budget_tokens", "reasoning_budget_tokens" };
    scratch dir = scratch_make();
    (void)state;
    scratch_puts(&dir, "think.jinja",
                 "{{ messages[0].content }}{{ '<think>' if enable_thinking }}\n");
    const scratch_path template = scratch_at(&dir, "think.jinja");
    serving s = SERVE("--chat-template", template.path, "--max-tokens", "100");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(thought(&s, names[i], 0), 0);
        assert_int_equal(thought(&s, names[i], 9) - thought(&s, names[i], 5), 4);
    }
    assert_int_equal(thought(&s, "thinking_budget", -1), 100);
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_is_whole),
        cmocka_unit_test(test_stream_without_usage),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_tools),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_bad_forms),
        cmocka_unit_test(test_stop_ids),
        cmocka_unit_test(test_thinking_budget),
        cmocka_unit_test(test_continues),
        cmocka_unit_test(test_tool_results),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_echo_agrees),
        cmocka_unit_test(test_a_rendered_prompt),
        cmocka_unit_test(test_echo_is_the_prompt),
        cmocka_unit_test(test_logprob_of_the_end),
        cmocka_unit_test(test_plain_endpoints),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_fills_context),
        cmocka_unit_test(test_limit_of_the_server),
        cmocka_unit_test(test_odd_histories),
        cmocka_unit_test(test_tools_or_schema),
        cmocka_unit_test(test_cut_call),
        cmocka_unit_test(test_tells_no_paths),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
