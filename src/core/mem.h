#ifndef VUG_CORE_MEM_H
#define VUG_CORE_MEM_H

/*
 * All heap allocation; the linter rejects malloc anywhere else.
 *
 * There are single blocks, arenas (many small objects that are freed together,
 * within a budget) and growable buffers with a maximum size. Functions report
 * lack of memory by NULL or false and never abort.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/status.h"

/* NULL when out of memory or when n * size overflows. n * size = 0 is valid. */
void *vug_alloc(size_t n, size_t size);
void *vug_alloc_zero(size_t n, size_t size);
/* Keeps the contents; on NULL the old block is untouched. */
void *vug_realloc(void *ptr, size_t n, size_t size);
/* Zeroed and aligned for vectors and cache lines (64 bytes). */
void *vug_alloc_aligned(size_t bytes);
/* Accepts NULL; frees blocks of all functions above. */
void vug_free(void *ptr);
/* A NUL-terminated copy that the caller frees; NULL when out of memory. */
char *vug_strdup(const char *text);

/* `ptr` with room for at least one more than `n` items, or NULL, and then `ptr` is
 * untouched. `cap` counts items. */
void *vug_grow_array(void *ptr, size_t *cap, size_t n, size_t size);

/* ---- arena: freed as a whole -------------------------------------------- */

typedef struct vug_arena_block vug_arena_block;

/* All-zero is an empty arena without a budget. */
typedef struct {
    vug_arena_block *top;
    size_t held;   /* bytes taken from the heap */
    size_t budget; /* maximum of `held`; 0: no limit */
} vug_arena;

/* Zeroed, aligned to 16 bytes; NULL when out of memory or over the budget. */
void *vug_arena_alloc(vug_arena *arena, size_t n, size_t size);
/* A NUL-terminated copy; ptr is NULL on failure. */
vug_str vug_arena_copy(vug_arena *arena, vug_str text);
void vug_arena_release(vug_arena *arena);

/* ---- buffer: bytes that grow, up to a maximum ---------------------------- */

/* A buffer is sticky: after a failure appends do nothing, and vug_buf_ok or vug_buf_take
 * reports it. All-zero is an empty buffer with a maximum of 1 GiB. */
typedef struct {
    char *ptr;  /* NUL-terminated; NULL before the first append */
    size_t len; /* the caller may reduce it to drop bytes at the end */
    size_t cap;
    size_t max; /* of len; 0: VUG_BUF_MAX */
    bool bad;
} vug_buf;

#define VUG_BUF_MAX ((size_t)1 << 30)

void vug_buf_append(vug_buf *buf, const void *bytes, size_t n);
/* Makes room for `n` more bytes at once, so that appending them copies nothing. */
void vug_buf_reserve(vug_buf *buf, size_t n);
/* The same, inlined: for short elements that are appended by the million. */
static inline void vug_buf_push(vug_buf *buf, const void *bytes, size_t n)
{
    if (buf->cap <= n || buf->len >= buf->cap - n) {
        vug_buf_append(buf, bytes, n);
        return;
    }
    memcpy(buf->ptr + buf->len, bytes, n);
    buf->len += n;
}
void vug_buf_puts(vug_buf *buf, const char *text);
/* The low `n` bytes of `value`, little-endian; n <= 8. */
void vug_buf_append_le(vug_buf *buf, uint64_t value, size_t n);
void vug_buf_printf(vug_buf *buf, const char *fmt, ...) VUG_PRINTF(2, 3);
VUG_MUST_CHECK vug_status vug_buf_ok(const vug_buf *buf, vug_err *err);
/* Moves the contents, NUL-terminated, into `out` and leaves an empty buffer. */
VUG_MUST_CHECK vug_status vug_buf_take(vug_buf *buf, vug_text *out, vug_err *err);
void vug_buf_release(vug_buf *buf);

#endif
