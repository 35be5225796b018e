#include "core/utf8.h"

size_t vug_utf8_decode(const char *text, size_t n, uint32_t *code_point)
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
        if (!vug_utf8_is_continuation(text[i]))
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
        const size_t n = vug_utf8_decode(text.ptr + at, text.len - at, &cp);
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
    /* The second byte's range depends on the first byte. Completing with the lowest and with
     * the highest continuation bytes covers both ends of every range. */
    char low[4], high[4];
    memcpy(low, text, n);
    memcpy(high, text, n);
    memset(low + n, 0x80, len - n);
    memset(high + n, 0xbf, len - n);
    uint32_t cp;
    return vug_utf8_decode(low, len, &cp) == len || vug_utf8_decode(high, len, &cp) == len;
}

size_t vug_utf8_invalid_length(const char *text, size_t n)
{
    size_t len = n < 3 ? n : 3;
    while (len > 1 && !vug_utf8_incomplete(text, len))
        len--;
    return len;
}

size_t vug_utf8_encode(uint32_t cp, char out[4])
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
