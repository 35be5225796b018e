#include "app/remote/link.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "app/interrupt.h"
#include "app/remote/heard.h"

enum {
    CONNECT_S = 15,         /* name, connection and TLS; an answer may take any time */
    LOOK_MS = 50,           /* how often Ctrl-C is looked for */
    MAX_REFUSAL = 64 << 10, /* bytes that are read of an error */
};
/* Bytes of one answer, with everything around its text. */
static const curl_off_t max_answer = (curl_off_t)256 << 20;

struct vug_link {
    vug_buf base;   /* without a slash at the end */
    char *name;     /* the URL as it was given */
    const char *ca; /* or NULL */
    char *socket;   /* of unix: */
    bool loopback;  /* no proxy is asked */
    CURLM *multi;
    struct curl_slist *headers;
};

/* ---- where ---------------------------------------------------------------------------- */

static bool is_loopback(vug_str host)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (vug_str_starts(host, names[i]) &&
            (host.len == strlen(names[i]) || host.ptr[strlen(names[i])] == ':'))
            return true;
    return false;
}

static bool is_clean(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

static vug_status set_url(vug_link *l, const char *url, vug_err *err)
{
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : NULL;
    if (strncmp(url, "unix:", 5) == 0 && url[5]) {
        l->socket = vug_strdup(url + 5);
        vug_buf_puts(&l->base, "http://localhost/v1");
        if (!l->socket)
            return VUG_FAIL_NOMEM(err, "a path", strlen(url));
        return vug_buf_ok(&l->base, err);
    }
    if (!host || !*host || *host == '/' || *host == ':' || strpbrk(url, "?#\\") || !is_clean(url))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "--url %s: expected http://HOST:PORT, https://HOST/v1 or unix:PATH", url);
    size_t len = strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    vug_buf_append(&l->base, url, len);
    if (!strchr(host, '/') || host + strcspn(host, "/") >= url + len)
        vug_buf_puts(&l->base, "/v1");
    l->loopback = is_loopback((vug_str){ host, strcspn(host, "/") });
    return vug_buf_ok(&l->base, err);
}

static vug_status add_header(vug_link *l, const char *text, vug_err *err)
{
    struct curl_slist *list = curl_slist_append(l->headers, text);
    if (!list)
        return VUG_FAIL_NOMEM(err, "a header", strlen(text));
    l->headers = list;
    return VUG_OK;
}

static vug_status set_headers(vug_link *l, const char *key, vug_err *err)
{
    VUG_TRY(add_header(l, "Content-Type: application/json", err));
    VUG_TRY(add_header(l, "Accept: text/event-stream, application/json", err));
    VUG_TRY(add_header(l, "Expect:", err)); /* the body goes along at once */
    if (!key)
        return VUG_OK;
    if (!is_clean(key) || !*key)
        return VUG_FAIL(err, VUG_ARGUMENT, "the API key has blanks or control characters in it");
    vug_buf line = { 0 };
    vug_buf_printf(&line, "Authorization: Bearer %s", key);
    vug_status st = vug_buf_ok(&line, err);
    if (st == VUG_OK)
        st = add_header(l, line.ptr, err);
    vug_buf_release(&line);
    return st;
}

vug_status vug_link_open(const char *url, const char *key, const char *ca, vug_link **out,
                         vug_err *err)
{
    vug_link *l = vug_alloc_zero(1, sizeof(*l));
    *out = NULL;
    if (!l)
        return VUG_FAIL_NOMEM(err, "a connection", sizeof(*l));
    l->name = vug_strdup(url);
    l->ca = ca;
    vug_status st = VUG_OK;
    if (!l->name)
        st = VUG_FAIL_NOMEM(err, "a name", strlen(url));
    else
        st = set_url(l, url, err);
    if (st == VUG_OK)
        st = set_headers(l, key, err);
    if (st == VUG_OK && (curl_global_init(CURL_GLOBAL_DEFAULT) || !(l->multi = curl_multi_init())))
        st = VUG_FAIL(err, VUG_NOMEM, "libcurl cannot be started");
    if (st != VUG_OK) {
        vug_link_close(l);
        return st;
    }
    *out = l;
    return VUG_OK;
}

void vug_link_close(vug_link *l)
{
    if (!l)
        return;
    if (l->multi)
        (void)curl_multi_cleanup(l->multi);
    curl_slist_free_all(l->headers);
    curl_global_cleanup();
    vug_buf_release(&l->base);
    vug_free(l->name);
    vug_free(l->socket);
    vug_free(l);
}

const char *vug_link_name(const vug_link *link)
{
    return link->name;
}

/* ---- one request ---------------------------------------------------------------------- */

typedef struct {
    vug_link *link;
    const vug_link_request *request;
    CURL *easy;
    vug_buf url, refusal;
    curl_off_t n; /* bytes that came */
    char text[CURL_ERROR_SIZE];
    vug_status st; /* of on_bytes */
    vug_err *err;
} exchange;

static long status_of(const exchange *x)
{
    long status = 0;
    (void)curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static bool is_stream(const exchange *x)
{
    const char *type = NULL;
    (void)curl_easy_getinfo(x->easy, CURLINFO_CONTENT_TYPE, &type);
    return type && strncmp(type, "text/event-stream", 17) == 0;
}

/* curl's: anything but the size ends the request. */
static size_t take(char *bytes, size_t one, size_t n, void *user)
{
    exchange *x = user;
    n *= one;
    x->n += (curl_off_t)n;
    if (x->n > max_answer) {
        x->st = VUG_FAIL(x->err, VUG_LIMIT, "%s: an answer of more than %lld MiB", x->link->name,
                         (long long)max_answer >> 20);
    } else if (status_of(x) != 200) {
        const size_t room = MAX_REFUSAL - x->refusal.len;
        vug_buf_append(&x->refusal, bytes, n < room ? n : room);
    } else {
        x->st = x->request->on_bytes((vug_str){ bytes, n }, is_stream(x), x->request->user, x->err);
    }
    return x->st == VUG_OK ? n : CURL_WRITEFUNC_ERROR;
}

static vug_status set_up(exchange *x, vug_err *err)
{
    const vug_link *l = x->link;
    CURL *e = x->easy;
    vug_buf_append(&x->url, l->base.ptr, l->base.len);
    vug_buf_puts(&x->url, x->request->path);
    VUG_TRY(vug_buf_ok(&x->url, err));
    bool bad = curl_easy_setopt(e, CURLOPT_URL, x->url.ptr) ||
               curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") ||
               curl_easy_setopt(e, CURLOPT_HTTPHEADER, l->headers) ||
               curl_easy_setopt(e, CURLOPT_USERAGENT, "vug/" VUG_VERSION) ||
               curl_easy_setopt(e, CURLOPT_ERRORBUFFER, x->text) ||
               curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take) ||
               curl_easy_setopt(e, CURLOPT_WRITEDATA, x) ||
               curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S) ||
               curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L) ||
               curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    if (x->request->body)
        bad = bad || curl_easy_setopt(e, CURLOPT_POST, 1L) ||
              curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->request->body_len) ||
              curl_easy_setopt(e, CURLOPT_POSTFIELDS, x->request->body);
    if (l->ca)
        bad = bad || curl_easy_setopt(e, CURLOPT_CAINFO, l->ca);
    if (l->socket)
        bad = bad || curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, l->socket);
    if (l->socket || l->loopback)
        bad = bad || curl_easy_setopt(e, CURLOPT_PROXY, "");
    return bad ? VUG_FAIL(err, VUG_NOMEM, "libcurl refuses an option") : VUG_OK;
}

/* Until it is over, or Ctrl-C comes, which is held back meanwhile. */
static vug_status transfer(exchange *x, CURLcode *result, vug_err *err)
{
    CURLM *m = x->link->multi;
    int running = 1, left = 0;
    while (running) {
        CURLMcode bad = curl_multi_perform(m, &running);
        if (!bad && running)
            bad = curl_multi_poll(m, NULL, 0, LOOK_MS, NULL);
        if (vug_interrupt_held())
            return VUG_FAIL(err, VUG_CANCELLED, "interrupted");
        if (bad)
            return VUG_FAIL(err, VUG_IO, "%s: %s", x->link->name, curl_multi_strerror(bad));
    }
    const CURLMsg *message = curl_multi_info_read(m, &left);
    *result = message ? message->data.result : CURLE_RECV_ERROR;
    return VUG_OK;
}

static vug_status judge(const exchange *x, CURLcode result, vug_err *err)
{
    char text[640];
    if (x->st != VUG_OK)
        return x->st;
    if (result == CURLE_COULDNT_CONNECT) {
        long why = 0;
        (void)curl_easy_getinfo(x->easy, CURLINFO_OS_ERRNO, &why);
        return VUG_FAIL(err, VUG_IO, "%s: no connection: %s", x->link->name,
                        why ? strerror((int)why) : x->text);
    }
    if (result != CURLE_OK)
        return VUG_FAIL(err, VUG_IO, "%s%s: %s", x->link->name,
                        x->n ? ": the answer broke off" : "",
                        x->text[0] ? x->text : curl_easy_strerror(result));
    const long status = status_of(x);
    if (status == 200)
        return VUG_OK;
    const vug_str refusal = { x->refusal.ptr ? x->refusal.ptr : "", x->refusal.len };
    const char *to = NULL;
    if (vug_heard_error(refusal, text, sizeof(text)))
        return VUG_FAIL(err, VUG_IO, "%s answers %ld: %s", x->link->name, status, text);
    (void)curl_easy_getinfo(x->easy, CURLINFO_REDIRECT_URL, &to);
    return VUG_FAIL(err, VUG_IO, "%s answers %ld to %s%s%s", x->link->name, status, x->url.ptr,
                    to ? ", which has moved to " : "", to ? to : "");
}

vug_status vug_link_ask(vug_link *l, const vug_link_request *request, vug_err *err)
{
    exchange x = { .link = l, .request = request, .easy = curl_easy_init(), .err = err };
    CURLcode result = CURLE_OK;
    if (!x.easy)
        return VUG_FAIL(err, VUG_NOMEM, "libcurl cannot begin a request");
    vug_interrupt_hold();
    vug_status st = set_up(&x, err);
    if (st == VUG_OK && curl_multi_add_handle(l->multi, x.easy))
        st = VUG_FAIL(err, VUG_NOMEM, "libcurl cannot begin a request");
    if (st == VUG_OK)
        st = transfer(&x, &result, err);
    if (st == VUG_OK)
        st = judge(&x, result, err);
    (void)curl_multi_remove_handle(l->multi, x.easy);
    curl_easy_cleanup(x.easy); /* closes the connection of one that goes on */
    vug_interrupt_release();
    vug_buf_release(&x.url);
    vug_buf_release(&x.refusal);
    return st;
}
