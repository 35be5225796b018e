#include "core/number.h"
#include "text/grammar/schema_identifiers.h"

/*
 * References within a schema: the URI of a document or nothing, then "#", a JSON pointer as a
 * fragment ("#/$defs/a~1b", RFC 6901, section 6) or an anchor ("#name"). And $recursiveRef of draft
 * 2019-09, which is always "#".
 */

/* Decodes %XX in a fragment. False if one is malformed. */
static bool percent_decode(vug_str text, char *to, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            if (i + 2 >= text.len || vug_hex_digit(text.ptr[i + 1]) < 0 ||
                vug_hex_digit(text.ptr[i + 2]) < 0)
                return false;
            c = (char)(vug_hex_digit(text.ptr[i + 1]) * 16 + vug_hex_digit(text.ptr[i + 2]));
            i += 2;
        }
        to[(*n)++] = c;
    }
    return true;
}

/* Decodes ~0 and ~1 in place. False if one is malformed. */
static bool pointer_decode(char *token, size_t *len)
{
    size_t n = 0;
    for (size_t i = 0; i < *len; i++) {
        char c = token[i];
        if (c == '~') {
            if (i + 1 >= *len || (token[i + 1] != '0' && token[i + 1] != '1'))
                return false;
            c = token[++i] == '0' ? '~' : '/';
        }
        token[n++] = c;
    }
    *len = n;
    return true;
}

static const vug_jv *find_item(vug_schema_compiler *s, const vug_jv *array, vug_str token)
{
    size_t index = 0;
    if (token.len == 0 || token.len > 7 || (token.len > 1 && token.ptr[0] == '0'))
        return NULL;
    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] < '0' || token.ptr[i] > '9')
            return NULL;
        index = index * 10 + (size_t)(token.ptr[i] - '0');
    }
    const vug_jv *v = index < array->n ? array->child : NULL;
    for (size_t i = 0; v && i < index; i++)
        v = vug_schema_charge(s, 1) ? v->next : NULL;
    return v;
}

/* `pointer` begins with '/' and is decoded in place. */
static const vug_jv *follow_pointer(vug_schema_compiler *s, const vug_jv *v, char *pointer,
                                    size_t len)
{
    size_t at = 0;
    while (v && at < len) {
        char *token = pointer + at + 1;
        size_t n = 0;
        while (at + 1 + n < len && token[n] != '/')
            n++;
        at += 1 + n;
        if (!pointer_decode(token, &n))
            return NULL;
        const vug_str name = { token, n };
        v = v->type == VUG_JSON_ARRAY ? find_item(s, v, name) : vug_schema_get_member(s, v, name);
    }
    return v;
}

/* ---- references ------------------------------------------------------------------------ */

/* The document that a reference names; `fragment` becomes what follows '#'. NULL if it is not part
 * of the root. */
static const vug_jv *find_start(vug_schema_compiler *s, const vug_jv *ref, vug_str *fragment)
{
    const vug_str uri = vug_schema_split_fragment(ref->str, fragment);
    return uri.len == 0 ? vug_schema_document_of(s, ref) : vug_schema_find_document(s, ref, uri);
}

/* A $recursiveRef refers to the document around it; but if that is a recursive anchor, to the first
 * anchor that the validation has gone through. That is the root if it is one, since every
 * validation begins there. */
static const vug_jv *resolve_recursive_ref(vug_schema_compiler *s, const vug_jv *ref)
{
    vug_str fragment;
    const vug_jv *start = find_start(s, ref, &fragment);
    if (!vug_str_is(ref->str, "#"))
        vug_schema_fail(s, VUG_FORMAT, ref, "expected \"#\"");
    else if (vug_schema_is_recursive_anchor(start) && vug_schema_is_recursive_anchor(s->root))
        start = s->root;
    else if (vug_schema_is_recursive_anchor(start) &&
             vug_schema_has_other_recursive_anchor(s, start))
        vug_schema_fail(s, VUG_UNSUPPORTED, ref,
                        "a $recursiveRef that may refer to several schemas is not supported");
    return start;
}

const vug_jv *vug_schema_resolve_ref(vug_schema_compiler *s, const vug_jv *ref)
{
    if (vug_str_is(ref->key, "$recursiveRef"))
        return resolve_recursive_ref(s, ref);
    vug_str fragment;
    const vug_jv *start = find_start(s, ref, &fragment);
    if (!start)
        vug_schema_fail(s, VUG_UNSUPPORTED, ref,
                        "'%.*s': references outside of the schema are not supported",
                        VUG_STR_ARG(ref->str));
    if (fragment.len == 0 || !vug_schema_ok(s))
        return start;
    char *pointer = vug_schema_alloc(s, fragment.len, 1);
    const vug_jv *out = NULL;
    size_t n = 0;
    if (pointer && percent_decode(fragment, pointer, &n)) {
        if (pointer[0] == '/')
            out = follow_pointer(s, start, pointer, n);
        else
            out = vug_schema_find_anchor(s, ref, start, (vug_str){ pointer, n });
    }
    if (!out)
        vug_schema_fail(s, VUG_FORMAT, ref, "there is no '%.*s' in the schema",
                        VUG_STR_ARG(ref->str));
    return out;
}
