/* Requests that want much at once: choices, stops, log-probabilities, memory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "app/server/api/request.h"
#include "serve_help.h"

static int set_up(void **state)
{
    static served s; /* NOLINT: one for all tests */
    serve_inside(&s, SERVE_MODEL,
                 &(vug_http_options){ .max_unsent = (size_t)1 << 20, .max_held = (size_t)1 << 20 });
    vug_service_start(s.service);
    http_await(&s.loaded, 1);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    serve_inside_end(*state);
    return 0;
}

static void expect_served(const served *s)
{
    said a = serve_ask(&s->at, "/v1/completions",
                       "{\"model\":\"pebble\",\"prompt\":\"a\",\"max_tokens\":1}");
    assert_int_equal(a.status, 200);
    said_release(&a);
}

/* What finds the longest stops is made once, whatever the number of answers. */
static void test_stops_of_many_choices(void **state)
{
    enum { ANSWERS = 640 };
    const served *s = *state;
    vug_buf body = { 0 };
    vug_buf_puts(&body, "{\"model\":\"pebble\",\"prompt\":[\"a\",\"b\",\"c\",\"d\",\"e\"],"
                        "\"n\":128,\"max_tokens\":0,\"echo\":true,\"stop\":[");
    for (int i = 0; i < VUG_API_MAX_STOPS; i++)
        vug_buf_printf(&body, "%s\"%0*d\"", i ? "," : "", VUG_API_MAX_STOP, i);
    vug_buf_puts(&body, "]}");
    said a = serve_ask(&s->at, "/v1/completions", body.ptr);
    assert_int_equal(a.status, 200);
    assert_int_equal(said_at(&a, "choices")->n, ANSWERS);
    said_release(&a);
    vug_buf_release(&body);
}

/* `n` words, with the log-probabilities of all. */
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

/* Its events go out while it is scored: together they are more than may wait for a client. */
static void test_echo_streams(void **state)
{
    const served *s = *state;
    vug_buf body = long_echo(2000, ",\"stream\":true");
    said a = serve_ask(&s->at, "/v1/completions", body.ptr);
    assert_int_equal(a.status, 200);
    assert_true(vug_str_ends((vug_str){ a.text.ptr, a.text.len }, "data: [DONE]\n\n"));
    said_release(&a);
    vug_buf_release(&body);
}

/* An answer counts while it is made. */
static void test_no_memory_for_an_answer(void **state)
{
    const served *s = *state;
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
        said a = serve_ask(&s->at, rows[i].path, rows[i].body);
        assert_int_equal(a.status, 503);
        said_is(&a, "error.message", "There is no memory for the answer now.");
        said_is(&a, "error.type", "overloaded_error");
        said_release(&a);
        expect_served(s); /* it is given back */
    }
    vug_buf_release(&echo);
    vug_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_of_many_choices),
        cmocka_unit_test(test_echo_streams),
        cmocka_unit_test(test_no_memory_for_an_answer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
