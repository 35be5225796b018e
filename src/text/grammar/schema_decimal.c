#include "core/number.h"
#include "text/grammar/schema_number.h"

/* JSON numbers exactly as they are written: 0.ddd times a power of ten. */

enum {
    MAX_EXPONENT = 1000,  /* far beyond a double */
    DIGITS_PER_STEP = 16, /* digits parsed in one step of work */
};

typedef struct {
    vug_decimal *to;
    bool fits;
} decimal_parser;

/* Skips leading zeros. Trailing zeros are removed later. */
static void add_digit(decimal_parser *r, char digit, bool after_point)
{
    vug_decimal *d = r->to;
    if (d->n == 0 && digit == 0) {
        d->point -= after_point;
        return;
    }
    d->point += !after_point;
    if (d->n < VUG_DECIMAL_DIGITS)
        d->digit[d->n++] = digit;
    else if (digit != 0)
        r->fits = false;
}

static size_t read_digits(decimal_parser *r, vug_str text, size_t i, bool after_point)
{
    while (i < text.len && vug_is_digit(text.ptr[i]))
        add_digit(r, (char)(text.ptr[i++] - '0'), after_point);
    return i;
}

static int read_exponent(decimal_parser *r, vug_str text, size_t i)
{
    const bool negative = i < text.len && text.ptr[i] == '-';
    int value = 0;
    if (i < text.len && (text.ptr[i] == '-' || text.ptr[i] == '+'))
        i++;
    for (; i < text.len && value < MAX_EXPONENT; i++)
        value = value * 10 + (text.ptr[i] - '0');
    if (value >= MAX_EXPONENT)
        r->fits = false;
    return negative ? -value : value;
}

bool vug_decimal_parse(vug_str text, vug_decimal *out)
{
    *out = (vug_decimal){ 0 };
    decimal_parser r = { out, true };
    out->negative = text.len > 0 && text.ptr[0] == '-';
    size_t i = read_digits(&r, text, out->negative, false);
    if (i < text.len && text.ptr[i] == '.')
        i = read_digits(&r, text, i + 1, true);
    if (i < text.len)
        out->point += read_exponent(&r, text, i + 1);
    while (out->n > 0 && out->digit[out->n - 1] == 0)
        out->n--;
    if (out->n == 0)
        *out = (vug_decimal){ 0 };
    return r.fits;
}

bool vug_schema_decimal(vug_schema_compiler *s, const vug_jv *number, vug_decimal *out)
{
    return vug_schema_charge(s, number->str.len / DIGITS_PER_STEP) &&
           vug_decimal_parse(number->str, out);
}

static int compare_magnitude(const vug_decimal *a, const vug_decimal *b)
{
    if (a->n == 0 || b->n == 0)
        return (a->n > 0) - (b->n > 0);
    if (a->point != b->point)
        return a->point < b->point ? -1 : 1;
    const int n = a->n < b->n ? a->n : b->n;
    const int order = memcmp(a->digit, b->digit, (size_t)n);
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

int vug_decimal_compare(const vug_decimal *a, const vug_decimal *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->negative ? compare_magnitude(b, a) : compare_magnitude(a, b);
}

bool vug_decimal_is_integer(const vug_decimal *a)
{
    return a->n <= a->point || a->n == 0;
}

uint32_t vug_decimal_scaled(const vug_decimal *a, int scale)
{
    uint64_t out = 0;
    if (a->negative || a->n == 0 || a->n > a->point + scale)
        return 0;
    for (int i = 0; i < a->point + scale && out <= INT32_MAX; i++)
        out = out * 10 + (uint64_t)(i < a->n ? a->digit[i] : 0);
    return out <= INT32_MAX ? (uint32_t)out : 0;
}

uint32_t vug_decimal_modulo(const vug_decimal *a, uint32_t by)
{
    uint64_t remainder = 0, power = 10 % by; /* 10, 10^2, 10^4, ... */
    for (int i = 0; i < a->n && i < a->point; i++)
        remainder = (remainder * 10 + (uint64_t)a->digit[i]) % by;
    for (int zeros = a->point - a->n; zeros > 0; zeros /= 2) {
        remainder = zeros % 2 ? remainder * power % by : remainder;
        power = power * power % by;
    }
    return (uint32_t)remainder;
}
