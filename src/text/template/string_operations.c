/* Replacing, joining and splitting strings, and changing their case. */

#include "text/template/template_strings.h"
#include "text/unicode.h"

/* Writes `by` between all characters and around them. */
static void write_between(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str by, int64_t count)
{
    uint32_t cp;
    for (size_t at = 0; vug_tmpl_ok(run);) {
        if (count-- != 0)
            vug_tmpl_write(run, by);
        else
            count = 0;
        if (at >= s.len)
            break;
        const size_t n = vug_tmpl_decode_char(s, at, &cp);
        vug_tmpl_write(run, vug_tmpl_substr(s, at, at + n));
        at += n;
    }
}

vug_tmpl_value vug_tmpl_replace(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str old,
                                vug_tmpl_str by, int64_t count)
{
    const size_t from = vug_tmpl_build_begin(run);
    if (old.len == 0) {
        write_between(run, s, by, count);
        return vug_tmpl_build_end(run, from);
    }
    size_t at = 0;
    while (count != 0 && vug_tmpl_ok(run)) {
        const size_t found = vug_tmpl_find(run, s, old, at);
        if (found == SIZE_MAX)
            break;
        vug_tmpl_write(run, vug_tmpl_substr(s, at, found));
        vug_tmpl_write(run, by);
        (void)vug_tmpl_charge(run, 1);
        at = found + old.len;
        count--;
    }
    if (at == 0) {
        run->out.len = run->taint.len = from;
        return vug_tmpl_string(s);
    }
    vug_tmpl_write(run, vug_tmpl_substr(s, at, s.len));
    return vug_tmpl_build_end(run, from);
}

vug_tmpl_value vug_tmpl_join(vug_tmpl_run *run, vug_tmpl_value by, vug_tmpl_seq parts)
{
    const size_t from = vug_tmpl_build_begin(run);
    for (size_t i = 0; i < parts.n && vug_tmpl_charge(run, 1); i++) {
        if (!vug_tmpl_is_string(parts.item[i]))
            return vug_tmpl_fail(run, VUG_FORMAT,
                                 "sequence item %zu: expected str instance, %s found", i,
                                 vug_tmpl_type_name(parts.item[i]));
        if (i > 0)
            vug_tmpl_write(run, by.str);
        vug_tmpl_write(run, parts.item[i].str);
    }
    return vug_tmpl_build_end(run, from);
}

static void append_part(vug_tmpl_run *run, vug_tmpl_list *list, vug_tmpl_str s, size_t from,
                        size_t to)
{
    (void)vug_tmpl_charge(run, 1);
    vug_tmpl_list_append(run, list, vug_tmpl_string(vug_tmpl_substr(s, from, to)));
}

static size_t skip_while_space(vug_tmpl_str s, size_t at, bool space)
{
    uint32_t cp;
    while (at < s.len) {
        const size_t n = vug_tmpl_decode_char(s, at, &cp);
        if (vug_tmpl_is_space(cp) != space)
            break;
        at += n;
    }
    return at;
}

static void split_space(vug_tmpl_run *run, vug_tmpl_str s, int64_t max, vug_tmpl_list *out)
{
    size_t at = skip_while_space(s, 0, true);
    for (; at < s.len && vug_tmpl_ok(run); max--) {
        const size_t end = max == 0 ? vug_tmpl_strip(run, s, NULL, VUG_TMPL_STRIP_RIGHT).len
                                    : skip_while_space(s, at, false);
        append_part(run, out, s, at, end);
        at = max == 0 ? s.len : skip_while_space(s, end, true);
    }
}

static void reverse_list(vug_tmpl_list *list)
{
    for (size_t i = 0; i < list->n / 2; i++) {
        const vug_tmpl_value v = list->item[i];
        list->item[i] = list->item[list->n - 1 - i];
        list->item[list->n - 1 - i] = v;
    }
}

static void split_space_right(vug_tmpl_run *run, vug_tmpl_str s, int64_t max, vug_tmpl_list *out)
{
    vug_tmpl_str rest = vug_tmpl_strip(run, s, NULL, VUG_TMPL_STRIP_RIGHT);
    for (; rest.len > 0 && vug_tmpl_ok(run); max--) {
        size_t word = rest.len;
        uint32_t cp;
        while (word > 0) {
            size_t start = word - 1;
            while (start > 0 && !vug_tmpl_is_char_start(rest.ptr[start]))
                start--;
            (void)vug_tmpl_decode_char(rest, start, &cp);
            if (max != 0 && vug_tmpl_is_space(cp))
                break;
            word = start;
        }
        append_part(run, out, rest, word, rest.len);
        rest = vug_tmpl_strip(run, vug_tmpl_substr(rest, 0, word), NULL, VUG_TMPL_STRIP_RIGHT);
    }
    reverse_list(out);
}

static void split_by(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str by, int64_t max,
                     vug_tmpl_list *out)
{
    size_t at = 0;
    for (; max != 0 && vug_tmpl_ok(run); max--) {
        const size_t found = vug_tmpl_find(run, s, by, at);
        if (found == SIZE_MAX)
            break;
        append_part(run, out, s, at, found);
        at = found + by.len;
    }
    append_part(run, out, s, at, s.len);
}

static void split_by_right(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str by, int64_t max,
                           vug_tmpl_list *out)
{
    size_t to = s.len;
    for (; max != 0 && vug_tmpl_ok(run); max--) {
        const size_t found = vug_tmpl_find_last(run, s, by, to);
        if (found == SIZE_MAX)
            break;
        append_part(run, out, s, found + by.len, to);
        to = found;
    }
    append_part(run, out, s, 0, to);
    reverse_list(out);
}

vug_tmpl_value vug_tmpl_split(vug_tmpl_run *run, vug_tmpl_str s, const vug_tmpl_str *by,
                              int64_t max, bool from_right)
{
    vug_tmpl_list out = { 0 };
    if (by && by->len == 0)
        return vug_tmpl_fail(run, VUG_FORMAT, "empty separator");
    if (!by)
        (void)vug_tmpl_charge(run, s.len / VUG_TMPL_CHARS_PER_STEP);
    if (!by && from_right && max >= 0)
        split_space_right(run, s, max, &out);
    else if (!by)
        split_space(run, s, max, &out);
    else if (from_right && max >= 0)
        split_by_right(run, s, *by, max, &out);
    else
        split_by(run, s, *by, max, &out);
    return vug_tmpl_new_seq(run, VUG_TMPL_LIST, out.item, out.n);
}

static bool ends_line(uint32_t cp)
{
    return (cp >= 0x0a && cp <= 0x0d) || (cp >= 0x1c && cp <= 0x1e) || cp == 0x85 || cp == 0x2028 ||
           cp == 0x2029;
}

vug_tmpl_value vug_tmpl_split_lines(vug_tmpl_run *run, vug_tmpl_str s, bool keep_ends)
{
    vug_tmpl_list out = { 0 };
    size_t line = 0;
    for (size_t at = 0; at < s.len && vug_tmpl_ok(run);) {
        uint32_t cp;
        size_t n = vug_tmpl_decode_char(s, at, &cp);
        if (!ends_line(cp)) {
            at += n;
            continue;
        }
        if (cp == '\r' && at + 1 < s.len && s.ptr[at + 1] == '\n')
            n = 2;
        append_part(run, &out, s, line, keep_ends ? at + n : at);
        at += n;
        line = at;
    }
    if (line < s.len)
        append_part(run, &out, s, line, s.len);
    (void)vug_tmpl_charge(run, s.len / VUG_TMPL_CHARS_PER_STEP);
    return vug_tmpl_new_seq(run, VUG_TMPL_LIST, out.item, out.n);
}

/* ---- cases ------------------------------------------------------------------------------- */

/* A sigma at the end of a word has a form of its own (Unicode 15, table 3-17, Final_Sigma). */
static bool final_sigma(vug_tmpl_str s, size_t at, bool after_letter)
{
    uint32_t next = 0;
    if (at + 2 < s.len)
        (void)vug_tmpl_decode_char(s, at + 2, &next);
    return after_letter && !(next && vug_char_class(next) & VUG_CHAR_LETTER);
}

static vug_tmpl_case case_of_char(vug_tmpl_case how, bool first, bool after_letter)
{
    switch (how) {
    case VUG_TMPL_CASE_CAPITAL:
        return first ? VUG_TMPL_CASE_TITLE : VUG_TMPL_CASE_LOWER;
    case VUG_TMPL_CASE_TITLE:
        return after_letter ? VUG_TMPL_CASE_LOWER : VUG_TMPL_CASE_TITLE;
    default:
        return how;
    }
}

vug_tmpl_value vug_tmpl_change_case(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_case how)
{
    const size_t from = vug_tmpl_build_begin(run);
    bool after_letter = false;
    (void)vug_tmpl_charge(run, s.len / VUG_TMPL_CHARS_PER_STEP);
    for (size_t at = 0; at < s.len && vug_tmpl_ok(run);) {
        uint32_t cp;
        uint32_t to[VUG_MAX_CASE];
        const size_t len = vug_tmpl_decode_char(s, at, &cp);
        const unsigned class = vug_char_class(cp);
        const vug_tmpl_case one = case_of_char(how, at == 0, after_letter);
        size_t n = one == VUG_TMPL_CASE_LOWER   ? vug_char_lower(cp, to)
                   : one == VUG_TMPL_CASE_UPPER ? vug_char_upper(cp, to)
                                                : vug_char_title(cp, to);
        if (cp == 0x3a3 && one == VUG_TMPL_CASE_LOWER && final_sigma(s, at, after_letter))
            to[0] = 0x3c2;
        for (size_t i = 0; i < n; i++)
            vug_tmpl_write_char(run, to[i], vug_tmpl_is_tainted(s, at));
        after_letter = class & VUG_CHAR_LETTER;
        at += len;
    }
    return vug_tmpl_build_end(run, from);
}
