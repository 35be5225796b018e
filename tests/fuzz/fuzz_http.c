/*
 * HTTP requests, one after the other on a connection.
 *
 * Besides not crashing: the end of a head and the contents of a chunked body do not depend on how
 * the bytes are split; an accepted request has one length, a path without NUL, and headers that can
 * be written back unchanged.
 */

#include "fuzz/fuzz.h"
#include "server/http/chunked_body.h"
#include "server/http/request_head.h"

enum { MAX_BODY = 1 << 16 };

/* Byte by byte. */
static size_t slow_head_end(vug_str bytes)
{
    for (size_t n = 1; n <= bytes.len; n++) {
        const size_t end = vug_http_find_head_end((vug_str){ bytes.ptr, n }, n - 1);
        if (end)
            return end;
    }
    return 0;
}

static void check_request(const vug_http_request_head *r)
{
    VUG_ASSERT(r->minor == 0 || r->minor == 1);
    VUG_ASSERT(vug_http_is_token(r->method));
    VUG_ASSERT(r->path.len > 0 && strlen(r->path.ptr) == r->path.len);
    VUG_ASSERT(r->n_fields <= VUG_HTTP_MAX_HEADERS);
    VUG_ASSERT(!(r->has_length && r->chunked));
    for (size_t i = 0; i < r->n_fields; i++) {
        const vug_str name = r->field[i].name, value = r->field[i].value;
        VUG_ASSERT(vug_http_is_token(name));
        for (size_t k = 0; k < name.len; k++)
            VUG_ASSERT(name.ptr[k] < 'A' || name.ptr[k] > 'Z');
        VUG_ASSERT(!value.len ||
                   (!memchr(value.ptr, '\r', value.len) && !memchr(value.ptr, '\n', value.len) &&
                    !memchr(value.ptr, '\0', value.len)));
    }
}

static void read_chunks(vug_str bytes)
{
    vug_http_chunked_body whole = { 0 }, cut = { 0 };
    vug_buf a = { 0 }, b = { 0 };
    size_t used_a = 0, used_b = 0;
    const vug_http_body_result p = vug_http_chunked_body_feed(&whole, bytes, MAX_BODY, &a, &used_a);
    vug_http_body_result q = VUG_HTTP_BODY_INCOMPLETE;
    while (q == VUG_HTTP_BODY_INCOMPLETE && used_b < bytes.len) {
        size_t used = 0;
        q = vug_http_chunked_body_feed(&cut, (vug_str){ bytes.ptr + used_b, 1 }, MAX_BODY, &b,
                                       &used);
        used_b += used;
    }
    VUG_ASSERT(p == q);
    VUG_ASSERT(a.len == b.len && (!a.len || memcmp(a.ptr, b.ptr, a.len) == 0));
    VUG_ASSERT(a.len <= MAX_BODY);
    if (p == VUG_HTTP_BODY_COMPLETE)
        VUG_ASSERT(used_a == used_b);
    vug_buf_release(&a);
    vug_buf_release(&b);
}

int vug_fuzz_http(const uint8_t *data, size_t n)
{
    vug_str rest = { (const char *)data, n };
    for (int i = 0; i < 4 && rest.len; i++) {
        vug_arena arena = { 0 };
        vug_http_request_head r;
        vug_api_error error = { 0 };
        const size_t end = vug_http_find_head_end(rest, 0);
        VUG_ASSERT(end <= rest.len);
        if (rest.len < 4096)
            VUG_ASSERT(end == slow_head_end(rest));
        const bool ok = vug_http_parse_head((vug_str){ rest.ptr, end }, &arena, &r, &error);
        VUG_ASSERT(ok == !error.message[0]);
        if (ok)
            check_request(&r);
        rest = vug_str_from(rest, end);
        if (ok && r.chunked)
            read_chunks(rest);
        vug_arena_release(&arena);
        if (!ok)
            break;
    }
    return 0;
}
