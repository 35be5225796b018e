/* The endpoints of `vug serve`, with pebble. */
#include "test.h"

#include "scratch.h"
#include "serve_help.h"

#define WEATHER                                                                            \
    "{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"The " \
    "weather of a city\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{"   \
    "\"type\":\"string\"}},\"required\":[\"city\"],\"additionalProperties\":false}}}"

#define UNGUARDED(name, strict)                                                         \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"strict\":" strict "," \
    "\"parameters\":{\"type\":\"object\",\"extends\":{}}}}"

#define CHAT(text, more) \
    "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]" more "}"

static int set_up(void **state)
{
    static server_process s; /* NOLINT: one for all tests */
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

/* A stream has the content of the whole response. */
static void assert_same(const server_process *s, const char *request)
{
    char body[4096];
    chat_stream whole = serve_whole_chat(s, request);
    (void)snprintf(body, sizeof(body),
                   "%.*s,\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
                   (int)strlen(request) - 1, request);
    chat_stream stream = serve_stream_chat(s, body);
    for (size_t i = 0; i < STREAM_CHOICES; i++) {
        assert_string_equal(text_of(&whole.content[i]), text_of(&stream.content[i]));
        assert_string_equal(text_of(&whole.thinking[i]), text_of(&stream.thinking[i]));
        assert_string_equal(text_of(&whole.calls[i]), text_of(&stream.calls[i]));
        assert_string_equal(text_of(&whole.logprobs[i]), text_of(&stream.logprobs[i]));
        assert_string_equal(whole.finish[i], stream.finish[i]);
    }
    assert_int_equal(whole.prompt_tokens, stream.prompt_tokens);
    assert_int_equal(whole.completion_tokens, stream.completion_tokens);
    chat_stream_release(&whole);
    chat_stream_release(&stream);
}

static void test_stream_equals_whole_answer(void **state)
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
    chat_stream h =
            serve_stream_chat(*state, CHAT("What is vug?", ",\"stream\":true,\"max_tokens\":3,"
                                                           "\"stream_options\":null"));
    assert_int_equal(h.prompt_tokens, -1);
    assert_string_equal(h.finish[0], "length");
    chat_stream_release(&h);
}

static void test_stop(void **state)
{
    /* Across tokens; the text before it is complete. */
    chat_stream all = serve_whole_chat(*state, CHAT("What is vug?", ",\"temperature\":0"));
    chat_stream cut = serve_whole_chat(
            *state, CHAT("What is vug?", ",\"temperature\":0,\"stop\":[\"ngin\"]"));
    const char *at = strstr(all.content[0].ptr, "ngin");
    assert_non_null(at);
    assert_int_equal(cut.content[0].len, at - all.content[0].ptr);
    assert_memory_equal(cut.content[0].ptr, all.content[0].ptr, cut.content[0].len);
    assert_string_equal(cut.finish[0], "stop");
    chat_stream_release(&all);
    chat_stream_release(&cut);
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
        chat_stream h = serve_whole_chat(*state, rows[i].request);
        assert_string_equal(text_of(&h.calls[0]), rows[i].calls);
        assert_string_equal(h.finish[0], rows[i].finish);
        assert_true((h.content[0].len > 0) == !rows[i].calls[0]);
        chat_stream_release(&h);
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
        chat_stream h = serve_whole_chat(*state, body);
        assert_string_equal(h.finish[0], "stop");
        assert_int_equal(vug_json_tree((vug_str){ h.content[0].ptr, h.content[0].len }, "content",
                                       &arena, &root, NULL),
                         VUG_OK);
        assert_int_equal(root->n, 2);
        assert_true(vug_jv_get(root, "age")->is_int && vug_jv_get(root, "age")->i64 <= 150);
        const vug_str kind = vug_jv_get(root, "kind")->str;
        assert_true(vug_str_is(kind, "cat") || vug_str_is(kind, "dog"));
        vug_arena_release(&arena);
        chat_stream_release(&h);
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
        { "/v1/chat/completions", CHAT("x", ",\"max_tokens\":5000"), 400,
          "exceed_context_size_error", "messages", "context_length_exceeded",
          "This model's maximum context length is 2048 tokens. However, you requested 5010 tokens "
          "(10 in the messages, 5000 in the completion). Please reduce the length of the messages "
          "or completion." },
        { "/v1/chat/completions", "{\"model\":", 400, "invalid_request_error", NULL, NULL, "end" },
        { "/v1/chat/completions", CHAT("x", ",\"temperature\":\"hot\",\"stream\":true"), 400,
          "invalid_request_error", "temperature", NULL, "temperature" },
        { "/v1/chat/completions",
          CHAT("x", ",\"stream\":true,\"response_format\":{\"type\":\"json_schema\","
                    "\"json_schema\":{\"name\":\"x\",\"schema\":{\"extends\":{}}}}"),
          400, "invalid_request_error", "response_format", NULL, "extends" },
        { "/v1/chat/completions",
          CHAT("x", ",\"tool_choice\":\"required\",\"tools\":[" WEATHER
                    ",{\"type\":\"function\",\"function\":{\"name\":\"g\",\"parameters\":{"
                    "\"type\":\"object\",\"properties\":{\"a\":{\"extends\":{}}}}}}]"),
          400, "invalid_request_error", "tools[1].function.parameters", NULL, "extends" },
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
        json_response a = serve_request(*state, "/v1/chat/completions", good[i]);
        assert_int_equal(a.status, 200);
        response_release(&a);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_response a = serve_request(*state, rows[i].path, rows[i].body);
        assert_int_equal(a.status, rows[i].status);
        response_expect(&a, "error.type", rows[i].type);
        response_expect(&a, "error.param", rows[i].param ? rows[i].param : "null");
        response_expect(&a, "error.code", rows[i].code ? rows[i].code : "null");
        if (!strstr(a.text.ptr, rows[i].message))
            fail_msg("no '%s' in %s", rows[i].message, a.text.ptr);
        response_release(&a);
    }
}

static void test_continued_conversation(void **state)
{
    char body[2048];
    json_response a = serve_request(*state, "/v1/chat/completions",
                                    CHAT("Who are you?", ",\"temperature\":0"));
    const double before = response_number(&a, "usage.prompt_tokens") +
                          response_number(&a, "usage.completion_tokens");
    const vug_str text = response_at(&a, "choices.0.message.content")->str;
    (void)snprintf(body, sizeof(body),
                   "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"Who are "
                   "you?\"},{\"role\":\"assistant\",\"content\":\"%.*s\"},{\"role\":\"user\","
                   "\"content\":\"What can you do?\"}]}",
                   (int)text.len, text.ptr);
    json_response b = serve_request(*state, "/v1/chat/completions", body);
    const double cached = response_number(&b, "usage.prompt_tokens_details.cached_tokens");
    assert_true(cached >= before - 1 && cached < response_number(&b, "usage.prompt_tokens"));
    /* Repeated: all tokens are cached but the last, whose logits are needed. */
    json_response c = serve_request(*state, "/v1/chat/completions", body);
    assert_true(response_number(&c, "usage.prompt_tokens_details.cached_tokens") ==
                response_number(&b, "usage.prompt_tokens") - 1);
    response_release(&a);
    response_release(&b);
    response_release(&c);
}

/* Tool results in the current role and in the deprecated one. */
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
        json_response a = serve_request(*state, "/v1/chat/completions", body);
        assert_int_equal(a.status, 200);
        response_expect(&a, "model", "org/small");
        response_expect(&a, "choices.0.finish_reason", "stop");
        tokens[i] = response_number(&a, "usage.prompt_tokens");
        response_release(&a);
    }
    assert_true(tokens[0] == tokens[1]);
}

static void test_completions(void **state)
{
    json_response a =
            serve_request(*state, "/v1/completions",
                          "{\"model\":\"pebble\",\"prompt\":[\"Once upon a time\",\"vug is\"],"
                          "\"max_tokens\":3,\"temperature\":0,\"n\":2}");
    assert_int_equal(a.status, 200);
    response_expect(&a, "object", "text_completion");
    assert_int_equal(response_at(&a, "choices")->n, 4);
    assert_true(vug_str_equal(response_at(&a, "choices.0.text")->str,
                              response_at(&a, "choices.1.text")->str));
    assert_true(response_number(&a, "choices.3.index") == 3);
    assert_true(response_number(&a, "usage.completion_tokens") == 12);
    json_response b =
            serve_request(*state, "/v1/completions",
                          "{\"model\":\"pebble\",\"prompt\":\"Once upon a time\",\"max_tokens\":3,"
                          "\"temperature\":0,\"echo\":true,\"logprobs\":2}");
    char text[256];
    (void)snprintf(text, sizeof(text), "Once upon a time%.*s",
                   VUG_STR_ARG(response_at(&a, "choices.0.text")->str));
    response_expect(&b, "choices.0.text", text);
    response_expect(&b, "choices.0.logprobs.token_logprobs.0", "null");
    response_expect(&b, "choices.0.logprobs.tokens.0", "<bos>");
    assert_true(response_number(&b, "choices.0.logprobs.text_offset.1") == 0);
    assert_true(response_number(&b, "choices.0.logprobs.text_offset.2") == 4);
    assert_int_equal(response_at(&b, "choices.0.logprobs.tokens")->n, 8);
    assert_true(response_number(&b, "usage.prompt_tokens_details.cached_tokens") == 0);
    response_release(&a);
    response_release(&b);
}

/* Echoed log-probabilities equal those of generation. */
static void test_echo_logprobs_match_generation(void **state)
{
    char body[1024];
    json_response a = serve_request(*state, "/v1/completions",
                                    "{\"model\":\"pebble\",\"prompt\":\"vug is\",\"max_tokens\":5,"
                                    "\"temperature\":0,\"logprobs\":3}");
    const vug_str text = response_at(&a, "choices.0.text")->str;
    (void)snprintf(body, sizeof(body),
                   "{\"model\":\"pebble\",\"prompt\":\"vug is%.*s\",\"max_tokens\":0,"
                   "\"echo\":true,\"logprobs\":3}",
                   VUG_STR_ARG(text));
    json_response b = serve_request(*state, "/v1/completions", body);
    const vug_jv *x = response_at(&a, "choices.0.logprobs.token_logprobs")->child;
    const vug_jv *y = response_at(&b, "choices.0.logprobs.token_logprobs")->child;
    const size_t skip = response_at(&b, "choices.0.logprobs.tokens")->n - 5;
    for (size_t i = 0; i < skip; i++)
        y = y->next;
    for (; x; x = x->next, y = y->next)
        assert_float_equal(x->f64, y->f64, 1e-4);
    assert_true(response_number(&b, "usage.completion_tokens") == 0);
    response_release(&a);
    response_release(&b);
}

/* The output of /apply-template as a prompt equals the chat, though it already has <bos>. */
static void test_rendered_prompt_as_completion(void **state)
{
    static const char *const paths[] = { "/v1/completions", "/tokenize" };
    json_response chat = serve_request(*state, "/v1/chat/completions",
                                       "{\"model\":\"pebble\",\"max_tokens\":1,"
                                       "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    for (size_t i = 0; i < 2; i++) {
        json_response a = serve_request(
                *state, paths[i],
                "{\"model\":\"pebble\",\"max_tokens\":1,\"prompt\":\"<bos><start_of_turn>"
                "user\\nHi<end_of_turn>\\n<start_of_turn>model\\n\"}");
        assert_int_equal(a.status, 200);
        assert_true(response_number(&a, i ? "count" : "usage.prompt_tokens") ==
                    response_number(&chat, "usage.prompt_tokens"));
        response_release(&a);
    }
    response_release(&chat);
    /* Spelled special tokens stay, and a missing <bos> is added. */
    static const struct {
        const char *prompt;
        size_t n;
    } rows[] = { { "<bos><bos>Hi", 3 }, { "<eos><eos>", 3 }, { "<bos>", 1 }, { "Hi", 2 } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char body[100];
        (void)snprintf(body, sizeof(body), "{\"prompt\":\"%s\"}", rows[i].prompt);
        json_response a = serve_request(*state, "/tokenize", body);
        assert_int_equal(response_at(&a, "tokens")->n, rows[i].n);
        response_release(&a);
    }
}

/* The prompt is returned verbatim, scored or not. */
static void test_echo_returns_the_prompt(void **state)
{
    static const char prompt[] = "<bos>Caf\u00e9<end_of_turn>\\nup";
    static const double offsets[] = { 0, 5, 6, 8, 9, 9, 22, 23 };
    for (int scored = 0; scored < 2; scored++) {
        char body[512];
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"pebble\",\"prompt\":\"%s\",\"echo\":true,\"max_tokens\":0%s}",
                       prompt, scored ? ",\"logprobs\":0" : "");
        json_response a = serve_request(*state, "/v1/completions", body);
        response_expect(&a, "choices.0.text", "<bos>Caf\u00e9<end_of_turn>\nup");
        if (scored) {
            const vug_jv *at = response_at(&a, "choices.0.logprobs.text_offset")->child;
            for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++, at = at->next)
                assert_true(at && at->f64 == offsets[i]);
            assert_null(at);
        }
        response_release(&a);
    }
}

/* The stop token has an entry, too. Clients that score a prompt with max_tokens 1 drop the last
 * entry, which must not be the prompt's. */
static void test_stop_token_logprob(void **state)
{
    static const char *const rows[] = { "\"echo\":true", "\"echo\":false" };
    for (size_t i = 0; i < 2; i++) {
        char body[512];
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"pebble\",\"prompt\":\"<start_of_turn>user\\nWhat is 12 plus "
                       "30?<end_of_turn>\\n<start_of_turn>model\\n12 + 30 = 42\","
                       "\"temperature\":0,\"max_tokens\":1,\"logprobs\":1,%s}",
                       rows[i]);
        json_response a = serve_request(*state, "/v1/completions", body);
        assert_int_equal(a.status, 200);
        response_expect(&a, "choices.0.finish_reason", "stop");
        assert_true(response_number(&a, "usage.completion_tokens") == 0);
        const size_t before = i == 0 ? (size_t)response_number(&a, "usage.prompt_tokens") : 0;
        const vug_jv *tokens = response_at(&a, "choices.0.logprobs.tokens");
        assert_int_equal(tokens->n, before + 1);
        assert_int_equal(response_at(&a, "choices.0.logprobs.token_logprobs")->n, before + 1);
        const vug_jv *last = tokens->child;
        const vug_jv *at = response_at(&a, "choices.0.logprobs.text_offset")->child;
        for (size_t k = 0; k < before; k++) {
            last = last->next;
            at = at->next;
        }
        assert_true(vug_str_is(last->str, "<end_of_turn>"));
        assert_true(at->f64 == (double)response_at(&a, "choices.0.text")->str.len);
        response_release(&a);
    }
    json_response chat = serve_request(
            *state, "/v1/chat/completions",
            "{\"model\":\"pebble\",\"temperature\":0,\"logprobs\":true,"
            "\"messages\":[{\"role\":\"user\",\"content\":\"What is 12 plus 30?\"}]}");
    assert_true((double)response_at(&chat, "choices.0.logprobs.content")->n ==
                response_number(&chat, "usage.completion_tokens"));
    response_release(&chat);
}

static void test_other_endpoints(void **state)
{
    json_response a = serve_request(*state, "/v1/models", NULL);
    response_expect(&a, "object", "list");
    response_expect(&a, "data.0.id", "pebble");
    response_expect(&a, "data.1.id", "org/small");
    response_release(&a);
    a = serve_request(*state, "/v1/models/org/small", NULL);
    response_expect(&a, "id", "org/small");
    assert_true(response_number(&a, "context_length") == 2048);
    response_release(&a);
    a = serve_request(*state, "/tokenize", "{\"content\":\"hello world\",\"with_pieces\":true}");
    response_expect(&a, "tokens.2.piece", " world");
    assert_true(response_number(&a, "count") == 3);
    response_release(&a);
    a = serve_request(*state, "/detokenize", "{\"tokens\":[369,3762,2142]}");
    response_expect(&a, "content", "hello world");
    response_release(&a);
    a = serve_request(*state, "/apply-template",
                      "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    response_expect(&a, "prompt",
                    "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n");
    response_release(&a);
    a = serve_request(*state, "/props", NULL);
    response_expect(&a, "architecture", "gemma3");
    response_release(&a);
}

#define SUM(more) CHAT("What is 12 + 30?", ",\"temperature\":0," more)

/* All names of output constraints, in both endpoints. */
static void test_constraints(void **state)
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
        chat_stream h = serve_whole_chat(*state, rows[i].request);
        assert_string_equal(text_of(&h.content[0]), rows[i].content);
        assert_string_equal(h.finish[0], "stop");
        chat_stream_release(&h);
    }
    json_response a =
            serve_request(*state, "/v1/completions",
                          "{\"model\":\"pebble\",\"prompt\":\"Once upon\",\"temperature\":0,"
                          "\"structured_outputs\":{\"regex\":\" a (time|dog)\"}}");
    response_expect(&a, "choices.0.text", " a time");
    response_release(&a);
}

static void test_bad_constraints(void **state)
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
        json_response a = serve_request(*state, "/v1/chat/completions", rows[i].request);
        assert_int_equal(a.status, 400);
        response_expect(&a, "error.param", rows[i].param);
        assert_non_null(strstr(a.text.ptr, rows[i].part));
        response_release(&a);
    }
}

/* The token is not part of the answer, whole or streamed. */
static void test_stop_ids(void **state)
{
    json_response ids = serve_request(*state, "/tokenize", "{\"content\":\" engine\"}");
    char more[128];
    assert_int_equal((int)response_number(&ids, "count"), 1);
    (void)snprintf(more, sizeof(more),
                   CHAT("What is vug?", ",\"temperature\":0,\"stop_token_ids\":[7,%d]"),
                   (int)response_number(&ids, "tokens.0"));
    response_release(&ids);
    chat_stream h = serve_whole_chat(*state, more);
    assert_string_equal(text_of(&h.content[0]), "vug is a native inference");
    assert_string_equal(h.finish[0], "stop");
    chat_stream_release(&h);
    assert_same(*state, more);
}

/* The model may call; otherwise its output is constrained. */
static void test_tools_with_schema(void **state)
{
    chat_stream h =
            serve_whole_chat(*state, CHAT("What is the weather in Paris?",
                                          ",\"temperature\":0,\"tools\":[" WEATHER
                                          "],\"response_format\":{\"type\":\"json_object\"}"));
    assert_string_equal(text_of(&h.calls[0]), "get_weather({\"city\": \"Paris\"})");
    chat_stream_release(&h);
    h = serve_whole_chat(
            *state,
            CHAT("Hello",
                 ",\"temperature\":0,\"tools\":[" WEATHER
                 "],\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"p\","
                 "\"schema\":{\"type\":\"object\",\"properties\":{\"age\":{\"enum\":[7]}},"
                 "\"required\":[\"age\"],\"additionalProperties\":false}}}"));
    assert_true(h.calls[0].len || (strchr(h.content[0].ptr, '7') && h.content[0].ptr[0] == '{'));
    chat_stream_release(&h);
    h = serve_whole_chat(*state, CHAT("Hello", ",\"temperature\":0,\"tools\":[" WEATHER
                                               "],\"guided_choice\":[\"yes\",\"no\"]"));
    assert_true(h.calls[0].len || strcmp(h.content[0].ptr, "yes") == 0 ||
                strcmp(h.content[0].ptr, "no") == 0);
    chat_stream_release(&h);
}

/* Histories that templates reject are adapted: a user after a tool result, an assistant message
 * first. */
static void test_unusual_histories(void **state)
{
    json_response a = serve_request(
            *state, "/apply-template",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\","
            "\"content\":"
            "null,\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
            "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":"
            "\"one\"},"
            "{\"role\":\"user\",\"content\":\"hm\"}]}");
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.text.ptr, "one\\n</tool_response>\\n\\nhm"));
    response_release(&a);
    a = serve_request(
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
    response_release(&a);
    a = serve_request(
            *state, "/apply-template",
            "{\"messages\":[{\"role\":\"assistant\",\"content\":\"Hi\"},{\"role\":\"user\","
            "\"content\":\"x\"}]}");
    assert_int_equal(a.status, 200);
    response_expect(
            &a, "prompt",
            "<bos><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\nHi<end_of_turn>\n"
            "<start_of_turn>user\nx<end_of_turn>\n<start_of_turn>model\n");
    response_release(&a);
}

static json_response ask_with_tokens(const server_process *s, const char *more, int n)
{
    vug_buf body = { 0 };
    vug_buf_printf(&body, "{\"model\":\"pebble\",\"ignore_eos\":true,%s\"prompt\":[2", more);
    for (int i = 1; i < n; i++)
        vug_buf_printf(&body, ",%d", 300 + i);
    vug_buf_puts(&body, "]}");
    json_response a = serve_request(s, "/v1/completions", body.ptr);
    vug_buf_release(&body);
    return a;
}

/* With -1 the answer fills the context, whatever the server's limit is; one token must fit. */
static void test_generates_until_context_is_full(void **state)
{
    static const char *const limit[] = { "\"max_tokens\":-1,", "" };
    for (int i = 0; i < 2; i++) {
        json_response a = ask_with_tokens(*state, limit[i], 2040);
        response_expect(&a, "choices.0.finish_reason", "length");
        assert_true(response_number(&a, "usage.total_tokens") == 2048);
        response_release(&a);
        a = ask_with_tokens(*state, limit[i], 2048);
        response_expect(&a, "error.code", "context_length_exceeded");
        response_expect(
                &a, "error.message",
                "This model's maximum context length is 2048 tokens. However, you requested 2049 "
                "tokens (2048 in the prompt, 1 in the completion). Please reduce the length of the "
                "prompt or completion.");
        response_release(&a);
    }
    vug_buf body = { 0 };
    vug_buf_puts(&body,
                 "{\"model\":\"pebble\",\"ignore_eos\":true,\"messages\":[{\"role\":\"user\","
                 "\"content\":\"");
    for (int i = 0; i < 1950; i++)
        vug_buf_puts(&body, "word ");
    vug_buf_puts(&body, "\"}]}");
    json_response a = serve_request(*state, "/v1/chat/completions", body.ptr);
    response_expect(&a, "choices.0.finish_reason", "length");
    assert_true(response_number(&a, "usage.total_tokens") == 2048);
    response_release(&a);
    vug_buf_release(&body);
}

/* The server's limit applies to chats without one, and rejects no prompt. */
static void test_default_max_tokens(void **state)
{
    chat_stream h = serve_whole_chat(*state, CHAT("Hi", ",\"ignore_eos\":true"));
    assert_true(h.completion_tokens == 200);
    chat_stream_release(&h);
    vug_buf words = { 0 }, body = { 0 };
    for (int i = 0; i < 1940; i++)
        vug_buf_puts(&words, " the");
    vug_buf_printf(&body,
                   "{\"model\":\"pebble\",\"ignore_eos\":true,\"messages\":[{\"role\":\"user\","
                   "\"content\":\"%s\"}]}",
                   words.ptr);
    h = serve_whole_chat(*state, body.ptr);
    assert_string_equal(h.finish[0], "length");
    assert_true(h.prompt_tokens > 2048 - 200);
    assert_true(h.prompt_tokens + h.completion_tokens == 2048);
    chat_stream_release(&h);
    vug_buf_release(&body);
    vug_buf_release(&words);
}

/* A required call that is truncated before its name does not become text. */
static void test_truncated_call(void **state)
{
    chat_stream h = serve_whole_chat(*state, CHAT("Hello", ",\"max_tokens\":4,\"tools\":[" WEATHER
                                                           "],\"tool_choice\":\"required\""));
    assert_int_equal(h.content[0].len, 0);
    assert_string_equal(h.finish[0], "length");
    chat_stream_release(&h);
}

/* Error messages have no paths of the model. */
static void test_errors_hide_paths(void **state)
{
    json_response a = serve_request(*state, "/v1/chat/completions",
                                    CHAT("x", ",\"chat_template_kwargs\":{\"namespace\":1}"));
    assert_int_equal(a.status, 400);
    assert_null(strstr(a.text.ptr, "models/"));
    response_release(&a);
    a = serve_request(*state, "/props", NULL);
    assert_null(strstr(a.text.ptr, "models/"));
    response_release(&a);
}

/* The tokens of thinking, including the text that closes it. */
static int thought(const server_process *s, const char *name, int budget)
{
    char body[256];
    (void)snprintf(body, sizeof(body),
                   CHAT("Once upon", ",\"temperature\":0,\"enable_thinking\":true,\"%s\":%d"), name,
                   budget);
    json_response a = serve_request(s, "/v1/chat/completions", body);
    assert_int_equal(a.status, 200);
    const int n = (int)response_number(&a, "usage.completion_tokens_details.reasoning_tokens");
    assert_true(!!response_at(&a, "choices.0.message.reasoning_content") == (budget != 0));
    response_release(&a);
    return n;
}

/* A template opens the thinking, and the model never closes it. */
static void test_thinking_budget(void **state)
{
    static const char *const names[] = { "thinking_budget", "thinking_token_budget",
                                         "thinking_budget_tokens", "reasoning_budget_tokens" };
    scratch dir = scratch_make();
    (void)state;
    scratch_puts(&dir, "think.jinja",
                 "{{ messages[0].content }}{{ '<think>' if enable_thinking }}\n");
    const scratch_path template = scratch_at(&dir, "think.jinja");
    server_process s = SERVE("--chat-template", template.path, "--max-tokens", "100");
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
        cmocka_unit_test(test_stream_equals_whole_answer),
        cmocka_unit_test(test_stream_without_usage),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_tools),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_constraints),
        cmocka_unit_test(test_bad_constraints),
        cmocka_unit_test(test_stop_ids),
        cmocka_unit_test(test_thinking_budget),
        cmocka_unit_test(test_continued_conversation),
        cmocka_unit_test(test_tool_results),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_echo_logprobs_match_generation),
        cmocka_unit_test(test_rendered_prompt_as_completion),
        cmocka_unit_test(test_echo_returns_the_prompt),
        cmocka_unit_test(test_stop_token_logprob),
        cmocka_unit_test(test_other_endpoints),
        cmocka_unit_test(test_generates_until_context_is_full),
        cmocka_unit_test(test_default_max_tokens),
        cmocka_unit_test(test_unusual_histories),
        cmocka_unit_test(test_tools_with_schema),
        cmocka_unit_test(test_truncated_call),
        cmocka_unit_test(test_errors_hide_paths),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
