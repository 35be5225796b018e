#include <event2/thread.h>
#include <event2/util.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "server/http/internal.h"

enum {
    SPARE_FILES = 128,    /* descriptors besides connections: model, listeners, system */
    RESPONSE_BATCH = 256, /* ready requests served before sockets get their turn */
};

/* ---- options -------------------------------------------------------------------------------- */

static double or_default(double v, double fallback)
{
    return v > 0 ? v : fallback;
}

static vug_http_options with_defaults(const vug_http_options *given)
{
    vug_http_options o = *given;
    o.host = o.host ? o.host : "127.0.0.1";
    o.max_body = o.max_body ? o.max_body : (size_t)32 << 20;
    o.max_unsent = o.max_unsent ? o.max_unsent : (size_t)4 << 20;
    o.max_buffered = o.max_buffered ? o.max_buffered : (size_t)256 << 20;
    o.max_connections = o.max_connections > 0 ? o.max_connections : 1024;
    o.threads = o.threads > 0 ? o.threads : 2;
    o.head_s = or_default(o.head_s, 10);
    o.body_s = or_default(o.body_s, 60);
    o.idle_s = or_default(o.idle_s, 75);
    o.stall_s = or_default(o.stall_s, 30);
    o.ping_s = or_default(o.ping_s, 5);
    o.drain_s = or_default(o.drain_s, 30);
    return o;
}

/* Raises the descriptor limit, and reduces the number of connections if that fails. Some
 * descriptors stay reserved, or a flood of connections would keep a model from being opened. */
static int limit_connections(int connections)
{
    struct rlimit limit;
    const rlim_t want = (rlim_t)connections + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return connections;
    if (limit.rlim_cur < want) {
        limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= want)
        return connections;
    const rlim_t most = limit.rlim_cur > (rlim_t)2 * SPARE_FILES ? limit.rlim_cur - SPARE_FILES
                                                                 : limit.rlim_cur / 2;
    return most < 1 ? 1 : (int)most;
}

/* ---- draining ------------------------------------------------------------------------------- */

static void abort_drain(vug_http *http)
{
    http->drain_aborted = true;
    vug_http_close_connections(http, false);
}

static void on_drain_timeout(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    abort_drain(arg);
    event_active(((vug_http *)arg)->wake, EV_READ, 0);
}

static void continue_drain(vug_http *http)
{
    const int requests = atomic_load(&http->drain_requests);
    if (!requests)
        return;
    if (!http->drain_started) {
        const double limit = http->opt.drain_s;
        const struct timeval tv = { (time_t)limit,
                                    (suseconds_t)((limit - (double)(time_t)limit) * 1e6) };
        http->drain_started = true;
        vug_http_close_connections(http, true);
        (void)evtimer_add(http->drain_timer, &tv);
    }
    if (requests > 1 && !http->drain_aborted)
        abort_drain(http);
    if (http->n_running == 0 && (http->drain_aborted || !vug_http_has_busy_connection(http)))
        (void)event_base_loopbreak(http->base);
}

/* Requests have output or have ended, or the server drains. */
static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    vug_http *http = arg;
    vug_http_request *request;
    (void)fd, (void)what;
    int n = 0;
    while (n++ < RESPONSE_BATCH && (request = vug_http_next_ready(http)))
        vug_http_continue_response(request);
    if (n > RESPONSE_BATCH)
        event_active(http->wake, EV_READ, 0);
    continue_drain(http);
}

void vug_http_drain(vug_http *http)
{
    atomic_fetch_add(&http->drain_requests, 1);
    event_active(http->wake, EV_READ, 0);
}

/* ---- signals -------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    (void)what;
    if (number != SIGHUP) /* nothing can be reloaded */
        vug_http_drain(arg);
}

static vug_status watch_signals(vug_http *http, vug_err *err)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
    for (int i = 0; i < 3 && http->opt.signals; i++) {
        http->signal[i] = evsignal_new(http->base, numbers[i], on_signal, http);
        if (!http->signal[i] || evsignal_add(http->signal[i], NULL) != 0)
            return VUG_FAIL(err, VUG_IO, "cannot watch for signals");
    }
    return VUG_OK;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static vug_status open_event_base(vug_http *http, vug_err *err)
{
    unsigned char random[8];
    if (evthread_use_pthreads() != 0 || !(http->base = event_base_new()))
        return VUG_FAIL(err, VUG_IO, "libevent cannot be initialized");
    http->wake = event_new(http->base, -1, EV_PERSIST, on_wake, http);
    http->drain_timer = evtimer_new(http->base, on_drain_timeout, http);
    if (!http->wake || !http->drain_timer)
        return VUG_FAIL_NOMEM(err, "events", 0);
    evutil_secure_rng_get_bytes(random, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        (void)snprintf(http->id_prefix + 2 * i, 3, "%02x", random[i]);
    return VUG_OK;
}

static vug_status open_all(vug_http *http, vug_err *err)
{
    VUG_TRY(open_event_base(http, err));
    VUG_TRY(watch_signals(http, err));
    VUG_TRY(vug_http_check_access_options(&http->opt, err));
    VUG_TRY(vug_http_load_keys(http, err));
    VUG_TRY(vug_http_tls_open(http, err));
    VUG_TRY(vug_http_handler_pool_start(http, err));
    return vug_http_listen(http, err);
}

vug_status vug_http_open(const vug_http_options *options, const vug_http_route *routes,
                         size_t n_routes, void *user, vug_http **out, vug_err *err)
{
    vug_http *http = vug_alloc_zero(1, sizeof(*http));
    if (!http)
        return VUG_FAIL_NOMEM(err, "the server", sizeof(*http));
    http->opt = with_defaults(options);
    http->routes = routes;
    http->n_routes = n_routes;
    http->user = user;
    http->connections = (vug_http_list_node){ &http->connections, &http->connections };
    http->waiting = (vug_http_list_node){ &http->waiting, &http->waiting };
    (void)pthread_mutex_init(&http->lock, NULL);
    (void)pthread_cond_init(&http->callback_done, NULL);
    (void)pthread_cond_init(&http->work_available, NULL);
    http->opt.max_connections = limit_connections(http->opt.max_connections);
    const vug_status st = open_all(http, err);
    if (st != VUG_OK) {
        vug_http_close(http);
        return st;
    }
    *out = http;
    return VUG_OK;
}

const char *vug_http_address(const vug_http *http, size_t i)
{
    return i < http->n_listeners ? http->listener[i].address : NULL;
}

vug_status vug_http_run(vug_http *http, vug_err *err)
{
    const bool failed = event_base_dispatch(http->base) < 0;
    vug_http_handler_pool_stop(http); /* a handler may still run after ending its request */
    if (failed)
        return VUG_FAIL(err, VUG_IO, "the event loop has failed");
    vug_http_stop_listening(http);
    vug_http_close_connections(http, false);
    (void)event_base_loop(http->base, EVLOOP_NONBLOCK); /* libevent defers closing sockets */
    return VUG_OK;
}

static void free_event(struct event *event)
{
    if (event)
        event_free(event);
}

void vug_http_close(vug_http *http)
{
    if (!http)
        return;
    vug_http_handler_pool_stop(http);
    vug_http_close_connections(http, false);
    vug_http_stop_listening(http);
    vug_http_tls_close(http);
    for (int i = 0; i < 3; i++)
        free_event(http->signal[i]);
    free_event(http->wake);
    free_event(http->drain_timer);
    if (http->base)
        event_base_free(http->base);
    (void)pthread_cond_destroy(&http->work_available);
    (void)pthread_cond_destroy(&http->callback_done);
    (void)pthread_mutex_destroy(&http->lock);
    vug_free(http->keys);
    vug_free(http);
}
