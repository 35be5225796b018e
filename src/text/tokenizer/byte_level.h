#ifndef VUG_TEXT_TOKENIZER_BYTE_LEVEL_H
#define VUG_TEXT_TOKENIZER_BYTE_LEVEL_H

/*
 * The 256 characters that stand for bytes in byte-level vocabularies (GPT-2's
 * encoder.py, bytes_to_unicode): printable bytes of Latin 1 stand for themselves, the
 * other 68 become U+0100 and the following.
 */

#include "core/mem.h"

static inline uint32_t vug_byte_level_char(unsigned char byte)
{
    if (byte <= 0x20)
        return 0x100u + byte;
    if (byte >= 0x7f && byte <= 0xa0)
        return 0x121u + byte - 0x7fu;
    return byte == 0xad ? 0x143u : byte;
}

/* The byte that a character stands for, or -1. */
static inline int vug_byte_level_byte(uint32_t cp)
{
    if (cp >= 0x100 && cp <= 0x120)
        return (int)(cp - 0x100);
    if (cp >= 0x121 && cp <= 0x142)
        return (int)(cp - 0x121 + 0x7f);
    if (cp == 0x143)
        return 0xad;
    const bool itself = cp < 0x100 && vug_byte_level_char((unsigned char)cp) == cp;
    return itself ? (int)cp : -1;
}

/* Appends the characters that stand for `bytes`. */
static inline void vug_byte_level_append(vug_str bytes, vug_buf *to)
{
    char text[512];
    for (size_t i = 0; i < bytes.len;) {
        size_t n = 0;
        for (; i < bytes.len && n + 2 <= sizeof(text); i++) {
            const uint32_t cp = vug_byte_level_char((unsigned char)bytes.ptr[i]);
            if (cp >= 0x80)
                text[n++] = (char)(0xc0 | cp >> 6);
            text[n++] = (char)(cp < 0x80 ? cp : 0x80 | (cp & 0x3f));
        }
        vug_buf_append(to, text, n);
    }
}

#endif
