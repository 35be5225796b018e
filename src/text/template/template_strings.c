/* Strings with a taint per byte: making, cutting and searching them. */

#include "text/template/template_strings.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/utf8.h"
#include "text/unicode.h"

/* ---- making -------------------------------------------------------------------------- */

/* Charges for `n` more bytes of output. False: they are too many. */
static bool reserve_output(vug_tmpl_run *run, size_t n)
{
    if (!vug_tmpl_charge(run, 1 + n / VUG_TMPL_BYTES_PER_STEP))
        return false;
    if (n > VUG_TMPL_MAX_OUTPUT || run->out.len > VUG_TMPL_MAX_OUTPUT - n) {
        (void)vug_tmpl_fail(run, VUG_FORMAT, "a text of more than %zu bytes", VUG_TMPL_MAX_OUTPUT);
        return false;
    }
    return true;
}

/* Appends the taint of `n` bytes, and checks the memory of both buffers. */
static void write_taint(vug_tmpl_run *run, size_t n, bool untrusted)
{
    static const uint8_t clean[64] = { 0 };
    static const uint8_t all[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    while (n > 0) {
        const size_t most = untrusted ? sizeof(all) : sizeof(clean);
        const size_t part = n < most ? n : most;
        vug_buf_append(&run->taint, untrusted ? all : clean, part);
        n -= part;
    }
    if (run->taint.bad || run->out.bad)
        (void)vug_tmpl_fail(run, VUG_NOMEM, "out of memory for the text");
}

void vug_tmpl_write_bytes(vug_tmpl_run *run, const char *bytes, size_t n, bool untrusted)
{
    if (!reserve_output(run, n))
        return;
    vug_buf_append(&run->out, bytes, n);
    write_taint(run, n, untrusted);
}

void vug_tmpl_write(vug_tmpl_run *run, vug_tmpl_str s)
{
    if (!s.taint || s.taint == VUG_TMPL_TAINT_ALL) {
        vug_tmpl_write_bytes(run, s.ptr, s.len, s.taint != NULL);
        return;
    }
    if (!reserve_output(run, s.len))
        return;
    vug_buf_append(&run->out, s.ptr, s.len);
    vug_buf_append(&run->taint, s.taint, s.len);
    write_taint(run, 0, false);
}

void vug_tmpl_write_text(vug_tmpl_run *run, const char *text)
{
    vug_tmpl_write_bytes(run, text, strlen(text), false);
}

void vug_tmpl_write_char(vug_tmpl_run *run, uint32_t cp, bool untrusted)
{
    char bytes[4];
    vug_tmpl_write_bytes(run, bytes, vug_utf8_encode(cp, bytes), untrusted);
}

void vug_tmpl_printf(vug_tmpl_run *run, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    vug_tmpl_write_bytes(run, text,
                         n < 0                      ? 0
                         : (size_t)n < sizeof(text) ? (size_t)n
                                                    : sizeof(text) - 1,
                         false);
}

void vug_tmpl_write_repeated(vug_tmpl_run *run, vug_tmpl_str s, int64_t times)
{
    if (s.len > 0 && times > 0 && (uint64_t)times > VUG_TMPL_MAX_OUTPUT / s.len) {
        (void)vug_tmpl_fail(run, VUG_FORMAT, "a string of %zu bytes %lld times", s.len,
                            (long long)times);
        return;
    }
    for (int64_t i = 0; s.len > 0 && i < times && vug_tmpl_ok(run); i++)
        vug_tmpl_write(run, s);
}

vug_tmpl_value vug_tmpl_build_end(vug_tmpl_run *run, size_t from)
{
    vug_tmpl_str s = { "", 0, NULL };
    if (!vug_tmpl_ok(run) || run->out.len < from)
        return vug_tmpl_string(s);
    s.len = run->out.len - from;
    char *copy = vug_tmpl_alloc(run, s.len + 1, 1);
    if (s.len > 0 && copy) {
        const uint8_t *taint = (const uint8_t *)run->taint.ptr + from;
        memcpy(copy, run->out.ptr + from, s.len);
        s.ptr = copy;
        if (!memchr(taint, 0, s.len)) {
            s.taint = VUG_TMPL_TAINT_ALL;
        } else if (memchr(taint, 1, s.len)) {
            uint8_t *taints = vug_tmpl_alloc(run, s.len, 1);
            if (taints)
                memcpy(taints, taint, s.len);
            s.taint = taints ? taints : VUG_TMPL_TAINT_ALL;
        }
    }
    run->out.len = run->taint.len = from;
    return copy ? vug_tmpl_string(s) : vug_tmpl_none();
}

/* ---- characters ----------------------------------------------------------------------- */

vug_tmpl_str vug_tmpl_substr(vug_tmpl_str s, size_t from, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (from >= to)
        return (vug_tmpl_str){ "", 0, NULL };
    return (vug_tmpl_str){ s.ptr + from, to - from,
                           s.taint && s.taint != VUG_TMPL_TAINT_ALL ? s.taint + from : s.taint };
}

size_t vug_tmpl_decode_char(vug_tmpl_str s, size_t at, uint32_t *cp)
{
    const size_t n = vug_utf8_decode(s.ptr + at, s.len - at, cp);
    if (n == 0)
        *cp = 0xfffd;
    return n ? n : 1;
}

/* White space of str.strip and the like: Unicode's, and four separators. */
bool vug_tmpl_is_space(uint32_t cp)
{
    return vug_is_white_space(cp) || (cp >= 0x1c && cp <= 0x1f);
}

size_t vug_tmpl_count_chars(vug_tmpl_run *run, vug_tmpl_str s)
{
    vug_tmpl_cursor *c = &run->cursor;
    if (c->ptr == s.ptr && c->len == s.len && s.len > 0)
        return c->chars;
    (void)vug_tmpl_charge_bytes(run, s.len);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += vug_tmpl_is_char_start(s.ptr[i]);
    *c = (vug_tmpl_cursor){ .ptr = s.ptr, .len = s.len, .chars = n };
    return n;
}

size_t vug_tmpl_char_offset(vug_tmpl_run *run, vug_tmpl_str s, size_t index)
{
    const size_t chars = vug_tmpl_count_chars(run, s);
    if (chars == s.len || index >= chars)
        return index < s.len && chars == s.len ? index : s.len;
    vug_tmpl_cursor *c = &run->cursor;
    const size_t was = c->offset;
    if (index < c->index / 2)
        c->index = c->offset = 0;
    for (; c->index < index; c->index++) {
        do {
            c->offset++;
        } while (c->offset < s.len && !vug_tmpl_is_char_start(s.ptr[c->offset]));
    }
    for (; c->index > index; c->index--) {
        do {
            c->offset--;
        } while (c->offset > 0 && !vug_tmpl_is_char_start(s.ptr[c->offset]));
    }
    (void)vug_tmpl_charge_bytes(run, c->offset > was ? c->offset - was : was - c->offset);
    return c->offset;
}

size_t vug_tmpl_char_index(vug_tmpl_run *run, vug_tmpl_str s, size_t offset)
{
    if (vug_tmpl_count_chars(run, s) == s.len)
        return offset;
    (void)vug_tmpl_charge_bytes(run, offset);
    size_t n = 0;
    for (size_t i = 0; i < offset && i < s.len; i++)
        n += vug_tmpl_is_char_start(s.ptr[i]);
    return n;
}

/* ---- searching -------------------------------------------------------------------------- */

size_t vug_tmpl_find(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str what, size_t from)
{
    if (from > s.len || what.len > s.len - from)
        return SIZE_MAX;
    if (what.len == 0)
        return from;
    const char *at = memmem(s.ptr + from, s.len - from, what.ptr, what.len);
    const size_t found = at ? (size_t)(at - s.ptr) : SIZE_MAX;
    (void)vug_tmpl_charge_bytes(run, (at ? found : s.len) - from + what.len);
    return found;
}

size_t vug_tmpl_find_last(vug_tmpl_run *run, vug_tmpl_str s, vug_tmpl_str what, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (what.len == 0 || what.len > to)
        return what.len == 0 ? to : SIZE_MAX;
    size_t found = SIZE_MAX, n = to - what.len + 1;
    while (found == SIZE_MAX && n-- > 0) {
        if (s.ptr[n] != what.ptr[0])
            continue;
        if (!vug_tmpl_charge(run, 1 + what.len / VUG_TMPL_BYTES_PER_STEP))
            return SIZE_MAX;
        if (memcmp(s.ptr + n, what.ptr, what.len) == 0)
            found = n;
    }
    (void)vug_tmpl_charge_bytes(run, to - (found == SIZE_MAX ? 0 : found));
    return found;
}

/* Whether the character is in `set`; NULL: whether it is white space. */
static bool is_stripped(vug_tmpl_run *run, uint32_t cp, const vug_tmpl_str *set)
{
    if (!set)
        return vug_tmpl_is_space(cp);
    if (run && !vug_tmpl_charge(run, set->len / VUG_TMPL_CHARS_PER_STEP))
        return false;
    uint32_t one;
    for (size_t at = 0; at < set->len;) {
        at += vug_tmpl_decode_char(*set, at, &one);
        if (one == cp)
            return true;
    }
    return false;
}

vug_tmpl_str vug_tmpl_strip(vug_tmpl_run *run, vug_tmpl_str s, const vug_tmpl_str *set, int sides)
{
    size_t from = 0;
    size_t to = s.len;
    uint32_t cp;
    while ((sides & VUG_TMPL_STRIP_LEFT) && from < to) {
        const size_t n = vug_tmpl_decode_char(s, from, &cp);
        if (!is_stripped(run, cp, set))
            break;
        from += n;
    }
    while ((sides & VUG_TMPL_STRIP_RIGHT) && to > from) {
        size_t start = to - 1;
        while (start > from && !vug_tmpl_is_char_start(s.ptr[start]))
            start--;
        (void)vug_tmpl_decode_char(s, start, &cp);
        if (!is_stripped(run, cp, set))
            break;
        to = start;
    }
    if (run)
        (void)vug_tmpl_charge(run, (s.len - (to - from)) / VUG_TMPL_CHARS_PER_STEP);
    return vug_tmpl_substr(s, from, to);
}
