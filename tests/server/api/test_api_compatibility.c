

#include "test.h"

#include "server/api/api_request.h"

/*
 * Fields of other servers of the OpenAI API: output constraints, thinking budgets, and samplers and
 * reports that vug does not have.
 */

#define HELLO            "\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define CHAT(rest)       "{" HELLO "," rest "}"
#define COMPLETION(rest) "{\"model\":\"pebble\",\"prompt\":\"once\"," rest "}"

static vug_api_request good(vug_api_endpoint endpoint, const char *body, vug_arena *arena)
{
    vug_api_request r;
    vug_api_error error = { 0 };
    if (!vug_api_parse_request(endpoint, vug_str_of(body), arena, &r, &error))
        fail_msg("%s\n-> %s: %s", body, error.param, error.message);
    return r;
}

/* Expects a 400 that names the field and contains `part`. */
static void refuses(vug_api_endpoint endpoint, const char *body, const char *param,
                    const char *part)
{
    vug_arena arena = { 0 };
    vug_api_request r;
    vug_api_error error = { 0 };
    if (vug_api_parse_request(endpoint, vug_str_of(body), &arena, &r, &error))
        fail_msg("%s\n-> is taken", body);
    if (vug_api_error_status(error.kind) != 400 || strcmp(error.param, param) != 0 ||
        !strstr(error.message, part))
        fail_msg("%s\n-> %s: %s", body, error.param, error.message);
    vug_arena_release(&arena);
}

/* ---- constraints ------------------------------------------------------------------- */

static const struct {
    const char *field;
    vug_api_constraint_kind format;
    const char *form, *name;
} forms[] = {
    { "\"grammar\":\"root ::= \\\"a\\\"\"", VUG_CONSTRAINT_GBNF, "root ::= \"a\"", "grammar" },
    { "\"json_schema\":{\"a\":1}", VUG_CONSTRAINT_SCHEMA, "{\"a\":1}", "json_schema" },
    { "\"json_schema\":\"{}\"", VUG_CONSTRAINT_SCHEMA, "{}", "json_schema" },
    { "\"regex\":\"a\"", VUG_CONSTRAINT_REGEX, "a", "regex" },
    { "\"ebnf\":\"root ::= [a]\"", VUG_CONSTRAINT_GBNF, "root ::= [a]", "ebnf" },
    { "\"guided_json\":{}", VUG_CONSTRAINT_SCHEMA, "{}", "guided_json" },
    { "\"guided_json\":\"{\\\"a\\\":1}\"", VUG_CONSTRAINT_SCHEMA, "{\"a\":1}", "guided_json" },
    { "\"guided_regex\":\"[0-9]+\"", VUG_CONSTRAINT_REGEX, "[0-9]+", "guided_regex" },
    { "\"guided_grammar\":\"root ::= [a]\"", VUG_CONSTRAINT_GBNF, "root ::= [a]",
      "guided_grammar" },
    { "\"guided_choice\":[\"yes\",\"n\\\"o\\\\\",\"\\u0000\\n\"]", VUG_CONSTRAINT_GBNF,
      "root ::= \"yes\" | \"n\\\"o\\\\\" | \"\\x00\\x0a\"", "guided_choice" },
    { "\"structured_outputs\":{\"json\":{\"a\":1}}", VUG_CONSTRAINT_SCHEMA, "{\"a\":1}",
      "structured_outputs.json" },
    { "\"structured_outputs\":{\"regex\":\"a|b\",\"json\":null,\"json_object\":false}",
      VUG_CONSTRAINT_REGEX, "a|b", "structured_outputs.regex" },
    { "\"structured_outputs\":{\"choice\":[\"\"],\"disable_any_whitespace\":false}",
      VUG_CONSTRAINT_GBNF, "root ::= \"\"", "structured_outputs.choice" },
    { "\"structured_outputs\":{\"grammar\":\"root ::= [a]\"}", VUG_CONSTRAINT_GBNF, "root ::= [a]",
      "structured_outputs.grammar" },
    { "\"structured_outputs\":{\"json_object\":true}", VUG_CONSTRAINT_JSON, "",
      "structured_outputs.json_object" },
    { "\"response_format\":{\"type\":\"json_object\"}", VUG_CONSTRAINT_JSON, "",
      "response_format" },
    { "\"response_format\":{\"type\":\"text\"},\"guided_regex\":\"a\"", VUG_CONSTRAINT_REGEX, "a",
      "guided_regex" },
    { "\"grammar\":\"\",\"guided_regex\":\"a\"", VUG_CONSTRAINT_REGEX, "a", "guided_regex" },
};

static void test_parses_constraints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        vug_arena arena = { 0 };
        char chat[512], text[512];
        (void)snprintf(chat, sizeof(chat), CHAT("%s"), forms[i].field);
        (void)snprintf(text, sizeof(text), COMPLETION("%s"), forms[i].field);
        for (int is_text = 0; is_text < 2; is_text++) {
            const vug_api_request r = good(is_text ? VUG_API_COMPLETION : VUG_API_CHAT,
                                           is_text ? text : chat, &arena);
            assert_int_equal(r.constraint_kind, forms[i].format);
            assert_string_equal(r.constraint_field, forms[i].name);
            if (!vug_str_is(r.constraint, forms[i].form))
                fail_msg("%s -> %.*s", forms[i].field, VUG_STR_ARG(r.constraint));
        }
        vug_arena_release(&arena);
    }
}

/* The error names both fields, whichever they are. */
static void test_rejects_two_constraints(void **state)
{
    static const char *const one[] = {
        "\"grammar\":\"root ::= [a]\"",
        "\"json_schema\":{}",
        "\"guided_json\":{}",
        "\"guided_regex\":\"a\"",
        "\"guided_choice\":[\"a\"]",
        "\"guided_grammar\":\"x\"",
        "\"structured_outputs\":{\"json\":{}}",
        "\"response_format\":{\"type\":\"json_object\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
        for (size_t j = 0; j < sizeof(one) / sizeof(one[0]); j++) {
            char body[512], name[2][40], message[160];
            if (i == j)
                continue;
            for (int k = 0; k < 2; k++) {
                const char *field = one[k ? j : i] + 1;
                (void)snprintf(name[k], sizeof(name[k]), "%.*s%s", (int)strcspn(field, "\""), field,
                               field[0] == 's' ? ".json" : "");
            }
            (void)snprintf(body, sizeof(body), CHAT("%s,%s"), one[i], one[j]);
            (void)snprintf(message, sizeof(message), "%s and %s cannot be combined", name[0],
                           name[1]);
            refuses(VUG_API_CHAT, body, name[1], message);
        }
    }
    refuses(VUG_API_CHAT, CHAT("\"structured_outputs\":{\"regex\":\"a\",\"json\":{}}"),
            "structured_outputs.regex",
            "structured_outputs.json and structured_outputs.regex cannot be combined");
}

static void test_rejects_bad_constraints(void **state)
{
    static const struct {
        const char *field, *param, *part;
    } rows[] = {
        { "\"grammar\":{}", "grammar", "a string" },
        { "\"json_schema\":[]", "json_schema", "an object" },
        { "\"guided_json\":true", "guided_json", "an object" },
        { "\"guided_regex\":1", "guided_regex", "a string" },
        { "\"guided_choice\":\"a\"", "guided_choice", "an array" },
        { "\"guided_choice\":[]", "guided_choice", "1 to 4096 strings" },
        { "\"guided_choice\":[\"a\",1]", "guided_choice", "a list of strings" },
        { "\"structured_outputs\":[]", "structured_outputs", "an object" },
        { "\"structured_outputs\":{}", "structured_outputs", "must have one of" },
        { "\"structured_outputs\":{\"json_object\":false}", "structured_outputs", "must have one" },
        { "\"structured_outputs\":{\"json_object\":1}", "structured_outputs.json_object",
          "true or false" },
        { "\"structured_outputs\":{\"structural_tag\":\"{}\"}", "structured_outputs.structural_tag",
          "not supported" },
        { "\"structured_outputs\":{\"json\":{},\"whitespace_pattern\":\" \"}",
          "structured_outputs.whitespace_pattern", "not supported" },
        { "\"structured_outputs\":{\"json\":{},\"disable_any_whitespace\":true}",
          "structured_outputs.disable_any_whitespace", "not supported" },
    };
    vug_buf body = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char chat[512];
        (void)snprintf(chat, sizeof(chat), CHAT("%s"), rows[i].field);
        refuses(VUG_API_CHAT, chat, rows[i].param, rows[i].part);
    }
    vug_buf_puts(&body, "{" HELLO ",\"guided_regex\":\"");
    for (size_t i = 0; i <= VUG_API_MAX_CONSTRAINT / 16; i++)
        vug_buf_puts(&body, "aaaaaaaaaaaaaaaa");
    vug_buf_puts(&body, "\"}");
    refuses(VUG_API_CHAT, body.ptr, "guided_regex", "at most 1048576 are allowed");
    body.len = 0;
    vug_buf_puts(&body, "{" HELLO ",\"guided_choice\":[\"\"");
    for (int i = 0; i < VUG_API_MAX_OPTIONS; i++)
        vug_buf_puts(&body, ",\"\"");
    vug_buf_puts(&body, "]}");
    refuses(VUG_API_CHAT, body.ptr, "guided_choice", "1 to 4096 strings");
    vug_buf_release(&body);
}

/* ---- thinking -------------------------------------------------------------------------- */

static void test_thinking_budgets(void **state)
{
#define ON  "{\"enable_thinking\":true}"
#define OFF "{\"enable_thinking\":false}"
    static const struct {
        const char *fields;
        vug_api_thinking thinking;
        int64_t tokens;
        const char *variables;
    } rows[] = {
        { "\"thinking_budget\":7", VUG_THINKING_DEFAULT, 7, "" },
        { "\"thinking_token_budget\":7", VUG_THINKING_DEFAULT, 7, "" },
        { "\"thinking_budget_tokens\":7", VUG_THINKING_DEFAULT, 7, "" },
        { "\"reasoning_budget_tokens\":7", VUG_THINKING_DEFAULT, 7, "" },
        { "\"thinking_budget\":7,\"thinking_token_budget\":5,\"thinking_budget_tokens\":-1",
          VUG_THINKING_DEFAULT, 5, "" },
        { "\"thinking_budget\":-1", VUG_THINKING_DEFAULT, -1, "" },
        { "\"thinking_budget\":9,\"enable_thinking\":true", VUG_THINKING_ON, 9, ON },
        { "\"thinking_budget\":9,\"reasoning_effort\":\"low\"", VUG_THINKING_ON, 9, ON },
        { "\"thinking_budget\":-1,\"reasoning_effort\":\"low\"", VUG_THINKING_ON, -1, ON },
        { "\"thinking_budget\":0", VUG_THINKING_OFF, 0, OFF },
        { "\"thinking_budget\":0,\"chat_template_kwargs\":{\"enable_thinking\":true}",
          VUG_THINKING_OFF, 0, OFF },
        { "\"thinking\":{\"type\":\"disabled\"}", VUG_THINKING_OFF, -1, OFF },
        { "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":3}", VUG_THINKING_ON, 3, ON },
        { "\"thinking\":{\"type\":\"auto\"}", VUG_THINKING_DEFAULT, -1, "" },
        { "\"thinking\":{\"type\":\"disabled\"},\"reasoning_effort\":\"high\"", VUG_THINKING_OFF,
          -1, OFF },
        { "\"thinking\":{\"type\":\"disabled\"},\"enable_thinking\":true", VUG_THINKING_ON, -1,
          ON },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_arena arena = { 0 };
        char body[512];
        (void)snprintf(body, sizeof(body), CHAT("%s"), rows[i].fields);
        const vug_api_request r = good(VUG_API_CHAT, body, &arena);
        if (r.thinking != rows[i].thinking || r.thinking_budget != rows[i].tokens ||
            !vug_str_is(r.template_variables, rows[i].variables))
            fail_msg("%s -> %d, %lld, %.*s", rows[i].fields, (int)r.thinking,
                     (long long)r.thinking_budget, VUG_STR_ARG(r.template_variables));
        vug_arena_release(&arena);
    }
    refuses(VUG_API_CHAT, CHAT("\"thinking_budget\":-2"), "thinking_budget", "from -1");
    refuses(VUG_API_CHAT, CHAT("\"thinking_budget\":1.5"), "thinking_budget", "whole");
    refuses(VUG_API_CHAT, CHAT("\"thinking\":true"), "thinking", "an object");
    refuses(VUG_API_CHAT, CHAT("\"thinking\":{\"budget_tokens\":\"many\"}"),
            "thinking.budget_tokens", "a number");
}

/* ---- samplers ------------------------------------------------------------------------- */

/* The fields of llama.cpp and vLLM, under their names. */
static void test_reads_all_samplers(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_sampling s;
    const vug_sampling_defaults none = { 0 };
    vug_api_request r =
            good(VUG_API_CHAT,
                 CHAT("\"typical_p\":0.9,\"top_n_sigma\":1.5,\"xtc_probability\":0.5,"
                      "\"xtc_threshold\":0.2,\"dry_multiplier\":0.8,\"dry_base\":1.5,"
                      "\"dry_allowed_length\":3,\"dry_penalty_last_n\":64,"
                      "\"dry_sequence_breakers\":[\"\\n\",\"END\"],\"repeat_last_n\":32,"
                      "\"allowed_token_ids\":[4,5,6],\"bad_words\":[\"damn\"],"
                      "\"min_tokens\":7"),
                 &arena);
    assert_true(vug_api_make_sampling(&r, &none, 1, &arena, &s));
    static const vug_sampler_config want[] = {
        { VUG_SAMPLER_DRY, 0.8f, 0 },         { VUG_SAMPLER_TEMPERATURE, 1, 0 },
        { VUG_SAMPLER_TOP_N_SIGMA, 1.5f, 0 }, { VUG_SAMPLER_TYPICAL_P, 0.9f, 0 },
        { VUG_SAMPLER_XTC, 0.5f, 0 },         { VUG_SAMPLER_REPEAT_LAST_N, 32, 0 },
        { VUG_SAMPLER_DRY_BASE, 1.5f, 0 },    { VUG_SAMPLER_DRY_ALLOWED_LENGTH, 3, 0 },
        { VUG_SAMPLER_DRY_LAST_N, 64, 0 },    { VUG_SAMPLER_XTC_THRESHOLD, 0.2f, 0 },
    };
    assert_int_equal(s.n, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.sampler[i].kind, want[i].kind);
        assert_true(s.sampler[i].value == want[i].value);
    }
    assert_int_equal(s.n_allowed, 3);
    assert_int_equal(s.allowed[2], 6);
    assert_int_equal(s.n_banned_words, 1);
    assert_string_equal(s.banned_word[0], "damn");
    assert_int_equal(s.n_dry_breakers, 2);
    assert_string_equal(s.dry_breaker[0], "\n");
    assert_string_equal(s.dry_breaker[1], "END");
    assert_int_equal(r.min_tokens, 7);
    /* Without breakers the default ones hold; an empty list is none. An empty list of allowed ids
     * allows all. A sigma of 0 and less is off. */
    r = good(VUG_API_CHAT, "{" HELLO "}", &arena);
    assert_true(vug_api_make_sampling(&r, &none, 1, &arena, &s));
    assert_null(s.dry_breaker);
    r = good(VUG_API_CHAT,
             CHAT("\"dry_sequence_breakers\":[],\"allowed_token_ids\":[],\"bad_words\":[],"
                  "\"top_n_sigma\":-1"),
             &arena);
    assert_true(vug_api_make_sampling(&r, &none, 1, &arena, &s));
    assert_true(s.dry_breaker && s.n_dry_breakers == 0);
    assert_null(s.allowed);
    assert_int_equal(s.n_banned_words, 0);
    assert_true(s.sampler[1].kind == VUG_SAMPLER_TOP_N_SIGMA && s.sampler[1].value == 0);
    vug_arena_release(&arena);
}

static void test_refuses_bad_samplers(void **state)
{
    (void)state;
    static const struct {
        const char *field, *value, *message;
    } rows[] = {
        { "typical_p", "1.5", "typical_p must be a number from 0 to 1" },
        { "typical_p", "\"x\"", "a number" },
        { "top_n_sigma", "1001", "from -1e+09 to 1000" },
        { "xtc_probability", "-0.1", "from 0 to 1" },
        { "xtc_threshold", "2", "from 0 to 1" },
        { "dry_multiplier", "-1", "from 0 to 100" },
        { "dry_base", "0.5", "from 1 to 100" },
        { "dry_allowed_length", "1.5", "dry_allowed_length" },
        { "dry_penalty_last_n", "-2", "dry_penalty_last_n" },
        { "repeat_last_n", "-2", "repeat_last_n" },
        { "min_tokens", "-1", "min_tokens" },
        { "allowed_token_ids", "[-1]", "allowed_token_ids" },
        { "allowed_token_ids", "3", "must be an array" },
        { "logprob_token_ids", "[1]", "logprob_token_ids needs logprobs" },
        { "logprob_token_ids", "[-1]", "logprob_token_ids" },
        { "logprob_token_ids", "5", "must be an array" },
        { "bad_words", "\"damn\"", "must be an array" },
        { "bad_words", "[\"\"]", "only strings of 1 to 256 bytes" },
        { "bad_words", "[1]", "only strings of 1 to 256 bytes" },
        { "bad_words", "[\"a\\u0000b\"]", "only strings of 1 to 256 bytes" },
        { "dry_sequence_breakers",
          "[\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"]",
          "only strings of 1 to 64 bytes" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char body[256];
        (void)snprintf(body, sizeof(body), CHAT("\"%s\":%s"), rows[i].field, rows[i].value);
        refuses(VUG_API_CHAT, body, rows[i].field, rows[i].message);
    }
}

/* ---- unsupported fields ------------------------------------------------------------------ */

/* Values that change nothing are accepted; values that would change the answer are not. */
static void test_rejects_unsupported_fields(void **state)
{
    static const struct {
        const char *name;
        const char *harmless, *not ; /* values; NULL: none */
    } rows[] = {
        { "chat_template", NULL, "\"{{ x }}\"" },
        { "documents", "[]", "[{\"text\":\"a\"}]" },
        { "skip_special_tokens", "true", "false" },
        { "include_reasoning", "true", "false" },
        { "use_beam_search", "false", "true" },
        { "repetition_detection", NULL, "{}" },
        { "guided_whitespace_pattern", NULL, "\" \"" },
        { "post_sampling_probs", "false", "true" },
        { "samplers", "[]", "[\"top_k\"]" },
        { "samplers", "\"\"", "\"kp\"" },
        { "mirostat", "0", "2" },
        { "dynatemp_range", "0", "0.5" },
        { "tfs_z", "1", "0.5" },
        { "top_a", "0", "0.5" },
        { "min_keep", "1", "2" },
        { "t_max_predict_ms", "-1", "100" },
        { "grammar_lazy", "false", "true" },
        { "logits_processors", "[]", "[\"f\"]" },
        { "vllm_xargs", "{}", "{\"a\":1}" },
        { "kv_transfer_params", "{}", "{\"do_remote_decode\":true}" },
        { "mm_processor_kwargs", "{}", "{\"a\":1}" },
        { "parse_tool_calls", "true", "false" },
        { "reasoning_budget_message", "\"\"", "\"enough\"" },
        { "adaptive_target", "-1", "0.5" },
        { "lora", "[]", "[{\"id\":0,\"scale\":1}]" },
        { "echo", "false", "true" },
        { "guided_decoding_backend", "\"xgrammar\"", NULL },
        { "cache_prompt", "false", NULL },
        { "id_slot", "3", NULL },
        { "n_keep", "-1", NULL },
        { "reasoning_format", "\"auto\"", NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_arena arena = { 0 };
        char body[256];
        (void)snprintf(body, sizeof(body), CHAT("\"%s\":%s"), rows[i].name,
                       rows[i].harmless ? rows[i].harmless : "null");
        (void)good(VUG_API_CHAT, body, &arena);
        vug_arena_release(&arena);
        (void)snprintf(body, sizeof(body), CHAT("\"%s\":%s"), rows[i].name, rows[i].not );
        if (rows[i].not )
            refuses(VUG_API_CHAT, body, rows[i].name, "not supported");
    }
}

static void test_parses_limits_and_stops(void **state)
{
    vug_arena arena = { 0 };
    vug_api_error error = { 0 };
    (void)state;
    vug_api_request r = good(VUG_API_CHAT, CHAT("\"n_predict\":5,\"max_tokens\":9"), &arena);
    assert_int_equal(r.max_tokens, 5);
    r = good(VUG_API_CHAT, CHAT("\"priority\":-3"), &arena);
    assert_true(r.number[VUG_FIELD_priority] == -3);
    r = good(VUG_API_CHAT, CHAT("\"cache_salt\":\"s\""), &arena);
    assert_true(vug_str_is(r.cache_salt, "s"));
    r = good(VUG_API_COMPLETION, COMPLETION("\"n_predict\":-1"), &arena);
    assert_int_equal(r.max_tokens, -1);
    r = good(VUG_API_CHAT, CHAT("\"stop_token_ids\":[5,6],\"add_generation_prompt\":false"),
             &arena);
    assert_int_equal(r.n_stop_ids, 2);
    assert_int_equal(r.stop_id[1], 6);
    assert_true(r.no_generation_prompt);
    assert_true(vug_api_check_tokens(&r, 7, &error));
    assert_false(vug_api_check_tokens(&r, 6, &error));
    assert_string_equal(error.param, "stop_token_ids");
    refuses(VUG_API_CHAT, CHAT("\"stop_token_ids\":[-1]"), "stop_token_ids", "from 0");
    refuses(VUG_API_CHAT, CHAT("\"truncate_prompt_tokens\":0"), "truncate_prompt_tokens",
            "at least 1");
    refuses(VUG_API_COMPLETION, COMPLETION("\"truncate_prompt_tokens\":1,\"echo\":true"),
            "truncate_prompt_tokens", "echo");
    refuses(VUG_API_CHAT, CHAT("\"prompt_logprobs\":1,\"stream\":true"), "prompt_logprobs",
            "stream");
    refuses(VUG_API_CHAT, CHAT("\"stop_token_ids\":5"), "stop_token_ids", "an array");
    assert_true(good(VUG_API_COMPLETION, "{\"model\":\"m\",\"prompt\":\"a\"}", &arena).add_special);
    assert_false(good(VUG_API_COMPLETION, COMPLETION("\"add_special_tokens\":false"), &arena)
                         .add_special);
    vug_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parses_constraints),
        cmocka_unit_test(test_rejects_two_constraints),
        cmocka_unit_test(test_rejects_bad_constraints),
        cmocka_unit_test(test_thinking_budgets),
        cmocka_unit_test(test_reads_all_samplers),
        cmocka_unit_test(test_refuses_bad_samplers),
        cmocka_unit_test(test_rejects_unsupported_fields),
        cmocka_unit_test(test_parses_limits_and_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
