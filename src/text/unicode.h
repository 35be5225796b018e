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

/* Classes of characters by General_Category; bits. */
enum {
    VUG_CHAR_LOWER = 1,    /* Ll */
    VUG_CHAR_LETTER = 2,   /* L */
    VUG_CHAR_DECIMAL = 4,  /* Nd */
    VUG_CHAR_NUMBER = 8,   /* N */
    VUG_CHAR_PRINTED = 16, /* neither C nor Z; or the space U+0020 */
};
unsigned vug_char_class(uint32_t cp);

/* The upper, lower or title case, which may be several characters; returns their number. */
enum { VUG_MAX_CASE = 3 };
size_t vug_char_upper(uint32_t cp, uint32_t out[VUG_MAX_CASE]);
size_t vug_char_lower(uint32_t cp, uint32_t out[VUG_MAX_CASE]);
size_t vug_char_title(uint32_t cp, uint32_t out[VUG_MAX_CASE]);

#endif
