#include "core/os.h"
#include "server/http/internal.h"

enum { PIECE = 4096 };

/* ---- rejecting ----------------------------------------------------------------------------- */

/* Without memory for a response. */
static void drop_connection(vug_http_conn *conn)
{
    vug_http_conn_end_response(conn, false);
    vug_http_receive(conn);
}

/* `headers` as in vug_http_response_head. */
static void reject_with(vug_http_conn *conn, const vug_api_error *error, const char *headers)
{
    if (!conn->request)
        conn->request = vug_http_request_create(conn->http);
    vug_http_request *request = conn->request;
    if (!request) {
        drop_connection(conn);
        return;
    }
    /* Otherwise the rest of this request would be taken for the next one. */
    const vug_http_request_head *head = &request->head;
    request->keep_alive = request->keep_alive && conn->state == VUG_HTTP_READING_HEAD &&
                          !head->chunked && head->length == 0 &&
                          error->kind != VUG_API_LENGTH_REQUIRED;
    vug_http_conn_begin_response(conn);
    vug_http_fail_with_headers(request, error, headers);
}

void vug_http_reject(vug_http_conn *conn, vug_api_error_kind kind, const char *fmt, ...)
{
    vug_api_error error;
    va_list ap;
    va_start(ap, fmt);
    vug_api_error_set_va(&error, kind, NULL, fmt, ap);
    va_end(ap);
    reject_with(conn, &error, NULL);
}

/* ---- the head ------------------------------------------------------------------------------ */

static void begin_body(vug_http_conn *conn)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const vug_http_request_head *head = &conn->request->head;
    vug_http_conn_set_state(conn, VUG_HTTP_READING_BODY);
    conn->chunks = (vug_http_chunked_body){ 0 };
    if (head->expects_continue && (head->chunked || head->length) &&
        evbuffer_get_length(bufferevent_get_input(conn->io)) == 0)
        (void)bufferevent_write(conn->io, interim, sizeof(interim) - 1);
}

static void end_head(vug_http_conn *conn)
{
    vug_http_request *request = vug_http_request_create(conn->http);
    vug_api_error error;
    const char *headers = NULL;
    conn->request = request;
    if (!request) {
        drop_connection(conn);
        return;
    }
    const bool ok = vug_http_parse_head((vug_str){ conn->head.ptr, conn->head.len },
                                        &request->arena, &request->head, &error) &&
                    vug_http_validate_request(conn, request, &error, &headers);
    vug_buf_release(&conn->head);
    conn->head_begun = false;
    if (ok)
        begin_body(conn);
    else
        reject_with(conn, &error, headers);
}

static bool may_begin_request(char c)
{
    return c == '\r' || vug_http_is_token((vug_str){ &c, 1 });
}

/* True when the state has changed. */
static bool read_head(vug_http_conn *conn)
{
    struct evbuffer *in = bufferevent_get_input(conn->io);
    char piece[PIECE];
    /* A client that does not read its responses gets no more of them. */
    if (vug_http_conn_unsent(conn) > VUG_HTTP_OUTPUT_HIGH_WATER)
        return false;
    for (;;) {
        const ev_ssize_t n = evbuffer_copyout(in, piece, sizeof(piece));
        if (n <= 0)
            return false;
        if (!conn->head_begun) {
            conn->head_begun = true;
            vug_http_conn_set_state(conn, VUG_HTTP_READING_HEAD);
        }
        const size_t before = conn->head.len;
        vug_buf_append(&conn->head, piece, (size_t)n);
        const vug_str head = { conn->head.ptr, conn->head.len };
        const size_t end = conn->head.bad ? 0 : vug_http_find_head_end(head, before);
        (void)evbuffer_drain(in, end ? end - before : (size_t)n);
        if (conn->head.bad || (end ? end : head.len) > VUG_HTTP_MAX_HEAD) {
            const bool in_headers = !conn->head.bad && memchr(head.ptr, '\n', head.len);
            vug_http_reject(conn, in_headers ? VUG_API_HEADERS_TOO_LARGE : VUG_API_URI_TOO_LONG,
                            "The %s more than %d bytes.",
                            in_headers ? "headers have" : "request line has", VUG_HTTP_MAX_HEAD);
            return true;
        }
        if (end) {
            conn->head.len = end;
            end_head(conn);
            return true;
        }
        if (!may_begin_request(*head.ptr)) {
            vug_http_reject(conn, VUG_API_BAD_REQUEST, "This is not an HTTP/1.1 request.");
            return true;
        }
    }
}

/* ---- the body ------------------------------------------------------------------------------ */

static vug_http_body_result append_body(vug_http_conn *conn, vug_str bytes, size_t *used)
{
    vug_http_request *request = conn->request;
    const vug_http_request_head *head = &request->head;
    const size_t max = conn->http->opt.max_body, cap = request->body.cap;
    vug_http_body_result result;
    if (head->chunked) {
        result = vug_http_chunked_body_feed(&conn->chunks, bytes, max, &request->body, used);
    } else {
        const uint64_t left = head->length - request->body.len;
        *used = bytes.len < left ? bytes.len : (size_t)left;
        if (*used)
            vug_buf_append(&request->body, bytes.ptr, *used);
        result = *used == left ? VUG_HTTP_BODY_COMPLETE : VUG_HTTP_BODY_INCOMPLETE;
    }
    atomic_fetch_add(&conn->http->buffered_bytes, request->body.cap - cap);
    return result;
}

static void reject_body(vug_http_conn *conn)
{
    vug_http_request *request = conn->request;
    atomic_fetch_sub(&conn->http->buffered_bytes, request->body.cap);
    vug_buf_release(&request->body);
    vug_http_reject(conn, VUG_API_UNAVAILABLE, "There is not enough memory for the body now.");
}

/* Slow clients must not keep others out: while too much is buffered, drops the connection that has
 * waited longest for its client. That may be `conn`, if it is reading a body. */
static void free_memory(vug_http_conn *conn)
{
    vug_http *http = conn->http;
    while (atomic_load(&http->buffered_bytes) > http->opt.max_buffered) {
        vug_http_conn *oldest = vug_http_conn_oldest_waiting(http, VUG_HTTP_OUTPUT_HIGH_WATER);
        if (!oldest)
            oldest = conn;
        if (oldest->state == VUG_HTTP_READING_BODY)
            reject_body(oldest);
        else if (oldest != conn)
            vug_http_conn_evict(oldest);
        if (oldest == conn)
            return;
    }
}

/* True when the state has changed. */
static bool read_body(vug_http_conn *conn)
{
    struct evbuffer *in = bufferevent_get_input(conn->io);
    vug_http_body_result result = VUG_HTTP_BODY_INCOMPLETE;
    while (result == VUG_HTTP_BODY_INCOMPLETE) {
        const size_t n = evbuffer_get_contiguous_space(in);
        const vug_http_request_head *head = &conn->request->head;
        if (n == 0 && (head->chunked || head->length > conn->request->body.len))
            return false;
        const vug_str bytes = { n ? (const char *)evbuffer_pullup(in, (ev_ssize_t)n) : "", n };
        size_t used = 0;
        result = append_body(conn, bytes, &used);
        (void)evbuffer_drain(in, used);
        if (conn->request->body.bad)
            reject_body(conn);
        else if (used)
            free_memory(conn);
        if (conn->state != VUG_HTTP_READING_BODY)
            return true;
    }
    if (result == VUG_HTTP_BODY_MALFORMED) {
        vug_http_reject(conn, VUG_API_BAD_REQUEST, "not an HTTP/1.1 request: malformed chunk");
    } else if (result == VUG_HTTP_BODY_TOO_LARGE) {
        vug_http_reject(conn, VUG_API_TOO_LARGE, "The body has more than the allowed %zu bytes.",
                        conn->http->opt.max_body);
    } else {
        vug_http_request *request = conn->request;
        vug_http_conn_begin_response(conn);
        vug_http_dispatch(request);
    }
    return true;
}

void vug_http_receive(vug_http_conn *conn)
{
    free_memory(conn);
    /* A complete head is followed by its body or by a rejection, which is a response. */
    if (conn->state == VUG_HTTP_READING_HEAD && !read_head(conn))
        return;
    if (conn->state == VUG_HTTP_READING_BODY && !read_body(conn))
        return;
    /* Reading continues during a response: only so is a disconnect noticed. */
    struct evbuffer *in = bufferevent_get_input(conn->io);
    const size_t n = evbuffer_get_length(in);
    if (conn->state == VUG_HTTP_RESPONDING && n <= VUG_HTTP_MAX_PIPELINED)
        return;
    conn->overrun = true;
    if (conn->state == VUG_HTTP_LINGERING)
        conn->last_progress = vug_now();
    (void)evbuffer_drain(in, n);
}
