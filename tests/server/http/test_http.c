/*
 * HTTP: raw sockets against a server in a thread, with toy routes and short limits. Nothing
 * measures time; waits that last too long fail.
 */
#include "test.h"

#include <signal.h>
#include <sys/socket.h>

#include "core/os.h"
#include "http_help.h"

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"

static http_server *plain; /* shared by tests that change no option */

/* ---- valid requests ---------------------------------------------------------------------- */

static void test_responses(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_send_request(&c, "/health", NULL);
    http_response a = http_read_response(&c, true);
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body.ptr, "ok");
    assert_true(http_header_is(&a, "Content-Length", "2"));
    assert_true(http_header_is(&a, "Content-Type", "text/plain"));
    assert_true(http_has_header(&a, "Date"));
    assert_true(http_has_header(&a, "x-request-id"));
    assert_false(http_has_header(&a, "Connection"));
    assert_false(http_has_header(&a, "Access-Control-Allow-Origin"));
    http_response_release(&a);

    http_send_request(&c, "/named/a%3Fb?c=d%20e&f", NULL);
    http_expect(&c, 200, "a?b");
    http_send_request(&c, "/named/org%2Fmodel/x", NULL);
    http_expect(&c, 200, "org/model/x");
    http_send_request(&c, "/echo", "{\"a\": 1}");
    http_expect(&c, 200, "{\"a\": 1}");
    http_send_request(&c, "/queued-echo", "[]");
    http_expect(&c, 200, "[]");
    http_send_request(&c, "/echo", "");
    http_expect(&c, 200, "");
    http_send_text(&c, "GET http://127.0.0.1:1/echo?q HTTP/1.1\r\n" HOST "\r\n");
    http_expect(&c, 200, "/echo");
    http_send_text(&c, "\r\nGET /health HTTP/1.1\r\nhOST:\tLocalhost:99 \r\n\r\n");
    http_expect(&c, 200, "ok");

    http_send_text(&c, "HEAD /health HTTP/1.1\r\n" HOST "\r\n");
    a = http_read_response(&c, false);
    assert_int_equal(a.status, 200);
    assert_true(http_header_is(&a, "Content-Length", "2"));
    http_response_release(&a);
    http_send_request(&c, "/health", NULL);
    http_expect(&c, 200, "ok");

    /* Errors for HEAD have no body either, and the connection stays open. */
    static const char *const refused[] = { "Host: evil.example\r\n", HOST "Content-Length: 0\r\n" };
    for (int i = 0; i < 2; i++) {
        http_send_text(&c, i ? "HEAD /nowhere HTTP/1.1\r\n" : "HEAD /health HTTP/1.1\r\n");
        http_send_text(&c, refused[i]);
        http_send_text(&c, "\r\n");
        a = http_read_response(&c, false);
        assert_int_equal(a.status, i ? 404 : 403);
        http_response_release(&a);
    }
    http_client bad = http_connect(plain);
    http_send_text(&bad, "HEAD /health HTTP/1.1\r\nno colon\r\n\r\n");
    a = http_read_response(&bad, false);
    assert_int_equal(a.status, 400);
    http_response_release(&a);
    http_expect_end(&bad);
    http_close(&bad);

    http_send_text(&c,
                   "GET /health HTTP/1.1\r\n" HOST "Connection: x\r\nConnection: y, Close\r\n\r\n");
    a = http_read_response(&c, true);
    assert_true(http_header_is(&a, "Connection", "close"));
    http_response_release(&a);
    http_expect_end(&c);
    http_close(&c);
}

static void test_request_ids_differ(void **state)
{
    char first[64] = "";
    (void)state;
    http_client c = http_connect(plain);
    for (int i = 0; i < 2; i++) {
        http_send_request(&c, "/health", NULL);
        http_response a = http_read_response(&c, true);
        const char *id = strstr(a.head.ptr, "x-request-id: req_");
        assert_non_null(id);
        assert_int_not_equal(strncmp(first, id, 48), 0);
        (void)snprintf(first, sizeof(first), "%.48s", id);
        http_response_release(&a);
    }
    http_close(&c);
}

static void test_http_1_0(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_send_text(&c, "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    http_response a = http_read_response(&c, true);
    assert_int_equal(a.status, 200);
    assert_true(http_header_is(&a, "Connection", "keep-alive"));
    http_response_release(&a);
    http_send_text(&c, "GET /health HTTP/1.0\r\n\r\n");
    http_expect(&c, 200, "ok");
    http_expect_end(&c);
    http_close(&c);

    /* A stream without chunks ends with the connection. */
    c = http_connect(plain);
    http_send_text(&c, "POST /stream HTTP/1.0\r\nContent-Length: 1\r\n\r\n2");
    a = http_read_response(&c, false);
    assert_false(http_has_header(&a, "Transfer-Encoding"));
    http_response_release(&a);
    http_expect_text(&c, "data: 0\n\ndata: 1\n\n");
    http_expect_end(&c);
    http_close(&c);
}

static void test_stream(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_send_request(&c, "/stream", "1000");
    http_response a = http_read_response(&c, true);
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
    http_response_release(&a);
    http_send_request(&c, "/health", NULL); /* the connection stays open */
    http_expect(&c, 200, "ok");
    http_close(&c);
}

/* A hundred requests of three kinds, sent in one write, are answered in order. */
static void test_pipelining(void **state)
{
    vug_buf all = { 0 };
    (void)state;
    http_client c = http_connect(plain);
    for (int i = 0; i < 100; i++) {
        if (i % 3 == 0)
            vug_buf_printf(&all, "GET /named/%d HTTP/1.1\r\n" HOST "\r\n", i);
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

/* More pipelined requests than are buffered, with large responses: none is lost. */
static void test_pipelining_without_reading(void **state)
{
    vug_buf all = { 0 };
    (void)state;
    http_client c = http_connect(plain);
    for (int i = 0; i < 4; i++)
        vug_buf_puts(&all, "GET /big HTTP/1.1\r\n" HOST "\r\n");
    assert_true(http_send_bytes(&c, all.ptr, all.len));
    for (int i = 0; i < 4; i++) {
        http_response a = http_read_response(&c, true);
        assert_int_equal(a.body.len, HTTP_BIG);
        http_response_release(&a);
    }
    vug_buf_release(&all);
    http_close(&c);
}

static void test_chunked_bodies(void **state)
{
    static const char text[] =
            "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: Chunked\r\n\r\n"
            "4;ext=\"a\"\r\n[1, \r\n0002\r\n2]\r\n0\r\nTrailer: x: y\r\nOther:\r\n\r\n";
    (void)state;
    http_client c = http_connect(plain);
    http_send_text(&c, text);
    http_expect(&c, 200, "[1, 2]");
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        assert_true(http_send_bytes(&c, text + i, 1));
    http_expect(&c, 200, "[1, 2]");
    http_send_request(&c, "/health", NULL);
    http_expect(&c, 200, "ok");
    http_close(&c);
}

static void test_expect_continue(void **state)
{
    (void)state;
    http_client c = http_connect(plain);
    http_send_text(&c, "POST /echo HTTP/1.1\r\n" HOST JSON
                       "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    http_response a = http_read_response(&c, false);
    assert_int_equal(a.status, 100);
    http_response_release(&a);
    http_send_text(&c, "{}");
    http_expect(&c, 200, "{}");
    /* Rejections come before the body is sent. */
    http_send_text(&c, "POST /nowhere HTTP/1.1\r\n" HOST JSON
                       "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    http_expect(&c, 404, "/nowhere");
    http_expect_end(&c);
    http_close(&c);
}

/* ---- invalid requests ---------------------------------------------------------------------- */

typedef struct {
    int status;
    bool keep_alive;
    const char *request;
} rejected_request;

static const char bad_request[] = "invalid_request_error";

static const rejected_request refusals[] = {
    { 404, true, "GET / HTTP/1.1\r\n" HOST "\r\n" },
    { 404, true, "GET /healthy HTTP/1.1\r\n" HOST "\r\n" },
    { 404, true, "GET /named HTTP/1.1\r\n" HOST "\r\n" },
    { 404, false, "POST /x HTTP/1.1\r\n" HOST JSON "Content-Length: 5\r\n\r\n" },
    { 405, true, "DELETE /health HTTP/1.1\r\n" HOST "\r\n" },
    { 405, true, "GET /hold HTTP/1.1\r\n" HOST "\r\n" },
    { 405, false, "POST /health HTTP/1.1\r\n" HOST JSON "Content-Length: 1\r\n\r\n" },
    { 411, false, "POST /echo HTTP/1.1\r\n" HOST JSON "\r\n" }, /* a body may follow */
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
    { 400, false, "GET /health HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n" },
    { 501, false, "GET /health HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST "Authorization: a\r\nauthorization: b\r\n\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST "X-Api-Key: a\r\nX-API-Key: b\r\n\r\n" },
    { 400, false, "GET /health HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: b\r\n\r\n" },
    { 400, false, "POST /echo HTTP/1.1\r\n" HOST JSON JSON "Content-Length: 2\r\n\r\n{}" },
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
    { 400, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n0\r\nGET / " },
    { 400, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n0\r\na\r\n" },
    { 400, false,
      "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n0\r\n a: b\r\n" },
    { 400, false, "\x16\x03\x01\x02" }, /* TLS on a plain port */
};

static void test_malformed_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const rejected_request *r = &refusals[i];
        http_client c = http_connect(plain);
        http_send_text(&c, r->request);
        http_response a = http_read_response(&c, true);
        http_check_error(&a, r->status, r->status == 404 ? "not_found_error" : bad_request,
                         r->status == 405 ? "method_not_allowed" : NULL);
        assert_int_equal(http_header_is(&a, "Connection", "close"), !r->keep_alive);
        assert_int_equal(http_has_header(&a, "Allow"), r->status == 405);
        assert_true(http_has_header(&a, "x-request-id"));
        http_response_release(&a);
        if (r->keep_alive) {
            http_send_request(&c, "/health", NULL);
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

static void test_head_limits(void **state)
{
    static const struct {
        size_t n; /* of letters between them */
        int status;
        const char *before, *after;
    } cases[] = {
        { VUG_HTTP_MAX_TARGET - 8, 200, "GET /health?", " HTTP/1.1\r\n" HOST "\r\n" },
        { VUG_HTTP_MAX_TARGET - 7, 414, "GET /health?", " HTTP/1.1\r\n" HOST "\r\n" },
        { VUG_HTTP_MAX_HEAD, 414, "GET /health?", "" },
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
            http_expect_error(&c, cases[i].status);
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
            http_expect_error(&c, 431);
        else
            http_expect(&c, 200, "ok");
        http_close(&c);
        vug_buf_release(&text);
    }
}

/* A client that sends everything before it reads still gets the error. */
static void test_large_body(void **state)
{
    static const char zeros[1 << 20];
    const uint64_t before = vug_memory_resident();
    (void)state;
    http_client c = http_connect(plain);
    http_send_text(&c, "POST /echo HTTP/1.1\r\n" HOST JSON "Content-Length: 104857600\r\n\r\n");
    for (int i = 0; i < 100; i++)
        assert_true(http_send_bytes(&c, zeros, sizeof(zeros)));
    http_expect_error(&c, 413);
    http_expect_end(&c);
    http_close(&c);
    http_expect_grown_less(before, 8 << 20);
}

static void test_body_limit(void **state)
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
            http_expect_error(&c, 413);
        else
            http_expect(&c, 200, "aaaa");
        http_close(&c);
        c = http_connect(s);
        ask_with(&c,
                 "POST /echo HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n"
                 "3e7\r\n",
                 999, more ? "\r\n2\r\nbb\r\n0\r\n\r\n" : "\r\n1\r\nb\r\n0\r\n\r\n");
        if (more)
            http_expect_error(&c, 413);
        else
            http_expect(&c, 200, "ab");
        http_close(&c);
    }
    http_stop(s);
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
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_request_ids_differ),
        cmocka_unit_test(test_http_1_0),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_pipelining),
        cmocka_unit_test(test_pipelining_without_reading),
        cmocka_unit_test(test_chunked_bodies),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_malformed_requests),
        cmocka_unit_test(test_head_limits),
        cmocka_unit_test(test_large_body),
        cmocka_unit_test(test_body_limit),
    };
    return cmocka_run_group_tests(tests, start_plain, stop_plain);
}
