/* Filters over the elements of a value (jinja2/filters.py). What Jinja makes lazily is
 * made at once here; like there, it can be gone through once. */

#include "text/template/rows.h"
#include "text/template/text.h"

static vug_tv iterator(vug_run *run, const vug_tlist *list)
{
    return vug_tv_seq(run, VUG_TV_ITERATOR, list->item, list->n);
}

static vug_tv filter_length(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    size_t n;
    if (!vug_tv_length(run, self, &n))
        return vug_run_fail(run, VUG_FORMAT, "object of type '%s' has no len()", vug_tv_type(self));
    return vug_tv_int((int64_t)n);
}

static vug_tv filter_list(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    const vug_tseq all = vug_tv_elements(run, self);
    return vug_tv_seq(run, VUG_TV_LIST, all.item, all.n);
}

static vug_tv filter_first(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    vug_tv v;
    vug_titer it = vug_tv_iterate(run, self);
    if (vug_titer_next(run, &it, &v))
        return v;
    return vug_tv_undefined(run, "", vug_str_of("No first item, sequence was empty."));
}

static vug_tv filter_last(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    if (self.kind == VUG_TV_ITERATOR)
        return vug_run_fail(run, VUG_FORMAT, "'generator' object is not reversible");
    const vug_tseq all = vug_tv_elements(run, self);
    if (all.n > 0)
        return all.item[all.n - 1];
    return vug_tv_undefined(run, "", vug_str_of("No last item, sequence was empty."));
}

static vug_tv filter_join(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    vug_tv by = vug_given(arg[0]) ? vug_tv_str(run, arg[0]) : vug_tv_text("");
    vug_tlist parts = { 0 };
    vug_titer it = vug_tv_iterate(run, self);
    for (vug_tv v; vug_titer_next(run, &it, &v);) {
        v = vug_tv_str(run, vug_tv_path(run, v, arg[1], vug_tv_none()));
        v.safe = false;
        vug_tlist_add(run, &parts, v);
    }
    by.safe = false;
    return vug_run_ok(run) ? vug_tstr_join(run, by, (vug_tseq){ parts.item, parts.n, 0 }) : by;
}

static vug_tv filter_reverse(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    if (vug_tv_is_string(self))
        return vug_tv_slice(run, self, (const vug_tv[]){ { 0 }, { 0 }, vug_tv_int(-1) });
    const vug_tseq all = vug_tv_elements(run, self);
    vug_tv *item = vug_run_alloc(run, all.n, sizeof(*item));
    for (size_t i = 0; item && i < all.n; i++)
        item[i] = all.item[all.n - 1 - i];
    const vug_tv_kind kind = self.kind == VUG_TV_ITERATOR ? VUG_TV_LIST : VUG_TV_ITERATOR;
    return item ? vug_tv_seq(run, kind, item, all.n) : vug_tv_none();
}

static vug_tv filter_attr(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_str name = vug_tstr_bytes(vug_arg_string(run, arg[0]));
    if (self.kind == VUG_TV_DICT && !vug_method_row(VUG_TV_DICT, name))
        return vug_tv_undefined(run, vug_tv_object(self), name);
    return vug_tv_attr(run, self, name);
}

static vug_tv filter_items(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    vug_tlist list = { 0 };
    if (self.kind != VUG_TV_DICT && self.kind != VUG_TV_UNDEFINED)
        return vug_run_fail(run, VUG_FORMAT, "Can only get item pairs from a mapping.");
    for (size_t i = 0; self.kind == VUG_TV_DICT && i < self.dict->n && vug_run_spend(run, 1); i++)
        vug_tlist_add(run, &list, vug_tv_pair(run, self.dict->key[i], self.dict->value[i]));
    return iterator(run, &list);
}

/* ---- applying others to each element ------------------------------------------------------- */

static const vug_tv *named(const vug_tdict *dict, const char *name)
{
    for (size_t i = 0; i < dict->n; i++) {
        if (vug_str_is(vug_tv_bytes(dict->key[i]), name))
            return &dict->value[i];
    }
    return NULL;
}

static vug_tv map_attribute(vug_run *run, vug_tv self, const vug_tdict *by_name)
{
    vug_tlist out = { 0 };
    const vug_tv *path = named(by_name, "attribute");
    const vug_tv *given = named(by_name, "default");
    if (!path || by_name->n != 1u + (given != NULL))
        return vug_run_fail(run, VUG_FORMAT, "map needs the name of a filter, or an attribute");
    vug_titer it = vug_tv_iterate(run, self);
    for (vug_tv v; vug_titer_next(run, &it, &v);)
        vug_tlist_add(run, &out, vug_tv_path(run, v, *path, given ? *given : vug_tv_none()));
    return iterator(run, &out);
}

/* The arguments from the `from`-th on, and those with names. */
static vug_targs rest_of(vug_run *run, const vug_tv *arg, size_t from)
{
    const vug_tdict *by_name = arg[1].dict;
    vug_str *name = vug_run_alloc(run, by_name->n, sizeof(*name));
    for (size_t i = 0; name && i < by_name->n; i++)
        name[i] = vug_tv_bytes(by_name->key[i]);
    return (vug_targs){ .pos = arg[0].seq->item + from,
                        .n = arg[0].seq->n - from,
                        .name = name,
                        .named = by_name->value,
                        .n_named = name ? by_name->n : 0 };
}

static vug_tv filter_map(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    vug_tlist out = { 0 };
    if (!vug_tv_truth(run, self))
        return iterator(run, &out);
    if (arg[0].seq->n == 0)
        return map_attribute(run, self, arg[1].dict);
    const vug_tstr name = vug_arg_string(run, arg[0].seq->item[0]);
    const vug_targs args = rest_of(run, arg, 1);
    vug_titer it = vug_tv_iterate(run, self);
    for (vug_tv v; vug_titer_next(run, &it, &v);)
        vug_tlist_add(run, &out, vug_filter_call(run, vug_tstr_bytes(name), v, &args));
    return iterator(run, &out);
}

/* Which of them a row is: whether it drops what passes, and looks at an attribute. */
enum { DROPS = 1, OF_ATTRIBUTE = 2 };

static vug_tv filter_select(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    vug_tlist out = { 0 };
    if (!vug_tv_truth(run, self))
        return iterator(run, &out);
    const vug_tseq *given = arg[0].seq;
    const size_t test = (data & OF_ATTRIBUTE) ? 1 : 0;
    if (given->n < test)
        return vug_run_fail(run, VUG_FORMAT, "Missing parameter for attribute name");
    vug_str name = { 0 };
    vug_targs args = { 0 };
    if (given->n > test) {
        name = vug_tstr_bytes(vug_arg_string(run, given->item[test]));
        args = rest_of(run, arg, test + 1);
    }
    vug_titer it = vug_tv_iterate(run, self);
    for (vug_tv v; vug_titer_next(run, &it, &v);) {
        const vug_tv of = test ? vug_tv_path(run, v, given->item[0], vug_tv_none()) : v;
        const bool passes =
                given->n > test ? vug_test_call(run, name, of, &args) : vug_tv_truth(run, of);
        if (passes != ((data & DROPS) != 0))
            vug_tlist_add(run, &out, v);
    }
    return iterator(run, &out);
}

/* ---- order ------------------------------------------------------------------------------------ */

/* What is compared: lower case, unless case matters. */
static vug_tv without_case(vug_run *run, vug_tv v, bool sensitive)
{
    return vug_tv_is_string(v) && !sensitive ? vug_tstr_case(run, v.str, VUG_CASE_LOWER) : v;
}

/* By "a,b": a tuple of both. */
static vug_tv sort_key(vug_run *run, vug_tv v, vug_tv path, bool sensitive)
{
    const vug_tstr comma = { ",", 1, NULL };
    if (!vug_tv_is_string(path) || vug_tstr_find(run, path.str, comma, 0) == SIZE_MAX)
        return without_case(run, vug_tv_path(run, v, path, vug_tv_none()), sensitive);
    const vug_tv parts = vug_tstr_split(run, path.str, &comma, -1, false);
    vug_tlist key = { 0 };
    for (size_t i = 0; vug_run_ok(run) && i < parts.seq->n; i++)
        vug_tlist_add(run, &key, sort_key(run, v, parts.seq->item[i], sensitive));
    return vug_tv_seq(run, VUG_TV_TUPLE, key.item, key.n);
}

/* A list that is the caller's own, and the keys of its elements. */
static vug_tv *keys_of(vug_run *run, vug_tseq all, vug_tv path, vug_tv otherwise, bool sensitive)
{
    vug_tv *key = vug_run_alloc(run, all.n, sizeof(*key));
    for (size_t i = 0; key && i < all.n && vug_run_spend(run, 1); i++)
        key[i] = vug_given_some(otherwise)
                         ? without_case(run, vug_tv_path(run, all.item[i], path, otherwise),
                                        sensitive)
                         : sort_key(run, all.item[i], path, sensitive);
    return key;
}

static vug_tv *own_copy(vug_run *run, vug_tseq all)
{
    vug_tv *item = vug_run_alloc(run, all.n, sizeof(*item));
    if (item && all.n)
        memcpy(item, all.item, all.n * sizeof(*item));
    return item;
}

static vug_tv filter_sort(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tseq all = vug_tv_elements(run, self);
    const bool sensitive = vug_arg_bool(run, arg[1], false);
    vug_tv *item = own_copy(run, all);
    const vug_tv *key = keys_of(run, all, arg[2], vug_tv_none(), sensitive);
    if (!item || !key || !vug_run_ok(run))
        return vug_tv_none();
    /* As parts of a list: what is equal needs no order. */
    vug_tv *list = vug_run_alloc(run, all.n, sizeof(*list));
    for (size_t i = 0; list && i < all.n; i++)
        list[i] = vug_tv_seq(run, VUG_TV_LIST, &key[i], 1);
    if (list && vug_run_ok(run))
        vug_tv_sort(run, item, list, all.n, vug_arg_bool(run, arg[0], false));
    return vug_tv_seq(run, VUG_TV_LIST, item, all.n);
}

static vug_tv filter_dictsort(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const bool sensitive = vug_arg_bool(run, arg[0], false);
    const vug_tstr by = vug_given(arg[1]) ? vug_arg_string(run, arg[1]) : (vug_tstr){ "key", 3, 0 };
    const bool by_value = vug_str_is(vug_tstr_bytes(by), "value");
    if (!by_value && !vug_str_is(vug_tstr_bytes(by), "key"))
        return vug_run_fail(run, VUG_FORMAT, "You can only sort by either \"key\" or \"value\"");
    if (self.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, self);
    if (self.kind != VUG_TV_DICT)
        return vug_run_fail(run, VUG_FORMAT, "dictsort: '%s' object has no items",
                            vug_tv_type(self));
    const size_t n = self.dict->n;
    vug_tv *item = vug_run_alloc(run, n, sizeof(*item));
    vug_tv *key = vug_run_alloc(run, n, sizeof(*key));
    for (size_t i = 0; item && key && i < n; i++) {
        item[i] = vug_tv_pair(run, self.dict->key[i], self.dict->value[i]);
        key[i] = without_case(run, by_value ? self.dict->value[i] : self.dict->key[i], sensitive);
    }
    if (!item || !key || !vug_run_ok(run))
        return vug_tv_none();
    vug_tv_sort(run, item, key, n, vug_arg_bool(run, arg[2], false));
    return vug_tv_seq(run, VUG_TV_LIST, item, n);
}

static vug_tv filter_extreme(vug_run *run, vug_tv self, const vug_tv *arg, int max)
{
    const vug_tseq all = vug_tv_elements(run, self);
    const bool sensitive = vug_arg_bool(run, arg[0], false);
    if (all.n == 0)
        return vug_tv_undefined(run, "", vug_str_of("No aggregated item, sequence was empty."));
    const vug_tv *key = keys_of(run, all, arg[1], vug_tv_none(), sensitive);
    size_t best = 0;
    for (size_t i = 1; key && i < all.n && vug_run_spend(run, 1); i++) {
        const int order = vug_tv_compare(run, key[i], key[best], max ? ">" : "<");
        if (max ? order == 1 : order < 0)
            best = i;
    }
    return all.item[best];
}

static vug_tv filter_unique(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    vug_tlist out = { 0 };
    const vug_tseq all = vug_tv_elements(run, self);
    const vug_tv *key = keys_of(run, all, arg[1], vug_tv_none(), vug_arg_bool(run, arg[0], false));
    vug_tv *index = vug_run_alloc(run, all.n, sizeof(*index));
    bool *seen = vug_run_alloc(run, all.n, sizeof(*seen));
    if (!key || !index || !seen)
        return vug_tv_none();
    for (size_t i = 0; i < all.n; i++)
        index[i] = vug_tv_int((int64_t)i);
    vug_tv *key_copy = own_copy(run, (vug_tseq){ key, all.n, 0 });
    const vug_tv last = key_copy ? vug_tv_dict(run, key_copy, index, all.n) : vug_tv_none();
    for (size_t i = 0; i < all.n && vug_run_spend(run, 1); i++) {
        const vug_tv at = vug_tdict_get(run, last.dict, key[i]);
        if (!seen[at.i64])
            vug_tlist_add(run, &out, all.item[i]);
        seen[at.i64] = true;
    }
    return iterator(run, &out);
}

static vug_tv filter_groupby(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tseq all = vug_tv_elements(run, self);
    const bool sensitive = vug_arg_bool(run, arg[2], false);
    vug_tv *item = own_copy(run, all);
    const vug_tv *key = keys_of(run, all, arg[0], arg[1], sensitive);
    if (!item || !key || !vug_run_ok(run))
        return vug_tv_none();
    vug_tv_sort(run, item, key, all.n, false);
    key = keys_of(run, (vug_tseq){ item, all.n, 0 }, arg[0], arg[1], sensitive);
    vug_tlist out = { 0 };
    for (size_t from = 0, to; key && from < all.n && vug_run_ok(run); from = to) {
        for (to = from + 1; to < all.n && vug_tv_equal(run, key[from], key[to]);)
            to++;
        vug_tv group = vug_tv_pair(run, vug_tv_path(run, item[from], arg[0], arg[1]),
                                   vug_tv_seq(run, VUG_TV_LIST, item + from, to - from));
        group.named = true;
        vug_tlist_add(run, &out, group);
    }
    return vug_tv_seq(run, VUG_TV_LIST, out.item, out.n);
}

/* ---- sums and parts ------------------------------------------------------------------------------ */

static vug_tv filter_sum(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    vug_tv sum = vug_given(arg[1]) ? arg[1] : vug_tv_int(0);
    vug_titer it = vug_tv_iterate(run, self);
    for (vug_tv v; vug_titer_next(run, &it, &v);)
        sum = vug_tv_binary(run, '+', sum, vug_tv_path(run, v, arg[0], vug_tv_none()));
    return sum;
}

static vug_tv filled(vug_run *run, vug_tseq part, vug_tv with, size_t n)
{
    vug_tlist list = { 0 };
    for (size_t i = 0; i < part.n; i++)
        vug_tlist_add(run, &list, part.item[i]);
    while (list.n < n && vug_run_spend(run, 1))
        vug_tlist_add(run, &list, with);
    return vug_tv_seq(run, VUG_TV_LIST, list.item, list.n);
}

static vug_tv filter_batch(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tseq all = vug_tv_elements(run, self);
    const int64_t size = vug_arg_int(run, arg[0], 1);
    const size_t n = size > 0 ? (size_t)size : SIZE_MAX;
    vug_tlist out = { 0 };
    if (size == 0 && all.n > 0) /* what Python does: an empty one, then all */
        vug_tlist_add(run, &out, vug_tv_seq(run, VUG_TV_LIST, NULL, 0));
    for (size_t at = 0; at < all.n && vug_run_spend(run, 1);) {
        const size_t part = all.n - at < n ? all.n - at : n;
        const vug_tseq cut = { all.item + at, part, 0 };
        vug_tlist_add(run, &out,
                      filled(run, cut, arg[1], vug_given_some(arg[1]) && size > 0 ? n : part));
        at += part;
    }
    return iterator(run, &out);
}

static vug_tv filter_slice(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tseq all = vug_tv_elements(run, self);
    const int64_t slices = vug_arg_int(run, arg[0], 1);
    vug_tlist out = { 0 };
    if (slices == 0)
        return vug_run_fail(run, VUG_FORMAT, "integer division or modulo by zero");
    size_t at = 0;
    for (int64_t i = 0; i < slices && vug_run_spend(run, 1); i++) {
        const size_t each = all.n / (size_t)slices;
        const bool extra = (size_t)i < all.n % (size_t)slices;
        const vug_tseq cut = { all.item + at, each + extra, 0 };
        const bool fill = vug_given_some(arg[1]) && !extra;
        vug_tlist_add(run, &out, filled(run, cut, arg[1], each + extra + fill));
        at += each + extra;
    }
    return iterator(run, &out);
}

const vug_row vug_list_filters[] = {
    { "length", "", filter_length, 0 },
    { "count", "", filter_length, 0 },
    { "list", "", filter_list, 0 },
    { "first", "", filter_first, 0 },
    { "last", "", filter_last, 0 },
    { "join", "d? attribute?", filter_join, 0 },
    { "reverse", "", filter_reverse, 0 },
    { "attr", "name", filter_attr, 0 },
    { "items", "", filter_items, 0 },
    { "map", "* **", filter_map, 0 },
    { "select", "* **", filter_select, 0 },
    { "reject", "* **", filter_select, DROPS },
    { "selectattr", "* **", filter_select, OF_ATTRIBUTE },
    { "rejectattr", "* **", filter_select, DROPS | OF_ATTRIBUTE },
    { "sort", "reverse? case_sensitive? attribute?", filter_sort, 0 },
    { "dictsort", "case_sensitive? by? reverse?", filter_dictsort, 0 },
    { "min", "case_sensitive? attribute?", filter_extreme, 0 },
    { "max", "case_sensitive? attribute?", filter_extreme, 1 },
    { "unique", "case_sensitive? attribute?", filter_unique, 0 },
    { "groupby", "attribute default? case_sensitive?", filter_groupby, 0 },
    { "sum", "attribute? start?", filter_sum, 0 },
    { "batch", "linecount fill_with?", filter_batch, 0 },
    { "slice", "slices fill_with?", filter_slice, 0 },
    { NULL, NULL, NULL, 0 },
};
