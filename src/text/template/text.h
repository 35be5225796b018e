#ifndef VUG_TEXT_TEMPLATE_TEXT_H
#define VUG_TEXT_TEMPLATE_TEXT_H

/* Strings with marks: cutting and searching them, and making them. */

#include "text/template/value.h"

/* ---- making: bytes go behind the output and are then taken away from it ------ */

static inline size_t vug_make(const vug_run *run)
{
    return run->out.len;
}
void vug_put(vug_run *run, vug_tstr s);
void vug_put_text(vug_run *run, const char *text);
void vug_put_bytes(vug_run *run, const char *bytes, size_t n, bool foreign);
void vug_put_char(vug_run *run, uint32_t cp, bool foreign);
void vug_put_printf(vug_run *run, const char *fmt, ...) VUG_PRINTF(2, 3);
void vug_put_repeated(vug_run *run, vug_tstr s, int64_t times);
/* What was put since `from` = vug_make(..). */
vug_tv vug_made(vug_run *run, size_t from);

/* ---- values as text ----------------------------------------------------------- */

void vug_put_str(vug_run *run, vug_tv v);       /* str(v) */
void vug_put_repr(vug_run *run, vug_tv v);      /* repr(v) */
void vug_put_escaped(vug_run *run, vug_tstr s); /* for HTML, as markupsafe */
/* str(v) that stays markup if it was. */
vug_tv vug_tv_str(vug_run *run, vug_tv v);
vug_tv vug_tv_repr(vug_run *run, vug_tv v);
/* json.dumps; ABSENT or none: Python's defaults. */
typedef struct {
    vug_tv indent, item_separator, key_separator;
    bool ascii, sorted;
} vug_json_style;
vug_tv vug_tv_to_json(vug_run *run, vug_tv v, const vug_json_style *style);

/* ---- cutting -------------------------------------------------------------------- */

static inline bool vug_tstr_foreign(vug_tstr s, size_t i)
{
    return s.mark == VUG_MARK_ALL || (s.mark && s.mark[i]);
}
static inline vug_str vug_tstr_bytes(vug_tstr s)
{
    return (vug_str){ s.ptr, s.len };
}
vug_tstr vug_tstr_cut(vug_tstr s, size_t from, size_t to); /* in bytes */
static inline bool vug_begins_char(char c)                 /* or goes on inside of one */
{
    return ((unsigned char)c & 0xc0) != 0x80;
}
/* The character at byte `at`, with its length; a byte alone where it is none. */
size_t vug_tstr_char(vug_tstr s, size_t at, uint32_t *cp);
size_t vug_tstr_chars(vug_run *run, vug_tstr s);                /* how many */
size_t vug_tstr_offset(vug_run *run, vug_tstr s, size_t index); /* of a character */
size_t vug_tstr_index(vug_run *run, vug_tstr s, size_t offset); /* back */
/* From `from` on; SIZE_MAX: not there. Linear. */
size_t vug_tstr_find(vug_run *run, vug_tstr s, vug_tstr what, size_t from);
size_t vug_tstr_find_last(vug_run *run, vug_tstr s, vug_tstr what, size_t to);
bool vug_py_is_space(uint32_t cp);
enum { VUG_STRIP_LEFT = 1, VUG_STRIP_RIGHT = 2 };
/* `set` are the characters to remove; NULL: white space. */
vug_tstr vug_tstr_strip(vug_run *run, vug_tstr s, const vug_tstr *set, int sides);
vug_tv vug_tstr_replace(vug_run *run, vug_tstr s, vug_tstr old, vug_tstr by, int64_t count);
vug_tv vug_tstr_join(vug_run *run, vug_tv by, vug_tseq parts);
typedef enum {
    VUG_CASE_LOWER,
    VUG_CASE_UPPER,
    VUG_CASE_TITLE,
    VUG_CASE_CAPITAL,
    VUG_CASE_SWAP
} vug_case;
vug_tv vug_tstr_case(vug_run *run, vug_tstr s, vug_case how);
vug_tv vug_tstr_split(vug_run *run, vug_tstr s, const vug_tstr *by, int64_t max, bool from_right);
vug_tv vug_tstr_lines(vug_run *run, vug_tstr s, bool keep_ends);
/* s % values, and s.format(..). */
vug_tv vug_tstr_percent(vug_run *run, vug_tstr s, vug_tv values);
vug_tv vug_tstr_format(vug_run *run, vug_tstr s, vug_tseq positional, const vug_tdict *named);

/* ---- numbers in text ---------------------------------------------------------------- */

/* Python's float(text) and int(text, base); false when it is none. */
bool vug_parse_py_float(vug_str s, double *out);
bool vug_parse_py_int(vug_str s, int base, int64_t *out);

#endif
