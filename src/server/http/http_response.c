#include <stdio.h>
#include <time.h>

#include "core/os.h"
#include "server/http/internal.h"

static const char *reason_phrase(int status)
{
    switch (status) {
#define X(id, code, phrase) \
    case VUG_HTTP_##id:     \
        return phrase;
        VUG_HTTP_STATUS_TABLE(X)
#undef X
    default:
        return "";
    }
}

static void add_text(struct evbuffer *to, const char *text)
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

static void add_cors_headers(struct evbuffer *to, const vug_http *http, vug_str origin)
{
    if (http->opt.origins.n)
        add_text(to, "Vary: Origin\r\n");
    if (!origin.ptr)
        return;
    add_text(to, "Access-Control-Allow-Origin: ");
    (void)evbuffer_add(to, origin.ptr, origin.len);
    add_text(to, "\r\nAccess-Control-Expose-Headers: x-request-id, retry-after, x-vug-warning\r\n");
}

/* An HTTP/1.0 stream ends with its connection. */
static void send_head(vug_http_conn *conn, const vug_http_request *request, size_t length)
{
    struct evbuffer *to = bufferevent_get_output(conn->io);
    const bool old = request->head.minor == 0;
    const bool has_content = request->status != VUG_HTTP_NO_CONTENT;
    conn->headers_sent = true;
    conn->stream = request->stream_begun;
    conn->keep_alive = request->keep_alive && !conn->overrun && !vug_http_draining(conn->http) &&
                       !(conn->stream && old);
    (void)evbuffer_add_printf(to, "HTTP/1.1 %d %s\r\n", request->status,
                              reason_phrase(request->status));
    add_date(to);
    if (has_content)
        (void)evbuffer_add_printf(to, "Content-Type: %s\r\n",
                                  request->type ? request->type : "application/json");
    if (conn->stream && !old)
        add_text(to, "Transfer-Encoding: chunked\r\n");
    else if (!conn->stream && has_content)
        (void)evbuffer_add_printf(to, "Content-Length: %zu\r\n", length);
    (void)evbuffer_add_printf(to, "x-request-id: %s\r\n", request->id);
    add_cors_headers(to, conn->http, request->allowed_origin);
    if (request->headers)
        add_text(to, request->headers);
    if (!conn->keep_alive)
        add_text(to, "Connection: close\r\n");
    else if (old)
        add_text(to, "Connection: keep-alive\r\n");
    add_text(to, "\r\n");
}

static void free_referenced(const void *bytes, size_t n, void *arg)
{
    (void)bytes, (void)n;
    vug_free(arg);
}

/* Takes the bytes. */
static void add_bytes(struct evbuffer *to, vug_buf *bytes)
{
    if (bytes->len < 1024 ||
        evbuffer_add_reference(to, bytes->ptr, bytes->len, free_referenced, bytes->ptr) != 0) {
        if (bytes->len)
            (void)evbuffer_add(to, bytes->ptr, bytes->len);
        vug_buf_release(bytes);
    }
    *bytes = (vug_buf){ 0 };
}

static void add_chunk(const vug_http_conn *conn, const vug_http_request *request, vug_buf *bytes)
{
    struct evbuffer *to = bufferevent_get_output(conn->io);
    const bool chunked = request->head.minor == 1;
    if (chunked)
        (void)evbuffer_add_printf(to, "%zx\r\n", bytes->len);
    add_bytes(to, bytes);
    if (chunked)
        add_text(to, "\r\n");
}

void vug_http_send_ping(vug_http_conn *conn)
{
    vug_buf ping = { 0 };
    vug_buf_puts(&ping, ": ping\n\n");
    if (ping.bad || vug_http_conn_unsent(conn))
        vug_buf_release(&ping); /* unsent bytes will show the client that we are alive */
    else
        add_chunk(conn, conn->request, &ping);
    conn->last_write = vug_now();
}

static void send_output(vug_http_conn *conn, const vug_http_request *request, vug_buf *out)
{
    if (!conn->headers_sent)
        send_head(conn, request, out->len);
    if (conn->stream && out->len) {
        add_chunk(conn, request, out);
        conn->last_write = vug_now();
    } else if (!conn->stream && !vug_str_is(request->head.method, "HEAD")) {
        add_bytes(bufferevent_get_output(conn->io), out);
    }
    vug_http_conn_schedule_timer(conn);
}

static bool finish_response(vug_http_request *request)
{
    vug_http_conn *conn = request->conn;
    if (!conn) {
        vug_http_request_finish(request, VUG_HTTP_CLIENT_CLOSED);
        return false;
    }
    if (conn->stream && request->head.minor == 1)
        add_text(bufferevent_get_output(conn->io), "0\r\n\r\n");
    conn->request = NULL;
    vug_http_request_finish(request, request->status);
    vug_http_conn_end_response(conn, conn->keep_alive);
    return true;
}

bool vug_http_send_response(vug_http_request *request)
{
    vug_http *http = request->http;
    vug_http_conn *conn = request->conn;
    vug_buf out = { 0 };
    (void)pthread_mutex_lock(&http->lock);
    /* libevent gets all of a complete response, so that its connection counts as waiting for its
     * client and can be evicted. */
    const bool room =
            conn && (request->ended || vug_http_conn_unsent(conn) <= VUG_HTTP_OUTPUT_HIGH_WATER);
    const bool full = request->stream_begun && request->out.bad;
    const bool begun = request->stream_begun || request->ended;
    if (room && !full) { /* libevent's buffer counts these bytes from now on */
        atomic_fetch_sub(&http->buffered_bytes, request->out.len);
        out = request->out;
        request->out = (vug_buf){ .max = out.max };
    }
    const bool complete =
            request->ended && !request->in_ready_list && (!conn || request->out.len == 0);
    (void)pthread_mutex_unlock(&http->lock);
    if (full && conn) { /* the client reads too slowly: more than `max_unsent` bytes wait */
        vug_http_conn_close(conn);
        return false;
    }
    if (room && begun)
        send_output(conn, request, &out);
    vug_buf_release(&out);
    return complete && finish_response(request);
}
