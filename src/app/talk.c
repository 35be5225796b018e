#include "app/talk.h"

#include <stdio.h>
#include <string.h>

#include "app/input.h"
#include "core/json.h"
#include "core/os.h"
#include "core/text.h"

static const size_t max_tools = (size_t)64 << 20, max_talk = (size_t)64 << 20; /* bytes */

/* ---- messages ------------------------------------------------------------------------ */

static void begin_message(vug_talk *talk, vug_str role)
{
    vug_buf_puts(&talk->json, talk->n++ ? ",\n " : "\n ");
    talk->calls.len = 0;
    talk->open = vug_str_is(role, "user") || vug_str_is(role, "tool");
}

void vug_talk_add(vug_talk *talk, const char *role, vug_str content, const char *more)
{
    vug_buf *to = &talk->json;
    begin_message(talk, vug_str_of(role));
    vug_buf_puts(to, "{\"role\":");
    vug_json_write_string(to, role, strlen(role));
    vug_buf_puts(to, ",\"content\":");
    vug_json_write_string(to, content.ptr ? content.ptr : "", content.len);
    vug_buf_puts(to, more);
    vug_buf_puts(to, "}");
}

void vug_talk_release(vug_talk *talk)
{
    vug_buf_release(&talk->json);
    vug_buf_release(&talk->calls);
    *talk = (vug_talk){ 0 };
}

/* As it stands in the file. */
static vug_status copy_message(vug_talk *talk, const vug_jv *message, vug_err *err)
{
    const vug_jv *role = vug_jv_get(message, "role"), *calls = vug_jv_get(message, "tool_calls");
    if (!vug_jv_is(role, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "message %zu has no role", talk->n + 1);
    begin_message(talk, role->str);
    vug_buf_append(&talk->json, message->str.ptr, message->str.len);
    if (vug_jv_is(calls, VUG_JSON_ARRAY) && calls->n) /* between the brackets */
        vug_buf_append(&talk->calls, calls->str.ptr + 1, calls->str.len - 2);
    return VUG_OK;
}

static vug_status copy_messages(vug_talk *talk, const vug_jv *root, vug_err *err)
{
    const vug_jv *list = vug_jv_is(root, VUG_JSON_OBJECT) ? vug_jv_get(root, "messages") : root;
    if (!vug_jv_is(list, VUG_JSON_ARRAY) || !list->n)
        return VUG_FAIL(err, VUG_FORMAT, "expected an array of messages");
    for (const vug_jv *m = list->child; m; m = m->next)
        VUG_TRY(copy_message(talk, m, err));
    return VUG_OK;
}

vug_status vug_talk_load(vug_talk *talk, const char *path, vug_err *err)
{
    const char *name = vug_input_name(path);
    vug_arena arena = { 0 };
    vug_text text;
    const vug_jv *root;
    VUG_TRY(vug_input_read(path, max_talk, &text, err));
    vug_status st = vug_json_tree((vug_str){ text.ptr, text.len }, name, &arena, &root, err);
    if (st == VUG_OK) {
        st = copy_messages(talk, root, err);
        if (st != VUG_OK)
            st = vug_fail_within(err, st, name);
    }
    vug_arena_release(&arena);
    vug_text_release(&text);
    return st;
}

vug_status vug_talk_save(const vug_talk *talk, const char *path, vug_err *err)
{
    vug_out out;
    VUG_TRY(vug_buf_ok(&talk->json, err));
    vug_out_open(&out, path);
    vug_out_write(&out, "[", 1);
    vug_out_write(&out, talk->json.ptr ? talk->json.ptr : "", talk->json.len);
    vug_out_write(&out, "\n]\n", 3);
    return vug_out_commit(&out, err);
}

/* ---- the setting ---------------------------------------------------------------------- */

void vug_setting_add(vug_setting *s, vug_str name, vug_str value)
{
    if (s->variables.len)
        s->variables.len--; /* the closing brace */
    vug_buf_puts(&s->variables, s->variables.len ? "," : "{");
    vug_json_write_string(&s->variables, name.ptr, name.len);
    vug_buf_puts(&s->variables, ":");
    vug_buf_append(&s->variables, value.ptr, value.len);
    vug_buf_puts(&s->variables, "}");
}

/* NAME=JSON */
static vug_status add_variable(vug_setting *s, const char *text, vug_err *err)
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
    vug_setting_add(s, (vug_str){ text, (size_t)(equals - text) }, vug_str_of(equals + 1));
    return VUG_OK;
}

/* on, off, or the most tokens of it. */
static vug_status add_thinking(vug_setting *s, const char *text, vug_err *err)
{
    int64_t tokens = 0;
    const bool on = strcmp(text, "on") == 0, off = strcmp(text, "off") == 0;
    if (!on && !off && (!vug_parse_i64(text, &tokens) || tokens < 0 || tokens > 1 << 24))
        return VUG_FAIL(err, VUG_ARGUMENT, "--thinking %s: expected on, off, or a number of tokens",
                        text);
    s->thinking = (int)tokens;
    vug_setting_add(s, vug_str_of("enable_thinking"),
                    vug_str_of(on || tokens > 0 ? "true" : "false"));
    return VUG_OK;
}

vug_status vug_setting_init(vug_setting *s, const vug_options *opt, vug_err *err)
{
    *s = (vug_setting){ .no_reply = opt->no_generation_prompt, .strict = opt->strict_template };
    vug_status st = VUG_OK;
    if (opt->tools)
        st = vug_input_read(opt->tools, max_tools, &s->tools, err);
    if (st == VUG_OK && opt->thinking)
        st = add_thinking(s, opt->thinking, err);
    for (size_t i = 0; st == VUG_OK && i < opt->var.n; i++)
        st = add_variable(s, opt->var.item[i], err);
    if (st == VUG_OK)
        st = vug_buf_ok(&s->variables, err);
    if (st != VUG_OK)
        vug_setting_release(s);
    return st;
}

void vug_setting_release(vug_setting *s)
{
    vug_text_release(&s->tools);
    vug_buf_release(&s->variables);
    *s = (vug_setting){ 0 };
}

vug_status vug_setting_render(const vug_setting *s, const vug_chat *chat, vug_str messages,
                              vug_prompt *out, vug_err *err)
{
    const vug_conversation c = {
        .messages = messages.ptr,
        .messages_len = messages.len,
        .tools = s->tools.ptr,
        .tools_len = s->tools.len,
        .variables = s->variables.ptr,
        .variables_len = s->variables.len,
        .no_reply = s->no_reply,
        .strict = s->strict,
    };
    VUG_TRY(vug_buf_ok(&s->variables, err));
    return vug_chat_render(chat, &c, out, err);
}
