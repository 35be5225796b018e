#include "text/grammar/schema.h"

/*
 * Numbers of JSON, exactly as they are written: 0.ddd times a power of ten.
 */

enum {
    MAX_EXPONENT = 1000, /* past a double by far */
    CHEAP = 16,          /* digits that are read in one step */
};

typedef struct {
    vug_decimal *to;
    bool fits;
} reading;

/* Zeros in front do not count; those at the end are taken away later. */
static void put_digit(reading *r, char digit, bool behind_point)
{
    vug_decimal *d = r->to;
    if (d->n == 0 && digit == 0) {
        d->point -= behind_point;
        return;
    }
    d->point += !behind_point;
    if (d->n < VUG_DECIMAL_DIGITS)
        d->digit[d->n++] = digit;
    else if (digit != 0)
        r->fits = false;
}

static size_t read_digits(reading *r, vug_str text, size_t i, bool behind_point)
{
    while (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9')
        put_digit(r, (char)(text.ptr[i++] - '0'), behind_point);
    return i;
}

static int read_exponent(reading *r, vug_str text, size_t i)
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

bool vug_decimal_read(vug_str text, vug_decimal *out)
{
    *out = (vug_decimal){ 0 };
    reading r = { out, true };
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

bool vug_schema_decimal(vug_schema *s, const vug_jv *number, vug_decimal *out)
{
    return vug_schema_step(s, number->str.len / CHEAP) && vug_decimal_read(number->str, out);
}

static int compare_size(const vug_decimal *a, const vug_decimal *b)
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
    return a->negative ? compare_size(b, a) : compare_size(a, b);
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
    uint64_t rest = 0, power = 10 % by; /* of ten: 10, 10^2, 10^4, .. */
    for (int i = 0; i < a->n && i < a->point; i++)
        rest = (rest * 10 + (uint64_t)a->digit[i]) % by;
    for (int zeros = a->point - a->n; zeros > 0; zeros /= 2) {
        rest = zeros % 2 ? rest * power % by : rest;
        power = power * power % by;
    }
    return (uint32_t)rest;
}
