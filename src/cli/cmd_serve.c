/* `vug serve`: its options, and what it prints at the start. */
#include "cli/commands.h"
#include "server/server.h"

typedef struct {
    vug_ui *ui;
    bool silent;
    int code; /* exit code of printing the addresses */
} serve_output;

static bool print_addresses(const vug_http *http, void *user)
{
    serve_output *out = user;
    vug_buf text = { 0 };
    if (out->silent)
        return true;
    for (size_t i = 0; vug_http_address(http, i); i++)
        vug_buf_printf(&text, "listening on %s\n", vug_http_address(http, i));
    out->code = vug_ui_print(out->ui, &text);
    return out->code == VUG_EXIT_OK;
}

/* On the worker thread; the main thread prints nothing meanwhile. */
static void print_ready(vug_str name, const vug_model *model, void *user)
{
    const serve_output *out = user;
    const vug_model_info info = vug_model_describe(model);
    vug_buf text = { 0 };
    if (out->silent)
        return;
    vug_buf_printf(&text, "ready: %.*s, %s, context %lld\n", VUG_STR_ARG(name), info.architecture,
                   (long long)info.context);
    if (info.memory.weights_decoded > 0)
        vug_buf_printf(&text, "weights in formats that the device does not have take %s as BF16\n",
                       vug_human_bytes(info.memory.weights_decoded).text);
    if (info.note)
        vug_buf_printf(&text, "%s\n", info.note);
    (void)vug_ui_print(out->ui, &text);
}

int vug_cmd_serve(vug_ui *ui, const vug_options *opt)
{
    serve_output out = { .ui = ui, .silent = opt->silent, .code = VUG_EXIT_OK };
    vug_err err;
    const vug_server_options options = {
        .http = {
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
        },
        .model_path = opt->operand[0],
        .model = vug_options_model(opt),
        .chat_template = opt->chat_template,
        .aliases = { opt->alias.item, opt->alias.n },
        .trace = opt->trace,
        .max_waiting = opt->queue,
        .max_tokens = opt->answer_tokens,
        .also_reasoning = opt->also_reasoning,
        .strict_schemas = opt->strict_schemas,
        .speculation = vug_options_speculation(opt),
        .pooling = vug_options_pooling(opt),
        .listening = print_addresses,
        .ready = print_ready,
        .user = &out,
    };
    return vug_server_run(&options, &err) == VUG_OK ? out.code : vug_ui_fail(ui, &err);
}
