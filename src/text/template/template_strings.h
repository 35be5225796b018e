#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_STRINGS_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_STRINGS_H

/* Strings with a taint per byte: making, cutting and searching them, and values as text. */

#include "text/template/template_run.h"

/* ---- making a string ------------------------------------------------------------- */

/* A string is written behind the output and then cut off from it. Begin, write, end: */

static inline size_t vug_tmpl_build_begin(const vug_tmpl_run *run)
{
    return run->out.len;
}
void vug_tmpl_write(vug_tmpl_run *run, vug_tmpl_str s);
void vug_tmpl_write_text(vug_tmpl_run *run, const char *text);
void vug_tmpl_write_bytes(vug_tmpl_run *run, const char *bytes, size_t n, bool untrusted);
void vug_tmpl_write_char(vug_tmpl_run *run, uint32_t cp, bool untrusted);
void vug_tmpl_printf(vug_tmpl_run *run, const char *fmt, ...) VUG_PRINTF(2, 3);
void vug_tmpl_write_repeated(vug_tmpl_run *run, vug_tmpl_str s, int64_t times);
/* The string that was written since `from` = vug_tmpl_build_begin(run). */
vug_tmpl_value vug_tmpl_build_end(vug_tmpl_run *run, size_t from);

/* ---- values as text ----------------------------------------------------------- */

void vug_tmpl_write_value(vug_tmpl_run *run, vug_tmpl_value v); /* str(v) */
void vug_tmpl_write_repr(vug_tmpl_run *run, vug_tmpl_value v);  /* repr(v) */
vug_tmpl_value vug_tmpl_to_str(vug_tmpl_run *run, vug_tmpl_value v);
vug_tmpl_value vug_tmpl_to_repr(vug_tmpl_run *run, vug_tmpl_value v);

/* ---- cutting -------------------------------------------------------------------- */

static inline bool vug_tmpl_is_tainted(vug_tmpl_str s, size_t i)
{
    return s.taint == VUG_TMPL_TAINT_ALL || (s.taint && s.taint[i]);
}
static inline vug_str vug_tmpl_str_bytes(vug_tmpl_str s)
{
    return (vug_str){ s.ptr, s.len };
}
vug_tmpl_str vug_tmpl_substr(vug_tmpl_str s, size_t from, size_t to); /* in bytes */
static inline bool vug_tmpl_is_char_start(char c)                     /* not a continuation byte */
{
    return ((unsigned char)c & 0xc0) != 0x80;
}
/* Decodes the character at byte `at` and returns its length; an invalid byte counts as one. */
size_t vug_tmpl_decode_char(vug_tmpl_str s, size_t at, uint32_t *cp);
size_t vug_tmpl_count_chars(vug_tmpl_run *run, vug_tmpl_str s);
size_t vug_tmpl_char_offset(vug_tmpl_run *run, vug_tmpl_str s,
                            size_t index); /* of character `index` */
size_t vug_tmpl_char_index(vug_tmpl_run *run, vug_tmpl_str s, size_t offset); /* the reverse */
/* Search from `from` on, or before `to`. SIZE_MAX: not found. */
size_t vug_tmpl_find(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str what, size_t from);
size_t vug_tmpl_find_last(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str what, size_t to);
bool vug_tmpl_is_space(uint32_t cp);
enum { VUG_TMPL_STRIP_LEFT = 1, VUG_TMPL_STRIP_RIGHT = 2 };
/* Removes the characters in `set`; NULL: white space. `run` may be NULL. */
vug_tmpl_str vug_tmpl_strip(vug_tmpl_run *run, vug_tmpl_str s, const vug_tmpl_str *set, int sides);
vug_tmpl_value vug_tmpl_replace(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str old,
                                vug_tmpl_str by, int64_t count);
vug_tmpl_value vug_tmpl_join(vug_tmpl_run *run, vug_tmpl_value by, vug_tmpl_seq parts);
typedef enum {
    VUG_TMPL_CASE_LOWER,
    VUG_TMPL_CASE_UPPER,
    VUG_TMPL_CASE_TITLE,
    VUG_TMPL_CASE_CAPITAL
} vug_tmpl_case;
vug_tmpl_value vug_tmpl_change_case(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_case how);
vug_tmpl_value vug_tmpl_split(vug_tmpl_run *run, vug_tmpl_str s, const vug_tmpl_str *by,
                              int64_t max, bool from_right);
vug_tmpl_value vug_tmpl_split_lines(vug_tmpl_run *run, vug_tmpl_str s, bool keep_ends);
/* s % values, and s.format(..) */
vug_tmpl_value vug_tmpl_format_percent(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_value values);
vug_tmpl_value vug_tmpl_format_braces(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_seq positional,
                                      const vug_tmpl_dict *named);

/* ---- numbers in text ---------------------------------------------------------------- */

/* Python's float(text) and int(text, base). False: the text is no number. */
bool vug_tmpl_parse_float(vug_str s, double *out);
bool vug_tmpl_parse_int(vug_str s, int base, int64_t *out);

#endif
