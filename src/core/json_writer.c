#include "core/json_writer.h"

#include <float.h>
#include <stdio.h>

#include "core/number.h"
#include "core/utf8.h"

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

void vug_json_append_string(vug_buf *to, const char *text, size_t len)
{
    vug_buf_append(to, "\"", 1);
    size_t plain = 0; /* start of the bytes that are copied unchanged */
    size_t i = 0;
    while (i < len) {
        const unsigned char c = (unsigned char)text[i];
        uint32_t cp;
        const size_t n = vug_utf8_decode(text + i, len - i, &cp);
        if (n > 0 && c >= 0x20 && c != '"' && c != '\\') {
            i += n;
            continue;
        }
        vug_buf_append(to, text + plain, i - plain);
        if (n > 0)
            write_control(to, c);
        else
            vug_buf_puts(to, "\xef\xbf\xbd");
        i += n > 0 ? n : vug_utf8_invalid_length(text + i, len - i);
        plain = i;
    }
    if (len > plain)
        vug_buf_append(to, text + plain, len - plain);
    vug_buf_append(to, "\"", 1);
}

enum { DIGITS = 17 }; /* enough to tell any two doubles apart */

/* v = d.ddd * 10^exponent with the fewest digits, at most 17, that read back as v; with
 * `single`, that read back as v after rounding to F32. Only digits are taken from printf:
 * its decimal point depends on the locale. */
static int shortest_digits(double v, bool single, char digit[DIGITS], int *exponent)
{
    int n = 0;
    /* A normal double preserves fifteen digits, a normal F32 six. */
    const int preserved = single ? FLT_DIG : DBL_DIG;
    for (int want = v < (single ? FLT_MIN : DBL_MIN) ? 1 : preserved; want <= DIGITS; want++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "%.*e", want - 1, v);
        n = 0;
        const char *c = text;
        for (; *c && *c != 'e'; c++) {
            if (vug_is_digit(*c) && n < DIGITS)
                digit[n++] = *c;
        }
        const bool minus = c[0] && c[1] == '-';
        int e = 0;
        for (; *c; c++) {
            if (vug_is_digit(*c))
                e = e * 10 + (*c - '0');
        }
        *exponent = minus ? -e : e;
        char back[DIGITS + 16];
        (void)snprintf(back, sizeof(back), "%.*se%d", n, digit, *exponent - n + 1);
        const double read = vug_parse_decimal(vug_str_of(back));
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
    const int n = shortest_digits(v, single, digit, &exponent);
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

void vug_json_append_f64(vug_buf *to, double v)
{
    write_real(to, v, false);
}

void vug_json_append_f32(vug_buf *to, float v)
{
    write_real(to, (double)v, true);
}

/* ---- writer -------------------------------------------------------------- */

static vug_buf *buffer_of(vug_json_writer *w)
{
    return w->to ? w->to : &w->buf;
}

static void begin_value(vug_json_writer *w, const char *key)
{
    vug_buf *to = buffer_of(w);
    if (w->more)
        vug_buf_puts(to, ",");
    w->more = true;
    if (key) {
        vug_json_append_string(to, key, strlen(key));
        vug_buf_puts(to, ":");
    }
}

void vug_json_begin(vug_json_writer *w, const char *key, char bracket)
{
    begin_value(w, key);
    vug_buf_append(buffer_of(w), &bracket, 1);
    w->more = false;
}

void vug_json_end(vug_json_writer *w, char bracket)
{
    vug_buf_append(buffer_of(w), &bracket, 1);
    w->more = true;
}

void vug_json_put_text(vug_json_writer *w, const char *key, const char *text, size_t len)
{
    begin_value(w, key);
    vug_json_append_string(buffer_of(w), text, len);
}

void vug_json_put_string(vug_json_writer *w, const char *key, const char *text)
{
    if (text)
        vug_json_put_text(w, key, text, strlen(text));
    else
        vug_json_put_raw(w, key, "null", 4);
}

/* Long lists of token ids are written; printf would take most of the time. */
static void append_u64(vug_buf *to, uint64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    vug_buf_append(to, digits + at, sizeof(digits) - at);
}

void vug_json_put_i64(vug_json_writer *w, const char *key, int64_t v)
{
    begin_value(w, key);
    if (v < 0)
        vug_buf_append(buffer_of(w), "-", 1);
    append_u64(buffer_of(w), v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void vug_json_put_u64(vug_json_writer *w, const char *key, uint64_t v)
{
    begin_value(w, key);
    append_u64(buffer_of(w), v);
}

void vug_json_put_f64(vug_json_writer *w, const char *key, double v)
{
    begin_value(w, key);
    vug_json_append_f64(buffer_of(w), v);
}

void vug_json_put_f32(vug_json_writer *w, const char *key, float v)
{
    begin_value(w, key);
    vug_json_append_f32(buffer_of(w), v);
}

void vug_json_put_bool(vug_json_writer *w, const char *key, bool v)
{
    vug_json_put_raw(w, key, v ? "true" : "false", v ? 4 : 5);
}

void vug_json_put_raw(vug_json_writer *w, const char *key, const char *json, size_t len)
{
    begin_value(w, key);
    vug_buf_append(buffer_of(w), json, len);
}

void vug_json_put_i32s(vug_json_writer *w, const char *key, const int32_t *values, size_t n)
{
    vug_json_begin(w, key, '[');
    for (size_t i = 0; i < n; i++)
        vug_json_put_i64(w, NULL, values[i]);
    vug_json_end(w, ']');
}
