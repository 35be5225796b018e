#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "core/os.h"
#include "server/http/internal.h"

static const double linger_s = 2; /* of silence */

/* ---- lists ------------------------------------------------------------------------------ */

static void list_remove(vug_http_list_node *node)
{
    if (!node->next)
        return;
    node->next->prev = node->prev;
    node->prev->next = node->next;
    *node = (vug_http_list_node){ 0 };
}

static void list_append(vug_http_list_node *list, vug_http_list_node *node)
{
    list_remove(node);
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

static vug_http_conn *from_all(vug_http_list_node *node)
{
    return (vug_http_conn *)(void *)((char *)node - offsetof(vug_http_conn, all));
}

static vug_http_conn *from_waiting(vug_http_list_node *node)
{
    return (vug_http_conn *)(void *)((char *)node - offsetof(vug_http_conn, waiting));
}

/* ---- deadlines -------------------------------------------------------------------------- */

size_t vug_http_conn_unsent(const vug_http_conn *conn)
{
    return evbuffer_get_length(bufferevent_get_output(conn->io));
}

/* INFINITY: the state has no time limit. */
static double state_deadline(const vug_http_conn *conn)
{
    const vug_http_options *opt = &conn->http->opt;
    switch (conn->state) {
    case VUG_HTTP_READING_HEAD:
        return conn->state_since + (conn->head_begun ? opt->head_s : opt->idle_s);
    case VUG_HTTP_READING_BODY:
        return conn->state_since + opt->body_s;
    case VUG_HTTP_LINGERING:
        return conn->read_closed
                       ? 0
                       : fmin(conn->last_progress + linger_s, conn->state_since + opt->body_s);
    case VUG_HTTP_RESPONDING:
    case VUG_HTTP_FLUSHING:
        break;
    }
    return INFINITY;
}

static double ping_deadline(const vug_http_conn *conn)
{
    const bool stream = conn->state == VUG_HTTP_RESPONDING && conn->stream;
    return stream ? conn->last_write + conn->http->opt.ping_s : INFINITY;
}

static double stall_deadline(const vug_http_conn *conn)
{
    return vug_http_conn_unsent(conn) ? conn->last_progress + conn->http->opt.stall_s : INFINITY;
}

void vug_http_conn_schedule_timer(vug_http_conn *conn)
{
    const double due = fmin(fmin(state_deadline(conn), ping_deadline(conn)), stall_deadline(conn));
    const double wait = fmax(0, fmin(due - vug_now(), 1e6));
    if (isinf(due)) {
        (void)evtimer_del(conn->timer);
    } else {
        const struct timeval tv = { (time_t)wait, (suseconds_t)(fmod(wait, 1) * 1e6) };
        (void)evtimer_add(conn->timer, &tv);
    }
}

vug_http_due vug_http_conn_due(const vug_http_conn *conn)
{
    const double now = vug_now();
    if (now >= stall_deadline(conn))
        return VUG_HTTP_STALLED;
    if (now >= ping_deadline(conn))
        return VUG_HTTP_PING_DUE;
    return now >= state_deadline(conn) ? VUG_HTTP_STATE_EXPIRED : VUG_HTTP_NOTHING_DUE;
}

/* ---- states ----------------------------------------------------------------------------- */

void vug_http_conn_set_state(vug_http_conn *conn, vug_http_conn_state state)
{
    conn->state = state;
    conn->state_since = vug_now();
    if (state == VUG_HTTP_RESPONDING)
        list_remove(&conn->waiting);
    else
        list_append(&conn->http->waiting, &conn->waiting);
    vug_http_conn_schedule_timer(conn);
}

void vug_http_conn_begin_response(vug_http_conn *conn)
{
    vug_http_request *request = conn->request;
    vug_http *http = conn->http;
    conn->headers_sent = false;
    conn->stream = false;
    vug_buf_release(&conn->head);
    request->conn = conn;
    request->received = conn->last_write = vug_now();
    http->n_running++;
    vug_metrics_set(http->opt.metrics, VUG_METRIC_RUNNING, http->n_running);
    vug_http_conn_set_state(conn, VUG_HTTP_RESPONDING);
}

void vug_http_conn_linger(vug_http_conn *conn)
{
    conn->last_progress = vug_now();
    vug_http_conn_set_state(conn, VUG_HTTP_LINGERING);
    vug_http_tls_finish(conn->io);
    (void)shutdown(bufferevent_getfd(conn->io), SHUT_WR);
}

void vug_http_conn_end_response(vug_http_conn *conn, bool keep_alive)
{
    conn->stream = false;
    conn->head_begun = false;
    if (keep_alive && !conn->read_closed && !conn->overrun)
        vug_http_conn_set_state(conn, VUG_HTTP_READING_HEAD);
    else if (vug_http_conn_unsent(conn))
        vug_http_conn_set_state(conn, VUG_HTTP_FLUSHING);
    else
        vug_http_conn_linger(conn);
}

/* ---- opening and closing ---------------------------------------------------------------- */

/* Over TLS, writing too may find that the client has closed; nothing more can be written then. */
static void on_end(struct bufferevent *io, short what, void *arg)
{
    vug_http_conn *conn = arg;
    (void)io;
    if (what & BEV_EVENT_CONNECTED)
        return;
    const bool client_finished = (what & BEV_EVENT_EOF) && (what & BEV_EVENT_READING);
    const bool may_flush = conn->state == VUG_HTTP_READING_HEAD || conn->state == VUG_HTTP_FLUSHING;
    conn->read_closed = true;
    if (client_finished && may_flush && vug_http_conn_unsent(conn))
        vug_http_conn_set_state(conn, VUG_HTTP_FLUSHING);
    else
        vug_http_conn_close(conn);
}

static void count_buffered(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg)
{
    vug_http *http = arg;
    (void)buffer;
    atomic_fetch_add(&http->buffered_bytes, info->n_added);
    atomic_fetch_sub(&http->buffered_bytes, info->n_deleted);
}

static void note_progress(struct evbuffer *out, const struct evbuffer_cb_info *info, void *arg)
{
    vug_http_conn *conn = arg;
    (void)out;
    if (info->n_deleted || !info->orig_size)
        conn->last_progress = vug_now();
}

/* In libevent's buffers. */
static size_t buffered_bytes(const vug_http_conn *conn)
{
    return evbuffer_get_length(bufferevent_get_input(conn->io)) + vug_http_conn_unsent(conn);
}

static void set_socket_options(evutil_socket_t fd, bool is_unix)
{
    const int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (!is_unix)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void vug_http_conn_open(vug_http *http, evutil_socket_t fd, bool is_unix,
                        const vug_http_conn_callbacks *callbacks)
{
    vug_http_conn *conn = NULL;
    if (http->n_connections < http->opt.max_connections ||
        vug_http_conn_evict(vug_http_conn_oldest_waiting(http, 0)))
        conn = vug_alloc_zero(1, sizeof(*conn));
    if (conn) {
        conn->http = http;
        conn->is_unix = is_unix;
        conn->timer = evtimer_new(http->base, callbacks->timeout, conn);
        if (conn->timer)
            conn->io = http->tls && !is_unix
                               ? vug_http_tls_accept(http, fd)
                               : bufferevent_socket_new(http->base, fd, BEV_OPT_CLOSE_ON_FREE);
    }
    if (!conn || !conn->io) {
        vug_metrics_add(http->opt.metrics, VUG_METRIC_REFUSED, NULL, 1);
        if (conn && conn->timer)
            event_free(conn->timer);
        vug_free(conn);
        (void)evutil_closesocket(fd);
        return;
    }
    set_socket_options(fd, is_unix);
    list_append(&http->connections, &conn->all);
    http->n_connections++;
    vug_metrics_set(http->opt.metrics, VUG_METRIC_CONNECTIONS, http->n_connections);
    (void)evbuffer_add_cb(bufferevent_get_output(conn->io), note_progress, conn);
    (void)evbuffer_add_cb(bufferevent_get_output(conn->io), count_buffered, http);
    (void)evbuffer_add_cb(bufferevent_get_input(conn->io), count_buffered, http);
    bufferevent_setcb(conn->io, callbacks->readable, callbacks->writable, on_end, conn);
    bufferevent_setwatermark(conn->io, EV_READ, 0, (size_t)2 * VUG_HTTP_MAX_PIPELINED);
    (void)bufferevent_enable(conn->io, EV_READ | EV_WRITE);
    vug_http_conn_set_state(conn, VUG_HTTP_READING_HEAD);
}

void vug_http_conn_close(vug_http_conn *conn)
{
    vug_http *http = conn->http;
    vug_http_request *request = conn->request;
    list_remove(&conn->all);
    list_remove(&conn->waiting);
    /* libevent may still use the buffers after this has returned. */
    (void)evbuffer_remove_cb(bufferevent_get_output(conn->io), note_progress, conn);
    (void)evbuffer_remove_cb(bufferevent_get_output(conn->io), count_buffered, http);
    (void)evbuffer_remove_cb(bufferevent_get_input(conn->io), count_buffered, http);
    atomic_fetch_sub(&http->buffered_bytes, buffered_bytes(conn));
    http->n_connections--;
    vug_metrics_set(http->opt.metrics, VUG_METRIC_CONNECTIONS, http->n_connections);
    if (request && conn->state == VUG_HTTP_RESPONDING) {
        vug_metrics_add(http->opt.metrics, VUG_METRIC_DISCONNECTED, NULL, 1);
        vug_http_request_detach(request);
    } else {
        vug_http_request_destroy(request); /* incomplete */
    }
    vug_buf_release(&conn->head);
    event_free(conn->timer);
    bufferevent_free(conn->io);
    vug_free(conn);
    if (vug_http_draining(http))
        event_active(http->wake, EV_READ, 0);
}

vug_http_conn *vug_http_conn_oldest_waiting(vug_http *http, size_t bytes)
{
    for (vug_http_list_node *n = http->waiting.next; n != &http->waiting; n = n->next) {
        vug_http_conn *conn = from_waiting(n);
        const size_t body = conn->request ? conn->request->body.cap : 0;
        if (body + buffered_bytes(conn) >= bytes)
            return conn;
    }
    return NULL;
}

bool vug_http_conn_evict(vug_http_conn *conn)
{
    if (!conn)
        return false;
    vug_metrics_add(conn->http->opt.metrics, VUG_METRIC_REFUSED, NULL, 1);
    vug_http_conn_close(conn);
    return true;
}

static bool is_idle(const vug_http_conn *conn)
{
    return conn->state == VUG_HTTP_READING_HEAD && !conn->head_begun && !vug_http_conn_unsent(conn);
}

void vug_http_close_connections(vug_http *http, bool only_idle)
{
    vug_http_list_node *next;
    for (vug_http_list_node *n = http->connections.next; n != &http->connections; n = next) {
        next = n->next;
        if (!only_idle || is_idle(from_all(n)))
            vug_http_conn_close(from_all(n));
    }
}

bool vug_http_has_busy_connection(const vug_http *http)
{
    for (vug_http_list_node *n = http->connections.next; n != &http->connections; n = n->next) {
        if (!is_idle(from_all(n)))
            return true;
    }
    return false;
}
