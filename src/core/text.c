#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

size_t vug_utf8_next(const char *text, size_t n, uint32_t *code_point)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0)
        return 0;
    if (s[0] < 0x80) {
        *code_point = s[0];
        return 1;
    }
    size_t len;
    uint32_t min;
    uint32_t cp;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        len = 2, min = 0x80, cp = s[0] & 0x1fu;
    else if ((s[0] & 0xf0) == 0xe0)
        len = 3, min = 0x800, cp = s[0] & 0x0fu;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        len = 4, min = 0x10000, cp = s[0] & 0x07u;
    else
        return 0;
    if (n < len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        cp = cp << 6 | (s[i] & 0x3fu);
    }
    if (cp < min || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        return 0;
    *code_point = cp;
    return len;
}

bool vug_utf8_valid(vug_str text)
{
    uint32_t cp;
    for (size_t at = 0; at < text.len;) {
        const size_t n = vug_utf8_next(text.ptr + at, text.len - at, &cp);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

bool vug_utf8_incomplete(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0 || n > 3 || s[0] < 0xc2 || s[0] > 0xf4)
        return false;
    const size_t len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n >= len)
        return false;
    /* Completing with the lowest and the highest continuation shows whether the
     * second byte is in the range that its first byte allows. */
    char low[4], high[4];
    memcpy(low, text, n);
    memcpy(high, text, n);
    memset(low + n, 0x80, len - n);
    memset(high + n, 0xbf, len - n);
    uint32_t cp;
    return vug_utf8_next(low, len, &cp) == len || vug_utf8_next(high, len, &cp) == len;
}

size_t vug_utf8_bad(const char *text, size_t n)
{
    size_t len = n < 3 ? n : 3;
    while (len > 1 && !vug_utf8_incomplete(text, len))
        len--;
    return len;
}

size_t vug_utf8_put(uint32_t cp, char out[4])
{
    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        cp = 0xfffd;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    const size_t len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (cp & 0x3f));
        cp >>= 6;
    }
    out[0] = (char)(lead[len] | cp);
    return len;
}

bool vug_parse_f64(const char *text, double *out)
{
    char *end = NULL;
    /* strtod alone would also take leading space, hexadecimal, inf and nan. */
    if (text[strspn(text, "+-.0123456789eE")] != '\0')
        return false;
    errno = 0;
    const double v = strtod(text, &end);
    if (errno == ERANGE || end == text || *end)
        return false;
    *out = v;
    return true;
}

bool vug_parse_i64(const char *text, int64_t *out)
{
    char *end = NULL;
    if (text[strspn(text, "+-0123456789")] != '\0')
        return false;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *out = v;
    return true;
}

double vug_decimal_f64(vug_str s)
{
    /* More digits than the longest halfway case between two doubles has (767);
     * past them only whether anything follows can matter. */
    enum { KEEP = 780, EXPONENT = 100000 };
    char text[KEEP + 32];
    size_t n = 0;
    size_t i = 0;
    int64_t exponent = 0;
    bool fraction = false;
    bool rest = false;
    if (s.len > 0 && s.ptr[0] == '-')
        text[n++] = s.ptr[i++];
    const size_t sign = n;
    for (; i < s.len && s.ptr[i] != 'e' && s.ptr[i] != 'E'; i++) {
        const char c = s.ptr[i];
        if (c == '.') {
            fraction = true;
            continue;
        }
        exponent -= fraction;
        if (n >= KEEP) {
            rest = rest || c != '0';
            exponent++;
        } else if (c != '0' || n > sign) {
            text[n++] = c;
        }
    }
    if (n == sign)
        return sign ? -0.0 : 0.0;
    if (rest) {
        text[n++] = '1';
        exponent--;
    }
    const bool minus = i + 1 < s.len && s.ptr[i + 1] == '-';
    int64_t written = 0;
    for (; i < s.len; i++) {
        if (s.ptr[i] >= '0' && s.ptr[i] <= '9' && written < INT32_MAX)
            written = written * 10 + (s.ptr[i] - '0');
    }
    exponent += minus ? -written : written;
    if (exponent > EXPONENT)
        exponent = EXPONENT;
    if (exponent < -EXPONENT)
        exponent = -EXPONENT;
    /* Without a decimal point strtod reads the same in every locale. */
    (void)snprintf(text + n, sizeof(text) - n, "e%d", (int)exponent);
    return strtod(text, NULL);
}
