/* Formatting: `format % values` and format.format(..). Widths, precisions and conversions are not
 * supported; a format that has one fails. */

#include <math.h>

#include "text/template/builtins.h"
#include "text/template/template_strings.h"

static vug_tmpl_value fail_format(vug_tmpl_run *run, const char *reason)
{
    return vug_tmpl_fail(run, VUG_FORMAT, "format: %s", reason);
}

/* ---- % ------------------------------------------------------------------------------------- */

static void write_percent(vug_tmpl_run *run, char type, vug_tmpl_value v)
{
    if (type == 's') {
        vug_tmpl_write_value(run, v);
    } else if (type != 'd') {
        (void)vug_tmpl_fail(run, VUG_UNSUPPORTED,
                            "format: '%%%c' is not supported; %%s, %%d and %%%% are",
                            type > ' ' && type < 0x7f ? type : '?');
    } else if (v.kind == VUG_TMPL_FLOAT && fabs(v.f64) < 9e18) {
        vug_tmpl_printf(run, "%lld", (long long)v.f64);
    } else if (vug_tmpl_is_int(v)) {
        vug_tmpl_printf(run, "%lld", (long long)vug_tmpl_as_i64(v));
    } else {
        (void)vug_tmpl_fail(run, VUG_FORMAT, "%%d format: a number is required, not %s",
                            vug_tmpl_type_name(v));
    }
}

vug_tmpl_value vug_tmpl_format_percent(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_value values)
{
    const size_t from = vug_tmpl_build_begin(run);
    const bool tuple = values.kind == VUG_TMPL_TUPLE;
    const size_t n = tuple ? values.seq->n : 1;
    size_t used = 0;
    for (size_t at = 0; at < s.len && vug_tmpl_ok(run);) {
        const size_t sign = vug_tmpl_find(run, s, (vug_tmpl_str){ "%", 1, NULL }, at);
        vug_tmpl_write(run, vug_tmpl_substr(s, at, sign));
        if (sign == SIZE_MAX)
            break;
        if (sign + 1 == s.len)
            return fail_format(run, "incomplete format");
        at = sign + 2;
        if (s.ptr[sign + 1] == '%')
            vug_tmpl_write(run, vug_tmpl_substr(s, sign, sign + 1));
        else if (used == n)
            return fail_format(run, "not enough arguments for format string");
        else
            write_percent(run, s.ptr[sign + 1], tuple ? values.seq->item[used] : values);
        used += s.ptr[sign + 1] != '%';
    }
    /* Python allows unused values if they have keys. */
    const bool mapping = values.kind == VUG_TMPL_DICT || values.kind == VUG_TMPL_LIST ||
                         values.kind == VUG_TMPL_RANGE || values.kind == VUG_TMPL_UNDEFINED;
    if (used < n && !mapping)
        return fail_format(run, "not all arguments converted during string formatting");
    return vug_tmpl_build_end(run, from);
}

/* ---- .format --------------------------------------------------------------------------------- */

/* The value of the field "0" or "name"; an empty field takes the next argument. */
static vug_tmpl_value field_value(vug_tmpl_run *run, vug_tmpl_str field, vug_tmpl_seq positional,
                                  const vug_tmpl_dict *named, size_t *next)
{
    int64_t index = -1;
    vug_tmpl_value v = { .kind = VUG_TMPL_ABSENT };
    for (size_t i = 0; i < field.len; i++) {
        if (strchr(":!.[", field.ptr[i]))
            return vug_tmpl_fail(run, VUG_UNSUPPORTED,
                                 "format: '{%.*s}' is not supported; {}, {0} and {name} are",
                                 VUG_STR_ARG(vug_tmpl_str_bytes(field)));
    }
    if (field.len == 0)
        index = (int64_t)(*next)++;
    else if (!vug_tmpl_parse_int(vug_tmpl_str_bytes(field), 10, &index) || field.ptr[0] < '0')
        v = vug_tmpl_dict_get(run, named, vug_tmpl_string(field));
    if (index >= 0 && (size_t)index < positional.n)
        v = positional.item[index];
    return v.kind == VUG_TMPL_ABSENT ? fail_format(run, "a field for which there is no value") : v;
}

vug_tmpl_value vug_tmpl_format_braces(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_seq positional,
                                      const vug_tmpl_dict *named)
{
    const size_t from = vug_tmpl_build_begin(run);
    size_t next = 0, copied = 0;
    for (size_t at = 0; at < s.len && vug_tmpl_ok(run);) {
        const char c = s.ptr[at];
        if (c != '{' && c != '}') {
            at++;
            continue;
        }
        vug_tmpl_write(run, vug_tmpl_substr(s, copied, at));
        if (at + 1 < s.len && s.ptr[at + 1] == c) {
            vug_tmpl_write(run, vug_tmpl_substr(s, at, at + 1));
            copied = at += 2;
            continue;
        }
        const size_t close = vug_tmpl_find(run, s, (vug_tmpl_str){ "}", 1, NULL }, at);
        if (c == '}' || close == SIZE_MAX)
            return fail_format(run, c == '}' ? "single '}'" : "single '{'");
        const vug_tmpl_value v =
                field_value(run, vug_tmpl_substr(s, at + 1, close), positional, named, &next);
        if (vug_tmpl_ok(run))
            vug_tmpl_write_value(run, v);
        copied = at = close + 1;
    }
    vug_tmpl_write(run, vug_tmpl_substr(s, copied, s.len));
    return vug_tmpl_build_end(run, from);
}
