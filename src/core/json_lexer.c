/*
 * Scans the tokens of JSON.
 *
 * Most of a large file is the inside of strings and the indentation between them, so both
 * are read eight bytes at a time: a word is loaded, and arithmetic on all its bytes at once
 * marks those that need a closer look. Strings are checked completely when they are scanned
 * (UTF-8, escapes, surrogate pairs). Skipping therefore rejects what reading rejects, and
 * decoding can fail only for lack of memory.
 */
#include "core/json_lexer.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/number.h"
#include "core/utf8.h"

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* The first byte in the low bits, on every machine; compilers make it one load. */
static inline uint64_t load8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/*
 * Sets bit 7 of each byte that needs a closer look in a string: a quote, a backslash, a
 * control character, a byte of a longer UTF-8 sequence. A borrow can also mark bytes above
 * the first one, so only the lowest mark counts.
 */
static inline uint64_t mark_special(uint64_t w)
{
    const uint64_t quote = w ^ EACH_BYTE(0x22);
    const uint64_t slash = w ^ EACH_BYTE(0x5c);
    const uint64_t hit = ((quote - EACH_BYTE(1)) & ~quote) | ((slash - EACH_BYTE(1)) & ~slash) |
                         ((w - EACH_BYTE(0x20)) & ~w) | w;
    return hit & EACH_BYTE(0x80);
}

/* Sets bit 7 of each byte that is not a space. */
static inline uint64_t mark_not_spaces(uint64_t w)
{
    const uint64_t other = w ^ EACH_BYTE(0x20);
    return (((other & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f)) | other) & EACH_BYTE(0x80);
}

/* Index 0 .. 7 of the lowest marked byte. Multiplying by the bit 8k moves byte k of the
 * constant, which is k, to the top. */
static inline size_t lowest_mark(uint64_t mark)
{
    return (size_t)((((mark & (~mark + 1)) >> 7) * UINT64_C(0x0001020304050607)) >> 56);
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* ---- failures ------------------------------------------------------------ */

void vug_json_fail(vug_json_reader *j, vug_status code, const char *fmt, ...)
{
    if (j->st != VUG_OK)
        return;
    size_t line = 1;
    size_t column = 1; /* in characters */
    for (size_t i = 0; i < j->pos; i++) {
        if (j->src.ptr[i] == '\n')
            line++, column = 1;
        else if (!vug_utf8_is_continuation(j->src.ptr[i]))
            column++;
    }
    char why[256];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    j->st = VUG_FAIL(&j->err, code, "%.200s: line %zu, column %zu: %s", j->name, line, column, why);
}

void vug_json_fail_expected(vug_json_reader *j, const char *what)
{
    if (j->pos >= j->src.len) {
        vug_json_fail(j, VUG_FORMAT, "expected %s, found the end", what);
        return;
    }
    const unsigned char c = (unsigned char)j->src.ptr[j->pos];
    if (c > 0x20 && c < 0x7f)
        vug_json_fail(j, VUG_FORMAT, "expected %s, found '%c'", what, c);
    else
        vug_json_fail(j, VUG_FORMAT, "expected %s, found byte 0x%02x", what, c);
}

/* ---- tokens -------------------------------------------------------------- */

void vug_json_skip_space_run(vug_json_reader *j)
{
    const char *p = j->src.ptr;
    const size_t n = j->src.len;
    size_t i = j->pos;
    while (i < n && is_space(p[i])) {
        i++;
        while (n - i >= 8) {
            const uint64_t mark = mark_not_spaces(load8(p + i));
            i += mark ? lowest_mark(mark) : 8;
            if (mark)
                break;
        }
    }
    j->pos = i;
}

/* The result of vug_utf8_decode for a sequence of two to four bytes. Two and three bytes are
 * compared as one little-endian number: once for the shape, once for forbidden ranges. */
static inline size_t utf8_length(const char *s, size_t n)
{
    uint32_t cp;
    if (n < 8)
        return vug_utf8_decode(s, n, &cp);
    const uint32_t w = (uint32_t)load8(s);
    if ((w & 0x00c0c0f0) == 0x008080e0) {
        const uint32_t top = w & 0x200f; /* 0: overlong, 0x200d: a surrogate */
        return top != 0 && top != 0x200d ? 3 : 0;
    }
    if ((w & 0xc0e0) == 0x80c0)
        return (w & 0x1e) != 0 ? 2 : 0;
    return vug_utf8_decode(s, n, &cp);
}

/* The value of four hex digits, or -1. `s` holds `n` bytes. */
static int read_hex4(const char *s, size_t n)
{
    int value = 0;
    if (n < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = vug_hex_digit(s[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The length of the escape at `s`, which begins with a backslash, and its character; 0 when
 * it is malformed. */
static size_t scan_escape(const char *s, size_t n, uint32_t *cp)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (n < 2)
        return 0;
    const char *simple = s[1] ? strchr(from, s[1]) : NULL;
    if (simple) {
        *cp = (unsigned char)to[simple - from];
        return 2;
    }
    const int high = s[1] == 'u' ? read_hex4(s + 2, n - 2) : -1;
    if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
        return 0;
    *cp = (uint32_t)high;
    if (high < 0xd800 || high > 0xdbff)
        return 6;
    const int low = n >= 12 && s[6] == '\\' && s[7] == 'u' ? read_hex4(s + 8, n - 8) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *cp = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
    return 12;
}

bool vug_json_scan_string(vug_json_reader *j, vug_str *raw, bool *escaped)
{
    const char *p = j->src.ptr;
    const size_t n = j->src.len;
    const size_t start = j->pos + 1;
    size_t i = start;
    *escaped = false;
    for (;;) {
        while (n - i >= 8) {
            const uint64_t mark = mark_special(load8(p + i));
            if (mark) {
                i += lowest_mark(mark);
                break;
            }
            i += 8;
        }
        size_t len = 0;
        uint32_t cp;
        const unsigned char c = i < n ? (unsigned char)p[i] : 0;
        if (c == '"')
            break;
        if (c == '\\') {
            len = scan_escape(p + i, n - i, &cp);
            *escaped = true;
        } else if (c >= 0x80) {
            /* Letters of one script come in runs. */
            size_t run;
            do {
                run = utf8_length(p + i + len, n - i - len);
                len += run;
            } while (run > 0 && i + len < n && (unsigned char)p[i + len] >= 0x80);
        } else if (c >= 0x20) {
            len = 1;
        }
        if (len == 0) {
            j->pos = i;
            if (i >= n)
                vug_json_fail(j, VUG_FORMAT, "the string does not end");
            else if (c == '\\')
                vug_json_fail(j, VUG_FORMAT, "malformed escape in a string");
            else if (c >= 0x80)
                vug_json_fail(j, VUG_FORMAT, "byte 0x%02x in a string is not UTF-8", c);
            else
                vug_json_fail(j, VUG_FORMAT, "control character 0x%02x in a string", c);
            return false;
        }
        i += len;
    }
    *raw = (vug_str){ p + start, i - start };
    j->pos = i + 1;
    return true;
}

/* No escape is shorter than the character it stands for, so `raw.len` bytes suffice. */
vug_str vug_json_unescape(vug_json_reader *j, vug_str raw)
{
    char *text = vug_arena_alloc(j->arena, raw.len + 1, 1);
    if (!text) {
        vug_json_fail(j, VUG_NOMEM, "out of memory for a string of %zu bytes", raw.len);
        return (vug_str){ 0 };
    }
    size_t len = 0;
    for (size_t i = 0; i < raw.len;) {
        uint32_t cp = 0;
        if (raw.ptr[i] != '\\') {
            text[len++] = raw.ptr[i++];
            continue;
        }
        i += scan_escape(raw.ptr + i, raw.len - i, &cp);
        char utf8[4];
        const size_t n = vug_utf8_encode(cp, utf8);
        memcpy(text + len, utf8, n);
        len += n;
    }
    return (vug_str){ text, len };
}

vug_json_number vug_json_scan_number(vug_json_reader *j)
{
    const char *p = j->src.ptr;
    const size_t n = j->src.len;
    size_t i = j->pos;
    bool good;
    bool whole = true;
    if (i < n && p[i] == '-')
        i++;
    const size_t head = i;
    while (i < n && vug_is_digit(p[i]))
        i++;
    good = i > head && (p[head] != '0' || i == head + 1);
    if (i < n && p[i] == '.') {
        const size_t fraction = ++i;
        while (i < n && vug_is_digit(p[i]))
            i++;
        good = good && i > fraction;
        whole = false;
    }
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        if (i < n && (p[i] == '+' || p[i] == '-'))
            i++;
        const size_t exponent = i;
        while (i < n && vug_is_digit(p[i]))
            i++;
        good = good && i > exponent;
        whole = false;
    }
    if (!good) {
        vug_json_fail(j, VUG_FORMAT, "malformed number");
        return (vug_json_number){ 0 };
    }
    const vug_json_number out = { { p + j->pos, i - j->pos }, whole };
    j->pos = i;
    return out;
}

bool vug_json_scan_literal(vug_json_reader *j, const char *text)
{
    if (!vug_str_starts(vug_str_from(j->src, j->pos), text)) {
        vug_json_fail_expected(j, "true, false or null");
        return false;
    }
    j->pos += strlen(text);
    return true;
}
