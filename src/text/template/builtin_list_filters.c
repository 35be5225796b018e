/* Filters over the elements of a value (jinja2/filters.py). Generators are computed at once, but
 * can be iterated only once, as in Jinja. */

#include "text/template/builtins.h"
#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

static vug_tmpl_value filter_length(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_value *arg, int data)
{
    (void)arg, (void)data;
    size_t n;
    if (!vug_tmpl_length(run, self, &n))
        return vug_tmpl_fail(run, VUG_FORMAT, "object of type '%s' has no len()",
                             vug_tmpl_type_name(self));
    return vug_tmpl_int((int64_t)n);
}

static vug_tmpl_value filter_list(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)arg, (void)data;
    const vug_tmpl_seq all = vug_tmpl_elements(run, self);
    return vug_tmpl_new_seq(run, VUG_TMPL_LIST, all.item, all.n);
}

static vug_tmpl_value filter_first(vug_tmpl_run *run, vug_tmpl_value self,
                                   const vug_tmpl_value *arg, int data)
{
    (void)arg, (void)data;
    vug_tmpl_value v;
    vug_tmpl_iter it = vug_tmpl_iterate(run, self);
    if (vug_tmpl_iter_next(run, &it, &v))
        return v;
    return vug_tmpl_undefined(run, "", vug_str_of("No first item, sequence was empty."));
}

static vug_tmpl_value filter_last(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)arg, (void)data;
    if (self.kind == VUG_TMPL_ITERATOR)
        return vug_tmpl_fail(run, VUG_FORMAT, "'generator' object is not reversible");
    const vug_tmpl_seq all = vug_tmpl_elements(run, self);
    if (all.n > 0)
        return all.item[all.n - 1];
    return vug_tmpl_undefined(run, "", vug_str_of("No last item, sequence was empty."));
}

static vug_tmpl_value filter_join(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)data;
    vug_tmpl_value by =
            vug_tmpl_is_given(arg[0]) ? vug_tmpl_to_str(run, arg[0]) : vug_tmpl_text("");
    vug_tmpl_list parts = { 0 };
    vug_tmpl_iter it = vug_tmpl_iterate(run, self);
    for (vug_tmpl_value v; vug_tmpl_iter_next(run, &it, &v);) {
        v = vug_tmpl_to_str(run, vug_tmpl_get_path(run, v, arg[1], vug_tmpl_none()));
        vug_tmpl_list_append(run, &parts, v);
    }
    return vug_tmpl_ok(run) ? vug_tmpl_join(run, by, (vug_tmpl_seq){ parts.item, parts.n, 0 }) : by;
}

static vug_tmpl_value filter_reverse(vug_tmpl_run *run, vug_tmpl_value self,
                                     const vug_tmpl_value *arg, int data)
{
    (void)arg, (void)data;
    if (vug_tmpl_is_string(self))
        return vug_tmpl_get_slice(run, self,
                                  (const vug_tmpl_value[]){ { 0 }, { 0 }, vug_tmpl_int(-1) });
    const vug_tmpl_seq all = vug_tmpl_elements(run, self);
    vug_tmpl_value *item = vug_tmpl_alloc(run, all.n, sizeof(*item));
    for (size_t i = 0; item && i < all.n; i++)
        item[i] = all.item[all.n - 1 - i];
    const vug_tmpl_kind kind = self.kind == VUG_TMPL_ITERATOR ? VUG_TMPL_LIST : VUG_TMPL_ITERATOR;
    return item ? vug_tmpl_new_seq(run, kind, item, all.n) : vug_tmpl_none();
}

static vug_tmpl_value filter_attr(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)data;
    const vug_str name = vug_tmpl_str_bytes(vug_tmpl_arg_string(run, arg[0]));
    if (self.kind == VUG_TMPL_DICT && !vug_tmpl_find_method(VUG_TMPL_DICT, name))
        return vug_tmpl_undefined(run, vug_tmpl_object_name(self), name);
    return vug_tmpl_get_attr(run, self, name);
}

static vug_tmpl_value filter_items(vug_tmpl_run *run, vug_tmpl_value self,
                                   const vug_tmpl_value *arg, int data)
{
    (void)arg, (void)data;
    vug_tmpl_list list = { 0 };
    if (self.kind != VUG_TMPL_DICT && self.kind != VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail(run, VUG_FORMAT, "Can only get item pairs from a mapping.");
    for (size_t i = 0; self.kind == VUG_TMPL_DICT && i < self.dict->n && vug_tmpl_charge(run, 1);
         i++)
        vug_tmpl_list_append(run, &list,
                             vug_tmpl_new_pair(run, self.dict->key[i], self.dict->value[i]));
    return vug_tmpl_new_iterator(run, &list);
}

/* ---- order ------------------------------------------------------------------------------------ */

/* The value to compare: strings in lower case, unless `sensitive`. */
static vug_tmpl_value fold_case(vug_tmpl_run *run, vug_tmpl_value v, bool sensitive)
{
    return vug_tmpl_is_string(v) && !sensitive
                   ? vug_tmpl_change_case(run, v.str, VUG_TMPL_CASE_LOWER)
                   : v;
}

/* The key of an element. A path "a,b" gives a tuple of both. */
static vug_tmpl_value sort_key(vug_tmpl_run *run, vug_tmpl_value v, vug_tmpl_value path,
                               bool sensitive)
{
    const vug_tmpl_str comma = { ",", 1, NULL };
    if (!vug_tmpl_is_string(path) || vug_tmpl_find(run, path.str, comma, 0) == SIZE_MAX)
        return fold_case(run, vug_tmpl_get_path(run, v, path, vug_tmpl_none()), sensitive);
    const vug_tmpl_value parts = vug_tmpl_split(run, path.str, &comma, -1, false);
    vug_tmpl_list key = { 0 };
    for (size_t i = 0; vug_tmpl_ok(run) && i < parts.seq->n; i++)
        vug_tmpl_list_append(run, &key, sort_key(run, v, parts.seq->item[i], sensitive));
    return vug_tmpl_new_seq(run, VUG_TMPL_TUPLE, key.item, key.n);
}

/* The keys of all elements. */
static vug_tmpl_value *sort_keys_of(vug_tmpl_run *run, vug_tmpl_seq all, vug_tmpl_value path,
                                    vug_tmpl_value otherwise, bool sensitive)
{
    vug_tmpl_value *key = vug_tmpl_alloc(run, all.n, sizeof(*key));
    for (size_t i = 0; key && i < all.n && vug_tmpl_charge(run, 1); i++)
        key[i] = vug_tmpl_has_value(otherwise)
                         ? fold_case(run, vug_tmpl_get_path(run, all.item[i], path, otherwise),
                                     sensitive)
                         : sort_key(run, all.item[i], path, sensitive);
    return key;
}

static vug_tmpl_value *copy_items(vug_tmpl_run *run, vug_tmpl_seq all)
{
    vug_tmpl_value *item = vug_tmpl_alloc(run, all.n, sizeof(*item));
    if (item && all.n)
        memcpy(item, all.item, all.n * sizeof(*item));
    return item;
}

static vug_tmpl_value filter_sort(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)data;
    const vug_tmpl_seq all = vug_tmpl_elements(run, self);
    const bool sensitive = vug_tmpl_arg_bool(arg[1], false);
    vug_tmpl_value *item = copy_items(run, all);
    const vug_tmpl_value *key = sort_keys_of(run, all, arg[2], vug_tmpl_none(), sensitive);
    if (!item || !key || !vug_tmpl_ok(run))
        return vug_tmpl_none();
    /* Comparing lists of one key lets equal keys of a type without an order pass, as in Python. */
    vug_tmpl_value *list = vug_tmpl_alloc(run, all.n, sizeof(*list));
    for (size_t i = 0; list && i < all.n; i++)
        list[i] = vug_tmpl_new_seq(run, VUG_TMPL_LIST, &key[i], 1);
    if (list && vug_tmpl_ok(run))
        vug_tmpl_sort(run, item, list, all.n, vug_tmpl_arg_bool(arg[0], false));
    return vug_tmpl_new_seq(run, VUG_TMPL_LIST, item, all.n);
}

static vug_tmpl_value filter_dictsort(vug_tmpl_run *run, vug_tmpl_value self,
                                      const vug_tmpl_value *arg, int data)
{
    (void)data;
    const bool sensitive = vug_tmpl_arg_bool(arg[0], false);
    const vug_tmpl_str by = vug_tmpl_is_given(arg[1]) ? vug_tmpl_arg_string(run, arg[1])
                                                      : (vug_tmpl_str){ "key", 3, 0 };
    const bool by_value = vug_str_is(vug_tmpl_str_bytes(by), "value");
    if (!by_value && !vug_str_is(vug_tmpl_str_bytes(by), "key"))
        return vug_tmpl_fail(run, VUG_FORMAT, "You can only sort by either \"key\" or \"value\"");
    if (self.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, self);
    if (self.kind != VUG_TMPL_DICT)
        return vug_tmpl_fail(run, VUG_FORMAT, "dictsort: '%s' object has no items",
                             vug_tmpl_type_name(self));
    const size_t n = self.dict->n;
    vug_tmpl_value *item = vug_tmpl_alloc(run, n, sizeof(*item));
    vug_tmpl_value *key = vug_tmpl_alloc(run, n, sizeof(*key));
    for (size_t i = 0; item && key && i < n; i++) {
        item[i] = vug_tmpl_new_pair(run, self.dict->key[i], self.dict->value[i]);
        key[i] = fold_case(run, by_value ? self.dict->value[i] : self.dict->key[i], sensitive);
    }
    if (!item || !key || !vug_tmpl_ok(run))
        return vug_tmpl_none();
    vug_tmpl_sort(run, item, key, n, vug_tmpl_arg_bool(arg[2], false));
    return vug_tmpl_new_seq(run, VUG_TMPL_LIST, item, n);
}

static vug_tmpl_value filter_extreme(vug_tmpl_run *run, vug_tmpl_value self,
                                     const vug_tmpl_value *arg, int max)
{
    const vug_tmpl_seq all = vug_tmpl_elements(run, self);
    const bool sensitive = vug_tmpl_arg_bool(arg[0], false);
    if (all.n == 0)
        return vug_tmpl_undefined(run, "", vug_str_of("No aggregated item, sequence was empty."));
    const vug_tmpl_value *key = sort_keys_of(run, all, arg[1], vug_tmpl_none(), sensitive);
    size_t best = 0;
    for (size_t i = 1; key && i < all.n && vug_tmpl_charge(run, 1); i++) {
        const int order = vug_tmpl_compare(run, key[i], key[best], max ? ">" : "<");
        if (max ? order == 1 : order < 0)
            best = i;
    }
    return all.item[best];
}

static vug_tmpl_value filter_unique(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_value *arg, int data)
{
    (void)data;
    vug_tmpl_list out = { 0 };
    const vug_tmpl_seq all = vug_tmpl_elements(run, self);
    const vug_tmpl_value *key =
            sort_keys_of(run, all, arg[1], vug_tmpl_none(), vug_tmpl_arg_bool(arg[0], false));
    vug_tmpl_value *index = vug_tmpl_alloc(run, all.n, sizeof(*index));
    bool *seen = vug_tmpl_alloc(run, all.n, sizeof(*seen));
    if (!key || !index || !seen)
        return vug_tmpl_none();
    for (size_t i = 0; i < all.n; i++)
        index[i] = vug_tmpl_int((int64_t)i);
    vug_tmpl_value *key_copy = copy_items(run, (vug_tmpl_seq){ key, all.n, 0 });
    const vug_tmpl_value last =
            key_copy ? vug_tmpl_new_dict(run, key_copy, index, all.n) : vug_tmpl_none();
    for (size_t i = 0; i < all.n && vug_tmpl_charge(run, 1); i++) {
        const vug_tmpl_value at = vug_tmpl_dict_get(run, last.dict, key[i]);
        if (!seen[at.i64])
            vug_tmpl_list_append(run, &out, all.item[i]);
        seen[at.i64] = true;
    }
    return vug_tmpl_new_iterator(run, &out);
}

/* ---- sums and parts ------------------------------------------------------------------------------ */

static vug_tmpl_value filter_sum(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)data;
    vug_tmpl_value sum = vug_tmpl_is_given(arg[1]) ? arg[1] : vug_tmpl_int(0);
    vug_tmpl_iter it = vug_tmpl_iterate(run, self);
    for (vug_tmpl_value v; vug_tmpl_iter_next(run, &it, &v);)
        sum = vug_tmpl_binary(run, '+', sum, vug_tmpl_get_path(run, v, arg[0], vug_tmpl_none()));
    return sum;
}

const vug_tmpl_builtin vug_tmpl_list_filters[] = {
    { "length", "", filter_length, 0 },
    { "count", "", filter_length, 0 },
    { "list", "", filter_list, 0 },
    { "first", "", filter_first, 0 },
    { "last", "", filter_last, 0 },
    { "join", "d? attribute?", filter_join, 0 },
    { "reverse", "", filter_reverse, 0 },
    { "attr", "name", filter_attr, 0 },
    { "items", "", filter_items, 0 },
    { "sort", "reverse? case_sensitive? attribute?", filter_sort, 0 },
    { "dictsort", "case_sensitive? by? reverse?", filter_dictsort, 0 },
    { "min", "case_sensitive? attribute?", filter_extreme, 0 },
    { "max", "case_sensitive? attribute?", filter_extreme, 1 },
    { "unique", "case_sensitive? attribute?", filter_unique, 0 },
    { "sum", "attribute? start?", filter_sum, 0 },
    { "batch", "", NULL, 0 },
    { "groupby", "", NULL, 0 },
    { "slice", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};
