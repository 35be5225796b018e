/* Access: addresses, keys, the Host header, origins, TLS. */
#include "test.h"

#include <event2/event.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "http_help.h"
#include "scratch.h"

#define NAMES(...)                                                                                \
    {                                                                                             \
        (const char *[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *) \
    }

/* ---- addresses --------------------------------------------------------------------------- */

static void assert_refused(const vug_http_options *how, const char *part)
{
    vug_http *http = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_http_open(how, NULL, 0, NULL, &http, &err);
    if (st == VUG_OK || !strstr(err.msg, part))
        fail_msg("expected '%s', got: %s", part, st == VUG_OK ? "success" : err.msg);
}

static void assert_opens(const vug_http_options *how)
{
    vug_http *http = NULL;
    vug_err err = { 0 };
    if (vug_http_open(how, NULL, 0, NULL, &http, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    assert_non_null(vug_http_address(http, 0));
    assert_null(vug_http_address(http, 8));
    vug_http_close(http);
}

static void test_addresses(void **state)
{
    (void)state;
    http_server *s = http_start(NULL);
    assert_int_equal(strncmp(vug_http_address(s->http, 0), "http://127.0.0.1:", 17), 0);
    assert_refused(&(vug_http_options){ .port = s->port }, "already in use; choose another port");
    http_stop(s);
    assert_refused(&(vug_http_options){ .host = "0.0.0.0" }, "--api-key");
    assert_refused(&(vug_http_options){ .host = "::" }, "--insecure");
    assert_refused(&(vug_http_options){ .host = "no such host" }, "no such host");
    assert_opens(&(vug_http_options){ .host = "0.0.0.0", .insecure = true });
    assert_opens(&(vug_http_options){ .host = "0.0.0.0", .keys = NAMES("secret") });
    assert_opens(&(vug_http_options){ .host = "127.0.0.2" });
    assert_opens(&(vug_http_options){ .host = "localhost" });
}

/* ---- keys -------------------------------------------------------------------------------- */

static void ask(http_client *c, const char *method, const char *path, const char *headers)
{
    char text[2048];
    const int n = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
                           method, path, headers);
    assert_in_range(n, 1, sizeof(text) - 1);
    http_send_text(c, text);
}

static void test_keys(void **state)
{
    const scratch dir = scratch_make();
    scratch_puts(&dir, "keys", "# of two people\n\nfirst-key\r\nsecond-key");
    const scratch_path file = scratch_at(&dir, "keys");
    const vug_http_options how = { .keys = NAMES("third"), .key_file = file.path };
    static const struct {
        int status;
        const char *header;
    } cases[] = {
        { 200, "Authorization: Bearer first-key\r\n" },
        { 200, "authorization:  bearer second-key \r\n" },
        { 200, "Authorization: Bearer third\r\n" },
        { 200, "Authorization: Bearer  third\r\n" },
        { 200, "X-Api-Key: third\r\n" },
        { 200, "Authorization: Bearer third\r\nX-Api-Key: wrong\r\n" },
        { 401, "X-Api-Key: wrong\r\n" },
        { 401, "X-Api-Key: Bearer third\r\n" },
        { 401, "Authorization: Bearer wrong\r\nX-Api-Key: third\r\n" },
        { 401, "" },
        { 401, "Authorization: Bearer\r\n" },
        { 401, "Authorization: Bearer \r\n" },
        { 401, "Authorization: Bearer first-ke\r\n" },
        { 401, "Authorization: Bearer first-keys\r\n" },
        { 401, "Authorization: Bearer # of two people\r\n" },
        { 401, "Authorization: Basic third\r\n" },
        { 401, "Authorization: third\r\n" },
    };
    (void)state;
    http_server *s = http_start(&how);
    http_client c = http_connect(s);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ask(&c, "GET", "/echo", cases[i].header);
        http_response a = http_read_response(&c, true);
        assert_int_equal(a.status, cases[i].status);
        assert_int_equal(http_header_is(&a, "WWW-Authenticate", "Bearer"), a.status == 401);
        assert_int_equal(strstr(a.body.ptr, "\"type\":\"authentication_error\"") != NULL,
                         a.status == 401);
        http_response_release(&a);
    }
    ask(&c, "GET", "/health", ""); /* needs no key */
    http_expect(&c, 200, "ok");
    ask(&c, "GET", "/nowhere", ""); /* does not reveal which paths exist */
    http_expect(&c, 401, "API key");
    /* An overlong key is invalid and harmless. */
    char long_key[VUG_HTTP_MAX_KEY + 100] = "Authorization: Bearer ";
    memset(long_key + strlen(long_key), 'k', VUG_HTTP_MAX_KEY + 1);
    memcpy(long_key + strlen(long_key), "\r\n", 3);
    ask(&c, "GET", "/echo", long_key);
    http_expect(&c, 401, "not valid");
    http_close(&c);
    http_stop(s);

    scratch_puts(&dir, "none", "# nothing\n");
    const scratch_path none = scratch_at(&dir, "none"), gone = scratch_at(&dir, "gone");
    assert_refused(&(vug_http_options){ .key_file = none.path }, "contains no key");
    assert_refused(&(vug_http_options){ .key_file = gone.path }, gone.path);
    /* UTF-16 must not become a key of one letter. */
    static const char wide[] = "k\0e\0y\0\r\0\n\0";
    const scratch_path wide_file = scratch_at(&dir, "wide");
    scratch_write(&dir, "wide", wide, sizeof(wide) - 1);
    assert_refused(&(vug_http_options){ .key_file = wide_file.path }, "printable");
    assert_refused(&(vug_http_options){ .keys = NAMES("") }, "0 bytes");
    assert_refused(&(vug_http_options){ .keys = NAMES("a b") }, "printable");
    scratch_remove(&dir);
}

/* ---- the Host header ----------------------------------------------------------------------- */

static int status_for_host(http_client *c, const char *host)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "GET /health HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    http_send_text(c, text);
    http_response a = http_read_response(c, true);
    const int status = a.status;
    if (status == 403)
        assert_non_null(strstr(a.body.ptr, "\"type\":\"permission_error\""));
    http_response_release(&a);
    return status;
}

static void test_host(void **state)
{
    static const char *const fine[] = { "localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080",
                                        "[::1]" };
    static const char *const foreign[] = { "evil.example",
                                           "localhost.evil.example",
                                           "",
                                           "127.0.0.1.evil.example",
                                           "192.168.1.7",
                                           "[::2]",
                                           "evil.example:80#localhost",
                                           "[::1",
                                           "[::1]evil.example",
                                           "[::1]:x",
                                           "localhost:evil",
                                           "localhost:8080:8080",
                                           "user@localhost" };
    (void)state;
    http_server *s = http_start(NULL);
    http_client c = http_connect(s);
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
        assert_int_equal(status_for_host(&c, fine[i]), 200);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        assert_int_equal(status_for_host(&c, foreign[i]), 403);
    http_send_text(&c, "GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    http_expect(&c, 403, "evil.example");
    http_close(&c);
    http_stop(s);

    const vug_http_options named = { .hosts = NAMES("llm.example") };
    s = http_start(&named);
    c = http_connect(s);
    assert_int_equal(status_for_host(&c, "LLM.example:443"), 200);
    assert_int_equal(status_for_host(&c, "evil.example"), 403);
    /* The name in the error is valid for --allow-host. */
    http_send_text(&c, "GET /health HTTP/1.1\r\nHost: evil.example:80\r\n\r\n");
    http_expect(&c, 403, "'evil.example'");
    http_close(&c);
    http_stop(s);
    assert_refused(&(vug_http_options){ .hosts = NAMES("") }, "--allow-host");
    assert_refused(&(vug_http_options){ .hosts = NAMES("llm.example:8080") }, "without scheme");
    assert_refused(&(vug_http_options){ .hosts = NAMES("http://llm.example") }, "without scheme");
    assert_opens(&(vug_http_options){ .hosts = NAMES("llm.example", "fd00::1", "*") });

    /* Listening on all addresses: any address is accepted, names must still be listed. */
    const vug_http_options any = { .host = "0.0.0.0", .insecure = true };
    s = http_start(&any);
    c = http_connect(s);
    assert_int_equal(status_for_host(&c, "192.168.1.7:8080"), 200);
    assert_int_equal(status_for_host(&c, "evil.example"), 403);
    http_close(&c);
    http_stop(s);
}

/* ---- origins ------------------------------------------------------------------------------- */

#define PAGE   "Origin: http://page.example\r\n"
#define WANTS  "Access-Control-Request-Method: POST\r\n"
#define HEADER "Access-Control-Request-Headers: authorization,x-stainless-os\r\n"

static void test_origins_are_denied_by_default(void **state)
{
    (void)state;
    http_server *s = http_start(NULL);
    http_client c = http_connect(s);
    for (int i = 0; i < 2; i++) {
        ask(&c, i ? "GET" : "OPTIONS", i ? "/health" : "/echo", PAGE WANTS HEADER);
        http_response a = http_read_response(&c, true);
        assert_int_equal(a.status, i ? 200 : 204);
        assert_null(strstr(a.head.ptr, "Access-Control"));
        if (!i)
            assert_true(http_header_is(&a, "Allow", "GET, HEAD, POST, OPTIONS"));
        http_response_release(&a);
    }
    ask(&c, "OPTIONS", "*", "");
    http_expect(&c, 204, NULL);
    ask(&c, "OPTIONS", "/nowhere", "");
    http_expect(&c, 404, NULL);
    http_close(&c);
    http_stop(s);
}

static void test_origins(void **state)
{
    const vug_http_options how = { .origins = NAMES("http://page.example"), .keys = NAMES("key") };
    (void)state;
    http_server *s = http_start(&how);
    http_client c = http_connect(s);
    ask(&c, "OPTIONS", "/echo", PAGE WANTS HEADER); /* browsers send no key */
    http_response a = http_read_response(&c, true);
    assert_int_equal(a.status, 204);
    assert_true(http_header_is(&a, "Access-Control-Allow-Origin", "http://page.example"));
    assert_true(http_header_is(&a, "Access-Control-Allow-Headers", "authorization,x-stainless-os"));
    assert_true(http_header_is(&a, "Access-Control-Allow-Methods", "GET, POST"));
    assert_true(http_header_is(&a, "Vary", "Origin"));
    assert_false(http_has_header(&a, "Content-Length"));
    http_response_release(&a);
    ask(&c, "GET", "/echo", PAGE); /* errors can be read, too */
    a = http_read_response(&c, true);
    assert_int_equal(a.status, 401);
    assert_true(http_header_is(&a, "Access-Control-Allow-Origin", "http://page.example"));
    http_response_release(&a);
    static const char *const others[] = { "Origin: http://page.example.evil\r\n",
                                          "Origin: https://page.example\r\n", "Origin: null\r\n",
                                          "Origin: \r\n" };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ask(&c, "GET", "/health", others[i]);
        a = http_read_response(&c, true);
        assert_false(http_has_header(&a, "Access-Control-Allow-Origin"));
        assert_true(http_header_is(&a, "Vary", "Origin"));
        http_response_release(&a);
    }
    http_close(&c);
    http_stop(s);
    static const char *const none[] = { "", "page.example", "http://", "http://page.example/",
                                        "://page.example" };
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_refused(&(vug_http_options){ .origins = NAMES(none[i]) }, "--cors");
    assert_opens(&(vug_http_options){ .origins = NAMES("*", "null", "app://page") });
}

/* ---- unix sockets ---------------------------------------------------------------------------- */

static struct sockaddr_un unix_at(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const size_t n = strlen(path);
    assert_in_range(n, 1, sizeof(at.sun_path) - 1);
    memcpy(at.sun_path, path, n);
    return at;
}

static http_client connect_unix(const char *path)
{
    const struct sockaddr_un at = unix_at(path);
    http_client c = { .fd = socket(AF_UNIX, SOCK_STREAM, 0) };
    assert_int_equal(connect(c.fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    return c;
}

static void test_unix_socket(void **state)
{
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "sock"), file = scratch_at(&dir, "file");
    const vug_http_options how = { .unix_path = path.path, .no_tcp = true };
    struct stat info;
    (void)state;
    scratch_puts(&dir, "file", "not a socket");
    assert_refused(&(vug_http_options){ .unix_path = file.path }, "not a socket");
    char long_path[300];
    memset(long_path, 'a', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_refused(&(vug_http_options){ .unix_path = long_path }, "299 bytes");

    /* A killed process leaves its socket. */
    const struct sockaddr_un at = unix_at(path.path);
    const int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(stale, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(close(stale), 0);

    http_server *s = http_start(&how);
    assert_int_equal(lstat(path.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_refused(&how, "another server");
    http_client c = connect_unix(path.path);
    assert_int_equal(status_for_host(&c, "anything"), 200);
    http_send_request(&c, "/echo", "{}");
    http_expect(&c, 200, "{}");
    http_send_request(&c, "/hold", "{}");
    http_wait_for(&s->n_held, 1);
    http_close(&c);
    http_wait_for(&s->n_disconnected, 1);
    vug_buf none = { 0 };
    vug_http_reply(s->held[0], NULL, &none);
    http_stop(s);
    assert_int_not_equal(lstat(path.path, &info), 0);
    scratch_remove(&dir);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static SSL *handshake(SSL_CTX *ctx, const http_client *c)
{
    SSL *ssl = SSL_new(ctx);
    assert_non_null(ssl);
    assert_int_equal(SSL_set_fd(ssl, c->fd), 1);
    assert_int_equal(SSL_connect(ssl), 1);
    return ssl;
}

static void ask_tls(SSL *ssl, const char *request)
{
    assert_int_equal(SSL_write(ssl, request, (int)strlen(request)), (int)strlen(request));
}

/* Reads until `text` was received. */
static void expect_tls(SSL *ssl, const char *text)
{
    char got[8192] = "";
    size_t n = 0;
    while (!strstr(got, text)) {
        const int now = SSL_read(ssl, got + n, (int)(sizeof(got) - n - 1));
        if (now <= 0)
            fail_msg("no '%s' in: %s", text, got);
        n += (size_t)now;
        got[n] = '\0';
    }
}

static void test_tls(void **state)
{
    const scratch dir = scratch_make();
    const scratch_path cert = scratch_at(&dir, "cert.pem"), key = scratch_at(&dir, "key.pem");
    const scratch_path other = scratch_at(&dir, "other.pem"), gone = scratch_at(&dir, "gone.pem");
    (void)state;
    http_write_certificate(other.path, key.path);
    http_write_certificate(cert.path, key.path);
    assert_refused(&(vug_http_options){ .tls_cert = cert.path }, "--tls-key");
    assert_refused(&(vug_http_options){ .tls_cert = gone.path, .tls_key = key.path },
                   "gone.pem: cannot open: No such file");
    assert_refused(&(vug_http_options){ .tls_cert = cert.path, .tls_key = gone.path },
                   "gone.pem: cannot open: No such file");
    assert_refused(&(vug_http_options){ .tls_cert = key.path, .tls_key = key.path },
                   "key.pem: cannot be used as a PEM certificate");
    assert_refused(&(vug_http_options){ .tls_cert = cert.path, .tls_key = cert.path },
                   "cert.pem: cannot be used as a PEM private key");
    assert_refused(&(vug_http_options){ .tls_cert = other.path, .tls_key = key.path }, key.path);

    const vug_http_options how = { .tls_cert = cert.path, .tls_key = key.path, .stall_s = 0.3 };
    http_server *s = http_start(&how);
    assert_int_equal(strncmp(vug_http_address(s->http, 0), "https://127.0.0.1:", 18), 0);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    assert_non_null(ctx);
    http_client c = http_connect(s);
    SSL *ssl = handshake(ctx, &c);
    ask_tls(ssl, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect_tls(ssl, "\r\n\r\nok");
    const struct timespec pause = { 0, 600000000 };
    (void)nanosleep(&pause, NULL); /* idle for longer than stall_s */
    ask_tls(ssl, "POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n3");
    expect_tls(ssl, "data: 2\n\n\r\n0\r\n\r\n");
    ask_tls(ssl, "POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
    http_wait_for(&s->n_held, 1);
    SSL_free(ssl);
    http_close(&c); /* without a TLS close notice */
    http_wait_for(&s->n_disconnected, 1);
    vug_buf none = { 0 };
    vug_http_reply(s->held[0], NULL, &none);

    c = http_connect(s);
    ssl = handshake(ctx, &c);
    ask_tls(ssl, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    expect_tls(ssl, "\r\n\r\nok");
    char byte;
    assert_int_equal(SSL_read(ssl, &byte, 1), 0);
    assert_int_equal(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN);
    SSL_free(ssl);
    http_close(&c);

    c = http_connect(s); /* no TLS */
    http_send_text(&c, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    char reply[64];
    const ssize_t n = recv(c.fd, reply, sizeof(reply), 0);
    assert_true(n <= 0 || reply[0] != 'H');
    http_close(&c);
    SSL_CTX_free(ctx);
    http_stop(s);
    scratch_remove(&dir);
}

static void ask_to_hang_up(const http_server *s, SSL_CTX *ctx, const char *path)
{
    http_client c = http_connect(s);
    char request[256], body[16];
    SSL *ssl = handshake(ctx, &c);
    (void)snprintf(body, sizeof(body), "%d", c.fd);
    (void)snprintf(request, sizeof(request),
                   "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s", path,
                   strlen(body), body);
    ask_tls(ssl, request);
    SSL_free(ssl);
}

static double n_connections(const http_server *s)
{
    return vug_metrics_get(s->metrics, VUG_METRIC_CONNECTIONS, NULL);
}

/* The first piece of a long response is written before the disconnect is noticed. */
static void test_tls_client_disconnects(void **state)
{
    enum { ROUNDS = 4 };
    const scratch dir = scratch_make();
    const scratch_path cert = scratch_at(&dir, "cert.pem"), key = scratch_at(&dir, "key.pem");
    (void)state;
    http_write_certificate(cert.path, key.path);
    const vug_http_options how = { .tls_cert = cert.path, .tls_key = key.path, .stall_s = 3600 };
    http_server *s = http_start(&how);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    assert_non_null(ctx);
    /* Later versions send tickets, which would reset the connection if left unread. */
    assert_int_equal(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION), 1);
    for (int i = 0; i < ROUNDS; i++) {
        ask_to_hang_up(s, ctx, "/hang-up-stream");
        http_wait_for(&s->n_disconnected, i + 1);
        vug_http_stream_end(s->held[i]);
    }
    for (int i = 0; i < ROUNDS; i++)
        ask_to_hang_up(s, ctx, "/hang-up");
    const struct timespec ms = { 0, 1000000 };
    for (int i = 0; i < 10000 && n_connections(s) > 0; i++)
        (void)nanosleep(&ms, NULL);
    assert_true(n_connections(s) == 0);
    http_client c = http_connect(s); /* their memory is released exactly once */
    SSL *ssl = handshake(ctx, &c);
    ask_tls(ssl, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
    expect_tls(ssl, " 200 OK\r\n");
    SSL_free(ssl);
    http_close(&c);
    SSL_CTX_free(ctx);
    http_stop(s);
    scratch_remove(&dir);
}

/* Counts libevent's allocations down to the one that fails; none fails when negative. */
static atomic_int left_to_fail = -1;

static void *alloc_for_libevent(size_t n)
{
    return atomic_load(&left_to_fail) >= 0 && atomic_fetch_sub(&left_to_fail, 1) == 0 ? NULL
                                                                                      : malloc(n);
}

/* A connection without memory is closed; others are served. */
static void test_tls_out_of_memory(void **state)
{
    enum { ALLOCATIONS = 2 }; /* the timer and the connection; libevent handles later failures */
    const scratch dir = scratch_make();
    const scratch_path cert = scratch_at(&dir, "cert.pem"), key = scratch_at(&dir, "key.pem");
    (void)state;
    http_write_certificate(cert.path, key.path);
    http_server *s = http_start(&(vug_http_options){ .tls_cert = cert.path, .tls_key = key.path });
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    assert_non_null(ctx);
    for (int n = 0; n < ALLOCATIONS; n++) {
        char byte;
        http_client c = http_connect(s);
        SSL *ssl = handshake(ctx, &c);
        ask_tls(ssl, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
        expect_tls(ssl, "\r\n\r\nok"); /* the loop is idle now */
        atomic_store(&left_to_fail, n);
        http_client refused = http_connect(s);
        assert_true(recv(refused.fd, &byte, 1, 0) <= 0);
        assert_int_equal(atomic_load(&left_to_fail), -1);
        http_close(&refused);
        SSL_free(ssl);
        http_close(&c);
    }
    assert_true(vug_metrics_get(s->metrics, VUG_METRIC_REFUSED, NULL) == ALLOCATIONS);
    SSL_CTX_free(ctx);
    http_stop(s);
    scratch_remove(&dir);
}

int main(void)
{
    event_set_mem_functions(alloc_for_libevent, realloc, free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_origins_are_denied_by_default),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_client_disconnects),
        cmocka_unit_test(test_tls_out_of_memory),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
