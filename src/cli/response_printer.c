#include "cli/response_printer.h"

#include "core/json.h"
#include "core/json_writer.h"

static vug_str view(const vug_buf *buf)
{
    return (vug_str){ buf->ptr ? buf->ptr : "", buf->len };
}

static void release_response(vug_response_printer *p)
{
    vug_buf_release(&p->content);
    vug_buf_release(&p->thinking);
    vug_buf_release(&p->calls.buf);
    vug_buf_release(&p->name);
    vug_buf_release(&p->arguments);
    vug_buf_release(&p->logprobs.buf);
    p->calls.more = p->logprobs.more = false;
}

void vug_response_printer_begin(vug_response_printer *p)
{
    release_response(p);
    p->last = '\n';
    p->thinking_last = p->bad_call = false;
}

void vug_response_printer_release(vug_response_printer *p)
{
    release_response(p);
    *p = (vug_response_printer){ 0 };
}

/* ---- printing ---------------------------------------------------------------------- */

/* Starts a new line between content and thinking, which may share a terminal. */
static bool print_part(vug_response_printer *p, bool thinking, const char *text, size_t len)
{
    if (p->silent || len == 0)
        return true;
    if (thinking != p->thinking_last && p->last != '\n') {
        if (p->thinking_last)
            (void)fputc('\n', stderr);
        else if (p->ui->out_terminal)
            (void)vug_ui_write_text(p->ui, "\n", 1);
    }
    p->thinking_last = thinking;
    p->last = text[len - 1];
    if (!thinking)
        return vug_ui_write_text(p->ui, text, len);
    vug_ui_write_dim(p->ui, text, len);
    return true;
}

bool vug_response_printer_write(vug_response_printer *p, const char *text, size_t len)
{
    return print_part(p, false, text, len);
}

void vug_response_printer_end(vug_response_printer *p)
{
    if (p->last != '\n')
        (void)print_part(p, p->thinking_last, "\n", 1);
}

/* ---- log-probabilities ------------------------------------------------------------ */

static void write_token(vug_json_writer *js, const vug_token_logprob *token)
{
    if (token->id >= 0)
        vug_json_put_i64(js, "id", token->id);
    vug_json_put_text(js, "token", token->text.ptr, token->text.len);
    vug_json_put_f64(js, "logprob", token->logprob);
}

static void write_logprob(vug_json_writer *js, const vug_token_logprob *token,
                          const vug_token_logprob *top, size_t n_top)
{
    vug_json_begin(js, NULL, '{');
    write_token(js, token);
    vug_json_begin(js, "top", '[');
    for (size_t i = 0; i < n_top; i++) {
        vug_json_begin(js, NULL, '{');
        write_token(js, &top[i]);
        vug_json_end(js, '}');
    }
    vug_json_end(js, ']');
    vug_json_end(js, '}');
}

/* Quotes and escapes make spaces visible. */
static void append_token(vug_buf *to, const vug_token_logprob *token)
{
    vug_buf_printf(to, "%9.4f ", token->logprob);
    vug_json_append_string(to, token->text.ptr, token->text.len);
}

void vug_response_printer_add_logprob(vug_response_printer *p, const vug_token_logprob *token,
                                      const vug_token_logprob *top, size_t n_top)
{
    vug_buf line = { 0 };
    if (p->silent) {
        write_logprob(&p->logprobs, token, top, n_top);
        return;
    }
    if (token->id >= 0)
        vug_buf_printf(&line, "%8lld ", (long long)token->id);
    append_token(&line, token);
    for (size_t i = 0; i < n_top; i++) {
        vug_buf_puts(&line, i ? "" : "  |");
        append_token(&line, &top[i]);
    }
    vug_buf_puts(&line, "\n");
    if (!line.bad)
        (void)print_part(p, true, line.ptr, line.len);
    vug_buf_release(&line);
}

/* ---- calls ------------------------------------------------------------------------- */

/* Stores the call in the format of the history. */
static void store_call(vug_response_printer *p, vug_str id, vug_str name, vug_str arguments)
{
    vug_json_writer *js = &p->calls;
    char new_id[32];
    (void)snprintf(new_id, sizeof(new_id), "call_%zu", p->n_calls++);
    if (!id.len)
        id = vug_str_of(new_id);
    vug_json_begin(js, NULL, '{');
    vug_json_put_text(js, "id", id.ptr, id.len);
    vug_json_put_string(js, "type", "function");
    vug_json_begin(js, "function", '{');
    vug_json_put_text(js, "name", name.ptr, name.len);
    vug_json_put_text(js, "arguments", arguments.ptr, arguments.len);
    vug_json_end(js, '}');
    vug_json_end(js, '}');
}

static bool is_valid_json(vug_str text, bool *is_object)
{
    vug_arena arena = { 0 };
    vug_json_reader j = vug_json_reader_over(text, "arguments", &arena);
    vug_err err;
    *is_object = vug_json_peek(&j) == VUG_JSON_OBJECT;
    vug_json_skip(&j);
    const bool valid = vug_json_finish(&j, &err) == VUG_OK;
    vug_arena_release(&arena);
    return valid;
}

bool vug_response_printer_add_call(vug_response_printer *p, vug_str id, vug_str name,
                                   vug_str arguments)
{
    vug_json_writer line = { 0 };
    bool is_object;
    store_call(p, id, name, arguments);
    vug_json_begin(&line, NULL, '{');
    vug_json_put_text(&line, "name", name.ptr, name.len);
    const bool valid = is_valid_json(arguments, &is_object);
    if (valid)
        vug_json_put_raw(&line, "arguments", arguments.ptr, arguments.len);
    else
        vug_json_put_text(&line, "arguments", arguments.ptr, arguments.len);
    p->bad_call = p->bad_call || !valid || !is_object;
    vug_json_end(&line, '}');
    vug_buf_puts(&line.buf, "\n");
    bool ok = !p->calls.buf.bad && !line.buf.bad;
    if (ok && p->last != '\n')
        ok = print_part(p, p->thinking_last, "\n", 1);
    ok = ok && print_part(p, false, line.buf.ptr, line.buf.len);
    vug_buf_release(&line.buf);
    return ok;
}

bool vug_response_printer_on_part(const vug_part *part, void *user)
{
    vug_response_printer *p = user;
    switch (part->kind) {
    case VUG_PART_CONTENT:
        vug_buf_append(&p->content, part->text, part->len);
        return print_part(p, false, part->text, part->len);
    case VUG_PART_THINKING:
        vug_buf_append(&p->thinking, part->text, part->len);
        return print_part(p, true, part->text, part->len);
    case VUG_PART_CALL:
        p->name.len = p->arguments.len = 0;
        vug_buf_append(&p->name, part->text, part->len);
        return true;
    case VUG_PART_ARGUMENTS:
        vug_buf_append(&p->arguments, part->text, part->len);
        return true;
    case VUG_PART_CALL_END:
        return vug_response_printer_add_call(p, (vug_str){ 0 }, view(&p->name),
                                             view(&p->arguments));
    default:
        return true;
    }
}

/* ---- the whole response ------------------------------------------------------------ */

bool vug_response_printer_append_to_history(const vug_response_printer *p,
                                            vug_chat_history *history)
{
    vug_json_writer js = { .more = true };
    vug_buf *more = &js.buf;
    if (p->thinking.len)
        vug_json_put_text(&js, "reasoning_content", p->thinking.ptr, p->thinking.len);
    const vug_str calls = p->bad_call ? (vug_str){ "", 0 } : view(&p->calls.buf);
    if (calls.len) {
        vug_json_begin(&js, "tool_calls", '[');
        vug_json_put_raw(&js, NULL, calls.ptr, calls.len);
        vug_json_end(&js, ']');
    }
    const bool any = p->content.len || calls.len;
    if (any && !more->bad) {
        vug_chat_history_add(history, "assistant", view(&p->content), more->ptr ? more->ptr : "");
        vug_buf_append(&history->calls, calls.ptr, calls.len);
    }
    vug_buf_release(more);
    return any;
}

void vug_response_printer_write_json(const vug_response_printer *p, vug_json_writer *js)
{
    const vug_str content = view(&p->content), thinking = view(&p->thinking);
    vug_json_put_text(js, "content", content.ptr, content.len);
    vug_json_put_text(js, "thinking", thinking.ptr, thinking.len);
    vug_json_begin(js, "tool_calls", '[');
    if (p->calls.buf.len)
        vug_json_put_raw(js, NULL, p->calls.buf.ptr, p->calls.buf.len);
    vug_json_end(js, ']');
}

void vug_response_printer_write_logprobs(const vug_response_printer *p, vug_json_writer *js)
{
    vug_json_begin(js, "logprobs", '[');
    if (p->logprobs.buf.len)
        vug_json_put_raw(js, NULL, p->logprobs.buf.ptr, p->logprobs.buf.len);
    vug_json_end(js, ']');
}
