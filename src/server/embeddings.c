#include "server/respond.h"

/*
 * Embeddings. All requests share one embedder, which is created for the first of them; they take
 * turns with it, some texts at a time. Its steps are short, so that answers that are generated at
 * the same time do not wait long.
 */

enum {
    MAX_STEP = 128, /* tokens */
    TEXTS = 16,     /* in a step, and in a turn */
};

/* Under the lock of the embedder. */
static vug_status require_embedder(vug_service *s, vug_err *err)
{
    const vug_embedder_options options = {
        .pooling = s->opt.pooling,
        .step = s->info.batch < MAX_STEP ? (int)s->info.batch : MAX_STEP,
        .texts = TEXTS,
    };
    return s->embedder ? VUG_OK : vug_embedder_create(s->model, &options, &s->embedder, err);
}

static vug_status embed_some(vug_server_request *request, const vug_tokens *text, size_t n,
                             float *out, vug_err *err)
{
    vug_service *s = request->service;
    vug_mutex_lock(s->embedder_lock);
    vug_status st = require_embedder(s, err);
    if (st == VUG_OK)
        st = vug_embed(s->embedder, text, n, &request->job.cancel, out, err);
    vug_mutex_unlock(s->embedder_lock);
    return st;
}

static vug_status embed_all(vug_server_request *request, float *out, vug_err *err)
{
    const size_t n = request->n_prompts, width = (size_t)request->service->info.d_model;
    for (size_t at = 0; at < n; at += TEXTS) {
        const size_t take = n - at < TEXTS ? n - at : TEXTS;
        VUG_TRY(embed_some(request, request->tokens + at, take, out + at * width, err));
    }
    return VUG_OK;
}

static vug_status write_embeddings(vug_server_request *request, vug_buf *body, vug_err *err)
{
    const vug_request_sender *sender = &request->sender;
    vug_metrics *metrics = request->service->opt.http.metrics;
    vug_api_embeddings e = { .model = request->head.model,
                             .n = request->n_prompts,
                             .width = (size_t)request->service->info.d_model,
                             .as_base64 = request->api.as_base64 };
    const size_t bytes = e.n * e.width * sizeof(float);
    for (size_t i = 0; i < e.n; i++)
        e.n_tokens += request->tokens[i].n;
    if (!sender->call->reserve(sender->self, bytes + vug_api_embeddings_bytes(&e)))
        return vug_server_out_of_memory(err);
    float *x = vug_alloc(e.n * e.width, sizeof(*x));
    if (!x)
        return VUG_FAIL_NOMEM(err, "embeddings", bytes);
    vug_status st = embed_all(request, x, err);
    if (st == VUG_OK) {
        e.x = x;
        vug_metrics_add(metrics, VUG_METRIC_PROMPT_TOKENS, NULL, (double)e.n_tokens);
        vug_api_embeddings_write(&e, body);
        st = vug_buf_ok(body, err);
    }
    vug_free(x);
    return st;
}

void vug_server_embed(vug_server_request *request)
{
    vug_buf body = { 0 };
    vug_err err = { 0 };
    const vug_status st = write_embeddings(request, &body, &err);
    vug_server_request_end(request, st, &err, &body);
    vug_server_request_free(request);
}
