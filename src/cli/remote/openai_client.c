#include "cli/remote/openai_client.h"

#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "cli/remote/sse_parser.h"
#include "core/json_writer.h"
#include "core/os.h"

#define DEFAULT_URL "http://127.0.0.1:8080"

static const size_t max_key_file = (size_t)1 << 20, max_model_list = (size_t)16 << 20; /* bytes */

/* ---- setting up ------------------------------------------------------------------------ */

/* The first line that is neither empty nor a comment. `vug serve` reads the same files. */
static vug_status read_key_file(vug_openai_client *c, const char **key, vug_err *err)
{
    const char *path = c->opt->key_file;
    vug_text text;
    VUG_TRY(vug_input_read(path, max_key_file, &text, err));
    vug_str line = { 0 };
    for (const char *at = text.ptr; *at && !line.len; at += strspn(at, "\r\n")) {
        const size_t n = strcspn(at, "\r\n");
        if (*at != '#')
            line = (vug_str){ at, n };
        at += n;
    }
    vug_status st = VUG_OK;
    if (!line.len)
        st = VUG_FAIL(err, VUG_ARGUMENT, "--api-key-file %s: the file contains no key", path);
    else if (!(*key = vug_arena_copy(&c->arena, line).ptr))
        st = VUG_FAIL_NOMEM(err, "a key", line.len);
    vug_text_release(&text);
    return st;
}

static vug_status find_key(vug_openai_client *c, const char **key, vug_err *err)
{
    const vug_options *opt = c->opt;
    if (opt->key && opt->key_file)
        return VUG_FAIL(err, VUG_ARGUMENT, "only one of --api-key and --api-key-file can be given");
    if (opt->key_file)
        return read_key_file(c, key, err);
    const char *from_env = getenv("OPENAI_API_KEY");
    *key = opt->key ? opt->key : from_env && *from_env ? from_env : NULL;
    return VUG_OK;
}

vug_status vug_openai_client_init(vug_openai_client *c, vug_ui *ui, const vug_options *opt,
                                  vug_err *err)
{
    const char *key = NULL;
    *c = (vug_openai_client){ .opt = opt, .printer = { .ui = ui, .silent = opt->json } };
    VUG_TRY(find_key(c, &key, err));
    VUG_TRY(vug_chat_request_init(&c->request, opt, err));
    return vug_http_client_open(opt->url ? opt->url : DEFAULT_URL, key, opt->tls_ca, &c->http, err);
}

void vug_openai_client_release(vug_openai_client *c)
{
    vug_completion_parser_release(&c->last);
    vug_response_printer_release(&c->printer);
    vug_http_client_close(c->http);
    vug_chat_request_release(&c->request);
    vug_arena_release(&c->arena);
    *c = (vug_openai_client){ 0 };
}

/* ---- model ------------------------------------------------------------------------------ */

static vug_status append_bytes(vug_str bytes, bool stream, void *user, vug_err *err)
{
    vug_buf *to = user;
    (void)stream;
    vug_buf_append(to, bytes.ptr, bytes.len);
    return vug_buf_ok(to, err);
}

vug_status vug_openai_client_select_model(vug_openai_client *c, vug_err *err)
{
    if (c->opt->model) {
        c->request.model = vug_str_of(c->opt->model);
        return VUG_OK;
    }
    vug_buf list = { .max = max_model_list };
    const vug_http_client_request request = { .path = "/models",
                                              .on_bytes = append_bytes,
                                              .user = &list };
    vug_status st = vug_http_client_perform(c->http, &request, err);
    if (st == VUG_OK)
        st = vug_parse_model_list((vug_str){ list.ptr ? list.ptr : "", list.len },
                                  vug_http_client_name(c->http), &c->arena, &c->request.model, err);
    vug_buf_release(&list);
    return st;
}

/* ---- responses --------------------------------------------------------------------------- */

typedef struct {
    vug_openai_client *client;
    vug_sse_parser events;
    vug_buf body; /* of a server that does not stream */
    double start;
} receiver;

static bool on_part(const vug_part *part, void *user)
{
    receiver *r = user;
    if (r->client->first_s < 0)
        r->client->first_s = vug_now() - r->start;
    return vug_response_printer_on_part(part, &r->client->printer);
}

static void on_token(const vug_token_logprob *token, const vug_token_logprob *top, size_t n_top,
                     void *user)
{
    const receiver *r = user;
    vug_response_printer_add_logprob(&r->client->printer, token, top, n_top);
}

static vug_status on_event(vug_str data, void *user, vug_err *err)
{
    receiver *r = user;
    const vug_completion_parser *p = &r->client->last;
    VUG_TRY(vug_completion_parser_feed(&r->client->last, data, err));
    return p->stopped || p->done ? VUG_FAIL(err, VUG_CANCELLED, "the response is complete")
                                 : VUG_OK;
}

static vug_status on_bytes(vug_str bytes, bool stream, void *user, vug_err *err)
{
    receiver *r = user;
    if (!stream)
        return append_bytes(bytes, stream, &r->body, err);
    return vug_sse_parser_feed(&r->events, bytes, on_event, r, err);
}

/* [DONE] ends the response, even if the server keeps the connection open. */
static bool is_complete(const receiver *r, vug_status st)
{
    return st == VUG_OK || (st == VUG_CANCELLED && r->client->last.done);
}

/* A response without a finish_reason or [DONE] was cut short. */
static vug_status finish_response(receiver *r, vug_err *err)
{
    vug_openai_client *c = r->client;
    vug_completion_parser *p = &c->last;
    if (r->body.len)
        VUG_TRY(vug_completion_parser_feed(p, (vug_str){ r->body.ptr, r->body.len }, err));
    if (!p->finish[0] && !p->done)
        return VUG_FAIL(err, VUG_IO, "%s: the response ended early", vug_http_client_name(c->http));
    for (size_t i = 0; i < p->n_calls; i++) {
        const vug_completion_call *k = &p->call[i];
        const vug_str none = { "{}", 2 }, arguments = { k->arguments.ptr, k->arguments.len };
        if (!vug_response_printer_add_call(&c->printer, (vug_str){ k->id.ptr, k->id.len },
                                           (vug_str){ k->name.ptr ? k->name.ptr : "", k->name.len },
                                           arguments.len ? arguments : none))
            break;
    }
    return VUG_OK;
}

static vug_status send_request(receiver *r, const vug_chat_history *history, const vug_str *raw,
                               vug_err *err)
{
    vug_buf body = { 0 };
    vug_status st = vug_chat_request_write(&r->client->request, history, raw, &body, err);
    const vug_http_client_request request = {
        .path = raw ? "/completions" : "/chat/completions",
        .body = body.ptr,
        .body_len = body.len,
        .on_bytes = on_bytes,
        .user = r,
    };
    if (st == VUG_OK)
        st = vug_http_client_perform(r->client->http, &request, err);
    vug_buf_release(&body);
    return is_complete(r, st) ? finish_response(r, err) : st;
}

static vug_status generate_response(void *self, const vug_chat_history *history, const vug_str *raw,
                                    bool *interrupted, vug_err *err)
{
    vug_openai_client *c = self;
    receiver r = { .client = c, .body = { .max = VUG_SSE_MAX_EVENT }, .start = vug_now() };
    vug_completion_parser_release(&c->last);
    c->last = (vug_completion_parser){
        .name = vug_http_client_name(c->http),
        .on_part = on_part,
        .on_token = c->opt->given[VUG_OPTION_logprobs] ? on_token : NULL,
        .user = &r,
    };
    c->first_s = -1;
    vug_response_printer_begin(&c->printer);
    vug_status st = send_request(&r, history, raw, err);
    vug_response_printer_end(&c->printer);
    c->total_s = vug_now() - r.start;
    if (c->first_s < 0) /* there was no text */
        c->first_s = c->total_s;
    if (st == VUG_CANCELLED) {
        *interrupted = !c->last.stopped; /* not Ctrl-C: writing to stdout failed */
        st = VUG_OK;
    }
    c->request.seed += st == VUG_OK;
    c->last.user = NULL;
    vug_sse_parser_release(&r.events);
    vug_buf_release(&r.body);
    return st;
}

/* ---- statistics ---------------------------------------------------------------------------- */

static const char *finish_reason(const vug_openai_client *c)
{
    return c->last.finish[0] ? c->last.finish : c->last.done ? "stop" : "cancelled";
}

static double tokens_per_s(const vug_openai_client *c)
{
    const double seconds = c->total_s - c->first_s;
    const int64_t n = c->last.completion_tokens;
    return n > 1 && seconds > 0 ? (double)(n - 1) / seconds : 0;
}

static void print_stats(const void *self)
{
    const vug_openai_client *c = self;
    const vug_completion_parser *p = &c->last;
    const vug_style *style = &c->printer.ui->err;
    (void)fputs(style->dim, stderr);
    if (p->has_usage) {
        (void)fprintf(stderr, "prompt %lld tokens", (long long)p->prompt_tokens);
        if (p->cached_tokens)
            (void)fprintf(stderr, " (%lld cached)", (long long)p->cached_tokens);
        (void)fprintf(stderr, "; answer %lld tokens", (long long)p->completion_tokens);
        if (tokens_per_s(c) > 0) /* a tool call has no time of its first text */
            (void)fprintf(stderr, ", %.1f tokens/s", tokens_per_s(c));
    } else {
        (void)fprintf(stderr, "answer in %.1f s", c->total_s);
    }
    (void)fprintf(stderr, "; first after %.2f s", c->first_s);
    if (strcmp(p->finish, "length") == 0)
        (void)fputs("; stopped at the length limit", stderr);
    if (strcmp(finish_reason(c), "cancelled") == 0)
        (void)fputs("; interrupted", stderr);
    (void)fprintf(stderr, "%s\n", style->off);
}

static void write_json(const void *self, vug_json_writer *js)
{
    const vug_openai_client *c = self;
    const vug_completion_parser *p = &c->last;
    const vug_buf *text = &c->printer.content;
    vug_json_begin(js, NULL, '{');
    vug_json_put_text(js, "model", c->request.model.ptr, c->request.model.len);
    if (c->opt->raw)
        vug_json_put_text(js, "text", text->ptr ? text->ptr : "", text->len);
    else
        vug_response_printer_write_json(&c->printer, js);
    vug_json_put_string(js, "finish", finish_reason(c));
    if (p->has_usage) {
        vug_json_put_i64(js, "prompt_tokens", p->prompt_tokens);
        vug_json_put_i64(js, "cached_tokens", p->cached_tokens);
        vug_json_put_i64(js, "completion_tokens", p->completion_tokens);
    }
    if (c->opt->given[VUG_OPTION_logprobs])
        vug_response_printer_write_logprobs(&c->printer, js);
    vug_json_begin(js, "timings", '{');
    vug_json_put_f64(js, "first_s", c->first_s);
    vug_json_put_f64(js, "total_s", c->total_s);
    vug_json_end(js, '}');
    vug_json_end(js, '}');
}

/* Every request has the whole conversation, so there is no state on the server. */
static void reset_conversation(void *self)
{
    vug_openai_client *c = self;
    c->request.seed = c->opt->seed;
}

vug_chat_backend vug_openai_client_interface(vug_openai_client *c)
{
    return (vug_chat_backend){
        .self = c,
        .printer = &c->printer,
        .opt = c->opt,
        .generate = generate_response,
        .print_stats = print_stats,
        .write_json = write_json,
        .reset = reset_conversation,
    };
}
