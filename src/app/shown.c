#include "app/shown.h"

#include "core/json.h"

static vug_str view(const vug_buf *buf)
{
    return (vug_str){ buf->ptr ? buf->ptr : "", buf->len };
}

static void forget(vug_shown *s)
{
    vug_buf_release(&s->content);
    vug_buf_release(&s->thinking);
    vug_buf_release(&s->calls.buf);
    vug_buf_release(&s->name);
    vug_buf_release(&s->arguments);
    vug_buf_release(&s->logprobs.buf);
    s->calls.more = s->logprobs.more = false;
}

void vug_shown_begin(vug_shown *s)
{
    forget(s);
    s->last = '\n';
    s->thought = s->cut = false;
}

void vug_shown_release(vug_shown *s)
{
    forget(s);
    *s = (vug_shown){ 0 };
}

/* ---- as it comes ------------------------------------------------------------------- */

/* Where stdout and stderr are one terminal, lines are kept apart. */
static bool print(vug_shown *s, bool thought, const char *text, size_t len)
{
    if (s->silent || len == 0)
        return true;
    if (thought != s->thought && s->last != '\n') {
        if (s->thought)
            (void)fputc('\n', stderr);
        else if (s->ui->out_terminal)
            (void)vug_ui_text(s->ui, "\n", 1);
    }
    s->thought = thought;
    s->last = text[len - 1];
    if (!thought)
        return vug_ui_text(s->ui, text, len);
    vug_ui_dim(s->ui, text, len);
    return true;
}

bool vug_shown_text(vug_shown *s, const char *text, size_t len)
{
    return print(s, false, text, len);
}

void vug_shown_end(vug_shown *s)
{
    if (s->last != '\n')
        (void)print(s, s->thought, "\n", 1);
}

/* ---- log-probabilities ------------------------------------------------------------ */

static void keep_token(vug_js *js, const vug_shown_token *token)
{
    if (token->id >= 0)
        vug_js_int(js, "id", token->id);
    vug_js_text(js, "token", token->text.ptr, token->text.len);
    vug_js_f64(js, "logprob", token->logprob);
}

static void keep_logprob(vug_js *js, const vug_shown_token *token, const vug_shown_token *top,
                         size_t n_top)
{
    vug_js_open(js, NULL, '{');
    keep_token(js, token);
    vug_js_open(js, "top", '[');
    for (size_t i = 0; i < n_top; i++) {
        vug_js_open(js, NULL, '{');
        keep_token(js, &top[i]);
        vug_js_close(js, '}');
    }
    vug_js_close(js, ']');
    vug_js_close(js, '}');
}

/* Quotes and escapes also serve a person's eye. */
static void spell(vug_buf *to, const vug_shown_token *token)
{
    vug_buf_printf(to, "%9.4f ", token->logprob);
    vug_json_write_string(to, token->text.ptr, token->text.len);
}

void vug_shown_logprob(vug_shown *s, const vug_shown_token *token, const vug_shown_token *top,
                       size_t n_top)
{
    vug_buf line = { 0 };
    if (s->silent) {
        keep_logprob(&s->logprobs, token, top, n_top);
        return;
    }
    if (token->id >= 0)
        vug_buf_printf(&line, "%8lld ", (long long)token->id);
    spell(&line, token);
    for (size_t i = 0; i < n_top; i++) {
        vug_buf_puts(&line, i ? "" : "  |");
        spell(&line, &top[i]);
    }
    vug_buf_puts(&line, "\n");
    if (!line.bad)
        (void)print(s, true, line.ptr, line.len);
    vug_buf_release(&line);
}

/* ---- calls ------------------------------------------------------------------------- */

/* In the form in which it is sent back. */
static void keep_call(vug_shown *s, vug_str id, vug_str name, vug_str arguments)
{
    vug_js *js = &s->calls;
    char own[32];
    (void)snprintf(own, sizeof(own), "call_%zu", s->n_calls++);
    if (!id.len)
        id = vug_str_of(own);
    vug_js_open(js, NULL, '{');
    vug_js_text(js, "id", id.ptr, id.len);
    vug_js_str(js, "type", "function");
    vug_js_open(js, "function", '{');
    vug_js_text(js, "name", name.ptr, name.len);
    vug_js_text(js, "arguments", arguments.ptr, arguments.len);
    vug_js_close(js, '}');
    vug_js_close(js, '}');
}

static bool is_json(vug_str text, bool *is_object)
{
    vug_arena arena = { 0 };
    vug_json j = vug_json_over(text, "arguments", &arena);
    vug_err err;
    *is_object = vug_json_peek(&j) == VUG_JSON_OBJECT;
    vug_json_skip(&j);
    const bool good = vug_json_finish(&j, &err) == VUG_OK;
    vug_arena_release(&arena);
    return good;
}

bool vug_shown_call(vug_shown *s, vug_str id, vug_str name, vug_str arguments)
{
    vug_js line = { 0 };
    bool is_object;
    keep_call(s, id, name, arguments);
    vug_js_open(&line, NULL, '{');
    vug_js_text(&line, "name", name.ptr, name.len);
    const bool good_json = is_json(arguments, &is_object);
    if (good_json)
        vug_js_raw(&line, "arguments", arguments.ptr, arguments.len);
    else
        vug_js_text(&line, "arguments", arguments.ptr, arguments.len);
    s->cut = s->cut || !good_json || !is_object;
    vug_js_close(&line, '}');
    vug_buf_puts(&line.buf, "\n");
    bool good = !s->calls.buf.bad && !line.buf.bad;
    if (good && s->last != '\n')
        good = print(s, s->thought, "\n", 1);
    good = good && print(s, false, line.buf.ptr, line.buf.len);
    vug_buf_release(&line.buf);
    return good;
}

bool vug_shown_part(const vug_part *part, void *user)
{
    vug_shown *s = user;
    switch (part->kind) {
    case VUG_PART_CONTENT:
        vug_buf_append(&s->content, part->text, part->len);
        return print(s, false, part->text, part->len);
    case VUG_PART_THINKING:
        vug_buf_append(&s->thinking, part->text, part->len);
        return print(s, true, part->text, part->len);
    case VUG_PART_CALL:
        s->name.len = s->arguments.len = 0;
        vug_buf_append(&s->name, part->text, part->len);
        return true;
    case VUG_PART_ARGUMENTS:
        vug_buf_append(&s->arguments, part->text, part->len);
        return true;
    case VUG_PART_CALL_END:
        return vug_shown_call(s, (vug_str){ 0 }, view(&s->name), view(&s->arguments));
    default:
        return true;
    }
}

/* ---- as it is kept ------------------------------------------------------------------ */

bool vug_shown_keep(const vug_shown *s, vug_talk *talk)
{
    vug_buf more = { 0 };
    if (s->thinking.len) {
        vug_buf_puts(&more, ",\"reasoning_content\":");
        vug_json_write_string(&more, s->thinking.ptr, s->thinking.len);
    }
    const vug_str calls = s->cut ? (vug_str){ "", 0 } : view(&s->calls.buf);
    if (calls.len) {
        vug_buf_puts(&more, ",\"tool_calls\":[");
        vug_buf_append(&more, calls.ptr, calls.len);
        vug_buf_puts(&more, "]");
    }
    const bool any = s->content.len || calls.len;
    if (any && !more.bad) {
        vug_talk_add(talk, "assistant", view(&s->content), more.ptr ? more.ptr : "");
        vug_buf_append(&talk->calls, calls.ptr, calls.len);
    }
    vug_buf_release(&more);
    return any;
}

void vug_shown_json(const vug_shown *s, vug_js *js)
{
    const vug_str content = view(&s->content), thinking = view(&s->thinking);
    vug_js_text(js, "content", content.ptr, content.len);
    vug_js_text(js, "thinking", thinking.ptr, thinking.len);
    vug_js_open(js, "tool_calls", '[');
    if (s->calls.buf.len)
        vug_js_raw(js, NULL, s->calls.buf.ptr, s->calls.buf.len);
    vug_js_close(js, ']');
}

void vug_shown_logprobs_json(const vug_shown *s, vug_js *js)
{
    vug_js_open(js, "logprobs", '[');
    if (s->logprobs.buf.len)
        vug_js_raw(js, NULL, s->logprobs.buf.ptr, s->logprobs.buf.len);
    vug_js_close(js, ']');
}
