#ifndef VUG_TEXT_UNICODE_H
#define VUG_TEXT_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

/* White_Space of the Unicode Character Database (PropList.txt, Unicode 15). */
static inline bool vug_is_white_space(uint32_t cp)
{
    return (cp >= 0x09 && cp <= 0x0d) || cp == 0x20 || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
           cp == 0x205f || cp == 0x3000;
}

#endif
