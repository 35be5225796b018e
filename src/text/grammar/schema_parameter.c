#include "text/grammar/schema.h"

/*
 * Values of parameters in Qwen3-Coder's calls. Whether one is a string, as it stands, or
 * JSON is not written there: who reads it looks at the types in the tool's schema
 * (call_xml.c), and what is written here is what is so read as what was meant.
 */

enum { DEPTH = 4 }; /* as the reader looks */

static const char end_tag[] = "</parameter>";

/* Of one schema, by itself; 0: it does not say. */
static unsigned said_types(const vug_jv *schema, int depth) // NOLINT(misc-no-recursion)
{
    static const char *const lists[] = { "type", "anyOf", "oneOf" };
    const vug_jv *type = vug_jv_get(schema, "type");
    unsigned types = 0;
    if (depth == 0)
        return 0;
    if (vug_jv_is(type, VUG_JSON_STRING))
        return vug_schema_type_of(type->str);
    for (size_t i = 0; i < 3; i++) {
        const vug_jv *list = vug_jv_get(schema, lists[i]);
        for (const vug_jv *m = list ? list->child : NULL; m; m = m->next)
            types |= m->type == VUG_JSON_STRING ? vug_schema_type_of(m->str)
                                                : said_types(m, depth - 1);
    }
    return types;
}

/* A string of the case, up to its closing tag. */
static vug_node text_of(vug_schema *s, vug_schema_case c)
{
    vug_rules *r = s->rules;
    size_t n;
    const vug_node end = VUG_SEQUENCE(r, vug_rules_text(r, "\n"), vug_rules_text(r, end_tag));
    if (vug_schema_values(c, &n))
        return VUG_SEQUENCE(r, vug_schema_choice(s, c), end);
    const vug_node text = vug_schema_string(s, c);
    return text == s->json.string ? vug_rules_until(r, vug_str_of(end_tag))
                                  : VUG_SEQUENCE(r, text, end);
}

static bool has_strings_only(vug_schema_case c)
{
    size_t n;
    const vug_jv *v = vug_schema_values(c, &n);
    bool only = true;
    for (size_t i = 0; v && i < n; i++, v = v->next)
        only = only && v->type == VUG_JSON_STRING;
    return only;
}

/* Words that the reader takes for null, true and false where the schema names their types. */
static size_t put_words(vug_schema *s, unsigned types, unsigned said, vug_node *part)
{
    vug_rules *r = s->rules;
    const vug_node end = VUG_SEQUENCE(r, vug_rules_text(r, "\n"), vug_rules_text(r, end_tag));
    size_t n = 0;
    if (types & said & VUG_TYPE_NULL)
        part[n++] = VUG_SEQUENCE(r, s->json.null, end);
    if (types & said & VUG_TYPE_BOOLEAN)
        part[n++] = VUG_SEQUENCE(r, s->json.boolean, end);
    return n;
}

/* Read as a string, whatever it is. */
static vug_node as_text(vug_schema *s, vug_schema_set values, unsigned said)
{
    vug_schema_cases cases = { 0 };
    vug_schema_expand(s, (vug_schema_case){ 0 }, values, false, &cases);
    vug_node *part = vug_schema_alloc(s, 3 * cases.n, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < cases.n && vug_schema_ok(s); i++) {
        const vug_schema_case c = cases.of[i];
        const unsigned types = vug_schema_types(c);
        size_t n_values;
        const bool listed = vug_schema_values(c, &n_values) != NULL;
        if ((types & VUG_TYPE_STRING) && !(listed && !has_strings_only(c)))
            part[n++] = text_of(s, c);
        if (!listed)
            n += put_words(s, types, said, part + n);
    }
    if (vug_schema_ok(s) && n == 0)
        vug_schema_fail(s, VUG_UNSUPPORTED, values.n ? values.of[0] : NULL,
                        "as a parameter it needs a type, or it is read as a string");
    return vug_rules_choice(s->rules, part, part ? n : 0);
}

vug_node vug_schema_parameter(vug_schema *s, vug_str name, vug_schema_set values)
{
    vug_rules *r = s->rules;
    const vug_jv *known = vug_schema_get(s, vug_jv_get(s->root, "properties"), name);
    const unsigned said = name.len > 0 ? said_types(known, DEPTH) : 0;
    vug_node value;
    if (said == 0 || (said & VUG_TYPE_STRING))
        value = as_text(s, values, said);
    else
        value = VUG_SEQUENCE(r, vug_schema_node(s, values), vug_rules_text(r, "\n"),
                             vug_rules_text(r, end_tag));
    return VUG_SEQUENCE(r, value, vug_rules_text(r, "\n"));
}
