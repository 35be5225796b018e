/* `vug serve`: the options, the routes, and what is said at the start. */
#include "app/commands.h"
#include "app/server/http.h"

typedef struct {
    vug_http *http;
    vug_metrics *metrics;
} server;

/* 200 while requests are taken; 503 tells who spreads them over servers to go elsewhere. */
static void answer_health(vug_http_call *call, void *user)
{
    const server *s = user;
    const bool draining = vug_http_draining(s->http);
    const vug_http_head head = { .status = draining ? 503 : 200 };
    vug_buf body = { 0 };
    vug_buf_printf(&body, "{\"status\":\"%s\"}\n", draining ? "shutting down" : "ok");
    vug_http_reply(call, &head, &body);
}

static void answer_metrics(vug_http_call *call, void *user)
{
    const server *s = user;
    const vug_http_head head = { .type = "text/plain; version=0.0.4; charset=utf-8" };
    vug_buf body = { 0 };
    vug_metrics_write(s->metrics, &body);
    vug_http_reply(call, &head, &body);
}

static const vug_http_route routes[] = {
    { "GET", "/health", VUG_HTTP_OPEN, answer_health },
    { "GET", "/metrics", 0, answer_metrics },
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

static int serve(vug_ui *ui, const vug_options *opt, server *s)
{
    vug_err err;
    const vug_http_options how = http_options(opt, s->metrics);
    if (vug_http_open(&how, routes, sizeof(routes) / sizeof(routes[0]), s, &s->http, &err) !=
        VUG_OK)
        return vug_ui_fail(ui, &err);
    int code = opt->quiet ? VUG_EXIT_OK : say_addresses(ui, s->http);
    if (code == VUG_EXIT_OK && vug_http_run(s->http, &err) != VUG_OK)
        code = vug_ui_fail(ui, &err);
    vug_http_close(s->http);
    return code;
}

int vug_cmd_serve(vug_ui *ui, const vug_options *opt)
{
    server s = { 0 };
    vug_err err;
    if (vug_metrics_create(&s.metrics, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    const int code = serve(ui, opt, &s);
    vug_metrics_destroy(s.metrics);
    return code;
}
