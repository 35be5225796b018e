#ifndef VUG_TEXT_UNICODE_H
#define VUG_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* White_Space of the Unicode Character Database (PropList.txt, Unicode 15). */
static inline bool vug_is_white_space(uint32_t cp)
{
    return (cp >= 0x09 && cp <= 0x0d) || cp == 0x20 || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
           cp == 0x205f || cp == 0x3000;
}

/* What a character is, by its General_Category: bits. */
enum {
    VUG_CHAR_UPPER = 1,    /* Lu */
    VUG_CHAR_LOWER = 2,    /* Ll */
    VUG_CHAR_TITLE = 4,    /* Lt */
    VUG_CHAR_LETTER = 8,   /* L */
    VUG_CHAR_DECIMAL = 16, /* Nd */
    VUG_CHAR_NUMBER = 32,  /* N */
    VUG_CHAR_PRINTED = 64, /* neither C nor Z, or a space */
};
unsigned vug_char_class(uint32_t cp);

/* Its upper, lower or title case, which may be several characters; returns how many. */
enum { VUG_MAX_CASE = 3 };
size_t vug_char_upper(uint32_t cp, uint32_t out[VUG_MAX_CASE]);
size_t vug_char_lower(uint32_t cp, uint32_t out[VUG_MAX_CASE]);
size_t vug_char_title(uint32_t cp, uint32_t out[VUG_MAX_CASE]);

#endif
