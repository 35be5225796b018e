/* Python's two ways to put values into a text: `format % values` and format.format(..). */

#include <math.h>
#include <stdio.h>

#include "text/template/rows.h"
#include "text/template/text.h"

#define MAX_WIDTH 1000000 /* of a field */

/* How a value is written. */
typedef struct {
    uint32_t fill;
    char align; /* '<', '>', '^', '=', or 0: as the type has it */
    char sign;  /* '+', ' ' or 0 */
    bool alternate, zero;
    char group;               /* ',' or '_' between thousands; 0 */
    int64_t width, precision; /* -1: not given */
    char type;                /* 0: not given */
} spec;

static vug_tv bad(vug_run *run, const char *what)
{
    return vug_run_fail(run, VUG_FORMAT, "format: %s", what);
}

/* A decimal number at *at; -1: there is none. */
static int64_t number(vug_run *run, vug_tstr s, size_t *at)
{
    int64_t v = -1;
    while (*at < s.len && s.ptr[*at] >= '0' && s.ptr[*at] <= '9') {
        v = (v < 0 ? 0 : v * 10) + (s.ptr[(*at)++] - '0');
        if (v > MAX_WIDTH) {
            (void)bad(run, "a field wider than a million");
            return -1;
        }
    }
    return v;
}

/* ---- a field ----------------------------------------------------------------------------- */

static void put_fill(vug_run *run, const spec *f, int64_t n)
{
    for (int64_t i = 0; i < n && vug_run_ok(run); i++)
        vug_put_char(run, f->fill, false);
}

/* `body` behind the sign or prefix `head`, in a field. */
static void put_field(vug_run *run, const spec *f, vug_tstr head, vug_tstr body, char align)
{
    const int64_t used = (int64_t)(head.len + vug_tstr_chars(run, body));
    const int64_t pad = f->width > used ? f->width - used : 0;
    const int64_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    put_fill(run, f, left);
    vug_put(run, head);
    put_fill(run, f, align == '=' ? pad : 0);
    vug_put(run, body);
    put_fill(run, f, align == '=' ? 0 : pad - left);
}

static char align_of(const spec *f, int otherwise)
{
    return (char)(f->align ? f->align : otherwise);
}

static void put_string(vug_run *run, const spec *f, vug_tstr s)
{
    if (f->precision >= 0)
        s = vug_tstr_cut(s, 0, vug_tstr_offset(run, s, (size_t)f->precision));
    put_field(run, f, (vug_tstr){ "", 0, NULL }, s, align_of(f, '<'));
}

/* Separators into the whole part of a number's spelling. */
static vug_tstr grouped(vug_run *run, const spec *f, const char *text)
{
    const size_t n = strlen(text);
    size_t whole = 0;
    while (text[whole] >= '0' && text[whole] <= '9')
        whole++;
    const size_t from = vug_make(run);
    for (size_t i = 0; i < n; i++) {
        if (f->group && i > 0 && i < whole && (whole - i) % 3 == 0)
            vug_put_bytes(run, &f->group, 1, false);
        vug_put_bytes(run, text + i, 1, false);
    }
    return vug_made(run, from).str;
}

static void put_number(vug_run *run, const spec *f, bool negative, const char *prefix,
                       const char *digits)
{
    char head[8];
    (void)snprintf(head, sizeof(head), "%s%s",
                   negative         ? "-"
                   : f->sign == '+' ? "+"
                   : f->sign == ' ' ? " "
                                    : "",
                   prefix);
    const vug_tstr body = grouped(run, f, digits);
    put_field(run, f, (vug_tstr){ head, strlen(head), NULL }, body,
              align_of(f, f->zero ? '=' : '>'));
}

static void put_integer(vug_run *run, const spec *f, int64_t v)
{
    char text[80];
    const uint64_t abs = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    const char *prefix = "";
    if (f->type == 'x' || f->type == 'X') {
        (void)snprintf(text, sizeof(text), f->type == 'x' ? "%llx" : "%llX",
                       (unsigned long long)abs);
        prefix = f->type == 'x' ? "0x" : "0X";
    } else if (f->type == 'o') {
        (void)snprintf(text, sizeof(text), "%llo", (unsigned long long)abs);
        prefix = "0o";
    } else if (f->type == 'b') {
        size_t n = 0;
        for (int bit = 63; bit >= 0; bit--) {
            if (n > 0 || abs >> bit & 1 || bit == 0)
                text[n++] = (char)('0' + (abs >> bit & 1));
        }
        text[n] = '\0';
        prefix = "0b";
    } else {
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)abs);
    }
    put_number(run, f, v < 0, f->alternate ? prefix : "", text);
}

static void put_real(vug_run *run, const spec *f, double v)
{
    char text[512] = "";
    const char type = (char)(f->type == '%' ? 'f' : f->type);
    const int precision = f->precision < 0 ? 6 : f->precision > 100 ? 100 : (int)f->precision;
    const char fmt[] = { '%', '.', '*', type, '\0' };
    if (!isfinite(v))
        (void)snprintf(text, sizeof(text), "%s", isnan(v) ? "nan" : "inf");
    else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(text, sizeof(text) - 1, fmt, precision,
                       fabs(v) * (f->type == '%' ? 100 : 1));
#pragma GCC diagnostic pop
    for (char *c = text; *c; c++) {
        if (*c == ',')
            *c = '.'; /* the locale's */
    }
    if (f->type == '%')
        text[strlen(text) + 1] = '\0', text[strlen(text)] = '%';
    put_number(run, f, signbit(v) && !isnan(v), "", text);
}

static bool is_real_type(char type)
{
    return type && strchr("eEfFgG%", type);
}

static void put_value(vug_run *run, const spec *f, vug_tv v)
{
    if (vug_tv_is_number(v) && is_real_type(f->type)) {
        put_real(run, f, vug_tv_f64(v));
    } else if (vug_tv_is_int(v) && (v.kind == VUG_TV_INT || f->type) && f->type != 's') {
        put_integer(run, f, vug_tv_i64(v));
    } else if (v.kind == VUG_TV_FLOAT && !f->type) {
        spec as = *f;
        as.type = 'g';
        if (f->precision >= 0)
            put_real(run, &as, v.f64);
        else
            put_field(run, f, (vug_tstr){ "", 0, NULL }, vug_tv_repr(run, v).str, align_of(f, '>'));
    } else if (f->type && f->type != 's') {
        (void)vug_run_fail(run, VUG_FORMAT, "format code '%c' is not for a %s", f->type,
                           vug_tv_type(v));
    } else {
        put_string(run, f, vug_tv_str(run, v).str);
    }
}

/* ---- % ------------------------------------------------------------------------------------- */

/* Flags, width, precision and type behind a '%' and its name. */
static spec percent_spec(vug_run *run, vug_tstr s, size_t *at)
{
    spec f = { .fill = ' ', .align = '>', .precision = -1 };
    for (; *at < s.len && strchr("-+ #0", s.ptr[*at]) && s.ptr[*at]; (*at)++) {
        const char c = s.ptr[*at];
        if (c == '-')
            f.align = '<';
        if (c == '+' || (c == ' ' && !f.sign))
            f.sign = c;
        f.alternate |= c == '#';
        f.zero |= c == '0';
    }
    f.width = number(run, s, at);
    if (*at < s.len && s.ptr[*at] == '.') {
        (*at)++;
        f.precision = number(run, s, at);
        f.precision = f.precision < 0 ? 0 : f.precision;
    }
    while (*at < s.len && strchr("hlL", s.ptr[*at]) && s.ptr[*at])
        (*at)++;
    if (*at >= s.len)
        (void)bad(run, "incomplete format");
    else
        f.type = s.ptr[(*at)++];
    return f;
}

static void put_percent(vug_run *run, spec f, vug_tv v)
{
    switch (f.type) {
    case 's':
    case 'r':
        f.fill = ' ';
        put_string(run, &f, f.type == 's' ? vug_tv_str(run, v).str : vug_tv_repr(run, v).str);
        return;
    case 'c':
        if (vug_tv_is_string(v) && vug_tstr_chars(run, v.str) == 1) {
            put_string(run, &f, v.str);
        } else if (vug_tv_is_int(v) && vug_tv_i64(v) >= 0 && vug_tv_i64(v) <= 0x10ffff) {
            const size_t from = vug_make(run);
            vug_put_char(run, (uint32_t)vug_tv_i64(v), false);
            put_string(run, &f, vug_made(run, from).str);
        } else {
            (void)bad(run, "%c requires int or char");
        }
        return;
    default:
        break;
    }
    const bool real = is_real_type(f.type) && f.type != '%';
    if (!real && !(f.type && strchr("diuxXo", f.type))) {
        (void)vug_run_fail(run, VUG_FORMAT, "format: unsupported format character '%c'",
                           f.type > ' ' ? f.type : '?');
        return;
    }
    if (v.kind == VUG_TV_FLOAT && strchr("diu", f.type) && fabs(v.f64) < 9e18)
        v = vug_tv_int((int64_t)v.f64);
    if (!vug_tv_is_number(v) || (!real && !vug_tv_is_int(v))) {
        (void)vug_run_fail(run, VUG_FORMAT, "%%%c format: a number is required, not %s", f.type,
                           vug_tv_type(v));
        return;
    }
    if (strchr("diu", f.type))
        f.type = 'd';
    if (f.zero && f.align == '>')
        f.fill = '0', f.align = '=';
    if (vug_tv_is_number(v) && real)
        put_real(run, &f, vug_tv_f64(v));
    else
        put_integer(run, &f, vug_tv_i64(v));
}

/* (name) behind a '%': the value of that key. */
static vug_tv named_value(vug_run *run, vug_tstr s, size_t *at, vug_tv values)
{
    const size_t close = vug_tstr_find(run, s, (vug_tstr){ ")", 1, NULL }, *at);
    if (close == SIZE_MAX)
        return bad(run, "incomplete format key");
    if (values.kind != VUG_TV_DICT)
        return bad(run, "format requires a mapping");
    const vug_tv key = vug_tv_string(vug_tstr_cut(s, *at + 1, close));
    const vug_tv v = vug_tdict_get(run, values.dict, key);
    *at = close + 1;
    return v.kind == VUG_TV_ABSENT ? bad(run, "a key that is not there") : v;
}

vug_tv vug_tstr_percent(vug_run *run, vug_tstr s, vug_tv values)
{
    const size_t from = vug_make(run);
    const bool tuple = values.kind == VUG_TV_TUPLE;
    const size_t n = tuple ? values.seq->n : 1;
    size_t used = 0;
    bool named = false;
    size_t at = 0;
    while (at < s.len && vug_run_ok(run)) {
        const size_t next = vug_tstr_find(run, s, (vug_tstr){ "%", 1, NULL }, at);
        vug_put(run, vug_tstr_cut(s, at, next));
        if (next == SIZE_MAX)
            break;
        at = next + 1;
        if (at < s.len && s.ptr[at] == '%') {
            vug_put(run, vug_tstr_cut(s, at, at + 1));
            at++;
            continue;
        }
        vug_tv v = { 0 };
        const bool by_name = at < s.len && s.ptr[at] == '(';
        if (by_name)
            v = named_value(run, s, &at, values);
        named |= by_name;
        const spec f = percent_spec(run, s, &at);
        if (!by_name && used >= n)
            return bad(run, "not enough arguments for format string");
        if (!by_name)
            v = tuple ? values.seq->item[used] : values;
        used += !by_name;
        if (vug_run_ok(run))
            put_percent(run, f, v);
    }
    const bool mapping = values.kind == VUG_TV_DICT || values.kind == VUG_TV_LIST ||
                         values.kind == VUG_TV_RANGE || values.kind == VUG_TV_UNDEFINED;
    if (used < n && !named && !mapping) /* what has keys may have too many */
        return bad(run, "not all arguments converted during string formatting");
    return vug_made(run, from);
}

/* ---- .format --------------------------------------------------------------------------------- */

static spec format_spec(vug_run *run, vug_tstr s)
{
    spec f = { .fill = ' ', .precision = -1 };
    size_t at = 0;
    uint32_t cp = 0;
    const size_t first = s.len ? vug_tstr_char(s, 0, &cp) : 0;
    if (first && first < s.len && strchr("<>=^", s.ptr[first]) && s.ptr[first]) {
        f.fill = cp;
        f.align = s.ptr[first];
        at = first + 1;
    } else if (first && strchr("<>=^", s.ptr[0]) && s.ptr[0]) {
        f.align = s.ptr[at++];
    }
    if (at < s.len && strchr("+- ", s.ptr[at]) && s.ptr[at])
        f.sign = (char)(s.ptr[at] == '-' ? 0 : s.ptr[at]), at++;
    if (at < s.len && s.ptr[at] == '#')
        f.alternate = true, at++;
    if (at < s.len && s.ptr[at] == '0') {
        f.zero = true;
        f.fill = f.align ? f.fill : '0';
        at++;
    }
    f.width = number(run, s, &at);
    if (at < s.len && (s.ptr[at] == ',' || s.ptr[at] == '_'))
        f.group = s.ptr[at++];
    if (at < s.len && s.ptr[at] == '.') {
        at++;
        f.precision = number(run, s, &at);
    }
    if (at < s.len)
        f.type = s.ptr[at++];
    if (at < s.len || (f.type && !strchr("sdxXobeEfFgG%", f.type)))
        (void)bad(run, "a specification that is not supported");
    return f;
}

/* The value of "name.attribute[key]" or "0"; empty: the next one. */
static vug_tv field_value(vug_run *run, vug_tstr field, vug_tseq positional, const vug_tdict *named,
                          size_t *next)
{
    size_t at = 0;
    while (at < field.len && field.ptr[at] != '.' && field.ptr[at] != '[')
        at++;
    const vug_tstr name = vug_tstr_cut(field, 0, at);
    int64_t index = -1;
    vug_tv v = { .kind = VUG_TV_ABSENT };
    if (name.len == 0)
        index = (int64_t)(*next)++;
    else if (!vug_parse_py_int(vug_tstr_bytes(name), 10, &index) || name.ptr[0] < '0')
        v = vug_tdict_get(run, named, vug_tv_string(name));
    if (index >= 0 && (size_t)index < positional.n)
        v = positional.item[index];
    if (v.kind == VUG_TV_ABSENT)
        return bad(run, "a field for which there is no value");
    while (at < field.len && vug_run_ok(run)) {
        const bool item = field.ptr[at] == '[';
        size_t end = at + 1;
        while (end < field.len && field.ptr[end] != ']' && (item || !strchr(".[", field.ptr[end])))
            end++;
        const vug_tstr key = vug_tstr_cut(field, at + 1, end);
        int64_t i;
        if (!item)
            v = vug_tv_attr(run, v, vug_tstr_bytes(key));
        else if (vug_parse_py_int(vug_tstr_bytes(key), 10, &i))
            v = vug_tv_item(run, v, vug_tv_int(i));
        else
            v = vug_tv_item(run, v, vug_tv_string(key));
        at = end + item;
    }
    return v;
}

/* What stands between braces. */
static void put_replacement(vug_run *run, vug_tstr inside, vug_tseq positional,
                            const vug_tdict *named, size_t *next)
{
    const size_t colon = vug_tstr_find(run, inside, (vug_tstr){ ":", 1, NULL }, 0);
    vug_tstr field = vug_tstr_cut(inside, 0, colon);
    const vug_tstr how = colon == SIZE_MAX ? (vug_tstr){ "", 0, NULL }
                                           : vug_tstr_cut(inside, colon + 1, inside.len);
    char conversion = '\0';
    if (field.len >= 2 && field.ptr[field.len - 2] == '!') {
        conversion = field.ptr[field.len - 1];
        field = vug_tstr_cut(field, 0, field.len - 2);
    }
    vug_tv v = field_value(run, field, positional, named, next);
    if (conversion == 'r')
        v = vug_tv_repr(run, v);
    else if (conversion == 's')
        v = vug_tv_str(run, v);
    else if (conversion)
        (void)bad(run, "a conversion that is not supported");
    if (!vug_run_ok(run))
        return;
    const spec f = format_spec(run, how);
    if (how.len == 0)
        vug_put_str(run, v);
    else if (!vug_tv_is_string(v) && !vug_tv_is_number(v))
        (void)vug_run_fail(run, VUG_FORMAT, "unsupported format string passed to %s.__format__",
                           vug_tv_type(v));
    else if (vug_run_ok(run))
        put_value(run, &f, v);
}

vug_tv vug_tstr_format(vug_run *run, vug_tstr s, vug_tseq positional, const vug_tdict *named)
{
    const size_t from = vug_make(run);
    size_t next = 0;
    size_t plain = 0;
    for (size_t at = 0; at < s.len && vug_run_ok(run);) {
        const char c = s.ptr[at];
        if (c != '{' && c != '}') {
            at++;
            continue;
        }
        vug_put(run, vug_tstr_cut(s, plain, at));
        if (at + 1 < s.len && s.ptr[at + 1] == c) {
            vug_put(run, vug_tstr_cut(s, at, at + 1));
            plain = at += 2;
            continue;
        }
        const size_t close = vug_tstr_find(run, s, (vug_tstr){ "}", 1, NULL }, at);
        if (c == '}' || close == SIZE_MAX)
            return bad(run, c == '}' ? "single '}'" : "single '{'");
        if (memchr(s.ptr + at + 1, '{', close - at - 1))
            return bad(run, "fields inside of fields are not supported");
        put_replacement(run, vug_tstr_cut(s, at + 1, close), positional, named, &next);
        plain = at = close + 1;
    }
    vug_put(run, vug_tstr_cut(s, plain, s.len));
    return vug_made(run, from);
}
