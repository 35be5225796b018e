/* Strings with marks: replacing, joining, splitting, and their cases. */

#include "text/template/text.h"
#include "text/unicode.h"

/* `by` between all characters and around them. */
static void put_between(vug_run *run, vug_tstr s, vug_tstr by, int64_t count)
{
    uint32_t cp;
    for (size_t at = 0; vug_run_ok(run);) {
        if (count-- != 0)
            vug_put(run, by);
        else
            count = 0;
        if (at >= s.len)
            break;
        const size_t n = vug_tstr_char(s, at, &cp);
        vug_put(run, vug_tstr_cut(s, at, at + n));
        at += n;
    }
}

vug_tv vug_tstr_replace(vug_run *run, vug_tstr s, vug_tstr old, vug_tstr by, int64_t count)
{
    const size_t from = vug_make(run);
    if (old.len == 0) {
        put_between(run, s, by, count);
        return vug_made(run, from);
    }
    size_t at = 0;
    while (count != 0 && vug_run_ok(run)) {
        const size_t found = vug_tstr_find(run, s, old, at);
        if (found == SIZE_MAX)
            break;
        vug_put(run, vug_tstr_cut(s, at, found));
        vug_put(run, by);
        (void)vug_run_spend(run, 1);
        at = found + old.len;
        count--;
    }
    if (at == 0) {
        run->out.len = run->mark.len = from;
        return vug_tv_string(s);
    }
    vug_put(run, vug_tstr_cut(s, at, s.len));
    return vug_made(run, from);
}

vug_tv vug_tstr_join(vug_run *run, vug_tv by, vug_tseq parts)
{
    const size_t from = vug_make(run);
    for (size_t i = 0; i < parts.n && vug_run_spend(run, 1); i++) {
        if (!vug_tv_is_string(parts.item[i]))
            return vug_run_fail(run, VUG_FORMAT,
                                "sequence item %zu: expected str instance, %s found", i,
                                vug_tv_type(parts.item[i]));
        if (i > 0)
            vug_put(run, by.str);
        if (by.safe && !parts.item[i].safe)
            vug_put_escaped(run, parts.item[i].str);
        else
            vug_put(run, parts.item[i].str);
    }
    vug_tv out = vug_made(run, from);
    out.safe = by.safe;
    return out;
}

static void add_cut(vug_run *run, vug_tlist *list, vug_tstr s, size_t from, size_t to)
{
    (void)vug_run_spend(run, 1);
    vug_tlist_add(run, list, vug_tv_string(vug_tstr_cut(s, from, to)));
}

static size_t skip_while_space(vug_tstr s, size_t at, bool space)
{
    uint32_t cp;
    while (at < s.len) {
        const size_t n = vug_tstr_char(s, at, &cp);
        if (vug_py_is_space(cp) != space)
            break;
        at += n;
    }
    return at;
}

static void split_space(vug_run *run, vug_tstr s, int64_t max, vug_tlist *out)
{
    size_t at = skip_while_space(s, 0, true);
    for (; at < s.len && vug_run_ok(run); max--) {
        const size_t end = max == 0 ? vug_tstr_strip(run, s, NULL, VUG_STRIP_RIGHT).len
                                    : skip_while_space(s, at, false);
        add_cut(run, out, s, at, end);
        at = max == 0 ? s.len : skip_while_space(s, end, true);
    }
}

static void reverse(vug_tlist *list)
{
    for (size_t i = 0; i < list->n / 2; i++) {
        const vug_tv v = list->item[i];
        list->item[i] = list->item[list->n - 1 - i];
        list->item[list->n - 1 - i] = v;
    }
}

static void split_space_right(vug_run *run, vug_tstr s, int64_t max, vug_tlist *out)
{
    vug_tstr rest = vug_tstr_strip(run, s, NULL, VUG_STRIP_RIGHT);
    for (; rest.len > 0 && vug_run_ok(run); max--) {
        size_t word = rest.len;
        uint32_t cp;
        while (word > 0) {
            size_t start = word - 1;
            while (start > 0 && !vug_begins_char(rest.ptr[start]))
                start--;
            (void)vug_tstr_char(rest, start, &cp);
            if (max != 0 && vug_py_is_space(cp))
                break;
            word = start;
        }
        add_cut(run, out, rest, word, rest.len);
        rest = vug_tstr_strip(run, vug_tstr_cut(rest, 0, word), NULL, VUG_STRIP_RIGHT);
    }
    reverse(out);
}

static void split_by(vug_run *run, vug_tstr s, vug_tstr by, int64_t max, vug_tlist *out)
{
    size_t at = 0;
    for (; max != 0 && vug_run_ok(run); max--) {
        const size_t found = vug_tstr_find(run, s, by, at);
        if (found == SIZE_MAX)
            break;
        add_cut(run, out, s, at, found);
        at = found + by.len;
    }
    add_cut(run, out, s, at, s.len);
}

static void split_by_right(vug_run *run, vug_tstr s, vug_tstr by, int64_t max, vug_tlist *out)
{
    size_t to = s.len;
    for (; max != 0 && vug_run_ok(run); max--) {
        const size_t found = vug_tstr_find_last(run, s, by, to);
        if (found == SIZE_MAX)
            break;
        add_cut(run, out, s, found + by.len, to);
        to = found;
    }
    add_cut(run, out, s, 0, to);
    reverse(out);
}

vug_tv vug_tstr_split(vug_run *run, vug_tstr s, const vug_tstr *by, int64_t max, bool from_right)
{
    vug_tlist out = { 0 };
    if (by && by->len == 0)
        return vug_run_fail(run, VUG_FORMAT, "empty separator");
    if (!by)
        (void)vug_run_spend(run, s.len / VUG_CHARS_PER_STEP);
    if (!by && from_right && max >= 0)
        split_space_right(run, s, max, &out);
    else if (!by)
        split_space(run, s, max, &out);
    else if (from_right && max >= 0)
        split_by_right(run, s, *by, max, &out);
    else
        split_by(run, s, *by, max, &out);
    return vug_tv_seq(run, VUG_TV_LIST, out.item, out.n);
}

static bool ends_line(uint32_t cp)
{
    return (cp >= 0x0a && cp <= 0x0d) || (cp >= 0x1c && cp <= 0x1e) || cp == 0x85 || cp == 0x2028 ||
           cp == 0x2029;
}

vug_tv vug_tstr_lines(vug_run *run, vug_tstr s, bool keep_ends)
{
    vug_tlist out = { 0 };
    size_t line = 0;
    for (size_t at = 0; at < s.len && vug_run_ok(run);) {
        uint32_t cp;
        size_t n = vug_tstr_char(s, at, &cp);
        if (!ends_line(cp)) {
            at += n;
            continue;
        }
        if (cp == '\r' && at + 1 < s.len && s.ptr[at + 1] == '\n')
            n = 2;
        add_cut(run, &out, s, line, keep_ends ? at + n : at);
        at += n;
        line = at;
    }
    if (line < s.len)
        add_cut(run, &out, s, line, s.len);
    (void)vug_run_spend(run, s.len / VUG_CHARS_PER_STEP);
    return vug_tv_seq(run, VUG_TV_LIST, out.item, out.n);
}

/* ---- cases ------------------------------------------------------------------------------- */

/* A sigma that ends its word is another letter (Unicode 15, table 3-17, Final_Sigma). */
static bool final_sigma(vug_tstr s, size_t at, bool after_letter)
{
    uint32_t next = 0;
    if (at + 2 < s.len)
        (void)vug_tstr_char(s, at + 2, &next);
    return after_letter && !(next && vug_char_class(next) & VUG_CHAR_LETTER);
}

static vug_case case_of_char(vug_case how, unsigned class, bool first, bool after_letter)
{
    switch (how) {
    case VUG_CASE_CAPITAL:
        return first ? VUG_CASE_TITLE : VUG_CASE_LOWER;
    case VUG_CASE_TITLE:
        return after_letter ? VUG_CASE_LOWER : VUG_CASE_TITLE;
    case VUG_CASE_SWAP:
        return class & VUG_CHAR_UPPER ? VUG_CASE_LOWER : VUG_CASE_UPPER;
    default:
        return how;
    }
}

vug_tv vug_tstr_case(vug_run *run, vug_tstr s, vug_case how)
{
    const size_t from = vug_make(run);
    bool after_letter = false;
    (void)vug_run_spend(run, s.len / VUG_CHARS_PER_STEP);
    for (size_t at = 0; at < s.len && vug_run_ok(run);) {
        uint32_t cp;
        uint32_t to[VUG_MAX_CASE];
        const size_t len = vug_tstr_char(s, at, &cp);
        const unsigned class = vug_char_class(cp);
        const vug_case one = case_of_char(how, class, at == 0, after_letter);
        size_t n = one == VUG_CASE_LOWER   ? vug_char_lower(cp, to)
                   : one == VUG_CASE_UPPER ? vug_char_upper(cp, to)
                                           : vug_char_title(cp, to);
        if (cp == 0x3a3 && one == VUG_CASE_LOWER && final_sigma(s, at, after_letter))
            to[0] = 0x3c2;
        for (size_t i = 0; i < n; i++)
            vug_put_char(run, to[i], vug_tstr_foreign(s, at));
        after_letter = class & VUG_CHAR_LETTER;
        at += len;
    }
    return vug_made(run, from);
}
