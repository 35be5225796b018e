#ifndef VUG_CORE_UTF8_H
#define VUG_CORE_UTF8_H

/* UTF-8: decoding, encoding and validation. */

#include "core/bytes.h"

/* Whether the byte is not the first of its character. */
static inline bool vug_utf8_is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Length 1..4 of the well-formed sequence at `text` (Unicode 15, table 3-7: no
 * overlong forms, no surrogates), or 0. `n` bytes are readable. */
size_t vug_utf8_decode(const char *text, size_t n, uint32_t *code_point);
bool vug_utf8_valid(vug_str text);
/* True when the `n` bytes are a proper prefix of some well-formed sequence. */
bool vug_utf8_incomplete(const char *text, size_t n);
/* The number of bytes, 1..3, to replace by one U+FFFD where vug_utf8_decode returns 0 and
 * n > 0 (Unicode 15, section 3.9: the maximal subpart). */
size_t vug_utf8_invalid_length(const char *text, size_t n);
/* Writes 1..4 bytes and returns their number; surrogates and values above U+10FFFF
 * become U+FFFD. */
size_t vug_utf8_encode(uint32_t cp, char out[4]);

#endif
