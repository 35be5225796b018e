#ifndef VUG_CORE_TEXT_H
#define VUG_CORE_TEXT_H

/* UTF-8 and number spelling. */

#include "core/bytes.h"

/* Length 1..4 of the well-formed sequence at `text` (Unicode 15, table 3-7: no
 * overlong forms, no surrogates), or 0. `n` bytes are readable. */
size_t vug_utf8_next(const char *text, size_t n, uint32_t *code_point);
/* Whether all of it is well-formed. */
bool vug_utf8_valid(vug_str text);
/* True when the `n` bytes could begin a longer well-formed sequence. */
bool vug_utf8_incomplete(const char *text, size_t n);
/* Where vug_utf8_next gives 0 and n > 0: the length 1..3 of the part that one
 * U+FFFD stands for (Unicode 15, section 3.9: the maximal subpart). */
size_t vug_utf8_bad(const char *text, size_t n);
/* Writes 1..4 bytes and returns how many; surrogates and values past U+10FFFF
 * give U+FFFD. */
size_t vug_utf8_put(uint32_t cp, char out[4]);
/* The whole text as one decimal number; false for anything else, space around it too, and for
 * one that does not fit. */
bool vug_parse_f64(const char *text, double *out);
bool vug_parse_i64(const char *text, int64_t *out);
/* The value of a number spelled as in JSON (digits, '.', an exponent), correctly
 * rounded whatever the locale; inf when it is too large. */
double vug_decimal_f64(vug_str spelling);

#endif
