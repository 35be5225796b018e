/* What becomes of misspelled keywords in the schemas of requests: warnings, or refusals. */
#include "test.h"

#include "serve_help.h"

#define CHAT "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":2"
#define SCHEMA(schema) \
    CHAT ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":" schema "}}"
#define TOOL(schema)                                                                              \
    CHAT ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":" schema \
         "}}],\"tool_choice\":\"required\"}"

#define HEADER "\r\nx-vug-warning: "

static int set_up(void **state)
{
    static server_process s; /* NOLINT: one for all tests */
    s = SERVE("--slots", "2");
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    return serve_end(*state) == 0 ? 0 : -1;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static void expect_headers(const server_process *s, const char *body, int n, const char *first)
{
    json_response a = serve_request(s, "/v1/chat/completions", body);
    assert_int_equal(a.status, 200);
    assert_int_equal(count(a.head.ptr, HEADER), n);
    if (!strstr(a.head.ptr, first))
        fail_msg("no '%s' in %s", first, a.head.ptr);
    response_release(&a);
}

static void test_a_header_names_a_misspelled_keyword(void **state)
{
    static const char misspelled[] = SCHEMA("{\"additonalProperties\":false}") "}";
    static const char warning[] = HEADER
            "schema: #: the keyword 'additonalProperties' is unknown and ignored; did you mean "
            "'additionalProperties'?\r\n";
    expect_headers(*state, misspelled, 1, warning);
    expect_headers(*state, misspelled, 1, warning); /* its grammar is cached now */
    expect_headers(*state, SCHEMA("{\"additionalProperties\":false}") "}", 0, "");
    expect_headers(*state, SCHEMA("{\"markdownDescription\":\"x\"}") "}", 0, "");
    expect_headers(*state, TOOL("{\"additonalProperties\":false}"), 1, "'additonalProperties'");
}

static void test_streams_have_the_header(void **state)
{
    expect_headers(*state, SCHEMA("{\"maxLenght\":1}") ",\"stream\":true}", 1, "'maxLenght'");
}

/* Bytes of a client do not end a header or reach a terminal, and there are few lines. */
static void test_names_cannot_write_headers(void **state)
{
    expect_headers(*state, SCHEMA("{\"additionalPropertie\\ns\":1}") "}", 1,
                   "'additionalPropertie?s'");
    expect_headers(*state, SCHEMA("{\"maxLengt\\u00e9\":1}") "}", 1,
                   "'maxLengt?"
                   "?'");
    vug_buf tools = { 0 };
    vug_buf_puts(&tools, CHAT ",\"tool_choice\":\"required\",\"tools\":[");
    for (int i = 0; i < 20; i++)
        vug_buf_printf(&tools,
                       "%s{\"type\":\"function\",\"function\":{\"name\":\"f%d\","
                       "\"parameters\":{\"propertis\":{}}}}",
                       i ? "," : "", i);
    vug_buf_puts(&tools, "]}");
    expect_headers(*state, tools.ptr, 8, "'propertis'");
    vug_buf_release(&tools);
}

static void test_strict_server_refuses_them(void **state)
{
    static const struct {
        const char *body, *param;
    } rows[] = {
        { SCHEMA("{\"additonalProperties\":false}") "}", "response_format" },
        { SCHEMA("{\"format\":\"isbn\"}") "}", "response_format" },
        { TOOL("{\"markdownDescription\":\"x\"}"), "tools[0].function.parameters" },
    };
    server_process s = SERVE("--strict-schema");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_response a = serve_request(&s, "/v1/chat/completions", rows[i].body);
        assert_int_equal(a.status, 400);
        response_expect(&a, "error.param", rows[i].param);
        response_release(&a);
    }
    assert_int_equal(serve_end(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_header_names_a_misspelled_keyword),
        cmocka_unit_test(test_streams_have_the_header),
        cmocka_unit_test(test_names_cannot_write_headers),
        cmocka_unit_test(test_strict_server_refuses_them),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
