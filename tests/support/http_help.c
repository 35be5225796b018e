

#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/json.h"
#include "core/os.h"
#include "http_help.h"
#include "sanitized.h"

/* A step of pebble may be slow under sanitizers on a busy machine. */
enum { PATIENCE_MS = 60000, MAX_IN = 1 << 20 };

/* ---- toy routes ------------------------------------------------------------------------------ */

static void reply_text(vug_http_request *request, vug_str text)
{
    const vug_http_response_head head = { .type = "text/plain" };
    vug_buf body = { 0 };
    if (text.len)
        vug_buf_append(&body, text.ptr, text.len);
    vug_http_reply(request, &head, &body);
}

static void health(vug_http_request *request, void *user)
{
    const http_server *s = user;
    const bool draining = vug_http_draining(s->http);
    const vug_http_response_head head = { .status = draining ? 503 : 200, .type = "text/plain" };
    vug_buf body = { 0 };
    vug_buf_puts(&body, draining ? "draining" : "ok");
    vug_http_reply(request, &head, &body);
}

static void echo_path(vug_http_request *request, void *user)
{
    (void)user;
    reply_text(request, vug_http_path(request));
}

static void echo_rest(vug_http_request *request, void *user)
{
    (void)user;
    reply_text(request, vug_http_path_suffix(request));
}

static void echo_body(vug_http_request *request, void *user)
{
    (void)user;
    reply_text(request, vug_http_body(request));
}

static void big(vug_http_request *request, void *user)
{
    vug_buf body = { 0 };
    char line[64];
    (void)user;
    memset(line, 'x', sizeof(line));
    while (body.len < HTTP_BIG)
        vug_buf_append(&body, line, sizeof(line));
    vug_http_reply(request, NULL, &body);
}

void http_count(void *counter)
{
    atomic_fetch_add((atomic_int *)counter, 1);
}

static void keep(vug_http_request *request, http_server *s)
{
    vug_http_on_disconnect(request, http_count, &s->n_disconnected);
    const int at = atomic_load(&s->n_held);
    assert_in_range(at, 0, HTTP_MAX_HELD - 1);
    s->held[at] = request;
    atomic_fetch_add(&s->n_held, 1);
}

static void hold(vug_http_request *request, void *user)
{
    keep(request, user);
}

static void hold_stream(vug_http_request *request, void *user)
{
    vug_http_stream_begin(request, "x-toy: yes\r\n");
    keep(request, user);
}

static void stream(vug_http_request *request, void *user)
{
    const vug_str body = vug_http_body(request);
    const long n = body.len ? strtol(body.ptr, NULL, 10) : 0;
    (void)user;
    vug_http_stream_begin(request, NULL);
    for (long i = 0; i < n; i++) {
        char event[32];
        (void)snprintf(event, sizeof(event), "data: %ld\n\n", i);
        if (!vug_http_stream_event(request, vug_str_of(event)))
            break;
    }
    vug_http_stream_end(request);
}

/* Far more than sockets and max_unsent hold if the client does not read. */
static void gush(vug_http_request *request, void *user)
{
    http_server *s = user;
    char event[4096];
    int n = 0;
    memset(event, 'x', sizeof(event));
    vug_http_stream_begin(request, NULL);
    while (n < 1 << 18 && vug_http_stream_event(request, (vug_str){ event, sizeof(event) }))
        n++;
    s->unbounded = n == 1 << 18;
    vug_http_stream_end(request);
    atomic_fetch_add(&s->n_gushed, 1);
}

static void stay(vug_http_request *request, void *user)
{
    http_server *s = user;
    echo_body(request, user);
    http_wait_for(&s->may_return, 1);
    atomic_fetch_add(&s->n_stayed, 1);
}

/* The client is in this process: it disconnects just before the response. */
static void close_client(const vug_http_request *request)
{
    assert_int_equal(close((int)strtol(vug_http_body(request).ptr, NULL, 10)), 0);
}

static void hang_up(vug_http_request *request, void *user)
{
    char text[4096];
    (void)user;
    close_client(request);
    memset(text, 'x', sizeof(text));
    reply_text(request, (vug_str){ text, sizeof(text) });
}

static void hang_up_stream(vug_http_request *request, void *user)
{
    char event[4096];
    close_client(request);
    memset(event, 'x', sizeof(event));
    vug_http_stream_begin(request, NULL);
    (void)vug_http_stream_event(request, (vug_str){ event, sizeof(event) });
    keep(request, user);
}

static const vug_http_route routes[] = {
    { VUG_HTTP_GET, "/health", VUG_HTTP_PUBLIC, health },
    { VUG_HTTP_GET, "/echo", 0, echo_path },
    { VUG_HTTP_GET, "/named/", VUG_HTTP_PREFIX, echo_rest },
    { VUG_HTTP_GET, "/big", VUG_HTTP_QUEUED, big },
    { VUG_HTTP_POST, "/echo", 0, echo_body },
    { VUG_HTTP_POST, "/queued-echo", VUG_HTTP_QUEUED, echo_body },
    { VUG_HTTP_POST, "/hold", 0, hold },
    { VUG_HTTP_POST, "/held-stream", 0, hold_stream },
    { VUG_HTTP_POST, "/stream", VUG_HTTP_QUEUED, stream },
    { VUG_HTTP_POST, "/gush", VUG_HTTP_QUEUED, gush },
    { VUG_HTTP_POST, "/stay", VUG_HTTP_QUEUED, stay },
    { VUG_HTTP_POST, "/hang-up", 0, hang_up },
    { VUG_HTTP_POST, "/hang-up-stream", 0, hang_up_stream },
};

/* ---- the server --------------------------------------------------------------------- */

static void *run(void *arg)
{
    http_server *s = arg;
    vug_err err;
    if (vug_http_run(s->http, &err) != VUG_OK)
        (void)fprintf(stderr, "%s\n", err.msg);
    atomic_store(&s->done, 1);
    return NULL;
}

http_server *http_listen(const vug_http_options *options)
{
    vug_http_options how = options ? *options : (vug_http_options){ 0 };
    vug_err err = { 0 };
    http_server *s = vug_alloc_zero(1, sizeof(*s));
    assert_non_null(s);
    assert_int_equal(vug_metrics_create(&s->metrics, &err), VUG_OK);
    how.metrics = s->metrics;
    if (vug_http_open(&how, routes, sizeof(routes) / sizeof(routes[0]), s, &s->http, &err) !=
        VUG_OK)
        fail_msg("%s", err.msg);
    const char *colon = strrchr(vug_http_address(s->http, 0), ':');
    s->port = (int)strtol(colon + 1, NULL, 10);
    return s;
}

void http_run(http_server *s)
{
    assert_int_equal(pthread_create(&s->thread, NULL, run, s), 0);
}

http_server *http_start(const vug_http_options *options)
{
    http_server *s = http_listen(options);
    http_run(s);
    return s;
}

void http_stop(http_server *s)
{
    if (!vug_http_draining(s->http))
        vug_http_drain(s->http);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    vug_http_close(s->http);
    vug_metrics_destroy(s->metrics);
    vug_free(s);
}

static void pause_ms(void)
{
    const struct timespec ms = { 0, 1000000 };
    (void)nanosleep(&ms, NULL);
}

void http_wait_for(atomic_int *what, int n)
{
    for (int i = 0; i < PATIENCE_MS && atomic_load(what) < n; i++)
        pause_ms();
    assert_true(atomic_load(what) >= n);
}

void http_wait_for_connections(const http_server *s, int n)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (vug_metrics_get(s->metrics, VUG_METRIC_CONNECTIONS, NULL) <= n)
            return;
        pause_ms();
    }
    fail_msg("there are more than %d connections", n);
}

/* ---- the client --------------------------------------------------------------------- */

http_client http_connect(const http_server *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)s->port) };
    http_client c = { .fd = socket(AF_INET, SOCK_STREAM, 0) };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(c.fd >= 0);
    if (connect(c.fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        fail_msg("127.0.0.1, port %d: %s", s->port, strerror(errno));
    return c;
}

bool http_send_bytes(http_client *c, const void *bytes, size_t n)
{
    for (size_t sent = 0; sent < n;) {
        const ssize_t now = send(c->fd, (const char *)bytes + sent, n - sent, MSG_NOSIGNAL);
        if (now <= 0)
            return false;
        sent += (size_t)now;
    }
    return true;
}

void http_send_text(http_client *c, const char *text)
{
    assert_true(http_send_bytes(c, text, strlen(text)));
}

void http_send_request(http_client *c, const char *path, const char *body)
{
    char head[512];
    const int n =
            body ? snprintf(head, sizeof(head),
                            "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n"
                            "Content-Type: application/json\r\n\r\n",
                            path, strlen(body))
                 : snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    assert_in_range(n, 1, sizeof(head) - 1);
    http_send_text(c, head);
    if (body)
        http_send_text(c, body);
}

void http_close(http_client *c)
{
    vug_buf_release(&c->in);
    assert_int_equal(close(c->fd), 0);
    c->fd = -1;
}

/* False at the end, also when the server has reset the connection. */
static bool more(http_client *c)
{
    char bytes[65536];
    struct pollfd p = { .fd = c->fd, .events = POLLIN };
    if (poll(&p, 1, PATIENCE_MS) != 1)
        fail_msg("nothing came for %d ms after: %.200s", PATIENCE_MS, c->in.ptr ? c->in.ptr : "");
    const ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);
    if (n <= 0)
        return false;
    vug_buf_append(&c->in, bytes, (size_t)n);
    assert_false(c->in.bad);
    return true;
}

static void drop(http_client *c, size_t n)
{
    memmove(c->in.ptr, c->in.ptr + n, c->in.len - n + 1);
    c->in.len -= n;
}

void http_expect_end(http_client *c)
{
    while (more(c))
        continue;
    if (c->in.len)
        fail_msg("unexpected: %.300s", c->in.ptr);
}

void http_expect_text(http_client *c, const char *text)
{
    const char *at;
    while (!c->in.ptr || !(at = strstr(c->in.ptr, text))) {
        if (c->in.len > MAX_IN || !more(c))
            fail_msg("no '%s' in: %.500s", text, c->in.ptr ? c->in.ptr : "");
    }
    drop(c, (size_t)(at - c->in.ptr) + strlen(text));
}

/* ---- answers ------------------------------------------------------------------------ */

static void take(http_client *c, size_t n, vug_buf *to)
{
    while (c->in.len < n)
        assert_true(more(c));
    vug_buf_append(to, c->in.ptr, n);
    drop(c, n);
}

static void take_line(http_client *c, char *line, size_t size)
{
    const char *at;
    while (!c->in.ptr || !(at = strstr(c->in.ptr, "\r\n")))
        assert_true(more(c));
    const size_t n = (size_t)(at - c->in.ptr);
    assert_true(n < size);
    memcpy(line, c->in.ptr, n);
    line[n] = '\0';
    drop(c, n + 2);
}

static void take_chunks(http_client *c, vug_buf *to)
{
    char line[64];
    for (;;) {
        take_line(c, line, sizeof(line));
        const size_t n = strtoul(line, NULL, 16);
        if (n)
            take(c, n, to);
        take_line(c, line, sizeof(line));
        assert_string_equal(line, "");
        if (!n)
            return;
    }
}

static const char *find_header(const http_response *a, const char *name)
{
    const size_t n = strlen(name);
    if (!a->head.ptr)
        return NULL;
    for (const char *at = strstr(a->head.ptr, "\r\n"); at; at = strstr(at + 2, "\r\n")) {
        if (strncasecmp(at + 2, name, n) == 0 && at[2 + n] == ':')
            return at + 2 + n + 1 + strspn(at + 2 + n + 1, " ");
    }
    return NULL;
}

bool http_has_header(const http_response *a, const char *name)
{
    return find_header(a, name) != NULL;
}

bool http_header_is(const http_response *a, const char *name, const char *value)
{
    const char *at = find_header(a, name);
    const size_t n = strlen(value);
    return at && strncmp(at, value, n) == 0 && strncmp(at + n, "\r\n", 2) == 0;
}

http_response http_read_response(http_client *c, bool has_body)
{
    http_response a = { 0 };
    vug_buf head = { 0 }, body = { 0 };
    const char *end;
    while (!c->in.ptr || !(end = strstr(c->in.ptr, "\r\n\r\n"))) {
        if (!more(c))
            return a;
    }
    take(c, (size_t)(end - c->in.ptr) + 4, &head);
    assert_int_equal(vug_buf_take(&head, &a.head, NULL), VUG_OK);
    assert_int_equal(strncmp(a.head.ptr, "HTTP/1.1 ", 9), 0);
    a.status = (int)strtol(a.head.ptr + 9, NULL, 10);
    const char *length = find_header(&a, "content-length");
    if (has_body && length)
        take(c, strtoul(length, NULL, 10), &body);
    else if (has_body && http_header_is(&a, "transfer-encoding", "chunked"))
        take_chunks(c, &body);
    vug_buf_append(&body, "", 0);
    assert_int_equal(vug_buf_take(&body, &a.body, NULL), VUG_OK);
    return a;
}

void http_response_release(http_response *a)
{
    vug_text_release(&a->head);
    vug_text_release(&a->body);
}

void http_expect(http_client *c, int status, const char *part)
{
    http_response a = http_read_response(c, true);
    const char *text = a.body.ptr ? a.body.ptr : "";
    if (a.status != status || (part && !strstr(text, part)))
        fail_msg("expected %d with '%s', got %d: %.300s", status, part ? part : "", a.status, text);
    http_response_release(&a);
}

void http_check_error(const http_response *a, int status, const char *type, const char *code)
{
    const vug_jv *root;
    vug_arena arena = { 0 };
    vug_err err;
    assert_non_null(a->body.ptr);
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

void http_expect_error(http_client *c, int status)
{
    http_response a = http_read_response(c, true);
    http_check_error(&a, status, "invalid_request_error", NULL);
    http_response_release(&a);
}

void http_expect_grown_less(uint64_t before, uint64_t most)
{
    const uint64_t now = vug_memory_resident();
    if (!SANITIZED && now >= before + most)
        fail_msg("%llu bytes more", (unsigned long long)(now - before));
}

/* ---- TLS ------------------------------------------------------------------------------------- */

void http_write_certificate(const char *cert, const char *key)
{
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *x = X509_new();
    assert_non_null(pair);
    assert_non_null(x);
    assert_int_equal(X509_set_version(x, 2), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), -3600));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), 3600));
    assert_int_equal(X509_set_pubkey(x, pair), 1);
    X509_NAME *name = X509_get_subject_name(x);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                                (const unsigned char *)"localhost", -1, -1, 0),
                     1);
    assert_int_equal(X509_set_issuer_name(x, name), 1);
    assert_true(X509_sign(x, pair, EVP_sha256()) > 0);
    FILE *file = fopen(cert, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, x), 1);
    assert_int_equal(fclose(file), 0);
    file = fopen(key, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, pair, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
    X509_free(x);
    EVP_PKEY_free(pair);
}
