#include "core/number.h"
#include "text/grammar/schema_internal.h"

#include <stdlib.h>

/*
 * References within a schema: "#", a JSON pointer as a fragment ("#/$defs/a~1b", RFC 6901,
 * section 6) or an anchor ("#name"). And $recursiveRef of draft 2019-09, which is always "#".
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

/* ---- anchors ----------------------------------------------------------------------- */

static const vug_jv *find_own_anchor(const vug_jv *schema, vug_str *name)
{
    const vug_jv *anchor = vug_jv_get(schema, "$anchor");
    if (!anchor)
        anchor = vug_jv_get(schema, "$dynamicAnchor");
    const vug_jv *id = vug_jv_get(schema, "$id"); /* draft 7: "$id": "#name" */
    if (vug_jv_is(anchor, VUG_JSON_STRING)) {
        *name = anchor->str;
        return schema;
    }
    if (vug_jv_is(id, VUG_JSON_STRING) && id->str.len > 1 && id->str.ptr[0] == '#') {
        *name = vug_str_from(id->str, 1);
        return schema;
    }
    return NULL;
}

/* Values under these keywords are not schemas. */
static bool has_plain_values(vug_str key)
{
    return vug_str_is(key, "enum") || vug_str_is(key, "const") || vug_str_is(key, "default") ||
           vug_str_is(key, "example") || vug_str_is(key, "examples");
}

/* Counts the anchors, and stores them if `to` is given. Bounded by the depth of the JSON. */
static size_t collect_anchors(const vug_jv *v, vug_schema_anchor *to) // NOLINT(misc-no-recursion)
{
    size_t n = 0;
    vug_str name;
    if (v->type == VUG_JSON_OBJECT && find_own_anchor(v, &name)) {
        if (to)
            to[n] = (vug_schema_anchor){ name, v };
        n++;
    }
    for (const vug_jv *m = v->child; m; m = m->next)
        if (v->type != VUG_JSON_OBJECT || !has_plain_values(m->key))
            n += collect_anchors(m, to ? to + n : NULL);
    return n;
}

static int compare_anchors(const void *a, const void *b)
{
    const vug_schema_anchor *x = a, *y = b;
    return vug_str_compare(x->name, y->name);
}

static const vug_jv *find_anchor(vug_schema_compiler *s, const vug_jv *ref, vug_str name)
{
    if (!s->has_anchors) {
        s->n_anchors = collect_anchors(s->root, NULL);
        s->anchor = vug_schema_alloc(s, s->n_anchors, sizeof(*s->anchor));
        if (!s->anchor)
            return NULL;
        (void)collect_anchors(s->root, s->anchor);
        if (s->n_anchors > 0)
            qsort(s->anchor, s->n_anchors, sizeof(*s->anchor), compare_anchors);
        s->has_anchors = true;
    }
    size_t low = 0, high = s->n_anchors;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (vug_str_compare(s->anchor[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low + 1 < s->n_anchors && vug_str_equal(s->anchor[low + 1].name, name))
        vug_schema_fail(s, VUG_FORMAT, ref, "two schemas have the anchor '%.*s'",
                        VUG_STR_ARG(name));
    if (low < s->n_anchors && vug_str_equal(s->anchor[low].name, name))
        return s->anchor[low].schema;
    return NULL;
}

/* ---- nested identifiers -------------------------------------------------------------- */

/* The identifier of a schema inside of the root, which makes it the root of references in it. */
static const vug_jv *find_identifier(const vug_schema_compiler *s, const vug_jv *v)
{
    const vug_jv *id = v == s->root || v->type != VUG_JSON_OBJECT
                               ? NULL
                               : vug_jv_get(v, s->is_draft_4 ? "id" : "$id");
    const bool hidden = s->ref_hides_siblings && vug_jv_get(v, "$ref");
    const bool names = id && vug_jv_is(id, VUG_JSON_STRING) && !vug_str_starts(id->str, "#");
    return names && !hidden ? id : NULL;
}

/* Bounded by the depth of the JSON. */
static bool contains_identifier(vug_schema_compiler *s,
                                const vug_jv *v) // NOLINT(misc-no-recursion)
{
    bool found = find_identifier(s, v) != NULL;
    for (const vug_jv *m = v->child; m && !found && vug_schema_charge(s, 1); m = m->next)
        found = contains_identifier(s, m);
    return found;
}

/* Whether a schema inside of the root has an identifier. Most do not, and their references need no
 * search. */
static bool has_identifiers(vug_schema_compiler *s)
{
    if (!s->looked_for_identifiers)
        s->has_identifiers = contains_identifier(s, s->root);
    s->looked_for_identifiers = true;
    return s->has_identifiers;
}

/* Whether `wanted` is in `v`. `root` becomes the innermost schema with an identifier around it.
 * Bounded by the depth of the JSON. */
static bool find_root(vug_schema_compiler *s, const vug_jv *v, // NOLINT(misc-no-recursion)
                      const vug_jv *wanted, const vug_jv **root)
{
    if (v == wanted)
        return true;
    for (const vug_jv *m = v->child; m && vug_schema_charge(s, 1); m = m->next) {
        if (!find_root(s, m, wanted, root))
            continue;
        if (*root == s->root && find_identifier(s, v))
            *root = v;
        return true;
    }
    return false;
}

/* The schema with this identifier, an absolute one. Bounded by the depth of the JSON. */
static const vug_jv *find_identified(vug_schema_compiler *s,
                                     const vug_jv *v, // NOLINT(misc-no-recursion)
                                     vug_str identifier)
{
    const vug_jv *id = find_identifier(s, v), *found = NULL;
    if (id && vug_str_equal(id->str, identifier))
        return v;
    for (const vug_jv *m = v->child; m && !found && vug_schema_charge(s, 1); m = m->next)
        if (v->type != VUG_JSON_OBJECT || !has_plain_values(m->key))
            found = find_identified(s, m, identifier);
    return found;
}

static bool is_absolute(vug_str uri)
{
    for (size_t i = 0; i + 2 < uri.len; i++)
        if (uri.ptr[i] == ':' && uri.ptr[i + 1] == '/' && uri.ptr[i + 2] == '/')
            return true;
    return vug_str_starts(uri, "urn:");
}

/* The schema that a reference begins at; `fragment` becomes what follows '#'. NULL if it is not in
 * the root. */
static const vug_jv *find_start(vug_schema_compiler *s, const vug_jv *ref, vug_str *fragment)
{
    const vug_jv *start = s->root;
    size_t n = 0;
    while (n < ref->str.len && ref->str.ptr[n] != '#')
        n++;
    *fragment = n < ref->str.len ? vug_str_from(ref->str, n + 1) : (vug_str){ 0 };
    if (n == 0 && ref->str.len > 0) {
        if (has_identifiers(s))
            (void)find_root(s, s->root, ref, &start);
        return start;
    }
    const vug_str identifier = { ref->str.ptr, n };
    const vug_jv *id = vug_jv_get(s->root, s->is_draft_4 ? "id" : "$id");
    if (n == 0 || !is_absolute(identifier))
        return NULL;
    if (vug_jv_is(id, VUG_JSON_STRING) && vug_str_equal(id->str, identifier))
        return s->root;
    return find_identified(s, s->root, identifier);
}

/* ---- $recursiveRef ------------------------------------------------------------------------- */

static bool is_recursive_anchor(const vug_jv *schema)
{
    const vug_jv *anchor = vug_jv_get(schema, "$recursiveAnchor");
    return vug_jv_is(anchor, VUG_JSON_BOOL) && anchor->boolean;
}

/* Whether a schema with an identifier, other than `known`, is a recursive anchor. Bounded by the
 * depth of the JSON. */
static bool has_other_anchor(vug_schema_compiler *s, const vug_jv *v, // NOLINT(misc-no-recursion)
                             const vug_jv *known)
{
    bool found = v != known && find_identifier(s, v) && is_recursive_anchor(v);
    for (const vug_jv *m = v->child; m && !found && vug_schema_charge(s, 1); m = m->next)
        found = has_other_anchor(s, m, known);
    return found;
}

/* It refers to the schema with an identifier around it; but if that is a recursive anchor, to the
 * first anchor that the validation has gone through. That is the root if it is one, since every
 * validation begins there. */
static const vug_jv *resolve_recursive_ref(vug_schema_compiler *s, const vug_jv *ref)
{
    vug_str fragment;
    const vug_jv *start = find_start(s, ref, &fragment);
    if (!vug_str_is(ref->str, "#"))
        vug_schema_fail(s, VUG_FORMAT, ref, "expected \"#\"");
    else if (is_recursive_anchor(start) && is_recursive_anchor(s->root))
        start = s->root;
    else if (is_recursive_anchor(start) && has_other_anchor(s, s->root, start))
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
        else if (start == s->root)
            out = find_anchor(s, ref, (vug_str){ pointer, n });
    }
    if (!out)
        vug_schema_fail(s, VUG_FORMAT, ref, "there is no '%.*s' in the schema",
                        VUG_STR_ARG(ref->str));
    return out;
}
