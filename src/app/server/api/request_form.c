#include "app/server/api/request_fields.h"

/*
 * Readers of the form that an answer must have. There are many names for it: OpenAI's
 * response_format, llama.cpp's grammar and json_schema, vLLM's structured_outputs and the
 * guided_* that were before it, SGLang's regex and ebnf. All of them say one thing, so two at
 * once are refused.
 */

/* Where it is said: `name`, and what a sentence about it calls it. */
static bool set_form(vug_taker *t, const char *name, vug_api_format format, vug_str text)
{
    vug_api_request *r = t->out;
    if (r->form_field)
        vug_refuse(t, name, "%s and %s: an answer has one form", r->form_field, name);
    else if (text.len > VUG_API_MAX_FORM)
        vug_refuse(t, name, "%s has %zu bytes, at most %zu are read", name, text.len,
                   VUG_API_MAX_FORM);
    r->form_field = name;
    r->format = format;
    r->form = text;
    return !t->bad;
}

static void set_schema(vug_taker *t, const char *name, const char *param, const vug_jv *v)
{
    if (vug_field_is(t, param, v, VUG_JSON_OBJECT))
        (void)set_form(t, name, VUG_FORMAT_SCHEMA, v->str);
}

/* ---- OpenAI ------------------------------------------------------------------------ */

static void take_json_schema(vug_taker *t, const char *field, const vug_jv *format)
{
    static const char at[] = "response_format.json_schema";
    const vug_jv *inner = vug_member(format, "json_schema");
    vug_str name;
    if (!vug_field_is(t, at, inner, VUG_JSON_OBJECT) || !vug_take_name(t, at, inner, &name))
        return;
    vug_check_member(t, at, inner, "description", VUG_JSON_STRING);
    vug_check_member(t, at, inner, "strict", VUG_JSON_BOOL);
    set_schema(t, field, "response_format.json_schema.schema", vug_member(inner, "schema"));
}

void vug_take_format(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_member(v, "type"), *schema = vug_member(v, "schema");
    if (!vug_field_is(t, "response_format.type", type, VUG_JSON_STRING))
        return;
    if (vug_str_is(type->str, "json_schema"))
        take_json_schema(t, field->name, v);
    else if (vug_str_is(type->str, "json_object") && schema) /* as llama.cpp's server takes it */
        set_schema(t, field->name, "response_format.schema", schema);
    else if (vug_str_is(type->str, "json_object"))
        (void)set_form(t, field->name, VUG_FORMAT_JSON, (vug_str){ 0 });
    else if (!vug_str_is(type->str, "text"))
        vug_refuse(t, "response_format.type",
                   "response_format.type is '%.*s', expected text, json_object or json_schema",
                   VUG_STR_ARG(type->str));
}

/* ---- one reader for each kind ------------------------------------------------------- */

void vug_take_schema(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (v->type == VUG_JSON_STRING) /* its text, as vLLM takes it */
        (void)set_form(t, field->name, VUG_FORMAT_SCHEMA, v->str);
    else
        set_schema(t, field->name, field->name, v);
}

void vug_take_regex(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (vug_field_is(t, field->name, v, VUG_JSON_STRING))
        (void)set_form(t, field->name, VUG_FORMAT_REGEX, v->str);
}

/* An empty one is none, as for llama.cpp's server. */
void vug_take_gbnf(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (vug_field_is(t, field->name, v, VUG_JSON_STRING) && v->str.len)
        (void)set_form(t, field->name, VUG_FORMAT_GBNF, v->str);
}

static void put_literal(vug_buf *to, vug_str text)
{
    vug_buf_puts(to, "\"");
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if ((unsigned char)c < ' ') {
            vug_buf_printf(to, "\\x%02x", (unsigned)c);
            continue;
        }
        if (c == '"' || c == '\\')
            vug_buf_puts(to, "\\");
        vug_buf_append(to, &c, 1);
    }
    vug_buf_puts(to, "\"");
}

/* One of some strings, as the grammar that says so. */
void vug_take_choice(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    vug_buf grammar = { 0 };
    if (!vug_field_is(t, field->name, v, VUG_JSON_ARRAY))
        return;
    if (v->n == 0 || v->n > VUG_API_MAX_OPTIONS || v->str.len > VUG_API_MAX_FORM)
        vug_refuse(t, field->name, "%s must be 1 to %d strings of at most %zu bytes in all",
                   field->name, VUG_API_MAX_OPTIONS, VUG_API_MAX_FORM);
    vug_buf_puts(&grammar, "root ::= ");
    for (const vug_jv *s = v->child; s && !t->bad; s = s->next) {
        if (s->type != VUG_JSON_STRING)
            vug_refuse(t, field->name, "%s must be a list of strings", field->name);
        vug_buf_puts(&grammar, s == v->child ? "" : " | ");
        put_literal(&grammar, s->str);
    }
    const vug_str text = vug_take_copy(t, &grammar);
    if (set_form(t, field->name, VUG_FORMAT_GBNF, (vug_str){ 0 }))
        t->out->form = text;
}

/* ---- vLLM ---------------------------------------------------------------------------- */

static void take_json_object(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (vug_field_is(t, field->name, v, VUG_JSON_BOOL) && v->boolean)
        (void)set_form(t, field->name, VUG_FORMAT_JSON, (vug_str){ 0 });
}

/* The members of StructuredOutputsParams. Those without a reader change what is accepted in
 * ways that vug's grammars do not have. */
/* clang-format off */
static const struct {
    const char *key, *name;
    vug_field_reader *take;
} outputs[] = {
#define X(key, take) { #key, "structured_outputs." #key, take },
    X(json, vug_take_schema)
    X(json_object, take_json_object)
    X(regex, vug_take_regex)
    X(choice, vug_take_choice)
    X(grammar, vug_take_gbnf)
    X(structural_tag, NULL)
    X(whitespace_pattern, NULL)
    X(disable_any_whitespace, NULL)
    X(disable_additional_properties, NULL)
#undef X
};
/* clang-format on */

void vug_take_outputs(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_OBJECT))
        return;
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) && !t->bad; i++) {
        const vug_field inner = { .name = outputs[i].name };
        const vug_jv *member = vug_member(v, outputs[i].key);
        if (!member || (member->type == VUG_JSON_BOOL && !member->boolean))
            continue;
        if (outputs[i].take)
            outputs[i].take(t, &inner, member);
        else
            vug_refuse(t, inner.name, "%s is not supported", inner.name);
    }
    if (!t->out->form_field)
        vug_refuse(t, field->name,
                   "structured_outputs must hold one of json, regex, choice, grammar and "
                   "json_object");
}
