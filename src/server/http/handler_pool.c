#include "server/http/internal.h"

static vug_http_request *next_queued(vug_http *http)
{
    (void)pthread_mutex_lock(&http->lock);
    while (!http->queue_first && !http->stopping)
        (void)pthread_cond_wait(&http->work_available, &http->lock);
    vug_http_request *request = http->queue_first;
    if (request)
        http->queue_first = request->next_queued;
    (void)pthread_mutex_unlock(&http->lock);
    return request;
}

static void *run_handlers(void *arg)
{
    vug_http *http = arg;
    for (vug_http_request *r = next_queued(http); r; r = next_queued(http)) {
        const vug_api_error disconnected = { .kind = VUG_API_UNAVAILABLE };
        if (vug_http_disconnected(r))
            vug_http_fail(r, &disconnected); /* ends it; nobody reads the error */
        else
            r->route->handler(r, http->user);
    }
    return NULL;
}

vug_status vug_http_handler_pool_start(vug_http *http, vug_err *err)
{
    const int n = http->opt.threads;
    http->threads = vug_alloc((size_t)n, sizeof(*http->threads));
    if (!http->threads)
        return VUG_FAIL_NOMEM(err, "threads", (size_t)n * sizeof(*http->threads));
    while (http->n_threads < n) {
        if (pthread_create(&http->threads[http->n_threads], NULL, run_handlers, http) != 0)
            return VUG_FAIL(err, VUG_NOMEM, "cannot start a thread");
        http->n_threads++;
    }
    return VUG_OK;
}

void vug_http_handler_pool_stop(vug_http *http)
{
    (void)pthread_mutex_lock(&http->lock);
    http->stopping = true;
    (void)pthread_cond_broadcast(&http->work_available);
    (void)pthread_mutex_unlock(&http->lock);
    while (http->n_threads > 0)
        (void)pthread_join(http->threads[--http->n_threads], NULL);
    vug_free(http->threads);
    http->threads = NULL;
}

void vug_http_handler_pool_submit(vug_http_request *request)
{
    vug_http *http = request->http;
    (void)pthread_mutex_lock(&http->lock);
    request->next_queued = NULL;
    if (!http->queue_first)
        http->queue_last = &http->queue_first;
    *http->queue_last = request;
    http->queue_last = &request->next_queued;
    (void)pthread_cond_signal(&http->work_available);
    (void)pthread_mutex_unlock(&http->lock);
}
