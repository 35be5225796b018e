#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "app/server/api/request.h"
#include "core/os.h"

/*
 * Bodies of requests: what is read from them, what is refused with which field in `param`,
 * and every truncation and flipped bit of a few.
 */

static bool read_into(vug_api_endpoint endpoint, vug_str body, vug_arena *arena,
                      vug_api_request *out, vug_api_error *error)
{
    memset(error, 0, sizeof(*error));
    return vug_api_request_read(endpoint, body, arena, out, error);
}

/* A request that must be good. The arena is the caller's. */
static vug_api_request good(vug_api_endpoint endpoint, const char *body, vug_arena *arena)
{
    vug_api_request r;
    vug_api_error error;
    if (!read_into(endpoint, vug_str_of(body), arena, &r, &error))
        fail_msg("%s\n-> %s: %s", body, error.param, error.message);
    return r;
}

#define HELLO      "\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define CHAT(rest) "{" HELLO "," rest "}"
#define TEXT(rest) "{\"model\":\"pebble\",\"prompt\":\"once\"," rest "}"
#define TOOL(name) "{\"type\":\"function\",\"function\":{\"name\":\"" name "\"}}"

/* ---- what is read ---------------------------------------------------------------- */

static void reads_the_least(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    const vug_api_request r = good(VUG_API_CHAT, "{" HELLO "}", &arena);
    assert_true(vug_str_is(r.model, "pebble"));
    assert_true(vug_str_is(r.messages, "[{\"role\":\"user\",\"content\":\"hi\"}]"));
    assert_int_equal(r.max_tokens, -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.choice, VUG_TOOLS_NONE);
    assert_int_equal(r.format, VUG_FORMAT_TEXT);
    assert_int_equal(r.thinking, VUG_THINKING_DEFAULT);
    assert_int_equal(r.variables.len, 0);
    assert_false(r.stream || r.logprobs || r.one_call || r.no_reply || r.include_usage);
    vug_arena_release(&arena);
}

/* null is absent everywhere, and what nobody knows is ignored. */
static void passes_over_null_and_the_unknown(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_buf body = { 0 };
    vug_buf_puts(&body, "{" HELLO ",\"frobnicate\":{\"a\":[1]},\"frobnicate2\":-1");
#define X(name, ...)                                                   \
    if (strcmp(#name, "model") != 0 && strcmp(#name, "messages") != 0) \
        vug_buf_puts(&body, ",\"" #name "\":null");
#include "app/server/api/fields.def"
#undef X
    vug_buf_puts(&body, "}");
    const vug_api_request r = good(VUG_API_CHAT, body.ptr, &arena);
    for (int i = 0; i < VUG_FIELD_COUNT; i++)
        assert_int_equal(r.given[i], i == VUG_FIELD_model || i == VUG_FIELD_messages);
    vug_buf_release(&body);
    vug_arena_release(&arena);
}

static void takes_every_length(void **state)
{
    (void)state;
    static const struct {
        vug_api_endpoint endpoint;
        const char *body;
        int64_t tokens;
    } example[] = {
        { VUG_API_CHAT, CHAT("\"max_tokens\":7"), 7 },
        { VUG_API_CHAT, CHAT("\"max_completion_tokens\":7"), 7 },
        { VUG_API_CHAT, CHAT("\"max_tokens\":7,\"max_completion_tokens\":5"), 5 },
        { VUG_API_CHAT, CHAT("\"max_tokens\":4,\"max_completion_tokens\":5"), 4 },
        { VUG_API_CHAT, CHAT("\"max_tokens\":null,\"max_completion_tokens\":5"), 5 },
        { VUG_API_CHAT, CHAT("\"max_tokens\":5,\"max_completion_tokens\":null"), 5 },
        { VUG_API_CHAT, CHAT("\"max_tokens\":-1,\"max_completion_tokens\":5"), 5 },
        { VUG_API_CHAT, CHAT("\"max_tokens\":-1"), -1 },
        { VUG_API_CHAT, CHAT("\"max_tokens\":5.0"), 5 },
        { VUG_API_TEXT, TEXT("\"max_tokens\":7"), 7 },
        { VUG_API_TEXT, TEXT("\"max_tokens\":null"), 16 },
        { VUG_API_TEXT, TEXT("\"max_tokens\":-1"), -1 },
        { VUG_API_TEXT, TEXT("\"max_tokens\":0,\"echo\":true,\"logprobs\":1"), 0 },
    };
    for (size_t i = 0; i < sizeof(example) / sizeof(example[0]); i++) {
        vug_arena arena = { 0 };
        assert_int_equal(good(example[i].endpoint, example[i].body, &arena).max_tokens,
                         example[i].tokens);
        vug_arena_release(&arena);
    }
}

static void reads_stops_seeds_and_biases(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_CHAT, CHAT("\"stop\":\"\\n\\nUser:\",\"seed\":-3"), &arena);
    assert_int_equal(r.n_stops, 1);
    assert_true(vug_str_is(r.stop[0], "\n\nUser:"));
    assert_true(r.given[VUG_FIELD_seed]);
    assert_true(r.seed == (uint64_t)-3);
    r = good(VUG_API_CHAT,
             CHAT("\"stop\":[\"a\",\"b\",\"c\",\"d\",\"e\"],\"seed\":9223372036854775807,"
                  "\"logit_bias\":{\"0\":-100,\"106\":2.5}"),
             &arena);
    assert_int_equal(r.n_stops, 5);
    assert_true(vug_str_is(r.stop[4], "e"));
    assert_true(r.seed == INT64_MAX);
    assert_true(good(VUG_API_CHAT, CHAT("\"seed\":-3.0"), &arena).seed == (uint64_t)-3);
    assert_true(good(VUG_API_CHAT, CHAT("\"seed\":1e3"), &arena).seed == 1000);
    assert_int_equal(r.n_bias, 2);
    assert_int_equal(r.bias[1].token, 106);
    assert_true(r.bias[1].value == 2.5f && r.bias[0].value == -100);
    r = good(VUG_API_TEXT, TEXT("\"logit_bias\":[[5,1.5],[6,false]],\"stop\":[]"), &arena);
    assert_int_equal(r.n_bias, 2);
    assert_int_equal(r.bias[1].token, 6);
    assert_true(r.bias[0].value == 1.5f && r.bias[1].value == -1000);
    assert_int_equal(r.n_stops, 0);
    vug_arena_release(&arena);
}

static void reads_logprobs_of_both_kinds(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_CHAT, CHAT("\"logprobs\":true,\"top_logprobs\":20"), &arena);
    assert_true(r.logprobs && r.top_logprobs == 20);
    r = good(VUG_API_CHAT, CHAT("\"logprobs\":true"), &arena);
    assert_true(r.logprobs && r.top_logprobs == 0);
    r = good(VUG_API_CHAT, CHAT("\"logprobs\":false"), &arena);
    assert_false(r.logprobs);
    r = good(VUG_API_TEXT, TEXT("\"logprobs\":0"), &arena);
    assert_true(r.logprobs && r.top_logprobs == 0);
    r = good(VUG_API_TEXT, TEXT("\"logprobs\":5,\"echo\":true"), &arena);
    assert_true(r.logprobs && r.top_logprobs == 5 && r.echo);
    vug_arena_release(&arena);
}

static void reads_formats(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_CHAT, CHAT("\"response_format\":{\"type\":\"text\"}"), &arena);
    assert_int_equal(r.format, VUG_FORMAT_TEXT);
    r = good(VUG_API_CHAT, CHAT("\"response_format\":{\"type\":\"json_object\"}"), &arena);
    assert_int_equal(r.format, VUG_FORMAT_JSON);
    r = good(VUG_API_CHAT,
             CHAT("\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\","
                  "\"strict\":true,\"schema\": { \"type\" : \"object\" } }}"),
             &arena);
    assert_int_equal(r.format, VUG_FORMAT_SCHEMA);
    assert_true(vug_str_is(r.form, "{ \"type\" : \"object\" }"));
    r = good(VUG_API_CHAT,
             CHAT("\"response_format\":{\"type\":\"json_object\",\"schema\":{\"a\":1}}"), &arena);
    assert_int_equal(r.format, VUG_FORMAT_SCHEMA);
    assert_true(vug_str_is(r.form, "{\"a\":1}"));
    vug_arena_release(&arena);
}

static void reads_tools(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(
            VUG_API_CHAT,
            CHAT("\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"g\"}},"
                 "\"tools\":[" TOOL("f") ",{\"type\":\"function\",\"function\":{\"name\":\"g\","
                                         "\"parameters\":{\"type\":\"object\"}}}],\"parallel_tool_"
                                         "calls\":false"),
            &arena);
    assert_int_equal(r.n_tools, 2);
    assert_int_equal(r.choice, VUG_TOOLS_NAMED);
    assert_int_equal(r.named, 1);
    assert_true(r.one_call);
    assert_true(vug_str_is(r.tool[1].name, "g"));
    assert_true(vug_str_is(r.tool[1].parameters, "{\"type\":\"object\"}"));
    assert_int_equal(r.tool[0].parameters.len, 0);
    assert_true(vug_str_starts(r.tools, "[{\"type\"") && vug_str_ends(r.tools, "}}]"));
    assert_int_equal(good(VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "]"), &arena).choice,
                     VUG_TOOLS_AUTO);
    r = good(VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "],\"tool_choice\":\"required\""), &arena);
    assert_int_equal(r.choice, VUG_TOOLS_REQUIRED);
    r = good(VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "],\"tool_choice\":\"none\""), &arena);
    assert_int_equal(r.choice, VUG_TOOLS_NONE);
    assert_true(vug_str_equal(r.callable, r.tools));
    r = good(VUG_API_CHAT,
             CHAT("\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":"
                  "\"required\",\"tools\":[" TOOL("h") "," TOOL("f") "," TOOL(
                          "f") "]}},\"tools\":[" TOOL("f") "," TOOL("g") "," TOOL("h") "]"),
             &arena);
    assert_int_equal(r.choice, VUG_TOOLS_REQUIRED);
    assert_true(vug_str_is(r.callable, "[" TOOL("f") "," TOOL("h") "]"));
    assert_int_equal(r.n_tools, 3);
    r = good(VUG_API_CHAT, CHAT("\"tools\":[],\"tool_choice\":\"auto\""), &arena);
    assert_int_equal(r.choice, VUG_TOOLS_NONE);
    assert_int_equal(r.tools.len, 0);
    vug_arena_release(&arena);
}

static void settles_thinking(void **state)
{
    (void)state;
#define ON  "{\"enable_thinking\":true"
#define OFF "{\"enable_thinking\":false"
    static const struct {
        const char *body;
        vug_api_thinking thinking;
        int64_t tokens;
        const char *variables;
    } example[] = {
        { CHAT("\"reasoning_effort\":\"none\""), VUG_THINKING_OFF, -1, OFF "}" },
        { CHAT("\"reasoning_effort\":\"minimal\""), VUG_THINKING_ON, 256, ON "}" },
        { CHAT("\"reasoning_effort\":\"low\""), VUG_THINKING_ON, 1024, ON "}" },
        { CHAT("\"reasoning_effort\":\"medium\""), VUG_THINKING_ON, 8192, ON "}" },
        { CHAT("\"reasoning_effort\":\"high\""), VUG_THINKING_ON, -1, ON "}" },
        { CHAT("\"enable_thinking\":false"), VUG_THINKING_OFF, -1, OFF "}" },
        { CHAT("\"chat_template_kwargs\":{}"), VUG_THINKING_DEFAULT, -1, "{}" },
        { CHAT("\"chat_template_kwargs\":{\"enable_thinking\": true}"), VUG_THINKING_ON, -1,
          "{\"enable_thinking\": true}" },
        { CHAT("\"chat_template_kwargs\":{\"a\\n\":\"b\\t\",\"c\":[1]},\"reasoning_effort\":"
               "\"none\""),
          VUG_THINKING_OFF, -1, OFF ",\"a\\n\":\"b\\t\",\"c\":[1]}" },
        { CHAT("\"reasoning_effort\":\"low\",\"chat_template_kwargs\":{\"enable_thinking\":null}"),
          VUG_THINKING_ON, 1024, ON "}" },
        { CHAT("\"reasoning_effort\":\"low\",\"chat_template_kwargs\":{\"enable_thinking\":"
               "false}"),
          VUG_THINKING_OFF, -1, "{\"enable_thinking\":false}" },
        { CHAT("\"reasoning_effort\":\"none\",\"enable_thinking\":true"), VUG_THINKING_ON, -1,
          ON "}" },
    };
    for (size_t i = 0; i < sizeof(example) / sizeof(example[0]); i++) {
        vug_arena arena = { 0 };
        const vug_api_request r = good(VUG_API_CHAT, example[i].body, &arena);
        assert_int_equal(r.thinking, example[i].thinking);
        assert_int_equal(r.thinking_tokens, example[i].tokens);
        if (!vug_str_is(r.variables, example[i].variables))
            fail_msg("%s\n-> %.*s", example[i].body, VUG_STR_ARG(r.variables));
        vug_arena_release(&arena);
    }
}

static void reads_prompts_of_every_shape(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":\"a b\"}", &arena);
    assert_int_equal(r.n_prompts, 1);
    assert_true(!r.prompt[0].is_tokens && vug_str_is(r.prompt[0].text, "a b"));
    r = good(VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[\"a\",\"\"],\"n\":3}", &arena);
    assert_int_equal(r.n_prompts, 2);
    assert_int_equal(r.n, 3);
    assert_true(vug_str_is(r.prompt[0].text, "a") && r.prompt[1].text.len == 0);
    r = good(VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[1,2,3]}", &arena);
    assert_int_equal(r.n_prompts, 1);
    assert_true(r.prompt[0].is_tokens && r.prompt[0].n == 3 && r.prompt[0].id[2] == 3);
    r = good(VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[[1,2],[7]]}", &arena);
    assert_int_equal(r.n_prompts, 2);
    assert_true(r.prompt[1].is_tokens && r.prompt[1].n == 1 && r.prompt[1].id[0] == 7);
    vug_arena_release(&arena);
}

static void reads_what_the_tools_of_tokenizers_send(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_TOKENIZE, "{\"content\":\"a\"}", &arena);
    assert_true(!r.add_special && r.parse_special && !r.pieces);
    assert_true(vug_str_is(r.prompt[0].text, "a"));
    r = good(VUG_API_TOKENIZE,
             "{\"content\":\"a\",\"add_special\":true,\"parse_special\":false,\"with_pieces\":"
             "true}",
             &arena);
    assert_true(r.add_special && !r.parse_special && r.pieces);
    r = good(VUG_API_TOKENIZE, "{\"model\":\"m\",\"prompt\":\"a\"}", &arena);
    assert_true(r.add_special);
    r = good(VUG_API_TOKENIZE, "{\"prompt\":\"a\",\"add_special_tokens\":false}", &arena);
    assert_false(r.add_special);
    r = good(VUG_API_TOKENIZE, "{" HELLO ",\"add_generation_prompt\":false}", &arena);
    assert_true(r.no_reply && r.messages.len > 0);
    r = good(VUG_API_DETOKENIZE, "{\"tokens\":[5,6]}", &arena);
    assert_true(r.prompt[0].n == 2 && r.prompt[0].id[1] == 6);
    r = good(VUG_API_DETOKENIZE, "{\"tokens\":[]}", &arena);
    assert_int_equal(r.prompt[0].n, 0);
    r = good(VUG_API_TEMPLATE, "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}", &arena);
    assert_false(r.no_reply);
    vug_arena_release(&arena);
}

/* ---- what is refused --------------------------------------------------------------- */

#define JSON_SCHEMA(inner) \
    CHAT("\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{" inner "}}")
#define FUNCTION(inner) "{\"type\":\"function\",\"function\":{" inner "}}"
#define CHOICE(choice)  CHAT("\"tool_choice\":" choice ",\"tools\":[" TOOL("f") "," TOOL("g") "]")
#define ALLOWED(inner)  CHOICE("{\"type\":\"allowed_tools\",\"allowed_tools\":{" inner "}}")

static const struct {
    vug_api_endpoint endpoint;
    const char *body, *param, *sentence; /* a part of it */
} refused[] = {
    { VUG_API_CHAT, "", "", "found the end" },
    { VUG_API_CHAT, "[]", "", "must be a JSON object" },
    { VUG_API_CHAT, "{\"model\":", "", "line 1, column 10" },
    { VUG_API_CHAT, "{" HELLO "} x", "", "expected the end" },
    { VUG_API_CHAT, CHAT("\"n\":1,\"n\":2"), "", "\"n\" twice" },
    { VUG_API_CHAT, CHAT("\"user\":\"\xff\""), "", "not UTF-8" },
    { VUG_API_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}", "model",
      "model is missing" },
    { VUG_API_CHAT, "{\"model\":null,\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}", "model",
      "missing" },
    { VUG_API_CHAT, "{\"model\":1,\"messages\":[]}", "model", "must be a string, not a number" },
    { VUG_API_CHAT, "{\"model\":\"m\"}", "messages", "messages is missing" },
    { VUG_API_CHAT, "{\"model\":\"m\",\"messages\":[]}", "messages", "empty" },
    { VUG_API_CHAT, "{\"model\":\"m\",\"messages\":\"hi\"}", "messages", "must be an array" },
    { VUG_API_CHAT, CHAT("\"max_tokens\":0"), "max_tokens", "at least 1" },
    { VUG_API_CHAT, CHAT("\"max_completion_tokens\":0"), "max_completion_tokens", "at least 1" },
    { VUG_API_CHAT, CHAT("\"max_tokens\":-2"), "max_tokens", "from -1" },
    { VUG_API_CHAT, CHAT("\"max_tokens\":1.5"), "max_tokens", "whole number" },
    { VUG_API_CHAT, CHAT("\"max_tokens\":\"5\""), "max_tokens", "must be a number, not a string" },
    { VUG_API_CHAT, CHAT("\"max_tokens\":99999999999"), "max_tokens", "2147483647" },
    { VUG_API_TEXT, TEXT("\"max_tokens\":0"), "max_tokens", "0 needs echo" },
    { VUG_API_CHAT, CHAT("\"temperature\":2.1"), "temperature", "from 0 to 2" },
    { VUG_API_CHAT, CHAT("\"temperature\":-0.1"), "temperature", "from 0 to 2" },
    { VUG_API_CHAT, CHAT("\"temperature\":1e999"), "", "number too large" },
    { VUG_API_CHAT, CHAT("\"top_p\":1.01"), "top_p", "from 0 to 1" },
    { VUG_API_CHAT, CHAT("\"top_k\":1.5"), "top_k", "whole" },
    { VUG_API_CHAT, CHAT("\"top_k\":-2"), "top_k", "from -1" },
    { VUG_API_CHAT, CHAT("\"repetition_penalty\":0"), "repetition_penalty", "from 0.01" },
    { VUG_API_CHAT, CHAT("\"frequency_penalty\":2.5"), "frequency_penalty", "from -2 to 2" },
    { VUG_API_CHAT, CHAT("\"presence_penalty\":-2.5"), "presence_penalty", "from -2 to 2" },
    { VUG_API_CHAT, CHAT("\"seed\":1.5"), "seed", "whole" },
    { VUG_API_CHAT, CHAT("\"seed\":9223372036854775808"), "seed", "64 bits" },
    { VUG_API_CHAT, CHAT("\"seed\":1e18"), "seed", "64 bits" },
    { VUG_API_CHAT, CHAT("\"n\":0"), "n", "from 1 to 128" },
    { VUG_API_CHAT, CHAT("\"n\":129"), "n", "from 1 to 128" },
    { VUG_API_CHAT, CHAT("\"stop\":1"), "stop", "a string or a list" },
    { VUG_API_CHAT, CHAT("\"stop\":\"\""), "stop", "not empty" },
    { VUG_API_CHAT, CHAT("\"stop\":[\"a\",1]"), "stop", "not empty" },
    { VUG_API_CHAT, CHAT("\"top_logprobs\":2"), "top_logprobs", "needs logprobs" },
    { VUG_API_CHAT, CHAT("\"top_logprobs\":2,\"logprobs\":false"), "top_logprobs", "needs" },
    { VUG_API_CHAT, CHAT("\"top_logprobs\":21,\"logprobs\":true"), "top_logprobs", "0 to 20" },
    { VUG_API_CHAT, CHAT("\"logprobs\":3"), "logprobs", "true or false" },
    { VUG_API_TEXT, TEXT("\"logprobs\":true"), "logprobs", "a number" },
    { VUG_API_TEXT, TEXT("\"logprobs\":21"), "logprobs", "0 to 20" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":{\"5\":101}"), "logit_bias", "-100 to 100" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":{\"x\":1}"), "logit_bias", "entry 0" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":{\"5\":1,\"05\":1}"), "logit_bias", "entry 1" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":{\"99999999999\":1}"), "logit_bias", "entry 0" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":[[\"Hi\",1]]"), "logit_bias", "[id, number]" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":[[1]]"), "logit_bias", "[id, number]" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":[[1,true]]"), "logit_bias", "[id, number]" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":5"), "logit_bias", "an object" },
    { VUG_API_CHAT, CHAT("\"response_format\":{}"), "response_format.type", "missing" },
    { VUG_API_CHAT, CHAT("\"response_format\":\"json\""), "response_format", "an object" },
    { VUG_API_CHAT, CHAT("\"response_format\":{\"type\":\"xml\"}"), "response_format.type",
      "'xml'" },
    { VUG_API_CHAT, CHAT("\"response_format\":{\"type\":\"json_schema\"}"),
      "response_format.json_schema", "missing" },
    { VUG_API_CHAT, JSON_SCHEMA(""), "response_format.json_schema.name", "missing" },
    { VUG_API_CHAT, JSON_SCHEMA("\"name\":\"\""), "response_format.json_schema.name", "1 to 256" },
    { VUG_API_CHAT, JSON_SCHEMA("\"name\":\"a b\""), "response_format.json_schema.name", "'a b'" },
    { VUG_API_CHAT, JSON_SCHEMA("\"name\":\"x\""), "response_format.json_schema.schema",
      "missing" },
    { VUG_API_CHAT, JSON_SCHEMA("\"name\":\"x\",\"schema\":[]"),
      "response_format.json_schema.schema", "an object" },
    { VUG_API_CHAT, JSON_SCHEMA("\"name\":\"x\",\"schema\":{},\"strict\":1"),
      "response_format.json_schema.strict", "true or false" },
    { VUG_API_CHAT, JSON_SCHEMA("\"name\":\"x\",\"schema\":{},\"description\":1"),
      "response_format.json_schema.description", "a string" },
    { VUG_API_CHAT, CHAT("\"tools\":{}"), "tools", "an array" },
    { VUG_API_CHAT, CHAT("\"tools\":[1]"), "tools[0]", "an object" },
    { VUG_API_CHAT, CHAT("\"tools\":[{\"type\":\"web_search\"}]"), "tools[0].type", "web_search" },
    { VUG_API_CHAT, CHAT("\"tools\":[{\"type\":\"function\"}]"), "tools[0].function", "missing" },
    { VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "," TOOL("a b") "]"), "tools[1].function.name",
      "'a b'" },
    { VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "," TOOL("f") "]"), "tools", "two functions" },
    { VUG_API_CHAT,
      CHAT("\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":3}}]"),
      "tools[0].function.parameters", "an object" },
    { VUG_API_CHAT, CHAT("\"tools\":[" FUNCTION("\"name\":\"f\",\"description\":[]") "]"),
      "tools[0].function.description", "a string" },
    { VUG_API_CHAT,
      CHAT("\"tools\":[" FUNCTION("\"name\":\"f\",\"parameters\":{\"type\":\"array\"}") "]"),
      "tools[0].function.parameters", "'array'" },
    { VUG_API_CHAT, CHAT("\"tools\":[" FUNCTION("\"name\":\"f\",\"strict\":1") "]"),
      "tools[0].function.strict", "true or false" },
    { VUG_API_CHAT, CHOICE("{\"type\":\"function\"}"), "tool_choice.function", "missing" },
    { VUG_API_CHAT, CHOICE(FUNCTION("")), "tool_choice.function.name", "missing" },
    { VUG_API_CHAT, CHOICE("{\"type\":\"custom\"}"), "tool_choice", "none, auto, required" },
    { VUG_API_CHAT, CHOICE("{\"type\":\"allowed_tools\"}"), "tool_choice.allowed_tools",
      "missing" },
    { VUG_API_CHAT, ALLOWED("\"tools\":[" TOOL("f") "]"), "tool_choice.allowed_tools.mode",
      "missing" },
    { VUG_API_CHAT, ALLOWED("\"mode\":\"none\""), "tool_choice.allowed_tools.mode", "'none'" },
    { VUG_API_CHAT, ALLOWED("\"mode\":\"auto\""), "tool_choice.allowed_tools.tools", "missing" },
    { VUG_API_CHAT, ALLOWED("\"mode\":\"auto\",\"tools\":[]"), "tool_choice.allowed_tools.tools",
      "0 entries" },
    { VUG_API_CHAT, ALLOWED("\"mode\":\"auto\",\"tools\":[" TOOL("f") ",{\"type\":\"custom\"}]"),
      "tool_choice.allowed_tools.tools[1].type", "'custom'" },
    { VUG_API_CHAT, ALLOWED("\"mode\":\"auto\",\"tools\":[" TOOL("z") "]"),
      "tool_choice.allowed_tools.tools[0]", "'z', which is not" },
    { VUG_API_CHAT,
      CHAT("\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":\"auto\","
           "\"tools\":[" TOOL("f") "]}}"),
      "tool_choice", "no tools" },
    { VUG_API_CHAT, CHAT("\"tool_choice\":\"required\""), "tool_choice", "no tools" },
    { VUG_API_CHAT, CHAT("\"tool_choice\":" TOOL("f")), "tool_choice", "no tools" },
    { VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "],\"tool_choice\":" TOOL("g")), "tool_choice",
      "'g'" },
    { VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "],\"tool_choice\":\"any\""), "tool_choice",
      "none, auto, required" },
    { VUG_API_CHAT, CHAT("\"parallel_tool_calls\":1"), "parallel_tool_calls", "true or false" },
    { VUG_API_CHAT, CHAT("\"functions\":[]"), "functions", "use tools" },
    { VUG_API_CHAT, CHAT("\"function_call\":\"auto\""), "function_call", "use tool_choice" },
    { VUG_API_CHAT, CHAT("\"reasoning_effort\":\"huge\""), "reasoning_effort", "'huge'" },
    { VUG_API_CHAT, CHAT("\"chat_template_kwargs\":[]"), "chat_template_kwargs", "an object" },
    { VUG_API_CHAT, CHAT("\"chat_template_kwargs\":{\"enable_thinking\":1}"),
      "chat_template_kwargs.enable_thinking", "true or false" },
    { VUG_API_CHAT, CHAT("\"stream\":\"yes\""), "stream", "true or false" },
    { VUG_API_CHAT, CHAT("\"stream_options\":[]"), "stream_options", "an object" },
    { VUG_API_CHAT, CHAT("\"stream_options\":{\"include_usage\":1}"),
      "stream_options.include_usage", "true or false" },
    { VUG_API_CHAT, CHAT("\"audio\":{\"voice\":\"x\"}"), "audio", "not supported" },
    { VUG_API_CHAT, CHAT("\"modalities\":[\"text\",\"audio\"]"), "modalities", "audio" },
    { VUG_API_TEXT, "{\"model\":\"m\"}", "prompt", "missing" },
    { VUG_API_TEXT, "{\"prompt\":\"a\"}", "model", "missing" },
    { VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[]}", "prompt", "must be a string, a list" },
    { VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[[]]}", "prompt", "none of them empty" },
    { VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[\"a\",[1]]}", "prompt", "mixes" },
    { VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[1,\"a\"]}", "prompt", "a number" },
    { VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[1,-1]}", "prompt", "from 0" },
    { VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":{}}", "prompt", "must be a string" },
    { VUG_API_TEXT, TEXT("\"suffix\":\"end\""), "suffix", "middle" },
    { VUG_API_TEXT, TEXT("\"best_of\":3"), "best_of", "best_of is 3" },
    { VUG_API_TEXT, TEXT("\"echo\":1"), "echo", "true or false" },
    { VUG_API_TOKENIZE, "{}", "content", "one of" },
    { VUG_API_TOKENIZE, "{\"content\":\"a\",\"prompt\":\"b\"}", "content", "one of" },
    { VUG_API_TOKENIZE, "{\"prompt\":[1]}", "prompt", "a string" },
    { VUG_API_TOKENIZE, "{\"content\":[\"a\"]}", "content", "a string" },
    { VUG_API_DETOKENIZE, "{}", "tokens", "missing" },
    { VUG_API_DETOKENIZE, "{\"tokens\":[\"a\"]}", "tokens", "a number" },
    { VUG_API_TEMPLATE, "{}", "messages", "missing" },
};

static void refuses_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        vug_arena arena = { 0 };
        vug_api_request r;
        vug_api_error error;
        if (read_into(refused[i].endpoint, vug_str_of(refused[i].body), &arena, &r, &error))
            fail_msg("accepted: %s", refused[i].body);
        assert_int_equal(vug_api_error_status(error.kind), 400);
        assert_string_equal(error.param, refused[i].param);
        if (!strstr(error.message, refused[i].sentence))
            fail_msg("%s\n-> %s", refused[i].body, error.message);
        vug_arena_release(&arena);
    }
}

/* ---- limits ------------------------------------------------------------------------ */

static void refuse_many(const char *head, const char *item, size_t n, const char *tail,
                        const char *sentence)
{
    vug_buf body = { 0 };
    vug_arena arena = { 0 };
    vug_api_request r;
    vug_api_error error;
    vug_buf_puts(&body, head);
    for (size_t i = 0; i < n; i++) {
        vug_buf_puts(&body, i ? "," : "");
        vug_buf_printf(&body, item, i); // NOLINT(clang-diagnostic-format-nonliteral)
    }
    vug_buf_puts(&body, tail);
    assert_false(read_into(VUG_API_CHAT, (vug_str){ body.ptr, body.len }, &arena, &r, &error));
    assert_int_equal(vug_api_error_status(error.kind), 400);
    if (!strstr(error.message, sentence))
        fail_msg("%s: %s", sentence, error.message);
    vug_arena_release(&arena);
    vug_buf_release(&body);
}

static void refuses_too_many(void **state)
{
    (void)state;
    refuse_many("{" HELLO ",\"stop\":[", "\"%zu\"", VUG_API_MAX_STOPS + 1, "]}",
                "stop has 65 strings, at most 64 are taken");
    refuse_many("{" HELLO ",\"stop\":[", "\"%zu\"", 1000000, "]}", "more values than fit");
    refuse_many("{" HELLO ",\"logit_bias\":{", "\"%zu\":1", VUG_API_MAX_BIAS + 1, "}}",
                "logit_bias has 1017 entries, at most 1016 are taken");
    refuse_many("{\"model\":\"m\",\"messages\":[", "{\"role\":\"user\",\"content\":\"%zu\"}",
                VUG_API_MAX_MESSAGES + 1, "]}", "messages has 16385 entries");
    refuse_many("{" HELLO ",\"tools\":[",
                "{\"type\":\"function\",\"function\":{\"name\":\"f%zu\"}}", VUG_API_MAX_TOOLS + 1,
                "]}", "tools has 1025 entries, at most 1024 are taken");
    refuse_many("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[",
                "{\"type\":\"text\",\"text\":\"%zu\"}", VUG_API_MAX_PARTS + 1, "]}]}",
                "4097 parts");
    refuse_many("{" HELLO ",\"response_format\":{\"type\":\"json_object\",\"schema\":{\"enum\":[",
                "\"%062zu\"", VUG_API_MAX_FORM / 64, "]}}}", "at most 1048576 are read");
}

static void refuses_the_long_and_the_deep(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r;
    vug_api_error error;
    vug_buf body = { 0 };
    vug_buf_puts(&body, "{" HELLO ",\"stop\":\"");
    for (int i = 0; i <= VUG_API_MAX_STOP; i++)
        vug_buf_puts(&body, "x");
    vug_buf_puts(&body, "\"}");
    assert_false(read_into(VUG_API_CHAT, (vug_str){ body.ptr, body.len }, &arena, &r, &error));
    assert_non_null(strstr(error.message, "1025 bytes, at most 1024"));
    body.len = 0;
    vug_buf_printf(&body, "{\"prompt\":\"a\",\"model\":\"%0*d\"}", VUG_API_MAX_MODEL + 1, 0);
    assert_false(read_into(VUG_API_TEXT, (vug_str){ body.ptr, body.len }, &arena, &r, &error));
    assert_string_equal(error.message, "model has 1025 bytes, at most 1024 are taken");
    body.len = 0;
    for (int i = 0; i < 100000; i++)
        vug_buf_puts(&body, "[");
    assert_false(read_into(VUG_API_CHAT, (vug_str){ body.ptr, body.len }, &arena, &r, &error));
    assert_non_null(strstr(error.message, "nested deeper than 64 levels"));
    vug_buf_release(&body);
    /* It is not looked at. */
    const char one = '{';
    assert_false(
            read_into(VUG_API_CHAT, (vug_str){ &one, VUG_API_MAX_BODY + 1 }, &arena, &r, &error));
    assert_int_equal(vug_api_error_status(error.kind), 413);
    vug_arena_release(&arena);
}

/* ---- with the model's help ----------------------------------------------------------- */

static void applies_requests_over_defaults(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_sampling s;
    const vug_sampling_defaults model = {
        .stage = { { VUG_SAMPLER_TEMPERATURE, 1.0f, 0 },
                   { VUG_SAMPLER_TOP_K, 64, 0 },
                   { VUG_SAMPLER_TOP_P, 0.95f, 0 } },
        .n = 3,
    };
    vug_api_request r = good(VUG_API_CHAT, "{" HELLO "}", &arena);
    assert_true(vug_api_sampling(&r, &model, 77, &arena, &s));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.seed, 77);
    assert_true(s.stage[1].kind == VUG_SAMPLER_TOP_K && s.stage[1].value == 64);
    r = good(VUG_API_CHAT,
             CHAT("\"temperature\":0,\"top_k\":-1,\"min_p\":0.5,\"repeat_penalty\":2,"
                  "\"repetition_penalty\":1.5,\"frequency_penalty\":-1,\"presence_penalty\":1,"
                  "\"logit_bias\":{\"4\":1,\"5\":2},\"seed\":9"),
             &arena);
    assert_true(vug_api_sampling(&r, &model, 77, &arena, &s));
    static const vug_sampler_stage want[] = {
        { VUG_SAMPLER_REPETITION, 1.5f, 0 }, { VUG_SAMPLER_PRESENCE, 1, 0 },
        { VUG_SAMPLER_FREQUENCY, -1, 0 },    { VUG_SAMPLER_BIAS, 1, 4 },
        { VUG_SAMPLER_BIAS, 2, 5 },          { VUG_SAMPLER_TEMPERATURE, 0, 0 },
        { VUG_SAMPLER_TOP_K, 0, 0 },         { VUG_SAMPLER_TOP_P, 0.95f, 0 },
        { VUG_SAMPLER_MIN_P, 0.5f, 0 },
    };
    assert_int_equal(s.n, sizeof(want) / sizeof(want[0]));
    assert_int_equal(s.seed, 9);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.stage[i].kind, want[i].kind);
        assert_int_equal(s.stage[i].token, want[i].token);
        assert_true(s.stage[i].value == want[i].value);
    }
    /* Without any word from anybody: a chain all the same, not the model's defaults. */
    r = good(VUG_API_CHAT, "{" HELLO "}", &arena);
    assert_true(vug_api_sampling(&r, &(vug_sampling_defaults){ 0 }, 1, &arena, &s));
    assert_true(s.n == 1 && s.stage[0].kind == VUG_SAMPLER_TEMPERATURE && s.stage[0].value == 1);
    vug_arena_release(&arena);
}

static void checks_ids_against_the_vocabulary(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_error error = { 0 };
    vug_api_request r = good(VUG_API_TEXT, "{\"model\":\"m\",\"prompt\":[[1],[9]]}", &arena);
    assert_true(vug_api_check_tokens(&r, 10, &error));
    assert_false(vug_api_check_tokens(&r, 9, &error));
    assert_string_equal(error.param, "prompt");
    r = good(VUG_API_CHAT, CHAT("\"logit_bias\":{\"9\":1}"), &arena);
    assert_true(vug_api_check_tokens(&r, 10, &error));
    assert_false(vug_api_check_tokens(&r, 9, &error));
    assert_string_equal(error.param, "logit_bias");
    r = good(VUG_API_DETOKENIZE, "{\"tokens\":[9]}", &arena);
    assert_false(vug_api_check_tokens(&r, 9, &error));
    assert_string_equal(error.param, "tokens");
    vug_arena_release(&arena);
}

/* ---- errors -------------------------------------------------------------------------- */

static void writes_errors(void **state)
{
    (void)state;
    vug_api_error error;
    vug_buf to = { 0 };
    vug_api_error_set(&error, VUG_API_BAD_REQUEST, NULL, "a \"%s\"", "b");
    vug_api_error_write(&error, &to);
    assert_string_equal(to.ptr, "{\"error\":{\"message\":\"a \\\"b\\\"\",\"type\":"
                                "\"invalid_request_error\",\"param\":null,\"code\":null}}");
    to.len = 0;
    vug_api_error_context(&error, 4096, 5000, 16, "messages");
    vug_api_error_event(&error, &to);
    assert_string_equal(
            to.ptr,
            "data: {\"error\":{\"message\":\"This model's maximum context length is 4096 tokens. "
            "However, you requested 5016 tokens (5000 in the messages, 16 in the completion). "
            "Please reduce the length of the messages or completion.\",\"type\":"
            "\"invalid_request_error\",\"param\":\"messages\",\"code\":"
            "\"context_length_exceeded\"}}\n\n");
    to.len = 0;
    vug_api_error_model(&error, vug_str_of("x/y"));
    assert_int_equal(vug_api_error_status(error.kind), 404);
    vug_api_error_write(&error, &to);
    assert_string_equal(to.ptr, "{\"error\":{\"message\":\"The model 'x/y' does not exist\","
                                "\"type\":\"not_found_error\",\"param\":\"model\",\"code\":"
                                "\"model_not_found\"}}");
    vug_buf_release(&to);
    static const struct {
        vug_status code;
        int status;
    } of_library[] = {
        { VUG_FORMAT, 400 }, { VUG_UNSUPPORTED, 400 }, { VUG_ARGUMENT, 400 }, { VUG_LIMIT, 400 },
        { VUG_NOMEM, 503 },  { VUG_CANCELLED, 503 },   { VUG_IO, 500 },
    };
    for (size_t i = 0; i < sizeof(of_library) / sizeof(of_library[0]); i++) {
        const vug_err err = { .code = of_library[i].code, .msg = "why" };
        vug_api_error_take(&error, &err, "messages");
        assert_int_equal(vug_api_error_status(error.kind), of_library[i].status);
        assert_string_equal(error.message, "why");
    }
}

/* ---- the page ------------------------------------------------------------------------ */

enum {
#define X(id, path) ON_##id = 1 << VUG_API_##id,
    VUG_API_ENDPOINT_TABLE(X)
#undef X
};
#undef CHAT
#undef TEXT
#define CHAT       ON_CHAT
#define TEXT       ON_TEXT
#define TOKENIZE   ON_TOKENIZE
#define DETOKENIZE ON_DETOKENIZE
#define TEMPLATE   ON_TEMPLATE

/* The table of docs/server-api.md is that of fields.def, line for line. */
static void the_page_has_the_table(void **state)
{
    (void)state;
    static const struct {
        const char *name, *help;
        int on;
    } row[] = {
#define X(name, endpoints, reader, min, max, help) { #name, help, endpoints },
#include "app/server/api/fields.def"
#undef X
    };
    static const char *const endpoint[] = { "chat", "text", "tokenize", "detokenize", "template" };
    vug_text page = { 0 };
    vug_err err = { 0 };
    if (vug_read_file("docs/server-api.md", 1 << 20, &page, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < VUG_FIELD_COUNT; i++) {
        vug_buf line = { 0 };
        bool first = true;
        vug_buf_printf(&line, "\n| `%s` | ", row[i].name);
        for (size_t e = 0; e < VUG_API_ENDPOINT_COUNT; e++) {
            if (!(row[i].on >> e & 1))
                continue;
            vug_buf_printf(&line, "%s%s", first ? "" : ", ", endpoint[e]);
            first = false;
        }
        vug_buf_printf(&line, " | %s |\n", row[i].help);
        if (!strstr(page.ptr, line.ptr))
            fail_msg("docs/server-api.md lacks this line:%s", line.ptr);
        vug_buf_release(&line);
    }
    vug_text_release(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_least),
        cmocka_unit_test(passes_over_null_and_the_unknown),
        cmocka_unit_test(takes_every_length),
        cmocka_unit_test(reads_stops_seeds_and_biases),
        cmocka_unit_test(reads_logprobs_of_both_kinds),
        cmocka_unit_test(reads_formats),
        cmocka_unit_test(reads_tools),
        cmocka_unit_test(settles_thinking),
        cmocka_unit_test(reads_prompts_of_every_shape),
        cmocka_unit_test(reads_what_the_tools_of_tokenizers_send),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(refuses_too_many),
        cmocka_unit_test(refuses_the_long_and_the_deep),
        cmocka_unit_test(applies_requests_over_defaults),
        cmocka_unit_test(checks_ids_against_the_vocabulary),
        cmocka_unit_test(writes_errors),
        cmocka_unit_test(the_page_has_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
