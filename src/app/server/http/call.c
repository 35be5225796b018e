#include <stdio.h>

#include "app/server/http/own.h"
#include "core/os.h"

static const char json_type[] = "application/json";
static const char stream_type[] = "text/event-stream; charset=utf-8";
/* So that no proxy keeps events back, or answers from a store. */
static const char stream_headers[] = "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";

/* ---- the request --------------------------------------------------------------------------- */

vug_str vug_http_path(const vug_http_call *call)
{
    return call->request.path;
}

vug_str vug_http_rest(const vug_http_call *call)
{
    return vug_str_from(call->request.path, strlen(call->route->path));
}

vug_str vug_http_header(const vug_http_call *call, const char *name)
{
    return vug_http_field_of(&call->request, name);
}

vug_str vug_http_body(const vug_http_call *call)
{
    return (vug_str){ call->body.ptr, call->body.len };
}

const char *vug_http_request_id(const vug_http_call *call)
{
    return call->id;
}

bool vug_http_keep(vug_http_call *call, size_t bytes)
{
    vug_http *http = call->http;
    const size_t before = atomic_fetch_add(&http->kept, bytes), max = http->opt.max_held;
    if (bytes > max || before > max - bytes) {
        atomic_fetch_sub(&http->kept, bytes);
        return false;
    }
    atomic_fetch_add(&http->held, bytes);
    call->kept += bytes;
    return true;
}

/* ---- its life -------------------------------------------------------------------------------- */

vug_http_call *vug_http_call_create(vug_http *http)
{
    vug_http_call *call = vug_alloc_zero(1, sizeof(*call));
    if (!call)
        return NULL;
    call->http = http;
    call->body.max = http->opt.max_body;
    call->out.max = http->opt.max_unsent;
    (void)snprintf(call->id, sizeof(call->id), "req_%s%08llx", http->id,
                   (unsigned long long)http->n_requests++);
    return call;
}

void vug_http_call_destroy(vug_http_call *call)
{
    if (!call)
        return;
    atomic_fetch_sub(&call->http->held, call->body.cap + call->out.len + call->kept);
    atomic_fetch_sub(&call->http->kept, call->kept);
    vug_buf_release(&call->body);
    vug_buf_release(&call->out);
    vug_free(call->type);
    vug_free(call->headers);
    vug_arena_release(&call->arena);
    vug_free(call);
}

/* Under the lock: the loop shall look at the call. */
static void make_ready(vug_http_call *call)
{
    vug_http *http = call->http;
    if (call->queued)
        return;
    call->queued = true;
    call->next_ready = NULL;
    if (!http->ready_first) {
        http->ready_last = &http->ready_first;
        event_active(http->wake, EV_READ, 0);
    }
    *http->ready_last = call;
    http->ready_last = &call->next_ready;
}

vug_http_call *vug_http_take_ready(vug_http *http)
{
    (void)pthread_mutex_lock(&http->lock);
    vug_http_call *call = http->ready_first;
    if (call) {
        http->ready_first = call->next_ready;
        call->queued = false;
    }
    (void)pthread_mutex_unlock(&http->lock);
    return call;
}

/* ---- when the client leaves -------------------------------------------------------------------- */

/* The lock is free while the owner's function runs, and the end of the call waits for it. */
void vug_http_call_leave(vug_http_call *call)
{
    vug_http *http = call->http;
    call->conn = NULL;
    (void)pthread_mutex_lock(&http->lock);
    const bool ended = call->ended;
    const bool tell = !ended && call->on_gone && !call->gone;
    const bool looked_at_later = call->queued;
    call->gone = true;
    call->calling = tell;
    (void)pthread_mutex_unlock(&http->lock);
    if (tell) {
        call->on_gone(call->on_gone_arg);
        (void)pthread_mutex_lock(&http->lock);
        call->calling = false;
        (void)pthread_cond_broadcast(&http->called);
        (void)pthread_mutex_unlock(&http->lock);
    } else if (ended && !looked_at_later) {
        vug_http_send(call); /* to nobody, which frees it */
    }
}

void vug_http_on_gone(vug_http_call *call, void (*fn)(void *arg), void *arg)
{
    vug_http *http = call->http;
    (void)pthread_mutex_lock(&http->lock);
    while (call->calling)
        (void)pthread_cond_wait(&http->called, &http->lock);
    call->on_gone = fn;
    call->on_gone_arg = arg;
    const bool late = call->gone;
    (void)pthread_mutex_unlock(&http->lock);
    if (late && fn)
        fn(arg);
}

bool vug_http_gone(vug_http_call *call)
{
    (void)pthread_mutex_lock(&call->http->lock);
    const bool gone = call->gone;
    (void)pthread_mutex_unlock(&call->http->lock);
    return gone;
}

/* ---- the answer -------------------------------------------------------------------------------- */

/* Under the lock. A head that there is no memory for becomes a plain 500. */
static void set_head(vug_http_call *call, int status, const char *type, const char *headers,
                     const char *more)
{
    vug_buf lines = { 0 };
    vug_buf_puts(&lines, headers ? headers : "");
    vug_buf_puts(&lines, more);
    call->type = vug_strdup(type);
    call->status = call->type && !lines.bad ? status : 500;
    if (lines.bad)
        vug_buf_release(&lines);
    call->headers = lines.ptr;
}

/* Under the lock; it is the loop's from now on. */
static void end(vug_http_call *call)
{
    while (call->calling)
        (void)pthread_cond_wait(&call->http->called, &call->http->lock);
    call->ended = true;
    make_ready(call);
}

/* What clients go by when they try again (seconds), or ask for a key. */
static const char *headers_of(int status)
{
    switch (status) {
    case 401:
        return "WWW-Authenticate: Bearer\r\n";
    case 429:
        return "Retry-After: 1\r\n";
    case 503:
        return "Retry-After: 5\r\n";
    default:
        return "";
    }
}

void vug_http_reply(vug_http_call *call, const vug_http_head *head, vug_buf *body)
{
    vug_http *http = call->http;
    const int status = body->bad ? 500 : head && head->status ? head->status : 200;
    const char *type = head && head->type ? head->type : json_type;
    if (body->bad)
        vug_buf_release(body);
    (void)pthread_mutex_lock(&http->lock);
    VUG_ASSERT(!call->begun && !call->ended);
    set_head(call, status, type, head ? head->headers : NULL, headers_of(status));
    call->out = *body;
    atomic_fetch_add(&http->held, body->len);
    end(call);
    (void)pthread_mutex_unlock(&http->lock);
    *body = (vug_buf){ 0 };
}

void vug_http_fail_with(vug_http_call *call, const vug_api_error *error, const char *headers)
{
    vug_buf body = { 0 };
    const vug_http_head head = { .status = vug_api_error_status(error->kind), .headers = headers };
    vug_api_error_write(error, &body);
    vug_http_reply(call, &head, &body);
}

void vug_http_fail(vug_http_call *call, const vug_api_error *error)
{
    vug_http_fail_with(call, error, NULL);
}

void vug_http_stream_begin(vug_http_call *call, const char *headers)
{
    (void)pthread_mutex_lock(&call->http->lock);
    VUG_ASSERT(!call->begun && !call->ended);
    set_head(call, 200, stream_type, headers, stream_headers);
    call->begun = true;
    make_ready(call);
    (void)pthread_mutex_unlock(&call->http->lock);
}

bool vug_http_stream_event(vug_http_call *call, vug_str bytes)
{
    (void)pthread_mutex_lock(&call->http->lock);
    VUG_ASSERT(call->begun && !call->ended);
    const bool gone = call->gone;
    if (!gone && bytes.len) {
        const size_t before = call->out.len;
        vug_buf_append(&call->out, bytes.ptr, bytes.len); /* full: bad, which the loop sees */
        atomic_fetch_add(&call->http->held, call->out.len - before);
        make_ready(call);
    }
    const bool bad = call->out.bad;
    (void)pthread_mutex_unlock(&call->http->lock);
    return !gone && !bad;
}

void vug_http_stream_end(vug_http_call *call)
{
    vug_http *http = call->http;
    (void)pthread_mutex_lock(&http->lock);
    VUG_ASSERT(call->begun && !call->ended);
    end(call);
    (void)pthread_mutex_unlock(&http->lock);
}

/* ---- threads for queued routes --------------------------------------------------------------- */

static vug_http_call *next(vug_http *http)
{
    (void)pthread_mutex_lock(&http->lock);
    while (!http->queue_first && !http->stop)
        (void)pthread_cond_wait(&http->work, &http->lock);
    vug_http_call *call = http->queue_first;
    if (call)
        http->queue_first = call->next_queued;
    (void)pthread_mutex_unlock(&http->lock);
    return call;
}

static void *serve(void *arg)
{
    vug_http *http = arg;
    for (vug_http_call *call = next(http); call; call = next(http)) {
        const vug_api_error left = { .kind = VUG_API_UNAVAILABLE };
        if (vug_http_gone(call))
            vug_http_fail(call, &left); /* whom nobody hears */
        else
            call->route->handler(call, http->user);
    }
    return NULL;
}

vug_status vug_http_threads_open(vug_http *http, vug_err *err)
{
    const int n = http->opt.threads;
    http->thread = vug_alloc((size_t)n, sizeof(*http->thread));
    if (!http->thread)
        return VUG_FAIL_NOMEM(err, "threads", (size_t)n * sizeof(*http->thread));
    while (http->n_threads < n) {
        if (pthread_create(&http->thread[http->n_threads], NULL, serve, http) != 0)
            return VUG_FAIL(err, VUG_NOMEM, "cannot start a thread");
        http->n_threads++;
    }
    return VUG_OK;
}

void vug_http_threads_close(vug_http *http)
{
    (void)pthread_mutex_lock(&http->lock);
    http->stop = true;
    (void)pthread_cond_broadcast(&http->work);
    (void)pthread_mutex_unlock(&http->lock);
    while (http->n_threads > 0)
        (void)pthread_join(http->thread[--http->n_threads], NULL);
    vug_free(http->thread);
    http->thread = NULL;
}

void vug_http_queue(vug_http_call *call)
{
    vug_http *http = call->http;
    (void)pthread_mutex_lock(&http->lock);
    call->next_queued = NULL;
    if (!http->queue_first)
        http->queue_last = &http->queue_first;
    *http->queue_last = call;
    http->queue_last = &call->next_queued;
    (void)pthread_cond_signal(&http->work);
    (void)pthread_mutex_unlock(&http->lock);
}
