#include <stdio.h>
#include <string.h>

#include "core/os.h"
#include "server/internal.h"
#include "vug/stats.h"

/* What each route does. completions.c continues chats and completions. */

/* ---- routes that work without a model ------------------------------------------------------ */

typedef enum { HEALTH_OK, HEALTH_LOADING, HEALTH_SHUTTING_DOWN, HEALTH_DEVICE_FAILED } health_state;

static health_state find_health(vug_service *s)
{
    vug_http *http = atomic_load(&s->http);
    if (http && vug_http_draining(http))
        return HEALTH_SHUTTING_DOWN;
    if (atomic_load(&s->state) != VUG_SERVICE_READY)
        return HEALTH_LOADING;
    return vug_model_device_failed(s->model) ? HEALTH_DEVICE_FAILED : HEALTH_OK;
}

/* 503 tells load balancers to use another server. */
static void serve_health(vug_http_request *http, void *user)
{
    static const char *const name[] = {
        [HEALTH_OK] = "ok",
        [HEALTH_LOADING] = "loading",
        [HEALTH_SHUTTING_DOWN] = "shutting down",
        [HEALTH_DEVICE_FAILED] = "device failure",
    };
    const health_state health = find_health(user);
    const vug_http_response_head head = {
        .status = health == HEALTH_OK ? VUG_HTTP_OK : VUG_HTTP_UNAVAILABLE,
    };
    vug_buf body = { 0 };
    vug_buf_printf(&body, "{\"status\":\"%s\"}\n", name[health]);
    vug_http_reply(http, &head, &body);
}

/* Metrics that the model knows. */
static void update_model_metrics(const vug_service *s)
{
    vug_metrics *metrics = s->opt.http.metrics;
    const vug_cache_stats cache = vug_model_cache_stats(s->model);
    vug_metrics_set(metrics, VUG_METRIC_KV_BUDGET, (double)cache.budget);
    vug_metrics_set(metrics, VUG_METRIC_KV_USED, (double)cache.used);
    vug_metrics_set(metrics, VUG_METRIC_KV_CACHED, (double)cache.cached);
    vug_metrics_set(metrics, VUG_METRIC_KV_SEQUENCES, (double)cache.sessions);
    vug_metrics_set(metrics, VUG_METRIC_KV_SNAPSHOTS, (double)cache.snapshots);
    vug_metrics_set(metrics, VUG_METRIC_KV_SNAPSHOT_BYTES, (double)cache.snapshot_bytes);
    vug_metrics_set(metrics, VUG_METRIC_KV_EVICTIONS, (double)cache.evictions);
    const vug_device_memory memory = vug_model_device_memory(s->model);
    vug_metrics_set(metrics, VUG_METRIC_DEVICE_ACTIVE, (double)memory.active);
    vug_metrics_set(metrics, VUG_METRIC_DEVICE_CACHED, (double)memory.cached);
    vug_metrics_set(metrics, VUG_METRIC_DEVICE_PEAK, (double)memory.peak);
}

static void serve_metrics(vug_http_request *http, void *user)
{
    vug_service *s = user;
    const vug_http_response_head head = { .type = "text/plain; version=0.0.4; charset=utf-8" };
    vug_buf body = { 0 };
    if (atomic_load(&s->state) == VUG_SERVICE_READY)
        update_model_metrics(s);
    vug_metrics_write(s->opt.http.metrics, &body);
    vug_http_reply(http, &head, &body);
}

/* ---- the model ---------------------------------------------------------------------- */

/* Otherwise fails the request. */
static bool require_model(vug_service *s, vug_http_request *http)
{
    vug_api_error error;
    if (atomic_load(&s->state) == VUG_SERVICE_READY)
        return true;
    vug_api_error_set(&error, VUG_API_UNAVAILABLE, NULL, "The model is being loaded");
    vug_http_fail(http, &error);
    return false;
}

static vug_api_model describe_model(const vug_service *s, vug_str name)
{
    return (vug_api_model){ .id = name, .created = s->created, .context = s->info.context };
}

static void serve_models(vug_http_request *http, void *user)
{
    vug_service *s = user;
    const vug_string_list *aliases = &s->opt.aliases;
    vug_buf body = { 0 };
    size_t n = 0;
    if (!require_model(s, http))
        return;
    vug_api_model *model = vug_alloc_zero(aliases->n + 1, sizeof(*model));
    if (!model)
        body.bad = true; /* answers with 500 */
    if (model)
        model[n++] = describe_model(s, s->name);
    for (size_t i = 0; model && i < aliases->n; i++) {
        if (strcmp(aliases->item[i], "*") != 0)
            model[n++] = describe_model(s, vug_str_of(aliases->item[i]));
    }
    if (model)
        vug_api_models_write(model, n, &body);
    vug_free(model);
    vug_http_reply(http, NULL, &body);
}

static void serve_model(vug_http_request *http, void *user)
{
    vug_service *s = user;
    vug_api_error error;
    vug_buf body = { 0 };
    const vug_str name = vug_http_path_suffix(http);
    if (!require_model(s, http))
        return;
    if (!vug_service_has_name(s, name)) {
        vug_api_error_unknown_model(&error, name);
        vug_http_fail(http, &error);
        return;
    }
    const vug_api_model model = describe_model(s, name);
    vug_api_model_write(&model, &body);
    vug_http_reply(http, NULL, &body);
}

static void serve_props(vug_http_request *http, void *user)
{
    vug_service *s = user;
    vug_buf body = { 0 };
    char name[256];
    if (!require_model(s, http))
        return;
    (void)snprintf(name, sizeof(name), "%.*s", VUG_STR_ARG(s->name));
    const vug_api_props props = {
        .model = name,
        .architecture = s->info.architecture,
        .template_source = s->chat ? vug_path_base(vug_chat_source(s->chat)) : NULL,
        .context = s->info.context,
        .slots = s->opt.model.slots,
        .sampling = &s->sampling,
    };
    vug_api_props_write(&props, &body);
    vug_http_reply(http, NULL, &body);
}

static void serve_version(vug_http_request *http, void *user)
{
    vug_buf body = { 0 };
    (void)user;
    vug_api_version_write(&body);
    vug_http_reply(http, NULL, &body);
}

/* The spelling of the token that the tokenizer puts in front of a text; NULL: none. */
static const char *find_bos(const vug_tokenizer *tokenizer)
{
    vug_tokens tokens = { 0 };
    const char *bos = NULL;
    if (vug_tokenizer_encode(tokenizer, "", 0, VUG_ENCODE_ADD_SPECIAL, &tokens, NULL) == VUG_OK &&
        tokens.n > 0)
        bos = vug_tokenizer_token(tokenizer, tokens.id[0], NULL);
    vug_tokens_release(&tokens);
    return bos;
}

static void serve_tokenizer_info(vug_http_request *http, void *user)
{
    vug_service *s = user;
    vug_buf body = { 0 };
    size_t n = 0;
    if (!require_model(s, http))
        return;
    const int32_t *stop = vug_model_stop_tokens(s->model, &n);
    const vug_api_tokenizer_info info = {
        .bos = find_bos(s->tokenizer),
        .eos = n > 0 ? vug_tokenizer_token(s->tokenizer, stop[0], NULL) : NULL,
        .size = vug_tokenizer_size(s->tokenizer),
        .context = s->info.context,
        .template_source = s->chat ? vug_path_base(vug_chat_source(s->chat)) : NULL,
    };
    vug_api_tokenizer_info_write(&info, &body);
    vug_http_reply(http, NULL, &body);
}

static void serve_slots(vug_http_request *http, void *user)
{
    vug_buf body = { 0 };
    if (!require_model(user, http))
        return;
    vug_server_slots_write(user, &body);
    vug_http_reply(http, NULL, &body);
}

/* ---- chats and completions ---------------------------------------------------------- */

/* NULL when the request was failed. */
static vug_server_request *prepare_request(vug_service *s, vug_http_request *http,
                                           vug_api_endpoint endpoint)
{
    vug_api_error error;
    if (!require_model(s, http))
        return NULL;
    const vug_request_sender sender = vug_server_http_sender(http);
    vug_server_request *request = vug_server_request_create(s, &sender, endpoint, &error);
    if (!request)
        vug_http_fail(http, &error);
    return request;
}

static void queue_request(vug_service *s, vug_http_request *http, vug_api_endpoint endpoint)
{
    vug_api_error error;
    /* Before parsing, so that a request that finds the queue full costs nothing. */
    if (!vug_server_admit(s, &error)) {
        vug_http_fail(http, &error);
        return;
    }
    vug_server_request *request = prepare_request(s, http, endpoint);
    if (request && vug_http_reserve(http, vug_server_request_bytes(request))) {
        if (request->head.stream)
            vug_http_stream_begin(http, request->headers);
        vug_http_on_disconnect(http, vug_job_cancel, &request->job);
        vug_server_push(request);
        return;
    }
    vug_job_queue_release(s->queue);
    if (!request)
        return;
    vug_api_error_set(&error, VUG_API_UNAVAILABLE, NULL,
                      "There is not enough memory for the request now.");
    vug_http_fail(http, &error);
    vug_server_request_free(request);
}

static void serve_chat(vug_http_request *http, void *user)
{
    queue_request(user, http, VUG_API_CHAT);
}

static void serve_completion(vug_http_request *http, void *user)
{
    queue_request(user, http, VUG_API_COMPLETION);
}

static void serve_native(vug_http_request *http, void *user)
{
    queue_request(user, http, VUG_API_NATIVE);
}

static void serve_infill(vug_http_request *http, void *user)
{
    queue_request(user, http, VUG_API_INFILL);
}

static void serve_embeddings(vug_http_request *http, void *user)
{
    queue_request(user, http, VUG_API_EMBEDDING);
}

/* ---- the tokenizer and the template ------------------------------------------------- */

/* Replies with `body`, or fails with `err` unless that is NULL; frees the request. */
static void reply_and_free(vug_server_request *request, vug_buf *body, const vug_err *err)
{
    vug_api_error error;
    vug_err no_memory;
    if (!err && (body->bad || !request->sender.call->reserve(request->sender.self, body->len)) &&
        vug_server_out_of_memory(&no_memory) != VUG_OK)
        err = &no_memory;
    if (err) {
        vug_api_error_from(&error, err, NULL);
        request->sender.call->fail(request->sender.self, &error);
        vug_buf_release(body);
    } else {
        request->sender.call->reply(request->sender.self, request->headers, body);
    }
    vug_server_request_free(request);
}

typedef struct {
    const vug_tokenizer *tokenizer;
    vug_text last;
} token_speller;

static vug_str spell_token(int32_t id, void *user)
{
    token_speller *s = user;
    vug_text_release(&s->last);
    if (vug_tokenizer_bytes(s->tokenizer, id, &s->last, NULL) != VUG_OK)
        return (vug_str){ 0 };
    return (vug_str){ s->last.ptr, s->last.len };
}

static void serve_tokenize(vug_http_request *http, void *user)
{
    const vug_service *s = user;
    vug_server_request *request = prepare_request(user, http, VUG_API_TOKENIZE);
    vug_buf body = { 0 };
    if (!request)
        return;
    token_speller speller = { .tokenizer = s->tokenizer };
    const vug_api_tokens tokens = { .id = request->tokens[0].id,
                                    .n = request->tokens[0].n,
                                    .context = s->info.context,
                                    .spell = spell_token,
                                    .user = &speller };
    vug_api_tokenize_write(&request->api, &tokens, &body);
    vug_text_release(&speller.last);
    reply_and_free(request, &body, NULL);
}

static void serve_detokenize(vug_http_request *http, void *user)
{
    const vug_service *s = user;
    vug_server_request *request = prepare_request(user, http, VUG_API_DETOKENIZE);
    vug_buf body = { 0 };
    vug_text text = { 0 };
    vug_err err;
    if (!request)
        return;
    const vug_api_prompt *prompt = request->api.prompt;
    const vug_status st =
            vug_tokenizer_decode(s->tokenizer, prompt->id, prompt->n, false, &text, &err);
    if (st == VUG_OK)
        vug_api_detokenize_write(text.ptr, text.len, &body);
    vug_text_release(&text);
    reply_and_free(request, &body, st == VUG_OK ? NULL : &err);
}

static void serve_template(vug_http_request *http, void *user)
{
    vug_server_request *request = prepare_request(user, http, VUG_API_TEMPLATE);
    vug_buf body = { 0 };
    if (!request)
        return;
    vug_api_template_write(request->prompt.text.ptr, request->prompt.text.len, &body);
    reply_and_free(request, &body, NULL);
}

/* Clients may have a base URL without /v1. */
static const vug_http_route routes[] = {
    { VUG_HTTP_GET, "/health", VUG_HTTP_PUBLIC, serve_health },
    { VUG_HTTP_POST, "/v1/chat/completions", VUG_HTTP_QUEUED, serve_chat },
    { VUG_HTTP_POST, "/v1/completions", VUG_HTTP_QUEUED, serve_completion },
    { VUG_HTTP_POST, "/chat/completions", VUG_HTTP_QUEUED, serve_chat },
    { VUG_HTTP_POST, "/completions", VUG_HTTP_QUEUED, serve_completion },
    { VUG_HTTP_POST, "/completion", VUG_HTTP_QUEUED, serve_native },
    { VUG_HTTP_POST, "/infill", VUG_HTTP_QUEUED, serve_infill },
    { VUG_HTTP_POST, "/v1/embeddings", VUG_HTTP_QUEUED, serve_embeddings },
    { VUG_HTTP_POST, "/embeddings", VUG_HTTP_QUEUED, serve_embeddings },
    { VUG_HTTP_GET, "/v1/models", 0, serve_models },
    { VUG_HTTP_GET, "/v1/models/", VUG_HTTP_PREFIX, serve_model },
    { VUG_HTTP_GET, "/models", 0, serve_models },
    { VUG_HTTP_GET, "/models/", VUG_HTTP_PREFIX, serve_model },
    { VUG_HTTP_POST, "/tokenize", VUG_HTTP_QUEUED, serve_tokenize },
    { VUG_HTTP_POST, "/detokenize", VUG_HTTP_QUEUED, serve_detokenize },
    { VUG_HTTP_POST, "/apply-template", VUG_HTTP_QUEUED, serve_template },
    { VUG_HTTP_GET, "/tokenizer_info", 0, serve_tokenizer_info },
    { VUG_HTTP_GET, "/version", 0, serve_version },
    { VUG_HTTP_GET, "/props", 0, serve_props },
    { VUG_HTTP_GET, "/slots", 0, serve_slots },
    { VUG_HTTP_GET, "/metrics", 0, serve_metrics },
};

const vug_http_route *vug_server_routes(size_t *n)
{
    *n = sizeof(routes) / sizeof(routes[0]);
    return routes;
}
