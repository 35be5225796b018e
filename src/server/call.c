#include "server/internal.h"

#include <pthread.h>

/* Requests of this process, answered like those of HTTP clients: a call waits for its response. */

/* Bytes that a call may keep for its response, as `max_buffered` of the HTTP server. */
#define MAX_CALL_BYTES ((size_t)256 << 20)

struct vug_server_call {
    vug_service *service;
    size_t reserved; /* bytes; the worker's */
    pthread_mutex_t lock;
    pthread_cond_t answered;
    /* guarded by the lock: */
    vug_job *job; /* NULL: none is queued or runs */
    bool cancelled;
    bool ended;
    int status;
    vug_buf body;
};

vug_status vug_server_call_create(vug_service *service, vug_server_call **out, vug_err *err)
{
    vug_server_call *call = vug_alloc_zero(1, sizeof(*call));
    if (!call)
        return VUG_FAIL_NOMEM(err, "a request", sizeof(*call));
    call->service = service;
    (void)pthread_mutex_init(&call->lock, NULL);
    (void)pthread_cond_init(&call->answered, NULL);
    *out = call;
    return VUG_OK;
}

void vug_server_call_destroy(vug_server_call *call)
{
    if (!call)
        return;
    (void)pthread_cond_destroy(&call->answered);
    (void)pthread_mutex_destroy(&call->lock);
    vug_buf_release(&call->body);
    vug_free(call);
}

void vug_server_call_cancel(vug_server_call *call)
{
    (void)pthread_mutex_lock(&call->lock);
    call->cancelled = true;
    if (call->job)
        vug_job_cancel(call->job);
    (void)pthread_mutex_unlock(&call->lock);
}

/* ---- the sender --------------------------------------------------------------------- */

/* Takes `body`. */
static void end_call(vug_server_call *call, int status, vug_buf *body)
{
    (void)pthread_mutex_lock(&call->lock);
    call->job = NULL;
    call->ended = true;
    call->status = status;
    call->body = *body;
    *body = (vug_buf){ 0 };
    (void)pthread_cond_signal(&call->answered);
    (void)pthread_mutex_unlock(&call->lock);
}

static bool reserve_for_call(void *self, size_t bytes)
{
    vug_server_call *call = self;
    if (bytes > MAX_CALL_BYTES - call->reserved)
        return false;
    call->reserved += bytes;
    return true;
}

/* No call has a stream. */
static bool reject_events(void *self, vug_str events)
{
    (void)self;
    (void)events;
    return false;
}

static void reject_stream(void *self)
{
    (void)self;
    VUG_ASSERT(false);
}

static void reply_to_call(void *self, const char *headers, vug_buf *body)
{
    (void)headers;
    end_call(self, VUG_HTTP_OK, body);
}

static void fail_call(void *self, const vug_api_error *error)
{
    vug_buf body = { 0 };
    vug_api_error_write(error, &body);
    end_call(self, vug_api_error_status(error->kind), &body);
}

static const vug_sender_functions functions = {
    .reserve = reserve_for_call,
    .send_events = reject_events,
    .end_stream = reject_stream,
    .reply = reply_to_call,
    .fail = fail_call,
};

/* ---- the call ----------------------------------------------------------------------- */

/* NULL fills `error`. */
static vug_server_request *create_request(vug_server_call *call, vug_api_endpoint endpoint,
                                          vug_str body, const char *id, vug_api_error *error)
{
    const vug_request_sender sender = {
        .call = &functions, .self = call, .request_id = id, .body = body
    };
    vug_server_request *request =
            vug_server_request_create(call->service, &sender, endpoint, error);
    if (!request)
        return NULL;
    if (request->head.stream)
        vug_api_error_set(error, VUG_API_BAD_REQUEST, "stream",
                          "stream must be false: there is nobody to send a stream to");
    else if (vug_server_admit(call->service, error))
        return request;
    vug_server_request_free(request);
    return NULL;
}

static bool is_cancelled(vug_server_call *call)
{
    (void)pthread_mutex_lock(&call->lock);
    const bool cancelled = call->cancelled;
    (void)pthread_mutex_unlock(&call->lock);
    return cancelled;
}

static void queue_and_wait(vug_server_call *call, vug_server_request *request)
{
    (void)pthread_mutex_lock(&call->lock);
    call->job = &request->job;
    if (call->cancelled)
        vug_job_cancel(call->job);
    (void)pthread_mutex_unlock(&call->lock);
    vug_server_push(request);
    (void)pthread_mutex_lock(&call->lock);
    while (!call->ended)
        (void)pthread_cond_wait(&call->answered, &call->lock);
    (void)pthread_mutex_unlock(&call->lock);
}

vug_status vug_server_call_run(vug_server_call *call, vug_api_endpoint endpoint, vug_str body,
                               const char *id, vug_call_response *out, vug_err *err)
{
    vug_api_error error;
    vug_buf_release(&call->body);
    call->reserved = 0;
    call->ended = false;
    vug_server_request *request = create_request(call, endpoint, body, id, &error);
    if (request)
        queue_and_wait(call, request);
    else
        fail_call(call, &error);
    if (call->status != VUG_HTTP_OK && is_cancelled(call))
        return VUG_FAIL(err, VUG_CANCELLED, "the request was cancelled");
    VUG_TRY(vug_buf_ok(&call->body, err));
    *out = (vug_call_response){ call->status, { call->body.ptr, call->body.len } };
    return VUG_OK;
}
