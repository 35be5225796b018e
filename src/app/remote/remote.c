#include "app/remote/remote.h"

#include <stdlib.h>
#include <string.h>

#include "app/input.h"
#include "app/remote/events.h"
#include "core/os.h"

#define DEFAULT_URL "http://127.0.0.1:8080"

static const size_t max_form = (size_t)16 << 20, max_key_file = (size_t)1 << 20,
                    max_list = (size_t)16 << 20; /* bytes */

/* ---- setting up ------------------------------------------------------------------------ */

/* The first line that is not empty and no comment; as the files of `vug serve`. */
static vug_status key_of_file(vug_remote *r, const char **key, vug_err *err)
{
    const char *path = r->opt->key_file;
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
        st = VUG_FAIL(err, VUG_ARGUMENT, "--api-key-file %s: there is no key in it", path);
    else if (!(*key = vug_arena_copy(&r->arena, line).ptr))
        st = VUG_FAIL_NOMEM(err, "a key", line.len);
    vug_text_release(&text);
    return st;
}

static vug_status find_key(vug_remote *r, const char **key, vug_err *err)
{
    const vug_options *opt = r->opt;
    if (opt->key && opt->key_file)
        return VUG_FAIL(err, VUG_ARGUMENT, "--api-key and --api-key-file: one is enough");
    if (opt->key_file)
        return key_of_file(r, key, err);
    const char *own = getenv("OPENAI_API_KEY");
    *key = opt->key ? opt->key : own && *own ? own : NULL;
    return VUG_OK;
}

/* These files are put into requests as they are. */
static vug_status check_json(const char *option, const char *path, const vug_text *text,
                             vug_json_type type, vug_err *err)
{
    vug_arena arena = { 0 };
    const vug_jv *root;
    if (!text->ptr)
        return VUG_OK;
    vug_status st = vug_json_tree((vug_str){ text->ptr, text->len }, vug_input_name(path), &arena,
                                  &root, err);
    if (st == VUG_OK && root->type != type)
        st = VUG_FAIL(err, VUG_ARGUMENT, "%s %s: expected %s", option, path,
                      type == VUG_JSON_ARRAY ? "an array of tools" : "an object, a JSON schema");
    vug_arena_release(&arena);
    return st;
}

static vug_status read_files(vug_remote *r, vug_err *err)
{
    const vug_options *opt = r->opt;
    VUG_TRY(vug_setting_init(&r->setting, opt, err));
    if (opt->schema)
        VUG_TRY(vug_input_read(opt->schema, max_form, &r->schema, err));
    if (opt->grammar)
        VUG_TRY(vug_input_read(opt->grammar, max_form, &r->grammar, err));
    VUG_TRY(check_json("--tools", opt->tools, &r->setting.tools, VUG_JSON_ARRAY, err));
    return check_json("--schema", opt->schema, &r->schema, VUG_JSON_OBJECT, err);
}

vug_status vug_remote_init(vug_remote *r, vug_ui *ui, const vug_options *opt, vug_err *err)
{
    const char *key = NULL;
    *r = (vug_remote){ .opt = opt,
                       .next_seed = opt->seed,
                       .shown = { .ui = ui, .silent = opt->json } };
    VUG_TRY(find_key(r, &key, err));
    VUG_TRY(read_files(r, err));
    return vug_link_open(opt->url ? opt->url : DEFAULT_URL, key, opt->tls_ca, &r->link, err);
}

void vug_remote_release(vug_remote *r)
{
    vug_heard_release(&r->last);
    vug_shown_release(&r->shown);
    vug_link_close(r->link);
    vug_setting_release(&r->setting);
    vug_text_release(&r->schema);
    vug_text_release(&r->grammar);
    vug_arena_release(&r->arena);
    *r = (vug_remote){ 0 };
}

/* ---- which model ------------------------------------------------------------------------ */

static vug_status keep_bytes(vug_str bytes, bool stream, void *user, vug_err *err)
{
    vug_buf *to = user;
    (void)stream;
    vug_buf_append(to, bytes.ptr, bytes.len);
    return vug_buf_ok(to, err);
}

vug_status vug_remote_greet(vug_remote *r, vug_err *err)
{
    if (r->opt->model) {
        r->model = vug_str_of(r->opt->model);
        return VUG_OK;
    }
    vug_buf list = { .max = max_list };
    const vug_link_request request = { .path = "/models", .on_bytes = keep_bytes, .user = &list };
    vug_status st = vug_link_ask(r->link, &request, err);
    if (st == VUG_OK)
        st = vug_heard_model((vug_str){ list.ptr ? list.ptr : "", list.len },
                             vug_link_name(r->link), &r->arena, &r->model, err);
    vug_buf_release(&list);
    return st;
}

/* ---- one answer -------------------------------------------------------------------------- */

typedef struct {
    vug_remote *r;
    vug_events events;
    vug_buf whole; /* of a server that does not stream */
    double start;
} listening;

static bool on_part(const vug_part *part, void *user)
{
    listening *l = user;
    if (l->r->first_s < 0)
        l->r->first_s = vug_now() - l->start;
    return vug_shown_part(part, &l->r->shown);
}

static void on_token(const vug_shown_token *token, const vug_shown_token *top, size_t n_top,
                     void *user)
{
    const listening *l = user;
    vug_shown_logprob(&l->r->shown, token, top, n_top);
}

static vug_status on_event(vug_str data, void *user, vug_err *err)
{
    listening *l = user;
    const vug_heard *h = &l->r->last;
    VUG_TRY(vug_heard_event(&l->r->last, data, err));
    return h->over || h->done ? VUG_FAIL(err, VUG_CANCELLED, "enough is heard") : VUG_OK;
}

static vug_status on_bytes(vug_str bytes, bool stream, void *user, vug_err *err)
{
    listening *l = user;
    if (!stream)
        return keep_bytes(bytes, stream, &l->whole, err);
    return vug_events_feed(&l->events, bytes, on_event, l, err);
}

/* After [DONE] nothing is waited for, also not that the server closes the connection. */
static bool is_heard(const listening *l, vug_status st)
{
    return st == VUG_OK || (st == VUG_CANCELLED && l->r->last.done);
}

/* An answer is whole when the server has said how it ended. */
static vug_status finish(listening *l, vug_err *err)
{
    vug_remote *r = l->r;
    vug_heard *h = &r->last;
    if (l->whole.len)
        VUG_TRY(vug_heard_event(h, (vug_str){ l->whole.ptr, l->whole.len }, err));
    if (!h->finish[0] && !h->done)
        return VUG_FAIL(err, VUG_IO, "%s: the answer broke off", vug_link_name(r->link));
    for (size_t i = 0; i < h->n_calls; i++) {
        const vug_heard_call *c = &h->call[i];
        const vug_str none = { "{}", 2 }, arguments = { c->arguments.ptr, c->arguments.len };
        if (!vug_shown_call(&r->shown, (vug_str){ c->id.ptr, c->id.len },
                            (vug_str){ c->name.ptr ? c->name.ptr : "", c->name.len },
                            arguments.len ? arguments : none))
            break;
    }
    return VUG_OK;
}

static vug_status ask(listening *l, const vug_talk *talk, const vug_str *raw, vug_err *err)
{
    vug_buf body = { 0 };
    vug_status st = vug_remote_request(l->r, talk, raw, &body, err);
    const vug_link_request request = {
        .path = raw ? "/completions" : "/chat/completions",
        .body = body.ptr,
        .body_len = body.len,
        .on_bytes = on_bytes,
        .user = l,
    };
    if (st == VUG_OK)
        st = vug_link_ask(l->r->link, &request, err);
    vug_buf_release(&body);
    return is_heard(l, st) ? finish(l, err) : st;
}

static vug_status answer(void *self, const vug_talk *talk, const vug_str *raw, bool *interrupted,
                         vug_err *err)
{
    vug_remote *r = self;
    listening l = { .r = r, .whole = { .max = VUG_EVENTS_MAX }, .start = vug_now() };
    vug_heard_release(&r->last);
    r->last = (vug_heard){
        .name = vug_link_name(r->link),
        .on_part = on_part,
        .on_token = r->opt->given[VUG_OPTION_logprobs] ? on_token : NULL,
        .user = &l,
    };
    r->first_s = -1;
    vug_shown_begin(&r->shown);
    vug_status st = ask(&l, talk, raw, err);
    vug_shown_end(&r->shown);
    r->total_s = vug_now() - l.start;
    if (r->first_s < 0) /* a call, or nothing */
        r->first_s = r->total_s;
    if (st == VUG_CANCELLED) {
        *interrupted = !r->last.over; /* a reader of ours who left is no Ctrl-C */
        st = VUG_OK;
    }
    r->next_seed += st == VUG_OK;
    r->last.user = NULL;
    vug_events_release(&l.events);
    vug_buf_release(&l.whole);
    return st;
}

/* ---- what it took -------------------------------------------------------------------------- */

static const char *finish_of(const vug_remote *r)
{
    return r->last.finish[0] ? r->last.finish : r->last.done ? "stop" : "cancelled";
}

static double speed(const vug_remote *r)
{
    const double seconds = r->total_s - r->first_s;
    const int64_t n = r->last.completion_tokens;
    return n > 1 && seconds > 0 ? (double)(n - 1) / seconds : 0;
}

static void figures(const void *self)
{
    const vug_remote *r = self;
    const vug_heard *h = &r->last;
    const vug_style *style = &r->shown.ui->err;
    (void)fputs(style->dim, stderr);
    if (h->has_usage) {
        (void)fprintf(stderr, "prompt %lld tokens", (long long)h->prompt_tokens);
        if (h->cached_tokens)
            (void)fprintf(stderr, " (%lld cached)", (long long)h->cached_tokens);
        (void)fprintf(stderr, "; answer %lld tokens", (long long)h->completion_tokens);
        if (speed(r) > 0) /* not of a call, which comes at once */
            (void)fprintf(stderr, ", %.1f tokens/s", speed(r));
    } else {
        (void)fprintf(stderr, "answer in %.1f s", r->total_s);
    }
    (void)fprintf(stderr, "; first after %.2f s", r->first_s);
    if (strcmp(h->finish, "length") == 0)
        (void)fputs("; stopped at the length limit", stderr);
    if (strcmp(finish_of(r), "cancelled") == 0)
        (void)fputs("; interrupted", stderr);
    (void)fprintf(stderr, "%s\n", style->off);
}

static void json(const void *self, vug_js *js)
{
    const vug_remote *r = self;
    const vug_heard *h = &r->last;
    const vug_buf *text = &r->shown.content;
    vug_js_open(js, NULL, '{');
    vug_js_text(js, "model", r->model.ptr, r->model.len);
    if (r->opt->raw)
        vug_js_text(js, "text", text->ptr ? text->ptr : "", text->len);
    else
        vug_shown_json(&r->shown, js);
    vug_js_str(js, "finish", finish_of(r));
    if (h->has_usage) {
        vug_js_int(js, "prompt_tokens", h->prompt_tokens);
        vug_js_int(js, "cached_tokens", h->cached_tokens);
        vug_js_int(js, "completion_tokens", h->completion_tokens);
    }
    if (r->opt->given[VUG_OPTION_logprobs])
        vug_shown_logprobs_json(&r->shown, js);
    vug_js_open(js, "timings", '{');
    vug_js_f64(js, "first_s", r->first_s);
    vug_js_f64(js, "total_s", r->total_s);
    vug_js_close(js, '}');
    vug_js_close(js, '}');
}

/* The conversation is in every request: the server has nothing to forget. */
static void reset(void *self)
{
    vug_remote *r = self;
    r->next_seed = r->opt->seed;
}

vug_partner vug_remote_partner(vug_remote *r)
{
    return (vug_partner){
        .self = r,
        .shown = &r->shown,
        .opt = r->opt,
        .answer = answer,
        .figures = figures,
        .json = json,
        .reset = reset,
    };
}
