/* Checks the tool calls of messages, and converts them to the form that templates know. */

#include <stdio.h>

#include "text/chat/message_adapter.h"

static vug_status no_memory(vug_err *err)
{
    return VUG_FAIL(err, VUG_NOMEM, "out of memory: messages");
}

static const vug_jv *wrap_arguments(vug_arena *arena, vug_str text)
{
    vug_jv *object = vug_messages_new(arena, VUG_JSON_OBJECT, "");
    vug_jv *member = vug_messages_new_string(arena, "arguments", text);
    if (!object || !member)
        return NULL;
    vug_jv_append(object, member);
    return object;
}

/* Arguments come as an object or as its JSON text; templates want the object. Text that is
 * incomplete or is no object stays text, wrapped in an object if `wrap_text`: a call that a model
 * got wrong must not end the conversation. */
static vug_status read_arguments(const vug_jv *given, bool wrap_text, vug_arena *arena,
                                 vug_jv **out, vug_err *err)
{
    const vug_jv *v = given;
    const bool none = !given || given->type == VUG_JSON_NULL ||
                      (given->type == VUG_JSON_STRING && given->str.len == 0);
    if (none) {
        v = vug_messages_new(arena, VUG_JSON_OBJECT, "");
    } else if (given->type == VUG_JSON_STRING) {
        const vug_status st = vug_json_tree(given->str, "\"arguments\"", arena, &v, NULL);
        if (st == VUG_NOMEM)
            return no_memory(err);
        if (st != VUG_OK || v->type != VUG_JSON_OBJECT)
            v = wrap_text ? wrap_arguments(arena, given->str) : given;
    } else if (given->type != VUG_JSON_OBJECT) {
        return VUG_FAIL(err, VUG_FORMAT, "\"arguments\" are neither a string nor an object");
    }
    *out = v ? vug_messages_copy(arena, v) : NULL;
    if (!*out)
        return no_memory(err);
    (*out)->key = vug_str_of("arguments");
    return VUG_OK;
}

/* A copy of the object, with one member replaced or added. */
static vug_jv *with_member(vug_arena *arena, const vug_jv *object, vug_jv *member)
{
    vug_jv *out = vug_messages_new(arena, VUG_JSON_OBJECT, "");
    bool found = false;
    if (!out)
        return NULL;
    out->key = object->key;
    for (const vug_jv *m = object->child; m; m = m->next) {
        const bool same = vug_str_equal(m->key, member->key);
        vug_jv *copy = same ? member : vug_messages_copy(arena, m);
        if (!copy)
            return NULL;
        vug_jv_append(out, copy);
        found = found || same;
    }
    if (!found)
        vug_jv_append(out, member);
    return out;
}

static vug_status read_call(const vug_jv *call, bool wrap_text, vug_arena *arena, vug_jv **out,
                            vug_err *err)
{
    const vug_jv *function = vug_jv_get(call, "function");
    const vug_jv *name = vug_jv_get(function, "name");
    vug_jv *arguments;
    if (!vug_jv_is(function, VUG_JSON_OBJECT))
        return VUG_FAIL(err, VUG_FORMAT, "expected an object with a \"function\"");
    if (!vug_jv_is(name, VUG_JSON_STRING) || name->str.len == 0)
        return VUG_FAIL(err, VUG_FORMAT, "the function has no \"name\"");
    VUG_TRY(read_arguments(vug_jv_get(function, "arguments"), wrap_text, arena, &arguments, err));
    vug_jv *whole = with_member(arena, function, arguments);
    *out = whole ? with_member(arena, call, whole) : NULL;
    return *out ? VUG_OK : no_memory(err);
}

/* The API's older form: the only call of a message, in `function_call`. */
static vug_status read_function_call(const vug_jv *m, vug_message_turn *turn, bool wrap_text,
                                     vug_arena *arena, vug_err *err)
{
    vug_jv *call = vug_messages_new(arena, VUG_JSON_OBJECT, ""), *read;
    vug_jv *type = vug_messages_new_string(arena, "type", vug_str_of("function"));
    vug_jv *function = vug_messages_copy(arena, vug_jv_get(m, "function_call"));
    turn->calls = vug_messages_new(arena, VUG_JSON_ARRAY, "tool_calls");
    if (!call || !type || !function || !turn->calls)
        return no_memory(err);
    function->key = vug_str_of("function");
    vug_jv_append(call, type);
    vug_jv_append(call, function);
    const vug_status st = read_call(call, wrap_text, arena, &read, err);
    if (st != VUG_OK)
        return vug_fail_within(err, st, "function_call");
    vug_jv_append(turn->calls, read);
    return VUG_OK;
}

vug_status vug_turn_read_calls(const vug_jv *m, vug_message_turn *turn, bool wrap_text,
                               vug_arena *arena, vug_err *err)
{
    const vug_jv *calls = vug_jv_get(m, "tool_calls");
    const bool none = !calls || calls->type == VUG_JSON_NULL ||
                      (calls->type == VUG_JSON_ARRAY && calls->n == 0);
    const bool old = none && vug_jv_is(vug_jv_get(m, "function_call"), VUG_JSON_OBJECT);
    size_t i = 0;
    if (none && !old)
        return VUG_OK;
    if (!vug_str_is(turn->role, "assistant"))
        return VUG_FAIL(err, VUG_FORMAT, "\"%s\" in a message of role \"%.*s\"",
                        old ? "function_call" : "tool_calls", VUG_STR_ARG(turn->role));
    if (old)
        return read_function_call(m, turn, wrap_text, arena, err);
    if (calls->type != VUG_JSON_ARRAY)
        return VUG_FAIL(err, VUG_FORMAT, "\"tool_calls\" is not a list");
    turn->calls = vug_messages_new(arena, VUG_JSON_ARRAY, "tool_calls");
    for (const vug_jv *call = calls->child; call && turn->calls; call = call->next) {
        char where[40];
        vug_jv *read;
        (void)snprintf(where, sizeof(where), "tool_calls[%zu]", i++);
        const vug_status st = read_call(call, wrap_text, arena, &read, err);
        if (st != VUG_OK)
            return vug_fail_within(err, st, where);
        vug_jv_append(turn->calls, read);
    }
    return turn->calls ? VUG_OK : no_memory(err);
}
