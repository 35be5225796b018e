

#include "test.h"

#include "core/os.h"
#include "server/api/api_request.h"

/*
 * Request bodies: what is parsed, what is rejected with which `param`, and every truncation and bit
 * flip of a few.
 */

static bool read_into(vug_api_endpoint endpoint, vug_str body, vug_arena *arena,
                      vug_api_request *out, vug_api_error *error)
{
    memset(error, 0, sizeof(*error));
    return vug_api_parse_request(endpoint, body, arena, out, error);
}

/* Parses a valid request. The caller owns the arena. */
static vug_api_request good(vug_api_endpoint endpoint, const char *body, vug_arena *arena)
{
    vug_api_request r;
    vug_api_error error;
    if (!read_into(endpoint, vug_str_of(body), arena, &r, &error))
        fail_msg("%s\n-> %s: %s", body, error.param, error.message);
    return r;
}

#define HELLO            "\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define CHAT(rest)       "{" HELLO "," rest "}"
#define COMPLETION(rest) "{\"model\":\"pebble\",\"prompt\":\"once\"," rest "}"
#define TOOL(name)       "{\"type\":\"function\",\"function\":{\"name\":\"" name "\"}}"

/* ---- parsing --------------------------------------------------------------------- */

static void test_parses_minimal_request(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    const vug_api_request r = good(VUG_API_CHAT, "{" HELLO "}", &arena);
    assert_true(vug_str_is(r.model, "pebble"));
    assert_true(vug_str_is(r.messages, "[{\"role\":\"user\",\"content\":\"hi\"}]"));
    assert_int_equal(r.max_tokens, -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.tool_choice, VUG_TOOLS_NONE);
    assert_int_equal(r.constraint_kind, VUG_CONSTRAINT_NONE);
    assert_int_equal(r.thinking, VUG_THINKING_DEFAULT);
    assert_int_equal(r.template_variables.len, 0);
    assert_false(r.stream || r.logprobs || r.single_call || r.no_generation_prompt ||
                 r.include_usage);
    vug_arena_release(&arena);
}

/* null counts as absent everywhere, and unknown fields are ignored. */
static void test_ignores_null_and_unknown_fields(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_buf body = { 0 };
    vug_buf_puts(&body, "{" HELLO ",\"frobnicate\":{\"a\":[1]},\"frobnicate2\":-1");
#define X(name, ...)                                                   \
    if (strcmp(#name, "model") != 0 && strcmp(#name, "messages") != 0) \
        vug_buf_puts(&body, ",\"" #name "\":null");
#include "server/api/fields.def"
#undef X
    vug_buf_puts(&body, "}");
    const vug_api_request r = good(VUG_API_CHAT, body.ptr, &arena);
    for (int i = 0; i < VUG_FIELD_COUNT; i++)
        assert_int_equal(r.given[i], i == VUG_FIELD_model || i == VUG_FIELD_messages);
    vug_buf_release(&body);
    vug_arena_release(&arena);
}

static void test_parses_predictions(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r =
            good(VUG_API_CHAT, CHAT("\"prediction\":{\"type\":\"content\",\"content\":\"a b\"}"),
                 &arena);
    assert_true(vug_str_is(r.prediction, "a b"));
    r = good(VUG_API_COMPLETION,
             COMPLETION("\"speculative.n_max\":3,\"prediction\":{\"type\":\"content\",\"content\":["
                        "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\" c\"}]}"),
             &arena);
    assert_true(vug_str_is(r.prediction, "a c"));
    assert_true(r.number[VUG_FIELD_speculative_n_max] == 3);
    vug_arena_release(&arena);
}

static void test_token_limits(void **state)
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
        { VUG_API_COMPLETION, COMPLETION("\"max_tokens\":7"), 7 },
        { VUG_API_COMPLETION, COMPLETION("\"max_tokens\":null"), 16 },
        { VUG_API_COMPLETION, COMPLETION("\"max_tokens\":-1"), -1 },
        { VUG_API_COMPLETION, COMPLETION("\"max_tokens\":0,\"echo\":true,\"logprobs\":1"), 0 },
    };
    for (size_t i = 0; i < sizeof(example) / sizeof(example[0]); i++) {
        vug_arena arena = { 0 };
        assert_int_equal(good(example[i].endpoint, example[i].body, &arena).max_tokens,
                         example[i].tokens);
        vug_arena_release(&arena);
    }
}

static void test_parses_stops_seeds_and_biases(void **state)
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
    r = good(VUG_API_COMPLETION, COMPLETION("\"logit_bias\":[[5,1.5],[6,false]],\"stop\":[]"),
             &arena);
    assert_int_equal(r.n_bias, 2);
    assert_int_equal(r.bias[1].token, 6);
    assert_true(r.bias[0].value == 1.5f && r.bias[1].value == -1000);
    assert_int_equal(r.n_stops, 0);
    vug_arena_release(&arena);
}

static void test_parses_logprobs(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_CHAT, CHAT("\"logprobs\":true,\"top_logprobs\":20"), &arena);
    assert_true(r.logprobs && r.top_logprobs == 20);
    r = good(VUG_API_CHAT, CHAT("\"logprobs\":true"), &arena);
    assert_true(r.logprobs && r.top_logprobs == 0);
    r = good(VUG_API_CHAT, CHAT("\"logprobs\":false"), &arena);
    assert_false(r.logprobs);
    r = good(VUG_API_COMPLETION, COMPLETION("\"logprobs\":0"), &arena);
    assert_true(r.logprobs && r.top_logprobs == 0);
    r = good(VUG_API_COMPLETION, COMPLETION("\"logprobs\":5,\"echo\":true"), &arena);
    assert_true(r.logprobs && r.top_logprobs == 5 && r.echo);
    vug_arena_release(&arena);
}

static void test_parses_response_format(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_CHAT, CHAT("\"response_format\":{\"type\":\"text\"}"), &arena);
    assert_int_equal(r.constraint_kind, VUG_CONSTRAINT_NONE);
    r = good(VUG_API_CHAT, CHAT("\"response_format\":{\"type\":\"json_object\"}"), &arena);
    assert_int_equal(r.constraint_kind, VUG_CONSTRAINT_JSON);
    r = good(VUG_API_CHAT,
             CHAT("\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\","
                  "\"strict\":true,\"schema\": { \"type\" : \"object\" } }}"),
             &arena);
    assert_int_equal(r.constraint_kind, VUG_CONSTRAINT_SCHEMA);
    assert_true(vug_str_is(r.constraint, "{ \"type\" : \"object\" }"));
    r = good(VUG_API_CHAT,
             CHAT("\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{"
                  "\"schema\":{\"a\":2}}}"),
             &arena);
    assert_true(vug_str_is(r.constraint, "{\"a\":2}"));
    r = good(VUG_API_CHAT,
             CHAT("\"response_format\":{\"type\":\"json_object\",\"schema\":{\"a\":1}}"), &arena);
    assert_int_equal(r.constraint_kind, VUG_CONSTRAINT_SCHEMA);
    assert_true(vug_str_is(r.constraint, "{\"a\":1}"));
    vug_arena_release(&arena);
}

static void test_parses_tools(void **state)
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
    assert_int_equal(r.tool_choice, VUG_TOOLS_NAMED);
    assert_int_equal(r.named_tool, 1);
    assert_true(r.single_call);
    assert_true(vug_str_is(r.tool[1].name, "g"));
    assert_true(vug_str_is(r.tool[1].parameters, "{\"type\":\"object\"}"));
    assert_int_equal(r.tool[0].parameters.len, 0);
    assert_true(vug_str_starts(r.tools, "[{\"type\"") && vug_str_ends(r.tools, "}}]"));
    assert_int_equal(good(VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "]"), &arena).tool_choice,
                     VUG_TOOLS_AUTO);
    r = good(VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "],\"tool_choice\":\"required\""), &arena);
    assert_int_equal(r.tool_choice, VUG_TOOLS_REQUIRED);
    r = good(VUG_API_CHAT, CHAT("\"tools\":[" TOOL("f") "],\"tool_choice\":\"none\""), &arena);
    assert_int_equal(r.tool_choice, VUG_TOOLS_NONE);
    assert_true(vug_str_equal(r.callable_tools, r.tools));
    r = good(VUG_API_CHAT,
             CHAT("\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":"
                  "\"required\",\"tools\":[" TOOL("h") "," TOOL("f") "," TOOL(
                          "f") "]}},\"tools\":[" TOOL("f") "," TOOL("g") "," TOOL("h") "]"),
             &arena);
    assert_int_equal(r.tool_choice, VUG_TOOLS_REQUIRED);
    assert_true(vug_str_is(r.callable_tools, "[" TOOL("f") "," TOOL("h") "]"));
    assert_int_equal(r.n_tools, 3);
    r = good(VUG_API_CHAT, CHAT("\"tools\":[],\"tool_choice\":\"auto\""), &arena);
    assert_int_equal(r.tool_choice, VUG_TOOLS_NONE);
    assert_int_equal(r.tools.len, 0);
    vug_arena_release(&arena);
}

static void test_thinking_fields(void **state)
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
        assert_int_equal(r.thinking_budget, example[i].tokens);
        if (!vug_str_is(r.template_variables, example[i].variables))
            fail_msg("%s\n-> %.*s", example[i].body, VUG_STR_ARG(r.template_variables));
        vug_arena_release(&arena);
    }
}

static void test_parses_every_kind_of_prompt(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":\"a b\"}", &arena);
    assert_int_equal(r.n_prompts, 1);
    assert_true(!r.prompt[0].is_tokens && vug_str_is(r.prompt[0].text, "a b"));
    r = good(VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[\"a\",\"\"],\"n\":3}", &arena);
    assert_int_equal(r.n_prompts, 2);
    assert_int_equal(r.n, 3);
    assert_true(vug_str_is(r.prompt[0].text, "a") && r.prompt[1].text.len == 0);
    r = good(VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[1,2,3]}", &arena);
    assert_int_equal(r.n_prompts, 1);
    assert_true(r.prompt[0].is_tokens && r.prompt[0].n == 3 && r.prompt[0].id[2] == 3);
    r = good(VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[[1,2],[7]]}", &arena);
    assert_int_equal(r.n_prompts, 2);
    assert_true(r.prompt[1].is_tokens && r.prompt[1].n == 1 && r.prompt[1].id[0] == 7);
    vug_arena_release(&arena);
}

static void test_parses_tokenize_and_detokenize(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_TOKENIZE, "{\"content\":\"a\"}", &arena);
    assert_true(!r.add_special && r.parse_special && !r.with_pieces);
    assert_true(vug_str_is(r.prompt[0].text, "a"));
    r = good(VUG_API_TOKENIZE,
             "{\"content\":\"a\",\"add_special\":true,\"parse_special\":false,\"with_pieces\":"
             "true}",
             &arena);
    assert_true(r.add_special && !r.parse_special && r.with_pieces);
    r = good(VUG_API_TOKENIZE, "{\"model\":\"m\",\"prompt\":\"a\"}", &arena);
    assert_true(r.add_special);
    r = good(VUG_API_TOKENIZE, "{\"prompt\":\"a\",\"add_special_tokens\":false}", &arena);
    assert_false(r.add_special);
    r = good(VUG_API_TOKENIZE, "{" HELLO ",\"add_generation_prompt\":false}", &arena);
    assert_true(r.no_generation_prompt && r.messages.len > 0);
    r = good(VUG_API_DETOKENIZE, "{\"tokens\":[5,6]}", &arena);
    assert_true(r.prompt[0].n == 2 && r.prompt[0].id[1] == 6);
    r = good(VUG_API_DETOKENIZE, "{\"tokens\":[]}", &arena);
    assert_int_equal(r.prompt[0].n, 0);
    r = good(VUG_API_TEMPLATE, "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}", &arena);
    assert_false(r.no_generation_prompt);
    vug_arena_release(&arena);
}

/* ---- rejecting --------------------------------------------------------------------- */

#define JSON_SCHEMA(inner) \
    CHAT("\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{" inner "}}")
#define FUNCTION(inner) "{\"type\":\"function\",\"function\":{" inner "}}"
#define CHOICE(choice)  CHAT("\"tool_choice\":" choice ",\"tools\":[" TOOL("f") "," TOOL("g") "]")
#define ALLOWED(inner)  CHOICE("{\"type\":\"allowed_tools\",\"allowed_tools\":{" inner "}}")

static const struct {
    vug_api_endpoint endpoint;
    const char *body, *param, *part; /* of the error message */
} refused[] = {
    { VUG_API_EMBEDDING, "{\"model\":\"m\"}", "input", "input is missing" },
    { VUG_API_EMBEDDING, "{\"model\":\"m\",\"input\":\"a\",\"dimensions\":0}", "dimensions",
      "from 1" },
    { VUG_API_EMBEDDING, "{\"model\":\"m\",\"input\":\"a\",\"encoding_format\":1}",
      "encoding_format", "must be a string" },
    { VUG_API_CHAT, "", "", "found the end" },
    { VUG_API_CHAT, "[]", "", "must be a JSON object" },
    { VUG_API_CHAT, "{\"model\":", "", "line 1, column 10" },
    { VUG_API_CHAT, "{" HELLO "} x", "", "expected the end" },
    { VUG_API_CHAT, CHAT("\"n\":1,\"n\":2"), "", "\"n\" twice" },
    { VUG_API_CHAT, CHAT("\"user\":\"\xff\""), "", "not UTF-8" },
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
    { VUG_API_COMPLETION, COMPLETION("\"max_tokens\":0"), "max_tokens", "0 needs echo" },
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
    { VUG_API_CHAT, CHAT("\"stop\":\"\""), "stop", "non-empty" },
    { VUG_API_CHAT, CHAT("\"stop\":[\"a\",1]"), "stop", "non-empty" },
    { VUG_API_CHAT, CHAT("\"top_logprobs\":2"), "top_logprobs", "needs logprobs" },
    { VUG_API_CHAT, CHAT("\"top_logprobs\":2,\"logprobs\":false"), "top_logprobs", "needs" },
    { VUG_API_CHAT, CHAT("\"top_logprobs\":21,\"logprobs\":true"), "top_logprobs", "0 to 20" },
    { VUG_API_CHAT, CHAT("\"logprobs\":3"), "logprobs", "true or false" },
    { VUG_API_COMPLETION, COMPLETION("\"logprobs\":true"), "logprobs", "a number" },
    { VUG_API_COMPLETION, COMPLETION("\"logprobs\":21"), "logprobs", "0 to 20" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":{\"5\":101}"), "logit_bias",
      "\"5\" must be a token id with a number from -100 to 100" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":{\"x\":1}"), "logit_bias", "\"x\" must be a token id" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":{\"5\":1,\"05\":1}"), "logit_bias",
      "\"05\" must be a token id" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":{\"99999999999\":1}"), "logit_bias",
      "\"99999999999\" must be a token id" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":[[\"Hi\",1]]"), "logit_bias",
      "entry 0 must be [id, number]" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":[[1]]"), "logit_bias", "[id, number]" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":[[1,true]]"), "logit_bias", "[id, number]" },
    { VUG_API_CHAT, CHAT("\"logit_bias\":5"), "logit_bias", "an object" },
    { VUG_API_CHAT, CHAT("\"response_format\":{}"), "response_format.type", "missing" },
    { VUG_API_CHAT, CHAT("\"response_format\":\"json\""), "response_format", "an object" },
    { VUG_API_CHAT, CHAT("\"response_format\":{\"type\":\"xml\"}"), "response_format.type",
      "'xml'" },
    { VUG_API_CHAT, CHAT("\"response_format\":{\"type\":\"json_schema\"}"),
      "response_format.json_schema", "missing" },
    { VUG_API_CHAT, JSON_SCHEMA(""), "response_format.json_schema.schema", "missing" },
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
    { VUG_API_CHAT, CHAT("\"cache_salt\":\"\""), "cache_salt", "0 bytes" },
    { VUG_API_CHAT, CHAT("\"cache_salt\":7"), "cache_salt", "string" },
    { VUG_API_CHAT, CHAT("\"prediction\":\"text\""), "prediction", "an object" },
    { VUG_API_CHAT, CHAT("\"prediction\":{\"content\":\"a\"}"), "prediction.type", "missing" },
    { VUG_API_CHAT, CHAT("\"prediction\":{\"type\":\"file\",\"content\":\"a\"}"), "prediction.type",
      "'file', expected content" },
    { VUG_API_CHAT, CHAT("\"prediction\":{\"type\":\"content\"}"), "prediction.content",
      "a string or a list" },
    { VUG_API_CHAT,
      CHAT("\"prediction\":{\"type\":\"content\",\"content\":[{\"type\":\"image\",\"text\":\"a\"}]"
           "}"),
      "prediction.content", "'image', expected text" },
    { VUG_API_CHAT, CHAT("\"speculative.n_max\":-1"), "speculative.n_max", "from 0" },
    { VUG_API_CHAT, CHAT("\"priority\":\"high\""), "priority", "a number" },
    { VUG_API_CHAT, CHAT("\"priority\":3000000000"), "priority", "2147483647" },
    { VUG_API_CHAT, CHAT("\"stream_options\":{}"), "stream_options", "only allowed when stream" },
    { VUG_API_COMPLETION,
      COMPLETION("\"stream_options\":{\"include_usage\":true},\"stream\":false"), "stream_options",
      "only allowed when stream" },
    { VUG_API_CHAT, CHAT("\"stream_options\":{\"include_usage\":1}"),
      "stream_options.include_usage", "true or false" },
    { VUG_API_CHAT, CHAT("\"audio\":{\"voice\":\"x\"}"), "audio", "not supported" },
    { VUG_API_CHAT, CHAT("\"modalities\":[\"text\",\"audio\"]"), "modalities", "audio" },
    { VUG_API_COMPLETION, "{\"model\":\"m\"}", "prompt", "missing" },
    { VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[]}", "prompt", "must be a string, a list" },
    { VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[[]]}", "prompt", "none of them empty" },
    { VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[\"a\",[1]]}", "prompt", "mixes" },
    { VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[1,\"a\"]}", "prompt", "a number" },
    { VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[1,-1]}", "prompt", "from 0" },
    { VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":{}}", "prompt", "must be a string" },
    { VUG_API_COMPLETION, COMPLETION("\"suffix\":1"), "suffix", "must be a string" },
    { VUG_API_COMPLETION, COMPLETION("\"best_of\":3"), "best_of", "best_of is 3" },
    { VUG_API_COMPLETION, COMPLETION("\"echo\":1"), "echo", "true or false" },
    { VUG_API_TOKENIZE, "{}", "content", "one of" },
    { VUG_API_TOKENIZE, "{\"content\":\"a\",\"prompt\":\"b\"}", "content", "one of" },
    { VUG_API_TOKENIZE, "{\"prompt\":[1]}", "prompt", "a string" },
    { VUG_API_TOKENIZE, "{\"content\":[\"a\"]}", "content", "a string" },
    { VUG_API_DETOKENIZE, "{}", "tokens", "missing" },
    { VUG_API_DETOKENIZE, "{\"tokens\":[\"a\"]}", "tokens", "a number" },
    { VUG_API_TEMPLATE, "{}", "messages", "missing" },
};

static void test_errors_name_the_field(void **state)
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
        if (!strstr(error.message, refused[i].part))
            fail_msg("%s\n-> %s", refused[i].body, error.message);
        vug_arena_release(&arena);
    }
}

/* ---- limits ------------------------------------------------------------------------ */

static void refuse_many(const char *head, const char *item, size_t n, const char *tail,
                        const char *part)
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
    if (!strstr(error.message, part))
        fail_msg("%s: %s", part, error.message);
    vug_arena_release(&arena);
    vug_buf_release(&body);
}

static void test_rejects_too_many_entries(void **state)
{
    (void)state;
    refuse_many("{" HELLO ",\"stop\":[", "\"%zu\"", VUG_API_MAX_STOPS + 1, "]}",
                "stop has 65 strings, at most 64 are allowed");
    refuse_many("{" HELLO ",\"stop\":[", "\"%zu\"", 1000000, "]}", "more values than fit");
    refuse_many("{" HELLO ",\"logit_bias\":{", "\"%zu\":1", VUG_API_MAX_BIAS + 1, "}}",
                "logit_bias has 1025 entries, at most 1024 are allowed");
    refuse_many("{" HELLO ",\"bad_words\":[", "\"w%zu\"", VUG_MAX_BANNED_WORDS + 1, "]}",
                "bad_words has 1025 strings, at most 1024 are allowed");
    refuse_many("{" HELLO ",\"dry_sequence_breakers\":[", "\"w%zu\"", VUG_MAX_DRY_BREAKERS + 1,
                "]}", "dry_sequence_breakers has 65 strings, at most 64 are allowed");
    refuse_many("{" HELLO ",\"allowed_token_ids\":[", "%zu", VUG_API_MAX_ALLOWED + 1, "]}",
                "allowed_token_ids has 524289 ids, at most 524288 are allowed");
    refuse_many("{" HELLO ",\"logprob_token_ids\":[", "%zu", VUG_MAX_LOGPROB_IDS + 1, "]}",
                "logprob_token_ids has 129 ids, at most 128 are allowed");
    refuse_many("{\"model\":\"m\",\"messages\":[", "{\"role\":\"user\",\"content\":\"%zu\"}",
                VUG_API_MAX_MESSAGES + 1, "]}", "messages has 16385 entries");
    refuse_many("{" HELLO ",\"tools\":[",
                "{\"type\":\"function\",\"function\":{\"name\":\"f%zu\"}}", VUG_API_MAX_TOOLS + 1,
                "]}", "tools has 1025 entries, at most 1024 are allowed");
    refuse_many("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[",
                "{\"type\":\"text\",\"text\":\"%zu\"}", VUG_API_MAX_PARTS + 1, "]}]}",
                "4097 parts");
    refuse_many("{" HELLO ",\"response_format\":{\"type\":\"json_object\",\"schema\":{\"enum\":[",
                "\"%062zu\"", VUG_API_MAX_CONSTRAINT / 64, "]}}}", "at most 1048576 are allowed");
}

static void test_rejects_long_and_deep_bodies(void **state)
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
    vug_buf_printf(&body, "{\"prompt\":\"a\",\"cache_salt\":\"%0*d\"}", VUG_API_MAX_SALT + 1, 0);
    assert_false(
            read_into(VUG_API_COMPLETION, (vug_str){ body.ptr, body.len }, &arena, &r, &error));
    assert_string_equal(error.message, "cache_salt has 1025 bytes, expected 1 to 1024");
    body.len = 0;
    vug_buf_printf(&body, "{\"prompt\":\"a\",\"model\":\"%0*d\"}", VUG_API_MAX_MODEL + 1, 0);
    assert_false(
            read_into(VUG_API_COMPLETION, (vug_str){ body.ptr, body.len }, &arena, &r, &error));
    assert_string_equal(error.message, "model has 1025 bytes, at most 1024 are allowed");
    body.len = 0;
    for (int i = 0; i < 100000; i++)
        vug_buf_puts(&body, "[");
    assert_false(read_into(VUG_API_CHAT, (vug_str){ body.ptr, body.len }, &arena, &r, &error));
    assert_non_null(strstr(error.message, "nested deeper than 64 levels"));
    vug_buf_release(&body);
    /* It is not parsed. */
    const char one = '{';
    assert_false(
            read_into(VUG_API_CHAT, (vug_str){ &one, VUG_API_MAX_BODY + 1 }, &arena, &r, &error));
    assert_int_equal(vug_api_error_status(error.kind), 413);
    vug_arena_release(&arena);
}

/* ---- depending on the model ---------------------------------------------------------- */

static void test_request_overrides_sampling_defaults(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_sampling s;
    const vug_sampling_defaults model = {
        .sampler = { { VUG_SAMPLER_TEMPERATURE, 1.0f, 0 },
                     { VUG_SAMPLER_TOP_K, 64, 0 },
                     { VUG_SAMPLER_TOP_P, 0.95f, 0 } },
        .n = 3,
    };
    vug_api_request r = good(VUG_API_CHAT, "{" HELLO "}", &arena);
    assert_true(vug_api_make_sampling(&r, &model, 77, &arena, &s));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.seed, 77);
    assert_true(s.sampler[1].kind == VUG_SAMPLER_TOP_K && s.sampler[1].value == 64);
    r = good(VUG_API_CHAT,
             CHAT("\"temperature\":0,\"top_k\":-1,\"min_p\":0.5,\"repeat_penalty\":2,"
                  "\"repetition_penalty\":1.5,\"frequency_penalty\":-1,\"presence_penalty\":1,"
                  "\"logit_bias\":{\"4\":1,\"5\":2},\"seed\":9"),
             &arena);
    assert_true(vug_api_make_sampling(&r, &model, 77, &arena, &s));
    static const vug_sampler_config want[] = {
        { VUG_SAMPLER_REPETITION, 1.5f, 0 }, { VUG_SAMPLER_PRESENCE, 1, 0 },
        { VUG_SAMPLER_FREQUENCY, -1, 0 },    { VUG_SAMPLER_BIAS, 1, 4 },
        { VUG_SAMPLER_BIAS, 2, 5 },          { VUG_SAMPLER_TEMPERATURE, 0, 0 },
        { VUG_SAMPLER_TOP_K, 0, 0 },         { VUG_SAMPLER_TOP_P, 0.95f, 0 },
        { VUG_SAMPLER_MIN_P, 0.5f, 0 },
    };
    assert_int_equal(s.n, sizeof(want) / sizeof(want[0]));
    assert_int_equal(s.seed, 9);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.sampler[i].kind, want[i].kind);
        assert_int_equal(s.sampler[i].token, want[i].token);
        assert_true(s.sampler[i].value == want[i].value);
    }
    /* Without any settings there still is a chain, which replaces the model's defaults. */
    r = good(VUG_API_CHAT, "{" HELLO "}", &arena);
    assert_true(vug_api_make_sampling(&r, &(vug_sampling_defaults){ 0 }, 1, &arena, &s));
    assert_true(s.n == 1 && s.sampler[0].kind == VUG_SAMPLER_TEMPERATURE &&
                s.sampler[0].value == 1);
    vug_arena_release(&arena);
}

static void test_checks_ids_against_the_vocabulary(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_error error = { 0 };
    vug_api_request r = good(VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":[[1],[9]]}", &arena);
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

static void test_error_json(void **state)
{
    (void)state;
    vug_api_error error;
    vug_buf to = { 0 };
    vug_api_error_set(&error, VUG_API_BAD_REQUEST, NULL, "a \"%s\"", "b");
    vug_api_error_write(&error, &to);
    assert_string_equal(to.ptr, "{\"error\":{\"message\":\"a \\\"b\\\"\",\"type\":"
                                "\"invalid_request_error\",\"param\":null,\"code\":null}}");
    to.len = 0;
    vug_api_error_context_exceeded(&error, 4096, 5000, 16, "messages");
    vug_api_error_event(&error, &to);
    assert_string_equal(
            to.ptr,
            "data: {\"error\":{\"message\":\"This model's maximum context length is 4096 tokens. "
            "However, you requested 5016 tokens (5000 in the messages, 16 in the completion). "
            "Please reduce the length of the messages or completion.\",\"type\":"
            "\"exceed_context_size_error\",\"param\":\"messages\",\"code\":"
            "\"context_length_exceeded\",\"n_prompt_tokens\":5000,\"n_ctx\":4096}}\n\n");
    to.len = 0;
    vug_api_error_unknown_model(&error, vug_str_of("x/y"));
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
        vug_api_error_from(&error, &err, "messages");
        assert_int_equal(vug_api_error_status(error.kind), of_library[i].status);
        assert_string_equal(error.message, "why");
    }
}

/* ---- documentation ------------------------------------------------------------------- */

enum {
#define X(id, path) ON_##id = 1 << VUG_API_##id,
    VUG_API_ENDPOINT_TABLE(X)
#undef X
};
#undef CHAT
#undef COMPLETION
#define CHAT       ON_CHAT
#define COMPLETION ON_COMPLETION
#define NATIVE     ON_NATIVE
#define INFILL     ON_INFILL
#define TOKENIZE   ON_TOKENIZE
#define DETOKENIZE ON_DETOKENIZE
#define TEMPLATE   ON_TEMPLATE
#define EMBEDDING  ON_EMBEDDING

/* docs/server-api.md has the table of fields.def, line for line. */
static void test_docs_list_all_fields(void **state)
{
    (void)state;
    static const struct {
        const char *name, *help;
        int on;
    } row[] = {
#define X(name, endpoints, reader, min, max, help)        { #name, help, endpoints },
#define X_AS(id, name, endpoints, reader, min, max, help) { name, help, endpoints },
#include "server/api/fields.def"
#undef X
    };
    static const char *const endpoint[] = { "chat",     "completion", "native",   "infill",
                                            "tokenize", "detokenize", "template", "embedding" };
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
        cmocka_unit_test(test_parses_minimal_request),
        cmocka_unit_test(test_ignores_null_and_unknown_fields),
        cmocka_unit_test(test_parses_predictions),
        cmocka_unit_test(test_token_limits),
        cmocka_unit_test(test_parses_stops_seeds_and_biases),
        cmocka_unit_test(test_parses_logprobs),
        cmocka_unit_test(test_parses_response_format),
        cmocka_unit_test(test_parses_tools),
        cmocka_unit_test(test_thinking_fields),
        cmocka_unit_test(test_parses_every_kind_of_prompt),
        cmocka_unit_test(test_parses_tokenize_and_detokenize),
        cmocka_unit_test(test_errors_name_the_field),
        cmocka_unit_test(test_rejects_too_many_entries),
        cmocka_unit_test(test_rejects_long_and_deep_bodies),
        cmocka_unit_test(test_request_overrides_sampling_defaults),
        cmocka_unit_test(test_checks_ids_against_the_vocabulary),
        cmocka_unit_test(test_error_json),
        cmocka_unit_test(test_docs_list_all_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
