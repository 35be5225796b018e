#include "app/server/api/request_fields.h"

#include <stdlib.h>

/* Readers of tools. */

/* Arguments are an object: no other value can be called with. */
static void take_parameters(vug_taker *t, const char *at, const vug_jv *v, vug_api_tool *out)
{
    if (!vug_field_is(t, at, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_member(v, "type");
    if (vug_jv_is(type, VUG_JSON_STRING) && !vug_str_is(type->str, "object"))
        vug_refuse(t, at, "%s has the type '%.*s', expected object", at, VUG_STR_ARG(type->str));
    if (v->str.len > VUG_API_MAX_FORM)
        vug_refuse(t, at, "%s has %zu bytes, at most %zu are read", at, v->str.len,
                   VUG_API_MAX_FORM);
    out->parameters = v->str;
}

/* {"type": "function", "function": {..}}: what is in it, or NULL. */
static const vug_jv *function_in(vug_taker *t, const char *outer, const vug_jv *v)
{
    const vug_place type_at = vug_place_at("%s.type", outer);
    const vug_place at = vug_place_at("%s.function", outer);
    if (!vug_field_is(t, outer, v, VUG_JSON_OBJECT))
        return NULL;
    const vug_jv *type = vug_member(v, "type"), *function = vug_member(v, "function");
    if (!vug_field_is(t, type_at.text, type, VUG_JSON_STRING))
        return NULL;
    if (!vug_str_is(type->str, "function")) {
        vug_refuse(t, type_at.text, "%s is '%.*s', only function is supported", type_at.text,
                   VUG_STR_ARG(type->str));
        return NULL;
    }
    return vug_field_is(t, at.text, function, VUG_JSON_OBJECT) ? function : NULL;
}

static void take_tool(vug_taker *t, size_t i, const vug_jv *tool, vug_api_tool *out)
{
    const vug_place outer = vug_place_at("tools[%zu]", i);
    const vug_place at = vug_place_at("tools[%zu].function", i);
    const vug_place parameters_at = vug_place_at("tools[%zu].function.parameters", i);
    const vug_jv *function = function_in(t, outer.text, tool);
    if (!function || !vug_take_name(t, at.text, function, &out->name))
        return;
    out->text = tool->str;
    vug_check_member(t, at.text, function, "description", VUG_JSON_STRING);
    vug_check_member(t, at.text, function, "strict", VUG_JSON_BOOL);
    out->strict = vug_jv_is(vug_member(function, "strict"), VUG_JSON_BOOL) &&
                  vug_member(function, "strict")->boolean;
    if (vug_member(function, "parameters"))
        take_parameters(t, parameters_at.text, vug_member(function, "parameters"), out);
}

static int by_name(const void *a, const void *b)
{
    return vug_str_compare(*(const vug_str *)a, *(const vug_str *)b);
}

static void check_names(vug_taker *t)
{
    vug_api_request *r = t->out;
    vug_str *name = vug_take_room(t, r->n_tools, sizeof(*name));
    if (!name)
        return;
    for (size_t i = 0; i < r->n_tools; i++)
        name[i] = r->tool[i].name;
    qsort(name, r->n_tools, sizeof(*name), by_name);
    for (size_t i = 1; i < r->n_tools; i++) {
        if (vug_str_equal(name[i - 1], name[i]))
            vug_refuse(t, "tools", "tools has two functions with the name '%.*s'",
                       VUG_STR_ARG(name[i]));
    }
}

void vug_take_tools(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_ARRAY) || v->n == 0)
        return;
    if (v->n > VUG_API_MAX_TOOLS) {
        vug_refuse(t, field->name, "tools has %zu entries, at most %d are taken", v->n,
                   VUG_API_MAX_TOOLS);
        return;
    }
    vug_api_request *r = t->out;
    r->tools = r->callable = v->str;
    r->n_tools = v->n;
    r->tool = vug_take_room(t, v->n, sizeof(*r->tool));
    size_t i = 0;
    for (const vug_jv *tool = v->child; tool && !t->bad; tool = tool->next, i++)
        take_tool(t, i, tool, &r->tool[i]);
    if (!t->bad)
        check_names(t);
}

/* ---- which of them ------------------------------------------------------------------ */

/* Names are looked up later: tools may come behind them in the body. */
void vug_take_tool_choice(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    static const char *const word[] = { "none", "auto", "required" };
    vug_api_request *r = t->out;
    const vug_jv *type = vug_member(v, "type");
    for (int i = 0; v->type == VUG_JSON_STRING && i < 3; i++) {
        if (!vug_str_is(v->str, word[i]))
            continue;
        r->choice = (vug_api_tool_choice)i;
        return;
    }
    if (vug_jv_is(type, VUG_JSON_STRING) && vug_str_is(type->str, "allowed_tools")) {
        t->allowed = vug_member(v, "allowed_tools");
        (void)vug_field_is(t, "tool_choice.allowed_tools", t->allowed, VUG_JSON_OBJECT);
    } else if (vug_jv_is(type, VUG_JSON_STRING) && vug_str_is(type->str, "function")) {
        const vug_jv *function = function_in(t, field->name, v);
        r->choice = VUG_TOOLS_NAMED;
        if (function)
            (void)vug_take_name(t, "tool_choice.function", function, &t->named);
    } else {
        vug_refuse(
                t, field->name,
                "tool_choice must be none, auto, required, {\"type\": \"function\", \"function\": "
                "{\"name\": ..}} or {\"type\": \"allowed_tools\", ..}");
    }
}

/* Which tool has that name; a 400 about `at` when none has. */
static size_t find_tool(vug_taker *t, const char *at, vug_str name)
{
    const vug_api_request *r = t->out;
    size_t i = 0;
    while (i < r->n_tools && !vug_str_equal(r->tool[i].name, name))
        i++;
    if (i == r->n_tools)
        vug_refuse(t, at, "%s names '%.*s', which is not among the tools", at, VUG_STR_ARG(name));
    return i;
}

static void settle_mode(vug_taker *t)
{
    static const char at[] = "tool_choice.allowed_tools.mode";
    const vug_jv *mode = vug_member(t->allowed, "mode");
    if (!vug_field_is(t, at, mode, VUG_JSON_STRING))
        return;
    if (vug_str_is(mode->str, "auto"))
        t->out->choice = VUG_TOOLS_AUTO;
    else if (vug_str_is(mode->str, "required"))
        t->out->choice = VUG_TOOLS_REQUIRED;
    else
        vug_refuse(t, at, "%s is '%.*s', expected auto or required", at, VUG_STR_ARG(mode->str));
}

/* The model is told of all tools, so that its cache holds, and may call some. */
static void settle_allowed(vug_taker *t)
{
    static const char at[] = "tool_choice.allowed_tools.tools";
    vug_api_request *r = t->out;
    const vug_jv *list = vug_member(t->allowed, "tools");
    bool *allowed = vug_take_room(t, r->n_tools, sizeof(*allowed));
    vug_buf text = { 0 };
    size_t i = 0;
    settle_mode(t);
    if (t->bad || !vug_field_is(t, at, list, VUG_JSON_ARRAY))
        return;
    if (list->n == 0 || list->n > VUG_API_MAX_TOOLS)
        vug_refuse(t, at, "%s has %zu entries, expected 1 to %d", at, list->n, VUG_API_MAX_TOOLS);
    for (const vug_jv *v = list->child; v && !t->bad; v = v->next) {
        const vug_place outer = vug_place_at("%s[%zu]", at, i++);
        const vug_place inner = vug_place_at("%s.function", outer.text);
        const vug_jv *function = function_in(t, outer.text, v);
        vug_str name;
        if (!function || !vug_take_name(t, inner.text, function, &name))
            return;
        const size_t which = find_tool(t, outer.text, name);
        if (!t->bad)
            allowed[which] = true;
    }
    for (i = 0; i < r->n_tools && !t->bad; i++) {
        r->tool[i].strict = r->tool[i].strict && allowed[i];
        if (!allowed[i])
            continue;
        vug_buf_puts(&text, text.len ? "," : "[");
        vug_buf_append(&text, r->tool[i].text.ptr, r->tool[i].text.len);
    }
    vug_buf_puts(&text, "]");
    r->callable = vug_take_copy(t, &text);
}

void vug_settle_tools(vug_taker *t)
{
    vug_api_request *r = t->out;
    if (!r->given[VUG_FIELD_tool_choice])
        r->choice = r->n_tools > 0 ? VUG_TOOLS_AUTO : VUG_TOOLS_NONE;
    if (r->n_tools == 0) {
        if (r->choice == VUG_TOOLS_REQUIRED || r->choice == VUG_TOOLS_NAMED || t->allowed)
            vug_refuse(t, "tool_choice", "tool_choice wants a call, but there are no tools");
        r->choice = VUG_TOOLS_NONE;
    }
    if (t->bad)
        return;
    if (t->allowed)
        settle_allowed(t);
    else if (r->choice == VUG_TOOLS_NAMED)
        r->named = find_tool(t, "tool_choice", t->named);
}
