/* Requests that want much at once: choices, stops, log-probabilities, memory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/server/api/request.h"
#include "app/server/service.h"
#include "serve_help.h"

/* ---- a service with limits of its own ------------------------------------------------- */

typedef struct {
    vug_service *service;
    vug_http *http;
    vug_metrics *metrics;
    pthread_t thread;
    atomic_int loaded;
    serving at;
} small;

static void on_loaded(vug_str name, const vug_model *model, int sessions, const vug_err *err,
                      void *user)
{
    (void)name, (void)model, (void)sessions;
    assert_null(err);
    http_count(&((small *)user)->loaded);
}

static void *run_http(void *http)
{
    vug_err err;
    assert_int_equal(vug_http_run(http, &err), VUG_OK);
    return NULL;
}

static int set_up(void **state)
{
    static small s; /* NOLINT: one for all tests */
    static const vug_http_route routes[] = {
        { "POST", "/v1/chat/completions", VUG_HTTP_QUEUED, vug_serve_chat },
        { "POST", "/v1/completions", VUG_HTTP_QUEUED, vug_serve_text },
    };
    vug_err err;
    assert_int_equal(vug_metrics_create(&s.metrics, &err), VUG_OK);
    const vug_service_options what = {
        .path = SERVE_MODEL, .max_waiting = 4, .metrics = s.metrics, .loaded = on_loaded, .user = &s
    };
    const vug_http_options how = { .metrics = s.metrics,
                                   .max_unsent = (size_t)1 << 20,
                                   .max_held = (size_t)1 << 20 };
    assert_int_equal(vug_service_create(&what, &s.service, &err), VUG_OK);
    assert_int_equal(vug_http_open(&how, routes, sizeof(routes) / sizeof(routes[0]), s.service,
                                   &s.http, &err),
                     VUG_OK);
    vug_service_serve(s.service, s.http);
    s.at.at.port = (int)strtol(strrchr(vug_http_address(s.http, 0), ':') + 1, NULL, 10);
    assert_int_equal(pthread_create(&s.thread, NULL, run_http, s.http), 0);
    vug_service_start(s.service);
    http_await(&s.loaded, 1);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    small *s = *state;
    vug_http_drain(s->http);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    vug_service_destroy(s->service);
    vug_http_close(s->http);
    vug_metrics_destroy(s->metrics);
    return 0;
}

static void expect_served(const small *s)
{
    said a = serve_ask(&s->at, "/v1/completions",
                       "{\"model\":\"pebble\",\"prompt\":\"a\",\"max_tokens\":1}");
    assert_int_equal(a.status, 200);
    said_release(&a);
}

/* ---- tests ------------------------------------------------------------------------------ */

/* What finds the longest stops is made once, whatever the number of answers. */
static void test_stops_of_many_choices(void **state)
{
    enum { ANSWERS = 640 };
    const small *s = *state;
    vug_buf body = { 0 };
    vug_buf_puts(&body, "{\"model\":\"pebble\",\"prompt\":[\"a\",\"b\",\"c\",\"d\",\"e\"],"
                        "\"n\":128,\"max_tokens\":1,\"stop\":[");
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
    const small *s = *state;
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
    const small *s = *state;
    vug_buf echo = long_echo(1000, "");
    const struct {
        const char *path, *body;
    } rows[] = {
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
