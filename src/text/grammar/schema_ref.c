#include "text/grammar/schema.h"

#include <stdlib.h>

/*
 * References inside of one schema: "#", a JSON pointer as a fragment ("#/$defs/a~1b",
 * RFC 6901, section 6) or an anchor ("#name").
 */

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) % 16 : -1;
}

/* %XX of a fragment; NULL where they are malformed. */
static bool percent_decode(vug_str text, char *to, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            if (i + 2 >= text.len || hex(text.ptr[i + 1]) < 0 || hex(text.ptr[i + 2]) < 0)
                return false;
            c = (char)(hex(text.ptr[i + 1]) * 16 + hex(text.ptr[i + 2]));
            i += 2;
        }
        to[(*n)++] = c;
    }
    return true;
}

/* ~0 and ~1, in place. */
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

static const vug_jv *element(vug_schema *s, const vug_jv *array, vug_str token)
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
        v = vug_schema_step(s, 1) ? v->next : NULL;
    return v;
}

/* `path` begins with '/'; it is decoded in place. */
static const vug_jv *walk(vug_schema *s, char *path, size_t len)
{
    const vug_jv *v = s->root;
    size_t at = 0;
    while (v && at < len) {
        char *token = path + at + 1;
        size_t n = 0;
        while (at + 1 + n < len && token[n] != '/')
            n++;
        at += 1 + n;
        if (!pointer_decode(token, &n))
            return NULL;
        const vug_str name = { token, n };
        v = v->type == VUG_JSON_ARRAY ? element(s, v, name) : vug_schema_get(s, v, name);
    }
    return v;
}

/* ---- anchors ----------------------------------------------------------------------- */

static const vug_jv *anchor_of(const vug_jv *schema, vug_str *name)
{
    const vug_jv *anchor = vug_jv_get(schema, "$anchor");
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

/* What is a value there is no schema. */
static bool holds_values(vug_str key)
{
    return vug_str_is(key, "enum") || vug_str_is(key, "const") || vug_str_is(key, "default") ||
           vug_str_is(key, "example") || vug_str_is(key, "examples");
}

/* Counts, or with `to` collects. The depth of JSON bounds that of the calls. */
static size_t collect(const vug_jv *v, vug_schema_anchor *to) // NOLINT(misc-no-recursion)
{
    size_t n = 0;
    vug_str name;
    if (v->type == VUG_JSON_OBJECT && anchor_of(v, &name)) {
        if (to)
            to[n] = (vug_schema_anchor){ name, v };
        n++;
    }
    for (const vug_jv *m = v->child; m; m = m->next)
        if (v->type != VUG_JSON_OBJECT || !holds_values(m->key))
            n += collect(m, to ? to + n : NULL);
    return n;
}

static int by_name(const void *a, const void *b)
{
    const vug_schema_anchor *x = a, *y = b;
    return vug_str_compare(x->name, y->name);
}

static const vug_jv *find_anchor(vug_schema *s, const vug_jv *ref, vug_str name)
{
    if (!s->has_anchors) {
        s->n_anchors = collect(s->root, NULL);
        s->anchor = vug_schema_alloc(s, s->n_anchors, sizeof(*s->anchor));
        if (!s->anchor)
            return NULL;
        (void)collect(s->root, s->anchor);
        if (s->n_anchors > 0)
            qsort(s->anchor, s->n_anchors, sizeof(*s->anchor), by_name);
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

const vug_jv *vug_schema_resolve(vug_schema *s, const vug_jv *ref)
{
    if (ref->str.len == 0 || ref->str.ptr[0] != '#') {
        vug_schema_fail(s, VUG_UNSUPPORTED, ref,
                        "'%.*s': references outside of the schema are not supported",
                        VUG_STR_ARG(ref->str));
        return NULL;
    }
    const vug_str fragment = vug_str_from(ref->str, 1);
    if (fragment.len == 0)
        return s->root;
    char *path = vug_schema_alloc(s, fragment.len, 1);
    const vug_jv *out = NULL;
    size_t n = 0;
    if (path && percent_decode(fragment, path, &n))
        out = path[0] == '/' ? walk(s, path, n) : find_anchor(s, ref, (vug_str){ path, n });
    if (!out)
        vug_schema_fail(s, VUG_FORMAT, ref, "there is no '%.*s' in the schema",
                        VUG_STR_ARG(ref->str));
    return out;
}
