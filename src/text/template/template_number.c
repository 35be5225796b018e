/* Parses numbers as Python spells them. */

#include <math.h>

#include "core/number.h"
#include "text/template/template_strings.h"

static vug_str strip_space(vug_str s)
{
    const vug_tmpl_str t = vug_tmpl_strip(NULL, (vug_tmpl_str){ s.ptr, s.len, NULL }, NULL,
                                          VUG_TMPL_STRIP_LEFT | VUG_TMPL_STRIP_RIGHT);
    return vug_tmpl_str_bytes(t);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(vug_str s, const char *word)
{
    if (s.len != strlen(word))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if ((s.ptr[i] | 0x20) != word[i])
            return false;
    }
    return true;
}

enum { MAX_SPELLING = 400 };

/* Copies digits, without the single underscores between them. */
static size_t copy_digits(vug_str s, size_t at, char *to, size_t *n)
{
    const size_t from = at;
    while (at < s.len && *n < MAX_SPELLING - 8 &&
           (is_digit(s.ptr[at]) ||
            (s.ptr[at] == '_' && at > from && at + 1 < s.len && is_digit(s.ptr[at + 1])))) {
        if (s.ptr[at] != '_')
            to[(*n)++] = s.ptr[at];
        at++;
    }
    return at;
}

bool vug_tmpl_parse_float(vug_str text, double *out)
{
    vug_str s = strip_space(text);
    char spelling[MAX_SPELLING];
    size_t n = 0;
    const bool minus = s.len > 0 && s.ptr[0] == '-';
    if (s.len > 0 && (minus || s.ptr[0] == '+'))
        s = vug_str_from(s, 1);
    if (is_word(s, "inf") || is_word(s, "infinity") || is_word(s, "nan")) {
        *out = is_word(s, "nan") ? NAN : minus ? -INFINITY : INFINITY;
        return true;
    }
    spelling[n++] = '0';
    size_t at = copy_digits(s, 0, spelling, &n);
    size_t count = n - 1;
    if (at < s.len && s.ptr[at] == '.') {
        const size_t point = n;
        spelling[n++] = '.';
        at = copy_digits(s, at + 1, spelling, &n);
        count += n - point - 1;
        if (n == point + 1)
            spelling[n++] = '0';
    }
    if (count == 0)
        return false;
    if (at < s.len && (s.ptr[at] | 0x20) == 'e') {
        spelling[n++] = 'e';
        at++;
        if (at < s.len && (s.ptr[at] == '-' || s.ptr[at] == '+'))
            spelling[n++] = s.ptr[at++];
        const size_t exponent = n;
        at = copy_digits(s, at, spelling, &n);
        if (n == exponent)
            return false;
    }
    if (at != s.len)
        return false;
    *out = vug_parse_decimal((vug_str){ spelling, n });
    if (minus)
        *out = -*out;
    return true;
}

static int digit_of(char c)
{
    if (is_digit(c))
        return c - '0';
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

/* The base of a prefix 0x, 0o or 0b that fits `base`, where 0 allows any; 0: no prefix. */
static int prefix_base(vug_str s, int base)
{
    static const struct {
        char letter;
        int base;
    } row[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
    for (size_t i = 0; i < 3 && s.len > 2 && s.ptr[0] == '0'; i++) {
        if ((s.ptr[1] | 0x20) == row[i].letter && (base == 0 || base == row[i].base))
            return row[i].base;
    }
    return 0;
}

bool vug_tmpl_parse_int(vug_str text, int base, int64_t *out)
{
    vug_str s = strip_space(text);
    const bool minus = s.len > 0 && s.ptr[0] == '-';
    if (s.len > 0 && (minus || s.ptr[0] == '+'))
        s = vug_str_from(s, 1);
    const int prefix = prefix_base(s, base);
    if (prefix)
        s = vug_str_from(s, s.ptr[2] == '_' ? 3 : 2);
    const bool zeros = base == 0 && !prefix && s.len > 1 && s.ptr[0] == '0';
    if (prefix || base == 0)
        base = prefix ? prefix : 10;
    int64_t v = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '_' && i > 0 && i + 1 < s.len && s.ptr[i - 1] != '_')
            continue;
        const int d = digit_of(s.ptr[i]);
        if (d >= base || (zeros && d > 0) || __builtin_mul_overflow(v, base, &v) ||
            __builtin_sub_overflow(v, d, &v)) /* negative, where there is one more number */
            return false;
    }
    if (s.len == 0 || (!minus && v == INT64_MIN))
        return false;
    *out = minus ? v : -v;
    return true;
}
