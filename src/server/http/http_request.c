#include <stdio.h>

#include "core/os.h"
#include "server/http/internal.h"

static const char json_type[] = "application/json";
static const char stream_type[] = "text/event-stream; charset=utf-8";
/* So that no proxy buffers or caches events. */
static const char stream_headers[] = "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";

bool vug_http_draining(vug_http *http)
{
    return atomic_load(&http->drain_requests) > 0;
}

/* ---- accessors ------------------------------------------------------------------------------- */

vug_str vug_http_path(const vug_http_request *request)
{
    return request->head.path;
}

vug_str vug_http_path_suffix(const vug_http_request *request)
{
    return vug_str_from(request->head.path, strlen(request->route->path));
}

vug_str vug_http_header(const vug_http_request *request, const char *name)
{
    return vug_http_find_header(&request->head, name);
}

vug_str vug_http_body(const vug_http_request *request)
{
    return (vug_str){ request->body.ptr, request->body.len };
}

const char *vug_http_request_id(const vug_http_request *request)
{
    return request->id;
}

bool vug_http_reserve(vug_http_request *request, size_t bytes)
{
    vug_http *http = request->http;
    const size_t max = http->opt.max_buffered;
    const size_t before = atomic_fetch_add(&http->reserved_bytes, bytes);
    if (bytes > max || before > max - bytes) {
        atomic_fetch_sub(&http->reserved_bytes, bytes);
        return false;
    }
    atomic_fetch_add(&http->buffered_bytes, bytes);
    request->reserved += bytes;
    return true;
}

/* ---- lifetime -------------------------------------------------------------------------------- */

vug_http_request *vug_http_request_create(vug_http *http)
{
    vug_http_request *request = vug_alloc_zero(1, sizeof(*request));
    if (!request)
        return NULL;
    request->http = http;
    request->body.max = http->opt.max_body;
    request->out.max = http->opt.max_unsent;
    (void)snprintf(request->id, sizeof(request->id), "req_%s%08llx", http->id_prefix,
                   (unsigned long long)http->n_requests++);
    return request;
}

void vug_http_request_destroy(vug_http_request *request)
{
    if (!request)
        return;
    atomic_fetch_sub(&request->http->buffered_bytes,
                     request->body.cap + request->out.len + request->reserved);
    atomic_fetch_sub(&request->http->reserved_bytes, request->reserved);
    vug_buf_release(&request->body);
    vug_buf_release(&request->out);
    vug_free(request->type);
    vug_free(request->headers);
    vug_arena_release(&request->arena);
    vug_free(request);
}

void vug_http_request_finish(vug_http_request *request, int status)
{
    vug_http *http = request->http;
    const vug_http_route *route = request->route;
    char labels[160];
    (void)snprintf(labels, sizeof(labels), "route=\"%.100s\",status=\"%d\"",
                   route && *route->path ? route->path : "other", status);
    vug_metrics_add(http->opt.metrics, VUG_METRIC_REQUESTS, labels, 1);
    vug_metrics_observe(http->opt.metrics, VUG_METRIC_REQUEST_SECONDS,
                        vug_now() - request->received);
    http->n_running--;
    vug_metrics_set(http->opt.metrics, VUG_METRIC_RUNNING, http->n_running);
    vug_http_request_destroy(request);
}

/* Under the lock: makes the loop look at the request. */
static void mark_ready(vug_http_request *request)
{
    vug_http *http = request->http;
    if (request->in_ready_list)
        return;
    request->in_ready_list = true;
    request->next_ready = NULL;
    if (!http->ready_first) {
        http->ready_last = &http->ready_first;
        event_active(http->wake, EV_READ, 0);
    }
    *http->ready_last = request;
    http->ready_last = &request->next_ready;
}

vug_http_request *vug_http_next_ready(vug_http *http)
{
    (void)pthread_mutex_lock(&http->lock);
    vug_http_request *request = http->ready_first;
    if (request) {
        http->ready_first = request->next_ready;
        request->in_ready_list = false;
    }
    (void)pthread_mutex_unlock(&http->lock);
    return request;
}

/* ---- disconnecting --------------------------------------------------------------------------- */

/* The owner's callback runs without the lock; ending the request waits for it. */
void vug_http_request_detach(vug_http_request *request)
{
    vug_http *http = request->http;
    request->conn = NULL;
    (void)pthread_mutex_lock(&http->lock);
    const bool unused = request->ended && !request->in_ready_list;
    const bool notify = !request->ended && request->on_disconnect && !request->disconnected;
    request->disconnected = true;
    request->in_callback = notify;
    (void)pthread_mutex_unlock(&http->lock);
    if (notify) {
        request->on_disconnect(request->on_disconnect_arg);
        (void)pthread_mutex_lock(&http->lock);
        request->in_callback = false;
        (void)pthread_cond_broadcast(&http->callback_done);
        (void)pthread_mutex_unlock(&http->lock);
    } else if (unused) {
        vug_http_request_finish(request, VUG_HTTP_CLIENT_CLOSED);
    }
}

void vug_http_on_disconnect(vug_http_request *request, void (*fn)(void *arg), void *arg)
{
    vug_http *http = request->http;
    (void)pthread_mutex_lock(&http->lock);
    while (request->in_callback)
        (void)pthread_cond_wait(&http->callback_done, &http->lock);
    request->on_disconnect = fn;
    request->on_disconnect_arg = arg;
    const bool too_late = request->disconnected;
    (void)pthread_mutex_unlock(&http->lock);
    if (too_late && fn)
        fn(arg);
}

bool vug_http_disconnected(vug_http_request *request)
{
    (void)pthread_mutex_lock(&request->http->lock);
    const bool disconnected = request->disconnected;
    (void)pthread_mutex_unlock(&request->http->lock);
    return disconnected;
}

/* ---- the response ---------------------------------------------------------------------------- */

/* Under the lock. Without memory for the head, the response becomes a plain 500. */
static void set_head(vug_http_request *request, int status, const char *type, const char *headers,
                     const char *more)
{
    vug_buf lines = { 0 };
    vug_buf_puts(&lines, headers ? headers : "");
    vug_buf_puts(&lines, more);
    request->type = vug_strdup(type);
    request->status = request->type && !lines.bad ? status : VUG_HTTP_INTERNAL_ERROR;
    if (lines.bad)
        vug_buf_release(&lines);
    request->headers = lines.ptr;
}

/* Under the lock. From now on the request belongs to the loop. */
static void end_request(vug_http_request *request)
{
    while (request->in_callback)
        (void)pthread_cond_wait(&request->http->callback_done, &request->http->lock);
    request->ended = true;
    mark_ready(request);
}

static const char *headers_for_status(int status)
{
    switch (status) {
    case VUG_HTTP_UNAUTHORIZED:
        return "WWW-Authenticate: Bearer\r\n";
    case VUG_HTTP_TOO_MANY_REQUESTS:
        return "Retry-After: 1\r\n"; /* seconds */
    case VUG_HTTP_UNAVAILABLE:
        return "Retry-After: 5\r\n";
    default:
        return "";
    }
}

void vug_http_reply(vug_http_request *request, const vug_http_response_head *head, vug_buf *body)
{
    vug_http *http = request->http;
    const int wanted = head && head->status ? head->status : VUG_HTTP_OK;
    const int status = body->bad ? VUG_HTTP_INTERNAL_ERROR : wanted;
    const char *type = head && head->type ? head->type : json_type;
    if (body->bad)
        vug_buf_release(body);
    (void)pthread_mutex_lock(&http->lock);
    VUG_ASSERT(!request->stream_begun && !request->ended);
    set_head(request, status, type, head ? head->headers : NULL, headers_for_status(status));
    request->out = *body;
    atomic_fetch_add(&http->buffered_bytes, body->len);
    end_request(request);
    (void)pthread_mutex_unlock(&http->lock);
    *body = (vug_buf){ 0 };
}

void vug_http_fail_with_headers(vug_http_request *request, const vug_api_error *error,
                                const char *headers)
{
    vug_buf body = { 0 };
    const vug_http_response_head head = { .status = vug_api_error_status(error->kind),
                                          .headers = headers };
    vug_api_error_write(error, &body);
    vug_http_reply(request, &head, &body);
}

void vug_http_fail(vug_http_request *request, const vug_api_error *error)
{
    vug_http_fail_with_headers(request, error, NULL);
}

void vug_http_stream_begin(vug_http_request *request, const char *headers)
{
    (void)pthread_mutex_lock(&request->http->lock);
    VUG_ASSERT(!request->stream_begun && !request->ended);
    set_head(request, VUG_HTTP_OK, stream_type, headers, stream_headers);
    request->stream_begun = true;
    mark_ready(request);
    (void)pthread_mutex_unlock(&request->http->lock);
}

bool vug_http_stream_event(vug_http_request *request, vug_str bytes)
{
    (void)pthread_mutex_lock(&request->http->lock);
    VUG_ASSERT(request->stream_begun && !request->ended);
    const bool disconnected = request->disconnected;
    if (!disconnected && bytes.len) {
        const size_t before = request->out.len;
        /* When the buffer is full, it becomes bad and the loop closes the connection. */
        vug_buf_append(&request->out, bytes.ptr, bytes.len);
        atomic_fetch_add(&request->http->buffered_bytes, request->out.len - before);
        mark_ready(request);
    }
    const bool bad = request->out.bad;
    (void)pthread_mutex_unlock(&request->http->lock);
    return !disconnected && !bad;
}

void vug_http_stream_end(vug_http_request *request)
{
    vug_http *http = request->http;
    (void)pthread_mutex_lock(&http->lock);
    VUG_ASSERT(request->stream_begun && !request->ended);
    end_request(request);
    (void)pthread_mutex_unlock(&http->lock);
}
