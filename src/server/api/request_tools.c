#include "server/api/internal.h"

#include <stdlib.h>

/* Parsers of tools and tool_choice. */

/* The arguments of a call are always an object. */
static void parse_parameters(vug_request_parser *p, const char *outer, const vug_jv *function,
                             vug_api_tool *out)
{
    const vug_field_path at = vug_field_path_at("%s.parameters", outer);
    const vug_jv *v = vug_field_require(p, outer, function, "parameters", VUG_JSON_OBJECT);
    if (!v)
        return;
    const vug_jv *type = vug_field_member(v, "type");
    if (vug_jv_is(type, VUG_JSON_STRING) && !vug_str_is(type->str, "object"))
        vug_field_reject(p, at.text, "%s has the type '%.*s', expected object", at.text,
                         VUG_STR_ARG(type->str));
    if (v->str.len > VUG_API_MAX_CONSTRAINT)
        vug_field_reject(p, at.text, "%s has %zu bytes, at most %zu are allowed", at.text,
                         v->str.len, VUG_API_MAX_CONSTRAINT);
    out->parameters = v->str;
}

/* The inner object of {"type": "function", "function": {..}}, or NULL. */
static const vug_jv *parse_function(vug_request_parser *p, const char *outer, const vug_jv *v)
{
    const vug_field_path type_at = vug_field_path_at("%s.type", outer);
    if (!vug_field_expect(p, outer, v, VUG_JSON_OBJECT))
        return NULL;
    const vug_jv *type = vug_field_require(p, outer, v, "type", VUG_JSON_STRING);
    if (!type)
        return NULL;
    if (!vug_str_is(type->str, "function")) {
        vug_field_reject(p, type_at.text, "%s is '%.*s', only function is supported", type_at.text,
                         VUG_STR_ARG(type->str));
        return NULL;
    }
    return vug_field_require(p, outer, v, "function", VUG_JSON_OBJECT);
}

static void parse_tool(vug_request_parser *p, size_t i, const vug_jv *tool, vug_api_tool *out)
{
    const vug_field_path outer = vug_field_path_at("tools[%zu]", i);
    const vug_field_path at = vug_field_path_at("tools[%zu].function", i);
    const vug_jv *function = parse_function(p, outer.text, tool);
    if (!function || !vug_request_parse_name(p, at.text, function, &out->name))
        return;
    out->text = tool->str;
    vug_field_check_member(p, at.text, function, "description", VUG_JSON_STRING);
    vug_field_check_member(p, at.text, function, "strict", VUG_JSON_BOOL);
    out->strict = vug_jv_is(vug_field_member(function, "strict"), VUG_JSON_BOOL) &&
                  vug_field_member(function, "strict")->boolean;
    if (vug_field_member(function, "parameters"))
        parse_parameters(p, at.text, function, out);
}

static int by_name(const void *a, const void *b)
{
    return vug_str_compare(*(const vug_str *)a, *(const vug_str *)b);
}

static void check_unique_names(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    vug_str *name = vug_request_alloc(p, r->n_tools, sizeof(*name));
    if (!name)
        return;
    for (size_t i = 0; i < r->n_tools; i++)
        name[i] = r->tool[i].name;
    qsort(name, r->n_tools, sizeof(*name), by_name);
    for (size_t i = 1; i < r->n_tools; i++) {
        if (vug_str_equal(name[i - 1], name[i]))
            vug_field_reject(p, "tools", "tools has two functions with the name '%.*s'",
                             VUG_STR_ARG(name[i]));
    }
}

void vug_request_parse_tools(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY) || v->n == 0)
        return;
    if (v->n > VUG_API_MAX_TOOLS) {
        vug_field_reject(p, field->name, "tools has %zu entries, at most %d are allowed", v->n,
                         VUG_API_MAX_TOOLS);
        return;
    }
    vug_api_request *r = p->out;
    r->tools = r->callable_tools = v->str;
    r->n_tools = v->n;
    r->tool = vug_request_alloc(p, v->n, sizeof(*r->tool));
    size_t i = 0;
    for (const vug_jv *tool = v->child; tool && !p->bad; tool = tool->next, i++)
        parse_tool(p, i, tool, &r->tool[i]);
    if (!p->bad)
        check_unique_names(p);
}

/* ---- tool_choice -------------------------------------------------------------------- */

/* Names are looked up later, because `tools` may follow in the body. */
void vug_request_parse_tool_choice(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    static const struct {
        const char *name;
        vug_api_tool_choice choice;
    } modes[] = { { "none", VUG_TOOLS_NONE },
                  { "auto", VUG_TOOLS_AUTO },
                  { "required", VUG_TOOLS_REQUIRED } };
    vug_api_request *r = p->out;
    const vug_jv *type = vug_field_member(v, "type");
    for (size_t i = 0; v->type == VUG_JSON_STRING && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (vug_str_is(v->str, modes[i].name)) {
            r->tool_choice = modes[i].choice;
            return;
        }
    }
    if (vug_jv_is(type, VUG_JSON_STRING) && vug_str_is(type->str, "allowed_tools")) {
        p->allowed_tools = vug_field_member(v, "allowed_tools");
        (void)vug_field_expect(p, "tool_choice.allowed_tools", p->allowed_tools, VUG_JSON_OBJECT);
    } else if (vug_jv_is(type, VUG_JSON_STRING) && vug_str_is(type->str, "function")) {
        const vug_jv *function = parse_function(p, field->name, v);
        r->tool_choice = VUG_TOOLS_NAMED;
        if (function)
            (void)vug_request_parse_name(p, "tool_choice.function", function, &p->named_tool);
    } else {
        vug_field_reject(
                p, field->name,
                "tool_choice must be none, auto, required, {\"type\": \"function\", \"function\": "
                "{\"name\": ..}} or {\"type\": \"allowed_tools\", ..}");
    }
}

/* The index of the tool of that name; rejects the request when there is none. */
static size_t find_tool(vug_request_parser *p, const char *at, vug_str name)
{
    const vug_api_request *r = p->out;
    size_t i = 0;
    while (i < r->n_tools && !vug_str_equal(r->tool[i].name, name))
        i++;
    if (i == r->n_tools)
        vug_field_reject(p, at, "%s names '%.*s', which is not one of the tools", at,
                         VUG_STR_ARG(name));
    return i;
}

static void parse_allowed_mode(vug_request_parser *p)
{
    static const char at[] = "tool_choice.allowed_tools.mode";
    const vug_jv *mode = vug_field_require(p, "tool_choice.allowed_tools", p->allowed_tools, "mode",
                                           VUG_JSON_STRING);
    if (!mode)
        return;
    if (vug_str_is(mode->str, "auto"))
        p->out->tool_choice = VUG_TOOLS_AUTO;
    else if (vug_str_is(mode->str, "required"))
        p->out->tool_choice = VUG_TOOLS_REQUIRED;
    else
        vug_field_reject(p, at, "%s is '%.*s', expected auto or required", at,
                         VUG_STR_ARG(mode->str));
}

/* The prompt lists all tools, which keeps its KV cache valid, but only some may be called. */
static void parse_allowed_tools(vug_request_parser *p)
{
    static const char at[] = "tool_choice.allowed_tools.tools";
    vug_api_request *r = p->out;
    const vug_jv *list = vug_field_member(p->allowed_tools, "tools");
    bool *allowed = vug_request_alloc(p, r->n_tools, sizeof(*allowed));
    vug_buf text = { 0 };
    size_t i = 0;
    parse_allowed_mode(p);
    if (p->bad || !vug_field_expect(p, at, list, VUG_JSON_ARRAY))
        return;
    if (list->n == 0 || list->n > VUG_API_MAX_TOOLS)
        vug_field_reject(p, at, "%s has %zu entries, expected 1 to %d", at, list->n,
                         VUG_API_MAX_TOOLS);
    for (const vug_jv *v = list->child; v && !p->bad; v = v->next) {
        const vug_field_path outer = vug_field_path_at("%s[%zu]", at, i++);
        const vug_field_path inner = vug_field_path_at("%s.function", outer.text);
        const vug_jv *function = parse_function(p, outer.text, v);
        vug_str name;
        if (!function || !vug_request_parse_name(p, inner.text, function, &name))
            return;
        const size_t which = find_tool(p, outer.text, name);
        if (!p->bad)
            allowed[which] = true;
    }
    for (i = 0; i < r->n_tools && !p->bad; i++) {
        r->tool[i].strict = r->tool[i].strict && allowed[i];
        if (!allowed[i])
            continue;
        vug_buf_puts(&text, text.len ? "," : "[");
        vug_buf_append(&text, r->tool[i].text.ptr, r->tool[i].text.len);
    }
    vug_buf_puts(&text, "]");
    r->callable_tools = vug_request_copy(p, &text);
}

void vug_request_validate_tools(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    if (!r->given[VUG_FIELD_tool_choice])
        r->tool_choice = r->n_tools > 0 ? VUG_TOOLS_AUTO : VUG_TOOLS_NONE;
    if (r->n_tools == 0) {
        if (r->tool_choice == VUG_TOOLS_REQUIRED || r->tool_choice == VUG_TOOLS_NAMED ||
            p->allowed_tools)
            vug_field_reject(p, "tool_choice",
                             "tool_choice requires a call, but there are no tools");
        r->tool_choice = VUG_TOOLS_NONE;
    }
    if (p->bad)
        return;
    if (p->allowed_tools)
        parse_allowed_tools(p);
    else if (r->tool_choice == VUG_TOOLS_NAMED)
        r->named_tool = find_tool(p, "tool_choice", p->named_tool);
}
