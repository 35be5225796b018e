#include "text/chat/messages.h"

#include <stdio.h>

#include "text/chat/chat.h"
#include "text/chat/messages_fit.h"

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
                            "message %zu: expected an object with \"role\" and \"content\"", i + 1);
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
                        "tool %zu: expected {\"type\": \"function\", \"function\": {..}}", i);
    if (!vug_jv_is(name, VUG_JSON_STRING) || name->str.len == 0)
        return VUG_FAIL(err, VUG_FORMAT, "tool %zu: its function has no \"name\"", i);
    if (parameters && parameters->type != VUG_JSON_OBJECT && parameters->type != VUG_JSON_NULL)
        return VUG_FAIL(err, VUG_FORMAT,
                        "tool %zu: the \"parameters\" of '%.*s' are no object, expected a schema",
                        i, VUG_STR_ARG(name->str));
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
        VUG_TRY(check_tool(tool, ++i, err));
    *out = strict || top->n ? top : NULL;
    return VUG_OK;
}

void vug_messages_write(const vug_message *message, size_t n, vug_buf *to)
{
    vug_buf_puts(to, "[");
    for (size_t i = 0; i < n; i++) {
        vug_buf_puts(to, i ? ",{\"role\":" : "{\"role\":");
        vug_json_write_string(to, message[i].role, strlen(message[i].role));
        vug_buf_puts(to, ",\"content\":");
        vug_json_write_string(to, message[i].content, strlen(message[i].content));
        vug_buf_puts(to, "}");
    }
    vug_buf_puts(to, "]");
}

/* ---- values ------------------------------------------------------------------------- */

vug_jv *vug_fit_new(vug_arena *arena, vug_json_type type, const char *key)
{
    vug_jv *v = vug_arena_alloc(arena, 1, sizeof(*v));
    if (v) {
        v->type = type;
        v->key = vug_str_of(key);
    }
    return v;
}

vug_jv *vug_fit_string(vug_arena *arena, const char *key, vug_str text)
{
    vug_jv *v = vug_fit_new(arena, VUG_JSON_STRING, key);
    if (v)
        v->str = text;
    return v;
}

/* A copy that can stand in another place; what it holds is shared. */
static vug_jv *copy_of(vug_arena *arena, const vug_jv *v)
{
    vug_jv *copy = vug_fit_new(arena, v->type, "");
    if (copy) {
        *copy = *v;
        copy->next = NULL;
    }
    return copy;
}

void vug_fit_add(vug_jv *to, vug_jv **last, vug_jv *v)
{
    *(*last ? &(*last)->next : &to->child) = v;
    *last = v;
    to->n++;
}

static vug_status no_memory(vug_err *err)
{
    return VUG_FAIL(err, VUG_NOMEM, "out of memory: messages");
}

/* ---- checking ------------------------------------------------------------------------- */

static const char *const roles[] = { "system", "developer", "user", "assistant", "tool" };

static vug_status check_role(const vug_jv *m, vug_fit_turn *turn, vug_err *err)
{
    const vug_jv *role = vug_jv_get(m, "role");
    if (!vug_jv_is(role, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "\"role\" is missing or no string");
    turn->role = role->str;
    if (vug_str_is(role->str, "model")) /* as Gemma calls it */
        turn->role = vug_str_of("assistant");
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (vug_str_is(turn->role, roles[i]))
            return VUG_OK;
    }
    return VUG_FAIL(err, VUG_ARGUMENT,
                    "role \"%.*s\" is not known; system, developer, user, assistant and tool are",
                    VUG_STR_ARG(role->str));
}

static vug_status check_part(const vug_jv *part, size_t i, vug_err *err)
{
    const vug_jv *type = vug_jv_get(part, "type"), *text = vug_jv_get(part, "text");
    if (!vug_jv_is(part, VUG_JSON_OBJECT) || !vug_jv_is(type, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "part %zu: expected an object with a \"type\"", i);
    if (!vug_str_is(type->str, "text"))
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "part %zu: type \"%.*s\", of which this model sees nothing; text is read",
                        i, VUG_STR_ARG(type->str));
    if (!vug_jv_is(text, VUG_JSON_STRING))
        return VUG_FAIL(err, VUG_FORMAT, "part %zu: \"text\" is missing or no string", i);
    return VUG_OK;
}

static vug_status check_content(const vug_jv *m, vug_fit_turn *turn, vug_arena *arena, vug_err *err)
{
    const vug_jv *content = vug_jv_get(m, "content");
    size_t i = 0;
    const bool none = !content || content->type == VUG_JSON_NULL;
    if (none && !vug_str_is(turn->role, "assistant"))
        return VUG_FAIL(err, VUG_FORMAT, "\"content\" is missing");
    if (!none && content->type != VUG_JSON_STRING && content->type != VUG_JSON_ARRAY)
        return VUG_FAIL(err, VUG_FORMAT, "\"content\" is neither a string nor a list of parts");
    for (const vug_jv *part = vug_jv_is(content, VUG_JSON_ARRAY) ? content->child : NULL; part;
         part = part->next)
        VUG_TRY(check_part(part, ++i, err));
    turn->content = none ? vug_fit_string(arena, "content", vug_str_of("")) : content;
    return turn->content ? VUG_OK : no_memory(err);
}

/* Arguments come as the text of an object, or as one; templates want one. */
static vug_status read_arguments(const vug_jv *given, vug_arena *arena, vug_jv **out, vug_err *err)
{
    const vug_jv *v = given;
    const bool none = !given || given->type == VUG_JSON_NULL ||
                      (given->type == VUG_JSON_STRING && given->str.len == 0);
    if (none)
        v = vug_fit_new(arena, VUG_JSON_OBJECT, "");
    else if (given->type == VUG_JSON_STRING)
        VUG_TRY(vug_json_tree(given->str, "\"arguments\"", arena, &v, err));
    if (v && v->type != VUG_JSON_OBJECT)
        return VUG_FAIL(err, VUG_FORMAT, "\"arguments\" are no object");
    *out = v ? copy_of(arena, v) : NULL;
    if (!*out)
        return no_memory(err);
    (*out)->key = vug_str_of("arguments");
    return VUG_OK;
}

/* The object with one of its members replaced, or added. */
static vug_jv *replaced(vug_arena *arena, const vug_jv *object, vug_jv *member)
{
    vug_jv *out = copy_of(arena, object), *last = NULL;
    bool found = false;
    if (!out)
        return NULL;
    out->child = NULL;
    out->n = 0;
    for (const vug_jv *m = object->child; m; m = m->next) {
        const bool same = vug_str_equal(m->key, member->key);
        vug_jv *copy = same ? member : copy_of(arena, m);
        if (!copy)
            return NULL;
        vug_fit_add(out, &last, copy);
        found = found || same;
    }
    if (!found)
        vug_fit_add(out, &last, member);
    return out;
}

static vug_status read_call(const vug_jv *call, vug_arena *arena, vug_jv **out, vug_err *err)
{
    const vug_jv *function = vug_jv_get(call, "function");
    const vug_jv *name = vug_jv_get(function, "name");
    vug_jv *arguments;
    if (!vug_jv_is(function, VUG_JSON_OBJECT))
        return VUG_FAIL(err, VUG_FORMAT, "expected an object with a \"function\"");
    if (!vug_jv_is(name, VUG_JSON_STRING) || name->str.len == 0)
        return VUG_FAIL(err, VUG_FORMAT, "the function has no \"name\"");
    VUG_TRY(read_arguments(vug_jv_get(function, "arguments"), arena, &arguments, err));
    vug_jv *whole = replaced(arena, function, arguments);
    *out = whole ? replaced(arena, call, whole) : NULL;
    return *out ? VUG_OK : no_memory(err);
}

static vug_status check_calls(const vug_jv *m, vug_fit_turn *turn, vug_arena *arena, vug_err *err)
{
    const vug_jv *calls = vug_jv_get(m, "tool_calls");
    vug_jv *last = NULL;
    size_t i = 0;
    if (!calls || calls->type == VUG_JSON_NULL || (calls->type == VUG_JSON_ARRAY && !calls->n))
        return VUG_OK;
    if (!vug_str_is(turn->role, "assistant"))
        return VUG_FAIL(err, VUG_FORMAT, "\"tool_calls\" in a message of role \"%.*s\"",
                        VUG_STR_ARG(turn->role));
    if (calls->type != VUG_JSON_ARRAY)
        return VUG_FAIL(err, VUG_FORMAT, "\"tool_calls\" is no list");
    turn->calls = vug_fit_new(arena, VUG_JSON_ARRAY, "tool_calls");
    for (const vug_jv *call = calls->child; call && turn->calls; call = call->next) {
        char where[40];
        vug_jv *read;
        (void)snprintf(where, sizeof(where), "tool call %zu", ++i);
        const vug_status st = read_call(call, arena, &read, err);
        if (st != VUG_OK)
            return vug_fail_within(err, st, where);
        vug_fit_add(turn->calls, &last, read);
    }
    return turn->calls ? VUG_OK : no_memory(err);
}

/* The names under which reasoning is sent back; templates know one or the other. */
static vug_status check_reasoning(const vug_jv *m, vug_fit_turn *turn, vug_err *err)
{
    static const char *const names[] = { "reasoning_content", "reasoning" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !turn->reasoning; i++) {
        const vug_jv *v = vug_jv_get(m, names[i]);
        if (v && v->type != VUG_JSON_STRING && v->type != VUG_JSON_NULL)
            return VUG_FAIL(err, VUG_FORMAT, "\"%s\" is no string", names[i]);
        turn->reasoning = vug_jv_is(v, VUG_JSON_STRING) ? v : NULL;
    }
    return VUG_OK;
}

static vug_status check(const vug_jv *m, vug_fit_turn *turn, vug_arena *arena, vug_err *err)
{
    turn->message = m;
    VUG_TRY(check_role(m, turn, err));
    VUG_TRY(check_content(m, turn, arena, err));
    VUG_TRY(check_calls(m, turn, arena, err));
    return check_reasoning(m, turn, err);
}

vug_status vug_messages_fit(const vug_jv *list, const vug_refusals *refusals, vug_arena *arena,
                            const vug_jv **out, vug_err *err)
{
    size_t n = 0;
    if (list->n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "a conversation needs at least one message");
    vug_fit_turn *turn = vug_arena_alloc(arena, list->n, sizeof(*turn));
    if (!turn)
        return no_memory(err);
    for (const vug_jv *m = list->child; m; m = m->next) {
        char where[40];
        (void)snprintf(where, sizeof(where), "message %zu", n + 1);
        const vug_status st = check(m, &turn[n++], arena, err);
        if (st != VUG_OK)
            return vug_fail_within(err, st, where);
    }
    *out = vug_fit_turns(turn, n, refusals, arena);
    return *out ? VUG_OK : no_memory(err);
}
