#ifndef VUG_TESTS_SUPPORT_GGUF_HELP_H
#define VUG_TESTS_SUPPORT_GGUF_HELP_H

/* Building GGUF files byte by byte, valid or not, without the writer of the library. */

#include "core/gguf.h"

/* `bytes` little-endian bytes of `value`. */
static inline void gguf_put(vug_buf *f, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t byte = (uint8_t)(value >> 8 * i);
        vug_buf_append(f, &byte, 1);
    }
}

static inline void gguf_patch(vug_buf *f, size_t at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        f->ptr[at + i] = (char)(value >> 8 * i);
}

static inline void gguf_string(vug_buf *f, const char *text)
{
    gguf_put(f, strlen(text), 8);
    vug_buf_puts(f, text);
}

static inline void gguf_header(vug_buf *f, uint32_t version, uint64_t tensors, uint64_t keys)
{
    vug_buf_puts(f, "GGUF");
    gguf_put(f, version, 4);
    gguf_put(f, tensors, 8);
    gguf_put(f, keys, 8);
}

/* The caller appends the value. */
static inline void gguf_key(vug_buf *f, const char *key, vug_gguf_type type)
{
    gguf_string(f, key);
    gguf_put(f, type, 4);
}

/* The caller appends `n` elements. */
static inline void gguf_array(vug_buf *f, const char *key, vug_gguf_type type, uint64_t n)
{
    gguf_key(f, key, VUG_GGUF_ARRAY);
    gguf_put(f, type, 4);
    gguf_put(f, n, 8);
}

/* `ne`: dimensions, innermost first, terminated by 0. */
static inline void gguf_tensor(vug_buf *f, const char *name, const uint64_t *ne, uint32_t format,
                               uint64_t offset)
{
    uint32_t rank = 0;
    while (ne[rank])
        rank++;
    gguf_string(f, name);
    gguf_put(f, rank, 4);
    for (uint32_t i = 0; i < rank; i++)
        gguf_put(f, ne[i], 8);
    gguf_put(f, format, 4);
    gguf_put(f, offset, 8);
}

/* Padding, then bytes 0, 1, .. 250, 0, .. */
static inline void gguf_data(vug_buf *f, size_t alignment, size_t n)
{
    while (f->len % alignment)
        gguf_put(f, 0, 1);
    for (size_t i = 0; i < n; i++)
        gguf_put(f, i % 251, 1);
}

#endif
