#ifndef VUG_CORE_BYTES_H
#define VUG_CORE_BYTES_H

/*
 * Borrowed bytes and strings, a bounded reader, and checked arithmetic on sizes.
 *
 * A reader never reads past its end. The first failed read sets `bad`, and from
 * then on every read returns zero or an empty span, so a parser can read a whole
 * record and check once. Loops whose count comes from the input must also test
 * `bad` (or bound the count by vug_reader_left) to stop early.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *ptr; /* borrowed; may be NULL only when len == 0 */
    size_t len;         /* in bytes */
} vug_bytes;

typedef struct {
    const char *ptr; /* borrowed, not NUL-terminated; may be NULL only when len == 0 */
    size_t len;      /* in bytes */
} vug_str;

/* The arguments of printf's "%.*s": at most 200 bytes of the string. */
#define VUG_STR_ARG(s) (int)((s).len < 200 ? (s).len : 200), (s).ptr ? (s).ptr : ""

static inline vug_str vug_str_of(const char *text)
{
    return (vug_str){ text, strlen(text) };
}

static inline bool vug_str_equal(vug_str a, vug_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* By byte value, as memcmp. */
static inline int vug_str_compare(vug_str a, vug_str b)
{
    const size_t n = a.len < b.len ? a.len : b.len;
    const int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static inline bool vug_str_is(vug_str a, const char *text)
{
    return vug_str_equal(a, vug_str_of(text));
}

static inline bool vug_str_starts(vug_str s, const char *prefix)
{
    const size_t n = strlen(prefix);
    return n == 0 || (s.len >= n && memcmp(s.ptr, prefix, n) == 0);
}

static inline bool vug_str_ends(vug_str s, const char *suffix)
{
    const size_t n = strlen(suffix);
    return n == 0 || (s.len >= n && memcmp(s.ptr + s.len - n, suffix, n) == 0);
}

static inline vug_str vug_str_from(vug_str s, size_t start)
{
    return start >= s.len ? (vug_str){ 0 } : (vug_str){ s.ptr + start, s.len - start };
}

/* Both return false when the result does not fit; then *out is not written. */
static inline bool vug_add_size(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a > UINT64_MAX - b)
        return false;
    *out = a + b;
    return true;
}

static inline bool vug_mul_size(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *out = a * b;
    return true;
}

typedef struct {
    vug_bytes src;
    size_t pos; /* <= src.len */
    bool bad;   /* sticky */
} vug_reader;

static inline vug_reader vug_reader_over(vug_bytes src)
{
    return (vug_reader){ .src = src };
}

static inline size_t vug_reader_left(const vug_reader *r)
{
    return r->bad ? 0 : r->src.len - r->pos;
}

/* The next `n` bytes as a borrowed span; an empty span, and `bad` set, when fewer are left. */
static inline vug_bytes vug_read_span(vug_reader *r, uint64_t n)
{
    if (r->bad || n > r->src.len - r->pos) {
        r->bad = true;
        return (vug_bytes){ 0 };
    }
    if (n == 0)
        return (vug_bytes){ .ptr = r->src.ptr }; /* which may be NULL */
    vug_bytes out = { .ptr = r->src.ptr + r->pos, .len = (size_t)n };
    r->pos += (size_t)n;
    return out;
}

static inline uint32_t vug_read_u32le(vug_reader *r)
{
    vug_bytes b = vug_read_span(r, 4);
    if (b.len != 4)
        return 0;
    return (uint32_t)b.ptr[0] | (uint32_t)b.ptr[1] << 8 | (uint32_t)b.ptr[2] << 16 |
           (uint32_t)b.ptr[3] << 24;
}

static inline uint64_t vug_read_u64le(vug_reader *r)
{
    uint64_t lo = vug_read_u32le(r);
    uint64_t hi = vug_read_u32le(r);
    return lo | hi << 32;
}

#endif
