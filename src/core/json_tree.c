#include "core/json.h"

#include <stdlib.h>

#include "core/number.h"

/* Builds a tree with the pull reader. It recurses once per level; the reader limits those. */

static vug_jv *read_value(vug_json_reader *j);

static int compare_keys(const void *a, const void *b)
{
    const vug_jv *const *x = a, *const *y = b;
    return vug_str_compare((*x)->key, (*y)->key);
}

/* Sorting finds duplicates in O(n log n), also in a hostile file of a million keys. */
static void check_unique(vug_json_reader *j, const vug_jv *object)
{
    if (object->n < 2 || j->st != VUG_OK)
        return;
    const vug_jv **member = vug_alloc(object->n, sizeof(const vug_jv *));
    if (!member) {
        vug_json_fail(j, VUG_NOMEM, "out of memory for an object of %zu members", object->n);
        return;
    }
    size_t n = 0;
    for (const vug_jv *m = object->child; m; m = m->next)
        member[n++] = m;
    qsort(member, n, sizeof(const vug_jv *), compare_keys);
    for (size_t i = 1; i < n; i++) {
        if (vug_str_equal(member[i - 1]->key, member[i]->key)) {
            vug_json_fail(j, VUG_FORMAT, "the object that ends here has the key \"%.*s\" twice",
                          VUG_STR_ARG(member[i]->key));
            break;
        }
    }
    vug_free(member);
}

static void read_members(vug_json_reader *j, vug_jv *v)
{
    vug_str key = { 0 };
    if (v->type == VUG_JSON_OBJECT)
        vug_json_enter_object(j);
    else
        vug_json_enter_array(j);
    while (v->type == VUG_JSON_OBJECT ? vug_json_key(j, &key) : vug_json_element(j)) {
        vug_jv *member = read_value(j);
        if (!member)
            return;
        member->key = key;
        vug_jv_append(v, member);
    }
    if (v->type == VUG_JSON_OBJECT)
        check_unique(j, v);
}

static void read_number(vug_json_reader *j, vug_jv *v)
{
    const size_t at = j->pos;
    v->f64 = vug_json_f64(j);
    const vug_str spelling = { j->src.ptr + at, j->pos - at };
    /* "-9223372036854775808" has 20 characters. */
    char text[24];
    if (spelling.len >= sizeof(text))
        return;
    memcpy(text, spelling.ptr, spelling.len);
    text[spelling.len] = '\0';
    v->is_int = vug_parse_i64(text, &v->i64);
}

static vug_jv *read_value(vug_json_reader *j)
{
    vug_jv *v = vug_arena_alloc(j->arena, 1, sizeof(*v));
    if (!v) {
        vug_json_fail(j, VUG_NOMEM, "out of memory for the values of this file");
        return NULL;
    }
    v->type = vug_json_peek(j);
    const size_t at = j->pos;
    switch (v->type) {
    case VUG_JSON_OBJECT:
    case VUG_JSON_ARRAY:
        read_members(j, v);
        break;
    case VUG_JSON_STRING:
        v->str = vug_json_string(j);
        break;
    case VUG_JSON_NUMBER:
        read_number(j, v);
        break;
    case VUG_JSON_BOOL:
        v->boolean = vug_json_bool(j);
        break;
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        vug_json_skip(j);
        break;
    }
    if (v->type != VUG_JSON_STRING)
        v->str = (vug_str){ j->src.ptr + at, j->pos - at };
    return vug_json_ok(j) ? v : NULL;
}

const vug_jv *vug_json_value(vug_json_reader *j)
{
    return read_value(j);
}

vug_status vug_json_tree(vug_str src, const char *name, vug_arena *arena, const vug_jv **out,
                         vug_err *err)
{
    vug_json_reader j = vug_json_reader_over(src, name, arena);
    const vug_jv *root = read_value(&j);
    VUG_TRY(vug_json_finish(&j, err));
    *out = root;
    return VUG_OK;
}

void vug_jv_append(vug_jv *to, vug_jv *member)
{
    if (to->last)
        to->last->next = member;
    else
        to->child = member;
    to->last = member;
    to->keys |= vug_jv_key_bit(member->key);
    to->n++;
}

const vug_jv *vug_jv_search(const vug_jv *object, vug_str key)
{
    const vug_jv *m = object->child;
    while (m && !vug_str_equal(m->key, key))
        m = m->next;
    return m;
}
