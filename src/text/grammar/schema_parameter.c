#include "text/grammar/schema_internal.h"

/*
 * Values of parameters in Qwen3-Coder's tool calls. The syntax does not tell a plain string
 * from JSON: the parser of calls decides by the types in the tool's schema (call_parser_xml.c).
 * The grammar here allows only what that parser reads as the intended value.
 */

enum { MAX_TYPE_DEPTH = 4 }; /* as deep as the parser of calls looks */

static const char end_tag[] = "</parameter>";

/* The types that a schema declares directly; 0 if it declares none. */
static unsigned declared_types(const vug_jv *schema, int depth) // NOLINT(misc-no-recursion)
{
    static const char *const lists[] = { "type", "anyOf", "oneOf" };
    const vug_jv *type = vug_jv_get(schema, "type");
    unsigned types = 0;
    if (depth == 0)
        return 0;
    if (vug_jv_is(type, VUG_JSON_STRING))
        return vug_schema_type_by_name(type->str);
    for (size_t i = 0; i < 3; i++) {
        const vug_jv *list = vug_jv_get(schema, lists[i]);
        for (const vug_jv *m = list ? list->child : NULL; m; m = m->next)
            types |= m->type == VUG_JSON_STRING ? vug_schema_type_by_name(m->str)
                                                : declared_types(m, depth - 1);
    }
    return types;
}

/* A string of the case, with its closing tag. */
static vug_grammar_expr text_expr(vug_schema_compiler *s, vug_schema_case c)
{
    vug_grammar_builder *b = s->builder;
    size_t n;
    const vug_grammar_expr end =
            VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "\n"), vug_grammar_text(b, end_tag));
    if (vug_schema_given_values(c, &n))
        return VUG_GRAMMAR_SEQUENCE(b, vug_schema_given_values_expr(s, c), end);
    const vug_grammar_expr text = vug_schema_string_expr(s, c);
    return text == s->json.string ? vug_grammar_until(b, vug_str_of(end_tag))
                                  : VUG_GRAMMAR_SEQUENCE(b, text, end);
}

static bool only_strings(vug_schema_case c)
{
    size_t n;
    const vug_jv *v = vug_schema_given_values(c, &n);
    bool only = true;
    for (size_t i = 0; v && i < n; i++, v = v->next)
        only = only && v->type == VUG_JSON_STRING;
    return only;
}

/* The parser of calls reads null, true and false as such if the schema declares their types. */
static size_t add_literals(vug_schema_compiler *s, unsigned types, unsigned declared,
                           vug_grammar_expr *part)
{
    vug_grammar_builder *b = s->builder;
    const vug_grammar_expr end =
            VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "\n"), vug_grammar_text(b, end_tag));
    size_t n = 0;
    if (types & declared & VUG_TYPE_NULL)
        part[n++] = VUG_GRAMMAR_SEQUENCE(b, s->json.null, end);
    if (types & declared & VUG_TYPE_BOOLEAN)
        part[n++] = VUG_GRAMMAR_SEQUENCE(b, s->json.boolean, end);
    return n;
}

/* A value that the parser of calls reads as a string, or as a literal above. */
static vug_grammar_expr string_parameter(vug_schema_compiler *s, vug_schema_set values,
                                         unsigned declared)
{
    const vug_schema_cases cases = vug_schema_set_cases(s, values);
    vug_grammar_expr *part = vug_schema_alloc(s, 3 * cases.n, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < cases.n && vug_schema_ok(s); i++) {
        const vug_schema_case c = cases.list[i];
        const unsigned types = vug_schema_case_types(c);
        size_t n_values;
        const bool listed = vug_schema_given_values(c, &n_values) != NULL;
        if ((types & VUG_TYPE_STRING) && !(listed && !only_strings(c)))
            part[n++] = text_expr(s, c);
        if (!listed)
            n += add_literals(s, types, declared, part + n);
    }
    if (vug_schema_ok(s) && n == 0)
        vug_schema_fail(s, VUG_UNSUPPORTED, values.n ? values.schema[0] : NULL,
                        "as a parameter it needs a type; without one it is read as a string");
    return vug_grammar_choice(s->builder, part, part ? n : 0);
}

vug_grammar_expr vug_schema_parameter_expr(vug_schema_compiler *s, vug_str name,
                                           vug_schema_set values)
{
    vug_grammar_builder *b = s->builder;
    const vug_jv *property = vug_schema_get_member(s, vug_jv_get(s->root, "properties"), name);
    const unsigned declared = name.len > 0 ? declared_types(property, MAX_TYPE_DEPTH) : 0;
    vug_grammar_expr value;
    if (declared == 0 || (declared & VUG_TYPE_STRING))
        value = string_parameter(s, values, declared);
    else
        value = VUG_GRAMMAR_SEQUENCE(b, vug_schema_set_expr(s, values), vug_grammar_text(b, "\n"),
                                     vug_grammar_text(b, end_tag));
    return VUG_GRAMMAR_SEQUENCE(b, value, vug_grammar_text(b, "\n"));
}
