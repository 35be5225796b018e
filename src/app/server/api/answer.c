#include "app/server/api/answer.h"

#include <inttypes.h>

#include "app/server/api/answer_write.h"

/* What chats and completions have in common: the head, the usage, the end. */

static void write_head(const vug_api_head *head, const char *object, vug_buf *to)
{
    vug_buf_printf(to, "{\"id\":\"%s-%016" PRIx64 "\",\"object\":\"%s\",\"created\":%" PRId64,
                   head->is_text ? "cmpl" : "chatcmpl", head->id, object, head->created);
    vug_buf_puts(to, ",\"model\":");
    vug_json_write_string(to, head->model.ptr, head->model.len);
}

void vug_write_name(vug_buf *to, const char *name)
{
    if (name)
        vug_json_write_string(to, name, strlen(name));
    else
        vug_buf_puts(to, "null");
}

void vug_write_head(const vug_api_head *head, vug_buf *to)
{
    write_head(head, head->is_text ? "text_completion" : "chat.completion", to);
    vug_buf_puts(to, ",\"system_fingerprint\":");
    vug_write_name(to, head->fingerprint);
    vug_buf_puts(to, ",\"choices\":[");
}

void vug_write_event_head(const vug_api_head *head, vug_buf *to)
{
    vug_buf_puts(to, "data: ");
    write_head(head, head->is_text ? "text_completion" : "chat.completion.chunk", to);
    vug_buf_puts(to, ",\"choices\":[");
}

void vug_write_event_end(const vug_api_head *head, vug_buf *to)
{
    vug_buf_puts(to, head->include_usage ? "],\"usage\":null}\n\n" : "]}\n\n");
}

void vug_write_usage_end(const vug_api_usage *usage, vug_buf *to)
{
    vug_buf_printf(to,
                   "],\"usage\":{\"prompt_tokens\":%zu,\"completion_tokens\":%zu,"
                   "\"total_tokens\":%zu,\"prompt_tokens_details\":{\"cached_tokens\":%zu},"
                   "\"completion_tokens_details\":{\"reasoning_tokens\":%zu,"
                   "\"accepted_prediction_tokens\":0,\"rejected_prediction_tokens\":0}}}",
                   usage->prompt, usage->completion, usage->prompt + usage->completion,
                   usage->cached, usage->reasoning);
}

void vug_write_text(vug_buf *to, const vug_buf *text)
{
    vug_json_write_string(to, text->ptr ? text->ptr : "", text->len);
}

const char *vug_finish_name(vug_finish finish)
{
    return finish == VUG_FINISH_LENGTH ? "length" : "stop";
}

void vug_api_usage_event(const vug_api_head *head, const vug_api_usage *usage, vug_buf *to)
{
    vug_write_event_head(head, to);
    vug_write_usage_end(usage, to);
    vug_buf_puts(to, "\n\n");
}

void vug_api_done_event(vug_buf *to)
{
    vug_buf_puts(to, "data: [DONE]\n\n");
}
