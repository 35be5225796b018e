/* Values as JSON, as Python's json.dumps lays it out. */

#include <math.h>
#include <stdio.h>

#include "text/template/text.h"

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

static bool has_indent(const vug_json_style *style)
{
    return style->indent.kind != VUG_TV_ABSENT && style->indent.kind != VUG_TV_NONE;
}

/* A new line, where there is an indent. */
static void put_line(vug_run *run, const vug_json_style *style, int level)
{
    if (!has_indent(style))
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
            put_separator(run, style->item_separator, has_indent(style) ? "," : ", ");
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
            put_separator(run, style->item_separator, has_indent(style) ? "," : ", ");
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
    if (!vug_deeper(run))
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
    if (has_indent(style) && !vug_tv_is_string(style->indent) && !vug_tv_is_int(style->indent))
        return vug_run_fail(run, VUG_FORMAT, "tojson: an indent of type %s",
                            vug_tv_type(style->indent));
    put_json(run, v, style, 0);
    return vug_made(run, from);
}
