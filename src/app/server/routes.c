#include "app/server/service_own.h"

#include <stdio.h>
#include <string.h>

#include "core/os.h"

/* What each route does; chats and completions go on in answering.c. */

/* ---- routes that need no model ------------------------------------------------------ */

/* 200 while requests are taken; 503 tells who spreads them over servers to go elsewhere. */
void vug_serve_health(vug_http_call *call, void *service)
{
    vug_service *s = service;
    vug_http *http = atomic_load(&s->http);
    const char *word = "ok";
    if (http && vug_http_draining(http))
        word = "shutting down";
    else if (atomic_load(&s->state) != VUG_SERVICE_READY)
        word = "loading";
    const vug_http_head head = { .status = word[0] == 'o' ? 200 : 503 };
    vug_buf body = { 0 };
    vug_buf_printf(&body, "{\"status\":\"%s\"}\n", word);
    vug_http_reply(call, &head, &body);
}

void vug_serve_metrics(vug_http_call *call, void *service)
{
    const vug_service *s = service;
    const vug_http_head head = { .type = "text/plain; version=0.0.4; charset=utf-8" };
    vug_buf body = { 0 };
    vug_metrics_write(s->opt.metrics, &body);
    vug_http_reply(call, &head, &body);
}

/* ---- the model, described ----------------------------------------------------------- */

/* Otherwise the call is ended. */
static bool is_ready(vug_service *s, vug_http_call *call)
{
    vug_api_error error;
    if (atomic_load(&s->state) == VUG_SERVICE_READY)
        return true;
    vug_api_error_set(&error, VUG_API_UNAVAILABLE, NULL, "The model is being loaded");
    vug_http_fail(call, &error);
    return false;
}

static vug_api_model describe(const vug_service *s, vug_str name)
{
    return (vug_api_model){ .id = name, .created = s->created, .context = s->info.context };
}

void vug_serve_models(vug_http_call *call, void *service)
{
    vug_service *s = service;
    const vug_http_names *aliases = &s->opt.aliases;
    vug_buf body = { 0 };
    size_t n = 0;
    if (!is_ready(s, call))
        return;
    vug_api_model *model = vug_alloc_zero(aliases->n + 1, sizeof(*model));
    if (!model)
        body.bad = true; /* which is a 500 */
    if (model)
        model[n++] = describe(s, s->name);
    for (size_t i = 0; model && i < aliases->n; i++) {
        if (strcmp(aliases->item[i], "*") != 0)
            model[n++] = describe(s, vug_str_of(aliases->item[i]));
    }
    if (model)
        vug_api_models_write(model, n, &body);
    vug_free(model);
    vug_http_reply(call, NULL, &body);
}

void vug_serve_model(vug_http_call *call, void *service)
{
    vug_service *s = service;
    vug_api_error error;
    vug_buf body = { 0 };
    const vug_str name = vug_http_rest(call);
    if (!is_ready(s, call))
        return;
    if (!vug_ask_name(s, name)) {
        vug_api_error_model(&error, name);
        vug_http_fail(call, &error);
        return;
    }
    const vug_api_model model = describe(s, name);
    vug_api_model_write(&model, &body);
    vug_http_reply(call, NULL, &body);
}

void vug_serve_props(vug_http_call *call, void *service)
{
    vug_service *s = service;
    vug_buf body = { 0 };
    char name[256];
    if (!is_ready(s, call))
        return;
    (void)snprintf(name, sizeof(name), "%.*s", VUG_STR_ARG(s->name));
    const vug_api_props props = {
        .model = name,
        .architecture = s->info.architecture,
        .template_source = s->chat ? vug_path_base(vug_chat_source(s->chat)) : NULL,
        .context = s->info.context,
        .slots = s->sessions.max,
        .sampling = &s->sampling,
    };
    vug_api_props_write(&props, &body);
    vug_http_reply(call, NULL, &body);
}

/* ---- requests ----------------------------------------------------------------------- */

static vug_asked *read_request(vug_service *s, vug_http_call *call, vug_api_endpoint endpoint)
{
    vug_api_error error;
    if (!is_ready(s, call))
        return NULL;
    vug_asked *asked = vug_alloc_zero(1, sizeof(*asked));
    if (asked) {
        asked->began = vug_now();
        asked->service = s;
        asked->call = call;
        asked->job.worker = s->worker;
        if (vug_ask(asked, endpoint, &error))
            return asked;
    } else {
        (void)vug_ask_no_memory(&error);
    }
    vug_http_fail(call, &error);
    vug_asked_free(asked);
    return NULL;
}

static void queue(vug_service *s, vug_http_call *call, vug_api_endpoint endpoint,
                  void (*answer)(vug_job *job))
{
    vug_api_error error;
    /* First, so that a request for which there is no place costs nothing. */
    if (!vug_worker_admit(s->worker)) {
        vug_api_error_set(&error, VUG_API_BUSY, NULL,
                          "%d requests wait for the model already; try again later",
                          s->opt.max_waiting);
        vug_http_fail(call, &error);
        return;
    }
    vug_asked *asked = read_request(s, call, endpoint);
    if (asked && vug_http_keep(call, vug_asked_bytes(asked))) {
        asked->job.run = answer;
        if (asked->head.stream)
            vug_http_stream_begin(call, NULL);
        vug_http_on_gone(call, vug_worker_abandon, &asked->job);
        vug_worker_push(&asked->job);
        return;
    }
    vug_worker_dismiss(s->worker);
    if (!asked)
        return;
    vug_api_error_set(&error, VUG_API_UNAVAILABLE, NULL, "There is no memory for the request now.");
    vug_http_fail(call, &error);
    vug_asked_free(asked);
}

void vug_serve_chat(vug_http_call *call, void *service)
{
    queue(service, call, VUG_API_CHAT, vug_answer_chat);
}

void vug_serve_text(vug_http_call *call, void *service)
{
    queue(service, call, VUG_API_TEXT, vug_answer_text);
}

static void end_plain(vug_asked *asked, vug_buf *body, const vug_err *err)
{
    vug_api_error error;
    vug_err full;
    const bool has_room = !body->bad && vug_http_keep(asked->call, body->len);
    if (!err && !has_room && vug_ask_no_room(&full) != VUG_OK)
        err = &full;
    if (err) {
        vug_api_error_take(&error, err, NULL);
        vug_http_fail(asked->call, &error);
        vug_buf_release(body);
    } else {
        vug_http_reply(asked->call, NULL, body);
    }
    vug_asked_free(asked);
}

typedef struct {
    const vug_tokenizer *tokenizer;
    vug_text last;
} speller;

static vug_str spell(int32_t id, void *user)
{
    speller *s = user;
    vug_text_release(&s->last);
    if (vug_tokenizer_bytes(s->tokenizer, id, &s->last, NULL) != VUG_OK)
        return (vug_str){ 0 };
    return (vug_str){ s->last.ptr, s->last.len };
}

void vug_serve_tokenize(vug_http_call *call, void *service)
{
    const vug_service *s = service;
    vug_asked *asked = read_request(service, call, VUG_API_TOKENIZE);
    vug_buf body = { 0 };
    if (!asked)
        return;
    speller by = { .tokenizer = s->tokenizer };
    const vug_api_tokens tokens = { .id = asked->tokens[0].id,
                                    .n = asked->tokens[0].n,
                                    .context = s->info.context,
                                    .spell = spell,
                                    .user = &by };
    vug_api_tokenize_write(&asked->request, &tokens, &body);
    vug_text_release(&by.last);
    end_plain(asked, &body, NULL);
}

void vug_serve_detokenize(vug_http_call *call, void *service)
{
    const vug_service *s = service;
    vug_asked *asked = read_request(service, call, VUG_API_DETOKENIZE);
    vug_buf body = { 0 };
    vug_text text = { 0 };
    vug_err err;
    if (!asked)
        return;
    const vug_api_prompt *prompt = asked->request.prompt;
    const vug_status st =
            vug_tokenizer_decode(s->tokenizer, prompt->id, prompt->n, false, &text, &err);
    if (st == VUG_OK)
        vug_api_detokenize_write(text.ptr, text.len, &body);
    vug_text_release(&text);
    end_plain(asked, &body, st == VUG_OK ? NULL : &err);
}

void vug_serve_template(vug_http_call *call, void *service)
{
    vug_asked *asked = read_request(service, call, VUG_API_TEMPLATE);
    vug_buf body = { 0 };
    if (!asked)
        return;
    vug_api_template_write(asked->prompt.text.ptr, asked->prompt.text.len, &body);
    end_plain(asked, &body, NULL);
}
