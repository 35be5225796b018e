/*
 * The life of a connection: clients that are slow, that leave, that are many; pings, and the
 * figures of the server. Limits are short, and nothing measures time.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/os.h"
#include "http_help.h"

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"

/* ---- slow clients -------------------------------------------------------------------------- */

/* Bytes come and come, but the request does not. */
static void send_slowly(http_client *c, const char *start)
{
    http_send_text(c, start);
    const struct timespec pause = { 0, 20000000 };
    for (int i = 0; i < 500; i++) {
        char byte;
        if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
            return; /* an answer, or the end */
        if (!http_send_bytes(c, "a", 1))
            return;
        (void)nanosleep(&pause, NULL);
    }
}

/* Only what is tested has a short limit: on a busy machine the rest may take a while. */
static void test_slow_requests(void **state)
{
    static const struct {
        vug_http_options how;
        const char *start;
    } rows[] = {
        { { .head_s = 0.3 }, "GET /health HTTP/1.1\r\nX: " },
        { { .body_s = 0.3 }, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 100000\r\n\r\n" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        http_server *s = http_start(&rows[i].how);
        http_client c = http_connect(s);
        send_slowly(&c, rows[i].start);
        http_expect_error(&c, 408);
        http_close(&c);
        http_stop(s);
    }
}

static void test_idle_connections_end(void **state)
{
    const vug_http_options how = { .idle_s = 0.3 };
    (void)state;
    http_server *s = http_listen(&how);
    http_client silent = http_connect(s), done = http_connect(s);
    http_ask(&done, "/health", NULL);
    http_go(s);
    http_expect_end(&silent);
    http_expect(&done, 200, "ok");
    http_expect_end(&done);
    http_close(&silent);
    http_close(&done);
    http_stop(s);
}

/* The bytes of a body in pieces, with pauses of which the server allows several. False where the
 * machine was so busy that one became too long. */
static bool send_with_pauses(http_client *c)
{
    const struct timespec pause = { 0, 250000000 };
    static const char piece[4096];
    bool sent = true;
    double last = vug_now(), longest = 0;
    for (int i = 0; i < 12 && sent; i++) {
        sent = http_send_bytes(c, piece, sizeof(piece));
        (void)nanosleep(&pause, NULL);
        const double now = vug_now();
        longest = now - last > longest ? now - last : longest;
        last = now;
    }
    assert_true(sent || longest > 1);
    return longest <= 1;
}

/* A client that sends for some time what was refused still reads why. */
static void test_refused_while_it_sends(void **state)
{
    enum { TRIES = 20 };
    bool tried = false;
    (void)state;
    http_server *s = http_start(NULL);
    for (int i = 0; i < TRIES && !tried; i++) {
        http_client c = http_connect(s);
        http_send_text(&c, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 104857600\r\n\r\n");
        tried = send_with_pauses(&c);
        if (tried) {
            http_expect_error(&c, 413);
            http_expect_end(&c);
        }
        http_close(&c);
    }
    http_stop(s);
    if (!tried) {
        print_message(
                "this machine is too busy: a pause of 0.25 s lasted 1 s in each of %d tries\n",
                TRIES);
        skip();
    }
}

/* The limits on requests are none on answers. */
static void test_slow_answers_are_waited_for(void **state)
{
    const vug_http_options how = { .head_s = 0.1, .body_s = 0.1, .idle_s = 0.1, .stall_s = 0.1 };
    const struct timespec pause = { 0, 400000000 };
    (void)state;
    http_server *s = http_listen(&how);
    http_client c = http_connect(s);
    http_ask(&c, "/hold", "{}");
    http_go(s);
    http_await(&s->n_held, 1);
    (void)nanosleep(&pause, NULL);
    vug_buf body = { 0 };
    vug_buf_puts(&body, "at last");
    vug_http_reply(s->held[0], NULL, &body);
    http_expect(&c, 200, "at last");
    assert_int_equal(atomic_load(&s->n_gone), 0);
    http_close(&c);
    http_stop(s);
}

static void test_client_that_does_not_read(void **state)
{
    const vug_http_options how = { .stall_s = 0.5, .max_unsent = 1 << 20 };
    (void)state;
    http_server *s = http_start(&how);
    http_client stuck = http_connect(s), big = http_connect(s), c = http_connect(s);
    const uint64_t before = vug_memory_resident();
    http_ask(&stuck, "/gush", "{}");
    http_ask(&big, "/big", NULL);
    http_await(&s->n_gushed, 1); /* the writer was not held, and told */
    assert_false(s->unbounded);
    http_expect_grown_less(before, 64 << 20);
    http_ask(&c, "/queued-echo", "{}"); /* nobody else waits */
    http_expect(&c, 200, "{}");
    http_close(&c);
    http_close(&stuck);
    /* A whole answer that nobody takes goes with its connection. */
    http_await_connections(s, 0);
    http_answer a = http_read_answer(&big, false);
    assert_int_equal(a.status, 200);
    http_answer_release(&a);
    size_t n = big.in.len;
    char bytes[65536];
    for (ssize_t got; (got = recv(big.fd, bytes, sizeof(bytes), 0)) > 0;)
        n += (size_t)got;
    assert_true(n < HTTP_BIG);
    http_close(&big);
    http_stop(s);
}

static void test_pings(void **state)
{
    const vug_http_options how = { .ping_s = 0.1 };
    (void)state;
    http_server *s = http_start(&how);
    http_client c = http_connect(s);
    http_ask(&c, "/held-stream", "{}");
    http_answer a = http_read_answer(&c, false);
    assert_int_equal(a.status, 200);
    assert_true(http_header_is(&a, "x-toy", "yes"));
    http_answer_release(&a);
    http_expect_text(&c, "8\r\n: ping\n\n\r\n8\r\n: ping\n\n\r\n");
    vug_http_call *call = s->held[0];
    assert_true(vug_http_stream_event(call, vug_str_of("data: 1\n\n")));
    http_expect_text(&c, "data: 1\n\n\r\n");
    http_expect_text(&c, ": ping\n\n");
    vug_http_stream_end(call);
    http_expect_text(&c, "0\r\n\r\n");
    http_ask(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    http_close(&c);
    http_stop(s);
}

/* ---- clients that leave ----------------------------------------------------------------------- */

enum { CLOSES, RESETS, HALF_CLOSES, SENT_AHEAD, WAYS };

static void leave(http_client *c, int way)
{
    const struct linger reset = { 1, 0 };
    static const char ahead[4 * VUG_HTTP_MAX_AHEAD];
    if (way == SENT_AHEAD) /* more than the server keeps before it has answered */
        assert_true(http_send_bytes(c, ahead, sizeof(ahead)));
    if (way == RESETS)
        assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    if (way == HALF_CLOSES)
        assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
    else
        http_close(c);
}

static void test_leaving_is_noticed(void **state)
{
    (void)state;
    for (int phase = 0; phase < 2; phase++) {
        http_server *s = http_start(NULL);
        for (int way = 0; way < WAYS; way++) {
            http_client c = http_connect(s);
            http_ask(&c, phase ? "/held-stream" : "/hold", "{}");
            http_await(&s->n_held, way + 1);
            if (phase)
                http_expect_text(&c, "\r\n\r\n");
            vug_http_call *call = s->held[way];
            assert_false(vug_http_gone(call));
            assert_int_equal(atomic_load(&s->n_gone), way);
            leave(&c, way);
            http_await(&s->n_gone, way + 1);
            assert_true(vug_http_gone(call));
            if (phase) {
                assert_false(vug_http_stream_event(call, vug_str_of("data: x\n\n")));
                vug_http_stream_end(call);
            } else {
                vug_buf body = { 0 };
                vug_buf_puts(&body, "for nobody");
                vug_http_reply(call, NULL, &body);
            }
            if (c.fd >= 0)
                http_close(&c);
        }
        assert_int_equal(vug_metrics_get(s->metrics, VUG_METRIC_GONE, NULL), WAYS);
        http_stop(s);
    }
}

/* What waits for a thread is not read for nobody. */
static void test_leaving_before_the_handler(void **state)
{
    const vug_http_options how = { .threads = 1 };
    (void)state;
    http_server *s = http_start(&how);
    http_client first = http_connect(s), second = http_connect(s);
    http_ask(&first, "/stay", "{}");
    http_expect(&first, 200, "{}"); /* the thread is busy all the same */
    http_ask(&second, "/stay", "{}");
    http_close(&second);
    const struct timespec ms = { 0, 1000000 };
    for (int i = 0; i < 10000 && vug_metrics_get(s->metrics, VUG_METRIC_GONE, NULL) < 1; i++)
        (void)nanosleep(&ms, NULL);
    atomic_store(&s->may_return, 1);
    http_close(&first);
    vug_http_drain(s->http);
    http_await(&s->done, 1);
    assert_int_equal(atomic_load(&s->n_stayed), 1);
    http_stop(s);
}

static void test_leaving_before_the_request_is_whole(void **state)
{
    static const char *const parts[] = { "", "GET", "GET /health HTTP/1.1\r\n" HOST,
                                         "POST /echo HTTP/1.1\r\n" HOST JSON
                                         "Content-Length: 100\r\n\r\n{",
                                         "POST /echo HTTP/1.1\r\n" HOST JSON
                                         "Transfer-Encoding: chunked\r\n\r\n5\r\nab" };
    (void)state;
    http_server *s = http_start(NULL);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (int way = 0; way < SENT_AHEAD; way++) {
            http_client c = http_connect(s);
            http_send_text(&c, parts[i]);
            leave(&c, way);
            if (c.fd >= 0) {
                http_expect_end(&c);
                http_close(&c);
            }
        }
    }
    http_client c = http_connect(s);
    http_ask(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    http_close(&c);
    http_stop(s);
}

/* As `printf .. | nc` does: what can be answered at once is. */
static void test_answer_after_half_close(void **state)
{
    (void)state;
    http_server *s = http_start(NULL);
    http_client c = http_connect(s);
    http_ask(&c, "/health", NULL);
    http_ask(&c, "/named/last", NULL);
    assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
    http_expect(&c, 200, "ok");
    http_expect(&c, 200, "last");
    http_expect_end(&c);
    http_close(&c);
    http_stop(s);
}

static void test_on_gone_told_late(void **state)
{
    atomic_int told = 0;
    (void)state;
    http_server *s = http_start(NULL);
    http_client c = http_connect(s);
    http_ask(&c, "/hold", "{}");
    http_await(&s->n_held, 1);
    http_close(&c);
    http_await(&s->n_gone, 1);
    vug_http_on_gone(s->held[0], http_count, &told);
    assert_int_equal(atomic_load(&told), 1);
    vug_api_error error = { .kind = VUG_API_INTERNAL, .message = "nobody reads this" };
    vug_http_fail(s->held[0], &error);
    http_stop(s);
}

/* ---- many clients ------------------------------------------------------------------------------ */

static void test_flood(void **state)
{
    enum { N = 100 };
    const vug_http_options how = { .max_connections = 8 };
    http_client flood[N];
    (void)state;
    http_server *s = http_start(&how);
    http_client held = http_connect(s);
    http_ask(&held, "/hold", "{}");
    http_await(&s->n_held, 1);
    for (int i = 0; i < N; i++) {
        flood[i] = http_connect(s);
        if (i % 2)
            http_send_text(&flood[i], "GET /hea");
    }
    http_client c = http_connect(s);
    http_ask(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    vug_buf body = { 0 };
    vug_buf_puts(&body, "still here");
    vug_http_reply(s->held[0], NULL, &body); /* who is being answered is not thrown out */
    http_expect(&held, 200, "still here");
    for (int i = 0; i < N; i++)
        http_close(&flood[i]);
    http_close(&held);
    http_close(&c);
    http_stop(s);
}

enum { BODY = 1000000 }; /* takes 1 MiB */

/* A client with a body, but for the last `missing` bytes. */
static http_client send_body(const http_server *s, const char *path, size_t missing)
{
    char head[256];
    char *body = vug_alloc_zero(BODY, 1);
    http_client c = http_connect(s);
    assert_non_null(body);
    (void)snprintf(head, sizeof(head),
                   "POST %s HTTP/1.1\r\n" HOST JSON "Content-Length: %d\r\n\r\n", path, BODY);
    http_send_text(&c, head);
    assert_true(http_send_bytes(&c, body, BODY - missing));
    vug_free(body);
    return c;
}

/* Bodies that do not end and answers that nobody takes make room for others, the oldest first. */
static void test_slow_clients_make_room(void **state)
{
    enum { N = 8 };
    const vug_http_options how = { .max_held = (size_t)6 << 20 };
    http_client slow[N];
    (void)state;
    http_server *s = http_start(&how);
    http_client untaken = http_connect(s);
    http_send_text(&untaken, "GET /big HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    http_expect_text(&untaken, "\r\n\r\n");
    for (int i = 0; i < N; i++)
        slow[i] = send_body(s, "/queued-echo", 1);
    http_client c = send_body(s, "/queued-echo", 0);
    http_expect(&c, 200, NULL);
    http_expect(&slow[0], 503, "no memory");
    http_expect_end(&slow[0]);
    assert_true(http_send_bytes(&slow[N - 1], "x", 1)); /* the last was in nobody's way */
    http_expect(&slow[N - 1], 200, NULL);
    size_t n = 0;
    char bytes[65536];
    for (ssize_t got; (got = recv(untaken.fd, bytes, sizeof(bytes), 0)) > 0;)
        n += (size_t)got;
    assert_true(n < HTTP_BIG);
    for (int i = 0; i < N; i++)
        http_close(&slow[i]);
    http_close(&untaken);
    http_close(&c);
    http_stop(s);
}

/* So does a stream that is at its end, with more of it than its client takes. */
static void test_untaken_streams_make_room(void **state)
{
    enum { EVENT = 64 << 10, N = 256 }; /* 16 MiB, of which the system keeps a part */
    const vug_http_options how = { .max_held = (size_t)2 << 20, .max_unsent = (size_t)32 << 20 };
    static char event[EVENT];
    (void)state;
    http_server *s = http_start(&how);
    http_client slow = http_connect(s);
    memset(event, 'x', sizeof(event));
    http_ask(&slow, "/held-stream", "{}");
    http_await(&s->n_held, 1);
    const struct timespec pause = { 0, 100000000 };
    for (int i = 0; i < N; i++) {
        if (i == N / 2) /* until the system takes no more */
            (void)nanosleep(&pause, NULL);
        assert_true(vug_http_stream_event(s->held[0], (vug_str){ event, sizeof(event) }));
    }
    vug_http_stream_end(s->held[0]);
    http_client c = send_body(s, "/queued-echo", 0);
    http_expect(&c, 200, NULL);
    http_close(&c);
    http_close(&slow);
    http_stop(s);
}

/* What owners keep counts, and is given back with the call; one cannot have more than there is. */
static void test_memory_that_is_kept(void **state)
{
    enum { MAX = 1 << 20 };
    const vug_http_options how = { .max_held = MAX };
    (void)state;
    http_server *s = http_start(&how);
    for (int round = 0; round < 2; round++) {
        http_client first = http_connect(s), second = http_connect(s);
        const int n = 2 * round;
        http_ask(&first, "/hold", "{}");
        http_await(&s->n_held, n + 1);
        http_ask(&second, "/hold", "{}");
        http_await(&s->n_held, n + 2);
        assert_false(vug_http_keep(s->held[n], MAX + 1));
        assert_false(vug_http_keep(s->held[n], SIZE_MAX));
        assert_true(vug_http_keep(s->held[n], MAX / 2));
        assert_true(vug_http_keep(s->held[n + 1], MAX / 2));
        assert_false(vug_http_keep(s->held[n + 1], 1));
        for (int i = 0; i < 2; i++) {
            vug_buf none = { 0 };
            vug_http_reply(s->held[n + i], NULL, &none);
            http_expect(i ? &second : &first, 200, NULL);
        }
        http_close(&first);
        http_close(&second);
    }
    http_stop(s);
}

/* Requests that are being answered make room for nobody. */
static void test_memory_that_is_in_use(void **state)
{
    enum { N = 6 };
    const vug_http_options how = { .max_held = ((size_t)N << 20) + (1 << 19) };
    http_client held[N];
    (void)state;
    http_server *s = http_start(&how);
    for (int i = 0; i < N; i++) {
        held[i] = send_body(s, "/hold", 0);
        http_await(&s->n_held, i + 1);
    }
    http_client c = send_body(s, "/queued-echo", 0);
    http_answer a = http_read_answer(&c, true);
    http_check_error(&a, 503, "overloaded_error", NULL);
    assert_true(http_has_header(&a, "Retry-After"));
    http_answer_release(&a);
    http_close(&c);
    for (int i = 0; i < N; i++) {
        vug_buf answer = { 0 };
        vug_buf_puts(&answer, "kept");
        vug_http_reply(s->held[i], NULL, &answer);
        http_expect(&held[i], 200, "kept");
        http_close(&held[i]);
    }
    c = send_body(s, "/queued-echo", 0);
    http_expect(&c, 200, NULL);
    http_close(&c);
    http_stop(s);
}

/* 500 connections that had a request and wait for another. */
static void test_idle_connections_are_cheap(void **state)
{
    enum { N = 500 };
    http_client c[N];
    struct rlimit files = { 0 };
    (void)state;
    http_server *s = http_start(NULL); /* which raises the limit on files */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_cur < 2 * N + 100) {
        http_stop(s);
        print_message("this system gives a process only %llu files\n",
                      (unsigned long long)files.rlim_cur);
        skip();
    }
    const uint64_t before = vug_memory_resident();
    for (int i = 0; i < N; i++) {
        c[i] = http_connect(s);
        http_ask(&c[i], "/echo", "{}");
        http_expect(&c[i], 200, "{}");
        vug_buf_release(&c[i].in);
    }
    assert_int_equal(vug_metrics_get(s->metrics, VUG_METRIC_CONNECTIONS, NULL), N);
    http_expect_grown_less(before, 20 << 20);
    for (int i = 0; i < N; i++)
        http_close(&c[i]);
    http_stop(s);
}

/* Many at a time, each of which gets what belongs to it. */
static void *ask_often(void *arg)
{
    http_server *s = arg;
    http_client c = http_connect(s);
    for (int i = 0; i < 50; i++) {
        char body[32];
        (void)snprintf(body, sizeof(body), "%p %d", (void *)&c, i);
        http_ask(&c, i % 2 ? "/queued-echo" : "/echo", body);
        http_expect(&c, 200, body);
        http_ask(&c, "/stream", "3");
        http_expect(&c, 200, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
    }
    http_close(&c);
    return NULL;
}

static void test_many_clients(void **state)
{
    enum { N = 16 };
    pthread_t thread[N];
    (void)state;
    http_server *s = http_start(NULL);
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, ask_often, s), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_int_equal(
            vug_metrics_get(s->metrics, VUG_METRIC_REQUESTS, "route=\"/stream\",status=\"200\""),
            N * 50);
    http_stop(s);
}

/* ---- figures ----------------------------------------------------------------------------------- */

static void test_metrics(void **state)
{
    vug_metrics *m;
    vug_buf text = { 0 };
    vug_err err;
    char labels[64];
    (void)state;
    assert_int_equal(vug_metrics_create(&m, &err), VUG_OK);
    vug_metrics_add(m, VUG_METRIC_REQUESTS, "route=\"/a\",status=\"200\"", 2);
    vug_metrics_add(m, VUG_METRIC_GENERATED_TOKENS, NULL, 12);
    vug_metrics_set(m, VUG_METRIC_QUEUE, 3);
    vug_metrics_set(m, VUG_METRIC_QUEUE, 1);
    vug_metrics_observe(m, VUG_METRIC_FIRST_TOKEN, 0.25);
    vug_metrics_observe(m, VUG_METRIC_FIRST_TOKEN, 1e6);
    vug_metrics_write(m, &text);
    static const char *const wanted[] = {
        "# TYPE vug_http_requests_total counter\n"
        "vug_http_requests_total{route=\"/a\",status=\"200\"} 2\n",
        "\nvug_generated_tokens_total 12\n",
        "\nvug_prompt_tokens_total 0\n",
        "# TYPE vug_queue_requests gauge\nvug_queue_requests 1\n",
        "\nvug_time_to_first_token_seconds_bucket{le=\"0.1\"} 0\n"
        "vug_time_to_first_token_seconds_bucket{le=\"0.25\"} 1\n",
        "_bucket{le=\"+Inf\"} 2\nvug_time_to_first_token_seconds_sum 1000000.25\n"
        "vug_time_to_first_token_seconds_count 2\n",
        "\nprocess_resident_memory_bytes ",
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!strstr(text.ptr, wanted[i]))
            fail_msg("no '%s' in\n%s", wanted[i], text.ptr);
    }
    for (int i = 0; i < 2 * VUG_METRIC_MAX_SERIES; i++) { /* labels without end */
        (void)snprintf(labels, sizeof(labels), "route=\"%d\"", i);
        vug_metrics_add(m, VUG_METRIC_REQUESTS, labels, 1);
    }
    assert_true(vug_metrics_get(m, VUG_METRIC_REQUESTS, "route=\"3\"") == 1);
    assert_true(vug_metrics_get(m, VUG_METRIC_REQUESTS, "route=\"2000\"") == 0);
    vug_buf_release(&text);
    vug_metrics_destroy(m);
    vug_metrics_add(NULL, VUG_METRIC_QUEUE, NULL, 1); /* without a registry */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_requests),
        cmocka_unit_test(test_idle_connections_end),
        cmocka_unit_test(test_refused_while_it_sends),
        cmocka_unit_test(test_slow_answers_are_waited_for),
        cmocka_unit_test(test_client_that_does_not_read),
        cmocka_unit_test(test_pings),
        cmocka_unit_test(test_leaving_is_noticed),
        cmocka_unit_test(test_leaving_before_the_handler),
        cmocka_unit_test(test_leaving_before_the_request_is_whole),
        cmocka_unit_test(test_answer_after_half_close),
        cmocka_unit_test(test_on_gone_told_late),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_slow_clients_make_room),
        cmocka_unit_test(test_untaken_streams_make_room),
        cmocka_unit_test(test_memory_that_is_kept),
        cmocka_unit_test(test_memory_that_is_in_use),
        cmocka_unit_test(test_idle_connections_are_cheap),
        cmocka_unit_test(test_many_clients),
        cmocka_unit_test(test_metrics),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
