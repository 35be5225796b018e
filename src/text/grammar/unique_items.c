#include "text/grammar/unique_items.h"

#include "core/json.h"

#include <stdlib.h>

/* A complete item of an open array. */
typedef struct {
    uint32_t before; /* the number of the item before it in the same array + 1; 0: none */
    size_t at, n;    /* in `values` */
} written_item;

static vug_open_bracket *brackets(const vug_unique_items *u, size_t *n)
{
    *n = u->bracket.len / sizeof(vug_open_bracket);
    return (vug_open_bracket *)(void *)u->bracket.ptr;
}

static vug_open_bracket *innermost(const vug_unique_items *u)
{
    size_t n;
    vug_open_bracket *b = brackets(u, &n);
    return b + n - 1;
}

static const written_item *item_at(const vug_unique_items *u, uint32_t number)
{
    return (const written_item *)(const void *)u->item.ptr + number;
}

void vug_unique_items_release(vug_unique_items *u)
{
    vug_buf_release(&u->text);
    vug_buf_release(&u->bracket);
    vug_buf_release(&u->item);
    vug_buf_release(&u->values);
    vug_buf_release(&u->saved);
    *u = (vug_unique_items){ 0 };
}

void vug_unique_items_clear(vug_unique_items *u)
{
    u->text.len = u->bracket.len = u->item.len = u->values.len = u->saved.len = 0;
    u->n_unique = 0;
    u->in_string = u->escaped = false;
}

bool vug_unique_items_failed(const vug_unique_items *u)
{
    return u->text.bad || u->bracket.bad || u->item.bad || u->values.bad || u->saved.bad;
}

/* ---- values ------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    const vug_jv *x = *(const vug_jv *const *)a, *y = *(const vug_jv *const *)b;
    return vug_str_compare(x->key, y->key);
}

static void append_text(vug_buf *to, vug_str text)
{
    vug_buf_append_le(to, text.len, 8);
    vug_buf_append(to, text.ptr, text.len);
}

static void append_value(vug_buf *to, const vug_jv *v, vug_arena *arena);

/* Members in the order of their keys. Bounded by the depth of the JSON. */
static void append_members(vug_buf *to, const vug_jv *v, // NOLINT(misc-no-recursion)
                           vug_arena *arena)
{
    const vug_jv **member = vug_arena_alloc(arena, v->n + 1, sizeof(const vug_jv *));
    size_t n = 0;
    if (!member) {
        to->bad = true;
        return;
    }
    for (const vug_jv *m = v->child; m; m = m->next)
        member[n++] = m;
    if (v->type == VUG_JSON_OBJECT)
        qsort(member, n, sizeof(const vug_jv *), compare_keys);
    vug_buf_append_le(to, n, 8);
    for (size_t i = 0; i < n; i++) {
        if (v->type == VUG_JSON_OBJECT)
            append_text(to, member[i]->key);
        append_value(to, member[i], arena);
    }
}

static void append_value(vug_buf *to, const vug_jv *v, // NOLINT(misc-no-recursion)
                         vug_arena *arena)
{
    const char kind = (char)v->type;
    const double number = v->f64 == 0 ? 0 : v->f64; /* -0 is 0 */
    vug_buf_append(to, &kind, 1);
    switch (v->type) {
    case VUG_JSON_BOOL:
        vug_buf_append_le(to, v->boolean, 1);
        break;
    case VUG_JSON_NUMBER:
        vug_buf_append(to, &number, sizeof(number));
        break;
    case VUG_JSON_STRING:
        append_text(to, v->str);
        break;
    case VUG_JSON_ARRAY:
    case VUG_JSON_OBJECT:
        append_members(to, v, arena);
        break;
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        break;
    }
}

enum { STRING_HEADER = 9 }; /* bytes before a string in `values`: its kind and its length */

/* What cannot be read, because a name occurs twice, is equal to the same text only. */
static void append_item(vug_unique_items *u, vug_str text)
{
    vug_arena arena = { 0 };
    const vug_jv *v = NULL;
    if (vug_json_tree(text, "item", &arena, &v, NULL) == VUG_OK) {
        append_value(&u->values, v, &arena);
    } else {
        const char kind = VUG_JSON_NOTHING;
        vug_buf_append(&u->values, &kind, 1);
        append_text(&u->values, text);
    }
    vug_arena_release(&arena);
}

/* ---- items -------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The text of the current item, without whitespace before it. */
static vug_str current_item(const vug_unique_items *u, const vug_open_bracket *b, size_t end)
{
    size_t at = b->at;
    while (at < end && is_space(u->text.ptr[at]))
        at++;
    return (vug_str){ u->text.ptr + at, end - at };
}

/* The current item of the innermost array ends before `end`. False if it is equal to another. */
static bool end_item(vug_unique_items *u, size_t end)
{
    vug_open_bracket *b = innermost(u);
    const vug_str text = current_item(u, b, end);
    if (!b->unique || b->done || text.len == 0)
        return true;
    const size_t at = u->values.len;
    append_item(u, text);
    if (vug_unique_items_failed(u))
        return false;
    const size_t n = u->values.len - at;
    for (uint32_t i = b->last; i > 0; i = item_at(u, i - 1)->before) {
        const written_item *other = item_at(u, i - 1);
        if (other->n == n && memcmp(u->values.ptr + other->at, u->values.ptr + at, n) == 0)
            return false;
    }
    const written_item item = { .before = b->last, .at = at, .n = n };
    vug_buf_append(&u->item, &item, sizeof(item));
    b->last = (uint32_t)(u->item.len / sizeof(item));
    b->n_items++;
    b->done = true;
    return !u->item.bad;
}

static bool is_literal(vug_str text)
{
    return vug_str_is(text, "true") || vug_str_is(text, "false") || vug_str_is(text, "null");
}

static bool open_bracket(vug_unique_items *u, bool unique)
{
    const vug_open_bracket b = { .unique = unique, .at = u->text.len };
    vug_buf_append(&u->bracket, &b, sizeof(b));
    u->n_unique += unique;
    return !u->bracket.bad;
}

static bool close_bracket(vug_unique_items *u)
{
    u->n_unique -= innermost(u)->unique;
    u->bracket.len -= sizeof(vug_open_bracket);
    return u->bracket.len == 0 || end_item(u, u->text.len);
}

static bool begin_item(vug_unique_items *u)
{
    vug_open_bracket *b = innermost(u);
    b->at = u->text.len;
    b->done = false;
    return !b->unique || b->n_items < VUG_UNIQUE_MAX_ITEMS;
}

static bool read_in_string(vug_unique_items *u, char c)
{
    const bool ends = c == '"' && !u->escaped;
    u->escaped = c == '\\' && !u->escaped;
    u->in_string = !ends;
    return !ends || end_item(u, u->text.len);
}

bool vug_unique_items_read(vug_unique_items *u, char c, bool opens_unique)
{
    if (!vug_unique_items_inside(u) && !opens_unique)
        return true;
    vug_buf_push(&u->text, &c, 1);
    if (vug_unique_items_failed(u))
        return false;
    if (u->in_string)
        return read_in_string(u, c);
    if (c == '[' || c == '{')
        return open_bracket(u, opens_unique);
    /* Only what follows a number ends it. */
    if ((c == ',' || c == ']' || c == '}' || is_space(c)) && !end_item(u, u->text.len - 1))
        return false;
    if (c == ',')
        return begin_item(u);
    if (c == ']' || c == '}')
        return close_bracket(u);
    u->in_string = c == '"';
    return !is_literal(current_item(u, innermost(u), u->text.len)) || end_item(u, u->text.len);
}

/* ---- marks -------------------------------------------------------------------------------- */

vug_unique_mark vug_unique_items_mark(vug_unique_items *u)
{
    const vug_unique_mark mark = { .text = u->text.len,
                                   .item = u->item.len,
                                   .values = u->values.len,
                                   .saved = u->saved.len,
                                   .n_unique = u->n_unique,
                                   .in_string = u->in_string,
                                   .escaped = u->escaped };
    if (u->bracket.len > 0)
        vug_buf_append(&u->saved, u->bracket.ptr, u->bracket.len);
    return mark;
}

void vug_unique_items_return(vug_unique_items *u, vug_unique_mark mark)
{
    u->text.len = mark.text;
    u->item.len = mark.item;
    u->values.len = mark.values;
    u->n_unique = mark.n_unique;
    u->in_string = mark.in_string;
    u->escaped = mark.escaped;
    u->bracket.len = 0;
    if (u->saved.len > mark.saved)
        vug_buf_append(&u->bracket, u->saved.ptr + mark.saved, u->saved.len - mark.saved);
    u->saved.len = mark.saved;
}

void vug_unique_items_drop(vug_unique_items *u, vug_unique_mark mark)
{
    u->saved.len = mark.saved;
    if (!vug_unique_items_inside(u))
        vug_unique_items_clear(u);
}

/* ---- what may repeat ---------------------------------------------------------------------- */

bool vug_unique_items_next_rest(const vug_unique_items *u, uint32_t *next, vug_str *rest)
{
    const vug_open_bracket *b = innermost(u);
    const vug_str text = current_item(u, b, u->text.len);
    if (!b->unique || !u->in_string || text.len == 0 || memchr(text.ptr, '\\', text.len))
        return false;
    const size_t n = text.len - 1; /* without its quote */
    for (uint32_t i = *next == 0 ? b->last : item_at(u, *next - 1)->before; i > 0;
         i = item_at(u, i - 1)->before) {
        const written_item *other = item_at(u, i - 1);
        const char *value = u->values.ptr + other->at;
        if (value[0] != VUG_JSON_STRING || other->n - STRING_HEADER < n ||
            memcmp(value + STRING_HEADER, text.ptr + 1, n) != 0)
            continue;
        *next = i;
        *rest = (vug_str){ value + STRING_HEADER + n, other->n - STRING_HEADER - n };
        return true;
    }
    return false;
}

/* Whether the current item of an array may become equal to an earlier one. Only of strings is more
 * than nothing known. */
static bool may_repeat(const vug_unique_items *u, const vug_open_bracket *b)
{
    if (!b->unique || b->done || b->n_items == 0)
        return false;
    const vug_str text = current_item(u, b, u->text.len);
    uint32_t next = 0;
    vug_str rest;
    return text.len == 0 || text.ptr[0] != '"' || memchr(text.ptr, '\\', text.len) ||
           vug_unique_items_next_rest(u, &next, &rest);
}

bool vug_unique_items_find_goal(const vug_unique_items *u, vug_unique_goal *goal)
{
    size_t n, i = 0;
    const vug_open_bracket *b = brackets(u, &n);
    while (i < n && !may_repeat(u, &b[i]))
        i++;
    if (i < n)
        *goal = (vug_unique_goal){ .bracket = i, .n_items = b[i].n_items };
    return i < n;
}

bool vug_unique_items_reached(const vug_unique_items *u, vug_unique_goal goal)
{
    size_t n;
    const vug_open_bracket *b = brackets(u, &n);
    return n <= goal.bracket || b[goal.bracket].n_items > goal.n_items;
}
