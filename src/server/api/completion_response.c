#include "server/api/internal.h"

/* One choice of /v1/completions, or of llama.cpp's /completion. */

static bool is_native(const vug_completion_choice *c)
{
    return vug_api_is_native(c->head->endpoint);
}

static void write_choice(const vug_completion_choice *c, const char *text, size_t len,
                         vug_json_writer *js)
{
    vug_json_begin(js, NULL, '{');
    vug_json_put_text(js, "text", text, len);
    vug_json_put_i64(js, "index", c->index);
    if (c->logprobs)
        vug_logprobs_write_completion(&c->tokens, js);
    else
        vug_json_put_string(js, "logprobs", NULL);
    vug_api_write_finish_reason(c->reason, js);
    vug_api_write_prompt_ids(c->prompt, js);
    vug_api_write_ids(c->head, &c->ids, js);
    vug_logprobs_write_prompt(&c->prompt_logprobs, js);
    vug_json_end(js, '}');
}

static void write_native_event(vug_completion_choice *c, vug_str text)
{
    vug_json_writer js = { .to = c->events };
    vug_buf_puts(c->events, "data: ");
    vug_native_write(c, text, true, &js);
    vug_buf_puts(c->events, "\n\n");
    vug_logprobs_clear(&c->tokens);
    c->ids.len = 0;
}

static void write_event(vug_completion_choice *c, const char *text, size_t len)
{
    if (is_native(c)) {
        write_native_event(c, (vug_str){ text, len });
        return;
    }
    vug_json_writer js = vug_api_write_event_head(c->head, c->events);
    vug_api_begin_choices(&js);
    write_choice(c, text, len, &js);
    c->ids.len = 0;
    c->prompt = NULL;
    vug_api_write_event_end(c->head, c->usage, c->is_last && c->reason != VUG_API_UNFINISHED, &js);
    vug_logprobs_clear(&c->tokens);
}

void vug_completion_choice_progress(vug_completion_choice *c, const vug_api_progress *progress)
{
    vug_json_writer js = { .to = c->events };
    if (is_native(c)) {
        vug_buf_puts(c->events, "data: ");
        vug_native_write_progress(c, progress, &js);
        vug_buf_puts(c->events, "\n\n");
        return;
    }
    js = vug_api_write_event_head(c->head, c->events);
    vug_api_write_progress(progress, &js);
    vug_api_begin_choices(&js);
    write_choice(c, "", 0, &js);
    c->prompt = NULL;
    vug_api_write_event_end(c->head, c->usage, false, &js);
}

static void write_text(vug_completion_choice *c, const char *text, size_t len)
{
    if (len == 0)
        return;
    if (c->head->stream) {
        write_event(c, text, len);
    } else {
        vug_buf_append(&c->text, text, len);
        vug_logprobs_commit(&c->tokens);
    }
}

void vug_completion_choice_token(vug_completion_choice *c, int32_t id, bool is_stop)
{
    c->n_tokens += !is_stop;
    vug_api_add_id(c->head, id, &c->ids);
}

void vug_completion_choice_logprob(vug_completion_choice *c, const vug_api_logprob *logprob)
{
    if (!c->logprobs || c->stops.found)
        return;
    if (is_native(c))
        vug_logprobs_add_chat(&c->tokens, logprob, true);
    else
        vug_logprobs_add_completion(&c->tokens, logprob);
}

void vug_completion_choice_echo(vug_completion_choice *c, const char *text, size_t len)
{
    write_text(c, text, len);
}

bool vug_completion_choice_push(vug_completion_choice *c, const char *text, size_t len)
{
    if (c->stops.found)
        return false;
    c->piece.len = 0;
    (void)vug_stop_strings_push(&c->stops, text, len, &c->piece);
    write_text(c, c->piece.ptr, c->piece.len);
    return !c->stops.found;
}

void vug_completion_choice_finish(vug_completion_choice *c, vug_finish finish)
{
    c->piece.len = 0;
    vug_stop_strings_flush(&c->stops, &c->piece);
    write_text(c, c->piece.ptr, c->piece.len);
    if (c->stops.found)
        vug_logprobs_rollback(&c->tokens);
    c->reason = vug_api_finish_reason_of(finish, c->stops.found);
    if (c->head->stream)
        write_event(c, "", 0);
    else
        vug_logprobs_commit(&c->tokens);
}

bool vug_completion_choice_ok(const vug_completion_choice *c)
{
    return !c->ids.bad && !c->prompt_logprobs.bad && !c->text.bad && !c->piece.bad &&
           (!c->events || !c->events->bad) && vug_logprobs_ok(&c->tokens);
}

size_t vug_completion_choice_bytes(const vug_completion_choice *c)
{
    const size_t prompt = c->prompt ? c->prompt->n * VUG_API_ID_BYTES : 0;
    return prompt + c->ids.cap + c->prompt_logprobs.cap + c->text.cap + c->piece.cap +
           vug_logprobs_bytes(&c->tokens);
}

void vug_completion_choice_release(vug_completion_choice *c)
{
    vug_buf_release(&c->ids);
    vug_buf_release(&c->prompt_logprobs);
    vug_buf_release(&c->text);
    vug_buf_release(&c->piece);
    vug_logprobs_release(&c->tokens);
}

static void write_native(const vug_completion_choice *choice, size_t n, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    if (n != 1)
        vug_json_begin(&js, NULL, '[');
    for (size_t i = 0; i < n; i++)
        vug_native_write(&choice[i], (vug_str){ choice[i].text.ptr, choice[i].text.len }, false,
                         &js);
    if (n != 1)
        vug_json_end(&js, ']');
}

void vug_completion_choice_write(const vug_api_response_head *head,
                                 const vug_completion_choice *choice, size_t n,
                                 const vug_api_usage *usage, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    if (vug_api_is_native(head->endpoint)) {
        write_native(choice, n, to);
        return;
    }
    vug_api_write_head(head, &js);
    vug_api_begin_choices(&js);
    for (size_t i = 0; i < n; i++)
        write_choice(&choice[i], choice[i].text.ptr, choice[i].text.len, &js);
    vug_api_write_usage(usage, &js);
}
