/* Requests to fill a gap: /infill, and /v1/completions with a suffix. */
#include "test.h"

#include "server/api/api_request.h"

#define COMPLETION(rest) "{\"model\":\"pebble\",\"prompt\":\"once\"," rest "}"
#define INFILL(rest)     "{\"input_prefix\":\"a\",\"input_suffix\":\"b\"," rest "}"

/* Parses a valid request. The caller owns the arena. */
static vug_api_request good(vug_api_endpoint endpoint, const char *body, vug_arena *arena)
{
    vug_api_request r;
    vug_api_error error;
    if (!vug_api_parse_request(endpoint, vug_str_of(body), arena, &r, &error))
        fail_msg("%s\n-> %s: %s", body, error.param, error.message);
    return r;
}

static void refused(vug_api_endpoint endpoint, const char *body, const char *param,
                    const char *part)
{
    vug_arena arena = { 0 };
    vug_api_request r;
    vug_api_error error;
    if (vug_api_parse_request(endpoint, vug_str_of(body), &arena, &r, &error))
        fail_msg("accepted: %s", body);
    assert_int_equal(vug_api_error_status(error.kind), 400);
    assert_string_equal(error.param, param);
    if (!strstr(error.message, part))
        fail_msg("'%s' does not contain '%s'", error.message, part);
    vug_arena_release(&arena);
}

static void test_parses_gaps(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_api_request r = good(VUG_API_INFILL,
                             INFILL("\"input_extra\":[{\"filename\":\"f\",\"text\":\"x\"},"
                                    "{\"text\":\"y\"}],\"prompt\":\"c\",\"samplers\":[\"top_k\"],"
                                    "\"t_max_predict_ms\":500,\"n_probs\":2"),
                             &arena);
    assert_true(r.infill && r.logprobs && r.max_tokens == -1);
    assert_true(vug_str_is(r.prefix, "a") && vug_str_is(r.suffix, "b"));
    assert_true(r.n_prompts == 1 && vug_str_is(r.prompt[0].text, "c"));
    assert_true(r.n_files == 2 && vug_str_is(r.file[0].name, "f") &&
                vug_str_is(r.file[1].text, "y"));
    r = good(VUG_API_INFILL, "{\"input_prefix\":\"\",\"input_suffix\":\"\"}", &arena);
    assert_true(r.infill && r.n_prompts == 1 && r.prompt[0].text.len == 0);
    r = good(VUG_API_COMPLETION, COMPLETION("\"suffix\":\"end\""), &arena);
    assert_true(r.infill && vug_str_is(r.prefix, "once") && r.prompt[0].text.len == 0);
    r = good(VUG_API_COMPLETION, COMPLETION("\"suffix\":\"\""), &arena);
    assert_true(!r.infill && vug_str_is(r.prompt[0].text, "once"));
    vug_arena_release(&arena);
}

static void test_errors_name_the_field(void **state)
{
    static const struct {
        vug_api_endpoint endpoint;
        const char *body, *param, *part;
    } row[] = {
        { VUG_API_COMPLETION, "{\"prompt\":[1],\"suffix\":\"b\"}", "prompt", "one string" },
        { VUG_API_COMPLETION, "{\"prompt\":[\"a\",\"b\"],\"suffix\":\"b\"}", "prompt",
          "one string" },
        { VUG_API_COMPLETION, COMPLETION("\"suffix\":\"end\",\"echo\":true"), "echo", "a gap" },
        { VUG_API_INFILL, "{\"input_suffix\":\"b\"}", "input_prefix", "input_prefix is missing" },
        { VUG_API_INFILL, "{\"input_prefix\":\"a\"}", "input_suffix", "input_suffix is missing" },
        { VUG_API_INFILL, INFILL("\"prompt\":[1]"), "prompt", "prompt must be a string" },
        { VUG_API_INFILL, INFILL("\"suffix\":\"b\""), "suffix", "it is called input_suffix here" },
        { VUG_API_INFILL, INFILL("\"truncate_prompt_tokens\":5"), "truncate_prompt_tokens",
          "a gap" },
        { VUG_API_INFILL, INFILL("\"input_extra\":{}"), "input_extra", "must be an array" },
        { VUG_API_INFILL, INFILL("\"input_extra\":[1]"), "input_extra[]", "must be an object" },
        { VUG_API_INFILL, INFILL("\"input_extra\":[{\"filename\":\"a\"}]"), "input_extra[].text",
          "text" },
        { VUG_API_INFILL, INFILL("\"input_extra\":[{\"filename\":1,\"text\":\"\"}]"),
          "input_extra[].filename", "must be a string" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        refused(row[i].endpoint, row[i].body, row[i].param, row[i].part);
    vug_buf many = { 0 };
    vug_buf_puts(&many,
                 "{\"input_prefix\":\"\",\"input_suffix\":\"\",\"input_extra\":[{\"text\":\"\"}");
    for (int i = 0; i < VUG_API_MAX_FILES; i++)
        vug_buf_puts(&many, ",{\"text\":\"\"}");
    vug_buf_puts(&many, "]}");
    refused(VUG_API_INFILL, many.ptr, "input_extra",
            "input_extra has 1025 files, at most 1024 are allowed");
    vug_buf_release(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parses_gaps),
        cmocka_unit_test(test_errors_name_the_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
