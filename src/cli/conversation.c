#include "cli/conversation.h"

#include <stdio.h>
#include <string.h>

#include "cli/input.h"
#include "core/json.h"
#include "core/json_writer.h"
#include "core/number.h"
#include "core/os.h"

static const size_t max_tools = (size_t)64 << 20, max_messages = (size_t)64 << 20; /* bytes */

/* ---- messages ------------------------------------------------------------------------ */

static void begin_message(vug_chat_history *history, vug_str role)
{
    vug_buf_puts(&history->json, history->n++ ? ",\n " : "\n ");
    history->calls.len = 0;
    history->needs_response = vug_str_is(role, "user") || vug_str_is(role, "tool");
}

void vug_chat_history_add(vug_chat_history *history, const char *role, vug_str content,
                          const char *more)
{
    vug_json_writer js = { .to = &history->json };
    begin_message(history, vug_str_of(role));
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "role", role);
    vug_json_put_text(&js, "content", content.ptr, content.len);
    vug_buf_puts(js.to, more);
    vug_json_end(&js, '}');
}

void vug_chat_history_release(vug_chat_history *history)
{
    vug_buf_release(&history->json);
    vug_buf_release(&history->calls);
    *history = (vug_chat_history){ 0 };
}

static vug_status copy_message(vug_chat_history *history, const vug_jv *message, vug_err *err)
{
    const vug_jv *role = vug_jv_get(message, "role"), *calls = vug_jv_get(message, "tool_calls");
    if (!vug_jv_is(role, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "message %zu has no role", history->n + 1);
    begin_message(history, role->str);
    vug_buf_append(&history->json, message->str.ptr, message->str.len);
    if (vug_jv_is(calls, VUG_JSON_ARRAY) && calls->n) /* without the brackets */
        vug_buf_append(&history->calls, calls->str.ptr + 1, calls->str.len - 2);
    return VUG_OK;
}

static vug_status copy_messages(vug_chat_history *history, const vug_jv *root, vug_err *err)
{
    const vug_jv *list = vug_jv_is(root, VUG_JSON_OBJECT) ? vug_jv_get(root, "messages") : root;
    if (!vug_jv_is(list, VUG_JSON_ARRAY) || !list->n)
        return VUG_FAIL(err, VUG_FORMAT, "expected an array of messages");
    for (const vug_jv *m = list->child; m; m = m->next)
        VUG_TRY(copy_message(history, m, err));
    return VUG_OK;
}

static vug_status load_messages(vug_chat_history *history, const char *path, vug_err *err)
{
    const char *name = vug_input_name(path);
    vug_arena arena = { 0 };
    vug_text text;
    const vug_jv *root;
    VUG_TRY(vug_input_read(path, max_messages, &text, err));
    vug_status st = vug_json_tree((vug_str){ text.ptr, text.len }, name, &arena, &root, err);
    if (st == VUG_OK) {
        st = copy_messages(history, root, err);
        if (st != VUG_OK)
            st = vug_fail_within(err, st, name);
    }
    vug_arena_release(&arena);
    vug_text_release(&text);
    return st;
}

vug_status vug_chat_history_init(vug_chat_history *history, const vug_options *opt, vug_err *err)
{
    if (opt->system)
        vug_chat_history_add(history, "system", vug_str_of(opt->system), "");
    return opt->messages ? load_messages(history, opt->messages, err) : VUG_OK;
}

vug_status vug_chat_history_save(const vug_chat_history *history, const char *path, vug_err *err)
{
    vug_out out;
    VUG_TRY(vug_buf_ok(&history->json, err));
    vug_out_open(&out, path);
    vug_out_write(&out, "[", 1);
    vug_out_write(&out, history->json.ptr ? history->json.ptr : "", history->json.len);
    vug_out_write(&out, "\n]\n", 3);
    return vug_out_commit(&out, err);
}

/* ---- prompt options -------------------------------------------------------------------- */

void vug_prompt_options_add_variable(vug_prompt_options *p, vug_str name, vug_str value)
{
    if (p->variables.len)
        p->variables.len--; /* the closing brace */
    vug_buf_puts(&p->variables, p->variables.len ? "," : "{");
    vug_json_append_string(&p->variables, name.ptr, name.len);
    vug_buf_puts(&p->variables, ":");
    vug_buf_append(&p->variables, value.ptr, value.len);
    vug_buf_puts(&p->variables, "}");
}

/* NAME=JSON */
static vug_status add_variable(vug_prompt_options *p, const char *text, vug_err *err)
{
    const char *equals = strchr(text, '=');
    vug_arena arena = { 0 };
    const vug_jv *value = NULL;
    char name[80];
    if (!equals || equals == text || equals - text >= (ptrdiff_t)sizeof(name))
        return VUG_FAIL(err, VUG_ARGUMENT, "--var %s: expected NAME=JSON", text);
    (void)snprintf(name, sizeof(name), "--var %.*s", (int)(equals - text), text);
    const vug_status st = vug_json_tree(vug_str_of(equals + 1), name, &arena, &value, err);
    vug_arena_release(&arena);
    if (st != VUG_OK)
        return st;
    vug_prompt_options_add_variable(p, (vug_str){ text, (size_t)(equals - text) },
                                    vug_str_of(equals + 1));
    return VUG_OK;
}

/* "on", "off", or a number of tokens. */
static vug_status set_thinking(vug_prompt_options *p, const char *text, vug_err *err)
{
    int64_t tokens = 0;
    const bool on = strcmp(text, "on") == 0, off = strcmp(text, "off") == 0;
    if (!on && !off && (!vug_parse_i64(text, &tokens) || tokens < 0 || tokens > 1 << 24))
        return VUG_FAIL(err, VUG_ARGUMENT, "--thinking %s: expected on, off, or a number of tokens",
                        text);
    p->thinking = (int)tokens;
    vug_prompt_options_add_variable(p, vug_str_of("enable_thinking"),
                                    vug_str_of(on || tokens > 0 ? "true" : "false"));
    return VUG_OK;
}

/* Parses the text only to name its file in errors: a chat template and a server know only the text. */
static vug_status read_tools(vug_prompt_options *p, const char *path, vug_err *err)
{
    vug_arena arena = { 0 };
    const vug_jv *root;
    VUG_TRY(vug_input_read(path, max_tools, &p->tools, err));
    const vug_status st = vug_json_tree((vug_str){ p->tools.ptr, p->tools.len },
                                        vug_input_name(path), &arena, &root, err);
    vug_arena_release(&arena);
    return st;
}

vug_status vug_prompt_options_init(vug_prompt_options *p, const vug_options *opt, vug_err *err)
{
    *p = (vug_prompt_options){ .no_generation_prompt = opt->no_generation_prompt,
                               .strict = opt->strict_template };
    vug_status st = VUG_OK;
    if (opt->tools)
        st = read_tools(p, opt->tools, err);
    if (st == VUG_OK && opt->thinking)
        st = set_thinking(p, opt->thinking, err);
    for (size_t i = 0; st == VUG_OK && i < opt->var.n; i++)
        st = add_variable(p, opt->var.item[i], err);
    if (st == VUG_OK)
        st = vug_buf_ok(&p->variables, err);
    if (st != VUG_OK)
        vug_prompt_options_release(p);
    return st;
}

void vug_prompt_options_release(vug_prompt_options *p)
{
    vug_text_release(&p->tools);
    vug_buf_release(&p->variables);
    *p = (vug_prompt_options){ 0 };
}

vug_conversation vug_prompt_options_conversation(const vug_prompt_options *p, vug_str messages)
{
    return (vug_conversation){
        .messages = messages.ptr,
        .messages_len = messages.len,
        .tools = p->tools.ptr,
        .tools_len = p->tools.len,
        .variables = p->variables.ptr,
        .variables_len = p->variables.len,
        .no_generation_prompt = p->no_generation_prompt,
        .strict = p->strict,
    };
}

vug_status vug_prompt_options_render(const vug_prompt_options *p, const vug_chat *chat,
                                     vug_str messages, vug_prompt *out, vug_err *err)
{
    const vug_conversation c = vug_prompt_options_conversation(p, messages);
    VUG_TRY(vug_buf_ok(&p->variables, err));
    return vug_chat_render(chat, &c, out, err);
}
