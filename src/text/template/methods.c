/* Methods of strings, lists and dictionaries, as Python has them. Rows without a function
 * are what the sandbox hides, because it would change a value, or what vug refuses: both
 * are undefined, and calling them fails with the name. */

#include "text/template/rows.h"
#include "text/template/text.h"
#include "text/unicode.h"

static vug_tv like(vug_tv self, vug_tstr s)
{
    vug_tv out = vug_tv_string(s);
    out.safe = self.safe;
    return out;
}

/* The pieces of markup are markup. */
static vug_tv pieces_like(vug_run *run, vug_tv self, vug_tv list)
{
    if (!self.safe || !vug_run_ok(run))
        return list;
    vug_tlist out = { 0 };
    for (size_t i = 0; i < list.seq->n && vug_run_ok(run); i++)
        vug_tlist_add(run, &out, like(self, list.seq->item[i].str));
    return vug_tv_seq(run, VUG_TV_LIST, out.item, out.n);
}

/* ---- strings -------------------------------------------------------------------------------- */

static vug_tv str_strip(vug_run *run, vug_tv self, const vug_tv *arg, int sides)
{
    vug_tstr set = { "", 0, NULL };
    if (vug_given_some(arg[0]))
        set = vug_arg_string(run, arg[0]);
    return like(self, vug_tstr_strip(run, self.str, vug_given_some(arg[0]) ? &set : NULL, sides));
}

static vug_tv str_split(vug_run *run, vug_tv self, const vug_tv *arg, int from_right)
{
    vug_tstr by = { "", 0, NULL };
    if (vug_given_some(arg[0]))
        by = vug_arg_string(run, arg[0]);
    const int64_t max = vug_arg_int(run, arg[1], -1);
    if (!vug_run_ok(run))
        return self;
    const vug_tstr *sep = vug_given_some(arg[0]) ? &by : NULL;
    return pieces_like(run, self, vug_tstr_split(run, self.str, sep, max, from_right));
}

static vug_tv str_splitlines(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    return pieces_like(run, self, vug_tstr_lines(run, self.str, vug_arg_bool(run, arg[0], false)));
}

/* The part of a string that a method's start and end name, in characters. */
static vug_tstr window(vug_run *run, vug_tstr s, const vug_tv *bound, size_t *start)
{
    const int64_t n = (int64_t)vug_tstr_chars(run, s);
    int64_t at[2] = { vug_arg_int(run, bound[0], 0), vug_arg_int(run, bound[1], n) };
    for (int i = 0; i < 2; i++) {
        at[i] = at[i] < 0 ? (at[i] < -n ? 0 : at[i] + n) : at[i];
        if (i == 1 && at[i] > n)
            at[i] = n;
    }
    if (at[0] > at[1]) {
        *start = SIZE_MAX;
        return (vug_tstr){ "", 0, NULL };
    }
    *start = (size_t)at[0];
    const size_t from = vug_tstr_offset(run, s, (size_t)at[0]);
    const size_t to = vug_tstr_offset(run, s, (size_t)at[1]);
    return vug_tstr_cut(s, from, to);
}

static bool begins(vug_run *run, vug_tstr s, vug_tstr with, bool at_end)
{
    if (with.len > s.len || !vug_run_spend_bytes(run, with.len))
        return false;
    return with.len == 0 ||
           memcmp(s.ptr + (at_end ? s.len - with.len : 0), with.ptr, with.len) == 0;
}

static vug_tv str_begins(vug_run *run, vug_tv self, const vug_tv *arg, int at_end)
{
    size_t start;
    const vug_tstr s = window(run, self.str, arg + 1, &start);
    if (start == SIZE_MAX)
        return vug_tv_bool(false);
    if (arg[0].kind != VUG_TV_TUPLE)
        return vug_tv_bool(begins(run, s, vug_arg_string(run, arg[0]), at_end));
    for (size_t i = 0; i < arg[0].seq->n && vug_run_spend(run, 1); i++) {
        if (begins(run, s, vug_arg_string(run, arg[0].seq->item[i]), at_end))
            return vug_tv_bool(vug_run_ok(run));
    }
    return vug_tv_bool(false);
}

/* find and its kind: from the right; a failure where there is nothing. */
enum { FROM_RIGHT = 1, OR_FAIL = 2 };

static vug_tv str_find(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    size_t start;
    const vug_tstr what = vug_arg_string(run, arg[0]);
    const vug_tstr s = window(run, self.str, arg + 1, &start);
    size_t found = SIZE_MAX;
    if (start != SIZE_MAX)
        found = (data & FROM_RIGHT) ? vug_tstr_find_last(run, s, what, s.len)
                                    : vug_tstr_find(run, s, what, 0);
    if (found != SIZE_MAX)
        return vug_tv_int((int64_t)(start + vug_tstr_index(run, s, found)));
    if (data & OR_FAIL)
        return vug_run_fail(run, VUG_FORMAT, "substring not found");
    return vug_tv_int(-1);
}

static vug_tv str_count(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    size_t start;
    const vug_tstr what = vug_arg_string(run, arg[0]);
    const vug_tstr s = window(run, self.str, arg + 1, &start);
    if (start == SIZE_MAX)
        return vug_tv_int(0);
    if (what.len == 0)
        return vug_tv_int((int64_t)vug_tstr_chars(run, s) + 1);
    int64_t n = 0;
    for (size_t at = 0; vug_run_spend(run, 1); n++) {
        at = vug_tstr_find(run, s, what, at);
        if (at == SIZE_MAX)
            break;
        at += what.len;
    }
    return vug_tv_int(n);
}

static vug_tv str_replace(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    vug_tv by = arg[1];
    const vug_tstr old = vug_arg_string(run, arg[0]);
    (void)vug_arg_string(run, by);
    const int64_t count = vug_arg_int(run, arg[2], -1);
    if (!vug_run_ok(run))
        return self;
    if (self.safe && !by.safe) {
        const size_t from = vug_make(run);
        vug_put_escaped(run, by.str);
        by = vug_made(run, from);
    }
    return like(self, vug_tstr_replace(run, self.str, old, by.str, count).str);
}

static vug_tv str_case(vug_run *run, vug_tv self, const vug_tv *arg, int how)
{
    (void)arg;
    return like(self, vug_tstr_case(run, self.str, (vug_case)how).str);
}

static vug_tv str_join(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tseq parts = vug_tv_elements(run, arg[0]);
    return vug_run_ok(run) ? vug_tstr_join(run, self, parts) : self;
}

static vug_tv str_format(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    return like(self, vug_tstr_format(run, self.str, *arg[0].seq, arg[1].dict).str);
}

static vug_tv str_without(vug_run *run, vug_tv self, const vug_tv *arg, int at_end)
{
    const vug_tstr part = vug_arg_string(run, arg[0]);
    const vug_tstr s = self.str;
    if (!begins(run, s, part, at_end) || part.len == 0)
        return self;
    return like(self,
                at_end ? vug_tstr_cut(s, 0, s.len - part.len) : vug_tstr_cut(s, part.len, s.len));
}

static vug_tv str_partition(vug_run *run, vug_tv self, const vug_tv *arg, int from_right)
{
    const vug_tstr by = vug_arg_string(run, arg[0]);
    const vug_tstr s = self.str;
    if (by.len == 0)
        return vug_run_fail(run, VUG_FORMAT, "empty separator");
    vug_tv *part = vug_run_alloc(run, 3, sizeof(*part));
    if (!part)
        return vug_tv_none();
    const size_t at =
            from_right ? vug_tstr_find_last(run, s, by, s.len) : vug_tstr_find(run, s, by, 0);
    const bool found = at != SIZE_MAX;
    for (int i = 0; i < 3; i++)
        part[i] = vug_tv_text("");
    if (found) {
        part[0] = like(self, vug_tstr_cut(s, 0, at));
        part[1] = like(self, by);
        part[2] = like(self, vug_tstr_cut(s, at + by.len, s.len));
    } else {
        part[from_right ? 2 : 0] = self;
    }
    return vug_tv_seq(run, VUG_TV_TUPLE, part, 3);
}

enum { TO_LEFT, TO_RIGHT, TO_CENTER, ZERO_FILL };

static vug_tv str_pad(vug_run *run, vug_tv self, const vug_tv *arg, int how)
{
    vug_tstr fill = { how == ZERO_FILL ? "0" : " ", 1, NULL };
    const int64_t width = vug_arg_int(run, arg[0], 0);
    const int64_t n = (int64_t)vug_tstr_chars(run, self.str);
    if (vug_given(arg[1]))
        fill = vug_arg_string(run, arg[1]);
    if (vug_tstr_chars(run, fill) != 1)
        return vug_run_fail(run, VUG_FORMAT,
                            "The fill character must be exactly one character long");
    if (width <= n)
        return self;
    const int64_t pad = width - n;
    const int64_t left = how == TO_LEFT ? 0 : how == TO_CENTER ? pad / 2 + (pad & width & 1) : pad;
    const bool sign = how == ZERO_FILL && n > 0 && strchr("+-", self.str.ptr[0]) && self.str.ptr[0];
    const size_t from = vug_make(run);
    vug_put(run, vug_tstr_cut(self.str, 0, sign));
    vug_put_repeated(run, fill, left);
    vug_put(run, vug_tstr_cut(self.str, sign, self.str.len));
    vug_put_repeated(run, fill, pad - left);
    return like(self, vug_made(run, from).str);
}

/* Whether all characters are of a class, and there is one. */
static vug_tv str_all(vug_run *run, vug_tv self, const vug_tv *arg, int classes)
{
    (void)arg;
    const vug_tstr s = self.str;
    for (size_t at = 0; at < s.len && vug_run_spend(run, 1);) {
        uint32_t cp;
        at += vug_tstr_char(s, at, &cp);
        if (!(vug_char_class(cp) & (unsigned)classes))
            return vug_tv_bool(false);
    }
    return vug_tv_bool(s.len > 0 || classes == VUG_CHAR_PRINTED);
}

static vug_tv str_isspace(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    return vug_tv_bool(self.str.len > 0 &&
                       vug_tstr_strip(run, self.str, NULL, VUG_STRIP_LEFT).len == 0);
}

static vug_tv str_isascii(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    return vug_tv_bool(vug_tstr_chars(run, self.str) == self.str.len);
}

/* Some letter of the case, and none of the other. */
static vug_tv str_iscase(vug_run *run, vug_tv self, const vug_tv *arg, int upper)
{
    (void)arg;
    const unsigned wanted = upper ? VUG_CHAR_UPPER : VUG_CHAR_LOWER;
    const unsigned other = VUG_CHAR_TITLE | (upper ? VUG_CHAR_LOWER : VUG_CHAR_UPPER);
    bool some = false;
    for (size_t at = 0; at < self.str.len && vug_run_spend(run, 1);) {
        uint32_t cp;
        at += vug_tstr_char(self.str, at, &cp);
        const unsigned class = vug_char_class(cp);
        if (class & other)
            return vug_tv_bool(false);
        some |= (class & wanted) != 0;
    }
    return vug_tv_bool(some);
}

static vug_tv str_istitle(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    bool some = false;
    bool in_word = false;
    for (size_t at = 0; at < self.str.len && vug_run_spend(run, 1);) {
        uint32_t cp;
        at += vug_tstr_char(self.str, at, &cp);
        const unsigned class = vug_char_class(cp);
        const bool upper = class & (VUG_CHAR_UPPER | VUG_CHAR_TITLE);
        if ((upper && in_word) || ((class & VUG_CHAR_LOWER) && !in_word))
            return vug_tv_bool(false);
        in_word = upper || (class & VUG_CHAR_LOWER);
        some |= in_word;
    }
    return vug_tv_bool(some);
}

static vug_tv str_isidentifier(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    for (size_t at = 0; at < self.str.len && vug_run_spend(run, 1);) {
        uint32_t cp;
        const unsigned allowed = VUG_CHAR_LETTER | (at > 0 ? VUG_CHAR_DECIMAL : 0);
        at += vug_tstr_char(self.str, at, &cp);
        if (cp != '_' && !(vug_char_class(cp) & allowed))
            return vug_tv_bool(false);
    }
    return vug_tv_bool(self.str.len > 0);
}

const vug_row vug_string_methods[] = {
    { "strip", "chars?", str_strip, VUG_STRIP_LEFT | VUG_STRIP_RIGHT },
    { "lstrip", "chars?", str_strip, VUG_STRIP_LEFT },
    { "rstrip", "chars?", str_strip, VUG_STRIP_RIGHT },
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
    { "upper", "", str_case, VUG_CASE_UPPER },
    { "lower", "", str_case, VUG_CASE_LOWER },
    { "title", "", str_case, VUG_CASE_TITLE },
    { "capitalize", "", str_case, VUG_CASE_CAPITAL },
    { "swapcase", "", str_case, VUG_CASE_SWAP },
    { "join", "iterable", str_join, 0 },
    { "format", "* **", str_format, 0 },
    { "removeprefix", "prefix", str_without, 0 },
    { "removesuffix", "suffix", str_without, 1 },
    { "partition", "sep", str_partition, 0 },
    { "rpartition", "sep", str_partition, 1 },
    { "ljust", "width fillchar?", str_pad, TO_LEFT },
    { "rjust", "width fillchar?", str_pad, TO_RIGHT },
    { "center", "width fillchar?", str_pad, TO_CENTER },
    { "zfill", "width", str_pad, ZERO_FILL },
    { "isalpha", "", str_all, VUG_CHAR_LETTER },
    { "isdigit", "", str_all, VUG_CHAR_DECIMAL },
    { "isdecimal", "", str_all, VUG_CHAR_DECIMAL },
    { "isnumeric", "", str_all, VUG_CHAR_NUMBER },
    { "isalnum", "", str_all, VUG_CHAR_LETTER | VUG_CHAR_NUMBER },
    { "isprintable", "", str_all, VUG_CHAR_PRINTED },
    { "isspace", "", str_isspace, 0 },
    { "isascii", "", str_isascii, 0 },
    { "islower", "", str_iscase, 0 },
    { "isupper", "", str_iscase, 1 },
    { "istitle", "", str_istitle, 0 },
    { "isidentifier", "", str_isidentifier, 0 },
    { "casefold", "", NULL, 0 },
    { "encode", "", NULL, 0 },
    { "expandtabs", "", NULL, 0 },
    { "format_map", "", NULL, 0 },
    { "maketrans", "", NULL, 0 },
    { "translate", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};

/* ---- lists and dictionaries ---------------------------------------------------------------- */

static vug_tv list_index(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tseq all = vug_tv_elements(run, self);
    const int64_t n = (int64_t)all.n;
    int64_t from = vug_arg_int(run, arg[1], 0);
    int64_t to = vug_arg_int(run, arg[2], n);
    from = from < 0 ? (from < -n ? 0 : from + n) : from;
    to = to < 0 ? to + n : to > n ? n : to;
    for (int64_t i = from; i < to && vug_run_spend(run, 1); i++) {
        if (vug_tv_equal(run, all.item[i], arg[0]))
            return vug_tv_int(i);
    }
    return vug_run_fail(run, VUG_FORMAT, "what is looked for is not in the list");
}

static vug_tv list_count(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    int64_t n = 0;
    const vug_tseq all = vug_tv_elements(run, self);
    for (size_t i = 0; i < all.n && vug_run_spend(run, 1); i++)
        n += vug_tv_equal(run, all.item[i], arg[0]);
    return vug_tv_int(n);
}

static vug_tv itself(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    return self;
}

const vug_row vug_list_methods[] = {
    { "index", "value start? end?", list_index, 0 },
    { "count", "value", list_count, 0 },
    { "copy", "", itself, 0 },
    { "append", "", NULL, 0 },
    { "clear", "", NULL, 0 },
    { "extend", "", NULL, 0 },
    { "insert", "", NULL, 0 },
    { "pop", "", NULL, 0 },
    { "remove", "", NULL, 0 },
    { "reverse", "", NULL, 0 },
    { "sort", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};

const vug_row vug_range_methods[] = {
    { "index", "value", list_index, 0 },
    { "count", "value", list_count, 0 },
    { NULL, NULL, NULL, 0 },
};

static vug_tv dict_get(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tv v = vug_tdict_get(run, self.dict, arg[0]);
    if (v.kind != VUG_TV_ABSENT)
        return v;
    return vug_given(arg[1]) ? arg[1] : vug_tv_none();
}

static vug_tv dict_view(vug_run *run, vug_tv self, const vug_tv *arg, int what)
{
    (void)arg;
    const vug_tdict *dict = self.dict;
    const vug_tv *of = what == VUG_VIEW_KEYS ? dict->key : dict->value;
    if (what == VUG_VIEW_ITEMS) {
        vug_tv *item = vug_run_alloc(run, dict->n, sizeof(*item));
        for (size_t i = 0; item && i < dict->n && vug_run_spend(run, 1); i++)
            item[i] = vug_tv_pair(run, dict->key[i], dict->value[i]);
        of = item;
    }
    const vug_tv view = vug_tv_seq(run, VUG_TV_VIEW, of, dict->n);
    if (vug_run_ok(run))
        view.seq->at = (size_t)what;
    return view;
}

const vug_row vug_dict_methods[] = {
    { "get", "key default?", dict_get, 0 },
    { "keys", "", dict_view, VUG_VIEW_KEYS },
    { "values", "", dict_view, VUG_VIEW_VALUES },
    { "items", "", dict_view, VUG_VIEW_ITEMS },
    { "copy", "", itself, 0 },
    { "clear", "", NULL, 0 },
    { "pop", "", NULL, 0 },
    { "popitem", "", NULL, 0 },
    { "setdefault", "", NULL, 0 },
    { "update", "", NULL, 0 },
    { "fromkeys", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};
