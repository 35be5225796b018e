#include "core/os.h"
#include "server/internal.h"

typedef struct {
    vug_server_options opt;
    vug_service *service;
    vug_http *http;
    vug_err load_error; /* VUG_OK: none */
} running_server;

static void on_loaded(const vug_err *err, void *user)
{
    running_server *s = user;
    if (err) {
        s->load_error = *err;
        vug_http_drain(s->http);
    } else if (s->opt.ready) {
        s->opt.ready(s->service->name, s->service->model, s->opt.user);
    }
}

static vug_status open_and_run(running_server *s, vug_err *err)
{
    size_t n;
    const vug_http_route *routes = vug_server_routes(&n);
    VUG_TRY(vug_service_create(&s->opt, &s->service, err));
    VUG_TRY(vug_http_open(&s->opt.http, routes, n, s->service, &s->http, err));
    atomic_store(&s->service->http, s->http);
    if (s->opt.listening && !s->opt.listening(s->http, s->opt.user))
        return VUG_OK;
    vug_service_start(s->service, on_loaded, s);
    const vug_status st = vug_http_run(s->http, err);
    vug_service_cancel_loading(s->service);
    return st;
}

vug_status vug_server_run(const vug_server_options *options, vug_err *err)
{
    running_server s = { .opt = *options };
    /* The model is loaded while the server listens already; a wrong path is reported before. */
    if (!vug_file_exists(options->model_path))
        return VUG_FAIL(err, VUG_IO, "%s: no such file or folder", options->model_path);
    if (s.opt.trace && !vug_is_folder(s.opt.trace))
        VUG_TRY(vug_make_folder(s.opt.trace, err));
    VUG_TRY(vug_metrics_create(&s.opt.http.metrics, err));
    vug_status st = open_and_run(&s, err);
    vug_service_destroy(s.service); /* first: it waits for the worker, which may drain */
    vug_http_close(s.http);
    vug_metrics_destroy(s.opt.http.metrics);
    if (s.load_error.code != VUG_OK && s.load_error.code != VUG_CANCELLED) {
        *err = s.load_error;
        st = err->code;
    }
    return st;
}
