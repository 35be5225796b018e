#include "app/server/http/http.h"

#include <event2/thread.h>
#include <event2/util.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "app/server/http/own.h"
#include "core/os.h"

enum {
    SPARE_FILES = 128, /* beside connections: the model's, listeners, the system's */
    AT_ONCE = 256,     /* calls that are looked at before sockets are */
};

/* ---- options -------------------------------------------------------------------------------- */

static double or_else(double v, double otherwise)
{
    return v > 0 ? v : otherwise;
}

static vug_http_options complete(const vug_http_options *given)
{
    vug_http_options o = *given;
    o.host = o.host ? o.host : "127.0.0.1";
    o.max_body = o.max_body ? o.max_body : (size_t)32 << 20;
    o.max_unsent = o.max_unsent ? o.max_unsent : (size_t)4 << 20;
    o.max_held = o.max_held ? o.max_held : (size_t)256 << 20;
    o.max_connections = o.max_connections > 0 ? o.max_connections : 1024;
    o.threads = o.threads > 0 ? o.threads : 2;
    o.head_s = or_else(o.head_s, 10);
    o.body_s = or_else(o.body_s, 60);
    o.idle_s = or_else(o.idle_s, 75);
    o.stall_s = or_else(o.stall_s, 30);
    o.ping_s = or_else(o.ping_s, 5);
    o.drain_s = or_else(o.drain_s, 30);
    return o;
}

/* How many connections the system has files for, which is asked for as many as they need. Some
 * are left for others, or a flood would keep a model from being opened. */
static int fit_files(int connections)
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

static void give_up(vug_http *http)
{
    http->gave_up = true;
    vug_http_conn_sweep(http, true);
}

static void on_last(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    give_up(arg);
    event_active(((vug_http *)arg)->wake, EV_READ, 0);
}

static void drain(vug_http *http)
{
    const int asked = atomic_load(&http->drains);
    if (!asked)
        return;
    if (!http->drained) {
        const struct timeval last = {
            (time_t)http->opt.drain_s,
            (suseconds_t)((http->opt.drain_s - (double)(time_t)http->opt.drain_s) * 1e6)
        };
        http->drained = true;
        vug_http_conn_sweep(http, false);
        (void)evtimer_add(http->last, &last);
    }
    if (asked > 1 && !http->gave_up)
        give_up(http);
    if (http->n_calls == 0 && (http->gave_up || !vug_http_conn_busy(http)))
        (void)event_base_loopbreak(http->base);
}

/* Calls have something to send, have ended, or the server is to end. */
static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    vug_http *http = arg;
    vug_http_call *call;
    (void)fd, (void)what;
    int n = 0;
    while (n++ < AT_ONCE && (call = vug_http_take_ready(http)))
        vug_http_send(call);
    if (n > AT_ONCE)
        event_active(http->wake, EV_READ, 0);
    drain(http);
}

void vug_http_drain(vug_http *http)
{
    atomic_fetch_add(&http->drains, 1);
    event_active(http->wake, EV_READ, 0);
}

bool vug_http_draining(vug_http *http)
{
    return atomic_load(&http->drains) > 0;
}

/* ---- signals -------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    (void)what;
    if (number != SIGHUP) /* nothing is read again, so there is nothing half-way */
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

static vug_status open_base(vug_http *http, vug_err *err)
{
    unsigned char random[8];
    if (evthread_use_pthreads() != 0 || !(http->base = event_base_new()))
        return VUG_FAIL(err, VUG_IO, "libevent cannot begin here");
    http->wake = event_new(http->base, -1, EV_PERSIST, on_wake, http);
    http->last = evtimer_new(http->base, on_last, http);
    if (!http->wake || !http->last)
        return VUG_FAIL_NOMEM(err, "events", 0);
    evutil_secure_rng_get_bytes(random, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        (void)snprintf(http->id + 2 * i, 3, "%02x", random[i]);
    return VUG_OK;
}

static vug_status open_all(vug_http *http, vug_err *err)
{
    VUG_TRY(open_base(http, err));
    VUG_TRY(watch_signals(http, err));
    VUG_TRY(vug_http_check_names(&http->opt, err));
    VUG_TRY(vug_http_keys_open(http, err));
    VUG_TRY(vug_http_tls_open(http, err));
    VUG_TRY(vug_http_threads_open(http, err));
    return vug_http_listen(http, err);
}

vug_status vug_http_open(const vug_http_options *options, const vug_http_route *routes,
                         size_t n_routes, void *user, vug_http **out, vug_err *err)
{
    vug_http *http = vug_alloc_zero(1, sizeof(*http));
    if (!http)
        return VUG_FAIL_NOMEM(err, "the server", sizeof(*http));
    http->opt = complete(options);
    http->route = routes;
    http->n_routes = n_routes;
    http->user = user;
    http->all = (vug_http_link){ &http->all, &http->all };
    http->waiting = (vug_http_link){ &http->waiting, &http->waiting };
    (void)pthread_mutex_init(&http->lock, NULL);
    (void)pthread_cond_init(&http->called, NULL);
    (void)pthread_cond_init(&http->work, NULL);
    http->opt.max_connections = fit_files(http->opt.max_connections);
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
    vug_http_threads_close(http); /* a handler may have ended its call, and not returned yet */
    if (failed)
        return VUG_FAIL(err, VUG_IO, "the event loop has failed");
    vug_http_unlisten(http);
    vug_http_conn_sweep(http, true);
    (void)event_base_loop(http->base, EVLOOP_NONBLOCK); /* libevent closes sockets from there */
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
    vug_http_threads_close(http);
    vug_http_conn_sweep(http, true);
    vug_http_unlisten(http);
    vug_http_tls_close(http);
    for (int i = 0; i < 3; i++)
        free_event(http->signal[i]);
    free_event(http->wake);
    free_event(http->last);
    if (http->base)
        event_base_free(http->base);
    (void)pthread_cond_destroy(&http->work);
    (void)pthread_cond_destroy(&http->called);
    (void)pthread_mutex_destroy(&http->lock);
    vug_free(http->key);
    vug_free(http);
}
