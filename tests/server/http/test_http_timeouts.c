/*
 * Timeouts, disconnects, many clients, pings, metrics. Limits are short, and nothing measures time.
 */
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/os.h"
#include "http_help.h"

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"

/* ---- slow clients -------------------------------------------------------------------------- */

/* Sends bytes slowly without completing the request. */
static void send_slowly(http_client *c, const char *start)
{
    http_send_text(c, start);
    const struct timespec pause = { 0, 20000000 };
    for (int i = 0; i < 500; i++) {
        char byte;
        if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
            return; /* a response, or the connection ends */
        if (!http_send_bytes(c, "a", 1))
            return;
        (void)nanosleep(&pause, NULL);
    }
}

/* Only the tested limit is short: the rest may take a while on a busy machine. */
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

static void test_idle_connections_time_out(void **state)
{
    const vug_http_options how = { .idle_s = 0.3 };
    (void)state;
    http_server *s = http_listen(&how);
    http_client silent = http_connect(s), done = http_connect(s);
    http_send_request(&done, "/health", NULL);
    http_run(s);
    http_expect_end(&silent);
    http_expect(&done, 200, "ok");
    http_expect_end(&done);
    http_close(&silent);
    http_close(&done);
    http_stop(s);
}

/* Sends a body in pieces, with pauses that the server allows. False when a busy machine made one
 * too long. */
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

/* A client that keeps sending a rejected body still gets the error. */
static void test_rejected_while_sending(void **state)
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

/* Request timeouts do not apply to responses. */
static void test_slow_handlers_do_not_time_out(void **state)
{
    const vug_http_options how = { .head_s = 0.1, .body_s = 0.1, .idle_s = 0.1, .stall_s = 0.1 };
    const struct timespec pause = { 0, 400000000 };
    (void)state;
    http_server *s = http_listen(&how);
    http_client c = http_connect(s);
    http_send_request(&c, "/hold", "{}");
    http_run(s);
    http_wait_for(&s->n_held, 1);
    (void)nanosleep(&pause, NULL);
    vug_buf body = { 0 };
    vug_buf_puts(&body, "at last");
    vug_http_reply(s->held[0], NULL, &body);
    http_expect(&c, 200, "at last");
    assert_int_equal(atomic_load(&s->n_disconnected), 0);
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
    http_send_request(&stuck, "/gush", "{}");
    http_send_request(&big, "/big", NULL);
    http_wait_for(&s->n_gushed, 1); /* the writer did not block, and was told */
    assert_false(s->unbounded);
    http_expect_grown_less(before, 64 << 20);
    http_send_request(&c, "/queued-echo", "{}"); /* other clients are served */
    http_expect(&c, 200, "{}");
    http_close(&c);
    http_close(&stuck);
    /* An unread response ends with its connection. */
    http_wait_for_connections(s, 0);
    http_response a = http_read_response(&big, false);
    assert_int_equal(a.status, 200);
    http_response_release(&a);
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
    http_send_request(&c, "/held-stream", "{}");
    http_response a = http_read_response(&c, false);
    assert_int_equal(a.status, 200);
    assert_true(http_header_is(&a, "x-toy", "yes"));
    http_response_release(&a);
    http_expect_text(&c, "8\r\n: ping\n\n\r\n8\r\n: ping\n\n\r\n");
    vug_http_request *request = s->held[0];
    assert_true(vug_http_stream_event(request, vug_str_of("data: 1\n\n")));
    http_expect_text(&c, "data: 1\n\n\r\n");
    http_expect_text(&c, ": ping\n\n");
    vug_http_stream_end(request);
    http_expect_text(&c, "0\r\n\r\n");
    http_send_request(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    http_close(&c);
    http_stop(s);
}

/* ---- disconnects -------------------------------------------------------------------- */

enum { CLOSES, RESETS, HALF_CLOSES, SENT_AHEAD, WAYS };

static void leave(http_client *c, int way)
{
    const struct linger reset = { 1, 0 };
    static const char ahead[4 * VUG_HTTP_MAX_PIPELINED];
    if (way == SENT_AHEAD) /* more than the server keeps before it has answered */
        assert_true(http_send_bytes(c, ahead, sizeof(ahead)));
    if (way == RESETS)
        assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    if (way == HALF_CLOSES)
        assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
    else
        http_close(c);
}

static void test_disconnect_is_noticed(void **state)
{
    (void)state;
    for (int phase = 0; phase < 2; phase++) {
        http_server *s = http_start(NULL);
        for (int way = 0; way < WAYS; way++) {
            http_client c = http_connect(s);
            http_send_request(&c, phase ? "/held-stream" : "/hold", "{}");
            http_wait_for(&s->n_held, way + 1);
            if (phase)
                http_expect_text(&c, "\r\n\r\n");
            vug_http_request *request = s->held[way];
            assert_false(vug_http_disconnected(request));
            assert_int_equal(atomic_load(&s->n_disconnected), way);
            leave(&c, way);
            http_wait_for(&s->n_disconnected, way + 1);
            assert_true(vug_http_disconnected(request));
            if (phase) {
                assert_false(vug_http_stream_event(request, vug_str_of("data: x\n\n")));
                vug_http_stream_end(request);
            } else {
                vug_buf body = { 0 };
                vug_buf_puts(&body, "for nobody");
                vug_http_reply(request, NULL, &body);
            }
            if (c.fd >= 0)
                http_close(&c);
        }
        assert_int_equal(vug_metrics_get(s->metrics, VUG_METRIC_DISCONNECTED, NULL), WAYS);
        http_stop(s);
    }
}

/* Queued requests of disconnected clients are not handled. */
static void test_disconnect_before_the_handler(void **state)
{
    const vug_http_options how = { .threads = 1 };
    (void)state;
    http_server *s = http_start(&how);
    http_client first = http_connect(s), second = http_connect(s);
    http_send_request(&first, "/stay", "{}");
    http_expect(&first, 200, "{}"); /* the thread is busy anyway */
    http_send_request(&second, "/stay", "{}");
    http_close(&second);
    const struct timespec ms = { 0, 1000000 };
    for (int i = 0; i < 10000 && vug_metrics_get(s->metrics, VUG_METRIC_DISCONNECTED, NULL) < 1;
         i++)
        (void)nanosleep(&ms, NULL);
    atomic_store(&s->may_return, 1);
    http_close(&first);
    vug_http_drain(s->http);
    http_wait_for(&s->done, 1);
    assert_int_equal(atomic_load(&s->n_stayed), 1);
    http_stop(s);
}

static void test_disconnect_before_the_request_is_complete(void **state)
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
    http_send_request(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    http_close(&c);
    http_stop(s);
}

/* As `printf .. | nc` does: immediate responses are sent. */
static void test_response_after_half_close(void **state)
{
    (void)state;
    http_server *s = http_start(NULL);
    http_client c = http_connect(s);
    http_send_request(&c, "/health", NULL);
    http_send_request(&c, "/named/last", NULL);
    assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
    http_expect(&c, 200, "ok");
    http_expect(&c, 200, "last");
    http_expect_end(&c);
    http_close(&c);
    http_stop(s);
}

static void test_late_on_disconnect(void **state)
{
    atomic_int told = 0;
    (void)state;
    http_server *s = http_start(NULL);
    http_client c = http_connect(s);
    http_send_request(&c, "/hold", "{}");
    http_wait_for(&s->n_held, 1);
    http_close(&c);
    http_wait_for(&s->n_disconnected, 1);
    vug_http_on_disconnect(s->held[0], http_count, &told);
    assert_int_equal(atomic_load(&told), 1);
    vug_api_error error = { .kind = VUG_API_INTERNAL, .message = "nobody reads this" };
    vug_http_fail(s->held[0], &error);
    http_stop(s);
}

/* ---- many clients ------------------------------------------------------------------- */

static void test_connection_flood(void **state)
{
    enum { N = 100 };
    const vug_http_options how = { .max_connections = 8 };
    http_client flood[N];
    (void)state;
    http_server *s = http_start(&how);
    http_client held = http_connect(s);
    http_send_request(&held, "/hold", "{}");
    http_wait_for(&s->n_held, 1);
    for (int i = 0; i < N; i++) {
        flood[i] = http_connect(s);
        if (i % 2)
            http_send_text(&flood[i], "GET /hea");
    }
    http_client c = http_connect(s);
    http_send_request(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    vug_buf body = { 0 };
    vug_buf_puts(&body, "still here");
    vug_http_reply(s->held[0], NULL, &body); /* requests being answered are not evicted */
    http_expect(&held, 200, "still here");
    for (int i = 0; i < N; i++)
        http_close(&flood[i]);
    http_close(&held);
    http_close(&c);
    http_stop(s);
}

enum { BODY = 1000000 }; /* takes 1 MiB */

/* A client that has sent all but the last `missing` bytes of its body. */
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

/* Incomplete bodies and unread responses are evicted, the oldest first. */
static void test_slow_clients_are_evicted(void **state)
{
    enum { N = 8 };
    const vug_http_options how = { .max_buffered = (size_t)6 << 20 };
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
    http_expect(&slow[0], 503, "not enough memory");
    http_expect_end(&slow[0]);
    assert_true(http_send_bytes(&slow[N - 1], "x", 1)); /* the last one was not evicted */
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

/* An ended stream that its client does not read is evicted, too. */
static void test_unread_streams_are_evicted(void **state)
{
    enum { EVENT = 64 << 10, N = 256 }; /* 16 MiB, a part of which the system buffers */
    const vug_http_options how = { .max_buffered = (size_t)2 << 20,
                                   .max_unsent = (size_t)32 << 20 };
    static char event[EVENT];
    (void)state;
    http_server *s = http_start(&how);
    http_client slow = http_connect(s);
    memset(event, 'x', sizeof(event));
    http_send_request(&slow, "/held-stream", "{}");
    http_wait_for(&s->n_held, 1);
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

/* Reserved memory counts until the request ends, and cannot exceed the limit. */
static void test_reserved_memory(void **state)
{
    enum { MAX = 1 << 20 };
    const vug_http_options how = { .max_buffered = MAX };
    (void)state;
    http_server *s = http_start(&how);
    for (int round = 0; round < 2; round++) {
        http_client first = http_connect(s), second = http_connect(s);
        const int n = 2 * round;
        http_send_request(&first, "/hold", "{}");
        http_wait_for(&s->n_held, n + 1);
        http_send_request(&second, "/hold", "{}");
        http_wait_for(&s->n_held, n + 2);
        assert_false(vug_http_reserve(s->held[n], MAX + 1));
        assert_false(vug_http_reserve(s->held[n], SIZE_MAX));
        assert_true(vug_http_reserve(s->held[n], MAX / 2));
        assert_true(vug_http_reserve(s->held[n + 1], MAX / 2));
        assert_false(vug_http_reserve(s->held[n + 1], 1));
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

/* Requests being answered are not evicted. */
static void test_memory_limit(void **state)
{
    enum { N = 6 };
    const vug_http_options how = { .max_buffered = ((size_t)N << 20) + (1 << 19) };
    http_client held[N];
    (void)state;
    http_server *s = http_start(&how);
    for (int i = 0; i < N; i++) {
        held[i] = send_body(s, "/hold", 0);
        http_wait_for(&s->n_held, i + 1);
    }
    http_client c = send_body(s, "/queued-echo", 0);
    http_response a = http_read_response(&c, true);
    http_check_error(&a, 503, "overloaded_error", NULL);
    assert_true(http_has_header(&a, "Retry-After"));
    http_response_release(&a);
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

/* 500 idle connections that each had a request. */
static void test_idle_connections_are_cheap(void **state)
{
    enum { N = 500 };
    http_client c[N];
    struct rlimit files = { 0 };
    (void)state;
    http_server *s = http_start(NULL); /* raises the descriptor limit */
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
        http_send_request(&c[i], "/echo", "{}");
        http_expect(&c[i], 200, "{}");
        vug_buf_release(&c[i].in);
    }
    assert_int_equal(vug_metrics_get(s->metrics, VUG_METRIC_CONNECTIONS, NULL), N);
    http_expect_grown_less(before, 20 << 20);
    for (int i = 0; i < N; i++)
        http_close(&c[i]);
    http_stop(s);
}

/* Each of many clients gets its own response. */
static void *ask_often(void *arg)
{
    http_server *s = arg;
    http_client c = http_connect(s);
    for (int i = 0; i < 50; i++) {
        char body[32];
        (void)snprintf(body, sizeof(body), "%p %d", (void *)&c, i);
        http_send_request(&c, i % 2 ? "/queued-echo" : "/echo", body);
        http_expect(&c, 200, body);
        http_send_request(&c, "/stream", "3");
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

/* ---- metrics ------------------------------------------------------------------------ */

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
    vug_metrics_observe(m, VUG_METRIC_CACHE_HITS, 0);
    vug_metrics_observe(m, VUG_METRIC_CACHE_HITS, 1);
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
        "# TYPE vug_cache_hit_ratio histogram\nvug_cache_hit_ratio_bucket{le=\"0\"} 1\n",
        "\nvug_cache_hit_ratio_bucket{le=\"0.99\"} 1\nvug_cache_hit_ratio_bucket{le=\"1\"} 2\n"
        "vug_cache_hit_ratio_bucket{le=\"+Inf\"} 2\nvug_cache_hit_ratio_sum 1\n",
        "\nprocess_resident_memory_bytes ",
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!strstr(text.ptr, wanted[i]))
            fail_msg("no '%s' in\n%s", wanted[i], text.ptr);
    }
    for (int i = 0; i < 2 * VUG_METRIC_MAX_SERIES; i++) { /* more labels than allowed */
        (void)snprintf(labels, sizeof(labels), "route=\"%d\"", i);
        vug_metrics_add(m, VUG_METRIC_REQUESTS, labels, 1);
    }
    assert_true(vug_metrics_get(m, VUG_METRIC_REQUESTS, "route=\"3\"") == 1);
    assert_true(vug_metrics_get(m, VUG_METRIC_REQUESTS, "route=\"2000\"") == 0);
    vug_buf_release(&text);
    vug_metrics_destroy(m);
    vug_metrics_add(NULL, VUG_METRIC_QUEUE, NULL, 1); /* NULL metrics */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_requests),
        cmocka_unit_test(test_idle_connections_time_out),
        cmocka_unit_test(test_rejected_while_sending),
        cmocka_unit_test(test_slow_handlers_do_not_time_out),
        cmocka_unit_test(test_client_that_does_not_read),
        cmocka_unit_test(test_pings),
        cmocka_unit_test(test_disconnect_is_noticed),
        cmocka_unit_test(test_disconnect_before_the_handler),
        cmocka_unit_test(test_disconnect_before_the_request_is_complete),
        cmocka_unit_test(test_response_after_half_close),
        cmocka_unit_test(test_late_on_disconnect),
        cmocka_unit_test(test_connection_flood),
        cmocka_unit_test(test_slow_clients_are_evicted),
        cmocka_unit_test(test_unread_streams_are_evicted),
        cmocka_unit_test(test_reserved_memory),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_idle_connections_are_cheap),
        cmocka_unit_test(test_many_clients),
        cmocka_unit_test(test_metrics),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
