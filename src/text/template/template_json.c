/* Values from JSON, and as JSON in the layout of Python's json.dumps. */

#include <math.h>
#include <stdio.h>

#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

/* ---- reading --------------------------------------------------------------------------- */

static vug_tmpl_value json_number(const vug_jv *v, bool untrusted)
{
    if (v->is_int)
        return vug_tmpl_int(v->i64);
    for (size_t i = 0; i < v->str.len; i++) {
        if (strchr(".eE", v->str.ptr[i]))
            return vug_tmpl_float(v->f64);
    }
    /* Too large for arithmetic, but printed as given. */
    return (vug_tmpl_value){ .kind = VUG_TMPL_BIGINT,
                             .str = { v->str.ptr, v->str.len,
                                      untrusted ? VUG_TMPL_TAINT_ALL : NULL } };
}

static vug_tmpl_value json_value(vug_tmpl_run *run, const vug_jv *v, bool untrusted, int depth);

static vug_tmpl_value json_members(vug_tmpl_run *run, const vug_jv *v, bool untrusted, int depth)
{
    const bool is_dict = v->type == VUG_JSON_OBJECT;
    const uint8_t *taint = untrusted ? VUG_TMPL_TAINT_ALL : NULL;
    vug_tmpl_value *key = is_dict ? vug_tmpl_alloc(run, v->n, sizeof(*key)) : NULL;
    vug_tmpl_value *value = vug_tmpl_alloc(run, v->n, sizeof(*value));
    if (!value || (is_dict && !key))
        return vug_tmpl_none();
    size_t n = 0;
    for (const vug_jv *m = v->child; m && n < v->n && vug_tmpl_charge(run, 1); m = m->next) {
        if (is_dict)
            key[n] = vug_tmpl_string((vug_tmpl_str){ m->key.ptr, m->key.len, taint });
        value[n++] = json_value(run, m, untrusted, depth + 1);
    }
    return is_dict ? vug_tmpl_new_dict(run, key, value, n)
                   : vug_tmpl_new_seq(run, VUG_TMPL_LIST, value, n);
}

static vug_tmpl_value json_value(vug_tmpl_run *run, const vug_jv *v, bool untrusted, int depth)
{
    if (depth > VUG_TMPL_MAX_DEPTH)
        return vug_tmpl_fail(run, VUG_FORMAT, "a variable is nested deeper than %d levels",
                             VUG_TMPL_MAX_DEPTH);
    switch (v->type) {
    case VUG_JSON_BOOL:
        return vug_tmpl_bool(v->boolean);
    case VUG_JSON_NUMBER:
        return json_number(v, untrusted);
    case VUG_JSON_STRING:
        return vug_tmpl_string(
                (vug_tmpl_str){ v->str.ptr, v->str.len, untrusted ? VUG_TMPL_TAINT_ALL : NULL });
    case VUG_JSON_ARRAY:
    case VUG_JSON_OBJECT:
        return json_members(run, v, untrusted, depth);
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        break;
    }
    return vug_tmpl_none();
}

vug_tmpl_value vug_tmpl_from_json(vug_tmpl_run *run, const vug_jv *v, bool untrusted)
{
    return json_value(run, v, untrusted, 0);
}

/* ---- writing ----------------------------------------------------------------------------- */

static void write_json_escape(vug_tmpl_run *run, uint32_t cp, bool untrusted)
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
    vug_tmpl_write_bytes(run, text, strlen(text), untrusted);
}

static void write_json_string(vug_tmpl_run *run, vug_tmpl_str s, bool ascii)
{
    vug_tmpl_write_text(run, "\"");
    size_t plain = 0;
    for (size_t at = 0; at < s.len && vug_tmpl_ok(run);) {
        uint32_t cp;
        const size_t n = vug_tmpl_decode_char(s, at, &cp);
        if (cp < ' ' || cp == '"' || cp == '\\' || (ascii && cp >= 0x7f)) {
            vug_tmpl_write(run, vug_tmpl_substr(s, plain, at));
            write_json_escape(run, cp, vug_tmpl_is_tainted(s, at));
            plain = at + n;
        }
        at += n;
    }
    vug_tmpl_write(run, vug_tmpl_substr(s, plain, s.len));
    vug_tmpl_write_text(run, "\"");
}

static void write_json(vug_tmpl_run *run, vug_tmpl_value v, const vug_tmpl_json_style *style,
                       int level);

static void write_scalar(vug_tmpl_run *run, vug_tmpl_value v)
{
    if (v.kind == VUG_TMPL_FLOAT && !isfinite(v.f64))
        vug_tmpl_write_text(run, isnan(v.f64) ? "NaN" : v.f64 < 0 ? "-Infinity" : "Infinity");
    else if (v.kind == VUG_TMPL_BOOL)
        vug_tmpl_write_text(run, v.boolean ? "true" : "false");
    else if (v.kind == VUG_TMPL_NONE)
        vug_tmpl_write_text(run, "null");
    else if (vug_tmpl_is_number(v) || v.kind == VUG_TMPL_BIGINT)
        vug_tmpl_write_repr(run, v);
    else
        (void)vug_tmpl_fail(run, VUG_FORMAT, "Object of type %s is not JSON serializable",
                            vug_tmpl_type_name(v));
}

static void write_json_key(vug_tmpl_run *run, vug_tmpl_value key, const vug_tmpl_json_style *style)
{
    if (vug_tmpl_is_string(key)) {
        write_json_string(run, key.str, style->ascii);
    } else if (key.kind == VUG_TMPL_TUPLE) {
        (void)vug_tmpl_fail(run, VUG_FORMAT,
                            "keys must be str, int, float, bool or None, not tuple");
    } else {
        vug_tmpl_write_text(run, "\"");
        write_scalar(run, key);
        vug_tmpl_write_text(run, "\"");
    }
}

static bool has_indent(const vug_tmpl_json_style *style)
{
    return style->indent.kind != VUG_TMPL_ABSENT && style->indent.kind != VUG_TMPL_NONE;
}

/* A line end and the indent, where there is one. */
static void write_line(vug_tmpl_run *run, const vug_tmpl_json_style *style, int level)
{
    if (!has_indent(style))
        return;
    vug_tmpl_write_text(run, "\n");
    if (vug_tmpl_is_string(style->indent))
        vug_tmpl_write_repeated(run, style->indent.str, level);
    else
        for (int64_t i = 0; i < level && vug_tmpl_as_i64(style->indent) > 0 && vug_tmpl_ok(run);
             i++)
            vug_tmpl_write_repeated(run, (vug_tmpl_str){ " ", 1, NULL },
                                    vug_tmpl_as_i64(style->indent));
}

static void write_separator(vug_tmpl_run *run, vug_tmpl_value given, const char *otherwise)
{
    if (vug_tmpl_is_string(given))
        vug_tmpl_write(run, given.str);
    else
        vug_tmpl_write_text(run, otherwise);
}

static void write_json_items(vug_tmpl_run *run, const vug_tmpl_seq *seq,
                             const vug_tmpl_json_style *style, int level)
{
    vug_tmpl_write_text(run, "[");
    for (size_t i = 0; i < seq->n && vug_tmpl_charge(run, 1); i++) {
        if (i > 0)
            write_separator(run, style->item_separator, has_indent(style) ? "," : ", ");
        write_line(run, style, level + 1);
        write_json(run, seq->item[i], style, level + 1);
    }
    if (seq->n > 0)
        write_line(run, style, level);
    vug_tmpl_write_text(run, "]");
}

static void write_json_dict(vug_tmpl_run *run, const vug_tmpl_dict *dict,
                            const vug_tmpl_json_style *style, int level)
{
    vug_tmpl_value *pair = NULL;
    if (style->sorted) {
        pair = vug_tmpl_alloc(run, dict->n, sizeof(*pair));
        for (size_t i = 0; pair && i < dict->n; i++)
            pair[i] = vug_tmpl_new_pair(run, dict->key[i], dict->value[i]);
        if (pair && vug_tmpl_ok(run))
            vug_tmpl_sort(run, pair, dict->key, dict->n, false);
    }
    vug_tmpl_write_text(run, "{");
    for (size_t i = 0; i < dict->n && vug_tmpl_charge(run, 1); i++) {
        if (i > 0)
            write_separator(run, style->item_separator, has_indent(style) ? "," : ", ");
        write_line(run, style, level + 1);
        write_json_key(run, pair ? pair[i].seq->item[0] : dict->key[i], style);
        write_separator(run, style->key_separator, ": ");
        write_json(run, pair ? pair[i].seq->item[1] : dict->value[i], style, level + 1);
    }
    if (dict->n > 0)
        write_line(run, style, level);
    vug_tmpl_write_text(run, "}");
}

static void write_json(vug_tmpl_run *run, vug_tmpl_value v, const vug_tmpl_json_style *style,
                       int level)
{
    if (!vug_tmpl_descend(run))
        return;
    if (vug_tmpl_is_string(v))
        write_json_string(run, v.str, style->ascii);
    else if (v.kind == VUG_TMPL_LIST || v.kind == VUG_TMPL_TUPLE)
        write_json_items(run, v.seq, style, level);
    else if (v.kind == VUG_TMPL_DICT)
        write_json_dict(run, v.dict, style, level);
    else
        write_scalar(run, v);
    run->depth--;
}

vug_tmpl_value vug_tmpl_to_json(vug_tmpl_run *run, vug_tmpl_value v,
                                const vug_tmpl_json_style *style)
{
    const size_t from = vug_tmpl_build_begin(run);
    if (has_indent(style) && !vug_tmpl_is_string(style->indent) && !vug_tmpl_is_int(style->indent))
        return vug_tmpl_fail(run, VUG_FORMAT, "tojson: an indent of type %s",
                             vug_tmpl_type_name(style->indent));
    write_json(run, v, style, 0);
    return vug_tmpl_build_end(run, from);
}
