#include <inttypes.h>
#include <stdio.h>

#include "core/random.h"
#include "server/api/internal.h"

/* One choice of a chat. Streamed or not, it holds back what may begin a stop string and calls that
 * may turn out to be malformed. */

/* ---- one event ------------------------------------------------------------------- */

/* From "choices" through "delta":{ */
static void begin_delta(const vug_chat_choice *c, vug_json_writer *js)
{
    vug_api_begin_choices(js);
    vug_json_begin(js, NULL, '{');
    vug_json_put_i64(js, "index", c->index);
    vug_json_begin(js, "delta", '{');
}

/* Through "delta":{ */
static vug_json_writer begin_event(const vug_chat_choice *c)
{
    vug_json_writer js = vug_api_write_event_head(c->head, c->events);
    begin_delta(c, &js);
    return js;
}

static void end_event(vug_chat_choice *c, vug_json_writer *js)
{
    vug_json_end(js, '}');
    vug_logprobs_write_chat(&c->tokens, false, js);
    vug_logprobs_clear(&c->tokens);
    vug_api_write_finish_reason(c->reason, js);
    vug_api_write_ids(c->head, &c->ids, js);
    c->ids.len = 0;
    vug_json_end(js, '}');
    vug_api_write_event_end(c->head, c->usage, c->is_last && c->reason != VUG_API_UNFINISHED, js);
}

void vug_chat_choice_begin(vug_chat_choice *c)
{
    if (!c->head->stream)
        return;
    vug_json_writer js = vug_api_write_event_head(c->head, c->events);
    vug_api_write_prompt_ids(c->prompt, &js);
    begin_delta(c, &js);
    vug_json_put_string(&js, "role", "assistant");
    vug_json_put_string(&js, "content", "");
    end_event(c, &js);
}

void vug_chat_choice_progress(vug_chat_choice *c, const vug_api_progress *progress)
{
    vug_json_writer js = vug_api_write_event_head(c->head, c->events);
    vug_api_write_progress(progress, &js);
    begin_delta(c, &js);
    end_event(c, &js);
}

/* ---- text ------------------------------------------------------------------------ */

static void output_content(vug_chat_choice *c, const char *text, size_t len)
{
    if (len == 0)
        return;
    if (c->head->stream) {
        vug_json_writer js = begin_event(c);
        vug_json_put_text(&js, "content", text, len);
        end_event(c, &js);
    } else {
        vug_logprobs_commit(&c->tokens);
    }
    vug_buf_append(&c->content, text, len);
}

static void write_thinking(const vug_api_response_head *head, const char *text, size_t len,
                           vug_json_writer *js)
{
    vug_json_put_text(js, "reasoning_content", text, len);
    if (head->also_reasoning)
        vug_json_put_text(js, "reasoning", text, len);
}

static void output_thinking(vug_chat_choice *c, const char *text, size_t len)
{
    if (len == 0)
        return;
    if (c->head->stream) {
        vug_json_writer js = begin_event(c);
        write_thinking(c->head, text, len, &js);
        end_event(c, &js);
    } else {
        vug_logprobs_commit(&c->tokens);
    }
    vug_buf_append(&c->thinking, text, len);
}

/* False when a stop was found. */
static bool push_content(vug_chat_choice *c, const char *text, size_t len)
{
    if (c->must_call)
        return true;
    c->piece.len = 0;
    c->ended = vug_stop_strings_push(&c->stops, text, len, &c->piece);
    output_content(c, c->piece.ptr, c->piece.len);
    return !c->ended;
}

/* Stops do not match across thinking or a call. */
static void flush_content(vug_chat_choice *c)
{
    c->piece.len = 0;
    vug_stop_strings_flush(&c->stops, &c->piece);
    output_content(c, c->piece.ptr, c->piece.len);
}

/* ---- calls ----------------------------------------------------------------------- */

/* The id is unique for each call of each choice: hashed from the request's id. */
void vug_chat_choice_call_id(const vug_chat_choice *c, size_t call, char out[VUG_CALL_ID_BYTES])
{
    const uint64_t n = ((uint64_t)c->index << 32) + call + 1;
    (void)snprintf(out, VUG_CALL_ID_BYTES, "call_%016" PRIx64, vug_splitmix64_at(c->head->id, n));
}

/* Through "name" of "function". */
static void write_call(const vug_chat_choice *c, vug_json_writer *js)
{
    char id[VUG_CALL_ID_BYTES];
    vug_chat_choice_call_id(c, c->n_calls, id);
    vug_json_put_string(js, "id", id);
    vug_json_put_string(js, "type", "function");
    vug_json_begin(js, "function", '{');
    vug_json_put_text(js, "name", c->name.ptr, c->name.len);
}

static vug_json_writer begin_call_event(const vug_chat_choice *c)
{
    vug_json_writer js = begin_event(c);
    vug_json_begin(&js, "tool_calls", '[');
    vug_json_begin(&js, NULL, '{');
    vug_json_put_u64(&js, "index", c->n_calls);
    return js;
}

static void end_call_event(vug_chat_choice *c, const char *arguments, size_t len,
                           vug_json_writer *js)
{
    vug_json_put_text(js, "arguments", arguments, len);
    vug_json_end(js, '}');
    vug_json_end(js, '}');
    vug_json_end(js, ']');
    end_event(c, js);
}

static void write_call_event(vug_chat_choice *c)
{
    vug_json_writer js = begin_call_event(c);
    write_call(c, &js);
    end_call_event(c, "", 0, &js);
}

static void write_arguments_event(vug_chat_choice *c, const char *text, size_t len)
{
    if (len == 0)
        return;
    vug_json_writer js = begin_call_event(c);
    vug_json_begin(&js, "function", '{');
    end_call_event(c, text, len, &js);
}

static bool streams_calls(const vug_chat_choice *c)
{
    return c->calls_guarded && c->head->stream;
}

static void begin_call(vug_chat_choice *c, const char *name, size_t len)
{
    flush_content(c);
    c->in_call = true;
    c->name.len = c->arguments.len = 0;
    vug_buf_append(&c->name, name, len);
    if (streams_calls(c))
        write_call_event(c);
}

static void push_arguments(vug_chat_choice *c, const char *text, size_t len)
{
    if (streams_calls(c))
        write_arguments_event(c, text, len);
    else
        vug_buf_append(&c->arguments, text, len);
}

static void end_call(vug_chat_choice *c)
{
    if (c->head->stream && !streams_calls(c)) {
        write_call_event(c);
        write_arguments_event(c, c->arguments.ptr, c->arguments.len);
    } else if (!c->head->stream) {
        vug_json_writer js = { .to = &c->calls, .more = c->n_calls > 0 };
        vug_json_begin(&js, NULL, '{');
        write_call(c, &js);
        vug_json_put_text(&js, "arguments", c->arguments.ptr, c->arguments.len);
        vug_json_end(&js, '}');
        vug_json_end(&js, '}');
        vug_logprobs_commit(&c->tokens);
    }
    c->in_call = false;
    c->n_calls++;
}

/* A call that was streamed cannot be taken back. */
static void drop_call(vug_chat_choice *c)
{
    if (c->calls_guarded)
        end_call(c);
    c->in_call = false;
}

/* ---- feeding --------------------------------------------------------------------- */

void vug_chat_choice_token(vug_chat_choice *c, int32_t id)
{
    vug_api_add_id(c->head, id, &c->ids);
}

void vug_chat_choice_logprob(vug_chat_choice *c, const vug_api_logprob *logprob)
{
    if (c->logprobs && !c->ended)
        vug_logprobs_add_chat(&c->tokens, logprob, false);
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
        output_thinking(c, part->text, part->len);
        break;
    case VUG_PART_CALL:
        begin_call(c, part->text, part->len);
        break;
    case VUG_PART_ARGUMENTS:
        push_arguments(c, part->text, part->len);
        break;
    case VUG_PART_CALL_END:
        end_call(c);
        c->ended = c->single_call;
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
        vug_logprobs_rollback(&c->tokens);
    c->reason = vug_api_finish_reason_of(finish, c->ended);
    if (c->reason == VUG_API_FINISH_STOP && c->n_calls > 0 && !c->named_tool)
        c->reason = VUG_API_FINISH_TOOL_CALLS;
    if (c->head->stream) {
        vug_json_writer js = begin_event(c);
        end_event(c, &js);
    } else {
        vug_logprobs_commit(&c->tokens);
    }
}

bool vug_chat_choice_ok(const vug_chat_choice *c)
{
    return !c->ids.bad && !c->prompt_logprobs.bad && !c->content.bad && !c->thinking.bad &&
           !c->calls.bad && !c->piece.bad && !c->name.bad && !c->arguments.bad &&
           (!c->events || !c->events->bad) && vug_logprobs_ok(&c->tokens);
}

size_t vug_chat_choice_bytes(const vug_chat_choice *c)
{
    const size_t prompt = c->prompt ? c->prompt->n * VUG_API_ID_BYTES : 0;
    return prompt + c->ids.cap + c->prompt_logprobs.cap + c->content.cap + c->thinking.cap +
           c->calls.cap + c->piece.cap + c->name.cap + c->arguments.cap +
           vug_logprobs_bytes(&c->tokens);
}

void vug_chat_choice_release(vug_chat_choice *c)
{
    vug_buf_release(&c->ids);
    vug_buf_release(&c->prompt_logprobs);
    vug_buf_release(&c->content);
    vug_buf_release(&c->thinking);
    vug_buf_release(&c->calls);
    vug_buf_release(&c->piece);
    vug_buf_release(&c->name);
    vug_buf_release(&c->arguments);
    vug_logprobs_release(&c->tokens);
}

/* ---- without a stream ------------------------------------------------------------ */

static void write_message(const vug_chat_choice *c, vug_json_writer *js)
{
    vug_json_begin(js, "message", '{');
    vug_json_put_string(js, "role", "assistant");
    if (c->content.len == 0 && (c->n_calls > 0 || c->must_call))
        vug_json_put_string(js, "content", NULL);
    else
        vug_json_put_text(js, "content", c->content.ptr, c->content.len);
    vug_json_put_string(js, "refusal", NULL);
    if (c->thinking.len > 0)
        write_thinking(c->head, c->thinking.ptr, c->thinking.len, js);
    if (c->n_calls > 0) {
        vug_json_begin(js, "tool_calls", '[');
        vug_json_put_raw(js, NULL, c->calls.ptr, c->calls.len);
        vug_json_end(js, ']');
    }
    vug_json_end(js, '}');
}

void vug_chat_choice_write(const vug_api_response_head *head, const vug_chat_choice *choice,
                           size_t n, const vug_api_usage *usage, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_api_write_head(head, &js);
    vug_api_write_prompt_ids(choice[0].prompt, &js);
    vug_logprobs_write_prompt(&choice[0].prompt_logprobs, &js);
    vug_api_begin_choices(&js);
    for (size_t i = 0; i < n; i++) {
        vug_json_begin(&js, NULL, '{');
        vug_json_put_i64(&js, "index", choice[i].index);
        write_message(&choice[i], &js);
        vug_logprobs_write_chat(&choice[i].tokens, choice[i].logprobs, &js);
        vug_api_write_finish_reason(choice[i].reason, &js);
        vug_api_write_ids(head, &choice[i].ids, &js);
        vug_json_end(&js, '}');
    }
    vug_api_write_usage(usage, &js);
}
