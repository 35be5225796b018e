#include "cli/remote/http_client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/remote/completion_parser.h"

enum {
    CONNECT_S = 15,            /* for DNS, TCP and TLS; a response may take any time */
    POLL_MS = 50,              /* how often to check for Ctrl-C */
    MAX_ERROR_BODY = 64 << 10, /* bytes */
};
/* Bytes of a whole response body. */
static const curl_off_t max_response = (curl_off_t)256 << 20;

struct vug_http_client {
    vug_buf base;   /* URL without a final slash */
    char *name;     /* the URL as given */
    const char *ca; /* or NULL */
    char *socket;   /* path for unix: URLs, or NULL */
    bool loopback;  /* use no proxy */
    CURLM *multi;
    struct curl_slist *headers;
};

/* ---- server --------------------------------------------------------------------------- */

static bool is_loopback(vug_str host)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (vug_str_starts(host, names[i]) &&
            (host.len == strlen(names[i]) || host.ptr[strlen(names[i])] == ':'))
            return true;
    return false;
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

static vug_status set_url(vug_http_client *c, const char *url, vug_err *err)
{
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : NULL;
    if (strncmp(url, "unix:", 5) == 0 && url[5]) {
        c->socket = vug_strdup(url + 5);
        vug_buf_puts(&c->base, "http://localhost/v1");
        if (!c->socket)
            return VUG_FAIL_NOMEM(err, "a path", strlen(url));
        return vug_buf_ok(&c->base, err);
    }
    if (!host || !*host || *host == '/' || *host == ':' || strpbrk(url, "?#\\") ||
        !is_printable(url))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "--url %s: expected http://HOST:PORT, https://HOST/v1 or unix:PATH", url);
    size_t len = strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    vug_buf_append(&c->base, url, len);
    if (!strchr(host, '/') || host + strcspn(host, "/") >= url + len)
        vug_buf_puts(&c->base, "/v1");
    c->loopback = is_loopback((vug_str){ host, strcspn(host, "/") });
    return vug_buf_ok(&c->base, err);
}

static vug_status add_header(vug_http_client *c, const char *text, vug_err *err)
{
    struct curl_slist *list = curl_slist_append(c->headers, text);
    if (!list)
        return VUG_FAIL_NOMEM(err, "a header", strlen(text));
    c->headers = list;
    return VUG_OK;
}

static vug_status set_headers(vug_http_client *c, const char *key, vug_err *err)
{
    VUG_TRY(add_header(c, "Content-Type: application/json", err));
    VUG_TRY(add_header(c, "Accept: text/event-stream, application/json", err));
    VUG_TRY(add_header(c, "Expect:", err)); /* send the body without waiting */
    if (!key)
        return VUG_OK;
    if (!is_printable(key) || !*key)
        return VUG_FAIL(err, VUG_ARGUMENT, "the API key contains spaces or control characters");
    vug_buf line = { 0 };
    vug_buf_printf(&line, "Authorization: Bearer %s", key);
    vug_status st = vug_buf_ok(&line, err);
    if (st == VUG_OK)
        st = add_header(c, line.ptr, err);
    vug_buf_release(&line);
    return st;
}

vug_status vug_http_client_open(const char *url, const char *key, const char *ca,
                                vug_http_client **out, vug_err *err)
{
    vug_http_client *c = vug_alloc_zero(1, sizeof(*c));
    *out = NULL;
    if (!c)
        return VUG_FAIL_NOMEM(err, "a connection", sizeof(*c));
    c->name = vug_strdup(url);
    c->ca = ca;
    vug_status st = VUG_OK;
    if (!c->name)
        st = VUG_FAIL_NOMEM(err, "a name", strlen(url));
    else
        st = set_url(c, url, err);
    if (st == VUG_OK)
        st = set_headers(c, key, err);
    if (st == VUG_OK && (curl_global_init(CURL_GLOBAL_DEFAULT) || !(c->multi = curl_multi_init())))
        st = VUG_FAIL(err, VUG_NOMEM, "cannot initialise libcurl");
    if (st != VUG_OK) {
        vug_http_client_close(c);
        return st;
    }
    *out = c;
    return VUG_OK;
}

void vug_http_client_close(vug_http_client *c)
{
    if (!c)
        return;
    if (c->multi)
        (void)curl_multi_cleanup(c->multi);
    curl_slist_free_all(c->headers);
    curl_global_cleanup();
    vug_buf_release(&c->base);
    vug_free(c->name);
    vug_free(c->socket);
    vug_free(c);
}

const char *vug_http_client_name(const vug_http_client *client)
{
    return client->name;
}

/* ---- one request ---------------------------------------------------------------------- */

typedef struct {
    vug_http_client *client;
    const vug_http_client_request *request;
    CURL *easy;
    vug_buf url, error_body;
    curl_off_t n; /* bytes received */
    char curl_error[CURL_ERROR_SIZE];
    vug_status st; /* of on_bytes */
    vug_err *err;
} http_exchange;

static long response_status(const http_exchange *x)
{
    long status = 0;
    (void)curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static bool is_stream(const http_exchange *x)
{
    const char *type = NULL;
    (void)curl_easy_getinfo(x->easy, CURLINFO_CONTENT_TYPE, &type);
    return type && strncmp(type, "text/event-stream", 17) == 0;
}

/* A CURLOPT_WRITEFUNCTION. */
static size_t receive_bytes(char *bytes, size_t one, size_t n, void *user)
{
    http_exchange *x = user;
    n *= one;
    x->n += (curl_off_t)n;
    if (x->n > max_response) {
        x->st = VUG_FAIL(x->err, VUG_LIMIT, "%s: the response is larger than %lld MiB",
                         x->client->name, (long long)max_response >> 20);
    } else if (response_status(x) != 200) {
        const size_t room = MAX_ERROR_BODY - x->error_body.len;
        vug_buf_append(&x->error_body, bytes, n < room ? n : room);
    } else {
        x->st = x->request->on_bytes((vug_str){ bytes, n }, is_stream(x), x->request->user, x->err);
    }
    return x->st == VUG_OK ? n : CURL_WRITEFUNC_ERROR;
}

static vug_status set_curl_options(http_exchange *x, vug_err *err)
{
    const vug_http_client *c = x->client;
    CURL *e = x->easy;
    vug_buf_append(&x->url, c->base.ptr, c->base.len);
    vug_buf_puts(&x->url, x->request->path);
    VUG_TRY(vug_buf_ok(&x->url, err));
    bool bad = curl_easy_setopt(e, CURLOPT_URL, x->url.ptr) ||
               curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") ||
               curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->headers) ||
               curl_easy_setopt(e, CURLOPT_USERAGENT, "vug/" VUG_VERSION) ||
               curl_easy_setopt(e, CURLOPT_ERRORBUFFER, x->curl_error) ||
               curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, receive_bytes) ||
               curl_easy_setopt(e, CURLOPT_WRITEDATA, x) ||
               curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S) ||
               curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L) ||
               curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    if (x->request->body)
        bad = bad || curl_easy_setopt(e, CURLOPT_POST, 1L) ||
              curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->request->body_len) ||
              curl_easy_setopt(e, CURLOPT_POSTFIELDS, x->request->body);
    if (c->ca)
        bad = bad || curl_easy_setopt(e, CURLOPT_CAINFO, c->ca);
    if (c->socket)
        bad = bad || curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, c->socket);
    if (c->socket || c->loopback)
        bad = bad || curl_easy_setopt(e, CURLOPT_PROXY, "");
    return bad ? VUG_FAIL(err, VUG_NOMEM, "libcurl rejects an option") : VUG_OK;
}

/* Transfers until the end, or until Ctrl-C, which is blocked and polled meanwhile. */
static vug_status transfer(http_exchange *x, CURLcode *result, vug_err *err)
{
    CURLM *m = x->client->multi;
    int running = 1, left = 0;
    while (running) {
        CURLMcode bad = curl_multi_perform(m, &running);
        if (!bad && running)
            bad = curl_multi_poll(m, NULL, 0, POLL_MS, NULL);
        if (vug_interrupt_pending())
            return VUG_FAIL(err, VUG_CANCELLED, "interrupted");
        if (bad)
            return VUG_FAIL(err, VUG_IO, "%s: %s", x->client->name, curl_multi_strerror(bad));
    }
    const CURLMsg *message = curl_multi_info_read(m, &left);
    *result = message ? message->data.result : CURLE_RECV_ERROR;
    return VUG_OK;
}

static vug_status check_response(const http_exchange *x, CURLcode result, vug_err *err)
{
    char text[640];
    if (x->st != VUG_OK)
        return x->st;
    if (result == CURLE_COULDNT_CONNECT) {
        long why = 0;
        (void)curl_easy_getinfo(x->easy, CURLINFO_OS_ERRNO, &why);
        return VUG_FAIL(err, VUG_IO, "%s: cannot connect: %s", x->client->name,
                        why ? strerror((int)why) : x->curl_error);
    }
    if (result != CURLE_OK)
        return VUG_FAIL(err, VUG_IO, "%s%s: %s", x->client->name,
                        x->n ? ": the response ended early" : "",
                        x->curl_error[0] ? x->curl_error : curl_easy_strerror(result));
    const long status = response_status(x);
    if (status == 200)
        return VUG_OK;
    const vug_str body = { x->error_body.ptr ? x->error_body.ptr : "", x->error_body.len };
    const char *to = NULL;
    if (vug_parse_error_response(body, text, sizeof(text)))
        return VUG_FAIL(err, VUG_IO, "%s: HTTP status %ld: %s", x->client->name, status, text);
    (void)curl_easy_getinfo(x->easy, CURLINFO_REDIRECT_URL, &to);
    return VUG_FAIL(err, VUG_IO, "%s: HTTP status %ld for %s%s%s", x->client->name, status,
                    x->url.ptr, to ? ", which redirects to " : "", to ? to : "");
}

vug_status vug_http_client_perform(vug_http_client *c, const vug_http_client_request *request,
                                   vug_err *err)
{
    http_exchange x = { .client = c, .request = request, .easy = curl_easy_init(), .err = err };
    CURLcode result = CURLE_OK;
    if (!x.easy)
        return VUG_FAIL(err, VUG_NOMEM, "libcurl cannot start a request");
    vug_interrupt_block();
    vug_status st = set_curl_options(&x, err);
    if (st == VUG_OK && curl_multi_add_handle(c->multi, x.easy))
        st = VUG_FAIL(err, VUG_NOMEM, "libcurl cannot start a request");
    if (st == VUG_OK)
        st = transfer(&x, &result, err);
    if (st == VUG_OK)
        st = check_response(&x, result, err);
    (void)curl_multi_remove_handle(c->multi, x.easy);
    curl_easy_cleanup(x.easy); /* closes the connection of a cancelled request */
    vug_interrupt_unblock();
    vug_buf_release(&x.url);
    vug_buf_release(&x.error_body);
    return st;
}
