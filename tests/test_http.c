/*
 * The server's HTTP: raw sockets against a server in a thread, with toy routes and short
 * limits. Nothing here measures time; a wait that is too long is a failure of its own.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json.h"
#include "core/os.h"
#include "http_help.h"

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"

static http_server *plain; /* shared by tests that change no option */

/* ---- requests that are answered ---------------------------------------------------------- */

static void test_answers(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_ask(&c, "/health", NULL);
    http_answer a = http_read_answer(&c, true);
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body.ptr, "ok");
    assert_true(http_header_is(&a, "Content-Length", "2"));
    assert_true(http_header_is(&a, "Content-Type", "text/plain"));
    assert_true(http_has_header(&a, "Date"));
    assert_true(http_has_header(&a, "x-request-id"));
    assert_false(http_has_header(&a, "Connection"));
    assert_false(http_has_header(&a, "Access-Control-Allow-Origin"));
    http_answer_release(&a);

    http_ask(&c, "/echo?a=b%20c&d", NULL);
    http_expect(&c, 200, "a=b%20c&d");
    http_ask(&c, "/named/org%2Fmodel/x", NULL);
    http_expect(&c, 200, "org/model/x");
    http_ask(&c, "/echo", "{\"a\": 1}");
    http_expect(&c, 200, "{\"a\": 1}");
    http_ask(&c, "/queued-echo", "[]");
    http_expect(&c, 200, "[]");
    http_ask(&c, "/echo", "");
    http_expect(&c, 200, "");
    http_send_text(&c, "GET http://127.0.0.1:1/echo?q HTTP/1.1\r\n" HOST "\r\n");
    http_expect(&c, 200, "q");
    http_send_text(&c, "\r\nGET /health HTTP/1.1\r\nhOST:\tLocalhost:99 \r\n\r\n");
    http_expect(&c, 200, "ok");

    http_send_text(&c, "HEAD /health HTTP/1.1\r\n" HOST "\r\n");
    a = http_read_answer(&c, false);
    assert_int_equal(a.status, 200);
    assert_true(http_header_is(&a, "Content-Length", "2"));
    http_answer_release(&a);
    http_ask(&c, "/health", NULL);
    http_expect(&c, 200, "ok");

    http_send_text(&c, "GET /health HTTP/1.1\r\n" HOST "Connection: x, Close\r\n\r\n");
    a = http_read_answer(&c, true);
    assert_true(http_header_is(&a, "Connection", "close"));
    http_answer_release(&a);
    http_expect_end(&c);
    http_close(&c);
}

static void test_request_ids_differ(void **state)
{
    char first[64] = "";
    (void)state;
    http_client c = http_connect(plain);
    for (int i = 0; i < 2; i++) {
        http_ask(&c, "/health", NULL);
        http_answer a = http_read_answer(&c, true);
        const char *id = strstr(a.head.ptr, "x-request-id: req_");
        assert_non_null(id);
        assert_int_not_equal(strncmp(first, id, 48), 0);
        (void)snprintf(first, sizeof(first), "%.48s", id);
        http_answer_release(&a);
    }
    http_close(&c);
}

static void test_http_1_0(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_send_text(&c, "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    http_answer a = http_read_answer(&c, true);
    assert_int_equal(a.status, 200);
    assert_true(http_header_is(&a, "Connection", "keep-alive"));
    http_answer_release(&a);
    http_send_text(&c, "GET /health HTTP/1.0\r\n\r\n");
    http_expect(&c, 200, "ok");
    http_expect_end(&c);
    http_close(&c);

    /* A stream without chunks ends with the connection. */
    c = http_connect(plain);
    http_send_text(&c, "POST /stream HTTP/1.0\r\nContent-Length: 1\r\n\r\n2");
    a = http_read_answer(&c, false);
    assert_false(http_has_header(&a, "Transfer-Encoding"));
    http_answer_release(&a);
    http_expect_text(&c, "data: 0\n\ndata: 1\n\n");
    http_expect_end(&c);
    http_close(&c);
}

static void test_stream(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_ask(&c, "/stream", "1000");
    http_answer a = http_read_answer(&c, true);
    assert_int_equal(a.status, 200);
    assert_true(http_header_is(&a, "Content-Type", "text/event-stream; charset=utf-8"));
    assert_true(http_header_is(&a, "Cache-Control", "no-cache"));
    assert_true(http_header_is(&a, "X-Accel-Buffering", "no"));
    const char *at = a.body.ptr;
    for (int i = 0; i < 1000; i++) {
        char event[32];
        const int n = snprintf(event, sizeof(event), "data: %d\n\n", i);
        assert_memory_equal(at, event, (size_t)n);
        at += n;
    }
    assert_int_equal(*at, '\0');
    http_answer_release(&a);
    http_ask(&c, "/health", NULL); /* the connection goes on */
    http_expect(&c, 200, "ok");
    http_close(&c);
}

/* A hundred requests of three kinds in one write, answered in order. */
static void test_pipelining(void **state)
{
    vug_buf all = { 0 };
    (void)state;
    http_client c = http_connect(plain);
    for (int i = 0; i < 100; i++) {
        if (i % 3 == 0)
            vug_buf_printf(&all, "GET /echo?%d HTTP/1.1\r\n" HOST "\r\n", i);
        else
            vug_buf_printf(&all, "POST /%s HTTP/1.1\r\n" HOST JSON "Content-Length: 3\r\n\r\n%3d",
                           i % 3 == 1 ? "queued-echo" : "echo", i);
    }
    assert_true(http_send_bytes(&c, all.ptr, all.len));
    for (int i = 0; i < 100; i++) {
        char want[16];
        (void)snprintf(want, sizeof(want), "%d", i);
        http_expect(&c, 200, want);
    }
    vug_buf_release(&all);
    http_close(&c);
}

/* More requests at once than are read ahead, with large answers: none is lost. */
static void test_pipelining_without_reading(void **state)
{
    vug_buf all = { 0 };
    (void)state;
    http_client c = http_connect(plain);
    for (int i = 0; i < 4; i++)
        vug_buf_puts(&all, "GET /big HTTP/1.1\r\n" HOST "\r\n");
    assert_true(http_send_bytes(&c, all.ptr, all.len));
    for (int i = 0; i < 4; i++) {
        http_answer a = http_read_answer(&c, true);
        assert_int_equal(a.body.len, HTTP_BIG);
        http_answer_release(&a);
    }
    vug_buf_release(&all);
    http_close(&c);
}

static void test_chunked_bodies(void **state)
{
    static const char text[] =
            "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: Chunked\r\n\r\n"
            "4;ext=\"a\"\r\n[1, \r\n0002\r\n2]\r\n0\r\nTrailer: x\r\n\r\n";
    (void)state;
    http_client c = http_connect(plain);
    http_send_text(&c, text);
    http_expect(&c, 200, "[1, 2]");
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        assert_true(http_send_bytes(&c, text + i, 1));
    http_expect(&c, 200, "[1, 2]");
    http_ask(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    http_close(&c);
}

static void test_expect_continue(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_send_text(&c, "POST /echo HTTP/1.1\r\n" HOST JSON
                       "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    http_answer a = http_read_answer(&c, false);
    assert_int_equal(a.status, 100);
    http_answer_release(&a);
    http_send_text(&c, "{}");
    http_expect(&c, 200, "{}");
    /* What would be refused is refused before the body is sent. */
    http_send_text(&c, "POST /nowhere HTTP/1.1\r\n" HOST JSON
                       "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    http_expect(&c, 404, "/nowhere");
    http_expect_end(&c);
    http_close(&c);
}

/* ---- requests that are refused ------------------------------------------------------------- */

static void check_error(const http_answer *a, int status, const char *type, const char *code)
{
    const vug_jv *root;
    vug_arena arena = { 0 };
    vug_err err;
    assert_true(http_header_is(a, "Content-Type", "application/json"));
    if (a->status != status)
        fail_msg("expected %d, got %s%s", status, a->head.ptr, a->body.ptr);
    assert_int_equal(
            vug_json_tree((vug_str){ a->body.ptr, a->body.len }, "error", &arena, &root, &err),
            VUG_OK);
    const vug_jv *e = vug_jv_get(root, "error");
    assert_true(vug_jv_is(vug_jv_get(e, "message"), VUG_JSON_STRING));
    assert_true(vug_jv_get(e, "message")->str.len > 10);
    assert_true(vug_str_is(vug_jv_get(e, "type")->str, type));
    assert_true(vug_jv_is(vug_jv_get(e, "param"), VUG_JSON_NULL));
    if (code)
        assert_true(vug_str_is(vug_jv_get(e, "code")->str, code));
    else
        assert_true(vug_jv_is(vug_jv_get(e, "code"), VUG_JSON_NULL));
    vug_arena_release(&arena);
}

typedef struct {
    int status;
    bool goes_on; /* the connection does */
    const char *request;
} refusal;

static const char bad_request[] = "invalid_request_error";

static const refusal refusals[] = {
    { 404, true, "GET / HTTP/1.1\r\n" HOST "\r\n" },
    { 404, true, "GET /healthy HTTP/1.1\r\n" HOST "\r\n" },
    { 404, true, "GET /named HTTP/1.1\r\n" HOST "\r\n" },
    { 404, false, "POST /x HTTP/1.1\r\n" HOST JSON "Content-Length: 5\r\n\r\n" },
    { 405, true, "DELETE /health HTTP/1.1\r\n" HOST "\r\n" },
    { 405, true, "GET /hold HTTP/1.1\r\n" HOST "\r\n" },
    { 405, false, "POST /health HTTP/1.1\r\n" HOST JSON "Content-Length: 1\r\n\r\n" },
    { 411, true, "POST /echo HTTP/1.1\r\n" HOST JSON "\r\n" },
    { 413, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 104857600\r\n\r\n" },
    { 413, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 99999999999999999\r\n\r\n" },
    { 413, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n" },
    { 415, false,
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nContent-Type: text/plain\r\n"
      "\r\n" },
    { 415, false,
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nOrigin: http://a.b\r\n\r\n" },
    { 415, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Encoding: gzip\r\n"
      "Content-Length: 2\r\n\r\n" },
    { 417, false, "GET /health HTTP/1.1\r\n" HOST "Expect: wonders\r\n\r\n" },
    { 501, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: gzip, chunked\r\n\r\n" },
    { 505, false, "GET / HTTP/2.0\r\n\r\n" },
    { 505, false, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
    { 505, false, "GET / HTTP/1.7\r\n" HOST "\r\n" },
    { 400, false, "GET /\r\n\r\n" },
    { 400, false, "GET  / HTTP/1.1\r\n" HOST "\r\n" },
    { 400, false, "GET / http/1.1\r\n" HOST "\r\n" },
    { 400, false, "G(T / HTTP/1.1\r\n" HOST "\r\n" },
    { 400, false, "GET health HTTP/1.1\r\n" HOST "\r\n" },
    { 400, false, "GET ftp://localhost/ HTTP/1.1\r\n" HOST "\r\n" },
    { 400, false, "GET /named/%4 HTTP/1.1\r\n" HOST "\r\n" },
    { 400, false, "GET /named/%00 HTTP/1.1\r\n" HOST "\r\n" },
    { 400, false, "GET /na\x01me HTTP/1.1\r\n" HOST "\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST HOST "\r\n" },
    { 400, false, "GET /health HTTP/1.1\n" HOST "\r\n" },
    { 400, false, "GET /health HTTP/1.1\nHost: localhost\n\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST "A : b\r\n\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST "A: b\r\n folded\r\n\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST "A: \x01\r\n\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST "no colon\r\n\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST ": no name\r\n\r\n" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: -1\r\n\r\n" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: +1\r\n\r\n" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 0x1\r\n\r\n" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 1, 1\r\n\r\n" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: \r\n\r\n" },
    { 400, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 9999999999999999999\r\n\r\n" },
    { 400, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 1\r\nContent-Length: 1\r\n\r\na" },
    { 400, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON
      "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" },
    { 400, false, "POST /echo HTTP/1.0\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\nx\r\n" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n1\nab" },
    { 400, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n1\r\nabc" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n-1\r\n" },
    { 400, false, "\x16\x03\x01\x02" }, /* TLS, at a port without */
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const refusal *r = &refusals[i];
        http_client c = http_connect(plain);
        http_send_text(&c, r->request);
        http_answer a = http_read_answer(&c, true);
        check_error(&a, r->status, r->status == 404 ? "not_found_error" : bad_request,
                    r->status == 405 ? "method_not_allowed" : NULL);
        assert_int_equal(http_header_is(&a, "Connection", "close"), !r->goes_on);
        assert_int_equal(http_has_header(&a, "Allow"), r->status == 405);
        assert_true(http_has_header(&a, "x-request-id"));
        http_answer_release(&a);
        if (r->goes_on) {
            http_ask(&c, "/health", NULL);
            http_expect(&c, 200, "ok");
        } else {
            http_expect_end(&c);
        }
        http_close(&c);
    }
}

static void ask_with(http_client *c, const char *before, size_t n, const char *after)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, before);
    for (size_t i = 0; i < n; i++)
        vug_buf_puts(&text, "a");
    vug_buf_puts(&text, after);
    assert_true(http_send_bytes(c, text.ptr, text.len));
    vug_buf_release(&text);
}

static void expect_error(http_client *c, int status)
{
    http_answer a = http_read_answer(c, true);
    check_error(&a, status, bad_request, NULL);
    http_answer_release(&a);
}

static void test_limits_of_the_head(void **state)
{
    static const struct {
        size_t n; /* of letters between these */
        int status;
        const char *before, *after;
    } cases[] = {
        { VUG_HTTP_MAX_TARGET - 6, 200, "GET /echo?", " HTTP/1.1\r\n" HOST "\r\n" },
        { VUG_HTTP_MAX_TARGET - 5, 414, "GET /echo?", " HTTP/1.1\r\n" HOST "\r\n" },
        { VUG_HTTP_MAX_HEAD, 414, "GET /echo?", "" },
        { VUG_HTTP_MAX_HEAD - 80, 200, "GET /health HTTP/1.1\r\n" HOST "X: ", "\r\n\r\n" },
        { VUG_HTTP_MAX_HEAD, 431, "GET /health HTTP/1.1\r\n" HOST "X: ", "\r\n\r\n" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        http_client c = http_connect(plain);
        ask_with(&c, cases[i].before, cases[i].n, cases[i].after);
        if (cases[i].status == 200)
            http_expect(&c, 200, NULL);
        else
            expect_error(&c, cases[i].status);
        http_close(&c);
    }
    for (int more = 0; more < 2; more++) {
        vug_buf text = { 0 };
        vug_buf_puts(&text, "GET /health HTTP/1.1\r\n" HOST);
        for (int i = 1; i < VUG_HTTP_MAX_HEADERS + more; i++)
            vug_buf_puts(&text, "A: b\r\n");
        vug_buf_puts(&text, "\r\n");
        http_client c = http_connect(plain);
        http_send_text(&c, text.ptr);
        if (more)
            expect_error(&c, 431);
        else
            http_expect(&c, 200, "ok");
        http_close(&c);
        vug_buf_release(&text);
    }
}

/* The client writes all of it before it reads, and still reads the refusal. */
static void test_large_body(void **state)
{
    enum { SIZE = 100 << 20 };
    char *body = vug_alloc_zero(SIZE, 1);
    const uint64_t before = vug_memory_resident();
    (void)state;
    assert_non_null(body);
    http_client c = http_connect(plain);
    http_send_text(&c, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 104857600\r\n\r\n");
    assert_true(http_send_bytes(&c, body, SIZE));
    expect_error(&c, 413);
    http_expect_end(&c);
    http_close(&c);
    vug_free(body);
    assert_true(vug_memory_resident() < before + ((uint64_t)64 << 20));
}

static void test_body_at_its_limit(void **state)
{
    const vug_http_options how = { .max_body = 1000 };
    (void)state;
    http_server *s = http_start(&how);
    for (int more = 0; more < 2; more++) {
        http_client c = http_connect(s);
        ask_with(&c,
                 more ? "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 1001\r\n\r\n"
                      : "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 1000\r\n\r\n",
                 1000, "");
        if (more)
            expect_error(&c, 413);
        else
            http_expect(&c, 200, "aaaa");
        http_close(&c);
        c = http_connect(s);
        ask_with(&c,
                 "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n"
                 "3e7\r\n",
                 999, more ? "\r\n2\r\nbb\r\n0\r\n\r\n" : "\r\n1\r\nb\r\n0\r\n\r\n");
        if (more)
            expect_error(&c, 413);
        else
            http_expect(&c, 200, "ab");
        http_close(&c);
    }
    http_stop(s);
}

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

static void test_slow_requests(void **state)
{
    const vug_http_options how = { .head_s = 0.3, .body_s = 0.3, .idle_s = 0.3 };
    (void)state;
    http_server *s = http_start(&how);
    http_client c = http_connect(s);
    send_slowly(&c, "GET /health HTTP/1.1\r\nX: ");
    expect_error(&c, 408);
    http_close(&c);
    c = http_connect(s);
    send_slowly(&c, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 100000\r\n\r\n");
    expect_error(&c, 408);
    http_close(&c);
    c = http_connect(s); /* says nothing */
    http_expect_end(&c);
    http_close(&c);
    c = http_connect(s); /* nothing more */
    http_ask(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    http_expect_end(&c);
    http_close(&c);
    http_stop(s);
}

/* The limits on requests are none on answers. */
static void test_slow_answers_are_waited_for(void **state)
{
    const vug_http_options how = { .head_s = 0.1, .body_s = 0.1, .idle_s = 0.1, .stall_s = 0.1 };
    const struct timespec pause = { 0, 400000000 };
    (void)state;
    http_server *s = http_start(&how);
    http_client c = http_connect(s);
    http_ask(&c, "/hold", "{}");
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
    assert_true(vug_memory_resident() < before + ((uint64_t)64 << 20));
    http_ask(&c, "/queued-echo", "{}"); /* nobody else waits */
    http_expect(&c, 200, "{}");
    http_close(&c);
    http_close(&stuck);
    /* A whole answer that nobody takes goes with its connection. */
    const struct timespec pause = { 1, 0 };
    (void)nanosleep(&pause, NULL);
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

static void test_leaving_before_the_request_is_whole(void **state)
{
    static const char *const parts[] = { "", "GET", "GET /health HTTP/1.1\r\n" HOST,
                                         "POST /echo HTTP/1.1\r\n" HOST JSON
                                         "Content-Length: 100\r\n\r\n{",
                                         "POST /echo HTTP/1.1\r\n" HOST JSON
                                         "Transfer-Encoding: chunked\r\n\r\n5\r\nab" };
    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (int way = 0; way < SENT_AHEAD; way++) {
            http_client c = http_connect(plain);
            http_send_text(&c, parts[i]);
            leave(&c, way);
            if (c.fd >= 0) {
                http_expect_end(&c);
                http_close(&c);
            }
        }
    }
    http_client c = http_connect(plain);
    http_ask(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    http_close(&c);
}

/* As `printf .. | nc` does: what can be answered at once is. */
static void test_answer_after_half_close(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_ask(&c, "/health", NULL);
    http_ask(&c, "/echo?last", NULL);
    assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
    http_expect(&c, 200, "ok");
    http_expect(&c, 200, "last");
    http_expect_end(&c);
    http_close(&c);
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

/* 500 connections that had a request and wait for another. */
static void test_idle_connections_are_cheap(void **state)
{
    enum { N = 500 };
    static http_client c[N];
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
    const uint64_t taken = vug_memory_resident() - before;
    print_message("%d idle connections: %.1f KB\n", N, (double)taken / 1e3);
    assert_true(taken < (uint64_t)20 << 20);
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

/* ---- the end ----------------------------------------------------------------------------------- */

static void test_draining(void **state)
{
    (void)state;
    http_server *s = http_start(NULL);
    http_client stream = http_connect(s), idle = http_connect(s), late = http_connect(s);
    http_ask(&idle, "/health", NULL);
    http_expect(&idle, 200, "ok");
    http_ask(&stream, "/held-stream", "{}");
    http_await(&s->n_held, 1);
    http_send_text(&late, "GET /echo HTTP/1.1\r\n");
    http_ask(&idle, "/health", NULL);
    http_expect(&idle, 200, "ok");
    vug_http_drain(s->http);
    http_expect_end(&idle);
    http_send_text(&late, HOST "\r\n"); /* half a request was there */
    http_answer a = http_read_answer(&late, true);
    check_error(&a, 503, "overloaded_error", NULL);
    assert_true(http_has_header(&a, "Retry-After"));
    assert_true(http_header_is(&a, "Connection", "close"));
    http_answer_release(&a);
    http_client check = http_connect(s);
    http_ask(&check, "/health", NULL);
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
    http_await(&s->done, 1);
    http_stop(s);
}

/* Answers that do not end in time, or when it is asked twice, are given up. */
static void test_draining_gives_up(void **state)
{
    const vug_http_options how = { .drain_s = 0.2 };
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        http_server *s = http_start(twice ? NULL : &how);
        http_client c = http_connect(s);
        http_ask(&c, "/hold", "{}");
        http_await(&s->n_held, 1);
        vug_http_drain(s->http);
        if (twice)
            vug_http_drain(s->http);
        http_await(&s->n_gone, 1);
        http_expect_end(&c);
        assert_int_equal(atomic_load(&s->done), 0); /* the owner has not ended its call */
        vug_api_error error = { .kind = VUG_API_UNAVAILABLE };
        vug_http_fail(s->held[0], &error);
        http_await(&s->done, 1);
        http_close(&c);
        http_stop(s);
    }
}

static void test_signals(void **state)
{
    const vug_http_options how = { .signals = true };
    static const int ends[] = { SIGTERM, SIGINT };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        http_server *s = http_start(&how);
        http_client c = http_connect(s);
        http_ask(&c, "/health", NULL);
        http_expect(&c, 200, "ok");
        assert_int_equal(kill(getpid(), SIGHUP), 0);
        http_ask(&c, "/health", NULL);
        http_expect(&c, 200, "ok");
        assert_int_equal(kill(getpid(), ends[i]), 0);
        http_await(&s->done, 1);
        http_close(&c);
        http_stop(s);
    }
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

static int start_plain(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    plain = http_start(NULL);
    return 0;
}

static int stop_plain(void **state)
{
    (void)state;
    http_stop(plain);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_request_ids_differ),
        cmocka_unit_test(test_http_1_0),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_pipelining),
        cmocka_unit_test(test_pipelining_without_reading),
        cmocka_unit_test(test_chunked_bodies),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_limits_of_the_head),
        cmocka_unit_test(test_large_body),
        cmocka_unit_test(test_body_at_its_limit),
        cmocka_unit_test(test_slow_requests),
        cmocka_unit_test(test_slow_answers_are_waited_for),
        cmocka_unit_test(test_client_that_does_not_read),
        cmocka_unit_test(test_pings),
        cmocka_unit_test(test_leaving_is_noticed),
        cmocka_unit_test(test_leaving_before_the_request_is_whole),
        cmocka_unit_test(test_answer_after_half_close),
        cmocka_unit_test(test_on_gone_told_late),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_idle_connections_are_cheap),
        cmocka_unit_test(test_many_clients),
        cmocka_unit_test(test_draining),
        cmocka_unit_test(test_draining_gives_up),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests(tests, start_plain, stop_plain);
}
