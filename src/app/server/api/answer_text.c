#include "app/server/api/answer.h"
#include "app/server/api/answer_write.h"

/* One choice of /v1/completions. */

static void write_choice(const vug_text_choice *c, const char *text, size_t len, vug_buf *to)
{
    vug_buf_puts(to, "{\"text\":");
    vug_json_write_string(to, text, len);
    vug_buf_printf(to, ",\"index\":%d,\"logprobs\":", c->index);
    if (c->logprobs)
        vug_write_text_logprobs(&c->tokens, to);
    else
        vug_buf_puts(to, "null");
    vug_buf_puts(to, ",\"finish_reason\":");
    vug_write_name(to, c->reason);
    vug_buf_puts(to, "}");
}

static void put_event(vug_text_choice *c, const char *text, size_t len)
{
    vug_write_event_head(c->head, c->events);
    write_choice(c, text, len, c->events);
    vug_write_event_end(c->head, c->events);
    vug_logprobs_clear(&c->tokens);
}

static void put(vug_text_choice *c, const char *text, size_t len)
{
    if (len == 0)
        return;
    if (c->head->stream) {
        put_event(c, text, len);
    } else {
        vug_buf_append(&c->text, text, len);
        vug_logprobs_keep(&c->tokens);
    }
}

void vug_text_choice_logprob(vug_text_choice *c, const vug_api_logprob *logprob)
{
    if (c->logprobs && !c->stops.found)
        vug_logprobs_text(&c->tokens, logprob);
}

void vug_text_choice_echo(vug_text_choice *c, const char *text, size_t len)
{
    put(c, text, len);
}

bool vug_text_choice_push(vug_text_choice *c, const char *text, size_t len)
{
    if (c->stops.found)
        return false;
    c->piece.len = 0;
    (void)vug_stops_push(&c->stops, text, len, &c->piece);
    put(c, c->piece.ptr, c->piece.len);
    return !c->stops.found;
}

void vug_text_choice_finish(vug_text_choice *c, vug_finish finish)
{
    c->piece.len = 0;
    vug_stops_flush(&c->stops, &c->piece);
    put(c, c->piece.ptr, c->piece.len);
    if (c->stops.found)
        vug_logprobs_drop(&c->tokens);
    c->reason = vug_finish_name(c->stops.found ? VUG_FINISH_STOP : finish);
    if (c->head->stream)
        put_event(c, "", 0);
    else
        vug_logprobs_keep(&c->tokens);
}

bool vug_text_choice_ok(const vug_text_choice *c)
{
    return !c->text.bad && !c->piece.bad && (!c->events || !c->events->bad) &&
           vug_logprobs_ok(&c->tokens);
}

size_t vug_text_choice_bytes(const vug_text_choice *c)
{
    return c->text.cap + c->piece.cap + vug_logprobs_bytes(&c->tokens);
}

void vug_text_choice_release(vug_text_choice *c)
{
    vug_buf_release(&c->text);
    vug_buf_release(&c->piece);
    vug_logprobs_release(&c->tokens);
}

void vug_text_choice_write(const vug_api_head *head, const vug_text_choice *choice, size_t n,
                           const vug_api_usage *usage, vug_buf *to)
{
    vug_write_head(head, to);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            vug_buf_puts(to, ",");
        write_choice(&choice[i], choice[i].text.ptr ? choice[i].text.ptr : "", choice[i].text.len,
                     to);
    }
    vug_write_usage_end(usage, to);
}
