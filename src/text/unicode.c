/* Character classes and cases, from utf8proc's tables. */

#include "text/unicode.h"

#include <utf8proc.h>

unsigned vug_char_class(uint32_t cp)
{
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_LL:
        return VUG_CHAR_LOWER | VUG_CHAR_LETTER | VUG_CHAR_PRINTED;
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return VUG_CHAR_LETTER | VUG_CHAR_PRINTED;
    case UTF8PROC_CATEGORY_ND:
        return VUG_CHAR_DECIMAL | VUG_CHAR_NUMBER | VUG_CHAR_PRINTED;
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return VUG_CHAR_NUMBER | VUG_CHAR_PRINTED;
    case UTF8PROC_CATEGORY_ZS:
        return cp == ' ' ? VUG_CHAR_PRINTED : 0;
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return 0;
    default:
        return VUG_CHAR_PRINTED;
    }
}

/* The case folding, if it has several characters; else returns 0. A character without a
 * capital of its own, such as the sharp s, has their capitals. */
static size_t fold_to_several(uint32_t cp, uint32_t out[VUG_MAX_CASE])
{
    utf8proc_int32_t to[VUG_MAX_CASE];
    int boundary = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)cp, to, VUG_MAX_CASE,
                                                       UTF8PROC_CASEFOLD, &boundary);
    if (n < 2 || n > VUG_MAX_CASE)
        return 0;
    for (utf8proc_ssize_t i = 0; i < n; i++)
        out[i] = (uint32_t)to[i];
    return (size_t)n;
}

size_t vug_char_upper(uint32_t cp, uint32_t out[VUG_MAX_CASE])
{
    out[0] = (uint32_t)utf8proc_toupper((utf8proc_int32_t)cp);
    if (cp < 0x80 ||
        (out[0] != cp && cp != 0xdf)) /* the sharp s becomes SS, not the newer capital */
        return 1;
    const size_t n = fold_to_several(cp, out);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint32_t)utf8proc_toupper((utf8proc_int32_t)out[i]);
    if (n == 0)
        out[0] = cp;
    return n ? n : 1;
}

size_t vug_char_lower(uint32_t cp, uint32_t out[VUG_MAX_CASE])
{
    out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
    if (cp == 0x130) /* I with a dot keeps it */
        return fold_to_several(cp, out);
    return 1;
}

size_t vug_char_title(uint32_t cp, uint32_t out[VUG_MAX_CASE])
{
    out[0] = (uint32_t)utf8proc_totitle((utf8proc_int32_t)cp);
    if (cp < 0x80 || (out[0] != cp && cp != 0xdf))
        return 1;
    const size_t n = fold_to_several(cp, out);
    if (n == 0 || (vug_char_class(cp) & VUG_CHAR_LOWER) == 0) {
        out[0] = cp;
        return 1;
    }
    out[0] = (uint32_t)utf8proc_totitle((utf8proc_int32_t)out[0]);
    return n;
}
