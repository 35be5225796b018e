/* Values as text: Python's str and repr. */

#include <math.h>
#include <stdio.h>

#include "core/json_writer.h"
#include "core/number.h"
#include "text/template/template_strings.h"
#include "text/unicode.h"

/* ---- numbers ------------------------------------------------------------------------ */

/* The shortest digits that read back as `v`, in Python's layout: positional from 1e-4 to 1e16. */
static void write_float(vug_tmpl_run *run, double v)
{
    if (isnan(v) || isinf(v)) {
        vug_tmpl_write_text(run, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    vug_buf text = { 0 };
    vug_json_append_f64(&text, fabs(v));
    char digit[32];
    int n = 0;
    int point = 0; /* digits before the decimal point */
    int exponent = 0;
    bool seen_point = false;
    for (const char *c = text.ptr; c && *c; c++) {
        if (*c == 'e') {
            int64_t e = 0;
            (void)vug_parse_i64(c + 1, &e);
            exponent = (int)e;
            break;
        }
        if (*c == '.')
            seen_point = true;
        else if ((n > 0 || *c != '0') && n < 31)
            digit[n++] = *c, point += !seen_point;
        else
            point -= seen_point;
    }
    vug_buf_release(&text);
    while (n > 1 && digit[n - 1] == '0')
        n--;
    if (n == 0)
        digit[n++] = '0', point = 1;
    point += exponent;
    if (signbit(v))
        vug_tmpl_write_text(run, "-");
    if (point > 16 || point < -3)
        vug_tmpl_printf(run, "%c%s%.*se%c%02d", digit[0], n > 1 ? "." : "", n - 1, digit + 1,
                        point > 0 ? '+' : '-', point > 0 ? point - 1 : 1 - point);
    else if (point <= 0)
        vug_tmpl_printf(run, "0.%.*s%.*s", -point, "0000", n, digit);
    else if (point >= n)
        vug_tmpl_printf(run, "%.*s%.*s.0", n, digit, point - n, "0000000000000000");
    else
        vug_tmpl_printf(run, "%.*s.%.*s", point, digit, n - point, digit + point);
}

/* ---- strings --------------------------------------------------------------------------- */

static void write_repr_char(vug_tmpl_run *run, uint32_t cp, char quote, bool untrusted)
{
    static const char from[] = "\n\r\t\\";
    static const char letter[] = "nrt\\";
    const char *simple = cp && cp < 0x80 ? strchr(from, (int)cp) : NULL;
    char text[16];
    if (simple || cp == (unsigned char)quote)
        (void)snprintf(text, sizeof(text), "\\%c", simple ? letter[simple - from] : quote);
    else if (cp < 0x100)
        (void)snprintf(text, sizeof(text), "\\x%02x", cp);
    else
        (void)snprintf(text, sizeof(text), cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
    vug_tmpl_write_bytes(run, text, strlen(text), untrusted);
}

static void write_quoted(vug_tmpl_run *run, vug_tmpl_str s)
{
    const bool single = s.len && memchr(s.ptr, '\'', s.len);
    const bool both = single && memchr(s.ptr, '"', s.len);
    const char quote = single && !both ? '"' : '\'';
    vug_tmpl_write_bytes(run, &quote, 1, false);
    size_t plain = 0;
    for (size_t at = 0; at < s.len && vug_tmpl_ok(run);) {
        uint32_t cp;
        const size_t n = vug_tmpl_decode_char(s, at, &cp);
        const bool printed =
                cp < 0x80 ? cp >= ' ' && cp < 0x7f : (vug_char_class(cp) & VUG_CHAR_PRINTED) != 0;
        if (!printed || cp == '\\' || cp == (unsigned char)quote) {
            vug_tmpl_write(run, vug_tmpl_substr(s, plain, at));
            write_repr_char(run, cp, quote, vug_tmpl_is_tainted(s, at));
            plain = at + n;
        }
        at += n;
    }
    vug_tmpl_write(run, vug_tmpl_substr(s, plain, s.len));
    vug_tmpl_write_bytes(run, &quote, 1, false);
}

/* ---- str and repr ------------------------------------------------------------------------ */

static void write_items(vug_tmpl_run *run, const vug_tmpl_seq *seq, const char *open,
                        const char *close)
{
    vug_tmpl_write_text(run, open);
    for (size_t i = 0; i < seq->n && vug_tmpl_charge(run, 1); i++) {
        if (i > 0)
            vug_tmpl_write_text(run, ", ");
        vug_tmpl_write_repr(run, seq->item[i]);
    }
    vug_tmpl_write_text(run, close);
}

static void write_dict(vug_tmpl_run *run, const vug_tmpl_dict *dict)
{
    vug_tmpl_write_text(run, "{");
    for (size_t i = 0; i < dict->n && vug_tmpl_charge(run, 1); i++) {
        if (i > 0)
            vug_tmpl_write_text(run, ", ");
        vug_tmpl_write_repr(run, dict->key[i]);
        vug_tmpl_write_text(run, ": ");
        vug_tmpl_write_repr(run, dict->value[i]);
    }
    vug_tmpl_write_text(run, "}");
}

static void write_range(vug_tmpl_run *run, const vug_tmpl_range *r)
{
    vug_tmpl_printf(run, "range(%lld, %lld", (long long)r->start, (long long)r->stop);
    if (r->step != 1)
        vug_tmpl_printf(run, ", %lld", (long long)r->step);
    vug_tmpl_write_text(run, ")");
}

static void write_nested(vug_tmpl_run *run, vug_tmpl_value v)
{
    static const char *const view[] = { "dict_keys([", "dict_values([", "dict_items([" };
    if (!vug_tmpl_descend(run))
        return;
    if (v.kind == VUG_TMPL_DICT)
        write_dict(run, v.dict);
    else if (v.kind == VUG_TMPL_LIST)
        write_items(run, v.seq, "[", "]");
    else if (v.kind == VUG_TMPL_TUPLE)
        write_items(run, v.seq, "(", v.seq->n == 1 ? ",)" : ")");
    else if (v.kind == VUG_TMPL_VIEW)
        write_items(run, v.seq, view[v.seq->at], "])");
    run->depth--;
}

void vug_tmpl_write_repr(vug_tmpl_run *run, vug_tmpl_value v)
{
    switch (v.kind) {
    case VUG_TMPL_STRING:
        write_quoted(run, v.str);
        return;
    case VUG_TMPL_UNDEFINED:
        vug_tmpl_write_text(run, "Undefined");
        return;
    case VUG_TMPL_NONE:
        vug_tmpl_write_text(run, "None");
        return;
    case VUG_TMPL_BOOL:
        vug_tmpl_write_text(run, v.boolean ? "True" : "False");
        return;
    case VUG_TMPL_INT:
        vug_tmpl_printf(run, "%lld", (long long)v.i64);
        return;
    case VUG_TMPL_BIGINT:
        vug_tmpl_write(run, v.str);
        return;
    case VUG_TMPL_FLOAT:
        write_float(run, v.f64);
        return;
    case VUG_TMPL_RANGE:
        write_range(run, v.range);
        return;
    case VUG_TMPL_DICT:
    case VUG_TMPL_LIST:
    case VUG_TMPL_TUPLE:
    case VUG_TMPL_VIEW:
        write_nested(run, v);
        return;
    default:
        vug_tmpl_printf(run, "<%s>", vug_tmpl_object_name(v));
    }
}

void vug_tmpl_write_value(vug_tmpl_run *run, vug_tmpl_value v)
{
    if (vug_tmpl_is_string(v))
        vug_tmpl_write(run, v.str);
    else if (v.kind != VUG_TMPL_UNDEFINED)
        vug_tmpl_write_repr(run, v);
}

vug_tmpl_value vug_tmpl_to_str(vug_tmpl_run *run, vug_tmpl_value v)
{
    if (vug_tmpl_is_string(v))
        return v;
    const size_t from = vug_tmpl_build_begin(run);
    vug_tmpl_write_value(run, v);
    return vug_tmpl_build_end(run, from);
}

vug_tmpl_value vug_tmpl_to_repr(vug_tmpl_run *run, vug_tmpl_value v)
{
    const size_t from = vug_tmpl_build_begin(run);
    vug_tmpl_write_repr(run, v);
    return vug_tmpl_build_end(run, from);
}
