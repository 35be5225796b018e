/* Filters over one value: text, numbers, JSON and defaults (jinja2/filters.py). */

#include <math.h>

#include "text/template/builtins.h"
#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

/* Applies the string method of the same name to str(v). */
static vug_tmpl_value apply_method(vug_tmpl_run *run, vug_tmpl_value self,
                                   const vug_tmpl_value *arg, int data)
{
    static const char *const name[] = { "strip", "upper", "lower", "capitalize" };
    const vug_tmpl_value s = vug_tmpl_to_str(run, self);
    const vug_tmpl_builtin *builtin = vug_tmpl_find_method(VUG_TMPL_STRING, vug_str_of(name[data]));
    const vug_tmpl_args args = { .pos = arg, .n = vug_tmpl_is_given(arg[0]) };
    return vug_tmpl_ok(run) ? vug_tmpl_call_builtin(run, "filter", builtin, s, &args) : s;
}

static bool begins_word(uint32_t cp)
{
    return vug_tmpl_is_space(cp) || (cp < 0x80 && strchr("-({[<", (int)cp) && cp);
}

static vug_tmpl_value filter_title(vug_tmpl_run *run, vug_tmpl_value self,
                                   const vug_tmpl_value *arg, int data)
{
    (void)arg, (void)data;
    const vug_tmpl_str s = vug_tmpl_to_str(run, self).str;
    const size_t from = vug_tmpl_build_begin(run);
    for (size_t at = 0; at < s.len && vug_tmpl_ok(run);) {
        uint32_t cp;
        const size_t first = at + vug_tmpl_decode_char(s, at, &cp);
        size_t end = first;
        for (size_t n = 0; !begins_word(cp) && end < s.len; end += n) {
            n = vug_tmpl_decode_char(s, end, &cp);
            if (begins_word(cp))
                break;
        }
        const vug_tmpl_str rest = vug_tmpl_substr(s, first, end);
        const vug_tmpl_value head =
                vug_tmpl_change_case(run, vug_tmpl_substr(s, at, first), VUG_TMPL_CASE_UPPER);
        const vug_tmpl_value tail = vug_tmpl_change_case(run, rest, VUG_TMPL_CASE_LOWER);
        vug_tmpl_write(run, head.str);
        vug_tmpl_write(run, tail.str);
        at = end;
    }
    return vug_tmpl_build_end(run, from);
}

static vug_tmpl_value filter_replace(vug_tmpl_run *run, vug_tmpl_value self,
                                     const vug_tmpl_value *arg, int data)
{
    (void)data;
    const vug_tmpl_value s = vug_tmpl_to_str(run, self);
    const vug_tmpl_value old = vug_tmpl_to_str(run, arg[0]);
    const vug_tmpl_value by = vug_tmpl_to_str(run, arg[1]);
    const int64_t count = vug_tmpl_arg_int(run, arg[2], -1);
    if (!vug_tmpl_ok(run))
        return s;
    return vug_tmpl_replace(run, s.str, old.str, by.str, count);
}

static vug_tmpl_value filter_string(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_value *arg, int data)
{
    (void)arg, (void)data;
    return vug_tmpl_to_str(run, self);
}

static vug_tmpl_value filter_indent(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_value *arg, int data)
{
    (void)data;
    vug_tmpl_str by = { " ", 1, NULL };
    int64_t times = 1;
    const bool blank = vug_tmpl_arg_bool(arg[2], false);
    if (vug_tmpl_is_given(arg[0]) && vug_tmpl_is_string(arg[0]))
        by = arg[0].str;
    else
        times = vug_tmpl_arg_int(run, arg[0], 4);
    if (self.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, self);
    const vug_tmpl_str s = vug_tmpl_arg_string(run, self);
    /* The added line end makes an empty last line count as one. */
    size_t from = vug_tmpl_build_begin(run);
    vug_tmpl_write(run, s);
    vug_tmpl_write_text(run, "\n");
    const vug_tmpl_str with_end = vug_tmpl_build_end(run, from).str;
    const vug_tmpl_value lines = vug_tmpl_split_lines(run, with_end, false);
    if (!vug_tmpl_ok(run))
        return lines;
    from = vug_tmpl_build_begin(run);
    for (size_t i = 0; i < lines.seq->n && vug_tmpl_ok(run); i++) {
        const vug_tmpl_str line = lines.seq->item[i].str;
        if (i > 0)
            vug_tmpl_write_text(run, "\n");
        if (i == 0 ? vug_tmpl_arg_bool(arg[1], false) : blank || line.len > 0)
            vug_tmpl_write_repeated(run, by, times);
        vug_tmpl_write(run, line);
    }
    return vug_tmpl_build_end(run, from);
}

static vug_tmpl_value filter_format(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_value *arg, int data)
{
    (void)data;
    return vug_tmpl_format_percent(run, vug_tmpl_to_str(run, self).str, arg[0]);
}

/* ---- JSON, as transformers writes it ------------------------------------------------------- */

static vug_tmpl_value filter_tojson(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_value *arg, int data)
{
    (void)data;
    vug_tmpl_json_style style = { .indent = arg[1],
                                  .ascii = vug_tmpl_arg_bool(arg[0], false),
                                  .sorted = vug_tmpl_arg_bool(arg[3], false) };
    if (vug_tmpl_has_value(arg[2])) {
        const vug_tmpl_seq both = vug_tmpl_elements(run, arg[2]);
        if (both.n != 2 || !vug_tmpl_is_string(both.item[0]) || !vug_tmpl_is_string(both.item[1]))
            return vug_tmpl_fail(run, VUG_FORMAT, "tojson: expected two separators");
        style.item_separator = both.item[0];
        style.key_separator = both.item[1];
    }
    return vug_tmpl_to_json(run, self, &style);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static vug_tmpl_value filter_abs(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)arg, (void)data;
    if (self.kind == VUG_TMPL_FLOAT)
        return vug_tmpl_float(fabs(self.f64));
    return vug_tmpl_negate(run, self, vug_tmpl_is_int(self) && vug_tmpl_as_i64(self) < 0);
}

static vug_tmpl_value filter_int(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)data;
    int64_t v;
    double real;
    const vug_tmpl_value otherwise = vug_tmpl_is_given(arg[0]) ? arg[0] : vug_tmpl_int(0);
    if (self.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, self);
    if (vug_tmpl_is_int(self))
        return vug_tmpl_int(vug_tmpl_as_i64(self));
    if (self.kind == VUG_TMPL_BIGINT)
        return self;
    const int64_t base = vug_tmpl_arg_int(run, arg[1], 10);
    if (vug_tmpl_is_string(self))
        (void)vug_tmpl_charge(run, self.str.len / VUG_TMPL_CHARS_PER_STEP);
    if (vug_tmpl_is_string(self) && base >= 0 && base <= 36 && base != 1 &&
        vug_tmpl_parse_int(vug_tmpl_as_bytes(self), (int)base, &v))
        return vug_tmpl_int(v);
    if (self.kind == VUG_TMPL_FLOAT)
        real = self.f64;
    else if (!vug_tmpl_is_string(self) || !vug_tmpl_parse_float(vug_tmpl_as_bytes(self), &real))
        return otherwise;
    if (!isfinite(real))
        return otherwise;
    if (fabs(real) >= 9223372036854775808.0)
        return vug_tmpl_fail(run, VUG_FORMAT, "a whole number of more than 64 bits");
    return vug_tmpl_int((int64_t)real);
}

static vug_tmpl_value filter_float(vug_tmpl_run *run, vug_tmpl_value self,
                                   const vug_tmpl_value *arg, int data)
{
    (void)data;
    double v;
    if (self.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, self);
    if (vug_tmpl_is_number(self))
        return vug_tmpl_float(vug_tmpl_as_f64(self));
    if ((vug_tmpl_is_string(self) || self.kind == VUG_TMPL_BIGINT) &&
        vug_tmpl_charge(run, self.str.len / VUG_TMPL_CHARS_PER_STEP) &&
        vug_tmpl_parse_float(vug_tmpl_as_bytes(self), &v))
        return vug_tmpl_float(v);
    return vug_tmpl_is_given(arg[0]) ? arg[0] : vug_tmpl_float(0);
}

static vug_tmpl_value filter_default(vug_tmpl_run *run, vug_tmpl_value self,
                                     const vug_tmpl_value *arg, int data)
{
    (void)run, (void)data;
    const bool falsy = vug_tmpl_arg_bool(arg[1], false) && !vug_tmpl_is_true(self);
    if (self.kind != VUG_TMPL_UNDEFINED && !falsy)
        return self;
    return vug_tmpl_is_given(arg[0]) ? arg[0] : vug_tmpl_text("");
}

const vug_tmpl_builtin vug_tmpl_value_filters[] = {
    { "trim", "chars?", apply_method, 0 },
    { "upper", "", apply_method, 1 },
    { "lower", "", apply_method, 2 },
    { "capitalize", "", apply_method, 3 },
    { "title", "", filter_title, 0 },
    { "replace", "old new count?", filter_replace, 0 },
    { "string", "", filter_string, 0 },
    { "safe", "", filter_string, 0 }, /* nothing is escaped, so there is no markup */
    { "indent", "width? first? blank?", filter_indent, 0 },
    { "format", "*", filter_format, 0 },
    { "tojson", "ensure_ascii? indent? separators? sort_keys?", filter_tojson, 0 },
    { "abs", "", filter_abs, 0 },
    { "int", "default? base?", filter_int, 0 },
    { "float", "default?", filter_float, 0 },
    { "default", "default_value? boolean?", filter_default, 0 },
    { "d", "default_value? boolean?", filter_default, 0 },
    { "center", "", NULL, 0 },
    { "e", "", NULL, 0 },
    { "escape", "", NULL, 0 },
    { "filesizeformat", "", NULL, 0 },
    { "forceescape", "", NULL, 0 },
    { "pprint", "", NULL, 0 },
    { "random", "", NULL, 0 },
    { "round", "", NULL, 0 },
    { "striptags", "", NULL, 0 },
    { "truncate", "", NULL, 0 },
    { "urlencode", "", NULL, 0 },
    { "urlize", "", NULL, 0 },
    { "wordcount", "", NULL, 0 },
    { "wordwrap", "", NULL, 0 },
    { "xmlattr", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};
