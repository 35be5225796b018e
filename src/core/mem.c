#include "core/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK = 64 * 1024, ALIGN = 64 };

void *vug_alloc(size_t n, size_t size)
{
    uint64_t bytes;
    if (!vug_mul_size(n, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return malloc(bytes ? (size_t)bytes : 1);
}

void *vug_alloc_zero(size_t n, size_t size)
{
    uint64_t bytes;
    if (!vug_mul_size(n, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return calloc(n ? n : 1, size ? size : 1);
}

void *vug_realloc(void *ptr, size_t n, size_t size)
{
    uint64_t bytes;
    if (!vug_mul_size(n, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return realloc(ptr, bytes ? (size_t)bytes : 1);
}

void *vug_alloc_aligned(size_t bytes)
{
    if (bytes > PTRDIFF_MAX - ALIGN)
        return NULL;
    const size_t rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    void *ptr = aligned_alloc(ALIGN, rounded ? rounded : ALIGN);
    if (ptr)
        memset(ptr, 0, rounded);
    return ptr;
}

void vug_free(void *ptr)
{
    free(ptr);
}

void *vug_grow_array(void *ptr, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return ptr;
    const size_t grown = *cap ? *cap * 2 : 64;
    void *more = vug_realloc(ptr, grown, size);
    if (more)
        *cap = grown;
    return more;
}

char *vug_strdup(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = vug_alloc(n, 1);
    if (copy)
        memcpy(copy, text, n);
    return copy;
}

/* ---- arena --------------------------------------------------------------- */

struct vug_arena_block {
    vug_arena_block *below;
    size_t used, size; /* of data */
    _Alignas(16) unsigned char data[];
};

void *vug_arena_alloc(vug_arena *arena, size_t n, size_t size)
{
    uint64_t want;
    if (!vug_mul_size(n, size, &want) || want > PTRDIFF_MAX - ARENA_BLOCK)
        return NULL;
    const size_t bytes = ((size_t)want + 15) / 16 * 16;
    vug_arena_block *top = arena->top;
    if (!top || bytes > top->size - top->used) {
        size_t data = bytes > ARENA_BLOCK ? bytes : ARENA_BLOCK;
        if (arena->budget) {
            /* A block may take less than ARENA_BLOCK when that is what the budget has left. */
            const size_t used = arena->held + sizeof(*top);
            const size_t left = arena->budget > used ? arena->budget - used : 0;
            if (bytes > left)
                return NULL;
            data = data < left ? data : left;
        }
        const size_t held = arena->held + sizeof(*top) + data;
        vug_arena_block *block = calloc(1, sizeof(*block) + data);
        if (!block)
            return NULL;
        *block = (vug_arena_block){ .below = top, .size = data };
        arena->top = top = block;
        arena->held = held;
    }
    void *out = top->data + top->used;
    top->used += bytes;
    return out;
}

vug_str vug_arena_copy(vug_arena *arena, vug_str text)
{
    char *copy = vug_arena_alloc(arena, text.len + 1, 1);
    if (!copy)
        return (vug_str){ 0 };
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    return (vug_str){ copy, text.len };
}

void vug_arena_release(vug_arena *arena)
{
    while (arena->top) {
        vug_arena_block *below = arena->top->below;
        free(arena->top);
        arena->top = below;
    }
    arena->held = 0;
}

/* ---- buffer -------------------------------------------------------------- */

static bool reserve_bytes(vug_buf *buf, size_t more)
{
    size_t max = buf->max ? buf->max : VUG_BUF_MAX;
    if (max > PTRDIFF_MAX - 1)
        max = PTRDIFF_MAX - 1; /* so that doubling below cannot overflow */
    if (buf->bad || more > max - buf->len) {
        buf->bad = true;
        return false;
    }
    const size_t need = buf->len + more + 1;
    if (buf->ptr && need <= buf->cap)
        return true;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap *= 2;
    if (cap > max + 1)
        cap = max + 1;
    char *ptr = realloc(buf->ptr, cap);
    if (!ptr) {
        buf->bad = true;
        return false;
    }
    buf->ptr = ptr;
    buf->cap = cap;
    return true;
}

void vug_buf_reserve(vug_buf *buf, size_t n)
{
    (void)reserve_bytes(buf, n);
}

void vug_buf_append(vug_buf *buf, const void *bytes, size_t n)
{
    if (!reserve_bytes(buf, n))
        return;
    if (n)
        memcpy(buf->ptr + buf->len, bytes, n);
    buf->len += n;
    buf->ptr[buf->len] = '\0';
}

void vug_buf_append_le(vug_buf *buf, uint64_t value, size_t n)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    vug_buf_append(buf, bytes, n);
}

void vug_buf_puts(vug_buf *buf, const char *text)
{
    vug_buf_append(buf, text, strlen(text));
}

void vug_buf_printf(vug_buf *buf, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        buf->bad = true;
    else if (reserve_bytes(buf, (size_t)n)) {
        (void)vsnprintf(buf->ptr + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
}

vug_status vug_buf_ok(const vug_buf *buf, vug_err *err)
{
    if (buf->bad)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: a buffer of %zu bytes cannot grow further",
                        buf->len);
    return VUG_OK;
}

vug_status vug_buf_take(vug_buf *buf, vug_text *out, vug_err *err)
{
    if (!buf->ptr)
        vug_buf_append(buf, NULL, 0); /* an empty text is a valid string */
    vug_status st = vug_buf_ok(buf, err);
    if (st != VUG_OK) {
        vug_buf_release(buf);
        return st;
    }
    buf->ptr[buf->len] = '\0'; /* the owner may have reduced len */
    *out = (vug_text){ .ptr = buf->ptr, .len = buf->len };
    *buf = (vug_buf){ .max = buf->max };
    return VUG_OK;
}

void vug_buf_release(vug_buf *buf)
{
    free(buf->ptr);
    *buf = (vug_buf){ .max = buf->max };
}

/* ---- results of vug.h ---------------------------------------------------- */

void vug_tokens_release(vug_tokens *tokens)
{
    free(tokens->id);
    *tokens = (vug_tokens){ 0 };
}

void vug_text_release(vug_text *text)
{
    free(text->ptr);
    *text = (vug_text){ 0 };
}
