/* Values as text: Python's str and repr. */

#include <math.h>
#include <stdio.h>

#include "core/text.h"
#include "text/template/text.h"
#include "text/unicode.h"

/* ---- numbers ------------------------------------------------------------------------ */

/* The shortest digits that read back as `v`, as Python lays them out: positional from
 * 1e-4 up to 1e16. */
static void put_float(vug_run *run, double v)
{
    if (isnan(v) || isinf(v)) {
        vug_put_text(run, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    vug_buf text = { 0 };
    vug_json_write_f64(&text, fabs(v));
    char digit[32];
    int n = 0;
    int point = 0; /* where it lies, in digits */
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
        vug_put_text(run, "-");
    if (point > 16 || point < -3)
        vug_put_printf(run, "%c%s%.*se%c%02d", digit[0], n > 1 ? "." : "", n - 1, digit + 1,
                       point > 0 ? '+' : '-', point > 0 ? point - 1 : 1 - point);
    else if (point <= 0)
        vug_put_printf(run, "0.%.*s%.*s", -point, "0000", n, digit);
    else if (point >= n)
        vug_put_printf(run, "%.*s%.*s.0", n, digit, point - n, "0000000000000000");
    else
        vug_put_printf(run, "%.*s.%.*s", point, digit, n - point, digit + point);
}

/* ---- strings --------------------------------------------------------------------------- */

static void put_repr_char(vug_run *run, uint32_t cp, char quote, bool foreign)
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
    vug_put_bytes(run, text, strlen(text), foreign);
}

static void put_quoted(vug_run *run, vug_tstr s)
{
    const bool single = s.len && memchr(s.ptr, '\'', s.len);
    const bool both = single && memchr(s.ptr, '"', s.len);
    const char quote = single && !both ? '"' : '\'';
    vug_put_bytes(run, &quote, 1, false);
    size_t plain = 0;
    for (size_t at = 0; at < s.len && vug_run_ok(run);) {
        uint32_t cp;
        const size_t n = vug_tstr_char(s, at, &cp);
        const bool printed =
                cp < 0x80 ? cp >= ' ' && cp < 0x7f : (vug_char_class(cp) & VUG_CHAR_PRINTED) != 0;
        if (!printed || cp == '\\' || cp == (unsigned char)quote) {
            vug_put(run, vug_tstr_cut(s, plain, at));
            put_repr_char(run, cp, quote, vug_tstr_foreign(s, at));
            plain = at + n;
        }
        at += n;
    }
    vug_put(run, vug_tstr_cut(s, plain, s.len));
    vug_put_bytes(run, &quote, 1, false);
}

void vug_put_escaped(vug_run *run, vug_tstr s)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = { "&amp;", "&lt;", "&gt;", "&#34;", "&#39;" };
    size_t plain = 0;
    for (size_t at = 0; at < s.len && vug_run_ok(run); at++) {
        const char *is = s.ptr[at] ? strchr(special, s.ptr[at]) : NULL;
        if (!is)
            continue;
        vug_put(run, vug_tstr_cut(s, plain, at));
        vug_put_bytes(run, entity[is - special], strlen(entity[is - special]),
                      vug_tstr_foreign(s, at));
        plain = at + 1;
    }
    vug_put(run, vug_tstr_cut(s, plain, s.len));
}

/* ---- str and repr ------------------------------------------------------------------------ */

static void put_items(vug_run *run, const vug_tseq *seq, const char *open, const char *close)
{
    vug_put_text(run, open);
    for (size_t i = 0; i < seq->n && vug_run_spend(run, 1); i++) {
        if (i > 0)
            vug_put_text(run, ", ");
        vug_put_repr(run, seq->item[i]);
    }
    vug_put_text(run, close);
}

static void put_dict(vug_run *run, const vug_tdict *dict)
{
    vug_put_text(run, "{");
    for (size_t i = 0; i < dict->n && vug_run_spend(run, 1); i++) {
        if (i > 0)
            vug_put_text(run, ", ");
        vug_put_repr(run, dict->key[i]);
        vug_put_text(run, ": ");
        vug_put_repr(run, dict->value[i]);
    }
    vug_put_text(run, "}");
}

static void put_range(vug_run *run, const vug_trange *r)
{
    vug_put_printf(run, "range(%lld, %lld", (long long)r->start, (long long)r->stop);
    if (r->step != 1)
        vug_put_printf(run, ", %lld", (long long)r->step);
    vug_put_text(run, ")");
}

static void put_nested(vug_run *run, vug_tv v)
{
    static const char *const view[] = { "dict_keys([", "dict_values([", "dict_items([" };
    if (!vug_deeper(run))
        return;
    if (v.kind == VUG_TV_DICT)
        put_dict(run, v.dict);
    else if (v.kind == VUG_TV_LIST)
        put_items(run, v.seq, "[", "]");
    else if (v.kind == VUG_TV_TUPLE)
        put_items(run, v.seq, "(", v.seq->n == 1 ? ",)" : ")");
    else if (v.kind == VUG_TV_VIEW)
        put_items(run, v.seq, view[v.seq->at], "])");
    run->depth--;
}

void vug_put_repr(vug_run *run, vug_tv v)
{
    switch (v.kind) {
    case VUG_TV_STRING:
        if (v.safe)
            vug_put_text(run, "Markup(");
        put_quoted(run, v.str);
        if (v.safe)
            vug_put_text(run, ")");
        return;
    case VUG_TV_UNDEFINED:
        vug_put_text(run, "Undefined");
        return;
    case VUG_TV_NONE:
        vug_put_text(run, "None");
        return;
    case VUG_TV_BOOL:
        vug_put_text(run, v.boolean ? "True" : "False");
        return;
    case VUG_TV_INT:
        vug_put_printf(run, "%lld", (long long)v.i64);
        return;
    case VUG_TV_BIG:
        vug_put(run, v.str);
        return;
    case VUG_TV_FLOAT:
        put_float(run, v.f64);
        return;
    case VUG_TV_RANGE:
        put_range(run, v.range);
        return;
    case VUG_TV_DICT:
    case VUG_TV_LIST:
    case VUG_TV_TUPLE:
    case VUG_TV_VIEW:
        put_nested(run, v);
        return;
    default:
        vug_put_printf(run, "<%s>", vug_tv_object(v));
    }
}

void vug_put_str(vug_run *run, vug_tv v)
{
    if (vug_tv_is_string(v))
        vug_put(run, v.str);
    else if (v.kind != VUG_TV_UNDEFINED)
        vug_put_repr(run, v);
}

vug_tv vug_tv_str(vug_run *run, vug_tv v)
{
    if (vug_tv_is_string(v))
        return v;
    const size_t from = vug_make(run);
    vug_put_str(run, v);
    return vug_made(run, from);
}

vug_tv vug_tv_repr(vug_run *run, vug_tv v)
{
    const size_t from = vug_make(run);
    vug_put_repr(run, v);
    return vug_made(run, from);
}
