#ifndef VUG_TEXT_GRAMMAR_SCHEMA_NUMBER_H
#define VUG_TEXT_GRAMMAR_SCHEMA_NUMBER_H

/* Decimal numbers of any size, and ranges of them. */

#include "text/grammar/schema_internal.h"

/* ---- schema_decimal.c: exact decimal numbers ------------------------------------------ */

enum { VUG_DECIMAL_DIGITS = 40 };

/* 0.ddd times 10^point, without leading or trailing zeros. Zero has no digits. */
typedef struct {
    bool negative;
    int n, point;
    char digit[VUG_DECIMAL_DIGITS]; /* 0 to 9 */
} vug_decimal;

/* False if the number has too many digits. */
bool vug_decimal_parse(vug_str spelling, vug_decimal *out);
/* The same for a number in a schema; its work is charged. */
bool vug_schema_decimal(vug_schema_compiler *s, const vug_jv *number, vug_decimal *out);
int vug_decimal_compare(const vug_decimal *a, const vug_decimal *b);
bool vug_decimal_is_integer(const vug_decimal *a);
/* a * 10^scale if that is an integer from 1 to 2^31 - 1; else 0. */
uint32_t vug_decimal_scaled(const vug_decimal *a, int scale);
/* The remainder of an integer divided by 1 to 2^31, ignoring its sign. */
uint32_t vug_decimal_modulo(const vug_decimal *a, uint32_t by);

/* ---- schema_number_range.c --------------------------------------------------------------- */

typedef struct {
    bool given, open; /* open: the bound itself is excluded */
    vug_decimal at;
} vug_number_bound;

enum { VUG_MAX_NOT_MULTIPLES = 8 };

typedef struct {
    vug_number_bound low, high;
    uint32_t multiple; /* times 10^-scale */
    int scale;
    int n_fraction;  /* maximum digits after the decimal point; at most `scale` if that is not 0 */
    bool no_integer; /* only numbers that are not integers */
    /* Integers must not be multiples of these, and `scale` is 0. */
    uint32_t excluded[VUG_MAX_NOT_MULTIPLES];
    size_t n_excluded;
} vug_number_range;

/* The numbers of a range that is not empty. */
vug_grammar_expr vug_schema_number_range_expr(vug_schema_compiler *s, const vug_number_range *r);

/* ---- schema_multiple.c --------------------------------------------------------------------- */

#define VUG_MAX_MULTIPLE \
    ((uint32_t)1 << 16) /* also the least common multiple of all for a number */

/* The least common multiple of two numbers above 0, or UINT32_MAX if it is larger. */
uint32_t vug_schema_common_multiple(uint32_t a, uint32_t b);
/* The same for multiples, and integers that are none. The bounds are not negative. */
vug_grammar_expr vug_schema_multiples_expr(vug_schema_compiler *s, const vug_number_range *r);

#endif
