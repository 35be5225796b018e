#include "app/server/http/own.h"
#include "core/os.h"

enum { PIECE = 4096 };

/* ---- refusing ------------------------------------------------------------------------------ */

/* `headers` as in vug_http_head. */
static void refuse(vug_http_conn *conn, const vug_api_error *error, const char *headers)
{
    if (!conn->call)
        conn->call = vug_http_call_create(conn->http);
    vug_http_call *call = conn->call;
    if (!call) { /* no memory */
        vug_http_conn_next(conn, false);
        return;
    }
    /* What is left of this request would be taken for the next one. */
    const vug_http_request *r = &call->request;
    call->keep_alive = call->keep_alive && conn->phase == VUG_HTTP_HEAD && !r->chunked &&
                       r->length == 0 && error->kind != VUG_API_NO_LENGTH;
    vug_http_conn_answer(conn);
    vug_http_fail_with(call, error, headers);
}

void vug_http_refuse(vug_http_conn *conn, vug_api_error_kind kind, const char *fmt, ...)
{
    vug_api_error error;
    va_list ap;
    va_start(ap, fmt);
    vug_api_error_fill(&error, kind, NULL, fmt, ap);
    va_end(ap);
    refuse(conn, &error, NULL);
}

/* ---- the head ------------------------------------------------------------------------------ */

static void begin_body(vug_http_conn *conn)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const vug_http_request *r = &conn->call->request;
    vug_http_conn_enter(conn, VUG_HTTP_BODY);
    conn->chunks = (vug_http_chunks){ 0 };
    if (r->expects_continue && (r->chunked || r->length) &&
        evbuffer_get_length(bufferevent_get_input(conn->io)) == 0)
        (void)bufferevent_write(conn->io, go_on, sizeof(go_on) - 1);
}

static void end_head(vug_http_conn *conn)
{
    vug_http_call *call = vug_http_call_create(conn->http);
    vug_api_error error;
    const char *headers = NULL;
    conn->call = call;
    if (!call) {
        vug_http_conn_next(conn, false);
        return;
    }
    const bool ok = vug_http_parse((vug_str){ conn->head.ptr, conn->head.len }, &call->arena,
                                   &call->request, &error) &&
                    vug_http_admit(conn, call, &error, &headers);
    vug_buf_release(&conn->head);
    conn->head_begun = false;
    if (ok)
        begin_body(conn);
    else
        refuse(conn, &error, headers);
}

static bool begins_request(char c)
{
    return c == '\r' || vug_http_is_token((vug_str){ &c, 1 });
}

/* True when the phase has changed. */
static bool read_head(vug_http_conn *conn)
{
    struct evbuffer *in = bufferevent_get_input(conn->io);
    char piece[PIECE];
    /* A client that asks and does not read gets no more answers. */
    if (vug_http_conn_unsent(conn) > VUG_HTTP_MAX_PENDING)
        return false;
    for (;;) {
        const ev_ssize_t n = evbuffer_copyout(in, piece, sizeof(piece));
        if (n <= 0)
            return false;
        if (!conn->head_begun) {
            conn->head_begun = true;
            vug_http_conn_enter(conn, VUG_HTTP_HEAD);
        }
        const size_t before = conn->head.len;
        vug_buf_append(&conn->head, piece, (size_t)n);
        const vug_str head = { conn->head.ptr, conn->head.len };
        const size_t end = conn->head.bad ? 0 : vug_http_head_end(head, before);
        (void)evbuffer_drain(in, end ? end - before : (size_t)n);
        if (conn->head.bad || (end ? end : head.len) > VUG_HTTP_MAX_HEAD) {
            const bool line = !conn->head.bad && memchr(head.ptr, '\n', head.len);
            vug_http_refuse(conn, line ? VUG_API_HEADERS : VUG_API_TARGET,
                            "The %s more than %d bytes.",
                            line ? "headers have" : "request line has", VUG_HTTP_MAX_HEAD);
            return true;
        }
        if (end) {
            conn->head.len = end;
            end_head(conn);
            return true;
        }
        if (!begins_request(*head.ptr)) {
            vug_http_refuse(conn, VUG_API_BAD_REQUEST, "Not a request of HTTP/1.1.");
            return true;
        }
    }
}

/* ---- the body ------------------------------------------------------------------------------ */

static vug_http_progress take(vug_http_conn *conn, vug_str bytes, size_t *used)
{
    vug_http_call *call = conn->call;
    const vug_http_request *r = &call->request;
    const size_t max = conn->http->opt.max_body, cap = call->body.cap;
    vug_http_progress done;
    if (r->chunked) {
        done = vug_http_chunks_feed(&conn->chunks, bytes, max, &call->body, used);
    } else {
        const uint64_t left = r->length - call->body.len;
        *used = bytes.len < left ? bytes.len : (size_t)left;
        if (*used)
            vug_buf_append(&call->body, bytes.ptr, *used);
        done = *used == left ? VUG_HTTP_DONE : VUG_HTTP_MORE;
    }
    atomic_fetch_add(&conn->http->held, call->body.cap - cap);
    return done;
}

static void refuse_body(vug_http_conn *conn)
{
    vug_http_call *call = conn->call;
    atomic_fetch_sub(&conn->http->held, call->body.cap);
    vug_buf_release(&call->body);
    vug_http_refuse(conn, VUG_API_UNAVAILABLE, "There is no memory for the body now.");
}

/* Clients that are slow to send or to take shall not keep others out: they go, the one that has
 * waited for its client the longest first. With it may go `conn`, if it is in a body. */
static void make_room(vug_http_conn *conn)
{
    vug_http *http = conn->http;
    while (atomic_load(&http->held) > http->opt.max_held) {
        vug_http_conn *longest = vug_http_conn_longest(http, VUG_HTTP_MAX_PENDING);
        if (!longest)
            longest = conn;
        if (longest->phase == VUG_HTTP_BODY)
            refuse_body(longest);
        else if (longest != conn)
            vug_http_conn_evict(longest);
        if (longest == conn)
            return;
    }
}

/* True when the phase has changed. */
static bool read_body(vug_http_conn *conn)
{
    struct evbuffer *in = bufferevent_get_input(conn->io);
    vug_http_progress done = VUG_HTTP_MORE;
    while (done == VUG_HTTP_MORE) {
        const size_t n = evbuffer_get_contiguous_space(in);
        const vug_http_request *r = &conn->call->request;
        if (n == 0 && (r->chunked || r->length > conn->call->body.len))
            return false;
        const vug_str bytes = { n ? (const char *)evbuffer_pullup(in, (ev_ssize_t)n) : "", n };
        size_t used = 0;
        done = take(conn, bytes, &used);
        (void)evbuffer_drain(in, used);
        if (conn->call->body.bad)
            refuse_body(conn);
        else if (used)
            make_room(conn);
        if (conn->phase != VUG_HTTP_BODY)
            return true;
    }
    if (done == VUG_HTTP_BAD) {
        vug_http_refuse(conn, VUG_API_BAD_REQUEST,
                        "not a request of HTTP/1.1: a chunk that is none");
    } else if (done == VUG_HTTP_BIG) {
        vug_http_refuse(conn, VUG_API_TOO_LARGE,
                        "The body has more than the %zu bytes that are read.",
                        conn->http->opt.max_body);
    } else {
        vug_http_call *call = conn->call;
        vug_http_conn_answer(conn);
        vug_http_dispatch(call);
    }
    return true;
}

void vug_http_read(vug_http_conn *conn)
{
    make_room(conn);
    /* A head that is whole is followed by its body, or by a refusal, which is an answer. */
    if (conn->phase == VUG_HTTP_HEAD && !read_head(conn))
        return;
    if (conn->phase == VUG_HTTP_BODY && !read_body(conn))
        return;
    /* Reading goes on while a call is answered, or its client could not be seen to leave. */
    struct evbuffer *in = bufferevent_get_input(conn->io);
    const size_t n = evbuffer_get_length(in);
    const bool ahead = conn->phase == VUG_HTTP_ANSWERING;
    if (ahead && n <= VUG_HTTP_MAX_AHEAD)
        return;
    conn->overrun = true;
    if (conn->phase == VUG_HTTP_LINGERING)
        conn->progress = vug_now();
    (void)evbuffer_drain(in, n);
}
