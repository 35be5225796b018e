#include "app/server/request_fields.h"

#include <stdio.h>
#include <stdlib.h>

/* Readers of what shapes an answer: formats, tools, thinking. */

/* ---- formats --------------------------------------------------------------------- */

static void take_schema(vug_taker *t, const char *param, const vug_jv *schema)
{
    if (!vug_field_is(t, param, schema, VUG_JSON_OBJECT))
        return;
    if (schema->str.len > VUG_API_MAX_SCHEMA)
        vug_refuse(t, param, "%s has %zu bytes, at most %zu are read", param, schema->str.len,
                   VUG_API_MAX_SCHEMA);
    t->out->format = VUG_FORMAT_SCHEMA;
    t->out->schema = schema->str;
}

static void take_json_schema(vug_taker *t, const vug_jv *format)
{
    const vug_jv *inner = vug_member(format, "json_schema");
    if (!vug_field_is(t, "response_format.json_schema", inner, VUG_JSON_OBJECT))
        return;
    const vug_jv *name = vug_member(inner, "name"), *strict = vug_member(inner, "strict");
    if (name)
        (void)vug_field_is(t, "response_format.json_schema.name", name, VUG_JSON_STRING);
    if (strict)
        (void)vug_field_is(t, "response_format.json_schema.strict", strict, VUG_JSON_BOOL);
    take_schema(t, "response_format.json_schema.schema", vug_member(inner, "schema"));
}

void vug_take_format(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_member(v, "type"), *schema = vug_member(v, "schema");
    if (!vug_field_is(t, "response_format.type", type, VUG_JSON_STRING))
        return;
    if (vug_str_is(type->str, "json_schema")) {
        take_json_schema(t, v);
    } else if (vug_str_is(type->str, "json_object")) {
        t->out->format = VUG_FORMAT_JSON;
        if (schema) /* as llama.cpp's server takes it */
            take_schema(t, "response_format.schema", schema);
    } else if (!vug_str_is(type->str, "text")) {
        vug_refuse(t, "response_format.type",
                   "response_format.type is '%.*s', expected text, json_object or json_schema",
                   VUG_STR_ARG(type->str));
    }
}

/* ---- tools ----------------------------------------------------------------------- */

static bool is_name(vug_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c && strchr("_-.:/", c))))
            return false;
    }
    return name.len > 0 && name.len <= VUG_API_MAX_NAME;
}

static void take_function(vug_taker *t, size_t i, const vug_jv *function, vug_api_tool *out)
{
    char param[sizeof(t->error->param)];
    const vug_jv *name = vug_member(function, "name");
    const vug_jv *parameters = vug_member(function, "parameters");
    (void)snprintf(param, sizeof(param), "tools[%zu].function.name", i);
    if (!vug_field_is(t, param, name, VUG_JSON_STRING))
        return;
    if (!is_name(name->str))
        vug_refuse(t, param, "%s is '%.*s', expected 1 to %d letters, digits and _ - . : /", param,
                   VUG_STR_ARG(name->str), VUG_API_MAX_NAME);
    out->name = name->str;
    if (!parameters)
        return;
    (void)snprintf(param, sizeof(param), "tools[%zu].function.parameters", i);
    if (!vug_field_is(t, param, parameters, VUG_JSON_OBJECT))
        return;
    if (parameters->str.len > VUG_API_MAX_SCHEMA)
        vug_refuse(t, param, "%s has %zu bytes, at most %zu are read", param, parameters->str.len,
                   VUG_API_MAX_SCHEMA);
    out->parameters = parameters->str;
}

static void take_tool(vug_taker *t, size_t i, const vug_jv *tool, vug_api_tool *out)
{
    char param[sizeof(t->error->param)];
    (void)snprintf(param, sizeof(param), "tools[%zu]", i);
    if (!vug_field_is(t, param, tool, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_member(tool, "type"), *function = vug_member(tool, "function");
    (void)snprintf(param, sizeof(param), "tools[%zu].type", i);
    if (!vug_field_is(t, param, type, VUG_JSON_STRING))
        return;
    if (!vug_str_is(type->str, "function")) {
        vug_refuse(t, param, "%s is '%.*s', only function is supported", param,
                   VUG_STR_ARG(type->str));
        return;
    }
    (void)snprintf(param, sizeof(param), "tools[%zu].function", i);
    if (vug_field_is(t, param, function, VUG_JSON_OBJECT))
        take_function(t, i, function, out);
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
    r->tools = v->str;
    r->n_tools = v->n;
    r->tool = vug_take_room(t, v->n, sizeof(*r->tool));
    size_t i = 0;
    for (const vug_jv *tool = v->child; tool && !t->bad; tool = tool->next, i++)
        take_tool(t, i, tool, &r->tool[i]);
    if (!t->bad)
        check_names(t);
}

/* The name is looked up later: tools may come behind it in the body. */
void vug_take_tool_choice(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    static const char *const word[] = { "none", "auto", "required" };
    vug_api_request *r = t->out;
    if (v->type == VUG_JSON_STRING) {
        for (int i = 0; i < 3; i++) {
            if (!vug_str_is(v->str, word[i]))
                continue;
            r->choice = (vug_api_tool_choice)i;
            return;
        }
    }
    const vug_jv *type = vug_member(v, "type");
    const vug_jv *name = vug_member(vug_member(v, "function"), "name");
    if (!vug_jv_is(type, VUG_JSON_STRING) || !vug_str_is(type->str, "function") ||
        !vug_jv_is(name, VUG_JSON_STRING)) {
        vug_refuse(t, field->name,
                   "tool_choice must be none, auto, required or {\"type\": \"function\", "
                   "\"function\": {\"name\": ..}}");
        return;
    }
    r->choice = VUG_TOOLS_NAMED;
    t->named = name->str;
}

void vug_settle_tools(vug_taker *t)
{
    vug_api_request *r = t->out;
    if (!r->given[VUG_FIELD_tool_choice])
        r->choice = r->n_tools > 0 ? VUG_TOOLS_AUTO : VUG_TOOLS_NONE;
    if (r->n_tools == 0) {
        if (r->choice == VUG_TOOLS_REQUIRED || r->choice == VUG_TOOLS_NAMED)
            vug_refuse(t, "tool_choice", "tool_choice wants a call, but there are no tools");
        r->choice = VUG_TOOLS_NONE;
    }
    if (r->choice != VUG_TOOLS_NAMED || t->bad)
        return;
    while (r->named < r->n_tools && !vug_str_equal(r->tool[r->named].name, t->named))
        r->named++;
    if (r->named == r->n_tools)
        vug_refuse(t, "tool_choice", "tool_choice names '%.*s', which is not among the tools",
                   VUG_STR_ARG(t->named));
}

/* ---- thinking -------------------------------------------------------------------- */

static const struct {
    const char *name;
    vug_api_thinking thinking;
    int64_t tokens;
} efforts[] = {
    { "none", VUG_THINKING_OFF, -1 }, { "minimal", VUG_THINKING_ON, 256 },
    { "low", VUG_THINKING_ON, 1024 }, { "medium", VUG_THINKING_ON, 8192 },
    { "high", VUG_THINKING_ON, -1 },  { "xhigh", VUG_THINKING_ON, -1 },
    { "max", VUG_THINKING_ON, -1 },
};

void vug_take_effort(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_STRING))
        return;
    for (size_t i = 0; i < sizeof(efforts) / sizeof(efforts[0]); i++) {
        if (vug_str_is(v->str, efforts[i].name)) {
            t->out->thinking = efforts[i].thinking;
            t->thinking_tokens = efforts[i].tokens;
            return;
        }
    }
    vug_refuse(t, field->name,
               "reasoning_effort is '%.*s', expected none, minimal, low, medium or high",
               VUG_STR_ARG(v->str));
}

void vug_take_variables(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_OBJECT))
        return;
    t->out->variables = v->str;
    t->variables = v;
    const vug_jv *enable = vug_member(v, "enable_thinking");
    if (enable)
        (void)vug_field_is(t, "chat_template_kwargs.enable_thinking", enable, VUG_JSON_BOOL);
}

/* The request's own object, with enable_thinking as it was decided. */
static void put_enable(vug_taker *t, bool enable)
{
    vug_buf buf = { 0 };
    vug_buf_printf(&buf, "{\"enable_thinking\":%s", enable ? "true" : "false");
    for (const vug_jv *m = t->variables ? t->variables->child : NULL; m; m = m->next) {
        if (vug_str_is(m->key, "enable_thinking"))
            continue;
        vug_buf_puts(&buf, ",");
        vug_json_write_string(&buf, m->key.ptr, m->key.len);
        vug_buf_puts(&buf, ":");
        if (m->type == VUG_JSON_STRING)
            vug_json_write_string(&buf, m->str.ptr, m->str.len);
        else
            vug_buf_append(&buf, m->str.ptr, m->str.len);
    }
    vug_buf_puts(&buf, "}");
    char *room = vug_take_room(t, buf.bad ? 0 : buf.len, 1);
    if (room && !buf.bad) {
        memcpy(room, buf.ptr, buf.len);
        t->out->variables = (vug_str){ room, buf.len };
    } else if (!t->bad) {
        vug_api_error_set(t->error, VUG_API_UNAVAILABLE, NULL, "out of memory for this request");
        t->bad = true;
    }
    vug_buf_release(&buf);
}

void vug_settle_thinking(vug_taker *t)
{
    vug_api_request *r = t->out;
    const vug_jv *own = vug_member(t->variables, "enable_thinking");
    const bool flag = r->given[VUG_FIELD_enable_thinking];
    if (own)
        r->thinking = own->boolean ? VUG_THINKING_ON : VUG_THINKING_OFF;
    else if (flag)
        r->thinking =
                r->number[VUG_FIELD_enable_thinking] != 0 ? VUG_THINKING_ON : VUG_THINKING_OFF;
    r->thinking_tokens = r->given[VUG_FIELD_reasoning_effort] && r->thinking == VUG_THINKING_ON
                                 ? t->thinking_tokens
                                 : -1;
    if (!own && r->thinking != VUG_THINKING_DEFAULT)
        put_enable(t, r->thinking == VUG_THINKING_ON);
}
