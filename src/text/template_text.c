/* Strings with marks: making, cutting, searching. */

#include "text/template_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/text.h"
#include "text/unicode.h"

/* ---- making -------------------------------------------------------------------------- */

/* Room for `n` bytes more, in the text and its marks. */
static bool room(vug_run *run, size_t n)
{
    if (!vug_run_spend(run, 1 + n / VUG_BYTES_PER_STEP))
        return false;
    if (n > VUG_RUN_MAX_OUTPUT || run->out.len > VUG_RUN_MAX_OUTPUT - n) {
        (void)vug_run_fail(run, VUG_FORMAT, "a text of more than %zu bytes", VUG_RUN_MAX_OUTPUT);
        return false;
    }
    return true;
}

/* Marks for the `n` bytes that follow. */
static void put_marks(vug_run *run, size_t n, bool foreign)
{
    static const uint8_t clean[64] = { 0 };
    static const uint8_t all[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    while (n > 0) {
        const size_t most = foreign ? sizeof(all) : sizeof(clean);
        const size_t part = n < most ? n : most;
        vug_buf_append(&run->mark, foreign ? all : clean, part);
        n -= part;
    }
    if (run->mark.bad || run->out.bad)
        (void)vug_run_fail(run, VUG_NOMEM, "out of memory for the text");
}

void vug_put_bytes(vug_run *run, const char *bytes, size_t n, bool foreign)
{
    if (!room(run, n))
        return;
    vug_buf_append(&run->out, bytes, n);
    put_marks(run, n, foreign);
}

void vug_put(vug_run *run, vug_tstr s)
{
    if (!s.mark || s.mark == VUG_MARK_ALL) {
        vug_put_bytes(run, s.ptr, s.len, s.mark != NULL);
        return;
    }
    if (!room(run, s.len))
        return;
    vug_buf_append(&run->out, s.ptr, s.len);
    vug_buf_append(&run->mark, s.mark, s.len);
    put_marks(run, 0, false);
}

void vug_put_text(vug_run *run, const char *text)
{
    vug_put_bytes(run, text, strlen(text), false);
}

void vug_put_char(vug_run *run, uint32_t cp, bool foreign)
{
    char bytes[4];
    vug_put_bytes(run, bytes, vug_utf8_put(cp, bytes), foreign);
}

void vug_put_printf(vug_run *run, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    vug_put_bytes(run, text,
                  n < 0                      ? 0
                  : (size_t)n < sizeof(text) ? (size_t)n
                                             : sizeof(text) - 1,
                  false);
}

void vug_put_repeated(vug_run *run, vug_tstr s, int64_t times)
{
    if (s.len > 0 && times > 0 && (uint64_t)times > VUG_RUN_MAX_OUTPUT / s.len) {
        (void)vug_run_fail(run, VUG_FORMAT, "a string of %zu bytes %lld times", s.len,
                           (long long)times);
        return;
    }
    for (int64_t i = 0; s.len > 0 && i < times && vug_run_ok(run); i++)
        vug_put(run, s);
}

vug_tv vug_made(vug_run *run, size_t from)
{
    vug_tstr s = { "", 0, NULL };
    if (!vug_run_ok(run) || run->out.len < from)
        return vug_tv_string(s);
    s.len = run->out.len - from;
    char *copy = vug_run_alloc(run, s.len + 1, 1);
    if (s.len > 0 && copy) {
        const uint8_t *mark = (const uint8_t *)run->mark.ptr + from;
        memcpy(copy, run->out.ptr + from, s.len);
        s.ptr = copy;
        if (!memchr(mark, 0, s.len)) {
            s.mark = VUG_MARK_ALL;
        } else if (memchr(mark, 1, s.len)) {
            uint8_t *marks = vug_run_alloc(run, s.len, 1);
            if (marks)
                memcpy(marks, mark, s.len);
            s.mark = marks ? marks : VUG_MARK_ALL;
        }
    }
    run->out.len = run->mark.len = from;
    return copy ? vug_tv_string(s) : vug_tv_none();
}

/* ---- characters ----------------------------------------------------------------------- */

vug_tstr vug_tstr_cut(vug_tstr s, size_t from, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (from >= to)
        return (vug_tstr){ "", 0, NULL };
    return (vug_tstr){ s.ptr + from, to - from,
                       s.mark && s.mark != VUG_MARK_ALL ? s.mark + from : s.mark };
}

size_t vug_tstr_char(vug_tstr s, size_t at, uint32_t *cp)
{
    const size_t n = vug_utf8_next(s.ptr + at, s.len - at, cp);
    if (n == 0)
        *cp = 0xfffd;
    return n ? n : 1;
}

static bool begins_char(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* White space for str.strip and its kind: that of Unicode, and four separators. */
bool vug_py_is_space(uint32_t cp)
{
    return vug_is_white_space(cp) || (cp >= 0x1c && cp <= 0x1f);
}

size_t vug_tstr_chars(vug_run *run, vug_tstr s)
{
    vug_tcursor *c = &run->cursor;
    if (c->ptr == s.ptr && c->len == s.len && s.len > 0)
        return c->chars;
    (void)vug_run_spend_bytes(run, s.len);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += begins_char(s.ptr[i]);
    *c = (vug_tcursor){ .ptr = s.ptr, .len = s.len, .chars = n };
    return n;
}

size_t vug_tstr_offset(vug_run *run, vug_tstr s, size_t index)
{
    const size_t chars = vug_tstr_chars(run, s);
    if (chars == s.len || index >= chars)
        return index < s.len && chars == s.len ? index : s.len;
    vug_tcursor *c = &run->cursor;
    const size_t was = c->offset;
    if (index < c->index / 2)
        c->index = c->offset = 0;
    for (; c->index < index; c->index++) {
        do {
            c->offset++;
        } while (c->offset < s.len && !begins_char(s.ptr[c->offset]));
    }
    for (; c->index > index; c->index--) {
        do {
            c->offset--;
        } while (c->offset > 0 && !begins_char(s.ptr[c->offset]));
    }
    (void)vug_run_spend_bytes(run, c->offset > was ? c->offset - was : was - c->offset);
    return c->offset;
}

size_t vug_tstr_index(vug_run *run, vug_tstr s, size_t offset)
{
    if (vug_tstr_chars(run, s) == s.len)
        return offset;
    (void)vug_run_spend_bytes(run, offset);
    size_t n = 0;
    for (size_t i = 0; i < offset && i < s.len; i++)
        n += begins_char(s.ptr[i]);
    return n;
}

/* ---- searching -------------------------------------------------------------------------- */

size_t vug_tstr_find(vug_run *run, vug_tstr s, vug_tstr what, size_t from)
{
    if (from > s.len || what.len > s.len - from)
        return SIZE_MAX;
    if (what.len == 0)
        return from;
    const char *at = memmem(s.ptr + from, s.len - from, what.ptr, what.len);
    const size_t found = at ? (size_t)(at - s.ptr) : SIZE_MAX;
    (void)vug_run_spend_bytes(run, (at ? found : s.len) - from + what.len);
    return found;
}

size_t vug_tstr_find_last(vug_run *run, vug_tstr s, vug_tstr what, size_t to)
{
    if (to > s.len)
        to = s.len;
    for (size_t n = to + 1; what.len <= to && n-- > 0;) {
        if (n + what.len > to)
            continue;
        if (what.len == 0)
            return n;
        if (s.ptr[n] != what.ptr[0])
            continue;
        if (!vug_run_spend(run, 1 + what.len / VUG_BYTES_PER_STEP))
            return SIZE_MAX;
        if (memcmp(s.ptr + n, what.ptr, what.len) == 0)
            return n;
    }
    (void)vug_run_spend_bytes(run, to);
    return SIZE_MAX;
}

/* Whether the character is in `set`, or white space. */
static bool stripped(vug_run *run, uint32_t cp, const vug_tstr *set)
{
    if (!set)
        return vug_py_is_space(cp);
    if (run && !vug_run_spend(run, set->len / 4))
        return false;
    uint32_t one;
    for (size_t at = 0; at < set->len;) {
        at += vug_tstr_char(*set, at, &one);
        if (one == cp)
            return true;
    }
    return false;
}

vug_tstr vug_tstr_strip(vug_run *run, vug_tstr s, const vug_tstr *set, int sides)
{
    size_t from = 0;
    size_t to = s.len;
    uint32_t cp;
    while ((sides & VUG_STRIP_LEFT) && from < to) {
        const size_t n = vug_tstr_char(s, from, &cp);
        if (!stripped(run, cp, set))
            break;
        from += n;
    }
    while ((sides & VUG_STRIP_RIGHT) && to > from) {
        size_t start = to - 1;
        while (start > from && !begins_char(s.ptr[start]))
            start--;
        (void)vug_tstr_char(s, start, &cp);
        if (!stripped(run, cp, set))
            break;
        to = start;
    }
    if (run)
        (void)vug_run_spend_bytes(run, s.len - (to - from));
    return vug_tstr_cut(s, from, to);
}

/* ---- replacing, joining, splitting -------------------------------------------------------- */

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
            while (start > 0 && !begins_char(rest.ptr[start]))
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
    (void)vug_run_spend_bytes(run, s.len);
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
    (void)vug_run_spend(run, s.len / 4);
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
