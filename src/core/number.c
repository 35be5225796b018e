#include "core/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool vug_parse_f64(const char *text, double *out)
{
    char *end = NULL;
    /* strtod alone would also accept leading space, hexadecimal, inf and nan. */
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

double vug_parse_decimal(vug_str s)
{
    /* The longest halfway case between two doubles has 767 digits. Of the digits after KEEP
     * it matters only whether any is not 0. */
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
        if (vug_is_digit(s.ptr[i]) && written < INT32_MAX)
            written = written * 10 + (s.ptr[i] - '0');
    }
    exponent += minus ? -written : written;
    if (exponent > EXPONENT)
        exponent = EXPONENT;
    if (exponent < -EXPONENT)
        exponent = -EXPONENT;
    /* Without a decimal point strtod does not depend on the locale. */
    (void)snprintf(text + n, sizeof(text) - n, "e%d", (int)exponent);
    return strtod(text, NULL);
}
