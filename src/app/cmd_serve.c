/* `vug serve`: the options, the routes, and what is said at the start. */
#include "app/commands.h"
#include "app/server/service.h"
#include "core/os.h"

typedef struct {
    vug_ui *ui;
    const vug_options *opt;
    vug_metrics *metrics;
    vug_service *service;
    vug_http *http;
    vug_err why; /* the model is not there */
    bool failed;
} server;

static const vug_http_route routes[] = {
    { "GET", "/health", VUG_HTTP_OPEN, vug_serve_health },
    { "POST", "/v1/chat/completions", VUG_HTTP_QUEUED, vug_serve_chat },
    { "POST", "/v1/completions", VUG_HTTP_QUEUED, vug_serve_text },
    { "GET", "/v1/models", 0, vug_serve_models },
    { "GET", "/v1/models/", VUG_HTTP_PREFIX, vug_serve_model },
    { "POST", "/tokenize", VUG_HTTP_QUEUED, vug_serve_tokenize },
    { "POST", "/detokenize", VUG_HTTP_QUEUED, vug_serve_detokenize },
    { "POST", "/apply-template", VUG_HTTP_QUEUED, vug_serve_template },
    { "GET", "/props", 0, vug_serve_props },
    { "GET", "/metrics", 0, vug_serve_metrics },
};

static vug_http_options http_options(const vug_options *opt, vug_metrics *metrics)
{
    return (vug_http_options){
        .host = opt->host,
        .port = opt->port,
        .unix_path = opt->unix_path,
        .no_tcp = opt->unix_path && !opt->host && !opt->given[VUG_OPTION_port],
        .tls_cert = opt->tls_cert,
        .tls_key = opt->tls_key,
        .keys = { opt->api_key.item, opt->api_key.n },
        .key_file = opt->api_key_file,
        .insecure = opt->insecure,
        .origins = { opt->cors.item, opt->cors.n },
        .hosts = { opt->allow_host.item, opt->allow_host.n },
        .max_body = (size_t)opt->max_body,
        .max_connections = opt->max_connections,
        .ping_s = opt->ping,
        .drain_s = opt->drain,
        .signals = true,
        .metrics = metrics,
    };
}

static int say_addresses(vug_ui *ui, const vug_http *http)
{
    vug_buf text = { 0 };
    for (size_t i = 0; vug_http_address(http, i); i++)
        vug_buf_printf(&text, "listening on %s\n", vug_http_address(http, i));
    return vug_ui_print(ui, &text, VUG_EXIT_OK);
}

/* On the worker; the main thread prints nothing meanwhile. */
static void on_loaded(vug_str name, const vug_model *model, int sessions, const vug_err *err,
                      void *user)
{
    server *s = user;
    vug_buf text = { 0 };
    if (err) {
        s->why = *err;
        s->failed = true;
        vug_http_drain(s->http);
        return;
    }
    const vug_model_info info = vug_model_describe(model);
    vug_buf_printf(&text, "ready: %.*s, %s, context %lld, sessions %d\n", VUG_STR_ARG(name),
                   info.architecture, (long long)info.context, sessions);
    if (s->opt->silent)
        vug_buf_release(&text);
    else
        (void)vug_ui_print(s->ui, &text, VUG_EXIT_OK);
}

static vug_service_options service_options(server *s)
{
    const vug_options *opt = s->opt;
    return (vug_service_options){
        .path = opt->operand[0],
        .model = vug_options_model(opt),
        .chat_template = opt->chat_template,
        .aliases = { opt->alias.item, opt->alias.n },
        .trace = opt->trace,
        .max_waiting = opt->queue,
        .max_sessions = opt->sessions,
        .max_tokens = opt->answer_tokens,
        .also_reasoning = opt->also_reasoning,
        .metrics = s->metrics,
        .loaded = on_loaded,
        .user = s,
    };
}

static int run(server *s)
{
    vug_err err;
    int code = s->opt->silent ? VUG_EXIT_OK : say_addresses(s->ui, s->http);
    if (code != VUG_EXIT_OK)
        return code;
    vug_service_start(s->service);
    if (vug_http_run(s->http, &err) != VUG_OK)
        code = vug_ui_fail(s->ui, &err);
    vug_service_give_up(s->service);
    return code;
}

static int serve(server *s)
{
    vug_err err;
    const vug_http_options how = http_options(s->opt, s->metrics);
    const vug_service_options what = service_options(s);
    if (s->opt->trace && !vug_is_folder(s->opt->trace) &&
        vug_make_folder(s->opt->trace, &err) != VUG_OK)
        return vug_ui_fail(s->ui, &err);
    if (vug_service_create(&what, &s->service, &err) != VUG_OK)
        return vug_ui_fail(s->ui, &err);
    int code = VUG_EXIT_OK;
    if (vug_http_open(&how, routes, sizeof(routes) / sizeof(routes[0]), s->service, &s->http,
                      &err) != VUG_OK) {
        code = vug_ui_fail(s->ui, &err);
    } else {
        vug_service_serve(s->service, s->http);
        code = run(s);
    }
    vug_service_destroy(s->service); /* which waits for the worker, who may drain */
    vug_http_close(s->http);
    return s->failed && s->why.code != VUG_CANCELLED ? vug_ui_fail(s->ui, &s->why) : code;
}

int vug_cmd_serve(vug_ui *ui, const vug_options *opt)
{
    server s = { .ui = ui, .opt = opt };
    vug_err err;
    if (vug_metrics_create(&s.metrics, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    const int code = serve(&s);
    vug_metrics_destroy(s.metrics);
    return code;
}
