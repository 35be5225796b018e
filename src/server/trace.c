#include <stdio.h>

#include "core/json_writer.h"
#include "core/os.h"
#include "server/internal.h"

/* FOLDER/ID.json: {"time","id","path","seed","request","status","cache","answer"}. Sending `request`
 * again reproduces the answer; `seed` must be added where the request has none. `cache` says of each
 * prompt what was cached, and the first token that differs from what is or was. */

static void write_token(vug_json_writer *js, const char *key, const vug_service *s, int32_t id)
{
    vug_text text = { 0 };
    if (id >= 0 && vug_tokenizer_bytes(s->tokenizer, id, &text, NULL) == VUG_OK)
        vug_json_put_text(js, key, text.ptr, text.len);
    else
        vug_json_put_string(js, key, NULL);
    vug_text_release(&text);
}

static void write_cache(const vug_server_request *request, vug_json_writer *js)
{
    static const char *const reason[] = { [VUG_MISS_NONE] = "all cached",
                                          [VUG_MISS_DIFFERS] = "differs",
                                          [VUG_MISS_EVICTED] = "evicted",
                                          [VUG_MISS_SNAPSHOT] = "no snapshot" };
    vug_json_begin(js, "cache", '[');
    for (size_t i = 0; i < request->n_prompts; i++) {
        const vug_prompt_cache *c = &request->cache[i];
        const vug_tokens *tokens = &request->tokens[i];
        const size_t at = c->miss.n_same;
        if (!c->is_known)
            continue;
        vug_json_begin(js, NULL, '{');
        vug_json_put_i64(js, "prompt_tokens", (int64_t)tokens->n);
        vug_json_put_i64(js, "cached_tokens", (int64_t)c->n_cached);
        vug_json_put_string(js, "reason", reason[c->miss.reason]);
        vug_json_put_i64(js, "same_tokens", (int64_t)at);
        write_token(js, "next_token", request->service, at < tokens->n ? tokens->id[at] : -1);
        write_token(js, "next_cached_token", request->service, c->miss.cached);
        vug_json_end(js, '}');
    }
    vug_json_end(js, ']');
}

static void write_record(const vug_server_request *request, int status, const vug_buf *response,
                         vug_buf *to)
{
    const vug_str body = request->sender.body;
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_i64(&js, "time", request->head.created);
    vug_json_put_string(&js, "id", request->sender.request_id);
    vug_json_put_string(&js, "path", vug_api_endpoint_path(request->head.endpoint));
    vug_json_put_i64(&js, "seed", (int64_t)request->sampling.seed);
    vug_json_put_raw(&js, "request", body.ptr, body.len);
    vug_json_put_i64(&js, "status", status);
    write_cache(request, &js);
    if (request->head.stream || response->len == 0)
        vug_json_put_text(&js, "answer", response->ptr, response->len);
    else
        vug_json_put_raw(&js, "answer", response->ptr, response->len);
    vug_json_end(&js, '}');
    vug_buf_puts(to, "\n");
}

void vug_server_trace(vug_server_request *request, int status, const vug_buf *response)
{
    vug_service *s = request->service;
    char name[96];
    vug_err err;
    if (!s->opt.trace)
        return;
    (void)snprintf(name, sizeof(name), "%s.json", request->sender.request_id);
    char *path = vug_path_join(s->opt.trace, name);
    vug_buf record = { 0 };
    vug_out out;
    write_record(request, status, response, &record);
    vug_status st = vug_buf_ok(&record, &err);
    if (!path)
        st = VUG_FAIL_NOMEM(&err, "a record", 0);
    if (st == VUG_OK) {
        vug_out_open_private(&out, path);
        vug_out_write(&out, record.ptr, record.len);
        st = vug_out_commit(&out, &err);
    }
    if (st != VUG_OK && !atomic_exchange(&s->trace_failed, true))
        (void)fprintf(stderr, "vug: note: requests cannot be recorded: %s\n", err.msg);
    if (st == VUG_OK)
        atomic_store(&s->trace_failed, false);
    vug_buf_release(&record);
    vug_free(path);
}
