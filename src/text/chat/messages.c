#include "text/chat/messages.h"

#include <stdio.h>

#include "core/json_writer.h"
#include "text/chat/chat_template.h"
#include "text/chat/message_adapter.h"

/* ---- reading ---------------------------------------------------------------------- */

static vug_status read_tree(vug_str json, const char *name, vug_arena *arena, const vug_jv **out,
                            vug_err *err)
{
    if (json.len > VUG_MESSAGES_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "%s: %zu bytes, at most %zu are read", name, json.len,
                        VUG_MESSAGES_MAX_BYTES);
    return vug_json_tree(json, name, arena, out, err);
}

vug_status vug_messages_read(vug_str json, vug_arena *arena, const vug_jv **out, vug_err *err)
{
    const vug_jv *top;
    size_t i = 0;
    VUG_TRY(read_tree(json, "messages", arena, &top, err));
    if (top->type == VUG_JSON_OBJECT)
        top = vug_jv_get(top, "messages");
    if (!vug_jv_is(top, VUG_JSON_ARRAY))
        return VUG_FAIL(err, VUG_FORMAT,
                        "messages: expected an array of messages, or an object with such an array "
                        "under \"messages\"");
    for (const vug_jv *m = top->child; m; m = m->next, i++) {
        if (m->type != VUG_JSON_OBJECT)
            return VUG_FAIL(err, VUG_FORMAT,
                            "messages[%zu]: expected an object with \"role\" and \"content\"", i);
    }
    *out = top;
    return VUG_OK;
}

static vug_status check_tool(const vug_jv *tool, size_t i, vug_err *err)
{
    const vug_jv *function = vug_jv_get(tool, "function");
    const vug_jv *name = vug_jv_get(function, "name");
    const vug_jv *parameters = vug_jv_get(function, "parameters");
    if (!vug_jv_is(function, VUG_JSON_OBJECT))
        return VUG_FAIL(err, VUG_FORMAT,
                        "tools[%zu]: expected {\"type\": \"function\", \"function\": {..}}", i);
    if (!vug_jv_is(name, VUG_JSON_STRING) || name->str.len == 0)
        return VUG_FAIL(err, VUG_FORMAT, "tools[%zu]: its function has no \"name\"", i);
    if (parameters && parameters->type != VUG_JSON_OBJECT && parameters->type != VUG_JSON_NULL)
        return VUG_FAIL(
                err, VUG_FORMAT,
                "tools[%zu]: the \"parameters\" of '%.*s' are not an object, expected a schema", i,
                VUG_STR_ARG(name->str));
    return VUG_OK;
}

vug_status vug_tools_read(vug_str json, bool strict, vug_arena *arena, const vug_jv **out,
                          vug_err *err)
{
    const vug_jv *top = NULL;
    size_t i = 0;
    *out = NULL;
    if (json.len == 0)
        return VUG_OK;
    VUG_TRY(read_tree(json, "tools", arena, &top, err));
    if (top->type == VUG_JSON_NULL)
        return VUG_OK;
    if (top->type == VUG_JSON_OBJECT && vug_jv_get(top, "tools"))
        top = vug_jv_get(top, "tools");
    if (top->type != VUG_JSON_ARRAY)
        return VUG_FAIL(err, VUG_FORMAT, "tools: expected an array of tools");
    for (const vug_jv *tool = top->child; tool && !strict; tool = tool->next)
        VUG_TRY(check_tool(tool, i++, err));
    *out = strict || top->n ? top : NULL;
    return VUG_OK;
}

void vug_messages_write(const vug_message *message, size_t n, vug_buf *to)
{
    vug_buf_puts(to, "[");
    for (size_t i = 0; i < n; i++) {
        vug_buf_puts(to, i ? ",{\"role\":" : "{\"role\":");
        vug_json_append_string(to, message[i].role, strlen(message[i].role));
        vug_buf_puts(to, ",\"content\":");
        vug_json_append_string(to, message[i].content, strlen(message[i].content));
        vug_buf_puts(to, "}");
    }
    vug_buf_puts(to, "]");
}

static vug_status no_memory(vug_err *err)
{
    return VUG_FAIL(err, VUG_NOMEM, "out of memory: messages");
}

/* ---- checking ------------------------------------------------------------------------- */

static const char *const roles[] = { "system", "developer", "user", "assistant", "tool" };

static vug_status check_role(const vug_jv *m, vug_message_turn *turn, vug_err *err)
{
    const vug_jv *role = vug_jv_get(m, "role");
    if (!vug_jv_is(role, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "\"role\" is missing or not a string");
    turn->role = role->str;
    if (vug_str_is(role->str, "model")) /* Gemma's name */
        turn->role = vug_str_of("assistant");
    else if (vug_str_is(role->str, "function")) /* the API's older name */
        turn->role = vug_str_of("tool");
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (vug_str_is(turn->role, roles[i]))
            return VUG_OK;
    }
    return VUG_FAIL(err, VUG_ARGUMENT,
                    "unknown role \"%.*s\"; expected system, developer, user, assistant or tool",
                    VUG_STR_ARG(role->str));
}

/* The part as templates know it: a refusal becomes text. */
static vug_status read_part(const vug_jv *part, size_t i, vug_arena *arena, vug_jv **out,
                            vug_err *err)
{
    const vug_jv *type = vug_jv_get(part, "type");
    if (!vug_jv_is(part, VUG_JSON_OBJECT) || !vug_jv_is(type, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "content[%zu]: expected an object with a \"type\"", i);
    const bool refusal = vug_str_is(type->str, "refusal");
    if (!refusal && !vug_str_is(type->str, "text"))
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "content[%zu]: type \"%.*s\" is not supported; expected text", i,
                        VUG_STR_ARG(type->str));
    const char *name = refusal ? "refusal" : "text";
    const vug_jv *text = vug_jv_get(part, name);
    if (!vug_jv_is(text, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "content[%zu]: \"%s\" is missing or not a string", i,
                        name);
    *out = refusal ? vug_messages_new_text_part(arena, text->str) : vug_messages_copy(arena, part);
    return *out ? VUG_OK : no_memory(err);
}

static vug_status read_parts(const vug_jv *content, vug_message_turn *turn, vug_arena *arena,
                             vug_err *err)
{
    vug_jv *list = vug_messages_new(arena, VUG_JSON_ARRAY, "content");
    size_t i = 0;
    for (const vug_jv *part = content->child; part && list; part = part->next) {
        vug_jv *read;
        VUG_TRY(read_part(part, i++, arena, &read, err));
        vug_jv_append(list, read);
    }
    turn->content = list;
    return list ? VUG_OK : no_memory(err);
}

static vug_status check_content(const vug_jv *m, vug_message_turn *turn, vug_arena *arena,
                                vug_err *err)
{
    const vug_jv *content = vug_jv_get(m, "content"), *refusal = vug_jv_get(m, "refusal");
    const bool none = !content || content->type == VUG_JSON_NULL;
    if (none && !vug_str_is(turn->role, "assistant"))
        return VUG_FAIL(err, VUG_FORMAT, "\"content\" is missing");
    if (none)
        turn->content = vug_messages_new_string(
                arena, "content",
                vug_jv_is(refusal, VUG_JSON_STRING) ? refusal->str : vug_str_of(""));
    else if (content->type == VUG_JSON_STRING)
        turn->content = content;
    else if (content->type == VUG_JSON_ARRAY)
        return read_parts(content, turn, arena, err);
    else
        return VUG_FAIL(err, VUG_FORMAT, "\"content\" is neither a string nor a list of parts");
    return turn->content ? VUG_OK : no_memory(err);
}

/* Clients send reasoning back under either name; a template knows only one of them. */
static vug_status check_reasoning(const vug_jv *m, vug_message_turn *turn, vug_err *err)
{
    static const char *const names[] = { "reasoning_content", "reasoning" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !turn->reasoning; i++) {
        const vug_jv *v = vug_jv_get(m, names[i]);
        if (v && v->type != VUG_JSON_STRING && v->type != VUG_JSON_NULL)
            return VUG_FAIL(err, VUG_FORMAT, "\"%s\" is not a string", names[i]);
        turn->reasoning = vug_jv_is(v, VUG_JSON_STRING) ? v : NULL;
    }
    return VUG_OK;
}

static vug_status check_message(const vug_jv *m, vug_message_turn *turn, bool wrap_text,
                                vug_arena *arena, vug_err *err)
{
    turn->message = m;
    VUG_TRY(check_role(m, turn, err));
    VUG_TRY(check_content(m, turn, arena, err));
    VUG_TRY(vug_turn_read_calls(m, turn, wrap_text, arena, err));
    return check_reasoning(m, turn, err);
}

vug_status vug_messages_adapt(const vug_jv *list, const vug_template_capabilities *capabilities,
                              vug_arena *arena, const vug_jv **out, vug_err *err)
{
    const bool wrap_text = capabilities->lacks[VUG_CAPABILITY_TEXT_ARGUMENTS];
    size_t n = 0;
    if (list->n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "a conversation needs at least one message");
    vug_message_turn *turn = vug_arena_alloc(arena, list->n, sizeof(*turn));
    if (!turn)
        return no_memory(err);
    for (const vug_jv *m = list->child; m; m = m->next) {
        char where[40];
        (void)snprintf(where, sizeof(where), "messages[%zu]", n);
        const vug_status st = check_message(m, &turn[n++], wrap_text, arena, err);
        if (st != VUG_OK)
            return vug_fail_within(err, st, where);
    }
    *out = vug_turns_sort_results(turn, n, arena) ? vug_turns_adapt(turn, n, capabilities, arena)
                                                  : NULL;
    return *out ? VUG_OK : no_memory(err);
}
