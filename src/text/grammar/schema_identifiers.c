#include "text/grammar/schema_identifiers.h"

#include <stdlib.h>

#include "text/grammar/schema_uri.h"

/* A schema with an identifier, or the root. */
typedef struct {
    vug_str uri; /* without a fragment; empty: the root has no identifier */
    const vug_jv *schema;
} schema_document;

typedef struct {
    vug_str name;
    const vug_jv *document, *schema;
    bool dynamic; /* $dynamicAnchor */
} schema_anchor;

/* A reference that does not belong to the root. */
typedef struct {
    const vug_jv *ref;
    size_t document;
} placed_reference;

/* All of a schema, collected when the first reference is resolved. */
struct vug_schema_identifiers {
    schema_document *document;   /* [0] is the root */
    schema_anchor *anchor;       /* sorted by name */
    placed_reference *reference; /* sorted by address */
    size_t n_documents, n_anchors, n_references;
    size_t cap_documents, cap_anchors, cap_references;
};

typedef struct vug_schema_identifiers identifiers;

/* ---- collecting ---------------------------------------------------------------------------- */

typedef enum {
    SCHEMA_PLACE,
    MAP_PLACE,   /* an object from names to schemas */
    VALUE_PLACE, /* values that are not schemas */
} place_kind;

static bool is_one_of(vug_str key, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (vug_str_is(key, names[i]))
            return true;
    return false;
}

/* The place of a member of `v`. */
static place_kind place_of_member(const vug_jv *v, place_kind place, const vug_jv *member)
{
    static const char *const values[] = { "enum", "const", "default", "example", "examples" };
    static const char *const maps[] = { "properties",  "patternProperties", "dependentSchemas",
                                        "definitions", "dependencies",      "$defs" };
    if (place == VALUE_PLACE || v->type == VUG_JSON_ARRAY)
        return place;
    if (place == MAP_PLACE)
        return SCHEMA_PLACE;
    if (is_one_of(member->key, values, sizeof(values) / sizeof(*values)))
        return VALUE_PLACE;
    return is_one_of(member->key, maps, sizeof(maps) / sizeof(*maps)) ? MAP_PLACE : SCHEMA_PLACE;
}

/* Room for one more entry of a list, which may move. NULL after a failure. */
static void *grow_list(vug_schema_compiler *s, void *list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return list;
    const size_t more = *cap ? 2 * *cap : 8;
    void *out = vug_schema_alloc(s, more, size);
    if (out && n > 0)
        memcpy(out, list, n * size);
    *cap = out ? more : 0;
    return out;
}

static void add_document(vug_schema_compiler *s, identifiers *t, vug_str uri, const vug_jv *schema)
{
    t->document =
            grow_list(s, t->document, t->n_documents, &t->cap_documents, sizeof(*t->document));
    if (t->document)
        t->document[t->n_documents++] = (schema_document){ uri, schema };
}

static void add_anchor(vug_schema_compiler *s, identifiers *t, schema_anchor anchor)
{
    if (anchor.name.len == 0)
        return;
    t->anchor = grow_list(s, t->anchor, t->n_anchors, &t->cap_anchors, sizeof(*t->anchor));
    if (t->anchor)
        t->anchor[t->n_anchors++] = anchor;
}

static void add_reference(vug_schema_compiler *s, identifiers *t, const vug_jv *ref,
                          size_t document)
{
    t->reference =
            grow_list(s, t->reference, t->n_references, &t->cap_references, sizeof(*t->reference));
    if (t->reference)
        t->reference[t->n_references++] = (placed_reference){ ref, document };
}

typedef struct {
    vug_str id, anchor, dynamic_anchor;
} schema_names;

static schema_names read_names(const vug_schema_compiler *s, const vug_jv *schema)
{
    schema_names names = { 0 };
    for (const vug_jv *m = schema->child; m; m = m->next) {
        if (m->type != VUG_JSON_STRING || m->key.len == 0 || !strchr("$i", m->key.ptr[0]))
            continue;
        if (vug_str_is(m->key, s->is_draft_4 ? "id" : "$id"))
            names.id = m->str;
        else if (vug_str_is(m->key, "$anchor"))
            names.anchor = m->str;
        else if (vug_str_is(m->key, "$dynamicAnchor"))
            names.dynamic_anchor = m->str;
        else if (vug_str_is(m->key, "$ref") && s->ref_hides_siblings)
            return (schema_names){ 0 };
    }
    return names;
}

/* Adds the identifier and the anchors of a schema in a document. Returns the document of its
 * members. */
static size_t add_names(vug_schema_compiler *s, identifiers *t, const vug_jv *schema,
                        size_t document)
{
    const schema_names names = read_names(s, schema);
    vug_str fragment; /* up to draft 7, "$id": "#name" is an anchor */
    const vug_str uri = vug_schema_split_fragment(names.id, &fragment);
    if (t->document && uri.len > 0 && schema != s->root) {
        add_document(s, t, vug_schema_resolve_uri(s, t->document[document].uri, uri), schema);
        document = t->n_documents - 1;
    }
    if (!t->document)
        return 0;
    const vug_jv *within = t->document[document].schema;
    add_anchor(s, t, (schema_anchor){ fragment, within, schema, false });
    add_anchor(s, t, (schema_anchor){ names.anchor, within, schema, false });
    add_anchor(s, t, (schema_anchor){ names.dynamic_anchor, within, schema, true });
    return document;
}

static bool is_reference(const vug_jv *member)
{
    static const char *const keywords[] = { "$ref", "$dynamicRef", "$recursiveRef" };
    return member->type == VUG_JSON_STRING && vug_str_starts(member->key, "$") &&
           is_one_of(member->key, keywords, sizeof(keywords) / sizeof(*keywords));
}

/* Bounded by the depth of the JSON. */
static void collect(vug_schema_compiler *s, identifiers *t, // NOLINT(misc-no-recursion)
                    const vug_jv *v, place_kind place, size_t document)
{
    if (v->type == VUG_JSON_OBJECT && place == SCHEMA_PLACE)
        document = add_names(s, t, v, document);
    for (const vug_jv *m = v->child; m && vug_schema_charge(s, 1); m = m->next) {
        if (m->child)
            collect(s, t, m, place_of_member(v, place, m), document);
        else if (document > 0 && place != MAP_PLACE && is_reference(m))
            add_reference(s, t, m, document);
    }
}

static int compare_anchors(const void *a, const void *b)
{
    const schema_anchor *x = a, *y = b;
    return vug_str_compare(x->name, y->name);
}

static int compare_references(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const placed_reference *)a)->ref;
    const uintptr_t y = (uintptr_t)((const placed_reference *)b)->ref;
    return (x > y) - (x < y);
}

/* Those of the schema; NULL after a failure. */
static const identifiers *find_identifiers(vug_schema_compiler *s)
{
    if (!s->identifiers) {
        identifiers *t = vug_schema_alloc(s, 1, sizeof(*t));
        if (!t)
            return NULL;
        *t = (identifiers){ 0 };
        vug_str fragment;
        add_document(s, t, vug_schema_split_fragment(read_names(s, s->root).id, &fragment),
                     s->root);
        collect(s, t, s->root, SCHEMA_PLACE, 0);
        if (vug_schema_ok(s) && t->n_anchors > 0)
            qsort(t->anchor, t->n_anchors, sizeof(*t->anchor), compare_anchors);
        if (vug_schema_ok(s) && t->n_references > 0)
            qsort(t->reference, t->n_references, sizeof(*t->reference), compare_references);
        s->identifiers = t;
    }
    return vug_schema_ok(s) ? s->identifiers : NULL;
}

/* ---- documents ----------------------------------------------------------------------------- */

vug_str vug_schema_split_fragment(vug_str uri, vug_str *fragment)
{
    size_t n = 0;
    while (n < uri.len && uri.ptr[n] != '#')
        n++;
    *fragment = n < uri.len ? vug_str_from(uri, n + 1) : (vug_str){ 0 };
    return (vug_str){ uri.ptr, n };
}

static size_t document_of(const identifiers *t, const vug_jv *ref)
{
    const placed_reference key = { .ref = ref };
    const placed_reference *found = t->n_references == 0
                                            ? NULL
                                            : bsearch(&key, t->reference, t->n_references,
                                                      sizeof(*t->reference), compare_references);
    return found ? found->document : 0;
}

const vug_jv *vug_schema_document_of(vug_schema_compiler *s, const vug_jv *ref)
{
    const identifiers *t = find_identifiers(s);
    return t ? t->document[document_of(t, ref)].schema : s->root;
}

const vug_jv *vug_schema_find_document(vug_schema_compiler *s, const vug_jv *ref, vug_str reference)
{
    const identifiers *t = find_identifiers(s);
    const vug_jv *found = NULL;
    if (!t)
        return NULL;
    const vug_str uri = vug_schema_resolve_uri(s, t->document[document_of(t, ref)].uri, reference);
    for (size_t i = 0; i < t->n_documents && vug_schema_charge(s, 1); i++) {
        if (!vug_str_equal(t->document[i].uri, uri))
            continue;
        if (found)
            vug_schema_fail(s, VUG_FORMAT, ref, "two schemas have the identifier '%.*s'",
                            VUG_STR_ARG(uri));
        found = t->document[i].schema;
    }
    return found;
}

/* ---- anchors ------------------------------------------------------------------------------- */

/* The number of anchors whose names come before this one. */
static size_t first_anchor(const identifiers *t, vug_str name)
{
    size_t low = 0, high = t->n_anchors;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (vug_str_compare(t->anchor[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The anchor of a document, or NULL. */
static const schema_anchor *find_anchor(vug_schema_compiler *s, const identifiers *t,
                                        const vug_jv *ref, const vug_jv *document, vug_str name)
{
    const schema_anchor *found = NULL;
    for (size_t i = first_anchor(t, name); i < t->n_anchors && vug_schema_charge(s, 1); i++) {
        const schema_anchor *a = &t->anchor[i];
        if (!vug_str_equal(a->name, name))
            break;
        if (a->document != document)
            continue;
        if (found)
            vug_schema_fail(s, VUG_FORMAT, ref, "two schemas have the anchor '%.*s'",
                            VUG_STR_ARG(name));
        found = a;
    }
    return found;
}

static size_t count_dynamic_anchors(vug_schema_compiler *s, const identifiers *t, vug_str name)
{
    size_t n = 0;
    for (size_t i = first_anchor(t, name); i < t->n_anchors && vug_schema_charge(s, 1); i++) {
        if (!vug_str_equal(t->anchor[i].name, name))
            break;
        n += t->anchor[i].dynamic;
    }
    return n;
}

/* A $dynamicRef to a $dynamicAnchor refers to the one in the first document, of those that the
 * validation has gone through, which has one of this name. Every validation begins at the root. */
const vug_jv *vug_schema_find_anchor(vug_schema_compiler *s, const vug_jv *ref,
                                     const vug_jv *document, vug_str name)
{
    const identifiers *t = find_identifiers(s);
    const schema_anchor *found = t ? find_anchor(s, t, ref, document, name) : NULL;
    if (!found || !found->dynamic || !vug_str_is(ref->key, "$dynamicRef"))
        return found ? found->schema : NULL;
    const schema_anchor *first = find_anchor(s, t, ref, s->root, name);
    if (first && first->dynamic)
        return first->schema;
    if (count_dynamic_anchors(s, t, name) > 1)
        vug_schema_fail(s, VUG_UNSUPPORTED, ref,
                        "a $dynamicRef that may refer to several schemas is not supported");
    return found->schema;
}

bool vug_schema_is_recursive_anchor(const vug_jv *schema)
{
    const vug_jv *anchor = vug_jv_get(schema, "$recursiveAnchor");
    return vug_jv_is(anchor, VUG_JSON_BOOL) && anchor->boolean;
}

bool vug_schema_has_other_recursive_anchor(vug_schema_compiler *s, const vug_jv *known)
{
    const identifiers *t = find_identifiers(s);
    bool found = false;
    for (size_t i = 1; t && i < t->n_documents && !found; i++)
        found = t->document[i].schema != known &&
                vug_schema_is_recursive_anchor(t->document[i].schema);
    return found;
}
