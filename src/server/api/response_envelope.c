#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "server/api/internal.h"

/* What chats and completions share: the head, usage, finish reasons, the end of a stream. */

void vug_api_write_prompt_ids(const vug_tokens *prompt, vug_json_writer *js)
{
    if (!prompt)
        return;
    vug_json_begin(js, "prompt_token_ids", '[');
    for (size_t i = 0; i < prompt->n; i++)
        vug_json_put_i64(js, NULL, prompt->id[i]);
    vug_json_end(js, ']');
}

void vug_api_add_id(const vug_api_response_head *head, int32_t id, vug_buf *ids)
{
    if (head->token_ids)
        vug_buf_printf(ids, "%s%d", ids->len ? "," : "", id);
}

void vug_api_write_ids(const vug_api_response_head *head, const vug_buf *ids, vug_json_writer *js)
{
    if (!head->token_ids)
        return;
    vug_json_begin(js, "token_ids", '[');
    vug_json_put_raw(js, NULL, ids->ptr, ids->len);
    vug_json_end(js, ']');
}

static void write_head(const vug_api_response_head *head, const char *object, vug_json_writer *js)
{
    char id[32];
    (void)snprintf(id, sizeof(id), "%s-%016" PRIx64,
                   head->endpoint == VUG_API_COMPLETION ? "cmpl" : "chatcmpl", head->id);
    vug_json_begin(js, NULL, '{');
    vug_json_put_string(js, "id", id);
    vug_json_put_string(js, "object", object);
    vug_json_put_i64(js, "created", head->created);
    vug_json_put_text(js, "model", head->model.ptr, head->model.len);
}

void vug_api_write_head(const vug_api_response_head *head, vug_json_writer *js)
{
    write_head(head, head->endpoint == VUG_API_COMPLETION ? "text_completion" : "chat.completion",
               js);
    vug_json_put_string(js, "system_fingerprint", head->fingerprint);
}

vug_json_writer vug_api_write_event_head(const vug_api_response_head *head, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_buf_puts(to, "data: ");
    write_head(head,
               head->endpoint == VUG_API_COMPLETION ? "text_completion" : "chat.completion.chunk",
               &js);
    return js;
}

void vug_api_begin_choices(vug_json_writer *js)
{
    vug_json_begin(js, "choices", '[');
}

void vug_api_write_progress(const vug_api_progress *progress, vug_json_writer *js)
{
    vug_json_begin(js, "prompt_progress", '{');
    vug_json_put_u64(js, "total", progress->total);
    vug_json_put_u64(js, "cache", progress->cached);
    vug_json_put_u64(js, "processed", progress->processed);
    vug_json_put_f64(js, "time_ms", round(progress->seconds * 1e6) / 1e3);
    vug_json_end(js, '}');
}

/* `n` tokens in `seconds`, under the names of llama.cpp's server: milliseconds, to the microsecond. */
static void write_speed(size_t n, double seconds, const char *const name[4], vug_json_writer *js)
{
    const double ms = seconds * 1e3, tokens = (double)n;
    vug_json_put_u64(js, name[0], n);
    vug_json_put_f64(js, name[1], round(ms * 1e3) / 1e3);
    vug_json_put_f64(js, name[2], n > 0 ? round(ms / tokens * 1e3) / 1e3 : 0);
    vug_json_put_f64(js, name[3], seconds > 0 ? round(tokens / seconds * 1e3) / 1e3 : 0);
}

void vug_api_write_timings(const vug_api_usage *usage, vug_json_writer *js)
{
    static const char *const prompt[] = { "prompt_n", "prompt_ms", "prompt_per_token_ms",
                                          "prompt_per_second" };
    static const char *const predicted[] = { "predicted_n", "predicted_ms",
                                             "predicted_per_token_ms", "predicted_per_second" };
    vug_json_begin(js, "timings", '{');
    vug_json_put_u64(js, "cache_n", usage->cached);
    write_speed(usage->prompt - usage->cached, usage->prompt_s, prompt, js);
    write_speed(usage->completion, usage->decode_s, predicted, js);
    if (usage->drafted > 0) { /* as in llama.cpp */
        vug_json_put_u64(js, "draft_n", usage->drafted);
        vug_json_put_u64(js, "draft_n_accepted", usage->accepted);
    }
    vug_json_end(js, '}');
}

static void write_usage(const vug_api_usage *usage, vug_json_writer *js)
{
    vug_json_begin(js, "usage", '{');
    vug_json_put_u64(js, "prompt_tokens", usage->prompt);
    vug_json_put_u64(js, "completion_tokens", usage->completion);
    vug_json_put_u64(js, "total_tokens", usage->prompt + usage->completion);
    vug_json_begin(js, "prompt_tokens_details", '{');
    vug_json_put_u64(js, "cached_tokens", usage->cached);
    vug_json_end(js, '}');
    vug_json_begin(js, "completion_tokens_details", '{');
    vug_json_put_u64(js, "reasoning_tokens", usage->reasoning);
    vug_json_put_u64(js, "accepted_prediction_tokens", usage->prediction_accepted);
    vug_json_put_u64(js, "rejected_prediction_tokens", usage->prediction_rejected);
    vug_json_end(js, '}');
    vug_json_end(js, '}');
}

void vug_api_write_event_end(const vug_api_response_head *head, const vug_api_usage *usage,
                             bool is_last, vug_json_writer *js)
{
    vug_json_end(js, ']');
    if (head->include_usage && head->continuous_usage)
        write_usage(usage, js);
    else if (head->include_usage)
        vug_json_put_string(js, "usage", NULL);
    if (is_last || head->timings_per_token)
        vug_api_write_timings(usage, js);
    vug_json_end(js, '}');
    vug_buf_puts(js->to, "\n\n");
}

void vug_api_write_usage(const vug_api_usage *usage, vug_json_writer *js)
{
    vug_json_end(js, ']');
    write_usage(usage, js);
    vug_api_write_timings(usage, js);
    vug_json_end(js, '}');
}

vug_api_finish_reason vug_api_finish_reason_of(vug_finish finish, bool ended)
{
    return finish == VUG_FINISH_LENGTH && !ended ? VUG_API_FINISH_LENGTH : VUG_API_FINISH_STOP;
}

void vug_api_write_finish_reason(vug_api_finish_reason reason, vug_json_writer *js)
{
    static const char *const name[] = { [VUG_API_UNFINISHED] = NULL,
                                        [VUG_API_FINISH_STOP] = "stop",
                                        [VUG_API_FINISH_LENGTH] = "length",
                                        [VUG_API_FINISH_TOOL_CALLS] = "tool_calls" };
    vug_json_put_string(js, "finish_reason", name[reason]);
}

void vug_api_usage_event(const vug_api_response_head *head, const vug_api_usage *usage, vug_buf *to)
{
    vug_json_writer js = vug_api_write_event_head(head, to);
    vug_api_begin_choices(&js);
    vug_api_write_usage(usage, &js);
    vug_buf_puts(to, "\n\n");
}

void vug_api_done_event(vug_buf *to)
{
    vug_buf_puts(to, "data: [DONE]\n\n");
}
