#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "app/server/http/own.h"
#include "core/os.h"

static const double linger_s = 2; /* of silence */

/* ---- lists ------------------------------------------------------------------------------ */

static void unlink_from(vug_http_link *l)
{
    if (!l->next)
        return;
    l->next->prev = l->prev;
    l->prev->next = l->next;
    *l = (vug_http_link){ 0 };
}

static void link_last(vug_http_link *list, vug_http_link *l)
{
    unlink_from(l);
    l->prev = list->prev;
    l->next = list;
    list->prev->next = l;
    list->prev = l;
}

static vug_http_conn *of_all(vug_http_link *l)
{
    return (vug_http_conn *)(void *)((char *)l - offsetof(vug_http_conn, all));
}

static vug_http_conn *of_waiting(vug_http_link *l)
{
    return (vug_http_conn *)(void *)((char *)l - offsetof(vug_http_conn, waiting));
}

/* ---- time ------------------------------------------------------------------------------- */

size_t vug_http_conn_unsent(const vug_http_conn *conn)
{
    return evbuffer_get_length(bufferevent_get_output(conn->io));
}

/* When the phase has lasted too long; INFINITY: whenever its call is ended. */
static double end_of_phase(const vug_http_conn *conn)
{
    const vug_http_options *opt = &conn->http->opt;
    switch (conn->phase) {
    case VUG_HTTP_HEAD:
        return conn->since + (conn->head_begun ? opt->head_s : opt->idle_s);
    case VUG_HTTP_BODY:
        return conn->since + opt->body_s;
    case VUG_HTTP_LINGERING:
        return conn->hung_up ? 0 : fmin(conn->progress + linger_s, conn->since + opt->body_s);
    case VUG_HTTP_ANSWERING:
    case VUG_HTTP_FLUSHING:
        break;
    }
    return INFINITY;
}

static double next_ping(const vug_http_conn *conn)
{
    const bool stream = conn->phase == VUG_HTTP_ANSWERING && conn->stream;
    return stream ? conn->spoke + conn->http->opt.ping_s : INFINITY;
}

static double stalls(const vug_http_conn *conn)
{
    return vug_http_conn_unsent(conn) ? conn->progress + conn->http->opt.stall_s : INFINITY;
}

void vug_http_conn_arm(vug_http_conn *conn)
{
    const double due = fmin(fmin(end_of_phase(conn), next_ping(conn)), stalls(conn));
    const double wait = fmax(0, fmin(due - vug_now(), 1e6));
    if (isinf(due)) {
        (void)evtimer_del(conn->timer);
    } else {
        const struct timeval tv = { (time_t)wait, (suseconds_t)(fmod(wait, 1) * 1e6) };
        (void)evtimer_add(conn->timer, &tv);
    }
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    vug_http_conn *conn = arg;
    const double now = vug_now();
    (void)fd, (void)what;
    if (now >= stalls(conn)) {
        vug_http_conn_close(conn);
        return;
    }
    if (now >= next_ping(conn))
        vug_http_send_ping(conn);
    if (now >= end_of_phase(conn)) {
        if (conn->phase == VUG_HTTP_LINGERING ||
            (conn->phase == VUG_HTTP_HEAD && !conn->head_begun)) {
            vug_http_conn_close(conn);
            return;
        }
        const bool head = conn->phase == VUG_HTTP_HEAD;
        vug_http_refuse(conn, VUG_API_TOO_SLOW, "The %s took longer than %g s to come.",
                        head ? "head of the request" : "body",
                        head ? conn->http->opt.head_s : conn->http->opt.body_s);
    }
    vug_http_conn_arm(conn);
}

/* ---- phases ----------------------------------------------------------------------------- */

void vug_http_conn_enter(vug_http_conn *conn, vug_http_phase phase)
{
    conn->phase = phase;
    conn->since = vug_now();
    if (phase == VUG_HTTP_ANSWERING)
        unlink_from(&conn->waiting);
    else
        link_last(&conn->http->waiting, &conn->waiting);
    vug_http_conn_arm(conn);
}

void vug_http_conn_answer(vug_http_conn *conn)
{
    vug_http_call *call = conn->call;
    vug_http *http = conn->http;
    conn->said_head = false;
    conn->stream = false;
    vug_buf_release(&conn->head);
    call->conn = conn;
    call->began = conn->spoke = vug_now();
    http->n_calls++;
    vug_metrics_set(http->opt.metrics, VUG_METRIC_RUNNING, http->n_calls);
    vug_http_conn_enter(conn, VUG_HTTP_ANSWERING);
}

/* All was said and is with the system. Reading on until the client closes keeps it from
 * resetting the connection before the client has read our answer. */
static void linger(vug_http_conn *conn)
{
    conn->progress = vug_now();
    vug_http_conn_enter(conn, VUG_HTTP_LINGERING);
    vug_http_tls_finish(conn->io);
    (void)shutdown(bufferevent_getfd(conn->io), SHUT_WR);
}

void vug_http_conn_next(vug_http_conn *conn, bool keep)
{
    conn->stream = false;
    conn->head_begun = false;
    if (keep && !conn->hung_up && !conn->overrun)
        vug_http_conn_enter(conn, VUG_HTTP_HEAD);
    else if (vug_http_conn_unsent(conn))
        vug_http_conn_enter(conn, VUG_HTTP_FLUSHING);
    else
        linger(conn);
    vug_http_read(conn);
}

/* ---- what libevent tells --------------------------------------------------------------------- */

static void on_read(struct bufferevent *io, void *arg)
{
    vug_http_conn *conn = arg;
    (void)io;
    vug_http_read(conn);
}

/* The output is empty. */
static void on_write(struct bufferevent *io, void *arg)
{
    vug_http_conn *conn = arg;
    (void)io;
    if (conn->phase == VUG_HTTP_ANSWERING) {
        vug_http_send(conn->call);
        return;
    }
    if (conn->phase == VUG_HTTP_FLUSHING)
        linger(conn);
    else
        vug_http_read(conn); /* which may have waited for this */
    if (vug_http_draining(conn->http))
        event_active(conn->http->wake, EV_READ, 0);
}

/* Over TLS the end may be met in writing, too, after which nothing more is written. */
static void on_event(struct bufferevent *io, short what, void *arg)
{
    vug_http_conn *conn = arg;
    (void)io;
    if (what & BEV_EVENT_CONNECTED)
        return;
    const bool sends_no_more = (what & BEV_EVENT_EOF) && (what & BEV_EVENT_READING);
    const bool flushes = conn->phase == VUG_HTTP_HEAD || conn->phase == VUG_HTTP_FLUSHING;
    conn->hung_up = true;
    if (sends_no_more && flushes && vug_http_conn_unsent(conn)) {
        vug_http_conn_enter(conn, VUG_HTTP_FLUSHING);
        return;
    }
    vug_http_conn_close(conn);
}

static void on_bytes(struct evbuffer *of, const struct evbuffer_cb_info *info, void *arg)
{
    vug_http *http = arg;
    (void)of;
    atomic_fetch_add(&http->held, info->n_added);
    atomic_fetch_sub(&http->held, info->n_deleted);
}

static void on_output(struct evbuffer *out, const struct evbuffer_cb_info *info, void *arg)
{
    vug_http_conn *conn = arg;
    (void)out;
    if (info->n_deleted || !info->orig_size)
        conn->progress = vug_now();
}

/* Bytes with libevent. */
static size_t buffered(const vug_http_conn *conn)
{
    return evbuffer_get_length(bufferevent_get_input(conn->io)) + vug_http_conn_unsent(conn);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void set_socket(evutil_socket_t fd, bool is_unix)
{
    const int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (!is_unix)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void vug_http_conn_open(vug_http *http, evutil_socket_t fd, bool is_unix)
{
    vug_http_conn *conn = NULL;
    if (http->n_conns < http->opt.max_connections ||
        vug_http_conn_evict(vug_http_conn_longest(http, 0)))
        conn = vug_alloc_zero(1, sizeof(*conn));
    if (conn) {
        conn->http = http;
        conn->is_unix = is_unix;
        conn->timer = evtimer_new(http->base, on_time, conn);
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
    set_socket(fd, is_unix);
    link_last(&http->all, &conn->all);
    http->n_conns++;
    vug_metrics_set(http->opt.metrics, VUG_METRIC_CONNECTIONS, http->n_conns);
    (void)evbuffer_add_cb(bufferevent_get_output(conn->io), on_output, conn);
    (void)evbuffer_add_cb(bufferevent_get_output(conn->io), on_bytes, http);
    (void)evbuffer_add_cb(bufferevent_get_input(conn->io), on_bytes, http);
    bufferevent_setcb(conn->io, on_read, on_write, on_event, conn);
    bufferevent_setwatermark(conn->io, EV_READ, 0, (size_t)2 * VUG_HTTP_MAX_AHEAD);
    (void)bufferevent_enable(conn->io, EV_READ | EV_WRITE);
    vug_http_conn_enter(conn, VUG_HTTP_HEAD);
}

void vug_http_conn_close(vug_http_conn *conn)
{
    vug_http *http = conn->http;
    vug_http_call *call = conn->call;
    unlink_from(&conn->all);
    unlink_from(&conn->waiting);
    /* libevent may go on with the buffers once this has returned. */
    (void)evbuffer_remove_cb(bufferevent_get_output(conn->io), on_output, conn);
    (void)evbuffer_remove_cb(bufferevent_get_output(conn->io), on_bytes, http);
    (void)evbuffer_remove_cb(bufferevent_get_input(conn->io), on_bytes, http);
    atomic_fetch_sub(&http->held, buffered(conn));
    http->n_conns--;
    vug_metrics_set(http->opt.metrics, VUG_METRIC_CONNECTIONS, http->n_conns);
    if (call && conn->phase == VUG_HTTP_ANSWERING) {
        vug_metrics_add(http->opt.metrics, VUG_METRIC_GONE, NULL, 1);
        vug_http_call_leave(call);
    } else {
        vug_http_call_destroy(call); /* half of a request */
    }
    vug_buf_release(&conn->head);
    event_free(conn->timer);
    bufferevent_free(conn->io);
    vug_free(conn);
    if (vug_http_draining(http))
        event_active(http->wake, EV_READ, 0);
}

/* Of one that waits. */
static size_t holds(const vug_http_conn *conn)
{
    return (conn->call ? conn->call->body.cap : 0) + buffered(conn);
}

vug_http_conn *vug_http_conn_longest(vug_http *http, size_t bytes)
{
    vug_http_link *l = http->waiting.next;
    while (l != &http->waiting && holds(of_waiting(l)) < bytes)
        l = l->next;
    return l == &http->waiting ? NULL : of_waiting(l);
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
    return conn->phase == VUG_HTTP_HEAD && !conn->head_begun && !vug_http_conn_unsent(conn);
}

void vug_http_conn_sweep(vug_http *http, bool all)
{
    vug_http_link *next;
    for (vug_http_link *l = http->all.next; l != &http->all; l = next) {
        next = l->next;
        if (all || is_idle(of_all(l)))
            vug_http_conn_close(of_all(l));
    }
}

bool vug_http_conn_busy(const vug_http *http)
{
    for (vug_http_link *l = http->all.next; l != &http->all; l = l->next) {
        if (!is_idle(of_all(l)))
            return true;
    }
    return false;
}
