/* Python's methods of strings, lists and dictionaries. Those that would change a value are
 * undefined, as in Jinja's sandbox; others without a function are refused by name. */

#include "text/template/builtins.h"
#include "text/template/template_operations.h"
#include "text/template/template_strings.h"
#include "text/unicode.h"

/* ---- strings -------------------------------------------------------------------------------- */

static vug_tmpl_value str_strip(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                int sides)
{
    vug_tmpl_str set = { "", 0, NULL };
    if (vug_tmpl_has_value(arg[0]))
        set = vug_tmpl_arg_string(run, arg[0]);
    return vug_tmpl_string(
            vug_tmpl_strip(run, self.str, vug_tmpl_has_value(arg[0]) ? &set : NULL, sides));
}

static vug_tmpl_value str_split(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                int from_right)
{
    vug_tmpl_str by = { "", 0, NULL };
    if (vug_tmpl_has_value(arg[0]))
        by = vug_tmpl_arg_string(run, arg[0]);
    const int64_t max = vug_tmpl_arg_int(run, arg[1], -1);
    if (!vug_tmpl_ok(run))
        return self;
    const vug_tmpl_str *sep = vug_tmpl_has_value(arg[0]) ? &by : NULL;
    return vug_tmpl_split(run, self.str, sep, max, from_right);
}

static vug_tmpl_value str_splitlines(vug_tmpl_run *run, vug_tmpl_value self,
                                     const vug_tmpl_value *arg, int data)
{
    (void)data;
    return vug_tmpl_split_lines(run, self.str, vug_tmpl_arg_bool(arg[0], false));
}

/* The part of a string that the arguments start and end select, in characters. */
static vug_tmpl_str slice_by_args(vug_tmpl_run *run, vug_tmpl_str s, const vug_tmpl_value *bound,
                                  size_t *start)
{
    const int64_t n = (int64_t)vug_tmpl_count_chars(run, s);
    int64_t at[2] = { vug_tmpl_arg_int(run, bound[0], 0), vug_tmpl_arg_int(run, bound[1], n) };
    for (int i = 0; i < 2; i++) {
        at[i] = at[i] < 0 ? (at[i] < -n ? 0 : at[i] + n) : at[i];
        if (i == 1 && at[i] > n)
            at[i] = n;
    }
    if (at[0] > at[1]) {
        *start = SIZE_MAX;
        return (vug_tmpl_str){ "", 0, NULL };
    }
    *start = (size_t)at[0];
    const size_t from = vug_tmpl_char_offset(run, s, (size_t)at[0]);
    const size_t to = vug_tmpl_char_offset(run, s, (size_t)at[1]);
    return vug_tmpl_substr(s, from, to);
}

static bool has_affix(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str with, bool at_end)
{
    if (with.len > s.len || !vug_tmpl_charge_bytes(run, with.len))
        return false;
    return with.len == 0 ||
           memcmp(s.ptr + (at_end ? s.len - with.len : 0), with.ptr, with.len) == 0;
}

static vug_tmpl_value str_begins(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int at_end)
{
    size_t start;
    const vug_tmpl_str s = slice_by_args(run, self.str, arg + 1, &start);
    if (start == SIZE_MAX)
        return vug_tmpl_bool(false);
    if (arg[0].kind != VUG_TMPL_TUPLE)
        return vug_tmpl_bool(has_affix(run, s, vug_tmpl_arg_string(run, arg[0]), at_end));
    for (size_t i = 0; i < arg[0].seq->n && vug_tmpl_charge(run, 1); i++) {
        if (has_affix(run, s, vug_tmpl_arg_string(run, arg[0].seq->item[i]), at_end))
            return vug_tmpl_bool(vug_tmpl_ok(run));
    }
    return vug_tmpl_bool(false);
}

/* find, rfind, index, rindex: search from the right; fail if not found. */
enum { FROM_RIGHT = 1, OR_FAIL = 2 };

static vug_tmpl_value str_find(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                               int data)
{
    size_t start;
    const vug_tmpl_str what = vug_tmpl_arg_string(run, arg[0]);
    const vug_tmpl_str s = slice_by_args(run, self.str, arg + 1, &start);
    size_t found = SIZE_MAX;
    if (start != SIZE_MAX)
        found = (data & FROM_RIGHT) ? vug_tmpl_find_last(run, s, what, s.len)
                                    : vug_tmpl_find(run, s, what, 0);
    if (found != SIZE_MAX)
        return vug_tmpl_int((int64_t)(start + vug_tmpl_char_index(run, s, found)));
    if (data & OR_FAIL)
        return vug_tmpl_fail(run, VUG_FORMAT, "substring not found");
    return vug_tmpl_int(-1);
}

static vug_tmpl_value str_count(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                int data)
{
    (void)data;
    size_t start;
    const vug_tmpl_str what = vug_tmpl_arg_string(run, arg[0]);
    const vug_tmpl_str s = slice_by_args(run, self.str, arg + 1, &start);
    if (start == SIZE_MAX)
        return vug_tmpl_int(0);
    if (what.len == 0)
        return vug_tmpl_int((int64_t)vug_tmpl_count_chars(run, s) + 1);
    int64_t n = 0;
    for (size_t at = 0; vug_tmpl_charge(run, 1); n++) {
        at = vug_tmpl_find(run, s, what, at);
        if (at == SIZE_MAX)
            break;
        at += what.len;
    }
    return vug_tmpl_int(n);
}

static vug_tmpl_value str_replace(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)data;
    const vug_tmpl_str old = vug_tmpl_arg_string(run, arg[0]);
    const vug_tmpl_str by = vug_tmpl_arg_string(run, arg[1]);
    const int64_t count = vug_tmpl_arg_int(run, arg[2], -1);
    if (!vug_tmpl_ok(run))
        return self;
    return vug_tmpl_replace(run, self.str, old, by, count);
}

static vug_tmpl_value str_case(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                               int how)
{
    (void)arg;
    return vug_tmpl_change_case(run, self.str, (vug_tmpl_case)how);
}

static vug_tmpl_value str_join(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                               int data)
{
    (void)data;
    const vug_tmpl_seq parts = vug_tmpl_elements(run, arg[0]);
    return vug_tmpl_ok(run) ? vug_tmpl_join(run, self, parts) : self;
}

static vug_tmpl_value str_format(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)data;
    return vug_tmpl_format_braces(run, self.str, *arg[0].seq, arg[1].dict);
}

static vug_tmpl_value str_without(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int at_end)
{
    const vug_tmpl_str part = vug_tmpl_arg_string(run, arg[0]);
    const vug_tmpl_str s = self.str;
    if (!has_affix(run, s, part, at_end) || part.len == 0)
        return self;
    return vug_tmpl_string(at_end ? vug_tmpl_substr(s, 0, s.len - part.len)
                                  : vug_tmpl_substr(s, part.len, s.len));
}

static vug_tmpl_value str_partition(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_value *arg, int from_right)
{
    const vug_tmpl_str by = vug_tmpl_arg_string(run, arg[0]);
    const vug_tmpl_str s = self.str;
    if (by.len == 0)
        return vug_tmpl_fail(run, VUG_FORMAT, "empty separator");
    vug_tmpl_value *part = vug_tmpl_alloc(run, 3, sizeof(*part));
    if (!part)
        return vug_tmpl_none();
    const size_t at =
            from_right ? vug_tmpl_find_last(run, s, by, s.len) : vug_tmpl_find(run, s, by, 0);
    const bool found = at != SIZE_MAX;
    for (int i = 0; i < 3; i++)
        part[i] = vug_tmpl_text("");
    if (found) {
        part[0] = vug_tmpl_string(vug_tmpl_substr(s, 0, at));
        part[1] = vug_tmpl_string(by);
        part[2] = vug_tmpl_string(vug_tmpl_substr(s, at + by.len, s.len));
    } else {
        part[from_right ? 2 : 0] = self;
    }
    return vug_tmpl_new_seq(run, VUG_TMPL_TUPLE, part, 3);
}

/* Whether the string is not empty and all its characters are of the classes. */
static vug_tmpl_value str_all(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                              int classes)
{
    (void)arg;
    const vug_tmpl_str s = self.str;
    for (size_t at = 0; at < s.len && vug_tmpl_charge(run, 1);) {
        uint32_t cp;
        at += vug_tmpl_decode_char(s, at, &cp);
        if (!(vug_char_class(cp) & (unsigned)classes))
            return vug_tmpl_bool(false);
    }
    return vug_tmpl_bool(s.len > 0);
}

static vug_tmpl_value str_isspace(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)arg, (void)data;
    return vug_tmpl_bool(self.str.len > 0 &&
                         vug_tmpl_strip(run, self.str, NULL, VUG_TMPL_STRIP_LEFT).len == 0);
}

static const vug_tmpl_builtin string_methods[] = {
    { "strip", "chars?", str_strip, VUG_TMPL_STRIP_LEFT | VUG_TMPL_STRIP_RIGHT },
    { "lstrip", "chars?", str_strip, VUG_TMPL_STRIP_LEFT },
    { "rstrip", "chars?", str_strip, VUG_TMPL_STRIP_RIGHT },
    { "split", "sep? maxsplit?", str_split, 0 },
    { "rsplit", "sep? maxsplit?", str_split, 1 },
    { "splitlines", "keepends?", str_splitlines, 0 },
    { "startswith", "prefix start? end?", str_begins, 0 },
    { "endswith", "suffix start? end?", str_begins, 1 },
    { "find", "sub start? end?", str_find, 0 },
    { "rfind", "sub start? end?", str_find, FROM_RIGHT },
    { "index", "sub start? end?", str_find, OR_FAIL },
    { "rindex", "sub start? end?", str_find, FROM_RIGHT | OR_FAIL },
    { "count", "sub start? end?", str_count, 0 },
    { "replace", "old new count?", str_replace, 0 },
    { "upper", "", str_case, VUG_TMPL_CASE_UPPER },
    { "lower", "", str_case, VUG_TMPL_CASE_LOWER },
    { "title", "", str_case, VUG_TMPL_CASE_TITLE },
    { "capitalize", "", str_case, VUG_TMPL_CASE_CAPITAL },
    { "join", "iterable", str_join, 0 },
    { "format", "* **", str_format, 0 },
    { "removeprefix", "prefix", str_without, 0 },
    { "removesuffix", "suffix", str_without, 1 },
    { "partition", "sep", str_partition, 0 },
    { "rpartition", "sep", str_partition, 1 },
    { "isalpha", "", str_all, VUG_CHAR_LETTER },
    { "isdigit", "", str_all, VUG_CHAR_DECIMAL },
    { "isalnum", "", str_all, VUG_CHAR_LETTER | VUG_CHAR_NUMBER },
    { "isspace", "", str_isspace, 0 },
    { "casefold", "", NULL, 0 },
    { "center", "", NULL, 0 },
    { "encode", "", NULL, 0 },
    { "expandtabs", "", NULL, 0 },
    { "format_map", "", NULL, 0 },
    { "isascii", "", NULL, 0 },
    { "isdecimal", "", NULL, 0 },
    { "isidentifier", "", NULL, 0 },
    { "islower", "", NULL, 0 },
    { "isnumeric", "", NULL, 0 },
    { "isprintable", "", NULL, 0 },
    { "istitle", "", NULL, 0 },
    { "isupper", "", NULL, 0 },
    { "ljust", "", NULL, 0 },
    { "maketrans", "", NULL, 0 },
    { "rjust", "", NULL, 0 },
    { "swapcase", "", NULL, 0 },
    { "translate", "", NULL, 0 },
    { "zfill", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};

/* ---- lists and dictionaries ---------------------------------------------------------------- */

static vug_tmpl_value list_index(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)data;
    const vug_tmpl_seq all = vug_tmpl_elements(run, self);
    const int64_t n = (int64_t)all.n;
    int64_t from = vug_tmpl_arg_int(run, arg[1], 0);
    int64_t to = vug_tmpl_arg_int(run, arg[2], n);
    from = from < 0 ? (from < -n ? 0 : from + n) : from;
    to = to < 0 ? to + n : to > n ? n : to;
    for (int64_t i = from; i < to && vug_tmpl_charge(run, 1); i++) {
        if (vug_tmpl_equal(run, all.item[i], arg[0]))
            return vug_tmpl_int(i);
    }
    return vug_tmpl_fail(run, VUG_FORMAT, "the value is not in the list");
}

static vug_tmpl_value list_count(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)data;
    int64_t n = 0;
    const vug_tmpl_seq all = vug_tmpl_elements(run, self);
    for (size_t i = 0; i < all.n && vug_tmpl_charge(run, 1); i++)
        n += vug_tmpl_equal(run, all.item[i], arg[0]);
    return vug_tmpl_int(n);
}

static vug_tmpl_value return_self(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)run, (void)arg, (void)data;
    return self;
}

static const vug_tmpl_builtin list_methods[] = {
    { "index", "value start? end?", list_index, 0 },
    { "count", "value", list_count, 0 },
    { "copy", "", return_self, 0 },
    { "append", NULL, NULL, 0 },
    { "clear", NULL, NULL, 0 },
    { "extend", NULL, NULL, 0 },
    { "insert", NULL, NULL, 0 },
    { "pop", NULL, NULL, 0 },
    { "remove", NULL, NULL, 0 },
    { "reverse", NULL, NULL, 0 },
    { "sort", NULL, NULL, 0 },
    { NULL, NULL, NULL, 0 },
};

static const vug_tmpl_builtin range_methods[] = {
    { "index", "value", list_index, 0 },
    { "count", "value", list_count, 0 },
    { NULL, NULL, NULL, 0 },
};

static vug_tmpl_value dict_get(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                               int data)
{
    (void)data;
    const vug_tmpl_value v = vug_tmpl_dict_get(run, self.dict, arg[0]);
    if (v.kind != VUG_TMPL_ABSENT)
        return v;
    return vug_tmpl_is_given(arg[1]) ? arg[1] : vug_tmpl_none();
}

static vug_tmpl_value dict_view(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                int what)
{
    (void)arg;
    const vug_tmpl_dict *dict = self.dict;
    const vug_tmpl_value *of = what == VUG_TMPL_VIEW_KEYS ? dict->key : dict->value;
    if (what == VUG_TMPL_VIEW_ITEMS) {
        vug_tmpl_value *item = vug_tmpl_alloc(run, dict->n, sizeof(*item));
        for (size_t i = 0; item && i < dict->n && vug_tmpl_charge(run, 1); i++)
            item[i] = vug_tmpl_new_pair(run, dict->key[i], dict->value[i]);
        of = item;
    }
    const vug_tmpl_value view = vug_tmpl_new_seq(run, VUG_TMPL_VIEW, of, dict->n);
    if (vug_tmpl_ok(run))
        view.seq->at = (size_t)what;
    return view;
}

static const vug_tmpl_builtin dict_methods[] = {
    { "get", "key default?", dict_get, 0 },
    { "keys", "", dict_view, VUG_TMPL_VIEW_KEYS },
    { "values", "", dict_view, VUG_TMPL_VIEW_VALUES },
    { "items", "", dict_view, VUG_TMPL_VIEW_ITEMS },
    { "copy", "", return_self, 0 },
    { "clear", NULL, NULL, 0 },
    { "pop", NULL, NULL, 0 },
    { "popitem", NULL, NULL, 0 },
    { "setdefault", NULL, NULL, 0 },
    { "update", NULL, NULL, 0 },
    { "fromkeys", NULL, NULL, 0 },
    { NULL, NULL, NULL, 0 },
};

static const vug_tmpl_builtin loop_methods[] = {
    { "changed", "", NULL, 0 },
    { "cycle", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};

const vug_tmpl_builtin *vug_tmpl_find_method(vug_tmpl_kind kind, vug_str name)
{
    switch (kind) {
    case VUG_TMPL_STRING:
        return vug_tmpl_find_builtin(string_methods, name);
    case VUG_TMPL_LIST:
    case VUG_TMPL_TUPLE:
        return vug_tmpl_find_builtin(list_methods, name);
    case VUG_TMPL_RANGE:
        return vug_tmpl_find_builtin(range_methods, name);
    case VUG_TMPL_DICT:
        return vug_tmpl_find_builtin(dict_methods, name);
    case VUG_TMPL_LOOP:
        return vug_tmpl_find_builtin(loop_methods, name);
    default:
        return NULL;
    }
}
