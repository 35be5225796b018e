#include "core/json.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/text.h"

/*
 * The pull reader.
 *
 * What takes time in a large file is the inside of strings and the indentation
 * between them, so both are read eight bytes at a time: a word is loaded, and
 * arithmetic on all its bytes at once marks those that need a look. The rest is
 * one comparison per token. Strings are checked completely when they are
 * scanned (UTF-8, escapes, surrogate pairs), so that skipping refuses what
 * reading refuses, and decoding cannot fail but for memory.
 */

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
 * Bit 7 of each byte that cannot simply be passed over in a string: a quote, a
 * backslash, a control character, a byte of a longer sequence. A borrow can mark
 * bytes above the first marked one wrongly, so only the lowest mark counts.
 */
static inline uint64_t marks(uint64_t w)
{
    const uint64_t quote = w ^ EACH_BYTE(0x22);
    const uint64_t slash = w ^ EACH_BYTE(0x5c);
    const uint64_t hit = ((quote - EACH_BYTE(1)) & ~quote) | ((slash - EACH_BYTE(1)) & ~slash) |
                         ((w - EACH_BYTE(0x20)) & ~w) | w;
    return hit & EACH_BYTE(0x80);
}

/* Bit 7 of each byte that is no space. */
static inline uint64_t not_spaces(uint64_t w)
{
    const uint64_t other = w ^ EACH_BYTE(0x20);
    return (((other & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f)) | other) & EACH_BYTE(0x80);
}

/* Index 0..7 of the lowest byte of a mark: multiplying by a single bit at 8k
 * moves byte k of the constant, which is k, to the top. */
static inline size_t lowest(uint64_t mark)
{
    return (size_t)((((mark & (~mark + 1)) >> 7) * UINT64_C(0x0001020304050607)) >> 56);
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- failures ------------------------------------------------------------ */

void vug_json_fail(vug_json *j, vug_status code, const char *fmt, ...)
{
    if (j->st != VUG_OK)
        return;
    size_t line = 1;
    size_t column = 1; /* in characters */
    for (size_t i = 0; i < j->pos; i++) {
        if (j->src.ptr[i] == '\n')
            line++, column = 1;
        else if (((unsigned char)j->src.ptr[i] & 0xc0) != 0x80)
            column++;
    }
    char why[256];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    j->st = VUG_FAIL(&j->err, code, "%.200s: line %zu, column %zu: %s", j->name, line, column, why);
}

static const char *const type_text[] = {
    [VUG_JSON_NULL] = "null",       [VUG_JSON_BOOL] = "true or false",
    [VUG_JSON_NUMBER] = "a number", [VUG_JSON_STRING] = "a string",
    [VUG_JSON_ARRAY] = "an array",  [VUG_JSON_OBJECT] = "an object",
};

/* Keeps "expected `what`, found ..." with the byte at the current position. */
static void expected(vug_json *j, const char *what)
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

/* True when the next value is of kind `type`; otherwise fails. */
static bool want(vug_json *j, vug_json_type type)
{
    if (j->st != VUG_OK)
        return false;
    const vug_json_type found = vug_json_peek(j);
    if (found == type)
        return true;
    if (found == VUG_JSON_NOTHING)
        expected(j, type_text[type]);
    else
        vug_json_fail(j, VUG_FORMAT, "expected %s, found %s", type_text[type], type_text[found]);
    return false;
}

/* ---- tokens -------------------------------------------------------------- */

vug_json vug_json_over(vug_str src, const char *name, vug_arena *arena)
{
    return (vug_json){ .src = src, .arena = arena, .name = name };
}

/* NUL at the end, which is no token either. */
static inline char next_char(const vug_json *j)
{
    if (j->pos < j->src.len)
        return j->src.ptr[j->pos];
    return '\0';
}

static inline void skip_space(vug_json *j)
{
    const char *p = j->src.ptr;
    const size_t n = j->src.len;
    size_t i = j->pos;
    if (i < n && p[i] > ' ')
        return;
    while (i < n && is_space(p[i])) {
        i++;
        while (n - i >= 8) {
            const uint64_t mark = not_spaces(load8(p + i));
            i += mark ? lowest(mark) : 8;
            if (mark)
                break;
        }
    }
    j->pos = i;
}

/* What vug_utf8_next says of a sequence of two to four bytes, with one comparison
 * for the shape and one for the forbidden ranges: bytes are taken as one number,
 * the first one lowest. */
static inline size_t sequence(const char *s, size_t n)
{
    uint32_t cp;
    if (n < 8)
        return vug_utf8_next(s, n, &cp);
    const uint32_t w = (uint32_t)load8(s);
    if ((w & 0x00c0c0f0) == 0x008080e0) {
        const uint32_t top = w & 0x200f; /* 0: overlong, 0x200d: a surrogate */
        return top != 0 && top != 0x200d ? 3 : 0;
    }
    if ((w & 0xc0e0) == 0x80c0)
        return (w & 0x1e) != 0 ? 2 : 0;
    return vug_utf8_next(s, n, &cp);
}

/* The value of four hex digits, or -1. `s` holds `n` bytes. */
static int hex4(const char *s, size_t n)
{
    int value = 0;
    if (n < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char c = s[i];
        if (is_digit(c))
            value = value * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            value = value * 16 + (c - 'A' + 10);
        else
            return -1;
    }
    return value;
}

/* The length of the escape at `s`, whose first byte is a backslash, and its
 * character; 0 when it is malformed. */
static size_t escape(const char *s, size_t n, uint32_t *cp)
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
    const int high = s[1] == 'u' ? hex4(s + 2, n - 2) : -1;
    if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
        return 0;
    *cp = (uint32_t)high;
    if (high < 0xd800 || high > 0xdbff)
        return 6;
    const int low = n >= 12 && s[6] == '\\' && s[7] == 'u' ? hex4(s + 8, n - 8) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *cp = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
    return 12;
}

/* Checks the string whose opening quote is next and passes it. `raw` is what
 * lies between the quotes. */
static bool scan_string(vug_json *j, vug_str *raw, bool *escaped)
{
    const char *p = j->src.ptr;
    const size_t n = j->src.len;
    const size_t start = j->pos + 1;
    size_t i = start;
    *escaped = false;
    for (;;) {
        while (n - i >= 8) {
            const uint64_t mark = marks(load8(p + i));
            if (mark) {
                i += lowest(mark);
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
            len = escape(p + i, n - i, &cp);
            *escaped = true;
        } else if (c >= 0x80) {
            /* Letters of one script come in runs. */
            size_t run;
            do {
                run = sequence(p + i + len, n - i - len);
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

/* The text of a checked string; its escapes are never shorter than what they
 * stand for. */
static vug_str unescape(vug_json *j, vug_str raw)
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
        i += escape(raw.ptr + i, raw.len - i, &cp);
        char utf8[4];
        const size_t n = vug_utf8_put(cp, utf8);
        memcpy(text + len, utf8, n);
        len += n;
    }
    return (vug_str){ text, len };
}

/* A number: [-] int [. digits] [(e|E) [+-] digits], as RFC 8259 section 6. */
typedef struct {
    vug_str text;
    bool whole; /* neither fraction nor exponent */
} number;

static number scan_number(vug_json *j)
{
    const char *p = j->src.ptr;
    const size_t n = j->src.len;
    size_t i = j->pos;
    bool good;
    bool whole = true;
    if (i < n && p[i] == '-')
        i++;
    const size_t head = i;
    while (i < n && is_digit(p[i]))
        i++;
    good = i > head && (p[head] != '0' || i == head + 1);
    if (i < n && p[i] == '.') {
        const size_t fraction = ++i;
        while (i < n && is_digit(p[i]))
            i++;
        good = good && i > fraction;
        whole = false;
    }
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        if (i < n && (p[i] == '+' || p[i] == '-'))
            i++;
        const size_t exponent = i;
        while (i < n && is_digit(p[i]))
            i++;
        good = good && i > exponent;
        whole = false;
    }
    if (!good) {
        vug_json_fail(j, VUG_FORMAT, "malformed number");
        return (number){ 0 };
    }
    const number out = { { p + j->pos, i - j->pos }, whole };
    j->pos = i;
    return out;
}

static bool literal(vug_json *j, const char *text)
{
    if (!vug_str_starts(vug_str_from(j->src, j->pos), text)) {
        expected(j, "true, false or null");
        return false;
    }
    j->pos += strlen(text);
    return true;
}

/* ---- walking ------------------------------------------------------------- */

vug_json_type vug_json_peek(vug_json *j)
{
    if (j->st != VUG_OK)
        return VUG_JSON_NOTHING;
    skip_space(j);
    const char c = next_char(j);
    switch (c) {
    case '{':
        return VUG_JSON_OBJECT;
    case '[':
        return VUG_JSON_ARRAY;
    case '"':
        return VUG_JSON_STRING;
    case 't':
    case 'f':
        return VUG_JSON_BOOL;
    case 'n':
        return VUG_JSON_NULL;
    default:
        return c == '-' || is_digit(c) ? VUG_JSON_NUMBER : VUG_JSON_NOTHING;
    }
}

static void enter(vug_json *j, vug_json_type type)
{
    if (!want(j, type))
        return;
    if (j->depth == VUG_JSON_MAX_DEPTH) {
        vug_json_fail(j, VUG_FORMAT, "nested deeper than %d levels", VUG_JSON_MAX_DEPTH);
        return;
    }
    j->pos++;
    j->first[j->depth++] = true;
}

void vug_json_enter_object(vug_json *j)
{
    enter(j, VUG_JSON_OBJECT);
}

void vug_json_enter_array(vug_json *j)
{
    enter(j, VUG_JSON_ARRAY);
}

/* Passes the comma before the next member and whitespace, or the `close` after
 * the last member. */
static bool next(vug_json *j, char close, const char *comma_or_close)
{
    if (j->st != VUG_OK)
        return false;
    VUG_ASSERT(j->depth > 0);
    bool *first = &j->first[j->depth - 1];
    skip_space(j);
    const char c = next_char(j);
    if (c == close) {
        j->pos++;
        j->depth--;
        return false;
    }
    if (!*first) {
        if (c != ',') {
            expected(j, comma_or_close);
            return false;
        }
        j->pos++;
        skip_space(j);
    }
    *first = false;
    return true;
}

/* `key` NULL: passes it without decoding. */
static bool next_key(vug_json *j, vug_str *key)
{
    if (!next(j, '}', "',' or '}'"))
        return false;
    vug_str raw;
    bool escaped;
    if (next_char(j) != '"') {
        expected(j, "a key in quotes");
        return false;
    }
    if (!scan_string(j, &raw, &escaped))
        return false;
    skip_space(j);
    if (next_char(j) != ':') {
        expected(j, "':' after a key");
        return false;
    }
    j->pos++;
    if (key)
        *key = escaped ? unescape(j, raw) : raw;
    return j->st == VUG_OK;
}

bool vug_json_key(vug_json *j, vug_str *key)
{
    return next_key(j, key);
}

bool vug_json_element(vug_json *j)
{
    if (!next(j, ']', "',' or ']'"))
        return false;
    const char c = next_char(j);
    if (c != '\0' && c != ']')
        return true;
    expected(j, "a value");
    return false;
}

void vug_json_skip(vug_json *j)
{
    const int base = j->depth;
    uint64_t objects = 0; /* bit d: the container at depth d is an object */
    _Static_assert(VUG_JSON_MAX_DEPTH <= 64, "one bit per level");
    while (j->st == VUG_OK) {
        vug_str raw;
        bool escaped;
        const int depth = j->depth;
        switch (vug_json_peek(j)) {
        case VUG_JSON_OBJECT:
            enter(j, VUG_JSON_OBJECT);
            objects |= depth < VUG_JSON_MAX_DEPTH ? UINT64_C(1) << depth : 0;
            break;
        case VUG_JSON_ARRAY:
            enter(j, VUG_JSON_ARRAY);
            objects &= ~(depth < VUG_JSON_MAX_DEPTH ? UINT64_C(1) << depth : 0);
            break;
        case VUG_JSON_STRING:
            (void)scan_string(j, &raw, &escaped);
            break;
        case VUG_JSON_NUMBER:
            (void)scan_number(j);
            break;
        case VUG_JSON_BOOL:
            (void)literal(j, j->src.ptr[j->pos] == 't' ? "true" : "false");
            break;
        case VUG_JSON_NULL:
            (void)literal(j, "null");
            break;
        case VUG_JSON_NOTHING:
            expected(j, "a value");
            return;
        }
        bool more = false;
        while (j->st == VUG_OK && j->depth > base && !more)
            more = objects >> (j->depth - 1) & 1 ? next_key(j, NULL) : vug_json_element(j);
        if (!more)
            return;
    }
}

/* ---- values -------------------------------------------------------------- */

vug_str vug_json_string(vug_json *j)
{
    vug_str raw;
    bool escaped;
    if (!want(j, VUG_JSON_STRING) || !scan_string(j, &raw, &escaped))
        return (vug_str){ 0 };
    return escaped ? unescape(j, raw) : raw;
}

bool vug_json_bool(vug_json *j)
{
    if (!want(j, VUG_JSON_BOOL))
        return false;
    if (j->src.ptr[j->pos] == 't')
        return literal(j, "true");
    (void)literal(j, "false");
    return false;
}

/* Magnitude of a whole number; false when it does not fit. */
static bool magnitude(vug_str digits, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < digits.len; i++) {
        const uint64_t d = (uint64_t)(digits.ptr[i] - '0');
        if (v > (UINT64_MAX - d) / 10)
            return false;
        v = v * 10 + d;
    }
    *out = v;
    return true;
}

int64_t vug_json_i64(vug_json *j, int64_t min, int64_t max)
{
    if (!want(j, VUG_JSON_NUMBER))
        return 0;
    const number x = scan_number(j);
    if (j->st != VUG_OK)
        return 0;
    const bool minus = x.text.ptr[0] == '-';
    uint64_t m = 0;
    bool fits = x.whole && magnitude(vug_str_from(x.text, minus), &m) &&
                m <= (uint64_t)INT64_MAX + minus;
    /* Negated as unsigned: the smallest number has no positive twin. */
    const int64_t v = fits ? (int64_t)(minus ? 0 - m : m) : 0;
    if (fits && v >= min && v <= max)
        return v;
    j->pos -= x.text.len;
    vug_json_fail(j, VUG_FORMAT, "expected a whole number from %lld to %lld, found %.*s",
                  (long long)min, (long long)max, (int)(x.text.len < 40 ? x.text.len : 40),
                  x.text.ptr);
    return 0;
}

uint64_t vug_json_u64(vug_json *j, uint64_t max)
{
    if (!want(j, VUG_JSON_NUMBER))
        return 0;
    const number x = scan_number(j);
    if (j->st != VUG_OK)
        return 0;
    uint64_t v = 0;
    if (x.whole && x.text.ptr[0] != '-' && magnitude(x.text, &v) && v <= max)
        return v;
    j->pos -= x.text.len;
    vug_json_fail(j, VUG_FORMAT, "expected a whole number from 0 to %llu, found %.*s",
                  (unsigned long long)max, (int)(x.text.len < 40 ? x.text.len : 40), x.text.ptr);
    return 0;
}

double vug_json_f64(vug_json *j)
{
    if (!want(j, VUG_JSON_NUMBER))
        return 0;
    const number x = scan_number(j);
    if (j->st != VUG_OK)
        return 0;
    const double v = vug_decimal_f64(x.text);
    if (v <= DBL_MAX && v >= -DBL_MAX)
        return v;
    j->pos -= x.text.len;
    vug_json_fail(j, VUG_FORMAT, "number too large");
    return 0;
}

vug_status vug_json_finish(vug_json *j, vug_err *err)
{
    if (j->st == VUG_OK) {
        VUG_ASSERT(j->depth == 0);
        skip_space(j);
        if (j->pos < j->src.len)
            expected(j, "the end");
    }
    if (j->st != VUG_OK && err)
        *err = j->err;
    return j->st;
}
