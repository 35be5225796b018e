#ifndef VUG_CORE_NUMBER_H
#define VUG_CORE_NUMBER_H

/* Numbers as text. */

#include "core/bytes.h"

/* The whole text as one decimal number. False for anything else, including surrounding
 * space, and when the value does not fit. */
bool vug_parse_f64(const char *text, double *out);
bool vug_parse_i64(const char *text, int64_t *out);
/* The value of a number in JSON's syntax (digits, '.', an exponent), correctly rounded in
 * every locale; inf when it is too large. The caller has checked the syntax. */
double vug_parse_decimal(vug_str spelling);

static inline bool vug_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The value 0 .. 15 of a hexadecimal digit, or -1. */
static inline int vug_hex_digit(char c)
{
    if (vug_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

#endif
