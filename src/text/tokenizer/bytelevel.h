#ifndef VUG_TEXT_TOKENIZER_BYTELEVEL_H
#define VUG_TEXT_TOKENIZER_BYTELEVEL_H

/*
 * The 256 characters that stand for bytes in byte-level vocabularies (GPT-2's
 * encoder.py, bytes_to_unicode): printable bytes of Latin 1 are themselves, the other
 * 68 are U+0100 and on.
 */

#include "core/mem.h"

static inline uint32_t vug_char_of_byte(unsigned char byte)
{
    if (byte <= 0x20)
        return 0x100u + byte;
    if (byte >= 0x7f && byte <= 0xa0)
        return 0x121u + byte - 0x7fu;
    return byte == 0xad ? 0x143u : byte;
}

/* -1 for a character that stands for none. */
static inline int vug_byte_of_char(uint32_t cp)
{
    if (cp >= 0x100 && cp <= 0x120)
        return (int)(cp - 0x100);
    if (cp >= 0x121 && cp <= 0x142)
        return (int)(cp - 0x121 + 0x7f);
    if (cp == 0x143)
        return 0xad;
    const bool itself = cp < 0x100 && vug_char_of_byte((unsigned char)cp) == cp;
    return itself ? (int)cp : -1;
}

/* Appends the characters that stand for the bytes. */
static inline void vug_put_byte_chars(vug_str bytes, vug_buf *to)
{
    char text[512];
    for (size_t i = 0; i < bytes.len;) {
        size_t n = 0;
        for (; i < bytes.len && n + 2 <= sizeof(text); i++) {
            const uint32_t cp = vug_char_of_byte((unsigned char)bytes.ptr[i]);
            if (cp >= 0x80)
                text[n++] = (char)(0xc0 | cp >> 6);
            text[n++] = (char)(cp < 0x80 ? cp : 0x80 | (cp & 0x3f));
        }
        vug_buf_append(to, text, n);
    }
}

#endif
