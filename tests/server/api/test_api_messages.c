

#include "test.h"

#include "server/api/api_request.h"

/*
 * The messages of a request: every accepted shape, and every error with its place.
 */

static bool takes(const char *body, vug_api_error *error)
{
    vug_arena arena = { 0 };
    vug_api_request r;
    const bool ok = vug_api_parse_request(VUG_API_CHAT, vug_str_of(body), &arena, &r, error);
    vug_arena_release(&arena);
    return ok;
}

static void test_accepts_every_role(void **state)
{
    vug_api_error error = { 0 };
    (void)state;
    if (!takes("{\"model\":\"m\",\"messages\":["
               "{\"role\":\"developer\",\"content\":\"a\"},{\"role\":\"user\",\"content\":"
               "[{\"type\":\"text\",\"text\":\"b\"}]},{\"role\":\"assistant\",\"content\":[{"
               "\"type\":"
               "\"refusal\",\"refusal\":\"no\"}]},"
               "{\"role\":\"system\",\"content\":\"late\"},"
               "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"hm\",\"tool_"
               "calls\""
               ":[{\"id\":\"x\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
               "\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"42\"},"
               "{\"role\":\"assistant\"},{\"role\":\"function\",\"name\":\"f\",\"content\":\"1\"}]"
               "}",
               &error))
        fail_msg("%s: %s", error.param, error.message);
}

#define PART(part) "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[" part "]}]}"
/* Appends a second message. */
#define SAYS(role, rest)                                                                      \
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"" role \
    "\"," rest "}]}"
#define CALLS(call) SAYS("assistant", "\"tool_calls\":[{" call "}]")

static const struct {
    const char *body, *param, *part; /* of the error message */
} refused[] = {
    { "{\"model\":\"m\",\"messages\":[1]}", "messages[0]", "must be an object" },
    { "{\"model\":\"m\",\"messages\":[{}]}", "messages[0].role", "missing" },
    { "{\"model\":\"m\",\"messages\":[{\"role\":\"robot\"}]}", "messages[0].role", "'robot'" },
    { "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":5}]}", "messages[0].content",
      "list of parts" },
    { PART("{\"type\":\"image_url\",\"image_url\":{\"url\":\"x\"}}"), "messages[0].content[0].type",
      "'image_url'" },
    { PART("{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"input_audio\"}"),
      "messages[0].content[1].type", "'input_audio'" },
    { PART("{\"type\":\"text\"}"), "messages[0].content[0].text", "missing" },
    { PART("{\"text\":\"a\"}"), "messages[0].content[0].type", "missing" },
    { PART("\"a\""), "messages[0].content[0]", "an object, not a string" },
    { PART("{\"type\":\"text\",\"text\":null}"), "messages[0].content[0].text", "missing" },
    { PART("{\"type\":\"refusal\",\"refusal\":\"no\"}"), "messages[0].content[0].type",
      "'refusal'" },
    { SAYS("user", "\"name\":null"), "messages[1].content", "missing" },
    { SAYS("system", "\"content\":null"), "messages[1].content", "missing" },
    { SAYS("user", "\"content\":\"\",\"name\":1"), "messages[1].name", "a string" },
    { SAYS("assistant", "\"reasoning_content\":1"), "messages[1].reasoning_content", "a string" },
    { SAYS("assistant", "\"refusal\":[]"), "messages[1].refusal", "a string" },
    { SAYS("user", "\"content\":\"\",\"tool_calls\":[{}]"), "messages[1].tool_calls",
      "of role user" },
    { SAYS("assistant", "\"tool_calls\":{}"), "messages[1].tool_calls", "an array" },
    { SAYS("assistant", "\"tool_calls\":[1]"), "messages[1].tool_calls[0]", "an object" },
    { CALLS("\"function\":{\"name\":\"f\"}"), "messages[1].tool_calls[0].id", "missing" },
    { CALLS("\"id\":\"a\",\"type\":\"custom\""), "messages[1].tool_calls[0].type", "'custom'" },
    { CALLS("\"id\":\"a\""), "messages[1].tool_calls[0].function", "missing" },
    { CALLS("\"id\":\"a\",\"function\":{}"), "messages[1].tool_calls[0].function.name", "missing" },
    { CALLS("\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":[]}"),
      "messages[1].tool_calls[0].function.arguments", "a string or an object" },
    { SAYS("assistant", "\"function_call\":{\"arguments\":\"{}\"}"),
      "messages[1].function_call.name", "missing" },
    { SAYS("user", "\"content\":\"\",\"function_call\":{\"name\":\"f\"}"),
      "messages[1].function_call", "of role user" },
    { SAYS("tool", "\"content\":\"5\""), "messages[1].tool_call_id", "missing" },
    { SAYS("tool", "\"content\":\"5\",\"tool_call_id\":1"), "messages[1].tool_call_id",
      "a string" },
    { SAYS("tool", "\"content\":\"5\",\"tool_call_id\":\"a\""), "messages[1].tool_call_id",
      "'a', which no earlier message" },
    { SAYS("tool", "\"content\":\"5\",\"tool_call_id\":\"a\"},{\"role\":\"assistant\","
                   "\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\"}}]"),
      "messages[1].tool_call_id", "'a', which no earlier message" },
};

static void test_errors_name_the_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        vug_api_error error = { 0 };
        if (takes(refused[i].body, &error))
            fail_msg("accepted: %s", refused[i].body);
        assert_int_equal(vug_api_error_status(error.kind), 400);
        assert_string_equal(error.param, refused[i].param);
        if (!strstr(error.message, refused[i].part))
            fail_msg("%s\n-> %s", refused[i].body, error.message);
    }
}

/* As many results as allowed, each of another call: lookups must not be linear. */
static void test_many_tool_results(void **state)
{
    enum { MANY = 8000 };
    vug_buf body = { 0 };
    vug_api_error error = { 0 };
    (void)state;
    vug_buf_puts(&body, "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[");
    for (int i = 0; i < MANY; i++)
        vug_buf_printf(&body, "%s{\"id\":\"%d\",\"function\":{\"name\":\"f\"}}", i ? "," : "", i);
    vug_buf_puts(&body, "]}");
    for (int i = MANY; i-- > 0;)
        vug_buf_printf(&body, ",{\"role\":\"tool\",\"content\":\"\",\"tool_call_id\":\"%d\"}", i);
    vug_buf_puts(&body, "]}");
    assert_false(body.bad);
    if (!takes(body.ptr, &error))
        fail_msg("%s: %s", error.param, error.message);
    vug_buf_release(&body);
}

/* ---- the beginning of an answer -------------------------------------------------------- */

#define USER      "{\"role\":\"user\",\"content\":\"hi\"}"
#define ASSISTANT "{\"role\":\"assistant\",\"content\":\"So\"}"

static void test_last_assistant_message_is_continued(void **state)
{
    static const struct {
        const char *messages, *fields, *kept, *prefill;
    } rows[] = {
        { USER "," ASSISTANT, "", "[" USER "]", "So" },
        { USER " , " ASSISTANT " ", ",\"continue_final_message\":true", "[" USER "]", "So" },
        { USER "," ASSISTANT, ",\"continue_final_message\":true,\"add_generation_prompt\":false",
          "[" USER "]", "So" },
        { USER ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"S\"},{\"type\":"
               "\"text\",\"text\":\"\\u00f6\"}]}",
          "", "[" USER "]", "S\xc3\xb6" },
        { USER "," ASSISTANT, ",\"continue_final_message\":false", NULL, "" },
        { USER "," ASSISTANT, ",\"add_generation_prompt\":false", NULL, "" },
        { USER "," ASSISTANT "," USER, "", NULL, "" },
        { ASSISTANT, "", NULL, "" },
        { USER ",{\"role\":\"assistant\",\"content\":\"\"}", "", NULL, "" },
        { USER ",{\"role\":\"assistant\",\"content\":\"So\",\"tool_calls\":[{\"id\":\"1\","
               "\"function\":{\"name\":\"f\"}}]}",
          "", NULL, "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_arena arena = { 0 };
        vug_api_request r;
        vug_api_error error = { 0 };
        char body[1024], all[512];
        (void)snprintf(all, sizeof(all), "[%s]", rows[i].messages);
        (void)snprintf(body, sizeof(body), "{\"messages\":%s%s}", all, rows[i].fields);
        if (!vug_api_parse_request(VUG_API_CHAT, vug_str_of(body), &arena, &r, &error))
            fail_msg("%s -> %s", body, error.message);
        if (!vug_str_is(r.prefill, rows[i].prefill) ||
            !vug_str_is(r.messages, rows[i].kept ? rows[i].kept : all))
            fail_msg("%s -> %.*s and %.*s", body, VUG_STR_ARG(r.messages), VUG_STR_ARG(r.prefill));
        vug_arena_release(&arena);
    }
}

static void test_only_text_of_the_assistant_is_continued(void **state)
{
    static const char *const messages[] = {
        USER,
        ASSISTANT,
        USER "," USER,
        USER ",{\"role\":\"assistant\",\"content\":\"\"}",
        USER ",{\"role\":\"assistant\",\"content\":\"So\",\"function_call\":{\"name\":\"f\"}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        vug_arena arena = { 0 };
        vug_api_request r;
        vug_api_error error = { 0 };
        char body[512];
        (void)snprintf(body, sizeof(body), "{\"messages\":[%s],\"continue_final_message\":true}",
                       messages[i]);
        assert_false(vug_api_parse_request(VUG_API_CHAT, vug_str_of(body), &arena, &r, &error));
        assert_string_equal(error.param, "continue_final_message");
        vug_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts_every_role),
        cmocka_unit_test(test_errors_name_the_place),
        cmocka_unit_test(test_many_tool_results),
        cmocka_unit_test(test_last_assistant_message_is_continued),
        cmocka_unit_test(test_only_text_of_the_assistant_is_continued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
