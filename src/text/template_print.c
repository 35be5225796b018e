/* Values as text: Python's str and repr, and json.dumps. */

#include <math.h>
#include <stdio.h>

#include "core/text.h"
#include "text/template_text.h"
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

static bool enter(vug_run *run)
{
    if (run->depth >= VUG_RUN_MAX_DEPTH) {
        (void)vug_run_fail(run, VUG_FORMAT, "a value nested deeper than %d levels",
                           VUG_RUN_MAX_DEPTH);
        return false;
    }
    run->depth++;
    return true;
}

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
    const long long stop = (long long)(r->start + (int64_t)r->n * r->step);
    if (r->step == 1)
        vug_put_printf(run, "range(%lld, %lld)", (long long)r->start, stop);
    else
        vug_put_printf(run, "range(%lld, %lld, %lld)", (long long)r->start, stop,
                       (long long)r->step);
}

static void put_nested(vug_run *run, vug_tv v)
{
    static const char *const view[] = { "dict_keys([", "dict_values([", "dict_items([" };
    if (!enter(run))
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

/* ---- JSON -------------------------------------------------------------------------------- */

static void put_json_escape(vug_run *run, uint32_t cp, bool foreign)
{
    static const char from[] = "\"\\\n\r\t\f\b";
    static const char letter[] = "\"\\nrtfb";
    const char *simple = cp && cp < 0x80 ? strchr(from, (int)cp) : NULL;
    char text[16];
    if (simple)
        (void)snprintf(text, sizeof(text), "\\%c", letter[simple - from]);
    else if (cp < 0x10000)
        (void)snprintf(text, sizeof(text), "\\u%04x", cp);
    else
        (void)snprintf(text, sizeof(text), "\\u%04x\\u%04x", 0xd800 + ((cp - 0x10000) >> 10),
                       0xdc00 + ((cp - 0x10000) & 0x3ff));
    vug_put_bytes(run, text, strlen(text), foreign);
}

static void put_json_string(vug_run *run, vug_tstr s, bool ascii)
{
    vug_put_text(run, "\"");
    size_t plain = 0;
    for (size_t at = 0; at < s.len && vug_run_ok(run);) {
        uint32_t cp;
        const size_t n = vug_tstr_char(s, at, &cp);
        if (cp < ' ' || cp == '"' || cp == '\\' || (ascii && cp >= 0x7f)) {
            vug_put(run, vug_tstr_cut(s, plain, at));
            put_json_escape(run, cp, vug_tstr_foreign(s, at));
            plain = at + n;
        }
        at += n;
    }
    vug_put(run, vug_tstr_cut(s, plain, s.len));
    vug_put_text(run, "\"");
}

static void put_json(vug_run *run, vug_tv v, const vug_json_style *style, int level);

static void put_scalar(vug_run *run, vug_tv v)
{
    if (v.kind == VUG_TV_FLOAT && !isfinite(v.f64))
        vug_put_text(run, isnan(v.f64) ? "NaN" : v.f64 < 0 ? "-Infinity" : "Infinity");
    else if (v.kind == VUG_TV_BOOL)
        vug_put_text(run, v.boolean ? "true" : "false");
    else if (v.kind == VUG_TV_NONE)
        vug_put_text(run, "null");
    else if (vug_tv_is_number(v) || v.kind == VUG_TV_BIG)
        vug_put_repr(run, v);
    else
        (void)vug_run_fail(run, VUG_FORMAT, "Object of type %s is not JSON serializable",
                           vug_tv_type(v));
}

static void put_json_key(vug_run *run, vug_tv key, const vug_json_style *style)
{
    if (vug_tv_is_string(key)) {
        put_json_string(run, key.str, style->ascii);
    } else if (key.kind == VUG_TV_TUPLE) {
        (void)vug_run_fail(run, VUG_FORMAT,
                           "keys must be str, int, float, bool or None, not tuple");
    } else {
        vug_put_text(run, "\"");
        put_scalar(run, key);
        vug_put_text(run, "\"");
    }
}

/* A new line, where there is an indent. */
static void put_line(vug_run *run, const vug_json_style *style, int level)
{
    if (!vug_given_indent(style))
        return;
    vug_put_text(run, "\n");
    if (vug_tv_is_string(style->indent))
        vug_put_repeated(run, style->indent.str, level);
    else
        for (int64_t i = 0; i < level && vug_tv_i64(style->indent) > 0 && vug_run_ok(run); i++)
            vug_put_repeated(run, (vug_tstr){ " ", 1, NULL }, vug_tv_i64(style->indent));
}

static void put_separator(vug_run *run, vug_tv given, const char *otherwise)
{
    if (vug_tv_is_string(given))
        vug_put(run, given.str);
    else
        vug_put_text(run, otherwise);
}

static void put_json_items(vug_run *run, const vug_tseq *seq, const vug_json_style *style,
                           int level)
{
    vug_put_text(run, "[");
    for (size_t i = 0; i < seq->n && vug_run_spend(run, 1); i++) {
        if (i > 0)
            put_separator(run, style->item_separator, vug_given_indent(style) ? "," : ", ");
        put_line(run, style, level + 1);
        put_json(run, seq->item[i], style, level + 1);
    }
    if (seq->n > 0)
        put_line(run, style, level);
    vug_put_text(run, "]");
}

static void put_json_dict(vug_run *run, const vug_tdict *dict, const vug_json_style *style,
                          int level)
{
    vug_tv *pair = NULL;
    if (style->sorted) {
        pair = vug_run_alloc(run, dict->n, sizeof(*pair));
        for (size_t i = 0; pair && i < dict->n; i++)
            pair[i] = vug_tv_pair(run, dict->key[i], dict->value[i]);
        if (pair && vug_run_ok(run))
            vug_tv_sort(run, pair, dict->key, dict->n, false);
    }
    vug_put_text(run, "{");
    for (size_t i = 0; i < dict->n && vug_run_spend(run, 1); i++) {
        if (i > 0)
            put_separator(run, style->item_separator, vug_given_indent(style) ? "," : ", ");
        put_line(run, style, level + 1);
        put_json_key(run, pair ? pair[i].seq->item[0] : dict->key[i], style);
        put_separator(run, style->key_separator, ": ");
        put_json(run, pair ? pair[i].seq->item[1] : dict->value[i], style, level + 1);
    }
    if (dict->n > 0)
        put_line(run, style, level);
    vug_put_text(run, "}");
}

static void put_json(vug_run *run, vug_tv v, const vug_json_style *style, int level)
{
    if (!enter(run))
        return;
    if (vug_tv_is_string(v))
        put_json_string(run, v.str, style->ascii);
    else if (v.kind == VUG_TV_LIST || v.kind == VUG_TV_TUPLE)
        put_json_items(run, v.seq, style, level);
    else if (v.kind == VUG_TV_DICT)
        put_json_dict(run, v.dict, style, level);
    else
        put_scalar(run, v);
    run->depth--;
}

vug_tv vug_tv_to_json(vug_run *run, vug_tv v, const vug_json_style *style)
{
    const size_t from = vug_make(run);
    if (vug_given_indent(style) && !vug_tv_is_string(style->indent) &&
        !vug_tv_is_int(style->indent))
        return vug_run_fail(run, VUG_FORMAT, "tojson: an indent of type %s",
                            vug_tv_type(style->indent));
    put_json(run, v, style, 0);
    return vug_made(run, from);
}
