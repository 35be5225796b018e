#include <stdio.h>
#include <time.h>

#include "app/server/http/own.h"
#include "core/os.h"

static const char *phrase(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } known[] = {
        { 200, "OK" },
        { 204, "No Content" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 411, "Length Required" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 417, "Expectation Failed" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].status == status)
            return known[i].phrase;
    }
    return "";
}

static void add(struct evbuffer *to, const char *text)
{
    (void)evbuffer_add(to, text, strlen(text));
}

static void add_date(struct evbuffer *to)
{
    char date[40];
    struct tm now;
    const time_t t = time(NULL);
    if (gmtime_r(&t, &now) && strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &now))
        (void)evbuffer_add_printf(to, "Date: %s\r\n", date);
}

/* Pages of other origins may read only what they were allowed to. */
static void add_origin(struct evbuffer *to, const vug_http *http, vug_str origin)
{
    if (http->opt.origins.n)
        add(to, "Vary: Origin\r\n");
    if (!origin.ptr)
        return;
    add(to, "Access-Control-Allow-Origin: ");
    (void)evbuffer_add(to, origin.ptr, origin.len);
    add(to, "\r\nAccess-Control-Expose-Headers: x-request-id, retry-after\r\n");
}

/* A stream of HTTP/1.0 is as long as its connection. */
static void say_head(vug_http_conn *conn, const vug_http_call *call, size_t length)
{
    struct evbuffer *to = bufferevent_get_output(conn->io);
    const bool old = call->request.minor == 0;
    conn->said_head = true;
    conn->stream = call->begun;
    conn->keep = call->keep_alive && !conn->overrun && !vug_http_draining(conn->http) &&
                 !(conn->stream && old);
    (void)evbuffer_add_printf(to, "HTTP/1.1 %d %s\r\n", call->status, phrase(call->status));
    add_date(to);
    if (call->status != 204)
        (void)evbuffer_add_printf(to, "Content-Type: %s\r\n",
                                  call->type ? call->type : "application/json");
    if (conn->stream && !old)
        add(to, "Transfer-Encoding: chunked\r\n");
    else if (!conn->stream && call->status != 204)
        (void)evbuffer_add_printf(to, "Content-Length: %zu\r\n", length);
    (void)evbuffer_add_printf(to, "x-request-id: %s\r\n", call->id);
    add_origin(to, conn->http, call->origin);
    if (call->headers)
        add(to, call->headers);
    if (!conn->keep)
        add(to, "Connection: close\r\n");
    else if (old)
        add(to, "Connection: keep-alive\r\n");
    add(to, "\r\n");
}

static void release(const void *bytes, size_t n, void *arg)
{
    (void)bytes, (void)n;
    vug_free(arg);
}

/* Takes the bytes. */
static void add_bytes(struct evbuffer *to, vug_buf *bytes)
{
    if (bytes->len < 1024 ||
        evbuffer_add_reference(to, bytes->ptr, bytes->len, release, bytes->ptr) != 0) {
        if (bytes->len)
            (void)evbuffer_add(to, bytes->ptr, bytes->len);
        vug_buf_release(bytes);
    }
    *bytes = (vug_buf){ 0 };
}

static void add_chunk(const vug_http_conn *conn, const vug_http_call *call, vug_buf *bytes)
{
    struct evbuffer *to = bufferevent_get_output(conn->io);
    const bool chunked = call->request.minor == 1;
    if (chunked)
        (void)evbuffer_add_printf(to, "%zx\r\n", bytes->len);
    add_bytes(to, bytes);
    if (chunked)
        add(to, "\r\n");
}

void vug_http_send_ping(vug_http_conn *conn)
{
    vug_buf ping = { 0 };
    vug_buf_puts(&ping, ": ping\n\n");
    if (ping.bad || vug_http_conn_unsent(conn))
        vug_buf_release(&ping); /* what is on its way breaks the silence */
    else
        add_chunk(conn, conn->call, &ping);
    conn->spoke = vug_now();
}

/* ---- what a call has ready --------------------------------------------------------------- */

static void count(const vug_http_call *call, int status)
{
    vug_metrics *m = call->http->opt.metrics;
    char labels[160];
    (void)snprintf(labels, sizeof(labels), "route=\"%.100s\",status=\"%d\"",
                   call->route && *call->route->path ? call->route->path : "other", status);
    vug_metrics_add(m, VUG_METRIC_REQUESTS, labels, 1);
    vug_metrics_observe(m, VUG_METRIC_REQUEST_SECONDS, vug_now() - call->began);
}

static void finish(vug_http_call *call)
{
    vug_http_conn *conn = call->conn;
    vug_http *http = call->http;
    if (conn) {
        if (conn->stream && call->request.minor == 1)
            add(bufferevent_get_output(conn->io), "0\r\n\r\n");
        conn->call = NULL;
    }
    count(call, conn ? call->status : 499);
    http->n_calls--;
    vug_metrics_set(http->opt.metrics, VUG_METRIC_RUNNING, http->n_calls);
    vug_http_call_destroy(call);
    if (conn)
        vug_http_conn_next(conn, conn->keep);
}

static void send_to(vug_http_conn *conn, const vug_http_call *call, vug_buf *out)
{
    if (!conn->said_head)
        say_head(conn, call, out->len);
    if (conn->stream && out->len) {
        add_chunk(conn, call, out);
        conn->spoke = vug_now();
    } else if (!conn->stream && !vug_str_is(call->request.method, "HEAD")) {
        add_bytes(bufferevent_get_output(conn->io), out);
    }
    vug_http_conn_arm(conn);
}

void vug_http_send(vug_http_call *call)
{
    vug_http *http = call->http;
    vug_http_conn *conn = call->conn;
    vug_buf out = { 0 };
    (void)pthread_mutex_lock(&http->lock);
    /* Of an answer that is complete libevent gets all: its connection waits for its client, and
     * may have to make room for others. */
    const bool room = conn && (call->ended || vug_http_conn_unsent(conn) <= VUG_HTTP_MAX_PENDING);
    const bool full = call->begun && call->out.bad;
    const bool begun = call->begun || call->ended;
    if (room && !full) { /* and is counted again as what libevent has to send */
        atomic_fetch_sub(&http->held, call->out.len);
        out = call->out;
        call->out = (vug_buf){ .max = out.max };
    }
    const bool over = call->ended && !call->queued && (!conn || call->out.len == 0);
    (void)pthread_mutex_unlock(&http->lock);
    if (full && conn) { /* it reads more slowly than the model writes, by `max_unsent` */
        vug_http_conn_close(conn);
        return;
    }
    if (room && begun)
        send_to(conn, call, &out);
    vug_buf_release(&out);
    if (over)
        finish(call);
}
