#include "text/tokenizer/components.h"

#include "core/utf8.h"

void vug_components_read(vug_tokenizer_loader *l, const vug_component_kind *kind, const vug_jv *v)
{
    if (!vug_json_ok(&l->json) || vug_jv_is(v, VUG_JSON_NULL))
        return;
    const vug_jv *type = vug_jv_get(v, "type");
    if (!vug_jv_is(type, VUG_JSON_STRING)) {
        vug_json_fail(&l->json, VUG_FORMAT, "the %s is not an object with a \"type\"", kind->what);
        return;
    }
    if (vug_str_is(type->str, "Sequence")) {
        const vug_jv *list = vug_jv_get(v, kind->list);
        if (!vug_jv_is(list, VUG_JSON_ARRAY)) {
            vug_json_fail(&l->json, VUG_FORMAT, "the %s Sequence lacks its list \"%s\"", kind->what,
                          kind->list);
            return;
        }
        for (const vug_jv *e = list->child; e; e = e->next)
            vug_components_read(l, kind, e);
        return;
    }
    for (size_t i = 0; i < kind->n_rows; i++) {
        if (vug_str_is(type->str, kind->row[i].type)) {
            kind->row[i].read(l, v);
            return;
        }
    }
    vug_json_fail(&l->json, VUG_UNSUPPORTED, "the %s \"%.*s\" is not supported", kind->what,
                  VUG_STR_ARG(type->str));
}

vug_str vug_component_string(vug_tokenizer_loader *l, const vug_jv *v, const char *of,
                             const char *key)
{
    const vug_jv *member = vug_jv_get(v, key);
    if (vug_jv_is(member, VUG_JSON_STRING) && member->str.len <= VUG_PIPELINE_MAX_LITERAL)
        return vug_tokenizer_copy_string(l, member->str);
    vug_json_fail(&l->json, VUG_FORMAT, "%s: \"%s\" is not a string of at most %d bytes", of, key,
                  VUG_PIPELINE_MAX_LITERAL);
    return (vug_str){ 0 };
}

bool vug_component_flag(vug_tokenizer_loader *l, const vug_jv *v, const char *of, const char *key,
                        bool fallback)
{
    const vug_jv *member = vug_jv_get(v, key);
    if (member && member->type != VUG_JSON_BOOL)
        vug_json_fail(&l->json, VUG_FORMAT, "%s: \"%s\" is neither true nor false", of, key);
    return member ? member->type == VUG_JSON_BOOL && member->boolean : fallback;
}

const vug_regex *vug_component_regex(vug_tokenizer_loader *l, vug_str pattern, const char *of)
{
    const vug_regex *regex = NULL;
    vug_err err;
    if (!vug_json_ok(&l->json))
        return NULL;
    const vug_status st = vug_tokenizer_add_regex(l->t, pattern, of, &regex, &err);
    if (st != VUG_OK)
        vug_json_fail(&l->json, st, "%s", err.msg);
    return regex;
}

vug_pattern vug_component_pattern(vug_tokenizer_loader *l, const vug_jv *v, const char *of)
{
    const vug_jv *pattern = vug_jv_get(v, "pattern");
    const vug_jv *regex = vug_jv_get(pattern, "Regex");
    if (vug_jv_is(regex, VUG_JSON_STRING))
        return (vug_pattern){ .regex = vug_component_regex(l, regex->str, of) };
    if (regex)
        vug_json_fail(&l->json, VUG_FORMAT, "%s: \"Regex\" is not a string", of);
    const vug_str literal = vug_component_string(l, pattern, of, "String");
    if (literal.len == 0)
        vug_json_fail(&l->json, VUG_FORMAT, "%s: the pattern is empty", of);
    return (vug_pattern){ .literal = literal };
}

bool vug_component_check_full(vug_tokenizer_loader *l, size_t n, const char *what)
{
    if (n < VUG_PIPELINE_MAX_STEPS)
        return false;
    vug_json_fail(&l->json, VUG_LIMIT, "more than %d steps in the %s", VUG_PIPELINE_MAX_STEPS,
                  what);
    return true;
}

vug_metaspace vug_component_metaspace(vug_tokenizer_loader *l, const vug_jv *v, const char *of)
{
    const vug_jv *scheme = vug_jv_get(v, "prepend_scheme");
    vug_metaspace m = { .replacement = vug_component_string(l, v, of, "replacement"),
                        .prepend = true,
                        .split = vug_component_flag(l, v, of, "split", true) };
    uint32_t cp;
    if (m.replacement.len == 0 ||
        vug_utf8_decode(m.replacement.ptr, m.replacement.len, &cp) != m.replacement.len)
        vug_json_fail(&l->json, VUG_FORMAT, "%s: \"replacement\" is not a single character", of);
    if (scheme && scheme->type != VUG_JSON_STRING)
        vug_json_fail(&l->json, VUG_FORMAT, "%s: \"prepend_scheme\" is not a string", of);
    else if (scheme && vug_str_is(scheme->str, "first"))
        m.first_only = true;
    else if (scheme && vug_str_is(scheme->str, "never"))
        m.prepend = false;
    else if (scheme && !vug_str_is(scheme->str, "always"))
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "%s with the prepend_scheme \"%.*s\" is not supported", of,
                      VUG_STR_ARG(scheme->str));
    /* The older name of the option must not contradict the newer one. */
    if (!vug_component_flag(l, v, of, "add_prefix_space", true)) {
        if (m.prepend && scheme)
            vug_json_fail(&l->json, VUG_FORMAT,
                          "%s: \"add_prefix_space\" contradicts \"prepend_scheme\"", of);
        m.prepend = false;
    }
    return m;
}
