#include "server/api/internal.h"

/*
 * Parsers of output constraints. Each API names them differently: OpenAI's response_format,
 * llama.cpp's grammar and json_schema, vLLM's structured_outputs and its older guided_*, SGLang's
 * regex and ebnf. A request may have only one.
 */

/* `name` is the field that sets it. */
static bool set_constraint(vug_request_parser *p, const char *name, vug_api_constraint_kind kind,
                           vug_str text)
{
    vug_api_request *r = p->out;
    if (r->constraint_field)
        vug_field_reject(p, name, "%s and %s cannot be combined", r->constraint_field, name);
    else if (text.len > VUG_API_MAX_CONSTRAINT)
        vug_field_reject(p, name, "%s has %zu bytes, at most %zu are allowed", name, text.len,
                         VUG_API_MAX_CONSTRAINT);
    r->constraint_field = name;
    r->constraint_kind = kind;
    r->constraint = text;
    return !p->bad;
}

static void set_schema(vug_request_parser *p, const char *name, const char *param, const vug_jv *v)
{
    if (vug_field_expect(p, param, v, VUG_JSON_OBJECT))
        (void)set_constraint(p, name, VUG_CONSTRAINT_SCHEMA, v->str);
}

/* ---- OpenAI ------------------------------------------------------------------------ */

static void parse_json_schema(vug_request_parser *p, const char *field, const vug_jv *format)
{
    static const char at[] = "response_format.json_schema";
    const vug_jv *inner = vug_field_require(p, field, format, "json_schema", VUG_JSON_OBJECT);
    vug_str name;
    if (!inner)
        return;
    /* OpenAI requires the name; llama.cpp and vLLM do not. */
    if (vug_field_member(inner, "name") && !vug_request_parse_name(p, at, inner, &name))
        return;
    vug_field_check_member(p, at, inner, "description", VUG_JSON_STRING);
    vug_field_check_member(p, at, inner, "strict", VUG_JSON_BOOL);
    set_schema(p, field, "response_format.json_schema.schema", vug_field_member(inner, "schema"));
}

void vug_request_parse_response_format(vug_request_parser *p, const vug_field *field,
                                       const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_field_member(v, "type"), *schema = vug_field_member(v, "schema");
    if (!vug_field_expect(p, "response_format.type", type, VUG_JSON_STRING))
        return;
    if (vug_str_is(type->str, "json_schema"))
        parse_json_schema(p, field->name, v);
    else if (vug_str_is(type->str, "json_object") && schema) /* as in llama.cpp's server */
        set_schema(p, field->name, "response_format.schema", schema);
    else if (vug_str_is(type->str, "json_object"))
        (void)set_constraint(p, field->name, VUG_CONSTRAINT_JSON, (vug_str){ 0 });
    else if (!vug_str_is(type->str, "text"))
        vug_field_reject(
                p, "response_format.type",
                "response_format.type is '%.*s', expected text, json_object or json_schema",
                VUG_STR_ARG(type->str));
}

/* ---- one parser per kind ------------------------------------------------------------ */

void vug_request_parse_schema(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (v->type == VUG_JSON_STRING) /* the text of a schema, as in vLLM */
        (void)set_constraint(p, field->name, VUG_CONSTRAINT_SCHEMA, v->str);
    else
        set_schema(p, field->name, field->name, v);
}

void vug_request_parse_regex(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (vug_field_expect(p, field->name, v, VUG_JSON_STRING))
        (void)set_constraint(p, field->name, VUG_CONSTRAINT_REGEX, v->str);
}

/* An empty grammar means none, as in llama.cpp's server. */
void vug_request_parse_gbnf(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (vug_field_expect(p, field->name, v, VUG_JSON_STRING) && v->str.len)
        (void)set_constraint(p, field->name, VUG_CONSTRAINT_GBNF, v->str);
}

static void write_literal(vug_buf *to, vug_str text)
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

/* Becomes a grammar of alternative literals. */
void vug_request_parse_choice(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    vug_buf grammar = { 0 };
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY))
        return;
    if (v->n == 0 || v->n > VUG_API_MAX_OPTIONS || v->str.len > VUG_API_MAX_CONSTRAINT)
        vug_field_reject(p, field->name, "%s must be 1 to %d strings of at most %zu bytes in all",
                         field->name, VUG_API_MAX_OPTIONS, VUG_API_MAX_CONSTRAINT);
    vug_buf_puts(&grammar, "root ::= ");
    for (const vug_jv *s = v->child; s && !p->bad; s = s->next) {
        if (s->type != VUG_JSON_STRING)
            vug_field_reject(p, field->name, "%s must be a list of strings", field->name);
        vug_buf_puts(&grammar, s == v->child ? "" : " | ");
        write_literal(&grammar, s->str);
    }
    const vug_str text = vug_request_copy(p, &grammar);
    if (set_constraint(p, field->name, VUG_CONSTRAINT_GBNF, (vug_str){ 0 }))
        p->out->constraint = text;
}

/* ---- vLLM ---------------------------------------------------------------------------- */

static void parse_json_object(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (vug_field_expect(p, field->name, v, VUG_JSON_BOOL) && v->boolean)
        (void)set_constraint(p, field->name, VUG_CONSTRAINT_JSON, (vug_str){ 0 });
}

/* The members of StructuredOutputsParams. Those without a parser are not supported. */
/* clang-format off */
static const struct {
    const char *key, *name;
    vug_field_parser *parse;
} outputs[] = {
#define X(key, parse) { #key, "structured_outputs." #key, parse },
    X(json, vug_request_parse_schema)
    X(json_object, parse_json_object)
    X(regex, vug_request_parse_regex)
    X(choice, vug_request_parse_choice)
    X(grammar, vug_request_parse_gbnf)
    X(structural_tag, NULL)
    X(whitespace_pattern, NULL)
    X(disable_any_whitespace, NULL)
    X(disable_additional_properties, NULL)
#undef X
};
/* clang-format on */

void vug_request_parse_structured_outputs(vug_request_parser *p, const vug_field *field,
                                          const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_OBJECT))
        return;
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) && !p->bad; i++) {
        const vug_field inner = { .name = outputs[i].name };
        const vug_jv *member = vug_field_member(v, outputs[i].key);
        if (!member || (member->type == VUG_JSON_BOOL && !member->boolean))
            continue;
        if (outputs[i].parse)
            outputs[i].parse(p, &inner, member);
        else
            vug_field_reject(p, inner.name, "%s is not supported", inner.name);
    }
    if (!p->out->constraint_field)
        vug_field_reject(p, field->name,
                         "structured_outputs must have one of json, regex, choice, grammar and "
                         "json_object");
}
