/* Filters over one value: text, numbers, and what stands in for nothing. Python's and
 * jinja2/filters.py's. A row without a function is one that vug refuses. */

#include <math.h>
#include <stdio.h>

#include "text/template/rows.h"
#include "text/template/text.h"
#include "text/unicode.h"

/* What the method of the same name would make of str(v); markup stays markup. */
static vug_tv like_method(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    static const char *const name[] = { "strip", "upper", "lower", "capitalize", "center" };
    const vug_tv s = vug_tv_str(run, self);
    const vug_row *row = vug_method_row(VUG_TV_STRING, vug_str_of(name[data]));
    vug_tv width = arg[0];
    if (vug_str_is(vug_str_of(name[data]), "center") && !vug_given(width))
        width = vug_tv_int(80);
    const vug_targs args = { .pos = &width, .n = vug_given(width) };
    return vug_run_ok(run) ? vug_row_call(run, "filter", row, s, &args) : s;
}

static bool begins_word(uint32_t cp)
{
    return vug_py_is_space(cp) || (cp < 0x80 && strchr("-({[<", (int)cp) && cp);
}

static vug_tv filter_title(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    const vug_tstr s = vug_tv_str(run, self).str;
    const size_t from = vug_make(run);
    for (size_t at = 0; at < s.len && vug_run_ok(run);) {
        uint32_t cp;
        const size_t first = at + vug_tstr_char(s, at, &cp);
        size_t end = first;
        for (size_t n = 0; !begins_word(cp) && end < s.len; end += n) {
            n = vug_tstr_char(s, end, &cp);
            if (begins_word(cp))
                break;
        }
        const vug_tstr rest = vug_tstr_cut(s, first, end);
        const vug_tv head = vug_tstr_case(run, vug_tstr_cut(s, at, first), VUG_CASE_UPPER);
        const vug_tv tail = vug_tstr_case(run, rest, VUG_CASE_LOWER);
        vug_put(run, head.str);
        vug_put(run, tail.str);
        at = end;
    }
    return vug_made(run, from);
}

static vug_tv filter_replace(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tv s = vug_tv_str(run, self);
    const vug_tv old = vug_tv_str(run, arg[0]);
    const vug_tv by = vug_tv_str(run, arg[1]);
    const int64_t count = vug_arg_int(run, arg[2], -1);
    if (!vug_run_ok(run))
        return s;
    vug_tv out = vug_tstr_replace(run, s.str, old.str, by.str, count);
    out.safe = false;
    return out;
}

enum { TO_STRING, TO_SAFE };

static vug_tv filter_string(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg;
    vug_tv s = vug_tv_str(run, self);
    s.safe |= data == TO_SAFE;
    return s;
}

static vug_tv filter_escape(vug_run *run, vug_tv self, const vug_tv *arg, int always)
{
    (void)arg;
    vug_tv s = vug_tv_str(run, self);
    if (!s.safe || always) {
        const size_t from = vug_make(run);
        vug_put_escaped(run, s.str);
        s = vug_made(run, from);
        s.safe = true;
    }
    return s;
}

static vug_tv filter_indent(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    vug_tstr by = { " ", 1, NULL };
    int64_t times = 1;
    const bool blank = vug_arg_bool(run, arg[2], false);
    if (vug_given(arg[0]) && vug_tv_is_string(arg[0]))
        by = arg[0].str;
    else
        times = vug_arg_int(run, arg[0], 4);
    if (self.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, self);
    const vug_tstr s = vug_arg_string(run, self);
    /* A line's end behind the last one, so that an empty last line is one too. */
    size_t from = vug_make(run);
    vug_put(run, s);
    vug_put_text(run, "\n");
    const vug_tstr with_end = vug_made(run, from).str;
    const vug_tv lines = vug_tstr_lines(run, with_end, false);
    if (!vug_run_ok(run))
        return lines;
    from = vug_make(run);
    for (size_t i = 0; i < lines.seq->n && vug_run_ok(run); i++) {
        const vug_tstr line = lines.seq->item[i].str;
        if (i > 0)
            vug_put_text(run, "\n");
        if (i == 0 ? vug_arg_bool(run, arg[1], false) : blank || line.len > 0)
            vug_put_repeated(run, by, times);
        vug_put(run, line);
    }
    vug_tv out = vug_made(run, from);
    out.safe = self.safe;
    return out;
}

static vug_tv filter_wordcount(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    const vug_tstr s = vug_tv_str(run, self).str;
    int64_t n = 0;
    bool in_word = false;
    for (size_t at = 0; at < s.len && vug_run_spend(run, 1);) {
        uint32_t cp;
        at += vug_tstr_char(s, at, &cp);
        const bool word =
                cp == '_' || (vug_char_class(cp) & (VUG_CHAR_LETTER | VUG_CHAR_NUMBER)) != 0;
        n += word && !in_word;
        in_word = word;
    }
    return vug_tv_int(n);
}

static vug_tv filter_truncate(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tstr dots = { "...", 3, NULL };
    const vug_tstr end = vug_given(arg[2]) ? vug_arg_string(run, arg[2]) : dots;
    const int64_t length = vug_arg_int(run, arg[0], 255);
    const int64_t leeway = vug_arg_int(run, arg[3], 5);
    const int64_t tail = (int64_t)vug_tstr_chars(run, end);
    if (self.kind == VUG_TV_UNDEFINED)
        return vug_tv_text("");
    const vug_tstr s = vug_arg_string(run, self);
    if (!vug_run_ok(run) || length < tail || leeway < 0)
        return vug_run_fail(run, VUG_FORMAT, "truncate: expected a length of at least %lld",
                            (long long)tail);
    const int64_t chars = (int64_t)vug_tstr_chars(run, s);
    if (chars <= length || chars - length <= leeway)
        return self;
    vug_tstr kept = vug_tstr_cut(s, 0, vug_tstr_offset(run, s, (size_t)(length - tail)));
    if (!vug_arg_bool(run, arg[1], false)) {
        const size_t space = vug_tstr_find_last(run, kept, (vug_tstr){ " ", 1, NULL }, kept.len);
        kept = vug_tstr_cut(kept, 0, space == SIZE_MAX ? kept.len : space);
    }
    return vug_tv_binary(run, '+', vug_tv_string(kept), vug_tv_string(end));
}

static vug_tv filter_format(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    if (arg[0].seq->n > 0 && arg[1].dict->n > 0)
        return vug_run_fail(run, VUG_FORMAT,
                            "can't handle positional and keyword arguments at the same time");
    const vug_tstr s = vug_tv_str(run, self).str;
    return vug_tstr_percent(run, s, arg[1].dict->n > 0 ? arg[1] : arg[0]);
}

/* ---- URLs ----------------------------------------------------------------------------------- */

static void put_quoted(vug_run *run, vug_tv v, bool query)
{
    const vug_tstr s = vug_tv_str(run, v).str;
    for (size_t i = 0; i < s.len && vug_run_ok(run); i++) {
        const char c = s.ptr[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || (c && strchr("_.-~", c)) ||
                           (c == '/' && !query);
        char code[4];
        (void)snprintf(code, sizeof(code), "%%%02X", (unsigned char)c);
        if (query && c == ' ')
            vug_put_bytes(run, "+", 1, vug_tstr_foreign(s, i));
        else
            vug_put_bytes(run, plain ? &c : code, plain ? 1 : 3, vug_tstr_foreign(s, i));
    }
}

static vug_tv filter_urlencode(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    if (vug_tv_is_string(self) || !vug_tv_is_iterable(self)) {
        const size_t from = vug_make(run);
        put_quoted(run, self, false);
        return vug_made(run, from);
    }
    vug_tseq all = { 0 };
    if (self.kind != VUG_TV_DICT)
        all = vug_tv_elements(run, self);
    const size_t n = self.kind == VUG_TV_DICT ? self.dict->n : all.n;
    const size_t from = vug_make(run);
    for (size_t i = 0; i < n && vug_run_ok(run); i++) {
        const vug_tv pair = self.kind == VUG_TV_DICT
                                    ? vug_tv_pair(run, self.dict->key[i], self.dict->value[i])
                                    : all.item[i];
        if (!vug_run_ok(run))
            break;
        const vug_tseq both = vug_tv_elements(run, pair);
        if (both.n != 2)
            return vug_run_fail(run, VUG_FORMAT, "urlencode: expected pairs");
        vug_put_text(run, i > 0 ? "&" : "");
        put_quoted(run, both.item[0], true);
        vug_put_text(run, "=");
        put_quoted(run, both.item[1], true);
    }
    return vug_made(run, from);
}

/* ---- JSON, as transformers writes it ------------------------------------------------------- */

static vug_tv filter_tojson(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    vug_json_style style = { .indent = arg[1],
                             .ascii = vug_arg_bool(run, arg[0], false),
                             .sorted = vug_arg_bool(run, arg[3], false) };
    if (vug_given_some(arg[2])) {
        const vug_tseq both = vug_tv_elements(run, arg[2]);
        if (both.n != 2 || !vug_tv_is_string(both.item[0]) || !vug_tv_is_string(both.item[1]))
            return vug_run_fail(run, VUG_FORMAT, "tojson: expected two separators");
        style.item_separator = both.item[0];
        style.key_separator = both.item[1];
    }
    return vug_tv_to_json(run, self, &style);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static vug_tv filter_abs(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    if (self.kind == VUG_TV_FLOAT)
        return vug_tv_float(fabs(self.f64));
    return vug_tv_negate(run, self, vug_tv_is_int(self) && vug_tv_i64(self) < 0);
}

static vug_tv filter_int(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    int64_t v;
    double real;
    const vug_tv otherwise = vug_given(arg[0]) ? arg[0] : vug_tv_int(0);
    if (self.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, self);
    if (vug_tv_is_int(self))
        return vug_tv_int(vug_tv_i64(self));
    if (self.kind == VUG_TV_BIG)
        return self;
    const int64_t base = vug_arg_int(run, arg[1], 10);
    if (vug_tv_is_string(self))
        (void)vug_run_spend(run, self.str.len / VUG_CHARS_PER_STEP);
    if (vug_tv_is_string(self) && base >= 0 && base <= 36 && base != 1 &&
        vug_parse_py_int(vug_tv_bytes(self), (int)base, &v))
        return vug_tv_int(v);
    if (self.kind == VUG_TV_FLOAT)
        real = self.f64;
    else if (!vug_tv_is_string(self) || !vug_parse_py_float(vug_tv_bytes(self), &real))
        return otherwise;
    if (!isfinite(real))
        return otherwise;
    if (fabs(real) >= 9223372036854775808.0)
        return vug_run_fail(run, VUG_FORMAT, "a whole number of more than 64 bits");
    return vug_tv_int((int64_t)real);
}

static vug_tv filter_float(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    double v;
    if (self.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, self);
    if (vug_tv_is_number(self))
        return vug_tv_float(vug_tv_f64(self));
    if ((vug_tv_is_string(self) || self.kind == VUG_TV_BIG) &&
        vug_run_spend(run, self.str.len / VUG_CHARS_PER_STEP) &&
        vug_parse_py_float(vug_tv_bytes(self), &v))
        return vug_tv_float(v);
    return vug_given(arg[0]) ? arg[0] : vug_tv_float(0);
}

/* The decimal of so many places that is nearest to what `v` is exactly. */
static double round_to(double v, int64_t places)
{
    char text[512];
    if (!isfinite(v) || places > 300)
        return v;
    if (places < 0) {
        const double unit = pow(10, -(double)places);
        return isinf(unit) ? 0 : nearbyint(v / unit) * unit;
    }
    (void)snprintf(text, sizeof(text), "%.*f", (int)places, fabs(v));
    for (char *c = text; *c; c++) {
        if (*c == ',')
            *c = '.'; /* the locale's */
    }
    double out = v;
    (void)vug_parse_py_float(vug_str_of(text), &out);
    return copysign(out, v);
}

/* To a multiple of 10^digits; of two that are as near, to the even one. */
static vug_tv round_whole(vug_run *run, int64_t v, uint64_t digits)
{
    uint64_t unit = 1;
    for (uint64_t i = 0; i < digits && i < 19; i++)
        unit *= 10;
    const uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    const uint64_t rest = size % unit, below = size - rest;
    const bool up = rest > unit / 2 || (rest == unit / 2 && below / unit % 2 == 1);
    if (digits == 0)
        return vug_tv_int(v);
    if (digits > 19)
        return vug_tv_int(0);
    if (up && below + unit > INT64_MAX)
        return vug_run_fail(run, VUG_FORMAT, "a whole number of more than 64 bits");
    const int64_t out = (int64_t)(up ? below + unit : below);
    return vug_tv_int(v < 0 ? -out : out);
}

static vug_tv filter_round(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const int64_t places = vug_arg_int(run, arg[0], 0);
    const vug_tv method = vug_given(arg[1]) ? arg[1] : vug_tv_text("common");
    const vug_tstr name = vug_arg_string(run, method);
    if (self.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, self);
    if (!vug_tv_is_number(self))
        return vug_run_fail(run, VUG_FORMAT, "round: expected a number, found a %s",
                            vug_tv_type(self));
    if (vug_str_is(vug_tstr_bytes(name), "common")) {
        if (self.kind == VUG_TV_FLOAT)
            return vug_tv_float(round_to(self.f64, places));
        return round_whole(run, vug_tv_i64(self), places < 0 ? 0 - (uint64_t)places : 0);
    }
    const double unit = pow(10, (double)places);
    if (vug_str_is(vug_tstr_bytes(name), "ceil"))
        return vug_tv_float(ceil(vug_tv_f64(self) * unit) / unit);
    if (vug_str_is(vug_tstr_bytes(name), "floor"))
        return vug_tv_float(floor(vug_tv_f64(self) * unit) / unit);
    return vug_run_fail(run, VUG_FORMAT, "round: the method must be common, ceil or floor");
}

static vug_tv filter_default(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const bool falsy = vug_arg_bool(run, arg[1], false) && !vug_tv_truth(run, self);
    if (self.kind != VUG_TV_UNDEFINED && !falsy)
        return self;
    return vug_given(arg[0]) ? arg[0] : vug_tv_text("");
}

const vug_row vug_text_filters[] = {
    { "trim", "chars?", like_method, 0 },
    { "upper", "", like_method, 1 },
    { "lower", "", like_method, 2 },
    { "capitalize", "", like_method, 3 },
    { "center", "width?", like_method, 4 },
    { "title", "", filter_title, 0 },
    { "replace", "old new count?", filter_replace, 0 },
    { "string", "", filter_string, TO_STRING },
    { "safe", "", filter_string, TO_SAFE },
    { "escape", "", filter_escape, 0 },
    { "e", "", filter_escape, 0 },
    { "forceescape", "", filter_escape, 1 },
    { "indent", "width? first? blank?", filter_indent, 0 },
    { "wordcount", "", filter_wordcount, 0 },
    { "truncate", "length? killwords? end? leeway?", filter_truncate, 0 },
    { "format", "* **", filter_format, 0 },
    { "urlencode", "", filter_urlencode, 0 },
    { "tojson", "ensure_ascii? indent? separators? sort_keys?", filter_tojson, 0 },
    { "abs", "", filter_abs, 0 },
    { "int", "default? base?", filter_int, 0 },
    { "float", "default?", filter_float, 0 },
    { "round", "precision? method?", filter_round, 0 },
    { "default", "default_value? boolean?", filter_default, 0 },
    { "d", "default_value? boolean?", filter_default, 0 },
    { "pprint", "", NULL, 0 },
    { "random", "", NULL, 0 },
    { "striptags", "", NULL, 0 },
    { "urlize", "", NULL, 0 },
    { "wordwrap", "", NULL, 0 },
    { "xmlattr", "", NULL, 0 },
    { "filesizeformat", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};
