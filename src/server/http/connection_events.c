#include "server/http/internal.h"

void vug_http_continue_response(vug_http_request *request)
{
    vug_http_conn *conn = request->conn;
    if (vug_http_send_response(request))
        vug_http_receive(conn);
}

static void on_readable(struct bufferevent *io, void *arg)
{
    (void)io;
    vug_http_receive(arg);
}

/* The output buffer is empty. */
static void on_writable(struct bufferevent *io, void *arg)
{
    vug_http_conn *conn = arg;
    (void)io;
    if (conn->state == VUG_HTTP_RESPONDING) {
        vug_http_continue_response(conn->request);
        return;
    }
    if (conn->state == VUG_HTTP_FLUSHING)
        vug_http_conn_linger(conn);
    else
        vug_http_receive(conn); /* which stops while too much is unsent */
    if (vug_http_draining(conn->http))
        event_active(conn->http->wake, EV_READ, 0);
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
    vug_http_conn *conn = arg;
    const bool in_head = conn->state == VUG_HTTP_READING_HEAD;
    (void)fd, (void)what;
    switch (vug_http_conn_due(conn)) {
    case VUG_HTTP_STALLED:
        vug_http_conn_close(conn);
        return;
    case VUG_HTTP_PING_DUE:
        vug_http_send_ping(conn);
        break;
    case VUG_HTTP_STATE_EXPIRED:
        if (conn->state == VUG_HTTP_LINGERING || (in_head && !conn->head_begun)) {
            vug_http_conn_close(conn);
            return;
        }
        vug_http_reject(conn, VUG_API_TIMEOUT, "The %s took longer than %g s to arrive.",
                        in_head ? "head of the request" : "body",
                        in_head ? conn->http->opt.head_s : conn->http->opt.body_s);
        break;
    case VUG_HTTP_NOTHING_DUE:
        break;
    }
    vug_http_conn_schedule_timer(conn);
}

void vug_http_accept(vug_http *http, evutil_socket_t fd, bool is_unix)
{
    static const vug_http_conn_callbacks callbacks = { on_readable, on_writable, on_timeout };
    vug_http_conn_open(http, fd, is_unix, &callbacks);
}
