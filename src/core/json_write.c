#include "core/json.h"

#include <float.h>
#include <stdio.h>

#include "core/text.h"

static void write_control(vug_buf *to, unsigned char c)
{
    static const char from[] = "\b\f\n\r\t\"\\";
    static const char letter[] = "bfnrt\"\\";
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        const char escape[2] = { '\\', letter[simple - from] };
        vug_buf_append(to, escape, sizeof(escape));
    } else {
        vug_buf_printf(to, "\\u%04x", c);
    }
}

void vug_json_write_string(vug_buf *to, const char *text, size_t len)
{
    vug_buf_append(to, "\"", 1);
    size_t plain = 0; /* where what is copied as it stands begins */
    size_t i = 0;
    while (i < len) {
        const unsigned char c = (unsigned char)text[i];
        uint32_t cp;
        const size_t n = vug_utf8_next(text + i, len - i, &cp);
        if (n > 0 && c >= 0x20 && c != '"' && c != '\\') {
            i += n;
            continue;
        }
        vug_buf_append(to, text + plain, i - plain);
        if (n > 0)
            write_control(to, c);
        else
            vug_buf_puts(to, "\xef\xbf\xbd");
        i += n > 0 ? n : vug_utf8_bad(text + i, len - i);
        plain = i;
    }
    if (len > plain)
        vug_buf_append(to, text + plain, len - plain);
    vug_buf_append(to, "\"", 1);
}

enum { DIGITS = 17 }; /* enough to tell any two doubles apart */

/* v = d.ddd * 10^exponent with the fewest digits, up to 17, that read back as v, or, of
 * a `single`, as v when they are rounded to F32.
 * The digits of printf are used, its decimal point is the locale's. */
static int shortest(double v, bool single, char digit[DIGITS], int *exponent)
{
    int n = 0;
    /* Fifteen digits survive a double unless it is subnormal, six an F32. */
    const int survive = single ? FLT_DIG : DBL_DIG;
    for (int want = v < (single ? FLT_MIN : DBL_MIN) ? 1 : survive; want <= DIGITS; want++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "%.*e", want - 1, v);
        n = 0;
        const char *c = text;
        for (; *c && *c != 'e'; c++) {
            if (*c >= '0' && *c <= '9' && n < DIGITS)
                digit[n++] = *c;
        }
        const bool minus = c[0] && c[1] == '-';
        int e = 0;
        for (; *c; c++) {
            if (*c >= '0' && *c <= '9')
                e = e * 10 + (*c - '0');
        }
        *exponent = minus ? -e : e;
        char back[DIGITS + 16];
        (void)snprintf(back, sizeof(back), "%.*se%d", n, digit, *exponent - n + 1);
        const double read = vug_decimal_f64(vug_str_of(back));
        if (read == v || (single && (float)read == (float)v))
            break;
    }
    while (n > 1 && digit[n - 1] == '0')
        n--;
    return n;
}

static void write_real(vug_buf *to, double v, bool single)
{
    if (v != v || v - v != 0) {
        vug_buf_puts(to, "null");
        return;
    }
    if (v < 0 || (v == 0 && 1 / v < 0)) {
        vug_buf_append(to, "-", 1);
        v = -v;
    }
    if (v == 0) {
        vug_buf_append(to, "0", 1);
        return;
    }
    char digit[DIGITS];
    int exponent = 0;
    const int n = shortest(v, single, digit, &exponent);
    const bool positional = exponent >= -5 && exponent < DIGITS;
    const int before = positional ? exponent + 1 : 1; /* digits before the point */
    if (before <= 0)
        vug_buf_printf(to, "0.%.*s%.*s", -before, "00000", n, digit);
    else if (before >= n)
        vug_buf_printf(to, "%.*s%.*s", n, digit, before - n, "0000000000000000");
    else
        vug_buf_printf(to, "%.*s.%.*s", before, digit, n - before, digit + before);
    if (!positional)
        vug_buf_printf(to, "e%d", exponent);
}

void vug_json_write_f64(vug_buf *to, double v)
{
    write_real(to, v, false);
}

void vug_json_write_f32(vug_buf *to, float v)
{
    write_real(to, (double)v, true);
}
