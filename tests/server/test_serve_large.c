/* Large requests: choices, stops, log-probabilities, memory. */
#include "test.h"

#include "serve_help.h"
#include "server/api/api_request.h"

static int set_up(void **state)
{
    static server_fixture s; /* NOLINT: one for all tests */
    serve_inside(
            &s, SERVE_MODEL,
            &(vug_http_options){ .max_unsent = (size_t)1 << 20, .max_buffered = (size_t)1 << 20 });
    serve_inside_load(&s);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    serve_inside_end(*state);
    return 0;
}

static void expect_served(const server_fixture *s)
{
    json_response a = serve_request(&s->at, "/v1/completions",
                                    "{\"model\":\"pebble\",\"prompt\":\"a\",\"max_tokens\":1}");
    assert_int_equal(a.status, 200);
    response_release(&a);
}

/* Stop strings are prepared once, whatever the number of choices. */
static void test_stops_with_many_choices(void **state)
{
    enum { ANSWERS = 640 };
    const server_fixture *s = *state;
    vug_buf body = { 0 };
    vug_buf_puts(&body, "{\"model\":\"pebble\",\"prompt\":[\"a\",\"b\",\"c\",\"d\",\"e\"],"
                        "\"n\":128,\"max_tokens\":0,\"echo\":true,\"stop\":[");
    for (int i = 0; i < VUG_API_MAX_STOPS; i++)
        vug_buf_printf(&body, "%s\"%0*d\"", i ? "," : "", VUG_API_MAX_STOP, i);
    vug_buf_puts(&body, "]}");
    json_response a = serve_request(&s->at, "/v1/completions", body.ptr);
    assert_int_equal(a.status, 200);
    assert_int_equal(response_at(&a, "choices")->n, ANSWERS);
    response_release(&a);
    vug_buf_release(&body);
}

/* `n` words, with log-probabilities. */
static vug_buf long_echo(int n, const char *more)
{
    vug_buf body = { 0 };
    vug_buf_puts(&body, "{\"model\":\"pebble\",\"max_tokens\":0,\"echo\":true,\"logprobs\":20,"
                        "\"prompt\":\"a");
    for (int i = 1; i < n; i++)
        vug_buf_puts(&body, " a");
    vug_buf_printf(&body, "\"%s}", more);
    return body;
}

/* Events are sent while the prompt is scored: together they exceed max_unsent. */
static void test_streamed_echo(void **state)
{
    const server_fixture *s = *state;
    vug_buf body = long_echo(2000, ",\"stream\":true");
    json_response a = serve_request(&s->at, "/v1/completions", body.ptr);
    assert_int_equal(a.status, 200);
    assert_true(vug_str_ends((vug_str){ a.text.ptr, a.text.len }, "data: [DONE]\n\n"));
    response_release(&a);
    vug_buf_release(&body);
}

/* An answer counts as buffered memory while it is generated. */
static void test_out_of_memory_for_an_answer(void **state)
{
    const server_fixture *s = *state;
    vug_buf echo = long_echo(1000, ""), text = { 0 };
    vug_buf_printf(&text, "{\"with_pieces\":true,\"content\":\"%0*d\"}", 100000, 0);
    const struct {
        const char *path, *body;
    } rows[] = {
        { "/tokenize", text.ptr },
        { "/v1/completions", echo.ptr },
        { "/v1/chat/completions",
          "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],"
          "\"n\":8,\"max_tokens\":100,\"ignore_eos\":true,\"logprobs\":true,\"top_logprobs\":20}" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_response a = serve_request(&s->at, rows[i].path, rows[i].body);
        assert_int_equal(a.status, 503);
        response_expect(&a, "error.message", "There is not enough memory for the answer now.");
        response_expect(&a, "error.type", "overloaded_error");
        response_release(&a);
        expect_served(s); /* its memory is released */
    }
    vug_buf_release(&echo);
    vug_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_with_many_choices),
        cmocka_unit_test(test_streamed_echo),
        cmocka_unit_test(test_out_of_memory_for_an_answer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
