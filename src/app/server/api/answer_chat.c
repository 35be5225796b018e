#include <inttypes.h>

#include "app/server/api/answer.h"
#include "app/server/api/answer_write.h"

/*
 * One choice of a chat. The put_ functions are the only ones that know whether it is a
 * stream; what is held back (the beginning of a stop, a call that may yet turn out to be
 * malformed) is held in both.
 */

/* ---- one event ------------------------------------------------------------------- */

/* Up to and with "delta":{ */
static void begin_event(const vug_chat_choice *c)
{
    vug_write_event_head(c->head, c->events);
    vug_buf_printf(c->events, "{\"index\":%d,\"delta\":{", c->index);
}

static void end_event(vug_chat_choice *c)
{
    vug_buf_puts(c->events, "},\"logprobs\":");
    vug_write_chat_logprobs(&c->tokens, false, c->events);
    vug_logprobs_clear(&c->tokens);
    vug_buf_puts(c->events, ",\"finish_reason\":");
    vug_write_name(c->events, c->reason);
    vug_buf_puts(c->events, "}");
    vug_write_event_end(c->head, c->events);
}

void vug_chat_choice_begin(vug_chat_choice *c)
{
    if (!c->head->stream)
        return;
    begin_event(c);
    vug_buf_puts(c->events, "\"role\":\"assistant\",\"content\":\"\"");
    end_event(c);
}

/* ---- text ------------------------------------------------------------------------ */

static void put_content(vug_chat_choice *c, const char *text, size_t len)
{
    if (len == 0)
        return;
    if (c->head->stream) {
        begin_event(c);
        vug_buf_puts(c->events, "\"content\":");
        vug_json_write_string(c->events, text, len);
        end_event(c);
    } else {
        vug_buf_append(&c->content, text, len);
        vug_logprobs_keep(&c->tokens);
    }
}

static void write_thinking(const vug_api_head *head, const char *text, size_t len, vug_buf *to)
{
    vug_buf_puts(to, "\"reasoning_content\":");
    vug_json_write_string(to, text, len);
    if (!head->also_reasoning)
        return;
    vug_buf_puts(to, ",\"reasoning\":");
    vug_json_write_string(to, text, len);
}

static void put_thinking(vug_chat_choice *c, const char *text, size_t len)
{
    if (len == 0)
        return;
    if (c->head->stream) {
        begin_event(c);
        write_thinking(c->head, text, len, c->events);
        end_event(c);
    } else {
        vug_buf_append(&c->thinking, text, len);
        vug_logprobs_keep(&c->tokens);
    }
}

/* False when a stop was found. */
static bool push_content(vug_chat_choice *c, const char *text, size_t len)
{
    if (c->must_call)
        return true;
    c->piece.len = 0;
    c->ended = vug_stops_push(&c->stops, text, len, &c->piece);
    put_content(c, c->piece.ptr, c->piece.len);
    return !c->ended;
}

/* A stop does not reach over thinking or a call. */
static void flush_content(vug_chat_choice *c)
{
    c->piece.len = 0;
    vug_stops_flush(&c->stops, &c->piece);
    put_content(c, c->piece.ptr, c->piece.len);
}

/* ---- calls ----------------------------------------------------------------------- */

/* Another for each call of each choice: the request's id, stirred (splitmix64). */
static void write_call_id(const vug_chat_choice *c, vug_buf *to)
{
    uint64_t z = c->head->id +
                 (((uint64_t)c->index << 32) + c->n_calls + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    vug_buf_printf(to, "\"call_%016" PRIx64 "\"", z ^ z >> 31);
}

/* Up to and with "arguments": */
static void write_call(const vug_chat_choice *c, vug_buf *to)
{
    vug_buf_puts(to, "\"id\":");
    write_call_id(c, to);
    vug_buf_puts(to, ",\"type\":\"function\",\"function\":{\"name\":");
    vug_write_text(to, &c->name);
    vug_buf_puts(to, ",\"arguments\":");
}

static void put_call_event(vug_chat_choice *c)
{
    begin_event(c);
    vug_buf_printf(c->events, "\"tool_calls\":[{\"index\":%zu,", c->n_calls);
    write_call(c, c->events);
    vug_buf_puts(c->events, "\"\"}}]");
    end_event(c);
}

static void put_arguments_event(vug_chat_choice *c, const char *text, size_t len)
{
    if (len == 0)
        return;
    begin_event(c);
    vug_buf_printf(c->events,
                   "\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", c->n_calls);
    vug_json_write_string(c->events, text, len);
    vug_buf_puts(c->events, "}}]");
    end_event(c);
}

static bool goes_out_at_once(const vug_chat_choice *c)
{
    return c->sure && c->head->stream;
}

static void begin_call(vug_chat_choice *c, const char *name, size_t len)
{
    flush_content(c);
    c->in_call = true;
    c->name.len = c->arguments.len = 0;
    vug_buf_append(&c->name, name, len);
    if (goes_out_at_once(c))
        put_call_event(c);
}

static void push_arguments(vug_chat_choice *c, const char *text, size_t len)
{
    if (goes_out_at_once(c))
        put_arguments_event(c, text, len);
    else
        vug_buf_append(&c->arguments, text, len);
}

static void end_call(vug_chat_choice *c)
{
    if (c->head->stream && !goes_out_at_once(c)) {
        put_call_event(c);
        put_arguments_event(c, c->arguments.ptr, c->arguments.len);
    } else if (!c->head->stream) {
        vug_buf_puts(&c->calls, c->n_calls > 0 ? ",{" : "{");
        write_call(c, &c->calls);
        vug_write_text(&c->calls, &c->arguments);
        vug_buf_puts(&c->calls, "}}");
        vug_logprobs_keep(&c->tokens);
    }
    c->in_call = false;
    c->n_calls++;
}

/* A call that has gone out cannot be taken back. */
static void drop_call(vug_chat_choice *c)
{
    if (c->sure)
        end_call(c);
    c->in_call = false;
}

/* ---- feeding --------------------------------------------------------------------- */

void vug_chat_choice_logprob(vug_chat_choice *c, const vug_api_logprob *logprob)
{
    if (c->logprobs && !c->ended)
        vug_logprobs_chat(&c->tokens, logprob);
}

bool vug_chat_choice_part(const vug_part *part, void *choice)
{
    vug_chat_choice *c = choice;
    if (c->ended)
        return false;
    switch (part->kind) {
    case VUG_PART_CONTENT:
        return push_content(c, part->text, part->len);
    case VUG_PART_THINKING:
        flush_content(c);
        put_thinking(c, part->text, part->len);
        break;
    case VUG_PART_CALL:
        begin_call(c, part->text, part->len);
        break;
    case VUG_PART_ARGUMENTS:
        push_arguments(c, part->text, part->len);
        break;
    case VUG_PART_CALL_END:
        end_call(c);
        c->ended = c->one_call;
        break;
    case VUG_PART_CALL_DROP:
        drop_call(c);
        break;
    }
    return !c->ended;
}

void vug_chat_choice_finish(vug_chat_choice *c, vug_finish finish)
{
    const bool by_stop = c->stops.found;
    if (!by_stop)
        flush_content(c);
    if (c->in_call)
        end_call(c);
    if (by_stop)
        vug_logprobs_drop(&c->tokens);
    /* An answer that has ended by itself is not too long, whatever the last token was. */
    c->reason = vug_finish_name(c->ended ? VUG_FINISH_STOP : finish);
    if (c->reason[0] == 's' && c->n_calls > 0 && !c->is_named)
        c->reason = "tool_calls";
    if (c->head->stream) {
        begin_event(c);
        end_event(c);
    } else {
        vug_logprobs_keep(&c->tokens);
    }
}

bool vug_chat_choice_ok(const vug_chat_choice *c)
{
    return !c->content.bad && !c->thinking.bad && !c->calls.bad && !c->piece.bad && !c->name.bad &&
           !c->arguments.bad && (!c->events || !c->events->bad) && vug_logprobs_ok(&c->tokens);
}

size_t vug_chat_choice_bytes(const vug_chat_choice *c)
{
    return c->content.cap + c->thinking.cap + c->calls.cap + c->piece.cap + c->name.cap +
           c->arguments.cap + vug_logprobs_bytes(&c->tokens);
}

void vug_chat_choice_release(vug_chat_choice *c)
{
    vug_buf_release(&c->content);
    vug_buf_release(&c->thinking);
    vug_buf_release(&c->calls);
    vug_buf_release(&c->piece);
    vug_buf_release(&c->name);
    vug_buf_release(&c->arguments);
    vug_logprobs_release(&c->tokens);
}

/* ---- the whole ------------------------------------------------------------------- */

static void write_message(const vug_chat_choice *c, vug_buf *to)
{
    vug_buf_puts(to, "{\"role\":\"assistant\",\"content\":");
    if (c->content.len == 0 && (c->n_calls > 0 || c->must_call))
        vug_buf_puts(to, "null");
    else
        vug_write_text(to, &c->content);
    vug_buf_puts(to, ",\"refusal\":null");
    if (c->thinking.len > 0) {
        vug_buf_puts(to, ",");
        write_thinking(c->head, c->thinking.ptr, c->thinking.len, to);
    }
    if (c->n_calls > 0) {
        vug_buf_puts(to, ",\"tool_calls\":[");
        vug_buf_append(to, c->calls.ptr, c->calls.len);
        vug_buf_puts(to, "]");
    }
    vug_buf_puts(to, "}");
}

void vug_chat_choice_write(const vug_api_head *head, const vug_chat_choice *choice, size_t n,
                           const vug_api_usage *usage, vug_buf *to)
{
    vug_write_head(head, to);
    for (size_t i = 0; i < n; i++) {
        vug_buf_printf(to, "%s{\"index\":%d,\"message\":", i ? "," : "", choice[i].index);
        write_message(&choice[i], to);
        vug_buf_puts(to, ",\"logprobs\":");
        vug_write_chat_logprobs(&choice[i].tokens, choice[i].logprobs, to);
        vug_buf_puts(to, ",\"finish_reason\":");
        vug_write_name(to, choice[i].reason);
        vug_buf_puts(to, "}");
    }
    vug_write_usage_end(usage, to);
}
