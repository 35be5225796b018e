#include <stdio.h>

#include "text/chat/messages_fit.h"

/* Calls of tools in messages, as templates know them. */

static vug_status no_memory(vug_err *err)
{
    return VUG_FAIL(err, VUG_NOMEM, "out of memory: messages");
}

static const vug_jv *wrapped(vug_arena *arena, vug_str text)
{
    vug_jv *object = vug_fit_new(arena, VUG_JSON_OBJECT, ""), *last = NULL;
    vug_jv *member = vug_fit_string(arena, "arguments", text);
    if (!object || !member)
        return NULL;
    vug_fit_add(object, &last, member);
    return object;
}

/* Arguments come as the text of an object, or as one; templates want one. What a model
 * wrote that is none, or not to its end, stays text, in an object if `no_text`: the
 * conversation is to go on. */
static vug_status read_arguments(const vug_jv *given, bool no_text, vug_arena *arena, vug_jv **out,
                                 vug_err *err)
{
    const vug_jv *v = given;
    const bool none = !given || given->type == VUG_JSON_NULL ||
                      (given->type == VUG_JSON_STRING && given->str.len == 0);
    if (none) {
        v = vug_fit_new(arena, VUG_JSON_OBJECT, "");
    } else if (given->type == VUG_JSON_STRING) {
        const vug_status st = vug_json_tree(given->str, "\"arguments\"", arena, &v, NULL);
        if (st == VUG_NOMEM)
            return no_memory(err);
        if (st != VUG_OK || v->type != VUG_JSON_OBJECT)
            v = no_text ? wrapped(arena, given->str) : given;
    } else if (given->type != VUG_JSON_OBJECT) {
        return VUG_FAIL(err, VUG_FORMAT, "\"arguments\" are neither a string nor an object");
    }
    *out = v ? vug_fit_copy(arena, v) : NULL;
    if (!*out)
        return no_memory(err);
    (*out)->key = vug_str_of("arguments");
    return VUG_OK;
}

/* The object with one of its members replaced, or added. */
static vug_jv *replaced(vug_arena *arena, const vug_jv *object, vug_jv *member)
{
    vug_jv *out = vug_fit_copy(arena, object), *last = NULL;
    bool found = false;
    if (!out)
        return NULL;
    out->child = NULL;
    out->n = 0;
    for (const vug_jv *m = object->child; m; m = m->next) {
        const bool same = vug_str_equal(m->key, member->key);
        vug_jv *copy = same ? member : vug_fit_copy(arena, m);
        if (!copy)
            return NULL;
        vug_fit_add(out, &last, copy);
        found = found || same;
    }
    if (!found)
        vug_fit_add(out, &last, member);
    return out;
}

static vug_status read_call(const vug_jv *call, bool no_text, vug_arena *arena, vug_jv **out,
                            vug_err *err)
{
    const vug_jv *function = vug_jv_get(call, "function");
    const vug_jv *name = vug_jv_get(function, "name");
    vug_jv *arguments;
    if (!vug_jv_is(function, VUG_JSON_OBJECT))
        return VUG_FAIL(err, VUG_FORMAT, "expected an object with a \"function\"");
    if (!vug_jv_is(name, VUG_JSON_STRING) || name->str.len == 0)
        return VUG_FAIL(err, VUG_FORMAT, "the function has no \"name\"");
    VUG_TRY(read_arguments(vug_jv_get(function, "arguments"), no_text, arena, &arguments, err));
    vug_jv *whole = replaced(arena, function, arguments);
    *out = whole ? replaced(arena, call, whole) : NULL;
    return *out ? VUG_OK : no_memory(err);
}

/* As the only call of a message was written before there were several. */
static vug_status check_old_call(const vug_jv *m, vug_fit_turn *turn, bool no_text,
                                 vug_arena *arena, vug_err *err)
{
    vug_jv *call = vug_fit_new(arena, VUG_JSON_OBJECT, ""), *last = NULL, *read;
    vug_jv *type = vug_fit_string(arena, "type", vug_str_of("function"));
    vug_jv *function = vug_fit_copy(arena, vug_jv_get(m, "function_call"));
    turn->calls = vug_fit_new(arena, VUG_JSON_ARRAY, "tool_calls");
    if (!call || !type || !function || !turn->calls)
        return no_memory(err);
    function->key = vug_str_of("function");
    vug_fit_add(call, &last, type);
    vug_fit_add(call, &last, function);
    const vug_status st = read_call(call, no_text, arena, &read, err);
    if (st != VUG_OK)
        return vug_fail_within(err, st, "function_call");
    last = NULL;
    vug_fit_add(turn->calls, &last, read);
    return VUG_OK;
}

vug_status vug_fit_calls_of(const vug_jv *m, vug_fit_turn *turn, bool no_text, vug_arena *arena,
                            vug_err *err)
{
    const vug_jv *calls = vug_jv_get(m, "tool_calls");
    const bool none = !calls || calls->type == VUG_JSON_NULL ||
                      (calls->type == VUG_JSON_ARRAY && calls->n == 0);
    const bool old = none && vug_jv_is(vug_jv_get(m, "function_call"), VUG_JSON_OBJECT);
    vug_jv *last = NULL;
    size_t i = 0;
    if (none && !old)
        return VUG_OK;
    if (!vug_str_is(turn->role, "assistant"))
        return VUG_FAIL(err, VUG_FORMAT, "\"%s\" in a message of role \"%.*s\"",
                        old ? "function_call" : "tool_calls", VUG_STR_ARG(turn->role));
    if (old)
        return check_old_call(m, turn, no_text, arena, err);
    if (calls->type != VUG_JSON_ARRAY)
        return VUG_FAIL(err, VUG_FORMAT, "\"tool_calls\" is no list");
    turn->calls = vug_fit_new(arena, VUG_JSON_ARRAY, "tool_calls");
    for (const vug_jv *call = calls->child; call && turn->calls; call = call->next) {
        char where[40];
        vug_jv *read;
        (void)snprintf(where, sizeof(where), "tool_calls[%zu]", i++);
        const vug_status st = read_call(call, no_text, arena, &read, err);
        if (st != VUG_OK)
            return vug_fail_within(err, st, where);
        vug_fit_add(turn->calls, &last, read);
    }
    return turn->calls ? VUG_OK : no_memory(err);
}
