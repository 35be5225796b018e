/* Shutdown: running requests, requests that do not end, handlers, signals. */
#include "test.h"

#include <signal.h>
#include <time.h>

#include "http_help.h"

#define HOST "Host: localhost\r\n"

static void test_drain(void **state)
{
    (void)state;
    http_server *s = http_start(NULL);
    http_client stream = http_connect(s), idle = http_connect(s), late = http_connect(s);
    http_send_request(&idle, "/health", NULL);
    http_expect(&idle, 200, "ok");
    http_send_request(&stream, "/held-stream", "{}");
    http_wait_for(&s->n_held, 1);
    http_send_text(&late, "GET /echo HTTP/1.1\r\n");
    http_send_request(&idle, "/health", NULL);
    http_expect(&idle, 200, "ok");
    vug_http_drain(s->http);
    http_expect_end(&idle);
    http_send_text(&late, HOST "\r\n"); /* half of the request had been sent */
    http_response a = http_read_response(&late, true);
    http_check_error(&a, 503, "overloaded_error", NULL);
    assert_true(http_has_header(&a, "Retry-After"));
    assert_true(http_header_is(&a, "Connection", "close"));
    http_response_release(&a);
    http_client check = http_connect(s);
    http_send_request(&check, "/health", NULL);
    http_expect(&check, 503, "draining");
    http_expect_end(&check);
    assert_int_equal(atomic_load(&s->done), 0);
    assert_true(vug_http_stream_event(s->held[0], vug_str_of("data: end\n\n")));
    vug_http_stream_end(s->held[0]);
    http_expect_text(&stream, "data: end\n\n");
    http_expect_text(&stream, "0\r\n\r\n");
    http_expect_end(&stream);
    http_client *all[] = { &stream, &idle, &late, &check };
    for (int i = 0; i < 4; i++)
        http_close(all[i]);
    http_wait_for(&s->done, 1);
    http_stop(s);
}

/* Requests that do not end in time, or before a second drain, are aborted. */
static void test_drain_timeout(void **state)
{
    const vug_http_options how = { .drain_s = 0.2 };
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        http_server *s = http_start(twice ? NULL : &how);
        http_client c = http_connect(s);
        http_send_request(&c, "/hold", "{}");
        http_wait_for(&s->n_held, 1);
        vug_http_drain(s->http);
        if (twice)
            vug_http_drain(s->http);
        http_wait_for(&s->n_disconnected, 1);
        http_expect_end(&c);
        assert_int_equal(atomic_load(&s->done), 0); /* the owner has not ended its request */
        vug_api_error error = { .kind = VUG_API_UNAVAILABLE };
        vug_http_fail(s->held[0], &error);
        http_wait_for(&s->done, 1);
        http_close(&c);
        http_stop(s);
    }
}

/* New clients with half a request do not delay the end. */
static void test_drain_closes_idle_connections(void **state)
{
    const vug_http_options how = { .head_s = 3600, .drain_s = 0.2 };
    (void)state;
    http_server *s = http_start(&how);
    http_client held = http_connect(s);
    http_send_request(&held, "/hold", "{}");
    http_wait_for(&s->n_held, 1);
    vug_http_drain(s->http);
    http_wait_for(&s->n_disconnected, 1);
    http_client half = http_connect(s), check = http_connect(s);
    http_send_text(&half, "GET /hea");
    http_send_request(&check, "/health", NULL);
    http_expect(&check, 503, "draining"); /* the half request was read */
    vug_buf none = { 0 };
    vug_http_reply(s->held[0], NULL, &none);
    http_wait_for(&s->done, 1);
    http_close(&held);
    http_close(&half);
    http_close(&check);
    http_stop(s);
}

/* Handlers may use their data until vug_http_run returns. */
static void test_shutdown_waits_for_handlers(void **state)
{
    (void)state;
    http_server *s = http_start(NULL);
    http_client c = http_connect(s);
    http_send_request(&c, "/stay", "{}");
    http_expect(&c, 200, "{}");
    http_close(&c);
    vug_http_drain(s->http);
    const struct timespec pause = { 0, 50000000 };
    (void)nanosleep(&pause, NULL); /* time for a shutdown that would not wait */
    assert_int_equal(atomic_load(&s->done), 0);
    atomic_store(&s->may_return, 1);
    http_wait_for(&s->done, 1);
    assert_int_equal(atomic_load(&s->n_stayed), 1);
    http_stop(s);
}

static void test_signals(void **state)
{
    const vug_http_options how = { .signals = true };
    static const int ends[] = { SIGTERM, SIGINT };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        http_server *s = http_start(&how);
        http_client c = http_connect(s);
        http_send_request(&c, "/health", NULL);
        http_expect(&c, 200, "ok");
        assert_int_equal(kill(getpid(), SIGHUP), 0);
        http_send_request(&c, "/health", NULL);
        http_expect(&c, 200, "ok");
        assert_int_equal(kill(getpid(), ends[i]), 0);
        http_wait_for(&s->done, 1);
        http_close(&c);
        http_stop(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_drain_timeout),
        cmocka_unit_test(test_drain_closes_idle_connections),
        cmocka_unit_test(test_shutdown_waits_for_handlers),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
