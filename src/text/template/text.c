/* Strings with marks: making, cutting, searching. */

#include "text/template/text.h"

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
        n += vug_begins_char(s.ptr[i]);
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
        } while (c->offset < s.len && !vug_begins_char(s.ptr[c->offset]));
    }
    for (; c->index > index; c->index--) {
        do {
            c->offset--;
        } while (c->offset > 0 && !vug_begins_char(s.ptr[c->offset]));
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
        n += vug_begins_char(s.ptr[i]);
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
    if (what.len == 0 || what.len > to)
        return what.len == 0 ? to : SIZE_MAX;
    size_t found = SIZE_MAX, n = to - what.len + 1;
    while (found == SIZE_MAX && n-- > 0) {
        if (s.ptr[n] != what.ptr[0])
            continue;
        if (!vug_run_spend(run, 1 + what.len / VUG_BYTES_PER_STEP))
            return SIZE_MAX;
        if (memcmp(s.ptr + n, what.ptr, what.len) == 0)
            found = n;
    }
    (void)vug_run_spend_bytes(run, to - (found == SIZE_MAX ? 0 : found));
    return found;
}

/* Whether the character is in `set`, or white space. */
static bool stripped(vug_run *run, uint32_t cp, const vug_tstr *set)
{
    if (!set)
        return vug_py_is_space(cp);
    if (run && !vug_run_spend(run, set->len / VUG_CHARS_PER_STEP))
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
        while (start > from && !vug_begins_char(s.ptr[start]))
            start--;
        (void)vug_tstr_char(s, start, &cp);
        if (!stripped(run, cp, set))
            break;
        to = start;
    }
    if (run)
        (void)vug_run_spend(run, (s.len - (to - from)) / VUG_CHARS_PER_STEP);
    return vug_tstr_cut(s, from, to);
}
